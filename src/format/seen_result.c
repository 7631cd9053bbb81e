/* What comes of a survey: types, schema, statistics. */
#include "column/ipc.h"
#include "format/seen.h"

static const char *result_declared(const lb_seen_result *s, lb_str name)
{
    const lb_read_options *o = s->read;

    for (size_t i = o == NULL ? 0 : o->n_columns; i-- > 0;)
        if (lb_str_is(name, o->columns[i].name) && strcmp(o->columns[i].type, "map") != 0)
            return o->columns[i].type;
    return NULL;
}

static lb_status result_declare(struct ArrowSchema *field, const char *type, lb_error *err)
{
    LB_TRY(lb_type_of_words(type, field, err));
    return lb_schema_set_meta(field, LB_META_DECLARED, LB_STR("true"), err);
}

static lb_status result_field(const lb_seen_result *s, const lb_seen *n, lb_str name, struct ArrowSchema *field,
                              lb_error *err)
{
    const char *declared = result_declared(s, name);

    field->release(field);
    if (declared != NULL)
        LB_TRY(result_declare(field, declared, err));
    else
        LB_TRY(lb_seen_schema(n, s->text, field, err));
    return lb_schema_set_name(field, name, err);
}

/* Rows that are not all objects are one column. */
static lb_status result_schema(const lb_seen_result *s, struct ArrowSchema *out, lb_error *err)
{
    const lb_seen *rows = s->rows;
    const bool columns = lb_seen_rows_are_objects(rows, s->n_rows) || s->options->rows_only;
    const size_t n = columns ? rows->keys.count : 1;

    LB_TRY(lb_schema_struct(out, (int64_t)n, err));
    if (!columns) {
        LB_TRY(result_field(s, rows, LB_STR(LB_ROWS_VALUE), out->children[0], err));
        return lb_schema_set_meta(out->children[0], LB_META_ROWS, LB_STR("true"), err);
    }
    for (size_t i = 0; i < n; i++) {
        LB_TRY(lb_seen_check_name(rows, i, err));
        LB_TRY(result_field(s, rows->members[i].node, rows->keys.items[i].name, out->children[i], err));
    }
    return LB_OK;
}

