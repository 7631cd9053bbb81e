#include "format/parquet/parquet_bits.h"

#include <string.h>

#include "base/cpu.h"

/* ---------------------------------------------------------------- packed numbers */

static inline uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The 8 bytes at `at`, zeros where they lie behind the end. */
static inline uint64_t load64_end(const uint8_t *bytes, size_t size, size_t at)
{
    uint64_t v = 0;
    if (at + 8 <= size)
        return load64(bytes + at);
    if (at < size)
        memcpy(&v, bytes + at, size - at);
    return v;
}

static inline uint64_t bits_mask(unsigned width)
{
    return width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
}

/* Numbers of up to 57 bits lie in 8 bytes wherever they begin. */
static size_t unpack32_whole(const uint8_t *bytes, size_t size, unsigned width, uint64_t first, size_t n, uint32_t *out)
{
    const uint32_t mask = (uint32_t)bits_mask(width);
    uint64_t bit = first * width;
    size_t i = 0;

    for (; i < n && (bit >> 3) + 8 <= size; i++, bit += width)
        out[i] = (uint32_t)(load64(bytes + (bit >> 3)) >> (bit & 7)) & mask;
    return i;
}

static void unpack32_end(const uint8_t *bytes, size_t size, unsigned width, uint64_t first, size_t n, uint32_t *out)
{
    const uint32_t mask = (uint32_t)bits_mask(width);
    uint64_t bit = first * width;

    for (size_t i = 0; i < n; i++, bit += width)
        out[i] = (uint32_t)(load64_end(bytes, size, (size_t)(bit >> 3)) >> (bit & 7)) & mask;
}

#if defined(__x86_64__)
#include <immintrin.h>

#define UNPACK_AVX2_WIDTH 25 /* so wide, a number lies in 4 bytes wherever it begins */

/* Eight numbers a turn: the bytes of each are brought to a lane of their own and shifted into place. Begins at a
 * whole byte. */
__attribute__((target("avx2"))) static size_t unpack32_avx2(const uint8_t *bytes, size_t size, unsigned width, size_t n,
                                                            uint32_t *out)
{
    uint8_t from[32];
    uint32_t by[8];
    const size_t high = width / 2; /* bytes before the fifth number; it begins 4 bits later where width is odd */

    for (unsigned i = 0; i < 8; i++) {
        unsigned bit = i < 4 ? i * width : i * width - (unsigned)high * 8;
        for (unsigned b = 0; b < 4; b++)
            from[i * 4 + b] = (uint8_t)(bit / 8 + b);
        by[i] = bit & 7;
    }
    const __m256i shuffle = _mm256_loadu_si256((const __m256i *)(const void *)from);
    const __m256i shift = _mm256_loadu_si256((const __m256i *)(const void *)by);
    const __m256i mask = _mm256_set1_epi32((int)bits_mask(width));
    size_t i = 0, at = 0;
    for (; i + 8 <= n && at + high + 16 <= size; i += 8, at += width) {
        __m128i low = _mm_loadu_si128((const __m128i *)(const void *)(bytes + at));
        __m128i top = _mm_loadu_si128((const __m128i *)(const void *)(bytes + at + high));
        __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(low), top, 1);
        v = _mm256_srlv_epi32(_mm256_shuffle_epi8(v, shuffle), shift);
        _mm256_storeu_si256((__m256i *)(void *)(out + i), _mm256_and_si256(v, mask));
    }
    return i;
}

static size_t unpack32_wide(const uint8_t *bytes, size_t size, unsigned width, size_t n, uint32_t *out)
{
    if (width == 0 || width > UNPACK_AVX2_WIDTH || (lb_cpu() & LB_CPU_AVX2) == 0)
        return 0;
    return unpack32_avx2(bytes, size, width, n, out);
}
#else
static size_t unpack32_wide(const uint8_t *bytes, size_t size, unsigned width, size_t n, uint32_t *out)
{
    (void)bytes;
    (void)size;
    (void)width;
    (void)n;
    (void)out;
    return 0;
}
#endif

