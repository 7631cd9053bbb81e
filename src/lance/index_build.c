#include "lance/index_build.h"

#include <math.h>

#include "base/pool.h"
#include "column/stream.h"
#include "column/values.h"
#include "lance/kmeans.h"

#define BUILD_SAMPLE_BYTES ((uint64_t)512 << 20)
#define BUILD_WORDS_SAMPLE 65536 /* vectors that codebooks are made of */
#define BUILD_ROUNDS 50
#define BUILD_SUB_VECTORS 16
#define BUILD_PARTITIONS_MAX 65536
#define BUILD_CHUNK 256 /* rows a job */

/* ---------------------------------------------------------------- vectors as they are read */

/* Vectors of one batch, one behind the other; `list` says which of them are null. */
typedef struct build_batch {
    const float *vectors;
    const struct ArrowArrayView *list;
    size_t count;
    uint64_t first; /* row, or place among the rows asked for */
} build_batch;

typedef lb_status (*build_batch_fn)(void *user, const build_batch *batch, lb_error *err);

static lb_status build_give(const struct ArrowSchema *schema, struct ArrowArray *array, uint64_t first,
                            build_batch_fn each, void *user, lb_error *err)
{
    struct ArrowArrayView view;

    LB_TRY(lb_view_open(schema, array, &view, err));
    const struct ArrowArrayView *list = view.children[0], *items = list->children[0];
    const build_batch batch = { items->buffer_views[1].data.as_float + items->offset, list, (size_t)array->length,
                                first };
    lb_status status = each(user, &batch, err);
    ArrowArrayViewReset(&view);
    return status;
}

static lb_status build_read(lb_lance_set *set, const lb_lance_scan *scan, build_batch_fn each, void *user,
                            lb_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema = { 0 };
    uint64_t first = 0;

    LB_TRY(lb_lance_set_scan(set, scan, &stream, err));
    lb_status status = lb_stream_schema(&stream, &schema, err);
    while (status == LB_OK) {
        struct ArrowArray batch = { 0 };
        status = lb_stream_next(&stream, &batch, err);
        if (status != LB_OK || batch.release == NULL)
            break;
        status = build_give(&schema, &batch, first, each, user, err);
        first += (uint64_t)batch.length;
        batch.release(&batch);
    }
    if (schema.release != NULL)
        schema.release(&schema);
    stream.release(&stream);
    return status;
}

/* A vector as the index sees it: of length 1 for cosine. */
static void build_vector(lb_index_metric metric, const float *from, size_t dim, float *out)
{
    float sum = 0;

    memcpy(out, from, dim * sizeof *out);
    for (size_t i = 0; metric == LB_INDEX_COSINE && i < dim; i++)
        sum += from[i] * from[i];
    float size = sqrtf(sum);
    for (size_t i = 0; size > 0 && i < dim; i++)
        out[i] = from[i] / size;
}

/* ---------------------------------------------------------------- the sample */

typedef struct build_sample {
    const lb_index_file *model;
    float *vectors;
    size_t count;
} build_sample;

static lb_status sample_add(void *user, const build_batch *batch, lb_error *err)
{
    build_sample *s = user;
    size_t dim = s->model->dimension;
    (void)err;

    for (size_t i = 0; i < batch->count; i++) {
        float *to = s->vectors + s->count * dim;
        bool there = !lb_view_is_null(batch->list, (int64_t)i);
        build_vector(s->model->metric, batch->vectors + i * dim, dim, to);
        for (size_t k = 0; there && k < dim; k++)
            there = isfinite(to[k]);
        s->count += there;
    }
    return LB_OK;
}

