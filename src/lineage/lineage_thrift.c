#include "lineage/lineage_thrift.h"

#include "lineage/lineage_record.h"

/* ---------------------------------------------------------------- the structs */

typedef struct thrift_metadata {
    uint64_t has;
    lb_str table_name, table_type;
    int64_t table_create_time;
} thrift_metadata;

static const lb_thrift_field metadata_fields[] = {
    LB_THRIFT_REQUIRED(thrift_metadata, 1, table_name, &lb_thrift_string),
    LB_THRIFT_REQUIRED(thrift_metadata, 2, table_type, &lb_thrift_string),
    LB_THRIFT_REQUIRED(thrift_metadata, 3, table_create_time, &lb_thrift_i64),
};
static const lb_thrift_struct metadata_struct = { "TVertexMetadata", sizeof(thrift_metadata),
                                                  LB_COUNT_OF(metadata_fields), metadata_fields };
static const lb_thrift_type metadata_type = { .kind = LB_THRIFT_STRUCT,
                                              .size = sizeof(thrift_metadata),
                                              .record = &metadata_struct };

enum { VERTEX_HAS_METADATA = 1 << 2 };

typedef struct thrift_vertex {
    uint64_t has;
    int64_t id;
    lb_str label;
    thrift_metadata metadata;
} thrift_vertex;

static const lb_thrift_field vertex_fields[] = {
    LB_THRIFT_REQUIRED(thrift_vertex, 1, id, &lb_thrift_i64),
    LB_THRIFT_REQUIRED(thrift_vertex, 2, label, &lb_thrift_string),
    LB_THRIFT_FIELD(thrift_vertex, 3, metadata, &metadata_type),
};
static const lb_thrift_struct vertex_struct = { "TVertex", sizeof(thrift_vertex), LB_COUNT_OF(vertex_fields),
                                                vertex_fields };
static const lb_thrift_type vertex_type = { .kind = LB_THRIFT_STRUCT,
                                            .size = sizeof(thrift_vertex),
                                            .record = &vertex_struct };
static const lb_thrift_type vertex_list = { .kind = LB_THRIFT_LIST,
                                            .size = sizeof(lb_thrift_list),
                                            .item = &vertex_type };

typedef struct thrift_edge {
    uint64_t has;
    lb_thrift_list sources, targets;
    int32_t edgetype;
} thrift_edge;

static const lb_thrift_field edge_fields[] = {
    LB_THRIFT_FIELD(thrift_edge, 1, sources, &vertex_list),
    LB_THRIFT_FIELD(thrift_edge, 2, targets, &vertex_list),
    LB_THRIFT_FIELD(thrift_edge, 3, edgetype, &lb_thrift_i32),
};
static const lb_thrift_struct edge_struct = { "TMultiEdge", sizeof(thrift_edge), LB_COUNT_OF(edge_fields),
                                              edge_fields };
static const lb_thrift_type edge_type = { .kind = LB_THRIFT_STRUCT,
                                          .size = sizeof(thrift_edge),
                                          .record = &edge_struct };
static const lb_thrift_type edge_list = { .kind = LB_THRIFT_LIST, .size = sizeof(lb_thrift_list), .item = &edge_type };

typedef struct thrift_unique_id {
    uint64_t has;
    int64_t hi, lo;
} thrift_unique_id;

static const lb_thrift_field unique_id_fields[] = {
    LB_THRIFT_REQUIRED(thrift_unique_id, 1, hi, &lb_thrift_i64),
    LB_THRIFT_REQUIRED(thrift_unique_id, 2, lo, &lb_thrift_i64),
};
static const lb_thrift_struct unique_id_struct = { "TUniqueId", sizeof(thrift_unique_id), LB_COUNT_OF(unique_id_fields),
                                                   unique_id_fields };
static const lb_thrift_type unique_id_type = { .kind = LB_THRIFT_STRUCT,
                                               .size = sizeof(thrift_unique_id),
                                               .record = &unique_id_struct };

/* Places of the fields in the table below, as bits of `has`. */
enum {
    GRAPH_HAS_ENDED = 1 << 4,
    GRAPH_HAS_EDGES = 1 << 5,
    GRAPH_HAS_VERTICES = 1 << 6,
    GRAPH_HAS_LOCATION = 1 << 8,
    GRAPH_HAS_OPERATION = 1 << 9
};

