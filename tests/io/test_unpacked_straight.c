/* Reads of whole frames go straight to where they are wanted: they give what other reads give, by any number of threads, hold
 * checksums against what came, and tell frames that give more or less than they say. The tap gets the file's bytes in order. */
#include "io/unpacked.h"

#include <libdeflate.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <zstd.h>

#include <cmocka.h>

#define TEXT ((size_t)12 << 20)
#define THREADS 4
#define PACKED_MOST (TEXT + TEXT / 4)

static uint8_t *text;
static uint64_t random_state = 88172645463325252u;

static uint64_t random_of(uint64_t *state, uint64_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (*state >> 11) % n;
}

/* Text of some repetition, so that matches reach back. */
static int make_text(void **state)
{
    (void)state;
    text = malloc(TEXT);
    for (size_t i = 0; text != NULL && i < TEXT; i++)
        text[i] = i > 1000 && random_of(&random_state, 3) != 0 ? text[i - 1 - random_of(&random_state, 900)]
                                                               : (uint8_t)('a' + random_of(&random_state, 20));
    return text == NULL ? -1 : 0;
}

static int free_text(void **state)
{
    (void)state;
    free(text);
    return 0;
}

/* ---------------------------------------------------------------- files */

/* A frame of so many bytes; frames of no bytes are right, too. */
typedef size_t pack_fn(const uint8_t *from, size_t n, uint8_t *to, size_t room);

static size_t pack_zstd_as(const uint8_t *from, size_t n, uint8_t *to, size_t room, int sum)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();

    assert_non_null(c);
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1);
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, sum);
    size_t size = ZSTD_compress2(c, to, room, from, n);
    assert_false(ZSTD_isError(size));
    (void)ZSTD_freeCCtx(c);
    return size;
}

static size_t pack_zstd(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
    return pack_zstd_as(from, n, to, room, 0);
}

static size_t pack_zstd_sum(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
    return pack_zstd_as(from, n, to, room, 1);
}

static void put_u32(uint8_t *to, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

typedef size_t body_fn(const uint8_t *from, size_t n, uint8_t *to, size_t room);

static size_t body_compressed(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);

    assert_non_null(c);
    const size_t size = libdeflate_deflate_compress(c, from, n, to, room);
    libdeflate_free_compressor(c);
    assert_true(size != 0);
    return size;
}

/* A block that is stored, and behind it, as flushing leaves them, two of no bytes. */
static size_t body_stored(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
    static const uint8_t empty[10] = { 0, 0, 0, 0xFF, 0xFF, 1, 0, 0, 0xFF, 0xFF };

    assert_true(n <= UINT16_MAX && n + 5 + sizeof empty <= room);
    to[0] = 0;
    to[1] = (uint8_t)n;
    to[2] = (uint8_t)(n >> 8);
    to[3] = (uint8_t)~to[1];
    to[4] = (uint8_t)~to[2];
    if (n != 0)
        memcpy(to + 5, from, n);
    memcpy(to + 5 + n, empty, sizeof empty);
    return n + 5 + sizeof empty;
}

/* Members of BGZF. */
static size_t pack_members(const uint8_t *from, size_t n, uint8_t *to, size_t room, body_fn *pack_body)
{
    static const uint8_t head[18] = { 31, 139, 8, 4, 0, 0, 0, 0, 0, 255, 6, 0, 'B', 'C', 2, 0, 0, 0 };
    size_t size = 0;

    for (size_t at = 0, piece; at < n || size == 0; at += piece) {
        uint8_t *member = to + size;
        piece = LB_MIN(n - at, (size_t)65280);
        const size_t whole = pack_body(from + at, piece, member + sizeof head, room - size - 26) + 26;
        memcpy(member, head, sizeof head);
        member[16] = (uint8_t)(whole - 1);
        member[17] = (uint8_t)((whole - 1) >> 8);
        put_u32(member + whole - 8, libdeflate_crc32(0, from + at, piece));
        put_u32(member + whole - 4, (uint32_t)piece);
        size += whole;
    }
    return size;
}

