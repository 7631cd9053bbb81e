/* Maps of several batches: what is found agrees with arithmetic, a batch is looked at only when something in it is
 * asked for, and what does not hold is said then. */
#include "map_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "lake/map_private.h"

#define COUNT 300000
#define TURN 7
#define TURN_ROWS 21 /* 0 + 1 … + 6: every seventh entry has none */

typedef struct synthetic {
    lb_str schema;
    uint64_t calls;
} synthetic;

static uint64_t rows_of(uint64_t i)
{
    return i % TURN;
}

static uint64_t first_row_of(uint64_t i)
{
    uint64_t k = i % TURN;
    return i / TURN * TURN_ROWS + k * (k - (k != 0)) / 2;
}

static const char *path_of(uint64_t i, char out[32])
{
    (void)snprintf(out, 32, "d%03u/f%06u.csv", (unsigned)(i / 1000), (unsigned)i);
    return out;
}

static lb_status synthetic_get(void *user, uint64_t i, lb_arena *arena, lb_entry *out, lb_error *err)
{
    synthetic *s = user;
    char *path = lb_arena_alloc(arena, 32, 1);
    if (path == NULL)
        return lb_arena_fail(arena, err);
    s->calls++;
    *out = sample_plain(path_of(i, path), rows_of(i));
    out->arrow_schema = s->schema;
    if (i % 50000 == 49999) {
        out->error = LB_STR("it could not be read");
        out->total_rows = rows_of(i);
    }
    return LB_OK;
}

static lb_buf whole; /* the map of COUNT entries */

static void write_map(uint64_t count, uint64_t batch_bytes, lb_write_fn write, void *user)
{
    lb_error err = LB_ERROR_INIT;
    lb_map_header header = { .stride = 1 };
    lb_buf keep;
    synthetic s = { .schema = sample_schema(&keep) };
    const lb_entry_source source = { .count = count, .get = synthetic_get, .user = &s };
    sample_ok(lb_map_write(&header, &source, true, batch_bytes, write, user, &err), &err);
    assert_int_equal(s.calls, 2 * count);
    lb_buf_free(&keep);
}

static int make_map(void **state)
{
    (void)state;
    lb_buf_init(&whole, NULL);
    write_map(COUNT, 0, sample_write, &whole);
    return 0;
}

static int free_map(void **state)
{
    (void)state;
    lb_buf_free(&whole);
    return 0;
}

static lb_map *load(const lb_buf *bytes)
{
    lb_error err = LB_ERROR_INIT;
    lb_buf copy;
    lb_map *map;
    lb_buf_init(&copy, NULL);
    sample_ok(lb_buf_append(&copy, bytes->data, bytes->size, &err), &err);
    sample_ok(lb_map_load_bytes(&copy, "scale", &map, &err), &err);
    return map;
}

static size_t batches_taken(const lb_map *map)
{
    size_t n = 0;
    for (size_t i = 0; i < map->n_parts; i++)
        n += atomic_load(&map->parts[i].batch) != NULL;
    return n;
}

static void answers(void **state)
{
    (void)state;
    lb_error err = LB_ERROR_INIT;
    lb_map *map = load(&whole);
    lb_map_info info = { .struct_size = sizeof info };
    char path[32];
    assert_true(map->indexed && map->n_parts >= 4);
    sample_ok(lb_map_get_info(map, &info, &err), &err);
    assert_true(info.files == COUNT && info.failed == COUNT / 50000);
    assert_int_equal(info.rows, first_row_of(COUNT));
    assert_int_equal(batches_taken(map), 1); /* the last one, whose end is the total */
    for (uint64_t i = 0; i < COUNT; i += i % 11 == 0 ? 1 : 13) {
        uint64_t index;
        sample_ok(lb_map_find(map, path_of(i, path), &index, &err), &err);
        assert_int_equal(index, i);
        for (uint64_t r = 0; r < rows_of(i); r++) {
            lb_place place = { .struct_size = sizeof place };
            sample_ok(lb_map_locate(map, first_row_of(i) + r, &place, &err), &err);
            assert_true(place.entry == i && place.file_row == r);
            assert_string_equal(place.path, path);
        }
    }
    assert_int_equal(lb_map_find(map, "d000/f", &(uint64_t){ 0 }, NULL), LB_NOTFOUND);
    assert_int_equal(lb_map_find(map, "", &(uint64_t){ 0 }, NULL), LB_NOTFOUND);
    assert_int_equal(lb_map_find(map, "e", &(uint64_t){ 0 }, NULL), LB_NOTFOUND);
    assert_int_equal(batches_taken(map), map->n_parts);
    lb_map_close(map);
}

static void failed_ones(void **state)
{
    (void)state;
    lb_error err = LB_ERROR_INIT;
    lb_map *map = load(&whole);
    uint64_t index = 0;
    for (uint64_t i = 0; i < COUNT / 50000; i++, index++) {
        sample_ok(lb_map_next_failed(map, index, &index, &err), &err);
        assert_int_equal(index, 50000 * i + 49999);
    }
    assert_int_equal(lb_map_next_failed(map, index, &index, &err), LB_NOTFOUND);
    assert_int_equal(lb_map_next_failed(map, UINT64_MAX, &index, &err), LB_NOTFOUND);
    lb_map_close(map);
}

