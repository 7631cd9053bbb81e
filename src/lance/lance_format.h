/* Lance datasets, and data files alone, as a format of the lake. */
#ifndef LB_LANCE_LANCE_FORMAT_H
#define LB_LANCE_LANCE_FORMAT_H

#include "format/format.h"
#include "lance/fragments.h"

extern const lb_format lb_format_lance;

/* The rows behind a reader of this format. */
lb_lance_set *lb_lance_reader_set(lb_reader *reader);

/* Schema, rows, blocks and statistics of an entry, as lb_format.survey. */
lb_status lb_lance_survey(lb_lance_set *set, const lb_survey_options *options, lb_arena *arena, lb_entry *out,
                          lb_error *err);

/* Read everything: every page of every file, deletions, dictionaries, index files. Errors: the first damage, with its file and
 * place. */
lb_status lb_lance_verify(lb_lance_set *set, lb_error *err);

#endif
