/* Files compressed as a whole: what Python and the tools wrote, in pieces of any size on both sides, begun again at every border,
 * cut at every byte, and with every byte turned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/unpack.h"
#include "codec/unpack_cases.h"

#define TEXT_MOST 10000

static size_t text_of(uint8_t *out)
{
    size_t size = 0;

    for (int i = 0; i < 200; i++)
        size += (size_t)snprintf((char *)out + size, TEXT_MOST - size, "row %d of the lake, %d\n", i, i * i * 7919);
    return size;
}

static uint8_t *bytes_of(const char *hex, size_t *size)
{
    *size = strlen(hex) / 2;
    uint8_t *out = malloc(*size + 1);

    assert_non_null(out);
    for (size_t i = 0; i < *size; i++) {
        char pair[3] = { hex[2 * i], hex[2 * i + 1], '\0' };
        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return out;
}

typedef struct border {
    lb_unpack_point point;
    size_t out_at;
} border;

typedef struct run {
    const lb_container *container;
    const uint8_t *bytes;
    size_t size, in_piece, out_piece;
    border *borders; /* NULL: not asked for */
    size_t n_borders;
} run;

/* Decompress from a border (NULL: the beginning) into `out`, of which the first `before` bytes are there, until it is full. */
static lb_status unpack(run *r, const border *from, uint8_t *out, size_t before, size_t *size, lb_error *err)
{
    lb_budget budget = { .limit = UINT64_MAX };
    lb_unpack_memory memory = { .budget = &budget };
    lb_unpacker *u = r->container->open(&memory);
    size_t at = from == NULL ? 0 : (size_t)from->point.byte, given = at;
    lb_unpack_io io = {
        .in = r->bytes + at, .in_at = at, .out = out + before, .history = out, .stop_at_borders = r->borders != NULL
    };
    lb_unpack_stop stop = LB_UNPACK_INPUT;
    lb_status status;

    assert_non_null(u);
    if (from != NULL)
        io.history = io.out - from->point.window;
    assert_int_equal(LB_OK, r->container->begin(u, from == NULL ? NULL : &from->point, err));
    do {
        lb_unpack_point point = { 0 };
        if (stop == LB_UNPACK_INPUT)
            given += LB_MIN(r->in_piece, r->size - given);
        io.in_end = r->bytes + given;
        io.in_last = given == r->size;
        io.out_end = out + LB_MIN((size_t)(io.out - out) + r->out_piece, (size_t)TEXT_MOST);
        status = r->container->run(u, &io, &stop, &point, err);
        assert_true(io.in <= io.in_end && io.out <= io.out_end);
        assert_int_equal(io.in_at, io.in - r->bytes);
        if (status == LB_OK && stop == LB_UNPACK_BORDER && r->n_borders < 64)
            r->borders[r->n_borders++] = (border){ point, (size_t)(io.out - out) };
    } while (status == LB_OK && stop != LB_UNPACK_END && io.out < out + TEXT_MOST);
    *size = (size_t)(io.out - out);
    r->container->close(u);
    assert_int_equal(memory.taken, budget.used); /* what the library allocates for itself is counted to the end */
    return status;
}

static void all_pieces(void **state)
{
    static const size_t pieces[][2] = {
        { SIZE_MAX / 2, TEXT_MOST }, { 1, TEXT_MOST }, { SIZE_MAX / 2, 1 }, { 1, 1 }, { 700, 300 }
    };
    static uint8_t text[TEXT_MOST], out[TEXT_MOST];
    size_t text_size = text_of(text);

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(unpack_cases); i++) {
        size_t size, got;
        uint8_t *bytes = bytes_of(unpack_cases[i].hex, &size);
        for (size_t k = 0; k < LB_COUNT_OF(pieces); k++) {
            run r = { lb_container_of_name(lb_str_of(unpack_cases[i].container)),
                      bytes,
                      size,
                      pieces[k][0],
                      pieces[k][1],
                      NULL,
                      0 };
            lb_error err = LB_ERROR_INIT;
            if (unpack(&r, NULL, out, 0, &got, &err) != LB_OK)
                fail_msg("%s: %s at %lld", unpack_cases[i].name, err.message, (long long)err.offset);
            assert_int_equal(text_size, got);
            assert_memory_equal(text, out, got);
        }
        free(bytes);
    }
}

