/* Schemas as trees of levels. The lists and maps are those of LogicalTypes.md of apache/parquet-format (its sections
 * "Lists", "Maps", "Backward-compatibility rules"), with the types it says they are; levels by its rule that an
 * optional or repeated field adds one. */
#include "format/parquet/parquet_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define G LB_PARQUET_GROUP
#define REQ LB_PQT_REQUIRED
#define OPT LB_PQT_OPTIONAL
#define REP LB_PQT_REPEATED

typedef struct element {
    const char *name;
    unsigned repetition, physical, n_children;
    unsigned note;
    int32_t a, b;
    uint32_t length;
} element;

#define MAX_ELEMENTS 16

typedef struct schema_case {
    const char *what;
    element elements[MAX_ELEMENTS]; /* below the root; ended by a name of NULL */
    const char *words;              /* type of the first column */
    const char *tree;               /* shapes with def/slot_def/rep[/item_def], `?` where nullable */
} schema_case;

static const schema_case cases[] = {
    { "a required number", { { "a", REQ, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } }, "int32", "leaf 0/0/0" },
    { "an optional number", { { "a", OPT, LB_PARQUET_INT64, 0, 0, 0, 0, 0 } }, "int64", "leaf? 1/0/0" },
    { "a struct in a struct",
      { { "a", OPT, G, 2, 0, 0, 0, 0 },
        { "b", REQ, LB_PARQUET_FLOAT, 0, 0, 0, 0, 0 },
        { "c", OPT, G, 1, 0, 0, 0, 0 },
        { "d", OPT, LB_PARQUET_DOUBLE, 0, 0, 0, 0, 0 } },
      "{\"struct\":[{\"name\":\"b\",\"type\":\"float32\",\"nullable\":false},{\"name\":\"c\",\"type\":{\"struct\":[{\"name\":"
      "\"d\",\"type\":\"float64\",\"nullable\":true}]},\"nullable\":true}]}",
      "struct? 1/0/0(leaf 1/0/0 struct? 2/0/0(leaf? 3/0/0))" },
    { "my_list: List<String>, non-null list, nullable elements",
      { { "my_list", REQ, G, 1, LB_PARQUET_NOTE_LIST, 0, 0, 0 },
        { "list", REP, G, 1, 0, 0, 0, 0 },
        { "element", OPT, LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_NOTE_STRING, 0, 0, 0 } },
      "{\"list\":\"string\"}",
      "list 0/0/0/1(leaf? 2/1/1)" },
    { "my_list: List<String>, nullable list, non-null elements",
      { { "my_list", OPT, G, 1, LB_PARQUET_NOTE_LIST, 0, 0, 0 },
        { "list", REP, G, 1, 0, 0, 0, 0 },
        { "element", REQ, LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_NOTE_STRING, 0, 0, 0 } },
      "{\"list\":\"string\"}",
      "list? 1/0/0/2(leaf 2/2/1)" },
    { "array_of_arrays: List<List<Integer>>",
      { { "array_of_arrays", OPT, G, 1, LB_PARQUET_NOTE_LIST, 0, 0, 0 },
        { "list", REP, G, 1, 0, 0, 0, 0 },
        { "element", REQ, G, 1, LB_PARQUET_NOTE_LIST, 0, 0, 0 },
        { "list", REP, G, 1, 0, 0, 0, 0 },
        { "element", REQ, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } },
      "{\"list\":{\"list\":\"int32\"}}",
      "list? 1/0/0/2(list 2/2/1/3(leaf 3/3/2))" },
    { "rule 1: repeated int32 element",
      { { "my_list", OPT, G, 1, LB_PARQUET_NOTE_LIST, 0, 0, 0 }, { "element", REP, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } },
      "{\"list\":\"int32\"}",
      "list? 1/0/0/2(leaf 2/2/1)" },
    { "rule 2: List<Tuple<String, Integer>>",
      { { "my_list", OPT, G, 1, LB_PARQUET_NOTE_LIST, 0, 0, 0 },
        { "element", REP, G, 2, 0, 0, 0, 0 },
        { "str", REQ, LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_NOTE_STRING, 0, 0, 0 },
        { "num", REQ, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } },
      "{\"list\":{\"struct\":[{\"name\":\"str\",\"type\":\"string\",\"nullable\":false},{\"name\":\"num\",\"type\":\"int32\","
      "\"nullable\":false}]}}",
      "list? 1/0/0/2(struct 2/2/1(leaf 2/2/1 leaf 2/2/1))" },
    { "rule 3: a repeated group of one repeated field",
      { { "my_list", OPT, G, 1, LB_PARQUET_NOTE_LIST, 0, 0, 0 },
        { "array", REP, G, 1, LB_PARQUET_NOTE_LIST, 0, 0, 0 },
        { "array", REP, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } },
      "{\"list\":{\"list\":\"int32\"}}",
      "list? 1/0/0/2(list 2/2/1/3(leaf 3/3/2))" },
    { "rule 4: List<OneTuple<String>>, array",
      { { "my_list", OPT, G, 1, LB_PARQUET_NOTE_LIST, 0, 0, 0 },
        { "array", REP, G, 1, 0, 0, 0, 0 },
        { "str", REQ, LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_NOTE_STRING, 0, 0, 0 } },
      "{\"list\":{\"struct\":[{\"name\":\"str\",\"type\":\"string\",\"nullable\":false}]}}",
      "list? 1/0/0/2(struct 2/2/1(leaf 2/2/1))" },
    { "rule 4: List<OneTuple<String>>, my_list_tuple",
      { { "my_list", OPT, G, 1, LB_PARQUET_NOTE_LIST, 0, 0, 0 },
        { "my_list_tuple", REP, G, 1, 0, 0, 0, 0 },
        { "str", REQ, LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_NOTE_STRING, 0, 0, 0 } },
      "{\"list\":{\"struct\":[{\"name\":\"str\",\"type\":\"string\",\"nullable\":false}]}}",
      "list? 1/0/0/2(struct 2/2/1(leaf 2/2/1))" },
    { "rule 5: another name of the layer",
      { { "my_list", OPT, G, 1, LB_PARQUET_NOTE_LIST, 0, 0, 0 },
        { "bag", REP, G, 1, 0, 0, 0, 0 },
        { "array_element", OPT, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } },
      "{\"list\":\"int32\"}",
      "list? 1/0/0/2(leaf? 3/2/1)" },
    { "a list without a repeated field is a struct",
      { { "my_list", OPT, G, 1, LB_PARQUET_NOTE_LIST, 0, 0, 0 }, { "element", OPT, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } },
      "{\"struct\":[{\"name\":\"element\",\"type\":\"int32\",\"nullable\":true}]}",
      "struct? 1/0/0(leaf? 2/0/0)" },
    { "repeated int32 num, not annotated",
      { { "num", REP, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } },
      "{\"list\":\"int32\"}",
      "list 0/0/0/1(leaf 1/1/1)" },
    { "a repeated group, not annotated, in a struct",
      { { "phone_numbers", OPT, G, 1, 0, 0, 0, 0 },
        { "phone", REP, G, 2, 0, 0, 0, 0 },
        { "number", REQ, LB_PARQUET_INT64, 0, 0, 0, 0, 0 },
        { "kind", OPT, LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_NOTE_STRING, 0, 0, 0 } },
      "{\"struct\":[{\"name\":\"phone\",\"type\":{\"list\":{\"struct\":[{\"name\":\"number\",\"type\":\"int64\",\"nullable\":"
      "false},{\"name\":\"kind\",\"type\":\"string\",\"nullable\":true}]}},\"nullable\":false}]}",
      "struct? 1/0/0(list 1/0/0/2(struct 2/2/1(leaf 2/2/1 leaf? 3/2/1)))" },
    { "my_map: Map<String, Integer>",
      { { "my_map", REQ, G, 1, LB_PARQUET_NOTE_MAP, 0, 0, 0 },
        { "key_value", REP, G, 2, 0, 0, 0, 0 },
        { "key", REQ, LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_NOTE_STRING, 0, 0, 0 },
        { "value", OPT, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } },
      "{\"map\":[\"string\",\"int32\"]}",
      "map 0/0/0/1(struct 1/1/1(leaf 1/1/1 leaf? 2/1/1))" },
    { "Map<String, Integer> of other names",
      { { "my_map", OPT, G, 1, LB_PARQUET_NOTE_MAP, 0, 0, 0 },
        { "map", REP, G, 2, LB_PARQUET_NOTE_MAP, 0, 0, 0 },
        { "str", REQ, LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_NOTE_STRING, 0, 0, 0 },
        { "num", REQ, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } },
      "{\"map\":[\"string\",\"int32\"]}",
      "map? 1/0/0/2(struct 2/2/1(leaf 2/2/1 leaf 2/2/1))" },
    { "a map of keys alone is its storage",
      { { "my_map", REQ, G, 1, LB_PARQUET_NOTE_MAP, 0, 0, 0 },
        { "key_value", REP, G, 1, 0, 0, 0, 0 },
        { "key", REQ, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } },
      "{\"struct\":[{\"name\":\"key_value\",\"type\":{\"list\":{\"struct\":[{\"name\":\"key\",\"type\":\"int32\",\"nullable\":"
      "false}]}},\"nullable\":false}]}",
      "struct 0/0/0(list 0/0/0/1(struct 1/1/1(leaf 1/1/1)))" },
};

