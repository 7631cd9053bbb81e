/* Expressions, by precedence climbing. Operators of one strength gather in one chain, so that long ones stay flat. */
#include "sql/sql_parser.h"

/* How tightly operators bind; a larger number is tighter. The order is Impala's; the ANSI dialect has its own. */
enum {
    L_ANY = 0,
    L_OR = 2,
    L_AND = 3,
    L_NOT = 4,
    L_IS = 5,
    /* Impala: 5 also BETWEEN and IN, 6 LIKE, 7 comparisons, 8 sums, 9 products, 10 bits */
    /* ANSI: 6 comparisons, 7 BETWEEN, IN and LIKE, 8 other operators, 9 sums, 10 products, 11 power */
    L_SIGN = 12,
};

static const uint8_t levels[2][LB_SQL_OP_CUSTOM + 1] = {
    {
        [LB_SQL_OP_PIPES] = 1,
        [LB_SQL_OP_OR] = L_OR,
        [LB_SQL_OP_XOR] = L_OR,
        [LB_SQL_OP_AND] = L_AND,
        [LB_SQL_OP_DISTINCT] = L_IS,
        [LB_SQL_OP_NOT_DISTINCT] = L_IS,
        [LB_SQL_OP_LIKE... LB_SQL_OP_GLOB] = 6,
        [LB_SQL_OP_EQ... LB_SQL_OP_NULL_SAFE_EQ] = 7,
        [LB_SQL_OP_CUSTOM] = 7,
        [LB_SQL_OP_ADD... LB_SQL_OP_SUB] = 8,
        [LB_SQL_OP_MUL... LB_SQL_OP_FLOOR] = 9,
        [LB_SQL_OP_BIT_AND... LB_SQL_OP_BIT_XOR] = 10,
    },
    {
        [LB_SQL_OP_PIPES] = 8,
        [LB_SQL_OP_OR] = L_OR,
        [LB_SQL_OP_XOR] = L_OR,
        [LB_SQL_OP_AND] = L_AND,
        [LB_SQL_OP_DISTINCT] = L_IS,
        [LB_SQL_OP_NOT_DISTINCT] = L_IS,
        [LB_SQL_OP_EQ... LB_SQL_OP_NULL_SAFE_EQ] = 6,
        [LB_SQL_OP_LIKE... LB_SQL_OP_GLOB] = 7,
        [LB_SQL_OP_CUSTOM] = 8,
        [LB_SQL_OP_BIT_AND... LB_SQL_OP_BIT_OR] = 8,
        [LB_SQL_OP_ADD... LB_SQL_OP_SUB] = 9,
        [LB_SQL_OP_MUL... LB_SQL_OP_FLOOR] = 10,
        [LB_SQL_OP_BIT_XOR] = 11,
    },
};

static const uint8_t sign_ops[LB_TOK_COUNT] = {
    [LB_TOK_PIPES] = LB_SQL_OP_PIPES,   [LB_TOK_AMPS] = LB_SQL_OP_AND,
    [LB_TOK_EQ] = LB_SQL_OP_EQ,         [LB_TOK_NE] = LB_SQL_OP_NE,
    [LB_TOK_LT] = LB_SQL_OP_LT,         [LB_TOK_LE] = LB_SQL_OP_LE,
    [LB_TOK_GT] = LB_SQL_OP_GT,         [LB_TOK_GE] = LB_SQL_OP_GE,
    [LB_TOK_PLUS] = LB_SQL_OP_ADD,      [LB_TOK_MINUS] = LB_SQL_OP_SUB,
    [LB_TOK_STAR] = LB_SQL_OP_MUL,      [LB_TOK_SLASH] = LB_SQL_OP_DIVIDE,
    [LB_TOK_PERCENT] = LB_SQL_OP_MOD,   [LB_TOK_SLASHES] = LB_SQL_OP_FLOOR,
    [LB_TOK_AMP] = LB_SQL_OP_BIT_AND,   [LB_TOK_PIPE] = LB_SQL_OP_BIT_OR,
    [LB_TOK_CARET] = LB_SQL_OP_BIT_XOR, [LB_TOK_NULL_SAFE_EQ] = LB_SQL_OP_NULL_SAFE_EQ,
    [LB_TOK_CUSTOM] = LB_SQL_OP_CUSTOM,
};

static lb_sql_expr *expr_at(lb_sql_parser *p, int least);

static int level_of(const lb_sql_parser *p, unsigned op)
{
    return levels[p->ansi][LB_MIN(op, LB_SQL_OP_CUSTOM)];
}

static int level_of_in(const lb_sql_parser *p)
{
    return p->ansi ? 7 : L_IS;
}

lb_sql_expr *lb_sql_expr_new(lb_sql_parser *p, lb_sql_kind kind, size_t size, uint32_t begin)
{
    lb_sql_expr *e = lb_sql_new_bytes(p, size);
    e->kind = (uint8_t)kind;
    e->begin = begin;
    e->end = p->last_end;
    return e;
}

static lb_sql_expr *expr_plain(lb_sql_parser *p, lb_sql_kind kind, uint32_t begin)
{
    return lb_sql_expr_new(p, kind, sizeof(lb_sql_expr), begin);
}

/* A node over children that stand in a list already. */
static lb_sql_expr *expr_over(lb_sql_parser *p, lb_sql_kind kind, uint32_t begin, lb_sql_expr *first, uint32_t count)
{
    lb_sql_expr *e = expr_plain(p, kind, begin);
    e->first = first;
    e->count = count;
    return e;
}

/* ---------------------------------------------------------------- leaves */

