#define LB_KW_TABLE_BODY /* this file has the tables */
#include "sql/sql_lex.h"

#include "base/utf8.h"

/* What a byte may be. */
enum {
    C_WORD = 1,  /* may begin a name */
    C_DIGIT = 2, /* may go on in a name */
    C_SPACE = 4,
    C_STOP = 8, /* ends the quick run through a string: a quote, a backslash, NUL */
};

static const uint8_t classes[256] = {
    [0] = C_STOP,           ['\t'] = C_SPACE,         ['\n'] = C_SPACE, ['\v'] = C_SPACE,        ['\f'] = C_SPACE,
    ['\r'] = C_SPACE,       [' '] = C_SPACE,          ['"'] = C_STOP,   ['\''] = C_STOP,         ['`'] = C_STOP,
    ['\\'] = C_STOP,        ['$'] = C_WORD,           ['_'] = C_WORD,   ['0' ... '9'] = C_DIGIT, ['A' ... 'Z'] = C_WORD,
    ['a' ... 'z'] = C_WORD, [0x80 ... 0xff] = C_WORD,
};

static uint8_t lexer_class(const lb_sql_lexer *x, uint32_t at)
{
    return at < x->size ? classes[(uint8_t)x->text[at]] : 0;
}

static char lexer_char(const lb_sql_lexer *x, uint32_t at)
{
    return at < x->size ? x->text[at] : '\0';
}

/* ---------------------------------------------------------------- key words */

/* Eight bytes at most, letters in lower case ('_' becomes 0x7f, digits stay), zeros behind them. */
static uint64_t keyword_lane(const char *at, size_t size)
{
    uint64_t lane = 0;

    memcpy(&lane, at, size < 8 ? size : 8);
    uint64_t folded = lane | UINT64_C(0x2020202020202020);
    return size < 8 ? folded & ((UINT64_C(1) << (size * 8)) - 1) : folded;
}

static bool keyword_equal(const lb_keyword_row *row, const char *word, size_t size)
{
    return row->size == size && lb_str_is_nocase((lb_str){ word, size }, row->word);
}

const lb_keyword_row *lb_sql_keyword(const char *word, size_t size)
{
    if (size < 2 || size > 32)
        return NULL;
    uint64_t first = keyword_lane(word, size);
    uint64_t last = size <= 8 ? first : keyword_lane(word + size - 8, 8);
    uint32_t hash = (uint32_t)(((first + last * 31 + size) * LB_KW_MULTIPLIER) >> (64 - LB_KW_BITS));
    for (uint32_t i = keyword_begins[hash]; i < keyword_begins[hash + 1]; i++)
        if (keyword_equal(&keyword_rows[i], word, size))
            return &keyword_rows[i];
    return NULL;
}

/* ---------------------------------------------------------------- operators */

/* Longer ones before their beginnings. Only the ANSI dialect has them. */
static const char *const custom_ops[] = { "!~~*", "!~*", "!~~", "->>", "#>>", "<=>", "~~*", "@>", "<@", "<<", ">>",
                                          "#>",   "#-",  "~~",  "~*",  "!~",  "^@",  "**",  "->", "~",  "&&" };

const char *lb_sql_custom_text(unsigned index)
{
    return index < LB_COUNT_OF(custom_ops) ? custom_ops[index] : NULL;
}

static const struct {
    char text[4];
    uint8_t kind;
} signs[] = {
    { "<=>", LB_TOK_NULL_SAFE_EQ },
    { "<>", LB_TOK_NE },
    { "<=", LB_TOK_LE },
    { ">=", LB_TOK_GE },
    { "!=", LB_TOK_NE },
    { "==", LB_TOK_EQ },
    { "=>", LB_TOK_FAT_ARROW },
    { "->", LB_TOK_ARROW },
    { "::", LB_TOK_COLONS },
    { ":=", LB_TOK_ASSIGN },
    { "||", LB_TOK_PIPES },
    { "&&", LB_TOK_AMPS },
};

static const uint8_t single[128] = {
    ['('] = LB_TOK_LPAREN,  [')'] = LB_TOK_RPAREN, ['['] = LB_TOK_LBRACKET, [']'] = LB_TOK_RBRACKET,
    ['{'] = LB_TOK_LBRACE,  ['}'] = LB_TOK_RBRACE, [','] = LB_TOK_COMMA,    [';'] = LB_TOK_SEMICOLON,
    ['.'] = LB_TOK_DOT,     [':'] = LB_TOK_COLON,  ['*'] = LB_TOK_STAR,     ['/'] = LB_TOK_SLASH,
    ['%'] = LB_TOK_PERCENT, ['+'] = LB_TOK_PLUS,   ['-'] = LB_TOK_MINUS,    ['&'] = LB_TOK_AMP,
    ['|'] = LB_TOK_PIPE,    ['^'] = LB_TOK_CARET,  ['~'] = LB_TOK_TILDE,    ['!'] = LB_TOK_BANG,
    ['='] = LB_TOK_EQ,      ['<'] = LB_TOK_LT,     ['>'] = LB_TOK_GT,       ['?'] = LB_TOK_PARAM,
};

