/* What one place of rows has held so far, for formats whose values say their kind and whose columns have no declared type (JSON,
 * MessagePack): types follow from it alone (types.md sections 2 and 3), and what two parts of a file have seen merges, in any
 * order, into what the whole has. */
#ifndef LB_FORMAT_SEEN_H
#define LB_FORMAT_SEEN_H

#include "base/cursor.h"
#include "format/format.h"
#include "format/keys.h"

/* Values nest in columns to this depth; what lies deeper is text. A map takes two levels of a schema, and those have
 * an end (LB_TYPE_DEPTH). */
#define LB_SEEN_DEPTH 28

/* An object with more keys than this, over the whole file, is a map (types.md section 2). Rows may have more: a wide
 * table is no map. */
#define LB_SEEN_OBJECT_KEYS 1000
#define LB_SEEN_ROW_KEYS 10000

/* The column of a file whose rows are not all objects; it has LB_META_ROWS. */
#define LB_ROWS_VALUE "value"

typedef enum lb_seen_kind {
    LB_SEEN_BOOL,
    LB_SEEN_INT,
    LB_SEEN_UINT,
    LB_SEEN_BIG,
    LB_SEEN_FLOAT,
    LB_SEEN_TEXT,
    LB_SEEN_OBJECT,
    LB_SEEN_ARRAY,
    LB_SEEN_BINARY,
    LB_SEEN_EXTENSION, /* MessagePack's: a number and bytes */
    LB_SEEN_STAMP,     /* an instant */
    LB_SEEN_KINDS
} lb_seen_kind;

/* An instant: seconds since 1970-01-01 00:00:00 UTC, and nanoseconds counted forwards from them. */
typedef struct lb_stamp {
    int64_t seconds;
    uint32_t nanos;
} lb_stamp;

typedef struct lb_seen lb_seen;

typedef struct lb_seen_member {
    lb_seen *node;
    uint64_t first; /* where the key stands for the first time in the file */
    uint64_t stamp; /* the last object that had it */
} lb_seen_member;

struct lb_seen {
    uint64_t seen[LB_SEEN_KINDS]; /* values that are not null */
    uint64_t nans;                /* of the floats */
    int64_t min_i, max_i;
    uint64_t min_u, max_u;
    double min_f, max_f; /* of those that are numbers */
    lb_stamp min_s, max_s;
    bool finer; /* some instant has digits below the microsecond */
    bool has_false, has_true;
    bool mixed;           /* text, whatever follows: what lies below is not looked at */
    bool map;             /* an object of many keys: `items` is their values */
    bool bounds;          /* bounds of strings are wanted */
    size_t most_keys;     /* an object of more is a map */
    lb_text_bounds *text; /* of strings or binaries; NULL: none so far */
    lb_keys keys;
    lb_seen_member *members; /* keys.cap of them */
    lb_seen *items;
};

/* NULL: no memory, see arena->why. */
lb_seen *lb_seen_new(lb_arena *arena, bool bounds);
lb_seen *lb_seen_rows(lb_arena *arena, bool bounds); /* of the rows */

/* The member of a name, made where there is none. NULL: no memory, see arena->why. */
lb_seen_member *lb_seen_add_member(lb_seen *n, lb_arena *arena, lb_str name, uint64_t first);

/* `from` stays as it is, and may lie in another arena. */
lb_status lb_seen_merge(lb_seen *n, const lb_seen *from, lb_arena *arena, lb_error *err);
uint64_t lb_seen_values(const lb_seen *n);

/* Do the rows have columns by their keys? `n`: how many there are. */
static inline bool lb_seen_rows_are_objects(const lb_seen *rows, uint64_t n)
{
    return rows->seen[LB_SEEN_OBJECT] == n && !rows->map;
}

/* ---- taking values in */

/* The first value of another kind; it may make a mix. */
void lb_seen_new_kind(lb_seen *n);
/* Whatever follows, this is text: what lies below is of no use any more. */
void lb_seen_mix(lb_seen *n);
/* n->items, n->text: made where there is none. Errors: BUDGET, NOMEM. */
lb_status lb_seen_items(lb_seen *n, lb_arena *arena, lb_error *err);
lb_status lb_seen_keep_text(lb_seen *n, lb_arena *arena, lb_error *err);
/* Too many keys for a struct: a map, whose values are those of all members. */
lb_status lb_seen_become_map(lb_seen *n, lb_arena *arena, lb_error *err);

