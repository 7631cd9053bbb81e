/* The contract of a format (design.md section 3): a constant table of functions. The product reaches formats only through it;
 * adding one = a folder under src/format and a line in src/lake/handlers.c. */
#ifndef LB_FORMAT_FORMAT_H
#define LB_FORMAT_FORMAT_H

#include "column/types.h"
#include "format/entry.h"
#include "format/options.h"
#include "format/sums.h"
#include "io/store.h"
#include "io/text.h"

typedef struct lb_format lb_format;
typedef struct lb_reader lb_reader;

/* Head and tail of a file, for sniffing. */
typedef struct lb_peek {
    const uint8_t *head, *tail;
    size_t head_size, tail_size;
    uint64_t file_size;
} lb_peek;

typedef enum lb_stats_policy { LB_STATS_ALL, LB_STATS_OFF, LB_STATS_BLOCKS, LB_STATS_NAMED } lb_stats_policy;

typedef struct lb_survey_options {
    uint64_t stride; /* > 0 */
    lb_stats_policy stats;
    const char *const *stats_columns; /* LB_STATS_NAMED: ended by NULL */
    uint64_t sample_bytes;            /* stop after about so many bytes; 0: the whole file */
    bool pages;                       /* Parquet: page positions too */
    bool keep_state; /* for a map: keep in open_state what extend needs, and what only later reads have a use for */
    /* Given every byte of the file once, in order, by formats that read them all (`reads_all`); may be NULL. */
    lb_tap_fn tap;
    void *tap_user;
    const lb_sums *sums; /* with a tap: its way to be given bytes that several threads read, if it has one; or NULL */
    size_t chunk;        /* bytes read at a time; 0: the format's choice. Results do not depend on it */
    bool rows_only; /* count and place rows: no columns are asked for, and what is wrong inside rows may pass unseen */
    bool
        rows_later; /* where counting rows means opening many files, total_rows may stay LB_ROWS_UNKNOWN, and blocks those
                      * of the first rows */
    size_t part;    /* bytes of a file that one of several threads reads; 0: the format's choice. Nor on it */
} lb_survey_options;

typedef struct lb_wanted {
    uint64_t column;              /* index in the file's schema */
    const struct ArrowSchema *as; /* read as this type; NULL: its own. Only where `reads_as` says so */
} lb_wanted;

typedef struct lb_range {
    uint64_t first, count; /* rows of the file */
    const uint64_t *rows;  /* take: these rows instead, `count` of them, ascending and each once; lent to the stream */
    size_t n_columns;
    const lb_wanted *columns; /* in the order wanted; one may repeat */
    size_t batch_rows;        /* at most so many rows a batch; 0: the format's choice */
    size_t chunk;             /* as in lb_survey_options */
} lb_range;

/* Bytes of a record in the file: itself, and the line end behind it. */
typedef struct lb_extent {
    uint64_t first, stop, end; /* [first, stop) the record, [stop, end) its line end, empty at the end of a file */
} lb_extent;

struct lb_format {
    const char *name;              /* as column `format` of the map */
    const char *const *extensions; /* lower case, ended by NULL */
    const char *locator;           /* as column `locator` */
    const char *const *options;    /* read options it takes, ended by NULL */
    bool text;                     /* typed by looking at values; records have bytes of their own (raw) */
    bool binary;                   /* … which follow one another without line ends */
    bool reads_all;                /* survey gives every byte to the tap */
    const void *arg;               /* the handler's own: several formats may share functions */

    /* How sure: 0 no … 100 certain. */
    int (*sniff)(const lb_format *format, const lb_peek *peek);

    /* Open for reading. `options` may be NULL; `known` NULL or an entry whose structure is to be used as it stands (dialect,
     * schema, blocks, open_state); store, options and known must outlive the reader. One reader serves many calls and threads. On error
     * nothing is left open. Errors: CORRUPT, UNSUPPORTED, USAGE, IO … */
    lb_status (*open)(const lb_format *format, lb_context *cx, lb_store *store, const lb_read_options *options,
                      const lb_entry *known, lb_reader **out, lb_error *err);

