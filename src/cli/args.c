/* Parsing of the command line: words into a verb, its options and its operands, each checked against the tables. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void list_add(cli_list *list, const char *item)
{
    if (list->cap < list->count + 2) {
        size_t cap = list->cap == 0 ? 4 : list->cap * 2;
        const char **more = cli_alloc(cap, sizeof *more);
        if (list->items != NULL)
            memcpy(more, list->items, list->count * sizeof *more);
        free(list->items);
        list->items = more;
        list->cap = cap;
    }
    list->items[list->count++] = item;
    list->items[list->count] = NULL;
}

void args_free(cli_args *args)
{
    for (size_t i = 0; i < OPT_COUNT; i++)
        free(args->given[i].items);
    free(args->operands.items);
    free(args->read_names.items);
    free(args->read_values.items);
    lb_read_options_free(args->read);
}

const char *args_text(const cli *c, cli_option_id id, const char *other)
{
    const cli_list *given = &c->args.given[id];
    return given->count == 0 ? other : given->items[given->count - 1];
}

uint64_t args_number(const cli *c, cli_option_id id, uint64_t other)
{
    return args_has(c, id) ? c->args.number[id] : other;
}

bool args_parse_number(const char *text, uint64_t *out)
{
    uint64_t n = 0;
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        unsigned digit = (unsigned)(*text - '0');
        if (n > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *out = n;
    return true;
}

/* ---------------------------------------------------------------- one pass over the words */

typedef struct scan {
    cli *c;
    char **words;
    int count, at;
    bool verb_known;      /* the first operand was seen */
    bool only_operands;   /* after `--` */
    const char *unknown;  /* first option that is in no table */
    const char *missing;  /* name of an option at the end that wants a value */
    const char *unwanted; /* name of a flag that was given a value */
} scan;

static void scan_keep(scan *s, const cli_option *option, const char *value)
{
    cli_args *args = &s->c->args;
    if (option->read) {
        list_add(&args->read_names, option->name);
        list_add(&args->read_values, value);
    } else {
        list_add(&args->given[option->id], value == NULL ? "" : value);
    }
}

/* An option without a value so far: the next word is its value, whatever that looks like. */
static void scan_take_value(scan *s, const cli_option *option)
{
    if (option->kind == KIND_FLAG)
        scan_keep(s, option, NULL);
    else if (s->at < s->count)
        scan_keep(s, option, s->words[s->at++]);
    else if (s->missing == NULL)
        s->missing = option->name;
}

static void scan_long(scan *s, const char *word)
{
    cli_option option;
    size_t length = strcspn(word + 2, "=");
    const char *value = word[2 + length] == '=' ? word + 2 + length + 1 : NULL;
    if (!cli_option_find(word + 2, length, &option)) {
        s->unknown = s->unknown == NULL ? word : s->unknown;
        return;
    }
    if (value == NULL)
        scan_take_value(s, &option);
    else if (option.kind != KIND_FLAG)
        scan_keep(s, &option, value);
    else if (s->unwanted == NULL)
        s->unwanted = option.name;
}

/* `-n 5`, `-n5`; and flags together, as `-qh`. */
static void scan_short(scan *s, const char *word)
{
    cli_option option;
    for (const char *p = word + 1; *p != '\0'; p++) {
        if (!cli_option_letter(*p, &option)) {
            s->unknown = s->unknown == NULL ? word : s->unknown;
            return;
        }
        if (option.kind != KIND_FLAG && p[1] != '\0') {
            scan_keep(s, &option, p + 1 + (p[1] == '='));
            return;
        }
        scan_take_value(s, &option);
    }
}

static void scan_operand(scan *s, const char *word)
{
    cli_args *args = &s->c->args;
    if (!s->verb_known && !s->only_operands) {
        args->verb = cli_verb_find(word);
        s->verb_known = true;
        if (args->verb != VERB_COUNT_)
            return;
    }
    s->verb_known = true;
    list_add(&args->operands, word);
}

/* `head -20` means `head -n 20`, as for tail and sample; elsewhere a word like -20 is an operand, for the verb to
 * judge. */
static void scan_dash_number(scan *s, const char *word)
{
    cli_args *args = &s->c->args;
    if (args->verb == VERB_HEAD || args->verb == VERB_TAIL || args->verb == VERB_SAMPLE)
        list_add(&args->given[OPT_LIMIT], word + 1);
    else
        scan_operand(s, word);
}

