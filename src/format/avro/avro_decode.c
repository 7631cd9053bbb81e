/* Programs at work on the bytes of rows. */
#include "base/number.h"
#include "format/avro/avro.h"
#include "wire/avro_wire.h"

/* Items that take no bytes, as those of an array of nulls, in a row: a few bytes could claim any number. */
#define DECODE_EMPTY_ITEMS ((uint64_t)1 << 24)

static bool decode_run(avro_decoder *d, uint32_t from, uint32_t to);

static bool decode_wrong(avro_decoder *d, const avro_op *op, const char *why)
{
    d->why = why;
    d->who = op;
    return false;
}

static inline size_t decode_left(const avro_decoder *d)
{
    return (size_t)(d->end - d->at);
}

/* The next `n` bytes; NULL: there are none. */
static inline const uint8_t *decode_take(avro_decoder *d, const avro_op *op, uint64_t n)
{
    if (n > decode_left(d)) {
        (void)decode_wrong(d, op, "the block ends inside a value");
        return NULL;
    }
    d->at += n;
    return d->at - n;
}

static inline bool decode_long(avro_decoder *d, const avro_op *op, int64_t *out)
{
    return lb_avro_long(&d->at, d->end, out) || decode_wrong(d, op, "a number of more than 64 bits, or cut by the end");
}

static inline bool decode_bytes(avro_decoder *d, const avro_op *op, const uint8_t **out, size_t *size)
{
    return lb_avro_bytes(&d->at, d->end, out, size) ||
           decode_wrong(d, op, "a length that is negative, or passes the end of the block");
}

/* ---------------------------------------------------------------- plain values */

static bool decode_bool(avro_decoder *d, const avro_op *op)
{
    const uint8_t *p = decode_take(d, op, 1);

    if (p == NULL)
        return false;
    return *p <= 1 ? lb_growing_bool(d->append, op->to, *p != 0)
                   : decode_wrong(d, op, "a boolean that is neither 0 nor 1");
}

static inline bool decode_int(avro_decoder *d, const avro_op *op)
{
    int64_t v;

    if (!decode_long(d, op, &v))
        return false;
    const int32_t narrow = (int32_t)v;
    return narrow == v ? lb_growing_fixed(d->append, op->to, &narrow, sizeof narrow)
                       : decode_wrong(d, op, "an int of more than 32 bits");
}

static bool decode_enum(avro_decoder *d, const avro_op *op)
{
    int64_t i;

    if (!decode_long(d, op, &i))
        return false;
    if (i < 0 || (uint64_t)i >= op->n)
        return decode_wrong(d, op, "an enum's symbol that there is not");
    return lb_growing_bytes(d->append, op->to, op->type->symbols[i].at, op->type->symbols[i].size);
}

/* Big-endian two's complement of any length, as the little-endian of 16 or 32 bytes that columns have. */
static bool decode_decimal_bytes(avro_decoder *d, const avro_op *op, const uint8_t *p, size_t size)
{
    const uint32_t width = op->to->width;
    const uint8_t sign = size != 0 && p[0] >= 0x80 ? 0xFF : 0;
    uint8_t out[sizeof(lb_i256)];

    for (; size > width; p++, size--) /* needless bytes of the sign */
        if (p[0] != sign || p[1] >> 7 != sign >> 7)
            return decode_wrong(d, op, "a decimal of more digits than its type has");
    memset(out, sign, sizeof out);
    for (size_t i = 0; i < size; i++)
        out[i] = p[size - 1 - i];
    return lb_growing_fixed(d->append, op->to, out, width);
}

static bool decode_decimal(avro_decoder *d, const avro_op *op)
{
    const uint8_t *p;
    size_t size;

    if (op->code == AVRO_PUT_DECIMAL)
        return decode_bytes(d, op, &p, &size) && decode_decimal_bytes(d, op, p, size);
    p = decode_take(d, op, op->n);
    return p != NULL && decode_decimal_bytes(d, op, p, (size_t)op->n);
}

