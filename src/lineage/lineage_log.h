/* The lineage log: a directory of files with a record a line, named as Apache Impala names them (lineage.md 2.5), and
 * the reading of such directories and of single files of records.
 *
 * Several processes may write into one directory, also one where an Impala server writes: which file is the writers'
 * current one stands in a lock file, so that nobody appends to a file that another program has open. A record is one
 * write under the lock. Where a writer died in the middle of one, what it left is not touched: the next writer begins a
 * new file, and readers pass the torn line over. */
#ifndef LB_LINEAGE_LINEAGE_LOG_H
#define LB_LINEAGE_LINEAGE_LOG_H

#include "base/context.h"
#include "lineage/lineage_graph.h"

#define LB_LOG_PREFIX "impala_lineage_log_1.0-" /* then the milliseconds since the epoch at which the file was begun */
#define LB_LOG_LOCK ".lakebed_lineage.lock"     /* its content is the name of the current file */
#define LB_LOG_RECORDS 5000                     /* in a file, unless told otherwise */

/* Number in the name of a log file; false: it is none. */
bool lb_log_name_number(const char *name, uint64_t *number);

typedef struct lb_log_writer lb_log_writer;

/* The directory is made when missing (not the ones above it). `max_records` 0: LB_LOG_RECORDS. `sync_each`: a record
 * is on the disk when lb_log_append returns; else all are when lb_log_writer_close returns. Errors: NOTFOUND, IO,
 * NOMEM. */
lb_status lb_log_writer_open(const char *dir, uint64_t max_records, bool sync_each, lb_log_writer **out, lb_error *err);

/* Append a record, whole or not at all. Errors: IO, CONFLICT (the lock was held too long), NOMEM, BUDGET. */
lb_status lb_log_append(lb_log_writer *w, const lb_lineage_graph *graph, lb_error *err);

/* Also frees; takes NULL. Errors: IO. */
lb_status lb_log_writer_close(lb_log_writer *w, lb_error *err);

/* ---------------------------------------------------------------- reading */

typedef struct lb_log_reader lb_log_reader;

/* Where the last record came from. `path` is lent until the next call. */
typedef struct lb_log_place {
    const char *path;
    uint64_t line;   /* from 1; of Thrift records: which one of the file */
    uint64_t offset; /* of its first byte */
} lb_log_place;

/* Open a directory (all files of a log, in the order of the numbers in their names) or one file: lines of JSON, or
 * records in Thrift's binary or compact form one after the other, which is seen from the first byte.
 * Errors: NOTFOUND (also a directory without such files), IO, USAGE, NOMEM. */
lb_status lb_log_reader_open(lb_context *cx, const char *path, lb_log_reader **out, lb_error *err);

/* The next record, lent until the next call, or *out NULL at the end. A line that is no record is noted (lb_note),
 * counted and passed over; in Thrift the rest of the file is. Errors: IO, NOMEM, BUDGET, CANCELLED. Memory: a record;
 * of Thrift the file. */
lb_status lb_log_reader_next(lb_log_reader *r, const lb_lineage_graph **out, lb_error *err);

lb_log_place lb_log_reader_place(const lb_log_reader *r);
uint64_t lb_log_reader_bad(const lb_log_reader *r); /* lines that were no records, so far */
void lb_log_reader_close(lb_log_reader *r);         /* takes NULL */

#endif
