/* What one value of delimited text costs, by its kind: typed with bounds, as a survey does it, and read as a known
 * type, as a scan does it. Prints nanoseconds a value, the best of several passes over the same values.
 *
 *   cc -std=gnu11 -O2 -D_GNU_SOURCE -Isrc -Iinclude -Ibuild/generated -I.deps/nanoarrow/src bench/bench_values.c \
 *      build/liblakebed.a -lpthread -lm -o build/bench_values
 *   build/bench_values */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/delimited/delimited.h"

enum { COUNT = 200000, PASSES = 15, LONGEST = 40 };

static char *text;
static lb_str values[COUNT];

static uint64_t next_random(void)
{
    static uint64_t state = 0x9E3779B97F4A7C15;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545F4914F6CDD1D >> 11;
}

static int put_integer(char *out, size_t cap, uint64_t row)
{
    return snprintf(out, cap, "%" PRIu64, row + 1000000);
}

static int put_mixed_integer(char *out, size_t cap, uint64_t row)
{
    (void)row;
    return snprintf(out, cap, "%" PRId64, (int64_t)(next_random() << 11) >> (next_random() % 60));
}

static int put_price(char *out, size_t cap, uint64_t row)
{
    (void)row;
    return snprintf(out, cap, "%u.%02u", (unsigned)(next_random() % 100000), (unsigned)(next_random() % 100));
}

static int put_longitude(char *out, size_t cap, uint64_t row)
{
    (void)row;
    return snprintf(out, cap, "%.6f", (double)(next_random() % 360000000) / 1e6 - 180);
}

static int put_double(char *out, size_t cap, uint64_t row)
{
    (void)row;
    return snprintf(out, cap, "%.17g", (double)(next_random() >> 1) / 9007199254740992.0);
}

static int put_exponent(char *out, size_t cap, uint64_t row)
{
    (void)row;
    return snprintf(out, cap, "%.6e", (double)next_random() / (double)(next_random() + 1));
}

static int put_date(char *out, size_t cap, uint64_t row)
{
    uint64_t r = next_random();

    (void)row;
    return snprintf(out, cap, "%04u-%02u-%02u", (unsigned)(1950 + r % 80), (unsigned)(r / 128 % 12 + 1),
                    (unsigned)(r / 4096 % 28 + 1));
}

static int put_timestamp(char *out, size_t cap, uint64_t row)
{
    uint64_t r = next_random();
    int n = put_date(out, cap, row);

    return n + snprintf(out + n, cap - (size_t)n, " %02u:%02u:%02u", (unsigned)(r % 24), (unsigned)(r / 32 % 60),
                        (unsigned)(r / 4096 % 60));
}

static int put_instant(char *out, size_t cap, uint64_t row)
{
    int n = put_timestamp(out, cap, row);

    return n + snprintf(out + n, cap - (size_t)n, ".%06uZ", (unsigned)(next_random() % 1000000));
}

static int put_log_time(char *out, size_t cap, uint64_t row)
{
    return snprintf(out, cap, "2026-03-01T%02u:%02u:%02u.%03u", (unsigned)(row / 36000), (unsigned)(row / 600 % 60),
                    (unsigned)(row / 10 % 60), (unsigned)(next_random() % 1000));
}

static int put_time(char *out, size_t cap, uint64_t row)
{
    uint64_t r = next_random();

    (void)row;
    return snprintf(out, cap, "%02u:%02u:%02u", (unsigned)(r % 24), (unsigned)(r / 32 % 60), (unsigned)(r / 4096 % 60));
}

static int put_bool(char *out, size_t cap, uint64_t row)
{
    (void)row;
    return snprintf(out, cap, "%s", next_random() & 1 ? "true" : "false");
}

static int put_word(char *out, size_t cap, uint64_t row)
{
    static const char *const words[] = { "Amsterdam", "Buenos Aires", "Cairo", "Dar es Salaam", "Edinburgh" };

    (void)row;
    return snprintf(out, cap, "%s", words[next_random() % LB_COUNT_OF(words)]);
}

