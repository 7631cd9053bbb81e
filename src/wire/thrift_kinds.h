/* How the two protocols number the kinds of values, for reader and writer. */
#ifndef LB_WIRE_THRIFT_KINDS_H
#define LB_WIRE_THRIFT_KINDS_H

#include "wire/thrift.h"

/* In a compact field header a bool is its own value: 1 true, 2 false. In lists both mean bool. */
enum { LB_THRIFT_COMPACT_TRUE = 1, LB_THRIFT_COMPACT_FALSE = 2 };

/* Kind of a number on the wire; NONE where there is no such kind. Both tables have 17 entries. */
#define LB_THRIFT_WIRE_KINDS 17
extern const uint8_t lb_thrift_binary_kinds[LB_THRIFT_WIRE_KINDS], lb_thrift_compact_kinds[LB_THRIFT_WIRE_KINDS];

/* The way back; a bool in compact is TRUE. */
extern const uint8_t lb_thrift_binary_numbers[LB_THRIFT_KIND_COUNT], lb_thrift_compact_numbers[LB_THRIFT_KIND_COUNT];

/* A struct on the wire holds at least its end, a list its head: the least bytes that a value of a kind takes. */
extern const uint8_t lb_thrift_binary_least[LB_THRIFT_KIND_COUNT], lb_thrift_compact_least[LB_THRIFT_KIND_COUNT];

#endif
