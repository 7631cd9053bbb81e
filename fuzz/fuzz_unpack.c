/* Files compressed as a whole: in one piece and in small ones the same bytes and the same outcome, and so from every border on. The
 * first byte says which container, the second how small the pieces are. */
#include <stdlib.h>
#include <string.h>

#include "codec/unpack.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define MOST ((size_t)1 << 18)
#define BORDERS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const lb_container *const containers[] = { &lb_container_gzip, &lb_container_zstd, &lb_container_bzip2,
                                                  &lb_container_xz, &lb_container_lz4 };

typedef struct border {
    lb_unpack_point point;
    size_t out_at;
} border;

typedef struct outcome {
    uint8_t *bytes;
    size_t size;
    lb_status status;
    bool ended; /* with the file; else there is more than MOST */
    border borders[BORDERS];
    size_t n;
} outcome;

/* Decompress from a border (NULL: the beginning), where the first bytes of o->bytes are there. */
static void unpack(const lb_container *c, const uint8_t *data, size_t size, size_t piece, const border *from,
                   outcome *o)
{
    lb_unpack_memory memory = { .budget = NULL };
    lb_unpacker *u = c->open(&memory);
    size_t at = from == NULL ? 0 : (size_t)from->point.byte, given = at, before = from == NULL ? 0 : from->out_at;
    lb_unpack_io io = {
        .in = data + at, .in_at = at, .out = o->bytes + before, .history = o->bytes, .stop_at_borders = true
    };
    lb_unpack_stop stop = LB_UNPACK_INPUT;

    REQUIRE(u != NULL);
    if (from != NULL)
        io.history = io.out - from->point.window;
    REQUIRE(c->begin(u, from == NULL ? NULL : &from->point, NULL) == LB_OK);
    do {
        lb_unpack_point point = { 0 };
        if (stop == LB_UNPACK_INPUT)
            given += LB_MIN(piece, size - given);
        io.in_end = data + given;
        io.in_last = given == size;
        io.out_end = o->bytes + LB_MIN((size_t)(io.out - o->bytes) + piece, MOST);
        o->status = c->run(u, &io, &stop, &point, NULL);
        REQUIRE(io.in <= io.in_end && io.out <= io.out_end && io.in_at == (size_t)(io.in - data));
        if (o->status == LB_OK && stop == LB_UNPACK_BORDER && o->n < BORDERS)
            o->borders[o->n++] = (border){ point, (size_t)(io.out - o->bytes) };
    } while (o->status == LB_OK && stop != LB_UNPACK_END && (stop != LB_UNPACK_ROOM || io.out < o->bytes + MOST));
    o->ended = o->status == LB_OK && stop == LB_UNPACK_END;
    o->size = (size_t)(io.out - o->bytes);
    c->close(u);
}

static void from_borders(const lb_container *c, const uint8_t *data, size_t size, const outcome *whole)
{
    for (size_t i = 0; i < whole->n; i++) {
        size_t before = whole->borders[i].out_at, window = whole->borders[i].point.window;
        outcome rest = { .bytes = calloc(1, MOST) };
        REQUIRE(rest.bytes != NULL && window <= before);
        memcpy(rest.bytes + before - window, whole->bytes + before - window, window);
        unpack(c, data, size, MOST, &whole->borders[i], &rest);
        REQUIRE(rest.ended && rest.size == whole->size);
        REQUIRE(memcmp(rest.bytes + before, whole->bytes + before, whole->size - before) == 0);
        free(rest.bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const lb_container *c = containers[data[0] % LB_COUNT_OF(containers)];
    size_t piece = (size_t)data[1] + 1;
    data += 2;
    size -= 2;
    outcome whole = { .bytes = malloc(MOST) }, parts = { .bytes = malloc(MOST) };
    REQUIRE(whole.bytes != NULL && parts.bytes != NULL);
    unpack(c, data, size, MOST, NULL, &whole);
    unpack(c, data, size, piece, NULL, &parts);
    /* Where it goes wrong, more or less may have come before, up to all that is asked for. */
    REQUIRE(whole.ended == parts.ended);
    REQUIRE(whole.status == parts.status || whole.size == MOST || parts.size == MOST);
    REQUIRE(!whole.ended || whole.size == parts.size);
    REQUIRE(memcmp(whole.bytes, parts.bytes, LB_MIN(whole.size, parts.size)) == 0);
    if (whole.ended)
        from_borders(c, data, size, &whole);
    free(whole.bytes);
    free(parts.bytes);
    return 0;
}