/* The operators that begin with a sign that begins no other need no look at the tables. */
static bool sign_is_alone(char c)
{
    return c == '(' || c == ')' || c == ',' || c == ';' || c == '.' || c == '[' || c == ']' || c == '{' || c == '}' ||
           c == '+' || c == '%' || c == '?';
}

static bool lexer_starts(const lb_sql_lexer *x, const char *text)
{
    size_t size = strlen(text);
    return size <= x->size - x->at && memcmp(x->text + x->at, text, size) == 0;
}

static bool lex_custom(lb_sql_lexer *x, lb_token *tok)
{
    for (unsigned i = 0; i < LB_COUNT_OF(custom_ops); i++) {
        if (!lexer_starts(x, custom_ops[i]) || strcmp(custom_ops[i], "<=>") == 0 || strcmp(custom_ops[i], "->") == 0 ||
            strcmp(custom_ops[i], "~") == 0)
            continue;
        tok->kind = LB_TOK_CUSTOM;
        tok->flags = (uint8_t)i;
        x->at += (uint32_t)strlen(custom_ops[i]);
        return true;
    }
    return false;
}

static void lex_sign(lb_sql_lexer *x, lb_token *tok)
{
    char c = x->text[x->at];

    if (!sign_is_alone(c)) {
        if (x->ansi && lex_custom(x, tok))
            return;
        for (size_t i = 0; i < LB_COUNT_OF(signs); i++) {
            if (!lexer_starts(x, signs[i].text))
                continue;
            tok->kind = signs[i].kind;
            x->at += (uint32_t)strlen(signs[i].text);
            return;
        }
        if (x->ansi && lexer_starts(x, "//")) {
            tok->kind = LB_TOK_SLASHES;
            x->at += 2;
            return;
        }
    }
    tok->kind = (uint8_t)c < 128 ? single[(uint8_t)c] : 0;
    x->at++;
    if (tok->kind == LB_TOK_END) {
        tok->kind = LB_TOK_BAD;
        x->bad = c == '\0' ? "a NUL byte, which no SQL text may hold" : "a character that begins nothing in SQL";
    }
}

/* ---------------------------------------------------------------- strings and names in quotes */

static void lex_unclosed(lb_sql_lexer *x, lb_token *tok, const char *why)
{
    tok->kind = LB_TOK_BAD;
    x->bad = why;
    x->at = x->size;
}

/* From behind the opening quote to behind the closing one. False: there is none, or a NUL byte before it. */
static bool lex_to_quote(lb_sql_lexer *x, lb_token *tok, char quote, bool backslash, bool doubled)
{
    for (;;) {
        while (x->at < x->size && !(classes[(uint8_t)x->text[x->at]] & C_STOP))
            x->at++;
        if (x->at >= x->size)
            return false;
        char c = x->text[x->at++];
        if (c == '\0') {
            tok->kind = LB_TOK_BAD;
            x->bad = "a NUL byte, which no SQL text may hold";
            tok->begin = x->at - 1;
            return true;
        }
        if (c == '\\' && backslash) {
            tok->flags |= LB_TOK_ESCAPED;
            if (x->at < x->size && x->text[x->at] != '\0')
                x->at++;
        } else if (c == quote) {
            if (!doubled || lexer_char(x, x->at) != quote)
                return true;
            tok->flags |= LB_TOK_ESCAPED;
            x->at++;
        }
    }
}

static void lex_string(lb_sql_lexer *x, lb_token *tok, char quote, bool backslash)
{
    tok->kind = LB_TOK_STRING;
    x->at++;
    if (!lex_to_quote(x, tok, quote, backslash, x->ansi))
        lex_unclosed(x, tok, "a string that is not closed");
}

static void lex_quoted(lb_sql_lexer *x, lb_token *tok, char quote)
{
    tok->kind = LB_TOK_QUOTED;
    x->at++;
    if (!lex_to_quote(x, tok, quote, quote == '`' && !x->ansi, quote == '"'))
        lex_unclosed(x, tok, "a quoted name that is not closed");
    else if (tok->kind == LB_TOK_QUOTED && x->at - tok->begin == 2) {
        tok->kind = LB_TOK_BAD;
        x->bad = "an empty quoted name";
    }
}

