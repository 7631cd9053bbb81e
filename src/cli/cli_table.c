/* The one table of verbs and the one of options. Parsing, help, suggestions and completion all read them here. */
#include "cli.h"

#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof *(a))

static const cli_verb verbs[VERB_COUNT_] = {
    [VERB_MAP] = {
        .name = "map", .operands = "DIR", .summary = "build and save the map of a directory", .least = 1, .most = 1,
        .folders = true, .run = verb_map,
        .about = "Reads every data file below DIR once and writes DIR/.br_map.bazan: where the rows of each file\n"
                 "start, its columns and their statistics. Files are never written. A file that cannot be read is\n"
                 "kept in the map with its error; each is told, and the exit status is 1.",
        .examples = "lakebed map data\n"
                    "lakebed map data --stride 4096 --fingerprint blake3\n"
                    "lakebed map data --include '**/*.csv' --set 'eu/*.csv:delimiter=;,encoding=WINDOWS-1252'\n"
                    "lakebed map data --json",
    },
    [VERB_DOCTOR] = {
        .name = "doctor", .operands = "DIR", .summary = "compare the map of a directory with the disk, and mend it",
        .least = 1, .most = 1, .folders = true, .run = verb_doctor,
        .about = "Tells what became of every file since it was mapped: new, missing, renamed, appended, truncated,\n"
                 "rewritten, touched, damaged; which columns changed, and which bytes and rows are damaged.\n"
                 "Nothing is written without --heal. The exit status is 1 where something changed.",
        .examples = "lakebed doctor data || echo changed\n"
                    "lakebed doctor data --heal\n"
                    "lakebed doctor data --verify --older-than 7d\n"
                    "lakebed doctor data --json --quiet",
    },
    [VERB_LOCATE] = {
        .name = "locate", .operands = "DIR ROW…", .summary = "find where rows of a mapped directory lie", .least = 2,
        .most = SIZE_MAX, .folders = true, .run = verb_locate,
        .about = "Rows are counted from 0 over all files, or over one file with --file. Only the map is read.\n"
                 "The line is known where the row begins its block; otherwise the block's first line is given.",
        .examples = "lakebed locate data 1000000\n"
                    "lakebed locate data --file eu/2024.csv 17 4711\n"
                    "lakebed locate data 0 99 --json",
    },
    [VERB_SLICE] = {
        .name = "slice", .operands = "PATH", .summary = "print a range of rows of a file or a directory",
        .least = 1, .most = 1, .run = verb_slice,
        .about = "A directory is one row space over all its files, in the order of their paths. On a terminal rows\n"
                 "are a table, and without --limit it stops at 1,000 rows; into a pipe or a file they are CSV, all.\n"
                 "With -o the form follows from the file's extension, and the file appears whole or not at all; FILE.csv.zst and FILE.csv.gz are compressed.",
        .examples = "lakebed slice data.csv --offset 1000000 --limit 100\n"
                    "lakebed slice data --columns id,price --to ndjson\n"
                    "lakebed slice data.csv -o part.arrow --limit 50000\n"
                    "lakebed slice data.csv --offset 1000000 --limit 100 --explain",
    },
    [VERB_HEAD] = {
        .name = "head", .operands = "PATH", .summary = "print the first rows", .least = 1, .most = 1, .run = verb_slice,
        .examples = "lakebed head data.csv\n"
                    "lakebed head -n 3 data --columns id,price\n"
                    "lakebed head -100 data.csv --to ndjson",
    },
    [VERB_TAIL] = {
        .name = "tail", .operands = "PATH", .summary = "print the last rows", .least = 1, .most = 1, .run = verb_slice,
        .examples = "lakebed tail data.csv\n"
                    "lakebed tail -n 3 data --to csv",
    },
    [VERB_TAKE] = {
        .name = "take", .operands = "PATH ROW…", .summary = "print scattered rows, in the order asked", .least = 1,
        .most = SIZE_MAX, .run = verb_take,
        .about = "Rows are counted from 0; 3-9 is a range, both ends included, and a row may be asked for again. Each\n"
                 "block that holds one is read once. Output is as that of slice.",
        .examples = "lakebed take data.csv 17 4 4 90-99\n"
                    "lakebed take data --rows-from rows.txt --columns id,price -o part.arrow\n"
                    "seq 0 7 99 | lakebed take data.csv --rows-from - --to ndjson\n"
                    "lakebed take data.csv 17 99 --explain",
    },
    [VERB_SAMPLE] = {
        .name = "sample", .operands = "PATH", .summary = "print a random sample of rows, none twice", .least = 1,
        .most = 1, .run = verb_shuffle,
        .about = "The sample is the beginning of the shuffle with the same seed: a larger one begins with a smaller\n"
                 "one. Seed and number of rows say which rows they are, on every machine. Without --seed one is\n"
                 "made up, and told on standard error.",
        .examples = "lakebed sample data.csv\n"
                    "lakebed sample data -n 50 --seed 7 --sorted\n"
                    "lakebed sample data -n 50 --seed 7 -o sample.arrow",
    },
    [VERB_SHUFFLE] = {
        .name = "shuffle", .operands = "PATH", .summary = "print all rows in a random order, each once", .least = 1,
        .most = 1, .run = verb_shuffle,
        .about = "The order is worked out row by row from the seed and the number of rows; it takes no memory, and\n"
                 "can be taken up again anywhere: --limit K, then --from K with the same seed and unchanged data,\n"
                 "give together what one call gives.",
        .examples = "lakebed shuffle data.csv --seed 7\n"
                    "lakebed shuffle data --seed 7 --from 50 --limit 50 --to ndjson\n"
                    "lakebed shuffle data.csv --seed 7 -o shuffled.csv",
    },
    [VERB_SPLITS] = {
        .name = "splits", .operands = "PATH", .summary = "print where files can be cut into runs of whole records",
        .least = 1, .most = 1, .run = verb_splits,
        .about = "For engines that read files in pieces. A split ends before the record that would take it beyond the\n"
                 "target, never inside a record. The first header bytes of a file and the bytes of any split are a\n"
                 "file of their own.",
        .examples = "lakebed splits data.csv --target 64MB\n"
                    "lakebed splits data --target 1000 --check\n"
                    "lakebed splits data --json",
    },
    [VERB_COUNT] = {
        .name = "count", .operands = "PATH…", .summary = "print the number of rows", .least = 1, .most = SIZE_MAX,
        .run = verb_count,
        .about = "Header records do not count. With several paths each is a line, and the last line is the total.",
        .examples = "lakebed count data.csv\n"
                    "lakebed count a.csv b.csv data --json",
    },
    [VERB_SCHEMA] = {
        .name = "schema", .operands = "PATH", .summary = "print columns and their types", .least = 1, .most = 1,
        .run = verb_schema,
        .about = "With --json: {\"rows\":N,\"columns\":[{\"name\":…,\"type\":…,\"nullable\":…}]};\n"
                 "rows is null where only a sample of a large file was read.",
        .examples = "lakebed schema data.csv\n"
                    "lakebed schema data --schema strict --json",
    },
    [VERB_STATS] = {
        .name = "stats", .operands = "PATH",
        .summary = "print sizes, blocks, and the bounds and nulls of columns", .least = 1, .most = 1, .run = verb_stats,
        .about = "A bound that is only known roughly is marked ~.",
        .examples = "lakebed stats data.csv\n"
                    "lakebed stats data --json",
    },
    [VERB_LINEAGE] = {
        .name = "lineage", .operands = "[SQL]",
        .summary = "tell which columns the columns of SQL statements come from", .most = 1, .run = verb_lineage,
        .about = "Reads statements and prints the column lineage of each as Apache Impala records it: a line of JSON.\n"
                 "SQL is the text itself, or - for standard input. Nothing is run. A statement that cannot be read\n"
                 "is told with its place, and the others go on.\n"
                 "With --log DIR the records are appended to the log in DIR instead. Without any SQL, --log reads\n"
                 "that log (or Impala's, or one file of records) and lists it, writes it in another form with --to,\n"
                 "or follows a column through its statements with --upstream or --downstream.",
        .examples = "lakebed lineage 'select a, sum(b) from t group by a' --catalog tables.sql\n"
                    "lakebed lineage -f daily.sql --catalog catalog.json --to dot -o daily.dot\n"
                    "lakebed lineage -f daily.sql --lake data --log lineage-log\n"
                    "lakebed lineage --log lineage-log --upstream mart.daily.revenue",
    },
    [VERB_LANCE] = {
        .name = "lance", .operands = "WHAT PATH…", .summary = "make and change versioned Lance datasets",
        .least = 2, .most = SIZE_MAX, .run = verb_lance,
        .about = "A dataset is a folder of versions: each change commits a new one, and none is ever changed. PATH@3,\n"
                 "PATH@TAG and PATH@2026-11-30 name one of them, also for slice, head, count and the others.\n\n"
                 "  create PATH --from SRC       a new dataset with the rows of SRC, a file or a directory\n"
                 "  append PATH --from SRC       add rows behind the others\n"
                 "  overwrite PATH --from SRC    a version with other rows; the former stays in its versions\n"
                 "  add-columns PATH --from SRC  add the columns of SRC, a row for each row\n"
                 "  delete PATH ROW…             delete rows: numbers, or A-B for all from A to B\n"
                 "  compact PATH                 make small fragments and those with deleted rows into full ones\n"
                 "  restore PATH@V               a new version with what V holds\n"
                 "  tag PATH[@V] [NAME]          name a version; without a name: list the tags\n"
                 "  log PATH                     list the versions\n"
                 "  show PATH[@V]                fields, fragments, indices, metadata\n"
                 "  diff PATH@A [B]              what changed from one version to another (default: the newest)\n"
                 "  aux PATH[@V]                 the version's auxiliary data; with --set: a new version that has it\n"
                 "  metadata PATH[@V]            metadata of the schema; with --set or --unset: a new version\n"
                 "  index PATH COLUMN            make an index of vectors, which a search uses\n"
                 "  search PATH[@V] COLUMN       rows with the nearest vectors: --query X,X,… --limit N\n"
                 "  clean PATH                   remove what no version reaches",
        .examples = "lakebed lance create new.lance --from prices.csv\n"
                    "lakebed lance append prices.lance --from today.csv --tag v2\n"
                    "lakebed lance delete prices.lance 17 100-199\n"
                    "lakebed slice prices.lance@1 --limit 5\n"
                    "lakebed lance clean prices.lance --older-than 7d",
    },
    [VERB_FORMATS] = {
        .name = "formats", .operands = "", .summary = "list the formats, their extensions and read options",
        .run = verb_formats,
        .examples = "lakebed formats\n"
                    "lakebed formats --delimited 'log=|' --json",
    },
    [VERB_HELP] = {
        .name = "help", .operands = "[VERB]", .summary = "explain the command or one verb", .most = 1, .run = verb_help,
        .examples = "lakebed help slice",
    },
    [VERB_VERSION] = {
        .name = "version", .operands = "", .summary = "print the version", .run = verb_version,
        .examples = "lakebed version",
    },
    [VERB_SHOW] = {
        .name = "", .operands = "PATH",
        .summary = "show what it holds, ten rows, and the next step", .least = 1, .most = 1, .run = verb_show,
        .examples = "lakebed data.csv\n"
                    "lakebed data",
    },
};

