#include "format/parquet/parquet_stats.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/pool.h"
#include "column/array_stats.h"
#include "column/stream.h"
#include "column/values.h"

/* A column of the statistics: a leaf, reached by structs alone, or a list or map, which has no statistics. */
typedef struct stats_item {
    const lb_parquet_node *node;
    const char *path, *type;
    uint32_t column;
    bool read; /* has to be read: the footer does not say */
    lb_parquet_bounds whole;
    lb_parquet_bounds block; /* of the row group that is looked at */
} stats_item;

typedef struct stats {
    lb_reader *r;
    const lb_survey_options *options;
    lb_arena *arena;  /* of the entry */
    lb_arena scratch; /* of the call */
    lb_entry *out;
    size_t n, cap;
    stats_item *items;
} stats;

/* ---------------------------------------------------------------- which there are */

static bool stats_wants(const stats *s, const char *path)
{
    const char *const *names = s->options->stats_columns;

    if (s->options->stats != LB_STATS_NAMED)
        return true;
    for (; names != NULL && *names != NULL; names++)
        if (strcmp(*names, path) == 0)
            return true;
    return false;
}

static lb_status stats_type(const stats *s, const struct ArrowSchema *schema, const char **out, lb_error *err)
{
    lb_buf words;

    lb_buf_init(&words, s->arena->budget);
    lb_status status = lb_type_words(schema, false, &words, err);
    if (status == LB_OK) {
        *out = lb_arena_copy(s->arena, (lb_str){ (const char *)words.data, words.size });
        status = *out == NULL ? lb_arena_fail(s->arena, err) : LB_OK;
    }
    lb_buf_free(&words);
    return status;
}

static lb_status stats_add(stats *s, const lb_parquet_node *node, const char *path, uint32_t column, lb_error *err)
{
    if (!stats_wants(s, path))
        return LB_OK;
    if (s->n == s->cap) {
        const size_t cap = s->cap == 0 ? 64 : s->cap * 2;
        stats_item *more = lb_arena_alloc(&s->scratch, cap, sizeof *more);
        if (more == NULL)
            return lb_arena_fail(&s->scratch, err);
        if (s->n != 0)
            memcpy(more, s->items, s->n * sizeof *more);
        s->items = more;
        s->cap = cap;
    }
    stats_item *item = &s->items[s->n++];
    *item = (stats_item){ .node = node, .path = lb_arena_copy(s->arena, lb_str_of(path)), .column = column };
    if (item->path == NULL)
        return lb_arena_fail(s->arena, err);
    item->whole.kind = item->block.kind = lb_parquet_bound_kind_of(node);
    if (item->whole.kind == LB_PARQUET_BOUND_TEXT || item->whole.kind == LB_PARQUET_BOUND_BYTES) {
        item->whole.text = lb_arena_alloc(&s->scratch, 1, sizeof *item->whole.text);
        item->block.text = lb_arena_alloc(&s->scratch, 1, sizeof *item->block.text);
        if (item->whole.text == NULL || item->block.text == NULL)
            return lb_arena_fail(&s->scratch, err);
    }
    lb_parquet_bounds_clear(&item->whole);
    item->whole.has_nans = true;
    return stats_type(s, node->schema, &item->type, err);
}

/* In the order, and by the names, of the statistics of other formats (column/array_stats.h). `above` NULL: a column. */
static lb_status stats_collect(stats *s, const lb_parquet_node *node, const char *above, uint32_t column, lb_error *err)
{
    const char *name = node->schema->name == NULL ? "" : node->schema->name;
    const size_t size = (above == NULL ? 0 : strlen(above)) + strlen(name) + 2;
    char *path = lb_arena_alloc(&s->scratch, size, 1);

    if (path == NULL)
        return lb_arena_fail(&s->scratch, err);
    (void)snprintf(path, size, "%s%s%s", above == NULL ? "" : above, above == NULL ? "" : ".", name);
    if (node->shape != LB_PARQUET_STRUCT)
        return stats_add(s, node, path, column, err);
    for (size_t i = 0; i < node->n_children; i++)
        LB_TRY(stats_collect(s, node->children[i], path, column, err));
    return LB_OK;
}

/* ---------------------------------------------------------------- what the footer says */

