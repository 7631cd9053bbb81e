/* The view of a compressed file. A few cursors stand at places of it, each with a decompressor and the last bytes that came of it; a
 * read takes the cursor that is nearest before its place, unless a restart point is nearer. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "io/unpacked.h"

#define UNPACKED_IN ((size_t)256 << 10)
#define UNPACKED_FILL \
    ((size_t)64 << 10) /* read at a time: a cursor that is sent elsewhere has read some of it in vain */
#define UNPACKED_OUT ((size_t)1 << 20)
#define UNPACKED_STEP ((size_t)16 << 10)
#define UNPACKED_CURSORS_MOST 32
#define UNPACKED_WINDOW_LEVEL 3

typedef struct unpacked_cursor {
    lb_unpacker *unpacker; /* NULL: not made yet */
    lb_unpack_memory memory;
    bool busy, begun, ended;
    uint64_t used;     /* when, counted in reads */
    uint64_t begun_at; /* before it there is but a window, trimmed to what is referenced */
    uint8_t *in;
    size_t in_from, in_to;
    uint64_t in_next; /* in the file: what is read next */
    uint8_t *out;     /* history and what came last */
    size_t out_from, out_to;
    uint64_t at;       /* in the view: of out_to */
    uint64_t point_at; /* in the view: of the last restart point before */
    bool noting;       /* a point waits for what its window is used for */
    lb_unpacked_point point;
    uint8_t *window, *marks; /* of that point, LB_UNPACK_HISTORY bytes each */
} unpacked_cursor;

typedef struct unpacked_store {
    lb_store store;
    lb_context *cx;
    lb_store *packed;
    const lb_container *container;
    pthread_mutex_t lock; /* of all that follows, and of `busy` and `used` of cursors */
    pthread_cond_t idle;
    bool alone; /* a reader has all cursors for itself, or waits for them: nobody else takes one */
    size_t n_cursors;
    unpacked_cursor cursors[UNPACKED_CURSORS_MOST];
    uint64_t reads;
    uint64_t cursor_bytes; /* the most that a cursor took so far */
    bool known;            /* points were given: none are noted */
    lb_unpacked_point *points;
    size_t n_points, cap_points;
    lb_tap_fn tap;
    void *tap_user;
    uint64_t tapped; /* bytes of the file that the tap got */
} unpacked_store;

/* Of its own, and the kilobytes that unpackers do not count. */
#define UNPACKED_CURSOR_BYTES (UNPACKED_IN + UNPACKED_OUT + 4 * (size_t)LB_UNPACK_HISTORY)

/* A reader that was refused memory so often waits until it is alone, and then it is the last time. */
#define UNPACKED_TRIES 4

/* Cursors that nobody reads with may hold this part of the memory limit. */
#define UNPACKED_IDLE_PART 8

/* ---------------------------------------------------------------- restart points */

static lb_status points_room(unpacked_store *s, lb_error *err)
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

/* The first point behind `at`. */
static size_t points_behind(const unpacked_store *s, uint64_t at)
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

