/* What comes of a survey: types, statistics, schema. */
#include "column/ipc.h"
#include "format/delimited/delimited_survey.h"

static lb_status survey_declared_bounds(const delim_target *t, const survey_bounds *b, lb_arena *arena, lb_colstat *out,
                                        lb_error *err)
{
    if (t->storage == DELIM_DOUBLE) {
        out->has_nan_count = true;
        out->nan_count = b->nans;
    }
    if (!b->any)
        return LB_OK;
    switch (t->storage) {
    case DELIM_UNSIGNED:
        out->min_u = b->min.u;
        out->max_u = b->max.u;
        out->has |= LB_MIN_U | LB_MAX_U;
        break;
    case DELIM_DOUBLE:
        out->min_f = b->min.f;
        out->max_f = b->max.f;
        out->has |= LB_MIN_F | LB_MAX_F;
        break;
    case DELIM_DECIMAL:
        LB_TRY(delim_decimal_bytes(b->min.d, t->precision, arena, &out->min_b, err));
        LB_TRY(delim_decimal_bytes(b->max.d, t->precision, arena, &out->max_b, err));
        out->has |= LB_MIN_B | LB_MAX_B;
        break;
    default:
        out->min_i = b->min.i;
        out->max_i = b->max.i;
        out->has |= LB_MIN_I | LB_MAX_I;
        break;
    }
    return LB_OK;
}

/* Statistics of a column, or of a part of it in one block. */
static lb_status survey_column_stats(const survey *s, const survey_column *c, const char *type,
                                     const delim_column *seen, const survey_bounds *bounds, lb_colstat *out,
                                     lb_error *err)
{
    bool declared = c->declared.type != NULL && c->declared.target.storage != DELIM_TEXT;

    LB_TRY(delim_column_stats(seen, c->name, type, c->bounds && !declared, s->arena, out, err));
    return c->bounds && declared ? survey_declared_bounds(&c->declared.target, bounds, s->arena, out, err) : LB_OK;
}

static lb_status survey_field(survey *s, struct ArrowSchema *field, const survey_column *c, const char **type,
                              lb_error *err)
{
    char words[DELIM_TYPE_TEXT];

    if (c->declared.type == NULL)
        delim_column_type(&c->seen, &s->r->values, words);
    *type = lb_arena_copy(s->arena, lb_str_of(c->declared.type != NULL ? c->declared.type : words));
    if (*type == NULL)
        return lb_arena_fail(s->arena, err);
    field->release(field);
    LB_TRY(lb_type_of_words(*type, field, err));
    LB_TRY(lb_schema_set_name(field, c->name, err));
    if (c->original.at != NULL)
        LB_TRY(lb_schema_set_meta(field, LB_META_ORIGINAL_NAME, c->original, err));
    if (c->declared.type != NULL)
        return lb_schema_set_meta(field, LB_META_DECLARED, LB_STR("true"), err);
    if (delim_column_is_wide(&c->seen, *type))
        LB_TRY(lb_schema_set_meta(field, LB_META_WIDE, LB_STR("true"), err));
    bool negative = strcmp(*type, "int64") == 0 && c->seen.seen[DELIM_KIND_INT] != 0 && c->seen.min_i < 0;
    return negative ? lb_schema_set_meta(field, LB_META_NEGATIVE, LB_STR("true"), err) : LB_OK;
}

static lb_status survey_keep_schema(survey *s, const struct ArrowSchema *schema, lb_entry *out, lb_error *err)
{
    lb_buf bytes;

    lb_buf_init(&bytes, s->arena->budget);
    lb_status status = lb_ipc_encode_schema(schema, &bytes, err);
    if (status == LB_OK) {
        out->arrow_schema = (lb_str){ lb_arena_dup(s->arena, bytes.data, bytes.size), bytes.size };
        if (out->arrow_schema.at == NULL)
            status = lb_arena_fail(s->arena, err);
    }
    lb_buf_free(&bytes);
    return status;
}

static lb_status survey_fields(survey *s, struct ArrowSchema *schema, lb_entry *out, lb_error *err)
{
    out->columns.items = lb_arena_alloc(s->arena, s->width, sizeof *out->columns.items);
    if (out->columns.items == NULL)
        return lb_arena_fail(s->arena, err);
    for (size_t i = 0; i < s->width; i++) {
        const survey_column *c = &s->columns[i];
        lb_colstat *stat = &out->columns.items[out->columns.count];
        const char *type;
        LB_TRY(survey_field(s, schema->children[i], c, &type, err));
        if (!c->bounds)
            continue;
        LB_TRY(survey_column_stats(s, c, type, &c->seen, &c->declared.bounds, stat, err));
        out->columns.count++;
    }
    return LB_OK;
}

/* Types of the schema's columns in words. */
static lb_status survey_types(survey *s, const struct ArrowSchema *schema, const char ***out, lb_error *err)
{
    const char **types = lb_arena_alloc(s->arena, s->width, sizeof *types);

    *out = types;
    for (size_t i = 0; types != NULL && i < s->width; i++) {
        lb_buf words;
        lb_buf_init(&words, s->arena->budget);
        lb_status status = lb_type_words(schema->children[i], false, &words, err);
        if (status == LB_OK)
            types[i] = lb_arena_copy(s->arena, (lb_str){ (const char *)words.data, words.size });
        lb_buf_free(&words);
        LB_TRY(status);
        if (types[i] == NULL)
            return lb_arena_fail(s->arena, err);
    }
    return types == NULL ? lb_arena_fail(s->arena, err) : LB_OK;
}

