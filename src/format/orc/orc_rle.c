/* Run-length encodings: bytes, bits, and integers of both versions. */
#include "format/orc/orc.h"

/* More bytes than any run of integers has: 512 values of 8 bytes, 31 patches of 8, and what goes before; 128 varints. */
#define RLE_RUN_BYTES 4608

/* ---------------------------------------------------------------- bytes and bits */

static lb_status bytes_open(orc_bytes *r, lb_error *err)
{
    LB_TRY(orc_in_need(r->in, 2, err));
    if (orc_in_left(r->in) < 2)
        return orc_in_ends(r->in, err);
    const int8_t head = (int8_t)*r->in->at++;
    r->repeats = head >= 0;
    r->left = r->repeats ? (size_t)head + 3 : (size_t)-head;
    if (r->repeats)
        r->value = *r->in->at++;
    return LB_OK;
}

lb_status orc_bytes_read(orc_bytes *r, uint8_t *out, size_t n, lb_error *err)
{
    while (n != 0) {
        if (r->left == 0)
            LB_TRY(bytes_open(r, err));
        const size_t k = LB_MIN(n, r->left);
        if (r->repeats)
            memset(out, r->value, k);
        else
            LB_TRY(orc_in_copy(r->in, out, k, err));
        r->left -= k;
        out += k;
        n -= k;
    }
    return LB_OK;
}

lb_status orc_bytes_skip(orc_bytes *r, uint64_t n, lb_error *err)
{
    while (n != 0) {
        if (r->left == 0)
            LB_TRY(bytes_open(r, err));
        const size_t k = (size_t)LB_MIN(n, (uint64_t)r->left);
        if (!r->repeats)
            LB_TRY(orc_in_skip(r->in, k, err));
        r->left -= k;
        n -= k;
    }
    return LB_OK;
}

static inline uint8_t bits_turn(uint8_t b)
{
    b = (uint8_t)(b >> 4 | b << 4);
    b = (uint8_t)((b & 0xCC) >> 2 | (b & 0x33) << 2);
    return (uint8_t)((b & 0xAA) >> 1 | (b & 0x55) << 1);
}

/* Whole bytes, when the output stands at one: the bulk of all bits. */
static lb_status bits_whole(orc_bits *r, uint8_t *out, size_t bytes, lb_error *err)
{
    LB_TRY(orc_bytes_read(&r->bytes, out, bytes, err));
    for (size_t i = 0; i < bytes; i++)
        out[i] = bits_turn(out[i]);
    return LB_OK;
}

lb_status orc_bits_read(orc_bits *r, uint8_t *out, size_t n, lb_error *err)
{
    const size_t size = (n + 7) / 8;
    size_t at = 0;

    if (r->left == 0) {
        LB_TRY(bits_whole(r, out, n / 8, err));
        at = n / 8 * 8;
        memset(out + n / 8, 0, size - n / 8);
    } else {
        memset(out, 0, size);
    }
    while (at < n) {
        if (r->left == 0) {
            LB_TRY(orc_bytes_read(&r->bytes, &r->byte, 1, err));
            r->byte = bits_turn(r->byte);
            r->left = 8;
        }
        const unsigned k = (unsigned)LB_MIN(n - at, (size_t)r->left), to = at & 7;
        const unsigned bits = r->byte & ((1u << k) - 1);
        out[at >> 3] |= (uint8_t)(bits << to);
        if (k > 8 - to)
            out[(at >> 3) + 1] |= (uint8_t)(bits >> (8 - to));
        r->byte = (uint8_t)(r->byte >> k);
        r->left -= k;
        at += k;
    }
    return LB_OK;
}

lb_status orc_bits_skip(orc_bits *r, uint64_t n, lb_error *err)
{
    const unsigned k = (unsigned)LB_MIN(n, (uint64_t)r->left);
    uint8_t rest;

    r->byte = (uint8_t)(r->byte >> k);
    r->left -= k;
    n -= k;
    LB_TRY(orc_bytes_skip(&r->bytes, n / 8, err));
    return n % 8 == 0 ? LB_OK : orc_bits_read(r, &rest, (size_t)(n % 8), err);
}

/* ---------------------------------------------------------------- numbers */

/* A varint of up to 64 bits at *p. False: it passes the end, or is longer. */
static inline bool rle_varint(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;

    for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
        const uint8_t b = *(*p)++;
        v |= (uint64_t)(b & 0x7F) << shift;
        if ((b & 0x80) == 0) {
            *out = v;
            return true;
        }
    }
    return false;
}

