/* Rows of maps: every border of an entry and of a block is found where the entries say that it lies, whatever the rows and blocks
 * of a batch are like, by several threads at a time. */
#include "map_samples.h"

#include <pthread.h>

#include "lakebed.h"

#define ENTRIES 3000
#define MOST_BLOCKS 4
#define ROOM 32
#define THREADS 4

/* What all entries are, or one in so many. In turns: as many blocks as entries, but not one each. */
enum {
    SINGLE = 1,
    PACKED = 2,
    PAGES = 4,
    NO_BYTES = 8,
    NO_LINES = 16,
    MANY = 32,
    EMPTY = 64,
    LARGE = 128,
    SOME = 256,
    TURNS = 512
};

typedef struct model_entry {
    char path[ROOM];
    uint64_t rows, first;
    uint64_t n_blocks, first_row[MOST_BLOCKS], row_count[MOST_BLOCKS], at[MOST_BLOCKS], bytes[MOST_BLOCKS],
        packed_bytes[MOST_BLOCKS], lines[MOST_BLOCKS];
    uint8_t pages;
    bool packed, no_bytes, no_lines;
} model_entry;

static model_entry model[ENTRIES];

static uint64_t random_state = 88172645463325252u;

static uint64_t random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % n;
}

static uint64_t random_rows(unsigned kinds)
{
    if ((kinds & EMPTY) != 0 && random_below(3) == 0)
        return 0;
    if ((kinds & LARGE) != 0 && random_below(40) == 0)
        return 1 + random_below((uint64_t)1 << random_below(44));
    return 1 + random_below(30);
}

static uint64_t random_count(unsigned kinds, uint64_t i, uint64_t rows)
{
    static const uint64_t turns[] = { 1, 0, 2, 1 };

    if ((kinds & TURNS) != 0)
        return turns[i % 4];
    if ((kinds & MANY) != 0)
        return random_below(MOST_BLOCKS + 1);
    return rows == 0 ? random_below(2) : 1;
}

static void make_blocks(model_entry *m, uint64_t n)
{
    uint64_t left = m->rows, first = 0;

    m->n_blocks = n;
    for (uint64_t b = 0; b < n; b++) {
        m->first_row[b] = first;
        m->row_count[b] = b + 1 == n ? left : random_below(left + 1);
        m->at[b] = 7 + 100 * b;
        m->bytes[b] = 50 + random_below(50);
        m->packed_bytes[b] = 1 + random_below(50);
        m->lines[b] = 2 + first;
        first += m->row_count[b];
        left -= m->row_count[b];
    }
}

/* Entries one behind the other; gives the number of rows. */
static uint64_t make_model(unsigned kinds)
{
    uint64_t first = 0;

    for (uint64_t i = 0; i < ENTRIES; i++) {
        model_entry *m = &model[i];
        const unsigned k = (kinds & SOME) == 0 || random_below(300) == 0 ? kinds : kinds & (EMPTY | LARGE);
        *m = (model_entry){ .first = first, .rows = random_rows(kinds) };
        (void)snprintf(m->path, sizeof m->path, "d%02u/f%05u", (unsigned)(i / 100), (unsigned)i);
        make_blocks(m, random_count(k, i, m->rows));
        m->packed = (k & PACKED) != 0;
        m->pages = (k & PAGES) != 0 ? (uint8_t)random_below(16) : 0;
        m->no_bytes = (k & NO_BYTES) != 0;
        m->no_lines = (k & NO_LINES) != 0;
        first += m->rows;
    }
    return first;
}

