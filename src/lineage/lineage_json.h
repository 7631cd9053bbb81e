/* Lineage records as Apache Impala logs them: one JSON object a line (lineage.md 2.1). */
#ifndef LB_LINEAGE_LINEAGE_JSON_H
#define LB_LINEAGE_LINEAGE_JSON_H

#include "base/buf.h"
#include "lineage/lineage_graph.h"

/* Append the record and a newline, byte for byte as Impala writes it. What an older record read back lacks
 * (operationType, tableType) is left out again. Errors: NOMEM, BUDGET. Cost: linear. */
lb_status lb_lineage_json_write(const lb_lineage_graph *graph, lb_buf *out, lb_error *err);

/* Read one record, also one of an older version (lineage.md 2.7): keys in any order, unknown keys passed over. Texts
 * are lent from `line` or lie in the arena. Errors: CORRUPT (with err->offset in the line), NOMEM, BUDGET. */
lb_status lb_lineage_json_read(lb_str line, lb_arena *arena, lb_lineage_graph *out, lb_error *err);

/* "0123456789abcdef:0000000000000001" with a closing NUL, and back: two hexadecimal numbers of 1 to 16 digits. */
#define LB_QUERY_ID_TEXT 34
void lb_query_id_print(uint64_t hi, uint64_t lo, char out[LB_QUERY_ID_TEXT]);
bool lb_query_id_parse(lb_str text, uint64_t *hi, uint64_t *lo);

#endif
