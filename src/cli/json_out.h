/* A small writer of JSON: it sets commas and escapes strings, the caller keeps keys and brackets in order. */
#ifndef LB_CLI_JSON_OUT_H
#define LB_CLI_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct json_out {
    FILE *file;
    bool comma; /* the next value or key follows another one */
} json_out;

void json_open(json_out *j, char bracket); /* `{` or `[` */
void json_close(json_out *j, char bracket);
void json_key(json_out *j, const char *key);
void json_text(json_out *j, const char *text); /* NULL: null. Bytes that are not UTF-8 become U+FFFD */
void json_count(json_out *j, uint64_t n);
void json_known(json_out *j, int64_t n); /* null where negative: unknown */
void json_real(json_out *j, double x);   /* three places */
void json_bool(json_out *j, bool b);
void json_raw(json_out *j, const char *json); /* JSON text as it stands */
void json_end(json_out *j);                   /* the document's newline */

#endif
