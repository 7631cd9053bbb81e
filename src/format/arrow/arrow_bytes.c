/* Memory of arrays: shared, counted while it is worked on. */
#include <stdlib.h>

#include "format/arrow/arrow.h"

#define BYTES_ALIGN 64

/* For buffers of no bytes; offsets of no rows begin with a 0. */
static const uint8_t bytes_nothing[BYTES_ALIGN] __attribute__((aligned(BYTES_ALIGN)));

bool lb_arrow_work_take(lb_arrow_work *w, uint64_t bytes)
{
    if (!lb_budget_take(w->budget, bytes))
        return false;
    w->taken += bytes;
    return true;
}

void lb_arrow_work_give(lb_arrow_work *w)
{
    lb_budget_give(w->budget, w->taken);
    w->taken = 0;
}

lb_status lb_arrow_work_fail(const lb_arrow_work *w, lb_error *err)
{
    return lb_fail(err, LB_BUDGET, LB_NOWHERE, "the memory limit of %llu MiB is used up",
                   (unsigned long long)(w->budget == NULL ? 0 : w->budget->limit >> 20));
}

lb_status lb_arrow_mem_new(lb_arrow_work *w, uint64_t size, unsigned phase, lb_arrow_mem **out, lb_error *err)
{
    void *p = NULL;

    *out = NULL;
    if (size > INT64_MAX / 2 || !lb_arrow_work_take(w, size + sizeof(lb_arrow_mem)))
        return lb_arrow_work_fail(w, err);
    lb_arrow_mem *m = malloc(sizeof *m);
    /* The phase is below the alignment: the bytes may begin that far in. */
    if (m == NULL || posix_memalign(&p, BYTES_ALIGN, (size_t)size + 2 * BYTES_ALIGN) != 0) {
        free(m);
        return lb_fail_nomem(err);
    }
    m->refs = 1;
    m->size = size;
    m->mapping = NULL;
    m->at = (uint8_t *)p + phase % BYTES_ALIGN;
    memset(m->at + size, 0, BYTES_ALIGN);
    *out = m;
    return LB_OK;
}

lb_status lb_arrow_mem_map(lb_mapping *mapping, lb_arrow_mem **out, lb_error *err)
{
    lb_arrow_mem *m = malloc(sizeof *m);

    *out = m;
    if (m == NULL)
        return lb_fail_nomem(err);
    m->refs = 1;
    m->size = mapping->size;
    m->at = (uint8_t *)(uintptr_t)mapping->at;
    m->mapping = lb_mapping_ref(mapping);
    return LB_OK;
}

void lb_arrow_mem_unref(lb_arrow_mem *m)
{
    if (m == NULL || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (m->mapping == NULL)
        free(m->at - (uintptr_t)m->at % BYTES_ALIGN);
    lb_mapping_unref(m->mapping);
    free(m);
}

/* ---------------------------------------------------------------- pieces */

void lb_arrow_piece_drop(lb_arrow_piece *p)
{
    lb_arrow_mem_unref(p->mem);
    *p = (lb_arrow_piece){ .at = bytes_nothing };
}

lb_arrow_piece lb_arrow_piece_share(const lb_arrow_piece *p)
{
    if (p->mem != NULL)
        atomic_fetch_add_explicit(&p->mem->refs, 1, memory_order_relaxed);
    return (lb_arrow_piece){ .at = p->at, .size = p->size, .mem = p->mem };
}

lb_status lb_arrow_piece_new(lb_arrow_work *w, uint64_t size, bool zero, lb_arrow_piece *out, lb_error *err)
{
    *out = (lb_arrow_piece){ .at = bytes_nothing, .size = size };
    if (size == 0)
        return LB_OK;
    LB_TRY(lb_arrow_mem_new(w, size, 0, &out->mem, err));
    if (zero)
        memset(out->mem->at, 0, (size_t)size);
    out->at = out->mem->at;
    out->own = true;
    return LB_OK;
}

uint8_t *lb_arrow_piece_edit(lb_arrow_work *w, lb_arrow_piece *p, lb_error *err)
{
    lb_arrow_piece copy;

    if (!p->own && p->size != 0) {
        if (lb_arrow_piece_new(w, p->size, false, &copy, err) != LB_OK)
            return NULL;
        memcpy(copy.mem->at, p->at, (size_t)p->size);
        lb_arrow_mem_unref(p->mem);
        *p = copy;
    }
    return (uint8_t *)(uintptr_t)p->at;
}

/* ---------------------------------------------------------------- arrays */

#define BYTES_BUFFERS 3

typedef struct bytes_owner {
    const void *buffers[BYTES_BUFFERS];
    lb_arrow_mem *mems[BYTES_BUFFERS];
    struct ArrowArray *list[]; /* the children, which follow */
} bytes_owner;

static void bytes_release(struct ArrowArray *array)
{
    bytes_owner *o = array->private_data;

    for (int64_t i = 0; i < array->n_children; i++)
        if (o->list[i]->release != NULL)
            o->list[i]->release(o->list[i]);
    for (int i = 0; i < BYTES_BUFFERS; i++)
        lb_arrow_mem_unref(o->mems[i]);
    free(o);
    array->release = NULL;
}

lb_status lb_arrow_array_new(int64_t length, int n_buffers, int64_t n_children, struct ArrowArray *out, lb_error *err)
{
    size_t n = (size_t)n_children;
    bytes_owner *o = calloc(1, sizeof *o + n * (sizeof(struct ArrowArray *) + sizeof(struct ArrowArray)));

    out->release = NULL;
    if (o == NULL)
        return lb_fail_nomem(err);
    struct ArrowArray *children = (struct ArrowArray *)(void *)&o->list[n];
    for (size_t i = 0; i < n; i++)
        o->list[i] = &children[i];
    for (int i = 1; i < BYTES_BUFFERS; i++) /* the first is most often a validity, which may not be there */
        o->buffers[i] = bytes_nothing;
    *out = (struct ArrowArray){ .length = length,
                                .n_buffers = n_buffers,
                                .n_children = n_children,
                                .buffers = o->buffers,
                                .children = o->list,
                                .release = bytes_release,
                                .private_data = o };
    return LB_OK;
}

void lb_arrow_array_set(struct ArrowArray *array, int i, lb_arrow_piece *piece)
{
    bytes_owner *o = array->private_data;

    lb_arrow_mem_unref(o->mems[i]);
    o->buffers[i] = piece->at;
    o->mems[i] = piece->mem;
    *piece = (lb_arrow_piece){ .at = bytes_nothing };
}

void lb_arrow_array_drop(struct ArrowArray *array)
{
    if (array->release != NULL)
        array->release(array);
    array->release = NULL;
}
