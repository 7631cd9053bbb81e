/* Streams of batches. */
#include "column/stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct stream_state {
    lb_source source;
    struct ArrowSchema schema;
    lb_error err;
    char text[sizeof(((lb_error *)0)->message) + sizeof(((lb_error *)0)->path) + 96];
    bool ended;
} stream_state;

static const int stream_errnos[LB_STATUS_COUNT] = {
    [LB_OK] = 0,           [LB_IO] = EIO,         [LB_CORRUPT] = EINVAL,      [LB_UNSUPPORTED] = ENOTSUP,
    [LB_BUDGET] = ENOBUFS, [LB_NOMEM] = ENOMEM,   [LB_USAGE] = EDOM,          [LB_NOTFOUND] = ENOENT,
    [LB_STALE] = ESTALE,   [LB_CONFLICT] = EBUSY, [LB_CANCELLED] = ECANCELED, [LB_INTERNAL] = ENOTRECOVERABLE,
};

static int stream_errno(lb_status status)
{
    return (unsigned)status < LB_STATUS_COUNT ? stream_errnos[status] : ENOTRECOVERABLE;
}

/* Status of a stream of somebody else. */
static lb_status stream_status(int code)
{
    for (int s = 0; s < LB_STATUS_COUNT; s++)
        if (stream_errnos[s] == code)
            return (lb_status)s;
    return LB_IO;
}

/* A call may leave its code out of the error; the stream gives the same error ever after. */
static int stream_fail(stream_state *s, lb_status status)
{
    s->ended = true;
    lb_fail(&s->err, status, LB_NOWHERE, "%s", lb_status_text(status));
    return stream_errno(s->err.code);
}

static int stream_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    stream_state *s = stream->private_data;
    lb_error err = LB_ERROR_INIT;
    out->release = NULL;
    lb_status status = lb_schema_copy(&s->schema, out, &err);
    return status == LB_OK ? 0 : stream_fail(s, status);
}

static int stream_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    stream_state *s = stream->private_data;
    out->release = NULL;
    if (s->err.code != LB_OK)
        return stream_errno(s->err.code);
    if (s->ended)
        return 0;
    lb_status status = s->source.next(s->source.state, out, &s->err);
    if (status == LB_OK && s->err.code == LB_OK) {
        s->ended = out->release == NULL;
        return 0;
    }
    if (out->release != NULL)
        out->release(out);
    return stream_fail(s, status == LB_OK ? s->err.code : status);
}

static const char *stream_last_error(struct ArrowArrayStream *stream)
{
    stream_state *s = stream->private_data;
    if (s->err.code == LB_OK)
        return NULL;
    int n =
        snprintf(s->text, sizeof s->text, "%s%s%s", s->err.path, s->err.path[0] == '\0' ? "" : ": ", s->err.message);
    size_t at = n < 0 ? 0 : LB_MIN((size_t)n, sizeof s->text - 1);
    if (s->err.row >= 0)
        (void)snprintf(s->text + at, sizeof s->text - at, " (row %lld)", (long long)s->err.row);
    else if (s->err.offset >= 0)
        (void)snprintf(s->text + at, sizeof s->text - at, " (byte %lld)", (long long)s->err.offset);
    return s->text;
}

/* Its address tells our streams from others. */
static void stream_release(struct ArrowArrayStream *stream)
{
    stream_state *s = stream->private_data;
    if (s->source.close != NULL)
        s->source.close(s->source.state);
    if (s->schema.release != NULL)
        s->schema.release(&s->schema);
    free(s);
    stream->private_data = NULL;
    stream->release = NULL;
}

lb_status lb_stream_make(lb_source source, struct ArrowSchema *schema, struct ArrowArrayStream *out, lb_error *err)
{
    stream_state *s = calloc(1, sizeof *s);
    out->release = NULL;
    if (s == NULL) {
        if (source.close != NULL)
            source.close(source.state);
        if (schema->release != NULL)
            schema->release(schema);
        return lb_fail_nomem(err);
    }
    s->source = source;
    lb_error_clear(&s->err);
    ArrowSchemaMove(schema, &s->schema);
    *out = (struct ArrowArrayStream){ .get_schema = stream_get_schema,
                                      .get_next = stream_get_next,
                                      .get_last_error = stream_last_error,
                                      .release = stream_release,
                                      .private_data = s };
    return LB_OK;
}

lb_status lb_stream_begin(lb_status status, lb_source source, const struct ArrowSchema *schema,
                          struct ArrowArrayStream *out, lb_error *err)
{
    struct ArrowSchema copy = { .release = NULL };
    out->release = NULL;
    if (status == LB_OK)
        status = lb_schema_copy(schema, &copy, err);
    if (status == LB_OK)
        return lb_stream_make(source, &copy, out, err);
    if (source.close != NULL)
        source.close(source.state);
    return status;
}

LB_API bool lb_stream_error(struct ArrowArrayStream *stream, lb_error *out)
{
    if (stream == NULL || stream->release != stream_release)
        return false;
    const stream_state *s = stream->private_data;
    if (s->err.code == LB_OK)
        return false;
    *out = s->err;
    return true;
}

/* The error of a call that gave `code`, ours whole, another's as text. */
static lb_status stream_take_error(struct ArrowArrayStream *stream, int code, lb_error *err)
{
    lb_error ours;
    if (lb_stream_error(stream, &ours)) {
        if (err != NULL && err->code == LB_OK)
            *err = ours;
        return ours.code;
    }
    const char *text = stream->get_last_error != NULL ? stream->get_last_error(stream) : NULL;
    return lb_fail(err, stream_status(code), LB_NOWHERE, "%s",
                   text != NULL ? text : "the Arrow stream failed without a message");
}

lb_status lb_stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out, lb_error *err)
{
    out->release = NULL;
    if (stream->release == NULL)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "the Arrow stream has been released");
    int code = stream->get_next(stream, out);
    if (code == 0)
        return LB_OK;
    out->release = NULL;
    return stream_take_error(stream, code, err);
}

lb_status lb_stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out, lb_error *err)
{
    out->release = NULL;
    if (stream->release == NULL)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "the Arrow stream has been released");
    int code = stream->get_schema(stream, out);
    if (code == 0)
        return LB_OK;
    out->release = NULL;
    return stream_take_error(stream, code, err);
}
