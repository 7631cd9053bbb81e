/* The own bytes of scattered records: where they stand is found block by block, then they are copied in the order
 * asked. */
#include <stdlib.h>

#include "base/pool.h"
#include "lake/take.h"

#define RAW_PIECE 65536

typedef struct raw {
    lb_taking k;
    lb_take_window w;
    lb_extent *extents; /* of the window's distinct rows */
    uint32_t *part;     /* of each of them */
    lb_data *data;      /* the file copied from last; NULL */
    uint64_t file;      /* which that is */
    bool own;           /* data is ours to close */
    bool begun;         /* some record was written */
    bool open;          /* the one written last had no line end */
    char line_end[8];   /* of the file it came from */
    size_t line_end_size;
    lb_write_fn write;
    void *user;
} raw;

/* ---------------------------------------------------------------- finding */

static lb_status raw_find(raw *s, const lb_take_segment *g, const lb_take_part *p, lb_error *err)
{
    size_t n = g->end - g->first, found;
    const uint64_t *rows = s->w.rows + g->first;

    if (p->data->format->extents == NULL)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "records of %s have no bytes of their own",
                       p->data->format->name);
    LB_TRY(p->data->format->extents(p->data->reader, rows, n, s->extents + g->first, &found, err));
    LB_TRY(lb_data_check(p->data, err));
    return found == n ? LB_OK : lb_take_short(&s->w, rows[found], err);
}

static lb_status raw_segment(void *user, size_t i, lb_error *err)
{
    raw *s = user;
    const lb_take_segment *g = &s->w.segments[i];
    lb_take_part *p = &s->w.parts[g->part];

    LB_TRY(lb_check_cancel(s->k.t->cx, err));
    lb_status status = lb_take_part_open(&s->w, p, NULL, false, err);
    if (status == LB_OK) {
        status = raw_find(s, g, p, err);
        if (status != LB_OK && status != LB_USAGE)
            lb_fail_path(err, p->data->store->path);
    }
    lb_take_part_leave(p);
    return status;
}

static lb_status raw_plan(raw *s, uint64_t at, size_t n, lb_error *err)
{
    LB_TRY(lb_take_plan(&s->w, s->k.t, s->k.single, &s->k.rows, at, n, err));
    s->extents = lb_arena_alloc(&s->w.arena, s->w.n_rows + 1, sizeof *s->extents);
    s->part = lb_arena_alloc(&s->w.arena, s->w.n_rows + 1, sizeof *s->part);
    if (s->extents == NULL || s->part == NULL)
        return lb_arena_fail(&s->w.arena, err);
    for (size_t i = 0; i < s->w.n_parts; i++)
        for (size_t k = s->w.parts[i].first; k < s->w.parts[i].end; k++)
            s->part[k] = (uint32_t)i;
    return lb_run_jobs(s->k.t->cx, s->w.n_segments, raw_segment, s, err);
}

/* ---------------------------------------------------------------- copying */

static void raw_leave_file(raw *s)
{
    if (s->own)
        lb_data_close(s->data);
    s->data = NULL;
    s->own = false;
}

/* The line end of a file, as its encoding writes it. */
static void raw_line_end(raw *s)
{
    static const struct {
        const char *encoding, *bytes;
        size_t size;
    } wide[] = {
        { "UTF-16LE", "\n\0", 2 },
        { "UTF-16BE", "\0\n", 2 },
        { "UTF-32LE", "\n\0\0\0", 4 },
        { "UTF-32BE", "\0\0\0\n", 4 },
    };
    lb_str encoding = s->data->entry.has_dialect ? s->data->entry.dialect.encoding : (lb_str){ NULL, 0 };

    s->line_end[0] = '\n';
    s->line_end_size = s->data->format->binary ? 0 : 1;
    for (size_t i = 0; i < LB_COUNT_OF(wide); i++)
        if (lb_str_is_nocase(encoding, wide[i].encoding)) {
            memcpy(s->line_end, wide[i].bytes, wide[i].size);
            s->line_end_size = wide[i].size;
        }
}

