/* A schema and the wanted columns as a program: a flat list of steps, each of which takes in one value or passes some. What a
 * nested value consists of follows its step. */
#include "format/avro/avro.h"

typedef struct program_maker {
    avro_program *program;
    lb_arena *arena;
    lb_error *err;
    uint32_t border; /* steps before it are not to be joined with later ones: something jumps between them */
    uint32_t column;
} program_maker;

static lb_status program_add(program_maker *m, avro_op op, uint32_t *index)
{
    avro_program *p = m->program;

    if (p->count == p->cap) {
        const uint32_t cap = p->cap == 0 ? 32 : 2 * p->cap;
        avro_op *ops = lb_arena_alloc(m->arena, cap, sizeof *ops);
        if (ops == NULL)
            return lb_arena_fail(m->arena, m->err);
        if (p->count != 0)
            memcpy(ops, p->ops, p->count * sizeof *ops);
        p->ops = ops;
        p->cap = cap;
    }
    op.next = p->count + 1;
    op.column = m->column;
    if (index != NULL)
        *index = p->count;
    p->ops[p->count++] = op;
    return LB_OK;
}

/* What follows the step `index` up to here is its own. */
static void program_close(program_maker *m, uint32_t index)
{
    m->program->ops[index].next = m->border = m->program->count;
}

typedef lb_status (*program_part)(program_maker *m, const avro_type *t, lb_growing *to);

/* A step with the programs of all parts of its type behind it. */
static lb_status program_parts(program_maker *m, avro_op op, program_part part, lb_growing *children)
{
    const avro_type *t = op.type;
    uint32_t *starts = lb_arena_alloc(m->arena, (size_t)t->n + 1, sizeof *starts), index = 0;

    if (starts == NULL)
        return lb_arena_fail(m->arena, m->err);
    op.starts = starts;
    LB_TRY(program_add(m, op, &index));
    for (uint32_t i = 0; i < t->n; i++) {
        starts[i] = m->border = m->program->count;
        LB_TRY(part(m, t->fields[i].type, children == NULL ? NULL : &children[i]));
    }
    starts[t->n] = m->program->count;
    program_close(m, index);
    return LB_OK;
}

/* ---------------------------------------------------------------- passing */

static lb_status program_pass_fixed(program_maker *m, uint64_t n)
{
    avro_program *p = m->program;

    if (n == 0)
        return LB_OK;
    if (p->count > m->border && p->ops[p->count - 1].code == AVRO_PASS_FIXED &&
        lb_add_u64(p->ops[p->count - 1].n, n, &p->ops[p->count - 1].n))
        return LB_OK;
    return program_add(m, (avro_op){ .code = AVRO_PASS_FIXED, .n = n }, NULL);
}

static lb_status program_pass(program_maker *m, const avro_type *t, lb_growing *unused)
{
    (void)unused;
    if (t->least == t->most)
        return program_pass_fixed(m, t->least);
    switch (t->kind) {
    case AVRO_INT:
    case AVRO_LONG:
    case AVRO_ENUM:
        return program_add(m, (avro_op){ .code = AVRO_PASS_LONG }, NULL);
    case AVRO_BYTES:
    case AVRO_STRING:
        return program_add(m, (avro_op){ .code = AVRO_PASS_BYTES }, NULL);
    case AVRO_ARRAY:
    case AVRO_MAP: {
        const avro_code code = t->kind == AVRO_MAP ? AVRO_PASS_MAP : AVRO_PASS_ARRAY;
        const uint64_t least = t->fields[0].type->least + (t->kind == AVRO_MAP);
        return program_parts(m, (avro_op){ .code = code, .type = t, .least = least }, program_pass, NULL);
    }
    case AVRO_UNION:
        return program_parts(m, (avro_op){ .code = AVRO_PASS_UNION, .type = t, .n = t->n }, program_pass, NULL);
    default:
        break;
    }
    for (uint32_t i = 0; i < t->n; i++) /* a record */
        LB_TRY(program_pass(m, t->fields[i].type, NULL));
    return LB_OK;
}

/* ---------------------------------------------------------------- putting */

static lb_status program_put(program_maker *m, const avro_type *t, lb_growing *to);

static lb_status program_put_union(program_maker *m, const avro_type *t, lb_growing *to)
{
    unsigned null_branch;
    const avro_type *one = avro_nullable(t, &null_branch);
    uint32_t index = 0;

    if (t->n != 1 && one == NULL)
        return program_parts(m, (avro_op){ .code = AVRO_PUT_UNION, .type = t, .n = t->n, .to = to }, program_put,
                             to->children);
    /* A union of one type has an index before the value all the same: a null branch that never comes. */
    if (one == NULL) {
        one = t->fields[0].type;
        null_branch = 1;
    }
    LB_TRY(program_add(m, (avro_op){ .code = AVRO_PUT_NULLABLE, .type = t, .n = null_branch, .to = to }, &index));
    m->border = m->program->count;
    LB_TRY(program_put(m, one, to));
    program_close(m, index);
    return LB_OK;
}

