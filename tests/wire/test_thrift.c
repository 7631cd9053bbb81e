/* Thrift structs against bytes that Apache Thrift's own Python library wrote (0.25.0), and hostile ones. */
#include "wire/thrift.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---------------------------------------------------------------- a struct with everything */

typedef struct inner {
    uint64_t has;
    int32_t a;
    lb_str b;
} inner;

static const lb_thrift_field inner_fields[] = {
    LB_THRIFT_REQUIRED(inner, 1, a, &lb_thrift_i32),
    LB_THRIFT_FIELD(inner, 2, b, &lb_thrift_string),
};
static const lb_thrift_struct inner_struct = { "Inner", sizeof(inner), LB_COUNT_OF(inner_fields), inner_fields };
static const lb_thrift_type inner_type = { .kind = LB_THRIFT_STRUCT, .size = sizeof(inner), .record = &inner_struct };

typedef struct name_count {
    lb_str name;
    int64_t count;
} name_count;

static const lb_thrift_field pair_fields[] = {
    LB_THRIFT_REQUIRED(name_count, 1, name, &lb_thrift_string),
    LB_THRIFT_REQUIRED(name_count, 2, count, &lb_thrift_i64),
};
static const lb_thrift_struct pair_struct = { "pair", sizeof(name_count), LB_COUNT_OF(pair_fields), pair_fields };

#define LIST_OF(of)                                                           \
    {                                                                         \
        .kind = LB_THRIFT_LIST, .size = sizeof(lb_thrift_list), .item = &(of) \
    }
static const lb_thrift_type ints_type = LIST_OF(lb_thrift_i32), bools_type = LIST_OF(lb_thrift_bool),
                            inners_type = LIST_OF(inner_type), shorts_type = LIST_OF(lb_thrift_i16),
                            lists_type = LIST_OF(shorts_type);
static const lb_thrift_type names_type = { .kind = LB_THRIFT_SET,
                                           .size = sizeof(lb_thrift_list),
                                           .item = &lb_thrift_string };
static const lb_thrift_type counts_type = { .kind = LB_THRIFT_MAP,
                                            .size = sizeof(lb_thrift_list),
                                            .record = &pair_struct };

typedef struct all {
    uint64_t has;
    bool yes, no;
    int8_t byte;
    int16_t short_;
    int32_t int_;
    int64_t long_;
    double real;
    lb_str text;
    lb_thrift_list ints, bools, names, counts;
    inner in;
    lb_thrift_list inners, lists;
    int32_t far;
} all;

static const lb_thrift_field all_fields[] = {
    LB_THRIFT_FIELD(all, 1, yes, &lb_thrift_bool),    LB_THRIFT_FIELD(all, 2, no, &lb_thrift_bool),
    LB_THRIFT_FIELD(all, 3, byte, &lb_thrift_i8),     LB_THRIFT_FIELD(all, 4, short_, &lb_thrift_i16),
    LB_THRIFT_FIELD(all, 5, int_, &lb_thrift_i32),    LB_THRIFT_FIELD(all, 6, long_, &lb_thrift_i64),
    LB_THRIFT_FIELD(all, 7, real, &lb_thrift_double), LB_THRIFT_FIELD(all, 8, text, &lb_thrift_string),
    LB_THRIFT_FIELD(all, 9, ints, &ints_type),        LB_THRIFT_FIELD(all, 10, bools, &bools_type),
    LB_THRIFT_FIELD(all, 11, names, &names_type),     LB_THRIFT_FIELD(all, 12, counts, &counts_type),
    LB_THRIFT_FIELD(all, 13, in, &inner_type),        LB_THRIFT_FIELD(all, 14, inners, &inners_type),
    LB_THRIFT_FIELD(all, 15, lists, &lists_type),     LB_THRIFT_FIELD(all, 100, far, &lb_thrift_i32),
};
static const lb_thrift_struct all_struct = { "All", sizeof(all), LB_COUNT_OF(all_fields), all_fields };

