/* Calls with all that may stand in and behind them, stars, windows, lambdas. */
#include "sql/sql_parser.h"

/* ---------------------------------------------------------------- lambdas and named arguments */

static bool names_one(const lb_sql_expr *e)
{
    return e->kind == LB_SQL_COLUMN && LB_SQL_AS(column, e)->path.count == 1;
}

bool lb_sql_is_lambda_head(const lb_sql_expr *head)
{
    if (head->kind != LB_SQL_PAREN && (head->kind != LB_SQL_TUPLE || (head->flags & LB_SQL_WORD)))
        return names_one(head);
    for (const lb_sql_expr *e = head->first; e != NULL; e = e->next)
        if (!names_one(e))
            return false;
    return true;
}

lb_sql_expr *lb_sql_lambda_parse(lb_sql_parser *p, lb_sql_expr *head)
{
    uint32_t from = p->name_count;
    bool listed = head->kind != LB_SQL_COLUMN;

    lb_sql_next(p);
    for (const lb_sql_expr *e = listed ? head->first : head; e != NULL && !p->failed; e = listed ? e->next : NULL)
        lb_sql_push_name(p, LB_SQL_AS(column, e)->path.at[0]);
    lb_sql_names params = lb_sql_pop_names(p, from);
    lb_sql_expr *body = lb_sql_expr_parse(p);
    lb_sql_lambda *lambda = (lb_sql_lambda *)lb_sql_expr_new(p, LB_SQL_LAMBDA, sizeof *lambda, head->begin);
    lambda->params = params;
    lambda->expr.first = body;
    lambda->expr.count = 1;
    lambda->expr.flags = listed ? LB_SQL_WORD : 0;
    return &lambda->expr;
}

/* Whether `name =>` or `name :=` stands here. */
static bool argument_is_named(lb_sql_parser *p, lb_sql_named_form *form)
{
    if (p->tok.kind != LB_TOK_WORD && p->tok.kind != LB_TOK_QUOTED)
        return false;
    uint8_t next = lb_sql_peek(p, 1).kind;
    *form = next == LB_TOK_ASSIGN ? LB_SQL_NAMED_ASSIGN : LB_SQL_NAMED_ARROW;
    return next == LB_TOK_ASSIGN || next == LB_TOK_FAT_ARROW;
}

/* name => e, name := e, e AS name, e */
static lb_sql_expr *call_argument(lb_sql_parser *p)
{
    uint32_t begin = p->tok.begin;
    lb_sql_name name = { 0 };
    lb_sql_named_form form = LB_SQL_NAMED_AS;

    if (lb_sql_at(p, LB_TOK_STAR)) {
        lb_sql_next(p);
        lb_sql_star *star = (lb_sql_star *)lb_sql_expr_new(p, LB_SQL_STAR, sizeof *star, begin);
        lb_sql_star_parse(p, star);
        return &star->expr;
    }
    if (argument_is_named(p, &form)) {
        name = lb_sql_take_any_name(p, "a name");
        lb_sql_next(p);
    }
    lb_sql_expr *value = lb_sql_expr_parse(p);
    if (!lb_sql_has(&name)) {
        if (!lb_sql_at_kw(p, LB_KW_AS))
            return value;
        form = LB_SQL_NAMED_AS;
        name = lb_sql_take_alias(p, false);
    }
    lb_sql_named *named = (lb_sql_named *)lb_sql_expr_new(p, LB_SQL_NAMED, sizeof *named, begin);
    named->expr.op = (uint8_t)form;
    named->expr.first = value;
    named->expr.count = 1;
    named->name = name;
    lb_sql_grow(p);
    return &named->expr;
}

/* ---------------------------------------------------------------- arguments with key words between them */

static void call_push(lb_sql_call *call, lb_sql_expr ***tail, lb_sql_expr *e)
{
    lb_sql_append_expr(tail, e);
    call->expr.count++;
}

