/* Compressed text files as entries of a lake: their views, and the restart points that a map keeps of them. */
#ifndef LB_LAKE_PACKED_H
#define LB_LAKE_PACKED_H

#include "format/entry.h"
#include "io/unpacked.h"

/* The view of a file whose name ends as a container's does; *out NULL: it does not, or is no single file. `known`: an entry of the file
 * with restart points, or NULL. The file must outlive the view. Errors: NOMEM. */
lb_status lb_packed_view(lb_context *cx, lb_store *store, const lb_entry *known, lb_store **out, lb_error *err);

/* Say in an entry, whose blocks are there already, of what container its file is and which restart points were found. */
lb_status lb_packed_keep(lb_store *view, lb_arena *arena, lb_entry *out, lb_error *err);

#endif
