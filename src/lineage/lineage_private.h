/* The insides of the analysis: what a statement's names become before they are a graph.
 *
 *     lineage_flow.c       atoms (columns of stored tables), slots (what a derived column is made of), collectors
 *     lineage_scope.c      relations in scope, and names → slots
 *     lineage_star.c       stars → slots
 *     lineage_from.c       FROM → relations; WITH entries, stored views, collections
 *     lineage_pivot.c      PIVOT and UNPIVOT
 *     lineage_expr.c       expressions → slots
 *     lineage_fold.c       conditions that are constant
 *     lineage_functions.c  what is known of functions
 *     lineage_query.c      blocks, set operations, labels
 *     lineage_statement.c  statements → targets and contributors
 *     lineage_merge.c      UPDATE and MERGE
 *     lineage_build.c      targets and contributors → the graph
 *     lineage_ddl.c        what a statement changes in the script's catalog
 *     lineage_run.c        scripts
 *
 * One analysis is one statement. All of it lives in one arena, and every call returns a status: other than LB_OK, the
 * analysis' error is filled and the statement is given up. */
#ifndef LB_LINEAGE_LINEAGE_PRIVATE_H
#define LB_LINEAGE_LINEAGE_PRIVATE_H

#include "lineage/lineage.h"
#include "lineage/lineage_catalog_private.h"
#include "lineage/lineage_nested.h"
#include "sql/sql_parse.h"

#define LB_ANALYSIS_DEPTH 1500               /* of queries and expressions, through views: bounds the stack */
#define LB_ANALYSIS_WORK UINT64_C(400000000) /* sources handed on; bounds the time, a second or so */

typedef struct lb_analysis lb_analysis;
typedef struct lb_scope lb_scope;
typedef struct lb_columns lb_columns;
typedef struct lb_cte lb_cte;

/* ---------------------------------------------------------------- maps */

/* Texts → numbers, in an arena. A key may have a tag besides, so that one map serves the columns of many tables. */
typedef struct lb_text_slot {
    lb_str key; /* at NULL: free */
    const void *tag;
    uint32_t hash, value;
} lb_text_slot;

typedef struct lb_text_map {
    lb_text_slot *slots;
    uint32_t n_slots, count;
} lb_text_map;

#define LB_NONE UINT32_MAX

/* Value of a key, or LB_NONE. */
uint32_t lb_text_map_find(const lb_text_map *map, const void *tag, lb_str key);

/* The value's place; *was_there says whether the key was there (else the value is LB_NONE, to be set). NULL: no
 * memory, see arena->why. */
uint32_t *lb_text_map_put(lb_text_map *map, lb_arena *arena, const void *tag, lb_str key, bool *was_there);

/* ---------------------------------------------------------------- flows */

/* One source of a slot: of its value where kinds is not 0, of the windows its value comes from where clauses is not 0. */
typedef struct lb_flow_item {
    uint32_t atom;
    uint16_t kinds, clauses; /* LB_LINEAGE_IDENTITY …, LB_LINEAGE_WHERE … */
} lb_flow_item;

/* What a column of a relation, or an expression, is made of. */
typedef struct lb_flow_slot {
    const lb_flow_item *items; /* each atom once */
    uint32_t n;
    bool windowed;              /* some window function with PARTITION BY or ORDER BY is on the way */
    const lb_nested_type *type; /* of a plain reference to a complex column: items[0] is its path; else NULL */
} lb_flow_slot;

typedef struct lb_table_use lb_table_use;

/* A column of a stored table, or a path into one: what can be a source. */
typedef struct lb_atom {
    lb_table_use *use; /* NULL: nobody knows which table it belongs to */
    lb_str path;       /* below the table, lower case: "a", "a.item.f1", "*" */
    uint32_t vertex;   /* LB_NONE until it is one */
    bool guessed;      /* no relation is known to have it */
    bool named;        /* some name of a table whose columns are not known was taken for it */
    lb_flow_item self; /* the item of a slot that is this column and nothing else */
} lb_atom;

