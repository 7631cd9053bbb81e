#include "lance/deletions.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "codec/block_codec.h"
#include "wire/roaring.h"

enum { DELETIONS_ARROW = 0, DELETIONS_BITMAP = 1 };

lb_status lb_deletions_path(uint64_t fragment, const lb_lance_deletion_file *f, char out[96], lb_error *err)
{
    if (f->file_type != DELETIONS_ARROW && f->file_type != DELETIONS_BITMAP)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "fragment %llu has a deletion file of the unknown type %d",
                       (unsigned long long)fragment, f->file_type);
    (void)snprintf(out, 96, "_deletions/%llu-%llu-%llu.%s", (unsigned long long)fragment,
                   (unsigned long long)f->read_version, (unsigned long long)f->id,
                   f->file_type == DELETIONS_ARROW ? "arrow" : "bin");
    return LB_OK;
}

/* ---------------------------------------------------------------- Arrow files
 * A deletion file has one column of uint32 without nulls, so that of the messages only a few members matter: they are looked
 * up in the flatbuffers directly, each access checked. */

typedef struct flat {
    const uint8_t *at;
    size_t size;
} flat;

static bool flat_get(const flat *f, uint64_t at, void *out, size_t size)
{
    if (size > f->size || at > f->size - size)
        return false;
    memcpy(out, f->at + at, size);
    return true;
}

/* Where an offset at `at` leads to; 0: outside. */
static uint64_t flat_follow(const flat *f, uint64_t at)
{
    uint32_t more;

    return flat_get(f, at, &more, sizeof more) && at + more < f->size ? at + more : 0;
}

/* Where member `i` of a table stands; 0: it has none. */
static uint64_t flat_member(const flat *f, uint64_t table, unsigned i)
{
    int32_t back;
    uint16_t size, member;

    if (table == 0 || !flat_get(f, table, &back, sizeof back))
        return 0;
    int64_t names = (int64_t)table - back;
    if (names < 0 || !flat_get(f, (uint64_t)names, &size, sizeof size) || 4 + 2 * (i + 1) > size ||
        !flat_get(f, (uint64_t)names + 4 + 2 * (uint64_t)i, &member, sizeof member) || member == 0)
        return 0;
    return table + member;
}

static int64_t flat_number(const flat *f, uint64_t table, unsigned i, size_t size)
{
    uint64_t at = flat_member(f, table, i);
    int64_t value = 0;

    return at != 0 && flat_get(f, at, &value, size) ? value : 0;
}

static uint64_t flat_table(const flat *f, uint64_t table, unsigned i)
{
    uint64_t at = flat_member(f, table, i);

    return at == 0 ? 0 : flat_follow(f, at);
}

/* Items of a vector and where they begin; false: no such vector, or it does not fit. */
static bool flat_vector(const flat *f, uint64_t table, unsigned i, size_t item, uint64_t *begin, uint32_t *n)
{
    uint64_t at = flat_table(f, table, i);

    if (at == 0 || !flat_get(f, at, n, sizeof *n))
        return false;
    *begin = at + sizeof *n;
    return *n <= (f->size - *begin) / item;
}

enum { MESSAGE_TYPE = 1, MESSAGE_HEADER = 2, MESSAGE_BODY = 3 };
enum { HEADER_SCHEMA = 1, HEADER_BATCH = 3 };
enum { TYPE_INT = 2 };

static bool arrow_is_uint32(const flat *f, uint64_t schema)
{
    uint64_t fields, field;
    uint32_t n;

    if (!flat_vector(f, schema, 1, 4, &fields, &n) || n != 1)
        return false;
    field = flat_follow(f, fields);
    uint64_t type = flat_table(f, field, 3);
    return flat_number(f, field, 2, 1) == TYPE_INT && flat_number(f, type, 0, 4) == 32 &&
           flat_number(f, type, 1, 1) == 0;
}

typedef struct arrow_file {
    const uint8_t *bytes;
    uint64_t size, rows; /* rows: limit of the values */
    bool schema;         /* it came, and is right */
    lb_buf *out;
} arrow_file;

