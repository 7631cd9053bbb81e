/* MessagePack files (lake-map.md 6.8 and 14; types.md section 3).
 *
 *   stream   object object object …                              locator `object`
 *   array    head of an array | element element …, to the end    locator `array_object`
 *
 * A row is an object, or an element of the one array that the file is. Rows are found by passing objects over (wire/msgpack_wire.h);
 * only then are their values looked at. Rows that are all maps have a column for each key; otherwise all of them are the
 * column `value`. What places have held, and the types and statistics that follow, are those of JSON (format/seen.h). */
#ifndef LB_FORMAT_MSGPACK_MSGPACK_H
#define LB_FORMAT_MSGPACK_MSGPACK_H

#include "column/append.h"
#include "format/format.h"
#include "format/seen.h"
#include "wire/msgpack_wire.h"

/* Values nested deeper have no text either. */
#define MP_TEXT_DEPTH 512

#define MP_START_BYTES 64

/* ---- tokens in a row */

/* Tokens are read of it one by one. That fails at a byte that begins none and where the bytes end inside one; 16 zero bytes
 * can be read behind them. */
typedef struct mp_cursor {
    const uint8_t *at, *end;
} mp_cursor;

static inline bool mp_next(mp_cursor *c, lb_msgpack_token *t)
{
    return lb_msgpack_next(&c->at, c->end, t);
}

/* Pass `count` objects. */
static inline bool mp_pass(mp_cursor *c, uint64_t count)
{
    lb_msgpack_skip s = { c->at, 0 };
    const uint8_t *start;
    uint64_t done;

    if (lb_msgpack_pass(&s, c->end, count, &done, &start) != LB_MSGPACK_DONE)
        return false;
    c->at = s.at;
    return true;
}

static inline lb_str mp_bytes(const lb_msgpack_token *t)
{
    return (lb_str){ (const char *)t->data, (size_t)t->n };
}

/* Is this token an instant (spec.md, "Timestamp extension type")? One whose bytes do not read so is an extension as others. */
bool mp_stamp(const lb_msgpack_token *t, lb_stamp *out);

bool mp_is_utf8(const lb_msgpack_token *t);

/* Text that is UTF-8; other text counts as binary. Most are short, and ASCII. */
static inline bool mp_is_text(const lb_msgpack_token *t)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    uint64_t eight[2];

    if (t->n > 16)
        return mp_is_utf8(t);
    memcpy(eight, t->data, sizeof eight); /* 16 bytes can be read behind the token */
    if (t->n < 8)
        return (eight[0] & high & (((uint64_t)1 << 8 * t->n) - 1)) == 0 || mp_is_utf8(t);
    if (t->n < 16)
        eight[1] &= ((uint64_t)1 << 8 * (t->n - 8)) - 1;
    return ((eight[0] | eight[1]) & high) == 0 || mp_is_utf8(t);
}

/* ---- rows (msgpack_records.c) */

/* Where a row begins: pieces of the file that hold whole rows. */
#define MP_PIECE_BYTES ((uint64_t)512 << 10) /* at least */
typedef struct mp_cut {
    uint64_t byte;
} mp_cut;

/* `count` rows from `row` on, at the cursor. */
typedef void (*mp_passed_fn)(void *user, uint64_t row, uint64_t count, mp_cursor c);

typedef struct mp_records {
    lb_context *cx;
    lb_store *store;
    lb_buf window; /* LB_TEXT_PADDING zero bytes follow */
    uint64_t at;   /* offset of its first byte */
    size_t chunk;
    bool end;                  /* nothing follows the window */
    lb_msgpack_skip skip;      /* `at` is set anew from `place` whenever the window moves */
    size_t place, start, stop; /* in the window: the next token; the row just read */
    uint64_t row;              /* of the next one */
    uint64_t left;             /* elements that the array still has; UINT64_MAX: no array */
    bool torn;                 /* the file ends inside row `row`, which begins at `start` */
    uint64_t after;            /* offset behind the last row that was passed or read */
    lb_buf *cuts;              /* NULL, or gets mp_cut where windows end, far enough from each other */
    lb_tap_fn tap;
    void *tap_user;
    mp_passed_fn passed; /* NULL, or gets rows that mp_records_pass passed over, while they are in the window */
    void *passed_user;
} mp_records;

