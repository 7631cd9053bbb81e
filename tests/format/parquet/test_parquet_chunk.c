/* Column chunks that pyarrow wrote: any rows of them, only the pages that hold them, and what is damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include "column/values.h"
#include "format/parquet/parquet_column.h"

#include <cmocka.h>

/* clang-format off */
/* pages: 0 39 85; 12 values */
static const char ints[] =
    "\025\000\025\034\025\034\025\223\240\242\232\006\034\025\010\025\000\025\006\025\006\034\000\000\000"
    "\002\000\000\000\003\006\001\000\000\000\002\000\000\000\025\000\025\054\025\054\025\214\336\240\032"
    "\034\025\010\025\000\025\006\025\006\034\000\000\000\002\000\000\000\010\001\004\000\000\000\005\000"
    "\000\000\006\000\000\000\007\000\000\000\025\000\025\044\025\044\025\372\263\201\362\007\034\025\010"
    "\025\000\025\006\025\006\034\000\000\000\002\000\000\000\003\016\011\000\000\000\012\000\000\000\013"
    "\000\000\000";
/* pages: 0 61 96 132 169 206 234; 14 values */
static const char lists[] =
    "\025\004\025\136\025\136\114\025\022\025\000\022\000\000\001\000\000\000\141\001\000\000\000\142\003"
    "\000\000\000\143\143\143\001\000\000\000\144\001\000\000\000\145\001\000\000\000\146\001\000\000\000"
    "\147\001\000\000\000\150\001\000\000\000\151\025\000\025\040\025\040\054\025\006\025\020\025\006\025"
    "\006\034\000\000\000\002\000\000\000\006\000\003\000\000\000\003\023\000\001\002\000\025\000\025\042"
    "\025\042\054\025\006\025\020\025\006\025\006\034\000\000\000\002\000\000\000\003\006\003\000\000\000"
    "\003\073\000\002\003\011\000\025\000\025\044\025\044\054\025\006\025\020\025\006\025\006\034\000\000"
    "\000\002\000\000\000\003\002\003\000\000\000\003\057\000\003\003\043\000\000\025\000\025\044\025\044"
    "\054\025\010\025\020\025\006\025\006\034\000\000\000\002\000\000\000\003\016\002\000\000\000\010\003"
    "\004\003\145\207\000\000\025\000\025\022\025\022\054\025\000\025\020\025\006\025\006\034\000\000\000"
    "\000\000\000\000\000\000\000\000\004\025\000\025\032\025\032\054\025\002\025\020\025\006\025\006\034"
    "\000\000\000\002\000\000\000\002\000\002\000\000\000\002\001\004";
/* pages: 0 34 75 114 162; 14 values */
static const char lists2[] =
    "\025\006\025\024\025\024\134\025\006\025\004\025\006\025\000\025\006\025\004\022\034\000\000\000\006"
    "\000\003\023\000\001\000\000\000\141\025\006\025\042\025\042\134\025\006\025\002\025\002\025\000\025"
    "\006\025\004\022\034\000\000\000\003\006\003\073\000\001\000\000\000\142\003\000\000\000\143\143\143"
    "\025\006\025\036\025\036\134\025\006\025\002\025\004\025\000\025\006\025\004\022\034\000\000\000\003"
    "\002\003\057\000\001\000\000\000\144\001\000\000\000\145\025\006\025\060\025\060\134\025\010\025\000"
    "\025\002\025\000\025\004\025\004\022\034\000\000\000\003\016\010\003\001\000\000\000\146\001\000\000"
    "\000\147\001\000\000\000\150\001\000\000\000\151\025\006\025\010\025\010\134\025\002\025\002\025\002"
    "\025\000\025\004\025\004\022\034\000\000\000\002\000\002\001";
/* pages: 0 15; 5 values */
static const char nulls[] =
    "\025\004\025\000\025\002\114\025\000\025\000\022\000\000\000\025\000\025\016\025\022\054\025\012\025"
    "\020\025\006\025\006\034\000\000\000\007\030\002\000\000\000\012\000\000";


