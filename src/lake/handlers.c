/* The one list of all formats, and those registered at run time. */
#include "lake/handlers.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/path.h"
#include "codec/unpack.h"
#include "format/arrow/arrow_handlers.h"
#include "format/avro/avro_handlers.h"
#include "format/delimited/delimited_handlers.h"
#include "format/foreign/foreign_handlers.h"
#include "format/json/json_handlers.h"
#include "format/msgpack/msgpack_handlers.h"
#include "format/orc/orc_handlers.h"
#include "format/parquet/parquet_handlers.h"
#include "format/xlsx/xlsx_handlers.h"
#include "lance/lance_format.h"

static const lb_format *const handlers[] = {
    &lb_format_csv,   &lb_format_tsv,    &lb_format_psv,     &lb_format_txt,   &lb_format_json,
    &lb_format_jsonl, &lb_format_ndjson, &lb_format_parquet, &lb_format_arrow, &lb_format_arrow_stream,
    &lb_format_avro,  &lb_format_orc,    &lb_format_msgpack, &lb_format_xlsx,  &lb_format_lance,
};

#define HANDLERS_HEAD 512
#define HANDLERS_TAIL 16

/* Handlers stay until the context goes, also when they were replaced: a reader may still use one. */
typedef struct registered_handler {
    struct registered_handler *next;
    lb_format *format;
    void (*free)(lb_format *format);
    bool active;
} registered_handler;

struct lb_registry {
    registered_handler *first;
};

static void registry_free(struct lb_registry *registry)
{
    while (registry->first != NULL) {
        registered_handler *h = registry->first;
        registry->first = h->next;
        h->free(h->format);
        free(h);
    }
    free(registry);
}

static bool handlers_has_extension(const lb_format *format, lb_str extension)
{
    for (size_t i = 0; format->extensions[i] != NULL; i++)
        if (lb_str_is_nocase(extension, format->extensions[i]))
            return true;
    return false;
}

/* The active handler of an extension; the registry is locked. */
static registered_handler *registry_find(lb_context *cx, lb_str extension)
{
    registered_handler *h = cx->registry == NULL ? NULL : cx->registry->first;

    while (h != NULL && !(h->active && handlers_has_extension(h->format, extension)))
        h = h->next;
    return h;
}

const lb_format *lb_handler_of_extension(lb_context *cx, lb_str extension)
{
    if (extension.size == 0)
        return NULL;
    pthread_mutex_lock(&cx->registry_lock);
    const registered_handler *h = registry_find(cx, extension);
    const lb_format *format = h == NULL ? NULL : h->format;
    pthread_mutex_unlock(&cx->registry_lock);
    for (size_t i = 0; format == NULL && i < LB_COUNT_OF(handlers); i++)
        if (handlers_has_extension(handlers[i], extension))
            format = handlers[i];
    return format;
}

const lb_format *lb_handler_of_path(lb_context *cx, lb_str path)
{
    lb_str inner = lb_container_strip(path);
    const lb_format *format = lb_handler_of_extension(cx, lb_path_extension(inner));

    return format != NULL && inner.size != path.size && !format->text ? NULL : format;
}

const lb_format *lb_handler_of_name(lb_str name)
{
    for (size_t i = 0; i < LB_COUNT_OF(handlers); i++)
        if (lb_str_is(name, handlers[i]->name))
            return handlers[i];
    return NULL;
}

bool lb_handler_is_dynamic(const lb_format *format)
{
    return strcmp(format->name, "dynamic") == 0;
}

/* ---------------------------------------------------------------- content */

/* Beginnings that no text has. `format`: the handler that reads it, or NULL. */
typedef struct handlers_magic {
    const char *name, *head, *tail;
    size_t head_size, tail_size;
    const lb_format *format;
} handlers_magic;

static const handlers_magic magics[] = {
    { "Parquet", "PAR1", "PAR1", 4, 4, &lb_format_parquet },
    { "encrypted Parquet", "PARE", "PARE", 4, 4, NULL },
    { "Arrow IPC", "ARROW1\0\0", "ARROW1", 8, 6, &lb_format_arrow },
    { "Feather V1", "FEA1", "FEA1", 4, 4, NULL },
    { "a ZIP archive", "PK\x03\x04", "", 4, 0, NULL },
    { "Avro", "Obj\x01", "", 4, 0, &lb_format_avro },
    { "ORC", "ORC", "", 3, 0, &lb_format_orc },
    { "gzip", "\x1F\x8B\x08", "", 3, 0, NULL },
    { "zstd", "\x28\xB5\x2F\xFD", "", 4, 0, NULL },
    { "bzip2", "BZh", "", 3, 0, NULL },
    { "xz",
      "\xFD"
      "7zXZ\0",
      "", 6, 0, NULL },
    { "lz4", "\x04\x22\x4D\x18", "", 4, 0, NULL },
    { "an old workbook (.xls)", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "", 8, 0, NULL },
};

