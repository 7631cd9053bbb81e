/* One pass over a file, or over a part of it: private to the survey of JSON. */
#ifndef LB_FORMAT_JSON_SURVEY_H
#define LB_FORMAT_JSON_SURVEY_H

#include "format/json/json_rows.h"
#include "format/portions.h"

/* Where a block begins. */
typedef struct survey_start {
    uint64_t first_row, first_line, first_byte;
    uint64_t before;  /* offset behind the record before it */
    unsigned n_bytes; /* of its first bytes, where they were at hand; 0: none */
    uint8_t bytes[JS_START_BYTES];
} survey_start;

/* What `state` still lacks: so many rows from an offset on. */
typedef struct survey_owed {
    bool any;
    uint64_t offset, rows;
} survey_owed;

typedef struct survey {
    lb_reader *r;
    const lb_survey_options *options;
    lb_arena *arena; /* of the entry */
    lb_arena nodes;
    js_records records;
    js_taker taker;
    lb_seen *seen;        /* of all rows; of those before the open block where blocks have statistics */
    uint64_t base_offset; /* of the beginning of the text */
    bool array;

    uint64_t rows;
    bool has_block; /* one is open */
    survey_start block;
    lb_block_builder blocks;
    lb_arena
        open_nodes; /* `--stats block`: what the open block has seen; closed ones as lb_seen_put has them. Of a part: what it
                            has up to the first block that begins there, then of each */
    lb_seen *open;
    lb_buf closed;
    uint64_t n_closed;
    lb_buf state;       /* of the rows before the state, for js_extend; merged in the end with */
    lb_buf state_more;  /* a second piece, unless it is empty */
    uint64_t state_row; /* UINT64_MAX: none */
    survey_owed owed;
    bool sampled;

    /* Bytes are given to the tap once, in order, whoever reads them. */
    uint64_t tap_at; /* offset of the next bytes that come from the text */
    lb_tapped tapped;

    bool torn; /* the file ends inside a record */
    uint64_t torn_row, torn_line, torn_byte;

    bool part;     /* of a file, read by one of several threads */
    bool loose;    /* its first row is not known yet: rows count from there, and no blocks begin */
    lb_buf starts; /* of survey_start */
} survey;

lb_status js_survey_begin(survey *s, lb_reader *r, const lb_survey_options *options, lb_arena *arena, bool careful,
                          lb_error *err);
void js_survey_free(survey *s);

/* Take in the record just read; equal keys end it without an error (s->taker.equal_keys). */
lb_status js_survey_record(survey *s, lb_error *err);
/* Take in records ahead that are like those before, up to `most`; how many. */
uint64_t js_survey_known(survey *s, uint64_t most);
/* A block begins: the one before it, which ends at start->before, is closed. */
lb_status js_survey_begin_block(survey *s, const survey_start *start, lb_error *err);
/* Where blocks have statistics: begin to keep what one sees; of a part, put that away. */
lb_status js_survey_open_nodes(survey *s, lb_error *err);
lb_status js_survey_put_open(survey *s, lb_error *err);
void js_survey_keep_bytes(survey_start *start, const uint8_t *at, size_t size);
/* At every so many rows: keep what was seen before row `row`, for js_extend. */
bool js_survey_state_due(const survey *s, uint64_t row);
lb_status js_survey_take_state(survey *s, uint64_t row, lb_error *err);
/* Take in what the state lacks: reads those rows again (json_parts.c). */
lb_status js_survey_pay_state(survey *s, lb_error *err);
lb_status js_survey_open_records(survey *s, lb_json_layout layout, uint64_t offset, uint64_t line, lb_error *err);

/* Make the entry of what was seen (json_result.c). */
lb_status js_survey_result(survey *s, lb_entry *out, lb_error *err);

/* Read on with several threads as far as that goes (json_parts.c), from the record reader's place. *odd: something
 * stands at its new place that has to be read record by record. */
lb_status js_survey_parts(survey *s, bool *odd, lb_error *err);

#endif
