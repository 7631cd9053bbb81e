/* The walk: every regular file, sorted by path bytes, no link followed. */
#include "io/walk.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = P_tmpdir "/lakebed-walk-XXXXXX";
static lb_context *cx;

static void put(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    assert_true(fd >= 0 && write(fd, "abc", 3) == 3 && close(fd) == 0);
}

static int make_tree(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL || chdir(folder) != 0 || lb_context_new(NULL, &cx, NULL) != LB_OK)
        return -1;
    static const char *const folders[] = { "t", "t/a", "t/a-b", "t/a/b", "t/.h", "t/empty", "t/\xFF", "out" };
    static const char *const files[] = { "t/z.csv",  "t/a/x",     "t/a-b/x", "t/a/b/y.csv", "t/.h/x",
                                         "t/.f.csv", "t/\xFF/\n", "out/o",   "t/B" };
    for (size_t i = 0; i < LB_COUNT_OF(folders); i++)
        if (mkdir(folders[i], 0777) != 0)
            return -1;
    for (size_t i = 0; i < LB_COUNT_OF(files); i++)
        put(files[i]);
    return symlink("../out", "t/link") + symlink("../out/o", "t/linked") + symlink("t", "root") +
           mkfifo("t/pipe", 0666);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int remove_tree(void **state)
{
    (void)state;
    lb_context_free(cx);
    return chdir("/") + nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void check_walk(const char *root, const lb_walk_options *options, const char *const *want)
{
    lb_file_list list;
    size_t n = 0;
    lb_file_list_init(&list, NULL);
    assert_int_equal(lb_walk(cx, root, options, &list, NULL), LB_OK);
    for (; n < list.count && want[n] != NULL; n++) {
        const lb_walk_file *file = &list.files[n];
        char text[256];
        (void)snprintf(text, sizeof text, "%.*s", (int)file->rel_path.size, file->rel_path.at);
        assert_string_equal(text, want[n]);
        assert_int_equal(file->size, 3);
        assert_true(file->mtime_ns > 0 && file->ctime_ns > 0);
    }
    assert_int_equal(list.count, n);
    assert_null(want[n]);
    lb_file_list_free(&list);
}

static void whole_tree(void **state)
{
    (void)state;
    /* As Python's sorted() over os.fsencode'd paths. */
    static const char *const all[] = { ".f.csv", ".h/x", "B", "a-b/x", "a/b/y.csv", "a/x", "z.csv", "\xFF/\n", NULL };
    const lb_walk_options hidden = { .hidden = true };
    static const char *const seen[] = { ".f.csv", "B", "a-b/x", "a/b/y.csv", "a/x", "z.csv", "\xFF/\n", NULL };
    check_walk("t", NULL, seen);
    check_walk("t", &hidden, all);
    check_walk("root", &hidden, all);
    check_walk("t/", &hidden, all);
    check_walk("t/empty", &hidden, (const char *const[]){ NULL });
}

static bool want_some(void *user, lb_str rel_path, bool is_dir)
{
    (void)user;
    return is_dir ? !lb_str_is(rel_path, "a/b") : rel_path.at[rel_path.size - 1] == 'x';
}

static void chosen(void **state)
{
    (void)state;
    const lb_walk_options options = { .hidden = true, .want = want_some };
    check_walk("t", &options, (const char *const[]){ ".h/x", "a-b/x", "a/x", NULL });
}

static void failures(void **state)
{
    (void)state;
    lb_file_list list;
    lb_error err = LB_ERROR_INIT;
    lb_file_list_init(&list, NULL);
    assert_int_equal(lb_walk(cx, "none", NULL, &list, NULL), LB_NOTFOUND);
    assert_int_equal(lb_walk(cx, "t/z.csv", NULL, &list, NULL), LB_USAGE);
    if (geteuid() != 0) { /* root may read everything */
        assert_int_equal(chmod("t/a/b", 0), 0);
        assert_int_equal(lb_walk(cx, "t", NULL, &list, &err), LB_IO);
        assert_string_equal(err.path, "t/a/b");
        assert_int_equal(chmod("t/a/b", 0777), 0);
    }
    lb_file_list_free(&list);
    lb_budget budget = { .limit = 100 };
    lb_file_list_init(&list, &budget);
    assert_int_equal(lb_walk(cx, "t", NULL, &list, NULL), LB_BUDGET);
    lb_file_list_free(&list);
}

/* Deeper than a path may be long. */
static void deep_tree(void **state)
{
    (void)state;
    enum { DEPTH = 600 };
    static const char name[] = "a-folder-of-some-length";
    int fds[DEPTH + 1];
    lb_file_list list;
    fds[0] = open("t/empty", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < DEPTH; i++) {
        assert_int_equal(mkdirat(fds[i], name, 0777), 0);
        fds[i + 1] = openat(fds[i], name, O_RDONLY | O_DIRECTORY);
        assert_true(fds[i + 1] >= 0);
    }
    int fd = openat(fds[DEPTH], "f", O_WRONLY | O_CREAT, 0666);
    assert_true(fd >= 0 && close(fd) == 0);
    lb_file_list_init(&list, NULL);
    assert_int_equal(lb_walk(cx, "t/empty", NULL, &list, NULL), LB_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.files[0].rel_path.size, DEPTH * sizeof name + 1);
    lb_file_list_free(&list);
    assert_int_equal(unlinkat(fds[DEPTH], "f", 0), 0);
    for (int i = DEPTH; i > 0; i--)
        assert_int_equal(close(fds[i]) + unlinkat(fds[i - 1], name, AT_REMOVEDIR), 0);
    assert_int_equal(close(fds[0]), 0);
}

/* More files in a folder than one job looks up, on one thread and on several. */
static void large_folder(void **state)
{
    (void)state;
    enum { FILES = 1700 };
    lb_context *one;
    lb_context_options options = { .struct_size = sizeof options, .threads = 1 };
    char name[64];
    assert_int_equal(lb_context_new(&options, &one, NULL), LB_OK);
    for (int i = 0; i < FILES; i++) {
        (void)snprintf(name, sizeof name, "t/empty/f%04d", i);
        put(name);
    }
    for (int turn = 0; turn < 2; turn++) {
        lb_file_list list;
        lb_file_list_init(&list, NULL);
        assert_int_equal(lb_walk(turn == 0 ? one : cx, "t/empty", NULL, &list, NULL), LB_OK);
        assert_int_equal(list.count, FILES);
        for (int i = 0; i < FILES; i++) {
            (void)snprintf(name, sizeof name, "f%04d", i);
            assert_true(lb_str_is(list.files[i].rel_path, name) && list.files[i].size == 3);
        }
        lb_file_list_free(&list);
    }
    lb_context_free(one);
    for (int i = 0; i < FILES; i++) {
        (void)snprintf(name, sizeof name, "t/empty/f%04d", i);
        assert_int_equal(unlink(name), 0);
    }
}

static void cancelled(void **state)
{
    (void)state;
    lb_file_list list;
    lb_file_list_init(&list, NULL);
    lb_context_cancel(cx);
    assert_int_equal(lb_walk(cx, "t", NULL, &list, NULL), LB_CANCELLED);
    lb_file_list_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_tree), cmocka_unit_test(chosen),       cmocka_unit_test(failures),
        cmocka_unit_test(deep_tree),  cmocka_unit_test(large_folder), cmocka_unit_test(cancelled),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