static lb_status sample_read(lb_lance_set *set, uint64_t column, size_t want, uint64_t *seed, lb_arena *arena,
                             build_sample *s, lb_error *err)
{
    uint64_t *rows = lb_arena_alloc(arena, want, sizeof *rows);

    if (rows == NULL || want > SIZE_MAX / s->model->dimension)
        return lb_arena_fail(arena, err);
    s->vectors = lb_arena_alloc(arena, want * s->model->dimension, sizeof *s->vectors);
    if (s->vectors == NULL)
        return lb_arena_fail(arena, err);
    lb_pick_sorted(atomic_load(&set->rows), want, seed, rows);
    const lb_lance_scan scan = { .count = want, .rows = rows, .n_columns = 1, .columns = &column };
    LB_TRY(build_read(set, &scan, sample_add, s, err));
    if (s->count < LB_INDEX_CODES)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "an index needs at least %d vectors, and here are %zu",
                       LB_INDEX_CODES, s->count);
    if (s->count < s->model->partitions)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "%zu vectors are too few for %zu partitions", s->count,
                       s->model->partitions);
    return LB_OK;
}

/* ---------------------------------------------------------------- codebooks */

/* What codes stand for: the vector less its partition's center; of products, the vector itself. */
static void build_residual(const lb_index_file *model, const lb_points *centers, const float *x, float *out,
                           uint32_t *partition)
{
    bool dot = model->metric == LB_INDEX_DOT;

    *partition = (uint32_t)lb_points_nearest(centers, x, dot, NULL);
    const float *center = model->centroids + (size_t)*partition * model->dimension;
    for (size_t i = 0; i < model->dimension; i++)
        out[i] = dot ? x[i] : x[i] - center[i];
}

/* Sub-vectors of residuals: all first ones, all second ones … */
static lb_status words_gather(const lb_index_file *model, const build_sample *s, size_t n, lb_arena *arena, float **out,
                              lb_error *err)
{
    size_t dim = model->dimension, part = dim / model->sub_vectors, cells;
    lb_points centers;
    uint32_t partition;

    LB_TRY(lb_points_make(model->centroids, model->partitions, dim, arena, &centers, err));
    if (!lb_mul_size(n, dim, &cells))
        return lb_fail_nomem(err);
    float *all = lb_arena_alloc(arena, cells, sizeof *all), *residual = lb_arena_alloc(arena, dim, sizeof *residual);
    if (all == NULL || residual == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        size_t from = (size_t)((unsigned __int128)i * s->count / n);
        build_residual(model, &centers, s->vectors + from * dim, residual, &partition);
        for (size_t m = 0; m < model->sub_vectors; m++)
            memcpy(all + (m * n + i) * part, residual + m * part, part * sizeof *all);
    }
    *out = all;
    return LB_OK;
}

static lb_status words_train(lb_context *cx, const build_sample *s, const lb_index_wish *wish, uint64_t *seed,
                             lb_index_file *model, lb_arena *keep, lb_error *err)
{
    size_t n = LB_MIN(s->count, (size_t)BUILD_WORDS_SAMPLE), part = model->dimension / model->sub_vectors;
    float *codebook = lb_arena_alloc(keep, LB_INDEX_CODES * model->dimension, sizeof *codebook), *all = NULL;
    lb_arena arena;

    if (codebook == NULL)
        return lb_arena_fail(keep, err);
    lb_arena_init(&arena, &cx->budget);
    lb_status status = words_gather(model, s, n, &arena, &all, err);
    for (size_t m = 0; status == LB_OK && m < model->sub_vectors; m++)
        status = lb_kmeans(cx, all + m * n * part, n, part, LB_INDEX_CODES, wish->rounds, lb_seed_next(seed),
                           codebook + m * LB_INDEX_CODES * part, err);
    lb_arena_free(&arena);
    model->codebook = codebook;
    return status;
}

/* ---------------------------------------------------------------- training */

