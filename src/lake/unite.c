#include "lake/unite.h"

#include <stdlib.h>

#include "base/names.h"
#include "column/ipc.h"
#include "column/values.h"
#include "lake/handlers.h"

typedef struct united {
    struct ArrowSchema field;
    bool inferred;
    bool conflict;
    bool wide, negative;     /* LB_META_WIDE, LB_META_NEGATIVE of some file */
    lb_str words;            /* the type, in the arena */
    lb_colstat stat;         /* of all files so far, in the column's type; strings in the arena, */
    size_t min_cap, max_cap; /* in pieces of such sizes, which are used again */
    bool stat_known;         /* every file that has the column gave its statistics */
    bool any_bounds;         /* some file has values that have bounds */
    bool nans_unknown;       /* of some file with values */
    uint64_t rows;           /* of the files that have it */
    uint64_t stamp;          /* of the file that had it last */
    size_t next;             /* the next column of the same name; 0: none */
    lb_str first_file;
} united;

struct lb_unite {
    lb_arena arena;
    lb_schema_mode mode;
    lb_buf columns; /* united */
    lb_names names; /* of the columns, with their places */
    uint64_t rows, files;
    uint64_t stamp;          /* of the file at hand: counts up */
    struct ArrowSchema head; /* has the metadata of the first file's schema, and no columns */
    /* The schema taken in last: most files have the one before. */
    lb_buf last_bytes;
    struct ArrowSchema last;
};

lb_status lb_unite_new(lb_schema_mode mode, lb_unite **out, lb_error *err)
{
    lb_unite *u = calloc(1, sizeof *u);

    *out = u;
    if (u == NULL)
        return lb_fail_nomem(err);
    u->mode = mode;
    lb_arena_init(&u->arena, NULL);
    lb_buf_init(&u->columns, NULL);
    lb_buf_init(&u->last_bytes, NULL);
    return LB_OK;
}

static united *unite_columns(const lb_unite *u)
{
    return (united *)(void *)u->columns.data;
}

size_t lb_unite_count(const lb_unite *u)
{
    return u->columns.size / sizeof(united);
}

void lb_unite_free(lb_unite *u)
{
    if (u == NULL)
        return;
    for (size_t i = 0; i < lb_unite_count(u); i++)
        if (unite_columns(u)[i].field.release != NULL)
            unite_columns(u)[i].field.release(&unite_columns(u)[i].field);
    lb_buf_free(&u->columns);
    if (u->head.release != NULL)
        u->head.release(&u->head);
    if (u->last.release != NULL)
        u->last.release(&u->last);
    lb_buf_free(&u->last_bytes);
    lb_names_free(&u->names);
    lb_arena_free(&u->arena);
    free(u);
}

bool lb_entry_is_inferred(const lb_entry *entry, const struct ArrowSchema *field)
{
    const lb_format *format = lb_handler_of_name(entry->format);
    lb_str declared;

    return (format == NULL ? lb_str_is(entry->format, "dynamic") : format->text) &&
           !lb_schema_get_meta(field, LB_META_DECLARED, &declared);
}

static lb_status unite_keep(lb_unite *u, lb_str text, lb_str *out, lb_error *err)
{
    *out = (lb_str){ lb_arena_copy(&u->arena, text), text.size };
    return out->at == NULL ? lb_arena_fail(&u->arena, err) : LB_OK;
}

/* ---------------------------------------------------------------- names */

static lb_status unite_append(lb_unite *u, lb_error *err)
{
    const united fresh = { .stat_known = true };

    return lb_buf_append(&u->columns, &fresh, sizeof fresh, err);
}

