#include "lance/lance_fit.h"

#include "column/values.h"
#include "format/lance/lance_read.h"
#include "lance/lance_change.h"

/* The place behind a field and everything inside it; parents stand before their children. */
static size_t fit_subtree_end(const lb_lance_manifest *pb, size_t at)
{
    size_t end = at + 1;
    while (end < pb->n_fields && pb->fields[end]->parent_id != -1)
        end++;
    return end;
}

static bool fit_is_companion(const lb_lance_fit *fit, int32_t id)
{
    for (size_t i = 0; i < fit->companions.count; i++)
        if (fit->companions.items[i].field == id)
            return true;
    return false;
}

static lb_status fit_schema(lb_lance_fit *fit, const lb_lance_manifest *pb, lb_error *err)
{
    const lb_lance_tree *tree = &fit->tree;
    struct ArrowSchema *out = &fit->schema;
    int64_t n = 0;
    for (size_t i = 0; i < tree->n_columns; i++)
        n += !fit_is_companion(fit, tree->columns[i]->id);
    LB_TRY(lb_schema_struct(out, n, err));
    fit->fields.items = lb_arena_alloc(&fit->work->arena, LB_MAX(pb->n_fields, 1), sizeof *fit->fields.items);
    if (fit->fields.items == NULL)
        return lb_arena_fail(&fit->work->arena, err);
    n = 0;
    for (size_t i = 0; i < tree->n_columns; i++) {
        const lb_lance_node *node = tree->columns[i];
        struct ArrowSchema child = { .release = NULL };
        if (fit_is_companion(fit, node->id))
            continue;
        LB_TRY(lb_lance_node_schema(node, &child, err));
        out->children[n]->release(out->children[n]);
        ArrowSchemaMove(&child, out->children[n++]);
        for (size_t at = node->index, end = fit_subtree_end(pb, at); at < end; at++) {
            lb_lance_field *copy = lb_arena_dup(&fit->work->arena, pb->fields[at], sizeof *copy);
            if (copy == NULL) /* the writer changes it */
                return lb_arena_fail(&fit->work->arena, err);
            fit->fields.items[fit->fields.count++] = copy;
        }
    }
    return LB_OK;
}

/* Types without what may differ: nullability, metadata. */
static bool fit_same_type(const struct ArrowSchema *a, const struct ArrowSchema *b, int depth)
{
    if (depth > LB_TYPE_DEPTH || strcmp(a->format, b->format) != 0 || a->n_children != b->n_children ||
        (a->dictionary == NULL) != (b->dictionary == NULL))
        return false;
    for (int64_t i = 0; i < a->n_children; i++)
        if (!fit_same_type(a->children[i], b->children[i], depth + 1))
            return false;
    return true;
}

static const struct ArrowSchema *fit_find(const struct ArrowSchema *s, const char *name)
{
    for (int64_t i = 0; i < s->n_children; i++)
        if (s->children[i]->name != NULL && strcmp(s->children[i]->name, name) == 0)
            return s->children[i];
    return NULL;
}

static lb_status fit_column(const struct ArrowSchema *have, const struct ArrowSchema *want, lb_error *err)
{
    struct ArrowSchema met = { .release = NULL };
    lb_column_side a = { .field = want }, b = { .field = have };
    bool fits = false;
    LB_TRY(lb_types_meet(&a, &b, &met, &fits, err));
    if (fits) {
        struct ArrowSchema plain;
        lb_status s = lb_schema_plain(want, &plain, err);
        fits = s == LB_OK && fit_same_type(&met, &plain, 0);
        met.release(&met);
        if (s != LB_OK)
            return s;
        plain.release(&plain);
    }
    if (fits)
        return LB_OK;
    lb_buf x, y;
    lb_buf_init(&x, NULL);
    lb_buf_init(&y, NULL);
    lb_status s = lb_type_words(have, false, &x, err);
    if (s == LB_OK)
        s = lb_type_words(want, false, &y, err);
    if (s == LB_OK)
        s = lb_fail(err, LB_USAGE, LB_NOWHERE, "column '%.100s' is %.150s, the dataset has %.150s", want->name,
                    lb_buf_text(&x), lb_buf_text(&y));
    lb_buf_free(&x);
    lb_buf_free(&y);
    return s;
}