static void from_every_border(void **state)
{
    static uint8_t text[TEXT_MOST], out[TEXT_MOST];
    size_t text_size = text_of(text);

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(unpack_cases); i++) {
        border borders[64], again[64];
        size_t size, got;
        uint8_t *bytes = bytes_of(unpack_cases[i].hex, &size);
        run r = {
            lb_container_of_name(lb_str_of(unpack_cases[i].container)), bytes, size, size, TEXT_MOST, borders, 0
        };
        lb_error err = LB_ERROR_INIT;
        assert_int_equal(LB_OK, unpack(&r, NULL, out, 0, &got, &err));
        if (r.n_borders != unpack_cases[i].borders)
            fail_msg("%s: %zu borders", unpack_cases[i].name, r.n_borders);
        for (size_t k = 0; k < r.n_borders; k++) {
            run rest = r;
            rest.borders = again;
            rest.n_borders = 0;
            memset(out, 0, sizeof out);
            size_t window = borders[k].point.window, before = borders[k].out_at;
            assert_true(window <= before);
            memcpy(out + before - window, text + before - window, window);
            if (unpack(&rest, &borders[k], out, before, &got, &err) != LB_OK)
                fail_msg("%s, border %zu: %s at %lld", unpack_cases[i].name, k, err.message, (long long)err.offset);
            assert_int_equal(text_size, got);
            assert_memory_equal(text + before, out + before, got - before);
            assert_int_equal(r.n_borders - k - 1, rest.n_borders);
        }
        free(bytes);
    }
}

/* A file that ends too early is CORRUPT at its end or before, unless it ends between members. */
static void cut_anywhere(void **state)
{
    static uint8_t text[TEXT_MOST], out[TEXT_MOST];
    size_t text_size = text_of(text);

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(unpack_cases); i++) {
        size_t size, got, whole = 0;
        uint8_t *bytes = bytes_of(unpack_cases[i].hex, &size);
        for (size_t cut = 0; cut < size; cut += 1 + (cut > 64 && cut + 64 < size ? 37 : 0)) {
            uint8_t *part = malloc(cut + 1);
            assert_non_null(part);
            memcpy(part, bytes, cut);
            run r = {
                lb_container_of_name(lb_str_of(unpack_cases[i].container)), part, cut, cut + 1, TEXT_MOST, NULL, 0
            };
            lb_error err = LB_ERROR_INIT;
            lb_status status = unpack(&r, NULL, out, 0, &got, &err);
            assert_true(status == LB_OK || status == LB_CORRUPT);
            assert_true(got <= text_size);
            if (status == LB_OK)
                whole++;
            else
                assert_true(err.offset >= 0 && (size_t)err.offset <= cut);
            assert_memory_equal(text, out, got);
            free(part);
        }
        assert_true(whole <= unpack_cases[i].parts);
        free(bytes);
    }
}

static void turned_anywhere(void **state)
{
    static uint8_t out[TEXT_MOST];

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(unpack_cases); i++) {
        size_t size, got;
        uint8_t *bytes = bytes_of(unpack_cases[i].hex, &size);
        for (size_t at = 0; at < size; at += 1 + (at > 64 && at + 64 < size ? 11 : 0)) {
            lb_error err = LB_ERROR_INIT;
            run r = {
                lb_container_of_name(lb_str_of(unpack_cases[i].container)), bytes, size, size, TEXT_MOST, NULL, 0
            };
            bytes[at] ^= 0x41;
            lb_status status = unpack(&r, NULL, out, 0, &got, &err);
            assert_true(status == LB_OK || status == LB_CORRUPT || status == LB_UNSUPPORTED);
            bytes[at] ^= 0x41;
        }
        free(bytes);
    }
}

static void names(void **state)
{
    (void)state;
    assert_ptr_equal(&lb_container_gzip, lb_container_of_path(LB_STR("a/orders.csv.GZ")));
    assert_ptr_equal(&lb_container_zstd, lb_container_of_path(LB_STR("orders.zst")));
    assert_null(lb_container_of_path(LB_STR("a.gz/orders")));
    assert_null(lb_container_of_path(LB_STR("orders.csv")));
    assert_null(lb_container_of_path(LB_STR("")));
    lb_str inner = lb_container_strip(LB_STR("a/orders.csv.bz2"));
    assert_int_equal(strlen("a/orders.csv"), inner.size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pieces),   cmocka_unit_test(from_every_border),
        cmocka_unit_test(cut_anywhere), cmocka_unit_test(turned_anywhere),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
