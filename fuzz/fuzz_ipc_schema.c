/* Schema messages of Arrow IPC, as a map holds them: whatever decodes must also have words, be written again, and read
 * back as the same schema. */
#include <stdlib.h>

#include "column/ipc.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct ArrowSchema *schema)
{
    lb_buf bytes;
    struct ArrowSchema again = { .release = NULL };
    lb_buf_init(&bytes, NULL);
    if (lb_ipc_encode_schema(schema, &bytes, NULL) == LB_OK) {
        lb_error err = LB_ERROR_INIT;
        lb_status s = lb_ipc_decode_schema(bytes.data, bytes.size, &again, &err);
        REQUIRE(s == LB_OK);
        REQUIRE(lb_schema_equal(schema, &again));
        again.release(&again);
    }
    lb_buf_free(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_error err = LB_ERROR_INIT;
    struct ArrowSchema schema;
    lb_buf words;
    lb_status s = lb_ipc_decode_schema(data, size, &schema, &err);
    REQUIRE((s == LB_OK) == (schema.release != NULL));
    REQUIRE(s == err.code);
    if (s != LB_OK)
        return 0;
    lb_buf_init(&words, NULL);
    REQUIRE(lb_type_words(&schema, true, &words, NULL) == LB_OK);
    check_again(&schema);
    lb_buf_free(&words);
    schema.release(&schema);
    return 0;
}
