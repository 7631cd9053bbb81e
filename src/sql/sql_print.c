/* Queries and statements as SQL, on one line. */
#include "sql/sql_lex.h"
#include "sql/sql_printer.h"

/* " word x" where x is there. */
static void put_clause(lb_sql_printer *pr, const char *word, const lb_sql_expr *e)
{
    if (e == NULL)
        return;
    lb_sql_put(pr, word);
    lb_sql_put_expr(pr, e);
}

static void put_clause_list(lb_sql_printer *pr, const char *word, const lb_sql_expr *first)
{
    if (first == NULL)
        return;
    lb_sql_put(pr, word);
    lb_sql_put_list(pr, first);
}

static void put_paren_names(lb_sql_printer *pr, const char *before, lb_sql_names names)
{
    lb_sql_put(pr, before);
    lb_sql_put(pr, "(");
    lb_sql_put_names(pr, names);
    lb_sql_put(pr, ")");
}

static void put_words(lb_sql_printer *pr, lb_str words)
{
    if (words.at == NULL)
        return;
    lb_sql_put(pr, " ");
    lb_sql_put_str(pr, words);
}

static void put_alias(lb_sql_printer *pr, const lb_sql_name *alias)
{
    if (!lb_sql_has(alias))
        return;
    lb_sql_put(pr, pr->label ? " " : " AS ");
    lb_sql_put_name(pr, alias);
}

void lb_sql_put_items(lb_sql_printer *pr, const lb_sql_item *first)
{
    for (const lb_sql_item *item = first; item != NULL; item = item->next) {
        lb_sql_put(pr, item == first ? "" : ", ");
        lb_sql_put_expr(pr, item->expr);
        put_alias(pr, &item->alias);
    }
}

static void put_returning(lb_sql_printer *pr, const lb_sql_item *first)
{
    if (first == NULL)
        return;
    lb_sql_put(pr, " RETURNING ");
    lb_sql_put_items(pr, first);
}

/* ---------------------------------------------------------------- FROM */

static const char *const join_words[] = {
    [LB_SQL_JOIN_FIRST] = "",
    [LB_SQL_JOIN_COMMA] = ", ",
    [LB_SQL_JOIN_INNER] = "INNER JOIN ",
    [LB_SQL_JOIN_CROSS] = "CROSS JOIN ",
    [LB_SQL_JOIN_LEFT] = "LEFT OUTER JOIN ",
    [LB_SQL_JOIN_RIGHT] = "RIGHT OUTER JOIN ",
    [LB_SQL_JOIN_FULL] = "FULL OUTER JOIN ",
    [LB_SQL_JOIN_LEFT_SEMI] = "LEFT SEMI JOIN ",
    [LB_SQL_JOIN_RIGHT_SEMI] = "RIGHT SEMI JOIN ",
    [LB_SQL_JOIN_LEFT_ANTI] = "LEFT ANTI JOIN ",
    [LB_SQL_JOIN_RIGHT_ANTI] = "RIGHT ANTI JOIN ",
    [LB_SQL_JOIN_ASOF] = "ASOF JOIN ",
    [LB_SQL_JOIN_ASOF_LEFT] = "ASOF LEFT JOIN ",
    [LB_SQL_JOIN_POSITIONAL] = "POSITIONAL JOIN ",
    [LB_SQL_JOIN_LATERAL_VIEW] = "LATERAL VIEW ",
    [LB_SQL_JOIN_LATERAL_VIEW_OUTER] = "LATERAL VIEW OUTER ",
};

static void put_refs(lb_sql_printer *pr, const lb_sql_ref *first);

static bool ref_is_view(const lb_sql_ref *ref)
{
    return ref->join == LB_SQL_JOIN_LATERAL_VIEW || ref->join == LB_SQL_JOIN_LATERAL_VIEW_OUTER;
}

