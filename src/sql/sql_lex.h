/* SQL text → tokens. Private to the room. */
#ifndef LB_SQL_LEX_H
#define LB_SQL_LEX_H

#include "sql/sql_keyword_table.h"
#include "sql/sql_parse.h"

typedef enum lb_token_kind {
    LB_TOK_END,
    LB_TOK_BAD,  /* no token: see lexer->bad */
    LB_TOK_WORD, /* a name without quotes, or a key word */
    LB_TOK_QUOTED,
    LB_TOK_STRING,
    LB_TOK_INTEGER,
    LB_TOK_DECIMAL,
    LB_TOK_PARAM,  /* ?, $1, @name, ${name} */
    LB_TOK_CUSTOM, /* `flags` is the index of the operator: see lb_sql_custom_text() */
    LB_TOK_LPAREN,
    LB_TOK_RPAREN,
    LB_TOK_LBRACKET,
    LB_TOK_RBRACKET,
    LB_TOK_LBRACE,
    LB_TOK_RBRACE,
    LB_TOK_COMMA,
    LB_TOK_SEMICOLON,
    LB_TOK_DOT,
    LB_TOK_COLON,
    LB_TOK_COLONS,    /* :: */
    LB_TOK_ASSIGN,    /* := */
    LB_TOK_ARROW,     /* -> */
    LB_TOK_FAT_ARROW, /* => */
    LB_TOK_STAR,
    LB_TOK_SLASH,
    LB_TOK_SLASHES,
    LB_TOK_PERCENT,
    LB_TOK_PLUS,
    LB_TOK_MINUS,
    LB_TOK_AMP,
    LB_TOK_AMPS, /* && */
    LB_TOK_PIPE,
    LB_TOK_PIPES, /* || */
    LB_TOK_CARET,
    LB_TOK_TILDE,
    LB_TOK_BANG,
    LB_TOK_EQ,
    LB_TOK_NE,
    LB_TOK_LT,
    LB_TOK_LE,
    LB_TOK_GT,
    LB_TOK_GE,
    LB_TOK_NULL_SAFE_EQ, /* <=> */
    LB_TOK_COUNT,
} lb_token_kind;

#define LB_TOK_ESCAPED 0x80 /* of STRING and QUOTED: holds an escape or a doubled quote */

typedef struct lb_token {
    uint8_t kind;     /* lb_token_kind */
    uint8_t flags;    /* LB_KW_… of a WORD */
    uint16_t keyword; /* lb_keyword of a WORD */
    uint32_t begin, end;
} lb_token;

typedef struct lb_sql_lexer {
    const char *text;
    uint32_t size, at;
    uint32_t clean; /* bytes before this one are valid UTF-8, counted from `at` when it was set */
    bool ansi;
    const char *bad; /* why the last BAD token is none */
} lb_sql_lexer;

/* `text` shorter than 4 GiB. */
void lb_sql_lexer_init(lb_sql_lexer *lexer, lb_str text, lb_sql_dialect dialect);

/* The next token; END again and again at the end. After a BAD one it goes on behind it. */
lb_token lb_sql_lex(lb_sql_lexer *lexer);

/* The row of a word's table, in any case; NULL: an ordinary name. */
const lb_keyword_row *lb_sql_keyword(const char *word, size_t size);

/* Operator number `index` of those written as LB_TOK_CUSTOM; NULL past the last. */
const char *lb_sql_custom_text(unsigned index);

#endif
