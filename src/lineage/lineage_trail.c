#include "lineage/lineage_trail.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/path.h"
#include "lineage/lineage_record.h"

#define TRAIL_NONE UINT32_MAX
#define TRAIL_TIME_LIMIT ((int64_t)1 << 62) /* times beyond are cut, so that they can be negated */
#define TRAIL_NEAR 10000                    /* so many names are compared with a mistyped one */

/* Places of a list of lists: items[first[i]] to items[first[i + 1] - 1]. */
typedef struct trail_index {
    uint32_t *first, *items;
} trail_index;

struct lb_trail {
    lb_arena arena;
    lb_names names;        /* of columns, results under names of their own */
    lb_buf columns;        /* lb_trail_column */
    lb_buf statements;     /* lb_trail_statement */
    lb_buf edges;          /* lb_trail_edge */
    trail_index by_end[2]; /* edges by target, by source; made at the first question */
    size_t indexed;        /* edges in them */
};

/* ---------------------------------------------------------------- access */

static lb_trail_column *columns_of(const lb_trail *t)
{
    return (lb_trail_column *)(void *)t->columns.data;
}

static lb_trail_edge *edges_of(const lb_trail *t)
{
    return (lb_trail_edge *)(void *)t->edges.data;
}

static lb_trail_statement *statements_of(const lb_trail *t)
{
    return (lb_trail_statement *)(void *)t->statements.data;
}

uint32_t lb_trail_columns(const lb_trail *t)
{
    return (uint32_t)(t->columns.size / sizeof(lb_trail_column));
}

const lb_trail_column *lb_trail_column_at(const lb_trail *t, uint32_t column)
{
    return &columns_of(t)[column];
}

uint32_t lb_trail_statements(const lb_trail *t)
{
    return (uint32_t)(t->statements.size / sizeof(lb_trail_statement));
}

const lb_trail_statement *lb_trail_statement_at(const lb_trail *t, uint32_t statement)
{
    return &statements_of(t)[statement];
}

uint32_t lb_trail_edges(const lb_trail *t)
{
    return (uint32_t)(t->edges.size / sizeof(lb_trail_edge));
}

const lb_trail_edge *lb_trail_edge_at(const lb_trail *t, uint32_t edge)
{
    return &edges_of(t)[edge];
}

lb_status lb_trail_make(lb_budget *budget, lb_trail **out, lb_error *err)
{
    lb_trail *t = calloc(1, sizeof *t);
    *out = t;
    if (t == NULL)
        return lb_fail_nomem(err);
    lb_arena_init(&t->arena, budget);
    lb_buf_init(&t->columns, budget);
    lb_buf_init(&t->statements, budget);
    lb_buf_init(&t->edges, budget);
    return LB_OK;
}

lb_budget *lb_trail_budget(const lb_trail *t)
{
    return t->arena.budget;
}

static void free_index(lb_trail *t)
{
    for (int i = 0; i < 2; i++) {
        free(t->by_end[i].first);
        free(t->by_end[i].items);
        t->by_end[i] = (trail_index){ NULL, NULL };
    }
}

void lb_trail_free(lb_trail *t)
{
    if (t == NULL)
        return;
    free_index(t);
    lb_names_free(&t->names);
    lb_buf_free(&t->columns);
    lb_buf_free(&t->statements);
    lb_buf_free(&t->edges);
    lb_arena_free(&t->arena);
    free(t);
}

/* ---------------------------------------------------------------- adding records */

static lb_status copy_text(lb_trail *t, lb_str text, lb_str *out, lb_error *err)
{
    const char *copy = lb_arena_copy(&t->arena, text);
    if (copy == NULL)
        return lb_arena_fail(&t->arena, err);
    *out = (lb_str){ copy, text.size };
    return LB_OK;
}

/* Find or add the column of a name that need not last. */
static lb_status intern(lb_trail *t, lb_str key, const lb_trail_column *like, uint32_t *column, bool *added,
                        lb_error *err)
{
    lb_trail_column c = *like;
    const uint64_t *found = lb_names_find(&t->names, key);
    *added = found == NULL;
    if (found != NULL) {
        *column = (uint32_t)*found;
        return LB_OK;
    }
    lb_str kept = { NULL, 0 };
    *column = lb_trail_columns(t);
    if (*column == TRAIL_NONE - 1)
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "more than %u columns", TRAIL_NONE - 1);
    LB_TRY(copy_text(t, key, &kept, err));
    LB_TRY(copy_text(t, like->name, &c.name, err));
    LB_TRY(copy_text(t, like->table, &c.table, err));
    LB_TRY(copy_text(t, like->type, &c.type, err));
    LB_TRY(lb_names_add(&t->names, kept, *column, NULL, err));
    return lb_buf_append(&t->columns, &c, sizeof c, err);
}