/* One look-up takes in the batches on its way and no others. */
static void lazy(void **state)
{
    (void)state;
    lb_error err = LB_ERROR_INIT;
    lb_map *map = load(&whole);
    lb_place place = { .struct_size = sizeof place };
    sample_ok(lb_map_locate(map, 0, &place, &err), &err);
    assert_int_equal(place.entry, 1);
    assert_int_equal(batches_taken(map), 2);
    lb_map_close(map);
}

/* The text of `bazan.batches` in the footer, which is what a reader goes by; the schema at the beginning has it too. */
static char *index_text(lb_buf *bytes)
{
    lb_map *map = load(bytes);
    char text[64], *at = (char *)bytes->data, *found = NULL;
    const lb_map_part *p = map->parts;
    int n = snprintf(text, sizeof text, "%llu:0:%llu,%llu:", (unsigned long long)p[0].count,
                     (unsigned long long)p[0].failed, (unsigned long long)p[1].count);
    lb_map_close(map);
    while ((at = memmem(at, bytes->size - (size_t)(at - (char *)bytes->data), text, (size_t)n)) != NULL)
        found = at++;
    assert_non_null(found);
    return found;
}

static lb_status ask_all(const lb_map *map, uint64_t count, lb_error *err)
{
    for (uint64_t row = 0; row < first_row_of(count); row++) {
        lb_place place = { .struct_size = sizeof place };
        LB_TRY(lb_map_locate(map, row, &place, err));
        if (first_row_of(place.entry) + place.file_row != row)
            return LB_INTERNAL; /* a wrong answer */
    }
    return LB_OK;
}

/* What the metadata say wrongly is noticed: at once, or with the batch; where the list cannot be right it is not used
 * at all. Never is an answer wrong. */
static void wrong_index(void **state)
{
    enum { FEW = 700, BATCH = 60000 };
    (void)state;
    lb_buf copy;
    lb_error err = LB_ERROR_INIT;
    size_t refused = 0, unused = 0;
    lb_buf_init(&copy, NULL);
    write_map(FEW, BATCH, sample_write, &copy);
    char *text = index_text(&copy);
    for (size_t i = 0; text[i] != '\0'; i++) {
        static const char others[] = "0159:,x";
        for (const char *c = others; *c != '\0'; c++) {
            char saved = text[i];
            lb_map *map = NULL;
            lb_buf bytes;
            if (saved == *c)
                continue;
            text[i] = *c;
            lb_buf_init(&bytes, NULL);
            sample_ok(lb_buf_append(&bytes, copy.data, copy.size, &err), &err);
            lb_error why = LB_ERROR_INIT;
            lb_status status = lb_map_load_bytes(&bytes, "wrong", &map, &why);
            unused += status == LB_OK && !map->indexed;
            if (status == LB_OK)
                status = ask_all(map, FEW, &why);
            assert_true(status == LB_OK || status == LB_CORRUPT);
            refused += status == LB_CORRUPT;
            lb_map_close(map);
            text[i] = saved;
        }
    }
    assert_true(refused > 0 && unused > 0);
    lb_buf_free(&copy);
}

/* A batch that was damaged is refused when something in it is asked for, and the others serve. */
static void damaged_batch(void **state)
{
    (void)state;
    lb_error err = LB_ERROR_INIT;
    lb_map *map = load(&whole);
    lb_place place = { .struct_size = sizeof place };
    const lb_map_part *part = &map->parts[1];
    uint8_t *header = map->own.data + part->offset;
    memset(header + 8, 0xFF, part->head - 8);
    assert_int_equal(lb_map_locate(map, part->first_row + 5, &place, &err), LB_CORRUPT);
    assert_non_null(strstr(err.message, "the header of a batch is damaged"));
    assert_int_equal(lb_map_locate(map, part->first_row + 5, &place, &err), LB_CORRUPT);
    sample_ok(lb_map_locate(map, part->first_row - 5, &place, &err), &err);
    sample_ok(lb_map_locate(map, map->parts[2].first_row + 5, &place, &err), &err);
    assert_int_equal(lb_map_check_batches(map, &err), LB_CORRUPT);
    lb_map_close(map);
}

/* Writing takes the memory of some copies of a batch (16 MiB), not of the map, which has more than 64 MiB. */
static bool forget(void *user, const void *bytes, size_t size)
{
    (void)bytes;
    *(uint64_t *)user += size;
    return true;
}

static void bounded(void **state)
{
    (void)state;
    struct rusage usage;
    uint64_t size = 0;
    write_map(COUNT, 0, forget, &size);
    assert_true(size > 64u << 20);
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    assert_true(usage.ru_maxrss < 48 * 1024);
#endif
}

int main(void)
{
    const struct CMUnitTest first[] = { cmocka_unit_test(bounded) }; /* before a whole map is held */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),     cmocka_unit_test(failed_ones),   cmocka_unit_test(lazy),
        cmocka_unit_test(wrong_index), cmocka_unit_test(damaged_batch),
    };
    return cmocka_run_group_tests(first, NULL, NULL) + cmocka_run_group_tests(tests, make_map, free_map);
}