/* What the content is for certain, or NULL. bzip2's magic is text, so a digit and its block mark follow; so is
 * ORC's, which stands once more before the last byte. */
static const handlers_magic *handlers_find_magic(const lb_peek *peek)
{
    for (size_t i = 0; i < LB_COUNT_OF(magics); i++) {
        size_t head = magics[i].head_size, tail = magics[i].tail_size;
        if (peek->head_size < head + tail || memcmp(peek->head, magics[i].head, head) != 0)
            continue;
        /* Of what is compressed the end is not looked at: then nothing is certain that has to end so. */
        if (tail != 0 &&
            (peek->tail_size < tail || memcmp(peek->tail + peek->tail_size - tail, magics[i].tail, tail) != 0))
            continue;
        if (magics[i].head[0] == 'B' && (peek->head_size < 10 || memcmp(peek->head + 4, "1AY&SY", 6) != 0))
            continue;
        if (magics[i].head_size == 3 && magics[i].head[0] == 'O' &&
            (peek->tail_size < 4 || memcmp(peek->tail + peek->tail_size - 4, "ORC", 3) != 0))
            continue;
        return &magics[i];
    }
    return NULL;
}

/* Extensions of formats that this version does not read: files so named are not taken for text. */
static const struct {
    const char *extension, *format;
} handlers_unread[] = {
    { "xls", "Excel 97-2003" },
    { "xlsb", "binary Excel" },
};

static lb_status handlers_check_unread(lb_str extension, const handlers_magic *magic, lb_error *err)
{
    for (size_t i = 0; i < LB_COUNT_OF(handlers_unread); i++) {
        if (!lb_str_is_nocase(extension, handlers_unread[i].extension))
            continue;
        lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "the name says %s, which this version does not read",
                handlers_unread[i].format);
        if (magic == NULL)
            lb_fail_hint(err, "if it is delimited text, say so: --format csv");
        return LB_UNSUPPORTED;
    }
    return LB_OK;
}

static lb_status handlers_sniff(const lb_peek *peek, const handlers_magic *magic, const lb_format **out, lb_error *err)
{
    int best = 0;

    for (size_t i = 0; i < LB_COUNT_OF(handlers); i++) {
        int sure = magic != NULL && handlers[i]->text ? 0 : handlers[i]->sniff(handlers[i], peek);
        if (sure > best) {
            best = sure;
            *out = handlers[i];
        }
    }
    if (best > 0)
        return LB_OK;
    if (magic != NULL)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "this is %s, which Lakebed does not read", magic->name);
    lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
            peek->file_size == 0 ? "the file is empty and its name does not say its format"
                                 : "neither its name nor its content says which format this is");
    lb_fail_hint(err, "name it with --format; `lakebed formats` lists them");
    return LB_UNSUPPORTED;
}

static lb_status handlers_forced(lb_context *cx, const char *name, const lb_format **out, lb_error *err)
{
    const char *names[LB_COUNT_OF(handlers)];

    *out = lb_handler_of_name(lb_str_of(name));
    if (*out == NULL)
        *out = lb_handler_of_extension(cx, lb_str_of(name));
    if (*out != NULL)
        return LB_OK;
    for (size_t i = 0; i < LB_COUNT_OF(handlers); i++)
        names[i] = handlers[i]->name;
    const char *close = lb_closest_name(name, names, LB_COUNT_OF(names));
    lb_fail(err, LB_USAGE, LB_NOWHERE, "no format is called '%s'%s%s%s", name, close != NULL ? "; did you mean " : "",
            close != NULL ? close : "", close != NULL ? "?" : "");
    lb_fail_hint(err, "`lakebed formats` lists them");
    return LB_USAGE;
}

/* Formats of bytes have their own compression inside; as a whole only text is read compressed. */
static lb_status handlers_check_packed(const lb_store *store, const lb_format *format, lb_error *err)
{
    if (store->container == NULL || format->text)
        return LB_OK;
    lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
            "a file of format %s that is compressed as a whole (%s), which is not read", format->name,
            store->container);
    lb_fail_hint(err, "decompress it first");
    return LB_UNSUPPORTED;
}

/* Is the content for certain of another format than the name says? Files and streams of Arrow read each other's content, numbers
 * of MessagePack can stand for any beginning, and what formats of others hold is theirs to say. */
static bool handlers_is_other(const lb_format *format, const handlers_magic *magic)
{
    if (magic == NULL || format == magic->format || lb_handler_of_name(lb_str_of(format->name)) != format)
        return false;
    if (format == &lb_format_arrow_stream && magic->format == &lb_format_arrow)
        return false;
    return format->text || (magic->format != NULL && format != &lb_format_msgpack);
}

