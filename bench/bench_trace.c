/* Times the lineage of statements inside one process: reading, resolving and writing the record.
 *
 *   bench_trace CATALOG STATEMENTS ROUNDS [DB]    STATEMENTS: texts, each ended by a NUL byte
 *
 * Prints for each statement the median of its rounds in microseconds, a line each; "-" where it could not be read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lakebed.h"

typedef struct text {
    char *bytes;
    size_t size;
} text;

static text read_file(const char *path)
{
    text t = { NULL, 0 };
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        exit(2);
    long size = ftell(file);
    rewind(file);
    t.bytes = malloc((size_t)size + 1);
    t.size = t.bytes == NULL ? 0 : fread(t.bytes, 1, (size_t)size, file);
    (void)fclose(file);
    return t;
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static bool count_bytes(void *user, const void *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)user += size;
    return true;
}

/* Microseconds, or -1. */
static double trace(lb_context *cx, const lb_trace_options *options, const char *sql, size_t size)
{
    lb_trace *t = NULL;
    bool done = false, good = true;
    size_t written = 0;
    double started = now();
    if (lb_trace_open(cx, options, sql, size, &t, NULL) != LB_OK)
        return -1;
    for (;;) {
        lb_trace_info info = { .struct_size = sizeof info };
        if (lb_trace_next(t, &info, &done, NULL) != LB_OK || done)
            break;
        good = good && info.status == LB_OK;
        if (info.graph != NULL && lb_lineage_write(info.graph, "impala", count_bytes, &written, NULL) != LB_OK)
            good = false;
    }
    lb_trace_close(t);
    return good ? now() - started : -1;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(lb_context *cx, const lb_trace_options *options, const char *sql, size_t size, double *times,
                    size_t rounds)
{
    for (size_t i = 0; i < rounds; i++)
        times[i] = trace(cx, options, sql, size);
    qsort(times, rounds, sizeof *times, by_value);
    if (times[0] < 0)
        (void)printf("-\n");
    else
        (void)printf("%.3f\n", times[rounds / 2]);
}

int main(int argc, char **argv)
{
    lb_context *cx = NULL;
    lb_catalog *catalog = NULL;
    if (argc < 4)
        return 2;
    size_t rounds = (size_t)strtoul(argv[3], NULL, 10);
    text ddl = read_file(argv[1]), all = read_file(argv[2]);
    double *times = calloc(rounds, sizeof *times);
    if (times == NULL || lb_context_new(NULL, &cx, NULL) != LB_OK || lb_catalog_new(cx, &catalog, NULL) != LB_OK ||
        lb_catalog_add(catalog, ddl.bytes, ddl.size, NULL, NULL) != LB_OK)
        return 1;
    lb_trace_options options = { .struct_size = sizeof options,
                                 .catalog = catalog,
                                 .default_db = argc > 4 ? argv[4] : NULL,
                                 .query_id = "0:0",
                                 .started = 1,
                                 .ended = 1 };
    for (const char *at = all.bytes, *end = all.bytes + all.size; at < end; at += strlen(at) + 1)
        measure(cx, &options, at, strlen(at), times, rounds);
    lb_catalog_free(catalog);
    lb_context_free(cx);
    free(times);
    free(all.bytes);
    free(ddl.bytes);
    return 0;
}
