/* Time zones: rules and transitions against Python's zoneinfo, which was given the same bytes; names; damage at every place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "format/orc/orc_zone.h"

static const int64_t instants[] = { 1710064799, 1710064800, 1730624399, 1730624400, 1711846799, 1711846800,
                                    1729990799, 1729990800, 1728143999, 1728144000, 1712419199, 1712419200,
                                    951868800,  4107542399, 4133980800, 1900000000, -86400000,  253370764800 };

static const struct {
    const char *rule;
    int32_t offsets[LB_COUNT_OF(instants)];
} rules[] = {
    { "PST8PDT,M3.2.0,M11.1.0",
      { -28800, -25200, -25200, -28800, -25200, -25200, -25200, -25200, -25200, -25200, -25200, -25200, -28800, -28800,
        -28800, -25200, -25200, -28800 } },
    { "CET-1CEST,M3.5.0,M10.5.0/3",
      { 3600, 3600, 3600, 3600, 3600, 7200, 7200, 3600, 7200, 7200, 7200, 7200, 3600, 3600, 3600, 3600, 7200, 3600 } },
    { "AEST-10AEDT,M10.1.0,M4.1.0/3",
      { 39600, 39600, 39600, 39600, 39600, 39600, 39600, 39600, 36000, 39600, 39600, 36000, 39600, 39600, 39600, 39600,
        36000, 39600 } },
    { "IST-5:30",
      { 19800, 19800, 19800, 19800, 19800, 19800, 19800, 19800, 19800, 19800, 19800, 19800, 19800, 19800, 19800, 19800,
        19800, 19800 } },
    { "<+00>0<+02>-2,M3.5.0/1,M10.5.0/3",
      { 0, 0, 0, 0, 0, 7200, 7200, 0, 7200, 7200, 7200, 7200, 0, 0, 0, 0, 7200, 0 } },
    { "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
      { -7200, -7200, -7200, -7200, -7200, -3600, -3600, -7200, -3600, -3600, -3600, -3600, -7200, -7200, -7200, -7200,
        -3600, -7200 } },
    { "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
      { 39600, 39600, 39600, 39600, 39600, 39600, 39600, 39600, 39600, 39600, 37800, 37800, 39600, 39600, 39600, 39600,
        37800, 39600 } },
    { "EST5EDT4,J60/0,J300/25:30:15",
      { -14400, -14400, -18000, -18000, -14400, -14400, -14400, -14400, -14400, -14400, -14400, -14400, -18000, -18000,
        -18000, -14400, -14400, -18000 } },
    { "XXX-3YYY,59,300/167",
      { 14400, 14400, 10800, 10800, 14400, 14400, 14400, 14400, 14400, 14400, 14400, 14400, 14400, 14400, 10800, 14400,
        14400, 10800 } },
    { "IST-1GMT0,M10.5.0,M3.5.0/1", { 0, 0, 0, 0, 0, 3600, 3600, 0, 3600, 3600, 3600, 3600, 0, 0, 0, 0, 3600, 0 } },
    { "EET-2EEST,M3.4.4/50,M10.4.4/50",
      { 7200, 7200, 7200, 7200, 10800, 10800, 7200, 7200, 10800, 10800, 10800, 10800, 7200, 7200, 7200, 7200, 10800,
        7200 } },
    { "UTC0", { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
};

/* ---------------------------------------------------------------- files made here */

static void put_big(lb_buf *out, uint64_t v, unsigned size)
{
    for (unsigned i = size; i-- > 0;) {
        const uint8_t b = (uint8_t)(v >> (8 * i));
        assert_int_equal(lb_buf_append(out, &b, 1, NULL), LB_OK);
    }
}

static void put_head(lb_buf *out, uint32_t times, uint32_t types)
{
    static const char zeros[15];

    assert_int_equal(lb_buf_append(out, "TZif2", 5, NULL), LB_OK);
    assert_int_equal(lb_buf_append(out, zeros, sizeof zeros, NULL), LB_OK);
    put_big(out, 0, 4);
    put_big(out, 0, 4);
    put_big(out, 0, 4);
    put_big(out, times, 4);
    put_big(out, types, 4);
    put_big(out, 4, 4);
}

static void put_types(lb_buf *out, const int32_t *offsets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put_big(out, (uint32_t)offsets[i], 4);
        put_big(out, 0, 2);
    }
    assert_int_equal(lb_buf_append(out, "ABC", 4, NULL), LB_OK);
}

/* `offsets` has one before all times, then one for each. */
static lb_buf zone_file(const int64_t *times, size_t n, const int32_t *offsets, const char *rule)
{
    lb_buf out;
    const int32_t zero = 0;

    lb_buf_init(&out, NULL);
    put_head(&out, 0, 1);
    put_types(&out, &zero, 1);
    put_head(&out, (uint32_t)n, (uint32_t)n + 1);
    for (size_t i = 0; i < n; i++)
        put_big(&out, (uint64_t)times[i], 8);
    for (size_t i = 0; i < n; i++)
        put_big(&out, i + 1, 1);
    put_types(&out, offsets, n + 1);
    assert_int_equal(lb_buf_printf(&out, NULL, "\n%s\n", rule), LB_OK);
    return out;
}

