/* Rows as arrays. Of a tree of nodes each has the first leaf below it tell where its slots are: a struct or list
 * takes its validity and offsets from the levels of that leaf alone, and what the other leaves say must come to the
 * same lengths.
 *
 * A level pair is a slot of a node where rep <= node->rep (else it goes on in a list inside) and def >=
 * node->slot_def (else some list around has no item); there is something in the slot where def >= node->def. */
#include "format/parquet/parquet_chunk.h"

#include <stdlib.h>

#include "base/cpu.h"

#define COLUMN_BLOCK 1024

/* What levels say of a node, in one number: leaves of one struct or list must say the same of it, or their values
 * would not stand beside those they belong to. */
typedef struct pq_trace {
    uint64_t slots, items, sum;
} pq_trace;

typedef struct pq_field pq_field;
struct pq_field {
    const lb_parquet_node *node;
    pq_trace trace; /* kept where several leaves are below */
    uint64_t length, nulls;
    lb_buf bits;    /* validity; kept only once there was a null */
    lb_buf offsets; /* LIST, MAP: int32, where the items of each slot begin */
    uint64_t items;
    lb_parquet_conversion as;   /* LEAF */
    lb_buf values;              /* BITS, WIDE */
    lb_parquet_strings strings; /* STRINGS */
    size_t n_children;
    pq_field **children;
};

/* The fields that take their slots from one leaf, the outermost first; the leaf is the last. */
typedef struct pq_path {
    size_t n;
    pq_field **fields;
    size_t n_shared; /* those around that take their slots from another leaf */
    pq_field **shared;
    pq_trace *traces; /* what this leaf says of them */
} pq_path;

struct lb_parquet_column {
    lb_context *cx;
    lb_arena arena;
    pq_field *root;
    size_t n_paths;
    pq_path *paths;
    lb_buf scratch;             /* stored values before they are converted; bits before they are spread */
    lb_parquet_strings strings; /* stored decimals */
    bool too_long;
};

/* ---------------------------------------------------------------- make and free */

static lb_status field_new(lb_parquet_column *c, const lb_parquet_node *node, pq_field **out, lb_error *err)
{
    pq_field *f = lb_arena_alloc(&c->arena, 1, sizeof *f);

    if (f == NULL)
        return lb_arena_fail(&c->arena, err);
    *out = f;
    f->node = node;
    lb_buf_init(&f->bits, &c->cx->budget);
    lb_buf_init(&f->offsets, &c->cx->budget);
    lb_buf_init(&f->values, &c->cx->budget);
    lb_parquet_strings_init(&f->strings, &c->cx->budget);
    if (node->shape == LB_PARQUET_LEAF)
        return lb_parquet_conversion_of(node, &f->as, err);
    f->children = lb_arena_alloc(&c->arena, node->n_children, sizeof *f->children);
    if (f->children == NULL)
        return lb_arena_fail(&c->arena, err);
    for (; f->n_children < node->n_children; f->n_children++)
        LB_TRY(field_new(c, node->children[f->n_children], &f->children[f->n_children], err));
    return LB_OK;
}

static void field_free(pq_field *f)
{
    if (f == NULL)
        return;
    lb_buf_free(&f->bits);
    lb_buf_free(&f->offsets);
    lb_buf_free(&f->values);
    lb_parquet_strings_free(&f->strings);
    for (size_t i = 0; i < f->node->n_children && f->children != NULL; i++)
        field_free(f->children[i]);
}

/* Fill in the fields from `f` down to the leaf; before there is room for them they are only counted. */
static void path_fill(pq_path *path, pq_field *f, size_t leaf)
{
    if (f->node->first_leaf == leaf) {
        if (path->fields != NULL)
            path->fields[path->n] = f;
        path->n++;
    } else {
        if (path->shared != NULL)
            path->shared[path->n_shared] = f;
        path->n_shared++;
    }
    for (size_t i = 0; i < f->n_children; i++) {
        const lb_parquet_node *child = f->children[i]->node;
        if (leaf >= child->first_leaf && leaf - child->first_leaf < child->n_leaves)
            path_fill(path, f->children[i], leaf);
    }
}

static lb_status path_new(lb_parquet_column *c, size_t leaf, pq_path *path, lb_error *err)
{
    path_fill(path, c->root, leaf);
    path->fields = lb_arena_alloc(&c->arena, path->n + 1, sizeof(pq_field *));
    path->shared = lb_arena_alloc(&c->arena, path->n_shared + 1, sizeof(pq_field *));
    path->traces = lb_arena_alloc(&c->arena, path->n_shared + 1, sizeof *path->traces);
    if (path->fields == NULL || path->shared == NULL || path->traces == NULL)
        return lb_arena_fail(&c->arena, err);
    path->n = path->n_shared = 0;
    path_fill(path, c->root, leaf);
    if (path->n == 0 || path->fields[path->n - 1]->node->shape != LB_PARQUET_LEAF)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a Parquet leaf without a field");
    return LB_OK;
}

