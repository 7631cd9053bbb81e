/* Names → slots: which relation in scope a column belongs to. */
#include <assert.h>

#include "lineage/lineage_private.h"

lb_status lb_scope_add(lb_analysis *an, lb_scope *scope, lb_relation *relation)
{
    LB_TRY(lb_analysis_room(an, &scope->relations, scope->n_relations, &scope->cap_relations, sizeof(lb_relation *)));
    relation->scope = scope;
    scope->relations[scope->n_relations++] = relation;
    return LB_OK;
}

lb_status lb_scope_parts(lb_analysis *an, const lb_sql_names *path, lb_str **out)
{
    LB_TRY(lb_analysis_alloc(an, path->count, sizeof **out, out));
    for (uint32_t i = 0; i < path->count; i++)
        LB_TRY(lb_analysis_lower(an, path->at[i].text, &(*out)[i]));
    return LB_OK;
}

static bool scope_same(const lb_str *a, const lb_str *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!lb_str_equal(a[i], b[i]))
            return false;
    return true;
}

uint32_t lb_scope_prefixes(const lb_relation *relation, const lb_str *parts, uint32_t n, uint32_t out[3])
{
    uint32_t count = 0, written = relation->n_written;

    if (n == 0)
        return 0;
    if (relation->alias.at != NULL) {
        if (lb_str_equal(relation->alias, parts[0]))
            out[count++] = 1;
        return count;
    }
    if (written != 0 && lb_str_equal(relation->written[written - 1], parts[0]))
        out[count++] = 1; /* its last part alone */
    if (written > 1 && n >= written && scope_same(parts, relation->written, written))
        out[count++] = written; /* the whole of it */
    if (relation->use != NULL && relation->kind != LB_RELATION_COLLECTION && written != 2 && n >= 2 &&
        lb_str_equal(parts[0], relation->use->table->db) && lb_str_equal(parts[1], relation->use->table->name))
        out[count++] = 2; /* a table without or with more than its database answers to db.table too */
    return count;
}

/* ---- nested types */

static const lb_nested_type *scope_field(const lb_nested_type *type, lb_str name)
{
    for (uint32_t i = 0; type != NULL && type->kind == LB_TYPE_STRUCT && i < type->n_fields; i++)
        if (lb_str_equal(type->fields[i].name, name))
            return type->fields[i].type;
    return NULL;
}

/* The part of a collection that a name says, as Impala names them. */
static const lb_nested_type *scope_member(const lb_nested_type *type, lb_str name)
{
    if (type->kind == LB_TYPE_ARRAY)
        return lb_str_is(name, "item") ? type->item : lb_str_is(name, "pos") ? &lb_nested_scalar : NULL;
    return lb_str_is(name, "key") ? type->key : lb_str_is(name, "value") ? type->item : NULL;
}

lb_status lb_scope_step(lb_analysis *an, const lb_nested_type **type, lb_str name, bool through, lb_str *path,
                        bool *found)
{
    const lb_nested_type *at = *type, *to = NULL;

    *found = false;
    if (at == NULL)
        return LB_OK;
    if (at->kind == LB_TYPE_STRUCT) {
        to = scope_field(at, name);
    } else if (through && lb_nested_is_collection(at)) {
        to = scope_member(at, name);
        if (to == NULL) {
            to = scope_field(at->item, name);
            if (to != NULL)
                LB_TRY(lb_analysis_join(an, *path, at->kind == LB_TYPE_ARRAY ? LB_STR("item") : LB_STR("value"), path));
        }
    }
    if (to == NULL)
        return LB_OK;
    *found = true;
    *type = to;
    return lb_analysis_join(an, *path, name, path);
}

/* ---- columns of one relation */

/* How well a path fits a relation. */
typedef enum scope_fit { SCOPE_NONE, SCOPE_MAYBE, SCOPE_SURE } scope_fit;

/* Fields below a slot that is a path of a complex type. */
static lb_status scope_fields(lb_analysis *an, const lb_str *parts, uint32_t n, scope_fit *fit, lb_flow_slot *slot)
{
    if (n == 0)
        return LB_OK;
    if (slot->type == NULL || slot->type->kind != LB_TYPE_STRUCT || slot->n == 0) {
        *fit = SCOPE_NONE;
        return LB_OK;
    }
    lb_atom *atom = an->atoms[slot->items[0].atom];
    const lb_nested_type *type = slot->type;
    lb_str path = atom->path;
    bool found = true;
    for (uint32_t i = 0; found && i < n; i++)
        LB_TRY(lb_scope_step(an, &type, parts[i], false, &path, &found));
    if (found)
        return lb_flow_path_slot(an, atom->use, path, type, slot);
    *fit = SCOPE_NONE;
    return LB_OK;
}

