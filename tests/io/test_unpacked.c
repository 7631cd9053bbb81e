/* Views of compressed files under a memory limit: cursors give way to each other, and one that does not fit alone says what it needs. */
#include "io/unpacked.h"

#include <libdeflate.h>
#include <lz4frame.h>
#include <lzma.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include <cmocka.h>

#define PIECE ((size_t)6 << 20) /* of text: a stream, or a frame */
#define PIECES 3
#define TEXT (PIECE * PIECES)
#define READS 4

static uint8_t *text;

static int make_text(void **state)
{
    uint32_t x = 1;

    (void)state;
    text = malloc(TEXT);
    for (size_t i = 0; text != NULL && i < TEXT; i++) {
        x = x * 1664525 + 1013904223;
        text[i] = (uint8_t)("0123456789,\n\"abc"[x >> 28]);
    }
    return text == NULL ? -1 : 0;
}

static int free_text(void **state)
{
    (void)state;
    free(text);
    return 0;
}

/* Compressed pieces that take 8 MiB or more to decompress. */
static size_t pack_xz(const uint8_t *from, uint8_t *to, size_t room)
{
    lzma_options_lzma options;
    lzma_filter filters[2] = { { .id = LZMA_FILTER_LZMA2, .options = &options }, { .id = LZMA_VLI_UNKNOWN } };
    size_t size = 0;

    assert_false(lzma_lzma_preset(&options, 0));
    options.dict_size = 8 << 20;
    assert_int_equal(LZMA_OK, lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, from, PIECE, to, &size, room));
    return size;
}

static size_t pack_lz4(const uint8_t *from, uint8_t *to, size_t room)
{
    const LZ4F_preferences_t how = { .frameInfo = { .blockSizeID = LZ4F_max4MB } };
    size_t size = LZ4F_compressFrame(to, room, from, PIECE, &how);

    assert_false(LZ4F_isError(size));
    return size;
}

/* As a stream, so that the frame tells its window and not its size. */
static size_t pack_zstd_window(const uint8_t *from, size_t n, uint8_t *to, size_t room, int window)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_inBuffer in = { from, n, 0 };
    ZSTD_outBuffer out = { to, room, 0 };

    assert_non_null(c);
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1);
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window);
    while (in.pos < in.size)
        assert_false(ZSTD_isError(ZSTD_compressStream2(c, &out, &in, ZSTD_e_continue)));
    assert_int_equal(0, ZSTD_compressStream2(c, &out, &in, ZSTD_e_end));
    (void)ZSTD_freeCCtx(c);
    return out.pos;
}

static size_t pack_zstd(const uint8_t *from, uint8_t *to, size_t room)
{
    return pack_zstd_window(from, PIECE, to, room, 23);
}

static const struct {
    const lb_container *container;
    size_t (*pack)(const uint8_t *from, uint8_t *to, size_t room);
    unsigned least; /* MiB that one cursor takes */
} kinds[] = { { &lb_container_xz, pack_xz, 8 },
              { &lb_container_lz4, pack_lz4, 8 },
              { &lb_container_zstd, pack_zstd, 8 } };

typedef struct view {
    _Atomic unsigned readers;
    lb_context *cx;
    lb_store *packed, *store;
    uint8_t *bytes;
} view;

static void open_view(view *v, size_t kind, uint64_t memory)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 4, .memory_limit = memory };
    size_t room = TEXT + TEXT / 8, size = 0;

    v->bytes = malloc(room);
    assert_non_null(v->bytes);
    for (size_t i = 0; i < PIECES; i++)
        size += kinds[kind].pack(text + i * PIECE, v->bytes + size, room - size);
    assert_int_equal(LB_OK, lb_context_new(&options, &v->cx, NULL));
    assert_int_equal(LB_OK, lb_store_open_memory(v->bytes, size, &v->packed, NULL));
    assert_int_equal(LB_OK, lb_store_open_unpacked(v->cx, v->packed, kinds[kind].container, &v->store, NULL));
}

static void close_view(view *v)
{
    lb_store_close(v->store);
    lb_store_close(v->packed);
    assert_int_equal(0, v->cx->budget.used);
    lb_context_free(v->cx);
    free(v->bytes);
}

static bool read_right(lb_store *store, uint64_t at)
{
    uint8_t got[4096];
    size_t n;

    return lb_store_read(store, at, got, sizeof got, &n, NULL) == LB_OK && n == sizeof got &&
           memcmp(got, text + at, n) == 0;
}

static void *read_some(void *user)
{
    view *v = user;
    bool good = true;
    uint64_t at = atomic_fetch_add(&v->readers, 1);

    for (unsigned i = 0; i < READS; i++) {
        at = at * 6364136223846793005u + 1442695040888963407u;
        good = read_right(v->store, (at >> 20) % (TEXT - 4096)) && good;
    }
    return good ? v : NULL;
}

/* One cursor fits and two do not: four threads that read anywhere take turns. */
static void test_cursors_give_way(void **state)
{
    (void)state;
    for (size_t k = 0; k < LB_COUNT_OF(kinds); k++) {
        pthread_t threads[3];
        view v = { .readers = 0 };
        open_view(&v, k, (uint64_t)(kinds[k].least + 4) << 20);
        assert_true(read_right(v.store, TEXT - 4096)); /* the restart points are known now */
        for (size_t i = 0; i < LB_COUNT_OF(threads); i++)
            assert_int_equal(0, pthread_create(&threads[i], NULL, read_some, &v));
        for (size_t i = 0; i < LB_COUNT_OF(threads); i++) {
            void *result;
            assert_int_equal(0, pthread_join(threads[i], &result));
            assert_non_null(result);
        }
        assert_true(v.cx->budget.used <= v.cx->budget.limit);
        close_view(&v);
    }
}

