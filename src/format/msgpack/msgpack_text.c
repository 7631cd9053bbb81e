/* Values as text: tagged JSON, as columns hold it that have no other type, and names of keys. */
#include <stdio.h>
#include <stdlib.h>

#include "base/datetime.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/utf8.h"
#include "column/print.h"
#include "format/msgpack/msgpack.h"
#include "io/text.h"

#define TEXT_INT_EXACT (((int64_t)1 << 53) - 1) /* larger ones are tagged: conformance form of integers */

/* ---------------------------------------------------------------- instants and text */

bool mp_stamp(const lb_msgpack_token *t, lb_stamp *out)
{
    uint32_t high;
    uint64_t low;

    if (t->i != -1 || (t->n != 4 && t->n != 8 && t->n != 12))
        return false;
    if (t->n == 12) {
        memcpy(&high, t->data, sizeof high);
        memcpy(&low, t->data + 4, sizeof low);
        *out = (lb_stamp){ (int64_t)__builtin_bswap64(low), __builtin_bswap32(high) };
    } else if (t->n == 8) {
        memcpy(&low, t->data, sizeof low);
        low = __builtin_bswap64(low);
        *out = (lb_stamp){ (int64_t)(low & (((uint64_t)1 << 34) - 1)), (uint32_t)(low >> 34) };
    } else {
        memcpy(&high, t->data, sizeof high);
        *out = (lb_stamp){ (int64_t)__builtin_bswap32(high), 0 };
    }
    return out->nanos < 1000000000;
}

bool mp_is_utf8(const lb_msgpack_token *t)
{
    return lb_utf8_valid_prefix(t->data, (size_t)t->n) == (size_t)t->n;
}

/* ---------------------------------------------------------------- tagged */

/* What the maps of a value are, found in one walk when the first of them is met: each asked anew would pass over what lies in it, which
 * takes the square of their depth. */
typedef struct text_maps {
    bool known;
    size_t next;              /* the note to be looked at first: maps are met in their order */
    lb_buf notes, list, bits; /* text_note; keys of the maps that are open; see mp_find_replaced */
} text_maps;

typedef struct text_note {
    const uint8_t *at; /* the first key */
    size_t bits;       /* where those of its pairs that are replaced begin; SIZE_MAX: none is */
    bool pairs;        /* some key is no text: it is a list of pairs */
} text_note;

/* One text under way: the first failure is kept. */
typedef struct text_job {
    mp_cursor *c;
    lb_buf *out;
    lb_status *status;
    lb_error *err;
    text_maps *maps;
} text_job;

static bool text_good(const text_job *j, lb_status status)
{
    if (status != LB_OK)
        *j->status = status;
    return status == LB_OK;
}

static bool text_put(const text_job *j, const void *p, size_t size)
{
    return text_good(j, lb_buf_append(j->out, p, size, j->err));
}

static bool text_put_str(const text_job *j, const char *text)
{
    return text_put(j, text, strlen(text));
}

static bool text_integer(const text_job *j, const lb_msgpack_token *t, bool tagged)
{
    char digits[LB_INT_TEXT];
    const size_t size = t->kind == LB_MSGPACK_INT ? lb_print_int64(t->i, digits) : lb_print_uint64(t->u, digits);
    const bool large = t->kind == LB_MSGPACK_UINT || t->i > TEXT_INT_EXACT || t->i < -TEXT_INT_EXACT;

    if (!tagged || !large)
        return text_put(j, digits, size);
    return text_put_str(j, "{\"$int\":\"") && text_put(j, digits, size) && text_put_str(j, "\"}");
}

static bool text_float(const text_job *j, double v, bool tagged)
{
    char digits[LB_DOUBLE_TEXT];
    const size_t size = lb_print_double(v, digits);

    if (!tagged || __builtin_isfinite(v))
        return text_put(j, digits, size);
    return text_put_str(j, "{\"$float\":\"") && text_put(j, digits, size) && text_put_str(j, "\"}");
}

static bool text_binary(const text_job *j, const lb_msgpack_token *t)
{
    return text_put_str(j, "{\"$bin\":\"") && text_good(j, lb_print_base64(j->out, t->data, (size_t)t->n, j->err)) &&
           text_put_str(j, "\"}");
}

