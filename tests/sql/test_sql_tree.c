/* Trees, seen through the printer: what is printed shows how a text was understood, and must parse to the same tree
 * again. The grouping of operators is shown by brackets. */
#include "sql/sql_print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---------------------------------------------------------------- printing keeps the tree */

/* The printed form of a script of one statement. Fails the test if printing loses something. */
static char *print_once(const char *sql, lb_sql_dialect dialect)
{
    lb_sql_script script, again;
    lb_arena arena;
    lb_buf out;
    lb_error err = LB_ERROR_INIT;

    lb_arena_init(&arena, NULL);
    lb_buf_init(&out, NULL);
    assert_int_equal(lb_sql_parse(NULL, lb_str_of(sql), dialect, &arena, &script, &err), LB_OK);
    if (script.problems != NULL)
        print_error("%s\n%s\n", sql, script.problems->message);
    assert_null(script.problems);
    assert_int_equal(script.count, 1);
    assert_int_equal(lb_sql_print(script.text, dialect, script.first, &out, &err), LB_OK);
    char *text = strdup(lb_buf_text(&out));
    assert_int_equal(lb_sql_parse(NULL, lb_str_of(text), dialect, &arena, &again, &err), LB_OK);
    if (again.problems != NULL || !lb_sql_same(script.text, script.first, again.text, again.first))
        print_error("%s\n%s\n", sql, text);
    assert_null(again.problems);
    assert_true(lb_sql_same(script.text, script.first, again.text, again.first));
    lb_buf_free(&out);
    lb_arena_free(&arena);
    return text;
}