static int put_code(char *out, size_t cap, uint64_t row)
{
    (void)row;
    return snprintf(out, cap, "C%07u", (unsigned)(next_random() % 10000000));
}

static int put_link(char *out, size_t cap, uint64_t row)
{
    (void)row;
    return snprintf(out, cap, "https://example.org/item/%u", (unsigned)(next_random() % 10000000));
}

static int put_blanks(char *out, size_t cap, uint64_t row)
{
    (void)row;
    return snprintf(out, cap, "%9u", (unsigned)(next_random() % 10000000));
}

static const struct {
    const char *name, *type;
    int (*put)(char *out, size_t cap, uint64_t row);
    bool decimal;
} kinds[] = {
    { "integer, rising", "int64", put_integer, false },
    { "integer, of any size", "int64", put_mixed_integer, false },
    { "integer among blanks", "int64", put_blanks, false },
    { "float, 21239.12", "float64", put_price, false },
    { "float, -72.995417", "float64", put_longitude, false },
    { "float, 17 digits", "float64", put_double, false },
    { "float, 1.234567e+05", "float64", put_exponent, false },
    { "decimal, 21239.12", "decimal(7,2)", put_price, true },
    { "date", "date", put_date, false },
    { "timestamp", "timestamp[us]", put_timestamp, false },
    { "timestamp, .123456Z", "timestamp[us,UTC]", put_instant, false },
    { "timestamp, one day", "timestamp[us]", put_log_time, false },
    { "time", "time[us]", put_time, false },
    { "true or false", "bool", put_bool, false },
    { "text, five words", NULL, put_word, false },
    { "text, C4995417", NULL, put_code, false },
    { "text, https://…", NULL, put_link, false },
};

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fill(size_t kind)
{
    char *at = text;

    for (uint64_t i = 0; i < COUNT; i++) {
        int n = kinds[kind].put(at, LONGEST, i);
        values[i] = (lb_str){ at, (size_t)n };
        at += n + 1;
    }
}

static double type_all(size_t kind)
{
    const delim_values how = { .decimal = kinds[kind].decimal };
    static delim_column c;
    double started = seconds();

    delim_column_init(&c);
    for (size_t i = 0; i < COUNT; i++)
        delim_column_add(&c, values[i], false, &how, true);
    return seconds() - started;
}

static double read_all(const delim_target *target, uint64_t *bits)
{
    double started = seconds();

    for (size_t i = 0; i < COUNT; i++) {
        delim_scalar v = { .i = 0 };
        if (!delim_parse(target, delim_trim(values[i], false), &v))
            abort();
        *bits += v.u;
    }
    return seconds() - started;
}

static void measure(size_t kind)
{
    struct ArrowSchema type = { .release = NULL };
    delim_target target = { .storage = DELIM_TEXT };
    double typing = 1e9, reading = 1e9;
    uint64_t bits = 0;

    fill(kind);
    if (kinds[kind].type != NULL &&
        (lb_type_of_words(kinds[kind].type, &type, NULL) != LB_OK || delim_target_of(&type, &target, NULL) != LB_OK))
        abort();
    for (int i = 0; i < PASSES; i++) {
        typing = LB_MIN(typing, type_all(kind));
        if (target.storage != DELIM_TEXT)
            reading = LB_MIN(reading, read_all(&target, &bits));
    }
    (void)printf("%-22s %8.1f", kinds[kind].name, typing / COUNT * 1e9);
    if (target.storage != DELIM_TEXT)
        (void)printf(" %8.1f", reading / COUNT * 1e9);
    (void)printf("\n");
    if (type.release != NULL)
        type.release(&type);
}

int main(void)
{
    text = calloc(COUNT + 1, LONGEST + 1); /* the last value has padding, too */
    if (text == NULL)
        return 4;
    (void)printf("%-22s %8s %8s   ns a value\n", "kind", "typed", "read");
    for (size_t i = 0; i < LB_COUNT_OF(kinds); i++)
        measure(i);
    free(text);
    return 0;
}