/* The file at hand has a column of this name already: its second goes to the second of that name, and so on. */
static lb_status unite_find_twin(lb_unite *u, size_t *column, bool *is_new, lb_error *err)
{
    size_t last = *column;

    while (unite_columns(u)[last].stamp == u->stamp && unite_columns(u)[last].next != 0)
        last = unite_columns(u)[last].next;
    *is_new = unite_columns(u)[last].stamp == u->stamp;
    *column = *is_new ? lb_unite_count(u) : last;
    if (!*is_new)
        return LB_OK;
    LB_TRY(unite_append(u, err));
    unite_columns(u)[last].next = *column;
    return LB_OK;
}

/* The united column of a name, a new one if need be; `*twin`: of several of that name in this file it is not the first. */
static lb_status unite_find(lb_unite *u, const char *name, size_t *out, bool *is_new, bool *twin, lb_error *err)
{
    const uint64_t *found = lb_names_find(&u->names, lb_str_of(name));
    lb_str kept;

    *is_new = found == NULL;
    *out = found != NULL ? (size_t)*found : lb_unite_count(u);
    *twin = found != NULL && unite_columns(u)[*found].stamp == u->stamp;
    if (*twin)
        LB_TRY(unite_find_twin(u, out, is_new, err));
    if (found == NULL) {
        kept = (lb_str){ lb_arena_copy(&u->arena, lb_str_of(name)), strlen(name) };
        if (kept.at == NULL)
            return lb_arena_fail(&u->arena, err);
        LB_TRY(lb_names_add(&u->names, kept, *out, NULL, err));
        LB_TRY(unite_append(u, err));
    }
    unite_columns(u)[*out].stamp = u->stamp;
    return LB_OK;
}

/* ---------------------------------------------------------------- statistics */

static void unite_widen_ints(lb_colstat *a, const lb_colstat *b)
{
    a->min_i = LB_MIN(a->min_i, b->min_i);
    a->max_i = LB_MAX(a->max_i, b->max_i);
    a->min_u = LB_MIN(a->min_u, b->min_u);
    a->max_u = LB_MAX(a->max_u, b->max_u);
    a->min_f = b->min_f < a->min_f || (b->min_f == a->min_f && __builtin_signbit(b->min_f)) ? b->min_f : a->min_f;
    a->max_f = b->max_f > a->max_f || (b->max_f == a->max_f && !__builtin_signbit(b->max_f)) ? b->max_f : a->max_f;
}

static bool unite_is_decimal(const lb_colstat *s)
{
    return s->type.size >= 7 && memcmp(s->type.at, "decimal", 7) == 0;
}

/* A bound in place of another one: with names in the order of time, the last file's is the greatest again and again. */
static lb_status unite_set_bytes(lb_unite *u, lb_str *to, size_t *cap, lb_str from, lb_error *err)
{
    char *room = (char *)(uintptr_t)to->at;

    if (from.size > *cap || *cap == 0) {
        *cap = LB_MAX(from.size + from.size / 2, 16);
        room = lb_arena_alloc(&u->arena, *cap, 1);
        if (room == NULL)
            return lb_arena_fail(&u->arena, err);
    }
    if (from.size != 0)
        memcpy(room, from.at, from.size);
    *to = (lb_str){ room, from.size };
    return LB_OK;
}

static lb_status unite_widen_bytes(lb_unite *u, united *c, const lb_colstat *b, lb_error *err)
{
    lb_colstat *a = &c->stat;

    if ((a->has & LB_MIN_B) != 0 && lb_str_compare(b->min_b, a->min_b) < 0) {
        LB_TRY(unite_set_bytes(u, &a->min_b, &c->min_cap, b->min_b, err));
        a->min_exact = b->min_exact;
    }
    if ((a->has & LB_MAX_B) != 0 && lb_str_compare(b->max_b, a->max_b) > 0) {
        LB_TRY(unite_set_bytes(u, &a->max_b, &c->max_cap, b->max_b, err));
        a->max_exact = b->max_exact;
    }
    return LB_OK;
}

