/* Lakebed: where every row of a directory of data files lies, and how to read it from there.
 *
 * One header is the whole public interface. Rules that hold everywhere:
 *
 * Errors    Every call that can fail returns an lb_status and, where `err` is not NULL, fills it. The
 *           first failure is kept: it comes from the deepest place, which knows most. The library
 *           never prints, exits or aborts.
 * Ownership What `*_new`, `*_open` and `*_build` give is freed by the matching `*_free` or `*_close`,
 *           which take NULL. `get`-like calls lend; a lent pointer lives as long as its owner unless
 *           said otherwise. Strings are UTF-8 and end in NUL unless a length stands beside them.
 * Structs   Options and results are plain structs whose first member is `struct_size`, set by the
 *           caller to sizeof; all other members zero are the defaults.
 * Threads   One lb_context may be used from many threads. A handle (lb_map, lb_table) may be read from
 *           many threads at once; closing it is the caller's to order.
 * Rows      are counted from 0; header records do not count. Sizes and offsets are bytes.
 */
#ifndef LAKEBED_H
#define LAKEBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(LB_STATIC)
#define LB_API __attribute__((visibility("default")))
#else
#define LB_API
#endif

#define LB_VERSION_MAJOR 0
#define LB_VERSION_MINOR 1
#define LB_VERSION_PATCH 0

/* Version of the library in use, as "0.1.0". */
LB_API const char *lb_version(void);

/* ---------------------------------------------------------------- the Arrow C interfaces
 * As the Arrow project specifies them; the guards are the standard's own, so that several headers
 * may define them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* ---------------------------------------------------------------- status and error */

#define LB_STATUS_MAP(X)                                     \
    X(OK, "success")                                         \
    X(IO, "the file could not be read or written")           \
    X(CORRUPT, "the bytes break the format's rules")         \
    X(UNSUPPORTED, "valid, but not supported")               \
    X(BUDGET, "a limit set by the caller was passed")        \
    X(NOMEM, "out of memory")                                \
    X(USAGE, "the call itself is wrong")                     \
    X(NOTFOUND, "no such file, entry or column")             \
    X(STALE, "the file changed since it was mapped")         \
    X(CONFLICT, "another writer holds or changed the thing") \
    X(CANCELLED, "cancelled by the caller")                  \
    X(INTERNAL, "a fault of Lakebed itself")

#define LB_STATUS_ENUM(name, text) LB_##name,
typedef enum lb_status { LB_STATUS_MAP(LB_STATUS_ENUM) LB_STATUS_COUNT } lb_status;
#undef LB_STATUS_ENUM

/* The status in words ("the bytes break the format's rules"). Never NULL. */
LB_API const char *lb_status_text(lb_status status);

/* What went wrong and where. Held by the caller, never freed; set to LB_ERROR_INIT before the first use.
 * Public calls clear it on entry. `message` is one line that says what was found and what was expected;
 * `hint`, where not empty, what to do next. */
typedef struct lb_error {
    lb_status code;
    int64_t offset; /* byte in the file named by path; -1 where it does not apply */
    int64_t row;    /* row of that file, from 0; -1 */
    int64_t line;   /* physical line of that file, from 1; -1 */
    char path[512]; /* empty where no file is concerned */
    char message[512];
    char hint[256];
} lb_error;

/* clang-format off */
#define LB_ERROR_INIT { LB_OK, -1, -1, -1, "", "", "" }
/* clang-format on */

/* ---------------------------------------------------------------- context */

typedef struct lb_context lb_context;

/* Progress of a long call: `done` of `total` bytes, `files` of `total_files`. Called at most some thirty
 * times a second, from any of the call's threads but never from two at once. */
typedef void (*lb_progress_fn)(void *user, uint64_t done, uint64_t total, uint64_t files, uint64_t total_files);

/* Something the caller may want to tell people, as "map not used: …". One line, no newline. May come from
 * any thread, never from two at once. */
typedef void (*lb_note_fn)(void *user, const char *note);

/* Asked some twenty times a second by every thread that works for a long call, the caller's own too; true ends what runs
 * with the context, as lb_context_cancel. For callers that must look after something meanwhile, as an interpreter after
 * its signals. Must not use what the call works on: its lock may be held. */
typedef bool (*lb_poll_fn)(void *user);

typedef struct lb_context_options {
    size_t struct_size;
    unsigned threads;        /* 0: one a core */
    uint64_t memory_limit;   /* bytes; 0: half of the machine's memory, or of the process's limit if less */
    lb_progress_fn progress; /* may be NULL */
    lb_note_fn note;         /* may be NULL */
    lb_poll_fn poll;         /* may be NULL */
    void *user;              /* handed to all three */
} lb_context_options;

/* Make a context; `options` may be NULL. Errors: USAGE, NOMEM. */
LB_API lb_status lb_context_new(const lb_context_options *options, lb_context **out, lb_error *err);

/* Free a context. Everything opened with it must be closed before. */
LB_API void lb_context_free(lb_context *cx);

/* Ask every call that runs with this context to end soon with LB_CANCELLED. Safe in a signal handler. */
LB_API void lb_context_cancel(lb_context *cx);

/* Take calls again after a cancel, once those that were cancelled have returned. A stream that ended with LB_CANCELLED
 * stays ended. */
LB_API void lb_context_resume(lb_context *cx);

/* ---------------------------------------------------------------- formats */

typedef struct lb_format_info {
    size_t struct_size;
    const char *name;       /* "csv" */
    const char *extensions; /* "csv" or "parquet pq" */
    const char *locator;    /* as in the map: "record", "row_group" … */
    const char *options;    /* names of the read options it takes, separated by blanks */
    bool dynamic;           /* registered at run time */
} lb_format_info;

/* Number of formats this context knows, and the one at `index`; lends its strings until the same thread asks
 * again. Errors: USAGE (index). */
LB_API size_t lb_format_count(lb_context *cx);
LB_API lb_status lb_format_at(lb_context *cx, size_t index, lb_format_info *out, lb_error *err);

/* Read files with the extension `ext` (a leading dot and case are ignored) as delimited text. Replaces what
 * served that extension, built-in or not; such files have no locator in a map (LM-76). `delimiter` is one byte and neither
 * quote, CR nor LF. Errors: USAGE, NOMEM. */
LB_API lb_status lb_register_delimited(lb_context *cx, const char *ext, const char *delimiter, bool has_header,
                                       lb_error *err);

/* Opens a file for a format that the caller reads: fills `out` with a stream of its rows, a struct array a batch, from
 * the first row to the last, or gives an error (`err` is never NULL; a message left empty is filled). May come from
 * several threads at once. Every opening of one file must give the same columns and rows. */
typedef lb_status (*lb_open_stream_fn)(void *user, const char *path, struct ArrowArrayStream *out, lb_error *err);

/* Read files with the extension `ext` by a function of the caller's. Replaces what served that extension, built-in or
 * not. A map keeps the rows and columns of such files and no places: a range is found by reading from the start, of
 * which the rows before are thrown away. Dictionaries, runs and views are decoded. `release`, which may be NULL, is called
 * with `user` when the context goes, and at once on error.
 * Errors: USAGE, NOMEM. */
LB_API lb_status lb_register_stream(lb_context *cx, const char *ext, lb_open_stream_fn open, void *user,
                                    void (*release)(void *user), lb_error *err);

/* Undo a registration; says whether there was one. */
LB_API bool lb_unregister_format(lb_context *cx, const char *ext);

/* ---------------------------------------------------------------- read options
 * How a file is to be read, as names and values in text: the same names the command, a map and `--set` use.
 * Structural options (delimiter, quote, escape, header, encoding, ragged, sheet, header-row) say where rows and fields
 * are; value options (types, all-text, null, decimal, names, column) say what they mean. What is not set is taken
 * from the map, or else from the format. */
typedef struct lb_read_options lb_read_options;

typedef struct lb_option_info {
    const char *name;  /* "delimiter" */
    const char *value; /* what stands for the value in a help text, "D"; NULL: a flag */
    const char *help;  /* one line */
    bool structural;
    bool repeatable;
} lb_option_info;

/* The table of all read options, ended by an entry whose name is NULL. Static. */
LB_API const lb_option_info *lb_read_option_list(void);