static lb_status column_paths(lb_parquet_column *c, lb_error *err)
{
    const lb_parquet_node *root = c->root->node;

    c->paths = lb_arena_alloc(&c->arena, root->n_leaves, sizeof *c->paths);
    if (c->paths == NULL)
        return lb_arena_fail(&c->arena, err);
    for (; c->n_paths < root->n_leaves; c->n_paths++)
        LB_TRY(path_new(c, root->first_leaf + c->n_paths, &c->paths[c->n_paths], err));
    return LB_OK;
}

lb_status lb_parquet_column_new(lb_context *cx, const lb_parquet_node *node, lb_parquet_column **out, lb_error *err)
{
    lb_parquet_column *c = calloc(1, sizeof *c);

    *out = NULL;
    if (c == NULL)
        return lb_fail_nomem(err);
    c->cx = cx;
    lb_arena_init(&c->arena, &cx->budget);
    lb_buf_init(&c->scratch, &cx->budget);
    lb_parquet_strings_init(&c->strings, &cx->budget);
    lb_status status = field_new(c, node, &c->root, err);
    if (status == LB_OK)
        status = column_paths(c, err);
    if (status != LB_OK) {
        lb_parquet_column_free(c);
        return status;
    }
    *out = c;
    return LB_OK;
}

void lb_parquet_column_free(lb_parquet_column *c)
{
    if (c == NULL)
        return;
    field_free(c->root);
    lb_buf_free(&c->scratch);
    lb_parquet_strings_free(&c->strings);
    lb_arena_free(&c->arena);
    free(c);
}

uint64_t lb_parquet_column_rows(const lb_parquet_column *c)
{
    return c->root->length;
}

/* ---------------------------------------------------------------- validity */

/* Room for `n` bits more; bits of what is already there are made where none were kept. */
static lb_status bits_begin(pq_field *f, uint64_t n, lb_error *err)
{
    const size_t size = (size_t)((f->length + n + 7) / 8);

    if (f->nulls == 0)
        f->bits.size = 0;
    LB_TRY(lb_buf_reserve(&f->bits, size - f->bits.size + 8, err));
    if (f->nulls == 0)
        lb_bits_fill(f->bits.data, 0, f->length, true);
    f->bits.size = size;
    return LB_OK;
}

/* `n` slots that all hold something. */
static lb_status bits_full(pq_field *f, uint64_t n, lb_error *err)
{
    if (f->nulls == 0)
        return LB_OK;
    LB_TRY(bits_begin(f, n, err));
    lb_bits_fill(f->bits.data, f->length, n, true);
    return LB_OK;
}

typedef struct pq_levels {
    const uint16_t *reps, *defs;
    size_t n;
    uint16_t max_rep;
} pq_levels;

static size_t count_at_least(const uint16_t *levels, size_t n, uint16_t least)
{
    size_t count = 0;

    for (size_t at = 0; at < n;) {
        uint16_t part = 0; /* narrow, for the compiler's vectors */
        const size_t stop = LB_MIN(n, at + 16384);
        for (; at < stop; at++)
            part = (uint16_t)(part + (levels[at] >= least));
        count += part;
    }
    return count;
}

#if defined(__x86_64__)
#include <immintrin.h>

static inline uint64_t mask16(const uint16_t *levels, __m128i least)
{
    const __m128i zero = _mm_setzero_si128();
    __m128i a = _mm_loadu_si128((const __m128i *)(const void *)levels);
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(levels + 8));
    a = _mm_cmpeq_epi16(_mm_subs_epu16(least, a), zero);
    b = _mm_cmpeq_epi16(_mm_subs_epu16(least, b), zero);
    return (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(a, b));
}

static inline size_t mask_wide(const uint16_t *levels, size_t n, uint16_t least, uint64_t *mask)
{
    const __m128i v = _mm_set1_epi16((short)least);
    size_t i = 0;

    for (; i + 16 <= n; i += 16)
        *mask |= mask16(levels + i, v) << i;
    return i;
}

__attribute__((target("bmi2"))) static uint64_t bits_pick_bmi2(uint64_t bits, uint64_t from)
{
    return _pext_u64(bits, from);
}
#else
static inline size_t mask_wide(const uint16_t *levels, size_t n, uint16_t least, uint64_t *mask)
{
    (void)levels;
    (void)n;
    (void)least;
    (void)mask;
    return 0;
}
#endif

/* Bits of the next `n` <= 64 levels: are they at least this? */
static inline uint64_t mask_at_least(const uint16_t *levels, size_t n, uint16_t least)
{
    uint64_t mask = 0;

    for (size_t i = mask_wide(levels, n, least, &mask); i < n; i++)
        mask |= (uint64_t)(levels[i] >= least) << i;
    return mask;
}

/* Those of `bits` that `from` names, side by side. */
static uint64_t bits_pick(uint64_t bits, uint64_t from)
{
    uint64_t out = 0;

#if defined(__x86_64__)
    if ((lb_cpu() & LB_CPU_AVX2) != 0) /* every processor with it has BMI2 */
        return bits_pick_bmi2(bits, from);
#endif
    for (unsigned k = 0; from != 0; from &= from - 1)
        out |= (bits >> __builtin_ctzll(from) & 1) << k++;
    return out;
}

