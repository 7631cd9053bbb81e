/* The text window: the same text whatever the chunk size and whatever is dropped when; offsets ascend inside the store. Input:
 * encoding, chunk size, seed, then the bytes. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const encodings[] = {
    "",       "UTF-16LE", "UTF-16BE", "UTF-32LE",     "ISO-8859-1",   "WINDOWS-1252", "SHIFT_JIS",    "GB18030",
    "EUC-JP", "EUC-KR",   "BIG5",     "WINDOWS-1255", "WINDOWS-1258", "BIG5-HKSCS",   "EUC-JISX0213", "GBK"
};

static void require(bool good)
{
    if (!good)
        abort();
}

static void check_offsets(lb_text *t, size_t size)
{
    uint64_t last = 0;
    for (uint64_t i = 0; i <= t->size && i < 40; i++) {
        uint64_t offset = lb_text_offset(t, t->at + i);
        require(offset >= last && offset <= size);
        last = offset;
    }
}

/* Read everything; the text up to the first bad byte lands in `out`. */
static void read_all(lb_store *store, const char *encoding, size_t chunk, unsigned seed, lb_buf *out, uint64_t *bad_at)
{
    lb_text t;
    uint64_t kept = 0;
    require(lb_text_open(&t, NULL, store, 0, encoding, chunk, NULL) == LB_OK);
    while (!t.end) {
        size_t used = seed == 0 ? 0 : (seed = seed * 1103515245 + 12345) / 65536 % (t.size + 1), before = t.size;
        require(lb_text_more(&t, used, NULL) == LB_OK);
        require(t.end || t.size > before - used);
        uint64_t fresh = kept - t.at;
        require(lb_buf_append(out, t.data + fresh, t.size - (size_t)fresh, NULL) == LB_OK);
        kept = t.at + t.size;
        for (size_t i = 0; i < LB_TEXT_PADDING; i++)
            require(t.data[t.size + i] == 0);
        if (seed != 0)
            check_offsets(&t, (size_t)store->size);
    }
    *bad_at = t.bad_at;
    require(t.bad_at == UINT64_MAX || t.bad_at < t.at + t.size);
    if (t.bad_at != UINT64_MAX) {
        lb_error err = LB_ERROR_INIT;
        require(lb_text_fail(&t, -1, -1, &err) == LB_CORRUPT);
        require(err.offset >= 0 && (uint64_t)err.offset <= store->size && err.message[0] != '\0');
        out->size = (size_t)t.bad_at;
    }
    require(lb_text_offset(&t, t.bad_at == UINT64_MAX ? t.at + t.size : t.bad_at) <= store->size);
    lb_text_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    const char *encoding = encodings[data[0] % (sizeof encodings / sizeof *encodings)];
    lb_store *store;
    lb_buf one, two;
    uint64_t bad_one, bad_two;
    require(lb_store_open_memory(data + 3, size - 3, &store, NULL) == LB_OK);
    lb_buf_init(&one, NULL);
    lb_buf_init(&two, NULL);
    read_all(store, encoding, size + 100, 0, &one, &bad_one);
    read_all(store, encoding, 1 + data[1] % 70, 1 + data[2], &two, &bad_two);
    require(bad_one == bad_two && one.size == two.size && (one.size == 0 || memcmp(one.data, two.data, one.size) == 0));
    (void)lb_count_lines(data, size, false);
    lb_buf_free(&one);
    lb_buf_free(&two);
    lb_store_close(store);
    return 0;
}