LB_API lb_status lb_read_options_new(lb_read_options **out, lb_error *err);
LB_API void lb_read_options_free(lb_read_options *options);

/* Set one option. `value` NULL or "true" sets a flag. `\t` in a delimiter is a tab.
 * Errors: USAGE: unknown name (with a suggestion) or a value it does not take, saying which it takes. */
LB_API lb_status lb_read_options_set(lb_read_options *options, const char *name, const char *value, lb_error *err);

/* ---------------------------------------------------------------- the lake map */

typedef struct lb_map lb_map;

typedef enum lb_fingerprint { LB_FINGERPRINT_METADATA, LB_FINGERPRINT_BLAKE3 } lb_fingerprint;

/* How a map is built. Lists of strings end in NULL; all are copied. */
typedef struct lb_map_options {
    size_t struct_size;
    uint64_t stride; /* rows a checkpoint block; 0: 65,536 */
    lb_fingerprint fingerprint;
    const char *stats;          /* "all" (also NULL), "none", "block", or "NAME,NAME,…" */
    bool record_errors;         /* keep a file that cannot be read as an entry with its error (LB_OK) */
    bool hidden;                /* also take directories whose name begins with a dot */
    bool no_compressed;         /* leave out text that is compressed as a whole (orders.csv.gz) */
    bool by_products;           /* also take _metadata, _SUCCESS and their like */
    bool detect;                /* accept a delimiter, or UTF-16, found by looking */
    bool interop_full;          /* fill the reference reader's JSON columns */
    bool pages;                 /* Parquet: keep also where every page lies; their headers are read for it */
    const char *const *include; /* globs on the path below the root; none: everything */
    const char *const *exclude;
    const lb_read_options *read; /* for all files; may be NULL */
    const char *const *set;      /* "GLOB:name=value,name=value", later ones win */
} lb_map_options;

typedef struct lb_map_info {
    size_t struct_size;
    uint64_t files, rows, bytes; /* over all entries; files with an error count with 0 rows */
    uint64_t failed;             /* entries with an error; one that ends inside a record has its rows before that */
    uint64_t stride;
    lb_fingerprint fingerprint;
    int64_t created_ns;       /* Unix time; 0 unknown */
    int map_schema;           /* 1, 2 or 3: which layout the file has */
    bool extended;            /* written by Lakebed: typed columns */
    uint64_t file_bytes;      /* of the map itself; 0 before it is saved */
    const char *options_json; /* what `bazan.options` holds; "" where it does not stand */
    const char *writer;       /* lent by the map */
} lb_map_info;

/* One file of a map. Strings are lent by the map. */
typedef struct lb_entry_info {
    size_t struct_size;
    const char *path; /* below the root, `/` between */
    const char *format, *locator;
    const char *container;           /* NULL: plain */
    const char *error;               /* NULL: read without one */
    const char *content_hash;        /* 64 hexadecimal digits, or NULL */
    uint64_t bytes, rows, first_row; /* first_row: global */
    uint64_t blocks, columns;
    int64_t mtime_ns;
    uint64_t restart_points; /* in a container: places where decompressing can begin besides its start */
} lb_entry_info;

typedef struct lb_column_info {
    size_t struct_size;
    const char *name, *type; /* type words, as "int64" */
    bool nullable;
    bool has_stats;
    int64_t null_count, nan_count; /* -1 unknown */
    const char *min, *max;         /* printed; NULL where unknown */
    bool min_exact, max_exact;
    size_t min_size, max_size; /* of the printed bounds, which may hold NUL characters; one more ends each */
} lb_column_info;

/* Build the map of the directory `dir` and save it as `dir`/.br_map.bazan, atomically and under a lock;
 * `out`, where not NULL, gets the map, opened. A map that stood there is kept as .br_map.bazan.old (see
 * lb_doctor_undo), and a note names the options it remembers that the new one does not have. A file that changes
 * while it is inspected fails.
 * Errors: NOTFOUND or IO (dir), USAGE, CONFLICT (another writer at work), what reading the first bad file gives
 *         unless `record_errors`. Nothing is written on error.
 * Cost:   one pass over every file; memory a block of the format, and the map itself. */
LB_API lb_status lb_map_create(lb_context *cx, const char *dir, const lb_map_options *options, lb_map **out,
                               lb_error *err);

/* Open the map of `dir`. Cost: does not depend on the number of entries.
 * Errors: NOTFOUND (no map), CORRUPT (saying what is wrong with it), UNSUPPORTED (of a later version), IO. */
LB_API lb_status lb_map_open(lb_context *cx, const char *dir, lb_map **out, lb_error *err);
LB_API void lb_map_close(lb_map *map);

LB_API lb_status lb_map_get_info(const lb_map *map, lb_map_info *out, lb_error *err);

/* The entry at `index` (in map order: ascending path bytes). Errors: USAGE, CORRUPT. */
LB_API lb_status lb_map_entry(const lb_map *map, uint64_t index, lb_entry_info *out, lb_error *err);

/* The first entry at or after `from` that has an error, without a look at the others. Errors: NOTFOUND (no more),
 * CORRUPT. */
LB_API lb_status lb_map_next_failed(const lb_map *map, uint64_t from, uint64_t *index, lb_error *err);

/* Index of the entry of `path` (below the root). Errors: NOTFOUND, CORRUPT. Cost: O(log files). */
LB_API lb_status lb_map_find(const lb_map *map, const char *path, uint64_t *index, lb_error *err);

/* Column `column` of the entry at `index`; strings live until the map is closed. */
LB_API lb_status lb_map_column(const lb_map *map, uint64_t index, uint64_t column, lb_column_info *out, lb_error *err);

/* Where one row lies. -1 where a thing is unknown. */
typedef struct lb_place {
    size_t struct_size;
    const char *path; /* below the root, lent by the map */
    uint64_t entry;   /* index in the map */
    uint64_t global_row, file_row;
    int64_t block, row_in_block; /* -1: no locator */
    int64_t block_first_row, block_rows;
    int64_t block_first_byte, block_bytes;
    int64_t block_first_line; /* physical line of the block's first row, from 1 */
    bool page_indexed;
} lb_place;

/* Find a global row, or a row of one file. Nothing is read but the map; freshness is not checked (LM-72).
 * Errors: USAGE: past the end, saying how many rows there are; NOTFOUND: no such file. Cost: O(log files + log blocks). */
LB_API lb_status lb_map_locate(const lb_map *map, uint64_t global_row, lb_place *out, lb_error *err);
LB_API lb_status lb_map_locate_in(const lb_map *map, const char *path, uint64_t file_row, lb_place *out, lb_error *err);

/* ---------------------------------------------------------------- the doctor */

#define LB_DOCTOR_STATUS_MAP(X) \
    X(HEALTHY, "HEALTHY")       \
    X(DRIFT, "DRIFT_DETECTED")  \
    X(HEALED, "HEALED")

#define LB_DOCTOR_ENUM(name, text) LB_DOCTOR_##name,
typedef enum lb_doctor_status { LB_DOCTOR_STATUS_MAP(LB_DOCTOR_ENUM) LB_DOCTOR_STATUS_COUNT } lb_doctor_status;

/* What the doctor finds of one file. MODIFIED to DAMAGED make up `modified_files`. */
#define LB_DRIFT_MAP(X)                                                                                              \
    X(UNINDEXED, "unindexed")   /* on disk, not in the map */                                                        \
    X(MISSING, "missing")       /* in the map, not on disk, and its content is under no other path */                \
    X(RENAMED, "renamed")       /* the content of a missing entry under another path */                              \
    X(MODIFIED, "modified")     /* changed; how is not known: the entry has no digests. Of datasets the note says */ \
    X(APPENDED, "appended")     /* what was mapped still stands; more follows */                                     \
    X(TRUNCATED, "truncated")   /* what is left is the beginning of what was mapped */                               \
    X(REWRITTEN, "rewritten")   /* other content */                                                                  \
    X(TOUCHED, "touched")       /* the same content under another time */                                            \
    X(DAMAGED, "damaged")       /* other content under the same size and time */                                     \
    X(UNREADABLE, "unreadable") /* there, but cannot be opened or read */                                            \
    X(RACY, "racy")             /* changed too close to its inspection to tell by time; content checked and equal */ \
    X(TORN, "torn")             /* as it was mapped, and ends inside a record: the rows before it are read */