/* Keep a point with a copy of its window; one that is there already stays. */
static lb_status points_add(unpacked_store *s, const lb_unpacked_point *p, lb_error *err)
{
    size_t i = points_behind(s, p->out_at);

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

size_t lb_unpacked_points(lb_store *view, const lb_unpacked_point **out)
{
    unpacked_store *s = (unpacked_store *)view;

    *out = s->points;
    return s->n_points;
}

lb_status lb_unpacked_know(lb_store *view, const lb_unpacked_point *points, size_t n, lb_error *err)
{
    unpacked_store *s = (unpacked_store *)view;

    for (size_t i = 0; i < n; i++)
        LB_TRY(points_add(s, &points[i], err));
    s->known = true;
    return LB_OK;
}

void lb_unpacked_tap(lb_store *view, lb_tap_fn tap, void *user)
{
    unpacked_store *s = (unpacked_store *)view;

    s->tap = tap;
    s->tap_user = user;
}

/* ---------------------------------------------------------------- noting points */

/* The point's window is settled: packed, and kept. */
static lb_status cursor_settle(unpacked_store *s, unpacked_cursor *c, lb_error *err)
{
    size_t n = c->point.at.window, from = LB_UNPACK_HISTORY - n, cap = ZSTD_compressBound(n);
    uint8_t *packed = malloc(cap + 1);

    c->noting = false;
    if (packed == NULL)
        return lb_fail_nomem(err);
    for (size_t i = from; s->container->note != NULL && i < LB_UNPACK_HISTORY; i++)
        if (c->marks[i] == 0)
            c->window[i] = 0;
    size_t size = ZSTD_compress(packed, cap, c->window + from, n, UNPACKED_WINDOW_LEVEL);
    lb_status status = ZSTD_isError(size) ? lb_fail_nomem(err) : LB_OK;
    c->point.window = packed;
    c->point.window_size = size;
    if (status == LB_OK) {
        pthread_mutex_lock(&s->lock);
        status = points_add(s, &c->point, err);
        pthread_mutex_unlock(&s->lock);
    }
    free(packed);
    return status;
}

/* Points that were given may be wrong: where the cursor comes by one, it has to stand where the point says. */
static lb_status cursor_check(unpacked_store *s, const unpacked_cursor *c, const lb_unpack_point *at, lb_error *err)
{
    bool holds = true;

    pthread_mutex_lock(&s->lock);
    size_t low = 0, high = s->n_points;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->points[mid].at.byte < at->byte ||
            (s->points[mid].at.byte == at->byte && s->points[mid].at.bit < at->bit))
            low = mid + 1;
        else
            high = mid;
    }
    if (low < s->n_points && s->points[low].at.byte == at->byte && s->points[low].at.bit == at->bit)
        holds = s->points[low].out_at == c->at;
    pthread_mutex_unlock(&s->lock);
    if (holds)
        return LB_OK;
    return lb_fail(err, LB_CORRUPT, LB_AT(at->byte),
                   "%s: a frame gives another number of bytes than the file says of it", s->container->name);
}

/* The cursor stands at a border. One that is far enough behind the last point becomes a point. */
static lb_status cursor_border(unpacked_store *s, unpacked_cursor *c, const lb_unpack_point *at, lb_error *err)
{
    if (s->known)
        return cursor_check(s, c, at, err);
    if (c->at - c->point_at < LB_UNPACKED_SPACING)
        return LB_OK;
    c->point_at = c->at;
    c->point = (lb_unpacked_point){ .at = *at, .out_at = c->at };
    if (at->window == 0) {
        pthread_mutex_lock(&s->lock);
        lb_status status = points_add(s, &c->point, err);
        pthread_mutex_unlock(&s->lock);
        return status;
    }
    if (at->window > c->out_to - c->out_from)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "less is left of what was decompressed than a restart needs");
    memcpy(c->window + LB_UNPACK_HISTORY - at->window, c->out + c->out_to - at->window, at->window);
    c->noting = true;
    if (s->container->note == NULL)
        return cursor_settle(s, c, err);
    /* The container's marks are of the bytes that its matches can reach, the last ones of ours. */
    memset(c->marks, 0, LB_UNPACK_HISTORY);
    s->container->note(c->unpacker, c->marks + LB_UNPACK_HISTORY - LB_INFLATE_WINDOW);
    return LB_OK;
}

/* ---------------------------------------------------------------- cursors */

