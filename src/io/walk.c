/* Folders are read level by level, those of one level on several threads. What a folder holds goes to a list of its
 * own first and from there to the common one, so that threads meet once a folder; the whole is sorted at the end. In
 * large folders looking up sizes and times costs most, and is shared out too. */
#include "io/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/pool.h"

#define WALK_ASK_EVERY 1024             /* entries between two looks at the cancel flag */
#define WALK_CHUNK 512                  /* files whose sizes one job looks up */
#define WALK_DEEP 32                    /* levels; what lies below is one job, which goes from folder to folder */
#define WALK_NAMES ((size_t)128 * 1024) /* a piece of the list's names */

typedef struct walk {
    lb_context *cx;
    const char *root;
    const lb_walk_options *options;
    int root_fd;
    pthread_mutex_t lock; /* of what follows */
    lb_file_list *out;
    lb_arena folder_names;
    lb_buf next;   /* of lb_str: folders of the next level */
    lb_buf chunks; /* of walk_chunk: files of large folders, still to be looked up */
} walk;

/* A folder's entries while it is read. Names end in NUL, one after the other. */
typedef struct walk_part {
    walk *w;
    int fd;
    lb_str folder;
    lb_buf below; /* of lb_str: folders of a deep one, still to be read by this part, the latest first */
    int last_fd;  /* the deep folder read last: the next one mostly lies in it; -1 */
    lb_str last;
    lb_buf path;  /* of the entry at hand */
    lb_buf names; /* wanted files */
    lb_buf files; /* of lb_walk_file; their names stand in `paths`, in turn */
    lb_buf paths;
    size_t n_names;
    unsigned seen;
} walk_part;

/* Files of a large folder by their names. */
typedef struct walk_chunk {
    lb_str folder;
    char *names;
    size_t count;
} walk_chunk;

/* ---------------------------------------------------------------- lists */

void lb_file_list_init(lb_file_list *list, lb_budget *budget)
{
    *list = (lb_file_list){ .count = 0 };
    lb_buf_init(&list->bytes, budget);
    lb_arena_init(&list->names, budget);
}

void lb_file_list_free(lb_file_list *list)
{
    lb_buf_free(&list->bytes);
    lb_arena_free(&list->names);
    list->files = NULL;
    list->count = list->room_left = 0;
}

/* Keep a name, without padding; the arena's bytes are zero. */
static lb_status list_name(lb_file_list *list, lb_str text, lb_str *out, lb_error *err)
{
    if (text.size >= list->room_left) {
        size_t piece = LB_MAX(text.size + 1, WALK_NAMES);
        list->room = lb_arena_alloc(&list->names, piece, 1);
        list->room_left = list->room == NULL ? 0 : piece;
        if (list->room == NULL)
            return lb_arena_fail(&list->names, err);
    }
    *out = (lb_str){ list->room, text.size };
    memcpy(list->room, text.at, text.size);
    list->room += text.size + 1;
    list->room_left -= text.size + 1;
    return LB_OK;
}

/* Move a part's files over. */
static lb_status list_take(lb_file_list *list, walk_part *p, lb_error *err)
{
    size_t n = p->files.size / sizeof(lb_walk_file), at = 0;
    lb_walk_file *files = (lb_walk_file *)(void *)p->files.data;

    LB_TRY(lb_buf_reserve(&list->bytes, p->files.size, err));
    for (size_t i = 0; i < n; i++) {
        lb_str path = { (const char *)p->paths.data + at, files[i].rel_path.size };
        at += path.size;
        LB_TRY(list_name(list, path, &files[i].rel_path, err));
        lb_buf_put(&list->bytes, &files[i], sizeof files[i]);
    }
    p->files.size = p->paths.size = 0;
    return LB_OK;
}

/* ---------------------------------------------------------------- folders */