static void put_relation(lb_sql_printer *pr, const lb_sql_ref *ref)
{
    lb_sql_put(pr, ref->lateral ? "LATERAL " : "");
    lb_sql_put(pr, ref->only ? "ONLY " : "");
    switch ((lb_sql_ref_kind)ref->kind) {
    case LB_SQL_REF_TABLE:
        lb_sql_put_path(pr, ref->path);
        break;
    case LB_SQL_REF_QUERY:
        lb_sql_put(pr, "(");
        lb_sql_put_query(pr, ref->query);
        lb_sql_put(pr, ")");
        break;
    case LB_SQL_REF_CALL:
        lb_sql_put_expr(pr, ref->call);
        lb_sql_put(pr, ref->ordinality ? " WITH ORDINALITY" : "");
        break;
    case LB_SQL_REF_JOINED:
        lb_sql_put(pr, "(");
        put_refs(pr, ref->refs);
        lb_sql_put(pr, ")");
        break;
    }
}

static void put_ref_columns(lb_sql_printer *pr, const lb_sql_ref *ref)
{
    const lb_sql_type *type = ref->column_types;

    if (ref->columns.count == 0)
        return;
    lb_sql_put(pr, lb_sql_has(&ref->alias) ? " (" : " AS (");
    for (uint32_t i = 0; i < ref->columns.count; i++) {
        lb_sql_put(pr, i == 0 ? "" : ", ");
        lb_sql_put_name(pr, &ref->columns.at[i]);
        if (type != NULL) {
            lb_sql_put(pr, " ");
            lb_sql_put_type(pr, type);
            type = type->next;
        }
    }
    lb_sql_put(pr, ")");
}

static void put_view_alias(lb_sql_printer *pr, const lb_sql_ref *ref)
{
    if (lb_sql_has(&ref->alias)) {
        lb_sql_put(pr, " ");
        lb_sql_put_name(pr, &ref->alias);
    }
    if (ref->columns.count != 0) {
        lb_sql_put(pr, " AS ");
        lb_sql_put_names(pr, ref->columns);
    }
}

static void put_sample(lb_sql_printer *pr, const lb_sql_ref *ref)
{
    if (ref->sample.at == NULL)
        return;
    lb_sql_put(pr, " TABLESAMPLE ");
    lb_sql_put_str(pr, ref->sample);
    lb_sql_put(pr, "(");
    lb_sql_put_expr(pr, ref->sample_size);
    if (ref->sample_unit.at != NULL) {
        lb_sql_put(pr, " ");
        lb_sql_put_str(pr, ref->sample_unit);
    }
    lb_sql_put(pr, ")");
    if (ref->sample_seed != NULL) {
        lb_sql_put(pr, " REPEATABLE (");
        lb_sql_put_expr(pr, ref->sample_seed);
        lb_sql_put(pr, ")");
    }
}

static void put_pivot(lb_sql_printer *pr, const lb_sql_pivot *pivot)
{
    lb_sql_put(pr, pivot->unpivot ? " UNPIVOT " : " PIVOT ");
    lb_sql_put(pr, pivot->include_nulls ? "INCLUDE NULLS (" : "(");
    lb_sql_put_items(pr, pivot->values);
    lb_sql_put(pr, " FOR ");
    if (pivot->columns.count == 1)
        lb_sql_put_names(pr, pivot->columns);
    else
        put_paren_names(pr, "", pivot->columns);
    lb_sql_put(pr, " IN (");
    lb_sql_put_items(pr, pivot->in);
    lb_sql_put(pr, "))");
    put_alias(pr, &pivot->alias);
}

static void put_ref(lb_sql_printer *pr, const lb_sql_ref *ref)
{
    put_relation(pr, ref);
    if (ref_is_view(ref)) {
        put_view_alias(pr, ref);
        return;
    }
    if (ref->version != NULL) {
        lb_sql_put(pr, " FOR ");
        lb_sql_put_str(pr, ref->version_of);
        lb_sql_put(pr, " AS OF ");
        lb_sql_put_expr(pr, ref->version);
    }
    put_alias(pr, &ref->alias);
    put_ref_columns(pr, ref);
    put_sample(pr, ref);
    if (ref->pivot != NULL)
        put_pivot(pr, ref->pivot);
    put_clause(pr, " ON ", ref->on);
    if (ref->using.count != 0)
        put_paren_names(pr, " USING ", ref->using);
}