/* Lists of items, as the leaves x and y of a list of structs have them. */
static const char parts_x[] =
    "\025\000\025\062\025\062\054\025\010\025\000\025\006\025\006\034\000\000\000\002\000\000\000\003\002"
    "\003\000\000\000\003\077\000\001\000\000\000\002\000\000\000\003\000\000\000"; /* [[1, 2], [3], None] */
static const char parts_y[] =
    "\025\000\025\052\025\052\054\025\010\025\000\025\006\025\006\034\000\000\000\002\000\000\000\003\002"
    "\003\000\000\000\003\073\000\004\000\000\000\006\000\000\000"; /* [[4, None], [6], None] */
static const char parts_cut[] =
    "\025\000\025\052\025\052\054\025\010\025\000\025\006\025\006\034\000\000\000\002\000\000\000\003\004"
    "\003\000\000\000\003\073\000\004\000\000\000\006\000\000\000"; /* [[4], [None, 6], None] */
static const char parts_null[] =
    "\025\000\025\052\025\052\054\025\010\025\000\025\006\025\006\034\000\000\000\002\000\000\000\003\002"
    "\003\000\000\000\003\173\000\004\000\000\000\006\000\000\000"; /* [[4, None], [6], []] */
/* clang-format on */

/* optional int32; optional list of optional string; optional int64 */
enum { INTS, LISTS, LISTS_V2, NULLS, N_CHUNKS };

static const struct {
    const char *bytes;
    size_t size;
    lb_codec codec;
    lb_parquet_physical physical;
    const char *type;
    uint64_t rows, values;
    const char *want;
} chunks[N_CHUNKS] = {
    { ints, sizeof ints - 1, LB_CODEC_NONE, LB_PARQUET_INT32, "int32", 12, 12, "- 1 2 - 4 5 6 7 - 9 10 11 " },
    { lists, sizeof lists - 1, LB_CODEC_NONE, LB_PARQUET_BYTE_ARRAY, "{\"list\":\"string\"}", 8, 14,
      "[a ] - [] [b - ccc ] [d e ] [- ] [f g h i ] [] " },
    { lists2, sizeof lists2 - 1, LB_CODEC_NONE, LB_PARQUET_BYTE_ARRAY, "{\"list\":\"string\"}", 8, 14,
      "[a ] - [] [b - ccc ] [d e ] [- ] [f g h i ] [] " },
    { nulls, sizeof nulls - 1, LB_CODEC_SNAPPY, LB_PARQUET_INT64, "int64", 5, 5, "- - - - - " },
};

typedef struct fixture {
    lb_context *cx;
    lb_store *store;
    uint8_t *bytes;
    struct ArrowSchema schema;
    lb_parquet_leaf leaf;
    lb_parquet_node nodes[2], *below;
    lb_parquet_plan plan;
} fixture;

static void open_chunk(fixture *f, size_t which)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 1 };
    const bool nested = chunks[which].type[0] == '{';

    *f = (fixture){ .bytes = malloc(chunks[which].size) };
    assert_non_null(f->bytes);
    memcpy(f->bytes, chunks[which].bytes, chunks[which].size);
    assert_int_equal(lb_context_new(&options, &f->cx, NULL), LB_OK);
    assert_int_equal(lb_store_open_memory(f->bytes, chunks[which].size, &f->store, NULL), LB_OK);
    assert_int_equal(lb_type_of_words(chunks[which].type, &f->schema, NULL), LB_OK);
    f->leaf = (lb_parquet_leaf){
        .physical = chunks[which].physical, .max_def = nested ? 3 : 1, .max_rep = nested, .path = LB_STR("a")
    };
    f->below = &f->nodes[1];
    if (nested)
        f->nodes[0] = (lb_parquet_node){ .shape = LB_PARQUET_LIST,
                                         .nullable = true,
                                         .def = 1,
                                         .item_def = 2,
                                         .schema = &f->schema,
                                         .n_children = 1,
                                         .children = &f->below,
                                         .n_leaves = 1 };
    f->nodes[nested] = (lb_parquet_node){ .shape = LB_PARQUET_LEAF,
                                          .nullable = true,
                                          .def = f->leaf.max_def,
                                          .slot_def = nested ? 2 : 0,
                                          .rep = nested,
                                          .schema = nested ? f->schema.children[0] : &f->schema,
                                          .n_leaves = 1,
                                          .leaf = &f->leaf };
    f->plan = (lb_parquet_plan){ .leaf = &f->leaf,
                                 .codec = chunks[which].codec,
                                 .length = chunks[which].size,
                                 .limit = chunks[which].size,
                                 .num_values = chunks[which].values,
                                 .rows = chunks[which].rows,
                                 .want_end = chunks[which].rows };
}

