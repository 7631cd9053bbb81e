#include "lance/lance_backfill.h"

#include <stdio.h>
#include <stdlib.h>

#include "column/stream.h"
#include "column/values.h"
#include "lance/dataset_store.h"

/* Batches of the columns that companions tell of, turned into batches of those companions. */
typedef struct backfill_state {
    struct ArrowArrayStream rows; /* a column for each companion, in their order */
    const lb_lance_companions *fresh;
    const lb_lance_tree *tree;
    const struct ArrowSchema *schema; /* of the companions */
} backfill_state;

/* ---------------------------------------------------------------- arrays that say "there" */

static lb_status backfill_true(const struct ArrowSchema *schema, int64_t n, struct ArrowArray *out, lb_error *err)
{
    struct ArrowSchemaView v;
    out->length = n;
    LB_TRY(lb_schema_view(schema, &v, err));
    if (v.type == NANOARROW_TYPE_FIXED_SIZE_LIST)
        return backfill_true(schema->children[0], n * v.fixed_size, out->children[0], err);
    return lb_fail_arrow(err, ArrowBufferAppendFill(ArrowArrayBuffer(out, 1), 0xff, (n + 7) / 8), NULL);
}

/* The child of `node` that leads to `target`. */
static const lb_lance_node *backfill_step(const lb_lance_node *node, const lb_lance_node *target)
{
    while (target != NULL && target->parent != node)
        target = target->parent;
    return target;
}

static int64_t backfill_place(const lb_lance_node *node, const lb_lance_node *child)
{
    for (size_t i = 0; i < node->n_children; i++)
        if (node->children[i] == child)
            return (int64_t)i;
    return 0;
}

/* Lists are as long as those of the column, their values all there. */
static lb_status backfill_array(const lb_lance_node *node, const lb_lance_node *target, const struct ArrowArray *from,
                                const struct ArrowSchema *schema, struct ArrowArray *out, lb_error *err)
{
    if (from->offset != 0)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a batch that was read begins in the middle of an array");
    if (node == target)
        return backfill_true(schema, from->length, out, err);
    const lb_lance_node *next = backfill_step(node, target);
    const struct ArrowArray *inner = from->children[backfill_place(node, next)];
    if (node->type.kind != LB_LANCE_LIST)
        return backfill_array(next, target, inner, schema, out, err);
    int64_t size = (from->length + 1) * (node->type.large ? 8 : 4);
    out->length = from->length;
    LB_TRY(lb_fail_arrow(err, ArrowBufferAppend(ArrowArrayBuffer(out, 1), from->buffers[1], size), NULL));
    return backfill_array(next, target, inner, schema->children[0], out->children[0], err);
}

static const lb_lance_node *backfill_top(const lb_lance_node *node)
{
    while (node->parent != NULL)
        node = node->parent;
    return node;
}

static lb_status backfill_batch(const backfill_state *st, const struct ArrowArray *rows, struct ArrowArray *out,
                                lb_error *err)
{
    LB_TRY(lb_fail_arrow(err, ArrowArrayInitFromSchema(out, st->schema, NULL), NULL));
    lb_status s = LB_OK;
    for (size_t i = 0; i < st->fresh->count && s == LB_OK; i++) {
        const lb_lance_node *target = lb_lance_tree_find(st->tree, st->fresh->items[i].of);
        s = backfill_array(backfill_top(target), target, rows->children[i], st->schema->children[i], out->children[i],
                           err);
    }
    out->length = rows->length;
    if (s == LB_OK)
        s = lb_fail_arrow(err, ArrowArrayFinishBuildingDefault(out, NULL), NULL);
    if (s != LB_OK) {
        out->release(out);
        out->release = NULL;
    }
    return s;
}

static lb_status backfill_next(void *state, struct ArrowArray *out, lb_error *err)
{
    backfill_state *st = state;
    struct ArrowArray rows;
    out->release = NULL;
    LB_TRY(lb_stream_next(&st->rows, &rows, err));
    if (rows.release == NULL)
        return LB_OK;
    lb_status s = backfill_batch(st, &rows, out, err);
    rows.release(&rows);
    return s;
}

/* ---------------------------------------------------------------- files */

