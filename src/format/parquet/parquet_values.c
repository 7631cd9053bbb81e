#include "format/parquet/parquet_values.h"

#include <stdio.h>

#define VALUES_BLOCK 256

const char *lb_parquet_encoding_name(int32_t encoding, char *room)
{
    static const char *const names[] = {
        "PLAIN",          "GROUP_VAR_INT",       "PLAIN_DICTIONARY",        "RLE",
        "BIT_PACKED",     "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY",
        "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"
    };
    if (encoding >= 0 && (size_t)encoding < LB_COUNT_OF(names))
        return names[encoding];
    (void)snprintf(room, 32, "encoding %d", (int)encoding);
    return room;
}

size_t lb_parquet_width(const lb_parquet_leaf *leaf)
{
    switch (leaf->physical) {
    case LB_PARQUET_INT32:
    case LB_PARQUET_FLOAT:
        return 4;
    case LB_PARQUET_INT64:
    case LB_PARQUET_DOUBLE:
        return 8;
    case LB_PARQUET_INT96:
        return 12;
    case LB_PARQUET_FIXED:
        return leaf->type_length;
    default:
        return 0;
    }
}

static lb_status values_end(lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the values of a page end too early, or break their encoding");
}

/* ---------------------------------------------------------------- strings */

void lb_parquet_strings_init(lb_parquet_strings *s, lb_budget *budget)
{
    *s = (lb_parquet_strings){ .too_long = false };
    lb_buf_init(&s->data, budget);
    lb_buf_init(&s->ends, budget);
}

void lb_parquet_strings_free(lb_parquet_strings *s)
{
    lb_buf_free(&s->data);
    lb_buf_free(&s->ends);
}

