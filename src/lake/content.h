/* Is a file's content the one that was mapped? Its digests are compared range by range, over all threads, also inside
 * one file. */
#ifndef LB_LAKE_CONTENT_H
#define LB_LAKE_CONTENT_H

#include "base/context.h"
#include "format/entry.h"

typedef enum lb_range_state {
    LB_RANGE_UNCHECKED,
    LB_RANGE_SAME,
    LB_RANGE_DIFFERS,
    LB_RANGE_CUT /* the file ends inside it */
} lb_range_state;

typedef struct lb_content_check {
    /* Asked. */
    const char *path;
    const lb_entry *entry; /* with digests, or a content hash; lent until the check is done */
    bool ends_only;        /* first and last range only, and the blocks' start hashes: for a file that grew */
    /* Answered. */
    uint8_t *states; /* one lb_range_state a digest range; NULL: the entry has no digests */
    bool known;      /* there was something to compare with */
    bool differs;    /* some range, start hash or the content hash does not match */
    bool unreadable;
    const lb_error *error; /* why it is unreadable */
    uint32_t jobs;         /* parts of the check that are still to do */
} lb_content_check;

typedef struct lb_content_work {
    lb_arena *arena;              /* for states and errors */
    _Atomic uint64_t *bytes_done; /* counts up as bytes are read */
    _Atomic uint64_t *files_done; /* and as checks are done */
    void (*progress)(void *user); /* called after that, from any thread; may be NULL */
    void *progress_user;
} lb_content_work;

/* Bytes that a check will read, at most. */
uint64_t lb_content_check_bytes(const lb_content_check *check);

/* Do all checks. A file that cannot be read is marked, not an error.
 * Errors: CANCELLED, NOMEM, BUDGET. */
lb_status lb_content_check_all(lb_context *cx, lb_content_check *checks, size_t count, const lb_content_work *work,
                               lb_error *err);

/* Do the beginnings of the blocks that the file still has stand as they were mapped? *looked false: there is none to
 * look at. */
lb_status lb_content_starts(const char *path, const lb_entry *entry, bool *hold, bool *looked, lb_error *err);

#endif
