#include "wire/thrift_kinds.h"

const lb_thrift_type lb_thrift_bool = { .kind = LB_THRIFT_BOOL, .size = sizeof(bool) };
const lb_thrift_type lb_thrift_i8 = { .kind = LB_THRIFT_I8, .size = sizeof(int8_t) };
const lb_thrift_type lb_thrift_i16 = { .kind = LB_THRIFT_I16, .size = sizeof(int16_t) };
const lb_thrift_type lb_thrift_i32 = { .kind = LB_THRIFT_I32, .size = sizeof(int32_t) };
const lb_thrift_type lb_thrift_i64 = { .kind = LB_THRIFT_I64, .size = sizeof(int64_t) };
const lb_thrift_type lb_thrift_double = { .kind = LB_THRIFT_DOUBLE, .size = sizeof(double) };
const lb_thrift_type lb_thrift_string = { .kind = LB_THRIFT_STRING, .size = sizeof(lb_str) };
const lb_thrift_type lb_thrift_uuid = { .kind = LB_THRIFT_UUID, .size = 16 };
const lb_thrift_type lb_thrift_struct_bytes = { .kind = LB_THRIFT_STRUCT, .size = sizeof(lb_str) };
const lb_thrift_type lb_thrift_list_bytes = { .kind = LB_THRIFT_LIST, .size = sizeof(lb_str) };

const uint8_t lb_thrift_binary_kinds[LB_THRIFT_WIRE_KINDS] = {
    [2] = LB_THRIFT_BOOL, [3] = LB_THRIFT_I8,   [4] = LB_THRIFT_DOUBLE,  [6] = LB_THRIFT_I16,
    [8] = LB_THRIFT_I32,  [10] = LB_THRIFT_I64, [11] = LB_THRIFT_STRING, [12] = LB_THRIFT_STRUCT,
    [13] = LB_THRIFT_MAP, [14] = LB_THRIFT_SET, [15] = LB_THRIFT_LIST,   [16] = LB_THRIFT_UUID,
};
const uint8_t lb_thrift_compact_kinds[LB_THRIFT_WIRE_KINDS] = {
    [1] = LB_THRIFT_BOOL, [2] = LB_THRIFT_BOOL,    [3] = LB_THRIFT_I8,     [4] = LB_THRIFT_I16,  [5] = LB_THRIFT_I32,
    [6] = LB_THRIFT_I64,  [7] = LB_THRIFT_DOUBLE,  [8] = LB_THRIFT_STRING, [9] = LB_THRIFT_LIST, [10] = LB_THRIFT_SET,
    [11] = LB_THRIFT_MAP, [12] = LB_THRIFT_STRUCT, [13] = LB_THRIFT_UUID,
};

const uint8_t lb_thrift_binary_numbers[LB_THRIFT_KIND_COUNT] = {
    [LB_THRIFT_BOOL] = 2,  [LB_THRIFT_I8] = 3,     [LB_THRIFT_I16] = 6,     [LB_THRIFT_I32] = 8,
    [LB_THRIFT_I64] = 10,  [LB_THRIFT_DOUBLE] = 4, [LB_THRIFT_STRING] = 11, [LB_THRIFT_STRUCT] = 12,
    [LB_THRIFT_LIST] = 15, [LB_THRIFT_SET] = 14,   [LB_THRIFT_MAP] = 13,    [LB_THRIFT_UUID] = 16,
};
const uint8_t lb_thrift_compact_numbers[LB_THRIFT_KIND_COUNT] = {
    [LB_THRIFT_BOOL] = 1, [LB_THRIFT_I8] = 3,     [LB_THRIFT_I16] = 4,    [LB_THRIFT_I32] = 5,
    [LB_THRIFT_I64] = 6,  [LB_THRIFT_DOUBLE] = 7, [LB_THRIFT_STRING] = 8, [LB_THRIFT_STRUCT] = 12,
    [LB_THRIFT_LIST] = 9, [LB_THRIFT_SET] = 10,   [LB_THRIFT_MAP] = 11,   [LB_THRIFT_UUID] = 13,
};

const uint8_t lb_thrift_binary_least[LB_THRIFT_KIND_COUNT] = {
    [LB_THRIFT_NONE] = 1, [LB_THRIFT_BOOL] = 1,   [LB_THRIFT_I8] = 1,     [LB_THRIFT_I16] = 2,    [LB_THRIFT_I32] = 4,
    [LB_THRIFT_I64] = 8,  [LB_THRIFT_DOUBLE] = 8, [LB_THRIFT_STRING] = 4, [LB_THRIFT_STRUCT] = 1, [LB_THRIFT_LIST] = 5,
    [LB_THRIFT_SET] = 5,  [LB_THRIFT_MAP] = 6,    [LB_THRIFT_UUID] = 16,
};
const uint8_t lb_thrift_compact_least[LB_THRIFT_KIND_COUNT] = {
    [LB_THRIFT_NONE] = 1, [LB_THRIFT_BOOL] = 1,   [LB_THRIFT_I8] = 1,     [LB_THRIFT_I16] = 1,    [LB_THRIFT_I32] = 1,
    [LB_THRIFT_I64] = 1,  [LB_THRIFT_DOUBLE] = 8, [LB_THRIFT_STRING] = 1, [LB_THRIFT_STRUCT] = 1, [LB_THRIFT_LIST] = 1,
    [LB_THRIFT_SET] = 1,  [LB_THRIFT_MAP] = 1,    [LB_THRIFT_UUID] = 16,
};