#define LB_DRIFT_ENUM(name, text) LB_DRIFT_##name,
typedef enum lb_drift { LB_DRIFT_MAP(LB_DRIFT_ENUM) LB_DRIFT_COUNT } lb_drift;
#undef LB_DOCTOR_ENUM
#undef LB_DRIFT_ENUM

LB_API const char *lb_doctor_status_text(lb_doctor_status status);
LB_API const char *lb_drift_text(lb_drift drift);

typedef struct lb_doctor_options {
    size_t struct_size;
    bool heal;             /* mend the map; without it nothing at all is written */
    bool verify;           /* read every file and compare its digests */
    int64_t older_than_ns; /* with verify: leave out files verified since now less this; 0: none is left out */
} lb_doctor_options;

typedef struct lb_doctor_report lb_doctor_report;

typedef struct lb_doctor_info {
    size_t struct_size;
    lb_doctor_status status;
    uint64_t total_files; /* data files seen on disk */
    uint64_t healthy;     /* entries that match, before healing */
    uint64_t findings;    /* for lb_doctor_finding */
    bool healed;
    bool had_map;
    const char *map_path; /* lent by the report */
    int map_schema;       /* layout of the map found; 0: none */
    uint64_t bytes_hashed, bytes_surveyed;
    int64_t elapsed_ns;
    uint64_t unseekable; /* for lb_doctor_unseekable */
} lb_doctor_info;

/* A mapped file that is compressed as a whole in a way that lets reading begin at its start alone: one frame of zstd, one block of
 * xz. That is no drift. Files of less than 8 MiB of text are not told. Strings are lent by the report. */
typedef struct lb_unseekable {
    size_t struct_size;
    const char *path, *container;
    uint64_t bytes, text_bytes; /* of the file; decompressed */
} lb_unseekable;

/* A run of bytes that differ from what was mapped, and the rows in it. */
typedef struct lb_damage {
    uint64_t first_byte, length;
    int64_t first_row, rows; /* -1: not known */
} lb_damage;

/* Strings and arrays are lent by the report. */
typedef struct lb_finding {
    size_t struct_size;
    lb_drift drift;
    const char *path;             /* below the root */
    const char *was;              /* RENAMED: the entry's path; else NULL */
    const char *error;            /* UNREADABLE, TORN, or why a heal could not read it; else NULL */
    int64_t old_bytes, new_bytes; /* -1: not there */
    uint64_t n_damage;
    const lb_damage *damage;
    uint64_t n_schema; /* schema drift, a line each: "column 'x': int64 became string", after a heal */
    const char *const *schema;
    const char *note; /* of a Lance dataset: "version 5, was 3: 2 fragments added (200 rows)"; else NULL */
} lb_finding;

/* Compare the map of `dir` with the disk by the options stored in it, and mend it where asked (lake-map.md 8 and 14). The
 * former map is kept as .br_map.bazan.old. Files are grouped by drift, then by path.
 * Errors: NOTFOUND, USAGE (dir), CORRUPT or UNSUPPORTED (a map that is none: it is not replaced), CONFLICT (another
 *         writer at work), and while healing what reading a file gives, unless the map records errors. On error
 *         the map is as it was.
 * Cost:   a walk; reading the files that changed, and all of them under BLAKE3 or `verify`. An appended file is read from
 *         its last block. */
LB_API lb_status lb_doctor(lb_context *cx, const char *dir, const lb_doctor_options *options, lb_doctor_report **out,
                           lb_error *err);
LB_API lb_status lb_doctor_get_info(const lb_doctor_report *report, lb_doctor_info *out, lb_error *err);
LB_API lb_status lb_doctor_finding(const lb_doctor_report *report, uint64_t index, lb_finding *out, lb_error *err);
LB_API lb_status lb_doctor_unseekable(const lb_doctor_report *report, uint64_t index, lb_unseekable *out,
                                      lb_error *err);
LB_API void lb_doctor_report_free(lb_doctor_report *report);

/* Put the map of before the last heal or build back; what it replaces becomes the former one, so that undoing twice
 * changes nothing.
 * Errors: NOTFOUND: there is none; CONFLICT, IO. */
LB_API lb_status lb_doctor_undo(lb_context *cx, const char *dir, lb_error *err);

/* ---------------------------------------------------------------- tables: a file or a lake, as rows */

typedef struct lb_table lb_table;

typedef enum lb_schema_mode {
    LB_SCHEMA_UNION,  /* columns united by name; a conflict fails reads that use the column */
    LB_SCHEMA_STRICT, /* any difference between files is an error */
    LB_SCHEMA_TEXT    /* conflicting columns become text */
} lb_schema_mode;

typedef struct lb_open_options {
    size_t struct_size;
    const lb_read_options *read; /* may be NULL */
    const char *format;          /* name of a format; NULL: by extension, then by content */
    bool no_map;                 /* read as if there were no map */
    /* Map files into memory, and hand out what lies in them as it is wanted without a copy: the buffers of uncompressed Arrow
     * files and streams. Arrays keep the mapping alive, also after the table is closed, and nothing of it counts against the
     * memory limit. While rows are in use the files must neither be changed nor made shorter: a page that is no longer there
     * kills the process (SIGBUS). Other formats are read as ever. */
    bool memory_map;
    /* Only lb_table_count and lb_table_rows are going to be asked: what no map describes is read for its rows alone, in a fraction of the
     * time. Columns of text files may then be told as text, and values that do not fit a declared type pass unseen. */
    bool rows_only;
    lb_schema_mode schema;
} lb_open_options;

/* Open a data file, a Lance dataset (PATH@VERSION: an older version, by number, tag or time), or a directory as one row
 * space in map order. A map is found from the file upwards and used for files that have not changed since (size, mtime,
 * ctime, hash of the block's start); otherwise a file is surveyed first: whole up to 256 MiB, else its first 16 MiB.
 * Errors: NOTFOUND, IO, UNSUPPORTED, CORRUPT, USAGE (options). */
LB_API lb_status lb_open(lb_context *cx, const char *path, const lb_open_options *options, lb_table **out,
                         lb_error *err);
LB_API void lb_close(lb_table *table);

/* Is it a directory of files, and not a single file or dataset? */
LB_API bool lb_table_is_lake(const lb_table *table);

/* Number of rows, or -1 where only a sample was read, or counting means opening many files: a Lance dataset of more than 64 fragments
 * whose manifest does not say (then lb_table_count reads on to the end). */
LB_API int64_t lb_table_rows(const lb_table *table);
LB_API lb_status lb_table_count(lb_table *table, uint64_t *rows, lb_error *err);

/* The columns as an Arrow schema (a struct), owned by the caller. Where the files of a lake disagree on a column so
 * that no type holds the values of all (LB_SCHEMA_UNION), its field has the first file's type and the metadata key
 * "lakebed.conflict", whose value names the column, both types and a file of each. Slices that use it fail. */
LB_API lb_status lb_table_schema(lb_table *table, struct ArrowSchema *out, lb_error *err);

/* A schema's type in the words of `schema --json`: `"int64"` or an object, as JSON text. Writes at most `cap`
 * bytes with the closing NUL and returns the length the text has; 0: there is no memory, or this is no Arrow type. */
LB_API size_t lb_type_json(const struct ArrowSchema *type, char *out, size_t cap);

/* Files of the table (1 for a file) and where each stands. Errors: USAGE. */
LB_API uint64_t lb_table_files(const lb_table *table);
/* Files of a lake that could not be read: they have no rows in the table, or those before a torn end. Each was told of by a
 * note. */
LB_API uint64_t lb_table_failed(const lb_table *table);
LB_API lb_status lb_table_file(lb_table *table, uint64_t index, lb_entry_info *out, lb_error *err);
/* "used", or why no map serves this file: "no map", "not listed", "stale", "other options", "dynamic handler",
 * "no locator", "invalid map", "reference layout", "error when mapped", "not asked". Static. */
LB_API const char *lb_table_map_use(lb_table *table, uint64_t index);

