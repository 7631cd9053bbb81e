/* Columns of several files as one: types, values and bounds, by the table of types.md section 6; the wanted values stand
 * there, or are those of the files. */
#include "lake_fixture.h"

typedef struct meeting {
    const char *a, *b;       /* column x of a.csv and b.csv, one value a line; NULL: no such column */
    const char *type, *rows; /* of x, and the values as JSON */
    const char *min, *max;   /* NULL: none */
    int64_t nulls;           /* -1: not known, for a quoted empty field is null but in text */
} meeting;

#define BIG "9007199254740992" /* 2^53 */
#define BIGGER "9007199254740993"

static const meeting meetings[] = {
    { "1\n2\n", "-3\n", "int64", "1,2,-3", "-3", "2", 0 },
    { "1\n", "2.5\n", "float64", "1.0,2.5", "1.0", "2.5", 0 },
    { "2.5\n", "-7\n", "float64", "2.5,-7.0", "-7.0", "2.5", 0 },
    { BIG "\n", "0.5\n", "float64", "9007199254740992.0,0.5", "0.5", "9007199254740992.0", 0 },
    { BIGGER "\n", "0.5\n", "string", "\"" BIGGER "\",\"0.5\"", NULL, NULL, -1 },
    { "0.5\n", "-" BIGGER "\n", "string", "\"0.5\",\"-" BIGGER "\"", NULL, NULL, -1 },
    { "NaN\n", "1.5\n", "float64", "\"NaN\",1.5", "1.5", "1.5", 0 },
    { "1\n", "NaN\n", "float64", "1.0,\"NaN\"", "1.0", "1.0", 0 },
    { "5\n", "18446744073709551615\n", "uint64", "5,18446744073709551615", "5", "18446744073709551615", 0 },
    { "18446744073709551615\n", "5\n", "uint64", "18446744073709551615,5", "5", "18446744073709551615", 0 },
    { "-5\n", "18446744073709551615\n", "string", "\"-5\",\"18446744073709551615\"", NULL, NULL, -1 },
    { "1\n", "a\n", "string", "\"1\",\"a\"", NULL, NULL, -1 },
    { "1.50\n", " a \n", "string", "\"1.50\",\" a \"", NULL, NULL, -1 }, /* as it stood */
    { "true\n", "1\n", "string", "\"true\",\"1\"", NULL, NULL, -1 },
    { "true\n", "FALSE\n", "bool", "true,false", "false", "true", 0 },
    { "2020-01-02\n", "5\n", "string", "\"2020-01-02\",\"5\"", NULL, NULL, -1 },
    { "2020-01-02\n", "12:00:00\n", "string", "\"2020-01-02\",\"12:00:00\"", NULL, NULL, -1 },
    { "2020-01-02\n", "2019-01-01T10:00:00\n", "timestamp[us]", "\"2020-01-02T00:00:00\",\"2019-01-01T10:00:00\"",
      "2019-01-01T10:00:00", "2020-01-02T00:00:00", 0 },
    { "2019-01-01T10:00:00\n", "2020-01-02\n", "timestamp[us]", "\"2019-01-01T10:00:00\",\"2020-01-02T00:00:00\"",
      "2019-01-01T10:00:00", "2020-01-02T00:00:00", 0 },
    { "2020-01-02T00:00:00\n", "2020-01-01T00:00:00.123456789\n", "timestamp[ns]",
      "\"2020-01-02T00:00:00\",\"2020-01-01T00:00:00.123456789\"", "2020-01-01T00:00:00.123456789",
      "2020-01-02T00:00:00", 0 },
    { "2300-01-02T00:00:00\n", "2020-01-01T00:00:00.123456789\n", "string",
      "\"2300-01-02T00:00:00\",\"2020-01-01T00:00:00.123456789\"", NULL, NULL, -1 },
    { "2020-01-02\n", "2020-01-01T00:00:00.123456789\n", "timestamp[ns]",
      "\"2020-01-02T00:00:00\",\"2020-01-01T00:00:00.123456789\"", "2020-01-01T00:00:00.123456789",
      "2020-01-02T00:00:00", 0 },
    { "2020-01-02T00:00:00Z\n", "2020-01-01T00:00:00\n", "string", "\"2020-01-02T00:00:00Z\",\"2020-01-01T00:00:00\"",
      NULL, NULL, -1 },
    { "10:00:00\n", "09:00:00.000000001\n", "time[ns]", "\"10:00:00\",\"09:00:00.000000001\"", "09:00:00.000000001",
      "10:00:00", 0 },
    { "z\n", "b\n", "string", "\"z\",\"b\"", "b", "z", 0 },
    /* Nulls: of nothing but nulls, and of files without the column. */
    { "\"\"\n", "7\n", "string", "\"\",\"7\"", NULL, NULL, -1 },
    { "\n\n", "7\n", "int64", "null,null,7", "7", "7", 2 },
    { "7\n", "\n", "int64", "7,null", "7", "7", 1 },
    { "\n", "\n", "string", "null,null", NULL, NULL, 2 },
    { NULL, "7\n8\n", "int64", "null,7,8", "7", "8", 1 },
    { "7.5\n8\n", NULL, "float64", "7.5,8.0,null", "7.5", "8.0", 1 },
    { "", "1.5\n", "float64", "1.5", "1.5", "1.5", 0 },
    { "2020-02-02\n", "", "date", "\"2020-02-02\"", "2020-02-02", "2020-02-02", 0 },
};