static bool text_extension(const text_job *j, const lb_msgpack_token *t)
{
    lb_stamp v;

    if (mp_stamp(t, &v))
        return text_good(j, lb_buf_printf(j->out, j->err, "{\"$ts\":[%lld,%u]}", (long long)v.seconds, v.nanos));
    return text_good(j, lb_buf_printf(j->out, j->err, "{\"$ext\":[%d,\"", (int)t->i)) &&
           text_good(j, lb_print_base64(j->out, t->data, (size_t)t->n, j->err)) && text_put_str(j, "\"]}");
}

static bool text_value(const text_job *j, unsigned depth);

static bool text_array(const text_job *j, uint64_t n, unsigned depth)
{
    bool good = text_put_str(j, "[");

    for (uint64_t i = 0; good && i < n; i++)
        good = (i == 0 || text_put_str(j, ",")) && text_value(j, depth + 1);
    return good && text_put_str(j, "]");
}

/* An array or map whose items are being walked over. */
typedef struct text_frame {
    uint64_t left;  /* items; of a map keys and values */
    uint64_t count; /* pairs */
    bool map;
    size_t note, keys; /* its note; where its keys begin in the list */
} text_frame;

typedef struct text_walk {
    const text_job *j;
    mp_cursor c;
    size_t depth;
    text_frame frames[MP_TEXT_DEPTH + 1];
} text_walk;

static text_note *walk_note(const text_walk *w, const text_frame *f)
{
    return (text_note *)(void *)w->j->maps->notes.data + f->note;
}

/* Go into an array or map. What lies too deep to become text is passed over. */
static bool walk_open(text_walk *w, bool map, uint64_t n)
{
    text_maps *m = w->j->maps;
    const text_note note = { .at = w->c.at, .bits = SIZE_MAX };

    if (w->depth > MP_TEXT_DEPTH)
        return mp_pass(&w->c, map ? 2 * n : n);
    w->frames[w->depth++] = (text_frame){
        .left = map ? 2 * n : n, .count = n, .map = map, .note = m->notes.size / sizeof note, .keys = m->list.size
    };
    return !map || text_good(w->j, lb_buf_append(&m->notes, &note, sizeof note, w->j->err));
}

static bool walk_close(text_walk *w)
{
    const text_frame *f = &w->frames[--w->depth];
    text_maps *m = w->j->maps;
    const size_t size = m->bits.size;
    bool any = false;

    m->list.size = f->keys;
    if (!f->map || f->count < 2 || walk_note(w, f)->pairs)
        return true;
    if (!lb_keys_replaced((lb_key_seen *)(void *)(m->list.data + f->keys), (size_t)f->count, &m->bits, &any))
        return text_good(w->j, lb_fail_nomem(w->j->err));
    if (any)
        walk_note(w, f)->bits = size;
    else
        m->bits.size = size;
    return true;
}

static bool walk_key(text_walk *w, const text_frame *f, const lb_msgpack_token *t)
{
    text_maps *m = w->j->maps;
    text_note *note = walk_note(w, f);
    const lb_str name = mp_bytes(t);

    if (note->pairs)
        return true;
    if (t->kind != LB_MSGPACK_STR || !mp_is_text(t)) {
        note->pairs = true;
        m->list.size = f->keys;
        return true;
    }
    const lb_key_seen seen = { lb_xxh3_64(name.at, name.size), (size_t)(f->count - 1 - f->left / 2) };
    return text_good(w->j, lb_buf_append(&m->list, &seen, sizeof seen, w->j->err));
}

static bool walk_token(text_walk *w)
{
    text_frame *f = &w->frames[w->depth - 1];
    lb_msgpack_token t;

    if (!mp_next(&w->c, &t))
        return text_good(w->j, lb_fail(w->j->err, LB_INTERNAL, LB_NOWHERE, "a value ends before its end"));
    f->left--;
    if (f->map && f->left % 2 == 1 && !walk_key(w, f, &t))
        return false;
    return (t.kind != LB_MSGPACK_ARRAY && t.kind != LB_MSGPACK_MAP) || walk_open(w, t.kind == LB_MSGPACK_MAP, t.n);
}

