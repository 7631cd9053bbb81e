/* The handlers of this folder: what they are called, how a file is opened, and what a header names. */
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "column/ipc.h"
#include "format/delimited/delimited.h"
#include "format/delimited/delimited_handlers.h"

#define FORMAT_SAMPLE_BYTES ((size_t)64 * 1024)
#define FORMAT_SAMPLE_RECORDS 100

/* ---------------------------------------------------------------- sniffing */

/* Tested in this order (lake-map.md 5.3): a line with a tab is tsv whatever else stands in it. */
static const char format_order[] = "\t|;,";

/* Bytes before the first line end, LF or CR. */
static size_t format_first_line(const uint8_t *p, size_t size)
{
    size_t n = 0;

    while (n < size && p[n] != '\n' && p[n] != '\r')
        n++;
    return n;
}

static int format_sniff(const lb_format *format, const lb_peek *peek)
{
    const delim_defaults *defaults = format->arg;
    const uint8_t *p = peek->head;
    size_t size = peek->head_size;

    if (size >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) {
        p += 3;
        size -= 3;
    }
    if (size == 0 || memchr(p, 0, size) != NULL)
        return 0;
    if (lb_utf8_valid_prefix(p, size) + (peek->head_size < peek->file_size ? lb_utf8_cut_tail(p, size) : 0) != size)
        return 0;
    size = format_first_line(p, size);
    for (size_t i = 0; i < sizeof format_order - 1; i++)
        if (memchr(p, format_order[i], size) != NULL)
            return format_order[i] == defaults->delimiter ? 40 : 0;
    return defaults->delimiter == ',' ? 10 : 0;
}

/* ---------------------------------------------------------------- opening */

static lb_status format_dialect(lb_reader *r, const lb_read_options *o, lb_error *err)
{
    const delim_defaults *defaults = r->format->arg;
    delim_dialect *d = &r->dialect;

    *d = (delim_dialect){ .delimiter = { (uint8_t)defaults->delimiter },
                          .delimiter_size = 1,
                          .quote = '"',
                          .escape = -1,
                          .has_header = defaults->has_header };
    if (o == NULL)
        return lb_text_encoding(r->store, NULL, d->encoding, &d->bom_bytes, err);
    if (o->set & LB_OPT_DELIMITER) {
        d->delimiter_size = (unsigned)strlen(o->delimiter);
        memcpy(d->delimiter, o->delimiter, d->delimiter_size);
        r->delimiter_declared = true;
    }
    if (o->set & LB_OPT_QUOTE)
        d->quote = o->quote;
    if (o->set & LB_OPT_ESCAPE)
        d->escape = o->escape;
    if (o->set & LB_OPT_HEADER)
        d->has_header = o->has_header;
    if (o->set & LB_OPT_RAGGED)
        d->ragged_null = o->ragged_null;
    return lb_text_encoding(r->store, o->set & LB_OPT_ENCODING ? o->encoding : NULL, d->encoding, &d->bom_bytes, err);
}

static lb_status format_dialect_of_entry(delim_dialect *d, const lb_dialect *from, lb_error *err)
{
    if (from->delimiter.size < 1 || from->delimiter.size > sizeof d->delimiter ||
        from->encoding.size >= sizeof d->encoding)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE,
                       "the map's dialect has a delimiter of %zu bytes and an encoding of %zu", from->delimiter.size,
                       from->encoding.size);
    *d = (delim_dialect){ .delimiter_size = (unsigned)from->delimiter.size,
                          .quote = from->quote,
                          .escape = from->escape,
                          .has_header = from->has_header,
                          .ragged_null = from->ragged_null,
                          .bom_bytes = from->bom_bytes };
    memcpy(d->delimiter, from->delimiter.at, from->delimiter.size);
    lb_copy_text(d->encoding, sizeof d->encoding, from->encoding.at, from->encoding.size);
    return LB_OK;
}

