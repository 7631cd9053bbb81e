/* Scripts: one statement after the other, each with what the earlier ones made. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/murmur3.h"
#include "lineage/lineage_private.h"

struct lb_view_cache {
    lb_arena *arena;
    lb_text_map map; /* view → place in queries */
    const lb_sql_query **queries;
    uint32_t n, cap;
};

struct lb_lineage_run {
    lb_lineage_options options;
    lb_str text, db;
    lb_arena trees; /* the script's tree, and those of views */
    lb_sql_script script;
    const lb_sql_statement *next;
    const lb_sql_problem *problem; /* the next that no statement was told yet */
    uint64_t done;                 /* statements so far */
    uint64_t at;                   /* behind the last semicolon */
    lb_catalog *own;               /* what the script made */
    bool own_is_lent;
    struct lb_view_cache views;
    lb_arena arena; /* of the statement at hand */
    lb_buf scratch;
    lb_lineage_result result;
    lb_lineage_graph graph;
    lb_error error;
};

/* ---- views */

lb_status lb_view_cache_get(lb_view_cache *cache, const lb_catalog_table *view, lb_sql_dialect dialect,
                            const lb_sql_query **out, lb_error *err)
{
    uint32_t at = lb_text_map_find(&cache->map, view, view->full_name);
    lb_sql_query *query;
    bool there;

    if (at != LB_NONE) {
        *out = cache->queries[at];
        return LB_OK;
    }
    LB_TRY(lb_sql_parse_query(view->view_sql, dialect, cache->arena, &query, err));
    if (cache->n == cache->cap) {
        uint32_t cap = cache->cap == 0 ? 16 : cache->cap * 2;
        const lb_sql_query **bigger = lb_arena_alloc(cache->arena, cap, sizeof(lb_sql_query *));
        if (bigger == NULL)
            return lb_arena_fail(cache->arena, err);
        if (cache->n != 0)
            memcpy(bigger, cache->queries, cache->n * sizeof(lb_sql_query *));
        cache->queries = bigger;
        cache->cap = cap;
    }
    uint32_t *place = lb_text_map_put(&cache->map, cache->arena, view, view->full_name, &there);
    if (place == NULL)
        return lb_arena_fail(cache->arena, err);
    cache->queries[cache->n] = *out = query;
    *place = cache->n++;
    return LB_OK;
}

/* ---- marks */

lb_status lb_analysis_mark(lb_analysis *an, lb_lineage_mark_kind kind, uint32_t begin, uint32_t end)
{
    const lb_catalog_table *view = an->source.view;
    const lb_str at = lb_sql_text(an->source.text, begin, end);
    bool there;

    /* Parts that are analysed again, as those of a recursive entry, are told once. The address tells places apart. */
    lb_str key = { (const char *)at.at, at.size };
    uint32_t *place = lb_text_map_put(&an->marked, an->arena, at.at, key, &there);
    if (place == NULL)
        return lb_analysis_nomem(an);
    if (there)
        return LB_OK;
    *place = 0;
    an->n_unknown_tables += kind == LB_LINEAGE_UNKNOWN_TABLE;
    an->n_unknown_columns += kind == LB_LINEAGE_UNKNOWN_COLUMN;
    an->n_ambiguous_columns += kind == LB_LINEAGE_AMBIGUOUS_COLUMN;
    if (an->n_marks == LB_LINEAGE_MARK_LIMIT)
        return LB_OK;
    LB_TRY(lb_analysis_room(an, &an->marks, an->n_marks, &an->cap_marks, sizeof *an->marks));
    an->marks[an->n_marks++] = (lb_lineage_mark){ .kind = kind,
                                                  .offset = view != NULL ? an->source.view_begin : begin,
                                                  .name = at,
                                                  .view = view != NULL ? view->full_name : (lb_str){ NULL, 0 } };
    return LB_OK;
}

static int run_compare_marks(const void *a, const void *b)
{
    const lb_lineage_mark *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    int c = lb_str_compare(x->view, y->view);
    return c != 0 ? c : lb_str_compare(x->name, y->name);
}

/* ---- the statement's bytes */

static bool run_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/* Step over a comment; at the byte itself if there is none. */
static uint64_t run_comment(lb_str text, uint64_t at)
{
    if (text.size - at < 2)
        return at;
    if (text.at[at] == '-' && text.at[at + 1] == '-') {
        const char *end = memchr(text.at + at, '\n', text.size - at);
        return end == NULL ? text.size : (uint64_t)(end - text.at);
    }
    if (text.at[at] != '/' || text.at[at + 1] != '*')
        return at;
    for (at += 2; at + 1 < text.size; at++)
        if (text.at[at] == '*' && text.at[at + 1] == '/')
            return at + 2;
    return text.size;
}

/* From `at` over blanks and comments up to `end`: *begin is moved behind each semicolon. Ends at the first semicolon
 * where `stop`. */
static uint64_t run_skip(lb_str text, uint64_t at, uint64_t end, bool stop, uint64_t *begin)
{
    while (at < end) {
        uint64_t behind = run_comment(text, at);
        if (behind != at) {
            at = behind;
            continue;
        }
        if (text.at[at] == ';') {
            if (stop)
                break;
            *begin = at + 1;
        }
        at++;
    }
    return LB_MIN(at, end);
}