/* Types of leaves: physical, annotation. The words are those of shared/conformance. */
static const struct {
    element e;
    const char *words;
} leaves[] = {
    { { "a", OPT, LB_PARQUET_BOOLEAN, 0, 0, 0, 0, 0 }, "bool" },
    { { "a", OPT, LB_PARQUET_INT96, 0, 0, 0, 0, 0 }, "timestamp[ns]" },
    { { "a", OPT, LB_PARQUET_BYTE_ARRAY, 0, 0, 0, 0, 0 }, "binary" },
    { { "a", OPT, LB_PARQUET_FIXED, 0, 0, 0, 0, 7 }, "fixed_binary(7)" },
    { { "a", OPT, LB_PARQUET_INT32, 0, LB_PARQUET_NOTE_INTEGER, 8, 1, 0 }, "int8" },
    { { "a", OPT, LB_PARQUET_INT32, 0, LB_PARQUET_NOTE_INTEGER, 16, 0, 0 }, "uint16" },
    { { "a", OPT, LB_PARQUET_INT32, 0, LB_PARQUET_NOTE_INTEGER, 32, 0, 0 }, "uint32" },
    { { "a", OPT, LB_PARQUET_INT64, 0, LB_PARQUET_NOTE_INTEGER, 64, 0, 0 }, "uint64" },
    { { "a", OPT, LB_PARQUET_INT64, 0, LB_PARQUET_NOTE_INTEGER, 8, 1, 0 }, "int64" },
    { { "a", OPT, LB_PARQUET_INT32, 0, LB_PARQUET_NOTE_DATE, 0, 0, 0 }, "date" },
    { { "a", OPT, LB_PARQUET_INT32, 0, LB_PARQUET_NOTE_TIME, NANOARROW_TIME_UNIT_MILLI, 0, 0 }, "time[ms]" },
    { { "a", OPT, LB_PARQUET_INT64, 0, LB_PARQUET_NOTE_TIME, NANOARROW_TIME_UNIT_MICRO, 0, 0 }, "time[us]" },
    { { "a", OPT, LB_PARQUET_INT64, 0, LB_PARQUET_NOTE_TIME, NANOARROW_TIME_UNIT_NANO, 0, 0 }, "time[ns]" },
    { { "a", OPT, LB_PARQUET_INT64, 0, LB_PARQUET_NOTE_TIMESTAMP, NANOARROW_TIME_UNIT_MILLI, 0, 0 }, "timestamp[ms]" },
    { { "a", OPT, LB_PARQUET_INT64, 0, LB_PARQUET_NOTE_TIMESTAMP, NANOARROW_TIME_UNIT_NANO, 1, 0 },
      "timestamp[ns,UTC]" },
    { { "a", OPT, LB_PARQUET_INT32, 0, LB_PARQUET_NOTE_TIMESTAMP, NANOARROW_TIME_UNIT_MILLI, 1, 0 }, "int32" },
    { { "a", OPT, LB_PARQUET_INT32, 0, LB_PARQUET_NOTE_DECIMAL, 9, 2, 0 }, "decimal(9,2)" },
    { { "a", OPT, LB_PARQUET_INT64, 0, LB_PARQUET_NOTE_DECIMAL, 18, 18, 0 }, "decimal(18,18)" },
    { { "a", OPT, LB_PARQUET_FIXED, 0, LB_PARQUET_NOTE_DECIMAL, 76, 0, 32 }, "decimal(76,0)" },
    { { "a", OPT, LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_NOTE_DECIMAL, 38, 10, 0 }, "decimal(38,10)" },
    { { "a", OPT, LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_NOTE_DECIMAL, 77, 10, 0 }, "binary" },
    { { "a", OPT, LB_PARQUET_INT32, 0, LB_PARQUET_NOTE_DECIMAL, 3, 4, 0 }, "int32" },
    { { "a", OPT, LB_PARQUET_FIXED, 0, LB_PARQUET_NOTE_FLOAT16, 0, 0, 2 }, "float16" },
    { { "a", OPT, LB_PARQUET_FIXED, 0, LB_PARQUET_NOTE_UUID, 0, 0, 16 }, "uuid" },
    { { "a", OPT, LB_PARQUET_FIXED, 0, LB_PARQUET_NOTE_INTERVAL, 0, 0, 12 }, "interval[month_day_ns]" },
    { { "a", OPT, LB_PARQUET_FIXED, 0, LB_PARQUET_NOTE_INTERVAL, 0, 0, 11 }, "fixed_binary(11)" },
    { { "a", OPT, LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_NOTE_ENUM, 0, 0, 0 }, "string" },
    { { "a", OPT, LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_NOTE_JSON, 0, 0, 0 }, "string" },
    { { "a", OPT, LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_NOTE_BSON, 0, 0, 0 }, "binary" },
    { { "a", OPT, LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_NOTE_GEOMETRY, 0, 0, 0 }, "binary" },
    { { "a", OPT, LB_PARQUET_INT32, 0, LB_PARQUET_NOTE_STRING, 0, 0, 0 }, "int32" },
    { { "a", OPT, LB_PARQUET_INT32, 0, LB_PARQUET_NOTE_UNKNOWN, 0, 0, 0 }, "null" },
};

