/* What a slice of an uncompressed Arrow file reads, and that it hands out the very bytes that were read: a store writes down
 * where each read went, and every buffer of the result must lie in one of those places. Of a mapped file every buffer must
 * lie in the mapping, nothing is counted against the memory limit, and the mapping lives as long as a batch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "column/ipc.h"
#include "column/stream.h"
#include "format/arrow/arrow_handlers.h"

#define ROWS 200000
#define READS 4096

/* ---------------------------------------------------------------- a store that writes down */

typedef struct noting_store {
    lb_store store;
    const lb_buf *bytes;
    size_t n;
    struct {
        const uint8_t *to;
        size_t size;
    } reads[READS];
} noting_store;

static lb_status noting_read(lb_store *store, uint64_t offset, void *out, size_t size, size_t *got, lb_error *err)
{
    noting_store *s = (noting_store *)store;

    (void)err;
    *got = offset >= s->bytes->size ? 0 : LB_MIN(size, s->bytes->size - (size_t)offset);
    if (*got != 0)
        memcpy(out, s->bytes->data + offset, *got);
    assert_true(s->n < READS);
    s->reads[s->n].to = out;
    s->reads[s->n++].size = *got;
    store->bytes_read += *got;
    return LB_OK;
}

static lb_status noting_stat(lb_store *store, lb_file_stat *out, lb_error *err)
{
    (void)err;
    *out = (lb_file_stat){ .size = store->size };
    return LB_OK;
}

static bool noting_has(const noting_store *s, const void *at, size_t size)
{
    const uint8_t *p = at;

    for (size_t i = 0; i < s->n; i++)
        if (p >= s->reads[i].to && size <= s->reads[i].size && p <= s->reads[i].to + s->reads[i].size - size)
            return true;
    return false;
}

/* ---------------------------------------------------------------- a file of one batch */

static bool put(void *user, const void *bytes, size_t size)
{
    return lb_buf_append(user, bytes, size, NULL) == LB_OK;
}

static void fill(struct ArrowArray *batch, const struct ArrowSchema *schema)
{
    char text[16];

    assert_int_equal(ArrowArrayInitFromSchema(batch, schema, NULL), 0);
    assert_int_equal(ArrowArrayStartAppending(batch), 0);
    for (int64_t i = 0; i < ROWS; i++) {
        assert_int_equal(ArrowArrayAppendInt(batch->children[0], i), 0);
        assert_int_equal(i % 3 == 0 ? ArrowArrayAppendNull(batch->children[1], 1)
                                    : ArrowArrayAppendDouble(batch->children[1], (double)i / 2),
                         0);
        (void)snprintf(text, sizeof text, "row %lld", (long long)i);
        assert_int_equal(ArrowArrayAppendString(batch->children[2], ArrowCharView(text)), 0);
        assert_int_equal(ArrowArrayAppendInt(batch->children[3], i % 5 == 0), 0);
        assert_int_equal(ArrowArrayFinishElement(batch), 0);
    }
    assert_int_equal(ArrowArrayFinishBuildingDefault(batch, NULL), 0);
}

static void write_file(lb_buf *out)
{
    static const char *const words[] = { "int64", "float64", "string", "bool" };
    struct ArrowSchema schema;
    struct ArrowArray batch;
    lb_ipc_writer *w;

    assert_int_equal(lb_schema_struct(&schema, 4, NULL), LB_OK);
    for (int i = 0; i < 4; i++) {
        schema.children[i]->release(schema.children[i]);
        assert_int_equal(lb_type_of_words(words[i], schema.children[i], NULL), LB_OK);
        assert_int_equal(lb_schema_set_name(schema.children[i], lb_str_of(words[i]), NULL), LB_OK);
        schema.children[i]->flags |= ARROW_FLAG_NULLABLE;
    }
    fill(&batch, &schema);
    assert_int_equal(lb_ipc_writer_open(&schema, true, put, out, &w, NULL), LB_OK);
    assert_int_equal(lb_ipc_writer_batch(w, &batch, NULL), LB_OK);
    assert_int_equal(lb_ipc_writer_finish(w, NULL), LB_OK);
    lb_ipc_writer_free(w);
    batch.release(&batch);
    schema.release(&schema);
}

/* ---------------------------------------------------------------- the tests */

typedef struct opened {
    lb_buf bytes;
    noting_store *store;
    lb_context *cx;
    lb_arena arena;
    lb_entry entry;
    lb_reader *reader;
} opened;

