/* Dictionaries: which deliveries a batch sees, each decoded once and kept for those that ask next. */
#include <stdlib.h>

#include "format/arrow/arrow.h"

/* Beyond this, decoded deliveries that nobody uses are dropped, those used longest ago first. */
#define CACHE_MOST ((uint64_t)256 << 20)

struct lb_arrow_kept {
    lb_arrow_kept *next; /* the same delivery with other dictionaries inside it */
    uint64_t version;    /* of those */
    uint64_t used;       /* when, by the cache's clock */
    unsigned refs;
    uint64_t bytes;
    struct ArrowArray array;
};

/* ---------------------------------------------------------------- the cache; its lock is held */

static void cache_drop(lb_reader *r, lb_arrow_kept **link)
{
    lb_arrow_kept *k = *link;

    *link = k->next;
    r->cache.bytes -= k->bytes;
    lb_budget_give(&r->cx->budget, k->bytes);
    lb_arrow_array_drop(&k->array);
    free(k);
}

static void cache_trim(lb_reader *r)
{
    while (r->cache.bytes > CACHE_MOST) {
        lb_arrow_kept **oldest = NULL;
        for (uint64_t i = 0; i < r->n_deliveries; i++)
            for (lb_arrow_kept **k = &r->cache.slots[i]; *k != NULL; k = &(*k)->next)
                if ((*k)->refs == 0 && (oldest == NULL || (*k)->used < (*oldest)->used))
                    oldest = k;
        if (oldest == NULL)
            return;
        cache_drop(r, oldest);
    }
}

static lb_arrow_kept *cache_find(lb_reader *r, uint64_t delivery, uint64_t version)
{
    lb_arrow_kept *k = r->cache.slots[delivery];

    while (k != NULL && k->version != version)
        k = k->next;
    if (k != NULL) {
        k->used = r->cache.clock++;
        k->refs++;
    }
    return k;
}

static void cache_put(lb_reader *r, uint64_t delivery, lb_arrow_kept *k)
{
    k->next = r->cache.slots[delivery];
    k->used = r->cache.clock++;
    r->cache.slots[delivery] = k;
    r->cache.bytes += k->bytes;
    cache_trim(r);
}

void lb_arrow_cache_free(lb_reader *r)
{
    for (uint64_t i = 0; r->cache.slots != NULL && i < r->n_deliveries; i++)
        while (r->cache.slots[i] != NULL)
            cache_drop(r, &r->cache.slots[i]);
}

/* ---------------------------------------------------------------- which deliveries */

