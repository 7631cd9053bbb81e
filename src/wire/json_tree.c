#include "wire/json_tree.h"

#include <stdlib.h>
#include <string.h>

/* Text that is good the second time was not bad the first time. */
json_t *lb_json_load(const char *text, size_t size, size_t flags, json_error_t *why)
{
    json_t *json = json_loadb(text, size, flags, why);
    return json != NULL ? json : json_loadb(text, size, flags, why);
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
