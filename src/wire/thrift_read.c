/* Bytes → struct. A failed read sticks in the cursor and gives zeros, which end every loop: a struct's next field is
 * its end, a list's count is none. */
#include <inttypes.h>

#include "wire/thrift_kinds.h"

typedef struct thrift_reader {
    lb_cursor *in;
    lb_arena *arena;
    lb_error *err;
    lb_status status; /* the first failure; then nothing is left to read */
    bool compact;
    const uint8_t *kinds, *least;
    lb_thrift_visit_fn visit;
    void *user;
} thrift_reader;

typedef struct thrift_head {
    lb_thrift_kind kind, value; /* of a list's items; of a map's keys and values */
    uint64_t count;
} thrift_head;

static void read_struct(thrift_reader *r, const lb_thrift_struct *type, uint8_t *out, unsigned depth);
static void skip_value(thrift_reader *r, lb_thrift_kind kind, unsigned depth);
static const uint8_t *quick_struct(const uint8_t *p, const uint8_t *end, const lb_thrift_struct *type, uint8_t *out,
                                   unsigned depth);

/* Keep the failure, and let nothing more be read. */
static void reader_stop(thrift_reader *r, lb_status status)
{
    r->status = status;
    r->in->at = r->in->end;
    r->in->bad = true;
}

static void reader_corrupt(thrift_reader *r, const char *what)
{
    if (r->status == LB_OK && !r->in->bad)
        reader_stop(r, lb_fail(r->err, LB_CORRUPT, LB_AT(lb_cursor_offset(r->in)), "Thrift: %s", what));
}

static bool reader_deeper(thrift_reader *r, unsigned depth)
{
    if (depth <= LB_THRIFT_DEPTH)
        return true;
    if (r->status == LB_OK)
        reader_stop(r, lb_fail(r->err, LB_CORRUPT, LB_AT(lb_cursor_offset(r->in)),
                               "Thrift: values are nested deeper than %d", LB_THRIFT_DEPTH));
    return false;
}

/* ---------------------------------------------------------------- numbers */

static uint64_t read_long_varint(thrift_reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = lb_cursor_u8(r->in);
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return v;
    }
    reader_corrupt(r, "a number has more than 64 bits");
    return 0;
}

/* The bytes that end a number are those below 0x80: found at once in 8 bytes, for no branch tells how long numbers
 * are. */
#define VARINT_ENDS UINT64_C(0x8080808080808080)

/* Seven bits of each byte, pushed together. */
static inline uint64_t varint_bits(uint64_t bytes)
{
    bytes &= ~VARINT_ENDS;
    bytes = (bytes & UINT64_C(0x007F007F007F007F)) | (bytes & UINT64_C(0x7F007F007F007F00)) >> 1;
    bytes = (bytes & UINT64_C(0x00003FFF00003FFF)) | (bytes & UINT64_C(0x3FFF00003FFF0000)) >> 2;
    return (bytes & UINT64_C(0x000000000FFFFFFF)) | (bytes & UINT64_C(0x0FFFFFFF00000000)) >> 4;
}

static inline uint64_t read_varint(thrift_reader *r)
{
    const uint8_t *p = r->in->at;
    uint64_t bytes, ends;
    if (r->in->end - p < 8)
        return read_long_varint(r);
    memcpy(&bytes, p, sizeof bytes);
    ends = ~bytes & VARINT_ENDS;
    if (ends == 0)
        return read_long_varint(r);
    r->in->at = p + (__builtin_ctzll(ends) / 8 + 1);
    return varint_bits(bytes & (ends ^ (ends - 1)));
}

static inline uint64_t read_big(thrift_reader *r, size_t size)
{
    const uint8_t *p = lb_cursor_take(r->in, size);
    uint64_t v = 0;
    for (size_t i = 0; p != NULL && i < size; i++)
        v = v << 8 | p[i];
    return v;
}