static avro_code program_leaf(const avro_type *t)
{
    static const avro_code plain[] = {
        [AVRO_NULL] = AVRO_PUT_NULL,   [AVRO_BOOLEAN] = AVRO_PUT_BOOL, [AVRO_INT] = AVRO_PUT_INT,
        [AVRO_LONG] = AVRO_PUT_LONG,   [AVRO_FLOAT] = AVRO_PUT_FLOAT,  [AVRO_DOUBLE] = AVRO_PUT_DOUBLE,
        [AVRO_BYTES] = AVRO_PUT_BYTES, [AVRO_STRING] = AVRO_PUT_BYTES, [AVRO_FIXED] = AVRO_PUT_FIXED,
        [AVRO_ENUM] = AVRO_PUT_ENUM,
    };

    if (t->logical == AVRO_DECIMAL)
        return t->kind == AVRO_FIXED ? AVRO_PUT_FIXED_DECIMAL : AVRO_PUT_DECIMAL;
    if (t->logical == AVRO_UUID && t->kind == AVRO_STRING)
        return AVRO_PUT_UUID;
    if (t->logical == AVRO_DURATION)
        return AVRO_PUT_DURATION;
    return t->kind == AVRO_FIXED && t->n == 0 ? AVRO_PUT_EMPTY : plain[t->kind];
}

static lb_status program_put(program_maker *m, const avro_type *t, lb_growing *to)
{
    switch (t->kind) {
    case AVRO_ARRAY:
        return program_parts(
            m, (avro_op){ .code = AVRO_PUT_ARRAY, .type = t, .least = t->fields[0].type->least, .to = to }, program_put,
            to->children);
    case AVRO_MAP:
        return program_parts(
            m, (avro_op){ .code = AVRO_PUT_MAP, .type = t, .least = t->fields[0].type->least + 1, .to = to },
            program_put, to->children + 1);
    case AVRO_UNION:
        return program_put_union(m, t, to);
    case AVRO_RECORD:
        for (uint32_t i = 0; i < t->n; i++)
            LB_TRY(program_put(m, t->fields[i].type, &to->children[i]));
        return program_add(m, (avro_op){ .code = AVRO_PUT_STRUCT, .type = t, .to = to }, NULL);
    default:
        return program_add(m, (avro_op){ .code = program_leaf(t), .type = t, .n = t->n, .to = to }, NULL);
    }
}

/* ---------------------------------------------------------------- rows */

/* Which wanted columns are of a field: the first of them, and behind each the next; NO_COLUMN: none. */
#define NO_COLUMN UINT64_MAX

typedef struct program_wants {
    uint64_t *first, *next;
} program_wants;

static lb_status program_want(program_maker *m, const uint64_t *columns, size_t n, uint64_t fields, program_wants *out)
{
    out->first = lb_arena_alloc(m->arena, (size_t)fields, sizeof *out->first);
    out->next = lb_arena_alloc(m->arena, n, sizeof *out->next);
    if (out->first == NULL || out->next == NULL)
        return lb_arena_fail(m->arena, m->err);
    for (uint64_t i = 0; i < fields; i++)
        out->first[i] = NO_COLUMN;
    for (size_t k = n; k-- > 0;) {
        if (columns[k] >= fields)
            return lb_fail(m->err, LB_INTERNAL, LB_NOWHERE, "a column is wanted that the rows do not have");
        out->next[k] = out->first[columns[k]];
        out->first[columns[k]] = k;
    }
    return LB_OK;
}

/* A field that is wanted several times is decoded anew for each. */
static lb_status program_column(program_maker *m, const avro_type *t, const program_wants *wants, lb_growing *to)
{
    uint64_t k = wants->first[m->column];

    if (k == NO_COLUMN)
        return program_pass(m, t, NULL);
    if (wants->next[k] != NO_COLUMN)
        LB_TRY(program_add(m, (avro_op){ .code = AVRO_MARK }, NULL));
    for (; k != NO_COLUMN; k = wants->next[k]) {
        LB_TRY(program_put(m, t, &to->children[k]));
        if (wants->next[k] != NO_COLUMN)
            LB_TRY(program_add(m, (avro_op){ .code = AVRO_BACK }, NULL));
    }
    return LB_OK;
}

lb_status avro_program_make(const avro_type *rows, const uint64_t *columns, size_t n_columns, lb_growing *to,
                            lb_arena *arena, avro_program *out, lb_error *err)
{
    program_maker m = { .program = out, .arena = arena, .err = err };
    bool record = rows->kind == AVRO_RECORD;
    program_wants wants;

    *out = (avro_program){ NULL, 0, 0 };
    if (to == NULL)
        return program_pass(&m, rows, NULL);
    LB_TRY(program_want(&m, columns, n_columns, record ? rows->n : 1, &wants));
    if (!record)
        return program_column(&m, rows, &wants, to);
    for (uint32_t i = 0; i < rows->n; i++) {
        m.column = i;
        LB_TRY(program_column(&m, rows->fields[i].type, &wants, to));
    }
    return LB_OK;
}
