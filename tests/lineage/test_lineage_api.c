/* lakebed.h's calls for lineage, as a program uses them: the record of Impala's case QL-42, names that are not known, and
 * indexes past the end. */
#include "lakebed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static lb_context *cx;
static lb_catalog *catalog;

static int make(void **state)
{
    const lb_catalog_column_info columns[] = { { .name = "ID", .type = "int" }, { .name = "s", .type = "string" } };
    const lb_catalog_table_info table = { .struct_size = sizeof table,
                                          .db = "functional",
                                          .name = "AllTypesTiny",
                                          .create_time = 1690000000,
                                          .columns = columns,
                                          .n_columns = 2 };
    (void)state;
    return lb_context_new(NULL, &cx, NULL) == LB_OK && lb_catalog_new(cx, &catalog, NULL) == LB_OK &&
                   lb_catalog_add_table(catalog, &table, NULL) == LB_OK
               ? 0
               : -1;
}

static int unmake(void **state)
{
    (void)state;
    lb_catalog_free(catalog);
    lb_context_free(cx);
    return 0;
}

static void check_span(lb_span got, const char *want)
{
    assert_int_equal(got.size, strlen(want));
    assert_memory_equal(got.text, want, got.size);
}

static lb_trace *open_trace(const char *sql, bool strict)
{
    const lb_trace_options options = { .struct_size = sizeof options,
                                       .catalog = catalog,
                                       .default_db = "functional",
                                       .query_id = "0123456789abcdef:1",
                                       .user = "alice",
                                       .started = 1700000000,
                                       .ended = 1700000001,
                                       .strict = strict };
    lb_trace *t = NULL;
    assert_int_equal(lb_trace_open(cx, &options, sql, strlen(sql), &t, NULL), LB_OK);
    return t;
}

static lb_trace_info next(lb_trace *t)
{
    lb_trace_info info = { .struct_size = sizeof info };
    bool done = true;
    assert_int_equal(lb_trace_next(t, &info, &done, NULL), LB_OK);
    assert_false(done);
    return info;
}

static void check_end(lb_trace *t)
{
    lb_trace_info info = { .struct_size = sizeof info };
    bool done = false;
    assert_int_equal(lb_trace_next(t, &info, &done, NULL), LB_OK);
    assert_true(done);
    lb_trace_close(t);
}

static void the_parts_of_a_graph(void **state)
{
    const char sql[] = " create view lineage_test_db.lineage_test_view1 as select id from functional.alltypestiny ;";
    lb_lineage_info info = { .struct_size = sizeof info };
    lb_vertex_info vertex = { .struct_size = sizeof vertex };
    lb_edge_info edge = { .struct_size = sizeof edge };
    uint64_t end = 9;
    (void)state;
    lb_trace *t = open_trace(sql, true);
    lb_trace_info found = next(t);
    assert_int_equal(found.status, LB_OK);
    assert_null(found.error);
    assert_int_equal(found.begin, 1);
    assert_int_equal(lb_lineage_get_info(found.graph, &info, NULL), LB_OK);
    check_span(info.query_text, "create view lineage_test_db.lineage_test_view1 as select id from "
                                "functional.alltypestiny");
    check_span(info.hash, "bc19b44ea5cab4531beb8a1dc0779df6");
    check_span(info.operation, "CREATEVIEW");
    check_span(info.target, "lineage_test_db.lineage_test_view1");
    check_span(info.target_type, "view");
    assert_string_equal(info.query_id, "0123456789abcdef:0000000000000001");
    assert_int_equal(info.vertices, 2);
    assert_int_equal(info.edges, 1);
    assert_int_equal(lb_lineage_vertex_at(found.graph, 1, &vertex, NULL), LB_OK);
    check_span(vertex.label, "functional.alltypestiny.id");
    check_span(vertex.table, "functional.alltypestiny");
    check_span(vertex.table_type, "hive");
    assert_int_equal(vertex.create_time, 1690000000);
    assert_false(vertex.target || vertex.unresolved);
    assert_int_equal(lb_lineage_edge_at(found.graph, 0, &edge, NULL), LB_OK);
    assert_int_equal(edge.kind, LB_EDGE_PROJECTION);
    assert_true(edge.sources == 1 && edge.targets == 1);
    assert_int_equal(lb_lineage_source_at(found.graph, 0, 0, &end, NULL), LB_OK);
    assert_int_equal(end, 1);
    assert_int_equal(lb_lineage_target_at(found.graph, 0, 0, &end, NULL), LB_OK);
    assert_int_equal(end, 0);
    check_end(t);
}