lb_status lb_parquet_strings_reserve(lb_parquet_strings *s, size_t count, size_t bytes, lb_error *err)
{
    if (bytes > (size_t)INT32_MAX - s->data.size) {
        s->too_long = true;
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a column has more than 2 GiB of text in one batch");
    }
    LB_TRY(lb_buf_reserve(&s->data, bytes + LB_PARQUET_SLACK, err));
    LB_TRY(lb_buf_reserve(&s->ends, (count + 1) * sizeof(int32_t), err));
    if (s->ends.size == 0) {
        memset(s->ends.data, 0, sizeof(int32_t));
        s->ends.size = sizeof(int32_t);
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- begin */

void lb_parquet_values_init(lb_parquet_values *v, lb_budget *budget)
{
    *v = (lb_parquet_values){ .kind = LB_PARQUET_V_FIXED };
    lb_buf_init(&v->last, budget);
    lb_buf_init(&v->turned, budget);
}

void lb_parquet_values_free(lb_parquet_values *v)
{
    lb_buf_free(&v->last);
    lb_buf_free(&v->turned);
}

static lb_status open_plain(lb_parquet_values *v, const lb_parquet_leaf *leaf, size_t size)
{
    v->kind = leaf->physical == LB_PARQUET_BOOLEAN      ? LB_PARQUET_V_BITS
              : leaf->physical == LB_PARQUET_BYTE_ARRAY ? LB_PARQUET_V_STRINGS
                                                        : LB_PARQUET_V_FIXED;
    v->count = (uint64_t)size * 8;
    return LB_OK;
}

/* A byte with the width of indices, and runs of them. */
static lb_status open_indices(lb_parquet_values *v, size_t size, lb_error *err)
{
    unsigned width = size == 0 ? 0 : *v->at;

    v->kind = LB_PARQUET_V_DICTIONARY;
    if (width > 32)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "dictionary indices of %u bits", width);
    lb_parquet_hybrid_init(&v->runs, v->at + (size != 0), size - (size != 0), width);
    return LB_OK;
}

static lb_status open_runs(lb_parquet_values *v, size_t size, lb_error *err)
{
    uint32_t length = 0;

    v->kind = LB_PARQUET_V_RUNS;
    if (size >= 4)
        memcpy(&length, v->at, 4);
    if (size != 0 && (size < 4 || length > size - 4))
        return values_end(err);
    lb_parquet_hybrid_init(&v->runs, v->at + (size == 0 ? 0 : 4), length, 1);
    return LB_OK;
}

/* Booleans as the levels of old writers: bits from the most significant one on. */
static lb_status open_turned(lb_parquet_values *v, size_t size, lb_error *err)
{
    v->turned.size = 0;
    LB_TRY(lb_buf_reserve(&v->turned, size + 1, err));
    lb_parquet_reorder(v->at, 1, (uint64_t)size * 8, v->turned.data);
    v->at = v->turned.data;
    v->end = v->at + size;
    v->kind = LB_PARQUET_V_BITS;
    v->count = (uint64_t)size * 8;
    return LB_OK;
}

/* Without any bytes there are no values, whatever a head would say. */
static bool open_delta(lb_parquet_delta *d, const uint8_t *bytes, const uint8_t *end, uint64_t most)
{
    if (bytes != end)
        return lb_parquet_delta_init(d, bytes, (size_t)(end - bytes), most);
    *d = (lb_parquet_delta){ .at = end, .end = end, .minis = 1, .mini = 1, .per_mini = 8 };
    return true;
}

/* Lengths, and behind them the bytes. */
static lb_status open_lengths(lb_parquet_values *v, const uint8_t *bytes, uint64_t most, lb_error *err)
{
    if (!open_delta(&v->delta, bytes, v->end, most))
        return values_end(err);
    v->at = lb_parquet_delta_end(&v->delta);
    return v->at == NULL ? values_end(err) : LB_OK;
}

static lb_status open_prefixes(lb_parquet_values *v, uint64_t most, lb_error *err)
{
    v->kind = LB_PARQUET_V_DELTA_BYTES;
    if (!open_delta(&v->prefixes, v->at, v->end, most))
        return values_end(err);
    const uint8_t *end = lb_parquet_delta_end(&v->prefixes);
    if (end == NULL)
        return values_end(err);
    LB_TRY(open_lengths(v, end, most, err));
    return v->delta.total == v->prefixes.total ? LB_OK : values_end(err);
}

static lb_status open_split(lb_parquet_values *v, size_t size, lb_error *err)
{
    v->kind = LB_PARQUET_V_SPLIT;
    v->count = v->width == 0 ? 0 : size / v->width;
    if (v->width != 0 && size % v->width != 0)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "BYTE_STREAM_SPLIT: %zu bytes are no whole values of %zu", size,
                       v->width);
    return LB_OK;
}

static bool encoding_fits(lb_parquet_physical p, int32_t encoding)
{
    switch (encoding) {
    case LB_PARQUET_PLAIN:
        return true;
    case LB_PARQUET_PLAIN_DICTIONARY:
    case LB_PARQUET_RLE_DICTIONARY:
        return p != LB_PARQUET_BOOLEAN;
    case LB_PARQUET_RLE:
    case LB_PARQUET_BIT_PACKED:
        return p == LB_PARQUET_BOOLEAN;
    case LB_PARQUET_DELTA_BINARY_PACKED:
        return p == LB_PARQUET_INT32 || p == LB_PARQUET_INT64;
    case LB_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return p == LB_PARQUET_BYTE_ARRAY;
    case LB_PARQUET_DELTA_BYTE_ARRAY:
        return p == LB_PARQUET_BYTE_ARRAY || p == LB_PARQUET_FIXED;
    case LB_PARQUET_BYTE_STREAM_SPLIT:
        return p != LB_PARQUET_BOOLEAN && p != LB_PARQUET_BYTE_ARRAY && p != LB_PARQUET_INT96;
    default:
        return false;
    }
}

