/* Bzip2: streams of blocks, which begin and end at any bit. A block is cut out by looking for the mark of the next, made a stream of
 * its own, and given to the library; so each block is a restart point. A mark may stand in a block by chance, once in
 * 10^14 bits: a block that does not read up to it is tried up to the next one. */
#include <bzlib.h>
#include <stdlib.h>
#include <string.h>

#include "codec/unpack.h"

#define BZIP2_BLOCK_MARK UINT64_C(0x314159265359)
#define BZIP2_END_MARK UINT64_C(0x177245385090)
#define BZIP2_MARK_BITS 48
#define BZIP2_HEAD_BITS (BZIP2_MARK_BITS + 32) /* a mark and the checksum behind it */

/* A block of 900,000 bytes that cannot be compressed takes little more than that. */
#define BZIP2_BLOCK_MOST ((size_t)2 << 20)
#define BZIP2_QUEUE (BZIP2_BLOCK_MOST + ((size_t)64 << 10))

typedef enum bzip2_state { BZIP2_STREAM, BZIP2_MARK, BZIP2_FIND, BZIP2_GIVE } bzip2_state;

struct lb_unpacker {
    bzip2_state state;
    bz_stream stream; /* of one block */
    bool inside;      /* the library is at work */
    bool first, told;
    bool whole; /* the stream was read from its beginning: its checksum can be held against those of its blocks */
    bool gave;  /* the block has given bytes */
    bool tried; /* it did not read up to some mark */
    uint8_t level;
    uint32_t crc;
    uint8_t *queue; /* input from its first byte that is not past */
    size_t size;
    uint64_t at;    /* of queue[0] in the file */
    size_t bit;     /* bits of the queue that are past */
    size_t next;    /* bit where the mark behind the block begins */
    uint8_t *alone; /* the block as a stream */
    uint8_t *pairs; /* by two bytes: 1 where they can be the second and third of a mark */
    lb_unpack_memory *memory;
};

/* Two bytes of a mark whose first bit is bit `shift` of the byte before them. */
static unsigned bzip2_pair(uint64_t mark, unsigned shift)
{
    return (unsigned)(mark >> (BZIP2_MARK_BITS - 8 - 16 + shift)) & 0xFFFF;
}

static void bzip2_close(lb_unpacker *u)
{
    if (u == NULL)
        return;
    if (u->inside)
        (void)BZ2_bzDecompressEnd(&u->stream);
    lb_unpack_free(u->memory, u->queue);
    lb_unpack_free(u->memory, u->alone);
    lb_unpack_free(u->memory, u->pairs);
    free(u);
}

static lb_unpacker *bzip2_open(lb_unpack_memory *memory)
{
    lb_unpacker *u = calloc(1, sizeof *u);

    if (u == NULL)
        return NULL;
    u->memory = memory;
    u->queue = lb_unpack_alloc(memory, BZIP2_QUEUE);
    u->alone = lb_unpack_alloc(memory, BZIP2_QUEUE + 32);
    u->pairs = lb_unpack_alloc(memory, 65536);
    if (u->queue == NULL || u->alone == NULL || u->pairs == NULL) {
        bzip2_close(u);
        return NULL;
    }
    memset(u->pairs, 0, 65536);
    for (unsigned shift = 0; shift < 8; shift++) {
        u->pairs[bzip2_pair(BZIP2_BLOCK_MARK, shift)] = 1;
        u->pairs[bzip2_pair(BZIP2_END_MARK, shift)] = 1;
    }
    return u;
}

static void bzip2_leave(lb_unpacker *u)
{
    if (u->inside)
        (void)BZ2_bzDecompressEnd(&u->stream);
    u->inside = false;
}

static lb_status bzip2_begin(lb_unpacker *u, const lb_unpack_point *point, lb_error *err)
{
    (void)err;
    bzip2_leave(u);
    u->first = point == NULL;
    u->told = point != NULL;
    u->whole = false;
    u->size = 0;
    u->bit = point == NULL ? 0 : point->bit;
    u->level = point == NULL ? 0 : point->param;
    u->state = point == NULL ? BZIP2_STREAM : BZIP2_MARK;
    return LB_OK;
}

/* ---------------------------------------------------------------- the queue */