static lb_status make(const element *from, size_t n, uint32_t n_columns, lb_arena *arena, lb_parquet_schema *out,
                      lb_error *err)
{
    lb_parquet_element *elements = lb_arena_alloc(arena, n + 1, sizeof *elements);

    assert_non_null(elements);
    elements[0] = (lb_parquet_element){ .name = LB_STR("schema"), .physical = G, .n_children = n_columns };
    for (size_t i = 0; i < n; i++)
        elements[i + 1] = (lb_parquet_element){ .name = lb_str_of(from[i].name),
                                                .repetition = (uint8_t)from[i].repetition,
                                                .note = (uint8_t)from[i].note,
                                                .physical = (uint8_t)from[i].physical,
                                                .a = from[i].a,
                                                .b = from[i].b,
                                                .type_length = from[i].length,
                                                .n_children = from[i].n_children };
    return lb_parquet_schema_new(elements, n + 1, arena, out, err);
}

static void draw(const lb_parquet_node *node, lb_buf *out)
{
    static const char *const shapes[] = { "leaf", "struct", "list", "map" };

    lb_buf_printf(out, NULL, "%s%s %u/%u/%u", shapes[node->shape], node->nullable ? "?" : "", node->def, node->slot_def,
                  node->rep);
    if (node->shape == LB_PARQUET_LIST || node->shape == LB_PARQUET_MAP)
        lb_buf_printf(out, NULL, "/%u", node->item_def);
    if (node->n_children == 0)
        return;
    lb_buf_append_str(out, "(", NULL);
    for (size_t i = 0; i < node->n_children; i++) {
        if (i != 0)
            lb_buf_append_str(out, " ", NULL);
        draw(node->children[i], out);
    }
    lb_buf_append_str(out, ")", NULL);
}

