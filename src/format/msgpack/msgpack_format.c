/* The handler: sniff, open, close. */
#include <stdlib.h>

#include "base/utf8.h"
#include "column/ipc.h"
#include "format/msgpack/msgpack.h"
#include "format/msgpack/msgpack_handlers.h"

/* Of a file whose name does not say what it is: a map or an array, whole or cut by the end of what is seen. Text in UTF-8 may
 * begin as the larger ones do, so it must be none. */
static int format_sniff(const lb_format *format, const lb_peek *peek)
{
    const uint8_t *end = peek->head + peek->head_size, *start;
    lb_msgpack_skip s = { peek->head, 0 };
    uint64_t done;

    (void)format;
    if (peek->head_size == 0 || !((*peek->head >= 0x80 && *peek->head <= 0x9F) || *peek->head >= 0xDC) ||
        *peek->head > 0xDF)
        return 0;
    if (lb_utf8_valid_prefix(peek->head, peek->head_size) + 3 >= peek->head_size && *peek->head >= 0xDC)
        return 0;
    switch (lb_msgpack_pass(&s, end, 1, &done, &start)) {
    case LB_MSGPACK_DONE:
        return 60;
    case LB_MSGPACK_MORE:
        return peek->head_size < peek->file_size && s.pending <= peek->file_size ? 40 : 0;
    case LB_MSGPACK_BAD:
        break;
    }
    return 0;
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
    lb_status status = LB_OK;

    (void)format;
    *out = NULL;
    if (r == NULL)
        return lb_fail_nomem(err);
    *r = (lb_reader){ .cx = cx,
                      .store = store,
                      .text = options != NULL && options->types == LB_TYPES_TEXT,
                      .options = options,
                      .known = known };
    lb_arena_init(&r->arena, &cx->budget);
    if (known != NULL && known->arrow_schema.size != 0)
        status = lb_ipc_decode_schema(known->arrow_schema.at, known->arrow_schema.size, &r->schema, err);
    if (status == LB_OK)
        status = mp_places_open(r, err);
    if (status == LB_OK)
        *out = r;
    else
        format_close(r);
    return status;
}

static lb_status format_tail(const lb_entry *known, lb_error *err)
{
    lb_seen_state state;
    bool good;

    LB_TRY(lb_seen_state_get(known->open_state, NULL, false, &state, &good, err));
    if (!good || !state.torn)
        return LB_OK;
    const lb_where where = { (int64_t)state.torn_byte, (int64_t)state.torn_row, -1 };
    lb_fail(err, LB_CORRUPT, where, "the file ends inside this value");
    lb_fail_hint(err, "the rows before it are read; it may still be written");
    return LB_CORRUPT;
}

static const char *const format_extensions[] = { "msgpack", NULL };
static const char *const format_options[] = { "header-row", "types", "all-text", "names", "column", NULL };

const lb_format lb_format_msgpack = {
    .name = "msgpack",
    .extensions = format_extensions,
    .locator = "object",
    .options = format_options,
    .text = true,
    .binary = true,
    .reads_all = true,
    .sniff = format_sniff,
    .open = format_open,
    .survey = mp_survey,
    .extend = mp_extend,
    .scan = mp_scan,
    .take = mp_scan,
    .extents = mp_extents,
    .raw = mp_raw,
    .adapt = lb_adapt_types,
    .tail = format_tail,
    .close = format_close,
};