/* A table or view as one statement uses it. */
struct lb_table_use {
    const lb_catalog_table *table;
    bool unknown;     /* no catalog has it */
    bool open;        /* its columns are not known: whatever is named may be one */
    uint32_t *atoms;  /* by column, LB_NONE: not yet used; NULL: none used */
    lb_columns *view; /* of a stored view, once looked through */
    bool being_looked_through;
};

/* Gathers items, each atom once. */
typedef struct lb_collector {
    lb_flow_item *items;
    uint32_t n, cap;
    uint32_t *table; /* open addressing: place + 1 by atom; in use where n is large */
    uint32_t table_size, table_cap;
    bool windowed;
    struct lb_collector *next_free;
} lb_collector;

/* The strongest thing on the way from a source to the value at hand. */
typedef enum lb_way { LB_WAY_IDENTITY, LB_WAY_TRANSFORMATION, LB_WAY_AGGREGATION, LB_WAY_CONDITIONAL } lb_way;

/* Where an expression's columns go: into a value (clause 0), or into what restricts, all of it under one clause. */
typedef struct lb_sink {
    lb_collector *to;
    uint16_t clause;
    uint8_t way; /* lb_way */
    bool masked;
} lb_sink;

/* The restrictions of a part of the statement that may be used several times or not at all: a WITH entry, a stored
 * view, the block of an EXISTS; the statement is one itself. Those of the units it uses count too. */
typedef struct lb_unit {
    lb_collector restricts, beyond;
    struct lb_unit **uses;
    uint32_t n_uses, cap_uses;
    bool visited;
} lb_unit;

lb_status lb_flow_collector(lb_analysis *an, lb_collector **out); /* an empty one, from the pool */
void lb_flow_release(lb_analysis *an, lb_collector *collector);   /* takes NULL */
lb_status lb_flow_add(lb_analysis *an, lb_collector *to, uint32_t atom, uint16_t kinds, uint16_t clauses);
lb_status lb_flow_emit(lb_analysis *an, const lb_sink *sink, const lb_flow_slot *slot);
lb_status lb_flow_slot_of(lb_analysis *an, const lb_collector *from, lb_flow_slot *out); /* copies */
lb_status lb_flow_unite(lb_analysis *an, const lb_flow_slot *slots, uint32_t n, lb_flow_slot *out);

/* The sink for an operand whose value gets to the whole in such a way. */
static inline lb_sink lb_sink_by(lb_sink sink, lb_way way)
{
    if (sink.way < way)
        sink.way = (uint8_t)way;
    return sink;
}

lb_status lb_flow_column_atom(lb_analysis *an, lb_table_use *use, uint32_t column, lb_atom **out);
lb_status lb_flow_path_atom(lb_analysis *an, lb_table_use *use, lb_str path, lb_atom **out);

/* The slot of a column or path of a type: of a struct with all its nested fields. */
lb_status lb_flow_path_slot(lb_analysis *an, lb_table_use *use, lb_str path, const lb_nested_type *type,
                            lb_flow_slot *out);
lb_status lb_flow_column_slot(lb_analysis *an, lb_table_use *use, uint32_t column, lb_flow_slot *out);

lb_status lb_flow_unit(lb_analysis *an, lb_unit **out);
lb_status lb_flow_use_unit(lb_analysis *an, lb_unit *unit); /* the unit at hand uses that one */

/* ---------------------------------------------------------------- relations and scopes */

/* The star of a table whose columns are not known: a relation above it may be asked for any name. */
typedef struct lb_open_star {
    lb_table_use *use;
    bool also; /* another operand of the same set operation, not another relation that might have the name instead */
    struct lb_open_star *next;
} lb_open_star;

/* The columns of a query or view. */
struct lb_columns {
    uint32_t n, cap;
    lb_str *names; /* labels: lower case but for window functions */
    lb_flow_slot *slots;
    lb_open_star *open;
    uint32_t open_at;         /* columns from here on stand behind the first open star */
    lb_text_map map;          /* name → first place; made at need */
    uint32_t *same;           /* next place of the same name, or LB_NONE; NULL: all differ */
    const lb_flow_slot *wild; /* of a table function: what any other name stands for; NULL: there is none */
    lb_unit *unit;            /* whose restrictions come along; NULL: they are the user's already */
};