static lb_status train_shape(const lb_lance_set *set, size_t column, const lb_index_wish *wish, lb_index_file *out,
                             lb_error *err)
{
    static const char prefix[] = "fixed_size_list:float:";
    const lb_lance_node *node = set->columns[column];
    lb_str logical = lb_lance_str(node->field->logical_type);
    char name[128];

    lb_lance_shown(node->name, name, sizeof name);
    if (logical.size < sizeof prefix || memcmp(logical.at, prefix, sizeof prefix - 1) != 0)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "column '%s' is of type %.*s; vectors of float are indexed",
                       name, (int)LB_MIN(logical.size, (size_t)100), logical.at);
    uint64_t rows = atomic_load(&set->rows);
    *out = (lb_index_file){ .metric = wish->metric,
                            .dimension = (size_t)(node->type.width / sizeof(float)),
                            .partitions = wish->partitions,
                            .sub_vectors = wish->sub_vectors };
    if (out->partitions == 0)
        out->partitions = LB_MAX((size_t)1, LB_MIN((size_t)sqrt((double)rows), (size_t)4096));
    if (out->dimension > LB_INDEX_DIMENSION_MAX)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "vectors of more than %d numbers are not indexed",
                       LB_INDEX_DIMENSION_MAX);
    if (out->sub_vectors == 0)
        for (out->sub_vectors = BUILD_SUB_VECTORS; out->dimension % out->sub_vectors != 0;)
            out->sub_vectors--;
    if (out->partitions > BUILD_PARTITIONS_MAX)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "an index has at most %d partitions", BUILD_PARTITIONS_MAX);
    if (out->dimension % out->sub_vectors != 0)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "vectors of %zu numbers cannot be cut into %zu equal parts",
                       out->dimension, out->sub_vectors);
    return LB_OK;
}

static size_t train_sample_size(const lb_lance_set *set, const lb_index_file *model)
{
    uint64_t want = (uint64_t)256 * LB_MAX(model->partitions, (size_t)256);
    uint64_t most = LB_MAX(BUILD_SAMPLE_BYTES / (model->dimension * sizeof(float)), (uint64_t)model->partitions * 2);

    return (size_t)LB_MIN(LB_MIN(want, LB_MAX(most, (uint64_t)LB_INDEX_CODES)), atomic_load(&set->rows));
}

static lb_status train(lb_lance_set *set, size_t column, const lb_index_wish *wish, lb_arena *keep, lb_arena *arena,
                       lb_index_file *out, lb_error *err)
{
    build_sample s = { .model = out };
    uint64_t seed = wish->seed;

    LB_TRY(sample_read(set, column, train_sample_size(set, out), &seed, arena, &s, err));
    float *centroids = lb_arena_alloc(keep, out->partitions * out->dimension, sizeof *centroids);
    if (centroids == NULL)
        return lb_arena_fail(keep, err);
    LB_TRY(lb_kmeans(set->cx, s.vectors, s.count, out->dimension, out->partitions, wish->rounds, lb_seed_next(&seed),
                     centroids, err));
    out->centroids = centroids;
    return words_train(set->cx, &s, wish, &seed, out, keep, err);
}

lb_status lb_index_train(lb_lance_set *set, size_t column, const lb_index_wish *wish, lb_arena *keep,
                         lb_index_file *out, lb_error *err)
{
    lb_index_wish full = *wish;
    lb_arena arena;

    full.rounds = wish->rounds == 0 ? BUILD_ROUNDS : wish->rounds;
    LB_TRY(lb_lance_set_reach(set, UINT64_MAX, err));
    LB_TRY(train_shape(set, column, wish, out, err));
    lb_arena_init(&arena, &set->cx->budget);
    lb_status status = train(set, column, &full, keep, &arena, out, err);
    lb_arena_free(&arena);
    return status;
}

/* ---------------------------------------------------------------- every vector */

void lb_index_rows_init(lb_index_rows *rows, lb_budget *budget)
{
    rows->count = 0;
    lb_buf_init(&rows->partitions, budget);
    lb_buf_init(&rows->codes, budget);
    lb_buf_init(&rows->ids, budget);
}

void lb_index_rows_free(lb_index_rows *rows)
{
    lb_buf_free(&rows->partitions);
    lb_buf_free(&rows->codes);
    lb_buf_free(&rows->ids);
}

typedef struct build_encode {
    lb_lance_set *set;
    const lb_index_file *model;
    lb_points centers, *words; /* of each sub-vector */
    lb_index_rows *out;
    const build_batch *batch;
    uint32_t *partitions; /* of the batch: where its first row goes to */
    uint8_t *codes;
} build_encode;

