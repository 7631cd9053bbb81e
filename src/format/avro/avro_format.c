/* The handler: sniff, open, close. */
#include <stdlib.h>

#include "format/avro/avro.h"
#include "format/avro/avro_handlers.h"

static int format_sniff(const lb_format *format, const lb_peek *peek)
{
    (void)format;
    return peek->head_size >= 4 && memcmp(peek->head, AVRO_MAGIC, 4) == 0 ? 100 : 0;
}

/* From a map, or from the file where the map has none. */
static lb_status format_header(lb_reader *r, lb_error *err)
{
    bool good = false;

    if (r->known != NULL)
        avro_state_get(r->known->open_state, &r->header, &good);
    return good ? LB_OK : avro_header_read(r->store, &r->arena, &r->header, err);
}

static lb_status format_setup(lb_reader *r, lb_error *err)
{
    LB_TRY(format_header(r, err));
    LB_TRY(avro_schema_read(r->header.schema, &r->arena, &r->rows, err));
    return avro_schema_arrow(r->rows, &r->schema, err);
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

    (void)format;
    (void)options;
    *out = NULL;
    if (r == NULL)
        return lb_fail_nomem(err);
    *r = (lb_reader){ .cx = cx, .store = store, .known = known };
    lb_arena_init(&r->arena, &cx->budget);
    lb_status status = format_setup(r, err);
    if (status == LB_OK)
        *out = r;
    else
        format_close(r);
    return status;
}

static const char *const format_extensions[] = { "avro", NULL };
static const char *const format_options[] = { NULL };

const lb_format lb_format_avro = {
    .name = "avro",
    .extensions = format_extensions,
    .locator = "avro_block",
    .options = format_options,
    .sniff = format_sniff,
    .open = format_open,
    .survey = avro_survey,
    .extend = avro_extend,
    .scan = avro_scan,
    .take = avro_scan,
    .verify = avro_verify,
    .close = format_close,
};