static lb_status add_edge(lb_trail *t, const lb_trail_edge *edge, lb_error *err)
{
    if (lb_trail_edges(t) >= TRAIL_NONE - 1)
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "more than %u edges", TRAIL_NONE - 1);
    return lb_buf_append(&t->edges, edge, sizeof *edge, err);
}

/* "db.table.column" of "db.table.column.item.field"; false where it is no path into a column. */
static bool whole_column(const lb_trail_column *c, lb_str *out)
{
    size_t from = c->table.size + 1;
    const char *dot =
        c->table.size == 0 || from >= c->name.size ? NULL : memchr(c->name.at + from, '.', c->name.size - from);
    *out = (lb_str){ c->name.at, dot == NULL ? 0 : (size_t)(dot - c->name.at) };
    return dot != NULL;
}

/* A part of a column hangs on the column, without any statement. */
static lb_status tie_part(lb_trail *t, uint32_t part, lb_error *err)
{
    lb_trail_column whole = columns_of(t)[part];
    uint32_t *ends = lb_arena_alloc(&t->arena, 2, sizeof *ends);
    bool added;
    if (ends == NULL)
        return lb_arena_fail(&t->arena, err);
    if (!whole_column(&columns_of(t)[part], &whole.name))
        return LB_OK;
    LB_TRY(intern(t, whole.name, &whole, &ends[0], &added, err));
    ends[1] = part;
    lb_trail_edge edge = { .statement = TRAIL_NONE,
                           .type = LB_LINEAGE_PROJECTION,
                           .view = true,
                           .n_sources = 1,
                           .n_targets = 1,
                           .sources = &ends[0],
                           .targets = &ends[1] };
    return add_edge(t, &edge, err);
}

/* A result column is one of its statement alone: its key begins with a byte that no name has. */
static lb_status result_key(uint32_t statement, lb_str label, lb_arena *scratch, lb_str *key, lb_error *err)
{
    char *text = lb_arena_alloc(scratch, label.size + 1 + sizeof statement, 1);
    if (text == NULL)
        return lb_arena_fail(scratch, err);
    text[0] = '\x01';
    memcpy(text + 1, &statement, sizeof statement);
    if (label.size > 0)
        memcpy(text + 1 + sizeof statement, label.at, label.size);
    *key = (lb_str){ text, label.size + 1 + sizeof statement };
    return LB_OK;
}

