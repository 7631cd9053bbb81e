/* Lance v1 data files, written: columns made of fields, groups, companions, and what stands behind the pages. */
#include "format/lance/lance_write.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/lance/lance_write_parts.h"

/* ---------------------------------------------------------------- columns of fields */

static lw_kind column_kind(const struct ArrowSchemaView *v)
{
    switch (v->type) {
    case NANOARROW_TYPE_NA:
        return LW_NULL;
    case NANOARROW_TYPE_BOOL:
        return LW_BITS;
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_BINARY:
        return LW_BYTES;
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_LARGE_LIST:
        return LW_LIST;
    case NANOARROW_TYPE_STRUCT:
        return LW_STRUCT;
    case NANOARROW_TYPE_DICTIONARY:
        return LW_KEYS;
    default:
        return LW_FIXED;
    }
}

static size_t column_width(const struct ArrowSchemaView *v)
{
    enum ArrowType type = v->type == NANOARROW_TYPE_DICTIONARY ? v->storage_type : v->type;
    struct ArrowLayout layout;
    if (type == NANOARROW_TYPE_DECIMAL32 || type == NANOARROW_TYPE_DECIMAL64)
        return 16;
    if (type == NANOARROW_TYPE_FIXED_SIZE_BINARY)
        return (size_t)v->fixed_size;
    ArrowLayoutInit(&layout, v->storage_type);
    return (size_t)(layout.element_size_bits[1] / 8);
}

/* Width of a dictionary's keys by the field's logical type, dict:VALUE:KEY:ORDERED; signed ones lose a bit. 0: none. */
static size_t column_key_width(const lb_lance_field *field, bool *with_sign)
{
    static const struct {
        const char *word;
        size_t width;
        bool with_sign;
    } keys[] = { { "int8", 1, true },   { "int16", 2, true },   { "int32", 4, true },   { "int64", 8, true },
                 { "uint8", 1, false }, { "uint16", 2, false }, { "uint32", 4, false }, { "uint64", 8, false } };
    lb_str type = lb_lance_str(field->logical_type);
    const char *colon =
        type.size > 5 && memcmp(type.at, "dict:", 5) == 0 ? memchr(type.at + 5, ':', type.size - 5) : NULL;
    const char *end = colon == NULL ? NULL : memchr(colon + 1, ':', (size_t)(type.at + type.size - colon - 1));
    for (size_t i = 0; end != NULL && i < LB_COUNT_OF(keys); i++)
        if (lb_str_is((lb_str){ colon + 1, (size_t)(end - colon - 1) }, keys[i].word)) {
            *with_sign = keys[i].with_sign;
            return keys[i].width;
        }
    return 0;
}

/* A field that is a dictionary; its batches may hold plain values. */
static lb_status column_dictionary(lb_lance_writer *w, lw_column *c, size_t key_width, bool with_sign, lb_error *err)
{
    struct ArrowSchemaView v;
    unsigned bits = (unsigned)(key_width * 8) - with_sign;
    c->decoded = c->schema->dictionary == NULL;
    LB_TRY(lb_schema_view(c->decoded ? c->schema : c->schema->dictionary, &v, err));
    c->kind = LW_KEYS;
    c->width = key_width;
    lw_dictionary_init(&c->dictionary, &w->cx->budget, column_kind(&v) == LW_BYTES ? 0 : column_width(&v),
                       bits >= 63 ? INT64_MAX : (uint64_t)1 << bits);
    return LB_OK;
}

/* Step into fixed-size lists, down to the values. */
static lb_status column_levels(lw_column *c, struct ArrowSchemaView *v, lb_error *err)
{
    const struct ArrowSchema *s = c->schema;
    while (v->type == NANOARROW_TYPE_FIXED_SIZE_LIST) {
        if (c->levels == LB_TYPE_DEPTH)
            return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a type is nested more than %d deep", LB_TYPE_DEPTH);
        c->each[c->levels++] = v->fixed_size;
        s = s->children[0];
        LB_TRY(lb_schema_view(s, v, err));
    }
    return LB_OK;
}

