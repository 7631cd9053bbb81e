/* Raw Snappy blocks (google/snappy, format_description.txt) decoded so that it can stop when enough of the output is there. */
#ifndef LB_CODEC_SNAPPY_H
#define LB_CODEC_SNAPPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lb_snappy {
    const uint8_t *in, *in_end;
    uint8_t *out, *at, *out_end; /* all of the output, and where the next byte of it goes */
} lb_snappy;

/* How many bytes of output a block claims. False: damage, or more than so many bytes of input can give. */
bool lb_snappy_size(const void *bytes, size_t size, size_t *out_size);

/* `out` has room for the `out_size` bytes that the block claims; both are lent. False: it does not claim so many. */
bool lb_snappy_begin(lb_snappy *s, const void *bytes, size_t size, void *out, size_t out_size);

/* Decode until s->at - s->out >= least (at most the size), or more. With the last byte of output the input has to end. False:
 * damage; then nothing more can be decoded. Bytes of output behind s->at may hold anything. Cost: linear. */
bool lb_snappy_run(lb_snappy *s, size_t least);

#endif
