/* Every Arrow type in every form. Exact forms were worked out with Python (json, base64, datetime.isoformat, decimal,
 * '%.17g' of floats widened by struct.unpack), and follow the tables of the conformance data. */
#include <stdio.h>

#include "column_fixture.h"

#include "base/utf8.h"

/* ---------------------------------------------------------------- one value in each form */

static const struct {
    const char *type, *value;
    const char *canonical, *tagged, *json, *csv;
} value_cases[] = {
    { "null", "null", "null", "null", "null", "" },
    { "bool", "true", "true", "true", "true", "true" },
    { "bool", "null", "null", "null", "null", "" },
    { "int8", "-128", "-128", "-128", "-128", "-128" },
    { "uint8", "255", "255", "255", "255", "255" },
    { "int16", "-32768", "-32768", "-32768", "-32768", "-32768" },
    { "uint16", "65535", "65535", "65535", "65535", "65535" },
    { "int32", "-2147483648", "-2147483648", "-2147483648", "-2147483648", "-2147483648" },
    { "uint32", "4294967295", "4294967295", "4294967295", "4294967295", "4294967295" },
    { "int64", "9007199254740991", "9007199254740991", "9007199254740991", "9007199254740991", "9007199254740991" },
    { "int64", "9007199254740992", "9007199254740992", "{\"$int\":\"9007199254740992\"}", "9007199254740992",
      "9007199254740992" },
    { "int64", "-9223372036854775808", "-9223372036854775808", "{\"$int\":\"-9223372036854775808\"}",
      "-9223372036854775808", "-9223372036854775808" },
    { "uint64", "18446744073709551615", "18446744073709551615", "{\"$int\":\"18446744073709551615\"}",
      "18446744073709551615", "18446744073709551615" },
    { "float16", "1.5", "1.5", "1.5", "1.5", "1.5" },
    { "float16", "65504", "65504", "65504.0", "65504.0", "65504.0" },
    { "float32", "0.1", "0.10000000149011612", "0.10000000149011612", "0.1", "0.1" },
    { "float32", "-0", "-0", "-0.0", "-0.0", "-0.0" },
    { "float64", "0.1", "0.10000000000000001", "0.1", "0.1", "0.1" },
    { "float64", "1", "1", "1.0", "1.0", "1.0" },
    { "float64", "1e300", "1.0000000000000001e+300", "1e300", "1e300", "1e300" },
    { "float64", "NaN", "NaN", "{\"$float\":\"NaN\"}", "\"NaN\"", "NaN" },
    { "float64", "-Infinity", "-Infinity", "{\"$float\":\"-Infinity\"}", "\"-Infinity\"", "-Infinity" },
    { "float32", "Infinity", "Infinity", "{\"$float\":\"Infinity\"}", "\"Infinity\"", "Infinity" },
    { "@d:9,2,32", "-0.05", "\"-0.05\"", "\"-0.05\"", "-0.05", "-0.05" },
    { "@d:18,0,64", "123456789012345678", "\"123456789012345678\"", "\"123456789012345678\"", "123456789012345678",
      "123456789012345678" },
    { "decimal(38,2)", "-999999999999999999999999999999999999.99", "\"-999999999999999999999999999999999999.99\"",
      "\"-999999999999999999999999999999999999.99\"", "-999999999999999999999999999999999999.99",
      "-999999999999999999999999999999999999.99" },
    { "decimal(76,3)", "1.5", "\"1.500\"", "\"1.500\"", "1.500", "1.500" },
    { "string", "\"a\\\t\xc5\xbc\"", "\"a\\\\\\u0009\xc5\xbc\"", "\"a\\\\\\u0009\xc5\xbc\"", "\"a\\\\\\t\xc5\xbc\"",
      "a\\\t\xc5\xbc" },
    { "string",
      "\"a\xff"
      "b\"",
      "{\"$bin\":\"Yf9i\"}", "{\"$bin\":\"Yf9i\"}",
      "\"a\xef\xbf\xbd"
      "b\"",
      "a\xff"
      "b" },
    { "@U", "\"large\"", "\"large\"", "\"large\"", "\"large\"", "large" },
    { "@vu", "\"short\"", "\"short\"", "\"short\"", "\"short\"", "short" },
    { "@vu", "\"longer than twelve bytes\"", "\"longer than twelve bytes\"", "\"longer than twelve bytes\"",
      "\"longer than twelve bytes\"", "longer than twelve bytes" },
    { "binary", "\"\"", "{\"$bin\":\"\"}", "{\"$bin\":\"\"}", "\"\"", "" },
    { "binary", "\"a\"", "{\"$bin\":\"YQ==\"}", "{\"$bin\":\"YQ==\"}", "\"YQ==\"", "YQ==" },
    { "@Z", "\"ab\"", "{\"$bin\":\"YWI=\"}", "{\"$bin\":\"YWI=\"}", "\"YWI=\"", "YWI=" },
    { "@vz", "\"abcabcabcabcabc\"", "{\"$bin\":\"YWJjYWJjYWJjYWJjYWJj\"}", "{\"$bin\":\"YWJjYWJjYWJjYWJjYWJj\"}",
      "\"YWJjYWJjYWJjYWJjYWJj\"", "YWJjYWJjYWJjYWJjYWJj" },
    { "fixed_binary(3)", "\"\xff\xfe\xfd\"", "{\"$bin\":\"//79\"}", "{\"$bin\":\"//79\"}", "\"//79\"", "//79" },
    { "uuid",
      "\"\x12\x34\x56\x78\x9a\xbc\xde\xf0"
      "ABCDEFGH\"",
      "\"12345678-9abc-def0-4142-434445464748\"", "\"12345678-9abc-def0-4142-434445464748\"",
      "\"12345678-9abc-def0-4142-434445464748\"", "12345678-9abc-def0-4142-434445464748" },
    { "date", "18321", "18321", "18321", "\"2020-02-29\"", "2020-02-29" },
    { "date[ms]", "1582934400000", "1582934400000", "1582934400000", "\"2020-02-29\"", "2020-02-29" },
    { "date[ms]", "-1", "-1", "-1", "\"1969-12-31T23:59:59.999\"", "1969-12-31T23:59:59.999" },
    { "time[s]", "86399", "86399", "86399", "\"23:59:59\"", "23:59:59" },
    { "time[ms]", "1500", "1500", "1500", "\"00:00:01.500\"", "00:00:01.500" },
    { "time[us]", "1", "1", "1", "\"00:00:00.000001\"", "00:00:00.000001" },
    { "time[ns]", "3600000000000", "3600000000000", "3600000000000", "\"01:00:00\"", "01:00:00" },
    { "timestamp[s]", "1600000000", "1600000000", "1600000000", "\"2020-09-13T12:26:40\"", "2020-09-13T12:26:40" },
    { "timestamp[us,Europe/Paris]", "-1", "-1", "-1", "\"1969-12-31T23:59:59.999999Z\"",
      "1969-12-31T23:59:59.999999Z" },
    { "timestamp[ns,UTC]", "1600000000000000001", "1600000000000000001", "{\"$int\":\"1600000000000000001\"}",
      "\"2020-09-13T12:26:40.000000001Z\"", "2020-09-13T12:26:40.000000001Z" },
    { "duration[ms]", "90061500", "90061500", "90061500", "\"P1DT1H1M1.5S\"", "P1DT1H1M1.5S" },
    { "interval[month]", "-14", "-14", "-14", "\"-P14M\"", "-P14M" },
    { "interval[month]", "0", "0", "0", "\"P0M\"", "P0M" },
    { "interval[day_ms]", "[0,3,1500000000]", "[3,1500]", "[3,1500]", "\"P3DT1.5S\"", "P3DT1.5S" },
    { "interval[month_day_ns]", "[1,-2,9007199254740993]", "[1,-2,9007199254740993]",
      "[1,-2,{\"$int\":\"9007199254740993\"}]", "\"P1M-2DT9007199.254740993S\"", "P1M-2DT9007199.254740993S" },
    { "interval[month_day_ns]", "[-1,0,-5]", "[-1,0,-5]", "[-1,0,-5]", "\"-P1MT0.000000005S\"", "-P1MT0.000000005S" },
    { "interval[month_day_ns]", "[0,0,0]", "[0,0,0]", "[0,0,0]", "\"PT0S\"", "PT0S" },
    { "{\"list\":\"int64\"}", "[1,null,9007199254740993]", "[1,null,9007199254740993]",
      "[1,null,{\"$int\":\"9007199254740993\"}]", "[1,null,9007199254740993]", "[1,null,9007199254740993]" },
    { "{\"list\":{\"list\":\"string\"}}", "[[],[\"a\"],null]", "[[],[\"a\"],null]", "[[],[\"a\"],null]",
      "[[],[\"a\"],null]", "[[],[\"a\"],null]" },
    { "{\"struct\":[{\"name\":\"d\",\"type\":\"date\"},{\"name\":\"\\\"q\\\"\",\"type\":\"binary\"}]}", "{0,\"a\"}",
      "{\"d\":0,\"\\\"q\\\"\":{\"$bin\":\"YQ==\"}}", "{\"d\":0,\"\\\"q\\\"\":{\"$bin\":\"YQ==\"}}",
      "{\"d\":\"1970-01-01\",\"\\\"q\\\"\":\"YQ==\"}", "{\"d\":\"1970-01-01\",\"\\\"q\\\"\":\"YQ==\"}" },
    { "{\"struct\":[]}", "{}", "{}", "{}", "{}", "{}" },
    { "{\"map\":[\"string\",\"float64\"]}", "[{\"k\",1},{\"l\",null}]", "[[\"k\",1],[\"l\",null]]",
      "[[\"k\",1.0],[\"l\",null]]", "{\"k\":1.0,\"l\":null}", "{\"k\":1.0,\"l\":null}" },
    { "{\"map\":[\"int32\",\"bool\"]}", "[{7,true}]", "[[7,true]]", "[[7,true]]", "[[7,true]]", "[[7,true]]" },
    { "{\"union\":[\"int32\",\"string\"]}", "1:\"a\"", "{\"$union\":[1,\"a\"]}", "{\"$union\":[1,\"a\"]}", "\"a\"",
      "\"a\"" },
    { "{\"union\":[\"int32\",\"string\"]}", "0:null", "{\"$union\":[0,null]}", "{\"$union\":[0,null]}", "null",
      "null" },
};

