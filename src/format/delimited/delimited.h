/* Delimited text: csv, tsv, psv, txt and what is registered at run time (lake-map.md 6.1, types.md section 1).
 *
 *   bytes   name,when,note LF  Ada,1815-12-10,"wrote ""Notes"", and LF more" CR LF  CR LF  Bob,,LF …
 *           └── header ──────┘ └── record ─────────────────────────────────────┘└blank┘ └ record
 *
 * A record ends at LF, CR LF or a lone CR outside quotes, or at the end of the text; a line without any byte is no
 * record. A field that begins with the quote runs to the next lone quote; `""` inside is one; what stands between that
 * quote and the next delimiter is kept as it is. Elsewhere a quote is an ordinary byte. After an escape byte the next
 * byte stands for itself. One tokenizer (delim_next) counts rows, places checkpoints and reads.
 */
#ifndef LB_FORMAT_DELIMITED_H
#define LB_FORMAT_DELIMITED_H

#include "base/cursor.h"
#include "base/find.h"
#include "base/names.h"
#include "base/number.h"
#include "base/number_plain.h"
#include "format/format.h"

/* ---- dialect */

typedef struct delim_dialect {
    uint8_t delimiter[4];
    unsigned delimiter_size; /* 1 to 4 */
    int quote, escape;       /* -1: none; escape equal to quote is none, for doubling is always understood */
    bool has_header, ragged_null;
    char encoding[64]; /* "" UTF-8; else with its byte order settled */
    unsigned bom_bytes;
} delim_dialect;

/* ---- tokenizer */

enum { DELIM_QUOTED = 1, DELIM_DIRTY = 2, DELIM_UNCLOSED = 4 };

/* A field as it stands in the window. Clean: its value is p[0..size). Dirty: p is the whole field with its quotes, and
 * delim_unescape gives the value. Unclosed: its quote runs to the end of the text. */
typedef struct delim_field {
    const uint8_t *p;
    size_t size;
    unsigned flags;
} delim_field;

typedef enum delim_step {
    DELIM_RECORD, /* fields[0..n_fields), bytes [start, end) and terminator to `after` */
    DELIM_MORE,   /* the record at `start` is not whole in the window: read on and ask again from there */
    DELIM_END     /* no further record; the text ends */
} delim_step;

/* Blocks of 64 bytes whose bits are known at a time. */
#define DELIM_INDEX_BLOCKS 64

/* What the bytes before a position make of those behind it. A byte is ordinary where it is not one of the first four. */
typedef struct delim_carry {
    bool quoted;   /* inside a quoted field */
    bool edge;     /* a field begins: a quote here opens it */
    bool blank;    /* a line begins: one that ends here is no record */
    bool closed;   /* behind the quote that closed a field: a quote here opens it again */
    bool escaped;  /* behind an escape byte: what is here stands for itself */
    bool cr;       /* behind a CR, wherever it stands: an LF here ends no further line */
    unsigned skip; /* so many bytes more belong to the last delimiter */
} delim_carry;

typedef struct delim_scanner {
    const delim_dialect *dialect;
    lb_find_fn find;
    uint8_t values[5]; /* LF, CR, first byte of the delimiter, then quote and escape where there are any */
    unsigned n_values;
    bool plain; /* of this machine; counting bits is not fast */

    const uint8_t *data; /* the window, set by delim_window */
    size_t size, limit;  /* what lies from `limit` on is not decided before more has been read */
    bool end;

    /* Bit i of word b stands for the byte at base + 64 * b + i; words of the first four behind the last block are 0. */
    size_t base, n_blocks;
    uint64_t separators[DELIM_INDEX_BLOCKS]; /* delimiters (their first bytes) and line ends outside quotes */
    uint64_t breaks[DELIM_INDEX_BLOCKS];     /* the line ends among them */
    uint64_t ends[DELIM_INDEX_BLOCKS];       /* those that end records, for a byte that is none stands before them */
    uint64_t lines[DELIM_INDEX_BLOCKS];      /* physical lines end: CR, or LF without one, inside quotes, too */
    bool marking;                            /* the next three are known */
    uint64_t opens[DELIM_INDEX_BLOCKS];      /* quotes that open a field */
    uint64_t closes[DELIM_INDEX_BLOCKS];     /* quotes that close one, for good or before another one */
    uint64_t marks[DELIM_INDEX_BLOCKS];      /* quotes within a field that stand for themselves, and escapes */
    size_t block;                            /* the block that `mask` is of */
    uint64_t mask;                           /* its separators that were not passed */
    size_t passed;                           /* those before it are not in `mask` any more */
    delim_carry carry;                       /* behind the last block */
    size_t dirty_to;                         /* from here on no quote or escape stands within a field */

    size_t start, stop, after; /* of the last record */
    bool unfit;                /* the last delim_skip_fitting stopped before a record that does not fit */
    uint64_t lines_passed;     /* physical lines that ended from where it began to s->after */
    delim_field *fields;
    size_t n_fields, cap_fields;
    lb_budget *budget;
} delim_scanner;

