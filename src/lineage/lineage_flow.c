/* Atoms, slots and collectors: how sources are gathered and handed on. */
#include "base/hash.h"
#include "lineage/lineage_private.h"

#define FLOW_FEW 8 /* items up to which a look at each beats a table */

/* ---- maps */

static uint32_t text_hash(const void *tag, lb_str key)
{
    uint64_t h = lb_xxh3_64(key.at, key.size) ^ (uint64_t)(uintptr_t)tag * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(h ^ h >> 32);
}

/* The slot of a key, or the free one where it would stand. */
static lb_text_slot *text_slot(const lb_text_map *map, const void *tag, lb_str key, uint32_t hash)
{
    uint32_t mask = map->n_slots - 1, at = hash & mask;

    for (;; at = (at + 1) & mask) {
        lb_text_slot *slot = &map->slots[at];
        if (slot->key.at == NULL || (slot->hash == hash && slot->tag == tag && lb_str_equal(slot->key, key)))
            return slot;
    }
}

uint32_t lb_text_map_find(const lb_text_map *map, const void *tag, lb_str key)
{
    if (map->n_slots == 0)
        return LB_NONE;
    const lb_text_slot *slot = text_slot(map, tag, key, text_hash(tag, key));
    return slot->key.at == NULL ? LB_NONE : slot->value;
}

