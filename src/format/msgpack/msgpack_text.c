/* Values as text: tagged JSON, as columns hold it that have no other type, and names of keys. */
#include <stdio.h>

#include "base/datetime.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/utf8.h"
#include "column/print.h"
#include "format/msgpack/msgpack.h"
#include "io/text.h"

#define TEXT_INT_EXACT (((int64_t)1 << 53) - 1) /* larger ones are tagged: conformance form of integers */

/* ---------------------------------------------------------------- instants and text */

bool mp_stamp(const lb_msgpack_token *t, lb_stamp *out)
{
    uint32_t high;
    uint64_t low;

    if (t->i != -1 || (t->n != 4 && t->n != 8 && t->n != 12))
        return false;
    if (t->n == 12) {
        memcpy(&high, t->data, sizeof high);
        memcpy(&low, t->data + 4, sizeof low);
        *out = (lb_stamp){ (int64_t)__builtin_bswap64(low), __builtin_bswap32(high) };
    } else if (t->n == 8) {
        memcpy(&low, t->data, sizeof low);
        low = __builtin_bswap64(low);
        *out = (lb_stamp){ (int64_t)(low & (((uint64_t)1 << 34) - 1)), (uint32_t)(low >> 34) };
    } else {
        memcpy(&high, t->data, sizeof high);
        *out = (lb_stamp){ (int64_t)__builtin_bswap32(high), 0 };
    }
    return out->nanos < 1000000000;
}

bool mp_is_utf8(const lb_msgpack_token *t)
{
    return lb_utf8_valid_prefix(t->data, (size_t)t->n) == (size_t)t->n;
}

/* ---------------------------------------------------------------- tagged */

/* One text under way: the first failure is kept. */
typedef struct text_job {
    mp_cursor *c;
    lb_buf *out;
    lb_status *status;
    lb_error *err;
} text_job;

static bool text_good(const text_job *j, lb_status status)
{
    if (status != LB_OK)
        *j->status = status;
    return status == LB_OK;
}

static bool text_put(const text_job *j, const void *p, size_t size)
{
    return text_good(j, lb_buf_append(j->out, p, size, j->err));
}

static bool text_put_str(const text_job *j, const char *text)
{
    return text_put(j, text, strlen(text));
}

static bool text_integer(const text_job *j, const lb_msgpack_token *t, bool tagged)
{
    char digits[LB_INT_TEXT];
    const size_t size = t->kind == LB_MSGPACK_INT ? lb_print_int64(t->i, digits) : lb_print_uint64(t->u, digits);
    const bool large = t->kind == LB_MSGPACK_UINT || t->i > TEXT_INT_EXACT || t->i < -TEXT_INT_EXACT;

    if (!tagged || !large)
        return text_put(j, digits, size);
    return text_put_str(j, "{\"$int\":\"") && text_put(j, digits, size) && text_put_str(j, "\"}");
}

static bool text_float(const text_job *j, double v, bool tagged)
{
    char digits[LB_DOUBLE_TEXT];
    const size_t size = lb_print_double(v, digits);

    if (!tagged || __builtin_isfinite(v))
        return text_put(j, digits, size);
    return text_put_str(j, "{\"$float\":\"") && text_put(j, digits, size) && text_put_str(j, "\"}");
}

static bool text_binary(const text_job *j, const lb_msgpack_token *t)
{
    return text_put_str(j, "{\"$bin\":\"") && text_good(j, lb_print_base64(j->out, t->data, (size_t)t->n, j->err)) &&
           text_put_str(j, "\"}");
}

static bool text_extension(const text_job *j, const lb_msgpack_token *t)
{
    lb_stamp v;

    if (mp_stamp(t, &v))
        return text_good(j, lb_buf_printf(j->out, j->err, "{\"$ts\":[%lld,%u]}", (long long)v.seconds, v.nanos));
    return text_good(j, lb_buf_printf(j->out, j->err, "{\"$ext\":[%d,\"", (int)t->i)) &&
           text_good(j, lb_print_base64(j->out, t->data, (size_t)t->n, j->err)) && text_put_str(j, "\"]}");
}

static bool text_value(const text_job *j, unsigned depth);

static bool text_array(const text_job *j, uint64_t n, unsigned depth)
{
    bool good = text_put_str(j, "[");

    for (uint64_t i = 0; good && i < n; i++)
        good = (i == 0 || text_put_str(j, ",")) && text_value(j, depth + 1);
    return good && text_put_str(j, "]");
}

/* Are all keys text? Else the map is a list of pairs. */
static bool text_has_text_keys(mp_cursor c, uint64_t n)
{
    lb_msgpack_token t;

    for (uint64_t i = 0; i < n; i++)
        if (!mp_next(&c, &t) || t.kind != LB_MSGPACK_STR || !mp_is_text(&t) || !mp_pass(&c, 1))
            return false;
    return true;
}

static bool text_pairs(const text_job *j, uint64_t n, unsigned depth)
{
    bool good = text_put_str(j, "{\"$map\":[");

    for (uint64_t i = 0; good && i < n; i++)
        good = text_put_str(j, i == 0 ? "[" : ",[") && text_value(j, depth + 1) && text_put_str(j, ",") &&
               text_value(j, depth + 1) && text_put_str(j, "]");
    return good && text_put_str(j, "]}");
}

static bool text_object(const text_job *j, uint64_t n, unsigned depth, const lb_buf *bits)
{
    const char *before = "";
    bool good = text_put_str(j, "{");

    for (uint64_t i = 0; good && i < n; i++) {
        if (mp_is_replaced(bits, 0, i)) {
            good = mp_pass(j->c, 2);
            continue;
        }
        good = text_put_str(j, before) && text_value(j, depth + 1) && text_put_str(j, ":") && text_value(j, depth + 1);
        before = ",";
    }
    return good && text_put_str(j, "}");
}

