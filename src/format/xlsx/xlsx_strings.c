/* Shared strings. They come in groups; where a group begins in the XML is kept for all that were passed, or comes from a map, the texts
 * of groups up to a limit. A group that was let go, or never read, is read when a text of it is asked for. */
#include <stdlib.h>

#include "base/utf8.h"
#include "format/access_points.h"
#include "format/xlsx/xlsx.h"

#define STRINGS_KEPT ((size_t)32 << 20)
#define STRINGS_TEXT_MOST ((size_t)64 << 20)   /* bytes of one text */
#define STRINGS_LIST_LEAST ((uint64_t)1 << 20) /* a part of fewer bytes is read as fast as its list */

/* A bit for each text of a group. */
typedef struct strings_bits {
    uint64_t words[(XL_STRINGS_GROUP + 63) / 64];
} strings_bits;

typedef struct strings_texts {
    strings_bits bad; /* cannot be read, though what follows them can; they have no bytes here */
    size_t ends[XL_STRINGS_GROUP];
    uint8_t bytes[];
} strings_texts;

typedef struct strings_group {
    uint64_t offset;      /* of its first `<si` in the XML */
    strings_texts *texts; /* NULL: not at hand */
    uint32_t count;
    bool used; /* since the hand of the clock came by */
} strings_group;

/* A place in the XML. */
typedef struct strings_walk {
    xl_reading reading;
    lb_xml xml;
    uint64_t next; /* number of the next text */
    bool open, end;
} strings_walk;

/* A group that is being read. */
typedef struct strings_work {
    uint64_t offset;
    uint32_t count;
    strings_bits bad;
    size_t ends[XL_STRINGS_GROUP];
} strings_work;

struct xl_strings {
    pthread_mutex_t lock;
    xl_package *package;
    xl_part part;
    bool absent;         /* the workbook has no such part */
    xl_string_list list; /* of a map, whose groups are made when they are first asked for */
    bool listed;         /* where all groups are is known */
    lb_status broken;    /* why reading onwards stopped: it cannot be taken up again */
    strings_group *groups;
    size_t n_groups, cap_groups, hand;
    size_t kept;
    strings_walk front, back; /* onwards; and to groups that were passed. Of a list both go where they are needed */
    bool front_last;          /* which of the two was used last */
    lb_buf text;
    strings_work work;
};

/* ---------------------------------------------------------------- one text */

