#include "lance/lance_drift.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/names.h"

typedef struct drift {
    lb_arena arena;
    lb_manifest was, is;
    lb_names fragments;                                 /* of `is`: id and first file, to the place */
    uint64_t added, added_rows, gone, deleted, widened; /* fragments */
    bool rows_known, in_place;                          /* rows of added ones; those that stand are the first ones */
    uint64_t columns_added, columns_gone, columns_changed;
    bool indices_changed;
} drift;

/* ---------------------------------------------------------------- words */

__attribute__((format(printf, 2, 3))) static void drift_say(lb_lance_drift *out, const char *fmt, ...)
{
    size_t at = strlen(out->words);
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(out->words + at, sizeof out->words - at, fmt, ap);
    va_end(ap);
}

/* ", 2 fragments added"; nothing for none. */
static void drift_say_count(lb_lance_drift *out, uint64_t n, const char *before, const char *what, const char *after)
{
    if (n != 0)
        drift_say(out, "%s%s%llu %s%s%s", strchr(out->words, ':') == NULL ? ": " : ", ", before, (unsigned long long)n,
                  what, n == 1 ? "" : "s", after);
}

static void drift_words(const drift *d, lb_lance_drift *out)
{
    char rows[48] = " added";

    if (d->rows_known && d->added != 0)
        (void)snprintf(rows, sizeof rows, " added (%llu row%s)", (unsigned long long)d->added_rows,
                       d->added_rows == 1 ? "" : "s");
    drift_say_count(out, d->added, "", "fragment", rows);
    drift_say_count(out, d->deleted, "rows deleted in ", "fragment", "");
    drift_say_count(out, d->gone, "", "fragment", " gone");
    drift_say_count(out, d->columns_added, "", "column", " added");
    drift_say_count(out, d->columns_gone, "", "column", " gone");
    drift_say_count(out, d->columns_changed, "", "column", " changed");
    if (strchr(out->words, ':') == NULL)
        drift_say(out, "%s", d->indices_changed ? ": the same rows, other indices" : ": the same rows");
}

/* ---------------------------------------------------------------- fragments */

/* Key of a fragment: its id and first file. */
static lb_status drift_key(drift *d, const lb_lance_fragment *f, lb_str *out, lb_error *err)
{
    lb_str file = f->n_files == 0 ? (lb_str){ "", 0 } : lb_lance_str(f->files[0]->path);
    char *key = lb_arena_alloc(&d->arena, sizeof f->id + file.size, 1);

    if (key == NULL)
        return lb_arena_fail(&d->arena, err);
    memcpy(key, &f->id, sizeof f->id);
    memcpy(key + sizeof f->id, file.at, file.size);
    *out = (lb_str){ key, sizeof f->id + file.size };
    return LB_OK;
}

static bool drift_same_deletions(const lb_lance_fragment *a, const lb_lance_fragment *b)
{
    const lb_lance_deletion_file *x = a->deletion_file, *y = b->deletion_file;

    if (x == NULL || y == NULL)
        return x == y;
    return x->id == y->id && x->read_version == y->read_version && x->file_type == y->file_type;
}

static bool drift_same_files(const lb_lance_fragment *a, const lb_lance_fragment *b)
{
    bool same = a->n_files == b->n_files;

    for (size_t i = 0; same && i < a->n_files; i++)
        same = lb_str_equal(lb_lance_str(a->files[i]->path), lb_lance_str(b->files[i]->path));
    return same;
}

static lb_status drift_stand(drift *d, size_t place, bool *stands, lb_error *err)
{
    const lb_lance_fragment *f = d->was.pb->fragments[place];
    lb_str key = { "", 0 };

    LB_TRY(drift_key(d, f, &key, err));
    uint64_t *at = lb_names_find(&d->fragments, key);
    *stands = at != NULL && *at != UINT64_MAX;
    if (!*stands) {
        d->gone++;
        return LB_OK;
    }
    const lb_lance_fragment *now = d->is.pb->fragments[*at];
    d->in_place &= *at == place;
    d->deleted += !drift_same_deletions(f, now);
    d->widened += !drift_same_files(f, now);
    *at = UINT64_MAX; /* it is no new one */
    return LB_OK;
}