/* What the bytes say, worked out by hand from the values given to the Python library. */
static const struct {
    const char *name;
    lb_thrift_protocol protocol;
    const char *hex;
} golden[] = {
    { "full", LB_THRIFT_BINARY,
      "0200010102000200030003fb060004fed4080005000111700a0006ffffff00000000000400073ff80000000000000b000800"
      "00000668c3a96c6c6f0f0009080000000400000001ffffffff7fffffff800000000f000a02000000030100010e000b0b0000"
      "000100000001780d000c0b0a00000001000000016b00000000000000070c000d080001000000030b000200000002696e000f"
      "000e0c000000020800010000000100080001000000020b000200000000000f000f0f00000003060000000200010002060000"
      "0000060000000180000800640000000900" },
    { "full", LB_THRIFT_COMPACT,
      "111213fb14d70415e0c50816ffffffffff3f17000000000000f83f180668c3a96c6c6f19450201feffffff0fffffffff0f19"
      "310102011a1801781b0186016b0e1c15061802696e00192c150200150418000019392402040414ffff0305c8011200" },
    { "bounds", LB_THRIFT_BINARY, "030003800600047fff080005800000000a00067fffffffffffffff040007800000000000000000" },
    { "bounds", LB_THRIFT_COMPACT, "338014feff0315ffffffff0f16feffffffffffffffff0117000000000000008000" },
    { "least", LB_THRIFT_BINARY, "0300037f06000480000800057fffffff0a0006800000000000000000" },
    { "least", LB_THRIFT_COMPACT, "337f14ffff0315feffffff0f16ffffffffffffffffff0100" },
    { "long lists", LB_THRIFT_BINARY,
      "0f00090800000014000000000000000100000002000000030000000400000005000000060000000700000008000000090000"
      "000a0000000b0000000c0000000d0000000e0000000f000000100000001100000012000000130f000a02000000000e000b0b"
      "000000000d000c0b0a000000000f000e0c000000000f000f0f00000001060000001000000000000000000000000000000000"
      "0000000000000000000000000000000000" },
    { "long lists", LB_THRIFT_COMPACT,
      "99f51400020406080a0c0e10121416181a1c1e2022242619011a081b00290c1919f410000000000000000000000000000000"
      "0000" },
    { "nothing", LB_THRIFT_BINARY, "00" },
    { "nothing", LB_THRIFT_COMPACT, "00" },
};

