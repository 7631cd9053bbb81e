/* Views of compressed files: what the file says of its frames (BGZF, Zstandard, the index of xz) is held against what comes. Reads of
 * whole frames, of some bytes here and there, and of all from the beginning by a view that knows of no frames give the same. The
 * first byte says which container, the next ones which reads. */
#include <stdlib.h>
#include <string.h>

#include "io/unpacked.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define MOST ((size_t)512 << 10)
#define READS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const lb_container *const containers[] = { &lb_container_gzip, &lb_container_zstd, &lb_container_xz };

typedef struct fuzz_view {
    lb_store *packed, *store;
    const uint8_t *data;
    uint64_t tapped;
} fuzz_view;

static void tap(void *user, const uint8_t *bytes, size_t size)
{
    fuzz_view *v = user;

    REQUIRE(size <= v->packed->size - v->tapped && memcmp(v->data + v->tapped, bytes, size) == 0);
    v->tapped += size;
}

static void view_open(fuzz_view *v, lb_context *cx, const lb_container *c, const uint8_t *data, size_t size)
{
    *v = (fuzz_view){ .data = data };
    REQUIRE(lb_store_open_memory(data, size, &v->packed, NULL) == LB_OK);
    REQUIRE(lb_store_open_unpacked(cx, v->packed, c, &v->store, NULL) == LB_OK);
    lb_unpacked_tap(v->store, tap, v);
}

static void view_close(fuzz_view *v)
{
    lb_store_close(v->store);
    lb_store_close(v->packed);
}

/* A read gives what all of it has there, if that came so far; where all came, it gives no less. */
static void read_some(fuzz_view *v, uint64_t at, size_t size, const uint8_t *all, size_t came, bool ended)
{
    uint8_t *room = malloc(size);
    size_t got;

    REQUIRE(room != NULL);
    const lb_status status = lb_store_read(v->store, at, room, size, &got, NULL);
    REQUIRE(got <= size && (status == LB_OK || got == 0));
    if (status == LB_OK && at < came)
        REQUIRE(memcmp(room, all + at, LB_MIN(got, came - (size_t)at)) == 0);
    if (status == LB_OK && ended)
        REQUIRE(at >= came ? got == 0 : got == LB_MIN(size, came - (size_t)at));
    free(room);
}

/* From one point on to another, and a bit more. */
static void read_frames(fuzz_view *v, uint8_t which, const uint8_t *all, size_t came, bool ended)
{
    const lb_unpacked_point *points;
    const size_t n = lb_unpacked_points(v->store, &points), a = which % (n + 1), b = a + which / 16 % 4;
    const uint64_t from = a == 0 ? 0 : points[a - 1].out_at,
                   to = b == 0 || b > n ? v->store->size : points[b - 1].out_at;

    if (to > from)
        read_some(v, from, (size_t)LB_MIN(to - from + which % 2, (uint64_t)MOST), all, came, ended);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 2, .memory_limit = 64 << 20 };
    fuzz_view plain, known;
    lb_context *cx;
    uint8_t *all = malloc(MOST);
    size_t came;

    if (size < 1 + READS || all == NULL) {
        free(all);
        return 0;
    }
    REQUIRE(lb_context_new(&options, &cx, NULL) == LB_OK);
    const lb_container *c = containers[data[0] % LB_COUNT_OF(containers)];
    view_open(&plain, cx, c, data + 1 + READS, size - 1 - READS);
    view_open(&known, cx, c, data + 1 + READS, size - 1 - READS);
    const lb_status status = lb_store_read(plain.store, 0, all, MOST, &came, NULL);
    (void)lb_unpacked_look(known.store, known.packed, NULL);
    for (size_t i = 0; i < READS; i++) {
        const bool ended = status == LB_OK && came < MOST;
        read_frames(&known, data[1 + i], all, came, ended);
        read_some(&known, (uint64_t)data[1 + i] << 11, (size_t)data[1 + i] << 5 | 1, all, came, ended);
    }
    view_close(&plain);
    view_close(&known);
    REQUIRE(cx->budget.used == 0);
    lb_context_free(cx);
    free(all);
    return 0;
}
