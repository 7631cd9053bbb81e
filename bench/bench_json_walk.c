/* The structure of a JSON file, and nothing else: text read in pieces and checked to be UTF-8, values counted, a
 * checkpoint every 65,536 of them, with the line it stands on. What a map does before it looks at values. Prints rows,
 * the sum of the checkpoints' bytes and lines, so that none of the work can be left out, and seconds.
 *
 *   bench_json_walk FILE lines|array|check      check: lines, each visited whole */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "io/text.h"
#include "wire/json_text.h"

enum { STRIDE = 65536 };

typedef struct bench {
    lb_text text;
    lb_json_walk walk;
    uint64_t rows, sum, line;
    bool cr, visit; /* `cr`: the last byte counted is a CR */
} bench;

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Values of the window; lines are counted as far as a checkpoint or the window's end. */
static lb_json_step walk_window(bench *b, size_t *counted)
{
    lb_json_step step = LB_JSON_VALUE;
    uint64_t passed;

    while (step == LB_JSON_VALUE) {
        uint64_t left = b->visit ? 1 : STRIDE - b->rows % STRIDE;
        step = lb_json_walk_skip(&b->walk, left, &passed);
        b->rows += passed;
        if (b->visit && passed != 0) {
            lb_json_cursor c = lb_json_cursor_of(&b->walk);
            if (!lb_json_skip(&c, NULL))
                return LB_JSON_BAD;
        }
        if (step == LB_JSON_VALUE && b->rows % STRIDE == 0) {
            b->line += lb_count_lines(b->text.data + *counted, b->walk.start - *counted, b->cr);
            *counted = b->walk.start;
            b->cr = false;
            b->sum += b->text.at + b->walk.start + b->line;
        }
    }
    return step;
}

static lb_status walk_all(bench *b, lb_json_step *step, lb_error *err)
{
    size_t counted = 0;

    for (;;) {
        *step = walk_window(b, &counted);
        if (*step != LB_JSON_MORE)
            return LB_OK;
        size_t start = b->walk.start;
        if (start > counted) {
            b->line += lb_count_lines(b->text.data + counted, start - counted, b->cr);
            b->cr = b->text.data[start - 1] == '\r';
            counted = start;
        }
        LB_TRY(lb_text_more(&b->text, start, err));
        counted -= start;
        if (b->text.bad_at != UINT64_MAX)
            return LB_CORRUPT;
        lb_json_walk_window(&b->walk, b->text.data, b->text.size, b->text.end, 0);
    }
}

int main(int argc, char **argv)
{
    lb_error err = LB_ERROR_INIT;
    lb_context *cx = NULL;
    lb_store *store = NULL;
    lb_json_step step = LB_JSON_BAD;
    bench b = { .visit = argc == 3 && strcmp(argv[2], "check") == 0 };

    if (argc != 3) {
        (void)fprintf(stderr, "usage: bench_json_walk FILE lines|array|check\n");
        return 2;
    }
    if (lb_context_new(NULL, &cx, &err) != LB_OK || lb_store_open_file(argv[1], &store, &err) != LB_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 4;
    }
    double started = seconds();
    lb_json_walk_init(&b.walk, strcmp(argv[2], "array") == 0 ? LB_JSON_ARRAY : LB_JSON_LINES);
    lb_status status = lb_text_open(&b.text, cx, store, 0, NULL, 0, &err);
    if (status == LB_OK) {
        lb_json_walk_window(&b.walk, b.text.data, b.text.size, b.text.end, 0);
        status = walk_all(&b, &step, &err);
        lb_text_close(&b.text);
    }
    double took = seconds() - started;
    store->close(store);
    lb_context_free(cx);
    if (status != LB_OK || step != LB_JSON_END)
        return 3;
    (void)printf("%" PRIu64 " %" PRIu64 " %.6f\n", b.rows, b.sum, took);
    return 0;
}
