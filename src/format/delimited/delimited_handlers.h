/* What src/lake/handlers.c needs of this folder. */
#ifndef LB_FORMAT_DELIMITED_HANDLERS_H
#define LB_FORMAT_DELIMITED_HANDLERS_H

#include "format/format.h"

extern const lb_format lb_format_csv, lb_format_tsv, lb_format_psv, lb_format_txt;

/* A handler made at run time, freed with free(). */
lb_status lb_delimited_register(const char *extension, char delimiter, bool has_header, lb_format **out, lb_error *err);

#endif