/* What 64 levels from `at` on say of a node: where its slots are, and which hold something. */
typedef struct pq_masks {
    size_t n;
    uint64_t slots, valid;
} pq_masks;

static inline pq_masks masks_of(const pq_levels *l, size_t at, const lb_parquet_node *node)
{
    pq_masks m = { .n = LB_MIN(l->n - at, (size_t)64) };

    m.slots = m.n == 64 ? UINT64_MAX : ((uint64_t)1 << m.n) - 1;
    if (node->rep < l->max_rep)
        m.slots &= ~mask_at_least(l->reps + at, m.n, (uint16_t)(node->rep + 1));
    m.valid = m.slots & mask_at_least(l->defs + at, m.n, node->def);
    if (node->slot_def != 0)
        m.slots &= mask_at_least(l->defs + at, m.n, node->slot_def);
    return m;
}

/* How many slots of the node these levels have, and how many hold something. */
static void count_slots(const pq_levels *l, const lb_parquet_node *node, size_t *slots, size_t *valid)
{
    *slots = *valid = 0;
    for (size_t at = 0; at < l->n; at += 64) {
        const pq_masks m = masks_of(l, at, node);
        *slots += (size_t)__builtin_popcountll(m.slots);
        *valid += (size_t)__builtin_popcountll(m.valid);
    }
}