#define BIT(verb) (1u << VERB_##verb)
enum {
    ON_MAP = BIT(MAP),
    ON_DOCTOR = BIT(DOCTOR),
    ON_LOCATE = BIT(LOCATE),
    ON_SLICE = BIT(SLICE),
    ON_TAKE = BIT(TAKE),
    ON_SAMPLE = BIT(SAMPLE),
    ON_SHUFFLE = BIT(SHUFFLE),
    ON_SPLITS = BIT(SPLITS),
    ON_LIMIT = BIT(SLICE) | BIT(HEAD) | BIT(TAIL) | BIT(SAMPLE) | BIT(SHUFFLE),
    ON_ROWS = ON_LIMIT | BIT(TAKE),
    ON_READ = ON_ROWS | BIT(SPLITS) | BIT(COUNT) | BIT(SCHEMA) | BIT(STATS) | BIT(LANCE) | BIT(SHOW),
    ON_JSON = ON_ROWS | BIT(MAP) | BIT(DOCTOR) | BIT(LOCATE) | BIT(SPLITS) | BIT(COUNT) | BIT(SCHEMA) | BIT(STATS) |
              BIT(LANCE) | BIT(LINEAGE) | BIT(FORMATS),
    ON_LANCE = BIT(LANCE),
    ON_LINEAGE = BIT(LINEAGE),
    ON_ALL = (1u << VERB_COUNT_) - 1
};