static size_t pack_bgzf(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
    return pack_members(from, n, to, room, body_compressed);
}

static size_t pack_bgzf_flushed(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
    return pack_members(from, n, to, room, body_stored);
}

static const struct {
    const char *name;
    const lb_container *container;
    pack_fn *pack;
    bool sums;
    unsigned behind; /* so many bytes before a point is the last byte of the checksum before it */
} kinds[] = { { "zstd", &lb_container_zstd, pack_zstd, false, 0 },
              { "zstd with checksums", &lb_container_zstd, pack_zstd_sum, true, 1 },
              { "BGZF", &lb_container_gzip, pack_bgzf, true, 18 + 5 },
              { "BGZF, flushed", &lb_container_gzip, pack_bgzf_flushed, true, 18 + 5 } };

typedef struct view {
    lb_context *cx;
    lb_store *packed, *store;
    uint8_t *bytes;
    size_t size;
    uint64_t tapped;
    bool tapped_right;
    uint64_t seed; /* of one thread */
} view;

static void tap(void *user, const uint8_t *bytes, size_t size)
{
    view *v = user;

    v->tapped_right = v->tapped_right && size <= v->size - v->tapped && memcmp(v->bytes + v->tapped, bytes, size) == 0;
    v->tapped += size;
}

/* Frames of one size. */
static void pack_evenly(view *v, size_t kind, size_t each)
{
    *v = (view){ .tapped_right = true };
    v->bytes = malloc(PACKED_MOST);
    assert_non_null(v->bytes);
    for (size_t at = 0, n; at < TEXT; at += n) {
        n = LB_MIN(each, TEXT - at);
        v->size += kinds[kind].pack(text + at, n, v->bytes + v->size, PACKED_MOST - v->size);
    }
}

/* Frames of 1 to 600 KiB, some of a few bytes or none. */
static void pack_view(view *v, size_t kind)
{
    *v = (view){ .tapped_right = true };
    v->bytes = malloc(PACKED_MOST);
    assert_non_null(v->bytes);
    for (size_t at = 0, n; at < TEXT; at += n) {
        n = random_of(&random_state, 8) == 0 ? random_of(&random_state, 40)
                                             : 1024 + random_of(&random_state, 600 << 10);
        n = LB_MIN(n, TEXT - at);
        v->size += kinds[kind].pack(text + at, n, v->bytes + v->size, PACKED_MOST - v->size);
    }
}

static void open_view(view *v, size_t kind, uint64_t memory)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = THREADS, .memory_limit = memory };

    assert_int_equal(LB_OK, lb_context_new(&options, &v->cx, NULL));
    assert_int_equal(LB_OK, lb_store_open_memory(v->bytes, v->size, &v->packed, NULL));
    assert_int_equal(LB_OK, lb_store_open_unpacked(v->cx, v->packed, kinds[kind].container, &v->store, NULL));
    assert_int_equal(LB_OK, lb_unpacked_look(v->store, v->packed, NULL));
    assert_int_equal(TEXT, v->store->size);
    lb_unpacked_tap(v->store, tap, v);
}

static void close_view(view *v)
{
    lb_store_close(v->store);
    lb_store_close(v->packed);
    assert_int_equal(0, v->cx->budget.used);
    lb_context_free(v->cx);
}

/* ---------------------------------------------------------------- reading */

static bool read_right(lb_store *store, uint64_t at, size_t size, uint8_t *room)
{
    size_t n, want = LB_MIN(size, TEXT - (size_t)at);

    memset(room, 0x55, want + 64);
    if (lb_store_read(store, at, room, size, &n, NULL) != LB_OK || n != want || memcmp(room, text + at, n) != 0)
        return false;
    for (size_t i = 0; i < 64; i++)
        if (room[want + i] != 0x55)
            return false;
    return true;
}