static lb_status put_vertex(lb_trail *t, const lb_lineage_vertex *v, uint32_t statement, lb_arena *scratch,
                            uint32_t *column, lb_error *err)
{
    lb_trail_column c = { .table = lb_vertex_table(v), .of = statement };
    lb_str key;
    bool added;
    LB_TRY(lb_vertex_full_name(v, scratch, &c.name, err));
    c.result = v->is_target && c.table.size == 0;
    c.type = v->has_metadata ? v->table_type : (lb_str){ NULL, 0 };
    key = c.name;
    if (c.result)
        LB_TRY(result_key(statement, c.name, scratch, &key, err));
    LB_TRY(intern(t, key, &c, column, &added, err));
    if (columns_of(t)[*column].type.size == 0 && c.type.size != 0)
        LB_TRY(copy_text(t, c.type, &columns_of(t)[*column].type, err));
    return added ? tie_part(t, *column, err) : LB_OK;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static lb_status put_edge(lb_trail *t, const lb_lineage_graph *g, const lb_lineage_edge *from, const uint32_t *column,
                          uint32_t statement, lb_error *err)
{
    uint32_t *sources = lb_arena_alloc(&t->arena, (size_t)from->n_sources + 1, sizeof *sources);
    uint32_t *targets = lb_arena_alloc(&t->arena, (size_t)from->n_targets + 1, sizeof *targets);
    if (sources == NULL || targets == NULL)
        return lb_arena_fail(&t->arena, err);
    if (from->n_sources == 0 || from->n_targets == 0)
        return LB_OK; /* joins nothing */
    for (uint32_t i = 0; i < from->n_sources; i++)
        sources[i] = column[from->sources[i].vertex];
    for (uint32_t i = 0; i < from->n_targets; i++)
        targets[i] = column[from->targets[i]];
    qsort(sources, from->n_sources, sizeof *sources, by_number);
    qsort(targets, from->n_targets, sizeof *targets, by_number);
    lb_trail_edge edge = { .statement = statement,
                           .type = from->type,
                           .view = lb_str_is(g->vertices[from->targets[0]].table_type, "view"),
                           .n_sources = from->n_sources,
                           .n_targets = from->n_targets,
                           .sources = sources,
                           .targets = targets };
    return add_edge(t, &edge, err);
}

static int64_t cut_time(int64_t time)
{
    return LB_MAX(LB_MIN(time, TRAIL_TIME_LIMIT), -TRAIL_TIME_LIMIT);
}

static lb_status put_statement(lb_trail *t, const lb_lineage_graph *g, lb_error *err)
{
    lb_trail_statement s = { .has_ended = g->has_ended,
                             .query_id_hi = g->query_id_hi,
                             .query_id_lo = g->query_id_lo,
                             .started = cut_time(g->started),
                             .ended = cut_time(g->has_ended ? LB_MAX(g->ended, g->started) : INT64_MAX) };
    lb_str text = g->query_text;
    text.size = LB_MIN(text.size, LB_TRAIL_TEXT);
    if (lb_trail_statements(t) >= TRAIL_NONE - 1)
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "more than %u statements", TRAIL_NONE - 1);
    LB_TRY(copy_text(t, g->operation_type, &s.operation, err));
    LB_TRY(copy_text(t, text, &s.text, err));
    LB_TRY(copy_text(t, g->user, &s.user, err));
    return lb_buf_append(&t->statements, &s, sizeof s, err);
}

static lb_status put_graph(lb_trail *t, const lb_lineage_graph *g, uint32_t statement, lb_arena *scratch, lb_error *err)
{
    uint32_t *column = lb_arena_alloc(scratch, (size_t)g->n_vertices + 1, sizeof *column);
    if (column == NULL)
        return lb_arena_fail(scratch, err);
    for (uint32_t i = 0; i < g->n_vertices; i++)
        LB_TRY(put_vertex(t, &g->vertices[i], statement, scratch, &column[i], err));
    for (uint32_t i = 0; i < g->n_edges; i++)
        LB_TRY(put_edge(t, g, &g->edges[i], column, statement, err));
    return LB_OK;
}

lb_status lb_trail_put(lb_trail *t, const lb_lineage_graph *g, lb_error *err)
{
    lb_arena scratch;
    uint32_t statement = lb_trail_statements(t);
    LB_TRY(put_statement(t, g, err));
    lb_arena_init(&scratch, t->arena.budget);
    lb_status status = put_graph(t, g, statement, &scratch, err);
    lb_arena_free(&scratch);
    return status;
}

/* ---------------------------------------------------------------- finding a column */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Is `name` the end of the column's, from a dot on, or all of it? */
static bool ends_so(lb_str column, lb_str name)
{
    if (name.size > column.size || (name.size < column.size && column.at[column.size - name.size - 1] != '.'))
        return false;
    const char *tail = column.at + (column.size - name.size);
    for (size_t i = 0; i < name.size; i++)
        if (lower(tail[i]) != lower(name.at[i]))
            return false;
    return true;
}

static lb_status fail_unknown(const lb_trail *t, const char *name, lb_error *err)
{
    lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "no statement of the log names a column '%s'", name);
    uint32_t n = LB_MIN(lb_trail_columns(t), TRAIL_NEAR);
    const char **names = calloc((size_t)n + 1, sizeof *names);
    for (uint32_t i = 0; names != NULL && i < n; i++)
        names[i] = columns_of(t)[i].name.at;
    const char *near = names == NULL ? NULL : lb_closest_name(name, names, n);
    if (near != NULL)
        lb_fail_hint(err, "did you mean %s?", near);
    else
        lb_fail_hint(err, "a column is named as database.table.column");
    free(names);
    return LB_NOTFOUND;
}

