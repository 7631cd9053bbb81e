/* XXH3 compiled for wider vectors than every processor has: the same digests, faster. Private to src/base. */
#ifndef LB_BASE_HASH_WIDE_H
#define LB_BASE_HASH_WIDE_H

#include <stddef.h>

/* `state`: an XXH3_state_t under XXH3_128bits_reset. Only where lb_cpu has the feature. */
void lb_xxh3_update_avx2(void *state, const void *bytes, size_t size);
void lb_xxh3_update_avx512(void *state, const void *bytes, size_t size);

#endif