static void assert_form(size_t i, const struct ArrowSchema *type, const struct ArrowArray *array, lb_form form,
                        const char *want)
{
    lb_buf got;
    lb_buf_init(&got, NULL);
    fixture_print(type, array, form, &got);
    if (got.size != strlen(want) + 1 || memcmp(got.data, want, got.size - 1) != 0)
        fail_msg("case %zu (%s %s), form %d: expected %s, found %.*s", i, value_cases[i].type, value_cases[i].value,
                 (int)form, want, (int)got.size, (const char *)got.data);
    lb_buf_free(&got);
}

static void values_in_each_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(value_cases); i++) {
        struct ArrowSchema type;
        struct ArrowArray array;
        fixture_type(value_cases[i].type, &type);
        fixture_array(&type, value_cases[i].value, &array);
        assert_form(i, &type, &array, LB_FORM_CANONICAL, value_cases[i].canonical);
        assert_form(i, &type, &array, LB_FORM_TAGGED, value_cases[i].tagged);
        assert_form(i, &type, &array, LB_FORM_NDJSON, value_cases[i].json);
        assert_form(i, &type, &array, LB_FORM_JSON, value_cases[i].json);
        assert_form(i, &type, &array, LB_FORM_CSV, value_cases[i].csv);
        array.release(&array);
        type.release(&type);
    }
}

