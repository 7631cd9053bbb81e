/* The lineage log: names and rotation, many writers at once, writers that are killed, and what is left of a torn line. */
#include "lineage/lineage_log.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"

enum { WRITERS = 8, RECORDS = 150, FILE_RECORDS = 40, MAX_FILES = 4096 };

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/lakebed-log-XXXXXX");
    return mkdtemp(dir) == NULL ? -1 : 0;
}

static int remove_dir(void **state)
{
    struct dirent *entry;
    DIR *d = opendir(dir);
    (void)state;
    while (d != NULL && (entry = readdir(d)) != NULL)
        (void)unlinkat(dirfd(d), entry->d_name, 0);
    if (d != NULL)
        (void)closedir(d);
    return rmdir(dir);
}

/* Names of the log's files, ascending by number. */
static size_t list_files(uint64_t numbers[MAX_FILES])
{
    struct dirent *entry;
    size_t n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    while ((entry = readdir(d)) != NULL) {
        uint64_t number;
        if (!lb_log_name_number(entry->d_name, &number))
            continue;
        size_t at = n++;
        for (; at > 0 && numbers[at - 1] > number; at--)
            numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
    (void)closedir(d);
    return n;
}

static char *read_file(uint64_t number, size_t *size)
{
    char path[160];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/" LB_LOG_PREFIX "%" PRIu64, dir, number);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    char *text = calloc(1, (size_t)st.st_size + 1);
    assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
    (void)close(fd);
    *size = (size_t)st.st_size;
    return text;
}

static void append_bytes(uint64_t number, const char *bytes)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/" LB_LOG_PREFIX "%" PRIu64, dir, number);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
    (void)close(fd);
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    while ((text = strchr(text, '\n')) != NULL) {
        text++;
        n++;
    }
    return n;
}

/* A record as a writer and a number, with a text of `size` bytes. */
static lb_lineage_graph graph_of(uint64_t writer, uint64_t number, char *text, size_t size)
{
    memset(text, 'x', size);
    return (lb_lineage_graph){ .query_text = { text, size },
                               .operation_type = LB_STR("SELECT"),
                               .query_id_hi = writer,
                               .query_id_lo = number,
                               .hash = LB_STR("00000000000000000000000000000000"),
                               .user = LB_STR("u"),
                               .started = 1,
                               .ended = 2,
                               .has_ended = true };
}

static void append(lb_log_writer *w, uint64_t writer, uint64_t number, size_t size)
{
    static char text[100000];
    lb_error err = LB_ERROR_INIT;
    lb_lineage_graph g = graph_of(writer, number, text, size);
    lb_status status = lb_log_append(w, &g, &err);
    if (status != LB_OK)
        print_error("%s\n", err.message);
    assert_int_equal(status, LB_OK);
}

static lb_log_writer *writer_open(uint64_t max_records, bool sync_each)
{
    lb_error err = LB_ERROR_INIT;
    lb_log_writer *w = NULL;
    assert_int_equal(lb_log_writer_open(dir, max_records, sync_each, &w, &err), LB_OK);
    return w;
}

static lb_context *context(void)
{
    lb_context *cx = NULL;
    assert_int_equal(lb_context_new(NULL, &cx, NULL), LB_OK);
    return cx;
}

/* ---------------------------------------------------------------- one writer */

static void names_and_rotation(void **state)
{
    uint64_t numbers[MAX_FILES], before = (uint64_t)(lb_now_ns() / 1000000);
    (void)state;
    lb_log_writer *w = writer_open(3, true);
    for (uint64_t i = 0; i < 8; i++)
        append(w, 1, i, 10);
    assert_int_equal(lb_log_writer_close(w, NULL), LB_OK);
    uint64_t after = (uint64_t)(lb_now_ns() / 1000000);
    assert_int_equal(list_files(numbers), 3);
    for (size_t i = 0; i < 3; i++) {
        size_t size;
        char *text = read_file(numbers[i], &size);
        assert_int_equal(count_lines(text), i < 2 ? 3 : 2);
        assert_true(numbers[i] >= before && numbers[i] <= after + 3);
        free(text);
    }
    /* The next writer goes on in the same file until that is full. */
    w = writer_open(3, false);
    append(w, 1, 8, 10);
    assert_int_equal(list_files(numbers), 3);
    append(w, 1, 9, 10);
    assert_int_equal(list_files(numbers), 4);
    assert_int_equal(lb_log_writer_close(w, NULL), LB_OK);
}