static lb_status open_as(lb_parquet_values *v, const lb_parquet_leaf *leaf, int32_t encoding, size_t size,
                         uint64_t most, lb_error *err)
{
    switch (encoding) {
    case LB_PARQUET_PLAIN:
        return open_plain(v, leaf, size);
    case LB_PARQUET_RLE:
        return open_runs(v, size, err);
    case LB_PARQUET_BIT_PACKED:
        return open_turned(v, size, err);
    case LB_PARQUET_DELTA_BINARY_PACKED:
        v->kind = LB_PARQUET_V_DELTA;
        return open_delta(&v->delta, v->at, v->end, most) ? LB_OK : values_end(err);
    case LB_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        v->kind = LB_PARQUET_V_DELTA_LENGTH;
        return open_lengths(v, v->at, most, err);
    case LB_PARQUET_DELTA_BYTE_ARRAY:
        return open_prefixes(v, most, err);
    case LB_PARQUET_BYTE_STREAM_SPLIT:
        return open_split(v, size, err);
    default:
        return open_indices(v, size, err);
    }
}

lb_status lb_parquet_values_open(lb_parquet_values *v, const lb_parquet_leaf *leaf, int32_t encoding,
                                 const uint8_t *bytes, size_t size, uint64_t most, lb_error *err)
{
    static const char *const types[] = { "BOOLEAN", "INT32",  "INT64",      "INT96",
                                         "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY" };
    static const uint8_t nothing[1];
    char room[32];

    bytes = size == 0 ? nothing : bytes;
    if (!encoding_fits(leaf->physical, encoding))
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "values of type %s in %s", types[leaf->physical],
                       lb_parquet_encoding_name(encoding, room));
    v->width = lb_parquet_width(leaf);
    v->at = bytes;
    v->end = bytes + size;
    v->given = 0;
    return open_as(v, leaf, encoding, size, most, err);
}

/* ---------------------------------------------------------------- fixed width */

/* Take n * width bytes of plain values. */
static const uint8_t *fixed_take(lb_parquet_values *v, uint64_t n)
{
    if (v->width != 0 && n > (uint64_t)(v->end - v->at) / v->width)
        return NULL;
    v->at += n * v->width;
    return v->at - n * v->width;
}

lb_status lb_parquet_values_lend(lb_parquet_values *v, size_t n, const uint8_t **out, lb_error *err)
{
    *out = NULL;
    if (v->kind != LB_PARQUET_V_FIXED)
        return LB_OK;
    *out = fixed_take(v, n);
    return *out == NULL ? values_end(err) : LB_OK;
}

static bool delta_fixed(lb_parquet_values *v, size_t n, uint8_t *out)
{
    uint64_t block[VALUES_BLOCK];

    if (v->width == 8 && ((uintptr_t)out & 7) == 0)
        return lb_parquet_delta_numbers(&v->delta, n, (uint64_t *)(void *)out);
    for (size_t at = 0; at < n; at += VALUES_BLOCK) {
        size_t part = LB_MIN(n - at, (size_t)VALUES_BLOCK);
        if (!lb_parquet_delta_numbers(&v->delta, part, block))
            return false;
        for (size_t i = 0; i < part && v->width == 8; i++)
            memcpy(out + (at + i) * 8, &block[i], 8);
        for (size_t i = 0; i < part && v->width == 4; i++) {
            uint32_t low = (uint32_t)block[i];
            memcpy(out + (at + i) * 4, &low, 4);
        }
    }
    return true;
}

#if defined(__x86_64__)
#include <emmintrin.h>

