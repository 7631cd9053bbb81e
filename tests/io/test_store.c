/* Stores: a file and a piece of memory give the same bytes; what is no regular file is refused by name. */
#include "io/store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SIZE 100000

static char folder[] = P_tmpdir "/lakebed-store-XXXXXX";
static uint8_t content[SIZE];

static const char *below(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    for (size_t i = 0; i < SIZE; i++)
        content[i] = (uint8_t)(i * 7 % 251);
    int fd = open(below("file"), O_WRONLY | O_CREAT, 0666);
    bool good = fd >= 0 && write(fd, content, SIZE) == SIZE && close(fd) == 0;
    return good && mkfifo(below("pipe"), 0666) == 0 && mkdir(below("dir"), 0777) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return unlink(below("file")) + unlink(below("pipe")) + rmdir(below("dir")) + rmdir(folder);
}

static void check_reads(lb_store *store)
{
    static uint8_t out[SIZE + 10];
    static const struct {
        uint64_t offset;
        size_t size, got;
    } reads[] = {
        { 0, 10, 10 },        { 0, SIZE, SIZE },     { 0, SIZE + 10, SIZE }, { SIZE - 5, 10, 5 },  { SIZE, 10, 0 },
        { SIZE + 1, 10, 0 },  { UINT64_MAX, 10, 0 }, { INT64_MAX, 10, 0 },   { 500, 0, 0 },        { 10, 1000, 1000 },
        { 1010, 1000, 1000 }, { 2010, 1000, 1000 },  { 3010, 1000, 1000 },   { 4010, 1000, 1000 },
    };
    uint64_t total = 0;
    for (size_t i = 0; i < LB_COUNT_OF(reads); i++) {
        size_t got = 77;
        assert_int_equal(lb_store_read(store, reads[i].offset, out, reads[i].size, &got, NULL), LB_OK);
        assert_int_equal(got, reads[i].got);
        if (got != 0)
            assert_memory_equal(out, content + reads[i].offset, got);
        total += got;
    }
    assert_int_equal(store->bytes_read, total);
    assert_int_equal(store->size, SIZE);
}

static void reads(void **state)
{
    (void)state;
    lb_store *store;
    lb_file_stat now;
    assert_int_equal(lb_store_open_file(below("file"), &store, NULL), LB_OK);
    assert_string_equal(store->path, below("file"));
    check_reads(store);
    struct stat st;
    assert_int_equal(stat(below("file"), &st), 0);
    assert_int_equal(store->stat(store, &now, NULL), LB_OK);
    assert_int_equal(now.size, SIZE);
    assert_int_equal(now.mtime_ns, (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
    lb_store_close(store);
    assert_int_equal(lb_store_open_memory(content, SIZE, &store, NULL), LB_OK);
    check_reads(store);
    assert_int_equal(store->stat(store, &now, NULL), LB_OK);
    assert_int_equal(now.mtime_ns, 0);
    lb_store_close(store);
    lb_store_close(NULL);
}

/* A file that grows or shrinks while open: fresh size, short reads. */
static void changing_file(void **state)
{
    (void)state;
    lb_store *store;
    lb_file_stat now;
    uint8_t out[20];
    size_t got;
    assert_int_equal(lb_store_open_file(below("file"), &store, NULL), LB_OK);
    assert_int_equal(truncate(below("file"), 10), 0);
    assert_int_equal(lb_store_read(store, 0, out, sizeof out, &got, NULL), LB_OK);
    assert_int_equal(got, 10);
    assert_int_equal(store->stat(store, &now, NULL), LB_OK);
    assert_int_equal(now.size, 10);
    assert_int_equal(store->size, SIZE);
    lb_store_close(store);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        lb_status status;
        const char *says;
    } cases[] = {
        { "dir", LB_USAGE, "directory" },
        { "pipe", LB_USAGE, "pipe" },
        { "none", LB_NOTFOUND, "open" },
        { "file/x", LB_NOTFOUND, "open" },
    };
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        lb_error err = LB_ERROR_INIT;
        lb_store *store;
        assert_int_equal(lb_store_open_file(below(cases[i].name), &store, &err), cases[i].status);
        assert_null(store);
        assert_string_equal(err.path, below(cases[i].name));
        assert_non_null(strstr(err.message, cases[i].says));
    }
}