static int strings_hex(const uint8_t *p)
{
    int v = 0;

    for (int i = 0; i < 4; i++) {
        int c = p[i], d = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

/* `_xHHHH_` at p; the code, or -1. */
static int strings_escape(const uint8_t *p, size_t left)
{
    return left >= 7 && p[0] == '_' && p[1] == 'x' && p[6] == '_' ? strings_hex(p + 2) : -1;
}

/* ECMA-376 part 1, 22.9.2.19: characters that XML cannot hold stand as `_xHHHH_`, in UTF-16; half a pair stays as it is. */
void xl_unescape(lb_buf *text, size_t from)
{
    uint8_t *p = text->data;
    size_t to = from, size = text->size;

    if (size == from || memmem(p + from, size - from, "_x", 2) == NULL)
        return;
    for (size_t i = from; i < size;) {
        int code = strings_escape(p + i, size - i);
        uint32_t c = (uint32_t)code;
        size_t used = 7;
        if (code >= 0xD800 && code <= 0xDBFF) {
            int low = strings_escape(p + i + 7, size - i - 7);
            bool pair = low >= 0xDC00 && low <= 0xDFFF;
            c = pair ? 0x10000 + ((uint32_t)(code - 0xD800) << 10) + (uint32_t)(low - 0xDC00) : 0;
            used = 14;
            code = pair ? 0 : -1;
        }
        if (code < 0 || (c >= 0xDC00 && c <= 0xDFFF)) {
            p[to++] = p[i++];
            continue;
        }
        to += lb_utf8_encode(c, p + to);
        i += used;
    }
    text->size = to;
}

lb_status xl_string_item(lb_xml *x, lb_buf *out, lb_error *err)
{
    const unsigned depth = x->depth;
    size_t from = out->size;
    unsigned inside = 0; /* depth of the `t` that is open */
    lb_xml_token token;

    if (x->empty)
        return LB_OK;
    for (;;) {
        LB_TRY(lb_xml_next(x, &token, err));
        if (token == LB_XML_DONE || (token == LB_XML_END && x->depth < depth))
            return LB_OK;
        if (token == LB_XML_START && lb_str_is(x->name, "rPh")) {
            LB_TRY(lb_xml_skip(x, err));
        } else if (token == LB_XML_START && !x->empty && lb_str_is(x->name, "t")) {
            inside = x->depth;
            from = out->size;
        } else if (token == LB_XML_END && inside != 0 && x->depth < inside) {
            inside = 0;
            xl_unescape(out, from);
        } else if (token == LB_XML_TEXT && inside != 0) {
            if (out->size > STRINGS_TEXT_MOST)
                return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "%s: a text of more than 64 MiB", x->part);
            LB_TRY(lb_xml_decode(x, x->text, x->plain, out, err));
        }
    }
}

/* ---------------------------------------------------------------- walks */

static lb_status walk_begin(xl_strings *s, strings_walk *w, uint64_t offset, uint64_t number, lb_error *err)
{
    lb_xml_close(&w->xml);
    *w = (strings_walk){ .reading = { .part = &s->part, .cx = s->package->cx, .at = offset, .check = offset == 0 },
                         .next = number };
    LB_TRY(lb_xml_open(&w->xml, xl_reading_fill, &w->reading, "shared strings", offset, offset == 0 ? 0 : 1, err));
    w->open = true;
    return LB_OK;
}

/* To the next text; *got false: there is none. */
static lb_status walk_next(strings_walk *w, bool *got, lb_error *err)
{
    lb_xml_token token;

    *got = false;
    while (!w->end && !*got) {
        LB_TRY(lb_xml_next(&w->xml, &token, err));
        w->end = token == LB_XML_DONE;
        *got = token == LB_XML_START && lb_str_is(w->xml.name, "si");
    }
    w->next += *got;
    return LB_OK;
}

/* The text that was just begun, into s->text. *bad: it cannot be read, and was passed over. */
static lb_status walk_text(xl_strings *s, strings_walk *w, bool *bad, lb_error *err)
{
    const unsigned depth = w->xml.depth;
    lb_error why = LB_ERROR_INIT;
    lb_xml_token token;

    *bad = false;
    const size_t from = s->text.size;
    lb_status status = xl_string_item(&w->xml, &s->text, &why);
    if (w->xml.failed == LB_OK && (status == LB_CORRUPT || status == LB_UNSUPPORTED)) {
        *bad = true;
        s->text.size = from;
        while (w->xml.depth >= depth)
            LB_TRY(lb_xml_next(&w->xml, &token, err));
        return LB_OK;
    }
    if (status != LB_OK && err != NULL)
        *err = why;
    return status;
}

/* ---------------------------------------------------------------- groups */

static void group_drop(xl_strings *s, strings_group *g)
{
    size_t size = sizeof *g->texts + (g->count == 0 ? 0 : g->texts->ends[g->count - 1]);

    free(g->texts);
    g->texts = NULL;
    s->kept -= size;
    lb_budget_give(&s->package->cx->budget, size);
}

static void groups_free(xl_strings *s)
{
    for (size_t i = 0; i < s->n_groups; i++)
        if (s->groups[i].texts != NULL)
            group_drop(s, &s->groups[i]);
    free(s->groups);
    s->groups = NULL;
    s->n_groups = s->cap_groups = s->hand = 0;
}

/* Let groups go until `size` more bytes have room. */
static void groups_make_room(xl_strings *s, size_t size)
{
    for (size_t turns = 2 * s->n_groups; turns > 0 && s->kept != 0 && s->kept + size > STRINGS_KEPT; turns--) {
        strings_group *g = &s->groups[s->hand];
        s->hand = (s->hand + 1) % s->n_groups;
        if (g->texts == NULL)
            continue;
        if (!g->used)
            group_drop(s, g);
        else
            g->used = false;
    }
}

/* Keep the texts in s->text, which end at work.ends, in a group. */
static lb_status group_keep(xl_strings *s, strings_group *g, lb_error *err)
{
    size_t size = sizeof *g->texts + s->text.size;

    groups_make_room(s, size);
    if (!lb_budget_take(&s->package->cx->budget, size))
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "shared strings pass the memory limit");
    g->texts = malloc(size);
    if (g->texts == NULL) {
        lb_budget_give(&s->package->cx->budget, size);
        return lb_fail_nomem(err);
    }
    if (s->text.size != 0)
        memcpy(g->texts->bytes, s->text.data, s->text.size);
    g->texts->bad = s->work.bad;
    memcpy(g->texts->ends, s->work.ends, sizeof g->texts->ends);
    s->kept += size;
    return LB_OK;
}

/* Read up to a group's worth of texts into s->text and s->work; unless `texts`, only where it is. */
static lb_status group_read(xl_strings *s, strings_walk *w, bool texts, lb_error *err)
{
    strings_work *work = &s->work;
    bool got = true, bad = false;

    s->text.size = 0;
    work->count = 0;
    work->bad = (strings_bits){ { 0 } };
    while (work->count < XL_STRINGS_GROUP) {
        LB_TRY(walk_next(w, &got, err));
        if (!got)
            break;
        if (work->count == 0)
            work->offset = w->xml.offset;
        LB_TRY(texts ? walk_text(s, w, &bad, err) : lb_xml_skip(&w->xml, err));
        if (bad)
            work->bad.words[work->count / 64] |= UINT64_C(1) << work->count % 64;
        work->ends[work->count++] = s->text.size;
    }
    return LB_OK;
}

