/* The tree of a SQL script: what sql_parse.h makes, sql_print.h writes, and the lineage room analyses.
 *
 * Everything lives in the arena handed to the parser and lends from the text handed to it: both must outlive the tree.
 * The tree shows the text as it was written: parentheses, `<>`, nvl2 and `-1` are not rewritten (only the labels of
 * sql_print.h are). Every node knows its bytes: [begin, end) of the text. Nothing is resolved: `a.b.c` may be a table's
 * column or a field of a struct.
 *
 * Depth. A path from the root to any leaf passes at most LB_SQL_DEPTH expressions, queries, types and nested joins, so
 * that a walk may recurse over them. What may be long is flat: operators of one strength (`a + b - c …`, `x AND y AND
 * …`) are one LB_SQL_CHAIN, operands of UNION, items, joins, rows and WHEN clauses are lists, to be walked by loops. */
#ifndef LB_SQL_TREE_H
#define LB_SQL_TREE_H

#include "base/str.h"

/* Impala's own limit on the depth of an expression is the same. */
#define LB_SQL_DEPTH 1000

typedef struct lb_sql_expr lb_sql_expr;
typedef struct lb_sql_query lb_sql_query;
typedef struct lb_sql_type lb_sql_type;
typedef struct lb_sql_ref lb_sql_ref;
typedef struct lb_sql_statement lb_sql_statement;

/* ---------------------------------------------------------------- names */

/* One identifier: without its quotes and escapes, case kept. Not there: text.at is NULL. */
typedef struct lb_sql_name {
    lb_str text;
    uint32_t begin, end;
    char quote; /* '`', '"' or '\'' as written (an alias may be a string), 0 none */
} lb_sql_name;

/* The parts of a path (`db.table.field`), or a list (`(a, b, c)`). */
typedef struct lb_sql_names {
    lb_sql_name *at;
    uint32_t count;
} lb_sql_names;

static inline bool lb_sql_has(const lb_sql_name *name)
{
    return name->text.at != NULL;
}

/* ---------------------------------------------------------------- types */

typedef enum lb_sql_type_kind {
    LB_SQL_TYPE_PLAIN,  /* name, with params: DECIMAL(9,2), DOUBLE PRECISION */
    LB_SQL_TYPE_ARRAY,  /* first: the element */
    LB_SQL_TYPE_MAP,    /* first: the key, then the value */
    LB_SQL_TYPE_STRUCT, /* first: the fields, each with `field` */
} lb_sql_type_kind;

struct lb_sql_type {
    uint8_t kind;
    uint8_t form; /* 0: as Impala writes it, 1: with parentheses (MAP(k, v)), 2: as suffix (INT[]) */
    uint32_t begin, end;
    lb_str name;         /* PLAIN: its words, as written, joined by one blank; else the word, as "array" */
    lb_sql_expr *params; /* PLAIN, and the size of INT[3]; NULL: none */
    lb_str zone;         /* PLAIN: WITH TIME ZONE and its like, behind the parameters; at NULL: none */
    lb_sql_name field;   /* name within the struct around it */
    lb_str comment;      /* of the field; value without quotes; at NULL: none */
    lb_sql_type *first, *next;
};

/* ---------------------------------------------------------------- expressions */

/* The kind says which struct an expression is and what its children are. Children of all kinds are expressions and
 * hang in `first`, in the order of the text; what else there is stands in the struct named at the right. */