static lb_status stats_decode(const lb_parquet_meta *m, lb_pqt_statistics *out, lb_error *err)
{
    lb_error why = LB_ERROR_INIT;
    lb_arena none;
    lb_cursor in;

    *out = (lb_pqt_statistics){ 0 };
    if (m->statistics == NULL)
        return LB_OK;
    lb_arena_init(&none, NULL);
    lb_cursor_init(&in, m->statistics, m->statistics_size, 0);
    lb_status status = lb_thrift_decode(LB_THRIFT_COMPACT, &lb_pqt_statistics_struct, &in, &none, out, &why);
    lb_arena_free(&none);
    if (lb_is_callers(status))
        return lb_fail(err, status, LB_NOWHERE, "%s", why.message);
    if (status != LB_OK)
        *out = (lb_pqt_statistics){ 0 };
    return LB_OK;
}

/* Nulls of a chunk; UINT64_MAX: not said, or more than there are values. */
static uint64_t stats_nulls(const lb_parquet_meta *m, const lb_parquet_leaf *leaf, const lb_pqt_statistics *s)
{
    if (leaf->max_def == 0)
        return 0;
    if ((s->has & LB_PQT_S_NULLS) == 0 || s->null_count < 0 || (uint64_t)s->null_count > m->num_values)
        return UINT64_MAX;
    return (uint64_t)s->null_count;
}

lb_status lb_parquet_null_count(const lb_parquet_meta *meta, const lb_parquet_leaf *leaf, uint64_t *out, lb_error *err)
{
    lb_pqt_statistics s;

    LB_TRY(stats_decode(meta, &s, err));
    *out = stats_nulls(meta, leaf, &s);
    return LB_OK;
}

/* Is the order of min_value and max_value the one we sort by? Without column_orders it is undefined. */
static bool stats_has_order(const lb_parquet_footer *f, const stats_item *item)
{
    const size_t leaf = item->node->first_leaf;

    if (f->n_orders == 0)
        return false;
    return f->orders[leaf].has == 1 || (f->orders[leaf].has == 2 && item->whole.kind == LB_PARQUET_BOUND_FLOAT);
}

/* Deprecated min and max were compared as signed numbers, or for bytes in ways that differed: only where those are the
 * same. */
static bool stats_has_old_order(const stats_item *item)
{
    const lb_parquet_physical p = item->node->leaf->physical;

    return p <= LB_PARQUET_DOUBLE && p != LB_PARQUET_INT96 &&
           (item->whole.kind == LB_PARQUET_BOUND_INT || item->whole.kind == LB_PARQUET_BOUND_FLOAT ||
            item->whole.kind == LB_PARQUET_BOUND_DECIMAL);
}

static bool stats_take_pair(const lb_parquet_footer *f, const lb_pqt_statistics *s, stats_item *item)
{
    const unsigned both = LB_PQT_S_MIN | LB_PQT_S_MAX, old = LB_PQT_S_MIN_OLD | LB_PQT_S_MAX_OLD;

    if ((s->has & both) == both && stats_has_order(f, item))
        return lb_parquet_bounds_add(&item->block, item->node, s->min, s->max,
                                     (s->has & LB_PQT_S_MIN_EXACT) != 0 && s->min_exact,
                                     (s->has & LB_PQT_S_MAX_EXACT) != 0 && s->max_exact);
    if ((s->has & old) == old && stats_has_old_order(item))
        return lb_parquet_bounds_add(&item->block, item->node, s->min_old, s->max_old, true, true);
    return false;
}

/* ---------------------------------------------------------------- what the column index says */

static lb_status stats_index_bytes(const stats *s, const lb_parquet_meta *m, lb_arena *arena, lb_pqt_column_index *out,
                                   bool *there, lb_error *err)
{
    lb_error why = LB_ERROR_INIT;
    lb_cursor in;

    *there = false;
    uint8_t *bytes = lb_arena_alloc(arena, m->column_index_length, 1);
    if (bytes == NULL)
        return lb_arena_fail(arena, err);
    LB_TRY(lb_parquet_read_at(s->r->store, m->column_index, bytes, m->column_index_length, err));
    lb_cursor_init(&in, bytes, m->column_index_length, m->column_index);
    lb_status status = lb_thrift_decode(LB_THRIFT_COMPACT, &lb_pqt_column_index_struct, &in, arena, out, &why);
    if (lb_is_callers(status))
        return lb_fail(err, status, LB_NOWHERE, "%s", why.message);
    *there = status == LB_OK && out->mins.count == out->null_pages.count && out->maxs.count == out->null_pages.count;
    return LB_OK;
}