/* The columns of one closed block, from where survey_close_columns put them. */
static lb_status survey_block_stats(survey *s, lb_cursor *c, const char *const *types, lb_entry *out, uint32_t *blocks,
                                    uint32_t *columns, lb_error *err)
{
    uint32_t block = lb_cursor_u32(c);
    uint64_t width = lb_cursor_u64(c);

    if (c->bad || width == 0 || width > s->width)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "what was kept of a block does not read");
    for (uint64_t i = 0; i < width; i++) {
        survey_block_column closed = { .declared.any = false };
        bool read = delim_state_next(c, &closed.seen);
        if (s->columns[i].declared.type != NULL) {
            const uint8_t *bounds = lb_cursor_take(c, sizeof closed.declared);
            if (bounds != NULL)
                memcpy(&closed.declared, bounds, sizeof closed.declared);
        }
        if (!read || c->bad)
            return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "what was kept of block %u does not read", block);
        uint64_t at = out->block_columns.count++;
        lb_colstat *stat = &out->block_columns.items[at];
        blocks[at] = block;
        columns[at] = (uint32_t)i;
        LB_TRY(survey_column_stats(s, &s->columns[i], types[i], &closed.seen, &closed.declared, stat, err));
    }
    return LB_OK;
}

/* Statistics of blocks, under the types that the whole file gave. */
static lb_status survey_all_block_stats(survey *s, const struct ArrowSchema *schema, lb_entry *out, lb_error *err)
{
    size_t n = (size_t)s->n_closed;
    uint32_t *blocks = lb_arena_alloc(s->arena, n, sizeof *blocks);
    uint32_t *columns = lb_arena_alloc(s->arena, n, sizeof *columns);
    const char **types;
    lb_cursor c;

    out->block_columns.items = lb_arena_alloc(s->arena, n, sizeof *out->block_columns.items);
    if (blocks == NULL || columns == NULL || out->block_columns.items == NULL)
        return lb_arena_fail(s->arena, err);
    LB_TRY(survey_types(s, schema, &types, err));
    lb_cursor_init(&c, s->closed.data, s->closed.size, 0);
    while (out->block_columns.count < n)
        LB_TRY(survey_block_stats(s, &c, types, out, blocks, columns, err));
    out->block_of_column = blocks;
    out->column_of_column = columns;
    return LB_OK;
}

static void survey_check_declared(const survey *s, const struct ArrowSchema *schema)
{
    const lb_read_options *o = s->r->options;

    for (size_t i = 0; o != NULL && i < o->n_columns; i++) {
        bool found = false;
        for (int64_t k = 0; k < schema->n_children; k++)
            found |= strcmp(schema->children[k]->name, o->columns[i].name) == 0;
        /* A lake's files need not all have a column that is declared for all of them. */
        if (!found)
            lb_note(s->r->cx, "%s has no column '%s', which --column declares", s->r->store->path, o->columns[i].name);
    }
}

static lb_status survey_finish(survey *s, lb_entry *out, lb_error *err)
{
    struct ArrowSchema schema = { 0 };

    survey_count_nulls(s);
    LB_TRY(lb_schema_struct(&schema, (int64_t)s->width, err));
    lb_status status = survey_fields(s, &schema, out, err);
    if (status == LB_OK)
        survey_check_declared(s, &schema);
    if (status == LB_OK && s->options->stats == LB_STATS_BLOCKS)
        status = survey_all_block_stats(s, &schema, out, err);
    if (status == LB_OK)
        status = survey_keep_schema(s, &schema, out, err);
    schema.release(&schema);
    return status;
}

static lb_status survey_keep_dialect(survey *s, lb_entry *out, lb_error *err)
{
    const delim_dialect *d = &s->r->dialect;

    out->has_dialect = true;
    out->dialect =
        (lb_dialect){ .delimiter = { lb_arena_dup(s->arena, d->delimiter, d->delimiter_size), d->delimiter_size },
                      .quote = d->quote,
                      .escape = d->escape,
                      .has_header = d->has_header,
                      .encoding = { lb_arena_copy(s->arena, lb_str_of(d->encoding)), strlen(d->encoding) },
                      .ragged_null = d->ragged_null,
                      .bom_bytes = (uint8_t)d->bom_bytes,
                      .data_start = s->data_start,
                      .sheet = -1,
                      .header_row = -1 };
    if (out->dialect.delimiter.at == NULL || out->dialect.encoding.at == NULL)
        return lb_arena_fail(s->arena, err);
    return LB_OK;
}

static lb_status survey_keep_state(survey *s, lb_entry *out, lb_error *err)
{
    if (s->state.size == 0)
        return LB_OK;
    out->open_state = (lb_str){ lb_arena_dup(s->arena, s->state.data, s->state.size), s->state.size };
    return out->open_state.at == NULL ? lb_arena_fail(s->arena, err) : LB_OK;
}

lb_status survey_result(survey *s, lb_entry *out, lb_error *err)
{
    LB_TRY(survey_finish(s, out, err));
    LB_TRY(survey_keep_dialect(s, out, err));
    LB_TRY(survey_keep_state(s, out, err));
    return lb_block_builder_finish(&s->blocks, s->arena, &out->blocks, err);
}
