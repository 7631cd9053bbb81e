/* Thrift structs from bytes and back, in the binary and the compact protocol, driven by tables: a table says which
 * field ids a struct has, of which type, and where the C struct keeps them. The protocols are those of Thrift's own
 * specification (doc/specs/thrift-binary-protocol.md and thrift-compact-protocol.md); messages are not read, structs
 * are all that files hold.
 *
 * What a table does not name is stepped over, and so is a field that comes with another type than the table says, as
 * the code that Thrift generates does. Text is lent from the input, lists live in an arena.
 *
 * A struct without a table (`record` NULL) is kept as its bytes, an lb_str, to be decoded by whoever wants it; so is a
 * list without one (`item` NULL). A list whose type is `visited` is not kept: its items are given to a function one
 * after another. Both are for reading only.
 *
 * Values in memory:
 *     BOOL bool | I8 int8_t | I16 int16_t | I32 (and enums) int32_t | I64 int64_t | DOUBLE double | STRING lb_str
 *     UUID uint8_t[16] | STRUCT the C struct, in place | LIST, SET lb_thrift_list of items
 *     MAP lb_thrift_list of pairs: C structs of two members, described by a struct with two fields
 *
 * Every C struct that a table describes begins with `uint64_t has`: bit i says that the i-th field of the table is
 * there. A pair has no such member. */
#ifndef LB_WIRE_THRIFT_H
#define LB_WIRE_THRIFT_H

#include "base/buf.h"
#include "base/cursor.h"

typedef enum lb_thrift_protocol { LB_THRIFT_BINARY, LB_THRIFT_COMPACT } lb_thrift_protocol;

typedef enum lb_thrift_kind {
    LB_THRIFT_NONE, /* kinds of the wire that do not exist */
    LB_THRIFT_BOOL,
    LB_THRIFT_I8,
    LB_THRIFT_I16,
    LB_THRIFT_I32,
    LB_THRIFT_I64,
    LB_THRIFT_DOUBLE,
    LB_THRIFT_STRING, /* also Thrift's binary: no encoding is checked here */
    LB_THRIFT_STRUCT,
    LB_THRIFT_LIST,
    LB_THRIFT_SET,
    LB_THRIFT_MAP,
    LB_THRIFT_UUID,
    LB_THRIFT_KIND_COUNT
} lb_thrift_kind;

typedef struct lb_thrift_list {
    void *items;
    size_t count;
} lb_thrift_list;

typedef struct lb_thrift_struct lb_thrift_struct;
typedef struct lb_thrift_type lb_thrift_type;

/* Code that reads a struct as its table would, in the compact protocol, from [p, end) into `item`, whatever was in it: the place behind it.
 * NULL: the table has to read it; then what is in `item` counts for nothing. */
typedef const uint8_t *(*lb_thrift_quick_fn)(const uint8_t *p, const uint8_t *end, void *item);

struct lb_thrift_type {
    lb_thrift_kind kind;
    uint32_t size;                  /* of a value in memory: items of a list stand so far apart */
    const lb_thrift_struct *record; /* STRUCT; MAP: of a pair */
    const lb_thrift_type *item;     /* LIST and SET */
    bool visited;                   /* LIST and SET of structs; takes an lb_thrift_list, of which only `count` is set */
    lb_thrift_quick_fn quick;       /* visited lists: tried before the table; NULL: none */
};

/* Types without parts. */
extern const lb_thrift_type lb_thrift_bool, lb_thrift_i8, lb_thrift_i16, lb_thrift_i32, lb_thrift_i64, lb_thrift_double,
    lb_thrift_string, lb_thrift_uuid, lb_thrift_struct_bytes, lb_thrift_list_bytes;

typedef struct lb_thrift_field {
    int16_t id;
    bool required;
    uint32_t offset;
    const lb_thrift_type *type;
    const char *name; /* for messages */
} lb_thrift_field;

/* At most 64 fields, ids ascending. */
struct lb_thrift_struct {
    const char *name; /* for messages */
    uint32_t size;    /* of the C struct */
    uint32_t n_fields;
    const lb_thrift_field *fields;
};

/* Lines of a table: `T` is the C struct, `member` its member and the field's name in messages. */
#define LB_THRIFT_FIELD(T, number, member, of)                                                           \
    {                                                                                                    \
        .id = (number), .required = false, .offset = offsetof(T, member), .type = (of), .name = #member, \
    }
#define LB_THRIFT_REQUIRED(T, number, member, of)                                                       \
    {                                                                                                   \
        .id = (number), .required = true, .offset = offsetof(T, member), .type = (of), .name = #member, \
    }

/* How deep structs, lists and maps may lie in each other, counted also where they are stepped over. */
#define LB_THRIFT_DEPTH 64

/* Read one struct from `in`, which ends up behind it. `out` is the C struct, all zero before. What it points to lies in
 * the input or in `arena`; both must outlive it. A field that comes twice counts as it came last.
 *
 * Errors:  CORRUPT      where the bytes break the protocol, a required field is missing, a list cannot be as long as it
 *                       says, or values are nested deeper than LB_THRIFT_DEPTH; with the offset. When the bytes merely
 *                       end too early, in->bad is set: with more of them the struct may be whole.
 *          BUDGET, NOMEM of the arena
 * Threads: any.
 * Cost:    linear in the bytes read. Memory: a list takes its count times the size of its items. */
lb_status lb_thrift_decode(lb_thrift_protocol protocol, const lb_thrift_struct *type, lb_cursor *in, lb_arena *arena,
                           void *out, lb_error *err);

/* Given each item of a visited list, a C struct that is gone after the call; `type` is the list's. A failing status
 * ends the decoding, and is its outcome. */
typedef lb_status (*lb_thrift_visit_fn)(void *user, const lb_thrift_type *type, void *item, lb_error *err);

/* As lb_thrift_decode, with a function for the visited lists; memory does not grow by their length. */
lb_status lb_thrift_decode_visit(lb_thrift_protocol protocol, const lb_thrift_struct *type, lb_cursor *in,
                                 lb_arena *arena, void *out, lb_thrift_visit_fn visit, void *user, lb_error *err);

/* Append one struct: the fields whose bit in `has` is set, and all required ones, in the order of the table.
 * Errors: USAGE (text or a list longer than 2^31 - 1), BUDGET, NOMEM. */
lb_status lb_thrift_encode(lb_thrift_protocol protocol, const lb_thrift_struct *type, const void *value, lb_buf *out,
                           lb_error *err);

#endif