/* Bounds of its pages; they may have been cut. False: they cannot be right. */
static bool stats_take_index(const lb_pqt_column_index *x, stats_item *item)
{
    const bool *null_pages = x->null_pages.items;
    const lb_str *mins = x->mins.items, *maxs = x->maxs.items;

    for (size_t i = 0; i < x->null_pages.count; i++)
        if (!null_pages[i] && !lb_parquet_bounds_add(&item->block, item->node, mins[i], maxs[i], false, false))
            return false;
    return true;
}

/* Nulls by its pages. */
static bool stats_index_nulls(const lb_pqt_column_index *x, uint64_t num_values, uint64_t *out)
{
    const int64_t *counts = x->null_counts.items;
    uint64_t sum = 0;

    if ((x->has & LB_PQT_X_NULLS) == 0 || x->null_counts.count != x->null_pages.count)
        return false;
    for (size_t i = 0; i < x->null_counts.count; i++)
        if (counts[i] < 0 || !lb_add_u64(sum, (uint64_t)counts[i], &sum))
            return false;
    *out = sum;
    return sum <= num_values;
}

static lb_status stats_from_index(const stats *s, const lb_parquet_meta *m, stats_item *item, bool *known,
                                  lb_error *err)
{
    lb_pqt_column_index x = { 0 };
    lb_arena arena;
    bool there;

    *known = false;
    if (m->column_index_length == 0 || !stats_has_order(&s->r->footer, item))
        return LB_OK;
    lb_arena_init(&arena, &s->r->cx->budget);
    lb_status status = stats_index_bytes(s, m, &arena, &x, &there, err);
    if (status == LB_OK && there) {
        lb_parquet_bounds_clear(&item->block);
        if (item->node->leaf->max_def == 0 || stats_index_nulls(&x, m->num_values, &item->block.nulls))
            *known = stats_take_index(&x, item);
    }
    lb_arena_free(&arena);
    return status;
}

/* ---------------------------------------------------------------- a row group */

/* Statistics of an item in a row group into item->block; *known false: they have to be read. */
static lb_status stats_of_group(const stats *s, size_t group, stats_item *item, bool *known, lb_error *err)
{
    const lb_parquet_footer *f = &s->r->footer;
    const lb_parquet_meta m = lb_parquet_footer_meta(f, group, item->node->first_leaf);
    lb_pqt_statistics st;

    *known = true;
    lb_parquet_bounds_clear(&item->block);
    if (f->groups[group].rows == 0) {
        item->block.has_nans = true;
        return LB_OK;
    }
    LB_TRY(stats_decode(&m, &st, err));
    const uint64_t nulls = stats_nulls(&m, item->node->leaf, &st);
    item->block.nulls = nulls;
    item->block.has_nans = (st.has & LB_PQT_S_NANS) != 0 && st.nan_count >= 0;
    item->block.nans = item->block.has_nans ? (uint64_t)st.nan_count : 0;
    if (nulls == m.num_values) {
        item->block.has_nans = true;
        item->block.nans = 0;
        return LB_OK;
    }
    if (nulls != UINT64_MAX && (item->whole.kind == LB_PARQUET_BOUND_NONE || stats_take_pair(f, &st, item)))
        return LB_OK;
    return stats_from_index(s, &m, item, known, err);
}

/* An all-null column has its nulls everywhere. */
static bool stats_is_null_type(const lb_parquet_node *node)
{
    return node->shape == LB_PARQUET_LEAF && strcmp(node->schema->format, "n") == 0;
}

/* Lists and maps are not looked into: their own nulls are in no footer. */
static bool stats_is_nested(const stats_item *item)
{
    return item->node->shape != LB_PARQUET_LEAF;
}

static void stats_null_group(const stats *s, size_t group, stats_item *item)
{
    lb_parquet_bounds_clear(&item->block);
    item->block.nulls = s->r->footer.groups[group].rows;
}

static lb_status stats_group_item(const stats *s, size_t group, stats_item *item, lb_error *err)
{
    bool known = true;

    if (stats_is_null_type(item->node))
        stats_null_group(s, group, item);
    else
        LB_TRY(stats_of_group(s, group, item, &known, err));
    item->read = !known;
    if (known)
        lb_parquet_bounds_merge(&item->whole, &item->block);
    return LB_OK;
}

