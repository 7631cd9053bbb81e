/* The Arrow IPC file of a map, read in place: footer, schema and batch headers are flatbuffers, walked here with
 * every position checked. The number of fields visited is capped, and nothing but the fields of map_schema.h is
 * kept. */
#include <stdlib.h>

#include "base/number.h"
#include "lake/map_private.h"
#include "wire/arrow_ids.h"
#include "wire/flat_table.h"

#define MAX_FIELDS 4096 /* of a map's schema, nested ones counted; ours has about 100 */
#define MAX_DEPTH 32
#define MAX_METADATA 1024 /* pairs */

/* ---------------------------------------------------------------- the schema */

/* Buffers of each type; -1: not of a fixed number, or unknown. */
static const int8_t flat_buffers[LB_IPC_TYPES] = {
    [0] = -1,
    [LB_IPC_NULL] = 0,
    [LB_IPC_INT] = 2,
    [LB_IPC_FLOAT] = 2,
    [LB_IPC_BINARY] = 3,
    [LB_IPC_UTF8] = 3,
    [LB_IPC_BOOL] = 2,
    [LB_IPC_DECIMAL] = 2,
    [LB_IPC_DATE] = 2,
    [LB_IPC_TIME] = 2,
    [LB_IPC_TIMESTAMP] = 2,
    [LB_IPC_INTERVAL] = 2,
    [LB_IPC_LIST] = 2,
    [LB_IPC_STRUCT] = 1,
    [LB_IPC_UNION] = -1,
    [LB_IPC_FIXED_BINARY] = 2,
    [LB_IPC_FIXED_LIST] = 1,
    [LB_IPC_MAP] = 2,
    [LB_IPC_DURATION] = 2,
    [LB_IPC_LARGE_BINARY] = 3,
    [LB_IPC_LARGE_UTF8] = 3,
    [LB_IPC_LARGE_LIST] = 2,
    [LB_IPC_RUN_END] = 0,
    [LB_IPC_BINARY_VIEW] = -1,
    [LB_IPC_UTF8_VIEW] = -1,
    [LB_IPC_LIST_VIEW] = 3,
    [LB_IPC_LARGE_LIST_VIEW] = 3,
};

/* The file's fields while its schema is read. */
typedef struct plan {
    size_t n;
    lb_map_node items[MAX_FIELDS];
    bool seen[LB_MAP_N_FIELDS];
    unsigned n_columns;
} plan;

static bool flat_is(lb_flat *f, uint64_t field, unsigned kind, lb_map_type want)
{
    uint64_t type = lb_flat_table(f, field, 3);
    unsigned bits = type == 0 ? 0 : (unsigned)lb_flat_scalar(f, type, 0, kind == LB_IPC_FLOAT ? 2 : 4);
    bool is_signed = kind == LB_IPC_INT && type != 0 && lb_flat_scalar(f, type, 1, 1) != 0;
    switch (want) {
    case LB_MAP_UTF8:
        return kind == LB_IPC_UTF8;
    case LB_MAP_BINARY:
        return kind == LB_IPC_BINARY;
    case LB_MAP_BOOL:
        return kind == LB_IPC_BOOL;
    case LB_MAP_U8:
        return kind == LB_IPC_INT && bits == 8 && !is_signed;
    case LB_MAP_U32:
        return kind == LB_IPC_INT && bits == 32 && !is_signed;
    case LB_MAP_U64:
        return kind == LB_IPC_INT && bits == 64 && !is_signed;
    case LB_MAP_I32:
        return kind == LB_IPC_INT && bits == 32 && is_signed;
    case LB_MAP_I64:
        return kind == LB_IPC_INT && bits == 64 && is_signed;
    case LB_MAP_F64:
        return kind == LB_IPC_FLOAT && bits == 2;
    case LB_MAP_FIXED16:
        return kind == LB_IPC_FIXED_BINARY && bits == 16;
    case LB_MAP_FIXED32:
        return kind == LB_IPC_FIXED_BINARY && bits == 32;
    case LB_MAP_STRUCT:
        return kind == LB_IPC_STRUCT;
    case LB_MAP_LIST:
        return kind == LB_IPC_LIST;
    }
    return false;
}