/* Columns over all files with their statistics, where known. The strings live until the table is closed. */
LB_API uint64_t lb_table_columns(lb_table *table);
LB_API lb_status lb_table_column(lb_table *table, uint64_t column, lb_column_info *out, lb_error *err);

typedef struct lb_slice {
    size_t struct_size;
    uint64_t offset;
    uint64_t limit;             /* UINT64_MAX: to the end */
    const char *const *columns; /* names, ended by NULL; NULL or none: all. A name may repeat */
} lb_slice;

/* Rows [offset, offset+limit) as a stream of batches; fewer where the table ends before. The stream must be
 * released before the table is closed. Errors met while pulling are returned by the stream: its
 * get_last_error has the text, lb_stream_error the whole.
 * Errors: NOTFOUND: a column, with a suggestion; CORRUPT (conflicting columns: the error names both files).
 * Memory: a block of the format and the batch. Cost: at most a stride of rows before the first wanted. */
LB_API lb_status lb_table_slice(lb_table *table, const lb_slice *slice, struct ArrowArrayStream *out, lb_error *err);

/* The error a stream of this library ended with; false: not one of ours, or no error. */
LB_API bool lb_stream_error(struct ArrowArrayStream *stream, lb_error *out);

/* The records' own bytes of the same rows (text formats), given in pieces to `write`, which returns false to stop.
 * Errors: UNSUPPORTED where records have no bytes of their own; CANCELLED when stopped. */
typedef bool (*lb_write_fn)(void *user, const void *bytes, size_t size);
LB_API lb_status lb_table_raw(lb_table *table, const lb_slice *slice, lb_write_fn write, void *user, lb_error *err);

/* Which files, blocks and bytes a slice touches. `next` gives one part after the other until `*done`. */
typedef struct lb_part {
    size_t struct_size;
    const char *path;
    const char *map; /* as lb_table_map_use */
    const char *format, *locator;
    uint64_t first_row, rows;     /* rows of this file in the slice */
    uint64_t first_block, blocks; /* blocks touched; 0 blocks: no locator */
    int64_t first_byte, bytes;    /* byte range read, at most; -1 unknown */
    uint64_t skipped_rows;        /* decoded before the first wanted one */
    const char
        *container; /* "gzip" … where the file is compressed as a whole: bytes are then those of the text; NULL */
    uint64_t restart_points; /* of it: places where decompressing can begin besides its start */
    int64_t unpacked_bytes;  /* decompressed before the first byte of the range; -1 unknown, or not compressed */
} lb_part;
LB_API lb_status lb_table_explain(lb_table *table, const lb_slice *slice, uint64_t part, lb_part *out, bool *done,
                                  lb_error *err);

/* ---------------------------------------------------------------- scattered rows */

/* A pseudo-random permutation of [0, n) that is worked out place by place: nothing is stored, whatever n is. The
 * same n and seed give the same permutation on every machine and in every version. All members are the library's. It
 * is a Feistel network with cycle walking (J. Black, P. Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA
 * 2002), good for sampling and shuffling; not a cipher. */
#define LB_PERMUTATION_KEYS 16
typedef struct lb_permutation {
    size_t struct_size;
    uint64_t n, a, b;
    uint64_t keys[LB_PERMUTATION_KEYS];
    unsigned rounds;
} lb_permutation;

/* Make it; `p->struct_size` is set by the caller. Errors: USAGE: n beyond INT64_MAX. */
LB_API lb_status lb_permutation_init(lb_permutation *p, uint64_t n, uint64_t seed, lb_error *err);

/* The value at a place, and the place of a value; UINT64_MAX from n on. Threads: any number at once. Cost: does not
 * depend on n; some 50 multiplications, fewer from 65,536 on. */
LB_API uint64_t lb_permutation_at(const lb_permutation *p, uint64_t place);
LB_API uint64_t lb_permutation_place(const lb_permutation *p, uint64_t value);

/* Which rows are taken, in which order. */
typedef struct lb_take {
    size_t struct_size;
    const uint64_t *rows; /* rows of the table in the order wanted; one may repeat. Lent until the stream is released */
    uint64_t count;       /* of rows; where `shuffled`, at most so many, UINT64_MAX: to the end */
    bool shuffled;        /* instead of `rows`: the table's rows in the order of lb_permutation, from place `from` on */
    uint64_t seed, from;  /* of the shuffle. The first n rows of it are a sample of n without replacement */
    bool sorted;          /* give the same rows in the order of the table */
    const char *const *columns; /* as in lb_slice */
} lb_take;

/* Scattered rows as a stream of batches, in the order asked. The stream must be released before the table is closed.
 * A shuffle is taken up again at any place by `from`: the rows of two streams, one up to place k and one from k on,
 * are those of one stream, as long as the table has the same rows.
 * Errors: USAGE: a row past the end, named with the number of rows, before any row is given; NOTFOUND: a column; STALE,
 *         CORRUPT, BUDGET; as in lb_table_slice. They come from the call where they can be known, else from the stream.
 * Threads: one stream in one thread at a time; the work inside is done by the context's threads. The rows do not
 * depend on
 *         their number.
 * Memory: rows are taken in windows, and the rows of a window are held: at most an eighth of the memory limit or 1
 * GiB; and
 *         about 40 bytes for each row of the window. `sorted` holds 16 bytes for each row asked.
 * Cost:   in each window every block with a wanted row is read once, up to the last such row; rows between are
 * passed over
 *         without being decoded. A file that is not mapped is read once before where only a sample of it was read by
 *         lb_open and one window does not hold the rows. */
LB_API lb_status lb_table_take(lb_table *table, const lb_take *take, struct ArrowArrayStream *out, lb_error *err);

/* The records' own bytes of the same rows, one after the other, each with its line end. A record that ends its file
 * without one gets one where another follows. Errors: as lb_table_take, and UNSUPPORTED, CANCELLED as lb_table_raw.
 * Memory: 64 bytes for each row of a window of at most 4,194,304 rows. */
LB_API lb_status lb_table_take_raw(lb_table *table, const lb_take *take, lb_write_fn write, void *user, lb_error *err);

/* Which files, blocks and bytes the rows touch, a part for each file, told in the order of the table. In a part
 * `rows` are the distinct ones, `blocks` and `bytes` those touched, which need not stand side by side, and
 * `skipped_rows` those passed over. A part's strings live until the table is closed. `tell` returns false to stop.
 * Memory: 16 bytes a row. */
typedef bool (*lb_part_fn)(void *user, const lb_part *part);
LB_API lb_status lb_table_take_explain(lb_table *table, const lb_take *take, lb_part_fn tell, void *user,
                                       lb_error *err);

/* ---------------------------------------------------------------- splits */

/* Runs of whole records, for engines that read files in pieces. */
typedef struct lb_splits lb_splits;

typedef struct lb_split {
    size_t struct_size;
    const char *path;          /* below the directory, or the file as it was opened; lent by the splits */
    uint64_t file;             /* index of the file in the table */
    uint64_t number;           /* of the split in its file, from 0 */
    int64_t first_byte, bytes; /* in the file; -1: it is not split by bytes (the array of a JSON file, …) */
    uint64_t first_row, rows;  /* of the file */
    /* Of the file before its first record: byte-order mark and header. These bytes and a split's are a file of their
     * own. -1: not split by bytes. */
    int64_t header_bytes;
} lb_split;

/* Cut all files of the table into splits of about `target` bytes each (at least 1): a split ends before the record
 * that would take it beyond the target, so only a record that is larger by itself makes a larger one. The splits of
 * a file are in order, without gap or overlap, and hold all its rows. Bytes are the file's own, whatever its encoding.
 * Errors: USAGE, and what reading the files gives. Cost: blocks of a mapped file that are no larger than half the
 * target are joined without being read; larger ones are walked through. Threads: files are worked on in parallel. */
LB_API lb_status lb_table_splits(lb_table *table, uint64_t target, lb_splits **out, lb_error *err);
LB_API uint64_t lb_splits_count(const lb_splits *splits);
LB_API lb_status lb_splits_at(const lb_splits *splits, uint64_t index, lb_split *out, lb_error *err);

/* Read every split alone, from its bytes and the file's dialect and types only, and compare its rows with those of
 * one pass over the whole file. Errors: CORRUPT: naming the first split whose rows are others, or whose rows do not
 * add up; and what reading gives. Cost: every file is read twice. Formats that are not split by bytes are read by
 * row ranges. */
