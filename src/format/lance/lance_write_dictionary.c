/* Dictionaries of the Lance writer: one for each dictionary column, over all batches and files of an operation. */
#include <stdlib.h>

#include "base/hash.h"
#include "format/lance/lance_write_parts.h"

void lw_dictionary_init(lw_dictionary *d, lb_budget *budget, size_t width, uint64_t most)
{
    *d = (lw_dictionary){ .width = width, .most = LB_MIN(most, (uint64_t)UINT32_MAX - 1) };
    lb_buf_init(&d->data, budget);
    lb_buf_init(&d->ends, budget);
}

void lw_dictionary_free(lw_dictionary *d)
{
    lb_buf_free(&d->data);
    lb_buf_free(&d->ends);
    lb_budget_give(d->data.budget, d->n_slots * sizeof *d->slots);
    free(d->slots);
    d->slots = NULL;
    d->n_slots = 0;
}

static lb_str dictionary_at(const lw_dictionary *d, uint64_t number)
{
    const uint64_t *ends = (const uint64_t *)(const void *)d->ends.data;
    uint64_t from = number == 0 ? 0 : ends[number - 1];
    return (lb_str){ (const char *)d->data.data + from, (size_t)(ends[number] - from) };
}

/* Slot where a value stands or would stand. */
static size_t dictionary_slot(const lw_dictionary *d, lb_str value)
{
    size_t at = (size_t)lb_xxh3_64(value.at, value.size) & (d->n_slots - 1);
    while (d->slots[at] != 0 && !lb_str_equal(dictionary_at(d, d->slots[at] - 1), value))
        at = (at + 1) & (d->n_slots - 1);
    return at;
}

static lb_status dictionary_grow(lw_dictionary *d, lb_error *err)
{
    size_t n = d->n_slots == 0 ? 64 : d->n_slots * 2, old = d->n_slots;
    if (d->count + 1 <= d->n_slots / 2)
        return LB_OK;
    if (!lb_budget_take(d->data.budget, n * sizeof *d->slots))
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "a dictionary does not fit the memory limit");
    uint32_t *slots = calloc(n, sizeof *slots);
    if (slots == NULL) {
        lb_budget_give(d->data.budget, n * sizeof *d->slots);
        return lb_fail_nomem(err);
    }
    free(d->slots);
    lb_budget_give(d->data.budget, old * sizeof *d->slots);
    d->slots = slots;
    d->n_slots = n;
    for (uint64_t i = 0; i < d->count; i++) {
        size_t slot = dictionary_slot(d, dictionary_at(d, i));
        if (d->slots[slot] == 0) /* of equal values the first is meant */
            d->slots[slot] = (uint32_t)i + 1;
    }
    return LB_OK;
}

static lb_status dictionary_append(lw_dictionary *d, lb_str value, lb_error *err)
{
    if (d->count >= d->most)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                       "a dictionary gets more than the %llu values that its keys can tell apart",
                       (unsigned long long)d->most);
    uint64_t end = d->data.size + (uint64_t)value.size;
    LB_TRY(lb_buf_reserve(&d->ends, sizeof end, err));
    LB_TRY(lb_buf_append(&d->data, value.at, value.size, err));
    lb_buf_put(&d->ends, &end, sizeof end);
    d->count++;
    return LB_OK;
}

lb_status lw_dictionary_number(lw_dictionary *d, lb_str value, uint64_t *number, lb_error *err)
{
    LB_TRY(dictionary_grow(d, err));
    size_t slot = dictionary_slot(d, value);
    if (d->slots[slot] == 0) {
        LB_TRY(dictionary_append(d, value, err));
        d->slots[slot] = (uint32_t)d->count;
    }
    *number = d->slots[slot] - 1;
    return LB_OK;
}

lb_status lw_dictionary_add(lw_dictionary *d, lb_str value, lb_error *err)
{
    LB_TRY(dictionary_grow(d, err));
    size_t slot = dictionary_slot(d, value);
    LB_TRY(dictionary_append(d, value, err));
    if (d->slots[slot] == 0)
        d->slots[slot] = (uint32_t)d->count;
    return LB_OK;
}

lb_status lw_dictionary_encode(const lw_dictionary *d, uint64_t at, lb_buf *out, uint64_t *position, lb_error *err)
{
    LB_TRY(lb_buf_append(out, d->data.data, d->data.size, err));
    *position = d->width != 0 ? at : at + d->data.size;
    if (d->width != 0)
        return LB_OK;
    LB_TRY(lb_buf_append(out, &at, sizeof at, err));
    for (uint64_t i = 0; i < d->count; i++) {
        uint64_t end = at + ((const uint64_t *)(const void *)d->ends.data)[i];
        LB_TRY(lb_buf_append(out, &end, sizeof end, err));
    }
    return LB_OK;
}
