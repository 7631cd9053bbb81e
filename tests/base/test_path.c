/* Paths, globs and the closest name. Globs are also compared with a plain recursive matcher. */
#include "base/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void joining(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        { "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "", "b", "b" },       { "a", "", "a" },
        { "", "", "" },      { "/", "b", "/b" },   { "a//", "b", "a//b" },
    };
    lb_arena arena;
    lb_arena_init(&arena, NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_string_equal(lb_path_join(&arena, cases[i][0], cases[i][1]), cases[i][2]);
    lb_arena_free(&arena);
}

/* As Python's os.path.normpath says. */
static void normal_paths(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "/a/b", "/a/b" },
        { "/a//b/", "/a/b" },
        { "/a/./b", "/a/b" },
        { "/a/../b", "/b" },
        { "/../../b", "/b" },
        { "/", "/" },
        { "/..", "/" },
        { "/a/b/../../..", "/" },
        { "/a/.../b", "/a/.../b" },
        { "/a/..b/c.", "/a/..b/c." },
        { "/a/b/..", "/a" },
    };
    lb_arena arena;
    lb_arena_init(&arena, NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_string_equal(lb_path_normal(&arena, cases[i][0]), cases[i][1]);
    assert_int_equal(chdir("/usr"), 0);
    assert_string_equal(lb_path_normal(&arena, "x/../y"), "/usr/y");
    assert_string_equal(lb_path_normal(&arena, "../../.."), "/");
    assert_string_equal(lb_path_normal(&arena, ""), "/usr");
    lb_arena_free(&arena);
}

static void inside_paths(void **state)
{
    (void)state;
    static const struct {
        lb_str path;
        bool inside;
    } cases[] = {
        { LB_STR("a"), true },     { LB_STR("a/b.csv"), true }, { LB_STR("..a/b"), true },  { LB_STR(""), false },
        { LB_STR("/a"), false },   { LB_STR("a/"), false },     { LB_STR("a//b"), false },  { LB_STR("."), false },
        { LB_STR("a/.."), false }, { LB_STR("../a"), false },   { LB_STR("a/./b"), false }, { LB_STR("a\0b"), false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(lb_path_is_inside(cases[i].path), cases[i].inside);
}

static void names_and_extensions(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        { "a/b.csv", "b.csv", "csv" },
        { "b.tar.GZ", "b.tar.GZ", "GZ" },
        { ".csv", ".csv", "" },
        { "a/.x.csv", ".x.csv", "csv" },
        { "a.b/c", "c", "" },
        { "c.", "c.", "" },
        { "", "", "" },
        { "/", "", "" },
        { "a/b/", "b", "" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_true(lb_str_is(lb_path_name(lb_str_of(cases[i][0])), cases[i][1]));
        assert_true(lb_str_is(lb_path_extension(lb_str_of(cases[i][0])), cases[i][2]));
    }
}

static const struct {
    const char *pattern, *path;
    bool match;
} glob_cases[] = {
    { "*.csv", "a.csv", true },
    { "*.csv", "x/y/a.csv", true },
    { "*.csv", "a.csv.gz", false },
    { "eu/*.csv", "eu/a.csv", true },
    { "eu/*.csv", "eu/x/a.csv", false },
    { "eu/*.csv", "x/eu/a.csv", false },
    { "/a.csv", "a.csv", true },
    { "/a.csv", "x/a.csv", false },
    { "**/a.csv", "a.csv", true },
    { "**/a.csv", "x/y/a.csv", true },
    { "**/a.csv", "xa.csv", false },
    { "**/**/a", "p/q/a", true },
    { "**/**/a", "a", true },
    { "**/**/a", "pa", false },
    { "x/**/a", "x/a", true },
    { "x/**/a", "x/y/z/a", true },
    { "x/**/a", "xa", false },
    { "x/**", "x/y/z", true },
    { "x/**", "x", false },
    { "x**y/z", "xa/by/z", true },
    { "?.csv", "a.csv", true },
    { "?.csv", ".csv", false },
    { "?.csv", "\xC3\xA9.csv", true },
    { "??", "\xFF\xFF", true },
    { "a?b/c", "a/b/c", false },
    { "[a-c].csv", "b.csv", true },
    { "[a-c].csv", "d.csv", false },
    { "[!a-c].csv", "d.csv", true },
    { "[^a-c].csv", "b.csv", false },
    { "[]x]", "]", true },
    { "[!]x]", "]", false },
    { "[a-]", "-", true },
    { "[\xC3\xA0-\xC3\xBF]", "\xC3\xA9", true },
    { "x/[!a]b", "x//b", false },
    { "[a", "[a", true },
    { "{a,b}.csv", "b.csv", true },
    { "{a,b}.csv", "c.csv", false },
    { "{a,b*}.{csv,tsv}", "bcd.tsv", true },
    { "{a,{b,c}d}e", "cde", true },
    { "{a,{b,c}d}e", "ae", true },
    { "{a,{b,c}d}e", "be", false },
    { "{,a}b", "b", true },
    { "{a}", "a", true },
    { "{a,b", "{a,b", true },
    { "a,b}", "a,b}", true },
    { "{x/**,y}/a.csv", "x/p/q/a.csv", true },
    { "{x/**,y}/a.csv", "y/a.csv", true },
    { "{[,],b}", ",", true },
    { "\\*.csv", "*.csv", true },
    { "\\*.csv", "a.csv", false },
    { "\\{a,b\\}", "{a,b}", true },
    { "a\\", "a\\", true },
    { "*", ".hidden", true },
    { "", "", false },
    { "/", "", false },
    { "*", "", true },
    { "***", "abc", true },
};

static void globs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(glob_cases); i++)
        if (lb_glob_match(lb_str_of(glob_cases[i].pattern), lb_str_of(glob_cases[i].path)) != glob_cases[i].match)
            fail_msg("%s against %s", glob_cases[i].pattern, glob_cases[i].path);
}

