/* Column open_state of a map: the schema's elements and numbers of the chunks, so that a file is opened without its
 * footer. What the entry has anyway (blocks, places of chunks) is not in it.
 *
 *     head | elements | names and texts | offset_index u64 × n | num_values u64 × n | offset_index_length u32 × n | codec u8 × n
 *
 * n: groups × leaves, by group. Little-endian, nothing aligned. A map may be damaged: everything is checked. */
#include "base/hash.h"
#include "format/parquet/parquet_footer.h"

static const char state_mark[8] = { 'P', 'A', 'R', 'Q', 'v', '0', '0', '1' };

typedef struct state_head {
    char mark[8];
    uint64_t tail_hash, at, n_groups, text_size;
    uint32_t n_elements, n_leaves;
} state_head;

typedef struct state_element {
    uint8_t repetition, note, physical, has_field_id;
    int32_t field_id, a, b;
    uint32_t type_length, n_children, name_size, text_size;
} state_element;

#define STATE_CHUNK (8 + 8 + 4 + 1) /* bytes of a chunk's numbers */

/* ---------------------------------------------------------------- keeping */

static size_t state_text_size(const lb_parquet_footer *f)
{
    size_t size = 0;

    for (size_t i = 0; i < f->n_elements; i++)
        size += f->elements[i].name.size + f->elements[i].text.size;
    return size;
}

static void state_put_elements(const lb_parquet_footer *f, lb_buf *out)
{
    for (size_t i = 0; i < f->n_elements; i++) {
        const lb_parquet_element *e = &f->elements[i];
        const state_element s = { .repetition = e->repetition,
                                  .note = e->note,
                                  .physical = e->physical,
                                  .has_field_id = e->has_field_id,
                                  .field_id = e->field_id,
                                  .a = e->a,
                                  .b = e->b,
                                  .type_length = e->type_length,
                                  .n_children = e->n_children,
                                  .name_size = (uint32_t)e->name.size,
                                  .text_size = (uint32_t)e->text.size };
        lb_buf_put(out, &s, sizeof s);
    }
    for (size_t i = 0; i < f->n_elements; i++) {
        lb_buf_put(out, f->elements[i].name.at, f->elements[i].name.size);
        lb_buf_put(out, f->elements[i].text.at, f->elements[i].text.size);
    }
}

static void state_put_chunks(const lb_parquet_footer *f, lb_buf *out)
{
    const size_t leaves = f->schema.n_leaves, n = f->n_groups * leaves;
    uint8_t *at = out->data + out->size;

    for (size_t g = 0, i = 0; g < f->n_groups; g++)
        for (size_t leaf = 0; leaf < leaves; leaf++, i++) {
            lb_parquet_meta room;
            const lb_parquet_meta *m = lb_parquet_footer_look(f, g, leaf, &room);
            memcpy(at + i * 8, &m->offset_index, 8);
            memcpy(at + n * 8 + i * 8, &m->num_values, 8);
            memcpy(at + n * 16 + i * 4, &m->offset_index_length, 4);
            at[n * 20 + i] = m->codec;
        }
    out->size += n * STATE_CHUNK;
}

lb_status lb_parquet_footer_keep(const lb_parquet_footer *f, lb_arena *arena, lb_str *out, lb_error *err)
{
    const state_head head = { .tail_hash = f->tail_hash,
                              .at = f->at,
                              .n_groups = f->n_groups,
                              .text_size = state_text_size(f),
                              .n_elements = (uint32_t)f->n_elements,
                              .n_leaves = (uint32_t)f->schema.n_leaves };
    const size_t size = sizeof head + f->n_elements * sizeof(state_element) + (size_t)head.text_size +
                        f->n_groups * f->schema.n_leaves * STATE_CHUNK;
    lb_buf buf = { .data = lb_arena_alloc(arena, size, 1), .cap = size };

    *out = (lb_str){ NULL, 0 };
    if (buf.data == NULL)
        return lb_arena_fail(arena, err);
    lb_buf_put(&buf, &head, sizeof head);
    memcpy(buf.data, state_mark, sizeof state_mark);
    state_put_elements(f, &buf);
    state_put_chunks(f, &buf);
    *out = (lb_str){ (const char *)buf.data, buf.size };
    return LB_OK;
}

/* ---------------------------------------------------------------- opening from it */

/* The elements; false: the bytes are damaged. */
static bool state_take_elements(lb_cursor *in, const state_head *head, lb_parquet_element *out)
{
    const uint8_t *from = lb_cursor_take(in, head->n_elements * sizeof(state_element));

    for (uint32_t i = 0; from != NULL && i < head->n_elements; i++) {
        state_element s;
        memcpy(&s, from + i * sizeof s, sizeof s);
        const uint8_t *name = lb_cursor_take(in, s.name_size), *text = lb_cursor_take(in, s.text_size);
        if (name == NULL || text == NULL || s.repetition > LB_PQT_REPEATED || s.note >= LB_PARQUET_NOTE_COUNT ||
            s.physical > LB_PARQUET_GROUP)
            return false;
        out[i] = (lb_parquet_element){ .name = { (const char *)name, s.name_size },
                                       .repetition = s.repetition,
                                       .note = s.note,
                                       .physical = s.physical,
                                       .has_field_id = s.has_field_id,
                                       .field_id = s.field_id,
                                       .a = s.a,
                                       .b = s.b,
                                       .type_length = s.type_length,
                                       .n_children = s.n_children,
                                       .text = { (const char *)text, s.text_size } };
    }
    return from != NULL;
}

