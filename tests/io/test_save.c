/* Saving: the target is old or new, whatever happens; nothing is left beside it. */
#include "io/save.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = P_tmpdir "/lakebed-save-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    (void)umask(022);
    return mkdtemp(folder) == NULL ? -1 : chdir(folder);
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") + rmdir(folder);
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void check_file(const char *path, const char *want)
{
    char text[100] = "";
    FILE *f = fopen(path, "r");
    if (f == NULL)
        fail_msg("%s is missing", path);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    (void)fclose(f);
    assert_string_equal(text, want);
}

static size_t entries(void)
{
    size_t n = 0;
    DIR *dir = opendir(".");
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n++;
    (void)closedir(dir);
    return n - 2;
}

static lb_status save_as(const char *path, const char *keep_as, const char *text, lb_error *err)
{
    lb_saver *saver;
    lb_status status = lb_saver_open_as(NULL, path, keep_as, &saver, err);
    if (status != LB_OK)
        return status;
    assert_true(lb_saver_write(saver, text, strlen(text)));
    return lb_saver_commit(saver, err);
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void new_and_replaced(void **state)
{
    (void)state;
    assert_int_equal(save_as("a", NULL, "one", NULL), LB_OK);
    check_file("a", "one");
    assert_int_equal(mode_of("a"), 0644);
    assert_int_equal(chmod("a", 0600), 0);
    assert_int_equal(save_as("./a", NULL, "two", NULL), LB_OK);
    check_file("a", "two");
    assert_int_equal(mode_of("a"), 0600);
    assert_int_equal(entries(), 1);
    assert_int_equal(unlink("a"), 0);
}

static void discarded(void **state)
{
    (void)state;
    lb_saver *saver;
    put("a", "old");
    assert_int_equal(lb_saver_open(NULL, "a", &saver, NULL), LB_OK);
    assert_int_equal(entries(), 2);
    assert_true(lb_saver_write(saver, "new", 3));
    lb_saver_discard(saver);
    lb_saver_discard(NULL);
    check_file("a", "old");
    assert_int_equal(entries(), 1);
    assert_int_equal(unlink("a"), 0);
}

static void keeps_the_former(void **state)
{
    (void)state;
    assert_int_equal(save_as("m", "m.old", "1", NULL), LB_OK);
    assert_int_equal(entries(), 1);
    assert_int_equal(save_as("m", "m.old", "2", NULL), LB_OK);
    check_file("m", "2");
    check_file("m.old", "1");
    assert_int_equal(save_as("m", "m.old", "3", NULL), LB_OK);
    check_file("m.old", "2");
    /* After a crash between keeping and replacing, both names are one file. */
    assert_int_equal(unlink("m.old"), 0);
    assert_int_equal(link("m", "m.old"), 0);
    assert_int_equal(save_as("m", "m.old", "4", NULL), LB_OK);
    check_file("m", "4");
    check_file("m.old", "3");
    assert_int_equal(entries(), 2);
    assert_int_equal(unlink("m") + unlink("m.old"), 0);
}

static void through_links(void **state)
{
    (void)state;
    assert_int_equal(mkdir("d", 0777), 0);
    assert_int_equal(symlink("d/target", "l"), 0);
    assert_int_equal(symlink("l", "ll"), 0);
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_int_equal(save_as("ll", NULL, "one", NULL), LB_OK);
    check_file("d/target", "one");
    assert_int_equal(save_as("ll", NULL, "two", NULL), LB_OK);
    check_file("d/target", "two");
    struct stat st;
    assert_int_equal(lstat("l", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(save_as("loop", NULL, "x", NULL), LB_IO);
    assert_int_equal(unlink("d/target") + rmdir("d") + unlink("l") + unlink("ll") + unlink("loop"), 0);
    assert_int_equal(entries(), 0);
}

static void other_targets(void **state)
{
    (void)state;
    lb_error err = LB_ERROR_INIT;
    assert_int_equal(save_as("/dev/null", NULL, "x", NULL), LB_OK);
    struct stat st;
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(save_as("/dev/full", NULL, "x", &err), LB_IO);
    assert_non_null(strstr(err.message, "write"));
    assert_int_equal(mkdir("d", 0777), 0);
    lb_error_clear(&err);
    assert_int_equal(save_as("d", NULL, "x", &err), LB_USAGE);
    assert_non_null(strstr(err.message, "directory"));
    assert_int_equal(save_as("d/", NULL, "x", NULL), LB_USAGE);
    assert_int_equal(save_as("new/", NULL, "x", NULL), LB_USAGE);
    assert_int_equal(save_as("none/file", NULL, "x", NULL), LB_NOTFOUND);
    assert_int_equal(save_as("", NULL, "x", NULL), LB_USAGE);
    assert_int_equal(rmdir("d"), 0);
    /* A pipe is written as it is, also by way of /dev/fd. */
    int ends[2];
    char path[32], got[4] = "";
    assert_int_equal(pipe(ends), 0);
    (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    assert_int_equal(save_as(path, NULL, "xyz", NULL), LB_OK);
    assert_int_equal(read(ends[0], got, 3), 3);
    assert_string_equal(got, "xyz");
    assert_int_equal(close(ends[0]) + close(ends[1]), 0);
    assert_int_equal(entries(), 0);
}

/* Long names still leave room for the temporary one. */
static void long_names(void **state)
{
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    assert_int_equal(save_as(name, NULL, "x", NULL), LB_OK);
    check_file(name, "x");
    assert_int_equal(unlink(name), 0);
    assert_int_equal(entries(), 0);
}

static void sizes(void **state)
{
    (void)state;
    static uint8_t bytes[3000000];
    static const size_t steps[] = { 1000, 65536, 524287, 524288, 524289, 2999999 };
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 31 % 253);
    for (size_t s = 0; s < LB_COUNT_OF(steps); s++) {
        lb_saver *saver;
        lb_status status = lb_saver_open(NULL, "big", &saver, NULL);
        assert_int_equal(status, LB_OK);
        for (size_t at = 0; at < sizeof bytes; at += steps[s])
            assert_true(lb_saver_write(saver, bytes + at, LB_MIN(steps[s], sizeof bytes - at)));
        assert_true(lb_saver_write(saver, NULL, 0));
        assert_int_equal(lb_saver_commit(saver, NULL), LB_OK);
        static uint8_t back[sizeof bytes + 1];
        FILE *f = fopen("big", "r");
        assert_non_null(f);
        assert_int_equal(fread(back, 1, sizeof back, f), sizeof bytes);
        (void)fclose(f);
        assert_memory_equal(back, bytes, sizeof bytes);
    }
    assert_int_equal(unlink("big"), 0);
}

/* The first failure of a write is the commit's; the old file stays, nothing is left. */
static void failing_writes(void **state)
{
    (void)state;
    static uint8_t bytes[1000000];
    struct rlimit old, small = { 300000, 0 };
    lb_error err = LB_ERROR_INIT;
    lb_saver *saver;
    put("a", "old");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(lb_saver_open(NULL, "a", &saver, NULL), LB_OK);
    assert_false(lb_saver_write(saver, bytes, sizeof bytes));
    assert_false(lb_saver_write(saver, bytes, 10));
    assert_int_equal(lb_saver_commit(saver, &err), LB_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_non_null(strstr(err.message, "write"));
    assert_string_equal(err.path, "a");
    check_file("a", "old");
    assert_int_equal(entries(), 1);
    assert_int_equal(unlink("a"), 0);
}

static void cancelled(void **state)
{
    (void)state;
    lb_context *cx;
    lb_saver *saver;
    assert_int_equal(lb_context_new(NULL, &cx, NULL), LB_OK);
    assert_int_equal(lb_saver_open(cx, "a", &saver, NULL), LB_OK);
    assert_true(lb_saver_write(saver, "x", 1));
    lb_context_cancel(cx);
    assert_int_equal(lb_saver_commit(saver, NULL), LB_CANCELLED);
    assert_int_equal(entries(), 0);
    lb_context_free(cx);
}

static void age(const char *path, int seconds)
{
    struct timespec times[2] = { { .tv_sec = time(NULL) - seconds }, { .tv_sec = time(NULL) - seconds } };
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Leftovers go when they are old and nobody writes them. */
static void leftovers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int seconds;
        bool stays;
    } cases[] = {
        { "m.tmp.123.0123456789abcdef", 4000, false },
        { "m.tmp.124.0123456789abcdef", 3000, true },
        { "m.tmp.x.12", 4000, true },
        { "m.tmp.12", 4000, true },
        { "m.tmp.12.zz", 4000, true },
        { "mm.tmp.123.01", 4000, true },
    };
    lb_saver *writer;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        put(cases[i].name, "x");
        age(cases[i].name, cases[i].seconds);
    }
    /* A writer that has been at it for long. */
    assert_int_equal(lb_saver_open(NULL, "m", &writer, NULL), LB_OK);
    DIR *dir = opendir(".");
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strncmp(e->d_name, "m.tmp.", 6) == 0 && strlen(e->d_name) > 20 && strncmp(e->d_name, "m.tmp.12", 8) != 0)
            age(e->d_name, 5000);
    (void)closedir(dir);
    assert_int_equal(save_as("m", NULL, "other", NULL), LB_OK);
    assert_int_equal(lb_saver_commit(writer, NULL), LB_OK);
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++)
        assert_int_equal(unlink(cases[i].name) == 0, cases[i].stays);
    assert_int_equal(unlink("m"), 0);
    assert_int_equal(entries(), 0);
}

