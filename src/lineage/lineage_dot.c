#include "lineage/lineage_dot.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "lineage/lineage_json.h"
#include "lineage/lineage_record.h"

#define DOT_TITLE 300 /* bytes of a query's text that stand over the picture */

typedef struct dot_node {
    lb_str table; /* empty: in no box */
    lb_str type, label;
    uint32_t id; /* n<id> in the picture */
    const char *style;
} dot_node;

typedef struct dot_writer {
    lb_buf *out;
    lb_error *err;
    uint32_t points; /* made so far */
} dot_writer;

/* ---------------------------------------------------------------- text */

/* Inside the quotes: a backslash would be an escape, bytes that are no text would be refused. */
static lb_status write_escaped(dot_writer *w, lb_str text)
{
    const uint8_t *at = (const uint8_t *)text.at;
    for (size_t left = text.size; left > 0;) {
        uint32_t c;
        size_t n = lb_utf8_decode(at, left, &c);
        LB_TRY(lb_buf_reserve(w->out, 4, w->err));
        if (c == '"' || c == '\\')
            lb_buf_putc(w->out, '\\');
        if (c == '\n' || c == '\r' || c == '\t')
            lb_buf_putc(w->out, ' ');
        else if (c < 0x20 || c == 0x7F || (c == 0xFFFD && n == 1))
            lb_buf_put(w->out, "\xEF\xBF\xBD", 3);
        else
            lb_buf_put(w->out, at, n);
        at += n;
        left -= n;
    }
    return LB_OK;
}

static lb_status write_quoted(dot_writer *w, lb_str text)
{
    LB_TRY(lb_buf_append(w->out, "\"", 1, w->err));
    LB_TRY(write_escaped(w, text));
    return lb_buf_append(w->out, "\"", 1, w->err);
}

static lb_status begin(dot_writer *w, lb_str title)
{
    bool cut = title.size > DOT_TITLE;
    if (cut)
        title.size = DOT_TITLE - lb_utf8_cut_tail((const uint8_t *)title.at, DOT_TITLE);
    LB_TRY(lb_buf_append_str(w->out, "digraph lineage {\n    rankdir=LR;\n    labelloc=t;\n    label=\"", w->err));
    LB_TRY(write_escaped(w, title));
    return lb_buf_printf(w->out, w->err,
                         "%s\";\n    fontname=\"Helvetica\";\n"
                         "    node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\"];\n",
                         cut ? " …" : "");
}

/* ---------------------------------------------------------------- nodes */

static int by_table(const void *a, const void *b)
{
    const dot_node *x = a, *y = b;
    int order = lb_str_compare(x->table, y->table);
    return order != 0 ? order : (x->id > y->id) - (x->id < y->id);
}

static lb_status write_node(dot_writer *w, const dot_node *node, const char *indent)
{
    LB_TRY(lb_buf_printf(w->out, w->err, "%sn%" PRIu32 " [label=", indent, node->id));
    LB_TRY(write_quoted(w, node->label));
    return lb_buf_printf(w->out, w->err, "%s];\n", node->style);
}

static lb_status begin_box(dot_writer *w, const dot_node *node, uint32_t number)
{
    LB_TRY(lb_buf_printf(w->out, w->err, "    subgraph cluster_%" PRIu32 " {\n        label=\"", number));
    LB_TRY(write_escaped(w, node->table));
    if (node->type.size != 0) {
        LB_TRY(lb_buf_append_str(w->out, " (", w->err));
        LB_TRY(write_escaped(w, node->type));
        LB_TRY(lb_buf_append_str(w->out, ")", w->err));
    }
    return lb_buf_append_str(w->out, "\";\n        style=\"rounded,filled\";\n        fillcolor=\"#eef2f7\";\n",
                             w->err);
}