static lb_sql_expr *expr_leaf(lb_sql_parser *p, lb_sql_kind kind)
{
    uint32_t begin = p->tok.begin;
    uint16_t flags = p->tok.kind == LB_TOK_STRING && (p->tok.flags & LB_TOK_ESCAPED) ? LB_SQL_ESCAPED : 0;

    lb_sql_next(p);
    lb_sql_expr *e = expr_plain(p, kind, begin);
    e->flags = flags;
    return e;
}

lb_sql_expr *lb_sql_string_parse(lb_sql_parser *p, const char *what)
{
    if (!lb_sql_at(p, LB_TOK_STRING))
        lb_sql_expected(p, what);
    return expr_leaf(p, LB_SQL_STRING);
}

/* DATE '…' */
static lb_sql_expr *expr_dated(lb_sql_parser *p, lb_sql_dated kind)
{
    uint32_t begin = p->tok.begin;

    lb_sql_next(p);
    lb_sql_expr *e = expr_over(p, LB_SQL_DATED, begin, expr_leaf(p, LB_SQL_STRING), 1);
    e->op = (uint8_t)kind;
    return e;
}

lb_sql_expr *lb_sql_column_of(lb_sql_parser *p, lb_sql_names path)
{
    uint32_t begin = path.count == 0 ? p->last_end : path.at[0].begin;
    lb_sql_column *column = (lb_sql_column *)lb_sql_expr_new(p, LB_SQL_COLUMN, sizeof *column, begin);
    column->path = path;
    return &column->expr;
}

/* :name */
static lb_sql_expr *expr_colon_param(lb_sql_parser *p)
{
    uint32_t begin = p->tok.begin;

    lb_sql_next(p);
    if ((p->tok.kind != LB_TOK_WORD && p->tok.kind != LB_TOK_INTEGER) || p->tok.begin != p->last_end)
        lb_sql_expected(p, "a parameter's name");
    lb_sql_next(p);
    return expr_plain(p, LB_SQL_PARAM, begin);
}

/* ---------------------------------------------------------------- lists, tuples, literals of collections */

