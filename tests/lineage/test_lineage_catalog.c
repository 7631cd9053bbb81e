/* Catalogs: tables handed in, JSON, DDL; and documents that are not what they should be. */
#include "lineage/lineage_catalog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lineage/lineage_nested.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* ---- nested types: printed again in one spelling */

static void print_type(const lb_nested_type *type, char *out, size_t cap)
{
    char part[2][512];
    switch (type->kind) {
    case LB_TYPE_ARRAY:
        print_type(type->item, part[0], sizeof part[0]);
        (void)snprintf(out, cap, "a<%.500s>", part[0]);
        break;
    case LB_TYPE_MAP:
        print_type(type->key, part[0], sizeof part[0]);
        print_type(type->item, part[1], sizeof part[1]);
        (void)snprintf(out, cap, "m<%.250s,%.250s>", part[0], part[1]);
        break;
    case LB_TYPE_STRUCT: {
        size_t at = (size_t)snprintf(out, cap, "s<");
        for (uint32_t i = 0; i < type->n_fields; i++) {
            print_type(type->fields[i].type, part[0], sizeof part[0]);
            at += (size_t)snprintf(out + at, cap - at, "%s%.*s:%s", i == 0 ? "" : ",", (int)type->fields[i].name.size,
                                   type->fields[i].name.at, part[0]);
        }
        (void)snprintf(out + at, cap - at, ">");
        break;
    }
    default:
        (void)snprintf(out, cap, "-");
    }
}

static const struct {
    const char *text, *type;
} types[] = {
    { "int", "-" },
    { "", "-" },
    { "decimal(9, 2)", "-" },
    { "double precision", "-" },
    { "varchar ( 10 )", "-" },
    { "array<int>", "a<->" },
    { " ARRAY < decimal(9,2) > ", "a<->" },
    { "map<string,int>", "m<-,->" },
    { "map<string, array<struct<A:int, b :string>>>", "m<-,a<s<a:-,b:->>>" },
    { "struct<f1:int,f2:array<struct<f11:bigint,f12:map<string,struct<f21:bigint>>>>>",
      "s<f1:-,f2:a<s<f11:-,f12:m<-,s<f21:->>>>>" },
    { "struct<`odd name`:int comment 'with > and , in it \\' too',b:string>", "s<odd name:-,b:->" },
    { "struct<a int, b string>", "s<a:-,b:->" },
    /* What is not well formed has no paths. */
    { "array", "-" },
    { "array<", "-" },
    { "array<int", "-" },
    { "array<int>>", "-" },
    { "map<int>", "-" },
    { "struct<>", "-" },
    { "struct<a:int,>", "-" },
    { "struct<a:int comment", "-" },
    { "struct<a:int comment 'x", "-" },
    { "struct<`a:int>", "-" },
};

static void types_of_columns(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        lb_arena arena;
        char text[512];
        lb_arena_init(&arena, NULL);
        const lb_nested_type *type = lb_nested_parse(&arena, lb_str_of(types[i].text));
        assert_non_null(type);
        print_type(type, text, sizeof text);
        assert_string_equal(text, types[i].type);
        lb_arena_free(&arena);
    }
}

static void types_too_deep(void **state)
{
    lb_arena arena;
    char *text = malloc(7 * 100000);
    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < 100000; i++)
        memcpy(text + 6 * i, "array<", 6);
    lb_arena_init(&arena, NULL);
    assert_int_equal(lb_nested_parse(&arena, (lb_str){ text, 600000 })->kind, LB_TYPE_SCALAR);
    lb_arena_free(&arena);
    free(text);
}

/* ---- tables handed in */

static lb_catalog *made(void)
{
    lb_catalog *catalog = NULL;
    assert_int_equal(lb_catalog_make(NULL, &catalog, NULL), LB_OK);
    return catalog;
}

static const lb_catalog_table *find(const lb_catalog *catalog, const char *db, const char *name)
{
    return lb_catalog_find(catalog, lb_str_of(db), lb_str_of(name));
}