static inline uint64_t rle_big(const uint8_t *p, size_t size)
{
    uint64_t v = 0;

    for (size_t i = 0; i < size; i++)
        v = v << 8 | p[i];
    return v;
}

static inline uint64_t unpack_load(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return __builtin_bswap64(v);
}

/* Eight numbers take `width` bytes; with a constant width all shifts are constants. */
static inline __attribute__((always_inline)) void unpack_eights(const uint8_t *p, unsigned width, size_t eights,
                                                                uint64_t *out)
{
    for (; eights != 0; eights--, p += width, out += 8)
        for (unsigned i = 0; i < 8; i++) {
            const unsigned bit = i * width;
            out[i] = unpack_load(p + bit / 8) << bit % 8 >> (64 - width);
        }
}

static inline __attribute__((always_inline)) void unpack_bytes(const uint8_t *p, unsigned size, size_t n, uint64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = unpack_load(p + i * size) >> (64 - 8 * size);
}

/* One at a time; widths up to 57 fit a load at any bit. */
static void unpack_slow(const uint8_t *p, unsigned width, size_t n, uint64_t *out)
{
    for (size_t i = 0, bit = 0; i < n; i++, bit += width) {
        uint64_t v = unpack_load(p + bit / 8) << bit % 8;
        if (width + bit % 8 > 64)
            v |= (uint64_t)p[bit / 8 + 8] >> (8 - bit % 8);
        out[i] = v >> (64 - width);
    }
}

#define UNPACK_CASE(w)                      \
    case (w):                               \
        unpack_eights(p, (w), eights, out); \
        break

void orc_unpack(const uint8_t *p, unsigned width, size_t n, uint64_t *out)
{
    const size_t eights = n / 8;

    switch (width) {
        UNPACK_CASE(1);
        UNPACK_CASE(2);
        UNPACK_CASE(3);
        UNPACK_CASE(4);
        UNPACK_CASE(5);
        UNPACK_CASE(6);
        UNPACK_CASE(7);
        UNPACK_CASE(9);
        UNPACK_CASE(10);
        UNPACK_CASE(11);
        UNPACK_CASE(12);
        UNPACK_CASE(13);
        UNPACK_CASE(14);
        UNPACK_CASE(15);
        UNPACK_CASE(17);
        UNPACK_CASE(18);
        UNPACK_CASE(19);
        UNPACK_CASE(20);
        UNPACK_CASE(21);
        UNPACK_CASE(22);
        UNPACK_CASE(23);
        UNPACK_CASE(26);
        UNPACK_CASE(28);
        UNPACK_CASE(30);
    case 8:
        unpack_bytes(p, 1, n, out);
        return;
    case 16:
        unpack_bytes(p, 2, n, out);
        return;
    case 24:
        unpack_bytes(p, 3, n, out);
        return;
    case 32:
        unpack_bytes(p, 4, n, out);
        return;
    case 40:
        unpack_bytes(p, 5, n, out);
        return;
    case 48:
        unpack_bytes(p, 6, n, out);
        return;
    case 56:
        unpack_bytes(p, 7, n, out);
        return;
    case 64:
        unpack_bytes(p, 8, n, out);
        return;
    default:
        unpack_slow(p, width, n, out);
        return;
    }
    unpack_slow(p + eights * width, width, n % 8, out + eights * 8);
}

/* ---------------------------------------------------------------- runs of integers */

typedef enum run_kind { RUN_REPEAT, RUN_DIRECT, RUN_PATCHED, RUN_DELTA, RUN_V1, RUN_V1_LITERALS } run_kind;

typedef struct rle_run {
    run_kind kind;
    unsigned width;
    size_t n;
    const uint8_t *p;     /* packed values, or varints */
    uint64_t base, delta; /* of REPEAT, PATCHED, DELTA, V1 */
    unsigned patch_width, gap_width, patch_bits;
    size_t patches;
    const uint8_t *end; /* behind the run; NULL: varints, whose end shows when they are read */
} rle_run;

/* What a code of 5 bits says: of bits for a number. */
static const uint8_t rle_widths[32] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                        17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 32, 40, 48, 56, 64 };

/* The next width that there is a code for. */
static unsigned rle_closest(unsigned bits)
{
    size_t i = 0;

    while (i < 31 && rle_widths[i] < bits)
        i++;
    return rle_widths[i];
}