static lb_status encode_chunk(void *user, size_t chunk, lb_error *err)
{
    const build_encode *e = user;
    const lb_index_file *model = e->model;
    size_t dim = model->dimension, part = dim / model->sub_vectors;
    size_t end = LB_MIN(e->batch->count, (chunk + 1) * BUILD_CHUNK);
    lb_arena arena;

    LB_TRY(lb_check_cancel(e->set->cx, err));
    lb_arena_init(&arena, &e->set->cx->budget);
    float *x = lb_arena_alloc(&arena, dim, sizeof *x), *residual = lb_arena_alloc(&arena, dim, sizeof *residual);
    lb_status status = x == NULL || residual == NULL ? lb_arena_fail(&arena, err) : LB_OK;
    for (size_t i = chunk * BUILD_CHUNK; x != NULL && residual != NULL && i < end; i++) {
        build_vector(model->metric, e->batch->vectors + i * dim, dim, x);
        build_residual(model, &e->centers, x, residual, &e->partitions[i]);
        for (size_t m = 0; m < model->sub_vectors; m++)
            e->codes[i * model->sub_vectors + m] =
                (uint8_t)lb_points_nearest(&e->words[m], residual + m * part, false, NULL);
    }
    lb_arena_free(&arena);
    return status;
}

/* Row ids of the batch; nulls are closed up. */
static lb_status encode_ids(build_encode *e, lb_error *err)
{
    const build_batch *b = e->batch;
    size_t m = e->model->sub_vectors, kept = 0;

    for (size_t i = 0; i < b->count; i++) {
        uint64_t id;
        if (lb_view_is_null(b->list, (int64_t)i))
            continue;
        LB_TRY(lb_lance_set_row_id(e->set, b->first + i, &id, err));
        lb_buf_put(&e->out->ids, &id, sizeof id);
        e->partitions[kept] = e->partitions[i];
        memmove(e->codes + kept++ * m, e->codes + i * m, m);
    }
    e->out->partitions.size += kept * sizeof *e->partitions;
    e->out->codes.size += kept * m;
    e->out->count += kept;
    return LB_OK;
}

static lb_status encode_batch(void *user, const build_batch *batch, lb_error *err)
{
    build_encode *e = user;
    lb_index_rows *out = e->out;

    LB_TRY(lb_buf_reserve(&out->partitions, batch->count * sizeof(uint32_t), err));
    LB_TRY(lb_buf_reserve(&out->codes, batch->count * e->model->sub_vectors, err));
    LB_TRY(lb_buf_reserve(&out->ids, batch->count * sizeof(uint64_t), err));
    e->batch = batch;
    e->partitions = (uint32_t *)(void *)(out->partitions.data + out->partitions.size);
    e->codes = out->codes.data + out->codes.size;
    LB_TRY(lb_run_jobs(e->set->cx, (batch->count + BUILD_CHUNK - 1) / BUILD_CHUNK, encode_chunk, e, err));
    return encode_ids(e, err);
}

static lb_status encode(build_encode *e, uint64_t column, lb_arena *arena, lb_error *err)
{
    const lb_index_file *model = e->model;
    size_t part = model->dimension / model->sub_vectors;

    LB_TRY(lb_lance_set_reach(e->set, UINT64_MAX, err));
    LB_TRY(lb_points_make(model->centroids, model->partitions, model->dimension, arena, &e->centers, err));
    e->words = lb_arena_alloc(arena, model->sub_vectors, sizeof *e->words);
    if (e->words == NULL)
        return lb_arena_fail(arena, err);
    for (size_t m = 0; m < model->sub_vectors; m++)
        LB_TRY(lb_points_make(model->codebook + m * LB_INDEX_CODES * part, LB_INDEX_CODES, part, arena, &e->words[m],
                              err));
    const lb_lance_scan scan = { .count = UINT64_MAX, .n_columns = 1, .columns = &column };
    return build_read(e->set, &scan, encode_batch, e, err);
}