/* Deliveries [0, n) may be seen by a batch. */
static uint64_t deliveries_before(const lb_arrow_pull *p)
{
    uint64_t low = 0, high = p->r->n_deliveries;

    if (p->epoch == UINT64_MAX)
        return high;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (p->r->deliveries[middle].place.offset < p->epoch)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where in by_dictionary the deliveries of a dictionary before `end` end. */
static uint64_t group_before(const lb_reader *r, uint32_t d, uint64_t end)
{
    uint64_t low = r->groups[d], high = r->groups[d + 1];

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (r->by_dictionary[middle] < end)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A number that changes with what the dictionaries below a node hold. */
static uint64_t node_version(const lb_arrow_pull *p, const lb_arrow_node *n, uint64_t end)
{
    uint64_t version = 0;

    if (n->layout == LB_ARROW_DICTIONARY) {
        uint64_t behind = group_before(p->r, n->dictionary, end);
        version = behind == p->r->groups[n->dictionary] ? 0 : p->r->by_dictionary[behind - 1] + 1;
        version = LB_MAX(version, node_version(p, &p->r->schema.dictionaries[n->dictionary].values, end));
    }
    for (uint32_t i = 0; i < n->n_children; i++)
        version = LB_MAX(version, node_version(p, &n->children[i], end));
    return version;
}

/* ---------------------------------------------------------------- decoding one */

static lb_status delivery_read(lb_arrow_pull *p, const lb_arrow_delivery *d, lb_arrow_kept *k, lb_error *err)
{
    const lb_arrow_dictionary *of = &p->r->schema.dictionaries[d->dictionary];

    LB_TRY(lb_arrow_pull_open(p, &d->place, LB_IPC_DICTIONARY_BATCH, &of->counts, NULL, err));
    lb_flat *f = &p->batch.message.flat;
    int64_t id = (int64_t)lb_flat_scalar(f, p->batch.message.table, 0, 8);
    bool delta = lb_flat_scalar(f, p->batch.message.table, 2, 1) != 0;
    if (f->bad || id != of->id || delta != d->delta)
        return lb_fail(err, LB_STALE, LB_AT(d->place.offset), "another dictionary is in its place");
    LB_TRY(lb_arrow_batch_check_rows(p->r, &p->batch, &of->values, 1, err));
    if (p->batch.rows > UINT32_MAX)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(d->place.offset), "a dictionary has more than 2^32 values");
    const lb_arrow_node *column = &of->values;
    LB_TRY(lb_arrow_pull_ahead(p, &column, 1, true, err));
    return lb_arrow_column_read(p, &of->values, 0, (int64_t)p->batch.rows, &k->array, err);
}

static lb_status delivery_decode(const lb_arrow_pull *by, uint64_t delivery, lb_arrow_kept **out, lb_error *err)
{
    lb_reader *r = by->r;
    lb_arrow_pull p;
    lb_arrow_kept *k = calloc(1, sizeof *k);

    *out = NULL;
    if (k == NULL)
        return lb_fail_nomem(err);
    lb_arrow_pull_init(&p, r);
    p.epoch = by->epoch;
    p.at_once = true;
    lb_status status = delivery_read(&p, &r->deliveries[delivery], k, err);
    if (status == LB_OK) {
        /* Whoever keeps it keeps what was counted for it. */
        k->bytes = p.held.taken + p.made.taken;
        p.held.taken = p.made.taken = 0;
        *out = k;
    } else {
        free(k);
    }
    lb_arrow_pull_free(&p);
    return status;
}

/* A reference to the decoded delivery. */
static lb_status delivery_get(const lb_arrow_pull *p, uint64_t delivery, uint64_t version, lb_arrow_kept **out,
                              lb_error *err)
{
    lb_reader *r = p->r;
    lb_arrow_kept *made;

    pthread_mutex_lock(&r->cache.lock);
    *out = cache_find(r, delivery, version);
    pthread_mutex_unlock(&r->cache.lock);
    if (*out != NULL)
        return LB_OK;
    LB_TRY(delivery_decode(p, delivery, &made, err));
    made->version = version;
    made->refs = 1;
    /* Another thread may have been faster; then there are two for a while. */
    pthread_mutex_lock(&r->cache.lock);
    cache_put(r, delivery, made);
    pthread_mutex_unlock(&r->cache.lock);
    *out = made;
    return LB_OK;
}

/* ---------------------------------------------------------------- all of one dictionary */

void lb_arrow_words_give(lb_reader *r, lb_arrow_words *w)
{
    pthread_mutex_lock(&r->cache.lock);
    for (size_t i = 0; w->kept != NULL && i < w->n; i++)
        if (w->kept[i] != NULL)
            w->kept[i]->refs--;
    cache_trim(r);
    pthread_mutex_unlock(&r->cache.lock);
    free(w->kept);
    free(w->chunks);
    free(w->first);
    *w = (lb_arrow_words){ .n = 0 };
}

/* The last delivery that is no delta, and the deltas behind it: [*first, *end) of by_dictionary. */
static void words_range(const lb_arrow_pull *p, uint32_t d, uint64_t before, uint64_t *first, uint64_t *end)
{
    const lb_reader *r = p->r;

    *first = *end = group_before(r, d, before);
    while (*first > r->groups[d]) {
        --*first;
        if (!r->deliveries[r->by_dictionary[*first]].delta)
            break;
    }
}

static lb_status words_fill(const lb_arrow_pull *p, const uint64_t *list, uint64_t version, lb_arrow_words *w,
                            lb_error *err)
{
    for (size_t i = 0; i < w->n; i++) {
        lb_arrow_kept *k;
        LB_TRY(delivery_get(p, list[i], version, &k, err));
        w->kept[i] = k;
        w->chunks[i] = &k->array;
        w->first[i + 1] = w->first[i] + (uint64_t)k->array.length;
    }
    return LB_OK;
}

lb_status lb_arrow_words_get(lb_arrow_pull *p, uint32_t d, lb_arrow_words *out, lb_error *err)
{
    uint64_t before = deliveries_before(p), first, end;

    words_range(p, d, before, &first, &end);
    *out = (lb_arrow_words){ .n = (size_t)(end - first) };
    out->kept = calloc(out->n + 1, sizeof *out->kept);
    out->chunks = calloc(out->n + 2, sizeof *out->chunks);
    out->first = calloc(out->n + 2, sizeof *out->first);
    if (out->kept == NULL || out->chunks == NULL || out->first == NULL) {
        out->n = 0;
        return lb_fail_nomem(err);
    }
    uint64_t version = node_version(p, &p->r->schema.dictionaries[d].values, before);
    return words_fill(p, p->r->by_dictionary + first, version, out, err);
}