static void put_refs(lb_sql_printer *pr, const lb_sql_ref *first)
{
    for (const lb_sql_ref *ref = first; ref != NULL; ref = ref->next) {
        lb_sql_put(pr, ref->join != LB_SQL_JOIN_FIRST && ref->join != LB_SQL_JOIN_COMMA ? " " : "");
        lb_sql_put(pr, ref->natural ? "NATURAL " : "");
        lb_sql_put(pr, join_words[ref->join]);
        put_ref(pr, ref);
    }
}

/* ---------------------------------------------------------------- SELECT */

static void put_group(lb_sql_printer *pr, const lb_sql_group *group)
{
    static const char *const heads[] = { "", "(", "ROLLUP (", "CUBE (", "GROUPING SETS (" };

    if (group->kind == LB_SQL_GROUP_EXPR) {
        lb_sql_put_expr(pr, group->expr);
        return;
    }
    lb_sql_put(pr, heads[group->kind]);
    for (const lb_sql_group *g = group->first; g != NULL; g = g->next) {
        lb_sql_put(pr, g == group->first ? "" : ", ");
        put_group(pr, g);
    }
    lb_sql_put(pr, ")");
}

static void put_group_by(lb_sql_printer *pr, const lb_sql_block *b)
{
    static const char *const behind[] = { "", " ALL", " WITH ROLLUP", " WITH CUBE" };

    if (b->group == NULL && b->group_by == LB_SQL_BY_PLAIN)
        return;
    lb_sql_put(pr, " GROUP BY");
    for (const lb_sql_group *g = b->group; g != NULL; g = g->next) {
        lb_sql_put(pr, g == b->group ? " " : ", ");
        put_group(pr, g);
    }
    lb_sql_put(pr, behind[b->group_by]);
}

static void put_windows(lb_sql_printer *pr, const lb_sql_window *first)
{
    for (const lb_sql_window *w = first; w != NULL; w = w->next) {
        lb_sql_put(pr, w == first ? " WINDOW " : ", ");
        lb_sql_put_name(pr, &w->name);
        lb_sql_put(pr, " AS ");
        lb_sql_put_window(pr, w);
    }
}

static void put_direction(lb_sql_printer *pr, char direction)
{
    lb_sql_put(pr, direction == 'a' ? " ASC" : direction == 'd' ? " DESC" : "");
}

static void put_tail(lb_sql_printer *pr, const lb_sql_tail *tail)
{
    if (tail->order_all) {
        lb_sql_put(pr, " ORDER BY ALL");
        put_direction(pr, tail->all_direction);
    } else if (tail->order != NULL) {
        lb_sql_put(pr, " ORDER BY ");
        lb_sql_put_order(pr, tail->order);
    }
    lb_sql_put(pr, tail->limit_all ? " LIMIT ALL" : "");
    if (!tail->fetch) {
        put_clause(pr, " LIMIT ", tail->limit);
        lb_sql_put(pr, tail->percent ? " PERCENT" : "");
    }
    put_clause(pr, " OFFSET ", tail->offset);
    if (tail->fetch) {
        lb_sql_put(pr, tail->offset == NULL ? "" : " ROWS");
        lb_sql_put(pr, " FETCH FIRST");
        put_clause(pr, " ", tail->limit);
        lb_sql_put(pr, tail->percent ? " PERCENT" : "");
        lb_sql_put(pr, tail->with_ties ? " ROWS WITH TIES" : " ROWS ONLY");
    }
}

static void put_select_head(lb_sql_printer *pr, const lb_sql_block *b)
{
    lb_sql_put(pr, "SELECT ");
    lb_sql_put(pr, b->distinct ? "DISTINCT " : b->select_all ? "ALL " : "");
    if (b->distinct_on != NULL) {
        lb_sql_put(pr, "ON (");
        lb_sql_put_list(pr, b->distinct_on);
        lb_sql_put(pr, ") ");
    }
    lb_sql_put(pr, b->straight_join ? "STRAIGHT_JOIN " : "");
    lb_sql_put_items(pr, b->items);
    if (b->into.count != 0) {
        lb_sql_put(pr, " INTO ");
        lb_sql_put_path(pr, b->into);
    }
}

