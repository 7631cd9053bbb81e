/* Names and a number for each: an open-addressed table that keeps the order out and the lookups at O(1), also for
 * a hundred thousand columns. Names are lent. */
#ifndef LB_BASE_NAMES_H
#define LB_BASE_NAMES_H

#include "base/arena.h"

typedef struct lb_name_slot {
    lb_str name; /* at NULL: free */
    uint64_t value;
} lb_name_slot;

typedef struct lb_names {
    lb_name_slot *slots;
    size_t n_slots, count;
} lb_names;

void lb_names_free(lb_names *names); /* zero-initialised is empty and valid */

/* Value of a name, or NULL. */
uint64_t *lb_names_find(const lb_names *names, lb_str name);

/* Add a name unless it is there; *was_there says. Errors: NOMEM. */
lb_status lb_names_add(lb_names *names, lb_str name, uint64_t value, bool *was_there, lb_error *err);

#endif
