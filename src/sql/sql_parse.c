/* Scripts and statements, and how their problems are told. */
#include "sql/sql_parser.h"

#include <stdio.h>

#include "base/utf8.h"

/* ---------------------------------------------------------------- statements of no interest */

static bool statement_ends(const lb_sql_parser *p)
{
    return lb_sql_at(p, LB_TOK_END) || lb_sql_at(p, LB_TOK_SEMICOLON);
}

/* Pass over what is left of the statement. */
void lb_sql_other_parse(lb_sql_parser *p, lb_sql_statement *out)
{
    out->kind = LB_SQL_OTHER;
    while (!statement_ends(p)) {
        if (lb_sql_at(p, LB_TOK_BAD))
            lb_sql_expected(p, "the rest of the statement");
        lb_sql_next(p);
    }
}

/* First words of statements that are known, but that neither read nor write what lineage tells. */
static const char *const other_words[] = {
    "ABORT",    "ALTER",      "ANALYZE", "ATTACH",  "BEGIN",   "CACHE",     "CALL",       "CHECKPOINT", "CLEAR",
    "CLOSE",    "CLUSTER",    "COMMENT", "COMMIT",  "COMPUTE", "COPY",      "DEALLOCATE", "DECLARE",    "DESC",
    "DESCRIBE", "DETACH",     "DISCARD", "END",     "EXECUTE", "EXPORT",    "FETCH",      "GRANT",      "IMPORT",
    "INSTALL",  "INVALIDATE", "KILL",    "LIST",    "LOAD",    "LOCK",      "MSCK",       "OPEN",       "OPTIMIZE",
    "PRAGMA",   "PREPARE",    "REFRESH", "REINDEX", "RELEASE", "RELOAD",    "REPAIR",     "RESET",      "REVOKE",
    "ROLLBACK", "SAVEPOINT",  "SET",     "SHOW",    "START",   "SUMMARIZE", "SYNC",       "TRUNCATE",   "UNCACHE",
    "UNLOAD",   "UNLOCK",     "UNSET",   "VACUUM",
};

static const char *other_word(lb_str word)
{
    for (size_t i = 0; i < LB_COUNT_OF(other_words); i++)
        if (lb_str_is_nocase(word, other_words[i]))
            return other_words[i];
    return NULL;
}

/* "ALTER TABLE": the first word, and the second if it is one the lexer knows. */
static void other_parse(lb_sql_parser *p, lb_sql_statement *out, const char *word)
{
    char both[80];
    lb_token second = lb_sql_peek(p, 1);
    int size = 0;

    out->words = lb_str_of(word);
    if (second.kind == LB_TOK_WORD && second.keyword != LB_KW_NONE && second.end - second.begin < 40) {
        lb_str text = lb_sql_text(p->text, second.begin, second.end);
        size = snprintf(both, sizeof both, "%s %.*s", word, (int)text.size, text.at);
    }
    if (size > 0 && (size_t)size < sizeof both) {
        char *kept = lb_sql_new_bytes(p, (size_t)size);
        for (int i = 0; i < size && !p->failed; i++)
            kept[i] = both[i] >= 'a' && both[i] <= 'z' ? (char)(both[i] - 'a' + 'A') : both[i];
        if (!p->failed)
            out->words = (lb_str){ kept, (size_t)size };
    }
    lb_sql_other_parse(p, out);
}

