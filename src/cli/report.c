/* Everything the command says on standard error, and numbers the way people read them. */
#include "cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void cli_no_memory(void)
{
    (void)fputs("lakebed: out of memory\n", stderr);
    exit(EXIT_SYSTEM);
}

void *cli_alloc(size_t count, size_t size)
{
    void *p = calloc(count == 0 ? 1 : count, size == 0 ? 1 : size);
    if (p == NULL)
        cli_no_memory();
    return p;
}

static char *format_va(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

static char *format_va(const char *fmt, va_list ap)
{
    char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0)
        cli_no_memory();
    return text;
}

char *cli_format(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = format_va(fmt, ap);
    va_end(ap);
    return text;
}

/* Length and code of a character at `p` that a terminal obeys instead of showing: controls, and what changes the direction
 * of text. 0: none stands here. */
static size_t unseen_length(const unsigned char *p, unsigned *code)
{
    *code = p[0];
    if (p[0] < 0x20 || p[0] == 0x7F)
        return 1;
    if (p[0] == 0xC2 && p[1] >= 0x80 && p[1] <= 0x9F) {
        *code = p[1];
        return 2;
    }
    if (p[0] != 0xE2 || (p[1] != 0x80 && p[1] != 0x81) || p[2] < 0x80 || p[2] > 0xBF)
        return 0;
    *code = 0x2000 | (p[1] & 1u) << 6 | (p[2] & 0x3Fu);
    return (*code >= 0x200E && *code <= 0x200F) || (*code >= 0x2028 && *code <= 0x202E) ||
                   (*code >= 0x2066 && *code <= 0x2069)
               ? 3
               : 0;
}

static int put_escape(char *out, size_t cap, unsigned code)
{
    if (code == '\n' || code == '\t' || code == '\r')
        return snprintf(out, cap, "\\%c", code == '\n' ? 'n' : code == '\t' ? 't' : 'r');
    return snprintf(out, cap, code < 0x80 ? "\\x%02x" : "\\u%04x", code);
}

char *clean_bytes(const char *text, size_t size)
{
    size_t cap = (size + 1) * 4, at = 0; /* an escape has at most four bytes for each one it stands for */
    char *out = cli_alloc(cap, 1);
    for (const unsigned char *p = (const unsigned char *)text, *end = p + size; p < end;) {
        unsigned code;
        size_t n = unseen_length(p, &code);
        if (n == 0)
            out[at++] = (char)*p++;
        else
            at += (size_t)put_escape(out + at, cap - at, code);
        p += n;
    }
    return out;
}

char *clean_text(const char *text)
{
    return clean_bytes(text, strlen(text));
}

static void print_prefix(const cli *c)
{
    (void)fputs(c->err_colour ? "\033[1;31mlakebed:\033[0m " : "lakebed: ", stderr);
}

/* Lines on standard error come after what was printed before on standard output, also on one terminal. */
static void print_line(cli *c, const char *text)
{
    char *clean = clean_text(text);
    (void)fflush(stdout);
    progress_clear(c);
    print_prefix(c);
    (void)fprintf(stderr, "%s\n", clean);
    free(clean);
}

void report_line(cli *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = format_va(fmt, ap);
    va_end(ap);
    print_line(c, text);
    free(text);
}

int report_usage(const cli *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = format_va(fmt, ap), *clean = clean_text(text);
    va_end(ap);
    const char *name = c->args.verb < VERB_COUNT_ ? cli_verb_at(c->args.verb)->name : "";
    print_prefix(c);
    (void)fprintf(stderr, "%s\n", clean);
    (void)fprintf(stderr, "  see: lakebed %s%s--help\n", name, *name == '\0' ? "" : " ");
    free(clean);
    free(text);
    return EXIT_USAGE;
}

int report_status(lb_status status)
{
    switch (status) {
    case LB_OK:
        return EXIT_DONE;
    case LB_USAGE:
        return EXIT_USAGE;
    case LB_CORRUPT:
    case LB_UNSUPPORTED:
    case LB_BUDGET:
    case LB_STALE:
        return EXIT_DATA;
    case LB_IO:
    case LB_NOTFOUND:
    case LB_NOMEM:
    case LB_CONFLICT:
    case LB_CANCELLED:
        return EXIT_SYSTEM;
    default:
        return EXIT_FAULT;
    }
}

/* "row 3, line 5, byte 120: ", the parts that apply. */
static void place_text(const lb_error *err, char *out, size_t cap)
{
    const struct {
        const char *word;
        int64_t at;
    } part[] = { { "row", err->row }, { "line", err->line }, { "byte", err->offset } };
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i].at >= 0 && n < cap)
            n += (size_t)snprintf(out + n, cap - n, "%s%s %" PRId64, n == 0 ? "" : ", ", part[i].word, part[i].at);
    if (n != 0 && n < cap)
        (void)snprintf(out + n, cap - n, ": ");
}

int report_error(cli *c, const lb_error *err)
{
    char place[128];
    place_text(err, place, sizeof place);
    const char *message = err->message[0] != '\0' ? err->message : lb_status_text(err->code);
    report_line(c, "%s%s%s%s", err->path, err->path[0] == '\0' ? "" : ": ", place, message);
    if (err->hint[0] != '\0') {
        char *clean = clean_text(err->hint);
        (void)fprintf(stderr, "  %s\n", clean);
        free(clean);
    }
    return report_status(err->code);
}

cli_text number_text(uint64_t n)
{
    char digits[24];
    cli_text out;
    int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out.s[at++] = ',';
        out.s[at++] = digits[i];
    }
    out.s[at] = '\0';
    return out;
}

cli_text size_text(uint64_t bytes)
{
    static const char units[] = "kMGTPE";
    cli_text out;
    double x = (double)bytes / 1000;
    size_t unit = 0;
    if (bytes < 1000)
        return plural_text(bytes, "byte", "bytes");
    while (x >= 999.95 && units[unit + 1] != '\0') {
        x /= 1000;
        unit++;
    }
    (void)snprintf(out.s, sizeof out.s, "%.1f %cB", x, units[unit]);
    return out;
}

cli_text plural_text(uint64_t n, const char *one, const char *many)
{
    cli_text out;
    (void)snprintf(out.s, sizeof out.s, "%.27s %.18s", number_text(n).s, n == 1 ? one : many);
    return out;
}