static lb_status result_keep_schema(const lb_seen_result *s, const struct ArrowSchema *schema, lb_entry *out,
                                    lb_error *err)
{
    lb_buf bytes;

    lb_buf_init(&bytes, s->arena->budget);
    lb_status status = lb_ipc_encode_schema(schema, &bytes, err);
    if (status == LB_OK) {
        out->arrow_schema = (lb_str){ lb_arena_dup(s->arena, bytes.data, bytes.size), bytes.size };
        status = out->arrow_schema.at == NULL ? lb_arena_fail(s->arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    return status;
}

/* ---------------------------------------------------------------- statistics */

/* Where statistics go: those of the columns first, then those of leaves inside structs, by their dotted paths. */
typedef struct result_stats {
    const lb_seen_result *s;
    uint64_t rows;
    lb_colstat *items; /* room for all; NULL: only counted */
    uint32_t *columns; /* of which column each is; may be NULL */
    size_t count;
    lb_error *err;
} result_stats;

static bool result_wants(const lb_seen_result *s, lb_str name)
{
    const lb_survey_options *o = s->options;

    if (o->stats == LB_STATS_ALL || o->stats == LB_STATS_BLOCKS)
        return true;
    for (size_t i = 0; o->stats == LB_STATS_NAMED && o->stats_columns != NULL && o->stats_columns[i] != NULL; i++)
        if (lb_str_is(name, o->stats_columns[i]))
            return true;
    return false;
}

static lb_status result_put(result_stats *r, const lb_seen *n, lb_str name, const struct ArrowSchema *type,
                            uint32_t column)
{
    const lb_seen_result *s = r->s;
    lb_str declared;

    if (r->items != NULL) {
        const lb_str copy = { lb_arena_copy(s->arena, name), name.size };
        if (copy.at == NULL)
            return lb_arena_fail(s->arena, r->err);
        const bool bounds = !lb_schema_get_meta(type, LB_META_DECLARED, &declared);
        LB_TRY(lb_seen_stat(n, copy, type, r->rows, bounds, s->arena, &r->items[r->count], r->err));
        if (r->columns != NULL)
            r->columns[r->count] = column;
    }
    r->count++;
    return LB_OK;
}

static const lb_seen *result_member(const lb_seen *n, size_t i, const struct ArrowSchema *type)
{
    const size_t number = lb_keys_of(&n->keys, lb_str_of(type->children[i]->name));

    return number == LB_NO_KEY ? NULL : n->members[number].node;
}

static bool result_is_struct(const lb_seen *n, const struct ArrowSchema *type)
{
    return strcmp(type->format, "+s") == 0 && !n->mixed && !n->map;
}

/* The leaves inside a struct. `path` ends in its name. */
static lb_status result_leaves(result_stats *r, const lb_seen *n, const struct ArrowSchema *type, lb_buf *path,
                               uint32_t column)
{
    const size_t size = path->size;

    for (size_t i = 0; i < (size_t)type->n_children; i++) {
        const struct ArrowSchema *field = type->children[i];
        const lb_seen *member = result_member(n, i, type);
        if (member == NULL)
            continue;
        LB_TRY(lb_buf_append_str(path, ".", r->err));
        LB_TRY(lb_buf_append_str(path, field->name, r->err));
        if (result_is_struct(member, field))
            LB_TRY(result_leaves(r, member, field, path, column));
        else
            LB_TRY(result_put(r, member, (lb_str){ (const char *)path->data, path->size }, field, column));
        path->size = size;
    }
    return LB_OK;
}

static const lb_seen *result_column(const lb_seen *rows, size_t i, const struct ArrowSchema *schema)
{
    return lb_schema_is_value(schema) ? rows : result_member(rows, i, schema);
}

static lb_status result_columns(result_stats *r, const lb_seen *rows, const struct ArrowSchema *schema)
{
    static const lb_seen nothing;
    lb_buf path;
    lb_status status = LB_OK;

    for (size_t i = 0; i < (size_t)schema->n_children; i++) {
        const lb_str name = lb_str_of(schema->children[i]->name);
        const lb_seen *n = result_column(rows, i, schema);
        if (result_wants(r->s, name))
            LB_TRY(result_put(r, n == NULL ? &nothing : n, name, schema->children[i], (uint32_t)i));
    }
    lb_buf_init(&path, r->s->arena->budget);
    for (size_t i = 0; i < (size_t)schema->n_children && status == LB_OK; i++) {
        const struct ArrowSchema *field = schema->children[i];
        const lb_seen *n = result_column(rows, i, schema);
        if (n == NULL || !result_wants(r->s, lb_str_of(field->name)) || !result_is_struct(n, field))
            continue;
        path.size = 0;
        status = lb_buf_append_str(&path, field->name, r->err);
        if (status == LB_OK)
            status = result_leaves(r, n, field, &path, (uint32_t)i);
    }
    lb_buf_free(&path);
    return status;
}

static lb_status result_file_stats(const lb_seen_result *s, const struct ArrowSchema *schema, lb_entry *out,
                                   lb_error *err)
{
    result_stats r = { .s = s, .rows = s->n_rows, .err = err };

    if (s->options->stats == LB_STATS_OFF || s->options->rows_only)
        return LB_OK;
    LB_TRY(result_columns(&r, s->rows, schema));
    r.items = lb_arena_alloc(s->arena, r.count, sizeof *r.items);
    if (r.items == NULL)
        return lb_arena_fail(s->arena, err);
    r.count = 0;
    LB_TRY(result_columns(&r, s->rows, schema));
    out->columns = (lb_colstats){ r.count, r.items };
    return LB_OK;
}

/* ---------------------------------------------------------------- of blocks */

typedef struct result_blocks {
    lb_buf items, columns, blocks;
} result_blocks;

static lb_status result_block(const lb_seen_result *s, const struct ArrowSchema *schema, uint32_t block, uint64_t rows,
                              const lb_seen *seen, result_blocks *to, lb_error *err)
{
    result_stats r = { .s = s, .rows = rows, .err = err };

    LB_TRY(result_columns(&r, seen, schema));
    const size_t n = r.count;
    if (n == 0)
        return LB_OK;
    LB_TRY(lb_buf_reserve(&to->items, n * sizeof *r.items, err));
    LB_TRY(lb_buf_reserve(&to->columns, n * sizeof *r.columns, err));
    r.items = (lb_colstat *)(void *)(to->items.data + to->items.size);
    r.columns = (uint32_t *)(void *)(to->columns.data + to->columns.size);
    r.count = 0;
    LB_TRY(result_columns(&r, seen, schema));
    to->items.size += n * sizeof *r.items;
    to->columns.size += n * sizeof *r.columns;
    for (size_t i = 0; i < n; i++)
        LB_TRY(lb_buf_append(&to->blocks, &block, sizeof block, err));
    return LB_OK;
}

/* Statistics of blocks, under the types that the whole file gave. */
static lb_status result_each_block(const lb_seen_result *s, const struct ArrowSchema *schema, const lb_blocks *blocks,
                                   result_blocks *to, lb_error *err)
{
    lb_cursor c;

    lb_cursor_init(&c, s->closed.data, s->closed.size, 0);
    for (uint64_t i = 0; i < s->n_closed; i++) {
        lb_arena arena;
        lb_seen *seen;
        lb_arena_init(&arena, s->arena->budget);
        lb_status status = lb_seen_get(&c, &arena, &seen, err);
        if (status == LB_OK && c.bad)
            status = lb_fail(err, LB_INTERNAL, LB_NOWHERE, "what was kept of block %llu does not read",
                             (unsigned long long)i);
        if (status == LB_OK)
            status = result_block(s, schema, (uint32_t)i, blocks->row_count[i], seen, to, err);
        lb_arena_free(&arena);
        LB_TRY(status);
    }
    return LB_OK;
}

static lb_status result_block_stats(const lb_seen_result *s, const struct ArrowSchema *schema, lb_entry *out,
                                    lb_error *err)
{
    result_blocks to;

    if (s->n_closed == 0)
        return LB_OK;
    lb_buf_init(&to.items, s->arena->budget);
    lb_buf_init(&to.columns, s->arena->budget);
    lb_buf_init(&to.blocks, s->arena->budget);
    lb_status status = result_each_block(s, schema, &out->blocks, &to, err);
    if (status == LB_OK) {
        out->block_columns.count = to.items.size / sizeof(lb_colstat);
        out->block_columns.items = lb_arena_dup(s->arena, to.items.data, to.items.size);
        out->block_of_column = lb_arena_dup(s->arena, to.blocks.data, to.blocks.size);
        out->column_of_column = lb_arena_dup(s->arena, to.columns.data, to.columns.size);
        if (out->block_columns.items == NULL || out->block_of_column == NULL || out->column_of_column == NULL)
            status = lb_arena_fail(s->arena, err);
    }
    lb_buf_free(&to.items);
    lb_buf_free(&to.columns);
    lb_buf_free(&to.blocks);
    return status;
}

/* ---------------------------------------------------------------- the rest of the entry */

static lb_status result_check_declared(const lb_seen_result *s, const struct ArrowSchema *schema)
{
    const lb_read_options *o = s->read;

    for (size_t i = 0; o != NULL && i < o->n_columns; i++) {
        bool found = false;
        for (int64_t k = 0; k < schema->n_children; k++)
            found |= strcmp(schema->children[k]->name, o->columns[i].name) == 0;
        /* A lake's files need not all have a column that is declared for all of them. */
        if (!found && !s->options->rows_only)
            lb_note(s->cx, "%s has no column '%s', which --column declares", s->path, o->columns[i].name);
    }
    return LB_OK;
}

lb_status lb_seen_finish(const lb_seen_result *s, lb_entry *out, lb_error *err)
{
    struct ArrowSchema schema = { 0 };

    lb_status status = result_schema(s, &schema, err);
    if (status == LB_OK)
        status = result_check_declared(s, &schema);
    if (status == LB_OK)
        status = result_file_stats(s, &schema, out, err);
    if (status == LB_OK)
        status = result_block_stats(s, &schema, out, err);
    if (status == LB_OK)
        status = result_keep_schema(s, &schema, out, err);
    if (schema.release != NULL)
        schema.release(&schema);
    return status;
}
