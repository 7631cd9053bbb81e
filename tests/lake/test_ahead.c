/* Reading ahead: batches come in the order of their runs whatever thread made them, errors come behind the batches before them,
 * and a stream may be left at any time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "column/stream.h"
#include "lake/ahead.h"

/* Runs 0 to `runs`; run i gives i % 4 batches, of one row that holds 1000 * i + its place. */
typedef struct counting {
    int64_t next, runs, fail_next, fail_run;
    _Atomic int64_t at_work, most_at_work;
    bool closed;
} counting;

static counting state_of_work;

static lb_status next(void *user, void *job, bool *there, lb_error *err)
{
    counting *c = user;

    if (c->next == c->fail_next)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "no run %lld", (long long)c->next);
    *there = c->next < c->runs;
    memcpy(job, &c->next, sizeof c->next);
    c->next++;
    return LB_OK;
}

static void make_batch(int64_t value, struct ArrowArray *out)
{
    struct ArrowSchema schema;

    assert_int_equal(ArrowSchemaInitFromType(&schema, NANOARROW_TYPE_STRUCT), NANOARROW_OK);
    assert_int_equal(ArrowSchemaAllocateChildren(&schema, 1), NANOARROW_OK);
    assert_int_equal(ArrowSchemaInitFromType(schema.children[0], NANOARROW_TYPE_INT64), NANOARROW_OK);
    assert_int_equal(ArrowArrayInitFromSchema(out, &schema, NULL), NANOARROW_OK);
    assert_int_equal(ArrowArrayStartAppending(out), NANOARROW_OK);
    assert_int_equal(ArrowArrayAppendInt(out->children[0], value), NANOARROW_OK);
    assert_int_equal(ArrowArrayFinishElement(out), NANOARROW_OK);
    assert_int_equal(ArrowArrayFinishBuildingDefault(out, NULL), NANOARROW_OK);
    schema.release(&schema);
}

static lb_status run(void *user, const void *job, lb_ahead_run *to, lb_error *err)
{
    counting *c = user;
    int64_t i, now = atomic_fetch_add(&c->at_work, 1) + 1, most = atomic_load(&c->most_at_work);
    const struct timespec a_while = { 0, 100000 };

    while (now > most && !atomic_compare_exchange_weak(&c->most_at_work, &most, now))
        ;
    memcpy(&i, job, sizeof i);
    (void)nanosleep(&a_while, NULL);
    for (int64_t k = 0; k < i % 4; k++) {
        struct ArrowArray batch;
        make_batch(1000 * i + k, &batch);
        assert_int_equal(lb_ahead_keep(to, &batch, err), LB_OK);
    }
    atomic_fetch_sub(&c->at_work, 1);
    if (i == c->fail_run)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "run %lld is bad", (long long)i);
    return LB_OK;
}

static void close_work(void *user)
{
    counting *c = user;
    assert_int_equal(atomic_load(&c->at_work), 0);
    assert_false(c->closed);
    c->closed = true;
}

static const lb_ahead_work work = { next, run, close_work };

static lb_context *context_of(unsigned threads)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = threads };
    lb_context *cx;

    assert_int_equal(lb_context_new(&options, &cx, NULL), LB_OK);
    return cx;
}

static void open_stream(lb_context *cx, counting how, struct ArrowArrayStream *out)
{
    struct ArrowSchema schema;

    state_of_work = how;
    assert_int_equal(ArrowSchemaInitFromType(&schema, NANOARROW_TYPE_STRUCT), NANOARROW_OK);
    assert_int_equal(lb_ahead_open(cx, &work, &state_of_work, &schema, out, NULL), LB_OK);
}

/* Pull up to `most` batches and hold them against the counting; gives how many came. */
static int64_t pull(struct ArrowArrayStream *stream, int64_t most, lb_status *status, lb_error *err)
{
    int64_t n = 0, i = 0, k = 0;

    for (; n < most; n++) {
        struct ArrowArray batch = { 0 };
        *status = lb_stream_next(stream, &batch, err);
        if (*status != LB_OK || batch.release == NULL)
            break;
        while (k == i % 4) {
            i++;
            k = 0;
        }
        const int64_t *values = batch.children[0]->buffers[1];
        assert_int_equal(values[0], 1000 * i + k);
        k++;
        batch.release(&batch);
    }
    return n;
}

static const unsigned thread_counts[] = { 1, 2, 7 };

static void batches_come_in_order(void **state)
{
    (void)state;
    for (size_t t = 0; t < LB_COUNT_OF(thread_counts); t++) {
        lb_context *cx = context_of(thread_counts[t]);
        struct ArrowArrayStream stream;
        lb_status status;
        lb_error err = LB_ERROR_INIT;
        open_stream(cx, (counting){ .runs = 200, .fail_next = -1, .fail_run = -1 }, &stream);
        assert_int_equal(pull(&stream, INT64_MAX, &status, &err), 50 * (0 + 1 + 2 + 3));
        assert_int_equal(status, LB_OK);
        assert_true(atomic_load(&state_of_work.most_at_work) <= (int64_t)thread_counts[t]);
        stream.release(&stream);
        assert_true(state_of_work.closed);
        assert_int_equal(cx->helping, 0);
        lb_context_free(cx);
    }
}

static void errors_come_behind_what_is_before_them(void **state)
{
    (void)state;
    for (size_t t = 0; t < LB_COUNT_OF(thread_counts); t++)
        for (int in_next = 0; in_next < 2; in_next++) {
            lb_context *cx = context_of(thread_counts[t]);
            struct ArrowArrayStream stream;
            lb_status status;
            lb_error err = LB_ERROR_INIT;
            open_stream(cx, (counting){ .runs = 60, .fail_next = in_next ? 40 : -1, .fail_run = in_next ? -1 : 42 },
                        &stream);
            /* Runs 0 to 39 give 60 batches; 40, 41 and 42 give 0, 1 and 2 more before the last one fails. */
            assert_int_equal(pull(&stream, INT64_MAX, &status, &err), in_next ? 60 : 63);
            assert_int_equal(status, LB_CORRUPT);
            assert_string_equal(err.message, in_next ? "no run 40" : "run 42 is bad");
            stream.release(&stream);
            assert_int_equal(cx->helping, 0);
            lb_context_free(cx);
        }
}

static void streams_may_be_left(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 40; n++) {
        lb_context *cx = context_of(thread_counts[n % 3]);
        struct ArrowArrayStream stream;
        lb_status status = LB_OK;
        open_stream(cx, (counting){ .runs = 1000, .fail_next = -1, .fail_run = -1 }, &stream);
        assert_int_equal(pull(&stream, n, &status, NULL), n);
        stream.release(&stream);
        assert_true(state_of_work.closed);
        assert_int_equal(cx->helping, 0);
        lb_context_free(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_come_in_order),
        cmocka_unit_test(errors_come_behind_what_is_before_them),
        cmocka_unit_test(streams_may_be_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