static void scan_words(scan *s)
{
    while (s->at < s->count) {
        const char *word = s->words[s->at++];
        if (s->only_operands || word[0] != '-' || word[1] == '\0')
            scan_operand(s, word);
        else if (strcmp(word, "--") == 0)
            s->only_operands = true;
        else if (word[1] == '-')
            scan_long(s, word);
        else if (word[1] >= '0' && word[1] <= '9')
            scan_dash_number(s, word);
        else
            scan_short(s, word);
    }
}

/* ---------------------------------------------------------------- judging what was found */

static const char *verb_title(cli_verb_id id)
{
    return id == VERB_SHOW ? "lakebed PATH" : cli_verb_at(id)->name;
}

/* The first operand is no verb. It is a path if it exists or looks like one. */
static int judge_first_operand(cli *c, const scan *s)
{
    typo t;
    if (c->args.operands.count == 0) {
        c->args.verb = VERB_COUNT_;
        return EXIT_DONE;
    }
    const char *word = c->args.operands.items[0];
    c->args.verb = VERB_SHOW;
    if (s->only_operands || access(word, F_OK) == 0 || strpbrk(word, "./") != NULL)
        return EXIT_DONE;
    typo_begin(&t, word);
    for (cli_verb_id id = 0; id < VERB_SHOW; id++)
        typo_offer(&t, cli_verb_at(id)->name);
    if (typo_best(&t) != NULL)
        return report_usage(c, "\"%s\" is neither a verb nor a file; did you mean lakebed %s?", word, typo_best(&t));
    return report_usage(c, "\"%s\" is neither a verb nor a file", word);
}

static int fail_unknown(const cli *c, const char *word)
{
    typo t;
    cli_option option;
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    char *bare = name + strspn(name, "-");
    typo_begin(&t, bare);
    for (size_t i = 0; cli_option_at(i, &option); i++)
        if (c->args.verb == VERB_COUNT_ || (option.verbs & 1u << c->args.verb) != 0)
            typo_offer(&t, option.name);
    if (word[1] == '-' && typo_best(&t) != NULL)
        return report_usage(c, "there is no option %s; did you mean --%s?", name, typo_best(&t));
    if (word[1] != '-' && cli_option_find(bare, strlen(bare), &option))
        return report_usage(c, "there is no option %s; did you mean --%s?", name, option.name);
    return report_usage(c, "there is no option %s", name);
}

/* An option of other verbs: name the first that takes it. */
static int fail_elsewhere(const cli *c, const cli_option *option)
{
    char verbs[256] = "";
    size_t n = 0;
    for (cli_verb_id id = 0; id < VERB_SHOW; id++)
        if ((option->verbs & 1u << id) != 0 && n < sizeof verbs)
            n += (size_t)snprintf(verbs + n, sizeof verbs - n, "%s%s", n == 0 ? "" : ", ", cli_verb_at(id)->name);
    return report_usage(c, "%s does not take --%s; these do: %s", verb_title(c->args.verb), option->name, verbs);
}

static int check_number(cli *c, const cli_option *option, const char *value)
{
    uint64_t n;
    bool digits = *value != '\0' && value[strspn(value, "0123456789")] == '\0';
    if (args_parse_number(value, &n) && n >= option->least) {
        c->args.number[option->id] = n;
        return option->id == OPT_THREADS && n > 1024 ? report_usage(c, "--threads takes at most 1024, not %s", value)
                                                     : EXIT_DONE;
    }
    if (digits && strspn(value, "0") != strlen(value))
        return report_usage(c, "--%s takes at most %s, not %s", option->name, "9223372036854775807", value);
    return report_usage(c, "--%s takes a whole number from %d, not \"%s\"", option->name, (int)option->least, value);
}

/* "union, strict or text"; offers each to `t` as well. False if `value` is one of them. */
static bool list_choices(const char *words, const char *value, typo *t, char *out, size_t cap)
{
    char word[64], next[64];
    size_t n = 0;
    bool more = cli_next_word(&words, next, sizeof next);
    out[0] = '\0';
    while (more) {
        memcpy(word, next, sizeof word);
        more = cli_next_word(&words, next, sizeof next);
        if (strcmp(word, value) == 0)
            return false;
        typo_offer(t, word);
        if (n < cap)
            n += (size_t)snprintf(out + n, cap - n, "%s%s", n == 0 ? "" : more ? ", " : " or ", word);
    }
    return true;
}

static int check_choice(const cli *c, const cli_option *option, const char *value)
{
    typo t;
    char all[256];
    typo_begin(&t, value);
    if (!list_choices(cli_option_words(option, c->args.verb), value, &t, all, sizeof all))
        return EXIT_DONE;
    if (typo_best(&t) != NULL)
        return report_usage(c, "--%s takes %s, not \"%s\"; did you mean %s?", option->name, all, value, typo_best(&t));
    return report_usage(c, "--%s takes %s, not \"%s\"", option->name, all, value);
}

