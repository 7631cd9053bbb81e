/* SQL that others wrote: the lineage suite, and the texts that tools/setup.sh --tests takes from sqlglot's tests (TPC-H,
 * TPC-DS, and statements of all systems). All of it must parse, and print as what parses to the same tree. */
#include "sql/sql_print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

/* A file below the folder that the environment variable names, with `#` lines blanked; at NULL: not there. */
static lb_str suite_read(const char *variable, const char *name)
{
    const char *folder = getenv(variable);
    char path[1024];
    lb_str out = { 0 };
    long size;

    (void)snprintf(path, sizeof path, "%s/%s", folder == NULL ? "" : folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return out;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) > 0 && fseek(file, 0, SEEK_SET) == 0) {
        char *text = malloc((size_t)size);
        assert_non_null(text);
        out = (lb_str){ text, fread(text, 1, (size_t)size, file) };
        for (size_t i = 0; i < out.size; i++) {
            bool hash = text[i] == '#' && (i == 0 || text[i - 1] == '\n');
            while (hash && i < out.size && text[i] != '\n')
                text[i++] = ' ';
        }
    }
    (void)fclose(file);
    return out;
}

static void check_statement(const lb_sql_script *script, const lb_sql_statement *statement)
{
    lb_sql_script again;
    lb_arena arena;
    lb_buf out;

    lb_arena_init(&arena, NULL);
    lb_buf_init(&out, NULL);
    assert_int_equal(lb_sql_print(script->text, script->dialect, statement, &out, NULL), LB_OK);
    const lb_str printed = { (const char *)out.data, out.size };
    assert_int_equal(lb_sql_parse(NULL, printed, script->dialect, &arena, &again, NULL), LB_OK);
    if (again.problem_count != 0 || !lb_sql_same(script->text, statement, printed, again.first))
        print_error("%.*s\n", (int)printed.size, printed.at);
    assert_int_equal(again.problem_count, 0);
    assert_true(lb_sql_same(script->text, statement, printed, again.first));
    lb_buf_free(&out);
    lb_arena_free(&arena);
}

static void check_script(lb_str text, lb_sql_dialect dialect, uint32_t count)
{
    lb_sql_script script;
    lb_arena arena;

    lb_arena_init(&arena, NULL);
    assert_int_equal(lb_sql_parse(NULL, text, dialect, &arena, &script, NULL), LB_OK);
    for (const lb_sql_problem *p = script.problems; p != NULL; p = p->next)
        print_error("line %u: %s\n", p->line, p->message);
    assert_int_equal(script.problem_count, 0);
    assert_int_equal(script.count, count);
    for (const lb_sql_statement *s = script.first; s != NULL; s = s->next)
        check_statement(&script, s);
    lb_arena_free(&arena);
}

/* ---------------------------------------------------------------- the lineage suite */

static const struct {
    const char *name;
    lb_sql_statement_kind kind;
} kinds[] = {
    { "SELECT", LB_SQL_SELECT },
    { "INSERT", LB_SQL_INSERT },
    { "INSERT OVERWRITE", LB_SQL_INSERT },
    { "UPSERT", LB_SQL_INSERT },
    { "UPDATE", LB_SQL_UPDATE },
    { "MERGE", LB_SQL_MERGE },
    { "CREATE TABLE AS SELECT", LB_SQL_CREATE_TABLE },
    { "CREATE TABLE", LB_SQL_CREATE_TABLE },
    { "CREATE TABLE LIKE", LB_SQL_CREATE_TABLE },
    { "CREATE TABLE LIKE FILE", LB_SQL_CREATE_TABLE },
    { "CREATE VIEW", LB_SQL_CREATE_VIEW },
    { "ALTER VIEW AS", LB_SQL_ALTER_VIEW },
    { "CREATE DATABASE", LB_SQL_CREATE_DATABASE },
    { "DROP DATABASE", LB_SQL_DROP },
};

static void check_case(const json_t *record)
{
    const char *sql = json_string_value(json_object_get(record, "sql"));
    const char *statement = json_string_value(json_object_get(record, "statement"));
    lb_sql_script script;
    lb_arena arena;
    bool known = false;

    assert_non_null(sql);
    lb_arena_init(&arena, NULL);
    assert_int_equal(lb_sql_parse(NULL, lb_str_of(sql), LB_SQL_IMPALA, &arena, &script, NULL), LB_OK);
    check_script(lb_str_of(sql), LB_SQL_IMPALA, script.count);
    for (size_t i = 0; i < LB_COUNT_OF(kinds) && statement != NULL; i++) {
        if (strcmp(statement, kinds[i].name) != 0)
            continue;
        known = true;
        assert_int_equal(script.first->kind, kinds[i].kind);
    }
    if (!known)
        print_error("%s\n", statement);
    assert_true(known);
    lb_arena_free(&arena);
}

