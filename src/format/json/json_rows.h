/* NDJSON, JSON lines and JSON (lake-map.md 6.2, 6.3 and 14; types.md section 2).
 *
 *   lines   {"id":1,"tags":["a"]} LF {"id":2} {"id":3} LF LF { LF "id": 4 } …      locator `line`
 *   array   [ {"id":1} , {"id":2} ,LF {"id":3} ]                                    locator `array_object`
 *
 * A row is a value of the text, or an element of the one array that it is; physical lines do not matter. One walk
 * (js_records over wire/json_text.h) counts rows, places checkpoints and reads. Rows that are all objects have a
 * column for each key; otherwise all of them are the column `value`. */
#ifndef LB_FORMAT_JSON_ROWS_H
#define LB_FORMAT_JSON_ROWS_H

#include "base/cursor.h"
#include "base/number.h"
#include "format/format.h"
#include "format/seen.h"
#include "wire/json_text.h"

/* ---- keys of objects (json_keys.c, over format/keys.h) */

/* Number of the k-th key of an object, or LB_NO_KEY. `scratch`: for keys with escapes. */
size_t js_keys_find(lb_keys *keys, size_t k, const lb_json_text *key, lb_buf *scratch);

/* The text of a string: lent, or decoded into `scratch`. `text->at` NULL: no memory for that. */
lb_str js_text(const lb_json_text *text, lb_buf *scratch);

/* Of an object's members those that a later one of the same key replaces (types.md section 2: the last wins), as bits
 * by their order, appended to `out`; the cursor, before the object, is a copy. *n: how many members there are. False:
 * the text is bad, which the next reader of it finds as well, or no memory. */
bool js_find_replaced(lb_json_cursor c, lb_buf *out, size_t *n, bool *any);

/* ---- types (json_types.c, over format/seen.h) */

/* Takes values in. Zero-initialised but for the arena. */
typedef struct js_taker {
    lb_arena *arena;
    lb_buf scratch, replaced;
    lb_buf known;        /* of json_known.h: keys of the rows; empty: they are not remembered */
    lb_buf counters;     /* of js_take_known */
    bool text;           /* every column is text: only the keys of rows matter */
    bool careful;        /* equal keys may come: objects are looked at twice */
    bool equal_keys;     /* found some without being careful: what was taken in is not to be used */
    uint64_t object;     /* number of the last one */
    const uint8_t *base; /* a byte of the window, and where it stands in the file */
    uint64_t base_offset;
    const char *const *maps; /* top-level columns that are declared to be maps, ended by NULL; or NULL */
    lb_status status;        /* why it stopped, if the text is good and keys are not equal */
    lb_error *err;
} js_taker;

/* Take in the value at the cursor. False: the cursor is bad, equal_keys, or status. */
bool js_take(js_taker *t, lb_seen *n, lb_json_cursor *c);

/* What a value counts as where every column is text, by lb_json_kind; of null nothing. */
extern const lb_seen_kind js_text_kinds[];

/* Where every column is text and bounds are not wanted: take in rows ahead, up to `count`, as js_take of each would
 * (json_known.c), without looking for their ends first. Stops before the first that is no object, does not end in the
 * window, holds a key or a kind of value that is new, the same key twice, or anything that is wrong: all that is left
 * to js_take. Returns how many were passed; the walk stands at the last of them. */
uint64_t js_take_known(js_taker *t, lb_seen *n, lb_json_walk *w, uint64_t count);

/* ---- a record reader over a text (json_records.c) */

typedef struct js_records {
    lb_text text;
    lb_json_walk walk;
    lb_context *cx;
    uint64_t row;  /* of the next record */
    uint64_t line; /* physical line at position `counted` */
    uint64_t counted;
    bool counted_cr;
    bool torn;   /* the text ends inside the record `row`, which begins at walk.start; see js_records_next */
    bool arrays; /* another array follows the one that was read: the error says that something does */
    uint64_t mark, mark_offset; /* position behind the marked record; its offset, UINT64_MAX: not asked for yet */
} js_records;

/* Begin at an offset where a record begins (`layout` LB_JSON_LINES or LB_JSON_ELEMENTS), or at the beginning of the
 * store (LB_JSON_LINES or LB_JSON_ARRAY, js_records_begin is to follow). */
lb_status js_records_open(js_records *r, lb_context *cx, lb_store *store, const char *encoding, lb_json_layout layout,
                          uint64_t offset, uint64_t row, uint64_t line, size_t chunk, lb_error *err);
/* Pass over a byte-order mark, and settle the layout: an array where the first byte that is no blank is `[` and
 * `may_array`. */