static uint64_t bzip2_place(const lb_unpacker *u, const lb_unpack_io *io)
{
    return u->size == 0 ? io->in_at : u->at + u->bit / 8;
}

static lb_status bzip2_fail(const lb_unpacker *u, const lb_unpack_io *io, const char *what, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_AT(bzip2_place(u, io)), "bzip2: %s", what);
}

/* Drop whole bytes that are past. */
static void bzip2_drop(lb_unpacker *u)
{
    size_t n = LB_MIN(u->bit / 8, u->size);

    memmove(u->queue, u->queue + n, u->size - n);
    u->size -= n;
    u->at += n;
    u->bit -= 8 * n;
}

/* Move input to the queue; false: nothing came. */
static bool bzip2_fill(lb_unpacker *u, lb_unpack_io *io)
{
    size_t n = LB_MIN((size_t)(io->in_end - io->in), BZIP2_QUEUE - u->size);

    if (n == 0)
        return false;
    if (u->size == 0)
        u->at = io->in_at;
    memcpy(u->queue + u->size, io->in, n);
    u->size += n;
    io->in += n;
    io->in_at += n;
    return true;
}

/* Are `bits` of input there? If not, more are asked for, or there are none (CORRUPT). */
static lb_status bzip2_need(lb_unpacker *u, lb_unpack_io *io, size_t bits, bool *wait, lb_unpack_stop *stop,
                            lb_error *err)
{
    while (u->size * 8 < u->bit + bits && bzip2_fill(u, io))
        ;
    *wait = u->size * 8 < u->bit + bits;
    *stop = LB_UNPACK_INPUT;
    return *wait && io->in_last ? bzip2_fail(u, io, "the file ends inside a stream", err) : LB_OK;
}

/* `n` bits (at most 48) from bit `at` on, all of them in the queue. */
static uint64_t bzip2_bits(const uint8_t *p, size_t at, unsigned n)
{
    uint64_t v = 0;

    for (size_t i = at / 8; i <= (at + n - 1) / 8; i++)
        v = v << 8 | p[i];
    return v >> (7 - (at + n - 1) % 8) & (((uint64_t)1 << n) - 1);
}

/* ---------------------------------------------------------------- streams and marks */

static lb_status bzip2_stream(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    bzip2_drop(u);
    if (!u->first && u->size == 0 && io->in == io->in_end && io->in_last) {
        *wait = true;
        *stop = LB_UNPACK_END;
        return LB_OK;
    }
    (void)bzip2_fill(u, io);
    if (!u->first && memcmp(u->queue, "BZh", LB_MIN(u->size, (size_t)3)) != 0)
        return bzip2_fail(u, io, "bytes that are no bzip2 follow the last stream", err);
    LB_TRY(bzip2_need(u, io, 32, wait, stop, err));
    if (*wait)
        return LB_OK;
    if (memcmp(u->queue, "BZh", 3) != 0 || u->queue[3] < '1' || u->queue[3] > '9')
        return lb_unpack_is_other(bzip2_place(u, io), "bzip2", err);
    u->level = u->queue[3];
    u->bit = 32;
    u->first = false;
    u->told = false;
    u->whole = true;
    u->crc = 0;
    u->state = BZIP2_MARK;
    return LB_OK;
}

/* The end of a stream: its checksum, and bits up to a whole byte. */
static lb_status bzip2_end(lb_unpacker *u, const lb_unpack_io *io, lb_error *err)
{
    if (u->whole && bzip2_bits(u->queue, u->bit + BZIP2_MARK_BITS, 32) != u->crc)
        return bzip2_fail(u, io, "the checksum of a stream does not hold for its blocks", err);
    u->bit = (u->bit + BZIP2_HEAD_BITS + 7) / 8 * 8;
    u->state = BZIP2_STREAM;
    return LB_OK;
}

