#include "sql/sql_parser.h"

#include <stdarg.h>
#include <stdio.h>

#define CHUNK_FIRST ((size_t)4 * 1024)
#define CHUNK ((size_t)64 * 1024)

/* ---------------------------------------------------------------- failure */

/* From here on the statement is at its end. */
static void parser_stop(lb_sql_parser *p)
{
    p->failed = true;
    p->ahead_count = 0;
    p->tok = (lb_token){ .kind = LB_TOK_END, .begin = p->tok.begin, .end = p->tok.begin };
}

static void parser_fail_hard(lb_sql_parser *p, lb_status status)
{
    if (p->hard == LB_OK)
        p->hard = status;
    parser_stop(p);
}

/* Line and column of a byte. Problems come in the order of the text, so it is walked once. */
static void parser_place(lb_sql_parser *p, uint32_t at, uint32_t *line, uint32_t *column)
{
    if (at < p->place_at) {
        p->place_at = 0;
        p->place_line = p->place_column = 1;
    }
    for (; p->place_at < at; p->place_at++) {
        char c = p->text.at[p->place_at];
        if (c == '\n') {
            p->place_line++;
            p->place_column = 1;
        } else {
            p->place_column += ((uint8_t)c & 0xc0) != 0x80;
        }
    }
    *line = p->place_line;
    *column = p->place_column;
}

void lb_sql_fail_at(lb_sql_parser *p, uint32_t begin, uint32_t end, const char *fmt, ...)
{
    char message[400];
    va_list ap;

    if (p->failed)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    p->problem = (lb_sql_problem){ .begin = begin, .end = end };
    parser_place(p, begin, &p->problem.line, &p->problem.column);
    p->problem.message = lb_arena_copy(p->arena, lb_str_of(message));
    if (p->problem.message == NULL)
        parser_fail_hard(p, p->arena->why);
    parser_stop(p);
}

static const char *const token_names[LB_TOK_COUNT] = {
    [LB_TOK_END] = "the end of the text",
    [LB_TOK_SEMICOLON] = "the end of the statement",
};

/* What a token is to a reader: "key word FROM", "'('", "number 12". */
static void token_describe(const lb_sql_parser *p, const lb_token *tok, char *out, size_t cap)
{
    char shown[48];
    const char *kind = "";
    lb_str text = lb_sql_text(p->text, tok->begin, tok->end);
    const char *line = text.size == 0 ? NULL : memchr(text.at, '\n', text.size);

    if (line != NULL)
        text.size = (size_t)(line - text.at);
    bool cut = text.size > 40 || line != NULL;
    lb_copy_text(shown, cut ? LB_MIN(text.size + 1, (size_t)38) : sizeof shown, text.at, text.size);
    switch (tok->kind) {
    case LB_TOK_WORD:
        kind = tok->flags & LB_KW_RESERVED ? "key word " : "name ";
        break;
    case LB_TOK_QUOTED:
        kind = "name ";
        break;
    case LB_TOK_STRING:
        kind = "string ";
        break;
    case LB_TOK_INTEGER:
    case LB_TOK_DECIMAL:
        kind = "number ";
        break;
    case LB_TOK_PARAM:
        kind = "parameter ";
        break;
    default:
        break;
    }
    if (token_names[tok->kind] != NULL)
        (void)snprintf(out, cap, "%s", token_names[tok->kind]);
    else if (kind[0] == '\0')
        (void)snprintf(out, cap, "'%s'", shown);
    else
        (void)snprintf(out, cap, "%s%s%s", kind, shown, cut ? "…" : "");
}

void lb_sql_expected(lb_sql_parser *p, const char *what)
{
    char found[96];

    if (p->failed)
        return;
    if (p->tok.kind == LB_TOK_BAD) {
        lb_sql_fail_at(p, p->tok.begin, p->tok.end, "expected %s but found %s", what, p->bad);
        return;
    }
    token_describe(p, &p->tok, found, sizeof found);
    lb_sql_fail_at(p, p->tok.begin, p->tok.end, "expected %s but found %s", what, found);
}

