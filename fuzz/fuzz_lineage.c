/* Scripts against a catalog, the whole way: statements lie in order inside the text, failures have words and a place,
 * graphs keep their rules and come back from their record as they were. Input: a byte of options, the catalog, NUL, the
 * script. */
#include <stdlib.h>

#include "lineage/lineage.h"
#include "lineage/lineage_dot.h"
#include "lineage/lineage_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY_LIMIT ((uint64_t)256 << 20)

static void require(bool good)
{
    if (!good)
        abort();
}

static void check_edge(const lb_lineage_graph *g, const lb_lineage_edge *e)
{
    require(e->n_targets > 0);
    require(e->type == LB_LINEAGE_PROJECTION ? e->n_targets == 1 : true);
    for (uint32_t i = 0; i < e->n_sources; i++)
        require(e->sources[i].vertex < g->n_vertices && (i == 0 || e->sources[i].vertex > e->sources[i - 1].vertex));
    for (uint32_t i = 0; i < e->n_targets; i++)
        require(e->targets[i] < g->n_vertices && (i == 0 || e->targets[i] > e->targets[i - 1]));
}

/* The record read back gives the same record. */
static void check_record(const lb_lineage_graph *g)
{
    lb_buf line, again;
    lb_arena arena;
    lb_lineage_graph back;
    lb_error err = LB_ERROR_INIT;
    lb_buf_init(&line, NULL);
    lb_buf_init(&again, NULL);
    lb_arena_init(&arena, NULL);
    require(lb_lineage_json_write(g, &line, &err) == LB_OK);
    require(lb_lineage_json_read((lb_str){ (const char *)line.data, line.size }, &arena, &back, &err) == LB_OK);
    require(lb_lineage_json_write(&back, &again, &err) == LB_OK);
    require(line.size == again.size && memcmp(line.data, again.data, line.size) == 0);
    again.size = 0;
    require(lb_lineage_dot_write(g, &again, &err) == LB_OK);
    lb_arena_free(&arena);
    lb_buf_free(&again);
    lb_buf_free(&line);
}

static void check_graph(const lb_lineage_graph *g)
{
    for (uint32_t i = 0; i < g->n_edges; i++)
        check_edge(g, &g->edges[i]);
    require(g->hash.size == 32);
    check_record(g);
}

static void check_result(const lb_lineage_result *r, uint64_t from, size_t size)
{
    require(from <= r->begin && r->begin <= r->end && r->end <= size);
    if (r->status != LB_OK)
        require(r->graph == NULL && r->error != NULL && r->error->message[0] != '\0');
    for (size_t i = 0; i < r->n_marks; i++)
        require(r->marks[i].offset <= size);
    if (r->graph != NULL)
        check_graph(r->graph);
}

static void run_script(const lb_lineage_options *options, const char *text, size_t size)
{
    lb_error err = LB_ERROR_INIT;
    lb_lineage_run *run = NULL;
    const lb_lineage_result *result = NULL;
    uint64_t from = 0;
    if (lb_lineage_open(options, text, size, &run, &err) != LB_OK)
        return;
    while (lb_lineage_next(run, &result, &err) == LB_OK && result != NULL) {
        check_result(result, from, size);
        from = result->end;
    }
    lb_lineage_close(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_budget budget = { .limit = MEMORY_LIMIT };
    lb_error err = LB_ERROR_INIT;
    lb_catalog *catalog = NULL;
    const uint8_t *nul = size < 2 ? NULL : memchr(data + 1, 0, size - 1);
    if (nul == NULL)
        return 0;
    if (lb_catalog_make(&budget, &catalog, &err) != LB_OK)
        abort();
    (void)lb_catalog_add(catalog, (const char *)data + 1, (size_t)(nul - data) - 1, NULL, &err);
    lb_lineage_options options = { .catalog = catalog,
                                   .budget = &budget,
                                   .expand_complex_types = (data[0] & 1) != 0,
                                   .expr_rewrites = (data[0] & 2) != 0,
                                   .keep_newlines = (data[0] & 4) != 0,
                                   .strict = (data[0] & 8) != 0 };
    run_script(&options, (const char *)nul + 1, size - (size_t)(nul + 1 - data));
    lb_catalog_free(catalog);
    return 0;
}
