#include "lake/lake_catalog.h"

#include <inttypes.h>

#include "base/context.h"
#include "base/names.h"
#include "base/path.h"
#include "column/ipc.h"
#include "lake/build.h"
#include "lineage/lineage_catalog.h"

#define SQL_TYPE_DEPTH 64 /* deeper ones are taken as scalar */

/* ---------------------------------------------------------------- names */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static const char *lower_copy(lb_str text, lb_arena *arena)
{
    char *copy = lb_arena_copy(arena, text);
    for (size_t i = 0; copy != NULL && i < text.size; i++)
        copy[i] = lower(copy[i]);
    return copy;
}

const char *lb_lake_table_name(lb_str rel_path, lb_arena *arena)
{
    lb_str name = lb_path_name(rel_path);
    const char *dot = name.size < 2 ? NULL : memchr(name.at + 1, '.', name.size - 1);
    if (dot != NULL)
        name.size = (size_t)(dot - name.at);
    return lower_copy(name, arena);
}

const char *lb_lake_table_db(lb_str rel_path, const char *default_db, lb_arena *arena)
{
    lb_str name = lb_path_name(rel_path);
    if (name.size == rel_path.size)
        return lower_copy(lb_str_of(default_db), arena);
    char *db = lb_arena_copy(arena, (lb_str){ rel_path.at, rel_path.size - name.size - 1 });
    for (char *at = db; at != NULL && *at != '\0'; at++)
        *at = *at == '/' ? '_' : lower(*at);
    return db;
}

/* ---------------------------------------------------------------- types */

static lb_status write_type(const struct ArrowSchema *type, unsigned depth, lb_buf *out, lb_error *err);

/* A field's name, in backquotes where it is no plain one. */
static lb_status write_field_name(const char *name, lb_buf *out, lb_error *err)
{
    size_t n = name == NULL ? 0 : strlen(name);
    bool plain = n > 0 && !(name[0] >= '0' && name[0] <= '9');
    for (size_t i = 0; i < n && plain; i++) {
        char c = lower(name[i]);
        plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    }
    if (plain)
        return lb_buf_append(out, name, n, err);
    LB_TRY(lb_buf_append(out, "`", 1, err));
    for (size_t i = 0; i < n; i++)
        LB_TRY(lb_buf_append(out, name[i] == '`' ? "``" : &name[i], name[i] == '`' ? 2 : 1, err));
    return lb_buf_append(out, "`", 1, err);
}

static lb_status write_struct(const struct ArrowSchema *type, unsigned depth, lb_buf *out, lb_error *err)
{
    LB_TRY(lb_buf_append_str(out, "struct<", err));
    for (int64_t i = 0; i < type->n_children; i++) {
        if (i > 0)
            LB_TRY(lb_buf_append(out, ",", 1, err));
        LB_TRY(write_field_name(type->children[i]->name, out, err));
        LB_TRY(lb_buf_append(out, ":", 1, err));
        LB_TRY(write_type(type->children[i], depth, out, err));
    }
    return lb_buf_append(out, ">", 1, err);
}

static lb_status write_array(const struct ArrowSchema *type, unsigned depth, lb_buf *out, lb_error *err)
{
    LB_TRY(lb_buf_append_str(out, "array<", err));
    LB_TRY(write_type(type->children[0], depth, out, err));
    return lb_buf_append(out, ">", 1, err);
}

static lb_status write_map(const struct ArrowSchema *type, unsigned depth, lb_buf *out, lb_error *err)
{
    const struct ArrowSchema *pair = type->children[0];
    LB_TRY(lb_buf_append_str(out, "map<", err));
    LB_TRY(write_type(pair->children[0], depth, out, err));
    LB_TRY(lb_buf_append(out, ",", 1, err));
    LB_TRY(write_type(pair->children[1], depth, out, err));
    return lb_buf_append(out, ">", 1, err);
}