static lb_status column_init(lb_lance_writer *w, lw_column *c, const struct ArrowSchema *schema, lb_lance_field *field,
                             size_t parent, lb_error *err)
{
    struct ArrowSchemaView v;
    *c = (lw_column){ .schema = schema, .field = field, .parent = parent };
    lb_buf_init(&c->pages, &w->cx->budget);
    lb_buf_init(&c->numbers, &w->cx->budget);
    lw_dictionary_init(&c->dictionary, &w->cx->budget, 0, 0);
    LB_TRY(lb_schema_view(schema, &v, err));
    c->large = v.type == NANOARROW_TYPE_LARGE_LIST;
    LB_TRY(column_levels(c, &v, err));
    c->kind = column_kind(&v);
    c->width = column_width(&v);
    bool with_sign = false;
    size_t key_width = column_key_width(field, &with_sign);
    if (key_width != 0)
        LB_TRY(column_dictionary(w, c, key_width, with_sign, err));
    else if (c->kind == LW_KEYS)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "fields and schema do not go together");
    c->valid = lb_arena_alloc(&w->arena, c->levels + 1, sizeof *c->valid);
    if (c->valid == NULL)
        return lb_arena_fail(&w->arena, err);
    for (unsigned i = 0; i <= c->levels; i++) {
        lb_buf_init(&c->valid[i].bits, &w->cx->budget);
        lb_buf_init(&c->valid[i].groups, &w->cx->budget);
    }
    return LB_OK;
}

static lb_status columns_of(lb_lance_writer *w, const struct ArrowSchema *schema, const lb_lance_fields *fields,
                            size_t parent, int depth, lb_error *err)
{
    if (w->n_columns >= fields->count || depth > LB_TYPE_DEPTH)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "fields and schema do not go together");
    size_t at = w->n_columns++;
    lw_column *c = &w->columns[at];
    LB_TRY(column_init(w, c, schema, fields->items[at], parent, err));
    for (int64_t i = 0; (c->kind == LW_LIST || c->kind == LW_STRUCT) && i < schema->n_children; i++)
        LB_TRY(columns_of(w, schema->children[i], fields, at, depth + 1, err));
    c->n_inside = w->n_columns - at - 1;
    return LB_OK;
}

lb_status lb_lance_writer_new(lb_context *cx, const struct ArrowSchema *schema, const lb_lance_fields *fields,
                              const lb_lance_writer_options *options, lb_lance_writer **out, lb_error *err)
{
    *out = NULL;
    lb_lance_writer *w = calloc(1, sizeof *w);
    if (w == NULL)
        return lb_fail_nomem(err);
    w->cx = cx;
    w->schema = schema;
    w->options = *options;
    lb_arena_init(&w->arena, &cx->budget);
    lb_buf_init(&w->sink.held, &cx->budget);
    lb_buf_init(&w->group_ends, &cx->budget);
    lb_buf_init(&w->scratch, &cx->budget);
    w->columns = lb_arena_alloc(&w->arena, fields->count, sizeof *w->columns);
    lb_status s = w->columns == NULL ? lb_arena_fail(&w->arena, err) : LB_OK;
    for (int64_t i = 0; w->columns != NULL && i < schema->n_children && s == LB_OK; i++)
        s = columns_of(w, schema->children[i], fields, SIZE_MAX, 0, err);
    if (s == LB_OK && w->n_columns != fields->count)
        s = lb_fail(err, LB_INTERNAL, LB_NOWHERE, "fields and schema do not go together");
    if (s == LB_OK)
        *out = w;
    else
        lb_lance_writer_free(w);
    return s;
}

static void column_free(lw_column *c)
{
    for (unsigned i = 0; c->valid != NULL && i <= c->levels; i++) {
        lb_buf_free(&c->valid[i].bits);
        lb_buf_free(&c->valid[i].groups);
    }
    lb_buf_free(&c->pages);
    lb_buf_free(&c->numbers);
    lw_dictionary_free(&c->dictionary);
}

void lb_lance_writer_free(lb_lance_writer *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->n_columns; i++)
        column_free(&w->columns[i]);
    lb_buf_free(&w->sink.held);
    lb_buf_free(&w->group_ends);
    lb_buf_free(&w->scratch);
    lb_arena_free(&w->arena);
    free(w);
}

lb_status lb_lance_writer_set_dictionary(lb_lance_writer *w, size_t field, uint64_t count, const uint64_t *ends,
                                         const uint8_t *data, lb_error *err)
{
    lw_dictionary *d = &w->columns[field].dictionary;
    uint64_t from = 0;
    if (w->columns[field].kind != LW_KEYS || (ends == NULL) != (d->width != 0))
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a dictionary of another type than its field");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t to = ends != NULL ? ends[i] : from + d->width;
        LB_TRY(lw_dictionary_add(d, (lb_str){ (const char *)data + from, (size_t)(to - from) }, err));
        from = to;
    }
    return LB_OK;
}