/* From one point to another, some bytes more or less at the end, and a bit of what follows. */
static void *read_frames(void *user)
{
    view *v = user;
    const lb_unpacked_point *points;
    const size_t n = lb_unpacked_points(v->store, &points);
    uint8_t *room = malloc(TEXT + 64);
    bool good = room != NULL;

    for (unsigned i = 0; good && i < 60; i++) {
        const size_t a = random_of(&v->seed, n + 1), many = random_of(&v->seed, 4), b = LB_MIN(n, a + many);
        const uint64_t from = a == n ? 0 : points[a].out_at, to = b == n ? TEXT : points[b].out_at;
        if (to <= from)
            continue;
        const size_t more = random_of(&v->seed, 3) == 0 ? random_of(&v->seed, 40000) : 1, size = (size_t)(to - from);
        good = read_right(v->store, from, size + more, room) &&
               (to == TEXT || read_right(v->store, to + 1, 1 + random_of(&v->seed, 20000), room)) &&
               read_right(v->store, random_of(&v->seed, TEXT), 1 + random_of(&v->seed, 300000), room);
    }
    free(room);
    return good ? v : NULL;
}

static void test_threads_read_what_is_there(void **state)
{
    (void)state;
    for (size_t k = 0; k < LB_COUNT_OF(kinds); k++)
        for (unsigned memory = 16; memory <= 1024; memory *= 64) {
            pthread_t threads[THREADS];
            view v, each[THREADS];
            pack_view(&v, k);
            open_view(&v, k, (uint64_t)memory << 20);
            for (size_t i = 0; i < THREADS; i++) {
                each[i] = v;
                each[i].seed = 1 + random_of(&random_state, UINT64_MAX);
                assert_int_equal(0, pthread_create(&threads[i], NULL, read_frames, &each[i]));
            }
            for (size_t i = 0; i < THREADS; i++) {
                void *result;
                assert_int_equal(0, pthread_join(threads[i], &result));
                assert_non_null(result);
            }
            assert_true(v.tapped_right);
            close_view(&v);
            free(v.bytes);
        }
}

/* ---------------------------------------------------------------- the tap */

typedef struct share {
    view *v;
    uint64_t *next; /* the point where the next frames begin */
    pthread_mutex_t *lock;
} share;

/* Every other thread takes the next frames, of which some are read late. */
static void *read_next(void *user)
{
    const share *s = user;
    const lb_unpacked_point *points;
    const size_t n = lb_unpacked_points(s->v->store, &points);
    uint8_t *room = malloc(TEXT + 64);
    bool good = room != NULL;

    while (good) {
        pthread_mutex_lock(s->lock);
        const size_t i = (*s->next)++;
        pthread_mutex_unlock(s->lock);
        if (i > n)
            break;
        const uint64_t from = i == 0 ? 0 : points[i - 1].out_at, to = i == n ? TEXT : points[i].out_at;
        good = read_right(s->v->store, from, (size_t)(to - from), room);
    }
    free(room);
    return good ? s->v : NULL;
}

static void test_the_tap_gets_all_in_order(void **state)
{
    (void)state;
    for (size_t k = 0; k < LB_COUNT_OF(kinds); k++) {
        pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        pthread_t threads[THREADS];
        uint64_t next = 0;
        size_t n;
        uint8_t end;
        view v;
        pack_view(&v, k);
        open_view(&v, k, (uint64_t)1 << 30);
        share s = { &v, &next, &lock };
        for (size_t i = 0; i < THREADS; i++)
            assert_int_equal(0, pthread_create(&threads[i], NULL, read_next, &s));
        for (size_t i = 0; i < THREADS; i++) {
            void *result;
            assert_int_equal(0, pthread_join(threads[i], &result));
            assert_non_null(result);
        }
        assert_int_equal(LB_OK,
                         lb_store_read(v.store, TEXT, &end, 1, &n, NULL)); /* what stands behind the last frame */
        assert_int_equal(0, n);
        assert_true(v.tapped_right);
        assert_int_equal(v.size, v.tapped);
        /* Each byte of the file once, but for what containers look ahead. */
        assert_true(v.packed->bytes_read < v.size + v.size / 4);
        close_view(&v);
        free(v.bytes);
    }
}

