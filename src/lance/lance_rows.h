/* Rows of a stream as data files of a dataset: what create, append, overwrite and compact share. */
#ifndef LB_LANCE_LANCE_ROWS_H
#define LB_LANCE_LANCE_ROWS_H

#include "format/lance/lance_write.h"
#include "lance/lance_commit.h"

/* A file that is written; its folder is not synced. */
typedef struct lb_lance_out {
    lb_lance_work *work;
    int fd;
    char *path;
    char *name;     /* "<uuid>.lance" */
    lb_error error; /* of the first write that failed */
} lb_lance_out;

/* Make `data`/NAME.lance; `id` NULL: a random one. Errors: IO (also where the name is taken). */
lb_status lb_lance_out_open(lb_lance_work *work, const char *id, lb_lance_out *out, lb_error *err);
/* Make FOLDER/NAME; the folder is there. Errors: IO (also where the name is taken). */
lb_status lb_lance_out_make(lb_lance_work *work, const char *folder, const char *name, lb_lance_out *out,
                            lb_error *err);
bool lb_lance_out_write(void *out, const void *bytes, size_t size);
/* Sync and close. `keep` false: remove. */
lb_status lb_lance_out_close(lb_lance_out *out, bool keep, lb_error *err);

/* A file of a fragment. */
typedef struct lb_lance_new_file {
    char *name;
    uint64_t rows;
    int32_t *ids;
    size_t n_ids;
} lb_lance_new_file;

typedef struct lb_lance_new_files {
    lb_lance_new_file *items; /* in the work's arena, as all they point to */
    size_t count, cap;
    uint64_t rows;
} lb_lance_new_files;

typedef struct lb_lance_rows_options {
    uint64_t group_rows, file_rows;
    bool whole_batches;
    const char *const *file_names; /* not yet used ones, or NULL */
} lb_lance_rows_options;

/* Pull all rows of `stream`, whose batches have the schema `from`, and write them as files by `writer`, whose rows
 * have the schema `to`. New companions get ids from *next_id on. On error no file is left. */
lb_status lb_lance_rows_write(lb_lance_work *work, struct ArrowArrayStream *stream, const struct ArrowSchema *from,
                              lb_lance_writer *writer, const struct ArrowSchema *to,
                              const lb_lance_rows_options *options, int32_t *next_id, lb_lance_new_files *out,
                              lb_error *err);

/* Remove files again. */
void lb_lance_rows_undo(lb_lance_work *work, const lb_lance_new_files *files);

/* A fragment of one such file. Lives in the arena. NULL: no memory. */
lb_lance_fragment *lb_lance_fragment_new(lb_arena *arena, uint64_t id, const lb_lance_new_file *file);

/* The same as an entry of a fragment that exists. */
LbPb__DataFile *lb_lance_file_new(lb_arena *arena, const lb_lance_new_file *file);

#endif
