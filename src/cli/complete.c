/* Candidates for the shells' completion, from the same tables as everything else, so that they cannot go stale.
 *
 * `lakebed __complete WORD… LAST` prints what LAST may become, a line each: the word, a tab and what it means. The line
 * `:files` or `:dirs` asks the shell for file names instead. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static void candidate(const char *typed, const char *before, const char *word, const char *help)
{
    char *whole = cli_format("%s%s", before, word);
    if (strncmp(whole, typed, strlen(typed)) == 0)
        (void)printf("%s%s%s\n", whole, *help == '\0' ? "" : "\t", help);
    free(whole);
}

static void complete_formats(const char *typed, const char *before)
{
    lb_context *cx = NULL;
    if (lb_context_new(NULL, &cx, NULL) != LB_OK)
        return;
    for (size_t i = 0; i < lb_format_count(cx); i++) {
        lb_format_info format = { .struct_size = sizeof format };
        if (lb_format_at(cx, i, &format, NULL) == LB_OK)
            candidate(typed, before, format.name, format.extensions == NULL ? "" : format.extensions);
    }
    lb_context_free(cx);
}

/* Values of an option; `before` is what stands before them in the same word, as "--to=". */
static void complete_value(cli_option *option, cli_verb_id verb, const char *typed, const char *before)
{
    char word[64];
    const char *at = cli_option_words(option, verb);
    cli_option_fit(option, verb);
    if (option->kind == KIND_FILE) {
        (void)puts(":files");
        return;
    }
    if (!option->read && option->id == OPT_FORMAT)
        complete_formats(typed, before);
    while (cli_next_word(&at, word, sizeof word))
        candidate(typed, before, word, "");
}

static void complete_options(cli_verb_id verb, const char *typed)
{
    cli_option option;
    for (size_t i = 0; cli_option_at(i, &option); i++)
        if (verb == VERB_COUNT_ ? option.id == OPT_HELP || option.id == OPT_VERSION : (option.verbs & 1u << verb) != 0)
            candidate(typed, "--", option.name, cli_option_help(&option, verb));
}

static void complete_verbs(const char *typed)
{
    for (cli_verb_id id = 0; id < VERB_SHOW; id++)
        candidate(typed, "", cli_verb_at(id)->name, cli_verb_at(id)->summary);
}

static void complete_operand(cli_verb_id verb, size_t before, const char *typed)
{
    if (verb == VERB_COUNT_ || verb == VERB_HELP)
        complete_verbs(typed);
    if (verb == VERB_HELP || (verb < VERB_COUNT_ && cli_verb_at(verb)->most <= before))
        return;
    if (verb < VERB_COUNT_ && cli_verb_at(verb)->folders) {
        if (before == 0)
            (void)puts(":dirs");
        return;
    }
    (void)puts(":files");
}

/* Does this word want the next one as its value? */
static bool wants_value(const char *word, cli_option *option)
{
    if (word[0] != '-' || word[1] == '\0')
        return false;
    if (word[1] == '-')
        return cli_option_find(word + 2, strlen(word + 2), option) && option->kind != KIND_FLAG;
    return word[2] == '\0' && cli_option_letter(word[1], option) && option->kind != KIND_FLAG;
}

int complete_words(int count, char **words)
{
    cli_option option;
    cli_verb_id verb = VERB_COUNT_;
    size_t operands = 0;
    bool value = false, literal = false;
    if (count == 0)
        return EXIT_DONE;
    for (int i = 0; i < count - 1; i++) {
        if (value) {
            value = false;
        } else if (!literal && strcmp(words[i], "--") == 0) {
            literal = true;
        } else if (literal || words[i][0] != '-' || words[i][1] == '\0') {
            if (verb == VERB_COUNT_ && operands == 0 && !literal && cli_verb_find(words[i]) != VERB_COUNT_)
                verb = cli_verb_find(words[i]);
            else
                operands++;
        } else {
            value = wants_value(words[i], &option);
        }
    }
    const char *last = words[count - 1];
    size_t name = strcspn(last, "=");
    if (verb == VERB_COUNT_ && (operands != 0 || literal))
        verb = VERB_SHOW;
    if (value) {
        complete_value(&option, verb, last, "");
    } else if (!literal && strncmp(last, "--", 2) == 0 && last[name] == '=') {
        char *before = cli_format("%.*s=", (int)name, last);
        if (cli_option_find(last + 2, name - 2, &option))
            complete_value(&option, verb, last, before);
        free(before);
    } else if (!literal && last[0] == '-') {
        complete_options(verb, last);
    } else {
        complete_operand(verb, operands, last);
    }
    return EXIT_DONE;
}