/* Our field among the children of `parent` (-1: the columns) that has this name, or -1. */
static int plan_find(const plan *p, int parent, lb_str name)
{
    unsigned at = parent < 0 ? 0 : (unsigned)parent + 1;
    unsigned end = parent < 0 ? LB_MAP_N_FIELDS : lb_map_field_end((unsigned)parent);
    if (parent >= 0 && lb_map_fields[parent].type == LB_MAP_LIST)
        return p->seen[at] ? -1 : (int)at;
    for (; at < end; at = lb_map_field_end(at))
        if (lb_str_is(name, lb_map_fields[at].name))
            return p->seen[at] ? -1 : (int)at;
    return -1;
}

static lb_status plan_field(lb_map *map, lb_flat *f, uint64_t field, int id, int parent, unsigned depth, plan *p,
                            lb_error *err)
{
    unsigned kind = (unsigned)lb_flat_scalar(f, field, 2, 1);
    lb_str name = lb_flat_string(f, field, 0);
    char shown[80];
    lb_copy_text(shown, sizeof shown, name.at, name.size);
    if (p->n == MAX_FIELDS || depth > MAX_DEPTH)
        return lb_map_fail_as(map, err, LB_UNSUPPORTED, "its schema has too many fields");
    if (f->bad)
        return lb_map_fail(map, err, "its schema is damaged");
    if (lb_flat_field(f, field, 4) != 0)
        return lb_map_fail_as(map, err, LB_UNSUPPORTED, "column '%s' is dictionary-encoded, which no map is", shown);
    if (kind >= LB_IPC_TYPES || flat_buffers[kind] < 0)
        return lb_map_fail_as(map, err, LB_UNSUPPORTED, "column '%s' has a type that no map has", shown);
    if (id >= 0 && !flat_is(f, field, kind, (lb_map_type)lb_map_fields[id].type))
        return lb_map_fail(map, err, "column '%s' is not of type %s", shown,
                           lb_map_type_name((lb_map_type)lb_map_fields[id].type));
    if (id >= 0)
        p->seen[id] = true;
    p->items[p->n].id = (int16_t)id;
    p->items[p->n].parent = (int16_t)parent;
    p->items[p->n++].buffers = flat_buffers[kind];
    uint64_t n, at = lb_flat_vector(f, field, 5, 4, &n);
    if (kind == LB_IPC_LIST && n != 1)
        return lb_map_fail(map, err, "the list '%s' does not have one child", shown);
    for (uint64_t i = 0; i < n && !f->bad; i++) {
        uint64_t child = lb_flat_follow(f, at + 4 * i);
        int child_id = id < 0 || f->bad ? -1 : plan_find(p, id, lb_flat_string(f, child, 0));
        LB_TRY(plan_field(map, f, child, child_id, id, depth + 1, p, err));
    }
    return f->bad ? lb_map_fail(map, err, "its schema is damaged") : LB_OK;
}

/* Parts that no entry can do without. A missing nullable part reads as null, a missing list as empty. */
static lb_status plan_check(lb_map *map, const plan *p, lb_error *err)
{
    for (unsigned id = 0; id < LB_MAP_N_FIELDS; id++) {
        const lb_map_field *f = &lb_map_fields[id];
        if (f->depth == 0 || p->seen[id] || f->nullable)
            continue;
        unsigned parent = id - 1;
        while (lb_map_fields[parent].depth >= f->depth)
            parent--;
        if (p->seen[parent])
            return lb_map_fail(map, err, "column '%s' lacks its field '%s'", lb_map_fields[parent].name, f->name);
    }
    return LB_OK;
}

static lb_status plan_schema(lb_map *map, lb_flat *f, uint64_t schema, plan *p, lb_error *err)
{
    if (lb_flat_scalar(f, schema, 0, 2) != 0)
        return lb_map_fail_as(map, err, LB_UNSUPPORTED, "it is big-endian");
    uint64_t n, at = lb_flat_vector(f, schema, 1, 4, &n);
    if (f->bad || n > MAX_FIELDS)
        return lb_map_fail(map, err, "its schema is damaged");
    p->n_columns = (unsigned)n;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t field = lb_flat_follow(f, at + 4 * i);
        lb_str name = f->bad ? (lb_str){ "", 0 } : lb_flat_string(f, field, 0);
        int id = i < LB_MAP_BY_POSITION ? (int)i : plan_find(p, -1, name);
        /* Further columns of a map that is not ours, and the names of the first seven again, are somebody's own. */
        if (i >= LB_MAP_BY_POSITION && id >= 0 && id != LB_MAP_F_CONTENT_HASH &&
            (!map->extended || id < LB_MAP_BY_POSITION))
            id = -1;
        LB_TRY(plan_field(map, f, field, id, -1, 0, p, err));
    }
    return plan_check(map, p, err);
}