static const cli_option options[OPT_COUNT] = {
    [OPT_STRIDE] = { .name = "stride",
                     .value = "N",
                     .help = "rows from one checkpoint to the next (default 65536)",
                     .kind = KIND_NUMBER,
                     .least = 1,
                     .verbs = ON_MAP },
    [OPT_FINGERPRINT] = { .name = "fingerprint",
                          .value = "metadata|blake3",
                          .help = "how changes are noticed: size and time (default), or a hash of the contents",
                          .kind = KIND_CHOICE,
                          .verbs = ON_MAP },
    [OPT_STATS] = { .name = "stats",
                    .value = "all|none|block|COL,…",
                    .help = "columns with statistics (default all); block: also block by block",
                    .kind = KIND_TEXT,
                    .verbs = ON_MAP },
    [OPT_ON_ERROR] = { .name = "on-error",
                       .value = "record|abort",
                       .help = "a file that cannot be read: keep it with its error (default), or write no map",
                       .kind = KIND_CHOICE,
                       .verbs = ON_MAP },
    [OPT_INCLUDE] = { .name = "include",
                      .value = "GLOB",
                      .help = "only files whose path below DIR matches",
                      .kind = KIND_TEXT,
                      .verbs = ON_MAP,
                      .repeatable = true },
    [OPT_EXCLUDE] = { .name = "exclude",
                      .value = "GLOB",
                      .help = "no files whose path below DIR matches",
                      .kind = KIND_TEXT,
                      .verbs = ON_MAP,
                      .repeatable = true },
    [OPT_HIDDEN] = { .name = "hidden", .help = "also take directories whose name begins with a dot", .verbs = ON_MAP },
    [OPT_NO_COMPRESSED] = { .name = "no-compressed",
                            .help = "leave out text that is compressed as a whole (.csv.gz …)",
                            .verbs = ON_MAP },
    [OPT_BY_PRODUCTS] = { .name = "by-products",
                          .help = "also take what engines leave behind: _metadata, _SUCCESS …",
                          .verbs = ON_MAP },
    [OPT_PAGES] = { .name = "pages", .help = "keep also where every page of Parquet files lies", .verbs = ON_MAP },
    [OPT_SET] = { .name = "set",
                  .value = "GLOB:OPTIONS",
                  .help =
                      "read options for the files that match, as name=value,name=value; later ones win (lance aux and "
                      "metadata: KEY=VALUE, or KEY=@FILE)",
                  .kind = KIND_TEXT,
                  .verbs = ON_MAP | ON_LANCE,
                  .repeatable = true },
    [OPT_DETECT] = { .name = "detect",
                     .help = "accept a delimiter, or UTF-16, found by looking at the file",
                     .verbs = ON_MAP },
    [OPT_INTEROP] = { .name = "interop",
                      .value = "lean|full",
                      .help = "full: fill the JSON columns other readers of the map may want (default lean)",
                      .kind = KIND_CHOICE,
                      .verbs = ON_MAP },
    [OPT_HEAL] = { .name = "heal",
                   .help = "bring the map up to date: read what changed, keep what did not",
                   .verbs = ON_DOCTOR },
    [OPT_UNDO] = { .name = "undo", .help = "put the map of before the last heal or build back", .verbs = ON_DOCTOR },
    [OPT_VERIFY] = { .name = "verify",
                     .help = "read every file and compare its contents with what was mapped",
                     .verbs = ON_DOCTOR },
    [OPT_OLDER_THAN] = { .name = "older-than",
                         .value = "AGE",
                         .help = "verify, or clean, only what is older: 90s, 30m, 12h, 7d, 2w (clean: default 7d)",
                         .kind = KIND_TEXT,
                         .verbs = ON_DOCTOR | ON_LANCE },
    [OPT_FILE] = { .name = "file",
                   .letter = 'f',
                   .value = "PATH",
                   .help = "rows are of this file of the map, a path below DIR",
                   .kind = KIND_FILE,
                   .verbs = ON_LOCATE | ON_LINEAGE },
    [OPT_OFFSET] = { .name = "offset",
                     .value = "N",
                     .help = "first row, from 0 (default 0)",
                     .kind = KIND_NUMBER,
                     .verbs = ON_SLICE | ON_LANCE },
    [OPT_LIMIT] = { .name = "limit",
                    .letter = 'n',
                    .value = "N",
                    .help = "number of rows (slice, shuffle: to the end; head, tail: 10, also -N; sample: 10)",
                    .kind = KIND_NUMBER,
                    .verbs = ON_LIMIT | ON_LANCE },
    [OPT_ROWS_FROM] = { .name = "rows-from",
                        .value = "FILE",
                        .help = "also the rows in FILE (- is standard input), a row or range a line",
                        .kind = KIND_FILE,
                        .verbs = ON_TAKE | ON_LANCE,
                        .repeatable = true },
    [OPT_SEED] = { .name = "seed",
                   .value = "S",
                   .help = "a whole number that says which rows, or in which order (default: made up, and told)",
                   .kind = KIND_NUMBER,
                   .verbs = ON_SAMPLE | ON_SHUFFLE | ON_LANCE },
    [OPT_FROM] = { .name = "from",
                   .value = "K",
                   .help = "begin at place K of the shuffled rows, from 0",
                   .kind = KIND_NUMBER,
                   .verbs = ON_SHUFFLE | ON_LANCE },
    [OPT_SORTED] = { .name = "sorted", .help = "in the order of the data, not as drawn", .verbs = ON_SAMPLE },
    [OPT_COLUMNS] = { .name = "columns",
                      .value = "A,B,…",
                      .help = "only these, in this order; a comma in a name is \\,",
                      .kind = KIND_TEXT,
                      .verbs = ON_ROWS | ON_LANCE,
                      .repeatable = true },
    [OPT_TO] = { .name = "to",
                 .value = "FORM",
                 .help = "table, csv, ndjson, json, arrow, arrows, lance, raw (the records' own bytes), tagged or "
                         "canonical",
                 .kind = KIND_CHOICE,
                 .verbs = ON_ROWS | ON_LINEAGE },
    [OPT_OUTPUT] = { .name = "output",
                     .letter = 'o',
                     .value = "FILE",
                     .help = "write to FILE instead of standard output",
                     .kind = KIND_FILE,
                     .verbs = ON_ROWS | ON_LINEAGE },
    [OPT_EXPLAIN] = { .name = "explain",
                      .help = "instead of rows: which files, blocks and bytes would be read",
                      .verbs = ON_ROWS },
    [OPT_TARGET] = { .name = "target",
                     .value = "SIZE",
                     .help = "bytes of a split: 64MB, 64MiB or 1000000 (default 64MiB)",
                     .kind = KIND_TEXT,
                     .verbs = ON_SPLITS },
    [OPT_CHECK] = { .name = "check",
                    .help = "read every split alone, and compare its rows with those of the file",
                    .verbs = ON_SPLITS },
    [OPT_FORMAT] = { .name = "format",
                     .value = "NAME",
                     .help = "the file's format, whatever its name (see lakebed formats)",
                     .kind = KIND_TEXT,
                     .verbs = ON_READ },
    [OPT_NO_MAP] = { .name = "no-map", .help = "read as if there were no map", .verbs = ON_READ },
    [OPT_SCHEMA] = { .name = "schema",
                     .value = "union|strict|text",
                     .help =
                         "files of a directory that differ: unite columns (default), refuse, or make conflicts text",
                     .kind = KIND_CHOICE,
                     .verbs = ON_READ },
    [OPT_NULLS] = { .name = "nulls",
                    .value = "refuse|keep|lossy",
                    .help = "nulls that Lance v1 cannot tell: an error (default), kept in a companion column, or 0, "
                            "false and empty instead",
                    .kind = KIND_CHOICE,
                    .verbs = ON_LANCE | ON_ROWS },
    [OPT_TAG] = { .name = "tag",
                  .value = "NAME",
                  .help = "write this tag into the new version",
                  .kind = KIND_TEXT,
                  .verbs = ON_LANCE },
    [OPT_UNSET] = { .name = "unset",
                    .value = "KEY",
                    .help = "metadata: take a key away",
                    .kind = KIND_TEXT,
                    .verbs = ON_LANCE,
                    .repeatable = true },
    [OPT_AUX] = { .name = "aux",
                  .value = "KEY=VALUE",
                  .help = "auxiliary data of the new version; =@FILE takes the value from a file",
                  .kind = KIND_TEXT,
                  .verbs = ON_LANCE,
                  .repeatable = true },
    [OPT_GROUP_ROWS] = { .name = "group-rows",
                         .value = "N",
                         .help = "rows that are stored together (default 1024)",
                         .kind = KIND_NUMBER,
                         .least = 1,
                         .verbs = ON_LANCE | ON_ROWS },
    [OPT_FILE_ROWS] = { .name = "file-rows",
                        .value = "N",
                        .help = "rows of a full data file (default 1048576)",
                        .kind = KIND_NUMBER,
                        .least = 1,
                        .verbs = ON_LANCE | ON_ROWS },
    [OPT_IDS] = { .name = "ids",
                  .help = "delete: the numbers are row ids (fragment * 4294967296 + row in it)",
                  .verbs = ON_LANCE },
    [OPT_ORPHANS] = { .name = "orphans", .help = "show: list files that no version reaches", .verbs = ON_LANCE },
    [OPT_REMOVE] = { .name = "remove", .help = "tag: take the tag away", .verbs = ON_LANCE },
    [OPT_FORCE] = { .name = "force",
                    .help = "tag: move a tag that is there; index: in the place of one of that name; append: make the "
                            "dataset where there is none",
                    .verbs = ON_LANCE },
    [OPT_QUERY] = { .name = "query",
                    .value = "X,X,…",
                    .help = "search: the vector whose nearest rows are wanted",
                    .kind = KIND_TEXT,
                    .verbs = ON_LANCE },
    [OPT_PROBES] = { .name = "probes",
                     .value = "N",
                     .help = "search: partitions of the index that are looked into (default 20)",
                     .kind = KIND_NUMBER,
                     .least = 1,
                     .verbs = ON_LANCE },
    [OPT_REFINE] = { .name = "refine",
                     .value = "N",
                     .help = "search: rank N times as many candidates by their exact distances",
                     .kind = KIND_NUMBER,
                     .least = 1,
                     .verbs = ON_LANCE },
    [OPT_METRIC] = { .name = "metric",
                     .value = "l2|cosine|dot",
                     .help = "search, index: how distances are measured (default: as the index, or l2)",
                     .kind = KIND_CHOICE,
                     .verbs = ON_LANCE },
    [OPT_EXACT] = { .name = "exact", .help = "search: look at every vector, without an index", .verbs = ON_LANCE },
    [OPT_INDEX_NAME] = { .name = "name",
                         .value = "NAME",
                         .help = "index: what it is called (default: COLUMN_idx)",
                         .kind = KIND_TEXT,
                         .verbs = ON_LANCE },
    [OPT_PARTITIONS] = { .name = "partitions",
                         .value = "N",
                         .help = "index: parts of the vectors that a search looks into or not (default: the square "
                                 "root of the number of rows)",
                         .kind = KIND_NUMBER,
                         .least = 1,
                         .verbs = ON_LANCE },
    [OPT_SUB_VECTORS] = { .name = "sub-vectors",
                          .value = "N",
                          .help = "index: bytes that stand for a vector (default 16, or the next smaller number that "
                                  "divides its length)",
                          .kind = KIND_NUMBER,
                          .least = 1,
                          .verbs = ON_LANCE },
    [OPT_KEEP_MODEL] = { .name = "keep-model",
                         .help = "index: keep partitions and codes of the index that is there, and only assign all "
                                 "rows to them anew",
                         .verbs = ON_LANCE },
    [OPT_CATALOG] = { .name = "catalog",
                      .value = "FILE",
                      .help = "tables and views: JSON, or CREATE TABLE and CREATE VIEW statements",
                      .kind = KIND_FILE,
                      .verbs = ON_LINEAGE,
                      .repeatable = true },
    [OPT_LAKE] = { .name = "lake",
                   .value = "DIR",
                   .help = "every data file below DIR is a table: its name without extensions, folders as databases",
                   .kind = KIND_FILE,
                   .verbs = ON_LINEAGE,
                   .repeatable = true },
    [OPT_DEFAULT_DB] = { .name = "default-db",
                         .value = "DB",
                         .help = "database of names that have none (default: default)",
                         .kind = KIND_TEXT,
                         .verbs = ON_LINEAGE },
    [OPT_NEWLINES] = { .name = "newlines",
                       .value = "keep|blank",
                       .help = "newlines in the recorded text: as they are, or each a blank (default), as servers do",
                       .kind = KIND_CHOICE,
                       .verbs = ON_LINEAGE },
    [OPT_EXPAND_COMPLEX_TYPES] = { .name = "expand-complex-types",
                                   .help = "let a star include columns of complex types",
                                   .verbs = ON_LINEAGE },
    [OPT_EXPR_REWRITES] = { .name = "expr-rewrites",
                            .help = "fold constants first, so that what they decide names no columns",
                            .verbs = ON_LINEAGE },
    [OPT_WAREHOUSE] = { .name = "warehouse",
                        .value = "URI",
                        .help = "where tables without a location lie (default /test-warehouse)",
                        .kind = KIND_TEXT,
                        .verbs = ON_LINEAGE },
    [OPT_USER] = { .name = "user",
                   .value = "NAME",
                   .help = "the user to record (default: who runs the command)",
                   .kind = KIND_TEXT,
                   .verbs = ON_LINEAGE },
    [OPT_QUERY_ID] = { .name = "query-id",
                       .value = "HI:LO",
                       .help = "id of the first statement, two hexadecimal numbers; each further one has the next "
                               "(default: a random one)",
                       .kind = KIND_TEXT,
                       .verbs = ON_LINEAGE },
    [OPT_STRICT] = { .name = "strict",
                     .help = "a statement with a name that is unknown or ambiguous leaves no record; exit status 1",
                     .verbs = ON_LINEAGE },
    [OPT_LOG] = { .name = "log",
                  .value = "DIR",
                  .help = "with SQL: append its records to this log; without: read it, or one file of records",
                  .kind = KIND_FILE,
                  .verbs = ON_LINEAGE },
    [OPT_UPSTREAM] = { .name = "upstream",
                       .value = "COLUMN",
                       .help = "of the log: the columns that COLUMN was made of, statement by statement",
                       .kind = KIND_TEXT,
                       .verbs = ON_LINEAGE },
    [OPT_DOWNSTREAM] = { .name = "downstream",
                         .value = "COLUMN",
                         .help = "of the log: the columns that were made of COLUMN",
                         .kind = KIND_TEXT,
                         .verbs = ON_LINEAGE },
    [OPT_VALUES_ONLY] = { .name = "values-only",
                          .help = "follow values only, not what decided which rows came",
                          .verbs = ON_LINEAGE },
    [OPT_DEPTH] = { .name = "depth",
                    .value = "N",
                    .help = "go through at most N statements",
                    .kind = KIND_NUMBER,
                    .least = 1,
                    .verbs = ON_LINEAGE },
    [OPT_DELIMITED] = { .name = "delimited",
                        .value = "EXT=CHAR",
                        .help = "read files with this extension as text delimited by CHAR (\\t: tab)",
                        .kind = KIND_TEXT,
                        .verbs = ON_ALL & ~(BIT(HELP) | BIT(VERSION)),
                        .repeatable = true,
                        .general = true },
    [OPT_THREADS] = { .name = "threads",
                      .letter = 'j',
                      .value = "N",
                      .help = "threads (default: one a core)",
                      .kind = KIND_NUMBER,
                      .least = 1,
                      .verbs = ON_ALL & ~(BIT(HELP) | BIT(VERSION)),
                      .general = true },
    [OPT_JSON] = { .name = "json", .help = "print the report as JSON", .verbs = ON_JSON, .general = true },
    [OPT_QUIET] = { .name = "quiet",
                    .letter = 'q',
                    .help = "no progress, no notes, and no report of map and doctor",
                    .verbs = ON_ALL,
                    .general = true },
    [OPT_COLOR] = { .name = "color",
                    .value = "auto|always|never",
                    .help = "colours (default auto: on a terminal)",
                    .kind = KIND_CHOICE,
                    .verbs = ON_ALL,
                    .general = true },
    [OPT_HELP] = { .name = "help", .letter = 'h', .help = "print this help", .verbs = ON_ALL, .general = true },
    [OPT_VERSION] = { .name = "version", .letter = 'V', .help = "print the version", .verbs = ON_ALL, .general = true },
};