    /* One pass: fills total_rows, locator, arrow_schema, dialect, blocks, columns … of `out`, in `arena`. */
    lb_status (*survey)(lb_reader *reader, const lb_survey_options *options, lb_arena *arena, lb_entry *out,
                        lb_error *err);

    /* As survey, for a file that grew since `known` (with which the reader was opened) was made of it: reads from the last block
     * on and gives what survey would; nothing goes to the tap. *done false: nothing was read, it has to be surveyed whole.
     * NULL: the format cannot. */
    lb_status (*extend)(lb_reader *reader, const lb_survey_options *options, lb_arena *arena, lb_entry *out, bool *done,
                        lb_error *err);

    /* Does scan read a column as this type where its text can be that (lb_wanted.as)? NULL: never, it gives each its own type. */
    bool (*reads_as)(const struct ArrowSchema *type);

    /* Rows as a pull stream of batches with the wanted columns; the reader was opened with a known entry that has a schema.
     * Batches end at lb_blocks_border. Rows past the end are left out. Errors while pulling come from the stream; STALE where a block does not begin as the
     * entry says. Never decodes more than a block before the first row, and the batch. */
    lb_status (*scan)(lb_reader *reader, const lb_range *range, struct ArrowArrayStream *out, lb_error *err);

    /* As scan, of the range's `rows`; those between are passed over as cheaply as the format can. One pass from the
     * nearest place before rows[0], never more: whoever calls cuts at blocks. NULL: scan and pick. */
    lb_status (*take)(lb_reader *reader, const lb_range *range, struct ArrowArrayStream *out, lb_error *err);

    /* Where the records of `rows` (`n` of them, ascending and each once) stand in the file, in one pass as take;
     * *found of them, fewer where the file ends before. NULL: records have no bytes of their own. */
    lb_status (*extents)(lb_reader *reader, const uint64_t *rows, size_t n, lb_extent *out, size_t *found,
                         lb_error *err);

    /* Read everything there is, checking what a scan need not: structure, positions, files beside. The first damage is the error:
     * CORRUPT, UNSUPPORTED, NOTFOUND (a part is gone) … NULL: the bytes' digests tell. */
    lb_status (*verify)(lb_reader *reader, lb_error *err);

    /* The records' own bytes. NULL: the format has none. */
    lb_status (*raw)(lb_reader *reader, uint64_t first, uint64_t count, lb_write_fn write, void *user, lb_error *err);

    /* The entry under other value options, where nothing has to be read for that (all text; declared columns): fills *out, which lends
     * from `known` and `arena`. *done false: the file has to be surveyed with these options. NULL: always. */
    lb_status (*adapt)(const lb_entry *known, const lb_read_options *options, lb_arena *arena, lb_entry *out,
                       bool *done, lb_error *err);

    /* Another reading that would fit better, as options text ("delimiter=;"), or "" for none; NULL: never. `out` has 128 bytes.
     * `why` gets a sentence. */
    lb_status (*suggest)(lb_reader *reader, char *out, char *why, size_t cap, lb_error *err);

    /* What is wrong behind the last row of an entry, as the survey found it: a file that ends inside a record is read up to
     * there, and whoever reads on gets this. LB_OK: nothing. NULL: there never is anything. */
    lb_status (*tail)(const lb_entry *known, lb_error *err);

    /* Of workbooks: the number of the sheet that `asked` names or numbers, as the entry knows them; -1: none. NULL: there are no
     * sheets. */
    int64_t (*sheet_of)(const lb_entry *known, const char *asked);

    void (*close)(lb_reader *reader); /* NULL is fine */
};

/* What text formats have for `adapt`: where nothing but the types of columns changes, the blocks serve on. */
lb_status lb_adapt_types(const lb_entry *known, const lb_read_options *options, lb_arena *arena, lb_entry *out,
                         bool *done, lb_error *err);

/* Structure options of a read against an entry's: may the entry's blocks serve it? */
bool lb_dialect_serves(const lb_entry *entry, const lb_read_options *options);

#endif
