/* A survey by several threads finds what one finds: types, statistics, blocks, lines, hashes, state and errors, for any size of
 * the parts that the file is cut into; and the tap gets the bytes of the file in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include <cmocka.h>

#include "format/checked_sums.h"
#include "format/delimited/delimited.h"
#include "format/delimited/delimited_handlers.h"
#include "io/unpacked.h"

#define FILES 1200
#define FILE_MOST 24000

static uint64_t random_state = 88172645463325252u;

static uint64_t random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % n;
}

/* ---------------------------------------------------------------- files */

/* How a file is written: what its columns hold, how often something odd stands in it. */
typedef struct style {
    unsigned width, kinds[6], quotes, breaks, odd;
    const char *line_end;
} style;

static style random_style(void)
{
    static const char *const ends[] = { "\n", "\r\n", "\r" };
    style s = { .width = 1 + (unsigned)random_below(6),
                .quotes = (unsigned)random_below(4),
                .breaks = 2 + (unsigned)random_below(30),
                .odd = random_below(3) == 0 ? 40 + (unsigned)random_below(400) : 0,
                .line_end = ends[random_below(3)] };

    for (unsigned i = 0; i < s.width; i++)
        s.kinds[i] = (unsigned)random_below(8);
    return s;
}

static size_t put(char *out, const char *text)
{
    size_t size = strlen(text);

    memcpy(out, text, size);
    return size;
}

static size_t put_text(const style *s, char *out)
{
    char *to = out;
    bool quoted = random_below(4) < s->quotes;

    if (quoted)
        *to++ = '"';
    for (uint64_t n = random_below(random_below(40) == 0 ? 300 : 14); n > 0; n--) {
        uint64_t what = random_below(40);
        if (quoted && what < 3)
            to += put(to, what == 0 ? "," : what == 1 ? "\"\"" : "a,\"\"b\n");
        else if (quoted && random_below(s->breaks) == 0)
            to += put(to, s->line_end);
        else
            to += put(to, what == 4 ? "\xC3\xA9" : what == 5 && !quoted && to != out ? "5\"" : what < 20 ? "xy" : " z");
    }
    if (quoted)
        *to++ = '"';
    return (size_t)(to - out);
}

static size_t put_value(const style *s, unsigned kind, char *out)
{
    char value[64];
    const unsigned a = (unsigned)random_below(100000), b = (unsigned)random_below(28);

    switch (random_below(60) == 0 ? 7 : kind) {
    case 0:
        (void)snprintf(value, sizeof value, "%d", (int)a - 50000);
        break;
    case 1:
        (void)snprintf(value, sizeof value, "%u.%02u", a, b);
        break;
    case 2:
        (void)snprintf(value, sizeof value, "2024-%02u-%02u", a % 12 + 1, b + 1);
        break;
    case 3:
        (void)snprintf(value, sizeof value, "2024-01-%02u %02u:00:0%u%s", b + 1, a % 24, a % 10,
                       a % 7 == 0 ? ".25" : "");
        break;
    case 4:
        (void)snprintf(value, sizeof value, "%s", a % 2 == 0 ? "true" : "False");
        break;
    case 5:
        (void)snprintf(value, sizeof value, "%s", a % 3 == 0 ? "" : a % 3 == 1 ? "\"\"" : "nan");
        break;
    default:
        return put_text(s, out);
    }
    return put(out, value);
}

static size_t random_file(char *out)
{
    const style s = random_style();
    size_t size = 0, want = random_below(FILE_MOST - 3000);

    while (size < want) {
        unsigned width = s.width;
        if (s.odd != 0 && random_below(s.odd) == 0) {
            static const char *const oddities[] = { "\"", "\xFF", ",", "\r", "\n\n", "\"\"\"", "\"a\"b\"" };
            size += put(out + size, oddities[random_below(7)]);
            width += (unsigned)random_below(2);
        }
        for (unsigned i = 0; i < width; i++) {
            if (i != 0)
                out[size++] = ',';
            size += put_value(&s, s.kinds[i % s.width], out + size);
        }
        if (random_below(60) == 0)
            size += put(out + size, s.line_end);
        size += put(out + size, s.line_end);
    }
    return random_below(3) == 0 && size != 0 ? size - 1 : size;
}

