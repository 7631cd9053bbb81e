/* Which handler reads a file: by extension (those registered at run time first), else by content. */
#ifndef LB_LAKE_HANDLERS_H
#define LB_LAKE_HANDLERS_H

#include "format/format.h"

/* The handler of an extension, any case; NULL: none. */
const lb_format *lb_handler_of_extension(lb_context *cx, lb_str extension);

/* The handler of a file by its name: that of the extension, or of the one before a container's ("orders.csv.gz"), where only text is
 * read; NULL: none. */
const lb_format *lb_handler_of_path(lb_context *cx, lb_str path);

/* The built-in handler of a name, as column `format` has it; NULL: none. */
const lb_format *lb_handler_of_name(lb_str name);

bool lb_handler_is_dynamic(const lb_format *format);

/* The handler of a file: `forced` by name if given, else its extension, else what its content looks like. A file whose content is
 * plainly another format than its extension says is UNSUPPORTED, naming both. Errors: UNSUPPORTED, USAGE (no such
 * format), IO. */
lb_status lb_handler_of_file(lb_context *cx, lb_store *store, const char *forced, const lb_format **out, lb_error *err);

/* Does a format take all these options? Errors: USAGE, naming the first it does not. */
lb_status lb_handler_check_options(const lb_format *format, const lb_read_options *options, lb_error *err);

#endif