LB_API lb_status lb_splits_check(const lb_splits *splits, lb_error *err);
LB_API void lb_splits_free(lb_splits *splits); /* before the table is closed; NULL is fine */

/* ---------------------------------------------------------------- printing */

typedef struct lb_printer lb_printer;

typedef struct lb_print_options {
    size_t struct_size;
    unsigned width;        /* of a table's line in characters; 0: no limit */
    bool colour;           /* a table may use it */
    bool header;           /* csv: names first (the command sets it) */
    const char *delimiter; /* csv: 1 byte; NULL: a comma */
} lb_print_options;

/* Print rows in `form`: "table", "csv", "ndjson", "json", "tagged", "canonical", "arrow" (IPC file), "arrows" (IPC
 * stream). Everything of `stream` is pulled, printed and the stream released, also on error.
 * Errors: USAGE (form), UNSUPPORTED (a type the form cannot hold), IO (write gave false), the stream's own. */
LB_API lb_status lb_print(lb_context *cx, struct ArrowArrayStream *stream, const char *form,
                          const lb_print_options *options, lb_write_fn write, void *user, uint64_t *rows,
                          lb_error *err);

/* The forms lb_print knows, separated by blanks. */
LB_API const char *lb_print_forms(void);

/* ---------------------------------------------------------------- Lance datasets: what is in a version
 * Rows are read by lb_open (PATH or PATH@VERSION); this tells of everything else. All strings and arrays are lent until the
 * dataset is closed. */
typedef struct lb_dataset lb_dataset;

typedef struct lb_dataset_info {
    size_t struct_size;
    const char *path;     /* the folder */
    const char *manifest; /* below it: "_versions/7.manifest" */
    uint64_t version;
    uint64_t newest;        /* version of the dataset */
    int64_t rows;           /* live; -1: not known, see `unreadable` */
    int64_t deleted;        /* rows that are in files but deleted; -1 */
    const char *unreadable; /* why rows cannot be read: data files of format 2, feature flags …; NULL: they can */
    uint64_t fragments, files, fields, columns, indices;
    int64_t seconds; /* commit time, Unix; 0: not written */
    int32_t nanos;
    const char *tag;         /* in the manifest itself; "" */
    const char *writer;      /* "lance 0.8.14"; "": not written (releases before 0.8.13) */
    const char *storage;     /* "0.1" or as the manifest has it; "": it does not say */
    const char *branch;      /* "": none */
    const char *transaction; /* "": none */
    uint64_t reader_flags, writer_flags;
    int64_t max_fragment; /* largest fragment id ever used; -1: not written */
    uint64_t manifest_bytes;
    bool has_indices; /* there is an index section, perhaps an empty one */
    bool has_aux;     /* there is version-auxiliary data, perhaps of no keys */
} lb_dataset_info;

typedef struct lb_dataset_version {
    size_t struct_size;
    uint64_t version;
    const char *manifest;
    uint64_t bytes; /* of the manifest */
    int64_t seconds;
    int32_t nanos;
    const char *tag;  /* in the manifest; "" */
    const char *tags; /* of refs files that name it, separated by blanks; "" */
} lb_dataset_version;

typedef struct lb_dataset_field {
    size_t struct_size;
    int32_t id, parent;       /* parent -1: a column */
    const char *name;         /* its own, not the path */
    const char *logical_type; /* Lance's word, "fixed_size_list:float:128" */
    const char *encoding;     /* "none", "plain", "var_binary", "dictionary" */
    bool nullable;
    int32_t null_of; /* id of the field whose nulls this one tells (lb_lance_nulls); -1: it is data */
    int64_t dictionary_offset, dictionary_length; /* in the manifest; -1: no dictionary */
} lb_dataset_field;

typedef struct lb_dataset_fragment {
    size_t struct_size;
    uint64_t id, files;
    int64_t rows;          /* physical; -1: not known */
    int64_t rows_recorded; /* by the manifest; -1: not written */
    int64_t deleted;
    const char *deletion_file; /* below the folder; NULL: none */
} lb_dataset_fragment;

typedef struct lb_dataset_file {
    size_t struct_size;
    const char *path; /* below the folder: "data/….lance" */
    const int32_t *fields;
    size_t n_fields;
    uint32_t major, minor; /* as the manifest has them; 0, 0: not written */
    uint64_t bytes;        /* likewise; 0 */
} lb_dataset_file;

typedef struct lb_dataset_index {
    size_t struct_size;
    const char *name, *uuid;
    const int32_t *fields;
    size_t n_fields;
    uint64_t dataset_version;
    const char *type;          /* "/lance.table.VectorIndexDetails" …; "": not written */
    const uint32_t *fragments; /* that it says it covers; NULL: it does not say */
    size_t n_fragments;
} lb_dataset_index;

typedef enum lb_dataset_meta {
    LB_DATASET_SCHEMA, /* metadata of the schema */
    LB_DATASET_AUX,    /* version-auxiliary data */
    LB_DATASET_CONFIG, /* settings of the table */
    LB_DATASET_TABLE   /* metadata of the table */
} lb_dataset_meta;

/* Open the newest version of a dataset, or PATH@VERSION: a number, a tag (of the refs folder, or of a manifest) or a time
 * ("2026-11-30T12:00:00Z": the newest version that was there then). Errors: NOTFOUND, CORRUPT, UNSUPPORTED (a manifest of
 * before release 0.2.7), IO. Data files that cannot be read are no error: info tells. Cost: one manifest; where it does not
 * record rows (before release 0.8.13), a few reads for each fragment when they are first asked for. */
LB_API lb_status lb_dataset_open(lb_context *cx, const char *path, lb_dataset **out, lb_error *err);
LB_API void lb_dataset_close(lb_dataset *dataset);

/* Is there a Lance dataset in the folder `path`? */
LB_API bool lb_dataset_exists(const char *path);

LB_API lb_status lb_dataset_get_info(lb_dataset *dataset, lb_dataset_info *out, lb_error *err);

/* All versions that are there, by ascending number. Cost: the first call reads every manifest. Errors: USAGE (index), CORRUPT, IO. */
LB_API lb_status lb_dataset_version_count(lb_dataset *dataset, uint64_t *count, lb_error *err);
LB_API lb_status lb_dataset_version_at(lb_dataset *dataset, uint64_t index, lb_dataset_version *out, lb_error *err);

/* Parts of the version. Errors: USAGE (index). */
LB_API lb_status lb_dataset_field_at(lb_dataset *dataset, uint64_t index, lb_dataset_field *out, lb_error *err);
LB_API lb_status lb_dataset_fragment_at(lb_dataset *dataset, uint64_t index, lb_dataset_fragment *out, lb_error *err);
LB_API lb_status lb_dataset_file_at(lb_dataset *dataset, uint64_t fragment, uint64_t index, lb_dataset_file *out,
                                    lb_error *err);
LB_API lb_status lb_dataset_index_at(lb_dataset *dataset, uint64_t index, lb_dataset_index *out, lb_error *err);
LB_API uint64_t lb_dataset_meta_count(lb_dataset *dataset, lb_dataset_meta kind);
LB_API lb_status lb_dataset_meta_at(lb_dataset *dataset, lb_dataset_meta kind, uint64_t index, const char **key,
                                    const void **value, size_t *size, lb_error *err);

/* Row ids (fragment id << 32 | row in the fragment, deleted ones counted) of the live rows [first, first + count), and the live row
 * of an id. Row ids are those of Lance: indices and deletion files use them. Errors: USAGE (past the end), NOTFOUND (no such row,
 * or a deleted one), and what reading gives. */
LB_API lb_status lb_dataset_row_ids(lb_dataset *dataset, uint64_t first, uint64_t count, uint64_t *out, lb_error *err);
LB_API lb_status lb_dataset_row_of_id(lb_dataset *dataset, uint64_t id, uint64_t *row, lb_error *err);

typedef enum lb_metric { LB_METRIC_DEFAULT, LB_METRIC_L2, LB_METRIC_COSINE, LB_METRIC_DOT } lb_metric;