/* ---------------------------------------------------------------- memory */

static bool parser_refill(lb_sql_parser *p, size_t size)
{
    size_t cap = LB_MAX(size, p->chunk == NULL ? CHUNK_FIRST : CHUNK);

    if (p->hard != LB_OK)
        return false;
    if (p->cx != NULL && lb_check_cancel(p->cx, NULL) != LB_OK) {
        parser_fail_hard(p, LB_CANCELLED);
        return false;
    }
    char *chunk = lb_arena_alloc(p->arena, cap, 1);
    if (chunk == NULL) {
        parser_fail_hard(p, p->arena->why);
        return false;
    }
    p->chunk = chunk;
    p->chunk_left = cap;
    return true;
}

void *lb_sql_new_bytes(lb_sql_parser *p, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    if (size > p->chunk_left && !parser_refill(p, size)) {
        memset(p->spare, 0, sizeof p->spare);
        return p->spare;
    }
    void *at = p->chunk;
    p->chunk += size;
    p->chunk_left -= size;
    return at;
}

/* ---------------------------------------------------------------- tokens */

void lb_sql_parser_init(lb_sql_parser *p, lb_context *cx, lb_str text, lb_sql_dialect dialect, lb_arena *arena)
{
    *p = (lb_sql_parser){
        .cx = cx, .text = text, .ansi = dialect == LB_SQL_ANSI, .arena = arena, .place_line = 1, .place_column = 1
    };
    lb_sql_lexer_init(&p->lexer, text, dialect);
    p->tok = lb_sql_lex(&p->lexer);
    p->bad = p->lexer.bad;
}

void lb_sql_next(lb_sql_parser *p)
{
    p->last_end = p->tok.end;
    if (p->failed)
        return;
    if (p->ahead_count == 0) {
        p->tok = lb_sql_lex(&p->lexer);
        p->bad = p->lexer.bad;
        return;
    }
    p->tok = p->ahead[0];
    p->bad = p->ahead_bad[0];
    p->ahead_count--;
    for (uint32_t i = 0; i < p->ahead_count; i++) {
        p->ahead[i] = p->ahead[i + 1];
        p->ahead_bad[i] = p->ahead_bad[i + 1];
    }
}

lb_token lb_sql_peek(lb_sql_parser *p, uint32_t n)
{
    if (p->failed)
        return p->tok;
    while (p->ahead_count < n) {
        p->ahead[p->ahead_count] = lb_sql_lex(&p->lexer);
        p->ahead_bad[p->ahead_count++] = p->lexer.bad;
    }
    return p->ahead[n - 1];
}

bool lb_sql_accept_kws(lb_sql_parser *p, lb_keyword first, lb_keyword second)
{
    if (!lb_sql_at_kw(p, first) || !lb_sql_peek_kw(p, 1, second))
        return false;
    lb_sql_next(p);
    lb_sql_next(p);
    return true;
}

void lb_sql_expect(lb_sql_parser *p, lb_token_kind kind, const char *what)
{
    if (!lb_sql_accept(p, kind))
        lb_sql_expected(p, what);
}

void lb_sql_expect_kw(lb_sql_parser *p, lb_keyword keyword, const char *what)
{
    if (!lb_sql_accept_kw(p, keyword))
        lb_sql_expected(p, what);
}

/* ---------------------------------------------------------------- names */

/* Impala cuts blanks off a name in quotes. */
static lb_str name_trim(lb_str text)
{
    while (text.size > 0 && (uint8_t)text.at[0] <= ' ') {
        text.at++;
        text.size--;
    }
    while (text.size > 0 && (uint8_t)text.at[text.size - 1] <= ' ')
        text.size--;
    return text;
}

