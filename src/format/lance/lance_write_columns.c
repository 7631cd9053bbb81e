/* Columns of the Lance writer: from runs of Arrow values to pages (lance.md 5). */
#include <assert.h>
#include <stdio.h>

#include "format/lance/lance_write_parts.h"

/* ---------------------------------------------------------------- the sink */

#define LW_HOLD ((size_t)256 * 1024)

lb_status lw_flush(lw_sink *sink, lb_error *err)
{
    size_t size = sink->held.size;
    sink->held.size = 0;
    if (size == 0 || sink->write(sink->user, sink->held.data, size))
        return LB_OK;
    return lb_fail(err, LB_IO, LB_NOWHERE, "the data file could not be written");
}

lb_status lw_put(lw_sink *sink, const void *bytes, size_t size, lb_error *err)
{
    if (size == 0)
        return LB_OK;
    sink->at += size;
    if (size < LW_HOLD) {
        if (sink->held.size + size > LW_HOLD)
            LB_TRY(lw_flush(sink, err));
        return lb_buf_append(&sink->held, bytes, size, err);
    }
    LB_TRY(lw_flush(sink, err));
    return sink->write(sink->user, bytes, size) ? LB_OK
                                                : lb_fail(err, LB_IO, LB_NOWHERE, "the data file could not be written");
}

static lb_status put(lb_lance_writer *w, const void *bytes, size_t size, lb_error *err)
{
    return w->dry ? LB_OK : lw_put(&w->sink, bytes, size, err);
}

static lb_status put_page(lb_lance_writer *w, lw_column *c, uint64_t position, int64_t length, lb_error *err)
{
    lw_page page = { (int64_t)position, length };
    return w->dry ? LB_OK : lb_buf_append(&c->pages, &page, sizeof page, err);
}

/* ---------------------------------------------------------------- runs */

static int64_t runs_total(const lw_run *runs, size_t n)
{
    int64_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += runs[i].count;
    return total;
}

/* Append a run, joined to the one before where it goes on from there. */
static lb_status runs_add(lb_buf *out, const struct ArrowArrayView *view, int64_t first, int64_t count, lb_error *err)
{
    lw_run run = { view, first, count };
    if (count == 0)
        return LB_OK;
    if (out->size != 0) {
        lw_run *last = (lw_run *)(void *)(out->data + out->size) - 1;
        if (last->view == view && (view == NULL || last->first + last->count == first)) {
            last->count += count;
            return LB_OK;
        }
    }
    return lb_buf_append(out, &run, sizeof run, err);
}

static bool run_has_nulls(const lw_run *r)
{
    if (r->view == NULL || !lb_view_has_validity(r->view) || r->count == 0)
        return false;
    return ArrowBitCountSet(r->view->buffer_views[0].data.as_uint8, r->view->offset + r->first, r->count) != r->count;
}

/* Runs of the values inside, `each` of them in one: of structs (1) and fixed-size lists. What a null holds is
 * absent. */
