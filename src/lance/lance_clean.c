/* Leftovers: files of a dataset that no manifest reaches (lance.md 1.1). */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/names.h"
#include "base/path.h"
#include "lance/deletions.h"
#include "lance/lance_change.h"
#include "lance/versions.h"

typedef struct clean_state {
    lb_lance_work work;
    lb_names reached; /* paths below the root, and folders of indices */
    bool remove;
    int64_t older_than_ns, now_ns;
    lb_lance_orphan_fn each;
    void *user;
    uint64_t removed;
} clean_state;

/* ---------------------------------------------------------------- what is reached */

static lb_status clean_reach(clean_state *st, const char *folder, const char *name, lb_error *err)
{
    bool known;
    const char *path = lb_path_join(&st->work.arena, folder, name);
    if (path == NULL)
        return lb_arena_fail(&st->work.arena, err);
    return lb_names_add(&st->reached, lb_str_of(path), 1, &known, err);
}

static lb_status clean_reach_bytes(clean_state *st, const char *folder, ProtobufCBinaryData name, lb_error *err)
{
    const char *copy = lb_arena_copy(&st->work.arena, lb_lance_str(name));
    return copy == NULL ? lb_arena_fail(&st->work.arena, err) : clean_reach(st, folder, copy, err);
}

static lb_status clean_fragment(clean_state *st, const lb_lance_fragment *f, lb_error *err)
{
    char path[96];
    for (size_t i = 0; i < f->n_files; i++)
        LB_TRY(clean_reach_bytes(st, "data", f->files[i]->path, err));
    if (f->deletion_file == NULL)
        return LB_OK;
    LB_TRY(lb_deletions_path(f->id, f->deletion_file, path, err));
    return clean_reach(st, "", path, err);
}

static void clean_uuid(ProtobufCBinaryData bytes, char out[37])
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < 16 && bytes.len == 16; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        at += (size_t)snprintf(out + at, 37 - at, "%s%02x", dash ? "-" : "", bytes.data[i]);
    }
}

static lb_status clean_manifest(clean_state *st, lb_store *store, lb_arena *arena, lb_error *err)
{
    lb_manifest m;
    LB_TRY(lb_manifest_read(store, arena, &m, err));
    for (size_t i = 0; i < m.pb->n_fragments; i++)
        LB_TRY(clean_fragment(st, m.pb->fragments[i], err));
    for (size_t i = 0; m.indices != NULL && i < m.indices->n_indices; i++) {
        char uuid[37];
        if (m.indices->indices[i]->uuid != NULL)
            clean_uuid(m.indices->indices[i]->uuid->uuid, uuid);
        else
            uuid[0] = '\0';
        LB_TRY(clean_reach(st, "_indices", uuid, err));
    }
    if (m.pb->transaction_file.len != 0)
        LB_TRY(clean_reach_bytes(st, "_transactions", m.pb->transaction_file, err));
    return LB_OK;
}

static lb_status clean_one_manifest(clean_state *st, lb_store *store, lb_error *err)
{
    lb_arena arena;
    lb_arena_init(&arena, &st->work.cx->budget);
    lb_status s = clean_manifest(st, store, &arena, err);
    if (s != LB_OK)
        lb_fail_path(err, store->path);
    lb_arena_free(&arena);
    lb_store_close(store);
    return s;
}

static lb_status clean_named_manifest(clean_state *st, const char *name, lb_error *err)
{
    lb_store *store;
    const char *path = lb_lance_work_path(&st->work, LB_LANCE_VERSIONS, name);
    if (path == NULL)
        return lb_arena_fail(&st->work.arena, err);
    lb_status s = lb_store_open_file(path, &store, err);
    return s == LB_OK ? clean_one_manifest(st, store, err) : s;
}

/* All manifests, also those that readers do not open by a number: detached versions. A list that breaks off is no proof. */
static lb_status clean_manifests(clean_state *st, lb_error *err)
{
    const char *folder = lb_lance_work_path(&st->work, LB_LANCE_VERSIONS, "");
    DIR *dir = folder == NULL ? NULL : opendir(folder);
    lb_status s = LB_OK;
    if (dir == NULL)
        return lb_fail_errno(err, errno, st->work.root, "list");
    while (s == LB_OK) {
        errno = 0;
        const struct dirent *e = readdir(dir);
        if (e == NULL && errno != 0)
            s = lb_fail_errno(err, errno, folder, "list");
        if (e == NULL)
            break;
        size_t size = strlen(e->d_name);
        if (size > 9 && strcmp(e->d_name + size - 9, ".manifest") == 0 && e->d_name[0] != '.')
            s = clean_named_manifest(st, e->d_name, err);
    }
    (void)closedir(dir);
    return s;
}

static lb_status clean_latest(clean_state *st, lb_error *err)
{
    lb_store *store;
    const char *path = lb_lance_work_path(&st->work, "", LB_LANCE_LATEST);
    if (path == NULL)
        return lb_arena_fail(&st->work.arena, err);
    lb_error why = LB_ERROR_INIT;
    lb_status s = lb_store_open_file(path, &store, &why);
    if (s == LB_OK)
        return clean_one_manifest(st, store, err);
    if (s != LB_NOTFOUND && err != NULL && err->code == LB_OK)
        *err = why;
    return s == LB_NOTFOUND ? LB_OK : s;
}

/* ---------------------------------------------------------------- what is there */

static bool clean_is_temporary(const char *name)
{
    return strncmp(name, ".tmp_", 5) == 0 || strchr(name, '#') != NULL;
}