/* What is made and dropped beside tables, views and databases, in the systems whose scripts we are given. */
static const char *const object_words[] = {
    "ACCESS",   "AGGREGATE",  "ALGORITHM", "DEFINER",    "MATERIALIZED", "ALIAS",       "ASSERTION",  "BLOOMFILTER",
    "CAST",     "CATALOG",    "CLUSTER",   "COLLATION",  "CONNECTION",   "CONSTRAINT",  "CONVERSION", "DATA",
    "DEFAULT",  "DICTIONARY", "DOMAIN",    "EVENT",      "EXTENSION",    "FILE",        "FOREIGN",    "FULLTEXT",
    "FUNCTION", "GLOBAL",     "GROUP",     "HYPERTABLE", "INDEX",        "INTEGRATION", "LANGUAGE",   "LOCAL",
    "MACRO",    "MASKING",    "MODEL",     "NETWORK",    "OPERATOR",     "OWNED",       "PACKAGE",    "PERSISTENT",
    "PIPE",     "POLICY",     "PROCEDURE", "PROVIDER",   "PUBLICATION",  "RECURSIVE",   "RESOURCE",   "ROLE",
    "ROW",      "RULE",       "SECRET",    "SEQUENCE",   "SERVER",       "SHARE",       "SNAPSHOT",   "SPATIAL",
    "STAGE",    "STATISTICS", "STREAM",    "STREAMING",  "SUBSCRIPTION", "SYNONYM",     "TABLESPACE", "TAG",
    "TASK",     "TEXT",       "TRANSFORM", "TRIGGER",    "TRUSTED",      "TYPE",        "UNIQUE",     "UNLOGGED",
    "USER",     "VIRTUAL",    "WAREHOUSE",
};

void lb_sql_object_parse(lb_sql_parser *p, lb_sql_statement *out)
{
    lb_str word = lb_sql_text(p->text, p->tok.begin, p->tok.end);

    for (size_t i = 0; i < LB_COUNT_OF(object_words); i++)
        if (lb_sql_at(p, LB_TOK_WORD) && lb_str_is_nocase(word, object_words[i])) {
            lb_sql_other_parse(p, out);
            return;
        }
    lb_sql_expected(p, "TABLE, VIEW, DATABASE or another object");
}

/* USE db */
static void use_parse(lb_sql_parser *p, lb_sql_statement *out)
{
    uint32_t from = p->name_count;

    out->kind = LB_SQL_USE;
    out->words = LB_STR("USE");
    lb_sql_next(p);
    do
        lb_sql_push_name(p, lb_sql_take_any_name(p, "a database"));
    while (lb_sql_accept(p, LB_TOK_DOT));
    out->path = lb_sql_pop_names(p, from);
}

/* DROP TABLE [IF EXISTS] t …; what follows the name is not read. */
static void drop_parse(lb_sql_parser *p, lb_sql_statement *out)
{
    static const struct {
        uint16_t keyword;
        const char *words;
    } kinds[] = {
        { LB_KW_TABLE, "DROP TABLE" },
        { LB_KW_VIEW, "DROP VIEW" },
        { LB_KW_DATABASE, "DROP DATABASE" },
        { LB_KW_SCHEMA, "DROP SCHEMA" },
    };

    for (size_t i = 0; i < LB_COUNT_OF(kinds); i++) {
        if (!lb_sql_peek_kw(p, 1, kinds[i].keyword))
            continue;
        lb_sql_next(p);
        lb_sql_next(p);
        if (lb_sql_at_kw(p, LB_KW_IF) && lb_sql_peek_kw(p, 1, LB_KW_EXISTS)) {
            lb_sql_next(p);
            lb_sql_next(p);
            out->if_exists = true;
        }
        out->path = lb_sql_take_path(p, "a name");
        if (!p->failed)
            lb_sql_other_parse(p, out);
        out->kind = LB_SQL_DROP;
        out->words = lb_str_of(kinds[i].words);
        return;
    }
    out->words = LB_STR("DROP");
    lb_sql_next(p);
    lb_sql_object_parse(p, out);
}

/* ---------------------------------------------------------------- statements */

static void query_statement(lb_sql_parser *p, lb_sql_statement *out, lb_sql_with *with)
{
    out->kind = LB_SQL_SELECT;
    out->query = lb_sql_query_behind(p, with);
}

