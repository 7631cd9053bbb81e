/* The public calls on maps. What they lend has to end in NUL and to live as long as the map, which the bytes of the
 * map do not: such strings are copied once for each entry that is asked for, under a lock. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/path.h"
#include "column/ipc.h"
#include "column/print.h"
#include "lake/map_private.h"
#include "lake/sandbox.h"

/* Strings of one entry; its path stands behind it, and is there from the beginning. The others are filled in, and read, with the lock
 * held. */
typedef struct name_slot {
    const char *format, *locator, *container, *error, *content_hash;
    bool has_words, has_columns;
    uint64_t n_columns;
    lb_column_info *columns;
} name_slot;

#define NAMES_SIDE 4 /* places of the table in 64 bytes */
#define MAX_WORDS 64 /* different names of formats, locators and containers; more are copied for each entry */

/* An open hash table. Slots are put in with the lock held, and found without it: one that is there stays, and its index with it.
 * Tables that became too small are kept, for somebody may look into them still; all of them together are as large as the last. */
typedef struct name_table {
    struct name_table *older;
    size_t cap;
    struct named {
        uint64_t index;
        _Atomic(name_slot *) slot; /* NULL: free */
    } at[];
} name_table;

struct lb_map_names {
    lb_arena arena;
    _Atomic(name_table *) table;
    size_t count;
    const char *words[MAX_WORDS];
    size_t n_words;
};

/* ---------------------------------------------------------------- names */

void lb_map_names_free(lb_map_names *names)
{
    if (names == NULL)
        return;
    lb_arena_free(&names->arena);
    name_table *table = atomic_load_explicit(&names->table, memory_order_relaxed);
    while (table != NULL) {
        name_table *older = table->older;
        free(table);
        table = older;
    }
    free(names);
}

static const char *slot_path(const name_slot *slot)
{
    return (const char *)(slot + 1);
}

/* Entries next to one another are looked for next to one another, so that lb_map_names_ahead need not know exactly which is wanted. */
static size_t names_home(uint64_t index, size_t cap)
{
    return (size_t)((((index / NAMES_SIDE) * 0x9E3779B97F4A7C15u) >> 20) * NAMES_SIDE + index % NAMES_SIDE) & (cap - 1);
}

/* The place of an entry, which has a slot there if there is one yet. */
static struct named *names_at(name_table *table, uint64_t index, name_slot **slot)
{
    for (size_t at = names_home(index, table->cap);; at = (at + 1) & (table->cap - 1)) {
        *slot = atomic_load_explicit(&table->at[at].slot, memory_order_acquire);
        if (*slot == NULL || table->at[at].index == index)
            return &table->at[at];
    }
}

static void names_put(struct named *at, uint64_t index, name_slot *slot)
{
    at->index = index;
    atomic_store_explicit(&at->slot, slot, memory_order_release);
}

static lb_status names_grow(lb_map_names *n, name_table **out, lb_error *err)
{
    name_table *old = atomic_load_explicit(&n->table, memory_order_relaxed);
    size_t cap = old == NULL ? 64 : old->cap * 2;
    *out = old;
    if (old != NULL && n->count * 2 < old->cap)
        return LB_OK;
    name_table *table = calloc(1, sizeof *table + cap * sizeof table->at[0]);
    if (table == NULL)
        return lb_fail_nomem(err);
    table->cap = cap;
    table->older = old;
    for (size_t i = 0; old != NULL && i < old->cap; i++) {
        name_slot *none, *slot = atomic_load_explicit(&old->at[i].slot, memory_order_relaxed);
        if (slot != NULL)
            names_put(names_at(table, old->at[i].index, &none), old->at[i].index, slot);
    }
    atomic_store_explicit(&n->table, table, memory_order_release);
    *out = table;
    return LB_OK;
}

static lb_status names_copy(lb_map_names *n, lb_str text, const char **out, lb_error *err)
{
    *out = lb_arena_copy(&n->arena, text);
    return *out == NULL ? lb_arena_fail(&n->arena, err) : LB_OK;
}

