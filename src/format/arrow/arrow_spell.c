/* Rows of a dictionary of text, the most common one, copied straight from its values: no list of picks is made. What is out of
 * the ordinary (several deliveries, null values, wrong indices) is left to arrow_decode.c. */
#include "format/arrow/arrow.h"

/* A short value is copied as so many bytes, where they may be read and written, which takes no loop. */
#define SPELL_SHORT 16

typedef struct spell {
    const struct ArrowArray *values;
    const uint8_t *bits; /* validity of the rows; NULL: none is null */
    int64_t count;
    uint32_t *picks; /* of each row, its value */
    uint8_t *offsets, *data;
    int64_t total;
} spell;

/* Indices as numbers of values; false: one of a row that is not null is none. Null rows may have any. */
#define SPELL_PICKS(type, number)                                                    \
    static bool picks_##type(const spell *s, const uint8_t *at)                      \
    {                                                                                \
        const uint64_t n = (uint64_t)s->values->length;                              \
        bool bad = false;                                                            \
        for (int64_t i = 0; i < s->count; i++) {                                     \
            type##_t v;                                                              \
            memcpy(&v, at + i * (int64_t)sizeof v, sizeof v);                        \
            uint64_t index = (uint64_t)(number)v; /* one below 0 is past all ends */ \
            bad |= index >= n && (s->bits == NULL || ArrowBitGet(s->bits, i));       \
            s->picks[i] = index < n ? (uint32_t)index : 0;                           \
        }                                                                            \
        return !bad;                                                                 \
    }

SPELL_PICKS(int8, int64_t)
SPELL_PICKS(uint8, uint64_t)
SPELL_PICKS(int16, int64_t)
SPELL_PICKS(uint16, uint64_t)
SPELL_PICKS(int32, int64_t)
SPELL_PICKS(uint32, uint64_t)
SPELL_PICKS(uint64, uint64_t)

static bool spell_picks(const spell *s, const lb_arrow_node *n, const uint8_t *indices)
{
    switch (n->width) {
    case 1:
        return n->is_signed ? picks_int8(s, indices) : picks_uint8(s, indices);
    case 2:
        return n->is_signed ? picks_int16(s, indices) : picks_uint16(s, indices);
    case 4:
        return n->is_signed ? picks_int32(s, indices) : picks_uint32(s, indices);
    default:
        return picks_uint64(s, indices);
    }
}

/* Where each row's text begins, and the bytes of all; then the text. */
#define SPELL_TEXT(type)                                                                               \
    static int64_t measure_##type(const spell *s)                                                      \
    {                                                                                                  \
        const type##_t *of = (const type##_t *)s->values->buffers[1] + s->values->offset;              \
        type##_t *to = (type##_t *)(void *)s->offsets;                                                 \
        int64_t total = 0;                                                                             \
        for (int64_t i = 0; i < s->count; i++) {                                                       \
            int64_t size = of[s->picks[i] + (size_t)1] - of[s->picks[i]];                              \
            to[i] = (type##_t)total;                                                                   \
            total += s->bits == NULL || ArrowBitGet(s->bits, i) ? size : 0;                            \
        }                                                                                              \
        to[s->count] = (type##_t)total;                                                                \
        return total;                                                                                  \
    }                                                                                                  \
    static void copy_##type(const spell *s)                                                            \
    {                                                                                                  \
        const type##_t *of = (const type##_t *)s->values->buffers[1] + s->values->offset;              \
        const type##_t *at = (const type##_t *)(const void *)s->offsets;                               \
        const uint8_t *from = s->values->buffers[2];                                                   \
        const int64_t from_end = of[s->values->length] - SPELL_SHORT, to_end = s->total - SPELL_SHORT; \
        for (int64_t i = 0; i < s->count; i++) {                                                       \
            const int64_t start = of[s->picks[i]], size = at[i + 1] - at[i];                           \
            if (size <= SPELL_SHORT && start <= from_end && at[i] <= to_end)                           \
                memcpy(s->data + at[i], from + start, SPELL_SHORT);                                    \
            else if (size != 0)                                                                        \
                memcpy(s->data + at[i], from + start, (size_t)size);                                   \
        }                                                                                              \
    }

SPELL_TEXT(int32)
SPELL_TEXT(int64)

static lb_status spell_text(lb_arrow_pull *p, const lb_arrow_node *n, spell *s, bool wide, struct ArrowArray *out,
                            lb_error *err)
{
    lb_arrow_piece offsets, data;
    const uint64_t width = wide ? 8 : 4;

    LB_TRY(lb_arrow_piece_new(&p->made, width * ((uint64_t)s->count + 1), false, &offsets, err));
    s->offsets = offsets.mem->at;
    lb_arrow_array_set(out, 1, &offsets);
    s->total = wide ? measure_int64(s) : measure_int32(s);
    LB_TRY(lb_arrow_decode_fits(p, n, (uint64_t)s->total + width * (uint64_t)s->count, s->count, err));
    if (!wide && s->total > INT32_MAX)
        return lb_arrow_fail_long(p, n, err);
    LB_TRY(lb_arrow_piece_new(&p->made, (uint64_t)s->total, false, &data, err));
    s->data = s->total == 0 ? NULL : data.mem->at;
    lb_arrow_array_set(out, 2, &data);
    if (s->total == 0)
        return LB_OK;
    if (wide)
        copy_int64(s);
    else
        copy_int32(s);
    return LB_OK;
}

static bool spell_can(const lb_arrow_node *n, const lb_arrow_words *w, int64_t count)
{
    return n->plain->format[0] != '\0' && n->plain->format[1] == '\0' && strchr("uUzZ", n->plain->format[0]) != NULL &&
           w->n == 1 && w->chunks[0]->length > 0 && w->chunks[0]->buffers[0] == NULL && count > 0;
}

lb_status lb_arrow_spell(lb_arrow_pull *p, const lb_arrow_node *n, const lb_arrow_words *w, const uint8_t *indices,
                         const lb_arrow_piece *bits, int64_t null_count, int64_t count, struct ArrowArray *out,
                         bool *done, lb_error *err)
{
    lb_arrow_piece picks;

    *done = false;
    if (!spell_can(n, w, count))
        return LB_OK;
    LB_TRY(lb_arrow_piece_new(&p->made, (uint64_t)count * sizeof(uint32_t), false, &picks, err));
    spell s = { .values = w->chunks[0],
                .bits = null_count == 0 ? NULL : bits->at,
                .count = count,
                .picks = (uint32_t *)(void *)picks.mem->at };
    lb_status status = LB_OK;
    if (spell_picks(&s, n, indices)) {
        *done = true;
        status = lb_arrow_array_new(count, 3, 0, out, err);
        if (status == LB_OK && null_count != 0) {
            lb_arrow_piece held = lb_arrow_piece_share(bits);
            out->null_count = null_count;
            lb_arrow_array_set(out, 0, &held);
        }
        if (status == LB_OK)
            status = spell_text(p, n, &s, n->plain->format[0] == 'U' || n->plain->format[0] == 'Z', out, err);
        if (status != LB_OK)
            lb_arrow_array_drop(out);
    }
    lb_arrow_piece_drop(&picks);
    return status;
}
