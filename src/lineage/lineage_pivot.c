/* PIVOT and UNPIVOT: columns made of values, and values of columns. */
#include "lineage/lineage_private.h"

static lb_status pivot_use(lb_analysis *an, lb_text_map *used, lb_str name)
{
    bool there;

    LB_TRY(lb_analysis_lower(an, name, &name));
    uint32_t *place = lb_text_map_put(used, an->arena, NULL, name, &there);
    if (place == NULL)
        return lb_analysis_nomem(an);
    *place = 0;
    return LB_OK;
}

/* Note the names of all columns in an expression. */
static lb_status pivot_use_all(lb_analysis *an, lb_text_map *used, const lb_sql_expr *e)
{
    LB_TRY(lb_analysis_deeper(an));
    if (e->kind == LB_SQL_COLUMN) {
        const lb_sql_names *path = &LB_SQL_AS(column, e)->path;
        LB_TRY(pivot_use(an, used, path->at[path->count - 1].text));
    }
    for (const lb_sql_expr *child = e->first; child != NULL; child = child->next)
        LB_TRY(pivot_use_all(an, used, child));
    an->depth--;
    return LB_OK;
}

/* The columns that are not used up stay. */
static lb_status pivot_keep(lb_analysis *an, const lb_columns *source, const lb_text_map *used, lb_columns *out)
{
    for (uint32_t i = 0; i < source->n; i++)
        if (lb_text_map_find(used, NULL, source->names[i]) == LB_NONE)
            LB_TRY(lb_columns_add(an, out, source->names[i], &source->slots[i]));
    return LB_OK;
}

/* Label of `value AS name` in an IN list: its alias, or its text. */
static lb_status pivot_label(lb_analysis *an, const lb_sql_item *item, lb_str *out)
{
    lb_str text = lb_sql_text(an->source.text, item->expr->begin, item->expr->end);

    if (lb_sql_has(&item->alias))
        text = item->alias.text;
    else if (item->expr->kind == LB_SQL_STRING && text.size >= 2)
        text = (lb_str){ text.at + 1, text.size - 2 };
    return lb_analysis_lower(an, text, out);
}

/* "label_name" */
static lb_status pivot_compound(lb_analysis *an, lb_str *label, lb_str name)
{
    char *text;

    LB_TRY(lb_analysis_lower(an, name, &name));
    LB_TRY(lb_analysis_alloc(an, label->size + name.size + 2, 1, &text));
    memcpy(text, label->at, label->size);
    text[label->size] = '_';
    memcpy(text + label->size + 1, name.at, name.size);
    *label = (lb_str){ text, label->size + 1 + name.size };
    return LB_OK;
}

/* One column for each value of IN and each aggregate; the columns of FOR say which rows it takes. */
static lb_status pivot_values(lb_analysis *an, lb_scope *scope, const lb_sql_pivot *pivot, lb_columns *out)
{
    lb_flow_slot slot;
    lb_str label;

    for (const lb_sql_item *in = pivot->in; in != NULL; in = in->next)
        for (const lb_sql_item *value = pivot->values; value != NULL; value = value->next) {
            LB_TRY(pivot_label(an, in, &label));
            if (lb_sql_has(&value->alias) && pivot->values->next != NULL)
                LB_TRY(pivot_compound(an, &label, value->alias.text));
            LB_TRY(lb_expr_slot(an, scope, value->expr, &slot));
            LB_TRY(lb_columns_add(an, out, label, &slot));
        }
    return LB_OK;
}

static lb_status pivot_rows(lb_analysis *an, lb_scope *scope, const lb_sql_pivot *pivot, const lb_columns *source,
                            lb_columns *out)
{
    lb_text_map used = { 0 };
    lb_found found;

    for (uint32_t i = 0; i < pivot->columns.count; i++) {
        const lb_sql_names path = { &pivot->columns.at[i], 1 };
        LB_TRY(lb_scope_column(an, scope, &path, &found));
        LB_TRY(lb_slot_restrict(an, &found.slot, LB_LINEAGE_GROUP_BY, false));
        LB_TRY(pivot_use(an, &used, path.at[0].text));
    }
    for (const lb_sql_item *value = pivot->values; value != NULL; value = value->next)
        LB_TRY(pivot_use_all(an, &used, value->expr));
    LB_TRY(pivot_keep(an, source, &used, out));
    return pivot_values(an, scope, pivot, out);
}

/* UNPIVOT (value FOR name IN (a, b)): the value comes from all of IN, the name from none. */
static lb_status pivot_columns(lb_analysis *an, lb_scope *scope, const lb_sql_pivot *pivot, const lb_columns *source,
                               lb_columns *out)
{
    const lb_flow_slot none = { 0 };
    lb_text_map used = { 0 };
    lb_collector *all;
    lb_flow_slot slot;
    lb_str name;

    LB_TRY(lb_flow_collector(an, &all));
    const lb_sink sink = { .to = all };
    for (const lb_sql_item *in = pivot->in; in != NULL; in = in->next) {
        LB_TRY(lb_expr_walk(an, scope, in->expr, &sink));
        LB_TRY(pivot_use_all(an, &used, in->expr));
    }
    LB_TRY(lb_flow_slot_of(an, all, &slot));
    lb_flow_release(an, all);
    LB_TRY(pivot_keep(an, source, &used, out));
    for (uint32_t i = 0; i < pivot->columns.count; i++) {
        LB_TRY(lb_analysis_lower(an, pivot->columns.at[i].text, &name));
        LB_TRY(lb_columns_add(an, out, name, &none));
    }
    for (const lb_sql_item *value = pivot->values; value != NULL; value = value->next) {
        LB_TRY(lb_analysis_lower(an, lb_sql_text(an->source.text, value->expr->begin, value->expr->end), &name));
        LB_TRY(lb_columns_add(an, out, name, &slot));
    }
    return LB_OK;
}

lb_status lb_from_pivot(lb_analysis *an, lb_scope *scope, const lb_sql_pivot *pivot, const lb_columns *source,
                        lb_columns *out)
{
    return (pivot->unpivot ? pivot_columns : pivot_rows)(an, scope, pivot, source, out);
}
