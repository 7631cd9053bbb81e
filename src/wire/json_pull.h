/* JSON text (RFC 8259) read value by value, in one pass and without a tree: for records whose keys are known.
 *
 *     lb_json_pull p;
 *     lb_str key;
 *     lb_json_pull_begin(&p, text, arena, err);
 *     if (lb_json_pull_enter(&p, '{'))
 *         while (lb_json_pull_next_key(&p, &key))
 *             if (lb_str_is(key, "rows")) rows = lb_json_pull_int(&p);
 *             else lb_json_pull_skip(&p);
 *     status = lb_json_pull_end(&p);
 *
 * The first failure sticks: after it every call gives nothing, so that loops end and lb_json_pull_end has the status.
 * Strings are lent from the text, or lie in the arena where they hold escapes. Bytes of 0x80 and above are taken as
 * they are, valid UTF-8 or not: records hold the text of queries, which may be anything. */
#ifndef LB_WIRE_JSON_PULL_H
#define LB_WIRE_JSON_PULL_H

#include "base/arena.h"
#include "base/cursor.h"

/* How deep arrays and objects may lie in each other, also where they are stepped over. */
#define LB_JSON_PULL_DEPTH 128

typedef enum lb_json_pull_kind {
    LB_JSON_PULL_NOTHING, /* the end, or no value begins here */
    LB_JSON_PULL_OBJECT,
    LB_JSON_PULL_ARRAY,
    LB_JSON_PULL_STRING,
    LB_JSON_PULL_NUMBER,
    LB_JSON_PULL_WORD /* true, false, null */
} lb_json_pull_kind;

typedef struct lb_json_pull {
    lb_cursor in;
    lb_arena *arena;
    lb_error *err;
    lb_status status;
    bool fresh; /* a bracket was just opened: no comma is due */
} lb_json_pull;

void lb_json_pull_begin(lb_json_pull *p, lb_str text, lb_arena *arena, lb_error *err);

/* Kind of the value that comes next; nothing is consumed but blanks. */
lb_json_pull_kind lb_json_pull_peek(lb_json_pull *p);

/* Enter an object (`{`) or array (`[`); another value is a failure. */
bool lb_json_pull_enter(lb_json_pull *p, char bracket);

/* Go to the next member of the object, the next item of the array. False: it ends here (and is left), or a failure. */
bool lb_json_pull_next_key(lb_json_pull *p, lb_str *key);
bool lb_json_pull_next_item(lb_json_pull *p);

lb_str lb_json_pull_string(lb_json_pull *p);
int64_t lb_json_pull_int(lb_json_pull *p); /* whole numbers within int64 only */

/* Step over a value of any kind. */
void lb_json_pull_skip(lb_json_pull *p);

/* Fail at the place reached: CORRUPT. */
__attribute__((format(printf, 2, 3))) void lb_json_pull_fail(lb_json_pull *p, const char *fmt, ...);

/* Only blanks may follow. The status: CORRUPT with the offset, also of values nested too deep; BUDGET, NOMEM. */
lb_status lb_json_pull_end(lb_json_pull *p);

#endif
