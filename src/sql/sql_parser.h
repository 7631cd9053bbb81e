/* The parser, shared by its files. Private to the room.
 *
 * Failure sticks: the first one of a statement is kept as its problem, and from then on the parser sees the end of the
 * text, so that every loop ends by itself. No function returns NULL where it promises a node: without memory, and after
 * a failure, nodes come from `spare`. Nothing of a failed statement reaches the caller. */
#ifndef LB_SQL_PARSER_H
#define LB_SQL_PARSER_H

#include "sql/sql_lex.h"

#define LB_SQL_AHEAD 4

typedef struct lb_sql_parser {
    lb_sql_lexer lexer;
    lb_token tok; /* the one looked at */
    lb_token ahead[LB_SQL_AHEAD];
    const char *ahead_bad[LB_SQL_AHEAD];
    uint32_t ahead_count;
    const char *bad;   /* why `tok` is BAD */
    uint32_t last_end; /* of the token taken last */
    lb_str text;
    bool ansi;
    bool failed;    /* in this statement */
    lb_status hard; /* NOMEM, BUDGET, CANCELLED: no more statements */

    uint32_t depth;  /* of open levels */
    uint32_t height; /* of the tallest tree closed within the open level */

    lb_context *cx; /* may be NULL */
    lb_arena *arena;
    char *chunk;
    size_t chunk_left;
    lb_sql_name *names; /* a stack for lists under way */
    uint32_t name_count, name_cap;

    lb_sql_problem problem;            /* of this statement, if failed */
    uint32_t place_at;                 /* the text is walked up to here … */
    uint32_t place_line, place_column; /* … which is this place */

    max_align_t spare[32];
} lb_sql_parser;

/* ---------------------------------------------------------------- core: sql_parser.c */

void lb_sql_parser_init(lb_sql_parser *p, lb_context *cx, lb_str text, lb_sql_dialect dialect, lb_arena *arena);

/* `size` zeroed bytes. Never NULL. */
void *lb_sql_new_bytes(lb_sql_parser *p, size_t size);
#define LB_SQL_NEW(p, type) ((type *)lb_sql_new_bytes((p), sizeof(type)))

void lb_sql_next(lb_sql_parser *p);

/* The token `n` behind the present one, 1 to LB_SQL_AHEAD. */
lb_token lb_sql_peek(lb_sql_parser *p, uint32_t n);

/* Fail at the present token: "expected WHAT but found …". */
void lb_sql_expected(lb_sql_parser *p, const char *what);
__attribute__((format(printf, 4, 5))) void lb_sql_fail_at(lb_sql_parser *p, uint32_t begin, uint32_t end,
                                                          const char *fmt, ...);

static inline bool lb_sql_at(const lb_sql_parser *p, lb_token_kind kind)
{
    return p->tok.kind == kind;
}

static inline bool lb_sql_at_kw(const lb_sql_parser *p, lb_keyword keyword)
{
    return p->tok.keyword == keyword && p->tok.kind == LB_TOK_WORD;
}

static inline bool lb_sql_peek_kw(lb_sql_parser *p, uint32_t n, lb_keyword keyword)
{
    lb_token tok = lb_sql_peek(p, n);
    return tok.keyword == keyword && tok.kind == LB_TOK_WORD;
}

static inline bool lb_sql_accept(lb_sql_parser *p, lb_token_kind kind)
{
    bool yes = lb_sql_at(p, kind);
    if (yes)
        lb_sql_next(p);
    return yes;
}

static inline bool lb_sql_accept_kw(lb_sql_parser *p, lb_keyword keyword)
{
    bool yes = lb_sql_at_kw(p, keyword);
    if (yes)
        lb_sql_next(p);
    return yes;
}

/* Two key words in a row, or neither. */
bool lb_sql_accept_kws(lb_sql_parser *p, lb_keyword first, lb_keyword second);
void lb_sql_expect(lb_sql_parser *p, lb_token_kind kind, const char *what);
void lb_sql_expect_kw(lb_sql_parser *p, lb_keyword keyword, const char *what);

/* A name that is no reserved word; any word (behind a dot or AS); may the present token be an alias without AS? */
lb_sql_name lb_sql_take_name(lb_sql_parser *p, const char *what);
lb_sql_name lb_sql_take_any_name(lb_sql_parser *p, const char *what);
bool lb_sql_at_name(const lb_sql_parser *p);
bool lb_sql_at_alias(const lb_sql_parser *p);

/* [AS] name, or a name whose text.at is NULL. `strings`: an alias may be a string. */
lb_sql_name lb_sql_take_alias(lb_sql_parser *p, bool strings);

