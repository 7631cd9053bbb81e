/* DELTA_BINARY_PACKED (Encodings.md): a head with the first number, then blocks of deltas, each cut into parts that
 * have a bit width of their own. All sums wrap. */
#include "format/parquet/parquet_values.h"

#define DELTA_BLOCK_MAX ((uint64_t)1 << 31)

bool lb_parquet_delta_init(lb_parquet_delta *d, const uint8_t *bytes, size_t size, uint64_t most)
{
    uint64_t block, first;

    *d = (lb_parquet_delta){ .at = bytes, .end = bytes + size };
    if (!lb_parquet_varint(&d->at, d->end, &block) || !lb_parquet_varint(&d->at, d->end, &d->minis) ||
        !lb_parquet_varint(&d->at, d->end, &d->total) || !lb_parquet_varint(&d->at, d->end, &first))
        return false;
    if (block == 0 || block > DELTA_BLOCK_MAX || d->minis == 0 || block % d->minis != 0)
        return false;
    d->per_mini = block / d->minis;
    d->mini = d->minis;
    d->last = first >> 1 ^ (~(first & 1) + 1);
    return d->per_mini % 8 == 0 && d->total <= most;
}

/* Go to the next part; `wanted` numbers of it and what follows are still to come. Writers may leave out the bytes of
 * a last part that hold no number, and say anything of the widths of parts behind it. */
static bool delta_next(lb_parquet_delta *d, uint64_t wanted)
{
    if (d->mini == d->minis) {
        uint64_t least;
        if (!lb_parquet_varint(&d->at, d->end, &least) || d->minis > (uint64_t)(d->end - d->at))
            return false;
        d->least = least >> 1 ^ (~(least & 1) + 1);
        d->widths = d->at;
        d->at += d->minis;
        d->mini = 0;
    }
    d->width = d->widths[d->mini++];
    if (d->width > 64)
        return false;
    const uint64_t whole = d->per_mini * d->width / 8, rest = (uint64_t)(d->end - d->at);
    const uint64_t needed = wanted < d->per_mini ? (wanted * d->width + 7) / 8 : whole;
    if (needed > rest)
        return false;
    d->run = d->at;
    d->run_size = (size_t)(whole < rest ? whole : rest);
    d->at += d->run_size;
    d->run_given = 0;
    d->run_left = d->per_mini;
    return true;
}

static void delta_sum(lb_parquet_delta *d, size_t n, uint64_t *out)
{
    uint64_t last = d->last;
    const uint64_t least = d->least;

    if (d->width == 0) {
        for (size_t i = 0; i < n; i++)
            out[i] = last += least;
    } else if (d->width <= 32) {
        uint32_t packed[256];
        for (size_t at = 0; at < n; at += 256) {
            size_t part = LB_MIN(n - at, (size_t)256);
            lb_parquet_unpack32(d->run, d->run_size, d->width, d->run_given + at, part, packed);
            for (size_t i = 0; i < part; i++)
                out[at + i] = last += least + packed[i];
        }
    } else {
        lb_parquet_unpack64(d->run, d->run_size, d->width, d->run_given, n, out);
        for (size_t i = 0; i < n; i++)
            out[i] = last += least + out[i];
    }
    d->last = last;
}

bool lb_parquet_delta_numbers(lb_parquet_delta *d, size_t n, uint64_t *out)
{
    if (n > d->total - d->given)
        return false;
    if (n != 0 && d->given == 0) {
        *out++ = d->last;
        d->given = 1;
        n--;
    }
    while (n != 0) {
        if (d->run_left == 0 && !delta_next(d, d->total - d->given))
            return false;
        size_t part = (size_t)LB_MIN((uint64_t)n, d->run_left);
        delta_sum(d, part, out);
        d->run_given += part;
        d->run_left -= part;
        d->given += part;
        out += part;
        n -= part;
    }
    return true;
}

const uint8_t *lb_parquet_delta_end(const lb_parquet_delta *d)
{
    lb_parquet_delta walk = *d;

    for (uint64_t left = d->total == 0 ? 0 : d->total - 1; left != 0;) {
        if (!delta_next(&walk, left))
            return NULL;
        left -= LB_MIN(left, walk.per_mini);
    }
    return walk.at;
}