static void put_from(lb_sql_printer *pr, const char *word, const lb_sql_ref *from)
{
    if (from == NULL)
        return;
    lb_sql_put(pr, word);
    put_refs(pr, from);
}

static void put_select(lb_sql_printer *pr, const lb_sql_block *b)
{
    if (b->from_first) {
        put_from(pr, "FROM ", b->from);
        if (b->items->expr->begin != b->items->expr->end) {
            lb_sql_put(pr, " ");
            put_select_head(pr, b);
        }
    } else {
        put_select_head(pr, b);
        put_from(pr, " FROM ", b->from);
    }
    put_clause(pr, " WHERE ", b->where);
    put_group_by(pr, b);
    put_clause(pr, " HAVING ", b->having);
    put_windows(pr, b->windows);
    put_clause(pr, " QUALIFY ", b->qualify);
    put_clause_list(pr, " CLUSTER BY ", b->cluster_by);
    put_clause_list(pr, " DISTRIBUTE BY ", b->distribute_by);
    if (b->sort_by != NULL) {
        lb_sql_put(pr, " SORT BY ");
        lb_sql_put_order(pr, b->sort_by);
    }
}

static void put_block(lb_sql_printer *pr, const lb_sql_block *b)
{
    switch ((lb_sql_block_kind)b->kind) {
    case LB_SQL_BLOCK_SELECT:
        put_select(pr, b);
        break;
    case LB_SQL_BLOCK_VALUES:
        lb_sql_put(pr, "VALUES ");
        lb_sql_put_list(pr, b->rows);
        break;
    case LB_SQL_BLOCK_TABLE:
        put_from(pr, "TABLE ", b->from);
        break;
    case LB_SQL_BLOCK_NESTED:
        lb_sql_put(pr, b->implied ? "" : "(");
        lb_sql_put_query(pr, b->nested);
        lb_sql_put(pr, b->implied ? "" : ")");
        break;
    }
    put_tail(pr, &b->tail);
}

static void put_with(lb_sql_printer *pr, const lb_sql_with *with)
{
    if (with == NULL)
        return;
    lb_sql_put(pr, with->recursive ? "WITH RECURSIVE " : "WITH ");
    for (const lb_sql_cte *cte = with->first; cte != NULL; cte = cte->next) {
        lb_sql_put_name(pr, &cte->name);
        if (cte->columns.count != 0)
            put_paren_names(pr, " ", cte->columns);
        lb_sql_put(pr, " AS ");
        lb_sql_put(pr, cte->materialized == 'm'   ? "MATERIALIZED "
                       : cte->materialized == 'n' ? "NOT MATERIALIZED "
                                                  : "");
        lb_sql_put(pr, "(");
        if (cte->query != NULL)
            lb_sql_put_query(pr, cte->query);
        else
            lb_sql_put_statement(pr, cte->statement);
        lb_sql_put(pr, cte->next == NULL ? ") " : "), ");
    }
}

void lb_sql_put_query(lb_sql_printer *pr, const lb_sql_query *q)
{
    static const char *const sets[] = { "", " UNION", " EXCEPT", " INTERSECT" };

    put_with(pr, q->with);
    for (const lb_sql_block *b = q->first; b != NULL && pr->status == LB_OK; b = b->next) {
        lb_sql_put(pr, b->minus ? " MINUS" : sets[b->set]);
        lb_sql_put(pr, b->all ? " ALL" : b->distinct_word ? " DISTINCT" : "");
        lb_sql_put(pr, b->by_name ? " BY NAME" : "");
        lb_sql_put(pr, b->set == LB_SQL_SET_FIRST ? "" : " ");
        put_block(pr, b);
    }
    put_tail(pr, &q->tail);
}

/* ---------------------------------------------------------------- INSERT, UPDATE, DELETE, MERGE */

