/* The handlers of this folder: what they are called, and how a file is opened. */
#include <stdlib.h>

#include "base/utf8.h"
#include "column/ipc.h"
#include "format/json/json_handlers.h"
#include "format/json/json_rows.h"

/* ---------------------------------------------------------------- sniffing */

/* Does the head of the file, padded, begin a JSON text? *array: with `[`. */
static bool format_is_json(const uint8_t *p, size_t size, bool whole)
{
    lb_json_cursor c = lb_json_cursor_over(p, p + size);
    const lb_json_kind kind = lb_json_peek(&c);

    if (kind != LB_JSON_OBJECT && kind != LB_JSON_ARRAY_VALUE)
        return false;
    return lb_json_skip(&c, NULL) || (c.reason == LB_JSON_CUT && !whole);
}

/* Of a file whose name does not say what it is: JSON's brackets begin no other text that could be read. */
static int format_sniff(const lb_format *format, const lb_peek *peek)
{
    uint8_t padded[1024 + LB_JSON_PADDING] = { 0 };
    const size_t size = LB_MIN(peek->head_size, sizeof padded - LB_JSON_PADDING);
    size_t from = 0;

    if (format != &lb_format_json)
        return 0;
    memcpy(padded, peek->head, size);
    const bool whole = size == peek->file_size;
    const size_t valid = lb_utf8_valid_prefix(padded, size);
    if (valid + (whole ? 0 : lb_utf8_cut_tail(padded, size)) != size)
        return 0;
    if (valid >= 3 && memcmp(padded, "\xEF\xBB\xBF", 3) == 0)
        from = 3;
    return format_is_json(padded + from, valid - from, whole) ? 80 : 0;
}

/* ---------------------------------------------------------------- opening */

static lb_status format_encoding(lb_reader *r, lb_error *err)
{
    const lb_read_options *o = r->options;
    const lb_entry *known = r->known;

    if (known != NULL) {
        if (known->has_dialect)
            lb_copy_text(r->encoding, sizeof r->encoding, known->dialect.encoding.at, known->dialect.encoding.size);
        return LB_OK;
    }
    return lb_text_encoding(r->store, o != NULL && (o->set & LB_OPT_ENCODING) != 0 ? o->encoding : NULL, r->encoding,
                            &r->bom_bytes, err);
}

static lb_status format_maps(lb_reader *r, lb_error *err)
{
    const lb_read_options *o = r->options;
    size_t n = 0;

    if (o == NULL || o->n_columns == 0)
        return LB_OK;
    r->maps = lb_arena_alloc(&r->arena, o->n_columns + 1, sizeof *r->maps);
    if (r->maps == NULL)
        return lb_arena_fail(&r->arena, err);
    for (size_t i = 0; i < o->n_columns; i++)
        if (strcmp(o->columns[i].type, "map") == 0)
            r->maps[n++] = o->columns[i].name;
    return LB_OK;
}

static lb_status format_setup(lb_reader *r, lb_error *err)
{
    const lb_entry *known = r->known;

    LB_TRY(format_encoding(r, err));
    LB_TRY(format_maps(r, err));
    if (known != NULL && known->arrow_schema.size != 0)
        LB_TRY(lb_ipc_decode_schema(known->arrow_schema.at, known->arrow_schema.size, &r->schema, err));
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
    *r = (lb_reader){ .format = format,
                      .cx = cx,
                      .store = store,
                      .lines_only = format == &lb_format_ndjson,
                      .text = options != NULL && options->types == LB_TYPES_TEXT,
                      .options = options,
                      .known = known };
    lb_arena_init(&r->arena, &cx->budget);
    lb_status status = format_setup(r, err);
    if (status == LB_OK)
        *out = r;
    else
        format_close(r);
    return status;
}

/* The first bytes say UTF-16, with a mark or without: JSON begins with two characters of ASCII. */
static lb_status format_suggest(lb_reader *r, char *out, char *why, size_t cap, lb_error *err)
{
    uint8_t head[2];
    size_t got;

    out[0] = why[0] = '\0';
    if (r->encoding[0] != '\0')
        return LB_OK;
    LB_TRY(lb_store_read(r->store, 0, head, sizeof head, &got, err));
    if (got != 2 || (memcmp(head, "\xFF\xFE", 2) != 0 && memcmp(head, "\xFE\xFF", 2) != 0))
        return LB_OK;
    lb_copy_text(out, cap, "encoding=UTF-16", 15);
    static const char words[] = "the file begins with the byte-order mark of UTF-16";
    lb_copy_text(why, cap, words, sizeof words - 1);
    return LB_OK;
}

lb_status js_tail(const lb_entry *known, lb_error *err)
{
    lb_seen_state state;
    bool good;

    LB_TRY(lb_seen_state_get(known->open_state, NULL, false, &state, &good, err));
    if (!good || !state.torn)
        return LB_OK;
    const lb_where where = { (int64_t)state.torn_byte, (int64_t)state.torn_row, (int64_t)state.torn_line };
    lb_fail(err, LB_CORRUPT, where, "the file ends inside this value");
    lb_fail_hint(err, "the rows before it are read; it may still be written");
    return LB_CORRUPT;
}

/* ---------------------------------------------------------------- handlers */

static const char *const format_options[] = { "encoding", "types", "all-text", "column", NULL };

#define FORMAT_HANDLER(id, where)                                     \
    static const char *const id##_extensions[] = { #id, NULL };       \
    const lb_format lb_format_##id = { .name = #id,                   \
                                       .extensions = id##_extensions, \
                                       .locator = (where),            \
                                       .options = format_options,     \
                                       .text = true,                  \
                                       .reads_all = true,             \
                                       .sniff = format_sniff,         \
                                       .open = format_open,           \
                                       .survey = js_survey,           \
                                       .extend = js_extend,           \
                                       .scan = js_scan,               \
                                       .take = js_scan,               \
                                       .extents = js_extents,         \
                                       .raw = js_raw,                 \
                                       .adapt = lb_adapt_types,       \
                                       .suggest = format_suggest,     \
                                       .tail = js_tail,               \
                                       .close = format_close }

FORMAT_HANDLER(json, "line");
FORMAT_HANDLER(jsonl, "line");
FORMAT_HANDLER(ndjson, "line");