static const struct {
    const char *name;
    uint64_t number; /* 0: no name of a log file */
} names[] = {
    { "impala_lineage_log_1.0-1700000000000", 1700000000000 },
    { "impala_lineage_log_1.0-7", 7 },
    { "impala_lineage_log_1.0-", 0 },
    { "impala_lineage_log_1.0-12x", 0 },
    { "impala_lineage_log_1.0--1", 0 },
    { "impala_lineage_log_1.0-+1", 0 },
    { "impala_lineage_log_1.0-99999999999999999999999", 0 },
    { "impala_lineage_log_1.1-1", 0 },
    { ".lakebed_lineage.lock", 0 },
};

static void names_of_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(names); i++) {
        uint64_t number = 0;
        assert_int_equal(lb_log_name_number(names[i].name, &number), names[i].number != 0);
        if (names[i].number != 0)
            assert_int_equal(number, names[i].number);
    }
}

/* A file that another program began is left alone. */
static void foreign_files_are_not_written(void **state)
{
    uint64_t numbers[MAX_FILES];
    size_t size;
    (void)state;
    append_bytes(99999999999999, "{\"queryText\":\"half a rec");
    lb_log_writer *w = writer_open(0, false);
    append(w, 1, 1, 10);
    assert_int_equal(lb_log_writer_close(w, NULL), LB_OK);
    assert_int_equal(list_files(numbers), 2);
    char *text = read_file(99999999999999, &size);
    assert_string_equal(text, "{\"queryText\":\"half a rec");
    free(text);
}

static void removed_files_are_begun_anew(void **state)
{
    uint64_t numbers[MAX_FILES];
    char path[160];
    (void)state;
    lb_log_writer *w = writer_open(0, false);
    append(w, 1, 1, 10);
    assert_int_equal(list_files(numbers), 1);
    (void)snprintf(path, sizeof path, "%s/" LB_LOG_PREFIX "%" PRIu64, dir, numbers[0]);
    assert_int_equal(unlink(path), 0);
    append(w, 1, 2, 10);
    assert_int_equal(list_files(numbers), 1);
    (void)snprintf(path, sizeof path, "%s/" LB_LOG_LOCK, dir);
    assert_int_equal(truncate(path, 3), 0); /* a writer that died while it wrote the name */
    lb_log_writer *other = writer_open(0, false);
    append(other, 2, 1, 10);
    assert_int_equal(list_files(numbers), 2);
    assert_int_equal(lb_log_writer_close(w, NULL), LB_OK);
    assert_int_equal(lb_log_writer_close(other, NULL), LB_OK);
}

/* ---------------------------------------------------------------- torn lines */

static uint64_t read_all(uint64_t *bad, bool seen[WRITERS + 1][RECORDS])
{
    lb_context *cx = context();
    lb_log_reader *r = NULL;
    const lb_lineage_graph *g;
    lb_error err = LB_ERROR_INIT;
    uint64_t n = 0;
    assert_int_equal(lb_log_reader_open(cx, dir, &r, &err), LB_OK);
    for (;;) {
        assert_int_equal(lb_log_reader_next(r, &g, &err), LB_OK);
        if (g == NULL)
            break;
        n++;
        if (seen != NULL) {
            assert_true(g->query_id_hi <= WRITERS && g->query_id_lo < RECORDS);
            assert_false(seen[g->query_id_hi][g->query_id_lo]);
            seen[g->query_id_hi][g->query_id_lo] = true;
        }
    }
    *bad = lb_log_reader_bad(r);
    lb_log_reader_close(r);
    lb_context_free(cx);
    return n;
}

