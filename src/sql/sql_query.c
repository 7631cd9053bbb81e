/* Queries: WITH, set operations, SELECT, VALUES. */
#include "sql/sql_parser.h"

/* ---------------------------------------------------------------- what begins and ends a query */

bool lb_sql_starts_query(const lb_sql_parser *p)
{
    if (p->tok.kind != LB_TOK_WORD)
        return false;
    switch (p->tok.keyword) {
    case LB_KW_SELECT:
    case LB_KW_WITH:
    case LB_KW_VALUES:
    case LB_KW_FROM:
    case LB_KW_TABLE:
        return true;
    default:
        return false;
    }
}

static bool query_at_tail(const lb_sql_parser *p)
{
    return lb_sql_at_kw(p, LB_KW_ORDER) || lb_sql_at_kw(p, LB_KW_LIMIT) || lb_sql_at_kw(p, LB_KW_OFFSET) ||
           lb_sql_at_kw(p, LB_KW_FETCH);
}

static lb_sql_set query_set(const lb_sql_parser *p)
{
    if (lb_sql_at_kw(p, LB_KW_UNION))
        return LB_SQL_SET_UNION;
    if (lb_sql_at_kw(p, LB_KW_EXCEPT) || (lb_sql_at_kw(p, LB_KW_MINUS) && !p->ansi))
        return LB_SQL_SET_EXCEPT;
    return lb_sql_at_kw(p, LB_KW_INTERSECT) ? LB_SQL_SET_INTERSECT : LB_SQL_SET_FIRST;
}

bool lb_sql_goes_on(const lb_sql_parser *p)
{
    return query_set(p) != LB_SQL_SET_FIRST || query_at_tail(p);
}

/* ---------------------------------------------------------------- ORDER BY … LIMIT … */

static void tail_order(lb_sql_parser *p, lb_sql_tail *tail)
{
    lb_sql_next(p);
    lb_sql_expect_kw(p, LB_KW_BY, "BY");
    if (lb_sql_at_kw(p, LB_KW_ALL)) {
        lb_sql_next(p);
        tail->order_all = true;
        tail->all_direction = lb_sql_accept_kw(p, LB_KW_ASC) ? 'a' : lb_sql_accept_kw(p, LB_KW_DESC) ? 'd' : 0;
    } else {
        tail->order = lb_sql_order_parse(p);
    }
}

/* LIMIT n, LIMIT ALL, LIMIT 10 %, LIMIT offset, n */
static void tail_limit(lb_sql_parser *p, lb_sql_tail *tail)
{
    lb_sql_next(p);
    if (lb_sql_accept_kw(p, LB_KW_ALL)) {
        tail->limit_all = true;
        return;
    }
    if ((lb_sql_at(p, LB_TOK_INTEGER) || lb_sql_at(p, LB_TOK_DECIMAL)) && lb_sql_peek(p, 1).kind == LB_TOK_PERCENT) {
        uint8_t behind = lb_sql_peek(p, 2).kind;
        if (behind == LB_TOK_END || behind == LB_TOK_RPAREN || behind == LB_TOK_SEMICOLON || behind == LB_TOK_WORD) {
            lb_sql_kind kind = lb_sql_at(p, LB_TOK_INTEGER) ? LB_SQL_INTEGER : LB_SQL_DECIMAL;
            uint32_t begin = p->tok.begin;
            lb_sql_next(p);
            tail->limit = lb_sql_expr_new(p, kind, sizeof(lb_sql_expr), begin);
            lb_sql_next(p);
            tail->percent = true;
            return;
        }
    }
    tail->limit = lb_sql_expr_parse(p);
    if (lb_sql_accept_kw(p, LB_KW_PERCENT))
        tail->percent = true;
    if (lb_sql_accept(p, LB_TOK_COMMA)) {
        tail->offset = tail->limit;
        tail->limit = lb_sql_expr_parse(p);
    }
}