static lw_column *writer_find(lb_lance_writer *w, int32_t id)
{
    for (size_t i = 0; i < w->n_columns; i++)
        if (w->columns[i].field->id == id)
            return &w->columns[i];
    return NULL;
}

/* ---------------------------------------------------------------- batches and groups */

lb_status lb_lance_batch_open(lb_lance_writer *w, struct ArrowArray *array, lb_lance_batch **out, lb_error *err)
{
    struct ArrowError why = { "" };
    lb_lance_batch *b = calloc(1, sizeof *b);
    *out = NULL;
    if (b == NULL) {
        array->release(array);
        return lb_fail_nomem(err);
    }
    ArrowArrayMove(array, &b->array);
    b->serial = ++w->serial;
    lb_status s = lb_view_open(w->schema, &b->array, &b->view, err);
    if (s == LB_OK)
        s = lb_fail_arrow(err, ArrowArrayViewValidate(&b->view, NANOARROW_VALIDATION_LEVEL_FULL, &why), &why);
    if (s == LB_OK)
        *out = b;
    else
        lb_lance_batch_free(b);
    return s;
}

void lb_lance_batch_free(lb_lance_batch *b)
{
    if (b == NULL)
        return;
    ArrowArrayViewReset(&b->view);
    b->array.release(&b->array);
    free(b);
}

int64_t lb_lance_batch_rows(const lb_lance_batch *batch)
{
    return batch->view.length;
}

void lb_lance_writer_begin(lb_lance_writer *w, lb_write_fn write, void *user)
{
    w->sink.write = write;
    w->sink.user = user;
    w->sink.at = 0;
    w->sink.held.size = 0;
    w->group_ends.size = 0;
    w->rows = 0;
    for (size_t i = 0; i < w->n_columns; i++) {
        lw_column *c = &w->columns[i];
        c->pages.size = 0;
        for (unsigned level = 0; level <= c->levels; level++) {
            c->valid[level].bits.size = c->valid[level].groups.size = 0;
            c->valid[level].count = 0;
            c->valid[level].dirty = false;
        }
    }
}

/* A run of a batch's rows for each part, seen as one column. */
static void group_runs(const lb_lance_rows *parts, size_t n, int64_t child, lw_run *runs)
{
    for (size_t i = 0; i < n; i++) {
        const struct ArrowArrayView *v = parts[i].batch == NULL ? NULL : &parts[i].batch->view;
        runs[i] = v == NULL ? (lw_run){ NULL, 0, parts[i].count }
                            : (lw_run){ v->children[child], v->offset + parts[i].first, parts[i].count };
    }
}

static lb_status group_put(lb_lance_writer *w, const lb_lance_rows *parts, size_t n, lw_run *runs, lb_error *err)
{
    size_t at = 0;
    for (int64_t i = 0; i < w->schema->n_children; i++) {
        group_runs(parts, n, i, runs);
        LB_TRY(lw_put_column(w, at, runs, n, err));
        at += 1 + w->columns[at].n_inside;
    }
    return LB_OK;
}

/* Which row failed: they are tried one by one, nothing is written. The error is the one of that row. */
static lb_status group_find(lb_lance_writer *w, const lb_lance_rows *parts, size_t n, uint64_t row, lw_run *runs,
                            const lb_error *was, lb_status status, lb_error *err)
{
    w->dry = true;
    for (size_t p = 0; p < n; p++)
        for (int64_t i = 0; i < parts[p].count; i++, row++) {
            lb_lance_rows one = { parts[p].batch, parts[p].first + i, 1 };
            lb_error why = LB_ERROR_INIT;
            lb_status s = group_put(w, &one, 1, runs, &why);
            if (s == LB_OK)
                continue;
            why.row = (int64_t)row;
            if (err != NULL && err->code == LB_OK)
                *err = why;
            return s;
        }
    if (err != NULL && err->code == LB_OK)
        *err = *was;
    return status;
}

