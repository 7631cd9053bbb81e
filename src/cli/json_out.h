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

void jout_open(json_out *j, char bracket); /* `{` or `[` */
void jout_close(json_out *j, char bracket);
void jout_key(json_out *j, const char *key);
void jout_text(json_out *j, const char *text); /* NULL: null. Bytes that are not UTF-8 become U+FFFD */
void jout_count(json_out *j, uint64_t n);
void jout_known(json_out *j, int64_t n); /* null where negative: unknown */
void jout_real(json_out *j, double x);   /* three places */
void jout_bool(json_out *j, bool b);
void jout_raw(json_out *j, const char *json); /* JSON text as it stands */
void jout_end(json_out *j);                   /* the document's newline */

/* A key and its value. */
void jput_text(json_out *j, const char *key, const char *text);
void jput_bytes(json_out *j, const char *key, const char *text, size_t size); /* a NUL behind, and maybe some within */
void jput_count(json_out *j, const char *key, uint64_t n);
void jput_known(json_out *j, const char *key, int64_t n);
void jput_real(json_out *j, const char *key, double x);
void jput_bool(json_out *j, const char *key, bool b);
void jput_raw(json_out *j, const char *key, const char *json);

#endif