void delim_scanner_init(delim_scanner *s, const delim_dialect *dialect, lb_budget *budget);
void delim_scanner_free(delim_scanner *s);

/* Look at a window; `from` is where the next record is looked for. Needs LB_TEXT_PADDING readable bytes behind it. */
void delim_window(delim_scanner *s, const uint8_t *data, size_t size, bool end, size_t from);

/* The next record. Errors: BUDGET, NOMEM (its fields). */
lb_status delim_next(delim_scanner *s, delim_step *step, lb_error *err);

/* Pass over up to `want` records without looking at their fields; says how many were passed whole. Fewer than wanted: the
 * window ends (s->start is where to go on from). */
uint64_t delim_skip(delim_scanner *s, uint64_t want);

/* Pass over line ends before the next record. */
void delim_skip_blank(delim_scanner *s);

/* At the beginning of a window that begins inside a record, inside quotes or in an unquoted field: pass on to where the next record
 * begins, s->start. False: that is not in the window. */
bool delim_skip_open(delim_scanner *s, bool quoted);

/* As delim_skip from where a record begins, but stops as well before a record that has not `width` fields (`fewer`: that has more). s->after is behind
 * the last record passed, s->start where the next one begins; one at the end of a text that no line end closes is left to
 * delim_next. */
uint64_t delim_skip_fitting(delim_scanner *s, uint64_t want, size_t width, bool fewer);

/* ---- the fields of many records (delimited_cells.c) */

/* Fields of records that all have as many, row after row. Field i is at data[begin[i]]; size[i] is its size with what it is: a clean
 * one is the value without the quotes around it, a dirty one the whole field. */
#define DELIM_CELL_QUOTED ((uint32_t)1 << 30)
#define DELIM_CELL_DIRTY ((uint32_t)1 << 31)
#define DELIM_CELLS 8192      /* so many at a time, */
#define DELIM_CELLS_RECORDS 4 /* of as many records at least */

typedef struct delim_cells {
    const uint8_t *data;
    size_t width, rows;
    size_t wasted; /* records looked at behind one that does not fit */
    uint32_t *begin, *size;

    /* Private. */
    size_t room, bytes, start;
    uint32_t *ends, *marked;
    uint64_t *opened, *closed; /* a bit for each field: a quote opens it; the last byte is one that closes it */
    lb_budget *budget;
} delim_cells;

static inline delim_field delim_cell_field(const delim_cells *c, size_t i)
{
    const uint32_t size = c->size[i];

    return (delim_field){ c->data + c->begin[i], size & ~(DELIM_CELL_QUOTED | DELIM_CELL_DIRTY),
                          ((size & DELIM_CELL_QUOTED) != 0 ? (unsigned)DELIM_QUOTED : 0) |
                              ((size & DELIM_CELL_DIRTY) != 0 ? (unsigned)DELIM_DIRTY : 0) };
}

/* Errors: BUDGET, also where records have so many fields that it is not worth it; NOMEM. */
lb_status delim_cells_init(delim_cells *c, size_t width, lb_budget *budget, lb_error *err);
void delim_cells_free(delim_cells *c); /* also one that is zero-initialised */

