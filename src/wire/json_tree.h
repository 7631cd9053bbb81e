/* JSON documents as trees of jansson, whole also where memory is short: jansson neither tells want of memory from bad text
 * when it parses, nor sees every refusal when it prints. */
#ifndef LB_WIRE_JSON_TREE_H
#define LB_WIRE_JSON_TREE_H

#include <jansson.h>
#include <stddef.h>

/* As json_loadb, at twice its cost. NULL: the text is bad, or there is no memory. */
json_t *lb_json_load(const char *text, size_t size, size_t flags, json_error_t *why);

/* As json_dumps: NULL where memory is wanting, else the text of all of `json`, freed by free(). */
char *lb_json_dump(const json_t *json, size_t flags);

#endif