typedef enum lb_relation_kind { LB_RELATION_TABLE, LB_RELATION_COLLECTION, LB_RELATION_DERIVED } lb_relation_kind;

typedef struct lb_relation {
    lb_relation_kind kind;
    lb_str alias;    /* explicit, lower case; at NULL: none */
    lb_str *written; /* the path it was named by, lower case */
    uint32_t n_written;
    lb_table_use *use; /* TABLE, COLLECTION; of a stored view too */
    lb_str path;       /* COLLECTION: below the table */
    const lb_nested_type *type;
    lb_columns *columns; /* DERIVED */
    bool invisible;      /* of a semi or anti join: not in a star */
    bool nullable;       /* on the null-giving side of an outer join */
    bool relative;       /* COLLECTION: of a relation of the same block, `root` */
    bool not_empty;      /* … and each row needs one of its items */
    const struct lb_relation *root;
    lb_scope *scope;
} lb_relation;

/* A column that USING or NATURAL made one of two relations'. */
typedef struct lb_merged {
    lb_str name;
    bool natural; /* shown once by a star */
    const lb_relation *left, *right;
    struct lb_merged *next;
} lb_merged;

typedef struct lb_hidden_name { /* of a lambda's parameter */
    lb_str name;
    struct lb_hidden_name *next;
} lb_hidden_name;

/* The WITH entries of one WITH clause. */
typedef struct lb_env {
    struct lb_env *outer;
    lb_cte *ctes;
    uint32_t n;      /* of them visible */
    lb_text_map map; /* name → place */
} lb_env;

struct lb_cte {
    lb_str name;
    const lb_sql_cte *tree;
    lb_env inner;        /* with only the entries before it visible */
    lb_columns *columns; /* once analysed, or while a recursive one is */
    lb_unit *unit;
    bool recursive, busy, done;
};

struct lb_scope {
    lb_scope *outer;
    bool sees_outer; /* columns of the blocks around are visible: a subquery of an expression, or LATERAL */
    bool correlated; /* … and some were used */
    bool has_aggregate, has_window;
    bool orders; /* ORDER BY is being analysed, where names may be those of result columns */
    lb_env *env;
    lb_relation **relations;
    uint32_t n_relations, cap_relations;
    lb_merged *merged;
    lb_hidden_name *hidden;
    const lb_sql_window *windows;
    /* Select items analysed so far: where names may stand for them. */
    const lb_columns *items;
    const lb_str *aliases; /* explicit alias of each, lower case, at NULL: none */
    uint32_t n_items;
};

/* Which relations of a scope an expression has met: tells a join condition in WHERE. */
typedef struct lb_reach_span {
    const lb_scope *scope;
    const lb_relation *first;
    bool several;
} lb_reach_span;

/* The text that a tree was made of. */
typedef struct lb_source_text {
    lb_str text;
    lb_str db;                    /* where names without a database are looked up */
    bool hive_labels;             /* `_c0` for columns without a name */
    const lb_catalog_table *view; /* the stored view it is the text of; NULL: the statement itself */
    uint32_t view_begin;          /* the outermost view's name in the statement */
} lb_source_text;

typedef struct lb_view_tree lb_view_tree;

struct lb_analysis {
    lb_arena *arena;
    const lb_lineage_options *options;
    const lb_catalog *own; /* what the script made */
    struct lb_view_cache *views;
    lb_source_text source;
    bool view_statement; /* CREATE VIEW, ALTER VIEW: subqueries stay, EXCEPT gives values, nothing is folded */
    bool folds;
    lb_unit *unit; /* whose restrictions are being gathered */
    lb_unit *main;
    lb_reach_span *span; /* may be NULL */
    uint32_t depth;
    uint64_t work;

    lb_atom **atoms;
    uint32_t n_atoms, cap_atoms;
    lb_text_map paths;  /* (use, path) → atom */
    lb_text_map tables; /* "db.name" → use */
    lb_table_use **uses;
    uint32_t n_uses, cap_uses;
    lb_collector *free_collectors;