static void locks(void **state)
{
    (void)state;
    lb_lock *one, *two;
    lb_error err = LB_ERROR_INIT;
    assert_int_equal(lb_lock_take("lock", 0, &one, NULL), LB_OK);
    assert_int_equal(lb_lock_take("lock", 20, &two, &err), LB_CONFLICT);
    assert_null(two);
    assert_string_equal(err.path, "lock");
    pid_t child = fork();
    if (child == 0) /* another process waits until it is free */
        _exit(lb_lock_take("lock", 5000, &two, NULL) == LB_OK ? 0 : 1);
    (void)usleep(30000);
    lb_lock_release(one);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(lb_lock_take("lock", 0, &one, NULL), LB_OK);
    lb_lock_release(one);
    lb_lock_release(NULL);
    assert_int_equal(unlink("lock"), 0);
    assert_int_equal(symlink("elsewhere", "lock"), 0);
    assert_int_equal(lb_lock_take("lock", 0, &one, NULL), LB_IO);
    assert_int_equal(unlink("lock"), 0);
    assert_int_equal(mkfifo("lock", 0666), 0);
    assert_int_equal(lb_lock_take("lock", 0, &one, NULL), LB_USAGE);
    assert_int_equal(unlink("lock"), 0);
    assert_int_equal(lb_lock_take("none/lock", 0, &one, NULL), LB_NOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_and_replaced),
        cmocka_unit_test(discarded),
        cmocka_unit_test(keeps_the_former),
        cmocka_unit_test(through_links),
        cmocka_unit_test(other_targets),
        cmocka_unit_test(long_names),
        cmocka_unit_test(sizes),
        cmocka_unit_test(failing_writes),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(leftovers),
        cmocka_unit_test(locks),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
