/* Restartable inflate: in one piece and in small ones it gives the same bytes and the same outcome; what zlib decodes, it decodes
 * alike, and nothing else; and it goes on alike from the border of a block with only the bytes that were noted. The first byte of the input says
 * how small the pieces are. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "codec/inflate.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define MOST ((size_t)1 << 18)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct outcome {
    uint8_t *bytes;
    size_t size;
    lb_status status;
    bool ended; /* with the last block; else there is more than MOST */
} outcome;

/* Decode with so much input and room at a time. */
static outcome in_pieces(const uint8_t *data, size_t size, size_t in_piece, size_t out_piece)
{
    outcome o = { .bytes = malloc(MOST) };
    lb_inflate *z = lb_inflate_new();
    lb_inflate_io io = { .in = data, .out = o.bytes, .history = o.bytes };
    lb_inflate_stop stop = LB_INFLATE_INPUT;
    size_t given = 0;

    REQUIRE(o.bytes != NULL && z != NULL);
    lb_inflate_begin(z, 0);
    do {
        if (stop == LB_INFLATE_INPUT)
            given += LB_MIN(in_piece, size - given);
        io.in_end = data + given;
        io.in_last = given == size;
        io.out_end = o.bytes + LB_MIN((size_t)(io.out - o.bytes) + out_piece, MOST);
        o.status = lb_inflate_run(z, &io, &stop, NULL);
        REQUIRE(io.in <= io.in_end && io.out <= io.out_end && io.in_at == (size_t)(io.in - data));
    } while (o.status == LB_OK && stop != LB_INFLATE_END && io.out < o.bytes + MOST);
    o.ended = o.status == LB_OK && stop == LB_INFLATE_END;
    o.size = (size_t)(io.out - o.bytes);
    lb_inflate_free(z);
    return o;
}

/* To the first border, then to the end twice: on, noting, and from there with nothing but what was noted. */
static void from_border(const uint8_t *data, size_t size, const outcome *whole)
{
    uint8_t *out = malloc(MOST), *marks = calloc(1, LB_INFLATE_WINDOW), *again = calloc(1, LB_INFLATE_WINDOW + MOST);
    lb_inflate *z = lb_inflate_new();
    REQUIRE(out != NULL && marks != NULL && again != NULL && z != NULL);
    lb_inflate_io io = { data, data + size, out, out + MOST, out, 0, true, true };
    lb_inflate_stop stop;
    uint64_t byte;
    unsigned bit;

    lb_inflate_begin(z, 0);
    if (lb_inflate_run(z, &io, &stop, NULL) == LB_OK && stop == LB_INFLATE_BLOCK) {
        size_t at = (size_t)(io.out - out), window = LB_MIN(at, (size_t)LB_INFLATE_WINDOW);
        lb_inflate_place(z, &io, &byte, &bit);
        lb_inflate_note(z, marks);
        io.stop_at_blocks = false;
        REQUIRE(lb_inflate_run(z, &io, &stop, NULL) == LB_OK && stop == LB_INFLATE_END);
        uint8_t *start = again + LB_INFLATE_WINDOW;
        for (size_t i = 1; i <= window; i++)
            start[-(ptrdiff_t)i] = marks[LB_INFLATE_WINDOW - i] != 0 ? out[at - i] : 0xA5;
        io = (lb_inflate_io){ data + byte, data + size, start, start + MOST, start - window, byte, true, false };
        lb_inflate_begin(z, bit);
        REQUIRE(lb_inflate_run(z, &io, &stop, NULL) == LB_OK && stop == LB_INFLATE_END);
        REQUIRE((size_t)(io.out - start) == whole->size - at);
        REQUIRE(memcmp(start, whole->bytes + at, whole->size - at) == 0);
    }
    lb_inflate_free(z);
    free(out);
    free(marks);
    free(again);
}

static void with_zlib(const uint8_t *data, size_t size, const outcome *whole)
{
    uint8_t *out = malloc(MOST);
    z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size, .next_out = out, .avail_out = MOST };

    REQUIRE(out != NULL && inflateInit2(&z, -15) == Z_OK);
    int result = inflate(&z, Z_NO_FLUSH);
    REQUIRE((result == Z_STREAM_END) == whole->ended || whole->size == MOST);
    if (result == Z_STREAM_END)
        REQUIRE(z.total_out == whole->size && memcmp(out, whole->bytes, whole->size) == 0);
    inflateEnd(&z);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t piece = (size_t)data[0] + 1;
    data++;
    size--;
    outcome whole = in_pieces(data, size, size, MOST), parts = in_pieces(data, size, piece, piece);
    REQUIRE(whole.status == parts.status && whole.size == parts.size && whole.ended == parts.ended);
    REQUIRE(memcmp(whole.bytes, parts.bytes, whole.size) == 0);
    if (whole.ended)
        from_border(data, size, &whole);
    with_zlib(data, size, &whole);
    free(whole.bytes);
    free(parts.bytes);
    return 0;
}