    lb_lineage_mark *marks;
    uint32_t n_marks, cap_marks;
    uint64_t n_unknown_tables, n_unknown_columns, n_ambiguous_columns;
    lb_text_map marked; /* places already marked, for parts that are analysed again */
    lb_buf *scratch;    /* for labels; empty between calls */
    lb_error *err;
};

/* Turn a failed allocation into an error. A macro, so that every reader sees that it is none but these two. */
#define lb_analysis_nomem(an) \
    ((void)lb_arena_fail((an)->arena, (an)->err), (an)->arena->why == LB_BUDGET ? LB_BUDGET : LB_NOMEM)

/* An allocation of the analysis: *out is zeroed. */
lb_status lb_analysis_alloc(lb_analysis *an, size_t count, size_t size, void *out);

/* Room for one more item in an array of the arena. */
lb_status lb_analysis_room(lb_analysis *an, void *items, uint32_t count, uint32_t *cap, size_t size);

lb_status lb_analysis_lower(lb_analysis *an, lb_str text, lb_str *out);
lb_status lb_analysis_join(lb_analysis *an, lb_str a, lb_str b, lb_str *out); /* "a.b"; b alone where a is empty */

/* One level deeper, or USAGE: too deep. Pairs with an->depth--. */
lb_status lb_analysis_deeper(lb_analysis *an);

lb_status lb_analysis_mark(lb_analysis *an, lb_lineage_mark_kind kind, uint32_t begin, uint32_t end);

/* Names as the script and the catalog know them: the script's own first. NULL: nobody does. */
const lb_catalog_table *lb_analysis_find(const lb_analysis *an, lb_str db, lb_str name);

/* The use of a table by the path written for it (`t`, `db.t`, `catalog.db.t`). One that nobody knows is made up, and
 * marked where `mark`. */
lb_status lb_analysis_table(lb_analysis *an, const lb_sql_names *path, bool mark, lb_table_use **out);
lb_status lb_analysis_use(lb_analysis *an, const lb_catalog_table *table, lb_table_use **out);

/* Database and name of such a path, lower case. */
lb_status lb_analysis_table_name(lb_analysis *an, const lb_sql_names *path, lb_str *db, lb_str *name);

/* ---- columns of derived relations */

lb_status lb_columns_new(lb_analysis *an, lb_columns **out);
lb_status lb_columns_add(lb_analysis *an, lb_columns *columns, lb_str name, const lb_flow_slot *slot);
lb_status lb_columns_open(lb_analysis *an, lb_columns *columns, lb_table_use *use, bool also);

/* First place of a name from `from` on, or LB_NONE. Cost: O(1), and of a name that occurs often, O(places). */
lb_status lb_columns_find(lb_analysis *an, lb_columns *columns, lb_str name, uint32_t from, uint32_t *out);

/* New names for the leading columns. */
lb_status lb_columns_rename(lb_analysis *an, lb_columns **columns, const lb_sql_names *names);

/* ---- names */

/* A path as lower-case parts. */
lb_status lb_scope_parts(lb_analysis *an, const lb_sql_names *path, lb_str **out);

typedef struct lb_found {
    lb_flow_slot slot;
    lb_str label; /* the path below the relation it was found in */
} lb_found;

/* Resolve a column. Never fails for a name that is not there: it is marked, and its slot is a column of that name. */
lb_status lb_scope_column(lb_analysis *an, lb_scope *scope, const lb_sql_names *path, lb_found *out);

/* Is there such a column for certain, or below a relation of that name? */
lb_status lb_scope_knows(lb_analysis *an, const lb_scope *scope, const lb_sql_names *path, bool *known);

/* Slot of a column of a relation by its lower-case name; *found false: it has none of that name for certain. */
lb_status lb_scope_relation_column(lb_analysis *an, lb_relation *relation, lb_str name, bool *found, lb_flow_slot *out);

/* How many parts at the front of a path name this relation; up to 3 answers. */
uint32_t lb_scope_prefixes(const lb_relation *relation, const lb_str *parts, uint32_t n, uint32_t out[3]);