static lb_status group_all(lb_lance_writer *w, const lb_lance_rows *parts, size_t n, uint64_t row, lw_run *runs,
                           lb_error *err)
{
    lb_error why = LB_ERROR_INIT;
    lb_buf saw;
    lb_buf_init(&saw, NULL);
    lb_status s = lb_buf_reserve(&saw, 2 * w->n_columns, err);
    if (s != LB_OK)
        return s;
    for (size_t i = 0; i < w->n_columns; i++) {
        saw.data[2 * i] = w->columns[i].saw_null;
        saw.data[2 * i + 1] = w->columns[i].saw_empty;
    }
    s = group_put(w, parts, n, runs, &why);
    if (s == LB_USAGE || s == LB_CORRUPT) {
        for (size_t i = 0; i < w->n_columns; i++) {
            w->columns[i].saw_null = saw.data[2 * i] != 0;
            w->columns[i].saw_empty = saw.data[2 * i + 1] != 0;
        }
        s = group_find(w, parts, n, row, runs, &why, s, err);
    } else if (s != LB_OK && err != NULL && err->code == LB_OK) {
        *err = why;
    }
    lb_buf_free(&saw);
    return s;
}

lb_status lb_lance_writer_group(lb_lance_writer *w, const lb_lance_rows *parts, size_t n_parts, uint64_t row,
                                lb_error *err)
{
    uint64_t rows = w->rows;
    for (size_t i = 0; i < n_parts; i++)
        rows += (uint64_t)parts[i].count;
    if (rows > INT32_MAX)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a Lance v1 file holds at most %d rows", INT32_MAX);
    LB_TRY(lb_check_cancel(w->cx, err));
    lw_run *runs = calloc(LB_MAX(n_parts, 1), sizeof *runs);
    if (runs == NULL)
        return lb_fail_nomem(err);
    lb_status s = group_all(w, parts, n_parts, row, runs, err);
    free(runs);
    LB_TRY(s);
    int32_t end = (int32_t)rows;
    w->rows = rows;
    return lb_buf_append(&w->group_ends, &end, sizeof end, err);
}

static size_t writer_groups(const lb_lance_writer *w)
{
    return w->group_ends.size / sizeof(int32_t);
}

/* ---------------------------------------------------------------- companions */

static lb_status companion_field(lb_lance_writer *w, lw_companion *c, const char *name, const char *type, int32_t id,
                                 int32_t parent, lb_error *err)
{
    lb_lance_field *f = lb_arena_alloc(&w->arena, 1, sizeof *f);
    char *kept_name = lb_arena_copy(&w->arena, lb_str_of(name)), *kept_type = lb_arena_copy(&w->arena, lb_str_of(type));
    if (f == NULL || kept_name == NULL || kept_type == NULL)
        return lb_arena_fail(&w->arena, err);
    lb_pb__field__init(f);
    f->id = id;
    f->parent_id = parent;
    f->name = lb_lance_bytes(lb_str_of(kept_name));
    f->logical_type = lb_lance_bytes(lb_str_of(kept_type));
    f->encoding = 1;
    f->nullable = parent >= 0; /* see lw_is_nullable_fixed */
    c->fields[c->n_fields++] = f;
    return LB_OK;
}

/* A name that no other column has: PATH__valid, with the dots of a nested path as underscores. */
static void companion_name(const lb_lance_writer *w, size_t column, unsigned level, char *out, size_t cap)
{
    char path[200];
    lw_path(w, column, path, sizeof path);
    for (char *p = path; *p != '\0'; p++)
        if (*p == '.')
            *p = '_';
    for (unsigned n = 0; n < 1000; n++) {
        bool taken = false;
        int size = snprintf(out, cap, "%s__valid", path);
        if (level != 0 && size > 0)
            size += snprintf(out + size, cap - (size_t)size, "_%u", level);
        if (n != 0 && size > 0)
            (void)snprintf(out + size, cap - (size_t)size, "__%u", n);
        for (size_t i = 0; i < w->n_columns && !taken; i++)
            taken = w->columns[i].parent == SIZE_MAX && lb_str_is(lb_lance_str(w->columns[i].field->name), out);
        for (size_t i = 0; i < w->n_companions && !taken; i++)
            taken = lb_str_is(lb_lance_str(w->companions[i].fields[0]->name), out);
        if (!taken)
            return;
    }
}

/* "bool", in as many fixed-size lists as the level is deep. */
static void companion_type(const lw_column *c, unsigned level, char *out, size_t cap)
{
    size_t n = 0;
    for (unsigned i = 0; i < level && n < cap; i++)
        n += (size_t)snprintf(out + n, cap - n, "fixed_size_list:");
    if (n < cap)
        n += (size_t)snprintf(out + n, cap - n, "bool");
    for (unsigned i = level; i > 0 && n < cap; i--)
        n += (size_t)snprintf(out + n, cap - n, ":%lld", (long long)c->each[i - 1]);
}

