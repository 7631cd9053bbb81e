/* Types in words, both ways, and how they meet. The words are those of the conformance data; the meetings those of the
 * table "One row space over many files". */
#include "column_fixture.h"

/* ---------------------------------------------------------------- words */

static const struct {
    const char *words, *format; /* format NULL: nested */
} word_cases[] = {
    { "null", "n" },
    { "bool", "b" },
    { "int8", "c" },
    { "uint8", "C" },
    { "int16", "s" },
    { "uint16", "S" },
    { "int32", "i" },
    { "uint32", "I" },
    { "int64", "l" },
    { "uint64", "L" },
    { "float16", "e" },
    { "float32", "f" },
    { "float64", "g" },
    { "string", "u" },
    { "binary", "z" },
    { "fixed_binary(19)", "w:19" },
    { "uuid", "w:16" },
    { "decimal(38,2)", "d:38,2" },
    { "decimal(39,5)", "d:39,5,256" },
    { "decimal(5,-2)", "d:5,-2" },
    { "date", "tdD" },
    { "date[ms]", "tdm" },
    { "time[s]", "tts" },
    { "time[ms]", "ttm" },
    { "time[us]", "ttu" },
    { "time[ns]", "ttn" },
    { "timestamp[s]", "tss:" },
    { "timestamp[ns,UTC]", "tsn:UTC" },
    { "timestamp[us,Europe/Paris]", "tsu:Europe/Paris" },
    { "duration[s]", "tDs" },
    { "duration[ns]", "tDn" },
    { "interval[month]", "tiM" },
    { "interval[day_ms]", "tiD" },
    { "interval[month_day_ns]", "tin" },
    { "{\"list\":\"int64\"}", NULL },
    { "{\"list\":{\"list\":\"timestamp[us,UTC]\"}}", NULL },
    { "{\"map\":[\"string\",{\"list\":\"date\"}]}", NULL },
    { "{\"struct\":[]}", NULL },
    { "{\"struct\":[{\"name\":\"a \\\"q\\\"\",\"type\":\"int8\",\"nullable\":false},"
      "{\"name\":\"\xc5\xbc\",\"type\":{\"list\":\"bool\"},\"nullable\":true}]}",
      NULL },
    { "{\"union\":[{\"id\":5,\"name\":\"x\",\"type\":\"int32\"},{\"id\":7,\"name\":\"y\",\"type\":\"string\"}]}",
      NULL },
};

static void words_round(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(word_cases); i++) {
        struct ArrowSchema type;
        lb_error err = LB_ERROR_INIT;
        lb_buf out;
        lb_buf_init(&out, NULL);
        fixture_type(word_cases[i].words, &type);
        if (word_cases[i].format != NULL)
            assert_string_equal(word_cases[i].format, type.format);
        assert_status(LB_OK, lb_type_words(&type, false, &out, &err), &err);
        assert_text(word_cases[i].words, &out);
        type.release(&type);
        lb_buf_free(&out);
    }
}

static void layouts_share_words(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "@U", "\"string\"" },
        { "@vu", "\"string\"" },
        { "@Z", "\"binary\"" },
        { "@vz", "\"binary\"" },
        { "@d:9,2,32", "\"decimal(9,2)\"" },
        { "@d:18,4,64", "\"decimal(18,4)\"" },
    };
    char out[64];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct ArrowSchema type;
        fixture_type(cases[i][0], &type);
        assert_int_equal(strlen(cases[i][1]), lb_type_json(&type, out, sizeof out));
        assert_string_equal(cases[i][1], out);
        type.release(&type);
    }
}

static void json_words_are_cut_to_the_room(void **state)
{
    (void)state;
    struct ArrowSchema type;
    char out[8];
    fixture_type("{\"list\":\"int64\"}", &type);
    assert_int_equal(16, lb_type_json(&type, out, sizeof out));
    assert_string_equal("{\"list\"", out);
    assert_int_equal(16, lb_type_json(&type, NULL, 0));
    type.release(&type);
}

