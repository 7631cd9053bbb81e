/* Bad SQL: messages and places, going on behind a semicolon, depth, hostile bytes, time. */
#include "sql/sql_print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

/* ---------------------------------------------------------------- messages */

/* The text, what is said of it, and which bytes it points at. */
static const struct {
    const char *sql, *message, *at;
} cases[] = {
    { "select a, from t", "line 1, column 11: expected an expression but found key word from", "from" },
    { "select a\nfrom t\nwhere", "line 3, column 6: expected an expression but found the end of the text", "" },
    { "selec a", "line 1, column 1: expected a statement but found name selec", "selec" },
    { "select (a + b from t", "line 1, column 15: expected ',', ')' or an operator but found key word from", "from" },
    { "select f(a b)", "line 1, column 12: expected ',', ')' or an operator but found name b", "b" },
    { "select case a when 1 then 2",
      "line 1, column 28: expected WHEN, ELSE, END or an operator but found the end of "
      "the text",
      "" },
    { "select case when a else b end", "line 1, column 20: expected THEN or an operator but found key word else",
      "else" },
    { "select a from t group a", "line 1, column 23: expected BY but found name a", "a" },
    { "select a from t limit 5 5", "line 1, column 25: expected ';' or the end of the statement but found number 5",
      "5" },
    { "select * from", "line 1, column 14: expected a table, or a query in parentheses but found the end of the text",
      "" },
    { "select * from t left u", "line 1, column 22: expected JOIN but found name u", "u" },
    { "select a between 1 or 2", "line 1, column 20: expected AND or an operator but found key word or", "or" },
    { "select a is 5",
      "line 1, column 13: expected NULL, NOT, TRUE, FALSE, UNKNOWN or DISTINCT FROM but found number 5", "5" },
    { "select cast(a int)", "line 1, column 15: expected AS or an operator but found name int", "int" },
    { "select 'abc", "line 1, column 8: expected an expression but found a string that is not closed", "'abc" },
    { "select a /* b",
      "line 1, column 10: expected ';' or the end of the statement but found a comment that is not closed", "/* b" },
    { "select `", "line 1, column 8: expected an expression but found a quoted name that is not closed", "`" },
    { "select # 1", "line 1, column 8: expected an expression but found a character that begins nothing in SQL", "#" },
    { "select \xc3\xa9, \xff", "line 1, column 11: expected an expression but found bytes that are not valid UTF-8",
      "\xff" },
    { "insert t select 1", "line 1, column 8: expected INTO or OVERWRITE but found name t", "t" },
    { "insert into t",
      "line 1, column 14: expected a list of columns, PARTITION, SELECT or VALUES but found the end of "
      "the text",
      "" },
    { "insert into t (a)", "line 1, column 18: expected PARTITION, SELECT or VALUES but found the end of the text",
      "" },
    { "update t where a", "line 1, column 10: expected SET but found key word where", "where" },
    { "merge into t using s on a", "line 1, column 26: expected WHEN but found the end of the text", "" },
    { "merge into t using s on a when matched delete",
      "line 1, column 40: expected AND or THEN but found key word delete", "delete" },
    { "create table t (a int", "line 1, column 22: expected ',' or ')' but found the end of the text", "" },
    { "create view v as update t", "line 1, column 18: expected SELECT, VALUES or '(' but found name update",
      "update" },
    { "select cast(a as map<int>)", "line 1, column 18: expected 2 types within map<…>", "map<int>" },
    { "select 'a long string that goes on and on, for more than forty bytes' 'x' y",
      "line 1, column 75: expected ';' or the end of the statement but found name y", "y" },
    { "select a from t where b = \n  )", "line 2, column 3: expected an expression but found ')'", ")" },
};

static void test_messages(void **state)
{
    lb_sql_script script;
    lb_arena arena;

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        lb_error err = LB_ERROR_INIT;
        lb_arena_init(&arena, NULL);
        assert_int_equal(lb_sql_parse(NULL, lb_str_of(cases[i].sql), LB_SQL_IMPALA, &arena, &script, &err), LB_OK);
        assert_int_equal(script.problem_count, 1);
        const lb_sql_problem *p = script.problems;
        assert_int_equal(lb_sql_problem_fail(p, &err), LB_USAGE);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(err.offset, p->begin);
        assert_int_equal(err.line, p->line);
        assert_int_equal(p->end - p->begin, strlen(cases[i].at));
        assert_memory_equal(cases[i].sql + p->begin, cases[i].at, p->end - p->begin);
        assert_ptr_equal(p->statement, script.first);
        assert_int_equal(script.first->kind, LB_SQL_BAD);
        lb_arena_free(&arena);
    }
}

