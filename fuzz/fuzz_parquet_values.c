/* Values of a page: whatever the bytes are, they are refused, or one reading gives what readings in pieces and past
 * skipped values give. The first byte is the physical type, the second the encoding, the third the length of fixed
 * values, the fourth where to cut. */
#include <stdlib.h>

#include "format/parquet/parquet_values.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define MOST 500

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct page {
    lb_parquet_leaf leaf;
    int32_t encoding;
    const uint8_t *bytes;
    size_t size;
    lb_budget budget;
} page;

static bool append_strings(lb_parquet_values *v, size_t n, lb_buf *out)
{
    lb_parquet_strings s;

    lb_parquet_strings_init(&s, out->budget);
    bool good = lb_parquet_values_strings(v, n, &s, NULL) == LB_OK;
    const int32_t *ends = (const int32_t *)(const void *)s.ends.data;
    for (size_t i = 0; good && i < n; i++)
        good = lb_buf_printf(out, NULL, "%d:", (int)(ends[i + 1] - ends[i])) == LB_OK &&
               lb_buf_append(out, s.data.data + ends[i], (size_t)(ends[i + 1] - ends[i]), NULL) == LB_OK;
    lb_parquet_strings_free(&s);
    return good;
}

static bool append_bits(lb_parquet_values *v, size_t n, lb_buf *out)
{
    uint8_t bits[MOST / 8 + 2];

    if (lb_parquet_values_bits(v, n, bits, 5, NULL) != LB_OK || lb_buf_reserve(out, n, NULL) != LB_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        lb_buf_putc(out, (char)lb_bits_get(bits, 5 + i));
    return true;
}

static bool append_indices(lb_parquet_values *v, size_t n, lb_buf *out)
{
    uint32_t indices[MOST], most;

    return lb_parquet_values_indices(v, n, 1000, indices, &most, NULL) == LB_OK &&
           lb_buf_append(out, indices, n * sizeof *indices, NULL) == LB_OK;
}

static bool append(lb_parquet_values *v, const page *p, size_t n, lb_buf *out)
{
    if (v->kind == LB_PARQUET_V_DICTIONARY)
        return append_indices(v, n, out);
    if (p->leaf.physical == LB_PARQUET_BYTE_ARRAY)
        return append_strings(v, n, out);
    if (p->leaf.physical == LB_PARQUET_BOOLEAN)
        return append_bits(v, n, out);
    if (lb_buf_reserve(out, n * v->width + 1, NULL) != LB_OK ||
        lb_parquet_values_fixed(v, n, out->data + out->size, NULL) != LB_OK)
        return false;
    out->size += n * v->width;
    return true;
}

/* Append `first` values, or skip them, and then `second`. */
static bool read_page(page *p, size_t first, size_t second, bool skip, lb_buf *out)
{
    lb_parquet_values v;
    bool good;

    out->size = 0;
    lb_parquet_values_init(&v, &p->budget);
    good = lb_parquet_values_open(&v, &p->leaf, p->encoding, p->bytes, p->size, MOST, NULL) == LB_OK;
    if (good)
        good = skip ? lb_parquet_values_skip(&v, first, NULL) == LB_OK : append(&v, p, first, out);
    if (good)
        good = append(&v, p, second, out);
    lb_parquet_values_free(&v);
    return good;
}

/* The most values that can be read. */
static size_t count_values(page *p, lb_buf *out)
{
    size_t low = 0, high = MOST + 1;

    if (!read_page(p, 0, 0, false, out))
        return 0;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (read_page(p, 0, middle, false, out))
            low = middle;
        else
            high = middle;
    }
    return low;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_buf whole, part;

    if (size < 4)
        return 0;
    page p = { .leaf = { .physical = (lb_parquet_physical)(data[0] % LB_PARQUET_PHYSICAL_COUNT),
                         .type_length = data[2] % 40,
                         .path = LB_STR("f") },
               .encoding = data[1] % 11,
               .bytes = data + 4,
               .size = size - 4,
               .budget = { .limit = (uint64_t)64 << 20 } };
    lb_buf_init(&whole, &p.budget);
    lb_buf_init(&part, &p.budget);
    const size_t n = count_values(&p, &part), cut = n * data[3] / 255;
    if (read_page(&p, 0, n, false, &whole)) {
        REQUIRE(read_page(&p, cut, n - cut, false, &part));
        REQUIRE(part.size == whole.size && (part.size == 0 || memcmp(part.data, whole.data, part.size) == 0));
        if (read_page(&p, cut, n - cut, true, &part)) /* what is passed over is not looked at in all ways */
            REQUIRE(part.size == 0 || memcmp(part.data, whole.data + (whole.size - part.size), part.size) == 0);
    }
    lb_buf_free(&whole);
    lb_buf_free(&part);
    REQUIRE(p.budget.used == 0);
    return 0;
}