static lb_status model_get(void *user, uint64_t i, lb_arena *arena, lb_entry *out, lb_error *err)
{
    const model_entry *m = &model[i];

    (void)user;
    (void)arena;
    (void)err;
    *out = sample_plain(m->path, m->rows);
    if (m->packed)
        out->locator = LB_STR(LB_LOCATOR_PACKED);
    out->blocks = (lb_blocks){ .count = m->n_blocks,
                               .first_row = m->first_row,
                               .row_count = m->row_count,
                               .total_byte_size = m->bytes,
                               .compressed_size = m->packed_bytes,
                               .first_byte = m->no_bytes ? NULL : m->at,
                               .first_line = m->no_lines ? NULL : m->lines,
                               .page_indexed = &m->pages,
                               .packed = m->packed };
    return LB_OK;
}

static void write_map(lb_buf *out)
{
    const lb_map_header header = { .stride = 1 };
    const lb_entry_source source = { .count = ENTRIES, .get = model_get };
    lb_error err = LB_ERROR_INIT;

    lb_buf_init(out, NULL);
    sample_ok(lb_map_write(&header, &source, false, (uint64_t)1 << 18, sample_write, out, &err), &err);
}

static lb_map *load_map(lb_buf *bytes)
{
    lb_error err = LB_ERROR_INIT;
    lb_map *map = NULL;

    sample_ok(lb_map_load_bytes(bytes, "made", &map, &err), &err);
    return map;
}

static lb_map *make_map(void)
{
    lb_buf bytes;

    write_map(&bytes);
    return load_map(&bytes);
}

/* ---------------------------------------------------------------- asking */

static bool place_is_right(const model_entry *m, uint64_t row, const lb_place *p)
{
    uint64_t b = 0;

    if (p->entry != (uint64_t)(m - model) || p->global_row != m->first + row || p->file_row != row ||
        strcmp(p->path, m->path) != 0)
        return false;
    if (m->n_blocks == 0)
        return p->block == -1 && p->row_in_block == -1 && p->block_rows == -1 && p->block_bytes == -1;
    while (row - m->first_row[b] >= m->row_count[b])
        b++;
    const int64_t bytes = (int64_t)(m->packed ? m->packed_bytes : m->bytes)[b];
    return p->block == (int64_t)b && p->row_in_block == (int64_t)(row - m->first_row[b]) &&
           p->block_first_row == (int64_t)m->first_row[b] && p->block_rows == (int64_t)m->row_count[b] &&
           p->block_first_byte == (m->no_bytes ? -1 : (int64_t)m->at[b]) &&
           p->block_bytes == (m->no_bytes ? -1 : bytes) &&
           p->block_first_line == (m->no_lines ? -1 : (int64_t)m->lines[b]) &&
           p->page_indexed == ((m->pages >> b & 1) != 0);
}

static bool row_is_right(const lb_map *map, const model_entry *m, uint64_t row)
{
    lb_place place = { .struct_size = sizeof place }, by_path = { .struct_size = sizeof by_path };
    uint64_t index = 0;

    return lb_map_locate(map, m->first + row, &place, NULL) == LB_OK && place_is_right(m, row, &place) &&
           lb_map_locate_in(map, m->path, row, &by_path, NULL) == LB_OK && place_is_right(m, row, &by_path) &&
           lb_map_find_row(map, m->first + row, &index, NULL) == LB_OK && index == place.entry &&
           place.path == by_path.path;
}

/* Borders of the entry and of its blocks, and a row between. */
static bool entry_is_right(const lb_map *map, const model_entry *m)
{
    lb_place place = { .struct_size = sizeof place };
    bool right = lb_map_locate_in(map, m->path, m->rows, &place, NULL) == LB_USAGE;

    if (m->rows == 0)
        return right;
    right = right && row_is_right(map, m, 0) && row_is_right(map, m, m->rows - 1) && row_is_right(map, m, m->rows / 2);
    for (uint64_t b = 0; b < m->n_blocks && right; b++)
        right = m->row_count[b] == 0 ||
                (row_is_right(map, m, m->first_row[b]) && row_is_right(map, m, m->first_row[b] + m->row_count[b] - 1));
    return right;
}