/* How many of an Arrow format's counts a day has: dates, times, timestamps, durations; 0: it is none of them. */
static int64_t unite_counts_a_day(const char *format)
{
    static const char units[] = "smun";
    static const int64_t seconds[] = { 1, 1000, 1000000, 1000000000 };

    if (strcmp(format, "tdD") == 0)
        return 1;
    if (format[0] != 't' || format[1] == '\0' || strchr("dstD", format[1]) == NULL || format[2] == '\0')
        return 0;
    const char *unit = strchr(units, format[2]);
    return unit == NULL ? 0 : 86400 * seconds[unit - units];
}

static bool unite_is_float(const char *format)
{
    return strlen(format) == 1 && strchr("efg", format[0]) != NULL;
}

static bool unite_is_int(const char *format)
{
    return strlen(format) == 1 && strchr("csilCSIL", format[0]) != NULL;
}

static bool unite_is_text(const char *format)
{
    return strlen(format) == 1 && strchr("uUzZ", format[0]) != NULL;
}

/* Integers that meet floats are exact in them. */
static bool unite_bounds_to_floats(lb_colstat *s)
{
    unsigned has = s->has;

    if ((has & (LB_MIN_I | LB_MIN_U)) == 0 || (has & (LB_MAX_I | LB_MAX_U)) == 0)
        return false;
    s->min_f = (has & LB_MIN_I) != 0 ? (double)s->min_i : (double)s->min_u;
    s->max_f = (has & LB_MAX_I) != 0 ? (double)s->max_i : (double)s->max_u;
    s->has = LB_MIN_F | LB_MAX_F;
    return true;
}

static bool unite_bounds_to_unsigned(lb_colstat *s)
{
    if ((s->has & (LB_MIN_U | LB_MAX_U)) == (LB_MIN_U | LB_MAX_U))
        return true;
    if ((s->has & (LB_MIN_I | LB_MAX_I)) != (LB_MIN_I | LB_MAX_I) || s->min_i < 0)
        return false;
    s->min_u = (uint64_t)s->min_i;
    s->max_u = (uint64_t)s->max_i;
    s->has = LB_MIN_U | LB_MAX_U;
    return true;
}

static bool unite_bounds_to_signed(lb_colstat *s)
{
    if ((s->has & (LB_MIN_I | LB_MAX_I)) == (LB_MIN_I | LB_MAX_I))
        return true;
    if ((s->has & (LB_MIN_U | LB_MAX_U)) != (LB_MIN_U | LB_MAX_U) || s->max_u > INT64_MAX)
        return false;
    s->min_i = (int64_t)s->min_u;
    s->max_i = (int64_t)s->max_u;
    s->has = LB_MIN_I | LB_MAX_I;
    return true;
}

static bool unite_bounds_to_finer(lb_colstat *s, int64_t from, int64_t to)
{
    const unsigned both = LB_MIN_I | LB_MAX_I;

    return to % from == 0 && (s->has & both) == both && !__builtin_mul_overflow(s->min_i, to / from, &s->min_i) &&
           !__builtin_mul_overflow(s->max_i, to / from, &s->max_i);
}

/* Bounds of one type as bounds of the type it became; false: they are none of it. */
static bool unite_bounds(lb_colstat *s, const char *from, const char *to)
{
    int64_t from_counts = unite_counts_a_day(from), to_counts = unite_counts_a_day(to);

    if (strcmp(from, to) == 0 || (unite_is_float(from) && unite_is_float(to)) ||
        (unite_is_text(from) && unite_is_text(to)))
        return true;
    if (from_counts != 0 && to_counts != 0)
        return unite_bounds_to_finer(s, from_counts, to_counts);
    if (!unite_is_int(from))
        return false;
    if (unite_is_float(to))
        return unite_bounds_to_floats(s);
    if (!unite_is_int(to))
        return false;
    return strchr("CSIL", to[0]) != NULL ? unite_bounds_to_unsigned(s) : unite_bounds_to_signed(s);
}