static int open_all(void **state)
{
    const lb_survey_options options = { .stride = 1, .stats = LB_STATS_OFF, .keep_state = true };
    opened *o = calloc(1, sizeof *o);
    lb_reader *first;

    lb_buf_init(&o->bytes, NULL);
    write_file(&o->bytes);
    o->store = calloc(1, sizeof *o->store);
    o->store->store = (lb_store){ .read_at = noting_read, .stat = noting_stat, .path = "", .size = o->bytes.size };
    o->store->bytes = &o->bytes;
    assert_int_equal(lb_context_new(NULL, &o->cx, NULL), LB_OK);
    lb_arena_init(&o->arena, NULL);
    const lb_format *f = &lb_format_arrow;
    assert_int_equal(f->open(f, o->cx, &o->store->store, NULL, NULL, &first, NULL), LB_OK);
    assert_int_equal(f->survey(first, &options, &o->arena, &o->entry, NULL), LB_OK);
    f->close(first);
    o->store->n = 0;
    o->store->store.bytes_read = 0;
    assert_int_equal(f->open(f, o->cx, &o->store->store, NULL, &o->entry, &o->reader, NULL), LB_OK);
    assert_int_equal(o->store->n, 0); /* the entry has all that opening needs */
    *state = o;
    return 0;
}

static int close_all(void **state)
{
    opened *o = *state;

    lb_format_arrow.close(o->reader);
    lb_arena_free(&o->arena);
    lb_context_free(o->cx);
    free(o->store);
    lb_buf_free(&o->bytes);
    free(o);
    return 0;
}

static void check_values(const struct ArrowArray *batch, int64_t first)
{
    struct ArrowArrayView v;
    struct ArrowSchema type;
    char text[16];

    assert_int_equal(lb_type_of_words("string", &type, NULL), LB_OK);
    assert_int_equal(ArrowArrayViewInitFromSchema(&v, &type, NULL), 0);
    assert_int_equal(ArrowArrayViewSetArray(&v, batch->children[2], NULL), 0);
    for (int64_t i = 0; i < batch->length; i++) {
        int64_t row = first + i;
        const struct ArrowArray *f = batch->children[1];
        assert_int_equal(((const int64_t *)batch->children[0]->buffers[1])[i], row);
        assert_int_equal(f->buffers[0] == NULL || ArrowBitGet(f->buffers[0], i), row % 3 != 0);
        if (row % 3 != 0)
            assert_true(((const double *)f->buffers[1])[i] == (double)row / 2);
        int n = snprintf(text, sizeof text, "row %lld", (long long)row);
        struct ArrowStringView s = ArrowArrayViewGetStringUnsafe(&v, i);
        assert_int_equal(s.size_bytes, n);
        assert_memory_equal(s.data, text, (size_t)n);
        assert_int_equal(ArrowBitGet(batch->children[3]->buffers[1], i), row % 5 == 0);
    }
    ArrowArrayViewReset(&v);
    type.release(&type);
}

static void check_buffers(const noting_store *s, const struct ArrowArray *batch)
{
    size_t rows = (size_t)batch->length;
    const int32_t *offsets = batch->children[2]->buffers[1];

    assert_true(noting_has(s, batch->children[0]->buffers[1], 8 * rows));
    assert_true(batch->children[0]->buffers[0] == NULL);
    assert_true(noting_has(s, batch->children[1]->buffers[0], (rows + 7) / 8));
    assert_true(noting_has(s, batch->children[1]->buffers[1], 8 * rows));
    assert_true(noting_has(s, offsets, 4 * (rows + 1)));
    assert_int_equal(offsets[0], 0);
    assert_true(noting_has(s, batch->children[2]->buffers[2], (size_t)offsets[rows]));
    assert_true(noting_has(s, batch->children[3]->buffers[1], (rows + 7) / 8));
}

static void nothing_is_copied(void **state)
{
    opened *o = *state;
    static const uint64_t firsts[] = { 0, 8, 1003, 65536, 150001, ROWS - 100 };
    const lb_wanted columns[] = { { 0, NULL }, { 1, NULL }, { 2, NULL }, { 3, NULL } };

    for (size_t i = 0; i < LB_COUNT_OF(firsts); i++) {
        const lb_range range = { .first = firsts[i], .count = 100, .n_columns = 4, .columns = columns };
        struct ArrowArrayStream stream;
        struct ArrowArray batch;
        o->store->n = 0;
        o->store->store.bytes_read = 0;
        assert_int_equal(lb_format_arrow.scan(o->reader, &range, &stream, NULL), LB_OK);
        assert_int_equal(lb_stream_next(&stream, &batch, NULL), LB_OK);
        assert_int_equal(batch.length, 100);
        check_buffers(o->store, &batch);
        check_values(&batch, (int64_t)firsts[i]);
        /* The head of the message, and 100 rows of at most 36 bytes with their bits. */
        uint64_t head = o->entry.blocks.total_byte_size[0] - o->entry.blocks.compressed_size[0];
        assert_true(o->store->store.bytes_read <= head + 100 * 36 + 64);
        stream.release(&stream);
        batch.release(&batch);
    }
}