static void test_rules(void **state)
{
    const int32_t zero = 0;

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(rules); i++) {
        lb_buf file = zone_file(NULL, 0, &zero, rules[i].rule);
        orc_zone zone;
        assert_int_equal(orc_zone_parse("here", file.data, file.size, &zone, NULL), LB_OK);
        for (unsigned round = 0; round < 2; round++) /* with what it remembers, and without */
            for (size_t k = 0; k < LB_COUNT_OF(instants); k++) {
                const int32_t offset = orc_zone_offset(&zone, instants[k]);
                if (offset != rules[i].offsets[k])
                    fail_msg("%s at %lld: %d, not %d", rules[i].rule, (long long)instants[k], offset,
                             rules[i].offsets[k]);
                if (round == 0)
                    zone.from = zone.to = 0;
            }
        orc_zone_free(&zone);
        lb_buf_free(&file);
    }
}

static const int64_t some_times[] = { -1000000000, 0, 500000000 };
static const int32_t some_offsets[] = { -17762, -18000, 3600, 7200 };

static void test_transitions(void **state)
{
    static const struct {
        int64_t instant;
        int32_t offset;
    } cases[] = { { INT64_MIN, -17762 }, { -1000000001, -17762 }, { -1000000000, -18000 }, { -1, -18000 },
                  { 0, 3600 },           { 499999999, 3600 },     { 500000000, 7200 },     { INT64_MAX, 7200 } };
    lb_buf file = zone_file(some_times, LB_COUNT_OF(some_times), some_offsets, "");
    orc_zone zone;

    (void)state;
    assert_int_equal(orc_zone_parse("here", file.data, file.size, &zone, NULL), LB_OK);
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++)
        assert_int_equal(orc_zone_offset(&zone, cases[i].instant), cases[i].offset);
    /* What a clock shows, back to the instant; the second one at which it shows a time gives the first. */
    for (size_t i = 1; i + 1 < LB_COUNT_OF(cases); i++)
        if (cases[i].instant != -1000000000)
            assert_int_equal(orc_zone_instant(&zone, cases[i].instant + cases[i].offset), cases[i].instant);
    assert_int_equal(orc_zone_instant(&zone, -1000000000 - 18000), -1000000000 - 18000 + 17762);
    orc_zone_free(&zone);
    lb_buf_free(&file);
}

static void test_names(void **state)
{
    static const struct {
        const char *name;
        int32_t offset;
    } fixed[] = { { "UTC", 0 },          { "GMT", 0 },          { "GMT+8", 28800 },  { "GMT-03:30", -12600 },
                  { "GMT+0530", 19800 }, { "UTC+01:00", 3600 }, { "GMT-12", -43200 } };
    static const char *const unknown[] = {
        "../../etc/passwd",        "/etc/localtime", "GMT+99",  "GMT+08:61", "No/Such_Zone", "a b",
        "Europe/../Europe/Berlin", "GMT+",           "\xC3\xA9"
    };
    orc_zone zone;

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(fixed); i++) {
        assert_int_equal(orc_zone_load(fixed[i].name, &zone, NULL), LB_OK);
        assert_int_equal(orc_zone_offset(&zone, 1234567890), fixed[i].offset);
        orc_zone_free(&zone);
    }
    for (size_t i = 0; i < LB_COUNT_OF(unknown); i++) {
        lb_error err = LB_ERROR_INIT;
        assert_int_equal(orc_zone_load(unknown[i], &zone, &err), LB_UNSUPPORTED);
        assert_non_null(strstr(err.message, unknown[i]));
    }
}

/* Cut at any place, and each byte changed: refused, or read as something; never read past the end (the sanitizer looks). */
static void test_damage(void **state)
{
    lb_buf file = zone_file(some_times, LB_COUNT_OF(some_times), some_offsets, "CET-1CEST,M3.5.0,M10.5.0/3");

    (void)state;
    for (size_t size = 0; size < file.size; size++) {
        uint8_t *copy = malloc(size + 1);
        orc_zone zone;
        assert_non_null(copy);
        memcpy(copy, file.data, size);
        assert_int_equal(orc_zone_parse("here", copy, size, &zone, NULL), LB_CORRUPT);
        memcpy(copy, file.data, size);
        free(copy);
    }
    for (size_t at = 0; at < file.size; at++)
        for (unsigned v = 0; v < 256; v += 51) {
            orc_zone zone;
            const uint8_t was = file.data[at];
            file.data[at] = (uint8_t)v;
            if (orc_zone_parse("here", file.data, file.size, &zone, NULL) == LB_OK) {
                (void)orc_zone_offset(&zone, 1700000000);
                (void)orc_zone_offset(&zone, INT64_MAX);
                (void)orc_zone_offset(&zone, INT64_MIN);
                orc_zone_free(&zone);
            }
            file.data[at] = was;
        }
    lb_buf_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rules), cmocka_unit_test(test_transitions),
                                        cmocka_unit_test(test_names), cmocka_unit_test(test_damage) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
