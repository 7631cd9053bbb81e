/* A mapped file under other value options: where only the types of columns change, its blocks serve on and nothing is read. */
#include "column/ipc.h"
#include "format/format.h"

/* What a field keeps whatever its type becomes. */
static lb_status adapt_meta(const struct ArrowSchema *from, struct ArrowSchema *to, lb_error *err)
{
    static const char *const kept[] = { LB_META_ORIGINAL_NAME, LB_META_ROWS };
    lb_str value;

    for (size_t i = 0; i < LB_COUNT_OF(kept); i++)
        if (lb_schema_get_meta(from, kept[i], &value))
            LB_TRY(lb_schema_set_meta(to, kept[i], value, err));
    return LB_OK;
}

static lb_status adapt_field(struct ArrowSchema *field, const char *type, bool declared, lb_error *err)
{
    struct ArrowSchema made = { 0 };

    LB_TRY(lb_type_of_words(type, &made, err));
    lb_status status = lb_schema_set_name(&made, lb_str_of(field->name), err);
    if (status == LB_OK)
        status = adapt_meta(field, &made, err);
    if (status == LB_OK && declared)
        status = lb_schema_set_meta(&made, LB_META_DECLARED, LB_STR("true"), err);
    if (status != LB_OK) {
        made.release(&made);
        return status;
    }
    field->release(field);
    *field = made;
    return LB_OK;
}

static lb_status adapt_schema(struct ArrowSchema *schema, const lb_read_options *o, lb_error *err)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        const char *type = o->types == LB_TYPES_TEXT ? "string" : NULL;
        bool declared = false;
        for (size_t k = 0; k < o->n_columns; k++) {
            if (strcmp(schema->children[i]->name, o->columns[k].name) != 0)
                continue;
            type = o->columns[k].type;
            declared = true;
        }
        if (type != NULL)
            LB_TRY(adapt_field(schema->children[i], type, declared, err));
    }
    return LB_OK;
}

/* What type the values of a map have is not known without reading. */
static bool adapt_needs_values(const lb_read_options *o)
{
    for (size_t k = 0; k < o->n_columns; k++)
        if (strcmp(o->columns[k].type, "map") == 0)
            return true;
    return false;
}

lb_status lb_adapt_types(const lb_entry *known, const lb_read_options *o, lb_arena *arena, lb_entry *out, bool *done,
                         lb_error *err)
{
    struct ArrowSchema schema = { 0 };
    lb_buf bytes;

    *done = (o->value_set & ~(unsigned)(LB_VAL_TYPES | LB_VAL_COLUMN)) == 0 &&
            (o->types == LB_TYPES_TEXT || (o->value_set & LB_VAL_TYPES) == 0) && known->arrow_schema.size != 0 &&
            !adapt_needs_values(o);
    if (!*done)
        return LB_OK;
    *out = *known;
    out->columns = (lb_colstats){ 0 };
    out->block_columns = (lb_colstats){ 0 };
    LB_TRY(lb_ipc_decode_schema(known->arrow_schema.at, known->arrow_schema.size, &schema, err));
    lb_buf_init(&bytes, arena->budget);
    lb_status status = adapt_schema(&schema, o, err);
    if (status == LB_OK)
        status = lb_ipc_encode_schema(&schema, &bytes, err);
    schema.release(&schema);
    if (status == LB_OK) {
        out->arrow_schema = (lb_str){ lb_arena_dup(arena, bytes.data, bytes.size), bytes.size };
        status = out->arrow_schema.at == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    return status;
}