/* A byte may have one meaning only. */
static lb_status format_check_dialect(delim_dialect *d, lb_error *err)
{
    if (d->escape == d->quote)
        d->escape = -1;
    for (unsigned i = 0; i < d->delimiter_size; i++) {
        int c = d->delimiter[i];
        if (c == '\n' || c == '\r' || c == 0)
            return lb_fail(err, LB_USAGE, LB_NOWHERE, "a delimiter cannot hold a line end or NUL");
        if (c == d->quote || c == d->escape)
            return lb_fail(err, LB_USAGE, LB_NOWHERE,
                           "the delimiter holds the %s '%c'; a byte can have one meaning only",
                           c == d->quote ? "quote" : "escape", c);
    }
    if (d->quote == '\n' || d->quote == '\r' || d->escape == '\n' || d->escape == '\r')
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "a line end cannot be quote or escape");
    return LB_OK;
}

static lb_status format_values(lb_reader *r, const lb_read_options *o, lb_error *err)
{
    const delim_defaults *defaults = r->format->arg;
    size_t n = o == NULL ? 0 : o->n_nulls;
    const char **nulls = lb_arena_alloc(&r->arena, n + 1, sizeof *nulls);

    if (nulls == NULL)
        return lb_arena_fail(&r->arena, err);
    for (size_t i = 0; i < n; i++)
        nulls[i] = o->nulls[i];
    if (defaults->backslash_n)
        nulls[n++] = "\\N";
    r->values = (delim_values){
        .text = o != NULL && o->types == LB_TYPES_TEXT, .decimal = o != NULL && o->decimal, .nulls = nulls, .n_nulls = n
    };
    return LB_OK;
}

static lb_status format_setup(lb_reader *r, lb_error *err)
{
    if (r->known != NULL && r->known->has_dialect)
        LB_TRY(format_dialect_of_entry(&r->dialect, &r->known->dialect, err));
    else
        LB_TRY(format_dialect(r, r->options, err));
    LB_TRY(format_check_dialect(&r->dialect, err));
    LB_TRY(format_values(r, r->options, err));
    if (r->known != NULL && r->known->arrow_schema.size != 0)
        LB_TRY(lb_ipc_decode_schema(r->known->arrow_schema.at, r->known->arrow_schema.size, &r->schema, err));
    return LB_OK;
}

static void format_close(lb_reader *r)
{
    if (r == NULL)
        return;
    if (r->schema.release != NULL)
        r->schema.release(&r->schema);
    lb_arena_free(&r->arena);
    free(r);
}

static lb_status format_open(const lb_format *format, lb_context *cx, lb_store *store, const lb_read_options *options,
                             const lb_entry *known, lb_reader **out, lb_error *err)
{
    lb_reader *r = calloc(1, sizeof *r);

    *out = NULL;
    if (r == NULL)
        return lb_fail_nomem(err);
    *r = (lb_reader){ .format = format, .cx = cx, .store = store, .options = options, .known = known };
    lb_arena_init(&r->arena, &cx->budget);
    lb_status status = format_setup(r, err);
    if (status == LB_OK)
        *out = r;
    else
        format_close(r);
    return status;
}

const char *delim_declared(const lb_reader *r, lb_str name)
{
    const lb_read_options *o = r->options;

    for (size_t i = o == NULL ? 0 : o->n_columns; i-- > 0;)
        if (lb_str_is(name, o->columns[i].name))
            return o->columns[i].type;
    return NULL;
}

/* ---------------------------------------------------------------- names */

/* `base` with the first number from *next on that nothing else is called. *next becomes the number behind it, for those before
 * are taken for good. */
