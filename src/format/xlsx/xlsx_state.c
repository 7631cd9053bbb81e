/* What a map keeps of a workbook (column `open_state`).
 *
 *   state | place of rows … | where groups of shared strings begin … | size and name of each sheet … */
#include "base/number.h"
#include "format/xlsx/xlsx.h"

typedef struct state {
    char mark[8];
    uint32_t header_row, first_row, first_column, spacing;
    uint64_t n_rows, n_places, n_strings, names_size;
} state;

static const char state_mark[8] = { 'X', 'L', 'S', 'X', 'v', '0', '0', '2' };

static uint64_t state_groups(const state *s)
{
    return s->n_strings / XL_STRINGS_GROUP + (s->n_strings % XL_STRINGS_GROUP != 0);
}

lb_status xl_state_put(const xl_table *t, lb_buf *out, lb_error *err)
{
    state s = { .header_row = t->header_row,
                .first_row = t->first_row,
                .first_column = t->first_column,
                .spacing = (uint32_t)t->spacing,
                .n_rows = t->n_rows,
                .n_places = t->n_places,
                .n_strings = t->strings.count,
                .names_size = t->names.size };

    memcpy(s.mark, state_mark, sizeof state_mark);
    LB_TRY(lb_buf_append(out, &s, sizeof s, err));
    LB_TRY(lb_buf_append(out, t->places, t->n_places * sizeof *t->places, err));
    LB_TRY(lb_buf_append(out, t->strings.offsets, (size_t)state_groups(&s) * sizeof(uint64_t), err));
    return lb_buf_append(out, t->names.at, t->names.size, err);
}

/* Is everything there that the head tells of, and nothing else? */
static bool state_is_whole(const state *s, const lb_entry *known)
{
    uint64_t left = known->open_state.size - sizeof *s;

    if (s->n_places > left / sizeof(xl_place))
        return false;
    left -= s->n_places * sizeof(xl_place);
    if (state_groups(s) > left / sizeof(uint64_t))
        return false;
    return left - state_groups(s) * sizeof(uint64_t) == s->names_size;
}

static bool state_read(const lb_entry *known, state *s)
{
    if (known->open_state.size < sizeof *s)
        return false;
    memcpy(s, known->open_state.at, sizeof *s);
    return memcmp(s->mark, state_mark, sizeof state_mark) == 0 && state_is_whole(s, known);
}

static bool state_holds(const state *s, const lb_entry *known)
{
    return s->first_row >= 1 && s->first_column < XL_COLUMNS_MOST && s->n_rows == known->total_rows &&
           s->n_rows <= XL_ROWS_MOST && s->spacing != 0 && s->n_places == (s->n_rows + s->spacing - 1) / s->spacing;
}

static lb_str state_names(const state *s, const lb_entry *known)
{
    return (lb_str){ known->open_state.at + known->open_state.size - s->names_size, (size_t)s->names_size };
}

lb_status xl_state_get(const lb_entry *known, lb_arena *arena, xl_table *out, lb_error *err)
{
    state s;

    if (!state_read(known, &s) || !state_holds(&s, known))
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the map does not tell where the sheet's rows are");
    const char *places = known->open_state.at + sizeof s;
    const size_t size = (size_t)s.n_places * sizeof(xl_place);
    *out = (xl_table){ .header_row = s.header_row,
                       .first_row = s.first_row,
                       .first_column = s.first_column,
                       .spacing = s.spacing,
                       .n_rows = s.n_rows,
                       .n_places = (size_t)s.n_places,
                       .places = lb_arena_dup(arena, places, size),
                       .blocks = &known->blocks,
                       .strings = { s.n_strings, (const uint8_t *)places + size },
                       .names = state_names(&s, known) };
    return out->places == NULL ? lb_arena_fail(arena, err) : LB_OK;
}

/* ---------------------------------------------------------------- sheets */

int64_t xl_sheet_of(const lb_str *names, size_t n, const char *asked)
{
    uint64_t number;

    for (size_t i = 0; i < n; i++)
        if (lb_str_is(names[i], asked))
            return (int64_t)i;
    return lb_parse_uint64(asked, strlen(asked), &number) && number < n ? (int64_t)number : -1;
}

/* The next name; false: there is none. */
static bool state_next_name(lb_str *rest, lb_str *name)
{
    uint32_t size;

    if (rest->size < sizeof size)
        return false;
    memcpy(&size, rest->at, sizeof size);
    if (size > rest->size - sizeof size)
        return false;
    *name = (lb_str){ rest->at + sizeof size, size };
    *rest = (lb_str){ name->at + size, rest->size - sizeof size - size };
    return true;
}

int64_t xl_state_sheet_of(const lb_entry *known, const char *asked)
{
    uint64_t number;
    int64_t n = 0;
    lb_str rest, name;
    state s;

    if (!state_read(known, &s))
        return -1;
    for (rest = state_names(&s, known); state_next_name(&rest, &name); n++)
        if (lb_str_is(name, asked))
            return n;
    return lb_parse_uint64(asked, strlen(asked), &number) && number < (uint64_t)n ? (int64_t)number : -1;
}