lb_status lb_lance_fit_check(const lb_lance_fit *fit, const struct ArrowSchema *from, lb_error *err)
{
    const struct ArrowSchema *to = &fit->schema;
    for (int64_t i = 0; i < to->n_children; i++) {
        const struct ArrowSchema *have = fit_find(from, to->children[i]->name);
        if (have == NULL)
            return lb_fail(err, LB_USAGE, LB_NOWHERE, "column '%.200s' of the dataset is missing",
                           to->children[i]->name);
        LB_TRY(fit_column(have, to->children[i], err));
    }
    for (int64_t i = 0; i < from->n_children; i++) {
        const char *name = from->children[i]->name == NULL ? "" : from->children[i]->name;
        if (fit_find(to, name) != NULL)
            continue;
        lb_fail(err, LB_USAGE, LB_NOWHERE, "the dataset has no column '%.200s'", name);
        lb_fail_hint(err, "`lakebed lance add-columns` adds columns");
        return LB_USAGE;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- the writer */

/* Dictionaries that the dataset has go on. */
static lb_status fit_dictionaries(lb_lance_fit *fit, const lb_lance_snapshot *base, lb_error *err)
{
    lb_store *store;
    LB_TRY(lb_store_open_memory(base->dictionaries.at, base->dictionaries.size, &store, err));
    lb_status s = LB_OK;
    for (size_t i = 0; i < fit->fields.count && s == LB_OK; i++) {
        const lb_lance_field *f = fit->fields.items[i];
        lb_lance_dictionary d;
        if (f->dictionary == NULL)
            continue;
        s = lb_lance_dictionary_load(lb_lance_tree_find(&fit->tree, f->id), f, store, store->size, &fit->work->arena,
                                     &d, err);
        if (s == LB_OK)
            s = lb_lance_writer_set_dictionary(fit->writer, i, d.count, d.ends, d.data, err);
    }
    lb_store_close(store);
    return s;
}

/* Companions that the dataset has go on telling, in every file. */
static lb_status fit_companions(lb_lance_fit *fit, const lb_lance_manifest *pb, lb_error *err)
{
    for (size_t i = 0; i < fit->companions.count; i++) {
        size_t at = 0;
        while (at < pb->n_fields && pb->fields[at]->id != fit->companions.items[i].field)
            at++;
        if (at == pb->n_fields) /* somebody dropped the column: nothing tells any more */
            continue;
        LB_TRY(lb_lance_writer_keep(fit->writer, &fit->companions.items[i], &pb->fields[at],
                                    fit_subtree_end(pb, at) - at, err));
    }
    return LB_OK;
}

lb_status lb_lance_fit_open(lb_lance_fit *fit, lb_lance_work *work, const lb_lance_snapshot *base, lb_error *err)
{
    const lb_lance_manifest *pb = base->m.pb;
    lb_str list;
    *fit = (lb_lance_fit){ .work = work };
    if (lb_lance_entry_get(pb->metadata, pb->n_metadata, LB_LANCE_META_NULLS, &list))
        LB_TRY(lb_lance_companions_parse(list, &work->arena, &fit->companions, err));
    LB_TRY(lb_lance_tree_make(pb->fields, pb->n_fields, &work->arena, &fit->tree, err));
    fit->next_id = lb_lance_next_field_id(pb);
    return fit_schema(fit, pb, err);
}

lb_status lb_lance_fit_writer(lb_lance_fit *fit, const lb_lance_snapshot *base, lb_lance_nulls nulls,
                              lb_lance_entry **metadata, size_t n_metadata, lb_error *err)
{
    lb_lance_writer_options o = {
        .nulls = nulls, .fixed_nullable = true, .metadata = metadata, .n_metadata = n_metadata
    };
    LB_TRY(lb_lance_writer_new(fit->work->cx, &fit->schema, &fit->fields, &o, &fit->writer, err));
    LB_TRY(fit_dictionaries(fit, base, err));
    return fit_companions(fit, base->m.pb, err);
}

void lb_lance_fit_close(lb_lance_fit *fit)
{
    lb_lance_writer_free(fit->writer);
    fit->writer = NULL;
    if (fit->schema.release != NULL)
        fit->schema.release(&fit->schema);
}