static int64_t walk_ns(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A failure inside the tree; the error names the folder or file. */
static lb_status walk_fail(const walk *w, int errnum, lb_str rel_path, const char *what, lb_error *err)
{
    lb_arena arena;
    lb_arena_init(&arena, NULL);
    const char *rel = lb_arena_copy(&arena, rel_path);
    const char *path = rel == NULL ? NULL : lb_path_join(&arena, w->root, rel);
    lb_status status = lb_fail_errno(err, errnum, path == NULL ? w->root : path, what);
    lb_arena_free(&arena);
    return status;
}

/* What is gone, or became something else, between listing and opening. */
static bool walk_is_gone(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP || errnum == ESTALE;
}

static bool walk_is_below(lb_str path, lb_str folder)
{
    return folder.size > 0 && path.size > folder.size && path.at[folder.size] == '/' &&
           memcmp(path.at, folder.at, folder.size) == 0;
}

static bool walk_is_deep(lb_str folder)
{
    size_t levels = folder.size != 0;
    for (size_t i = 0; i < folder.size; i++)
        levels += folder.at[i] == '/';
    return levels >= WALK_DEEP;
}

/* Open a folder one component at a time, so that no link is followed on the way and no path is too long. -1: errno. */
static int walk_open(const walk_part *p, lb_str rel_path)
{
    bool near = p->last_fd >= 0 && walk_is_below(rel_path, p->last);
    int from = near ? p->last_fd : p->w->root_fd, fd = from;
    char name[NAME_MAX + 1];
    if (rel_path.size == 0)
        return TEMP_FAILURE_RETRY(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (size_t begin = near ? p->last.size + 1 : 0; begin < rel_path.size;) {
        const char *slash = memchr(rel_path.at + begin, '/', rel_path.size - begin);
        size_t end = slash == NULL ? rel_path.size : (size_t)(slash - rel_path.at);
        int next = -1, failed = ENAMETOOLONG;
        if (end - begin < sizeof name) {
            memcpy(name, rel_path.at + begin, end - begin);
            name[end - begin] = '\0';
            int how = end == rel_path.size ? O_RDONLY : O_PATH;
            next = TEMP_FAILURE_RETRY(openat(fd, name, how | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
            failed = errno;
        }
        if (fd != from)
            (void)close(fd);
        if (next < 0) {
            errno = failed;
            return -1;
        }
        fd = next;
        begin = end + 1;
    }
    return fd;
}

/* ---------------------------------------------------------------- entries */

static bool walk_wants(const walk *w, lb_str rel_path, bool is_dir)
{
    const lb_walk_options *o = w->options;
    return o == NULL || o->want == NULL || o->want(o->user, rel_path, is_dir);
}

/* The path of an entry, valid until the next one. */
static lb_status part_path(walk_part *p, const char *name, lb_str *out, lb_error *err)
{
    p->path.size = p->folder.size == 0 ? 0 : p->folder.size + 1;
    LB_TRY(lb_buf_append_str(&p->path, name, err));
    *out = (lb_str){ (const char *)p->path.data, p->path.size };
    return LB_OK;
}

static lb_status part_folder(walk_part *p, const char *name, lb_str rel_path, lb_error *err)
{
    walk *w = p->w;
    if ((name[0] == '.' && !(w->options != NULL && w->options->hidden)) || !walk_wants(w, rel_path, true))
        return LB_OK;
    lb_buf *to = walk_is_deep(p->folder) ? &p->below : &w->next;
    (void)pthread_mutex_lock(&w->lock);
    lb_str kept = { lb_arena_copy(&w->folder_names, rel_path), rel_path.size };
    lb_status status =
        kept.at == NULL ? lb_arena_fail(&w->folder_names, err) : lb_buf_append(to, &kept, sizeof kept, err);
    (void)pthread_mutex_unlock(&w->lock);
    return status;
}

/* Links are not followed; those that would add something are counted. */
static void part_link(walk_part *p, const char *name, lb_str rel_path)
{
    struct stat st;
    bool is_dir = fstatat(p->fd, name, &st, 0) == 0 && S_ISDIR(st.st_mode);
    if (is_dir ? name[0] == '.' && !(p->w->options != NULL && p->w->options->hidden)
               : !walk_wants(p->w, rel_path, false))
        return;
    (void)pthread_mutex_lock(&p->w->lock);
    p->w->out->links++;
    (void)pthread_mutex_unlock(&p->w->lock);
}

/* `type`: what the folder's listing said. A file's name was asked for already where that said it is one. */
static lb_status part_look(walk_part *p, const char *name, unsigned char type, lb_str rel_path, lb_error *err)
{
    struct stat st;
    if (fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return walk_is_gone(errno) ? LB_OK : walk_fail(p->w, errno, rel_path, "stat", err);
    if (S_ISDIR(st.st_mode))
        return part_folder(p, name, rel_path, err);
    if (S_ISLNK(st.st_mode))
        part_link(p, name, rel_path);
    if (!S_ISREG(st.st_mode) || (type == DT_UNKNOWN && !walk_wants(p->w, rel_path, false)))
        return LB_OK;
    lb_walk_file file = { .rel_path = { NULL, rel_path.size },
                          .size = (uint64_t)st.st_size,
                          .mtime_ns = walk_ns(st.st_mtim),
                          .ctime_ns = walk_ns(st.st_ctim) };
    LB_TRY(lb_buf_append(&p->paths, rel_path.at, rel_path.size, err));
    return lb_buf_append(&p->files, &file, sizeof file, err);
}

static lb_status part_entry(walk_part *p, const struct dirent *entry, lb_error *err)
{
    const char *name = entry->d_name;
    unsigned char type = entry->d_type;
    lb_str rel_path;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return LB_OK;
    if (type != DT_UNKNOWN && type != DT_REG && type != DT_DIR && type != DT_LNK)
        return LB_OK;
    if (++p->seen % WALK_ASK_EVERY == 0)
        LB_TRY(lb_check_cancel(p->w->cx, err));
    LB_TRY(part_path(p, name, &rel_path, err));
    if (type == DT_DIR)
        return part_folder(p, name, rel_path, err);
    if (type == DT_LNK) {
        part_link(p, name, rel_path);
        return LB_OK;
    }
    if (type == DT_UNKNOWN)
        return part_look(p, name, type, rel_path, err);
    if (!walk_wants(p->w, rel_path, false)) /* asked first: looking up its size costs more */
        return LB_OK;
    p->n_names++;
    return lb_buf_append(&p->names, name, strlen(name) + 1, err);
}

static lb_status part_look_names(walk_part *p, const char *names, size_t count, lb_error *err)
{
    for (size_t i = 0; i < count; i++) {
        lb_str rel_path;
        LB_TRY(part_path(p, names, &rel_path, err));
        LB_TRY(part_look(p, names, DT_REG, rel_path, err));
        names += strlen(names) + 1;
    }
    return LB_OK;
}

static lb_status part_look_all(walk_part *p, lb_error *err)
{
    size_t n = p->n_names;
    p->n_names = 0;
    LB_TRY(part_look_names(p, (const char *)p->names.data, n, err));
    p->names.size = 0;
    return LB_OK;
}

/* Names of a large folder as chunks for later. */
static lb_status part_put_off(walk_part *p, lb_error *err)
{
    walk *w = p->w;
    lb_status status = LB_OK;
    const char *at = (const char *)p->names.data;

    (void)pthread_mutex_lock(&w->lock);
    for (size_t i = 0; status == LB_OK && i < p->n_names; i += WALK_CHUNK) {
        walk_chunk chunk = { .folder = p->folder, .count = LB_MIN(p->n_names - i, WALK_CHUNK) };
        const char *end = at;
        for (size_t k = 0; k < chunk.count; k++)
            end += strlen(end) + 1;
        chunk.names = malloc((size_t)(end - at));
        if (chunk.names == NULL)
            status = lb_fail_nomem(err);
        else
            memcpy(chunk.names, at, (size_t)(end - at));
        if (status == LB_OK)
            status = lb_buf_append(&w->chunks, &chunk, sizeof chunk, err);
        if (status != LB_OK)
            free(chunk.names);
        at = end;
    }
    (void)pthread_mutex_unlock(&w->lock);
    p->n_names = p->names.size = 0;
    return status;
}

static lb_status part_list(walk_part *p, DIR *dir, lb_error *err)
{
    bool alone = p->w->cx->threads <= 1;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL && errno != 0 && !walk_is_gone(errno))
            return walk_fail(p->w, errno, p->folder, "read", err);
        if (entry == NULL)
            break;
        LB_TRY(part_entry(p, entry, err));
        if (p->n_names == WALK_CHUNK && alone)
            LB_TRY(part_look_all(p, err));
    }
    return p->n_names > WALK_CHUNK ? part_put_off(p, err) : part_look_all(p, err);
}

/* ---------------------------------------------------------------- jobs */

static void part_init(walk_part *p, walk *w)
{
    *p = (walk_part){ .w = w, .fd = -1, .last_fd = -1 };
    lb_buf_init(&p->path, NULL);
    lb_buf_init(&p->below, &w->cx->budget);
    lb_buf_init(&p->names, &w->cx->budget);
    lb_buf_init(&p->files, &w->cx->budget);
    lb_buf_init(&p->paths, &w->cx->budget);
}

/* fd -1 afterwards: the folder is gone. */
static lb_status part_open(walk_part *p, lb_str folder, lb_error *err)
{
    p->folder = folder;
    p->path.size = 0;
    LB_TRY(lb_check_cancel(p->w->cx, err));
    LB_TRY(lb_buf_append(&p->path, folder.at, folder.size, err));
    LB_TRY(lb_buf_append_str(&p->path, "/", err));
    p->fd = walk_open(p, folder);
    if (p->fd < 0 && (folder.size == 0 || !walk_is_gone(errno)))
        return walk_fail(p->w, errno, folder, "open", err);
    return LB_OK;
}

static lb_status part_hand_over(walk_part *p, lb_error *err)
{
    if (p->files.size == 0)
        return LB_OK;
    (void)pthread_mutex_lock(&p->w->lock);
    lb_status status = list_take(p->w->out, p, err);
    (void)pthread_mutex_unlock(&p->w->lock);
    return status;
}

static void part_free(walk_part *p)
{
    if (p->fd >= 0)
        (void)close(p->fd);
    if (p->last_fd >= 0)
        (void)close(p->last_fd);
    lb_buf_free(&p->path);
    lb_buf_free(&p->below);
    lb_buf_free(&p->names);
    lb_buf_free(&p->files);
    lb_buf_free(&p->paths);
}

/* Keep the open folder for those in it. */
static lb_status part_keep_last(walk_part *p, lb_error *err)
{
    int kept = TEMP_FAILURE_RETRY(fcntl(p->fd, F_DUPFD_CLOEXEC, 0));
    if (kept < 0)
        return walk_fail(p->w, errno, p->folder, "open", err);
    if (p->last_fd >= 0)
        (void)close(p->last_fd);
    p->last_fd = kept;
    p->last = p->folder;
    return LB_OK;
}

static lb_status part_read(walk_part *p, lb_str folder, lb_error *err)
{
    LB_TRY(part_open(p, folder, err));
    if (p->fd < 0)
        return LB_OK;
    if (walk_is_deep(folder))
        LB_TRY(part_keep_last(p, err));
    DIR *dir = fdopendir(p->fd);
    if (dir == NULL)
        return walk_fail(p->w, errno, folder, "open", err);
    lb_status status = part_list(p, dir, err);
    (void)closedir(dir);
    p->fd = -1;
    return status == LB_OK ? part_hand_over(p, err) : status;
}

typedef struct walk_level {
    walk *w;
    const lb_str *folders;
    const walk_chunk *chunks;
} walk_level;

static lb_status walk_folder(void *user, size_t index, lb_error *err)
{
    const walk_level *level = user;
    lb_str folder = level->folders[index];
    walk_part p;
    part_init(&p, level->w);
    lb_status status = part_read(&p, folder, err);
    while (status == LB_OK && p.below.size != 0) {
        p.below.size -= sizeof folder;
        memcpy(&folder, p.below.data + p.below.size, sizeof folder);
        status = part_read(&p, folder, err);
    }
    part_free(&p);
    return status;
}

static lb_status walk_look(void *user, size_t index, lb_error *err)
{
    const walk_level *level = user;
    const walk_chunk *chunk = &level->chunks[index];
    walk_part p;
    part_init(&p, level->w);
    lb_status status = part_open(&p, chunk->folder, err);
    if (status == LB_OK && p.fd >= 0)
        status = part_look_names(&p, chunk->names, chunk->count, err);
    if (status == LB_OK)
        status = part_hand_over(&p, err);
    part_free(&p);
    return status;
}

/* ---------------------------------------------------------------- the whole */

static int walk_compare_folders(const void *a, const void *b)
{
    return lb_str_compare(*(const lb_str *)a, *(const lb_str *)b);
}

static int walk_compare_chunks(const void *a, const void *b)
{
    const walk_chunk *x = a, *y = b;
    int order = lb_str_compare(x->folder, y->folder);
    return order != 0 ? order : strcmp(x->names, y->names);
}

static int walk_compare_files(const void *a, const void *b)
{
    return lb_str_compare(((const lb_walk_file *)a)->rel_path, ((const lb_walk_file *)b)->rel_path);
}

static void walk_free_chunks(walk *w)
{
    walk_chunk *chunks = (walk_chunk *)(void *)w->chunks.data;

    for (size_t i = 0; i < w->chunks.size / sizeof *chunks; i++)
        free(chunks[i].names);
    w->chunks.size = 0;
}

/* Chunks of the folders of a level. */
static lb_status walk_chunks(walk *w, lb_error *err)
{
    walk_chunk *chunks = (walk_chunk *)(void *)w->chunks.data;
    size_t n = w->chunks.size / sizeof *chunks;
    walk_level level = { .w = w, .chunks = chunks };

    if (n != 0)
        qsort(chunks, n, sizeof *chunks, walk_compare_chunks);
    lb_status status = lb_run_jobs(w->cx, n, walk_look, &level, err);
    walk_free_chunks(w);
    return status;
}

/* The folders of one level, in order: so the failure reported does not depend on the threads. */
static lb_status walk_down(walk *w, lb_buf *folders, lb_error *err)
{
    size_t n = folders->size / sizeof(lb_str);
    walk_level level = { .w = w, .folders = (const lb_str *)(const void *)folders->data };

    qsort(folders->data, n, sizeof(lb_str), walk_compare_folders);
    lb_status status = lb_run_jobs(w->cx, n, walk_folder, &level, err);
    return status == LB_OK ? walk_chunks(w, err) : status;
}

static lb_status walk_all(walk *w, lb_error *err)
{
    lb_str root = LB_STR("");
    lb_buf folders;
    lb_buf_init(&folders, &w->cx->budget);
    lb_status status = lb_buf_append(&folders, &root, sizeof root, err);
    while (status == LB_OK && folders.size != 0) {
        status = walk_down(w, &folders, err);
        lb_buf done = folders;
        folders = w->next;
        w->next = done;
        w->next.size = 0;
    }
    lb_buf_free(&folders);
    return status;
}

static lb_status walk_open_root(walk *w, lb_error *err)
{
    struct stat st;
    if (stat(w->root, &st) != 0)
        return lb_fail_errno(err, errno, w->root, "stat");
    if (!S_ISDIR(st.st_mode)) {
        lb_fail(err, LB_USAGE, LB_NOWHERE, "a directory is expected, this is a file");
        lb_fail_path(err, w->root);
        return LB_USAGE;
    }
    w->root_fd = TEMP_FAILURE_RETRY(open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return w->root_fd < 0 ? lb_fail_errno(err, errno, w->root, "open") : LB_OK;
}

lb_status lb_walk(lb_context *cx, const char *root, const lb_walk_options *options, lb_file_list *out, lb_error *err)
{
    walk w = { .cx = cx, .root = root, .options = options, .root_fd = -1, .out = out };
    if (pthread_mutex_init(&w.lock, NULL) != 0)
        return lb_fail_nomem(err);
    lb_arena_init(&w.folder_names, &cx->budget);
    lb_buf_init(&w.next, &cx->budget);
    lb_buf_init(&w.chunks, &cx->budget);
    lb_status status = walk_open_root(&w, err);
    if (status == LB_OK)
        status = walk_all(&w, err);
    if (status == LB_OK) {
        out->files = (lb_walk_file *)(void *)out->bytes.data;
        out->count = out->bytes.size / sizeof *out->files;
        if (out->count != 0)
            qsort(out->files, out->count, sizeof *out->files, walk_compare_files);
    }
    if (w.root_fd >= 0)
        (void)close(w.root_fd);
    walk_free_chunks(&w);
    lb_buf_free(&w.next);
    lb_buf_free(&w.chunks);
    lb_arena_free(&w.folder_names);
    (void)pthread_mutex_destroy(&w.lock);
    return status;
}