static void close_chunk(fixture *f)
{
    lb_store_close(f->store);
    f->schema.release(&f->schema);
    assert_int_equal(f->cx->budget.used, 0);
    lb_context_free(f->cx);
    free(f->bytes);
}

static void print_value(const struct ArrowArrayView *v, int64_t row, lb_buf *out)
{
    int64_t first, count;

    if (lb_view_is_null(v, row)) {
        assert_int_equal(lb_buf_printf(out, NULL, "- "), LB_OK);
    } else if (v->storage_type == NANOARROW_TYPE_LIST) {
        assert_true(lb_view_list(v, row, &first, &count));
        assert_int_equal(lb_buf_printf(out, NULL, "["), LB_OK);
        for (int64_t i = 0; i < count; i++)
            print_value(v->children[0], first + i, out);
        assert_int_equal(lb_buf_printf(out, NULL, "] "), LB_OK);
    } else if (v->storage_type == NANOARROW_TYPE_STRUCT) {
        assert_int_equal(lb_buf_printf(out, NULL, "("), LB_OK);
        for (int64_t i = 0; i < v->n_children; i++)
            print_value(v->children[i], row, out);
        assert_int_equal(lb_buf_printf(out, NULL, ") "), LB_OK);
    } else if (v->storage_type == NANOARROW_TYPE_STRING) {
        const lb_str text = lb_view_bytes(v, row);
        assert_int_equal(lb_buf_printf(out, NULL, "%.*s ", (int)text.size, text.at), LB_OK);
    } else {
        assert_int_equal(lb_buf_printf(out, NULL, "%lld ", (long long)ArrowArrayViewGetIntUnsafe(v, row)), LB_OK);
    }
}

static void print_array(const fixture *f, struct ArrowArray *array, lb_buf *out)
{
    struct ArrowArrayView view;

    assert_int_equal(ArrowArrayViewInitFromSchema(&view, &f->schema, NULL), NANOARROW_OK);
    assert_int_equal(ArrowArrayViewSetArray(&view, array, NULL), NANOARROW_OK);
    assert_int_equal(ArrowArrayViewValidate(&view, NANOARROW_VALIDATION_LEVEL_FULL, NULL), NANOARROW_OK);
    for (int64_t row = 0; row < array->length; row++)
        print_value(&view, row, out);
    ArrowArrayViewReset(&view);
}

/* Text of these runs, each read by a call of its own. */
static lb_status read_runs(fixture *f, const lb_parquet_run *runs, size_t n, lb_buf *out, lb_error *err)
{
    lb_parquet_chunk *chunk;
    lb_parquet_column *column;
    struct ArrowArray array = { .release = NULL };

    out->size = 0;
    assert_int_equal(lb_parquet_chunk_open(f->cx, f->store, &f->plan, &chunk, err), LB_OK);
    assert_int_equal(lb_parquet_column_new(f->cx, &f->nodes[0], &column, err), LB_OK);
    lb_status status = LB_OK;
    for (size_t i = 0; i < n && status == LB_OK; i++)
        status = lb_parquet_column_read(column, &chunk, &runs[i], 1, NULL, err);
    if (status == LB_OK)
        status = lb_parquet_column_finish(column, &array, err);
    if (status == LB_OK) {
        print_array(f, &array, out);
        array.release(&array);
    }
    lb_parquet_column_free(column);
    lb_parquet_chunk_close(chunk);
    return status;
}

