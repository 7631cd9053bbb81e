/* Stars → columns. */
#include "lineage/lineage_private.h"

/* Does a star leave a column of this type out? */
static bool star_skips(const lb_analysis *an, const lb_nested_type *type, bool all)
{
    return lb_nested_is_complex(type) && !all && !an->options->expand_complex_types;
}

static lb_status star_table(lb_analysis *an, const lb_relation *r, bool all, lb_columns *out)
{
    const lb_catalog_table *table = r->use->table;
    lb_flow_slot slot;
    lb_atom *atom;

    for (uint32_t i = 0; i < table->n_columns; i++) {
        if (table->columns[i].hidden || star_skips(an, table->columns[i].type, all))
            continue;
        LB_TRY(lb_flow_column_slot(an, r->use, i, &slot));
        LB_TRY(lb_columns_add(an, out, table->columns[i].name, &slot));
    }
    if (!r->use->open)
        return LB_OK;
    LB_TRY(lb_columns_open(an, out, r->use, false));
    LB_TRY(lb_flow_path_atom(an, r->use, LB_STR("*"), &atom));
    slot = (lb_flow_slot){ .items = &atom->self, .n = 1 };
    return lb_columns_add(an, out, LB_STR("*"), &slot);
}

/* One member of a collection; of a struct its fields. */
static lb_status star_member(lb_analysis *an, const lb_relation *r, lb_str name, const lb_nested_type *type, bool all,
                             lb_columns *out)
{
    lb_flow_slot slot;
    lb_str path, below;

    LB_TRY(lb_analysis_join(an, r->path, name, &path));
    if (type->kind != LB_TYPE_STRUCT) {
        if (star_skips(an, type, all))
            return LB_OK;
        LB_TRY(lb_flow_path_slot(an, r->use, path, type, &slot));
        return lb_columns_add(an, out, name, &slot);
    }
    for (uint32_t i = 0; i < type->n_fields; i++) {
        if (star_skips(an, type->fields[i].type, all))
            continue;
        LB_TRY(lb_analysis_join(an, path, type->fields[i].name, &below));
        LB_TRY(lb_flow_path_slot(an, r->use, below, type->fields[i].type, &slot));
        LB_TRY(lb_columns_add(an, out, type->fields[i].name, &slot));
    }
    return LB_OK;
}

static lb_status star_collection(lb_analysis *an, const lb_relation *r, bool all, lb_columns *out)
{
    lb_flow_slot slot;
    lb_str path;

    if (r->type == NULL) {
        LB_TRY(lb_analysis_join(an, r->path, LB_STR("*"), &path));
        LB_TRY(lb_flow_path_slot(an, r->use, path, NULL, &slot));
        return lb_columns_add(an, out, LB_STR("*"), &slot);
    }
    if (r->type->kind == LB_TYPE_ARRAY)
        return star_member(an, r, LB_STR("item"), r->type->item, all, out);
    LB_TRY(star_member(an, r, LB_STR("key"), r->type->key, all, out));
    return star_member(an, r, LB_STR("value"), r->type->item, all, out);
}

static lb_status star_derived(lb_analysis *an, const lb_columns *columns, bool all, lb_columns *out)
{
    for (uint32_t i = 0; i < columns->n; i++) {
        if (i == columns->open_at)
            for (const lb_open_star *star = columns->open; star != NULL; star = star->next)
                LB_TRY(lb_columns_open(an, out, star->use, star->also));
        if (!star_skips(an, columns->slots[i].type, all))
            LB_TRY(lb_columns_add(an, out, columns->names[i], &columns->slots[i]));
    }
    return LB_OK;
}

lb_status lb_star_relation(lb_analysis *an, const lb_relation *relation, bool all, lb_columns *out)
{
    switch (relation->kind) {
    case LB_RELATION_TABLE:
        return star_table(an, relation, all, out);
    case LB_RELATION_COLLECTION:
        return star_collection(an, relation, all, out);
    default:
        return star_derived(an, relation->columns, all, out);
    }
}

/* ---- NATURAL: a common column is shown once */

static bool star_is_second(const lb_scope *scope, const lb_relation *r, lb_str name)
{
    for (const lb_merged *m = scope->merged; m != NULL; m = m->next)
        if (m->natural && m->right == r && lb_str_equal(m->name, name))
            return true;
    return false;
}

static bool star_is_natural(const lb_scope *scope)
{
    for (const lb_merged *m = scope->merged; m != NULL; m = m->next)
        if (m->natural)
            return true;
    return false;
}

static lb_status star_all(lb_analysis *an, lb_scope *scope, lb_columns *out)
{
    bool natural = star_is_natural(scope);
    lb_columns *one;

    for (uint32_t i = 0; i < scope->n_relations; i++) {
        const lb_relation *r = scope->relations[i];
        if (r->invisible)
            continue;
        if (!natural) {
            LB_TRY(lb_star_relation(an, r, false, out));
            continue;
        }
        LB_TRY(lb_columns_new(an, &one));
        LB_TRY(lb_star_relation(an, r, false, one));
        for (const lb_open_star *star = one->open; star != NULL; star = star->next)
            LB_TRY(lb_columns_open(an, out, star->use, star->also));
        for (uint32_t k = 0; k < one->n; k++)
            if (!star_is_second(scope, r, one->names[k]))
                LB_TRY(lb_columns_add(an, out, one->names[k], &one->slots[k]));
    }
    return LB_OK;
}

/* ---- x.* */