/* ---------------------------------------------------------------- surveys */

typedef struct surveyed {
    lb_arena arena;
    lb_entry entry;
    lb_status status;
    lb_error err;
    lb_buf tapped;
    size_t large; /* pieces of more than 500,000 bytes: parts give theirs at once */
} surveyed;

static void tap(void *user, const uint8_t *bytes, size_t size)
{
    surveyed *s = user;
    s->large += size > 500000;
    assert_int_equal(lb_buf_append(&s->tapped, bytes, size, NULL), LB_OK);
}

static uint64_t summed; /* bytes that came with sums */

static void give(void *user, const uint8_t *bytes, size_t size, const uint8_t *sums)
{
    const surveyed *s = user;

    assert_int_equal(s->tapped.size % CHECKED_RANGE, 0);
    assert_true(checked_right(bytes, size, sums));
    summed += size;
    tap(user, bytes, size);
}

static void survey_in(lb_context *cx, lb_store *store, const lb_read_options *o, lb_survey_options how, surveyed *out)
{
    const lb_sums sums = checked_sums(give);
    lb_reader *reader;

    *out = (surveyed){ .err = LB_ERROR_INIT };
    lb_arena_init(&out->arena, NULL);
    lb_buf_init(&out->tapped, NULL);
    how.tap = tap;
    how.tap_user = out;
    how.sums = random_below(2) == 0 ? &sums : NULL;
    assert_int_equal(lb_format_csv.open(&lb_format_csv, cx, store, o, NULL, &reader, &out->err), LB_OK);
    out->status = lb_format_csv.survey(reader, &how, &out->arena, &out->entry, &out->err);
    lb_format_csv.close(reader);
    assert_int_equal(cx->helping, 0);
}

static void survey(lb_store *store, unsigned threads, const lb_read_options *o, lb_survey_options how, surveyed *out)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = threads };
    lb_context *cx;

    assert_int_equal(lb_context_new(&options, &cx, NULL), LB_OK);
    survey_in(cx, store, o, how, out);
    assert_int_equal(cx->budget.used, 0);
    lb_context_free(cx);
}

/* The same text, compressed in one piece that can be read from its beginning only; how much of that was read. */
static uint64_t survey_packed(const char *text, size_t size, unsigned threads, const lb_read_options *o,
                              lb_survey_options how, surveyed *out, size_t *packed_size)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = threads };
    void *bytes = malloc(ZSTD_compressBound(size));
    lb_store *packed, *store;
    lb_context *cx;

    assert_non_null(bytes);
    *packed_size = ZSTD_compress(bytes, ZSTD_compressBound(size), text, size, 1);
    assert_false(ZSTD_isError(*packed_size));
    assert_int_equal(lb_context_new(&options, &cx, NULL), LB_OK);
    assert_int_equal(lb_store_open_memory(bytes, *packed_size, &packed, NULL), LB_OK);
    assert_int_equal(lb_store_open_unpacked(cx, packed, &lb_container_zstd, &store, NULL), LB_OK);
    survey_in(cx, store, o, how, out);
    const uint64_t read = packed->bytes_read;
    lb_store_close(store);
    lb_store_close(packed);
    assert_int_equal(cx->budget.used, 0);
    lb_context_free(cx);
    free(bytes);
    return read;
}

static void survey_free(surveyed *s)
{
    lb_arena_free(&s->arena);
    lb_buf_free(&s->tapped);
}

static void same_str(lb_str a, lb_str b)
{
    assert_int_equal(a.size, b.size);
    if (a.size != 0)
        assert_memory_equal(a.at, b.at, a.size);
}

static void same_doubles(double a, double b)
{
    assert_memory_equal(&a, &b, sizeof a);
}

static void same_stats(const lb_colstats *a, const lb_colstats *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const lb_colstat *x = &a->items[i], *y = &b->items[i];
        same_str(x->name, y->name);
        same_str(x->type, y->type);
        assert_int_equal(x->null_count, y->null_count);
        assert_int_equal(x->nan_count, y->nan_count);
        assert_int_equal(x->has, y->has);
        assert_true(x->min_i == y->min_i && x->max_i == y->max_i && x->min_u == y->min_u && x->max_u == y->max_u);
        same_doubles(x->min_f, y->min_f);
        same_doubles(x->max_f, y->max_f);
        same_str(x->min_b, y->min_b);
        same_str(x->max_b, y->max_b);
    }
}

