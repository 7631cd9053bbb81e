#include "lance/lance_change.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "format/lance/lance_data.h"
#include "lance/versions.h"

/* ---------------------------------------------------------------- checks */

static bool change_is_empty_folder(const char *path)
{
    DIR *dir = opendir(path);
    bool empty = dir != NULL;
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        empty = empty && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
                          strcmp(e->d_name, "data") == 0 || strcmp(e->d_name, LB_LANCE_VERSIONS) == 0);
    if (dir != NULL)
        (void)closedir(dir);
    return empty;
}

lb_status lb_lance_check_vacant(const char *path, lb_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno == ENOENT ? LB_OK : lb_fail_errno(err, errno, path, "stat");
    lb_status s = LB_OK;
    if (lb_is_dataset(path)) {
        s = lb_fail(err, LB_USAGE, LB_NOWHERE, "there is a Lance dataset already");
        lb_fail_hint(err, "`lakebed lance append` adds rows, `lakebed lance overwrite` puts other rows in their place");
    } else if (!S_ISDIR(st.st_mode)) {
        s = lb_fail(err, LB_USAGE, LB_NOWHERE, "a dataset is a folder, this is a file");
    } else if (!change_is_empty_folder(path)) {
        s = lb_fail(err, LB_USAGE, LB_NOWHERE, "the folder holds other things; a dataset needs one of its own");
    }
    lb_fail_path(err, path);
    return s;
}

static lb_status storage_check_file(lb_lance_work *work, const char *name, lb_error *err)
{
    lb_lance_footer footer;
    lb_store *store;
    const char *path = lb_lance_work_path(work, "data", name);
    if (path == NULL)
        return lb_arena_fail(&work->arena, err);
    lb_status s = lb_store_open_file(path, &store, err);
    if (s != LB_OK)
        return s;
    s = lb_lance_read_footer(store, &footer, err);
    if (s == LB_OK)
        s = lb_lance_data_check_version(&footer, err);
    if (s != LB_OK)
        lb_fail_path(err, path);
    lb_store_close(store);
    return s;
}

lb_status lb_lance_check_storage(lb_lance_work *work, const lb_lance_snapshot *s, lb_error *err)
{
    const lb_lance_manifest *pb = s->m.pb;
    lb_str version = pb->data_format == NULL ? LB_STR("") : lb_lance_str(pb->data_format->version);
    if (version.size != 0 && !lb_str_is(version, "0.1") && !lb_str_is(version, "legacy"))
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                       "the dataset stores its rows in Lance file format %.*s; only the legacy format (0.1) is written",
                       (int)LB_MIN(version.size, (size_t)20), version.at);
    for (size_t i = pb->n_fragments; i > 0; i--) { /* one look is enough: formats do not mix on purpose */
        const lb_lance_fragment *f = pb->fragments[i - 1];
        if (f->n_files == 0)
            continue;
        const char *name = lb_arena_copy(&work->arena, lb_lance_str(f->files[0]->path));
        return name == NULL ? lb_arena_fail(&work->arena, err) : storage_check_file(work, name, err);
    }
    return LB_OK;
}

static bool change_same_bytes(ProtobufCBinaryData a, ProtobufCBinaryData b)
{
    return lb_str_equal(lb_lance_str(a), lb_lance_str(b));
}

lb_status lb_lance_check_same_fields(const lb_lance_snapshot *base, const lb_lance_snapshot *newest, lb_error *err)
{
    const lb_lance_manifest *a = base->m.pb, *b = newest->m.pb;
    lb_str x = { "", 0 }, y = { "", 0 };
    bool same = a->n_fields == b->n_fields && lb_str_equal(base->dictionaries, newest->dictionaries);
    for (size_t i = 0; same && i < a->n_fields; i++) {
        const lb_lance_field *f = a->fields[i], *g = b->fields[i];
        same = f->id == g->id && f->parent_id == g->parent_id && f->nullable == g->nullable &&
               change_same_bytes(f->name, g->name) && change_same_bytes(f->logical_type, g->logical_type);
    }
    (void)lb_lance_entry_get(a->metadata, a->n_metadata, LB_LANCE_META_NULLS, &x);
    (void)lb_lance_entry_get(b->metadata, b->n_metadata, LB_LANCE_META_NULLS, &y);
    if (same && lb_str_equal(x, y))
        return LB_OK;
    lb_fail(err, LB_CONFLICT, LB_NOWHERE, "another writer changed the columns in version %llu",
            (unsigned long long)newest->newest);
    lb_fail_hint(err, "try again: the rows are then fitted to the new columns");
    return LB_CONFLICT;
}

/* ---------------------------------------------------------------- numbers */