static void put_assigns(lb_sql_printer *pr, const lb_sql_assign *first)
{
    bool open = false;

    for (const lb_sql_assign *a = first; a != NULL; a = a->next) {
        lb_sql_put(pr, a == first ? "" : ", ");
        if (!open && (a->value == NULL || a->group != 0)) {
            lb_sql_put(pr, "(");
            open = true;
        }
        lb_sql_put_path(pr, a->column);
        if (a->value == NULL)
            continue;
        lb_sql_put(pr, open ? ") = " : " = ");
        open = false;
        lb_sql_put_expr(pr, a->value);
    }
}

static void put_partition(lb_sql_printer *pr, const lb_sql_insert *in)
{
    if (!in->has_partition)
        return;
    lb_sql_put(pr, " PARTITION (");
    for (const lb_sql_partition *part = in->partition; part != NULL; part = part->next) {
        lb_sql_put_name(pr, &part->column);
        put_clause(pr, " = ", part->value);
        lb_sql_put(pr, part->next == NULL ? "" : ", ");
    }
    lb_sql_put(pr, in->if_not_exists ? ") IF NOT EXISTS" : ")");
}

static void put_conflict(lb_sql_printer *pr, const lb_sql_insert *in)
{
    if (!in->on_conflict)
        return;
    lb_sql_put(pr, " ON CONFLICT");
    if (in->conflict.count != 0)
        put_paren_names(pr, " ", in->conflict);
    lb_sql_put(pr, in->update == NULL ? " DO NOTHING" : " DO UPDATE SET ");
    put_assigns(pr, in->update);
    put_clause(pr, " WHERE ", in->update_where);
}

static void put_insert(lb_sql_printer *pr, const lb_sql_insert *in)
{
    static const char *const heads[] = { "INSERT INTO ", "INSERT OVERWRITE ", "UPSERT INTO ", "REPLACE INTO " };

    put_with(pr, in->with);
    lb_sql_put(pr, heads[in->mode]);
    put_clause(pr, in->local ? "LOCAL DIRECTORY " : "DIRECTORY ", in->directory);
    put_words(pr, in->directory_rest);
    lb_sql_put(pr, in->table_word ? "TABLE " : "");
    lb_sql_put_path(pr, in->table);
    put_alias(pr, &in->alias);
    if (in->has_columns)
        put_paren_names(pr, " ", in->columns);
    put_partition(pr, in);
    lb_sql_put(pr, in->by_name ? " BY NAME" : "");
    lb_sql_put(pr, in->default_values ? " DEFAULT VALUES" : "");
    if (in->query != NULL) {
        lb_sql_put(pr, " ");
        lb_sql_put_query(pr, in->query);
    }
    put_conflict(pr, in);
    put_returning(pr, in->returning);
}

static void put_update(lb_sql_printer *pr, const lb_sql_update *up)
{
    put_with(pr, up->with);
    lb_sql_put(pr, "UPDATE ");
    lb_sql_put_path(pr, up->table);
    put_alias(pr, &up->alias);
    lb_sql_put(pr, " SET ");
    put_assigns(pr, up->sets);
    put_from(pr, " FROM ", up->from);
    put_clause(pr, " WHERE ", up->where);
    put_returning(pr, up->returning);
}

static void put_delete(lb_sql_printer *pr, const lb_sql_update *del)
{
    bool list = del->from != NULL && !del->using;

    put_with(pr, del->with);
    lb_sql_put(pr, list ? "DELETE " : "DELETE FROM ");
    lb_sql_put_path(pr, del->table);
    put_alias(pr, &del->alias);
    put_from(pr, list ? " FROM " : " USING ", del->from);
    put_clause(pr, " WHERE ", del->where);
    put_returning(pr, del->returning);
}

static void put_when_insert(lb_sql_printer *pr, const lb_sql_when *when)
{
    lb_sql_put(pr, "INSERT");
    lb_sql_put(pr, when->star ? " *" : "");
    if (when->has_columns)
        put_paren_names(pr, " ", when->columns);
    lb_sql_put(pr, when->default_values ? " DEFAULT VALUES" : "");
    if (when->values != NULL) {
        lb_sql_put(pr, " VALUES (");
        lb_sql_put_list(pr, when->values);
        lb_sql_put(pr, ")");
    }
}