/* Read up to `want` records that have c->width fields; stops before one that has not, or is not whole in the window, or that no
 * line end closes: those are left to delim_next. Nothing is read of a dialect whose delimiter has several bytes. The cells lend
 * from the window. */
size_t delim_take_cells(delim_scanner *s, delim_cells *c, uint64_t want);

/* ---- going through the index (delimited_token.c) */

/* The next blocks of the window; false: there are none. */
bool delim_refill(delim_scanner *s);

/* Go on at a place where a record begins, or blank lines before one do. */
void delim_goto(delim_scanner *s, size_t at);

/* Behind the line end at `at`, or the end of the text. */
static inline size_t delim_pass_break(const delim_scanner *s, size_t at)
{
    if (at == s->size)
        return at;
    return s->data[at] == '\r' && at + 1 < s->size && s->data[at + 1] == '\n' ? at + 2 : at + 1;
}

/* ---- the index under it (delimited_index.c) */

/* Find the separators of the blocks from s->base on; s->carry is what stands before them, and afterwards behind them. */
void delim_index(delim_scanner *s);

/* The same, byte by byte: for delimiters of several bytes, and the oracle of the fast one. */
void delim_index_slow(delim_scanner *s);

/* Value of a dirty field, of which the first `most` bytes are wanted: as many, and at most field->size, are written to `out`. */
size_t delim_unescape(const delim_dialect *d, const delim_field *field, size_t most, uint8_t *out);

/* ---- a record reader over a text: window, tokenizer, and where it stands */

typedef struct delim_records {
    lb_text text;
    delim_scanner scan;
    lb_context *cx;
    uint64_t row;  /* of the next record */
    uint64_t line; /* physical line at position `counted` */
    uint64_t counted;
    bool counted_cr;            /* the byte before it is CR */
    uint64_t mark, mark_offset; /* position behind the last marked record; its offset, UINT64_MAX: not asked for yet */
} delim_records;

/* Begin at an offset of the store where a record begins (or blank lines before one), as row `row` on line `line`. */
lb_status delim_records_open(delim_records *r, lb_context *cx, lb_store *store, const delim_dialect *dialect,
                             uint64_t offset, uint64_t row, uint64_t line, size_t chunk, lb_error *err);
/* As that, over bytes of the store that are at hand and valid UTF-8; they begin at `offset` and end with a record. */
void delim_records_lend(delim_records *r, lb_context *cx, lb_store *store, const delim_dialect *dialect,
                        const uint8_t *data, size_t size, uint64_t offset, uint64_t row, uint64_t line);
void delim_records_close(delim_records *r);

/* Pass over a byte-order mark where one stands; before the first record, at the beginning of the store. */
lb_status delim_records_bom(delim_records *r, lb_error *err);

/* Read the next record into r->scan; *got false at the end. A record that holds invalid text is an error with its place. */
lb_status delim_records_next(delim_records *r, bool *got, lb_error *err);

/* Pass over `count` records; *passed says how many there were. Text passed over is not checked. */
lb_status delim_records_skip(delim_records *r, uint64_t count, uint64_t *passed, lb_error *err);

/* Pass over up to `count` records that have `width` fields (`fewer`: or less), and mark the last one; stops before one that has
 * not, or holds invalid text, or is the last of the text. */
lb_status delim_records_skip_fitting(delim_records *r, uint64_t count, size_t width, bool fewer, uint64_t *passed,
                                     lb_error *err);

/* Read up to `want` records with cells->width fields at once, and mark the last one; 0: the next record is to be read by itself. */
size_t delim_records_cells(delim_records *r, delim_cells *cells, uint64_t want);