/* 16 values of 4 bytes a turn, from 4 streams. */
static size_t split4_wide(const uint8_t *from, uint64_t stride, size_t n, uint8_t *out)
{
    size_t i = 0;

    for (; i + 16 <= n; i += 16, out += 64) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(from + i));
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(from + stride + i));
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(from + 2 * stride + i));
        __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(from + 3 * stride + i));
        __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d);
        __m128i ab2 = _mm_unpackhi_epi8(a, b), cd2 = _mm_unpackhi_epi8(c, d);
        _mm_storeu_si128((__m128i *)(void *)out, _mm_unpacklo_epi16(ab, cd));
        _mm_storeu_si128((__m128i *)(void *)(out + 16), _mm_unpackhi_epi16(ab, cd));
        _mm_storeu_si128((__m128i *)(void *)(out + 32), _mm_unpacklo_epi16(ab2, cd2));
        _mm_storeu_si128((__m128i *)(void *)(out + 48), _mm_unpackhi_epi16(ab2, cd2));
    }
    return i;
}

static inline __m128i split_pair(const uint8_t *from, uint64_t stride)
{
    return _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)(const void *)from),
                             _mm_loadl_epi64((const __m128i *)(const void *)(from + stride)));
}

/* 8 values of 8 bytes a turn, from 8 streams. */
static size_t split8_wide(const uint8_t *from, uint64_t stride, size_t n, uint8_t *out)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8, out += 64) {
        __m128i a = split_pair(from + i, stride), b = split_pair(from + 2 * stride + i, stride);
        __m128i c = split_pair(from + 4 * stride + i, stride), d = split_pair(from + 6 * stride + i, stride);
        __m128i ab = _mm_unpacklo_epi16(a, b), cd = _mm_unpacklo_epi16(c, d);
        __m128i ab2 = _mm_unpackhi_epi16(a, b), cd2 = _mm_unpackhi_epi16(c, d);
        _mm_storeu_si128((__m128i *)(void *)out, _mm_unpacklo_epi32(ab, cd));
        _mm_storeu_si128((__m128i *)(void *)(out + 16), _mm_unpackhi_epi32(ab, cd));
        _mm_storeu_si128((__m128i *)(void *)(out + 32), _mm_unpacklo_epi32(ab2, cd2));
        _mm_storeu_si128((__m128i *)(void *)(out + 48), _mm_unpackhi_epi32(ab2, cd2));
    }
    return i;
}

static size_t split_wide(const uint8_t *from, uint64_t stride, size_t width, size_t n, uint8_t *out)
{
    return width == 4 ? split4_wide(from, stride, n, out) : width == 8 ? split8_wide(from, stride, n, out) : 0;
}
#else
static size_t split_wide(const uint8_t *from, uint64_t stride, size_t width, size_t n, uint8_t *out)
{
    (void)from;
    (void)stride;
    (void)width;
    (void)n;
    (void)out;
    return 0;
}
#endif

static bool split_fixed(lb_parquet_values *v, size_t n, uint8_t *out)
{
    if (v->width != 0 && n > v->count - v->given)
        return false;
    const uint8_t *from = v->at + v->given;
    for (size_t i = split_wide(from, v->count, v->width, n, out); i < n; i++)
        for (size_t b = 0; b < v->width; b++)
            out[i * v->width + b] = from[b * v->count + i];
    v->given += n;
    return true;
}

/* The next value's length, of which `*prefix` bytes are those of the value before. */
static bool bytes_next(lb_parquet_values *v, uint64_t *prefix, uint64_t *suffix)
{
    return lb_parquet_delta_numbers(&v->prefixes, 1, prefix) && lb_parquet_delta_numbers(&v->delta, 1, suffix) &&
           *prefix <= v->last.size && *suffix <= (uint64_t)(v->end - v->at);
}

/* Make the next value in v->last. */
static lb_status bytes_value(lb_parquet_values *v, lb_error *err)
{
    uint64_t prefix, suffix;

    if (!bytes_next(v, &prefix, &suffix))
        return values_end(err);
    v->last.size = (size_t)prefix;
    LB_TRY(lb_buf_append(&v->last, v->at, (size_t)suffix, err));
    v->at += suffix;
    return LB_OK;
}

