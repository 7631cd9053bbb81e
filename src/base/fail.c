#include "base/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FAIL_TEXT(name, text) text,
static const char *const fail_texts[] = { LB_STATUS_MAP(FAIL_TEXT) };

const char *lb_status_text(lb_status status)
{
    return (unsigned)status < LB_STATUS_COUNT ? fail_texts[status] : "unknown status";
}

void lb_error_clear(lb_error *err)
{
    if (err != NULL)
        *err = (lb_error)LB_ERROR_INIT;
}

/* Length of the longest prefix of at most `cap` bytes that does not cut a UTF-8 character. */
static size_t fail_cut(const char *text, size_t size, size_t cap)
{
    if (size <= cap)
        return size;
    while (cap > 0 && ((unsigned char)text[cap] & 0xC0) == 0x80)
        cap--;
    return cap;
}

void lb_copy_text(char *out, size_t cap, const char *text, size_t size)
{
    size_t n = fail_cut(text, size, cap - 1);

    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7F ? '?' : text[i];
    out[n] = '\0';
}

/* Format into a fixed array by way of a larger one, so that what does not fit is cut at a whole character. */
__attribute__((format(printf, 3, 0))) static void fail_format(char *out, size_t cap, const char *fmt, va_list ap)
{
    char text[1024];
    int n = vsnprintf(text, sizeof text, fmt, ap);

    if (n < 0)
        n = 0;
    lb_copy_text(out, cap, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

lb_status lb_fail(lb_error *err, lb_status code, lb_where where, const char *fmt, ...)
{
    va_list ap;

    if (err == NULL || err->code != LB_OK)
        return code;
    va_start(ap, fmt);
    fail_format(err->message, sizeof err->message, fmt, ap);
    va_end(ap);
    err->offset = where.offset;
    err->row = where.row;
    err->line = where.line;
    return err->code = code;
}

void lb_fail_path(lb_error *err, const char *path)
{
    if (err != NULL && err->code != LB_OK && err->path[0] == '\0' && path != NULL)
        lb_copy_text(err->path, sizeof err->path, path, strlen(path));
}

void lb_fail_hint(lb_error *err, const char *fmt, ...)
{
    va_list ap;

    if (err == NULL || err->code == LB_OK || err->hint[0] != '\0')
        return;
    va_start(ap, fmt);
    fail_format(err->hint, sizeof err->hint, fmt, ap);
    va_end(ap);
}

lb_status lb_fail_errno(lb_error *err, int errnum, const char *path, const char *what)
{
    /* Descriptors run out as memory does, and say as little of the file. */
    bool scarce = errnum == ENOMEM || errnum == EMFILE || errnum == ENFILE;
    lb_status code = errnum == ENOENT || errnum == ENOTDIR ? LB_NOTFOUND : scarce ? LB_NOMEM : LB_IO;
    char text[128];
    /* The GNU strerror_r returns the text, which need not be in the buffer. */
    const char *said = strerror_r(errnum, text, sizeof text);

    lb_fail(err, code, LB_NOWHERE, "cannot %s: %s", what, said);
    lb_fail_path(err, path);
    return code;
}

lb_status lb_fail_nomem(lb_error *err)
{
    return lb_fail(err, LB_NOMEM, LB_NOWHERE, "out of memory");
}