/* Words that occur again and again are kept once. */
static lb_status names_word(lb_map_names *n, lb_str text, const char **out, lb_error *err)
{
    for (size_t i = 0; i < n->n_words; i++)
        if (lb_str_is(text, n->words[i])) {
            *out = n->words[i];
            return LB_OK;
        }
    LB_TRY(names_copy(n, text, out, err));
    if (n->n_words < MAX_WORDS)
        n->words[n->n_words++] = *out;
    return LB_OK;
}

static lb_status slot_words(const lb_map *map, lb_map_names *n, lb_map_cell c, name_slot *slot, lb_error *err)
{
    lb_entry e = { .rel_path = lb_str_of(slot_path(slot)) };
    if (map->extended) {
        LB_TRY(lb_map_text_at(map, c.batch, LB_MAP_F_FORMAT, c.row, &e.format, err));
        LB_TRY(lb_map_text_at(map, c.batch, LB_MAP_F_LOCATOR, c.row, &e.locator, err));
        LB_TRY(lb_map_text_at(map, c.batch, LB_MAP_F_CONTAINER, c.row, &e.container, err));
        LB_TRY(lb_map_text_at(map, c.batch, LB_MAP_F_ERROR, c.row, &e.error, err));
    } else {
        lb_map_reference_formats(&e);
    }
    LB_TRY(names_word(n, e.format, &slot->format, err));
    LB_TRY(names_word(n, e.locator, &slot->locator, err));
    if (e.container.size != 0)
        LB_TRY(names_word(n, e.container, &slot->container, err));
    return e.error.size != 0 ? names_copy(n, e.error, &slot->error, err) : LB_OK;
}

/* All but the path. */
static lb_status slot_fill(const lb_map *map, lb_map_names *n, uint64_t index, name_slot *slot, lb_error *err)
{
    lb_map_cell c;
    lb_str hash;
    LB_TRY(lb_map_cell_of(map, index, &c, err));
    LB_TRY(slot_words(map, n, c, slot, err));
    LB_TRY(lb_map_text_at(map, c.batch, LB_MAP_F_CONTENT_HASH, c.row, &hash, err));
    if (hash.size != 0)
        LB_TRY(names_copy(n, hash, &slot->content_hash, err));
    slot->has_words = true;
    return LB_OK;
}

static lb_status slot_new(const lb_map *map, lb_map_names *n, uint64_t index, name_slot **out, lb_error *err)
{
    lb_str path;
    LB_TRY(lb_map_view_path(map, index, &path, err));
    name_slot *slot = lb_arena_alloc(&n->arena, 1, sizeof *slot + path.size + 1);
    if (slot == NULL)
        return lb_arena_fail(&n->arena, err);
    memcpy(slot + 1, path.at, path.size);
    *out = slot;
    return LB_OK;
}

/* With the lock held. */
static lb_status names_slot(lb_map *map, uint64_t index, name_slot **out, lb_error *err)
{
    lb_map_names *n = atomic_load_explicit(&map->names, memory_order_relaxed);
    name_table *table = NULL;
    if (n == NULL) {
        n = calloc(1, sizeof *n);
        if (n == NULL)
            return lb_fail_nomem(err);
        lb_arena_init(&n->arena, NULL);
        atomic_store_explicit(&map->names, n, memory_order_release);
    }
    LB_TRY(names_grow(n, &table, err));
    struct named *at = names_at(table, index, out);
    if (*out != NULL)
        return LB_OK;
    LB_TRY(slot_new(map, n, index, out, err));
    names_put(at, index, *out);
    n->count++;
    return LB_OK;
}

/* A path that was lent before, without waiting for anybody; NULL: it was not. */
static const char *known_path(const lb_map *map, uint64_t index)
{
    lb_map_names *n = atomic_load_explicit(&((lb_map *)(uintptr_t)map)->names, memory_order_acquire);
    name_table *table = n == NULL ? NULL : atomic_load_explicit(&n->table, memory_order_acquire);
    name_slot *slot = NULL;
    if (table != NULL)
        (void)names_at(table, index, &slot);
    return slot == NULL ? NULL : slot_path(slot);
}

