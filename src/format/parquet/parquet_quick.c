/* Thrift's compact protocol, as the tables say it: a field is a byte, the distance to the id before in the upper half, its kind in
 * the lower; numbers are zigzag varints. Each place has branches of its own, for at each of them the lengths are nearly always the
 * same, and so no step waits for the one before. */
#include "format/parquet/parquet_quick.h"

/* What is read without looking for the end is shorter than this: some numbers, of at most 10 bytes. */
#define QUICK_MARGIN 128

/* Structs that are passed over have few fields: an id never comes near what is refused. */
#define QUICK_FIELDS 64

enum {
    QUICK_TRUE = 1,
    QUICK_FALSE = 2,
    QUICK_I32 = 5,
    QUICK_I64 = 6,
    QUICK_BYTES = 8,
    QUICK_LIST = 9,
    QUICK_STRUCT = 12
};

/* A number; NULL: longer than 9 bytes. */
static inline __attribute__((always_inline)) const uint8_t *quick_varint(const uint8_t *p, uint64_t *out)
{
    uint64_t v = p[0];

    if (p[0] < 0x80) {
        *out = v;
        return p + 1;
    }
    v = (v & 0x7F) | (uint64_t)p[1] << 7;
    if (p[1] < 0x80) {
        *out = v;
        return p + 2;
    }
    v = (v & 0x3FFF) | (uint64_t)p[2] << 14;
    if (p[2] < 0x80) {
        *out = v;
        return p + 3;
    }
    v = (v & 0x1FFFFF) | (uint64_t)p[3] << 21;
    if (p[3] < 0x80) {
        *out = v;
        return p + 4;
    }
    v &= 0xFFFFFFF;
    for (unsigned i = 4; i < 9; i++) {
        v |= (uint64_t)(p[i] & 0x7F) << (7 * i);
        if (p[i] < 0x80) {
            *out = v;
            return p + i + 1;
        }
    }
    return NULL;
}

static inline __attribute__((always_inline)) const uint8_t *quick_i64(const uint8_t *p, int64_t *out)
{
    uint64_t v = 0;

    p = quick_varint(p, &v);
    *out = (int64_t)(v >> 1 ^ (~(v & 1) + 1));
    return p;
}

static inline __attribute__((always_inline)) const uint8_t *quick_i32(const uint8_t *p, int32_t *out)
{
    int64_t v;

    p = quick_i64(p, &v);
    *out = (int32_t)v;
    return v == (int32_t)v ? p : NULL;
}

/* Bytes after their length; then there is a margin again. */
static inline const uint8_t *quick_bytes(const uint8_t *p, const uint8_t *end)
{
    uint64_t size;

    p = quick_varint(p, &size);
    return p == NULL || size > (size_t)(end - p) || (size_t)(end - p) - size < QUICK_MARGIN ? NULL : p + size;
}

static inline bool quick_near(const uint8_t *p, const uint8_t *end)
{
    return end - p < QUICK_MARGIN;
}

/* A list of numbers, each of one kind. */
static const uint8_t *quick_pass_numbers(const uint8_t *p, const uint8_t *end, unsigned kind)
{
    uint64_t count = *p >> 4, unused;

    if ((*p++ & 15) != kind)
        return NULL;
    if (count == 15)
        p = quick_varint(p, &count);
    for (; p != NULL && count != 0; count--)
        p = quick_near(p, end) ? NULL : quick_varint(p, &unused);
    return p;
}

/* The path in the schema: strings. */
static inline const uint8_t *quick_pass_path(const uint8_t *p, const uint8_t *end)
{
    unsigned count = *p >> 4;

    if ((*p++ & 15) != QUICK_BYTES || count == 15)
        return NULL;
    for (; p != NULL && count != 0; count--)
        p = quick_bytes(p, end);
    return p;
}

/* Statistics: bytes, numbers and booleans. */
static inline const uint8_t *quick_pass_statistics(const uint8_t *p, const uint8_t *end)
{
    uint64_t unused;

    for (int fields = 0; fields < QUICK_FIELDS && p != NULL && !quick_near(p, end); fields++) {
        const unsigned head = *p++;
        switch (head & 15) {
        case 0:
            return head == 0 ? p : NULL;
        case QUICK_TRUE:
        case QUICK_FALSE:
            break;
        case QUICK_I64:
            p = quick_varint(p, &unused);
            break;
        case QUICK_BYTES:
            p = quick_bytes(p, end);
            break;
        default:
            return NULL;
        }
        if (head >> 4 == 0)
            return NULL;
    }
    return NULL;
}

/* PageEncodingStats: three numbers each. */
static inline const uint8_t *quick_pass_encodings(const uint8_t *p, const uint8_t *end)
{
    unsigned count = *p >> 4;
    uint64_t unused;

    if ((*p++ & 15) != QUICK_STRUCT || count == 15)
        return NULL;
    for (; count != 0; count--) {
        for (int i = 0; i < 3; i++) {
            if (p == NULL || *p != (1 << 4 | QUICK_I32))
                return NULL;
            p = quick_varint(p + 1, &unused);
        }
        if (p == NULL || *p++ != 0 || quick_near(p, end))
            return NULL;
    }
    return p;
}

/* SizeStatistics: a number, and lists of numbers. */
static const uint8_t *quick_pass_sizes(const uint8_t *p, const uint8_t *end)
{
    uint64_t unused;

    for (int fields = 0; fields < QUICK_FIELDS && p != NULL && !quick_near(p, end); fields++) {
        const unsigned head = *p++;
        if (head == 0)
            return p;
        if (head >> 4 == 0)
            return NULL;
        if ((head & 15) == QUICK_I64)
            p = quick_varint(p, &unused);
        else
            p = (head & 15) == QUICK_LIST ? quick_pass_numbers(p, end, QUICK_I64) : NULL;
    }
    return NULL;
}

