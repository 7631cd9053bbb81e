/* A lent run of bytes, not ended by NUL. */
#ifndef LB_BASE_STR_H
#define LB_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct lb_str {
    const char *at; /* never NULL where size > 0 */
    size_t size;
} lb_str;

#define LB_STR(literal) ((lb_str){ (literal), sizeof(literal) - 1 })

static inline lb_str lb_str_of(const char *text)
{
    return (lb_str){ text, text == NULL ? 0 : strlen(text) };
}

static inline int lb_str_compare(lb_str a, lb_str b)
{
    size_t n = a.size < b.size ? a.size : b.size;
    int c = n == 0 ? 0 : memcmp(a.at, b.at, n);
    return c != 0 ? c : (a.size > b.size) - (a.size < b.size);
}

static inline bool lb_str_equal(lb_str a, lb_str b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
}

static inline bool lb_str_is(lb_str a, const char *text)
{
    return lb_str_equal(a, lb_str_of(text));
}

/* Equal but for the case of ASCII letters. */
static inline bool lb_str_is_nocase(lb_str a, const char *text)
{
    for (size_t i = 0; i < a.size; i++) {
        char x = a.at[i], y = text[i];
        if (x >= 'A' && x <= 'Z')
            x = (char)(x - 'A' + 'a');
        if (y >= 'A' && y <= 'Z')
            y = (char)(y - 'A' + 'a');
        if (y == '\0' || x != y)
            return false;
    }
    return text[a.size] == '\0';
}

#endif
