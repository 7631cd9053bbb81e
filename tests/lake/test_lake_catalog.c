/* Files as tables: names by the rules of lake_catalog.h, and types as Impala's SQL writes them. */
#include "lake/lake_catalog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "column/types.h"

static const struct {
    const char *path, *db, *name;
} names[] = {
    { "orders.csv", "shop", "orders" },
    { "Orders.2024.csv.gz", "shop", "orders" },
    { "eu/North/prices.tsv", "eu_north", "prices" },
    { "year=2024/part-0.csv", "year=2024", "part-0" },
    { ".hidden.csv", "shop", ".hidden" },
    { "bare", "shop", "bare" },
    { "Ünï.csv", "shop", "Ünï" },
};

static void names_of_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(names); i++) {
        lb_arena arena;
        lb_arena_init(&arena, NULL);
        assert_string_equal(lb_lake_table_db(lb_str_of(names[i].path), "Shop", &arena), names[i].db);
        assert_string_equal(lb_lake_table_name(lb_str_of(names[i].path), &arena), names[i].name);
        lb_arena_free(&arena);
    }
}

/* Types in the words of `schema --json`. */
static const struct {
    const char *words, *sql;
} types[] = {
    { "bool", "boolean" },
    { "int8", "tinyint" },
    { "int16", "smallint" },
    { "int32", "int" },
    { "int64", "bigint" },
    { "uint8", "smallint" },
    { "uint16", "int" },
    { "uint32", "bigint" },
    { "uint64", "decimal(20,0)" },
    { "float32", "float" },
    { "float64", "double" },
    { "decimal(10,2)", "decimal(10,2)" },
    { "string", "string" },
    { "binary", "binary" },
    { "date", "date" },
    { "timestamp[us,UTC]", "timestamp" },
    { "{\"list\":\"int64\"}", "array<bigint>" },
    { "{\"map\":[\"string\",{\"list\":\"bool\"}]}", "map<string,array<boolean>>" },
    { "{\"struct\":[{\"name\":\"a\",\"type\":\"int32\"},{\"name\":\"b c`d\",\"type\":\"string\"}]}",
      "struct<a:int,`b c``d`:string>" },
    { "{\"struct\":[]}", "struct<>" },
};

static void types_as_sql(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(types); i++) {
        struct ArrowSchema type;
        lb_error err = LB_ERROR_INIT;
        lb_buf out;
        lb_buf_init(&out, NULL);
        if (lb_type_of_words(types[i].words, &type, &err) != LB_OK)
            fail_msg("%s: %s", types[i].words, err.message);
        assert_int_equal(lb_lake_sql_type(&type, &out, &err), LB_OK);
        assert_string_equal(lb_buf_text(&out), types[i].sql);
        type.release(&type);
        lb_buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(names_of_files), cmocka_unit_test(types_as_sql) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