static void put_when(lb_sql_printer *pr, const lb_sql_when *when)
{
    static const char *const heads[] = { " WHEN MATCHED", " WHEN NOT MATCHED", " WHEN NOT MATCHED BY SOURCE" };

    lb_sql_put(pr, heads[when->match]);
    lb_sql_put(pr, when->by_target ? " BY TARGET" : "");
    put_clause(pr, " AND ", when->condition);
    lb_sql_put(pr, " THEN ");
    switch (when->action) {
    case LB_SQL_DO_UPDATE:
        lb_sql_put(pr, when->star ? "UPDATE SET *" : "UPDATE SET ");
        put_assigns(pr, when->sets);
        break;
    case LB_SQL_DO_DELETE:
        lb_sql_put(pr, "DELETE");
        break;
    case LB_SQL_DO_INSERT:
        put_when_insert(pr, when);
        break;
    case LB_SQL_DO_NOTHING:
        lb_sql_put(pr, "DO NOTHING");
        break;
    }
}

static void put_merge(lb_sql_printer *pr, const lb_sql_merge *merge)
{
    put_with(pr, merge->with);
    lb_sql_put(pr, "MERGE INTO ");
    lb_sql_put_path(pr, merge->table);
    put_alias(pr, &merge->alias);
    put_from(pr, " USING ", merge->source);
    put_clause(pr, " ON ", merge->on);
    for (const lb_sql_when *when = merge->whens; when != NULL; when = when->next)
        put_when(pr, when);
    put_returning(pr, merge->returning);
}

/* ---------------------------------------------------------------- CREATE */

static void put_comment(lb_sql_printer *pr, lb_str comment)
{
    if (comment.at == NULL)
        return;
    lb_sql_put(pr, " COMMENT ");
    lb_sql_put_quoted(pr, comment);
}

static void put_properties(lb_sql_printer *pr, const char *word, const lb_sql_property *first)
{
    if (first == NULL)
        return;
    lb_sql_put(pr, word);
    for (const lb_sql_property *property = first; property != NULL; property = property->next) {
        lb_sql_put_quoted(pr, property->key);
        if (property->value.at != NULL) {
            lb_sql_put(pr, " = ");
            lb_sql_put_quoted(pr, property->value);
        }
        lb_sql_put(pr, property->next == NULL ? ")" : ", ");
    }
}

static void put_column_def(lb_sql_printer *pr, const lb_sql_column_def *def)
{
    lb_sql_put_name(pr, &def->name);
    if (def->type != NULL) {
        lb_sql_put(pr, " ");
        lb_sql_put_type(pr, def->type);
    } else {
        put_comment(pr, def->comment); /* what comes first behind the name would be read as its type */
    }
    lb_sql_put(pr, def->primary_key ? " PRIMARY KEY" : "");
    lb_sql_put(pr, def->not_null ? " NOT NULL" : "");
    lb_sql_put(pr, def->null_word ? " NULL" : "");
    lb_sql_put(pr, def->unique ? " UNIQUE" : "");
    put_words(pr, def->rest);
    put_clause(pr, " DEFAULT ", def->fallback);
    if (def->generated != NULL) {
        lb_sql_put(pr, " GENERATED ALWAYS AS (");
        lb_sql_put_expr(pr, def->generated);
        lb_sql_put(pr, ")");
    }
    if (def->type != NULL)
        put_comment(pr, def->comment);
}

static void put_column_defs(lb_sql_printer *pr, const lb_sql_column_def *first)
{
    for (const lb_sql_column_def *def = first; def != NULL; def = def->next) {
        lb_sql_put(pr, def == first ? "" : ", ");
        put_column_def(pr, def);
    }
}

static void put_primary_key(lb_sql_printer *pr, const lb_sql_create_table *table)
{
    if (table->primary_key.count == 0)
        return;
    put_paren_names(pr, table->key_not_unique ? "NON UNIQUE PRIMARY KEY " : "PRIMARY KEY ", table->primary_key);
    put_words(pr, table->key_rest);
}

