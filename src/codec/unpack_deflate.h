/* Deflate within what surrounds it: what gzip and bare deflate have in common. */
#ifndef LB_CODEC_UNPACK_DEFLATE_H
#define LB_CODEC_UNPACK_DEFLATE_H

#include "codec/unpack.h"

/* Where a stream stands. */
typedef struct lb_deflate_place {
    uint64_t came;   /* bytes of it, or since the restart point */
    unsigned before; /* bytes before the restart point that matches may reach */
} lb_deflate_place;

/* Decode some more; `io` and `place` move along. At LB_INFLATE_BLOCK *point says what going on from here would need.
 * Errors: as lb_inflate_run. */
lb_status lb_unpack_inflate(lb_inflate *z, lb_unpack_io *io, lb_deflate_place *place, lb_inflate_stop *why,
                            lb_unpack_point *point, lb_error *err);

#endif
