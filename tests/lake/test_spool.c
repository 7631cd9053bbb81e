/* Packed entries: what comes out is what went in, byte by byte of the map that is made of it. */
#include "map_samples.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lake/spool.h"

static const lb_map_header header = { .stride = 3, .interop_full = true };

typedef struct spooled {
    const lb_spool *spool;
    const lb_entry *entries; /* their paths */
} spooled;

static lb_status spooled_get(void *user, uint64_t index, lb_arena *arena, lb_entry *out, lb_error *err)
{
    const spooled *s = user;
    LB_TRY(lb_spool_get(s->spool, (size_t)index, arena, out, err));
    assert_int_equal(out->rel_path.size, 0);
    out->rel_path = s->entries[index].rel_path;
    out->rel_path_raw = s->entries[index].rel_path_raw;
    return LB_OK;
}

/* Entries of every kind, given as they are and through a spool. */
static void same_map(void **state)
{
    (void)state;
    lb_error err = LB_ERROR_INIT;
    lb_entry entries[SAMPLE_ENTRIES];
    lb_buf keep, plain, packed;
    lb_spool spool;
    sample_entries(entries, &keep);
    qsort(entries, SAMPLE_ENTRIES, sizeof *entries, sample_order);
    lb_buf_init(&plain, NULL);
    lb_buf_init(&packed, NULL);
    sample_ok(sample_write_list(&header, entries, SAMPLE_ENTRIES, 1500, sample_write, &plain, &err), &err);
    sample_ok(lb_spool_init(&spool, NULL, SAMPLE_ENTRIES + 2, &err), &err);
    for (size_t i = 0; i < SAMPLE_ENTRIES; i++)
        sample_ok(lb_spool_put(&spool, i + 2, &entries[i], &err), &err);
    for (size_t i = 0; i < SAMPLE_ENTRIES; i++)
        lb_spool_move(&spool, i + 2, i);
    assert_true(lb_spool_has(&spool, SAMPLE_ENTRIES - 1) && !lb_spool_has(&spool, SAMPLE_ENTRIES));
    spooled s = { &spool, entries };
    const lb_entry_source source = { .count = SAMPLE_ENTRIES, .get = spooled_get, .user = &s };
    sample_ok(lb_map_write(&header, &source, false, 1500, sample_write, &packed, &err), &err);
    assert_int_equal(packed.size, plain.size);
    assert_memory_equal(packed.data, plain.data, plain.size);
    lb_spool_free(&spool);
    lb_buf_free(&plain);
    lb_buf_free(&packed);
    lb_buf_free(&keep);
}

/* Numbers at the ends of their ranges. */
static void extremes(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX };
    static const int64_t times[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1, 1700000000000000000, INT64_MAX };
    lb_error err = LB_ERROR_INIT;
    lb_arena arena;
    lb_spool spool;
    lb_arena_init(&arena, NULL);
    sample_ok(lb_spool_init(&spool, NULL, 1, &err), &err);
    for (size_t i = 0; i < LB_COUNT_OF(sizes); i++)
        for (size_t k = 0; k < LB_COUNT_OF(times) * LB_COUNT_OF(times); k++) {
            lb_entry e = { .size_bytes = sizes[i], .total_rows = ~sizes[i] }, got;
            e.mtime_ns = times[k % LB_COUNT_OF(times)];
            e.ctime_ns = e.verified_ns = times[k / LB_COUNT_OF(times)];
            e.inspected_ns = times[(k + i) % LB_COUNT_OF(times)];
            sample_ok(lb_spool_put(&spool, 0, &e, &err), &err);
            sample_ok(lb_spool_get(&spool, 0, &arena, &got, &err), &err);
            assert_true(got.size_bytes == e.size_bytes && got.total_rows == e.total_rows);
            assert_true(got.mtime_ns == e.mtime_ns && got.ctime_ns == e.ctime_ns);
            assert_true(got.inspected_ns == e.inspected_ns && got.verified_ns == e.verified_ns);
        }
    lb_spool_free(&spool);
    lb_arena_free(&arena);
}

/* Many entries with few schemas take little more than what differs between them. */
static void small(void **state)
{
    (void)state;
    enum { ENTRIES = 10000, EACH = 160 };
    lb_error err = LB_ERROR_INIT;
    lb_budget budget = { .limit = ENTRIES * EACH };
    lb_arena arena;
    lb_spool spool;
    lb_buf keep;
    lb_str schema = sample_schema(&keep);
    lb_arena_init(&arena, NULL);
    sample_ok(lb_spool_init(&spool, &budget, ENTRIES, &err), &err);
    for (size_t i = 0; i < ENTRIES; i++) {
        lb_entry e = sample_plain("x", i);
        char other[512] = { 0 };
        memcpy(other, schema.at, LB_MIN(schema.size, sizeof other));
        other[0] = (char)(i % 100);
        e.arrow_schema = (lb_str){ other, LB_MIN(schema.size, sizeof other) };
        sample_ok(lb_spool_put(&spool, i, &e, &err), &err);
    }
    assert_true(budget.used > ENTRIES * 20);
    for (size_t i = 0; i < ENTRIES; i += 97) {
        lb_entry got;
        sample_ok(lb_spool_get(&spool, i, &arena, &got, &err), &err);
        assert_true(got.total_rows == i && got.arrow_schema.at[0] == (char)(i % 100));
    }
    lb_spool_free(&spool);
    assert_int_equal(budget.used, 0);
    lb_arena_free(&arena);
    lb_buf_free(&keep);
}

static void out_of_budget(void **state)
{
    (void)state;
    lb_error err = LB_ERROR_INIT;
    lb_budget budget = { .limit = 4000 };
    lb_spool spool;
    lb_status status = LB_OK;
    sample_ok(lb_spool_init(&spool, &budget, 1000, &err), &err);
    for (size_t i = 0; status == LB_OK && i < 1000; i++) {
        lb_entry e = sample_plain("x", i);
        status = lb_spool_put(&spool, i, &e, &err);
    }
    assert_int_equal(status, LB_BUDGET);
    lb_spool_free(&spool);
    assert_int_equal(budget.used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_map),
        cmocka_unit_test(extremes),
        cmocka_unit_test(small),
        cmocka_unit_test(out_of_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