/* What a statement prints as, in Impala's dialect unless `ansi`. NULL: as it is written. */
static const struct {
    const char *sql, *printed;
    bool ansi;
} statements[] = {
    { "SELECT a, b FROM t", NULL, false },
    { "select all a x, b as `y z`, c 'str' from db.t u", "SELECT ALL a AS x, b AS `y z`, c AS 'str' FROM db.t AS u",
      false },
    { "select distinct straight_join 1", "SELECT DISTINCT STRAIGHT_JOIN 1", false },
    { "SELECT *, t.*, db.t.* FROM t", NULL, false },
    { "select * exclude (a, b) replace (a + 1 as c) rename (d as e) from t",
      "SELECT * EXCLUDE (a, b) REPLACE (a + 1 AS c) RENAME (d AS e) FROM t", true },
    { "SELECT a.b.c[1].d, f(x).y, (z).w FROM t", NULL, false },
    { "select a<>b, a!=b, a==b, a<=>b", "SELECT a != b, a != b, a = b, a <=> b", false },
    { "SELECT - -1, -x, +x, ~x, NOT x, x!", NULL, false },
    { "SELECT a BETWEEN 1 AND 2 AND b NOT BETWEEN c + 1 AND 3", NULL, false },
    { "SELECT a IN (1, 2), b NOT IN (SELECT c FROM t), d IN ()", NULL, false },
    { "SELECT a IS NULL, a IS NOT NULL, a IS NOT TRUE, a IS UNKNOWN, a IS DISTINCT FROM b", NULL, false },
    { "SELECT a LIKE 'x', a NOT RLIKE 'x', a LIKE '%' ESCAPE '#', a IREGEXP b", NULL, false },
    { "SELECT CASE WHEN a THEN b END, CASE x WHEN 1 THEN 2 WHEN 3 THEN 4 ELSE 5 END", NULL, false },
    { "SELECT CAST(a AS DECIMAL(9, 2)), CAST(a AS STRING FORMAT 'YYYY'), a::int::text", NULL, false },
    { "SELECT CAST(a AS ARRAY<STRUCT<f: INT, g: MAP<STRING, ARRAY<INT>>>>)", NULL, false },
    { "SELECT a::int[], CAST(a AS timestamp(3) with time zone), CAST(a AS MAP(text, ROW(x int)))", NULL, true },
    { "SELECT count(*), count(DISTINCT a, b), f(), db.f(1), f(a => 1, b := 2, c AS d)", NULL, false },
    { "SELECT first_value(a IGNORE NULLS) OVER (ORDER BY b), lag(a) IGNORE NULLS OVER w FROM t WINDOW w AS (ORDER BY c)",
      NULL, false },
    { "SELECT sum(a) FILTER (WHERE b > 0), string_agg(a, ',' ORDER BY b DESC NULLS LAST)", NULL, false },
    { "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a)", NULL, false },
    { "SELECT sum(a) OVER (PARTITION BY b, c ORDER BY d DESC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", NULL, false },
    { "SELECT sum(a) OVER (w RANGE UNBOUNDED PRECEDING EXCLUDE TIES), sum(b) OVER ()", NULL, false },
    { "SELECT extract(year FROM a), trim(BOTH 'x' FROM a), substring(a FROM 1 FOR 2), position(a IN b)", NULL, false },
    { "SELECT overlay(a PLACING b FROM 1 FOR 2), trim(LEADING FROM a), trim(a), substring(a, 1, 2)", NULL, false },
    { "SELECT now() + INTERVAL 1 day - INTERVAL a + 1 hours", NULL, false },
    { "SELECT INTERVAL '1' year TO month, INTERVAL '1 day'", NULL, true },
    { "SELECT DATE '2020-01-01', TIMESTAMP '2020-01-01', date('x'), date", NULL, false },
    { "SELECT f(x -> x + 1), f((x, y) -> x * y), f(() -> 1)", NULL, false },
    { "SELECT [1, 2], ARRAY[a, b], {'a': 1, b: 2}, MAP {1 : 2}, ROW(1, 2), (1, 2), a[1], a[1 : 2], a[ : ]", NULL,
      false },
    { "SELECT ?, $1, :name, @v, ${env}", NULL, false },
    { "SELECT a || b && c", "SELECT a || b AND c", false },
    { "SELECT a->'b'->>'c', a @> b, a !~* b", "SELECT a -> 'b' ->> 'c', a @> b, a !~* b", true },
    { "SELECT 1 = ANY (SELECT 2), 1 > ALL (a, b), a LIKE ANY ('x', 'y')", NULL, false },
    { "SELECT a COLLATE nocase, b AT TIME ZONE 'UTC'", NULL, false },
    { "SELECT ARRAY(SELECT 1), EXISTS (SELECT 2), (SELECT 3), NOT EXISTS ((SELECT 4))", NULL, false },
    { "SELECT current_date, current_date(), CURRENT_TIMESTAMP AS x", NULL, true },
    { "SELECT left(a, 1), right(b, 1), if(a, b, c), replace(a, b, c)", NULL, false },
    { "select sum(case when a then 1 else 0 end) from t", "SELECT sum(CASE WHEN a THEN 1 ELSE 0 END) FROM t", false },
    /* FROM */
    { "select * from a, b c join d on a.x=d.x left join e using (y, z) cross join f natural full join g",
      "SELECT * FROM a, b AS c INNER JOIN d ON a.x = d.x LEFT OUTER JOIN e USING (y, z) CROSS JOIN f "
      "NATURAL FULL OUTER JOIN g",
      false },
    { "select * from a left semi join b on x right anti join c on y semi join d on z",
      "SELECT * FROM a LEFT SEMI JOIN b ON x RIGHT ANTI JOIN c ON y LEFT SEMI JOIN d ON z", false },
    { "select * from a join b join c on x on y", "SELECT * FROM a INNER JOIN (b INNER JOIN c ON x) ON y", false },
    { "select * from a join b join c join d on 1 on 2 on 3",
      "SELECT * FROM a INNER JOIN (b INNER JOIN (c INNER JOIN d ON 1) ON 2) ON 3", false },
    { "SELECT * FROM (a INNER JOIN b ON x), ((SELECT 1)) AS v, (SELECT 2) AS w (c)", NULL, false },
    { "select * from t [broadcast] join [shuffle] u on a", "SELECT * FROM t INNER JOIN u ON a", false },
    { "SELECT * FROM t FOR SYSTEM_TIME AS OF now() AS x, u FOR SYSTEM_VERSION AS OF 12", NULL, false },
    { "select * from t tablesample system(10) repeatable(5) u",
      "SELECT * FROM t AS u TABLESAMPLE system(10) REPEATABLE (5)", false },
    { "SELECT * FROM UNNEST(a, b) WITH ORDINALITY AS u (x, y), LATERAL (SELECT 1) AS v", NULL, false },
    { "SELECT * FROM f(1) AS (a int, b text), g(2) AS h (c int)", NULL, true },
    { "SELECT * FROM 'a.csv' AS t, (VALUES (1, 2)) AS v (x, y)", NULL, true },
    { "SELECT * FROM t LATERAL VIEW explode(a) x AS y LATERAL VIEW OUTER f(b) z AS u, v", NULL, false },
    { "SELECT * FROM t PIVOT (sum(a) AS s, max(b) FOR c IN (1 AS x, 2)) AS p", NULL, false },
    { "SELECT * FROM t UNPIVOT INCLUDE NULLS (v FOR n IN (a, b))", NULL, false },
    { "FROM t", NULL, true },
    { "FROM t SELECT a WHERE b", NULL, true },
    { "SELECT * FROM a ASOF LEFT JOIN b ON a.t >= b.t POSITIONAL JOIN c", NULL, true },
    /* the rest of a block */
    { "SELECT a FROM t WHERE b GROUP BY a, 2 HAVING c QUALIFY d ORDER BY a ASC, b NULLS FIRST LIMIT 1 OFFSET 2", NULL,
      false },
    { "SELECT a FROM t GROUP BY ROLLUP (a, (b, c)), CUBE (d), GROUPING SETS ((a, b), (c), d, ())", NULL, false },
    { "SELECT a FROM t GROUP BY a, b WITH ROLLUP", NULL, false },
    { "SELECT a FROM t GROUP BY ALL ORDER BY ALL DESC", NULL, true },
    { "SELECT DISTINCT ON (a) b FROM t LIMIT ALL", NULL, true },
    { "select a from t limit 5, 10", "SELECT a FROM t LIMIT 10 OFFSET 5", false },
    { "SELECT a FROM t OFFSET 1 ROWS FETCH FIRST 2 ROWS WITH TIES", NULL, true },
    { "SELECT a FROM t CLUSTER BY a", NULL, false },
    { "SELECT a FROM t DISTRIBUTE BY a SORT BY b DESC", NULL, false },
    { "SELECT a INTO u FROM t", NULL, true },
    /* set operations and WITH */
    { "select 1 union select 2 union all select 3 minus select 4 intersect select 5",
      "SELECT 1 UNION SELECT 2 UNION ALL SELECT 3 MINUS SELECT 4 INTERSECT SELECT 5", false },
    { "SELECT 1 UNION SELECT 2 INTERSECT SELECT 3 INTERSECT SELECT 4 EXCEPT SELECT 5", NULL, true },
    { "(SELECT 1 ORDER BY 1) UNION ALL (SELECT 2) ORDER BY 1 LIMIT 3", NULL, false },
    { "SELECT 1 ORDER BY 1 LIMIT 1 UNION ALL SELECT 2 ORDER BY 1", NULL, false },
    { "SELECT ((SELECT 1) UNION (SELECT 2)), a IN ((SELECT 1) UNION SELECT 2)", NULL, false },
    { "WITH a AS (SELECT 1), b (x, y) AS (SELECT 2, 3) SELECT * FROM a, b", NULL, false },
    { "WITH RECURSIVE t (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t) SELECT n FROM t", NULL, false },
    { "WITH a AS NOT MATERIALIZED (SELECT 1) SELECT 1 UNION BY NAME SELECT 2", NULL, true },
    { "WITH d AS (DELETE FROM t WHERE a RETURNING *) INSERT INTO u SELECT * FROM d", NULL, true },
    { "VALUES (1, 'a' AS b), (2, DEFAULT)", NULL, false },
    { "TABLE t", NULL, true },
    /* writing */
    { "INSERT INTO TABLE db.t (a, b) PARTITION (c = 1, d) SELECT 1", NULL, false },
    { "INSERT OVERWRITE t PARTITION (c) IF NOT EXISTS SELECT 1", NULL, false },
    { "INSERT OVERWRITE LOCAL DIRECTORY '/x' ROW FORMAT DELIMITED SELECT 1", NULL, false },
    { "INSERT INTO t ()", NULL, false },
    { "insert into t [shuffle] /* +noclustered */ select 1", "INSERT INTO t SELECT 1", false },
    { "INSERT INTO t BY NAME SELECT 1 AS a", NULL, false },
    { "INSERT INTO t AS x (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 2 WHERE c RETURNING a, b AS d", NULL, true },
    { "INSERT INTO t DEFAULT VALUES ON CONFLICT DO NOTHING", NULL, true },
    { "UPSERT INTO t (a) SELECT 1", NULL, false },
    { "WITH x AS (SELECT 1) UPSERT INTO t SELECT * FROM x", NULL, false },
    { "UPDATE t SET t.a = 1, b = c + 1 FROM t INNER JOIN u ON t.a = u.a WHERE d", NULL, false },
    { "UPDATE t AS x SET (a, b) = (1, 2), c = 3, (d) = (SELECT 4) RETURNING *", NULL, true },
    { "DELETE FROM t AS x WHERE a", NULL, false },
    { "DELETE x FROM t AS x INNER JOIN u ON a WHERE b", NULL, false },
    { "DELETE FROM t USING u, v WHERE a", NULL, true },
    { "MERGE INTO t AS x USING (SELECT 1) AS s ON x.a = s.a WHEN MATCHED AND b THEN UPDATE SET c = 1, x.d = 2 "
      "WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY TARGET THEN INSERT (a, b) VALUES (1, DEFAULT) "
      "WHEN NOT MATCHED BY SOURCE AND e THEN DO NOTHING",
      NULL, false },
    { "MERGE INTO t USING s ON a WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *", NULL, false },
    /* CREATE */
    { "CREATE TABLE IF NOT EXISTS db.t (a INT PRIMARY KEY NOT NULL COMMENT 'x', b STRUCT<c: INT COMMENT 'it\\'s'>)",
      NULL, false },
    { "create external table t (id int, s string default 'x') partitioned by (y int, m int comment 'c') "
      "row format delimited fields terminated by ',' stored as parquet location '/x' tblproperties ('a'='b', 'c'='d')",
      "CREATE EXTERNAL TABLE t (id int, s string DEFAULT 'x') row format delimited fields terminated by ',' "
      "PARTITIONED BY (y int, m int COMMENT 'c') STORED AS parquet LOCATION '/x' TBLPROPERTIES ('a' = 'b', 'c' = 'd')",
      false },
    { "CREATE TABLE t PRIMARY KEY (id) PARTITION BY HASH ( id ) PARTITIONS 3 STORED AS KUDU AS SELECT 1 AS id", NULL,
      false },
    { "create table t (id bigint encoding rle block_size 4, non unique primary key (id)) stored as kudu",
      "CREATE TABLE t (id bigint encoding rle block_size 4, NON UNIQUE PRIMARY KEY (id)) STORED AS kudu", false },
    { "CREATE TABLE t PARTITIONED BY SPEC (truncate(1, a), b, bucket(7, c)) STORED BY ICEBERG AS SELECT 1", NULL,
      false },
    { "CREATE TABLE t (a INT, ts TIMESTAMP) PARTITIONED BY (a, days(ts)) USING iceberg", NULL, false },
    { "CREATE TABLE t PARTITIONED BY (a, b) SORT BY ZORDER (c, d) AS SELECT 1", NULL, false },
    { "CREATE TABLE t LIKE PARQUET '/x.parq' STORED AS ORC", NULL, false },
    { "CREATE TABLE t LIKE db.u LOCATION '/x'", NULL, false },
    { "CREATE TABLE t (a int REFERENCES u ( b ) ON DELETE SET NULL, FOREIGN KEY ( a ) REFERENCES u, CHECK ( a > 1 ))",
      NULL, true },
    { "CREATE TABLE t (a int GENERATED BY DEFAULT AS IDENTITY, b int GENERATED ALWAYS AS (a + 1))", NULL, true },
    { "CREATE OR REPLACE TEMPORARY TABLE t AS SELECT 1 WITH NO DATA", NULL, true },
    { "CREATE VIEW IF NOT EXISTS v (a COMMENT 'x', b) COMMENT 'y' TBLPROPERTIES ('k' = 'v') AS SELECT 1, 2", NULL,
      false },
    { "CREATE OR REPLACE MATERIALIZED VIEW v AS (SELECT 1) UNION SELECT 2", NULL, true },
    { "ALTER VIEW db.v (a) AS SELECT 1", NULL, false },
    /* the others */
    { "explain extended select 1", "EXPLAIN SELECT 1", false },
    { "USE db", NULL, false },
    { "drop table if exists db.t purge", "drop table if exists db . t purge", false },
    { "CREATE DATABASE IF NOT EXISTS d COMMENT 'x'", NULL, false },
    { "OPTIMIZE TABLE t", NULL, false },
    { "alter  table t  add columns (a int)", "alter table t add columns ( a int )", false },
    { "SET x = 'a;b'", NULL, false },
};

