/* Shared strings. They come in groups of 64; where a group begins in the XML is kept for all that were passed, the texts of
 * groups up to a limit. A group that was let go is read again. */
#include <stdlib.h>

#include "base/utf8.h"
#include "format/xlsx/xlsx.h"

#define STRINGS_GROUP 64
#define STRINGS_KEPT ((size_t)32 << 20)
#define STRINGS_TEXT_MOST ((size_t)64 << 20) /* bytes of one text */

typedef struct strings_group {
    uint64_t offset; /* of its first `<si` in the XML */
    uint8_t *text;   /* NULL: let go */
    uint32_t count;
    bool used; /* since the hand of the clock came by */
    size_t ends[STRINGS_GROUP];
} strings_group;

/* A place in the XML, and what of a group was read there. */
typedef struct strings_walk {
    xl_reading reading;
    lb_xml xml;
    uint64_t next; /* number of the next text */
    bool open, end;
} strings_walk;

struct xl_strings {
    pthread_mutex_t lock;
    xl_package *package;
    xl_part part;
    bool absent;      /* the workbook has no such part */
    lb_status broken; /* why reading onwards stopped: it cannot be taken up again */
    strings_group **groups;
    size_t n_groups, cap_groups, hand;
    size_t kept;
    strings_walk front, back; /* onwards; and to read groups again */
    lb_buf text;
    strings_group work; /* the group that is being read */
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

/* The next text into s->text, from its end on; *got false: there is none. */
static lb_status walk_next(xl_strings *s, strings_walk *w, uint64_t *offset, bool *got, lb_error *err)
{
    lb_xml_token token;

    *got = false;
    while (!w->end) {
        LB_TRY(lb_xml_next(&w->xml, &token, err));
        w->end = token == LB_XML_DONE;
        if (token != LB_XML_START || !lb_str_is(w->xml.name, "si"))
            continue;
        *offset = w->xml.offset;
        w->next++;
        *got = true;
        return xl_string_item(&w->xml, &s->text, err);
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- groups */

static void group_drop(xl_strings *s, strings_group *g)
{
    size_t size = g->count == 0 ? 0 : g->ends[g->count - 1];

    free(g->text);
    g->text = NULL;
    s->kept -= size;
    lb_budget_give(&s->package->cx->budget, size);
}

/* Let groups go until `size` more bytes have room. */
static void groups_make_room(xl_strings *s, size_t size)
{
    for (size_t turns = 2 * s->n_groups; turns > 0 && s->kept != 0 && s->kept + size > STRINGS_KEPT; turns--) {
        strings_group *g = s->groups[s->hand];
        s->hand = (s->hand + 1) % s->n_groups;
        if (g->text == NULL)
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
    size_t size = s->text.size;

    groups_make_room(s, size);
    if (!lb_budget_take(&s->package->cx->budget, size))
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "shared strings pass the memory limit");
    g->text = malloc(size + 1);
    if (g->text == NULL) {
        lb_budget_give(&s->package->cx->budget, size);
        return lb_fail_nomem(err);
    }
    if (size != 0)
        memcpy(g->text, s->text.data, size);
    memcpy(g->ends, s->work.ends, sizeof g->ends);
    g->count = s->work.count;
    s->kept += size;
    return LB_OK;
}

/* Read up to a group's worth of texts into s->text and s->work. */
static lb_status group_read(xl_strings *s, strings_walk *w, lb_error *err)
{
    uint64_t offset;
    bool got = true;

    s->text.size = 0;
    s->work.count = 0;
    while (s->work.count < STRINGS_GROUP) {
        LB_TRY(walk_next(s, w, &offset, &got, err));
        if (!got)
            break;
        if (s->work.count == 0)
            s->work.offset = offset;
        s->work.ends[s->work.count++] = s->text.size;
    }
    return LB_OK;
}

static lb_status groups_add(xl_strings *s, lb_error *err)
{
    if (s->n_groups == s->cap_groups) {
        size_t cap = s->cap_groups == 0 ? 64 : s->cap_groups * 2, bytes;
        strings_group **grown = lb_mul_size(cap, sizeof *grown, &bytes) ? realloc(s->groups, bytes) : NULL;
        if (grown == NULL)
            return lb_fail_nomem(err);
        s->groups = grown;
        s->cap_groups = cap;
    }
    strings_group *g = calloc(1, sizeof *g);
    if (g == NULL)
        return lb_fail_nomem(err);
    g->offset = s->work.offset;
    s->groups[s->n_groups++] = g;
    return group_keep(s, g, err);
}

/* Read on until the group of a number is there, or the end. */
static lb_status strings_reach(xl_strings *s, uint64_t group, lb_error *err)
{
    while (!s->absent && s->n_groups <= group && !s->front.end) {
        if (!s->front.open)
            LB_TRY(walk_begin(s, &s->front, 0, 0, err));
        LB_TRY(group_read(s, &s->front, err));
        if (s->work.count != 0)
            LB_TRY(groups_add(s, err));
    }
    return LB_OK;
}

static lb_status strings_again(xl_strings *s, uint64_t group, lb_error *err)
{
    strings_group *g = s->groups[group];

    if (!s->back.open || s->back.next != group * STRINGS_GROUP)
        LB_TRY(walk_begin(s, &s->back, g->offset, group * STRINGS_GROUP, err));
    LB_TRY(group_read(s, &s->back, err));
    if (s->work.count != g->count)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the shared strings changed while they were read");
    return group_keep(s, g, err);
}

static lb_status strings_get(xl_strings *s, uint64_t number, lb_buf *out, lb_error *err)
{
    uint64_t group = number / STRINGS_GROUP, i = number % STRINGS_GROUP;

    if (group >= s->n_groups && s->broken != LB_OK)
        return lb_fail(err, s->broken, LB_NOWHERE, "the shared strings could not be read before");
    lb_status status = strings_reach(s, group, err);
    if (status != LB_OK)
        return s->broken = status;
    if (group >= s->n_groups || i >= s->groups[group]->count)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a cell has the shared string %llu, which is not there",
                       (unsigned long long)number);
    strings_group *g = s->groups[group];
    if (g->text == NULL)
        LB_TRY(strings_again(s, group, err));
    g->used = true;
    size_t from = i == 0 ? 0 : g->ends[i - 1];
    return lb_buf_append(out, g->text + from, g->ends[i] - from, err);
}

lb_status xl_strings_get(xl_strings *s, uint64_t number, lb_buf *out, lb_error *err)
{
    pthread_mutex_lock(&s->lock);
    lb_status status = strings_get(s, number, out, err);
    if (status != LB_OK) /* what stands half read is not read on */
        s->back.open = false;
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
    for (size_t i = 0; i < s->n_groups; i++) {
        if (s->groups[i]->text != NULL)
            group_drop(s, s->groups[i]);
        free(s->groups[i]);
    }
    free(s->groups);
    lb_xml_close(&s->front.xml);
    lb_xml_close(&s->back.xml);
    lb_buf_free(&s->text);
    xl_part_close(&s->part);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
