#include "format/portions.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/pool.h"

#define PARTS_BYTES ((size_t)1 << 20) /* what a processor's own cache holds */
#define PARTS_READ ((size_t)256 << 10)
#define PARTS_PAGE ((size_t)4096)
#define PARTS_HUGE ((size_t)2 << 20)
#define PARTS_BETWEEN \
    4 /* parts at hand: one for each thread, one more, and another for every so many: few stay in caches */
#define PARTS_DOUBTED 15 /* guesses of so many parts are not relied on behind several that were wrong */
#define PARTS_BESIDE ((uint64_t)16 << 10)
#define PARTS_BEHIND \
    ((size_t)48 << 10)  /* in turn, read behind a part; less than a store has at hand of what it gave last */
#define PARTS_IN_TURN 6 /* at most so many at hand: more threads have nothing to do */
#define PARTS_OF_LEFT \
    4 /* for few lie in the caches. All of them may take one part in so many of the memory that is left */

typedef enum part_state {
    PART_FREE,
    PART_AT_WORK, /* some thread has it */
    PART_WALKED,  /* 1 is done */
    PART_AGAIN,   /* its records begin at `from`: 1 is to be done again */
    PART_PLACED,  /* 2 is done */
    PART_DONE     /* 3 is done */
} part_state;

typedef struct parts_slot {
    lb_portion part;
    part_state state;
    bool odd;
} parts_slot;

typedef struct parts {
    lb_context *cx;
    lb_store *store;
    const lb_portions_work *work;
    void *user;
    const lb_tapped *tapped;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    parts_slot *slots;
    size_t n_slots, n_open;
    uint64_t at;          /* of part 0 */
    uint64_t first, size; /* part i ends at (first + i + 1) * size */
    uint64_t count;
    bool in_turn, reading;          /* parts are read one after the other; one is */
    uint64_t begun, placed, joined; /* so many parts were */
    uint64_t stop;                  /* no part from here on is wanted */
    bool joining;
    unsigned doubted; /* so many parts from `begun` on, */
    unsigned wrong;   /* for guesses went wrong of late */
    lb_status status; /* of what no other way of reading would mend */
    lb_error error;
    lb_portions_place behind; /* the parts that were placed */
    lb_portions_place left;   /* behind those that were joined */
} parts;

static parts_slot *parts_at(parts *all, uint64_t index)
{
    return &all->slots[index % all->n_slots];
}

/* ---------------------------------------------------------------- a part's bytes */

/* A large one is a whole number of large pages: each page that is touched first costs as much as reading some KiB. */
static uint64_t part_buffer_bytes(size_t room)
{
    const uint64_t bytes = 2 * PARTS_PAGE + (uint64_t)room + LB_TEXT_PADDING;

    return bytes < PARTS_HUGE / 2 ? bytes : (bytes + PARTS_HUGE - 1) / PARTS_HUGE * PARTS_HUGE;
}

