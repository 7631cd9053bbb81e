/* Columns of text, aligned by how wide a terminal shows them. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { GRID_MAX_COLUMNS = 16 };

struct grid {
    size_t columns, cells, cap;
    bool right[GRID_MAX_COLUMNS];
    char **cell;
};

static void grid_push(grid *g, char *text)
{
    if (g->cells == g->cap) {
        size_t cap = g->cap == 0 ? 64 : g->cap * 2;
        char **more = cli_alloc(cap, sizeof *more);
        if (g->cell != NULL)
            memcpy(more, g->cell, g->cells * sizeof *more);
        free(g->cell);
        g->cell = more;
        g->cap = cap;
    }
    g->cell[g->cells++] = text;
}

grid *grid_new(const char *heads)
{
    grid *g = cli_alloc(1, sizeof *g);
    while (g->columns < GRID_MAX_COLUMNS) {
        g->right[g->columns++] = *heads == '>';
        heads += *heads == '>';
        size_t n = strcspn(heads, "|");
        grid_push(g, cli_format("%.*s", (int)n, heads));
        if (heads[n] == '\0')
            break;
        heads += n + 1;
    }
    return g;
}

void grid_add(grid *g, const char *text)
{
    grid_push(g, clean_text(text));
}

/* Columns a terminal needs; where the C library cannot tell, one a character. */
static size_t text_width(const char *text)
{
    size_t width = 0, left = strlen(text);
    mbstate_t state = { 0 };
    while (left != 0) {
        wchar_t wide;
        size_t n = mbrtowc(&wide, text, left, &state);
        if (n == 0 || n > left) {
            memset(&state, 0, sizeof state);
            n = 1;
            width += ((unsigned char)*text & 0xC0) != 0x80;
        } else {
            int w = wcwidth(wide);
            width += w < 0 ? 1 : (size_t)w;
        }
        text += n;
        left -= n;
    }
    return width;
}

static void put_spaces(size_t n)
{
    while (n-- > 0)
        (void)fputc(' ', stdout);
}

static void grid_print_line(const grid *g, size_t first, const size_t *widths, const char *indent)
{
    size_t pending = 0; /* spaces that the next text needs before it: none stand at a line's end */
    (void)fputs(indent, stdout);
    for (size_t i = 0; i < g->columns; i++) {
        const char *text = g->cell[first + i];
        size_t pad = widths[i] - text_width(text);
        if (*text == '\0') {
            pending += widths[i] + 2;
            continue;
        }
        put_spaces(pending + (g->right[i] ? pad : 0));
        (void)fputs(text, stdout);
        pending = 2 + (g->right[i] ? 0 : pad);
    }
    (void)fputc('\n', stdout);
}

void grid_print(const grid *g, const char *indent)
{
    size_t widths[GRID_MAX_COLUMNS] = { 0 };
    for (size_t i = 0; i < g->cells; i++) {
        size_t width = text_width(g->cell[i]);
        if (width > widths[i % g->columns])
            widths[i % g->columns] = width;
    }
    for (size_t i = 0; i + g->columns <= g->cells; i += g->columns)
        grid_print_line(g, i, widths, indent);
}

void grid_free(grid *g)
{
    for (size_t i = 0; i < g->cells; i++)
        free(g->cell[i]);
    free(g->cell);
    free(g);
}
