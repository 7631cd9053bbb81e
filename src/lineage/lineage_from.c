/* FROM → relations in scope: tables, stored views, WITH entries, collections, inline views, table functions, joins. */
#include "lineage/lineage_private.h"

/* ---- tables by name */

const lb_catalog_table *lb_analysis_find(const lb_analysis *an, lb_str db, lb_str name)
{
    const lb_catalog_table *table = lb_catalog_entry(an->own, db, name);

    if (table != NULL)
        return table->dropped ? NULL : table;
    return lb_catalog_find(an->options->catalog, db, name);
}

lb_status lb_analysis_use(lb_analysis *an, const lb_catalog_table *table, lb_table_use **out)
{
    bool there;
    uint32_t *at = lb_text_map_put(&an->tables, an->arena, NULL, table->full_name, &there);

    if (at == NULL)
        return lb_analysis_nomem(an);
    if (there) {
        *out = an->uses[*at];
        return LB_OK;
    }
    LB_TRY(lb_analysis_room(an, &an->uses, an->n_uses, &an->cap_uses, sizeof(lb_table_use *)));
    LB_TRY(lb_analysis_alloc(an, 1, sizeof **out, out));
    **out = (lb_table_use){ .table = table, .open = table->n_columns == 0 };
    *at = an->n_uses;
    an->uses[an->n_uses++] = *out;
    return LB_OK;
}

/* A table that nobody knows. */
static lb_status from_unknown(lb_analysis *an, lb_str db, lb_str name, lb_table_use **out)
{
    lb_catalog_table *table;

    LB_TRY(lb_analysis_alloc(an, 1, sizeof *table, &table));
    *table = (lb_catalog_table){ .db = db, .name = name, .type = LB_STR("unknown"), .create_time = -1 };
    LB_TRY(lb_analysis_join(an, db, name, &table->full_name));
    LB_TRY(lb_analysis_use(an, table, out));
    if ((*out)->table == table)
        (*out)->unknown = (*out)->open = true;
    return LB_OK;
}

/* The table at the front of a path; *used: parts it takes. NULL: nobody knows one. */
static const lb_catalog_table *from_known(const lb_analysis *an, const lb_str *parts, uint32_t n, uint32_t *used)
{
    const lb_catalog_table *table = NULL;

    *used = 2;
    if (n >= 2)
        table = lb_analysis_find(an, parts[0], parts[1]);
    if (table == NULL && n >= 3) {
        *used = 3;
        table = lb_analysis_find(an, parts[1], parts[2]);
    }
    if (table == NULL) {
        *used = 1;
        table = lb_analysis_find(an, an->source.db, parts[0]);
    }
    return table;
}

lb_status lb_analysis_table_name(lb_analysis *an, const lb_sql_names *path, lb_str *db, lb_str *name)
{
    lb_str *parts;
    uint32_t n = path->count;

    LB_TRY(lb_scope_parts(an, path, &parts));
    *name = parts[n - 1];
    *db = n == 1 ? an->source.db : parts[0];
    for (uint32_t i = 1; i + 1 < n; i++)
        LB_TRY(lb_analysis_join(an, *db, parts[i], db));
    return LB_OK;
}

static lb_status from_mark_table(lb_analysis *an, const lb_sql_names *path)
{
    return lb_analysis_mark(an, LB_LINEAGE_UNKNOWN_TABLE, path->at[0].begin, path->at[path->count - 1].end);
}

lb_status lb_analysis_table(lb_analysis *an, const lb_sql_names *path, bool mark, lb_table_use **out)
{
    const lb_catalog_table *table;
    lb_str *parts, db, name;
    uint32_t used;

    LB_TRY(lb_scope_parts(an, path, &parts));
    table = from_known(an, parts, path->count, &used);
    if (table != NULL && used == path->count)
        return lb_analysis_use(an, table, out);
    if (mark)
        LB_TRY(from_mark_table(an, path));
    LB_TRY(lb_analysis_table_name(an, path, &db, &name));
    return from_unknown(an, db, name, out);
}

/* ---- WITH entries */

static lb_cte *from_cte_find(lb_env *env, lb_str name)
{
    for (; env != NULL; env = env->outer) {
        uint32_t at = lb_text_map_find(&env->map, NULL, name);
        if (at < env->n)
            return &env->ctes[at];
    }
    return NULL;
}

/* Grows with every source and every kind of way that columns gain. */
static uint64_t from_weight(const lb_columns *columns)
{
    uint64_t weight = columns->n;

    for (uint32_t i = 0; i < columns->n; i++)
        for (uint32_t k = 0; k < columns->slots[i].n; k++)
            weight += 1 + (uint64_t)__builtin_popcount(columns->slots[i].items[k].kinds) +
                      (uint64_t)__builtin_popcount(columns->slots[i].items[k].clauses);
    return weight;
}