static lb_status runs_inside(const lw_run *runs, size_t n, size_t child, int64_t each, lb_buf *out, lb_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const lw_run *r = &runs[i];
        if (r->view == NULL) {
            LB_TRY(runs_add(out, NULL, 0, r->count * each, err));
            continue;
        }
        const struct ArrowArrayView *inner = r->view->children[child];
        int64_t from = r->view->offset + r->first;
        if (!run_has_nulls(r)) {
            LB_TRY(runs_add(out, inner, from * each, r->count * each, err));
            continue;
        }
        for (int64_t k = 0; k < r->count; k++) {
            bool null = lb_view_is_null(r->view, r->first + k);
            LB_TRY(runs_add(out, null ? NULL : inner, null ? 0 : (from + k) * each, each, err));
        }
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- nulls */

void lw_path(const lb_lance_writer *w, size_t column, char *out, size_t cap)
{
    const lw_column *c = &w->columns[column];
    size_t n = 0;
    if (c->parent != SIZE_MAX) {
        lw_path(w, c->parent, out, cap);
        n = strlen(out);
    }
    lb_str name = lb_lance_str(c->field->name);
    (void)snprintf(out + n, cap - n, "%s%.*s", n == 0 ? "" : ".", (int)LB_MIN(name.size, (size_t)200), name.at);
}

static lb_status null_fail(const lb_lance_writer *w, const lw_column *c, const char *what, lb_error *err)
{
    char path[256];
    lw_path(w, (size_t)(c - w->columns), path, sizeof path);
    lb_fail(err, LB_USAGE, LB_NOWHERE, "column '%s' has %s, which a Lance v1 dataset cannot hold as such", path, what);
    lb_fail_hint(err, "--nulls keep keeps it in a companion column, --nulls lossy stores 0, false or nothing instead");
    return LB_USAGE;
}

/* Nulls that the page cannot tell: refuse, or have a companion tell. */
static lb_status null_met(lb_lance_writer *w, lw_column *c, unsigned level, const char *what, lb_error *err)
{
    if (c->valid[level].keep || w->options.nulls == LB_LANCE_NULLS_LOSSY)
        return LB_OK;
    if (w->options.nulls == LB_LANCE_NULLS_REFUSE)
        return null_fail(w, c, what, err);
    c->valid[level].keep = true;
    return LB_OK;
}

static bool valid_wanted(const lb_lance_writer *w, const lw_valid *v)
{
    return !w->dry && (v->keep || w->options.nulls == LB_LANCE_NULLS_KEEP);
}

/* Room for so many further bits; false bits come into being here. */
static lb_status valid_room(lw_valid *v, uint64_t count, bool dirty, lb_error *err)
{
    if (!v->dirty && !dirty)
        return LB_OK;
    size_t size = (size_t)((v->count + count + 7) / 8), old = v->bits.size;
    if (size > old) {
        LB_TRY(lb_buf_reserve(&v->bits, size - old, err));
        memset(v->bits.data + old, v->dirty ? 0 : 0xff, size - old);
        v->bits.size = size;
    }
    if (!v->dirty) /* all before were true, and the rest is not known yet */
        for (uint64_t i = v->count; i < 8 * (uint64_t)size; i++)
            v->bits.data[i / 8] &= (uint8_t) ~(1u << (i % 8));
    v->dirty = true;
    return LB_OK;
}

static lb_status valid_add_ones(lw_valid *v, uint64_t count, lb_error *err)
{
    LB_TRY(valid_room(v, count, false, err));
    for (uint64_t i = 0; v->dirty && i < count; i++)
        v->bits.data[(v->count + i) / 8] |= (uint8_t)(1u << ((v->count + i) % 8));
    v->count += count;
    return LB_OK;
}

static lb_status valid_add_one(lw_valid *v, bool one, lb_error *err)
{
    LB_TRY(valid_room(v, 1, !one, err));
    if (v->dirty && one)
        v->bits.data[v->count / 8] |= (uint8_t)(1u << (v->count % 8));
    v->count++;
    return LB_OK;
}

static lb_status valid_add_run(lw_valid *v, const lw_run *r, lb_error *err)
{
    if (!run_has_nulls(r))
        return valid_add_ones(v, (uint64_t)r->count, err);
    for (int64_t i = 0; i < r->count; i++)
        LB_TRY(valid_add_one(v, !lb_view_is_null(r->view, r->first + i), err));
    return LB_OK;
}

/* What the validity of these values asks for, where their page has no place for it. */
static lb_status note_nulls(lb_lance_writer *w, lw_column *c, unsigned level, const lw_run *runs, size_t n,
                            lb_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (run_has_nulls(&runs[i]))
            LB_TRY(null_met(w, c, level, level == 0 ? "a null" : "a null inside its lists", err));
        if (valid_wanted(w, &c->valid[level]))
            LB_TRY(valid_add_run(&c->valid[level], &runs[i], err));
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- fixed width */

static const uint8_t lw_zeros[4096];

static lb_status put_zeros(lb_lance_writer *w, uint64_t size, lb_error *err)
{
    for (; size > 0; size -= LB_MIN(size, sizeof lw_zeros))
        LB_TRY(put(w, lw_zeros, (size_t)LB_MIN(size, sizeof lw_zeros), err));
    return LB_OK;
}

static size_t view_width(const struct ArrowArrayView *v)
{
    return (size_t)(v->layout.element_size_bits[1] / 8);
}

/* Values one by one: nulls as zeros, decimals made wider by their sign. */
static lb_status put_fixed_slow(lb_lance_writer *w, const lw_column *c, const lw_run *r, lb_error *err)
{
    size_t width = view_width(r->view);
    w->scratch.size = 0;
    LB_TRY(lb_buf_reserve(&w->scratch, (size_t)r->count * c->width, err));
    for (int64_t i = 0; i < r->count; i++) {
        const uint8_t *from = r->view->buffer_views[1].data.as_uint8 + (size_t)(r->view->offset + r->first + i) * width;
        uint8_t *to = w->scratch.data + w->scratch.size;
        bool null = lb_view_is_null(r->view, r->first + i);
        w->scratch.size += c->width;
        memset(to, !null && width < c->width && (from[width - 1] & 0x80) != 0 ? 0xff : 0, c->width);
        if (!null)
            memcpy(to, from, width);
    }
    return put(w, w->scratch.data, w->scratch.size, err);
}

static lb_status put_values(lb_lance_writer *w, const lw_column *c, const lw_run *r, lb_error *err)
{
    if (r->view == NULL)
        return put_zeros(w, (uint64_t)r->count * c->width, err);
    size_t width = view_width(r->view);
    if (width != c->width || run_has_nulls(r))
        return put_fixed_slow(w, c, r, err);
    return put(w, r->view->buffer_views[1].data.as_uint8 + (size_t)(r->view->offset + r->first) * width,
               (size_t)r->count * width, err);
}

static lb_status put_bits(lb_lance_writer *w, const lw_run *runs, size_t n, lb_error *err)
{
    size_t size = (size_t)(runs_total(runs, n) + 7) / 8;
    int64_t at = 0;
    w->scratch.size = 0;
    LB_TRY(lb_buf_reserve(&w->scratch, size, err));
    if (size == 0)
        return LB_OK;
    memset(w->scratch.data, 0, size);
    for (size_t i = 0; i < n; at += runs[i++].count)
        for (int64_t k = 0; runs[i].view != NULL && k < runs[i].count; k++) {
            const struct ArrowArrayView *v = runs[i].view;
            int64_t row = runs[i].first + k;
            if (ArrowBitGet(v->buffer_views[1].data.as_uint8, v->offset + row) && !lb_view_is_null(v, row))
                w->scratch.data[(at + k) / 8] |= (uint8_t)(1u << ((at + k) % 8));
        }
    return put(w, w->scratch.data, size, err);
}

static lb_status put_fixed(lb_lance_writer *w, lw_column *c, unsigned level, const lw_run *runs, size_t n,
                           lb_error *err)
{
    LB_TRY(note_nulls(w, c, level, runs, n, err));
    if (level < c->levels) {
        lb_buf inner;
        lb_buf_init(&inner, &w->cx->budget);
        lb_status s = runs_inside(runs, n, 0, c->each[level], &inner, err);
        if (s == LB_OK)
            s = put_fixed(w, c, level + 1, (const lw_run *)(const void *)inner.data, inner.size / sizeof(lw_run), err);
        lb_buf_free(&inner);
        return s;
    }
    if (c->kind == LW_BITS)
        return put_bits(w, runs, n, err);
    for (size_t i = 0; i < n; i++)
        LB_TRY(put_values(w, c, &runs[i], err));
    return LB_OK;
}

/* ---------------------------------------------------------------- text and binary */

static int64_t bytes_offset(const struct ArrowArrayView *v, int64_t row)
{
    int64_t i = v->offset + row;
    bool large = v->storage_type == NANOARROW_TYPE_LARGE_STRING || v->storage_type == NANOARROW_TYPE_LARGE_BINARY;
    return large ? v->buffer_views[1].data.as_int64[i] : v->buffer_views[1].data.as_int32[i];
}

bool lw_is_nullable_fixed(const lb_lance_writer *w, const lw_column *c)
{
    return w->options.fixed_nullable || (c->parent != SIZE_MAX && w->columns[c->parent].kind == LW_LIST);
}

/* Null and empty look the same: the field says which of the two it means. So a column may have one of them only. */
static lb_status bytes_saw(lb_lance_writer *w, lw_column *c, bool null, lb_error *err)
{
    bool *saw = null ? &c->saw_null : &c->saw_empty, fixed = lw_is_nullable_fixed(w, c);
    if (*saw)
        return LB_OK;
    *saw = true;
    if (fixed ? null == (c->field->nullable != 0) : c->saw_null != c->saw_empty)
        return LB_OK;
    if (fixed)
        return null_met(w, c, 0, null ? "a null, but is not nullable" : "an empty value, which would read as null",
                        err);
    return null_met(w, c, 0, null ? "a null, and empty values beside it" : "an empty value, and nulls beside it", err);
}

/* Offsets of a run's values, from `at` on; *loose: a null has bytes that must not be written. */
static lb_status bytes_offsets(lb_lance_writer *w, lw_column *c, const lw_run *r, uint64_t *at, bool *loose,
                               lb_error *err)
{
    bool nulls = run_has_nulls(r);
    *loose = false;
    for (int64_t i = 0; i < r->count; i++) {
        bool null = nulls && lb_view_is_null(r->view, r->first + i);
        int64_t size =
            r->view == NULL ? 0 : bytes_offset(r->view, r->first + i + 1) - bytes_offset(r->view, r->first + i);
        if (size < 0)
            return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "an Arrow array of text has offsets that go backwards");
        *loose = *loose || (null && size != 0);
        size = null ? 0 : size;
        if (size == 0 && r->view != NULL)
            LB_TRY(bytes_saw(w, c, null, err));
        *at += (uint64_t)size;
        lb_buf_put(&w->scratch, at, sizeof *at);
    }
    return LB_OK;
}

static lb_status bytes_values(lb_lance_writer *w, const lw_run *r, bool loose, lb_error *err)
{
    if (r->view == NULL)
        return LB_OK;
    for (int64_t i = 0; loose && i < r->count; i++) {
        lb_str value = lb_view_bytes(r->view, r->first + i);
        if (!lb_view_is_null(r->view, r->first + i))
            LB_TRY(put(w, value.at, value.size, err));
    }
    int64_t from = bytes_offset(r->view, r->first), to = bytes_offset(r->view, r->first + r->count);
    return loose ? LB_OK : put(w, r->view->buffer_views[2].data.as_uint8 + from, (size_t)(to - from), err);
}

static lb_status put_bytes(lb_lance_writer *w, lw_column *c, const lw_run *runs, size_t n, lb_error *err)
{
    int64_t total = runs_total(runs, n);
    uint64_t at = w->sink.at;
    w->scratch.size = 0;
    LB_TRY(lb_buf_reserve(&w->scratch, ((size_t)total + 1) * sizeof at, err));
    lb_buf_put(&w->scratch, &at, sizeof at);
    for (size_t i = 0; i < n; i++) {
        bool loose;
        LB_TRY(bytes_offsets(w, c, &runs[i], &at, &loose, err));
        LB_TRY(bytes_values(w, &runs[i], loose, err));
        if (valid_wanted(w, &c->valid[0]))
            LB_TRY(valid_add_run(&c->valid[0], &runs[i], err));
    }
    LB_TRY(put_page(w, c, w->sink.at, total, err));
    return put(w, w->scratch.data, w->scratch.size, err);
}

/* ---------------------------------------------------------------- dictionaries */

static lb_str keys_value(const lw_column *c, const struct ArrowArrayView *values, int64_t i)
{
    size_t width = c->dictionary.width;
    if (width == 0)
        return lb_view_bytes(values, i);
    return (lb_str){ values->buffer_views[1].data.as_char + (size_t)(values->offset + i) * width, width };
}

/* Numbers that the values of a batch's dictionary have in ours. The first dictionary is taken over as it is. */
static lb_status keys_translate(lw_column *c, const struct ArrowArrayView *values, lb_error *err)
{
    bool first = c->dictionary.count == 0;
    c->numbers.size = 0;
    LB_TRY(lb_buf_reserve(&c->numbers, (size_t)values->length * sizeof(int64_t), err));
    for (int64_t i = 0; i < values->length; i++) {
        uint64_t number = 0;
        int64_t signed_number = -1;
        if (!lb_view_is_null(values, i)) {
            lb_str value = keys_value(c, values, i);
            if (first)
                LB_TRY(lw_dictionary_add(&c->dictionary, value, err));
            number = c->dictionary.count - 1;
            if (!first)
                LB_TRY(lw_dictionary_number(&c->dictionary, value, &number, err));
            signed_number = (int64_t)number;
        }
        lb_buf_put(&c->numbers, &signed_number, sizeof signed_number);
    }
    return LB_OK;
}

/* Number of one value in our dictionary; -1: null. */
static lb_status keys_number(lw_column *c, const lw_run *r, int64_t i, int64_t *number, lb_error *err)
{
    uint64_t found = 0;
    *number = -1;
    if (lb_view_is_null(r->view, r->first + i))
        return LB_OK;
    if (c->decoded) {
        LB_TRY(lw_dictionary_number(&c->dictionary, keys_value(c, r->view, r->first + i), &found, err));
        *number = (int64_t)found;
        return LB_OK;
    }
    int64_t key = lb_view_dictionary_index(r->view, r->first + i);
    if (key < 0)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a key points outside its dictionary");
    *number = ((const int64_t *)(const void *)c->numbers.data)[key];
    return LB_OK;
}

static lb_status keys_ready(lb_lance_writer *w, lw_column *c, const struct ArrowArrayView *view, lb_error *err)
{
    if (c->decoded || (c->translated == w->serial && c->translated_from == view->dictionary))
        return LB_OK;
    c->translated = 0;
    LB_TRY(keys_translate(c, view->dictionary, err));
    c->translated = w->serial;
    c->translated_from = view->dictionary;
    return LB_OK;
}

static lb_status put_key_run(lb_lance_writer *w, lw_column *c, const lw_run *r, lb_error *err)
{
    if (r->view == NULL && valid_wanted(w, &c->valid[0]))
        LB_TRY(valid_add_ones(&c->valid[0], (uint64_t)r->count, err));
    if (r->view == NULL)
        return put_zeros(w, (uint64_t)r->count * c->width, err);
    LB_TRY(keys_ready(w, c, r->view, err));
    for (int64_t i = 0; i < r->count; i++) {
        int64_t number;
        LB_TRY(keys_number(c, r, i, &number, err));
        if (number < 0)
            LB_TRY(null_met(w, c, 0, "a null", err));
        if (valid_wanted(w, &c->valid[0]))
            LB_TRY(valid_add_one(&c->valid[0], number >= 0, err));
        uint64_t key = number < 0 ? 0 : (uint64_t)number;
        LB_TRY(put(w, &key, c->width, err));
    }
    return LB_OK;
}

static lb_status put_keys(lb_lance_writer *w, lw_column *c, const lw_run *runs, size_t n, lb_error *err)
{
    LB_TRY(put_page(w, c, w->sink.at, runs_total(runs, n), err));
    for (size_t i = 0; i < n; i++)
        LB_TRY(put_key_run(w, c, &runs[i], err));
    return LB_OK;
}

/* ---------------------------------------------------------------- lists */

static lb_status list_offset(const lw_column *c, uint64_t items, lb_buf *out, lb_error *err)
{
    int32_t small = (int32_t)items;
    if (!c->large && items > INT32_MAX)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                       "a group of rows has more than %d list items; make groups smaller", INT32_MAX);
    lb_buf_put(out, c->large ? (const void *)&items : (const void *)&small, c->large ? sizeof items : sizeof small);
    return LB_OK;
}

