#include "lake/digest.h"

#include <stdlib.h>

#include "base/hash.h"

struct lb_digester {
    lb_xxh3 *xxh3;
    lb_blake3 *range, *whole; /* NULL without BLAKE3 */
    uint64_t bytes;           /* seen */
    uint64_t in_range;        /* of them in the open range */
    lb_buf xxh3_out, blake3_out;
    lb_status status;
    lb_error error;
};

lb_status lb_digester_new(bool blake3, lb_budget *budget, lb_digester **out, lb_error *err)
{
    lb_digester *d = calloc(1, sizeof *d);

    *out = d;
    if (d == NULL)
        return lb_fail_nomem(err);
    d->error = (lb_error)LB_ERROR_INIT;
    lb_buf_init(&d->xxh3_out, budget);
    lb_buf_init(&d->blake3_out, budget);
    d->xxh3 = lb_xxh3_new();
    if (blake3) {
        d->range = lb_blake3_new();
        d->whole = lb_blake3_new();
    }
    if (d->xxh3 != NULL && (!blake3 || (d->range != NULL && d->whole != NULL)))
        return LB_OK;
    lb_digester_free(d);
    *out = NULL;
    return lb_fail_nomem(err);
}

void lb_digester_free(lb_digester *d)
{
    if (d == NULL)
        return;
    lb_xxh3_free(d->xxh3);
    lb_blake3_free(d->range);
    lb_blake3_free(d->whole);
    lb_buf_free(&d->xxh3_out);
    lb_buf_free(&d->blake3_out);
    free(d);
}

static lb_status digester_close_range(lb_digester *d, lb_error *err)
{
    uint8_t out[LB_BLAKE3_SIZE];

    if (d->in_range == 0)
        return LB_OK;
    lb_xxh3_digest(d->xxh3, out);
    lb_xxh3_reset(d->xxh3);
    LB_TRY(lb_buf_append(&d->xxh3_out, out, LB_XXH3_SIZE, err));
    if (d->range != NULL) {
        lb_blake3_digest(d->range, out);
        lb_blake3_reset(d->range);
        LB_TRY(lb_buf_append(&d->blake3_out, out, LB_BLAKE3_SIZE, err));
    }
    d->in_range = 0;
    return LB_OK;
}

void lb_digester_add(void *digester, const uint8_t *bytes, size_t size)
{
    lb_digester *d = digester;

    if (d->whole != NULL)
        lb_blake3_update(d->whole, bytes, size);
    while (size != 0 && d->status == LB_OK) {
        size_t n = (size_t)LB_MIN((uint64_t)size, LB_DIGEST_RANGE - d->in_range);
        lb_xxh3_update(d->xxh3, bytes, n);
        if (d->range != NULL)
            lb_blake3_update(d->range, bytes, n);
        d->in_range += n;
        d->bytes += n;
        bytes += n;
        size -= n;
        if (d->in_range == LB_DIGEST_RANGE)
            d->status = digester_close_range(d, &d->error);
    }
}

/* ---------------------------------------------------------------- sums of ranges */

/* A sum is XXH3 of the range, and then BLAKE3 of it where that is wanted. */
typedef struct digest_sum {
    lb_xxh3 *xxh3;
    lb_blake3 *blake3; /* NULL without */
} digest_sum;

_Static_assert(LB_XXH3_SIZE + LB_BLAKE3_SIZE <= LB_SUM_MOST, "both fit");

static void digest_sum_close(void *sum)
{
    digest_sum *s = sum;

    lb_xxh3_free(s->xxh3);
    lb_blake3_free(s->blake3);
    free(s);
}

static void *digest_sum_make(bool blake3)
{
    digest_sum *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->xxh3 = lb_xxh3_new();
    s->blake3 = blake3 ? lb_blake3_new() : NULL;
    if (s->xxh3 != NULL && (s->blake3 != NULL || !blake3))
        return s;
    digest_sum_close(s);
    return NULL;
}

