/* Thrift structs of any shape, in both protocols. What is read is written and read again, and must be the same. Input:
 * the protocol's byte, then the struct. */
#include <stdlib.h>

#include "wire/thrift.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY_LIMIT ((uint64_t)64 << 20)

typedef struct leaf {
    uint64_t has;
    int32_t number;
    bool flag;
    lb_str text;
} leaf;

static const lb_thrift_field leaf_fields[] = {
    LB_THRIFT_FIELD(leaf, 1, number, &lb_thrift_i32),
    LB_THRIFT_FIELD(leaf, 2, flag, &lb_thrift_bool),
    LB_THRIFT_FIELD(leaf, 3, text, &lb_thrift_string),
};
static const lb_thrift_struct leaf_struct = { "Leaf", sizeof(leaf), LB_COUNT_OF(leaf_fields), leaf_fields };
static const lb_thrift_type leaf_type = { .kind = LB_THRIFT_STRUCT, .size = sizeof(leaf), .record = &leaf_struct };

typedef struct entry {
    lb_str key;
    leaf value;
} entry;

static const lb_thrift_field entry_fields[] = {
    LB_THRIFT_FIELD(entry, 1, key, &lb_thrift_string),
    LB_THRIFT_FIELD(entry, 2, value, &leaf_type),
};
static const lb_thrift_struct entry_struct = { "entry", sizeof(entry), LB_COUNT_OF(entry_fields), entry_fields };

#define LIST_OF(kind_of, of)                                             \
    {                                                                    \
        .kind = (kind_of), .size = sizeof(lb_thrift_list), .item = &(of) \
    }
static const lb_thrift_type longs_type = LIST_OF(LB_THRIFT_LIST, lb_thrift_i64),
                            bools_type = LIST_OF(LB_THRIFT_SET, lb_thrift_bool),
                            leaves_type = LIST_OF(LB_THRIFT_LIST, leaf_type),
                            nested_type = LIST_OF(LB_THRIFT_LIST, longs_type),
                            uuids_type = LIST_OF(LB_THRIFT_LIST, lb_thrift_uuid);
static const lb_thrift_type map_type = { .kind = LB_THRIFT_MAP,
                                         .size = sizeof(lb_thrift_list),
                                         .record = &entry_struct };

typedef struct root {
    uint64_t has;
    bool flag;
    int8_t byte;
    int16_t small;
    int32_t medium;
    int64_t large;
    double real;
    lb_str text;
    uint8_t uuid[16];
    leaf inner;
    lb_thrift_list longs, bools, leaves, nested, map, uuids;
} root;

static const lb_thrift_field root_fields[] = {
    LB_THRIFT_FIELD(root, -3, flag, &lb_thrift_bool),  LB_THRIFT_FIELD(root, 1, byte, &lb_thrift_i8),
    LB_THRIFT_FIELD(root, 2, small, &lb_thrift_i16),   LB_THRIFT_FIELD(root, 3, medium, &lb_thrift_i32),
    LB_THRIFT_FIELD(root, 4, large, &lb_thrift_i64),   LB_THRIFT_FIELD(root, 5, real, &lb_thrift_double),
    LB_THRIFT_FIELD(root, 6, text, &lb_thrift_string), LB_THRIFT_FIELD(root, 7, uuid, &lb_thrift_uuid),
    LB_THRIFT_FIELD(root, 8, inner, &leaf_type),       LB_THRIFT_FIELD(root, 9, longs, &longs_type),
    LB_THRIFT_FIELD(root, 10, bools, &bools_type),     LB_THRIFT_FIELD(root, 11, leaves, &leaves_type),
    LB_THRIFT_FIELD(root, 12, nested, &nested_type),   LB_THRIFT_FIELD(root, 13, map, &map_type),
    LB_THRIFT_FIELD(root, 40, uuids, &uuids_type),
};
static const lb_thrift_struct root_struct = { "Root", sizeof(root), LB_COUNT_OF(root_fields), root_fields };

static void check_again(lb_thrift_protocol protocol, const root *value)
{
    lb_error err = LB_ERROR_INIT;
    lb_buf first, second;
    lb_arena arena;
    lb_cursor in;
    root again = { .has = 0 };
    lb_buf_init(&first, NULL);
    lb_buf_init(&second, NULL);
    lb_arena_init(&arena, NULL);
    if (lb_thrift_encode(protocol, &root_struct, value, &first, &err) != LB_OK)
        abort();
    lb_cursor_init(&in, first.data, first.size, 0);
    if (lb_thrift_decode(protocol, &root_struct, &in, &arena, &again, &err) != LB_OK || lb_cursor_left(&in) != 0)
        abort();
    if (lb_thrift_encode(protocol, &root_struct, &again, &second, &err) != LB_OK || first.size != second.size ||
        memcmp(first.data, second.data, first.size) != 0)
        abort();
    lb_arena_free(&arena);
    lb_buf_free(&second);
    lb_buf_free(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_budget budget = { .limit = MEMORY_LIMIT };
    lb_error err = LB_ERROR_INIT;
    lb_arena arena;
    lb_cursor in;
    root value = { .has = 0 };
    if (size == 0)
        return 0;
    lb_thrift_protocol protocol = data[0] % 2 == 0 ? LB_THRIFT_BINARY : LB_THRIFT_COMPACT;
    lb_arena_init(&arena, &budget);
    lb_cursor_init(&in, data + 1, size - 1, 0);
    lb_status status = lb_thrift_decode(protocol, &root_struct, &in, &arena, &value, &err);
    if (status == LB_OK) {
        check_again(LB_THRIFT_BINARY, &value);
        check_again(LB_THRIFT_COMPACT, &value);
    } else if (err.message[0] == '\0' || err.code != status) {
        abort();
    }
    lb_arena_free(&arena);
    return 0;
}
