/* Streams of batches: one small way to make an ArrowArrayStream of ours, whose errors keep all they know. */
#ifndef LB_COLUMN_STREAM_H
#define LB_COLUMN_STREAM_H

#include "column/types.h"

/* What stands behind a stream. `next` gives a batch, or leaves out->release NULL at the end. After an error the stream
 * gives that error again. `close` frees `state`. */
typedef struct lb_source {
    lb_status (*next)(void *state, struct ArrowArray *out, lb_error *err);
    void (*close)(void *state);
    void *state;
} lb_source;

/* Make a stream; takes `source` and moves `schema`, both also on error. */
lb_status lb_stream_make(lb_source source, struct ArrowSchema *schema, struct ArrowArrayStream *out, lb_error *err);

/* What a scan ends with that has `status` of its beginning: a stream with a copy of `schema`. Unless all is well it closes `source`, and
 * out->release is NULL. */
lb_status lb_stream_begin(lb_status status, lb_source source, const struct ArrowSchema *schema,
                          struct ArrowArrayStream *out, lb_error *err);

/* Pull one batch from any stream, as our status and error. At the end out->release is NULL. */
lb_status lb_stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out, lb_error *err);
lb_status lb_stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out, lb_error *err);

#endif
