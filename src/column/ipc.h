/* Arrow IPC, around nanoarrow's encoder: encapsulated schemas, streams and files given to a write function. */
#ifndef LB_COLUMN_IPC_H
#define LB_COLUMN_IPC_H

#include "column/types.h"

/* The encapsulated schema message (0xFFFFFFFF, length, flatbuffer, padding), as column `arrow_schema` of a map holds it. */
lb_status lb_ipc_encode_schema(const struct ArrowSchema *schema, lb_buf *out, lb_error *err);

/* Errors: CORRUPT. Hostile bytes are safe. */
lb_status lb_ipc_decode_schema(const void *bytes, size_t size, struct ArrowSchema *out, lb_error *err);

typedef struct lb_ipc_writer lb_ipc_writer;

/* Begin a file (`ARROW1` at both ends) or a stream; the schema is written at once and not kept. Bytes go to `write`, which
 * returns false to stop (IO). Buffers are uncompressed and padded to 8 bytes. */
lb_status lb_ipc_writer_open(const struct ArrowSchema *schema, bool file, lb_write_fn write, void *user,
                             lb_ipc_writer **out, lb_error *err);
/* A batch, a struct array of that schema. Dictionaries are UNSUPPORTED (decode them before). */
lb_status lb_ipc_writer_batch(lb_ipc_writer *w, const struct ArrowArray *batch, lb_error *err);
lb_status lb_ipc_writer_finish(lb_ipc_writer *w, lb_error *err); /* end marker and footer */
void lb_ipc_writer_free(lb_ipc_writer *w); /* NULL is fine; without finish the output is cut off */

#endif
