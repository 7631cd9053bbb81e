/* Rows of Avro alone: the first byte says which schema, the rest is a block's rows. Columns are taken in, or passed, or some of
 * each; whoever reads a row to its end comes to the same place. */
#include <stdlib.h>

#include "pulled.h"

#include "format/avro/avro.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const schemas[] = {
    "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"b\",\"type\":[\"null\",\"string\"]},"
    "{\"name\":\"c\",\"type\":{\"type\":\"array\",\"items\":[\"null\",\"long\",\"bytes\"]}},{\"name\":\"d\",\"type\":\"double\"}]}",
    "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":{\"type\":\"map\",\"values\":{\"type\":\"array\",\"items\":"
    "\"null\"}}},{\"name\":\"b\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"x\",\"y\"]}},{\"name\":\"c\",\"type\":"
    "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":50}}]}",
    "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":{\"type\":\"string\",\"logicalType\":\"uuid\"}},{\"name\":\"b\","
    "\"type\":[\"boolean\"]},{\"name\":\"c\",\"type\":[{\"type\":\"record\",\"name\":\"S\",\"fields\":[{\"name\":\"x\",\"type\":\"float\"}]},"
    "\"null\"]},{\"name\":\"d\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"size\":12,\"logicalType\":\"duration\"}}]}",
    "{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":\"boolean\"}}}",
};

typedef struct target {
    lb_arena arena;
    struct ArrowSchema schema;
    lb_growing *all;
    avro_program put, pass, some;
} target;

static void target_make(target *t, const char *text)
{
    const uint64_t columns[] = { 0, 1, 2, 3 };
    const avro_type *rows;

    lb_arena_init(&t->arena, NULL);
    REQUIRE(avro_schema_read(lb_str_of(text), &t->arena, &rows, NULL) == LB_OK);
    REQUIRE(avro_schema_arrow(rows, &t->schema, NULL) == LB_OK);
    REQUIRE(lb_growing_make(&t->schema, &t->arena, &t->all, NULL) == LB_OK);
    REQUIRE(avro_program_make(rows, columns, (size_t)t->schema.n_children, t->all, &t->arena, &t->put, NULL) == LB_OK);
    REQUIRE(avro_program_make(rows, NULL, 0, NULL, &t->arena, &t->pass, NULL) == LB_OK);
}

static void read_rows(target *t, const uint8_t *data, size_t size)
{
    lb_budget budget = { .limit = 256u << 20 };
    lb_append append = { .budget = &budget };
    avro_decoder put = { .at = data, .end = data + size, .append = &append }, pass = put;
    struct ArrowArray array;

    while (put.at < put.end && t->all->length < 1000) {
        if (!avro_decode_row(&put, &t->put))
            break;
        REQUIRE(avro_decode_row(&pass, &t->pass) && pass.at == put.at);
        t->all->length++;
    }
    REQUIRE(append.status != LB_OK || put.why != NULL || put.at == put.end || t->all->length == 1000);
    for (size_t i = 0; i < t->all->n_children; i++)
        lb_growing_truncate(&t->all->children[i], t->all->length);
    REQUIRE(lb_growing_finish(&append, t->all, &t->schema, &array, NULL) == LB_OK);
    pulled_check(&t->schema, &array);
    array.release(&array);
    lb_growing_reset(&append, t->all);
    REQUIRE(atomic_load(&budget.used) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static target targets[LB_COUNT_OF(schemas)]; /* made once */

    if (size == 0)
        return 0;
    target *t = &targets[data[0] % LB_COUNT_OF(schemas)];
    if (t->all == NULL)
        target_make(t, schemas[data[0] % LB_COUNT_OF(schemas)]);
    read_rows(t, data + 1, size - 1);
    return 0;
}
