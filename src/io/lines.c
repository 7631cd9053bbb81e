#include "io/text.h"

typedef uint8_t lines_block __attribute__((vector_size(16)));

#define LINES_BLOCK sizeof(lines_block)
#define LINES_RUN 255 /* blocks whose counts fit a byte each */

static lines_block lines_load(const uint8_t *p)
{
    lines_block v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Line ends in `blocks` blocks, at most LINES_RUN; p[-1] can be read. */
static uint64_t lines_run(const uint8_t *p, size_t blocks)
{
    const lines_block lf = (lines_block){ 0 } + '\n', cr = (lines_block){ 0 } + '\r';
    lines_block sum = { 0 };
    uint64_t total = 0;
    for (size_t i = 0; i < blocks; i++, p += LINES_BLOCK) {
        lines_block here = lines_load(p), before = lines_load(p - 1);
        sum -= (lines_block)(here == cr) | ((lines_block)(here == lf) & (lines_block)(before != cr));
    }
    for (size_t i = 0; i < LINES_BLOCK; i++)
        total += sum[i];
    return total;
}

uint64_t lb_count_lines(const uint8_t *p, size_t size, bool after_cr)
{
    uint64_t total = 0;
    size_t i = 0;
    if (size == 0)
        return 0;
    total += p[0] == '\r' || (p[0] == '\n' && !after_cr);
    for (i = 1; size - i >= LINES_BLOCK;) {
        size_t blocks = LB_MIN((size - i) / LINES_BLOCK, (size_t)LINES_RUN);
        total += lines_run(p + i, blocks);
        i += blocks * LINES_BLOCK;
    }
    for (; i < size; i++)
        total += p[i] == '\r' || (p[i] == '\n' && p[i - 1] != '\r');
    return total;
}
