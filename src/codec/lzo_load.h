/* LZO1X blocks, by the machine's liblzo2. That library is under the GPL: it is looked for when the first block comes, so that
 * nobody who hands on a program with this one in it hands on that one. */
#ifndef LB_CODEC_LZO_LOAD_H
#define LB_CODEC_LZO_LOAD_H

#include <stddef.h>
#include <stdint.h>

typedef enum lb_lzo_outcome { LB_LZO_DONE, LB_LZO_DAMAGED, LB_LZO_NO_ROOM, LB_LZO_MISSING } lb_lzo_outcome;

/* Decompress a block into at most *got bytes; *got: how many came. MISSING: the machine has no liblzo2. Threads: any. */
lb_lzo_outcome lb_lzo_decode(const uint8_t *in, size_t size, uint8_t *out, size_t *got);

#endif