/* Append the validity of the slots; the length is left to the caller. */
static lb_status field_validity(pq_field *f, const pq_levels *l, size_t slots, size_t valid, lb_error *err)
{
    uint64_t to = f->length;

    if (slots == valid)
        return bits_full(f, slots, err);
    LB_TRY(bits_begin(f, slots, err));
    f->nulls += slots - valid;
    for (size_t at = 0; at < l->n; at += 64) {
        const pq_masks m = masks_of(l, at, f->node);
        const uint64_t picked = m.slots == UINT64_MAX ? m.valid : bits_pick(m.valid, m.slots);
        const unsigned count = (unsigned)__builtin_popcountll(m.slots);
        lb_bits_copy(f->bits.data, to, (const uint8_t *)&picked, 0, count);
        to += count;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- spreading */

/* Values stand one after the other; give each the place of its slot, zeros the places of nulls. From the end, in
 * place. */
#define SPREAD(name, type)                                                                            \
    static void name(uint8_t *bytes, const uint8_t *bits, uint64_t first, size_t slots, size_t dense) \
    {                                                                                                 \
        type v;                                                                                       \
        for (size_t i = slots; i > 0 && dense < i; i--) {                                             \
            const bool there = lb_bits_get(bits, first + i - 1);                                      \
            dense -= there;                                                                           \
            memcpy(&v, bytes + dense * sizeof v, sizeof v);                                           \
            v = there ? v : 0;                                                                        \
            memcpy(bytes + (i - 1) * sizeof v, &v, sizeof v);                                         \
        }                                                                                             \
    }

SPREAD(spread1, uint8_t)
SPREAD(spread2, uint16_t)
SPREAD(spread4, uint32_t)
SPREAD(spread8, uint64_t)

static void spread_any(uint8_t *bytes, size_t width, const uint8_t *bits, uint64_t first, size_t slots, size_t dense)
{
    for (size_t i = slots; i > 0 && dense < i; i--) {
        if (lb_bits_get(bits, first + i - 1))
            memmove(bytes + (i - 1) * width, bytes + --dense * width, width);
        else
            memset(bytes + (i - 1) * width, 0, width);
    }
}

static void spread_wide(uint8_t *bytes, size_t width, const uint8_t *bits, uint64_t first, size_t slots, size_t dense)
{
    switch (width) {
    case 1:
        spread1(bytes, bits, first, slots, dense);
        break;
    case 2:
        spread2(bytes, bits, first, slots, dense);
        break;
    case 4:
        spread4(bytes, bits, first, slots, dense);
        break;
    case 8:
        spread8(bytes, bits, first, slots, dense);
        break;
    default:
        spread_any(bytes, width, bits, first, slots, dense);
    }
}

/* `ends` points behind the end before the first slot: a null ends where the value before it does. */
static void spread_ends(int32_t *ends, const uint8_t *bits, uint64_t first, size_t slots, size_t dense)
{
    for (size_t i = slots; i > 0 && dense < i; i--) {
        ends[i - 1] = ends[(ptrdiff_t)dense - 1];
        dense -= lb_bits_get(bits, first + i - 1);
    }
}

static void spread_bits(uint8_t *to, const uint8_t *dense, const uint8_t *bits, uint64_t first, size_t slots)
{
    uint64_t next = 0;

    lb_bits_fill(to, first, slots, false);
    for (size_t i = 0; i < slots; i++)
        if (lb_bits_get(bits, first + i)) {
            to[(first + i) >> 3] |= (uint8_t)(lb_bits_get(dense, next) << ((first + i) & 7));
            next++;
        }
}

/* ---------------------------------------------------------------- values of a leaf */

#define GATHER(name, type)                                                                          \
    static void name(const uint8_t *from, const uint32_t *indices, size_t n, uint8_t *out)          \
    {                                                                                               \
        for (size_t i = 0; i < n; i++)                                                              \
            memcpy(out + i * sizeof(type), from + (size_t)indices[i] * sizeof(type), sizeof(type)); \
    }

GATHER(gather1, uint8_t)
GATHER(gather2, uint16_t)
GATHER(gather4, uint32_t)
GATHER(gather8, uint64_t)
GATHER(gather16, lb_parquet_run)

static void gather_wide(const uint8_t *from, size_t width, const uint32_t *indices, size_t n, uint8_t *out)
{
    switch (width) {
    case 1:
        gather1(from, indices, n, out);
        break;
    case 2:
        gather2(from, indices, n, out);
        break;
    case 4:
        gather4(from, indices, n, out);
        break;
    case 8:
        gather8(from, indices, n, out);
        break;
    case 16:
        gather16(from, indices, n, out);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            memcpy(out + i * width, from + indices[i] * width, width);
    }
}

static lb_status dictionary_wide(pq_field *f, lb_parquet_chunk *chunk, size_t n, uint8_t *out, lb_error *err)
{
    uint32_t indices[COLUMN_BLOCK];

    for (size_t at = 0; at < n; at += COLUMN_BLOCK) {
        const size_t part = LB_MIN(n - at, (size_t)COLUMN_BLOCK);
        LB_TRY(lb_parquet_chunk_indices(chunk, &f->as, part, indices, err));
        gather_wide(chunk->dictionary.values, f->as.width, indices, part, out + at * f->as.width);
    }
    return LB_OK;
}

static lb_status strings_pick(const lb_parquet_dictionary *from, const uint32_t *indices, size_t n,
                              lb_parquet_strings *out, lb_error *err)
{
    const lb_parquet_span *spans = (const lb_parquet_span *)(const void *)from->spans.data;
    size_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += spans[indices[i]].size;
    LB_TRY(lb_parquet_strings_reserve(out, n, sum, err));
    int32_t *to = (int32_t *)(void *)(out->ends.data + out->ends.size);
    size_t end = out->data.size;
    for (size_t i = 0; i < n; i++) {
        const lb_parquet_span span = spans[indices[i]];
        lb_parquet_copy(out->data.data + end, from->values + span.first, span.size, true);
        end += span.size;
        to[i] = (int32_t)end;
    }
    out->data.size = end;
    out->ends.size += n * sizeof *to;
    return LB_OK;
}

static lb_status dictionary_strings(pq_field *f, lb_parquet_chunk *chunk, size_t n, lb_error *err)
{
    uint32_t indices[COLUMN_BLOCK];

    for (size_t at = 0; at < n; at += COLUMN_BLOCK) {
        const size_t part = LB_MIN(n - at, (size_t)COLUMN_BLOCK);
        LB_TRY(lb_parquet_chunk_indices(chunk, &f->as, part, indices, err));
        LB_TRY(strings_pick(&chunk->dictionary, indices, part, &f->strings, err));
    }
    return LB_OK;
}

/* Values of fixed width that are not as they are stored. */
static lb_status convert_wide(lb_parquet_column *c, pq_field *f, lb_parquet_values *v, size_t n, uint8_t *out,
                              lb_error *err)
{
    const uint8_t *stored;

    if (f->as.strings != NULL) {
        c->strings.data.size = c->strings.ends.size = 0;
        LB_TRY(lb_parquet_values_strings(v, n, &c->strings, err));
        return lb_parquet_convert_strings(&f->as, &c->strings, out, err);
    }
    LB_TRY(lb_parquet_values_lend(v, n, &stored, err));
    for (size_t at = 0; stored == NULL && at < n; at += COLUMN_BLOCK) {
        const size_t part = LB_MIN(n - at, (size_t)COLUMN_BLOCK);
        c->scratch.size = 0;
        LB_TRY(lb_buf_reserve(&c->scratch, part * f->as.stored + 1, err)); /* never NULL */
        LB_TRY(lb_parquet_values_fixed(v, part, c->scratch.data, err));
        LB_TRY(lb_parquet_convert(&f->as, c->scratch.data, part, out + at * f->as.width, err));
    }
    return stored == NULL ? LB_OK : lb_parquet_convert(&f->as, stored, n, out, err);
}

static lb_status wide_values(lb_parquet_column *c, pq_field *f, lb_parquet_chunk *chunk, size_t slots, size_t n,
                             lb_error *err)
{
    size_t size;
    const size_t at = f->values.size;

    if (!lb_mul_size(slots, f->as.width, &size))
        return lb_fail_nomem(err);
    LB_TRY(lb_buf_reserve(&f->values, size + 1, err)); /* never NULL */
    uint8_t *out = f->values.data + at;
    f->values.size += size;
    if (chunk->values.kind == LB_PARQUET_V_DICTIONARY)
        LB_TRY(n == 0 ? LB_OK : dictionary_wide(f, chunk, n, out, err));
    else if (f->as.wide != NULL || f->as.strings != NULL)
        LB_TRY(convert_wide(c, f, &chunk->values, n, out, err));
    else
        LB_TRY(lb_parquet_values_fixed(&chunk->values, n, out, err));
    if (n < slots)
        spread_wide(out, f->as.width, f->bits.data, f->length, slots, n);
    return LB_OK;
}

static lb_status string_values(pq_field *f, lb_parquet_chunk *chunk, size_t slots, size_t n, lb_error *err)
{
    LB_TRY(lb_parquet_strings_reserve(&f->strings, slots, 0, err));
    const size_t before = f->strings.ends.size;
    if (chunk->values.kind == LB_PARQUET_V_DICTIONARY)
        LB_TRY(n == 0 ? LB_OK : dictionary_strings(f, chunk, n, err));
    else
        LB_TRY(lb_parquet_values_strings(&chunk->values, n, &f->strings, err));
    f->strings.ends.size = before + slots * sizeof(int32_t);
    if (n < slots)
        spread_ends((int32_t *)(void *)(f->strings.ends.data + before), f->bits.data, f->length, slots, n);
    return LB_OK;
}

static lb_status bit_values(lb_parquet_column *c, pq_field *f, lb_parquet_chunk *chunk, size_t slots, size_t n,
                            lb_error *err)
{
    const size_t size = (size_t)((f->length + slots + 7) / 8);

    LB_TRY(lb_buf_reserve(&f->values, size - f->values.size + 8, err));
    f->values.size = size;
    if (n == slots)
        return lb_parquet_values_bits(&chunk->values, n, f->values.data, f->length, err);
    c->scratch.size = 0;
    LB_TRY(lb_buf_reserve(&c->scratch, n / 8 + 8, err));
    LB_TRY(lb_parquet_values_bits(&chunk->values, n, c->scratch.data, 0, err));
    spread_bits(f->values.data, c->scratch.data, f->bits.data, f->length, slots);
    return LB_OK;
}

/* Append `slots` slots, `n` of which hold the next values; their validity was appended. */
static lb_status leaf_values(lb_parquet_column *c, pq_field *f, lb_parquet_chunk *chunk, size_t slots, size_t n,
                             lb_error *err)
{
    lb_status status = f->as.form == LB_PARQUET_NOTHING ? LB_OK : lb_parquet_chunk_want(chunk, n, err);

    if (status != LB_OK)
        return status;
    if (f->as.form == LB_PARQUET_WIDE)
        status = wide_values(c, f, chunk, slots, n, err);
    else if (f->as.form == LB_PARQUET_STRINGS)
        status = string_values(f, chunk, slots, n, err);
    else if (f->as.form == LB_PARQUET_BITS)
        status = bit_values(c, f, chunk, slots, n, err);
    f->length += slots;
    c->too_long = c->too_long || f->strings.too_long;
    return status;
}

static lb_status leaf_skip(const pq_field *f, lb_parquet_chunk *chunk, uint64_t n, lb_error *err)
{
    return f->as.form == LB_PARQUET_NOTHING ? LB_OK : lb_parquet_chunk_skip(chunk, n, err);
}

/* ---------------------------------------------------------------- columns of one level */

static lb_status rows_missing(const lb_parquet_chunk *chunk, uint64_t wanted, lb_error *err)
{
    return lb_parquet_chunk_failed(chunk,
                                   lb_fail(err, LB_CORRUPT, LB_NOWHERE,
                                           "the pages of a column end after %llu rows, before row %llu of a row group",
                                           (unsigned long long)chunk->row, (unsigned long long)wanted),
                                   err);
}

static lb_status levels_broken(lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the levels of a page end too early, or break their encoding");
}

static void flat_pass(lb_parquet_chunk *chunk, uint64_t n)
{
    chunk->row += n;
    chunk->levels_left -= n;
}

/* Pass over rows of the page at hand. */
static lb_status flat_skip(const pq_field *f, lb_parquet_chunk *chunk, uint64_t n, lb_error *err)
{
    uint64_t there = n;

    if (n == 0)
        return LB_OK;
    if (chunk->plan.leaf->max_def != 0 && !lb_parquet_hybrid_bits(&chunk->def, n, NULL, 0, &there))
        return levels_broken(err);
    flat_pass(chunk, n);
    return leaf_skip(f, chunk, there, err);
}

/* Rows of the page at hand. */
static lb_status flat_rows(lb_parquet_column *c, pq_field *f, lb_parquet_chunk *chunk, uint64_t n, lb_error *err)
{
    uint64_t there = n;
    bool equal = false;
    uint32_t value;

    if (chunk->plan.leaf->max_def == 0) {
        flat_pass(chunk, n);
        return leaf_values(c, f, chunk, (size_t)n, (size_t)n, err);
    }
    /* Often one run says that all are there. */
    if (f->nulls == 0 && lb_parquet_hybrid_run(&chunk->def, n, &equal, &value) == n && equal && value == 1) {
        if (!lb_parquet_hybrid_skip(&chunk->def, n))
            return levels_broken(err);
    } else {
        LB_TRY(bits_begin(f, n, err));
        if (!lb_parquet_hybrid_bits(&chunk->def, n, f->bits.data, f->length, &there))
            return levels_broken(err);
        f->nulls += n - there;
    }
    flat_pass(chunk, n);
    return leaf_values(c, f, chunk, (size_t)n, (size_t)there, err);
}

static lb_status flat_run(lb_parquet_column *c, pq_field *f, lb_parquet_chunk *chunk, const lb_parquet_run *run,
                          lb_error *err)
{
    for (uint64_t row = run->first, left = run->count, n; left != 0; row += n, left -= n) {
        bool end;
        LB_TRY(lb_parquet_chunk_page(chunk, row, &end, err));
        if (end || chunk->row > row)
            return rows_missing(chunk, row, err);
        n = LB_MIN(row - chunk->row, chunk->levels_left);
        LB_TRY(lb_parquet_chunk_failed(chunk, flat_skip(f, chunk, n, err), err));
        n = chunk->row < row ? 0 : LB_MIN(left, chunk->levels_left);
        if (n != 0)
            LB_TRY(lb_parquet_chunk_failed(chunk, flat_rows(c, f, chunk, n, err), err));
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- columns of many levels */

/* Where the items of a list begin, of 64 levels from `at` on. */
static inline uint64_t items_of(const pq_levels *l, size_t at, size_t n, const lb_parquet_node *node)
{
    uint64_t has = mask_at_least(l->defs + at, n, node->item_def);

    if (node->rep + 1 < l->max_rep)
        has &= ~mask_at_least(l->reps + at, n, (uint16_t)(node->rep + 2));
    return has;
}

static void trace_add(pq_trace *t, const pq_levels *l, const lb_parquet_node *node)
{
    const bool is_list = node->shape == LB_PARQUET_LIST || node->shape == LB_PARQUET_MAP;

    for (size_t at = 0; at < l->n; at += 64) {
        const pq_masks m = masks_of(l, at, node);
        const uint64_t has = is_list ? items_of(l, at, m.n, node) : 0;
        uint64_t left = is_list ? m.slots : m.slots & ~m.valid;
        for (; left != 0; left &= left - 1) {
            const uint64_t below = (left & -left) - 1;
            const uint64_t slot = t->slots + (uint64_t)__builtin_popcountll(m.slots & below);
            const uint64_t item = t->items + (uint64_t)__builtin_popcountll(has & below);
            const uint64_t there = (m.valid & (below + 1)) != 0;
            t->sum += (item * 2 + there + 1) * ((slot * 2 + 1) * UINT64_C(0x9E3779B97F4A7C15));
        }
        t->slots += (uint64_t)__builtin_popcountll(m.slots);
        t->items += (uint64_t)__builtin_popcountll(has);
    }
}

static lb_status field_list(pq_field *f, const pq_levels *l, size_t slots, lb_error *err)
{
    const lb_parquet_node *node = f->node;
    uint64_t items = f->items;

    LB_TRY(lb_buf_reserve(&f->offsets, (slots + 1) * sizeof(int32_t), err));
    if (items + l->n > INT32_MAX)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a column has more than 2^31 items in one batch");
    int32_t *out = (int32_t *)(void *)(f->offsets.data + f->offsets.size);
    for (size_t at = 0; at < l->n; at += 64) {
        const pq_masks m = masks_of(l, at, node);
        const uint64_t has = items_of(l, at, m.n, node);
        for (uint64_t left = m.slots; left != 0; left &= left - 1) {
            const uint64_t before = has & ((left & -left) - 1);
            *out++ = (int32_t)(items + (uint64_t)__builtin_popcountll(before));
        }
        items += (uint64_t)__builtin_popcountll(has);
    }
    f->items = items;
    f->offsets.size += slots * sizeof(int32_t);
    return LB_OK;
}

/* Append what these levels say to every field of the path. */
static lb_status path_append(lb_parquet_column *c, const pq_path *path, lb_parquet_chunk *chunk, const pq_levels *l,
                             lb_error *err)
{
    for (size_t i = 0; i < path->n_shared; i++)
        trace_add(&path->traces[i], l, path->shared[i]->node);
    for (size_t i = 0; i < path->n; i++) {
        pq_field *f = path->fields[i];
        size_t slots, valid;
        if (f->node->n_leaves > 1)
            trace_add(&f->trace, l, f->node);
        count_slots(l, f->node, &slots, &valid);
        if (f->node->nullable || f->node->shape == LB_PARQUET_LEAF)
            LB_TRY(field_validity(f, l, slots, valid, err));
        if (f->node->shape == LB_PARQUET_LEAF) {
            LB_TRY(leaf_values(c, f, chunk, slots, valid, err));
            continue;
        }
        if (f->node->shape != LB_PARQUET_STRUCT)
            LB_TRY(field_list(f, l, slots, err));
        f->length += slots;
    }
    return LB_OK;
}

/* How many of the block's levels belong to at most `rows` rows that begin here; *begun of them do. */
static size_t block_rows(const lb_parquet_chunk *chunk, uint64_t rows, uint64_t *begun)
{
    const uint16_t *reps = chunk->reps + chunk->block_at;
    const size_t n = chunk->block_size - chunk->block_at;

    *begun = 0;
    if (chunk->plan.leaf->max_rep == 0) {
        *begun = LB_MIN(rows, n);
        return (size_t)*begun;
    }
    *begun = n - count_at_least(reps, n, 1);
    if (*begun <= rows)
        return n;
    *begun = 0;
    for (size_t i = 0; i < n; i++) {
        if (reps[i] == 0 && *begun == rows)
            return i;
        *begun += reps[i] == 0;
    }
    return n;
}

static void block_pass(lb_parquet_chunk *chunk, size_t n, uint64_t begun)
{
    chunk->block_at += n;
    chunk->row += begun;
}

/* Come to where row `wanted` begins. */
static lb_status levels_seek(const pq_field *leaf, lb_parquet_chunk *chunk, uint64_t wanted, lb_error *err)
{
    for (;;) {
        bool end;
        uint64_t begun;
        LB_TRY(lb_parquet_chunk_levels(chunk, wanted, &end, err));
        if (end || chunk->row > wanted)
            return rows_missing(chunk, wanted, err);
        const size_t n = block_rows(chunk, wanted - chunk->row, &begun);
        const size_t there = count_at_least(chunk->defs + chunk->block_at, n, chunk->plan.leaf->max_def);
        LB_TRY(lb_parquet_chunk_failed(chunk, leaf_skip(leaf, chunk, there, err), err));
        block_pass(chunk, n, begun);
        if (chunk->block_at < chunk->block_size)
            return LB_OK;
    }
}

/* May what the last row of a page began go on in the next one? */
static bool levels_may_go_on(const lb_parquet_chunk *chunk)
{
    if (chunk->block_at < chunk->block_size || chunk->levels_left != 0)
        return true;
    if (chunk->plan.leaf->max_rep == 0 || (chunk->plan.n_places != 0 && chunk->plan.aligned))
        return false;
    return !lb_parquet_chunk_ended(chunk);
}

static lb_status levels_run(lb_parquet_column *c, const pq_path *path, lb_parquet_chunk *chunk,
                            const lb_parquet_run *run, lb_error *err)
{
    uint64_t left = run->count, begun;

    LB_TRY(levels_seek(path->fields[path->n - 1], chunk, run->first, err));
    while (left != 0 || levels_may_go_on(chunk)) {
        bool end;
        LB_TRY(lb_parquet_chunk_levels(chunk, 0, &end, err));
        if (end)
            break;
        const size_t n = block_rows(chunk, left, &begun);
        const pq_levels levels = { chunk->reps + chunk->block_at, chunk->defs + chunk->block_at, n,
                                   chunk->plan.leaf->max_rep };
        if (n == 0)
            break;
        block_pass(chunk, n, begun);
        left -= begun;
        LB_TRY(lb_parquet_chunk_failed(chunk, path_append(c, path, chunk, &levels, err), err));
    }
    if (left != 0)
        return rows_missing(chunk, run->first + run->count - left, err);
    if (chunk->block_at < chunk->block_size || chunk->levels_left != 0)
        return LB_OK;
    return lb_parquet_chunk_failed(chunk, lb_parquet_chunk_done(chunk, err), err);
}

/* ---------------------------------------------------------------- reading */

static lb_status parts_differ(const pq_field *f, lb_error *err)
{
    const char *name = f->node->schema->name;

    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "column %.200s: its parts do not have the same values in the same rows",
                   name == NULL ? "" : name);
}

static lb_status field_check(const pq_field *f, lb_error *err)
{
    const bool is_struct = f->node->shape == LB_PARQUET_STRUCT;

    for (size_t i = 0; i < f->n_children; i++) {
        if (f->children[i]->length != (is_struct ? f->length : f->items))
            return parts_differ(f, err);
        LB_TRY(field_check(f->children[i], err));
    }
    return LB_OK;
}

static lb_status column_check(const lb_parquet_column *c, lb_error *err)
{
    for (size_t p = 0; p < c->n_paths; p++)
        for (size_t i = 0; i < c->paths[p].n_shared; i++) {
            const pq_trace *own = &c->paths[p].shared[i]->trace, *other = &c->paths[p].traces[i];
            if (own->slots != other->slots || own->items != other->items || own->sum != other->sum)
                return parts_differ(c->paths[p].shared[i], err);
        }
    return field_check(c->root, err);
}

/* Make room at once for what the footer lets expect, as far as the bytes of the chunk make it likely; without it the
 * buffer grows as values come. */
static void leaf_expect(pq_field *f, const lb_parquet_plan *plan, uint64_t rows)
{
    const uint64_t most = LB_MAX((uint64_t)1 << 20, plan->length < UINT64_MAX / 8 ? plan->length * 8 : plan->length);
    const double slots = plan->rows == 0 ? 0 : (double)rows * (double)plan->num_values / (double)plan->rows;
    const double bytes = slots * (double)f->as.width + LB_PARQUET_SLACK;

    if (f->as.form == LB_PARQUET_WIDE)
        (void)lb_buf_reserve(&f->values, bytes < (double)most ? (size_t)bytes : (size_t)most, NULL);
}

static bool is_flat(const lb_parquet_node *node)
{
    return node->shape == LB_PARQUET_LEAF && node->leaf->max_rep == 0 && node->leaf->max_def <= 1;
}

lb_status lb_parquet_column_read(lb_parquet_column *c, lb_parquet_chunk *const *chunks, const lb_parquet_run *runs,
                                 size_t n_runs, bool *too_long, lb_error *err)
{
    const bool flat = is_flat(c->root->node);
    lb_status status = LB_OK;
    uint64_t rows = 0;

    c->too_long = false;
    for (size_t i = 0; i < n_runs; i++)
        rows += runs[i].count;
    for (size_t p = 0; p < c->n_paths && status == LB_OK; p++) {
        leaf_expect(c->paths[p].fields[c->paths[p].n - 1], &chunks[p]->plan, rows);
        for (size_t i = 0; i < n_runs && status == LB_OK; i++) {
            if (runs[i].count != 0)
                status = flat ? flat_run(c, c->root, chunks[p], &runs[i], err)
                              : levels_run(c, &c->paths[p], chunks[p], &runs[i], err);
        }
    }
    if (too_long != NULL)
        *too_long = status != LB_OK && c->too_long;
    return status == LB_OK ? column_check(c, err) : status;
}

/* ---------------------------------------------------------------- handing out */

/* Memory that leaves is no longer counted. */
static void buffer_move(struct ArrowBuffer *to, lb_buf *from)
{
    ArrowBufferReset(to);
    to->data = from->data;
    to->size_bytes = (int64_t)from->size;
    to->capacity_bytes = (int64_t)from->cap;
    lb_budget_give(from->budget, from->cap);
    *from = (lb_buf){ .budget = from->budget };
}

static lb_status finish_offsets(pq_field *f, lb_error *err)
{
    const int32_t end = (int32_t)f->items;

    f->items = 0;
    return lb_buf_append(&f->offsets, &end, sizeof end, err);
}

static lb_status finish_leaf(pq_field *f, struct ArrowArray *out, lb_error *err)
{
    if (f->as.form == LB_PARQUET_STRINGS) {
        LB_TRY(lb_parquet_strings_reserve(&f->strings, 0, 0, err));
        buffer_move(ArrowArrayBuffer(out, 1), &f->strings.ends);
        buffer_move(ArrowArrayBuffer(out, 2), &f->strings.data);
    } else if (f->as.form != LB_PARQUET_NOTHING) {
        buffer_move(ArrowArrayBuffer(out, 1), &f->values);
    }
    return LB_OK;
}

static lb_status field_finish(pq_field *f, struct ArrowArray *out, lb_error *err)
{
    if (f->node->shape == LB_PARQUET_LEAF) {
        LB_TRY(finish_leaf(f, out, err));
    } else if (f->node->shape != LB_PARQUET_STRUCT) {
        LB_TRY(finish_offsets(f, err));
        buffer_move(ArrowArrayBuffer(out, 1), &f->offsets);
    }
    const bool all_null = f->node->shape == LB_PARQUET_LEAF && f->as.form == LB_PARQUET_NOTHING;
    if (f->node->nullable && f->nulls != 0 && !all_null)
        buffer_move(ArrowArrayBuffer(out, 0), &f->bits);
    out->length = (int64_t)f->length;
    out->null_count = all_null ? out->length : f->node->nullable ? (int64_t)f->nulls : 0;
    out->offset = 0;
    f->length = f->nulls = 0;
    for (size_t i = 0; i < f->n_children; i++)
        LB_TRY(field_finish(f->children[i], out->children[i], err));
    return LB_OK;
}

lb_status lb_parquet_column_finish(lb_parquet_column *c, struct ArrowArray *out, lb_error *err)
{
    struct ArrowError arrow_error;
    int code = ArrowArrayInitFromSchema(out, c->root->node->schema, &arrow_error);

    if (code != NANOARROW_OK) {
        out->release = NULL;
        return lb_fail_arrow(err, code, &arrow_error);
    }
    lb_status status = field_finish(c->root, out, err);
    if (status == LB_OK) {
        code = ArrowArrayFinishBuilding(out, NANOARROW_VALIDATION_LEVEL_NONE, &arrow_error);
        status = code == NANOARROW_OK ? LB_OK : lb_fail_arrow(err, code, &arrow_error);
    }
    if (status != LB_OK)
        ArrowArrayRelease(out);
    return status;
}
