/* Loading a map and finding entries in it. The file is mapped into memory: a map is only ever replaced by rename
 * (io/save.h), never written in place, so the mapped file cannot shrink under a reader; were someone else to cut it
 * off, the process would be killed, which is why data files are mapped only where a caller asks for that. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/number.h"
#include "base/path.h"
#include "base/utf8.h"
#include "lake/map_private.h"
#include "wire/json_tree.h"

lb_status lb_map_fail_as(const lb_map *map, lb_error *err, lb_status code, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    lb_status status = lb_fail(err, code, LB_NOWHERE, "the map cannot be used: %s", text);
    lb_fail_path(err, map->path);
    lb_fail_hint(err, "move it away and build the map again with `lakebed map`");
    return status;
}

lb_status lb_map_fail(const lb_map *map, lb_error *err, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return lb_map_fail_as(map, err, LB_CORRUPT, "%s", text);
}

/* ---------------------------------------------------------------- what the metadata says */

typedef struct meta { /* as read; checked when all of it is there */
    lb_str kind, version, map_schema, stride, fingerprint, stats, stats_columns, ext, files, rows, bytes, created,
        union_schema, interop;
} meta;

static const struct {
    const char *key;
    size_t at;
} meta_keys[] = {
    { "bazan.kind", offsetof(meta, kind) },
    { "bazan.version", offsetof(meta, version) },
    { "bazan.map_schema", offsetof(meta, map_schema) },
    { "bazan.checkpoint_stride_rows", offsetof(meta, stride) },
    { "bazan.fingerprint", offsetof(meta, fingerprint) },
    { "bazan.stats", offsetof(meta, stats) },
    { "bazan.stats_columns", offsetof(meta, stats_columns) },
    { "bazan.ext", offsetof(meta, ext) },
    { "bazan.total_files", offsetof(meta, files) },
    { "bazan.total_rows", offsetof(meta, rows) },
    { "bazan.total_bytes", offsetof(meta, bytes) },
    { "bazan.created_ns", offsetof(meta, created) },
    { "bazan.union_schema", offsetof(meta, union_schema) },
    { "bazan.interop", offsetof(meta, interop) },
};

/* The map while it is loaded, with its metadata. */
typedef struct loading {
    lb_map map;
    meta meta;
} loading;

static lb_status keep_text(lb_map *map, lb_str text, lb_str *out, lb_error *err)
{
    char *copy = lb_arena_copy(&map->arena, text);
    if (copy == NULL)
        return lb_arena_fail(&map->arena, err);
    *out = (lb_str){ copy, text.size };
    return LB_OK;
}

static lb_status take_meta(lb_map *map, lb_str key, lb_str value, lb_error *err)
{
    meta *m = &((loading *)map)->meta;
    if (lb_str_is(key, "bazan.options"))
        return keep_text(map, value, &map->header.options_json, err);
    if (lb_str_is(key, "bazan.batches"))
        map->batches = value;
    if (lb_str_is(key, "bazan.writer"))
        return keep_text(map, value, &map->header.writer, err);
    for (size_t i = 0; i < LB_COUNT_OF(meta_keys); i++)
        if (lb_str_is(key, meta_keys[i].key))
            *(lb_str *)(void *)((char *)m + meta_keys[i].at) = value;
    map->extended = lb_str_is(m->ext, "1");
    return LB_OK;
}

static lb_status meta_number(const lb_map *map, lb_str text, const char *key, uint64_t *out, lb_error *err)
{
    if (lb_parse_uint64(text.at, text.size, out))
        return LB_OK;
    return lb_map_fail(map, err, "%s is no number", key);
}