/* WITH … before SELECT, INSERT, UPDATE, DELETE, MERGE. */
static void with_statement(lb_sql_parser *p, lb_sql_statement *out)
{
    lb_sql_with *with = lb_sql_with_parse(p);

    switch (p->tok.kind == LB_TOK_WORD ? p->tok.keyword : LB_KW_NONE) {
    case LB_KW_INSERT:
    case LB_KW_UPSERT:
    case LB_KW_REPLACE:
        lb_sql_insert_parse(p, out, with);
        break;
    case LB_KW_UPDATE:
        lb_sql_update_parse(p, out, with);
        break;
    case LB_KW_DELETE:
        lb_sql_delete_parse(p, out, with);
        break;
    case LB_KW_MERGE:
        lb_sql_merge_parse(p, out, with);
        break;
    default:
        query_statement(p, out, with);
        break;
    }
}

/* EXPLAIN [EXTENDED] [(options)] statement */
static void explain_statement(lb_sql_parser *p, lb_sql_statement *out)
{
    uint32_t saved = lb_sql_open(p);

    out->kind = LB_SQL_EXPLAIN;
    out->words = LB_STR("EXPLAIN");
    lb_sql_next(p);
    while (lb_sql_at(p, LB_TOK_WORD) && !(p->tok.flags & LB_KW_RESERVED) && !lb_sql_at_kw(p, LB_KW_VALUES) &&
           !lb_sql_at_kw(p, LB_KW_UPSERT) && !lb_sql_at_kw(p, LB_KW_UPDATE) && !lb_sql_at_kw(p, LB_KW_DROP) &&
           !lb_sql_at_kw(p, LB_KW_USE) && !lb_sql_at_kw(p, LB_KW_EXPLAIN) && !lb_sql_at_kw(p, LB_KW_REPLACE) &&
           !statement_ends(p))
        lb_sql_next(p);
    out->explained = LB_SQL_NEW(p, lb_sql_statement);
    lb_sql_statement_parse(p, out->explained);
    lb_sql_close(p, saved);
}

static void word_statement(lb_sql_parser *p, lb_sql_statement *out)
{
    const char *other = other_word(lb_sql_text(p->text, p->tok.begin, p->tok.end));

    switch (p->tok.keyword) {
    case LB_KW_WITH:
        with_statement(p, out);
        break;
    case LB_KW_INSERT:
    case LB_KW_UPSERT:
        lb_sql_insert_parse(p, out, NULL);
        break;
    case LB_KW_REPLACE:
        if (!lb_sql_peek_kw(p, 1, LB_KW_INTO))
            lb_sql_expected(p, "a statement");
        lb_sql_insert_parse(p, out, NULL);
        break;
    case LB_KW_UPDATE:
        lb_sql_update_parse(p, out, NULL);
        break;
    case LB_KW_DELETE:
        lb_sql_delete_parse(p, out, NULL);
        break;
    case LB_KW_MERGE:
        lb_sql_merge_parse(p, out, NULL);
        break;
    case LB_KW_CREATE:
        lb_sql_create_parse(p, out);
        break;
    case LB_KW_ALTER:
        if (lb_sql_peek_kw(p, 1, LB_KW_VIEW))
            lb_sql_alter_parse(p, out);
        else
            other_parse(p, out, "ALTER");
        break;
    case LB_KW_EXPLAIN:
        explain_statement(p, out);
        break;
    case LB_KW_USE:
        use_parse(p, out);
        break;
    case LB_KW_DROP:
        drop_parse(p, out);
        break;
    default:
        if (other != NULL)
            other_parse(p, out, other);
        else if (lb_sql_starts_query(p))
            query_statement(p, out, NULL);
        else
            lb_sql_expected(p, "a statement");
        break;
    }
}

void lb_sql_statement_parse(lb_sql_parser *p, lb_sql_statement *out)
{
    out->begin = p->tok.begin;
    if (lb_sql_at(p, LB_TOK_WORD))
        word_statement(p, out);
    else if (lb_sql_at(p, LB_TOK_LPAREN))
        query_statement(p, out, NULL);
    else
        lb_sql_expected(p, "a statement");
    out->end = p->last_end;
}

