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

/* False: this bound is not known. */
static bool bound_append(struct ArrowArray *array, const struct ArrowSchemaView *v, const lb_colstat *s, bool max)
{
    if ((s->has & (max ? LB_MAX_I : LB_MIN_I)) != 0)
        return ArrowArrayAppendInt(array, max ? s->max_i : s->min_i) == NANOARROW_OK;
    if ((s->has & (max ? LB_MAX_U : LB_MIN_U)) != 0)
        return ArrowArrayAppendUInt(array, max ? s->max_u : s->min_u) == NANOARROW_OK;
    if ((s->has & (max ? LB_MAX_F : LB_MIN_F)) != 0)
        return ArrowArrayAppendDouble(array, max ? s->max_f : s->min_f) == NANOARROW_OK;
    if ((s->has & (max ? LB_MAX_B : LB_MIN_B)) != 0)
        return bound_append_bytes(array, v, max ? s->max_b : s->min_b) == NANOARROW_OK;
    return false;
}

static bool bound_print(const struct ArrowSchema *type, const lb_colstat *stat, bool max, lb_buf *out)
{
    struct ArrowArray array = { .release = NULL };
    struct ArrowArrayView view;
    struct ArrowSchemaView v;
    bool known = false;
    ArrowArrayViewInitFromType(&view, NANOARROW_TYPE_UNINITIALIZED);
    if (lb_schema_view(type, &v, NULL) == LB_OK && v.storage_type != NANOARROW_TYPE_NA && type->n_children == 0 &&
        ArrowArrayInitFromSchema(&array, type, NULL) == NANOARROW_OK &&
        ArrowArrayStartAppending(&array) == NANOARROW_OK && bound_append(&array, &v, stat, max) &&
        ArrowArrayFinishBuildingDefault(&array, NULL) == NANOARROW_OK &&
        lb_view_open(type, &array, &view, NULL) == LB_OK)
        known = lb_print_value(type, &view, 0, LB_FORM_CSV, out, NULL) == LB_OK;
    ArrowArrayViewReset(&view);
    if (array.release != NULL)
        array.release(&array);
    return known;
}

bool lb_print_bound(const lb_colstat *stat, bool max, lb_buf *out)
{
    struct ArrowSchema type = { .release = NULL };
    lb_buf words;
    if ((stat->has & (max ? LB_MAX_I | LB_MAX_U | LB_MAX_F | LB_MAX_B : LB_MIN_I | LB_MIN_U | LB_MIN_F | LB_MIN_B)) ==
        0)
        return false;
    lb_buf_init(&words, NULL);
    size_t start = out->size;
    bool known = false;
    if (lb_buf_append(&words, stat->type.at, stat->type.size, NULL) == LB_OK) {
        const char *text = lb_buf_text(&words);
        known = text != NULL && lb_type_of_words(text, &type, NULL) == LB_OK && bound_print(&type, stat, max, out);
    }
    if (!known)
        out->size = start;
    if (type.release != NULL)
        type.release(&type);
    lb_buf_free(&words);
    return known;
}
