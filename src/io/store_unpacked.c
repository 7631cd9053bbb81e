/* The view of a compressed file. A few cursors stand at places of it, each with a decompressor and the last bytes that came of it; a
 * read takes the cursor that is nearest before its place, unless a restart point is nearer. Reads of whole frames are decompressed
 * straight to where they are wanted. */
#include <stdlib.h>
#include <string.h>

#include "io/unpacked_inside.h"

/* A reader that was refused memory so often waits until it is alone, and then it is the last time. */
#define UNPACKED_TRIES 4

/* Cursors that nobody reads with may hold this part of the memory limit. */
#define UNPACKED_IDLE_PART 8

/* How far a cursor would have to decompress for a byte: 0 where it has it; UINT64_MAX: it cannot go there. */
static uint64_t unpacked_way(const lb_unpacked_cursor *c, uint64_t offset)
{
    if (!c->begun || offset < lb_unpacked_cursor_from(c))
        return UINT64_MAX;
    return offset < c->at || c->ended ? 0 : offset - c->at;
}

/* The idle cursor that is nearest to a byte; NULL: none is better than `limit`. */
static lb_unpacked_cursor *unpacked_nearest(lb_unpacked_store *s, uint64_t offset, uint64_t limit)
{
    lb_unpacked_cursor *best = NULL;

    for (size_t i = 0; i < s->n_cursors; i++) {
        lb_unpacked_cursor *c = &s->cursors[i];
        uint64_t way = c->busy ? UINT64_MAX : unpacked_way(c, offset);
        if (way < limit || (way == limit && way != UINT64_MAX && best == NULL)) {
            best = c;
            limit = way;
        }
    }
    return best;
}

/* The idle cursor that was used longest ago, of those that hold memory or of the others; NULL: there is none. */
static lb_unpacked_cursor *unpacked_oldest(lb_unpacked_store *s, bool made)
{
    lb_unpacked_cursor *best = NULL;

    for (size_t i = 0; i < s->n_cursors; i++) {
        lb_unpacked_cursor *c = &s->cursors[i];
        if (!c->busy && (c->unpacker != NULL) == made && (best == NULL || c->used < best->used))
            best = c;
    }
    return best;
}

/* The cursor to begin anew with: one more, while those that are idle take little of the memory limit; NULL: all are busy. */
static lb_unpacked_cursor *unpacked_other(lb_unpacked_store *s)
{
    lb_unpacked_cursor *made = unpacked_oldest(s, true), *one_more = unpacked_oldest(s, false);
    uint64_t idle = 0;

    for (size_t i = 0; i < s->n_cursors; i++)
        idle += !s->cursors[i].busy && s->cursors[i].unpacker != NULL ? s->cursor_bytes : 0;
    return made == NULL || (one_more != NULL && idle <= s->cx->budget.limit / UNPACKED_IDLE_PART) ? one_more : made;
}

/* What one read does. */
typedef struct unpacked_read {
    uint64_t offset;
    uint8_t *out;
    size_t size, got;
    bool alone;                    /* it has all cursors for itself */
    bool begin;                    /* its cursor has to begin, */
    const lb_unpacked_point *from; /* here; NULL: at the beginning. A copy in `point`, but for the lock */
    lb_unpacked_point point;
    uint64_t straight; /* so many bytes from here on are whole frames; 0: not so */
    uint64_t end;      /* behind them in the file; UINT64_MAX: the file's end */
} unpacked_read;

/* Is the read, from where it is, one of whole frames? The lock is held. */
static void unpacked_plan(const lb_unpacked_store *s, unpacked_read *r)
{
    const uint64_t offset = r->offset + r->got, to = r->offset + r->size;
    const size_t at = lb_unpacked_points_behind(s, offset), end = lb_unpacked_points_behind(s, to);
    const lb_unpacked_point *from = at == 0 ? NULL : &s->points[at - 1];

    r->straight = 0;
    if (!s->container->straight || !s->known || (from == NULL ? 0 : from->out_at) != offset ||
        (from != NULL && from->at.window != 0))
        return;
    if (to >= s->store.size) {
        if (offset >= s->store.size)
            return;
        r->straight = s->store.size - offset;
        r->end = UINT64_MAX;
    } else if (end > at && s->points != NULL && s->points[end - 1].at.window == 0) {
        r->straight = s->points[end - 1].out_at - offset;
        r->end = s->points[end - 1].at.byte;
    }
}

