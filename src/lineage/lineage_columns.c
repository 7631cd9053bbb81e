/* The columns of queries and views. */
#include "lineage/lineage_private.h"

#define COLUMNS_FEW 8

lb_status lb_columns_new(lb_analysis *an, lb_columns **out)
{
    LB_TRY(lb_analysis_alloc(an, 1, sizeof **out, out));
    (*out)->open_at = LB_NONE;
    return LB_OK;
}

lb_status lb_columns_add(lb_analysis *an, lb_columns *columns, lb_str name, const lb_flow_slot *slot)
{
    uint32_t cap = columns->cap;

    LB_TRY(lb_analysis_room(an, &columns->names, columns->n, &cap, sizeof *columns->names));
    LB_TRY(lb_analysis_room(an, &columns->slots, columns->n, &columns->cap, sizeof *columns->slots));
    columns->names[columns->n] = name;
    columns->slots[columns->n++] = *slot;
    return LB_OK;
}

lb_status lb_columns_open(lb_analysis *an, lb_columns *columns, lb_table_use *use, bool also)
{
    lb_open_star *star;

    for (star = columns->open; star != NULL; star = star->next)
        if (star->use == use)
            return LB_OK;
    LB_TRY(lb_analysis_alloc(an, 1, sizeof *star, &star));
    *star = (lb_open_star){ .use = use, .also = also, .next = columns->open };
    columns->open = star;
    if (columns->open_at == LB_NONE)
        columns->open_at = columns->n;
    return LB_OK;
}

/* Note the places of all names. */
static lb_status columns_index(lb_analysis *an, lb_columns *columns)
{
    lb_text_map map = { 0 };
    bool there;

    for (uint32_t i = columns->n; i-- > 0;) { /* from behind, so that the first of a name stands in the map */
        uint32_t *place = lb_text_map_put(&map, an->arena, NULL, columns->names[i], &there);
        if (place == NULL)
            return lb_analysis_nomem(an);
        if (there && columns->same == NULL) {
            LB_TRY(lb_analysis_alloc(an, columns->n, sizeof *columns->same, &columns->same));
            memset(columns->same, 0xFF, columns->n * sizeof *columns->same);
        }
        if (there)
            columns->same[i] = *place;
        *place = i;
    }
    columns->map = map;
    return LB_OK;
}

lb_status lb_columns_find(lb_analysis *an, lb_columns *columns, lb_str name, uint32_t from, uint32_t *out)
{
    uint32_t i = from;

    if (columns->n <= COLUMNS_FEW) {
        while (i < columns->n && !lb_str_equal(columns->names[i], name))
            i++;
        *out = i < columns->n ? i : LB_NONE;
        return LB_OK;
    }
    if (columns->map.n_slots == 0)
        LB_TRY(columns_index(an, columns));
    i = lb_text_map_find(&columns->map, NULL, name);
    while (i != LB_NONE && i < from)
        i = columns->same == NULL ? LB_NONE : columns->same[i];
    *out = i;
    return LB_OK;
}

lb_status lb_columns_rename(lb_analysis *an, lb_columns **columns, const lb_sql_names *names)
{
    const lb_columns *from = *columns;
    lb_columns *out;
    lb_str name;

    if (names->count == 0)
        return LB_OK;
    LB_TRY(lb_columns_new(an, &out));
    *out = (lb_columns){ .open = from->open, .open_at = from->open_at, .wild = from->wild, .unit = from->unit };
    for (uint32_t i = 0; i < from->n; i++) {
        name = from->names[i];
        if (i < names->count)
            LB_TRY(lb_analysis_lower(an, names->at[i].text, &name));
        LB_TRY(lb_columns_add(an, out, name, &from->slots[i]));
    }
    /* Names for columns of an open star: all that may stand there. */
    for (uint32_t i = from->n; from->open != NULL && i < names->count; i++) {
        lb_collector *all;
        lb_flow_slot slot;
        lb_atom *atom;
        LB_TRY(lb_flow_collector(an, &all));
        for (const lb_open_star *star = from->open; star != NULL; star = star->next) {
            LB_TRY(lb_flow_path_atom(an, star->use, LB_STR("*"), &atom));
            LB_TRY(lb_flow_add(an, all, atom->self.atom, LB_LINEAGE_IDENTITY, 0));
        }
        LB_TRY(lb_flow_slot_of(an, all, &slot));
        lb_flow_release(an, all);
        LB_TRY(lb_analysis_lower(an, names->at[i].text, &name));
        LB_TRY(lb_columns_add(an, out, name, &slot));
    }
    *columns = out;
    return LB_OK;
}
