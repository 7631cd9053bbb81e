/* Type expressions: INT, DECIMAL(9,2), ARRAY<STRUCT<f: INT>>, and as others write them. */
#include "sql/sql_parser.h"

/* `>>` closes two. */
static void type_expect_close(lb_sql_parser *p)
{
    if (p->tok.kind == LB_TOK_CUSTOM && p->tok.end - p->tok.begin == 2 && p->text.at[p->tok.begin] == '>' &&
        p->text.at[p->tok.begin + 1] == '>') {
        p->tok.kind = LB_TOK_GT;
        p->tok.begin++;
        return;
    }
    lb_sql_expect(p, LB_TOK_GT, "',' or '>'");
}

static lb_sql_type *type_new(lb_sql_parser *p, lb_sql_type_kind kind, uint32_t begin)
{
    lb_sql_type *type = LB_SQL_NEW(p, lb_sql_type);
    type->kind = (uint8_t)kind;
    type->begin = begin;
    return type;
}

/* name [:] type [NOT NULL] [COMMENT 'x'] */
static lb_sql_type *type_field(lb_sql_parser *p)
{
    lb_sql_name name = lb_sql_take_any_name(p, "the name of a field");
    (void)lb_sql_accept(p, LB_TOK_COLON);
    lb_sql_type *type = lb_sql_type_parse(p);
    type->field = name;
    (void)lb_sql_accept_kws(p, LB_KW_NOT, LB_KW_NULL);
    if (lb_sql_accept_kw(p, LB_KW_COMMENT))
        type->comment = lb_sql_take_string(p, "a comment in quotes");
    return type;
}

static void type_inside(lb_sql_parser *p, lb_sql_type *type, bool fields)
{
    lb_sql_type **tail = &type->first;

    type->form = lb_sql_at(p, LB_TOK_LPAREN);
    if (!type->form && !lb_sql_at(p, LB_TOK_LT)) {
        lb_sql_expected(p, "'<'");
        return;
    }
    lb_sql_next(p);
    do {
        *tail = fields ? type_field(p) : lb_sql_type_parse(p);
        tail = &(*tail)->next;
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    if (type->form)
        lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    else
        type_expect_close(p);
}

static uint32_t type_count(const lb_sql_type *type)
{
    uint32_t count = 0;
    for (const lb_sql_type *t = type->first; t != NULL; t = t->next)
        count++;
    return count;
}

/* Whether the word opens a nested type here: ARRAY<…>, MAP(…), ROW(…). */
static bool type_is_nested(lb_sql_parser *p, lb_sql_type *type)
{
    uint8_t next = lb_sql_peek(p, 1).kind;

    if (p->tok.kind != LB_TOK_WORD || (next != LB_TOK_LT && next != LB_TOK_LPAREN))
        return false;
    switch (p->tok.keyword) {
    case LB_KW_ARRAY:
        type->kind = LB_SQL_TYPE_ARRAY;
        return true;
    case LB_KW_MAP:
        type->kind = LB_SQL_TYPE_MAP;
        return true;
    case LB_KW_STRUCT:
    case LB_KW_ROW:
        type->kind = LB_SQL_TYPE_STRUCT;
        return true;
    default:
        return false;
    }
}

static void type_nested(lb_sql_parser *p, lb_sql_type *type)
{
    uint32_t begin = p->tok.begin;

    type->name = lb_sql_text(p->text, p->tok.begin, p->tok.end);
    lb_sql_next(p);
    type_inside(p, type, type->kind == LB_SQL_TYPE_STRUCT);
    uint32_t want = type->kind == LB_SQL_TYPE_MAP ? 2 : 1;
    if (type->kind != LB_SQL_TYPE_STRUCT && !p->failed && type_count(type) != want)
        lb_sql_fail_at(p, begin, p->last_end, "expected %u %s within %.*s<…>", want, want == 1 ? "type" : "types",
                       (int)type->name.size, type->name.at);
}

/* The further words of DOUBLE PRECISION, CHARACTER VARYING, INTERVAL DAY TO SECOND. */
static bool type_goes_on(lb_sql_parser *p, lb_str first)
{
    lb_str word = lb_sql_text(p->text, p->tok.begin, p->tok.end);

    if (p->tok.kind != LB_TOK_WORD)
        return false;
    return (lb_str_is_nocase(first, "double") && lb_str_is_nocase(word, "precision")) ||
           ((lb_str_is_nocase(first, "character") || lb_str_is_nocase(first, "char") ||
             lb_str_is_nocase(first, "bit")) &&
            lb_str_is_nocase(word, "varying")) ||
           (lb_str_is_nocase(first, "interval") && (lb_sql_is_unit(word) || lb_sql_at_kw(p, LB_KW_TO)));
}

/* [WITH|WITHOUT] [LOCAL] TIME ZONE, behind the parameters. */
static bool type_zone(lb_sql_parser *p)
{
    if (!lb_sql_at_kw(p, LB_KW_WITH) && !lb_sql_at_kw(p, LB_KW_WITHOUT))
        return false;
    lb_token next = lb_sql_peek(p, 1);
    bool local = next.kind == LB_TOK_WORD && lb_str_is_nocase(lb_sql_text(p->text, next.begin, next.end), "local");
    if (!lb_sql_peek_kw(p, local ? 2 : 1, LB_KW_TIME))
        return false;
    for (int i = 0; i < (local ? 4 : 3); i++)
        if (i == (local ? 3 : 2))
            lb_sql_expect_kw(p, LB_KW_ZONE, "ZONE");
        else
            lb_sql_next(p);
    return true;
}

static void type_plain(lb_sql_parser *p, lb_sql_type *type)
{
    uint32_t begin = p->tok.begin, end;
    lb_sql_name first = lb_sql_take_name(p, "a type");

    while (lb_sql_accept(p, LB_TOK_DOT))
        (void)lb_sql_take_any_name(p, "a name behind the dot");
    while (type_goes_on(p, first.text))
        lb_sql_next(p);
    end = p->last_end;
    type->name = end == begin + first.text.size ? first.text : lb_sql_joined(p, begin, end);
    if (lb_sql_accept(p, LB_TOK_LPAREN)) {
        type->params = lb_sql_expr_list(p, NULL);
        lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    }
    begin = p->tok.begin;
    if (type_zone(p))
        type->zone = lb_sql_joined(p, begin, p->last_end);
}

/* INT[], INT[3], INT ARRAY */
static lb_sql_type *type_suffixes(lb_sql_parser *p, lb_sql_type *type)
{
    while (lb_sql_at(p, LB_TOK_LBRACKET)) {
        lb_sql_type *array = type_new(p, LB_SQL_TYPE_ARRAY, type->begin);
        lb_sql_next(p);
        array->form = 2;
        array->name = LB_STR("array");
        array->first = type;
        if (!lb_sql_at(p, LB_TOK_RBRACKET))
            array->params = lb_sql_expr_parse(p);
        lb_sql_expect(p, LB_TOK_RBRACKET, "']'");
        array->end = p->last_end;
        lb_sql_grow(p);
        type = array;
    }
    return type;
}

lb_sql_type *lb_sql_type_parse(lb_sql_parser *p)
{
    uint32_t saved = lb_sql_open(p);
    lb_sql_type *type = type_new(p, LB_SQL_TYPE_PLAIN, p->tok.begin);

    if (type_is_nested(p, type))
        type_nested(p, type);
    else
        type_plain(p, type);
    type->end = p->last_end;
    type = type_suffixes(p, type);
    lb_sql_close(p, saved);
    return type;
}