int32_t lb_lance_next_field_id(const lb_lance_manifest *pb)
{
    int32_t most = -1;
    for (size_t i = 0; i < pb->n_fields; i++)
        most = LB_MAX(most, pb->fields[i]->id);
    for (size_t i = 0; i < pb->n_fragments; i++)
        for (size_t k = 0; k < pb->fragments[i]->n_files; k++)
            for (size_t n = 0; n < pb->fragments[i]->files[k]->n_fields; n++)
                most = LB_MAX(most, pb->fragments[i]->files[k]->fields[n]);
    return most == INT32_MAX ? most : most + 1;
}

uint64_t lb_lance_next_fragment_id(const lb_lance_manifest *pb)
{
    uint64_t next = 0;
    for (size_t i = 0; i < pb->n_fragments; i++)
        next = LB_MAX(next, pb->fragments[i]->id + 1);
    if (pb->max_fragment_id_is_case == LB_PB__MANIFEST__MAX_FRAGMENT_ID_IS_MAX_FRAGMENT_ID)
        next = LB_MAX(next, (uint64_t)pb->max_fragment_id + 1);
    return next;
}

bool lb_lance_is_modern(const lb_lance_manifest *pb)
{
    return pb->writer_version != NULL;
}

/* Releases of lance whose mistakes readers correct by the writer's name: it has to stay. */
static bool change_keeps_writer(const lb_lance_manifest *pb)
{
    char text[32];
    unsigned major = 0, minor = 0, patch = 0;
    if (pb->writer_version == NULL || !lb_str_is(lb_lance_str(pb->writer_version->library), "lance"))
        return false;
    lb_str v = lb_lance_str(pb->writer_version->version);
    lb_copy_text(text, sizeof text, v.at, v.size);
    const char *at = text;
    unsigned *const parts[] = { &major, &minor, &patch };
    for (size_t i = 0; i < LB_COUNT_OF(parts); i++) {
        for (; *at >= '0' && *at <= '9' && *parts[i] < 100000; at++)
            *parts[i] = *parts[i] * 10 + (unsigned)(*at - '0');
        at += *at == '.';
    }
    return major == 0 && (minor < 8 || (minor == 8 && patch <= 14));
}

static lb_status change_sign(lb_lance_snapshot *s, lb_error *err)
{
    lb_lance_manifest *pb = s->m.pb;
    if (change_keeps_writer(pb))
        return LB_OK;
    LbPb__WriterVersion *w = lb_arena_alloc(&s->arena, 1, sizeof *w);
    if (w == NULL)
        return lb_arena_fail(&s->arena, err);
    lb_pb__writer_version__init(w);
    w->library = lb_lance_bytes(LB_STR("lakebed"));
    w->version = lb_lance_bytes(lb_str_of(lb_version()));
    pb->writer_version = w;
    return LB_OK;
}

/* The largest fragment id ever, where the manifest says it or is to say it. */
static lb_status change_max_fragment(lb_lance_manifest *pb, bool modern, lb_error *err)
{
    uint64_t next = lb_lance_next_fragment_id(pb);
    if (next > UINT32_MAX)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "there is no further fragment number");
    if (next == 0 || (!modern && pb->max_fragment_id_is_case == LB_PB__MANIFEST__MAX_FRAGMENT_ID_IS__NOT_SET))
        return LB_OK;
    pb->max_fragment_id_is_case = LB_PB__MANIFEST__MAX_FRAGMENT_ID_IS_MAX_FRAGMENT_ID;
    pb->max_fragment_id = (uint32_t)(next - 1);
    return LB_OK;
}

static lb_status change_count(lb_lance_work *work, lb_lance_fragment *f, lb_error *err)
{
    lb_store *store;
    const char *name = f->n_files == 0 ? "" : lb_arena_copy(&work->arena, lb_lance_str(f->files[0]->path));
    const char *path = name == NULL ? NULL : lb_lance_work_path(work, "data", name);
    if (path == NULL)
        return lb_arena_fail(&work->arena, err);
    LB_TRY(lb_store_open_file(path, &store, err));
    lb_status s = lb_lance_data_count(store, &work->cx->budget, &f->physical_rows, err);
    if (s != LB_OK)
        lb_fail_path(err, path);
    lb_store_close(store);
    return s;
}

lb_status lb_lance_make_modern(lb_lance_work *work, lb_lance_snapshot *s, lb_error *err)
{
    lb_lance_manifest *pb = s->m.pb;
    bool trusted = pb->writer_version != NULL;
    for (size_t i = 0; i < pb->n_fragments; i++)
        if (!trusted || pb->fragments[i]->physical_rows == 0)
            LB_TRY(change_count(work, pb->fragments[i], err));
    LB_TRY(change_sign(s, err));
    return change_max_fragment(pb, true, err);
}

