#include "wire/xml_pull.h"

#include <stdlib.h>

#include "base/utf8.h"

#define XML_WINDOW ((size_t)256 << 10)
#define XML_PADDING 16
#define XML_REFERENCE 16 /* bytes of a reference at most, `&` and `;` included */

static lb_status xml_fail(const lb_xml *x, size_t at, const char *what, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "%s, byte %llu of its XML: %s", x->part,
                   (unsigned long long)(x->origin + at), what);
}

/* ---------------------------------------------------------------- the window */

static lb_status xml_grow(lb_xml *x, lb_error *err)
{
    size_t cap = x->cap * 2;
    uint8_t *data = cap > 4 * LB_XML_TAG_MOST ? NULL : realloc(x->data, cap + XML_PADDING);

    if (data == NULL)
        return lb_fail_nomem(err);
    x->data = data;
    x->cap = cap;
    return LB_OK;
}

/* More of the text behind what is at hand from x->at on, which moves to the front. */
static lb_status xml_more(lb_xml *x, lb_error *err)
{
    size_t left = x->size - x->at, got = 0;

    memmove(x->data, x->data + x->at, left);
    x->origin += x->at;
    x->at = 0;
    x->size = left;
    if (x->size == x->cap)
        LB_TRY(xml_grow(x, err));
    lb_status status = x->fill(x->user, x->data + x->size, x->cap - x->size, &got, err);
    x->size += got;
    x->end = status == LB_OK && got == 0;
    memset(x->data + x->size, 0, XML_PADDING);
    return status;
}

/* `want` bytes from x->at on; fewer at the end. */
static lb_status xml_have(lb_xml *x, size_t want, lb_error *err)
{
    while (x->size - x->at < want && !x->end)
        LB_TRY(xml_more(x, err));
    return LB_OK;
}

lb_status lb_xml_open(lb_xml *x, lb_xml_fill_fn fill, void *user, const char *part, uint64_t offset, unsigned depth,
                      lb_error *err)
{
    *x = (lb_xml){ .fill = fill,
                   .user = user,
                   .part = part,
                   .origin = offset,
                   .depth = depth,
                   .began = offset != 0,
                   .rooted = offset != 0 };
    x->data = malloc(XML_WINDOW + XML_PADDING);
    if (x->data == NULL)
        return lb_fail_nomem(err);
    x->cap = XML_WINDOW;
    return LB_OK;
}

void lb_xml_close(lb_xml *x)
{
    free(x->data);
    x->data = NULL;
}

/* ---------------------------------------------------------------- what is passed over */

/* Pass over everything to `stop`, which ends it. */
static lb_status xml_pass(lb_xml *x, const char *stop, lb_error *err)
{
    size_t n = strlen(stop);

    for (;;) {
        LB_TRY(xml_have(x, n, err));
        if (x->size - x->at < n)
            return xml_fail(x, x->size, "it ends inside a comment or instruction", err);
        const uint8_t *from = x->data + x->at, *hit = memchr(from, stop[0], x->size - x->at - n + 1);
        if (hit == NULL) {
            x->at = x->size - n + 1;
            continue;
        }
        x->at = (size_t)(hit - x->data);
        if (memcmp(hit, stop, n) == 0) {
            x->at += n;
            return LB_OK;
        }
        x->at++;
    }
}

static lb_status xml_check_encoding(const lb_xml *x, lb_str declaration, lb_error *err)
{
    lb_str name, value, rest = declaration;

    while (lb_xml_attribute(&rest, &name, &value))
        if (lb_str_is(name, "encoding") && !lb_str_is_nocase(value, "utf-8") && !lb_str_is_nocase(value, "utf8") &&
            !lb_str_is_nocase(value, "us-ascii") && !lb_str_is_nocase(value, "ascii"))
            return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "%s: XML in the encoding %.*s; only UTF-8 is read", x->part,
                           (int)LB_MIN(value.size, (size_t)40), value.at);
    return LB_OK;
}

static lb_status xml_instruction(lb_xml *x, lb_error *err)
{
    LB_TRY(xml_have(x, 512, err));
    const char *from = (const char *)x->data + x->at;
    size_t left = x->size - x->at;
    if (left > 6 && memcmp(from, "<?xml", 5) == 0 && (unsigned char)from[5] <= ' ') {
        const char *stop = memchr(from, '>', left);
        size_t size = stop == NULL ? 0 : (size_t)(stop - from);
        if (size > 6)
            LB_TRY(xml_check_encoding(x, (lb_str){ from + 5, size - 6 }, err));
    }
    return xml_pass(x, "?>", err);
}

