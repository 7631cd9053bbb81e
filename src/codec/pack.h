/* Compressing a file as a whole in pieces, so that reading can begin at each: Zstandard in frames of 1 MiB with the table of the
 * seekable format (zstd contrib/seekable_format 0.1.0) behind them; gzip as BGZF (SAM/BAM format specification, section 4.1). */
#ifndef LB_CODEC_PACK_H
#define LB_CODEC_PACK_H

#include "codec/unpack.h"

typedef struct lb_packer lb_packer;

/* *out NULL and USAGE: the container cannot be written. Errors: NOMEM. */
lb_status lb_packer_open(const lb_container *container, lb_packer **out, lb_error *err);
void lb_packer_free(lb_packer *p); /* NULL is fine */

/* Take bytes in; what is compressed goes to `write`. False: writing gave it, or memory ran out (*nomem). */
bool lb_packer_add(lb_packer *p, const void *bytes, size_t size, lb_write_fn write, void *user, bool *nomem);

/* The rest, and the end. */
bool lb_packer_finish(lb_packer *p, lb_write_fn write, void *user, bool *nomem);

#endif