/* ---------------------------------------------------------------- scripts */

/* Go on behind the semicolon that ends a bad statement. The lexer stands behind what was looked at. */
static void script_resume(lb_sql_parser *p)
{
    p->failed = false;
    p->ahead_count = 0;
    p->depth = p->height = p->name_count = 0;
    p->lexer.at = p->problem.begin;
    if (p->lexer.at > p->lexer.clean)
        p->lexer.at = p->lexer.clean;
    do
        lb_sql_next(p);
    while (!statement_ends(p));
}

static lb_status script_hard(const lb_sql_parser *p, lb_error *err)
{
    if (p->hard == LB_CANCELLED)
        return lb_check_cancel(p->cx, err);
    return lb_arena_fail(p->arena, err);
}

/* A bad statement: from its first byte to its semicolon. */
static lb_status script_problem(lb_sql_parser *p, lb_sql_script *out, lb_sql_statement *statement,
                                lb_sql_problem ***tail)
{
    uint32_t begin = statement->begin;

    memset(statement, 0, sizeof *statement);
    statement->begin = begin;
    script_resume(p);
    statement->end = LB_MAX(p->last_end, begin);
    out->problem_count++;
    if (out->problem_count > LB_SQL_PROBLEMS)
        return LB_OK;
    lb_sql_problem *problem = LB_SQL_NEW(p, lb_sql_problem);
    if (p->hard != LB_OK)
        return p->hard;
    *problem = p->problem;
    problem->statement = statement;
    **tail = problem;
    *tail = &problem->next;
    return LB_OK;
}

static lb_status script_check_size(lb_str text, lb_error *err)
{
    if (text.size < UINT32_MAX)
        return LB_OK;
    return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "the SQL text is %zu bytes long; the limit is 4 GiB", text.size);
}

lb_status lb_sql_parse(lb_context *cx, lb_str text, lb_sql_dialect dialect, lb_arena *arena, lb_sql_script *out,
                       lb_error *err)
{
    lb_sql_parser p;
    lb_sql_statement **tail = &out->first;
    lb_sql_problem **problems = &out->problems;

    *out = (lb_sql_script){ .text = text, .dialect = dialect };
    LB_TRY(script_check_size(text, err));
    lb_sql_parser_init(&p, cx, text, dialect, arena);
    while (p.hard == LB_OK) {
        while (lb_sql_accept(&p, LB_TOK_SEMICOLON))
            ;
        if (lb_sql_at(&p, LB_TOK_END))
            return LB_OK;
        lb_sql_statement *statement = LB_SQL_NEW(&p, lb_sql_statement);
        lb_sql_statement_parse(&p, statement);
        if (!p.failed && !statement_ends(&p))
            lb_sql_expected(&p, "';' or the end of the statement");
        if (p.hard != LB_OK || (p.failed && script_problem(&p, out, statement, &problems) != LB_OK))
            break;
        *tail = statement;
        tail = &statement->next;
        out->count++;
    }
    *out = (lb_sql_script){ .text = text, .dialect = dialect };
    return script_hard(&p, err);
}

/* ---------------------------------------------------------------- single things */

static lb_status single_begin(lb_sql_parser *p, lb_str text, lb_sql_dialect dialect, lb_arena *arena, lb_error *err)
{
    LB_TRY(script_check_size(text, err));
    lb_sql_parser_init(p, NULL, text, dialect, arena);
    return LB_OK;
}

static lb_status single_end(lb_sql_parser *p, void **out, lb_error *err)
{
    (void)lb_sql_accept(p, LB_TOK_SEMICOLON);
    if (!p->failed && !lb_sql_at(p, LB_TOK_END))
        lb_sql_expected(p, "the end of the text");
    if (p->failed || p->hard != LB_OK)
        *out = NULL;
    if (p->hard != LB_OK)
        return script_hard(p, err);
    return p->failed ? lb_sql_problem_fail(&p->problem, err) : LB_OK;
}

