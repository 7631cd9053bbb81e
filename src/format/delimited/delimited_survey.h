/* One pass over a file, or over a part of it: private to the survey of delimited text. */
#ifndef LB_FORMAT_DELIMITED_SURVEY_H
#define LB_FORMAT_DELIMITED_SURVEY_H

#include "format/delimited/delimited.h"
#include "format/portions.h"

/* Bounds of values read as a declared type. */
typedef struct survey_bounds {
    bool any;
    uint64_t nans;
    delim_scalar min, max;
} survey_bounds;

/* A column that `--column` declares: every value must read so, and bounds are those of the declared type. */
typedef struct survey_declared {
    const char *type; /* words; NULL: not declared */
    delim_target target;
    survey_bounds bounds;
} survey_declared;

typedef struct survey_column {
    lb_str name, original; /* original.at NULL: the name stands as it was */
    delim_column seen;     /* its nulls are set by survey_count_nulls */
    survey_declared declared;
    bool bounds; /* statistics wanted */
} survey_column;

/* What a column of the open block has held so far. */
typedef struct survey_block_column {
    delim_column seen;
    survey_bounds declared;
} survey_block_column;

/* Where a block begins. */
typedef struct survey_start {
    uint64_t first_row, first_line, first_byte;
    uint64_t before;  /* offset behind the record before it */
    unsigned n_bytes; /* of its first bytes, where they were at hand; 0: none */
    uint8_t bytes[DELIM_START_BYTES];
} survey_start;

/* A state that was not taken in passing: that of the columns as they were at an offset, and of so many rows behind it. */
typedef struct survey_owed {
    bool any;
    uint64_t row; /* the state's */
    uint64_t offset, rows;
    lb_buf seen; /* of delim_column */
} survey_owed;

typedef struct survey {
    lb_reader *r;
    const lb_survey_options *options;
    lb_arena *arena; /* of the entry */
    delim_records records;
    lb_buf scratch;
    delim_typing typing;
    delim_cells cells; /* of many records */
    uint64_t single;   /* so many records more are read one by one, for there are no cells, or few fit in them */

    delim_namer namer;
    bool has_width;
    size_t width;
    survey_column *columns; /* `width` of them, in a buffer */
    lb_buf column_bytes;
    uint64_t data_start;

    uint64_t rows;
    bool has_block; /* one is open */
    survey_start block;
    size_t block_width; /* columns that the open block has */
    lb_block_builder blocks;
    survey_block_column *open; /* `--stats block`: the open block's columns, in a buffer */
    lb_buf open_bytes;
    lb_buf closed;     /* those of closed blocks: a run for each block, as survey_close_columns puts it; of a part, the
                            columns up to the first block that begins there, then those of each, as survey_put_open does */
    uint64_t n_closed; /* columns in it */
    lb_buf state;      /* the columns as they were when a block began, for delim_extend */
    survey_owed owed;  /* a later one */
    bool structure_only; /* all text, no statistics: values are not looked at */
    bool sampled;

    /* Bytes are given to the tap once, in order, whoever reads them. */
    uint64_t tap_at; /* offset of the next bytes that come from the text */
    lb_tapped tapped;

    /* A part of a file, read by one of several threads, keeps where blocks begin; delimited_chunks.c puts the parts together. */
    bool part;
    bool loose;    /* its first row is not known yet: rows count from there, and no blocks begin */
    lb_buf starts; /* of survey_start */
} survey;

void survey_begin(survey *s, lb_reader *r, const lb_survey_options *options, lb_arena *arena);
void survey_free(survey *s);

/* Columns up to `width`. */
lb_status survey_widen(survey *s, size_t width, lb_error *err);

/* Take in records from the place of the record reader on, up to `most`, as many as can be within the block. */
lb_status survey_many(survey *s, uint64_t most, lb_error *err);

/* Take in the record just read. */
lb_status survey_record(survey *s, lb_error *err);

/* Of a part whose blocks have statistics: put the open block's columns away, and begin them anew. */
lb_status survey_put_open(survey *s, lb_error *err);
/* Room for the open block's columns, of which there are `more`. */
lb_status survey_widen_block(survey *s, size_t more, lb_error *err);

/* A block begins: the one before it, which ends at start->before, is closed. */
lb_status survey_begin_block(survey *s, const survey_start *start, lb_error *err);

/* Of bytes at hand from `at` on, with so many behind them: those that a start keeps. */
void survey_keep_bytes(survey_start *start, const uint8_t *at, size_t size);

/* A row in which a column has no value is null there. Counted so, short records cost nothing for what they lack. */
void survey_count_nulls(survey *s);

/* Where a block begins, at every so many rows: keep what the columns have seen, for delim_extend. */
bool survey_state_due(const survey *s, uint64_t row);
lb_status survey_take_state(survey *s, uint64_t row, lb_error *err);

/* Take the state that is owed, if one is: reads its rows again (delimited_chunks.c). */
lb_status survey_pay_state(survey *s, lb_error *err);

/* Bounds of a declared column. */
void survey_merge_bounds(const delim_target *t, survey_bounds *b, const survey_bounds *other);

/* Make the entry of what was seen (delimited_result.c). */
lb_status survey_result(survey *s, lb_entry *out, lb_error *err);

/* Open the record reader at an offset, behind which the tap gets what it has not had. */
lb_status survey_open_records(survey *s, uint64_t offset, uint64_t line, lb_error *err);

/* Read on with several threads as far as that goes (delimited_chunks.c): from the record reader's place, which afterwards
 * stands where there is more to read. Nothing is read where no thread is free or too little is left. *odd: something stands at
 * the record reader's place that has to be read record by record. Results are those of reading so. */
lb_status survey_chunks(survey *s, bool *odd, lb_error *err);

#endif
