/* Several threads read a compressed file, each at another frame; its tap gets the bytes in order nevertheless. What was read too early
 * waits in memory, for it costs more to read it once more. And what several readers want of the view is kept: the first bytes
 * of a frame, which end the record that the frame before began. */
#include <stdlib.h>
#include <string.h>

#include "io/unpacked_inside.h"

/* What waits may take this part of the memory limit. */
#define TURNS_PART 16

/* ---------------------------------------------------------------- the tap */

void lb_unpacked_tap(lb_store *view, lb_tap_fn tap, void *user)
{
    lb_unpacked_store *s = (lb_unpacked_store *)view;

    s->turns.tap = tap;
    s->turns.user = user;
}

static void turns_drop(lb_unpacked_store *s, size_t n)
{
    lb_unpacked_turns *t = &s->turns;

    for (size_t i = 0; i < n; i++) {
        lb_budget_give(&s->cx->budget, t->early[i].size);
        t->bytes -= t->early[i].size;
        free(t->early[i].bytes);
    }
    t->n -= n;
    if (t->n != 0)
        memmove(t->early, t->early + n, t->n * sizeof *t->early);
}

static bool turns_room(lb_unpacked_turns *t)
{
    if (t->n < t->cap)
        return true;
    size_t cap = t->cap == 0 ? 16 : t->cap * 2, bytes;
    lb_unpacked_early *grown = lb_mul_size(cap, sizeof *grown, &bytes) ? realloc(t->early, bytes) : NULL;
    if (grown == NULL)
        return false;
    t->early = grown;
    t->cap = cap;
    return true;
}

static bool turns_keep(lb_unpacked_store *s, uint64_t at, const uint8_t *bytes, size_t size)
{
    lb_unpacked_turns *t = &s->turns;
    size_t i = t->n;

    if (size > s->cx->budget.limit / TURNS_PART - LB_MIN(t->bytes, s->cx->budget.limit / TURNS_PART) ||
        !turns_room(t) || !lb_budget_take(&s->cx->budget, size))
        return false;
    uint8_t *copy = malloc(size);
    if (copy == NULL) {
        lb_budget_give(&s->cx->budget, size);
        return false;
    }
    memcpy(copy, bytes, size);
    for (; i > 0 && t->early[i - 1].at > at; i--)
        t->early[i] = t->early[i - 1];
    t->early[i] = (lb_unpacked_early){ at, size, copy };
    t->n++;
    t->bytes += size;
    return true;
}

/* Bytes that are not behind what the tap had. */
static void turns_take(lb_unpacked_turns *t, uint64_t at, const uint8_t *bytes, size_t size)
{
    if (t->tapped - at >= size)
        return;
    const size_t had = (size_t)(t->tapped - at);
    t->tapped += size - had;
    t->tap(t->user, bytes + had, size - had);
}

void lb_unpacked_turns_give(lb_unpacked_store *s, uint64_t at, const uint8_t *bytes, size_t size)
{
    lb_unpacked_turns *t = &s->turns;
    size_t n = 0;

    if (t->tap == NULL || size == 0)
        return;
    pthread_mutex_lock(&t->lock);
    if (at > t->tapped) {
        if (!t->missed && !turns_keep(s, at, bytes, size)) {
            t->missed = true;
            turns_drop(s, t->n);
        }
    } else {
        turns_take(t, at, bytes, size);
        for (; n < t->n && t->early[n].at <= t->tapped; n++)
            turns_take(t, t->early[n].at, t->early[n].bytes, t->early[n].size);
        turns_drop(s, n);
    }
    pthread_mutex_unlock(&t->lock);
}

void lb_unpacked_turns_free(lb_unpacked_store *s)
{
    turns_drop(s, s->turns.n);
    free(s->turns.early);
    pthread_mutex_destroy(&s->turns.lock);
}

/* ---------------------------------------------------------------- heads of frames */

void lb_unpacked_heads_keep(lb_unpacked_store *s, uint64_t at, const uint8_t *bytes, size_t size)
{
    lb_unpacked_head *head = &s->heads[s->next_head];

    if (head->bytes == NULL) {
        head->bytes = malloc(LB_UNPACKED_HEAD);
        if (head->bytes == NULL)
            return;
    }
    head->at = at;
    head->size = LB_MIN(size, LB_UNPACKED_HEAD);
    memcpy(head->bytes, bytes, head->size);
    s->next_head = (s->next_head + 1) % s->n_heads;
}

/* ---------------------------------------------------------------- what will be read again */

static void kept_drop(lb_unpacked_store *s, size_t i)
{
    lb_budget_give(&s->cx->budget, s->kept[i].size);
    free(s->kept[i].bytes);
    s->n_kept--;
    memmove(s->kept + i, s->kept + i + 1, (s->n_kept - i) * sizeof *s->kept);
}

void lb_unpacked_kept_add(lb_unpacked_store *s, uint64_t at, const uint8_t *bytes, size_t size, bool anew)
{
    while (s->n_kept != 0 && (anew || s->n_kept == LB_UNPACKED_KEPT_MOST))
        kept_drop(s, 0);
    if (size == 0 || !lb_budget_take(&s->cx->budget, size))
        return;
    uint8_t *copy = malloc(size);
    if (copy == NULL) {
        lb_budget_give(&s->cx->budget, size);
        return;
    }
    memcpy(copy, bytes, size);
    s->kept[s->n_kept++] = (lb_unpacked_head){ at, size, copy };
}

/* ---------------------------------------------------------------- all that is at hand */

static size_t at_hand(const lb_unpacked_head *heads, size_t n, uint64_t at, uint8_t *out, size_t size)
{
    for (size_t i = 0; i < n; i++) {
        const lb_unpacked_head *head = &heads[i];
        if (at < head->at || at - head->at >= head->size)
            continue;
        const size_t from = (size_t)(at - head->at), got = LB_MIN(size, head->size - from);
        memcpy(out, head->bytes + from, got);
        return got;
    }
    return 0;
}

size_t lb_unpacked_at_hand(const lb_unpacked_store *s, uint64_t at, uint8_t *out, size_t size)
{
    const size_t kept = at_hand(s->kept, s->n_kept, at, out, size);

    return kept != 0 ? kept : at_hand(s->heads, s->n_heads, at, out, size);
}

void lb_unpacked_at_hand_free(lb_unpacked_store *s)
{
    while (s->n_kept != 0)
        kept_drop(s, s->n_kept - 1);
    for (size_t i = 0; i < s->n_heads; i++)
        free(s->heads[i].bytes);
}