const cli_verb *cli_verb_at(cli_verb_id id)
{
    return &verbs[id];
}

cli_verb_id cli_verb_find(const char *name)
{
    for (cli_verb_id id = 0; id < VERB_COUNT_; id++)
        if (*name != '\0' && strcmp(verbs[id].name, name) == 0)
            return id;
    return VERB_COUNT_;
}

bool cli_option_at(size_t index, cli_option *out)
{
    if (index < OPT_COUNT) {
        *out = options[index];
        out->id = (cli_option_id)index;
        return true;
    }
    const lb_option_info *read = lb_read_option_list();
    for (index -= OPT_COUNT; read->name != NULL && index > 0; index--)
        read++;
    if (read->name == NULL)
        return false;
    *out = (cli_option){ .name = read->name,
                         .value = read->value,
                         .help = read->help,
                         .repeatable = read->repeatable,
                         .kind = read->value == NULL ? KIND_FLAG : KIND_TEXT,
                         .verbs = ON_READ | ON_MAP,
                         .read = true,
                         .id = OPT_COUNT };
    return true;
}

bool cli_option_find(const char *name, size_t length, cli_option *out)
{
    for (size_t i = 0; cli_option_at(i, out); i++)
        if (strlen(out->name) == length && memcmp(out->name, name, length) == 0)
            return true;
    return false;
}