static void *digest_sum_open(void *user)
{
    (void)user;
    return digest_sum_make(false);
}

static void *digest_sum_open_blake3(void *user)
{
    (void)user;
    return digest_sum_make(true);
}

static void digest_sum_begin(void *sum)
{
    const digest_sum *s = sum;

    lb_xxh3_reset(s->xxh3);
    if (s->blake3 != NULL)
        lb_blake3_reset(s->blake3);
}

static void digest_sum_add(void *sum, const uint8_t *bytes, size_t size)
{
    const digest_sum *s = sum;

    lb_xxh3_update(s->xxh3, bytes, size);
    if (s->blake3 != NULL)
        lb_blake3_update(s->blake3, bytes, size);
}

static void digest_sum_take(void *sum, uint8_t *out)
{
    const digest_sum *s = sum;

    lb_xxh3_digest(s->xxh3, out);
    if (s->blake3 != NULL)
        lb_blake3_digest(s->blake3, out + LB_XXH3_SIZE);
}

void lb_digester_sums(const lb_digester *d, lb_sums *out)
{
    *out = (lb_sums){ .range = LB_DIGEST_RANGE,
                      .size = LB_XXH3_SIZE + (d->range != NULL ? (size_t)LB_BLAKE3_SIZE : 0),
                      .open = d->range != NULL ? digest_sum_open_blake3 : digest_sum_open,
                      .begin = digest_sum_begin,
                      .add = digest_sum_add,
                      .take = digest_sum_take,
                      .close = digest_sum_close };
}

void lb_digester_give(lb_digester *d, const uint8_t *bytes, size_t size, const uint8_t *sums)
{
    /* Ranges do not begin where those of the sums do. */
    if (d->in_range != 0 || size % LB_DIGEST_RANGE != 0) {
        lb_digester_add(d, bytes, size);
        return;
    }
    if (d->whole != NULL)
        lb_blake3_update(d->whole, bytes, size);
    d->bytes += size;
    for (; size != 0 && d->status == LB_OK; size -= LB_DIGEST_RANGE) {
        d->status = lb_buf_append(&d->xxh3_out, sums, LB_XXH3_SIZE, &d->error);
        sums += LB_XXH3_SIZE;
        if (d->status == LB_OK && d->range != NULL) {
            d->status = lb_buf_append(&d->blake3_out, sums, LB_BLAKE3_SIZE, &d->error);
            sums += LB_BLAKE3_SIZE;
        }
    }
}

/* ---------------------------------------------------------------- what comes of it */

uint64_t lb_digester_bytes(const lb_digester *d)
{
    return d->bytes;
}

lb_status lb_digester_finish(lb_digester *d, lb_arena *arena, lb_entry *out, lb_error *err)
{
    if (d->status == LB_OK)
        d->status = digester_close_range(d, &d->error);
    if (d->status != LB_OK)
        return lb_fail(err, d->status, LB_NOWHERE, "%s", d->error.message);
    size_t n = d->xxh3_out.size / LB_XXH3_SIZE;
    uint64_t *first = lb_arena_alloc(arena, n, sizeof *first), *length = lb_arena_alloc(arena, n, sizeof *length);
    const uint8_t *xxh3 = lb_arena_dup(arena, d->xxh3_out.data, d->xxh3_out.size);
    const uint8_t *blake3 = lb_arena_dup(arena, d->blake3_out.data, d->blake3_out.size);
    if (first == NULL || length == NULL || xxh3 == NULL || blake3 == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        first[i] = i * LB_DIGEST_RANGE;
        length[i] = LB_MIN(LB_DIGEST_RANGE, d->bytes - first[i]);
    }
    out->digests = (lb_digests){ n, first, length, xxh3, d->range != NULL ? blake3 : NULL };
    if (d->whole != NULL) {
        lb_blake3_digest(d->whole, out->content_hash);
        out->has_content_hash = true;
    }
    return LB_OK;
}