void lb_parquet_unpack32(const uint8_t *bytes, size_t size, unsigned width, uint64_t first, size_t n, uint32_t *out)
{
    size_t done = 0;

    if (n >= 32) {
        size_t head = (size_t)(-first & 7);
        unpack32_end(bytes, size, width, first, head, out);
        size_t skipped = (size_t)((first + head) / 8 * width);
        done = head + unpack32_wide(bytes + skipped, size - skipped, width, n - head, out + head);
    }
    done += unpack32_whole(bytes, size, width, first + done, n - done, out + done);
    unpack32_end(bytes, size, width, first + done, n - done, out + done);
}

void lb_parquet_unpack64(const uint8_t *bytes, size_t size, unsigned width, uint64_t first, size_t n, uint64_t *out)
{
    const uint64_t mask = bits_mask(width);
    uint64_t bit = first * width;

    for (size_t i = 0; i < n; i++, bit += width) {
        size_t at = (size_t)(bit >> 3);
        unsigned shift = bit & 7;
        uint64_t v = load64_end(bytes, size, at) >> shift;
        if (shift + width > 64)
            v |= (uint64_t)bytes[at + 8] << (64 - shift);
        out[i] = v & mask;
    }
}

void lb_parquet_reorder(const uint8_t *bytes, unsigned width, uint64_t n, uint8_t *out)
{
    memset(out, 0, (size_t)((n * width + 7) / 8));
    for (uint64_t i = 0; i < n; i++)
        for (unsigned b = 0; b < width; b++) {
            uint64_t from = i * width + b, to = i * width + width - 1 - b;
            out[to >> 3] |= (uint8_t)((bytes[from >> 3] >> (7 - (from & 7)) & 1) << (to & 7));
        }
}

/* ---------------------------------------------------------------- bitmaps */

/* Up to 57 bits from bit `first` on, of which `n` are wanted and lie inside. */
static inline uint64_t bits_read(const uint8_t *bits, uint64_t first, unsigned n)
{
    const unsigned shift = first & 7, bytes = (shift + n + 7) / 8;
    uint64_t v = 0;

    memcpy(&v, bits + (first >> 3), bytes);
    return v >> shift & bits_mask(n);
}

/* Bits up to the next whole byte of `to`, or all if they are fewer. */
static unsigned bits_to_byte(uint64_t first, uint64_t n)
{
    unsigned head = (unsigned)(-first & 7);
    return n < head ? (unsigned)n : head;
}

static void bits_put(uint8_t *to, uint64_t first, uint8_t value, unsigned n)
{
    uint8_t mask = (uint8_t)(bits_mask(n) << (first & 7));
    to[first >> 3] = (uint8_t)((to[first >> 3] & ~mask) | (uint8_t)(value << (first & 7)));
}

void lb_bits_copy(uint8_t *to, uint64_t to_first, const uint8_t *from, uint64_t from_first, uint64_t n)
{
    unsigned head = bits_to_byte(to_first, n);

    if (head != 0)
        bits_put(to, to_first, (uint8_t)bits_read(from, from_first, head), head);
    to += (to_first + head) >> 3;
    from_first += head;
    n -= head;
    if ((from_first & 7) == 0) {
        memcpy(to, from + (from_first >> 3), (size_t)(n >> 3));
        to += n >> 3;
        from_first += n & ~(uint64_t)7;
        n &= 7;
    }
    for (; n >= 56; n -= 56, from_first += 56, to += 7) {
        uint64_t v = bits_read(from, from_first, 56);
        memcpy(to, &v, 7);
    }
    for (; n >= 8; n -= 8, from_first += 8)
        *to++ = (uint8_t)bits_read(from, from_first, 8);
    if (n != 0)
        *to = (uint8_t)bits_read(from, from_first, (unsigned)n);
}

void lb_bits_fill(uint8_t *to, uint64_t first, uint64_t n, bool value)
{
    unsigned head = bits_to_byte(first, n);

    if (head != 0)
        bits_put(to, first, value ? (uint8_t)bits_mask(head) : 0, head);
    memset(to + ((first + head) >> 3), value ? 0xFF : 0, (size_t)((n - head + 7) >> 3));
}

uint64_t lb_bits_count(const uint8_t *bits, uint64_t first, uint64_t n)
{
    uint64_t count = 0;

    for (; n >= 56; n -= 56, first += 56)
        count += (uint64_t)__builtin_popcountll(bits_read(bits, first, 56));
    return n == 0 ? count : count + (uint64_t)__builtin_popcountll(bits_read(bits, first, (unsigned)n));
}

/* ---------------------------------------------------------------- runs */