/* Two columns, so that an empty line is a value that is null. */
static void put_column(const char *path, const char *values)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(values == NULL ? "k\n1\n" : "k,x\n", f);
    while (values != NULL && *values != '\0') {
        const char *end = strchr(values, '\n');
        (void)fprintf(f, "1,%.*s\n", (int)(end - values), values);
        values = end + 1;
    }
    assert_int_equal(fclose(f), 0);
}

static void check_meeting(const meeting *m, const lb_open_options *options)
{
    static const char *const x[] = { "x", NULL };
    const lb_slice slice = { .struct_size = sizeof slice, .limit = UINT64_MAX, .columns = x };
    lb_table *t = lake_open(".", options);
    lb_column_info c = { .struct_size = sizeof c };
    lb_error err = LB_ERROR_INIT;
    char *want = NULL, *got = lake_print(t, &slice, "ndjson", &err);
    size_t size;
    FILE *f = open_memstream(&want, &size);
    assert_non_null(got);
    assert_non_null(f);
    for (const char *p = m->rows; *p != '\0';) {
        const char *comma = strchr(p, ',');
        size_t n = comma == NULL ? strlen(p) : (size_t)(comma - p);
        (void)fprintf(f, "{\"x\":%.*s}\n", (int)n, p);
        p += n + (comma != NULL);
    }
    (void)fclose(f);
    assert_string_equal(got, want);
    for (uint64_t i = 0; i < lb_table_columns(t); i++) {
        lake_ok(lb_table_column(t, i, &c, &err), &err);
        if (strcmp(c.name, "x") == 0)
            break;
    }
    assert_string_equal(c.name, "x");
    assert_string_equal(c.type, m->type);
    assert_true(c.has_stats);
    assert_int_equal(c.null_count, m->nulls);
    assert_string_equal(c.min == NULL ? "(none)" : c.min, m->min == NULL ? "(none)" : m->min);
    assert_string_equal(c.max == NULL ? "(none)" : c.max, m->max == NULL ? "(none)" : m->max);
    assert_true(c.nullable || m->nulls <= 0);
    free(got);
    free(want);
    lb_close(t);
}

static void types_meet_as_the_table_says(void **state)
{
    const lb_open_options no_map = { .struct_size = sizeof no_map, .no_map = true };
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(meetings); i++) {
        print_message("meeting %zu\n", i);
        put_column("a.csv", meetings[i].a);
        put_column("b.csv", meetings[i].b);
        check_meeting(&meetings[i], &no_map);
        lake_map(NULL);
        check_meeting(&meetings[i], NULL);
    }
}

static void nans_are_counted_over_files(void **state)
{
    lb_column_info c = { .struct_size = sizeof c };
    (void)state;
    lake_put("a.csv", "x\nNaN\n1.5\n");
    lake_put("b.csv", "x\n4\n");
    lake_put("c.csv", "x\nNaN\nNaN\n");
    lake_put("d.csv", "y\n1\n");
    lb_table *t = lake_open(".", NULL);
    assert_int_equal(lb_table_column(t, 0, &c, NULL), LB_OK);
    assert_string_equal(c.type, "float64");
    assert_true(c.nan_count == 3 && c.null_count == 1);
    assert_string_equal(c.min, "1.5");
    assert_string_equal(c.max, "4.0");
    lb_close(t);
}