bool cli_option_letter(char letter, cli_option *out)
{
    for (size_t i = 0; cli_option_at(i, out); i++)
        if (out->letter != 0 && out->letter == letter)
            return true;
    return false;
}

/* A word that stands for itself is of lower-case letters, digits, `-` and `_`. */
static bool is_literal(const char *word, size_t length)
{
    return length != 0 && strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-") >= length;
}

bool cli_next_word(const char **at, char *word, size_t cap)
{
    while (**at != '\0') {
        const char *from = *at;
        size_t length = strcspn(from, "| ");
        *at = from + length + (from[length] != '\0');
        if (is_literal(from, length) && length < cap) {
            memcpy(word, from, length);
            word[length] = '\0';
            return true;
        }
    }
    return false;
}

const char *cli_option_words(const cli_option *option, cli_verb_id verb)
{
    static char forms[256];
    if (option->value == NULL)
        return "";
    if (option->read || option->id != OPT_TO)
        return option->value;
    if (verb == VERB_LINEAGE)
        (void)snprintf(forms, sizeof forms, "%s openlineage html", lb_lineage_forms());
    else
        (void)snprintf(forms, sizeof forms, "%s lance raw", lb_print_forms());
    return forms;
}

void cli_option_fit(cli_option *option, cli_verb_id verb)
{
    if (option->read || option->id != OPT_FROM || verb != VERB_LANCE)
        return;
    option->value = "SRC";
    option->kind = KIND_FILE;
}

static const char *lance_help(const cli_option *option)
{
    if (option->id == OPT_FROM)
        return "where the rows come from: anything that Lakebed reads";
    if (option->id == OPT_LIMIT)
        return "number of rows (to the end; search: 10)";
    if (option->id == OPT_SEED)
        return "index: a whole number that says which vectors the partitions are found from (default 0)";
    if (option->id == OPT_ROWS_FROM)
        return "delete: take row numbers from a file, a line each (-: standard input)";
    return option->help;
}

const char *cli_option_help(const cli_option *option, cli_verb_id verb)
{
    if (!option->read && verb == VERB_LANCE)
        return lance_help(option);
    if (option->read || verb != VERB_LINEAGE)
        return option->help;
    if (option->id == OPT_FILE)
        return "the statements stand in this file (- for standard input)";
    if (option->id == OPT_TO)
        return "impala (a line of JSON, the default), thrift, thrift-compact or dot (Graphviz); openlineage and html are "
               "not there yet";
    return option->help;
}
