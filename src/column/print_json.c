/* JSON text, and the forms of rows made of it: ndjson, json, tagged, canonical. */
#include "base/utf8.h"
#include "column/print_nodes.h"

#define BYTES_OF(c) (0x0101010101010101ull * (uint8_t)(c))

/* High bit of each byte that is zero in v (and perhaps of bytes above such a one, which does no harm here). */
static inline uint64_t zero_bytes(uint64_t v)
{
    return (v - BYTES_OF(1)) & ~v & BYTES_OF(0x80);
}

/* How many of the first bytes need no escape. */
static size_t json_clean(const uint8_t *p, size_t size)
{
    size_t i = 0;
    for (; size - i >= 8; i += 8) {
        uint64_t v;
        memcpy(&v, p + i, 8);
        if ((zero_bytes(v ^ BYTES_OF('"')) | zero_bytes(v ^ BYTES_OF('\\')) |
             ((v - BYTES_OF(0x20)) & ~v & BYTES_OF(0x80))) != 0)
            break;
    }
    while (i < size && p[i] >= 0x20 && p[i] != '"' && p[i] != '\\')
        i++;
    return i;
}

/* The escape of a byte that needs one. `brief`: with a letter where JSON has one. */
static void json_put_escape(lb_buf *out, uint8_t c, bool brief)
{
    static const char digits[] = "0123456789abcdef",
                      letters[0x20] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r' };
    char letter = c >= 0x20 ? (char)c : brief ? letters[c] : '\0';
    lb_buf_putc(out, '\\');
    if (letter != '\0') {
        lb_buf_putc(out, letter);
        return;
    }
    lb_buf_put(out, "u00", 3);
    lb_buf_putc(out, digits[c >> 4]);
    lb_buf_putc(out, digits[c & 15]);
}

/* Escape valid UTF-8. */
static lb_status json_escape(lb_buf *out, const uint8_t *p, size_t size, bool brief, lb_error *err)
{
    while (size > 0) {
        size_t clean = json_clean(p, size);
        LB_TRY(print_room(out, clean + 6, err));
        lb_buf_put(out, p, clean);
        if (clean == size)
            return LB_OK;
        json_put_escape(out, p[clean], brief);
        p += clean + 1;
        size -= clean + 1;
    }
    return LB_OK;
}

static lb_status json_string(lb_buf *out, const char *text, size_t size, bool brief, lb_error *err)
{
    const uint8_t *p = (const uint8_t *)text;
    LB_TRY(print_room(out, size + 2, err));
    lb_buf_putc(out, '"');
    while (size > 0) {
        size_t valid = lb_utf8_valid_prefix(p, size);
        LB_TRY(json_escape(out, p, valid, brief, err));
        if (valid == size)
            break;
        LB_TRY(lb_buf_append(out, "\xef\xbf\xbd", 3, err));
        p += valid + 1;
        size -= valid + 1;
    }
    return lb_buf_append(out, "\"", 1, err);
}

lb_status lb_print_json_string(lb_buf *out, const char *text, size_t size, lb_error *err)
{
    return json_string(out, text, size, false, err);
}

lb_status lb_print_json_text(lb_buf *out, const char *text, size_t size, lb_error *err)
{
    return json_string(out, text, size, true, err);
}

lb_status lb_print_base64(lb_buf *out, const void *bytes, size_t size, lb_error *err)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *p = bytes;
    if (size > SIZE_MAX / 4)
        return lb_fail_nomem(err);
    LB_TRY(print_room(out, size / 3 * 4 + 4, err));
    for (; size >= 3; size -= 3, p += 3) {
        uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        lb_buf_putc(out, digits[v >> 18]);
        lb_buf_putc(out, digits[v >> 12 & 63]);
        lb_buf_putc(out, digits[v >> 6 & 63]);
        lb_buf_putc(out, digits[v & 63]);
    }
    if (size != 0) {
        uint32_t v = (uint32_t)p[0] << 16 | (size == 2 ? (uint32_t)p[1] << 8 : 0);
        lb_buf_putc(out, digits[v >> 18]);
        lb_buf_putc(out, digits[v >> 12 & 63]);
        lb_buf_putc(out, size == 2 ? digits[v >> 6 & 63] : '=');
        lb_buf_putc(out, '=');
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- rows */

static lb_status json_row(print_job *job, int64_t row, bool array, lb_error *err)
{
    lb_buf *out = &job->out;
    LB_TRY(lb_buf_append(out, array ? "[" : "{", 1, err));
    for (size_t c = 0; c < job->n_columns; c++) {
        const print_node *n = &job->columns[c];
        LB_TRY(print_room(out, n->key.size + 5, err));
        if (c != 0)
            lb_buf_putc(out, ',');
        if (!array)
            lb_buf_put(out, n->key.at, n->key.size);
        if (print_is_null_here(n, row))
            lb_buf_put(out, "null", 4);
        else
            LB_TRY(n->put(n, row, out, err));
    }
    return lb_buf_append(out, array ? "]" : "}", 1, err);
}

lb_status print_rows_json(print_job *job, const struct ArrowArray *batch, int64_t n_rows, lb_error *err)
{
    bool whole = job->form == LB_FORM_JSON, array = job->form == LB_FORM_CANONICAL;
    int64_t first = batch->offset;
    for (int64_t row = 0; row < n_rows; row++) {
        size_t start = job->out.size;
        lb_status s = LB_OK;
        if (whole)
            s = lb_buf_append_str(&job->out, job->rows == 0 ? "[\n" : ",\n", err);
        if (s == LB_OK)
            s = json_row(job, first + row, array, err);
        if (s == LB_OK && !whole)
            s = lb_buf_append(&job->out, "\n", 1, err);
        if (s != LB_OK) {
            job->out.size = start; /* rows before it still go out, whole */
            return s;
        }
        job->rows++;
        LB_TRY(print_flush_full(job, err));
    }
    return LB_OK;
}

lb_status print_end_json(print_job *job, lb_error *err)
{
    if (job->form != LB_FORM_JSON)
        return LB_OK;
    return lb_buf_append_str(&job->out, job->rows == 0 ? "[]\n" : "\n]\n", err);
}