/* EXTRACT(unit FROM x). False: the arguments are plain ones. */
static bool call_extract(lb_sql_parser *p, lb_sql_call *call, lb_sql_expr ***tail)
{
    lb_token tok = p->tok;

    if ((tok.kind != LB_TOK_WORD && tok.kind != LB_TOK_STRING) || !lb_sql_peek_kw(p, 1, LB_KW_FROM))
        return false;
    call->expr.op = LB_SQL_CALL_EXTRACT;
    if (tok.kind == LB_TOK_STRING) {
        call_push(call, tail, lb_sql_string_parse(p, "a unit of time"));
    } else {
        uint32_t from = p->name_count;
        lb_sql_push_name(p, lb_sql_take_any_name(p, "a unit of time"));
        call_push(call, tail, lb_sql_column_of(p, lb_sql_pop_names(p, from)));
    }
    lb_sql_expect_kw(p, LB_KW_FROM, "FROM");
    call_push(call, tail, lb_sql_expr_parse(p));
    return true;
}

/* TRIM([BOTH|LEADING|TRAILING] [c] FROM x). False: plain so far; one argument may be read. */
static bool call_trim(lb_sql_parser *p, lb_sql_call *call, lb_sql_expr ***tail)
{
    bool word = lb_sql_at_kw(p, LB_KW_BOTH) || lb_sql_at_kw(p, LB_KW_LEADING) || lb_sql_at_kw(p, LB_KW_TRAILING);
    uint8_t next = word ? lb_sql_peek(p, 1).kind : LB_TOK_END;

    if (word && next != LB_TOK_COMMA && next != LB_TOK_RPAREN && next != LB_TOK_DOT) {
        call->unit = lb_sql_text(p->text, p->tok.begin, p->tok.end);
        call->expr.op = LB_SQL_CALL_TRIM;
        lb_sql_next(p);
        if (lb_sql_accept_kw(p, LB_KW_FROM)) {
            call_push(call, tail, lb_sql_expr_parse(p));
            return true;
        }
    }
    call_push(call, tail, lb_sql_expr_parse(p));
    if (lb_sql_accept_kw(p, LB_KW_FROM)) {
        call->expr.op = LB_SQL_CALL_TRIM;
        call_push(call, tail, lb_sql_expr_parse(p));
        return true;
    }
    return call->expr.op == LB_SQL_CALL_TRIM;
}

/* SUBSTRING(x FROM a [FOR b]). False: one plain argument is read. */
static bool call_substring(lb_sql_parser *p, lb_sql_call *call, lb_sql_expr ***tail)
{
    call_push(call, tail, lb_sql_expr_parse(p));
    if (!lb_sql_accept_kw(p, LB_KW_FROM))
        return false;
    call->expr.op = LB_SQL_CALL_SUBSTRING;
    call_push(call, tail, lb_sql_expr_parse(p));
    if (lb_sql_accept_kw(p, LB_KW_FOR))
        call_push(call, tail, lb_sql_expr_parse(p));
    return true;
}

/* POSITION(a IN b): what stands before IN is read as a whole, and taken apart. False: one plain argument is read. */
static bool call_position(lb_sql_parser *p, lb_sql_call *call, lb_sql_expr ***tail)
{
    lb_sql_expr *e = lb_sql_expr_parse(p);

    if (p->failed || e->kind != LB_SQL_IN || !(e->flags & LB_SQL_BARE) || (e->flags & LB_SQL_NOT)) {
        call_push(call, tail, e);
        return false;
    }
    call->expr.op = LB_SQL_CALL_POSITION;
    lb_sql_expr *a = e->first, *b = a->next;
    a->next = NULL;
    call_push(call, tail, a);
    call_push(call, tail, b);
    return true;
}

/* OVERLAY(x PLACING y FROM a [FOR b]). False: one plain argument is read. */
static bool call_overlay(lb_sql_parser *p, lb_sql_call *call, lb_sql_expr ***tail)
{
    call_push(call, tail, lb_sql_expr_parse(p));
    if (!lb_sql_accept_kw(p, LB_KW_PLACING))
        return false;
    call->expr.op = LB_SQL_CALL_OVERLAY;
    call_push(call, tail, lb_sql_expr_parse(p));
    lb_sql_expect_kw(p, LB_KW_FROM, "FROM");
    call_push(call, tail, lb_sql_expr_parse(p));
    if (lb_sql_accept_kw(p, LB_KW_FOR))
        call_push(call, tail, lb_sql_expr_parse(p));
    return true;
}