typedef enum lb_sql_kind {
    /* literals: no children; the token is the text [begin, end) */
    LB_SQL_NULL,
    LB_SQL_TRUE,
    LB_SQL_FALSE,
    LB_SQL_INTEGER, /* digits only; a sign before it is an LB_SQL_UNARY */
    LB_SQL_DECIMAL, /* with point or exponent */
    LB_SQL_STRING,  /* with its quotes; lb_sql_string_value() decodes it */
    LB_SQL_DATED, /* DATE '…', TIMESTAMP '…', TIME '…': `op` says which, an lb_sql_dated; the child is the string */
    LB_SQL_PARAM,   /* ?, $1, :name, @name */
    LB_SQL_DEFAULT, /* DEFAULT in VALUES and SET */
    LB_SQL_CURRENT, /* CURRENT_DATE and its like without parentheses (ANSI dialect) */
    /* names */
    LB_SQL_COLUMN, /* struct lb_sql_column */
    LB_SQL_STAR,   /* struct lb_sql_star: a select item, or the argument of count(*) */
    LB_SQL_FIELD,  /* struct lb_sql_field: child.name where child is not a path: `(x).f`, `f(y).g`, `a[1].b` */
    LB_SQL_INDEX,  /* child 1 [ child 2 ] */
    LB_SQL_SLICE,  /* child 1 [ child 2 : child 3 ]; an absent bound is an LB_SQL_NOTHING */
    LB_SQL_NOTHING,
    /* operators: `op` is an lb_sql_op */
    LB_SQL_UNARY,   /* one child; LB_SQL_OP_FACTORIAL stands behind it */
    LB_SQL_CHAIN,   /* two or more children, grouped to the left; the `joint` of each but the first is the operator
                     * before it. All are of one strength, as + and -. AND and OR chains: every child is a conjunct */
    LB_SQL_LIKE,    /* x, pattern[, escape]: `op` is LIKE, ILIKE, RLIKE, REGEXP, IREGEXP, SIMILAR, GLOB; LB_SQL_NOT */
    LB_SQL_BETWEEN, /* x, low, high; LB_SQL_NOT, LB_SQL_SYMMETRIC */
    LB_SQL_IN,      /* x, then the list (may be empty); LB_SQL_NOT; LB_SQL_BARE: `x IN y` without parentheses */
    LB_SQL_IS,      /* x; `op` is an lb_sql_is; LB_SQL_NOT. IS DISTINCT FROM is an operator of a chain */
    LB_SQL_PAREN,   /* one child: kept, for labels show it */
    LB_SQL_TUPLE,   /* (a, b), () or ROW(a, b) (LB_SQL_WORD); a row of VALUES. Any number of children */
    LB_SQL_COLLATE, /* struct lb_sql_field: child COLLATE name */
    LB_SQL_ZONE,    /* x AT TIME ZONE y */
    /* with a query: struct lb_sql_subquery */
    LB_SQL_SUBQUERY,    /* (SELECT …) as a value; no children */
    LB_SQL_EXISTS,      /* no children; NOT EXISTS is a UNARY NOT around it */
    LB_SQL_IN_QUERY,    /* one child: x; LB_SQL_NOT */
    LB_SQL_QUANTIFIED,  /* ANY, SOME, ALL as right operand: `op` is an lb_sql_quantifier; a query, or else children */
    LB_SQL_ARRAY_QUERY, /* ARRAY(SELECT …) */
    /* forms */
    LB_SQL_CASE,     /* [operand (LB_SQL_HAS_OPERAND)], (when, then)…, [else (LB_SQL_HAS_ELSE)] */
    LB_SQL_CAST,     /* struct lb_sql_cast: one child */
    LB_SQL_CALL,     /* struct lb_sql_call: the arguments */
    LB_SQL_INTERVAL, /* struct lb_sql_interval: one child */
    LB_SQL_LAMBDA,   /* struct lb_sql_lambda: one child, the body */
    LB_SQL_ARRAY,    /* [a, b] or ARRAY[a, b] (LB_SQL_WORD) */
    LB_SQL_STRUCT,   /* {'a': 1, b: 2}: children are LB_SQL_NAMED */
    LB_SQL_MAP,      /* MAP {k: v, …}: keys and values in turn */
    LB_SQL_NAMED,    /* struct lb_sql_named: a named argument, a field of a literal, an aliased value of VALUES */
} lb_sql_kind;

typedef enum lb_sql_op {
    LB_SQL_OP_NONE,
    /* of LB_SQL_UNARY */
    LB_SQL_OP_NOT,  /* NOT x */
    LB_SQL_OP_BANG, /* !x */
    LB_SQL_OP_MINUS,
    LB_SQL_OP_PLUS,
    LB_SQL_OP_TILDE,
    LB_SQL_OP_FACTORIAL, /* x! */
    /* of LB_SQL_CHAIN, from loose to tight; operators of one line may meet in one chain */
    LB_SQL_OP_PIPES, /* || : OR of booleans and concatenation of strings */
    LB_SQL_OP_OR,
    LB_SQL_OP_XOR,
    LB_SQL_OP_AND,
    LB_SQL_OP_EQ,
    LB_SQL_OP_NE,
    LB_SQL_OP_LT,
    LB_SQL_OP_LE,
    LB_SQL_OP_GT,
    LB_SQL_OP_GE,           /* NE: != and <> */
    LB_SQL_OP_NULL_SAFE_EQ, /* <=> */
    LB_SQL_OP_DISTINCT,
    LB_SQL_OP_NOT_DISTINCT, /* IS [NOT] DISTINCT FROM */
    LB_SQL_OP_ADD,
    LB_SQL_OP_SUB,
    LB_SQL_OP_MUL,
    LB_SQL_OP_DIVIDE,
    LB_SQL_OP_MOD,
    LB_SQL_OP_DIV,
    LB_SQL_OP_FLOOR, /* FLOOR: // */
    LB_SQL_OP_BIT_AND,
    LB_SQL_OP_BIT_OR,
    LB_SQL_OP_BIT_XOR,
    /* of LB_SQL_LIKE */
    LB_SQL_OP_LIKE,
    LB_SQL_OP_ILIKE,
    LB_SQL_OP_RLIKE,
    LB_SQL_OP_REGEXP,
    LB_SQL_OP_IREGEXP,
    LB_SQL_OP_SIMILAR,
    LB_SQL_OP_GLOB,
    /* From here on: operators of other systems in a chain, as @>, ->>, <<; lb_sql_op_text() spells them. */
    LB_SQL_OP_CUSTOM,
} lb_sql_op;