/* A name below tables whose columns nobody knows. */
static lb_status scope_open_path(lb_analysis *an, lb_table_use *use, const lb_str *parts, uint32_t n,
                                 lb_flow_slot *slot)
{
    lb_str path = { "", 0 };

    for (uint32_t i = 0; i < n; i++)
        LB_TRY(lb_analysis_join(an, path, parts[i], &path));
    return lb_flow_path_slot(an, use, path, NULL, slot);
}

static lb_status scope_table(lb_analysis *an, const lb_relation *r, const lb_str *parts, uint32_t n, scope_fit *fit,
                             lb_flow_slot *slot)
{
    lb_table_use *use = r->use;
    uint32_t column = lb_catalog_column_find(use->table, parts[0]);

    if (column != LB_NONE) {
        LB_TRY(lb_flow_column_slot(an, use, column, slot));
        *fit = SCOPE_SURE;
        return scope_fields(an, parts + 1, n - 1, fit, slot);
    }
    *fit = SCOPE_NONE;
    if (!use->open)
        return LB_OK;
    *fit = SCOPE_MAYBE;
    return scope_open_path(an, use, parts, n, slot);
}

static lb_status scope_collection(lb_analysis *an, const lb_relation *r, const lb_str *parts, uint32_t n,
                                  scope_fit *fit, lb_flow_slot *slot)
{
    const lb_nested_type *type = r->type;
    lb_str path = r->path;
    bool found;

    if (type == NULL) {
        *fit = SCOPE_MAYBE;
        for (uint32_t i = 0; i < n; i++)
            LB_TRY(lb_analysis_join(an, path, parts[i], &path));
        return lb_flow_path_slot(an, r->use, path, NULL, slot);
    }
    LB_TRY(lb_scope_step(an, &type, parts[0], true, &path, &found));
    for (uint32_t i = 1; found && i < n; i++)
        LB_TRY(lb_scope_step(an, &type, parts[i], false, &path, &found));
    *fit = found ? SCOPE_SURE : SCOPE_NONE;
    return found ? lb_flow_path_slot(an, r->use, path, type, slot) : LB_OK;
}

/* All the open stars of a derived relation that may have the name. */
static lb_status scope_open(lb_analysis *an, const lb_columns *columns, const lb_str *parts, uint32_t n,
                            lb_flow_slot *slot, bool *several)
{
    uint32_t alternatives = 0;
    lb_collector *all;
    lb_flow_slot one;

    LB_TRY(lb_flow_collector(an, &all));
    lb_sink sink = { .to = all };
    for (const lb_open_star *star = columns->open; star != NULL; star = star->next) {
        LB_TRY(scope_open_path(an, star->use, parts, n, &one));
        LB_TRY(lb_flow_emit(an, &sink, &one));
        alternatives += !star->also;
    }
    *several = alternatives > 1;
    LB_TRY(lb_flow_slot_of(an, all, slot));
    lb_flow_release(an, all);
    return LB_OK;
}

static lb_status scope_derived(lb_analysis *an, const lb_relation *r, const lb_str *parts, uint32_t n, scope_fit *fit,
                               lb_flow_slot *slot, bool *several)
{
    lb_columns *columns = r->columns;
    uint32_t place, next;

    *fit = SCOPE_NONE;
    LB_TRY(lb_columns_find(an, columns, parts[0], 0, &place));
    if (place != LB_NONE) {
        *slot = columns->slots[place];
        *fit = SCOPE_SURE;
        LB_TRY(lb_columns_find(an, columns, parts[0], place + 1, &next));
        for (; next != LB_NONE; *several = true) { /* two columns of one name */
            lb_flow_slot both[2] = { *slot, columns->slots[next] };
            LB_TRY(lb_flow_unite(an, both, 2, slot));
            LB_TRY(lb_columns_find(an, columns, parts[0], next + 1, &next));
        }
        return scope_fields(an, parts + 1, n - 1, fit, slot);
    }
    if (columns->open == NULL && columns->wild == NULL)
        return LB_OK;
    *fit = SCOPE_MAYBE;
    if (columns->wild != NULL)
        *slot = *columns->wild;
    return columns->open == NULL ? LB_OK : scope_open(an, columns, parts, n, slot, several);
}

static lb_status scope_fit_of(lb_analysis *an, const lb_relation *r, const lb_str *parts, uint32_t n, scope_fit *fit,
                              lb_flow_slot *slot, bool *several)
{
    switch (r->kind) {
    case LB_RELATION_TABLE:
        return scope_table(an, r, parts, n, fit, slot);
    case LB_RELATION_COLLECTION:
        return scope_collection(an, r, parts, n, fit, slot);
    default:
        return scope_derived(an, r, parts, n, fit, slot, several);
    }
}

