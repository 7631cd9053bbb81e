/* Passing over the objects of a MessagePack file, and nothing else: what counting rows and placing checkpoints takes. Prints objects, bytes, and
 * processor seconds of the fastest of some rounds, once for the pass and once for reading the same bytes (a sum of their words).
 *
 *   bench_msgpack_pass FILE */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wire/msgpack_wire.h"

enum { ROUNDS = 7 };

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t sum(const uint8_t *p, size_t size)
{
    uint64_t total = 0, word;

    for (size_t i = 0; i + sizeof word <= size; i += sizeof word) {
        memcpy(&word, p + i, sizeof word);
        total += word;
    }
    return total;
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = NULL;

    if (f != NULL && fseek(f, 0, SEEK_END) == 0 && ftell(f) > 0) {
        *size = (size_t)ftell(f);
        rewind(f);
        bytes = malloc(*size);
        if (bytes != NULL && fread(bytes, 1, *size, f) != *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (f != NULL)
        (void)fclose(f);
    return bytes;
}

int main(int argc, char **argv)
{
    size_t size = 0;
    uint8_t *bytes = argc == 2 ? read_file(argv[1], &size) : NULL;
    uint64_t objects = 0, total = 0;
    double pass = 1e9, scan = 1e9;

    if (bytes == NULL) {
        (void)fprintf(stderr, "usage: bench_msgpack_pass FILE\n");
        return 2;
    }
    for (int i = 0; i < ROUNDS; i++) {
        lb_msgpack_skip s = { bytes, 0 };
        const uint8_t *start;
        double begun = seconds();
        (void)lb_msgpack_pass(&s, bytes + size, UINT64_MAX, &objects, &start);
        double took = seconds() - begun;
        pass = took < pass ? took : pass;
        begun = seconds();
        total += sum(bytes, size);
        took = seconds() - begun;
        scan = took < scan ? took : scan;
    }
    printf("%" PRIu64 " %zu %.6f %.6f %u\n", objects, size, pass, scan, (unsigned)(total & 1));
    free(bytes);
    return 0;
}