static lb_status clean_file(clean_state *st, const char *rel, const struct stat *file, lb_error *err)
{
    const char *path = lb_lance_work_path(&st->work, "", rel);
    int64_t written = (int64_t)file->st_mtim.tv_sec * 1000000000 + file->st_mtim.tv_nsec;
    lb_lance_orphan orphan = { .path = rel, .bytes = (uint64_t)file->st_size, .age_ns = st->now_ns - written };
    if (path == NULL)
        return lb_arena_fail(&st->work.arena, err);
    if (st->remove && orphan.age_ns >= st->older_than_ns) {
        if (unlink(path) != 0 && errno != ENOENT)
            return lb_fail_errno(err, errno, path, "remove");
        orphan.removed = true;
        st->removed++;
    }
    if (st->each != NULL)
        st->each(st->user, &orphan);
    return LB_OK;
}

/* Files of one folder, sorted so that reports are alike; `only_temporary`: of a folder whose other files are not
 * ours to judge. */
static int clean_sort(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static lb_status clean_folder(clean_state *st, const char *folder, bool only_temporary, int depth, lb_error *err)
{
    struct dirent **names = NULL;
    const char *path = lb_lance_work_path(&st->work, folder, "");
    lb_status s = LB_OK;
    if (path == NULL)
        return lb_arena_fail(&st->work.arena, err);
    int n = scandir(path, &names, NULL, clean_sort);
    if (n < 0)
        return errno == ENOENT ? LB_OK : lb_fail_errno(err, errno, path, "list");
    for (int i = 0; i < n && s == LB_OK; i++) {
        struct stat file;
        const char *name = names[i]->d_name;
        const char *rel = lb_path_join(&st->work.arena, folder, name);
        const char *full = rel == NULL ? NULL : lb_lance_work_path(&st->work, "", rel);
        if (full == NULL) {
            s = lb_arena_fail(&st->work.arena, err);
            break;
        }
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || lstat(full, &file) != 0 ||
            lb_names_find(&st->reached, lb_str_of(rel)) != NULL)
            continue;
        if (S_ISDIR(file.st_mode) && depth > 0)
            s = clean_folder(st, rel, only_temporary, depth - 1, err);
        else if (S_ISREG(file.st_mode) && (!only_temporary || clean_is_temporary(name)))
            s = clean_file(st, rel, &file, err);
    }
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
    if (s == LB_OK && st->remove && depth == 0 && strncmp(folder, "_indices/", 9) == 0)
        (void)rmdir(path); /* where it is empty now */
    return s;
}

static lb_status clean_all(clean_state *st, lb_error *err)
{
    LB_TRY(clean_folder(st, "data", false, 0, err));
    LB_TRY(clean_folder(st, "_deletions", false, 0, err));
    LB_TRY(clean_folder(st, "_indices", false, 1, err));
    LB_TRY(clean_folder(st, LB_LANCE_VERSIONS, true, 0, err));
    LB_TRY(clean_folder(st, LB_LANCE_TAGS, true, 0, err));
    LB_TRY(clean_folder(st, "_transactions", false, 0, err));
    return clean_folder(st, "", true, 0, err);
}

/* Without a version nothing reaches anything, which is proof of no more than that manifests are missing. Only what making a dataset
 * leaves is removed then. */
static lb_status clean_headless(const clean_state *st, bool *headless, lb_error *err)
{
    bool is_rest;

    LB_TRY(lb_dataset_look_headless(st->work.root, headless, &is_rest, err));
    return *headless && !is_rest ? lb_dataset_fail_headless(st->work.root, false, err) : LB_OK;
}

/* The folders too, where they are empty now. */
static void clean_folders(clean_state *st)
{
    static const char *const folders[] = { "data", "_transactions", LB_LANCE_VERSIONS, "" };

    for (size_t i = 0; i < LB_COUNT_OF(folders); i++) {
        const char *path = lb_lance_work_path(&st->work, folders[i], "");
        if (path != NULL)
            (void)rmdir(path);
    }
}

/* Nobody of ours may be writing: what is written now is reached only later. */
static lb_status clean_lock(clean_state *st, lb_error *err)
{
    if (!st->remove || TEMP_FAILURE_RETRY(flock(st->work.versions_fd, LOCK_EX | LOCK_NB)) == 0 || errno != EWOULDBLOCK)
        return LB_OK;
    lb_fail(err, LB_CONFLICT, LB_NOWHERE, "a writer is at work");
    lb_fail_hint(err, "try again when it is done");
    return LB_CONFLICT;
}

lb_status lb_lance_orphans(lb_context *cx, const char *path, bool remove, int64_t older_than_ns,
                           lb_lance_orphan_fn each, void *user, lb_error *err)
{
    clean_state st = {
        .remove = remove, .older_than_ns = older_than_ns, .now_ns = lb_now_ns(), .each = each, .user = user
    };
    lb_error_clear(err);
    LB_TRY(lb_lance_work_open(&st.work, cx, path, false, err));
    bool headless = false;
    lb_status s = clean_lock(&st, err);
    if (s == LB_OK)
        s = clean_headless(&st, &headless, err);
    if (s == LB_OK)
        s = clean_manifests(&st, err);
    if (s == LB_OK)
        s = clean_latest(&st, err);
    if (s == LB_OK)
        s = clean_all(&st, err);
    if (s == LB_OK && headless && remove)
        clean_folders(&st);
    if (s != LB_OK)
        lb_fail_path(err, path);
    lb_names_free(&st.reached);
    lb_lance_work_close(&st.work);
    return s;
}
