/* Globs, matched as a set of places in the pattern that walks along the path: no pattern is slow. */
#include "base/path.h"
#include "base/utf8.h"

#define GLOB_MAX 4096 /* bytes of a pattern; a path has no more on the systems we know */
#define GLOB_DEPTH 32 /* of braces; deeper ones stand for themselves */

/* `next` of a brace: from `{` and from each `,` the following `,` or `}` of the same level, from `}` GLOB_CLOSE. 0: the
 * byte is ordinary. `after`: where the pattern goes on behind the whole alternation. */
#define GLOB_CLOSE UINT16_MAX

typedef struct glob_pattern {
    const char *at;
    size_t size;
    uint16_t next[GLOB_MAX], after[GLOB_MAX];
} glob_pattern;

typedef struct glob_set {
    uint64_t bits[GLOB_MAX / 64 + 1];
} glob_set;

static size_t glob_char_size(const char *p, size_t size)
{
    uint32_t code_point;
    return lb_utf8_decode((const uint8_t *)p, size, &code_point);
}

/* Size of the class that begins at `[`, with both brackets; 0: it never closes, so the bracket is ordinary. */
static size_t glob_class_size(const char *p, size_t size)
{
    size_t i = 1;
    if (i < size && (p[i] == '!' || p[i] == '^'))
        i++;
    if (i < size && p[i] == ']')
        i++;
    for (; i < size; i++)
        if (p[i] == ']')
            return i + 1;
    return 0;
}

/* Bytes of the element at `i`: an escape, a class, a character. */
static size_t glob_element_size(const glob_pattern *g, size_t i)
{
    const char *p = g->at + i;
    size_t left = g->size - i;
    if (*p == '\\' && left > 1)
        return 1 + glob_char_size(p + 1, left - 1);
    if (*p == '[') {
        size_t n = glob_class_size(p, left);
        return n != 0 ? n : 1;
    }
    return glob_char_size(p, left);
}

typedef struct glob_level {
    size_t open, last; /* the `{`, and its latest `{` or `,` */
} glob_level;

static void glob_close(glob_pattern *g, glob_level level, size_t close)
{
    g->next[level.last] = (uint16_t)close;
    g->next[close] = GLOB_CLOSE;
    for (size_t i = level.open; g->next[i] != GLOB_CLOSE; i = g->next[i])
        g->after[i] = (uint16_t)(close + 1);
    g->after[close] = (uint16_t)(close + 1);
}

/* Pair the braces. What is never closed, or nested too deep, stays ordinary. */
static void glob_pair(glob_pattern *g)
{
    glob_level levels[GLOB_DEPTH];
    size_t depth = 0, ignored = 0;
    memset(g->next, 0, g->size * sizeof *g->next);
    memset(g->after, 0, g->size * sizeof *g->after);
    for (size_t i = 0; i < g->size; i += glob_element_size(g, i)) {
        if (g->at[i] == '{') {
            if (depth == GLOB_DEPTH)
                ignored++;
            else
                levels[depth++] = (glob_level){ i, i };
        } else if (g->at[i] == ',' && depth > 0 && ignored == 0) {
            g->next[levels[depth - 1].last] = (uint16_t)i;
            levels[depth - 1].last = i;
        } else if (g->at[i] == '}' && ignored > 0) {
            ignored--;
        } else if (g->at[i] == '}' && depth > 0) {
            glob_close(g, levels[--depth], i);
        }
    }
    /* The last comma of an open level was never linked on; unlink those before it. */
    while (depth > 0) {
        glob_level level = levels[--depth];
        for (size_t i = level.open; i != level.last;) {
            size_t following = g->next[i];
            g->next[i] = 0;
            i = following;
        }
    }
}

static bool glob_is_double_star(const glob_pattern *g, size_t i)
{
    return g->at[i] == '*' && i + 1 < g->size && g->at[i + 1] == '*';
}

/* May `**` + `/` at `i` stand for nothing at all? Only where a component begins. */
static bool glob_begins_component(const glob_pattern *g, size_t i)
{
    return i == 0 || g->at[i - 1] == '/' || g->next[i - 1] != 0;
}

static void glob_push(glob_set *set, uint16_t *todo, size_t *n, size_t i)
{
    uint64_t bit = UINT64_C(1) << (i % 64);
    if ((set->bits[i / 64] & bit) != 0)
        return;
    set->bits[i / 64] |= bit;
    todo[(*n)++] = (uint16_t)i;
}