typedef enum lb_sql_is { LB_SQL_IS_NULL, LB_SQL_IS_TRUE, LB_SQL_IS_FALSE, LB_SQL_IS_UNKNOWN } lb_sql_is;
typedef enum lb_sql_dated { LB_SQL_DATE, LB_SQL_TIMESTAMP, LB_SQL_TIME } lb_sql_dated;
typedef enum lb_sql_quantifier { LB_SQL_ANY, LB_SQL_SOME, LB_SQL_ALL } lb_sql_quantifier;

/* Flags of expressions. */
enum {
    LB_SQL_NOT = 1 << 0,
    LB_SQL_SYMMETRIC = 1 << 1,
    LB_SQL_WORD = 1 << 2, /* the word ROW or ARRAY stands before it */
    LB_SQL_BARE = 1 << 3,
    LB_SQL_HAS_OPERAND = 1 << 4,
    LB_SQL_HAS_ELSE = 1 << 5,
    /* of LB_SQL_CALL */
    LB_SQL_CALL_DISTINCT = 1 << 6,
    LB_SQL_CALL_ALL = 1 << 7,
    LB_SQL_IGNORE_NULLS = 1 << 8, /* inside or behind the parentheses */
    LB_SQL_RESPECT_NULLS = 1 << 9,
    LB_SQL_NULLS_INSIDE = 1 << 10,
    LB_SQL_ESCAPED = 1 << 11, /* of LB_SQL_STRING: holds an escape or a doubled quote */
};

struct lb_sql_expr {
    uint8_t kind;  /* lb_sql_kind */
    uint8_t op;    /* by kind */
    uint8_t joint; /* within a chain: the lb_sql_op before this operand */
    uint16_t flags;
    uint32_t begin, end;
    uint32_t count; /* of children */
    lb_sql_expr *next, *first;
};

typedef struct lb_sql_column {
    lb_sql_expr expr;
    lb_sql_names path; /* one part or more */
} lb_sql_column;

typedef struct lb_sql_item { /* of a select list, of RETURNING, of * REPLACE (…) */
    lb_sql_expr *expr;
    lb_sql_name alias; /* with or without AS */
    struct lb_sql_item *next;
} lb_sql_item;

typedef struct lb_sql_rename {
    lb_sql_name from, to;
    struct lb_sql_rename *next;
} lb_sql_rename;

typedef struct lb_sql_star {
    lb_sql_expr expr;
    lb_sql_names path;      /* of `t.*`; count 0: `*` */
    lb_sql_names except;    /* * EXCEPT (a, b), * EXCLUDE a */
    lb_sql_item *replace;   /* * REPLACE (e AS a) */
    lb_sql_rename *renames; /* * RENAME (a AS b) */
} lb_sql_star;

typedef struct lb_sql_field {
    lb_sql_expr expr;
    lb_sql_name name;
} lb_sql_field;

typedef struct lb_sql_subquery {
    lb_sql_expr expr;
    lb_sql_query *query; /* NULL only for LB_SQL_QUANTIFIED over a list */
} lb_sql_subquery;

typedef enum lb_sql_cast_form {
    LB_SQL_CAST_PLAIN,
    LB_SQL_CAST_TRY,
    LB_SQL_CAST_SAFE,
    LB_SQL_CAST_COLONS
} lb_sql_cast_form;

