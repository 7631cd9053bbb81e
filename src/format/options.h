/* Read options inside the library: what lb_read_options_set fills. */
#ifndef LB_FORMAT_OPTIONS_H
#define LB_FORMAT_OPTIONS_H

#include "base/buf.h"

typedef enum lb_type_mode { LB_TYPES_AUTO, LB_TYPES_PROVEN, LB_TYPES_SAMPLE, LB_TYPES_TEXT } lb_type_mode;

typedef struct lb_column_decl {
    const char *name, *type; /* NAME=TYPE; the type's words */
} lb_column_decl;

enum { /* which structural options are set */
       LB_OPT_DELIMITER = 1,
       LB_OPT_QUOTE = 2,
       LB_OPT_ESCAPE = 4,
       LB_OPT_HEADER = 8,
       LB_OPT_ENCODING = 16,
       LB_OPT_RAGGED = 32,
       LB_OPT_SHEET = 64,
       LB_OPT_HEADER_ROW = 128
};

struct lb_read_options {
    lb_arena arena;
    unsigned set;       /* LB_OPT_… */
    char delimiter[5];  /* 1 to 4 bytes */
    int quote, escape;  /* a byte, or -1: none */
    bool has_header;    /* delimited text */
    int32_t header_row; /* workbooks: row number from 1; 0: none; -1: not said */
    const char *encoding;
    bool ragged_null;
    const char *sheet; /* name or number */
    bool header_first; /* MessagePack: the first row, an array, names the places of the others */

    unsigned value_set; /* any value option given (LB_VAL_…) */
    lb_type_mode types;
    bool decimal;
    size_t n_nulls, cap_nulls;
    const char **nulls;
    size_t n_columns, cap_columns;
    lb_column_decl *columns;
    const char
        *names; /* of the places of rows that are arrays, with commas between; `\,` and `\\` in a name; NULL: none */
};

enum { LB_VAL_TYPES = 1, LB_VAL_DECIMAL = 2, LB_VAL_NULL = 4, LB_VAL_COLUMN = 8, LB_VAL_NAMES = 16 };

/* Copy of `from` (may be NULL: none set), and of `over` on top of it: what it sets wins. */
lb_status lb_read_options_merge(const lb_read_options *from, const lb_read_options *over, lb_read_options **out,
                                lb_error *err);

/* "name=value,name=value" as `--set` has it after the colon; a comma in a value is written `\,` and
 * a backslash may be written `\\`. */
lb_status lb_read_options_parse(lb_read_options *options, const char *text, lb_error *err);

/* The options as a JSON object text of names and values, for `bazan.options`; and back. */
lb_status lb_read_options_json(const lb_read_options *options, lb_buf *out, lb_error *err);
lb_status lb_read_options_of_json(const char *json, size_t size, lb_read_options **out, lb_error *err);

#endif
