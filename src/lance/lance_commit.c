#include "lance/lance_commit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/path.h"
#include "io/save.h"
#include "lance/versions.h"

#define COMMIT_TRIES 1000

/* ---------------------------------------------------------------- small things */

lb_uuid_text lb_uuid_new(void)
{
    uint8_t b[16];
    lb_uuid_text out;
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b) {
        uint64_t v[2] = { (uint64_t)lb_monotonic_ns() * UINT64_C(0x9E3779B97F4A7C15),
                          (uintptr_t)b ^ (uint64_t)getpid() };
        memcpy(b, v, sizeof b);
    }
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    (void)snprintf(out.s, sizeof out.s, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                   b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    return out;
}

ProtobufCBinaryData *lb_lance_keep(lb_arena *arena, lb_str text, ProtobufCBinaryData *out)
{
    uint8_t *copy = lb_arena_dup(arena, text.at, text.size);
    if (copy == NULL)
        return NULL;
    *out = (ProtobufCBinaryData){ text.size, copy };
    return out;
}

lb_lance_entry *lb_lance_entry_new(lb_arena *arena, lb_str key, lb_str value)
{
    lb_lance_entry *e = lb_arena_alloc(arena, 1, sizeof *e);
    if (e == NULL)
        return NULL;
    lb_pb__entry__init(e);
    return lb_lance_keep(arena, key, &e->key) != NULL && lb_lance_keep(arena, value, &e->value) != NULL ? e : NULL;
}

char *lb_lance_work_path(lb_lance_work *work, const char *folder, const char *name)
{
    char *dir = lb_path_join(&work->arena, work->root, folder);
    return dir == NULL ? NULL : lb_path_join(&work->arena, dir, name);
}

/* ---------------------------------------------------------------- folders */

static const char *const work_folders[] = { "", LB_LANCE_VERSIONS, "data" };

static lb_status work_make_folders(lb_lance_work *work, lb_error *err)
{
    for (size_t i = 0; i < LB_COUNT_OF(work_folders); i++) {
        const char *path = lb_lance_work_path(work, work_folders[i], "");
        if (path == NULL)
            return lb_arena_fail(&work->arena, err);
        work->made[i] = mkdir(path, 0777) == 0;
        if (!work->made[i] && errno != EEXIST)
            return lb_fail_errno(err, errno, path, "make the folder");
    }
    return LB_OK;
}

void lb_lance_work_unmake(lb_lance_work *work)
{
    if (work->versions_fd >= 0 && flock(work->versions_fd, LOCK_EX | LOCK_NB) != 0)
        return; /* somebody else makes the dataset now */
    for (size_t i = LB_COUNT_OF(work_folders); i > 0; i--) {
        const char *path = work->made[i - 1] ? lb_lance_work_path(work, work_folders[i - 1], "") : NULL;
        if (path != NULL)
            (void)rmdir(path);
    }
}

static lb_status work_lock(lb_lance_work *work, lb_error *err)
{
    const char *path = lb_lance_work_path(work, LB_LANCE_VERSIONS, "");
    if (path == NULL)
        return lb_arena_fail(&work->arena, err);
    work->versions_fd = TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (work->versions_fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "there is no Lance dataset");
        lb_fail_path(err, work->root);
        lb_fail_hint(err, "`lakebed lance create` makes one");
        return LB_NOTFOUND;
    }
    if (work->versions_fd < 0)
        return lb_fail_errno(err, errno, path, "open");
    if (TEMP_FAILURE_RETRY(flock(work->versions_fd, LOCK_SH | LOCK_NB)) == 0 || errno != EWOULDBLOCK)
        return LB_OK; /* also where the file system knows no locks */
    lb_fail(err, LB_CONFLICT, LB_NOWHERE, "leftovers of the dataset are being removed");
    lb_fail_path(err, work->root);
    lb_fail_hint(err, "try again when that is done");
    return LB_CONFLICT;
}

