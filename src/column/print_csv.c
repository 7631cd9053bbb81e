/* Delimited text. A field stands in quotes only where it would read back differently without: when it holds the
 * delimiter, a quote, CR or LF, is the empty text (an empty field is null), is `\N` (null in tab-separated files),
 * begins with a byte order mark, or begins or ends with a blank or tab (unquoted, ` 5 ` is a number).
 *
 * What quotes cannot keep is a type: a reader types quoted values like others. So a text column whose values all read
 * as numbers, dates or truth values (declared so, read with --types text, or a slice that leaves out the value that
 * made it text) comes back as those. A word that the read took for null by --null is not known here. A null that is
 * its row's only field is written `""`, since readers pass over blank lines; it comes back as null in every column but
 * one of text. */
#include <ctype.h>

#include "column/print_nodes.h"

typedef enum csv_way {
    CSV_DIRECT, /* never needs quotes */
    CSV_STRING, /* text whose bytes can be lent */
    CSV_ANY     /* printed first, then looked at */
} csv_way;

typedef struct csv_state {
    lb_buf scratch;
    csv_way *ways;
} csv_state;

#define BYTES_OF(c) (0x0101010101010101ull * (uint8_t)(c))

static inline uint64_t zero_bytes(uint64_t v)
{
    return (v - BYTES_OF(1)) & ~v & BYTES_OF(0x80);
}

static inline bool csv_special(char c, char delimiter)
{
    return c == delimiter || c == '"' || c == '\r' || c == '\n';
}

static inline bool csv_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Would the value mean something else, although no byte of it ends a field? */
static inline bool csv_misread(const char *p, size_t size)
{
    return size == 0 || csv_is_blank(p[0]) || csv_is_blank(p[size - 1]) || (size == 2 && p[0] == '\\' && p[1] == 'N') ||
           (size >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0);
}

static bool csv_needs_quotes(const char *p, size_t size, char delimiter)
{
    size_t i = 0;
    if (csv_misread(p, size))
        return true;
    for (; size - i >= 8; i += 8) {
        uint64_t v;
        memcpy(&v, p + i, 8);
        if ((zero_bytes(v ^ BYTES_OF(delimiter)) | zero_bytes(v ^ BYTES_OF('"')) | zero_bytes(v ^ BYTES_OF('\r')) |
             zero_bytes(v ^ BYTES_OF('\n'))) != 0)
            return true;
    }
    for (; i < size; i++)
        if (csv_special(p[i], delimiter))
            return true;
    return false;
}

static lb_status csv_quoted(lb_buf *out, const char *p, size_t size, lb_error *err)
{
    LB_TRY(lb_buf_append(out, "\"", 1, err));
    while (size > 0) {
        const char *quote = memchr(p, '"', size);
        size_t n = quote == NULL ? size : (size_t)(quote - p) + 1;
        LB_TRY(lb_buf_append(out, p, n, err));
        if (quote != NULL)
            LB_TRY(lb_buf_append(out, "\"", 1, err));
        p += n;
        size -= n;
    }
    return lb_buf_append(out, "\"", 1, err);
}

static lb_status csv_text(lb_buf *out, const char *p, size_t size, char delimiter, lb_error *err)
{
    return csv_needs_quotes(p, size, delimiter) ? csv_quoted(out, p, size, err) : lb_buf_append(out, p, size, err);
}

static csv_way csv_way_of(const print_node *n, char delimiter)
{
    switch (n->type) {
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_STRING_VIEW:
        return CSV_STRING;
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_BINARY:
    case NANOARROW_TYPE_BINARY_VIEW: /* may be empty */
    case NANOARROW_TYPE_DICTIONARY:
    case NANOARROW_TYPE_RUN_END_ENCODED:
        return CSV_ANY;
    default:
        if (n->n_children != 0 || n->style == PRINT_JSON)
            return CSV_ANY;
        /* A delimiter that numbers, dates or base64 are made of. */
        return isalnum((unsigned char)delimiter) || strchr("+-.:=/", delimiter) != NULL ? CSV_ANY : CSV_DIRECT;
    }
}

static lb_status csv_header(print_job *job, lb_error *err)
{
    for (int64_t i = 0; i < job->schema->n_children; i++) {
        const char *name = job->schema->children[i]->name;
        name = name == NULL ? "" : name;
        if (i != 0)
            LB_TRY(lb_buf_append(&job->out, &job->delimiter, 1, err));
        LB_TRY(csv_text(&job->out, name, strlen(name), job->delimiter, err));
    }
    return lb_buf_append(&job->out, "\n", 1, err);
}

lb_status print_open_csv(print_job *job, lb_error *err)
{
    const char *d = job->options->delimiter;
    if (d != NULL && (d[0] == '\0' || d[1] != '\0' || d[0] == '"' || d[0] == '\r' || d[0] == '\n'))
        return lb_fail(err, LB_USAGE, LB_NOWHERE,
                       "the delimiter of csv output is one byte, neither a quote nor a line end");
    job->delimiter = d == NULL ? ',' : d[0];
    csv_state *state = lb_arena_alloc(&job->arena, 1, sizeof *state);
    if (state == NULL)
        return lb_arena_fail(&job->arena, err);
    state->ways = lb_arena_alloc(&job->arena, LB_MAX(job->n_columns, 1u), sizeof *state->ways);
    if (state->ways == NULL)
        return lb_arena_fail(&job->arena, err);
    lb_buf_init(&state->scratch, job->out.budget);
    job->state = state;
    for (size_t i = 0; i < job->n_columns; i++)
        state->ways[i] = csv_way_of(&job->columns[i], job->delimiter);
    return job->options->header ? csv_header(job, err) : LB_OK;
}

static lb_status csv_field(print_job *job, csv_state *state, size_t c, int64_t row, lb_error *err)
{
    const print_node *n = &job->columns[c];
    lb_str text;
    switch (state->ways[c]) {
    case CSV_DIRECT:
        return n->put(n, row, &job->out, err);
    case CSV_STRING:
        text = lb_view_bytes(n->view, row);
        break;
    default:
        if (print_node_is_null(n, row))
            return LB_OK;
        state->scratch.size = 0;
        LB_TRY(n->put(n, row, &state->scratch, err));
        text = (lb_str){ (const char *)state->scratch.data, state->scratch.size };
    }
    return csv_text(&job->out, text.at, text.size, job->delimiter, err);
}

static lb_status csv_row(print_job *job, int64_t row, lb_error *err)
{
    csv_state *state = job->state;
    size_t start = job->out.size;
    for (size_t c = 0; c < job->n_columns; c++) {
        LB_TRY(print_room(&job->out, 3, err));
        if (c != 0)
            lb_buf_putc(&job->out, job->delimiter);
        if (!print_is_null_here(&job->columns[c], row))
            LB_TRY(csv_field(job, state, c, row, err));
    }
    if (job->n_columns == 1 && job->out.size == start)
        LB_TRY(lb_buf_append(&job->out, "\"\"", 2, err));
    return lb_buf_append(&job->out, "\n", 1, err);
}

lb_status print_rows_csv(print_job *job, const struct ArrowArray *batch, int64_t n_rows, lb_error *err)
{
    for (int64_t row = 0; row < n_rows; row++) {
        size_t start = job->out.size;
        lb_status s = csv_row(job, batch->offset + row, err);
        if (s != LB_OK) {
            job->out.size = start;
            return s;
        }
        job->rows++;
        LB_TRY(print_flush_full(job, err));
    }
    return LB_OK;
}

void print_close_csv(print_job *job)
{
    csv_state *state = job->state;
    if (state != NULL)
        lb_buf_free(&state->scratch);
}