static void test_statements(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(statements); i++) {
        char *printed = print_once(statements[i].sql, statements[i].ansi ? LB_SQL_ANSI : LB_SQL_IMPALA);
        assert_string_equal(printed, statements[i].printed == NULL ? statements[i].sql : statements[i].printed);
        free(printed);
    }
}

/* ---------------------------------------------------------------- what binds tighter */

/* Brackets around every node with operators. */
static void show(lb_str text, const lb_sql_expr *e, char *out, size_t cap)
{
    size_t size = strlen(out);

    if (e->first == NULL || size + 64 > cap) {
        (void)snprintf(out + size, cap - size, "%.*s", (int)(e->end - e->begin), text.at + e->begin);
        return;
    }
    (void)snprintf(out + size, cap - size, "[%s", e->kind == LB_SQL_UNARY ? lb_sql_op_text(e->op) : "");
    for (const lb_sql_expr *c = e->first; c != NULL; c = c->next) {
        size = strlen(out);
        if (c != e->first)
            (void)snprintf(out + size, cap - size, " %s ", e->kind == LB_SQL_CHAIN ? lb_sql_op_text(c->joint) : ",");
        else if (e->kind == LB_SQL_UNARY)
            (void)snprintf(out + size, cap - size, " ");
        show(text, c, out, cap);
    }
    size = strlen(out);
    (void)snprintf(out + size, cap - size, "]");
}

