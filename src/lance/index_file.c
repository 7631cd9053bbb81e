#include "lance/index_file.h"

static lb_status index_bad(const char *what, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the index file is damaged: %s", what);
}

enum { TENSOR_F16 = 1, TENSOR_F32 = 2, TENSOR_F64 = 3 };

/* Numbers of a tensor, or of the list that older releases wrote instead, as float. */
static lb_status index_floats(const LbPb__Tensor *tensor, const float *list, size_t n_list, uint64_t count,
                              lb_arena *arena, const float **out, const char *what, lb_error *err)
{
    size_t width = tensor == NULL ? sizeof(float) : tensor->data_type == TENSOR_F64 ? sizeof(double) : sizeof(float);

    if (tensor != NULL && tensor->data_type != TENSOR_F32 && tensor->data_type != TENSOR_F64)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "%s of the index are of the unread number type %d", what,
                       tensor->data_type);
    if (count != (tensor == NULL ? n_list : tensor->data.len / width))
        return index_bad(what, err);
    float *copy = lb_arena_alloc(arena, (size_t)count, sizeof *copy);
    if (copy == NULL)
        return lb_arena_fail(arena, err);
    for (uint64_t i = 0; i < count; i++) {
        double wide;
        if (tensor == NULL) {
            copy[i] = list[i];
        } else if (width == sizeof wide) {
            memcpy(&wide, tensor->data.data + i * width, sizeof wide);
            copy[i] = (float)wide;
        } else {
            memcpy(&copy[i], tensor->data.data + i * width, sizeof copy[i]);
        }
    }
    *out = copy;
    return LB_OK;
}

static lb_status index_ivf(const LbPb__Ivf *ivf, uint64_t end, lb_arena *arena, lb_index_file *out, lb_error *err)
{
    uint64_t floats;

    out->partitions = ivf->n_offsets;
    out->offsets = ivf->offsets;
    out->lengths = ivf->lengths;
    if (ivf->n_lengths != ivf->n_offsets || __builtin_mul_overflow(out->partitions, out->dimension, &floats))
        return index_bad("its partitions do not fit each other", err);
    for (size_t p = 0; p < out->partitions; p++) {
        uint64_t bytes = out->lengths[p] * (uint64_t)(out->sub_vectors + sizeof(uint64_t));
        if (out->offsets[p] > end || bytes > end - out->offsets[p])
            return index_bad("a partition lies outside the file", err);
        out->rows += out->lengths[p];
    }
    return index_floats(ivf->centroids_tensor, ivf->centroids, ivf->n_centroids, floats, arena, &out->centroids,
                        "the centroids", err);
}

static lb_status index_rotation(const LbPb__Transform *t, lb_store *store, uint64_t end, lb_arena *arena,
                                lb_index_file *out, lb_error *err)
{
    uint64_t bytes = (uint64_t)out->dimension * out->dimension * sizeof(float);
    size_t got;

    if (t->n_shape != 2 || t->shape[0] != out->dimension || t->shape[1] != out->dimension || t->position > end ||
        bytes > end - t->position)
        return index_bad("its rotation does not fit", err);
    float *rotation = lb_arena_alloc(arena, 1, (size_t)bytes);
    if (rotation == NULL)
        return lb_arena_fail(arena, err);
    LB_TRY(lb_store_read(store, t->position, rotation, (size_t)bytes, &got, err));
    out->rotation = rotation;
    return got == bytes ? LB_OK : index_bad("it became shorter", err);
}

static lb_status index_stages(const LbPb__VectorIndex *v, lb_store *store, uint64_t end, lb_arena *arena,
                              lb_index_file *out, bool *known, lb_error *err)
{
    const LbPb__Ivf *ivf = NULL;
    const LbPb__Pq *pq = NULL;
    const LbPb__Transform *transform = NULL;

    for (size_t i = 0; i < v->n_stages; i++) {
        const LbPb__IndexStage *s = v->stages[i];
        if (s->stage_case == LB_PB__INDEX_STAGE__STAGE_IVF)
            ivf = s->ivf;
        else if (s->stage_case == LB_PB__INDEX_STAGE__STAGE_PQ)
            pq = s->pq;
        else if (s->stage_case == LB_PB__INDEX_STAGE__STAGE_TRANSFORM)
            transform = s->transform;
        else
            return LB_OK;
    }
    if (ivf == NULL || pq == NULL || pq->num_bits != 8 || (unsigned)v->metric_type > LB_INDEX_DOT)
        return LB_OK;
    out->metric = (lb_index_metric)v->metric_type;
    out->dimension = v->dimension;
    out->sub_vectors = pq->num_sub_vectors;
    if (out->dimension == 0 || out->dimension > LB_INDEX_DIMENSION_MAX || out->sub_vectors == 0 ||
        out->dimension % out->sub_vectors != 0)
        return index_bad("its dimensions do not fit each other", err);
    LB_TRY(index_ivf(ivf, end, arena, out, err));
    LB_TRY(index_floats(pq->codebook_tensor, pq->codebook, pq->n_codebook, (uint64_t)LB_INDEX_CODES * out->dimension,
                        arena, &out->codebook, "the codebook", err));
    if (transform != NULL)
        LB_TRY(index_rotation(transform, store, end, arena, out, err));
    *known = true;
    return LB_OK;
}

static lb_status index_read(lb_store *store, lb_arena *arena, lb_index_file *out, bool *known, lb_error *err)
{
    uint64_t end = store->size - LB_LANCE_FOOTER;
    lb_lance_footer footer;
    LbPb__Index *index;

    LB_TRY(lb_lance_read_footer(store, &footer, err));
    if (footer.major != 0 || footer.minor != 1)
        return LB_OK;
    LB_TRY(lb_lance_read_message(store, &lb_pb__index__descriptor, footer.position, end, true, "the index", arena,
                                 &index, err));
    out->name = lb_lance_str(index->name);
    out->dataset_version = index->dataset_version;
    if (index->implementation_case != LB_PB__INDEX__IMPLEMENTATION_VECTOR_INDEX || index->n_columns != 1)
        return LB_OK;
    out->column = lb_lance_str(index->columns[0]);
    return index_stages(index->vector_index, store, footer.position, arena, out, known, err);
}

lb_status lb_index_file_read(lb_store *store, lb_arena *arena, lb_index_file *out, bool *known, lb_error *err)
{
    *known = false;
    *out = (lb_index_file){ 0 };
    lb_status status = index_read(store, arena, out, known, err);
    if (status != LB_OK)
        lb_fail_path(err, store->path);
    return status;
}

lb_status lb_index_file_partition(const lb_index_file *index, lb_store *store, size_t p, lb_arena *arena,
                                  const uint8_t **codes, const uint64_t **ids, lb_error *err)
{
    size_t n = index->lengths[p], code_bytes = n * index->sub_vectors, got;
    uint8_t *to = lb_arena_alloc(arena, 1, code_bytes);
    uint64_t *rows = lb_arena_alloc(arena, n, sizeof *rows);

    if (to == NULL || rows == NULL)
        return lb_arena_fail(arena, err);
    LB_TRY(lb_store_read(store, index->offsets[p], to, code_bytes, &got, err));
    if (got == code_bytes)
        LB_TRY(lb_store_read(store, index->offsets[p] + code_bytes, rows, n * sizeof *rows, &got, err));
    if (got != n * sizeof *rows)
        return index_bad("it became shorter", err);
    *codes = to;
    *ids = rows;
    return LB_OK;
}
