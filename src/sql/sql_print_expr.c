/* Expressions, types and names as SQL. */
#include "sql/sql_lex.h"
#include "sql/sql_printer.h"

/* ---------------------------------------------------------------- bytes */

/* Would `last` and `first` be read as one token, or as a comment? */
static bool bytes_stick(char last, char first)
{
    return (last == '-' && first == '-') || (last == '~' && first == '~') ||
           (last == '!' && (first == '~' || first == '=')) || (last == '/' && first == '*') ||
           (last == ':' && first == ':');
}

void lb_sql_put_str(lb_sql_printer *pr, lb_str text)
{
    if (pr->status != LB_OK || text.at == NULL || text.size == 0)
        return;
    pr->status = lb_buf_reserve(pr->out, text.size + 1, pr->err);
    if (pr->status != LB_OK)
        return;
    if (pr->out->size != 0 && bytes_stick((char)pr->out->data[pr->out->size - 1], text.at[0]))
        lb_buf_putc(pr->out, ' ');
    lb_buf_put(pr->out, text.at, text.size);
}

void lb_sql_put(lb_sql_printer *pr, const char *text)
{
    lb_sql_put_str(pr, lb_str_of(text));
}

/* Change the case of what was written from `from` on. */
static void put_case(lb_sql_printer *pr, size_t from, char first, char last, int add)
{
    if (pr->status != LB_OK)
        return;
    for (size_t i = from; i < pr->out->size; i++)
        if (pr->out->data[i] >= (uint8_t)first && pr->out->data[i] <= (uint8_t)last)
            pr->out->data[i] = (uint8_t)(pr->out->data[i] + add);
}

void lb_sql_put_lower(lb_sql_printer *pr, lb_str text)
{
    size_t from = pr->out->size;
    lb_sql_put_str(pr, text);
    put_case(pr, from, 'A', 'Z', 'a' - 'A');
}

void lb_sql_put_upper(lb_sql_printer *pr, lb_str text)
{
    size_t from = pr->out->size;
    lb_sql_put_str(pr, text);
    put_case(pr, from, 'a', 'z', 'A' - 'a');
}

static void put_span(lb_sql_printer *pr, uint32_t begin, uint32_t end)
{
    lb_sql_put_str(pr, lb_sql_text(pr->text, begin, end));
}

void lb_sql_put_quoted(lb_sql_printer *pr, lb_str value)
{
    bool nul = value.size != 0 && memchr(value.at, '\0', value.size) != NULL;
    bool backslash = !pr->ansi || nul;

    lb_sql_put(pr, pr->ansi && nul ? "E'" : "'");
    if (pr->status == LB_OK)
        pr->status = lb_buf_reserve(pr->out, value.size > SIZE_MAX / 4 ? SIZE_MAX : value.size * 2 + 1, pr->err);
    if (pr->status != LB_OK)
        return;
    for (size_t i = 0; i < value.size; i++) {
        char c = value.at[i];
        if (c == '\'')
            lb_buf_putc(pr->out, backslash ? '\\' : '\'');
        else if (backslash && (c == '\\' || c == '\0'))
            lb_buf_putc(pr->out, '\\');
        lb_buf_putc(pr->out, c == '\0' ? '0' : c);
    }
    lb_buf_putc(pr->out, '\'');
}

/* ---------------------------------------------------------------- names */

static bool name_is_plain(lb_str text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = (char)(text.at[i] | 0x20);
        bool digit = text.at[i] >= '0' && text.at[i] <= '9';
        if (!(c >= 'a' && c <= 'z') && !(i > 0 && (digit || text.at[i] == '_')))
            return false;
    }
    return true;
}

/* Impala puts a name in backquotes that Hive or Impala would not read as a name without. */
static void put_name_as_label(lb_sql_printer *pr, lb_str text)
{
    const lb_keyword_row *row = lb_sql_keyword(text.at, text.size);
    bool bare = name_is_plain(text) && (row == NULL || !(row->flags & LB_KW_QUOTED));

    lb_sql_put(pr, bare ? "" : "`");
    lb_sql_put_str(pr, text);
    lb_sql_put(pr, bare ? "" : "`");
}