/* Arguments of the functions that have a form of their own. True: nothing more may follow. */
static bool call_special(lb_sql_parser *p, lb_sql_call *call, lb_keyword name, lb_sql_expr ***tail)
{
    switch (name) {
    case LB_KW_EXTRACT:
        return call_extract(p, call, tail);
    case LB_KW_TRIM:
        return call_trim(p, call, tail);
    case LB_KW_SUBSTRING:
    case LB_KW_SUBSTR:
        return call_substring(p, call, tail);
    case LB_KW_POSITION:
        return call_position(p, call, tail);
    case LB_KW_OVERLAY:
        return call_overlay(p, call, tail);
    default:
        return false;
    }
}

static lb_keyword call_keyword(const lb_sql_call *call)
{
    if (call->name.count != 1 || call->name.at[0].quote != 0)
        return LB_KW_NONE;
    const lb_keyword_row *row = lb_sql_keyword(call->name.at[0].text.at, call->name.at[0].text.size);
    return row == NULL ? LB_KW_NONE : (lb_keyword)row->keyword;
}

static void call_nulls(lb_sql_parser *p, lb_sql_call *call, bool inside)
{
    uint16_t flag = 0;

    if (lb_sql_accept_kws(p, LB_KW_IGNORE, LB_KW_NULLS))
        flag = LB_SQL_IGNORE_NULLS;
    else if (lb_sql_accept_kws(p, LB_KW_RESPECT, LB_KW_NULLS))
        flag = LB_SQL_RESPECT_NULLS;
    if (flag != 0 && !(call->expr.flags & (LB_SQL_IGNORE_NULLS | LB_SQL_RESPECT_NULLS)))
        call->expr.flags |= (uint16_t)(flag | (inside ? LB_SQL_NULLS_INSIDE : 0));
}

static void call_arguments(lb_sql_parser *p, lb_sql_call *call)
{
    lb_sql_expr **tail = &call->expr.first;
    bool more = true;

    if (lb_sql_at(p, LB_TOK_RPAREN))
        return;
    if (lb_sql_accept_kw(p, LB_KW_DISTINCT))
        call->expr.flags |= LB_SQL_CALL_DISTINCT;
    else if (lb_sql_accept_kw(p, LB_KW_ALL))
        call->expr.flags |= LB_SQL_CALL_ALL;
    if (call_special(p, call, call_keyword(call), &tail))
        more = false;
    else if (call->expr.count != 0)
        more = lb_sql_accept(p, LB_TOK_COMMA);
    while (more) {
        call_push(call, &tail, call_argument(p));
        more = lb_sql_accept(p, LB_TOK_COMMA);
    }
    if (lb_sql_accept_kws(p, LB_KW_ORDER, LB_KW_BY))
        call->order = lb_sql_order_parse(p);
    call_nulls(p, call, true);
}

/* FILTER (WHERE c), WITHIN GROUP (ORDER BY x), OVER w: each only if what follows shows that it is no alias. */
static void call_behind(lb_sql_parser *p, lb_sql_call *call)
{
    if (lb_sql_at_kw(p, LB_KW_WITHIN) && lb_sql_peek_kw(p, 1, LB_KW_GROUP)) {
        lb_sql_next(p);
        lb_sql_next(p);
        lb_sql_expect(p, LB_TOK_LPAREN, "'('");
        lb_sql_expect_kw(p, LB_KW_ORDER, "ORDER BY");
        lb_sql_expect_kw(p, LB_KW_BY, "BY");
        call->within = lb_sql_order_parse(p);
        lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    }
    if (lb_sql_at_kw(p, LB_KW_FILTER) && lb_sql_peek(p, 1).kind == LB_TOK_LPAREN) {
        lb_sql_next(p);
        lb_sql_next(p);
        lb_sql_expect_kw(p, LB_KW_WHERE, "WHERE");
        call->filter = lb_sql_expr_parse(p);
        lb_sql_expect(p, LB_TOK_RPAREN, "')' or an operator");
    }
    call_nulls(p, call, false);
    uint8_t next = lb_sql_at_kw(p, LB_KW_OVER) ? lb_sql_peek(p, 1).kind : LB_TOK_END;
    if (next == LB_TOK_LPAREN || next == LB_TOK_WORD || next == LB_TOK_QUOTED) {
        lb_sql_next(p);
        call->over = lb_sql_window_parse(p);
    }
}