static void what_is_no_type_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "int65",
        "Int64",
        "int64 ",
        "decimal(77,1)",
        "decimal(5)",
        "decimal(0,0)",
        "decimal(5,2",
        "timestamp",
        "timestamp[xx]",
        "timestamp[us,]",
        "fixed_binary(0)",
        "fixed_binary(x)",
        "{\"list\":}",
        "{\"list\":\"int64\"",
        "{\"list\":\"int64\"} x",
        "{\"map\":[\"string\"]}",
        "{\"struct\":[{\"name\":\"a\"}]}",
        "{\"struct\":[{\"type\":\"int8\",\"x\":1}]}",
        "{\"set\":\"int8\"}",
        "{\"union\":[{\"id\":128,\"type\":\"int8\"}]}",
        "\"int64",
        "[\"int64\"]",
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct ArrowSchema type;
        lb_error err = LB_ERROR_INIT;
        if (lb_type_of_words(cases[i], &type, &err) != LB_USAGE || type.release != NULL)
            fail_msg("'%s' is taken", cases[i]);
        assert_non_null(strstr(err.message, "types are null, bool"));
    }
}

static void depth_is_capped(void **state)
{
    (void)state;
    char words[10 * 500 + 1] = "";
    struct ArrowSchema type;
    lb_error err = LB_ERROR_INIT;
    for (int i = 0; i < 500; i++)
        memcpy(words + 9 * i, "{\"list\":  ", 10);
    assert_status(LB_USAGE, lb_type_of_words(words, &type, &err), &err);
    assert_non_null(strstr(err.message, "deep"));
}

/* ---------------------------------------------------------------- schemas */

static void metadata_is_kept_and_set(void **state)
{
    (void)state;
    struct ArrowSchema type, copy;
    lb_error err = LB_ERROR_INIT;
    lb_str value;
    fixture_type("int8", &type);
    assert_false(lb_schema_get_meta(&type, "a", &value));
    assert_status(LB_OK, lb_schema_set_meta(&type, "a", LB_STR("1"), &err), &err);
    assert_status(LB_OK, lb_schema_set_meta(&type, "b", LB_STR("two"), &err), &err);
    assert_status(LB_OK, lb_schema_set_meta(&type, "a", LB_STR(""), &err), &err);
    assert_status(LB_OK, lb_schema_set_name(&type, LB_STR("n"), &err), &err);
    assert_status(LB_OK, lb_schema_copy(&type, &copy, &err), &err);
    assert_true(lb_schema_get_meta(&copy, "a", &value));
    assert_int_equal(0, value.size);
    assert_true(lb_schema_get_meta(&copy, "b", &value));
    assert_true(lb_str_is(value, "two"));
    assert_true(lb_schema_equal(&type, &copy));
    assert_status(LB_OK, lb_schema_set_name(&copy, LB_STR("m"), &err), &err);
    assert_false(lb_schema_equal(&type, &copy));
    type.release(&type);
    copy.release(&copy);
}

/* ---------------------------------------------------------------- meetings */

#define I(lo, hi)                                                \
    &(const lb_colstat)                                          \
    {                                                            \
        .has = LB_MIN_I | LB_MAX_I, .min_i = (lo), .max_i = (hi) \
    }
#define U(lo, hi)                                                \
    &(const lb_colstat)                                          \
    {                                                            \
        .has = LB_MIN_U | LB_MAX_U, .min_u = (lo), .max_u = (hi) \
    }
#define B53 INT64_C(9007199254740992)

