/* A bitmap is a list of containers, one for each value of the upper 16 bits that occurs:
 *
 *     u32 0x303a, u32 n                                             no container of runs
 *     or u16 0x303b, u16 n - 1, ceil(n / 8) bytes of flags          those flagged hold runs
 *     n times u16 upper bits, u16 cardinality - 1
 *     n times u32 offset of the container, from the beginning       always after 0x303a, after 0x303b from 4 on
 *     containers: runs                u16 n, n times u16 first, u16 length - 1
 *                 up to 4,096 values  u16 each, ascending
 *                 more                8,192 bytes, a bit each */
#include "wire/roaring.h"

#include "base/cursor.h"

#define ROARING_NO_RUNS 0x303a
#define ROARING_RUNS 0x303b
#define ROARING_ARRAY 4096 /* the most values of an array */
#define ROARING_BITMAP 8192
#define ROARING_OFFSETS_FROM 4

typedef struct roaring {
    lb_cursor c;
    uint64_t limit;
    int64_t last; /* number decoded last; -1: none */
    lb_buf *out;
} roaring;

static lb_status roaring_bad(const roaring *r, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_AT(lb_cursor_offset(&r->c)), "this is no valid Roaring bitmap");
}

/* Numbers [first, first + count). */
static lb_status roaring_put(roaring *r, uint64_t first, uint64_t count, lb_error *err)
{
    if ((int64_t)first <= r->last)
        return roaring_bad(r, err);
    if (first + count > r->limit)
        return lb_fail(err, LB_CORRUPT, LB_AT(lb_cursor_offset(&r->c)), "the bitmap holds %llu; there are only %llu",
                       (unsigned long long)(first + count - 1), (unsigned long long)r->limit);
    LB_TRY(lb_buf_reserve(r->out, (size_t)count * sizeof(uint32_t), err));
    for (uint64_t i = 0; i < count; i++) {
        uint32_t value = (uint32_t)(first + i);
        lb_buf_put(r->out, &value, sizeof value);
    }
    r->last = (int64_t)(first + count - 1);
    return LB_OK;
}

static lb_status roaring_runs(roaring *r, uint64_t high, uint64_t cardinality, lb_error *err)
{
    uint64_t n = lb_cursor_count(&r->c, lb_cursor_u16(&r->c), 4), sum = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t first = lb_cursor_u16(&r->c), more = lb_cursor_u16(&r->c);
        if (first + more > UINT16_MAX)
            return roaring_bad(r, err);
        LB_TRY(roaring_put(r, high + first, more + 1, err));
        sum += more + 1;
    }
    return r->c.bad || sum != cardinality ? roaring_bad(r, err) : LB_OK;
}

static lb_status roaring_array(roaring *r, uint64_t high, uint64_t cardinality, lb_error *err)
{
    const uint8_t *at = lb_cursor_take(&r->c, cardinality * sizeof(uint16_t));
    uint16_t low;

    if (at == NULL)
        return roaring_bad(r, err);
    for (uint64_t i = 0; i < cardinality; i++, at += sizeof low) {
        memcpy(&low, at, sizeof low);
        LB_TRY(roaring_put(r, high + low, 1, err));
    }
    return LB_OK;
}

static lb_status roaring_bits(roaring *r, uint64_t high, uint64_t cardinality, lb_error *err)
{
    const uint8_t *at = lb_cursor_take(&r->c, ROARING_BITMAP);
    uint64_t word, sum = 0;

    for (uint64_t i = 0; at != NULL && i < ROARING_BITMAP / sizeof word; i++) {
        memcpy(&word, at + i * sizeof word, sizeof word);
        for (; word != 0; word &= word - 1, sum++)
            LB_TRY(roaring_put(r, high + i * 64 + (uint64_t)__builtin_ctzll(word), 1, err));
    }
    return at == NULL || sum != cardinality ? roaring_bad(r, err) : LB_OK;
}