/* Where row `row` begins in the text. */
static const char *text_row(const char *text, uint64_t row)
{
    for (int depth = 0; row != 0; text++) {
        depth += (*text == '[') - (*text == ']');
        row -= *text == ' ' && depth == 0;
    }
    return text;
}

static void every_run(fixture *f, size_t which)
{
    lb_buf out;

    lb_buf_init(&out, NULL);
    for (uint64_t a = 0; a <= f->plan.rows; a++)
        for (uint64_t b = a; b <= f->plan.rows; b++)
            for (uint64_t c = b; c <= f->plan.rows; c++) {
                const lb_parquet_run runs[] = { { a, b - a }, { c, f->plan.rows - c } };
                lb_error err = { .code = LB_OK };
                f->plan.want_first = a;
                if (read_runs(f, runs, 2, &out, &err) != LB_OK)
                    fail_msg("chunk %zu, rows %d to %d, and from %d: %s", which, (int)a, (int)b, (int)c, err.message);
                const char *first = text_row(chunks[which].want, a), *stop = text_row(chunks[which].want, b);
                const char *second = text_row(chunks[which].want, c);
                assert_int_equal(out.size, (size_t)(stop - first) + strlen(second));
                assert_memory_equal(out.data, first, (size_t)(stop - first));
                assert_memory_equal(out.data + (stop - first), second, strlen(second));
            }
    lb_buf_free(&out);
}

static void any_rows(void **state)
{
    (void)state;
    for (size_t which = 0; which < N_CHUNKS; which++) {
        fixture f;
        open_chunk(&f, which);
        every_run(&f, which);
        f.plan.held = f.bytes; /* the same from memory */
        f.plan.held_size = f.plan.length;
        every_run(&f, which);
        assert_int_equal(f.cx->budget.used, 0);
        close_chunk(&f);
    }
}

/* The pages of the chunks as their index would have them; of the lists: pages that begin inside a row, and whole
 * rows. */
static const lb_parquet_place ints_places[] = { { 0, 39, 0 }, { 39, 46, 4 }, { 85, 43, 8 } };
static const lb_parquet_place lists_places[] = { { 61, 35, 0 },  { 96, 36, 3 },  { 132, 37, 4 },
                                                 { 169, 37, 6 }, { 206, 28, 7 }, { 234, 32, 7 } };
static const lb_parquet_place lists2_places[] = {
    { 0, 34, 0 }, { 34, 41, 3 }, { 75, 39, 4 }, { 114, 48, 6 }, { 162, 28, 7 }
};

static void any_rows_by_places(void **state)
{
    static const struct {
        size_t which, n;
        const lb_parquet_place *places;
        bool aligned;
    } indexed[] = { { INTS, 3, ints_places, true },
                    { LISTS, 6, lists_places, false },
                    { LISTS, 6, lists_places, true },
                    { LISTS_V2, 5, lists2_places, true } };
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(indexed); i++) {
        fixture f;
        open_chunk(&f, indexed[i].which);
        f.plan.places = indexed[i].places;
        f.plan.n_places = indexed[i].n;
        f.plan.aligned = indexed[i].aligned;
        every_run(&f, indexed[i].which);
        assert_int_equal(lb_parquet_pages(f.cx, f.store, &f.plan, LB_PARQUET_ALL, NULL, NULL, NULL), LB_OK);
        close_chunk(&f);
    }
}

static void only_wanted_pages(void **state)
{
    static const lb_parquet_run one = { 5, 1 };
    fixture f;
    lb_buf out;

    (void)state;
    lb_buf_init(&out, NULL);
    open_chunk(&f, INTS);
    f.plan.places = ints_places;
    f.plan.n_places = 3;
    f.plan.aligned = true;
    f.plan.want_first = 5;
    f.plan.want_end = 6;
    memset(f.bytes, 0xFF, 39); /* the pages around are not looked at */
    memset(f.bytes + 85, 0xFF, 43);
    assert_int_equal(read_runs(&f, &one, 1, &out, NULL), LB_OK);
    assert_string_equal(lb_buf_text(&out), "5 ");
    assert_int_equal(f.store->bytes_read, 46);
    close_chunk(&f);
    lb_buf_free(&out);
}

