/* The values of a column: k of them in n slots, those where `valid` has ones (NULL: everywhere). */
#include "format/orc/orc.h"

/* ---------------------------------------------------------------- numbers */

/* Spread k values over n slots of the same array, from the back; holes are 0. */
#define VALUES_SPREAD(name, type)                                       \
    static void name(type *v, size_t n, size_t k, const uint8_t *valid) \
    {                                                                   \
        for (size_t i = n; i-- > 0;)                                    \
            v[i] = orc_bit(valid, i) ? v[--k] : (type)0;                \
    }

VALUES_SPREAD(spread_8, uint8_t)
VALUES_SPREAD(spread_16, int16_t)
VALUES_SPREAD(spread_32, int32_t)
VALUES_SPREAD(spread_64, int64_t)

static lb_status values_fixed_room(orc_node *n, orc_build *b, size_t count, size_t size, void **out, lb_error *err)
{
    LB_TRY(orc_room(b, &n->data, (int64_t)(count * size), err));
    *out = n->data.data + n->data.size_bytes;
    n->data.size_bytes += (int64_t)(count * size);
    b->bytes += count * size;
    return LB_OK;
}

static lb_status values_outside(const orc_node *n, const char *type, lb_error *err)
{
    return orc_in_fail(&n->in[ORC_IN_DATA], err, "a value is outside what %s holds", type);
}

static lb_status values_longs(orc_node *n, orc_build *b, size_t count, size_t k, const uint8_t *valid, lb_error *err)
{
    void *out;

    LB_TRY(values_fixed_room(n, b, count, 8, &out, err));
    LB_TRY(orc_ints_read(&n->ints, out, k, err));
    if (valid != NULL)
        spread_64(out, count, k, valid);
    return LB_OK;
}

/* Is some value beyond `bits` bits? Some writers gave numbers below zero as those of the same bits without a sign: what readers
 * take them for is the number of these bits. */
static bool values_wide(const int64_t *v, size_t k, unsigned bits, bool is_signed)
{
    const int64_t least = -((int64_t)1 << (bits - 1));
    const uint64_t span = is_signed ? ((uint64_t)1 << bits) - 1 : ((uint64_t)3 << (bits - 1)) - 1;
    bool wide = false;

    for (size_t i = 0; i < k; i++)
        wide |= (uint64_t)v[i] - (uint64_t)least > span;
    return wide;
}

static lb_status values_ints(orc_node *n, orc_build *b, size_t count, size_t k, const uint8_t *valid, lb_error *err)
{
    const bool date = n->type->kind == ORC_DATE;
    void *at;

    LB_TRY(values_fixed_room(n, b, count, 4, &at, err));
    LB_TRY(orc_ints_read(&n->ints, b->values, k, err));
    if (values_wide(b->values, k, 32, date))
        return values_outside(n, date ? "a date" : "int32", err);
    int32_t *out = at;
    for (size_t i = 0; i < k; i++)
        out[i] = (int32_t)b->values[i];
    if (valid != NULL)
        spread_32(out, count, k, valid);
    return LB_OK;
}

static lb_status values_shorts(orc_node *n, orc_build *b, size_t count, size_t k, const uint8_t *valid, lb_error *err)
{
    void *at;

    LB_TRY(values_fixed_room(n, b, count, 2, &at, err));
    LB_TRY(orc_ints_read(&n->ints, b->values, k, err));
    if (values_wide(b->values, k, 16, false))
        return values_outside(n, "int16", err);
    int16_t *out = at;
    for (size_t i = 0; i < k; i++)
        out[i] = (int16_t)b->values[i];
    if (valid != NULL)
        spread_16(out, count, k, valid);
    return LB_OK;
}

static lb_status values_bytes(orc_node *n, orc_build *b, size_t count, size_t k, const uint8_t *valid, lb_error *err)
{
    void *out;

    LB_TRY(values_fixed_room(n, b, count, 1, &out, err));
    LB_TRY(orc_bytes_read(&n->bytes, out, k, err));
    if (valid != NULL)
        spread_8(out, count, k, valid);
    return LB_OK;
}