/* ---------------------------------------------------------------- layouts that words cannot make */

static void assert_canonical(const char *want, const struct ArrowSchema *type, const struct ArrowArray *array)
{
    lb_buf got;
    lb_buf_init(&got, NULL);
    fixture_print(type, array, LB_FORM_CANONICAL, &got);
    assert_text(want, &got);
    lb_buf_free(&got);
}

static void dictionaries_are_decoded(void **state)
{
    (void)state;
    struct ArrowSchema type;
    struct ArrowArray array;
    lb_error err = LB_ERROR_INIT;
    fixture_type("uint8", &type);
    assert_arrow(ArrowSchemaAllocateDictionary(&type));
    fixture_type("string", type.dictionary);
    assert_arrow(ArrowArrayInitFromSchema(&array, &type, NULL));
    assert_arrow(ArrowArrayStartAppending(&array));
    for (int i = 0; i < 3; i++)
        assert_arrow(ArrowArrayAppendInt(&array, 2 - i));
    assert_arrow(ArrowArrayAppendNull(&array, 1));
    assert_arrow(ArrowArrayAppendString(array.dictionary, ArrowCharView("zero")));
    assert_arrow(ArrowArrayAppendNull(array.dictionary, 1));
    assert_arrow(ArrowArrayAppendString(array.dictionary, ArrowCharView("two")));
    assert_arrow(ArrowArrayFinishBuildingDefault(&array, NULL));
    assert_canonical("\"two\"\nnull\n\"zero\"\nnull\n", &type, &array);

    /* An index beyond the dictionary is an error, not a read of what lies there. */
    struct ArrowArrayView view;
    lb_buf out;
    lb_buf_init(&out, NULL);
    ((uint8_t *)(uintptr_t)array.buffers[1])[0] = 3;
    assert_arrow(ArrowArrayViewInitFromSchema(&view, &type, NULL));
    assert_arrow(ArrowArrayViewSetArray(&view, &array, NULL));
    assert_status(LB_CORRUPT, lb_print_value(&type, &view, 0, LB_FORM_CSV, &out, &err), &err);
    lb_buf_free(&out);
    ArrowArrayViewReset(&view);
    array.release(&array);
    type.release(&type);
}

