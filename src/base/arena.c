#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>

#define ARENA_BLOCK ((size_t)64 * 1024)
#define ARENA_GRAIN alignof(max_align_t)

struct lb_arena_block {
    lb_arena_block *next;
    size_t used, cap;
    max_align_t data[];
};

bool lb_budget_take(lb_budget *budget, uint64_t size)
{
    if (budget == NULL)
        return true;
    uint64_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
    do {
        if (used > budget->limit || size > budget->limit - used)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&budget->used, &used, used + size, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

void lb_budget_give(lb_budget *budget, uint64_t size)
{
    if (budget != NULL)
        atomic_fetch_sub_explicit(&budget->used, size, memory_order_relaxed);
}

void lb_arena_init(lb_arena *arena, lb_budget *budget)
{
    *arena = (lb_arena){ .budget = budget };
}

void lb_arena_free(lb_arena *arena)
{
    while (arena->head != NULL) {
        lb_arena_block *block = arena->head;
        arena->head = block->next;
        lb_budget_give(arena->budget, block->cap);
        free(block);
    }
}

/* Make a block; the first ones are small, so that many small arenas stay cheap. */
static lb_arena_block *arena_grow(lb_arena *arena, size_t want)
{
    size_t usual = arena->head == NULL ? 1024 : LB_MIN(arena->head->cap * 2, ARENA_BLOCK);
    size_t cap = LB_MAX(want, usual);

    if (!lb_budget_take(arena->budget, cap))
        return arena->why = LB_BUDGET, NULL;
    lb_arena_block *block = malloc(sizeof *block + cap);
    if (block == NULL) {
        lb_budget_give(arena->budget, cap);
        return arena->why = LB_NOMEM, NULL;
    }
    *block = (lb_arena_block){ .next = arena->head, .cap = cap };
    /* A block made for one large thing goes behind the head, which still has room. */
    if (arena->head != NULL && want > usual / 2 && want == cap) {
        block->next = arena->head->next;
        arena->head->next = block;
    } else {
        arena->head = block;
    }
    return block;
}

void *lb_arena_alloc(lb_arena *arena, size_t count, size_t size)
{
    size_t want;

    if (!lb_mul_size(count, size, &want) || want > SIZE_MAX / 2)
        return arena->why = LB_BUDGET, NULL;
    want = (LB_MAX(want, 1) + ARENA_GRAIN - 1) / ARENA_GRAIN * ARENA_GRAIN;
    lb_arena_block *block = arena->head;
    if (block == NULL || want > block->cap - block->used) {
        block = arena_grow(arena, want);
        if (block == NULL)
            return NULL;
    }
    void *at = (char *)block->data + block->used;
    block->used += want;
    return memset(at, 0, want);
}

void *lb_arena_dup(lb_arena *arena, const void *bytes, size_t size)
{
    void *out = lb_arena_alloc(arena, size, 1);

    if (out != NULL && size != 0)
        memcpy(out, bytes, size);
    return out;
}

char *lb_arena_copy(lb_arena *arena, lb_str text)
{
    char *out = text.size == SIZE_MAX ? NULL : lb_arena_alloc(arena, text.size + 1, 1);

    if (out != NULL && text.size != 0)
        memcpy(out, text.at, text.size);
    return out;
}

lb_status lb_arena_fail(const lb_arena *arena, lb_error *err)
{
    if (arena->why == LB_BUDGET)
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "the memory limit of %llu MiB is used up",
                       (unsigned long long)(arena->budget == NULL ? 0 : arena->budget->limit >> 20));
    return lb_fail_nomem(err);
}