static lb_status read_metadata(lb_map *map, lb_flat *f, uint64_t schema, lb_map_meta_fn give, lb_error *err)
{
    uint64_t n, at = lb_flat_vector(f, schema, 2, 4, &n);
    if (n > MAX_METADATA)
        return lb_map_fail(map, err, "its schema metadata has too many keys");
    for (uint64_t i = 0; i < n && !f->bad; i++) {
        uint64_t pair = lb_flat_follow(f, at + 4 * i);
        lb_str key = lb_flat_string(f, pair, 0), value = lb_flat_string(f, pair, 1);
        if (!f->bad)
            LB_TRY(give(map, key, value, err));
    }
    return f->bad ? lb_map_fail(map, err, "its schema metadata is damaged") : LB_OK;
}

/* ---------------------------------------------------------------- batches */

typedef struct body {
    const uint8_t *at;
    uint64_t size;
} body;

static bool take_buffer(lb_flat *f, uint64_t at, const body *in, const uint8_t **out, uint64_t *size)
{
    uint64_t offset = lb_flat_read(f, at, 8), length = lb_flat_read(f, at + 8, 8);
    *out = NULL;
    *size = 0;
    if (f->bad || offset > in->size || length > in->size - offset)
        return false;
    if (length == 0)
        return true;
    *out = in->at + offset;
    *size = length;
    return (uintptr_t)*out % 8 == 0;
}

/* Do the buffers hold `length` values? */
static bool array_fits(const lb_map_array *a, lb_map_type type, uint64_t validity_size, uint64_t offsets_size)
{
    unsigned width = lb_map_type_width(type);
    uint64_t bitmap = a->length / 8 + (a->length % 8 != 0);
    if (a->length > INT64_MAX / 64 || a->null_count > a->length)
        return false;
    if (a->validity != NULL ? validity_size < bitmap : a->null_count != 0)
        return false;
    if (type == LB_MAP_UTF8 || type == LB_MAP_BINARY || type == LB_MAP_LIST)
        return a->length == 0 || offsets_size >= (a->length + 1) * 4;
    if (type == LB_MAP_BOOL)
        return a->data_size >= bitmap;
    return a->data_size / LB_MAX(width, 1u) >= a->length || type == LB_MAP_STRUCT;
}

/* Take one field's node and buffers; `buffer` is the position of its first buffer. */
static bool take_array(lb_flat *f, uint64_t node, uint64_t buffer, const body *in, unsigned id, lb_map_array *a)
{
    lb_map_type type = (lb_map_type)lb_map_fields[id].type;
    uint64_t validity_size, offsets_size = 0;
    const uint8_t *offsets = NULL;
    *a = (lb_map_array){ .present = true,
                         .length = lb_flat_read(f, node, 8),
                         .null_count = lb_flat_read(f, node + 8, 8) };
    bool good = take_buffer(f, buffer, in, &a->validity, &validity_size);
    if (type == LB_MAP_UTF8 || type == LB_MAP_BINARY || type == LB_MAP_LIST) {
        good = take_buffer(f, buffer += 16, in, &offsets, &offsets_size) && good;
        a->offsets = (const int32_t *)(const void *)offsets;
    }
    if (type != LB_MAP_LIST && type != LB_MAP_STRUCT)
        good = take_buffer(f, buffer + 16, in, &a->data, &a->data_size) && good;
    if (!good || f->bad || !array_fits(a, type, validity_size, offsets_size))
        return false;
    if (a->null_count == 0)
        a->validity = NULL;
    return true;
}

