/* Labels: expressions as Impala shows them (spec/lineage.md, 1.6). Only what differs from the text as written stands
 * here; the rest is sql_print_expr.c's. */
#include <stdio.h>

#include "sql/sql_printer.h"

/* ---------------------------------------------------------------- numbers and strings */

typedef struct number_parts {
    lb_str whole, fraction;
    int64_t exponent;
} number_parts;

#define EXPONENT_MAX 100000000

/* False: not of the form digits[.digits][e[±]digits], or its exponent is beyond reason. */
static bool number_split(lb_str text, number_parts *out)
{
    size_t i = 0, from;
    bool negative = false;

    *out = (number_parts){ .fraction = LB_STR("") };
    while (i < text.size && text.at[i] >= '0' && text.at[i] <= '9')
        i++;
    out->whole = (lb_str){ text.at, i };
    if (i < text.size && text.at[i] == '.') {
        from = ++i;
        while (i < text.size && text.at[i] >= '0' && text.at[i] <= '9')
            i++;
        out->fraction = (lb_str){ text.at + from, i - from };
    }
    if (i < text.size && (text.at[i] | 0x20) == 'e') {
        i++;
        if (i < text.size && (text.at[i] == '+' || text.at[i] == '-'))
            negative = text.at[i++] == '-';
        for (; i < text.size && text.at[i] >= '0' && text.at[i] <= '9'; i++)
            if ((out->exponent = out->exponent * 10 + (text.at[i] - '0')) > EXPONENT_MAX)
                return false;
    }
    out->exponent = negative ? -out->exponent : out->exponent;
    return i == text.size && text.size < EXPONENT_MAX;
}

/* Digit `i` of whole and fraction together. */
static char number_digit(const number_parts *n, size_t i)
{
    return i < n->whole.size ? n->whole.at[i] : n->fraction.at[i - n->whole.size];
}

static void put_digits(lb_sql_printer *pr, const number_parts *n, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        char c = number_digit(n, i);
        lb_sql_put_str(pr, (lb_str){ &c, 1 });
    }
}

/* 0.00012 and its like: the point stands before all digits that count. */
static void put_small(lb_sql_printer *pr, const number_parts *n, size_t first, size_t all, int64_t scale)
{
    lb_sql_put(pr, "0.");
    for (int64_t zeros = scale - (int64_t)(all - first); zeros > 0; zeros--)
        lb_sql_put(pr, "0");
    put_digits(pr, n, first, all);
}

/* Write a number as Java's BigDecimal does: with all its digits, with an exponent if the last digit stands before the
 * point or the number is below 10^-6. */
static void put_number(lb_sql_printer *pr, lb_str text, bool negative)
{
    number_parts n;
    char exponent[32];

    if (!number_split(text, &n)) {
        lb_sql_put(pr, negative ? "-" : "");
        lb_sql_put_str(pr, text);
        return;
    }
    size_t all = n.whole.size + n.fraction.size, first = 0;
    while (first + 1 < all && number_digit(&n, first) == '0')
        first++;
    bool zero = all == 0 || number_digit(&n, first) == '0';
    int64_t scale = (int64_t)n.fraction.size - n.exponent, digits = (int64_t)(all - first);
    int64_t leading = digits - 1 - scale;

    lb_sql_put(pr, negative && !zero ? "-" : "");
    if (scale == 0) {
        put_digits(pr, &n, first, all);
    } else if (scale > 0 && leading >= -6) {
        if (digits <= scale) {
            put_small(pr, &n, first, all, scale);
        } else {
            put_digits(pr, &n, first, all - (size_t)scale);
            lb_sql_put(pr, ".");
            put_digits(pr, &n, all - (size_t)scale, all);
        }
    } else {
        put_digits(pr, &n, first, first + 1);
        lb_sql_put(pr, digits > 1 ? "." : "");
        put_digits(pr, &n, first + 1, all);
        (void)snprintf(exponent, sizeof exponent, "E%+lld", (long long)leading);
        lb_sql_put(pr, exponent);
    }
}

/* In single quotes, whichever the text has; a quote within gets a backslash, a double one loses it. */
static void put_string(lb_sql_printer *pr, const lb_sql_expr *e)
{
    lb_str body = lb_sql_text(pr->text, e->begin, e->end);

    if (pr->ansi || body.size < 2 || (body.at[0] != '\'' && body.at[0] != '"')) {
        lb_sql_put_str(pr, body);
        return;
    }
    lb_sql_put(pr, "'");
    size_t from = 1, end = body.size - 1;
    for (size_t i = 1; i < end; i++) {
        if (body.at[i] == '\'') {
            lb_sql_put_str(pr, (lb_str){ body.at + from, i - from });
            lb_sql_put(pr, "\\");
            from = i;
        } else if (body.at[i] == '\\' && i + 1 < end) {
            if (body.at[i + 1] == '"') {
                lb_sql_put_str(pr, (lb_str){ body.at + from, i - from });
                from = i + 1;
            }
            i++;
        }
    }
    lb_sql_put_str(pr, (lb_str){ body.at + from, end - from });
    lb_sql_put(pr, "'");
}