static void same_blocks(const lb_blocks *x, const lb_blocks *y)
{
    assert_int_equal(x->count, y->count);
    for (uint64_t i = 0; i < x->count; i++) {
        assert_int_equal(x->first_row[i], y->first_row[i]);
        assert_int_equal(x->row_count[i], y->row_count[i]);
        assert_int_equal(x->first_byte[i], y->first_byte[i]);
        assert_int_equal(x->total_byte_size[i], y->total_byte_size[i]);
        assert_int_equal(x->first_line[i], y->first_line[i]);
        assert_int_equal(x->start_hash[i], y->start_hash[i]);
    }
}

static void same_survey(const surveyed *a, const surveyed *b)
{
    assert_int_equal(a->status, b->status);
    assert_string_equal(a->err.message, b->err.message);
    assert_int_equal(a->err.offset, b->err.offset);
    assert_int_equal(a->err.row, b->err.row);
    assert_int_equal(a->err.line, b->err.line);
    if (a->status != LB_OK)
        return;
    assert_int_equal(a->entry.total_rows, b->entry.total_rows);
    same_str(a->entry.arrow_schema, b->entry.arrow_schema);
    same_str(a->entry.open_state, b->entry.open_state);
    same_blocks(&a->entry.blocks, &b->entry.blocks);
    same_stats(&a->entry.columns, &b->entry.columns);
    same_stats(&a->entry.block_columns, &b->entry.block_columns);
    for (uint64_t i = 0; i < a->entry.block_columns.count; i++) {
        assert_int_equal(a->entry.block_of_column[i], b->entry.block_of_column[i]);
        assert_int_equal(a->entry.column_of_column[i], b->entry.column_of_column[i]);
    }
    assert_int_equal(a->tapped.size, b->tapped.size);
    assert_memory_equal(a->tapped.data, b->tapped.data, a->tapped.size);
}

static void check_file(const char *text, size_t size)
{
    static const size_t parts[] = { 64, 100, 257, 1024, 4096 };
    static const unsigned threads[] = { 2, 7 };
    static const size_t chunks[] = { 0, 64, 1000 };
    const uint64_t strides[] = { 1, 7, 100, 5000 };
    const lb_stats_policy stats[] = { LB_STATS_OFF, LB_STATS_ALL, LB_STATS_ALL, LB_STATS_BLOCKS };
    lb_survey_options how = { .stride = strides[random_below(4)],
                              .chunk = chunks[random_below(3)],
                              .keep_state = random_below(2) == 0,
                              .stats = stats[random_below(4)] };
    lb_read_options *o = NULL;
    lb_store *store;
    surveyed one, many;

    assert_int_equal(lb_read_options_new(&o, NULL), LB_OK);
    if (random_below(3) == 0)
        assert_int_equal(lb_read_options_set(o, "ragged", "null", NULL), LB_OK);
    if (random_below(3) == 0)
        assert_int_equal(lb_read_options_set(o, "types", "text", NULL), LB_OK);
    if (random_below(3) == 0)
        assert_int_equal(lb_read_options_set(o, "no-header", NULL, NULL), LB_OK);
    assert_int_equal(lb_store_open_memory(text, size, &store, NULL), LB_OK);
    survey(store, 1, o, how, &one);
    if (one.status == LB_OK) {
        assert_int_equal(one.tapped.size, size);
        assert_memory_equal(one.tapped.data, text, size);
    }
    for (size_t i = 0; i < LB_COUNT_OF(parts); i++) {
        how.part = parts[i];
        survey(store, threads[(i + random_below(2)) % 2], o, how, &many);
        same_survey(&one, &many);
        survey_free(&many);
    }
    size_t packed;
    (void)survey_packed(text, size, threads[random_below(2)], o, how, &many, &packed);
    same_survey(&one, &many);
    survey_free(&many);
    survey_free(&one);
    lb_store_close(store);
    lb_read_options_free(o);
}

