/* Zstandard, one block of bytes a call. */
#ifndef LB_CODEC_ZSTD_BLOCK_H
#define LB_CODEC_ZSTD_BLOCK_H

#include "base/fail.h"

/* Decompress `size` bytes, which must give exactly `out_size` bytes. Errors: CORRUPT, NOMEM. */
lb_status lb_zstd_decode(const void *bytes, size_t size, void *out, size_t out_size, lb_error *err);

#endif