/* For a read of whole frames: a cursor that stands there, or one to begin with. Others stand where they may be needed. */
static lb_unpacked_cursor *unpacked_straight(lb_unpacked_store *s, unpacked_read *r)
{
    for (size_t i = 0; i < s->n_cursors; i++) {
        lb_unpacked_cursor *c = &s->cursors[i];
        if (!c->busy && c->begun && c->at_point && !c->ended && c->at == r->offset + r->got)
            return c;
    }
    r->begin = true;
    lb_unpacked_cursor *made = unpacked_oldest(s, true);
    return made != NULL ? made : unpacked_oldest(s, false);
}

static lb_unpacked_cursor *unpacked_at(lb_unpacked_store *s, unpacked_read *r)
{
    const uint64_t offset = r->offset + r->got;
    const size_t behind = lb_unpacked_points_behind(s, offset);

    r->from = behind == 0 ? NULL : &s->points[behind - 1];
    r->begin = false;
    if (r->straight != 0)
        return unpacked_straight(s, r);
    lb_unpacked_cursor *c = unpacked_nearest(s, offset, offset - (r->from == NULL ? 0 : r->from->out_at));
    r->begin = c == NULL;
    return c == NULL ? unpacked_other(s) : c;
}

/* Take the cursor for a read. The lock is held. */
static lb_unpacked_cursor *unpacked_take(lb_unpacked_store *s, unpacked_read *r)
{
    for (;;) {
        while (s->alone && !r->alone)
            lb_wait(s->cx, &s->idle, &s->lock);
        unpacked_plan(s, r);
        lb_unpacked_cursor *c = unpacked_at(s, r);
        if (c != NULL) {
            c->busy = true;
            c->used = ++s->reads;
            if (r->from != NULL)
                r->point = *r->from;
            return c;
        }
        lb_wait(s->cx, &s->idle, &s->lock);
    }
}

static lb_status unpacked_run(lb_unpacked_store *s, lb_unpacked_cursor *c, unpacked_read *r, lb_error *err)
{
    if (r->begin)
        LB_TRY(lb_unpacked_cursor_begin(s, c, r->from == NULL ? NULL : &r->point, err));
    if (r->straight == 0)
        return lb_unpacked_cursor_read(s, c, r->offset, r->out, r->size, &r->got, err);
    LB_TRY(lb_unpacked_cursor_straight(s, c, r->out + r->got, (size_t)r->straight, r->end, err));
    r->got += (size_t)r->straight;
    return LB_OK;
}

/* A cursor failed. The lock is held. */
static void unpacked_failed(lb_unpacked_store *s, const lb_unpacked_cursor *c, const lb_error *err)
{
    if (err->code != LB_CORRUPT || !c->begun || (s->failed && s->failed_at <= c->at))
        return;
    s->failed_at = c->at;
    s->failure = *err;
    atomic_store_explicit(&s->failed, true, memory_order_release);
}

/* Read with one cursor, if one is needed. *done: there is no more to read. */
static lb_status unpacked_step(lb_unpacked_store *s, unpacked_read *r, bool *done, lb_error *err)
{
    pthread_mutex_lock(&s->lock);
    unpacked_plan(s, r);
    for (size_t n = 1; r->straight == 0 && n != 0 && r->got < r->size; r->got += n)
        n = lb_unpacked_at_hand(s, r->offset + r->got, r->out + r->got, r->size - r->got);
    *done = r->got == r->size;
    /* Where the size is known, several read at several places. */
    if (!*done && s->store.size == LB_SIZE_UNKNOWN)
        lb_unpacked_kept_pass(s, r->offset + r->got);
    lb_unpacked_cursor *c = *done ? NULL : unpacked_take(s, r);
    pthread_mutex_unlock(&s->lock);
    if (*done)
        return LB_OK;
    lb_status status = unpacked_run(s, c, r, err);
    *done = r->straight == 0 || r->got == r->size;
    pthread_mutex_lock(&s->lock);
    s->cursor_bytes = LB_MAX(s->cursor_bytes, c->memory.taken);
    if (status != LB_OK)
        unpacked_failed(s, c, err);
    if (status == LB_BUDGET)
        lb_unpacked_cursor_free(s, c);
    if (status != LB_OK)
        c->begun = false;
    c->busy = false;
    pthread_cond_broadcast(&s->idle);
    pthread_mutex_unlock(&s->lock);
    return status;
}