static lb_status list_run(const lw_column *c, const lw_run *r, uint64_t *items, lb_buf *inner, lb_buf *offsets,
                          lb_error *err)
{
    for (int64_t i = 0; i < r->count; i++) {
        int64_t start = 0, count = 0;
        if (r->view != NULL && !lb_view_is_null(r->view, r->first + i) &&
            !lb_view_list(r->view, r->first + i, &start, &count))
            return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "an Arrow list points outside its items");
        if (count != 0)
            LB_TRY(runs_add(inner, r->view->children[0], start, count, err));
        *items += (uint64_t)count;
        LB_TRY(list_offset(c, *items, offsets, err));
    }
    return LB_OK;
}

static lb_status put_list_with(lb_lance_writer *w, size_t column, const lw_run *runs, size_t n, lb_buf *inner,
                               lb_buf *offsets, lb_error *err)
{
    lw_column *c = &w->columns[column];
    int64_t total = runs_total(runs, n);
    uint64_t items = 0;
    LB_TRY(note_nulls(w, c, 0, runs, n, err));
    LB_TRY(lb_buf_reserve(offsets, ((size_t)total + 1) * (c->large ? 8 : 4), err));
    LB_TRY(list_offset(c, 0, offsets, err));
    for (size_t i = 0; i < n; i++)
        LB_TRY(list_run(c, &runs[i], &items, inner, offsets, err));
    LB_TRY(put_page(w, c, w->sink.at, total + 1, err));
    LB_TRY(put(w, offsets->data, offsets->size, err));
    return lw_put_column(w, column + 1, (const lw_run *)(const void *)inner->data, inner->size / sizeof(lw_run), err);
}

