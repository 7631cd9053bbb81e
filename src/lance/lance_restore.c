/* Versions made of versions: restore, and the same rows with other words (metadata, auxiliary data, tags). */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lance/lance_change.h"
#include "lance/versions.h"

static const lb_lance_options restore_defaults = { .struct_size = sizeof restore_defaults };

typedef struct restore_state {
    const lb_lance_options *options;
    lb_lance_snapshot *from; /* NULL: the newest stays */
} restore_state;

static lb_status restore_change(void *user, lb_lance_snapshot *newest, lb_error *err)
{
    const restore_state *st = user;
    if (st->from != NULL) {
        uint64_t next = lb_lance_next_fragment_id(newest->m.pb);
        newest->m = st->from->m;
        newest->dictionaries = st->from->dictionaries;
        lb_lance_manifest *pb = newest->m.pb;
        if (pb->max_fragment_id_is_case == LB_PB__MANIFEST__MAX_FRAGMENT_ID_IS_MAX_FRAGMENT_ID && next > 0)
            pb->max_fragment_id = LB_MAX(pb->max_fragment_id, (uint32_t)(next - 1));
    }
    return lb_lance_apply_metadata(newest, st->options, err);
}

static lb_status restore_find(lb_lance_work *work, const char *spec, lb_lance_snapshot *out, lb_error *err)
{
    lb_version_name name;
    LB_TRY(lb_version_find(work->cx, work->root, spec, &name, err));
    LB_TRY(lb_lance_snapshot_take(work, name.version, out, err));
    lb_status s = lb_lance_check_writable(&out->m, err);
    if (s != LB_OK)
        lb_lance_snapshot_free(out);
    return s;
}

static lb_status restore_call(lb_context *cx, const char *path, const char *spec, const lb_lance_options *options,
                              lb_lance_result *out, lb_error *err)
{
    lb_lance_work work;
    lb_lance_snapshot from;
    lb_lance_result result = { .struct_size = sizeof result };
    restore_state st = { .options = options == NULL ? &restore_defaults : options };
    lb_lance_note note = lb_lance_note_of(st.options);
    lb_error_clear(err);
    LB_TRY(lb_lance_work_open(&work, cx, path, false, err));
    lb_status s = spec == NULL ? LB_OK : restore_find(&work, spec, &from, err);
    if (s == LB_OK) {
        st.from = spec == NULL ? NULL : &from;
        s = lb_lance_commit(&work, restore_change, &st, &note, &result.version, err);
        if (st.from != NULL)
            lb_lance_snapshot_free(&from);
    }
    if (s != LB_OK)
        lb_fail_path(err, path);
    lb_lance_work_close(&work);
    if (out != NULL)
        *out = result;
    return s;
}

lb_status lb_lance_restore(lb_context *cx, const char *path, const char *spec, const lb_lance_options *options,
                           lb_lance_result *out, lb_error *err)
{
    if (spec == NULL) {
        lb_error_clear(err);
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "say which version is to come back");
    }
    return restore_call(cx, path, spec, options, out, err);
}

lb_status lb_lance_annotate(lb_context *cx, const char *path, const lb_lance_options *options, lb_lance_result *out,
                            lb_error *err)
{
    return restore_call(cx, path, NULL, options, out, err);
}

/* ---------------------------------------------------------------- tags */

#define TAG_MOST 100

static lb_status tag_check(const char *tag, lb_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t n = strlen(tag);
    if (n == 0 || n > TAG_MOST || tag[0] == '.' || tag[0] == '-' || strspn(tag, letters) != n || tag[n - 1] == '.' ||
        strstr(tag, "..") != NULL)
        return lb_fail(err, LB_USAGE, LB_NOWHERE,
                       "'%.120s' cannot be a tag: letters, digits, '-', '_' and dots inside, at most %d", tag,
                       TAG_MOST);
    if (strspn(tag, "0123456789") == n || strspn(tag, "0123456789-") == n)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "'%s' cannot be a tag: it reads as a version or a day", tag);
    return LB_OK;
}

static lb_status tag_folders(lb_lance_work *work, lb_error *err)
{
    static const char *const folders[] = { "_refs", LB_LANCE_TAGS };
    for (size_t i = 0; i < LB_COUNT_OF(folders); i++) {
        const char *path = lb_lance_work_path(work, folders[i], "");
        if (path == NULL)
            return lb_arena_fail(&work->arena, err);
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return lb_fail_errno(err, errno, path, "make the folder");
    }
    return LB_OK;
}

static lb_status tag_remove(lb_lance_work *work, const char *tag, const char *file, lb_error *err)
{
    const char *path = lb_lance_work_path(work, LB_LANCE_TAGS, file);
    if (path == NULL)
        return lb_arena_fail(&work->arena, err);
    if (unlink(path) == 0)
        return lb_lance_sync_folder(work, LB_LANCE_TAGS, err);
    if (errno == ENOENT)
        return lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "there is no file of the tag '%s'", tag);
    return lb_fail_errno(err, errno, path, "remove");
}

static lb_status tag_set(lb_lance_work *work, const char *spec, const char *tag, const char *file, bool replace,
                         lb_error *err)
{
    lb_version_name version, other;
    bool found = true;
    lb_store *store;
    char json[96];
    lb_error why = LB_ERROR_INIT;
    if (spec != NULL)
        LB_TRY(lb_version_find(work->cx, work->root, spec, &version, err));
    else
        LB_TRY(lb_versions_newest(work->root, &version, &found, err));
    if (!found)
        return lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "the dataset has no version to name");
    LB_TRY(lb_version_open(work->root, &version, &store, err));
    int n = snprintf(json, sizeof json, "{\"version\":%llu,\"manifestSize\":%llu}\n",
                     (unsigned long long)version.version, (unsigned long long)store->size);
    lb_store_close(store);
    if (!replace && lb_version_find(work->cx, work->root, tag, &other, &why) == LB_OK) {
        lb_fail(err, LB_USAGE, LB_NOWHERE, "the tag '%s' names version %llu already", tag,
                (unsigned long long)other.version);
        lb_fail_hint(err, "--force moves it");
        return LB_USAGE;
    }
    LB_TRY(tag_folders(work, err));
    LB_TRY(lb_lance_place(work, LB_LANCE_TAGS, file, json, (size_t)n, !replace, err));
    return lb_lance_sync_folder(work, LB_LANCE_TAGS, err);
}

lb_status lb_lance_tag(lb_context *cx, const char *path, const char *spec, const char *tag, bool remove,
                       const lb_lance_options *options, lb_error *err)
{
    lb_lance_work work;
    char file[TAG_MOST + 8];
    lb_error_clear(err);
    LB_TRY(tag_check(tag, err));
    (void)snprintf(file, sizeof file, "%s.json", tag);
    LB_TRY(lb_lance_work_open(&work, cx, path, false, err));
    lb_status s = remove ? tag_remove(&work, tag, file, err)
                         : tag_set(&work, spec, tag, file, options != NULL && options->replace, err);
    if (s != LB_OK)
        lb_fail_path(err, path);
    lb_lance_work_close(&work);
    return s;
}