static void all_rows_are_read_once(void **state)
{
    opened *o = *state;
    const lb_wanted columns[] = { { 0, NULL }, { 1, NULL }, { 2, NULL }, { 3, NULL } };
    const lb_range range = { .first = 0, .count = ROWS, .n_columns = 4, .columns = columns };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    int64_t rows = 0;

    o->store->store.bytes_read = 0;
    assert_int_equal(lb_format_arrow.scan(o->reader, &range, &stream, NULL), LB_OK);
    for (;;) {
        o->store->n = 0;
        assert_int_equal(lb_stream_next(&stream, &batch, NULL), LB_OK);
        if (batch.release == NULL)
            break;
        check_buffers(o->store, &batch);
        check_values(&batch, rows);
        rows += batch.length;
        batch.release(&batch);
    }
    assert_int_equal(rows, ROWS);
    assert_true(o->store->store.bytes_read <= o->bytes.size);
    stream.release(&stream);
}

static void other_columns_are_not_read(void **state)
{
    opened *o = *state;
    const lb_wanted columns[] = { { 3, NULL }, { 0, NULL } };
    const lb_range range = { .first = 0, .count = ROWS, .n_columns = 2, .columns = columns };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;

    o->store->store.bytes_read = 0;
    assert_int_equal(lb_format_arrow.scan(o->reader, &range, &stream, NULL), LB_OK);
    for (;;) {
        o->store->n = 0;
        assert_int_equal(lb_stream_next(&stream, &batch, NULL), LB_OK);
        if (batch.release == NULL)
            break;
        batch.release(&batch);
    }
    stream.release(&stream);
    uint64_t head = o->entry.blocks.total_byte_size[0] - o->entry.blocks.compressed_size[0];
    assert_true(o->store->store.bytes_read <= head + ROWS * 8 + ROWS / 8 + 64);
}

/* ---------------------------------------------------------------- mapped */

typedef struct mapped {
    char path[64];
    lb_context *cx;
    lb_arena arena;
    lb_entry entry;
    lb_store *store;
    lb_reader *reader;
} mapped;

/* The same rows on the disk, as a file or a stream. */
static mapped *map_file(bool as_stream)
{
    const lb_survey_options options = { .stride = 1, .stats = LB_STATS_OFF, .keep_state = true };
    const lb_format *f = as_stream ? &lb_format_arrow_stream : &lb_format_arrow;
    mapped *m = calloc(1, sizeof *m);
    lb_reader *first;
    lb_buf bytes;

    lb_buf_init(&bytes, NULL);
    write_file(&bytes);
    (void)snprintf(m->path, sizeof m->path, "test_arrow_copies.%d", (int)getpid());
    FILE *out = fopen(m->path, "wb");
    assert_non_null(out);
    /* A stream is what stands between the first eight bytes of a file and its end. */
    const size_t skip = as_stream ? 8 : 0;
    assert_int_equal(fwrite(bytes.data + skip, 1, bytes.size - skip, out), bytes.size - skip);
    assert_int_equal(fclose(out), 0);
    lb_buf_free(&bytes);
    assert_int_equal(lb_context_new(NULL, &m->cx, NULL), LB_OK);
    lb_arena_init(&m->arena, NULL);
    assert_int_equal(lb_store_open_file(m->path, &m->store, NULL), LB_OK);
    lb_store_map(m->store);
    assert_non_null(m->store->mapping);
    assert_int_equal(f->open(f, m->cx, m->store, NULL, NULL, &first, NULL), LB_OK);
    assert_int_equal(f->survey(first, &options, &m->arena, &m->entry, NULL), LB_OK);
    f->close(first);
    assert_int_equal(f->open(f, m->cx, m->store, NULL, &m->entry, &m->reader, NULL), LB_OK);
    return m;
}

static void unmap_file(mapped *m)
{
    lb_arena_free(&m->arena);
    lb_context_free(m->cx);
    assert_int_equal(remove(m->path), 0);
    free(m);
}

static bool is_mapped(const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    bool found = false;

    assert_non_null(maps);
    while (!found && fgets(line, sizeof line, maps) != NULL)
        found = strstr(line, name) != NULL;
    (void)fclose(maps);
    return found;
}