/* ---------------------------------------------------------------- signs */

/* The number below signs and parentheses, or NULL; `*negative` is turned at each minus. */
static const lb_sql_expr *sign_number(const lb_sql_expr *e, bool *negative)
{
    for (;;) {
        if (e->kind == LB_SQL_UNARY && (e->op == LB_SQL_OP_MINUS || e->op == LB_SQL_OP_PLUS)) {
            *negative ^= e->op == LB_SQL_OP_MINUS;
            e = e->first;
        } else if (e->kind == LB_SQL_PAREN) {
            e = e->first;
        } else {
            return e->kind == LB_SQL_INTEGER || e->kind == LB_SQL_DECIMAL ? e : NULL;
        }
    }
}

/* A sign goes into the number it stands before, also through parentheses; before all else a minus is a product. */
static void put_signed(lb_sql_printer *pr, const lb_sql_expr *e)
{
    bool negative = false, paren = false;
    const lb_sql_expr *number = sign_number(e, &negative);

    if (number == NULL) {
        lb_sql_put(pr, e->op == LB_SQL_OP_MINUS ? "-1 * " : "");
        lb_sql_put_expr(pr, e->first);
        return;
    }
    for (const lb_sql_expr *x = e; x != number; x = x->first)
        paren = paren || x->kind == LB_SQL_PAREN;
    lb_sql_put(pr, paren ? "(" : "");
    put_number(pr, lb_sql_text(pr->text, number->begin, number->end), negative);
    lb_sql_put(pr, paren ? ")" : "");
}

/* ---------------------------------------------------------------- calls that the parser of Impala rewrites */

static bool call_is(const lb_sql_call *call, const char *name, uint32_t count)
{
    return call->expr.op == LB_SQL_CALL_PLAIN && call->over == NULL && call->name.count == 1 &&
           call->expr.count == count && lb_str_is_nocase(call->name.at[0].text, name);
}

/* Text, expression, text, expression … up to NULL. */
static void put_pieces(lb_sql_printer *pr, const char *const texts[], const lb_sql_expr *const exprs[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lb_sql_put(pr, texts[i]);
        if (exprs[i] != NULL)
            lb_sql_put_expr(pr, exprs[i]);
    }
}

static bool put_rewritten_call(lb_sql_printer *pr, const lb_sql_call *call)
{
    const lb_sql_expr *a = call->expr.first, *b = a == NULL ? NULL : a->next, *c = b == NULL ? NULL : b->next;

    if (call_is(call, "nvl2", 3)) {
        put_pieces(pr, (const char *[]){ "if(", " IS NOT NULL, ", ", ", ")" }, (const lb_sql_expr *[]){ a, b, c, NULL },
                   4);
        return true;
    }
    if (call_is(call, "nullif", 2)) {
        put_pieces(pr, (const char *[]){ "if(", " IS DISTINCT FROM ", ", ", ", NULL)" },
                   (const lb_sql_expr *[]){ a, b, a, NULL }, 4);
        return true;
    }
    if (call_is(call, "mod", 2)) {
        put_pieces(pr, (const char *[]){ "", " % " }, (const lb_sql_expr *[]){ a, b }, 2);
        return true;
    }
    return false;
}

static bool put_is_truth(lb_sql_printer *pr, const lb_sql_expr *e)
{
    bool not = e->flags & LB_SQL_NOT;

    if (e->op == LB_SQL_IS_NULL)
        return false;
    if (e->op == LB_SQL_IS_UNKNOWN) {
        lb_sql_put_expr(pr, e->first);
        lb_sql_put(pr, not ? " IS NOT NULL" : " IS NULL");
        return true;
    }
    lb_sql_put(pr, e->op == LB_SQL_IS_TRUE ? (not ? "isnottrue(" : "istrue(") : (not ? "isnotfalse(" : "isfalse("));
    lb_sql_put_expr(pr, e->first);
    lb_sql_put(pr, ")");
    return true;
}

