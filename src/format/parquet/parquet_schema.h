/* The schema of a Parquet file: its elements, as the footer lists them and as open_state keeps them, the tree of nodes
 * that rows are assembled by (parquet_column.h), and the Arrow schema. Source: LogicalTypes.md of
 * apache/parquet-format, with its rules for lists and maps of old writers. */
#ifndef LB_FORMAT_PARQUET_SCHEMA_H
#define LB_FORMAT_PARQUET_SCHEMA_H

#include "format/parquet/parquet_column.h"
#include "format/parquet/parquet_thrift.h"

/* Field metadata key: the annotation of a type that is read as its storage, as "GEOMETRY(OGC:CRS84)". */
#define LB_META_PARQUET_TYPE "lakebed.parquet_type"

/* What an element is annotated as: its logical type, or else its converted one. Numbers stand in open_state. */
typedef enum lb_parquet_note {
    LB_PARQUET_NOTE_NONE,
    LB_PARQUET_NOTE_STRING,
    LB_PARQUET_NOTE_ENUM,
    LB_PARQUET_NOTE_JSON,
    LB_PARQUET_NOTE_BSON,
    LB_PARQUET_NOTE_UUID,
    LB_PARQUET_NOTE_FLOAT16,
    LB_PARQUET_NOTE_DATE,
    LB_PARQUET_NOTE_TIME,      /* a: an ArrowTimeUnit */
    LB_PARQUET_NOTE_TIMESTAMP, /* a: an ArrowTimeUnit, b: 1 where instants of UTC */
    LB_PARQUET_NOTE_INTEGER,   /* a: bits, b: 1 where signed */
    LB_PARQUET_NOTE_DECIMAL,   /* a: precision, b: scale */
    LB_PARQUET_NOTE_INTERVAL,
    LB_PARQUET_NOTE_UNKNOWN, /* always null */
    LB_PARQUET_NOTE_LIST,
    LB_PARQUET_NOTE_MAP,       /* also of old writers on the map's group: MAP_KEY_VALUE */
    LB_PARQUET_NOTE_VARIANT,   /* a: version of its specification */
    LB_PARQUET_NOTE_GEOMETRY,  /* text: the coordinate system; empty: the default */
    LB_PARQUET_NOTE_GEOGRAPHY, /* text as above; a: number of the algorithm of its edges */
    LB_PARQUET_NOTE_COUNT
} lb_parquet_note;

#define LB_PARQUET_GROUP LB_PARQUET_PHYSICAL_COUNT /* in place of a physical type */

typedef struct lb_parquet_element {
    lb_str name;
    uint8_t repetition; /* LB_PQT_REQUIRED … */
    uint8_t note;       /* lb_parquet_note */
    uint8_t physical;   /* LB_PARQUET_GROUP: it has fields */
    uint8_t has_field_id;
    int32_t field_id, a, b;
    uint32_t type_length, n_children;
    lb_str text;
} lb_parquet_element;

/* Bring elements of a footer into this form; names are lent from it. Errors: CORRUPT, UNSUPPORTED (a physical type
 * that there is not), NOMEM, BUDGET. */
lb_status lb_parquet_elements_of(const lb_thrift_list *from, lb_arena *arena, lb_parquet_element **out, lb_error *err);

typedef struct lb_parquet_schema {
    struct ArrowSchema arrow; /* a struct of the columns */
    size_t n_columns, n_leaves;
    lb_parquet_node **columns; /* top-level nodes */
    lb_parquet_leaf *leaves;
} lb_parquet_schema;

/* Make the tree of elements in the order of the footer, the root first; all in the arena but `arrow`, which
 * lb_parquet_schema_free releases. Elements and their text must live as long. Errors: CORRUPT (counts that do not fit,
 * lengths of fixed values), UNSUPPORTED (nested too deep, a group without fields), NOMEM, BUDGET. Nothing to free
 * after an error. */
lb_status lb_parquet_schema_new(const lb_parquet_element *elements, size_t n, lb_arena *arena, lb_parquet_schema *out,
                                lb_error *err);
void lb_parquet_schema_free(lb_parquet_schema *schema);

#endif