static lb_status values_floats(orc_node *n, orc_build *b, size_t count, size_t k, const uint8_t *valid, lb_error *err)
{
    const size_t size = n->type->kind == ORC_FLOAT ? 4 : 8;
    void *out;

    LB_TRY(values_fixed_room(n, b, count, size, &out, err));
    LB_TRY(orc_in_copy(&n->in[ORC_IN_DATA], out, k * size, err));
    if (valid != NULL && size == 4)
        spread_32(out, count, k, valid);
    else if (valid != NULL)
        spread_64(out, count, k, valid);
    return LB_OK;
}

static lb_status values_bits(orc_node *n, orc_build *b, size_t count, size_t k, const uint8_t *valid, lb_error *err)
{
    uint8_t bits[ORC_STEP / 8 + 8];
    const size_t at = (size_t)n->length;
    const int64_t size = (int64_t)(at + count + 7) / 8;

    LB_TRY(orc_bits_read(&n->bits, bits, k, err));
    LB_TRY(orc_room(b, &n->data, size - n->data.size_bytes, err));
    if (size > n->data.size_bytes)
        memset(n->data.data + n->data.size_bytes, 0, (size_t)(size - n->data.size_bytes));
    n->data.size_bytes = size;
    for (size_t i = 0, j = 0; i < count; i++)
        if (valid == NULL || orc_bit(valid, i))
            n->data.data[(at + i) >> 3] |= (uint8_t)(orc_bit(bits, j++) << ((at + i) & 7));
    return LB_OK;
}

/* ---------------------------------------------------------------- decimals */

typedef unsigned __int128 values_u128;
typedef __int128 values_i128;

/* 10 to the power of 0 … 38. */
static values_i128 values_power(unsigned exponent)
{
    values_i128 v = 1;

    while (exponent-- > 0)
        v *= 10;
    return v;
}

/* A varint of up to 128 bits, zigzag. At most 19 bytes. */
static lb_status decimal_varint(orc_in *in, values_i128 *out, lb_error *err)
{
    values_u128 v = 0;
    unsigned shift = 0;

    LB_TRY(orc_in_need(in, 19, err));
    for (const uint8_t *p = in->at; p < in->end && shift < 133; shift += 7) {
        const uint8_t b = *p++;
        if (shift == 126 && (b & 0x7F) > 3)
            break;
        v |= (values_u128)(b & 0x7F) << shift;
        if ((b & 0x80) == 0) {
            in->at = p;
            *out = (values_i128)(v >> 1) ^ -(values_i128)(v & 1);
            return LB_OK;
        }
        if (shift == 126)
            break;
    }
    return orc_in_left(in) < 19 ? orc_in_ends(in, err) : orc_in_fail(in, err, "a decimal has more than 38 digits");
}

typedef struct decimal_rule {
    int64_t scale;    /* of the column */
    values_i128 most; /* 10^precision - 1 */
    int64_t last;     /* the difference of scales that `power` is for */
    values_i128 power;
} decimal_rule;

/* A value of `scale` as one of the column's. */
static lb_status decimal_fit(const orc_node *n, decimal_rule *rule, int64_t scale, values_i128 *v, lb_error *err)
{
    int64_t up;

    if (__builtin_sub_overflow(rule->scale, scale, &up) || (up != 0 && *v != 0 && (up > 38 || up < -38)))
        return values_outside(n, "the decimal type", err);
    if (up != 0 && *v != 0) {
        if (up != rule->last) {
            rule->power = values_power((unsigned)(up > 0 ? up : -up));
            rule->last = up;
        }
        if (up < 0 && *v % rule->power != 0)
            return orc_in_fail(&n->in[ORC_IN_DATA], err,
                               "a decimal has more than the %d digits behind the point that its type has",
                               (int)rule->scale);
        if (up < 0)
            *v /= rule->power;
        else if (__builtin_mul_overflow(*v, rule->power, v))
            return values_outside(n, "the decimal type", err);
    }
    if (*v > rule->most || *v < -rule->most)
        return values_outside(n, "the decimal type", err);
    return LB_OK;
}

