/* Writes a CSV file for the benchmarks: the same bytes for the same size. Rows are about 95 bytes long; every 16th has
 * a quoted field with a comma and doubled quotes, every 1,024th one with a line break.
 *
 *   bench_rows FILE BYTES      prints the number of rows */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 0x9E3779B97F4A7C15;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545F4914F6CDD1D >> 11;
}

static const char *note_of(uint64_t row)
{
    static const char *const plain[] = { "delivered", "on its way", "returned by the customer", "paid in advance" };

    if (row % 1024 == 1023)
        return "\"first line\nsecond line\"";
    if (row % 16 == 15)
        return "\"called \"\"urgent\"\", see below\"";
    return plain[row % 4];
}

static int write_row(FILE *out, uint64_t row)
{
    static const char *const cities[] = { "Amsterdam", "Buenos Aires", "Cairo", "Dar es Salaam", "Edinburgh" };
    uint64_t r = next_random(), s = next_random();

    return fprintf(out, "%" PRIu64 ",2026-%02u-%02u %02u:%02u:%02u,%s,C%07u,%u,%u.%02u,-%u.%06u,%s,%s\n", row,
                   (unsigned)(r % 12) + 1, (unsigned)(r / 16 % 28) + 1, (unsigned)(r / 512 % 24),
                   (unsigned)(r / 16384 % 60), (unsigned)(r / 1048576 % 60), cities[r % 5], (unsigned)(s % 10000000),
                   (unsigned)(s / 64 % 1000), (unsigned)(s / 4096 % 100000), (unsigned)(s / 512 % 100),
                   (unsigned)(r % 180), (unsigned)(s % 1000000), r & 1 ? "true" : "false", note_of(row));
}

int main(int argc, char **argv)
{
    uint64_t bytes = 0, want = 0, row = 0;

    for (const char *p = argc == 3 ? argv[2] : ""; *p >= '0' && *p <= '9' && want < UINT64_MAX / 16; p++)
        want = want * 10 + (uint64_t)(*p - '0');
    FILE *out = want == 0 ? NULL : fopen(argv[1], "wb");
    if (out == NULL) {
        (void)fprintf(stderr, "usage: bench_rows FILE BYTES\n");
        return 2;
    }
    int n = fprintf(out, "id,ordered,city,customer,pieces,price,longitude,paid,note\n");
    for (; n > 0 && bytes < want; row++) {
        bytes += (uint64_t)n;
        n = write_row(out, row);
    }
    if (fclose(out) != 0 || n <= 0) {
        perror(argv[1]);
        return 4;
    }
    (void)printf("%" PRIu64 "\n", row);
    return 0;
}