static lb_status cursor_make(unpacked_store *s, unpacked_cursor *c, lb_error *err)
{
    if (c->unpacker != NULL)
        return LB_OK;
    c->memory = (lb_unpack_memory){ .budget = &s->cx->budget };
    bool granted = lb_unpack_take(&c->memory, UNPACKED_CURSOR_BYTES);
    uint8_t *memory = granted ? malloc(UNPACKED_CURSOR_BYTES) : NULL;
    lb_unpacker *u = memory == NULL ? NULL : s->container->open(&c->memory);
    if (u == NULL) {
        free(memory);
        lb_status status = lb_unpack_no_memory(&c->memory, s->container->name, err);
        lb_budget_give(&s->cx->budget, c->memory.taken);
        return status;
    }
    c->unpacker = u;
    c->out = memory;
    c->in = memory + UNPACKED_OUT + LB_UNPACK_HISTORY;
    c->window = c->in + UNPACKED_IN;
    c->marks = c->window + LB_UNPACK_HISTORY;
    return LB_OK;
}

/* Free what the cursor holds; it can be made again. */
static void cursor_free(unpacked_store *s, unpacked_cursor *c)
{
    if (c->unpacker == NULL)
        return;
    s->container->close(c->unpacker);
    c->unpacker = NULL;
    c->begun = false;
    free(c->out);
    lb_budget_give(&s->cx->budget, c->memory.taken);
}

static lb_status cursor_window(unpacked_cursor *c, const lb_unpacked_point *p, lb_error *err)
{
    if (p->at.window > LB_UNPACK_HISTORY)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the map's restart point at byte %llu has a window of %u bytes",
                       (unsigned long long)p->at.byte, p->at.window);
    size_t got = ZSTD_decompress(c->out, LB_UNPACK_HISTORY, p->window, p->window_size);
    if (ZSTD_isError(got) || got != p->at.window)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE,
                       "the map's restart point at byte %llu has a window that does not read",
                       (unsigned long long)p->at.byte);
    c->out_to = got;
    return LB_OK;
}

/* Put the cursor at a point (lent for the call; NULL: at the beginning). */
static lb_status cursor_begin(unpacked_store *s, unpacked_cursor *c, const lb_unpacked_point *p, lb_error *err)
{
    LB_TRY(cursor_make(s, c, err));
    c->begun = c->ended = c->noting = false;
    c->in_from = c->in_to = c->out_from = c->out_to = 0;
    c->in_next = p == NULL ? 0 : p->at.byte;
    c->at = c->point_at = c->begun_at = p == NULL ? 0 : p->out_at;
    if (p != NULL && p->at.window != 0)
        LB_TRY(cursor_window(c, p, err));
    LB_TRY(s->container->begin(c->unpacker, p == NULL ? NULL : &p->at, err));
    c->begun = true;
    return LB_OK;
}

static void cursor_tap(unpacked_store *s, const unpacked_cursor *c, size_t got)
{
    pthread_mutex_lock(&s->lock);
    if (s->tap != NULL && s->tapped >= c->in_next && s->tapped - c->in_next < got) {
        size_t skip = (size_t)(s->tapped - c->in_next);
        s->tap(s->tap_user, c->in + c->in_to + skip, got - skip);
        s->tapped += got - skip;
    }
    pthread_mutex_unlock(&s->lock);
}

/* Read on in the file. */
static lb_status cursor_fill(unpacked_store *s, unpacked_cursor *c, lb_error *err)
{
    size_t left = c->in_to - c->in_from, got;

    LB_TRY(lb_check_cancel(s->cx, err));
    memmove(c->in, c->in + c->in_from, left);
    c->in_from = 0;
    c->in_to = left;
    LB_TRY(lb_store_read(s->packed, c->in_next, c->in + left, LB_MIN(UNPACKED_IN - left, UNPACKED_FILL), &got, err));
    if (got == 0 && c->in_next < s->packed->size)
        return lb_fail(err, LB_STALE, LB_AT(c->in_next), "the file became shorter while it was read");
    cursor_tap(s, c, got);
    c->in_to += got;
    c->in_next += got;
    return LB_OK;
}

