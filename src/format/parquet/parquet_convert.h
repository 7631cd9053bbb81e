/* What stored values become: from the physical types of Parquet to the layouts of Arrow (LogicalTypes.md of
 * parquet-format). */
#ifndef LB_FORMAT_PARQUET_CONVERT_H
#define LB_FORMAT_PARQUET_CONVERT_H

#include "format/parquet/parquet_values.h"

/* How the values lie in an Arrow array. */
typedef enum lb_parquet_form {
    LB_PARQUET_NOTHING, /* type null */
    LB_PARQUET_BITS,
    LB_PARQUET_WIDE, /* of a fixed width */
    LB_PARQUET_STRINGS
} lb_parquet_form;

typedef struct lb_parquet_conversion lb_parquet_conversion;

struct lb_parquet_conversion {
    lb_parquet_form form;
    size_t stored; /* bytes of a stored value; 0: BOOLEAN, BYTE_ARRAY */
    size_t width;  /* WIDE: bytes of an Arrow value */
    /* WIDE, and neither is set: as it is stored. `n` values; gives how many of them fit the type before the first
     * that does not. */
    size_t (*wide)(const lb_parquet_conversion *c, const uint8_t *in, size_t n, uint8_t *out);
    size_t (*strings)(const lb_parquet_conversion *c, const lb_parquet_strings *in, uint8_t *out);
    const char *type; /* for messages: what a value does not fit */
};

/* How values of the leaf become the Arrow type of the node. Errors: as lb_parquet_leaf_check. */
lb_status lb_parquet_conversion_of(const lb_parquet_node *node, lb_parquet_conversion *out, lb_error *err);

/* n stored values of fixed width. Errors: CORRUPT, UNSUPPORTED: one does not fit. */
lb_status lb_parquet_convert(const lb_parquet_conversion *c, const uint8_t *in, size_t n, uint8_t *out, lb_error *err);
lb_status lb_parquet_convert_strings(const lb_parquet_conversion *c, const lb_parquet_strings *in, uint8_t *out,
                                     lb_error *err);

#endif