static size_t unhex(const char *hex, uint8_t *out)
{
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) {
        char digits[3] = { hex[2 * i], hex[2 * i + 1], '\0' };
        out[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return n;
}

static void check_text(lb_str got, const char *want)
{
    assert_int_equal(got.size, strlen(want));
    assert_memory_equal(got.at, want, got.size);
}

static void check_full(const all *v)
{
    assert_int_equal(v->has, 0xFFFF);
    assert_true(v->yes);
    assert_false(v->no);
    assert_int_equal(v->byte, -5);
    assert_int_equal(v->short_, -300);
    assert_int_equal(v->int_, 70000);
    assert_int_equal(v->long_, -1099511627776);
    assert_true(v->real == 1.5);
    check_text(v->text, "h\xc3\xa9llo");
    const int32_t ints[] = { 1, -1, INT32_MAX, INT32_MIN };
    assert_int_equal(v->ints.count, 4);
    assert_memory_equal(v->ints.items, ints, sizeof ints);
    const bool bools[] = { true, false, true };
    assert_int_equal(v->bools.count, 3);
    assert_memory_equal(v->bools.items, bools, sizeof bools);
    assert_int_equal(v->names.count, 1);
    check_text(*(const lb_str *)v->names.items, "x");
    const name_count *counts = v->counts.items;
    assert_int_equal(v->counts.count, 1);
    check_text(counts->name, "k");
    assert_int_equal(counts->count, 7);
    assert_int_equal(v->in.a, 3);
    check_text(v->in.b, "in");
    const inner *inners = v->inners.items;
    assert_int_equal(v->inners.count, 2);
    assert_int_equal(inners[0].a, 1);
    assert_int_equal(inners[0].has, 1);
    assert_int_equal(inners[1].has, 3);
    assert_int_equal(inners[1].b.size, 0);
    const lb_thrift_list *lists = v->lists.items;
    assert_int_equal(v->lists.count, 3);
    assert_int_equal(lists[0].count, 2);
    assert_int_equal(((const int16_t *)lists[0].items)[1], 2);
    assert_int_equal(lists[1].count, 0);
    assert_int_equal(*(const int16_t *)lists[2].items, -32768);
    assert_int_equal(v->far, 9);
}

static void check_bounds(const all *v)
{
    assert_int_equal(v->has, 0x7C);
    assert_int_equal(v->byte, -128);
    assert_int_equal(v->short_, 32767);
    assert_int_equal(v->int_, INT32_MIN);
    assert_int_equal(v->long_, INT64_MAX);
    assert_true(v->real == 0 && __builtin_signbit(v->real));
}

static void check_least(const all *v)
{
    assert_int_equal(v->has, 0x3C);
    assert_int_equal(v->byte, 127);
    assert_int_equal(v->short_, -32768);
    assert_int_equal(v->int_, INT32_MAX);
    assert_int_equal(v->long_, INT64_MIN);
}

static void check_long(const all *v)
{
    const int32_t *ints = v->ints.items;
    assert_int_equal(v->has, 0x7F00 & ~0x1080u);
    assert_int_equal(v->ints.count, 20);
    for (int32_t i = 0; i < 20; i++)
        assert_int_equal(ints[i], i);
    assert_int_equal(v->bools.count + v->names.count + v->counts.count + v->inners.count, 0);
    assert_int_equal(((const lb_thrift_list *)v->lists.items)->count, 16);
}

static lb_status decode(lb_thrift_protocol protocol, const lb_thrift_struct *type, const uint8_t *bytes, size_t size,
                        lb_arena *arena, void *out, lb_error *err)
{
    lb_cursor in;
    uint8_t *copy = malloc(size + 1); /* so that a sanitizer sees reads past the end */
    memcpy(copy, bytes, size);
    uint8_t *kept = lb_arena_dup(arena, copy, size);
    free(copy);
    lb_cursor_init(&in, kept, size, 0);
    lb_error_clear(err);
    return lb_thrift_decode(protocol, type, &in, arena, out, err);
}

static void reads_what_python_wrote(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(golden); i++) {
        uint8_t bytes[1024];
        size_t n = unhex(golden[i].hex, bytes);
        lb_error err = LB_ERROR_INIT;
        lb_arena arena;
        all v = { .has = 0 };
        lb_arena_init(&arena, NULL);
        assert_int_equal(decode(golden[i].protocol, &all_struct, bytes, n, &arena, &v, &err), LB_OK);
        if (strcmp(golden[i].name, "full") == 0)
            check_full(&v);
        else if (strcmp(golden[i].name, "bounds") == 0)
            check_bounds(&v);
        else if (strcmp(golden[i].name, "least") == 0)
            check_least(&v);
        else if (strcmp(golden[i].name, "long lists") == 0)
            check_long(&v);
        else
            assert_int_equal(v.has, 0);
        lb_arena_free(&arena);
    }
}

static void writes_what_python_wrote(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(golden); i++) {
        uint8_t bytes[1024];
        size_t n = unhex(golden[i].hex, bytes);
        lb_error err = LB_ERROR_INIT;
        lb_arena arena;
        lb_buf out;
        all v = { .has = 0 };
        lb_arena_init(&arena, NULL);
        lb_buf_init(&out, NULL);
        assert_int_equal(decode(golden[i].protocol, &all_struct, bytes, n, &arena, &v, &err), LB_OK);
        assert_int_equal(lb_thrift_encode(golden[i].protocol, &all_struct, &v, &out, &err), LB_OK);
        assert_int_equal(out.size, n);
        assert_memory_equal(out.data, bytes, n);
        lb_buf_free(&out);
        lb_arena_free(&arena);
    }
}