/* A recursive entry: its first operand gives the columns to begin with; then all of it, until no column gains a source. */
static lb_status from_recursive(lb_analysis *an, lb_cte *cte, const lb_query_place *place)
{
    lb_sql_query first = *cte->tree->query;
    lb_sql_block block = *first.first;
    lb_columns *columns;
    uint64_t weight, before;

    block.next = NULL;
    block.set = LB_SQL_SET_FIRST;
    first.first = &block;
    first.count = 1;
    first.tail = (lb_sql_tail){ 0 };
    LB_TRY(lb_query_columns(an, &first, place, &columns, NULL));
    LB_TRY(lb_columns_rename(an, &columns, &cte->tree->columns));
    cte->columns = columns;
    weight = from_weight(columns);
    do {
        before = weight;
        LB_TRY(lb_query_columns(an, cte->tree->query, place, &columns, NULL));
        LB_TRY(lb_columns_rename(an, &columns, &cte->tree->columns));
        cte->columns = columns;
        weight = from_weight(columns);
    } while (weight != before);
    return LB_OK;
}

/* What INSERT, UPDATE or DELETE … RETURNING in WITH gives. */
static lb_status from_returning(lb_analysis *an, lb_cte *cte, lb_columns **out)
{
    const lb_sql_statement *s = cte->tree->statement;
    const lb_sql_item *items = s == NULL                                              ? NULL
                               : s->kind == LB_SQL_INSERT                             ? s->insert->returning
                               : s->kind == LB_SQL_UPDATE || s->kind == LB_SQL_DELETE ? s->update->returning
                                                                                      : NULL;
    lb_scope scope = { .env = &cte->inner };
    lb_relation *relation;
    lb_table_use *use;
    lb_found found;
    lb_flow_slot slot;
    lb_str name;

    LB_TRY(lb_columns_new(an, out));
    if (items == NULL)
        return LB_OK;
    const lb_sql_names *path = s->kind == LB_SQL_INSERT ? &s->insert->table : &s->update->table;
    const lb_sql_name *alias = s->kind == LB_SQL_INSERT ? &s->insert->alias : &s->update->alias;
    LB_TRY(lb_analysis_table(an, path, true, &use));
    LB_TRY(lb_from_table(an, &scope, use, path, alias, &relation));
    for (; items != NULL; items = items->next) {
        if (items->expr->kind == LB_SQL_STAR) {
            LB_TRY(lb_star_expand(an, &scope, LB_SQL_AS(star, items->expr), *out));
            continue;
        }
        name = LB_STR("");
        if (items->expr->kind == LB_SQL_COLUMN) {
            LB_TRY(lb_scope_column(an, &scope, &LB_SQL_AS(column, items->expr)->path, &found));
            name = found.label;
        }
        if (lb_sql_has(&items->alias))
            LB_TRY(lb_analysis_lower(an, items->alias.text, &name));
        LB_TRY(lb_expr_slot(an, &scope, items->expr, &slot));
        LB_TRY(lb_columns_add(an, *out, name, &slot));
    }
    return LB_OK;
}

static lb_status from_cte_text(lb_analysis *an, lb_cte *cte, lb_scope *outer, bool sees_outer)
{
    const lb_sql_query *query = cte->tree->query;
    lb_query_place place = { .role = LB_QUERY_INLINE, .outer = outer, .sees_outer = sees_outer, .env = &cte->inner };
    lb_columns *columns;

    if (query == NULL) {
        LB_TRY(from_returning(an, cte, &columns));
    } else if (cte->recursive && query->count > 1) {
        return from_recursive(an, cte, &place);
    } else {
        LB_TRY(lb_query_columns(an, query, &place, &columns, NULL));
    }
    LB_TRY(lb_columns_rename(an, &columns, &cte->tree->columns));
    cte->columns = columns;
    return LB_OK;
}

/* Analyse an entry in a unit of its own: its restrictions count for those who use it. */
static lb_status from_cte(lb_analysis *an, lb_cte *cte, lb_scope *outer, bool sees_outer)
{
    lb_unit *user = an->unit, *unit;

    if (cte->done || cte->busy)
        return LB_OK;
    LB_TRY(lb_flow_unit(an, &unit));
    cte->unit = an->unit = unit;
    cte->busy = true;
    LB_TRY(from_cte_text(an, cte, outer, sees_outer));
    an->unit = user;
    cte->busy = false;
    cte->done = true;
    return LB_OK;
}

