/* lakebed.h's calls for catalogs, traces and graphs. */
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/context.h"
#include "lineage/lineage.h"
#include "lineage/lineage_dot.h"
#include "lineage/lineage_json.h"
#include "lineage/lineage_thrift.h"

/* Fill the caller's struct as far as it is one of this version. */
#define API_OUT(out, from)                                            \
    do {                                                              \
        size_t api_size_ = LB_MIN((out)->struct_size, sizeof *(out)); \
        (from).struct_size = (out)->struct_size;                      \
        memcpy((out), &(from), api_size_);                            \
    } while (0)

static lb_span span_of(lb_str text)
{
    return (lb_span){ text.at, text.size };
}

/* ---------------------------------------------------------------- catalogs */

lb_status lb_catalog_new(lb_context *cx, lb_catalog **out, lb_error *err)
{
    lb_error_clear(err);
    return lb_catalog_make(&cx->budget, out, err);
}

/* The first byte that is no blank, behind a byte-order mark. */
static char first_byte(const char *text, size_t size)
{
    size_t at = size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (at < size && strchr(" \t\r\n", text[at]) != NULL && text[at] != '\0')
        at++;
    return at < size ? text[at] : '\0';
}

lb_status lb_catalog_add(lb_catalog *catalog, const char *text, size_t size, const char *default_db, lb_error *err)
{
    char first = first_byte(text, size);
    lb_error_clear(err);
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        size -= 3;
    }
    if (first == '{' || first == '[')
        return lb_catalog_read_json(catalog, text, size, err);
    return lb_catalog_read_ddl(catalog, text, size, lb_str_of(default_db == NULL ? "default" : default_db), err);
}

lb_status lb_catalog_add_table(lb_catalog *catalog, const lb_catalog_table_info *table, lb_error *err)
{
    lb_error_clear(err);
    lb_catalog_column_spec *columns = calloc(table->n_columns + 1, sizeof *columns);
    if (columns == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < table->n_columns; i++)
        columns[i] = (lb_catalog_column_spec){ .name = table->columns[i].name,
                                               .type = table->columns[i].type,
                                               .partition = table->columns[i].partition,
                                               .hidden = table->columns[i].hidden };
    lb_catalog_spec spec = { .db = table->db,
                             .name = table->name,
                             .type = table->type,
                             .location = table->location,
                             .create_time = table->create_time,
                             .view_sql = table->view_sql,
                             .columns = columns,
                             .n_columns = table->n_columns };
    lb_status status = lb_catalog_put(catalog, &spec, err);
    free(columns);
    return status;
}

size_t lb_catalog_size(const lb_catalog *catalog)
{
    return lb_catalog_count(catalog);
}

/* ---------------------------------------------------------------- traces */

struct lb_trace {
    lb_context *cx;
    lb_arena arena; /* of the options' texts */
    lb_lineage_run *run;
    const lb_lineage_result *result;
};

static lb_status random_id(uint64_t *hi, uint64_t *lo, lb_error *err)
{
    uint64_t words[2];
    if (getrandom(words, sizeof words, 0) != (ssize_t)sizeof words)
        return lb_fail(err, LB_IO, LB_NOWHERE, "the system gives no random numbers");
    *hi = words[0];
    *lo = words[1];
    return LB_OK;
}

static lb_status copy_option(lb_trace *t, const char *text, lb_str *out, lb_error *err)
{
    const char *copy = lb_arena_copy(&t->arena, lb_str_of(text == NULL ? "" : text));
    if (copy == NULL)
        return lb_arena_fail(&t->arena, err);
    *out = lb_str_of(copy);
    return LB_OK;
}

static lb_status read_query_id(const char *text, lb_lineage_options *to, lb_error *err)
{
    if (text == NULL)
        return random_id(&to->query_id_hi, &to->query_id_lo, err);
    if (lb_query_id_parse(lb_str_of(text), &to->query_id_hi, &to->query_id_lo))
        return LB_OK;
    return lb_fail(err, LB_USAGE, LB_NOWHERE,
                   "a query id is two hexadecimal numbers of up to 16 digits with a colon between, not \"%s\"", text);
}

