/* Rows as they come out of a reader: each array is validated to the last value. */
#ifndef LB_FUZZ_PULLED_H
#define LB_FUZZ_PULLED_H

#include <stdlib.h>

#include "column/stream.h"
#include "format/format.h"

#define PULLED_REQUIRE(truth) \
    do {                      \
        if (!(truth))         \
            abort();          \
    } while (0)

static inline void pulled_check(const struct ArrowSchema *schema, const struct ArrowArray *array)
{
    struct ArrowArrayView view;

    PULLED_REQUIRE(ArrowArrayViewInitFromSchema(&view, schema, NULL) == NANOARROW_OK);
    PULLED_REQUIRE(ArrowArrayViewSetArray(&view, array, NULL) == NANOARROW_OK);
    PULLED_REQUIRE(ArrowArrayViewValidate(&view, NANOARROW_VALIDATION_LEVEL_FULL, NULL) == NANOARROW_OK);
    ArrowArrayViewReset(&view);
}

/* Pull all rows of a stream, and release it; how many there were. *whole: without an error; else `err`, which may be NULL,
 * has it. */
static inline uint64_t pulled_stream(struct ArrowArrayStream *stream, bool *whole, lb_error *err)
{
    struct ArrowSchema schema = { 0 };
    uint64_t rows = 0;

    *whole = lb_stream_schema(stream, &schema, err) == LB_OK;
    while (*whole) {
        struct ArrowArray array = { 0 };
        *whole = lb_stream_next(stream, &array, err) == LB_OK;
        if (!*whole || array.release == NULL)
            break;
        pulled_check(&schema, &array);
        rows += (uint64_t)array.length;
        array.release(&array);
    }
    if (schema.release != NULL)
        schema.release(&schema);
    stream->release(stream);
    return rows;
}

/* The same of a scan, which may be refused. */
static inline uint64_t pulled_scan(const lb_format *format, lb_reader *r, const lb_range *range, bool *whole)
{
    struct ArrowArrayStream stream;

    *whole = false;
    return format->scan(r, range, &stream, NULL) == LB_OK ? pulled_stream(&stream, whole, NULL) : 0;
}

#endif