/* Note the map of `n` pairs at the cursor, and all in it. */
static bool text_note_maps(const text_job *j, uint64_t n)
{
    text_walk *w = malloc(sizeof *w);
    bool good;

    if (w == NULL)
        return text_good(j, lb_fail_nomem(j->err));
    w->j = j;
    w->c = *j->c;
    w->depth = 0;
    j->maps->notes.size = j->maps->list.size = j->maps->bits.size = j->maps->next = 0;
    good = walk_open(w, true, n);
    while (good && w->depth != 0)
        good = w->frames[w->depth - 1].left == 0 ? walk_close(w) : walk_token(w);
    free(w);
    j->maps->known = good;
    return good;
}

/* The note of the map whose first key is at the cursor. */
static const text_note *text_find_note(const text_job *j, uint64_t n)
{
    text_maps *m = j->maps;
    const size_t count = m->notes.size / sizeof(text_note);
    const text_note *notes = (const text_note *)(const void *)m->notes.data;

    while (m->known && m->next < count && notes[m->next].at < j->c->at)
        m->next++;
    if (m->known && m->next < count) {
        if (notes[m->next].at == j->c->at)
            return &notes[m->next++];
    }
    /* The first map of the value, or one behind those that were noted. */
    if (!text_note_maps(j, n))
        return NULL;
    m->next = 1;
    return (const text_note *)(const void *)m->notes.data;
}

static bool text_pairs(const text_job *j, uint64_t n, unsigned depth)
{
    bool good = text_put_str(j, "{\"$map\":[");

    for (uint64_t i = 0; good && i < n; i++)
        good = text_put_str(j, i == 0 ? "[" : ",[") && text_value(j, depth + 1) && text_put_str(j, ",") &&
               text_value(j, depth + 1) && text_put_str(j, "]");
    return good && text_put_str(j, "]}");
}

static bool text_object(const text_job *j, uint64_t n, unsigned depth, size_t bits)
{
    const char *before = "";
    bool good = text_put_str(j, "{");

    for (uint64_t i = 0; good && i < n; i++) {
        if (mp_is_replaced(&j->maps->bits, bits, i)) {
            good = mp_pass(j->c, 2);
            continue;
        }
        good = text_put_str(j, before) && text_value(j, depth + 1) && text_put_str(j, ":") && text_value(j, depth + 1);
        before = ",";
    }
    return good && text_put_str(j, "}");
}

static bool text_map(const text_job *j, uint64_t n, unsigned depth)
{
    const text_note *note = text_find_note(j, n);

    if (note == NULL)
        return false;
    return note->pairs ? text_pairs(j, n, depth) : text_object(j, n, depth, note->bits);
}

static bool text_value(const text_job *j, unsigned depth)
{
    lb_msgpack_token t;

    if (depth > MP_TEXT_DEPTH)
        return text_good(
            j, lb_fail(j->err, LB_UNSUPPORTED, LB_NOWHERE, "values nested more than %d levels deep", MP_TEXT_DEPTH));
    if (!mp_next(j->c, &t))
        return text_good(j, lb_fail(j->err, LB_INTERNAL, LB_NOWHERE, "a value ends before its end"));
    switch (t.kind) {
    case LB_MSGPACK_NIL:
        return text_put_str(j, "null");
    case LB_MSGPACK_BOOL:
        return text_put_str(j, t.i != 0 ? "true" : "false");
    case LB_MSGPACK_INT:
    case LB_MSGPACK_UINT:
        return text_integer(j, &t, true);
    case LB_MSGPACK_FLOAT:
        return text_float(j, t.f, true);
    case LB_MSGPACK_STR:
        if (mp_is_text(&t))
            return text_good(j, lb_print_json_string(j->out, (const char *)t.data, (size_t)t.n, j->err));
        return text_binary(j, &t);
    case LB_MSGPACK_BIN:
        return text_binary(j, &t);
    case LB_MSGPACK_EXT:
        return text_extension(j, &t);
    case LB_MSGPACK_ARRAY:
        return text_array(j, t.n, depth);
    case LB_MSGPACK_MAP:
        return text_map(j, t.n, depth);
    }
    return false;
}