static void check_shown(const char *sql, const char *want)
{
    lb_sql_script script;
    lb_arena arena;
    lb_buf out;

    lb_arena_init(&arena, NULL);
    lb_buf_init(&out, NULL);
    assert_int_equal(lb_sql_parse(NULL, lb_str_of(sql), LB_SQL_IMPALA, &arena, &script, NULL), LB_OK);
    assert_non_null(script.problems);
    assert_int_equal(lb_sql_problem_print(script.text, script.problems, &out, NULL), LB_OK);
    assert_string_equal(lb_buf_text(&out), want);
    lb_buf_free(&out);
    lb_arena_free(&arena);
}

static void test_carets(void **state)
{
    (void)state;
    check_shown("select a\nfrom t\nwhere b = where\norder by c",
                "line 3, column 11: expected an expression but found key word where\n"
                "  where b = where\n"
                "            ^~~~~\n");
    check_shown("select\t'\xe6\x97\xa5\xe6\x9c\xac', )", "line 1, column 14: expected an expression but found ')'\n"
                                                         "  select '\xe6\x97\xa5\xe6\x9c\xac', )\n"
                                                         "                 ^\n");
    check_shown("select a from t where", "line 1, column 22: expected an expression but found the end of the text\n"
                                         "  select a from t where\n"
                                         "                       ^\n");
    check_shown("select aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, from t, "
                "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
                "line 1, column 89: expected an expression but found key word from\n"
                "  …aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, from t, "
                "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…\n"
                "                                                               ^~~~\n");
}

/* ---------------------------------------------------------------- scripts */

static void test_script(void **state)
{
    static const char sql[] =
        ";; select 1;\nselect (;\n select 'a;b' -- c;d\n;\ncreate table t (;select 2;;insert into";
    static const struct {
        lb_sql_statement_kind kind;
        const char *text;
    } want[] = {
        { LB_SQL_SELECT, "select 1" },      { LB_SQL_BAD, "select (" },    { LB_SQL_SELECT, "select 'a;b'" },
        { LB_SQL_BAD, "create table t (" }, { LB_SQL_SELECT, "select 2" }, { LB_SQL_BAD, "insert into" },
    };
    static const uint32_t lines[] = { 2, 5, 5 };
    lb_sql_script script;
    lb_arena arena;
    size_t i = 0;

    (void)state;
    lb_arena_init(&arena, NULL);
    assert_int_equal(lb_sql_parse(NULL, lb_str_of(sql), LB_SQL_IMPALA, &arena, &script, NULL), LB_OK);
    assert_int_equal(script.count, LB_COUNT_OF(want));
    for (const lb_sql_statement *s = script.first; s != NULL; s = s->next, i++) {
        assert_int_equal(s->kind, want[i].kind);
        assert_int_equal(s->end - s->begin, strlen(want[i].text));
        assert_memory_equal(sql + s->begin, want[i].text, strlen(want[i].text));
    }
    i = 0;
    assert_int_equal(script.problem_count, LB_COUNT_OF(lines));
    for (const lb_sql_problem *p = script.problems; p != NULL; p = p->next, i++)
        assert_int_equal(p->line, lines[i]);
    lb_arena_free(&arena);
}

/* ---------------------------------------------------------------- long and deep */

/* head, `count` times `part`, tail */
static lb_str repeat(const char *head, const char *part, size_t count, const char *tail)
{
    size_t a = strlen(head), b = strlen(part), c = strlen(tail), size = a + b * count + c;
    char *out = malloc(size + 1);

    assert_non_null(out);
    memcpy(out, head, a);
    for (size_t i = 0; i < count; i++)
        memcpy(out + a + i * b, part, b);
    memcpy(out + a + b * count, tail, c + 1);
    return (lb_str){ out, size };
}