typedef struct thrift_graph {
    uint64_t has;
    lb_str query_text, hash, user;
    int64_t started, ended;
    lb_thrift_list edges, vertices;
    thrift_unique_id query_id;
    lb_str table_location, operation_type;
} thrift_graph;

/* operation_type came last: structs of older versions lack it. */
static const lb_thrift_field graph_fields[] = {
    LB_THRIFT_REQUIRED(thrift_graph, 1, query_text, &lb_thrift_string),
    LB_THRIFT_REQUIRED(thrift_graph, 2, hash, &lb_thrift_string),
    LB_THRIFT_REQUIRED(thrift_graph, 3, user, &lb_thrift_string),
    LB_THRIFT_REQUIRED(thrift_graph, 4, started, &lb_thrift_i64),
    LB_THRIFT_FIELD(thrift_graph, 5, ended, &lb_thrift_i64),
    LB_THRIFT_FIELD(thrift_graph, 6, edges, &edge_list),
    LB_THRIFT_FIELD(thrift_graph, 7, vertices, &vertex_list),
    LB_THRIFT_REQUIRED(thrift_graph, 8, query_id, &unique_id_type),
    LB_THRIFT_FIELD(thrift_graph, 9, table_location, &lb_thrift_string),
    LB_THRIFT_FIELD(thrift_graph, 10, operation_type, &lb_thrift_string),
};
static const lb_thrift_struct graph_struct = { "TLineageGraph", sizeof(thrift_graph), LB_COUNT_OF(graph_fields),
                                               graph_fields };

/* ---------------------------------------------------------------- writing */

static thrift_vertex vertex_of(const lb_lineage_graph *g, uint32_t id)
{
    const lb_lineage_vertex *v = &g->vertices[id];
    return (thrift_vertex){
        .has = v->has_metadata ? VERTEX_HAS_METADATA : 0,
        .id = id,
        .label = v->label,
        .metadata = { .table_name = v->table_name, .table_type = v->table_type, .table_create_time = v->create_time }
    };
}

static lb_status edge_of(const lb_lineage_graph *g, const lb_lineage_edge *from, lb_arena *arena, thrift_edge *to,
                         lb_error *err)
{
    thrift_vertex *sources = lb_arena_alloc(arena, (size_t)from->n_sources + 1, sizeof *sources);
    thrift_vertex *targets = lb_arena_alloc(arena, (size_t)from->n_targets + 1, sizeof *targets);
    if (sources == NULL || targets == NULL)
        return lb_arena_fail(arena, err);
    for (uint32_t i = 0; i < from->n_sources; i++)
        sources[i] = vertex_of(g, from->sources[i].vertex);
    for (uint32_t i = 0; i < from->n_targets; i++)
        targets[i] = vertex_of(g, from->targets[i]);
    *to = (thrift_edge){ .has = 7,
                         .sources = { sources, from->n_sources },
                         .targets = { targets, from->n_targets },
                         .edgetype = (int32_t)from->type };
    return LB_OK;
}

static lb_status lists_of(const lb_lineage_graph *g, lb_arena *arena, thrift_graph *to, lb_error *err)
{
    thrift_edge *edges = lb_arena_alloc(arena, (size_t)g->n_edges + 1, sizeof *edges);
    thrift_vertex *vertices = lb_arena_alloc(arena, (size_t)g->n_vertices + 1, sizeof *vertices);
    if (edges == NULL || vertices == NULL)
        return lb_arena_fail(arena, err);
    for (uint32_t i = 0; i < g->n_edges; i++)
        LB_TRY(edge_of(g, &g->edges[i], arena, &edges[i], err));
    for (uint32_t i = 0; i < g->n_vertices; i++)
        vertices[i] = vertex_of(g, i);
    to->edges = (lb_thrift_list){ edges, g->n_edges };
    to->vertices = (lb_thrift_list){ vertices, g->n_vertices };
    return LB_OK;
}

lb_status lb_lineage_thrift_write(lb_thrift_protocol protocol, const lb_lineage_graph *g, lb_buf *out, lb_error *err)
{
    lb_arena arena;
    thrift_graph t = { .has = GRAPH_HAS_EDGES | GRAPH_HAS_VERTICES | (g->has_ended ? GRAPH_HAS_ENDED : 0) |
                              (g->has_table_location ? GRAPH_HAS_LOCATION : 0) |
                              (g->operation_type.size != 0 ? GRAPH_HAS_OPERATION : 0),
                       .query_text = g->query_text,
                       .hash = g->hash,
                       .user = g->user,
                       .started = g->started,
                       .ended = g->ended,
                       .query_id = { .hi = (int64_t)g->query_id_hi, .lo = (int64_t)g->query_id_lo },
                       .table_location = g->table_location,
                       .operation_type = g->operation_type };

    lb_arena_init(&arena, out->budget);
    lb_status status = lists_of(g, &arena, &t, err);
    if (status == LB_OK)
        status = lb_thrift_encode(protocol, &graph_struct, &t, out, err);
    lb_arena_free(&arena);
    return status;
}