lb_status lb_lance_work_open(lb_lance_work *work, lb_context *cx, const char *root, bool make, lb_error *err)
{
    lb_status s = LB_OK;
    *work = (lb_lance_work){ .cx = cx, .versions_fd = -1 };
    lb_arena_init(&work->arena, &cx->budget);
    work->root = lb_arena_copy(&work->arena, lb_str_of(root));
    if (work->root == NULL)
        s = lb_arena_fail(&work->arena, err);
    if (s == LB_OK && make)
        s = work_make_folders(work, err);
    if (s == LB_OK)
        s = work_lock(work, err);
    if (s != LB_OK)
        lb_lance_work_close(work);
    return s;
}

void lb_lance_work_close(lb_lance_work *work)
{
    if (work->versions_fd >= 0) {
        (void)flock(work->versions_fd, LOCK_UN);
        (void)close(work->versions_fd);
    }
    work->versions_fd = -1;
    lb_arena_free(&work->arena);
}

lb_status lb_lance_sync_folder(lb_lance_work *work, const char *folder, lb_error *err)
{
    const char *path = lb_lance_work_path(work, folder, "");
    if (path == NULL)
        return lb_arena_fail(&work->arena, err);
    int fd = TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd < 0)
        return lb_fail_errno(err, errno, path, "open");
    lb_status s = lb_sync_dir(fd, path, err);
    (void)close(fd);
    return s;
}

/* ---------------------------------------------------------------- files that appear whole */

static lb_status place_write(int fd, const char *path, const uint8_t *bytes, size_t size, lb_error *err)
{
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return lb_fail_errno(err, n < 0 ? errno : EIO, path, "write");
        bytes += n;
        size -= (size_t)n;
    }
    if (TEMP_FAILURE_RETRY(fsync(fd)) == 0 || errno == EINVAL || errno == ENOTSUP)
        return LB_OK;
    return lb_fail_errno(err, errno, path, "sync");
}

static lb_status place_temp(const char *path, const void *bytes, size_t size, lb_error *err)
{
    int fd = TEMP_FAILURE_RETRY(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (fd < 0)
        return lb_fail_errno(err, errno, path, "create");
    lb_status s = place_write(fd, path, bytes, size, err);
    if (close(fd) != 0 && errno != EINTR && s == LB_OK)
        s = lb_fail_errno(err, errno, path, "close");
    if (s != LB_OK)
        (void)unlink(path);
    return s;
}

/* Give the file its name unless that is taken. Returns errno. */
static int place_exclusive(const char *temp, const char *path)
{
    if (link(temp, path) == 0) {
        (void)unlink(temp);
        return 0;
    }
    if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS && errno != EMLINK)
        return errno;
    /* no hard links here */
    return renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

lb_status lb_lance_place(lb_lance_work *work, const char *folder, const char *name, const void *bytes, size_t size,
                         bool exclusive, lb_error *err)
{
    char temp_name[160];
    const char *path = lb_lance_work_path(work, folder, name);
    (void)snprintf(temp_name, sizeof temp_name, ".tmp_%.80s_%s", name, lb_uuid_new().s);
    const char *temp = lb_lance_work_path(work, folder, temp_name);
    if (path == NULL || temp == NULL)
        return lb_arena_fail(&work->arena, err);
    LB_TRY(place_temp(temp, bytes, size, err));
    int failed = exclusive ? place_exclusive(temp, path) : rename(temp, path) == 0 ? 0 : errno;
    if (failed == 0)
        return LB_OK;
    (void)unlink(temp);
    if (!exclusive || failed != EEXIST)
        return lb_fail_errno(err, failed, path, "put in place");
    lb_fail(err, LB_CONFLICT, LB_NOWHERE, "another writer made it first");
    lb_fail_path(err, path);
    return LB_CONFLICT;
}

/* ---------------------------------------------------------------- snapshots */

/* What stands before the first message: the values of dictionary fields, with positions from the file's beginning. */
static lb_status snapshot_dictionaries(lb_store *store, lb_lance_snapshot *s, lb_error *err)
{
    const lb_lance_manifest *pb = s->m.pb;
    uint64_t end = s->m.position;
    size_t got;
    bool any = false;
    for (size_t i = 0; i < pb->n_fields; i++)
        any = any || pb->fields[i]->dictionary != NULL;
    if (!any)
        return LB_OK;
    if (pb->version_aux_data != 0)
        end = LB_MIN(end, pb->version_aux_data);
    if (pb->index_section_is_case == LB_PB__MANIFEST__INDEX_SECTION_IS_INDEX_SECTION)
        end = LB_MIN(end, pb->index_section);
    if (pb->transaction_section_is_case == LB_PB__MANIFEST__TRANSACTION_SECTION_IS_TRANSACTION_SECTION)
        end = LB_MIN(end, pb->transaction_section);
    for (size_t i = 0; i < pb->n_fields; i++)
        if (pb->fields[i]->dictionary != NULL && (uint64_t)pb->fields[i]->dictionary->offset > end)
            return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                           "dictionary values lie behind the messages of the manifest");
    uint8_t *bytes = lb_arena_alloc(&s->arena, (size_t)end, 1);
    if (bytes == NULL)
        return lb_arena_fail(&s->arena, err);
    LB_TRY(lb_store_read(store, 0, bytes, (size_t)end, &got, err));
    if (got != end)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the manifest became shorter");
    s->dictionaries = (lb_str){ (char *)bytes, (size_t)end };
    return LB_OK;
}

