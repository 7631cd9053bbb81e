/* Files that the caller of the library reads: a function of the caller's makes an Arrow stream of a file. */
#ifndef LB_FORMAT_FOREIGN_HANDLERS_H
#define LB_FORMAT_FOREIGN_HANDLERS_H

#include "format/format.h"

/* A format for one extension, to be freed by lb_foreign_free. Errors: NOMEM. */
lb_status lb_foreign_register(const char *extension, lb_open_stream_fn open, void *user, void (*release)(void *user),
                              lb_format **out, lb_error *err);
void lb_foreign_free(lb_format *format);

#endif
