/* Tokens: kinds and places. What is expected was read off Impala's and PostgreSQL's rules, as the comments say. */
#include "sql/sql_lex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Each token as a letter for its kind and its text. */
static void tokens_show(const char *sql, lb_sql_dialect dialect, char *out, size_t cap)
{
    static const char kinds[LB_TOK_COUNT] = {
        [LB_TOK_BAD] = '!',     [LB_TOK_WORD] = 'w',    [LB_TOK_QUOTED] = 'q', [LB_TOK_STRING] = 's',
        [LB_TOK_INTEGER] = 'i', [LB_TOK_DECIMAL] = 'd', [LB_TOK_PARAM] = 'p',  [LB_TOK_CUSTOM] = 'c',
    };
    lb_sql_lexer lexer;
    size_t size = 0;

    out[0] = '\0';
    lb_sql_lexer_init(&lexer, lb_str_of(sql), dialect);
    for (lb_token tok = lb_sql_lex(&lexer); tok.kind != LB_TOK_END && size < cap; tok = lb_sql_lex(&lexer)) {
        char kind = kinds[tok.kind] == 0 ? 'o' : kinds[tok.kind];
        size += (size_t)snprintf(out + size, cap - size, "%s%c:%.*s", size == 0 ? "" : " ", kind,
                                 (int)(tok.end - tok.begin), sql + tok.begin);
    }
}

static const struct {
    const char *sql, *impala, *ansi; /* ansi NULL: as impala */
} cases[] = {
    { "", "", NULL },
    { "  \t\r\n ", "", NULL },
    { "\xef\xbb\xbfselect", "w:select", NULL },
    { "select a.b", "w:select w:a o:. w:b", NULL },
    /* Impala's lexer: the longer of number and name wins, the number where they are equal */
    { "3a 1e6 1e6x 12", "w:3a d:1e6 w:1e6x i:12", NULL },
    { ".5 t.5a t.5", "d:.5 w:t o:. w:5a w:t d:.5", NULL },
    { "1. 1.5 1.5e-3 1.e2 5.x", "d:1. d:1.5 d:1.5e-3 d:1.e2 d:5. w:x", NULL },
    { "0x1F 1_000", "w:0x1F w:1_000", "i:0x1F i:1_000" },
    { "1e", "w:1e", NULL },
    /* strings: backslashes in Impala, doubled quotes elsewhere */
    { "'a' \"b\"", "s:'a' s:\"b\"", "s:'a' q:\"b\"" },
    { "'a''b'", "s:'a' s:'b'", "s:'a''b'" },
    { "'a\\'z' c", "s:'a\\'z' w:c", "s:'a\\' w:z !:' c" },
    { "\"a\"\"b\"", "s:\"a\" s:\"b\"", "q:\"a\"\"b\"" },
    { "E'\\'' x'1f' n'a'", "w:E s:'\\'' w:x s:'1f' w:n s:'a'", "s:E'\\'' s:x'1f' s:n'a'" },
    { "$$a'b$$ $t$c$d$t$", "w:$$a !:'b$$ $t$c$d$t$", "s:$$a'b$$ s:$t$c$d$t$" },
    { "`a b` `x`", "q:`a b` q:`x`", NULL },
    { "$1 ? @v @@v ${x}", "p:$1 p:? p:@v p:@@v p:${x}", NULL },
    /* comments: not nested; a hint is a comment; # is none */
    { "a -- b\nc", "w:a w:c", NULL },
    { "a /* b /* c */ d", "w:a w:d", NULL },
    { "a /* +hint */ b --+hint\n c", "w:a w:b w:c", NULL },
    { "# a", "!:# w:a", NULL },
    /* operators: the longest wins */
    { "a<=>b <= >= <> != == => ->", "w:a o:<=> w:b o:<= o:>= o:<> o:!= o:== o:=> o:->", NULL },
    { "a::b := c || d && e", "w:a o::: w:b o::= w:c o:|| w:d o:&& w:e", "w:a o::: w:b o::= w:c o:|| w:d c:&& w:e" },
    { "a->>b @> <@ // << >>", "w:a o:-> o:> w:b !:@ o:> o:< !:@ o:/ o:/ o:< o:< o:> o:>",
      "w:a c:->> w:b c:@> c:<@ o:// c:<< c:>>" },
    { "a!~*b", "w:a o:! o:~ o:* w:b", "w:a c:!~* w:b" },
    /* bytes above 127 belong to names, if they are valid UTF-8 */
    { "gr\xc3\xb6\xc3\x9f"
      "e",
      "w:gr\xc3\xb6\xc3\x9f"
      "e",
      NULL },
    { "a \xff b", "w:a !:\xff w:b", NULL },
    { "'a\xffz' b", "!:\xff w:z !:' b", NULL },
    /* what does not end */
    { "'abc", "!:'abc", NULL },
    { "`abc", "!:`abc", NULL },
    { "a /* b", "w:a !:/* b", NULL },
    { "``", "!:``", NULL },
};