static void fixed_lists_print_their_items(void **state)
{
    (void)state;
    struct ArrowSchema type;
    struct ArrowArray array;
    ArrowSchemaInit(&type);
    assert_arrow(ArrowSchemaSetTypeFixedSize(&type, NANOARROW_TYPE_FIXED_SIZE_LIST, 2));
    assert_arrow(ArrowSchemaSetType(type.children[0], NANOARROW_TYPE_INT8));
    fixture_array(&type, "[1,2], null, [3,null]", &array);
    assert_canonical("[1,2]\nnull\n[3,null]\n", &type, &array);
    array.release(&array);
    type.release(&type);
}

static void list_views_may_go_back_and_forth(void **state)
{
    (void)state;
    struct ArrowSchema type;
    struct ArrowArray array;
    ArrowSchemaInit(&type);
    assert_arrow(ArrowSchemaSetFormat(&type, "+vl"));
    assert_arrow(ArrowSchemaAllocateChildren(&type, 1));
    ArrowSchemaInit(type.children[0]);
    assert_arrow(ArrowSchemaSetFormat(type.children[0], "i"));
    assert_arrow(ArrowSchemaSetName(type.children[0], "item"));
    assert_arrow(ArrowArrayInitFromSchema(&array, &type, NULL));
    assert_arrow(ArrowArrayStartAppending(&array));
    for (int i = 0; i < 4; i++)
        assert_arrow(ArrowArrayAppendInt(array.children[0], 10 + i));
    const int32_t offsets[] = { 2, 0, 1 }, sizes[] = { 2, 1, 3 };
    assert_arrow(ArrowBufferAppend(ArrowArrayBuffer(&array, 1), offsets, sizeof offsets));
    assert_arrow(ArrowBufferAppend(ArrowArrayBuffer(&array, 2), sizes, sizeof sizes));
    array.length = 3;
    assert_arrow(ArrowArrayFinishBuildingDefault(&array, NULL));
    assert_canonical("[12,13]\n[10]\n[11,12,13]\n", &type, &array);
    array.release(&array);
    type.release(&type);
}

static void runs_repeat_their_values(void **state)
{
    (void)state;
    struct ArrowSchema type;
    struct ArrowArray array;
    ArrowSchemaInit(&type);
    assert_arrow(ArrowSchemaSetTypeRunEndEncoded(&type, NANOARROW_TYPE_INT16));
    assert_arrow(ArrowSchemaSetType(type.children[1], NANOARROW_TYPE_STRING));
    assert_arrow(ArrowArrayInitFromSchema(&array, &type, NULL));
    assert_arrow(ArrowArrayStartAppending(&array));
    assert_arrow(ArrowArrayAppendInt(array.children[0], 2));
    assert_arrow(ArrowArrayAppendInt(array.children[0], 4));
    assert_arrow(ArrowArrayAppendString(array.children[1], ArrowCharView("a")));
    assert_arrow(ArrowArrayAppendNull(array.children[1], 1));
    array.length = 4;
    assert_arrow(ArrowArrayFinishBuildingDefault(&array, NULL));
    assert_canonical("\"a\"\n\"a\"\nnull\nnull\n", &type, &array);
    array.offset = 1; /* a slice: rows 1 and 2 */
    array.length = 2;
    assert_canonical("\"a\"\nnull\n", &type, &array);
    array.release(&array);
    type.release(&type);
}

/* ---------------------------------------------------------------- whole streams */

#define ROWS_TYPE                                                                                       \
    "{\"struct\":[{\"name\":\"n\",\"type\":\"int64\"},{\"name\":\"t, \\\"x\\\"\",\"type\":\"string\"}," \
    "{\"name\":\"b\",\"type\":\"binary\"},{\"name\":\"l\",\"type\":{\"list\":\"string\"}}]}"
#define ROWS_VALUES \
    "{1,\"plain\",\"abc\",[\"x\",\"y\"]}, {null,\"\",null,[]}, {-3,\"a,b\",\"\",null}, {4,null,null,[null]}"