/* lead(x) and lag(x) show the arguments that they get by default: 1 and NULL. */
static bool put_lead(lb_sql_printer *pr, const lb_sql_call *call, bool dots)
{
    lb_str name = call->name.count == 1 ? call->name.at[0].text : LB_STR("");

    if (call->over == NULL || call->expr.count == 0 || call->expr.count > 2 ||
        (!lb_str_is_nocase(name, "lead") && !lb_str_is_nocase(name, "lag")))
        return false;
    lb_sql_put_lower(pr, name);
    lb_sql_put(pr, "(");
    lb_sql_put_list(pr, call->expr.first);
    lb_sql_put(pr, call->expr.count == 1 ? ", 1, NULL" : ", NULL");
    if (call->expr.flags & LB_SQL_IGNORE_NULLS)
        lb_sql_put(pr, " IGNORE NULLS");
    lb_sql_put(pr, dots ? ") OVER(...)" : ") OVER ");
    if (!dots)
        lb_sql_put_window(pr, call->over);
    return true;
}

/* ---------------------------------------------------------------- the whole */

bool lb_sql_put_as_label(lb_sql_printer *pr, const lb_sql_expr *e)
{
    switch ((lb_sql_kind)e->kind) {
    case LB_SQL_INTEGER:
    case LB_SQL_DECIMAL:
        put_number(pr, lb_sql_text(pr->text, e->begin, e->end), false);
        return true;
    case LB_SQL_STRING:
        put_string(pr, e);
        return true;
    case LB_SQL_PAREN:
        while (e->kind == LB_SQL_PAREN && e->first->kind == LB_SQL_PAREN)
            e = e->first;
        if (e->first->kind == LB_SQL_SUBQUERY) {
            lb_sql_put_expr(pr, e->first);
            return true;
        }
        lb_sql_put(pr, "(");
        lb_sql_put_expr(pr, e->first);
        lb_sql_put(pr, ")");
        return true;
    case LB_SQL_UNARY:
        if (e->op == LB_SQL_OP_MINUS || e->op == LB_SQL_OP_PLUS) {
            put_signed(pr, e);
            return true;
        }
        if (e->op != LB_SQL_OP_BANG)
            return false;
        lb_sql_put(pr, "NOT ");
        lb_sql_put_expr(pr, e->first);
        return true;
    case LB_SQL_LIKE:
        if (!(e->flags & LB_SQL_NOT))
            return false;
        lb_sql_put(pr, "NOT ");
        lb_sql_expr plain = *e;
        plain.flags &= (uint16_t)~LB_SQL_NOT;
        lb_sql_put_expr(pr, &plain);
        return true;
    case LB_SQL_IS:
        return put_is_truth(pr, e);
    case LB_SQL_CALL:
        return put_lead(pr, LB_SQL_AS(call, e), false) || put_rewritten_call(pr, LB_SQL_AS(call, e));
    default:
        return false;
    }
}

static lb_sql_printer printer_of(lb_str text, lb_sql_dialect dialect, lb_buf *out, lb_error *err)
{
    return (lb_sql_printer){ .text = text, .ansi = dialect == LB_SQL_ANSI, .label = true, .out = out, .err = err };
}

lb_status lb_sql_render(lb_str text, lb_sql_dialect dialect, const lb_sql_expr *expr, lb_buf *out, lb_error *err)
{
    lb_sql_printer pr = printer_of(text, dialect, out, err);

    lb_sql_put_expr(&pr, expr);
    return pr.status;
}

/* f(x) OVER(...) */
static void put_analytic(lb_sql_printer *pr, const lb_sql_call *call)
{
    if (put_lead(pr, call, true))
        return;
    lb_sql_call plain = *call;
    plain.over = NULL;
    lb_sql_put_expr(pr, &plain.expr);
    lb_sql_put(pr, " OVER(...)");
}

lb_status lb_sql_label(lb_str text, lb_sql_dialect dialect, const lb_sql_expr *expr, lb_buf *out, lb_error *err)
{
    lb_sql_printer pr = printer_of(text, dialect, out, err);
    size_t from = out->size;
    const lb_sql_expr *inner = expr;

    while (inner->kind == LB_SQL_PAREN)
        inner = inner->first;
    if (inner->kind == LB_SQL_CALL && LB_SQL_AS(call, inner)->over != NULL) {
        put_analytic(&pr, LB_SQL_AS(call, inner));
        return pr.status;
    }
    lb_sql_put_expr(&pr, expr);
    for (size_t i = from; i < out->size && pr.status == LB_OK; i++)
        if (out->data[i] >= 'A' && out->data[i] <= 'Z')
            out->data[i] = (uint8_t)(out->data[i] - 'A' + 'a');
    return pr.status;
}