lb_sql_expr *lb_sql_call_parse(lb_sql_parser *p, lb_sql_names name)
{
    uint32_t begin = name.count == 0 ? p->tok.begin : name.at[0].begin;
    lb_sql_call *call = (lb_sql_call *)lb_sql_expr_new(p, LB_SQL_CALL, sizeof *call, begin);

    call->name = name;
    lb_sql_expect(p, LB_TOK_LPAREN, "'('");
    call_arguments(p, call);
    lb_sql_expect(p, LB_TOK_RPAREN, "',', ')' or an operator");
    call_behind(p, call);
    call->expr.end = p->last_end;
    return &call->expr;
}

/* ---------------------------------------------------------------- stars */

static lb_sql_item *star_replace(lb_sql_parser *p)
{
    lb_sql_item *first = NULL, **tail = &first;
    bool listed = lb_sql_accept(p, LB_TOK_LPAREN);

    do {
        lb_sql_item *item = LB_SQL_NEW(p, lb_sql_item);
        item->expr = lb_sql_expr_parse(p);
        lb_sql_expect_kw(p, LB_KW_AS, "AS or an operator");
        item->alias = lb_sql_take_any_name(p, "a column name");
        *tail = item;
        tail = &item->next;
    } while (listed && lb_sql_accept(p, LB_TOK_COMMA));
    if (listed)
        lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    return first;
}

static lb_sql_rename *star_renames(lb_sql_parser *p)
{
    lb_sql_rename *first = NULL, **tail = &first;
    bool listed = lb_sql_accept(p, LB_TOK_LPAREN);

    do {
        lb_sql_rename *rename = LB_SQL_NEW(p, lb_sql_rename);
        rename->from = lb_sql_take_any_name(p, "a column name");
        lb_sql_expect_kw(p, LB_KW_AS, "AS");
        rename->to = lb_sql_take_any_name(p, "a column name");
        *tail = rename;
        tail = &rename->next;
    } while (listed && lb_sql_accept(p, LB_TOK_COMMA));
    if (listed)
        lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    return first;
}

/* EXCEPT (a, …) of a star; `* EXCEPT (SELECT …)` is a set operation. */
static bool star_is_except(lb_sql_parser *p)
{
    lb_token second = lb_sql_at_kw(p, LB_KW_EXCEPT) ? lb_sql_peek(p, 2) : p->tok;

    return lb_sql_at_kw(p, LB_KW_EXCEPT) && lb_sql_peek(p, 1).kind == LB_TOK_LPAREN &&
           (second.kind == LB_TOK_QUOTED || (second.kind == LB_TOK_WORD && !(second.flags & LB_KW_RESERVED)));
}

void lb_sql_star_parse(lb_sql_parser *p, lb_sql_star *star)
{
    if (star_is_except(p)) {
        lb_sql_next(p);
        star->except = lb_sql_take_list(p);
    } else if (lb_sql_at_kw(p, LB_KW_EXCLUDE)) {
        lb_sql_next(p);
        if (lb_sql_at(p, LB_TOK_LPAREN)) {
            star->except = lb_sql_take_list(p);
        } else {
            uint32_t from = p->name_count;
            lb_sql_push_name(p, lb_sql_take_any_name(p, "a column name"));
            star->except = lb_sql_pop_names(p, from);
        }
    }
    if (lb_sql_accept_kw(p, LB_KW_REPLACE))
        star->replace = star_replace(p);
    if (lb_sql_accept_kw(p, LB_KW_RENAME))
        star->renames = star_renames(p);
    star->expr.end = p->last_end;
    lb_sql_grow(p);
}

/* ---------------------------------------------------------------- ORDER BY and windows */

