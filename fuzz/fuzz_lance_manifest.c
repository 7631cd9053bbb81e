/* Manifests: what is read can be written again and read the same, and its fields make a tree or an error. */
#include <stdlib.h>

#include "format/lance/lance_schema.h"
#include "lance/manifest.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Names, types and shape; every byte is looked at. */
static void check_tree(const lb_lance_tree *tree)
{
    size_t columns = 0;

    for (size_t i = 0; i < tree->n_nodes; i++) {
        const lb_lance_node *n = &tree->nodes[i];
        struct ArrowSchema schema;
        REQUIRE(n->parent == NULL || n->parent < n);
        REQUIRE(n->type.kind != LB_LANCE_LIST || n->n_children == 1);
        columns += n->parent == NULL;
        if (n->parent == NULL && lb_lance_node_schema(n, &schema, NULL) == LB_OK)
            schema.release(&schema);
    }
    REQUIRE(columns == tree->n_columns);
}

static void write_again(lb_manifest *m, lb_arena *arena)
{
    lb_manifest again;
    lb_store *store = NULL;
    lb_buf bytes;

    lb_buf_init(&bytes, arena->budget);
    if (lb_manifest_encode(m, (lb_str){ "", 0 }, &bytes, NULL) == LB_OK &&
        lb_store_open_memory(bytes.data, bytes.size, &store, NULL) == LB_OK) {
        lb_status status = lb_manifest_read(store, arena, &again, NULL);
        REQUIRE(status != LB_CORRUPT);
        if (status == LB_OK) {
            REQUIRE(again.pb->n_fields == m->pb->n_fields && again.pb->n_fragments == m->pb->n_fragments);
            REQUIRE(again.pb->version == m->pb->version);
            REQUIRE((again.indices == NULL) == (m->indices == NULL) && (again.aux == NULL) == (m->aux == NULL));
        }
    }
    lb_store_close(store);
    lb_buf_free(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_budget budget = { .limit = (uint64_t)64 << 20 };
    lb_manifest_glance glance;
    lb_store *store = NULL;
    lb_lance_tree tree;
    lb_manifest m;
    lb_arena arena;

    lb_arena_init(&arena, &budget);
    if (lb_store_open_memory(data, size, &store, NULL) == LB_OK && lb_manifest_read(store, &arena, &m, NULL) == LB_OK) {
        (void)lb_manifest_look(store, &arena, &glance, NULL);
        (void)lb_manifest_check_readable(&m, NULL);
        if (lb_lance_tree_make(m.pb->fields, m.pb->n_fields, &arena, &tree, NULL) == LB_OK)
            check_tree(&tree);
        write_again(&m, &arena);
    }
    lb_store_close(store);
    lb_arena_free(&arena);
    return 0;
}
