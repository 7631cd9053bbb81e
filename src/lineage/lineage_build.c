/* Targets and what they are made of → the graph (lineage.md 3.2): vertices get their ids in the order of edges, within an
 * edge the targets first and then the sources, each ordered by label. */
#include <stdlib.h>

#include "lineage/lineage_private.h"

typedef struct graph_builder {
    lb_analysis *an;
    const lb_record *record;
    lb_text_map labels; /* label → vertex */
    lb_lineage_vertex *vertices;
    uint32_t n_vertices, cap_vertices;
    lb_lineage_edge *edges;
    uint32_t n_edges, cap_edges;
} graph_builder;

/* ---- vertices */

/* Order of UTF-16 code units. In UTF-8 only U+E000 to U+FFFF and what lies beyond, which UTF-16 writes with surrogates
 * below U+E000, stand the other way round. */
static int graph_compare(lb_str a, lb_str b)
{
    size_t n = LB_MIN(a.size, b.size), i = 0;

    while (i < n && a.at[i] == b.at[i])
        i++;
    if (i == n)
        return (a.size > b.size) - (a.size < b.size);
    uint8_t x = (uint8_t)a.at[i], y = (uint8_t)b.at[i];
    if (x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0))
        return x >= 0xF0 ? -1 : 1;
    return x < y ? -1 : 1;
}

/* The vertex of a label, made if it is new: then *vertex is where its facts go, else NULL. */
static lb_status graph_vertex(graph_builder *b, lb_str label, uint32_t *id, lb_lineage_vertex **vertex)
{
    bool there;
    uint32_t *place = lb_text_map_put(&b->labels, b->an->arena, NULL, label, &there);

    *vertex = NULL;
    if (place == NULL)
        return lb_analysis_nomem(b->an);
    if (!there) {
        LB_TRY(lb_analysis_room(b->an, &b->vertices, b->n_vertices, &b->cap_vertices, sizeof *b->vertices));
        *vertex = &b->vertices[b->n_vertices];
        **vertex = (lb_lineage_vertex){ .label = label, .create_time = -1 };
        *place = b->n_vertices++;
    }
    *id = *place;
    return LB_OK;
}

static lb_status graph_target(graph_builder *b, const lb_target *target, uint32_t *id)
{
    lb_lineage_vertex *v;

    LB_TRY(graph_vertex(b, target->label, id, &v));
    b->vertices[*id].is_target = true;
    if (v == NULL || !target->has_metadata || !b->record->has_target_table)
        return LB_OK;
    v->has_metadata = true;
    v->table_name = b->record->target_name;
    v->table_type = b->record->target_type;
    v->create_time = b->record->target_create_time;
    return LB_OK;
}

static lb_status graph_source(graph_builder *b, lb_atom *atom, lb_str label)
{
    const lb_table_use *use = atom->use;
    lb_lineage_vertex *v;

    LB_TRY(graph_vertex(b, label, &atom->vertex, &v));
    if (v == NULL)
        return LB_OK;
    v->unresolved = use == NULL || use->unknown || atom->guessed;
    if (use == NULL)
        return LB_OK;
    v->has_metadata = true;
    v->table_name = use->table->full_name;
    v->table_type = use->table->type;
    v->create_time = use->table->create_time;
    return LB_OK;
}

/* ---- edges */

/* A source that is no vertex yet. */
typedef struct graph_new {
    lb_str label;
    lb_atom *atom;
} graph_new;

static int graph_compare_new(const void *a, const void *b)
{
    return graph_compare(((const graph_new *)a)->label, ((const graph_new *)b)->label);
}

static int graph_compare_sources(const void *a, const void *b)
{
    uint32_t x = ((const lb_lineage_source *)a)->vertex, y = ((const lb_lineage_source *)b)->vertex;
    return (x > y) - (x < y);
}

/* Make the vertices of all sources that are none yet, ordered by label. */
static lb_status graph_new_sources(graph_builder *b, const lb_flow_item *items, uint32_t n, bool context)
{
    uint32_t n_new = 0, used = 0;
    graph_new *new;

    for (uint32_t i = 0; i < n; i++)
        n_new += (context ? items[i].clauses : items[i].kinds) != 0 && b->an->atoms[items[i].atom]->vertex == LB_NONE;
    if (n_new == 0)
        return LB_OK;
    LB_TRY(lb_analysis_alloc(b->an, n_new, sizeof *new, &new));
    for (uint32_t i = 0; i < n; i++) {
        lb_atom *atom = b->an->atoms[items[i].atom];
        if ((context ? items[i].clauses : items[i].kinds) == 0 || atom->vertex != LB_NONE)
            continue;
        lb_str table = atom->use == NULL ? (lb_str){ "", 0 } : atom->use->table->full_name;
        new[used].atom = atom;
        LB_TRY(lb_analysis_join(b->an, table, atom->path, &new[used++].label));
    }
    if (used > 1)
        qsort(new, used, sizeof *new, graph_compare_new);
    for (uint32_t i = 0; i < used; i++)
        LB_TRY(graph_source(b, new[i].atom, new[i].label));
    return LB_OK;
}

