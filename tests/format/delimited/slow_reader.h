/* Delimited text read byte by byte from the rules alone, for tests to compare with: no masks, no windows, no state but
 * a position. */
#ifndef TESTS_SLOW_READER_H
#define TESTS_SLOW_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct slow_dialect {
    const uint8_t *delimiter;
    size_t delimiter_size;
    int quote, escape; /* -1: none */
} slow_dialect;

typedef struct slow_field {
    const uint8_t *value;
    size_t size;
    bool quoted;
} slow_field;

typedef struct slow_record {
    size_t start, stop, after; /* first byte; its line end; the byte behind that */
    size_t first_field, n_fields;
} slow_record;

typedef struct slow_text {
    slow_record *records;
    slow_field *fields;
    uint8_t *values;
    size_t n_records, n_fields, n_values;
} slow_text;

typedef struct slow_reader {
    const slow_dialect *d;
    const uint8_t *p;
    size_t size, at;
    slow_text *out;
} slow_reader;

static inline bool slow_at_break(const slow_reader *r)
{
    return r->p[r->at] == '\n' || r->p[r->at] == '\r';
}

static inline bool slow_at_delimiter(const slow_reader *r)
{
    if (r->size - r->at < r->d->delimiter_size)
        return false;
    return memcmp(r->p + r->at, r->d->delimiter, r->d->delimiter_size) == 0;
}

static inline void slow_put(slow_reader *r, size_t length)
{
    r->at += length - 1;
    r->out->values[r->out->n_values++] = r->p[r->at++];
}

static inline bool slow_at_escape(const slow_reader *r)
{
    return r->d->escape >= 0 && r->p[r->at] == r->d->escape && r->at + 1 < r->size;
}

static inline void slow_quoted_part(slow_reader *r)
{
    r->at++;
    while (r->at < r->size) {
        bool quote = r->p[r->at] == r->d->quote;
        if (slow_at_escape(r))
            slow_put(r, 2);
        else if (quote && r->at + 1 < r->size && r->p[r->at + 1] == r->d->quote)
            slow_put(r, 2);
        else if (quote)
            break;
        else
            slow_put(r, 1);
    }
    if (r->at < r->size)
        r->at++;
}

static inline void slow_field_at(slow_reader *r)
{
    slow_field *f = &r->out->fields[r->out->n_fields++];
    size_t from = r->out->n_values;

    f->quoted = r->d->quote >= 0 && r->at < r->size && r->p[r->at] == r->d->quote;
    if (f->quoted)
        slow_quoted_part(r);
    while (r->at < r->size && !slow_at_break(r) && !slow_at_delimiter(r))
        slow_put(r, slow_at_escape(r) ? 2 : 1);
    f->value = r->out->values + from;
    f->size = r->out->n_values - from;
}

static inline void slow_record_at(slow_reader *r)
{
    slow_record *record = &r->out->records[r->out->n_records++];

    record->start = r->at;
    record->first_field = r->out->n_fields;
    slow_field_at(r);
    while (r->at < r->size && !slow_at_break(r)) {
        r->at += r->d->delimiter_size;
        slow_field_at(r);
    }
    record->n_fields = r->out->n_fields - record->first_field;
    record->stop = r->at;
    if (r->at < r->size && r->p[r->at++] == '\r' && r->at < r->size && r->p[r->at] == '\n')
        r->at++;
    record->after = r->at;
}

/* Records of the text from `from` on. */
static inline slow_text slow_read(const slow_dialect *d, const uint8_t *p, size_t size, size_t from)
{
    slow_text out = {
        calloc(size + 1, sizeof(slow_record)), calloc(size + 2, sizeof(slow_field)), malloc(size + 1), 0, 0, 0
    };
    slow_reader r = { d, p, size, from, &out };

    if (out.records == NULL || out.fields == NULL || out.values == NULL)
        abort();
    for (;;) {
        while (r.at < size && slow_at_break(&r))
            r.at++;
        if (r.at >= size)
            return out;
        slow_record_at(&r);
    }
}

static inline void slow_free(slow_text *t)
{
    free(t->records);
    free(t->fields);
    free(t->values);
    *t = (slow_text){ 0 };
}

/* Physical line, from 1, of a position. */
static inline uint64_t slow_line(const uint8_t *p, size_t position)
{
    uint64_t line = 1;

    for (size_t i = 0; i < position; i++)
        line += p[i] == '\r' || (p[i] == '\n' && (i == 0 || p[i - 1] != '\r'));
    return line;
}

#endif
