/* Schemas as the command shows them: types in words, and columns on which the files of a lake disagree. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

char *type_json(const struct ArrowSchema *type)
{
    size_t n = lb_type_json(type, NULL, 0);
    char *text = cli_alloc(n + 1, 1);
    if (n == 0 || lb_type_json(type, text, n + 1) != n)
        cli_no_memory();
    return text;
}

/* ---------------------------------------------------------------- metadata of a field */

/* Metadata has no length of its own: a count of pairs, then the size and bytes of each key and value. */
static int32_t meta_size(const char **at)
{
    int32_t size;
    memcpy(&size, *at, sizeof size);
    *at += sizeof size;
    return size < 0 ? 0 : size;
}

/* The value of a key, with a NUL at its end and owned by the caller; NULL: there is none. */
static char *meta_value(const char *metadata, const char *key)
{
    int32_t pairs = metadata == NULL ? 0 : meta_size(&metadata);
    for (int32_t i = 0; i < pairs; i++) {
        size_t key_size = (size_t)meta_size(&metadata);
        bool found = key_size == strlen(key) && memcmp(metadata, key, key_size) == 0;
        metadata += key_size;
        int32_t size = meta_size(&metadata);
        if (found)
            return cli_format("%.*s", (int)size, metadata);
        metadata += size;
    }
    return NULL;
}

char *column_conflict(const struct ArrowSchema *column)
{
    return meta_value(column->metadata, "lakebed.conflict");
}

uint64_t count_conflicts(const struct ArrowSchema *schema)
{
    uint64_t n = 0;
    for (int64_t i = 0; i < schema->n_children; i++) {
        char *conflict = column_conflict(schema->children[i]);
        n += conflict != NULL;
        free(conflict);
    }
    return n;
}

static void print_some_conflicts(const struct ArrowSchema *schema, const char *indent, int64_t columns)
{
    if (count_conflicts(schema) == 0)
        return;
    (void)fputc('\n', stdout);
    for (int64_t i = 0; i < columns; i++) {
        char *conflict = column_conflict(schema->children[i]), *clean = conflict == NULL ? NULL : clean_text(conflict);
        if (clean != NULL)
            (void)printf("%sconflict: %s\n", indent, clean);
        free(clean);
        free(conflict);
    }
    (void)printf("%s--schema text reads such a column as text\n", indent);
}

void print_conflicts(const struct ArrowSchema *schema, const char *indent)
{
    print_some_conflicts(schema, indent, schema->n_children);
}

/* ---------------------------------------------------------------- columns */

/* A plain type without its quotes; a nested one stays the JSON object it is. */
static void grid_add_type(grid *g, const struct ArrowSchema *column)
{
    char *type = type_json(column);
    size_t n = strlen(type);
    bool plain = n >= 2 && type[0] == '"' && type[n - 1] == '"';
    if (plain)
        type[n - 1] = '\0';
    grid_add(g, plain ? type + 1 : type);
    free(type);
}

void print_columns(const struct ArrowSchema *schema, const char *indent, int64_t most)
{
    int64_t columns = schema->n_children > most ? most : schema->n_children;
    grid *g = grid_new("column|type|");
    for (int64_t i = 0; i < columns; i++) {
        const struct ArrowSchema *column = schema->children[i];
        char *conflict = column_conflict(column);
        grid_add(g, column->name == NULL ? "" : column->name);
        grid_add_type(g, column);
        grid_add(g, conflict != NULL ? "conflict" : (column->flags & ARROW_FLAG_NULLABLE) != 0 ? "" : "never null");
        free(conflict);
    }
    grid_print(g, indent);
    grid_free(g);
    print_some_conflicts(schema, indent, columns);
}
