/* Reading a log: files in the order of their numbers, lines one after the other through a window that grows to the
 * longest. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/path.h"
#include "io/store.h"
#include "lineage/lineage_json.h"
#include "lineage/lineage_log.h"
#include "lineage/lineage_thrift.h"

#define READ_CHUNK ((size_t)256 * 1024)

typedef struct log_file {
    uint64_t number;
    const char *path;
} log_file;

typedef enum log_form { FORM_JSON, FORM_BINARY, FORM_COMPACT } log_form;

struct lb_log_reader {
    lb_context *cx;
    lb_arena arena; /* of names */
    log_file *files;
    size_t n_files, next_file;
    lb_store *store; /* NULL: between files */
    log_form form;
    lb_buf window;      /* of the file, from window_at on */
    size_t at;          /* in it: the next record begins here */
    uint64_t window_at; /* offset in the file */
    bool end;           /* the window reaches the file's end */
    lb_arena record;    /* what the last record points to */
    lb_lineage_graph graph;
    lb_log_place place;
    uint64_t bad;
};

/* ---------------------------------------------------------------- which files */

static int by_number(const void *a, const void *b)
{
    const log_file *x = a, *y = b;
    return x->number != y->number ? (x->number > y->number) - (x->number < y->number) : strcmp(x->path, y->path);
}

static lb_status add_file(lb_log_reader *r, lb_buf *files, const char *path, uint64_t number, lb_error *err)
{
    log_file file = { number, lb_arena_copy(&r->arena, lb_str_of(path)) };
    if (file.path == NULL)
        return lb_arena_fail(&r->arena, err);
    return lb_buf_append(files, &file, sizeof file, err);
}

static lb_status list_files(lb_log_reader *r, const char *dir, lb_buf *files, lb_error *err)
{
    const struct dirent *entry;
    DIR *d = opendir(dir);
    lb_status status = d == NULL ? lb_fail_errno(err, errno, dir, "open the directory") : LB_OK;
    while (status == LB_OK && (errno = 0, entry = readdir(d)) != NULL) {
        uint64_t number;
        if (!lb_log_name_number(entry->d_name, &number))
            continue;
        const char *path = lb_path_join(&r->arena, dir, entry->d_name);
        status = path == NULL ? lb_arena_fail(&r->arena, err) : add_file(r, files, path, number, err);
    }
    if (status == LB_OK && errno != 0)
        status = lb_fail_errno(err, errno, dir, "read the directory");
    if (d != NULL)
        (void)closedir(d);
    if (status != LB_OK || files->size != 0)
        return status;
    lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "there is no lineage log: no file of a name like %s1700000000000",
            LB_LOG_PREFIX);
    lb_fail_path(err, dir);
    return LB_NOTFOUND;
}

static lb_status find_files(lb_log_reader *r, const char *path, lb_error *err)
{
    struct stat st;
    lb_buf files;
    if (stat(path, &st) != 0)
        return lb_fail_errno(err, errno, path, "open");
    lb_buf_init(&files, NULL);
    lb_status status = S_ISDIR(st.st_mode) ? list_files(r, path, &files, err) : add_file(r, &files, path, 0, err);
    if (status == LB_OK) {
        r->n_files = files.size / sizeof *r->files;
        r->files = lb_arena_dup(&r->arena, files.data, files.size);
        if (r->files == NULL)
            status = lb_arena_fail(&r->arena, err);
        else
            qsort(r->files, r->n_files, sizeof *r->files, by_number);
    }
    lb_buf_free(&files);
    return status;
}

/* ---------------------------------------------------------------- the window */

static lb_status read_more(lb_log_reader *r, lb_error *err)
{
    size_t got;
    LB_TRY(lb_check_cancel(r->cx, err));
    if (r->at > 0) {
        memmove(r->window.data, r->window.data + r->at, r->window.size - r->at);
        r->window.size -= r->at;
        r->window_at += r->at;
        r->at = 0;
    }
    /* Twice as much each time, so that a long record is not searched again and again. */
    size_t want = LB_MAX(READ_CHUNK, r->window.size);
    LB_TRY(lb_buf_reserve(&r->window, want, err));
    LB_TRY(lb_store_read(r->store, r->window_at + r->window.size, r->window.data + r->window.size, want, &got, err));
    r->window.size += got;
    r->end = got < want;
    return LB_OK;
}

/* Records of Thrift begin with field 1, a string; those of JSON with a bracket or blanks. */
static log_form guess_form(const lb_buf *window)
{
    if (window->size >= 3 && memcmp(window->data, "\x0b\0\x01", 3) == 0)
        return FORM_BINARY;
    return window->size >= 1 && window->data[0] == 0x18 ? FORM_COMPACT : FORM_JSON;
}

static lb_status open_file(lb_log_reader *r, lb_error *err)
{
    const char *path = r->files[r->next_file++].path;
    LB_TRY(lb_store_open_file(path, &r->store, err));
    r->place = (lb_log_place){ .path = path };
    r->window.size = r->at = 0;
    r->window_at = 0;
    LB_TRY(read_more(r, err));
    r->form = guess_form(&r->window);
    while (r->form != FORM_JSON && !r->end)
        LB_TRY(read_more(r, err));
    return LB_OK;
}