static void threads_random_files(void **state)
{
    static char text[FILE_MOST];

    (void)state;
    for (int i = 0; i < FILES; i++)
        check_file(text, random_file(text));
    assert_true(summed > 100000);
}

/* Texts that lead the first guess astray: records are longer than parts, lines in quotes look like records. */
static void threads_hard_files(void **state)
{
    static char text[FILE_MOST];
    size_t size = 0;

    (void)state;
    size += put(text, "a,b\n");
    for (int i = 0; i < 60; i++) {
        size += put(text + size, "\"");
        for (int k = 0; k < 12; k++)
            size += put(text + size, k % 3 == 0 ? "7,8\n" : "x\"\",\"\"y\n");
        size += put(text + size, "\",1\n");
    }
    for (int i = 0; i < 40; i++)
        check_file(text, size);
    memset(text + size, '\n', 5000);
    for (int i = 0; i < 20; i++)
        check_file(text, size + 5000);
    size = put(text, "a\r\n\"");
    memset(text + size, 'q', 9000);
    size += 9000;
    size += put(text + size, "\"\r\n1\r\n\r\n2");
    for (int i = 0; i < 20; i++)
        check_file(text, size);
    memset(text, '\r', 6000);
    for (int i = 0; i < 20; i++)
        check_file(text, 6000);
}

static void check_part(const char *text, size_t size, const lb_read_options *o, lb_survey_options how, surveyed *one)
{
    lb_store *store;
    surveyed many;

    assert_int_equal(lb_store_open_memory(text, size, &store, NULL), LB_OK);
    survey(store, 1, o, how, one);
    survey(store, 3, o, how, &many);
    same_survey(one, &many);
    survey_free(&many);
    lb_store_close(store);
}

/* A part ends behind the first bytes of a record, before which a window with such a delimiter is not decided. */
static void threads_long_delimiter(void **state)
{
    static char text[FILE_MOST];
    lb_survey_options how = { .stride = 7, .stats = LB_STATS_OFF, .chunk = 64 };
    lb_read_options *o = NULL;
    size_t size = put(text, "a|||b\n");
    surveyed one;

    (void)state;
    for (int i = 0; i < 400; i++)
        size += put(text + size, i % 3 == 0 ? "1|||2\n" : i % 5 == 0 ? "\n\nx|||\n" : "12345|||67890\n");
    assert_int_equal(lb_read_options_new(&o, NULL), LB_OK);
    assert_int_equal(lb_read_options_set(o, "delimiter", "|||", NULL), LB_OK);
    for (how.part = 40; how.part < 120; how.part++)
        for (int k = 0; k < 2; k++) {
            assert_int_equal(lb_read_options_set(o, "types", k == 0 ? "text" : "auto", NULL), LB_OK);
            check_part(text, size, o, how, &one);
            assert_int_equal(one.entry.total_rows, 400);
            survey_free(&one);
        }
    /* Records so short that several end where the window is not decided. */
    size = put(text, "a\n");
    for (int i = 0; i < 500; i++)
        size += put(text + size, i % 7 == 0 ? "\n1\n" : "2\n");
    for (how.part = 40; how.part < 50; how.part++) {
        check_part(text, size, o, how, &one);
        assert_int_equal(one.entry.total_rows, 500);
        survey_free(&one);
    }
    lb_read_options_free(o);
}

/* The last part that is read so ends within the CR LF of a blank line, behind as many records as are passed at a time. */
static void threads_line_end_cut(void **state)
{
    static char text[FILE_MOST];
    const lb_survey_options how = { .stride = 100, .stats = LB_STATS_ALL, .chunk = 64, .part = 3 * 1024 + 1 };
    size_t size = put(text, "a\r\n");
    lb_read_options *o = NULL;
    surveyed one;

    (void)state;
    for (int i = 0; i < 1024; i++)
        size += put(text + size, "1\r\n");
    size += put(text + size, "\r\n1\r\n1,2\r\n");
    for (int i = 0; i < 1500; i++)
        size += put(text + size, "1\r\n");
    assert_int_equal(lb_read_options_new(&o, NULL), LB_OK);
    check_part(text, size, o, how, &one);
    assert_int_equal(one.status, LB_CORRUPT);
    assert_int_equal(one.err.row, 1025);
    assert_int_equal(one.err.line, 1028);
    survey_free(&one);
    lb_read_options_free(o);
}

