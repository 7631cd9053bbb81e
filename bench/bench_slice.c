/* For bench/bench_python.py: what a slice costs in C. usage: bench_slice FILE ROWS COUNT STEP TIMES; prints the nanoseconds of
 * each of TIMES slices of COUNT rows, at rows 0, STEP, 2 STEP … of ROWS. */
#include <inttypes.h>
#include <lakebed.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* All batches of one slice, released. */
static lb_status pull(lb_table *table, uint64_t offset, uint64_t count, lb_error *err)
{
    lb_slice slice = { .struct_size = sizeof slice, .offset = offset, .limit = count };
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;

    lb_status status = lb_table_slice(table, &slice, &stream, err);
    if (status != LB_OK)
        return status;
    if (stream.get_schema(&stream, &schema) == 0)
        schema.release(&schema);
    while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL)
        batch.release(&batch);
    stream.release(&stream);
    return LB_OK;
}

int main(int argc, char **argv)
{
    lb_error err = LB_ERROR_INIT;
    lb_context *cx = NULL;
    lb_table *table = NULL;

    if (argc != 6)
        return 2;
    uint64_t rows = strtoull(argv[2], NULL, 10), count = strtoull(argv[3], NULL, 10);
    uint64_t step = strtoull(argv[4], NULL, 10), times = strtoull(argv[5], NULL, 10);
    lb_status status = lb_context_new(NULL, &cx, &err);
    if (status == LB_OK)
        status = lb_open(cx, argv[1], NULL, &table, &err);
    for (uint64_t i = 0; status == LB_OK && i < times; i++) {
        int64_t began = now_ns();
        status = pull(table, i * step % rows, count, &err);
        (void)printf("%" PRId64 "\n", now_ns() - began);
    }
    if (status != LB_OK)
        (void)fprintf(stderr, "%s: %s\n", err.path, err.message);
    lb_close(table);
    lb_context_free(cx);
    return status == LB_OK ? 0 : 1;
}