lb_status lb_trail_find(const lb_trail *t, const char *name, uint32_t *column, lb_error *err)
{
    lb_str want = lb_str_of(name);
    const lb_trail_column *columns = columns_of(t);
    const uint64_t *exact = lb_names_find(&t->names, want);
    uint32_t found[2], n = 0, count = lb_trail_columns(t);
    if (exact != NULL && !columns[*exact].result) {
        *column = (uint32_t)*exact;
        return LB_OK;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!columns[i].result && ends_so(columns[i].name, want)) {
            found[LB_MIN(n, 1u)] = i;
            n++;
        }
    if (n == 0)
        return fail_unknown(t, name, err);
    *column = found[0];
    if (n == 1)
        return LB_OK;
    lb_fail(err, LB_USAGE, LB_NOWHERE, "%u columns are named '%s': %s, %s%s", n, name, columns[found[0]].name.at,
            columns[found[1]].name.at, n > 2 ? " …" : "");
    lb_fail_hint(err, "name the database and the table too");
    return LB_USAGE;
}

/* ---------------------------------------------------------------- following edges */

/* Edges by target (end 0) or by source (end 1), in a list for each column. */
static lb_status build_index(lb_trail *t, int end, lb_error *err)
{
    const lb_trail_edge *edges = edges_of(t);
    uint32_t n = lb_trail_columns(t), n_edges = lb_trail_edges(t);
    uint64_t total = 0;
    trail_index *index = &t->by_end[end];
    for (uint32_t i = 0; i < n_edges; i++)
        total += end == 0 ? edges[i].n_targets : edges[i].n_sources;
    if (total >= TRAIL_NONE)
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "the edges have more than %u ends", TRAIL_NONE);
    index->first = calloc((size_t)n + 2, sizeof *index->first);
    index->items = calloc((size_t)total + 1, sizeof *index->items);
    if (index->first == NULL || index->items == NULL)
        return lb_fail_nomem(err);
    /* first[c + 1] counts, then is where column c begins, and while it is filled moves on to where it ends. */
    for (uint32_t i = 0; i < n_edges; i++)
        for (uint32_t k = 0; k < (end == 0 ? edges[i].n_targets : edges[i].n_sources); k++)
            index->first[(end == 0 ? edges[i].targets[k] : edges[i].sources[k]) + 2]++;
    for (uint32_t i = 2; i < n + 2; i++)
        index->first[i] += index->first[i - 1];
    for (uint32_t i = 0; i < n_edges; i++)
        for (uint32_t k = 0; k < (end == 0 ? edges[i].n_targets : edges[i].n_sources); k++)
            index->items[index->first[(end == 0 ? edges[i].targets[k] : edges[i].sources[k]) + 1]++] = i;
    return LB_OK;
}

static lb_status ensure_index(lb_trail *t, lb_error *err)
{
    if (t->by_end[1].items != NULL && t->indexed == t->edges.size)
        return LB_OK;
    free_index(t);
    lb_status status = build_index(t, 0, err);
    if (status == LB_OK)
        status = build_index(t, 1, err);
    if (status != LB_OK)
        free_index(t);
    t->indexed = t->edges.size;
    return status;
}

typedef struct heap_item {
    int64_t key;
    uint32_t column;
} heap_item;

/* One walk. Going downstream times are negated, so that both ways look for the greatest key: how late (upstream) or how
 * early (downstream) a column's contents may be taken. */
typedef struct trail_walk {
    const lb_trail *t;
    lb_trail_way way;
    bool values_only;
    uint32_t limit;                          /* of depth; 0: none */
    int64_t *best;                           /* of each column; INT64_MIN: not reached */
    bool *done;                              /* edges gone over */
    lb_buf heap;                             /* heap_item */
    uint32_t *queue, *depth, *edge, *toward; /* of the second pass: breadth first */
    uint32_t n_queue;
} trail_walk;

static bool edge_counts(const trail_walk *w, const lb_trail_edge *e, int64_t key)
{
    if (w->values_only && e->type == LB_LINEAGE_PREDICATE)
        return false;
    if (e->statement == TRAIL_NONE || (e->view && w->way == LB_TRAIL_DOWNSTREAM))
        return true;
    const lb_trail_statement *s = lb_trail_statement_at(w->t, e->statement);
    return (w->way == LB_TRAIL_UPSTREAM ? s->started : -s->ended) <= key;
}