typedef struct lb_search {
    size_t struct_size;
    const char *column; /* of vectors: fixed_size_list of halffloat, float or double */
    const float *query;
    size_t dimension;
    size_t k;         /* rows wanted */
    unsigned probes;  /* partitions of the index that are looked into; 0: 20 */
    unsigned refine;  /* 0: distances are the index's estimates; n: n * k candidates are ranked by exact distances */
    lb_metric metric; /* DEFAULT: the index's, or L2. L2 is squared; COSINE is 1 - cos; DOT is 1 - x.y */
    bool exact;       /* look at every vector, whatever indices there are */
} lb_search;

typedef struct lb_hit {
    uint64_t row, row_id; /* live row of the version, and its Lance row id */
    double distance;
} lb_hit;

/* The k rows whose vectors are nearest, by ascending distance, at most k of them into `out`. An IVF_PQ index of the column is used
 * where there is one that can be; rows that it does not cover are compared exactly and merged. Estimates of a cosine index are squared
 * distances of the normalized vectors (twice the cosine distance). Errors: NOTFOUND (column), USAGE, and what reading gives. */
LB_API lb_status lb_dataset_search(lb_dataset *dataset, const lb_search *search, lb_hit *out, size_t *n, lb_error *err);

/* Read everything that the version reaches from the disk, whatever was read before: its manifest, every page of every data file,
 * deletions, dictionaries, vector index files. Errors: the first damage, with file and byte; NOTFOUND: a part is gone. */
LB_API lb_status lb_dataset_verify(lb_dataset *dataset, lb_error *err);

/* ---------------------------------------------------------------- Lance datasets: writing
 * A dataset is a folder of versions; each change commits a new one, and none is ever changed. Paths name the folder; where a
 * version may be said it is PATH@N or PATH@TAG. Writers may work side by side: whoever comes second does its change again on
 * top of the first one's version, and where that makes no sense gets CONFLICT. A crash leaves the old or the new version.
 *
 * A stream of rows is pulled and released by the call, also on error. */

/* What is written for nulls that Lance v1 cannot tell (docs/formats/lance.md). */
typedef enum lb_lance_nulls {
    LB_LANCE_NULLS_REFUSE, /* an error that names column and row */
    LB_LANCE_NULLS_KEEP,   /* a companion column of booleans tells, which Lakebed joins again when it reads */
    LB_LANCE_NULLS_LOSSY   /* 0, false, empty */
} lb_lance_nulls;

typedef struct lb_key_value {
    const char *key;
    const void *value; /* NULL: the key is taken away */
    size_t size;
} lb_key_value;

typedef struct lb_lance_options {
    size_t struct_size;
    lb_lance_nulls nulls;
    uint64_t group_rows; /* rows that are stored together; 0: 1,024 */
    uint64_t file_rows;  /* a file is ended with the group that reaches so many; 0: 1,048,576 */
    bool
        whole_batches; /* a group ends with the batch that reaches group_rows, as Lance 0.4 had it; else exactly there */
    bool replace; /* lb_lance_tag: the tag may stand already. lb_lance_append: make the dataset where there is none */
    const char *tag;              /* written into the version itself; NULL: none */
    const lb_key_value *metadata; /* of the schema: what changes */
    size_t n_metadata;
    const lb_key_value *aux; /* version-auxiliary data of the new version */
    size_t n_aux;
    int64_t timestamp_ns; /* of the commit, Unix time; 0: now */
    const char *const
        *file_names; /* of the data files to be written, less ".lance", ended by NULL; when they are used up,
                                      or NULL: random UUIDs */
} lb_lance_options;

/* What a change made. */
typedef struct lb_lance_result {
    size_t struct_size;
    uint64_t version;   /* 0: there was nothing to change */
    uint64_t rows;      /* written, or deleted */
    uint64_t files;     /* data files written */
    uint64_t fragments; /* of the version */
} lb_lance_result;

/* Make a dataset of rows. Errors: USAGE: there is one (or another thing); nulls that are refused; names with dots;
 * UNSUPPORTED: a type Lance v1 has not; CONFLICT, IO, the stream's. */
LB_API lb_status lb_lance_create(lb_context *cx, const char *path, struct ArrowArrayStream *rows,
                                 const lb_lance_options *options, lb_lance_result *out, lb_error *err);

/* Add rows behind the others. Columns are matched by name; types are widened where the dataset's holds all values.
 * Errors: as create; USAGE: columns that do not fit. */
LB_API lb_status lb_lance_append(lb_context *cx, const char *path, struct ArrowArrayStream *rows,
                                 const lb_lance_options *options, lb_lance_result *out, lb_error *err);

/* A version that holds these rows only, with their columns. What came before stays in its versions. */
LB_API lb_status lb_lance_overwrite(lb_context *cx, const char *path, struct ArrowArrayStream *rows,
                                    const lb_lance_options *options, lb_lance_result *out, lb_error *err);

/* Add columns: one row of the stream for each row of the dataset, in its order. Errors: as create; USAGE: another number of rows, a
 * name that is there; CONFLICT: another writer added or rewrote rows meanwhile. */
LB_API lb_status lb_lance_add_columns(lb_context *cx, const char *path, struct ArrowArrayStream *rows,
                                      const lb_lance_options *options, lb_lance_result *out, lb_error *err);

/* Delete rows, given as numbers from 0 over the newest version, or (`ids`) as row ids (fragment << 32 | row in it). One may be named
 * twice, and a row that another writer deleted meanwhile is no error. Errors: USAGE: there is no such row; CONFLICT: another writer
 * rewrote the rows; UNSUPPORTED. Reads: the deletions of the fragments concerned. */
LB_API lb_status lb_lance_delete(lb_context *cx, const char *path, const uint64_t *rows, size_t n_rows, bool ids,
                                 const lb_lance_options *options, lb_lance_result *out, lb_error *err);

/* Rewrite neighbouring fragments that are small (fewer rows than options->file_rows) or have deleted rows into full ones. Nothing
 * to do: version 0. Row ids change. Errors: CONFLICT: another writer changed these rows meanwhile. */
LB_API lb_status lb_lance_compact(lb_context *cx, const char *path, const lb_lance_options *options,
                                  lb_lance_result *out, lb_error *err);

/* What a vector index is asked to be. */
typedef struct lb_lance_index_options {
    size_t struct_size;
    const char *name;     /* NULL: COLUMN_idx */
    lb_metric metric;     /* DEFAULT: L2 */
    uint32_t partitions;  /* 0: about the square root of the number of rows, at most 4,096 */
    uint32_t sub_vectors; /* codes of a vector; must divide its length. 0: 16, or the next smaller number that does */
    uint32_t rounds;      /* of k-means, at most; 0: 50 */
    uint64_t seed;        /* of the sample that partitions and codebook are found from */
    bool replace;         /* an index of that name may stand: this one takes its place */
    bool keep_model; /* with the partitions and codebook of the index that is replaced: only rows are assigned anew */
} lb_lance_index_options;

/* Make an IVF_PQ index of a column of vectors (fixed_size_list of float) of the newest version, and commit a version that has it. Rows
 * that come later are not in it: a search compares them exactly, until the index is made anew. The same rows, options and seed
 * give the same index, whatever the number of threads. Vectors that are null are left out. out->rows: vectors indexed. Of
 * `options` timestamp, tag and aux count, and the first of file_names, a UUID, which names the index's folder.
 * Errors: NOTFOUND (column; with keep_model: index), USAGE: fewer than 256 vectors, an index of that name, numbers that do not fit;
 * UNSUPPORTED: vectors of other types; CONFLICT: the rows were rewritten meanwhile; IO …
 * Cost: a sample of 256 vectors a partition (65,536 at least) is clustered, then every vector read once. Memory: the sample, at most
 * 512 MiB, and 28 bytes and the codes of each row. */
LB_API lb_status lb_lance_index(lb_context *cx, const char *path, const char *column,
                                const lb_lance_index_options *index, const lb_lance_options *options,
                                lb_lance_result *out, lb_error *err);

/* A new version with what the version `spec` holds ("3", a tag, a time). Errors: NOTFOUND. */
LB_API lb_status lb_lance_restore(lb_context *cx, const char *path, const char *spec, const lb_lance_options *options,
                                  lb_lance_result *out, lb_error *err);