/* a.b.c; and (a, b, c), its parenthesis still to come. */
lb_sql_names lb_sql_take_path(lb_sql_parser *p, const char *what);
lb_sql_names lb_sql_take_list(lb_sql_parser *p);

/* A stack of names: begin, push, end. */
void lb_sql_push_name(lb_sql_parser *p, lb_sql_name name);
lb_sql_names lb_sql_pop_names(lb_sql_parser *p, uint32_t from);

/* Text of the tokens from `begin` to `end`, joined by one blank each. */
lb_str lb_sql_joined(lb_sql_parser *p, uint32_t begin, uint32_t end);

/* The value of the present string token, which is taken. */
lb_str lb_sql_take_string(lb_sql_parser *p, const char *what);

/* A level of the tree, within LB_SQL_DEPTH. What lies below a level must be made between open and close. */
uint32_t lb_sql_open(lb_sql_parser *p);
void lb_sql_close(lb_sql_parser *p, uint32_t saved);

/* What was made in this level became the child of one more node. */
void lb_sql_grow(lb_sql_parser *p);

static inline void lb_sql_append_expr(lb_sql_expr ***tail, lb_sql_expr *expr)
{
    **tail = expr;
    *tail = &expr->next;
}

/* ---------------------------------------------------------------- the language */

lb_sql_expr *lb_sql_expr_parse(lb_sql_parser *p);                 /* sql_expr.c */
lb_sql_expr *lb_sql_expr_list(lb_sql_parser *p, uint32_t *count); /* one or more, with commas; count may be NULL */
lb_sql_expr *lb_sql_string_parse(lb_sql_parser *p, const char *what);
lb_sql_expr *lb_sql_row_parse(lb_sql_parser *p);
lb_sql_expr *lb_sql_expr_new(lb_sql_parser *p, lb_sql_kind kind, size_t size, uint32_t begin);
lb_sql_expr *lb_sql_column_of(lb_sql_parser *p, lb_sql_names path);
lb_sql_expr *lb_sql_call_parse(lb_sql_parser *p, lb_sql_names name); /* at its parenthesis; sql_call.c */
void lb_sql_star_parse(lb_sql_parser *p, lb_sql_star *star);         /* behind the star */
lb_sql_window *lb_sql_window_parse(lb_sql_parser *p);
lb_sql_order *lb_sql_order_parse(lb_sql_parser *p); /* behind ORDER BY */
bool lb_sql_is_unit(lb_str word);
bool lb_sql_is_lambda_head(const lb_sql_expr *head);
lb_sql_expr *lb_sql_lambda_parse(lb_sql_parser *p, lb_sql_expr *head); /* at the arrow */

lb_sql_type *lb_sql_type_parse(lb_sql_parser *p); /* sql_type.c */

bool lb_sql_starts_query(const lb_sql_parser *p); /* sql_query.c; not said of '(' */
bool lb_sql_goes_on(const lb_sql_parser *p);      /* UNION … or ORDER BY … behind a query in parentheses */
lb_sql_query *lb_sql_query_parse(lb_sql_parser *p);
lb_sql_query *lb_sql_query_after(lb_sql_parser *p, lb_sql_query *nested, uint32_t begin);
lb_sql_query *lb_sql_query_behind(lb_sql_parser *p, lb_sql_with *with); /* its WITH is already read */
lb_sql_with *lb_sql_with_parse(lb_sql_parser *p);
lb_sql_item *lb_sql_items_parse(lb_sql_parser *p, uint32_t *count);

lb_sql_ref *lb_sql_from_parse(lb_sql_parser *p); /* behind FROM; sql_from.c */
lb_sql_ref *lb_sql_ref_parse(lb_sql_parser *p);

void lb_sql_insert_parse(lb_sql_parser *p, lb_sql_statement *out, lb_sql_with *with); /* sql_dml.c */
void lb_sql_update_parse(lb_sql_parser *p, lb_sql_statement *out, lb_sql_with *with);
void lb_sql_delete_parse(lb_sql_parser *p, lb_sql_statement *out, lb_sql_with *with);
void lb_sql_merge_parse(lb_sql_parser *p, lb_sql_statement *out, lb_sql_with *with);

void lb_sql_create_parse(lb_sql_parser *p, lb_sql_statement *out); /* sql_ddl.c */
void lb_sql_alter_parse(lb_sql_parser *p, lb_sql_statement *out);

void lb_sql_statement_parse(lb_sql_parser *p, lb_sql_statement *out); /* sql_parse.c */
void lb_sql_other_parse(lb_sql_parser *p, lb_sql_statement *out);
/* The rest of a CREATE or DROP of something of no interest, whose kind comes next; another word there is a slip. */
void lb_sql_object_parse(lb_sql_parser *p, lb_sql_statement *out);

#endif
