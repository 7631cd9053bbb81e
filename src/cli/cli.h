/* What the parts of the command share. The command is thin: it parses words, calls lakebed.h and prints. */
#ifndef LB_CLI_H
#define LB_CLI_H

#include <pthread.h>
#include <stdio.h>

#include "lakebed.h"

/* Exit statuses (lakebed.1). */
enum {
    EXIT_DONE = 0,
    EXIT_FINDING = 1,
    EXIT_USAGE = 2,
    EXIT_DATA = 3,
    EXIT_SYSTEM = 4,
    EXIT_FAULT = 5,
    EXIT_SIGNAL = 128
};

/* ---------------------------------------------------------------- cli_table.c: verbs and options */

/* The verbs, as an index into the table and as a bit in an option's set of verbs. VERB_SHOW is `lakebed PATH`. */
typedef enum cli_verb_id {
    VERB_MAP,
    VERB_DOCTOR,
    VERB_LOCATE,
    VERB_SLICE,
    VERB_HEAD,
    VERB_TAIL,
    VERB_TAKE,
    VERB_SAMPLE,
    VERB_SHUFFLE,
    VERB_SPLITS,
    VERB_COUNT,
    VERB_SCHEMA,
    VERB_STATS,
    VERB_LINEAGE,
    VERB_LANCE,
    VERB_FORMATS,
    VERB_HELP,
    VERB_VERSION,
    VERB_SHOW,
    VERB_COUNT_
} cli_verb_id;

struct cli;

typedef struct cli_verb {
    const char *name;     /* empty for `lakebed PATH` */
    const char *operands; /* as the usage line has them */
    const char *summary;  /* one line */
    const char *about;    /* paragraph of the verb's own help; NULL: the summary says it all */
    const char *examples; /* lines of command and comment */
    size_t least, most;   /* operands */
    bool folders;         /* the first operand is a directory */
    int (*run)(struct cli *c);
} cli_verb;

typedef enum cli_kind { KIND_FLAG, KIND_TEXT, KIND_NUMBER, KIND_CHOICE, KIND_FILE } cli_kind;

typedef enum cli_option_id {
    OPT_STRIDE,
    OPT_FINGERPRINT,
    OPT_STATS,
    OPT_ON_ERROR,
    OPT_INCLUDE,
    OPT_EXCLUDE,
    OPT_HIDDEN,
    OPT_NO_COMPRESSED,
    OPT_BY_PRODUCTS,
    OPT_PAGES,
    OPT_SET,
    OPT_DETECT,
    OPT_INTEROP,
    OPT_HEAL,
    OPT_UNDO,
    OPT_VERIFY,
    OPT_OLDER_THAN,
    OPT_FILE,
    OPT_OFFSET,
    OPT_LIMIT,
    OPT_ROWS_FROM,
    OPT_SEED,
    OPT_FROM,
    OPT_SORTED,
    OPT_COLUMNS,
    OPT_TO,
    OPT_OUTPUT,
    OPT_EXPLAIN,
    OPT_TARGET,
    OPT_CHECK,
    OPT_FORMAT,
    OPT_NO_MAP,
    OPT_SCHEMA,
    OPT_NULLS,
    OPT_TAG,
    OPT_UNSET,
    OPT_AUX,
    OPT_GROUP_ROWS,
    OPT_FILE_ROWS,
    OPT_IDS,
    OPT_ORPHANS,
    OPT_REMOVE,
    OPT_FORCE,
    OPT_QUERY,
    OPT_PROBES,
    OPT_REFINE,
    OPT_METRIC,
    OPT_EXACT,
    OPT_INDEX_NAME,
    OPT_PARTITIONS,
    OPT_SUB_VECTORS,
    OPT_KEEP_MODEL,
    OPT_CATALOG,
    OPT_LAKE,
    OPT_DEFAULT_DB,
    OPT_NEWLINES,
    OPT_EXPAND_COMPLEX_TYPES,
    OPT_EXPR_REWRITES,
    OPT_WAREHOUSE,
    OPT_USER,
    OPT_QUERY_ID,
    OPT_STRICT,
    OPT_LOG,
    OPT_UPSTREAM,
    OPT_DOWNSTREAM,
    OPT_VALUES_ONLY,
    OPT_DEPTH,
    OPT_DELIMITED,
    OPT_THREADS,
    OPT_JSON,
    OPT_QUIET,
    OPT_COLOR,
    OPT_HELP,
    OPT_VERSION,
    OPT_COUNT
} cli_option_id;

typedef struct cli_option {
    const char *name;
    char letter;       /* 0: none */
    const char *value; /* "N", "metadata|blake3"; words in lower case stand for themselves. NULL: a flag */
    const char *help;
    cli_kind kind;
    uint64_t least; /* KIND_NUMBER */
    unsigned verbs; /* bits 1 << cli_verb_id */
    bool repeatable;
    bool read;    /* a read option of the library; `id` does not apply */
    bool general; /* stands in the last group of a help text */
    cli_option_id id;
} cli_option;

const cli_verb *cli_verb_at(cli_verb_id id);