lb_status lb_scope_relation_column(lb_analysis *an, lb_relation *relation, lb_str name, bool *found, lb_flow_slot *out)
{
    scope_fit fit = SCOPE_NONE;
    bool several = false;

    LB_TRY(scope_fit_of(an, relation, &name, 1, &fit, out, &several));
    *found = fit != SCOPE_NONE;
    return LB_OK;
}

/* ---- columns of a scope */

/* The fits of one kind that a search gathers. */
typedef struct scope_match {
    uint32_t count;
    const lb_relation *relation; /* the first */
    uint32_t prefix;
    lb_flow_slot slot; /* of the first */
    lb_collector *all; /* of all, where there are more; NULL: one */
    bool several;      /* … and within one relation already more than one column */
} scope_match;

/* Are two relations' columns of a name one by USING or NATURAL, directly or over others? */
static bool scope_is_merged(const lb_scope *scope, const lb_relation *r, lb_str name)
{
    for (const lb_merged *m = scope->merged; m != NULL; m = m->next)
        if ((m->left == r || m->right == r) && lb_str_equal(m->name, name))
            return true;
    return false;
}

static lb_status scope_take(lb_analysis *an, scope_match *m, const lb_relation *r, uint32_t prefix,
                            const lb_flow_slot *slot, bool several, bool merged)
{
    m->several |= several;
    if (m->count == 0) {
        m->relation = r;
        m->prefix = prefix;
        m->slot = *slot;
        m->count = 1;
        return LB_OK;
    }
    if (m->all == NULL) {
        LB_TRY(lb_flow_collector(an, &m->all));
        const lb_sink first = { .to = m->all };
        LB_TRY(lb_flow_emit(an, &first, &m->slot));
    }
    const lb_sink sink = { .to = m->all };
    LB_TRY(lb_flow_emit(an, &sink, slot));
    if (!merged)
        m->count++;
    return LB_OK;
}

/* What a path fits in one block: `sure` for certain, `named` by a relation's name though its columns are not known,
 * `maybe` any of the relations whose columns are not known. */
typedef struct scope_search {
    scope_match sure, named, maybe;
} scope_search;

static lb_status scope_try(lb_analysis *an, const lb_scope *scope, const lb_relation *r, const lb_str *parts,
                           uint32_t n, uint32_t prefix, scope_search *s)
{
    scope_fit fit = SCOPE_NONE;
    lb_flow_slot slot = { 0 };
    bool several = false;

    if (prefix >= n)
        return LB_OK;
    LB_TRY(scope_fit_of(an, r, parts + prefix, n - prefix, &fit, &slot, &several));
    if (fit == SCOPE_NONE)
        return LB_OK;
    bool merged = prefix == 0 && scope_is_merged(scope, r, parts[0]);
    return scope_take(an,
                      fit == SCOPE_SURE ? &s->sure
                      : prefix != 0     ? &s->named
                                        : &s->maybe,
                      r, prefix, &slot, several, merged);
}

static lb_status scope_search_block(lb_analysis *an, const lb_scope *scope, const lb_str *parts, uint32_t n,
                                    scope_search *s)
{
    uint32_t prefixes[3];

    *s = (scope_search){ 0 };
    for (uint32_t i = 0; i < scope->n_relations; i++) {
        const lb_relation *r = scope->relations[i];
        uint32_t n_prefixes = lb_scope_prefixes(r, parts, n, prefixes);
        LB_TRY(scope_try(an, scope, r, parts, n, 0, s));
        for (uint32_t k = 0; k < n_prefixes; k++)
            LB_TRY(scope_try(an, scope, r, parts, n, prefixes[k], s));
    }
    return LB_OK;
}

static lb_status scope_label(lb_analysis *an, const lb_str *parts, uint32_t from, uint32_t n, lb_str *out)
{
    *out = (lb_str){ "", 0 };
    for (uint32_t i = from; i < n; i++)
        LB_TRY(lb_analysis_join(an, *out, parts[i], out));
    return LB_OK;
}

/* Tell the span which relation of its block was met. */
static void scope_meet(lb_analysis *an, const lb_relation *r)
{
    lb_reach_span *span = an->span;

    if (span == NULL || r == NULL || r->scope != span->scope)
        return;
    if (span->first == NULL)
        span->first = r;
    else if (span->first != r)
        span->several = true;
}