static const struct {
    const char *a;
    bool a_inferred;
    const lb_colstat *a_stats;
    const char *b;
    bool b_inferred;
    const lb_colstat *b_stats;
    const char *want; /* NULL: conflict */
} meet_cases[] = {
    /* null and the same */
    { "null", 0, NULL, "date", 0, NULL, "date" },
    { "null", 1, NULL, "null", 0, NULL, "null" },
    { "bool", 0, NULL, "bool", 1, NULL, "bool" },
    { "uuid", 0, NULL, "null", 0, NULL, "uuid" },
    { "uuid", 0, NULL, "uuid", 0, NULL, "uuid" },
    { "uuid", 0, NULL, "fixed_binary(16)", 0, NULL, NULL },
    { "interval[month]", 0, NULL, "interval[month]", 0, NULL, "interval[month]" },
    { "interval[month]", 0, NULL, "interval[day_ms]", 0, NULL, NULL },
    /* integers */
    { "int8", 0, NULL, "int64", 0, NULL, "int64" },
    { "uint8", 0, NULL, "uint32", 0, NULL, "uint32" },
    { "int8", 0, NULL, "uint8", 0, NULL, "int16" },
    { "uint16", 0, NULL, "int8", 0, NULL, "int32" },
    { "uint32", 0, NULL, "int64", 0, NULL, "int64" },
    { "uint64", 0, NULL, "int64", 0, NULL, NULL },
    { "uint64", 0, NULL, "int8", 0, I(0, 5), "uint64" },
    { "uint64", 0, U(0, 9), "int64", 0, I(-1, 5), NULL },
    { "int64", 1, I(-1, 5), "uint64", 1, NULL, "string" },
    { "int64", 1, I(0, 5), "uint64", 1, NULL, "uint64" },
    /* floats */
    { "float16", 0, NULL, "float32", 0, NULL, "float32" },
    { "float32", 0, NULL, "float64", 1, NULL, "float64" },
    { "int64", 0, I(0, 1), "float64", 0, NULL, NULL },
    { "int64", 1, I(-B53, B53), "float64", 1, NULL, "float64" },
    { "int64", 1, I(0, B53 + 1), "float64", 1, NULL, "string" },
    { "int64", 1, NULL, "float64", 1, NULL, "string" },
    { "uint64", 1, U(0, UINT64_MAX), "float64", 1, NULL, "string" },
    { "int64", 1, I(0, B53), "float64", 0, NULL, "float64" },
    { "int64", 1, I(0, 1 << 24), "float32", 0, NULL, "float32" },
    { "int64", 1, I(0, (1 << 24) + 1), "float32", 0, NULL, NULL },
    { "int64", 1, I(-2048, 0), "float16", 0, NULL, "float16" },
    /* decimals */
    { "decimal(5,2)", 0, NULL, "decimal(10,4)", 0, NULL, "decimal(10,4)" },
    { "decimal(5,2)", 0, NULL, "decimal(5,0)", 0, NULL, "decimal(7,2)" },
    { "decimal(38,0)", 0, NULL, "decimal(38,38)", 0, NULL, "decimal(76,38)" },
    { "decimal(76,0)", 0, NULL, "decimal(38,1)", 0, NULL, NULL },
    { "int64", 1, I(-99999999, 0), "decimal(10,2)", 0, NULL, "decimal(10,2)" },
    { "int64", 1, I(0, 100000000), "decimal(10,2)", 0, NULL, NULL },
    { "int64", 1, NULL, "decimal(21,2)", 0, NULL, "decimal(21,2)" },
    { "int64", 1, NULL, "decimal(20,2)", 0, NULL, NULL },
    { "int64", 0, I(0, 1), "decimal(20,2)", 0, NULL, NULL },
    { "int64", 1, I(0, 12345678), "decimal(5,2)", 1, NULL, "decimal(10,2)" },
    /* dates and times */
    { "date", 0, NULL, "timestamp[us]", 0, NULL, "timestamp[us]" },
    { "date", 1, NULL, "timestamp[s]", 1, NULL, "timestamp[s]" },
    { "date", 0, NULL, "timestamp[ns]", 0, NULL, NULL },
    { "date", 0, I(-106751, 106751), "timestamp[ns]", 0, NULL, "timestamp[ns]" },
    { "date", 0, I(0, 106752), "timestamp[ns]", 0, NULL, NULL },
    { "date", 0, I(0, 106751992), "timestamp[us]", 0, NULL, NULL },
    { "date", 1, NULL, "timestamp[us,UTC]", 1, NULL, "string" },
    { "date", 0, NULL, "timestamp[us,UTC]", 0, NULL, NULL },
    { "date", 0, NULL, "date[ms]", 0, NULL, "date[ms]" },
    { "timestamp[s]", 0, NULL, "timestamp[us]", 0, NULL, "timestamp[us]" },
    { "timestamp[us]", 0, NULL, "timestamp[ns]", 0, NULL, NULL },
    { "timestamp[us]", 0, I(0, INT64_MAX / 1000), "timestamp[ns]", 0, NULL, "timestamp[ns]" },
    { "timestamp[us]", 0, I(0, INT64_MAX / 1000 + 1), "timestamp[ns]", 0, NULL, NULL },
    { "timestamp[us]", 0, I(0, INT64_MAX), "timestamp[ns]", 0, I(3000, 3000), "timestamp[us]" },
    { "timestamp[us]", 1, NULL, "timestamp[ns]", 1, NULL, "string" },
    { "timestamp[us,UTC]", 0, NULL, "timestamp[us,Europe/Paris]", 0, NULL, "timestamp[us,UTC]" },
    { "timestamp[ms,Europe/Paris]", 0, NULL, "timestamp[us,Europe/Paris]", 0, NULL, "timestamp[us,Europe/Paris]" },
    { "timestamp[us,UTC]", 0, NULL, "timestamp[us]", 0, NULL, NULL },
    { "timestamp[us,UTC]", 1, NULL, "timestamp[us]", 1, NULL, "string" },
    { "time[s]", 0, NULL, "time[ns]", 0, NULL, "time[ns]" },
    { "duration[s]", 0, NULL, "duration[ms]", 0, NULL, "duration[ms]" },
    { "time[s]", 0, NULL, "timestamp[s]", 0, NULL, NULL },
    /* text and binary */
    { "string", 0, NULL, "@U", 0, NULL, "string" },
    { "@vu", 0, NULL, "@U", 0, NULL, "string" },
    { "fixed_binary(3)", 0, NULL, "fixed_binary(3)", 0, NULL, "fixed_binary(3)" },
    { "fixed_binary(3)", 0, NULL, "fixed_binary(4)", 0, NULL, "binary" },
    { "binary", 0, NULL, "string", 0, NULL, NULL },
    { "string", 1, NULL, "string", 0, NULL, "string" },
    { "string", 1, NULL, "int64", 0, NULL, NULL },
    { "string", 1, NULL, "int64", 1, NULL, "string" },
    { "bool", 1, NULL, "int64", 1, NULL, "string" },
    /* nested */
    { "{\"list\":\"int8\"}", 0, NULL, "{\"list\":\"int64\"}", 0, NULL, "{\"list\":\"int64\"}" },
    { "{\"list\":\"null\"}", 1, NULL, "{\"list\":\"string\"}", 1, NULL, "{\"list\":\"string\"}" },
    { "{\"list\":\"int8\"}", 0, NULL, "{\"list\":\"string\"}", 0, NULL, NULL },
    { "{\"list\":\"int64\"}", 1, NULL, "{\"list\":\"string\"}", 1, NULL, "{\"list\":\"string\"}" },
    { "{\"list\":\"int64\"}", 1, NULL, "int64", 1, NULL, "string" },
    { "{\"map\":[\"string\",\"int8\"]}", 0, NULL, "{\"map\":[\"string\",\"int16\"]}", 0, NULL,
      "{\"map\":[\"string\",\"int16\"]}" },
    { "{\"map\":[\"string\",\"int8\"]}", 0, NULL, "{\"map\":[\"int8\",\"int8\"]}", 0, NULL, NULL },
    { "{\"struct\":[{\"name\":\"a\",\"type\":\"int8\",\"nullable\":false}]}", 0, NULL,
      "{\"struct\":[{\"name\":\"a\",\"type\":\"int16\",\"nullable\":false}]}", 0, NULL,
      "{\"struct\":[{\"name\":\"a\",\"type\":\"int16\",\"nullable\":false}]}" },
    { "{\"struct\":[{\"name\":\"a\",\"type\":\"int8\"}]}", 0, NULL, "{\"struct\":[{\"name\":\"a\",\"type\":\"date\"}]}",
      0, NULL, NULL },
    { "{\"union\":[\"int8\",\"string\"]}", 0, NULL, "{\"union\":[\"int8\",\"string\"]}", 0, NULL,
      "{\"union\":[{\"id\":0,\"name\":\"\",\"type\":\"int8\"},{\"id\":1,\"name\":\"\",\"type\":\"string\"}]}" },
    { "{\"union\":[\"int8\",\"string\"]}", 0, NULL, "{\"union\":[\"int8\",\"date\"]}", 0, NULL, NULL },
};

