#include "lake/content.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/pool.h"
#include "io/store.h"
#include "lake/digest.h"
#include "lance/dataset_store.h"

#define CONTENT_JOB_RANGES 16
#define CONTENT_READ ((size_t)1 << 20)
#define CONTENT_ALIGN 4096 /* the kernel copies fast where bytes lie in memory as they lie in the file (io/text.c) */
#define CONTENT_STARTS 256 /* start hashes looked at in a file that grew */
#define CONTENT_START_BYTES 64

/* Some ranges of one file; no ranges: its start hashes, or its content hash. */
typedef struct content_job {
    uint32_t check;
    uint64_t first, count;
} content_job;

typedef struct content {
    lb_context *cx;
    lb_content_check *checks;
    content_job *jobs;
    size_t n_jobs, cap_jobs;
    const lb_content_work *work;
    pthread_mutex_t lock; /* of the arena, and of the checks' answers but states */
} content;

/* ---------------------------------------------------------------- planning */

static lb_status content_plan_job(content *c, size_t check, uint64_t first, uint64_t count, lb_error *err)
{
    if (c->n_jobs == c->cap_jobs) {
        size_t cap = c->cap_jobs == 0 ? 64 : c->cap_jobs * 2;
        content_job *jobs = realloc(c->jobs, cap * sizeof *jobs);
        if (jobs == NULL)
            return lb_fail_nomem(err);
        c->jobs = jobs;
        c->cap_jobs = cap;
    }
    c->jobs[c->n_jobs++] = (content_job){ (uint32_t)check, first, count };
    c->checks[check].jobs++;
    return LB_OK;
}

static bool content_has_digests(const lb_entry *e)
{
    return e->digests.xxh3 != NULL || e->digests.blake3 != NULL;
}

static lb_status content_plan(content *c, size_t i, lb_error *err)
{
    lb_arena *arena = c->work->arena;
    lb_content_check *check = &c->checks[i];
    const lb_entry *e = check->entry;
    uint64_t n = e->digests.count;

    check->known = content_has_digests(e) || e->has_content_hash || e->size_bytes == 0;
    if (!content_has_digests(e))
        return e->has_content_hash && !check->ends_only ? content_plan_job(c, i, 0, 0, err) : LB_OK;
    check->states = lb_arena_alloc(arena, (size_t)n, 1);
    if (check->states == NULL)
        return lb_arena_fail(arena, err);
    if (check->ends_only) {
        LB_TRY(content_plan_job(c, i, 0, 0, err));
        LB_TRY(n == 0 ? LB_OK : content_plan_job(c, i, 0, 1, err));
        return n < 2 ? LB_OK : content_plan_job(c, i, n - 1, 1, err);
    }
    for (uint64_t first = 0; first < n; first += CONTENT_JOB_RANGES)
        LB_TRY(content_plan_job(c, i, first, LB_MIN((uint64_t)CONTENT_JOB_RANGES, n - first), err));
    return LB_OK;
}

/* ---------------------------------------------------------------- reading */

typedef struct content_hasher {
    uint8_t *buffer; /* CONTENT_READ bytes */
    lb_xxh3 *xxh3;
    lb_blake3 *blake3;
} content_hasher;

static void content_progress(content *c)
{
    if (c->work->progress != NULL)
        c->work->progress(c->work->progress_user);
}

/* Hash bytes [at, at + length) by whichever hash the entry has; *whole false: the file ends before. */
static lb_status content_hash(content *c, lb_store *store, content_hasher *h, uint64_t at, uint64_t length, bool blake3,
                              uint8_t *out, bool *whole, lb_error *err)
{
    if (blake3)
        lb_blake3_reset(h->blake3);
    else
        lb_xxh3_reset(h->xxh3);
    while (length != 0) {
        size_t want = (size_t)LB_MIN(length, (uint64_t)CONTENT_READ), got;
        LB_TRY(lb_check_cancel(c->cx, err));
        LB_TRY(lb_store_read(store, at, h->buffer, want, &got, err));
        if (blake3)
            lb_blake3_update(h->blake3, h->buffer, got);
        else
            lb_xxh3_update(h->xxh3, h->buffer, got);
        atomic_fetch_add_explicit(c->work->bytes_done, got, memory_order_relaxed);
        content_progress(c);
        at += got;
        length -= got;
        if (got < want)
            break;
    }
    *whole = length == 0;
    if (blake3)
        lb_blake3_digest(h->blake3, out);
    else
        lb_xxh3_digest(h->xxh3, out);
    return LB_OK;
}

static lb_status content_ranges(content *c, const content_job *job, lb_store *store, content_hasher *h, bool *differs,
                                lb_error *err)
{
    const lb_content_check *check = &c->checks[job->check];
    const lb_digests *d = &check->entry->digests;
    bool blake3 = d->blake3 != NULL;
    uint8_t hash[LB_BLAKE3_SIZE];

    for (uint64_t i = job->first; i < job->first + job->count; i++) {
        bool whole, same;
        LB_TRY(content_hash(c, store, h, d->first_byte[i], d->length[i], blake3, hash, &whole, err));
        same = blake3 ? memcmp(hash, d->blake3 + i * LB_BLAKE3_SIZE, LB_BLAKE3_SIZE) == 0
                      : memcmp(hash, d->xxh3 + i * LB_XXH3_SIZE, LB_XXH3_SIZE) == 0;
        check->states[i] = !whole ? LB_RANGE_CUT : same ? LB_RANGE_SAME : LB_RANGE_DIFFERS;
        *differs |= check->states[i] == LB_RANGE_DIFFERS;
    }
    return LB_OK;
}