/* ---------------------------------------------------------------- damage */

/* All of the view, or each of its frames alone; the first that goes wrong says how. */
static lb_status read_whole(lb_store *store, bool each, uint8_t *out, lb_error *err)
{
    const lb_unpacked_point *points;
    const size_t n = each ? lb_unpacked_points(store, &points) : 0;
    lb_status status = LB_OK;

    for (size_t i = 0; status == LB_OK && i <= n; i++) {
        const uint64_t from = i == 0 ? 0 : points[i - 1].out_at, to = i == n ? TEXT : points[i].out_at;
        size_t got;
        status = lb_store_read(store, from, out + from, (size_t)(to - from), &got, err);
        if (status == LB_OK && got != to - from)
            status = LB_CORRUPT;
    }
    return status;
}

/* A byte of the file is another one: a read of the frames around it gives what was there, or tells; where there are checksums,
 * what is not right is told. */
static void test_damage_is_told(void **state)
{
    uint8_t *room = malloc(TEXT + 64);

    (void)state;
    assert_non_null(room);
    for (size_t k = 0; k < LB_COUNT_OF(kinds); k++) {
        unsigned told = 0;
        view v;
        pack_view(&v, k);
        for (unsigned i = 0; i < 60; i++) {
            const size_t at = random_of(&random_state, v.size);
            const uint8_t was = v.bytes[at];
            lb_error err = LB_ERROR_INIT;
            const lb_context_options options = { .struct_size = sizeof options, .threads = 1, .memory_limit = 1 << 30 };
            v.bytes[at] ^= (uint8_t)(1 + random_of(&random_state, 255));
            assert_int_equal(LB_OK, lb_context_new(&options, &v.cx, NULL));
            assert_int_equal(LB_OK, lb_store_open_memory(v.bytes, v.size, &v.packed, NULL));
            assert_int_equal(LB_OK, lb_store_open_unpacked(v.cx, v.packed, kinds[k].container, &v.store, NULL));
            (void)lb_unpacked_look(v.store, v.packed, NULL);
            const lb_status status = read_whole(v.store, i % 2 != 0, room, &err);
            told += status != LB_OK;
            if (status == LB_OK && kinds[k].sums)
                assert_memory_equal(room, text, TEXT);
            if (status != LB_OK)
                assert_true((status == LB_CORRUPT || status == LB_UNSUPPORTED) && err.message[0] != '\0');
            close_view(&v);
            v.bytes[at] = was;
        }
        assert_true(told == 60 || !kinds[k].sums);
        free(v.bytes);
    }
    free(room);
}

/* The error of reading the view in pieces of one size; one where nothing is wrong. */
static lb_error read_to_error(view *v, size_t kind, bool look, uint8_t *room, size_t piece)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 1, .memory_limit = 1 << 30 };
    lb_status status = LB_OK;
    lb_error err = LB_ERROR_INIT;
    size_t n = piece;

    assert_int_equal(LB_OK, lb_context_new(&options, &v->cx, NULL));
    assert_int_equal(LB_OK, lb_store_open_memory(v->bytes, v->size, &v->packed, NULL));
    assert_int_equal(LB_OK, lb_store_open_unpacked(v->cx, v->packed, kinds[kind].container, &v->store, NULL));
    if (look)
        (void)lb_unpacked_look(v->store, v->packed, NULL);
    for (uint64_t at = 0; status == LB_OK && n == piece; at += n)
        status = lb_store_read(v->store, at, room, piece, &n, &err);
    close_view(v);
    return err;
}

