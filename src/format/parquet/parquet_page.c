#include "format/parquet/parquet_page.h"

#include <libdeflate.h>

#include "wire/thrift.h"

typedef struct page_data {
    uint64_t has;
    int32_t num_values, encoding, def_encoding, rep_encoding;
} page_data;

typedef struct page_dictionary {
    uint64_t has;
    int32_t num_values, encoding;
} page_dictionary;

typedef struct page_data_v2 {
    uint64_t has;
    int32_t num_values, num_nulls, num_rows, encoding, def_size, rep_size;
    bool compressed;
} page_data_v2;

typedef struct page_header {
    uint64_t has;
    int32_t kind, size, stored_size, crc;
    page_data data;
    page_dictionary dictionary;
    page_data_v2 data_v2;
} page_header;

enum { PAGE_HAS_CRC = 1 << 3, PAGE_HAS_DATA = 1 << 4, PAGE_HAS_DICTIONARY = 1 << 5, PAGE_HAS_V2 = 1 << 6 };
enum { V2_HAS_COMPRESSED = 1 << 6 };

/* clang-format off */
static const lb_thrift_field page_data_fields[] = {
    LB_THRIFT_REQUIRED(page_data, 1, num_values, &lb_thrift_i32),
    LB_THRIFT_REQUIRED(page_data, 2, encoding, &lb_thrift_i32),
    LB_THRIFT_FIELD(page_data, 3, def_encoding, &lb_thrift_i32),
    LB_THRIFT_FIELD(page_data, 4, rep_encoding, &lb_thrift_i32),
};
static const lb_thrift_field page_dictionary_fields[] = {
    LB_THRIFT_REQUIRED(page_dictionary, 1, num_values, &lb_thrift_i32),
    LB_THRIFT_FIELD(page_dictionary, 2, encoding, &lb_thrift_i32),
};
static const lb_thrift_field page_data_v2_fields[] = {
    LB_THRIFT_REQUIRED(page_data_v2, 1, num_values, &lb_thrift_i32),
    LB_THRIFT_FIELD(page_data_v2, 2, num_nulls, &lb_thrift_i32),
    LB_THRIFT_REQUIRED(page_data_v2, 3, num_rows, &lb_thrift_i32),
    LB_THRIFT_REQUIRED(page_data_v2, 4, encoding, &lb_thrift_i32),
    LB_THRIFT_REQUIRED(page_data_v2, 5, def_size, &lb_thrift_i32),
    LB_THRIFT_REQUIRED(page_data_v2, 6, rep_size, &lb_thrift_i32),
    LB_THRIFT_FIELD(page_data_v2, 7, compressed, &lb_thrift_bool),
};
/* clang-format on */

#define PAGE_STRUCT(of, in_words)                                                                           \
    {                                                                                                       \
        .name = (in_words), .size = sizeof(of), .n_fields = LB_COUNT_OF(of##_fields), .fields = of##_fields \
    }
#define PAGE_TYPE(of)                                                        \
    {                                                                        \
        .kind = LB_THRIFT_STRUCT, .size = sizeof(of), .record = &of##_struct \
    }

static const lb_thrift_struct page_data_struct = PAGE_STRUCT(page_data, "DataPageHeader");
static const lb_thrift_struct page_dictionary_struct = PAGE_STRUCT(page_dictionary, "DictionaryPageHeader");
static const lb_thrift_struct page_data_v2_struct = PAGE_STRUCT(page_data_v2, "DataPageHeaderV2");
static const lb_thrift_type page_data_type = PAGE_TYPE(page_data);
static const lb_thrift_type page_dictionary_type = PAGE_TYPE(page_dictionary);
static const lb_thrift_type page_data_v2_type = PAGE_TYPE(page_data_v2);

/* clang-format off */
static const lb_thrift_field page_header_fields[] = {
    LB_THRIFT_REQUIRED(page_header, 1, kind, &lb_thrift_i32),
    LB_THRIFT_REQUIRED(page_header, 2, size, &lb_thrift_i32),
    LB_THRIFT_REQUIRED(page_header, 3, stored_size, &lb_thrift_i32),
    LB_THRIFT_FIELD(page_header, 4, crc, &lb_thrift_i32),
    LB_THRIFT_FIELD(page_header, 5, data, &page_data_type),
    LB_THRIFT_FIELD(page_header, 7, dictionary, &page_dictionary_type),
    LB_THRIFT_FIELD(page_header, 8, data_v2, &page_data_v2_type),
};
/* clang-format on */
static const lb_thrift_struct page_header_struct = PAGE_STRUCT(page_header, "PageHeader");

static lb_status page_corrupt(uint64_t at, const char *what, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_AT(at), "page header: %s", what);
}