/* Begin at `offset`, where row `row` begins. `left`: as above. `chunk`: bytes read at a time, 0: 1 MiB. */
void mp_records_open(mp_records *r, lb_context *cx, lb_store *store, uint64_t offset, uint64_t row, uint64_t left,
                     size_t chunk);
void mp_records_close(mp_records *r);

/* At the beginning of the file: is it an array? Then its head is passed. Errors: IO, BUDGET, NOMEM. */
lb_status mp_records_begin(mp_records *r, bool may_array, bool *array, lb_error *err);

/* The next row, from r->start to r->stop of the window; *got false at the end, which is good, or torn: then r->torn. Errors:
 * CORRUPT with the place; IO, BUDGET, NOMEM, CANCELLED. */
lb_status mp_records_next(mp_records *r, bool *got, lb_error *err);

/* Pass up to `count` rows; fewer at the end only. */
lb_status mp_records_pass(mp_records *r, uint64_t count, uint64_t *passed, lb_error *err);

static inline uint64_t mp_records_offset(const mp_records *r, const uint8_t *at)
{
    return r->at + (uint64_t)(at - r->window.data);
}

static inline mp_cursor mp_records_cursor(const mp_records *r)
{
    return (mp_cursor){ r->window.data + r->start, r->window.data + r->stop };
}

/* The bytes that are at hand from the next row on. False: none, or there is no next row. They may end inside it: whoever reads it whole
 * says so with mp_records_took, and is spared mp_records_next; else that is called. */
static inline bool mp_records_look(const mp_records *r, mp_cursor *c)
{
    if (r->skip.pending != 0 || r->place >= r->window.size || r->left == 0 || r->torn)
        return false;
    *c = (mp_cursor){ r->window.data + r->place, r->window.data + r->window.size };
    return true;
}

static inline void mp_records_took(mp_records *r, const uint8_t *stop)
{
    r->start = r->place;
    r->place = r->stop = (size_t)(stop - r->window.data);
    r->after = r->at + r->place;
    r->row++;
    if (r->left != UINT64_MAX)
        r->left--;
}

/* ---- places of rows that are arrays (msgpack_places.c) */

typedef struct mp_places {
    size_t count;
    lb_str *names;
} mp_places;

#define MP_PLACE_NAME 32

/* The name of a place, from 0; beyond the named ones `column_N`, N from 1, in `own`. */
lb_str mp_place_name(const mp_places *p, uint64_t place, char own[MP_PLACE_NAME]);

lb_status mp_places_of_text(mp_places *p, const char *text, lb_arena *arena, lb_error *err);
lb_status mp_places_of_row(mp_places *p, mp_cursor c, lb_arena *arena, lb_error *err);

/* As mp_records_begin, and over the row of names, if there is one. Its names go to `places`, in the reader's arena; NULL: they
 * are known. */
lb_status mp_begin_rows(mp_records *records, lb_reader *r, bool may_array, bool *array, mp_places *places,
                        lb_error *err);

/* What r->options and r->known say of places. */
lb_status mp_places_open(lb_reader *r, lb_error *err);

/* ---- types (msgpack_types.c) */

typedef struct mp_taker {
    lb_arena *arena;
    lb_buf replaced, list, key;
    bool text;               /* every column is text: only the keys of rows matter */
    bool careful;            /* equal keys may come: maps are looked at twice */
    bool equal_keys;         /* found some without being careful: what was taken in is not to be used */
    uint64_t object;         /* number of the last one */
    const mp_places *places; /* rows that are arrays have columns of these names; NULL: they are values */
    const uint8_t *base;
    uint64_t base_offset; /* where `base` stands in the file */
    lb_status status;
    lb_error *err;
} mp_taker;

void mp_taker_init(mp_taker *t, lb_arena *arena, lb_budget *budget, bool text, bool careful);
void mp_taker_free(mp_taker *t);

/* A node for rows, which has the named places. NULL: no memory, see arena->why. */
lb_seen *mp_rows_new(lb_arena *arena, bool bounds, const mp_places *places);

/* Take in the object at the cursor. False: t->status or t->equal_keys says why. */
bool mp_take(mp_taker *t, lb_seen *n, mp_cursor *c);

/* ---- text of values (msgpack_text.c) */

/* Append the next object as tagged JSON (types.md section 5). False: *status. Errors: UNSUPPORTED: too deep; BUDGET, NOMEM. */
bool mp_tagged(mp_cursor *c, lb_buf *out, lb_status *status, lb_error *err);

