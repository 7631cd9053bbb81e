/* Reading everything that a version reaches, only to see that it can be read. */
#include <stdio.h>
#include <stdlib.h>

#include "base/pool.h"
#include "lance/index_file.h"
#include "lance/lance_format.h"

#define VERIFY_ROWS 65536 /* read at a time */

typedef struct verify {
    lb_lance_set *set;
    size_t fragment;
    bool *taken; /* files of the fragment that are kept open */
} verify;

static lb_status verify_open(void *user, const lb_lance_part *part, size_t file, lb_lance_data **out, lb_error *err)
{
    verify *v = user;
    (void)part;

    if (v->taken[file]) {
        *out = v->set->fragments[v->fragment].files[file].data;
        return LB_OK;
    }
    LB_TRY(lb_lance_set_take(v->set, v->fragment, file, out, err));
    v->taken[file] = true;
    return LB_OK;
}

static lb_status verify_dictionary(void *user, const lb_lance_node *node, const lb_lance_data *data,
                                   const lb_lance_dictionary **out, lb_error *err)
{
    const verify *v = user;

    return lb_lance_set_dictionary(v->set, node, data, out, err);
}

/* Physical rows [first, first + count) of one column. */
static lb_status verify_rows(lb_lance_reading *r, const lb_lance_part *part, const lb_lance_node *node,
                             const struct ArrowSchema *schema, lb_lance_run run, lb_error *err)
{
    struct ArrowArray array = { 0 };
    struct ArrowError why = { "" };
    lb_lance_column column;
    lb_arena arena;

    lb_arena_init(&arena, &r->cx->budget);
    lb_status status = lb_fail_arrow(err, ArrowArrayInitFromSchema(&array, schema, NULL), NULL);
    if (status == LB_OK)
        status = lb_fail_arrow(err, ArrowArrayStartAppending(&array), NULL);
    if (status == LB_OK)
        status = lb_lance_column_begin(node, &array, &arena, &column, err);
    if (status == LB_OK)
        status = lb_lance_column_read(r, part, &column, &run, 1, err);
    if (status == LB_OK)
        status = lb_lance_column_end(&column, NULL, NULL, err);
    if (status == LB_OK)
        status = lb_fail_arrow(err, ArrowArrayFinishBuilding(&array, NANOARROW_VALIDATION_LEVEL_FULL, &why), &why);
    if (array.release != NULL)
        array.release(&array);
    lb_arena_free(&arena);
    return status;
}

static lb_status verify_column(lb_lance_reading *r, const lb_lance_part *part, const lb_lance_node *node, lb_error *err)
{
    struct ArrowSchema schema = { 0 };
    uint64_t rows = VERIFY_ROWS;

    LB_TRY(lb_lance_node_schema(node, &schema, err));
    lb_status status = LB_OK;
    for (uint64_t at = 0; status == LB_OK && at < part->rows;) {
        lb_error why = LB_ERROR_INIT;
        lb_lance_run run = { at, LB_MIN(rows, part->rows - at) };
        status = verify_rows(r, part, node, &schema, run, &why);
        if (status == LB_OK) {
            at += run.count;
        } else if (r->too_long && run.count > 1) {
            rows = run.count / 2;
            status = LB_OK;
        } else if (err != NULL) {
            *err = why;
        }
    }
    schema.release(&schema);
    return status;
}

/* A file's own schema and its batches, and that it has as many rows as its fragment. */
static lb_status verify_files(verify *v, lb_error *err)
{
    const lb_lance_rows_of *f = &v->set->fragments[v->fragment];
    lb_lance_data *data;

    for (size_t i = 0; i < f->pb->n_files; i++) {
        LB_TRY(verify_open(v, NULL, i, &data, err));
        if (data->rows == f->rows)
            continue;
        lb_fail(err, LB_CORRUPT, LB_NOWHERE, "this file has %llu rows, its fragment %llu",
                (unsigned long long)data->rows, (unsigned long long)f->rows);
        lb_fail_path(err, data->store->path);
        return LB_CORRUPT;
    }
    return LB_OK;
}

static lb_status verify_columns(verify *v, lb_error *err)
{
    const lb_lance_rows_of *f = &v->set->fragments[v->fragment];
    const lb_lance_part part = { .n_files = f->pb->n_files,
                                 .files = f->pb->files,
                                 .rows = f->rows,
                                 .open = verify_open,
                                 .dictionary = verify_dictionary,
                                 .user = v };
    const lb_deletions *deleted;
    lb_lance_reading r;

    LB_TRY(verify_files(v, err));
    LB_TRY(lb_lance_set_deletions(v->set, v->fragment, &deleted, err));
    lb_lance_reading_init(&r, v->set->cx);
    lb_status status = LB_OK;
    for (size_t i = 0; status == LB_OK && i < v->set->tree.n_columns; i++)
        status = verify_column(&r, &part, v->set->tree.columns[i], err);
    lb_lance_reading_free(&r);
    return status;
}

static lb_status verify_fragment(void *user, size_t index, lb_error *err)
{
    verify v = { .set = user, .fragment = index };
    size_t n = v.set->fragments[index].pb->n_files;

    v.taken = calloc(n + 1, sizeof *v.taken);
    if (v.taken == NULL)
        return lb_fail_nomem(err);
    lb_status status = verify_columns(&v, err);
    for (size_t i = 0; i < n; i++)
        if (v.taken[i])
            lb_lance_set_give(v.set, index, i);
    free(v.taken);
    return status;
}

/* The file of an index, where it is of a kind that is known; others are nobody's concern here. */
static lb_status verify_index(lb_lance_set *set, const lb_lance_index_entry *e, lb_error *err)
{
    const uint8_t *u = e->uuid->uuid.data;
    lb_store *store = NULL;
    lb_error why = LB_ERROR_INIT;
    lb_index_file index;
    lb_arena arena;
    char path[80];
    bool known;

    (void)snprintf(path, sizeof path,
                   "_indices/%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x/index.idx", u[0],
                   u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
    lb_status status = set->store->open_inside(set->store, path, &store, &why);
    if (status == LB_NOTFOUND) /* a scalar index has files of other names */
        return LB_OK;
    lb_arena_init(&arena, &set->cx->budget);
    if (status == LB_OK)
        status = lb_index_file_read(store, &arena, &index, &known, &why);
    lb_arena_free(&arena);
    lb_store_close(store);
    if (status != LB_OK && err != NULL)
        *err = why;
    return status;
}

lb_status lb_lance_verify(lb_lance_set *set, lb_error *err)
{
    LB_TRY(lb_lance_set_reach(set, UINT64_MAX, err));
    LB_TRY(lb_run_jobs(set->cx, set->n_fragments, verify_fragment, set, err));
    for (size_t i = 0; set->m.indices != NULL && i < set->m.indices->n_indices; i++)
        LB_TRY(verify_index(set, set->m.indices->indices[i], err));
    return LB_OK;
}