static lb_status xml_begin(lb_xml *x, lb_error *err)
{
    x->began = true;
    LB_TRY(xml_have(x, 4, err));
    const uint8_t *p = x->data + x->at;
    size_t left = x->size - x->at;
    if (left >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0)
        x->at += 3;
    else if (left >= 2 && (p[0] == 0 || p[1] == 0 || p[0] >= 0xFE))
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "%s: XML in UTF-16 or UTF-32; only UTF-8 is read", x->part);
    return LB_OK;
}

/* ---------------------------------------------------------------- tags */

static uint32_t xml_hash(lb_str name)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < name.size; i++)
        h = (h ^ (uint8_t)name.at[i]) * 16777619u;
    return h | 1;
}

/* The tag at x->at is in the window as a whole; *stop: its `>`. Brackets inside quotes do not end it. */
static lb_status xml_tag(lb_xml *x, size_t *stop, lb_error *err)
{
    size_t i = x->at + 1;

    for (;;) {
        uint8_t quote = 0;
        for (; i < x->size; i++) {
            uint8_t c = x->data[i];
            if (c == '>') {
                *stop = i;
                return LB_OK;
            }
            if (c != '"' && c != '\'')
                continue;
            const uint8_t *close = memchr(x->data + i + 1, c, x->size - i - 1);
            quote = c;
            if (close == NULL)
                break;
            i = (size_t)(close - x->data);
        }
        if (x->end)
            return xml_fail(x, x->size, "it ends inside a tag", err);
        if (x->size - x->at > LB_XML_TAG_MOST)
            return xml_fail(x, x->at, "a tag of more than 1 MiB", err);
        i = (quote != 0 && i < x->size ? i : x->size) - x->at;
        LB_TRY(xml_more(x, err));
    }
}

static bool xml_ends_name(uint8_t c)
{
    return c <= ' ' || c == '>' || c == '/';
}

/* The name that begins at `at`; the prefix goes. */
static lb_str xml_name(const lb_xml *x, size_t at, size_t stop, lb_str *whole)
{
    size_t end = at, from = at;

    for (; end < stop && !xml_ends_name(x->data[end]); end++)
        if (x->data[end] == ':')
            from = end + 1;
    *whole = (lb_str){ (const char *)x->data + at, end - at };
    return (lb_str){ (const char *)x->data + from, end - from };
}

static lb_status xml_start(lb_xml *x, size_t stop, lb_error *err)
{
    lb_str whole;

    x->name = xml_name(x, x->at + 1, stop, &whole);
    if (x->name.size == 0)
        return xml_fail(x, x->at, "an element without a name", err);
    x->empty = x->data[stop - 1] == '/';
    size_t from = x->at + 1 + whole.size, to = x->empty ? stop - 1 : stop;
    x->attributes = (lb_str){ (const char *)x->data + from, to > from ? to - from : 0 };
    if (x->depth == 0 && x->rooted)
        return xml_fail(x, x->at, "an element behind the outermost one", err);
    x->rooted = true;
    x->at = stop + 1;
    if (x->empty)
        return LB_OK;
    if (x->depth == LB_XML_DEPTH)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "%s: XML elements nested more than %u deep", x->part,
                       (unsigned)LB_XML_DEPTH);
    x->open[x->depth++] = xml_hash(whole);
    return LB_OK;
}

static lb_status xml_end(lb_xml *x, size_t stop, lb_error *err)
{
    lb_str whole;

    x->name = xml_name(x, x->at + 2, stop, &whole);
    x->empty = false;
    if (x->depth == 0)
        return xml_fail(x, x->at, "an element is closed that is not open", err);
    uint32_t open = x->open[--x->depth];
    if (open != 0 && open != xml_hash(whole))
        return xml_fail(x, x->at, "an element is closed before those inside it", err);
    x->at = stop + 1;
    return LB_OK;
}

/* ---------------------------------------------------------------- text */

/* Text up to the next tag, as far as it is at hand; references stay whole. */
static lb_status xml_text(lb_xml *x, lb_error *err)
{
    const uint8_t *from = x->data + x->at, *stop = memchr(from, '<', x->size - x->at);
    size_t n = (stop == NULL ? x->size : (size_t)(stop - x->data)) - x->at;

    if (stop == NULL && !x->end) {
        if (n < 64) { /* little was at hand: see whether it ends soon */
            LB_TRY(xml_have(x, n + 1, err));
            return x->end || x->size - x->at > n ? xml_text(x, err) : LB_OK;
        }
        size_t back = LB_MIN(n - 1, (size_t)XML_REFERENCE);
        for (size_t i = 1; i <= back; i++)
            if (from[n - i] == '&' || from[n - i] == '\r') {
                n -= i;
                break;
            }
    }
    x->text = (lb_str){ (const char *)x->data + x->at, n };
    x->plain = false;
    x->at += n;
    return LB_OK;
}