void lb_parquet_hybrid_init(lb_parquet_hybrid *h, const uint8_t *bytes, size_t size, unsigned width)
{
    *h = (lb_parquet_hybrid){ .at = bytes, .end = bytes + size, .width = width };
}

static bool hybrid_packed(lb_parquet_hybrid *h, uint64_t groups)
{
    size_t rest = (size_t)(h->end - h->at);

    h->packed = true;
    h->run = h->at;
    h->given = 0;
    /* Some writers claim a last group of 8 and end with the bytes that hold their numbers. */
    if (groups <= rest / h->width) {
        h->run_size = (size_t)groups * h->width;
        h->left = groups * 8;
    } else {
        h->run_size = rest;
        h->left = (uint64_t)rest * 8 / h->width;
    }
    h->at += h->run_size;
    return h->left != 0;
}

static bool hybrid_equal(lb_parquet_hybrid *h, uint64_t count)
{
    size_t bytes = (h->width + 7) / 8;

    if (bytes > (size_t)(h->end - h->at))
        return false;
    h->packed = false;
    h->value = 0;
    memcpy(&h->value, h->at, bytes);
    h->at += bytes;
    h->left = count;
    return h->width == 32 || h->value >> h->width == 0;
}

/* Go to the next run that has numbers. */
static bool hybrid_next(lb_parquet_hybrid *h)
{
    if (h->width == 0) {
        h->packed = false;
        h->value = 0;
        h->left = UINT64_MAX;
        return true;
    }
    while (h->left == 0) {
        uint64_t head;
        bool good = lb_parquet_varint(&h->at, h->end, &head);
        if (good && (head & 1) == 0)
            good = hybrid_equal(h, head >> 1);
        else if (good && head != 1)
            good = hybrid_packed(h, head >> 1);
        if (!good) { /* and so for ever */
            h->at = h->end;
            h->left = 0;
            return false;
        }
    }
    return true;
}

uint64_t lb_parquet_hybrid_run(lb_parquet_hybrid *h, uint64_t most, bool *equal, uint32_t *value)
{
    if (h->left == 0 && !hybrid_next(h))
        return 0;
    *equal = !h->packed;
    *value = h->value;
    return h->left < most ? h->left : most;
}

static void hybrid_pass(lb_parquet_hybrid *h, uint64_t n)
{
    h->left -= n;
    h->given += n;
}

bool lb_parquet_hybrid_skip(lb_parquet_hybrid *h, uint64_t n)
{
    bool equal;
    uint32_t value;

    while (n != 0) {
        uint64_t part = lb_parquet_hybrid_run(h, n, &equal, &value);
        if (part == 0)
            return false;
        hybrid_pass(h, part);
        n -= part;
    }
    return true;
}

const uint8_t *lb_parquet_hybrid_reach(const lb_parquet_hybrid *h, uint64_t n, const uint8_t *there)
{
    lb_parquet_hybrid copy = *h;

    copy.end = there < h->end ? there : h->end;
    for (const uint8_t *behind = h->at;;) {
        const uint64_t part = copy.left < n ? copy.left : n;
        /* The run at hand may have been begun when more could be looked at than now. */
        if (part != 0)
            behind = copy.packed ? copy.run + ((copy.given + part) * copy.width + 7) / 8 : copy.at;
        hybrid_pass(&copy, part);
        n -= part;
        if (n == 0)
            return behind;
        if (copy.at >= copy.end || !hybrid_next(&copy))
            return copy.width != 0 && there < h->end ? NULL : h->end;
    }
}

bool lb_parquet_hybrid_numbers(lb_parquet_hybrid *h, size_t n, uint32_t *out)
{
    bool equal;
    uint32_t value;

    while (n != 0) {
        size_t part = (size_t)lb_parquet_hybrid_run(h, n, &equal, &value);
        if (part == 0)
            return false;
        if (!equal)
            lb_parquet_unpack32(h->run, (size_t)(h->end - h->run), h->width, h->given, part, out);
        for (size_t i = 0; equal && i < part; i++)
            out[i] = value;
        hybrid_pass(h, part);
        out += part;
        n -= part;
    }
    return true;
}

