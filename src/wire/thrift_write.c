/* Struct → bytes. */
#include "wire/thrift_kinds.h"

typedef struct thrift_writer {
    lb_buf *out;
    lb_error *err;
    bool compact;
    const uint8_t *numbers;
} thrift_writer;

static lb_status write_struct(thrift_writer *w, const lb_thrift_struct *type, const uint8_t *value);
static lb_status write_value(thrift_writer *w, const lb_thrift_type *type, const uint8_t *value);

/* ---------------------------------------------------------------- numbers */

static lb_status write_byte(thrift_writer *w, unsigned byte)
{
    uint8_t b = (uint8_t)byte;
    return lb_buf_append(w->out, &b, 1, w->err);
}

static lb_status write_varint(thrift_writer *w, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    return lb_buf_append(w->out, bytes, n, w->err);
}

static lb_status write_big(thrift_writer *w, uint64_t v, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(v >> 8 * (size - 1 - i));
    return lb_buf_append(w->out, bytes, size, w->err);
}

static lb_status write_int(thrift_writer *w, int64_t v, size_t size)
{
    if (!w->compact)
        return write_big(w, (uint64_t)v, size);
    return write_varint(w, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

static lb_status write_double(thrift_writer *w, const uint8_t *value)
{
    uint64_t bits;
    memcpy(&bits, value, sizeof bits);
    return w->compact ? lb_buf_append(w->out, &bits, sizeof bits, w->err) : write_big(w, bits, 8);
}

static lb_status write_size(thrift_writer *w, size_t n)
{
    if (n > INT32_MAX)
        return lb_fail(w->err, LB_USAGE, LB_NOWHERE, "Thrift holds no text or list longer than 2147483647");
    return w->compact ? write_varint(w, n) : write_big(w, n, 4);
}

static lb_status write_string(thrift_writer *w, const uint8_t *value)
{
    lb_str text;
    memcpy(&text, value, sizeof text);
    LB_TRY(write_size(w, text.size));
    return lb_buf_append(w->out, text.at, text.size, w->err);
}

/* ---------------------------------------------------------------- lists and structs */

static lb_status write_list_head(thrift_writer *w, unsigned number, size_t count)
{
    if (!w->compact) {
        LB_TRY(write_byte(w, number));
        return write_size(w, count);
    }
    if (count < 15)
        return write_byte(w, (unsigned)count << 4 | number);
    LB_TRY(write_byte(w, 15u << 4 | number));
    return write_size(w, count);
}

static lb_status write_list(thrift_writer *w, const lb_thrift_type *item, const lb_thrift_list *list)
{
    const uint8_t *at = list->items;
    LB_TRY(write_list_head(w, w->numbers[item->kind], list->count));
    for (size_t i = 0; i < list->count; i++, at += item->size)
        LB_TRY(write_value(w, item, at));
    return LB_OK;
}

static lb_status write_map_head(thrift_writer *w, unsigned key, unsigned value, size_t count)
{
    if (!w->compact) {
        LB_TRY(write_byte(w, key));
        LB_TRY(write_byte(w, value));
        return write_size(w, count);
    }
    LB_TRY(write_size(w, count));
    return count == 0 ? LB_OK : write_byte(w, key << 4 | value);
}

static lb_status write_map(thrift_writer *w, const lb_thrift_struct *pair, const lb_thrift_list *list)
{
    const lb_thrift_field *key = &pair->fields[0], *value = &pair->fields[1];
    const uint8_t *at = list->items;
    LB_TRY(write_map_head(w, w->numbers[key->type->kind], w->numbers[value->type->kind], list->count));
    for (size_t i = 0; i < list->count; i++, at += pair->size) {
        LB_TRY(write_value(w, key->type, at + key->offset));
        LB_TRY(write_value(w, value->type, at + value->offset));
    }
    return LB_OK;
}

/* A bool in a list; in a compact field the head has said it. */
static lb_status write_bool(thrift_writer *w, const uint8_t *value)
{
    if (*value != 0)
        return write_byte(w, 1);
    return write_byte(w, w->compact ? LB_THRIFT_COMPACT_FALSE : 0);
}

#define THRIFT_INT(type)                                           \
    do {                                                           \
        type thrift_value_;                                        \
        memcpy(&thrift_value_, value, sizeof(type));               \
        return write_int(w, (int64_t)thrift_value_, sizeof(type)); \
    } while (0)

static lb_status write_value(thrift_writer *w, const lb_thrift_type *type, const uint8_t *value)
{
    switch (type->kind) {
    case LB_THRIFT_BOOL:
        return write_bool(w, value);
    case LB_THRIFT_I8:
        return write_byte(w, *value);
    case LB_THRIFT_I16:
        THRIFT_INT(int16_t);
    case LB_THRIFT_I32:
        THRIFT_INT(int32_t);
    case LB_THRIFT_I64:
        THRIFT_INT(int64_t);
    case LB_THRIFT_DOUBLE:
        return write_double(w, value);
    case LB_THRIFT_STRING:
        return write_string(w, value);
    case LB_THRIFT_UUID:
        return lb_buf_append(w->out, value, 16, w->err);
    case LB_THRIFT_STRUCT:
        return write_struct(w, type->record, value);
    case LB_THRIFT_MAP:
        return write_map(w, type->record, (const lb_thrift_list *)(const void *)value);
    default:
        return write_list(w, type->item, (const lb_thrift_list *)(const void *)value);
    }
}

static lb_status write_field_head(thrift_writer *w, unsigned number, int16_t id, int16_t last)
{
    if (!w->compact) {
        LB_TRY(write_byte(w, number));
        return write_big(w, (uint16_t)id, 2);
    }
    if (id > last && id - last <= 15)
        return write_byte(w, (unsigned)(id - last) << 4 | number);
    LB_TRY(write_byte(w, number));
    return write_int(w, id, 2);
}

static lb_status write_field(thrift_writer *w, const lb_thrift_field *field, const uint8_t *value, int16_t last)
{
    unsigned number = w->numbers[field->type->kind];
    bool in_head = w->compact && field->type->kind == LB_THRIFT_BOOL;
    if (in_head && *value == 0)
        number = LB_THRIFT_COMPACT_FALSE;
    LB_TRY(write_field_head(w, number, field->id, last));
    return in_head ? LB_OK : write_value(w, field->type, value);
}

static lb_status write_struct(thrift_writer *w, const lb_thrift_struct *type, const uint8_t *value)
{
    uint64_t has;
    int16_t last = 0;
    memcpy(&has, value, sizeof has);
    for (uint32_t i = 0; i < type->n_fields; i++) {
        const lb_thrift_field *field = &type->fields[i];
        if (!field->required && (has >> i & 1) == 0)
            continue;
        LB_TRY(write_field(w, field, value + field->offset, last));
        last = field->id;
    }
    return write_byte(w, 0);
}

lb_status lb_thrift_encode(lb_thrift_protocol protocol, const lb_thrift_struct *type, const void *value, lb_buf *out,
                           lb_error *err)
{
    bool compact = protocol == LB_THRIFT_COMPACT;
    thrift_writer w = { .out = out,
                        .err = err,
                        .compact = compact,
                        .numbers = compact ? lb_thrift_compact_numbers : lb_thrift_binary_numbers };
    return write_struct(&w, type, value);
}
