/* Restart points of the view of a compressed file. */
#include <stdlib.h>
#include <string.h>

#include "io/unpacked_inside.h"

static lb_status points_room(lb_unpacked_store *s, lb_error *err)
{
    if (s->n_points < s->cap_points)
        return LB_OK;
    size_t cap = s->cap_points == 0 ? 16 : s->cap_points * 2, bytes;
    lb_unpacked_point *grown = lb_mul_size(cap, sizeof *grown, &bytes) ? realloc(s->points, bytes) : NULL;
    if (grown == NULL)
        return lb_fail_nomem(err);
    s->points = grown;
    s->cap_points = cap;
    return LB_OK;
}

size_t lb_unpacked_points_behind(const lb_unpacked_store *s, uint64_t at)
{
    size_t low = 0, high = s->n_points;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->points[mid].out_at <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const lb_unpacked_point *lb_unpacked_points_find(const lb_unpacked_store *s, const lb_unpack_point *at)
{
    size_t low = 0, high = s->n_points;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->points[mid].at.byte < at->byte ||
            (s->points[mid].at.byte == at->byte && s->points[mid].at.bit < at->bit))
            low = mid + 1;
        else
            high = mid;
    }
    bool found = low < s->n_points && s->points[low].at.byte == at->byte && s->points[low].at.bit == at->bit;
    return found ? &s->points[low] : NULL;
}

lb_status lb_unpacked_points_add(lb_unpacked_store *s, const lb_unpacked_point *p, lb_error *err)
{
    size_t i = lb_unpacked_points_behind(s, p->out_at);

    if (i != 0 && s->points[i - 1].out_at == p->out_at)
        return LB_OK;
    LB_TRY(points_room(s, err));
    uint8_t *window = malloc(p->window_size + 1);
    if (window == NULL)
        return lb_fail_nomem(err);
    if (p->window_size != 0)
        memcpy(window, p->window, p->window_size);
    memmove(s->points + i + 1, s->points + i, (s->n_points - i) * sizeof *s->points);
    s->points[i] = *p;
    s->points[i].window = window;
    s->n_points++;
    return LB_OK;
}

void lb_unpacked_points_free(lb_unpacked_store *s)
{
    for (size_t i = 0; i < s->n_points; i++)
        free((void *)(uintptr_t)s->points[i].window);
    free(s->points);
}

size_t lb_unpacked_points(lb_store *view, const lb_unpacked_point **out)
{
    lb_unpacked_store *s = (lb_unpacked_store *)view;

    *out = s->points;
    return s->n_points;
}

lb_status lb_unpacked_know(lb_store *view, const lb_unpacked_point *points, size_t n, lb_error *err)
{
    lb_unpacked_store *s = (lb_unpacked_store *)view;

    for (size_t i = 0; i < n; i++)
        LB_TRY(lb_unpacked_points_add(s, &points[i], err));
    s->known = true;
    return LB_OK;
}