typedef struct lb_sql_cast { /* expr.op is an lb_sql_cast_form */
    lb_sql_expr expr;
    lb_sql_type *type;
    lb_sql_expr *format; /* FORMAT 'pattern'; NULL: none */
} lb_sql_cast;

typedef struct lb_sql_order { /* of ORDER BY, SORT BY */
    lb_sql_expr *expr;
    uint32_t begin, end;
    char direction; /* 'a' ASC, 'd' DESC, 0 none written */
    char nulls;     /* 'f' FIRST, 'l' LAST, 0 */
    struct lb_sql_order *next;
} lb_sql_order;

typedef enum lb_sql_bound_kind {
    LB_SQL_BOUND_NONE, /* the frame has no second bound */
    LB_SQL_UNBOUNDED_PRECEDING,
    LB_SQL_PRECEDING,
    LB_SQL_CURRENT_ROW,
    LB_SQL_FOLLOWING,
    LB_SQL_UNBOUNDED_FOLLOWING,
} lb_sql_bound_kind;

typedef struct lb_sql_bound {
    lb_sql_bound_kind kind;
    lb_sql_expr *offset; /* of n PRECEDING and n FOLLOWING */
} lb_sql_bound;

typedef enum lb_sql_frame { LB_SQL_FRAME_NONE, LB_SQL_ROWS, LB_SQL_RANGE, LB_SQL_GROUPS } lb_sql_frame;

typedef struct lb_sql_window {
    uint32_t begin, end;
    lb_sql_name name;       /* in the list of WINDOW: its own */
    lb_sql_name base;       /* `OVER w` (bare) or `OVER (w …)` */
    bool bare;              /* OVER w: no parentheses, nothing but base */
    lb_sql_expr *partition; /* list */
    lb_sql_order *order;
    lb_sql_frame frame;
    lb_sql_bound start, stop;   /* stop NONE: frame without BETWEEN */
    char exclude;               /* EXCLUDE 'c' CURRENT ROW, 'g' GROUP, 't' TIES, 'n' NO OTHERS, 0 none */
    struct lb_sql_window *next; /* of the WINDOW clause */
} lb_sql_window;

/* How the arguments are written. */
typedef enum lb_sql_call_form {
    LB_SQL_CALL_PLAIN,     /* f(a, b) */
    LB_SQL_CALL_EXTRACT,   /* EXTRACT(unit FROM x): child 1 is a COLUMN of one part that names the unit, not a column */
    LB_SQL_CALL_TRIM,      /* TRIM([BOTH|LEADING|TRAILING] [c] FROM x): children [c,] x; `unit` is the first word */
    LB_SQL_CALL_SUBSTRING, /* SUBSTRING(x FROM a [FOR b]) */
    LB_SQL_CALL_POSITION,  /* POSITION(a IN b) */
    LB_SQL_CALL_OVERLAY,   /* OVERLAY(x PLACING y FROM a [FOR b]) */
} lb_sql_call_form;

typedef struct lb_sql_call { /* expr.op is an lb_sql_call_form; count(*) has an LB_SQL_STAR as its child */
    lb_sql_expr expr;
    lb_sql_names name;    /* [db.]f, case kept */
    lb_str unit;          /* first word of TRIM; at NULL: none */
    lb_sql_order *order;  /* f(x ORDER BY y) */
    lb_sql_order *within; /* WITHIN GROUP (ORDER BY y) */
    lb_sql_expr *filter;  /* FILTER (WHERE c) */
    lb_sql_window *over;  /* NULL: not analytic */
} lb_sql_call;

typedef struct lb_sql_interval {
    lb_sql_expr expr;
    lb_sql_name unit, to; /* INTERVAL x unit [TO unit]; either may be missing (INTERVAL '1 day') */
} lb_sql_interval;

typedef struct lb_sql_lambda {
    lb_sql_expr expr;
    lb_sql_names params; /* `x -> …`: one; `(x, y) -> …`: with LB_SQL_WORD set if in parentheses */
} lb_sql_lambda;

typedef enum lb_sql_named_form {
    LB_SQL_NAMED_AS,     /* e AS name */
    LB_SQL_NAMED_ARROW,  /* name => e */
    LB_SQL_NAMED_ASSIGN, /* name := e */
    LB_SQL_NAMED_COLON,  /* name: e, 'name': e */
} lb_sql_named_form;

typedef struct lb_sql_named { /* expr.op is an lb_sql_named_form; one child */
    lb_sql_expr expr;
    lb_sql_name name;
} lb_sql_named;

/* The struct of an expression; `e` must be of a kind that has it. */
#define LB_SQL_AS(type, e) ((const lb_sql_##type *)(const void *)(e))

