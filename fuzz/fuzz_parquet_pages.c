/* The pages of a column chunk: whatever the bytes are, they are refused, or give valid arrays, and the same rows in
 * pieces. The first byte is the physical type, the second the shape around it, the third the codec, the fourth the
 * number of rows. */
#include <stdlib.h>

#include "pulled.h"

#include "format/parquet/parquet_column.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A leaf, and up to three nodes around it. */
typedef struct shape {
    lb_parquet_leaf leaf;
    lb_parquet_node nodes[4], *below[4];
    size_t n;
    struct ArrowSchema schema;
} shape;

static const char *leaf_type(const lb_parquet_leaf *leaf)
{
    static const char *const types[] = { "bool",    "int32",   "int64",  "timestamp[ns]",
                                         "float32", "float64", "string", "decimal(38,2)" };
    return types[leaf->physical];
}

/* Bits of `kind`, from the leaf outwards: 1: nullable; then two bits a level: none, struct, list, map-like list of
 * structs. */
static void shape_make(shape *s, unsigned kind)
{
    static const lb_parquet_shape shapes[] = { LB_PARQUET_LEAF, LB_PARQUET_STRUCT, LB_PARQUET_LIST, LB_PARQUET_LIST };
    lb_buf words;
    uint16_t def = 0, rep = 0, slot = 0;

    lb_buf_init(&words, NULL);
    REQUIRE(lb_buf_printf(&words, NULL, "\"%s\"", leaf_type(&s->leaf)) == LB_OK);
    for (unsigned level = 0, bits = kind >> 1; level < 3; level++, bits >>= 2) {
        lb_buf inner = words;
        if ((bits & 3) == 0)
            continue;
        lb_buf_init(&words, NULL);
        REQUIRE(lb_buf_printf(&words, NULL,
                              (bits & 3) == 1 ? "{\"struct\":[{\"name\":\"x\",\"type\":%s,\"nullable\":true}]}"
                                              : "{\"list\":%s}",
                              lb_buf_text(&inner)) == LB_OK);
        lb_buf_free(&inner);
        s->nodes[s->n++].shape = shapes[bits & 3];
    }
    if (s->n == 0)
        words.data[words.size - 1] = '\0';
    REQUIRE(lb_type_of_words(lb_buf_text(&words) + (s->n == 0), &s->schema, NULL) == LB_OK);
    lb_buf_free(&words);
    /* From the outside: the node added last. */
    for (size_t i = 0; i < s->n / 2; i++) {
        const lb_parquet_node swap = s->nodes[i];
        s->nodes[i] = s->nodes[s->n - 1 - i];
        s->nodes[s->n - 1 - i] = swap;
    }
    s->nodes[s->n++].shape = LB_PARQUET_LEAF;
    const struct ArrowSchema *field = &s->schema;
    for (size_t i = 0; i < s->n; i++) {
        lb_parquet_node *node = &s->nodes[i];
        node->nullable = i + 1 < s->n || (kind & 1) != 0;
        def = (uint16_t)(def + node->nullable);
        *node = (lb_parquet_node){ .shape = node->shape,
                                   .nullable = node->nullable,
                                   .def = def,
                                   .slot_def = slot,
                                   .rep = rep,
                                   .schema = field,
                                   .n_leaves = 1,
                                   .leaf = &s->leaf };
        if (node->shape == LB_PARQUET_LIST) {
            node->item_def = slot = ++def;
            rep++;
        }
        if (i + 1 == s->n)
            break;
        s->below[i] = &s->nodes[i + 1];
        node->children = &s->below[i];
        node->n_children = 1;
        field = field->children[0];
    }
    s->leaf.max_def = def;
    s->leaf.max_rep = rep;
}

static bool read_rows(lb_context *cx, lb_store *store, const shape *s, const lb_parquet_plan *plan,
                      const lb_parquet_run *runs, size_t n, struct ArrowArray *out)
{
    lb_parquet_chunk *chunk = NULL;
    lb_parquet_column *column = NULL;

    out->release = NULL;
    bool good = lb_parquet_chunk_open(cx, store, plan, &chunk, NULL) == LB_OK &&
                lb_parquet_column_new(cx, &s->nodes[0], &column, NULL) == LB_OK;
    for (size_t i = 0; good && i < n; i++)
        good = lb_parquet_column_read(column, &chunk, &runs[i], 1, NULL, NULL) == LB_OK;
    good = good && lb_parquet_column_finish(column, out, NULL) == LB_OK;
    lb_parquet_column_free(column);
    lb_parquet_chunk_close(chunk);
    return good;
}

static void validate(const shape *s, struct ArrowArray *array, int64_t rows)
{
    REQUIRE(array->length == rows);
    pulled_check(&s->schema, array);
}

static lb_status page_seen(void *user, const lb_parquet_page *page, lb_error *err)
{
    const lb_parquet_plan *plan = user;

    (void)err;
    REQUIRE(page->offset + page->header_size <= plan->limit);
    return LB_OK;
}

static void read_chunk(lb_context *cx, lb_store *store, const shape *s, lb_parquet_plan *plan)
{
    struct ArrowArray whole = { 0 }, part = { 0 };
    const lb_parquet_run all = { 0, plan->rows }, some[3] = { { plan->rows / 5, plan->rows / 4 },
                                                              { plan->rows / 2, plan->rows / 5 },
                                                              { plan->rows * 3 / 4, plan->rows / 4 } };

    if (read_rows(cx, store, s, plan, &all, 1, &whole))
        validate(s, &whole, (int64_t)plan->rows);
    if (read_rows(cx, store, s, plan, some, 3, &part))
        validate(s, &part, (int64_t)(some[0].count + some[1].count + some[2].count));
    else
        REQUIRE(whole.release == NULL); /* what can be read whole can be read in pieces */
    if (whole.release != NULL)
        whole.release(&whole);
    if (part.release != NULL)
        part.release(&part);
    (void)lb_parquet_pages(cx, store, plan, LB_PARQUET_HEADERS, page_seen, plan, NULL);
    (void)lb_parquet_pages(cx, store, plan, LB_PARQUET_ROWS, page_seen, plan, NULL);
    (void)lb_parquet_pages(cx, store, plan, LB_PARQUET_ALL, page_seen, plan, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const lb_codec codecs[] = { LB_CODEC_NONE, LB_CODEC_SNAPPY, LB_CODEC_GZIP, LB_CODEC_LZ4_HADOOP };
    const lb_context_options options = { .struct_size = sizeof options, .memory_limit = 1u << 26, .threads = 1 };
    lb_context *cx = NULL;
    lb_store *store = NULL;
    shape s = { .leaf = { .path = LB_STR("f"), .type_length = 5 } };

    if (size < 4 || lb_context_new(&options, &cx, NULL) != LB_OK)
        return 0;
    s.leaf.physical = (lb_parquet_physical)(data[0] % LB_PARQUET_PHYSICAL_COUNT);
    shape_make(&s, data[1] & 0x7F);
    if (lb_store_open_memory(data + 4, size - 4, &store, NULL) == LB_OK) {
        lb_parquet_plan plan = { .leaf = &s.leaf,
                                 .codec = codecs[data[2] % 4],
                                 .length = size - 4,
                                 .limit = size - 4,
                                 .rows = data[3],
                                 .want_end = data[3],
                                 .num_values = UINT64_MAX };
        if (s.leaf.max_rep == 0)
            plan.num_values = plan.rows;
        read_chunk(cx, store, &s, &plan);
    }
    lb_store_close(store);
    s.schema.release(&s.schema);
    REQUIRE(cx->budget.used == 0);
    lb_context_free(cx);
    return 0;
}
