/* FROM: tables, inline views, table functions, joins. */
#include "sql/sql_parser.h"

/* The list under way, and the joins in it that still wait for an ON, the last one first. */
typedef struct ref_list {
    lb_sql_ref *first, *last, *open;
} ref_list;

static ref_list refs_parse(lb_sql_parser *p);

/* [shuffle], as Impala's older hints are written. */
static void ref_skip_hint(lb_sql_parser *p)
{
    if (p->ansi || !lb_sql_at(p, LB_TOK_LBRACKET))
        return;
    while (!p->failed && !lb_sql_at(p, LB_TOK_RBRACKET)) {
        lb_sql_next(p);
        if (!lb_sql_at(p, LB_TOK_WORD) && !lb_sql_at(p, LB_TOK_COMMA) && !lb_sql_at(p, LB_TOK_RBRACKET))
            lb_sql_expected(p, "a hint or ']'");
    }
    lb_sql_next(p);
}

/* ---------------------------------------------------------------- what stands behind a table */

/* FOR SYSTEM_TIME AS OF x, FOR SYSTEM_VERSION AS OF x */
static void ref_version(lb_sql_parser *p, lb_sql_ref *ref)
{
    if (!lb_sql_at_kw(p, LB_KW_FOR))
        return;
    lb_sql_next(p);
    if (!lb_sql_at_kw(p, LB_KW_SYSTEM_TIME) && !lb_sql_at_kw(p, LB_KW_SYSTEM_VERSION) &&
        !lb_sql_at_kw(p, LB_KW_TIMESTAMP) && !lb_sql_at_kw(p, LB_KW_VERSION))
        lb_sql_expected(p, "SYSTEM_TIME or SYSTEM_VERSION");
    ref->version_of = lb_sql_text(p->text, p->tok.begin, p->tok.end);
    lb_sql_next(p);
    lb_sql_expect_kw(p, LB_KW_AS, "AS OF");
    lb_sql_expect_kw(p, LB_KW_OF, "OF");
    ref->version = lb_sql_expr_parse(p);
}

/* TABLESAMPLE [method] (size [unit]) [REPEATABLE (seed)] */
static void ref_sample(lb_sql_parser *p, lb_sql_ref *ref)
{
    if (ref->sample.at != NULL || !lb_sql_accept_kw(p, LB_KW_TABLESAMPLE))
        return;
    ref->sample = LB_STR("");
    if (lb_sql_at(p, LB_TOK_WORD)) {
        ref->sample = lb_sql_text(p->text, p->tok.begin, p->tok.end);
        lb_sql_next(p);
    }
    lb_sql_expect(p, LB_TOK_LPAREN, "'('");
    ref->sample_size = lb_sql_expr_parse(p);
    if (lb_sql_at(p, LB_TOK_WORD) || lb_sql_at(p, LB_TOK_PERCENT)) {
        ref->sample_unit = lb_sql_text(p->text, p->tok.begin, p->tok.end);
        lb_sql_next(p);
    }
    lb_sql_expect(p, LB_TOK_RPAREN, "')'");
    if (lb_sql_accept_kw(p, LB_KW_REPEATABLE)) {
        lb_sql_expect(p, LB_TOK_LPAREN, "'('");
        ref->sample_seed = lb_sql_expr_parse(p);
        lb_sql_expect(p, LB_TOK_RPAREN, "')'");
    }
}