static int64_t edge_key(const trail_walk *w, const lb_trail_edge *e, int64_t key)
{
    if (e->view)
        return key;
    const lb_trail_statement *s = lb_trail_statement_at(w->t, e->statement);
    return LB_MIN(key, w->way == LB_TRAIL_UPSTREAM ? s->ended : -s->started);
}

static void heap_sink(heap_item *items, size_t n, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n)
            return;
        if (child + 1 < n && items[child + 1].key > items[child].key)
            child++;
        if (items[at].key >= items[child].key)
            return;
        heap_item other = items[at];
        items[at] = items[child];
        items[child] = other;
        at = child;
    }
}

static lb_status heap_push(trail_walk *w, uint32_t column, int64_t key, lb_error *err)
{
    heap_item item = { key, column };
    LB_TRY(lb_buf_append(&w->heap, &item, sizeof item, err));
    heap_item *items = (heap_item *)(void *)w->heap.data;
    for (size_t at = w->heap.size / sizeof item - 1; at > 0 && items[(at - 1) / 2].key < items[at].key;
         at = (at - 1) / 2) {
        item = items[at];
        items[at] = items[(at - 1) / 2];
        items[(at - 1) / 2] = item;
    }
    return LB_OK;
}

static heap_item heap_pop(trail_walk *w)
{
    heap_item *items = (heap_item *)(void *)w->heap.data, top = items[0];
    size_t n = w->heap.size / sizeof top - 1;
    items[0] = items[n];
    w->heap.size = n * sizeof top;
    heap_sink(items, n, 0);
    return top;
}

/* The far ends of an edge. */
static uint32_t far_ends(const trail_walk *w, const lb_trail_edge *e, const uint32_t **ends)
{
    *ends = w->way == LB_TRAIL_UPSTREAM ? e->sources : e->targets;
    return w->way == LB_TRAIL_UPSTREAM ? e->n_sources : e->n_targets;
}

static const uint32_t *near_edges(const trail_walk *w, uint32_t column, uint32_t *count)
{
    const trail_index *index = &w->t->by_end[w->way == LB_TRAIL_UPSTREAM ? 0 : 1];
    *count = index->first[column + 1] - index->first[column];
    return index->items + index->first[column];
}

/* First pass: the best key of every column, greatest first, so that each edge is gone over once. */
static lb_status walk_times(trail_walk *w, uint32_t from, lb_error *err)
{
    w->best[from] = INT64_MAX;
    LB_TRY(heap_push(w, from, INT64_MAX, err));
    while (w->heap.size > 0) {
        heap_item item = heap_pop(w);
        uint32_t n, n_ends;
        const uint32_t *edges = near_edges(w, item.column, &n), *ends;
        if (item.key < w->best[item.column])
            continue;
        for (uint32_t i = 0; i < n; i++) {
            const lb_trail_edge *e = lb_trail_edge_at(w->t, edges[i]);
            if (w->done[edges[i]] || !edge_counts(w, e, item.key))
                continue;
            w->done[edges[i]] = true;
            int64_t key = edge_key(w, e, item.key);
            n_ends = far_ends(w, e, &ends);
            for (uint32_t k = 0; k < n_ends; k++)
                if (key > w->best[ends[k]]) {
                    w->best[ends[k]] = key;
                    LB_TRY(heap_push(w, ends[k], key, err));
                }
        }
    }
    return LB_OK;
}

static void reach(trail_walk *w, uint32_t column, uint32_t depth, uint32_t edge, uint32_t toward)
{
    if (w->depth[column] != TRAIL_NONE)
        return;
    w->depth[column] = depth;
    w->edge[column] = edge;
    w->toward[column] = toward;
    w->queue[w->n_queue++] = column;
}

/* Second pass: how many steps each is away, over the edges that count. */
static void walk_depths(trail_walk *w, uint32_t from)
{
    memset(w->done, 0, lb_trail_edges(w->t) * sizeof *w->done);
    reach(w, from, 0, TRAIL_NONE, TRAIL_NONE);
    for (uint32_t at = 0; at < w->n_queue; at++) {
        uint32_t column = w->queue[at], depth = w->depth[column], n, n_ends;
        const uint32_t *edges = near_edges(w, column, &n), *ends;
        for (uint32_t i = 0; i < n && (w->limit == 0 || depth < w->limit); i++) {
            const lb_trail_edge *e = lb_trail_edge_at(w->t, edges[i]);
            if (w->done[edges[i]] || !edge_counts(w, e, w->best[column]))
                continue;
            w->done[edges[i]] = true;
            n_ends = far_ends(w, e, &ends);
            for (uint32_t k = 0; k < n_ends; k++)
                reach(w, ends[k], depth + 1, edges[i], column);
        }
    }
}