/* ---------------------------------------------------------------- FROM */

typedef enum lb_sql_ref_kind {
    LB_SQL_REF_TABLE,  /* path: a table, view, WITH entry, or a collection (`t.int_array_col`) */
    LB_SQL_REF_QUERY,  /* query: an inline view; VALUES in parentheses too */
    LB_SQL_REF_CALL,   /* call: a table function, an LB_SQL_CALL; UNNEST(a, b); the function of a LATERAL VIEW */
    LB_SQL_REF_JOINED, /* refs: (a JOIN b ON …), alias optional */
} lb_sql_ref_kind;

typedef enum lb_sql_join {
    LB_SQL_JOIN_FIRST, /* the first of its list */
    LB_SQL_JOIN_COMMA,
    LB_SQL_JOIN_INNER, /* JOIN, INNER JOIN */
    LB_SQL_JOIN_CROSS,
    LB_SQL_JOIN_LEFT,
    LB_SQL_JOIN_RIGHT,
    LB_SQL_JOIN_FULL,
    LB_SQL_JOIN_LEFT_SEMI, /* also SEMI JOIN */
    LB_SQL_JOIN_RIGHT_SEMI,
    LB_SQL_JOIN_LEFT_ANTI, /* also ANTI JOIN */
    LB_SQL_JOIN_RIGHT_ANTI,
    LB_SQL_JOIN_ASOF,
    LB_SQL_JOIN_ASOF_LEFT,
    LB_SQL_JOIN_POSITIONAL,
    LB_SQL_JOIN_LATERAL_VIEW, /* Hive: LATERAL VIEW f(x) alias AS columns */
    LB_SQL_JOIN_LATERAL_VIEW_OUTER,
} lb_sql_join;

typedef struct lb_sql_pivot {
    uint32_t begin, end;
    bool unpivot;
    bool include_nulls;   /* UNPIVOT INCLUDE NULLS */
    lb_sql_item *values;  /* PIVOT: the aggregates; UNPIVOT: the value column, or columns */
    lb_sql_names columns; /* FOR a or FOR (a, b): columns whose values become columns; UNPIVOT: the name column */
    lb_sql_item *in;      /* IN (v AS name, …) */
    lb_sql_name alias;
} lb_sql_pivot;

struct lb_sql_ref {
    uint8_t kind;    /* lb_sql_ref_kind */
    uint8_t join;    /* lb_sql_join: how it hangs on the one before it in its list */
    bool natural;    /* NATURAL [LEFT …] JOIN */
    bool lateral;    /* LATERAL */
    bool ordinality; /* f(…) WITH ORDINALITY */
    bool only;       /* ONLY t, of PostgreSQL */
    uint32_t begin, end;
    lb_sql_names path;
    lb_sql_query *query;
    lb_sql_expr *call;
    lb_sql_ref *refs; /* of JOINED */
    lb_sql_name alias;
    lb_sql_names columns;      /* alias(a, b) */
    lb_sql_type *column_types; /* alias(a INT, b TEXT): one a column, or NULL */
    lb_sql_expr *on;
    lb_sql_names using; /* count 0: none */
    lb_str version_of;  /* FOR SYSTEM_TIME or FOR SYSTEM_VERSION AS OF: "SYSTEM_TIME"; at NULL: none */
    lb_sql_expr *version;
    lb_str sample; /* TABLESAMPLE method; "" without one; at NULL: none */
    lb_sql_expr *sample_size;
    lb_str sample_unit;       /* PERCENT, ROWS; at NULL: none */
    lb_sql_expr *sample_seed; /* REPEATABLE(n) */
    lb_sql_pivot *pivot;
    lb_sql_ref *next;
    lb_sql_ref *open; /* the parser's own: the join before it that waits for its ON */
};

/* ---------------------------------------------------------------- queries */

typedef enum lb_sql_group_kind {
    LB_SQL_GROUP_EXPR,
    LB_SQL_GROUP_SET,    /* (a, b) or () within ROLLUP, CUBE, GROUPING SETS */
    LB_SQL_GROUP_ROLLUP, /* ROLLUP (a, (b, c)) */
    LB_SQL_GROUP_CUBE,
    LB_SQL_GROUP_SETS, /* GROUPING SETS (…) */
} lb_sql_group_kind;

typedef struct lb_sql_group {
    lb_sql_group_kind kind;
    uint32_t begin, end;
    lb_sql_expr *expr;          /* of EXPR */
    struct lb_sql_group *first; /* of the others */
    struct lb_sql_group *next;
} lb_sql_group;