static lb_status bzip2_mark(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_unpack_point *point,
                            lb_error *err)
{
    bzip2_drop(u);
    LB_TRY(bzip2_need(u, io, BZIP2_HEAD_BITS, wait, stop, err));
    if (*wait)
        return LB_OK;
    uint64_t mark = bzip2_bits(u->queue, u->bit, BZIP2_MARK_BITS);
    if (mark == BZIP2_END_MARK)
        return bzip2_end(u, io, err);
    if (mark != BZIP2_BLOCK_MARK)
        return bzip2_fail(u, io, "neither a block nor the end of the stream", err);
    if (io->stop_at_borders && !u->told) {
        u->told = true;
        *wait = true;
        *stop = LB_UNPACK_BORDER;
        *point = (lb_unpack_point){ .byte = u->at + u->bit / 8, .bit = (unsigned)(u->bit % 8), .param = u->level };
        return LB_OK;
    }
    u->told = false;
    u->gave = u->tried = false;
    u->next = u->bit + BZIP2_HEAD_BITS;
    u->state = BZIP2_FIND;
    return LB_OK;
}

/* ---------------------------------------------------------------- blocks */

/* The bit where a mark begins, at `from` or behind; SIZE_MAX: none that is all in the queue. */
static size_t bzip2_find_mark(const lb_unpacker *u, size_t from)
{
    for (size_t i = from / 8; i + 8 <= u->size; i++) {
        if (u->pairs[u->queue[i + 1] << 8 | u->queue[i + 2]] == 0)
            continue;
        for (size_t bit = LB_MAX(8 * i, from); bit < 8 * i + 8; bit++) {
            uint64_t mark = bzip2_bits(u->queue, bit, BZIP2_MARK_BITS);
            if (mark == BZIP2_BLOCK_MARK || mark == BZIP2_END_MARK)
                return bit;
        }
    }
    return SIZE_MAX;
}

/* The same near the end of the input, where fewer than 8 bytes follow. */
static size_t bzip2_find_last_mark(const lb_unpacker *u, size_t from)
{
    for (size_t bit = from; bit + BZIP2_MARK_BITS <= 8 * u->size; bit++) {
        uint64_t mark = bzip2_bits(u->queue, bit, BZIP2_MARK_BITS);
        if (mark == BZIP2_BLOCK_MARK || mark == BZIP2_END_MARK)
            return bit;
    }
    return SIZE_MAX;
}

/* Append `n` bits (at most 56) to a stream of so many bits. */
static size_t bzip2_put(uint8_t *out, size_t at, uint64_t v, unsigned n)
{
    for (unsigned i = n; i-- > 0; at++) {
        if (at % 8 == 0)
            out[at / 8] = 0;
        out[at / 8] |= (uint8_t)((v >> i & 1) << (7 - at % 8));
    }
    return at;
}

/* The block as a stream: a header, its bits, and an end whose checksum is the block's. Gives its size in bytes. */
static size_t bzip2_alone(lb_unpacker *u)
{
    size_t bits = u->next - u->bit, whole = bits / 8, first = u->bit / 8;
    unsigned shift = (unsigned)(u->bit % 8);
    uint8_t *out = u->alone + 4;

    memcpy(u->alone, "BZh", 3);
    u->alone[3] = u->level;
    for (size_t i = 0; i < whole; i++)
        out[i] = (uint8_t)(u->queue[first + i] << shift | (shift == 0 ? 0 : u->queue[first + i + 1] >> (8 - shift)));
    size_t at = 8 * whole;
    if (bits % 8 != 0)
        at = bzip2_put(out, at, bzip2_bits(u->queue, u->bit + at, (unsigned)(bits % 8)), (unsigned)(bits % 8));
    at = bzip2_put(out, at, BZIP2_END_MARK, BZIP2_MARK_BITS);
    at = bzip2_put(out, at, bzip2_bits(u->queue, u->bit + BZIP2_MARK_BITS, 32), 32);
    return 4 + (at + 7) / 8;
}

static void *bzip2_alloc(void *memory, int count, int size)
{
    size_t bytes;

    if (count < 0 || size < 0 || !lb_mul_size((size_t)count, (size_t)size, &bytes))
        return NULL;
    return lb_unpack_alloc(memory, bytes);
}

static void bzip2_free(void *memory, void *p)
{
    lb_unpack_free(memory, p);
}

static lb_status bzip2_enter(lb_unpacker *u, lb_error *err)
{
    bzip2_leave(u);
    u->stream = (bz_stream){ .bzalloc = bzip2_alloc, .bzfree = bzip2_free, .opaque = u->memory };
    if (BZ2_bzDecompressInit(&u->stream, 0, 0) != BZ_OK)
        return lb_unpack_no_memory(u->memory, "bzip2", err);
    u->inside = true;
    u->stream.next_in = (char *)u->alone;
    u->stream.avail_in = (unsigned)bzip2_alone(u);
    u->state = BZIP2_GIVE;
    return LB_OK;
}