/* `*`, `**` and `?` by plain recursion. */
static bool slow_match(const char *p, const char *s)
{
    if (*p == '\0')
        return *s == '\0';
    if (p[0] == '*' && p[1] == '*')
        return slow_match(p + 2, s) || (*s != '\0' && slow_match(p, s + 1));
    if (*p == '*')
        return slow_match(p + 1, s) || (*s != '\0' && *s != '/' && slow_match(p, s + 1));
    return *s != '\0' && (*p == '?' ? *s != '/' : *p == *s) && slow_match(p + 1, s + 1);
}

static void globs_like_recursion(void **state)
{
    (void)state;
    unsigned random = 1;
    for (int round = 0; round < 20000; round++) {
        char pattern[9] = "x/", path[11] = "x/";
        for (size_t i = 2; i < 8; i++)
            pattern[i] = "ab*?"[(random = random * 1103515245 + 12345) >> 16 & 3];
        for (size_t i = 2; i < 10; i++)
            path[i] = "abb/"[(random = random * 1103515245 + 12345) >> 16 & 3];
        path[2 + (random >> 20) % 9] = '\0';
        if (lb_glob_match(lb_str_of(pattern), lb_str_of(path)) != slow_match(pattern, path))
            fail_msg("%s against %s", pattern, path);
    }
}

/* Patterns that bring matchers by trial and error to their knees. */
static void globs_stay_fast(void **state)
{
    (void)state;
    char pattern[4096], path[4096];
    memset(path, 'a', sizeof path);
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = "*a"[i & 1];
    pattern[sizeof pattern - 1] = 'b';
    assert_false(lb_glob_match((lb_str){ pattern + sizeof pattern - 200, 200 }, (lb_str){ path, sizeof path }));
    for (size_t i = 0; i + 5 <= sizeof pattern; i += 5)
        memcpy(pattern + i, "{a,b}", 5);
    assert_true(lb_glob_match((lb_str){ pattern, 4000 }, (lb_str){ path, 800 }));
    memset(pattern, '{', sizeof pattern);
    assert_false(lb_glob_match((lb_str){ pattern, sizeof pattern }, (lb_str){ path, 10 }));
    assert_true(lb_glob_match((lb_str){ pattern, 4000 }, (lb_str){ pattern, 4000 }));
}

static void closest_names(void **state)
{
    (void)state;
    static const char *const names[] = { "delimiter", "decimal", "header", "quote", "escape", "map" };
    static const char *const cases[][2] = {
        { "delimeter", "delimiter" },
        { "DELIMITER", "delimiter" },
        { "deciaml", "decimal" },
        { "heder", "header" },
        { "qoute", "quote" },
        { "mpa", "map" },
        { "mop", "map" },
        { "xyz", NULL },
        { "", NULL },
        { "delim", NULL },
        { "escpae", "escape" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *got = lb_closest_name(cases[i][0], names, COUNT_OF(names));
        if (cases[i][1] == NULL)
            assert_null(got);
        else if (got == NULL || strcmp(got, cases[i][1]) != 0)
            fail_msg("%s: %s", cases[i][0], got == NULL ? "nothing" : got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joining),         cmocka_unit_test(normal_paths),
        cmocka_unit_test(inside_paths),    cmocka_unit_test(names_and_extensions),
        cmocka_unit_test(globs),           cmocka_unit_test(globs_like_recursion),
        cmocka_unit_test(globs_stay_fast), cmocka_unit_test(closest_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