/* Every beginning of a good struct is no struct, and says that bytes are wanting. */
static void cut_short(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(golden); i++) {
        uint8_t bytes[1024];
        size_t n = unhex(golden[i].hex, bytes);
        for (size_t cut = 0; cut < n; cut++) {
            lb_error err = LB_ERROR_INIT;
            lb_arena arena;
            lb_cursor in;
            all v = { .has = 0 };
            lb_arena_init(&arena, NULL);
            uint8_t *part = malloc(cut + 1);
            memcpy(part, bytes, cut);
            lb_cursor_init(&in, part, cut, 0);
            assert_int_equal(lb_thrift_decode(golden[i].protocol, &all_struct, &in, &arena, &v, &err), LB_CORRUPT);
            assert_true(in.bad);
            free(part);
            lb_arena_free(&arena);
        }
    }
}

/* ---------------------------------------------------------------- schemas that differ */

/* A reader that knows two fields only. */
static const lb_thrift_field few_fields[] = {
    LB_THRIFT_FIELD(all, 5, int_, &lb_thrift_i32),
    LB_THRIFT_FIELD(all, 100, far, &lb_thrift_i32),
};
static const lb_thrift_struct few_struct = { "Few", sizeof(all), LB_COUNT_OF(few_fields), few_fields };

/* One that takes some fields for what they are not. */
static const lb_thrift_field other_fields[] = {
    LB_THRIFT_FIELD(all, 1, long_, &lb_thrift_i64),
    LB_THRIFT_FIELD(all, 5, text, &lb_thrift_string),
    LB_THRIFT_FIELD(all, 13, names, &names_type),
    LB_THRIFT_FIELD(all, 100, far, &lb_thrift_i32),
};
static const lb_thrift_struct other_struct = { "Other", sizeof(all), LB_COUNT_OF(other_fields), other_fields };

static void unknown_fields_are_stepped_over(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        uint8_t bytes[1024];
        size_t n = unhex(golden[i].hex, bytes);
        lb_error err = LB_ERROR_INIT;
        lb_arena arena;
        all v = { .has = 0 };
        lb_arena_init(&arena, NULL);
        assert_int_equal(decode(golden[i].protocol, &few_struct, bytes, n, &arena, &v, &err), LB_OK);
        assert_int_equal(v.has, 3);
        assert_int_equal(v.int_, 70000);
        assert_int_equal(v.far, 9);
        v = (all){ .has = 0 };
        assert_int_equal(decode(golden[i].protocol, &other_struct, bytes, n, &arena, &v, &err), LB_OK);
        assert_int_equal(v.has, 8);
        assert_int_equal(v.far, 9);
        lb_arena_free(&arena);
    }
}

/* ---------------------------------------------------------------- bytes that are no struct */

static const struct {
    const char *name;
    lb_thrift_protocol protocol;
    const char *hex;
    lb_status status;
    int64_t offset;
    const char *says;
} bad[] = {
    { "a number of 11 bytes", LB_THRIFT_COMPACT, "16ffffffffffffffffffff0100", LB_CORRUPT, 11, "more than 64 bits" },
    { "a number of 65 bits", LB_THRIFT_COMPACT, "66ffffffffffffffffff0200", LB_CORRUPT, 11, "more than 64 bits" },
    { "i32 past its range", LB_THRIFT_COMPACT,
      "558080808010"
      "00",
      LB_CORRUPT, 6, "does not fit its type" },
    { "i16 past its range", LB_THRIFT_COMPACT, "4480800400", LB_CORRUPT, 4, "does not fit its type" },
    { "no such kind, compact", LB_THRIFT_COMPACT, "1e00", LB_CORRUPT, 1, "kind that does not exist" },
    { "no such kind, binary", LB_THRIFT_BINARY, "05000100", LB_CORRUPT, 3, "kind that does not exist" },
    { "list of no kind", LB_THRIFT_COMPACT, "99200000", LB_CORRUPT, 2, "kind that does not exist" },
    { "list of another kind", LB_THRIFT_COMPACT, "992601020000", LB_CORRUPT, 2, "not of the kind expected" },
    { "map of other values", LB_THRIFT_COMPACT,
      "cb018801610161"
      "00",
      LB_CORRUPT, 3, "not of the kind expected" },
    { "list longer than the bytes", LB_THRIFT_COMPACT, "99f5ffffffff0f00", LB_CORRUPT, -2, "bytes end inside All" },
    { "text longer than the bytes", LB_THRIFT_COMPACT, "88ffffffffffffffffff0161", LB_CORRUPT, -2, "bytes end" },
    { "length below 0", LB_THRIFT_BINARY, "0b0008ffffffff00", LB_CORRUPT, 7, "below 0" },
    { "count below 0", LB_THRIFT_BINARY, "0f000908ffffffff00", LB_CORRUPT, 8, "below 0" },
    { "field id past the end", LB_THRIFT_COMPACT, "05feff03021500", LB_CORRUPT, -2, "past 32767" },
    { "required field missing", LB_THRIFT_COMPACT, "dc1801620000", LB_CORRUPT, -2, "Inner has no field 1, a" },
};