/* "a""b" → a"b */
static lb_str name_halve(lb_sql_parser *p, lb_str text, char quote)
{
    char *out = lb_arena_alloc(p->arena, text.size, 1);
    size_t size = 0;

    if (out == NULL) {
        parser_fail_hard(p, p->arena->why);
        return text;
    }
    for (size_t i = 0; i < text.size; i++) {
        out[size++] = text.at[i];
        if (text.at[i] == quote)
            i++;
    }
    return (lb_str){ out, size };
}

static lb_sql_name name_of_token(lb_sql_parser *p)
{
    lb_sql_name name = { lb_sql_text(p->text, p->tok.begin, p->tok.end), p->tok.begin, p->tok.end, 0 };

    if (p->tok.kind == LB_TOK_WORD)
        return name;
    name.quote = name.text.at[0];
    name.text = (lb_str){ name.text.at + 1, name.text.size - 2 };
    if (name.quote == '`') {
        name.text = name_trim(name.text);
        if (name.text.size == 0)
            lb_sql_fail_at(p, name.begin, name.end, "a quoted name must not be blank");
    } else if (p->tok.flags & LB_TOK_ESCAPED) {
        name.text = name_halve(p, name.text, name.quote);
    }
    return name;
}

bool lb_sql_at_name(const lb_sql_parser *p)
{
    return p->tok.kind == LB_TOK_QUOTED || (p->tok.kind == LB_TOK_WORD && !(p->tok.flags & LB_KW_RESERVED));
}

bool lb_sql_at_alias(const lb_sql_parser *p)
{
    return p->tok.kind == LB_TOK_QUOTED || (p->tok.kind == LB_TOK_WORD && !(p->tok.flags & LB_KW_NO_ALIAS));
}

static lb_sql_name name_take(lb_sql_parser *p)
{
    lb_sql_name name = name_of_token(p);
    lb_sql_next(p);
    return name;
}

lb_sql_name lb_sql_take_name(lb_sql_parser *p, const char *what)
{
    if (lb_sql_at_name(p))
        return name_take(p);
    lb_sql_expected(p, what);
    return (lb_sql_name){ 0 };
}

lb_sql_name lb_sql_take_any_name(lb_sql_parser *p, const char *what)
{
    if (p->tok.kind == LB_TOK_WORD || p->tok.kind == LB_TOK_QUOTED)
        return name_take(p);
    lb_sql_expected(p, what);
    return (lb_sql_name){ 0 };
}

/* An alias in string quotes; escapes in it are decoded. */
static lb_sql_name name_of_string(lb_sql_parser *p)
{
    lb_sql_name name = { .begin = p->tok.begin, .end = p->tok.end, .quote = '\'' };
    name.text = lb_sql_take_string(p, "an alias");
    if (name.text.size == 0)
        lb_sql_fail_at(p, name.begin, name.end, "an alias must not be empty");
    return name;
}

lb_sql_name lb_sql_take_alias(lb_sql_parser *p, bool strings)
{
    if (lb_sql_accept_kw(p, LB_KW_AS))
        return lb_sql_at(p, LB_TOK_STRING) ? name_of_string(p) : lb_sql_take_any_name(p, "an alias");
    if (lb_sql_at_alias(p))
        return name_take(p);
    if (strings && lb_sql_at(p, LB_TOK_STRING))
        return name_of_string(p);
    return (lb_sql_name){ 0 };
}

void lb_sql_push_name(lb_sql_parser *p, lb_sql_name name)
{
    if (p->name_count == p->name_cap) {
        uint32_t cap = p->name_cap == 0 ? 16 : p->name_cap * 2;
        lb_sql_name *names = cap < p->name_cap ? NULL : lb_arena_alloc(p->arena, cap, sizeof *names);
        if (names == NULL) {
            parser_fail_hard(p, p->arena->why);
            return;
        }
        if (p->name_count != 0)
            memcpy(names, p->names, p->name_count * sizeof *names);
        p->names = names;
        p->name_cap = cap;
    }
    p->names[p->name_count++] = name;
}

