/* Commits: a new version appears as one new manifest file, which replaces nobody's (lance.md 1.4).
 *
 * Whoever writes takes a snapshot of the newest version, changes the manifest in memory, and asks for the change to be
 * committed. Where another writer was first the change is made again on top of the newer version. */
#ifndef LB_LANCE_LANCE_COMMIT_H
#define LB_LANCE_LANCE_COMMIT_H

#include "lance/manifest.h"

/* Bits of writer_feature_flags that this writer understands. */
#define LB_LANCE_WRITER_FLAGS (LB_LANCE_FLAG_DELETIONS | LB_LANCE_FLAG_CONFIG | LB_LANCE_FLAG_NO_TRANSACTIONS)

/* Work on a dataset. While it is open no `lance clean` removes what is not yet reachable. */
typedef struct lb_lance_work {
    lb_context *cx;
    const char *root;
    lb_arena arena;
    int versions_fd; /* _versions, locked in shared mode; -1: not made yet */
    bool made[3];    /* folders that were made: the root, _versions, data */
} lb_lance_work;

/* `make`: the folders are made where they are missing. Errors: NOTFOUND (no dataset), CONFLICT (a clean is going
 * on), IO. */
lb_status lb_lance_work_open(lb_lance_work *work, lb_context *cx, const char *root, bool make, lb_error *err);
void lb_lance_work_close(lb_lance_work *work);

/* Remove the folders that were made for a dataset that did not come into being. */
void lb_lance_work_unmake(lb_lance_work *work);

/* A path below the root; in the work's arena. NULL: work->arena.why. */
char *lb_lance_work_path(lb_lance_work *work, const char *folder, const char *name);

/* One version, as it is going to be changed. */
typedef struct lb_lance_snapshot {
    lb_arena arena;
    bool exists;      /* the dataset has a version */
    bool long_names;  /* manifests are named by 20 digits */
    uint64_t version; /* this one; newest: the newest of all when it was taken */
    uint64_t newest;
    lb_manifest m;       /* in the arena */
    lb_str dictionaries; /* what stands before the messages of the manifest */
} lb_lance_snapshot;

/* Take one: version 0 is the newest. Where there is no version at all, *out says so and has an empty manifest.
 * Errors: NOTFOUND (that version), CORRUPT, UNSUPPORTED, IO. */
lb_status lb_lance_snapshot_take(lb_lance_work *work, uint64_t version, lb_lance_snapshot *out, lb_error *err);
void lb_lance_snapshot_free(lb_lance_snapshot *snapshot);

/* UNSUPPORTED, naming the bits, where flags ask a writer for what this one does not know. */
lb_status lb_lance_check_writable(const lb_manifest *m, lb_error *err);

/* Make the change in newest->m (and dictionaries); what it points to lives in newest->arena or longer. Called again
 * for each newer version. Errors: CONFLICT where the change no longer makes sense. */
typedef lb_status (*lb_lance_change_fn)(void *user, lb_lance_snapshot *newest, lb_error *err);

typedef struct lb_lance_note {
    int64_t timestamp_ns; /* 0: now */
    const char *tag;      /* NULL: none */
    const lb_key_value *aux;
    size_t n_aux;
} lb_lance_note;

/* Commit a change. On LB_OK the version stands on disk for good. Errors: those of `change`; CONFLICT after many
 * tries; IO: the version before is still the newest, unless only its folder could not be synced. */
lb_status lb_lance_commit(lb_lance_work *work, lb_lance_change_fn change, void *user, const lb_lance_note *note,
                          uint64_t *version, lb_error *err);

/* Write a whole new file and sync it; its folder is not synced. `exclusive` false: it may replace one, by a rename.
 * Errors: CONFLICT: the name is taken; IO. */
lb_status lb_lance_place(lb_lance_work *work, const char *folder, const char *name, const void *bytes, size_t size,
                         bool exclusive, lb_error *err);

/* Make what was put into a folder last. Errors: IO. */
lb_status lb_lance_sync_folder(lb_lance_work *work, const char *folder, lb_error *err);

/* A random version-4 UUID in letters. */
typedef struct lb_uuid_text {
    char s[37];
} lb_uuid_text;
lb_uuid_text lb_uuid_new(void);

/* Copies in an arena; NULL where there is no memory. */
ProtobufCBinaryData *lb_lance_keep(lb_arena *arena, lb_str text, ProtobufCBinaryData *out);
lb_lance_entry *lb_lance_entry_new(lb_arena *arena, lb_str key, lb_str value);

#endif
