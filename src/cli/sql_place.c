/* The text of a script, and places in it the way people count: lines and characters from 1. */
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CARET_BEFORE = 70, CARET_AFTER = 30, READ_STEP = 1 << 16 };

/* ---------------------------------------------------------------- reading */

/* Room for what the file says it holds and for one byte more, which shows its end. */
static size_t first_room(FILE *file)
{
    struct stat st;
    if (fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && (uint64_t)st.st_size < SIZE_MAX / 4)
        return (size_t)st.st_size + 1;
    return READ_STEP;
}

static void read_all(FILE *file, sql_text *out)
{
    size_t room = first_room(file), got;
    out->bytes = cli_alloc(room, 1);
    while ((got = fread(out->bytes + out->size, 1, room - out->size, file)) != 0) {
        out->size += got;
        if (out->size < room)
            continue;
        room += room / 2;
        char *more = realloc(out->bytes, room);
        if (more == NULL)
            cli_no_memory();
        out->bytes = more;
    }
}

int sql_read(cli *c, const char *path, sql_text *out)
{
    bool standard = strcmp(path, "-") == 0;
    *out = (sql_text){ .path = standard ? "standard input" : path, .line = 1 };
    FILE *file = standard ? stdin : fopen(path, "rbe");
    if (file == NULL) {
        report_line(c, "%s: %s", path, strerror(errno));
        return EXIT_SYSTEM;
    }
    errno = 0;
    read_all(file, out);
    int result = EXIT_DONE;
    if (ferror(file) != 0) {
        report_line(c, "%s: %s", out->path, strerror(errno));
        result = EXIT_SYSTEM;
    }
    if (!standard)
        (void)fclose(file);
    return result;
}

void sql_free(sql_text *text)
{
    free(text->bytes);
    text->bytes = NULL;
}

/* ---------------------------------------------------------------- places */

static void go_to(sql_text *text, size_t offset)
{
    if (offset < text->line_begin) {
        text->at = text->line_begin = 0;
        text->line = 1;
    }
    const char *at = text->bytes + (text->at < offset ? text->at : offset), *end = text->bytes + offset;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        at++;
        text->line++;
        text->line_begin = (size_t)(at - text->bytes);
    }
    text->at = offset;
}

static size_t count_characters(const char *at, const char *end)
{
    size_t n = 0;
    for (; at < end; at++)
        n += ((unsigned char)*at & 0xC0) != 0x80;
    return n;
}

/* Move `at` to the beginning of a character. */
static const char *align(const char *at, const char *begin)
{
    while (at > begin && ((unsigned char)*at & 0xC0) == 0x80)
        at--;
    return at;
}

/* Bytes [begin, end) as one clean line: what a terminal would obey is a blank, so that the caret stands right. */
static char *shown_text(const char *begin, const char *end)
{
    char *out = cli_format("%.*s", (int)(end - begin), begin);
    for (char *at = out; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            *at = ' ';
    return out;
}

static void show_line(const sql_text *text, size_t offset)
{
    const char *line = text->bytes + text->line_begin, *at = text->bytes + offset, *all = text->bytes + text->size;
    const char *end = memchr(at, '\n', (size_t)(all - at));
    if (end == NULL)
        end = all;
    const char *from = at - line > CARET_BEFORE ? align(at - CARET_BEFORE, line) : line;
    if (end - at > CARET_AFTER)
        end = align(at + CARET_AFTER, at);
    char *shown = shown_text(from, end), *before = shown_text(from, at), *clean = clean_text(shown);
    bool same = strcmp(clean, shown) == 0; /* else the caret would stand elsewhere */
    (void)fprintf(stderr, "  %s\n", clean);
    if (same)
        (void)fprintf(stderr, "  %*s^\n", (int)count_characters(before, before + strlen(before)), "");
    free(clean);
    free(before);
    free(shown);
}

void sql_report(cli *c, sql_text *text, uint64_t offset, bool caret, const char *message)
{
    size_t at = offset < text->size ? (size_t)offset : text->size;
    go_to(text, at);
    size_t column = count_characters(text->bytes + text->line_begin, text->bytes + at) + 1;
    char *place = cli_format("line %" PRIu64 ", column %zu: ", text->line, column);
    if (strncmp(message, place, strlen(place)) == 0) /* the library has said it */
        message += strlen(place);
    report_line(c, "%s%s%s%s", text->path == NULL ? "" : text->path, text->path == NULL ? "" : ": ", place, message);
    free(place);
    if (caret)
        show_line(text, at);
}