/* ORDER BY … LIMIT … OFFSET: of a block, or of a query. */
typedef struct lb_sql_tail {
    lb_sql_order *order;
    bool order_all;     /* ORDER BY ALL; order is NULL */
    char all_direction; /* as lb_sql_order's */
    bool limit_all;     /* LIMIT ALL */
    bool percent;       /* LIMIT 10 % */
    bool fetch;         /* written as FETCH FIRST n ROWS */
    bool with_ties;
    lb_sql_expr *limit, *offset;
} lb_sql_tail;

typedef enum lb_sql_block_kind {
    LB_SQL_BLOCK_SELECT,
    LB_SQL_BLOCK_VALUES, /* rows: list of LB_SQL_TUPLE */
    LB_SQL_BLOCK_TABLE,  /* TABLE t: from is that one table */
    LB_SQL_BLOCK_NESTED, /* nested: a query in parentheses; or, with `implied`, grouped by INTERSECT's strength */
} lb_sql_block_kind;

typedef enum lb_sql_set { LB_SQL_SET_FIRST, LB_SQL_SET_UNION, LB_SQL_SET_EXCEPT, LB_SQL_SET_INTERSECT } lb_sql_set;

typedef enum lb_sql_by { LB_SQL_BY_PLAIN, LB_SQL_BY_ALL, LB_SQL_BY_ROLLUP, LB_SQL_BY_CUBE } lb_sql_by;

/* One operand of a set operation; a plain SELECT is a query with one. */
typedef struct lb_sql_block {
    uint8_t kind;       /* lb_sql_block_kind */
    uint8_t set;        /* lb_sql_set: how it meets all the ones before it */
    bool all;           /* UNION ALL */
    bool distinct_word; /* UNION DISTINCT */
    bool by_name;       /* UNION BY NAME */
    bool minus;         /* EXCEPT, written as MINUS */
    bool implied;       /* NESTED without parentheses */
    uint32_t begin, end;

    /* SELECT */
    bool distinct, select_all, straight_join;
    bool from_first; /* FROM t SELECT …, or FROM t alone: then items is one star without bytes (begin == end) */
    lb_sql_expr *distinct_on;
    lb_sql_item *items;
    uint32_t item_count;
    lb_sql_names into; /* SELECT … INTO t */
    lb_sql_ref *from;
    lb_sql_expr *where;
    lb_sql_group *group;
    lb_sql_by group_by; /* ALL: group is NULL; ROLLUP, CUBE: written as GROUP BY a, b WITH ROLLUP */
    lb_sql_expr *having, *qualify;
    lb_sql_window *windows;
    lb_sql_expr *cluster_by, *distribute_by; /* Hive; lists */
    lb_sql_order *sort_by;

    lb_sql_expr *rows; /* VALUES */
    uint32_t row_count;
    lb_sql_query *nested; /* NESTED */

    lb_sql_tail tail;
    struct lb_sql_block *next;
} lb_sql_block;

typedef struct lb_sql_cte {
    uint32_t begin, end;
    lb_sql_name name;
    lb_sql_names columns;        /* count 0: none */
    lb_sql_query *query;         /* NULL: it is a statement */
    lb_sql_statement *statement; /* PostgreSQL: INSERT, UPDATE or DELETE … RETURNING in WITH */
    char materialized;           /* 'm' MATERIALIZED, 'n' NOT MATERIALIZED, 0 */
    struct lb_sql_cte *next;
} lb_sql_cte;

typedef struct lb_sql_with {
    uint32_t begin, end;
    bool recursive;
    lb_sql_cte *first;
} lb_sql_with;

/* In Impala's dialect ORDER BY and LIMIT bind to the SELECT or VALUES block just before them (spec 4.3): its `tail`.
 * They are in the query's own tail only after a last operand in parentheses. In the ANSI dialect they are the query's,
 * unless the query is a single SELECT or VALUES: then the block's, as in Impala. */
struct lb_sql_query {
    uint32_t begin, end; /* without parentheses around it */
    lb_sql_with *with;
    lb_sql_block *first;
    lb_sql_block *last;
    uint32_t count; /* of operands */
    lb_sql_tail tail;
};

/* ---------------------------------------------------------------- statements */

