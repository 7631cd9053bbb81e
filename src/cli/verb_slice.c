/* lakebed slice, head and tail: a range of rows. */
#include "rows.h"

static void slice_rows(const cli *c, rows_plan *plan, lb_slice *slice)
{
    bool short_form = c->args.verb != VERB_SLICE;
    slice->struct_size = sizeof *slice;
    slice->columns = plan->columns.items;
    slice->offset = args_number(c, OPT_OFFSET, 0);
    slice->limit = args_number(c, OPT_LIMIT, short_form ? SHORT_ROWS : UINT64_MAX);
    if (rows_are_capped(c, plan, slice->limit))
        slice->limit = TERMINAL_ROWS;
}

/* The last rows need the number of all. */
static int slice_tail(cli *c, lb_table *table, lb_slice *slice)
{
    lb_error err = LB_ERROR_INIT;
    uint64_t rows = 0;
    if (lb_table_count(table, &rows, &err) != LB_OK)
        return report_error(c, &err);
    slice->offset = rows > slice->limit ? rows - slice->limit : 0;
    return EXIT_DONE;
}

int verb_slice(cli *c)
{
    lb_slice slice = { .offset = 0 };
    rows_plan plan = { .slice = &slice };
    lb_table *table = NULL;
    int result = rows_form(c, &plan);
    if (result != EXIT_DONE)
        return result;
    rows_columns(c, &plan);
    slice_rows(c, &plan, &slice);
    result = cli_open(c, c->args.operands.items[0], &table);
    if (result == EXIT_DONE && c->args.verb == VERB_TAIL)
        result = slice_tail(c, table, &slice);
    plan.skipped = slice.offset;
    if (result == EXIT_DONE)
        result = rows_give(c, table, &plan);
    cli_close(c, table);
    rows_free(&plan);
    return result;
}