/* Rows of the columns that hold what each companion tells of. */
static lb_status backfill_scan(lb_lance_work *work, lb_lance_set *set, backfill_state *st, lb_error *err)
{
    uint64_t *columns = lb_arena_alloc(&work->arena, st->fresh->count, sizeof *columns);
    if (columns == NULL)
        return lb_arena_fail(&work->arena, err);
    for (size_t i = 0; i < st->fresh->count; i++) {
        const lb_lance_node *node = lb_lance_tree_find(&set->tree, st->fresh->items[i].of);
        size_t at = 0;
        while (node != NULL && at < set->n_columns && set->columns[at] != backfill_top(node))
            at++;
        if (node == NULL || at == set->n_columns)
            return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a companion tells of no column");
        columns[i] = at;
    }
    lb_lance_scan scan = { .count = set->rows, .n_columns = st->fresh->count, .columns = columns };
    st->tree = &set->tree;
    return lb_lance_set_scan(set, &scan, &st->rows, err);
}

static lb_status backfill_schema(const lb_lance_tree *tree, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(lb_schema_struct(out, (int64_t)tree->n_columns, err));
    for (size_t i = 0; i < tree->n_columns; i++) {
        struct ArrowSchema child = { .release = NULL };
        LB_TRY(lb_lance_node_schema(tree->columns[i], &child, err));
        out->children[i]->release(out->children[i]);
        ArrowSchemaMove(&child, out->children[i]);
    }
    return LB_OK;
}

static lb_status backfill_write(lb_lance_work *work, lb_lance_set *set, backfill_state *st, lb_lance_writer *writer,
                                lb_lance_new_files *out, lb_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema copy;
    int32_t unused = 0;
    LB_TRY(lb_schema_copy(st->schema, &copy, err));
    lb_source source = { .next = backfill_next, .state = st };
    LB_TRY(lb_stream_make(source, &copy, &stream, err));
    lb_lance_extra extra = { .work = work,
                             .set = set,
                             .stream = &stream,
                             .from = st->schema,
                             .to = st->schema,
                             .writer = writer,
                             .next_id = &unused };
    lb_status s = lb_lance_extra_write(&extra, err);
    *out = extra.files;
    stream.release(&stream);
    return s;
}

static lb_status backfill_run(lb_lance_work *work, lb_lance_set *set, backfill_state *st, struct ArrowSchema *schema,
                              const lb_lance_fields *fields, const lb_lance_writer_options *options,
                              lb_lance_new_files *out, lb_error *err)
{
    lb_lance_tree tree;
    lb_lance_writer *writer = NULL;
    LB_TRY(lb_lance_tree_make(fields->items, fields->count, &work->arena, &tree, err));
    LB_TRY(backfill_schema(&tree, schema, err));
    LB_TRY(backfill_scan(work, set, st, err));
    LB_TRY(lb_lance_writer_new(work->cx, schema, fields, options, &writer, err));
    lb_status s = backfill_write(work, set, st, writer, out, err);
    lb_lance_writer_free(writer);
    return s;
}

lb_status lb_lance_backfill(lb_lance_work *work, const lb_lance_snapshot *base, const lb_lance_companions *fresh,
                            const lb_lance_fields *fields, lb_lance_entry **metadata, size_t n_metadata,
                            lb_lance_new_files *out, lb_error *err)
{
    char spec[24];
    lb_store *store = NULL;
    lb_lance_set *set = NULL;
    struct ArrowSchema schema = { .release = NULL };
    backfill_state st = { .rows = { .release = NULL }, .fresh = fresh, .schema = &schema };
    lb_lance_writer_options options = { .fixed_nullable = true, .metadata = metadata, .n_metadata = n_metadata };
    *out = (lb_lance_new_files){ NULL, 0, 0, 0 };
    (void)snprintf(spec, sizeof spec, "%llu", (unsigned long long)base->version);
    lb_status s = lb_dataset_store_open(work->cx, work->root, spec, &store, err);
    if (s == LB_OK)
        s = lb_lance_set_open(work->cx, store, &set, err);
    if (s == LB_OK)
        s = backfill_run(work, set, &st, &schema, fields, &options, out, err);
    if (st.rows.release != NULL)
        st.rows.release(&st.rows);
    if (schema.release != NULL)
        schema.release(&schema);
    lb_lance_set_close(set);
    lb_store_close(store);
    return s;
}