/* The fields of a struct. */
static lb_status star_struct(lb_analysis *an, const lb_flow_slot *whole, lb_columns *out)
{
    const lb_atom *atom = an->atoms[whole->items[0].atom];
    lb_flow_slot slot;
    lb_str path;

    for (uint32_t i = 0; i < whole->type->n_fields; i++) {
        const lb_nested_field *field = &whole->type->fields[i];
        if (star_skips(an, field->type, false))
            continue;
        LB_TRY(lb_analysis_join(an, atom->path, field->name, &path));
        LB_TRY(lb_flow_path_slot(an, atom->use, path, field->type, &slot));
        LB_TRY(lb_columns_add(an, out, field->name, &slot));
    }
    return LB_OK;
}

/* The relation that a whole path names; innermost block first. */
static lb_status star_find(lb_analysis *an, lb_scope *scope, const lb_sql_names *path, const lb_relation **out)
{
    uint32_t prefixes[3];
    lb_str *parts;

    *out = NULL;
    LB_TRY(lb_scope_parts(an, path, &parts));
    for (; scope != NULL; scope = scope->sees_outer ? scope->outer : NULL)
        for (uint32_t i = 0; i < scope->n_relations; i++) {
            uint32_t n = lb_scope_prefixes(scope->relations[i], parts, path->count, prefixes);
            for (uint32_t k = 0; k < n; k++)
                if (prefixes[k] == path->count) {
                    *out = scope->relations[i];
                    return LB_OK;
                }
        }
    return LB_OK;
}

/* `x.*` of what is no relation here: of the table of that name that an alias hides, or else taken as it stands. */
static lb_status star_unknown(lb_analysis *an, lb_scope *scope, const lb_sql_names *path, lb_columns *out)
{
    lb_str *parts, label = { "", 0 };
    lb_flow_slot slot;
    lb_atom *atom;
    uint32_t prefix;

    LB_TRY(lb_analysis_mark(an, LB_LINEAGE_UNKNOWN_COLUMN, path->at[0].begin, path->at[path->count - 1].end));
    LB_TRY(lb_scope_parts(an, path, &parts));
    const lb_relation *hidden = lb_scope_hidden(scope, parts, path->count, &prefix);
    if (hidden != NULL && prefix == path->count)
        return lb_star_relation(an, hidden, false, out);
    for (uint32_t i = 0; i < path->count; i++)
        LB_TRY(lb_analysis_join(an, label, parts[i], &label));
    LB_TRY(lb_analysis_join(an, label, LB_STR("*"), &label));
    LB_TRY(lb_flow_path_atom(an, NULL, label, &atom));
    atom->guessed = true;
    slot = (lb_flow_slot){ .items = &atom->self, .n = 1 };
    return lb_columns_add(an, out, LB_STR("*"), &slot);
}

static lb_status star_of(lb_analysis *an, lb_scope *scope, const lb_sql_names *path, lb_columns *out)
{
    const lb_relation *relation;
    bool known;
    lb_found found;

    LB_TRY(star_find(an, scope, path, &relation));
    if (relation != NULL)
        return lb_star_relation(an, relation, false, out);
    LB_TRY(lb_scope_knows(an, scope, path, &known));
    if (!known)
        return star_unknown(an, scope, path, out);
    LB_TRY(lb_scope_column(an, scope, path, &found));
    if (found.slot.type != NULL && found.slot.type->kind == LB_TYPE_STRUCT && found.slot.n != 0)
        return star_struct(an, &found.slot, out);
    return lb_columns_add(an, out, LB_STR("*"), &found.slot);
}

/* ---- EXCEPT, REPLACE, RENAME */

static bool star_names(const lb_sql_names *names, lb_str name)
{
    for (uint32_t i = 0; i < names->count; i++) {
        lb_str a = names->at[i].text;
        bool same = a.size == name.size;
        for (size_t k = 0; same && k < a.size; k++)
            same = (a.at[k] >= 'A' && a.at[k] <= 'Z' ? a.at[k] | 0x20 : a.at[k]) == name.at[k];
        if (same)
            return true;
    }
    return false;
}

/* `name` is lower case already. */
static bool star_is(const lb_sql_name *a, lb_str name)
{
    lb_sql_name one = *a;
    lb_sql_names names = { &one, 1 };
    return star_names(&names, name);
}

static lb_status star_adapt(lb_analysis *an, lb_scope *scope, const lb_sql_star *star, lb_str name,
                            const lb_flow_slot *slot, lb_columns *out)
{
    lb_flow_slot value = *slot;

    if (star_names(&star->except, name))
        return LB_OK;
    for (const lb_sql_item *item = star->replace; item != NULL; item = item->next)
        if (lb_sql_has(&item->alias) && star_is(&item->alias, name))
            LB_TRY(lb_expr_slot(an, scope, item->expr, &value));
    for (const lb_sql_rename *r = star->renames; r != NULL; r = r->next)
        if (star_is(&r->from, name)) {
            LB_TRY(lb_analysis_lower(an, r->to.text, &name));
            break;
        }
    return lb_columns_add(an, out, name, &value);
}

lb_status lb_star_expand(lb_analysis *an, lb_scope *scope, const lb_sql_star *star, lb_columns *out)
{
    bool plain = star->except.count == 0 && star->replace == NULL && star->renames == NULL;
    lb_columns *columns = out;

    if (!plain)
        LB_TRY(lb_columns_new(an, &columns));
    LB_TRY(star->path.count == 0 ? star_all(an, scope, columns) : star_of(an, scope, &star->path, columns));
    if (plain)
        return LB_OK;
    for (const lb_open_star *open = columns->open; open != NULL; open = open->next)
        LB_TRY(lb_columns_open(an, out, open->use, open->also));
    for (uint32_t i = 0; i < columns->n; i++)
        LB_TRY(star_adapt(an, scope, star, columns->names[i], &columns->slots[i], out));
    return LB_OK;
}