void lb_map_names_ahead(const lb_map *map, uint64_t index)
{
    lb_map_names *n = atomic_load_explicit(&((lb_map *)(uintptr_t)map)->names, memory_order_acquire);
    name_table *table = n == NULL ? NULL : atomic_load_explicit(&n->table, memory_order_acquire);
    if (table != NULL)
        __builtin_prefetch(&table->at[names_home(index, table->cap)]);
}

static lb_status get_slot(const lb_map *map, uint64_t index, bool words, const name_slot **out, lb_error *err)
{
    lb_map *m = (lb_map *)(uintptr_t)map; /* the names are a cache: to its user the map is constant */
    name_slot *slot = NULL;
    (void)pthread_mutex_lock(&m->lock);
    lb_status status = names_slot(m, index, &slot, err);
    if (status == LB_OK && words && !slot->has_words)
        status = slot_fill(map, atomic_load_explicit(&m->names, memory_order_relaxed), index, slot, err);
    (void)pthread_mutex_unlock(&m->lock);
    *out = slot;
    return status == LB_OK && slot == NULL ? lb_fail_nomem(err) : status;
}

/* ---------------------------------------------------------------- columns */

static lb_status type_text(lb_map_names *n, const struct ArrowSchema *field, const char **out, lb_error *err)
{
    lb_buf words;
    lb_buf_init(&words, NULL);
    lb_status status = lb_type_words(field, false, &words, err);
    if (status == LB_OK)
        status = names_word(n, (lb_str){ (const char *)words.data, words.size }, out, err);
    lb_buf_free(&words);
    return status;
}

static lb_status bound_text(lb_map_names *n, const lb_colstat *stat, bool max, const char **out, size_t *size,
                            lb_error *err)
{
    lb_buf text;
    lb_buf_init(&text, NULL);
    bool known;
    lb_status status = lb_print_bound(stat, max, &text, &known, err);
    if (status == LB_OK && known)
        status = names_copy(n, (lb_str){ (const char *)text.data, *size = text.size }, out, err);
    lb_buf_free(&text);
    return status;
}

static lb_status column_stats(lb_map_names *n, const lb_colstat *stat, lb_column_info *out, lb_error *err)
{
    out->has_stats = stat->source != LB_STATS_NONE;
    if (stat->has_null_count && stat->null_count <= INT64_MAX)
        out->null_count = (int64_t)stat->null_count;
    if (stat->has_nan_count && stat->nan_count <= INT64_MAX)
        out->nan_count = (int64_t)stat->nan_count;
    LB_TRY(bound_text(n, stat, false, &out->min, &out->min_size, err));
    LB_TRY(bound_text(n, stat, true, &out->max, &out->max_size, err));
    out->min_exact = out->min != NULL && stat->min_exact;
    out->max_exact = out->max != NULL && stat->max_exact;
    return LB_OK;
}

/* The statistics of a name, looked for from where the last were found: both lists mostly stand in the same order. */
static const lb_colstat *find_stat(const lb_colstats *stats, lb_str name, uint64_t *from)
{
    for (uint64_t i = 0; i < stats->count; i++) {
        uint64_t at = (*from + i) % stats->count;
        if (lb_str_equal(stats->items[at].name, name)) {
            *from = at + 1;
            return &stats->items[at];
        }
    }
    return NULL;
}

static lb_status columns_of_schema(lb_map_names *n, const struct ArrowSchema *schema, const lb_colstats *stats,
                                   name_slot *slot, lb_error *err)
{
    uint64_t count = (uint64_t)schema->n_children, from = 0;
    lb_column_info *columns = lb_arena_alloc(&n->arena, count, sizeof *columns);
    if (columns == NULL)
        return lb_arena_fail(&n->arena, err);
    for (uint64_t i = 0; i < count; i++) {
        const struct ArrowSchema *field = schema->children[i];
        lb_str name = lb_str_of(field->name == NULL ? "" : field->name);
        columns[i] = (lb_column_info){ .null_count = -1, .nan_count = -1 };
        columns[i].nullable = (field->flags & ARROW_FLAG_NULLABLE) != 0;
        LB_TRY(names_copy(n, name, &columns[i].name, err));
        LB_TRY(type_text(n, field, &columns[i].type, err));
        const lb_colstat *stat = find_stat(stats, name, &from);
        if (stat != NULL)
            LB_TRY(column_stats(n, stat, &columns[i], err));
    }
    slot->columns = columns;
    slot->n_columns = count;
    return LB_OK;
}