static void assert_meets(size_t i, const lb_column_side *a, const lb_column_side *b, const char *want)
{
    struct ArrowSchema out;
    lb_error err = LB_ERROR_INIT;
    bool met = false;
    assert_status(LB_OK, lb_types_meet(a, b, &out, &met, &err), &err);
    if (!met) {
        assert_null(out.release);
        if (want != NULL)
            fail_msg("case %zu: %s and %s conflict", i, meet_cases[i].a, meet_cases[i].b);
        return;
    }
    char words[300];
    lb_type_json(&out, words, sizeof words);
    const char *bare = words[0] == '"' ? words + 1 : words;
    size_t size = strlen(bare) - (bare != words);
    if (want == NULL || strlen(want) != size || memcmp(want, bare, size) != 0)
        fail_msg("case %zu: %s and %s give %s, not %s", i, meet_cases[i].a, meet_cases[i].b, words,
                 want == NULL ? "-" : want);
    out.release(&out);
}

/* Each meeting in both orders. */
static void types_meet(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(meet_cases); i++) {
        struct ArrowSchema x, y;
        fixture_type(meet_cases[i].a, &x);
        fixture_type(meet_cases[i].b, &y);
        lb_column_side a = { &x, meet_cases[i].a_inferred, meet_cases[i].a_stats };
        lb_column_side b = { &y, meet_cases[i].b_inferred, meet_cases[i].b_stats };
        assert_meets(i, &a, &b, meet_cases[i].want);
        assert_meets(i, &b, &a, meet_cases[i].want);
        x.release(&x);
        y.release(&y);
    }
}