static void tables_by_name(void **state)
{
    const lb_catalog_column_spec columns[] = { { .name = "P", .type = "int", .partition = true },
                                               { .name = "Id", .type = "bigint" },
                                               { .name = "h", .hidden = true } };
    lb_catalog_spec spec = {
        .db = "Shop", .name = "ORDERS", .create_time = 17, .columns = columns, .n_columns = COUNT_OF(columns)
    };
    lb_catalog *catalog = made();
    (void)state;
    assert_int_equal(lb_catalog_put(catalog, &spec, NULL), LB_OK);
    const lb_catalog_table *t = find(catalog, "shop", "orders");
    assert_non_null(t);
    assert_true(lb_str_is(t->full_name, "shop.orders"));
    assert_true(lb_str_is(t->type, "hive"));
    assert_int_equal(t->create_time, 17);
    assert_int_equal(t->n_columns, 3);
    /* Partition columns stand last, whatever the order they were given in. */
    assert_true(lb_str_is(t->columns[0].name, "id") && lb_str_is(t->columns[2].name, "p"));
    assert_int_equal(lb_catalog_column_find(t, LB_STR("p")), 2);
    assert_int_equal(lb_catalog_column_find(t, LB_STR("q")), UINT32_MAX);
    assert_null(find(catalog, "shop", "order"));
    assert_null(find(catalog, "sho", "porders"));

    spec.n_columns = 2;
    spec.view_sql = "select 1";
    assert_int_equal(lb_catalog_put(catalog, &spec, NULL), LB_OK);
    assert_int_equal(lb_catalog_count(catalog), 1);
    assert_true(lb_str_is(find(catalog, "shop", "orders")->type, "view"));
    lb_catalog_free(catalog);
}

static void many_tables_and_columns(void **state)
{
    enum { TABLES = 3000, COLUMNS = 500 };
    lb_catalog_column_spec columns[COLUMNS] = { { .name = NULL } };
    char(*names)[16] = malloc(COLUMNS * sizeof *names), table[16], db[16];
    lb_catalog *catalog = made();
    (void)state;
    assert_non_null(names);
    for (int i = 0; i < COLUMNS; i++) {
        (void)snprintf(names[i], sizeof names[i], "c%d", i);
        columns[i].name = names[i];
    }
    for (int i = 0; i < TABLES; i++) {
        (void)snprintf(table, sizeof table, "t%d", i);
        (void)snprintf(db, sizeof db, "d%d", i % 37);
        const lb_catalog_spec spec = {
            .db = db, .name = table, .create_time = -1, .columns = columns, .n_columns = i == 7 ? COLUMNS : 3
        };
        assert_int_equal(lb_catalog_put(catalog, &spec, NULL), LB_OK);
    }
    assert_int_equal(lb_catalog_count(catalog), TABLES);
    for (int i = 0; i < TABLES; i++) {
        (void)snprintf(table, sizeof table, "t%d", i);
        (void)snprintf(db, sizeof db, "d%d", i % 37);
        assert_true(find(catalog, db, table) == lb_catalog_at(catalog, (size_t)i));
    }
    for (uint32_t i = 0; i < COLUMNS; i++)
        assert_int_equal(lb_catalog_column_find(lb_catalog_at(catalog, 7), lb_str_of(names[i])), i);
    lb_catalog_free(catalog);
    free(names);
}

static void tables_refused(void **state)
{
    const lb_catalog_column_spec twice[] = { { .name = "a" }, { .name = "A" } }, nameless[] = { { .name = "" } };
    const lb_catalog_spec bad[] = { { .db = "d" },
                                    { .name = "t" },
                                    { .db = "", .name = "t" },
                                    { .db = "d", .name = "t", .columns = twice, .n_columns = 2 },
                                    { .db = "d", .name = "t", .columns = nameless, .n_columns = 1 } };
    lb_catalog *catalog = made();
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        lb_error err = LB_ERROR_INIT;
        assert_int_equal(lb_catalog_put(catalog, &bad[i], &err), LB_USAGE);
        assert_true(err.message[0] != '\0');
    }
    assert_int_equal(lb_catalog_count(catalog), 0);
    lb_catalog_free(catalog);
}

