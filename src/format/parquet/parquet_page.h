/* Headers of pages (PageHeader of parquet.thrift). */
#ifndef LB_FORMAT_PARQUET_PAGE_H
#define LB_FORMAT_PARQUET_PAGE_H

#include "base/cursor.h"
#include "format/parquet/parquet_column.h"

typedef struct lb_parquet_page_head {
    lb_parquet_page
        page; /* first_row is left UNKNOWN, and so is n_rows of nested pages where the header does not tell */
    uint32_t crc;
    int32_t def_encoding, rep_encoding; /* v1 */
    uint32_t def_size, rep_size;        /* v2: bytes of levels before the values */
    bool compressed;                    /* v2: the values are; v1: true */
} lb_parquet_page_head;

/* Read a header from `in`, which is left behind it; `max_rep` of the leaf. in->bad: the bytes ended inside it; with
 * more of them it may be whole. Errors: CORRUPT. */
lb_status lb_parquet_page_head_read(lb_cursor *in, uint16_t max_rep, lb_parquet_page_head *out, lb_error *err);

/* Compare the checksum of a page's bytes, where it has one. Errors: CORRUPT. */
lb_status lb_parquet_page_check(const lb_parquet_page_head *head, const uint8_t *bytes, lb_error *err);

/* CRC-32 as gzip's. */
uint32_t lb_parquet_crc(const uint8_t *bytes, size_t size);

#endif
