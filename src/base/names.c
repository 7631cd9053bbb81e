#include "base/names.h"

#include <stdlib.h>

#include "base/hash.h"

void lb_names_free(lb_names *names)
{
    free(names->slots);
    *names = (lb_names){ 0 };
}

/* The slot of a name, or the free one where it would stand. n_slots > count. */
static lb_name_slot *names_slot(const lb_names *names, lb_str name)
{
    size_t mask = names->n_slots - 1, at = (size_t)lb_xxh3_64(name.at, name.size) & mask;

    while (names->slots[at].name.at != NULL && !lb_str_equal(names->slots[at].name, name))
        at = (at + 1) & mask;
    return &names->slots[at];
}

uint64_t *lb_names_find(const lb_names *names, lb_str name)
{
    if (names->n_slots == 0)
        return NULL;
    lb_name_slot *slot = names_slot(names, name);
    return slot->name.at == NULL ? NULL : &slot->value;
}

static lb_status names_grow(lb_names *names, lb_error *err)
{
    lb_names bigger = { .n_slots = names->n_slots == 0 ? 32 : names->n_slots * 2, .count = names->count };

    bigger.slots = calloc(bigger.n_slots, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < names->n_slots; i++)
        if (names->slots[i].name.at != NULL)
            *names_slot(&bigger, names->slots[i].name) = names->slots[i];
    free(names->slots);
    *names = bigger;
    return LB_OK;
}

lb_status lb_names_add(lb_names *names, lb_str name, uint64_t value, bool *was_there, lb_error *err)
{
    if (2 * (names->count + 1) > names->n_slots)
        LB_TRY(names_grow(names, err));
    if (name.at == NULL)
        name.at = "";
    lb_name_slot *slot = names_slot(names, name);
    bool there = slot->name.at != NULL;
    if (was_there != NULL)
        *was_there = there;
    if (!there) {
        *slot = (lb_name_slot){ name, value };
        names->count++;
    }
    return LB_OK;
}