static lb_status columns_of_stats(lb_map_names *n, const lb_colstats *stats, name_slot *slot, lb_error *err)
{
    lb_column_info *columns = lb_arena_alloc(&n->arena, stats->count, sizeof *columns);
    if (columns == NULL)
        return lb_arena_fail(&n->arena, err);
    for (uint64_t i = 0; i < stats->count; i++) {
        columns[i] = (lb_column_info){ .null_count = -1, .nan_count = -1, .nullable = true };
        LB_TRY(names_copy(n, stats->items[i].name, &columns[i].name, err));
        LB_TRY(names_word(n, stats->items[i].type, &columns[i].type, err));
        LB_TRY(column_stats(n, &stats->items[i], &columns[i], err));
    }
    slot->columns = columns;
    slot->n_columns = stats->count;
    return LB_OK;
}

static lb_status fill_columns(const lb_map *map, lb_map_names *n, uint64_t index, lb_arena *arena, name_slot *slot,
                              lb_error *err)
{
    lb_colstats stats;
    lb_str bytes;
    struct ArrowSchema schema = { .release = NULL };
    LB_TRY(lb_map_load_columns(map, index, arena, &stats, err));
    LB_TRY(lb_map_view_schema(map, index, &bytes, err));
    if (bytes.size == 0)
        return columns_of_stats(n, &stats, slot, err);
    lb_status decoded = lb_ipc_decode_schema(bytes.at, bytes.size, &schema, NULL);
    if (decoded == LB_NOMEM)
        return lb_fail_nomem(err);
    if (decoded != LB_OK)
        return lb_map_fail(map, err, "the schema of entry %llu is damaged", (unsigned long long)index);
    lb_status status = columns_of_schema(n, &schema, &stats, slot, err);
    schema.release(&schema);
    return status;
}

static lb_status get_columns(const lb_map *map, uint64_t index, const name_slot **out, lb_error *err)
{
    lb_map *m = (lb_map *)(uintptr_t)map;
    name_slot *slot = NULL;
    lb_arena arena;
    lb_arena_init(&arena, NULL);
    (void)pthread_mutex_lock(&m->lock);
    lb_status status = names_slot(m, index, &slot, err);
    if (status == LB_OK && !slot->has_columns)
        status = fill_columns(map, atomic_load_explicit(&m->names, memory_order_relaxed), index, &arena, slot, err);
    if (status == LB_OK)
        slot->has_columns = true;
    (void)pthread_mutex_unlock(&m->lock);
    lb_arena_free(&arena);
    *out = slot;
    return status;
}

/* Number of columns without reading them where the map says it. */
static lb_status count_columns(const lb_map *map, uint64_t index, uint64_t *out, lb_error *err)
{
    lb_str schema;
    const name_slot *slot;
    LB_TRY(lb_map_view_schema(map, index, &schema, err));
    if (schema.size != 0)
        return lb_map_count_schema_fields(schema, out)
                   ? LB_OK
                   : lb_map_fail(map, err, "the schema of entry %llu is damaged", (unsigned long long)index);
    if (map->extended)
        return lb_map_count_columns(map, index, out, err);
    LB_TRY(get_columns(map, index, &slot, err));
    *out = slot->n_columns;
    return LB_OK;
}

/* ---------------------------------------------------------------- results */

/* Give as much of a result as the caller's struct has room for. */
static lb_status give(void *out, const void *result, size_t size, lb_error *err)
{
    size_t room;
    memcpy(&room, out, sizeof room);
    if (room < sizeof room)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "struct_size is not set");
    room = LB_MIN(room, size);
    memcpy((char *)out + sizeof room, (const char *)result + sizeof room, room - sizeof room);
    return LB_OK;
}