/* After the precedences of Impala's grammar (spec 4.3) and of PostgreSQL's manual (4.1.6). */
static const struct {
    const char *sql, *impala, *ansi; /* ansi NULL: as impala */
} groupings[] = {
    { "a + b - c + d", "[a + b - c + d]", NULL },
    { "a + b * c - d", "[a + [b * c] - d]", NULL },
    { "a * b / c % d DIV e", "[a * b / c % d DIV e]", NULL },
    { "a AND b AND c OR d AND e OR f", "[[a AND b AND c] OR [d AND e] OR f]", NULL },
    { "NOT a = b AND c", "[[NOT [a = b]] AND c]", NULL },
    { "NOT NOT a OR b", "[[NOT [NOT a]] OR b]", NULL },
    { "a = b < c", "[a = b < c]", NULL },
    { "a || b OR c AND d", "[a || [b OR [c AND d]]]", "[[a || b] OR [c AND d]]" },
    { "a || b = c", "[a || [b = c]]", "[[a || b] = c]" },
    { "a || b + c", "[a || [b + c]]", NULL },
    { "a & b + c", "[[a & b] + c]", "[a & [b + c]]" },
    { "a = b IN (c)", "[[a = b] , c]", "[a = [b , c]]" },
    { "a LIKE b = c", "[a , [b = c]]", "[[a , b] = c]" },
    { "a = b LIKE c", "[[a = b] , c]", "[a = [b , c]]" },
    { "a BETWEEN b + 1 AND c AND d", "[[a , [b + 1] , c] AND d]", NULL },
    { "a BETWEEN b AND c OR d", "[[a , b , c] OR d]", NULL },
    { "a IS NULL = b", "[[a] = b]", NULL },
    { "a = b IS NULL", "[[a = b]]", NULL },
    { "a IS DISTINCT FROM b IS NOT DISTINCT FROM c", "[a IS DISTINCT FROM b IS NOT DISTINCT FROM c]", NULL },
    { "a IS DISTINCT FROM b + c AND d", "[[a IS DISTINCT FROM [b + c]] AND d]", NULL },
    { "-a * b", "[[- a] * b]", NULL },
    { "-a::int", "[- [a]]", NULL },
    { "- - a", "[- [- a]]", NULL },
    { "~a & b", "[[~ a] & b]", NULL },
    { "-a[1]", "[- [a , 1]]", NULL },
    { "a - (b - c)", "[a - [[b - c]]]", NULL },
    { "a OR NOT b = c OR d", "[a OR [NOT [b = c]] OR d]", NULL },
    { "a = NOT b AND c", "[[a = [NOT b]] AND c]", NULL },
    { "a ^ b * c", "[[a ^ b] * c]", NULL },
    { "a <=> b AND c", "[[a <=> b] AND c]", NULL },
};