static lb_status from_env_fill(lb_analysis *an, const lb_sql_with *with, lb_env *env)
{
    uint32_t i = 0;
    bool there;

    for (const lb_sql_cte *tree = with->first; tree != NULL; tree = tree->next, i++) {
        lb_cte *cte = &env->ctes[i];
        LB_TRY(lb_analysis_lower(an, tree->name.text, &cte->name));
        cte->tree = tree;
        cte->recursive = with->recursive;
        uint32_t *at = lb_text_map_put(&env->map, an->arena, NULL, cte->name, &there);
        if (at == NULL)
            return lb_analysis_nomem(an);
        if (there)
            return lb_fail(an->err, LB_USAGE, LB_AT(tree->begin), "the WITH entry %.*s is defined twice",
                           (int)LB_MIN(cte->name.size, 200), cte->name.at);
        *at = i;
    }
    for (uint32_t k = 0; k < env->n; k++) /* the map is whole now, and shared */
        env->ctes[k].inner =
            (lb_env){ .outer = env->outer, .ctes = env->ctes, .n = with->recursive ? env->n : k, .map = env->map };
    return LB_OK;
}

lb_status lb_from_env(lb_analysis *an, const lb_sql_with *with, lb_env *outer, lb_scope *scope, bool sees_outer,
                      lb_env **out)
{
    uint32_t n = 0;
    lb_env *env;

    *out = outer;
    if (with == NULL)
        return LB_OK;
    for (const lb_sql_cte *cte = with->first; cte != NULL; cte = cte->next)
        n++;
    LB_TRY(lb_analysis_alloc(an, 1, sizeof *env, &env));
    env->outer = outer;
    env->n = n;
    LB_TRY(lb_analysis_alloc(an, n, sizeof *env->ctes, &env->ctes));
    LB_TRY(from_env_fill(an, with, env));
    for (uint32_t i = 0; i < n; i++)
        LB_TRY(from_cte(an, &env->ctes[i], scope, sees_outer));
    *out = env;
    return LB_OK;
}

static lb_status from_use_cte(lb_analysis *an, lb_cte *cte, const lb_sql_ref *ref, lb_columns **out)
{
    LB_TRY(from_cte(an, cte, NULL, false)); /* one further down, of WITH RECURSIVE */
    if (cte->columns == NULL)
        return lb_fail(an->err, LB_USAGE, LB_AT(ref->begin),
                       "the WITH entry %.*s refers to itself before it has any columns",
                       (int)LB_MIN(cte->name.size, 200), cte->name.at);
    if (!cte->busy)
        LB_TRY(lb_flow_use_unit(an, cte->unit));
    *out = cte->columns;
    return LB_OK;
}

/* ---- stored views */

static lb_status from_view_text(lb_analysis *an, lb_table_use *use, lb_columns **out)
{
    const lb_catalog_table *view = use->table;
    const lb_query_place place = { .role = LB_QUERY_INLINE };
    const lb_sql_query *query;
    lb_columns *columns;
    lb_error why = LB_ERROR_INIT;

    lb_status status = lb_view_cache_get(an->views, view, an->options->dialect, &query, &why);
    if (status == LB_USAGE)
        return lb_fail(an->err, LB_USAGE, LB_AT(an->source.view_begin),
                       "the text of the view %.*s is not understood: %s", (int)LB_MIN(view->full_name.size, 200),
                       view->full_name.at, why.message);
    if (status != LB_OK)
        return lb_fail(an->err, status, LB_NOWHERE, "%s", why.message);
    LB_TRY(lb_query_columns(an, query, &place, &columns, NULL));
    if (view->n_columns != 0) { /* the names it was made with */
        lb_columns *named;
        LB_TRY(lb_columns_new(an, &named));
        *named = (lb_columns){ .open = columns->open, .open_at = columns->open_at };
        for (uint32_t i = 0; i < columns->n; i++)
            LB_TRY(lb_columns_add(an, named, i < view->n_columns ? view->columns[i].name : columns->names[i],
                                  &columns->slots[i]));
        columns = named;
    }
    *out = columns;
    return LB_OK;
}