/* $tag$ … $tag$, of PostgreSQL. False: no such string begins here. */
static bool lex_dollars(lb_sql_lexer *x, lb_token *tok)
{
    uint32_t end = x->at + 1;

    while ((lexer_class(x, end) & (C_WORD | C_DIGIT)) && x->text[end] != '$')
        end++;
    if (lexer_char(x, end) != '$')
        return false;
    uint32_t tag = end + 1 - x->at;
    const char *close =
        x->size - end - 1 == 0 ? NULL : memmem(x->text + end + 1, x->size - end - 1, x->text + x->at, tag);
    if (close == NULL) {
        lex_unclosed(x, tok, "a string in dollars that is not closed");
        return true;
    }
    if (memchr(x->text + x->at, '\0', (size_t)(close - (x->text + x->at))) != NULL) {
        lex_unclosed(x, tok, "a string in dollars that holds a NUL byte");
        return true;
    }
    tok->kind = LB_TOK_STRING;
    x->at = (uint32_t)(close - x->text) + tag;
    return true;
}

/* ---------------------------------------------------------------- numbers, words, parameters */

static uint32_t run_of(const lb_sql_lexer *x, uint32_t at, uint8_t mask)
{
    while (at < x->size && (classes[(uint8_t)x->text[at]] & mask))
        at++;
    return at;
}

/* Behind the exponent that begins at `at`, or `at` where there is none. */
static uint32_t run_of_exponent(const lb_sql_lexer *x, uint32_t at)
{
    if ((lexer_char(x, at) | 0x20) != 'e')
        return at;
    uint32_t digits = at + 1;
    if (lexer_char(x, digits) == '+' || lexer_char(x, digits) == '-')
        digits++;
    uint32_t end = run_of(x, digits, C_DIGIT);
    return end == digits ? at : end;
}

static void lex_word(lb_sql_lexer *x, lb_token *tok)
{
    x->at = run_of(x, x->at, C_WORD | C_DIGIT);
    tok->kind = LB_TOK_WORD;
    const lb_keyword_row *row = lb_sql_keyword(x->text + tok->begin, x->at - tok->begin);
    if (row != NULL) {
        tok->keyword = row->keyword;
        tok->flags = row->flags;
    }
}

/* Whether [at, end) is 0x1f or 1_000, which only the ANSI dialect takes for a number. */
static bool lexer_is_ansi_integer(const lb_sql_lexer *x, uint32_t at, uint32_t end)
{
    bool hex = end - at > 2 && x->text[at] == '0' && (x->text[at + 1] | 0x20) == 'x';

    for (uint32_t i = hex ? at + 2 : at; i < end; i++) {
        char c = (char)(x->text[i] | 0x20);
        if (!(classes[(uint8_t)x->text[i]] & C_DIGIT) && x->text[i] != '_' && !(hex && c >= 'a' && c <= 'f'))
            return false;
    }
    return true;
}

/* A name may begin with digits, so the longer of number and name wins: `3a` is a name, `1e6` a number. */
static void lex_number(lb_sql_lexer *x, lb_token *tok)
{
    uint32_t digits = run_of(x, x->at, C_DIGIT);
    uint32_t word = run_of(x, digits, C_WORD | C_DIGIT);
    uint32_t number = digits;

    tok->kind = LB_TOK_INTEGER;
    if (x->ansi && word > digits && lexer_is_ansi_integer(x, x->at, word)) {
        x->at = word;
        return;
    }
    if (lexer_char(x, digits) == '.') {
        number = run_of(x, digits + 1, C_DIGIT);
        tok->kind = LB_TOK_DECIMAL;
    }
    uint32_t exponent = run_of_exponent(x, number);
    if (exponent > number)
        tok->kind = LB_TOK_DECIMAL;
    if (word > exponent)
        lex_word(x, tok);
    else
        x->at = exponent;
}

/* `.5` is a number, but the dot of `t.5a` stands for itself. */
static void lex_dot(lb_sql_lexer *x, lb_token *tok)
{
    uint32_t digits = run_of(x, x->at + 1, C_DIGIT);
    uint32_t end = run_of_exponent(x, digits);

    if (digits == x->at + 1 || run_of(x, digits, C_WORD | C_DIGIT) > end) {
        tok->kind = LB_TOK_DOT;
        x->at++;
    } else {
        tok->kind = LB_TOK_DECIMAL;
        x->at = end;
    }
}

#define VARIABLE_MAX 256 /* of ${name}, so that many without an end take no time */