static bool levels_narrow(const uint32_t *in, size_t n, uint16_t max, uint16_t *out)
{
    uint32_t all = 0;

    for (size_t i = 0; i < n; i++) {
        all = in[i] > all ? in[i] : all;
        out[i] = (uint16_t)in[i];
    }
    return all <= max;
}

#if defined(__x86_64__)
/* Eight levels of up to 4 bits a turn: four lie in the lower 16 bits, four in those `4 * width` further on. Each
 * lane multiplies its own level to the top. */
static void levels_groups(const uint8_t *from, unsigned width, size_t groups, uint16_t *out)
{
    const unsigned top = 16 - width;
    const short a = (short)(1 << top), b = (short)(1 << (top - width)), c = (short)(1 << (top - 2 * width)),
                d = (short)(1 << (top - 3 * width));
    const __m128i by = _mm_set_epi16(d, c, b, a, d, c, b, a), down = _mm_cvtsi32_si128((int)top);

    for (size_t i = 0; i < groups; i++, from += width, out += 8) {
        const uint64_t eight = load64(from);
        const __m128i low = _mm_set1_epi16((short)(uint16_t)eight);
        const __m128i high = _mm_set1_epi16((short)(uint16_t)(eight >> (4 * width)));
        const __m128i v = _mm_mullo_epi16(_mm_unpacklo_epi64(low, high), by);
        _mm_storeu_si128((__m128i *)(void *)out, _mm_srl_epi16(v, down));
    }
}
#else
static void levels_groups(const uint8_t *from, unsigned width, size_t groups, uint16_t *out)
{
    for (size_t i = 0; i < groups; i++, from += width, out += 8) {
        const uint64_t eight = load64(from);
        for (unsigned k = 0; k < 8; k++)
            out[k] = (uint16_t)(eight >> (k * width) & ((1u << width) - 1));
    }
}
#endif

static bool levels_all(const uint16_t *levels, size_t n, uint16_t max)
{
    uint16_t all = 0;

    for (size_t i = 0; i < n; i++)
        all = levels[i] > all ? levels[i] : all;
    return all <= max;
}

/* Some of the next `n` packed levels. *done of them. */
static bool levels_packed(const lb_parquet_hybrid *h, size_t n, uint16_t max, uint16_t *out, size_t *done)
{
    uint32_t block[256];
    const size_t at = (size_t)(h->given / 8) * h->width, size = (size_t)(h->end - h->run);

    if (h->width <= 4 && h->given % 8 == 0 && n >= 8 && at + 8 <= size) {
        const size_t groups = (size - at - 8) / h->width + 1;
        *done = 8 * (groups < n / 8 ? groups : n / 8);
        levels_groups(h->run + at, h->width, *done / 8, out);
        return levels_all(out, *done, max);
    }
    *done = n < 256 ? n : 256;
    if (h->given % 8 != 0 && *done > 8 - h->given % 8)
        *done = 8 - (size_t)(h->given % 8);
    lb_parquet_unpack32(h->run, size, h->width, h->given, *done, block);
    return levels_narrow(block, *done, max, out);
}

bool lb_parquet_hybrid_levels(lb_parquet_hybrid *h, size_t n, uint16_t max, uint16_t *out)
{
    uint32_t value;
    bool equal;

    while (n != 0) {
        size_t part = (size_t)lb_parquet_hybrid_run(h, n, &equal, &value);
        if (part == 0 || (equal && value > max))
            return false;
        if (!equal && !levels_packed(h, part, max, out, &part))
            return false;
        for (size_t i = 0; equal && i < part; i++)
            out[i] = (uint16_t)value;
        hybrid_pass(h, part);
        out += part;
        n -= part;
    }
    return true;
}

bool lb_parquet_hybrid_bits(lb_parquet_hybrid *h, uint64_t n, uint8_t *bits, uint64_t first, uint64_t *ones)
{
    bool equal;
    uint32_t value;

    *ones = 0;
    while (n != 0) {
        uint64_t part = lb_parquet_hybrid_run(h, n, &equal, &value);
        if (part == 0)
            return false;
        if (bits != NULL && equal)
            lb_bits_fill(bits, first, part, value != 0);
        else if (bits != NULL)
            lb_bits_copy(bits, first, h->run, h->given, part);
        *ones += !equal ? lb_bits_count(h->run, h->given, part) : value != 0 ? part : 0;
        hybrid_pass(h, part);
        first += part;
        n -= part;
    }
    return true;
}