lb_status lb_from_view(lb_analysis *an, lb_table_use *use, uint32_t begin, lb_columns **out)
{
    const lb_source_text before = an->source;
    const lb_catalog_table *view = use->table;
    lb_unit *user = an->unit, *unit;
    lb_columns *columns;

    if (use->being_looked_through)
        return lb_fail(an->err, LB_USAGE, LB_AT(begin), "the view %.*s is defined by itself",
                       (int)LB_MIN(view->full_name.size, 200), view->full_name.at);
    if (use->view == NULL) {
        LB_TRY(lb_analysis_deeper(an));
        LB_TRY(lb_flow_unit(an, &unit));
        an->unit = unit;
        an->source = (lb_source_text){ .text = view->view_sql,
                                       .db = view->view_db.size != 0 ? view->view_db : view->db,
                                       .hive_labels = true,
                                       .view = view,
                                       .view_begin = before.view != NULL ? before.view_begin : begin };
        use->being_looked_through = true;
        LB_TRY(from_view_text(an, use, &columns));
        use->being_looked_through = false;
        columns->unit = unit;
        use->view = columns;
        an->source = before;
        an->unit = user;
        an->depth--;
    }
    *out = use->view;
    return lb_flow_use_unit(an, use->view->unit);
}

/* ---- one relation */

static lb_status from_relation(lb_analysis *an, lb_scope *scope, lb_relation_kind kind, const lb_sql_name *alias,
                               lb_relation **out)
{
    LB_TRY(lb_analysis_alloc(an, 1, sizeof **out, out));
    (*out)->kind = kind;
    if (alias != NULL && lb_sql_has(alias))
        LB_TRY(lb_analysis_lower(an, alias->text, &(*out)->alias));
    return lb_scope_add(an, scope, *out);
}

lb_status lb_from_table(lb_analysis *an, lb_scope *scope, lb_table_use *use, const lb_sql_names *path,
                        const lb_sql_name *alias, lb_relation **out)
{
    LB_TRY(from_relation(an, scope, LB_RELATION_TABLE, alias, out));
    (*out)->use = use;
    LB_TRY(lb_scope_parts(an, path, &(*out)->written));
    (*out)->n_written = path->count;
    if (use->table->view_sql.at == NULL)
        return LB_OK;
    (*out)->kind = LB_RELATION_DERIVED;
    return lb_from_view(an, use, path->at[0].begin, &(*out)->columns);
}

/* ---- collections: a path that goes on behind a relation or a table */

typedef struct from_way {
    lb_table_use *use;
    const lb_relation *root; /* NULL: the path begins with a table */
    lb_str path;
    const lb_nested_type *type;
    bool found;
} from_way;

/* Step down the parts behind a start. */
static lb_status from_steps(lb_analysis *an, from_way *way, const lb_str *parts, uint32_t n)
{
    way->found = true;
    for (uint32_t i = 0; way->found && i < n; i++)
        LB_TRY(lb_scope_step(an, &way->type, parts[i], true, &way->path, &way->found));
    way->found = way->found && lb_nested_is_collection(way->type);
    return LB_OK;
}

static lb_status from_below_open(lb_analysis *an, from_way *way, const lb_str *parts, uint32_t n)
{
    way->found = true;
    way->type = NULL;
    for (uint32_t i = 0; i < n; i++)
        LB_TRY(lb_analysis_join(an, way->path, parts[i], &way->path));
    return LB_OK;
}

static lb_status from_below_table(lb_analysis *an, from_way *way, const lb_str *parts, uint32_t n)
{
    const lb_catalog_table *table = way->use->table;
    uint32_t column = lb_catalog_column_find(table, parts[0]);

    if (column == LB_NONE)
        return way->use->open ? from_below_open(an, way, parts, n) : LB_OK;
    way->path = parts[0];
    way->type = table->columns[column].type;
    return from_steps(an, way, parts + 1, n - 1);
}

static lb_status from_below_derived(lb_analysis *an, from_way *way, const lb_relation *r, const lb_str *parts,
                                    uint32_t n)
{
    uint32_t place;

    LB_TRY(lb_columns_find(an, r->columns, parts[0], 0, &place));
    if (place == LB_NONE || r->columns->slots[place].type == NULL)
        return LB_OK;
    const lb_flow_slot *slot = &r->columns->slots[place];
    const lb_atom *atom = an->atoms[slot->items[0].atom];
    way->use = atom->use;
    way->path = atom->path;
    way->type = slot->type;
    return from_steps(an, way, parts + 1, n - 1);
}

static lb_status from_below(lb_analysis *an, from_way *way, const lb_relation *r, const lb_str *parts, uint32_t n)
{
    *way = (from_way){ .use = r->use, .root = r, .path = { "", 0 } };
    switch (r->kind) {
    case LB_RELATION_TABLE:
        return from_below_table(an, way, parts, n);
    case LB_RELATION_COLLECTION:
        way->path = r->path;
        way->type = r->type;
        return r->type == NULL ? from_below_open(an, way, parts, n) : from_steps(an, way, parts, n);
    default:
        return from_below_derived(an, way, r, parts, n);
    }
}