/* A part is bytes of the whole, and nothing before or behind them. */
static void parts(void **state)
{
    static const struct {
        uint64_t first, size;
    } cases[] = { { 0, SIZE }, { 0, 0 }, { SIZE, 0 }, { 1, 1 }, { 777, 5000 }, { SIZE - 3, 3 } };
    static uint8_t bytes[SIZE];
    lb_store *whole, *part;
    size_t got;
    (void)state;
    assert_int_equal(lb_store_open_file(below("file"), &whole, NULL), LB_OK);
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        uint64_t first = cases[i].first, size = cases[i].size;
        lb_file_stat stat, all;
        assert_int_equal(lb_store_open_part(whole, first, size, &part, NULL), LB_OK);
        assert_int_equal(part->size, size);
        assert_int_equal(lb_store_stat(part, &stat, NULL) + lb_store_stat(whole, &all, NULL), LB_OK);
        assert_true(stat.size == size && stat.mtime_ns == all.mtime_ns);
        for (uint64_t at = 0; at <= size; at += LB_MAX(size / 3, 1)) {
            assert_int_equal(lb_store_read(part, at, bytes, SIZE, &got, NULL), LB_OK);
            assert_int_equal(got, size - at);
            assert_memory_equal(bytes, content + first + at, got);
        }
        assert_int_equal(lb_store_read(part, UINT64_MAX, bytes, 1, &got, NULL), LB_OK);
        assert_int_equal(got, 0);
        lb_store_close(part);
    }
    assert_int_equal(lb_store_open_part(whole, SIZE, 1, &part, NULL), LB_USAGE);
    assert_int_equal(lb_store_open_part(whole, 1, UINT64_MAX, &part, NULL), LB_USAGE);
    assert_null(part);
    lb_store_close(whole);
}

/* A mapping has the file's bytes and outlives its store; reads go on beside it. */
static void mappings(void **state)
{
    lb_store *store = NULL, *part = NULL;
    (void)state;

    assert_int_equal(lb_store_open_file(below("file"), &store, NULL), LB_OK);
    assert_null(store->mapping);
    lb_store_map(store);
    lb_store_map(store); /* once is enough */
    assert_non_null(store->mapping);
    assert_int_equal(store->mapping->size, SIZE);
    check_reads(store);
    assert_int_equal(lb_store_open_part(store, 5, 10, &part, NULL), LB_OK);
    assert_null(part->mapping); /* its offsets are others */
    lb_store_close(part);
    lb_mapping *kept = lb_mapping_ref(store->mapping);
    lb_store_close(store);
    assert_memory_equal(kept->at, content, SIZE);
    lb_mapping_unref(kept);

    /* Where there is nothing to map, the store is as it was. */
    assert_int_equal(lb_store_open_memory(content, SIZE, &store, NULL), LB_OK);
    lb_store_map(store);
    assert_null(store->mapping);
    lb_store_close(store);
    int fd = open(below("empty"), O_WRONLY | O_CREAT, 0666);
    assert_true(fd >= 0 && close(fd) == 0);
    assert_int_equal(lb_store_open_file(below("empty"), &store, NULL), LB_OK);
    lb_store_map(store);
    assert_null(store->mapping);
    lb_store_close(store);
    assert_int_equal(unlink(below("empty")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(reads), cmocka_unit_test(refusals), cmocka_unit_test(parts),
                                        cmocka_unit_test(mappings), cmocka_unit_test(changing_file) };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