static void structs_unite_their_fields(void **state)
{
    (void)state;
    struct ArrowSchema x, y, out;
    lb_error err = LB_ERROR_INIT;
    bool met;
    char words[300];
    fixture_type(
        "{\"struct\":[{\"name\":\"a\",\"type\":\"int8\",\"nullable\":false},{\"name\":\"b\",\"type\":\"bool\",\"nullable\":false}]}",
        &x);
    fixture_type(
        "{\"struct\":[{\"name\":\"c\",\"type\":\"date\",\"nullable\":false},{\"name\":\"a\",\"type\":\"int16\",\"nullable\":false}]}",
        &y);
    assert_status(
        LB_OK,
        lb_types_meet(&(lb_column_side){ &x, false, NULL }, &(lb_column_side){ &y, false, NULL }, &out, &met, &err),
        &err);
    lb_type_json(&out, words, sizeof words);
    assert_string_equal(
        "{\"struct\":[{\"name\":\"a\",\"type\":\"int16\",\"nullable\":false},"
        "{\"name\":\"b\",\"type\":\"bool\",\"nullable\":true},{\"name\":\"c\",\"type\":\"date\",\"nullable\":true}]}",
        words);
    x.release(&x);
    y.release(&y);
    out.release(&out);
}

static void name_metadata_and_nulls_of_a_meeting(void **state)
{
    (void)state;
    struct ArrowSchema x, y, out;
    lb_error err = LB_ERROR_INIT;
    lb_str value;
    bool met;
    fixture_type("uuid", &x);
    fixture_type("string", &y);
    x.flags = 0;
    y.flags = ARROW_FLAG_NULLABLE;
    assert_status(LB_OK, lb_schema_set_name(&x, LB_STR("left"), &err), &err);
    assert_status(LB_OK, lb_schema_set_name(&y, LB_STR("right"), &err), &err);
    assert_status(LB_OK, lb_schema_set_meta(&x, "kept", LB_STR("yes"), &err), &err);
    /* Both guessed: text, which is no uuid any more. */
    assert_status(
        LB_OK,
        lb_types_meet(&(lb_column_side){ &x, true, NULL }, &(lb_column_side){ &y, true, NULL }, &out, &met, &err),
        &err);
    assert_true(met);
    assert_string_equal("left", out.name);
    assert_string_equal("u", out.format);
    assert_true((out.flags & ARROW_FLAG_NULLABLE) != 0);
    assert_true(lb_schema_get_meta(&out, "kept", &value));
    assert_false(lb_schema_get_meta(&out, "ARROW:extension:name", &value));
    x.release(&x);
    y.release(&y);
    out.release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_round),
        cmocka_unit_test(layouts_share_words),
        cmocka_unit_test(json_words_are_cut_to_the_room),
        cmocka_unit_test(what_is_no_type_is_refused),
        cmocka_unit_test(depth_is_capped),
        cmocka_unit_test(metadata_is_kept_and_set),
        cmocka_unit_test(types_meet),
        cmocka_unit_test(structs_unite_their_fields),
        cmocka_unit_test(name_metadata_and_nulls_of_a_meeting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
