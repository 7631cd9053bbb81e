/* How each source reaches its target: what richer forms than Impala's tell, as OpenLineage's types and subtypes of
 * transformations (IDENTITY, TRANSFORMATION, AGGREGATION, masking; JOIN, FILTER, GROUP_BY, SORT, WINDOW, CONDITIONAL). */
#include "lineage/lineage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char catalog_text[] =
    "create table t (a int, b int, c string, d string, e int); create table u (id int, f int, g string);"
    "create table n (id int, tags array<int>); create table k (id int, v int) stored as kudu;"
    "create view masked as select md5(c) m, a from t; create table parts (x int) partitioned by (y int);";

/* `target<source:letters …` for values, `target~…` for windows, `*~…` for the whole, `+~…` for what Impala leaves out.
 * Kinds: I identity, T transformation, A aggregation, C conditional, M masked. Clauses: w WHERE, j JOIN, g GROUP BY,
 * h HAVING, q QUALIFY, o ORDER BY, n window, l collection, s subquery, x set, u change, e WHEN, d DISTINCT ON. */
static const struct {
    const char *sql, *edges;
} cases[] = {
    { "select a, b + 1 x, sum(e) y from t group by a, b", "a<a:I|x<b:T|y<e:A|*~a:g b:g" },
    { "select count(a) x, md5(c) y, count(distinct b) z from t", "x<a:AM|y<c:TM|z<b:AM" },
    { "select cast(a as string) x, (b) y, case when a > 1 then b else e end z from t", "x<a:T|y<b:I|z<a:C b:T e:T" },
    { "select if(a > b, c, d) x, coalesce(c, d) y, nullif(a, b) z from t", "x<a:C b:C c:T d:T|y<c:TC d:TC|z<a:TC b:C" },
    { "select decode(a, b, c, d) x from t", "x<a:C b:C c:T d:T" },
    /* over nested queries the strongest thing on the way counts; several ways are all told */
    { "select x from (select y + 1 x from (select sum(a) y from t) v) w", "x<a:A" },
    { "select sum(x) s from (select a + 1 x from t) v", "s<a:A" },
    { "select x, x + 1 y from (select a x from t union all select b from t) v", "x<a:I b:I|y<a:T b:T" },
    { "select x from (select a x from t union all select a + 1 from t) v", "x<a:IT" },
    { "select m, upper(m) u from masked", "m<c:TM|u<c:TM" },
    { "select case when x > 1 then 1 end y from (select sum(a) x from t) v", "y<a:C" },
    /* windows */
    { "select sum(a) over (partition by b order by e) x, rank() over (order by c) r, lag(c) over (order by a) l from t",
      "x<a:A|x~b:n e:n|r<|r~c:n|l<c:T|l~a:n" },
    { "select x from (select a, row_number() over (partition by b order by e) x from t) v where x = 1",
      "x<|x~b:n e:n|*~b:wn e:wn" },
    /* clauses */
    { "select a from t where b > 1 and c = d", "a<a:I|*~b:w c:w d:w" },
    { "select t.a from t join u on t.a = u.id where t.b = u.f and u.g > 'x'", "a<a:I|*~a:j b:j f:j g:w id:j" },
    { "select t.a from t, u where t.a = u.id or t.b = 3", "a<a:I|*~a:j b:j id:j" },
    { "select a from t group by a, b having max(e) > 1 and b > 2", "a<a:I|*~a:g b:gh e:h" },
    { "select a from t order by b limit 3", "a<a:I|*~b:o" },
    { "select a from t where b in (select f from u where g > 'x')", "a<a:I|*~b:w f:ws g:w" },
    { "select a from t where exists (select 1 from u where u.id = t.b)", "a<a:I|*~b:w id:w" },
    { "select a from t qualify row_number() over (order by b) = 1", "a<a:I|*~b:qn" },
    { "select i.item x from n, n.tags i", "x<tags.item:I|*~tags:l" },
    { "select a from t except select id from u", "a<a:I|*~a:x id:x" },
    { "update k set v = id + 1 where v > 3", "default.k.v<id:T|*~id:u v:wu" },
    { "merge into k using u on k.id = u.id when matched and u.f > 1 then update set v = u.f",
      "default.k.v<f:I|*~f:e id:j id:j" },
    /* what Impala leaves out stands behind */
    { "select a from t group by a, b", "a<a:I|+~a:g b:g" },
    { "select a from t order by b", "a<a:I|+~b:o" },
    { "select distinct on (b) a from t where c > 'x' order by e", "a<a:I|*~c:w|+~b:d e:o" },
};