static void tail_row_word(lb_sql_parser *p)
{
    if (!lb_sql_accept_kw(p, LB_KW_ROW))
        (void)lb_sql_accept_kw(p, LB_KW_ROWS);
}

/* FETCH FIRST n ROWS ONLY */
static void tail_fetch(lb_sql_parser *p, lb_sql_tail *tail)
{
    lb_sql_next(p);
    tail->fetch = true;
    if (!lb_sql_accept_kw(p, LB_KW_FIRST))
        (void)lb_sql_take_any_name(p, "FIRST or NEXT");
    if (!lb_sql_at_kw(p, LB_KW_ROW) && !lb_sql_at_kw(p, LB_KW_ROWS))
        tail->limit = lb_sql_expr_parse(p);
    tail->percent = lb_sql_accept_kw(p, LB_KW_PERCENT);
    tail_row_word(p);
    tail->with_ties = lb_sql_accept_kws(p, LB_KW_WITH, LB_KW_TIES);
    if (!tail->with_ties)
        lb_sql_expect_kw(p, LB_KW_ONLY, "ONLY or WITH TIES");
}

static void tail_parse(lb_sql_parser *p, lb_sql_tail *tail)
{
    bool limited = false, offset = false;

    if (lb_sql_at_kw(p, LB_KW_ORDER))
        tail_order(p, tail);
    for (;;) {
        if (lb_sql_at_kw(p, LB_KW_OFFSET) && !offset) {
            lb_sql_next(p);
            tail->offset = lb_sql_expr_parse(p);
            tail_row_word(p);
            offset = true;
        } else if (lb_sql_at_kw(p, LB_KW_LIMIT) && !limited) {
            tail_limit(p, tail);
            limited = true;
        } else if (lb_sql_at_kw(p, LB_KW_FETCH) && !limited) {
            tail_fetch(p, tail);
            limited = true;
        } else {
            return;
        }
    }
}

/* ---------------------------------------------------------------- SELECT */

