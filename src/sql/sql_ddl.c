/* CREATE TABLE, CREATE VIEW, ALTER VIEW AS, CREATE DATABASE: what a catalog is made of, and what lineage records. */
#include "sql/sql_parser.h"

static bool accept_if_not_exists(lb_sql_parser *p)
{
    if (!lb_sql_at_kw(p, LB_KW_IF) || !lb_sql_peek_kw(p, 1, LB_KW_NOT))
        return false;
    lb_sql_next(p);
    lb_sql_next(p);
    lb_sql_expect_kw(p, LB_KW_EXISTS, "EXISTS");
    return true;
}

/* ---------------------------------------------------------------- what is kept unread */

/* Skip tokens until one of depth 0 that `stop` says ends them, or the statement ends. */
static void skip_until(lb_sql_parser *p, bool (*stop)(lb_sql_parser *p))
{
    uint32_t depth = 0;

    while (!lb_sql_at(p, LB_TOK_END) && !lb_sql_at(p, LB_TOK_SEMICOLON)) {
        if (depth == 0 && stop(p))
            return;
        if (lb_sql_at(p, LB_TOK_BAD)) {
            lb_sql_expected(p, "a clause");
        } else if (lb_sql_at(p, LB_TOK_LPAREN)) {
            depth++;
        } else if (lb_sql_at(p, LB_TOK_RPAREN)) {
            if (depth == 0)
                return;
            depth--;
        }
        lb_sql_next(p);
    }
}

/* Add the tokens from here to `stop` to what is kept; at least one is taken. */
static void keep_until(lb_sql_parser *p, lb_str *kept, bool (*stop)(lb_sql_parser *p))
{
    uint32_t begin = p->tok.begin;

    if (lb_sql_at(p, LB_TOK_LPAREN)) {
        skip_until(p, stop);
    } else {
        if (lb_sql_at(p, LB_TOK_BAD))
            lb_sql_expected(p, "a clause");
        lb_sql_next(p);
        skip_until(p, stop);
    }
    lb_str more = lb_sql_joined(p, begin, p->last_end);
    if (p->failed)
        return;
    if (kept->at == NULL) {
        *kept = more;
        return;
    }
    char *both = lb_sql_new_bytes(p, kept->size + 1 + more.size);
    if (p->failed)
        return;
    memcpy(both, kept->at, kept->size);
    both[kept->size] = ' ';
    memcpy(both + kept->size + 1, more.at, more.size);
    *kept = (lb_str){ both, kept->size + 1 + more.size };
}

/* ---------------------------------------------------------------- columns */

static bool column_stop(lb_sql_parser *p)
{
    switch (p->tok.kind == LB_TOK_WORD ? p->tok.keyword : LB_KW_NONE) {
    case LB_KW_COMMENT:
    case LB_KW_NOT:
    case LB_KW_NULL:
    case LB_KW_DEFAULT:
    case LB_KW_PRIMARY:
    case LB_KW_GENERATED:
        return true;
    default:
        return lb_sql_at(p, LB_TOK_COMMA) || lb_sql_at(p, LB_TOK_RPAREN);
    }
}

/* GENERATED ALWAYS AS (e) [STORED], AS (e) */
static void column_generated(lb_sql_parser *p, lb_sql_column_def *def)
{
    if (lb_sql_accept_kw(p, LB_KW_GENERATED))
        (void)lb_sql_take_any_name(p, "ALWAYS");
    if (!lb_sql_accept_kw(p, LB_KW_AS) || !lb_sql_at(p, LB_TOK_LPAREN)) {
        keep_until(p, &def->rest, column_stop); /* AS IDENTITY */
        return;
    }
    lb_sql_next(p);
    def->generated = lb_sql_expr_parse(p);
    lb_sql_expect(p, LB_TOK_RPAREN, "')' or an operator");
}

/* One property of a column. */
static void column_option(lb_sql_parser *p, lb_sql_column_def *def)
{
    if (lb_sql_accept_kw(p, LB_KW_COMMENT)) {
        def->comment = lb_sql_take_string(p, "a comment in quotes");
    } else if (lb_sql_at_kw(p, LB_KW_NOT) && lb_sql_peek_kw(p, 1, LB_KW_NULL)) {
        lb_sql_next(p);
        lb_sql_next(p);
        def->not_null = true;
    } else if (lb_sql_accept_kw(p, LB_KW_NULL)) {
        def->null_word = true;
    } else if (lb_sql_at_kw(p, LB_KW_PRIMARY)) {
        lb_sql_next(p);
        lb_sql_expect_kw(p, LB_KW_KEY, "KEY");
        def->primary_key = true;
    } else if (lb_sql_accept_kw(p, LB_KW_UNIQUE)) {
        def->unique = true;
    } else if (lb_sql_accept_kw(p, LB_KW_DEFAULT)) {
        def->fallback = lb_sql_expr_parse(p);
    } else if (lb_sql_at_kw(p, LB_KW_GENERATED) || (lb_sql_at_kw(p, LB_KW_AS) && !lb_sql_peek_kw(p, 1, LB_KW_SELECT))) {
        column_generated(p, def);
    } else {
        keep_until(p, &def->rest, column_stop);
    }
}

