/* Reading ahead: rows of a file decoded by several threads, given out in order. */
#ifndef LB_LAKE_AHEAD_H
#define LB_LAKE_AHEAD_H

#include "lake/data.h"

/* As data->format->scan, and with the same batches whatever the number of threads. Where a thread is free and the range holds several
 * runs of blocks (lb_blocks_border), threads of the stream's own decode those to come while the caller is busy with a batch;
 * the caller decodes along while it waits. At most one run more than there are threads is at hand. `data` must outlive the
 * stream; releasing it waits for the runs at work. */
lb_status lb_scan_ahead(lb_data *data, const lb_range *range, struct ArrowArrayStream *out, lb_error *err);

#endif