static void put_doubled(lb_sql_printer *pr, lb_str text, char quote)
{
    for (size_t i = 0, from = 0; i <= text.size; i++) {
        if (i < text.size && text.at[i] != quote)
            continue;
        lb_sql_put_str(pr, (lb_str){ text.at + from, i - from });
        if (i < text.size) {
            lb_sql_put_str(pr, (lb_str){ &quote, 1 });
            lb_sql_put_str(pr, (lb_str){ &quote, 1 });
        }
        from = i + 1;
    }
}

void lb_sql_put_name(lb_sql_printer *pr, const lb_sql_name *name)
{
    if (pr->label) {
        put_name_as_label(pr, name->text);
    } else if (name->quote == '\'') {
        lb_sql_put_quoted(pr, name->text);
    } else if (name->quote == '"') {
        lb_sql_put(pr, "\"");
        put_doubled(pr, name->text, '"');
        lb_sql_put(pr, "\"");
    } else {
        lb_sql_put(pr, name->quote == 0 ? "" : "`");
        lb_sql_put_str(pr, name->text);
        lb_sql_put(pr, name->quote == 0 ? "" : "`");
    }
}

void lb_sql_put_path(lb_sql_printer *pr, lb_sql_names path)
{
    for (uint32_t i = 0; i < path.count; i++) {
        lb_sql_put(pr, i == 0 ? "" : ".");
        lb_sql_put_name(pr, &path.at[i]);
    }
}

void lb_sql_put_names(lb_sql_printer *pr, lb_sql_names names)
{
    for (uint32_t i = 0; i < names.count; i++) {
        lb_sql_put(pr, i == 0 ? "" : ", ");
        lb_sql_put_name(pr, &names.at[i]);
    }
}

/* ---------------------------------------------------------------- types */

static void put_type_fields(lb_sql_printer *pr, const lb_sql_type *type)
{
    for (const lb_sql_type *t = type->first; t != NULL; t = t->next) {
        lb_sql_put(pr, t == type->first ? "" : pr->label ? "," : ", ");
        if (type->kind == LB_SQL_TYPE_STRUCT) {
            lb_sql_put_name(pr, &t->field);
            lb_sql_put(pr, type->form != 0 ? " " : pr->label ? ":" : ": ");
        }
        lb_sql_put_type(pr, t);
        if (t->comment.at != NULL) {
            lb_sql_put(pr, " COMMENT ");
            lb_sql_put_quoted(pr, t->comment);
        }
    }
}

static void put_type_params(lb_sql_printer *pr, const lb_sql_type *type)
{
    if (type->params == NULL)
        return;
    lb_sql_put(pr, "(");
    for (const lb_sql_expr *e = type->params; e != NULL; e = e->next) {
        lb_sql_put_expr(pr, e);
        lb_sql_put(pr, e->next == NULL ? "" : pr->label ? "," : ", ");
    }
    lb_sql_put(pr, ")");
}

static void put_type_plain(lb_sql_printer *pr, const lb_sql_type *type)
{
    if (!pr->label)
        lb_sql_put_str(pr, type->name);
    else if (lb_str_is_nocase(type->name, "integer"))
        lb_sql_put(pr, "INT");
    else if (lb_str_is_nocase(type->name, "real"))
        lb_sql_put(pr, "DOUBLE");
    else
        lb_sql_put_upper(pr, type->name);
    put_type_params(pr, type);
    lb_sql_put(pr, type->zone.at == NULL ? "" : " ");
    lb_sql_put_str(pr, type->zone);
    if (pr->label && type->params == NULL && lb_str_is_nocase(type->name, "decimal"))
        lb_sql_put(pr, "(9,0)");
}