/* Nodes by table, each table's in a box. Sorts them. */
static lb_status write_nodes(dot_writer *w, dot_node *nodes, size_t n)
{
    uint32_t boxes = 0;
    if (n > 0)
        qsort(nodes, n, sizeof *nodes, by_table);
    for (size_t i = 0; i < n; i++) {
        bool in_box = nodes[i].table.size != 0;
        if (in_box && (i == 0 || !lb_str_equal(nodes[i].table, nodes[i - 1].table)))
            LB_TRY(begin_box(w, &nodes[i], boxes++));
        LB_TRY(write_node(w, &nodes[i], in_box ? "        " : "    "));
        if (in_box && (i + 1 == n || !lb_str_equal(nodes[i].table, nodes[i + 1].table)))
            LB_TRY(lb_buf_append_str(w->out, "    }\n", w->err));
    }
    return LB_OK;
}

/* The column's name without its table's. */
static lb_str short_label(lb_str label, lb_str table)
{
    if (table.size != 0 && label.size > table.size + 1 && label.at[table.size] == '.' &&
        memcmp(label.at, table.at, table.size) == 0)
        return (lb_str){ label.at + table.size + 1, label.size - table.size - 1 };
    return label;
}

/* ---------------------------------------------------------------- edges */

static lb_status write_arrow(dot_writer *w, const char *from, uint32_t a, const char *to, uint32_t b, const char *style)
{
    return lb_buf_printf(w->out, w->err, "    %s%" PRIu32 " -> %s%" PRIu32 "%s;\n", from, a, to, b, style);
}

typedef struct dot_ends {
    const uint32_t *ids;
    size_t n;
} dot_ends;

static lb_status write_edge(dot_writer *w, dot_ends sources, dot_ends targets, bool dashed)
{
    const char *style = dashed ? " [style=dashed, color=\"#888888\"]" : "";
    if (sources.n * targets.n <= sources.n + targets.n) {
        for (size_t i = 0; i < sources.n; i++)
            for (size_t k = 0; k < targets.n; k++)
                LB_TRY(write_arrow(w, "n", sources.ids[i], "n", targets.ids[k], style));
        return LB_OK;
    }
    uint32_t point = w->points++;
    LB_TRY(lb_buf_printf(w->out, w->err, "    p%" PRIu32 " [shape=point];\n", point));
    const char *headless = dashed ? " [style=dashed, color=\"#888888\", arrowhead=none]" : " [arrowhead=none]";
    for (size_t i = 0; i < sources.n; i++)
        LB_TRY(write_arrow(w, "n", sources.ids[i], "p", point, headless));
    for (size_t k = 0; k < targets.n; k++)
        LB_TRY(write_arrow(w, "p", point, "n", targets.ids[k], style));
    return LB_OK;
}

/* ---------------------------------------------------------------- a statement */

static lb_status write_vertices(dot_writer *w, const lb_lineage_graph *g, lb_arena *arena)
{
    dot_node *nodes = lb_arena_alloc(arena, (size_t)g->n_vertices + 1, sizeof *nodes);
    if (nodes == NULL)
        return lb_arena_fail(arena, w->err);
    for (uint32_t i = 0; i < g->n_vertices; i++) {
        const lb_lineage_vertex *v = &g->vertices[i];
        lb_str table = lb_vertex_table(v);
        nodes[i] = (dot_node){ .table = v->is_target && table.size == 0 ? LB_STR("result") : table,
                               .type = v->has_metadata ? v->table_type : (lb_str){ NULL, 0 },
                               .label = short_label(v->label, table),
                               .id = i,
                               .style = v->unresolved ? ", style=\"rounded,dashed\"" : "" };
    }
    return write_nodes(w, nodes, g->n_vertices);
}

static lb_status write_edges(dot_writer *w, const lb_lineage_graph *g, lb_arena *arena)
{
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const lb_lineage_edge *e = &g->edges[i];
        uint32_t *sources = lb_arena_alloc(arena, (size_t)e->n_sources + 1, sizeof *sources);
        if (sources == NULL)
            return lb_arena_fail(arena, w->err);
        for (uint32_t k = 0; k < e->n_sources; k++)
            sources[k] = e->sources[k].vertex;
        LB_TRY(write_edge(w, (dot_ends){ sources, e->n_sources }, (dot_ends){ e->targets, e->n_targets },
                          e->type == LB_LINEAGE_PREDICATE));
    }
    return lb_buf_append_str(w->out, "}\n", w->err);
}