lb_status lb_roaring_decode(const void *bytes, size_t size, uint64_t limit, lb_buf *out, lb_error *err)
{
    roaring r = { .limit = limit, .last = -1, .out = out };

    lb_cursor_init(&r.c, bytes, size, 0);
    uint32_t cookie = lb_cursor_u32(&r.c);
    bool runs = (cookie & 0xffff) == ROARING_RUNS;
    if (!runs && cookie != ROARING_NO_RUNS)
        return roaring_bad(&r, err);
    uint64_t n = runs ? (cookie >> 16) + 1 : lb_cursor_u32(&r.c);
    const uint8_t *flags = runs ? lb_cursor_take(&r.c, (n + 7) / 8) : NULL;
    const uint8_t *keys = n > 65536 ? NULL : lb_cursor_take(&r.c, n * 4);
    if (!runs || n >= ROARING_OFFSETS_FROM)
        (void)lb_cursor_take(&r.c, n * 4);
    if (keys == NULL || r.c.bad)
        return roaring_bad(&r, err);
    for (uint64_t i = 0; i < n; i++) {
        uint16_t key, less;
        memcpy(&key, keys + 4 * i, sizeof key);
        memcpy(&less, keys + 4 * i + 2, sizeof less);
        uint64_t high = (uint64_t)key << 16, cardinality = (uint64_t)less + 1;
        if (runs && (flags[i / 8] >> (i % 8) & 1) != 0)
            LB_TRY(roaring_runs(&r, high, cardinality, err));
        else if (cardinality <= ROARING_ARRAY)
            LB_TRY(roaring_array(&r, high, cardinality, err));
        else
            LB_TRY(roaring_bits(&r, high, cardinality, err));
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- encoding */

/* Values that share their upper 16 bits with values[0]. */
static size_t roaring_group(const uint32_t *values, size_t n)
{
    size_t i = 1;

    while (i < n && values[i] >> 16 == values[0] >> 16)
        i++;
    return i;
}

static void roaring_put_container(const uint32_t *values, size_t n, lb_buf *out)
{
    if (n > ROARING_ARRAY) {
        uint8_t *bits = out->data + out->size;
        memset(bits, 0, ROARING_BITMAP);
        for (size_t i = 0; i < n; i++)
            bits[(values[i] & 0xffff) / 8] |= (uint8_t)(1u << (values[i] % 8));
        out->size += ROARING_BITMAP;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint16_t low = (uint16_t)values[i];
        lb_buf_put(out, &low, sizeof low);
    }
}

lb_status lb_roaring_encode(const uint32_t *values, size_t n, lb_buf *out, lb_error *err)
{
    uint32_t head[2] = { ROARING_NO_RUNS, 0 };
    size_t bytes = 0;

    for (size_t i = 0, count; i < n; i += count) {
        count = roaring_group(values + i, n - i);
        bytes += count > ROARING_ARRAY ? ROARING_BITMAP : 2 * count;
        head[1]++;
    }
    LB_TRY(lb_buf_reserve(out, sizeof head + 8 * (size_t)head[1] + bytes, err));
    uint32_t at = (uint32_t)(sizeof head + 8 * (size_t)head[1]);
    lb_buf_put(out, head, sizeof head);
    for (size_t i = 0, count; i < n; i += count) {
        count = roaring_group(values + i, n - i);
        uint16_t key[2] = { (uint16_t)(values[i] >> 16), (uint16_t)(count - 1) };
        lb_buf_put(out, key, sizeof key);
    }
    for (size_t i = 0, count; i < n; i += count) {
        count = roaring_group(values + i, n - i);
        lb_buf_put(out, &at, sizeof at);
        at += (uint32_t)(count > ROARING_ARRAY ? ROARING_BITMAP : 2 * count);
    }
    for (size_t i = 0, count; i < n; i += count) {
        count = roaring_group(values + i, n - i);
        roaring_put_container(values + i, count, out);
    }
    return LB_OK;
}
