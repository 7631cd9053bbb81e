/* Writes a CSV file for the benchmarks: the same bytes for the same shape and size.
 *
 *   bench_rows FILE BYTES [SHAPE]      prints the number of rows
 *
 * orders   nine columns, about 95 bytes a row; every 16th has a quoted field with a comma and doubled quotes, every 1,024th one
 *          with a line break (the default)
 * dense    the same with every field in quotes, and doubled quotes in every 4th row
 * wide     500 columns of whole numbers, decimals, dates and words
 * long     four columns, one of them text of 20,000 bytes in quotes, with doubled quotes and line breaks
 * one      one column of whole numbers */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 0x9E3779B97F4A7C15;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545F4914F6CDD1D >> 11;
}

static const char *const cities[] = { "Amsterdam", "Buenos Aires", "Cairo", "Dar es Salaam", "Edinburgh" };

static const char *note_of(uint64_t row)
{
    static const char *const plain[] = { "delivered", "on its way", "returned by the customer", "paid in advance" };

    if (row % 1024 == 1023)
        return "\"first line\nsecond line\"";
    if (row % 16 == 15)
        return "\"called \"\"urgent\"\", see below\"";
    return plain[row % 4];
}

static int write_orders(FILE *out, uint64_t row)
{
    uint64_t r = next_random(), s = next_random();

    return fprintf(out, "%" PRIu64 ",2026-%02u-%02u %02u:%02u:%02u,%s,C%07u,%u,%u.%02u,-%u.%06u,%s,%s\n", row,
                   (unsigned)(r % 12) + 1, (unsigned)(r / 16 % 28) + 1, (unsigned)(r / 512 % 24),
                   (unsigned)(r / 16384 % 60), (unsigned)(r / 1048576 % 60), cities[r % 5], (unsigned)(s % 10000000),
                   (unsigned)(s / 64 % 1000), (unsigned)(s / 4096 % 100000), (unsigned)(s / 512 % 100),
                   (unsigned)(r % 180), (unsigned)(s % 1000000), r & 1 ? "true" : "false", note_of(row));
}

static int write_dense(FILE *out, uint64_t row)
{
    uint64_t r = next_random(), s = next_random();

    return fprintf(out, "\"%" PRIu64 "\",\"2026-%02u-%02u\",\"%s\",\"C%07u\",\"%u\",\"%u.%02u\",\"%s\",\"%s\"\n", row,
                   (unsigned)(r % 12) + 1, (unsigned)(r / 16 % 28) + 1, cities[r % 5], (unsigned)(s % 10000000),
                   (unsigned)(s / 64 % 1000), (unsigned)(s / 4096 % 100000), (unsigned)(s / 512 % 100),
                   r & 1 ? "true" : "false", row % 4 == 3 ? "called \"\"urgent\"\", see below" : "paid, in advance");
}

static int write_wide(FILE *out, uint64_t row)
{
    int bytes = fprintf(out, "%" PRIu64, row);

    for (unsigned i = 1; i < 500 && bytes > 0; i++) {
        uint64_t r = next_random();
        int n = i % 4 == 0   ? fprintf(out, ",%u", (unsigned)(r % 100000))
                : i % 4 == 1 ? fprintf(out, ",%u.%03u", (unsigned)(r % 1000), (unsigned)(r / 4096 % 1000))
                : i % 4 == 2 ? fprintf(out, ",%s", cities[r % 5])
                             : fprintf(out, ",2026-%02u-%02u", (unsigned)(r % 12) + 1, (unsigned)(r / 16 % 28) + 1);
        bytes = n < 0 ? n : bytes + n;
    }
    return bytes > 0 && fputc('\n', out) != EOF ? bytes + 1 : -1;
}

static int write_long(FILE *out, uint64_t row)
{
    static const char piece[] = "A line of some length, as reviews and logs have them; \"\"quoted\"\" now and then,\n";
    int bytes = fprintf(out, "%" PRIu64 ",%u,\"", row, (unsigned)(next_random() % 5));

    for (unsigned i = 0; i < 250 && bytes > 0; i++) {
        int n = (int)fwrite(piece, 1, sizeof piece - 1, out);
        bytes = n != (int)sizeof piece - 1 ? -1 : bytes + n;
    }
    int n = bytes > 0 ? fprintf(out, "\",%s\n", cities[row % 5]) : -1;
    return n < 0 ? n : bytes + n;
}

static int write_one(FILE *out, uint64_t row)
{
    return fprintf(out, "%" PRIu64 "\n", row * 7 + next_random() % 7);
}

typedef struct shape {
    const char *name, *header; /* NULL: c0, c1, … */
    int (*write)(FILE *out, uint64_t row);
} shape;

static const shape shapes[] = {
    { "orders", "id,ordered,city,customer,pieces,price,longitude,paid,note\n", write_orders },
    { "dense", "\"id\",\"ordered\",\"city\",\"customer\",\"pieces\",\"price\",\"paid\",\"note\"\n", write_dense },
    { "wide", NULL, write_wide },
    { "long", "id,stars,text,city\n", write_long },
    { "one", "number\n", write_one },
};

static const shape *shape_of(const char *name)
{
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (strcmp(shapes[i].name, name) == 0)
            return &shapes[i];
    return NULL;
}

static int write_header(FILE *out, const shape *s)
{
    int bytes = 0;

    if (s->header != NULL)
        return fputs(s->header, out) == EOF ? -1 : (int)strlen(s->header);
    for (unsigned i = 0; i < 500 && bytes >= 0; i++) {
        int n = fprintf(out, "%sc%u", i == 0 ? "" : ",", i);
        bytes = n < 0 ? n : bytes + n;
    }
    return bytes >= 0 && fputc('\n', out) != EOF ? bytes + 1 : -1;
}

int main(int argc, char **argv)
{
    uint64_t bytes = 0, want = 0, row = 0;
    const shape *s = shape_of(argc == 4 ? argv[3] : "orders");

    for (const char *p = argc >= 3 ? argv[2] : ""; *p >= '0' && *p <= '9' && want < UINT64_MAX / 16; p++)
        want = want * 10 + (uint64_t)(*p - '0');
    FILE *out = want == 0 || s == NULL ? NULL : fopen(argv[1], "wb");
    if (out == NULL) {
        (void)fprintf(stderr, "usage: bench_rows FILE BYTES [orders|dense|wide|long|one]\n");
        return 2;
    }
    int n = write_header(out, s);
    for (; n > 0 && bytes < want; row++) {
        bytes += (uint64_t)n;
        n = s->write(out, row);
    }
    if (fclose(out) != 0 || n <= 0) {
        perror(argv[1]);
        return 4;
    }
    (void)printf("%" PRIu64 "\n", row);
    return 0;
}