static lb_status unpacked_try(lb_unpacked_store *s, uint64_t offset, bool alone, void *out, size_t size, size_t *got,
                              lb_error *err)
{
    unpacked_read r = { .offset = offset, .out = out, .size = size, .alone = alone };
    lb_status status = LB_OK;

    for (bool done = size == 0; status == LB_OK && !done;)
        status = unpacked_step(s, &r, &done, err);
    *got = r.got;
    return status;
}

/* Free the cursors that nobody reads with, and say whether there were some; *busy: somebody reads with others.
 * The lock is held. */
static bool unpacked_free_idle(lb_unpacked_store *s, bool *busy)
{
    bool freed = false;

    *busy = false;
    for (size_t i = 0; i < s->n_cursors; i++) {
        lb_unpacked_cursor *c = &s->cursors[i];
        *busy = *busy || c->busy;
        if (c->busy || c->unpacker == NULL)
            continue;
        lb_unpacked_cursor_free(s, c);
        freed = true;
    }
    return freed;
}

/* The memory limit was met: free what can be, or wait until somebody else has read. */
static void unpacked_make_room(lb_unpacked_store *s)
{
    bool busy;

    pthread_mutex_lock(&s->lock);
    if (!unpacked_free_idle(s, &busy) && busy)
        lb_wait(s->cx, &s->idle, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

/* Read when nobody else does, with all memory that the view can give. Readers that are refused too would else wait for
 * each other, one waking the next, for as long as there are two of them. */
static lb_status unpacked_try_alone(lb_unpacked_store *s, uint64_t offset, void *out, size_t size, size_t *got,
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
    lb_unpacked_store *s = (lb_unpacked_store *)store;
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
    lb_unpacked_store *s = (lb_unpacked_store *)store;

    pthread_mutex_lock(&s->lock);
    size_t behind = lb_unpacked_points_behind(s, offset);
    uint64_t at = behind == 0 ? 0 : s->points[behind - 1].out_at;
    pthread_mutex_unlock(&s->lock);
    return at;
}

static void unpacked_keep(lb_store *store, uint64_t offset, const uint8_t *bytes, size_t size, bool anew)
{
    lb_unpacked_store *s = (lb_unpacked_store *)store;

    pthread_mutex_lock(&s->lock);
    lb_unpacked_kept_add(s, offset, bytes, size, anew);
    pthread_mutex_unlock(&s->lock);
}

static lb_status unpacked_stat(lb_store *store, lb_file_stat *out, lb_error *err)
{
    return lb_store_stat(((lb_unpacked_store *)store)->packed, out, err);
}

static void unpacked_close(lb_store *store)
{
    lb_unpacked_store *s = (lb_unpacked_store *)store;

    for (size_t i = 0; i < s->n_cursors; i++)
        lb_unpacked_cursor_free(s, &s->cursors[i]);
    lb_unpacked_points_free(s);
    lb_unpacked_at_hand_free(s);
    lb_unpacked_turns_free(s);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->idle);
    free(s);
}

lb_status lb_store_open_unpacked(lb_context *cx, lb_store *packed, const lb_container *container, lb_store **out,
                                 lb_error *err)
{
    lb_unpacked_store *s = calloc(1, sizeof *s);

    *out = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->store.read_at = unpacked_read_at;
    s->store.stat = unpacked_stat;
    s->store.begin_before = unpacked_begin_before;
    s->store.keep = unpacked_keep;
    s->store.close = unpacked_close;
    s->store.path = packed->path;
    s->store.size = LB_SIZE_UNKNOWN;
    s->store.container = container->name;
    s->cx = cx;
    s->packed = packed;
    s->container = container;
    s->n_cursors = LB_MIN((size_t)LB_UNPACKED_CURSORS_MOST, 2 * (size_t)LB_MAX(cx->threads, 1));
    s->n_heads = 2 * s->n_cursors;
    pthread_mutex_init(&s->turns.lock, NULL);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->idle, NULL);
    *out = &s->store;
    return LB_OK;
}