/* The relation over a table that a path names although an alias hides that name; NULL: none. For names that nothing
 * else fits. */
lb_relation *lb_scope_hidden(const lb_scope *scope, const lb_str *parts, uint32_t n, uint32_t *prefix);

lb_status lb_scope_add(lb_analysis *an, lb_scope *scope, lb_relation *relation);

/* Step down a nested type by a written name: an `item` or `value` may be put in. *path grows by what was stepped
 * over. False in *found: there is no such way. `through`: collections may be stepped through. */
lb_status lb_scope_step(lb_analysis *an, const lb_nested_type **type, lb_str name, bool through, lb_str *path,
                        bool *found);

/* ---- stars */

/* The columns that a star stands for, added to `out`. `replace` of the star are walked in the scope. */
lb_status lb_star_expand(lb_analysis *an, lb_scope *scope, const lb_sql_star *star, lb_columns *out);

/* All columns of one relation; `all`: those of complex types too, whatever the options say. */
lb_status lb_star_relation(lb_analysis *an, const lb_relation *relation, bool all, lb_columns *out);

/* ---- FROM */

/* Analyse a FROM list into the scope: relations, ON and USING conditions, not-empty conditions. */
lb_status lb_from_list(lb_analysis *an, lb_scope *scope, const lb_sql_ref *list);
lb_status lb_from_table(lb_analysis *an, lb_scope *scope, lb_table_use *use, const lb_sql_names *path,
                        const lb_sql_name *alias, lb_relation **out);

/* The WITH entries that a clause adds to those around it, analysed; `with` NULL: adds none. */
lb_status lb_from_env(lb_analysis *an, const lb_sql_with *with, lb_env *outer, lb_scope *scope, bool sees_outer,
                      lb_env **out);

/* The columns that PIVOT or UNPIVOT makes of `source`, the one relation of the scope. */
lb_status lb_from_pivot(lb_analysis *an, lb_scope *scope, const lb_sql_pivot *pivot, const lb_columns *source,
                        lb_columns *out);

/* The columns of a stored view. */
lb_status lb_from_view(lb_analysis *an, lb_table_use *use, uint32_t begin, lb_columns **out);

/* ---- expressions */

lb_status lb_expr_walk(lb_analysis *an, lb_scope *scope, const lb_sql_expr *expr, const lb_sink *sink);
lb_status lb_expr_slot(lb_analysis *an, lb_scope *scope, const lb_sql_expr *expr, lb_flow_slot *out);

/* All of an expression under one clause, into what restricts (or `beyond`, what Impala does not count). */
lb_status lb_expr_restrict(lb_analysis *an, lb_scope *scope, const lb_sql_expr *expr, uint16_t clause);
lb_status lb_expr_beyond(lb_analysis *an, lb_scope *scope, const lb_sql_expr *expr, uint16_t clause);

/* A condition, conjunct by conjunct; in WHERE a conjunct over several relations is a join. */
lb_status lb_expr_condition(lb_analysis *an, lb_scope *scope, const lb_sql_expr *expr, uint16_t clause);

lb_status lb_slot_restrict(lb_analysis *an, const lb_flow_slot *slot, uint16_t clause, bool beyond);

bool lb_expr_is_literal(const lb_sql_expr *expr);
const lb_sql_expr *lb_expr_bare(const lb_sql_expr *expr); /* out of its parentheses */

/* ---- simplification (lineage.md 3.6) */

/* What a condition is, whatever the rows hold. `text`: that the tree was made of. */
typedef enum lb_truth { LB_TRUTH_OPEN, LB_TRUTH_TRUE, LB_TRUTH_FALSE, LB_TRUTH_NULL } lb_truth;
lb_truth lb_fold_truth(lb_str text, const lb_sql_expr *expr);

/* The operator between the first two operands of a chain; of AND and OR it is that between all. */
lb_sql_op lb_fold_joint(const lb_sql_expr *chain);

/* ---- functions */