/* A new version with the newest one's rows, that says what the options have: metadata, aux, tag. */
LB_API lb_status lb_lance_annotate(lb_context *cx, const char *path, const lb_lance_options *options,
                                   lb_lance_result *out, lb_error *err);

/* Name the version `spec` (NULL: the newest) `tag`, in a small file that no older reader minds; `spec` NULL and `remove`: take the tag
 * away. A tag is of letters, digits, `-`, `_` and dots, and no number. Errors: USAGE: a tag that cannot be, or is there and
 * options do not say replace; NOTFOUND. */
LB_API lb_status lb_lance_tag(lb_context *cx, const char *path, const char *spec, const char *tag, bool remove,
                              const lb_lance_options *options, lb_error *err);

/* A file of a dataset that no version reaches: left by a writer that died, or of versions that are gone. */
typedef struct lb_lance_orphan {
    const char *path; /* below the dataset's folder */
    uint64_t bytes;
    int64_t age_ns; /* since it was written */
    bool removed;
} lb_lance_orphan;
typedef void (*lb_lance_orphan_fn)(void *user, const lb_lance_orphan *orphan);

/* Give every orphan to `each`, and with `remove` take away those older than `older_than_ns`: only after every manifest was read, and
 * while no Lakebed writer is at work. A foreign writer's files are told from leftovers by their age alone.
 * Errors: CONFLICT (a writer is at work), and what reading a manifest gives: then nothing is removed. */
LB_API lb_status lb_lance_orphans(lb_context *cx, const char *path, bool remove, int64_t older_than_ns,
                                  lb_lance_orphan_fn each, void *user, lb_error *err);

/* ---------------------------------------------------------------- lineage: where the columns of SQL come from
 * A statement and a catalog in, a graph out: which columns each result column is made of (PROJECTION), and which
 * columns decide what rows it comes from (PREDICATE), as Apache Impala records it. Nothing is run. */

/* A piece of text that need not end in NUL; `text` may be NULL where size is 0. */
typedef struct lb_span {
    const char *text;
    size_t size;
} lb_span;

/* Tables, views and their columns, by database and name. Filled by one thread, then read by any number of them. */
typedef struct lb_catalog lb_catalog;

/* The context must outlive the catalog. Errors: NOMEM. */
LB_API lb_status lb_catalog_new(lb_context *cx, lb_catalog **out, lb_error *err);
LB_API void lb_catalog_free(lb_catalog *catalog);

/* Add the tables of a text: JSON where it begins with `{` or `[`, else statements of SQL, of which CREATE TABLE, CREATE
 * VIEW, ALTER VIEW, DROP and USE count. A table of a name that is there is replaced. JSON: an object with the list
 * `tables`, or that list alone; a table has `db`, `name`, and maybe `table_type` ("hive" unless said), `columns`
 * (`name`, `type`, `partition`), `view_sql`, `location`, `create_time` (seconds since the epoch). `default_db`: of
 * statements that name none; NULL: "default".
 * Errors: CORRUPT, saying which table or where in the statements; NOMEM, BUDGET. What was added before stays. */
LB_API lb_status lb_catalog_add(lb_catalog *catalog, const char *text, size_t size, const char *default_db,
                                lb_error *err);

typedef struct lb_catalog_column_info {
    const char *name, *type; /* type in SQL's words, "array<struct<f1:int>>"; NULL: not known */
    bool partition;          /* partition column of a hive table */
    bool hidden;             /* neither in a star nor a target */
} lb_catalog_column_info;

typedef struct lb_catalog_table_info {
    size_t struct_size;
    const char *db, *name;
    const char *type;     /* "hive", "iceberg", "kudu", "hbase", …; NULL: "hive", or "view" where view_sql is given */
    const char *location; /* NULL: not known */
    int64_t create_time;  /* seconds since the epoch; -1: not known */
    const char *view_sql; /* the view's query; NULL: a table */
    const lb_catalog_column_info *columns;
    size_t n_columns; /* of a view 0: found from its query */
} lb_catalog_table_info;

/* Add one table; everything is copied. Errors: USAGE (no name, a column named twice), NOMEM, BUDGET. */
LB_API lb_status lb_catalog_add_table(lb_catalog *catalog, const lb_catalog_table_info *table, lb_error *err);

/* Add every file of a lake as a table, from its map where it has one, else from a survey: its name without extensions,
 * of type "hive", with the file's columns, its absolute path as location, and the file's time as time of creation. The
 * database is `default_db` (NULL: "default") for files at the root, else the folders, joined by `_`. Of two files that
 * give one name, the first by path counts, and the other is noted. Errors: those of lb_open; NOMEM, BUDGET. */
LB_API lb_status lb_catalog_add_lake(lb_catalog *catalog, lb_context *cx, const char *dir, const char *default_db,
                                     lb_error *err);

/* Tables and views in it. */
LB_API size_t lb_catalog_size(const lb_catalog *catalog);

/* The graph of one statement. Lent by what made it: a trace until its next statement, records until their next one. */
typedef struct lb_lineage_graph lb_lineage_graph;

/* A script being traced, statement by statement. */
typedef struct lb_trace lb_trace;

typedef struct lb_trace_options {
    size_t struct_size;
    const lb_catalog *catalog; /* NULL: none; names are then taken as they stand, and marked. Must outlive the trace */
    const char *default_db;    /* NULL: "default" */
    const char *warehouse;     /* where tables without a location lie; NULL: "/test-warehouse" */
    const char *user;          /* recorded; NULL: "" */
    const char *query_id;   /* of the first statement, as "0123456789abcdef:0000000000000001"; each further one has the
                                * next number. NULL: a random one */
    int64_t started, ended; /* recorded, seconds since the epoch; 0: now */
    bool keep_newlines;     /* in the recorded text; else each is recorded as a blank, as a server does */
    bool expand_complex_types; /* a star includes columns of complex types */
    bool expr_rewrites;        /* constants are folded before columns are collected */
    bool strict;               /* a name that is unresolved or ambiguous fails its statement */
} lb_trace_options;

/* What became of one statement. Lent until the next one. */
typedef struct lb_trace_info {
    size_t struct_size;
    uint64_t begin, end;   /* its bytes in the script, without the semicolon */
    lb_status status;      /* other than OK: it cannot be read or resolved, and has no graph; the script goes on */
    const lb_error *error; /* why; `offset` is a byte of the script. NULL where status is OK */
    const lb_lineage_graph *graph; /* NULL: it leaves no record, as DELETE or SHOW */
    uint64_t unknown_tables, unknown_columns,
        ambiguous_columns; /* names in it that could not be resolved for certain */
    uint64_t marks;        /* of them, those that lb_trace_mark tells: the first 1,000 */
} lb_trace_info;

typedef enum lb_mark_kind { LB_MARK_UNKNOWN_TABLE, LB_MARK_UNKNOWN_COLUMN, LB_MARK_AMBIGUOUS_COLUMN } lb_mark_kind;

/* A name that could not be resolved for certain. Lent until the next statement. */
typedef struct lb_mark_info {
    size_t struct_size;
    lb_mark_kind kind;
    uint64_t offset; /* of the name in the script; of one in a stored view's text: of the view's name */
    lb_span name;    /* as written */
    lb_span view;    /* "db.view" where it stands in a stored view's text */
} lb_mark_info;

/* Begin a script. `text` must outlive the trace. Tables and views that its statements make are known to the later ones.
 * Errors: USAGE (query_id), NOMEM, BUDGET. */
LB_API lb_status lb_trace_open(lb_context *cx, const lb_trace_options *options, const char *text, size_t size,
                               lb_trace **out, lb_error *err);

/* The next statement, or *done. Errors: NOMEM, CANCELLED; what is wrong with a statement is its own status.
 * Cost: linear in the statement and in what it names. */
LB_API lb_status lb_trace_next(lb_trace *trace, lb_trace_info *out, bool *done, lb_error *err);
LB_API lb_status lb_trace_mark(const lb_trace *trace, uint64_t index, lb_mark_info *out, lb_error *err);
LB_API void lb_trace_close(lb_trace *trace);

/* ---- graphs */