typedef enum lb_sql_statement_kind {
    LB_SQL_BAD,             /* did not parse: see its problem */
    LB_SQL_SELECT,          /* query: SELECT, VALUES, set operations */
    LB_SQL_INSERT,          /* insert */
    LB_SQL_UPDATE,          /* update */
    LB_SQL_DELETE,          /* update: sets is NULL */
    LB_SQL_MERGE,           /* merge */
    LB_SQL_CREATE_TABLE,    /* table: with columns, AS SELECT, LIKE a table, LIKE a file */
    LB_SQL_CREATE_VIEW,     /* view */
    LB_SQL_ALTER_VIEW,      /* view: ALTER VIEW v [(cols)] AS query */
    LB_SQL_EXPLAIN,         /* explained; words: "EXPLAIN" */
    LB_SQL_USE,             /* path: the database; USE DEFAULT too */
    LB_SQL_DROP,            /* words: "DROP TABLE"; path */
    LB_SQL_CREATE_DATABASE, /* path */
    LB_SQL_OTHER, /* known but of no interest here (words: "OPTIMIZE", "SHOW", "ALTER TABLE" …), skipped unread */
} lb_sql_statement_kind;

typedef struct lb_sql_partition { /* of PARTITION (k = v, k) */
    lb_sql_name column;
    lb_sql_expr *value; /* NULL: dynamic */
    struct lb_sql_partition *next;
} lb_sql_partition;

typedef struct lb_sql_assign { /* of SET */
    lb_sql_names column;       /* a path: c, t.c, db.t.c, c.field */
    lb_sql_expr *value;        /* NULL for all but the last of (a, b) = …: they share that one's */
    uint32_t begin, end;
    uint32_t group; /* (a, b) = …: how many columns share the value, told at the last; else 0 */
    struct lb_sql_assign *next;
} lb_sql_assign;

typedef enum lb_sql_insert_mode { LB_SQL_INTO, LB_SQL_OVERWRITE, LB_SQL_UPSERT, LB_SQL_REPLACE } lb_sql_insert_mode;

typedef struct lb_sql_insert {
    lb_sql_insert_mode mode;
    bool table_word; /* INSERT INTO TABLE t */
    bool if_not_exists;
    lb_sql_with *with;      /* before INSERT; visible in the query */
    lb_sql_names table;     /* count 0: OVERWRITE DIRECTORY */
    lb_sql_expr *directory; /* its folder, a string */
    bool local;             /* OVERWRITE LOCAL DIRECTORY */
    lb_str directory_rest;  /* ROW FORMAT … STORED AS … behind it, unread */
    lb_sql_name alias;      /* INSERT INTO t AS x */
    bool has_columns;       /* a list was written; it may be empty */
    lb_sql_names columns;
    bool has_partition;
    lb_sql_partition *partition;
    bool by_name;        /* BY NAME */
    bool default_values; /* DEFAULT VALUES */
    lb_sql_query *query; /* NULL: DEFAULT VALUES, or `INSERT INTO t()` */
    bool on_conflict;    /* ON CONFLICT [(columns)] DO NOTHING, or DO UPDATE SET … */
    lb_sql_names conflict;
    lb_sql_assign *update; /* NULL: DO NOTHING */
    lb_sql_expr *update_where;
    lb_sql_item *returning;
} lb_sql_insert;

/* UPDATE t [alias] SET … [FROM …] [WHERE …], and DELETE [t] FROM … [USING …] [WHERE …]. */
typedef struct lb_sql_update {
    lb_sql_with *with;
    lb_sql_names table; /* as written: may be an alias of FROM */
    lb_sql_name alias;
    lb_sql_assign *sets;
    lb_sql_ref *from; /* UPDATE's FROM; DELETE's USING, or the list of DELETE t FROM … */
    bool using;       /* DELETE … USING */
    lb_sql_expr *where;
    lb_sql_item *returning;
} lb_sql_update;

typedef enum lb_sql_match { LB_SQL_MATCHED, LB_SQL_NOT_MATCHED, LB_SQL_NOT_MATCHED_BY_SOURCE } lb_sql_match;
typedef enum lb_sql_action { LB_SQL_DO_UPDATE, LB_SQL_DO_DELETE, LB_SQL_DO_INSERT, LB_SQL_DO_NOTHING } lb_sql_action;

typedef struct lb_sql_when {
    uint32_t begin, end;
    lb_sql_match match;
    bool by_target; /* NOT MATCHED BY TARGET, written out */
    lb_sql_action action;
    bool star;              /* UPDATE SET *, INSERT * */
    bool default_values;    /* INSERT DEFAULT VALUES */
    lb_sql_expr *condition; /* WHEN MATCHED AND c */
    lb_sql_assign *sets;
    bool has_columns;
    lb_sql_names columns;
    lb_sql_expr *values; /* list */
    struct lb_sql_when *next;
} lb_sql_when;