lb_status lb_map_open(lb_context *cx, const char *dir, lb_map **out, lb_error *err)
{
    lb_arena arena;
    lb_error_clear(err);
    *out = NULL;
    lb_arena_init(&arena, &cx->budget);
    const char *path = lb_path_join(&arena, dir, LB_MAP_NAME);
    lb_status status = path == NULL ? lb_arena_fail(&arena, err) : lb_check_sandbox(path, err);
    if (status == LB_OK)
        status = lb_map_load_file(path, out, err);
    if (status == LB_NOTFOUND)
        lb_fail_hint(err, "build one with `lakebed map %s`", dir);
    lb_arena_free(&arena);
    return status;
}

lb_status lb_map_get_info(const lb_map *map, lb_map_info *out, lb_error *err)
{
    lb_error_clear(err);
    const lb_map_header *h = &map->header;
    lb_map_info info = {
        .files = map->count,
        .rows = map->total_rows,
        .bytes = map->total_bytes,
        .failed = map->failed,
        .stride = h->stride,
        .fingerprint = h->fingerprint,
        .created_ns = h->created_ns,
        .map_schema = map->map_schema,
        .extended = map->extended,
        .file_bytes = map->size,
        .options_json = h->options_json.at,
        .writer = h->writer.at,
    };
    return give(out, &info, sizeof info, err);
}

lb_status lb_map_entry(const lb_map *map, uint64_t index, lb_entry_info *out, lb_error *err)
{
    lb_map_cell c;
    const name_slot *slot;
    lb_blocks blocks;
    lb_arena arena;
    lb_entry_info info = { .struct_size = sizeof info };
    lb_error_clear(err);
    LB_TRY(lb_map_cell_of(map, index, &c, err));
    LB_TRY(get_slot(map, index, true, &slot, err));
    info.path = slot_path(slot);
    info.format = slot->format;
    info.locator = slot->locator;
    info.container = slot->container;
    info.error = slot->error;
    info.content_hash = slot->content_hash;
    info.bytes = lb_map_u64_at(c.batch, LB_MAP_F_SIZE_BYTES, c.row);
    LB_TRY(lb_map_view_rows(map, index, &info.first_row, &info.rows, err));
    LB_TRY(count_columns(map, index, &info.columns, err));
    int64_t ms = lb_map_i64_at(c.batch, LB_MAP_F_MTIME_MS, c.row, 0);
    info.mtime_ns = map->extended ? lb_map_i64_at(c.batch, LB_MAP_F_MTIME_NS, c.row, 0) : 0;
    if (!map->extended && __builtin_mul_overflow(ms, (int64_t)1000000, &info.mtime_ns))
        return lb_map_fail(map, err, "a modification time is not possible");
    lb_arena_init(&arena, NULL);
    lb_status status = lb_map_view_blocks(map, c, &arena, &blocks, err);
    info.blocks = blocks.count;
    lb_arena_free(&arena);
    bool packed;
    if (status == LB_OK && map->extended)
        status = lb_map_view_restarts(map, index, &packed, &info.restart_points, err);
    return status == LB_OK ? give(out, &info, sizeof info, err) : status;
}

/* The first row of a batch at or after `row` that has an error; its number of rows: there is none. */
static lb_status next_failed_in(const lb_map *map, lb_map_part *part, uint64_t row, uint64_t *out, lb_error *err)
{
    const lb_map_batch *b;
    *out = part->count;
    if (part->failed == 0)
        return LB_OK;
    LB_TRY(lb_map_batch_of(map, part, &b, err));
    while (row < part->count && !lb_map_is_valid(&b->fields[LB_MAP_F_ERROR], row))
        row++;
    *out = row;
    return LB_OK;
}