/* Records that are longer than what is looked at first: parts are made of them all the same. */
static void threads_long_records(void **state)
{
    const size_t most = (size_t)4 << 20, part = (size_t)1 << 20;
    char *text = malloc(most);
    size_t size;
    lb_survey_options how = { .stride = 3, .stats = LB_STATS_BLOCKS, .chunk = 4096 };
    lb_read_options *o = NULL;
    lb_store *store;
    surveyed one, many;

    (void)state;
    assert_non_null(text);
    assert_int_equal(lb_read_options_new(&o, NULL), LB_OK);
    for (int quoted = 0; quoted < 2; quoted++) {
        size = put(text, "a,b\n");
        while (most - size > (size_t)400000) {
            size += put(text + size, quoted ? "\"" : "");
            for (size_t left = 70000 + random_below(250000); left != 0; left--)
                text[size++] = quoted && left % 90 == 0 ? '\n' : (char)('a' + left % 26);
            size += put(text + size, quoted ? "\",1\n" : ",1\n");
        }
        assert_int_equal(lb_store_open_memory(text, size, &store, NULL), LB_OK);
        how.part = 0;
        survey(store, 1, o, how, &one);
        how.part = part;
        survey(store, 2, o, how, &many);
        same_survey(&one, &many);
        assert_true(one.large == 0 && many.large >= 2);
        survey_free(&one);
        survey_free(&many);
        lb_store_close(store);
    }
    lb_read_options_free(o);
    free(text);
}

/* Many short rows, whose types and bounds change on the way. */
static size_t many_rows(char *out, size_t rows)
{
    size_t size = put(out, "id,what,when,\n");

    for (size_t i = 0; i < rows; i++) {
        char row[128];
        const unsigned a = (unsigned)random_below(i % 5000 < 4900 ? 50 : 100000);
        (void)snprintf(row, sizeof row, "%u%s,%s%u,2024-0%u-11%s,%s\n", a, a % 17 == 3 ? ".5" : "",
                       i > rows / 2 && a == 7 ? "x" : "", (unsigned)i, 1 + a % 9,
                       i > rows / 3 && a == 5 ? " 10:00:00" : "",
                       a % 13 == 0   ? "\"a\nb\""
                       : a % 11 == 0 ? "\n"
                                     : "");
        size += put(out + size, row);
    }
    return size;
}

/* The state is that of the last block where one is due: most lie inside a part, and the columns that it is of begin before it. */
static void threads_states(void **state)
{
    static const size_t rows[] = { 4095, 4096, 4097, 9000, 20001, 24576, 30000 },
                        parts[] = { 3000, 20000, 65536, 100001 };
    static const uint64_t strides[] = { 64, 1000, 4096, 5000, 7777 };
    char *text = malloc((size_t)2 << 20);
    lb_read_options *plain = NULL, *declared = NULL;
    lb_store *store;
    surveyed one, many;

    (void)state;
    assert_non_null(text);
    assert_int_equal(lb_read_options_new(&plain, NULL), LB_OK);
    assert_int_equal(lb_read_options_new(&declared, NULL), LB_OK);
    assert_int_equal(lb_read_options_set(declared, "column", "id=float64", NULL), LB_OK);
    for (size_t i = 0; i < LB_COUNT_OF(rows) * LB_COUNT_OF(strides); i++) {
        const size_t n = rows[i % LB_COUNT_OF(rows)], size = many_rows(text, n);
        lb_survey_options how = { .stride = strides[i % LB_COUNT_OF(strides)],
                                  .keep_state = true,
                                  .stats = LB_STATS_ALL };
        const lb_read_options *o = i % 7 == 3 ? declared : plain;
        assert_int_equal(lb_store_open_memory(text, size, &store, NULL), LB_OK);
        survey(store, 1, o, how, &one);
        assert_int_equal(one.status, LB_OK);
        assert_int_equal(one.entry.total_rows, n);
        assert_true((one.entry.open_state.size != 0) == (o == plain));
        for (size_t k = 0; k < LB_COUNT_OF(parts); k++) {
            how.part = parts[k];
            survey(store, k % 2 == 0 ? 2 : 7, o, how, &many);
            same_survey(&one, &many);
            survey_free(&many);
        }
        survey_free(&one);
        lb_store_close(store);
    }
    lb_read_options_free(plain);
    lb_read_options_free(declared);
    free(text);
}