static lb_status companion_make(lb_lance_writer *w, size_t column, unsigned level, int32_t *next_id, lb_error *err)
{
    char name[256], type[LB_TYPE_DEPTH * 40];
    if (w->n_companions == w->cap_companions) {
        size_t cap = w->cap_companions == 0 ? 8 : w->cap_companions * 2;
        lw_companion *more = lb_arena_alloc(&w->arena, cap, sizeof *more);
        if (more == NULL)
            return lb_arena_fail(&w->arena, err);
        if (w->n_companions != 0)
            memcpy(more, w->companions, w->n_companions * sizeof *more);
        w->companions = more;
        w->cap_companions = cap;
    }
    lw_companion c = { .column = column, .level = level };
    size_t lists[LB_TYPE_DEPTH + 2], n_lists = 0; /* from the inside out */
    for (size_t at = w->columns[column].parent; at != SIZE_MAX; at = w->columns[at].parent)
        if (w->columns[at].kind == LW_LIST)
            lists[n_lists++] = at;
    c.fields = lb_arena_alloc(&w->arena, n_lists + 1, sizeof *c.fields);
    if (c.fields == NULL)
        return lb_arena_fail(&w->arena, err);
    companion_name(w, column, level, name, sizeof name);
    int32_t parent = -1;
    for (size_t i = n_lists; i > 0; i--) {
        if (*next_id == INT32_MAX)
            return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "the schema has more fields than a Lance dataset can hold");
        LB_TRY(companion_field(w, &c, i == n_lists ? name : "item",
                               w->columns[lists[i - 1]].large ? "large_list" : "list", *next_id, parent, err));
        parent = (*next_id)++;
    }
    companion_type(&w->columns[column], level, type, sizeof type);
    LB_TRY(companion_field(w, &c, n_lists == 0 ? name : "item", type, (*next_id)++, parent, err));
    w->companions[w->n_companions++] = c;
    return LB_OK;
}

static bool companion_exists(const lb_lance_writer *w, size_t column, unsigned level)
{
    for (size_t i = 0; i < w->n_companions; i++)
        if (w->companions[i].column == column && w->companions[i].level == level)
            return true;
    return false;
}

static lb_status companions_make(lb_lance_writer *w, int32_t *next_id, lb_error *err)
{
    for (size_t i = 0; i < w->n_columns; i++)
        for (unsigned level = 0; level <= w->columns[i].levels; level++)
            if (w->columns[i].valid[level].keep && !companion_exists(w, i, level))
                LB_TRY(companion_make(w, i, level, next_id, err));
    return LB_OK;
}

/* Bits [from, to) as a page of their own. */
static lb_status companion_page(lb_lance_writer *w, const lw_valid *v, uint64_t from, uint64_t to, lb_error *err)
{
    size_t size = (size_t)((to - from + 7) / 8);
    w->scratch.size = 0;
    LB_TRY(lb_buf_reserve(&w->scratch, size, err));
    if (size == 0)
        return LB_OK;
    memset(w->scratch.data, 0, size);
    for (uint64_t i = from; i < to; i++)
        if (!v->dirty || (v->bits.data[i / 8] >> (i % 8) & 1) != 0)
            w->scratch.data[(i - from) / 8] |= (uint8_t)(1u << ((i - from) % 8));
    return lw_put(&w->sink, w->scratch.data, size, err);
}

