/* The frames of a compressed file, where the file itself says how large they are: its restart points and the view's size are then known
 * before anything is decompressed, and several threads can begin at several places. BGZF tells the size of each member in
 * its header and what came in its trailer; Zstandard tells what comes of a frame in its header, and of blocks where the next begins;
 * xz has an index. What is told is held against what comes, by the members' own sizes or by the view. */
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "io/unpacked.h"

/* Frames of text that begin nearer to each other are no points of their own: of a large file, so that there are some ten thousands. */
#define LOOK_SPACING(size) LB_MAX((uint64_t)64 << 10, (size) >> 14)

/* xz's index is decoded within so much memory: some tens of bytes a block. */
#define LOOK_XZ_MEMORY (UINT64_C(64) << 20)

/* Looks into a file of so many bytes at most: frames and blocks may be as small as a few bytes, and then a walk from one to the next
 * costs more than decompressing. */
#define LOOK_READS(size) (4096 + (size) / 1024)

typedef struct look {
    lb_store *packed;
    lb_unpacked_point *points;
    size_t n, cap;
    uint64_t out;   /* bytes of text so far */
    uint64_t reads; /* that are left: see LOOK_READS */
    bool nomem;
} look;

/* A frame begins at `byte` and gives `size` bytes. False: not to be believed, or no memory. */
static bool look_frame(look *l, uint64_t byte, uint8_t param, uint64_t size)
{
    uint64_t last = l->n == 0 ? 0 : l->points[l->n - 1].out_at;

    if (l->out != 0 && l->out - last >= LOOK_SPACING(l->packed->size)) {
        if (l->n == l->cap) {
            size_t cap = l->cap == 0 ? 64 : l->cap * 2;
            lb_unpacked_point *grown = realloc(l->points, cap * sizeof *grown);
            l->nomem = grown == NULL;
            if (l->nomem)
                return false;
            l->points = grown;
            l->cap = cap;
        }
        l->points[l->n++] = (lb_unpacked_point){ .at = { .byte = byte, .param = param }, .out_at = l->out };
    }
    return lb_add_u64(l->out, size, &l->out) && l->out < LB_SIZE_UNKNOWN;
}

static bool look_read(look *l, uint64_t at, uint8_t *out, size_t size, lb_status *status, lb_error *err)
{
    size_t got = 0;

    *status = LB_OK;
    if (l->reads == 0)
        return false;
    l->reads--;
    *status = lb_store_read(l->packed, at, out, size, &got, err);
    return *status == LB_OK && got == size;
}

static uint32_t look_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ---------------------------------------------------------------- BGZF */

#define LOOK_BGZF_HEAD 18

static bool look_bgzf_head(const uint8_t *p, uint64_t *size)
{
    static const uint8_t head[4] = { 31, 139, 8, 4 }, extra[6] = { 6, 0, 'B', 'C', 2, 0 };

    *size = (uint64_t)p[16] + ((uint64_t)p[17] << 8) + 1;
    return memcmp(p, head, sizeof head) == 0 && memcmp(p + 10, extra, sizeof extra) == 0 && *size > LOOK_BGZF_HEAD + 8;
}

/* The body of a member begins behind its header: there a reader begins. */
static bool look_bgzf(look *l, lb_status *status, lb_error *err)
{
    uint64_t end = l->packed->size, at = 0, size;
    uint8_t bytes[4 + LOOK_BGZF_HEAD];

    if (end < LOOK_BGZF_HEAD || !look_read(l, 0, bytes + 4, LOOK_BGZF_HEAD, status, err))
        return false;
    while (look_bgzf_head(bytes + 4, &size) && size <= end - at) {
        bool last = size == end - at;
        if (!last && end - at - size < LOOK_BGZF_HEAD)
            return false;
        if (!look_read(l, at + size - 4, bytes, last ? 4 : sizeof bytes, status, err) ||
            !look_frame(l, at + LOOK_BGZF_HEAD, 0, look_u32(bytes)))
            return false;
        if (last)
            return true;
        at += size;
    }
    return false;
}

/* ---------------------------------------------------------------- Zstandard */

enum { ZSTD_FRAME = 0xFD2FB528u, ZSTD_SKIP = 0x184D2A50u };

/* What a frame's header says: its size, and that of what comes. False: it does not say. */
static bool look_zstd_head(const uint8_t *p, unsigned *header, uint64_t *content, bool *checksum)
{
    static const unsigned dictionary_sizes[] = { 0, 1, 2, 4 }, content_sizes[] = { 0, 2, 4, 8 };
    unsigned descriptor = p[4], single = descriptor >> 5 & 1, flag = descriptor >> 6;
    unsigned at = 5 + (single == 0) + dictionary_sizes[descriptor & 3], n = flag == 0 ? single : content_sizes[flag];

    *content = 0;
    for (unsigned i = 0; i < n; i++)
        *content |= (uint64_t)p[at + i] << 8 * i;
    *content += n == 2 ? 256 : 0;
    *header = at + n;
    *checksum = (descriptor & 4) != 0;
    return n != 0;
}

