/* Lineage records: whatever is read as one is written and read again, in every form, and is the same. Input: a first byte
 * that tells the form (JSON, Thrift binary, Thrift compact), then the record. */
#include <stdlib.h>

#include "lineage/lineage_dot.h"
#include "lineage/lineage_json.h"
#include "lineage/lineage_thrift.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY_LIMIT ((uint64_t)256 << 20)

static lb_status read_record(unsigned form, const uint8_t *data, size_t size, lb_arena *arena, lb_lineage_graph *out,
                             lb_error *err)
{
    lb_cursor in;
    if (form == 0)
        return lb_lineage_json_read((lb_str){ (const char *)data, size }, arena, out, err);
    lb_cursor_init(&in, data, size, 0);
    return lb_lineage_thrift_read(form == 1 ? LB_THRIFT_BINARY : LB_THRIFT_COMPACT, &in, arena, out, err);
}

static void write_record(unsigned form, const lb_lineage_graph *g, lb_buf *out)
{
    lb_status status = form == 0
                           ? lb_lineage_json_write(g, out, NULL)
                           : lb_lineage_thrift_write(form == 1 ? LB_THRIFT_BINARY : LB_THRIFT_COMPACT, g, out, NULL);
    if (status != LB_OK)
        abort();
}

/* Ids are as they will be, sources and targets ascending: what later steps rely on. */
static void check_graph(const lb_lineage_graph *g)
{
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const lb_lineage_edge *e = &g->edges[i];
        for (uint32_t k = 0; k < e->n_sources; k++)
            if (e->sources[k].vertex >= g->n_vertices || (k > 0 && e->sources[k].vertex <= e->sources[k - 1].vertex))
                abort();
        for (uint32_t k = 0; k < e->n_targets; k++)
            if (e->targets[k] >= g->n_vertices || (k > 0 && e->targets[k] <= e->targets[k - 1]))
                abort();
    }
}

static void check_form(unsigned form, const lb_lineage_graph *g, lb_buf *want)
{
    lb_error err = LB_ERROR_INIT;
    lb_lineage_graph again;
    lb_arena arena;
    lb_buf text, json;
    lb_buf_init(&text, NULL);
    lb_buf_init(&json, NULL);
    lb_arena_init(&arena, NULL);
    write_record(form, g, &text);
    if (read_record(form, text.data, text.size, &arena, &again, &err) != LB_OK)
        abort();
    write_record(0, &again, &json);
    if (json.size != want->size || memcmp(json.data, want->data, json.size) != 0)
        abort();
    lb_arena_free(&arena);
    lb_buf_free(&json);
    lb_buf_free(&text);
}

static void check_trail(const lb_lineage_graph *g)
{
    lb_trail *t = NULL;
    lb_trail_answer answer;
    lb_arena arena;
    lb_buf dot;
    if (lb_trail_make(NULL, &t, NULL) != LB_OK || lb_trail_put(t, g, NULL) != LB_OK ||
        lb_trail_put(t, g, NULL) != LB_OK)
        abort();
    lb_arena_init(&arena, NULL);
    lb_buf_init(&dot, NULL);
    for (uint32_t i = 0; i < LB_MIN(lb_trail_columns(t), 4u); i++)
        for (int way = 0; way < 2; way++)
            if (lb_trail_follow(t, i, (lb_trail_way)way, false, 0, &arena, &answer, NULL) != LB_OK ||
                answer.n_steps == 0 || answer.steps[0].column != i ||
                lb_trail_dot_write(t, &answer, &dot, NULL) != LB_OK)
                abort();
    lb_buf_free(&dot);
    lb_arena_free(&arena);
    lb_trail_free(t);
}

static void check_record(const lb_lineage_graph *g)
{
    lb_buf json, dot;
    lb_buf_init(&json, NULL);
    lb_buf_init(&dot, NULL);
    check_graph(g);
    write_record(0, g, &json);
    for (unsigned form = 0; form < 3; form++)
        check_form(form, g, &json);
    if (lb_lineage_dot_write(g, &dot, NULL) != LB_OK)
        abort();
    check_trail(g);
    lb_buf_free(&dot);
    lb_buf_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_budget budget = { .limit = MEMORY_LIMIT };
    lb_error err = LB_ERROR_INIT;
    lb_lineage_graph g;
    lb_arena arena;
    if (size == 0)
        return 0;
    lb_arena_init(&arena, &budget);
    lb_status status = read_record(data[0] % 3, data + 1, size - 1, &arena, &g, &err);
    if (status == LB_OK)
        check_record(&g);
    else if (err.message[0] == '\0' || err.code != status)
        abort();
    lb_arena_free(&arena);
    return 0;
}