static int64_t read_int(thrift_reader *r, size_t size)
{
    if (!r->compact) {
        unsigned unused = 64 - 8 * (unsigned)size;
        return (int64_t)(read_big(r, size) << unused) >> unused;
    }
    uint64_t v = read_varint(r);
    int64_t n = (int64_t)(v >> 1 ^ (~(v & 1) + 1)); /* zigzag */
    int64_t top = (int64_t)(UINT64_MAX >> (65 - 8 * (unsigned)size));
    if (n > top || n < -top - 1) {
        reader_corrupt(r, "a number does not fit its type");
        return 0;
    }
    return n;
}

static double read_double(thrift_reader *r)
{
    uint64_t bits = r->compact ? lb_cursor_u64(r->in) : read_big(r, 8);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* A length or count; the binary protocol writes them as int32. */
static uint64_t read_size(thrift_reader *r)
{
    if (r->compact)
        return read_varint(r);
    int64_t n = read_int(r, 4);
    if (n < 0)
        reader_corrupt(r, "a length is below 0");
    return n < 0 ? 0 : (uint64_t)n;
}

static lb_str read_string(thrift_reader *r)
{
    uint64_t n = read_size(r);
    const uint8_t *p = lb_cursor_take(r->in, n);
    return p == NULL ? (lb_str){ NULL, 0 } : (lb_str){ (const char *)p, (size_t)n };
}

/* ---------------------------------------------------------------- heads */

static lb_thrift_kind reader_kind(thrift_reader *r, unsigned number)
{
    lb_thrift_kind kind = number < LB_THRIFT_WIRE_KINDS ? (lb_thrift_kind)r->kinds[number] : LB_THRIFT_NONE;
    return kind;
}

/* Kinds that do not exist are no mistake where nothing is of that kind. */
static uint64_t head_count(thrift_reader *r, uint64_t count, const thrift_head *head, bool map)
{
    if (count == 0)
        return 0;
    if (head->kind == LB_THRIFT_NONE || (map && head->value == LB_THRIFT_NONE)) {
        reader_corrupt(r, "a list is of a kind that does not exist");
        return 0;
    }
    return lb_cursor_count(r->in, count, r->least[head->kind] + (map ? (size_t)r->least[head->value] : 0));
}

static thrift_head read_list_head(thrift_reader *r)
{
    uint8_t byte = lb_cursor_u8(r->in);
    thrift_head head = { .kind = reader_kind(r, r->compact ? byte & 15u : byte) };
    uint64_t count = r->compact && byte >> 4 != 15 ? byte >> 4 : read_size(r);
    head.count = head_count(r, count, &head, false);
    return head;
}

static thrift_head read_map_head(thrift_reader *r)
{
    thrift_head head = { .count = 0 };
    uint64_t count;
    if (r->compact) {
        count = read_varint(r);
        uint8_t byte = count == 0 ? 0 : lb_cursor_u8(r->in);
        head.kind = reader_kind(r, byte >> 4);
        head.value = reader_kind(r, byte & 15u);
    } else {
        head.kind = reader_kind(r, lb_cursor_u8(r->in));
        head.value = reader_kind(r, lb_cursor_u8(r->in));
        count = read_size(r);
    }
    head.count = head_count(r, count, &head, true);
    return head;
}

/* Head of the next field. False: the struct ends. A compact bool comes with its value. */
static bool read_field(thrift_reader *r, int64_t *id, lb_thrift_kind *kind, bool *truth)
{
    uint8_t byte = lb_cursor_u8(r->in);
    unsigned number = r->compact ? byte & 15u : byte;
    if (number == 0)
        return false;
    if (!r->compact || byte >> 4 == 0)
        *id = read_int(r, 2);
    else
        *id += byte >> 4;
    *kind = reader_kind(r, number);
    *truth = number == LB_THRIFT_COMPACT_TRUE;
    if (*id > INT16_MAX)
        reader_corrupt(r, "a field id is past 32767");
    else if (*kind == LB_THRIFT_NONE)
        reader_corrupt(r, "a field is of a kind that does not exist");
    return !r->in->bad;
}

/* ---------------------------------------------------------------- stepping over */

/* Most of a long file is stepped over, so well-formed compact values have a way of their own, which gives the place
 * behind the value, or NULL for anything out of the ordinary: then the ways below find out what it is. Kinds are the
 * wire's numbers. */
enum {
    PASS_I8 = 3,
    PASS_I16,
    PASS_I32,
    PASS_I64,
    PASS_DOUBLE,
    PASS_STRING,
    PASS_LIST,
    PASS_SET,
    PASS_MAP,
    PASS_STRUCT,
    PASS_UUID
};

static inline const uint8_t *pass_bytes(const uint8_t *p, const uint8_t *end, uint64_t n)
{
    return n > (uint64_t)(end - p) ? NULL : p + n;
}

/* A number; NULL where it has more than 8 bytes, or is near the end. */
static inline const uint8_t *pass_number(const uint8_t *p, const uint8_t *end)
{
    uint64_t bytes, ends;
    if (end - p < 8)
        return NULL;
    memcpy(&bytes, p, sizeof bytes);
    ends = ~bytes & VARINT_ENDS;
    return ends == 0 ? NULL : p + (__builtin_ctzll(ends) / 8 + 1);
}

/* A size of up to 4 bytes, and what it is the size of. */
static inline const uint8_t *pass_size(const uint8_t *p, const uint8_t *end, uint32_t *size)
{
    uint32_t v = 0;
    for (unsigned shift = 0; shift < 28 && p < end; shift += 7) {
        uint8_t byte = *p++;
        v |= (uint32_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *size = v;
            return p;
        }
    }
    return NULL;
}

static inline const uint8_t *pass_string(const uint8_t *p, const uint8_t *end)
{
    uint32_t size;
    p = pass_size(p, end, &size);
    return p == NULL ? NULL : pass_bytes(p, end, size);
}

/* Depth is that of what holds the value. */
static const uint8_t *pass_struct(const uint8_t *p, const uint8_t *end, unsigned depth);
static const uint8_t *pass_list(const uint8_t *p, const uint8_t *end, unsigned depth);

static inline const uint8_t *pass_value(const uint8_t *p, const uint8_t *end, unsigned number, unsigned depth)
{
    switch (number) {
    case PASS_I8:
        return pass_bytes(p, end, 1);
    case PASS_I16:
    case PASS_I32:
    case PASS_I64:
        return pass_number(p, end);
    case PASS_DOUBLE:
        return pass_bytes(p, end, 8);
    case PASS_STRING:
        return pass_string(p, end);
    case PASS_LIST:
    case PASS_SET:
        return pass_list(p, end, depth);
    case PASS_STRUCT:
        return pass_struct(p, end, depth);
    case PASS_UUID:
        return pass_bytes(p, end, 16);
    default:
        return NULL;
    }
}

static const uint8_t *pass_struct(const uint8_t *p, const uint8_t *end, unsigned depth)
{
    unsigned id = 0;
    while (depth < LB_THRIFT_DEPTH && p != NULL && p < end) {
        unsigned byte = *p++;
        if (byte == 0)
            return p;
        id += byte >> 4;
        if (byte >> 4 == 0 || (byte & 15u) == 0 || id > INT16_MAX)
            return NULL;
        if ((byte & 15u) > LB_THRIFT_COMPACT_FALSE) /* a bool is in its head */
            p = pass_value(p, end, byte & 15u, depth + 1);
    }
    return NULL;
}

static const uint8_t *pass_list(const uint8_t *p, const uint8_t *end, unsigned depth)
{
    if (p == end || depth >= LB_THRIFT_DEPTH)
        return NULL;
    unsigned number = *p & 15u;
    uint32_t count = *p++ >> 4;
    if (count == 15)
        p = pass_size(p, end, &count);
    if (p == NULL || count > (size_t)(end - p))
        return NULL;
    if (number == LB_THRIFT_COMPACT_TRUE || number == LB_THRIFT_COMPACT_FALSE)
        return p + count;
    for (; p != NULL && count != 0; count--)
        p = pass_value(p, end, number, depth + 1);
    return p;
}

static void skip_struct(thrift_reader *r, unsigned depth)
{
    int64_t id = 0;
    lb_thrift_kind kind;
    bool truth;
    while (read_field(r, &id, &kind, &truth))
        if (!r->compact || kind != LB_THRIFT_BOOL)
            skip_value(r, kind, depth);
}

static void skip_items(thrift_reader *r, const thrift_head *head, bool map, unsigned depth)
{
    for (uint64_t i = 0; i < head->count && !r->in->bad; i++) {
        skip_value(r, head->kind, depth);
        if (map)
            skip_value(r, head->value, depth);
    }
}

/* Depth is that of what holds the value. */
static void skip_value(thrift_reader *r, lb_thrift_kind kind, unsigned depth)
{
    thrift_head head;
    const uint8_t *behind = r->compact && kind != LB_THRIFT_BOOL
                                ? pass_value(r->in->at, r->in->end, lb_thrift_compact_numbers[kind], depth)
                                : NULL;
    if (behind != NULL) {
        r->in->at = behind;
        return;
    }
    switch (kind) {
    case LB_THRIFT_BOOL:
    case LB_THRIFT_I8:
        (void)lb_cursor_take(r->in, 1);
        break;
    case LB_THRIFT_I16:
    case LB_THRIFT_I32:
    case LB_THRIFT_I64:
        if (r->compact)
            (void)read_varint(r);
        else
            (void)lb_cursor_take(r->in, r->least[kind]);
        break;
    case LB_THRIFT_DOUBLE:
    case LB_THRIFT_UUID:
        (void)lb_cursor_take(r->in, r->least[kind]);
        break;
    case LB_THRIFT_STRING:
        (void)read_string(r);
        break;
    case LB_THRIFT_STRUCT:
        if (reader_deeper(r, depth + 1))
            skip_struct(r, depth + 1);
        break;
    case LB_THRIFT_MAP:
        head = read_map_head(r);
        if (reader_deeper(r, depth + 1))
            skip_items(r, &head, true, depth + 1);
        break;
    default:
        head = read_list_head(r);
        if (reader_deeper(r, depth + 1))
            skip_items(r, &head, false, depth + 1);
        break;
    }
}

/* ---------------------------------------------------------------- values */

static void read_value(thrift_reader *r, const lb_thrift_type *type, uint8_t *out, unsigned depth);

/* A list of another kind than the table says is of no use, and a mistake: the writer had another schema. */
static bool list_fits(thrift_reader *r, const thrift_head *head, lb_thrift_kind want)
{
    if (head->count == 0)
        return false;
    if (head->kind != want)
        reader_corrupt(r, "the items of a list are not of the kind expected");
    return !r->in->bad;
}

static uint8_t *list_room(thrift_reader *r, uint64_t count, size_t size, lb_thrift_list *out)
{
    uint8_t *items = lb_arena_alloc(r->arena, (size_t)count, size);
    if (items == NULL) {
        reader_stop(r, lb_arena_fail(r->arena, r->err));
        return NULL;
    }
    *out = (lb_thrift_list){ items, (size_t)count };
    return items;
}

/* One item after another in the same place. */
static void visit_list(thrift_reader *r, const lb_thrift_type *type, uint64_t count, lb_thrift_list *out,
                       unsigned depth)
{
    uint8_t *item = lb_arena_alloc(r->arena, 1, type->item->size);
    if (item == NULL)
        reader_stop(r, lb_arena_fail(r->arena, r->err));
    for (; out->count < count && !r->in->bad; out->count++) {
        const uint8_t *behind = NULL;
        if (out->count != 0 && type->quick == NULL)
            memset(item, 0, type->item->size);
        if (r->compact && type->quick != NULL)
            behind = type->quick(r->in->at, r->in->end, item);
        if (behind == NULL && type->quick != NULL)
            memset(item, 0, type->item->size);
        if (r->compact && behind == NULL)
            behind = quick_struct(r->in->at, r->in->end, type->item->record, item, depth + 1);
        if (behind != NULL) {
            r->in->at = behind;
        } else {
            memset(item, 0, type->item->size);
            read_struct(r, type->item->record, item, depth + 1);
        }
        lb_status status = r->in->bad ? LB_OK : r->visit(r->user, type, item, r->err);
        if (status != LB_OK)
            reader_stop(r, status);
    }
}

static void read_list(thrift_reader *r, const lb_thrift_type *type, lb_thrift_list *out, unsigned depth)
{
    const lb_thrift_type *item = type->item;
    thrift_head head = read_list_head(r);
    *out = (lb_thrift_list){ NULL, 0 };
    if (!list_fits(r, &head, item->kind))
        return;
    if (type->visited) {
        visit_list(r, type, head.count, out, depth);
        return;
    }
    uint8_t *at = list_room(r, head.count, item->size, out);
    for (size_t i = 0; at != NULL && i < out->count && !r->in->bad; i++, at += item->size)
        read_value(r, item, at, depth);
}

static void read_map(thrift_reader *r, const lb_thrift_struct *pair, lb_thrift_list *out, unsigned depth)
{
    const lb_thrift_field *key = &pair->fields[0], *value = &pair->fields[1];
    thrift_head head = read_map_head(r);
    *out = (lb_thrift_list){ NULL, 0 };
    if (!list_fits(r, &head, key->type->kind))
        return;
    if (head.value != value->type->kind) {
        reader_corrupt(r, "the values of a map are not of the kind expected");
        return;
    }
    uint8_t *at = list_room(r, head.count, pair->size, out);
    for (size_t i = 0; at != NULL && i < out->count && !r->in->bad; i++, at += pair->size) {
        read_value(r, key->type, at + key->offset, depth);
        read_value(r, value->type, at + value->offset, depth);
    }
}

#define THRIFT_STORE(type, expression)             \
    do {                                           \
        type thrift_value_ = (type)(expression);   \
        memcpy(out, &thrift_value_, sizeof(type)); \
    } while (0)

/* Without a table: the bytes. Depth is that of what holds the value. */
static void read_bytes(thrift_reader *r, lb_thrift_kind kind, uint8_t *out, unsigned depth)
{
    const uint8_t *at = r->in->at;
    skip_value(r, kind, depth);
    if (!r->in->bad)
        THRIFT_STORE(lb_str, ((lb_str){ (const char *)at, (size_t)(r->in->at - at) }));
}

static void read_parts(thrift_reader *r, const lb_thrift_type *type, uint8_t *out, unsigned depth)
{
    if (!reader_deeper(r, depth))
        return;
    const bool list = type->kind == LB_THRIFT_LIST || type->kind == LB_THRIFT_SET;
    if (list ? type->item == NULL : type->record == NULL)
        read_bytes(r, type->kind, out, depth - 1);
    else if (type->kind == LB_THRIFT_STRUCT)
        read_struct(r, type->record, out, depth);
    else if (type->kind == LB_THRIFT_MAP)
        read_map(r, type->record, (lb_thrift_list *)(void *)out, depth);
    else
        read_list(r, type, (lb_thrift_list *)(void *)out, depth);
}

static void read_value(thrift_reader *r, const lb_thrift_type *type, uint8_t *out, unsigned depth)
{
    const uint8_t *p;
    switch (type->kind) {
    case LB_THRIFT_BOOL:
        THRIFT_STORE(bool, lb_cursor_u8(r->in) == 1);
        break;
    case LB_THRIFT_I8:
        THRIFT_STORE(int8_t, lb_cursor_u8(r->in));
        break;
    case LB_THRIFT_I16:
        THRIFT_STORE(int16_t, read_int(r, 2));
        break;
    case LB_THRIFT_I32:
        THRIFT_STORE(int32_t, read_int(r, 4));
        break;
    case LB_THRIFT_I64:
        THRIFT_STORE(int64_t, read_int(r, 8));
        break;
    case LB_THRIFT_DOUBLE:
        THRIFT_STORE(double, read_double(r));
        break;
    case LB_THRIFT_STRING:
        THRIFT_STORE(lb_str, read_string(r));
        break;
    case LB_THRIFT_UUID:
        p = lb_cursor_take(r->in, 16);
        if (p != NULL)
            memcpy(out, p, 16);
        break;
    default:
        read_parts(r, type, out, depth + 1);
        break;
    }
}

/* Fields mostly come in the order of the table: the search begins where the last one ended. */
static const lb_thrift_field *find_field(const lb_thrift_struct *type, int64_t id, uint32_t *at)
{
    if (*at < type->n_fields && type->fields[*at].id > id)
        *at = 0;
    while (*at < type->n_fields && type->fields[*at].id < id)
        ++*at;
    return *at < type->n_fields && type->fields[*at].id == id ? &type->fields[*at] : NULL;
}

static void check_required(thrift_reader *r, const lb_thrift_struct *type, uint64_t has)
{
    for (uint32_t i = 0; i < type->n_fields; i++)
        if (type->fields[i].required && (has >> i & 1) == 0) {
            reader_stop(r, lb_fail(r->err, LB_CORRUPT, LB_AT(lb_cursor_offset(r->in)), "Thrift: %s has no field %d, %s",
                                   type->name, type->fields[i].id, type->fields[i].name));
            return;
        }
}

/* As read_field, for what is common in the compact protocol. */
static inline bool read_next_field(thrift_reader *r, int64_t *id, lb_thrift_kind *kind, bool *truth)
{
    const uint8_t *p = r->in->at;
    if (!r->compact || p == r->in->end || *p >> 4 == 0 || *id + (*p >> 4) > INT16_MAX ||
        (*kind = reader_kind(r, *p & 15u)) == LB_THRIFT_NONE)
        return read_field(r, id, kind, truth);
    *id += *p >> 4;
    *truth = (*p & 15u) == LB_THRIFT_COMPACT_TRUE;
    r->in->at = p + 1;
    return true;
}

/* ---------------------------------------------------------------- whole structs at once */

/* A compact struct of plain values, and of such structs, as long as it is well-formed: the place behind it, or NULL,
 * and then `out` may be filled in part. */

static inline const uint8_t *quick_number(const uint8_t *p, const uint8_t *end, bool wide, uint8_t *out)
{
    uint64_t bytes, ends;
    if (end - p < 8)
        return NULL;
    memcpy(&bytes, p, sizeof bytes);
    ends = ~bytes & VARINT_ENDS;
    if (ends == 0)
        return NULL;
    uint64_t v = varint_bits(bytes & (ends ^ (ends - 1)));
    int64_t n = (int64_t)(v >> 1 ^ (~(v & 1) + 1));
    if (wide)
        THRIFT_STORE(int64_t, n);
    else if (n == (int32_t)n)
        THRIFT_STORE(int32_t, n);
    else
        return NULL;
    return p + (__builtin_ctzll(ends) / 8 + 1);
}

static inline const uint8_t *quick_string(const uint8_t *p, const uint8_t *end, uint8_t *out)
{
    uint32_t size;
    p = pass_size(p, end, &size);
    if (p == NULL || size > (size_t)(end - p))
        return NULL;
    THRIFT_STORE(lb_str, ((lb_str){ (const char *)p, size }));
    return p + size;
}

static const uint8_t *quick_value(const uint8_t *p, const uint8_t *end, const lb_thrift_type *type, uint8_t *out,
                                  unsigned depth)
{
    const uint8_t *behind;
    switch (type->kind) {
    case LB_THRIFT_I32:
        return quick_number(p, end, false, out);
    case LB_THRIFT_I64:
        return quick_number(p, end, true, out);
    case LB_THRIFT_STRING:
        return quick_string(p, end, out);
    case LB_THRIFT_STRUCT:
        if (type->record != NULL)
            return quick_struct(p, end, type->record, out, depth + 1);
        behind = pass_struct(p, end, depth);
        if (behind != NULL)
            THRIFT_STORE(lb_str, ((lb_str){ (const char *)p, (size_t)(behind - p) }));
        return behind;
    default:
        return NULL;
    }
}

static bool quick_has_required(const lb_thrift_struct *type, uint64_t has)
{
    for (uint32_t i = 0; i < type->n_fields; i++)
        if (type->fields[i].required && (has >> i & 1) == 0)
            return false;
    return true;
}

static const uint8_t *quick_struct(const uint8_t *p, const uint8_t *end, const lb_thrift_struct *type, uint8_t *out,
                                   unsigned depth)
{
    uint64_t has = 0;
    unsigned id = 0;
    uint32_t at = 0;
    while (depth <= LB_THRIFT_DEPTH && p != NULL && p < end) {
        const unsigned byte = *p++, number = byte & 15u;
        if (byte == 0) {
            memcpy(out, &has, sizeof has);
            return quick_has_required(type, has) ? p : NULL;
        }
        id += byte >> 4;
        if (byte >> 4 == 0 || number == 0 || id > INT16_MAX)
            return NULL;
        while (at < type->n_fields && type->fields[at].id < (int)id)
            at++;
        const lb_thrift_field *field = &type->fields[at];
        const bool wanted = at < type->n_fields && field->id == (int)id &&
                            field->type->kind == (lb_thrift_kind)lb_thrift_compact_kinds[number];
        has |= (uint64_t)wanted << (at & 63u);
        if (number <= LB_THRIFT_COMPACT_FALSE) {
            bool truth = number == LB_THRIFT_COMPACT_TRUE;
            if (wanted)
                memcpy(out + field->offset, &truth, sizeof truth);
        } else {
            p = wanted ? quick_value(p, end, field->type, out + field->offset, depth)
                       : pass_value(p, end, number, depth);
        }
    }
    return NULL;
}

static void read_struct(thrift_reader *r, const lb_thrift_struct *type, uint8_t *out, unsigned depth)
{
    uint64_t has = 0;
    int64_t id = 0;
    uint32_t at = 0;
    lb_thrift_kind kind;
    bool truth;
    while (read_next_field(r, &id, &kind, &truth)) {
        const lb_thrift_field *field = find_field(type, id, &at);
        bool in_head = r->compact && kind == LB_THRIFT_BOOL;
        if (field == NULL || field->type->kind != kind) {
            if (!in_head)
                skip_value(r, kind, depth);
            continue;
        }
        if ((has >> at & 1) != 0)
            memset(out + field->offset, 0, field->type->size);
        has |= (uint64_t)1 << at;
        if (in_head)
            memcpy(out + field->offset, &truth, sizeof truth);
        else
            read_value(r, field->type, out + field->offset, depth);
    }
    memcpy(out, &has, sizeof has);
    if (!r->in->bad)
        check_required(r, type, has);
}

lb_status lb_thrift_decode_visit(lb_thrift_protocol protocol, const lb_thrift_struct *type, lb_cursor *in,
                                 lb_arena *arena, void *out, lb_thrift_visit_fn visit, void *user, lb_error *err)
{
    bool compact = protocol == LB_THRIFT_COMPACT;
    thrift_reader r = { .in = in,
                        .arena = arena,
                        .err = err,
                        .compact = compact,
                        .kinds = compact ? lb_thrift_compact_kinds : lb_thrift_binary_kinds,
                        .least = compact ? lb_thrift_compact_least : lb_thrift_binary_least,
                        .visit = visit,
                        .user = user };
    read_struct(&r, type, out, 1);
    if (r.status != LB_OK) {
        in->bad = false;
        return r.status;
    }
    if (in->bad)
        return lb_fail(err, LB_CORRUPT, LB_AT(lb_cursor_offset(in)), "Thrift: the bytes end inside %s", type->name);
    return LB_OK;
}

lb_status lb_thrift_decode(lb_thrift_protocol protocol, const lb_thrift_struct *type, lb_cursor *in, lb_arena *arena,
                           void *out, lb_error *err)
{
    return lb_thrift_decode_visit(protocol, type, in, arena, out, NULL, NULL, err);
}