static lb_status take_arrays(const lb_map *map, lb_flat *f, uint64_t batch, const body *in, lb_map_batch *out,
                             lb_error *err)
{
    uint64_t n_nodes, n_buffers, buffer = 0;
    uint64_t nodes = lb_flat_vector(f, batch, 1, 16, &n_nodes), buffers = lb_flat_vector(f, batch, 2, 16, &n_buffers);
    if (f->bad || n_nodes != map->n_nodes)
        return lb_map_fail(map, err, "a batch does not have the fields of the schema");
    for (size_t i = 0; i < map->n_nodes; i++) {
        int id = map->nodes[i].id, parent = map->nodes[i].parent;
        uint64_t first = buffer;
        buffer += (uint64_t)map->nodes[i].buffers;
        if (buffer > n_buffers)
            return lb_map_fail(map, err, "a batch lacks buffers");
        if (id < 0)
            continue;
        lb_map_array *a = &out->fields[id];
        if (!take_array(f, nodes + 16 * i, buffers + 16 * first, in, (unsigned)id, a))
            return lb_map_fail(map, err, "a buffer of column '%s' is missing, misplaced or too short",
                               lb_map_fields[id].name);
        uint64_t want = parent < 0 ? out->count : out->fields[parent].length;
        if ((parent < 0 || lb_map_fields[parent].type == LB_MAP_STRUCT) && a->length != want)
            return lb_map_fail(map, err, "column '%s' has another length than its batch", lb_map_fields[id].name);
    }
    return LB_OK;
}

/* The header of a part's message: its table RecordBatch. */
static lb_status open_batch(const lb_map *map, const lb_map_part *part, lb_flat *f, uint64_t *batch, uint64_t *rows,
                            lb_error *err)
{
    if (part->offset % 8 != 0 || part->head % 8 != 0 || !lb_flat_message(map->bytes + part->offset, part->head, f))
        return lb_map_fail(map, err, "the header of a batch is damaged");
    uint64_t message = lb_flat_follow(f, 0);
    uint64_t kind = f->bad ? 0 : lb_flat_scalar(f, message, 1, 1);
    *batch = f->bad ? 0 : lb_flat_table(f, message, 2);
    if (f->bad || kind != LB_IPC_RECORD_BATCH || *batch == 0)
        return lb_map_fail(map, err, "the header of a batch is damaged");
    if (lb_flat_field(f, *batch, 3) != 0)
        return lb_map_fail_as(map, err, LB_UNSUPPORTED, "its batches are compressed, which no map is");
    *rows = lb_flat_scalar(f, *batch, 0, 8);
    if (f->bad || *rows > INT64_MAX / 64)
        return lb_map_fail(map, err, "the header of a batch is damaged");
    return LB_OK;
}

/* Entries of a batch that have an error: those of that column that are not null. */
static lb_status count_failed(const lb_map *map, lb_flat *f, uint64_t batch, uint64_t rows, uint64_t *failed,
                              lb_error *err)
{
    uint64_t n, nodes = lb_flat_vector(f, batch, 1, 16, &n);
    *failed = 0;
    if (f->bad || n != map->n_nodes)
        return lb_map_fail(map, err, "a batch does not have the fields of the schema");
    for (size_t i = 0; i < map->n_nodes; i++) {
        if (map->nodes[i].id != LB_MAP_F_ERROR)
            continue;
        uint64_t nulls = lb_flat_read(f, nodes + 16 * i + 8, 8);
        if (f->bad || nulls > rows)
            return lb_map_fail(map, err, "a buffer of column '%s' is missing, misplaced or too short",
                               lb_map_fields[LB_MAP_F_ERROR].name);
        *failed = rows - nulls;
    }
    return LB_OK;
}

/* What a batch says of itself in its header. */
static lb_status read_header(const lb_map *map, const lb_map_part *part, uint64_t *rows, uint64_t *failed,
                             lb_error *err)
{
    lb_flat f = { 0 };
    uint64_t batch = 0;
    *rows = *failed = 0;
    LB_TRY(open_batch(map, part, &f, &batch, rows, err));
    return *rows == 0 ? LB_OK : count_failed(map, &f, batch, *rows, failed, err);
}