/* A quoted empty field is null in every column but one of text: how many of a file's nulls become text is not known. */
static bool unite_loses_nulls(const char *from, const char *to)
{
    return unite_is_text(to) && !unite_is_text(from) && strcmp(from, "n") != 0;
}

/* Bring statistics over to the united column's type, which lends its words. What is counted stays in any case. */
static void unite_retype(const united *c, lb_colstat *s, const char *from)
{
    if (!unite_bounds(s, from, c->field.format))
        s->has = 0;
    s->type = c->words;
}

/* The first bounds are kept as they are, in the arena. */
static lb_status unite_first_bounds(lb_unite *u, united *c, const lb_colstat *b, lb_error *err)
{
    lb_colstat *s = &c->stat;

    s->source = b->source;
    s->has = b->has;
    s->min_i = b->min_i;
    s->max_i = b->max_i;
    s->min_u = b->min_u;
    s->max_u = b->max_u;
    s->min_f = b->min_f;
    s->max_f = b->max_f;
    s->min_exact = b->min_exact;
    s->max_exact = b->max_exact;
    LB_TRY(unite_set_bytes(u, &s->min_b, &c->min_cap, b->min_b, err));
    return unite_set_bytes(u, &s->max_b, &c->max_cap, b->max_b, err);
}

/* Take a file's statistics of a column, whose type there is `from`, into those of all files. A file of nothing but
 * nulls and NaN has no bounds to add. */
static lb_status unite_stat(lb_unite *u, united *c, const lb_colstat *more, const char *from, uint64_t rows,
                            lb_error *err)
{
    lb_colstat b;

    c->rows += rows;
    if (more == NULL) {
        c->stat_known = c->stat_known && rows == 0;
        return LB_OK;
    }
    b = *more;
    c->stat.null_count += b.null_count;
    c->stat.has_null_count = c->stat.has_null_count && b.has_null_count && !unite_loses_nulls(from, c->field.format);
    if (b.has_null_count && b.null_count == rows)
        return LB_OK;
    unite_retype(c, &b, from);
    c->nans_unknown = c->nans_unknown || (unite_is_float(from) && !b.has_nan_count);
    c->stat.nan_count += b.has_nan_count ? b.nan_count : 0;
    if (b.has_null_count && b.has_nan_count && b.null_count + b.nan_count == rows)
        return LB_OK;
    if (!c->any_bounds) {
        c->any_bounds = true;
        return unite_first_bounds(u, c, &b, err);
    }
    c->stat.has &= b.has;
    if ((c->stat.has & (LB_MIN_B | LB_MAX_B)) != 0 && unite_is_decimal(&b))
        c->stat.has &= ~(unsigned)(LB_MIN_B | LB_MAX_B);
    unite_widen_ints(&c->stat, &b);
    return (c->stat.has & (LB_MIN_B | LB_MAX_B)) != 0 ? unite_widen_bytes(u, c, &b, err) : LB_OK;
}

/* ---------------------------------------------------------------- types */

static const char *unite_words(const struct ArrowSchema *field, lb_buf *buf)
{
    buf->size = 0;
    if (lb_type_words(field, false, buf, NULL) != LB_OK)
        return "?";
    const char *text = lb_buf_text(buf);
    return text == NULL ? "?" : text;
}

/* Give a column its type, or another one: its bounds follow. */
static lb_status unite_set_field(lb_unite *u, united *c, struct ArrowSchema *made, lb_error *err)
{
    struct ArrowSchema old = c->field;
    lb_buf words;

    c->field = *made;
    lb_buf_init(&words, NULL);
    lb_status status = lb_type_words(&c->field, false, &words, err);
    if (status == LB_OK) {
        c->words = (lb_str){ lb_arena_dup(&u->arena, words.data, words.size), words.size };
        status = c->words.at == NULL ? lb_arena_fail(&u->arena, err) : LB_OK;
    }
    lb_buf_free(&words);
    if (old.release == NULL)
        return status;
    if (status == LB_OK)
        unite_retype(c, &c->stat, old.format);
    if (unite_loses_nulls(old.format, c->field.format))
        c->stat.has_null_count = false;
    old.release(&old);
    return status;
}