static void indexes_past_the_end(void **state)
{
    lb_vertex_info vertex = { .struct_size = sizeof vertex };
    lb_edge_info edge = { .struct_size = sizeof edge };
    lb_mark_info mark = { .struct_size = sizeof mark };
    uint64_t end;
    (void)state;
    lb_trace *t = open_trace("select id from alltypestiny", true);
    const lb_lineage_graph *g = next(t).graph;
    assert_int_equal(lb_lineage_vertex_at(g, 2, &vertex, NULL), LB_USAGE);
    assert_int_equal(lb_lineage_edge_at(g, 1, &edge, NULL), LB_USAGE);
    assert_int_equal(lb_lineage_source_at(g, 0, 1, &end, NULL), LB_USAGE);
    assert_int_equal(lb_lineage_target_at(g, 1, 0, &end, NULL), LB_USAGE);
    assert_int_equal(lb_trace_mark(t, 0, &mark, NULL), LB_USAGE);
    check_end(t);
}

static void names_that_are_not_known(void **state)
{
    lb_mark_info mark = { .struct_size = sizeof mark };
    (void)state;
    lb_trace *t = open_trace("select x from nowhere; show tables; select id frm; select id from alltypestiny", false);
    lb_trace_info info = next(t);
    assert_int_equal(info.unknown_tables, 1);
    assert_int_equal(info.marks, 1);
    assert_int_equal(lb_trace_mark(t, 0, &mark, NULL), LB_OK);
    assert_int_equal(mark.kind, LB_MARK_UNKNOWN_TABLE);
    assert_int_equal(mark.offset, 14);
    check_span(mark.name, "nowhere");
    assert_null(next(t).graph);
    assert_int_equal(next(t).status, LB_OK); /* frm is an alias */
    assert_non_null(next(t).graph);
    check_end(t);
    t = open_trace("select x from nowhere; select (1; select 1 as y", true);
    info = next(t);
    assert_int_not_equal(info.status, LB_OK);
    assert_null(info.graph);
    info = next(t);
    assert_int_not_equal(info.status, LB_OK);
    assert_int_equal(info.error->offset, 32);
    assert_non_null(next(t).graph);
    check_end(t);
}

static bool collect(void *user, const void *bytes, size_t size)
{
    char *out = user;
    size_t at = strlen(out);
    assert_true(at + size < 4096);
    memcpy(out + at, bytes, size);
    return true;
}

static bool refuse(void *user, const void *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    (void)size;
    return false;
}

static void forms(void **state)
{
    char text[4096] = "";
    lb_error err = LB_ERROR_INIT;
    (void)state;
    lb_trace *t = open_trace("select 1", true);
    const lb_lineage_graph *g = next(t).graph;
    assert_int_equal(lb_lineage_write(g, "impala", collect, text, &err), LB_OK);
    assert_string_equal(text, "{\"queryText\":\"select 1\",\"operationType\":\"SELECT\",\"queryId\":"
                              "\"0123456789abcdef:0000000000000001\",\"hash\":\"af1c9e18a93349e4e643be8325728c20\","
                              "\"user\":\"alice\",\"timestamp\":1700000000,\"endTime\":1700000001,\"edges\":"
                              "[{\"sources\":[],\"targets\":[0],\"edgeType\":\"PROJECTION\"}],\"vertices\":"
                              "[{\"id\":0,\"vertexType\":\"COLUMN\",\"vertexId\":\"1\"}]}\n");
    assert_int_equal(lb_lineage_write(g, "svg", collect, text, &err), LB_USAGE);
    assert_int_equal(lb_lineage_write(g, "openlineage", collect, text, &err), LB_UNSUPPORTED);
    assert_int_equal(lb_lineage_write(g, "thrift", refuse, NULL, &err), LB_IO);
    check_end(t);
}

static void wrong_calls(void **state)
{
    const lb_trace_options options = { .struct_size = sizeof options, .query_id = "zz" };
    const lb_catalog_column_info twice[] = { { .name = "a" }, { .name = "A" } };
    lb_catalog_table_info table = {
        .struct_size = sizeof table, .db = "d", .name = "t", .columns = twice, .n_columns = 2
    };
    lb_error err = LB_ERROR_INIT;
    lb_trace *t = NULL;
    (void)state;
    assert_int_equal(lb_trace_open(cx, &options, "", 0, &t, &err), LB_USAGE);
    assert_null(t);
    assert_int_equal(lb_catalog_add_table(catalog, &table, &err), LB_USAGE);
    table.name = NULL;
    assert_int_equal(lb_catalog_add_table(catalog, &table, &err), LB_USAGE);
    assert_int_equal(lb_catalog_add(catalog, "[{]", 3, NULL, &err), LB_CORRUPT);
    assert_int_equal(lb_catalog_size(catalog), 1);
    lb_trace_close(NULL);
    lb_catalog_free(NULL);
    lb_lineage_records_close(NULL);
    lb_trail_free(NULL);
    lb_trail_reply_free(NULL);
    assert_int_equal(lb_lineage_log_close(NULL, NULL), LB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_of_a_graph),
        cmocka_unit_test(indexes_past_the_end),
        cmocka_unit_test(names_that_are_not_known),
        cmocka_unit_test(forms),
        cmocka_unit_test(wrong_calls),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