/* Look for the mark behind the block. */
static lb_status bzip2_find(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    for (;;) {
        size_t found = bzip2_find_mark(u, u->next);
        bool all = io->in == io->in_end && io->in_last;
        if (found == SIZE_MAX && all)
            found = bzip2_find_last_mark(u, LB_MAX(u->next, u->size < 8 ? 0 : 8 * (u->size - 8)));
        if (found != SIZE_MAX) {
            u->next = found;
            return bzip2_enter(u, err);
        }
        if (all)
            return bzip2_fail(u, io, u->tried ? "a block is damaged" : "the file ends inside a block", err);
        if (u->size >= BZIP2_BLOCK_MOST)
            return bzip2_fail(u, io, u->tried ? "a block is damaged" : "a block does not end", err);
        u->next = LB_MAX(u->next, u->size < 8 ? 0 : 8 * (u->size - 7));
        *wait = !bzip2_fill(u, io);
        *stop = LB_UNPACK_INPUT;
        if (*wait)
            return LB_OK;
    }
}

/* The block did not read up to the mark. It may be one by chance, if there is another. */
static lb_status bzip2_try_next(lb_unpacker *u, const lb_unpack_io *io, lb_error *err)
{
    if (u->gave ||
        (bzip2_bits(u->queue, u->next, BZIP2_MARK_BITS) == BZIP2_END_MARK && io->in == io->in_end && io->in_last))
        return bzip2_fail(u, io, "a block is damaged", err);
    u->next++;
    u->tried = true;
    u->state = BZIP2_FIND;
    return LB_OK;
}

static void bzip2_block_ends(lb_unpacker *u)
{
    uint32_t crc = (uint32_t)bzip2_bits(u->queue, u->bit + BZIP2_MARK_BITS, 32);

    u->crc = (u->crc << 1 | u->crc >> 31) ^ crc;
    u->bit = u->next;
    u->state = BZIP2_MARK;
}

static lb_status bzip2_give(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    size_t space = (size_t)(io->out_end - io->out);
    unsigned room = (unsigned)LB_MIN(space, (size_t)1 << 30);

    *stop = LB_UNPACK_ROOM;
    *wait = room == 0;
    if (*wait)
        return LB_OK;
    u->stream.next_out = (char *)io->out;
    u->stream.avail_out = room;
    int result = BZ2_bzDecompress(&u->stream);
    unsigned came = room - u->stream.avail_out;
    io->out += came;
    u->gave = u->gave || came != 0;
    if (result == BZ_MEM_ERROR)
        return lb_unpack_no_memory(u->memory, "bzip2", err);
    if (result == BZ_STREAM_END) {
        bzip2_leave(u);
        bzip2_block_ends(u);
        return LB_OK;
    }
    return result == BZ_OK && came != 0 ? LB_OK : bzip2_try_next(u, io, err);
}

static lb_status bzip2_step(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_unpack_point *point,
                            lb_error *err)
{
    *wait = false;
    switch (u->state) {
    case BZIP2_STREAM:
        return bzip2_stream(u, io, wait, stop, err);
    case BZIP2_MARK:
        return bzip2_mark(u, io, wait, stop, point, err);
    case BZIP2_FIND:
        return bzip2_find(u, io, wait, stop, err);
    case BZIP2_GIVE:
        return bzip2_give(u, io, wait, stop, err);
    }
    return LB_OK;
}

static lb_status bzip2_run(lb_unpacker *u, lb_unpack_io *io, lb_unpack_stop *stop, lb_unpack_point *point,
                           lb_error *err)
{
    bool wait = false;
    lb_status status = LB_OK;

    while (status == LB_OK && !wait)
        status = bzip2_step(u, io, &wait, stop, point, err);
    return status;
}

const lb_container lb_container_bzip2 = {
    .name = "bzip2",
    .endings = (const char *const[]){ "bz2", "bzip2", NULL },
    .point_kind = "bzip2_block",
    .open = bzip2_open,
    .close = bzip2_close,
    .begin = bzip2_begin,
    .run = bzip2_run,
};
