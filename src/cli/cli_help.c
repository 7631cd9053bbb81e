/* Help texts, made from the tables. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum { HELP_WIDTH = 100, HELP_INDENT = 27 };

static int column_width(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

/* Text from column HELP_INDENT on, broken between words. */
static void put_wrapped(FILE *out, const char *text)
{
    int at = HELP_INDENT;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        char *word = cli_format("%.*s", (int)length, text);
        int width = column_width(word);
        if (at > HELP_INDENT && at + 1 + width > HELP_WIDTH) {
            (void)fprintf(out, "\n%*s", HELP_INDENT, "");
            at = HELP_INDENT;
        } else if (at > HELP_INDENT) {
            (void)fputc(' ', out);
            at++;
        }
        (void)fputs(word, out);
        at += width;
        free(word);
        text += length + (text[length] == ' ');
    }
    (void)fputc('\n', out);
}

static void put_option(FILE *out, const cli_option *option, cli_verb_id verb)
{
    char letter[8] = "    ";
    if (option->letter != 0)
        (void)snprintf(letter, sizeof letter, "-%c, ", option->letter);
    char *head = cli_format("  %s--%s%s%s", letter, option->name, option->value == NULL ? "" : " ",
                            option->value == NULL ? "" : option->value);
    int width = column_width(head);
    (void)fputs(head, out);
    if (width + 2 > HELP_INDENT)
        (void)fprintf(out, "\n%*s", HELP_INDENT, "");
    else
        (void)fprintf(out, "%*s", HELP_INDENT - width, "");
    char *help = cli_format("%s%s", cli_option_help(option, verb), option->repeatable ? " (repeatable)" : "");
    put_wrapped(out, help);
    free(help);
    free(head);
}

static void put_options(FILE *out, const char *title, cli_verb_id verb, bool read, bool general)
{
    cli_option option;
    bool any = false;
    for (size_t i = 0; cli_option_at(i, &option); i++) {
        if ((option.verbs & 1u << verb) == 0 || option.read != read || option.general != general)
            continue;
        if (!any)
            (void)fprintf(out, "\n%s\n", title);
        any = true;
        cli_option_fit(&option, verb);
        put_option(out, &option, verb);
    }
}

static void put_examples(FILE *out, const char *examples)
{
    (void)fputs("\nExamples:\n", out);
    while (*examples != '\0') {
        size_t length = strcspn(examples, "\n");
        (void)fprintf(out, "  %.*s\n", (int)length, examples);
        examples += length + (examples[length] == '\n');
    }
}

void help_verb(FILE *out, cli_verb_id id)
{
    const cli_verb *verb = cli_verb_at(id);
    (void)fprintf(out, "Usage: lakebed%s%s [options]%s%s\n\n", *verb->name == '\0' ? "" : " ", verb->name,
                  *verb->operands == '\0' ? "" : " ", verb->operands);
    (void)fprintf(out, "lakebed%s%s: %s.\n", *verb->name == '\0' ? " PATH" : " ", verb->name, verb->summary);
    if (verb->about != NULL)
        (void)fprintf(out, "\n%s\n", verb->about);
    put_options(out, "Options:", id, false, false);
    put_options(out, "How a file is to be read (what is not said comes from the map, or else from the format):", id,
                true, false);
    put_options(out, "General:", id, false, true);
    put_examples(out, verb->examples);
}

void help_overview(FILE *out)
{
    (void)fputs("Lakebed maps directories of data files and reads any rows of them.\n\n"
                "Usage: lakebed PATH\n"
                "       lakebed VERB [options] …\n\n",
                out);
    for (cli_verb_id id = 0; id < VERB_COUNT_; id++) {
        const cli_verb *verb = cli_verb_at(id);
        char *head = cli_format("  %s%s%s", verb->name, *verb->name == '\0' || *verb->operands == '\0' ? "" : " ",
                                verb->operands);
        (void)fprintf(out, "%s%*s%s\n", head, 20 - column_width(head), "", verb->summary);
        free(head);
    }
    (void)fputs("\nEvery verb has --help, with its options and examples. The manual: man lakebed.\n", out);
}

int verb_help(cli *c)
{
    if (c->args.operands.count == 0) {
        help_overview(stdout);
        return EXIT_DONE;
    }
    const char *name = c->args.operands.items[0];
    cli_verb_id id = cli_verb_find(name);
    if (id != VERB_COUNT_) {
        help_verb(stdout, id);
        return EXIT_DONE;
    }
    typo t;
    typo_begin(&t, name);
    for (id = 0; id < VERB_SHOW; id++)
        typo_offer(&t, cli_verb_at(id)->name);
    if (typo_best(&t) != NULL)
        return report_usage(c, "there is no verb \"%s\"; did you mean %s?", name, typo_best(&t));
    return report_usage(c, "there is no verb \"%s\"", name);
}

int verb_version(cli *c)
{
    (void)c;
    (void)printf("lakebed %s\n", lb_version());
    return EXIT_DONE;
}