void lb_sql_put_type(lb_sql_printer *pr, const lb_sql_type *type)
{
    if (type->kind == LB_SQL_TYPE_PLAIN) {
        put_type_plain(pr, type);
    } else if (type->form == 2) {
        lb_sql_put_type(pr, type->first);
        lb_sql_put(pr, "[");
        if (type->params != NULL)
            lb_sql_put_expr(pr, type->params);
        lb_sql_put(pr, "]");
    } else {
        if (pr->label)
            lb_sql_put_upper(pr, type->name);
        else
            lb_sql_put_str(pr, type->name);
        lb_sql_put(pr, type->form == 1 ? "(" : "<");
        put_type_fields(pr, type);
        lb_sql_put(pr, type->form == 1 ? ")" : ">");
    }
}

/* ---------------------------------------------------------------- operators */

static const char *const op_texts[LB_SQL_OP_CUSTOM] = {
    [LB_SQL_OP_NONE] = "",
    [LB_SQL_OP_NOT] = "NOT",
    [LB_SQL_OP_BANG] = "!",
    [LB_SQL_OP_MINUS] = "-",
    [LB_SQL_OP_PLUS] = "+",
    [LB_SQL_OP_TILDE] = "~",
    [LB_SQL_OP_FACTORIAL] = "!",
    [LB_SQL_OP_PIPES] = "||",
    [LB_SQL_OP_OR] = "OR",
    [LB_SQL_OP_XOR] = "XOR",
    [LB_SQL_OP_AND] = "AND",
    [LB_SQL_OP_EQ] = "=",
    [LB_SQL_OP_NE] = "!=",
    [LB_SQL_OP_LT] = "<",
    [LB_SQL_OP_LE] = "<=",
    [LB_SQL_OP_GT] = ">",
    [LB_SQL_OP_GE] = ">=",
    [LB_SQL_OP_NULL_SAFE_EQ] = "<=>",
    [LB_SQL_OP_DISTINCT] = "IS DISTINCT FROM",
    [LB_SQL_OP_NOT_DISTINCT] = "IS NOT DISTINCT FROM",
    [LB_SQL_OP_ADD] = "+",
    [LB_SQL_OP_SUB] = "-",
    [LB_SQL_OP_MUL] = "*",
    [LB_SQL_OP_DIVIDE] = "/",
    [LB_SQL_OP_MOD] = "%",
    [LB_SQL_OP_DIV] = "DIV",
    [LB_SQL_OP_FLOOR] = "//",
    [LB_SQL_OP_BIT_AND] = "&",
    [LB_SQL_OP_BIT_OR] = "|",
    [LB_SQL_OP_BIT_XOR] = "^",
    [LB_SQL_OP_LIKE] = "LIKE",
    [LB_SQL_OP_ILIKE] = "ILIKE",
    [LB_SQL_OP_RLIKE] = "RLIKE",
    [LB_SQL_OP_REGEXP] = "REGEXP",
    [LB_SQL_OP_IREGEXP] = "IREGEXP",
    [LB_SQL_OP_SIMILAR] = "SIMILAR TO",
    [LB_SQL_OP_GLOB] = "GLOB",
};

const char *lb_sql_op_text(unsigned op)
{
    const char *text = op < LB_SQL_OP_CUSTOM ? op_texts[op] : lb_sql_custom_text(op - LB_SQL_OP_CUSTOM);
    return text == NULL ? "" : text;
}

static void put_chain(lb_sql_printer *pr, const lb_sql_expr *e)
{
    for (const lb_sql_expr *c = e->first; c != NULL; c = c->next) {
        if (c != e->first) {
            bool safe = pr->label && c->joint == LB_SQL_OP_NULL_SAFE_EQ;
            lb_sql_put(pr, " ");
            lb_sql_put(pr, lb_sql_op_text(safe ? LB_SQL_OP_NOT_DISTINCT : c->joint));
            lb_sql_put(pr, " ");
        }
        lb_sql_put_expr(pr, c);
    }
}

static void put_unary(lb_sql_printer *pr, const lb_sql_expr *e)
{
    if (e->op == LB_SQL_OP_FACTORIAL) {
        lb_sql_put_expr(pr, e->first);
        lb_sql_put(pr, "!");
        return;
    }
    lb_sql_put(pr, lb_sql_op_text(e->op));
    lb_sql_put(pr, e->op == LB_SQL_OP_NOT ? " " : "");
    lb_sql_put_expr(pr, e->first);
}