static lb_status drift_fragments(drift *d, uint64_t *standing, lb_error *err)
{
    d->rows_known = d->is.pb->writer_version != NULL;
    d->in_place = true;
    for (size_t i = 0; i < d->is.pb->n_fragments; i++) {
        lb_str key = { "", 0 };
        LB_TRY(drift_key(d, d->is.pb->fragments[i], &key, err));
        LB_TRY(lb_names_add(&d->fragments, key, i, NULL, err));
    }
    for (size_t i = 0; i < d->was.pb->n_fragments; i++) {
        bool stands;
        LB_TRY(drift_stand(d, i, &stands, err));
        *standing += stands;
    }
    for (size_t i = 0; i < d->is.pb->n_fragments; i++) {
        const lb_lance_fragment *f = d->is.pb->fragments[i];
        lb_str key = { "", 0 };
        LB_TRY(drift_key(d, f, &key, err));
        const uint64_t *at = lb_names_find(&d->fragments, key);
        if (at == NULL || *at != i)
            continue;
        d->added++;
        d->rows_known &= f->physical_rows != 0;
        (void)__builtin_add_overflow(d->added_rows, f->physical_rows, &d->added_rows);
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- columns and indices */

static const lb_lance_field *drift_field(const lb_manifest *m, int32_t id)
{
    for (size_t i = 0; i < m->pb->n_fields; i++)
        if (m->pb->fields[i]->id == id)
            return m->pb->fields[i];
    return NULL;
}

/* Columns are told by their first fields; what changed inside one is a change of it. */
static void drift_columns(drift *d)
{
    for (size_t i = 0; i < d->was.pb->n_fields; i++) {
        const lb_lance_field *f = d->was.pb->fields[i], *now = drift_field(&d->is, f->id);
        if (now == NULL)
            d->columns_gone += f->parent_id == -1;
        else if (!lb_str_equal(lb_lance_str(f->name), lb_lance_str(now->name)) ||
                 !lb_str_equal(lb_lance_str(f->logical_type), lb_lance_str(now->logical_type)) ||
                 f->nullable != now->nullable || f->parent_id != now->parent_id)
            d->columns_changed++;
    }
    for (size_t i = 0; i < d->is.pb->n_fields; i++)
        if (drift_field(&d->was, d->is.pb->fields[i]->id) == NULL)
            d->columns_added += d->is.pb->fields[i]->parent_id == -1;
}

static void drift_indices(drift *d)
{
    size_t a = d->was.indices == NULL ? 0 : d->was.indices->n_indices,
           b = d->is.indices == NULL ? 0 : d->is.indices->n_indices;

    d->indices_changed = a != b;
    for (size_t i = 0; !d->indices_changed && i < a; i++)
        d->indices_changed = !lb_str_equal(lb_lance_str(d->was.indices->indices[i]->uuid->uuid),
                                           lb_lance_str(d->is.indices->indices[i]->uuid->uuid));
}

/* ---------------------------------------------------------------- the version that was mapped */

/* Are the bytes those of the entry? By size and time, or by the digests that the map keeps. */
static lb_status drift_is_mapped(lb_store *store, const lb_entry *e, bool *same, lb_error *err)
{
    const lb_digests *g = &e->digests;
    lb_file_stat now;
    uint8_t found[LB_XXH3_SIZE];
    size_t got;

    *same = store->size == e->size_bytes;
    LB_TRY(lb_store_stat(store, &now, err));
    if (!*same || now.mtime_ns == e->mtime_ns)
        return LB_OK;
    lb_xxh3 *hash = lb_xxh3_new();
    if (hash == NULL)
        return lb_fail_nomem(err);
    lb_status status = LB_OK;
    lb_buf bytes;
    lb_buf_init(&bytes, NULL);
    *same = g->count != 0 && g->xxh3 != NULL;
    for (uint64_t i = 0; status == LB_OK && *same && i < g->count; i++) {
        bytes.size = 0;
        status = lb_buf_reserve(&bytes, (size_t)LB_MIN(g->length[i], store->size), err);
        if (status == LB_OK)
            status = lb_store_read(store, g->first_byte[i], bytes.data, (size_t)LB_MIN(g->length[i], store->size), &got,
                                   err);
        if (status != LB_OK)
            break;
        lb_xxh3_reset(hash);
        lb_xxh3_update(hash, bytes.data, got);
        lb_xxh3_digest(hash, found);
        *same = memcmp(found, g->xxh3 + i * LB_XXH3_SIZE, LB_XXH3_SIZE) == 0;
    }
    lb_buf_free(&bytes);
    lb_xxh3_free(hash);
    return status;
}

static lb_status drift_open(const char *root, const lb_version_name *newest, uint64_t version, lb_store **out,
                            lb_error *err)
{
    const lb_version_name name = { version, newest->long_name };

    return lb_version_open(root, &name, out, err);
}

/* *mapped false: that version is not there any more. */
static lb_status drift_read_former(drift *d, const char *root, const lb_version_name *newest, const lb_entry *entry,
                                   uint64_t version, bool *mapped, lb_error *err)
{
    lb_error why = LB_ERROR_INIT;
    lb_store *store = NULL;

    *mapped = false;
    lb_status status = drift_open(root, newest, version, &store, &why);
    if (status == LB_NOTFOUND)
        return LB_OK;
    if (status == LB_OK)
        status = drift_is_mapped(store, entry, mapped, &why);
    if (status == LB_OK && *mapped)
        status = lb_manifest_read(store, &d->arena, &d->was, &why);
    lb_store_close(store);
    if (status != LB_OK && err != NULL)
        *err = why;
    return status;
}

static lb_status drift_read_newest(drift *d, const char *root, const lb_version_name *newest, lb_error *err)
{
    lb_store *store = NULL;

    LB_TRY(lb_version_open(root, newest, &store, err));
    lb_status status = lb_manifest_read(store, &d->arena, &d->is, err);
    lb_store_close(store);
    return status;
}

/* ---------------------------------------------------------------- the comparison */

/* An overwrite gives out numbers of fragments from 0 again, a compaction goes on counting. */
static bool drift_begins_anew(const drift *d)
{
    uint64_t most = 0, least = UINT64_MAX;

    for (size_t i = 0; i < d->was.pb->n_fragments; i++)
        most = LB_MAX(most, d->was.pb->fragments[i]->id);
    for (size_t i = 0; i < d->is.pb->n_fragments; i++)
        least = LB_MIN(least, d->is.pb->fragments[i]->id);
    return least <= most || least == UINT64_MAX;
}

static lb_status drift_compare(drift *d, lb_lance_drift *out, lb_error *err)
{
    uint64_t standing = 0;

    LB_TRY(drift_fragments(d, &standing, err));
    drift_columns(d);
    drift_indices(d);
    bool same_columns = d->columns_added + d->columns_gone + d->columns_changed == 0;
    bool same_rows = d->gone + d->deleted + d->widened == 0 && d->in_place;
    if (standing == 0 && d->was.pb->n_fragments != 0)
        out->kind = LB_LANCE_OVERWRITTEN;
    else if (d->added != 0 && same_columns && same_rows)
        out->kind = LB_LANCE_GREW;
    if (out->kind == LB_LANCE_OVERWRITTEN)
        drift_say(out, drift_begins_anew(d) ? ": overwritten" : ": every fragment was rewritten");
    else
        drift_words(d, out);
    return LB_OK;
}

lb_status lb_lance_drift_of(lb_context *cx, const char *root, const lb_entry *entry, lb_lance_drift *out, lb_error *err)
{
    drift d = { .rows_known = false };
    lb_version_name newest;
    bool found, mapped = false;

    *out = (lb_lance_drift){ .kind = LB_LANCE_LOST };
    if (!lb_lance_entry_version(entry, &out->from))
        return LB_OK;
    LB_TRY(lb_versions_newest(root, &newest, &found, err));
    out->to = found ? newest.version : 0;
    if (out->to == out->from) {
        out->kind = LB_LANCE_SAME_VERSION;
        return LB_OK;
    }
    drift_say(out, "version %llu, was %llu", (unsigned long long)out->to, (unsigned long long)out->from);
    lb_arena_init(&d.arena, &cx->budget);
    lb_status status = LB_OK;
    if (found && out->to > out->from)
        status = drift_read_former(&d, root, &newest, entry, out->from, &mapped, err);
    if (status == LB_OK && mapped)
        status = drift_read_newest(&d, root, &newest, err);
    if (status == LB_OK && mapped) {
        out->kind = LB_LANCE_CHANGED;
        status = drift_compare(&d, out, err);
    } else if (status == LB_OK) {
        drift_say(out, ", which is not there any more");
    }
    lb_names_free(&d.fragments);
    lb_arena_free(&d.arena);
    return status;
}