static const struct {
    enum ArrowType type;
    const char *word;
} sql_words[] = {
    { NANOARROW_TYPE_BOOL, "boolean" },         { NANOARROW_TYPE_INT8, "tinyint" },
    { NANOARROW_TYPE_UINT8, "smallint" },       { NANOARROW_TYPE_INT16, "smallint" },
    { NANOARROW_TYPE_UINT16, "int" },           { NANOARROW_TYPE_INT32, "int" },
    { NANOARROW_TYPE_UINT32, "bigint" },        { NANOARROW_TYPE_INT64, "bigint" },
    { NANOARROW_TYPE_UINT64, "decimal(20,0)" }, { NANOARROW_TYPE_HALF_FLOAT, "float" },
    { NANOARROW_TYPE_FLOAT, "float" },          { NANOARROW_TYPE_DOUBLE, "double" },
    { NANOARROW_TYPE_BINARY, "binary" },        { NANOARROW_TYPE_LARGE_BINARY, "binary" },
    { NANOARROW_TYPE_BINARY_VIEW, "binary" },   { NANOARROW_TYPE_FIXED_SIZE_BINARY, "binary" },
    { NANOARROW_TYPE_DATE32, "date" },          { NANOARROW_TYPE_DATE64, "date" },
    { NANOARROW_TYPE_TIMESTAMP, "timestamp" },
};

static lb_status write_type(const struct ArrowSchema *type, unsigned depth, lb_buf *out, lb_error *err)
{
    struct ArrowSchemaView view;
    if (depth == SQL_TYPE_DEPTH || ArrowSchemaViewInit(&view, type, NULL) != NANOARROW_OK)
        return lb_buf_append_str(out, "string", err);
    switch (view.type) {
    case NANOARROW_TYPE_STRUCT:
        return write_struct(type, depth + 1, out, err);
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_LARGE_LIST:
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
        return write_array(type, depth + 1, out, err);
    case NANOARROW_TYPE_MAP:
        return write_map(type, depth + 1, out, err);
    case NANOARROW_TYPE_DICTIONARY:
        return write_type(type->dictionary, depth + 1, out, err);
    case NANOARROW_TYPE_DECIMAL32:
    case NANOARROW_TYPE_DECIMAL64:
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        return lb_buf_printf(out, err, "decimal(%" PRId32 ",%" PRId32 ")", view.decimal_precision, view.decimal_scale);
    default:
        break;
    }
    for (size_t i = 0; i < LB_COUNT_OF(sql_words); i++)
        if (sql_words[i].type == view.type)
            return lb_buf_append_str(out, sql_words[i].word, err);
    return lb_buf_append_str(out, "string", err);
}

lb_status lb_lake_sql_type(const struct ArrowSchema *type, lb_buf *out, lb_error *err)
{
    return write_type(type, 0, out, err);
}

/* ---------------------------------------------------------------- tables */

typedef struct lake_tables {
    lb_catalog *catalog;
    lb_context *cx;
    const char *root, *default_db;
    lb_names seen;  /* "db\x01name" → place of the file in the map */
    lb_arena names; /* of them */
    lb_arena arena; /* of one file */
} lake_tables;

static const char *column_type(const struct ArrowSchema *type, lb_arena *arena, lb_error *err)
{
    lb_buf text;
    lb_buf_init(&text, arena->budget);
    const char *copy = NULL;
    if (lb_lake_sql_type(type, &text, err) == LB_OK) {
        copy = lb_arena_copy(arena, (lb_str){ (const char *)text.data, text.size });
        if (copy == NULL)
            (void)lb_arena_fail(arena, err);
    }
    lb_buf_free(&text);
    return copy;
}

/* Columns of the file, each name once whatever its case: SQL could not name the others. */
static lb_status columns_of(lake_tables *l, const struct ArrowSchema *schema, lb_catalog_spec *spec, lb_error *err)
{
    lb_names names = { 0 };
    lb_status status = LB_OK;
    lb_catalog_column_spec *columns = lb_arena_alloc(&l->arena, (size_t)schema->n_children + 1, sizeof *columns);
    if (columns == NULL)
        return lb_arena_fail(&l->arena, err);
    for (int64_t i = 0; i < schema->n_children && status == LB_OK; i++) {
        const struct ArrowSchema *child = schema->children[i];
        const char *name = lower_copy(lb_str_of(child->name == NULL ? "" : child->name), &l->arena);
        bool was_there = false;
        status =
            name == NULL ? lb_arena_fail(&l->arena, err) : lb_names_add(&names, lb_str_of(name), 0, &was_there, err);
        if (status != LB_OK || name == NULL || was_there || *name == '\0')
            continue;
        lb_catalog_column_spec *column = &columns[spec->n_columns++];
        *column = (lb_catalog_column_spec){ .name = name, .type = column_type(child, &l->arena, err) };
        if (column->type == NULL)
            status = err == NULL ? LB_NOMEM : err->code;
    }
    lb_names_free(&names);
    spec->columns = columns;
    return status;
}