/* Room for output, with enough of what came before it. */
static void cursor_slide(unpacked_cursor *c)
{
    size_t keep = LB_MIN(c->out_to - c->out_from, (size_t)LB_UNPACK_HISTORY);

    if (c->out_to < UNPACKED_OUT + LB_UNPACK_HISTORY)
        return;
    memmove(c->out, c->out + c->out_to - keep, keep);
    c->out_from = 0;
    c->out_to = keep;
}

/* Decompress some more: about as much as is wanted, for a cursor that was asked for little may be wanted elsewhere. */
static lb_status cursor_run(unpacked_store *s, unpacked_cursor *c, uint64_t want, lb_error *err)
{
    lb_unpack_stop stop;
    lb_unpack_point point = { 0 };

    cursor_slide(c);
    size_t room = UNPACKED_OUT + LB_UNPACK_HISTORY - c->out_to;
    room = (size_t)LB_MIN((uint64_t)room, LB_MAX(want, (uint64_t)UNPACKED_STEP));
    lb_unpack_io io = { .in = c->in + c->in_from,
                        .in_end = c->in + c->in_to,
                        .out = c->out + c->out_to,
                        .out_end = c->out + c->out_to + room,
                        .history = c->out + c->out_from,
                        .in_at = c->in_next - (c->in_to - c->in_from),
                        .in_last = c->in_next >= s->packed->size,
                        .stop_at_borders = true };
    lb_status status = s->container->run(c->unpacker, &io, &stop, &point, err);
    size_t came = (size_t)(io.out - c->out) - c->out_to;
    c->in_from = (size_t)(io.in - c->in);
    c->out_to += came;
    c->at += came;
    if (status != LB_OK)
        return status;
    c->ended = stop == LB_UNPACK_END;
    if (c->noting && (c->ended || !s->container->notes(c->unpacker)))
        LB_TRY(cursor_settle(s, c, err));
    if (stop == LB_UNPACK_BORDER)
        return cursor_border(s, c, &point, err);
    return stop == LB_UNPACK_INPUT ? cursor_fill(s, c, err) : LB_OK;
}

/* The first byte that the cursor still has. */
static uint64_t cursor_from(const unpacked_cursor *c)
{
    return LB_MAX(c->at - (c->out_to - c->out_from), c->begun_at);
}

