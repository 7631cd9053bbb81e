#include "base/path.h"

#include <stdlib.h>
#include <unistd.h>

/* ---------------------------------------------------------------- joining and splitting */

char *lb_path_join(lb_arena *arena, const char *dir, const char *name)
{
    size_t d = strlen(dir), n = strlen(name);
    bool slash = d != 0 && n != 0 && dir[d - 1] != '/';
    char *out = lb_arena_alloc(arena, d + slash + n + 1, 1);
    if (out == NULL)
        return NULL;
    memcpy(out, dir, d);
    if (slash)
        out[d] = '/';
    memcpy(out + d + slash, name, n);
    return out;
}

/* Append the parts of `path` to the absolute path in `out` (`size` bytes long, "" is the root);
 * returns the new size. */
static size_t path_append(char *out, size_t size, const char *path)
{
    while (*path != '\0') {
        size_t n = strcspn(path, "/");
        if (n == 2 && path[0] == '.' && path[1] == '.') {
            while (size > 0 && out[--size] != '/')
                ;
        } else if (n != 0 && !(n == 1 && path[0] == '.')) {
            out[size++] = '/';
            memcpy(out + size, path, n);
            size += n;
        }
        path += n + (path[n] == '/');
    }
    return size;
}

char *lb_path_normal(lb_arena *arena, const char *path)
{
    char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (path[0] != '/' && cwd == NULL) {
        arena->why = LB_IO; /* the working directory is gone */
        return NULL;
    }
    size_t room = (cwd == NULL ? 0 : strlen(cwd)) + strlen(path) + 3;
    char *out = lb_arena_alloc(arena, room, 1);
    if (out != NULL) {
        size_t size = cwd == NULL ? 0 : path_append(out, 0, cwd);
        size = path_append(out, size, path);
        if (size == 0)
            out[size++] = '/';
        out[size] = '\0';
    }
    free(cwd);
    return out;
}

bool lb_path_is_inside(lb_str rel_path)
{
    if (rel_path.size == 0 || memchr(rel_path.at, '\0', rel_path.size) != NULL)
        return false;
    size_t begin = 0;
    for (size_t i = 0; i <= rel_path.size; i++) {
        if (i < rel_path.size && rel_path.at[i] != '/')
            continue;
        lb_str part = { rel_path.at + begin, i - begin };
        if (part.size == 0 || lb_str_is(part, ".") || lb_str_is(part, ".."))
            return false;
        begin = i + 1;
    }
    return true;
}

lb_str lb_path_name(lb_str path)
{
    size_t end = path.size;
    while (end > 0 && path.at[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path.at[begin - 1] != '/')
        begin--;
    return end == begin ? LB_STR("") : (lb_str){ path.at + begin, end - begin };
}

lb_str lb_path_extension(lb_str path)
{
    lb_str name = lb_path_name(path);
    for (size_t i = name.size; i > 1; i--)
        if (name.at[i - 1] == '.')
            return (lb_str){ name.at + i, name.size - i };
    return LB_STR("");
}

/* ---------------------------------------------------------------- the closest name */

#define CLOSEST_MAX 64 /* longer names are not option, verb or column names anybody mistypes by one letter */

static char path_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Edits (a letter more, less or other, two neighbours swapped) between a and b; both at most CLOSEST_MAX long. */
static unsigned closest_distance(const char *a, size_t n, const char *b, size_t m)
{
    unsigned rows[3][CLOSEST_MAX + 1];
    unsigned *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= m; j++) {
        last[j] = (unsigned)j;
        before[j] = 0;
    }
    for (size_t i = 1; i <= n; i++) {
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            char x = path_lower(a[i - 1]), y = path_lower(b[j - 1]);
            unsigned best = last[j - 1] + (x != y);
            best = LB_MIN(best, last[j] + 1);
            best = LB_MIN(best, now[j - 1] + 1);
            if (i > 1 && j > 1 && x == path_lower(b[j - 2]) && y == path_lower(a[i - 2]))
                best = LB_MIN(best, before[j - 2] + 1);
            now[j] = best;
        }
        unsigned *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[m];
}

const char *lb_closest_name(const char *name, const char *const *names, size_t count)
{
    size_t n = strlen(name);
    unsigned limit = LB_MAX(1u, (unsigned)(n / 3));
    const char *best = NULL;
    if (n == 0 || n > CLOSEST_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t m = strlen(names[i]);
        if (m > CLOSEST_MAX)
            continue;
        unsigned distance = closest_distance(name, n, names[i], m);
        if (distance <= limit) {
            best = names[i];
            if (distance == 0)
                break;
            limit = distance - 1;
        }
    }
    return best;
}
