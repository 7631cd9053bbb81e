#include "lance/lance_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/path.h"
#include "column/stream.h"

/* ---------------------------------------------------------------- one file */

lb_status lb_lance_out_make(lb_lance_work *work, const char *folder, const char *name, lb_lance_out *out, lb_error *err)
{
    *out = (lb_lance_out){ .work = work, .fd = -1 };
    lb_error_clear(&out->error);
    out->name = lb_arena_copy(&work->arena, lb_str_of(name));
    out->path = lb_lance_work_path(work, folder, name);
    if (out->name == NULL || out->path == NULL)
        return lb_arena_fail(&work->arena, err);
    out->fd = TEMP_FAILURE_RETRY(open(out->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    return out->fd >= 0 ? LB_OK : lb_fail_errno(err, errno, out->path, "create");
}

lb_status lb_lance_out_open(lb_lance_work *work, const char *id, lb_lance_out *out, lb_error *err)
{
    lb_uuid_text uuid = lb_uuid_new();
    lb_str stem = lb_str_of(id == NULL ? uuid.s : id);
    *out = (lb_lance_out){ .work = work, .fd = -1 };
    lb_error_clear(&out->error);
    char *name = lb_arena_alloc(&work->arena, stem.size + sizeof ".lance", 1);
    if (name == NULL)
        return lb_arena_fail(&work->arena, err);
    memcpy(name, stem.at, stem.size);
    memcpy(name + stem.size, ".lance", sizeof ".lance");
    if (!lb_path_is_inside(lb_str_of(name)) || memchr(name, '/', stem.size) != NULL)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "'%.100s' cannot name a data file", stem.at);
    return lb_lance_out_make(work, "data", name, out, err);
}

bool lb_lance_out_write(void *user, const void *bytes, size_t size)
{
    lb_lance_out *out = user;
    const uint8_t *at = bytes;
    while (size > 0 && out->error.code == LB_OK) {
        ssize_t n = write(out->fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            (void)lb_fail_errno(&out->error, n < 0 ? errno : EIO, out->path, "write");
            break;
        }
        at += n;
        size -= (size_t)n;
    }
    return out->error.code == LB_OK;
}

lb_status lb_lance_out_close(lb_lance_out *out, bool keep, lb_error *err)
{
    lb_status s = LB_OK;
    if (out->fd < 0)
        return LB_OK;
    if (keep && TEMP_FAILURE_RETRY(fsync(out->fd)) != 0 && errno != EINVAL && errno != ENOTSUP)
        s = lb_fail_errno(err, errno, out->path, "sync");
    if (close(out->fd) != 0 && errno != EINTR && keep && s == LB_OK)
        s = lb_fail_errno(err, errno, out->path, "close");
    out->fd = -1;
    if (!keep || s != LB_OK)
        (void)unlink(out->path);
    return s;
}

/* ---------------------------------------------------------------- all rows */

#define ROWS_PARTS 64 /* batches a group may be made of at first */

typedef struct rows_state {
    lb_lance_work *work;
    struct ArrowArrayStream *stream;
    const struct ArrowSchema *from, *to;
    lb_lance_writer *writer;
    lb_lance_rows_options options;
    int32_t *next_id;
    lb_lance_new_files *files;
    lb_lance_out out; /* fd < 0: no file is open */
    lb_buf parts;     /* lb_lance_rows of the group that is gathered */
    uint64_t gathered;
    uint64_t in_file, done; /* rows of the file, and of all groups put */
    lb_lance_batch *batch;  /* last one opened */
} rows_state;

static size_t rows_n_parts(const rows_state *r)
{
    return r->parts.size / sizeof(lb_lance_rows);
}

static lb_lance_rows *rows_parts(rows_state *r)
{
    return (lb_lance_rows *)(void *)r->parts.data;
}

/* Batches of parts that were put; one that goes on (`keep`) stays. */
static void rows_drop_parts(rows_state *r, const lb_lance_batch *keep)
{
    const lb_lance_batch *last = NULL;
    for (size_t i = 0; i < rows_n_parts(r); i++) {
        const lb_lance_batch *b = rows_parts(r)[i].batch;
        if (b != last && b != keep)
            lb_lance_batch_free((lb_lance_batch *)(uintptr_t)b);
        last = b;
    }
    r->parts.size = 0;
    r->gathered = 0;
}

static lb_status rows_begin_file(rows_state *r, lb_error *err)
{
    const char *const *names = r->options.file_names;
    const char *id = names == NULL ? NULL : *names;
    if (id != NULL)
        r->options.file_names++;
    LB_TRY(lb_lance_out_open(r->work, id, &r->out, err));
    lb_lance_writer_begin(r->writer, lb_lance_out_write, &r->out);
    r->in_file = 0;
    return LB_OK;
}

static lb_status rows_room(rows_state *r, lb_error *err)
{
    lb_lance_new_files *f = r->files;
    if (f->count < f->cap)
        return LB_OK;
    size_t cap = f->cap == 0 ? 4 : f->cap * 2;
    lb_lance_new_file *more = lb_arena_alloc(&r->work->arena, cap, sizeof *more);
    if (more == NULL)
        return lb_arena_fail(&r->work->arena, err);
    if (f->count != 0)
        memcpy(more, f->items, f->count * sizeof *more);
    f->items = more;
    f->cap = cap;
    return LB_OK;
}

/* A failed write has its reason in the file. */
static lb_status rows_reason(rows_state *r, lb_status s, lb_error *why, lb_error *err)
{
    if (s != LB_OK && r->out.error.code != LB_OK)
        *why = r->out.error;
    if (s != LB_OK && err != NULL && err->code == LB_OK)
        *err = *why;
    return s != LB_OK && r->out.error.code != LB_OK ? r->out.error.code : s;
}

static lb_status rows_end_file(rows_state *r, bool more, lb_error *err)
{
    lb_lance_written written;
    lb_error why = LB_ERROR_INIT;
    LB_TRY(rows_room(r, err));
    lb_status s = lb_lance_writer_end(r->writer, more, r->next_id, &r->work->arena, &written, &why);
    LB_TRY(rows_reason(r, s, &why, err));
    LB_TRY(lb_lance_out_close(&r->out, true, err));
    r->files->items[r->files->count++] =
        (lb_lance_new_file){ .name = r->out.name, .rows = written.rows, .ids = written.ids, .n_ids = written.n_ids };
    r->files->rows += written.rows;
    return LB_OK;
}

/* Put the gathered group. `more`: rows follow for certain. */
static lb_status rows_put(rows_state *r, lb_error *err)
{
    lb_error why = LB_ERROR_INIT;
    if (r->out.fd >= 0 && r->in_file >= r->options.file_rows)
        LB_TRY(rows_end_file(r, true, err));
    if (r->out.fd < 0)
        LB_TRY(rows_begin_file(r, err));
    lb_status s = lb_lance_writer_group(r->writer, rows_parts(r), rows_n_parts(r), r->done, &why);
    LB_TRY(rows_reason(r, s, &why, err));
    r->done += r->gathered;
    r->in_file += r->gathered;
    return LB_OK;
}

static lb_status rows_add_part(rows_state *r, int64_t first, int64_t count, lb_error *err)
{
    lb_lance_rows part = { r->batch, first, count };
    r->gathered += (uint64_t)count;
    return lb_buf_append(&r->parts, &part, sizeof part, err);
}

static lb_status rows_batch(rows_state *r, lb_error *err)
{
    int64_t n = lb_lance_batch_rows(r->batch), at = 0;
    while (at < n) {
        uint64_t want = r->options.group_rows - r->gathered;
        int64_t take = r->options.whole_batches || (uint64_t)(n - at) < want ? n - at : (int64_t)want;
        LB_TRY(rows_add_part(r, at, take, err));
        at += take;
        if (r->gathered < r->options.group_rows)
            continue;
        LB_TRY(rows_put(r, err));
        rows_drop_parts(r, r->batch);
    }
    if (rows_n_parts(r) == 0 || rows_parts(r)[rows_n_parts(r) - 1].batch != r->batch)
        lb_lance_batch_free(r->batch);
    r->batch = NULL;
    return LB_OK;
}

/* Take the next batch of the stream, brought to the schema that is written. */
static lb_status rows_next(rows_state *r, bool *end, lb_error *err)
{
    struct ArrowArray raw, ready;
    uint64_t row = r->done + r->gathered;
    lb_error why = LB_ERROR_INIT;
    LB_TRY(lb_stream_next(r->stream, &raw, err));
    *end = raw.release == NULL;
    if (*end)
        return LB_OK;
    lb_status s = lb_lance_write_batch(r->from, &raw, r->to, &ready, &why);
    if (s == LB_OK)
        s = lb_lance_batch_open(r->writer, &ready, &r->batch, &why);
    if (s != LB_OK && why.row >= 0)
        why.row += (int64_t)row;
    if (s != LB_OK && err != NULL && err->code == LB_OK)
        *err = why;
    return s;
}

static lb_status rows_all(rows_state *r, lb_error *err)
{
    for (;;) {
        bool end;
        LB_TRY(rows_next(r, &end, err));
        if (end)
            break;
        LB_TRY(rows_batch(r, err));
    }
    if (r->gathered != 0)
        LB_TRY(rows_put(r, err));
    if (r->out.fd >= 0)
        LB_TRY(rows_end_file(r, false, err));
    return r->files->count == 0 ? LB_OK : lb_lance_sync_folder(r->work, "data", err);
}

lb_status lb_lance_rows_write(lb_lance_work *work, struct ArrowArrayStream *stream, const struct ArrowSchema *from,
                              lb_lance_writer *writer, const struct ArrowSchema *to,
                              const lb_lance_rows_options *options, int32_t *next_id, lb_lance_new_files *out,
                              lb_error *err)
{
    rows_state r = { .work = work,
                     .stream = stream,
                     .from = from,
                     .to = to,
                     .writer = writer,
                     .options = *options,
                     .next_id = next_id,
                     .files = out,
                     .out = { .fd = -1 } };
    *out = (lb_lance_new_files){ NULL, 0, 0, 0 };
    r.options.group_rows = options->group_rows == 0 ? 1024 : LB_MIN(options->group_rows, (uint64_t)INT32_MAX);
    r.options.file_rows = options->file_rows == 0 ? 1048576 : LB_MIN(options->file_rows, (uint64_t)INT32_MAX);
    lb_buf_init(&r.parts, &work->cx->budget);
    lb_status s = lb_buf_reserve(&r.parts, ROWS_PARTS * sizeof(lb_lance_rows), err);
    if (s == LB_OK)
        s = rows_all(&r, err);
    bool held = rows_n_parts(&r) != 0 && rows_parts(&r)[rows_n_parts(&r) - 1].batch == r.batch;
    rows_drop_parts(&r, NULL);
    if (!held)
        lb_lance_batch_free(r.batch);
    lb_buf_free(&r.parts);
    if (s != LB_OK) {
        (void)lb_lance_out_close(&r.out, false, NULL);
        lb_lance_rows_undo(work, out);
    }
    return s;
}

void lb_lance_rows_undo(lb_lance_work *work, const lb_lance_new_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const char *path = lb_lance_work_path(work, "data", files->items[i].name);
        if (path != NULL)
            (void)unlink(path);
    }
}

/* ---------------------------------------------------------------- fragments */

LbPb__DataFile *lb_lance_file_new(lb_arena *arena, const lb_lance_new_file *file)
{
    LbPb__DataFile *f = lb_arena_alloc(arena, 1, sizeof *f);
    if (f == NULL)
        return NULL;
    lb_pb__data_file__init(f);
    if (lb_lance_keep(arena, lb_str_of(file->name), &f->path) == NULL)
        return NULL;
    f->fields = lb_arena_dup(arena, file->ids, file->n_ids * sizeof *file->ids);
    f->n_fields = file->n_ids;
    return f->fields == NULL ? NULL : f;
}

lb_lance_fragment *lb_lance_fragment_new(lb_arena *arena, uint64_t id, const lb_lance_new_file *file)
{
    lb_lance_fragment *f = lb_arena_alloc(arena, 1, sizeof *f);
    if (f == NULL)
        return NULL;
    lb_pb__fragment__init(f);
    f->id = id;
    f->files = lb_arena_alloc(arena, 1, sizeof(void *));
    if (f->files == NULL || (f->files[0] = lb_lance_file_new(arena, file)) == NULL)
        return NULL;
    f->n_files = 1;
    return f;
}