static lb_status arrow_bad(const char *what, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "this is no Arrow file of deleted rows: %s", what);
}

/* Append `n` numbers of a buffer of the body, which may be compressed. */
static lb_status arrow_values(arrow_file *a, const uint8_t *bytes, uint64_t size, uint64_t n, bool compressed,
                              lb_error *err)
{
    uint64_t want = n * sizeof(uint32_t);
    int64_t length;

    if (n > a->rows)
        return arrow_bad("it has more rows than its fragment", err);
    if (n == 0)
        return LB_OK;
    LB_TRY(lb_buf_reserve(a->out, (size_t)want, err));
    uint8_t *to = a->out->data + a->out->size;
    if (compressed) {
        if (size < sizeof length)
            return arrow_bad("a buffer is cut off", err);
        memcpy(&length, bytes, sizeof length);
        bytes += sizeof length;
        size -= sizeof length;
        if (length != -1) {
            if (length < 0 || (uint64_t)length < want || (uint64_t)length > want + 64)
                return arrow_bad("a buffer has another size than its rows", err);
            lb_buf whole;
            lb_buf_init(&whole, a->out->budget);
            lb_status status = lb_buf_reserve(&whole, (size_t)length, err);
            if (status == LB_OK)
                status =
                    lb_codec_decode_exact(LB_CODEC_ZSTD, NULL, bytes, (size_t)size, whole.data, (size_t)length, err);
            if (status == LB_OK)
                memcpy(to, whole.data, (size_t)want);
            lb_buf_free(&whole);
            LB_TRY(status);
            a->out->size += (size_t)want;
            return LB_OK;
        }
    }
    if (size < want)
        return arrow_bad("a buffer is too short for its rows", err);
    memcpy(to, bytes, (size_t)want);
    a->out->size += (size_t)want;
    return LB_OK;
}

static lb_status arrow_batch(arrow_file *a, const flat *f, uint64_t batch, const uint8_t *body, uint64_t body_size,
                             lb_error *err)
{
    uint64_t at, codec = flat_member(f, batch, 3);
    int64_t length = flat_number(f, batch, 0, 8), place[2];
    uint32_t n;

    if (!a->schema)
        return arrow_bad("its column is not of type uint32", err);
    if (length < 0 || !flat_vector(f, batch, 2, sizeof place, &at, &n) || n != 2 ||
        !flat_get(f, at + sizeof place, place, sizeof place) || place[0] < 0 || place[1] < 0 ||
        (uint64_t)place[1] > body_size || (uint64_t)place[0] > body_size - (uint64_t)place[1])
        return arrow_bad("its batch is damaged", err);
    if (codec != 0 && flat_number(f, flat_table(f, batch, 3), 0, 1) != 1)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "deleted rows are compressed otherwise than with ZSTD");
    return arrow_values(a, body + place[0], (uint64_t)place[1], (uint64_t)length, codec != 0, err);
}

/* The message at *at; *end: there is none any more. */
static lb_status arrow_message(arrow_file *a, uint64_t *at, bool *end, lb_error *err)
{
    uint32_t mark[2];

    *end = true;
    if (a->size - *at < sizeof mark)
        return LB_OK;
    memcpy(mark, a->bytes + *at, sizeof mark);
    if (mark[0] != UINT32_MAX || mark[1] == 0)
        return mark[0] == UINT32_MAX ? LB_OK : arrow_bad("a message does not begin where it should", err);
    *at += sizeof mark;
    if (mark[1] > a->size - *at)
        return arrow_bad("a message is cut off", err);
    const flat f = { a->bytes + *at, mark[1] };
    uint64_t message = flat_follow(&f, 0), header = flat_table(&f, message, MESSAGE_HEADER);
    int64_t body = flat_number(&f, message, MESSAGE_BODY, 8), type = flat_number(&f, message, MESSAGE_TYPE, 1);
    *at += mark[1];
    if (message == 0 || header == 0 || body < 0 || (uint64_t)body > a->size - *at)
        return arrow_bad("a message is damaged", err);
    if (type == HEADER_SCHEMA)
        a->schema = arrow_is_uint32(&f, header);
    else if (type == HEADER_BATCH)
        LB_TRY(arrow_batch(a, &f, header, a->bytes + *at, (uint64_t)body, err));
    else
        return arrow_bad("it has a message that is neither schema nor batch", err);
    *at += (uint64_t)body;
    *end = false;
    return LB_OK;
}