/* Parse, print and parse again; NULL, or the message of the problem. */
static void check_text(lb_str text, lb_sql_dialect dialect, const char *problem)
{
    lb_sql_script script, again;
    lb_arena arena;
    lb_buf out;

    lb_arena_init(&arena, NULL);
    lb_buf_init(&out, NULL);
    assert_int_equal(lb_sql_parse(NULL, text, dialect, &arena, &script, NULL), LB_OK);
    if (problem != NULL) {
        assert_non_null(script.problems);
        assert_string_equal(script.problems->message, problem);
    } else {
        assert_int_equal(script.problem_count, 0);
        assert_int_equal(lb_sql_print(text, dialect, script.first, &out, NULL), LB_OK);
        const lb_str printed = { (const char *)out.data, out.size };
        assert_int_equal(lb_sql_parse(NULL, printed, dialect, &arena, &again, NULL), LB_OK);
        assert_int_equal(again.problem_count, 0);
        assert_true(lb_sql_same(text, script.first, printed, again.first));
    }
    lb_buf_free(&out);
    lb_arena_free(&arena);
}

#define DEEP "nested too deeply: more than 1000 levels"

static const struct {
    const char *head, *part, *middle, *end, *tail; /* head part… middle end… tail */
} deep[] = {
    { "select ", "(", "1", ")", "" },
    { "select ", "f(", "1", ")", "" },
    { "select ", "not ", "a", "", "" },
    { "select ", "- ", "a", "", "" },
    { "select a", "[1]", "", "", "" },
    { "select a", "::int", "", "", "" },
    { "select a", " is null", "", "", "" },
    { "select a", " like b", "", "", "" },
    { "select ", "case when a then ", "1", " end", "" },
    { "select ", "a in (", "1", ")", "" },
    { "select ", "[", "1", "]", "" },
    { "select ", "{'a': ", "1", "}", "" },
    { "select f(", "x -> ", "1", "", ")" },
    { "select * from ", "(select * from ", "t", ") x", "" },
    { "select * from ", "(", "t join u", ")", "" },
    { "select * from t", " join t", "", " on 1", "" },
    { "", "(", "select 1", ")", "" },
    { "", "with x as (", "select 1", ") select 1", "" },
    { "select cast(a as ", "array<", "int", ">", ")" },
    { "select 1 group by ", "rollup (", "a", ")", "" },
    { "select ", "sum(1) over (order by ", "a", ")", "" },
    { "", "explain ", "select 1", "", "" },
};

static void check_deep(size_t i, size_t count, const char *problem)
{
    lb_str end = repeat("", deep[i].end, count, deep[i].tail);
    lb_str front = repeat(deep[i].head, deep[i].part, count, deep[i].middle);
    lb_str text = repeat(front.at, end.at, 1, "");

    check_text(text, LB_SQL_IMPALA, problem);
    check_text(text, LB_SQL_ANSI, problem);
    free((char *)end.at);
    free((char *)front.at);
    free((char *)text.at);
}

static void test_deep(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(deep); i++) {
        check_deep(i, 300, NULL);
        check_deep(i, 10000, DEEP);
    }
}

static void test_long(void **state)
{
    static const struct {
        const char *head, *part, *tail;
    } cases_long[] = {
        { "select 1 from t where a", " and a = 1", "" },
        { "select 1 from t where a", " or b", "" },
        { "select a", " + a - b", "" },
        { "select a", " || b", "" },
        { "select 1", " union all select 2", "" },
        { "(select 1)", " except (select 2)", "" },
        { "select 1 from t", " join t on a = b", "" },
        { "select 1 from t", ", t", "" },
        { "select 1", ", 1", "" },
        { "select a in (1", ", 1", ")" },
        { "select case", " when a then b", " end" },
        { "insert into t values (1)", ", (2, 'x', -3.5)", "" },
        { "update t set a = 1", ", b = 2", "" },
        { "merge into t using s on a", " when matched and b then update set c = 1", "" },
        { "create table t (a int", ", a int", ")" },
        { "with x as (select 1)", ", y as (select 2)", " select 3" },
        { "select a", ".b", "" },
        { "select 1 order by a", ", b desc", "" },
    };

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases_long); i++) {
        lb_str text = repeat(cases_long[i].head, cases_long[i].part, 100000, cases_long[i].tail);
        check_text(text, LB_SQL_IMPALA, NULL);
        free((char *)text.at);
    }
}

/* ---------------------------------------------------------------- memory and time */

