#include "format/parquet/parquet_dictionary.h"

#define DICTIONARY_FEW 16 /* values that are worth a read each */

void lb_parquet_dictionary_init(lb_parquet_dictionary *d, lb_budget *budget)
{
    *d = (lb_parquet_dictionary){ .there = false };
    lb_parquet_body_init(&d->body, budget);
    lb_buf_init(&d->stored, budget);
    lb_buf_init(&d->made, budget);
    lb_buf_init(&d->spans, budget);
}

void lb_parquet_dictionary_free(lb_parquet_dictionary *d)
{
    lb_parquet_body_free(&d->body);
    lb_buf_free(&d->stored);
    lb_buf_free(&d->made);
    lb_buf_free(&d->spans);
}

void lb_parquet_dictionary_reset(lb_parquet_dictionary *d)
{
    lb_parquet_body_reset(&d->body);
    d->there = false;
    d->count = d->ready = 0;
    d->walked = 0;
    d->values = NULL;
    d->made.size = d->spans.size = 0;
}

size_t lb_parquet_dictionary_memory(const lb_parquet_dictionary *d)
{
    return lb_parquet_body_memory(&d->body) + d->stored.cap + d->made.cap + d->spans.cap;
}

lb_status lb_parquet_dictionary_take(lb_parquet_dictionary *d, lb_codec codec, lb_codec_work *work,
                                     const uint8_t *bytes, size_t stored, size_t size, uint32_t count, bool part,
                                     lb_error *err)
{
    lb_parquet_dictionary_reset(d);
    if (stored == 0 && codec != LB_CODEC_NONE)
        LB_TRY(lb_parquet_room(&d->body.bytes, LB_PARQUET_BODY_SLACK, err));
    else if (codec == LB_CODEC_NONE)
        LB_TRY(lb_parquet_body_unpack(&d->body, codec, work, bytes, stored, stored, err));
    else if (!part)
        LB_TRY(lb_parquet_body_unpack(&d->body, codec, work, bytes, stored, size, err));
    else
        LB_TRY(lb_parquet_body_begin(&d->body, codec, bytes, stored, size, err));
    d->there = true;
    d->count = count;
    return LB_OK;
}

lb_status lb_parquet_dictionary_lie(lb_parquet_dictionary *d, lb_store *store, uint64_t at, size_t size, uint32_t count,
                                    lb_error *err)
{
    lb_parquet_dictionary_reset(d);
    LB_TRY(lb_parquet_body_lie(&d->body, store, at, size, err));
    d->there = true;
    d->count = count;
    return LB_OK;
}

static lb_status dictionary_short(lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the values of a dictionary end before the last of them");
}

/* ---------------------------------------------------------------- strings */

/* The length in front of the next string, which ends within the page; bytes up to *there were decompressed. */
static inline lb_status dictionary_length(lb_parquet_dictionary *d, size_t *there, uint32_t *length, lb_error *err)
{
    const size_t size = d->body.bytes.size;

    if (d->walked + sizeof *length > *there) {
        if (d->walked + sizeof *length > size)
            return dictionary_short(err);
        LB_TRY(lb_parquet_body_reach(&d->body, d->walked, lb_parquet_body_step(&d->body), err));
        *there = lb_parquet_body_there(&d->body, d->walked);
    }
    memcpy(length, d->body.bytes.data + d->walked, sizeof *length);
    return *length <= size - d->walked - sizeof *length ? LB_OK : dictionary_short(err);
}

static lb_status dictionary_spans(lb_parquet_dictionary *d, uint32_t n, lb_error *err)
{
    size_t there = lb_parquet_body_there(&d->body, 0);
    lb_parquet_span span;

    if (n - d->ready > (d->body.bytes.size - d->walked) / sizeof span.size)
        return dictionary_short(err);
    LB_TRY(lb_buf_reserve(&d->spans, (size_t)(n - d->ready) * sizeof span, err));
    for (; d->ready < n; d->ready++) {
        LB_TRY(dictionary_length(d, &there, &span.size, err));
        span.first = (uint32_t)(d->walked + sizeof span.size);
        d->walked += sizeof span.size + (size_t)span.size;
        lb_buf_put(&d->spans, &span, sizeof span);
    }
    d->values = d->body.bytes.data;
    return lb_parquet_body_reach(&d->body, 0, d->walked, err);
}