/* $1, ${name}, $$…$$; else a name. */
static void lex_dollar(lb_sql_lexer *x, lb_token *tok)
{
    uint32_t digits = run_of(x, x->at + 1, C_DIGIT);

    if (lexer_char(x, x->at + 1) == '{') {
        size_t most = LB_MIN(x->size - x->at, VARIABLE_MAX);
        const char *close = memchr(x->text + x->at, '}', most);
        const char *line = memchr(x->text + x->at, '\n', most);
        if (close == NULL || (line != NULL && line < close)) {
            lex_word(x, tok);
        } else {
            tok->kind = LB_TOK_PARAM;
            x->at = (uint32_t)(close - x->text) + 1;
        }
    } else if (digits > x->at + 1 && run_of(x, digits, C_WORD) == digits) {
        tok->kind = LB_TOK_PARAM;
        x->at = digits;
    } else if (!x->ansi || !lex_dollars(x, tok))
        lex_word(x, tok);
}

/* E'…' and its like of the ANSI dialect. */
static bool lex_prefixed(lb_sql_lexer *x, lb_token *tok)
{
    char c = (char)(x->text[x->at] | 0x20);

    if (!x->ansi || lexer_char(x, x->at + 1) != '\'' || (c != 'e' && c != 'b' && c != 'x' && c != 'n' && c != 'r'))
        return false;
    x->at++;
    lex_string(x, tok, '\'', c == 'e');
    return true;
}

static void lex_at(lb_sql_lexer *x, lb_token *tok)
{
    uint32_t from = x->at + (lexer_char(x, x->at + 1) == '@' ? 2 : 1);
    uint32_t end = run_of(x, from, C_WORD | C_DIGIT);

    if (end == from) {
        lex_sign(x, tok);
        return;
    }
    tok->kind = LB_TOK_PARAM;
    x->at = end;
}

/* ---------------------------------------------------------------- between tokens */

/* Skip blanks and comments. False: a comment that does not end; `at` stays at its beginning. */
static bool lex_skip(lb_sql_lexer *x)
{
    for (;;) {
        while (x->at < x->size && (classes[(uint8_t)x->text[x->at]] & C_SPACE))
            x->at++;
        if (x->size - x->at < 2)
            return true;
        const char *p = x->text + x->at;
        if (p[0] == '-' && p[1] == '-') {
            const char *line = memchr(p, '\n', x->size - x->at);
            x->at = line == NULL ? x->size : (uint32_t)(line - x->text) + 1;
        } else if (p[0] == '/' && p[1] == '*') {
            const char *close = memmem(p + 2, x->size - x->at - 2, "*/", 2);
            if (close == NULL)
                return false;
            x->at = (uint32_t)(close - x->text) + 2;
        } else {
            return true;
        }
    }
}

static void lexer_find_clean(lb_sql_lexer *x, uint32_t from)
{
    x->clean = from + (uint32_t)lb_utf8_valid_prefix((const uint8_t *)x->text + from, x->size - from);
}

static void lex_one(lb_sql_lexer *x, lb_token *tok)
{
    char c = x->text[x->at];
    uint8_t class = classes[(uint8_t)c];

    if (c == '$')
        lex_dollar(x, tok);
    else if (class & C_WORD) {
        if (!lex_prefixed(x, tok))
            lex_word(x, tok);
    } else if (class & C_DIGIT)
        lex_number(x, tok);
    else if (c == '\'' || (c == '"' && !x->ansi))
        lex_string(x, tok, c, !x->ansi);
    else if (c == '"' || c == '`')
        lex_quoted(x, tok, c);
    else if (c == '.')
        lex_dot(x, tok);
    else if (c == '@')
        lex_at(x, tok);
    else
        lex_sign(x, tok);
}

void lb_sql_lexer_init(lb_sql_lexer *lexer, lb_str text, lb_sql_dialect dialect)
{
    *lexer = (lb_sql_lexer){ .text = text.size == 0 ? "" : text.at, .size = (uint32_t)text.size };
    lexer->ansi = dialect == LB_SQL_ANSI;
    lexer_find_clean(lexer, 0);
    if (text.size >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0)
        lexer->at = 3;
}

lb_token lb_sql_lex(lb_sql_lexer *lexer)
{
    lb_token tok = { 0 };
    bool closed = lex_skip(lexer);

    tok.begin = lexer->at;
    if (!closed)
        lex_unclosed(lexer, &tok, "a comment that is not closed");
    else if (lexer->at < lexer->size)
        lex_one(lexer, &tok);
    if (lexer->at > lexer->clean) {
        lexer->bad = "bytes that are not valid UTF-8";
        tok = (lb_token){ .kind = LB_TOK_BAD, .begin = lexer->clean };
        lexer->at = lexer->clean + 1;
        lexer_find_clean(lexer, lexer->at);
    }
    tok.end = lexer->at;
    return tok;
}