static void bad_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(bad); i++) {
        uint8_t bytes[64];
        size_t n = unhex(bad[i].hex, bytes);
        lb_error err = LB_ERROR_INIT;
        lb_arena arena;
        all v = { .has = 0 };
        lb_arena_init(&arena, NULL);
        print_message("%s\n", bad[i].name);
        assert_int_equal(decode(bad[i].protocol, &all_struct, bytes, n, &arena, &v, &err), bad[i].status);
        assert_non_null(strstr(err.message, bad[i].says));
        if (bad[i].offset != -2)
            assert_int_equal(err.offset, bad[i].offset);
        lb_arena_free(&arena);
    }
}

/* Structs in structs, in a field nobody knows: up to the limit they are stepped over. */
static void nesting(void **state)
{
    (void)state;
    for (size_t depth = 1; depth < 100000; depth = depth < 80 ? depth + 1 : depth * 9) {
        uint8_t *bytes = calloc(2, depth);
        lb_error err = LB_ERROR_INIT;
        lb_arena arena;
        lb_cursor in;
        all v = { .has = 0 };
        memset(bytes, 0x1C, depth - 1); /* field 1 of what holds it, a struct; `yes` is no struct */
        lb_arena_init(&arena, NULL);
        lb_cursor_init(&in, bytes, 2 * depth, 0);
        assert_int_equal(lb_thrift_decode(LB_THRIFT_COMPACT, &all_struct, &in, &arena, &v, &err),
                         depth <= LB_THRIFT_DEPTH ? LB_OK : LB_CORRUPT);
        free(bytes);
        lb_arena_free(&arena);
    }
}

/* A list that is believed takes its memory from the budget. */
static void memory_is_bounded(void **state)
{
    (void)state;
    size_t n = (size_t)1 << 20;
    uint8_t *bytes = calloc(1, n + 16);
    lb_budget budget = { .limit = (uint64_t)8 << 20 };
    lb_error err = LB_ERROR_INIT;
    lb_arena arena;
    lb_cursor in;
    all v = { .has = 0 };
    memcpy(bytes, "\xe9\xfc\x80\x80\x40", 5); /* field 14: 2^20 structs, each of which may be one byte */
    lb_arena_init(&arena, &budget);
    lb_cursor_init(&in, bytes, n + 16, 0);
    assert_int_equal(lb_thrift_decode(LB_THRIFT_COMPACT, &all_struct, &in, &arena, &v, &err), LB_BUDGET);
    assert_false(in.bad);
    lb_arena_free(&arena);
    free(bytes);
}

static void long_text_is_refused(void **state)
{
    (void)state;
    lb_error err = LB_ERROR_INIT;
    lb_buf out;
    all v = { .has = 1 << 7, .text = { "x", (size_t)INT32_MAX + 1 } };
    lb_buf_init(&out, NULL);
    assert_int_equal(lb_thrift_encode(LB_THRIFT_COMPACT, &all_struct, &v, &out, &err), LB_USAGE);
    lb_buf_free(&out);
}

/* Uuids: the only kind that the Python library does not write; bytes from the protocol's specification. */
typedef struct with_uuid {
    uint64_t has;
    uint8_t id[16];
    bool after;
} with_uuid;

static const lb_thrift_field uuid_fields[] = {
    LB_THRIFT_FIELD(with_uuid, 1, id, &lb_thrift_uuid),
    LB_THRIFT_FIELD(with_uuid, 2, after, &lb_thrift_bool),
};
static const lb_thrift_struct uuid_struct = { "WithUuid", sizeof(with_uuid), LB_COUNT_OF(uuid_fields), uuid_fields };

