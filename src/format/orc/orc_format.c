/* The handler: how a file is known, opened and closed. */
#include <stdlib.h>

#include "format/orc/orc.h"
#include "format/orc/orc_handlers.h"

/* Column `open_state` of a map: which end of the file was mapped. */
typedef struct format_state {
    char mark[8];
    uint64_t tail_at, tail_hash;
} format_state;

static const char format_mark[8] = { 'O', 'R', 'C', 's', 't', '0', '0', '1' };

/* The postscript ends in the name, and one byte follows. Without the name, as the first writers left it, only the beginning says
 * ORC, as other files may as well. */
static int format_sniff(const lb_format *format, const lb_peek *peek)
{
    (void)format;
    if (peek->tail_size >= 4 && memcmp(peek->tail + peek->tail_size - 4, "ORC", 3) == 0)
        return 100;
    return 0;
}

static lb_status format_check_known(const lb_reader *r, lb_error *err)
{
    format_state state;

    if (r->known == NULL || r->known->open_state.size != sizeof state)
        return LB_OK;
    memcpy(&state, r->known->open_state.at, sizeof state);
    if (memcmp(state.mark, format_mark, sizeof format_mark) == 0 && state.tail_at == r->file.tail_at &&
        state.tail_hash == r->file.tail_hash)
        return LB_OK;
    return lb_fail(err, LB_STALE, LB_AT(r->file.tail_at), "the file has another footer than the one that was mapped");
}

static void format_close(lb_reader *r)
{
    if (r == NULL)
        return;
    orc_file_close(&r->file);
    free(r);
}

static lb_status format_open(const lb_format *format, lb_context *cx, lb_store *store, const lb_read_options *options,
                             const lb_entry *known, lb_reader **out, lb_error *err)
{
    lb_reader *r = calloc(1, sizeof *r);

    (void)format;
    (void)options;
    *out = NULL;
    if (r == NULL)
        return lb_fail_nomem(err);
    *r = (lb_reader){ .cx = cx, .known = known };
    lb_status status = orc_file_open(cx, store, &r->file, err);
    if (status == LB_OK)
        status = format_check_known(r, err);
    if (status == LB_OK)
        *out = r;
    else
        format_close(r);
    return status;
}

static lb_status format_survey(lb_reader *r, const lb_survey_options *o, lb_arena *arena, lb_entry *out, lb_error *err)
{
    LB_TRY(orc_survey(r, o, arena, out, err));
    if (!o->keep_state)
        return LB_OK;
    format_state state = { .tail_at = r->file.tail_at, .tail_hash = r->file.tail_hash };
    memcpy(state.mark, format_mark, sizeof format_mark);
    out->open_state = (lb_str){ lb_arena_dup(arena, &state, sizeof state), sizeof state };
    return out->open_state.at == NULL ? lb_arena_fail(arena, err) : LB_OK;
}

static const char *const format_extensions[] = { "orc", NULL };
static const char *const format_options[] = { NULL };

const lb_format lb_format_orc = {
    .name = "orc",
    .extensions = format_extensions,
    .locator = "stripe",
    .options = format_options,
    .sniff = format_sniff,
    .open = format_open,
    .survey = format_survey,
    .scan = orc_scan,
    .take = orc_scan,
    .verify = orc_verify,
    .close = format_close,
};
