#include "lance/index_search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "column/stream.h"
#include "column/values.h"
#include "lance/index_file.h"
#include "lance/versions.h"
#include "wire/roaring.h"

#define SEARCH_PROBES 20
#define SEARCH_MOST 1000000 /* results of one search */

/* The best so far: a heap whose first is the worst of them. */
typedef struct search_heap {
    lb_hit *items;
    size_t n, cap;
} search_heap;

typedef struct search_fragment {
    uint64_t id;
    size_t index; /* among the set's */
    bool covered; /* by the index */
} search_fragment;

/* One index file. An index has several where rows that came later were indexed on their own. */
typedef struct search_segment {
    const lb_lance_index_entry *entry;
    lb_store *store;
    lb_index_file index;
} search_segment;

typedef struct search {
    lb_lance_set *set;
    const lb_search *want;
    size_t column; /* among the shown ones */
    lb_metric metric;
    lb_arena arena;
    search_fragment *fragments; /* by id */
    size_t n_segments;          /* of the index; 0: none is used */
    search_segment *segments;
    const search_segment *segment; /* that is looked into */
    search_heap heap;
    uint64_t first; /* live row of the first vector that is read */
} search;

/* ---------------------------------------------------------------- the best ones */

/* Equal distances: the smaller row id first. */
static bool search_worse(const lb_hit *a, const lb_hit *b)
{
    return a->distance != b->distance ? a->distance > b->distance : a->row_id > b->row_id;
}

static bool heap_takes(const search_heap *h, const lb_hit *hit)
{
    return h->n < h->cap || search_worse(&h->items[0], hit);
}

static void heap_sink(search_heap *h, size_t i)
{
    for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
        lb_hit swap = h->items[i];
        if (child + 1 < h->n && search_worse(&h->items[child + 1], &h->items[child]))
            child++;
        if (!search_worse(&h->items[child], &swap))
            return;
        h->items[i] = h->items[child];
        h->items[child] = swap;
    }
}

static void heap_put(search_heap *h, lb_hit hit)
{
    if (h->n == h->cap) {
        h->items[0] = hit;
        heap_sink(h, 0);
        return;
    }
    size_t i = h->n++;
    for (; i > 0 && search_worse(&hit, &h->items[(i - 1) / 2]); i = (i - 1) / 2)
        h->items[i] = h->items[(i - 1) / 2];
    h->items[i] = hit;
}

static int search_order(const void *a, const void *b)
{
    return search_worse(a, b) ? 1 : search_worse(b, a) ? -1 : 0;
}

static int search_order_rows(const void *a, const void *b)
{
    const lb_hit *x = a, *y = b;

    return (x->row > y->row) - (x->row < y->row);
}

/* ---------------------------------------------------------------- distances */