/* Place the batches. They neither overlap nor go back, so that their number is bounded by the file's size. */
static lb_status place_parts(lb_map *map, lb_flat *footer, uint64_t at, uint64_t n, lb_error *err)
{
    uint64_t end = 8;
    map->parts = n > SIZE_MAX / sizeof *map->parts ? NULL : calloc(n + 1, sizeof *map->parts);
    if (map->parts == NULL)
        return lb_fail_nomem(err);
    for (uint64_t i = 0; i < n; i++, at += LB_IPC_BLOCK) {
        uint64_t offset = lb_flat_read(footer, at, 8), head = lb_flat_read(footer, at + 8, 4);
        uint64_t length = lb_flat_read(footer, at + 16, 8);
        if (offset < end || offset > map->size || head > map->size - offset || length > map->size - offset - head)
            return lb_map_fail(map, err, "a batch lies outside the file or on another one");
        if (head < 8)
            return lb_map_fail(map, err, "the header of a batch is damaged");
        end = offset + head + length;
        map->parts[i] = (lb_map_part){ .offset = offset, .head = (uint32_t)head, .body = length };
    }
    return LB_OK;
}

/* A number of `bazan.batches`, and what follows it. */
static bool index_number(lb_str *text, char after, uint64_t *out)
{
    size_t n = 0;
    while (n < text->size && text->at[n] >= '0' && text->at[n] <= '9')
        n++;
    bool ends = n == text->size;
    if (!lb_parse_uint64(text->at, n, out) || *out > INT64_MAX / 64 ||
        (after == ',' ? !ends && text->at[n] != after : ends || text->at[n] != after))
        return false;
    *text = (lb_str){ text->at + n + !ends, text->size - n - !ends };
    return true;
}

/* Take in what `bazan.batches` says of `n` batches. False: it says nothing, or not this. */
static bool index_parts(lb_map *map, uint64_t n)
{
    lb_str text = map->batches;
    uint64_t entries = 0, row = 0;
    for (uint64_t i = 0; i < n; i++) {
        lb_map_part *part = &map->parts[i];
        if (!index_number(&text, ':', &part->count) || !index_number(&text, ':', &part->first_row) ||
            !index_number(&text, ',', &part->failed) || part->count == 0 || part->failed > part->count ||
            part->first_row < row || !lb_add_u64(entries, part->count, &entries))
            return false;
        row = part->first_row;
    }
    return text.size == 0 && map->batches.size != 0 && entries <= INT64_MAX / 64;
}

/* Read the headers of `n` batches; empty ones are left out. */
static lb_status head_parts(lb_map *map, uint64_t n, lb_error *err)
{
    size_t to = 0;
    for (uint64_t i = 0; i < n; i++) {
        lb_map_part part = { .offset = map->parts[i].offset, .head = map->parts[i].head, .body = map->parts[i].body };
        LB_TRY(read_header(map, &part, &part.count, &part.failed, err));
        if (part.count != 0)
            map->parts[to++] = part;
    }
    map->n_parts = to;
    return LB_OK;
}

/* Another program may have put the entries into other batches and kept the metadata: the first and the last batch
 * tell. */
static bool index_holds(const lb_map *map, uint64_t n)
{
    uint64_t rows, failed;
    for (uint64_t i = 0; i < n; i += LB_MAX(n - 1, 1u)) {
        const lb_map_part *part = &map->parts[i];
        if (read_header(map, part, &rows, &failed, NULL) != LB_OK || rows != part->count || failed != part->failed)
            return false;
    }
    return true;
}

static lb_status read_parts(lb_map *map, lb_flat *footer, uint64_t root, lb_error *err)
{
    uint64_t n, at = lb_flat_vector(footer, root, 3, LB_IPC_BLOCK, &n);
    if (footer->bad)
        return lb_map_fail(map, err, "its footer is damaged");
    LB_TRY(place_parts(map, footer, at, n, err));
    map->indexed = map->extended && index_parts(map, n) && index_holds(map, n);
    if (!map->indexed)
        LB_TRY(head_parts(map, n, err));
    else
        map->n_parts = (size_t)n;
    for (size_t i = 0; i < map->n_parts; i++) {
        map->parts[i].first_entry = map->count;
        map->count += map->parts[i].count;
        map->failed += map->parts[i].failed;
    }
    return LB_OK;
}

static lb_status check_index(const lb_map *map, const lb_map_part *part, const lb_map_batch *b, lb_error *err)
{
    const lb_map_array *error = &b->fields[LB_MAP_F_ERROR];
    uint64_t failed = error->present ? b->count - error->null_count : 0;
    if (map->indexed && (lb_map_u64_at(b, LB_MAP_F_FIRST_GLOBAL_ROW, 0) != part->first_row || failed != part->failed))
        return lb_map_fail(map, err, "bazan.batches says something else than a batch");
    return LB_OK;
}

