/* Keys of JSON objects, whose text may have escapes. */
#include "base/hash.h"
#include "format/json/json_rows.h"

lb_str js_text(const lb_json_text *text, lb_buf *scratch)
{
    if (!text->escaped)
        return (lb_str){ (const char *)text->p, text->size };
    scratch->size = 0;
    if (lb_buf_reserve(scratch, text->size + LB_JSON_PADDING, NULL) != LB_OK)
        return (lb_str){ NULL, 0 };
    const size_t size = lb_json_decode(text, scratch->data);
    memset(scratch->data + size, 0, LB_JSON_PADDING);
    return (lb_str){ (const char *)scratch->data, size };
}

size_t js_keys_find(lb_keys *keys, size_t k, const lb_json_text *key, lb_buf *scratch)
{
    const lb_str name = js_text(key, scratch);

    return name.at == NULL ? LB_NO_KEY : lb_keys_find(keys, k, name);
}

static bool keys_list(lb_json_cursor *c, lb_buf *list, lb_buf *scratch, size_t *n)
{
    lb_json_text key;

    *n = 0;
    for (bool more = lb_json_object(c, &key); more; more = lb_json_member(c, &key)) {
        const lb_str name = js_text(&key, scratch);
        const lb_key_seen seen = { name.at == NULL ? 0 : lb_xxh3_64(name.at, name.size), (*n)++ };
        if (name.at == NULL || lb_buf_append(list, &seen, sizeof seen, NULL) != LB_OK || !lb_json_skip(c, NULL))
            return false;
    }
    return c->reason == LB_JSON_GOOD;
}

bool js_find_replaced(lb_json_cursor c, lb_buf *out, size_t *n, bool *any)
{
    lb_buf list, scratch;

    *any = false;
    lb_buf_init(&list, out->budget);
    lb_buf_init(&scratch, out->budget);
    const bool good =
        keys_list(&c, &list, &scratch, n) && lb_keys_replaced((lb_key_seen *)(void *)list.data, *n, out, any);
    lb_buf_free(&list);
    lb_buf_free(&scratch);
    return good;
}