/* `null`, `[]` or a JSON array of names, as the reference writes; in our own key also the words. */
static lb_status meta_stats(lb_map *map, const meta *m, lb_error *err)
{
    lb_str text = m->stats.size != 0 ? m->stats : m->stats_columns;
    static const char *const words[] = { "all", "none", "block" };
    for (size_t i = 0; i < LB_COUNT_OF(words); i++)
        if (lb_str_is(text, words[i]))
            return keep_text(map, text, &map->header.stats, err);
    if (text.size == 0 || lb_str_is(text, "null")) {
        map->header.stats = LB_STR("all");
        return LB_OK;
    }
    json_t *names = lb_json_load(text.at, text.size, 0, NULL);
    bool is_array = json_is_array(names), is_empty = is_array && json_array_size(names) == 0;
    for (size_t i = 0; is_array && i < json_array_size(names); i++)
        is_array = json_is_string(json_array_get(names, i));
    json_decref(names);
    if (!is_array)
        return lb_map_fail(map, err, "bazan.stats_columns is neither null nor an array of names");
    if (is_empty) {
        map->header.stats = LB_STR("none");
        return LB_OK;
    }
    return keep_text(map, text, &map->header.stats, err);
}

static int base64_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)(at - digits);
}

static lb_status meta_base64(lb_map *map, lb_str text, lb_str *out, lb_error *err)
{
    uint8_t *bytes = lb_arena_alloc(&map->arena, text.size / 4 + 1, 3);
    if (bytes == NULL)
        return lb_arena_fail(&map->arena, err);
    size_t size = 0, end = text.size;
    while (end > 0 && text.size - end < 2 && text.at[end - 1] == '=')
        end--;
    uint32_t bits = 0;
    for (size_t i = 0; i < end; i++) {
        int v = base64_value(text.at[i]);
        if (v < 0)
            return lb_map_fail(map, err, "bazan.union_schema is no base64");
        bits = (bits << 6 | (uint32_t)v) & 0xFFFFFF;
        if (i % 4 != 0)
            bytes[size++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    *out = (lb_str){ (const char *)bytes, size };
    return LB_OK;
}

/* Is this a map, and one that we know? (LM-101 to LM-104) */
static lb_status check_kind(lb_map *map, const meta *m, unsigned n_columns, lb_error *err)
{
    if (m->kind.size != 0 && !lb_str_is(m->kind, "lake_map"))
        return lb_map_fail(map, err, "bazan.kind is not lake_map");
    if (m->version.size != 0 && !lb_str_is(m->version, "1"))
        return lb_map_fail_as(map, err, LB_UNSUPPORTED, "bazan.version is not 1: a later program made it");
    if (n_columns < 5 || n_columns == 6)
        return lb_map_fail(map, err, "no layout has %u columns", n_columns);
    int by_columns = n_columns == 5 ? 1 : n_columns == 7 ? 2 : 3;
    map->map_schema = m->map_schema.size == 0 ? by_columns : 0;
    for (int i = 1; i <= 3; i++)
        if (m->map_schema.size == 1 && m->map_schema.at[0] == '0' + i)
            map->map_schema = i;
    if (map->map_schema == 0)
        return lb_map_fail_as(map, err, LB_UNSUPPORTED, "bazan.map_schema is none of 1, 2 and 3");
    if (map->map_schema != by_columns)
        return lb_map_fail(map, err, "bazan.map_schema is %d, but there are %u columns", map->map_schema, n_columns);
    return LB_OK;
}

static lb_status check_columns(const lb_map *map, bool has_hash, bool has_ours, lb_error *err)
{
    if (map->map_schema == 3 && !has_hash)
        return lb_map_fail(map, err, "column 'content_hash' is missing");
    if (map->extended && !has_ours)
        return lb_map_fail(map, err, "bazan.ext is 1, but the columns that belong to it are missing");
    return LB_OK;
}

/* Schema 3 carries its options; the older layouts get the defaults (LM-103). */
static lb_status read_options(lb_map *map, const meta *m, lb_error *err)
{
    map->header.stride = LB_DEFAULT_STRIDE;
    map->header.fingerprint = LB_FINGERPRINT_METADATA;
    map->header.stats = LB_STR("all");
    if (map->map_schema < 3)
        return LB_OK;
    if (m->stride.size != 0)
        LB_TRY(meta_number(map, m->stride, "bazan.checkpoint_stride_rows", &map->header.stride, err));
    if (map->header.stride == 0)
        return lb_map_fail(map, err, "bazan.checkpoint_stride_rows is 0");
    if (lb_str_is(m->fingerprint, "blake3"))
        map->header.fingerprint = LB_FINGERPRINT_BLAKE3;
    else if (m->fingerprint.size != 0 && !lb_str_is(m->fingerprint, "metadata"))
        return lb_map_fail_as(map, err, LB_UNSUPPORTED, "bazan.fingerprint is neither metadata nor blake3");
    return meta_stats(map, m, err);
}

/* Totals against the entries, as far as that costs nothing: the last entry says how many rows there are. */
static lb_status check_totals(lb_map *map, const meta *m, lb_error *err)
{
    uint64_t files, first = 0, rows = 0, sum;
    LB_TRY(meta_number(map, m->files, "bazan.total_files", &files, err));
    LB_TRY(meta_number(map, m->rows, "bazan.total_rows", &map->total_rows, err));
    LB_TRY(meta_number(map, m->bytes, "bazan.total_bytes", &map->total_bytes, err));
    if (files != map->count)
        return lb_map_fail(map, err, "bazan.total_files is %llu, but it has %llu entries", (unsigned long long)files,
                           (unsigned long long)map->count);
    if (map->count > 0)
        LB_TRY(lb_map_view_rows(map, map->count - 1, &first, &rows, err));
    if (!lb_add_u64(first, rows, &sum) || sum != map->total_rows)
        return lb_map_fail(map, err, "bazan.total_rows is %llu, but the entries end at row %llu",
                           (unsigned long long)map->total_rows, (unsigned long long)sum);
    return LB_OK;
}

static lb_status read_ours(lb_map *map, const meta *m, lb_error *err)
{
    if (m->created.size != 0 && !lb_parse_int64(m->created.at, m->created.size, &map->header.created_ns))
        return lb_map_fail(map, err, "bazan.created_ns is no number");
    map->header.interop_full = lb_str_is(m->interop, "full");
    LB_TRY(meta_base64(map, m->union_schema, &map->header.union_schema, err));
    return check_totals(map, m, err);
}

static bool map_has(const lb_map *map, unsigned id)
{
    return map->n_parts == 0 || map->has[id];
}

static lb_status load(loading *l, lb_error *err)
{
    lb_map *map = &l->map;
    const meta *m = &l->meta;
    unsigned n_columns = 0;
    map->header.options_json = map->header.writer = LB_STR("");
    LB_TRY(lb_map_read_file(map, take_meta, &n_columns, err));
    LB_TRY(check_kind(map, m, n_columns, err));
    bool ours = map_has(map, LB_MAP_F_FORMAT) && map_has(map, LB_MAP_F_LOCATOR) && map_has(map, LB_MAP_F_BLOCKS) &&
                map_has(map, LB_MAP_F_MTIME_NS);
    LB_TRY(check_columns(map, map_has(map, LB_MAP_F_CONTENT_HASH), ours, err));
    LB_TRY(read_options(map, m, err));
    return map->extended ? read_ours(map, m, err) : lb_map_reference_finish(map, err);
}

/* ---------------------------------------------------------------- opening */

static lb_status map_new(const char *path, lb_map **out, lb_error *err)
{
    loading *l = calloc(1, sizeof *l);
    *out = NULL;
    if (l == NULL)
        return lb_fail_nomem(err);
    lb_arena_init(&l->map.arena, NULL);
    lb_buf_init(&l->map.own, NULL);
    if (pthread_mutex_init(&l->map.lock, NULL) != 0) {
        free(l);
        return lb_fail_nomem(err);
    }
    *out = &l->map;
    l->map.path = lb_arena_copy(&l->map.arena, lb_str_of(path));
    return l->map.path == NULL ? lb_arena_fail(&l->map.arena, err) : LB_OK;
}

void lb_map_close(lb_map *map)
{
    if (map == NULL)
        return;
    if (map->mapped)
        (void)munmap((void *)(uintptr_t)map->bytes, (size_t)map->size);
    lb_buf_free(&map->own);
    lb_map_names_free(atomic_load_explicit(&map->names, memory_order_relaxed));
    for (size_t i = 0; i < map->n_parts; i++) {
        free(atomic_load_explicit(&map->parts[i].batch, memory_order_relaxed));
        free(atomic_load_explicit(&map->parts[i].rows, memory_order_relaxed));
    }
    free(map->parts);
    free(map->first_rows);
    free(map->path_order);
    lb_arena_free(&map->arena);
    (void)pthread_mutex_destroy(&map->lock);
    free(map);
}

/* Load what `map` holds; on error it is closed. */
static lb_status finish(lb_map *map, lb_map **out, lb_error *err)
{
    lb_status status = load((loading *)(void *)map, err);
    if (status == LB_OK)
        *out = map;
    else
        lb_map_close(map);
    return status;
}

static lb_status map_file(lb_map *map, int fd, lb_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return lb_fail_errno(err, errno, map->path, "stat");
    if (!S_ISREG(st.st_mode))
        return lb_map_fail(map, err, "it is no regular file");
    if (st.st_size == 0)
        return lb_map_fail(map, err, "it is empty");
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return lb_fail_errno(err, errno, map->path, "map");
    map->bytes = at;
    map->size = (uint64_t)st.st_size;
    map->mapped = true;
    return LB_OK;
}

lb_status lb_map_load_file(const char *path, lb_map **out, lb_error *err)
{
    lb_map *map;
    *out = NULL;
    lb_status status = map_new(path, &map, err);
    if (status == LB_OK) {
        /* A link planted under the map's name is not followed, and a FIFO does not block. */
        int fd = TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
        if (fd < 0 && errno == ELOOP)
            status = lb_map_fail(map, err, "it is a symbolic link, which is not followed");
        else
            status = fd < 0 ? lb_fail_errno(err, errno, path, "open") : map_file(map, fd, err);
        if (fd >= 0)
            (void)close(fd);
    }
    if (status == LB_OK)
        return finish(map, out, err);
    lb_map_close(map);
    return status;
}

lb_status lb_map_load_bytes(lb_buf *bytes, const char *path, lb_map **out, lb_error *err)
{
    lb_map *map;
    *out = NULL;
    lb_status status = map_new(path, &map, err);
    if (status != LB_OK) {
        lb_buf_free(bytes);
        lb_map_close(map);
        return status;
    }
    map->own = *bytes;
    lb_buf_init(bytes, NULL);
    map->bytes = map->own.data;
    map->size = map->own.size;
    return finish(map, out, err);
}

const lb_map_header *lb_map_header_of(const lb_map *map)
{
    return &map->header;
}

uint64_t lb_map_count(const lb_map *map)
{
    return map->count;
}

/* ---------------------------------------------------------------- finding */

static lb_status take_batch(const lb_map *map, lb_map_part *part, const lb_map_batch **out, lb_error *err)
{
    lb_map_batch *made = calloc(1, sizeof *made), *other = NULL;
    if (made == NULL)
        return lb_fail_nomem(err);
    lb_status status = lb_map_read_batch(map, part, made, err);
    if (status == LB_OK && atomic_compare_exchange_strong_explicit(&part->batch, &other, made, memory_order_acq_rel,
                                                                   memory_order_acquire)) {
        *out = made;
        return LB_OK;
    }
    /* Another thread was faster, or it is damaged: that is said again to whoever asks next. */
    free(made);
    *out = other;
    return status;
}

lb_status lb_map_batch_of(const lb_map *map, lb_map_part *part, const lb_map_batch **out, lb_error *err)
{
    *out = atomic_load_explicit(&part->batch, memory_order_acquire);
    return *out != NULL ? LB_OK : take_batch(map, part, out, err);
}

lb_status lb_map_check_batches(const lb_map *map, lb_error *err)
{
    for (size_t i = 0; i < map->n_parts; i++) {
        const lb_map_batch *batch;
        LB_TRY(lb_map_batch_of(map, &map->parts[i], &batch, err));
    }
    return LB_OK;
}

lb_status lb_map_cell_of(const lb_map *map, uint64_t index, lb_map_cell *out, lb_error *err)
{
    if (index >= map->count)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "the map has %llu entries; there is no entry %llu",
                       (unsigned long long)map->count, (unsigned long long)index);
    size_t low = 0, high = map->n_parts;
    while (high - low > 1) { /* the part `low` begins at or before the entry */
        size_t middle = low + (high - low) / 2;
        if (map->parts[middle].first_entry <= index)
            low = middle;
        else
            high = middle;
    }
    out->row = index - map->parts[low].first_entry;
    return lb_map_batch_of(map, &map->parts[low], &out->batch, err);
}

lb_status lb_map_bytes_at(const lb_map *map, const lb_map_batch *batch, unsigned id, uint64_t row, lb_str *out,
                          lb_error *err)
{
    const lb_map_array *a = &batch->fields[id];
    *out = (lb_str){ "", 0 };
    if (!lb_map_is_valid(a, row))
        return LB_OK;
    int32_t from = a->offsets[row], to = a->offsets[row + 1];
    if (from < 0 || to < from || (uint64_t)to > a->data_size)
        return lb_map_fail(map, err, "a value of '%s' lies outside its column", lb_map_fields[id].name);
    if (to > from)
        *out = (lb_str){ (const char *)a->data + from, (size_t)(to - from) };
    return LB_OK;
}

lb_status lb_map_text_at(const lb_map *map, const lb_map_batch *batch, unsigned id, uint64_t row, lb_str *out,
                         lb_error *err)
{
    LB_TRY(lb_map_bytes_at(map, batch, id, row, out, err));
    if (lb_utf8_valid_prefix((const uint8_t *)out->at, out->size) != out->size)
        return lb_map_fail(map, err, "a value of '%s' is not UTF-8", lb_map_fields[id].name);
    return LB_OK;
}

lb_status lb_map_list_at(const lb_map *map, const lb_map_batch *batch, unsigned id, uint64_t row, uint64_t *first,
                         uint64_t *count, lb_error *err)
{
    const lb_map_array *a = &batch->fields[id];
    *first = *count = 0;
    if (!lb_map_is_valid(a, row))
        return LB_OK;
    int32_t from = a->offsets[row], to = a->offsets[row + 1];
    if (from < 0 || to < from || (uint64_t)to > batch->fields[id + 1].length)
        return lb_map_fail(map, err, "the list '%s' of an entry lies outside its column", lb_map_fields[id].name);
    *first = (uint64_t)from;
    *count = (uint64_t)(to - from);
    return LB_OK;
}

static lb_status path_at(const lb_map *map, uint64_t index, lb_str *out, lb_error *err)
{
    lb_map_cell c;
    LB_TRY(lb_map_cell_of(map, index, &c, err));
    return lb_map_bytes_at(map, c.batch, LB_MAP_F_REL_PATH, c.row, out, err);
}

lb_status lb_map_view_path(const lb_map *map, uint64_t index, lb_str *rel_path, lb_error *err)
{
    lb_map_cell c;
    LB_TRY(lb_map_cell_of(map, index, &c, err));
    LB_TRY(lb_map_text_at(map, c.batch, LB_MAP_F_REL_PATH, c.row, rel_path, err));
    if (lb_path_is_inside(*rel_path))
        return LB_OK;
    char shown[120];
    lb_copy_text(shown, sizeof shown, rel_path->at, rel_path->size);
    return lb_map_fail(map, err, "path leaves the lake: '%s'", shown);
}

lb_status lb_map_view_raw_path(const lb_map *map, uint64_t index, lb_str *out, lb_error *err)
{
    lb_map_cell c;
    LB_TRY(lb_map_cell_of(map, index, &c, err));
    return lb_map_bytes_at(map, c.batch, LB_MAP_F_REL_PATH_RAW, c.row, out, err);
}

lb_status lb_map_cell_rows(const lb_map *map, lb_map_cell c, uint64_t *first_global_row, uint64_t *total_rows,
                           lb_error *err)
{
    uint64_t end, index = c.batch->first_entry + c.row;
    *total_rows = lb_map_u64_at(c.batch, LB_MAP_F_TOTAL_ROWS, c.row);
    *first_global_row =
        map->first_rows != NULL ? map->first_rows[index] : lb_map_u64_at(c.batch, LB_MAP_F_FIRST_GLOBAL_ROW, c.row);
    if (!lb_add_u64(*first_global_row, *total_rows, &end) || end > INT64_MAX)
        return lb_map_fail(map, err, "entry %llu has more rows than can be", (unsigned long long)index);
    return LB_OK;
}

lb_status lb_map_view_rows(const lb_map *map, uint64_t index, uint64_t *first_global_row, uint64_t *total_rows,
                           lb_error *err)
{
    lb_map_cell c;
    LB_TRY(lb_map_cell_of(map, index, &c, err));
    return lb_map_cell_rows(map, c, first_global_row, total_rows, err);
}

static lb_status not_found(lb_str rel_path, lb_error *err)
{
    char shown[200];
    lb_copy_text(shown, sizeof shown, rel_path.at, rel_path.size);
    return lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "the map has no entry '%s'", shown);
}