typedef struct lb_sql_merge {
    lb_sql_with *with;
    lb_sql_names table;
    lb_sql_name alias;
    lb_sql_ref *source;
    lb_sql_expr *on;
    lb_sql_when *whens;
    lb_sql_item *returning;
} lb_sql_merge;

typedef struct lb_sql_property { /* 'key' = 'value'; values without quotes */
    lb_str key, value;
    struct lb_sql_property *next;
} lb_sql_property;

typedef struct lb_sql_column_def {
    uint32_t begin, end;
    lb_sql_name name;
    lb_sql_type *type; /* NULL: none written, as in PARTITIONED BY (c) of a CTAS and in the list of a view */
    bool primary_key, not_null, null_word, unique;
    lb_sql_expr *fallback;  /* DEFAULT e */
    lb_sql_expr *generated; /* GENERATED ALWAYS AS (e), AS (e) */
    lb_str comment;         /* without quotes; at NULL: none */
    lb_str rest;            /* what else was written, as ENCODING x BLOCK_SIZE 1, unread: tokens joined by one blank */
    struct lb_sql_column_def *next;
} lb_sql_column_def;

typedef struct lb_sql_create_table {
    bool external, temporary, or_replace, if_not_exists;
    lb_sql_names table;
    bool has_columns;
    lb_sql_column_def *columns;
    lb_sql_names primary_key;     /* of PRIMARY KEY (a, b), within the list or behind it */
    bool key_not_unique;          /* NON UNIQUE PRIMARY KEY */
    lb_str key_rest;              /* DISABLE NOVALIDATE … behind it, unread */
    lb_sql_property *constraints; /* others of the list of columns, as FOREIGN KEY …: `value` has the text, unread */
    lb_sql_names like;            /* LIKE another table; count 0: none */
    lb_str like_format;           /* LIKE PARQUET 'file': "PARQUET"; at NULL: none */
    lb_sql_expr *like_file;
    lb_sql_column_def *partitioned_by; /* PARTITIONED BY (c type, …), or names alone */
    lb_sql_expr *partition_spec;       /* PARTITIONED BY SPEC (bucket(7, id), c): list of columns and calls */
    bool spec_word;                    /* false: Spark's form, without SPEC */
    lb_str partition_rest;             /* PARTITION BY HASH (…) …: unread */
    lb_sql_names sort_by;
    lb_str sort_order;     /* ZORDER, LEXICAL; at NULL: none */
    lb_str stored_as;      /* STORED AS x, STORED BY x or 'class', USING x: the word; at NULL: none */
    bool stored_string;    /* it was in quotes */
    char stored;           /* 'a' AS, 'b' BY, 'u' USING, 0 none */
    lb_sql_expr *location; /* string */
    lb_str comment;
    lb_sql_property *properties;       /* TBLPROPERTIES */
    lb_sql_property *serde_properties; /* WITH SERDEPROPERTIES */
    lb_str rest;                       /* other clauses (ROW FORMAT …, CACHED IN …), unread: joined by one blank */
    lb_sql_query *query;               /* AS SELECT; NULL: none */
    lb_str query_rest;                 /* WITH [NO] DATA behind it, unread */
} lb_sql_create_table;

typedef struct lb_sql_create_view {
    bool or_replace, if_not_exists, temporary, materialized;
    lb_sql_names view;
    bool has_columns;
    lb_sql_column_def *columns; /* names and comments; types NULL */
    lb_str comment;
    lb_sql_property *properties;
    lb_sql_query *query;
} lb_sql_create_view;

struct lb_sql_statement {
    lb_sql_statement_kind kind;
    uint32_t begin, end; /* first to last token, without the semicolon */
    lb_str words;        /* of OTHER, DROP, EXPLAIN: leading key words in upper case */
    lb_sql_names path;
    bool if_exists; /* of DROP and CREATE DATABASE: IF [NOT] EXISTS */
    union {
        lb_sql_query *query;
        lb_sql_insert *insert;
        lb_sql_update *update;
        lb_sql_merge *merge;
        lb_sql_create_table *table;
        lb_sql_create_view *view;
        lb_sql_statement *explained; /* its end is the end of EXPLAIN */
    };
    lb_sql_statement *next;
};

#endif
