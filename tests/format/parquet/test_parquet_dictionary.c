/* Dictionaries whose values are made ready as far as they are asked for: pages after the description of PLAIN, as they are and as
 * literals of Snappy. */
#include "format/parquet/parquet_dictionary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define N_TEXTS 3000

static lb_budget budget = { .limit = SIZE_MAX };

static const lb_parquet_leaf text_leaf = { .physical = LB_PARQUET_BYTE_ARRAY, .path = { "t", 1 } },
                             long_leaf = { .physical = LB_PARQUET_INT64, .path = { "n", 1 } },
                             nothing_leaf = { .physical = LB_PARQUET_FIXED, .type_length = 0, .path = { "z", 1 } };
static const lb_parquet_conversion as_text = { .form = LB_PARQUET_STRINGS, .type = "" },
                                   as_long = { .form = LB_PARQUET_WIDE, .stored = 8, .width = 8, .type = "" },
                                   as_nothing = { .form = LB_PARQUET_WIDE, .type = "" };

/* Texts of 0 to 99 bytes, each after its length. */
static void texts(lb_buf *out)
{
    for (uint32_t i = 0; i < N_TEXTS; i++) {
        const uint32_t size = i * 7 % 100;
        uint8_t text[100];
        for (uint32_t k = 0; k < size; k++)
            text[k] = (uint8_t)('a' + (i + k) % 26);
        assert_int_equal(lb_buf_append(out, &size, sizeof size, NULL), LB_OK);
        assert_int_equal(lb_buf_append(out, text, size, NULL), LB_OK);
    }
}

/* The bytes as literals of a Snappy block. */
static void packed(const lb_buf *plain, lb_buf *out)
{
    uint64_t size = plain->size;

    for (; size >= 0x80; size >>= 7)
        assert_int_equal(lb_buf_append(out, &(uint8_t){ (uint8_t)(size | 0x80) }, 1, NULL), LB_OK);
    assert_int_equal(lb_buf_append(out, &(uint8_t){ (uint8_t)size }, 1, NULL), LB_OK);
    for (size_t at = 0, n; at < plain->size; at += n) {
        n = LB_MIN(plain->size - at, (size_t)50);
        assert_int_equal(lb_buf_append(out, &(uint8_t){ (uint8_t)((n - 1) << 2) }, 1, NULL), LB_OK);
        assert_int_equal(lb_buf_append(out, plain->data + at, n, NULL), LB_OK);
    }
}

static void check_text(const lb_parquet_dictionary *d, uint32_t i)
{
    const lb_parquet_span span = ((const lb_parquet_span *)(const void *)d->spans.data)[i];

    assert_in_range(i, 0, d->ready - 1);
    assert_int_equal(span.size, i * 7 % 100);
    for (uint32_t k = 0; k < span.size; k++)
        assert_int_equal(d->values[span.first + k], 'a' + (i + k) % 26);
}

/* One text after another, further and further; then all. */
static void texts_one_by_one(void **state)
{
    lb_buf plain, block;

    (void)state;
    lb_buf_init(&plain, NULL);
    lb_buf_init(&block, NULL);
    texts(&plain);
    packed(&plain, &block);
    for (uint32_t step = 1; step < N_TEXTS; step = step * 3 + 1) {
        lb_parquet_dictionary d;
        lb_parquet_dictionary_init(&d, &budget);
        assert_int_equal(lb_parquet_dictionary_take(&d, LB_CODEC_SNAPPY, NULL, block.data, block.size, plain.size,
                                                    N_TEXTS, true, NULL),
                         LB_OK);
        for (uint32_t i = step - 1; i < N_TEXTS; i += step) {
            assert_int_equal(lb_parquet_dictionary_ready(&d, &text_leaf, &as_text, i + 1, NULL), LB_OK);
            assert_in_range(d.body.front.got, 1, (i + 1) * 104 + plain.size / 16 + 8192);
            check_text(&d, i);
            check_text(&d, i / 2);
        }
        assert_int_equal(lb_parquet_dictionary_ready(&d, &text_leaf, &as_text, N_TEXTS, NULL), LB_OK);
        check_text(&d, N_TEXTS - 1);
        lb_parquet_dictionary_free(&d);
    }
    assert_int_equal(budget.used, 0);
    lb_buf_free(&plain);
    lb_buf_free(&block);
}