static lb_status snapshot_load(lb_store *store, lb_lance_snapshot *out, lb_error *err)
{
    lb_status s = lb_manifest_read(store, &out->arena, &out->m, err);
    if (s == LB_OK)
        s = snapshot_dictionaries(store, out, err);
    if (s != LB_OK)
        lb_fail_path(err, store->path);
    lb_store_close(store);
    out->exists = s == LB_OK;
    return s;
}

static lb_status snapshot_read(lb_lance_work *work, lb_lance_snapshot *out, lb_error *err)
{
    lb_version_name name = { out->version, out->long_names };
    lb_store *store;
    LB_TRY(lb_version_open(work->root, &name, &store, err));
    return snapshot_load(store, out, err);
}

/* No numbered manifest: there is no dataset yet, or one that has but _latest.manifest. */
static lb_status snapshot_first(lb_lance_work *work, lb_lance_snapshot *out, lb_error *err)
{
    lb_store *store;
    lb_error why = LB_ERROR_INIT;
    const char *latest = lb_lance_work_path(work, "", LB_LANCE_LATEST);
    if (latest == NULL)
        return lb_arena_fail(&work->arena, err);
    lb_status s = lb_store_open_file(latest, &store, &why);
    if (s == LB_OK) {
        LB_TRY(snapshot_load(store, out, err));
        out->version = out->newest = out->m.pb->version;
        return LB_OK;
    }
    if (s != LB_NOTFOUND) {
        if (err != NULL && err->code == LB_OK)
            *err = why;
        return s;
    }
    out->m.pb = lb_arena_alloc(&out->arena, 1, sizeof *out->m.pb);
    if (out->m.pb == NULL)
        return lb_arena_fail(&out->arena, err);
    lb_pb__manifest__init(out->m.pb);
    return LB_OK;
}

lb_status lb_lance_snapshot_take(lb_lance_work *work, uint64_t version, lb_lance_snapshot *out, lb_error *err)
{
    lb_version_name newest = { 0, false };
    bool found = false;
    memset(out, 0, sizeof *out);
    lb_arena_init(&out->arena, &work->cx->budget);
    lb_status s = lb_versions_newest(work->root, &newest, &found, err);
    out->long_names = newest.long_name;
    out->newest = newest.version;
    out->version = version == 0 ? newest.version : version;
    if (s == LB_OK)
        s = out->version == 0 ? snapshot_first(work, out, err) : snapshot_read(work, out, err);
    if (s != LB_OK)
        lb_lance_snapshot_free(out);
    return s;
}

void lb_lance_snapshot_free(lb_lance_snapshot *snapshot)
{
    lb_arena_free(&snapshot->arena);
}