static int check_value(cli *c, const cli_option *option, const char *value)
{
    if (option->kind == KIND_NUMBER)
        return check_number(c, option, value);
    if (option->kind == KIND_CHOICE)
        return check_choice(c, option, value);
    if (option->kind != KIND_FLAG && *value == '\0')
        return report_usage(c, "--%s needs a value: --%s %s", option->name, option->name, option->value);
    return EXIT_DONE;
}

static int check_option(cli *c, const cli_option *option)
{
    bool fits = (option->verbs & 1u << c->args.verb) != 0;
    int status = EXIT_DONE;
    if (option->read) {
        for (size_t i = 0; i < c->args.read_names.count && !fits; i++)
            if (strcmp(c->args.read_names.items[i], option->name) == 0)
                return fail_elsewhere(c, option);
        return EXIT_DONE;
    }
    const cli_list *given = &c->args.given[option->id];
    if (given->count != 0 && !fits)
        return fail_elsewhere(c, option);
    for (size_t i = 0; i < given->count && status == EXIT_DONE; i++)
        status = check_value(c, option, given->items[i]);
    return status;
}

static int check_operands(const cli *c)
{
    const cli_verb *verb = cli_verb_at(c->args.verb);
    const cli_list *operands = &c->args.operands;
    if (operands->count < verb->least)
        return report_usage(c, "%s needs %s: lakebed %s [options] %s", verb->name, verb->operands, verb->name,
                            verb->operands);
    if (operands->count <= verb->most)
        return EXIT_DONE;
    const char *extra = operands->items[verb->most];
    if (c->args.verb == VERB_SHOW && cli_verb_find(extra) != VERB_COUNT_)
        return report_usage(c, "the verb comes first: lakebed %s %s", extra, operands->items[0]);
    if (verb->most == 0)
        return report_usage(c, "%s takes no \"%s\"", verb_title(c->args.verb), extra);
    return report_usage(c, "%s takes one %s; \"%s\" is too much", verb_title(c->args.verb), verb->operands, extra);
}

static int set_read_options(cli *c)
{
    lb_error err = LB_ERROR_INIT;
    cli_args *args = &c->args;
    if (args->read_names.count == 0)
        return EXIT_DONE;
    if (lb_read_options_new(&args->read, &err) != LB_OK)
        return report_error(c, &err);
    for (size_t i = 0; i < args->read_names.count; i++)
        if (lb_read_options_set(args->read, args->read_names.items[i], args->read_values.items[i], &err) != LB_OK)
            return report_error(c, &err);
    return EXIT_DONE;
}

static int judge(cli *c, const scan *s)
{
    cli_option option;
    int status = c->args.verb == VERB_COUNT_ ? judge_first_operand(c, s) : EXIT_DONE;
    if (status != EXIT_DONE)
        return status;
    if (s->unknown != NULL)
        return fail_unknown(c, s->unknown);
    if (s->unwanted != NULL)
        return report_usage(c, "--%s takes no value", s->unwanted);
    if (args_has(c, OPT_HELP) || args_has(c, OPT_VERSION))
        return EXIT_DONE;
    if (s->missing != NULL && cli_option_find(s->missing, strlen(s->missing), &option)) {
        cli_option_fit(&option, c->args.verb);
        return report_usage(c, "--%s needs a value: --%s %s", option.name, option.name, option.value);
    }
    if (c->args.verb == VERB_COUNT_)
        return report_usage(c, "nothing to do: give a verb or a path");
    for (size_t i = 0; cli_option_at(i, &option); i++) {
        cli_option_fit(&option, c->args.verb);
        if ((status = check_option(c, &option)) != EXIT_DONE)
            return status;
    }
    status = check_operands(c);
    return status == EXIT_DONE ? set_read_options(c) : status;
}

bool args_parse(cli *c, int count, char **words, int *status)
{
    scan s = { .c = c, .words = words, .count = count };
    c->args.verb = VERB_COUNT_;
    if (count == 0) {
        help_overview(stderr);
        *status = EXIT_USAGE;
        return false;
    }
    scan_words(&s);
    *status = judge(c, &s);
    if (*status != EXIT_DONE)
        return false;
    if (args_has(c, OPT_HELP) && c->args.verb == VERB_COUNT_)
        help_overview(stdout);
    else if (args_has(c, OPT_HELP))
        help_verb(stdout, c->args.verb);
    else if (args_has(c, OPT_VERSION))
        (void)verb_version(c);
    else
        return true;
    *status = out_finish(c, EXIT_DONE);
    return false;
}