/* Add place `i` and all that can be reached from it without a byte of the path. Each place enters `todo` once. */
static void glob_add(const glob_pattern *g, glob_set *set, size_t place)
{
    uint16_t todo[GLOB_MAX + 1];
    size_t n = 0;
    glob_push(set, todo, &n, place);
    while (n > 0) {
        size_t i = todo[--n];
        if (i == g->size)
            continue;
        if (glob_is_double_star(g, i)) {
            glob_push(set, todo, &n, i + 2);
            if (i + 2 < g->size && g->at[i + 2] == '/' && glob_begins_component(g, i))
                glob_push(set, todo, &n, i + 3);
        } else if (g->at[i] == '*') {
            glob_push(set, todo, &n, i + 1);
        } else if (g->next[i] != 0 && g->at[i] == '{') {
            for (size_t j = i; g->next[j] != GLOB_CLOSE; j = g->next[j])
                glob_push(set, todo, &n, j + 1);
        } else if (g->next[i] != 0) {
            glob_push(set, todo, &n, g->after[i]);
        }
    }
}

static uint32_t glob_decode(const char *p, size_t size, size_t *length)
{
    uint32_t c;
    *length = lb_utf8_decode((const uint8_t *)p, size, &c);
    return c;
}

static bool glob_class_has(const char *p, size_t size, uint32_t c)
{
    size_t i = 1, n;
    bool not = p[i] == '!' || p[i] == '^', found = false;
    i += not ;
    for (bool first = true; i < size - 1; first = false) {
        if (p[i] == ']' && !first)
            break;
        uint32_t low = glob_decode(p + i, size - i, &n), high = low;
        i += n;
        if (i + 1 < size - 1 && p[i] == '-') {
            high = glob_decode(p + i + 1, size - i - 1, &n);
            i += 1 + n;
        }
        if (c >= low && c <= high)
            found = true;
    }
    return found != not ;
}

/* Does the element at `i`, no `**`, take the character `c` (`text`, `n` bytes)? Gives the place after it. */
static bool glob_takes(const glob_pattern *g, size_t i, const char *text, size_t n, uint32_t c, size_t *then)
{
    const char *p = g->at + i;
    size_t element = glob_element_size(g, i);
    *then = i + element;
    if (*p == '*') {
        *then = i;
        return c != '/';
    }
    if (*p == '?')
        return c != '/';
    if (*p == '[' && element > 1)
        return c != '/' && glob_class_has(p, element, c);
    if (g->next[i] != 0)
        return false; /* a brace takes nothing itself */
    size_t escape = *p == '\\' && element > 1;
    return element - escape == n && memcmp(p + escape, text, n) == 0;
}

/* A `**` that took a character stays, but may no longer stand for nothing. Places are visited in ascending order and
 * lead only forwards, so that one that is also reached anew was added as such before. */
static void glob_stay(const glob_pattern *g, glob_set *to, size_t i)
{
    to->bits[i / 64] |= UINT64_C(1) << (i % 64);
    glob_add(g, to, i + 2);
}

static void glob_step(const glob_pattern *g, const glob_set *from, glob_set *to, const char *text, size_t n, uint32_t c)
{
    size_t words = g->size / 64 + 1, then;
    memset(to->bits, 0, words * sizeof *to->bits);
    for (int staying = 0; staying < 2; staying++) {
        for (size_t w = 0; w < words; w++) {
            for (uint64_t bits = from->bits[w]; bits != 0; bits &= bits - 1) {
                size_t i = w * 64 + (size_t)__builtin_ctzll(bits);
                if (i == g->size || glob_is_double_star(g, i) != (staying == 1))
                    continue;
                if (staying == 1)
                    glob_stay(g, to, i);
                else if (glob_takes(g, i, text, n, c, &then))
                    glob_add(g, to, then);
            }
        }
    }
}

static bool glob_run(const glob_pattern *g, lb_str path)
{
    glob_set sets[2];
    size_t words = g->size / 64 + 1, n;
    unsigned turn = 0;
    memset(sets[0].bits, 0, words * sizeof sets[0].bits[0]);
    glob_add(g, &sets[0], 0);
    for (size_t i = 0; i < path.size; i += n) {
        uint32_t c = glob_decode(path.at + i, path.size - i, &n);
        glob_step(g, &sets[turn], &sets[1 - turn], path.at + i, n, c);
        turn = 1 - turn;
    }
    return (sets[turn].bits[g->size / 64] >> (g->size % 64) & 1) != 0;
}

bool lb_glob_match(lb_str pattern, lb_str path)
{
    glob_pattern g;
    if (pattern.size == 0 || pattern.size > GLOB_MAX)
        return false;
    g.at = pattern.at;
    g.size = pattern.size;
    if (memchr(pattern.at, '/', pattern.size) == NULL) {
        path = lb_path_name(path);
    } else if (pattern.at[0] == '/') { /* `/x.csv`: x.csv in the root itself */
        g.at++;
        g.size--;
    }
    if (g.size == 0)
        return false;
    glob_pair(&g);
    return glob_run(&g, path);
}