/* What can only be decompressed from its beginning is so once, by whatever threads and though some of it was read in vain: where text
 * ends, where a record is longer than what is read behind a part, and where something odd stands. */
static void threads_packed(void **state)
{
    const size_t most = (size_t)8 << 20;
    char *text = malloc(most);
    lb_read_options *o = NULL;

    (void)state;
    assert_non_null(text);
    assert_int_equal(lb_read_options_new(&o, NULL), LB_OK);
    assert_int_equal(lb_read_options_set(o, "ragged", "null", NULL), LB_OK);
    for (unsigned kind = 0; kind < 12; kind++) {
        const size_t parts[] = { 0, 65536, 300000 };
        lb_survey_options how = { .stride = 1000, .stats = LB_STATS_ALL, .chunk = 65536, .part = parts[kind % 3] };
        size_t size = many_rows(text, 90000), packed;
        lb_store *store;
        surveyed one, many;
        if (kind / 3 == 1)
            memset(text + size / 3, 'y', 200000);
        if (kind / 3 == 2)
            text[size - 1500000] = '\xFF';
        if (kind / 3 == 3)
            for (size_t i = 1; i < 6; i++)
                memset(text + i * (size / 7), '\r', 150000);
        assert_int_equal(lb_store_open_memory(text, size, &store, NULL), LB_OK);
        survey(store, 1, o, how, &one);
        assert_int_equal(one.status, kind / 3 == 2 ? LB_CORRUPT : LB_OK);
        for (unsigned threads = 1; threads <= 7; threads += 3) {
            const uint64_t read = survey_packed(text, size, threads, o, how, &many, &packed);
            same_survey(&one, &many);
            assert_true(read <= packed + 65536);
            assert_true(kind != 0 || (threads == 1) == (many.large == 0));
            survey_free(&many);
        }
        survey_free(&one);
        lb_store_close(store);
    }
    lb_read_options_free(o);
    free(text);
}

static uint64_t most_used;

static void watch_memory(void *user, const uint8_t *bytes, size_t size)
{
    lb_context *cx = user;

    (void)bytes;
    (void)size;
    most_used = LB_MAX(most_used, cx->budget.used);
}

/* Parts leave memory to those who read other files. */
static void threads_leave_memory(void **state)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 7, .memory_limit = 160000 };
    static char text[FILE_MOST * 8];
    lb_survey_options how = { .stride = 1000, .chunk = 64, .tap = watch_memory };
    lb_context *cx;
    lb_reader *reader;
    lb_store *store;
    size_t size = put(text, "a,b\n");

    (void)state;
    while (size < sizeof text - 100)
        size += put(text + size, "12345,67890\n");
    assert_int_equal(lb_context_new(&options, &cx, NULL), LB_OK);
    assert_int_equal(lb_store_open_memory(text, size, &store, NULL), LB_OK);
    how.tap_user = cx;
    for (how.part = 1024; how.part < 2 * FILE_MOST; how.part *= 2) {
        lb_entry entry = { 0 };
        lb_arena arena;
        lb_arena_init(&arena, NULL);
        assert_int_equal(lb_format_csv.open(&lb_format_csv, cx, store, NULL, NULL, &reader, NULL), LB_OK);
        assert_int_equal(lb_format_csv.survey(reader, &how, &arena, &entry, NULL), LB_OK);
        assert_int_equal(entry.total_rows, (size - 4) / 12);
        lb_format_csv.close(reader);
        lb_arena_free(&arena);
    }
    assert_true(most_used < options.memory_limit / 2);
    lb_store_close(store);
    lb_context_free(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_long_delimiter), cmocka_unit_test(threads_line_end_cut),
        cmocka_unit_test(threads_leave_memory),   cmocka_unit_test(threads_random_files),
        cmocka_unit_test(threads_hard_files),     cmocka_unit_test(threads_long_records),
        cmocka_unit_test(threads_states),         cmocka_unit_test(threads_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