/* From block to block to the frame's end. */
static bool look_zstd_blocks(look *l, uint64_t *at, lb_status *status, lb_error *err)
{
    uint8_t head[3];

    for (;;) {
        if (*at + sizeof head > l->packed->size || !look_read(l, *at, head, sizeof head, status, err))
            return false;
        uint32_t word = (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16;
        *at += sizeof head + ((word >> 1 & 3) == 1 ? 1 : word >> 3);
        if ((word & 1) != 0)
            return *at <= l->packed->size;
    }
}

static bool look_zstd(look *l, lb_status *status, lb_error *err)
{
    uint64_t at = 0, content;
    uint8_t head[18] = { 0 };
    unsigned header;
    bool checksum;

    while (at < l->packed->size) {
        size_t size = (size_t)LB_MIN(l->packed->size - at, (uint64_t)sizeof head);
        if (size < 9 || !look_read(l, at, head, size, status, err))
            return false;
        uint32_t magic = look_u32(head);
        if ((magic & 0xFFFFFFF0) == ZSTD_SKIP) {
            at += 8 + (uint64_t)look_u32(head + 4);
            continue;
        }
        if (magic != ZSTD_FRAME || !look_zstd_head(head, &header, &content, &checksum))
            return false;
        uint64_t begin = at;
        at += header;
        if (!look_frame(l, begin, 0, content) || !look_zstd_blocks(l, &at, status, err))
            return false;
        at += checksum ? 4 : 0;
        /* A frame that is most of the file leaves nothing to share out. */
        if (at - begin > l->packed->size / 2)
            return false;
    }
    return at == l->packed->size;
}

/* ---------------------------------------------------------------- xz */

/* The index of a file that is one stream; of several, each would have to be looked for from its end. */
static bool look_xz_index(look *l, lzma_index **out, lzma_check *check, lb_status *status, lb_error *err)
{
    uint8_t footer[LZMA_STREAM_HEADER_SIZE];
    uint64_t memory = LOOK_XZ_MEMORY, end = l->packed->size;
    lzma_stream_flags flags;
    size_t at = 0;

    if (end < 2 * LZMA_STREAM_HEADER_SIZE || !look_read(l, end - sizeof footer, footer, sizeof footer, status, err) ||
        lzma_stream_footer_decode(&flags, footer) != LZMA_OK)
        return false;
    if (flags.backward_size > end - 2 * LZMA_STREAM_HEADER_SIZE || flags.backward_size > LOOK_XZ_MEMORY)
        return false;
    size_t size = (size_t)flags.backward_size;
    uint8_t *bytes = malloc(size + 1);
    bool read = bytes != NULL && look_read(l, end - sizeof footer - size, bytes, size, status, err);
    *check = flags.check;
    read = read && lzma_index_buffer_decode(out, &memory, NULL, bytes, &at, size) == LZMA_OK;
    free(bytes);
    return read;
}

static bool look_xz(look *l, lb_status *status, lb_error *err)
{
    lzma_index *index = NULL;
    lzma_index_iter i;
    lzma_check check;
    bool good = look_xz_index(l, &index, &check, status, err);

    if (good && lzma_index_file_size(index) != l->packed->size)
        good = false;
    if (good) {
        lzma_index_iter_init(&i, index);
        while (good && !lzma_index_iter_next(&i, LZMA_INDEX_ITER_BLOCK))
            good = look_frame(l, i.block.compressed_file_offset, (uint8_t)check, i.block.uncompressed_size);
    }
    lzma_index_end(index, NULL);
    return good;
}

/* ---------------------------------------------------------------- all */

lb_status lb_unpacked_look(lb_store *view, lb_store *packed, lb_error *err)
{
    look l = { .packed = packed, .reads = LOOK_READS(packed->size) };
    lb_status status = LB_OK;
    bool told = false;

    if (strcmp(view->container, lb_container_gzip.name) == 0)
        told = look_bgzf(&l, &status, err);
    else if (strcmp(view->container, lb_container_zstd.name) == 0)
        told = look_zstd(&l, &status, err);
    else if (strcmp(view->container, lb_container_xz.name) == 0)
        told = look_xz(&l, &status, err);
    if (status == LB_OK && l.nomem)
        status = lb_fail_nomem(err);
    if (status == LB_OK && told && l.n != 0) {
        status = lb_unpacked_know(view, l.points, l.n, err);
        view->size = l.out;
    }
    free(l.points);
    return status;
}