static lb_status names_made_up(const lb_names *taken, lb_str base, uint64_t *next, lb_arena *arena, lb_str *out,
                               lb_error *err)
{
    size_t cap = base.size + 24;
    char *text = lb_arena_alloc(arena, cap, 1);

    if (text == NULL)
        return lb_arena_fail(arena, err);
    memcpy(text, base.at, base.size);
    do {
        int n = snprintf(text + base.size, cap - base.size, "_%llu", (unsigned long long)(*next)++);
        *out = (lb_str){ text, base.size + (size_t)n };
    } while (lb_names_find(taken, *out) != NULL);
    return LB_OK;
}

lb_status delim_namer_init(delim_namer *n, const lb_str *header, size_t n_header, lb_error *err)
{
    *n = (delim_namer){ .header = header, .n_header = n_header };
    /* What the file itself calls a column, no made-up name may take. */
    for (size_t i = 0; i < n_header; i++)
        if (header[i].size != 0)
            LB_TRY(lb_names_add(&n->taken, header[i], 0, NULL, err));
    return LB_OK;
}

void delim_namer_free(delim_namer *n)
{
    lb_names_free(&n->taken);
    lb_names_free(&n->used);
}

lb_status delim_namer_next(delim_namer *n, lb_arena *arena, lb_str *name, lb_str *original, lb_error *err)
{
    size_t i = n->n_named++;
    bool given = i < n->n_header && n->header[i].size != 0;
    uint64_t *next = given ? lb_names_find(&n->used, n->header[i]) : &n->next_column;

    *original = (lb_str){ NULL, 0 };
    if (given && next == NULL) {
        *name = n->header[i];
    } else {
        if (!given)
            n->next_column = LB_MAX(n->next_column, i + 1);
        LB_TRY(names_made_up(&n->taken, given ? n->header[i] : LB_STR("column"), next, arena, name, err));
        if (i < n->n_header)
            *original = given ? n->header[i] : LB_STR("");
    }
    LB_TRY(lb_names_add(&n->used, *name, 2, NULL, err));
    return lb_names_add(&n->taken, *name, 0, NULL, err);
}

/* ---------------------------------------------------------------- looking for a better reading */

/* Number of fields that every sampled record has under a dialect; 0 where they differ. */
static lb_status suggest_width(lb_reader *r, const delim_dialect *d, const lb_text *text, size_t from, size_t *width,
                               lb_error *err)
{
    delim_scanner scan;
    delim_step step;
    lb_status status = LB_OK;
    size_t records = 0;

    *width = 0;
    delim_scanner_init(&scan, d, &r->cx->budget);
    delim_window(&scan, text->data, text->size, text->end, from);
    while (records < FORMAT_SAMPLE_RECORDS && (status = delim_next(&scan, &step, err)) == LB_OK &&
           step == DELIM_RECORD) {
        if (records++ == 0)
            *width = scan.n_fields;
        else if (*width != scan.n_fields)
            *width = 0;
        if (*width == 0)
            break;
    }
    delim_scanner_free(&scan);
    return status;
}