/* (a, b) or (a INT, b TEXT) behind an alias. */
static void ref_columns(lb_sql_parser *p, lb_sql_ref *ref)
{
    uint32_t from = p->name_count;
    lb_sql_type *first = NULL, **tail = &first;

    lb_sql_next(p);
    do {
        lb_sql_push_name(p, lb_sql_take_any_name(p, "a column name"));
        if (!lb_sql_at(p, LB_TOK_COMMA) && !lb_sql_at(p, LB_TOK_RPAREN)) {
            *tail = lb_sql_type_parse(p);
            tail = &(*tail)->next;
        }
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    ref->columns = lb_sql_pop_names(p, from);
    uint32_t types = 0;
    for (const lb_sql_type *t = first; t != NULL && !p->failed; t = t->next)
        types++;
    if (types != 0 && types != ref->columns.count)
        lb_sql_expected(p, "a type for each column, or for none");
    ref->column_types = first;
}

static void ref_alias(lb_sql_parser *p, lb_sql_ref *ref)
{
    if (lb_sql_has(&ref->alias))
        return;
    if (lb_sql_at_kw(p, LB_KW_AS) && lb_sql_peek(p, 1).kind == LB_TOK_LPAREN) {
        lb_sql_next(p); /* f(…) AS (a INT, …) */
        ref_columns(p, ref);
        return;
    }
    ref->alias = lb_sql_take_alias(p, !p->ansi);
    if (lb_sql_has(&ref->alias) && lb_sql_at(p, LB_TOK_LPAREN))
        ref_columns(p, ref);
}

/* a or (a, b) */
static lb_sql_names pivot_names(lb_sql_parser *p)
{
    uint32_t from = p->name_count;

    if (lb_sql_at(p, LB_TOK_LPAREN))
        return lb_sql_take_list(p);
    lb_sql_push_name(p, lb_sql_take_name(p, "a column name"));
    return lb_sql_pop_names(p, from);
}

/* PIVOT (sum(x) FOR c IN (v, …)) alias, UNPIVOT (x FOR c IN (a, …)) alias */
static void ref_pivot(lb_sql_parser *p, lb_sql_ref *ref)
{
    bool unpivot = lb_sql_at_kw(p, LB_KW_UNPIVOT);

    if (ref->pivot != NULL || (!unpivot && !lb_sql_at_kw(p, LB_KW_PIVOT)))
        return;
    lb_sql_pivot *pivot = ref->pivot = LB_SQL_NEW(p, lb_sql_pivot);
    pivot->begin = p->tok.begin;
    pivot->unpivot = unpivot;
    lb_sql_next(p);
    pivot->include_nulls = unpivot && lb_sql_accept_kws(p, LB_KW_INCLUDE, LB_KW_NULLS);
    if (unpivot && lb_sql_at_kw(p, LB_KW_EXCLUDE))
        (void)lb_sql_accept_kws(p, LB_KW_EXCLUDE, LB_KW_NULLS);
    lb_sql_expect(p, LB_TOK_LPAREN, "'('");
    pivot->values = lb_sql_items_parse(p, NULL);
    lb_sql_expect_kw(p, LB_KW_FOR, "FOR");
    pivot->columns = pivot_names(p);
    lb_sql_expect_kw(p, LB_KW_IN, "IN");
    lb_sql_expect(p, LB_TOK_LPAREN, "'('");
    pivot->in = lb_sql_items_parse(p, NULL);
    lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    lb_sql_expect(p, LB_TOK_RPAREN, "')'");
    pivot->alias = lb_sql_take_alias(p, false);
    pivot->end = p->last_end;
}

/* WITH ORDINALITY, WITH OFFSET stands behind some functions. */
static void ref_ordinality(lb_sql_parser *p, lb_sql_ref *ref)
{
    if (ref->kind == LB_SQL_REF_CALL && lb_sql_accept_kws(p, LB_KW_WITH, LB_KW_ORDINALITY))
        ref->ordinality = true;
}

static void ref_behind(lb_sql_parser *p, lb_sql_ref *ref)
{
    ref_ordinality(p, ref);
    ref_version(p, ref);
    ref_sample(p, ref);
    ref_pivot(p, ref);
    if (ref->pivot == NULL) {
        ref_alias(p, ref);
        ref_version(p, ref);
        ref_sample(p, ref);
        ref_pivot(p, ref);
    }
    ref_skip_hint(p);
}

/* ---------------------------------------------------------------- one relation */

/* (query), (a JOIN b …), and both with more parentheses around. */
static void ref_paren(lb_sql_parser *p, lb_sql_ref *ref)
{
    uint32_t begin;

    lb_sql_next(p);
    begin = p->tok.begin;
    if (lb_sql_starts_query(p)) {
        ref->kind = LB_SQL_REF_QUERY;
        ref->query = lb_sql_query_parse(p);
        lb_sql_expect(p, LB_TOK_RPAREN, "')'");
        return;
    }
    ref_list list = refs_parse(p);
    lb_sql_ref *only = list.first;
    bool bare = only->next == NULL && only->kind == LB_SQL_REF_QUERY && !lb_sql_has(&only->alias) &&
                only->columns.count == 0 && !only->lateral && only->pivot == NULL && only->sample.at == NULL;
    if (bare && !p->failed && (lb_sql_goes_on(p) || lb_sql_at(p, LB_TOK_RPAREN))) {
        ref->kind = LB_SQL_REF_QUERY;
        ref->query = lb_sql_query_after(p, only->query, begin);
    } else {
        ref->kind = LB_SQL_REF_JOINED;
        ref->refs = list.first;
    }
    lb_sql_expect(p, LB_TOK_RPAREN, "',', ')' or JOIN");
}

static void ref_call(lb_sql_parser *p, lb_sql_ref *ref, lb_sql_names name)
{
    ref->kind = LB_SQL_REF_CALL;
    ref->call = lb_sql_call_parse(p, name);
}

/* 'file.csv', which DuckDB takes for a table. */
static void ref_file(lb_sql_parser *p, lb_sql_ref *ref)
{
    uint32_t from = p->name_count;
    lb_sql_name name = { .begin = p->tok.begin, .end = p->tok.end, .quote = '\'' };

    name.text = lb_sql_take_string(p, "a table");
    lb_sql_push_name(p, name);
    ref->path = lb_sql_pop_names(p, from);
}

lb_sql_ref *lb_sql_ref_parse(lb_sql_parser *p)
{
    uint32_t saved = lb_sql_open(p);
    lb_sql_ref *ref = LB_SQL_NEW(p, lb_sql_ref);

    ref->begin = p->tok.begin;
    if (lb_sql_at_kw(p, LB_KW_LATERAL)) {
        lb_sql_next(p);
        ref->lateral = true;
    }
    if (lb_sql_at_kw(p, LB_KW_ONLY) && lb_sql_peek(p, 1).kind == LB_TOK_WORD && !lb_sql_peek_kw(p, 1, LB_KW_AS) &&
        !(lb_sql_peek(p, 1).flags & LB_KW_NO_ALIAS)) {
        lb_sql_next(p);
        ref->only = true;
    }
    if (lb_sql_at(p, LB_TOK_LPAREN)) {
        ref_paren(p, ref);
    } else if (p->ansi && lb_sql_at(p, LB_TOK_STRING)) {
        ref_file(p, ref);
    } else if (p->ansi && lb_sql_at_kw(p, LB_KW_VALUES)) {
        ref->kind = LB_SQL_REF_QUERY;
        ref->query = lb_sql_query_parse(p);
    } else {
        lb_sql_names path = lb_sql_take_path(p, "a table, or a query in parentheses");
        if (lb_sql_at(p, LB_TOK_LPAREN))
            ref_call(p, ref, path);
        else
            ref->path = path;
    }
    ref_behind(p, ref);
    ref->end = p->last_end;
    lb_sql_close(p, saved);
    return ref;
}

/* ---------------------------------------------------------------- joins */

static lb_sql_join join_sided(lb_sql_parser *p, lb_sql_join outer, lb_sql_join semi, lb_sql_join anti)
{
    lb_sql_next(p);
    if (lb_sql_accept_kw(p, LB_KW_SEMI))
        return semi;
    if (lb_sql_accept_kw(p, LB_KW_ANTI))
        return anti;
    (void)lb_sql_accept_kw(p, LB_KW_OUTER);
    return outer;
}

/* The kind of the join that begins here, up to its JOIN. FIRST: none does. */
static lb_sql_join join_kind(lb_sql_parser *p)
{
    switch (p->tok.kind == LB_TOK_WORD ? p->tok.keyword : LB_KW_NONE) {
    case LB_KW_JOIN:
        return LB_SQL_JOIN_INNER;
    case LB_KW_INNER:
        lb_sql_next(p);
        return LB_SQL_JOIN_INNER;
    case LB_KW_CROSS:
        lb_sql_next(p);
        return LB_SQL_JOIN_CROSS;
    case LB_KW_LEFT:
        return join_sided(p, LB_SQL_JOIN_LEFT, LB_SQL_JOIN_LEFT_SEMI, LB_SQL_JOIN_LEFT_ANTI);
    case LB_KW_RIGHT:
        return join_sided(p, LB_SQL_JOIN_RIGHT, LB_SQL_JOIN_RIGHT_SEMI, LB_SQL_JOIN_RIGHT_ANTI);
    case LB_KW_FULL:
        lb_sql_next(p);
        (void)lb_sql_accept_kw(p, LB_KW_OUTER);
        return LB_SQL_JOIN_FULL;
    case LB_KW_SEMI:
        lb_sql_next(p);
        return LB_SQL_JOIN_LEFT_SEMI;
    case LB_KW_ANTI:
        lb_sql_next(p);
        return LB_SQL_JOIN_LEFT_ANTI;
    case LB_KW_POSITIONAL:
        lb_sql_next(p);
        return LB_SQL_JOIN_POSITIONAL;
    case LB_KW_ASOF:
        lb_sql_next(p);
        if (lb_sql_accept_kw(p, LB_KW_LEFT)) {
            (void)lb_sql_accept_kw(p, LB_KW_OUTER);
            return LB_SQL_JOIN_ASOF_LEFT;
        }
        return LB_SQL_JOIN_ASOF;
    default:
        return LB_SQL_JOIN_FIRST;
    }
}

static void refs_add(ref_list *list, lb_sql_ref *ref)
{
    if (list->first == NULL)
        list->first = ref;
    else
        list->last->next = ref;
    list->last = ref;
}

/* LATERAL VIEW [OUTER] f(x) alias [AS a, b], at LATERAL. */
static void refs_lateral_view(lb_sql_parser *p, ref_list *list)
{
    uint32_t saved = lb_sql_open(p), from = p->name_count;
    lb_sql_ref *ref = LB_SQL_NEW(p, lb_sql_ref);

    ref->begin = p->tok.begin;
    lb_sql_next(p);
    lb_sql_next(p);
    ref->join = lb_sql_accept_kw(p, LB_KW_OUTER) ? LB_SQL_JOIN_LATERAL_VIEW_OUTER : LB_SQL_JOIN_LATERAL_VIEW;
    ref_call(p, ref, lb_sql_take_path(p, "a function"));
    if (lb_sql_at_alias(p))
        ref->alias = lb_sql_take_name(p, "an alias");
    if (lb_sql_accept_kw(p, LB_KW_AS)) {
        do
            lb_sql_push_name(p, lb_sql_take_name(p, "a column name"));
        while (lb_sql_accept(p, LB_TOK_COMMA));
        ref->columns = lb_sql_pop_names(p, from);
    }
    ref->end = p->last_end;
    refs_add(list, ref);
    lb_sql_close(p, saved);
}

static void join_condition(lb_sql_parser *p, lb_sql_ref *ref)
{
    if (lb_sql_accept_kw(p, LB_KW_ON)) {
        ref->on = lb_sql_expr_parse(p);
    } else {
        lb_sql_next(p);
        ref->using = lb_sql_take_list(p);
    }
    ref->end = p->last_end;
}

/* In `a JOIN b JOIN c ON x ON y` the second ON is that of the first JOIN, whose right side is `b JOIN c ON x`: from
 * the join that waits to the end of the list, all becomes one relation. */
static void join_group(lb_sql_parser *p, ref_list *list)
{
    lb_sql_ref *open = list->open, *first = LB_SQL_NEW(p, lb_sql_ref);

    *first = *open;
    first->join = LB_SQL_JOIN_FIRST;
    first->natural = false;
    first->open = NULL;
    *open = (lb_sql_ref){ .kind = LB_SQL_REF_JOINED, .join = open->join, .begin = open->begin, .refs = first };
    list->last = open;
    lb_sql_grow(p);
}

static void join_conditions(lb_sql_parser *p, ref_list *list, lb_sql_ref *ref, bool waits)
{
    if (lb_sql_at_kw(p, LB_KW_ON) || lb_sql_at_kw(p, LB_KW_USING)) {
        join_condition(p, ref);
    } else if (waits) {
        ref->open = list->open;
        list->open = ref;
        return;
    }
    while (!p->failed && list->open != NULL && (lb_sql_at_kw(p, LB_KW_ON) || lb_sql_at_kw(p, LB_KW_USING))) {
        lb_sql_ref *open = list->open, *before = open->open;
        join_group(p, list);
        list->open = before;
        join_condition(p, open);
    }
}

/* The join that begins here, with its relation. False: none does. */
static bool refs_join(lb_sql_parser *p, ref_list *list)
{
    bool natural = lb_sql_accept_kw(p, LB_KW_NATURAL);
    lb_sql_join join = join_kind(p);

    if (join == LB_SQL_JOIN_FIRST) {
        if (natural)
            lb_sql_expected(p, "JOIN");
        return false;
    }
    lb_sql_expect_kw(p, LB_KW_JOIN, "JOIN");
    ref_skip_hint(p);
    lb_sql_ref *ref = lb_sql_ref_parse(p);
    ref->join = (uint8_t)join;
    ref->natural = natural;
    refs_add(list, ref);
    join_conditions(p, list, ref, !natural && join != LB_SQL_JOIN_CROSS && join != LB_SQL_JOIN_POSITIONAL);
    return true;
}

static ref_list refs_parse(lb_sql_parser *p)
{
    ref_list list = { 0 };

    refs_add(&list, lb_sql_ref_parse(p));
    while (!p->failed) {
        if (lb_sql_accept(p, LB_TOK_COMMA)) {
            lb_sql_ref *ref = lb_sql_ref_parse(p);
            ref->join = LB_SQL_JOIN_COMMA;
            list.open = NULL;
            refs_add(&list, ref);
        } else if (lb_sql_at_kw(p, LB_KW_LATERAL) && lb_sql_peek_kw(p, 1, LB_KW_VIEW)) {
            refs_lateral_view(p, &list);
        } else if (!refs_join(p, &list)) {
            break;
        }
    }
    return list;
}

lb_sql_ref *lb_sql_from_parse(lb_sql_parser *p)
{
    return refs_parse(p).first;
}