static void check_words(const struct ArrowSchema *schema, const char *words)
{
    lb_buf got;

    lb_buf_init(&got, NULL);
    assert_int_equal(lb_type_words(schema, false, &got, NULL), LB_OK);
    assert_string_equal(lb_buf_text(&got), words);
    lb_buf_free(&got);
}

static void nested_types(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        lb_error err = LB_ERROR_INIT;
        lb_parquet_schema schema;
        lb_arena arena;
        lb_buf tree;
        size_t n = 0;

        lb_arena_init(&arena, NULL);
        lb_buf_init(&tree, NULL);
        while (n < MAX_ELEMENTS && cases[i].elements[n].name != NULL)
            n++;
        if (make(cases[i].elements, n, 1, &arena, &schema, &err) != LB_OK)
            fail_msg("%s: %s", cases[i].what, err.message);
        check_words(schema.arrow.children[0], cases[i].words);
        draw(schema.columns[0], &tree);
        assert_string_equal(lb_buf_text(&tree), cases[i].tree);
        assert_int_equal(schema.columns[0]->n_leaves, schema.n_leaves);
        lb_buf_free(&tree);
        lb_parquet_schema_free(&schema);
        lb_arena_free(&arena);
    }
}

static void leaf_types(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(leaves); i++) {
        lb_error err = LB_ERROR_INIT;
        lb_parquet_schema schema;
        lb_arena arena;

        lb_arena_init(&arena, NULL);
        assert_int_equal(make(&leaves[i].e, 1, 1, &arena, &schema, &err), LB_OK);
        check_words(schema.arrow.children[0], leaves[i].words);
        assert_int_equal(lb_parquet_leaf_check(schema.columns[0], &err), LB_OK);
        lb_parquet_schema_free(&schema);
        lb_arena_free(&arena);
    }
}