static lb_status groups_add(xl_strings *s, bool texts, lb_error *err)
{
    if (s->n_groups == s->cap_groups) {
        size_t cap = s->cap_groups == 0 ? 64 : s->cap_groups * 2, bytes;
        strings_group *grown = lb_mul_size(cap, sizeof *grown, &bytes) ? realloc(s->groups, bytes) : NULL;
        if (grown == NULL)
            return lb_fail_nomem(err);
        s->groups = grown;
        s->cap_groups = cap;
    }
    strings_group *g = &s->groups[s->n_groups++];
    *g = (strings_group){ .offset = s->work.offset, .count = s->work.count };
    return texts ? group_keep(s, g, err) : LB_OK;
}

/* Read on until a group is there, or the end. Texts are kept as they come by: mostly they are asked for in this order. */
static lb_status strings_reach(xl_strings *s, uint64_t group, lb_error *err)
{
    while (!s->absent && !s->listed && s->n_groups <= group && !s->front.end) {
        if (!s->front.open)
            LB_TRY(walk_begin(s, &s->front, 0, 0, err));
        LB_TRY(group_read(s, &s->front, true, err));
        if (s->work.count != 0)
            LB_TRY(groups_add(s, true, err));
    }
    return LB_OK;
}

static lb_status strings_stale(lb_error *err)
{
    lb_fail(err, LB_STALE, LB_NOWHERE, "the shared strings are not where they were");
    lb_fail_hint(err, "`lakebed doctor` on its directory tells what changed");
    return LB_STALE;
}

/* The i-th text of a group, which was passed over as bad, is asked for: say what is wrong with it. */
static lb_status strings_say_bad(xl_strings *s, const strings_group *g, uint64_t i, lb_error *err)
{
    bool got = true;

    LB_TRY(walk_begin(s, &s->back, g->offset, 0, err));
    while (got && s->back.next < i) {
        LB_TRY(walk_next(&s->back, &got, err));
        if (got)
            LB_TRY(lb_xml_skip(&s->back.xml, err));
    }
    LB_TRY(walk_next(&s->back, &got, err));
    s->text.size = 0;
    if (got)
        LB_TRY(xl_string_item(&s->back.xml, &s->text, err));
    return strings_stale(err);
}

/* The walk that stands where a text is, or else the one that was not used last. */
static strings_walk *strings_walk_at(xl_strings *s, uint64_t number)
{
    if (!s->listed)
        return &s->back;
    const bool front = s->front.open && s->front.next == number, back = s->back.open && s->back.next == number;
    s->front_last = front || (!back && !s->front_last);
    return s->front_last ? &s->front : &s->back;
}

/* Read a group that is not at hand. */
static lb_status strings_load(xl_strings *s, uint64_t group, lb_error *err)
{
    const uint64_t number = group * XL_STRINGS_GROUP;
    strings_group *g = &s->groups[group];
    strings_walk *w = strings_walk_at(s, number);

    if (!w->open || w->next != number)
        LB_TRY(walk_begin(s, w, g->offset, number, err));
    lb_error why = LB_ERROR_INIT;
    lb_status status = group_read(s, w, true, &why);
    if (s->work.count == 0 ? status == LB_OK || status == LB_CORRUPT : s->work.offset != g->offset)
        return strings_stale(err);
    if (status != LB_OK && err != NULL)
        *err = why;
    LB_TRY(status);
    if (s->work.count != g->count)
        return strings_stale(err);
    return group_keep(s, g, err);
}

/* ---------------------------------------------------------------- lists */

lb_status xl_strings_know(xl_strings *s, const xl_string_list *list, const lb_access_points *points, lb_error *err)
{
    if (list->count == 0 || s->absent)
        return LB_OK;
    s->list = *list;
    if (s->part.view == s->part.packed || points->count == 0)
        return LB_OK;
    return lb_points_know(s->part.view, points, s->part.member, s->part.content_at, err);
}