static void uuids(void **state)
{
    static const char *const hex[] = { "10000100112233445566778899aabbccddeeff02000201"
                                       "00",
                                       "1d00112233445566778899aabbccddeeff1100" };
    (void)state;
    for (lb_thrift_protocol protocol = LB_THRIFT_BINARY; protocol <= LB_THRIFT_COMPACT; protocol++) {
        uint8_t bytes[64];
        size_t n = unhex(hex[protocol], bytes);
        lb_error err = LB_ERROR_INIT;
        lb_arena arena;
        lb_buf out;
        with_uuid v = { .has = 0 };
        all skipped = { .has = 0 };
        lb_arena_init(&arena, NULL);
        lb_buf_init(&out, NULL);
        assert_int_equal(decode(protocol, &uuid_struct, bytes, n, &arena, &v, &err), LB_OK);
        assert_int_equal(v.id[15], 0xff);
        assert_true(v.after);
        assert_int_equal(lb_thrift_encode(protocol, &uuid_struct, &v, &out, &err), LB_OK);
        assert_int_equal(out.size, n);
        assert_memory_equal(out.data, bytes, n);
        assert_int_equal(decode(protocol, &few_struct, bytes, n, &arena, &skipped, &err), LB_OK);
        lb_buf_free(&out);
        lb_arena_free(&arena);
    }
}

/* ---------------------------------------------------------------- visited lists */

typedef struct part {
    uint64_t has;
    bool flag;
    int32_t number;
    int64_t large;
    lb_str text;
    inner within;
    lb_str bytes; /* a struct kept as it stands */
} part;

static const lb_thrift_field part_fields[] = {
    LB_THRIFT_FIELD(part, 1, flag, &lb_thrift_bool), LB_THRIFT_FIELD(part, 2, number, &lb_thrift_i32),
    LB_THRIFT_FIELD(part, 4, large, &lb_thrift_i64), LB_THRIFT_FIELD(part, 5, text, &lb_thrift_string),
    LB_THRIFT_FIELD(part, 6, within, &inner_type),   LB_THRIFT_FIELD(part, 8, bytes, &lb_thrift_struct_bytes),
};
static const lb_thrift_struct part_struct = { "Part", sizeof(part), LB_COUNT_OF(part_fields), part_fields };
static const lb_thrift_type part_type = { .kind = LB_THRIFT_STRUCT, .size = sizeof(part), .record = &part_struct };
static const lb_thrift_type kept_type = { .kind = LB_THRIFT_LIST, .size = sizeof(lb_thrift_list), .item = &part_type };
static const lb_thrift_type visited_type = {
    .kind = LB_THRIFT_LIST, .size = sizeof(lb_thrift_list), .item = &part_type, .visited = true
};

typedef struct parts {
    uint64_t has;
    lb_thrift_list list;
} parts;

static const lb_thrift_field kept_fields[] = { LB_THRIFT_FIELD(parts, 1, list, &kept_type) };
static const lb_thrift_field visited_fields[] = { LB_THRIFT_FIELD(parts, 1, list, &visited_type) };
static const lb_thrift_struct kept_struct = { "Parts", sizeof(parts), 1, kept_fields };
static const lb_thrift_struct visited_struct = { "Parts", sizeof(parts), 1, visited_fields };

/* Fields 3 and 7 are in no table: a list of structs and a map. Written by hand from the compact protocol's specification. */
static const uint8_t visited_bytes[] = {
    0x19, 0x3C,                                                            /* field 1: a list of 3 structs */
    0x11, 0x15, 0x54, 0x19, 0x2C, 0x15, 0x02, 0x00, 0x18, 0x01, 'q', 0x00, /* flag, number 42, a list of 2 structs */
    0x16, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 0x18, 0x03, 'a',  'b', 'c',  /* large, text */
    0x1C, 0x15, 0x01, 0x18, 0x01, 'z',  0x00,                              /* within: a = -1, b = "z" */
    0x1B, 0x01, 0x85, 0x01, 'k',  0x0E,                                    /* a map of one pair */
    0x1C, 0x16, 0x02, 0x19, 0x25, 0x02, 0x04, 0x00, 0x00,                  /* bytes: a struct with a list */
    0x12, 0x00,                                                            /* flag is false, and nothing else */
    0x48, 0x00, 0x00, /* an empty text at field 4, which wants a number */
    0x00,
};

