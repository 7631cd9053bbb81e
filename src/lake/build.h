/* Building a map: discovery, inspection of every file, and the map's bytes. */
#ifndef LB_LAKE_BUILD_H
#define LB_LAKE_BUILD_H

#include "lake/map.h"

/* As lb_map_create, but the map stays in memory: for reading a lake that has none. Digests are not taken. `over` (may be NULL)
 * wins over what the options say of how files are read, rules included, and is not kept in the map. `rows_only`: columns are not
 * asked for. */
lb_status lb_map_build_unsaved(lb_context *cx, const char *dir, const lb_map_options *options,
                               const lb_read_options *over, bool rows_only, lb_map **out, lb_error *err);

#endif