static lb_status put_file(lake_tables *l, const lb_entry *entry, lb_catalog_spec *spec, lb_error *err)
{
    struct ArrowSchema schema = { 0 };
    const char *rel = lb_arena_copy(&l->arena, entry->rel_path);
    spec->location = rel == NULL ? NULL : lb_path_join(&l->arena, l->root, rel);
    if (spec->location == NULL)
        return lb_arena_fail(&l->arena, err);
    spec->create_time = entry->mtime_ns / 1000000000;
    if (entry->arrow_schema.size == 0)
        return lb_catalog_put(l->catalog, spec, err);
    LB_TRY(lb_ipc_decode_schema(entry->arrow_schema.at, entry->arrow_schema.size, &schema, err));
    lb_status status = columns_of(l, &schema, spec, err);
    if (status == LB_OK)
        status = lb_catalog_put(l->catalog, spec, err);
    schema.release(&schema);
    return status;
}

/* Was a file of an earlier path given this name? Then it stays that one's. */
static lb_status is_taken(lake_tables *l, const lb_catalog_spec *spec, lb_str rel_path, bool *taken, lb_error *err)
{
    lb_buf key;
    lb_buf_init(&key, NULL);
    lb_status status = lb_buf_printf(&key, err, "%s\x01%s", spec->db, spec->name);
    if (status == LB_OK) {
        lb_str kept = { lb_arena_copy(&l->names, (lb_str){ (const char *)key.data, key.size }), key.size };
        status = kept.at == NULL ? lb_arena_fail(&l->names, err) : lb_names_add(&l->seen, kept, 0, taken, err);
    }
    lb_buf_free(&key);
    if (status == LB_OK && *taken)
        lb_note(l->cx, "%.*s is no table of its own: another file is %s.%s already", (int)LB_MIN(rel_path.size, 300u),
                rel_path.at, spec->db, spec->name);
    return status;
}

static lb_status add_entry(lake_tables *l, const lb_map *map, uint64_t index, lb_error *err)
{
    lb_entry entry;
    bool taken = false;
    LB_TRY(lb_map_view(map, index, &l->arena, &entry, err));
    if (!lb_entry_has_rows(&entry)) {
        lb_note(l->cx, "%.*s is no table: it could not be read", (int)LB_MIN(entry.rel_path.size, 300u),
                entry.rel_path.at);
        return LB_OK;
    }
    lb_catalog_spec spec = { .db = lb_lake_table_db(entry.rel_path, l->default_db, &l->arena),
                             .name = lb_lake_table_name(entry.rel_path, &l->arena) };
    if (spec.db == NULL || spec.name == NULL)
        return lb_arena_fail(&l->arena, err);
    LB_TRY(is_taken(l, &spec, entry.rel_path, &taken, err));
    return taken ? LB_OK : put_file(l, &entry, &spec, err);
}

/* In the order of paths, so that which of two files gives a name its table does not depend on the map. */
static lb_status add_entries(lake_tables *l, const lb_map *map, lb_error *err)
{
    uint64_t n = lb_map_count(map);
    lb_status status = LB_OK;
    for (uint64_t i = 0; i < n && status == LB_OK; i++) {
        status = lb_check_cancel(l->cx, err);
        lb_arena_init(&l->arena, &l->cx->budget);
        if (status == LB_OK)
            status = add_entry(l, map, lb_map_by_path(map, i), err);
        lb_arena_free(&l->arena);
    }
    return status;
}

static lb_status load_map(lb_context *cx, const char *dir, lb_map **map, lb_error *err)
{
    lb_map_options options = { .struct_size = sizeof options, .stats = "none", .record_errors = true };
    lb_status status = lb_map_open(cx, dir, map, err);
    if (status != LB_NOTFOUND)
        return status;
    lb_error_clear(err);
    return lb_map_build_unsaved(cx, dir, &options, NULL, false, map, err);
}

lb_status lb_catalog_add_lake(lb_catalog *catalog, lb_context *cx, const char *dir, const char *default_db,
                              lb_error *err)
{
    lb_map *map = NULL;
    lake_tables l = { .catalog = catalog, .cx = cx, .default_db = default_db == NULL ? "default" : default_db };
    lb_error_clear(err);
    lb_arena_init(&l.names, &cx->budget);
    l.root = lb_path_normal(&l.names, dir);
    lb_status status = l.root == NULL ? lb_arena_fail(&l.names, err) : load_map(cx, dir, &map, err);
    if (status == LB_OK)
        status = add_entries(&l, map, err);
    lb_map_close(map);
    lb_names_free(&l.seen);
    lb_arena_free(&l.names);
    return status;
}