/* A path that begins with a relation of this block or of one around it. */
static lb_status from_relative(lb_analysis *an, const lb_scope *scope, const lb_str *parts, uint32_t n, from_way *way)
{
    uint32_t prefixes[3];

    way->found = false;
    for (; scope != NULL; scope = scope->outer)
        for (uint32_t i = scope->n_relations; i-- > 0;) {
            const lb_relation *r = scope->relations[i];
            uint32_t n_prefixes = lb_scope_prefixes(r, parts, n, prefixes);
            for (uint32_t k = 0; k < n_prefixes; k++) {
                if (prefixes[k] >= n)
                    continue;
                LB_TRY(from_below(an, way, r, parts + prefixes[k], n - prefixes[k]));
                if (way->found)
                    return LB_OK;
            }
        }
    return LB_OK;
}

static lb_status from_collection(lb_analysis *an, lb_scope *scope, const lb_sql_ref *ref, const lb_str *parts,
                                 uint32_t n, const from_way *way, lb_relation **out)
{
    LB_TRY(from_relation(an, scope, LB_RELATION_COLLECTION, &ref->alias, out));
    lb_relation *r = *out;
    r->use = way->use;
    r->path = way->path;
    r->type = way->type;
    r->root = way->root;
    r->relative = way->root != NULL && way->root->scope == scope;
    r->not_empty = r->relative;
    LB_TRY(lb_analysis_alloc(an, n, sizeof *r->written, &r->written));
    memcpy(r->written, parts, n * sizeof *parts);
    r->n_written = n;
    return LB_OK;
}

/* A table, view, WITH entry or collection by its path. */
static lb_status from_path(lb_analysis *an, lb_scope *scope, const lb_sql_ref *ref, lb_relation **out)
{
    uint32_t n = ref->path.count, used;
    from_way way = { 0 };
    lb_table_use *use;
    lb_str *parts;

    LB_TRY(lb_scope_parts(an, &ref->path, &parts));
    lb_cte *cte = n == 1 ? from_cte_find(scope->env, parts[0]) : NULL;
    if (cte != NULL) {
        LB_TRY(from_relation(an, scope, LB_RELATION_DERIVED, &ref->alias, out));
        (*out)->written = parts;
        (*out)->n_written = 1;
        return from_use_cte(an, cte, ref, &(*out)->columns);
    }
    const lb_catalog_table *table = from_known(an, parts, n, &used);
    if (n > 1 && !(table != NULL && used == n)) {
        LB_TRY(from_relative(an, scope, parts, n, &way));
        if (!way.found && table != NULL) {
            LB_TRY(lb_analysis_use(an, table, &use));
            way = (from_way){ .use = use, .path = { "", 0 } };
            LB_TRY(from_below_table(an, &way, parts + used, n - used));
        }
        if (way.found)
            return from_collection(an, scope, ref, parts, n, &way, out);
    }
    LB_TRY(lb_analysis_table(an, &ref->path, true, &use));
    return lb_from_table(an, scope, use, &ref->path, &ref->alias, out);
}

static lb_status from_query(lb_analysis *an, lb_scope *scope, const lb_sql_ref *ref, lb_relation **out)
{
    lb_query_place place = { .role = LB_QUERY_INLINE, .outer = scope, .sees_outer = ref->lateral, .env = scope->env };
    lb_columns *columns;

    LB_TRY(lb_query_columns(an, ref->query, &place, &columns, NULL));
    LB_TRY(from_relation(an, scope, LB_RELATION_DERIVED, &ref->alias, out));
    (*out)->columns = columns;
    return LB_OK;
}

/* ---- table functions */

static bool from_is_unnest(const lb_sql_call *call)
{
    return call->name.count == 1 && lb_str_is_nocase(call->name.at[0].text, "unnest");
}

/* UNNEST(t.a, t.b) of Impala: each argument is a relation named after itself, walked side by side. */
static lb_status from_zip(lb_analysis *an, lb_scope *scope, const lb_sql_ref *ref, bool *done)
{
    const lb_sql_call *call = LB_SQL_AS(call, ref->call);
    from_way way;
    lb_relation *r;
    lb_str *parts;

    *done = from_is_unnest(call) && !lb_sql_has(&ref->alias) && call->expr.count != 0;
    for (const lb_sql_expr *e = call->expr.first; *done && e != NULL; e = e->next) {
        *done = e->kind == LB_SQL_COLUMN;
        if (!*done)
            break;
        const lb_sql_names *path = &LB_SQL_AS(column, e)->path;
        LB_TRY(lb_scope_parts(an, path, &parts));
        LB_TRY(from_relative(an, scope, parts, path->count, &way));
        *done = way.found;
    }
    for (const lb_sql_expr *e = call->expr.first; *done && e != NULL; e = e->next) {
        const lb_sql_names *path = &LB_SQL_AS(column, e)->path;
        LB_TRY(lb_scope_parts(an, path, &parts));
        LB_TRY(from_relative(an, scope, parts, path->count, &way));
        LB_TRY(from_collection(an, scope, ref, parts, path->count, &way, &r));
        r->not_empty = false;
    }
    return LB_OK;
}

