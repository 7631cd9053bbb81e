/* A sheet's XML and, behind a zero byte, that of shared strings, as parts of a workbook: they are refused, or give as many rows as the
 * survey counted, and the same number from any place of a map. */
#include <stdlib.h>

#include "pulled.h"

#include "format/xlsx/xlsx_handlers.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define STRIDE 3
#define ROWS 5000
#define COLUMNS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---------------------------------------------------------------- an archive of stored parts */

typedef struct archive {
    lb_buf file, directory;
    unsigned count;
} archive;

static uint32_t crc_of(const uint8_t *p, size_t size)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < size; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (0xEDB88320u & (0 - (crc & 1)));
    }
    return ~crc;
}

static void put(lb_buf *to, uint32_t v, size_t n)
{
    REQUIRE(lb_buf_append(to, &v, n, NULL) == LB_OK);
}

static void put_sizes(lb_buf *to, uint32_t crc, size_t size, size_t name)
{
    put(to, crc, 4);
    put(to, (uint32_t)size, 4);
    put(to, (uint32_t)size, 4);
    put(to, (uint32_t)name, 2);
    put(to, 0, 2);
}

static void add(archive *a, const char *name, const void *bytes, size_t size)
{
    uint32_t at = (uint32_t)a->file.size, crc = crc_of(bytes, size);
    size_t n = strlen(name);

    put(&a->file, 0x04034B50, 4);
    put(&a->file, 20, 4); /* version, flags */
    put(&a->file, 0, 2);
    put(&a->file, 0, 4);
    put_sizes(&a->file, crc, size, n);
    REQUIRE(lb_buf_append(&a->file, name, n, NULL) == LB_OK && lb_buf_append(&a->file, bytes, size, NULL) == LB_OK);
    put(&a->directory, 0x02014B50, 4);
    put(&a->directory, 20 << 16 | 20, 4);
    put(&a->directory, 0, 4);
    put(&a->directory, 0, 4);
    put_sizes(&a->directory, crc, size, n);
    put(&a->directory, 0, 4);
    put(&a->directory, 0, 4);
    put(&a->directory, 0, 2);
    put(&a->directory, at, 4);
    REQUIRE(lb_buf_append(&a->directory, name, n, NULL) == LB_OK);
    a->count++;
}

static void finish(archive *a)
{
    uint32_t at = (uint32_t)a->file.size, size = (uint32_t)a->directory.size;

    REQUIRE(lb_buf_append(&a->file, a->directory.data, a->directory.size, NULL) == LB_OK);
    put(&a->file, 0x06054B50, 4);
    put(&a->file, 0, 4);
    put(&a->file, a->count, 2);
    put(&a->file, a->count, 2);
    put(&a->file, size, 4);
    put(&a->file, at, 4);
    put(&a->file, 0, 2);
}

static const char workbook[] = "<workbook><sheets><sheet name='s' r:id='r1'/></sheets></workbook>";
static const char relations[] =
    "<Relationships><Relationship Id='r1' Type='/worksheet' Target='s.xml'/><Relationship Id='r2' "
    "Type='/sharedStrings' Target='t.xml'/><Relationship Id='r3' Type='/styles' "
    "Target='y.xml'/></Relationships>";
static const char styles[] = "<styleSheet><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/><xf numFmtId='20'/><xf "
                             "numFmtId='22'/><xf numFmtId='46'/></cellXfs></styleSheet>";

static void make(archive *a, const uint8_t *data, size_t size)
{
    const uint8_t *zero = size == 0 ? NULL : memchr(data, 0, size);
    size_t sheet = zero == NULL ? size : (size_t)(zero - data);

    add(a, "xl/workbook.xml", workbook, sizeof workbook - 1);
    add(a, "xl/_rels/workbook.xml.rels", relations, sizeof relations - 1);
    add(a, "xl/y.xml", styles, sizeof styles - 1);
    add(a, "xl/s.xml", sheet == 0 ? (const uint8_t *)"" : data, sheet);
    if (zero != NULL)
        add(a, "xl/t.xml", zero + 1, size - sheet - 1);
    finish(a);
}

/* ---------------------------------------------------------------- reading */

static void read_rows(lb_context *cx, lb_store *store, const lb_entry *entry)
{
    lb_reader *reader;
    lb_wanted wanted[COLUMNS];
    uint64_t some[ROWS / 7 + 1], n = 0, rows = LB_MIN(entry->total_rows, (uint64_t)ROWS);
    bool whole, piece;

    REQUIRE(lb_format_xlsx.open(&lb_format_xlsx, cx, store, NULL, entry, &reader, NULL) == LB_OK);
    for (size_t i = 0; i < COLUMNS; i++)
        wanted[i] = (lb_wanted){ .column = i };
    lb_range range = { .count = rows,
                       .n_columns = (size_t)LB_MIN(entry->columns.count, (uint64_t)COLUMNS),
                       .columns = wanted };
    uint64_t got = pulled_scan(&lb_format_xlsx, reader, &range, &whole);
    REQUIRE(!whole || got == rows);
    for (uint64_t row = 0; row < rows; row += 7)
        some[n++] = row;
    for (size_t i = 0; i < LB_MIN(n, (uint64_t)32); i++) {
        range.first = some[i];
        range.count = LB_MIN((uint64_t)4, rows - some[i]);
        got = pulled_scan(&lb_format_xlsx, reader, &range, &piece);
        REQUIRE(!whole || (piece && got == range.count));
    }
    range.rows = some;
    range.count = n;
    got = pulled_scan(&lb_format_xlsx, reader, &range, &piece);
    REQUIRE(!whole || (piece && got == n));
    lb_format_xlsx.close(reader);
}

static void survey(lb_context *cx, lb_store *store)
{
    const lb_survey_options options = { .stride = STRIDE, .stats = LB_STATS_ALL };
    lb_reader *reader = NULL;
    lb_entry entry = { .total_rows = 0 };
    lb_arena arena;

    lb_arena_init(&arena, NULL);
    if (lb_format_xlsx.open(&lb_format_xlsx, cx, store, NULL, NULL, &reader, NULL) == LB_OK &&
        lb_format_xlsx.survey(reader, &options, &arena, &entry, NULL) == LB_OK)
        read_rows(cx, store, &entry);
    if (reader != NULL)
        lb_format_xlsx.close(reader);
    lb_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 1, .memory_limit = 256u << 20 };
    lb_context *cx = NULL;
    lb_store *store = NULL;
    archive a = { .count = 0 };

    lb_buf_init(&a.file, NULL);
    lb_buf_init(&a.directory, NULL);
    make(&a, data, size);
    if (lb_context_new(&options, &cx, NULL) == LB_OK &&
        lb_store_open_memory(a.file.data, a.file.size, &store, NULL) == LB_OK)
        survey(cx, store);
    lb_store_close(store);
    lb_context_free(cx);
    lb_buf_free(&a.file);
    lb_buf_free(&a.directory);
    return 0;
}