static lb_status cursor_read(unpacked_store *s, unpacked_cursor *c, uint64_t offset, uint8_t *out, size_t size,
                             size_t *got, lb_error *err)
{
    while (*got < size) {
        uint64_t from = cursor_from(c), want = offset + *got;
        if (want >= from && want < c->at) {
            size_t n = (size_t)LB_MIN((uint64_t)(size - *got), c->at - want);
            memcpy(out + *got, c->out + c->out_to - (size_t)(c->at - want), n);
            *got += n;
        } else if (c->ended) {
            return LB_OK;
        } else {
            LB_TRY(cursor_run(s, c, want + (size - *got) - c->at, err));
        }
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- the store */

/* How far a cursor would have to decompress for a byte: 0 where it has it; UINT64_MAX: it cannot go there. */
static uint64_t unpacked_way(const unpacked_cursor *c, uint64_t offset)
{
    if (!c->begun || offset < cursor_from(c))
        return UINT64_MAX;
    return offset < c->at || c->ended ? 0 : offset - c->at;
}

/* The idle cursor that is nearest to a byte; NULL: none is better than `limit`. */
static unpacked_cursor *unpacked_nearest(unpacked_store *s, uint64_t offset, uint64_t limit)
{
    unpacked_cursor *best = NULL;

    for (size_t i = 0; i < s->n_cursors; i++) {
        unpacked_cursor *c = &s->cursors[i];
        uint64_t way = c->busy ? UINT64_MAX : unpacked_way(c, offset);
        if (way < limit || (way == limit && way != UINT64_MAX && best == NULL)) {
            best = c;
            limit = way;
        }
    }
    return best;
}

/* The idle cursor that was used longest ago, of those that hold memory or of the others; NULL: there is none. */
static unpacked_cursor *unpacked_oldest(unpacked_store *s, bool made)
{
    unpacked_cursor *best = NULL;

    for (size_t i = 0; i < s->n_cursors; i++) {
        unpacked_cursor *c = &s->cursors[i];
        if (!c->busy && (c->unpacker != NULL) == made && (best == NULL || c->used < best->used))
            best = c;
    }
    return best;
}

/* The cursor to begin anew with: one more, while those that are idle take little of the memory limit; NULL: all are busy. */
static unpacked_cursor *unpacked_other(unpacked_store *s)
{
    unpacked_cursor *made = unpacked_oldest(s, true), *new = unpacked_oldest(s, false);
    uint64_t idle = 0;

    for (size_t i = 0; i < s->n_cursors; i++)
        idle += !s->cursors[i].busy && s->cursors[i].unpacker != NULL ? s->cursor_bytes : 0;
    return made == NULL || (new != NULL &&idle <= s->cx->budget.limit / UNPACKED_IDLE_PART) ? new : made;
}

/* Take the cursor for a byte; *begin: at which point it has to begin first (*from; NULL: the beginning). The lock is held. */
static unpacked_cursor *unpacked_take(unpacked_store *s, uint64_t offset, bool alone, bool *begin,
                                      lb_unpacked_point **from)
{
    for (;;) {
        while (s->alone && !alone)
            lb_wait(s->cx, &s->idle, &s->lock);
        size_t behind = points_behind(s, offset);
        *from = behind == 0 ? NULL : &s->points[behind - 1];
        uint64_t way = offset - (*from == NULL ? 0 : (*from)->out_at);
        unpacked_cursor *c = unpacked_nearest(s, offset, way);
        *begin = c == NULL;
        if (c == NULL)
            c = unpacked_other(s);
        if (c != NULL) {
            c->busy = true;
            c->used = ++s->reads;
            return c;
        }
        lb_wait(s->cx, &s->idle, &s->lock);
    }
}

static lb_status unpacked_try(unpacked_store *s, uint64_t offset, bool alone, void *out, size_t size, size_t *got,
                              lb_error *err)
{
    lb_unpacked_point *from;
    bool begin;
    lb_status status = LB_OK;

    *got = 0;
    pthread_mutex_lock(&s->lock);
    unpacked_cursor *c = unpacked_take(s, offset, alone, &begin, &from);
    lb_unpacked_point point = from == NULL ? (lb_unpacked_point){ 0 } : *from;
    pthread_mutex_unlock(&s->lock);
    if (begin)
        status = cursor_begin(s, c, from == NULL ? NULL : &point, err);
    if (status == LB_OK)
        status = cursor_read(s, c, offset, out, size, got, err);
    pthread_mutex_lock(&s->lock);
    s->cursor_bytes = LB_MAX(s->cursor_bytes, c->memory.taken);
    if (status == LB_BUDGET)
        cursor_free(s, c);
    if (status != LB_OK)
        c->begun = false;
    c->busy = false;
    pthread_cond_broadcast(&s->idle);
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* Free the cursors that nobody reads with, and say whether there were some; *busy: somebody reads with others.
 * The lock is held. */
static bool unpacked_free_idle(unpacked_store *s, bool *busy)
{
    bool freed = false;

    *busy = false;
    for (size_t i = 0; i < s->n_cursors; i++) {
        unpacked_cursor *c = &s->cursors[i];
        *busy = *busy || c->busy;
        if (c->busy || c->unpacker == NULL)
            continue;
        cursor_free(s, c);
        freed = true;
    }
    return freed;
}

/* The memory limit was met: free what can be, or wait until somebody else has read. */
static void unpacked_make_room(unpacked_store *s)
{
    bool busy;

    pthread_mutex_lock(&s->lock);
    if (!unpacked_free_idle(s, &busy) && busy)
        lb_wait(s->cx, &s->idle, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

/* Read when nobody else does, with all memory that the view can give. Readers that are refused too would else wait for
 * each other, one waking the next, for as long as there are two of them. */
static lb_status unpacked_try_alone(unpacked_store *s, uint64_t offset, void *out, size_t size, size_t *got,
                                    lb_error *err)
{
    bool busy;

    pthread_mutex_lock(&s->lock);
    while (s->alone)
        lb_wait(s->cx, &s->idle, &s->lock);
    s->alone = true;
    for (unpacked_free_idle(s, &busy); busy; unpacked_free_idle(s, &busy))
        lb_wait(s->cx, &s->idle, &s->lock);
    pthread_mutex_unlock(&s->lock);
    lb_status status = lb_check_cancel(s->cx, err);
    if (status == LB_OK)
        status = unpacked_try(s, offset, true, out, size, got, err);
    pthread_mutex_lock(&s->lock);
    s->alone = false;
    pthread_cond_broadcast(&s->idle);
    pthread_mutex_unlock(&s->lock);
    return status;
}

static lb_status unpacked_read_at(lb_store *store, uint64_t offset, void *out, size_t size, size_t *got, lb_error *err)
{
    unpacked_store *s = (unpacked_store *)store;
    lb_error why = LB_ERROR_INIT;
    lb_status status = unpacked_try(s, offset, false, out, size, got, &why);

    for (unsigned tries = 1; status == LB_BUDGET && tries <= UNPACKED_TRIES; tries++) {
        unpacked_make_room(s);
        lb_error_clear(&why);
        status = lb_check_cancel(s->cx, &why);
        if (status != LB_OK)
            break;
        status = tries < UNPACKED_TRIES ? unpacked_try(s, offset, false, out, size, got, &why)
                                        : unpacked_try_alone(s, offset, out, size, got, &why);
    }
    if (status != LB_OK && err != NULL && err->code == LB_OK)
        *err = why;
    atomic_fetch_add_explicit(&store->bytes_read, *got, memory_order_relaxed);
    if (status != LB_OK)
        *got = 0;
    return status;
}

static uint64_t unpacked_begin_before(lb_store *store, uint64_t offset)
{
    unpacked_store *s = (unpacked_store *)store;

    pthread_mutex_lock(&s->lock);
    size_t behind = points_behind(s, offset);
    uint64_t at = behind == 0 ? 0 : s->points[behind - 1].out_at;
    pthread_mutex_unlock(&s->lock);
    return at;
}

static lb_status unpacked_stat(lb_store *store, lb_file_stat *out, lb_error *err)
{
    return lb_store_stat(((unpacked_store *)store)->packed, out, err);
}

static void unpacked_close(lb_store *store)
{
    unpacked_store *s = (unpacked_store *)store;

    for (size_t i = 0; i < s->n_cursors; i++)
        cursor_free(s, &s->cursors[i]);
    for (size_t i = 0; i < s->n_points; i++)
        free((void *)(uintptr_t)s->points[i].window);
    free(s->points);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->idle);
    free(s);
}

lb_status lb_store_open_unpacked(lb_context *cx, lb_store *packed, const lb_container *container, lb_store **out,
                                 lb_error *err)
{
    unpacked_store *s = calloc(1, sizeof *s);

    *out = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->store.read_at = unpacked_read_at;
    s->store.stat = unpacked_stat;
    s->store.begin_before = unpacked_begin_before;
    s->store.close = unpacked_close;
    s->store.path = packed->path;
    s->store.size = LB_SIZE_UNKNOWN;
    s->store.container = container->name;
    s->cx = cx;
    s->packed = packed;
    s->container = container;
    s->n_cursors = LB_MIN((size_t)UNPACKED_CURSORS_MOST, 2 * (size_t)LB_MAX(cx->threads, 1));
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->idle, NULL);
    *out = &s->store;
    return LB_OK;
}