static bool state_take_head(lb_cursor *in, const lb_store *store, const lb_entry *known, state_head *head)
{
    const uint8_t *p = lb_cursor_take(in, sizeof *head);
    size_t n;

    if (p == NULL)
        return false;
    memcpy(head, p, sizeof *head);
    return memcmp(head->mark, state_mark, sizeof state_mark) == 0 && head->at <= store->size &&
           head->n_groups == known->blocks.count && head->n_leaves <= head->n_elements &&
           head->n_elements <= known->open_state.size / sizeof(state_element) &&
           lb_mul_size((size_t)head->n_groups, head->n_leaves, &n) && n == known->chunks.count &&
           n <= known->open_state.size / STATE_CHUNK && known->blocks.first_byte != NULL;
}

static lb_status state_groups(lb_parquet_footer *f, const lb_entry *known, lb_error *err)
{
    const lb_blocks *b = &known->blocks;
    lb_parquet_group *groups = lb_arena_alloc(&f->arena, (size_t)b->count + 1, sizeof *groups);

    if (groups == NULL)
        return lb_arena_fail(&f->arena, err);
    for (size_t i = 0; i < b->count; i++)
        groups[i] = (lb_parquet_group){ b->first_row[i], b->row_count[i], b->first_byte[i], b->total_byte_size[i],
                                        b->compressed_size[i] };
    f->groups = groups;
    f->n_groups = (size_t)b->count;
    f->rows = known->total_rows;
    return LB_OK;
}

/* Is the file's end the one that was mapped? */
static lb_status state_check_tail(lb_context *cx, lb_store *store, uint64_t hash, lb_error *err)
{
    const size_t size = (size_t)LB_MIN(store->size, LB_PARQUET_TAIL);
    lb_buf tail;

    lb_buf_init(&tail, &cx->budget);
    lb_status status = lb_buf_reserve(&tail, size, err);
    if (status == LB_OK)
        status = lb_parquet_read_at(store, store->size - size, tail.data, size, err);
    if (status == LB_OK && lb_xxh3_64(tail.data, size) != hash)
        status = lb_fail(err, LB_STALE, LB_AT(store->size - size), "the file's footer is not the one that was mapped");
    lb_buf_free(&tail);
    return status;
}

/* *done false: the bytes are damaged. */
static lb_status state_open(lb_parquet_footer *f, lb_store *store, const lb_entry *known, state_head *head, bool *done,
                            lb_error *err)
{
    lb_error why = LB_ERROR_INIT;
    lb_cursor in;

    *done = false;
    lb_cursor_init(&in, known->open_state.at, known->open_state.size, 0);
    if (!state_take_head(&in, store, known, head))
        return LB_OK;
    lb_parquet_element *elements = lb_arena_alloc(&f->arena, (size_t)head->n_elements + 1, sizeof *elements);
    if (elements == NULL)
        return lb_arena_fail(&f->arena, err);
    if (!state_take_elements(&in, head, elements) || lb_cursor_left(&in) != known->chunks.count * STATE_CHUNK)
        return LB_OK;
    f->kept = (lb_str){ (const char *)in.at, lb_cursor_left(&in) };
    lb_status status = lb_parquet_schema_new(elements, head->n_elements, &f->arena, &f->schema, &why);
    if (lb_is_callers(status))
        return lb_fail(err, status, LB_NOWHERE, "%s", why.message);
    if (status != LB_OK || f->schema.n_leaves != head->n_leaves)
        return LB_OK;
    f->elements = elements;
    f->n_elements = head->n_elements;
    f->known = known;
    f->at = head->at;
    f->tail_hash = head->tail_hash;
    *done = true;
    return state_groups(f, known, err);
}

lb_status lb_parquet_footer_of(lb_context *cx, lb_store *store, const lb_entry *known, lb_parquet_footer *out,
                               bool *done, lb_error *err)
{
    state_head head;

    *done = false;
    if (known == NULL || known->open_state.size == 0)
        return LB_OK;
    lb_parquet_footer_init(cx, out);
    lb_status status = state_open(out, store, known, &head, done, err);
    if (status == LB_OK && *done)
        status = state_check_tail(cx, store, head.tail_hash, err);
    if (status != LB_OK || !*done)
        lb_parquet_footer_free(out);
    return status;
}

/* ---------------------------------------------------------------- chunks */

lb_parquet_meta lb_parquet_footer_meta(const lb_parquet_footer *f, size_t group, size_t leaf)
{
    const size_t at = group * f->schema.n_leaves + leaf, n = f->n_groups * f->schema.n_leaves;
    const char *p = f->kept.at;

    if (f->metas != NULL)
        return f->metas[at];
    lb_parquet_meta m = { .offset = f->known->chunks.offset[at],
                          .length = f->known->chunks.length[at],
                          .physical = (uint8_t)f->schema.leaves[leaf].physical };
    memcpy(&m.offset_index, p + at * 8, 8);
    memcpy(&m.num_values, p + n * 8 + at * 8, 8);
    memcpy(&m.offset_index_length, p + n * 16 + at * 4, 4);
    m.codec = (uint8_t)p[n * 20 + at];
    return m;
}
