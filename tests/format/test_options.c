/* Read options: every name and value, the text of --set, JSON and back, merging, and which entries they fit. */
#include "format/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/format.h"

static lb_read_options *fresh(void)
{
    lb_read_options *o;
    assert_int_equal(lb_read_options_new(&o, NULL), LB_OK);
    return o;
}

static void check_json(const lb_read_options *o, const char *want)
{
    lb_buf out;
    lb_buf_init(&out, NULL);
    assert_int_equal(lb_read_options_json(o, &out, NULL), LB_OK);
    assert_string_equal(lb_buf_text(&out), want);
    lb_buf_free(&out);
}

/* name, value, and the JSON that then stands for all options; or what the error says */
static const struct {
    const char *name, *value, *json, *says;
} set_cases[] = {
    { "delimiter", ";", "{\"delimiter\":\";\"}", NULL },
    { "delimiter", "\\t", "{\"delimiter\":\"\\t\"}", NULL },
    { "delimiter", "tab", "{\"delimiter\":\"\\t\"}", NULL },
    { "delimiter", "||||", "{\"delimiter\":\"||||\"}", NULL },
    { "delimiter", "\xC2\xA6", "{\"delimiter\":\"\xC2\xA6\"}", NULL },
    { "delimiter", "", NULL, "--delimiter takes 1 to 4 bytes, not \"\"" },
    { "delimiter", "12345", NULL, "1 to 4 bytes" },
    { "delimiter", "a\n", NULL, "line end" },
    { "delimiter", "\"", "{\"delimiter\":\"\\\"\"}", NULL }, /* refused where the quote is known */
    { "delimiter", "\xFF", NULL, "UTF-8" },
    { "delimiter", NULL, NULL, "--delimiter needs a value: D" },
    { "quote", "'", "{\"quote\":\"'\"}", NULL },
    { "quote", "none", "{\"quote\":\"none\"}", NULL },
    { "quote", "''", NULL, "--quote takes one ASCII character or none, not \"''\"" },
    { "quote", "\xC2\xAB", NULL, "ASCII" },
    { "escape", "\\", "{\"escape\":\"\\\\\"}", NULL },
    { "escape", "none", "{\"escape\":\"none\"}", NULL },
    { "escape", "\n", NULL, "ASCII" },
    { "header", "true", "{\"header\":true}", NULL },
    { "header", "false", "{\"header\":false}", NULL },
    { "header", "none", "{\"header\":false}", NULL },
    { "header", "3", "{\"header\":3}", NULL },
    { "header", "0", NULL, "--header takes true, false, none or a row number from 1, not \"0\"" },
    { "header", "99999999999", NULL, "row number" },
    { "header", "3x", NULL, "row number" },
    { "no-header", NULL, "{\"header\":false}", NULL },
    { "no-header", "true", "{\"header\":false}", NULL },
    { "no-header", "false", "{\"header\":true}", NULL },
    { "no-header", "maybe", NULL, "--no-header takes no value, true or false" },
    { "encoding", "latin1", "{\"encoding\":\"ISO-8859-1\"}", NULL },
    { "encoding", "utf_16", "{\"encoding\":\"UTF-16\"}", NULL },
    { "encoding", "utf8", "{\"encoding\":\"UTF-8\"}", NULL },
    { "encoding", "klingon", NULL, "no encoding is called \"klingon\"" },
    { "encoding", "ISO-2022-JP", NULL, "shift states" },
    { "ragged", "null", "{\"ragged\":\"null\"}", NULL },
    { "ragged", "error", "{\"ragged\":\"error\"}", NULL },
    { "ragged", "x", NULL, "--ragged takes error or null, not \"x\"" },
    { "sheet", "Q1 2024", "{\"sheet\":\"Q1 2024\"}", NULL },
    { "sheet", "2", "{\"sheet\":\"2\"}", NULL },
    { "sheet", "", NULL, "--sheet takes" },
    { "header-row", NULL, "{\"header-row\":true}", NULL },
    { "header-row", "false", "{\"header-row\":false}", NULL },
    { "header-row", "1", NULL, "--header-row takes no value, true or false" },
    { "names", "id,a\\,b", "{\"names\":\"id,a\\\\,b\"}", NULL },
    { "names", "", NULL, "--names takes" },
    { "types", "proven", "{\"types\":\"proven\"}", NULL },
    { "types", "magic", NULL, "--types takes auto, proven, sample or text, not \"magic\"" },
    { "all-text", NULL, "{\"types\":\"text\"}", NULL },
    { "null", "NA", "{\"null\":[\"NA\"]}", NULL },
    { "null", "\\N", "{\"null\":[\"\\\\N\"]}", NULL },
    { "decimal", NULL, "{\"decimal\":true}", NULL },
    { "decimal", "false", "{\"decimal\":false}", NULL },
    { "column", "a=int64", "{\"column\":[\"a=int64\"]}", NULL },
    { "column", "a=b=string", "{\"column\":[\"a=b=string\"]}", NULL },
    { "column", "a=decimal(10,2)", "{\"column\":[\"a=decimal(10,2)\"]}", NULL },
    { "column", "a={\"struct\":[[\"x=y\",\"int64\"]]}", NULL, "" },
    { "column", "a=map", "{\"column\":[\"a=map\"]}", NULL },
    { "column", "a", NULL, "--column takes NAME=TYPE, not \"a\"" },
    { "column", "=int64", NULL, "NAME=TYPE" },
    { "column", "a=int65", NULL, "int65" },
    { "delimeter", ";", NULL, "no read option --delimeter" },
};