/* Physical line, from 1, and position in the text of the record just read; offset in the store of a position. */
uint64_t delim_records_line(delim_records *r);
static inline uint64_t delim_records_position(const delim_records *r)
{
    return r->text.at + r->scan.start;
}
/* Offset in the store and line where the next record is looked for. */
void delim_records_place(delim_records *r, uint64_t *offset, uint64_t *line);
/* Mark where the record just read ends, and ask for the offset of that later, also when others were read since. */
static inline void delim_records_mark(delim_records *r)
{
    r->mark = r->text.at + r->scan.after;
    r->mark_offset = UINT64_MAX;
}
uint64_t delim_records_marked(delim_records *r);

/* Where the record just read stands. r->row is the number of the next one. */
lb_where delim_records_where(delim_records *r);

/* ---- types (delimited_infer.c) */

typedef enum delim_kind {
    DELIM_KIND_BOOL,
    DELIM_KIND_INT,
    DELIM_KIND_UINT,
    DELIM_KIND_BIG,
    DELIM_KIND_FLOAT,
    DELIM_KIND_DATE,
    DELIM_KIND_TIME,
    DELIM_KIND_TIMESTAMP,
    DELIM_KIND_UTC,
    DELIM_KIND_TEXT,
    DELIM_KINDS
} delim_kind;

/* Null words and type mode of a read. */
typedef struct delim_values {
    bool text; /* every field as it stands; nothing null but padding */
    bool decimal;
    const char *const *nulls;
    size_t n_nulls;
} delim_values;

#define DELIM_DECIMAL_DIGITS 76
#define DELIM_TYPE_TEXT 32

/* What one column has held so far: for each kind of value how often and between which bounds. Types follow from it alone, and two of
 * them merge, whatever the order. */
typedef struct delim_column {
    uint64_t nulls; /* rows that no value was taken in for: unquoted empty fields, null words, padding */
    uint64_t quoted_empty;
    uint64_t seen[DELIM_KINDS];
    uint64_t nans, points; /* floats that are NaN; floats written with a point and no exponent */
    uint32_t whole_digits, fraction_digits;
    bool settled;         /* text, whatever follows: values need no parsing */
    bool nanos[3];        /* TIME, TIMESTAMP, UTC: some value has more than six fraction digits */
    int64_t min_i, max_i; /* INT; BOOL as 0 and 1 in min_bool, max_bool */
    uint64_t min_u, max_u;
    double min_f, max_f;
    uint8_t min_bool, max_bool;
    int32_t min_date, max_date;
    struct delim_instant {
        int64_t seconds;
        uint32_t nanos;
    } min_at[3], max_at[3]; /* TIME, TIMESTAMP, UTC */
    lb_text_bounds text;
    struct delim_digits {
        uint8_t size;
        char text[DELIM_DECIMAL_DIGITS + 3];
    } min_decimal, max_decimal; /* as written */
} delim_column;

void delim_column_init(delim_column *c);

/* Bytes that may be read behind a value, whatever stands there. Windows and delim_read_value see to them. */
#define DELIM_VALUE_PADDING 32

/* Take in one value of the column that is not null, with DELIM_VALUE_PADDING readable bytes behind it. `stats`: keep
 * the bounds of text, too. */
void delim_column_add(delim_column *c, lb_str value, bool quoted, const delim_values *values, bool stats);
void delim_column_merge(delim_column *c, const delim_column *other);

/* Values taken in, as `""` too. */
uint64_t delim_column_values(const delim_column *c);

/* What a field says: null, or a value without quotes and escapes. Typing and reading both ask here. */
typedef struct delim_value {
    lb_str text; /* in the window or in the scratch buffer: valid until the next one is read; padded */
    bool null, quoted;
} delim_value;

/* The rest of delim_read_value, for a field with escapes or in a file with null words. */
lb_status delim_read_odd_value(const delim_dialect *d, const delim_values *values, const delim_field *field,
                               size_t most, lb_buf *scratch, delim_value *out, lb_error *err);