static void close_file(lb_log_reader *r)
{
    lb_store_close(r->store);
    r->store = NULL;
}

/* ---------------------------------------------------------------- records */

/* Say what is wrong with a line, and count it. A last line without its end was torn by a writer that died. */
static void note_bad(lb_log_reader *r, const lb_error *why, bool torn)
{
    r->bad++;
    lb_note(r->cx, "%s:%llu: no lineage record, passed over: %s%s", r->place.path, (unsigned long long)r->place.line,
            why->message, torn ? " (the last line, without its end: a writer stopped in it)" : "");
}

/* The next line without its end, or none at the end of the file. *whole: its newline is there. */
static lb_status next_line(lb_log_reader *r, lb_str *line, bool *found, bool *whole, lb_error *err)
{
    size_t searched = 0;
    for (;;) {
        const uint8_t *begin = r->window.data + r->at;
        size_t left = r->window.size - r->at;
        const uint8_t *newline = left == searched ? NULL : memchr(begin + searched, '\n', left - searched);
        if (newline != NULL || (r->end && left > 0)) {
            *line = (lb_str){ (const char *)begin, newline == NULL ? left : (size_t)(newline - begin) };
            *found = true;
            *whole = newline != NULL;
            r->place.line++;
            r->place.offset = r->window_at + r->at;
            r->at += line->size + *whole;
            return LB_OK;
        }
        *found = false;
        if (r->end)
            return LB_OK;
        searched = left;
        LB_TRY(read_more(r, err));
    }
}

static bool is_blank(lb_str line)
{
    for (size_t i = 0; i < line.size; i++)
        if (line.at[i] != ' ' && line.at[i] != '\t' && line.at[i] != '\r')
            return false;
    return true;
}

static void renew_record(lb_log_reader *r)
{
    lb_arena_free(&r->record);
    lb_arena_init(&r->record, &r->cx->budget);
}

/* Line by line until one is a record. *found false: the file ends. */
static lb_status next_json(lb_log_reader *r, bool *found, lb_error *err)
{
    lb_str line;
    bool whole;
    for (;;) {
        lb_error why = LB_ERROR_INIT;
        LB_TRY(next_line(r, &line, found, &whole, err));
        if (!*found)
            return LB_OK;
        if (is_blank(line))
            continue;
        renew_record(r);
        lb_status status = lb_lineage_json_read(line, &r->record, &r->graph, &why);
        if (status == LB_OK)
            return LB_OK;
        if (status != LB_CORRUPT)
            return lb_fail(err, status, LB_NOWHERE, "%s", why.message);
        note_bad(r, &why, !whole);
    }
}

static lb_status next_thrift(lb_log_reader *r, bool *found, lb_error *err)
{
    lb_error why = LB_ERROR_INIT;
    lb_cursor in;
    *found = r->at < r->window.size;
    if (!*found)
        return LB_OK;
    renew_record(r);
    r->place.line++;
    r->place.offset = r->at;
    lb_cursor_init(&in, r->window.data + r->at, r->window.size - r->at, r->at);
    lb_status status = lb_lineage_thrift_read(r->form == FORM_BINARY ? LB_THRIFT_BINARY : LB_THRIFT_COMPACT, &in,
                                              &r->record, &r->graph, &why);
    r->at = r->window.size - lb_cursor_left(&in);
    if (status == LB_OK)
        return LB_OK;
    if (status != LB_CORRUPT)
        return lb_fail(err, status, LB_NOWHERE, "%s", why.message);
    note_bad(r, &why, false);
    r->at = r->window.size;
    *found = false;
    return LB_OK;
}

lb_status lb_log_reader_next(lb_log_reader *r, const lb_lineage_graph **out, lb_error *err)
{
    bool found = false;
    *out = NULL;
    while (r->store != NULL || r->next_file < r->n_files) {
        lb_status status = r->store == NULL ? open_file(r, err) : LB_OK;
        if (status == LB_OK)
            status = r->form == FORM_JSON ? next_json(r, &found, err) : next_thrift(r, &found, err);
        if (status != LB_OK) {
            lb_fail_path(err, r->place.path);
            return status;
        }
        if (found) {
            *out = &r->graph;
            return LB_OK;
        }
        close_file(r);
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- open and close */

lb_status lb_log_reader_open(lb_context *cx, const char *path, lb_log_reader **out, lb_error *err)
{
    *out = NULL;
    lb_log_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return lb_fail_nomem(err);
    r->cx = cx;
    lb_arena_init(&r->arena, &cx->budget);
    lb_arena_init(&r->record, &cx->budget);
    lb_buf_init(&r->window, &cx->budget);
    lb_status status = find_files(r, path, err);
    if (status == LB_OK)
        *out = r;
    else
        lb_log_reader_close(r);
    return status;
}

lb_log_place lb_log_reader_place(const lb_log_reader *r)
{
    return r->place;
}

uint64_t lb_log_reader_bad(const lb_log_reader *r)
{
    return r->bad;
}

void lb_log_reader_close(lb_log_reader *r)
{
    if (r == NULL)
        return;
    close_file(r);
    lb_buf_free(&r->window);
    lb_arena_free(&r->record);
    lb_arena_free(&r->arena);
    free(r);
}