static const struct {
    const char *form, *delimiter;
    bool header;
    int times;
    const char *want;
} stream_cases[] = {
    { "csv", NULL, true, 1,
      "n,\"t, \"\"x\"\"\",b,l\n1,plain,YWJj,\"[\"\"x\"\",\"\"y\"\"]\"\n,\"\",,[]\n-3,\"a,b\",\"\",\n4,,,[null]\n" },
    { "csv", "|", false, 1, "1|plain|YWJj|\"[\"\"x\"\",\"\"y\"\"]\"\n|\"\"||[]\n-3|a,b|\"\"|\n4|||[null]\n" },
    { "csv", "3", false, 1, "13plain3YWJj3\"[\"\"x\"\",\"\"y\"\"]\"\n3\"\"33[]\n\"-3\"3a,b3\"\"3\n4333[null]\n" },
    { "csv", NULL, true, 0, "n,\"t, \"\"x\"\"\",b,l\n" },
    { "ndjson", NULL, false, 1,
      "{\"n\":1,\"t, \\\"x\\\"\":\"plain\",\"b\":\"YWJj\",\"l\":[\"x\",\"y\"]}\n"
      "{\"n\":null,\"t, \\\"x\\\"\":\"\",\"b\":null,\"l\":[]}\n"
      "{\"n\":-3,\"t, \\\"x\\\"\":\"a,b\",\"b\":\"\",\"l\":null}\n"
      "{\"n\":4,\"t, \\\"x\\\"\":null,\"b\":null,\"l\":[null]}\n" },
    { "ndjson", NULL, false, 0, "" },
    { "json", NULL, false, 0, "[]\n" },
    { "canonical", NULL, false, 1,
      "[1,\"plain\",{\"$bin\":\"YWJj\"},[\"x\",\"y\"]]\n[null,\"\",null,[]]\n[-3,\"a,b\",{\"$bin\":\"\"},null]\n"
      "[4,null,null,[null]]\n" },
    { "tagged", NULL, false, 1,
      "{\"n\":1,\"t, \\\"x\\\"\":\"plain\",\"b\":{\"$bin\":\"YWJj\"},\"l\":[\"x\",\"y\"]}\n"
      "{\"n\":null,\"t, \\\"x\\\"\":\"\",\"b\":null,\"l\":[]}\n"
      "{\"n\":-3,\"t, \\\"x\\\"\":\"a,b\",\"b\":{\"$bin\":\"\"},\"l\":null}\n"
      "{\"n\":4,\"t, \\\"x\\\"\":null,\"b\":null,\"l\":[null]}\n" },
    { "table", NULL, false, 1,
      "    n  t, \"x\"  b          l\n"
      "int64  string  binary     {\"list\":\"string\"}\n"
      "─────  ──────  ─────────  ─────────────────\n"
      "    1  plain   ⟨3 bytes⟩  [\"x\",\"y\"]\n"
      "    ∅          ∅          []\n"
      "   -3  a,b     ⟨0 bytes⟩  ∅\n"
      "    4  ∅       ∅          [null]\n" },
};

static void streams_as_literals(void **state)
{
    (void)state;
    struct ArrowSchema type;
    struct ArrowArray array;
    fixture_type(ROWS_TYPE, &type);
    fixture_array(&type, ROWS_VALUES, &array);
    for (size_t i = 0; i < COUNT_OF(stream_cases); i++) {
        lb_print_options options = { .struct_size = sizeof options,
                                     .header = stream_cases[i].header,
                                     .delimiter = stream_cases[i].delimiter };
        lb_error err = LB_ERROR_INIT;
        lb_buf out;
        uint64_t rows;
        lb_buf_init(&out, NULL);
        assert_status(
            LB_OK,
            fixture_print_rows(&type, &array, stream_cases[i].times, stream_cases[i].form, &options, &out, &rows, &err),
            &err);
        assert_text(stream_cases[i].want, &out);
        assert_int_equal(4 * stream_cases[i].times, rows);
        lb_buf_free(&out);
    }
    array.release(&array);
    type.release(&type);
}

/* As Python's json.dumps(…, ensure_ascii=False) writes them; the exact forms name every control character by its code. */
static void escapes_of_the_json_forms(void **state)
{
    static const char brief[] = "\\b\\t\\n\\f\\r\\u0001\\u000b\\u001f\\\\\x7f/";
    static const char exact[] = "\\u0008\\u0009\\u000a\\u000c\\u000d\\u0001\\u000b\\u001f\\\\\x7f/";
    static const struct {
        const char *form, *text;
        bool named;
    } cases[] = { { "ndjson", brief, true }, { "tagged", exact, true }, { "canonical", exact, false } };
    (void)state;
    struct ArrowSchema type, field;
    struct ArrowArray array;
    fixture_type("string", &field);
    assert_int_equal(LB_OK, lb_schema_set_name(&field, lb_str_of("\b\t\n\f\r\1\v\x1f\\\x7f/"), NULL));
    assert_int_equal(LB_OK, lb_schema_struct(&type, 1, NULL));
    type.children[0]->release(type.children[0]);
    *type.children[0] = field;
    fixture_array(&type, "{\"\b\t\n\f\r\1\v\x1f\\\x7f/\"}", &array);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *text = cases[i].text;
        lb_error err = LB_ERROR_INIT;
        lb_buf out, want;
        lb_buf_init(&out, NULL);
        lb_buf_init(&want, NULL);
        lb_status s = cases[i].named ? lb_buf_printf(&want, NULL, "{\"%s\":\"%s\"}\n", text, text)
                                     : lb_buf_printf(&want, NULL, "[\"%s\"]\n", text);
        assert_int_equal(LB_OK, s);
        assert_status(LB_OK, fixture_print_rows(&type, &array, 1, cases[i].form, NULL, &out, NULL, &err), &err);
        assert_text(lb_buf_text(&want), &out);
        lb_buf_free(&want);
        lb_buf_free(&out);
    }
    array.release(&array);
    type.release(&type);
}