#define XML_CDATA 9 /* <![CDATA[ */

static lb_status xml_cdata(lb_xml *x, lb_error *err)
{
    for (;;) {
        const uint8_t *from = x->data + x->at + XML_CDATA, *end = x->data + x->size;
        const uint8_t *stop = from < end ? memmem(from, (size_t)(end - from), "]]>", 3) : NULL;
        if (stop != NULL) {
            x->text = (lb_str){ (const char *)from, (size_t)(stop - from) };
            x->plain = true;
            x->at = (size_t)(stop - x->data) + 3;
            return LB_OK;
        }
        if (x->end)
            return xml_fail(x, x->size, "it ends inside a CDATA section", err);
        if (x->size - x->at > LB_XML_TAG_MOST)
            return xml_fail(x, x->at, "a CDATA section of more than 1 MiB", err);
        LB_TRY(xml_more(x, err));
    }
}

/* Markup that begins with `<!` or `<?`. *text: it was text. */
static lb_status xml_special(lb_xml *x, bool *text, lb_error *err)
{
    *text = false;
    if (x->data[x->at + 1] == '?')
        return xml_instruction(x, err);
    LB_TRY(xml_have(x, XML_CDATA, err));
    const uint8_t *p = x->data + x->at;
    if (memcmp(p, "<!--", 4) == 0) {
        x->at += 4;
        return xml_pass(x, "-->", err);
    }
    if (memcmp(p, "<![CDATA[", XML_CDATA) == 0) {
        *text = true;
        return xml_cdata(x, err);
    }
    if (memcmp(p, "<!DOCTYPE", XML_CDATA) == 0)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "%s: XML with a document type declaration is not read",
                       x->part);
    return xml_fail(x, x->at, "markup that is none", err);
}

/* Outside the outermost element there are only blanks. */
static lb_status xml_check_outside(const lb_xml *x, lb_error *err)
{
    for (size_t i = 0; i < x->text.size; i++)
        if ((unsigned char)x->text.at[i] > ' ')
            return xml_fail(x, x->at, "text outside the outermost element", err);
    return LB_OK;
}

/* ---------------------------------------------------------------- tokens */

static lb_status xml_markup(lb_xml *x, lb_xml_token *out, bool *got, lb_error *err)
{
    size_t stop = 0;

    *got = true;
    LB_TRY(xml_have(x, 2, err));
    x->offset = x->origin + x->at;
    if (x->size - x->at < 2)
        return xml_fail(x, x->size, "it ends inside a tag", err);
    uint8_t c = x->data[x->at + 1];
    if (c == '!' || c == '?') {
        *out = LB_XML_TEXT;
        return xml_special(x, got, err);
    }
    LB_TRY(xml_tag(x, &stop, err));
    *out = c == '/' ? LB_XML_END : LB_XML_START;
    return c == '/' ? xml_end(x, stop, err) : xml_start(x, stop, err);
}

static lb_status xml_next(lb_xml *x, lb_xml_token *out, lb_error *err)
{
    bool got = false;

    if (!x->began)
        LB_TRY(xml_begin(x, err));
    while (!got) {
        LB_TRY(xml_have(x, 1, err));
        if (x->at == x->size) {
            *out = LB_XML_DONE;
            if (!x->rooted)
                return xml_fail(x, x->size, "it has no element", err);
            return x->depth == 0 ? LB_OK : xml_fail(x, x->size, "it ends inside an element", err);
        }
        if (x->data[x->at] == '<') {
            LB_TRY(xml_markup(x, out, &got, err));
            continue;
        }
        x->offset = x->origin + x->at;
        *out = LB_XML_TEXT;
        LB_TRY(xml_text(x, err));
        if (x->depth == 0)
            LB_TRY(xml_check_outside(x, err));
        got = x->text.size != 0;
    }
    return LB_OK;
}

lb_status lb_xml_next(lb_xml *x, lb_xml_token *out, lb_error *err)
{
    if (x->failed == LB_OK)
        return x->failed = xml_next(x, out, err);
    return lb_fail(err, x->failed, LB_NOWHERE, "%s: the XML could not be read before", x->part);
}

lb_status lb_xml_skip(lb_xml *x, lb_error *err)
{
    unsigned depth = x->depth;
    lb_xml_token token;

    if (x->empty)
        return LB_OK;
    while (x->depth >= depth)
        LB_TRY(lb_xml_next(x, &token, err));
    return LB_OK;
}