static inline size_t rle_packed(size_t n, unsigned width)
{
    return (n * width + 7) / 8;
}

static inline uint64_t run_signed(const orc_ints *r, uint64_t v)
{
    return r->is_signed ? (uint64_t)lb_proto_zigzag(v) : v;
}

/* Base value: sign and magnitude, the highest bit being the sign. */
static uint64_t run_base(const uint8_t *p, size_t size)
{
    const uint64_t v = rle_big(p, size), sign = (uint64_t)1 << (8 * size - 1);

    return (v & sign) != 0 ? 0 - (v & ~sign) : v;
}

static bool run_parse_patched(rle_run *run, const uint8_t *p, const uint8_t *end)
{
    if (end - p < 4)
        return false;
    const size_t base = (size_t)(p[2] >> 5) + 1;
    run->patch_width = rle_widths[p[2] & 31];
    run->gap_width = (p[3] >> 5) + 1u;
    run->patches = p[3] & 31;
    run->patch_bits = rle_closest(run->patch_width + run->gap_width);
    const size_t values = rle_packed(run->n, run->width), list = rle_packed(run->patches, run->patch_bits);
    if ((size_t)(end - p) < 4 + base + values + list || run->patch_width + run->gap_width > 64 ||
        (run->patches != 0 && run->width + run->patch_width > 64))
        return false;
    run->base = run_base(p + 4, base);
    run->p = p + 4 + base;
    run->end = run->p + values + list;
    return true;
}

static bool run_parse_delta(const orc_ints *r, rle_run *run, const uint8_t *p, const uint8_t *end)
{
    uint64_t base, delta;

    if ((p[0] >> 1 & 31) == 0)
        run->width = 0;
    p += 2;
    if (!rle_varint(&p, end, &base) || !rle_varint(&p, end, &delta))
        return false;
    run->base = run_signed(r, base);
    run->delta = (uint64_t)lb_proto_zigzag(delta);
    const size_t values = run->n < 3 ? 0 : rle_packed(run->n - 2, run->width);
    if ((size_t)(end - p) < values)
        return false;
    run->p = p;
    run->end = p + values;
    return true;
}

/* At least one byte is there. False: the run is cut off or damaged. */
static bool run_parse_v2(const orc_ints *r, rle_run *run, const uint8_t *p, const uint8_t *end)
{
    run->kind = (run_kind)(p[0] >> 6);
    if (run->kind == RUN_REPEAT) {
        const size_t size = (size_t)(p[0] >> 3 & 7) + 1;
        run->n = (size_t)(p[0] & 7) + 3;
        if ((size_t)(end - p) < 1 + size)
            return false;
        run->base = run_signed(r, rle_big(p + 1, size));
        run->end = p + 1 + size;
        return true;
    }
    if (end - p < 2)
        return false;
    run->width = rle_widths[p[0] >> 1 & 31];
    run->n = ((size_t)(p[0] & 1) << 8 | p[1]) + 1;
    if (run->kind == RUN_PATCHED)
        return run_parse_patched(run, p, end);
    if (run->kind == RUN_DELTA)
        return run_parse_delta(r, run, p, end);
    const size_t values = rle_packed(run->n, run->width);
    run->p = p + 2;
    run->end = run->p + values;
    return (size_t)(end - p) >= 2 + values;
}

static bool run_parse_v1(const orc_ints *r, rle_run *run, const uint8_t *p, const uint8_t *end)
{
    const int8_t head = (int8_t)*p++;

    run->kind = head >= 0 ? RUN_V1 : RUN_V1_LITERALS;
    run->n = head >= 0 ? (size_t)head + 3 : (size_t)-head;
    run->p = p;
    run->end = NULL;
    if (head < 0)
        return true;
    if (p == end)
        return false;
    run->delta = (uint64_t)(int64_t)(int8_t)*p++;
    if (!rle_varint(&p, end, &run->base))
        return false;
    run->base = run_signed(r, run->base);
    run->end = p;
    return true;
}

static lb_status run_parse(orc_ints *r, rle_run *run, lb_error *err)
{
    orc_in *in = r->in;

    LB_TRY(orc_in_need(in, RLE_RUN_BYTES, err));
    *run = (rle_run){ 0 };
    if (orc_in_left(in) == 0) {
        (void)orc_in_ends(in, err);
        return LB_CORRUPT;
    }
    if (r->v2 ? run_parse_v2(r, run, in->at, in->end) : run_parse_v1(r, run, in->at, in->end))
        return LB_OK;
    (void)orc_in_fail(in, err, "a run of integers is cut off or damaged");
    return LB_CORRUPT;
}