/* A flipped byte in a body is found by its checksum, whose page the error names; without one nothing but the value
 * is wrong. */
static void flipped_bytes(void **state)
{
    (void)state;
    for (size_t at = 0; at < sizeof ints - 1; at++) {
        fixture f;
        lb_error err = { .code = LB_OK };
        open_chunk(&f, INTS);
        f.bytes[at] ^= 0x10;
        const lb_status status = lb_parquet_pages(f.cx, f.store, &f.plan, LB_PARQUET_ALL, NULL, NULL, &err);
        const size_t page = at < 39 ? 0 : at < 85 ? 39 : 85, header = 25;
        if (at >= page + header) {
            assert_int_equal(status, LB_CORRUPT);
            assert_int_equal(err.offset, page);
            assert_non_null(strstr(err.message, "checksum"));
            assert_non_null(strstr(err.hint, "column a"));
        }
        close_chunk(&f);
    }
}

typedef struct seen {
    size_t n;
    lb_parquet_page pages[8];
} seen;

static lb_status see(void *user, const lb_parquet_page *page, lb_error *err)
{
    seen *s = user;

    (void)err;
    assert_true(s->n < 8);
    s->pages[s->n++] = *page;
    return LB_OK;
}

static void walking(void **state)
{
    fixture f;
    seen s = { .n = 0 };

    (void)state;
    open_chunk(&f, LISTS);
    assert_int_equal(lb_parquet_pages(f.cx, f.store, &f.plan, LB_PARQUET_HEADERS, see, &s, NULL), LB_OK);
    assert_int_equal(s.n, 7);
    assert_int_equal(s.pages[0].kind, LB_PARQUET_DICTIONARY_PAGE);
    assert_int_equal(s.pages[0].num_values, 9);
    for (size_t i = 1; i < 7; i++)
        assert_int_equal(s.pages[i].offset, lists_places[i - 1].offset);
    assert_int_equal(s.pages[1].first_row, 0);
    assert_true(s.pages[1].n_rows == LB_PARQUET_UNKNOWN && s.pages[2].first_row == LB_PARQUET_UNKNOWN);
    s.n = 0;
    assert_int_equal(lb_parquet_pages(f.cx, f.store, &f.plan, LB_PARQUET_ROWS, see, &s, NULL), LB_OK);
    assert_int_equal(s.n, 7);
    for (size_t i = 1; i < 7; i++) {
        assert_int_equal(s.pages[i].first_row, lists_places[i - 1].first_row);
        assert_int_equal(s.pages[i].header_size + s.pages[i].stored_size, lists_places[i - 1].length);
    }
    close_chunk(&f);
}

/* Writers that put the number of values where v2 headers have that of rows: found out from the levels. Any other
 * number is damage. */
static void rows_of_v2(void **state)
{
    static const struct {
        uint8_t rows; /* zigzag */
        lb_status status;
    } cases[] = { { 6, LB_OK }, { 4, LB_CORRUPT }, { 2, LB_OK } };
    static const lb_parquet_run last = { 6, 2 }, all = { 0, 8 };
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        fixture f;
        lb_buf out;
        lb_buf_init(&out, NULL);
        open_chunk(&f, LISTS_V2);
        assert_int_equal(f.bytes[34 + 12], 2); /* num_rows of the second page, which has 3 values */
        f.bytes[34 + 12] = cases[i].rows;
        assert_int_equal(read_runs(&f, &all, 1, &out, NULL), cases[i].status);
        assert_int_equal(lb_parquet_pages(f.cx, f.store, &f.plan, LB_PARQUET_ALL, NULL, NULL, NULL), cases[i].status);
        if (cases[i].status == LB_OK) {
            assert_int_equal(read_runs(&f, &last, 1, &out, NULL), LB_OK);
            assert_string_equal(lb_buf_text(&out), "[f g h i ] [] ");
        }
        close_chunk(&f);
        lb_buf_free(&out);
    }
}