static void show_expr(const char *sql, lb_sql_dialect dialect, char *out, size_t cap)
{
    lb_arena arena;
    lb_sql_expr *e = NULL;
    lb_error err = LB_ERROR_INIT;

    lb_arena_init(&arena, NULL);
    assert_int_equal(lb_sql_parse_expr(lb_str_of(sql), dialect, &arena, &e, &err), LB_OK);
    out[0] = '\0';
    show(lb_str_of(sql), e, out, cap);
    lb_arena_free(&arena);
}

static void test_precedence(void **state)
{
    char out[512];

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(groupings); i++) {
        show_expr(groupings[i].sql, LB_SQL_IMPALA, out, sizeof out);
        assert_string_equal(out, groupings[i].impala);
        show_expr(groupings[i].sql, LB_SQL_ANSI, out, sizeof out);
        assert_string_equal(out, groupings[i].ansi == NULL ? groupings[i].impala : groupings[i].ansi);
    }
}

/* ---------------------------------------------------------------- labels */

/* Left: the rules of spec/lineage.md 1.5 and 1.6. Numbers are as Java's BigDecimal writes them. */
static const struct {
    const char *sql, *label;
} labels[] = {
    { "count(b.string_col)", "count(b.string_col)" },
    { "t2.int_col+1", "t2.int_col + 1" },
    { "COUNT(*)", "count(*)" },
    { "Sum(a.X) over (partition by b order by c)", "sum(a.X) OVER(...)" },
    { "lead(a) over (partition by b order by c)", "lead(a, 1, NULL) OVER(...)" },
    { "LAG(A, 2) over (order by c)", "lag(A, 2, NULL) OVER(...)" },
    { "lead(a, 1, 0) over (order by c)", "lead(a, 1, 0) OVER(...)" },
    { "rank() over (order by c)", "rank() OVER(...)" },
    { "sum(x) over (partition by p order by y, z desc nulls last rows between 1 preceding and current row) + 1",
      "sum(x) over (partition by p order by y asc, z desc nulls last rows between 1 preceding and current row) + 1" },
    { "1", "1" },
    { "007", "7" },
    { "2.0", "2.0" },
    { ".5", "0.5" },
    { "5.", "5" },
    { "1e6", "1e+6" },
    { "1.50", "1.50" },
    { "0.0000001", "1e-7" },
    { "0.000001", "0.000001" },
    { "12.5e-3", "0.0125" },
    { "1.25e3", "1.25e+3" },
    { "1.25e2", "125" },
    { "123e5", "1.23e+7" },
    { "00.10", "0.10" },
    { "-1", "-1" },
    { "- - 1", "1" },
    { "-(1)", "(-1)" },
    { "-x", "-1 * x" },
    { "+x", "x" },
    { "\"abc\"", "'abc'" },
    { "\"it's\"", "'it\\'s'" },
    { "\"a\\\"b\"", "'a\"b'" },
    { "'a\\'b'", "'a\\'b'" },
    { "true and NULL", "true and null" },
    { "date '2020-01-01'", "date '2020-01-01'" },
    { "a<>b", "a != b" },
    { "a<=>b", "a is not distinct from b" },
    { "a not like 'B%'", "not a like 'b%'" },
    { "a not between 1 and 2", "a not between 1 and 2" },
    { "a not in (1,2)", "a not in (1, 2)" },
    { "!a", "not a" },
    { "((a+b))*c", "(a + b) * c" },
    { "cast(a as integer)", "cast(a as int)" },
    { "cast(a as decimal)", "cast(a as decimal(9,0))" },
    { "cast(a as decimal( 10 , 2 ))", "cast(a as decimal(10,2))" },
    { "a::string", "cast(a as string)" },
    { "cast(a as string format 'YYYY')", "cast(a as string format 'yyyy')" },
    { "nvl2(a,b,c)", "if(a is not null, b, c)" },
    { "nullif(a,b)", "if(a is distinct from b, a, null)" },
    { "mod(a,b)", "a % b" },
    { "a is true", "istrue(a)" },
    { "a is not false", "isnotfalse(a)" },
    { "case a when 1 then 2 else 3 end", "case a when 1 then 2 else 3 end" },
    { "a.user + `select` + 3a + `x y` + _c0 + day", "a.`user` + `select` + `3a` + `x y` + `_c0` + `day`" },
    { "count(distinct a, b)", "count(distinct a, b)" },
    { "x + interval 1 day", "x + interval 1 day" },
    { "exists (select 1 from t)", "exists (select 1 from t)" },
};