/* Where damage is told to be does not depend on how the view is read. */
static void test_places_are_the_same(void **state)
{
    static const size_t pieces[] = { 1000, 65536, (size_t)1 << 20, TEXT };
    uint8_t *room = malloc(TEXT + 64);

    (void)state;
    assert_non_null(room);
    for (size_t k = 0; k < LB_COUNT_OF(kinds); k++) {
        view v;
        pack_view(&v, k);
        for (unsigned i = 0; i < 4; i++) {
            const size_t at = random_of(&random_state, v.size);
            v.bytes[at] ^= 16;
            const lb_error first = read_to_error(&v, k, false, room, 4096);
            for (unsigned how = 0; how < 2 * LB_COUNT_OF(pieces); how++) {
                const lb_error err = read_to_error(&v, k, how % 2 != 0, room, pieces[how / 2]);
                assert_int_equal(first.code, err.code);
                assert_int_equal(first.offset, err.offset);
                assert_string_equal(first.message, err.message);
            }
            v.bytes[at] ^= 16;
        }
        free(v.bytes);
    }
    free(room);
}

/* The checksum of the last frame of a read is held against what came, too. */
static void test_the_last_checksum_is_met(void **state)
{
    uint8_t *room = malloc(TEXT + 64);

    (void)state;
    assert_non_null(room);
    for (size_t k = 0; k < LB_COUNT_OF(kinds); k++) {
        const lb_unpacked_point *points;
        size_t n;
        view v;
        if (!kinds[k].sums)
            continue;
        pack_evenly(&v, k, 65280);
        open_view(&v, k, (uint64_t)1 << 30);
        assert_true(lb_unpacked_points(v.store, &points) > 6);
        const size_t size = (size_t)(points[5].out_at - points[3].out_at);
        assert_int_equal(LB_OK, lb_store_read(v.store, points[3].out_at, room, size, &n, NULL));
        v.bytes[points[5].at.byte - kinds[k].behind] ^= 1;
        assert_int_equal(LB_CORRUPT, lb_store_read(v.store, points[3].out_at, room, size, &n, NULL));
        close_view(&v);
        free(v.bytes);
    }
    free(room);
}

/* Points that say another size than comes, between the right ones. */
static void test_points_that_lie_are_told(void **state)
{
    uint8_t *room = malloc(TEXT + 64);

    (void)state;
    assert_non_null(room);
    for (size_t k = 0; k < LB_COUNT_OF(kinds); k++)
        for (int by = -1; by <= 1; by += 2) {
            const lb_context_options options = { .struct_size = sizeof options, .threads = 1, .memory_limit = 1 << 30 };
            const lb_unpacked_point *right;
            lb_unpacked_point points[2];
            lb_store *other;
            size_t n;
            view v;
            pack_view(&v, k);
            open_view(&v, k, (uint64_t)1 << 30);
            assert_true(lb_unpacked_points(v.store, &right) > 6);
            points[0] = right[3];
            points[1] = right[5];
            points[1].out_at += (uint64_t)(int64_t)by;
            lb_context *cx = NULL;
            assert_int_equal(LB_OK, lb_context_new(&options, &cx, NULL));
            assert_int_equal(LB_OK, lb_store_open_unpacked(cx, v.packed, kinds[k].container, &other, NULL));
            assert_int_equal(LB_OK, lb_unpacked_know(other, points, 2, NULL));
            const size_t size = (size_t)(points[1].out_at - points[0].out_at);
            assert_int_equal(LB_CORRUPT, lb_store_read(other, points[0].out_at, room, size, &n, NULL));
            assert_int_equal(0, n);
            lb_store_close(other);
            lb_context_free(cx);
            close_view(&v);
            free(v.bytes);
        }
    free(room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_read_what_is_there),
        cmocka_unit_test(test_the_tap_gets_all_in_order),
        cmocka_unit_test(test_damage_is_told),
        cmocka_unit_test(test_places_are_the_same),
        cmocka_unit_test(test_the_last_checksum_is_met),
        cmocka_unit_test(test_points_that_lie_are_told),
    };

    return cmocka_run_group_tests(tests, make_text, free_text);
}