/* A value in a column of text: a text, a number or an instant as it stands, all else tagged. */
bool mp_plain(mp_cursor *c, lb_buf *out, lb_status *status, lb_error *err);

/* The name that a key gives: a text's own, or the tagged JSON of what is none, in `scratch`. 16 bytes can be read at it. */
bool mp_key(mp_cursor *c, lb_buf *scratch, lb_str *out, lb_status *status, lb_error *err);

/* Is the next key a short text, and the one that was the k-th before? Then it is passed, and this is its number; else LB_NO_KEY. */
static inline size_t mp_hinted_key(const lb_keys *keys, uint64_t k, mp_cursor *c)
{
    if (k >= keys->n_hints || c->at >= c->end || (*c->at & 0xE0) != 0xA0)
        return LB_NO_KEY;
    const lb_key *hint = &keys->items[keys->hints[k]];
    const char *text = (const char *)c->at + 1;
    const size_t size = *c->at & 0x1F;
    if (size >= (size_t)(c->end - c->at) || hint->name.size != size || hint->head != lb_text_prefix(text, size) ||
        (size > 8 && memcmp(hint->name.at + 8, text + 8, size - 8) != 0))
        return LB_NO_KEY;
    c->at += 1 + size;
    return keys->hints[k];
}

/* Bits of the pairs that later ones of the same key replace, appended to `out`; the cursor is at the first of `n` keys. */
bool mp_find_replaced(mp_cursor c, uint64_t n, lb_buf *list, lb_buf *key, lb_buf *out, bool *any, lb_status *status,
                      lb_error *err);

static inline bool mp_is_replaced(const lb_buf *bits, size_t from, uint64_t k)
{
    return from != SIZE_MAX && (bits->data[from + k / 8] >> k % 8 & 1) != 0;
}

/* ---- values as Arrow arrays (msgpack_build.c) */

typedef struct mp_field mp_field;

typedef struct mp_build {
    lb_arena *arena;
    lb_append append;
    lb_buf text, replaced, list, key;
    bool trusted;                   /* the types were found in these very rows: keys that are not wanted are passed */
    const struct ArrowSchema *file; /* all columns of the file */
    const mp_places *places;        /* as in mp_taker */
    const uint8_t *wrong_at;        /* a value that is not of its column's type; NULL: none */
    lb_str unknown;                 /* a key that no column has, unless `at` is NULL */
    const mp_field *top;            /* the field of the rows that was last begun */
    size_t column;                  /* which column that was, where a row failed */
} mp_build;

/* Errors: USAGE: a type that MessagePack is not read as. */
lb_status mp_build_make(mp_build *b, const struct ArrowSchema *schema, lb_growing *rows, mp_field **out, lb_error *err);
void mp_build_free(mp_build *b);

/* Take in the row at the cursor. `value`: each column is the row as it stands. False: b->wrong_at, b->unknown or b->append.status say why. */
bool mp_build_row(mp_build *b, mp_field *rows, bool value, mp_cursor *c);

/* As above, of a row whose bytes may not all be there: where that fails, for whatever reason, all is as it was. */
bool mp_build_try(mp_build *b, mp_field *rows, bool value, mp_cursor *c);

/* ---- the reader */

struct lb_reader {
    lb_context *cx;
    lb_store *store;
    bool text;                      /* --types text */
    const lb_read_options *options; /* may be NULL */
    const lb_entry *known;          /* may be NULL */
    lb_arena arena;
    bool named, header; /* places have names by an option; the first row is of names */
    mp_places places;
    struct ArrowSchema schema; /* of a known entry that has one */
};

/* The names of places that rows are to have; NULL: none. */
static inline const mp_places *mp_reader_places(const lb_reader *r)
{
    return r->named || r->header ? &r->places : NULL;
}

lb_status mp_survey(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, lb_error *err);
lb_status mp_extend(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, bool *done,
                    lb_error *err);
lb_status mp_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err);
lb_status mp_extents(lb_reader *r, const uint64_t *rows, size_t n, lb_extent *out, size_t *found, lb_error *err);
lb_status mp_raw(lb_reader *r, uint64_t first, uint64_t count, lb_write_fn write, void *user, lb_error *err);

/* Read on from the block before row `first`; *there false: the file ends before. */
lb_status mp_seek(lb_reader *r, uint64_t first, size_t chunk, mp_records *out, bool *there, lb_error *err);

#endif