static void test_labels(void **state)
{
    lb_arena arena;
    lb_buf out;
    lb_sql_expr *e = NULL;
    lb_error err = LB_ERROR_INIT;

    (void)state;
    lb_arena_init(&arena, NULL);
    lb_buf_init(&out, NULL);
    for (size_t i = 0; i < LB_COUNT_OF(labels); i++) {
        lb_str text = lb_str_of(labels[i].sql);
        out.size = 0;
        assert_int_equal(lb_sql_parse_expr(text, LB_SQL_IMPALA, &arena, &e, &err), LB_OK);
        assert_int_equal(lb_sql_label(text, LB_SQL_IMPALA, e, &out, &err), LB_OK);
        assert_string_equal(lb_buf_text(&out), labels[i].label);
    }
    lb_buf_free(&out);
    lb_arena_free(&arena);
}

/* ---------------------------------------------------------------- single things */

static void test_types(void **state)
{
    static const struct {
        const char *sql;
        lb_sql_type_kind kind;
        uint32_t children;
    } cases[] = {
        { "int", LB_SQL_TYPE_PLAIN, 0 },
        { "decimal(9,2)", LB_SQL_TYPE_PLAIN, 0 },
        { "array<array<int>>", LB_SQL_TYPE_ARRAY, 1 },
        { "map<string,struct<f1:int,f2:array<map<int,string>>>>", LB_SQL_TYPE_MAP, 2 },
        { "struct<f1:int,key:string,`x y`:int>", LB_SQL_TYPE_STRUCT, 3 },
    };
    lb_arena arena;
    lb_sql_type *type = NULL;
    lb_error err = LB_ERROR_INIT;

    (void)state;
    lb_arena_init(&arena, NULL);
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        uint32_t children = 0;
        assert_int_equal(lb_sql_parse_type(lb_str_of(cases[i].sql), &arena, &type, &err), LB_OK);
        for (const lb_sql_type *t = type->first; t != NULL; t = t->next)
            children++;
        assert_int_equal(type->kind, cases[i].kind);
        assert_int_equal(children, cases[i].children);
    }
    assert_int_equal(lb_sql_parse_type(LB_STR("map<int>"), &arena, &type, &err), LB_USAGE);
    assert_string_equal(err.message, "line 1, column 1: expected 2 types within map<…>");
    assert_null(type);
    lb_arena_free(&arena);
}

