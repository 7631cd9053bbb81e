#include "column/flat_memory.h"

#include <stdlib.h>

static _Thread_local bool flat_failed;

static void *flat_given(void *p)
{
    flat_failed |= p == NULL;
    return p;
}

void *lb_flat_alloc(size_t size)
{
    return flat_given(malloc(size));
}

void *lb_flat_realloc(void *old, size_t size)
{
    return flat_given(realloc(old, size));
}

void *lb_flat_calloc(size_t count, size_t size)
{
    return flat_given(calloc(count, size));
}

void lb_flat_begin(void)
{
    flat_failed = false;
}

bool lb_flat_failed(void)
{
    return flat_failed;
}