static float search_dot(const float *a, const float *b, size_t n)
{
    float sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static float search_square(const float *a, const float *b, size_t n)
{
    float sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

static double search_exact(lb_metric metric, const float *q, const float *x, size_t n)
{
    if (metric == LB_METRIC_L2)
        return search_square(q, x, n);
    double dot = search_dot(q, x, n);
    if (metric == LB_METRIC_DOT)
        return 1 - dot;
    double size = sqrt((double)search_dot(q, q, n)) * sqrt((double)search_dot(x, x, n));
    return size == 0 ? 1 : 1 - dot / size;
}

/* ---------------------------------------------------------------- which rows there are */

static int search_order_fragments(const void *a, const void *b)
{
    const search_fragment *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static search_fragment *search_fragment_of(const search *s, uint64_t id)
{
    const search_fragment key = { .id = id };

    if (s->set->n_fragments == 0)
        return NULL;
    return bsearch(&key, s->fragments, s->set->n_fragments, sizeof *s->fragments, search_order_fragments);
}

/* The live row of a row id that the index gives; *live false: its fragment is gone or not the index's, or the row deleted. */
static lb_status search_row(const search *s, uint64_t id, uint64_t *row, bool *live, lb_error *err)
{
    const search_fragment *f = search_fragment_of(s, id >> 32);
    const lb_deletions *deleted;
    uint64_t at = id & UINT32_MAX;

    *live = false;
    if (f == NULL || !f->covered || at >= s->set->fragments[f->index].rows)
        return LB_OK;
    LB_TRY(lb_lance_set_deletions(s->set, f->index, &deleted, err));
    uint64_t before = deleted == NULL ? at : lb_deletions_live(deleted, at);
    *live = deleted == NULL || lb_deletions_physical(deleted, before) == at;
    *row = s->set->fragments[f->index].first + before;
    return LB_OK;
}

/* ---------------------------------------------------------------- the index */

/* Was the manifest written by Lance up to this release (or one that did not yet say)? */
static bool search_written_up_to(const lb_lance_set *set, unsigned minor, unsigned patch)
{
    const LbPb__WriterVersion *w = set->m.pb->writer_version;
    char text[32];
    unsigned numbers[3] = { 0, 0, 0 };

    if (w == NULL)
        return true;
    if (!lb_str_is(lb_lance_str(w->library), "lance"))
        return false;
    lb_copy_text(text, sizeof text, (const char *)w->version.data, w->version.len);
    for (const char *p = text, *end = text + strlen(text); p < end; p++)
        for (unsigned i = 0; i < 3 && p < end; i++, p += *p == '.')
            for (numbers[i] = 0; *p >= '0' && *p <= '9' && numbers[i] < 100000; p++)
                numbers[i] = numbers[i] * 10 + (unsigned)(*p - '0');
    return numbers[0] == 0 && (numbers[1] < minor || (numbers[1] == minor && numbers[2] <= patch));
}

static void search_cover(const search *s, uint64_t id)
{
    search_fragment *f = search_fragment_of(s, id);

    if (f != NULL)
        f->covered = true;
}

static lb_status search_cover_bitmap(search *s, const lb_lance_index_entry *e, lb_error *err)
{
    lb_buf ids;

    lb_buf_init(&ids, &s->set->cx->budget);
    lb_status status =
        lb_roaring_decode(e->fragment_bitmap.data, e->fragment_bitmap.len, (uint64_t)UINT32_MAX + 1, &ids, err);
    const uint32_t *id = (const uint32_t *)(const void *)ids.data;
    for (size_t i = 0; status == LB_OK && i < ids.size / sizeof *id; i++)
        search_cover(s, id[i]);
    lb_buf_free(&ids);
    return status;
}

/* Without a bitmap the index covers the fragments of the version it was made of. One that is gone covers nothing. */
static lb_status search_cover_version(search *s, uint64_t version, lb_error *err)
{
    lb_version_name name = { .version = version };
    lb_store *store = NULL;
    lb_manifest m;

    if (version == s->set->m.pb->version) {
        for (size_t i = 0; i < s->set->n_fragments; i++)
            s->fragments[i].covered = true;
        return LB_OK;
    }
    lb_status status = lb_version_open(s->set->store->path, &name, &store, NULL);
    name.long_name = true;
    if (status == LB_NOTFOUND)
        status = lb_version_open(s->set->store->path, &name, &store, NULL);
    if (status != LB_OK)
        return lb_is_callers(status) ? lb_fail(err, status, LB_NOWHERE, "%s", lb_status_text(status)) : LB_OK;
    status = lb_manifest_read(store, &s->arena, &m, err);
    for (size_t i = 0; status == LB_OK && i < m.pb->n_fragments; i++)
        search_cover(s, m.pb->fragments[i]->id);
    lb_store_close(store);
    return status;
}

/* Open an entry's file as the next segment; *opened false: it is of a kind that is not read, or gone. */
static lb_status search_open_segment(search *s, const lb_lance_index_entry *e, bool *opened, lb_error *err)
{
    const uint8_t *u = e->uuid->uuid.data;
    search_segment *segment = &s->segments[s->n_segments];
    lb_store *store = NULL;
    char path[80];
    bool known = false;

    (void)snprintf(path, sizeof path,
                   "_indices/%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x/index.idx", u[0],
                   u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
    lb_error why = LB_ERROR_INIT;
    lb_status status = s->set->store->open_inside(s->set->store, path, &store, &why);
    if (status == LB_OK)
        status = lb_index_file_read(store, &s->arena, &segment->index, &known, &why);
    if (status == LB_NOTFOUND || status == LB_UNSUPPORTED) /* an index that is not understood is no hindrance */
        status = LB_OK;
    if (status != LB_OK && err != NULL)
        *err = why;
    *opened = status == LB_OK && known && segment->index.dimension == s->want->dimension;
    if (!*opened) {
        lb_store_close(store);
        return status;
    }
    segment->entry = e;
    segment->store = store;
    s->n_segments++;
    return LB_OK;
}

static void search_close_segments(search *s)
{
    for (size_t i = 0; i < s->n_segments; i++)
        lb_store_close(s->segments[i].store);
    s->n_segments = 0;
}

/* The newest entry of the column; NULL: there is none. */
static const lb_lance_index_entry *search_newest_entry(const search *s)
{
    const lb_lance_index_section *all = s->set->m.indices;
    int32_t id = s->set->columns[s->column]->id;
    const lb_lance_index_entry *entry = NULL;

    for (size_t i = 0; all != NULL && i < all->n_indices; i++)
        for (size_t k = 0; k < all->indices[i]->n_fields; k++)
            entry = all->indices[i]->fields[k] == id ? all->indices[i] : entry;
    return entry;
}

/* May the newest segment be used? The metric of the search becomes its own. */
static bool search_takes_metric(search *s)
{
    lb_metric metric = (lb_metric)(s->segments[0].index.metric + 1);
    /* How cosine indices were made changed with release 0.10.2, without a mark: older ones are not used. */
    bool takes = (s->metric == LB_METRIC_DEFAULT || s->metric == metric) &&
                 (metric != LB_METRIC_COSINE || !search_written_up_to(s->set, 10, 1));

    if (s->metric == LB_METRIC_DEFAULT)
        s->metric = metric;
    return takes;
}

/* The other entries of the index's name. *whole: all of them are read. */
static lb_status search_open_others(search *s, const lb_lance_index_entry *newest, bool *whole, lb_error *err)
{
    const lb_lance_index_section *all = s->set->m.indices;

    *whole = true;
    for (size_t i = 0; i < all->n_indices; i++) {
        const lb_lance_index_entry *e = all->indices[i];
        bool opened;
        if (e == newest || !lb_str_equal(lb_lance_str(e->name), lb_lance_str(newest->name)))
            continue;
        LB_TRY(search_open_segment(s, e, &opened, err));
        *whole = *whole && opened && s->segments[s->n_segments - 1].index.metric == s->segments[0].index.metric;
    }
    return LB_OK;
}

/* Which fragments the segments cover. Each says of itself what all of them together cover, in some releases. */
static lb_status search_cover_segments(search *s, lb_error *err)
{
    bool trusted = !search_written_up_to(s->set, 8, 14);

    for (size_t i = 0; i < s->n_segments; i++) {
        const lb_lance_index_entry *e = s->segments[i].entry;
        if (trusted && e->fragment_bitmap_is_case != LB_PB__INDEX_ENTRY__FRAGMENT_BITMAP_IS__NOT_SET)
            LB_TRY(search_cover_bitmap(s, e, err));
        else
            LB_TRY(search_cover_version(s, e->dataset_version, err));
    }
    return LB_OK;
}

/* Choose the index of the column, the newest of several. */
static lb_status search_choose(search *s, lb_error *err)
{
    const lb_lance_index_entry *newest = s->want->exact || s->set->single ? NULL : search_newest_entry(s);
    bool opened, whole = true;

    if (newest == NULL)
        return LB_OK;
    s->segments = lb_arena_alloc(&s->arena, s->set->m.indices->n_indices, sizeof *s->segments);
    if (s->segments == NULL)
        return lb_arena_fail(&s->arena, err);
    LB_TRY(search_open_segment(s, newest, &opened, err));
    if (!opened)
        return LB_OK;
    bool takes = search_takes_metric(s);
    if (takes)
        LB_TRY(search_open_others(s, newest, &whole, err));
    if (takes && whole)
        return search_cover_segments(s, err);
    search_close_segments(s);
    return LB_OK;
}

/* ---------------------------------------------------------------- candidates of the index */

typedef struct search_probe {
    size_t partition;
    float distance;
} search_probe;

static int search_order_probes(const void *a, const void *b)
{
    const search_probe *x = a, *y = b;

    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return (x->partition > y->partition) - (x->partition < y->partition);
}

/* The query as the index sees it: rotated, and of length 1 for cosine. */
static lb_status search_query(search *s, float **out, lb_error *err)
{
    size_t n = s->segment->index.dimension;
    float *q = lb_arena_alloc(&s->arena, n, sizeof *q);

    if (q == NULL)
        return lb_arena_fail(&s->arena, err);
    memcpy(q, s->want->query, n * sizeof *q);
    if (s->metric == LB_METRIC_COSINE) {
        float size = sqrtf(search_dot(q, q, n));
        for (size_t i = 0; size > 0 && i < n; i++)
            q[i] /= size;
    }
    *out = q;
    if (s->segment->index.rotation == NULL)
        return LB_OK;
    float *turned = lb_arena_alloc(&s->arena, n, sizeof *turned);
    if (turned == NULL)
        return lb_arena_fail(&s->arena, err);
    for (size_t i = 0; i < n; i++)
        turned[i] = search_dot(s->segment->index.rotation + i * n, q, n);
    *out = turned;
    return LB_OK;
}

/* Distances of the parts of a vector to the codes: table[sub][code]. */
static void search_table(const search *s, const float *q, size_t partition, float *residual, float *table)
{
    const lb_index_file *x = &s->segment->index;
    size_t part = x->dimension / x->sub_vectors;

    for (size_t i = 0; i < x->dimension; i++)
        residual[i] = s->metric == LB_METRIC_DOT ? q[i] : q[i] - x->centroids[partition * x->dimension + i];
    for (size_t m = 0; m < x->sub_vectors; m++)
        for (size_t code = 0; code < 256; code++) {
            const float *word = x->codebook + (m * 256 + code) * part;
            table[m * 256 + code] = s->metric == LB_METRIC_DOT ? -search_dot(residual + m * part, word, part)
                                                               : search_square(residual + m * part, word, part);
        }
}

static lb_status search_partition(search *s, const float *q, size_t p, float *residual, float *table, lb_error *err)
{
    const lb_index_file *x = &s->segment->index;
    const uint8_t *codes;
    const uint64_t *ids;
    lb_arena arena;

    lb_arena_init(&arena, &s->set->cx->budget);
    lb_status status = lb_check_cancel(s->set->cx, err);
    if (status == LB_OK)
        status = lb_index_file_partition(x, s->segment->store, p, &arena, &codes, &ids, err);
    if (status == LB_OK)
        search_table(s, q, p, residual, table);
    for (size_t i = 0; status == LB_OK && i < x->lengths[p]; i++) {
        float sum = s->metric == LB_METRIC_DOT ? 1 : 0;
        for (size_t m = 0; m < x->sub_vectors; m++)
            sum += table[m * 256 + codes[i * x->sub_vectors + m]];
        lb_hit hit = { .row_id = ids[i], .distance = (double)sum };
        bool live;
        if (!heap_takes(&s->heap, &hit))
            continue;
        status = search_row(s, ids[i], &hit.row, &live, err);
        if (status == LB_OK && live)
            heap_put(&s->heap, hit);
    }
    lb_arena_free(&arena);
    return status;
}

static lb_status search_index(search *s, lb_error *err)
{
    const lb_index_file *x = &s->segment->index;
    size_t probes = LB_MIN(x->partitions, (size_t)(s->want->probes == 0 ? SEARCH_PROBES : s->want->probes));
    search_probe *order = lb_arena_alloc(&s->arena, x->partitions, sizeof *order);
    float *residual = lb_arena_alloc(&s->arena, x->dimension, sizeof *residual);
    float *table = lb_arena_alloc(&s->arena, x->sub_vectors * 256, sizeof *table), *q = NULL;

    if (order == NULL || residual == NULL || table == NULL)
        return lb_arena_fail(&s->arena, err);
    LB_TRY(search_query(s, &q, err));
    for (size_t p = 0; p < x->partitions; p++) {
        const float *centroid = x->centroids + p * x->dimension;
        order[p] = (search_probe){ p, s->metric == LB_METRIC_DOT ? 1 - search_dot(q, centroid, x->dimension)
                                                                 : search_square(q, centroid, x->dimension) };
    }
    qsort(order, x->partitions, sizeof *order, search_order_probes);
    for (size_t i = 0; i < probes; i++)
        LB_TRY(search_partition(s, q, order[i].partition, residual, table, err));
    return LB_OK;
}

/* ---------------------------------------------------------------- exact distances */

/* Called with each vector that is read. */
typedef lb_status (*search_vector_fn)(search *s, size_t place, const float *vector, lb_error *err);

static lb_status search_vectors(search *s, const lb_lance_scan *scan, search_vector_fn each, lb_error *err)
{
    size_t n = s->want->dimension, place = 0;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema = { 0 };
    float *vector = lb_arena_alloc(&s->arena, n, sizeof *vector);

    if (vector == NULL)
        return lb_arena_fail(&s->arena, err);
    LB_TRY(lb_lance_set_scan(s->set, scan, &stream, err));
    lb_status status = lb_stream_schema(&stream, &schema, err);
    while (status == LB_OK) {
        struct ArrowArray batch = { 0 };
        struct ArrowArrayView view;
        status = lb_stream_next(&stream, &batch, err);
        if (status != LB_OK || batch.release == NULL)
            break;
        status = lb_view_open(&schema, &batch, &view, err);
        const struct ArrowArrayView *list = view.children[0], *items = list->children[0];
        for (int64_t row = 0; status == LB_OK && row < batch.length; row++, place++) {
            for (size_t i = 0; i < n; i++)
                vector[i] = (float)lb_view_double(items, row * (int64_t)n + (int64_t)i);
            if (!lb_view_is_null(list, row))
                status = each(s, place, vector, err);
        }
        ArrowArrayViewReset(&view);
        batch.release(&batch);
    }
    if (schema.release != NULL)
        schema.release(&schema);
    stream.release(&stream);
    return status;
}

/* Exact distances of the candidates. */
static lb_status search_refine_one(search *s, size_t place, const float *vector, lb_error *err)
{
    (void)err;
    s->heap.items[place].distance = search_exact(s->metric, s->want->query, vector, s->want->dimension);
    return LB_OK;
}

static lb_status search_refine(search *s, lb_error *err)
{
    uint64_t column = s->column;
    size_t n = s->heap.n;
    uint64_t *rows = lb_arena_alloc(&s->arena, n, sizeof *rows);

    if (rows == NULL)
        return lb_arena_fail(&s->arena, err);
    if (n == 0)
        return LB_OK;
    qsort(s->heap.items, n, sizeof *s->heap.items, search_order_rows);
    for (size_t i = 0; i < n; i++)
        rows[i] = s->heap.items[i].row;
    const lb_lance_scan scan = { .count = n, .rows = rows, .n_columns = 1, .columns = &column };
    return search_vectors(s, &scan, search_refine_one, err);
}

static lb_status search_add_one(search *s, size_t place, const float *vector, lb_error *err)
{
    lb_hit hit = { .row = s->first + place };

    hit.distance = search_exact(s->metric, s->want->query, vector, s->want->dimension);
    if (s->heap.n == s->heap.cap && hit.distance > s->heap.items[0].distance)
        return LB_OK;
    LB_TRY(lb_lance_set_row_id(s->set, hit.row, &hit.row_id, err));
    if (heap_takes(&s->heap, &hit))
        heap_put(&s->heap, hit);
    return LB_OK;
}

static bool search_is_covered(const search *s, size_t fragment)
{
    const search_fragment *f = search_fragment_of(s, s->set->fragments[fragment].pb->id);

    return s->n_segments != 0 && f != NULL && f->covered;
}

/* Rows that the index does not cover, in runs of fragments. */
static lb_status search_rest(search *s, lb_error *err)
{
    uint64_t column = s->column;

    for (size_t i = 0, end; i < s->set->n_fragments; i = end) {
        for (end = i + 1; end < s->set->n_fragments && search_is_covered(s, end) == search_is_covered(s, i);)
            end++;
        if (search_is_covered(s, i))
            continue;
        uint64_t stop = end < s->set->n_fragments ? s->set->fragments[end].first : s->set->rows;
        s->first = s->set->fragments[i].first;
        const lb_lance_scan scan = { .first = s->first, .count = stop - s->first, .n_columns = 1, .columns = &column };
        LB_TRY(search_vectors(s, &scan, search_add_one, err));
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- the search */

static lb_status search_check(search *s, lb_error *err)
{
    const lb_search *w = s->want;
    lb_lance_type type = { .kind = LB_LANCE_NOTHING };
    char prefix[3][32] = { "fixed_size_list:float:", "fixed_size_list:double:", "fixed_size_list:halffloat:" };
    bool vector = false;

    for (s->column = 0; s->column < s->set->n_columns; s->column++)
        if (lb_str_is(s->set->columns[s->column]->name, w->column))
            break;
    if (s->column == s->set->n_columns)
        return lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "Column '%s' not found", w->column);
    lb_str logical = lb_lance_str(s->set->columns[s->column]->field->logical_type);
    for (size_t i = 0; i < LB_COUNT_OF(prefix); i++)
        vector |= logical.size > strlen(prefix[i]) && memcmp(logical.at, prefix[i], strlen(prefix[i])) == 0;
    LB_TRY(lb_lance_type_of(logical, &type, NULL, err));
    if (!vector)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "column '%s' holds no vectors: its type is %.*s", w->column,
                       (int)LB_MIN(logical.size, (size_t)100), logical.at);
    size_t width = logical.at[16] == 'd' ? 8 : logical.at[16] == 'h' ? 2 : 4;
    if (type.width / width != w->dimension)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "the query has %zu numbers, the vectors of '%s' have %llu",
                       w->dimension, w->column, (unsigned long long)(type.width / width));
    for (size_t i = 0; i < w->dimension; i++)
        if (!isfinite(w->query[i]))
            return lb_fail(err, LB_USAGE, LB_NOWHERE, "number %zu of the query is not finite", i);
    if (w->k == 0 || w->k > SEARCH_MOST || (w->refine != 0 && w->k > SEARCH_MOST / w->refine))
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "a search gives 1 to %d rows", SEARCH_MOST);
    if ((unsigned)w->metric > LB_METRIC_DOT)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "%d is no metric", (int)w->metric);
    return LB_OK;
}

static lb_status search_setup(search *s, lb_error *err)
{
    size_t n = s->set->n_fragments;

    LB_TRY(search_check(s, err));
    s->metric = s->want->metric;
    s->fragments = lb_arena_alloc(&s->arena, n + 1, sizeof *s->fragments);
    if (s->fragments == NULL)
        return lb_arena_fail(&s->arena, err);
    for (size_t i = 0; i < n; i++)
        s->fragments[i] = (search_fragment){ .id = s->set->fragments[i].pb->id, .index = i };
    qsort(s->fragments, n, sizeof *s->fragments, search_order_fragments);
    LB_TRY(search_choose(s, err));
    if (s->metric == LB_METRIC_DEFAULT)
        s->metric = LB_METRIC_L2;
    /* A row may be in several segments, or twice in a damaged one. */
    uint64_t cap = (uint64_t)s->want->k * LB_MAX(s->want->refine, 1u) * LB_MAX(s->n_segments, (size_t)1);
    s->heap.cap =
        (size_t)LB_MIN(cap, LB_MAX(atomic_load(&s->set->rows), (uint64_t)1) * LB_MAX(s->n_segments, (size_t)1));
    s->heap.items = lb_arena_alloc(&s->arena, s->heap.cap, sizeof *s->heap.items);
    return s->heap.items == NULL ? lb_arena_fail(&s->arena, err) : LB_OK;
}

/* Each row once, with its least distance. */
static void search_drop_doubles(search *s)
{
    lb_hit *hits = s->heap.items;
    size_t n = 0;

    qsort(hits, s->heap.n, sizeof *hits, search_order_rows);
    for (size_t i = 0; i < s->heap.n; i++) {
        if (n == 0 || hits[n - 1].row != hits[i].row)
            hits[n++] = hits[i];
        else if (hits[i].distance < hits[n - 1].distance)
            hits[n - 1] = hits[i];
    }
    s->heap.n = n;
}

static lb_status search_run(search *s, lb_error *err)
{
    LB_TRY(search_setup(s, err));
    for (size_t i = 0; i < s->n_segments; i++) {
        s->segment = &s->segments[i];
        LB_TRY(search_index(s, err));
    }
    search_drop_doubles(s);
    if (s->n_segments != 0 && s->want->refine != 0)
        LB_TRY(search_refine(s, err));
    /* Of the candidates as many are kept as are wanted. */
    qsort(s->heap.items, s->heap.n, sizeof *s->heap.items, search_order);
    search_heap kept = { s->heap.items, 0, LB_MIN(s->want->k, s->heap.cap) };
    size_t n = LB_MIN(s->heap.n, s->want->k);
    for (size_t i = 0; i < n; i++)
        heap_put(&kept, s->heap.items[i]);
    s->heap = kept;
    LB_TRY(search_rest(s, err));
    qsort(s->heap.items, s->heap.n, sizeof *s->heap.items, search_order);
    return LB_OK;
}

lb_status lb_lance_search(lb_lance_set *set, const lb_search *want, lb_hit *out, size_t *n, lb_error *err)
{
    search s = { .set = set, .want = want };

    *n = 0;
    lb_arena_init(&s.arena, &set->cx->budget);
    lb_status status = search_run(&s, err);
    if (status == LB_OK) {
        *n = s.heap.n;
        if (*n != 0)
            memcpy(out, s.heap.items, *n * sizeof *out);
    }
    search_close_segments(&s);
    lb_arena_free(&s.arena);
    return status;
}