static lb_status put_list(lb_lance_writer *w, size_t column, const lw_run *runs, size_t n, lb_error *err)
{
    lb_buf inner, offsets;
    lb_buf_init(&inner, &w->cx->budget);
    lb_buf_init(&offsets, &w->cx->budget);
    lb_status s = put_list_with(w, column, runs, n, &inner, &offsets, err);
    lb_buf_free(&inner);
    lb_buf_free(&offsets);
    return s;
}

/* ---------------------------------------------------------------- structs, and all of them */

static lb_status put_struct(lb_lance_writer *w, size_t column, const lw_run *runs, size_t n, lb_error *err)
{
    lw_column *c = &w->columns[column];
    lb_status s = note_nulls(w, c, 0, runs, n, err);
    if (s == LB_OK)
        s = put_page(w, c, 0, 0, err);
    size_t at = column + 1;
    for (int64_t i = 0; i < c->schema->n_children && s == LB_OK; i++) {
        lb_buf inner;
        lb_buf_init(&inner, &w->cx->budget);
        s = runs_inside(runs, n, (size_t)i, 1, &inner, err);
        if (s == LB_OK)
            s = lw_put_column(w, at, (const lw_run *)(const void *)inner.data, inner.size / sizeof(lw_run), err);
        lb_buf_free(&inner);
        at += 1 + w->columns[at].n_inside;
    }
    return s;
}