static lb_status bytes_fixed(lb_parquet_values *v, size_t n, uint8_t *out, lb_error *err)
{
    for (size_t i = 0; i < n; i++) {
        LB_TRY(bytes_value(v, err));
        if (v->last.size != v->width)
            return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a value of %zu bytes in a column of %zu", v->last.size,
                           v->width);
        if (v->width != 0)
            memcpy(out + i * v->width, v->last.data, v->width);
    }
    return LB_OK;
}

lb_status lb_parquet_values_fixed(lb_parquet_values *v, size_t n, uint8_t *out, lb_error *err)
{
    const uint8_t *plain;

    switch (v->kind) {
    case LB_PARQUET_V_FIXED:
        plain = fixed_take(v, n);
        if (plain == NULL)
            return values_end(err);
        if (n * v->width != 0)
            memcpy(out, plain, n * v->width);
        return LB_OK;
    case LB_PARQUET_V_DELTA:
        return delta_fixed(v, n, out) ? LB_OK : values_end(err);
    case LB_PARQUET_V_SPLIT:
        return split_fixed(v, n, out) ? LB_OK : values_end(err);
    case LB_PARQUET_V_DELTA_BYTES:
        return bytes_fixed(v, n, out, err);
    default:
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "Parquet values asked for in another form than they have");
    }
}

/* ---------------------------------------------------------------- booleans and indices */

lb_status lb_parquet_values_bits(lb_parquet_values *v, uint64_t n, uint8_t *bits, uint64_t first, lb_error *err)
{
    uint64_t ones;

    if (v->kind == LB_PARQUET_V_RUNS)
        return lb_parquet_hybrid_bits(&v->runs, n, bits, first, &ones) ? LB_OK : values_end(err);
    if (n > v->count - v->given)
        return values_end(err);
    lb_bits_copy(bits, first, v->at, v->given, n);
    v->given += n;
    return LB_OK;
}

lb_status lb_parquet_values_indices(lb_parquet_values *v, size_t n, uint32_t count, uint32_t *out, uint32_t *most,
                                    lb_error *err)
{
    uint32_t greatest = 0;

    if (!lb_parquet_hybrid_numbers(&v->runs, n, out))
        return values_end(err);
    for (size_t i = 0; i < n; i++)
        greatest = out[i] > greatest ? out[i] : greatest;
    *most = greatest;
    if (n != 0 && greatest >= count)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "dictionary index %u of %u values", greatest, count);
    return LB_OK;
}

/* ---------------------------------------------------------------- arrays of bytes */

static inline uint32_t length_at(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Behind the next `n` values; NULL: they end before. */
static const uint8_t *plain_end(const lb_parquet_values *v, uint64_t n)
{
    const uint8_t *at = v->at;

    for (; n != 0; n--) {
        if (v->end - at < 4 || length_at(at) > (size_t)(v->end - at) - 4)
            return NULL;
        at += 4 + (size_t)length_at(at);
    }
    return at;
}

static lb_status plain_strings(lb_parquet_values *v, size_t n, lb_parquet_strings *out, lb_error *err)
{
    const uint8_t *stop = plain_end(v, n);

    if (stop == NULL)
        return values_end(err);
    LB_TRY(lb_parquet_strings_reserve(out, n, (size_t)(stop - v->at) - 4 * n, err));
    int32_t *ends = (int32_t *)(void *)(out->ends.data + out->ends.size);
    uint8_t *to = out->data.data;
    size_t end = out->data.size;
    const uint8_t *at = v->at;
    for (size_t i = 0; i < n; i++) {
        size_t length = length_at(at);
        lb_parquet_copy(to + end, at + 4, length, (size_t)(v->end - at) >= 4 + 16);
        at += 4 + length;
        end += length;
        ends[i] = (int32_t)end;
    }
    v->at = stop;
    out->data.size = end;
    out->ends.size += n * sizeof *ends;
    return LB_OK;
}

/* Lengths of the next `n` <= VALUES_BLOCK values, and their sum, which lies inside. */
static bool lengths_next(lb_parquet_values *v, size_t n, uint64_t *lengths, size_t *sum)
{
    const uint64_t left = (uint64_t)(v->end - v->at);
    uint64_t total = 0;

    if (!lb_parquet_delta_numbers(&v->delta, n, lengths))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (lengths[i] > left - total)
            return false;
        total += lengths[i];
    }
    *sum = (size_t)total;
    return true;
}