lb_status lb_index_encode(lb_lance_set *set, size_t column, const lb_index_file *model, lb_index_rows *out,
                          lb_error *err)
{
    build_encode e = { .set = set, .model = model, .out = out };
    lb_arena arena;

    lb_arena_init(&arena, &set->cx->budget);
    lb_status status = encode(&e, column, &arena, err);
    lb_arena_free(&arena);
    return status;
}

/* ---------------------------------------------------------------- the file */

typedef struct build_put {
    const lb_index_file *model;
    const lb_index_rows *rows;
    lb_write_fn write;
    void *user;
    uint64_t *offsets;
    uint32_t *lengths;
    size_t *order; /* rows, partition after partition */
} build_put;

/* Rows stay in their order inside a partition. */
static lb_status put_sort(build_put *p, lb_arena *arena, lb_error *err)
{
    const uint32_t *partition = (const uint32_t *)(const void *)p->rows->partitions.data;
    size_t partitions = p->model->partitions, n = p->rows->count;
    size_t *at = lb_arena_alloc(arena, partitions + 1, sizeof *at);
    uint64_t bytes = p->model->sub_vectors + sizeof(uint64_t), offset = 0;

    p->offsets = lb_arena_alloc(arena, partitions, sizeof *p->offsets);
    p->lengths = lb_arena_alloc(arena, partitions, sizeof *p->lengths);
    p->order = lb_arena_alloc(arena, n, sizeof *p->order);
    if (at == NULL || p->offsets == NULL || p->lengths == NULL || p->order == NULL)
        return lb_arena_fail(arena, err);
    if (n > UINT32_MAX)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "an index holds at most 4294967295 vectors");
    for (size_t i = 0; i < n; i++)
        p->lengths[partition[i]]++;
    for (size_t k = 0; k < partitions; k++) {
        at[k + 1] = at[k] + p->lengths[k];
        p->offsets[k] = offset;
        offset += p->lengths[k] * bytes;
    }
    for (size_t i = 0; i < n; i++)
        p->order[at[partition[i]]++] = i;
    return LB_OK;
}

static lb_status put_bytes(const build_put *p, const lb_buf *bytes, lb_error *err)
{
    if (p->write(p->user, bytes->data, bytes->size))
        return LB_OK;
    return lb_fail(err, LB_IO, LB_NOWHERE, "the index could not be written");
}

/* Items of `size` bytes of the rows of one partition, in order. */
static lb_status put_items(const build_put *p, const lb_buf *items, size_t size, const size_t *order, size_t n,
                           lb_buf *scratch, lb_error *err)
{
    scratch->size = 0;
    LB_TRY(lb_buf_reserve(scratch, n * size, err));
    for (size_t i = 0; i < n; i++)
        lb_buf_put(scratch, items->data + order[i] * size, size);
    return put_bytes(p, scratch, err);
}

static lb_status put_partitions(const build_put *p, lb_buf *scratch, lb_error *err)
{
    const size_t *order = p->order;

    for (size_t k = 0; k < p->model->partitions; order += p->lengths[k++]) {
        LB_TRY(put_items(p, &p->rows->codes, p->model->sub_vectors, order, p->lengths[k], scratch, err));
        LB_TRY(put_items(p, &p->rows->ids, sizeof(uint64_t), order, p->lengths[k], scratch, err));
    }
    return LB_OK;
}

#define PUT_F32 2 /* data_type of a tensor */

typedef struct put_tensor {
    LbPb__Tensor tensor;
    uint32_t shape[2];
} put_tensor;

static LbPb__Tensor *put_tensor_of(put_tensor *t, size_t rows, size_t columns, const float *values)
{
    lb_pb__tensor__init(&t->tensor);
    t->shape[0] = (uint32_t)rows;
    t->shape[1] = (uint32_t)columns;
    t->tensor.data_type = PUT_F32;
    t->tensor.shape = t->shape;
    t->tensor.n_shape = 2;
    t->tensor.data = lb_lance_bytes((lb_str){ (const char *)values, rows * columns * sizeof *values });
    return &t->tensor;
}

