#include "codec/pack.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define PACK_ZSTD_PIECE ((size_t)1 << 20)
#define PACK_ZSTD_LEVEL 3
#define PACK_GZIP_PIECE ((size_t)0xFF00) /* so that a member that does not shrink fits its 16-bit size */
#define PACK_GZIP_LEVEL 6
#define PACK_GZIP_HEAD 18
#define PACK_GZIP_MOST ((size_t)65536)

struct lb_packer {
    bool gzip;
    size_t piece, used;
    uint8_t *in, *out;
    size_t out_cap;
    ZSTD_CCtx *zstd;
    struct libdeflate_compressor *deflate;
    uint8_t *table; /* the sizes of each frame, compressed and not, as the file holds them */
    size_t n_frames, cap_frames;
};

static bool pack_open_zstd(lb_packer *p)
{
    p->zstd = ZSTD_createCCtx();
    p->piece = PACK_ZSTD_PIECE;
    p->out_cap = ZSTD_compressBound(p->piece);
    return p->zstd != NULL &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, PACK_ZSTD_LEVEL)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1));
}

static bool pack_open_gzip(lb_packer *p)
{
    p->gzip = true;
    p->deflate = libdeflate_alloc_compressor(PACK_GZIP_LEVEL);
    p->piece = PACK_GZIP_PIECE;
    p->out_cap = PACK_GZIP_MOST;
    return p->deflate != NULL;
}

lb_status lb_packer_open(const lb_container *container, lb_packer **out, lb_error *err)
{
    *out = NULL;
    if (container != &lb_container_zstd && container != &lb_container_gzip) {
        lb_fail(err, LB_USAGE, LB_NOWHERE, "files are not written as %s", container->name);
        lb_fail_hint(err, ".zst and .gz are");
        return LB_USAGE;
    }
    lb_packer *p = calloc(1, sizeof *p);
    bool made = p != NULL && (container == &lb_container_zstd ? pack_open_zstd(p) : pack_open_gzip(p));
    if (made) {
        p->in = malloc(p->piece);
        p->out = malloc(p->out_cap);
    }
    if (!made || p->in == NULL || p->out == NULL) {
        lb_packer_free(p);
        return lb_fail_nomem(err);
    }
    *out = p;
    return LB_OK;
}

void lb_packer_free(lb_packer *p)
{
    if (p == NULL)
        return;
    (void)ZSTD_freeCCtx(p->zstd);
    if (p->deflate != NULL)
        libdeflate_free_compressor(p->deflate);
    free(p->in);
    free(p->out);
    free(p->table);
    free(p);
}

static void pack_u16(uint8_t *out, unsigned v)
{
    out[0] = (uint8_t)v;
    out[1] = (uint8_t)(v >> 8);
}

static void pack_u32(uint8_t *out, uint32_t v)
{
    pack_u16(out, v & 0xFFFF);
    pack_u16(out + 2, v >> 16);
}

/* ---------------------------------------------------------------- pieces */

static bool pack_note_frame(lb_packer *p, size_t packed)
{
    if (p->n_frames == p->cap_frames) {
        size_t cap = p->cap_frames == 0 ? 64 : p->cap_frames * 2;
        uint8_t *grown = realloc(p->table, 8 * cap);
        if (grown == NULL)
            return false;
        p->table = grown;
        p->cap_frames = cap;
    }
    pack_u32(p->table + 8 * p->n_frames, (uint32_t)packed);
    pack_u32(p->table + 8 * p->n_frames + 4, (uint32_t)p->used);
    p->n_frames++;
    return true;
}

/* Compress what is held; 0: no memory. */
static size_t pack_zstd(lb_packer *p)
{
    size_t size = ZSTD_compress2(p->zstd, p->out, p->out_cap, p->in, p->used);

    return ZSTD_isError(size) || !pack_note_frame(p, size) ? 0 : size;
}

static size_t pack_gzip(lb_packer *p)
{
    static const uint8_t head[PACK_GZIP_HEAD] = { 31, 139, 8, 4, 0, 0, 0, 0, 0, 255, 6, 0, 'B', 'C', 2, 0 };
    size_t cap = p->out_cap - PACK_GZIP_HEAD - 8;
    size_t size = libdeflate_deflate_compress(p->deflate, p->in, p->used, p->out + PACK_GZIP_HEAD, cap);

    if (size == 0)
        return 0;
    /* The member that ends a file is known by its bytes: an empty block of fixed codes. */
    if (p->used == 0) {
        pack_u16(p->out + PACK_GZIP_HEAD, 3);
        size = 2;
    }
    memcpy(p->out, head, sizeof head);
    pack_u16(p->out + 16, (unsigned)(PACK_GZIP_HEAD + size + 8 - 1));
    pack_u32(p->out + PACK_GZIP_HEAD + size, libdeflate_crc32(0, p->in, p->used));
    pack_u32(p->out + PACK_GZIP_HEAD + size + 4, (uint32_t)p->used);
    return PACK_GZIP_HEAD + size + 8;
}

static bool pack_piece(lb_packer *p, lb_write_fn write, void *user, bool *nomem)
{
    size_t size = p->gzip ? pack_gzip(p) : pack_zstd(p);

    *nomem = size == 0;
    p->used = 0;
    return size != 0 && write(user, p->out, size);
}

bool lb_packer_add(lb_packer *p, const void *bytes, size_t size, lb_write_fn write, void *user, bool *nomem)
{
    const uint8_t *from = bytes;

    *nomem = false;
    while (size != 0) {
        size_t n = LB_MIN(size, p->piece - p->used);
        memcpy(p->in + p->used, from, n);
        p->used += n;
        from += n;
        size -= n;
        if (p->used == p->piece && !pack_piece(p, write, user, nomem))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- the end */

/* A skippable frame with the table. A file of more frames than its sizes can tell has none. */
static bool pack_table(const lb_packer *p, lb_write_fn write, void *user)
{
    uint8_t head[8], foot[9];

    if (p->n_frames > (UINT32_MAX - sizeof foot) / 8)
        return true;
    pack_u32(head, 0x184D2A5E);
    pack_u32(head + 4, (uint32_t)(8 * p->n_frames + sizeof foot));
    pack_u32(foot, (uint32_t)p->n_frames);
    foot[4] = 0;
    pack_u32(foot + 5, 0x8F92EAB1);
    return write(user, head, sizeof head) && (p->n_frames == 0 || write(user, p->table, 8 * p->n_frames)) &&
           write(user, foot, sizeof foot);
}

bool lb_packer_finish(lb_packer *p, lb_write_fn write, void *user, bool *nomem)
{
    *nomem = false;
    if (p->used != 0 && !pack_piece(p, write, user, nomem))
        return false;
    /* An empty member ends BGZF; an empty frame makes an empty file one of Zstandard. */
    if ((p->gzip || p->n_frames == 0) && !pack_piece(p, write, user, nomem))
        return false;
    return p->gzip || pack_table(p, write, user);
}