static void test_lineage_suite(void **state)
{
    lb_str text = suite_read("LAKEBED_SOURCE", "../shared/conformance/lineage/cases.jsonl");
    size_t count = 0;

    (void)state;
    if (text.at == NULL)
        skip();
    for (size_t at = 0; at < text.size;) {
        const char *line = text.at + at;
        const char *end = memchr(line, '\n', text.size - at);
        size_t size = end == NULL ? text.size - at : (size_t)(end - line);
        json_t *record = json_loadb(line, size, 0, NULL);
        assert_non_null(record);
        check_case(record);
        json_decref(record);
        count++;
        at += size + 1;
    }
    assert_int_equal(count, 145);
    free((char *)text.at);
}

/* ---------------------------------------------------------------- TPC-H, TPC-DS */

/* Each query stands there twice: as published, and as an optimizer wrote it with quoted names. */
static void check_tpc(const char *name, uint32_t queries)
{
    lb_str text = suite_read("LAKEBED_VENV", name);

    if (text.at == NULL)
        skip();
    check_script(text, LB_SQL_ANSI, 2 * queries);
    free((char *)text.at);
}

static void test_tpc_h(void **state)
{
    (void)state;
    check_tpc("../sqlglot/tpc-h.sql", 22);
}

static void test_tpc_ds(void **state)
{
    (void)state;
    check_tpc("../sqlglot/tpc-ds.sql", 99);
}

/* The published forms are Impala's SQL too. */
static void test_tpc_ds_in_impala(void **state)
{
    lb_str text = suite_read("LAKEBED_VENV", "../sqlglot/tpc-ds.sql");
    lb_sql_script script;
    lb_arena arena;
    uint32_t i = 0;

    (void)state;
    if (text.at == NULL)
        skip();
    lb_arena_init(&arena, NULL);
    assert_int_equal(lb_sql_parse(NULL, text, LB_SQL_ANSI, &arena, &script, NULL), LB_OK);
    for (const lb_sql_statement *s = script.first; s != NULL; s = s->next, i++)
        if (i % 2 == 0)
            check_script(lb_sql_text(text, s->begin, s->end), LB_SQL_IMPALA, 1);
    lb_arena_free(&arena);
    free((char *)text.at);
}

/* ---------------------------------------------------------------- all systems */

/* A line is a statement or an expression; false: neither. */
static bool line_parses(lb_str line)
{
    lb_sql_script script;
    lb_sql_expr *e = NULL;
    lb_arena arena;

    lb_arena_init(&arena, NULL);
    assert_int_equal(lb_sql_parse(NULL, line, LB_SQL_ANSI, &arena, &script, NULL), LB_OK);
    bool parsed = script.problem_count == 0;
    if (parsed && script.count == 1)
        check_statement(&script, script.first);
    else
        parsed = lb_sql_parse_expr(line, LB_SQL_ANSI, &arena, &e, NULL) == LB_OK;
    lb_arena_free(&arena);
    return parsed;
}

#define STRANGE_MAX 107 /* lines of systems whose grammar is not ours; may only sink */

static void test_all_systems(void **state)
{
    lb_str text = suite_read("LAKEBED_VENV", "../sqlglot/identity.sql");
    size_t count = 0, strange = 0;

    (void)state;
    if (text.at == NULL)
        skip();
    for (size_t at = 0; at < text.size;) {
        const char *line = text.at + at;
        const char *end = memchr(line, '\n', text.size - at);
        size_t size = end == NULL ? text.size - at : (size_t)(end - line);
        if (size != 0) {
            count++;
            strange += !line_parses((lb_str){ line, size });
        }
        at += size + 1;
    }
    assert_true(count > 900);
    if (strange > STRANGE_MAX)
        print_error("%zu of %zu lines do not parse\n", strange, count);
    assert_true(strange <= STRANGE_MAX);
    free((char *)text.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lineage_suite),    cmocka_unit_test(test_tpc_h),       cmocka_unit_test(test_tpc_ds),
        cmocka_unit_test(test_tpc_ds_in_impala), cmocka_unit_test(test_all_systems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