/* Not even one fits. */
static void test_one_that_does_not_fit_says_so(void **state)
{
    (void)state;
    for (size_t k = 0; k < LB_COUNT_OF(kinds); k++) {
        lb_error err = LB_ERROR_INIT;
        uint8_t byte;
        size_t got;
        char word[64];
        view v;
        open_view(&v, k, (uint64_t)(kinds[k].least - 1) << 20);
        assert_int_equal(LB_BUDGET, lb_store_read(v.store, TEXT / 2, &byte, 1, &got, &err));
        (void)snprintf(word, sizeof word, "passes the memory limit of %u MiB", kinds[k].least - 1);
        assert_non_null(strstr(err.message, word));
        assert_int_equal(0, got);
        close_view(&v);
    }
}

static void *read_refused(void *user)
{
    view *v = user;
    uint8_t byte;
    size_t got;

    return lb_store_read(v->store, 5000 << 10, &byte, 1, &got, NULL) == LB_BUDGET ? v : NULL;
}

/* Nor where many threads ask at once, each of which comes some way before it is refused: none waits again and again for others that
 * are refused as well. So each reads the file a few times, and not thousands. */
static void test_many_that_do_not_fit_end(void **state)
{
    const size_t piece = (size_t)1900 << 10;
    pthread_t threads[16];
    view v = { .readers = 0 };

    (void)state;
    open_view(&v, LB_COUNT_OF(kinds) - 1, (uint64_t)9 << 20);
    lb_store_close(v.store);
    lb_store_close(v.packed);
    size_t room = TEXT + TEXT / 8, size = pack_zstd_window(text, piece, v.bytes, room, 17);
    size += pack_zstd_window(text + piece, piece, v.bytes + size, room - size, 17);
    size += pack_zstd_window(text + 2 * piece, piece, v.bytes + size, room - size, 23);
    assert_int_equal(LB_OK, lb_store_open_memory(v.bytes, size, &v.packed, NULL));
    assert_int_equal(LB_OK, lb_store_open_unpacked(v.cx, v.packed, &lb_container_zstd, &v.store, NULL));
    for (size_t i = 0; i < LB_COUNT_OF(threads); i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, read_refused, &v));
    for (size_t i = 0; i < LB_COUNT_OF(threads); i++) {
        void *result;
        assert_int_equal(0, pthread_join(threads[i], &result));
        assert_non_null(result);
    }
    assert_true(v.packed->bytes_read <= 8 * LB_COUNT_OF(threads) * size);
    close_view(&v);
}

/* With memory for it, what lies apart keeps cursors of its own, and they are counted. */
static void test_what_is_held_is_counted(void **state)
{
    (void)state;
    for (size_t k = 0; k < LB_COUNT_OF(kinds); k++) {
        view v;
        open_view(&v, k, UINT64_C(1) << 30);
        assert_true(read_right(v.store, TEXT - PIECE / 2));
        uint64_t one = v.cx->budget.used;
        assert_true(one >= (uint64_t)kinds[k].least << 20 && one < (uint64_t)(kinds[k].least + 4) << 20);
        assert_true(read_right(v.store, 100));
        assert_true(v.cx->budget.used > one + one / 2);
        close_view(&v);
    }
}

/* A cursor that begins at a restart point has before it but what later bytes refer to: bytes before it come from elsewhere. */
static void test_windows_are_no_text(void **state)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 1, .memory_limit = 256u << 20 };
    const size_t room = TEXT + TEXT / 8;
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);
    lb_context *cx = NULL;
    lb_store *packed = NULL, *store = NULL;
    uint8_t *bytes = malloc(room), *got = malloc(TEXT);
    size_t n = 0, seen = 0;

    (void)state;
    assert_true(bytes != NULL && got != NULL);
    assert_non_null(c);
    const size_t size = libdeflate_gzip_compress(c, text, TEXT, bytes, room);
    libdeflate_free_compressor(c);
    assert_true(size != 0);
    assert_int_equal(LB_OK, lb_context_new(&options, &cx, NULL));
    assert_int_equal(LB_OK, lb_store_open_memory(bytes, size, &packed, NULL));
    assert_int_equal(LB_OK, lb_store_open_unpacked(cx, packed, &lb_container_gzip, &store, NULL));
    assert_int_equal(LB_OK, lb_store_read(store, 0, got, TEXT, &n, NULL));
    assert_int_equal(TEXT, n);
    assert_memory_equal(text, got, TEXT);
    for (uint64_t at = 1; at < TEXT; at++) {
        uint64_t point = store->begin_before(store, at);
        if (point != at)
            continue;
        seen++;
        for (size_t before = 0; before < 40000; before += 1000) {
            assert_int_equal(LB_OK, lb_store_read(store, at, got, 100, &n, NULL));
            assert_int_equal(LB_OK, lb_store_read(store, at - before, got, 2000, &n, NULL));
            assert_memory_equal(text + (at - before), got, n);
        }
    }
    assert_true(seen >= 3);
    lb_store_close(store);
    lb_store_close(packed);
    lb_context_free(cx);
    free(bytes);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cursors_give_way),         cmocka_unit_test(test_one_that_does_not_fit_says_so),
        cmocka_unit_test(test_many_that_do_not_fit_end), cmocka_unit_test(test_what_is_held_is_counted),
        cmocka_unit_test(test_windows_are_no_text),
    };

    return cmocka_run_group_tests(tests, make_text, free_text);
}