static lb_sql_column_def *column_parse(lb_sql_parser *p)
{
    lb_sql_column_def *def = LB_SQL_NEW(p, lb_sql_column_def);

    def->begin = p->tok.begin;
    def->name = lb_sql_take_any_name(p, "a column name");
    if (!lb_sql_at(p, LB_TOK_COMMA) && !lb_sql_at(p, LB_TOK_RPAREN) && !lb_sql_at_kw(p, LB_KW_COMMENT))
        def->type = lb_sql_type_parse(p);
    while (!p->failed && !lb_sql_at(p, LB_TOK_COMMA) && !lb_sql_at(p, LB_TOK_RPAREN) && !lb_sql_at(p, LB_TOK_END) &&
           !lb_sql_at(p, LB_TOK_SEMICOLON))
        column_option(p, def);
    def->end = p->last_end;
    return def;
}

static bool constraint_stop(lb_sql_parser *p)
{
    return lb_sql_at(p, LB_TOK_COMMA) || lb_sql_at(p, LB_TOK_RPAREN);
}

/* Whether what stands in the list of columns is a constraint, told by the word that follows: a column may be named
 * `check` or `primary`. */
static bool element_is_constraint(lb_sql_parser *p)
{
    uint8_t next = lb_sql_peek(p, 1).kind;

    switch (p->tok.kind == LB_TOK_WORD ? p->tok.keyword : LB_KW_NONE) {
    case LB_KW_FOREIGN:
        return lb_sql_peek_kw(p, 1, LB_KW_KEY);
    case LB_KW_CONSTRAINT:
        return next == LB_TOK_WORD || next == LB_TOK_QUOTED;
    case LB_KW_UNIQUE:
        return next == LB_TOK_LPAREN;
    default:
        return lb_str_is_nocase(lb_sql_text(p->text, p->tok.begin, p->tok.end), "check") && next == LB_TOK_LPAREN;
    }
}

static bool accept_non_unique(lb_sql_parser *p)
{
    if (!lb_str_is_nocase(lb_sql_text(p->text, p->tok.begin, p->tok.end), "non") || !lb_sql_peek_kw(p, 1, LB_KW_UNIQUE))
        return false;
    lb_sql_next(p);
    lb_sql_next(p);
    return true;
}

/* [NON UNIQUE] PRIMARY KEY (a, b), with what stands behind it. */
static bool accept_primary_key(lb_sql_parser *p, lb_sql_create_table *table, bool in_list)
{
    bool loose = accept_non_unique(p);

    if (!lb_sql_at_kw(p, LB_KW_PRIMARY) || !lb_sql_peek_kw(p, 1, LB_KW_KEY)) {
        if (loose)
            lb_sql_expected(p, "PRIMARY KEY");
        return false;
    }
    lb_sql_next(p);
    lb_sql_next(p);
    table->primary_key = lb_sql_take_list(p);
    table->key_not_unique = loose;
    if (in_list && !constraint_stop(p))
        keep_until(p, &table->key_rest, constraint_stop);
    return true;
}

