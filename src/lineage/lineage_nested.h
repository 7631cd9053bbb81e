/* Nested types: read from text, and made by the analysis. */
#ifndef LB_LINEAGE_LINEAGE_NESTED_H
#define LB_LINEAGE_LINEAGE_NESTED_H

#include "lineage/lineage_catalog.h"

#define LB_NESTED_DEPTH 100 /* Impala allows 100 levels of complex types */

extern const lb_nested_type lb_nested_scalar;

/* `array<T>`, `map<K,V>`, `struct<name:T,…>` in any case, with blanks, names in backquotes and `comment '…'`; whatever
 * else stands there is one scalar type. What is not well formed or nested too deep is scalar as a whole: a type only
 * says which paths there are. NULL: no memory, see arena->why. */
const lb_nested_type *lb_nested_parse(lb_arena *arena, lb_str text);

/* Lower case (of ASCII letters) copy of a text, or the text itself where it has no upper-case letter and `lend`. at
 * NULL: no memory. */
lb_str lb_lower_copy(lb_arena *arena, lb_str text, bool lend);

static inline bool lb_nested_is_complex(const lb_nested_type *type)
{
    return type != NULL && type->kind != LB_TYPE_SCALAR;
}

static inline bool lb_nested_is_collection(const lb_nested_type *type)
{
    return type != NULL && (type->kind == LB_TYPE_ARRAY || type->kind == LB_TYPE_MAP);
}

#endif