/* The bytes of many values stand together: one copy. */
static lb_status length_strings(lb_parquet_values *v, size_t n, lb_parquet_strings *out, lb_error *err)
{
    uint64_t lengths[VALUES_BLOCK];

    LB_TRY(lb_parquet_strings_reserve(out, n, 0, err));
    for (size_t at = 0; at < n; at += VALUES_BLOCK) {
        size_t part = LB_MIN(n - at, (size_t)VALUES_BLOCK), sum;
        if (!lengths_next(v, part, lengths, &sum))
            return values_end(err);
        LB_TRY(lb_parquet_strings_reserve(out, part, sum, err));
        int32_t *ends = (int32_t *)(void *)(out->ends.data + out->ends.size);
        size_t end = out->data.size;
        for (size_t i = 0; i < part; i++)
            ends[i] = (int32_t)(end += (size_t)lengths[i]);
        lb_buf_put(&out->data, v->at, sum);
        out->ends.size += part * sizeof *ends;
        v->at += sum;
    }
    return LB_OK;
}

/* Lengths of the next `n` <= VALUES_BLOCK values, of which the first goes on from one of `before` bytes; *sum: of
 * all together. */
static bool bytes_lengths(lb_parquet_values *v, size_t n, uint64_t before, uint64_t *prefixes, uint64_t *suffixes,
                          uint64_t *sum)
{
    uint64_t left = (uint64_t)(v->end - v->at);

    *sum = 0;
    if (!lb_parquet_delta_numbers(&v->prefixes, n, prefixes) || !lb_parquet_delta_numbers(&v->delta, n, suffixes))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (prefixes[i] > before || suffixes[i] > left)
            return false;
        before = prefixes[i] + suffixes[i];
        left -= suffixes[i];
        *sum += before;
    }
    return true;
}

/* Each value is made of the one before, which stands in `out` already. */
static lb_status bytes_block(lb_parquet_values *v, size_t n, lb_parquet_strings *out, lb_error *err)
{
    uint64_t prefixes[VALUES_BLOCK], suffixes[VALUES_BLOCK], sum;

    if (!bytes_lengths(v, n, v->last.size, prefixes, suffixes, &sum))
        return values_end(err);
    LB_TRY(lb_parquet_strings_reserve(out, n, (size_t)sum, err));
    int32_t *ends = (int32_t *)(void *)(out->ends.data + out->ends.size);
    uint8_t *to = out->data.data + out->data.size;
    const uint8_t *before = v->last.data;
    for (size_t i = 0; i < n; i++) {
        const size_t prefix = (size_t)prefixes[i], suffix = (size_t)suffixes[i];
        if (prefix != 0)
            memcpy(to, before, prefix);
        lb_parquet_copy(to + prefix, v->at, suffix, v->end - v->at >= 16);
        before = to;
        to += prefix + suffix;
        v->at += suffix;
        ends[i] = (int32_t)(to - out->data.data);
    }
    v->last.size = 0;
    LB_TRY(lb_buf_append(&v->last, before, (size_t)(to - before), err));
    out->data.size = (size_t)(to - out->data.data);
    out->ends.size += n * sizeof *ends;
    return LB_OK;
}

static lb_status bytes_strings(lb_parquet_values *v, size_t n, lb_parquet_strings *out, lb_error *err)
{
    LB_TRY(lb_parquet_strings_reserve(out, n, 0, err));
    for (size_t at = 0; at < n; at += VALUES_BLOCK)
        LB_TRY(bytes_block(v, LB_MIN(n - at, (size_t)VALUES_BLOCK), out, err));
    return LB_OK;
}

