/* XML as a pull stream: what expat says of the same text, however few bytes come at a time; what is refused; reading on from the middle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wire/xml_pull.h"

/* `<` name and names of attributes, `"` text `"`, `>`: as expat's handlers are called, prefixes left out. */
static const struct {
    const char *xml, *events;
} cases[] = {
    { "<a/>", "<a>" },
    { "<a></a>", "<a>" },
    { "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a b=\"1\" c='x y'>t</a>\n", "<a b c\"t\">" },
    { "<x:a xmlns:x=\"u\"><x:b x:k=\"v\" l=\"&lt;&#65;\"/>one<!-- no > end -->two</x:a>", "<a x<b k l>\"onetwo\">" },
    { "<a><![CDATA[<not>&amp;]]]]><![CDATA[>]]></a>", "<a\"<not>&amp;]]>\">" },
    { "<a>&amp;&lt;&gt;&quot;&apos;&#x263A;&#228;</a>", "<a\"&<>\"'\342\230\272\303\244\">" },
    { "<a>one\r\ntwo\rthree</a>", "<a\"one\ntwo\nthree\">" },
    { "<a k=\"1 > 0\"><b\n l = \"2\" /></a>", "<a k<b l>>" },
    { "<a><b>1</b><b>2</b><c><d><e>deep</e></d></c></a><!-- behind --><?pi too?>",
      "<a<b\"1\"><b\"2\"><c<d<e\"deep\">>>>" },
    { "\357\273\277<a>\303\251\346\271\226\360\237\214\212</a>", "<a\"\303\251\346\271\226\360\237\214\212\">" },
    { "<row r=\"7\" spans=\"1:3\"><c r=\"A7\" s=\"3\"><v>12.5</v></c><c r=\"C7\" t=\"s\"><v>0</v></c></row>",
      "<row r spans<c r s<v\"12.5\">><c r t<v\"0\">>>" },
};

static const struct {
    const char *xml;
    lb_status says;
} refused[] = {
    { "", LB_CORRUPT },
    { "text", LB_CORRUPT },
    { "<a>", LB_CORRUPT },
    { "<a", LB_CORRUPT },
    { "<a b=\"1>", LB_CORRUPT },
    { "<a></b>", LB_CORRUPT },
    { "<a><b></a></b>", LB_CORRUPT },
    { "<a/></a>", LB_CORRUPT },
    { "<a/><b/>", LB_CORRUPT },
    { "<a/>text", LB_CORRUPT },
    { "<a>&nothing;</a>", LB_CORRUPT },
    { "<a>&#0;</a>", LB_CORRUPT },
    { "<a>&#xD800;</a>", LB_CORRUPT },
    { "<a>&amp</a>", LB_CORRUPT },
    { "<a><!-- open</a>", LB_CORRUPT },
    { "<a><![CDATA[ open</a>", LB_CORRUPT },
    { "<a><!what></a>", LB_CORRUPT },
    { "< a/>", LB_CORRUPT },
    { "<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a>", LB_UNSUPPORTED },
    { "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a/>", LB_UNSUPPORTED },
    { "\377\376<\0a\0", LB_UNSUPPORTED },
};

/* Gives a text some bytes at a time. */
typedef struct source {
    const char *text;
    size_t size, at, step;
} source;

static lb_status source_fill(void *user, uint8_t *to, size_t room, size_t *got, lb_error *err)
{
    source *s = user;

    (void)err;
    *got = LB_MIN(LB_MIN(s->step, room), s->size - s->at);
    if (*got != 0)
        memcpy(to, s->text + s->at, *got);
    s->at += *got;
    return LB_OK;
}

static lb_status say(lb_buf *out, const char *text, size_t size)
{
    return lb_buf_append(out, text, size, NULL);
}

static lb_status say_start(const lb_xml *x, lb_buf *out)
{
    lb_str rest = x->attributes, name, value;

    LB_TRY(say(out, "<", 1));
    LB_TRY(say(out, x->name.at, x->name.size));
    while (lb_xml_attribute(&rest, &name, &value)) {
        LB_TRY(say(out, " ", 1));
        LB_TRY(say(out, name.at, name.size));
    }
    return x->empty ? say(out, ">", 1) : LB_OK;
}

/* Pieces of text that follow each other are one. */
static lb_status say_text(lb_xml *x, lb_buf *out, bool *open)
{
    if (x->depth == 0)
        return LB_OK;
    if (!*open)
        LB_TRY(say(out, "\"", 1));
    *open = true;
    return lb_xml_decode(x, x->text, x->plain, out, NULL);
}