lb_status lb_sql_parse_query(lb_str text, lb_sql_dialect dialect, lb_arena *arena, lb_sql_query **out, lb_error *err)
{
    lb_sql_parser p;

    LB_TRY(single_begin(&p, text, dialect, arena, err));
    void *tree = lb_sql_query_parse(&p);
    lb_status status = single_end(&p, &tree, err);
    *out = tree;
    return status;
}

lb_status lb_sql_parse_expr(lb_str text, lb_sql_dialect dialect, lb_arena *arena, lb_sql_expr **out, lb_error *err)
{
    lb_sql_parser p;

    LB_TRY(single_begin(&p, text, dialect, arena, err));
    void *tree = lb_sql_expr_parse(&p);
    lb_status status = single_end(&p, &tree, err);
    *out = tree;
    return status;
}

lb_status lb_sql_parse_type(lb_str text, lb_arena *arena, lb_sql_type **out, lb_error *err)
{
    lb_sql_parser p;

    LB_TRY(single_begin(&p, text, LB_SQL_IMPALA, arena, err));
    void *tree = lb_sql_type_parse(&p);
    lb_status status = single_end(&p, &tree, err);
    *out = tree;
    return status;
}

/* ---------------------------------------------------------------- the value of a string */

static bool string_is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* What a backslash and `c` stand for. */
static char string_escape(char c)
{
    switch (c) {
    case '0':
        return '\0';
    case 'b':
        return '\b';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'Z':
        return '\x1a';
    default:
        return c;
    }
}

/* `%` and `_` keep their backslash, for LIKE. */
static size_t string_unescape(lb_str body, char quote, bool backslash, char *out)
{
    size_t size = 0;

    for (size_t i = 0; i < body.size; i++) {
        char c = body.at[i];
        if (backslash && c == '\\' && i + 1 < body.size) {
            char next = body.at[++i];
            if (next == '%' || next == '_')
                out[size++] = c;
            c = string_escape(next);
        } else if (c == quote && !backslash) {
            i++;
        }
        out[size++] = c;
    }
    return size;
}

lb_str lb_sql_string_value(lb_str text, lb_sql_dialect dialect, const lb_sql_expr *string, lb_arena *arena)
{
    lb_str body = lb_sql_text(text, string->begin, string->end);
    bool backslash = dialect == LB_SQL_IMPALA;

    if (body.at[0] == '$') {
        const char *close = memchr(body.at + 1, '$', body.size - 1);
        size_t tag = close == NULL ? 1 : (size_t)(close - body.at) + 1;
        return (lb_str){ body.at + tag, body.size - LB_MIN(2 * tag, body.size) };
    }
    if (string_is_word_byte(body.at[0])) {
        backslash = (body.at[0] | 0x20) == 'e';
        body = (lb_str){ body.at + 1, body.size - 1 };
    }
    char quote = body.at[0];
    body = (lb_str){ body.at + 1, body.size - 2 };
    if (!(string->flags & LB_SQL_ESCAPED))
        return body;
    char *out = lb_arena_alloc(arena, LB_MAX(body.size, 1), 1);
    if (out == NULL)
        return (lb_str){ 0 };
    return (lb_str){ out, string_unescape(body, quote, backslash, out) };
}

/* ---------------------------------------------------------------- problems */

void lb_sql_place(lb_str text, uint32_t offset, uint32_t *line, uint32_t *column)
{
    uint32_t begin = 0;

    *line = *column = 1;
    offset = (uint32_t)LB_MIN((size_t)offset, text.size);
    for (uint32_t i = 0; i < offset; i++) {
        if (text.at[i] == '\n') {
            ++*line;
            begin = i + 1;
        }
    }
    for (uint32_t i = begin; i < offset; i++)
        *column += ((uint8_t)text.at[i] & 0xc0) != 0x80;
}