static void table_columns(lb_sql_parser *p, lb_sql_create_table *table)
{
    lb_sql_column_def **tail = &table->columns;

    table->has_columns = true;
    lb_sql_next(p);
    do {
        if (accept_primary_key(p, table, true))
            continue;
        if (element_is_constraint(p)) {
            lb_sql_property *kept = LB_SQL_NEW(p, lb_sql_property), **end = &table->constraints;
            keep_until(p, &kept->value, constraint_stop);
            while (!p->failed && *end != NULL)
                end = &(*end)->next;
            *end = kept;
        } else {
            *tail = column_parse(p);
            tail = &(*tail)->next;
        }
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
}

/* ---------------------------------------------------------------- clauses of CREATE TABLE */

static lb_str property_text(lb_sql_parser *p)
{
    lb_str text = { 0 };

    if (lb_sql_at(p, LB_TOK_STRING))
        return lb_sql_take_string(p, "a string");
    uint32_t begin = p->tok.begin;
    if (lb_sql_at(p, LB_TOK_MINUS))
        lb_sql_next(p);
    if (!lb_sql_at(p, LB_TOK_WORD) && !lb_sql_at(p, LB_TOK_QUOTED) && !lb_sql_at(p, LB_TOK_INTEGER) &&
        !lb_sql_at(p, LB_TOK_DECIMAL))
        lb_sql_expected(p, "a string");
    lb_sql_next(p);
    while (lb_sql_accept(p, LB_TOK_DOT))
        (void)lb_sql_take_any_name(p, "a name behind the dot");
    if (!p->failed)
        text = lb_sql_text(p->text, begin, p->last_end);
    return text;
}

/* ('key' = 'value', …) */
static lb_sql_property *properties_parse(lb_sql_parser *p)
{
    lb_sql_property *first = NULL, **tail = &first;

    lb_sql_expect(p, LB_TOK_LPAREN, "'('");
    do {
        lb_sql_property *property = LB_SQL_NEW(p, lb_sql_property);
        property->key = property_text(p);
        if (lb_sql_accept(p, LB_TOK_EQ))
            property->value = property_text(p);
        else if (!lb_sql_at(p, LB_TOK_COMMA) && !lb_sql_at(p, LB_TOK_RPAREN))
            lb_sql_expected(p, "'='");
        *tail = property;
        tail = &property->next;
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    return first;
}

/* Words that begin a clause that is read, or the query. */
static bool clause_stop(lb_sql_parser *p)
{
    switch (p->tok.kind == LB_TOK_WORD ? p->tok.keyword : LB_KW_NONE) {
    case LB_KW_AS:
    case LB_KW_PARTITIONED:
    case LB_KW_PARTITION:
    case LB_KW_COMMENT:
    case LB_KW_LOCATION:
    case LB_KW_STORED:
    case LB_KW_TBLPROPERTIES:
    case LB_KW_USING:
    case LB_KW_SORT:
    case LB_KW_PRIMARY:
        return true;
    case LB_KW_WITH:
        return lb_sql_peek_kw(p, 1, LB_KW_SERDEPROPERTIES);
    default:
        return lb_sql_starts_query(p);
    }
}

/* PARTITIONED BY SPEC (bucket(7, id), c) */
static lb_sql_expr *partition_spec(lb_sql_parser *p)
{
    lb_sql_expect(p, LB_TOK_LPAREN, "'('");
    lb_sql_expr *first = lb_sql_expr_list(p, NULL);
    lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
    return first;
}

/* Spark's list may begin with plain columns: from the first function on, all are expressions. */
static void partition_become_spec(lb_sql_parser *p, lb_sql_create_table *table)
{
    lb_sql_expr **tail = &table->partition_spec;

    for (const lb_sql_column_def *def = table->partitioned_by; def != NULL && !p->failed; def = def->next) {
        uint32_t from = p->name_count;
        if (def->type != NULL)
            lb_sql_expected(p, "a column with its type");
        lb_sql_push_name(p, def->name);
        lb_sql_expr *column = lb_sql_column_of(p, lb_sql_pop_names(p, from));
        column->end = def->name.end;
        lb_sql_append_expr(&tail, column);
    }
    table->partitioned_by = NULL;
    *tail = lb_sql_expr_list(p, NULL);
}

static void partition_columns(lb_sql_parser *p, lb_sql_create_table *table)
{
    lb_sql_column_def **tail = &table->partitioned_by;

    lb_sql_next(p);
    do {
        if (lb_sql_peek(p, 1).kind == LB_TOK_LPAREN) {
            partition_become_spec(p, table);
            break;
        }
        *tail = column_parse(p);
        tail = &(*tail)->next;
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
}

static void table_partitioned(lb_sql_parser *p, lb_sql_create_table *table)
{
    lb_sql_next(p);
    lb_sql_expect_kw(p, LB_KW_BY, "BY");
    if (lb_sql_accept_kw(p, LB_KW_SPEC)) {
        table->spec_word = true;
        table->partition_spec = partition_spec(p);
    } else if (lb_sql_at(p, LB_TOK_LPAREN)) {
        partition_columns(p, table);
    } else {
        lb_sql_expected(p, "'('");
    }
}

/* STORED AS x, STORED BY x, USING x */
static void table_stored(lb_sql_parser *p, lb_sql_create_table *table)
{
    bool using = lb_sql_at_kw(p, LB_KW_USING);

    lb_sql_next(p);
    table->stored = using ? 'u' : lb_sql_accept_kw(p, LB_KW_AS) ? 'a' : 'b';
    if (table->stored == 'b')
        lb_sql_expect_kw(p, LB_KW_BY, "AS or BY");
    table->stored_string = lb_sql_at(p, LB_TOK_STRING);
    if (table->stored_string)
        table->stored_as = lb_sql_take_string(p, "a format");
    else
        table->stored_as = lb_sql_take_any_name(p, "a format").text;
}

/* SORT BY [ZORDER|LEXICAL] (a, b) */
static void table_sort(lb_sql_parser *p, lb_sql_create_table *table)
{
    lb_sql_next(p);
    lb_sql_expect_kw(p, LB_KW_BY, "BY");
    if (lb_sql_at(p, LB_TOK_WORD)) {
        table->sort_order = lb_sql_text(p->text, p->tok.begin, p->tok.end);
        lb_sql_next(p);
    }
    if (lb_sql_at(p, LB_TOK_LPAREN) && lb_sql_peek(p, 1).kind == LB_TOK_RPAREN) {
        lb_sql_next(p);
        lb_sql_next(p);
    } else {
        table->sort_by = lb_sql_take_list(p);
    }
}

/* One clause behind the columns. False: none is here. */
static bool table_clause(lb_sql_parser *p, lb_sql_create_table *table)
{
    if (lb_sql_at(p, LB_TOK_END) || lb_sql_at(p, LB_TOK_SEMICOLON) || lb_sql_at(p, LB_TOK_RPAREN))
        return false;
    switch (p->tok.kind == LB_TOK_WORD ? p->tok.keyword : LB_KW_NONE) {
    case LB_KW_AS:
        return false;
    case LB_KW_PARTITIONED:
        table_partitioned(p, table);
        return true;
    case LB_KW_PARTITION:
        keep_until(p, &table->partition_rest, clause_stop);
        return true;
    case LB_KW_COMMENT:
        lb_sql_next(p);
        (void)lb_sql_accept(p, LB_TOK_EQ);
        table->comment = lb_sql_take_string(p, "a comment in quotes");
        return true;
    case LB_KW_LOCATION:
        lb_sql_next(p);
        table->location = lb_sql_string_parse(p, "a location in quotes");
        return true;
    case LB_KW_STORED:
    case LB_KW_USING:
        table_stored(p, table);
        return true;
    case LB_KW_TBLPROPERTIES:
        lb_sql_next(p);
        table->properties = properties_parse(p);
        return true;
    case LB_KW_SORT:
        table_sort(p, table);
        return true;
    case LB_KW_WITH:
        if (lb_sql_accept_kws(p, LB_KW_WITH, LB_KW_SERDEPROPERTIES)) {
            table->serde_properties = properties_parse(p);
            return true;
        }
        break;
    default:
        break;
    }
    if (accept_primary_key(p, table, false))
        return true;
    if (lb_sql_starts_query(p) && !lb_sql_at_kw(p, LB_KW_WITH))
        return false;
    keep_until(p, &table->rest, clause_stop);
    return true;
}

/* LIKE t, LIKE PARQUET 'file' */
static void table_like(lb_sql_parser *p, lb_sql_create_table *table)
{
    lb_sql_next(p);
    if (lb_sql_at(p, LB_TOK_WORD) && lb_sql_peek(p, 1).kind == LB_TOK_STRING) {
        table->like_format = lb_sql_text(p->text, p->tok.begin, p->tok.end);
        lb_sql_next(p);
        table->like_file = lb_sql_string_parse(p, "a file in quotes");
    } else {
        table->like = lb_sql_take_path(p, "a table, or a format and a file");
    }
}

static void create_table(lb_sql_parser *p, lb_sql_statement *out, lb_sql_create_table *table)
{
    out->kind = LB_SQL_CREATE_TABLE;
    out->table = table;
    lb_sql_next(p);
    table->if_not_exists = accept_if_not_exists(p);
    table->table = lb_sql_take_path(p, "a table");
    if (lb_sql_at(p, LB_TOK_LPAREN) && !lb_sql_peek_kw(p, 1, LB_KW_SELECT) && !lb_sql_peek_kw(p, 1, LB_KW_LIKE))
        table_columns(p, table);
    if (lb_sql_at_kw(p, LB_KW_LIKE))
        table_like(p, table);
    while (!p->failed && table_clause(p, table))
        ;
    if (lb_sql_accept_kw(p, LB_KW_AS) || lb_sql_starts_query(p))
        table->query = lb_sql_query_parse(p);
}

/* ---------------------------------------------------------------- views */

static void view_columns(lb_sql_parser *p, lb_sql_create_view *view)
{
    lb_sql_column_def **tail = &view->columns;

    if (!lb_sql_accept(p, LB_TOK_LPAREN))
        return;
    view->has_columns = true;
    do {
        *tail = column_parse(p);
        tail = &(*tail)->next;
    } while (lb_sql_accept(p, LB_TOK_COMMA));
    lb_sql_expect(p, LB_TOK_RPAREN, "',' or ')'");
}

static void create_view(lb_sql_parser *p, lb_sql_statement *out, lb_sql_create_view *view)
{
    out->kind = LB_SQL_CREATE_VIEW;
    out->view = view;
    lb_sql_next(p);
    view->if_not_exists = accept_if_not_exists(p);
    view->view = lb_sql_take_path(p, "a view");
    view_columns(p, view);
    for (;;) {
        if (lb_sql_accept_kw(p, LB_KW_COMMENT))
            view->comment = lb_sql_take_string(p, "a comment in quotes");
        else if (lb_sql_accept_kw(p, LB_KW_TBLPROPERTIES))
            view->properties = properties_parse(p);
        else
            break;
    }
    lb_sql_expect_kw(p, LB_KW_AS, "AS");
    view->query = lb_sql_query_parse(p);
}

/* ALTER VIEW v [(columns)] AS query; all else about tables and views is of no interest here. */
void lb_sql_alter_parse(lb_sql_parser *p, lb_sql_statement *out)
{
    lb_sql_create_view *view = LB_SQL_NEW(p, lb_sql_create_view);

    lb_sql_next(p);
    lb_sql_next(p);
    view->view = lb_sql_take_path(p, "a view");
    if (!lb_sql_at_kw(p, LB_KW_AS) && !lb_sql_at(p, LB_TOK_LPAREN)) {
        out->words = LB_STR("ALTER VIEW");
        lb_sql_other_parse(p, out);
        return;
    }
    out->kind = LB_SQL_ALTER_VIEW;
    out->view = view;
    view_columns(p, view);
    lb_sql_expect_kw(p, LB_KW_AS, "AS");
    view->query = lb_sql_query_parse(p);
}

/* ---------------------------------------------------------------- CREATE */

static void create_database(lb_sql_parser *p, lb_sql_statement *out)
{
    lb_sql_next(p);
    out->if_exists = accept_if_not_exists(p);
    out->path = lb_sql_take_path(p, "a database");
    if (p->failed)
        return;
    lb_sql_other_parse(p, out);
    out->kind = LB_SQL_CREATE_DATABASE;
}

void lb_sql_create_parse(lb_sql_parser *p, lb_sql_statement *out)
{
    bool or_replace = false, external = false, temporary = false, materialized = false;

    lb_sql_next(p);
    if (lb_sql_at_kw(p, LB_KW_OR) && lb_sql_peek_kw(p, 1, LB_KW_REPLACE)) {
        lb_sql_next(p);
        lb_sql_next(p);
        or_replace = true;
    }
    for (bool more = true; more && !p->failed;) {
        if (lb_sql_accept_kw(p, LB_KW_EXTERNAL))
            external = true;
        else if (lb_sql_accept_kw(p, LB_KW_TEMPORARY) || lb_sql_accept_kw(p, LB_KW_TEMP))
            temporary = true;
        else if (lb_sql_accept_kw(p, LB_KW_MATERIALIZED))
            materialized = true;
        else
            more = lb_sql_accept_kw(p, LB_KW_TRANSIENT);
    }
    if (lb_sql_at_kw(p, LB_KW_TABLE)) {
        lb_sql_create_table *table = LB_SQL_NEW(p, lb_sql_create_table);
        table->or_replace = or_replace;
        table->external = external;
        table->temporary = temporary;
        create_table(p, out, table);
    } else if (lb_sql_at_kw(p, LB_KW_VIEW)) {
        lb_sql_create_view *view = LB_SQL_NEW(p, lb_sql_create_view);
        view->or_replace = or_replace;
        view->temporary = temporary;
        view->materialized = materialized;
        create_view(p, out, view);
    } else if (lb_sql_at_kw(p, LB_KW_DATABASE) || lb_sql_at_kw(p, LB_KW_SCHEMA)) {
        create_database(p, out);
    } else {
        out->words = LB_STR("CREATE");
        lb_sql_other_parse(p, out);
    }
}