lb_sql_expr *lb_sql_expr_list(lb_sql_parser *p, uint32_t *count)
{
    lb_sql_expr *first = NULL, **tail = &first;
    uint32_t n = 0;

    do {
        lb_sql_append_expr(&tail, lb_sql_expr_parse(p));
        n++;
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    if (count != NULL)
        *count = n;
    return first;
}

/* e [AS name] */
static lb_sql_expr *expr_named_value(lb_sql_parser *p)
{
    lb_sql_expr *value = lb_sql_expr_parse(p);

    if (!lb_sql_at_kw(p, LB_KW_AS))
        return value;
    lb_sql_name name = lb_sql_take_alias(p, true);
    lb_sql_named *named = (lb_sql_named *)lb_sql_expr_new(p, LB_SQL_NAMED, sizeof *named, value->begin);
    named->expr.op = LB_SQL_NAMED_AS;
    named->expr.first = value;
    named->expr.count = 1;
    named->name = name;
    lb_sql_grow(p);
    return &named->expr;
}

/* (a, b) behind VALUES, or a bare value. */
lb_sql_expr *lb_sql_row_parse(lb_sql_parser *p)
{
    uint32_t begin = p->tok.begin, saved = lb_sql_open(p);
    lb_sql_expr *row = expr_plain(p, LB_SQL_TUPLE, begin), **tail = &row->first;
    bool bare = !lb_sql_accept(p, LB_TOK_LPAREN);

    if (bare)
        row->flags = LB_SQL_BARE;
    do {
        lb_sql_append_expr(&tail, expr_named_value(p));
        row->count++;
    } while (!bare && lb_sql_accept(p, LB_TOK_COMMA));
    if (!bare)
        lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    row->end = p->last_end;
    lb_sql_close(p, saved);
    return row;
}

/* The elements up to the closing bracket, behind the opening one. */
static lb_sql_expr *expr_elements(lb_sql_parser *p, lb_sql_kind kind, uint32_t begin, lb_token_kind close,
                                  const char *what)
{
    lb_sql_expr *first = NULL;
    uint32_t count = 0;

    if (!lb_sql_at(p, close))
        first = lb_sql_expr_list(p, &count);
    lb_sql_expect(p, close, what);
    return expr_over(p, kind, begin, first, count);
}

static lb_sql_expr *expr_subquery(lb_sql_parser *p, lb_sql_kind kind, uint32_t begin, lb_sql_query *query)
{
    lb_sql_subquery *sub = (lb_sql_subquery *)lb_sql_expr_new(p, kind, sizeof *sub, begin);
    sub->query = query;
    return &sub->expr;
}

/* (…): a subquery, a tuple, or an expression in parentheses. */
static lb_sql_expr *expr_paren(lb_sql_parser *p)
{
    uint32_t begin = p->tok.begin, count = 0;

    lb_sql_next(p);
    if (lb_sql_starts_query(p)) {
        lb_sql_query *query = lb_sql_query_parse(p);
        lb_sql_expect(p, LB_TOK_RPAREN, "')'");
        return expr_subquery(p, LB_SQL_SUBQUERY, begin, query);
    }
    if (lb_sql_accept(p, LB_TOK_RPAREN))
        return expr_plain(p, LB_SQL_TUPLE, begin);
    lb_sql_expr *first = lb_sql_expr_list(p, &count);
    if (count == 1 && first->kind == LB_SQL_SUBQUERY && !p->failed && lb_sql_goes_on(p)) {
        lb_sql_query *query = lb_sql_query_after(p, ((lb_sql_subquery *)first)->query, first->begin);
        lb_sql_expect(p, LB_TOK_RPAREN, "')'");
        return expr_subquery(p, LB_SQL_SUBQUERY, begin, query);
    }
    lb_sql_expect(p, LB_TOK_RPAREN, "',', ')' or an operator");
    return expr_over(p, count == 1 ? LB_SQL_PAREN : LB_SQL_TUPLE, begin, first, count);
}

/* {'a': 1, b: 2} */
static lb_sql_expr *expr_struct(lb_sql_parser *p)
{
    uint32_t begin = p->tok.begin, count = 0;
    lb_sql_expr *first = NULL, **tail = &first;

    lb_sql_next(p);
    while (!p->failed && !lb_sql_at(p, LB_TOK_RBRACE)) {
        uint32_t at = p->tok.begin;
        lb_sql_name name = { .begin = at, .end = p->tok.end, .quote = '\'' };
        if (lb_sql_at(p, LB_TOK_STRING))
            name.text = lb_sql_take_string(p, "a name");
        else
            name = lb_sql_take_any_name(p, "the name of a field");
        lb_sql_expect(p, LB_TOK_COLON, "':'");
        lb_sql_expr *value = lb_sql_expr_parse(p);
        lb_sql_named *named = (lb_sql_named *)lb_sql_expr_new(p, LB_SQL_NAMED, sizeof *named, at);
        named->expr.op = LB_SQL_NAMED_COLON;
        named->expr.first = value;
        named->expr.count = 1;
        named->name = name;
        lb_sql_append_expr(&tail, &named->expr);
        count++;
        if (!lb_sql_accept(p, LB_TOK_COMMA))
            break;
    }
    lb_sql_grow(p);
    lb_sql_expect(p, LB_TOK_RBRACE, "',' or '}'");
    return expr_over(p, LB_SQL_STRUCT, begin, first, count);
}

/* MAP {k: v, …} */
static lb_sql_expr *expr_map(lb_sql_parser *p)
{
    uint32_t begin = p->tok.begin, count = 0;
    lb_sql_expr *first = NULL, **tail = &first;

    lb_sql_next(p);
    lb_sql_next(p);
    while (!p->failed && !lb_sql_at(p, LB_TOK_RBRACE)) {
        lb_sql_append_expr(&tail, lb_sql_expr_parse(p));
        lb_sql_expect(p, LB_TOK_COLON, "':'");
        lb_sql_append_expr(&tail, lb_sql_expr_parse(p));
        count += 2;
        if (!lb_sql_accept(p, LB_TOK_COMMA))
            break;
    }
    lb_sql_expect(p, LB_TOK_RBRACE, "',' or '}'");
    return expr_over(p, LB_SQL_MAP, begin, first, count);
}

/* ARRAY[…] and ARRAY(SELECT …), at ARRAY. */
static lb_sql_expr *expr_array_word(lb_sql_parser *p)
{
    uint32_t begin = p->tok.begin;
    bool bracket = lb_sql_peek(p, 1).kind == LB_TOK_LBRACKET;

    lb_sql_next(p);
    lb_sql_next(p);
    if (bracket) {
        lb_sql_expr *e = expr_elements(p, LB_SQL_ARRAY, begin, LB_TOK_RBRACKET, "',' or ']'");
        e->flags |= LB_SQL_WORD;
        return e;
    }
    lb_sql_query *query = lb_sql_query_parse(p);
    lb_sql_expect(p, LB_TOK_RPAREN, "')'");
    return expr_subquery(p, LB_SQL_ARRAY_QUERY, begin, query);
}

/* ---------------------------------------------------------------- forms that begin with a word */

static lb_sql_expr *expr_case(lb_sql_parser *p)
{
    uint32_t begin = p->tok.begin;
    lb_sql_expr *first = NULL, **tail = &first;
    uint32_t count = 0;
    uint16_t flags = 0;

    lb_sql_next(p);
    if (!lb_sql_at_kw(p, LB_KW_WHEN)) {
        lb_sql_append_expr(&tail, lb_sql_expr_parse(p));
        flags |= LB_SQL_HAS_OPERAND;
        count++;
    }
    lb_sql_expect_kw(p, LB_KW_WHEN, "WHEN");
    do {
        lb_sql_append_expr(&tail, lb_sql_expr_parse(p));
        lb_sql_expect_kw(p, LB_KW_THEN, "THEN or an operator");
        lb_sql_append_expr(&tail, lb_sql_expr_parse(p));
        count += 2;
    } while (lb_sql_accept_kw(p, LB_KW_WHEN));
    if (lb_sql_accept_kw(p, LB_KW_ELSE)) {
        lb_sql_append_expr(&tail, lb_sql_expr_parse(p));
        flags |= LB_SQL_HAS_ELSE;
        count++;
    }
    lb_sql_expect_kw(p, LB_KW_END, "WHEN, ELSE, END or an operator");
    lb_sql_expr *e = expr_over(p, LB_SQL_CASE, begin, first, count);
    e->flags = flags;
    return e;
}

static lb_sql_expr *expr_cast_over(lb_sql_parser *p, lb_sql_cast_form form, uint32_t begin, lb_sql_expr *x,
                                   lb_sql_type *type, lb_sql_expr *format)
{
    lb_sql_cast *cast = (lb_sql_cast *)lb_sql_expr_new(p, LB_SQL_CAST, sizeof *cast, begin);
    cast->expr.op = (uint8_t)form;
    cast->expr.first = x;
    cast->expr.count = 1;
    cast->type = type;
    cast->format = format;
    return &cast->expr;
}

static lb_sql_expr *expr_cast(lb_sql_parser *p, lb_sql_cast_form form)
{
    uint32_t begin = p->tok.begin;
    lb_sql_expr *format = NULL;

    lb_sql_next(p);
    lb_sql_expect(p, LB_TOK_LPAREN, "'('");
    lb_sql_expr *x = lb_sql_expr_parse(p);
    lb_sql_expect_kw(p, LB_KW_AS, "AS or an operator");
    lb_sql_type *type = lb_sql_type_parse(p);
    if (lb_sql_accept_kw(p, LB_KW_FORMAT))
        format = lb_sql_string_parse(p, "a pattern in quotes");
    lb_sql_expect(p, LB_TOK_RPAREN, "')'");
    return expr_cast_over(p, form, begin, x, type, format);
}

static lb_sql_expr *expr_exists(lb_sql_parser *p)
{
    uint32_t begin = p->tok.begin;

    lb_sql_next(p);
    lb_sql_expect(p, LB_TOK_LPAREN, "'('");
    lb_sql_query *query = lb_sql_query_parse(p);
    lb_sql_expect(p, LB_TOK_RPAREN, "')'");
    return expr_subquery(p, LB_SQL_EXISTS, begin, query);
}

bool lb_sql_is_unit(lb_str word)
{
    static const char *const units[] = { "year",       "quarter", "month",   "week",        "day",
                                         "hour",       "minute",  "second",  "millisecond", "microsecond",
                                         "nanosecond", "decade",  "century", "millennium" };

    for (size_t i = 0; i < LB_COUNT_OF(units); i++) {
        lb_str one = word;
        if (lb_str_is_nocase(one, units[i]))
            return true;
        if (one.size > 1 && (one.at[one.size - 1] | 0x20) == 's') {
            one.size--;
            if (lb_str_is_nocase(one, units[i]))
                return true;
        }
    }
    return lb_str_is_nocase(word, "centuries") || lb_str_is_nocase(word, "millennia");
}

static lb_sql_name expr_unit(lb_sql_parser *p)
{
    if (lb_sql_at(p, LB_TOK_WORD) && lb_sql_is_unit(lb_sql_text(p->text, p->tok.begin, p->tok.end)))
        return lb_sql_take_any_name(p, "a unit of time");
    return (lb_sql_name){ 0 };
}

/* INTERVAL x unit. Where Impala needs a unit, x may be a sum. */
static lb_sql_expr *expr_interval(lb_sql_parser *p)
{
    uint32_t begin = p->tok.begin;
    lb_sql_name to = { 0 };

    lb_sql_next(p);
    lb_sql_expr *x = expr_at(p, p->ansi ? L_SIGN : levels[0][LB_SQL_OP_ADD]);
    lb_sql_name unit = expr_unit(p);
    if (lb_sql_has(&unit) && lb_sql_accept_kw(p, LB_KW_TO))
        to = lb_sql_take_any_name(p, "a unit of time");
    lb_sql_interval *interval = (lb_sql_interval *)lb_sql_expr_new(p, LB_SQL_INTERVAL, sizeof *interval, begin);
    interval->expr.first = x;
    interval->expr.count = 1;
    interval->unit = unit;
    interval->to = to;
    return &interval->expr;
}

static lb_sql_expr *expr_unary(lb_sql_parser *p, lb_sql_op op, int operand_level)
{
    uint32_t begin = p->tok.begin;

    lb_sql_next(p);
    lb_sql_expr *e = expr_over(p, LB_SQL_UNARY, begin, expr_at(p, operand_level), 1);
    e->op = (uint8_t)op;
    e->end = p->last_end;
    return e;
}

/* ROW(a, b) */
static lb_sql_expr *expr_row(lb_sql_parser *p)
{
    uint32_t begin = p->tok.begin;

    lb_sql_next(p);
    lb_sql_next(p);
    lb_sql_expr *e = expr_elements(p, LB_SQL_TUPLE, begin, LB_TOK_RPAREN, "',' or ')'");
    e->flags |= LB_SQL_WORD;
    return e;
}

/* ANY (…), SOME (…), ALL (…) as a right operand. */
static lb_sql_expr *expr_quantified(lb_sql_parser *p)
{
    uint32_t begin = p->tok.begin;
    uint8_t op = lb_sql_at_kw(p, LB_KW_ALL) ? LB_SQL_ALL : lb_sql_at_kw(p, LB_KW_ANY) ? LB_SQL_ANY : LB_SQL_SOME;
    lb_sql_query *query = NULL;
    lb_sql_expr *first = NULL;
    uint32_t count = 0, saved = lb_sql_open(p);

    lb_sql_next(p);
    lb_sql_next(p);
    if (lb_sql_starts_query(p))
        query = lb_sql_query_parse(p);
    else
        first = lb_sql_expr_list(p, &count);
    lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    lb_sql_expr *e = expr_subquery(p, LB_SQL_QUANTIFIED, begin, query);
    e->op = op;
    e->first = first;
    e->count = count;
    lb_sql_close(p, saved);
    return e;
}

/* ---------------------------------------------------------------- paths */

/* a.b.c, a.b.*, f(…), a.f(…) */
static lb_sql_expr *expr_path(lb_sql_parser *p)
{
    uint32_t from = p->name_count, begin = p->tok.begin;
    bool any = lb_sql_peek(p, 1).kind == LB_TOK_LPAREN;

    lb_sql_push_name(p, any ? lb_sql_take_any_name(p, "an expression") : lb_sql_take_name(p, "an expression"));
    while (lb_sql_accept(p, LB_TOK_DOT)) {
        if (lb_sql_accept(p, LB_TOK_STAR)) {
            lb_sql_star *star = (lb_sql_star *)lb_sql_expr_new(p, LB_SQL_STAR, sizeof *star, begin);
            star->path = lb_sql_pop_names(p, from);
            lb_sql_star_parse(p, star);
            return &star->expr;
        }
        lb_sql_push_name(p, lb_sql_take_any_name(p, "a name behind the dot"));
    }
    lb_sql_names path = lb_sql_pop_names(p, from);
    return lb_sql_at(p, LB_TOK_LPAREN) ? lb_sql_call_parse(p, path) : lb_sql_column_of(p, path);
}

/* Words that stand for a value without parentheses, in the ANSI dialect. */
static bool word_is_current(lb_keyword keyword)
{
    switch (keyword) {
    case LB_KW_CURRENT_CATALOG:
    case LB_KW_CURRENT_DATE:
    case LB_KW_CURRENT_ROLE:
    case LB_KW_CURRENT_SCHEMA:
    case LB_KW_CURRENT_TIME:
    case LB_KW_CURRENT_TIMESTAMP:
    case LB_KW_CURRENT_USER:
    case LB_KW_LOCALTIME:
    case LB_KW_LOCALTIMESTAMP:
        return true;
    default:
        return false;
    }
}

static lb_sql_expr *expr_word(lb_sql_parser *p)
{
    uint8_t next;

    switch (p->tok.keyword) {
    case LB_KW_NONE:
    case LB_KW_OTHER:
        return expr_path(p);
    case LB_KW_NULL:
        return expr_leaf(p, LB_SQL_NULL);
    case LB_KW_TRUE:
        return expr_leaf(p, LB_SQL_TRUE);
    case LB_KW_FALSE:
        return expr_leaf(p, LB_SQL_FALSE);
    case LB_KW_NOT:
        return expr_unary(p, LB_SQL_OP_NOT, L_NOT);
    case LB_KW_CASE:
        return expr_case(p);
    case LB_KW_CAST:
        return expr_cast(p, LB_SQL_CAST_PLAIN);
    case LB_KW_EXISTS:
        return expr_exists(p);
    case LB_KW_INTERVAL:
        return expr_interval(p);
    default:
        break;
    }
    next = lb_sql_peek(p, 1).kind;
    switch (p->tok.keyword) {
    case LB_KW_TRY_CAST:
        return next == LB_TOK_LPAREN ? expr_cast(p, LB_SQL_CAST_TRY) : expr_path(p);
    case LB_KW_SAFE_CAST:
        return next == LB_TOK_LPAREN ? expr_cast(p, LB_SQL_CAST_SAFE) : expr_path(p);
    case LB_KW_DATE:
        return next == LB_TOK_STRING ? expr_dated(p, LB_SQL_DATE) : expr_path(p);
    case LB_KW_TIMESTAMP:
        return next == LB_TOK_STRING ? expr_dated(p, LB_SQL_TIMESTAMP) : expr_path(p);
    case LB_KW_TIME:
        return next == LB_TOK_STRING ? expr_dated(p, LB_SQL_TIME) : expr_path(p);
    case LB_KW_ROW:
        return next == LB_TOK_LPAREN ? expr_row(p) : expr_path(p);
    case LB_KW_MAP:
        return next == LB_TOK_LBRACE ? expr_map(p) : expr_path(p);
    case LB_KW_ARRAY:
        if (next == LB_TOK_LBRACKET)
            return expr_array_word(p);
        if (next == LB_TOK_LPAREN && (lb_sql_peek_kw(p, 2, LB_KW_SELECT) || lb_sql_peek_kw(p, 2, LB_KW_WITH)))
            return expr_array_word(p);
        return expr_path(p);
    case LB_KW_DEFAULT:
        return next == LB_TOK_LPAREN || next == LB_TOK_DOT ? expr_path(p) : expr_leaf(p, LB_SQL_DEFAULT);
    default:
        break;
    }
    if (p->ansi && word_is_current(p->tok.keyword) && next != LB_TOK_LPAREN && next != LB_TOK_DOT)
        return expr_leaf(p, LB_SQL_CURRENT);
    /* A reserved word names a function only where no query or clause may begin with it. */
    bool call = next == LB_TOK_LPAREN &&
                (p->tok.keyword == LB_KW_LEFT || p->tok.keyword == LB_KW_RIGHT || p->tok.keyword == LB_KW_INSERT ||
                 p->tok.keyword == LB_KW_RLIKE || p->tok.keyword == LB_KW_REGEXP || p->tok.keyword == LB_KW_LIKE);
    if (!call && (p->tok.flags & LB_KW_RESERVED))
        lb_sql_expected(p, "an expression");
    return expr_path(p);
}

/* What begins an expression: a leaf, a form, or an operator before its operand. */
static lb_sql_expr *expr_begin(lb_sql_parser *p)
{
    switch (p->tok.kind) {
    case LB_TOK_WORD:
        return expr_word(p);
    case LB_TOK_QUOTED:
        return expr_path(p);
    case LB_TOK_INTEGER:
        return expr_leaf(p, LB_SQL_INTEGER);
    case LB_TOK_DECIMAL:
        return expr_leaf(p, LB_SQL_DECIMAL);
    case LB_TOK_STRING:
        return expr_leaf(p, LB_SQL_STRING);
    case LB_TOK_PARAM:
        return expr_leaf(p, LB_SQL_PARAM);
    case LB_TOK_COLON:
        return expr_colon_param(p);
    case LB_TOK_LPAREN:
        return expr_paren(p);
    case LB_TOK_LBRACE:
        return expr_struct(p);
    case LB_TOK_LBRACKET: {
        uint32_t begin = p->tok.begin;
        lb_sql_next(p);
        return expr_elements(p, LB_SQL_ARRAY, begin, LB_TOK_RBRACKET, "',' or ']'");
    }
    case LB_TOK_MINUS:
        return expr_unary(p, LB_SQL_OP_MINUS, L_SIGN);
    case LB_TOK_PLUS:
        return expr_unary(p, LB_SQL_OP_PLUS, L_SIGN);
    case LB_TOK_TILDE:
        return expr_unary(p, LB_SQL_OP_TILDE, L_SIGN);
    case LB_TOK_BANG:
        return expr_unary(p, LB_SQL_OP_BANG, L_NOT);
    default:
        lb_sql_expected(p, "an expression");
        return expr_plain(p, LB_SQL_NULL, p->tok.begin);
    }
}

/* ---------------------------------------------------------------- what follows an expression */

/* Make `x` the first child of a node of `size` bytes. */
static lb_sql_expr *expr_wrap(lb_sql_parser *p, lb_sql_kind kind, size_t size, lb_sql_expr *x)
{
    lb_sql_expr *e = lb_sql_expr_new(p, kind, size, x->begin);
    e->first = x;
    e->count = 1;
    lb_sql_grow(p);
    return e;
}

static void expr_add(lb_sql_expr *e, lb_sql_expr *last, lb_sql_expr *more)
{
    last->next = more;
    e->count++;
}

/* x[i], x[a:b] */
static lb_sql_expr *expr_bracket(lb_sql_parser *p, lb_sql_expr *x)
{
    lb_sql_expr *e = expr_wrap(p, LB_SQL_INDEX, sizeof *e, x), *index;

    lb_sql_next(p);
    if (lb_sql_at(p, LB_TOK_COLON))
        index = expr_plain(p, LB_SQL_NOTHING, p->tok.begin);
    else
        index = lb_sql_expr_parse(p);
    expr_add(e, x, index);
    if (lb_sql_accept(p, LB_TOK_COLON)) {
        e->kind = LB_SQL_SLICE;
        expr_add(e, index,
                 lb_sql_at(p, LB_TOK_RBRACKET) ? expr_plain(p, LB_SQL_NOTHING, p->tok.begin) : lb_sql_expr_parse(p));
    }
    lb_sql_expect(p, LB_TOK_RBRACKET, "']'");
    return e;
}

static lb_sql_expr *expr_with_name(lb_sql_parser *p, lb_sql_kind kind, lb_sql_expr *x, const char *what)
{
    lb_sql_field *field = (lb_sql_field *)expr_wrap(p, kind, sizeof *field, x);
    lb_sql_next(p);
    field->name = lb_sql_take_any_name(p, what);
    return &field->expr;
}

static bool literal_is_number(const lb_sql_expr *x)
{
    return x->kind == LB_SQL_INTEGER || x->kind == LB_SQL_DECIMAL;
}

/* The forms that stand behind their operand and bind tightest; NULL: none here. */
static lb_sql_expr *expr_postfix(lb_sql_parser *p, lb_sql_expr *x)
{
    lb_sql_expr *e;

    switch (p->tok.kind) {
    case LB_TOK_LBRACKET:
        return expr_bracket(p, x);
    case LB_TOK_DOT:
        return literal_is_number(x) ? NULL : expr_with_name(p, LB_SQL_FIELD, x, "a name behind the dot");
    case LB_TOK_COLONS:
        lb_sql_next(p);
        e = expr_cast_over(p, LB_SQL_CAST_COLONS, x->begin, x, lb_sql_type_parse(p), NULL);
        lb_sql_grow(p);
        return e;
    case LB_TOK_BANG:
        if (p->ansi)
            return NULL;
        lb_sql_next(p);
        e = expr_wrap(p, LB_SQL_UNARY, sizeof *e, x);
        e->op = LB_SQL_OP_FACTORIAL;
        return e;
    case LB_TOK_WORD:
        if (lb_sql_at_kw(p, LB_KW_COLLATE))
            return expr_with_name(p, LB_SQL_COLLATE, x, "a collation");
        if (lb_sql_at_kw(p, LB_KW_AT) && lb_sql_peek_kw(p, 1, LB_KW_TIME) && lb_sql_peek_kw(p, 2, LB_KW_ZONE)) {
            e = expr_wrap(p, LB_SQL_ZONE, sizeof *e, x);
            for (int i = 0; i < 3; i++)
                lb_sql_next(p);
            expr_add(e, x, expr_at(p, L_SIGN));
            return e;
        }
        return NULL;
    default:
        return NULL;
    }
}

/* [NOT] LIKE pattern [ESCAPE c], at the operator's first word behind NOT. */
static lb_sql_expr *expr_like(lb_sql_parser *p, lb_sql_expr *x, lb_sql_op op, bool negated)
{
    lb_sql_expr *e = expr_wrap(p, LB_SQL_LIKE, sizeof *e, x);

    lb_sql_next(p);
    if (op == LB_SQL_OP_SIMILAR)
        lb_sql_expect_kw(p, LB_KW_TO, "TO");
    e->op = (uint8_t)op;
    e->flags = negated ? LB_SQL_NOT : 0;
    bool quantified = (lb_sql_at_kw(p, LB_KW_ANY) || lb_sql_at_kw(p, LB_KW_ALL) || lb_sql_at_kw(p, LB_KW_SOME)) &&
                      lb_sql_peek(p, 1).kind == LB_TOK_LPAREN;
    lb_sql_expr *pattern = quantified ? expr_quantified(p) : expr_at(p, level_of(p, op) + 1);
    expr_add(e, x, pattern);
    if (lb_sql_accept_kw(p, LB_KW_ESCAPE))
        expr_add(e, pattern, expr_at(p, level_of(p, op) + 1));
    return e;
}

static lb_sql_expr *expr_between(lb_sql_parser *p, lb_sql_expr *x, bool negated)
{
    lb_sql_expr *e = expr_wrap(p, LB_SQL_BETWEEN, sizeof *e, x);

    lb_sql_next(p);
    e->flags = negated ? LB_SQL_NOT : 0;
    if (lb_sql_accept_kw(p, LB_KW_SYMMETRIC))
        e->flags |= LB_SQL_SYMMETRIC;
    lb_sql_expr *low = expr_at(p, level_of_in(p) + 1);
    expr_add(e, x, low);
    lb_sql_expect_kw(p, LB_KW_AND, "AND or an operator");
    expr_add(e, low, expr_at(p, level_of_in(p) + 1));
    return e;
}

static lb_sql_expr *expr_in_query(lb_sql_parser *p, lb_sql_expr *x, lb_sql_query *query)
{
    lb_sql_subquery *sub = (lb_sql_subquery *)expr_wrap(p, LB_SQL_IN_QUERY, sizeof *sub, x);
    x->next = NULL;
    sub->query = query;
    return &sub->expr;
}

/* [NOT] IN (…), at IN. */
static lb_sql_expr *expr_in(lb_sql_parser *p, lb_sql_expr *x, bool negated)
{
    lb_sql_expr *e;

    lb_sql_next(p);
    if (!lb_sql_accept(p, LB_TOK_LPAREN)) {
        e = expr_wrap(p, LB_SQL_IN, sizeof *e, x);
        e->flags = LB_SQL_BARE;
        expr_add(e, x, expr_at(p, L_SIGN));
    } else if (lb_sql_starts_query(p)) {
        e = expr_in_query(p, x, lb_sql_query_parse(p));
        lb_sql_expect(p, LB_TOK_RPAREN, "')'");
    } else if (lb_sql_accept(p, LB_TOK_RPAREN)) {
        e = expr_wrap(p, LB_SQL_IN, sizeof *e, x);
    } else {
        uint32_t count = 0;
        lb_sql_expr *first = lb_sql_expr_list(p, &count);
        if (count == 1 && first->kind == LB_SQL_SUBQUERY && !p->failed) {
            lb_sql_query *query = ((lb_sql_subquery *)first)->query;
            e = expr_in_query(p, x, lb_sql_goes_on(p) ? lb_sql_query_after(p, query, first->begin) : query);
        } else {
            e = expr_wrap(p, LB_SQL_IN, sizeof *e, x);
            x->next = first;
            e->count += count;
        }
        lb_sql_expect(p, LB_TOK_RPAREN, "',', ')' or an operator");
    }
    e->flags |= negated ? LB_SQL_NOT : 0;
    return e;
}

static lb_sql_op like_op(lb_keyword keyword)
{
    switch (keyword) {
    case LB_KW_LIKE:
        return LB_SQL_OP_LIKE;
    case LB_KW_ILIKE:
        return LB_SQL_OP_ILIKE;
    case LB_KW_RLIKE:
        return LB_SQL_OP_RLIKE;
    case LB_KW_REGEXP:
        return LB_SQL_OP_REGEXP;
    case LB_KW_IREGEXP:
        return LB_SQL_OP_IREGEXP;
    case LB_KW_SIMILAR:
        return LB_SQL_OP_SIMILAR;
    case LB_KW_GLOB:
        return LB_SQL_OP_GLOB;
    default:
        return LB_SQL_OP_NONE;
    }
}

/* Put `right` behind `left`, in the chain `left` is if it is of the same level (`*chain`). */
static lb_sql_expr *expr_join(lb_sql_parser *p, lb_sql_expr *left, lb_sql_expr **last, int *chain, int level,
                              unsigned op, lb_sql_expr *right)
{
    if (*last == NULL || *chain != level) {
        left = expr_wrap(p, LB_SQL_CHAIN, sizeof *left, left);
        *last = left->first;
        *chain = level;
    }
    right->joint = (uint8_t)op;
    expr_add(left, *last, right);
    *last = right;
    return left;
}

/* IS …, but for IS DISTINCT FROM, which is told by `*op`: then nothing is made. */
static lb_sql_expr *expr_is(lb_sql_parser *p, lb_sql_expr *x, unsigned *op)
{
    uint8_t what = LB_SQL_IS_NULL;

    lb_sql_next(p);
    bool negated = lb_sql_accept_kw(p, LB_KW_NOT);
    if (lb_sql_accept_kw(p, LB_KW_DISTINCT)) {
        *op = negated ? LB_SQL_OP_NOT_DISTINCT : LB_SQL_OP_DISTINCT;
        lb_sql_expect_kw(p, LB_KW_FROM, "FROM");
        return x;
    }
    if (lb_sql_accept_kw(p, LB_KW_TRUE))
        what = LB_SQL_IS_TRUE;
    else if (lb_sql_accept_kw(p, LB_KW_FALSE))
        what = LB_SQL_IS_FALSE;
    else if (lb_sql_accept_kw(p, LB_KW_UNKNOWN))
        what = LB_SQL_IS_UNKNOWN;
    else
        lb_sql_expect_kw(p, LB_KW_NULL,
                         negated ? "NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM"
                                 : "NULL, NOT, TRUE, FALSE, UNKNOWN or DISTINCT FROM");
    lb_sql_expr *e = expr_wrap(p, LB_SQL_IS, sizeof *e, x);
    e->op = what;
    e->flags = negated ? LB_SQL_NOT : 0;
    return e;
}

/* Predicates that begin with a word: [NOT] LIKE, BETWEEN, IN; IS. Returns NULL where none is here or it binds more
 * loosely than `least`. */
static lb_sql_expr *expr_predicate(lb_sql_parser *p, lb_sql_expr *x, int least, unsigned *op)
{
    bool negated = lb_sql_at_kw(p, LB_KW_NOT);
    lb_token tok = negated ? lb_sql_peek(p, 1) : p->tok;

    if (tok.kind != LB_TOK_WORD)
        return NULL;
    if (tok.keyword == LB_KW_IN || tok.keyword == LB_KW_BETWEEN) {
        if (level_of_in(p) < least)
            return NULL;
        if (negated)
            lb_sql_next(p);
        return tok.keyword == LB_KW_IN ? expr_in(p, x, negated) : expr_between(p, x, negated);
    }
    if (!negated && L_IS >= least) {
        if (tok.keyword == LB_KW_IS)
            return expr_is(p, x, op);
        if (p->ansi && (tok.keyword == LB_KW_ISNULL || tok.keyword == LB_KW_NOTNULL)) {
            lb_sql_next(p);
            lb_sql_expr *e = expr_wrap(p, LB_SQL_IS, sizeof *e, x);
            e->flags = tok.keyword == LB_KW_NOTNULL ? LB_SQL_NOT : 0;
            return e;
        }
    }
    lb_sql_op like = like_op(tok.keyword);
    if (like == LB_SQL_OP_NONE || level_of(p, like) < least)
        return NULL;
    uint32_t behind = negated ? 2 : 1;
    if (like == LB_SQL_OP_SIMILAR && !lb_sql_peek_kw(p, behind, LB_KW_TO))
        return NULL;
    if (like == LB_SQL_OP_GLOB && lb_sql_peek(p, behind).kind != LB_TOK_STRING)
        return NULL;
    if (negated)
        lb_sql_next(p);
    return expr_like(p, x, like, negated);
}

static unsigned word_op(const lb_sql_parser *p)
{
    switch (p->tok.keyword) {
    case LB_KW_AND:
        return LB_SQL_OP_AND;
    case LB_KW_OR:
        return LB_SQL_OP_OR;
    case LB_KW_XOR:
        return LB_SQL_OP_XOR;
    case LB_KW_DIV:
        return LB_SQL_OP_DIV;
    default:
        return LB_SQL_OP_NONE;
    }
}

static unsigned custom_op(const char *text)
{
    unsigned i = 0;
    while (strcmp(lb_sql_custom_text(i), text) != 0)
        i++;
    return LB_SQL_OP_CUSTOM + i;
}

/* The operator between two operands that stands here, or NONE. */
static unsigned infix_op(const lb_sql_parser *p)
{
    if (p->tok.kind == LB_TOK_WORD)
        return word_op(p);
    if (p->tok.kind == LB_TOK_CUSTOM)
        return LB_SQL_OP_CUSTOM + p->tok.flags;
    if (p->ansi && p->tok.kind == LB_TOK_ARROW)
        return custom_op("->");
    if (p->ansi && p->tok.kind == LB_TOK_TILDE)
        return custom_op("~");
    return sign_ops[p->tok.kind];
}

static bool op_compares(unsigned op)
{
    return (op >= LB_SQL_OP_EQ && op <= LB_SQL_OP_NOT_DISTINCT) || op >= LB_SQL_OP_CUSTOM;
}

static lb_sql_expr *expr_right(lb_sql_parser *p, unsigned op, int level)
{
    if (op_compares(op) && (lb_sql_at_kw(p, LB_KW_ANY) || lb_sql_at_kw(p, LB_KW_ALL) || lb_sql_at_kw(p, LB_KW_SOME)) &&
        lb_sql_peek(p, 1).kind == LB_TOK_LPAREN)
        return expr_quantified(p);
    return expr_at(p, level + 1);
}

/* An arrow behind names in parentheses, or one name, begins a lambda; before a literal the ANSI dialect takes it for
 * the operator that looks into JSON. */
static bool arrow_is_lambda(lb_sql_parser *p, const lb_sql_expr *head)
{
    if (p->tok.kind != LB_TOK_ARROW || !lb_sql_is_lambda_head(head))
        return false;
    uint8_t next = lb_sql_peek(p, 1).kind;
    return !p->ansi || (next != LB_TOK_STRING && next != LB_TOK_INTEGER);
}

/* An expression whose operators all bind at least as tightly as `least`. */
static lb_sql_expr *expr_at(lb_sql_parser *p, int least)
{
    uint32_t saved = lb_sql_open(p);
    lb_sql_expr *left = expr_begin(p), *last = NULL, *more;
    int chain = -1;

    for (;;) {
        unsigned op = infix_op(p);
        if (least == L_ANY && arrow_is_lambda(p, left)) {
            left = lb_sql_lambda_parse(p, left);
            break;
        }
        if (op == LB_SQL_OP_NONE) {
            if (p->tok.kind == LB_TOK_COMMA || p->tok.kind == LB_TOK_RPAREN)
                break;
            more = expr_postfix(p, left);
            if (more == NULL && p->tok.kind == LB_TOK_WORD)
                more = expr_predicate(p, left, least, &op);
            if (more == NULL)
                break;
            if (op == LB_SQL_OP_NONE) {
                left = more;
                left->end = p->last_end;
                chain = -1;
                continue;
            }
        } else {
            if (level_of(p, op) < least)
                break;
            lb_sql_next(p);
        }
        int level = level_of(p, op);
        left = expr_join(p, left, &last, &chain, level, op, expr_right(p, op, level));
        left->end = p->last_end;
    }
    lb_sql_close(p, saved);
    return left;
}

lb_sql_expr *lb_sql_expr_parse(lb_sql_parser *p)
{
    return expr_at(p, L_ANY);
}
