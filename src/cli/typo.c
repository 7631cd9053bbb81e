/* Nearest word to a mistyped one. */
#include "cli.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

enum { TYPO_MAX = 63 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Damerau-Levenshtein (two neighbours swapped count once), without regard to case. Both words are at most TYPO_MAX
 * long. */
static unsigned typo_distance(const char *a, size_t n, const char *b, size_t m)
{
    unsigned row[3][TYPO_MAX + 1], *before = row[0], *above = row[1], *here = row[2];
    for (size_t j = 0; j <= m; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        here[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            here[j] = least(least(above[j], here[j - 1]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) && y == tolower((unsigned char)a[i - 2]))
                here[j] = least(here[j], before[j - 2] + 1);
        }
        unsigned *old = before;
        before = above;
        above = here;
        here = old;
    }
    return above[m];
}

void typo_begin(typo *t, const char *typed)
{
    *t = (typo){ .typed = typed, .distance = UINT_MAX };
}

void typo_offer(typo *t, const char *candidate)
{
    size_t n = strlen(t->typed), m = strlen(candidate);
    if (n == 0 || n > TYPO_MAX || m > TYPO_MAX)
        return;
    unsigned distance = typo_distance(t->typed, n, candidate, m), near = m < 3 ? 1 : (unsigned)(m + 1) / 3;
    if (n >= 3 && m > n && strncasecmp(t->typed, candidate, n) == 0)
        distance = least(distance, near); /* a beginning: `--fing` */
    if (distance > near || distance >= t->distance)
        return;
    t->distance = distance;
    memcpy(t->best, candidate, m + 1);
}

const char *typo_best(const typo *t)
{
    return t->best[0] == '\0' ? NULL : t->best;
}