/* ---------------------------------------------------------------- reading */

static const int64_t *ids_of(const lb_thrift_list *list, lb_arena *arena)
{
    const thrift_vertex *vertices = list->items;
    int64_t *ids = lb_arena_alloc(arena, list->count + 1, sizeof *ids);
    for (size_t i = 0; ids != NULL && i < list->count; i++)
        ids[i] = vertices[i].id;
    return ids;
}

static lb_record_edge *edges_of(const lb_thrift_list *list, lb_arena *arena)
{
    const thrift_edge *from = list->items;
    lb_record_edge *edges = lb_arena_alloc(arena, list->count + 1, sizeof *edges);
    for (size_t i = 0; edges != NULL && i < list->count; i++) {
        const int64_t *sources = ids_of(&from[i].sources, arena), *targets = ids_of(&from[i].targets, arena);
        if (sources == NULL || targets == NULL)
            return NULL;
        edges[i] = (lb_record_edge){ .type = from[i].edgetype == 0 ? LB_LINEAGE_PROJECTION : LB_LINEAGE_PREDICATE,
                                     .sources = sources,
                                     .targets = targets,
                                     .n_sources = from[i].sources.count,
                                     .n_targets = from[i].targets.count };
    }
    return edges;
}

static lb_record_vertex *vertices_of(const lb_thrift_list *list, lb_arena *arena)
{
    const thrift_vertex *from = list->items;
    lb_record_vertex *vertices = lb_arena_alloc(arena, list->count + 1, sizeof *vertices);
    for (size_t i = 0; vertices != NULL && i < list->count; i++) {
        bool has = (from[i].has & VERTEX_HAS_METADATA) != 0;
        vertices[i].id = from[i].id;
        vertices[i].vertex = (lb_lineage_vertex){ .label = from[i].label,
                                                  .has_metadata = has,
                                                  .table_name = from[i].metadata.table_name,
                                                  .table_type = from[i].metadata.table_type,
                                                  .create_time = has ? from[i].metadata.table_create_time : -1 };
    }
    return vertices;
}

static lb_status check_edge_types(const thrift_graph *t, lb_error *err)
{
    const thrift_edge *edges = t->edges.items;
    for (size_t i = 0; i < t->edges.count; i++)
        if (edges[i].edgetype != 0 && edges[i].edgetype != 1)
            return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "an edge of a lineage record is of type %d; 0 and 1 are known",
                           (int)edges[i].edgetype);
    return LB_OK;
}

static void facts_of(const thrift_graph *t, lb_lineage_graph *out)
{
    *out = (lb_lineage_graph){ .query_text = t->query_text,
                               .operation_type = t->operation_type,
                               .query_id_hi = (uint64_t)t->query_id.hi,
                               .query_id_lo = (uint64_t)t->query_id.lo,
                               .hash = t->hash,
                               .user = t->user,
                               .started = t->started,
                               .ended = t->ended,
                               .has_ended = (t->has & GRAPH_HAS_ENDED) != 0,
                               .has_table_location = (t->has & GRAPH_HAS_LOCATION) != 0,
                               .table_location = t->table_location };
}

lb_status lb_lineage_thrift_read(lb_thrift_protocol protocol, lb_cursor *in, lb_arena *arena, lb_lineage_graph *out,
                                 lb_error *err)
{
    thrift_graph t = { .has = 0 };
    LB_TRY(lb_thrift_decode(protocol, &graph_struct, in, arena, &t, err));
    LB_TRY(check_edge_types(&t, err));
    facts_of(&t, out);
    lb_record_vertex *vertices = vertices_of(&t.vertices, arena);
    const lb_record_edge *edges = edges_of(&t.edges, arena);
    if (vertices == NULL || edges == NULL)
        return lb_arena_fail(arena, err);
    return lb_record_build(vertices, t.vertices.count, edges, t.edges.count, arena, out, err);
}