/* The bytes of a statement: from behind the semicolon before it to its own, with the comments but without the blanks
 * around it. */
static void run_bytes(lb_lineage_run *run, const lb_sql_statement *statement, uint64_t *begin, uint64_t *end)
{
    const lb_str text = run->text;
    uint64_t from = run->at, limit = statement->next == NULL ? text.size : statement->next->begin, unused;

    run_skip(text, run->at, statement->begin, false, &from);
    *end = statement->kind == LB_SQL_BAD ? statement->end : run_skip(text, statement->end, limit, true, &unused);
    run->at = LB_MAX(*end, statement->end);
    while (from < *end && run_is_blank(text.at[from]))
        from++;
    while (*end > from && run_is_blank(text.at[*end - 1]))
        (*end)--;
    *begin = from;
}

/* The text as it is recorded (lineage.md 2.2). */
static lb_status run_query_text(lb_lineage_run *run, lb_str text, lb_str *out)
{
    *out = text;
    if (run->options.keep_newlines || text.size == 0 || memchr(text.at, '\n', text.size) == NULL)
        return LB_OK;
    char *copy = lb_arena_copy(&run->arena, text);
    if (copy == NULL)
        return lb_arena_fail(&run->arena, &run->error);
    for (char *at = copy; (at = memchr(at, '\n', text.size - (size_t)(at - copy))) != NULL;)
        *at = ' ';
    *out = (lb_str){ copy, text.size };
    return LB_OK;
}

/* ---- one statement */

static lb_status run_facts(lb_lineage_run *run, lb_str text)
{
    lb_lineage_graph *g = &run->graph;
    uint8_t hash[LB_MURMUR3_SIZE];

    LB_TRY(run_query_text(run, text, &g->query_text));
    lb_murmur3_128_utf16(g->query_text.at, g->query_text.size, hash);
    char *hex = lb_arena_alloc(&run->arena, 2 * LB_MURMUR3_SIZE + 1, 1);
    if (hex == NULL)
        return lb_arena_fail(&run->arena, &run->error);
    lb_hex(hash, LB_MURMUR3_SIZE, hex);
    g->hash = (lb_str){ hex, 2 * LB_MURMUR3_SIZE };
    g->query_id_hi = run->options.query_id_hi;
    g->query_id_lo = run->options.query_id_lo + run->done;
    g->user = run->options.user;
    g->started = run->options.started;
    g->ended = LB_MAX(run->options.ended, run->options.started);
    g->has_ended = true;
    return LB_OK;
}

/* With `strict` a name that is not sure is an error. */
static lb_status run_strict(lb_lineage_run *run, const lb_analysis *an)
{
    static const char *const what[] = { [LB_LINEAGE_UNKNOWN_TABLE] = "no table or view of this name is known",
                                        [LB_LINEAGE_UNKNOWN_COLUMN] = "no relation here has such a column",
                                        [LB_LINEAGE_AMBIGUOUS_COLUMN] = "more than one column may be meant" };

    if (!run->options.strict || an->n_marks == 0)
        return LB_OK;
    const lb_lineage_mark *mark = &an->marks[0];
    return lb_fail(&run->error, LB_USAGE, LB_AT(mark->offset), "%.*s%s%.*s: %s", (int)LB_MIN(mark->name.size, 200),
                   mark->name.at, mark->view.size != 0 ? " in the view " : "", (int)LB_MIN(mark->view.size, 200),
                   mark->view.size != 0 ? mark->view.at : "", what[mark->kind]);
}

static void run_tell_marks(lb_lineage_run *run, lb_analysis *an)
{
    if (an->n_marks > 1)
        qsort(an->marks, an->n_marks, sizeof *an->marks, run_compare_marks);
    run->result.marks = an->marks;
    run->result.n_marks = an->n_marks;
    run->result.n_unknown_tables = an->n_unknown_tables;
    run->result.n_unknown_columns = an->n_unknown_columns;
    run->result.n_ambiguous_columns = an->n_ambiguous_columns;
}

static lb_status run_analyze(lb_lineage_run *run, const lb_sql_statement *statement, lb_str text)
{
    lb_record record;
    lb_analysis an = { .arena = &run->arena,
                       .options = &run->options,
                       .own = run->own,
                       .views = &run->views,
                       .source = { .text = run->text, .db = run->db },
                       .folds = run->options.expr_rewrites,
                       .scratch = &run->scratch,
                       .err = &run->error };

    LB_TRY(lb_flow_unit(&an, &an.main));
    an.unit = an.main;
    lb_status status = lb_statement_analyze(&an, statement, &record);
    run_tell_marks(run, &an);
    if (status == LB_OK)
        status = run_strict(run, &an);
    if (status == LB_OK && !record.leaves_none) {
        run->graph = (lb_lineage_graph){ 0 };
        LB_TRY(lb_graph_build(&an, &record, &run->graph));
        LB_TRY(run_facts(run, text));
        run->result.graph = &run->graph;
    }
    if (status == LB_OK)
        status = lb_ddl_apply(run->own, run->options.catalog, run->text, run->options.dialect, run->db, statement,
                              record.columns, &run->error);
    return status;
}

