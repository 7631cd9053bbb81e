/* The handlers: files and streams. The content says which of the two it is, whatever the name: streams are often
 * called .arrow. */
#include <stdlib.h>

#include "format/arrow/arrow.h"
#include "format/arrow/arrow_handlers.h"

#define FORMAT_HEAD 8

/* ---------------------------------------------------------------- what it is */

static bool format_is_file(const uint8_t *head, size_t size)
{
    return size >= LB_IPC_MAGIC_SIZE && memcmp(head, LB_IPC_MAGIC, LB_IPC_MAGIC_SIZE) == 0;
}

/* Do the first bytes look like a schema's message? What of it lies behind them is not known. */
static bool format_is_stream(const uint8_t *head, size_t size)
{
    uint32_t mark, length;
    lb_flat f = { .at = head, .size = size };

    if (size < 16)
        return false;
    memcpy(&mark, head, 4);
    memcpy(&length, head + (mark == UINT32_MAX ? 4 : 0), 4);
    f.at += mark == UINT32_MAX ? 8 : 4;
    f.size -= mark == UINT32_MAX ? 8 : 4;
    uint64_t message = lb_flat_follow(&f, 0);
    uint64_t version = f.bad ? 0 : lb_flat_scalar(&f, message, 0, 2);
    uint64_t kind = f.bad ? 0 : lb_flat_scalar(&f, message, 1, 1);
    return !f.bad && length >= 16 && length <= INT32_MAX && version <= LB_IPC_V5 && kind == LB_IPC_SCHEMA &&
           lb_flat_field(&f, message, 2) != 0;
}

static int format_sniff_file(const lb_format *format, const lb_peek *peek)
{
    (void)format;
    return format_is_file(peek->head, peek->head_size) && peek->head_size >= 8 && peek->head[6] == 0 &&
                   peek->tail_size >= LB_IPC_MAGIC_SIZE &&
                   memcmp(peek->tail + peek->tail_size - LB_IPC_MAGIC_SIZE, LB_IPC_MAGIC, LB_IPC_MAGIC_SIZE) == 0
               ? 100
               : 0;
}

static int format_sniff_stream(const lb_format *format, const lb_peek *peek)
{
    (void)format;
    return format_is_stream(peek->head, peek->head_size) ? 90 : 0;
}

/* ---------------------------------------------------------------- opening */

static void format_close(lb_reader *r)
{
    if (r == NULL)
        return;
    lb_arrow_cache_free(r);
    pthread_mutex_destroy(&r->cache.lock);
    lb_arrow_mem_unref(r->file);
    lb_arrow_schema_release(&r->schema);
    lb_arena_free(&r->arena);
    free(r);
}

/* A file without its footer is a stream behind its first bytes. */
static lb_status format_look_end(lb_reader *r, lb_error *err)
{
    uint8_t tail[LB_IPC_MAGIC_SIZE];
    size_t got;

    if (r->store->size > FORMAT_HEAD + sizeof tail)
        LB_TRY(lb_store_read(r->store, r->store->size - sizeof tail, tail, sizeof tail, &got, err));
    else
        got = 0;
    r->is_file = got == sizeof tail && format_is_file(tail, got);
    r->base = r->is_file ? 0 : FORMAT_HEAD;
    return LB_OK;
}

/* A file with a footer, or a stream; --format arrow_stream takes also what is left of a file. */
static lb_status format_look(lb_reader *r, bool as_stream, lb_error *err)
{
    uint8_t head[FORMAT_HEAD];
    size_t got;

    LB_TRY(lb_store_read(r->store, 0, head, sizeof head, &got, err));
    if (got == 0)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the file is empty, and Arrow begins with a schema");
    if (got >= 4 && memcmp(head, "FEA1", 4) == 0) {
        lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "this is Feather V1, which is not read; Feather V2 is");
        lb_fail_hint(err, "pyarrow.feather.read_table reads it, and write_feather writes V2");
        return LB_UNSUPPORTED;
    }
    r->is_file = format_is_file(head, got);
    return r->is_file && as_stream ? format_look_end(r, err) : LB_OK;
}

static lb_status format_begin(lb_reader *r, bool as_stream, lb_error *err)
{
    bool good = false;

    if (r->known != NULL)
        LB_TRY(lb_arrow_state_get(r, r->known->open_state, &good, err));
    if (good)
        return LB_OK;
    LB_TRY(format_look(r, as_stream, err));
    LB_TRY(lb_arrow_open_schema(r, err));
    if (r->known == NULL || r->schema.n_dictionaries == 0)
        return LB_OK;
    lb_arrow_index index;
    lb_status status = lb_arrow_index_read(r, &index, err);
    lb_block_builder_free(&index.blocks);
    return status;
}

static lb_status format_open(const lb_format *format, lb_context *cx, lb_store *store, const lb_read_options *options,
                             const lb_entry *known, lb_reader **out, lb_error *err)
{
    (void)options;
    *out = NULL;
    lb_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return lb_fail_nomem(err);
    *r = (lb_reader){ .cx = cx, .store = store, .known = known };
    lb_arena_init(&r->arena, &cx->budget);
    pthread_mutex_init(&r->cache.lock, NULL);
    lb_status status = LB_OK;
    if (store->mapping != NULL && store->mapping->size >= store->size)
        status = lb_arrow_mem_map(store->mapping, &r->file, err);
    if (status == LB_OK)
        status = format_begin(r, format == &lb_format_arrow_stream, err);
    if (status != LB_OK) {
        format_close(r);
        return status;
    }
    *out = r;
    return LB_OK;
}

static lb_status format_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err)
{
    return lb_arrow_scan_blocks(r, &r->known->blocks, range, out, err);
}

static lb_status format_verify(lb_reader *r, lb_error *err)
{
    lb_reader *fresh;

    /* Of the file alone, whatever the map says of it. */
    LB_TRY(format_open(r->base != 0 ? &lb_format_arrow_stream : &lb_format_arrow, r->cx, r->store, NULL, NULL, &fresh,
                       err));
    lb_status status = lb_arrow_verify(fresh, err);
    format_close(fresh);
    return status;
}

/* ---------------------------------------------------------------- handlers */

static const char *const format_options[] = { NULL };

#define FORMAT_HANDLER(id, which, ...)                                  \
    static const char *const id##_extensions[] = { __VA_ARGS__, NULL }; \
    const lb_format lb_format_##id = { .name = #id,                     \
                                       .extensions = id##_extensions,   \
                                       .locator = "record_batch",       \
                                       .options = format_options,       \
                                       .sniff = (which),                \
                                       .open = format_open,             \
                                       .survey = lb_arrow_survey,       \
                                       .extend = lb_arrow_extend,       \
                                       .scan = format_scan,             \
                                       .take = format_scan,             \
                                       .verify = format_verify,         \
                                       .tail = lb_arrow_tail,           \
                                       .close = format_close }

FORMAT_HANDLER(arrow, format_sniff_file, "arrow", "ipc", "feather");
FORMAT_HANDLER(arrow_stream, format_sniff_stream, "arrows");