static void memory_is_bounded(void **state)
{
    lb_budget budget = { .limit = 100000 };
    lb_status status = LB_OK;
    lb_catalog *catalog = NULL;
    char name[16];
    (void)state;
    assert_int_equal(lb_catalog_make(&budget, &catalog, NULL), LB_OK);
    for (int i = 0; status == LB_OK && i < 100000; i++) {
        (void)snprintf(name, sizeof name, "t%d", i);
        status = lb_catalog_put(catalog, &(lb_catalog_spec){ .db = "d", .name = name }, NULL);
    }
    assert_int_equal(status, LB_BUDGET);
    lb_catalog_free(catalog);
    assert_int_equal(budget.used, 0);
}

/* ---- JSON */

static void json_tables(void **state)
{
    static const char text[] =
        "{\"header\":{\"x\":1},\"tables\":["
        "{\"db\":\"D\",\"name\":\"T\",\"table_type\":\"kudu\",\"format\":\"x\",\"create_time\":5,"
        "\"location\":\"/x\",\"columns\":[{\"name\":\"A\",\"type\":\"array<int>\"},\"b\","
        "{\"name\":\"p\",\"partition\":true}]},"
        "{\"db\":\"d\",\"name\":\"v\",\"view_sql\":\"select * from t\",\"columns\":null}]}";
    lb_catalog *catalog = made();
    lb_error err = LB_ERROR_INIT;
    (void)state;
    assert_int_equal(lb_catalog_read_json(catalog, text, strlen(text), &err), LB_OK);
    const lb_catalog_table *t = find(catalog, "d", "t"), *v = find(catalog, "d", "v");
    assert_non_null(t);
    assert_non_null(v);
    assert_true(lb_str_is(t->type, "kudu") && lb_str_is(t->location, "/x") && t->create_time == 5);
    assert_int_equal(t->columns[0].type->kind, LB_TYPE_ARRAY);
    assert_null(t->columns[1].type);
    assert_true(t->columns[2].partition);
    assert_true(lb_str_is(v->type, "view") && lb_str_is(v->view_sql, "select * from t"));
    assert_int_equal(v->create_time, -1);
    lb_catalog_free(catalog);
}

static const struct {
    const char *text, *says;
} bad_json[] = {
    { "", "no JSON" },
    { "{", "no JSON" },
    { "[{\"db\":\"d\"", "line 1" },
    { "[\n\n{]", "line 3" },
    { "17", "no JSON" },
    { "{}", "list of tables" },
    { "{\"tables\":{}}", "list of tables" },
    { "[17]", "table 0 of the catalog: it must be an object" },
    { "[{\"db\":\"d\"}]", "\"name\" is missing" },
    { "[{\"name\":\"t\"}]", "table 0 (t) of the catalog: \"db\" is missing" },
    { "[{\"db\":\"d\",\"name\":\"t\"},{\"db\":\"d\",\"name\":3}]",
      "table 1 of the catalog: \"name\" must be a string" },
    { "[{\"db\":\"d\",\"name\":\"\"}]", "\"name\" is missing" },
    { "[{\"db\":\"d\",\"name\":\"t\",\"columns\":{}}]", "\"columns\" must be a list" },
    { "[{\"db\":\"d\",\"name\":\"t\",\"columns\":[3]}]", "a column must be an object or a name" },
    { "[{\"db\":\"d\",\"name\":\"t\",\"columns\":[{}]}]", "\"name\" is missing" },
    { "[{\"db\":\"d\",\"name\":\"t\",\"columns\":[\"\"]}]", "a column has no name" },
    { "[{\"db\":\"d\",\"name\":\"t\",\"columns\":[{\"name\":\"a\",\"type\":3}]}]", "\"type\" must be a string" },
    { "[{\"db\":\"d\",\"name\":\"t\",\"columns\":[{\"name\":\"a\",\"partition\":3}]}]", "must be true or false" },
    { "[{\"db\":\"d\",\"name\":\"t\",\"columns\":[\"a\",\"A\"]}]", "names the column a twice" },
    { "[{\"db\":\"d\",\"name\":\"t\",\"create_time\":\"x\"}]", "\"create_time\" must be whole seconds" },
    { "[{\"db\":\"d\",\"name\":\"t\",\"create_time\":1.5}]", "\"create_time\" must be whole seconds" },
    { "[{\"db\":\"d\",\"name\":\"t\",\"view_sql\":[]}]", "\"view_sql\" must be a string" },
    { "[{\"db\":\"d\",\"name\":\"t\\u0000u\"}]", "no JSON" },
    { "[{\"db\":\"d\",\"name\":\"\xff\"}]", "no JSON" },
};

