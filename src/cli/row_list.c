/* Row numbers from the command line and from files. */
#include "row_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_WORD = 48, PIECE = 65536 };

/* Ranges of more rows are held against the number of rows, also where that has to be counted first. */
#define ROWS_UNCOUNTED ((uint64_t)1 << 20)

static bool parse_range(const char *word, row_range *out)
{
    char first[ROW_WORD];
    const char *dash = strchr(word, '-');
    size_t n = dash == NULL ? strlen(word) : (size_t)(dash - word);
    if (n >= sizeof first)
        return false;
    memcpy(first, word, n);
    first[n] = '\0';
    if (!args_parse_number(first, &out->first))
        return false;
    out->last = out->first;
    return dash == NULL || (args_parse_number(dash + 1, &out->last) && out->last >= out->first);
}

static void add_range(row_list *list, row_range range)
{
    if (list->n_ranges == list->cap_ranges) {
        size_t cap = list->cap_ranges == 0 ? 64 : list->cap_ranges * 2;
        row_range *more = cli_alloc(cap, sizeof *more);
        if (list->ranges != NULL)
            memcpy(more, list->ranges, list->n_ranges * sizeof *more);
        free(list->ranges);
        list->ranges = more;
        list->cap_ranges = cap;
    }
    list->ranges[list->n_ranges++] = range;
}

int row_list_word(cli *c, row_list *list, const char *word)
{
    row_range range;
    if (!parse_range(word, &range))
        return report_usage(c, "a row is a whole number from 0, or a range as 3-9, not \"%.100s\"", word);
    add_range(list, range);
    return EXIT_DONE;
}

/* ---------------------------------------------------------------- files */

/* A file is read piece by piece; only the word of a line is kept. */
typedef struct row_lines {
    cli *c;
    row_list *list;
    const char *name;
    uint64_t line;
    char word[ROW_WORD];
    size_t size;
    bool ended; /* a blank stands behind the word */
} row_lines;

static int lines_refuse(row_lines *r)
{
    r->word[r->size] = '\0';
    report_line(r->c, "%s: line %" PRIu64 ": \"%s\" is no row; a row is a whole number from 0, or a range as 3-9",
                r->name, r->line, r->word);
    return EXIT_USAGE;
}

static int lines_end(row_lines *r)
{
    row_range range;
    r->word[r->size] = '\0';
    if (r->size != 0 && !parse_range(r->word, &range))
        return lines_refuse(r);
    if (r->size != 0)
        add_range(r->list, range);
    r->line++;
    r->size = 0;
    r->ended = false;
    return EXIT_DONE;
}

static int lines_take(row_lines *r, char byte)
{
    if (byte == '\n')
        return lines_end(r);
    if (byte == ' ' || byte == '\t' || byte == '\r') {
        r->ended = r->size != 0;
        return EXIT_DONE;
    }
    if (r->size + 3 > sizeof r->word)
        return lines_refuse(r);
    if (r->ended)
        r->word[r->size++] = ' ';
    r->word[r->size++] = byte == '\0' ? '?' : byte;
    return r->ended || byte == '\0' ? lines_refuse(r) : EXIT_DONE;
}

static int lines_read(row_lines *r, FILE *in)
{
    char *piece = cli_alloc(PIECE, 1);
    int result = EXIT_DONE;
    size_t n;
    while (result == EXIT_DONE && (n = fread(piece, 1, PIECE, in)) != 0)
        for (size_t i = 0; i < n && result == EXIT_DONE; i++)
            result = lines_take(r, piece[i]);
    if (result == EXIT_DONE)
        result = lines_end(r);
    if (result == EXIT_DONE && ferror(in)) {
        report_line(r->c, "%s: %s", r->name, strerror(errno));
        result = EXIT_SYSTEM;
    }
    free(piece);
    return result;
}

int row_list_file(cli *c, row_list *list, const char *path)
{
    bool standard = strcmp(path, "-") == 0;
    row_lines r = { .c = c, .list = list, .name = standard ? "standard input" : path, .line = 1 };
    FILE *in = standard ? stdin : fopen(path, "rbe");
    if (in == NULL) {
        report_line(c, "%s: %s", path, strerror(errno));
        return EXIT_SYSTEM;
    }
    int result = lines_read(&r, in);
    if (!standard)
        (void)fclose(in);
    return result;
}

/* ---------------------------------------------------------------- rows */

/* As the library says it of the rows of a list. */
static int refuse_past_end(cli *c, uint64_t row, uint64_t total)
{
    const char *path = c->args.operands.items[0];
    if (total == 0)
        report_line(c, "%s: row %" PRIu64 " is past the end: there are no rows", path, row);
    else
        report_line(c, "%s: row %" PRIu64 " is past the end: there are %" PRIu64 " rows, 0 to %" PRIu64, path, row,
                    total, total - 1);
    return EXIT_USAGE;
}

static int check_ranges(cli *c, const row_list *list, lb_table *table, uint64_t *count)
{
    lb_error err = LB_ERROR_INIT;
    int64_t known = lb_table_rows(table);
    uint64_t total = (uint64_t)known;
    *count = 0;
    for (size_t i = 0; i < list->n_ranges; i++) {
        const row_range *r = &list->ranges[i];
        uint64_t rows = r->last - r->first + 1;
        if (known < 0 && rows > ROWS_UNCOUNTED) {
            if (lb_table_count(table, &total, &err) != LB_OK)
                return report_error(c, &err);
            known = 0;
        }
        if (known >= 0 && r->last >= total)
            return refuse_past_end(c, r->last, total);
        if (__builtin_add_overflow(*count, rows, count) || *count > SIZE_MAX / sizeof *list->rows / 2)
            return report_usage(c, "these are more rows than memory holds");
    }
    return EXIT_DONE;
}

int row_list_expand(cli *c, row_list *list, lb_table *table)
{
    uint64_t count;
    int result = check_ranges(c, list, table, &count);
    if (result != EXIT_DONE)
        return result;
    list->rows = cli_alloc((size_t)count, sizeof *list->rows);
    for (size_t i = 0; i < list->n_ranges; i++)
        for (uint64_t row = list->ranges[i].first; row <= list->ranges[i].last; row++)
            list->rows[list->count++] = row;
    return EXIT_DONE;
}

void row_list_free(row_list *list)
{
    free(list->ranges);
    free(list->rows);
}
