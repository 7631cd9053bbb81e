/* Writes a JSON file for the benchmarks: the same bytes for the same size and layout. Rows are about 130 bytes long,
 * half of them keys; every 16th has a string with escapes. `lines`: an object a line; `array`: one array, all in one
 * line.
 *
 *   bench_json_rows FILE BYTES lines|array      prints the number of rows */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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

    return row % 16 == 15 ? "called \\\"urgent\\\", see\\nbelow" : plain[row % 4];
}

static int write_row(FILE *out, uint64_t row, const char *before, const char *after)
{
    static const char *const cities[] = { "Amsterdam", "Buenos Aires", "Cairo", "Dar es Salaam", "Edinburgh" };
    uint64_t r = next_random(), s = next_random();

    return fprintf(out,
                   "%s{\"id\":%" PRIu64
                   ",\"ordered\":\"2026-%02u-%02u\",\"city\":\"%s\",\"pieces\":%u,\"price\":%u.%02u,"
                   "\"longitude\":-%u.%06u,\"paid\":%s,\"note\":\"%s\"}%s",
                   before, row, (unsigned)(r % 12) + 1, (unsigned)(r / 16 % 28) + 1, cities[r % 5],
                   (unsigned)(s / 64 % 1000), (unsigned)(s / 4096 % 100000), (unsigned)(s / 512 % 100),
                   (unsigned)(r % 180), (unsigned)(s % 1000000), r & 1 ? "true" : "false", note_of(row), after);
}

int main(int argc, char **argv)
{
    uint64_t bytes = 0, want = 0, row = 0;

    for (const char *p = argc == 4 ? argv[2] : ""; *p >= '0' && *p <= '9' && want < UINT64_MAX / 16; p++)
        want = want * 10 + (uint64_t)(*p - '0');
    const int array = argc == 4 && strcmp(argv[3], "array") == 0;
    FILE *out = want == 0 ? NULL : fopen(argv[1], "wb");
    if (out == NULL) {
        (void)fprintf(stderr, "usage: bench_json_rows FILE BYTES lines|array\n");
        return 2;
    }
    int n = 1;
    for (; n > 0 && bytes < want; row++) {
        n = write_row(out, row, !array ? "" : row == 0 ? "[" : ",", array ? "" : "\n");
        bytes += n > 0 ? (uint64_t)n : 0;
    }
    if (n > 0 && array)
        n = fputs("]", out) < 0 ? -1 : 1;
    if (fclose(out) != 0 || n <= 0) {
        perror(argv[1]);
        return 4;
    }
    (void)printf("%" PRIu64 "\n", row);
    return 0;
}