static void run_zigzag(uint64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = (uint64_t)lb_proto_zigzag(v[i]);
}

static void run_patch(const rle_run *run, uint64_t *out)
{
    uint64_t list[32];
    const uint64_t mask = run->patch_width == 64 ? UINT64_MAX : ((uint64_t)1 << run->patch_width) - 1;
    size_t at = 0;

    orc_unpack(run->p + rle_packed(run->n, run->width), run->patch_bits, run->patches, list);
    for (size_t i = 0; i < run->patches; i++) {
        at += (size_t)(list[i] >> run->patch_width);
        if (at < run->n)
            out[at] |= (list[i] & mask) << run->width;
    }
}

static void run_deltas(const rle_run *run, uint64_t *out)
{
    uint64_t v = run->base;

    out[0] = v;
    if (run->n < 2)
        return;
    out[1] = v += run->delta;
    if (run->width == 0) {
        for (size_t i = 2; i < run->n; i++)
            out[i] = v += run->delta;
        return;
    }
    orc_unpack(run->p, run->width, run->n - 2, out + 2);
    if ((int64_t)run->delta < 0)
        for (size_t i = 2; i < run->n; i++)
            out[i] = v -= out[i];
    else
        for (size_t i = 2; i < run->n; i++)
            out[i] = v += out[i];
}

static bool run_literals(const orc_ints *r, rle_run *run, uint64_t *out)
{
    const uint8_t *p = run->p;

    for (size_t i = 0; i < run->n; i++) {
        if (!rle_varint(&p, r->in->end, &out[i]))
            return false;
        out[i] = run_signed(r, out[i]);
    }
    run->end = p;
    return true;
}

/* All values of the run into `out`; the stream stands behind it then. */
static lb_status run_expand(orc_ints *r, rle_run *run, uint64_t *out, lb_error *err)
{
    switch (run->kind) {
    case RUN_REPEAT:
        for (size_t i = 0; i < run->n; i++)
            out[i] = run->base;
        break;
    case RUN_DIRECT:
        orc_unpack(run->p, run->width, run->n, out);
        if (r->is_signed)
            run_zigzag(out, run->n);
        break;
    case RUN_PATCHED:
        orc_unpack(run->p, run->width, run->n, out);
        run_patch(run, out);
        for (size_t i = 0; i < run->n; i++)
            out[i] += run->base;
        break;
    case RUN_DELTA:
        run_deltas(run, out);
        break;
    case RUN_V1:
        for (size_t i = 0; i < run->n; i++)
            out[i] = run->base + i * run->delta;
        break;
    case RUN_V1_LITERALS:
        if (!run_literals(r, run, out))
            return orc_in_fail(r->in, err, "a run of integers is cut off or damaged");
        break;
    }
    r->in->at = run->end;
    return LB_OK;
}

lb_status orc_ints_read(orc_ints *r, int64_t *out, size_t n, lb_error *err)
{
    rle_run run;

    while (n != 0) {
        if (r->at == r->n) {
            LB_TRY(run_parse(r, &run, err));
            if (run.n <= n) {
                LB_TRY(run_expand(r, &run, (uint64_t *)out, err));
                out += run.n;
                n -= run.n;
                continue;
            }
            LB_TRY(run_expand(r, &run, (uint64_t *)r->run, err));
            r->at = 0;
            r->n = run.n;
        }
        const size_t k = LB_MIN(n, r->n - r->at);
        memcpy(out, r->run + r->at, k * sizeof *out);
        r->at += k;
        out += k;
        n -= k;
    }
    return LB_OK;
}

lb_status orc_ints_skip(orc_ints *r, uint64_t n, lb_error *err)
{
    rle_run run;

    for (;;) {
        const size_t k = (size_t)LB_MIN(n, (uint64_t)(r->n - r->at));
        r->at += k;
        n -= k;
        if (n == 0)
            return LB_OK;
        LB_TRY(run_parse(r, &run, err));
        if (run.n <= n && run.end != NULL) {
            r->in->at = run.end;
            n -= run.n;
            continue;
        }
        LB_TRY(run_expand(r, &run, (uint64_t *)r->run, err));
        r->at = 0;
        r->n = run.n;
    }
}