static lb_status unite_to_text(lb_unite *u, united *c, lb_error *err)
{
    struct ArrowSchema made = { 0 };

    LB_TRY(lb_type_of_words("string", &made, err));
    lb_status status = lb_schema_set_name(&made, lb_str_of(c->field.name), err);
    if (status != LB_OK) {
        made.release(&made);
        return status;
    }
    c->inferred = false;
    c->stat_known = false;
    return unite_set_field(u, c, &made, err);
}

/* What helps against a difference under LB_SCHEMA_STRICT. */
static lb_status unite_refuse(lb_status status, lb_error *err)
{
    lb_fail_hint(err, "--schema union unites them");
    return status;
}

static lb_status unite_conflict(lb_unite *u, united *c, const struct ArrowSchema *field, const lb_entry *entry,
                                lb_error *err)
{
    lb_buf a, b, text;
    lb_status status;

    lb_buf_init(&a, NULL);
    lb_buf_init(&b, NULL);
    lb_buf_init(&text, NULL);
    const char *first = unite_words(&c->field, &a), *second = unite_words(field, &b);
    status =
        lb_buf_printf(&text, err, "column '%s' is %s in %.*s and %s in %.*s", c->field.name, first,
                      (int)c->first_file.size, c->first_file.at, second, (int)entry->rel_path.size, entry->rel_path.at);
    if (status == LB_OK && u->mode == LB_SCHEMA_STRICT)
        status =
            unite_refuse(lb_fail(err, LB_CORRUPT, LB_NOWHERE, "%.*s", (int)text.size, (const char *)text.data), err);
    if (status == LB_OK && u->mode == LB_SCHEMA_TEXT) {
        status = unite_to_text(u, c, err);
    } else if (status == LB_OK) {
        c->conflict = true;
        status = lb_schema_set_meta(&c->field, LB_META_CONFLICT, (lb_str){ (const char *)text.data, text.size }, err);
    }
    lb_buf_free(&a);
    lb_buf_free(&b);
    lb_buf_free(&text);
    return status;
}

static bool unite_has_mark(const struct ArrowSchema *field, const char *key)
{
    lb_str value;

    return lb_schema_get_meta(field, key, &value);
}

/* Bounds of a column typed by its values, as far as its meeting others depends on them: so that it does not depend on
 * which statistics are kept. */
static lb_colstat unite_facts(const struct ArrowSchema *field, bool wide, bool negative)
{
    static const int64_t exact = (int64_t)1 << 53, days = INT64_MAX / 1000000000 / 86400, micros = INT64_MAX / 1000;
    lb_colstat facts = { .has = LB_MIN_I | LB_MAX_I };
    int64_t most = INT64_MAX;

    if (!wide && strcmp(field->format, "l") == 0)
        most = exact;
    else if (!wide && strcmp(field->format, "tdD") == 0)
        most = days;
    else if (!wide && strncmp(field->format, "tsu:", 4) == 0)
        most = micros;
    else if (strcmp(field->format, "L") == 0)
        return (lb_colstat){ .has = LB_MIN_U | LB_MAX_U, .max_u = UINT64_MAX };
    facts.min_i = negative || strcmp(field->format, "l") != 0 ? -most : 0;
    facts.max_i = most;
    return facts;
}

/* Would two columns meet as what the first one is already? True only of plain types that are the same, which is what
 * most files of a lake have. */
static bool unite_is_settled(const united *c, const struct ArrowSchema *field, bool inferred, bool wide, bool negative)
{
    return c->inferred == inferred && c->wide >= wide && c->negative >= negative && field->n_children == 0 &&
           field->dictionary == NULL && lb_schema_equal(&c->field, field) &&
           lb_str_equal(lb_schema_extension(&c->field), lb_schema_extension(field));
}

