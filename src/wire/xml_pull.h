/* XML (1.0, fifth edition) as a pull stream, with the place of each piece in the text, so that reading can begin again at an
 * element in the middle. That, the speed, and the refusal of all entities but the five of XML itself are why this is no general
 * parser: a document type declaration is refused, for nothing that is read here has one, and expansions are how small files
 * become large ones.
 *
 * Checked: that there is one outermost element, with only blanks around it, that elements close in the order they were opened, that
 * markup and references are whole. Not checked: names'
 * characters, attributes that occur twice. The encoding is UTF-8; whoever keeps text checks it. */
#ifndef LB_WIRE_XML_PULL_H
#define LB_WIRE_XML_PULL_H

#include "base/buf.h"

/* Read on: up to `room` bytes; *got 0 at the end. */
typedef lb_status (*lb_xml_fill_fn)(void *user, uint8_t *to, size_t room, size_t *got, lb_error *err);

#define LB_XML_DEPTH 128
#define LB_XML_TAG_MOST ((size_t)1 << 20) /* bytes of one tag */

typedef enum lb_xml_token {
    LB_XML_START, /* name, attributes; `empty` elements get no LB_XML_END */
    LB_XML_END,   /* name */
    LB_XML_TEXT,  /* a piece of text: more may follow at once */
    LB_XML_DONE,  /* the text ends, all elements being closed */
} lb_xml_token;

typedef struct lb_xml {
    lb_xml_fill_fn fill;
    void *user;
    uint8_t *data; /* the window; zero bytes stand behind it */
    size_t at, size, cap;
    uint64_t origin;    /* of data[0] in the text */
    bool end;           /* nothing follows the window */
    bool began, rooted; /* reading has begun; the outermost element has */
    lb_status failed;   /* the text cannot be read on */

    uint64_t offset; /* of the token in the text */
    lb_str name;     /* without prefix; lent until the next token, as all that follows */
    bool empty;
    lb_str attributes; /* what stands between name and `>` */
    lb_str text;       /* as it stands: see lb_xml_decode */
    bool plain;        /* `text` is what it says (CDATA) */

    unsigned depth;              /* elements that are open */
    uint32_t open[LB_XML_DEPTH]; /* hashes of their names; 0: unknown, where reading began in the middle */
    const char *part;            /* for messages */
} lb_xml;

/* Begin at `offset` of the text, inside `depth` elements (0 at its beginning). Errors: NOMEM. */
lb_status lb_xml_open(lb_xml *x, lb_xml_fill_fn fill, void *user, const char *part, uint64_t offset, unsigned depth,
                      lb_error *err);
void lb_xml_close(lb_xml *x); /* a zero-initialised one is fine */

/* The next token. Errors: CORRUPT, UNSUPPORTED (a document type declaration, an encoding, depth), those of `fill`; after one there is no
 * next token. */
lb_status lb_xml_next(lb_xml *x, lb_xml_token *out, lb_error *err);

/* The element that was just begun, with all in it, is passed over. */
lb_status lb_xml_skip(lb_xml *x, lb_error *err);

/* The attributes of the element just begun, one by one: advances `rest`, which begins as x->attributes. False: no more. The
 * name is without prefix, the value as it stands. */
bool lb_xml_attribute(lb_str *rest, lb_str *name, lb_str *value);
/* One of them; false: there is none. */
bool lb_xml_find(const lb_xml *x, const char *name, lb_str *value);

/* Append text with references replaced and line ends as LF. Errors: CORRUPT (a reference to what does not exist), NOMEM, BUDGET. */
lb_status lb_xml_decode(const lb_xml *x, lb_str text, bool plain, lb_buf *out, lb_error *err);

/* Of ASCII text, as it is in names and numbers; no references. */
static inline lb_str lb_xml_trim(lb_str s)
{
    while (s.size > 0 && (unsigned char)s.at[0] <= ' ')
        s = (lb_str){ s.at + 1, s.size - 1 };
    while (s.size > 0 && (unsigned char)s.at[s.size - 1] <= ' ')
        s.size--;
    return s;
}

#endif