static lb_status walk_room(trail_walk *w, lb_arena *arena, lb_error *err)
{
    size_t n = (size_t)lb_trail_columns(w->t) + 1, n_edges = (size_t)lb_trail_edges(w->t) + 1;
    w->best = lb_arena_alloc(arena, n, sizeof *w->best);
    w->done = lb_arena_alloc(arena, n_edges, sizeof *w->done);
    w->queue = lb_arena_alloc(arena, n, sizeof *w->queue);
    w->depth = lb_arena_alloc(arena, n, sizeof *w->depth);
    w->edge = lb_arena_alloc(arena, n, sizeof *w->edge);
    w->toward = lb_arena_alloc(arena, n, sizeof *w->toward);
    if (w->best == NULL || w->done == NULL || w->queue == NULL || w->depth == NULL || w->edge == NULL ||
        w->toward == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        w->best[i] = INT64_MIN;
        w->depth[i] = TRAIL_NONE;
    }
    return LB_OK;
}

static lb_status walk(trail_walk *w, uint32_t from, lb_arena *arena, lb_error *err)
{
    LB_TRY(walk_room(w, arena, err));
    lb_buf_init(&w->heap, arena->budget);
    lb_status status = walk_times(w, from, err);
    lb_buf_free(&w->heap);
    if (status == LB_OK)
        walk_depths(w, from);
    return status;
}

/* ---------------------------------------------------------------- the answer */

static int by_depth(const void *a, const void *b, void *trail)
{
    const lb_trail_step *x = a, *y = b;
    const lb_trail_column *columns = columns_of(trail);
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    int order = lb_str_compare(columns[x->column].name, columns[y->column].name);
    return order != 0 ? order : (x->column > y->column) - (x->column < y->column);
}

static lb_trail_step step_of(const trail_walk *w, uint32_t column, bool value)
{
    return (lb_trail_step){ .column = column,
                            .depth = w->depth[column],
                            .value = value,
                            .edge = w->edge[column],
                            .toward = w->toward[column] };
}

static lb_status collect_edges(const trail_walk *w, lb_arena *arena, lb_trail_answer *out, lb_error *err)
{
    uint32_t n = lb_trail_edges(w->t);
    out->edges = lb_arena_alloc(arena, (size_t)n + 1, sizeof *out->edges);
    if (out->edges == NULL)
        return lb_arena_fail(arena, err);
    for (uint32_t i = 0; i < n; i++)
        if (w->done[i])
            out->edges[out->n_edges++] = i;
    return LB_OK;
}

/* Columns reached by values have the depth of that way; the others that of any. */
static lb_status collect(const lb_trail *t, const trail_walk *values, const trail_walk *all, lb_arena *arena,
                         lb_trail_answer *out, lb_error *err)
{
    out->steps = lb_arena_alloc(arena, (size_t)all->n_queue + 1, sizeof *out->steps);
    if (out->steps == NULL)
        return lb_arena_fail(arena, err);
    for (uint32_t i = 0; i < all->n_queue; i++) {
        uint32_t column = all->queue[i];
        bool value = values->depth[column] != TRAIL_NONE;
        out->steps[out->n_steps++] = step_of(value ? values : all, column, value);
    }
    qsort_r(out->steps, out->n_steps, sizeof *out->steps, by_depth, (void *)(uintptr_t)t);
    return collect_edges(all, arena, out, err);
}

lb_status lb_trail_follow(lb_trail *t, uint32_t column, lb_trail_way way, bool values_only, uint32_t depth,
                          lb_arena *arena, lb_trail_answer *out, lb_error *err)
{
    trail_walk values = { .t = t, .way = way, .values_only = true, .limit = depth };
    trail_walk all = { .t = t, .way = way, .limit = depth };
    *out = (lb_trail_answer){ .n_steps = 0 };
    LB_TRY(ensure_index(t, err));
    LB_TRY(walk(&values, column, arena, err));
    if (values_only)
        return collect(t, &values, &values, arena, out, err);
    LB_TRY(walk(&all, column, arena, err));
    return collect(t, &values, &all, arena, out, err);
}