static lb_status unite_meet(lb_unite *u, united *c, const struct ArrowSchema *field, const lb_colstat *stat,
                            const lb_entry *entry, lb_error *err)
{
    const bool wide = unite_has_mark(field, LB_META_WIDE), negative = unite_has_mark(field, LB_META_NEGATIVE);
    const lb_colstat facts_a = unite_facts(&c->field, c->wide, c->negative),
                     facts_b = unite_facts(field, wide, negative);
    const lb_column_side a = { &c->field, c->inferred, c->inferred ? &facts_a : c->stat_known ? &c->stat : NULL };
    bool inferred = lb_entry_is_inferred(entry, field);
    const lb_column_side b = { field, inferred, inferred ? &facts_b : stat };
    struct ArrowSchema made = { 0 };
    bool met, null_before = strcmp(c->field.format, "n") == 0, null_now = strcmp(field->format, "n") == 0;

    if (c->conflict || (u->mode == LB_SCHEMA_TEXT && !c->inferred && strcmp(c->field.format, "u") == 0))
        return LB_OK;
    if (unite_is_settled(c, field, inferred, wide, negative))
        return LB_OK;
    if (u->mode == LB_SCHEMA_STRICT && !lb_schema_equal(&c->field, field))
        return unite_conflict(u, c, field, entry, err);
    LB_TRY(lb_types_meet(&a, &b, &made, &met, err));
    if (!met)
        return unite_conflict(u, c, field, entry, err);
    if (null_before && !null_now)
        LB_TRY(unite_keep(u, entry->rel_path, &c->first_file, err));
    c->inferred = null_before ? b.inferred : null_now ? c->inferred : c->inferred && b.inferred;
    c->wide |= wide;
    c->negative |= negative;
    return unite_set_field(u, c, &made, err);
}

/* `twin`: the first of that name is another column. */
static const lb_colstat *unite_stat_of(const lb_colstats *stats, const char *name, uint64_t hint, bool twin)
{
    lb_str wanted = lb_str_of(name);

    if (hint < stats->count && lb_str_equal(stats->items[hint].name, wanted))
        return &stats->items[hint];
    if (twin)
        return NULL;
    for (uint64_t i = 0; i < stats->count; i++)
        if (lb_str_equal(stats->items[i].name, wanted))
            return &stats->items[i];
    return NULL;
}

static lb_status unite_field(lb_unite *u, const struct ArrowSchema *field, int64_t place, const lb_entry *entry,
                             const lb_colstats *stats, lb_error *err)
{
    size_t column;
    bool is_new, twin;

    LB_TRY(unite_find(u, field->name, &column, &is_new, &twin, err));
    const lb_colstat *stat = unite_stat_of(stats, field->name, (uint64_t)place, twin);
    united *c = &unite_columns(u)[column];
    if (is_new) {
        c->inferred = lb_entry_is_inferred(entry, field);
        c->wide = unite_has_mark(field, LB_META_WIDE);
        c->negative = unite_has_mark(field, LB_META_NEGATIVE);
        LB_TRY(unite_keep(u, entry->rel_path, &c->first_file, err));
        c->stat.has_null_count = true;
        struct ArrowSchema made = { 0 };
        LB_TRY(lb_schema_copy(field, &made, err));
        LB_TRY(unite_set_field(u, c, &made, err));
        if (u->mode == LB_SCHEMA_STRICT && u->files != 0)
            return unite_refuse(lb_fail(err, LB_CORRUPT, LB_NOWHERE,
                                        "%.*s has a column '%s' that the files before it have not",
                                        (int)entry->rel_path.size, entry->rel_path.at, field->name),
                                err);
    } else {
        LB_TRY(unite_meet(u, c, field, stat, entry, err));
    }
    return unite_stat(u, c, stat, field->format, entry->total_rows, err);
}