/* ---------------------------------------------------------------- values of fixed width */

/* Decimals of their own lengths: all of them. */
static lb_status dictionary_decimals(lb_parquet_dictionary *d, const lb_parquet_leaf *leaf,
                                     const lb_parquet_conversion *as, lb_error *err)
{
    lb_budget *budget = d->made.budget;
    lb_parquet_strings strings;
    lb_parquet_values v;

    LB_TRY(lb_parquet_body_reach(&d->body, 0, UINT64_MAX, err));
    lb_parquet_strings_init(&strings, budget);
    lb_parquet_values_init(&v, budget);
    lb_status status =
        lb_parquet_values_open(&v, leaf, LB_PARQUET_PLAIN, d->body.bytes.data, d->body.bytes.size, d->count, err);
    if (status == LB_OK)
        status = lb_parquet_values_strings(&v, d->count, &strings, err);
    if (status == LB_OK)
        status = lb_buf_reserve(&d->made, d->count * as->width + LB_PARQUET_BODY_SLACK, err);
    if (status == LB_OK)
        status = lb_parquet_convert_strings(as, &strings, d->made.data, err);
    lb_parquet_values_free(&v);
    lb_parquet_strings_free(&strings);
    d->values = d->made.data;
    d->ready = status == LB_OK ? d->count : 0;
    return status;
}

static lb_status dictionary_wide(lb_parquet_dictionary *d, const lb_parquet_conversion *as, uint32_t n, lb_error *err)
{
    if (as->stored != 0 && n > d->body.bytes.size / as->stored)
        return dictionary_short(err);
    LB_TRY(lb_parquet_body_reach(&d->body, 0, (uint64_t)n * as->stored, err));
    d->values = d->body.bytes.data;
    if (as->wide != NULL) {
        const size_t more = (size_t)(n - d->ready) * as->width;
        LB_TRY(lb_buf_reserve(&d->made, more + LB_PARQUET_BODY_SLACK, err));
        LB_TRY(lb_parquet_convert(as, d->body.bytes.data + (size_t)d->ready * as->stored, n - d->ready,
                                  d->made.data + d->made.size, err));
        d->made.size += more;
        d->values = d->made.data;
    }
    d->ready = n;
    return LB_OK;
}

lb_status lb_parquet_dictionary_ready(lb_parquet_dictionary *d, const lb_parquet_leaf *leaf,
                                      const lb_parquet_conversion *as, uint32_t n, lb_error *err)
{
    if (!d->there)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "dictionary indices, but no dictionary page");
    if (n <= d->ready)
        return LB_OK;
    if (as->form == LB_PARQUET_STRINGS)
        return dictionary_spans(d, n, err);
    return as->strings != NULL ? dictionary_decimals(d, leaf, as, err) : dictionary_wide(d, as, n, err);
}

/* Values that are as they are stored, and read from the file as they are asked for, need none before them. */
lb_status lb_parquet_dictionary_pick(lb_parquet_dictionary *d, const lb_parquet_leaf *leaf,
                                     const lb_parquet_conversion *as, const uint32_t *indices, size_t n, uint32_t most,
                                     lb_error *err)
{
    const bool single = d->body.part && d->body.store != NULL && n <= DICTIONARY_FEW && as->form == LB_PARQUET_WIDE &&
                        as->wide == NULL && as->strings == NULL && as->stored != 0 &&
                        most < d->body.bytes.size / as->stored;

    if (!single || most < d->ready)
        return lb_parquet_dictionary_ready(d, leaf, as, most + 1, err);
    for (size_t i = 0; i < n; i++)
        LB_TRY(lb_parquet_body_reach(&d->body, (size_t)indices[i] * as->stored, as->stored, err));
    d->values = d->body.bytes.data;
    return LB_OK;
}