/* Beginnings of blocks, spread over the file; those behind its end are left out. Of a compressed file only the view has them, and
 * reading that costs more than a look may: its digests tell. */
static lb_status content_starts(const lb_entry *e, lb_store *store, bool *differs, bool *looked, lb_error *err)
{
    const lb_blocks *b = &e->blocks;
    uint64_t step = b->count / CONTENT_STARTS + 1;
    uint8_t bytes[CONTENT_START_BYTES];

    if (b->start_hash == NULL || b->first_byte == NULL || e->container.size != 0)
        return LB_OK;
    for (uint64_t i = 0; i < b->count && !*differs; i += step) {
        size_t want = (size_t)LB_MIN(lb_blocks_bytes(b, i), (uint64_t)sizeof bytes), got;
        if (b->first_byte[i] > store->size || want > store->size - b->first_byte[i])
            break;
        LB_TRY(lb_store_read(store, b->first_byte[i], bytes, want, &got, err));
        *differs = got != want || lb_xxh3_64(bytes, got) != b->start_hash[i];
        *looked = true;
    }
    return LB_OK;
}

lb_status lb_content_starts(const char *path, const lb_entry *entry, bool *hold, bool *looked, lb_error *err)
{
    lb_store *store = NULL;
    bool differs = false;

    *looked = false;
    LB_TRY(lb_data_store_open(path, &store, err));
    lb_status status = content_starts(entry, store, &differs, looked, err);
    lb_store_close(store);
    *hold = !differs;
    return status;
}

static lb_status content_read(content *c, const content_job *job, lb_store *store, bool *differs, lb_error *err)
{
    const lb_content_check *check = &c->checks[job->check];
    content_hasher h = { aligned_alloc(CONTENT_ALIGN, CONTENT_READ), lb_xxh3_new(), lb_blake3_new() };
    uint8_t hash[LB_BLAKE3_SIZE];
    lb_status status = h.buffer == NULL || h.xxh3 == NULL || h.blake3 == NULL ? lb_fail_nomem(err) : LB_OK;
    bool whole = false, looked;

    if (status == LB_OK && job->count != 0) {
        status = content_ranges(c, job, store, &h, differs, err);
    } else if (status == LB_OK && check->ends_only) {
        status = content_starts(check->entry, store, differs, &looked, err);
    } else if (status == LB_OK) {
        status = content_hash(c, store, &h, 0, check->entry->size_bytes, true, hash, &whole, err);
        *differs = status == LB_OK && (!whole || memcmp(hash, check->entry->content_hash, sizeof hash) != 0);
    }
    free(h.buffer);
    lb_xxh3_free(h.xxh3);
    lb_blake3_free(h.blake3);
    return status;
}

/* One job of a check is done. `why` NULL: without an error. */
static lb_status content_answer(content *c, lb_content_check *check, bool differs, const lb_error *why, lb_error *err)
{
    lb_status status = LB_OK;

    pthread_mutex_lock(&c->lock);
    check->differs |= differs;
    if (why != NULL && !check->unreadable) {
        lb_error *kept = lb_arena_alloc(c->work->arena, 1, sizeof *kept);
        if (kept == NULL)
            status = lb_arena_fail(c->work->arena, err);
        else
            *kept = *why;
        check->unreadable = true;
        check->error = kept;
    }
    if (--check->jobs == 0)
        atomic_fetch_add(c->work->files_done, 1);
    pthread_mutex_unlock(&c->lock);
    content_progress(c);
    return status;
}

static lb_status content_one(void *user, size_t index, lb_error *err)
{
    content *c = user;
    const content_job *job = &c->jobs[index];
    lb_content_check *check = &c->checks[job->check];
    lb_store *store = NULL;
    lb_error why = LB_ERROR_INIT;
    bool differs = false;

    lb_status status = lb_data_store_open(check->path, &store, &why);
    if (status == LB_OK)
        status = content_read(c, job, store, &differs, &why);
    lb_store_close(store);
    if (status == LB_CANCELLED || status == LB_NOMEM || status == LB_BUDGET) {
        if (err != NULL)
            *err = why;
        return status;
    }
    return content_answer(c, check, differs, status == LB_OK ? NULL : &why, err);
}

uint64_t lb_content_check_bytes(const lb_content_check *check)
{
    const lb_entry *e = check->entry;
    uint64_t ends = 2 * (uint64_t)LB_DIGEST_RANGE;

    if (!content_has_digests(e))
        return e->has_content_hash && !check->ends_only ? e->size_bytes : 0;
    return check->ends_only ? LB_MIN(e->size_bytes, ends) : e->size_bytes;
}

lb_status lb_content_check_all(lb_context *cx, lb_content_check *checks, size_t count, const lb_content_work *work,
                               lb_error *err)
{
    content c = { .cx = cx, .checks = checks, .work = work };
    lb_status status = LB_OK;

    pthread_mutex_init(&c.lock, NULL);
    for (size_t i = 0; status == LB_OK && i < count; i++) {
        checks[i].jobs = 0;
        status = content_plan(&c, i, err);
        if (checks[i].jobs == 0)
            atomic_fetch_add(work->files_done, 1);
    }
    if (status == LB_OK)
        status = lb_run_jobs(cx, c.n_jobs, content_one, &c, err);
    pthread_mutex_destroy(&c.lock);
    free(c.jobs);
    return status;
}