/* A page with fewer values than it claims is told when they are asked for. */
static void too_few(void **state)
{
    static const uint8_t two[] = { 1, 0, 0, 0, 'x', 2, 0, 0, 0, 'y', 'z' };
    lb_parquet_dictionary d;

    (void)state;
    lb_parquet_dictionary_init(&d, &budget);
    assert_int_equal(
        lb_parquet_dictionary_take(&d, LB_CODEC_NONE, NULL, two, sizeof two, sizeof two, 1u << 31, true, NULL), LB_OK);
    assert_int_equal(lb_parquet_dictionary_ready(&d, &text_leaf, &as_text, 2, NULL), LB_OK);
    assert_int_equal(lb_parquet_dictionary_ready(&d, &text_leaf, &as_text, 3, NULL), LB_CORRUPT);
    assert_int_equal(lb_parquet_dictionary_ready(&d, &text_leaf, &as_text, 1u << 31, NULL), LB_CORRUPT);
    assert_int_equal(lb_parquet_dictionary_take(&d, LB_CODEC_NONE, NULL, two, sizeof two - 1, 0, 2, true, NULL), LB_OK);
    assert_int_equal(lb_parquet_dictionary_ready(&d, &text_leaf, &as_text, 2, NULL), LB_CORRUPT);
    assert_int_equal(lb_parquet_dictionary_take(&d, LB_CODEC_NONE, NULL, two, 8, 0, 2, true, NULL), LB_OK);
    assert_int_equal(lb_parquet_dictionary_ready(&d, &long_leaf, &as_long, 1, NULL), LB_OK);
    assert_int_equal(lb_parquet_dictionary_ready(&d, &long_leaf, &as_long, 2, NULL), LB_CORRUPT);
    lb_parquet_dictionary_reset(&d);
    assert_int_equal(lb_parquet_dictionary_ready(&d, &long_leaf, &as_long, 0, NULL), LB_CORRUPT);
    lb_parquet_dictionary_free(&d);
}

/* Values of no bytes, as many as a page claims, and of no count. */
static void nothing_at_all(void **state)
{
    lb_parquet_dictionary d;

    (void)state;
    lb_parquet_dictionary_init(&d, &budget);
    for (int part = 0; part < 2; part++)
        for (int codec = 0; codec < 2; codec++) {
            assert_int_equal(lb_parquet_dictionary_take(&d, codec == 0 ? LB_CODEC_NONE : LB_CODEC_ZSTD, NULL, NULL, 0,
                                                        0, 100, part != 0, NULL),
                             LB_OK);
            assert_int_equal(lb_parquet_dictionary_ready(&d, &nothing_leaf, &as_nothing, 100, NULL), LB_OK);
            assert_int_equal(lb_parquet_dictionary_take(&d, LB_CODEC_NONE, NULL, NULL, 0, 0, 0, part != 0, NULL),
                             LB_OK);
            assert_int_equal(lb_parquet_dictionary_ready(&d, &text_leaf, &as_text, 0, NULL), LB_OK);
            assert_int_equal(lb_parquet_dictionary_ready(&d, &text_leaf, &as_text, 1, NULL), LB_CORRUPT);
        }
    lb_parquet_dictionary_free(&d);
}

/* A page that stays in its file: single values cost a read each, of the last page of it too. */
static void values_in_the_file(void **state)
{
    enum { N = 100000 };
    uint64_t *numbers = malloc(N * sizeof *numbers);
    lb_parquet_dictionary d;
    lb_store *store;

    (void)state;
    assert_non_null(numbers);
    for (uint64_t i = 0; i < N; i++)
        numbers[i] = i * i;
    assert_int_equal(lb_store_open_memory(numbers, N * sizeof *numbers, &store, NULL), LB_OK);
    lb_parquet_dictionary_init(&d, &budget);
    assert_int_equal(lb_parquet_dictionary_lie(&d, store, 80, (N - 10) * sizeof *numbers, N - 10, NULL), LB_OK);
    for (uint32_t i = 0; i < N - 10; i += 9973) {
        const uint32_t indices[] = { i, (i * 7 + 1) % (N - 10), N - 11 };
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(lb_parquet_dictionary_pick(&d, &long_leaf, &as_long, indices + k, 1, indices[k], NULL),
                             LB_OK);
            assert_memory_equal(d.values + indices[k] * 8, &numbers[indices[k] + 10], 8);
        }
    }
    assert_true(store->bytes_read < N * sizeof *numbers / 2);
    assert_int_equal(lb_parquet_dictionary_ready(&d, &long_leaf, &as_long, N - 10, NULL), LB_OK);
    assert_memory_equal(d.values, numbers + 10, (N - 10) * sizeof *numbers);
    lb_parquet_dictionary_free(&d);
    lb_store_close(store);
    free(numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_one_by_one),
        cmocka_unit_test(too_few),
        cmocka_unit_test(nothing_at_all),
        cmocka_unit_test(values_in_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