/* Value of one argument; of an array its items. */
static lb_status from_argument(lb_analysis *an, lb_scope *scope, const lb_sql_expr *e, lb_flow_slot *out)
{
    lb_collector *all;
    lb_str path;

    LB_TRY(lb_expr_slot(an, scope, e, out));
    if (out->type != NULL && out->type->kind == LB_TYPE_ARRAY) {
        const lb_atom *atom = an->atoms[out->items[0].atom];
        LB_TRY(lb_analysis_join(an, atom->path, LB_STR("item"), &path));
        return lb_flow_path_slot(an, atom->use, path, out->type->item, out);
    }
    LB_TRY(lb_flow_collector(an, &all));
    const lb_sink sink = { .to = all, .way = LB_WAY_TRANSFORMATION };
    LB_TRY(lb_flow_emit(an, &sink, out));
    LB_TRY(lb_flow_slot_of(an, all, out));
    lb_flow_release(an, all);
    return LB_OK;
}

/* f(a, b) AS x(c, d): each column comes from all arguments, those of UNNEST from one each. */
static lb_status from_call(lb_analysis *an, lb_scope *scope, const lb_sql_ref *ref, lb_relation **out)
{
    const lb_sql_call *call = LB_SQL_AS(call, ref->call);
    const lb_flow_slot none = { 0 };
    lb_flow_slot *arguments, *all;
    lb_columns *columns;
    uint32_t n = 0;
    lb_str name;
    bool done;

    *out = NULL;
    LB_TRY(from_zip(an, scope, ref, &done));
    if (done)
        return LB_OK;
    LB_TRY(lb_analysis_alloc(an, call->expr.count, sizeof *arguments, &arguments));
    for (const lb_sql_expr *e = call->expr.first; e != NULL && n < call->expr.count; e = e->next)
        LB_TRY(from_argument(an, scope, e, &arguments[n++]));
    LB_TRY(lb_analysis_alloc(an, 1, sizeof *all, &all));
    LB_TRY(lb_flow_unite(an, arguments, n, all));
    LB_TRY(lb_columns_new(an, &columns));
    columns->wild = all;
    bool each = from_is_unnest(call);
    for (uint32_t i = 0; i < ref->columns.count; i++) {
        bool ordinal = ref->ordinality && i + 1 == ref->columns.count && i != 0;
        LB_TRY(lb_analysis_lower(an, ref->columns.at[i].text, &name));
        LB_TRY(lb_columns_add(an, columns, name, ordinal ? &none : each && i < n ? &arguments[i] : all));
    }
    if (ref->columns.count == 0) {
        const lb_sql_name *called = lb_sql_has(&ref->alias) ? &ref->alias : &call->name.at[call->name.count - 1];
        LB_TRY(lb_analysis_lower(an, called->text, &name));
        LB_TRY(lb_columns_add(an, columns, name, all));
    }
    LB_TRY(from_relation(an, scope, LB_RELATION_DERIVED, &ref->alias, out));
    (*out)->columns = columns;
    if (!lb_sql_has(&ref->alias)) {
        LB_TRY(lb_scope_parts(an, &call->name, &(*out)->written));
        (*out)->n_written = call->name.count;
    }
    return LB_OK;
}

/* ---- alias(a, b) */

/* All relations from a place on become one of these columns. */
static lb_status from_replace(lb_analysis *an, lb_scope *scope, uint32_t from, const lb_sql_name *alias,
                              lb_columns *columns)
{
    lb_relation *r, *old = scope->n_relations > from ? scope->relations[from] : NULL;

    scope->n_relations = from;
    LB_TRY(from_relation(an, scope, LB_RELATION_DERIVED, alias, &r));
    if (old != NULL && r->alias.at == NULL) {
        r->alias = old->alias;
        r->written = old->written;
        r->n_written = old->n_written;
    }
    r->columns = columns;
    return LB_OK;
}

static lb_status from_all_columns(lb_analysis *an, const lb_scope *scope, uint32_t from, lb_columns **out)
{
    LB_TRY(lb_columns_new(an, out));
    for (uint32_t i = from; i < scope->n_relations; i++)
        if (!scope->relations[i]->invisible)
            LB_TRY(lb_star_relation(an, scope->relations[i], true, *out));
    return LB_OK;
}