#define QUICK_HEAD(kind) (1 << 4 | (kind))

/* Fields 1 to 7 of ColumnMetaData, all required, in order: type, encodings, path, codec, values, and two sizes. */
static inline const uint8_t *quick_meta_front(const uint8_t *p, const uint8_t *end, lb_pqt_meta *m)
{
    if (*p != QUICK_HEAD(QUICK_I32) || (p = quick_i32(p + 1, &m->type)) == NULL)
        return NULL;
    if (*p != QUICK_HEAD(QUICK_LIST) || (p = quick_pass_numbers(p + 1, end, QUICK_I32)) == NULL)
        return NULL;
    if (*p != QUICK_HEAD(QUICK_LIST) || (p = quick_pass_path(p + 1, end)) == NULL)
        return NULL;
    if (*p != QUICK_HEAD(QUICK_I32) || (p = quick_i32(p + 1, &m->codec)) == NULL)
        return NULL;
    if (*p != QUICK_HEAD(QUICK_I64) || (p = quick_i64(p + 1, &m->num_values)) == NULL)
        return NULL;
    if (*p != QUICK_HEAD(QUICK_I64) || (p = quick_i64(p + 1, &m->uncompressed_size)) == NULL)
        return NULL;
    return *p == QUICK_HEAD(QUICK_I64) ? quick_i64(p + 1, &m->compressed_size) : NULL;
}

/* Those from 9 on: data page, index page, dictionary, statistics, and what is passed over. */
static inline const uint8_t *quick_meta_back(const uint8_t *p, const uint8_t *end, lb_pqt_meta *m)
{
    const uint8_t *from;
    unsigned id = 9;
    int64_t unused;

    m->has = LB_PQT_M_REQUIRED;
    if (*p != (2 << 4 | QUICK_I64))
        return NULL;
    p = quick_i64(p + 1, &m->data_page);
    while (p != NULL && !quick_near(p, end)) {
        const unsigned head = *p++;
        if (head == 0)
            return p;
        if (head >> 4 == 0)
            return NULL;
        id += head >> 4;
        switch (id << 4 | (head & 15)) {
        case 10 << 4 | QUICK_I64:
            m->has |= LB_PQT_M_INDEX_PAGE;
            p = quick_i64(p, &m->index_page);
            break;
        case 11 << 4 | QUICK_I64:
            m->has |= LB_PQT_M_DICTIONARY;
            p = quick_i64(p, &m->dictionary_page);
            break;
        case 12 << 4 | QUICK_STRUCT:
            from = p;
            p = quick_pass_statistics(p, end);
            if (p == NULL)
                return NULL;
            m->has |= LB_PQT_M_STATISTICS;
            m->statistics = (lb_str){ (const char *)from, (size_t)(p - from) };
            break;
        case 13 << 4 | QUICK_LIST:
            p = quick_pass_encodings(p, end);
            break;
        case 14 << 4 | QUICK_I64:
        case 15 << 4 | QUICK_I32:
            p = quick_i64(p, &unused);
            break;
        case 16 << 4 | QUICK_STRUCT:
            p = quick_pass_sizes(p, end);
            break;
        default:
            return NULL;
        }
    }
    return NULL;
}

/* Fields behind the metadata: where the indexes lie. */
static inline const uint8_t *quick_chunk_back(const uint8_t *p, lb_pqt_chunk *c)
{
    c->has = LB_PQT_K_META;
    if (*p == 0)
        return p + 1;
    if (*p == QUICK_HEAD(QUICK_I64)) {
        p = quick_i64(p + 1, &c->offset_index);
        if (p == NULL || *p != QUICK_HEAD(QUICK_I32) || (p = quick_i32(p + 1, &c->offset_index_length)) == NULL)
            return NULL;
        c->has |= LB_PQT_K_OFFSET_INDEX | LB_PQT_K_OFFSET_INDEX << 1;
        if (*p == 0)
            return p + 1;
        if (*p != QUICK_HEAD(QUICK_I64))
            return NULL;
    } else if (*p != (3 << 4 | QUICK_I64)) {
        return NULL;
    }
    p = quick_i64(p + 1, &c->column_index);
    if (p == NULL || *p != QUICK_HEAD(QUICK_I32) || (p = quick_i32(p + 1, &c->column_index_length)) == NULL)
        return NULL;
    c->has |= LB_PQT_K_COLUMN_INDEX | LB_PQT_K_COLUMN_INDEX << 1;
    return *p == 0 ? p + 1 : NULL;
}

const uint8_t *lb_pqt_chunk_quick(const uint8_t *p, const uint8_t *end, void *item)
{
    lb_pqt_chunk *c = item;
    int64_t unused;

    c->file_path = c->crypto = c->meta.statistics = (lb_str){ NULL, 0 };
    c->meta.index_page = c->meta.dictionary_page = c->offset_index = c->column_index = 0;
    c->offset_index_length = c->column_index_length = 0;
    if (quick_near(p, end) || *p != (2 << 4 | QUICK_I64)) /* file_offset: nothing needs it */
        return NULL;
    p = quick_i64(p + 1, &unused);
    if (p == NULL || *p != QUICK_HEAD(QUICK_STRUCT))
        return NULL;
    p = quick_meta_front(p + 1, end, &c->meta);
    if (p == NULL || quick_near(p, end))
        return NULL;
    p = quick_meta_back(p, end, &c->meta);
    return p == NULL || quick_near(p, end) ? NULL : quick_chunk_back(p, c);
}