lb_sql_names lb_sql_pop_names(lb_sql_parser *p, uint32_t from)
{
    lb_sql_names out = { 0 };

    if (p->hard != LB_OK || p->name_count < from)
        return out;
    uint32_t count = p->name_count - from;
    if (count != 0) {
        lb_sql_name *at = lb_sql_new_bytes(p, count * sizeof *at);
        if (p->hard == LB_OK) {
            memcpy(at, p->names + from, count * sizeof *at);
            out = (lb_sql_names){ at, count };
        }
    }
    p->name_count = from;
    return out;
}

lb_sql_names lb_sql_take_path(lb_sql_parser *p, const char *what)
{
    uint32_t from = p->name_count;

    lb_sql_push_name(p, lb_sql_take_name(p, what));
    while (lb_sql_accept(p, LB_TOK_DOT))
        lb_sql_push_name(p, lb_sql_take_any_name(p, "a name behind the dot"));
    return lb_sql_pop_names(p, from);
}

lb_sql_names lb_sql_take_list(lb_sql_parser *p)
{
    uint32_t from = p->name_count;

    lb_sql_expect(p, LB_TOK_LPAREN, "'('");
    do
        lb_sql_push_name(p, lb_sql_take_any_name(p, "a column name"));
    while (lb_sql_accept(p, LB_TOK_COMMA));
    lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    return lb_sql_pop_names(p, from);
}

/* ---------------------------------------------------------------- text */

lb_str lb_sql_joined(lb_sql_parser *p, uint32_t begin, uint32_t end)
{
    lb_sql_lexer lexer;
    size_t size = 0;

    if (p->failed || end <= begin)
        return (lb_str){ 0 };
    /* Tokens touch at the closest, so blanks are at most as many as bytes. */
    char *out = lb_arena_alloc(p->arena, (size_t)(end - begin) * 2, 1);
    if (out == NULL) {
        parser_fail_hard(p, p->arena->why);
        return (lb_str){ 0 };
    }
    lb_sql_lexer_init(&lexer, lb_sql_text(p->text, begin, end), p->ansi ? LB_SQL_ANSI : LB_SQL_IMPALA);
    for (lb_token tok = lb_sql_lex(&lexer); tok.kind != LB_TOK_END; tok = lb_sql_lex(&lexer)) {
        if (size != 0)
            out[size++] = ' ';
        memcpy(out + size, p->text.at + begin + tok.begin, tok.end - tok.begin);
        size += tok.end - tok.begin;
    }
    return (lb_str){ out, size };
}

lb_str lb_sql_take_string(lb_sql_parser *p, const char *what)
{
    if (!lb_sql_at(p, LB_TOK_STRING)) {
        lb_sql_expected(p, what);
        return (lb_str){ 0 };
    }
    lb_sql_expr string = { .kind = LB_SQL_STRING, .begin = p->tok.begin, .end = p->tok.end };
    string.flags = p->tok.flags & LB_TOK_ESCAPED ? LB_SQL_ESCAPED : 0;
    lb_str value = lb_sql_string_value(p->text, p->ansi ? LB_SQL_ANSI : LB_SQL_IMPALA, &string, p->arena);
    if (value.at == NULL)
        parser_fail_hard(p, p->arena->why);
    lb_sql_next(p);
    return value;
}

/* ---------------------------------------------------------------- depth */

static void parser_check_depth(lb_sql_parser *p, uint32_t levels)
{
    if (levels > LB_SQL_DEPTH)
        lb_sql_fail_at(p, p->tok.begin, p->tok.end, "nested too deeply: more than %d levels", LB_SQL_DEPTH);
}

uint32_t lb_sql_open(lb_sql_parser *p)
{
    uint32_t saved = p->height;

    p->height = 0;
    parser_check_depth(p, ++p->depth);
    return saved;
}

void lb_sql_close(lb_sql_parser *p, uint32_t saved)
{
    p->depth--;
    lb_sql_grow(p);
    p->height = LB_MAX(p->height, saved);
}

void lb_sql_grow(lb_sql_parser *p)
{
    parser_check_depth(p, p->depth + ++p->height);
}
