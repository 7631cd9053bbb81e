#include "codec/zstd_block.h"

#include <zstd.h>
#include <zstd_errors.h>

lb_status lb_zstd_decode(const void *bytes, size_t size, void *out, size_t out_size, lb_error *err)
{
    size_t got = ZSTD_decompress(out, out_size, bytes, size);

    if (ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
        return lb_fail_nomem(err);
    if (ZSTD_isError(got))
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "compressed bytes are damaged: %s", ZSTD_getErrorName(got));
    if (got != out_size)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "%zu bytes came of compressed ones, not %zu", got, out_size);
    return LB_OK;
}