/* ---------------------------------------------------------------- committing */

lb_status lb_lance_check_writable(const lb_manifest *m, lb_error *err)
{
    uint64_t unknown = m->pb->writer_feature_flags & ~(uint64_t)LB_LANCE_WRITER_FLAGS;
    if (unknown == 0)
        return lb_manifest_check_readable(m, err);
    return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                   "the dataset asks its writers for features that Lakebed does not have: flags 0x%" PRIx64 "%s%s%s",
                   unknown, (unknown & LB_LANCE_FLAG_ROW_IDS) != 0 ? ", stable row ids" : "",
                   (unknown & LB_LANCE_FLAG_V2_STORAGE) != 0 ? ", storage version 2" : "",
                   (unknown & LB_LANCE_FLAG_BASE_PATHS) != 0 ? ", files outside the dataset" : "");
}

static lb_status commit_aux(lb_lance_snapshot *s, const lb_lance_note *note, lb_error *err)
{
    s->m.aux = NULL;
    if (note->n_aux == 0)
        return LB_OK;
    lb_lance_aux_data *aux = lb_arena_alloc(&s->arena, 1, sizeof *aux);
    if (aux == NULL)
        return lb_arena_fail(&s->arena, err);
    lb_pb__version_aux_data__init(aux);
    aux->metadata = lb_arena_alloc(&s->arena, note->n_aux, sizeof *aux->metadata);
    for (size_t i = 0; aux->metadata != NULL && i < note->n_aux; i++) {
        lb_lance_entry *e = lb_lance_entry_new(&s->arena, lb_str_of(note->aux[i].key),
                                               (lb_str){ note->aux[i].value, note->aux[i].size });
        if (e == NULL)
            return lb_arena_fail(&s->arena, err);
        aux->metadata[aux->n_metadata++] = e;
    }
    s->m.aux = aux;
    return aux->metadata == NULL ? lb_arena_fail(&s->arena, err) : LB_OK;
}

/* What a commit itself says: time, tag, flags; and what belonged to the version before goes. */
static lb_status commit_finish(lb_lance_snapshot *s, const lb_lance_note *note, lb_error *err)
{
    lb_lance_manifest *pb = s->m.pb;
    int64_t now = note->timestamp_ns != 0 ? note->timestamp_ns : lb_now_ns();
    LbPb__Timestamp *time = lb_arena_alloc(&s->arena, 1, sizeof *time);
    if (time == NULL)
        return lb_arena_fail(&s->arena, err);
    lb_pb__timestamp__init(time);
    time->seconds = now / 1000000000 - (now % 1000000000 < 0);
    time->nanos = (int32_t)(now - time->seconds * 1000000000);
    pb->timestamp = time;
    pb->version = s->newest + 1;
    pb->transaction_file = (ProtobufCBinaryData){ 0, NULL };
    pb->transaction_section_is_case = LB_PB__MANIFEST__TRANSACTION_SECTION_IS__NOT_SET;
    pb->tag = (ProtobufCBinaryData){ 0, NULL };
    if (note->tag != NULL && lb_lance_keep(&s->arena, lb_str_of(note->tag), &pb->tag) == NULL)
        return lb_arena_fail(&s->arena, err);
    bool deletions = false;
    for (size_t i = 0; i < pb->n_fragments; i++)
        deletions = deletions || pb->fragments[i]->deletion_file != NULL;
    pb->reader_feature_flags &= ~(uint64_t)LB_LANCE_FLAG_DELETIONS;
    pb->writer_feature_flags &= ~(uint64_t)LB_LANCE_FLAG_DELETIONS;
    pb->reader_feature_flags |= deletions ? LB_LANCE_FLAG_DELETIONS : 0;
    pb->writer_feature_flags |= deletions ? LB_LANCE_FLAG_DELETIONS : 0;
    return commit_aux(s, note, err);
}

/* Renew _latest.manifest, for releases up to 0.8.2. Whoever renamed last looks again whether a newer version came,
 * so that the newest one stays there. */