static lb_status handlers_check_magic(const lb_format *format, const handlers_magic *magic, lb_error *err)
{
    if (!handlers_is_other(format, magic))
        return LB_OK;
    lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "the name says %s, but the content is %s", format->name, magic->name);
    if (magic->format != NULL)
        lb_fail_hint(err, "--format %s reads it", magic->format->name);
    return LB_UNSUPPORTED;
}

lb_status lb_handler_of_file(lb_context *cx, lb_store *store, const char *forced, const lb_format **out, lb_error *err)
{
    uint8_t head[HANDLERS_HEAD], tail[HANDLERS_TAIL];
    lb_peek peek = { .head = head, .tail = tail, .file_size = store->size };
    uint64_t tail_at = store->size > sizeof tail ? store->size - sizeof tail : 0;
    lb_str name = lb_str_of(store->path);

    *out = NULL;
    if (forced != NULL) {
        LB_TRY(handlers_forced(cx, forced, out, err));
        return handlers_check_packed(store, *out, err);
    }
    if (store->open_inside != NULL)
        return *out = &lb_format_lance, LB_OK;
    LB_TRY(lb_store_read(store, 0, head, sizeof head, &peek.head_size, err));
    if (store->container == NULL)
        LB_TRY(lb_store_read(store, tail_at, tail, sizeof tail, &peek.tail_size, err));
    const handlers_magic *magic = handlers_find_magic(&peek);
    lb_str extension = lb_path_extension(store->container == NULL ? name : lb_container_strip(name));
    *out = lb_handler_of_extension(cx, extension);
    if (*out == NULL) {
        LB_TRY(handlers_check_unread(extension, magic, err));
        LB_TRY(handlers_sniff(&peek, magic, out, err));
        return handlers_check_packed(store, *out, err);
    }
    LB_TRY(handlers_check_packed(store, *out, err));
    return handlers_check_magic(*out, magic, err);
}

static bool handlers_takes(const lb_format *format, const char *option)
{
    for (size_t i = 0; format->options[i] != NULL; i++)
        if (strcmp(format->options[i], option) == 0)
            return true;
    return false;
}