static void json_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad_json); i++) {
        lb_catalog *catalog = made();
        lb_error err = LB_ERROR_INIT;
        assert_int_equal(lb_catalog_read_json(catalog, bad_json[i].text, strlen(bad_json[i].text), &err), LB_CORRUPT);
        if (strstr(err.message, bad_json[i].says) == NULL)
            fail_msg("%s: %s", bad_json[i].text, err.message);
        lb_catalog_free(catalog);
    }
}

/* ---- DDL */

static void ddl_tables(void **state)
{
    static const char text[] =
        "create table t (a int, b array<struct<c:map<string,int>>>) partitioned by (p string, q int);\n"
        "create table k (id int primary key) stored as kudu; use other;\n"
        "CREATE EXTERNAL TABLE IF NOT EXISTS Ice (x INT) STORED BY ICEBERG LOCATION '/some/where';\n"
        "create table copy like default.t; create table gone (a int); drop table gone;\n"
        "create table made as select a, b bb from default.t;\n"
        "create view v (one, two) as select a, p from default.t;\n"
        "select 1; insert into nowhere select 2;";
    lb_catalog *catalog = made();
    lb_error err = LB_ERROR_INIT;
    (void)state;
    assert_int_equal(lb_catalog_read_ddl(catalog, text, strlen(text), LB_STR("default"), &err), LB_OK);
    const lb_catalog_table *t = find(catalog, "default", "t");
    assert_non_null(t);
    assert_int_equal(t->n_columns, 4);
    char type[512];
    print_type(t->columns[1].type, type, sizeof type);
    assert_string_equal(type, "a<s<c:m<-,->>>");
    assert_true(!t->columns[1].partition && t->columns[2].partition && t->columns[3].partition);
    assert_true(lb_str_is(find(catalog, "default", "k")->type, "kudu"));
    const lb_catalog_table *ice = find(catalog, "other", "ice");
    assert_non_null(ice);
    assert_true(lb_str_is(ice->type, "iceberg") && lb_str_is(ice->location, "/some/where"));
    const lb_catalog_table *copy = find(catalog, "other", "copy");
    assert_non_null(copy);
    assert_int_equal(copy->n_columns, 4);
    assert_true(copy->columns[3].partition);
    assert_null(find(catalog, "other", "gone"));
    const lb_catalog_table *ctas = find(catalog, "other", "made");
    assert_non_null(ctas);
    assert_int_equal(ctas->n_columns, 2);
    print_type(ctas->columns[1].type, type, sizeof type);
    assert_string_equal(type, "a<s<c:m<-,->>>");
    const lb_catalog_table *v = find(catalog, "other", "v");
    assert_non_null(v);
    assert_true(lb_str_is(v->view_sql, "select a, p from default.t") && lb_str_is(v->view_db, "other"));
    assert_true(lb_str_is(v->columns[1].name, "two"));
    lb_catalog_free(catalog);
}

static void ddl_refused(void **state)
{
    static const char text[] = "create table a (x int);\ncreate table b (x int;\ncreate table c (x int);";
    lb_catalog *catalog = made();
    lb_error err = LB_ERROR_INIT;
    (void)state;
    assert_int_equal(lb_catalog_read_ddl(catalog, text, strlen(text), LB_STR("default"), &err), LB_CORRUPT);
    assert_int_equal(err.line, 2);
    assert_non_null(find(catalog, "default", "a"));
    lb_catalog_free(catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_of_columns), cmocka_unit_test(types_too_deep),
        cmocka_unit_test(tables_by_name),   cmocka_unit_test(many_tables_and_columns),
        cmocka_unit_test(tables_refused),   cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(json_tables),      cmocka_unit_test(json_refused),
        cmocka_unit_test(ddl_tables),       cmocka_unit_test(ddl_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