static int decode_hex(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool decode_uuid(avro_decoder *d, const avro_op *op)
{
    uint8_t out[16];
    const uint8_t *p;
    size_t size, at = 0;

    if (!decode_bytes(d, op, &p, &size))
        return false;
    bool good = size == 36;
    for (size_t i = 0; good && i < sizeof out; i++) {
        if (at == 8 || at == 13 || at == 18 || at == 23)
            good = p[at++] == '-';
        const int high = decode_hex(p[at]), low = decode_hex(p[at + 1]);
        good = good && high >= 0 && low >= 0;
        out[i] = (uint8_t)((unsigned)high << 4 | (unsigned)low);
        at += 2;
    }
    return good ? lb_growing_fixed(d->append, op->to, out, sizeof out)
                : decode_wrong(d, op, "a text that is no UUID where the schema says so");
}

/* Months, days and milliseconds, each of 32 bits without sign. */
static bool decode_duration(avro_decoder *d, const avro_op *op)
{
    struct {
        int32_t months, days;
        int64_t ns;
    } out;
    uint32_t in[3];
    const uint8_t *p = decode_take(d, op, sizeof in);

    if (p == NULL)
        return false;
    memcpy(in, p, sizeof in);
    if (in[0] > INT32_MAX || in[1] > INT32_MAX)
        return decode_wrong(d, op, "a duration of more than 2147483647 months or days");
    out.months = (int32_t)in[0];
    out.days = (int32_t)in[1];
    out.ns = (int64_t)in[2] * 1000000;
    return lb_growing_fixed(d->append, op->to, &out, sizeof out);
}

/* ---------------------------------------------------------------- nested values */

static inline bool decode_nullable(avro_decoder *d, const avro_op *op)
{
    int64_t branch;

    if (!decode_long(d, op, &branch))
        return false;
    if (branch < 0 || (uint64_t)branch >= op->type->n)
        return decode_wrong(d, op, "a branch that the union does not have");
    if ((uint64_t)branch == op->n)
        return lb_growing_null(d->append, op->to);
    return decode_run(d, (uint32_t)(op - d->ops) + 1, op->next);
}

/* Of putting or passing. */
static bool decode_union(avro_decoder *d, const avro_op *op)
{
    int64_t branch;

    if (!decode_long(d, op, &branch))
        return false;
    if (branch < 0 || (uint64_t)branch >= op->n)
        return decode_wrong(d, op, "a branch that the union does not have");
    if (op->to != NULL && !lb_growing_branch(d->append, op->to, (size_t)branch))
        return false;
    return decode_run(d, op->starts[branch], op->starts[branch + 1]);
}

/* The head of a run of items: how many, 0 at the end. Behind a negative count stands how many bytes they take. */
static bool decode_count(avro_decoder *d, const avro_op *op, uint64_t *n, uint64_t *bytes)
{
    int64_t count, size = -1;

    if (!decode_long(d, op, &count) || (count < 0 && !decode_long(d, op, &size)))
        return false;
    *n = count < 0 ? 0 - (uint64_t)count : (uint64_t)count;
    *bytes = count < 0 ? (uint64_t)size : UINT64_MAX;
    if (count < 0 && (size < 0 || (uint64_t)size > decode_left(d)))
        return decode_wrong(d, op, "items of more bytes than the block has");
    if (op->least != 0)
        return *n <= decode_left(d) / op->least || decode_wrong(d, op, "a count of more items than the block can hold");
    if (*n > DECODE_EMPTY_ITEMS - d->empty)
        return decode_wrong(d, op, "more items without a byte than are believed");
    d->empty += *n;
    return true;
}

static bool decode_key(avro_decoder *d, const avro_op *op)
{
    const uint8_t *p;
    size_t size;

    return decode_bytes(d, op, &p, &size) &&
           (op->to == NULL || lb_growing_bytes(d->append, &op->to->children[0], p, size));
}

/* Nulls leave nothing but their number. */
static void decode_nulls(const avro_op *op, lb_append *append, uint64_t n)
{
    op->to->length += (int64_t)n;
    op->to->nulls += (int64_t)n;
    append->bytes += n;
}

static bool decode_items(avro_decoder *d, const avro_op *op)
{
    const uint32_t from = (uint32_t)(op - d->ops) + 1;
    uint64_t n, bytes;

    do {
        if (!decode_count(d, op, &n, &bytes))
            return false;
        const uint8_t *begin = d->at;
        const bool nulls = op->code == AVRO_PUT_ARRAY && d->ops[from].code == AVRO_PUT_NULL;
        if (nulls)
            decode_nulls(&d->ops[from], d->append, n);
        for (uint64_t i = 0; !nulls && i < n; i++) {
            if (op->code == AVRO_PUT_MAP && !decode_key(d, op))
                return false;
            if (!decode_run(d, from, op->next))
                return false;
        }
        /* Who passes them goes by the bytes, and has to come to the same place. */
        if (bytes != UINT64_MAX && (uint64_t)(d->at - begin) != bytes)
            return decode_wrong(d, op, "items that do not take as many bytes as is told");
    } while (n != 0);
    return lb_growing_items(d->append, op->to);
}

static bool decode_pass_items(avro_decoder *d, const avro_op *op)
{
    const uint32_t from = (uint32_t)(op - d->ops) + 1;
    uint64_t n, bytes;

    do {
        if (!decode_count(d, op, &n, &bytes))
            return false;
        if (bytes != UINT64_MAX) {
            d->at += bytes;
            continue;
        }
        if (op->least == 0 && from == op->next)
            continue;
        for (uint64_t i = 0; i < n; i++) {
            if (op->code == AVRO_PASS_MAP && !decode_key(d, op))
                return false;
            if (!decode_run(d, from, op->next))
                return false;
        }
    } while (n != 0);
    return true;
}

/* ---------------------------------------------------------------- steps */

static bool decode_plain(avro_decoder *d, const avro_op *op)
{
    const uint8_t *p;
    size_t size;
    int64_t v;

    switch (op->code) {
    case AVRO_PUT_NULL:
        return lb_growing_null(d->append, op->to);
    case AVRO_PUT_BOOL:
        return decode_bool(d, op);
    case AVRO_PUT_INT:
        return decode_int(d, op);
    case AVRO_PUT_LONG:
        return decode_long(d, op, &v) && lb_growing_fixed(d->append, op->to, &v, sizeof v);
    case AVRO_PUT_FLOAT:
        p = decode_take(d, op, 4);
        return p != NULL && lb_growing_fixed(d->append, op->to, p, 4);
    case AVRO_PUT_DOUBLE:
        p = decode_take(d, op, 8);
        return p != NULL && lb_growing_fixed(d->append, op->to, p, 8);
    case AVRO_PUT_BYTES:
        return decode_bytes(d, op, &p, &size) && lb_growing_bytes(d->append, op->to, p, size);
    case AVRO_PUT_FIXED:
        p = decode_take(d, op, op->n);
        return p != NULL && lb_growing_fixed(d->append, op->to, p, (size_t)op->n);
    case AVRO_PUT_EMPTY:
        return lb_growing_bytes(d->append, op->to, NULL, 0);
    case AVRO_PUT_ENUM:
        return decode_enum(d, op);
    case AVRO_PUT_UUID:
        return decode_uuid(d, op);
    case AVRO_PUT_DURATION:
        return decode_duration(d, op);
    default:
        return decode_decimal(d, op);
    }
}

static inline bool decode_step(avro_decoder *d, const avro_op *op)
{
    const uint8_t *p;
    size_t size;
    int64_t v;

    switch (op->code) {
    case AVRO_PUT_NULLABLE:
        return decode_nullable(d, op);
    case AVRO_PUT_UNION:
    case AVRO_PASS_UNION:
        return decode_union(d, op);
    case AVRO_PUT_ARRAY:
    case AVRO_PUT_MAP:
        return decode_items(d, op);
    case AVRO_PUT_STRUCT:
        return lb_growing_struct(d->append, op->to);
    case AVRO_MARK:
        d->mark = d->at;
        return true;
    case AVRO_BACK:
        d->at = d->mark;
        return true;
    case AVRO_PASS_FIXED:
        return decode_take(d, op, op->n) != NULL;
    case AVRO_PASS_LONG:
        return decode_long(d, op, &v);
    case AVRO_PASS_BYTES:
        return decode_bytes(d, op, &p, &size);
    case AVRO_PASS_ARRAY:
    case AVRO_PASS_MAP:
        return decode_pass_items(d, op);
    default:
        return decode_plain(d, op);
    }
}

static bool decode_run(avro_decoder *d, uint32_t from, uint32_t to)
{
    const avro_op *ops = d->ops;

    for (uint32_t i = from; i < to; i = ops[i].next)
        if (!decode_step(d, &ops[i]))
            return false;
    return true;
}

bool avro_decode_row(avro_decoder *d, const avro_program *program)
{
    d->ops = program->ops;
    return decode_run(d, 0, program->count);
}