/* Groups that claim more fields than there are, or fewer; no fields; nothing at all; deeper than types may be. */
static void bad_schemas(void **state)
{
    static const element deep_item = { "d", OPT, G, 1, 0, 0, 0, 0 };
    static const struct {
        element elements[3];
        size_t n;
        uint32_t columns;
        lb_status status;
    } bad[] = {
        { { { "a", OPT, G, 5, 0, 0, 0, 0 }, { "b", OPT, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } }, 2, 1, LB_CORRUPT },
        { { { "a", OPT, LB_PARQUET_INT32, 0, 0, 0, 0, 0 }, { "b", OPT, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } },
          2,
          1,
          LB_CORRUPT },
        { { { "a", OPT, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } }, 1, 2, LB_CORRUPT },
        { { { "a", OPT, G, 0, 0, 0, 0, 0 } }, 1, 1, LB_UNSUPPORTED },
        { { { "a", OPT, LB_PARQUET_FIXED, 0, 0, 0, 0, 0 } }, 1, 1, LB_CORRUPT },
        { { { "a", OPT, G, 1, LB_PARQUET_NOTE_LIST, 0, 0, 0 }, { "b", REP, G, 1, 0, 0, 0, 0 } }, 2, 1, LB_CORRUPT },
    };
    element deep[200];
    lb_parquet_schema schema;
    lb_arena arena;
    (void)state;

    lb_arena_init(&arena, NULL);
    for (size_t i = 0; i < LB_COUNT_OF(bad); i++) {
        lb_error err = LB_ERROR_INIT;
        assert_int_equal(make(bad[i].elements, bad[i].n, bad[i].columns, &arena, &schema, &err), bad[i].status);
    }
    for (size_t i = 0; i < LB_COUNT_OF(deep); i++)
        deep[i] = deep_item;
    deep[LB_COUNT_OF(deep) - 1].n_children = 0;
    deep[LB_COUNT_OF(deep) - 1].physical = LB_PARQUET_INT32;
    assert_int_equal(make(deep, LB_COUNT_OF(deep), 1, &arena, &schema, NULL), LB_UNSUPPORTED);
    assert_int_equal(make(deep + 150, LB_COUNT_OF(deep) - 150, 1, &arena, &schema, NULL), LB_OK);
    lb_parquet_schema_free(&schema);
    assert_int_equal(lb_parquet_schema_new(NULL, 0, &arena, &schema, NULL), LB_CORRUPT);
    lb_arena_free(&arena);
}

static void names(void **state)
{
    static const element odd[] = { { "a\xff", OPT, LB_PARQUET_INT32, 0, 0, 0, 0, 0 },
                                   { "", OPT, LB_PARQUET_INT32, 0, 0, 0, 0, 0 } };
    lb_parquet_schema schema;
    lb_arena arena;
    lb_str original;
    (void)state;

    lb_arena_init(&arena, NULL);
    assert_int_equal(make(odd, 2, 2, &arena, &schema, NULL), LB_OK);
    assert_string_equal(schema.arrow.children[0]->name, "a\xEF\xBF\xBD");
    assert_true(lb_schema_get_meta(schema.arrow.children[0], LB_META_ORIGINAL_NAME, &original));
    assert_true(lb_str_is(original, "a\xff"));
    assert_string_equal(schema.arrow.children[1]->name, "");
    lb_parquet_schema_free(&schema);
    lb_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(nested_types), cmocka_unit_test(leaf_types),
                                        cmocka_unit_test(bad_schemas), cmocka_unit_test(names) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