static lb_status trace_begin(lb_trace *t, const lb_trace_options *o, const char *text, size_t size, lb_error *err)
{
    int64_t now = lb_now_ns() / 1000000000;
    lb_lineage_options to = { .catalog = o->catalog,
                              .budget = &t->cx->budget,
                              .expand_complex_types = o->expand_complex_types,
                              .expr_rewrites = o->expr_rewrites,
                              .keep_newlines = o->keep_newlines,
                              .strict = o->strict,
                              .started = o->started == 0 ? now : o->started,
                              .ended = o->ended == 0 ? now : o->ended };
    LB_TRY(copy_option(t, o->default_db, &to.default_db, err));
    LB_TRY(copy_option(t, o->warehouse, &to.warehouse, err));
    LB_TRY(copy_option(t, o->user, &to.user, err));
    LB_TRY(read_query_id(o->query_id, &to, err));
    return lb_lineage_open(&to, text, size, &t->run, err);
}

lb_status lb_trace_open(lb_context *cx, const lb_trace_options *options, const char *text, size_t size, lb_trace **out,
                        lb_error *err)
{
    lb_trace_options all = { .struct_size = sizeof all };
    lb_error_clear(err);
    *out = NULL;
    if (options != NULL)
        memcpy(&all, options, LB_MIN(options->struct_size, sizeof all));
    lb_trace *t = calloc(1, sizeof *t);
    if (t == NULL)
        return lb_fail_nomem(err);
    t->cx = cx;
    lb_arena_init(&t->arena, &cx->budget);
    lb_status status = trace_begin(t, &all, text, size, err);
    if (status == LB_OK)
        *out = t;
    else
        lb_trace_close(t);
    return status;
}

lb_status lb_trace_next(lb_trace *t, lb_trace_info *out, bool *done, lb_error *err)
{
    lb_error_clear(err);
    *done = true;
    t->result = NULL;
    LB_TRY(lb_check_cancel(t->cx, err));
    LB_TRY(lb_lineage_next(t->run, &t->result, err));
    if (t->result == NULL)
        return LB_OK;
    const lb_lineage_result *r = t->result;
    lb_trace_info info = { .begin = r->begin,
                           .end = r->end,
                           .status = r->status,
                           .error = r->status == LB_OK ? NULL : r->error,
                           .graph = r->graph,
                           .unknown_tables = r->n_unknown_tables,
                           .unknown_columns = r->n_unknown_columns,
                           .ambiguous_columns = r->n_ambiguous_columns,
                           .marks = r->n_marks };
    API_OUT(out, info);
    *done = false;
    return LB_OK;
}

lb_status lb_trace_mark(const lb_trace *t, uint64_t index, lb_mark_info *out, lb_error *err)
{
    lb_error_clear(err);
    if (t->result == NULL || index >= t->result->n_marks)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "there is no such mark");
    const lb_lineage_mark *m = &t->result->marks[index];
    lb_mark_info info = {
        .kind = (lb_mark_kind)m->kind, .offset = m->offset, .name = span_of(m->name), .view = span_of(m->view)
    };
    API_OUT(out, info);
    return LB_OK;
}

void lb_trace_close(lb_trace *t)
{
    if (t == NULL)
        return;
    lb_lineage_close(t->run);
    lb_arena_free(&t->arena);
    free(t);
}

/* ---------------------------------------------------------------- graphs */

lb_status lb_lineage_get_info(const lb_lineage_graph *g, lb_lineage_info *out, lb_error *err)
{
    lb_error_clear(err);
    lb_lineage_info info = { .query_text = span_of(g->query_text),
                             .operation = span_of(g->operation_type),
                             .user = span_of(g->user),
                             .hash = span_of(g->hash),
                             .location = span_of(g->table_location),
                             .target = span_of(g->target_table),
                             .target_type = span_of(g->target_type),
                             .started = g->started,
                             .ended = g->has_ended ? g->ended : -1,
                             .vertices = g->n_vertices,
                             .edges = g->n_edges };
    lb_query_id_print(g->query_id_hi, g->query_id_lo, info.query_id);
    API_OUT(out, info);
    return LB_OK;
}

static lb_status no_such(const char *what, uint64_t index, lb_error *err)
{
    return lb_fail(err, LB_USAGE, LB_NOWHERE, "there is no %s %llu", what, (unsigned long long)index);
}