lb_status lb_handler_check_options(const lb_format *format, const lb_read_options *o, lb_error *err)
{
    static const struct {
        unsigned structural, value;
        const char *name, *other; /* other: another word for some of its values */
    } known[] = {
        { LB_OPT_DELIMITER, 0, "delimiter", NULL },   { LB_OPT_QUOTE, 0, "quote", NULL },
        { LB_OPT_ESCAPE, 0, "escape", NULL },         { LB_OPT_HEADER, 0, "header", "no-header" },
        { LB_OPT_ENCODING, 0, "encoding", NULL },     { LB_OPT_RAGGED, 0, "ragged", NULL },
        { LB_OPT_SHEET, 0, "sheet", NULL },           { 0, LB_VAL_TYPES, "types", "all-text" },
        { 0, LB_VAL_DECIMAL, "decimal", NULL },       { 0, LB_VAL_NULL, "null", NULL },
        { 0, LB_VAL_COLUMN, "column", NULL },         { 0, LB_VAL_NAMES, "names", NULL },
        { LB_OPT_HEADER_ROW, 0, "header-row", NULL },
    };

    for (size_t i = 0; o != NULL && i < LB_COUNT_OF(known); i++) {
        bool given = (o->set & known[i].structural) != 0 || (o->value_set & known[i].value) != 0;
        if (!given || handlers_takes(format, known[i].name))
            continue;
        bool both = known[i].other != NULL;
        lb_fail(err, LB_USAGE, LB_NOWHERE, "files read as %s take no --%s%s%s", format->name, known[i].name,
                both ? ", --" : "", both ? known[i].other : "");
        lb_fail_hint(err, "`lakebed formats` lists the options of each format");
        return LB_USAGE;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- the public registry */

#define REGISTRY_EXTENSION 33

/* The extension as it is kept: without a dot, in lower case. */
static lb_status registry_extension(const char *ext, char *out, lb_error *err)
{
    ext += ext[0] == '.';
    if (ext[0] == '\0' || strlen(ext) >= REGISTRY_EXTENSION || strpbrk(ext, "/.") != NULL)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "'%.40s' is no extension: give the letters after the last dot", ext);
    for (size_t i = 0; i <= strlen(ext); i++)
        out[i] = ext[i] >= 'A' && ext[i] <= 'Z' ? (char)(ext[i] - 'A' + 'a') : ext[i];
    return LB_OK;
}

/* Put a handler before those of its extension; takes `format`, also on error. */
static lb_status registry_add(lb_context *cx, const char *ext, lb_format *format, void (*free_format)(lb_format *),
                              lb_error *err)
{
    registered_handler *h = calloc(1, sizeof *h);

    pthread_mutex_lock(&cx->registry_lock);
    if (cx->registry == NULL)
        cx->registry = calloc(1, sizeof *cx->registry);
    cx->registry_free = registry_free; /* also where the handler got no memory */
    bool added = h != NULL && cx->registry != NULL;
    if (added) {
        registered_handler *old = registry_find(cx, lb_str_of(ext));
        if (old != NULL)
            old->active = false;
        *h = (registered_handler){ cx->registry->first, format, free_format, true };
        cx->registry->first = h;
    }
    pthread_mutex_unlock(&cx->registry_lock);
    if (added)
        return LB_OK;
    free_format(format);
    free(h);
    return lb_fail_nomem(err);
}

static void registry_free_delimited(lb_format *format)
{
    free(format);
}

lb_status lb_register_delimited(lb_context *cx, const char *ext, const char *delimiter, bool has_header, lb_error *err)
{
    char lower[REGISTRY_EXTENSION];
    lb_format *format = NULL;

    lb_error_clear(err);
    LB_TRY(registry_extension(ext, lower, err));
    if (strlen(delimiter) != 1 || strchr("\"\r\n", delimiter[0]) != NULL)
        return lb_fail(err, LB_USAGE, LB_NOWHERE,
                       "a registered delimiter is one byte and neither a quote nor a line end, not \"%.10s\"",
                       delimiter);
    LB_TRY(lb_delimited_register(lower, delimiter[0], has_header, &format, err));
    return registry_add(cx, lower, format, registry_free_delimited, err);
}

static lb_status register_stream(lb_context *cx, const char *ext, lb_open_stream_fn open, void *user,
                                 void (*release)(void *user), lb_format **format, lb_error *err)
{
    char lower[REGISTRY_EXTENSION];

    LB_TRY(registry_extension(ext, lower, err));
    LB_TRY(lb_foreign_register(lower, open, user, release, format, err));
    return registry_add(cx, lower, *format, lb_foreign_free, err);
}

lb_status lb_register_stream(lb_context *cx, const char *ext, lb_open_stream_fn open, void *user,
                             void (*release)(void *user), lb_error *err)
{
    lb_format *format = NULL;

    lb_error_clear(err);
    lb_status status = register_stream(cx, ext, open, user, release, &format, err);
    if (status != LB_OK && format == NULL && release != NULL)
        release(user);
    return status;
}

bool lb_unregister_format(lb_context *cx, const char *ext)
{
    pthread_mutex_lock(&cx->registry_lock);
    registered_handler *h = registry_find(cx, lb_str_of(ext + (ext[0] == '.')));
    if (h != NULL)
        h->active = false;
    pthread_mutex_unlock(&cx->registry_lock);
    return h != NULL;
}

/* ---------------------------------------------------------------- listing */

/* Words of a list, with blanks between; cut where they do not fit. */
static void handlers_join(const char *const *words, char *out, size_t cap)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; words[i] != NULL && at < cap; i++)
        at += (size_t)snprintf(out + at, cap - at, "%s%s", i == 0 ? "" : " ", words[i]);
}

static void handlers_info(const lb_format *format, lb_format_info *out)
{
    /* Made anew by each call: what is lent lives until the thread asks for another handler. */
    static _Thread_local char extensions[128], options[512];

    handlers_join(format->extensions, extensions, sizeof extensions);
    handlers_join(format->options, options, sizeof options);
    *out = (lb_format_info){ .struct_size = sizeof *out,
                             .name = format->name,
                             .extensions = extensions,
                             .locator = format->locator,
                             .options = options,
                             .dynamic = lb_handler_is_dynamic(format) };
}

size_t lb_format_count(lb_context *cx)
{
    size_t n = LB_COUNT_OF(handlers);

    pthread_mutex_lock(&cx->registry_lock);
    for (const registered_handler *h = cx->registry == NULL ? NULL : cx->registry->first; h != NULL; h = h->next)
        n += h->active;
    pthread_mutex_unlock(&cx->registry_lock);
    return n;
}

lb_status lb_format_at(lb_context *cx, size_t index, lb_format_info *out, lb_error *err)
{
    const lb_format *format = index < LB_COUNT_OF(handlers) ? handlers[index] : NULL;

    lb_error_clear(err);
    index -= LB_COUNT_OF(handlers);
    pthread_mutex_lock(&cx->registry_lock);
    for (const registered_handler *h = cx->registry == NULL ? NULL : cx->registry->first; format == NULL && h != NULL;
         h = h->next)
        if (h->active && index-- == 0)
            format = h->format;
    pthread_mutex_unlock(&cx->registry_lock);
    if (format == NULL)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "there is no format of that number");
    handlers_info(format, out);
    return LB_OK;
}