static void put_table_columns(lb_sql_printer *pr, const lb_sql_create_table *table)
{
    bool first = table->columns == NULL;

    if (!table->has_columns)
        return;
    lb_sql_put(pr, " (");
    put_column_defs(pr, table->columns);
    if (table->primary_key.count != 0) {
        lb_sql_put(pr, first ? "" : ", ");
        put_primary_key(pr, table);
        first = false;
    }
    for (const lb_sql_property *c = table->constraints; c != NULL; c = c->next) {
        lb_sql_put(pr, first ? "" : ", ");
        lb_sql_put_str(pr, c->value);
        first = false;
    }
    lb_sql_put(pr, ")");
}

static void put_partitioning(lb_sql_printer *pr, const lb_sql_create_table *table)
{
    if (table->partition_spec != NULL) {
        lb_sql_put(pr, table->spec_word ? " PARTITIONED BY SPEC (" : " PARTITIONED BY (");
        lb_sql_put_list(pr, table->partition_spec);
        lb_sql_put(pr, ")");
    }
    if (table->partitioned_by != NULL) {
        lb_sql_put(pr, " PARTITIONED BY (");
        put_column_defs(pr, table->partitioned_by);
        lb_sql_put(pr, ")");
    }
    put_words(pr, table->partition_rest);
    if (table->sort_by.count != 0 || table->sort_order.at != NULL) {
        lb_sql_put(pr, " SORT BY");
        put_words(pr, table->sort_order);
        put_paren_names(pr, " ", table->sort_by);
    }
}

static void put_storage(lb_sql_printer *pr, const lb_sql_create_table *table)
{
    put_comment(pr, table->comment);
    put_properties(pr, " WITH SERDEPROPERTIES (", table->serde_properties);
    if (table->stored != 0) {
        lb_sql_put(pr, table->stored == 'a' ? " STORED AS " : table->stored == 'b' ? " STORED BY " : " USING ");
        if (table->stored_string)
            lb_sql_put_quoted(pr, table->stored_as);
        else
            lb_sql_put_str(pr, table->stored_as);
    }
    put_clause(pr, " LOCATION ", table->location);
    put_properties(pr, " TBLPROPERTIES (", table->properties);
}

static void put_create_head(lb_sql_printer *pr, bool or_replace, bool external, bool temporary)
{
    lb_sql_put(pr, or_replace ? "CREATE OR REPLACE " : "CREATE ");
    lb_sql_put(pr, external ? "EXTERNAL " : "");
    lb_sql_put(pr, temporary ? "TEMPORARY " : "");
}

static void put_create_table(lb_sql_printer *pr, const lb_sql_create_table *table)
{
    put_create_head(pr, table->or_replace, table->external, table->temporary);
    lb_sql_put(pr, table->if_not_exists ? "TABLE IF NOT EXISTS " : "TABLE ");
    lb_sql_put_path(pr, table->table);
    put_table_columns(pr, table);
    if (table->like_file != NULL) {
        lb_sql_put(pr, " LIKE ");
        lb_sql_put_str(pr, table->like_format);
        put_clause(pr, " ", table->like_file);
    } else if (table->like.count != 0) {
        lb_sql_put(pr, " LIKE ");
        lb_sql_put_path(pr, table->like);
    }
    if (!table->has_columns && table->primary_key.count != 0) {
        lb_sql_put(pr, " ");
        put_primary_key(pr, table);
    }
    put_words(pr, table->rest); /* ends where the next clause that is read begins */
    put_partitioning(pr, table);
    put_storage(pr, table);
    if (table->query != NULL) {
        lb_sql_put(pr, " AS ");
        lb_sql_put_query(pr, table->query);
        put_words(pr, table->query_rest);
    }
}

static void put_view(lb_sql_printer *pr, const lb_sql_create_view *view, bool alter)
{
    if (alter) {
        lb_sql_put(pr, "ALTER VIEW ");
    } else {
        put_create_head(pr, view->or_replace, false, view->temporary);
        lb_sql_put(pr, view->materialized ? "MATERIALIZED " : "");
        lb_sql_put(pr, view->if_not_exists ? "VIEW IF NOT EXISTS " : "VIEW ");
    }
    lb_sql_put_path(pr, view->view);
    if (view->has_columns) {
        lb_sql_put(pr, " (");
        put_column_defs(pr, view->columns);
        lb_sql_put(pr, ")");
    }
    put_comment(pr, view->comment);
    put_properties(pr, " TBLPROPERTIES (", view->properties);
    lb_sql_put(pr, " AS ");
    lb_sql_put_query(pr, view->query);
}