static bool text_map(const text_job *j, uint64_t n, unsigned depth)
{
    lb_buf list, key, bits;
    bool any;

    if (!text_has_text_keys(*j->c, n))
        return text_pairs(j, n, depth);
    lb_buf_init(&list, j->out->budget);
    lb_buf_init(&key, j->out->budget);
    lb_buf_init(&bits, j->out->budget);
    const bool good =
        mp_find_replaced(*j->c, n, &list, &key, &bits, &any, j->status, j->err) && text_object(j, n, depth, &bits);
    lb_buf_free(&list);
    lb_buf_free(&key);
    lb_buf_free(&bits);
    return good;
}

static bool text_value(const text_job *j, unsigned depth)
{
    lb_msgpack_token t;

    if (depth > MP_TEXT_DEPTH)
        return text_good(
            j, lb_fail(j->err, LB_UNSUPPORTED, LB_NOWHERE, "values nested more than %d levels deep", MP_TEXT_DEPTH));
    if (!mp_next(j->c, &t))
        return text_good(j, lb_fail(j->err, LB_INTERNAL, LB_NOWHERE, "a value ends before its end"));
    switch (t.kind) {
    case LB_MSGPACK_NIL:
        return text_put_str(j, "null");
    case LB_MSGPACK_BOOL:
        return text_put_str(j, t.i != 0 ? "true" : "false");
    case LB_MSGPACK_INT:
    case LB_MSGPACK_UINT:
        return text_integer(j, &t, true);
    case LB_MSGPACK_FLOAT:
        return text_float(j, t.f, true);
    case LB_MSGPACK_STR:
        if (mp_is_text(&t))
            return text_good(j, lb_print_json_string(j->out, (const char *)t.data, (size_t)t.n, j->err));
        return text_binary(j, &t);
    case LB_MSGPACK_BIN:
        return text_binary(j, &t);
    case LB_MSGPACK_EXT:
        return text_extension(j, &t);
    case LB_MSGPACK_ARRAY:
        return text_array(j, t.n, depth);
    case LB_MSGPACK_MAP:
        return text_map(j, t.n, depth);
    }
    return false;
}

bool mp_tagged(mp_cursor *c, lb_buf *out, lb_status *status, lb_error *err)
{
    return text_value(&(text_job){ c, out, status, err }, 0);
}

/* ---------------------------------------------------------------- as it stands */

/* ISO 8601, for any number of seconds. */
static bool text_instant(const text_job *j, lb_stamp v)
{
    char text[LB_DATETIME_TEXT], fraction[16];
    size_t size = lb_print_timestamp(v.seconds, 1, true, text);
    uint32_t n = v.nanos;
    int digits = 9;

    if (n == 0)
        return text_put(j, text, size);
    for (; n % 1000 == 0; n /= 1000)
        digits -= 3;
    (void)snprintf(fraction, sizeof fraction, ".%0*uZ", digits, n);
    return text_put(j, text, size - 1) && text_put_str(j, fraction);
}

bool mp_plain(mp_cursor *c, lb_buf *out, lb_status *status, lb_error *err)
{
    const text_job j = { c, out, status, err };
    mp_cursor again = *c;
    lb_msgpack_token t;
    lb_stamp v;

    if (!mp_next(&again, &t))
        return mp_tagged(c, out, status, err);
    const bool instant = t.kind == LB_MSGPACK_EXT && mp_stamp(&t, &v);
    if (t.kind == LB_MSGPACK_INT || t.kind == LB_MSGPACK_UINT || t.kind == LB_MSGPACK_FLOAT || instant ||
        (t.kind == LB_MSGPACK_STR && mp_is_text(&t)))
        *c = again;
    else
        return mp_tagged(c, out, status, err);
    if (instant)
        return text_instant(&j, v);
    if (t.kind == LB_MSGPACK_STR)
        return text_put(&j, t.data, (size_t)t.n);
    return t.kind == LB_MSGPACK_FLOAT ? text_float(&j, t.f, false) : text_integer(&j, &t, false);
}

/* ---------------------------------------------------------------- keys */

bool mp_key(mp_cursor *c, lb_buf *scratch, lb_str *out, lb_status *status, lb_error *err)
{
    mp_cursor again = *c;
    lb_msgpack_token t;

    if (mp_next(&again, &t) && t.kind == LB_MSGPACK_STR && mp_is_text(&t)) {
        *c = again;
        *out = mp_bytes(&t);
        return true;
    }
    scratch->size = 0;
    if (!mp_tagged(c, scratch, status, err))
        return false;
    const size_t size = scratch->size;
    *status = lb_buf_reserve(scratch, LB_TEXT_PADDING, err);
    if (*status != LB_OK)
        return false;
    memset(scratch->data + size, 0, LB_TEXT_PADDING);
    *out = (lb_str){ (const char *)scratch->data, size };
    return true;
}

bool mp_find_replaced(mp_cursor c, uint64_t n, lb_buf *list, lb_buf *key, lb_buf *out, bool *any, lb_status *status,
                      lb_error *err)
{
    list->size = 0;
    for (uint64_t i = 0; i < n; i++) {
        lb_str name;
        if (!mp_key(&c, key, &name, status, err) || !mp_pass(&c, 1))
            return false;
        const lb_key_seen seen = { lb_xxh3_64(name.at, name.size), (size_t)i };
        *status = lb_buf_append(list, &seen, sizeof seen, err);
        if (*status != LB_OK)
            return false;
    }
    if (lb_keys_replaced((lb_key_seen *)(void *)list->data, (size_t)n, out, any))
        return true;
    *status = lb_fail_nomem(err);
    return false;
}
