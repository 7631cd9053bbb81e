/* What src/lake/handlers.c needs of this folder. */
#ifndef LB_FORMAT_JSON_HANDLERS_H
#define LB_FORMAT_JSON_HANDLERS_H

#include "format/format.h"

extern const lb_format lb_format_json, lb_format_jsonl, lb_format_ndjson;

#endif