/* Every buffer of a column lies in the mapping, up to what its rows need. */
static void check_lent(const lb_mapping *m, const struct ArrowArray *a, size_t bits)
{
    const uint8_t *end = m->at + m->size;
    const size_t rows = (size_t)(a->offset + a->length);

    assert_true(a->offset < 8);
    for (int64_t i = 0; i < a->n_buffers; i++) {
        const uint8_t *p = a->buffers[i];
        size_t size = i == 0 ? (rows + 7) / 8 : i == 1 ? (rows * bits + 7) / 8 : 1;
        if (i == 0 && p == NULL)
            continue;
        assert_true(p >= m->at && p < end && size <= (size_t)(end - p));
    }
}

static void check_lent_values(const struct ArrowArray *batch, int64_t first)
{
    const struct ArrowArray *number = batch->children[0], *real = batch->children[1], *text = batch->children[2],
                            *flag = batch->children[3];
    char want[16];

    for (int64_t i = 0; i < batch->length; i++) {
        int64_t row = first + i, at = text->offset + i;
        const int32_t *offsets = text->buffers[1];
        assert_int_equal(((const int64_t *)number->buffers[1])[number->offset + i], row);
        assert_int_equal(real->buffers[0] == NULL || ArrowBitGet(real->buffers[0], real->offset + i), row % 3 != 0);
        if (row % 3 != 0)
            assert_true(((const double *)real->buffers[1])[real->offset + i] == (double)row / 2);
        int n = snprintf(want, sizeof want, "row %lld", (long long)row);
        assert_int_equal(offsets[at + 1] - offsets[at], n);
        assert_memory_equal((const char *)text->buffers[2] + offsets[at], want, (size_t)n);
        assert_int_equal(ArrowBitGet(flag->buffers[1], flag->offset + i), row % 5 == 0);
    }
}

static void a_mapped_file_is_handed_out_as_it_lies(void **state)
{
    static const struct {
        uint64_t first, count;
    } ranges[] = { { 0, ROWS }, { 8, 100 }, { 1003, 100 }, { 65541, 3 }, { 150001, 40000 }, { ROWS - 100, 100 } };
    static const size_t bits[] = { 64, 64, 32, 1 };
    const lb_wanted columns[] = { { 0, NULL }, { 1, NULL }, { 2, NULL }, { 3, NULL } };
    (void)state;

    for (int as_stream = 0; as_stream < 2; as_stream++) {
        mapped *m = map_file(as_stream != 0);
        const size_t used = m->cx->budget.used;
        const lb_mapping *mapping = m->store->mapping;
        for (size_t i = 0; i < LB_COUNT_OF(ranges); i++) {
            const lb_range range = {
                .first = ranges[i].first, .count = ranges[i].count, .n_columns = 4, .columns = columns
            };
            struct ArrowArrayStream stream;
            struct ArrowArray batch;
            uint64_t row = ranges[i].first;
            assert_int_equal(lb_format_arrow.scan(m->reader, &range, &stream, NULL), LB_OK);
            for (;;) {
                m->store->bytes_read = 0;
                assert_int_equal(lb_stream_next(&stream, &batch, NULL), LB_OK);
                if (batch.release == NULL)
                    break;
                for (int c = 0; c < 4; c++)
                    check_lent(mapping, batch.children[c], bits[c]);
                check_lent_values(&batch, (int64_t)row);
                /* At most the head of the message was read, and it alone is counted. */
                assert_true(m->store->bytes_read < 4096);
                assert_true(m->cx->budget.used < used + 8192);
                row += (uint64_t)batch.length;
                batch.release(&batch);
            }
            assert_int_equal(row, ranges[i].first + ranges[i].count);
            stream.release(&stream);
        }
        lb_format_arrow.close(m->reader);
        lb_store_close(m->store);
        assert_false(is_mapped(m->path));
        unmap_file(m);
    }
}

static void rows_keep_the_mapping(void **state)
{
    mapped *m = map_file(false);
    const lb_wanted columns[] = { { 0, NULL }, { 1, NULL }, { 2, NULL }, { 3, NULL } };
    const lb_range range = { .first = 777, .count = 2000, .n_columns = 4, .columns = columns };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    (void)state;

    assert_int_equal(lb_format_arrow.scan(m->reader, &range, &stream, NULL), LB_OK);
    assert_int_equal(lb_stream_next(&stream, &batch, NULL), LB_OK);
    stream.release(&stream);
    lb_format_arrow.close(m->reader);
    lb_store_close(m->store);
    assert_true(is_mapped(m->path));
    check_lent_values(&batch, 777);
    batch.release(&batch);
    assert_false(is_mapped(m->path));
    unmap_file(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_copied, open_all, close_all),
        cmocka_unit_test_setup_teardown(all_rows_are_read_once, open_all, close_all),
        cmocka_unit_test_setup_teardown(other_columns_are_not_read, open_all, close_all),
        cmocka_unit_test(a_mapped_file_is_handed_out_as_it_lies),
        cmocka_unit_test(rows_keep_the_mapping),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