lb_status lb_lineage_vertex_at(const lb_lineage_graph *g, uint64_t vertex, lb_vertex_info *out, lb_error *err)
{
    lb_error_clear(err);
    if (vertex >= g->n_vertices)
        return no_such("vertex", vertex, err);
    const lb_lineage_vertex *v = &g->vertices[vertex];
    lb_vertex_info info = { .label = span_of(v->label),
                            .create_time = v->has_metadata ? v->create_time : -1,
                            .target = v->is_target,
                            .unresolved = v->unresolved };
    if (v->has_metadata) {
        info.table = span_of(v->table_name);
        info.table_type = span_of(v->table_type);
    }
    API_OUT(out, info);
    return LB_OK;
}

lb_status lb_lineage_edge_at(const lb_lineage_graph *g, uint64_t edge, lb_edge_info *out, lb_error *err)
{
    lb_error_clear(err);
    if (edge >= g->n_edges)
        return no_such("edge", edge, err);
    lb_edge_info info = { .kind = g->edges[edge].type == LB_LINEAGE_PREDICATE ? LB_EDGE_PREDICATE : LB_EDGE_PROJECTION,
                          .sources = g->edges[edge].n_sources,
                          .targets = g->edges[edge].n_targets };
    API_OUT(out, info);
    return LB_OK;
}

lb_status lb_lineage_source_at(const lb_lineage_graph *g, uint64_t edge, uint64_t index, uint64_t *vertex,
                               lb_error *err)
{
    lb_error_clear(err);
    if (edge >= g->n_edges || index >= g->edges[edge].n_sources)
        return no_such("source", index, err);
    *vertex = g->edges[edge].sources[index].vertex;
    return LB_OK;
}

lb_status lb_lineage_target_at(const lb_lineage_graph *g, uint64_t edge, uint64_t index, uint64_t *vertex,
                               lb_error *err)
{
    lb_error_clear(err);
    if (edge >= g->n_edges || index >= g->edges[edge].n_targets)
        return no_such("target", index, err);
    *vertex = g->edges[edge].targets[index];
    return LB_OK;
}

/* ---------------------------------------------------------------- forms */

static lb_status write_thrift(const lb_lineage_graph *g, lb_buf *out, lb_error *err)
{
    return lb_lineage_thrift_write(LB_THRIFT_BINARY, g, out, err);
}

static lb_status write_compact(const lb_lineage_graph *g, lb_buf *out, lb_error *err)
{
    return lb_lineage_thrift_write(LB_THRIFT_COMPACT, g, out, err);
}

static const struct {
    const char *name;
    lb_status (*write)(const lb_lineage_graph *g, lb_buf *out, lb_error *err);
} forms[] = {
    { "impala", lb_lineage_json_write },
    { "thrift", write_thrift },
    { "thrift-compact", write_compact },
    { "dot", lb_lineage_dot_write },
};

const char *lb_lineage_forms(void)
{
    return "impala thrift thrift-compact dot";
}

static lb_status no_form(const char *form, lb_error *err)
{
    static const char *const later[] = { "openlineage", "html" };
    for (size_t i = 0; i < LB_COUNT_OF(later); i++)
        if (strcmp(form, later[i]) == 0) {
            lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "lineage is not written as %s yet", form);
            lb_fail_hint(err, "there are: %s", lb_lineage_forms());
            return LB_UNSUPPORTED;
        }
    return lb_fail(err, LB_USAGE, LB_NOWHERE, "lineage is written as one of %s, not \"%s\"", lb_lineage_forms(), form);
}

lb_status lb_lineage_write(const lb_lineage_graph *g, const char *form, lb_write_fn write, void *user, lb_error *err)
{
    lb_buf out;
    size_t i = 0;
    lb_error_clear(err);
    while (i < LB_COUNT_OF(forms) && strcmp(forms[i].name, form) != 0)
        i++;
    if (i == LB_COUNT_OF(forms))
        return no_form(form, err);
    lb_buf_init(&out, NULL);
    lb_status status = forms[i].write(g, &out, err);
    if (status == LB_OK && !write(user, out.data, out.size))
        status = lb_fail(err, LB_IO, LB_NOWHERE, "the output could not be written");
    lb_buf_free(&out);
    return status;
}
