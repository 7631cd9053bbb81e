/* Column chunks of footers: what the quick way reads, from wherever, the tables of Thrift read as the same. */
#include <stdlib.h>
#include <string.h>

#include "format/parquet/parquet_quick.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define MOST 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same_bytes(lb_str a, lb_str b)
{
    return a.at == b.at && a.size == b.size;
}

static void same_chunks(const lb_pqt_chunk *a, const lb_pqt_chunk *b)
{
    REQUIRE(a->has == b->has && a->meta.has == b->meta.has);
    REQUIRE(same_bytes(a->file_path, b->file_path) && same_bytes(a->crypto, b->crypto));
    REQUIRE(same_bytes(a->meta.statistics, b->meta.statistics));
    REQUIRE(a->offset_index == b->offset_index && a->offset_index_length == b->offset_index_length);
    REQUIRE(a->column_index == b->column_index && a->column_index_length == b->column_index_length);
    REQUIRE(a->meta.type == b->meta.type && a->meta.codec == b->meta.codec);
    REQUIRE(a->meta.num_values == b->meta.num_values && a->meta.uncompressed_size == b->meta.uncompressed_size);
    REQUIRE(a->meta.compressed_size == b->meta.compressed_size && a->meta.data_page == b->meta.data_page);
    REQUIRE(a->meta.index_page == b->meta.index_page && a->meta.dictionary_page == b->meta.dictionary_page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + (size < MOST ? size : MOST);

    for (const uint8_t *p = data; p < end; p++) {
        lb_pqt_chunk quick, table = { 0 };
        memset(&quick, 0xAA, sizeof quick);
        const uint8_t *behind = lb_pqt_chunk_quick(p, end, &quick);
        lb_cursor in;
        lb_arena none;
        if (behind == NULL)
            continue;
        REQUIRE(behind > p && behind <= end);
        lb_arena_init(&none, NULL);
        lb_cursor_init(&in, p, (size_t)(end - p), 0);
        REQUIRE(lb_thrift_decode(LB_THRIFT_COMPACT, lb_pqt_chunks_type.item->record, &in, &none, &table, NULL) ==
                LB_OK);
        REQUIRE(in.at == behind);
        same_chunks(&quick, &table);
        lb_arena_free(&none);
    }
    return 0;
}