/* Cut the current file anywhere in its last record: what was whole stays, nothing is glued to the torn line. */
static void torn_lines(void **state)
{
    uint64_t numbers[MAX_FILES], bad;
    char path[160];
    size_t size;
    (void)state;
    lb_log_writer *w = writer_open(0, false);
    append(w, 1, 0, 10);
    (void)list_files(numbers);
    free(read_file(numbers[0], &size));
    size_t first = size;
    append(w, 1, 1, 10);
    assert_int_equal(lb_log_writer_close(w, NULL), LB_OK);
    free(read_file(numbers[0], &size));
    (void)snprintf(path, sizeof path, "%s/" LB_LOG_PREFIX "%" PRIu64, dir, numbers[0]);
    for (size_t cut = size - 1; cut > first; cut -= cut > first + 20 ? 7 : 1) {
        assert_int_equal(truncate(path, (off_t)cut), 0);
        uint64_t whole = read_all(&bad, NULL);
        bool complete = cut == size - 1; /* only its newline is lost: still a record */
        assert_int_equal(whole, complete ? 2 : 1);
        assert_int_equal(bad, complete ? 0 : 1);
    }
    w = writer_open(0, false);
    append(w, 1, 2, 10);
    assert_int_equal(lb_log_writer_close(w, NULL), LB_OK);
    assert_int_equal(list_files(numbers), 2);
    assert_int_equal(read_all(&bad, NULL), 2);
    assert_int_equal(bad, 1);
}

/* ---------------------------------------------------------------- many writers */

static void write_records(uint64_t writer, uint64_t max_records)
{
    lb_log_writer *w = NULL;
    if (lb_log_writer_open(dir, max_records, false, &w, NULL) != LB_OK)
        _exit(1);
    for (uint64_t i = 0; i < RECORDS; i++) {
        static char text[20000];
        lb_lineage_graph g = graph_of(writer, i, text, (size_t)(i * 97 % sizeof text));
        if (lb_log_append(w, &g, NULL) != LB_OK)
            _exit(2);
        if (i % 40 == 17) { /* also writers that come and go */
            if (lb_log_writer_close(w, NULL) != LB_OK || lb_log_writer_open(dir, max_records, false, &w, NULL) != LB_OK)
                _exit(3);
        }
    }
    _exit(lb_log_writer_close(w, NULL) == LB_OK ? 0 : 4);
}

static void eight_writers(void **state)
{
    static bool seen[WRITERS + 1][RECORDS];
    uint64_t numbers[MAX_FILES], bad;
    (void)state;
    memset(seen, 0, sizeof seen);
    for (uint64_t i = 0; i < WRITERS; i++)
        if (fork() == 0)
            write_records(i, FILE_RECORDS);
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(read_all(&bad, seen), WRITERS * RECORDS);
    assert_int_equal(bad, 0);
    size_t n = list_files(numbers);
    assert_int_equal(n, WRITERS * RECORDS / FILE_RECORDS);
    for (size_t i = 0; i < n; i++) {
        size_t size;
        char *text = read_file(numbers[i], &size);
        assert_int_equal(count_lines(text), FILE_RECORDS);
        free(text);
    }
}

static void write_for_ever(uint64_t writer, int told)
{
    lb_log_writer *w = NULL;
    if (lb_log_writer_open(dir, FILE_RECORDS, false, &w, NULL) != LB_OK)
        _exit(1);
    for (uint64_t i = 0; i < RECORDS; i++) {
        static char text[90000];
        lb_lineage_graph g = graph_of(writer, i, text, sizeof text);
        if (lb_log_append(w, &g, NULL) != LB_OK || write(told, &i, sizeof i) != sizeof i)
            _exit(2);
    }
    for (;;)
        (void)pause();
}