/* Pages of a companion's booleans, one for each group. */
static lb_status companion_pages(lb_lance_writer *w, const lw_companion *c, lb_buf *pages, lb_error *err)
{
    const lw_column *column = &w->columns[c->column];
    const lw_valid *v = &column->valid[c->level];
    uint64_t each = 1, from = 0;
    for (unsigned i = 0; i < c->level; i++)
        each *= (uint64_t)column->each[i];
    for (size_t g = 0; g < writer_groups(w); g++) {
        uint64_t to = ((const uint64_t *)(const void *)v->groups.data)[g];
        lw_page page = { (int64_t)w->sink.at, (int64_t)((to - from) / each) };
        LB_TRY(companion_page(w, v, from, to, err));
        LB_TRY(lb_buf_append(pages, &page, sizeof page, err));
        from = to;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- the end of a file */

typedef struct file_end {
    lb_lance_writer *w;
    lb_arena *arena;
    int32_t least, most; /* field ids: of all, and of those with pages */
    lw_page *table;      /* row after row */
    lb_lance_field **fields;
    size_t n_fields;
    uint64_t table_at, manifest_at;
} file_end;

static void end_span(file_end *e, const lb_lance_field *f, bool pages)
{
    e->least = LB_MIN(e->least, f->id);
    if (pages)
        e->most = LB_MAX(e->most, f->id);
    e->fields[e->n_fields++] = (lb_lance_field *)(uintptr_t)f;
}

/* Gather the fields of the file, and the rows of its page table. */
static lb_status end_gather(file_end *e, lb_error *err)
{
    lb_lance_writer *w = e->w;
    size_t n = w->n_columns, cells;
    for (size_t i = 0; i < w->n_companions; i++)
        n += w->companions[i].n_fields;
    e->fields = lb_arena_alloc(e->arena, n, sizeof *e->fields);
    if (e->fields == NULL)
        return lb_arena_fail(e->arena, err);
    e->least = INT32_MAX;
    e->most = -1;
    for (size_t i = 0; i < w->n_columns; i++)
        end_span(e, w->columns[i].field, w->columns[i].kind != LW_STRUCT);
    for (size_t i = 0; i < w->n_companions; i++)
        for (size_t k = 0; k < w->companions[i].n_fields; k++)
            end_span(e, w->companions[i].fields[k], true);
    size_t rows = e->most < e->least ? 0 : (size_t)(e->most - e->least) + 1;
    if (!lb_mul_size(rows, writer_groups(w), &cells))
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "the page table is too large");
    e->table = lb_arena_alloc(e->arena, LB_MAX(cells, 1), sizeof *e->table);
    return e->table == NULL ? lb_arena_fail(e->arena, err) : LB_OK;
}

static void end_row(const file_end *e, int32_t id, const lb_buf *pages)
{
    if (id <= e->most && pages->size != 0)
        memcpy(&e->table[(size_t)(id - e->least) * writer_groups(e->w)], pages->data, pages->size);
}

static lb_status end_companion(const file_end *e, const lw_companion *c, lb_error *err)
{
    lb_lance_writer *w = e->w;
    lb_buf pages;
    size_t at = c->column;
    lb_buf_init(&pages, &w->cx->budget);
    lb_status s = companion_pages(w, c, &pages, err);
    end_row(e, c->fields[c->n_fields - 1]->id, &pages);
    lb_buf_free(&pages);
    for (size_t i = c->n_fields - 1; i > 0; i--) { /* the lists around share the pages of those they follow */
        do
            at = w->columns[at].parent;
        while (w->columns[at].kind != LW_LIST);
        end_row(e, c->fields[i - 1]->id, &w->columns[at].pages);
    }
    return s;
}

static lb_status end_table(file_end *e, lb_error *err)
{
    lb_lance_writer *w = e->w;
    for (size_t i = 0; i < w->n_columns; i++)
        if (w->columns[i].kind != LW_STRUCT)
            end_row(e, w->columns[i].field->id, &w->columns[i].pages);
    for (size_t i = 0; i < w->n_companions; i++)
        LB_TRY(end_companion(e, &w->companions[i], err));
    size_t rows = e->most < e->least ? 0 : (size_t)(e->most - e->least) + 1;
    e->table_at = w->sink.at;
    return lw_put(&w->sink, e->table, rows * writer_groups(w) * sizeof *e->table, err);
}

/* What nulls and empty values make of the fields that may still change. */
static void end_nullable(lb_lance_writer *w)
{
    for (size_t i = 0; i < w->n_columns; i++) {
        lw_column *c = &w->columns[i];
        if (lw_is_nullable_fixed(w, c))
            continue;
        if (c->kind == LW_BYTES && c->saw_null)
            c->field->nullable = true;
        else if (c->kind == LW_BYTES && c->saw_empty)
            c->field->nullable = false;
    }
}

static lb_status end_dictionaries(lb_lance_writer *w, lb_error *err)
{
    lb_buf bytes;
    lb_buf_init(&bytes, &w->cx->budget);
    lb_status s = lb_lance_writer_dictionaries(w, w->sink.at, &bytes, err);
    if (s == LB_OK)
        s = lw_put(&w->sink, bytes.data, bytes.size, err);
    lb_buf_free(&bytes);
    return s;
}

static lb_status end_message(lb_lance_writer *w, const ProtobufCMessage *message, lb_error *err)
{
    lb_buf bytes;
    lb_buf_init(&bytes, &w->cx->budget);
    lb_status s = lb_lance_encode(message, &bytes, err);
    if (s == LB_OK)
        s = lw_put(&w->sink, bytes.data, bytes.size, err);
    lb_buf_free(&bytes);
    return s;
}

/* The schema metadata of the file, with the list of its companions. */
static lb_status end_metadata(const file_end *e, lb_lance_manifest *m, lb_error *err)
{
    const lb_lance_writer *w = e->w;
    m->metadata = lb_arena_alloc(e->arena, w->options.n_metadata + 1, sizeof *m->metadata);
    if (m->metadata == NULL)
        return lb_arena_fail(e->arena, err);
    for (size_t i = 0; i < w->options.n_metadata; i++)
        if (w->n_companions == 0 || !lb_str_is(lb_lance_str(w->options.metadata[i]->key), LB_LANCE_META_NULLS))
            m->metadata[m->n_metadata++] = w->options.metadata[i];
    if (w->n_companions == 0)
        return LB_OK;
    lb_lance_fields all;
    lb_lance_companions list;
    lb_lance_entry *entry = lb_arena_alloc(e->arena, 1, sizeof *entry);
    lb_buf text;
    if (entry == NULL)
        return lb_arena_fail(e->arena, err);
    LB_TRY(lb_lance_writer_fields(e->w, e->arena, &all, &list, err));
    lb_buf_init(&text, NULL);
    lb_status s = lb_lance_companions_print(&list, &text, err);
    const char *kept = s == LB_OK ? lb_arena_dup(e->arena, text.data, text.size) : NULL;
    lb_pb__entry__init(entry);
    entry->key = lb_lance_bytes(LB_STR(LB_LANCE_META_NULLS));
    entry->value = lb_lance_bytes((lb_str){ kept, text.size });
    lb_buf_free(&text);
    m->metadata[m->n_metadata++] = entry;
    return s == LB_OK && kept == NULL ? lb_arena_fail(e->arena, err) : s;
}

static lb_status end_messages(file_end *e, lb_error *err)
{
    lb_lance_writer *w = e->w;
    lb_lance_manifest m;
    lb_lance_file_metadata meta;
    lb_pb__manifest__init(&m);
    lb_pb__file_metadata__init(&meta);
    m.fields = e->fields;
    m.n_fields = e->n_fields;
    m.version = 1;
    LB_TRY(end_metadata(e, &m, err));
    e->manifest_at = w->sink.at;
    LB_TRY(end_message(w, &m.base, err));
    size_t n = writer_groups(w) + 1;
    int32_t *offsets = lb_arena_alloc(e->arena, n, sizeof *offsets);
    if (offsets == NULL)
        return lb_arena_fail(e->arena, err);
    if (n > 1)
        memcpy(offsets + 1, w->group_ends.data, w->group_ends.size);
    meta.manifest_position = e->manifest_at;
    meta.page_table_position = e->table_at;
    meta.batch_offsets = offsets;
    meta.n_batch_offsets = n;
    lb_lance_footer footer = { .position = w->sink.at, .major = 0, .minor = 1 };
    LB_TRY(end_message(w, &meta.base, err));
    w->scratch.size = 0;
    LB_TRY(lb_lance_encode_footer(&footer, &w->scratch, err));
    LB_TRY(lw_put(&w->sink, w->scratch.data, w->scratch.size, err));
    return lw_flush(&w->sink, err);
}

static int end_compare_ids(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static lb_status end_ids(const file_end *e, lb_arena *arena, lb_lance_written *out, lb_error *err)
{
    out->ids = lb_arena_alloc(arena, e->n_fields, sizeof *out->ids);
    if (out->ids == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < e->n_fields; i++)
        out->ids[i] = e->fields[i]->id;
    out->n_ids = e->n_fields;
    qsort(out->ids, out->n_ids, sizeof *out->ids, end_compare_ids);
    return LB_OK;
}

/* Further files may hold nulls where none were yet, and all files have to have the same companions. */
static void end_keep_all(lb_lance_writer *w)
{
    for (size_t i = 0; i < w->n_columns; i++)
        for (unsigned level = 0; level <= w->columns[i].levels; level++)
            if ((w->columns[i].schema->flags & ARROW_FLAG_NULLABLE) != 0 && w->columns[i].kind != LW_NULL)
                w->columns[i].valid[level].keep = true;
}

lb_status lb_lance_writer_end(lb_lance_writer *w, bool more, int32_t *next_id, lb_arena *arena, lb_lance_written *out,
                              lb_error *err)
{
    lb_arena own;
    file_end e = { .w = w, .arena = &own };
    *out = (lb_lance_written){ .rows = w->rows };
    end_nullable(w);
    if (more && w->options.nulls == LB_LANCE_NULLS_KEEP && !w->options.fixed_nullable)
        end_keep_all(w);
    LB_TRY(companions_make(w, next_id, err));
    lb_arena_init(&own, &w->cx->budget);
    lb_status s = end_gather(&e, err);
    if (s == LB_OK && e.table != NULL)
        s = end_table(&e, err);
    if (s == LB_OK)
        s = end_dictionaries(w, err);
    if (s == LB_OK)
        s = end_messages(&e, err);
    if (s == LB_OK)
        s = end_ids(&e, arena, out, err);
    out->bytes = w->sink.at;
    lb_arena_free(&own);
    return s;
}

/* ---------------------------------------------------------------- what came of it */

lb_status lb_lance_writer_fields(const lb_lance_writer *w, lb_arena *arena, lb_lance_fields *out,
                                 lb_lance_companions *companions, lb_error *err)
{
    size_t n = w->n_columns;
    for (size_t i = 0; i < w->n_companions; i++)
        n += w->companions[i].n_fields;
    out->items = lb_arena_alloc(arena, n, sizeof *out->items);
    companions->items = lb_arena_alloc(arena, LB_MAX(w->n_companions, 1), sizeof *companions->items);
    if (out->items == NULL || companions->items == NULL)
        return lb_arena_fail(arena, err);
    out->count = companions->count = 0;
    for (size_t i = 0; i < w->n_columns; i++)
        out->items[out->count++] = w->columns[i].field;
    for (size_t i = 0; i < w->n_companions; i++) {
        const lw_companion *c = &w->companions[i];
        for (size_t k = 0; k < c->n_fields; k++)
            out->items[out->count++] = c->fields[k];
        companions->items[companions->count++] =
            (lb_lance_companion){ c->fields[0]->id, w->columns[c->column].field->id, c->level };
    }
    return LB_OK;
}

static int compare_columns(const void *a, const void *b)
{
    const lw_column *x = *(lw_column *const *)a, *y = *(lw_column *const *)b;
    return (x->field->id > y->field->id) - (x->field->id < y->field->id);
}

lb_status lb_lance_writer_dictionaries(lb_lance_writer *w, uint64_t at, lb_buf *out, lb_error *err)
{
    lw_column **sorted = calloc(LB_MAX(w->n_columns, 1), sizeof *sorted);
    size_t n = 0, before = out->size;
    lb_status s = LB_OK;
    if (sorted == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < w->n_columns; i++)
        if (w->columns[i].kind == LW_KEYS)
            sorted[n++] = &w->columns[i];
    if (n > 1)
        qsort(sorted, n, sizeof *sorted, compare_columns);
    for (size_t i = 0; i < n && s == LB_OK; i++) { /* keys of nulls are 0, which then has to mean something */
        static const char zeros[8];
        lw_dictionary *values = &sorted[i]->dictionary;
        if (values->count == 0)
            s = lw_dictionary_add(values, (lb_str){ zeros, values->width }, err);
    }
    for (size_t i = 0; i < n && s == LB_OK; i++) {
        LbPb__Dictionary *d = lb_arena_alloc(&w->arena, 1, sizeof *d);
        uint64_t position = 0;
        if (d == NULL) {
            s = lb_arena_fail(&w->arena, err);
            break;
        }
        s = lw_dictionary_encode(&sorted[i]->dictionary, at + (out->size - before), out, &position, err);
        lb_pb__dictionary__init(d);
        d->offset = (int64_t)position;
        d->length = (int64_t)sorted[i]->dictionary.count;
        sorted[i]->field->dictionary = d;
    }
    free(sorted);
    return s;
}

lb_status lb_lance_writer_keep(lb_lance_writer *w, const lb_lance_companion *companion, lb_lance_field **fields,
                               size_t n_fields, lb_error *err)
{
    int32_t unused = 0;
    lw_column *column = writer_find(w, companion->of);
    if (column == NULL || companion->level > column->levels)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the companion field %d tells the nulls of no field",
                       companion->field);
    column->valid[companion->level].keep = true;
    LB_TRY(companion_make(w, (size_t)(column - w->columns), companion->level, &unused, err));
    lw_companion *made = &w->companions[w->n_companions - 1];
    if (made->n_fields != n_fields)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the companion field %d lies in other lists than what it tells of",
                       companion->field);
    memcpy(made->fields, fields, n_fields * sizeof *fields);
    return LB_OK;
}
