#include "wire/json_tree.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define JSON_TRIES 2

/* Refused memory can also cost a letter of a string, unseen: a tree is believed when two readings are equal. Text that is
 * bad is bad both times. */
json_t *lb_json_load(const char *text, size_t size, size_t flags, json_error_t *why)
{
    for (int i = 0; i < JSON_TRIES; i++) {
        json_t *json = json_loadb(text, size, flags, why), *again = json_loadb(text, size, flags, why);
        bool same = json_equal(json, again), bad = json == NULL && again == NULL;
        json_decref(again);
        if (same)
            return json;
        json_decref(json);
        if (bad)
            return NULL;
    }
    return NULL;
}

char *lb_json_dump(const json_t *json, size_t flags)
{
    char *text = json_dumps(json, flags);
    json_t *back = text == NULL ? NULL : lb_json_load(text, strlen(text), JSON_DECODE_ANY, NULL);
    if (!json_equal(json, back)) {
        free(text);
        text = NULL;
    }
    json_decref(back);
    return text;
}
