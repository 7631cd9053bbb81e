/* Filling an lb_error: the first failure wins, since the deepest frame knows most. */
#ifndef LB_BASE_FAIL_H
#define LB_BASE_FAIL_H

#include "lakebed.h"

/* Where in a file something was found; -1 for what is not known. */
typedef struct lb_where {
    int64_t offset, row, line;
} lb_where;

#define LB_NOWHERE ((lb_where){ -1, -1, -1 })
#define LB_AT(byte) ((lb_where){ (int64_t)(byte), -1, -1 })

/* Return `code`; when `err` is given and holds no failure yet, fill it. */
__attribute__((format(printf, 4, 5))) lb_status lb_fail(lb_error *err, lb_status code, lb_where where, const char *fmt,
                                                        ...);

/* Add to a failure what the frame above knows; what is set already stays. */
void lb_fail_path(lb_error *err, const char *path);
__attribute__((format(printf, 2, 3))) void lb_fail_hint(lb_error *err, const char *fmt, ...);

/* A failed system call: `what` ("open", "read" …) with errno's text. ENOENT and ENOTDIR give NOTFOUND, ENOMEM
 * NOMEM, else IO. */
lb_status lb_fail_errno(lb_error *err, int errnum, const char *path, const char *what);

lb_status lb_fail_nomem(lb_error *err);

/* A failure of the machine or the caller's wish, which says nothing of the file: it is handed on, never taken for damage. */
static inline bool lb_is_callers(lb_status status)
{
    return status == LB_NOMEM || status == LB_BUDGET || status == LB_CANCELLED;
}

/* Set to "no failure". Takes NULL. */
void lb_error_clear(lb_error *err);

/* Copy text into a fixed array: cut at a whole UTF-8 character, control characters shown as '?'. */
void lb_copy_text(char *out, size_t cap, const char *text, size_t size);

/* Hand a failing status on. */
#define LB_TRY(call)                       \
    do {                                   \
        lb_status lb_try_status_ = (call); \
        if (lb_try_status_ != LB_OK)       \
            return lb_try_status_;         \
    } while (0)

#define LB_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LB_MIN(a, b) ((a) < (b) ? (a) : (b))
#define LB_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