bool mp_tagged(mp_cursor *c, lb_buf *out, lb_status *status, lb_error *err)
{
    text_maps maps = { .known = false };

    lb_buf_init(&maps.notes, out->budget);
    lb_buf_init(&maps.list, out->budget);
    lb_buf_init(&maps.bits, out->budget);
    const bool good = text_value(&(text_job){ c, out, status, err, &maps }, 0);
    lb_buf_free(&maps.notes);
    lb_buf_free(&maps.list);
    lb_buf_free(&maps.bits);
    return good;
}

/* ---------------------------------------------------------------- as it stands */

/* ISO 8601, for any number of seconds. */
static bool text_instant(const text_job *j, lb_stamp v)
{
    char text[LB_DATETIME_TEXT], fraction[16];
    size_t size = lb_print_timestamp(v.seconds, 1, true, text);
    uint32_t n = v.nanos;
    int digits = 9;

    if (n == 0)
        return text_put(j, text, size);
    for (; n % 1000 == 0; n /= 1000)
        digits -= 3;
    (void)snprintf(fraction, sizeof fraction, ".%0*uZ", digits, n);
    return text_put(j, text, size - 1) && text_put_str(j, fraction);
}

bool mp_plain(mp_cursor *c, lb_buf *out, lb_status *status, lb_error *err)
{
    const text_job j = { c, out, status, err, NULL };
    mp_cursor again = *c;
    lb_msgpack_token t;
    lb_stamp v;

    if (!mp_next(&again, &t))
        return mp_tagged(c, out, status, err);
    const bool instant = t.kind == LB_MSGPACK_EXT && mp_stamp(&t, &v);
    if (t.kind == LB_MSGPACK_INT || t.kind == LB_MSGPACK_UINT || t.kind == LB_MSGPACK_FLOAT || instant ||
        (t.kind == LB_MSGPACK_STR && mp_is_text(&t)))
        *c = again;
    else
        return mp_tagged(c, out, status, err);
    if (instant)
        return text_instant(&j, v);
    if (t.kind == LB_MSGPACK_STR)
        return text_put(&j, t.data, (size_t)t.n);
    return t.kind == LB_MSGPACK_FLOAT ? text_float(&j, t.f, false) : text_integer(&j, &t, false);
}

/* ---------------------------------------------------------------- keys */

bool mp_key(mp_cursor *c, lb_buf *scratch, lb_str *out, lb_status *status, lb_error *err)
{
    mp_cursor again = *c;
    lb_msgpack_token t;

    if (mp_next(&again, &t) && t.kind == LB_MSGPACK_STR && mp_is_text(&t)) {
        *c = again;
        *out = mp_bytes(&t);
        return true;
    }
    scratch->size = 0;
    if (!mp_tagged(c, scratch, status, err))
        return false;
    const size_t size = scratch->size;
    *status = lb_buf_reserve(scratch, LB_TEXT_PADDING, err);
    if (*status != LB_OK)
        return false;
    memset(scratch->data + size, 0, LB_TEXT_PADDING);
    *out = (lb_str){ (const char *)scratch->data, size };
    return true;
}

bool mp_find_replaced(mp_cursor c, uint64_t n, lb_buf *list, lb_buf *key, lb_buf *out, bool *any, lb_status *status,
                      lb_error *err)
{
    list->size = 0;
    for (uint64_t i = 0; i < n; i++) {
        lb_str name;
        if (!mp_key(&c, key, &name, status, err) || !mp_pass(&c, 1))
            return false;
        const lb_key_seen seen = { lb_xxh3_64(name.at, name.size), (size_t)i };
        *status = lb_buf_append(list, &seen, sizeof seen, err);
        if (*status != LB_OK)
            return false;
    }
    if (lb_keys_replaced((lb_key_seen *)(void *)list->data, (size_t)n, out, any))
        return true;
    *status = lb_fail_nomem(err);
    return false;
}
