#include "json_out.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void json_begin_value(json_out *j)
{
    if (j->comma)
        (void)fputc(',', j->file);
    j->comma = true;
}

void jout_open(json_out *j, char bracket)
{
    json_begin_value(j);
    (void)fputc(bracket, j->file);
    j->comma = false;
}

void jout_close(json_out *j, char bracket)
{
    (void)fputc(bracket, j->file);
    j->comma = true;
}

/* Length of the UTF-8 character at `p`, or 0 where there is none. The NUL at the text's end ends a cut character
 * too. */
static size_t utf8_length(const unsigned char *p)
{
    unsigned low = 0x80, high = 0xBF;
    size_t n;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xC2 || p[0] > 0xF4)
        return 0;
    n = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (p[0] == 0xE0)
        low = 0xA0;
    else if (p[0] == 0xED)
        high = 0x9F;
    else if (p[0] == 0xF0)
        low = 0x90;
    else if (p[0] == 0xF4)
        high = 0x8F;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (p[i] < 0x80 || p[i] > 0xBF)
            return 0;
    return n;
}

/* `text` ends with a NUL behind its `size` bytes, and may hold others. */
static void json_string(FILE *file, const char *text, size_t size)
{
    static const char letters[0x20] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r' };
    const unsigned char *p = (const unsigned char *)text, *end = p + size;
    (void)fputc('"', file);
    while (p < end) {
        size_t n = utf8_length(p);
        if (n == 0)
            (void)fputs("\xEF\xBF\xBD", file);
        else if (*p == '"' || *p == '\\')
            (void)fprintf(file, "\\%c", *p);
        else if (*p < 0x20 && letters[*p] != '\0')
            (void)fprintf(file, "\\%c", letters[*p]);
        else if (*p < 0x20)
            (void)fprintf(file, "\\u%04x", *p);
        else
            (void)fwrite(p, 1, n, file);
        p += n == 0 ? 1 : n;
    }
    (void)fputc('"', file);
}

void jout_key(json_out *j, const char *key)
{
    json_begin_value(j);
    json_string(j->file, key, strlen(key));
    (void)fputc(':', j->file);
    j->comma = false;
}

void jout_text(json_out *j, const char *text)
{
    json_begin_value(j);
    if (text == NULL)
        (void)fputs("null", j->file);
    else
        json_string(j->file, text, strlen(text));
}

void jout_count(json_out *j, uint64_t n)
{
    json_begin_value(j);
    (void)fprintf(j->file, "%" PRIu64, n);
}

void jout_known(json_out *j, int64_t n)
{
    if (n < 0)
        jout_raw(j, "null");
    else
        jout_count(j, (uint64_t)n);
}

void jout_real(json_out *j, double x)
{
    json_begin_value(j);
    (void)fprintf(j->file, "%.3f", isfinite(x) ? x : 0.0);
}

void jout_bool(json_out *j, bool b)
{
    jout_raw(j, b ? "true" : "false");
}

void jout_raw(json_out *j, const char *json)
{
    json_begin_value(j);
    (void)fputs(json, j->file);
}

void jout_end(json_out *j)
{
    (void)fputc('\n', j->file);
}

void jput_text(json_out *j, const char *key, const char *text)
{
    jout_key(j, key);
    jout_text(j, text);
}

void jput_bytes(json_out *j, const char *key, const char *text, size_t size)
{
    jout_key(j, key);
    if (text == NULL) {
        jout_text(j, NULL);
        return;
    }
    json_begin_value(j);
    json_string(j->file, text, size);
}

void jput_count(json_out *j, const char *key, uint64_t n)
{
    jout_key(j, key);
    jout_count(j, n);
}

void jput_known(json_out *j, const char *key, int64_t n)
{
    jout_key(j, key);
    jout_known(j, n);
}

void jput_real(json_out *j, const char *key, double x)
{
    jout_key(j, key);
    jout_real(j, x);
}

void jput_bool(json_out *j, const char *key, bool b)
{
    jout_key(j, key);
    jout_bool(j, b);
}

void jput_raw(json_out *j, const char *key, const char *json)
{
    jout_key(j, key);
    jout_raw(j, json);
}