/* Of a value with escapes no more than the first `most` bytes need be given. Errors: BUDGET, NOMEM (the scratch buffer). */
static inline lb_status delim_read_value(const delim_dialect *d, const delim_values *values, const delim_field *field,
                                         size_t most, lb_buf *scratch, delim_value *out, lb_error *err)
{
    out->text = (lb_str){ (const char *)field->p, field->size };
    out->quoted = (field->flags & DELIM_QUOTED) != 0;
    out->null = field->size == 0 && !out->quoted && !values->text;
    if (__builtin_expect((field->flags & DELIM_DIRTY) == 0 && values->n_nulls == 0, 1))
        return LB_OK;
    return delim_read_odd_value(d, values, field, most, scratch, out, err);
}

/* Blanks around an unquoted value do not count when it is typed. */
static inline lb_str delim_trim(lb_str v, bool quoted)
{
    if (quoted)
        return v;
    while (v.size != 0 && (v.at[0] == ' ' || v.at[0] == '\t')) {
        v.at++;
        v.size--;
    }
    while (v.size != 0 && (v.at[v.size - 1] == ' ' || v.at[v.size - 1] == '\t'))
        v.size--;
    return v;
}

/* `true` or `false` in any case? The value is padded. The bit that is set parts capitals from small letters. */
static inline bool delim_parse_bool(lb_str v, bool *out)
{
    uint64_t word = lb_load8(v.at) | 0x2020202020202020;
    bool yes = (v.size == 4) & ((word & 0xffffffff) == 0x65757274);    /* "eurt" */
    bool no = (v.size == 5) & ((word & 0xffffffffff) == 0x65736c6166); /* "eslaf" */

    *out = yes;
    return yes | no;
}

/* Take in the values of a column of many records, as delim_column_add does one by one. `values`, the dialect and the buffer are
 * lent. */
typedef struct delim_typing {
    const delim_dialect *dialect;
    const delim_values *values;
    lb_buf *scratch;
    bool asking; /* fields that begin with one of these may be null words */
    bool odd[256];
} delim_typing;

void delim_typing_init(delim_typing *t, const delim_dialect *dialect, const delim_values *values, lb_buf *scratch);

/* Errors: BUDGET, NOMEM (the scratch buffer). */
lb_status delim_typing_add(const delim_typing *t, const delim_cells *cells, size_t column, delim_column *c, bool stats,
                           lb_error *err);

static inline int delim_compare_instant(struct delim_instant a, struct delim_instant b)
{
    if (a.seconds != b.seconds)
        return a.seconds < b.seconds ? -1 : 1;
    return (a.nanos > b.nanos) - (a.nanos < b.nanos);
}

/* The column's type in words: the join of all that was seen. */
void delim_column_type(const delim_column *c, const delim_values *values, char out[DELIM_TYPE_TEXT]);

/* LB_META_WIDE of the column under its type. */
bool delim_column_is_wide(const delim_column *c, const char *type);

/* Statistics under the type in words that the column got in the end. `name` and `type` are lent to `out`. */
lb_status delim_column_stats(const delim_column *c, lb_str name, const char *type, bool bounds, lb_arena *arena,
                             lb_colstat *out, lb_error *err);

/* A decimal bound as big-endian two's complement: 16 bytes up to 38 digits, else 32. */
lb_status delim_decimal_bytes(lb_i256 v, int precision, lb_arena *arena, lb_str *out, lb_error *err);

/* Order of doubles in which -0.0 lies below +0.0. */
static inline bool delim_less(double a, double b)
{
    return a < b || (a == b && __builtin_signbit(a) && !__builtin_signbit(b));
}

/* ---- where a survey can be taken up again (delimited_state.c) */

lb_status delim_state_begin(lb_buf *out, uint64_t first_row, uint32_t width, lb_error *err);
lb_status delim_state_add(lb_buf *out, const delim_column *c, lb_error *err);
/* Hostile bytes are safe; false: no state. */
bool delim_state_open(lb_str bytes, lb_cursor *c, uint64_t *first_row, uint32_t *width);
bool delim_state_next(lb_cursor *c, delim_column *out);

/* ---- values read as a type (delimited_value.c) */

typedef enum delim_storage {
    DELIM_TEXT,
    DELIM_BOOL,
    DELIM_SIGNED,
    DELIM_UNSIGNED,
    DELIM_DOUBLE,
    DELIM_DECIMAL,
    DELIM_INSTANT,
    DELIM_DAYS,
    DELIM_NOTHING
} delim_storage;