/* What the footer claims of a chunk, and the index of its pages, has to hold. */
static void claims(void **state)
{
    static const lb_parquet_place wrong[] = { { 0, 39, 0 }, { 39, 46, 5 }, { 85, 43, 8 } };
    static const lb_parquet_run all = { 0, 12 }, more = { 0, 13 }, late = { 9, 1 };
    fixture f;
    lb_buf out;
    lb_error err = { .code = LB_OK };

    (void)state;
    lb_buf_init(&out, NULL);
    open_chunk(&f, INTS);
    f.plan.length -= 20; /* old writers forgot the dictionary's header: what counts are the values */
    assert_int_equal(read_runs(&f, &all, 1, &out, NULL), LB_OK);
    f.plan.rows = 13;
    assert_int_equal(read_runs(&f, &more, 1, &out, &err), LB_CORRUPT);
    assert_non_null(strstr(err.message, "end after 12 rows"));
    assert_int_equal(lb_parquet_pages(f.cx, f.store, &f.plan, LB_PARQUET_ALL, NULL, NULL, NULL), LB_CORRUPT);
    f.plan.rows = 12;
    f.plan.num_values = 13;
    assert_int_equal(lb_parquet_pages(f.cx, f.store, &f.plan, LB_PARQUET_ALL, NULL, NULL, NULL), LB_CORRUPT);
    f.plan.num_values = 12;
    f.plan.places = wrong;
    f.plan.n_places = 3;
    lb_error_clear(&err);
    assert_int_equal(read_runs(&f, &all, 1, &out, &err), LB_CORRUPT);
    assert_non_null(strstr(err.message, "page index"));
    assert_int_equal(lb_parquet_pages(f.cx, f.store, &f.plan, LB_PARQUET_ALL, NULL, NULL, NULL), LB_CORRUPT);
    f.plan.n_places = 0;
    f.plan.limit = 100; /* the last page reaches beyond */
    lb_error_clear(&err);
    assert_int_equal(read_runs(&f, &late, 1, &out, &err), LB_CORRUPT);
    close_chunk(&f);
    lb_buf_free(&out);
}