lb_sql_order *lb_sql_order_parse(lb_sql_parser *p)
{
    lb_sql_order *first = NULL, **tail = &first;

    do {
        lb_sql_order *order = LB_SQL_NEW(p, lb_sql_order);
        order->begin = p->tok.begin;
        order->expr = lb_sql_expr_parse(p);
        order->direction = lb_sql_accept_kw(p, LB_KW_ASC) ? 'a' : lb_sql_accept_kw(p, LB_KW_DESC) ? 'd' : 0;
        if (lb_sql_accept_kws(p, LB_KW_NULLS, LB_KW_FIRST))
            order->nulls = 'f';
        else if (lb_sql_accept_kws(p, LB_KW_NULLS, LB_KW_LAST))
            order->nulls = 'l';
        order->end = p->last_end;
        *tail = order;
        tail = &order->next;
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    return first;
}

static lb_sql_frame window_frame(const lb_sql_parser *p)
{
    return lb_sql_at_kw(p, LB_KW_ROWS)     ? LB_SQL_ROWS
           : lb_sql_at_kw(p, LB_KW_RANGE)  ? LB_SQL_RANGE
           : lb_sql_at_kw(p, LB_KW_GROUPS) ? LB_SQL_GROUPS
                                           : LB_SQL_FRAME_NONE;
}

static lb_sql_bound window_bound(lb_sql_parser *p)
{
    lb_sql_bound bound = { .kind = LB_SQL_PRECEDING };

    if (lb_sql_accept_kws(p, LB_KW_UNBOUNDED, LB_KW_PRECEDING)) {
        bound.kind = LB_SQL_UNBOUNDED_PRECEDING;
    } else if (lb_sql_accept_kws(p, LB_KW_UNBOUNDED, LB_KW_FOLLOWING)) {
        bound.kind = LB_SQL_UNBOUNDED_FOLLOWING;
    } else if (lb_sql_accept_kws(p, LB_KW_CURRENT, LB_KW_ROW)) {
        bound.kind = LB_SQL_CURRENT_ROW;
    } else {
        bound.offset = lb_sql_expr_parse(p);
        if (lb_sql_accept_kw(p, LB_KW_FOLLOWING))
            bound.kind = LB_SQL_FOLLOWING;
        else
            lb_sql_expect_kw(p, LB_KW_PRECEDING, "PRECEDING, FOLLOWING or an operator");
    }
    return bound;
}

static char window_exclude(lb_sql_parser *p)
{
    if (lb_sql_accept_kws(p, LB_KW_CURRENT, LB_KW_ROW))
        return 'c';
    if (lb_sql_accept_kw(p, LB_KW_GROUP))
        return 'g';
    if (lb_sql_accept_kw(p, LB_KW_TIES))
        return 't';
    if (!lb_sql_accept_kws(p, LB_KW_NO, LB_KW_OTHERS))
        lb_sql_expected(p, "CURRENT ROW, GROUP, TIES or NO OTHERS");
    return 'n';
}

static void window_frame_parse(lb_sql_parser *p, lb_sql_window *w)
{
    lb_sql_next(p);
    bool between = lb_sql_accept_kw(p, LB_KW_BETWEEN);
    w->start = window_bound(p);
    if (between) {
        lb_sql_expect_kw(p, LB_KW_AND, "AND");
        w->stop = window_bound(p);
    }
    if (lb_sql_accept_kw(p, LB_KW_EXCLUDE))
        w->exclude = window_exclude(p);
}

lb_sql_window *lb_sql_window_parse(lb_sql_parser *p)
{
    lb_sql_window *w = LB_SQL_NEW(p, lb_sql_window);

    w->begin = p->tok.begin;
    w->bare = !lb_sql_accept(p, LB_TOK_LPAREN);
    if (w->bare) {
        w->base = lb_sql_take_name(p, "the name of a window or '('");
        w->end = p->last_end;
        return w;
    }
    bool clause =
        lb_sql_at_kw(p, LB_KW_PARTITION) || lb_sql_at_kw(p, LB_KW_ORDER) || window_frame(p) != LB_SQL_FRAME_NONE;
    if (!clause && lb_sql_at_name(p))
        w->base = lb_sql_take_name(p, "the name of a window");
    if (lb_sql_accept_kw(p, LB_KW_PARTITION)) {
        lb_sql_expect_kw(p, LB_KW_BY, "BY");
        w->partition = lb_sql_expr_list(p, NULL);
    }
    if (lb_sql_accept_kws(p, LB_KW_ORDER, LB_KW_BY))
        w->order = lb_sql_order_parse(p);
    w->frame = window_frame(p);
    if (w->frame != LB_SQL_FRAME_NONE)
        window_frame_parse(p, w);
    lb_sql_expect(p, LB_TOK_RPAREN, "PARTITION BY, ORDER BY, ROWS, RANGE or ')'");
    w->end = p->last_end;
    return w;
}
