/* What a map keeps of a file. Rows and blocks are in the footer, and so are most statistics; values are read only for those that
 * are not, or that cannot be relied on. */
#include <stdio.h>
#include <stdlib.h>

#include "base/pool.h"
#include "column/array_stats.h"
#include "column/ipc.h"
#include "column/stream.h"
#include "format/orc/orc.h"

/* ---------------------------------------------------------------- blocks, schema */

static lb_status survey_blocks(const orc_file *f, lb_arena *arena, lb_entry *out, lb_error *err)
{
    lb_block_builder b;
    lb_status status = LB_OK;

    lb_block_builder_init(&b, &f->cx->budget);
    for (uint64_t i = 0; status == LB_OK && i < f->n_stripes; i++) {
        const orc_stripe *s = &f->stripes[i];
        const uint64_t size = s->index + s->data + s->footer;
        const lb_block block = { .first_row = s->first_row,
                                 .row_count = s->rows,
                                 .first_byte = s->offset,
                                 .total_byte_size = size,
                                 .compressed_size = size,
                                 .first_line = UINT64_MAX,
                                 .start_hash = UINT64_MAX };
        status = lb_block_builder_add(&b, &block, err);
    }
    if (status == LB_OK)
        return lb_block_builder_finish(&b, arena, &out->blocks, err);
    lb_block_builder_free(&b);
    return status;
}

