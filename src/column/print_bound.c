/* Bounds of statistics as text: an array of one value is made and printed. */
#include "column/print.h"

#include <errno.h>

#include "column/values.h"

/* Big-endian two's complement of 16 or 32 bytes. */
static int bound_append_decimal(struct ArrowArray *array, const struct ArrowSchemaView *v, lb_str bytes)
{
    struct ArrowDecimal d;
    uint8_t little[32];
    size_t width = (size_t)v->decimal_bitwidth / 8;
    if (bytes.size != 16 && bytes.size != 32)
        return EINVAL;
    memset(little, (bytes.at[0] & 0x80) != 0 ? 0xff : 0, sizeof little);
    for (size_t i = 0; i < bytes.size; i++)
        little[i] = (uint8_t)bytes.at[bytes.size - 1 - i];
    if (width > sizeof little)
        return EINVAL;
    ArrowDecimalInit(&d, v->decimal_bitwidth, v->decimal_precision, v->decimal_scale);
    ArrowDecimalSetBytes(&d, little);
    return ArrowArrayAppendDecimal(array, &d);
}

static int bound_append_bytes(struct ArrowArray *array, const struct ArrowSchemaView *v, lb_str b)
{
    switch (v->type) {
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        return bound_append_decimal(array, v, b);
    default:
        return ArrowArrayAppendBytes(array, (struct ArrowBufferView){ { b.at }, (int64_t)b.size });
    }
}

/* ENOENT: this bound is not known. */
static int bound_append(struct ArrowArray *array, const struct ArrowSchemaView *v, const lb_colstat *s, bool max)
{
    if ((s->has & (max ? LB_MAX_I : LB_MIN_I)) != 0)
        return ArrowArrayAppendInt(array, max ? s->max_i : s->min_i);
    if ((s->has & (max ? LB_MAX_U : LB_MIN_U)) != 0)
        return ArrowArrayAppendUInt(array, max ? s->max_u : s->min_u);
    if ((s->has & (max ? LB_MAX_F : LB_MIN_F)) != 0)
        return ArrowArrayAppendDouble(array, max ? s->max_f : s->min_f);
    if ((s->has & (max ? LB_MAX_B : LB_MIN_B)) != 0)
        return bound_append_bytes(array, v, max ? s->max_b : s->min_b);
    return ENOENT;
}

/* An array of the bound alone. Any error but NOMEM: the bound does not go with the type. */
static lb_status bound_array(const struct ArrowSchema *type, const lb_colstat *stat, bool max, struct ArrowArray *out)
{
    struct ArrowSchemaView v;
    LB_TRY(lb_schema_view(type, &v, NULL));
    if (v.storage_type == NANOARROW_TYPE_NA || type->n_children != 0)
        return LB_UNSUPPORTED;
    int code = ArrowArrayInitFromSchema(out, type, NULL);
    if (code == NANOARROW_OK)
        code = ArrowArrayStartAppending(out);
    if (code == NANOARROW_OK)
        code = bound_append(out, &v, stat, max);
    if (code == NANOARROW_OK)
        code = ArrowArrayFinishBuildingDefault(out, NULL);
    return lb_fail_arrow(NULL, code, NULL);
}

static lb_status bound_print(const struct ArrowSchema *type, const lb_colstat *stat, bool max, lb_buf *out)
{
    struct ArrowArray array = { .release = NULL };
    struct ArrowArrayView view;
    ArrowArrayViewInitFromType(&view, NANOARROW_TYPE_UNINITIALIZED);
    lb_status s = bound_array(type, stat, max, &array);
    if (s == LB_OK)
        s = lb_view_open(type, &array, &view, NULL);
    if (s == LB_OK)
        s = lb_print_value(type, &view, 0, LB_FORM_CSV, out, NULL);
    ArrowArrayViewReset(&view);
    if (array.release != NULL)
        array.release(&array);
    return s;
}

static lb_status bound_type(lb_str words, struct ArrowSchema *out)
{
    lb_buf text;
    lb_buf_init(&text, NULL);
    const char *at = NULL;
    lb_status s = lb_buf_append(&text, words.at, words.size, NULL);
    if (s == LB_OK)
        at = lb_buf_text(&text);
    if (s == LB_OK)
        s = at == NULL ? LB_NOMEM : lb_type_of_words(at, out, NULL);
    lb_buf_free(&text);
    return s;
}

lb_status lb_print_bound(const lb_colstat *stat, bool max, lb_buf *out, bool *known, lb_error *err)
{
    struct ArrowSchema type = { .release = NULL };
    size_t start = out->size;
    *known = false;
    if ((stat->has & (max ? LB_MAX_I | LB_MAX_U | LB_MAX_F | LB_MAX_B : LB_MIN_I | LB_MIN_U | LB_MIN_F | LB_MIN_B)) ==
        0)
        return LB_OK;
    lb_status s = bound_type(stat->type, &type);
    if (s == LB_OK)
        s = bound_print(&type, stat, max, out);
    *known = s == LB_OK;
    if (!*known)
        out->size = start;
    if (type.release != NULL)
        type.release(&type);
    if (s == LB_BUDGET)
        return lb_fail(err, s, LB_NOWHERE, "a statistic does not fit into the memory limit");
    return s == LB_NOMEM ? lb_fail_nomem(err) : LB_OK;
}
