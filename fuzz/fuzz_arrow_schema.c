/* Schemas of Arrow files: whatever a flatbuffer says, it is refused, or becomes types that have words, are plain, and can be
 * written for a map and read back. */
#include <stdlib.h>

#include "column/ipc.h"
#include "column/values.h"
#include "format/arrow/arrow.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Numbers of nodes and buffers go up in the order of the fields. */
static uint64_t check_node(const lb_arrow_schema *s, const lb_arrow_node *n, bool plain)
{
    uint64_t nodes = 1;

    REQUIRE(!plain || n->plain != NULL);
    REQUIRE(n->layout != LB_ARROW_DICTIONARY || n->dictionary < s->n_dictionaries);
    for (uint32_t i = 0; i < n->n_children; i++) {
        REQUIRE(n->children[i].at.nodes == n->at.nodes + nodes);
        nodes += check_node(s, &n->children[i], plain && !(n->layout == LB_ARROW_RUNS && i == 0));
    }
    return nodes;
}

static void check_schema(const lb_arrow_schema *s)
{
    uint64_t nodes = 0;
    lb_buf words, bytes;

    for (uint32_t i = 0; i < s->n_columns; i++)
        nodes += check_node(s, &s->columns[i], true);
    REQUIRE(nodes == s->counts.nodes);
    for (uint32_t i = 0; i < s->n_dictionaries; i++)
        REQUIRE(check_node(s, &s->dictionaries[i].values, true) == s->dictionaries[i].counts.nodes);
    REQUIRE(lb_schema_is_plain(&s->plain));
    lb_buf_init(&words, NULL);
    lb_buf_init(&bytes, NULL);
    REQUIRE(lb_type_words(&s->plain, true, &words, NULL) == LB_OK);
    struct ArrowSchema again;
    REQUIRE(lb_ipc_encode_schema(&s->plain, &bytes, NULL) == LB_OK);
    REQUIRE(lb_ipc_decode_schema(bytes.data, bytes.size, &again, NULL) == LB_OK);
    REQUIRE(lb_schema_equal(&s->plain, &again));
    again.release(&again);
    lb_buf_free(&words);
    lb_buf_free(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_arena arena;
    lb_arrow_schema s = { .n_columns = 0 };
    lb_budget budget = { 0, 256u << 20 };
    lb_flat f;

    lb_arena_init(&arena, &budget);
    if (lb_flat_message(data, size, &f)) {
        uint64_t message = lb_flat_follow(&f, 0), table = f.bad ? 0 : lb_flat_table(&f, message, 2);
        if (!f.bad && table != 0 && lb_arrow_schema_read(&f, table, &arena, &s, NULL) == LB_OK)
            check_schema(&s);
    }
    lb_arrow_schema_release(&s);
    lb_arena_free(&arena);
    return 0;
}