static lb_status suggest_delimiter(lb_reader *r, const lb_text *text, char *out, char *why, size_t cap, lb_error *err)
{
    static const char candidates[] = ",;|\t";
    size_t from = text->size >= 3 && memcmp(text->data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0, own, width, best = 1;
    delim_dialect d = r->dialect;
    char found = 0;

    LB_TRY(suggest_width(r, &d, text, from, &own, err));
    for (const char *c = candidates; *c != '\0'; c++) {
        d.delimiter[0] = (uint8_t)*c;
        d.delimiter_size = 1;
        if ((int)*c == d.quote || (int)*c == d.escape ||
            (r->dialect.delimiter_size == 1 && *c == (char)r->dialect.delimiter[0]))
            continue;
        LB_TRY(suggest_width(r, &d, text, from, &width, err));
        if (width > best) {
            best = width;
            found = *c;
        }
    }
    /* The delimiter in use stands unless it finds one column, or none that fits. */
    if (found == 0 || own > 1)
        return LB_OK;
    (void)snprintf(out, cap, "delimiter=%s", found == '\t' ? "\\t" : (char[2]){ found, '\0' });
    (void)snprintf(why, cap, "%s splits every record into %zu fields",
                   found == '\t' ? "a tab" : (char[4]){ '\'', found, '\'', '\0' }, best);
    return LB_OK;
}

lb_status delim_suggest(lb_reader *r, char *out, char *why, size_t cap, lb_error *err)
{
    lb_text text;
    lb_status status;

    out[0] = why[0] = '\0';
    if (r->dialect.encoding[0] == '\0') {
        uint8_t head[2];
        size_t got;
        LB_TRY(lb_store_read(r->store, 0, head, sizeof head, &got, err));
        if (got == 2 && (memcmp(head, "\xFF\xFE", 2) == 0 || memcmp(head, "\xFE\xFF", 2) == 0)) {
            (void)snprintf(out, cap, "encoding=UTF-16");
            (void)snprintf(why, cap, "the file begins with the byte-order mark of UTF-16");
            return LB_OK;
        }
    }
    if (r->delimiter_declared)
        return LB_OK;
    LB_TRY(lb_text_open(&text, r->cx, r->store, 0, r->dialect.encoding, FORMAT_SAMPLE_BYTES, err));
    status = lb_text_more(&text, 0, err);
    if (status == LB_OK && text.bad_at == UINT64_MAX)
        status = suggest_delimiter(r, &text, out, why, cap, err);
    lb_text_close(&text);
    return status;
}

/* ---------------------------------------------------------------- handlers */

static bool format_reads_as(const struct ArrowSchema *type)
{
    delim_target target;

    return delim_target_of(type, &target, NULL) == LB_OK;
}

static const char *const format_options[] = { "delimiter", "quote",  "escape", "header",   "no-header",
                                              "encoding",  "ragged", "types",  "all-text", "null",
                                              "decimal",   "column", NULL };

#define FORMAT_FUNCTIONS                                                                                            \
    .options = format_options, .text = true, .reads_as = format_reads_as, .reads_all = true, .sniff = format_sniff, \
    .open = format_open, .survey = delim_survey, .extend = delim_extend, .scan = delim_scan, .take = delim_scan,    \
    .extents = delim_extents, .raw = delim_raw, .adapt = lb_adapt_types, .suggest = delim_suggest,                  \
    .close = format_close

#define FORMAT_HANDLER(id, ext, character, null_words)                                                           \
    static const delim_defaults id##_defaults = { .delimiter = (character),                                      \
                                                  .has_header = true,                                            \
                                                  .backslash_n = (null_words) };                                 \
    static const char *const id##_extensions[] = { ext, NULL };                                                  \
    const lb_format lb_format_##id = {                                                                           \
        .name = ext, .extensions = id##_extensions, .locator = "record", .arg = &id##_defaults, FORMAT_FUNCTIONS \
    }

FORMAT_HANDLER(csv, "csv", ',', false);
FORMAT_HANDLER(tsv, "tsv", '\t', true);
FORMAT_HANDLER(psv, "psv", '|', false);
FORMAT_HANDLER(txt, "txt", ';', false);

typedef struct registered {
    lb_format format;
    delim_defaults defaults;
    const char *extensions[2];
    char extension[];
} registered;

lb_status lb_delimited_register(const char *extension, char delimiter, bool has_header, lb_format **out, lb_error *err)
{
    size_t size = strlen(extension) + 1;
    registered *r = calloc(1, sizeof *r + size);

    if (r == NULL)
        return lb_fail_nomem(err);
    memcpy(r->extension, extension, size);
    r->extensions[0] = r->extension;
    r->defaults = (delim_defaults){ .delimiter = delimiter, .has_header = has_header };
    r->format = (lb_format){
        .name = "dynamic", .extensions = r->extensions, .locator = "none", .arg = &r->defaults, FORMAT_FUNCTIONS
    };
    *out = &r->format;
    return LB_OK;
}