/* ---------------------------------------------------------------- conflicts */

static const char *const declared[] = { "a.csv:column=x=int64", "b.csv:column=x=date", NULL };
static const lb_map_options with_declared = { .struct_size = sizeof with_declared, .set = declared };

static void put_conflict(void)
{
    lake_put("a.csv", "id,x\n1,5\n");
    lake_put("b.csv", "id,x\n2,2020-01-02\n");
    lake_put("c.csv", "id,x\n3,text\n");
    lake_map(&with_declared);
}

static void a_conflict_fails_reads_of_its_column_only(void **state)
{
    static const char *const id[] = { "id", NULL }, *const both[] = { "id", "x", NULL };
    lb_slice slice = { .struct_size = sizeof slice, .limit = UINT64_MAX, .columns = id };
    lb_error err = LB_ERROR_INIT;
    struct ArrowArrayStream stream;
    (void)state;
    put_conflict();
    lb_table *t = lake_open(".", NULL);
    lake_rows_are(t, &slice, "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n");
    slice.columns = both;
    assert_int_equal(lb_table_slice(t, &slice, &stream, &err), LB_CORRUPT);
    assert_null(stream.release);
    assert_string_equal(err.message, "column 'x' is int64 in a.csv and date in b.csv");
    assert_non_null(strstr(err.hint, "--schema text"));
    lb_column_info c = { .struct_size = sizeof c };
    assert_int_equal(lb_table_column(t, 1, &c, &err), LB_OK);
    assert_false(c.has_stats);
    lb_close(t);
}

static void conflicts_as_text(void **state)
{
    const lb_open_options text = { .struct_size = sizeof text, .schema = LB_SCHEMA_TEXT };
    (void)state;
    put_conflict();
    lb_table *t = lake_open(".", &text);
    lake_rows_are(t, NULL, "{\"id\":1,\"x\":\"5\"}\n{\"id\":2,\"x\":\"2020-01-02\"}\n{\"id\":3,\"x\":\"text\"}\n");
    lb_close(t);
}

static void strict_refuses_any_difference(void **state)
{
    static const struct {
        const char *a, *b, *says;
    } cases[] = {
        { "id,x\n1,5\n", "id,x\n1,2.5\n", "column 'x' is int64 in a.csv and float64 in b.csv" },
        { "id\n1\n", "id,x\n1,5\n", "b.csv has a column 'x'" },
        { "id,x\n1,5\n", "id\n1\n", "b.csv has 1 column where the files before it have 2" },
        { "id,x\n1,5\n", "id,y\n1,5\n", "b.csv has a column 'y'" },
    };
    const lb_open_options strict = { .struct_size = sizeof strict, .schema = LB_SCHEMA_STRICT };
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        lb_error err = LB_ERROR_INIT;
        lb_table *t = NULL;
        lake_put("a.csv", cases[i].a);
        lake_put("b.csv", cases[i].b);
        lake_map(NULL);
        assert_int_equal(lb_open(cx, ".", &strict, &t, &err), LB_CORRUPT);
        assert_null(t);
        if (strstr(err.message, cases[i].says) == NULL)
            fail_msg("%s", err.message);
    }
    lake_put("b.csv", cases[0].a);
    lake_map(NULL);
    lb_close(lake_open(".", &strict));
}

static void columns_stand_by_first_appearance(void **state)
{
    (void)state;
    lake_put("a.csv", "m,z\n1,2\n");
    lake_put("b.csv", "a,z,q\n3,4,5\n");
    lake_put("c.csv", "q,m\n6,7\n");
    lb_table *t = lake_open(".", NULL);
    lake_rows_are(t, NULL,
                  "{\"m\":1,\"z\":2,\"a\":null,\"q\":null}\n{\"m\":null,\"z\":4,\"a\":3,\"q\":5}\n"
                  "{\"m\":7,\"z\":null,\"a\":null,\"q\":6}\n");
    lb_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LAKE_TEST(types_meet_as_the_table_says),
        LAKE_TEST(nans_are_counted_over_files),
        LAKE_TEST(a_conflict_fails_reads_of_its_column_only),
        LAKE_TEST(conflicts_as_text),
        LAKE_TEST(strict_refuses_any_difference),
        LAKE_TEST(columns_stand_by_first_appearance),
    };
    return cmocka_run_group_tests(tests, lake_group_setup, lake_group_teardown);
}
