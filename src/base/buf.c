#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void lb_buf_init(lb_buf *buf, lb_budget *budget)
{
    *buf = (lb_buf){ .budget = budget };
}

void lb_buf_free(lb_buf *buf)
{
    free(buf->data);
    lb_budget_give(buf->budget, buf->cap);
    *buf = (lb_buf){ .budget = buf->budget };
}

lb_status lb_buf_reserve(lb_buf *buf, size_t more, lb_error *err)
{
    size_t want, cap;

    if (more <= buf->cap - buf->size)
        return LB_OK;
    if (__builtin_add_overflow(buf->size, more, &want) || want > SIZE_MAX / 4)
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "a buffer of more than %zu bytes was asked for", SIZE_MAX / 4);
    cap = buf->cap + buf->cap / 2;
    cap = LB_MAX(LB_MAX(cap, want), 64);
    if (!lb_budget_take(buf->budget, cap - buf->cap)) {
        cap = want;
        if (!lb_budget_take(buf->budget, cap - buf->cap))
            return lb_fail(err, LB_BUDGET, LB_NOWHERE, "the memory limit of %llu MiB is used up",
                           (unsigned long long)buf->budget->limit >> 20);
    }
    uint8_t *data = realloc(buf->data, cap);
    if (data == NULL) {
        lb_budget_give(buf->budget, cap - buf->cap);
        return lb_fail_nomem(err);
    }
    buf->data = data;
    buf->cap = cap;
    return LB_OK;
}

lb_status lb_buf_append(lb_buf *buf, const void *bytes, size_t size, lb_error *err)
{
    LB_TRY(lb_buf_reserve(buf, size, err));
    lb_buf_put(buf, bytes, size);
    return LB_OK;
}

lb_status lb_buf_append_str(lb_buf *buf, const char *text, lb_error *err)
{
    return lb_buf_append(buf, text, strlen(text), err);
}

lb_status lb_buf_printf(lb_buf *buf, lb_error *err, const char *fmt, ...)
{
    for (size_t room = 128;;) {
        va_list ap;
        LB_TRY(lb_buf_reserve(buf, room, err));
        va_start(ap, fmt);
        int n = vsnprintf((char *)buf->data + buf->size, room, fmt, ap);
        va_end(ap);
        if (n < 0)
            return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a message could not be formatted");
        if ((size_t)n < room) {
            buf->size += (size_t)n;
            return LB_OK;
        }
        room = (size_t)n + 1;
    }
}

const char *lb_buf_text(lb_buf *buf)
{
    if (lb_buf_reserve(buf, 1, NULL) != LB_OK)
        return NULL;
    buf->data[buf->size] = '\0';
    return (const char *)buf->data;
}
