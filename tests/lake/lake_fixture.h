/* A folder for lakes, which the test runs in, and short forms of the calls that tests of lakes make. */
#ifndef LB_TESTS_LAKE_FIXTURE_H
#define LB_TESTS_LAKE_FIXTURE_H

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/context.h"
#include "base/fail.h"
#include "base/path.h"
#include "column/types.h"

static char lake_folder[] = P_tmpdir "/lakebed-lake-XXXXXX";
static char lake_home[sizeof lake_folder + 8]; /* of one test */
static lb_context *cx;
static char lake_noted[4096]; /* what was noted since the test began */

static inline void lake_note(void *user, const char *note)
{
    size_t at = strlen(lake_noted);
    (void)user;
    (void)snprintf(lake_noted + at, sizeof lake_noted - at, "%s\n", note);
}

static inline int lake_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline int lake_group_setup(void **state)
{
    (void)state;
    return mkdtemp(lake_folder) == NULL ? -1 : 0;
}

static inline int lake_group_teardown(void **state)
{
    (void)state;
    return chdir("/") + nftw(lake_folder, lake_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Each test has an empty folder and a context of two threads. */
static inline int lake_setup(void **state)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 2, .note = lake_note };
    (void)state;
    (void)snprintf(lake_home, sizeof lake_home, "%s/t", lake_folder);
    lake_noted[0] = '\0';
    if (mkdir(lake_home, 0777) != 0 || chdir(lake_home) != 0)
        return -1;
    return lb_context_new(&options, &cx, NULL) == LB_OK ? 0 : -1;
}

static inline int lake_teardown(void **state)
{
    (void)state;
    lb_context_free(cx);
    return chdir("/") + nftw(lake_home, lake_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#define LAKE_TEST(f) cmocka_unit_test_setup_teardown(f, lake_setup, lake_teardown)

/* Fail with the library's own words. */
static inline void lake_ok(lb_status status, const lb_error *err)
{
    if (status != LB_OK)
        fail_msg("%s: %s (%s)", err->path, err->message, err->hint);
}

static inline void lake_put_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static inline void lake_put(const char *path, const char *text)
{
    lake_put_bytes(path, text, strlen(text));
}

static inline bool lake_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* Map the folder that the test runs in. */
static inline void lake_map(const lb_map_options *options)
{
    lb_error err = LB_ERROR_INIT;
    lake_ok(lb_map_create(cx, ".", options, NULL, &err), &err);
}

static inline lb_table *lake_open(const char *path, const lb_open_options *options)
{
    lb_error err = LB_ERROR_INIT;
    lb_table *t = NULL;
    lake_ok(lb_open(cx, path, options, &t, &err), &err);
    return t;
}

static inline bool lake_append(void *user, const void *bytes, size_t size)
{
    return lb_buf_append(user, bytes, size, NULL) == LB_OK;
}

/* Rows in a printed form, to be freed; or NULL and the error. */
static inline char *lake_print(lb_table *t, const lb_slice *slice, const char *form, lb_error *err)
{
    static const lb_slice all = { .struct_size = sizeof all, .limit = UINT64_MAX };
    struct ArrowArrayStream stream;
    lb_buf text;
    char *out = NULL;
    lb_buf_init(&text, NULL);
    if (lb_table_slice(t, slice != NULL ? slice : &all, &stream, err) == LB_OK &&
        lb_print(cx, &stream, form, NULL, lake_append, &text, NULL, err) == LB_OK)
        out = strdup(lb_buf_text(&text));
    lb_buf_free(&text);
    return out;
}

static inline void lake_rows_are(lb_table *t, const lb_slice *slice, const char *want)
{
    lb_error err = LB_ERROR_INIT;
    char *got = lake_print(t, slice, "ndjson", &err);
    if (got == NULL)
        fail_msg("%s: %s", err.path, err.message);
    assert_string_equal(got, want);
    free(got);
}

#endif