/* An Arrow type as far as text can be read as one. */
typedef struct delim_target {
    delim_storage storage;
    unsigned bytes;          /* of one value; DELIM_BOOL: a bit */
    bool binary, utc, clock; /* INSTANT: with a zone; a time of day */
    int64_t unit;            /* INSTANT: counts a second */
    int precision, scale;
} delim_target;

/* A value of a target: booleans, signed integers, dates and instants in `i`, unsigned integers in `u`, floats in `f`,
 * decimals in `d`. */
typedef struct delim_scalar {
    int64_t i;
    uint64_t u;
    double f;
    lb_i256 d;
} delim_scalar;

/* Errors: USAGE: a type that text is not read as, saying which it is. */
lb_status delim_target_of(const struct ArrowSchema *type, delim_target *out, lb_error *err);

/* Read a value (trimmed and padded; not of a DELIM_TEXT target). False: it does not read so. */
bool delim_parse(const delim_target *t, lb_str v, delim_scalar *out);

/* Is an empty quoted field the empty text or null under this target? */
static inline bool delim_nulls(const delim_target *t, const delim_value *v)
{
    return v->null || (v->quoted && v->text.size == 0 && t->storage != DELIM_TEXT);
}

/* ---- the reader */

struct lb_reader {
    const lb_format *format;
    lb_context *cx;
    lb_store *store;
    delim_dialect dialect;
    delim_values values;
    const lb_read_options *options; /* may be NULL; as given to open */
    bool delimiter_declared;
    const lb_entry *known;     /* may be NULL */
    struct ArrowSchema schema; /* of a known entry that has one */
    lb_arena arena;
};

/* What a handler of this folder is made with. */
typedef struct delim_defaults {
    char delimiter;
    bool has_header;
    bool backslash_n; /* `\N` is null, as in tsv */
} delim_defaults;

/* Type words of a column that `--column` declares, or NULL. */
const char *delim_declared(const lb_reader *r, lb_str name);

/* Column names from the header record (types.md section 1): unique, none empty. They are given out in the order of the
 * columns, and do not depend on how many follow. Zero-initialised is a namer without a header. */
typedef struct delim_namer {
    const lb_str *header; /* lent */
    size_t n_header, n_named;
    uint64_t next_column; /* the number to try next for a column without a name */
    lb_names taken;       /* all names of the header and those made up so far */
    lb_names used;        /* those given to a column already; each with the number to try next behind it */
} delim_namer;

lb_status delim_namer_init(delim_namer *n, const lb_str *header, size_t n_header, lb_error *err);
void delim_namer_free(delim_namer *n);
/* Name of the next column; original->at is NULL where it stands as it was. Names are the header's or in the arena. */
lb_status delim_namer_next(delim_namer *n, lb_arena *arena, lb_str *name, lb_str *original, lb_error *err);

/* The record just read has not `width` fields, and `--ragged error` holds. */
lb_status delim_fail_ragged(lb_reader *r, delim_records *records, size_t width, lb_error *err);

/* The bytes of a block that start_hash is taken of. */
#define DELIM_START_BYTES 64

lb_status delim_survey(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, lb_error *err);
lb_status delim_extend(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, bool *done,
                       lb_error *err);
lb_status delim_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err);
lb_status delim_extents(lb_reader *r, const uint64_t *rows, size_t n, lb_extent *out, size_t *found, lb_error *err);
lb_status delim_raw(lb_reader *r, uint64_t first, uint64_t count, lb_write_fn write, void *user, lb_error *err);
lb_status delim_suggest(lb_reader *r, char *out, char *why, size_t cap, lb_error *err);

/* Begin reading so that the next record is row `first`, from the nearest block before it; *there false: the text ends before.
 * Errors: STALE where the block does not begin as the entry says. */
lb_status delim_seek(lb_reader *r, uint64_t first, size_t chunk, delim_records *out, bool *there, lb_error *err);

#endif