/* ---------------------------------------------------------------- changes */

lb_status lb_lance_add_fragments(lb_lance_snapshot *s, const lb_lance_new_files *files, bool modern, lb_error *err)
{
    lb_lance_manifest *pb = s->m.pb;
    uint64_t id = lb_lance_next_fragment_id(pb);
    lb_lance_fragment **all = lb_arena_alloc(&s->arena, LB_MAX(pb->n_fragments + files->count, 1), sizeof *all);
    if (all == NULL)
        return lb_arena_fail(&s->arena, err);
    if (pb->n_fragments != 0)
        memcpy(all, pb->fragments, pb->n_fragments * sizeof *all);
    for (size_t i = 0; i < files->count; i++) {
        lb_lance_fragment *f = lb_lance_fragment_new(&s->arena, id + i, &files->items[i]);
        if (f == NULL)
            return lb_arena_fail(&s->arena, err);
        f->physical_rows = modern ? files->items[i].rows : 0;
        all[pb->n_fragments + i] = f;
    }
    pb->fragments = all;
    pb->n_fragments += files->count;
    if (modern)
        LB_TRY(change_sign(s, err));
    return change_max_fragment(pb, modern, err);
}

lb_status lb_lance_forget_rows(lb_lance_snapshot *s, lb_error *err)
{
    lb_lance_manifest *old = s->m.pb, *pb = lb_arena_alloc(&s->arena, 1, sizeof *pb);
    if (pb == NULL)
        return lb_arena_fail(&s->arena, err);
    lb_pb__manifest__init(pb);
    pb->version = old->version;
    pb->writer_version = old->writer_version;
    pb->data_format = old->data_format;
    pb->reader_feature_flags = old->reader_feature_flags;
    pb->writer_feature_flags = old->writer_feature_flags;
    pb->config = old->config;
    pb->n_config = old->n_config;
    pb->table_metadata = old->table_metadata;
    pb->n_table_metadata = old->n_table_metadata;
    pb->branch_is_case = old->branch_is_case;
    pb->branch = old->branch;
    pb->base.n_unknown_fields = old->base.n_unknown_fields;
    pb->base.unknown_fields = old->base.unknown_fields;
    s->m.pb = pb;
    s->m.indices = NULL;
    s->dictionaries = (lb_str){ "", 0 };
    return LB_OK;
}

lb_lance_index_section *lb_lance_no_indices(lb_arena *arena)
{
    lb_lance_index_section *section = lb_arena_alloc(arena, 1, sizeof *section);
    if (section != NULL)
        lb_pb__index_section__init(section);
    return section;
}

/* Set a key of the schema metadata, or take it away (value.at NULL). */
static lb_status change_metadata(lb_lance_snapshot *s, lb_str key, lb_str value, lb_error *err)
{
    lb_lance_manifest *pb = s->m.pb;
    lb_lance_entry **all = lb_arena_alloc(&s->arena, pb->n_metadata + 1, sizeof *all);
    size_t n = 0;
    if (all == NULL)
        return lb_arena_fail(&s->arena, err);
    for (size_t i = 0; i < pb->n_metadata; i++)
        if (!lb_str_equal(lb_lance_str(pb->metadata[i]->key), key))
            all[n++] = pb->metadata[i];
    if (value.at != NULL && (all[n++] = lb_lance_entry_new(&s->arena, key, value)) == NULL)
        return lb_arena_fail(&s->arena, err);
    pb->metadata = all;
    pb->n_metadata = n;
    return LB_OK;
}

lb_status lb_lance_set_companions(lb_lance_snapshot *s, const lb_lance_companions *list, lb_error *err)
{
    lb_buf text;
    lb_buf_init(&text, NULL);
    lb_status status = lb_lance_companions_print(list, &text, err);
    if (status == LB_OK)
        status = change_metadata(s, LB_STR(LB_LANCE_META_NULLS), (lb_str){ (char *)text.data, text.size }, err);
    lb_buf_free(&text);
    return status;
}

lb_status lb_lance_apply_metadata(lb_lance_snapshot *s, const lb_lance_options *options, lb_error *err)
{
    for (size_t i = 0; i < options->n_metadata; i++)
        LB_TRY(change_metadata(s, lb_str_of(options->metadata[i].key),
                               (lb_str){ options->metadata[i].value, options->metadata[i].size }, err));
    return LB_OK;
}

lb_lance_note lb_lance_note_of(const lb_lance_options *options)
{
    return (lb_lance_note){
        .timestamp_ns = options->timestamp_ns, .tag = options->tag, .aux = options->aux, .n_aux = options->n_aux
    };
}