/* ---------------------------------------------------------------- attributes */

bool lb_xml_attribute(lb_str *rest, lb_str *name, lb_str *value)
{
    const char *p = rest->at, *end = p + rest->size;

    while (p < end && (unsigned char)*p <= ' ')
        p++;
    const char *from = p;
    for (; p < end && *p != '=' && (unsigned char)*p > ' '; p++)
        if (*p == ':')
            from = p + 1;
    *name = (lb_str){ from, (size_t)(p - from) };
    while (p < end && *p != '"' && *p != '\'')
        p++;
    if (p == end)
        return false;
    const char *close = memchr(p + 1, *p, (size_t)(end - p - 1));
    if (close == NULL)
        return false;
    *value = (lb_str){ p + 1, (size_t)(close - p - 1) };
    *rest = (lb_str){ close + 1, (size_t)(end - close - 1) };
    return true;
}

bool lb_xml_find(const lb_xml *x, const char *name, lb_str *value)
{
    lb_str rest = x->attributes, n;

    while (lb_xml_attribute(&rest, &n, value))
        if (lb_str_is(n, name))
            return true;
    return false;
}

/* ---------------------------------------------------------------- references */

/* `#65` or `#x41`; 0: no character. */
static uint32_t xml_number(lb_str s)
{
    bool hex = s.size > 1 && s.at[1] == 'x';
    size_t i = hex ? 2 : 1;
    uint32_t c = 0;

    if (i == s.size)
        return 0;
    for (; i < s.size; i++) {
        unsigned char d = (unsigned char)s.at[i];
        unsigned v = d >= '0' && d <= '9'   ? d - (unsigned)'0'
                     : d >= 'a' && d <= 'f' ? d - 'a' + 10u
                     : d >= 'A' && d <= 'F' ? d - 'A' + 10u
                                            : 99;
        if (v >= (hex ? 16u : 10u))
            return 0;
        c = c * (hex ? 16 : 10) + v;
        if (c > 0x10FFFF)
            return 0;
    }
    return c >= 0xD800 && c <= 0xDFFF ? 0 : c;
}

static uint32_t xml_reference(lb_str s)
{
    static const struct {
        const char *name;
        char c;
    } known[] = { { "amp", '&' }, { "lt", '<' }, { "gt", '>' }, { "quot", '"' }, { "apos", '\'' } };

    if (s.size != 0 && s.at[0] == '#')
        return xml_number(s);
    for (size_t i = 0; i < LB_COUNT_OF(known); i++)
        if (lb_str_is(s, known[i].name))
            return (uint32_t)known[i].c;
    return 0;
}

/* The reference or line end at s.at[i]; *i moves behind it. */
static lb_status xml_decode_one(const lb_xml *x, lb_str s, size_t *i, bool plain, lb_buf *out, lb_error *err)
{
    uint8_t bytes[4];

    if (s.at[*i] == '\r') {
        *i += *i + 1 < s.size && s.at[*i + 1] == '\n' ? 2 : 1;
        lb_buf_putc(out, '\n');
        return LB_OK;
    }
    if (plain) {
        lb_buf_putc(out, s.at[(*i)++]);
        return LB_OK;
    }
    const char *from = s.at + *i + 1, *stop = memchr(from, ';', LB_MIN(s.size - *i - 1, (size_t)XML_REFERENCE));
    uint32_t c = stop == NULL ? 0 : xml_reference((lb_str){ from, (size_t)(stop - from) });
    if (c == 0)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "%s, near byte %llu of its XML: a reference to nothing: %.*s",
                       x->part, (unsigned long long)x->offset, (int)LB_MIN(s.size - *i, (size_t)12), s.at + *i);
    lb_buf_put(out, bytes, lb_utf8_encode(c, bytes));
    *i = (size_t)(stop + 1 - s.at);
    return LB_OK;
}

lb_status lb_xml_decode(const lb_xml *x, lb_str s, bool plain, lb_buf *out, lb_error *err)
{
    if (s.size == 0)
        return LB_OK;
    LB_TRY(lb_buf_reserve(out, s.size, err)); /* decoded text is never longer */
    bool simple = (plain || memchr(s.at, '&', s.size) == NULL) && memchr(s.at, '\r', s.size) == NULL;
    if (simple) {
        lb_buf_put(out, s.at, s.size);
        return LB_OK;
    }
    for (size_t i = 0; i < s.size;) {
        if (s.at[i] == '&' || s.at[i] == '\r')
            LB_TRY(xml_decode_one(x, s, &i, plain, out, err));
        else
            lb_buf_putc(out, s.at[i++]);
    }
    return LB_OK;
}