/* Writers that are killed at any moment lose at most the record they were at, and harm no other. */
static void killed_writers(void **state)
{
    static bool seen[WRITERS + 1][RECORDS];
    uint64_t told[WRITERS], bad;
    (void)state;
    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < WRITERS; i++) {
        int ends[2], status;
        uint64_t number;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0)
            write_for_ever(i, ends[1]);
        (void)close(ends[1]);
        struct timespec nap = { .tv_nsec = 1000000L * (3 + 2 * (long)i) };
        (void)nanosleep(&nap, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        for (told[i] = 0; read(ends[0], &number, sizeof number) == sizeof number; told[i]++)
            assert_int_equal(number, told[i]);
        (void)close(ends[0]);
    }
    lb_log_writer *w = writer_open(FILE_RECORDS, false);
    append(w, WRITERS, 0, 10);
    assert_int_equal(lb_log_writer_close(w, NULL), LB_OK);
    (void)read_all(&bad, seen);
    assert_true(bad <= WRITERS);
    assert_true(seen[WRITERS][0]);
    for (unsigned i = 0; i < WRITERS; i++)
        for (uint64_t k = 0; k < told[i]; k++)
            assert_true(seen[i][k]);
}

/* ---------------------------------------------------------------- reading */

static void files_in_order_of_numbers(void **state)
{
    lb_context *cx = context();
    lb_log_reader *r = NULL;
    const lb_lineage_graph *g;
    const char *const lines[] = { "{\"queryText\":\"1\",\"edges\":[],\"vertices\":[]}\n",
                                  "\n \r\n{\"queryText\":\"2\",\"edges\":[],\"vertices\":[]}" };
    (void)state;
    append_bytes(10000, lines[1]);
    append_bytes(9, lines[0]);
    append_bytes(100, "");
    assert_int_equal(lb_log_reader_open(cx, dir, &r, NULL), LB_OK);
    for (char want = '1'; want <= '2'; want++) {
        assert_int_equal(lb_log_reader_next(r, &g, NULL), LB_OK);
        assert_int_equal(g->query_text.at[0], want);
        assert_int_equal(lb_log_reader_place(r).line, want == '1' ? 1 : 3);
    }
    assert_int_equal(lb_log_reader_next(r, &g, NULL), LB_OK);
    assert_null(g);
    lb_log_reader_close(r);
    lb_context_free(cx);
}

static void nothing_to_read(void **state)
{
    lb_context *cx = context();
    lb_log_reader *r = NULL;
    lb_error err = LB_ERROR_INIT;
    (void)state;
    assert_int_equal(lb_log_reader_open(cx, dir, &r, &err), LB_NOTFOUND);
    assert_non_null(strstr(err.message, "no lineage log"));
    assert_int_equal(lb_log_reader_open(cx, "/nowhere/at/all", &r, NULL), LB_NOTFOUND);
    lb_context_free(cx);
}

static void no_room_in_the_way(void **state)
{
    char path[160];
    lb_error err = LB_ERROR_INIT;
    lb_log_writer *w = NULL;
    (void)state;
    (void)snprintf(path, sizeof path, "%s/missing/log", dir);
    assert_int_equal(lb_log_writer_open(path, 0, false, &w, &err), LB_NOTFOUND);
    append_bytes(1, "x");
    (void)snprintf(path, sizeof path, "%s/" LB_LOG_PREFIX "1", dir);
    lb_error_clear(&err);
    assert_int_not_equal(lb_log_writer_open(path, 0, false, &w, &err), LB_OK);
}

#define LOG_TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_files),
        LOG_TEST(names_and_rotation),
        LOG_TEST(foreign_files_are_not_written),
        LOG_TEST(removed_files_are_begun_anew),
        LOG_TEST(torn_lines),
        LOG_TEST(eight_writers),
        LOG_TEST(killed_writers),
        LOG_TEST(files_in_order_of_numbers),
        LOG_TEST(nothing_to_read),
        LOG_TEST(no_room_in_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