static void test_budget(void **state)
{
    lb_str text = repeat("insert into t values (1)", ", (2, 'x')", 100000, "");
    lb_budget budget = { .limit = 1 << 20 };
    lb_sql_script script;
    lb_arena arena;
    lb_error err = LB_ERROR_INIT;

    (void)state;
    lb_arena_init(&arena, &budget);
    assert_int_equal(lb_sql_parse(NULL, text, LB_SQL_IMPALA, &arena, &script, &err), LB_BUDGET);
    assert_null(script.first);
    assert_int_equal(err.code, LB_BUDGET);
    lb_arena_free(&arena);
    assert_int_equal(budget.used, 0);
    free((char *)text.at);
}

/* Any small budget ends in an error or a tree, never in a crash. */
static void test_every_budget(void **state)
{
    static const char sql[] = "with a as (select `x y`, 'a\\n' b from t join u using (c)) insert into t (p, q) "
                              "partition (r = 1) select sum(a) over (partition by b order by c), cast(d as "
                              "map<int, struct<e: int>>) from a group by rollup (f, (g, h)); "
                              "create table t (a int comment 'x\\n', b string encoding x) row format delimited; bad";
    lb_error err = LB_ERROR_INIT;
    lb_status status = LB_BUDGET;

    (void)state;
    for (uint64_t limit = 0; status != LB_OK && limit < 1 << 20; limit += 64) {
        lb_budget budget = { .limit = limit };
        lb_sql_script script;
        lb_arena arena;
        lb_arena_init(&arena, &budget);
        lb_error_clear(&err);
        status = lb_sql_parse(NULL, lb_str_of(sql), LB_SQL_IMPALA, &arena, &script, &err);
        assert_true(status == LB_OK || status == LB_BUDGET);
        lb_arena_free(&arena);
    }
    assert_int_equal(status, LB_OK);
}

static void test_cancel(void **state)
{
    lb_str text = repeat("insert into t values (1)", ", (2, 'x')", 10000, "");
    lb_context *cx = NULL;
    lb_sql_script script;
    lb_arena arena;
    lb_error err = LB_ERROR_INIT;

    (void)state;
    assert_int_equal(lb_context_new(NULL, &cx, &err), LB_OK);
    lb_context_cancel(cx);
    lb_arena_init(&arena, NULL);
    assert_int_equal(lb_sql_parse(cx, text, LB_SQL_IMPALA, &arena, &script, &err), LB_CANCELLED);
    lb_arena_free(&arena);
    lb_context_free(cx);
    free((char *)text.at);
}

static double seconds_to_parse(lb_str text)
{
    double best = 1e9;

    for (int i = 0; i < 3; i++) {
        lb_sql_script script;
        lb_arena arena;
        clock_t begin = clock();
        lb_arena_init(&arena, NULL);
        assert_int_equal(lb_sql_parse(NULL, text, LB_SQL_IMPALA, &arena, &script, NULL), LB_OK);
        lb_arena_free(&arena);
        double took = (double)(clock() - begin) / CLOCKS_PER_SEC;
        best = took < best ? took : best;
    }
    return best;
}

/* Eight times the text may take eight times as long, not sixty-four. */
static void test_linear(void **state)
{
    static const struct {
        const char *head, *part;
        size_t count;
    } cases_time[] = {
        { "insert into t values (1)", ", (2, 'x')", 20000 },
        { "select 1", ";select (", 20000 },
        { "select 1", ";\xff", 40000 },
        { "select 1 ", ";${", 40000 },
        { "select 1 from t", " join t", 20000 },
        { "select a", " + b", 50000 },
        { "", "/*", 50000 },
        { "select ", "'a\\'", 50000 },
    };

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases_time); i++) {
        lb_str small = repeat(cases_time[i].head, cases_time[i].part, cases_time[i].count, "");
        lb_str large = repeat(cases_time[i].head, cases_time[i].part, cases_time[i].count * 8, "");
        assert_true(seconds_to_parse(large) < 8 * 4 * (seconds_to_parse(small) + 0.002));
        free((char *)small.at);
        free((char *)large.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages), cmocka_unit_test(test_carets),       cmocka_unit_test(test_script),
        cmocka_unit_test(test_deep),     cmocka_unit_test(test_long),         cmocka_unit_test(test_budget),
        cmocka_unit_test(test_cancel),   cmocka_unit_test(test_every_budget), cmocka_unit_test(test_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