enum {
    LB_FUNCTION_AGGREGATE = 1 << 0,
    LB_FUNCTION_MASKS = 1 << 1,       /* the result does not show the arguments */
    LB_FUNCTION_IF = 1 << 2,          /* the first argument is a condition */
    LB_FUNCTION_CONDITIONAL = 1 << 3, /* each argument is value and condition, as of coalesce */
    LB_FUNCTION_DECODE = 1 << 4,      /* decode(x, a, r, …): the first and every other one are compared */
    LB_FUNCTION_GROUPING = 1 << 5,    /* says how rows are grouped: takes no value from its arguments */
    LB_FUNCTION_NULLIF = 1 << 6       /* the first argument is value and condition, the second a condition */
};
unsigned lb_function_traits(lb_str name); /* name in any case */

/* ---- queries */

typedef enum lb_query_role {
    LB_QUERY_TOP,    /* the statement's own: its columns become targets */
    LB_QUERY_INLINE, /* of FROM, WITH, a view */
    LB_QUERY_IN,     /* IN, ANY, ALL */
    LB_QUERY_SCALAR,
    LB_QUERY_EXISTS
} lb_query_role;

typedef struct lb_query_place {
    lb_query_role role;
    lb_scope *outer; /* NULL: none */
    bool sees_outer;
    lb_env *env;
    bool no_labels; /* names of columns are not asked for */
} lb_query_place;

typedef struct lb_query_facts {
    bool correlated;
    bool decided; /* EXISTS over it is the same for every row */
} lb_query_facts;

lb_status lb_query_columns(lb_analysis *an, const lb_sql_query *query, const lb_query_place *place, lb_columns **out,
                           lb_query_facts *facts);

/* Is a query, through its parentheses, one SELECT block? EXCEPT and INTERSECT are turned into one, but for views. */
bool lb_query_is_select(const lb_analysis *an, const lb_sql_query *query);

/* ---- statements and graphs */

typedef struct lb_target {
    lb_str label;
    bool has_metadata;
    lb_flow_slot slot; /* all contributors together */
} lb_target;

typedef struct lb_record {
    bool leaves_none; /* the statement leaves no record */
    const char *operation;
    lb_target *targets;
    uint32_t n_targets, cap_targets;
    bool has_target_table;
    lb_str target_name, target_type; /* "db.table" */
    int64_t target_create_time;
    bool has_location;
    lb_str location;
    lb_columns *columns; /* of the query, for the script's catalog */
} lb_record;

lb_status lb_statement_analyze(lb_analysis *an, const lb_sql_statement *statement, lb_record *out);
lb_status lb_statement_update(lb_analysis *an, const lb_sql_update *update, lb_record *out);
lb_status lb_statement_merge(lb_analysis *an, const lb_sql_merge *merge, lb_record *out);
lb_status lb_statement_target(lb_analysis *an, lb_record *out, lb_str label, bool has_metadata,
                              const lb_flow_slot *slot);
void lb_statement_writes(lb_record *out, const lb_table_use *use);

/* The slot of each column of SET (a, b) = …, or of one SET c = …; *next is the assignment behind. */
lb_status lb_statement_assign(lb_analysis *an, lb_scope *scope, const lb_sql_assign *assign, lb_flow_slot *slots,
                              uint32_t n);

lb_status lb_graph_build(lb_analysis *an, const lb_record *record, lb_lineage_graph *out);

/* ---- DDL */

/* Apply what a statement makes or drops to a catalog. `columns`: of the query of a CTAS; may be NULL. */
lb_status lb_ddl_apply(lb_catalog *catalog, const lb_catalog *below, lb_str text, lb_sql_dialect dialect,
                       lb_str default_db, const lb_sql_statement *statement, const lb_columns *columns, lb_error *err);

/* "hive", "kudu" …, from STORED AS, STORED BY or USING. */
lb_str lb_ddl_table_type(const lb_sql_create_table *table);

/* ---- views of a run, parsed once */

typedef struct lb_view_cache lb_view_cache;
lb_status lb_view_cache_get(lb_view_cache *cache, const lb_catalog_table *view, lb_sql_dialect dialect,
                            const lb_sql_query **out, lb_error *err);

#endif