lb_status lb_map_next_failed(const lb_map *map, uint64_t from, uint64_t *index, lb_error *err)
{
    lb_error_clear(err);
    for (size_t i = 0; i < map->n_parts; i++) {
        lb_map_part *part = &map->parts[i];
        uint64_t row = from > part->first_entry ? from - part->first_entry : 0;
        if (row >= part->count)
            continue;
        LB_TRY(next_failed_in(map, part, row, &row, err));
        *index = part->first_entry + row;
        if (row < part->count)
            return LB_OK;
    }
    return lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "no entry from %llu on has an error", (unsigned long long)from);
}

lb_status lb_map_find(const lb_map *map, const char *path, uint64_t *index, lb_error *err)
{
    lb_error_clear(err);
    return lb_map_find_path(map, lb_str_of(path), index, err);
}

lb_status lb_map_column(const lb_map *map, uint64_t index, uint64_t column, lb_column_info *out, lb_error *err)
{
    const name_slot *slot;
    lb_error_clear(err);
    if (index >= map->count)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "the map has %llu entries; there is no entry %llu",
                       (unsigned long long)map->count, (unsigned long long)index);
    LB_TRY(get_columns(map, index, &slot, err));
    if (column >= slot->n_columns)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "'%s' has %llu columns; there is no column %llu", slot_path(slot),
                       (unsigned long long)slot->n_columns, (unsigned long long)column);
    return give(out, &slot->columns[column], sizeof *out, err);
}

/* ---------------------------------------------------------------- locating */

static lb_status locate_packed(const lb_map *map, lb_map_cell c, lb_blocks *b, lb_error *err)
{
    lb_str locator;

    /* Most have another length, so that the text, which is somewhere else, is not looked at. */
    LB_TRY(lb_map_bytes_at(map, c.batch, LB_MAP_F_LOCATOR, c.row, &locator, err));
    b->packed = lb_str_is(locator, LB_LOCATOR_PACKED);
    return LB_OK;
}

/* The block that holds a row. One search; the order of the blocks is not checked here, but what is given holds the
 * row. */
static lb_status locate_block(const lb_map *map, lb_map_cell c, uint64_t row, lb_place *out, lb_error *err)
{
    lb_blocks b;
    lb_arena arena;
    lb_arena_init(&arena, NULL);
    lb_status status = lb_map_view_blocks(map, c, &arena, &b, err);
    if (status == LB_OK && b.count != 0 && map->extended)
        status = locate_packed(map, c, &b, err);
    uint64_t i = status == LB_OK ? lb_blocks_find(&b, row) : UINT64_MAX;
    if (status == LB_OK && i == UINT64_MAX && b.count > 0 && map->extended)
        status = lb_map_fail(map, err, "no block of the entry holds row %llu", (unsigned long long)row);
    if (i != UINT64_MAX) {
        uint64_t bit = b.page_indexed_bit + i;
        uint64_t known = b.first_byte == NULL ? 0 : b.first_byte[i] | lb_blocks_bytes(&b, i);
        if ((known | b.first_row[i] | b.row_count[i] | (b.first_line == NULL ? 0 : b.first_line[i])) > INT64_MAX)
            status = lb_map_fail(map, err, "a block lies where none can");
        out->block = (int64_t)i;
        out->row_in_block = (int64_t)(row - b.first_row[i]);
        out->block_first_row = (int64_t)b.first_row[i];
        out->block_rows = (int64_t)b.row_count[i];
        out->block_first_byte = b.first_byte == NULL ? -1 : (int64_t)b.first_byte[i];
        out->block_bytes = b.first_byte == NULL ? -1 : (int64_t)lb_blocks_bytes(&b, i);
        out->block_first_line = b.first_line == NULL ? -1 : (int64_t)b.first_line[i];
        out->page_indexed = b.page_indexed != NULL && (b.page_indexed[bit / 8] >> (bit % 8) & 1) != 0;
    }
    lb_arena_free(&arena);
    return status;
}