static lb_status page_set_v1(const page_header *h, uint16_t max_rep, lb_parquet_page_head *out, lb_error *err)
{
    if ((h->has & PAGE_HAS_DATA) == 0 || h->data.num_values < 0)
        return page_corrupt(out->page.offset, "a data page without its part, or with a negative count", err);
    out->page.encoding = h->data.encoding;
    out->page.num_values = (uint64_t)h->data.num_values;
    out->page.n_rows = max_rep == 0 ? out->page.num_values : LB_PARQUET_UNKNOWN;
    out->def_encoding = h->data.def_encoding;
    out->rep_encoding = h->data.rep_encoding;
    return LB_OK;
}

static lb_status page_set_v2(const page_header *h, uint16_t max_rep, lb_parquet_page_head *out, lb_error *err)
{
    const page_data_v2 *d = &h->data_v2;

    if ((h->has & PAGE_HAS_V2) == 0 || d->num_values < 0 || d->num_rows < 0 || d->def_size < 0 || d->rep_size < 0)
        return page_corrupt(out->page.offset, "a data page (v2) without its part, or with a negative count", err);
    if ((uint64_t)d->def_size + (uint64_t)d->rep_size > out->page.stored_size)
        return page_corrupt(out->page.offset, "levels are longer than the page", err);
    out->page.encoding = d->encoding;
    out->page.num_values = (uint64_t)d->num_values;
    /* Some writers say how many values there are in place of the rows: of nested columns that tells nothing. */
    if (max_rep == 0)
        out->page.n_rows = out->page.num_values;
    else if (d->num_rows != d->num_values)
        out->page.n_rows = (uint64_t)d->num_rows;
    out->def_size = (uint32_t)d->def_size;
    out->rep_size = (uint32_t)d->rep_size;
    out->compressed = (d->has & V2_HAS_COMPRESSED) == 0 || d->compressed;
    return LB_OK;
}

static lb_status page_set_dictionary(const page_header *h, lb_parquet_page_head *out, lb_error *err)
{
    if ((h->has & PAGE_HAS_DICTIONARY) == 0 || h->dictionary.num_values < 0)
        return page_corrupt(out->page.offset, "a dictionary page without its part, or with a negative count", err);
    out->page.encoding = h->dictionary.encoding;
    out->page.num_values = (uint64_t)h->dictionary.num_values;
    return LB_OK;
}

lb_status lb_parquet_page_head_read(lb_cursor *in, uint16_t max_rep, lb_parquet_page_head *out, lb_error *err)
{
    const uint64_t at = lb_cursor_offset(in);
    const uint8_t *from = in->at;
    page_header h = { 0 };
    lb_arena none;

    lb_arena_init(&none, NULL);
    lb_status status = lb_thrift_decode(LB_THRIFT_COMPACT, &page_header_struct, in, &none, &h, err);
    lb_arena_free(&none);
    LB_TRY(status);
    if (h.size < 0 || h.stored_size < 0)
        return page_corrupt(at, "a negative size", err);
    *out = (lb_parquet_page_head){ .page = { .kind = (lb_parquet_page_kind)h.kind,
                                             .encoding = -1,
                                             .offset = at,
                                             .header_size = (uint32_t)(in->at - from),
                                             .stored_size = (uint32_t)h.stored_size,
                                             .size = (uint32_t)h.size,
                                             .first_row = LB_PARQUET_UNKNOWN,
                                             .n_rows = LB_PARQUET_UNKNOWN,
                                             .has_crc = (h.has & PAGE_HAS_CRC) != 0 },
                                   .crc = (uint32_t)h.crc,
                                   .compressed = true };
    if (h.kind == LB_PARQUET_DATA_PAGE)
        return page_set_v1(&h, max_rep, out, err);
    if (h.kind == LB_PARQUET_DATA_PAGE_V2)
        return page_set_v2(&h, max_rep, out, err);
    if (h.kind == LB_PARQUET_DICTIONARY_PAGE)
        return page_set_dictionary(&h, out, err);
    return LB_OK;
}

uint32_t lb_parquet_crc(const uint8_t *bytes, size_t size)
{
    return libdeflate_crc32(0, bytes, size);
}

lb_status lb_parquet_page_check(const lb_parquet_page_head *head, const uint8_t *bytes, lb_error *err)
{
    if (!head->page.has_crc)
        return LB_OK;
    uint32_t crc = lb_parquet_crc(bytes, head->page.stored_size);
    if (crc == head->crc)
        return LB_OK;
    return lb_fail(err, LB_CORRUPT, LB_AT(head->page.offset),
                   "the page's checksum is %08x, that of its bytes %08x: it is damaged", (unsigned)head->crc,
                   (unsigned)crc);
}