/* Text that would mean something else without quotes, and its neighbours that would not. */
static void csv_quotes_what_would_be_misread(void **state)
{
    static const struct {
        const char *value, *want;
    } cases[] = {
        { " 5 ", "\" 5 \"" },
        { " 5", "\" 5\"" },
        { "5\t", "\"5\t\"" },
        { " ", "\" \"" },
        { "a b\tc", "a b\tc" },
        { "5", "5" },
        { "", "\"\"" },
        { "\\N", "\"\\N\"" },
        { "\\NN", "\\NN" },
        { "long enough ", "\"long enough \"" },
        { "\xef\xbb\xbfx", "\"\xef\xbb\xbfx\"" },
        { "\xc2\xa0x", "\xc2\xa0x" },
    };
    (void)state;
    struct ArrowSchema type;
    fixture_type("{\"struct\":[{\"name\":\" a\",\"type\":\"string\"}]}", &type);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        lb_print_options options = { .struct_size = sizeof options, .header = true };
        lb_error err = LB_ERROR_INIT;
        struct ArrowArray array;
        char value[64], want[64];
        lb_buf out;
        lb_buf_init(&out, NULL);
        (void)snprintf(value, sizeof value, "{\"%s\"}", cases[i].value);
        (void)snprintf(want, sizeof want, "\" a\"\n%s\n", cases[i].want);
        fixture_array(&type, value, &array);
        assert_status(LB_OK, fixture_print_rows(&type, &array, 1, "csv", &options, &out, NULL, &err), &err);
        assert_text(want, &out);
        array.release(&array);
        lb_buf_free(&out);
    }
    type.release(&type);
}

static void json_is_one_array(void **state)
{
    (void)state;
    struct ArrowSchema type;
    struct ArrowArray array;
    lb_error err = LB_ERROR_INIT;
    lb_buf out;
    lb_buf_init(&out, NULL);
    fixture_type("{\"struct\":[{\"name\":\"a\",\"type\":\"int8\"}]}", &type);
    fixture_array(&type, "{1}, {2}", &array);
    assert_status(LB_OK, fixture_print_rows(&type, &array, 2, "json", NULL, &out, NULL, &err), &err);
    assert_text("[\n{\"a\":1},\n{\"a\":2},\n{\"a\":1},\n{\"a\":2}\n]\n", &out);
    array.release(&array);
    type.release(&type);
    lb_buf_free(&out);
}

/* Whatever reads csv passes over blank lines: a row must never be one. */
static void a_lone_null_is_no_blank_line(void **state)
{
    (void)state;
    struct ArrowSchema type;
    struct ArrowArray array;
    lb_error err = LB_ERROR_INIT;
    lb_buf out;
    lb_buf_init(&out, NULL);
    fixture_type("{\"struct\":[{\"name\":\"a\",\"type\":\"int8\"}]}", &type);
    fixture_array(&type, "{1}, {null}, {3}", &array);
    assert_status(LB_OK, fixture_print_rows(&type, &array, 1, "csv", NULL, &out, NULL, &err), &err);
    assert_text("1\n\"\"\n3\n", &out);
    array.release(&array);
    type.release(&type);
    lb_buf_free(&out);
}

/* A slice prints the rows it has, and no others. */
static void slices_print_their_rows(void **state)
{
    (void)state;
    struct ArrowSchema type;
    struct ArrowArray array;
    lb_error err = LB_ERROR_INIT;
    lb_buf out;
    lb_buf_init(&out, NULL);
    fixture_type("{\"struct\":[{\"name\":\"a\",\"type\":\"int8\"},{\"name\":\"s\",\"type\":\"string\"}]}", &type);
    fixture_array(&type, "{1,\"a\"}, {null,\"b\"}, {3,\"c\"}, {4,null}", &array);
    array.offset = 1;
    array.length = 2;
    assert_status(LB_OK, fixture_print_rows(&type, &array, 1, "canonical", NULL, &out, NULL, &err), &err);
    assert_text("[null,\"b\"]\n[3,\"c\"]\n", &out);
    array.release(&array);
    type.release(&type);
    lb_buf_free(&out);
}

/* ---------------------------------------------------------------- tables */

static unsigned widest_line(const lb_buf *out)
{
    unsigned widest = 0, width = 0;
    for (size_t i = 0; i < out->size;) {
        uint32_t cp;
        i += lb_utf8_decode(out->data + i, out->size - i, &cp);
        width = cp == '\n' ? 0 : width + (unsigned)lb_utf8_width(cp);
        widest = LB_MAX(widest, width);
    }
    return widest;
}