static lb_status scope_use(lb_analysis *an, const lb_sql_names *path, const lb_str *parts, const scope_match *m,
                           lb_found *out)
{
    if (m->count > 1 || m->several)
        LB_TRY(lb_analysis_mark(an, LB_LINEAGE_AMBIGUOUS_COLUMN, path->at[0].begin, path->at[path->count - 1].end));
    scope_meet(an, m->relation);
    out->slot = m->slot;
    if (m->all != NULL) {
        LB_TRY(lb_flow_slot_of(an, m->all, &out->slot));
        out->slot.type = m->slot.type;
        lb_flow_release(an, m->all);
    }
    return scope_label(an, parts, m->prefix, path->count, &out->label);
}

/* A select item of this block by its alias; with `labels` by its label where it has none. *n: how many differ. */
static lb_status scope_item(lb_analysis *an, const lb_scope *scope, lb_str name, bool labels, uint32_t *n,
                            lb_flow_slot *out)
{
    lb_flow_slot slot = { 0 };

    *n = 0;
    for (uint32_t i = 0; i < scope->n_items; i++) {
        lb_str called = scope->aliases[i].at == NULL && labels ? scope->items->names[i] : scope->aliases[i];
        const lb_flow_slot both[2] = { scope->items->slots[i], slot };
        if (called.at == NULL || !lb_str_equal(called, name) || (*n != 0 && both[0].items == both[1].items))
            continue;
        LB_TRY(lb_flow_unite(an, both, *n == 0 ? 1 : 2, &slot));
        ++*n;
    }
    *out = slot;
    return LB_OK;
}

static bool scope_is_hidden(const lb_scope *scope, lb_str name)
{
    for (const lb_hidden_name *h = scope->hidden; h != NULL; h = h->next)
        if (lb_str_equal(h->name, name))
            return true;
    return false;
}

/* Mark the scopes from the innermost up to where a name was found. */
static void scope_correlate(lb_scope *from, const lb_scope *to)
{
    for (; from != to; from = from->outer)
        from->correlated = true;
}

/* Does a path begin with the table that a relation stands for, though an alias hides its name? */
static uint32_t scope_hidden_prefix(const lb_relation *r, const lb_str *parts, uint32_t n)
{
    if (r->use == NULL || r->kind == LB_RELATION_COLLECTION)
        return 0;
    if (n >= 2 && lb_str_equal(parts[0], r->use->table->db) && lb_str_equal(parts[1], r->use->table->name))
        return 2;
    return n >= 1 && lb_str_equal(parts[0], r->use->table->name) ? 1 : 0;
}

lb_relation *lb_scope_hidden(const lb_scope *scope, const lb_str *parts, uint32_t n, uint32_t *prefix)
{
    for (; scope != NULL; scope = scope->sees_outer ? scope->outer : NULL)
        for (uint32_t i = 0; i < scope->n_relations; i++) {
            *prefix = scope_hidden_prefix(scope->relations[i], parts, n);
            if (*prefix != 0)
                return scope->relations[i];
        }
    *prefix = 0;
    return NULL;
}

/* The stored table that a column nobody knows would belong to: the one named before it, or else the only one there. */
static void scope_owner(const lb_scope *scope, const lb_str *parts, uint32_t n, lb_table_use **use, uint32_t *prefix)
{
    uint32_t prefixes[3];

    assert(scope != NULL);
    for (const lb_scope *at = scope; at != NULL; at = at->sees_outer ? at->outer : NULL)
        for (uint32_t i = 0; i < at->n_relations; i++) {
            const lb_relation *r = at->relations[i];
            if (r->kind != LB_RELATION_TABLE || lb_scope_prefixes(r, parts, n, prefixes) == 0 || prefixes[0] >= n)
                continue;
            *use = r->use;
            *prefix = prefixes[0];
            return;
        }
    const lb_relation *hidden = n < 2 ? NULL : lb_scope_hidden(scope, parts, n - 1, prefix);
    if (hidden != NULL && hidden->kind == LB_RELATION_TABLE) {
        *use = hidden->use;
        return;
    }
    *prefix = 0;
    bool alone = scope->n_relations == 1 && scope->relations[0]->kind == LB_RELATION_TABLE;
    *use = alone ? scope->relations[0]->use : NULL;
}