static const unsigned kinds_of_maps[] = { SINGLE,
                                          SINGLE | EMPTY,
                                          SINGLE | LARGE,
                                          SINGLE | EMPTY | LARGE | NO_LINES,
                                          SINGLE | NO_BYTES,
                                          SINGLE | NO_BYTES | NO_LINES,
                                          SINGLE | PACKED,
                                          SINGLE | PACKED | SOME,
                                          SINGLE | PAGES | SOME,
                                          SINGLE | NO_BYTES | SOME,
                                          SINGLE | NO_LINES | SOME | LARGE,
                                          TURNS,
                                          MANY,
                                          MANY | EMPTY | LARGE | PAGES,
                                          MANY | SOME | EMPTY,
                                          MANY | PACKED | PAGES | NO_LINES | LARGE };

static void rows_are_found(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds_of_maps); k++) {
        const uint64_t rows = make_model(kinds_of_maps[k]);
        lb_map *map = make_map();
        lb_place place = { .struct_size = sizeof place };
        for (uint64_t i = 0; i < ENTRIES; i++)
            if (!entry_is_right(map, &model[i]))
                fail_msg("of kind %u, a row of entry %u is somewhere else", kinds_of_maps[k], (unsigned)i);
        assert_int_equal(lb_map_locate(map, rows, &place, NULL), LB_USAGE);
        lb_map_close(map);
    }
}

/* Of one entry fewer rows are said than lie before the next one. */
static void gaps_are_told(void **state)
{
    const uint64_t rows = 1000000007, said = 5, i = ENTRIES / 2;
    lb_place place = { .struct_size = sizeof place };
    lb_error err = LB_ERROR_INIT;
    lb_buf bytes;

    (void)state;
    (void)make_model(SINGLE);
    make_blocks(&model[i], 0);
    model[i].rows = rows;
    for (uint64_t k = i + 1; k < ENTRIES; k++)
        model[k].first = model[k - 1].first + model[k - 1].rows;
    write_map(&bytes);
    uint8_t *at = memmem(bytes.data, bytes.size, &rows, sizeof rows);
    assert_non_null(at);
    memcpy(at, &said, sizeof said);
    lb_map *map = load_map(&bytes);
    assert_int_equal(lb_map_locate(map, model[i].first + said - 1, &place, &err), LB_OK);
    assert_int_equal(place.entry, i);
    assert_int_equal(lb_map_locate(map, model[i].first + said, &place, &err), LB_CORRUPT);
    assert_non_null(strstr(err.message, "gap"));
    assert_true(entry_is_right(map, &model[i + 1]) && entry_is_right(map, &model[i - 1]));
    lb_map_close(map);
}

/* ---------------------------------------------------------------- by several threads */

static void *ask_some(void *arg)
{
    const lb_map *map = arg;

    for (uint64_t i = 0; i < ENTRIES; i++) {
        const model_entry *m = &model[i * 1009 % ENTRIES]; /* all of them, in the same disorder for each thread */
        lb_place place = { .struct_size = sizeof place };
        if (m->rows == 0)
            continue;
        if (lb_map_locate(map, m->first + m->rows - 1, &place, NULL) != LB_OK ||
            !place_is_right(m, m->rows - 1, &place))
            return arg;
    }
    return NULL;
}

static void threads_find_the_same(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds_of_maps); k += 4) {
        pthread_t threads[THREADS];
        (void)make_model(kinds_of_maps[k]);
        lb_map *map = make_map();
        for (size_t t = 0; t < THREADS; t++)
            assert_int_equal(pthread_create(&threads[t], NULL, ask_some, map), 0);
        for (size_t t = 0; t < THREADS; t++) {
            void *wrong = NULL;
            assert_int_equal(pthread_join(threads[t], &wrong), 0);
            assert_null(wrong);
        }
        lb_map_close(map);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found),
        cmocka_unit_test(gaps_are_told),
        cmocka_unit_test(threads_find_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