typedef struct visits {
    part got[4];
    size_t n;
} visits;

static lb_status visit_part(void *user, const lb_thrift_type *type, void *item, lb_error *err)
{
    visits *v = user;
    (void)err;

    assert_ptr_equal(type, &visited_type);
    if (v->n < LB_COUNT_OF(v->got))
        memcpy(&v->got[v->n], item, sizeof(part));
    v->n++;
    return LB_OK;
}

/* Kept or visited, the items are the same, and so is what is wrong. */
static void check_visited(const uint8_t *bytes, size_t size)
{
    parts kept = { 0 }, visited = { 0 };
    visits v = { .n = 0 };
    lb_error e1 = LB_ERROR_INIT, e2 = LB_ERROR_INIT;
    lb_cursor a, b;
    lb_arena arena;

    lb_arena_init(&arena, NULL);
    lb_cursor_init(&a, bytes, size, 0);
    lb_cursor_init(&b, bytes, size, 0);
    lb_status s1 = lb_thrift_decode(LB_THRIFT_COMPACT, &kept_struct, &a, &arena, &kept, &e1);
    lb_status s2 =
        lb_thrift_decode_visit(LB_THRIFT_COMPACT, &visited_struct, &b, &arena, &visited, visit_part, &v, &e2);
    assert_int_equal(s1, s2);
    assert_string_equal(e1.message, e2.message);
    if (s1 == LB_OK) {
        assert_true(a.at == b.at);
        assert_int_equal(kept.list.count, visited.list.count);
        assert_int_equal(kept.list.count, v.n);
        for (size_t i = 0; i < v.n && i < LB_COUNT_OF(v.got); i++)
            assert_memory_equal((const part *)kept.list.items + i, &v.got[i], sizeof(part));
    }
    lb_arena_free(&arena);
}

static void visited_lists(void **state)
{
    uint8_t bytes[sizeof visited_bytes];
    parts kept = { 0 };
    lb_error err = LB_ERROR_INIT;
    lb_cursor in;
    lb_arena arena;
    (void)state;

    lb_arena_init(&arena, NULL);
    lb_cursor_init(&in, visited_bytes, sizeof visited_bytes, 0);
    assert_int_equal(lb_thrift_decode(LB_THRIFT_COMPACT, &kept_struct, &in, &arena, &kept, &err), LB_OK);
    assert_int_equal(kept.list.count, 3);
    const part *p = kept.list.items;
    assert_int_equal(p[0].has, 0x3F);
    assert_true(p[0].flag);
    assert_int_equal(p[0].number, 42);
    assert_int_equal(p[0].large, INT64_C(0x7FFFFFFFFF));
    assert_true(lb_str_is(p[0].text, "abc"));
    assert_int_equal(p[0].within.a, -1);
    assert_true(lb_str_is(p[0].within.b, "z"));
    assert_int_equal(p[0].bytes.size, 7);
    assert_int_equal(p[1].has, 1);
    assert_int_equal(p[2].has, 0);
    lb_arena_free(&arena);
    /* Cut off anywhere, and with any byte another one. */
    for (size_t n = 0; n <= sizeof visited_bytes; n++)
        check_visited(visited_bytes, n);
    for (size_t i = 0; i < sizeof bytes; i++)
        for (unsigned b = 0; b < 256; b++) {
            memcpy(bytes, visited_bytes, sizeof bytes);
            bytes[i] = (uint8_t)b;
            check_visited(bytes, sizeof bytes);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_python_wrote),
        cmocka_unit_test(writes_what_python_wrote),
        cmocka_unit_test(cut_short),
        cmocka_unit_test(unknown_fields_are_stepped_over),
        cmocka_unit_test(bad_bytes),
        cmocka_unit_test(nesting),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(long_text_is_refused),
        cmocka_unit_test(uuids),
        cmocka_unit_test(visited_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