/* ---------------------------------------------------------------- statements */

/* What was not read: its tokens, with one blank between them. */
static void put_unread(lb_sql_printer *pr, const lb_sql_statement *s)
{
    lb_sql_lexer lexer;
    lb_str text = lb_sql_text(pr->text, s->begin, s->end);

    lb_sql_lexer_init(&lexer, text, pr->ansi ? LB_SQL_ANSI : LB_SQL_IMPALA);
    for (lb_token tok = lb_sql_lex(&lexer); tok.kind != LB_TOK_END; tok = lb_sql_lex(&lexer)) {
        lb_sql_put_str(pr, lb_sql_text(text, tok.begin, tok.end));
        if (tok.end < text.size)
            lb_sql_put(pr, " ");
    }
}

void lb_sql_put_statement(lb_sql_printer *pr, const lb_sql_statement *s)
{
    switch (s->kind) {
    case LB_SQL_BAD:
        if (pr->status == LB_OK)
            pr->status =
                lb_fail(pr->err, LB_USAGE, LB_AT(s->begin), "a statement that did not parse cannot be printed");
        break;
    case LB_SQL_SELECT:
        lb_sql_put_query(pr, s->query);
        break;
    case LB_SQL_INSERT:
        put_insert(pr, s->insert);
        break;
    case LB_SQL_UPDATE:
        put_update(pr, s->update);
        break;
    case LB_SQL_DELETE:
        put_delete(pr, s->update);
        break;
    case LB_SQL_MERGE:
        put_merge(pr, s->merge);
        break;
    case LB_SQL_CREATE_TABLE:
        put_create_table(pr, s->table);
        break;
    case LB_SQL_CREATE_VIEW:
    case LB_SQL_ALTER_VIEW:
        put_view(pr, s->view, s->kind == LB_SQL_ALTER_VIEW);
        break;
    case LB_SQL_EXPLAIN:
        lb_sql_put(pr, "EXPLAIN ");
        lb_sql_put_statement(pr, s->explained);
        break;
    case LB_SQL_USE:
        lb_sql_put(pr, "USE ");
        lb_sql_put_path(pr, s->path);
        break;
    case LB_SQL_DROP:
    case LB_SQL_CREATE_DATABASE:
    case LB_SQL_OTHER:
        put_unread(pr, s);
        break;
    }
}

/* ---------------------------------------------------------------- the calls */

static lb_sql_printer printer_of(lb_str text, lb_sql_dialect dialect, lb_buf *out, lb_error *err)
{
    return (lb_sql_printer){ .text = text, .ansi = dialect == LB_SQL_ANSI, .out = out, .err = err };
}

lb_status lb_sql_print(lb_str text, lb_sql_dialect dialect, const lb_sql_statement *statement, lb_buf *out,
                       lb_error *err)
{
    lb_sql_printer pr = printer_of(text, dialect, out, err);

    lb_sql_put_statement(&pr, statement);
    return pr.status;
}

lb_status lb_sql_print_query(lb_str text, lb_sql_dialect dialect, const lb_sql_query *query, lb_buf *out, lb_error *err)
{
    lb_sql_printer pr = printer_of(text, dialect, out, err);

    lb_sql_put_query(&pr, query);
    return pr.status;
}

lb_status lb_sql_print_expr(lb_str text, lb_sql_dialect dialect, const lb_sql_expr *expr, lb_buf *out, lb_error *err)
{
    lb_sql_printer pr = printer_of(text, dialect, out, err);

    lb_sql_put_expr(&pr, expr);
    return pr.status;
}

lb_status lb_sql_print_type(lb_str text, const lb_sql_type *type, lb_buf *out, lb_error *err)
{
    lb_sql_printer pr = printer_of(text, LB_SQL_IMPALA, out, err);

    lb_sql_put_type(&pr, type);
    return pr.status;
}
