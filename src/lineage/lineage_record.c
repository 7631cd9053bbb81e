#include "lineage/lineage_record.h"

#include <inttypes.h>
#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
    const lb_record_vertex *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int by_vertex(const void *a, const void *b)
{
    const lb_lineage_source *x = a, *y = b;
    return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

/* Place of an id among the sorted vertices, or -1. Ids mostly are places. */
static int64_t find_id(const lb_record_vertex *vertices, size_t n, int64_t id)
{
    if (id >= 0 && (uint64_t)id < n && vertices[id].id == id)
        return id;
    lb_record_vertex key = { .id = id };
    const lb_record_vertex *found = n == 0 ? NULL : bsearch(&key, vertices, n, sizeof key, by_id);
    return found == NULL ? -1 : found - vertices;
}

static lb_status check_ids(const lb_record_vertex *vertices, size_t n, lb_error *err)
{
    if (n > INT32_MAX)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a lineage record has more than %d vertices", INT32_MAX);
    for (size_t i = 1; i < n; i++)
        if (vertices[i].id == vertices[i - 1].id)
            return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a lineage record has two vertices of id %" PRId64,
                           vertices[i].id);
    return LB_OK;
}

/* ---------------------------------------------------------------- vertices of tables */

static void mark_used(const lb_record_vertex *vertices, size_t n, const int64_t *ids, size_t n_ids, bool *used)
{
    for (size_t i = 0; i < n_ids; i++) {
        int64_t at = find_id(vertices, n, ids[i]);
        if (at >= 0)
            used[at] = true;
    }
}

/* Does `label` name a column of `table`? */
static bool is_column_of(lb_str label, lb_str table)
{
    return label.size > table.size + 1 && label.at[table.size] == '.' && memcmp(label.at, table.at, table.size) == 0;
}

static void give_time(lb_record_vertex *vertices, size_t n, const lb_lineage_vertex *table)
{
    for (size_t i = 0; i < n; i++) {
        lb_lineage_vertex *v = &vertices[i].vertex;
        if (!vertices[i].is_table && !v->has_metadata && is_column_of(v->label, table->label)) {
            v->has_metadata = true;
            v->table_name = table->label;
            v->create_time = table->create_time;
        }
    }
}

/* Take the vertices of tables out that no edge names; there are few. Returns how many vertices are left. */
static size_t drop_tables(lb_record_vertex *vertices, size_t n, const bool *used)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (vertices[i].is_table)
            give_time(vertices, n, &vertices[i].vertex);
    }
    for (size_t i = 0; i < n; i++)
        if (!vertices[i].is_table || used[i])
            vertices[kept++] = vertices[i];
    return kept;
}

static lb_status settle_tables(lb_record_vertex *vertices, size_t *n, const lb_record_edge *edges, size_t n_edges,
                               lb_arena *arena, lb_error *err)
{
    size_t tables = 0;
    for (size_t i = 0; i < *n; i++)
        tables += vertices[i].is_table;
    if (tables == 0)
        return LB_OK;
    /* Each table is compared with each vertex: a statement with more tables than this is no statement. */
    if (tables > 10000)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a lineage record has more than 10000 vertices of tables");
    bool *used = lb_arena_alloc(arena, *n, sizeof *used);
    if (used == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < n_edges; i++) {
        mark_used(vertices, *n, edges[i].sources, edges[i].n_sources, used);
        mark_used(vertices, *n, edges[i].targets, edges[i].n_targets, used);
    }
    *n = drop_tables(vertices, *n, used);
    return LB_OK;
}

/* ---------------------------------------------------------------- edges */

static lb_status place_of(const lb_record_vertex *vertices, size_t n, int64_t id, uint32_t *place, lb_error *err)
{
    int64_t at = find_id(vertices, n, id);
    if (at < 0)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE,
                       "an edge of a lineage record names vertex %" PRId64 ", which is not there", id);
    *place = (uint32_t)at;
    return LB_OK;
}

static lb_status build_sources(const lb_record_vertex *vertices, size_t n, const lb_record_edge *from, lb_arena *arena,
                               lb_lineage_edge *to, lb_error *err)
{
    to->sources = lb_arena_alloc(arena, from->n_sources + 1, sizeof *to->sources);
    if (to->sources == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < from->n_sources; i++)
        LB_TRY(place_of(vertices, n, from->sources[i], &to->sources[i].vertex, err));
    qsort(to->sources, from->n_sources, sizeof *to->sources, by_vertex);
    for (size_t i = 0; i < from->n_sources; i++)
        if (i == 0 || to->sources[i].vertex != to->sources[to->n_sources - 1].vertex)
            to->sources[to->n_sources++] = to->sources[i];
    return LB_OK;
}

