#include "codec/lzo_load.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#define LZO_LIBRARY "liblzo2.so.2"
#define LZO_OUTPUT_OVERRUN (-5) /* lzoconf.h: LZO_E_OUTPUT_OVERRUN */

/* lzo1x.h: lzo1x_decompress_safe, which stays inside both its buffers whatever the block says. lzo_uint is as wide as a
 * pointer. */
typedef int (*lzo_decode_fn)(const unsigned char *in, uintptr_t size, unsigned char *out, uintptr_t *got, void *work);

static pthread_once_t lzo_once = PTHREAD_ONCE_INIT;
static lzo_decode_fn lzo_decode; /* NULL: there is none */

static void lzo_load(void)
{
    void *library = dlopen(LZO_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *found = library == NULL ? NULL : dlsym(library, "lzo1x_decompress_safe");

    /* Neither is ever let go: other threads may be inside. */
    memcpy(&lzo_decode, &found, sizeof lzo_decode);
}

lb_lzo_outcome lb_lzo_decode(const uint8_t *in, size_t size, uint8_t *out, size_t *got)
{
    uintptr_t room = *got;

    *got = 0;
    (void)pthread_once(&lzo_once, lzo_load);
    if (lzo_decode == NULL)
        return LB_LZO_MISSING;
    int result = lzo_decode(in, size, out, &room, NULL);
    *got = room;
    if (result == 0)
        return LB_LZO_DONE;
    return result == LZO_OUTPUT_OVERRUN ? LB_LZO_NO_ROOM : LB_LZO_DAMAGED;
}