/* Verb of that name, or VERB_COUNT_. */
cli_verb_id cli_verb_find(const char *name);

/* Options in the order of help texts: the command's own, then the read options. False at the end. */
bool cli_option_at(size_t index, cli_option *out);

/* Look an option up by its name of `length` bytes, or by its letter. */
bool cli_option_find(const char *name, size_t length, cli_option *out);
bool cli_option_letter(char letter, cli_option *out);

/* Walk over the words an option takes for itself ("metadata", "blake3"), found in a list whose items are divided by
 * `|` or blanks. `*at` starts as the list; false at the end. */
bool cli_next_word(const char **at, char *word, size_t cap);

/* The list to walk over for this option of a verb; "" where it takes anything. Lent until the next call. */
const char *cli_option_words(const cli_option *option, cli_verb_id verb);

/* Give an option the kind of value it has with a verb, where that is another one. */
void cli_option_fit(cli_option *option, cli_verb_id verb);

/* What an option says in the help of a verb, where it says more than one thing. */
const char *cli_option_help(const cli_option *option, cli_verb_id verb);

/* ---------------------------------------------------------------- args.c: parsing */

typedef struct cli_list {
    size_t count, cap;
    const char **items; /* ended by NULL; NULL where count is 0 */
} cli_list;

typedef struct cli_args {
    cli_verb_id verb;
    cli_list operands;
    cli_list given[OPT_COUNT];        /* values of an option; "" for a flag */
    uint64_t number[OPT_COUNT];       /* KIND_NUMBER: the last one given */
    cli_list read_names, read_values; /* read options in their order; a value may be NULL */
    lb_read_options *read;            /* NULL: none given */
} cli_args;

/* Progress and notes on standard error; one at a time. */
typedef struct cli_progress {
    pthread_mutex_t lock;
    bool on;    /* a terminal, and not --quiet */
    bool drawn; /* a line stands there now */
    double started;
} cli_progress;

typedef struct cli {
    cli_args args;
    lb_context *cx;
    bool out_terminal, out_colour, err_colour;
    int out_error; /* errno of the first write to standard output that failed */
    bool left_out; /* files of a lake could not be read: a finding */
    cli_progress progress;
} cli;

/* Parse the words after the program's name. Returns true to go on, or false with the exit status in `*status`, all
 * messages printed. */
bool args_parse(cli *c, int count, char **words, int *status);
void args_free(cli_args *args);

static inline bool args_has(const cli *c, cli_option_id id)
{
    return c->args.given[id].count != 0;
}

/* Last value given, or `other`. */
const char *args_text(const cli *c, cli_option_id id, const char *other);
uint64_t args_number(const cli *c, cli_option_id id, uint64_t other);

/* Whole number of decimal digits only, at most INT64_MAX. */
bool args_parse_number(const char *text, uint64_t *out);

/* Add a value to a list, keeping the NULL at its end. */
void list_add(cli_list *list, const char *item);

/* ---------------------------------------------------------------- cli_help.c */

void help_overview(FILE *out);
void help_verb(FILE *out, cli_verb_id id);

/* ---------------------------------------------------------------- typo.c */

/* The word of the list nearest to what was typed, if near enough to be a slip; else NULL. `best` starts as NULL,
 * and one call a candidate improves it. */
typedef struct typo {
    const char *typed;
    char best[64];
    unsigned distance;
} typo;

void typo_begin(typo *t, const char *typed);
void typo_offer(typo *t, const char *candidate);
const char *typo_best(const typo *t);

/* ---------------------------------------------------------------- report.c: standard error, numbers for people */

