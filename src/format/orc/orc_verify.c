/* Everything read: each stripe from its beginning to its end, and once more by its row index, which has to lead to the same
 * values. */
#include <stdlib.h>

#include "base/pool.h"
#include "format/orc/orc.h"

typedef struct verify {
    const orc_file *file;
    uint64_t *columns; /* those that are not encrypted */
    size_t n_columns;
    struct ArrowSchema schema;
} verify;

/* One reading of a stripe. */
typedef struct verify_side {
    lb_arena arena;
    orc_rows rows;
    struct ArrowArray array;
    struct ArrowArrayView view;
} verify_side;

static void side_reset(verify_side *s)
{
    if (s->array.release != NULL)
        s->array.release(&s->array);
    ArrowArrayViewReset(&s->view);
    orc_rows_reset(&s->rows);
}

/* Rows [at, at + n) of the stripe as an array with a view of it. */
static lb_status side_read(const verify *v, verify_side *s, uint64_t stripe, uint64_t at, size_t n, lb_error *err)
{
    struct ArrowError why = { "" };

    side_reset(s);
    LB_TRY(orc_rows_goto(&s->rows, stripe, at, err));
    LB_TRY(orc_rows_read(&s->rows, n, err));
    int code = ArrowArrayInitFromSchema(&s->array, &v->schema, &why);
    if (code != NANOARROW_OK) {
        s->array.release = NULL;
        return lb_fail_arrow(err, code, &why);
    }
    s->array.length = (int64_t)n;
    for (size_t i = 0; code == NANOARROW_OK && i < v->n_columns; i++)
        code = orc_node_finish(&s->rows.root.children[i], s->array.children[i]);
    if (code == NANOARROW_OK)
        code = ArrowArrayFinishBuilding(&s->array, NANOARROW_VALIDATION_LEVEL_MINIMAL, &why);
    if (code != NANOARROW_OK)
        return lb_fail_arrow(err, code, &why);
    return lb_view_open(&v->schema, &s->array, &s->view, err);
}

/* The same rows by both ways. */
static lb_status verify_step(const verify *v, verify_side *plain, verify_side *indexed, uint64_t stripe, uint64_t at,
                             size_t n, lb_error *err)
{
    const orc_stripe *s = &v->file->stripes[stripe];
    struct ArrowError why = { "" };
    int equal = 1;

    LB_TRY(side_read(v, plain, stripe, at, n, err));
    if (v->file->stride == 0)
        return LB_OK;
    LB_TRY(side_read(v, indexed, stripe, at, n, err));
    const int code = ArrowArrayViewCompare(&plain->view, &indexed->view, NANOARROW_COMPARE_IDENTICAL, &equal, &why);
    if (code != NANOARROW_OK)
        return lb_fail_arrow(err, code, &why);
    if (equal)
        return LB_OK;
    return lb_fail(err, LB_CORRUPT, (lb_where){ (int64_t)s->offset, (int64_t)(s->first_row + at), -1 },
                   "the row index of stripe %llu leads to other values than stand there", (unsigned long long)stripe);
}

static lb_status verify_rows(const verify *v, verify_side *plain, verify_side *indexed, uint64_t stripe, lb_error *err)
{
    const uint64_t rows = v->file->stripes[stripe].rows, stride = v->file->stride == 0 ? UINT64_MAX : v->file->stride;
    uint64_t step = ORC_STEP;

    for (uint64_t at = 0, n; at < rows;) {
        lb_error why = LB_ERROR_INIT;
        n = LB_MIN(LB_MIN(step, rows - at), stride - at % stride);
        LB_TRY(lb_check_cancel(v->file->cx, err));
        lb_status status = verify_step(v, plain, indexed, stripe, at, (size_t)n, &why);
        if (status == LB_OK) {
            at += n;
        } else if ((plain->rows.build->too_long || indexed->rows.build->too_long) && step > 1) {
            step = LB_MAX(LB_MIN(step, n) / 2, (uint64_t)1); /* long values: fewer at a time */
        } else {
            if (err != NULL && err->code == LB_OK)
                *err = why;
            return status;
        }
    }
    return LB_OK;
}