static void test_strings(void **state)
{
    static const struct {
        const char *sql, *value;
        lb_sql_dialect dialect;
    } cases[] = {
        { "'abc'", "abc", LB_SQL_IMPALA },
        { "''", "", LB_SQL_IMPALA },
        { "\"a\\\"b\\n\\t\\\\\"", "a\"b\n\t\\", LB_SQL_IMPALA },
        { "'50\\%'", "50\\%", LB_SQL_IMPALA },
        { "'it''s'", "it's", LB_SQL_ANSI },
        { "'a\\n'", "a\\n", LB_SQL_ANSI },
        { "E'a\\n\\''", "a\n'", LB_SQL_ANSI },
        { "$t$a'b$t$", "a'b", LB_SQL_ANSI },
        { "$$$$", "", LB_SQL_ANSI },
    };
    lb_arena arena;
    lb_sql_expr *e = NULL;
    lb_error err = LB_ERROR_INIT;

    (void)state;
    lb_arena_init(&arena, NULL);
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        lb_str text = lb_str_of(cases[i].sql);
        assert_int_equal(lb_sql_parse_expr(text, cases[i].dialect, &arena, &e, &err), LB_OK);
        assert_int_equal(e->kind, LB_SQL_STRING);
        lb_str value = lb_sql_string_value(text, cases[i].dialect, e, &arena);
        assert_int_equal(value.size, strlen(cases[i].value));
        assert_memory_equal(value.at, cases[i].value, value.size);
    }
    lb_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statements), cmocka_unit_test(test_precedence), cmocka_unit_test(test_labels),
        cmocka_unit_test(test_types),      cmocka_unit_test(test_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
