/* Lineage records as bytes: the example of Impala's format, its escapes, and query ids. */
#include "lineage/lineage_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The record that Apache Impala writes for case QL-42 of its own tests, with times, user and id set. */
static const char view_line[] =
    "{\"queryText\":\"create view lineage_test_db.lineage_test_view1 as select id from functional.alltypestiny\","
    "\"operationType\":\"CREATEVIEW\",\"queryId\":\"0123456789abcdef:0000000000000001\","
    "\"hash\":\"bc19b44ea5cab4531beb8a1dc0779df6\",\"user\":\"alice\",\"timestamp\":1700000000,"
    "\"endTime\":1700000001,\"edges\":[{\"sources\":[1],\"targets\":[0],\"edgeType\":\"PROJECTION\"}],\"vertices\":"
    "[{\"id\":0,\"vertexType\":\"COLUMN\",\"vertexId\":\"id\",\"metadata\":{\"tableName\":"
    "\"lineage_test_db.lineage_test_view1\",\"tableType\":\"view\",\"tableCreateTime\":1700000001}},"
    "{\"id\":1,\"vertexType\":\"COLUMN\",\"vertexId\":\"functional.alltypestiny.id\",\"metadata\":"
    "{\"tableName\":\"functional.alltypestiny\",\"tableType\":\"hive\",\"tableCreateTime\":1690000000}}]}\n";

static void check_line(const lb_lineage_graph *g, const char *want)
{
    lb_buf out;
    lb_buf_init(&out, NULL);
    assert_int_equal(lb_lineage_json_write(g, &out, NULL), LB_OK);
    assert_string_equal(lb_buf_text(&out), want);
    lb_buf_free(&out);
}

static void a_view(void **state)
{
    lb_lineage_vertex vertices[] = {
        { .label = LB_STR("id"),
          .has_metadata = true,
          .table_name = LB_STR("lineage_test_db.lineage_test_view1"),
          .table_type = LB_STR("view"),
          .create_time = 1700000001 },
        { .label = LB_STR("functional.alltypestiny.id"),
          .has_metadata = true,
          .table_name = LB_STR("functional.alltypestiny"),
          .table_type = LB_STR("hive"),
          .create_time = 1690000000 },
    };
    lb_lineage_source source = { .vertex = 1, .kinds = LB_LINEAGE_IDENTITY };
    uint32_t target = 0;
    lb_lineage_edge edge = { LB_LINEAGE_PROJECTION, 1, 1, &source, &target };
    lb_lineage_graph g = {
        .query_text =
            LB_STR("create view lineage_test_db.lineage_test_view1 as select id from functional.alltypestiny"),
        .operation_type = LB_STR("CREATEVIEW"),
        .query_id_hi = 0x0123456789abcdef,
        .query_id_lo = 1,
        .hash = LB_STR("bc19b44ea5cab4531beb8a1dc0779df6"),
        .user = LB_STR("alice"),
        .started = 1700000000,
        .ended = 1700000001,
        .has_ended = true,
        .n_vertices = 2,
        .n_edges = 1,
        .vertices = vertices,
        .edges = &edge,
    };
    (void)state;
    check_line(&g, view_line);
}

/* Every byte below 0x20, and what stays: lineage.md 2.1. */
static void escapes(void **state)
{
    char text[0x20 + 6];
    for (size_t i = 0; i < 0x20; i++)
        text[i] = (char)i;
    memcpy(text + 0x20, "\"\\/\x7f\xc3\xa9", 6);
    lb_lineage_graph g = { .query_text = { text, sizeof text },
                           .operation_type = LB_STR("SELECT"),
                           .table_location = LB_STR("/t"),
                           .has_table_location = true,
                           .started = -1,
                           .ended = INT64_MAX,
                           .has_ended = true };
    (void)state;
    check_line(&g,
               "{\"queryText\":\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000B\\f\\r\\u000E"
               "\\u000F\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001A\\u001B\\u001C"
               "\\u001D\\u001E\\u001F\\\"\\\\/\x7f\xc3\xa9\",\"operationType\":\"SELECT\",\"queryId\":"
               "\"0000000000000000:0000000000000000\",\"hash\":\"\",\"user\":\"\",\"timestamp\":-1,\"endTime\":"
               "9223372036854775807,\"edges\":[],\"vertices\":[],\"tableLocation\":\"/t\"}\n");
}

static void round_trip(void **state)
{
    lb_arena arena;
    lb_lineage_graph g;
    lb_error err = LB_ERROR_INIT;
    (void)state;
    lb_arena_init(&arena, NULL);
    assert_int_equal(lb_lineage_json_read(lb_str_of(view_line), &arena, &g, &err), LB_OK);
    check_line(&g, view_line);
    assert_true(lb_str_is(g.target_table, "lineage_test_db.lineage_test_view1"));
    assert_true(lb_str_is(g.target_type, "view"));
    assert_true(g.vertices[0].is_target && !g.vertices[1].is_target);
    lb_arena_free(&arena);
}

/* A record that does not fit into the memory given is refused, at every limit below what it takes. */
static void memory_is_bounded(void **state)
{
    bool fits = false;
    (void)state;
    for (uint64_t limit = 0; limit < (1 << 22) && !fits; limit += 4096) {
        lb_budget budget = { .limit = limit };
        lb_error err = LB_ERROR_INIT;
        lb_arena arena;
        lb_lineage_graph g;
        lb_arena_init(&arena, &budget);
        lb_status status = lb_lineage_json_read(lb_str_of(view_line), &arena, &g, &err);
        fits = status == LB_OK;
        assert_true(fits || status == LB_BUDGET);
        lb_arena_free(&arena);
        assert_int_equal(budget.used, 0);
    }
    assert_true(fits);
}

static const struct {
    const char *text;
    bool good;
    uint64_t hi, lo;
} ids[] = {
    { "0123456789abcdef:fedcba9876543210", true, 0x0123456789abcdef, 0xfedcba9876543210 },
    { "3A441D0C130962F8:7f634aec00000000", true, 0x3a441d0c130962f8, 0x7f634aec00000000 },
    { "1:2", true, 1, 2 },
    { "", false, 0, 0 },
    { ":", false, 0, 0 },
    { "1:", false, 0, 0 },
    { ":1", false, 0, 0 },
    { "1", false, 0, 0 },
    { "1:2:3", false, 0, 0 },
    { "0x1:2", false, 0, 0 },
    { "1: 2", false, 0, 0 },
    { "g:1", false, 0, 0 },
    { "00123456789abcdef:1", false, 0, 0 },
};

static void query_ids(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(ids); i++) {
        uint64_t hi = 0, lo = 0;
        assert_int_equal(lb_query_id_parse(lb_str_of(ids[i].text), &hi, &lo), ids[i].good);
        if (!ids[i].good)
            continue;
        char text[LB_QUERY_ID_TEXT];
        assert_true(hi == ids[i].hi && lo == ids[i].lo);
        lb_query_id_print(hi, lo, text);
        assert_int_equal(strlen(text), 33);
        assert_true(lb_query_id_parse(lb_str_of(text), &hi, &lo) && hi == ids[i].hi && lo == ids[i].lo);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view),     cmocka_unit_test(escapes),
        cmocka_unit_test(round_trip), cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(query_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
