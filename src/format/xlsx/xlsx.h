/* Workbooks of Office Open XML (ECMA-376, transitional and Strict; lake-map.md 6.9 and 14; types.md section 4).
 *
 *   file.xlsx   a ZIP archive        xl/workbook.xml        names of sheets, date system
 *                                    xl/worksheets/….xml    <row r="7"> <c r="B7" t="s" s="3"> <v>12</v> …
 *                                    xl/sharedStrings.xml   texts by number
 *                                    xl/styles.xml          which styles show a number as a date
 *
 * Rows are read as a stream: what is kept is the row at hand. A block of rows is known by the place of its first `<row`
 * in the sheet's XML, which is read from the restart point before (io/unpacked.h). */
#ifndef LB_FORMAT_XLSX_H
#define LB_FORMAT_XLSX_H

#include <pthread.h>

#include "format/format.h"
#include "io/unpacked.h"
#include "wire/xml_pull.h"
#include "wire/zip.h"

#define XL_ROWS_MOST 1048576u
#define XL_COLUMNS_MOST 16384u

/* ---- the archive (xlsx_package.c) */

typedef struct xl_part {
    const lb_zip_entry *entry;
    uint32_t member;         /* its number in the archive */
    uint64_t content_at;     /* in the file */
    lb_store *packed, *view; /* of its bytes in the file, and of its content; the same where it is stored */
} xl_part;

typedef enum xl_sheet_kind { XL_WORKSHEET, XL_CHART, XL_OTHER } xl_sheet_kind;

typedef struct xl_sheet {
    lb_str name, state; /* as the workbook has them */
    lb_str relation;
    lb_str path; /* of its part; empty: none */
    xl_sheet_kind kind;
} xl_sheet;

/* What a number's format shows. */
typedef enum xl_shows { XL_NUMBER, XL_DATE, XL_TIME, XL_DATETIME, XL_ELAPSED } xl_shows;

typedef struct xl_package {
    lb_context *cx;
    lb_store *store;
    lb_arena arena;
    lb_zip_entry *entries;
    size_t n_entries;
    xl_sheet *sheets;
    size_t n_sheets;
    bool date1904;
    lb_str strings_path, styles_path;
    lb_buf styles; /* xl_shows of each cell style, a byte each */
} xl_package;

/* Read what says where things are. Errors: CORRUPT, UNSUPPORTED (an encrypted or an old workbook), NOMEM, BUDGET. */
lb_status xl_package_open(lb_context *cx, lb_store *store, xl_package *out, lb_error *err);
void xl_package_close(xl_package *p);

/* Open a part by its path. Errors: CORRUPT where it is not there. */
lb_status xl_part_open(xl_package *p, lb_str path, xl_part *out, lb_error *err);
lb_status xl_part_open_entry(xl_package *p, size_t member, xl_part *out, lb_error *err);
void xl_part_close(xl_part *part); /* zero-initialised is fine */

/* Reads a part's content as XML, and holds its size against the archive's directory. */
typedef struct xl_reading {
    const xl_part *part;
    lb_context *cx;
    uint64_t at;
    bool check; /* read from the beginning: the checksum is held against it at the end */
    uint32_t crc;
    size_t chunk;
} xl_reading;

lb_status xl_reading_fill(void *user, uint8_t *to, size_t room, size_t *got, lb_error *err);
/* Read what is left, for the checksum. */
lb_status xl_reading_drain(xl_reading *reading, lb_error *err);

/* ---- number formats (xlsx_formats.c) */

/* What a format's code shows, and what the formats that have numbers only show. */
xl_shows xl_shows_of_code(lb_str code);
xl_shows xl_shows_of_builtin(uint32_t id);

/* ---- texts (xlsx_strings.c) */

typedef struct xl_strings xl_strings;

/* How many there are, and where each group of so many begins in the XML. */
#define XL_STRINGS_GROUP 128
typedef struct xl_string_list {
    uint64_t count;
    const uint8_t *offsets; /* 8 bytes for each group, little endian, at any address; lent */
} xl_string_list;

/* Texts are read when they are asked for: up to the one asked for, or, where a list is known, the group that it is of. Some are kept, the
 * others read again. */
lb_status xl_strings_new(xl_package *p, xl_strings **out, lb_error *err);
void xl_strings_free(xl_strings *s); /* NULL is fine */
/* Before the first text is asked for: a list that was made before, which must outlive the strings, and the restart points that belong to it. */
lb_status xl_strings_know(xl_strings *s, const xl_string_list *list, const lb_access_points *points, lb_error *err);
/* Make the list, and know it; *count 0: it is not worth while, or the strings do not read to their end. The part's view notes its restart points. */
lb_status xl_strings_list(xl_strings *s, lb_buf *offsets, uint64_t *count, lb_error *err);
const xl_part *xl_strings_part(const xl_strings *s); /* NULL: there is none */
/* Append a text. Thread-safe. Errors: CORRUPT (there is none of that number) … */
lb_status xl_strings_get(xl_strings *s, uint64_t number, lb_buf *out, lb_error *err);

/* A string item (`si`, `is`) that was just begun: its text, without readings (`rPh`), is appended, escapes decoded. */
lb_status xl_string_item(lb_xml *x, lb_buf *out, lb_error *err);
/* Decode `_x000D_` in the text that begins at `from`. */
void xl_unescape(lb_buf *text, size_t from);

/* ---- rows (xlsx_rows.c) */

typedef enum xl_type { XL_T_NUMBER, XL_T_SHARED, XL_T_TEXT, XL_T_BOOL, XL_T_ERROR, XL_T_ISO } xl_type;