/* What is told of a block lies in as many places of the file: bring them in all at once. */
static void locate_ahead(const lb_map *map, lb_map_cell c)
{
    static const unsigned ids[] = { LB_MAP_F_BLOCK_FIRST_ROW, LB_MAP_F_BLOCK_ROW_COUNT, LB_MAP_F_BLOCK_FIRST_BYTE,
                                    LB_MAP_F_BLOCK_TOTAL_BYTE_SIZE, LB_MAP_F_BLOCK_FIRST_LINE };
    uint64_t first, n;
    if (!map->extended || lb_map_list_at(map, c.batch, LB_MAP_F_BLOCKS, c.row, &first, &n, NULL) != LB_OK || n == 0)
        return;
    for (size_t i = 0; i < LB_COUNT_OF(ids); i++)
        if (c.batch->fields[ids[i]].present)
            __builtin_prefetch(c.batch->fields[ids[i]].data + 8 * first);
    __builtin_prefetch(c.batch->fields[LB_MAP_F_BLOCK_PAGE_INDEXED].data + first / 8);
}

static lb_status locate_path(const lb_map *map, uint64_t index, const char **out, lb_error *err)
{
    const name_slot *slot;
    LB_TRY(get_slot(map, index, false, &slot, err));
    *out = slot_path(slot);
    return LB_OK;
}

/* The only block of an entry, of a batch that has no others. */
static lb_status locate_single(const lb_map *map, const lb_map_found *f, lb_place *out, lb_error *err)
{
    const lb_map_rows *r = f->of;
    uint64_t at = 0, bytes = 0, line = r->first_line == NULL ? 0 : r->first_line[f->cell.row];
    if (r->first_byte != NULL) {
        at = r->first_byte[f->cell.row];
        bytes = r->bytes[f->cell.row];
    }
    if ((at | bytes | line) > INT64_MAX)
        return lb_map_fail(map, err, "a block lies where none can");
    out->block = out->block_first_row = 0;
    out->row_in_block = (int64_t)out->file_row;
    out->block_rows = (int64_t)f->rows;
    out->block_first_byte = r->first_byte == NULL ? -1 : (int64_t)at;
    out->block_bytes = r->first_byte == NULL ? -1 : (int64_t)bytes;
    out->block_first_line = r->first_line == NULL ? -1 : (int64_t)line;
    return LB_OK;
}

static lb_status locate(const lb_map *map, const lb_map_found *f, uint64_t file_row, lb_place *out, lb_error *err)
{
    const lb_map_cell c = f->cell;
    uint64_t index = c.batch->first_entry + c.row;
    lb_place place = { .entry = index,
                       .global_row = f->first + file_row,
                       .file_row = file_row,
                       .block = -1,
                       .row_in_block = -1,
                       .block_first_row = -1,
                       .block_rows = -1,
                       .block_first_byte = -1,
                       .block_bytes = -1,
                       .block_first_line = -1 };
    const bool single = f->of != NULL && f->of->single;
    if (!single) {
        lb_map_names_ahead(map, index);
        locate_ahead(map, c);
    }
    place.path = known_path(map, index);
    if (place.path == NULL)
        LB_TRY(locate_path(map, index, &place.path, err));
    LB_TRY(single ? locate_single(map, f, &place, err) : locate_block(map, c, file_row, &place, err));
    return give(out, &place, sizeof place, err);
}

lb_status lb_map_locate(const lb_map *map, uint64_t global_row, lb_place *out, lb_error *err)
{
    lb_map_found found = { .of = NULL };
    lb_error_clear(err);
    LB_TRY(lb_map_cell_of_row(map, global_row, &found, err));
    return locate(map, &found, global_row - found.first, out, err);
}

lb_status lb_map_locate_in(const lb_map *map, const char *path, uint64_t file_row, lb_place *out, lb_error *err)
{
    uint64_t index;
    lb_map_found found = { .of = NULL };
    lb_error_clear(err);
    LB_TRY(lb_map_find_path(map, lb_str_of(path), &index, err));
    LB_TRY(lb_map_cell_of(map, index, &found.cell, err));
    LB_TRY(lb_map_cell_rows(map, found.cell, &found.first, &found.rows, err));
    if (file_row >= found.rows)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "there is no row %llu: '%s' has %llu row%s",
                       (unsigned long long)file_row, path, (unsigned long long)found.rows, found.rows == 1 ? "" : "s");
    return locate(map, &found, file_row, out, err);
}