static int deletions_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* The values come in no order. */
static lb_status arrow_settle(arrow_file *a, lb_error *err)
{
    uint32_t *rows = (uint32_t *)(void *)a->out->data;
    size_t n = a->out->size / sizeof *rows;

    if (n != 0)
        qsort(rows, n, sizeof *rows, deletions_order);
    for (size_t i = 1; i < n; i++)
        if (rows[i] == rows[i - 1])
            return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "row %u is deleted twice", rows[i]);
    if (n != 0 && rows[n - 1] >= a->rows)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "row %u of the fragment is deleted, which has %llu rows",
                       rows[n - 1], (unsigned long long)a->rows);
    return LB_OK;
}

static lb_status arrow_read(lb_str bytes, uint64_t rows, lb_buf *out, lb_error *err)
{
    arrow_file a = { .bytes = (const uint8_t *)bytes.at, .size = bytes.size, .rows = rows, .out = out };
    static const char nothing[8];
    uint64_t at = 8;
    bool end = false;

    if (bytes.size < 8 || memcmp(bytes.at, "ARROW1", 6) != 0)
        return arrow_bad("it does not begin with ARROW1", err);
    /* Newer writers align the first message to 64 bytes. */
    while (bytes.size - at >= sizeof nothing && memcmp(bytes.at + at, nothing, sizeof nothing) == 0)
        at += sizeof nothing;
    while (!end)
        LB_TRY(arrow_message(&a, &at, &end, err));
    return arrow_settle(&a, err);
}

/* ---------------------------------------------------------------- both kinds */

lb_status lb_deletions_read(lb_store *store, const lb_lance_deletion_file *f, uint64_t rows, lb_arena *arena,
                            lb_deletions *out, lb_error *err)
{
    lb_buf bytes, values;
    size_t got = 0;

    *out = (lb_deletions){ 0 };
    lb_buf_init(&bytes, arena->budget);
    lb_buf_init(&values, arena->budget);
    lb_status status = lb_buf_reserve(&bytes, (size_t)store->size, err);
    if (status == LB_OK)
        status = lb_store_read(store, 0, bytes.data, (size_t)store->size, &got, err);
    if (status == LB_OK && f->file_type == DELETIONS_ARROW)
        status = arrow_read((lb_str){ (const char *)bytes.data, got }, rows, &values, err);
    else if (status == LB_OK)
        status = lb_roaring_decode(bytes.data, got, rows, &values, err);
    if (status == LB_OK) {
        out->count = values.size / sizeof *out->rows;
        out->rows = lb_arena_dup(arena, values.data, values.size);
        status = out->rows == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    if (status == LB_OK && f->num_deleted_rows != 0 && f->num_deleted_rows != out->count)
        status = lb_fail(err, LB_CORRUPT, LB_NOWHERE, "%llu rows are deleted here; the manifest says %llu",
                         (unsigned long long)out->count, (unsigned long long)f->num_deleted_rows);
    lb_buf_free(&bytes);
    lb_buf_free(&values);
    if (status != LB_OK)
        lb_fail_path(err, store->path);
    return status;
}

uint64_t lb_deletions_physical(const lb_deletions *d, uint64_t row)
{
    uint64_t low = 0, high = d->count;

    /* The first deleted row with more than `row` live ones before it: those that come earlier are passed over. */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (d->rows[middle] - middle > row)
            high = middle;
        else
            low = middle + 1;
    }
    return row + low;
}

uint64_t lb_deletions_live(const lb_deletions *d, uint64_t row)
{
    uint64_t low = 0, high = d->count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (d->rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return row - low;
}
