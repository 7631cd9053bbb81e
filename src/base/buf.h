/* A growable run of bytes. */
#ifndef LB_BASE_BUF_H
#define LB_BASE_BUF_H

#include "base/arena.h"

typedef struct lb_buf {
    uint8_t *data;
    size_t size, cap;
    lb_budget *budget; /* NULL: no limit */
} lb_buf;

void lb_buf_init(lb_buf *buf, lb_budget *budget);
void lb_buf_free(lb_buf *buf); /* leaves an empty, usable one */

/* Room for `more` bytes after size. Errors: BUDGET, NOMEM. */
lb_status lb_buf_reserve(lb_buf *buf, size_t more, lb_error *err);

lb_status lb_buf_append(lb_buf *buf, const void *bytes, size_t size, lb_error *err);
lb_status lb_buf_append_str(lb_buf *buf, const char *text, lb_error *err);
__attribute__((format(printf, 3, 4))) lb_status lb_buf_printf(lb_buf *buf, lb_error *err, const char *fmt, ...);

/* End the text in NUL without counting it, and lend it. NULL on no memory. */
const char *lb_buf_text(lb_buf *buf);

/* As lb_buf_append where `reserve` made room. */
static inline void lb_buf_put(lb_buf *buf, const void *bytes, size_t size)
{
    if (size != 0)
        memcpy(buf->data + buf->size, bytes, size);
    buf->size += size;
}

static inline void lb_buf_putc(lb_buf *buf, char c)
{
    buf->data[buf->size++] = (uint8_t)c;
}

#endif