static void setting(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(set_cases); i++) {
        lb_read_options *o = fresh();
        lb_error err = LB_ERROR_INIT;
        lb_status status = lb_read_options_set(o, set_cases[i].name, set_cases[i].value, &err);
        if ((status == LB_OK) != (set_cases[i].json != NULL))
            fail_msg("--%s %s: %s", set_cases[i].name, set_cases[i].value, err.message);
        if (status == LB_OK)
            check_json(o, set_cases[i].json);
        else if (strstr(err.message, set_cases[i].says) == NULL)
            fail_msg("--%s %s says: %s", set_cases[i].name, set_cases[i].value, err.message);
        else
            check_json(o, "{}");
        lb_read_options_free(o);
    }
}

static void suggestions(void **state)
{
    (void)state;
    lb_read_options *o = fresh();
    lb_error err = LB_ERROR_INIT;
    assert_int_equal(lb_read_options_set(o, "delimeter", ";", &err), LB_USAGE);
    assert_string_equal(err.hint, "did you mean --delimiter?");
    assert_int_equal(lb_read_options_set(o, "frobnicate", ";", &err), LB_USAGE);
    assert_non_null(strstr(err.hint, "delimiter, quote"));
    lb_read_options_free(o);
    lb_read_options_free(NULL);
}

/* Every name of the list can be set, and its help fits a line. */
static void the_list(void **state)
{
    (void)state;
    size_t n = 0;
    for (const lb_option_info *info = lb_read_option_list(); info->name != NULL; info++, n++) {
        lb_error err = LB_ERROR_INIT;
        lb_read_options *o = fresh();
        lb_status status = lb_read_options_set(o, info->name, NULL, &err);
        assert_int_equal(status, info->value == NULL ? LB_OK : LB_USAGE);
        assert_true(strlen(info->help) < 80 && info->help[0] != '\0');
        if (status == LB_OK)
            assert_true(info->structural ? o->set != 0 && o->value_set == 0 : o->set == 0 && o->value_set != 0);
        lb_read_options_free(o);
    }
    assert_int_equal(n, 15);
}

static const struct {
    const char *text, *json; /* JSON NULL: USAGE */
} parse_cases[] = {
    { "", "{}" },
    { "delimiter=;,encoding=WINDOWS-1252", "{\"delimiter\":\";\",\"encoding\":\"WINDOWS-1252\"}" },
    { "delimiter=\\,", "{\"delimiter\":\",\"}" },
    { "delimiter=\\t,no-header", "{\"delimiter\":\"\\t\",\"header\":false}" },
    { "null=NA,null=,null=a=b,null=NA", "{\"null\":[\"NA\",\"\",\"a=b\"]}" },
    { "column=p=decimal(10\\,2), column=q=int64", "{\"column\":[\"p=decimal(10,2)\",\"q=int64\"]}" },
    { "column=a=int64,column=a=string", "{\"column\":[\"a=string\"]}" },
    { "quote=none,delimiter=\"", "{\"delimiter\":\"\\\"\",\"quote\":\"none\"}" },
    { "escape=\\\\,null=\\N", "{\"escape\":\"\\\\\",\"null\":[\"\\\\N\"]}" },
    { "delimiter=;,,quote=none", NULL },
    { "all-text,types=auto", "{\"types\":\"auto\"}" },
    { "decimal,", "{\"decimal\":true}" },
    { "delimiter", NULL },
    { "=x", NULL },
    { ",", NULL },
};