static void put_like(lb_sql_printer *pr, const lb_sql_expr *e)
{
    const lb_sql_expr *pattern = e->first->next;

    lb_sql_put_expr(pr, e->first);
    lb_sql_put(pr, e->flags & LB_SQL_NOT ? " NOT " : " ");
    lb_sql_put(pr, lb_sql_op_text(e->op));
    lb_sql_put(pr, " ");
    lb_sql_put_expr(pr, pattern);
    if (pattern->next != NULL) {
        lb_sql_put(pr, " ESCAPE ");
        lb_sql_put_expr(pr, pattern->next);
    }
}

static void put_between(lb_sql_printer *pr, const lb_sql_expr *e)
{
    lb_sql_put_expr(pr, e->first);
    lb_sql_put(pr, e->flags & LB_SQL_NOT ? " NOT BETWEEN " : " BETWEEN ");
    lb_sql_put(pr, e->flags & LB_SQL_SYMMETRIC ? "SYMMETRIC " : "");
    lb_sql_put_expr(pr, e->first->next);
    lb_sql_put(pr, " AND ");
    lb_sql_put_expr(pr, e->first->next->next);
}

static void put_in(lb_sql_printer *pr, const lb_sql_expr *e)
{
    bool bare = e->flags & LB_SQL_BARE;

    lb_sql_put_expr(pr, e->first);
    lb_sql_put(pr, e->flags & LB_SQL_NOT ? " NOT IN " : " IN ");
    lb_sql_put(pr, bare ? "" : "(");
    if (e->kind == LB_SQL_IN_QUERY)
        lb_sql_put_query(pr, LB_SQL_AS(subquery, e)->query);
    else
        lb_sql_put_list(pr, e->first->next);
    lb_sql_put(pr, bare ? "" : ")");
}

static void put_is(lb_sql_printer *pr, const lb_sql_expr *e)
{
    static const char *const what[] = { "NULL", "TRUE", "FALSE", "UNKNOWN" };

    lb_sql_put_expr(pr, e->first);
    lb_sql_put(pr, e->flags & LB_SQL_NOT ? " IS NOT " : " IS ");
    lb_sql_put(pr, what[e->op]);
}

/* ---------------------------------------------------------------- forms */

static void put_case_expr(lb_sql_printer *pr, const lb_sql_expr *e)
{
    const lb_sql_expr *c = e->first;
    uint32_t pairs = (e->count - !!(e->flags & LB_SQL_HAS_OPERAND) - !!(e->flags & LB_SQL_HAS_ELSE)) / 2;

    lb_sql_put(pr, "CASE");
    if (e->flags & LB_SQL_HAS_OPERAND) {
        lb_sql_put(pr, " ");
        lb_sql_put_expr(pr, c);
        c = c->next;
    }
    for (; pairs > 0; pairs--, c = c->next->next) {
        lb_sql_put(pr, " WHEN ");
        lb_sql_put_expr(pr, c);
        lb_sql_put(pr, " THEN ");
        lb_sql_put_expr(pr, c->next);
    }
    if (e->flags & LB_SQL_HAS_ELSE) {
        lb_sql_put(pr, " ELSE ");
        lb_sql_put_expr(pr, c);
    }
    lb_sql_put(pr, " END");
}

static void put_cast(lb_sql_printer *pr, const lb_sql_cast *cast)
{
    static const char *const heads[] = { "CAST(", "TRY_CAST(", "SAFE_CAST(", "CAST(" };
    const lb_sql_expr *e = &cast->expr;

    if (e->op == LB_SQL_CAST_COLONS && !pr->label) {
        lb_sql_put_expr(pr, e->first);
        lb_sql_put(pr, "::");
        lb_sql_put_type(pr, cast->type);
        return;
    }
    lb_sql_put(pr, heads[e->op]);
    lb_sql_put_expr(pr, e->first);
    lb_sql_put(pr, " AS ");
    lb_sql_put_type(pr, cast->type);
    if (cast->format != NULL) {
        lb_sql_put(pr, " FORMAT ");
        lb_sql_put_expr(pr, cast->format);
    }
    lb_sql_put(pr, ")");
}