/* USE: names without a database are looked up there from now on. */
static lb_status run_use(lb_lineage_run *run, const lb_sql_statement *statement)
{
    if (statement->path.count == 0)
        return LB_OK;
    run->db = lb_lower_copy(&run->trees, statement->path.at[statement->path.count - 1].text, false);
    return run->db.at == NULL ? lb_arena_fail(&run->trees, &run->error) : LB_OK;
}

static lb_status run_bad(lb_lineage_run *run, const lb_sql_statement *statement)
{
    const lb_sql_problem *problem = run->problem;

    if (problem == NULL || problem->statement != statement)
        return lb_fail(&run->error, LB_USAGE, LB_AT(statement->begin), "the statement is not understood");
    run->problem = problem->next;
    return lb_sql_problem_fail(problem, &run->error);
}

static lb_status run_statement(lb_lineage_run *run, const lb_sql_statement *statement)
{
    lb_lineage_result *r = &run->result;

    run_bytes(run, statement, &r->begin, &r->end);
    if (statement->kind == LB_SQL_BAD)
        return run_bad(run, statement);
    if (statement->kind == LB_SQL_USE)
        return run_use(run, statement);
    return run_analyze(run, statement, lb_sql_text(run->text, (uint32_t)r->begin, (uint32_t)r->end));
}

lb_status lb_lineage_next(lb_lineage_run *run, const lb_lineage_result **out, lb_error *err)
{
    const lb_sql_statement *statement = run->next;
    lb_error *why = &run->error;
    uint32_t line, column;

    *out = NULL;
    lb_arena_free(&run->arena);
    if (statement == NULL)
        return LB_OK;
    lb_error_clear(why);
    run->result = (lb_lineage_result){ .error = why };
    run->result.status = run_statement(run, statement);
    if (run->result.status != LB_OK) {
        run->result.graph = NULL;
        if (why->offset >= 0 && why->line < 0) {
            lb_sql_place(run->text, (uint32_t)why->offset, &line, &column);
            why->line = line;
        }
    }
    run->next = statement->next;
    run->done++;
    if (run->result.status == LB_NOMEM)
        return lb_fail_nomem(err);
    *out = &run->result;
    return LB_OK;
}

/* ---- the script */

static lb_status run_open(const lb_lineage_options *options, lb_catalog *own, const char *text, size_t size,
                          lb_lineage_run **out, lb_error *err)
{
    lb_lineage_run *run = calloc(1, sizeof *run);
    lb_status status = LB_OK;

    *out = run;
    if (run == NULL)
        return lb_fail_nomem(err);
    run->options = *options;
    run->text = (lb_str){ text == NULL ? "" : text, size };
    lb_arena_init(&run->trees, options->budget);
    lb_arena_init(&run->arena, options->budget);
    lb_buf_init(&run->scratch, options->budget);
    run->views.arena = &run->trees;
    run->own = own;
    run->own_is_lent = own != NULL;
    if (own == NULL)
        status = lb_catalog_make(options->budget, &run->own, err);
    run->db = LB_STR("default");
    if (status == LB_OK && options->default_db.size != 0) {
        run->db = lb_lower_copy(&run->trees, options->default_db, false);
        if (run->db.at == NULL)
            status = lb_arena_fail(&run->trees, err);
    }
    if (status == LB_OK)
        status = lb_sql_parse(options->context, run->text, options->dialect, &run->trees, &run->script, err);
    if (status != LB_OK) {
        lb_lineage_close(run);
        *out = NULL;
        return status;
    }
    run->next = run->script.first;
    run->problem = run->script.problems;
    return LB_OK;
}

lb_status lb_lineage_open(const lb_lineage_options *options, const char *text, size_t size, lb_lineage_run **out,
                          lb_error *err)
{
    return run_open(options, NULL, text, size, out, err);
}

void lb_lineage_close(lb_lineage_run *run)
{
    if (run == NULL)
        return;
    if (!run->own_is_lent)
        lb_catalog_free(run->own);
    lb_arena_free(&run->arena);
    lb_arena_free(&run->trees);
    lb_buf_free(&run->scratch);
    free(run);
}

lb_status lb_catalog_read_ddl(lb_catalog *catalog, const char *text, size_t size, lb_str default_db, lb_error *err)
{
    const lb_lineage_options options = { .default_db = default_db, .budget = lb_catalog_arena(catalog)->budget };
    const lb_lineage_result *result;
    lb_lineage_run *run;

    LB_TRY(run_open(&options, catalog, text, size, &run, err));
    lb_status status = lb_lineage_next(run, &result, err);
    for (; status == LB_OK && result != NULL; status = lb_lineage_next(run, &result, err)) {
        if (result->status == LB_OK)
            continue;
        status = result->status == LB_USAGE ? LB_CORRUPT : result->status;
        if (err != NULL && err->code == LB_OK) {
            *err = *result->error;
            err->code = status;
        }
        break;
    }
    lb_lineage_close(run);
    return status;
}