static lb_catalog *catalog;

static int make_catalog(void **state)
{
    lb_error err = LB_ERROR_INIT;
    (void)state;
    if (lb_catalog_make(NULL, &catalog, NULL) != LB_OK)
        return -1;
    return lb_catalog_read_ddl(catalog, catalog_text, sizeof catalog_text - 1, LB_STR("default"), &err) == LB_OK ? 0
                                                                                                                 : -1;
}

static int free_catalog(void **state)
{
    (void)state;
    lb_catalog_free(catalog);
    return 0;
}

static size_t put_bits(char *out, const char *letters, unsigned bits)
{
    size_t n = 0;
    for (unsigned i = 0; letters[i] != '\0'; i++)
        if (bits & 1u << i)
            out[n++] = letters[i];
    return n;
}

/* Label of a source without its table. */
static lb_str short_label(const lb_lineage_vertex *v)
{
    size_t skip = v->table_name.size + 1;
    return (lb_str){ v->label.at + skip, v->label.size - skip };
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Is a PREDICATE edge that of one target, which stands right behind its PROJECTION? Windows alone make those. */
static bool follows_value(const lb_lineage_graph *g, uint32_t i)
{
    const lb_lineage_edge *e = &g->edges[i];
    if (i == 0 || e[-1].type != LB_LINEAGE_PROJECTION || e->n_targets != 1 || e->targets[0] != e[-1].targets[0])
        return false;
    for (uint32_t k = 0; k < e->n_sources; k++)
        if (e->sources[k].clauses != LB_LINEAGE_WINDOW)
            return false;
    return true;
}

static void print_edges(const lb_lineage_graph *g, char *out, size_t cap)
{
    size_t at = 0;
    for (uint32_t i = 0; i < g->n_edges + g->n_edges_beyond; i++) {
        const lb_lineage_edge *e = &g->edges[i];
        char words[16][64];
        bool whole = i < g->n_edges && e->type == LB_LINEAGE_PREDICATE && !follows_value(g, i);
        lb_str target = g->vertices[e->targets[0]].label;
        if (i >= g->n_edges)
            target = LB_STR("+");
        else if (whole)
            target = LB_STR("*");
        at += (size_t)snprintf(out + at, cap - at, "%s%.*s%c", i == 0 ? "" : "|", (int)target.size, target.at,
                               e->type == LB_LINEAGE_PREDICATE ? '~' : '<');
        assert_true(e->n_sources <= COUNT_OF(words));
        for (uint32_t k = 0; k < e->n_sources; k++) {
            lb_str label = short_label(&g->vertices[e->sources[k].vertex]);
            size_t n = (size_t)snprintf(words[k], 40, "%.*s:", (int)label.size, label.at);
            n += put_bits(words[k] + n, "ITACM", e->sources[k].kinds);
            n += put_bits(words[k] + n, "wjghqonlsxued", e->sources[k].clauses);
            words[k][n] = '\0';
        }
        qsort(words, e->n_sources, sizeof words[0], compare_words);
        for (uint32_t k = 0; k < e->n_sources; k++)
            at += (size_t)snprintf(out + at, cap - at, "%s%s", k == 0 ? "" : " ", words[k]);
    }
    out[at] = '\0';
}

static void ways(void **state)
{
    const lb_lineage_options options = { .catalog = catalog };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        lb_lineage_run *run = NULL;
        const lb_lineage_result *result = NULL;
        char edges[4096];
        lb_error err = LB_ERROR_INIT;
        assert_int_equal(lb_lineage_open(&options, cases[i].sql, strlen(cases[i].sql), &run, &err), LB_OK);
        assert_int_equal(lb_lineage_next(run, &result, &err), LB_OK);
        if (result->graph == NULL)
            fail_msg("%s: %s", cases[i].sql, result->error->message);
        assert_int_equal(result->n_marks, 0);
        print_edges(result->graph, edges, sizeof edges);
        if (strcmp(edges, cases[i].edges) != 0)
            fail_msg("%s\n  got  %s\n  want %s", cases[i].sql, edges, cases[i].edges);
        lb_lineage_close(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ways) };
    return cmocka_run_group_tests(tests, make_catalog, free_catalog);
}
