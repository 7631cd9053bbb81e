/* Printing of values and rows (types.md section 5; conformance README: tagged and canonical). lb_print in lakebed.h is the
 * way in; these serve messages, statistics and reports. */
#ifndef LB_COLUMN_PRINT_H
#define LB_COLUMN_PRINT_H

#include "column/types.h"

typedef enum lb_form {
    LB_FORM_CSV,
    LB_FORM_NDJSON,
    LB_FORM_JSON,
    LB_FORM_TAGGED,
    LB_FORM_CANONICAL,
    LB_FORM_TABLE,
    LB_FORM_ARROW,
    LB_FORM_ARROWS,
    LB_FORM_COUNT
} lb_form;

/* Append the value at `row` of a column in the way `form` prints one (CSV without its quoting: the plain text). Nested
 * values are JSON text in CSV and tables. `column` is a view made from `field` (ArrowArrayViewInitFromSchema) and set. */
lb_status lb_print_value(const struct ArrowSchema *field, const struct ArrowArrayView *column, int64_t row,
                         lb_form form, lb_buf *out, lb_error *err);

/* Append a JSON string with its quotes: `"` and `\` escaped, bytes below 0x20 as \u00xx, all else raw. Bytes that are not
 * UTF-8 become U+FFFD. This is the one form of the exact outputs (tagged, canonical) and of the map. */
lb_status lb_print_json_string(lb_buf *out, const char *p, size_t size, lb_error *err);

/* The same with `\n`, `\r`, `\t`, `\b` and `\f` for those bytes, as other programs write JSON. */
lb_status lb_print_json_text(lb_buf *out, const char *p, size_t size, lb_error *err);

/* Standard base64 with padding. */
lb_status lb_print_base64(lb_buf *out, const void *bytes, size_t size, lb_error *err);

/* Print a bound of a statistic as CSV prints a value of that type (`type`: type words). `max`: the maximum. Where it is
 * unknown or does not go with the type, `*known` is false and nothing is printed. Errors: NOMEM, BUDGET. */
lb_status lb_print_bound(const lb_colstat *stat, bool max, lb_buf *out, bool *known, lb_error *err);

#endif