/* Through the order of paths, of maps that are not sorted. */
static lb_status find_ordered(const lb_map *map, lb_str rel_path, uint64_t *index, lb_error *err)
{
    uint64_t low = 0, high = map->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        lb_str path;
        LB_TRY(path_at(map, map->path_order[middle], &path, err));
        int c = lb_str_compare(path, rel_path);
        if (c == 0) {
            *index = map->path_order[middle];
            return LB_OK;
        }
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return not_found(rel_path, err);
}

/* How many of `count` rows of a batch have a path at or before the one asked for. */
static lb_status count_paths(const lb_map *map, const lb_map_batch *b, uint64_t count, lb_str rel_path, uint64_t *out,
                             lb_error *err)
{
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        lb_str path;
        LB_TRY(lb_map_bytes_at(map, b, LB_MAP_F_REL_PATH, middle, &path, err));
        if (lb_str_compare(path, rel_path) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    *out = low;
    return LB_OK;
}

/* The batch first, then the row in it. Damaged maps may not be sorted: then a path may not be found, and nothing
 * worse. */
lb_status lb_map_find_path(const lb_map *map, lb_str rel_path, uint64_t *index, lb_error *err)
{
    size_t low = 0, high = map->n_parts;
    const lb_map_batch *b;
    uint64_t n;
    if (map->path_order != NULL)
        return find_ordered(map, rel_path, index, err);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        LB_TRY(lb_map_batch_of(map, &map->parts[middle], &b, err));
        LB_TRY(count_paths(map, b, 1, rel_path, &n, err));
        if (n == 1)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return not_found(rel_path, err);
    LB_TRY(lb_map_batch_of(map, &map->parts[low - 1], &b, err));
    lb_str path = { "", 0 };
    LB_TRY(count_paths(map, b, b->count, rel_path, &n, err));
    if (n > 0)
        LB_TRY(lb_map_bytes_at(map, b, LB_MAP_F_REL_PATH, n - 1, &path, err));
    if (n == 0 || !lb_str_equal(path, rel_path))
        return not_found(rel_path, err);
    *index = b->first_entry + n - 1;
    return LB_OK;
}
