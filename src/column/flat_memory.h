/* Memory of the flatbuffers builder below nanoarrow. nanoarrow does not ask after every step whether the builder had memory for
 * it, so that a message could miss a part and still be given out as good. The builder's allocations come through here
 * (cmake/dependencies.cmake), and whoever encodes asks at the end. */
#ifndef LB_COLUMN_FLAT_MEMORY_H
#define LB_COLUMN_FLAT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

void *lb_flat_alloc(size_t size);
void *lb_flat_realloc(void *old, size_t size);
void *lb_flat_calloc(size_t count, size_t size);

/* Begin encoding in this thread, and: was memory refused since? False always where nanoarrow is the system's. */
void lb_flat_begin(void);
bool lb_flat_failed(void);

/* What flatcc takes instead of its own; and refused memory is no reason to end the process. */
#define FLATCC_BUILDER_ASSERT_ON_ERROR 0
#define FLATCC_ALLOC lb_flat_alloc
#define FLATCC_REALLOC lb_flat_realloc
#define FLATCC_CALLOC lb_flat_calloc

#endif