static void parsing(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(parse_cases); i++) {
        lb_read_options *o = fresh(), *back;
        lb_error err = LB_ERROR_INIT;
        lb_status status = lb_read_options_parse(o, parse_cases[i].text, &err);
        if (parse_cases[i].json == NULL) {
            if (status != LB_USAGE)
                fail_msg("%s was taken", parse_cases[i].text);
        } else {
            if (status != LB_OK)
                fail_msg("%s: %s", parse_cases[i].text, err.message);
            check_json(o, parse_cases[i].json);
            status = lb_read_options_of_json(parse_cases[i].json, strlen(parse_cases[i].json), &back, NULL);
            assert_int_equal(status, LB_OK);
            check_json(back, parse_cases[i].json);
            assert_int_equal(back->set, o->set);
            assert_int_equal(back->value_set, o->value_set);
            lb_read_options_free(back);
        }
        lb_read_options_free(o);
    }
    check_json(NULL, "{}");
}

static void bad_json(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        lb_status status;
    } cases[] = {
        { "", LB_CORRUPT },
        { "[]", LB_CORRUPT },
        { "{", LB_CORRUPT },
        { "{\"delimiter\":{}}", LB_CORRUPT },
        { "{\"delimiter\":null}", LB_CORRUPT },
        { "{\"null\":[1.5]}", LB_CORRUPT },
        { "{\"null\":[[\"a\"]]}", LB_CORRUPT },
        { "{\"delimiter\":\";\",\"delimiter\":\",\"}", LB_CORRUPT },
        { "{\"ragged\":\"x\"}", LB_USAGE },
        { "{\"what\":\"x\"}", LB_USAGE },
    };
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        lb_read_options *o;
        assert_int_equal(lb_read_options_of_json(cases[i].json, strlen(cases[i].json), &o, NULL), cases[i].status);
        assert_null(o);
    }
}

static void check_merge(const char *from, const char *over, const char *want)
{
    lb_read_options *a = fresh(), *b = fresh(), *merged;
    assert_int_equal(lb_read_options_parse(a, from, NULL), LB_OK);
    assert_int_equal(lb_read_options_parse(b, over, NULL), LB_OK);
    assert_int_equal(lb_read_options_merge(a, b, &merged, NULL), LB_OK);
    lb_read_options_free(a); /* the copy is deep */
    lb_read_options_free(b);
    check_json(merged, want);
    lb_read_options_free(merged);
}

static void merging(void **state)
{
    (void)state;
    check_merge("", "", "{}");
    check_merge("delimiter=;,encoding=GBK", "encoding=BIG5,sheet=x",
                "{\"delimiter\":\";\",\"encoding\":\"BIG5\",\"sheet\":\"x\"}");
    check_merge("no-header,ragged=null", "header=true", "{\"header\":true,\"ragged\":\"null\"}");
    check_merge("null=a,null=b", "null=c", "{\"null\":[\"c\"]}");
    /* All text undoes what gave values another meaning before it, not what is asked with it. */
    check_merge("null=a,decimal,column=a=date,ragged=null", "types=text", "{\"ragged\":\"null\",\"types\":\"text\"}");
    check_merge("null=a,decimal", "types=text,column=b=date", "{\"types\":\"text\",\"column\":[\"b=date\"]}");
    check_merge("column=a=int64,column=b=int64", "column=b=string,column=c=date",
                "{\"column\":[\"a=int64\",\"b=string\",\"c=date\"]}");
    lb_read_options *merged;
    assert_int_equal(lb_read_options_merge(NULL, NULL, &merged, NULL), LB_OK);
    check_json(merged, "{}");
    lb_read_options_free(merged);
}