static lb_status stats_finish(const stats *s, const stats_item *item, const lb_parquet_bounds *b, lb_colstat *out,
                              lb_error *err)
{
    *out =
        (lb_colstat){ .name = lb_str_of(item->path), .type = lb_str_of(item->type), .source = LB_STATS_FROM_METADATA };
    if (!stats_is_nested(item))
        return lb_parquet_bounds_finish(b, item->node, s->arena, out, err);
    /* What nobody can leave out is never null. */
    if (item->node->def == 0 && !item->node->nullable)
        out->has_null_count = true;
    else
        out->source = LB_STATS_NONE;
    return LB_OK;
}

static lb_colstat *stats_block_place(const stats *s, size_t group, size_t item)
{
    return &s->out->block_columns.items[group * s->n + item];
}

static lb_status stats_groups(stats *s, lb_error *err)
{
    const bool blocks = s->options->stats == LB_STATS_BLOCKS;

    for (size_t i = 0; i < s->n; i++) {
        stats_item *item = &s->items[i];
        for (size_t g = 0; g < s->r->footer.n_groups && !item->read; g++) {
            if (!stats_is_nested(item))
                LB_TRY(stats_group_item(s, g, item, err));
            if (blocks && !item->read)
                LB_TRY(stats_finish(s, item, &item->block, stats_block_place(s, g, i), err));
        }
        if (!item->read)
            LB_TRY(stats_finish(s, item, &item->whole, &s->out->columns.items[i], err));
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- from the data */

typedef struct stats_reading {
    stats *s;
    size_t n_columns, n; /* top-level columns, and items of them that are needed */
    lb_wanted *columns;
    size_t *items;
    struct ArrowSchema schema;
    lb_array_stats *whole;
    pthread_mutex_t lock; /* of `whole` and the entry's arena */
} stats_reading;

static bool stats_needs(void *user, const char *path, uint64_t column)
{
    const stats_reading *d = user;
    const uint64_t top = d->columns[column].column;

    for (size_t i = 0; i < d->n; i++) {
        const stats_item *item = &d->s->items[d->items[i]];
        if (item->column == top && strcmp(item->path, path) == 0)
            return true;
    }
    return false;
}

static lb_status stats_read_rows(const stats_reading *d, const lb_parquet_group *g, lb_array_stats *into, lb_error *err)
{
    const lb_range range = {
        .first = g->first_row, .count = g->rows, .n_columns = d->n_columns, .columns = d->columns
    };
    struct ArrowArrayStream stream;

    LB_TRY(lb_parquet_scan(d->s->r, &range, &stream, err));
    lb_status status = LB_OK;
    while (status == LB_OK) {
        struct ArrowArray batch = { 0 };
        status = lb_stream_next(&stream, &batch, err);
        if (status != LB_OK || batch.release == NULL)
            break;
        status = lb_array_stats_add(into, &d->schema, &batch, err);
        ArrowArrayRelease(&batch);
    }
    stream.release(&stream);
    return status;
}

static lb_status stats_keep_block(const stats_reading *d, size_t group, const lb_array_stats *from, lb_error *err)
{
    lb_colstat *found = lb_arena_alloc(d->s->arena, d->n + 1, sizeof *found);

    if (found == NULL)
        return lb_arena_fail(d->s->arena, err);
    LB_TRY(lb_array_stats_finish(from, d->s->arena, found, NULL, err));
    for (size_t i = 0; i < d->n; i++)
        *stats_block_place(d->s, group, d->items[i]) = found[i];
    return LB_OK;
}

static lb_status stats_read_group(void *user, size_t group, lb_error *err)
{
    stats_reading *d = user;
    lb_array_stats *of_group = NULL;

    LB_TRY(lb_array_stats_new(&d->schema, stats_needs, d, &d->s->r->cx->budget, &of_group, err));
    lb_status status = stats_read_rows(d, &d->s->r->footer.groups[group], of_group, err);
    if (status == LB_OK) {
        pthread_mutex_lock(&d->lock);
        lb_array_stats_merge(d->whole, of_group);
        if (d->s->options->stats == LB_STATS_BLOCKS)
            status = stats_keep_block(d, group, of_group, err);
        pthread_mutex_unlock(&d->lock);
    }
    lb_array_stats_free(of_group);
    return status;
}

/* Which columns, and their schema; items of a column stand together. */
static lb_status stats_read_columns(stats_reading *d, lb_error *err)
{
    const stats *s = d->s;

    d->columns = lb_arena_alloc(&d->s->scratch, s->n + 1, sizeof *d->columns);
    d->items = lb_arena_alloc(&d->s->scratch, s->n + 1, sizeof *d->items);
    if (d->columns == NULL || d->items == NULL)
        return lb_arena_fail(&s->scratch, err);
    for (size_t i = 0; i < s->n; i++) {
        if (!s->items[i].read)
            continue;
        d->items[d->n++] = i;
        if (d->n_columns == 0 || d->columns[d->n_columns - 1].column != s->items[i].column)
            d->columns[d->n_columns++] = (lb_wanted){ .column = s->items[i].column };
    }
    LB_TRY(lb_schema_struct(&d->schema, (int64_t)d->n_columns, err));
    for (size_t i = 0; i < d->n_columns; i++) {
        if (d->schema.children[i]->release != NULL)
            ArrowSchemaRelease(d->schema.children[i]);
        LB_TRY(lb_schema_copy(s->r->footer.schema.columns[d->columns[i].column]->schema, d->schema.children[i], err));
    }
    return LB_OK;
}

static lb_status stats_read_run(stats_reading *d, lb_error *err)
{
    LB_TRY(stats_read_columns(d, err));
    if (d->n == 0)
        return LB_OK;
    LB_TRY(lb_array_stats_new(&d->schema, stats_needs, d, &d->s->r->cx->budget, &d->whole, err));
    if (lb_array_stats_count(d->whole) != d->n)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "statistics of %zu columns are not those of %zu",
                       lb_array_stats_count(d->whole), d->n);
    LB_TRY(lb_run_jobs(d->s->r->cx, d->s->r->footer.n_groups, stats_read_group, d, err));
    lb_colstat *found = lb_arena_alloc(d->s->arena, d->n, sizeof *found);
    if (found == NULL)
        return lb_arena_fail(d->s->arena, err);
    LB_TRY(lb_array_stats_finish(d->whole, d->s->arena, found, NULL, err));
    for (size_t i = 0; i < d->n; i++)
        d->s->out->columns.items[d->items[i]] = found[i];
    return LB_OK;
}

static lb_status stats_read(stats *s, lb_error *err)
{
    stats_reading d = { .s = s };

    pthread_mutex_init(&d.lock, NULL);
    lb_status status = stats_read_run(&d, err);
    if (d.schema.release != NULL)
        ArrowSchemaRelease(&d.schema);
    lb_array_stats_free(d.whole);
    pthread_mutex_destroy(&d.lock);
    return status;
}

/* ---------------------------------------------------------------- all of it */

static lb_status stats_room(stats *s, lb_error *err)
{
    lb_entry *out = s->out;
    size_t all;

    out->columns.items = lb_arena_alloc(s->arena, s->n + 1, sizeof *out->columns.items);
    if (out->columns.items == NULL)
        return lb_arena_fail(s->arena, err);
    out->columns.count = s->n;
    if (s->options->stats != LB_STATS_BLOCKS)
        return LB_OK;
    if (!lb_mul_size(s->n, s->r->footer.n_groups, &all))
        return lb_fail_nomem(err);
    uint32_t *block = lb_arena_alloc(s->arena, all + 1, sizeof *block),
             *column = lb_arena_alloc(s->arena, all + 1, sizeof *column);
    out->block_columns.items = lb_arena_alloc(s->arena, all + 1, sizeof *out->block_columns.items);
    if (block == NULL || column == NULL || out->block_columns.items == NULL)
        return lb_arena_fail(s->arena, err);
    for (size_t i = 0; i < all; i++) {
        block[i] = (uint32_t)(i / s->n);
        column[i] = s->items[i % s->n].column;
    }
    out->block_columns.count = all;
    out->block_of_column = block;
    out->column_of_column = column;
    return LB_OK;
}

lb_status lb_parquet_survey_stats(lb_reader *r, const lb_survey_options *o, lb_arena *arena, lb_entry *out,
                                  lb_error *err)
{
    stats s = { .r = r, .options = o, .arena = arena, .out = out };
    lb_status status = LB_OK;

    if (o->stats == LB_STATS_OFF)
        return LB_OK;
    lb_arena_init(&s.scratch, &r->cx->budget);
    for (size_t i = 0; status == LB_OK && i < r->footer.schema.n_columns; i++)
        status = stats_collect(&s, r->footer.schema.columns[i], NULL, (uint32_t)i, err);
    if (status == LB_OK)
        status = stats_room(&s, err);
    if (status == LB_OK)
        status = stats_groups(&s, err);
    if (status == LB_OK)
        status = stats_read(&s, err);
    lb_arena_free(&s.scratch);
    return status;
}