static lb_status raw_enter_file(raw *s, uint64_t file, lb_error *err)
{
    if (s->data != NULL && s->file == file)
        return LB_OK;
    raw_leave_file(s);
    s->data = s->k.single;
    s->file = file;
    return s->k.t->lake ? lb_table_open_file(s->k.t, file, &s->data, &s->own, err) : LB_OK;
}

static lb_status raw_put(raw *s, const void *bytes, size_t size, lb_error *err)
{
    if (size != 0 && !s->write(s->user, bytes, size))
        return lb_fail(err, LB_CANCELLED, LB_NOWHERE, "writing was stopped");
    return LB_OK;
}

static lb_status raw_copy(raw *s, uint64_t from, uint64_t end, lb_error *err)
{
    uint8_t bytes[RAW_PIECE];

    while (from < end) {
        size_t want = (size_t)LB_MIN(end - from, (uint64_t)sizeof bytes), got;
        LB_TRY(lb_check_cancel(s->k.t->cx, err));
        LB_TRY(lb_store_read(s->data->store, from, bytes, want, &got, err));
        if (got == 0)
            return lb_fail(err, LB_STALE, LB_AT(from), "the file became shorter while it was read");
        LB_TRY(raw_put(s, bytes, got, err));
        from += got;
    }
    return LB_OK;
}

/* Asked rows from `i` on that follow one another in the file without a gap, and are copied together. */
static size_t raw_run(const raw *s, size_t i)
{
    size_t n = 1;

    while (i + n < s->w.n) {
        size_t a = s->w.pick[i + n - 1], b = s->w.pick[i + n];
        if (s->part[a] != s->part[b] || s->extents[a].end != s->extents[b].first)
            break;
        n++;
    }
    return n;
}

static lb_status raw_give(raw *s, size_t i, size_t n, lb_error *err)
{
    const lb_extent *first = &s->extents[s->w.pick[i]], *last = &s->extents[s->w.pick[i + n - 1]];

    if (s->open)
        LB_TRY(raw_put(s, s->line_end, s->line_end_size, err));
    LB_TRY(raw_enter_file(s, s->w.parts[s->part[s->w.pick[i]]].file, err));
    s->begun = true;
    lb_status status = raw_copy(s, first->first, last->end, err);
    if (status == LB_OK)
        status = lb_data_check(s->data, err);
    if (status != LB_OK)
        lb_fail_path(err, s->data->store->path);
    s->open = last->end == last->stop;
    raw_line_end(s);
    return status;
}

/* ---------------------------------------------------------------- the public call */

static lb_status raw_window(raw *s, uint64_t at, size_t n, lb_error *err)
{
    LB_TRY(raw_plan(s, at, n, err));
    for (size_t i = 0, run; i < s->w.n; i += run) {
        run = raw_run(s, i);
        LB_TRY(raw_give(s, i, run, err));
    }
    return LB_OK;
}

static lb_status raw_all(raw *s, lb_error *err)
{
    uint64_t at = 0;

    while (at < s->k.rows.count) {
        size_t n = (size_t)LB_MIN(LB_TAKE_WINDOW_ROWS, s->k.rows.count - at);
        lb_status status = raw_window(s, at, n, err);
        lb_take_window_free(&s->w);
        if (status == LB_OK)
            at += n;
        else if (status != LB_STALE || s->begun)
            return status;
        else
            LB_TRY(lb_taking_afresh(&s->k, status, err));
    }
    return LB_OK;
}

lb_status lb_table_take_raw(lb_table *t, const lb_take *want, lb_write_fn write, void *user, lb_error *err)
{
    raw s = { .write = write, .user = user };

    lb_error_clear(err);
    lb_status status = lb_taking_init(&s.k, t, want, err);
    if (status == LB_OK)
        status = raw_all(&s, err);
    raw_leave_file(&s);
    lb_taking_free(&s.k);
    if (status != LB_OK)
        lb_fail_path(err, t->path);
    return status;
}