lb_status js_records_begin(js_records *r, bool may_array, lb_error *err);
/* Over bytes at hand that are valid UTF-8, from the beginning of a record to the end of one. */
void js_records_lend(js_records *r, lb_context *cx, lb_store *store, lb_json_layout layout, const uint8_t *data,
                     size_t size, uint64_t offset, uint64_t row, uint64_t line);
void js_records_close(js_records *r);

/* The next record, from walk.start to walk.stop of text.data; *got false at the end, which is good, or torn: then
 * r->torn. Errors: CORRUPT with the place. */
lb_status js_records_next(js_records *r, bool *got, lb_error *err);
/* Pass over `count` records, and mark the last one. */
lb_status js_records_skip(js_records *r, uint64_t count, uint64_t *passed, lb_error *err);

/* Offset, row and line of a byte of the window, for an error in the record just read. */
lb_where js_records_where(js_records *r, const uint8_t *at);
uint64_t js_records_line(js_records *r, size_t at); /* of a byte of the window */
/* Mark where the record just read ends, and ask for the offset of that later, also when others were read since. */
void js_records_mark(js_records *r);
uint64_t js_records_marked(js_records *r);
/* The cursor over the record just read stopped at something bad. */
lb_status js_records_fail(js_records *r, const lb_json_cursor *c, lb_error *err);

/* Where the next record is looked for, as far as that is known without reading on: its offset and line. */
void js_records_place(js_records *r, uint64_t *offset, uint64_t *line);

/* ---- values as Arrow arrays (json_build.c) */

typedef struct js_builder js_builder;

/* What all builders of a scan share. */
typedef struct js_build {
    lb_arena *arena;
    lb_budget *budget;
    lb_buf scratch, replaced, key;
    bool trusted;                   /* the text was read whole before: what is not wanted is passed, not checked */
    uint64_t taken;                 /* bytes that the budget counts for the batch */
    uint64_t bytes;                 /* of the values in it */
    const uint8_t *wrong_at;        /* a value that is not of its column's type; NULL: none */
    size_t column;                  /* which column that is */
    const struct ArrowSchema *file; /* all columns of the file, unless trusted */
    const uint8_t *unknown_at;      /* a key that it has not; NULL: none */
    lb_status status;               /* BUDGET, NOMEM, UNSUPPORTED */
    lb_error *err;
} js_build;

/* A builder for rows with the columns of `schema`. Errors: USAGE: a type that JSON is not read as. */
lb_status js_builder_make(js_build *b, const struct ArrowSchema *schema, js_builder **out, lb_error *err);
/* Take in a row. `value`: each column is the row as it stands. False: c->reason, b->wrong_at or b->status say why. */
bool js_builder_row(js_build *b, js_builder *rows, bool value, lb_json_cursor *c);
/* What was taken in as a batch of `n` rows; the builder is empty afterwards. */
lb_status js_builder_finish(js_builder *rows, const struct ArrowSchema *schema, int64_t n, struct ArrowArray *out,
                            lb_error *err);
void js_builder_reset(js_builder *rows); /* NULL is fine; the builder itself is the arena's */

/* Append the value at the cursor as tagged JSON text without blanks (types.md sections 2 and 5). */
bool js_tagged(js_build *b, lb_json_cursor *c, lb_buf *out);

/* ---- the reader */

struct lb_reader {
    const lb_format *format;
    lb_context *cx;
    lb_store *store;
    char encoding[64];
    unsigned bom_bytes;
    bool lines_only;                /* `.ndjson`: never an array */
    bool text;                      /* --types text */
    const lb_read_options *options; /* may be NULL */
    const lb_entry *known;          /* may be NULL */
    struct ArrowSchema schema;      /* of a known entry that has one */
    const char **maps;              /* columns declared as maps, ended by NULL */
    lb_arena arena;
};

#define JS_START_BYTES 64
lb_status js_survey(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, lb_error *err);
lb_status js_extend(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, bool *done,
                    lb_error *err);
lb_status js_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err);
lb_status js_extents(lb_reader *r, const uint64_t *rows, size_t n, lb_extent *out, size_t *found, lb_error *err);
lb_status js_raw(lb_reader *r, uint64_t first, uint64_t count, lb_write_fn write, void *user, lb_error *err);
lb_status js_tail(const lb_entry *known, lb_error *err);

/* Read on from the block before row `first`; *there false: the text ends before. */
lb_status js_seek(lb_reader *r, uint64_t first, size_t chunk, js_records *out, bool *there, lb_error *err);

/* The layout of an entry with this locator. */
static inline bool js_is_array(lb_str locator)
{
    return lb_str_is(locator, "array_object");
}

#endif