typedef struct xl_cell {
    uint32_t column; /* from 0 */
    uint32_t style;
    xl_type type;
    size_t at, size; /* of its text in xl_rows.text */
} xl_cell;

typedef struct xl_rows {
    lb_xml xml;
    xl_reading reading;
    uint32_t row;    /* number of the row at hand, from 1 */
    uint64_t offset; /* of its `<row` */
    xl_cell *cells;  /* that hold a value, by column */
    size_t n_cells, cap_cells;
    lb_buf text;
    bool at_end;
} xl_rows;

/* Read rows from the beginning of the sheet, or from a `<row` at `offset` whose number is `row` (0: the beginning). */
lb_status xl_rows_open(xl_rows *r, lb_context *cx, const xl_part *sheet, uint64_t offset, uint32_t row, size_t chunk,
                       lb_error *err);
void xl_rows_close(xl_rows *r);
/* The next row that is written down; *got false: none follows. Errors: CORRUPT. */
lb_status xl_rows_next(xl_rows *r, bool *got, lb_error *err);

/* ---- values (xlsx_values.c) */

typedef enum xl_kind { XL_NULL, XL_BOOL, XL_NUMERIC, XL_MOMENT, XL_ERROR, XL_TEXT } xl_kind;

typedef struct xl_value {
    xl_kind kind;
    bool boolean;
    double number;
    xl_shows shows;  /* MOMENT */
    bool iso;        /* MOMENT: written as text, which `text` is */
    bool of_day;     /* MOMENT: below one day and not negative */
    int64_t span;    /* MOMENT: milliseconds since the day 0, or of the span */
    int64_t instant; /* MOMENT: milliseconds since 1970-01-01 00:00:00 */
    lb_str text;     /* TEXT, ERROR; of a shared one only if asked */
} xl_value;

typedef struct xl_valuer {
    const xl_package *package;
    xl_strings *strings; /* NULL: shared texts are not looked up */
    lb_buf scratch;
} xl_valuer;

/* What a cell holds. `out->text` is lent until the next call. Errors: CORRUPT, those of xl_strings_get. */
lb_status xl_value_of(xl_valuer *v, const xl_rows *rows, const xl_cell *cell, xl_value *out, lb_error *err);
/* As text (types.md section 4): lent from the value or `room`. */
#define XL_TEXT_ROOM 96
lb_str xl_value_text(const xl_value *v, char room[XL_TEXT_ROOM]);

/* What a column has held. */
typedef struct xl_seen {
    uint64_t booleans, numbers, moments, errors, texts;
    bool fraction, negative; /* among numbers: not whole or beyond 2^53; below 0 */
    bool elapsed, calendar;  /* among moments: spans; others */
    bool days;               /* some moment is no time of one day */
    bool times;              /* some moment is not midnight */
    bool wide;               /* some moment is beyond what nanoseconds hold */
} xl_seen;

void xl_seen_add(xl_seen *s, const xl_value *v);
typedef enum xl_column_type {
    XL_C_NULL,
    XL_C_BOOL,
    XL_C_INT,
    XL_C_DOUBLE,
    XL_C_DATE,
    XL_C_TIME,
    XL_C_TIMESTAMP,
    XL_C_DURATION,
    XL_C_STRING,
    XL_C_TYPES
} xl_column_type;
xl_column_type xl_seen_type(const xl_seen *s);
extern const char *const xl_type_words[XL_C_TYPES];

/* ---- the reader */

/* Where rows begin, at the first row of each block or closer, for blocks may be of many rows. */
#define XL_SPACING_MOST 1024
typedef struct xl_place {
    uint64_t offset; /* of a `<row` in the sheet's XML */
    uint32_t row;    /* its number */
    uint32_t unused;
} xl_place;

typedef struct xl_table {
    uint32_t header_row;   /* number of the header's row; 0: none */
    uint32_t first_row;    /* number of the first row of data */
    uint32_t first_column; /* from 0 */
    uint64_t n_rows;
    struct ArrowSchema schema; /* of all columns */
    uint64_t spacing;          /* rows of data from one place to the next: as a block, or less */
    size_t n_places;
    xl_place *places;
    const lb_blocks *blocks;
    xl_string_list strings;
    lb_str names; /* of all sheets: of each four bytes that tell its size, and the name */
} xl_table;

struct lb_reader {
    lb_context *cx;
    lb_store *store;
    const lb_entry *known;
    const lb_read_options *options; /* may be NULL */
    lb_arena arena;
    xl_package package;
    uint32_t sheet_number; /* among all sheets, from 0 */
    xl_part sheet;
    xl_strings *strings;
    xl_table table; /* of a known entry that has a schema */
};

lb_status xl_survey(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, lb_error *err);

/* Rows of a table, which must outlive the stream. */
lb_status xl_scan_table(lb_reader *r, const xl_table *table, const lb_range *range, struct ArrowArrayStream *out,
                        lb_error *err);

/* Column `open_state`: what a table needs to be read without a pass over the sheet (xlsx_state.c). */
lb_status xl_state_put(const xl_table *table, lb_buf *out, lb_error *err);
/* `out` lends from `known`. Errors: STALE: no state of this version. */
lb_status xl_state_get(const lb_entry *known, lb_arena *arena, xl_table *out, lb_error *err);
/* As lb_format.sheet_of. */
int64_t xl_state_sheet_of(const lb_entry *known, const char *asked);

/* Number of the sheet that is asked for among `n` names: by name, or by number from 0; -1: there is none. */
int64_t xl_sheet_of(const lb_str *names, size_t n, const char *asked);

#endif