/* Every level ends its group here, also where nothing was kept of it. */
static lb_status column_end_group(const lb_lance_writer *w, lw_column *c, lb_error *err)
{
    for (unsigned level = 0; !w->dry && level <= c->levels; level++)
        LB_TRY(lb_buf_append(&c->valid[level].groups, &c->valid[level].count, sizeof(uint64_t), err));
    return LB_OK;
}

lb_status lw_put_column(lb_lance_writer *w, size_t column, const lw_run *runs, size_t n_runs, lb_error *err)
{
    lw_column *c = &w->columns[column];
    lb_status s = LB_OK;
    switch (c->kind) {
    case LW_FIXED:
    case LW_BITS:
        s = put_page(w, c, w->sink.at, runs_total(runs, n_runs), err);
        if (s == LB_OK)
            s = put_fixed(w, c, 0, runs, n_runs, err);
        break;
    case LW_BYTES:
        s = put_bytes(w, c, runs, n_runs, err);
        break;
    case LW_KEYS:
        s = put_keys(w, c, runs, n_runs, err);
        break;
    case LW_LIST:
        s = put_list(w, column, runs, n_runs, err);
        break;
    case LW_STRUCT:
        s = put_struct(w, column, runs, n_runs, err);
        break;
    case LW_NULL:
        s = put_page(w, c, w->sink.at, runs_total(runs, n_runs), err);
        break;
    }
    return s == LB_OK ? column_end_group(w, c, err) : s;
}