/* The sources of an edge: ascending, each once. `context`: those with clauses, else those with kinds. */
static lb_status graph_sources(graph_builder *b, const lb_flow_item *items, uint32_t n, bool context,
                               lb_lineage_edge *edge)
{
    lb_lineage_source *sources;
    uint32_t used = 0, kept = 0;

    LB_TRY(graph_new_sources(b, items, n, context));
    LB_TRY(lb_analysis_alloc(b->an, n, sizeof *sources, &sources));
    for (uint32_t i = 0; i < n; i++) {
        uint16_t kinds = context ? 0 : items[i].kinds, clauses = context ? items[i].clauses : 0;
        if (kinds != 0 || clauses != 0)
            sources[used++] = (lb_lineage_source){ b->an->atoms[items[i].atom]->vertex, kinds, clauses };
    }
    if (used > 1)
        qsort(sources, used, sizeof *sources, graph_compare_sources);
    for (uint32_t i = 0; i < used; i++) {
        if (kept != 0 && sources[kept - 1].vertex == sources[i].vertex) {
            sources[kept - 1].kinds |= sources[i].kinds;
            sources[kept - 1].clauses |= sources[i].clauses;
        } else {
            sources[kept++] = sources[i];
        }
    }
    edge->sources = sources;
    edge->n_sources = kept;
    return LB_OK;
}

static lb_status graph_edge(graph_builder *b, const lb_lineage_edge *edge)
{
    LB_TRY(lb_analysis_room(b->an, &b->edges, b->n_edges, &b->cap_edges, sizeof *b->edges));
    b->edges[b->n_edges++] = *edge;
    return LB_OK;
}

/* The edges of one target: its value, and the windows it comes from. */
static lb_status graph_target_edges(graph_builder *b, const lb_target *target, uint32_t *ids)
{
    lb_lineage_edge edge = { .type = LB_LINEAGE_PROJECTION, .n_targets = 1, .targets = ids };

    LB_TRY(graph_target(b, target, ids));
    LB_TRY(graph_sources(b, target->slot.items, target->slot.n, false, &edge));
    LB_TRY(graph_edge(b, &edge));
    if (!target->slot.windowed)
        return LB_OK;
    edge.type = LB_LINEAGE_PREDICATE;
    LB_TRY(graph_sources(b, target->slot.items, target->slot.n, true, &edge));
    return graph_edge(b, &edge);
}

/* ---- what restricts the whole */

/* Put together the restrictions of the statement and of every unit it uses. A list, not recursion: a chain of WITH
 * entries may be long. */
static lb_status graph_units(graph_builder *b, bool beyond, lb_collector *all)
{
    lb_unit **list = NULL;
    uint32_t n = 0, cap = 0;

    LB_TRY(lb_analysis_room(b->an, &list, n, &cap, sizeof(lb_unit *)));
    list[n++] = b->an->main;
    b->an->main->visited = true;
    for (uint32_t i = 0; i < n; i++) {
        const lb_collector *own = beyond ? &list[i]->beyond : &list[i]->restricts;
        for (uint32_t k = 0; k < own->n; k++)
            LB_TRY(lb_flow_add(b->an, all, own->items[k].atom, own->items[k].kinds, own->items[k].clauses));
        for (uint32_t k = 0; k < list[i]->n_uses; k++) {
            lb_unit *used = list[i]->uses[k];
            if (used->visited)
                continue;
            used->visited = true;
            LB_TRY(lb_analysis_room(b->an, &list, n, &cap, sizeof(lb_unit *)));
            list[n++] = used;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        list[i]->visited = false;
    return LB_OK;
}

static int graph_compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* All targets, each once. */
static lb_status graph_all_targets(graph_builder *b, const uint32_t *ids, lb_lineage_edge *edge)
{
    uint32_t n = b->record->n_targets, kept = 0;

    LB_TRY(lb_analysis_alloc(b->an, n, sizeof *edge->targets, &edge->targets));
    if (n != 0)
        memcpy(edge->targets, ids, n * sizeof *ids);
    for (uint32_t i = 1; i < n; i++)
        if (edge->targets[i] < edge->targets[i - 1]) {
            qsort(edge->targets, n, sizeof *edge->targets, graph_compare_ids);
            break;
        }
    for (uint32_t i = 0; i < n; i++)
        if (kept == 0 || edge->targets[kept - 1] != edge->targets[i])
            edge->targets[kept++] = edge->targets[i];
    edge->n_targets = kept;
    return LB_OK;
}

static lb_status graph_whole(graph_builder *b, const uint32_t *ids, bool beyond)
{
    lb_lineage_edge edge = { .type = LB_LINEAGE_PREDICATE };
    lb_collector *all;

    LB_TRY(lb_flow_collector(b->an, &all));
    LB_TRY(graph_units(b, beyond, all));
    if (all->n != 0) {
        LB_TRY(graph_sources(b, all->items, all->n, true, &edge));
        LB_TRY(graph_all_targets(b, ids, &edge));
        LB_TRY(graph_edge(b, &edge));
    }
    lb_flow_release(b->an, all);
    return LB_OK;
}

lb_status lb_graph_build(lb_analysis *an, const lb_record *record, lb_lineage_graph *out)
{
    graph_builder b = { .an = an, .record = record };
    uint32_t *ids;

    LB_TRY(lb_analysis_alloc(an, record->n_targets, sizeof *ids, &ids));
    for (uint32_t i = 0; i < record->n_targets; i++)
        LB_TRY(graph_target_edges(&b, &record->targets[i], &ids[i]));
    if (record->n_targets != 0)
        LB_TRY(graph_whole(&b, ids, false));
    out->n_vertices = b.n_vertices;
    out->n_edges = b.n_edges;
    if (record->n_targets != 0)
        LB_TRY(graph_whole(&b, ids, true));
    out->n_vertices_beyond = b.n_vertices - out->n_vertices;
    out->n_edges_beyond = b.n_edges - out->n_edges;
    out->vertices = b.vertices;
    out->edges = b.edges;
    out->operation_type = lb_str_of(record->operation);
    out->has_table_location = record->has_location;
    out->table_location = record->location;
    if (record->has_target_table) {
        out->target_table = record->target_name;
        out->target_type = record->target_type;
    }
    return LB_OK;
}