/* What stands behind a reference: PIVOT, then names for its columns. */
static lb_status from_dress(lb_analysis *an, lb_scope *scope, const lb_sql_ref *ref, uint32_t from)
{
    lb_columns *columns, *pivoted;

    if (ref->pivot == NULL && (ref->columns.count == 0 || ref->kind == LB_SQL_REF_CALL) &&
        !(ref->kind == LB_SQL_REF_JOINED && lb_sql_has(&ref->alias)))
        return LB_OK;
    LB_TRY(from_all_columns(an, scope, from, &columns));
    if (ref->kind != LB_SQL_REF_CALL)
        LB_TRY(lb_columns_rename(an, &columns, &ref->columns));
    if (ref->pivot != NULL) {
        lb_scope inner = { .env = scope->env };
        LB_TRY(from_replace(an, &inner, 0, NULL, columns));
        LB_TRY(lb_columns_new(an, &pivoted));
        pivoted->open = columns->open;
        LB_TRY(lb_from_pivot(an, &inner, ref->pivot, columns, pivoted));
        columns = pivoted;
    }
    const lb_sql_name *alias = ref->pivot != NULL && lb_sql_has(&ref->pivot->alias) ? &ref->pivot->alias : &ref->alias;
    return from_replace(an, scope, from, alias, columns);
}

/* ---- joins */

static bool from_is_outer(uint8_t join)
{
    return join == LB_SQL_JOIN_LEFT || join == LB_SQL_JOIN_RIGHT || join == LB_SQL_JOIN_FULL ||
           join == LB_SQL_JOIN_ASOF_LEFT || join == LB_SQL_JOIN_LATERAL_VIEW_OUTER;
}

static bool from_is_anti(uint8_t join)
{
    return join == LB_SQL_JOIN_LEFT_ANTI || join == LB_SQL_JOIN_RIGHT_ANTI;
}

/* Which relations a join makes invisible, nullable, or lets be empty. [first, middle) hang on the left of it. */
static void from_join_kind(lb_scope *scope, uint32_t first, uint32_t middle, uint8_t join)
{
    bool left_nulls = join == LB_SQL_JOIN_RIGHT || join == LB_SQL_JOIN_FULL;
    bool right_nulls = join == LB_SQL_JOIN_LEFT || join == LB_SQL_JOIN_FULL || join == LB_SQL_JOIN_ASOF_LEFT;
    bool left_hides = join == LB_SQL_JOIN_RIGHT_SEMI || join == LB_SQL_JOIN_RIGHT_ANTI;
    bool right_hides = join == LB_SQL_JOIN_LEFT_SEMI || join == LB_SQL_JOIN_LEFT_ANTI;

    for (uint32_t i = first; (left_nulls || left_hides) && i < middle; i++) {
        scope->relations[i]->nullable |= left_nulls;
        scope->relations[i]->invisible |= left_hides;
    }
    for (uint32_t i = middle; i < scope->n_relations; i++) {
        lb_relation *r = scope->relations[i];
        r->nullable |= right_nulls;
        r->invisible |= right_hides;
        if (from_is_outer(join) || from_is_anti(join))
            r->not_empty = false;
    }
}

/* The two columns of a name become one: both restrict, and the bare name means both. */
static lb_status from_merge(lb_analysis *an, lb_scope *scope, lb_str name, lb_relation *left, lb_relation *right,
                            bool natural)
{
    lb_flow_slot slots[2];
    bool found[2];
    lb_merged *merged;

    LB_TRY(lb_scope_relation_column(an, left, name, &found[0], &slots[0]));
    LB_TRY(lb_scope_relation_column(an, right, name, &found[1], &slots[1]));
    for (int i = 0; i < 2; i++)
        if (found[i])
            LB_TRY(lb_slot_restrict(an, &slots[i], LB_LINEAGE_JOIN, false));
    LB_TRY(lb_analysis_alloc(an, 1, sizeof *merged, &merged));
    *merged = (lb_merged){ .name = name, .natural = natural, .left = left, .right = right, .next = scope->merged };
    scope->merged = merged;
    return LB_OK;
}