lb_sql_item *lb_sql_items_parse(lb_sql_parser *p, uint32_t *count)
{
    lb_sql_item *first = NULL, **tail = &first;
    uint32_t n = 0;

    do {
        lb_sql_item *item = LB_SQL_NEW(p, lb_sql_item);
        if (lb_sql_at(p, LB_TOK_STAR)) {
            uint32_t begin = p->tok.begin;
            lb_sql_next(p);
            lb_sql_star *star = (lb_sql_star *)lb_sql_expr_new(p, LB_SQL_STAR, sizeof *star, begin);
            lb_sql_star_parse(p, star);
            item->expr = &star->expr;
        } else {
            item->expr = lb_sql_expr_parse(p);
            if (item->expr->kind != LB_SQL_STAR)
                item->alias = lb_sql_take_alias(p, !p->ansi);
        }
        *tail = item;
        tail = &item->next;
        n++;
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    if (count != NULL)
        *count = n;
    return first;
}

static lb_sql_group *group_list(lb_sql_parser *p, bool sets);

static lb_sql_group_kind group_word(lb_sql_parser *p)
{
    if (lb_sql_at_kw(p, LB_KW_GROUPING) && lb_sql_peek_kw(p, 1, LB_KW_SETS))
        return LB_SQL_GROUP_SETS;
    if (lb_sql_peek(p, 1).kind != LB_TOK_LPAREN)
        return LB_SQL_GROUP_EXPR;
    if (lb_sql_at_kw(p, LB_KW_ROLLUP))
        return LB_SQL_GROUP_ROLLUP;
    return lb_sql_at_kw(p, LB_KW_CUBE) ? LB_SQL_GROUP_CUBE : LB_SQL_GROUP_EXPR;
}

/* One element of GROUP BY; within ROLLUP and its like (`sets`) parentheses make a set. */
static lb_sql_group *group_parse(lb_sql_parser *p, bool sets)
{
    uint32_t saved = lb_sql_open(p);
    lb_sql_group *group = LB_SQL_NEW(p, lb_sql_group);

    group->begin = p->tok.begin;
    group->kind = p->tok.kind == LB_TOK_WORD ? group_word(p) : LB_SQL_GROUP_EXPR;
    if (group->kind != LB_SQL_GROUP_EXPR) {
        lb_sql_next(p);
        (void)lb_sql_accept_kw(p, LB_KW_SETS);
        lb_sql_expect(p, LB_TOK_LPAREN, "'('");
        group->first = group_list(p, true);
        lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    } else {
        group->expr = lb_sql_expr_parse(p);
        bool tuple = group->expr->kind == LB_SQL_TUPLE && !(group->expr->flags & LB_SQL_WORD);
        if ((sets && (tuple || group->expr->kind == LB_SQL_PAREN)) || (tuple && group->expr->count == 0)) {
            lb_sql_group **tail = &group->first;
            group->kind = LB_SQL_GROUP_SET;
            for (lb_sql_expr *e = group->expr->first, *next; e != NULL && !p->failed; e = next) {
                next = e->next;
                e->next = NULL;
                *tail = LB_SQL_NEW(p, lb_sql_group);
                **tail = (lb_sql_group){ .kind = LB_SQL_GROUP_EXPR, .begin = e->begin, .end = e->end, .expr = e };
                tail = &(*tail)->next;
            }
            group->expr = NULL;
        }
    }
    group->end = p->last_end;
    lb_sql_close(p, saved);
    return group;
}

static lb_sql_group *group_list(lb_sql_parser *p, bool sets)
{
    lb_sql_group *first = NULL, **tail = &first;

    if (sets && lb_sql_at(p, LB_TOK_RPAREN))
        return NULL;
    do {
        *tail = group_parse(p, sets);
        tail = &(*tail)->next;
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    return first;
}

static void select_group(lb_sql_parser *p, lb_sql_block *b)
{
    lb_sql_expect_kw(p, LB_KW_BY, "BY");
    if (lb_sql_at_kw(p, LB_KW_ALL)) {
        lb_sql_next(p);
        b->group_by = LB_SQL_BY_ALL;
        return;
    }
    b->group = group_list(p, false);
    if (lb_sql_accept_kws(p, LB_KW_WITH, LB_KW_ROLLUP))
        b->group_by = LB_SQL_BY_ROLLUP;
    else if (lb_sql_accept_kws(p, LB_KW_WITH, LB_KW_CUBE))
        b->group_by = LB_SQL_BY_CUBE;
}

static lb_sql_window *select_windows(lb_sql_parser *p)
{
    lb_sql_window *first = NULL, **tail = &first;

    do {
        lb_sql_name name = lb_sql_take_name(p, "the name of a window");
        lb_sql_expect_kw(p, LB_KW_AS, "AS");
        *tail = lb_sql_window_parse(p);
        (*tail)->name = name;
        tail = &(*tail)->next;
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    return first;
}

/* Whether a word opens a clause here: it has not been read yet, and is taken. */
static bool select_clause(lb_sql_parser *p, lb_keyword keyword, bool already)
{
    return !already && lb_sql_accept_kw(p, keyword);
}

static bool select_clause_by(lb_sql_parser *p, lb_keyword keyword, bool already)
{
    return !already && lb_sql_accept_kws(p, keyword, LB_KW_BY);
}

/* What stands behind FROM, in any order that some system allows. */
static void select_clauses(lb_sql_parser *p, lb_sql_block *b)
{
    for (;;) {
        if (select_clause(p, LB_KW_WHERE, b->where != NULL))
            b->where = lb_sql_expr_parse(p);
        else if (select_clause(p, LB_KW_GROUP, b->group != NULL || b->group_by != LB_SQL_BY_PLAIN))
            select_group(p, b);
        else if (select_clause(p, LB_KW_HAVING, b->having != NULL))
            b->having = lb_sql_expr_parse(p);
        else if (select_clause(p, LB_KW_QUALIFY, b->qualify != NULL))
            b->qualify = lb_sql_expr_parse(p);
        else if (select_clause(p, LB_KW_WINDOW, b->windows != NULL))
            b->windows = select_windows(p);
        else if (select_clause_by(p, LB_KW_CLUSTER, b->cluster_by != NULL))
            b->cluster_by = lb_sql_expr_list(p, NULL);
        else if (select_clause_by(p, LB_KW_DISTRIBUTE, b->distribute_by != NULL))
            b->distribute_by = lb_sql_expr_list(p, NULL);
        else if (select_clause_by(p, LB_KW_SORT, b->sort_by != NULL))
            b->sort_by = lb_sql_order_parse(p);
        else
            return;
    }
}

static void select_head(lb_sql_parser *p, lb_sql_block *b)
{
    if (lb_sql_accept_kw(p, LB_KW_DISTINCT)) {
        b->distinct = true;
        if (lb_sql_accept_kw(p, LB_KW_ON)) {
            lb_sql_expect(p, LB_TOK_LPAREN, "'('");
            b->distinct_on = lb_sql_expr_list(p, NULL);
            lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
        }
    } else {
        b->select_all = lb_sql_accept_kw(p, LB_KW_ALL);
    }
    b->straight_join = lb_sql_accept_kw(p, LB_KW_STRAIGHT_JOIN);
    b->items = lb_sql_items_parse(p, &b->item_count);
    if (lb_sql_accept_kw(p, LB_KW_INTO))
        b->into = lb_sql_take_path(p, "a table");
}

static void select_parse(lb_sql_parser *p, lb_sql_block *b)
{
    lb_sql_next(p);
    select_head(p, b);
    if (lb_sql_accept_kw(p, LB_KW_FROM))
        b->from = lb_sql_from_parse(p);
    select_clauses(p, b);
}

/* FROM t [SELECT …] …, of DuckDB. */
static void select_from_first(lb_sql_parser *p, lb_sql_block *b)
{
    lb_sql_next(p);
    b->from_first = true;
    b->from = lb_sql_from_parse(p);
    if (lb_sql_accept_kw(p, LB_KW_SELECT)) {
        select_head(p, b);
    } else {
        lb_sql_star *star = (lb_sql_star *)lb_sql_expr_new(p, LB_SQL_STAR, sizeof *star, p->last_end);
        b->items = LB_SQL_NEW(p, lb_sql_item);
        b->items->expr = &star->expr;
        b->item_count = 1;
    }
    select_clauses(p, b);
}

static void values_parse(lb_sql_parser *p, lb_sql_block *b)
{
    lb_sql_expr **tail = &b->rows;

    lb_sql_next(p);
    do {
        lb_sql_append_expr(&tail, lb_sql_row_parse(p));
        b->row_count++;
    } while (lb_sql_accept(p, LB_TOK_COMMA));
}

static void block_table(lb_sql_parser *p, lb_sql_block *b)
{
    lb_sql_next(p);
    b->from = LB_SQL_NEW(p, lb_sql_ref);
    b->from->begin = p->tok.begin;
    b->from->path = lb_sql_take_path(p, "a table");
    b->from->end = p->last_end;
}

/* ---------------------------------------------------------------- operands */

static lb_sql_block *block_new(lb_sql_parser *p, lb_sql_block_kind kind)
{
    lb_sql_block *b = LB_SQL_NEW(p, lb_sql_block);
    b->kind = (uint8_t)kind;
    b->begin = p->tok.begin;
    return b;
}

static lb_sql_block *block_parse(lb_sql_parser *p)
{
    lb_sql_block *b = block_new(p, LB_SQL_BLOCK_SELECT);

    if (lb_sql_accept(p, LB_TOK_LPAREN)) {
        b->kind = LB_SQL_BLOCK_NESTED;
        b->nested = lb_sql_query_parse(p);
        lb_sql_expect(p, LB_TOK_RPAREN, "')'");
    } else if (lb_sql_at_kw(p, LB_KW_SELECT)) {
        select_parse(p, b);
    } else if (lb_sql_at_kw(p, LB_KW_VALUES)) {
        b->kind = LB_SQL_BLOCK_VALUES;
        values_parse(p, b);
    } else if (lb_sql_at_kw(p, LB_KW_FROM)) {
        select_from_first(p, b);
    } else if (lb_sql_at_kw(p, LB_KW_TABLE)) {
        b->kind = LB_SQL_BLOCK_TABLE;
        block_table(p, b);
    } else {
        lb_sql_expected(p, "SELECT, VALUES or '('");
    }
    if (!p->ansi && b->kind != LB_SQL_BLOCK_NESTED)
        tail_parse(p, &b->tail);
    b->end = p->last_end;
    return b;
}

/* UNION [ALL|DISTINCT] [BY NAME], at UNION. */
static void block_set(lb_sql_parser *p, lb_sql_block *b)
{
    b->set = (uint8_t)query_set(p);
    b->minus = lb_sql_at_kw(p, LB_KW_MINUS);
    lb_sql_next(p);
    b->all = lb_sql_accept_kw(p, LB_KW_ALL);
    b->distinct_word = !b->all && lb_sql_accept_kw(p, LB_KW_DISTINCT);
    b->by_name = lb_sql_accept_kws(p, LB_KW_BY, LB_KW_NAME);
}

/* In the ANSI dialect `a UNION b INTERSECT c` means `a UNION (b INTERSECT c)`: give c to b, which becomes nested. */
static void query_group_intersect(lb_sql_parser *p, lb_sql_block *left, lb_sql_block *right)
{
    if (!left->implied) {
        lb_sql_block *copy = LB_SQL_NEW(p, lb_sql_block);
        *copy = *left;
        copy->set = LB_SQL_SET_FIRST;
        copy->all = copy->distinct_word = copy->by_name = copy->minus = false;
        lb_sql_query *query = LB_SQL_NEW(p, lb_sql_query);
        *query = (lb_sql_query){ .begin = left->begin, .first = copy, .last = copy, .count = 1 };
        *left = (lb_sql_block){ .kind = LB_SQL_BLOCK_NESTED,
                                .set = left->set,
                                .all = left->all,
                                .distinct_word = left->distinct_word,
                                .by_name = left->by_name,
                                .minus = left->minus,
                                .implied = true,
                                .begin = left->begin,
                                .nested = query };
        lb_sql_grow(p);
    }
    left->nested->last->next = right;
    left->nested->last = right;
    left->nested->count++;
    left->end = left->nested->end = right->end;
}

/* Set operations and the tail behind the first operand. */
static void query_rest(lb_sql_parser *p, lb_sql_query *q)
{
    q->last = q->first;
    while (query_set(p) != LB_SQL_SET_FIRST) {
        lb_sql_block head = { 0 };
        block_set(p, &head);
        lb_sql_block *b = block_parse(p);
        b->set = head.set;
        b->all = head.all;
        b->distinct_word = head.distinct_word;
        b->by_name = head.by_name;
        b->minus = head.minus;
        if (p->failed)
            return;
        bool tighter = p->ansi && b->set == LB_SQL_SET_INTERSECT &&
                       (q->last->set == LB_SQL_SET_UNION || q->last->set == LB_SQL_SET_EXCEPT);
        if (tighter) {
            query_group_intersect(p, q->last, b);
        } else {
            q->last->next = b;
            q->last = b;
            q->count++;
        }
    }
    bool plain = q->count == 1 && q->first->kind != LB_SQL_BLOCK_NESTED;
    tail_parse(p, plain && p->ansi ? &q->first->tail : &q->tail);
    if (plain)
        q->first->end = p->last_end;
    q->end = p->last_end;
}

/* ---------------------------------------------------------------- WITH */

static bool cte_is_statement(const lb_sql_parser *p)
{
    return lb_sql_at_kw(p, LB_KW_INSERT) || lb_sql_at_kw(p, LB_KW_UPDATE) || lb_sql_at_kw(p, LB_KW_DELETE) ||
           lb_sql_at_kw(p, LB_KW_MERGE);
}

static lb_sql_cte *cte_parse(lb_sql_parser *p)
{
    lb_sql_cte *cte = LB_SQL_NEW(p, lb_sql_cte);

    cte->begin = p->tok.begin;
    cte->name = lb_sql_at(p, LB_TOK_STRING) && !p->ansi ? lb_sql_take_alias(p, true)
                                                        : lb_sql_take_name(p, "the name of a WITH entry");
    if (lb_sql_at(p, LB_TOK_LPAREN))
        cte->columns = lb_sql_take_list(p);
    lb_sql_expect_kw(p, LB_KW_AS, "AS");
    if (lb_sql_accept_kws(p, LB_KW_NOT, LB_KW_MATERIALIZED))
        cte->materialized = 'n';
    else if (lb_sql_accept_kw(p, LB_KW_MATERIALIZED))
        cte->materialized = 'm';
    lb_sql_expect(p, LB_TOK_LPAREN, "'('");
    if (cte_is_statement(p)) {
        cte->statement = LB_SQL_NEW(p, lb_sql_statement);
        lb_sql_statement_parse(p, cte->statement);
    } else {
        cte->query = lb_sql_query_parse(p);
    }
    lb_sql_expect(p, LB_TOK_RPAREN, "')'");
    cte->end = p->last_end;
    return cte;
}

lb_sql_with *lb_sql_with_parse(lb_sql_parser *p)
{
    lb_sql_with *with = LB_SQL_NEW(p, lb_sql_with);
    lb_sql_cte **tail = &with->first;
    uint32_t saved = lb_sql_open(p);

    with->begin = p->tok.begin;
    lb_sql_next(p);
    uint8_t next = lb_sql_at_kw(p, LB_KW_RECURSIVE) ? lb_sql_peek(p, 1).kind : LB_TOK_END;
    if (next == LB_TOK_WORD ? !lb_sql_peek_kw(p, 1, LB_KW_AS) : next == LB_TOK_QUOTED) {
        lb_sql_next(p);
        with->recursive = true;
    }
    do {
        *tail = cte_parse(p);
        tail = &(*tail)->next;
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    with->end = p->last_end;
    lb_sql_close(p, saved);
    return with;
}

/* ---------------------------------------------------------------- the whole */

lb_sql_query *lb_sql_query_behind(lb_sql_parser *p, lb_sql_with *with)
{
    lb_sql_query *q = LB_SQL_NEW(p, lb_sql_query);
    uint32_t saved = lb_sql_open(p);

    q->begin = with == NULL ? p->tok.begin : with->begin;
    q->with = with != NULL || !lb_sql_at_kw(p, LB_KW_WITH) ? with : lb_sql_with_parse(p);
    q->first = block_parse(p);
    q->count = 1;
    query_rest(p, q);
    lb_sql_close(p, saved);
    return q;
}

lb_sql_query *lb_sql_query_parse(lb_sql_parser *p)
{
    return lb_sql_query_behind(p, NULL);
}

lb_sql_query *lb_sql_query_after(lb_sql_parser *p, lb_sql_query *nested, uint32_t begin)
{
    lb_sql_query *q = LB_SQL_NEW(p, lb_sql_query);

    q->begin = begin;
    q->first = block_new(p, LB_SQL_BLOCK_NESTED);
    q->first->begin = begin;
    q->first->end = p->last_end;
    q->first->nested = nested;
    q->count = 1;
    query_rest(p, q);
    lb_sql_grow(p);
    return q;
}