/* The arguments of the forms with words between them. */
static void put_call_words(lb_sql_printer *pr, const lb_sql_call *call)
{
    static const char *const between[][3] = {
        [LB_SQL_CALL_EXTRACT] = { " FROM " },
        [LB_SQL_CALL_TRIM] = { " FROM " },
        [LB_SQL_CALL_SUBSTRING] = { " FROM ", " FOR " },
        [LB_SQL_CALL_POSITION] = { " IN " },
        [LB_SQL_CALL_OVERLAY] = { " PLACING ", " FROM ", " FOR " },
    };
    unsigned i = 0;

    if (call->unit.at != NULL) {
        lb_sql_put_str(pr, call->unit);
        lb_sql_put(pr, call->expr.count == 1 ? " FROM " : " ");
    }
    for (const lb_sql_expr *c = call->expr.first; c != NULL; c = c->next) {
        if (call->expr.op == LB_SQL_CALL_EXTRACT && c == call->expr.first)
            put_span(pr, c->begin, c->end);
        else
            lb_sql_put_expr(pr, c);
        if (c->next != NULL && i < 3)
            lb_sql_put(pr, between[call->expr.op][i++]);
    }
}

static void put_call_nulls(lb_sql_printer *pr, const lb_sql_call *call)
{
    if (call->expr.flags & LB_SQL_IGNORE_NULLS)
        lb_sql_put(pr, " IGNORE NULLS");
    else if (call->expr.flags & LB_SQL_RESPECT_NULLS)
        lb_sql_put(pr, " RESPECT NULLS");
}

static void put_call_name(lb_sql_printer *pr, const lb_sql_call *call)
{
    if (!pr->label) {
        lb_sql_put_path(pr, call->name);
        return;
    }
    for (uint32_t i = 0; i < call->name.count; i++) {
        lb_sql_put(pr, i == 0 ? "" : ".");
        if (call->expr.op == LB_SQL_CALL_PLAIN)
            lb_sql_put_lower(pr, call->name.at[i].text);
        else
            lb_sql_put_upper(pr, call->name.at[i].text);
    }
}

static void put_call_behind(lb_sql_printer *pr, const lb_sql_call *call)
{
    if (call->within != NULL) {
        lb_sql_put(pr, " WITHIN GROUP (ORDER BY ");
        lb_sql_put_order(pr, call->within);
        lb_sql_put(pr, ")");
    }
    if (call->filter != NULL) {
        lb_sql_put(pr, " FILTER (WHERE ");
        lb_sql_put_expr(pr, call->filter);
        lb_sql_put(pr, ")");
    }
    if (!(call->expr.flags & LB_SQL_NULLS_INSIDE))
        put_call_nulls(pr, call);
    if (call->over != NULL) {
        lb_sql_put(pr, " OVER ");
        lb_sql_put_window(pr, call->over);
    }
}

static void put_call(lb_sql_printer *pr, const lb_sql_call *call)
{
    put_call_name(pr, call);
    lb_sql_put(pr, "(");
    if (call->expr.flags & LB_SQL_CALL_DISTINCT)
        lb_sql_put(pr, "DISTINCT ");
    else if ((call->expr.flags & LB_SQL_CALL_ALL) && !pr->label)
        lb_sql_put(pr, "ALL ");
    if (call->expr.op == LB_SQL_CALL_PLAIN)
        lb_sql_put_list(pr, call->expr.first);
    else
        put_call_words(pr, call);
    if (call->order != NULL) {
        lb_sql_put(pr, " ORDER BY ");
        lb_sql_put_order(pr, call->order);
    }
    if (call->expr.flags & LB_SQL_NULLS_INSIDE)
        put_call_nulls(pr, call);
    lb_sql_put(pr, ")");
    put_call_behind(pr, call);
}