static lb_status build_targets(const lb_record_vertex *vertices, size_t n, const lb_record_edge *from, lb_arena *arena,
                               lb_lineage_edge *to, lb_error *err)
{
    to->targets = lb_arena_alloc(arena, from->n_targets + 1, sizeof *to->targets);
    if (to->targets == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < from->n_targets; i++)
        LB_TRY(place_of(vertices, n, from->targets[i], &to->targets[i], err));
    qsort(to->targets, from->n_targets, sizeof *to->targets, by_number);
    for (size_t i = 0; i < from->n_targets; i++)
        if (i == 0 || to->targets[i] != to->targets[to->n_targets - 1])
            to->targets[to->n_targets++] = to->targets[i];
    return LB_OK;
}

static lb_status build_edges(const lb_record_vertex *vertices, size_t n, const lb_record_edge *edges, size_t n_edges,
                             lb_arena *arena, lb_lineage_graph *graph, lb_error *err)
{
    graph->edges = lb_arena_alloc(arena, n_edges + 1, sizeof *graph->edges);
    if (graph->edges == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < n_edges; i++) {
        lb_lineage_edge *edge = &graph->edges[i];
        if (edges[i].n_sources > INT32_MAX || edges[i].n_targets > INT32_MAX)
            return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "an edge of a lineage record is too long");
        edge->type = edges[i].type;
        LB_TRY(build_sources(vertices, n, &edges[i], arena, edge, err));
        LB_TRY(build_targets(vertices, n, &edges[i], arena, edge, err));
        for (uint32_t k = 0; k < edge->n_targets; k++)
            graph->vertices[edge->targets[k]].is_target = true;
    }
    graph->n_edges = (uint32_t)n_edges;
    return LB_OK;
}

/* What the statement writes: the table that all its targets belong to. */
static void find_target(lb_lineage_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_vertices; i++)
        if (graph->vertices[i].is_target && graph->vertices[i].has_metadata) {
            graph->target_table = graph->vertices[i].table_name;
            graph->target_type = graph->vertices[i].table_type;
            return;
        }
}

lb_status lb_record_build(lb_record_vertex *vertices, size_t n_vertices, const lb_record_edge *edges, size_t n_edges,
                          lb_arena *arena, lb_lineage_graph *graph, lb_error *err)
{
    if (n_vertices > 0)
        qsort(vertices, n_vertices, sizeof *vertices, by_id);
    LB_TRY(check_ids(vertices, n_vertices, err));
    LB_TRY(settle_tables(vertices, &n_vertices, edges, n_edges, arena, err));
    graph->vertices = lb_arena_alloc(arena, n_vertices + 1, sizeof *graph->vertices);
    if (graph->vertices == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < n_vertices; i++)
        graph->vertices[i] = vertices[i].vertex;
    graph->n_vertices = (uint32_t)n_vertices;
    LB_TRY(build_edges(vertices, n_vertices, edges, n_edges, arena, graph, err));
    find_target(graph);
    return LB_OK;
}

/* ---------------------------------------------------------------- names */

lb_str lb_vertex_table(const lb_lineage_vertex *vertex)
{
    if (vertex->has_metadata)
        return vertex->table_name;
    size_t dots = 0;
    for (size_t i = 0; i < vertex->label.size; i++)
        if (vertex->label.at[i] == '.' && ++dots == 2)
            return (lb_str){ vertex->label.at, i };
    return (lb_str){ NULL, 0 };
}

lb_status lb_vertex_full_name(const lb_lineage_vertex *vertex, lb_arena *arena, lb_str *out, lb_error *err)
{
    lb_str table = vertex->has_metadata ? vertex->table_name : (lb_str){ NULL, 0 };
    *out = vertex->label;
    if (table.size == 0 || is_column_of(vertex->label, table))
        return LB_OK;
    char *text = lb_arena_alloc(arena, table.size + vertex->label.size + 2, 1);
    if (text == NULL)
        return lb_arena_fail(arena, err);
    memcpy(text, table.at, table.size);
    text[table.size] = '.';
    if (vertex->label.size > 0)
        memcpy(text + table.size + 1, vertex->label.at, vertex->label.size);
    *out = (lb_str){ text, table.size + 1 + vertex->label.size };
    return LB_OK;
}