/* Many values: a bound, not a crash. */
static void many_values(void **state)
{
    (void)state;
    lb_read_options *o = fresh();
    char text[32];
    lb_status status = LB_OK;
    size_t n = 0;
    for (; status == LB_OK && n < 20000; n++) {
        (void)snprintf(text, sizeof text, "%zu", n);
        status = lb_read_options_set(o, "null", text, NULL);
    }
    assert_int_equal(status, LB_BUDGET);
    assert_int_equal(o->n_nulls, 10000);
    assert_string_equal(o->nulls[9999], "9999");
    lb_read_options_free(o);
}

static const lb_dialect csv = { .delimiter = { ",", 1 },
                                .quote = '"',
                                .escape = -1,
                                .has_header = true,
                                .encoding = { "", 0 },
                                .sheet = -1,
                                .header_row = -1 };
static const lb_dialect utf16 = { .delimiter = { "\t", 1 },
                                  .quote = -1,
                                  .escape = '\\',
                                  .encoding = { "UTF-16BE", 8 },
                                  .bom_bytes = 2,
                                  .ragged_null = true,
                                  .sheet = -1,
                                  .header_row = -1 };
static const lb_dialect sheet = { .delimiter = { "", 0 },
                                  .quote = -1,
                                  .escape = -1,
                                  .has_header = true,
                                  .sheet = 2,
                                  .header_row = 4,
                                  .encoding = { "", 0 } };

static const struct {
    const lb_dialect *dialect; /* NULL: none */
    const char *options;
    bool serves;
} serve_cases[] = {
    { &csv, "", true },
    { &csv, "types=text,null=NA,decimal,column=a=int64", true },
    { &csv, "delimiter=\\,", true },
    { &csv, "delimiter=;", false },
    { &csv, "quote=\"", true },
    { &csv, "quote=none", false },
    { &csv, "escape=none", true },
    { &csv, "escape=\\", false },
    { &csv, "header=true", true },
    { &csv, "header=1", true },
    { &csv, "header=2", false },
    { &csv, "no-header", false },
    { &csv, "encoding=utf8", true },
    { &csv, "encoding=latin1", false },
    { &csv, "encoding=utf-16", false },
    { &csv, "ragged=error", true },
    { &csv, "ragged=null", false },
    { &csv, "sheet=0", false },
    { &utf16, "delimiter=tab,quote=none,escape=\\\\,no-header,ragged=null", true },
    { &utf16, "encoding=utf16", true },
    { &utf16, "encoding=utf-16be", true },
    { &utf16, "encoding=utf-16le", false },
    { &utf16, "encoding=utf-32", false },
    { &utf16, "encoding=utf-8", false },
    { &sheet, "sheet=2", true },
    { &sheet, "sheet=1", false },
    { &sheet, "sheet=2x", false },
    { &sheet, "header=4", true },
    { &sheet, "header=1", false },
    { &sheet, "header=none", false },
    { NULL, "", true },
    { NULL, "decimal", true },
    { NULL, "encoding=utf-8", true },
    { NULL, "encoding=gbk", false },
    { NULL, "delimiter=;", false },
    { NULL, "header-row", false },
    { NULL, "header-row=false", true },
    { &csv, "header-row", false },
};

static void serving(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(serve_cases); i++) {
        lb_entry entry = { .has_dialect = serve_cases[i].dialect != NULL };
        lb_read_options *o = fresh();
        if (entry.has_dialect)
            entry.dialect = *serve_cases[i].dialect;
        assert_int_equal(lb_read_options_parse(o, serve_cases[i].options, NULL), LB_OK);
        if (lb_dialect_serves(&entry, o) != serve_cases[i].serves)
            fail_msg("case %zu: %s", i, serve_cases[i].options);
        assert_true(lb_dialect_serves(&entry, NULL));
        lb_read_options_free(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting),     cmocka_unit_test(suggestions), cmocka_unit_test(the_list),
        cmocka_unit_test(parsing),     cmocka_unit_test(bad_json),    cmocka_unit_test(merging),
        cmocka_unit_test(many_values), cmocka_unit_test(serving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
