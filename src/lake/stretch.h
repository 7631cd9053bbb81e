/* Rows of a lake from several of its files at a time. */
#ifndef LB_LAKE_STRETCH_H
#define LB_LAKE_STRETCH_H

#include "lake/project.h"

/* Open a stream of the table's rows from `at` on, up to `end` or to a file whose blocks are too large to be held;
 * batches are brought to the project's columns, and are those of reading file after file. *opened false: no thread is
 * free, or there is no more than one run to read, or that file stands at `at`. The table is a lake whose rows are
 * known; it and `project` must outlive the stream. */
lb_status lb_stretch_open(lb_table *t, const lb_project *project, uint64_t at, uint64_t end,
                          struct ArrowArrayStream *out, bool *opened, lb_error *err);

#endif