static void tables_keep_to_the_width(void **state)
{
    (void)state;
    struct ArrowSchema type;
    struct ArrowArray array;
    lb_error err = LB_ERROR_INIT;
    fixture_type("{\"struct\":[{\"name\":\"number\",\"type\":\"int64\"},{\"name\":\"wide\",\"type\":\"string\"},"
                 "{\"name\":\"long\",\"type\":\"string\"},{\"name\":\"f\",\"type\":\"float64\"}]}",
                 &type);
    fixture_array(&type,
                  "{1,\"漢字漢字漢字\",\"a text that is much longer than its column will be\",1.5},"
                  "{123456789012345678,\"\",null,-0.0001}",
                  &array);
    for (unsigned width = 1; width < 110; width++) {
        lb_print_options options = { .struct_size = sizeof options, .width = width };
        lb_buf out;
        lb_buf_init(&out, NULL);
        assert_status(LB_OK, fixture_print_rows(&type, &array, 1, "table", &options, &out, NULL, &err), &err);
        if (widest_line(&out) > LB_MAX(width, 4u))
            fail_msg("width %u: a line takes %u", width, widest_line(&out));
        lb_buf_free(&out);
    }
    array.release(&array);
    type.release(&type);
}

static void tables_never_steer_the_terminal(void **state)
{
    (void)state;
    struct ArrowSchema type;
    struct ArrowArray array;
    lb_error err = LB_ERROR_INIT;
    lb_buf out;
    lb_buf_init(&out, NULL);
    fixture_type("{\"struct\":[{\"name\":\"a\\u001b[2Jb\",\"type\":\"string\"}]}", &type);
    fixture_array(&type, "{\"\x1b[31m\r\n\t\x7f\xc2\x9b\xe2\x80\xae\xff\"}", &array);
    assert_status(LB_OK, fixture_print_rows(&type, &array, 1, "table", NULL, &out, NULL, &err), &err);
    assert_text(
        "a\\x1b[2Jb\nstring\n───────────────────────────────\n\\x1b[31m\\r\\n\\t\\x7f\\u009b\\u202e\xef\xbf\xbd\n",
        &out);
    array.release(&array);
    type.release(&type);
    lb_buf_free(&out);
}

/* The widths come from the first 1,000 rows; the others are cut to them. */
static void tables_print_batch_by_batch(void **state)
{
    (void)state;
    struct ArrowSchema type;
    struct ArrowArray array;
    lb_error err = LB_ERROR_INIT;
    lb_buf out;
    uint64_t rows;
    size_t lines = 0;
    lb_buf_init(&out, NULL);
    fixture_type("{\"struct\":[{\"name\":\"a\",\"type\":\"string\"}]}", &type);
    fixture_array(&type, "{\"x\"}, {\"yy\"}, {null}", &array);
    assert_status(LB_OK, fixture_print_rows(&type, &array, 700, "table", NULL, &out, &rows, &err), &err);
    for (size_t i = 0; i < out.size; i++)
        lines += out.data[i] == '\n';
    assert_int_equal(2100, rows);
    assert_int_equal(2103, lines);
    array.release(&array);
    type.release(&type);
    lb_buf_free(&out);
}

/* ---------------------------------------------------------------- errors */

static bool write_never(void *user, const void *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    return size == 0;
}

static void errors_release_the_stream(void **state)
{
    (void)state;
    static const struct {
        const char *form, *delimiter;
        lb_status want;
        const char *says;
    } cases[] = {
        { "yaml", NULL, LB_USAGE, "ndjson" },   { "csv", "ab", LB_USAGE, "delimiter" },
        { "csv", "\"", LB_USAGE, "delimiter" }, { "csv", NULL, LB_IO, "written" },
        { "arrow", NULL, LB_IO, "written" },    { "table", NULL, LB_IO, "written" },
    };
    struct ArrowSchema type;
    struct ArrowArray array;
    fixture_type(ROWS_TYPE, &type);
    fixture_array(&type, ROWS_VALUES, &array);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        lb_print_options options = { .struct_size = sizeof options, .delimiter = cases[i].delimiter };
        fixture_source source = { .schema = &type, .batch = &array, .times = 1 };
        struct ArrowArrayStream stream;
        lb_error err = LB_ERROR_INIT;
        fixture_stream(&source, &stream);
        assert_status(cases[i].want, lb_print(NULL, &stream, cases[i].form, &options, write_never, NULL, NULL, &err),
                      &err);
        if (strstr(err.message, cases[i].says) == NULL)
            fail_msg("%s", err.message);
        assert_null(stream.release);
        assert_int_equal(1, source.closed);
    }
    array.release(&array);
    type.release(&type);
}