lb_status lb_parquet_values_strings(lb_parquet_values *v, size_t n, lb_parquet_strings *out, lb_error *err)
{
    switch (v->kind) {
    case LB_PARQUET_V_STRINGS:
        return plain_strings(v, n, out, err);
    case LB_PARQUET_V_DELTA_LENGTH:
        return length_strings(v, n, out, err);
    case LB_PARQUET_V_DELTA_BYTES:
        return bytes_strings(v, n, out, err);
    default:
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "Parquet values asked for in another form than they have");
    }
}

/* ---------------------------------------------------------------- passing over */

static bool skip_numbers(lb_parquet_delta *d, uint64_t n)
{
    uint64_t block[VALUES_BLOCK];

    for (uint64_t part; n != 0; n -= part) {
        part = LB_MIN(n, (uint64_t)VALUES_BLOCK);
        if (!lb_parquet_delta_numbers(d, (size_t)part, block))
            return false;
    }
    return true;
}

static bool skip_lengths(lb_parquet_values *v, uint64_t n)
{
    uint64_t lengths[VALUES_BLOCK];
    size_t sum;

    for (uint64_t part; n != 0; n -= part, v->at += sum) {
        part = LB_MIN(n, (uint64_t)VALUES_BLOCK);
        if (!lengths_next(v, (size_t)part, lengths, &sum))
            return false;
    }
    return true;
}

/* The last value has to be known: the next one goes on from it. */
static lb_status skip_bytes(lb_parquet_values *v, uint64_t n, lb_error *err)
{
    uint64_t prefixes[VALUES_BLOCK], suffixes[VALUES_BLOCK], sum;

    for (uint64_t part; n != 0; n -= part) {
        part = LB_MIN(n, (uint64_t)VALUES_BLOCK);
        if (!bytes_lengths(v, (size_t)part, v->last.size, prefixes, suffixes, &sum))
            return values_end(err);
        for (uint64_t i = 0; i < part; i++) {
            v->last.size = (size_t)prefixes[i];
            LB_TRY(lb_buf_append(&v->last, v->at, (size_t)suffixes[i], err));
            v->at += suffixes[i];
        }
    }
    return LB_OK;
}

static bool skip_plain(lb_parquet_values *v, uint64_t n)
{
    const uint8_t *stop = plain_end(v, n);

    if (stop == NULL)
        return false;
    v->at = stop;
    return true;
}

static bool skip_counted(lb_parquet_values *v, uint64_t n)
{
    if (n > v->count - v->given && (v->kind == LB_PARQUET_V_BITS || v->width != 0))
        return false;
    v->given += n;
    return true;
}

lb_status lb_parquet_values_skip(lb_parquet_values *v, uint64_t n, lb_error *err)
{
    bool good = true;

    if (n == 0)
        return LB_OK;
    switch (v->kind) {
    case LB_PARQUET_V_FIXED:
        good = fixed_take(v, n) != NULL;
        break;
    case LB_PARQUET_V_STRINGS:
        good = skip_plain(v, n);
        break;
    case LB_PARQUET_V_BITS:
    case LB_PARQUET_V_SPLIT:
        good = skip_counted(v, n);
        break;
    case LB_PARQUET_V_RUNS:
    case LB_PARQUET_V_DICTIONARY:
        good = lb_parquet_hybrid_skip(&v->runs, n);
        break;
    case LB_PARQUET_V_DELTA:
        good = skip_numbers(&v->delta, n);
        break;
    case LB_PARQUET_V_DELTA_LENGTH:
        good = skip_lengths(v, n);
        break;
    case LB_PARQUET_V_DELTA_BYTES:
        return skip_bytes(v, n, err);
    }
    return good ? LB_OK : values_end(err);
}