static uint8_t *part_new_buffer(size_t size)
{
    const bool large = size >= PARTS_HUGE;
    void *buffer;

    if (posix_memalign(&buffer, large ? PARTS_HUGE : PARTS_PAGE, size) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (large)
        (void)madvise(buffer, size, MADV_HUGEPAGE);
#endif
    return buffer;
}

/* Room for `size` bytes; what was read stays. A page is before them, for the byte of lead. */
static bool part_make_room(lb_portion *p, size_t size)
{
    lb_budget *budget = &p->cx->budget;
    const size_t into = PARTS_PAGE + (size_t)(p->at % PARTS_PAGE);

    if (size <= p->room)
        return true;
    const size_t room = LB_MAX(size, LB_MIN(p->room + p->room / 2, SIZE_MAX / 8));
    if (room > SIZE_MAX / 4 || !lb_budget_take(budget, part_buffer_bytes(room)))
        return false;
    uint8_t *buffer = part_new_buffer((size_t)part_buffer_bytes(room));
    if (buffer == NULL) {
        lb_budget_give(budget, part_buffer_bytes(room));
        return false;
    }
    if (p->buffer != NULL) {
        memcpy(buffer + into - 1, p->data - 1, 1 + p->filled);
        lb_budget_give(budget, part_buffer_bytes(p->room));
        free(p->buffer);
    }
    p->buffer = buffer;
    p->data = p->buffer + into;
    p->room = room;
    return true;
}

/* Take sums of what was read, while it is near the processor. */
static void part_sum(lb_portion *p)
{
    const size_t filled = LB_MIN(p->filled, p->size);

    while (p->summing && p->summed < filled) {
        const uint64_t left = p->sums->range - p->summed % p->sums->range;
        const size_t n = (size_t)LB_MIN(left, (uint64_t)(filled - p->summed));
        uint8_t out[LB_SUM_MOST];
        p->sums->add(p->sum, p->data + p->summed, n);
        p->summed += n;
        if (n != left)
            continue;
        p->sums->take(p->sum, out);
        p->sums->begin(p->sum);
        p->summing = lb_buf_append(&p->taken, out, p->sums->size, NULL) == LB_OK;
    }
}

bool lb_portion_fill(lb_portion *p, size_t size)
{
    if (size > p->most || !part_make_room(p, size))
        return false;
    while (p->filled < size) {
        size_t want = LB_MIN(size - p->filled, PARTS_READ), got;
        if (lb_check_cancel(p->cx, NULL) != LB_OK ||
            lb_store_read(p->store, p->at + p->filled, p->data + p->filled, want, &got, NULL) != LB_OK || got == 0)
            return false;
        p->filled += got;
        part_sum(p);
    }
    memset(p->data + p->filled, 0, LB_TEXT_PADDING);
    return true;
}

/* ---------------------------------------------------------------- the tap */

void lb_tapped_give(lb_tapped *t, uint64_t at, const uint8_t *bytes, size_t size)
{
    const uint64_t end = at + size;

    if (t->tap == NULL || end <= t->to)
        return;
    const size_t had = t->to > at ? (size_t)(t->to - at) : 0;
    t->to = end;
    t->tap(t->user, bytes + had, size - had);
}

void lb_tapped_give_part(lb_tapped *t, const lb_portion *p)
{
    if (!p->summing || p->summed != p->size || t->to != p->at) {
        lb_tapped_give(t, p->at, lb_portion_data(p), p->size);
        return;
    }
    t->to += p->size;
    t->sums->give(t->user, lb_portion_data(p), p->size, p->taken.data);
}

lb_status lb_tapped_give_store(lb_tapped *t, lb_store *store, uint64_t to, lb_error *err)
{
    uint8_t bytes[4096];
    size_t got;

    while (t->tap != NULL && t->to < to) {
        LB_TRY(lb_store_read(store, t->to, bytes, (size_t)LB_MIN(to - t->to, (uint64_t)sizeof bytes), &got, err));
        if (got == 0)
            break;
        lb_tapped_give(t, t->to, bytes, got);
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- places in a part */

uint64_t lb_portion_lines(const lb_portion *p, size_t from, size_t to)
{
    const uint8_t *bytes = lb_portion_data(p) + from;

    return lb_count_lines(bytes, to - from, bytes[-1] == '\r');
}

const lb_portion_mark *lb_portion_find_mark(const lb_buf *marks, uint64_t row)
{
    const lb_portion_mark *all = (const lb_portion_mark *)(const void *)marks->data;
    size_t from = 0, to = marks->size / sizeof *all;

    while (to - from > 1) {
        const size_t middle = from + (to - from) / 2;
        if (all[middle].row <= row)
            from = middle;
        else
            to = middle;
    }
    return &all[from];
}

size_t lb_portion_pass_breaks(const lb_portion *p, size_t at, size_t size)
{
    const uint8_t *data = lb_portion_data(p);

    while (at < size && (data[at] == '\n' || data[at] == '\r'))
        at++;
    return at < size ? at : LB_PORTION_UNKNOWN;
}

/* Where a part begins: at multiples of their size, or where the store has to begin reading for them; one byte behind it, for that
 * is looked at, too. Those places are no farther from each other than parts are (parts_size), so parts have up to twice their size. */
static uint64_t part_at(const parts *all, uint64_t index)
{
    const uint64_t at = index == 0 ? all->at : (all->first + index) * all->size;

    if (index == 0 || all->in_turn || all->store->begin_before == NULL)
        return at;
    const uint64_t before = all->store->begin_before(all->store, at);
    return before >= all->at && at - before < all->size ? before + 1 : at;
}

/* The byte before the part and what of it is wanted at first: all of it where reading begins before it anyway. In turn, all that may be
 * wanted is read, for once others have read on it would have to be decompressed once more. */
static bool part_read_first(const parts *all, lb_portion *p, uint64_t index)
{
    const bool whole = index != 0 && !all->in_turn && all->store->begin_before != NULL;
    const size_t size = 1 + (whole ? p->size : 0);
    size_t got;

    p->data[-1] = '\n';
    if (index != 0 && (lb_store_read(p->store, p->at - 1, p->data - 1, size, &got, NULL) != LB_OK || got != size))
        return false;
    if (whole) {
        p->filled = p->size;
        part_sum(p);
        memset(p->data + p->filled, 0, LB_TEXT_PADDING);
    }
    return lb_portion_fill(p, all->in_turn ? p->most : LB_MIN(p->size, LB_PORTION_GUESS_BYTES));
}

static bool part_begin(const parts *all, parts_slot *slot, uint64_t index)
{
    lb_portion *p = &slot->part;

    p->at = part_at(all, index);
    p->size = (size_t)(part_at(all, index + 1) - p->at);
    p->filled = p->summed = 0;
    p->most = all->in_turn ? p->size + PARTS_BEHIND : SIZE_MAX;
    p->taken.size = 0;
    p->summing = p->sum != NULL && p->at % p->sums->range == 0 && p->size % p->sums->range == 0;
    if (p->summing)
        p->sums->begin(p->sum);
    slot->odd = false;
    if (!part_make_room(p, p->size + LB_MIN(p->size, PARTS_READ)))
        return false;
    p->data = p->buffer + PARTS_PAGE + p->at % PARTS_PAGE;
    return part_read_first(all, p, index);
}

/* Records may be longer than what is at hand at first. */
static void part_guess(const parts *all, lb_portion *p)
{
    for (;;) {
        p->from = all->work->guess(all->user, p);
        if (p->from != LB_PORTION_UNKNOWN || p->filled >= p->size)
            return;
        if (!lb_portion_fill(p, LB_MIN(p->size, p->filled * 4)))
            return;
    }
}

static bool part_walk(const parts *all, lb_portion *p)
{
    p->rows = p->lines = 0;
    p->to = p->last_after = p->from;
    if (p->from == LB_PORTION_UNKNOWN)
        return false;
    if (p->from >= p->size)
        return lb_portion_fill(p, p->size);
    return (p->from < p->filled || lb_portion_fill(p, p->from + 1)) && all->work->walk(all->user, p);
}

/* ---------------------------------------------------------------- placing */

/* The part's records begin at `from`, if they begin where those before it end; blank lines may lie between. True: they do, or
 * where they begin cannot be told. */
static bool parts_place(parts *all, parts_slot *slot)
{
    lb_portion *p = &slot->part;
    const uint64_t begin = all->behind.offset - p->at;
    size_t at = (size_t)LB_MIN(begin, (uint64_t)p->filled), from = lb_portion_pass_breaks(p, at, p->filled);

    /* The first walk went astray before it came so far: the next one begins where there are blank lines at the worst. */
    if (begin >= p->filled && begin < p->size && (p->from != begin || !slot->odd)) {
        p->from = (size_t)begin;
        return false;
    }
    if (from == LB_PORTION_UNKNOWN) {
        slot->odd = true;
        return true;
    }
    if (from != p->from) {
        p->from = from;
        return false;
    }
    p->first_row = all->behind.row;
    p->first_line = all->behind.line + lb_portion_lines(p, at, from);
    return true;
}

/* Place what can be placed; the lock is held. */
static void parts_place_all(parts *all)
{
    while (all->placed < all->begun && all->placed < all->stop) {
        parts_slot *slot = parts_at(all, all->placed);
        const lb_portion *p = &slot->part;
        if (slot->state != PART_WALKED)
            return;
        if (!parts_place(all, slot)) {
            slot->state = PART_AGAIN;
            slot->part.certain = false;
            all->wrong = LB_MIN(2 * all->wrong + 1, (unsigned)PARTS_DOUBTED);
            all->doubted = all->wrong;
            return;
        }
        if (slot->odd) {
            all->stop = all->placed;
            return;
        }
        all->behind.row += p->rows;
        all->behind.line = p->first_line + p->lines;
        all->behind.offset = p->at + p->to;
        all->wrong -= all->wrong != 0 && all->doubted == 0;
        slot->state = PART_PLACED;
        all->placed++;
    }
}

/* ---------------------------------------------------------------- sharing out the work */

/* Do a step on a part without the lock. */
#define PARTS_UNLOCKED(all, step)           \
    do {                                    \
        pthread_mutex_unlock(&(all)->lock); \
        step;                               \
        pthread_mutex_lock(&(all)->lock);   \
    } while (0)

static lb_status parts_join(parts *all, lb_portion *p, lb_error *err)
{
    LB_TRY(lb_check_cancel(all->cx, err));
    LB_TRY(all->work->join(all->user, p, all->left.after, err));
    all->left.row = p->first_row + p->rows;
    all->left.line = p->first_line + p->lines;
    all->left.offset = p->at + p->to;
    if (p->rows != 0)
        all->left.after = p->at + p->last_after;
    return LB_OK;
}

static bool parts_try_join(parts *all)
{
    parts_slot *slot = parts_at(all, all->joined);
    lb_error err = LB_ERROR_INIT;
    lb_status status;

    if (all->joining || all->joined >= all->placed || all->joined >= all->stop || slot->state != PART_DONE)
        return false;
    all->joining = true;
    PARTS_UNLOCKED(all, status = parts_join(all, &slot->part, &err));
    all->joining = false;
    if (status != LB_OK) {
        all->stop = all->joined;
        all->status = status;
        all->error = err;
        return true;
    }
    slot->state = PART_FREE;
    all->joined++;
    return true;
}

static bool parts_try_values(parts *all)
{
    for (uint64_t i = all->joined; i < all->placed && i < all->stop; i++) {
        parts_slot *slot = parts_at(all, i);
        bool good;
        if (slot->state != PART_PLACED)
            continue;
        slot->state = PART_AT_WORK;
        PARTS_UNLOCKED(all, good = all->work->values(all->user, &slot->part));
        slot->state = PART_DONE;
        if (!good)
            all->stop = LB_MIN(all->stop, i);
        return true;
    }
    return false;
}

static void parts_walk(parts *all, parts_slot *slot)
{
    bool good;

    PARTS_UNLOCKED(all, good = part_walk(all, &slot->part));
    slot->odd = !good;
    slot->state = PART_WALKED;
    parts_place_all(all);
}

static bool parts_try_again(parts *all)
{
    parts_slot *slot = parts_at(all, all->placed);

    if (all->placed >= all->begun || all->placed >= all->stop || slot->state != PART_AGAIN)
        return false;
    slot->state = PART_AT_WORK;
    parts_walk(all, slot);
    return true;
}

static bool parts_try_walk(parts *all)
{
    const uint64_t index = all->begun;
    parts_slot *slot = parts_at(all, index);
    bool good;

    if (index >= all->count || index >= all->stop || index - all->joined >= all->n_slots || slot->state != PART_FREE ||
        all->reading)
        return false;
    all->begun++;
    slot->state = PART_AT_WORK;
    slot->part.certain = all->doubted == 0;
    all->doubted -= all->doubted != 0;
    all->reading = all->in_turn;
    PARTS_UNLOCKED(all, good = part_begin(all, slot, index));
    all->reading = false;
    if (all->in_turn)
        pthread_cond_broadcast(&all->turn);
    if (!good) {
        /* In turn, the end may be why. */
        if (all->in_turn)
            all->count = LB_MIN(all->count, index);
        else
            all->stop = LB_MIN(all->stop, index);
        slot->state = PART_DONE;
        return true;
    }
    PARTS_UNLOCKED(all, part_guess(all, &slot->part));
    parts_walk(all, slot);
    return true;
}

static void parts_work(lb_crew *crew, void *user)
{
    parts *all = user;

    pthread_mutex_lock(&all->lock);
    while (all->joined < LB_MIN(all->count, all->stop)) {
        lb_crew_call(crew);
        if (parts_try_join(all) || parts_try_again(all) || parts_try_values(all) || parts_try_walk(all))
            pthread_cond_broadcast(&all->turn);
        else
            lb_wait(all->cx, &all->turn, &all->lock);
    }
    pthread_cond_broadcast(&all->turn);
    pthread_mutex_unlock(&all->lock);
}

/* ---------------------------------------------------------------- beginning and ending */

/* The size of parts: not less than the longest way from one place where the store can begin reading to the next, for what lies before a
 * part in such a way is read for it, too. */
static uint64_t parts_size(lb_store *store, uint64_t size)
{
    uint64_t end = store->begin_before == NULL || store->size == LB_SIZE_UNKNOWN ? 0 : store->size;

    while (end != 0) {
        const uint64_t begin = store->begin_before(store, end - 1);
        size = LB_MAX(size, end - begin);
        end = LB_MIN(begin, end - 1);
    }
    return size;
}

/* Parts that are held at a time. Others read files beside this one, whose small needs would be refused. */
static size_t parts_held(const parts *all)
{
    const lb_budget *budget = &all->cx->budget;
    const uint64_t threads = all->cx->threads, wanted = LB_MIN(threads + threads / PARTS_BETWEEN + 1, all->count),
                   /* A record may go on behind its part, and what a format keeps of a part counts, too. */
        each = 2 * LB_MIN(all->size, UINT64_MAX / 4) + PARTS_BESIDE,
                   left = budget->limit - LB_MIN(atomic_load(&budget->used), budget->limit);

    return (size_t)LB_MIN(LB_MIN(wanted, left / PARTS_OF_LEFT / each), all->in_turn ? PARTS_IN_TURN : UINT64_MAX);
}

/* Who reads on finds what was read and not joined. */
static void parts_keep(const parts *all)
{
    bool anew = true;

    for (uint64_t i = all->joined; all->in_turn && i < all->begun; i++) {
        const lb_portion *p = &all->slots[i % all->n_slots].part;
        if (p->filled == 0)
            continue;
        all->store->keep(all->store, p->at, p->data, p->filled, anew);
        anew = false;
    }
}

static lb_status parts_open(parts *all, lb_error *err)
{
    all->slots = calloc(all->n_slots, sizeof *all->slots);
    if (all->slots == NULL)
        return lb_fail_nomem(err);
    while (all->n_open < all->n_slots) {
        lb_portion *p = &all->slots[all->n_open++].part;
        p->store = all->store;
        p->cx = all->cx;
        p->sums = all->tapped->tap == NULL ? NULL : all->tapped->sums;
        p->sum = p->sums == NULL ? NULL : p->sums->open(all->tapped->user);
        lb_buf_init(&p->taken, &all->cx->budget);
        LB_TRY(all->work->open(all->user, p, err));
    }
    return LB_OK;
}

static void parts_close(parts *all)
{
    for (size_t i = 0; i < all->n_open; i++) {
        lb_portion *p = &all->slots[i].part;
        if (p->buffer != NULL)
            lb_budget_give(&all->cx->budget, part_buffer_bytes(p->room));
        free(p->buffer);
        lb_buf_free(&p->taken);
        if (p->sum != NULL)
            p->sums->close(p->sum);
        all->work->close(all->user, p);
    }
    free(all->slots);
}

lb_status lb_read_portions(lb_context *cx, lb_store *store, const lb_portions_work *work, void *user, size_t part_bytes,
                           const lb_tapped *tapped, lb_portions_place *place, bool *odd, lb_error *err)
{
    parts all = { .cx = cx,
                  .store = store,
                  .work = work,
                  .user = user,
                  .tapped = tapped,
                  .at = place->offset,
                  .size = parts_size(store, part_bytes != 0 ? part_bytes : PARTS_BYTES),
                  .stop = UINT64_MAX,
                  .behind = *place,
                  .left = *place,
                  .error = LB_ERROR_INIT };

    *odd = false;
    bool sized = store->size != LB_SIZE_UNKNOWN && place->offset < store->size;
    all.in_turn = store->size == LB_SIZE_UNKNOWN && store->keep != NULL;
    all.first = place->offset / all.size;
    all.count = all.in_turn ? UINT64_MAX / all.size - all.first - 1
                : sized     ? (store->size - 1) / all.size - all.first
                            : 0;
    all.n_slots = parts_held(&all);
    if (all.n_slots < 2 || !lb_threads_free(cx))
        return LB_OK;
    lb_status status = parts_open(&all, err);
    if (status == LB_OK) {
        pthread_mutex_init(&all.lock, NULL);
        pthread_cond_init(&all.turn, NULL);
        lb_run_crew(cx, parts_work, &all);
        pthread_mutex_destroy(&all.lock);
        pthread_cond_destroy(&all.turn);
        parts_keep(&all);
        *odd = all.stop < all.count;
        *place = all.left;
        status = all.status;
        if (status != LB_OK && err != NULL)
            *err = all.error;
    }
    parts_close(&all);
    return status;
}