static lb_status values_decimals(orc_node *n, orc_build *b, size_t count, size_t k, const uint8_t *valid, lb_error *err)
{
    decimal_rule rule = { .scale = n->type->scale, .most = values_power(n->type->precision) - 1 };
    void *at;

    LB_TRY(values_fixed_room(n, b, count, 16, &at, err));
    LB_TRY(orc_ints_read(&n->second, b->values, k, err));
    uint8_t *out = at;
    for (size_t i = 0, j = 0; i < count; i++) {
        values_i128 v = 0;
        if (valid == NULL || orc_bit(valid, i)) {
            LB_TRY(decimal_varint(&n->in[ORC_IN_DATA], &v, err));
            LB_TRY(decimal_fit(n, &rule, b->values[j++], &v, err));
        }
        memcpy(out + 16 * i, &v, 16);
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- timestamps */

/* Seconds count from 2015-01-01 00:00:00, of the writer's clock. */
#define TIMESTAMP_BASE INT64_C(1420070400)

/* The lowest three bits say how many zeros were taken off at the end: none, or one more than they say. Some writers count backwards
 * before 1970. */
static bool timestamp_nanos(int64_t packed, int64_t *out)
{
    static const int64_t tens[] = { 1, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000 };
    const int64_t digits = packed >> 3, second = 1000000000;

    if (digits >= second || digits <= -second)
        return false;
    *out = digits * tens[packed & 7];
    return *out<second && * out> - second;
}

/* Writers cut seconds towards 1970, while nanoseconds count forwards; only whole milliseconds make them do so. A column that is
 * no instant is given as the writer's clock showed it. */
static bool timestamp_count(orc_node *n, int64_t seconds, int64_t nanos, int64_t *out)
{
    if (__builtin_add_overflow(seconds, n->zone_base, &seconds))
        return false;
    if (seconds < 0 && nanos > 999999)
        seconds--;
    if (n->zone != NULL && __builtin_add_overflow(seconds, (int64_t)orc_zone_offset(n->zone, seconds), &seconds))
        return false;
    if (n->type->micros)
        return nanos % 1000 == 0 && !__builtin_mul_overflow(seconds, INT64_C(1000000), out) &&
               !__builtin_add_overflow(*out, nanos / 1000, out);
    /* The earliest ones begin with a second that does not fit by itself. */
    if (seconds < 0 && nanos > 0) {
        seconds++;
        nanos -= 1000000000;
    }
    return !__builtin_mul_overflow(seconds, INT64_C(1000000000), out) && !__builtin_add_overflow(*out, nanos, out);
}

static lb_status values_timestamps(orc_node *n, orc_build *b, size_t count, size_t k, const uint8_t *valid,
                                   lb_error *err)
{
    void *at;

    LB_TRY(values_fixed_room(n, b, count, 8, &at, err));
    LB_TRY(orc_ints_read(&n->ints, b->values, k, err));
    LB_TRY(orc_ints_read(&n->second, b->more, k, err));
    int64_t *out = at;
    for (size_t i = 0; i < k; i++) {
        int64_t nanos;
        if (!timestamp_nanos(b->more[i], &nanos))
            return orc_in_fail(&n->in[ORC_IN_SECOND], err, "a timestamp has a second or more of nanoseconds");
        if (!timestamp_count(n, b->values[i], nanos, &out[i]))
            return values_outside(n, n->type->micros ? "a timestamp in microseconds" : "a timestamp in nanoseconds",
                                  err);
    }
    if (valid != NULL)
        spread_64(out, count, k, valid);
    return LB_OK;
}

/* ---------------------------------------------------------------- text */

/* Would so many more bytes pass what a step takes? */
static bool values_too_many(const orc_build *b, uint64_t more)
{
    return b->bytes > b->stop || more > b->stop - b->bytes;
}

/* Bytes of the stream to the end of the column, as they come: what lengths claim is believed only then. */
static lb_status text_take(orc_node *n, orc_build *b, uint64_t size, lb_error *err)
{
    orc_in *in = &n->in[ORC_IN_DATA];

    while (size != 0) {
        LB_TRY(orc_in_need(in, 1, err));
        const size_t step = (size_t)LB_MIN(size, (uint64_t)orc_in_left(in));
        if (step == 0)
            return orc_in_ends(in, err);
        LB_TRY(orc_room(b, &n->data, (int64_t)step, err));
        ArrowBufferAppendUnsafe(&n->data, in->at, (int64_t)step);
        in->at += step;
        size -= step;
    }
    return LB_OK;
}

static lb_status text_direct(orc_node *n, orc_build *b, size_t count, size_t k, const uint8_t *valid, lb_error *err)
{
    const uint64_t from = (uint64_t)n->data.size_bytes;
    uint64_t end = from;
    int32_t *offsets;

    LB_TRY(orc_ints_read(&n->second, b->values, k, err));
    LB_TRY(orc_offset_room(n, b, count, &offsets, err));
    for (size_t i = 0, j = 0; i < count; i++) {
        if (valid == NULL || orc_bit(valid, i)) {
            const uint64_t size = (uint64_t)b->values[j++];
            if (size > INT32_MAX || end + size > INT32_MAX)
                return size > INT64_MAX ? orc_in_fail(&n->in[ORC_IN_LENGTH], err, "a length is negative")
                                        : orc_too_long(b, n, err);
            end += size;
        }
        offsets[i] = (int32_t)end;
    }
    if (values_too_many(b, end - from))
        return orc_too_long(b, n, err);
    b->bytes += end - from + 4 * count;
    return text_take(n, b, end - from, err);
}

/* Where each word begins, from the lengths. */
static lb_status text_word_starts(orc_node *n, orc_build *b, lb_error *err)
{
    orc_ints lengths = { 0 };
    uint64_t end = 0;
    uint32_t at = 0;

    if (n->n_dictionary != 0 && n->in[ORC_IN_LENGTH].size == 0)
        return orc_in_fail(&n->in[ORC_IN_DATA], err, "the lengths of its dictionary are missing");
    orc_ints_init(&lengths, &n->in[ORC_IN_LENGTH], n->v2, false);
    n->word_starts.size = 0;
    LB_TRY(lb_buf_append(&n->word_starts, &at, sizeof at, err));
    for (uint64_t left = n->n_dictionary, step; left != 0; left -= step) {
        step = LB_MIN(left, (uint64_t)ORC_STEP);
        LB_TRY(orc_ints_read(&lengths, b->more, (size_t)step, err));
        LB_TRY(lb_buf_reserve(&n->word_starts, (size_t)step * sizeof at, err));
        for (size_t i = 0; i < step; i++) {
            if ((uint64_t)b->more[i] > n->words.size - end)
                return orc_in_fail(&n->in[ORC_IN_LENGTH], err, "its dictionary has fewer bytes than its words");
            end += (uint64_t)b->more[i];
            at = (uint32_t)end;
            lb_buf_put(&n->word_starts, &at, sizeof at);
        }
    }
    return LB_OK;
}

/* The whole dictionary of the stripe, with bytes behind it that may be read. */
static lb_status text_dictionary(orc_node *n, orc_build *b, lb_error *err)
{
    orc_in *in = &n->in[ORC_IN_DICTIONARY];
    static const uint8_t zeros[ORC_PADDING];

    if (n->dictionary_read)
        return LB_OK;
    n->words.size = 0;
    for (;;) {
        LB_TRY(orc_in_need(in, 1, err));
        if (orc_in_left(in) == 0)
            break;
        LB_TRY(lb_buf_append(&n->words, in->at, orc_in_left(in), err));
        in->at = in->end;
        if (n->words.size > INT32_MAX)
            return orc_in_fail(in, err, "its dictionary has more than 2 GiB");
    }
    LB_TRY(text_word_starts(n, b, err));
    const size_t size = n->words.size;
    LB_TRY(lb_buf_append(&n->words, zeros, sizeof zeros, err));
    n->words.size = size;
    orc_in_free(in); /* both have served */
    orc_in_free(&n->in[ORC_IN_LENGTH]);
    n->dictionary_read = true;
    return LB_OK;
}

/* Ends of the values, and that each word is one of the dictionary. */
static lb_status text_word_ends(orc_node *n, orc_build *b, size_t count, const uint8_t *valid, uint64_t *end,
                                lb_error *err)
{
    const uint32_t *starts = (const uint32_t *)(const void *)n->word_starts.data;
    int32_t *offsets;

    LB_TRY(orc_offset_room(n, b, count, &offsets, err));
    for (size_t i = 0, j = 0; i < count; i++) {
        if (valid == NULL || orc_bit(valid, i)) {
            const uint64_t word = (uint64_t)b->values[j++];
            if (word >= n->n_dictionary)
                return orc_in_fail(&n->in[ORC_IN_DATA], err, "a value is none of its dictionary");
            *end += starts[word + 1] - starts[word];
            if (*end > INT32_MAX)
                return orc_too_long(b, n, err);
        }
        offsets[i] = (int32_t)*end;
    }
    return LB_OK;
}

static lb_status text_words(orc_node *n, orc_build *b, size_t count, size_t k, const uint8_t *valid, lb_error *err)
{
    const uint64_t from = (uint64_t)n->data.size_bytes;
    uint64_t end = from;

    if (k == 0) {
        int32_t *offsets;
        LB_TRY(orc_offset_room(n, b, count, &offsets, err));
        for (size_t i = 0; i < count; i++)
            offsets[i] = (int32_t)from;
        return LB_OK;
    }
    LB_TRY(text_dictionary(n, b, err));
    LB_TRY(orc_ints_read(&n->ints, b->values, k, err));
    LB_TRY(text_word_ends(n, b, count, valid, &end, err));
    if (values_too_many(b, end - from))
        return orc_too_long(b, n, err);
    LB_TRY(orc_room(b, &n->data, (int64_t)(end - from) + ORC_PADDING, err));
    const uint32_t *starts = (const uint32_t *)(const void *)n->word_starts.data;
    uint8_t *to = n->data.data + from;
    for (size_t i = 0; i < k; i++) {
        const uint8_t *word = n->words.data + starts[b->values[i]];
        const size_t size = starts[b->values[i] + 1] - starts[b->values[i]];
        if (size <= ORC_PADDING)
            memcpy(to, word, ORC_PADDING); /* both have so much room */
        else
            memcpy(to, word, size);
        to += size;
    }
    n->data.size_bytes = (int64_t)end;
    b->bytes += end - from + 4 * count;
    return LB_OK;
}

static lb_status text_skip(orc_node *n, uint64_t k, lb_error *err)
{
    int64_t sizes[256];

    if (n->dictionary)
        return orc_ints_skip(&n->ints, k, err);
    while (k != 0) {
        const size_t step = (size_t)LB_MIN(k, (uint64_t)LB_COUNT_OF(sizes));
        uint64_t sum = 0;
        LB_TRY(orc_ints_read(&n->second, sizes, step, err));
        for (size_t i = 0; i < step; i++)
            if (sizes[i] < 0 || __builtin_add_overflow(sum, (uint64_t)sizes[i], &sum))
                return orc_in_fail(&n->in[ORC_IN_LENGTH], err, "a length is negative");
        LB_TRY(orc_in_skip(&n->in[ORC_IN_DATA], sum, err));
        k -= step;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- nested values */

static lb_status values_children(orc_node *n, orc_build *b, uint64_t total, lb_error *err)
{
    for (size_t i = 0; i < n->n_children; i++)
        for (uint64_t left = total, step; left != 0; left -= step) {
            step = LB_MIN(left, (uint64_t)ORC_STEP);
            LB_TRY(orc_node_read(&n->children[i], b, (size_t)step, NULL, err));
        }
    return LB_OK;
}

/* Lists, and maps as two lists of equal length. */
static lb_status values_lists(orc_node *n, orc_build *b, size_t count, size_t k, const uint8_t *valid, lb_error *err)
{
    const uint64_t from = (uint64_t)n->children[0].length;
    uint64_t end = from;
    int32_t *offsets;

    LB_TRY(orc_ints_read(&n->ints, b->values, k, err));
    LB_TRY(orc_offset_room(n, b, count, &offsets, err));
    for (size_t i = 0, j = 0; i < count; i++) {
        if (valid == NULL || orc_bit(valid, i)) {
            const uint64_t size = (uint64_t)b->values[j++];
            if (size > INT64_MAX)
                return orc_in_fail(&n->in[ORC_IN_LENGTH], err, "a length is negative");
            if (size > INT32_MAX || end + size > INT32_MAX)
                return orc_too_long(b, n, err);
            end += size;
        }
        offsets[i] = (int32_t)end;
    }
    if (values_too_many(b, end - from))
        return orc_too_long(b, n, err);
    b->bytes += 4 * count;
    LB_TRY(values_children(n, b, end - from, err));
    if (n->type->kind == ORC_MAP && n->children[0].nulls != 0)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                       "column '%.80s': a map has a key that is null, which Arrow does not hold", n->column);
    return LB_OK;
}

/* Type ids and places in the branches; a null of the union itself goes to the branch behind the last. */
static lb_status union_tags(orc_node *n, orc_build *b, size_t count, const uint8_t *valid, uint64_t *counts,
                            lb_error *err)
{
    const size_t branches = n->n_children;
    void *tags;

    LB_TRY(values_fixed_room(n, b, count, 1, &tags, err));
    LB_TRY(orc_room(b, &n->offsets, (int64_t)count * 4, err));
    int32_t *places = (int32_t *)(void *)(n->offsets.data + n->offsets.size_bytes);
    n->offsets.size_bytes += (int64_t)count * 4;
    for (size_t i = 0, j = 0; i < count; i++) {
        const bool there = valid == NULL || orc_bit(valid, i);
        const uint8_t tag = there ? b->tags[j++] : (uint8_t)branches;
        if (there && tag >= branches)
            return orc_in_fail(&n->in[ORC_IN_DATA], err, "a union has no branch %u", tag);
        const int64_t place = (there ? n->children[tag].length : n->nulls) + (int64_t)counts[tag]++;
        if (place > INT32_MAX)
            return orc_too_long(b, n, err);
        ((uint8_t *)tags)[i] = tag;
        places[i] = (int32_t)place;
    }
    return LB_OK;
}

static lb_status values_unions(orc_node *n, orc_build *b, size_t count, size_t k, const uint8_t *valid, lb_error *err)
{
    uint64_t counts[128] = { 0 };

    LB_TRY(orc_bytes_read(&n->bytes, b->tags, k, err));
    LB_TRY(union_tags(n, b, count, valid, counts, err));
    n->nulls += (int64_t)(count - k);
    for (size_t i = 0; i < n->n_children; i++)
        if (counts[i] != 0)
            LB_TRY(orc_node_read(&n->children[i], b, (size_t)counts[i], NULL, err));
    return LB_OK;
}

static lb_status unions_skip(orc_node *n, uint64_t k, orc_build *b, lb_error *err)
{
    uint64_t counts[256] = { 0 };
    uint8_t tags[256];

    while (k != 0) {
        const size_t step = (size_t)LB_MIN(k, (uint64_t)sizeof tags);
        LB_TRY(orc_bytes_read(&n->bytes, tags, step, err));
        for (size_t i = 0; i < step; i++)
            counts[tags[i]]++;
        k -= step;
    }
    for (size_t i = n->n_children; i < LB_COUNT_OF(counts); i++)
        if (counts[i] != 0)
            return orc_in_fail(&n->in[ORC_IN_DATA], err, "a union has no branch %zu", i);
    for (size_t i = 0; i < n->n_children; i++)
        LB_TRY(orc_node_skip(&n->children[i], b, counts[i], err));
    return LB_OK;
}

static lb_status lists_skip(orc_node *n, uint64_t k, orc_build *b, lb_error *err)
{
    int64_t sizes[256];
    uint64_t sum = 0;

    while (k != 0) {
        const size_t step = (size_t)LB_MIN(k, (uint64_t)LB_COUNT_OF(sizes));
        LB_TRY(orc_ints_read(&n->ints, sizes, step, err));
        for (size_t i = 0; i < step; i++)
            if (sizes[i] < 0 || __builtin_add_overflow(sum, (uint64_t)sizes[i], &sum))
                return orc_in_fail(&n->in[ORC_IN_LENGTH], err, "a length is negative");
        k -= step;
    }
    for (size_t i = 0; i < n->n_children; i++)
        LB_TRY(orc_node_skip(&n->children[i], b, sum, err));
    return LB_OK;
}

/* ---------------------------------------------------------------- by type */

lb_status orc_values_read(orc_node *n, orc_build *b, size_t count, size_t k, const uint8_t *valid, lb_error *err)
{
    switch (n->type->kind) {
    case ORC_BOOLEAN:
        return values_bits(n, b, count, k, valid, err);
    case ORC_BYTE:
        return values_bytes(n, b, count, k, valid, err);
    case ORC_SHORT:
        return values_shorts(n, b, count, k, valid, err);
    case ORC_INT:
    case ORC_DATE:
        return values_ints(n, b, count, k, valid, err);
    case ORC_LONG:
        return values_longs(n, b, count, k, valid, err);
    case ORC_FLOAT:
    case ORC_DOUBLE:
        return values_floats(n, b, count, k, valid, err);
    case ORC_DECIMAL:
        return values_decimals(n, b, count, k, valid, err);
    case ORC_TIMESTAMP:
    case ORC_INSTANT:
        return values_timestamps(n, b, count, k, valid, err);
    case ORC_LIST:
    case ORC_MAP:
        return values_lists(n, b, count, k, valid, err);
    case ORC_UNION:
        return values_unions(n, b, count, k, valid, err);
    case ORC_STRUCT:
        for (size_t i = 0; i < n->n_children; i++)
            LB_TRY(orc_node_read(&n->children[i], b, count, valid, err));
        return LB_OK;
    case ORC_STRING:
    case ORC_VARCHAR:
    case ORC_CHAR:
    case ORC_BINARY:
    case ORC_GEOMETRY:
    case ORC_GEOGRAPHY:
        break;
    }
    return n->dictionary ? text_words(n, b, count, k, valid, err) : text_direct(n, b, count, k, valid, err);
}

/* Bytes of varints: the ends of k of them are looked for. */
static lb_status decimals_skip(orc_node *n, uint64_t k, lb_error *err)
{
    values_i128 v;

    LB_TRY(orc_ints_skip(&n->second, k, err));
    for (; k != 0; k--)
        LB_TRY(decimal_varint(&n->in[ORC_IN_DATA], &v, err));
    return LB_OK;
}

lb_status orc_values_skip(orc_node *n, orc_build *b, uint64_t k, lb_error *err)
{
    uint64_t size;

    switch (n->type->kind) {
    case ORC_BOOLEAN:
        return orc_bits_skip(&n->bits, k, err);
    case ORC_BYTE:
        return orc_bytes_skip(&n->bytes, k, err);
    case ORC_SHORT:
    case ORC_INT:
    case ORC_DATE:
    case ORC_LONG:
        return orc_ints_skip(&n->ints, k, err);
    case ORC_FLOAT:
    case ORC_DOUBLE:
        if (__builtin_mul_overflow(k, (uint64_t)(n->type->kind == ORC_FLOAT ? 4 : 8), &size))
            return orc_in_ends(&n->in[ORC_IN_DATA], err);
        return orc_in_skip(&n->in[ORC_IN_DATA], size, err);
    case ORC_DECIMAL:
        return decimals_skip(n, k, err);
    case ORC_TIMESTAMP:
    case ORC_INSTANT:
        LB_TRY(orc_ints_skip(&n->ints, k, err));
        return orc_ints_skip(&n->second, k, err);
    case ORC_LIST:
    case ORC_MAP:
        return lists_skip(n, k, b, err);
    case ORC_UNION:
        return unions_skip(n, k, b, err);
    case ORC_STRUCT:
        for (size_t i = 0; i < n->n_children; i++)
            LB_TRY(orc_node_skip(&n->children[i], b, k, err));
        return LB_OK;
    case ORC_STRING:
    case ORC_VARCHAR:
    case ORC_CHAR:
    case ORC_BINARY:
    case ORC_GEOMETRY:
    case ORC_GEOGRAPHY:
        break;
    }
    return text_skip(n, k, err);
}