static bool text_map_grow(lb_text_map *map, lb_arena *arena)
{
    if (map->n_slots > UINT32_MAX / 4)
        return arena->why = LB_BUDGET, false;
    lb_text_map bigger = { .n_slots = map->n_slots == 0 ? 16 : map->n_slots * 2, .count = map->count };
    bigger.slots = lb_arena_alloc(arena, bigger.n_slots, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return false;
    for (uint32_t i = 0; i < map->n_slots; i++) {
        const lb_text_slot *slot = &map->slots[i];
        if (slot->key.at != NULL)
            *text_slot(&bigger, slot->tag, slot->key, slot->hash) = *slot;
    }
    *map = bigger;
    return true;
}

uint32_t *lb_text_map_put(lb_text_map *map, lb_arena *arena, const void *tag, lb_str key, bool *was_there)
{
    if (2 * (map->count + 1) > map->n_slots && !text_map_grow(map, arena))
        return NULL;
    if (key.at == NULL)
        key.at = "";
    uint32_t hash = text_hash(tag, key);
    lb_text_slot *slot = text_slot(map, tag, key, hash);
    *was_there = slot->key.at != NULL;
    if (!*was_there) {
        *slot = (lb_text_slot){ .key = key, .tag = tag, .hash = hash, .value = LB_NONE };
        map->count++;
    }
    return &slot->value;
}

/* ---- memory */

lb_status lb_analysis_alloc(lb_analysis *an, size_t count, size_t size, void *out)
{
    void *at = lb_arena_alloc(an->arena, count, size);

    memcpy(out, &at, sizeof at);
    return at == NULL ? lb_analysis_nomem(an) : LB_OK;
}

lb_status lb_analysis_room(lb_analysis *an, void *items, uint32_t count, uint32_t *cap, size_t size)
{
    void *old, *bigger;

    if (count < *cap)
        return LB_OK;
    if (*cap > UINT32_MAX / 2)
        return lb_fail(an->err, LB_BUDGET, LB_NOWHERE, "the statement names too many things");
    uint32_t more = *cap == 0 ? 8 : *cap * 2;
    LB_TRY(lb_analysis_alloc(an, more, size, &bigger));
    memcpy(&old, items, sizeof old);
    if (count != 0)
        memcpy(bigger, old, count * size);
    memcpy(items, &bigger, sizeof bigger);
    *cap = more;
    return LB_OK;
}

lb_status lb_analysis_lower(lb_analysis *an, lb_str text, lb_str *out)
{
    *out = lb_lower_copy(an->arena, text, true);
    return out->at == NULL ? lb_analysis_nomem(an) : LB_OK;
}

lb_status lb_analysis_join(lb_analysis *an, lb_str a, lb_str b, lb_str *out)
{
    char *text;

    if (a.size == 0) {
        *out = b;
        return LB_OK;
    }
    LB_TRY(lb_analysis_alloc(an, a.size + b.size + 2, 1, &text));
    memcpy(text, a.at, a.size);
    text[a.size] = '.';
    memcpy(text + a.size + 1, b.at, b.size);
    *out = (lb_str){ text, a.size + 1 + b.size };
    return LB_OK;
}

/* ---- collectors */

lb_status lb_flow_collector(lb_analysis *an, lb_collector **out)
{
    lb_collector *c = an->free_collectors;

    if (c == NULL)
        return lb_analysis_alloc(an, 1, sizeof **out, out);
    an->free_collectors = c->next_free;
    *c = (lb_collector){ .items = c->items, .cap = c->cap, .table = c->table, .table_cap = c->table_cap };
    *out = c;
    return LB_OK;
}

void lb_flow_release(lb_analysis *an, lb_collector *collector)
{
    if (collector == NULL)
        return;
    collector->next_free = an->free_collectors;
    an->free_collectors = collector;
}

static uint32_t flow_hash(uint32_t atom)
{
    return (uint32_t)(atom * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

/* Make the table anew for twice the items there are. */
static lb_status flow_table(lb_analysis *an, lb_collector *c)
{
    uint32_t size = 64;

    while (size < c->n * 4)
        size *= 2;
    if (size > c->table_cap) {
        LB_TRY(lb_analysis_alloc(an, size, sizeof *c->table, &c->table));
        c->table_cap = size;
    } else {
        memset(c->table, 0, size * sizeof *c->table);
    }
    c->table_size = size;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t at = flow_hash(c->items[i].atom) & (size - 1);
        while (c->table[at] != 0)
            at = (at + 1) & (size - 1);
        c->table[at] = i + 1;
    }
    return LB_OK;
}

/* Place of an atom among the items, or the number of items. *slot: where the table would note it. */
static uint32_t flow_find(const lb_collector *c, uint32_t atom, uint32_t *slot)
{
    if (c->table_size == 0) {
        uint32_t i = 0;
        while (i < c->n && c->items[i].atom != atom)
            i++;
        return i;
    }
    uint32_t mask = c->table_size - 1, at = flow_hash(atom) & mask;
    while (c->table[at] != 0 && c->items[c->table[at] - 1].atom != atom)
        at = (at + 1) & mask;
    *slot = at;
    return c->table[at] != 0 ? c->table[at] - 1 : c->n;
}

lb_status lb_flow_add(lb_analysis *an, lb_collector *to, uint32_t atom, uint16_t kinds, uint16_t clauses)
{
    uint32_t slot = 0, at = flow_find(to, atom, &slot);

    if (++an->work > LB_ANALYSIS_WORK)
        return lb_fail(an->err, LB_BUDGET, LB_NOWHERE, "the statement's columns depend on one another too often");
    if (at < to->n) {
        to->items[at].kinds |= kinds;
        to->items[at].clauses |= clauses;
        return LB_OK;
    }
    LB_TRY(lb_analysis_room(an, &to->items, to->n, &to->cap, sizeof *to->items));
    to->items[to->n++] = (lb_flow_item){ atom, kinds, clauses };
    if (to->table_size != 0)
        to->table[slot] = to->n;
    if (to->n > FLOW_FEW && to->n * 2 > to->table_size)
        return flow_table(an, to);
    return LB_OK;
}

/* Kinds of a source of an operand, as a source of the whole. */
static uint16_t flow_through(const lb_sink *sink, uint16_t kinds)
{
    static const uint16_t plain = LB_LINEAGE_IDENTITY | LB_LINEAGE_TRANSFORMATION,
                          values = LB_LINEAGE_IDENTITY | LB_LINEAGE_TRANSFORMATION | LB_LINEAGE_AGGREGATION,
                          all = values | LB_LINEAGE_CONDITIONAL;
    uint16_t masked = (kinds & LB_LINEAGE_MASKED) | (sink->masked ? LB_LINEAGE_MASKED : 0);

    if (kinds == 0)
        return 0;
    switch (sink->way) {
    case LB_WAY_IDENTITY:
        return kinds | masked;
    case LB_WAY_TRANSFORMATION:
        return (uint16_t)((kinds & all & ~plain) | (kinds & plain ? LB_LINEAGE_TRANSFORMATION : 0) | masked);
    case LB_WAY_AGGREGATION:
        return (uint16_t)((kinds & LB_LINEAGE_CONDITIONAL) | (kinds & values ? LB_LINEAGE_AGGREGATION : 0) | masked);
    default:
        return LB_LINEAGE_CONDITIONAL | masked;
    }
}

lb_status lb_flow_emit(lb_analysis *an, const lb_sink *sink, const lb_flow_slot *slot)
{
    for (uint32_t i = 0; i < slot->n; i++) {
        const lb_flow_item *item = &slot->items[i];
        if (sink->clause != 0)
            LB_TRY(lb_flow_add(an, sink->to, item->atom, 0, (uint16_t)(sink->clause | item->clauses)));
        else
            LB_TRY(lb_flow_add(an, sink->to, item->atom, flow_through(sink, item->kinds), item->clauses));
    }
    if (slot->windowed && sink->clause == 0)
        sink->to->windowed = true;
    return LB_OK;
}

lb_status lb_flow_slot_of(lb_analysis *an, const lb_collector *from, lb_flow_slot *out)
{
    lb_flow_item *items = NULL;

    if (from->n != 0) {
        LB_TRY(lb_analysis_alloc(an, from->n, sizeof *items, &items));
        memcpy(items, from->items, from->n * sizeof *items);
    }
    *out = (lb_flow_slot){ .items = items, .n = from->n, .windowed = from->windowed };
    return LB_OK;
}

lb_status lb_flow_unite(lb_analysis *an, const lb_flow_slot *slots, uint32_t n, lb_flow_slot *out)
{
    lb_collector *all;
    lb_status status = LB_OK;

    if (n == 1) {
        *out = slots[0];
        return LB_OK;
    }
    LB_TRY(lb_flow_collector(an, &all));
    lb_sink sink = { .to = all };
    for (uint32_t i = 0; status == LB_OK && i < n; i++)
        status = lb_flow_emit(an, &sink, &slots[i]);
    if (status == LB_OK)
        status = lb_flow_slot_of(an, all, out);
    lb_flow_release(an, all);
    return status;
}

/* ---- atoms */

static lb_status flow_atom(lb_analysis *an, lb_table_use *use, lb_str path, lb_atom **out)
{
    LB_TRY(lb_analysis_room(an, &an->atoms, an->n_atoms, &an->cap_atoms, sizeof(lb_atom *)));
    LB_TRY(lb_analysis_alloc(an, 1, sizeof **out, out));
    **out = (lb_atom){ .use = use, .path = path, .vertex = LB_NONE, .self = { an->n_atoms, LB_LINEAGE_IDENTITY, 0 } };
    an->atoms[an->n_atoms++] = *out;
    return LB_OK;
}

lb_status lb_flow_column_atom(lb_analysis *an, lb_table_use *use, uint32_t column, lb_atom **out)
{
    uint32_t n = use->table->n_columns;

    if (use->atoms == NULL) {
        LB_TRY(lb_analysis_alloc(an, n, sizeof *use->atoms, &use->atoms));
        memset(use->atoms, 0xFF, n * sizeof *use->atoms);
    }
    if (use->atoms[column] != LB_NONE) {
        *out = an->atoms[use->atoms[column]];
        return LB_OK;
    }
    LB_TRY(flow_atom(an, use, use->table->columns[column].name, out));
    use->atoms[column] = (*out)->self.atom;
    return LB_OK;
}

lb_status lb_flow_path_atom(lb_analysis *an, lb_table_use *use, lb_str path, lb_atom **out)
{
    uint32_t column = use == NULL ? LB_NONE : lb_catalog_column_find(use->table, path);
    bool there;

    if (column != LB_NONE)
        return lb_flow_column_atom(an, use, column, out);
    uint32_t *value = lb_text_map_put(&an->paths, an->arena, use, path, &there);
    if (value == NULL)
        return lb_analysis_nomem(an);
    if (there) {
        *out = an->atoms[*value];
        return LB_OK;
    }
    LB_TRY(flow_atom(an, use, path, out));
    *value = (*out)->self.atom;
    return LB_OK;
}

/* Add a path and, below a struct, those of its fields. */
static lb_status flow_fields(lb_analysis *an, lb_table_use *use, lb_str path, const lb_nested_type *type,
                             lb_collector *to)
{
    lb_atom *atom;
    lb_str below;

    LB_TRY(lb_flow_path_atom(an, use, path, &atom));
    LB_TRY(lb_flow_add(an, to, atom->self.atom, LB_LINEAGE_IDENTITY, 0));
    for (uint32_t i = 0; type != NULL && type->kind == LB_TYPE_STRUCT && i < type->n_fields; i++) {
        LB_TRY(lb_analysis_join(an, path, type->fields[i].name, &below));
        LB_TRY(flow_fields(an, use, below, type->fields[i].type, to));
    }
    return LB_OK;
}

lb_status lb_flow_path_slot(lb_analysis *an, lb_table_use *use, lb_str path, const lb_nested_type *type,
                            lb_flow_slot *out)
{
    lb_collector *fields;
    lb_atom *atom;

    if (type == NULL || type->kind != LB_TYPE_STRUCT) {
        LB_TRY(lb_flow_path_atom(an, use, path, &atom));
        *out = (lb_flow_slot){ .items = &atom->self, .n = 1, .type = lb_nested_is_complex(type) ? type : NULL };
        return LB_OK;
    }
    LB_TRY(lb_flow_collector(an, &fields));
    lb_status status = flow_fields(an, use, path, type, fields);
    if (status == LB_OK)
        status = lb_flow_slot_of(an, fields, out);
    out->type = type;
    lb_flow_release(an, fields);
    return status;
}

lb_status lb_flow_column_slot(lb_analysis *an, lb_table_use *use, uint32_t column, lb_flow_slot *out)
{
    const lb_catalog_column *c = &use->table->columns[column];
    lb_atom *atom;

    if (c->type != NULL && c->type->kind == LB_TYPE_STRUCT)
        return lb_flow_path_slot(an, use, c->name, c->type, out);
    LB_TRY(lb_flow_column_atom(an, use, column, &atom));
    *out = (lb_flow_slot){ .items = &atom->self, .n = 1, .type = lb_nested_is_complex(c->type) ? c->type : NULL };
    return LB_OK;
}

/* ---- units */

lb_status lb_flow_unit(lb_analysis *an, lb_unit **out)
{
    return lb_analysis_alloc(an, 1, sizeof **out, out);
}

lb_status lb_flow_use_unit(lb_analysis *an, lb_unit *unit)
{
    lb_unit *user = an->unit;

    if (unit == NULL || unit == user || (user->n_uses != 0 && user->uses[user->n_uses - 1] == unit))
        return LB_OK;
    LB_TRY(lb_analysis_room(an, &user->uses, user->n_uses, &user->cap_uses, sizeof(lb_unit *)));
    user->uses[user->n_uses++] = unit;
    return LB_OK;
}
