/* INSERT, UPSERT, UPDATE, DELETE, MERGE. */
#include "sql/sql_parser.h"

/* ---------------------------------------------------------------- SET and RETURNING */

/* (a, b) = (x, y) or (SELECT …): one entry a column, the value at the last. Returns the last. */
static lb_sql_assign *assign_group(lb_sql_parser *p, lb_sql_assign **tail)
{
    lb_sql_assign *last = NULL;
    uint32_t count = 0;

    lb_sql_next(p);
    do {
        last = LB_SQL_NEW(p, lb_sql_assign);
        last->begin = p->tok.begin;
        last->column = lb_sql_take_path(p, "a column");
        last->end = p->last_end;
        *tail = last;
        tail = &last->next;
        count++;
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    last->group = count;
    return last;
}

static lb_sql_assign *assigns_parse(lb_sql_parser *p)
{
    lb_sql_assign *first = NULL, **tail = &first, *last;

    do {
        if (lb_sql_at(p, LB_TOK_LPAREN)) {
            last = assign_group(p, tail);
        } else {
            last = *tail = LB_SQL_NEW(p, lb_sql_assign);
            last->begin = p->tok.begin;
            last->column = lb_sql_take_path(p, "a column");
        }
        lb_sql_expect(p, LB_TOK_EQ, "'='");
        last->value = lb_sql_expr_parse(p);
        last->end = p->last_end;
        tail = &last->next;
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    return first;
}

static lb_sql_item *returning_parse(lb_sql_parser *p)
{
    return lb_sql_accept_kw(p, LB_KW_RETURNING) ? lb_sql_items_parse(p, NULL) : NULL;
}

/* ---------------------------------------------------------------- INSERT */

/* PARTITION (k = v, k) */
static lb_sql_partition *partition_parse(lb_sql_parser *p)
{
    lb_sql_partition *first = NULL, **tail = &first;

    lb_sql_expect(p, LB_TOK_LPAREN, "'('");
    do {
        lb_sql_partition *part = LB_SQL_NEW(p, lb_sql_partition);
        part->column = lb_sql_take_any_name(p, "a partition column");
        if (lb_sql_accept(p, LB_TOK_EQ))
            part->value = lb_sql_expr_parse(p);
        *tail = part;
        tail = &part->next;
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    return first;
}

/* [shuffle] */
static void insert_skip_hint(lb_sql_parser *p)
{
    if (p->ansi || !lb_sql_accept(p, LB_TOK_LBRACKET))
        return;
    do
        (void)lb_sql_take_any_name(p, "a hint");
    while (lb_sql_accept(p, LB_TOK_COMMA));
    lb_sql_expect(p, LB_TOK_RBRACKET, "']'");
}

/* Whether the parenthesis here opens a list of columns, and not a query. */
static bool insert_is_list(lb_sql_parser *p)
{
    lb_token next = lb_sql_peek(p, 1);

    return lb_sql_at(p, LB_TOK_LPAREN) && next.kind != LB_TOK_LPAREN &&
           !(next.kind == LB_TOK_WORD && (next.keyword == LB_KW_SELECT || next.keyword == LB_KW_WITH ||
                                          next.keyword == LB_KW_VALUES || next.keyword == LB_KW_FROM));
}

static void insert_columns(lb_sql_parser *p, lb_sql_insert *in)
{
    if (in->has_columns || !insert_is_list(p))
        return;
    in->has_columns = true;
    if (lb_sql_peek(p, 1).kind == LB_TOK_RPAREN) {
        lb_sql_next(p);
        lb_sql_next(p);
    } else {
        in->columns = lb_sql_take_list(p);
    }
}

/* [LOCAL] DIRECTORY 'x' [ROW FORMAT …] [STORED AS …] */
static void insert_directory(lb_sql_parser *p, lb_sql_insert *in, bool local)
{
    in->local = local;
    if (local)
        lb_sql_next(p);
    lb_sql_next(p);
    in->directory = lb_sql_string_parse(p, "a folder in quotes");
    uint32_t begin = p->tok.begin;
    while (!lb_sql_starts_query(p) && !lb_sql_at(p, LB_TOK_LPAREN) && !lb_sql_at(p, LB_TOK_END) &&
           !lb_sql_at(p, LB_TOK_SEMICOLON))
        lb_sql_next(p);
    if (p->last_end > begin)
        in->directory_rest = lb_sql_joined(p, begin, p->last_end);
}

/* INTO|OVERWRITE [TABLE] t, or OVERWRITE [LOCAL] DIRECTORY 'x'. */
static void insert_target(lb_sql_parser *p, lb_sql_insert *in)
{
    if (lb_sql_accept_kw(p, LB_KW_OVERWRITE))
        in->mode = LB_SQL_OVERWRITE;
    else
        lb_sql_expect_kw(p, LB_KW_INTO, in->mode == LB_SQL_INTO ? "INTO or OVERWRITE" : "INTO");
    bool local = lb_str_is_nocase(lb_sql_text(p->text, p->tok.begin, p->tok.end), "local");
    if (local ? lb_sql_peek_kw(p, 1, LB_KW_DIRECTORY)
              : lb_sql_at_kw(p, LB_KW_DIRECTORY) && lb_sql_peek(p, 1).kind == LB_TOK_STRING) {
        insert_directory(p, in, local);
        return;
    }
    in->table_word = lb_sql_accept_kw(p, LB_KW_TABLE);
    in->table = lb_sql_take_path(p, "a table");
}

static void insert_behind_target(lb_sql_parser *p, lb_sql_insert *in)
{
    if (lb_sql_accept_kw(p, LB_KW_AS))
        in->alias = lb_sql_take_any_name(p, "an alias");
    insert_columns(p, in);
    if (lb_sql_accept_kw(p, LB_KW_PARTITION)) {
        in->has_partition = true;
        in->partition = partition_parse(p);
        if (lb_sql_at_kw(p, LB_KW_IF) && lb_sql_peek_kw(p, 1, LB_KW_NOT)) {
            lb_sql_next(p);
            lb_sql_next(p);
            lb_sql_expect_kw(p, LB_KW_EXISTS, "EXISTS");
            in->if_not_exists = true;
        }
        insert_columns(p, in);
    }
    in->by_name = lb_sql_accept_kws(p, LB_KW_BY, LB_KW_NAME);
    insert_skip_hint(p);
}

/* ON CONFLICT [(columns)] DO NOTHING, or DO UPDATE SET … */
static void insert_conflict(lb_sql_parser *p, lb_sql_insert *in)
{
    if (!lb_sql_accept_kws(p, LB_KW_ON, LB_KW_CONFLICT))
        return;
    in->on_conflict = true;
    if (lb_sql_at(p, LB_TOK_LPAREN))
        in->conflict = lb_sql_take_list(p);
    lb_sql_expect_kw(p, LB_KW_DO, "DO");
    if (lb_sql_accept_kw(p, LB_KW_NOTHING))
        return;
    lb_sql_expect_kw(p, LB_KW_UPDATE, "NOTHING or UPDATE");
    lb_sql_expect_kw(p, LB_KW_SET, "SET");
    in->update = assigns_parse(p);
    if (lb_sql_accept_kw(p, LB_KW_WHERE))
        in->update_where = lb_sql_expr_parse(p);
}

void lb_sql_insert_parse(lb_sql_parser *p, lb_sql_statement *out, lb_sql_with *with)
{
    lb_sql_insert *in = LB_SQL_NEW(p, lb_sql_insert);

    out->kind = LB_SQL_INSERT;
    out->insert = in;
    in->with = with;
    in->mode = lb_sql_at_kw(p, LB_KW_UPSERT)    ? LB_SQL_UPSERT
               : lb_sql_at_kw(p, LB_KW_REPLACE) ? LB_SQL_REPLACE
                                                : LB_SQL_INTO;
    lb_sql_next(p);
    insert_target(p, in);
    insert_behind_target(p, in);
    if (lb_sql_at_kw(p, LB_KW_DEFAULT) && lb_sql_peek_kw(p, 1, LB_KW_VALUES)) {
        lb_sql_next(p);
        lb_sql_next(p);
        in->default_values = true;
    } else if (lb_sql_starts_query(p) || lb_sql_at(p, LB_TOK_LPAREN)) {
        in->query = lb_sql_query_parse(p);
    } else if (!in->has_columns || in->columns.count != 0) {
        lb_sql_expected(p, in->has_columns ? "PARTITION, SELECT or VALUES"
                                           : "a list of columns, PARTITION, SELECT or VALUES");
    }
    insert_conflict(p, in);
    in->returning = returning_parse(p);
}

/* ---------------------------------------------------------------- UPDATE and DELETE */

void lb_sql_update_parse(lb_sql_parser *p, lb_sql_statement *out, lb_sql_with *with)
{
    lb_sql_update *up = LB_SQL_NEW(p, lb_sql_update);

    out->kind = LB_SQL_UPDATE;
    out->update = up;
    up->with = with;
    lb_sql_next(p);
    up->table = lb_sql_take_path(p, "a table");
    up->alias = lb_sql_take_alias(p, false);
    lb_sql_expect_kw(p, LB_KW_SET, "SET");
    up->sets = assigns_parse(p);
    if (lb_sql_accept_kw(p, LB_KW_FROM))
        up->from = lb_sql_from_parse(p);
    if (lb_sql_accept_kw(p, LB_KW_WHERE))
        up->where = lb_sql_expr_parse(p);
    up->returning = returning_parse(p);
}

void lb_sql_delete_parse(lb_sql_parser *p, lb_sql_statement *out, lb_sql_with *with)
{
    lb_sql_update *del = LB_SQL_NEW(p, lb_sql_update);

    out->kind = LB_SQL_DELETE;
    out->update = del;
    del->with = with;
    lb_sql_next(p);
    bool from = lb_sql_accept_kw(p, LB_KW_FROM);
    del->table = lb_sql_take_path(p, from ? "a table" : "FROM or a table");
    if (!from && lb_sql_accept_kw(p, LB_KW_FROM)) {
        del->from = lb_sql_from_parse(p);
    } else {
        del->alias = lb_sql_take_alias(p, false);
        del->using = lb_sql_accept_kw(p, LB_KW_USING);
        if (del->using)
            del->from = lb_sql_from_parse(p);
    }
    if (lb_sql_accept_kw(p, LB_KW_WHERE))
        del->where = lb_sql_expr_parse(p);
    del->returning = returning_parse(p);
}

/* ---------------------------------------------------------------- MERGE */

/* MATCHED, NOT MATCHED [BY TARGET], NOT MATCHED BY SOURCE */
static void when_match(lb_sql_parser *p, lb_sql_when *when)
{
    bool not = lb_sql_accept_kw(p, LB_KW_NOT);

    lb_sql_expect_kw(p, LB_KW_MATCHED, not ? "MATCHED" : "MATCHED or NOT MATCHED");
    when->match = not ? LB_SQL_NOT_MATCHED : LB_SQL_MATCHED;
    if (not &&lb_sql_accept_kw(p, LB_KW_BY)) {
        when->by_target = lb_sql_accept_kw(p, LB_KW_TARGET);
        if (!when->by_target) {
            lb_sql_expect_kw(p, LB_KW_SOURCE, "SOURCE or TARGET");
            when->match = LB_SQL_NOT_MATCHED_BY_SOURCE;
        }
    }
}

static void when_insert(lb_sql_parser *p, lb_sql_when *when)
{
    when->action = LB_SQL_DO_INSERT;
    if (lb_sql_accept(p, LB_TOK_STAR)) {
        when->star = true;
        return;
    }
    if (lb_sql_at(p, LB_TOK_LPAREN)) {
        uint32_t from = p->name_count;
        when->has_columns = true;
        lb_sql_next(p);
        do {
            /* t.c names the column c */
            lb_sql_name name = lb_sql_take_any_name(p, "a column name");
            while (lb_sql_accept(p, LB_TOK_DOT))
                name = lb_sql_take_any_name(p, "a column name");
            lb_sql_push_name(p, name);
        } while (lb_sql_accept(p, LB_TOK_COMMA));
        lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
        when->columns = lb_sql_pop_names(p, from);
    }
    if (lb_sql_at_kw(p, LB_KW_DEFAULT)) {
        lb_sql_next(p);
        lb_sql_expect_kw(p, LB_KW_VALUES, "VALUES");
        when->default_values = true;
        return;
    }
    lb_sql_expect_kw(p, LB_KW_VALUES, when->has_columns ? "VALUES" : "'(', '*' or VALUES");
    bool paren = lb_sql_accept(p, LB_TOK_LPAREN);
    if (!paren)
        lb_sql_expected(p, "'('");
    when->values = lb_sql_expr_list(p, NULL);
    lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
}

static void when_action(lb_sql_parser *p, lb_sql_when *when)
{
    if (lb_sql_accept_kw(p, LB_KW_UPDATE)) {
        when->action = LB_SQL_DO_UPDATE;
        lb_sql_expect_kw(p, LB_KW_SET, "SET");
        when->star = lb_sql_accept(p, LB_TOK_STAR);
        if (!when->star)
            when->sets = assigns_parse(p);
    } else if (lb_sql_accept_kw(p, LB_KW_DELETE)) {
        when->action = LB_SQL_DO_DELETE;
    } else if (lb_sql_accept_kw(p, LB_KW_INSERT)) {
        when_insert(p, when);
    } else {
        lb_sql_expect_kw(p, LB_KW_DO, "UPDATE, DELETE, INSERT or DO NOTHING");
        lb_sql_expect_kw(p, LB_KW_NOTHING, "NOTHING");
        when->action = LB_SQL_DO_NOTHING;
    }
}

static lb_sql_when *when_parse(lb_sql_parser *p)
{
    lb_sql_when *when = LB_SQL_NEW(p, lb_sql_when);

    when->begin = p->tok.begin;
    lb_sql_expect_kw(p, LB_KW_WHEN, "WHEN");
    when_match(p, when);
    if (lb_sql_accept_kw(p, LB_KW_AND))
        when->condition = lb_sql_expr_parse(p);
    lb_sql_expect_kw(p, LB_KW_THEN, when->condition == NULL ? "AND or THEN" : "THEN or an operator");
    when_action(p, when);
    when->end = p->last_end;
    return when;
}

void lb_sql_merge_parse(lb_sql_parser *p, lb_sql_statement *out, lb_sql_with *with)
{
    lb_sql_merge *merge = LB_SQL_NEW(p, lb_sql_merge);
    lb_sql_when **tail = &merge->whens;

    out->kind = LB_SQL_MERGE;
    out->merge = merge;
    merge->with = with;
    lb_sql_next(p);
    (void)lb_sql_accept_kw(p, LB_KW_INTO);
    merge->table = lb_sql_take_path(p, "a table");
    merge->alias = lb_sql_take_alias(p, false);
    lb_sql_expect_kw(p, LB_KW_USING, "USING");
    merge->source = lb_sql_ref_parse(p);
    lb_sql_expect_kw(p, LB_KW_ON, "ON");
    merge->on = lb_sql_expr_parse(p);
    do {
        *tail = when_parse(p);
        tail = &(*tail)->next;
    } while (lb_sql_at_kw(p, LB_KW_WHEN));
    merge->returning = returning_parse(p);
}
