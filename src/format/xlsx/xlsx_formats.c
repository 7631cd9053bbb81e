/* Which number formats show dates and times: ECMA-376 part 1, 18.8.30 and 18.8.31. */
#include "format/xlsx/xlsx.h"

xl_shows xl_shows_of_builtin(uint32_t id)
{
    if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || id == 36 || (id >= 50 && id <= 54) || id == 57 || id == 58)
        return XL_DATE;
    if ((id >= 18 && id <= 21) || id == 45 || id == 47)
        return XL_TIME;
    /* 32 to 35, 55 and 56 show a time in Chinese and a date or a time in Japanese. */
    if (id == 22 || (id >= 32 && id <= 35) || id == 55 || id == 56)
        return XL_DATETIME;
    return id == 46 ? XL_ELAPSED : XL_NUMBER;
}

typedef struct format_scan {
    bool date, time, elapsed, digits;
    bool minute_next; /* an `m` here is minutes: hours stood before */
    bool month;       /* an `m` that is minutes only if seconds follow */
} format_scan;

static char format_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* `[h]`, `[mm]`, `[ss]` count on; other brackets are colours, conditions and languages. */
static size_t format_bracket(format_scan *f, lb_str code, size_t i)
{
    const char *close = memchr(code.at + i, ']', code.size - i);
    size_t stop = close == NULL ? code.size : (size_t)(close - code.at);
    char first = i + 1 < stop ? format_lower(code.at[i + 1]) : '\0';
    bool same = first == 'h' || first == 'm' || first == 's';

    for (size_t k = i + 1; k < stop; k++)
        same = same && format_lower(code.at[k]) == first;
    if (same) {
        f->elapsed = true;
        f->minute_next = first == 'h';
    }
    return stop;
}

/* A letter that stands for a part of a date or time; `i` moves to the last of its run. */
static size_t format_letters(format_scan *f, lb_str code, size_t i)
{
    char c = format_lower(code.at[i]);
    size_t stop = i;

    while (stop + 1 < code.size && format_lower(code.at[stop + 1]) == c)
        stop++;
    if (c == 'm') {
        bool minutes = f->minute_next && stop - i < 2;
        f->time |= minutes;
        f->date |= f->month;
        f->month = !minutes;
        f->minute_next = false;
        return stop;
    }
    if (c == 's' && f->month) /* the `m` before was minutes */
        f->time = true;
    else
        f->date |= f->month;
    f->month = false;
    f->time |= c == 'h' || c == 's';
    f->date |= c == 'y' || c == 'd' || c == 'e' || c == 'g' || c == 'b';
    f->minute_next = c == 'h';
    return stop;
}

static bool format_begins(lb_str code, size_t i, const char *word)
{
    size_t n = strlen(word);

    return code.size - i >= n && lb_str_is_nocase((lb_str){ code.at + i, n }, word);
}

/* One piece of a format's code; returns where its last byte stands. */
static size_t format_piece(format_scan *f, lb_str code, size_t i)
{
    const char *close;

    switch (format_lower(code.at[i])) {
    case '"':
        close = i + 1 < code.size ? memchr(code.at + i + 1, '"', code.size - i - 1) : NULL;
        return close == NULL ? code.size : (size_t)(close - code.at);
    case '\\':
    case '_':
    case '*':
        return i + 1;
    case '[':
        return format_bracket(f, code, i);
    case 'g':
        if (format_begins(code, i, "general"))
            return i + 6;
        return format_letters(f, code, i);
    case 'a':
        if (format_begins(code, i, "am/pm")) {
            f->time = true;
            return i + 4;
        }
        if (format_begins(code, i, "a/p")) {
            f->time = true;
            return i + 2;
        }
        return i;
    case 'e':
        if (i + 1 < code.size && (code.at[i + 1] == '+' || code.at[i + 1] == '-'))
            return i + 1;
        return format_letters(f, code, i);
    case 'y':
    case 'm':
    case 'd':
    case 'h':
    case 's':
    case 'b':
        return format_letters(f, code, i);
    case '#':
    case '?':
        f->digits = true;
        return i;
    default:
        return i;
    }
}

xl_shows xl_shows_of_code(lb_str code)
{
    format_scan f = { .date = false };

    /* Further sections are for negative numbers, zero and text. */
    for (size_t i = 0; i < code.size && code.at[i] != ';'; i++)
        i = format_piece(&f, code, i);
    f.date |= f.month;
    if (f.digits && !f.elapsed)
        return XL_NUMBER;
    if (f.elapsed)
        return XL_ELAPSED;
    return f.date ? f.time ? XL_DATETIME : XL_DATE : f.time ? XL_TIME : XL_NUMBER;
}
