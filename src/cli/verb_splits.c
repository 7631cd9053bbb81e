/* lakebed splits: files cut into runs of whole records, for engines that read files in pieces. */
#include "cli.h"
#include "json_out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TARGET_DEFAULT ((uint64_t)64 << 20)

/* ---------------------------------------------------------------- sizes */

/* "1000000", "64MB" (powers of 1,000), "64MiB" and "64M" (of 1,024). */
static bool parse_size(const char *text, uint64_t *out)
{
    static const char prefixes[] = "kmgt";
    char digits[24];
    size_t n = strspn(text, "0123456789");
    uint64_t unit = 1, base = 1024;
    if (n == 0 || n >= sizeof digits)
        return false;
    memcpy(digits, text, n);
    digits[n] = '\0';
    text += n + (text[n] == ' ');
    const char *prefix = *text == '\0' ? NULL : strchr(prefixes, *text | 0x20);
    if (prefix != NULL && *prefix != '\0') {
        const char *rest = text + 1;
        base = strcasecmp(rest, "b") == 0 ? 1000 : 1024;
        if (*rest != '\0' && strcasecmp(rest, "b") != 0 && strcasecmp(rest, "ib") != 0)
            return false;
        for (long i = 0; i <= prefix - prefixes; i++)
            unit *= base;
    } else if (*text != '\0' && strcasecmp(text, "b") != 0) {
        return false;
    }
    return args_parse_number(digits, out) && !__builtin_mul_overflow(*out, unit, out) && *out != 0 &&
           *out <= (uint64_t)INT64_MAX;
}

/* ---------------------------------------------------------------- printing */

static int splits_json(cli *c, const lb_splits *splits, uint64_t target, bool checked)
{
    json_out j = { .file = stdout };
    lb_error err = LB_ERROR_INIT;
    jout_open(&j, '{');
    jput_count(&j, "target", target);
    jput_bool(&j, "checked", checked);
    jout_key(&j, "splits");
    jout_open(&j, '[');
    for (uint64_t i = 0; i < lb_splits_count(splits); i++) {
        lb_split split = { .struct_size = sizeof split };
        if (lb_splits_at(splits, i, &split, &err) != LB_OK)
            return report_error(c, &err);
        jout_open(&j, '{');
        jput_text(&j, "path", split.path);
        jput_count(&j, "split", split.number);
        jput_known(&j, "first_byte", split.first_byte);
        jput_known(&j, "bytes", split.bytes);
        jput_known(&j, "end_byte", split.first_byte < 0 ? -1 : split.first_byte + split.bytes);
        jput_count(&j, "first_row", split.first_row);
        jput_count(&j, "rows", split.rows);
        jput_known(&j, "header_bytes", split.header_bytes);
        jout_close(&j, '}');
    }
    jout_close(&j, ']');
    jout_close(&j, '}');
    jout_end(&j);
    return EXIT_DONE;
}

static void add_number(grid *g, int64_t n)
{
    char text[24] = "-";
    if (n >= 0)
        (void)snprintf(text, sizeof text, "%" PRId64, n);
    grid_add(g, text);
}

static int splits_people(cli *c, const lb_splits *splits)
{
    lb_error err = LB_ERROR_INIT;
    int result = EXIT_DONE;
    grid *g = grid_new("file|>split|>first byte|>bytes|>first row|>rows|>header bytes");
    for (uint64_t i = 0; i < lb_splits_count(splits) && result == EXIT_DONE; i++) {
        lb_split split = { .struct_size = sizeof split };
        if (lb_splits_at(splits, i, &split, &err) != LB_OK) {
            result = report_error(c, &err);
            break;
        }
        grid_add(g, split.path);
        add_number(g, (int64_t)split.number);
        add_number(g, split.first_byte);
        add_number(g, split.bytes);
        add_number(g, (int64_t)split.first_row);
        add_number(g, (int64_t)split.rows);
        add_number(g, split.header_bytes);
    }
    if (result == EXIT_DONE)
        grid_print(g, "");
    grid_free(g);
    return result;
}

/* ---------------------------------------------------------------- the verb */

static int splits_give(cli *c, lb_table *table, uint64_t target)
{
    lb_error err = LB_ERROR_INIT;
    lb_splits *splits = NULL;
    bool check = args_has(c, OPT_CHECK);
    int result = EXIT_DONE;
    lb_status status = lb_table_splits(table, target, &splits, &err);
    if (status == LB_OK && check)
        status = lb_splits_check(splits, &err);
    progress_end(c);
    if (status != LB_OK)
        result = report_error(c, &err);
    else if (args_has(c, OPT_JSON))
        result = splits_json(c, splits, target, check);
    else
        result = splits_people(c, splits);
    if (status == LB_OK && check) {
        char *note = cli_format("%s read alone: all rows are there, and the same",
                                plural_text(lb_splits_count(splits), "split", "splits").s);
        progress_note(c, note);
        free(note);
    }
    lb_splits_free(splits);
    return result;
}

int verb_splits(cli *c)
{
    const char *size = args_text(c, OPT_TARGET, NULL);
    uint64_t target = TARGET_DEFAULT;
    lb_table *table = NULL;
    if (size != NULL && !parse_size(size, &target))
        return report_usage(c, "--target takes a size as 64MB, 64MiB or 1000000, not \"%s\"", size);
    int result = cli_open(c, c->args.operands.items[0], &table);
    if (result == EXIT_DONE)
        result = splits_give(c, table, target);
    cli_close(c, table);
    return result;
}