static void put_star(lb_sql_printer *pr, const lb_sql_star *star)
{
    lb_sql_put_path(pr, star->path);
    lb_sql_put(pr, star->path.count == 0 ? "*" : ".*");
    if (star->except.count != 0) {
        lb_sql_put(pr, pr->ansi ? " EXCLUDE (" : " EXCEPT (");
        lb_sql_put_names(pr, star->except);
        lb_sql_put(pr, ")");
    }
    if (star->replace != NULL) {
        lb_sql_put(pr, " REPLACE (");
        lb_sql_put_items(pr, star->replace);
        lb_sql_put(pr, ")");
    }
    if (star->renames != NULL) {
        lb_sql_put(pr, " RENAME (");
        for (const lb_sql_rename *r = star->renames; r != NULL; r = r->next) {
            lb_sql_put_name(pr, &r->from);
            lb_sql_put(pr, " AS ");
            lb_sql_put_name(pr, &r->to);
            lb_sql_put(pr, r->next == NULL ? "" : ", ");
        }
        lb_sql_put(pr, ")");
    }
}

static void put_lambda(lb_sql_printer *pr, const lb_sql_lambda *lambda)
{
    bool listed = lambda->expr.flags & LB_SQL_WORD;

    lb_sql_put(pr, listed ? "(" : "");
    lb_sql_put_names(pr, lambda->params);
    lb_sql_put(pr, listed ? ") -> " : " -> ");
    lb_sql_put_expr(pr, lambda->expr.first);
}

static void put_named(lb_sql_printer *pr, const lb_sql_named *named)
{
    if (named->expr.op == LB_SQL_NAMED_AS) {
        lb_sql_put_expr(pr, named->expr.first);
        lb_sql_put(pr, " AS ");
        lb_sql_put_name(pr, &named->name);
        return;
    }
    lb_sql_put_name(pr, &named->name);
    lb_sql_put(pr, named->expr.op == LB_SQL_NAMED_ARROW    ? " => "
                   : named->expr.op == LB_SQL_NAMED_ASSIGN ? " := "
                                                           : ": ");
    lb_sql_put_expr(pr, named->expr.first);
}

static void put_interval(lb_sql_printer *pr, const lb_sql_interval *interval)
{
    lb_sql_put(pr, "INTERVAL ");
    lb_sql_put_expr(pr, interval->expr.first);
    if (lb_sql_has(&interval->unit)) {
        lb_sql_put(pr, " ");
        lb_sql_put_str(pr, interval->unit.text);
    }
    if (lb_sql_has(&interval->to)) {
        lb_sql_put(pr, " TO ");
        lb_sql_put_str(pr, interval->to.text);
    }
}

static void put_map(lb_sql_printer *pr, const lb_sql_expr *e)
{
    lb_sql_put(pr, "MAP {");
    for (const lb_sql_expr *key = e->first; key != NULL; key = key->next->next) {
        lb_sql_put(pr, key == e->first ? "" : ", ");
        lb_sql_put_expr(pr, key);
        lb_sql_put(pr, " : ");
        lb_sql_put_expr(pr, key->next);
    }
    lb_sql_put(pr, "}");
}

static void put_bracket(lb_sql_printer *pr, const lb_sql_expr *e)
{
    lb_sql_put_expr(pr, e->first);
    lb_sql_put(pr, "[");
    lb_sql_put_expr(pr, e->first->next);
    if (e->kind == LB_SQL_SLICE) {
        lb_sql_put(pr, " : ");
        lb_sql_put_expr(pr, e->first->next->next);
    }
    lb_sql_put(pr, "]");
}

/* The word, the children between two brackets. */
static void put_around(lb_sql_printer *pr, const char *open, const lb_sql_expr *e, const char *close)
{
    lb_sql_put(pr, open);
    lb_sql_put_list(pr, e->first);
    lb_sql_put(pr, close);
}

static void put_subquery(lb_sql_printer *pr, const char *open, const lb_sql_expr *e)
{
    const lb_sql_query *query = LB_SQL_AS(subquery, e)->query;

    lb_sql_put(pr, open);
    if (query != NULL)
        lb_sql_put_query(pr, query);
    else
        lb_sql_put_list(pr, e->first);
    lb_sql_put(pr, ")");
}