lb_status lb_map_read_batch(const lb_map *map, const lb_map_part *part, lb_map_batch *out, lb_error *err)
{
    lb_flat f = { 0 };
    uint64_t batch = 0, rows = 0;
    const body in = { map->bytes + part->offset + part->head, part->body };
    LB_TRY(open_batch(map, part, &f, &batch, &rows, err));
    if (rows != part->count)
        return lb_map_fail(map, err, "bazan.batches says something else than a batch");
    *out = (lb_map_batch){ .first_entry = part->first_entry, .count = part->count };
    LB_TRY(take_arrays(map, &f, batch, &in, out, err));
    return check_index(map, part, out, err);
}

/* ---------------------------------------------------------------- the file */

static lb_status find_footer(lb_map *map, lb_flat *out, lb_error *err)
{
    const uint64_t tail = 4 + LB_IPC_MAGIC_SIZE;
    if (map->size < 8 + tail || memcmp(map->bytes, LB_IPC_MAGIC, LB_IPC_MAGIC_SIZE) != 0)
        return lb_map_fail(map, err, "it does not begin with " LB_IPC_MAGIC ", so it is no map");
    if (memcmp(map->bytes + map->size - LB_IPC_MAGIC_SIZE, LB_IPC_MAGIC, LB_IPC_MAGIC_SIZE) != 0)
        return lb_map_fail(map, err, "it does not end in " LB_IPC_MAGIC ": it is cut off or overwritten");
    uint32_t length;
    memcpy(&length, map->bytes + map->size - tail, sizeof length);
    if (length < 8 || length > map->size - 8 - tail)
        return lb_map_fail(map, err, "its footer of %u bytes does not fit", (unsigned)length);
    *out = (lb_flat){ .at = map->bytes + map->size - tail - length, .size = length };
    return LB_OK;
}

static lb_status keep_plan(lb_map *map, const plan *p, lb_error *err)
{
    map->nodes = lb_arena_dup(&map->arena, p->items, p->n * sizeof p->items[0]);
    map->n_nodes = p->n;
    memcpy(map->has, p->seen, sizeof map->has);
    return map->nodes == NULL ? lb_arena_fail(&map->arena, err) : LB_OK;
}

static lb_status read_footer(lb_map *map, plan *p, lb_map_meta_fn give, lb_error *err)
{
    lb_flat f = { 0 };
    LB_TRY(find_footer(map, &f, err));
    uint64_t root = lb_flat_follow(&f, 0), schema = f.bad ? 0 : lb_flat_table(&f, root, 1), n;
    if (f.bad || schema == 0)
        return lb_map_fail(map, err, "its footer is damaged");
    (void)lb_flat_vector(&f, root, 2, LB_IPC_BLOCK, &n);
    if (n != 0)
        return lb_map_fail_as(map, err, LB_UNSUPPORTED, "it has dictionaries, which no map has");
    LB_TRY(read_metadata(map, &f, schema, give, err));
    LB_TRY(plan_schema(map, &f, schema, p, err));
    LB_TRY(keep_plan(map, p, err));
    return read_parts(map, &f, root, err);
}

lb_status lb_map_read_file(lb_map *map, lb_map_meta_fn give, unsigned *n_columns, lb_error *err)
{
    plan *p = calloc(1, sizeof *p);
    if (p == NULL)
        return lb_fail_nomem(err);
    lb_status status = read_footer(map, p, give, err);
    *n_columns = p->n_columns;
    free(p);
    return status;
}

bool lb_map_count_schema_fields(lb_str message, uint64_t *out)
{
    lb_flat f = { 0 };
    if (!lb_flat_message((const uint8_t *)message.at, message.size, &f))
        return false;
    uint64_t root = lb_flat_follow(&f, 0);
    if (f.bad || lb_flat_scalar(&f, root, 1, 1) != 1)
        return false;
    uint64_t schema = lb_flat_table(&f, root, 2);
    if (f.bad || schema == 0)
        return false;
    (void)lb_flat_vector(&f, schema, 1, 4, out);
    return !f.bad;
}
