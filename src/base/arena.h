/* Memory: a budget shared by everything of one context, and arenas whose contents die together. */
#ifndef LB_BASE_ARENA_H
#define LB_BASE_ARENA_H

#include <stdatomic.h>

#include "base/fail.h"
#include "base/str.h"

typedef struct lb_budget {
    _Atomic uint64_t used;
    uint64_t limit;
} lb_budget;

/* Count `size` bytes against the budget, or refuse (false). `budget` NULL: no limit. Thread-safe. */
bool lb_budget_take(lb_budget *budget, uint64_t size);
void lb_budget_give(lb_budget *budget, uint64_t size);

typedef struct lb_arena_block lb_arena_block;

/* Allocations live until the arena is freed. Not thread-safe. */
typedef struct lb_arena {
    lb_arena_block *head;
    lb_budget *budget; /* NULL: no limit */
    lb_status why;     /* of the last failed allocation: BUDGET or NOMEM */
} lb_arena;

void lb_arena_init(lb_arena *arena, lb_budget *budget);
void lb_arena_free(lb_arena *arena);

/* `count` items of `size` bytes, zeroed and aligned for anything; NULL: see arena->why. */
void *lb_arena_alloc(lb_arena *arena, size_t count, size_t size);

/* A copy that ends in NUL. NULL: see arena->why. */
char *lb_arena_copy(lb_arena *arena, lb_str text);

/* Copy of `size` bytes; of none gives a valid pointer. */
void *lb_arena_dup(lb_arena *arena, const void *bytes, size_t size);

/* Turn a failed allocation into an error. */
lb_status lb_arena_fail(const lb_arena *arena, lb_error *err);

/* Refuses to wrap. */
static inline bool lb_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline bool lb_mul_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

#endif