/* Decode a file's schema unless it is the one of the file before. */
static lb_status unite_decode(lb_unite *u, const lb_entry *entry, lb_error *err)
{
    if (u->last.release != NULL &&
        lb_str_equal((lb_str){ (const char *)u->last_bytes.data, u->last_bytes.size }, entry->arrow_schema))
        return LB_OK;
    if (u->last.release != NULL)
        u->last.release(&u->last);
    u->last.release = NULL;
    u->last_bytes.size = 0;
    LB_TRY(lb_buf_append(&u->last_bytes, entry->arrow_schema.at, entry->arrow_schema.size, err));
    return lb_ipc_decode_schema(entry->arrow_schema.at, entry->arrow_schema.size, &u->last, err);
}

static lb_status unite_keep_metadata(lb_unite *u, lb_error *err)
{
    LB_TRY(lb_schema_struct(&u->head, 0, err));
    return lb_fail_arrow(err, ArrowSchemaSetMetadata(&u->head, u->last.metadata), NULL);
}

lb_status lb_unite_add(lb_unite *u, const lb_entry *entry, const lb_colstats *stats, lb_error *err)
{
    if (entry->arrow_schema.size == 0)
        return LB_OK;
    LB_TRY(unite_decode(u, entry, err));
    u->stamp++;
    if (u->head.release == NULL)
        LB_TRY(unite_keep_metadata(u, err));
    if (u->mode == LB_SCHEMA_STRICT && u->files != 0 && (uint64_t)u->last.n_children < lb_unite_count(u))
        return unite_refuse(lb_fail(err, LB_CORRUPT, LB_NOWHERE,
                                    "%.*s has %lld column%s where the files before it have %zu",
                                    (int)entry->rel_path.size, entry->rel_path.at, (long long)u->last.n_children,
                                    u->last.n_children == 1 ? "" : "s", lb_unite_count(u)),
                            err);
    /* At once: of many columns, growing would hold two copies for a while. */
    const size_t n = (size_t)u->last.n_children, have = lb_unite_count(u);
    if (n > have)
        LB_TRY(lb_buf_reserve(&u->columns, (n - have) * sizeof(united), err));
    for (int64_t i = 0; i < u->last.n_children; i++)
        LB_TRY(unite_field(u, u->last.children[i], i, entry, stats, err));
    u->rows += entry->total_rows == LB_ROWS_UNKNOWN ? 0 : entry->total_rows;
    u->files++;
    return LB_OK;
}

/* Forget the schema taken in last; the next file's is decoded again. */
static void unite_forget_last(lb_unite *u)
{
    if (u->last.release != NULL)
        u->last.release(&u->last);
    u->last.release = NULL;
    lb_buf_free(&u->last_bytes);
}

lb_status lb_unite_schema(lb_unite *u, struct ArrowSchema *out, lb_error *err)
{
    size_t n = lb_unite_count(u);

    unite_forget_last(u);
    LB_TRY(lb_schema_struct(out, (int64_t)n, err));
    lb_status status = lb_fail_arrow(err, ArrowSchemaSetMetadata(out, u->head.metadata), NULL);
    for (size_t i = 0; status == LB_OK && i < n; i++) {
        united *c = &unite_columns(u)[i];
        out->children[i]->release(out->children[i]);
        status = lb_schema_copy(&c->field, out->children[i], err);
        /* Absent in a file is null. */
        if (status == LB_OK && c->rows != u->rows)
            out->children[i]->flags |= ARROW_FLAG_NULLABLE;
    }
    if (status != LB_OK)
        out->release(out);
    return status;
}

bool lb_unite_stat(const lb_unite *u, size_t column, lb_colstat *out)
{
    const united *c = &unite_columns(u)[column];

    if (!c->stat_known || c->conflict)
        return false;
    *out = c->stat;
    out->name = lb_str_of(c->field.name);
    out->type = c->words;
    out->has_nan_count = unite_is_float(c->field.format) && !c->nans_unknown;
    out->null_count += u->rows - c->rows;
    return true;
}