/* Read list<struct<x, y>> of three rows, whose leaves are these chunks. */
static lb_status read_parts(const char *x, size_t x_size, const char *y, size_t y_size, lb_buf *out, lb_error *err)
{
    const char *const bytes[2] = { x, y };
    const size_t sizes[2] = { x_size, y_size };
    const lb_parquet_run all = { 0, 3 };
    const lb_parquet_leaf leaf = { .physical = LB_PARQUET_INT32, .max_def = 3, .max_rep = 1, .path = LB_STR("a.x") };
    lb_parquet_node nodes[4], *row = &nodes[1], *fields[2] = { &nodes[2], &nodes[3] };
    lb_parquet_chunk *parts[2];
    lb_parquet_column *column;
    lb_store *stores[2];
    struct ArrowArray array;
    fixture f;

    open_chunk(&f, INTS);
    f.schema.release(&f.schema);
    assert_int_equal(lb_type_of_words("{\"list\":{\"struct\":[{\"name\":\"x\",\"type\":\"int32\",\"nullable\":true},"
                                      "{\"name\":\"y\",\"type\":\"int32\",\"nullable\":true}]}}",
                                      &f.schema, NULL),
                     LB_OK);
    nodes[0] = (lb_parquet_node){ .shape = LB_PARQUET_LIST,
                                  .nullable = true,
                                  .def = 1,
                                  .item_def = 2,
                                  .schema = &f.schema,
                                  .n_children = 1,
                                  .children = &row,
                                  .n_leaves = 2 };
    nodes[1] = (lb_parquet_node){ .shape = LB_PARQUET_STRUCT,
                                  .def = 2,
                                  .slot_def = 2,
                                  .rep = 1,
                                  .schema = f.schema.children[0],
                                  .n_children = 2,
                                  .children = fields,
                                  .n_leaves = 2 };
    for (size_t i = 0; i < 2; i++) {
        nodes[2 + i] = (lb_parquet_node){ .shape = LB_PARQUET_LEAF,
                                          .nullable = true,
                                          .def = 3,
                                          .slot_def = 2,
                                          .rep = 1,
                                          .schema = f.schema.children[0]->children[i],
                                          .first_leaf = i,
                                          .n_leaves = 1,
                                          .leaf = &leaf };
        const lb_parquet_plan plan = {
            .leaf = &leaf, .length = sizes[i], .limit = sizes[i], .num_values = 4, .rows = 3, .want_end = 3
        };
        assert_int_equal(lb_store_open_memory(bytes[i], sizes[i], &stores[i], NULL), LB_OK);
        assert_int_equal(lb_parquet_chunk_open(f.cx, stores[i], &plan, &parts[i], NULL), LB_OK);
    }
    assert_int_equal(lb_parquet_column_new(f.cx, &nodes[0], &column, NULL), LB_OK);
    lb_status status = lb_parquet_column_read(column, parts, &all, 1, NULL, err);
    if (status == LB_OK) {
        assert_int_equal(lb_parquet_column_finish(column, &array, NULL), LB_OK);
        print_array(&f, &array, out);
        array.release(&array);
    }
    lb_parquet_column_free(column);
    for (size_t i = 0; i < 2; i++) {
        lb_parquet_chunk_close(parts[i]);
        lb_store_close(stores[i]);
    }
    close_chunk(&f);
    return status;
}

/* Leaves of one list have the same number of values, but not in the same rows: that is damage, and no struct is made
 * of them. */
static void parts_of_other_rows(void **state)
{
    lb_buf out;
    lb_error err = { .code = LB_OK };

    (void)state;
    lb_buf_init(&out, NULL);
    assert_int_equal(read_parts(parts_x, sizeof parts_x - 1, parts_y, sizeof parts_y - 1, &out, &err), LB_OK);
    assert_string_equal(lb_buf_text(&out), "[(1 4 ) (2 - ) ] [(3 6 ) ] - ");
    assert_int_equal(read_parts(parts_x, sizeof parts_x - 1, parts_cut, sizeof parts_cut - 1, &out, &err), LB_CORRUPT);
    assert_non_null(strstr(err.message, "in the same rows"));
    assert_int_equal(read_parts(parts_x, sizeof parts_x - 1, parts_null, sizeof parts_null - 1, &out, NULL),
                     LB_CORRUPT);
    lb_buf_free(&out);
}

static void budget(void **state)
{
    static const lb_parquet_run all = { 0, 12 };
    fixture f;
    lb_buf out;

    (void)state;
    lb_buf_init(&out, NULL);
    open_chunk(&f, INTS);
    f.cx->budget.limit = 100;
    lb_parquet_column *column;
    lb_parquet_chunk *chunk;
    lb_error err = { .code = LB_OK };
    lb_status status = lb_parquet_column_new(f.cx, &f.nodes[0], &column, &err);
    if (status == LB_OK) {
        assert_int_equal(lb_parquet_chunk_open(f.cx, f.store, &f.plan, &chunk, &err), LB_OK);
        status = lb_parquet_column_read(column, &chunk, &all, 1, NULL, &err);
        lb_parquet_chunk_close(chunk);
        lb_parquet_column_free(column);
    }
    assert_int_equal(status, LB_BUDGET);
    close_chunk(&f);
    lb_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_rows),
        cmocka_unit_test(any_rows_by_places),
        cmocka_unit_test(only_wanted_pages),
        cmocka_unit_test(flipped_bytes),
        cmocka_unit_test(walking),
        cmocka_unit_test(rows_of_v2),
        cmocka_unit_test(claims),
        cmocka_unit_test(parts_of_other_rows),
        cmocka_unit_test(budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