typedef struct lb_lineage_info {
    size_t struct_size;
    lb_span query_text, operation, user, hash;
    lb_span location;            /* of the table it makes, where it tells; else of size 0 */
    lb_span target, target_type; /* "db.table" that it writes, and "hive" …; of size 0 for a query */
    char query_id[34];           /* with a closing NUL */
    int64_t started, ended;      /* seconds since the epoch; ended -1: not recorded */
    uint64_t vertices, edges;
} lb_lineage_info;

typedef struct lb_vertex_info {
    size_t struct_size;
    lb_span label;             /* "db.table.column", or the label of a result column */
    lb_span table, table_type; /* of size 0 where the record has none */
    int64_t create_time;       /* of the table, seconds since the epoch; -1: not known */
    bool target;               /* of some edge */
    bool unresolved;           /* of a table or column that no catalog knows */
} lb_vertex_info;

typedef enum lb_edge_kind { LB_EDGE_PROJECTION, LB_EDGE_PREDICATE } lb_edge_kind;

/* Sources and targets are vertices, ascending. */
typedef struct lb_edge_info {
    size_t struct_size;
    lb_edge_kind kind;
    uint64_t sources, targets;
} lb_edge_info;

LB_API lb_status lb_lineage_get_info(const lb_lineage_graph *graph, lb_lineage_info *out, lb_error *err);
LB_API lb_status lb_lineage_vertex_at(const lb_lineage_graph *graph, uint64_t vertex, lb_vertex_info *out,
                                      lb_error *err);
LB_API lb_status lb_lineage_edge_at(const lb_lineage_graph *graph, uint64_t edge, lb_edge_info *out, lb_error *err);
/* The vertex at one end of an edge. Errors (of all four): USAGE (index). */
LB_API lb_status lb_lineage_source_at(const lb_lineage_graph *graph, uint64_t edge, uint64_t index, uint64_t *vertex,
                                      lb_error *err);
LB_API lb_status lb_lineage_target_at(const lb_lineage_graph *graph, uint64_t edge, uint64_t index, uint64_t *vertex,
                                      lb_error *err);

/* Write a graph: "impala" (a line of JSON, byte for byte as Impala's log), "thrift" and "thrift-compact" (Impala's
 * TLineageGraph, one struct), "dot" (Graphviz). Errors: USAGE (form), UNSUPPORTED (a form that is not written yet), IO
 * (write gave false), NOMEM, BUDGET. */
LB_API lb_status lb_lineage_write(const lb_lineage_graph *graph, const char *form, lb_write_fn write, void *user,
                                  lb_error *err);

/* The forms lb_lineage_write knows, separated by blanks. */
LB_API const char *lb_lineage_forms(void);

/* ---- logs */

/* A directory with a record a line, in files that Impala's readers take for its own. Many processes may write into one
 * at once; a record stands there whole or not at all, also after a crash. */
typedef struct lb_lineage_log lb_lineage_log;

typedef struct lb_lineage_log_options {
    size_t struct_size;
    uint64_t max_records; /* in a file; 0: 5,000 */
    bool sync_each;       /* each record is on the disk when append returns; else all are when close returns */
} lb_lineage_log_options;

/* Open a log for writing; the directory is made when missing. `options` may be NULL. Errors: NOTFOUND, IO, NOMEM. */
LB_API lb_status lb_lineage_log_open(lb_context *cx, const char *dir, const lb_lineage_log_options *options,
                                     lb_lineage_log **out, lb_error *err);

/* Append one record. Not from two threads at once. Errors: IO, CONFLICT (another writer held the lock for half a
 * minute), NOMEM, BUDGET. */
LB_API lb_status lb_lineage_log_append(lb_lineage_log *log, const lb_lineage_graph *graph, lb_error *err);
LB_API lb_status lb_lineage_log_close(lb_lineage_log *log, lb_error *err); /* also frees; NULL is fine. Errors: IO */

/* Records read back, one after the other. */
typedef struct lb_lineage_records lb_lineage_records;

/* Open the log in a directory (ours or Impala's, also of older versions), or one file of records in JSON lines or in
 * either form of Thrift. Errors: NOTFOUND, IO, USAGE, NOMEM. */
LB_API lb_status lb_lineage_records_open(lb_context *cx, const char *path, lb_lineage_records **out, lb_error *err);

/* The next record, or *graph NULL at the end. What is no record, as the torn line of a writer that died, is noted and
 * passed over. Errors: IO, NOMEM, BUDGET, CANCELLED. Memory: one record; of Thrift the file. */
LB_API lb_status lb_lineage_records_next(lb_lineage_records *records, const lb_lineage_graph **graph, lb_error *err);
LB_API uint64_t lb_lineage_records_bad(const lb_lineage_records *records); /* passed over so far */
LB_API void lb_lineage_records_close(lb_lineage_records *records);

/* ---- trails: a column followed through many statements */

typedef struct lb_trail lb_trail;

LB_API lb_status lb_trail_new(lb_context *cx, lb_trail **out, lb_error *err);
LB_API void lb_trail_free(lb_trail *trail);

/* Add a statement; what is needed of it is copied. Errors: NOMEM, BUDGET. */
LB_API lb_status lb_trail_add(lb_trail *trail, const lb_lineage_graph *graph, lb_error *err);

typedef struct lb_trail_options {
    size_t struct_size;
    bool downstream;  /* what was made of the column; else what it was made of */
    bool values_only; /* follow values, not what decided which rows came */
    uint32_t depth;   /* statements to go through; 0: all */
} lb_trail_options;

typedef struct lb_trail_reply lb_trail_reply;

/* Follow a column, named as "db.table.column" or by so much of its end as only one column has, in any case. Statements
 * count in the order of time: upstream those that began before the one that read what they wrote had ended, downstream
 * those that ended after. Errors: NOTFOUND (with a suggestion), USAGE (several columns), NOMEM, BUDGET. Cost: O(edges
 * log edges); the first question after lb_trail_add also sorts them. Threads: one at a time. The reply lives as long as
 * the trail, if nothing is added. */
LB_API lb_status lb_trail_ask(lb_trail *trail, const char *column, const lb_trail_options *options,
                              lb_trail_reply **out, lb_error *err);
LB_API void lb_trail_reply_free(lb_trail_reply *reply);

/* A column that was reached; the first one is the column asked for. In order of depth, then of name. Lent by the
 * trail. */
typedef struct lb_trail_column_info {
    size_t struct_size;
    lb_span column, table, table_type; /* table of size 0: a result column, or not known */
    bool result;                       /* column of a query's result */
    bool value;                        /* reached by values alone; else what it holds decided which rows came */
    uint32_t depth;                    /* statements on the shortest way */
    uint64_t toward; /* index of the column it was reached from, one step nearer; its own at depth 0 */
    /* The statement of that step; of size 0 where a nested field is reached from its column. */
    lb_span operation, query_text, user;
    char query_id[34];
    int64_t started, ended; /* ended -1: not recorded */
} lb_trail_column_info;

LB_API uint64_t lb_trail_reply_size(const lb_trail_reply *reply);
LB_API lb_status lb_trail_reply_at(const lb_trail_reply *reply, uint64_t index, lb_trail_column_info *out,
                                   lb_error *err);

/* Draw the reply for Graphviz. Errors: IO (write gave false), NOMEM, BUDGET. */
LB_API lb_status lb_trail_reply_dot(const lb_trail_reply *reply, lb_write_fn write, void *user, lb_error *err);

/* ---------------------------------------------------------------- saving */

/* A file that appears whole or not at all: written beside, synced, renamed over `path`. What goes to a path that ends in .zst or
 * .gz is compressed on the way, in pieces at which reading can begin; other containers (.xz …) are not written: USAGE. */
typedef struct lb_saver lb_saver;
LB_API size_t lb_saver_stem(const char *path); /* bytes of `path` before a container's ending; 0: it has none */
LB_API lb_status lb_saver_open(lb_context *cx, const char *path, lb_saver **out, lb_error *err);
LB_API bool lb_saver_write(void *saver, const void *bytes, size_t size); /* an lb_write_fn */
LB_API lb_status lb_saver_commit(lb_saver *saver, lb_error *err);        /* also frees */
LB_API void lb_saver_discard(lb_saver *saver);                           /* also frees; NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