/* The relation left of a join that has a column: the nearest one that has it for certain, or else may have it. */
static lb_status from_left(lb_analysis *an, const lb_scope *scope, uint32_t first, uint32_t middle, lb_str name,
                           lb_relation **out)
{
    lb_relation *maybe = NULL;
    lb_flow_slot slot;
    bool found;

    *out = NULL;
    for (uint32_t i = middle; *out == NULL && i-- > first;) {
        lb_relation *r = scope->relations[i];
        LB_TRY(lb_scope_relation_column(an, r, name, &found, &slot));
        if (!found)
            continue;
        bool open =
            (r->kind == LB_RELATION_TABLE && r->use->open) || (r->kind == LB_RELATION_DERIVED && r->columns->open);
        if (!open)
            *out = r;
        else if (maybe == NULL)
            maybe = r;
    }
    if (*out == NULL)
        *out = maybe;
    return LB_OK;
}

static lb_status from_using(lb_analysis *an, lb_scope *scope, const lb_sql_ref *ref, uint32_t first, uint32_t middle)
{
    lb_relation *left, *right;
    lb_str name;

    for (uint32_t i = 0; i < ref->using.count; i++) {
        const lb_sql_name *column = &ref->using.at[i];
        LB_TRY(lb_analysis_lower(an, column->text, &name));
        LB_TRY(from_left(an, scope, first, middle, name, &left));
        LB_TRY(from_left(an, scope, middle, scope->n_relations, name, &right));
        if (left == NULL || right == NULL)
            LB_TRY(lb_analysis_mark(an, LB_LINEAGE_UNKNOWN_COLUMN, column->begin, column->end));
        else
            LB_TRY(from_merge(an, scope, name, left, right, false));
    }
    return LB_OK;
}

/* NATURAL: as USING of all names that both sides have. */
static lb_status from_natural(lb_analysis *an, lb_scope *scope, const lb_sql_ref *ref, uint32_t first, uint32_t middle)
{
    lb_relation *left;
    lb_columns *columns;

    for (uint32_t i = middle; i < scope->n_relations; i++) {
        LB_TRY(lb_columns_new(an, &columns));
        LB_TRY(lb_star_relation(an, scope->relations[i], true, columns));
        if (columns->open != NULL)
            LB_TRY(lb_analysis_mark(an, LB_LINEAGE_AMBIGUOUS_COLUMN, ref->begin, ref->end));
        for (uint32_t k = 0; k < columns->n; k++) {
            if (lb_str_is(columns->names[k], "*"))
                continue;
            LB_TRY(from_left(an, scope, first, middle, columns->names[k], &left));
            if (left != NULL)
                LB_TRY(from_merge(an, scope, columns->names[k], left, scope->relations[i], true));
        }
    }
    return LB_OK;
}

static lb_status from_refs(lb_analysis *an, lb_scope *scope, const lb_sql_ref *list);

static lb_status from_ref(lb_analysis *an, lb_scope *scope, const lb_sql_ref *ref)
{
    uint32_t from = scope->n_relations;
    lb_relation *relation;

    switch (ref->kind) {
    case LB_SQL_REF_TABLE:
        LB_TRY(from_path(an, scope, ref, &relation));
        break;
    case LB_SQL_REF_QUERY:
        LB_TRY(from_query(an, scope, ref, &relation));
        break;
    case LB_SQL_REF_CALL:
        LB_TRY(from_call(an, scope, ref, &relation));
        break;
    default:
        LB_TRY(lb_analysis_deeper(an));
        LB_TRY(from_refs(an, scope, ref->refs));
        an->depth--;
    }
    return from_dress(an, scope, ref, from);
}

static lb_status from_refs(lb_analysis *an, lb_scope *scope, const lb_sql_ref *list)
{
    uint32_t first = scope->n_relations;

    for (const lb_sql_ref *ref = list; ref != NULL; ref = ref->next) {
        uint32_t middle = scope->n_relations;
        LB_TRY(from_ref(an, scope, ref));
        from_join_kind(scope, first, middle, ref->join);
        if (ref->on != NULL)
            LB_TRY(lb_expr_condition(an, scope, ref->on, LB_LINEAGE_JOIN));
        LB_TRY(from_using(an, scope, ref, first, middle));
        if (ref->natural)
            LB_TRY(from_natural(an, scope, ref, first, middle));
    }
    return LB_OK;
}

lb_status lb_from_list(lb_analysis *an, lb_scope *scope, const lb_sql_ref *list)
{
    lb_flow_slot slot;

    LB_TRY(from_refs(an, scope, list));
    for (uint32_t i = 0; i < scope->n_relations; i++) {
        const lb_relation *r = scope->relations[i];
        if (!r->not_empty || r->root->nullable)
            continue;
        LB_TRY(lb_flow_path_slot(an, r->use, r->path, r->type, &slot));
        LB_TRY(lb_slot_restrict(an, &slot, LB_LINEAGE_COLLECTION, false));
    }
    return LB_OK;
}