static lb_status commit_latest(lb_lance_work *work, lb_lance_snapshot *made, lb_buf *bytes, lb_error *err)
{
    uint64_t version = made->newest + 1;
    for (int i = 0; i < COMMIT_TRIES; i++) {
        lb_version_name newest;
        bool found;
        lb_store *store;
        size_t got;
        LB_TRY(lb_lance_place(work, "", LB_LANCE_LATEST, bytes->data, bytes->size, false, err));
        LB_TRY(lb_versions_newest(work->root, &newest, &found, err));
        if (!found || newest.version <= version)
            return LB_OK;
        version = newest.version;
        LB_TRY(lb_version_open(work->root, &newest, &store, err));
        bytes->size = 0;
        lb_status s = lb_buf_reserve(bytes, (size_t)store->size, err);
        if (s == LB_OK)
            s = lb_store_read(store, 0, bytes->data, (size_t)store->size, &got, err);
        if (s == LB_OK)
            bytes->size = got;
        lb_store_close(store);
        LB_TRY(s);
    }
    return LB_OK;
}

/* One try: *taken when another writer has this version number. */
static lb_status commit_once(lb_lance_work *work, lb_lance_snapshot *s, lb_buf *bytes, bool *taken, lb_error *err)
{
    char name[64];
    lb_error why = LB_ERROR_INIT;
    lb_version_name next = { s->newest + 1, s->long_names };
    lb_version_path(&next, name);
    bytes->size = 0;
    LB_TRY(lb_manifest_encode(&s->m, s->dictionaries, bytes, err));
    lb_status status =
        lb_lance_place(work, LB_LANCE_VERSIONS, lb_path_name(lb_str_of(name)).at, bytes->data, bytes->size, true, &why);
    *taken = status == LB_CONFLICT;
    if (status != LB_OK && !*taken && err != NULL && err->code == LB_OK)
        *err = why;
    return *taken ? LB_OK : status;
}

static lb_status commit_try(lb_lance_work *work, lb_lance_change_fn change, void *user, const lb_lance_note *note,
                            uint64_t *version, lb_buf *bytes, bool *taken, lb_error *err)
{
    lb_lance_snapshot s;
    lb_error why = LB_ERROR_INIT;
    LB_TRY(lb_lance_snapshot_take(work, 0, &s, err));
    lb_status status = lb_lance_check_writable(&s.m, err);
    if (status == LB_OK && s.newest == UINT64_MAX)
        status = lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "there is no further version number");
    if (status == LB_OK)
        status = change(user, &s, err);
    if (status == LB_OK)
        status = commit_finish(&s, note, err);
    if (status == LB_OK)
        status = commit_once(work, &s, bytes, taken, err);
    if (status == LB_OK && !*taken) {
        *version = s.newest + 1;
        status = lb_sync_dir(work->versions_fd, work->root, err);
        if (!s.long_names &&
            commit_latest(work, &s, bytes, &why) != LB_OK) /* releases that need it know no long names */
            lb_note(work->cx,
                    "%s: _latest.manifest could not be renewed (%s); releases before 0.8.3 see an older version",
                    work->root, why.message);
    }
    lb_lance_snapshot_free(&s);
    return status;
}

lb_status lb_lance_commit(lb_lance_work *work, lb_lance_change_fn change, void *user, const lb_lance_note *note,
                          uint64_t *version, lb_error *err)
{
    lb_buf bytes;
    lb_status s = LB_OK;
    bool taken = true;
    lb_buf_init(&bytes, &work->cx->budget);
    for (int i = 0; i < COMMIT_TRIES && taken && s == LB_OK; i++) {
        taken = false;
        s = lb_check_cancel(work->cx, err);
        if (s == LB_OK)
            s = commit_try(work, change, user, note, version, &bytes, &taken, err);
    }
    lb_buf_free(&bytes);
    if (s == LB_OK && taken)
        s = lb_fail(err, LB_CONFLICT, LB_NOWHERE, "other writers were faster %d times", COMMIT_TRIES);
    if (s != LB_OK)
        lb_fail_path(err, work->root);
    return s;
}