static void put_dated(lb_sql_printer *pr, const lb_sql_expr *e)
{
    static const char *const heads[] = { "DATE ", "TIMESTAMP ", "TIME " };
    lb_sql_put(pr, heads[e->op]);
    lb_sql_put_expr(pr, e->first);
}

static void put_expr_form(lb_sql_printer *pr, const lb_sql_expr *e)
{
    static const char *const quantifiers[] = { "ANY (", "SOME (", "ALL (" };

    switch ((lb_sql_kind)e->kind) {
    case LB_SQL_SUBQUERY:
        put_subquery(pr, "(", e);
        break;
    case LB_SQL_EXISTS:
        put_subquery(pr, "EXISTS (", e);
        break;
    case LB_SQL_QUANTIFIED:
        put_subquery(pr, quantifiers[e->op], e);
        break;
    case LB_SQL_ARRAY_QUERY:
        put_subquery(pr, "ARRAY(", e);
        break;
    case LB_SQL_CASE:
        put_case_expr(pr, e);
        break;
    case LB_SQL_CAST:
        put_cast(pr, LB_SQL_AS(cast, e));
        break;
    case LB_SQL_CALL:
        put_call(pr, LB_SQL_AS(call, e));
        break;
    case LB_SQL_INTERVAL:
        put_interval(pr, LB_SQL_AS(interval, e));
        break;
    case LB_SQL_LAMBDA:
        put_lambda(pr, LB_SQL_AS(lambda, e));
        break;
    case LB_SQL_ARRAY:
        put_around(pr, e->flags & LB_SQL_WORD ? "ARRAY[" : "[", e, "]");
        break;
    case LB_SQL_STRUCT:
        put_around(pr, "{", e, "}");
        break;
    case LB_SQL_MAP:
        put_map(pr, e);
        break;
    case LB_SQL_NAMED:
        put_named(pr, LB_SQL_AS(named, e));
        break;
    default:
        break;
    }
}

void lb_sql_put_expr(lb_sql_printer *pr, const lb_sql_expr *e)
{
    if (pr->status != LB_OK || (pr->label && lb_sql_put_as_label(pr, e)))
        return;
    switch ((lb_sql_kind)e->kind) {
    case LB_SQL_NULL:
        lb_sql_put(pr, "NULL");
        break;
    case LB_SQL_TRUE:
        lb_sql_put(pr, "TRUE");
        break;
    case LB_SQL_FALSE:
        lb_sql_put(pr, "FALSE");
        break;
    case LB_SQL_DEFAULT:
        lb_sql_put(pr, "DEFAULT");
        break;
    case LB_SQL_INTEGER:
    case LB_SQL_DECIMAL:
    case LB_SQL_STRING:
    case LB_SQL_PARAM:
    case LB_SQL_CURRENT:
        put_span(pr, e->begin, e->end);
        break;
    case LB_SQL_NOTHING:
        break;
    case LB_SQL_DATED:
        put_dated(pr, e);
        break;
    case LB_SQL_COLUMN:
        lb_sql_put_path(pr, LB_SQL_AS(column, e)->path);
        break;
    case LB_SQL_STAR:
        put_star(pr, LB_SQL_AS(star, e));
        break;
    case LB_SQL_FIELD:
    case LB_SQL_COLLATE:
        lb_sql_put_expr(pr, e->first);
        lb_sql_put(pr, e->kind == LB_SQL_FIELD ? "." : " COLLATE ");
        lb_sql_put_name(pr, &LB_SQL_AS(field, e)->name);
        break;
    case LB_SQL_INDEX:
    case LB_SQL_SLICE:
        put_bracket(pr, e);
        break;
    case LB_SQL_UNARY:
        put_unary(pr, e);
        break;
    case LB_SQL_CHAIN:
        put_chain(pr, e);
        break;
    case LB_SQL_LIKE:
        put_like(pr, e);
        break;
    case LB_SQL_BETWEEN:
        put_between(pr, e);
        break;
    case LB_SQL_IN:
    case LB_SQL_IN_QUERY:
        put_in(pr, e);
        break;
    case LB_SQL_IS:
        put_is(pr, e);
        break;
    case LB_SQL_PAREN:
        put_around(pr, "(", e, ")");
        break;
    case LB_SQL_TUPLE:
        if (e->flags & LB_SQL_BARE)
            lb_sql_put_list(pr, e->first);
        else
            put_around(pr, e->flags & LB_SQL_WORD ? "ROW(" : "(", e, ")");
        break;
    case LB_SQL_ZONE:
        lb_sql_put_expr(pr, e->first);
        lb_sql_put(pr, " AT TIME ZONE ");
        lb_sql_put_expr(pr, e->first->next);
        break;
    default:
        put_expr_form(pr, e);
        break;
    }
}