/* Centers and codebook are lists of numbers in the releases that know L2 alone, and tensors since 0.8.7 and 0.8.15. All releases read
 * the lists, but those that read them of the other metrics take these for what they were before 0.10.2. */
static void put_numbers(const lb_index_file *x, LbPb__Ivf *ivf, LbPb__Pq *pq, put_tensor tensors[2])
{
    if (x->metric != LB_INDEX_L2) {
        ivf->centroids_tensor = put_tensor_of(&tensors[0], x->partitions, x->dimension, x->centroids);
        pq->codebook_tensor = put_tensor_of(&tensors[1], LB_INDEX_CODES, x->dimension, x->codebook);
        return;
    }
    ivf->centroids = (float *)(uintptr_t)x->centroids;
    ivf->n_centroids = x->partitions * x->dimension;
    pq->codebook = (float *)(uintptr_t)x->codebook;
    pq->n_codebook = LB_INDEX_CODES * x->dimension;
}

/* The message and the footer, for a file whose partitions take `size` bytes. */
static lb_status put_message(const build_put *p, uint64_t size, lb_buf *out, lb_error *err)
{
    const lb_index_file *x = p->model;
    LbPb__Ivf ivf = LB_PB__IVF__INIT;
    LbPb__Pq pq = LB_PB__PQ__INIT;
    LbPb__IndexStage stage[2], *stages[2] = { stage, stage + 1 };
    LbPb__VectorIndex vector = LB_PB__VECTOR_INDEX__INIT;
    LbPb__Index index = LB_PB__INDEX__INIT;
    ProtobufCBinaryData column = lb_lance_bytes(x->column);
    const lb_lance_footer footer = { .position = size, .minor = 1 };
    put_tensor tensors[2];

    lb_pb__index_stage__init(&stage[0]);
    lb_pb__index_stage__init(&stage[1]);
    put_numbers(x, &ivf, &pq, tensors);
    ivf.offsets = p->offsets;
    ivf.lengths = p->lengths;
    ivf.n_offsets = ivf.n_lengths = x->partitions;
    pq.num_bits = 8;
    pq.num_sub_vectors = (uint32_t)x->sub_vectors;
    pq.dimension = (uint32_t)x->dimension;
    stage[0].stage_case = LB_PB__INDEX_STAGE__STAGE_IVF;
    stage[0].ivf = &ivf;
    stage[1].stage_case = LB_PB__INDEX_STAGE__STAGE_PQ;
    stage[1].pq = &pq;
    vector.spec_version = 1;
    vector.dimension = (uint32_t)x->dimension;
    vector.stages = stages;
    vector.n_stages = 2;
    vector.metric_type = (int32_t)x->metric;
    index.name = lb_lance_bytes(x->name);
    index.columns = &column;
    index.n_columns = 1;
    index.dataset_version = x->dataset_version;
    index.implementation_case = LB_PB__INDEX__IMPLEMENTATION_VECTOR_INDEX;
    index.vector_index = &vector;
    LB_TRY(lb_lance_encode(&index.base, out, err));
    return lb_lance_encode_footer(&footer, out, err);
}

static lb_status put(build_put *p, lb_arena *arena, lb_buf *scratch, lb_error *err)
{
    uint64_t bytes = p->model->sub_vectors + sizeof(uint64_t);

    LB_TRY(put_sort(p, arena, err));
    LB_TRY(put_partitions(p, scratch, err));
    scratch->size = 0;
    LB_TRY(put_message(p, p->rows->count * bytes, scratch, err));
    return put_bytes(p, scratch, err);
}

lb_status lb_index_put(const lb_index_file *model, const lb_index_rows *rows, lb_budget *budget, lb_write_fn write,
                       void *user, lb_error *err)
{
    build_put p = { .model = model, .rows = rows, .write = write, .user = user };
    lb_buf scratch;
    lb_arena arena;

    lb_arena_init(&arena, budget);
    lb_buf_init(&scratch, budget);
    lb_status status = put(&p, &arena, &scratch, err);
    lb_buf_free(&scratch);
    lb_arena_free(&arena);
    return status;
}
