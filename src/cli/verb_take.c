/* lakebed take, sample and shuffle: scattered rows. */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

#include "row_list.h"
#include "rows.h"

/* ---------------------------------------------------------------- take */

/* The rows of the command line, then those of the files. */
static int take_list(cli *c, row_list *list)
{
    const cli_list *operands = &c->args.operands, *files = &c->args.given[OPT_ROWS_FROM];
    int result = EXIT_DONE;
    if (operands->count == 1 && files->count == 0)
        return report_usage(c, "take needs rows: lakebed take PATH ROW…, or --rows-from FILE");
    for (size_t i = 1; i < operands->count && result == EXIT_DONE; i++)
        result = row_list_word(c, list, operands->items[i]);
    for (size_t i = 0; i < files->count && result == EXIT_DONE; i++)
        result = row_list_file(c, list, files->items[i]);
    return result;
}

int verb_take(cli *c)
{
    row_list list = { .n_ranges = 0 };
    lb_take take = { .struct_size = sizeof take };
    rows_plan plan = { .take = &take };
    lb_table *table = NULL;
    int result = rows_form(c, &plan);
    if (result != EXIT_DONE)
        return result;
    rows_columns(c, &plan);
    take.columns = plan.columns.items;
    result = take_list(c, &list);
    if (result == EXIT_DONE)
        result = cli_open(c, c->args.operands.items[0], &table);
    if (result == EXIT_DONE)
        result = row_list_expand(c, &list, table);
    take.rows = list.rows;
    take.count = list.count;
    if (result == EXIT_DONE)
        result = rows_give(c, table, &plan);
    cli_close(c, table);
    rows_free(&plan);
    row_list_free(&list);
    return result;
}

/* ---------------------------------------------------------------- sample and shuffle */

/* A seed that is not given is made up, and told, so that the same rows can be had again. */
static uint64_t shuffle_seed(cli *c)
{
    uint32_t seed = 0;
    if (args_has(c, OPT_SEED))
        return args_number(c, OPT_SEED, 0);
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        seed = (uint32_t)(clock_seconds() * 1e6);
    char *note = cli_format("the seed is %" PRIu32 "; --seed %" PRIu32 " gives the same rows again", seed, seed);
    progress_note(c, note);
    free(note);
    return seed;
}

int verb_shuffle(cli *c)
{
    bool sample = c->args.verb == VERB_SAMPLE;
    lb_take take = { .struct_size = sizeof take, .shuffled = true, .sorted = args_has(c, OPT_SORTED) };
    rows_plan plan = { .take = &take };
    lb_table *table = NULL;
    int result = rows_form(c, &plan);
    if (result != EXIT_DONE)
        return result;
    rows_columns(c, &plan);
    take.columns = plan.columns.items;
    take.count = args_number(c, OPT_LIMIT, sample ? SHORT_ROWS : UINT64_MAX);
    take.from = plan.skipped = args_number(c, OPT_FROM, 0);
    if (rows_are_capped(c, &plan, take.count))
        take.count = TERMINAL_ROWS;
    result = cli_open(c, c->args.operands.items[0], &table);
    if (result == EXIT_DONE) {
        take.seed = shuffle_seed(c);
        result = rows_give(c, table, &plan);
    }
    cli_close(c, table);
    rows_free(&plan);
    return result;
}