/* One more value of a kind. */
static inline void lb_seen_see(lb_seen *n, lb_seen_kind kind)
{
    if (n->seen[kind]++ == 0 && !n->mixed)
        lb_seen_new_kind(n);
}

/* Order of doubles in which -0.0 lies below +0.0. */
static inline bool lb_seen_less(double a, double b)
{
    return a < b || (a == b && __builtin_signbit(a) && !__builtin_signbit(b));
}

static inline void lb_seen_int(lb_seen *n, int64_t v)
{
    const bool first = n->seen[LB_SEEN_INT] == 0;

    n->min_i = first || v < n->min_i ? v : n->min_i;
    n->max_i = first || v > n->max_i ? v : n->max_i;
    lb_seen_see(n, LB_SEEN_INT);
}

/* Beyond int64. */
static inline void lb_seen_uint(lb_seen *n, uint64_t v)
{
    const bool first = n->seen[LB_SEEN_UINT] == 0;

    n->min_u = first || v < n->min_u ? v : n->min_u;
    n->max_u = first || v > n->max_u ? v : n->max_u;
    lb_seen_see(n, LB_SEEN_UINT);
}

static inline void lb_seen_float(lb_seen *n, double v)
{
    const bool first = n->seen[LB_SEEN_FLOAT] == n->nans;

    if (v != v) {
        n->nans++;
    } else {
        n->min_f = first || lb_seen_less(v, n->min_f) ? v : n->min_f;
        n->max_f = first || lb_seen_less(n->max_f, v) ? v : n->max_f;
    }
    lb_seen_see(n, LB_SEEN_FLOAT);
}

void lb_seen_stamp(lb_seen *n, lb_stamp v);

/* A stamp as a count of `unit` a second (1000000 or 1000000000). False: it does not fit, or loses digits. */
bool lb_stamp_count(lb_stamp v, int64_t unit, int64_t *out);

/* ---- what it comes to */

/* The type that all these values have, with marks for meeting others (LB_META_WIDE …). `text`: string. */
lb_status lb_seen_schema(const lb_seen *n, bool text, struct ArrowSchema *out, lb_error *err);

/* Can the i-th member be a field? Errors: UNSUPPORTED: its name holds the character NUL. Only of what becomes a struct is that asked: other
 * values of the place may make it text. */
lb_status lb_seen_check_name(const lb_seen *n, size_t i, lb_error *err);

/* Statistics under that type, which is `words`; of `rows` rows. `name` is lent. */
lb_status lb_seen_stat(const lb_seen *n, lb_str name, const struct ArrowSchema *type, uint64_t rows, bool bounds,
                       lb_arena *arena, lb_colstat *out, lb_error *err);

/* Are the rows of this schema the column `value` as they stand? */
bool lb_schema_is_value(const struct ArrowSchema *schema);

/* A survey's outcome (seen_result.c). */
typedef struct lb_seen_result {
    lb_context *cx;
    const char *path;            /* for notes */
    const lb_read_options *read; /* may be NULL */
    const lb_survey_options *options;
    bool text;           /* every column is text */
    lb_arena *arena;     /* of the entry */
    const lb_seen *rows; /* what all of them hold */
    uint64_t n_rows;
    lb_buf closed;     /* lent: what each block holds, as lb_seen_put has it, */
    uint64_t n_closed; /* of so many blocks, all or none */
} lb_seen_result;

/* Fill arrow_schema, columns and block statistics of `out`, whose blocks are there. Errors: USAGE: a declared type; BUDGET,
 * NOMEM. */
lb_status lb_seen_finish(const lb_seen_result *r, lb_entry *out, lb_error *err);

/* ---- where a survey can be taken up again (seen_state.c) */

typedef struct lb_seen_state {
    uint64_t row; /* first of the block at which it was taken; UINT64_MAX: there is no state, only `torn` */
    bool torn;
    uint64_t torn_row, torn_line, torn_byte; /* where the record that the end cuts begins; line of the end */
    lb_seen *rows;
} lb_seen_state;

lb_status lb_seen_state_put(const lb_seen_state *state, lb_buf *out, lb_error *err);
lb_status lb_seen_put(const lb_seen *n, lb_buf *out, lb_error *err);
/* Hostile bytes are safe; *good false: no state. The nodes are the arena's, and NULL unless `nodes`. */
lb_status lb_seen_state_get(lb_str bytes, lb_arena *arena, bool nodes, lb_seen_state *out, bool *good, lb_error *err);
lb_status lb_seen_get(lb_cursor *c, lb_arena *arena, lb_seen **out, lb_error *err);

#endif