/* Rows that came before an error still go out, and the error comes whole. */
static void rows_before_an_error_are_printed(void **state)
{
    (void)state;
    static const char *const forms[] = { "csv", "table" };
    struct ArrowSchema type;
    struct ArrowArray array;
    fixture_type("{\"struct\":[{\"name\":\"a\",\"type\":\"int8\"}]}", &type);
    fixture_array(&type, "{7}", &array);
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        fixture_source source = { .schema = &type, .batch = &array, .times = 1, .then = LB_CORRUPT };
        struct ArrowArrayStream stream;
        lb_error err = LB_ERROR_INIT;
        uint64_t rows = 0;
        lb_buf out;
        lb_buf_init(&out, NULL);
        fixture_stream(&source, &stream);
        assert_status(LB_CORRUPT, lb_print(NULL, &stream, forms[i], NULL, fixture_write, &out, &rows, &err), &err);
        assert_int_equal(17, err.offset);
        assert_int_equal(3, err.row);
        assert_int_equal(1, rows);
        assert_non_null(memchr(out.data, '7', out.size));
        lb_buf_free(&out);
    }
    array.release(&array);
    type.release(&type);
}

/* ---------------------------------------------------------------- bounds of statistics */

static void bounds_print_as_their_type(void **state)
{
    (void)state;
    static const uint8_t minus_five[16] = { 255, 255, 255, 255, 255, 255, 255, 255,
                                            255, 255, 255, 255, 255, 255, 255, 251 };
    static const struct {
        const char *type;
        lb_colstat stat;
        const char *min, *max; /* NULL: not known */
    } cases[] = {
        { "int64", { .has = LB_MIN_I | LB_MAX_I, .min_i = -5, .max_i = 7 }, "-5", "7" },
        { "bool", { .has = LB_MIN_I | LB_MAX_I, .min_i = 0, .max_i = 1 }, "false", "true" },
        { "date", { .has = LB_MIN_I | LB_MAX_I, .min_i = 0, .max_i = 18321 }, "1970-01-01", "2020-02-29" },
        { "timestamp[us,UTC]", { .has = LB_MIN_I, .min_i = -1 }, "1969-12-31T23:59:59.999999Z", NULL },
        { "uint64", { .has = LB_MIN_U | LB_MAX_U, .max_u = UINT64_MAX }, "0", "18446744073709551615" },
        { "float64", { .has = LB_MIN_F | LB_MAX_F, .min_f = -0.0, .max_f = 1e16 }, "-0.0", "1e16" },
        { "float32", { .has = LB_MAX_F, .max_f = 0.1f }, NULL, "0.1" },
        { "string", { .has = LB_MIN_B | LB_MAX_B, .min_b = { "", 0 }, .max_b = { "z\"", 2 } }, "", "z\"" },
        { "binary", { .has = LB_MIN_B, .min_b = { "a", 1 } }, "YQ==", NULL },
        { "decimal(10,2)", { .has = LB_MIN_B, .min_b = { (const char *)minus_five, 16 } }, "-0.05", NULL },
        { "decimal(60,2)", { .has = LB_MIN_B, .min_b = { (const char *)minus_five, 16 } }, "-0.05", NULL },
        { "no such type", { .has = LB_MIN_I, .min_i = 1 }, NULL, NULL },
        { "int64", { .has = 0 }, NULL, NULL },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        lb_colstat stat = cases[i].stat;
        stat.type = lb_str_of(cases[i].type);
        for (int max = 0; max < 2; max++) {
            const char *want = max ? cases[i].max : cases[i].min;
            lb_buf out;
            lb_buf_init(&out, NULL);
            bool known = want == NULL;
            assert_int_equal(LB_OK, lb_print_bound(&stat, max, &out, &known, NULL));
            assert_int_equal(want != NULL, known);
            assert_text(want == NULL ? "" : want, &out);
            lb_buf_free(&out);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_in_each_form),
        cmocka_unit_test(dictionaries_are_decoded),
        cmocka_unit_test(fixed_lists_print_their_items),
        cmocka_unit_test(list_views_may_go_back_and_forth),
        cmocka_unit_test(runs_repeat_their_values),
        cmocka_unit_test(streams_as_literals),
        cmocka_unit_test(escapes_of_the_json_forms),
        cmocka_unit_test(csv_quotes_what_would_be_misread),
        cmocka_unit_test(json_is_one_array),
        cmocka_unit_test(a_lone_null_is_no_blank_line),
        cmocka_unit_test(slices_print_their_rows),
        cmocka_unit_test(tables_keep_to_the_width),
        cmocka_unit_test(tables_never_steer_the_terminal),
        cmocka_unit_test(tables_print_batch_by_batch),
        cmocka_unit_test(errors_release_the_stream),
        cmocka_unit_test(rows_before_an_error_are_printed),
        cmocka_unit_test(bounds_print_as_their_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