lb_status lb_sql_problem_fail(const lb_sql_problem *problem, lb_error *err)
{
    return lb_fail(err, LB_USAGE, (lb_where){ problem->begin, -1, problem->line }, "line %u, column %u: %s",
                   problem->line, problem->column, problem->message);
}

#define SHOWN_BEFORE 60
#define SHOWN_BEHIND 40

/* Is the byte the middle of a character? */
static bool text_is_inside(lb_str text, size_t at)
{
    return at < text.size && ((uint8_t)text.at[at] & 0xc0) == 0x80;
}

/* The part of the line around [begin, end) that is shown. */
static void problem_window(lb_str text, size_t begin, size_t end, size_t *from, size_t *to)
{
    size_t low = begin > SHOWN_BEFORE ? begin - SHOWN_BEFORE : 0, high = LB_MIN(end + SHOWN_BEHIND, text.size);

    *from = begin;
    while (*from > low && text.at[*from - 1] != '\n')
        --*from;
    while (*from < begin && text_is_inside(text, *from))
        ++*from;
    *to = begin;
    while (*to < high && text.at[*to] != '\n' && text.at[*to] != '\r' && *to - begin < SHOWN_BEHIND * 2)
        ++*to;
    while (text_is_inside(text, *to) && *to > begin)
        --*to;
}

/* Control characters as blanks, so that the caret stays below. */
static lb_status problem_put(lb_buf *out, lb_str text, lb_error *err)
{
    LB_TRY(lb_buf_reserve(out, text.size, err));
    for (size_t i = 0; i < text.size; i++)
        lb_buf_putc(out, (uint8_t)text.at[i] < ' ' || text.at[i] == 0x7f ? ' ' : text.at[i]);
    return LB_OK;
}

static uint32_t problem_width(lb_str text)
{
    uint32_t width = 0, point;

    for (size_t i = 0; i < text.size;) {
        i += lb_utf8_decode((const uint8_t *)text.at + i, text.size - i, &point);
        width += (uint32_t)lb_utf8_width(point < ' ' ? ' ' : point);
    }
    return width;
}

static lb_status problem_repeat(lb_buf *out, char c, uint32_t count, lb_error *err)
{
    LB_TRY(lb_buf_reserve(out, count, err));
    for (uint32_t i = 0; i < count; i++)
        lb_buf_putc(out, c);
    return LB_OK;
}

lb_status lb_sql_problem_print(lb_str text, const lb_sql_problem *problem, lb_buf *out, lb_error *err)
{
    size_t begin = LB_MIN(problem->begin, text.size), end = LB_MAX(begin, LB_MIN(problem->end, text.size)), from, to;

    LB_TRY(lb_buf_printf(out, err, "line %u, column %u: %s\n", problem->line, problem->column, problem->message));
    problem_window(text, begin, end, &from, &to);
    bool cut_left = from > 0 && text.at[from - 1] != '\n';
    bool cut_right = to < text.size && text.at[to] != '\n' && text.at[to] != '\r';
    LB_TRY(lb_buf_append_str(out, cut_left ? "  …" : "  ", err));
    LB_TRY(problem_put(out, (lb_str){ text.at + from, to - from }, err));
    LB_TRY(lb_buf_append_str(out, cut_right ? "…\n  " : "\n  ", err));
    uint32_t before = problem_width((lb_str){ text.at + from, begin - from }) + (cut_left ? 1 : 0);
    uint32_t width = problem_width((lb_str){ text.at + begin, LB_MIN(end, to) - LB_MIN(begin, to) });
    LB_TRY(problem_repeat(out, ' ', before, err));
    LB_TRY(lb_buf_append_str(out, "^", err));
    LB_TRY(problem_repeat(out, '~', width > 1 ? width - 1 : 0, err));
    return lb_buf_append_str(out, "\n", err);
}
