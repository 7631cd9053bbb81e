/* The machine's own limit for reading text: a file read by pread in pieces of 256 KiB, its newlines counted with the
 * widest vectors that the compiler finds (build with -O3 -march=native). Prints seconds and newlines.
 *
 *   bench_limit FILE */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 256 * 1024, RUN = 128 };

static uint8_t piece[PIECE];

/* Counts of a run fit a byte, so that a vector counts as many bytes at once as it has. */
static uint64_t count_newlines(const uint8_t *p, size_t size)
{
    uint64_t total = 0;
    size_t at = 0;

    for (; at + RUN * 64 <= size; at += RUN * 64) {
        uint8_t counts[64] = { 0 };
        for (size_t i = 0; i < RUN; i++)
            for (size_t k = 0; k < 64; k++)
                counts[k] = (uint8_t)(counts[k] + (p[at + i * 64 + k] == '\n'));
        for (size_t k = 0; k < 64; k++)
            total += counts[k];
    }
    for (; at < size; at++)
        total += p[at] == '\n';
    return total;
}

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    uint64_t newlines = 0;
    off_t at = 0;
    ssize_t n;

    if (fd < 0) {
        (void)fprintf(stderr, "usage: bench_limit FILE\n");
        return 2;
    }
    double started = seconds();
    while ((n = pread(fd, piece, PIECE, at)) > 0) {
        newlines += count_newlines(piece, (size_t)n);
        at += n;
    }
    (void)printf("%.6f %" PRIu64 "\n", seconds() - started, newlines);
    (void)close(fd);
    return n < 0 ? 4 : 0;
}