/* Nothing in scope has the name. */
static lb_status scope_unknown(lb_analysis *an, const lb_scope *scope, const lb_sql_names *path, const lb_str *parts,
                               lb_found *out)
{
    lb_table_use *use;
    uint32_t prefix;
    lb_atom *atom;
    lb_str label;

    LB_TRY(lb_analysis_mark(an, LB_LINEAGE_UNKNOWN_COLUMN, path->at[0].begin, path->at[path->count - 1].end));
    scope_owner(scope, parts, path->count, &use, &prefix);
    LB_TRY(scope_label(an, parts, prefix, path->count, &label));
    LB_TRY(lb_flow_path_atom(an, use, label, &atom));
    atom->guessed = true;
    out->slot = (lb_flow_slot){ .items = &atom->self, .n = 1 };
    return scope_label(an, parts, use != NULL ? prefix : path->count - 1, path->count, &out->label);
}

/* Values that the standard names without parentheses. */
static bool scope_is_current(lb_str name)
{
    static const char *const names[] = { "current_date", "current_time",   "current_timestamp", "current_user",
                                         "localtime",    "localtimestamp", "session_user" };

    for (size_t i = 0; i < LB_COUNT_OF(names); i++)
        if (lb_str_is(name, names[i]))
            return true;
    return false;
}

/* Was a name taken for a column of a table of this block already, as in `id + 1 AS id, id AS was`? */
static bool scope_was_column(const lb_analysis *an, const lb_scope *scope, lb_str name)
{
    for (uint32_t i = 0; i < scope->n_relations; i++) {
        const lb_relation *r = scope->relations[i];
        if (r->kind != LB_RELATION_TABLE || !r->use->open)
            continue;
        uint32_t atom = lb_text_map_find(&an->paths, r->use, name);
        if (atom != LB_NONE && an->atoms[atom]->named)
            return true;
    }
    return false;
}

/* No block has the name for certain: a select item, or a relation whose columns nobody knows. */
static lb_status scope_guess(lb_analysis *an, lb_scope *scope, const lb_sql_names *path, const lb_str *parts,
                             lb_found *out)
{
    scope_search s;
    uint32_t n = 0, prefix;

    if (path->count > 1 && lb_scope_hidden(scope, parts, path->count - 1, &prefix) != NULL)
        return scope_unknown(an, scope, path, parts, out);
    if (path->count == 1 && path->at[0].quote == 0 && scope_is_current(parts[0])) {
        *out = (lb_found){ .label = parts[0] };
        return LB_OK;
    }
    for (lb_scope *at = scope; at != NULL; at = at->sees_outer ? at->outer : NULL) {
        if (path->count == 1 && !scope_was_column(an, at, parts[0]))
            LB_TRY(scope_item(an, at, parts[0], false, &n, &out->slot));
        if (n != 0) {
            scope_correlate(scope, at);
            out->label = parts[0];
            return LB_OK;
        }
        LB_TRY(scope_search_block(an, at, parts, path->count, &s));
        if (s.maybe.count != 0) {
            scope_correlate(scope, at);
            LB_TRY(scope_use(an, path, parts, &s.maybe, out));
            for (uint32_t i = 0; i < out->slot.n; i++)
                an->atoms[out->slot.items[i].atom]->named = true;
            return LB_OK;
        }
    }
    return scope_unknown(an, scope, path, parts, out);
}

lb_status lb_scope_column(lb_analysis *an, lb_scope *scope, const lb_sql_names *path, lb_found *out)
{
    scope_search s;
    lb_str *parts;

    LB_TRY(lb_scope_parts(an, path, &parts));
    for (lb_scope *at = scope; at != NULL; at = at->sees_outer ? at->outer : NULL) {
        if (scope_is_hidden(at, parts[0])) {
            *out = (lb_found){ .label = parts[path->count - 1] };
            return LB_OK;
        }
        LB_TRY(scope_search_block(an, at, parts, path->count, &s));
        const scope_match *m = s.sure.count != 0 ? &s.sure : s.named.count != 0 ? &s.named : NULL;
        if (m != NULL && m->count > 1 && at->orders && path->count == 1) { /* the column of the result, if it has one */
            uint32_t n;
            LB_TRY(scope_item(an, at, parts[0], true, &n, &out->slot));
            out->label = parts[0];
            if (n == 1)
                return LB_OK;
        }
        if (m != NULL) {
            scope_correlate(scope, at);
            return scope_use(an, path, parts, m, out);
        }
    }
    return scope_guess(an, scope, path, parts, out);
}

lb_status lb_scope_knows(lb_analysis *an, const lb_scope *scope, const lb_sql_names *path, bool *known)
{
    scope_search s;
    lb_str *parts;

    *known = false;
    LB_TRY(lb_scope_parts(an, path, &parts));
    for (const lb_scope *at = scope; at != NULL && !*known; at = at->sees_outer ? at->outer : NULL) {
        LB_TRY(scope_search_block(an, at, parts, path->count, &s));
        *known = s.sure.count != 0 || s.named.count != 0;
    }
    return LB_OK;
}
