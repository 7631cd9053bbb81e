/* Globs: agree with plain recursion where that is quick, and never crash on the rest. Input: pattern, NUL, path. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Only `*`, `**`, `?` and plain ASCII. */
static bool slow_match(const char *p, size_t n, const char *s, size_t m)
{
    if (n == 0)
        return m == 0;
    if (n > 1 && p[0] == '*' && p[1] == '*')
        return slow_match(p + 2, n - 2, s, m) || (m > 0 && slow_match(p, n, s + 1, m - 1));
    if (*p == '*')
        return slow_match(p + 1, n - 1, s, m) || (m > 0 && *s != '/' && slow_match(p, n, s + 1, m - 1));
    return m > 0 && (*p == '?' ? *s != '/' : *p == *s) && slow_match(p + 1, n - 1, s + 1, m - 1);
}

static bool is_plain(lb_str text, const char *without)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.at[i] >= 0x80 || strchr(without, text.at[i]) != NULL)
            return false;
    return true;
}

/* Every byte that means something escaped: the text then matches itself. */
static void check_escaped(lb_str path)
{
    char pattern[512];
    size_t n = 0;
    if (path.size == 0 || path.size > 200 || path.at[0] == '/' || path.at[path.size - 1] == '/' || !is_plain(path, ""))
        return;
    for (size_t i = 0; i < path.size; i++) {
        if (strchr("*?[]{},\\!", path.at[i]) != NULL)
            pattern[n++] = '\\';
        pattern[n++] = path.at[i];
    }
    if (!lb_glob_match((lb_str){ pattern, n }, path))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size == 0 ? NULL : memchr(data, 0, size);
    if (nul == NULL)
        return 0;
    lb_str pattern = { (const char *)data, (size_t)(nul - data) };
    lb_str path = { (const char *)nul + 1, size - pattern.size - 1 };
    bool match = lb_glob_match(pattern, path);
    bool quick = pattern.size < 12 && path.size < 12 && pattern.size > 1 && pattern.at[0] != '/' &&
                 memchr(pattern.at, '/', pattern.size) != NULL && memmem(pattern.at, pattern.size, "**/", 3) == NULL;
    if (quick && is_plain(pattern, "[]{}\\") && is_plain(path, "") &&
        match != slow_match(pattern.at, pattern.size, path.at, path.size))
        abort();
    check_escaped(path);
    return 0;
}