static lb_status side_open(const verify *v, verify_side *s, lb_error *err)
{
    lb_arena_init(&s->arena, &v->file->cx->budget);
    ArrowArrayViewInitFromType(&s->view, NANOARROW_TYPE_UNINITIALIZED);
    return orc_rows_open(&s->rows, v->file, v->columns, v->n_columns, &s->arena, err);
}

static void side_close(verify_side *s)
{
    if (s->rows.file != NULL) {
        side_reset(s);
        orc_rows_close(&s->rows);
    }
    lb_arena_free(&s->arena);
}

static lb_status verify_stripe(void *user, size_t stripe, lb_error *err)
{
    const verify *v = user;
    verify_side plain = { 0 }, indexed = { 0 };

    lb_status status = side_open(v, &plain, err);
    if (status == LB_OK)
        status = side_open(v, &indexed, err);
    plain.rows.no_index = true;
    indexed.rows.always_index = true;
    if (status == LB_OK)
        status = verify_rows(v, &plain, &indexed, stripe, err);
    side_close(&plain);
    side_close(&indexed);
    if (status != LB_OK && err != NULL && err->row < 0 && !lb_is_callers(status))
        err->row = (int64_t)v->file->stripes[stripe].first_row;
    return status;
}

/* The statistics of stripes are not read elsewhere unless somebody asks for them. */
static lb_status verify_metadata(const orc_file *f, lb_error *err)
{
    lb_buf raw, bytes;
    size_t got = 0;

    lb_buf_init(&raw, &f->cx->budget);
    lb_buf_init(&bytes, &f->cx->budget);
    lb_status status = lb_buf_reserve(&raw, (size_t)f->metadata_size + 1, err);
    if (status == LB_OK)
        status = lb_store_read(f->store, f->metadata_at, raw.data, (size_t)f->metadata_size, &got, err);
    if (status == LB_OK)
        status = orc_inflate(f, (lb_str){ (const char *)raw.data, got }, f->metadata_at, UINT64_MAX >> 1, &bytes, err);
    lb_proto m = lb_proto_of((lb_str){ (const char *)bytes.data, bytes.size });
    lb_proto_field field;
    while (status == LB_OK && lb_proto_next(&m, &field))
        ;
    if (status == LB_OK && m.bad)
        status =
            lb_fail(err, LB_CORRUPT, LB_AT(f->metadata_at), "the statistics of the ORC file's stripes are damaged");
    lb_buf_free(&raw);
    lb_buf_free(&bytes);
    return status;
}

static lb_status verify_columns(verify *v, lb_error *err)
{
    const orc_file *f = v->file;

    v->columns = calloc((size_t)f->n_columns + 1, sizeof *v->columns);
    if (v->columns == NULL)
        return lb_fail_nomem(err);
    for (uint32_t i = 0; i < f->n_columns; i++)
        if (!orc_is_encrypted(f, f->columns[i]))
            v->columns[v->n_columns++] = i;
    LB_TRY(lb_schema_struct(&v->schema, (int64_t)v->n_columns, err));
    for (size_t i = 0; i < v->n_columns; i++) {
        struct ArrowSchema *field = v->schema.children[i];
        if (field->release != NULL)
            field->release(field);
        LB_TRY(lb_schema_copy(f->schema.children[v->columns[i]], field, err));
    }
    return LB_OK;
}

lb_status orc_verify(lb_reader *r, lb_error *err)
{
    verify v = { .file = &r->file };

    lb_status status = verify_metadata(&r->file, err);
    if (status == LB_OK)
        status = verify_columns(&v, err);
    if (status == LB_OK)
        status = lb_run_jobs(r->cx, (size_t)r->file.n_stripes, verify_stripe, &v, err);
    if (v.schema.release != NULL)
        v.schema.release(&v.schema);
    free(v.columns);
    return status;
}
