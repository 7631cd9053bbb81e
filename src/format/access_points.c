#include "format/access_points.h"

#include <stdlib.h>
#include <zstd.h>

/* ---------------------------------------------------------------- from a map */

/* The i-th restart point of an entry. A window that is no zstd frame with its size in front does not read, as the view will say. */
static lb_unpacked_point points_one(const lb_access_points *p, uint64_t i, uint64_t base)
{
    lb_unpacked_point out = { .at = { .byte = p->compressed_byte[i] - base, .bit = p->bit[i] },
                              .out_at = p->uncompressed_byte[i] };

    if (p->window_offsets != NULL && p->window_offsets[i + 1] > p->window_offsets[i]) {
        out.window = p->window_data + p->window_offsets[i];
        out.window_size = (size_t)(p->window_offsets[i + 1] - p->window_offsets[i]);
        unsigned long long size = ZSTD_getFrameContentSize(out.window, out.window_size);
        out.at.window = size > LB_UNPACK_HISTORY ? LB_UNPACK_HISTORY + 1 : (unsigned)size;
    }
    if (p->params_offsets != NULL && p->params_offsets[i + 1] > p->params_offsets[i])
        out.at.param = p->params_data[p->params_offsets[i]];
    return out;
}

lb_status lb_points_know(lb_store *view, const lb_access_points *p, uint32_t member, uint64_t base, lb_error *err)
{
    size_t n = 0;

    for (uint64_t i = 0; i < p->count; i++)
        n += p->member[i] == member && p->compressed_byte[i] >= base;
    lb_unpacked_point *points = calloc(n + 1, sizeof *points);
    if (points == NULL)
        return lb_fail_nomem(err);
    n = 0;
    for (uint64_t i = 0; i < p->count; i++)
        if (p->member[i] == member && p->compressed_byte[i] >= base)
            points[n++] = points_one(p, i, base);
    lb_status status = lb_unpacked_know(view, points, n, err);
    free(points);
    return status;
}

/* ---------------------------------------------------------------- for a map */

typedef struct points_columns {
    uint32_t *member;
    uint64_t *compressed_byte, *uncompressed_byte, *next_row, *next_row_byte;
    uint8_t *bit, *window, *params;
    int32_t *window_offsets, *params_offsets;
} points_columns;

static bool points_alloc(points_columns *c, lb_arena *arena, size_t n, size_t windows)
{
    c->member = lb_arena_alloc(arena, n, sizeof *c->member);
    c->compressed_byte = lb_arena_alloc(arena, n, sizeof *c->compressed_byte);
    c->uncompressed_byte = lb_arena_alloc(arena, n, sizeof *c->uncompressed_byte);
    c->next_row = lb_arena_alloc(arena, n, sizeof *c->next_row);
    c->next_row_byte = lb_arena_alloc(arena, n, sizeof *c->next_row_byte);
    c->bit = lb_arena_alloc(arena, n, 1);
    c->window = lb_arena_alloc(arena, windows + 1, 1);
    c->params = lb_arena_alloc(arena, n, 1);
    c->window_offsets = lb_arena_alloc(arena, n + 1, sizeof *c->window_offsets);
    c->params_offsets = lb_arena_alloc(arena, n + 1, sizeof *c->params_offsets);
    return c->member != NULL && c->compressed_byte != NULL && c->uncompressed_byte != NULL && c->next_row != NULL &&
           c->next_row_byte != NULL && c->bit != NULL && c->window != NULL && c->params != NULL &&
           c->window_offsets != NULL && c->params_offsets != NULL;
}

static lb_access_points points_of(const points_columns *c, lb_str kind, uint64_t n)
{
    return (lb_access_points){ .count = n,
                               .kind = kind,
                               .member = c->member,
                               .compressed_byte = c->compressed_byte,
                               .uncompressed_byte = c->uncompressed_byte,
                               .next_row = c->next_row,
                               .next_row_byte = c->next_row_byte,
                               .bit = c->bit,
                               .window_offsets = c->window_offsets,
                               .params_offsets = c->params_offsets,
                               .window_data = c->window,
                               .params_data = c->params };
}