/* The groups that a map has. */
static lb_status list_groups(xl_strings *s, lb_error *err)
{
    const uint64_t n = (s->list.count + XL_STRINGS_GROUP - 1) / XL_STRINGS_GROUP;

    if (s->list.count == 0 || s->listed)
        return LB_OK;
    groups_free(s);
    s->groups = n > SIZE_MAX / sizeof *s->groups ? NULL : calloc((size_t)n, sizeof *s->groups);
    if (s->groups == NULL)
        return lb_fail_nomem(err);
    for (uint64_t i = 0; i < n; i++) {
        memcpy(&s->groups[i].offset, s->list.offsets + i * sizeof(uint64_t), sizeof(uint64_t));
        s->groups[i].count = (uint32_t)LB_MIN(s->list.count - i * XL_STRINGS_GROUP, (uint64_t)XL_STRINGS_GROUP);
    }
    s->n_groups = s->cap_groups = (size_t)n;
    s->listed = true;
    return LB_OK;
}

static lb_status list_all(xl_strings *s, lb_buf *offsets, uint64_t *count, lb_error *err)
{
    lb_status status = walk_begin(s, &s->back, 0, 0, err);

    while (status == LB_OK && !s->back.end) {
        status = group_read(s, &s->back, false, err);
        if (status == LB_OK && s->work.count != 0)
            status = lb_buf_append(offsets, &s->work.offset, sizeof s->work.offset, err);
    }
    *count = s->back.next;
    s->back.open = false;
    return status;
}

lb_status xl_strings_list(xl_strings *s, lb_buf *offsets, uint64_t *count, lb_error *err)
{
    *count = 0;
    if (s->absent || s->part.view->size < STRINGS_LIST_LEAST)
        return LB_OK;
    pthread_mutex_lock(&s->lock);
    lb_status status = list_all(s, offsets, count, NULL);
    if (status == LB_OK) {
        s->list = (xl_string_list){ *count, offsets->data };
        status = list_groups(s, NULL);
    }
    pthread_mutex_unlock(&s->lock);
    if (status == LB_OK)
        return LB_OK;
    *count = 0;
    offsets->size = 0;
    /* What is wrong with them is said when one of them is asked for that is behind it. */
    return status == LB_CORRUPT || status == LB_UNSUPPORTED
               ? LB_OK
               : lb_fail(err, status, LB_NOWHERE, "the shared strings could not be listed");
}

const xl_part *xl_strings_part(const xl_strings *s)
{
    return s->absent ? NULL : &s->part;
}

/* ---------------------------------------------------------------- asked for */

static lb_status strings_get(xl_strings *s, uint64_t number, lb_buf *out, lb_error *err)
{
    uint64_t group = number / XL_STRINGS_GROUP, i = number % XL_STRINGS_GROUP;

    LB_TRY(list_groups(s, err));
    if (group >= s->n_groups && s->broken != LB_OK)
        return lb_fail(err, s->broken, LB_NOWHERE, "the shared strings could not be read before");
    lb_status status = strings_reach(s, group, err);
    if (status != LB_OK)
        return s->broken = status;
    if (group >= s->n_groups || i >= s->groups[group].count)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a cell has the shared string %llu, which is not there",
                       (unsigned long long)number);
    strings_group *g = &s->groups[group];
    if (g->texts == NULL)
        LB_TRY(strings_load(s, group, err));
    g->used = true;
    if ((g->texts->bad.words[i / 64] >> i % 64 & 1) != 0)
        return strings_say_bad(s, g, i, err);
    size_t from = i == 0 ? 0 : g->texts->ends[i - 1];
    return lb_buf_append(out, g->texts->bytes + from, g->texts->ends[i] - from, err);
}

lb_status xl_strings_get(xl_strings *s, uint64_t number, lb_buf *out, lb_error *err)
{
    pthread_mutex_lock(&s->lock);
    lb_status status = strings_get(s, number, out, err);
    if (status != LB_OK) { /* what stands half read is not read on */
        s->back.open = false;
        s->front.open = s->front.open && !s->listed;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* ---------------------------------------------------------------- all of them */

lb_status xl_strings_new(xl_package *p, xl_strings **out, lb_error *err)
{
    xl_strings *s = calloc(1, sizeof *s);

    *out = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->package = p;
    lb_buf_init(&s->text, &p->cx->budget);
    pthread_mutex_init(&s->lock, NULL);
    s->absent = p->strings_path.size == 0;
    lb_status status = s->absent ? LB_OK : xl_part_open(p, p->strings_path, &s->part, NULL);
    if (status == LB_CORRUPT) { /* some writers name a part that they leave out where there are no strings */
        s->absent = true;
        status = LB_OK;
    }
    if (status != LB_OK) {
        xl_strings_free(s);
        return lb_fail(err, status, LB_NOWHERE, "the shared strings cannot be read");
    }
    *out = s;
    return LB_OK;
}

void xl_strings_free(xl_strings *s)
{
    if (s == NULL)
        return;
    groups_free(s);
    lb_xml_close(&s->front.xml);
    lb_xml_close(&s->back.xml);
    lb_buf_free(&s->text);
    xl_part_close(&s->part);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
