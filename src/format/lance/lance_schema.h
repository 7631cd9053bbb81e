/* Schema of Lance files: logical types, and the tree of fields that a manifest keeps as a list. */
#ifndef LB_FORMAT_LANCE_SCHEMA_H
#define LB_FORMAT_LANCE_SCHEMA_H

#include "column/types.h"
#include "format/lance/lance_message.h"

/* How the values of a field are stored. */
typedef enum lb_lance_kind {
    LB_LANCE_NOTHING,    /* null type: no bytes */
    LB_LANCE_BITS,       /* booleans, also in fixed-size lists: a bit a value */
    LB_LANCE_FIXED,      /* values of so many bytes, also in fixed-size lists */
    LB_LANCE_VAR,        /* string and binary: offsets into the file */
    LB_LANCE_LIST,       /* offsets into the one child */
    LB_LANCE_STRUCT,     /* no page; children side by side */
    LB_LANCE_DICTIONARY, /* keys; the values stand once a file */
} lb_lance_kind;

/* Further values in a row than this are refused: fixed-size lists multiply. */
#define LB_LANCE_ROW_BYTES_MAX ((uint64_t)1 << 30)

typedef struct lb_lance_type {
    lb_lance_kind kind;
    bool large;     /* VAR, LIST: Arrow keeps 64-bit offsets; in files those of lists */
    bool text;      /* VAR */
    uint64_t width; /* FIXED: bytes of a row, all its values; BITS: values of a row. DICTIONARY: bytes of a key */
    bool is_signed; /* DICTIONARY: of the key */
    lb_lance_kind value_kind; /* DICTIONARY: VAR or FIXED */
    bool value_large, value_text;
    uint64_t value_width;
} lb_lance_type;

/* What a logical type says; `schema`, where not NULL, is made the Arrow type: unset before, without a name, to be released. A
 * dictionary gives its value type. Lists and structs give no children. Errors: UNSUPPORTED, naming the type; NOMEM. */
lb_status lb_lance_type_of(lb_str logical, lb_lance_type *out, struct ArrowSchema *schema, lb_error *err);

typedef struct lb_lance_node lb_lance_node;

struct lb_lance_node {
    const lb_lance_field *field;
    lb_str name;
    int32_t id;
    lb_lance_type type;
    bool nullable;
    size_t index; /* in the tree's nodes */
    lb_lance_node *parent;
    size_t n_children;
    lb_lance_node **children;
};

typedef struct lb_lance_tree {
    size_t n_nodes;
    lb_lance_node *nodes; /* in the order of the fields */
    size_t n_columns;
    lb_lance_node **columns; /* top level */
    int32_t min_id, max_id;  /* 0, -1: no fields */
} lb_lance_tree;

/* Build the tree; it lends the fields and lives in the arena. Errors: CORRUPT (ids, parents, names, children that do not fit
 * their type), UNSUPPORTED (a type, an encoding), BUDGET, NOMEM. */
lb_status lb_lance_tree_make(lb_lance_field *const *fields, size_t n, lb_arena *arena, lb_lance_tree *out,
                             lb_error *err);

/* The node of an id, or NULL. */
const lb_lance_node *lb_lance_tree_find(const lb_lance_tree *tree, int32_t id);

/* The Arrow field of a node with everything below it: name, nullability, metadata. Errors: NOMEM, BUDGET. */
lb_status lb_lance_node_schema(const lb_lance_node *node, struct ArrowSchema *out, lb_error *err);

#endif