static lb_status events(lb_xml *x, lb_buf *out)
{
    lb_xml_token token;
    bool text = false;

    for (;;) {
        LB_TRY(lb_xml_next(x, &token, NULL));
        if (token == LB_XML_TEXT) {
            LB_TRY(say_text(x, out, &text));
            continue;
        }
        if (text)
            LB_TRY(say(out, "\"", 1));
        text = false;
        if (token == LB_XML_DONE)
            return LB_OK;
        LB_TRY(token == LB_XML_START ? say_start(x, out) : say(out, ">", 1));
    }
}

static const size_t steps[] = { 1, 2, 3, 7, 100, SIZE_MAX };

static void test_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++)
        for (size_t k = 0; k < LB_COUNT_OF(steps); k++) {
            source s = { .text = cases[i].xml, .size = strlen(cases[i].xml), .step = steps[k] };
            lb_xml x;
            lb_buf out;
            lb_buf_init(&out, NULL);
            assert_int_equal(lb_xml_open(&x, source_fill, &s, "test", 0, 0, NULL), LB_OK);
            assert_int_equal(events(&x, &out), LB_OK);
            assert_int_equal(out.size, strlen(cases[i].events));
            assert_memory_equal(out.data, cases[i].events, out.size);
            lb_xml_close(&x);
            lb_buf_free(&out);
        }
}

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(refused); i++)
        for (size_t k = 0; k < LB_COUNT_OF(steps); k++) {
            source s = { .text = refused[i].xml, .size = strlen(refused[i].xml), .step = steps[k] };
            lb_xml x;
            lb_buf out;
            lb_xml_token token;
            lb_buf_init(&out, NULL);
            assert_int_equal(lb_xml_open(&x, source_fill, &s, "test", 0, 0, NULL), LB_OK);
            assert_int_equal(events(&x, &out), refused[i].says);
            if (x.failed != LB_OK) /* and stays so */
                assert_int_equal(lb_xml_next(&x, &token, NULL), x.failed);
            lb_xml_close(&x);
            lb_buf_free(&out);
        }
}

static void test_depth(void **state)
{
    (void)state;
    for (size_t depth = LB_XML_DEPTH; depth <= LB_XML_DEPTH + 1; depth++) {
        char text[8 * (LB_XML_DEPTH + 1)];
        for (size_t i = 0; i < depth; i++) {
            memcpy(text + 3 * i, "<a>", 3);
            memcpy(text + 3 * depth + 4 * i, "</a>", 4);
        }
        source s = { .text = text, .size = 7 * depth, .step = SIZE_MAX };
        lb_xml x;
        lb_buf out;
        lb_buf_init(&out, NULL);
        assert_int_equal(lb_xml_open(&x, source_fill, &s, "test", 0, 0, NULL), LB_OK);
        assert_int_equal(events(&x, &out), depth == LB_XML_DEPTH ? LB_OK : LB_UNSUPPORTED);
        lb_xml_close(&x);
        lb_buf_free(&out);
    }
}

/* Begun at an element's place, inside what was open there, the same follows. */
static void test_from_the_middle(void **state)
{
    static const char text[] = "<a><s>\n<row r=\"1\"><c>1</c></row><row r=\"2\"><c>2</c></row></s></a>";
    const size_t at = (size_t)(strstr(text, "<row r=\"2\"") - text);
    source s = { .text = text, .size = sizeof text - 1, .at = at, .step = 5 };
    lb_str value;
    lb_xml_token token;
    lb_xml x;

    (void)state;
    assert_int_equal(lb_xml_open(&x, source_fill, &s, "test", at, 2, NULL), LB_OK);
    assert_int_equal(lb_xml_next(&x, &token, NULL), LB_OK);
    assert_true(token == LB_XML_START && lb_str_is(x.name, "row") && x.offset == at && x.depth == 3);
    assert_true(lb_xml_find(&x, "r", &value) && lb_str_is(value, "2"));
    assert_int_equal(lb_xml_skip(&x, NULL), LB_OK);
    assert_int_equal(x.depth, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lb_xml_next(&x, &token, NULL), LB_OK);
        assert_int_equal(token, LB_XML_END);
    }
    assert_int_equal(lb_xml_next(&x, &token, NULL), LB_OK);
    assert_int_equal(token, LB_XML_DONE);
    lb_xml_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_from_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