lb_status lb_lineage_dot_write(const lb_lineage_graph *g, lb_buf *out, lb_error *err)
{
    lb_arena arena;
    dot_writer w = { .out = out, .err = err };
    lb_arena_init(&arena, out->budget);
    lb_status status = begin(&w, g->query_text);
    if (status == LB_OK)
        status = write_vertices(&w, g, &arena);
    if (status == LB_OK)
        status = write_edges(&w, g, &arena);
    lb_arena_free(&arena);
    return status;
}

/* ---------------------------------------------------------------- an answer */

static lb_status write_steps(dot_writer *w, const lb_trail *t, const lb_trail_answer *answer, bool *shown,
                             lb_arena *arena)
{
    dot_node *nodes = lb_arena_alloc(arena, answer->n_steps + 1, sizeof *nodes);
    if (nodes == NULL)
        return lb_arena_fail(arena, w->err);
    for (size_t i = 0; i < answer->n_steps; i++) {
        const lb_trail_step *step = &answer->steps[i];
        const lb_trail_column *c = lb_trail_column_at(t, step->column);
        lb_str table = c->table;
        if (c->result) {
            char id[LB_QUERY_ID_TEXT];
            const lb_trail_statement *s = lb_trail_statement_at(t, c->of);
            lb_query_id_print(s->query_id_hi, s->query_id_lo, id);
            const char *name = lb_arena_copy(arena, (lb_str){ id, LB_QUERY_ID_TEXT - 1 });
            if (name == NULL)
                return lb_arena_fail(arena, w->err);
            table = (lb_str){ name, LB_QUERY_ID_TEXT - 1 };
        }
        shown[step->column] = true;
        nodes[i] = (dot_node){ .table = table,
                               .type = c->result ? LB_STR("result") : c->type,
                               .label = short_label(c->name, table),
                               .id = step->column,
                               .style = step->depth == 0 ? ", fillcolor=\"#ffe9a8\"" : "" };
    }
    return write_nodes(w, nodes, answer->n_steps);
}

/* The ends that are in the picture. */
static dot_ends shown_ends(const uint32_t *ids, uint32_t n, const bool *shown, lb_arena *arena)
{
    uint32_t *kept = lb_arena_alloc(arena, (size_t)n + 1, sizeof *kept);
    dot_ends ends = { kept, 0 };
    for (uint32_t i = 0; kept != NULL && i < n; i++)
        if (shown[ids[i]])
            kept[ends.n++] = ids[i];
    return ends;
}

static lb_status write_trail(dot_writer *w, const lb_trail *t, const lb_trail_answer *answer, lb_arena *arena)
{
    bool *shown = lb_arena_alloc(arena, (size_t)lb_trail_columns(t) + 1, sizeof *shown);
    if (shown == NULL)
        return lb_arena_fail(arena, w->err);
    LB_TRY(begin(w, lb_trail_column_at(t, answer->steps[0].column)->name));
    LB_TRY(write_steps(w, t, answer, shown, arena));
    for (size_t i = 0; i < answer->n_edges; i++) {
        const lb_trail_edge *e = lb_trail_edge_at(t, answer->edges[i]);
        dot_ends sources = shown_ends(e->sources, e->n_sources, shown, arena);
        dot_ends targets = shown_ends(e->targets, e->n_targets, shown, arena);
        if (sources.ids == NULL || targets.ids == NULL)
            return lb_arena_fail(arena, w->err);
        LB_TRY(write_edge(w, sources, targets, e->type == LB_LINEAGE_PREDICATE));
    }
    return lb_buf_append_str(w->out, "}\n", w->err);
}

lb_status lb_trail_dot_write(const lb_trail *t, const lb_trail_answer *answer, lb_buf *out, lb_error *err)
{
    lb_arena arena;
    dot_writer w = { .out = out, .err = err };
    lb_arena_init(&arena, out->budget);
    lb_status status = write_trail(&w, t, answer, &arena);
    lb_arena_free(&arena);
    return status;
}
