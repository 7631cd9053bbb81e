/* Compiled with the options of its processor (CMakeLists.txt); empty for others. */
#include "base/hash_wide.h"

#if defined(__AVX2__)
#define XXH_INLINE_ALL
#include <xxhash.h>

void lb_xxh3_update_avx2(void *state, const void *bytes, size_t size)
{
    (void)XXH3_128bits_update(state, bytes, size);
}
#endif
