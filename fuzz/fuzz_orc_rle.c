/* Run lengths of ORC, and time zone files. The first byte says which encoding; the values read at once are those read in pieces with some
 * passed over. */
#include <stdlib.h>

#include "format/orc/orc.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define VALUES 5000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A decoder of the kind that is tried. */
typedef struct decoder {
    unsigned kind; /* 0-3: integers, by version and sign; 4: bytes; 5: bits */
    orc_in in;
    orc_ints ints;
    orc_bytes bytes;
    orc_bits bits;
} decoder;

static void decoder_open(decoder *d, unsigned kind, orc_work *work, size_t size)
{
    d->kind = kind;
    orc_in_init(&d->in, work, "x", 0, size);
    orc_ints_init(&d->ints, &d->in, (kind & 1) != 0, (kind & 2) != 0);
    d->bytes = (orc_bytes){ .in = &d->in };
    d->bits = (orc_bits){ .bytes = { .in = &d->in } };
}

/* One value; false at the end. */
static bool decoder_one(decoder *d, int64_t *out)
{
    uint8_t byte = 0;
    lb_status status;

    if (d->kind < 4)
        return orc_ints_read(&d->ints, out, 1, NULL) == LB_OK;
    status = d->kind == 4 ? orc_bytes_read(&d->bytes, &byte, 1, NULL) : orc_bits_read(&d->bits, &byte, 1, NULL);
    *out = byte;
    return status == LB_OK;
}

static bool decoder_skip(decoder *d, size_t n)
{
    return (d->kind < 4    ? orc_ints_skip(&d->ints, n, NULL)
            : d->kind == 4 ? orc_bytes_skip(&d->bytes, n, NULL)
                           : orc_bits_skip(&d->bits, n, NULL)) == LB_OK;
}

static void compare(orc_work *work, unsigned kind, size_t size)
{
    static int64_t all[VALUES];
    size_t n = 0;
    decoder d, e;

    decoder_open(&d, kind, work, size);
    while (n < VALUES && decoder_one(&d, &all[n]))
        n++;
    orc_in_free(&d.in);
    decoder_open(&e, kind, work, size);
    for (size_t at = 0, step = 1; at < n; step = step * 7 % 613 + 1) {
        int64_t got;
        REQUIRE(decoder_one(&e, &got) && got == all[at]);
        at++;
        if (at + step >= n)
            continue;
        REQUIRE(decoder_skip(&e, step));
        at += step;
    }
    orc_in_free(&e.in);
}

static void zone(const uint8_t *data, size_t size)
{
    static const int64_t instants[] = { INT64_MIN, -2000000000, 0, 1420070400, 1720000000, 5000000000, INT64_MAX };
    orc_zone z;

    if (orc_zone_parse("x", data, size, &z, NULL) != LB_OK)
        return;
    for (size_t i = 0; i < LB_COUNT_OF(instants); i++) {
        const int32_t offset = orc_zone_offset(&z, instants[i]);
        REQUIRE(offset == orc_zone_offset(&z, instants[i]));
        z.from = z.to = 0;
        REQUIRE(offset == orc_zone_offset(&z, instants[i]));
    }
    (void)orc_zone_instant(&z, 1420070400);
    orc_zone_free(&z);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 1, .memory_limit = 64u << 20 };
    lb_context *cx = NULL;
    lb_store *store = NULL;

    if (size == 0)
        return 0;
    if (data[0] % 7 == 6) {
        zone(data + 1, size - 1);
        return 0;
    }
    if (lb_context_new(&options, &cx, NULL) == LB_OK &&
        lb_store_open_memory(data + 1, size - 1, &store, NULL) == LB_OK) {
        orc_file file = { .cx = cx, .store = store, .codec = LB_CODEC_NONE };
        orc_work work = { .file = &file };
        lb_buf_init(&work.scratch, &cx->budget);
        compare(&work, data[0] % 7, size - 1);
        lb_buf_free(&work.scratch);
    }
    lb_store_close(store);
    lb_context_free(cx);
    return 0;
}