/* Say what is wrong with the command line, and where its help is; gives EXIT_USAGE. */
int report_usage(const cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Print an error of the library; gives the exit status that fits. */
int report_error(cli *c, const lb_error *err);

/* Print `lakebed: …` for anything else. */
void report_line(cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Exit status of the command for a status of the library. */
int report_status(lb_status status);

/* A text by value, to be used inside one call: number_text(n).s */
typedef struct cli_text {
    char s[48];
} cli_text;

cli_text number_text(uint64_t n);                                    /* 1,234,567 */
cli_text size_text(uint64_t bytes);                                  /* 1.2 MB */
cli_text plural_text(uint64_t n, const char *one, const char *many); /* 1 file, 2 files */

/* Copy in which control characters and those that turn text around are escapes, as a table shows them: \x1b, \n,
 * \u202e. So no name or message can steer the terminal. Owned by the caller. */
char *clean_text(const char *text);
char *clean_bytes(const char *text, size_t size); /* a NUL behind, and maybe some within, which are shown as \x00 */

void cli_no_memory(void) __attribute__((noreturn)); /* say so and end the command */
void *cli_alloc(size_t count, size_t size);         /* zeroed; ends the command where there is no memory */
char *cli_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---------------------------------------------------------------- progress.c */

void progress_init(cli *c, bool on);
void progress_update(void *user, uint64_t done, uint64_t total, uint64_t files, uint64_t total_files);
void progress_note(void *user, const char *note);
void progress_clear(cli *c); /* take the line away; it may come back */
void progress_end(cli *c);   /* take the line away for good */
double clock_seconds(void);

/* ---------------------------------------------------------------- grid.c: aligned columns for people */

typedef struct grid grid;

/* `heads` are divided by `|`; a head that begins with `>` makes its column right-aligned. */
grid *grid_new(const char *heads);
void grid_add(grid *g, const char *text); /* the next cell, row by row */
void grid_print(const grid *g, const char *indent);
void grid_free(grid *g);

/* ---------------------------------------------------------------- out.c: standard output */

/* Both are lb_write_fn; `user` is the cli. */
bool out_write(void *user, const void *bytes, size_t size);

/* Flush, and give the command's exit status: `status`, or what a failed write makes of it. A closed pipe is no
 * error: whoever read had enough. */
int out_finish(cli *c, int status);
unsigned out_width(void); /* characters in a line of the terminal; 0: unknown */

/* ---------------------------------------------------------------- the verbs */

int verb_map(cli *c);
int verb_doctor(cli *c);
int verb_locate(cli *c);
int verb_slice(cli *c); /* also head and tail */
int verb_take(cli *c);
int verb_shuffle(cli *c); /* also sample */
int verb_splits(cli *c);
int verb_count(cli *c);
int verb_schema(cli *c);
int verb_stats(cli *c);
int verb_lineage(cli *c);
int verb_lance(cli *c);
int verb_formats(cli *c);
int verb_help(cli *c);
int verb_version(cli *c);
int verb_show(cli *c);

/* Candidates for the last of `words`, a line each, as the completion scripts ask for them. */
int complete_words(int count, char **words);

/* ---------------------------------------------------------------- Lance datasets: verb_lance.c, verb_lance_look.c */

/* Options of a write, out of the command line. What it points to is freed with lance_options_free. */
typedef struct lance_call {
    lb_lance_options options;
    lb_key_value *metadata, *aux;
} lance_call;
int lance_options(cli *c, lance_call *out);
void lance_options_free(lance_call *call);

/* Say what a change made of `path`, or why it failed, and free the options. `what`: "deleted"; NULL: rows do not matter. */
int lance_end_call(cli *c, lance_call *call, lb_status status, lb_error *err, const char *path,
                   const lb_lance_result *r, const char *what);

/* Rows of `table`, of which one of slice and take says which, as a new dataset: what `slice --to lance` does. */
int lance_create_from(cli *c, lb_table *table, const lb_slice *slice, const lb_take *take, const char *path);

int lance_log(cli *c);
int lance_show(cli *c);
int lance_diff(cli *c);
int lance_search(cli *c);
int lance_index(cli *c);
int lance_tags(cli *c);
int lance_pairs(cli *c, lb_dataset_meta kind);

/* A moment as 2026-11-30T12:34:56.789Z; "-" where there is none. */
cli_text moment_text(int64_t seconds, int32_t nanos);

/* How long ago, in text as `doctor --older-than` takes it; false: it is none. */
bool cli_parse_age(const char *text, int64_t *out);

/* Names given with --columns, split at their commas; `*names` holds what the list points into. Both are freed by
 * the caller. */
void cli_columns(const cli *c, cli_list *columns, char **names);

/* Open `path` with the options given; on failure the error is printed and the exit status returned, else EXIT_DONE. */
int cli_open(cli *c, const char *path, lb_table **out);
/* Close it; files of a lake that had to be left out make the exit status 1. */
void cli_close(cli *c, lb_table *table);

/* ---------------------------------------------------------------- sql_place.c: places in a script */

/* A script, and the place in it that was looked at last: places are mostly asked for in ascending order. */
typedef struct sql_text {
    const char *path; /* NULL: given on the command line */
    char *bytes;
    size_t size;
    size_t at, line_begin;
    uint64_t line; /* of `at`, from 1 */
} sql_text;

/* Read a file, or standard input where `path` is "-". On failure the error is printed and the exit status returned. */
int sql_read(cli *c, const char *path, sql_text *out);
void sql_free(sql_text *text);

/* Say `message` of a byte of the script, with line and column; `caret`: and show the line. */
void sql_report(cli *c, sql_text *text, uint64_t offset, bool caret, const char *message);

/* ---------------------------------------------------------------- verb_lineage_log.c */

int lineage_read_log(cli *c, lb_write_fn write, void *user);

/* A span as a C string; owned by the caller. */
char *span_text(lb_span span);

/* ---------------------------------------------------------------- columns.c: schemas for people and programs */

/* Columns and types of a schema, for people, and below them which are in conflict. */
void print_columns(const struct ArrowSchema *schema, const char *indent, int64_t most); /* the first `most` */

/* Why the files of a lake disagree on a column, in words; NULL: they do not. Owned by the caller. */
char *column_conflict(const struct ArrowSchema *column);
uint64_t count_conflicts(const struct ArrowSchema *schema);
/* Say each conflict, and what helps, after a blank line; nothing where there are none. */
void print_conflicts(const struct ArrowSchema *schema, const char *indent);

/* Type of a column in JSON, as long as it may be; owned by the caller. */
char *type_json(const struct ArrowSchema *type);

#endif