static void test_tokens(void **state)
{
    char shown[512];

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        tokens_show(cases[i].sql, LB_SQL_IMPALA, shown, sizeof shown);
        assert_string_equal(shown, cases[i].impala);
        tokens_show(cases[i].sql, LB_SQL_ANSI, shown, sizeof shown);
        assert_string_equal(shown, cases[i].ansi == NULL ? cases[i].impala : cases[i].ansi);
    }
}

static void test_nul_bytes(void **state)
{
    static const char sql[] = "a \0 'b\0c' d";
    static const struct {
        uint8_t kind;
        uint32_t begin, end;
    } want[] = {
        { LB_TOK_WORD, 0, 1 }, { LB_TOK_BAD, 2, 3 },  { LB_TOK_BAD, 6, 7 },
        { LB_TOK_WORD, 7, 8 }, { LB_TOK_BAD, 8, 11 }, { LB_TOK_END, 11, 11 },
    };
    lb_sql_lexer lexer;

    (void)state;
    lb_sql_lexer_init(&lexer, (lb_str){ sql, sizeof sql - 1 }, LB_SQL_IMPALA);
    for (size_t i = 0; i < LB_COUNT_OF(want); i++) {
        lb_token tok = lb_sql_lex(&lexer);
        assert_int_equal(tok.kind, want[i].kind);
        assert_int_equal(tok.begin, want[i].begin);
        assert_int_equal(tok.end, want[i].end);
    }
}

/* Every word the table has is found, in any case, and nothing near it. */
static void test_keywords(void **state)
{
    static const struct {
        const char *word;
        lb_keyword keyword;
        int flags;
    } want[] = {
        { "select", LB_KW_SELECT, LB_KW_RESERVED | LB_KW_NO_ALIAS | LB_KW_QUOTED },
        { "SeLeCt", LB_KW_SELECT, LB_KW_RESERVED | LB_KW_NO_ALIAS | LB_KW_QUOTED },
        { "straight_join", LB_KW_STRAIGHT_JOIN, LB_KW_RESERVED | LB_KW_NO_ALIAS | LB_KW_QUOTED },
        { "PARTITIONED", LB_KW_PARTITIONED, LB_KW_QUOTED },
        { "partitions", LB_KW_OTHER, LB_KW_QUOTED },
        { "user", LB_KW_OTHER, LB_KW_QUOTED },   /* Hive's lexer has it */
        { "zorder", LB_KW_OTHER, LB_KW_QUOTED }, /* Impala's has it */
        { "extract", LB_KW_EXTRACT, LB_KW_QUOTED },
        { "id", LB_KW_NONE, 0 },
        { "selec", LB_KW_NONE, 0 },
        { "selects", LB_KW_NONE, 0 },
        { "a", LB_KW_NONE, 0 },
        { "a_very_long_name_that_no_table_of_words_has", LB_KW_NONE, 0 },
    };

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(want); i++) {
        const lb_keyword_row *row = lb_sql_keyword(want[i].word, strlen(want[i].word));
        assert_int_equal(row == NULL ? LB_KW_NONE : row->keyword, want[i].keyword);
        assert_int_equal(row == NULL ? 0 : row->flags, want[i].flags);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_nul_bytes),
        cmocka_unit_test(test_keywords),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