static lb_status survey_schema(const orc_file *f, lb_arena *arena, lb_entry *out, lb_error *err)
{
    lb_buf bytes;

    lb_buf_init(&bytes, &f->cx->budget);
    lb_status status = lb_ipc_encode_schema(&f->schema, &bytes, err);
    if (status == LB_OK) {
        out->arrow_schema = (lb_str){ lb_arena_dup(arena, bytes.data, bytes.size), bytes.size };
        status = out->arrow_schema.at == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    return status;
}

/* ---------------------------------------------------------------- leaves */

/* A column, or a field of structs, that has statistics: in the order of lb_array_stats. */
typedef struct survey_leaf {
    const orc_type *type;
    uint32_t column;
    bool from_data;
    lb_colstat whole;
} survey_leaf;

typedef struct survey {
    lb_reader *r;
    const orc_file *file;
    const lb_survey_options *options;
    lb_arena *arena;
    lb_entry *out;
    lb_buf items;       /* survey_leaf */
    lb_colstat *blocks; /* of each stripe, of each leaf; NULL: not asked for */

    /* Reading values. */
    lb_wanted *columns; /* those that have leaves to be read */
    size_t n_columns;
    struct ArrowSchema schema;
    bool *wanted; /* of all leaves of these columns */
    lb_array_stats *all;
    pthread_mutex_t lock; /* of `all`, the arena, `blocks` */
} survey;

static survey_leaf *survey_leaves(const survey *s, size_t *n)
{
    *n = s->items.size / sizeof(survey_leaf);
    return (survey_leaf *)(void *)s->items.data;
}

static bool survey_asked(const survey *s, const char *path)
{
    const char *const *names = s->options->stats_columns;

    if (s->options->stats != LB_STATS_NAMED)
        return true;
    for (; names != NULL && *names != NULL; names++)
        if (strcmp(*names, path) == 0)
            return true;
    return false;
}

static lb_status survey_add_leaf(survey *s, const orc_type *t, const struct ArrowSchema *field, const char *path,
                                 uint32_t column, lb_error *err)
{
    survey_leaf leaf = { .type = t, .column = column, .whole = { .name = lb_str_of(path) } };
    lb_buf words;

    lb_buf_init(&words, &s->file->cx->budget);
    lb_status status = lb_type_words(field, false, &words, err);
    if (status == LB_OK) {
        char *text = lb_arena_copy(s->arena, (lb_str){ (const char *)words.data, words.size });
        status = text == NULL ? lb_arena_fail(s->arena, err) : LB_OK;
        leaf.whole.type = lb_str_of(text);
    }
    lb_buf_free(&words);
    return status == LB_OK ? lb_buf_append(&s->items, &leaf, sizeof leaf, err) : status;
}

static lb_status survey_collect(survey *s, const orc_type *t, const struct ArrowSchema *field, const char *above,
                                uint32_t column, lb_error *err)
{
    const char *name = field->name == NULL ? "" : field->name;
    const size_t size = strlen(above) + strlen(name) + 2;
    char *path = lb_arena_alloc(s->arena, size, 1);

    if (path == NULL)
        return lb_arena_fail(s->arena, err);
    (void)snprintf(path, size, "%s%s%s", above, above[0] == '\0' ? "" : ".", name);
    if (t->kind != ORC_STRUCT || t->n_children == 0)
        return !survey_asked(s, path) ? LB_OK : survey_add_leaf(s, t, field, path, column, err);
    for (uint32_t i = 0; i < t->n_children; i++)
        LB_TRY(survey_collect(s, &s->file->types[t->children[i]], field->children[i], path, column, err));
    return LB_OK;
}

/* ---------------------------------------------------------------- the file's own statistics */

static lb_status survey_from_footer(survey *s, lb_error *err)
{
    size_t n;
    survey_leaf *leaves = survey_leaves(s, &n);

    for (size_t i = 0; i < n; i++) {
        lb_status status;
        leaves[i].from_data = !orc_stats_of(s->file, leaves[i].type, s->file->stats[leaves[i].type->id], s->file->rows,
                                            s->arena, &leaves[i].whole, &status, err);
        LB_TRY(status);
    }
    return LB_OK;
}

/* Of one stripe: messages by type. */
static lb_status survey_stripe(survey *s, lb_str bytes, uint64_t stripe, lb_str *messages, lb_error *err)
{
    lb_proto m = lb_proto_of(bytes);
    lb_proto_field f;
    uint32_t type = 0;
    size_t n;
    survey_leaf *leaves = survey_leaves(s, &n);

    memset(messages, 0, s->file->n_types * sizeof *messages);
    while (lb_proto_next(&m, &f))
        if (f.number == 1 && type < s->file->n_types)
            messages[type++] = f.bytes;
    for (size_t i = 0; i < n; i++) {
        lb_colstat *out = &s->blocks[stripe * n + i];
        lb_status status = LB_OK;
        if (m.bad || !orc_stats_of(s->file, leaves[i].type, messages[leaves[i].type->id], s->file->stripes[stripe].rows,
                                   s->arena, out, &status, err))
            leaves[i].from_data = true;
        LB_TRY(status);
    }
    return LB_OK;
}

static lb_status survey_metadata(survey *s, lb_buf *bytes, lb_error *err)
{
    const orc_file *f = s->file;
    lb_buf raw;
    size_t got = 0;

    lb_buf_init(&raw, &f->cx->budget);
    lb_status status = lb_buf_reserve(&raw, (size_t)f->metadata_size + 1, err);
    if (status == LB_OK)
        status = lb_store_read(f->store, f->metadata_at, raw.data, (size_t)f->metadata_size, &got, err);
    if (status == LB_OK)
        status = orc_inflate(f, (lb_str){ (const char *)raw.data, got }, f->metadata_at, UINT64_MAX >> 1, bytes, err);
    lb_buf_free(&raw);
    return status;
}

static lb_status survey_each_stripe(survey *s, lb_str bytes, lb_str *messages, lb_error *err)
{
    lb_proto m = lb_proto_of(bytes);
    lb_proto_field f;
    uint64_t stripe = 0;

    while (stripe < s->file->n_stripes && lb_proto_next(&m, &f))
        if (f.number == 1)
            LB_TRY(survey_stripe(s, f.bytes, stripe++, messages, err));
    for (; stripe < s->file->n_stripes; stripe++)
        LB_TRY(survey_stripe(s, (lb_str){ NULL, 0 }, stripe, messages, err));
    return LB_OK;
}

static lb_status survey_from_metadata(survey *s, lb_error *err)
{
    size_t n, all;
    const survey_leaf *leaves = survey_leaves(s, &n);
    lb_buf bytes;

    if (!lb_mul_size(n, (size_t)s->file->n_stripes, &all))
        return lb_fail_nomem(err);
    s->blocks = lb_arena_alloc(s->arena, all + 1, sizeof *s->blocks);
    lb_str *messages = lb_arena_alloc(s->arena, s->file->n_types, sizeof *messages);
    if (s->blocks == NULL || messages == NULL)
        return lb_arena_fail(s->arena, err);
    for (size_t i = 0; i < all; i++) {
        s->blocks[i].name = leaves[i % n].whole.name;
        s->blocks[i].type = leaves[i % n].whole.type;
    }
    lb_buf_init(&bytes, &s->file->cx->budget);
    lb_status status = survey_metadata(s, &bytes, err);
    if (status == LB_CORRUPT) { /* then they are not there: verifying tells of it */
        lb_error_clear(err);
        bytes.size = 0;
        status = LB_OK;
    }
    if (status == LB_OK)
        status = survey_each_stripe(s, (lb_str){ (const char *)bytes.data, bytes.size }, messages, err);
    lb_buf_free(&bytes);
    return status;
}

/* ---------------------------------------------------------------- values */

typedef struct survey_asking {
    const bool *wanted;
    size_t at;
} survey_asking;

/* Leaves are asked for in their order. */
static bool survey_wants(void *user, const char *path, uint64_t column)
{
    survey_asking *a = user;

    (void)path;
    (void)column;
    return a->wanted[a->at++];
}

/* Leaves of a column in the order of lb_array_stats, whether they are wanted or not. */
static void survey_mark(const survey *s, const orc_type *t, size_t *leaf, size_t *at)
{
    size_t n;
    const survey_leaf *leaves = survey_leaves(s, &n);

    if (t->kind == ORC_STRUCT && t->n_children != 0) {
        for (uint32_t i = 0; i < t->n_children; i++)
            survey_mark(s, &s->file->types[t->children[i]], leaf, at);
        return;
    }
    const bool is = *leaf < n && leaves[*leaf].type == t;
    s->wanted[(*at)++] = is && leaves[*leaf].from_data;
    *leaf += is;
}

static lb_status survey_columns(survey *s, lb_error *err)
{
    const orc_file *f = s->file;
    size_t n, leaf = 0, at = 0;
    const survey_leaf *leaves = survey_leaves(s, &n);
    bool *reads = lb_arena_alloc(s->arena, (size_t)f->n_columns + 1, sizeof *reads);

    s->wanted = lb_arena_alloc(s->arena, (size_t)f->n_types + 1, sizeof *s->wanted);
    s->columns = lb_arena_alloc(s->arena, (size_t)f->n_columns + 1, sizeof *s->columns);
    if (reads == NULL || s->wanted == NULL || s->columns == NULL)
        return lb_arena_fail(s->arena, err);
    for (size_t i = 0; i < n; i++)
        reads[leaves[i].column] = reads[leaves[i].column] || leaves[i].from_data;
    for (uint32_t c = 0; c < f->n_columns; c++) {
        if (reads[c]) {
            s->columns[s->n_columns++].column = c;
            survey_mark(s, &f->types[f->columns[c]], &leaf, &at);
        }
        while (leaf < n && leaves[leaf].column == c)
            leaf++;
    }
    LB_TRY(lb_schema_struct(&s->schema, (int64_t)s->n_columns, err));
    for (size_t i = 0; i < s->n_columns; i++) {
        struct ArrowSchema *field = s->schema.children[i];
        if (field->release != NULL)
            field->release(field);
        LB_TRY(lb_schema_copy(f->schema.children[s->columns[i].column], field, err));
    }
    return LB_OK;
}

static lb_status survey_new_stats(const survey *s, lb_array_stats **out, lb_error *err)
{
    survey_asking asking = { .wanted = s->wanted };

    return lb_array_stats_new(&s->schema, survey_wants, &asking, &s->file->cx->budget, out, err);
}

static lb_status survey_read(const survey *s, const orc_stripe *stripe, lb_array_stats *stats, lb_error *err)
{
    const lb_range range = {
        .first = stripe->first_row, .count = stripe->rows, .n_columns = s->n_columns, .columns = s->columns
    };
    struct ArrowArrayStream stream;

    LB_TRY(orc_scan(s->r, &range, &stream, err));
    lb_status status = LB_OK;
    while (status == LB_OK) {
        struct ArrowArray batch = { 0 };
        status = lb_stream_next(&stream, &batch, err);
        if (status != LB_OK || batch.release == NULL)
            break;
        status = lb_array_stats_add(stats, &s->schema, &batch, err);
        batch.release(&batch);
    }
    stream.release(&stream);
    return status;
}

/* Results to the leaves that were read, in their order; `stripe` UINT64_MAX: of the whole. */
static lb_status survey_keep(survey *s, const lb_array_stats *stats, uint64_t stripe, lb_error *err)
{
    const size_t count = lb_array_stats_count(stats);
    lb_colstat *found = lb_arena_alloc(s->arena, count + 1, sizeof *found);
    size_t n, at = 0;
    survey_leaf *leaves = survey_leaves(s, &n);

    if (found == NULL)
        return lb_arena_fail(s->arena, err);
    LB_TRY(lb_array_stats_finish(stats, s->arena, found, NULL, err));
    for (size_t i = 0; i < n && at < count; i++)
        if (leaves[i].from_data)
            *(stripe == UINT64_MAX ? &leaves[i].whole : &s->blocks[stripe * n + i]) = found[at++];
    return LB_OK;
}

static lb_status survey_job(void *user, size_t stripe, lb_error *err)
{
    survey *s = user;
    lb_array_stats *stats = NULL;

    LB_TRY(survey_new_stats(s, &stats, err));
    lb_status status = survey_read(s, &s->file->stripes[stripe], stats, err);
    if (status == LB_OK) {
        pthread_mutex_lock(&s->lock);
        lb_array_stats_merge(s->all, stats);
        if (s->blocks != NULL)
            status = survey_keep(s, stats, stripe, err);
        pthread_mutex_unlock(&s->lock);
    }
    lb_array_stats_free(stats);
    return status;
}

static lb_status survey_values(survey *s, lb_error *err)
{
    size_t n, needed = 0;
    const survey_leaf *leaves = survey_leaves(s, &n);

    for (size_t i = 0; i < n; i++)
        needed += leaves[i].from_data;
    if (needed == 0)
        return LB_OK;
    LB_TRY(survey_columns(s, err));
    LB_TRY(survey_new_stats(s, &s->all, err));
    LB_TRY(lb_run_jobs(s->file->cx, (size_t)s->file->n_stripes, survey_job, s, err));
    return survey_keep(s, s->all, UINT64_MAX, err);
}

/* ---------------------------------------------------------------- results */

static lb_status survey_put_blocks(survey *s, size_t n, lb_error *err)
{
    size_t all = n * (size_t)s->file->n_stripes;
    const survey_leaf *leaves = survey_leaves(s, &n);
    uint32_t *of_block = lb_arena_alloc(s->arena, all + 1, sizeof *of_block),
             *of_column = lb_arena_alloc(s->arena, all + 1, sizeof *of_column);

    if (of_block == NULL || of_column == NULL)
        return lb_arena_fail(s->arena, err);
    for (size_t i = 0; i < all; i++) {
        of_block[i] = (uint32_t)(i / n);
        of_column[i] = leaves[i % n].column;
    }
    s->out->block_columns = (lb_colstats){ all, s->blocks };
    s->out->block_of_column = of_block;
    s->out->column_of_column = of_column;
    return LB_OK;
}

static lb_status survey_put(survey *s, lb_error *err)
{
    size_t n;
    const survey_leaf *leaves = survey_leaves(s, &n);

    s->out->columns.items = lb_arena_alloc(s->arena, n + 1, sizeof *s->out->columns.items);
    if (s->out->columns.items == NULL)
        return lb_arena_fail(s->arena, err);
    s->out->columns.count = n;
    for (size_t i = 0; i < n; i++)
        s->out->columns.items[i] = leaves[i].whole;
    return s->blocks == NULL ? LB_OK : survey_put_blocks(s, n, err);
}

static lb_status survey_stats(survey *s, lb_error *err)
{
    const orc_file *f = s->file;

    for (uint32_t c = 0; c < f->n_columns; c++)
        if (!orc_is_encrypted(f, f->columns[c]))
            LB_TRY(survey_collect(s, &f->types[f->columns[c]], f->schema.children[c], "", c, err));
    LB_TRY(survey_from_footer(s, err));
    if (s->options->stats == LB_STATS_BLOCKS)
        LB_TRY(survey_from_metadata(s, err));
    LB_TRY(survey_values(s, err));
    return survey_put(s, err);
}

lb_status orc_survey(lb_reader *r, const lb_survey_options *o, lb_arena *arena, lb_entry *out, lb_error *err)
{
    survey s = { .r = r, .file = &r->file, .options = o, .arena = arena, .out = out };

    out->total_rows = r->file.rows;
    LB_TRY(survey_schema(&r->file, arena, out, err));
    LB_TRY(survey_blocks(&r->file, arena, out, err));
    if (o->stats == LB_STATS_OFF || o->rows_only)
        return LB_OK;
    pthread_mutex_init(&s.lock, NULL);
    lb_buf_init(&s.items, &r->cx->budget);
    lb_status status = survey_stats(&s, err);
    lb_array_stats_free(s.all);
    if (s.schema.release != NULL)
        s.schema.release(&s.schema);
    lb_buf_free(&s.items);
    pthread_mutex_destroy(&s.lock);
    return status;
}