static void points_put(points_columns *c, size_t i, const lb_unpacked_point *p, uint32_t member, uint64_t base)
{
    c->member[i] = member;
    c->compressed_byte[i] = p->at.byte + base;
    c->uncompressed_byte[i] = p->out_at;
    c->bit[i] = (uint8_t)p->at.bit;
    c->params[i] = p->at.param;
    c->params_offsets[i + 1] = (int32_t)i + 1;
    if (p->window_size != 0)
        memcpy(c->window + c->window_offsets[i], p->window, p->window_size);
    c->window_offsets[i + 1] = c->window_offsets[i] + (int32_t)p->window_size;
}

/* The points that are far enough from each other for a map: a file that tells its frames has more. */
static lb_status points_far(lb_store *view, lb_arena *arena, const lb_unpacked_point **out, size_t *n, lb_error *err)
{
    const lb_unpacked_point *all;
    size_t count = lb_unpacked_points(view, &all);
    lb_unpacked_point *far = lb_arena_alloc(arena, count, sizeof *far);
    uint64_t last = 0;

    *n = 0;
    if (far == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < count; i++)
        if (all[i].out_at - last >= LB_UNPACKED_SPACING) {
            far[(*n)++] = all[i];
            last = all[i].out_at;
        }
    *out = far;
    return LB_OK;
}

lb_status lb_points_keep(lb_store *view, const char *kind, uint32_t member, uint64_t base, lb_points_row_fn row_at,
                         void *user, lb_arena *arena, lb_access_points *out, lb_error *err)
{
    const lb_unpacked_point *points;
    size_t n, windows = 0;
    points_columns c;

    /* Windows are of 64 KiB at most, and a map's column of them of 2 GiB. */
    LB_TRY(points_far(view, arena, &points, &n, err));
    n = LB_MIN(n, (size_t)INT32_MAX / LB_UNPACK_HISTORY);
    for (size_t i = 0; i < n; i++)
        windows += points[i].window_size;
    if (n == 0)
        return LB_OK;
    if (!points_alloc(&c, arena, n, windows))
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        points_put(&c, i, &points[i], member, base);
        row_at(user, points[i].out_at, &c.next_row[i], &c.next_row_byte[i]);
    }
    *out = points_of(&c, lb_str_of(kind), n);
    return LB_OK;
}

static const uint8_t *points_bytes(const int32_t *offsets, const uint8_t *data, uint64_t i, size_t *size)
{
    *size = offsets == NULL ? 0 : (size_t)(offsets[i + 1] - offsets[i]);
    return *size == 0 ? NULL : data + offsets[i];
}

static void points_copy(points_columns *c, size_t to, const lb_access_points *from, uint64_t i)
{
    size_t window, params;
    const uint8_t *w = points_bytes(from->window_offsets, from->window_data, i, &window);
    const uint8_t *p = points_bytes(from->params_offsets, from->params_data, i, &params);

    c->member[to] = from->member[i];
    c->compressed_byte[to] = from->compressed_byte[i];
    c->uncompressed_byte[to] = from->uncompressed_byte[i];
    c->next_row[to] = from->next_row[i];
    c->next_row_byte[to] = from->next_row_byte[i];
    c->bit[to] = from->bit[i];
    if (window != 0)
        memcpy(c->window + c->window_offsets[to], w, window);
    c->window_offsets[to + 1] = c->window_offsets[to] + (int32_t)window;
    c->params[to] = params == 0 ? 0 : *p;
    c->params_offsets[to + 1] = c->params_offsets[to] + 1;
}

lb_status lb_points_join(lb_access_points *out, const lb_access_points *more, lb_arena *arena, lb_error *err)
{
    const lb_access_points *parts[] = { out, more };
    uint64_t n = out->count + more->count, at = 0;
    size_t windows = 0;
    points_columns c;

    if (out->count == 0)
        *out = *more;
    if (out->count == n)
        return LB_OK;
    for (size_t k = 0; k < 2; k++)
        windows += parts[k]->window_offsets == NULL ? 0 : (size_t)parts[k]->window_offsets[parts[k]->count];
    if (windows > INT32_MAX) /* a column of a map holds no more: those of the first view do */
        return LB_OK;
    if (!points_alloc(&c, arena, (size_t)n, windows))
        return lb_arena_fail(arena, err);
    for (size_t k = 0; k < 2; k++)
        for (uint64_t i = 0; i < parts[k]->count; i++)
            points_copy(&c, (size_t)at++, parts[k], i);
    const lb_str kind = out->kind;
    *out = points_of(&c, kind, n);
    return LB_OK;
}