void lb_sql_put_list(lb_sql_printer *pr, const lb_sql_expr *first)
{
    for (const lb_sql_expr *e = first; e != NULL; e = e->next) {
        lb_sql_put(pr, e == first ? "" : ", ");
        lb_sql_put_expr(pr, e);
    }
}

/* ---------------------------------------------------------------- ORDER BY and windows */

void lb_sql_put_order(lb_sql_printer *pr, const lb_sql_order *first)
{
    for (const lb_sql_order *o = first; o != NULL; o = o->next) {
        lb_sql_put(pr, o == first ? "" : ", ");
        lb_sql_put_expr(pr, o->expr);
        if (o->direction == 'd')
            lb_sql_put(pr, " DESC");
        else if (o->direction == 'a' || pr->label)
            lb_sql_put(pr, " ASC");
        if (o->nulls != 0)
            lb_sql_put(pr, o->nulls == 'f' ? " NULLS FIRST" : " NULLS LAST");
    }
}

static void put_bound(lb_sql_printer *pr, const lb_sql_bound *bound)
{
    static const char *const texts[] = {
        "", "UNBOUNDED PRECEDING", " PRECEDING", "CURRENT ROW", " FOLLOWING", "UNBOUNDED FOLLOWING",
    };

    if (bound->offset != NULL)
        lb_sql_put_expr(pr, bound->offset);
    lb_sql_put(pr, texts[bound->kind]);
}

static void put_frame(lb_sql_printer *pr, const lb_sql_window *w)
{
    static const char *const heads[] = { "", "ROWS ", "RANGE ", "GROUPS " };

    lb_sql_put(pr, heads[w->frame]);
    lb_sql_put(pr, w->stop.kind != LB_SQL_BOUND_NONE ? "BETWEEN " : "");
    put_bound(pr, &w->start);
    if (w->stop.kind != LB_SQL_BOUND_NONE) {
        lb_sql_put(pr, " AND ");
        put_bound(pr, &w->stop);
    }
    if (w->exclude != 0)
        lb_sql_put(pr, w->exclude == 'c'   ? " EXCLUDE CURRENT ROW"
                       : w->exclude == 'g' ? " EXCLUDE GROUP"
                       : w->exclude == 't' ? " EXCLUDE TIES"
                                           : " EXCLUDE NO OTHERS");
}

void lb_sql_put_window(lb_sql_printer *pr, const lb_sql_window *w)
{
    const char *gap = "";

    if (w->bare) {
        lb_sql_put_name(pr, &w->base);
        return;
    }
    lb_sql_put(pr, "(");
    if (lb_sql_has(&w->base)) {
        lb_sql_put_name(pr, &w->base);
        gap = " ";
    }
    if (w->partition != NULL) {
        lb_sql_put(pr, gap);
        lb_sql_put(pr, "PARTITION BY ");
        lb_sql_put_list(pr, w->partition);
        gap = " ";
    }
    if (w->order != NULL) {
        lb_sql_put(pr, gap);
        lb_sql_put(pr, "ORDER BY ");
        lb_sql_put_order(pr, w->order);
        gap = " ";
    }
    if (w->frame != LB_SQL_FRAME_NONE) {
        lb_sql_put(pr, gap);
        put_frame(pr, w);
    }
    lb_sql_put(pr, ")");
}
