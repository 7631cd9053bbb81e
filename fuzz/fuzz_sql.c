/* SQL: whatever parses must print as text that parses to the same tree, in both dialects; a problem must point into the
 * text and be printable; labels must be made of anything. */
#include <stdlib.h>

#include "base/utf8.h"
#include "sql/sql_print.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define MEMORY ((uint64_t)256 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_problems(const lb_sql_script *script)
{
    lb_buf shown;
    uint32_t before = 0;

    for (const lb_sql_problem *p = script->problems; p != NULL; p = p->next) {
        lb_buf_init(&shown, NULL);
        REQUIRE(p->begin <= p->end && p->end <= script->text.size && p->line >= 1 && p->column >= 1);
        REQUIRE(p->line >= before && p->statement != NULL && p->statement->kind == LB_SQL_BAD);
        before = p->line;
        REQUIRE(lb_sql_problem_print(script->text, p, &shown, NULL) == LB_OK && shown.size > 0);
        lb_buf_free(&shown);
    }
}

static void check_labels(const lb_sql_script *script, const lb_sql_query *query)
{
    lb_buf label;

    for (const lb_sql_item *item = query->first->items; item != NULL; item = item->next) {
        lb_buf_init(&label, NULL);
        REQUIRE(lb_sql_label(script->text, script->dialect, item->expr, &label, NULL) == LB_OK);
        lb_buf_free(&label);
    }
}

static void check_round(const lb_sql_script *script, const lb_sql_statement *statement)
{
    lb_sql_script again;
    lb_arena arena;
    lb_buf printed;

    lb_arena_init(&arena, NULL);
    lb_buf_init(&printed, NULL);
    REQUIRE(lb_sql_print(script->text, script->dialect, statement, &printed, NULL) == LB_OK);
    const lb_str text = { (const char *)printed.data, printed.size };
    REQUIRE(lb_sql_parse(NULL, text, script->dialect, &arena, &again, NULL) == LB_OK);
    REQUIRE(again.count == 1 && again.problem_count == 0);
    REQUIRE(lb_sql_same(script->text, statement, text, again.first));
    lb_buf_free(&printed);
    lb_arena_free(&arena);
}

static void check_script(lb_str text, lb_sql_dialect dialect)
{
    lb_budget budget = { .limit = MEMORY };
    lb_sql_script script;
    lb_arena arena;
    uint32_t at = 0, count = 0, bad = 0;

    lb_arena_init(&arena, &budget);
    REQUIRE(lb_sql_parse(NULL, text, dialect, &arena, &script, NULL) == LB_OK);
    for (const lb_sql_statement *s = script.first; s != NULL; s = s->next) {
        REQUIRE(s->begin >= at && s->begin <= s->end && s->end <= text.size);
        at = s->end;
        count++;
        bad += s->kind == LB_SQL_BAD;
        if (s->kind != LB_SQL_BAD)
            check_round(&script, s);
        if (s->kind == LB_SQL_SELECT)
            check_labels(&script, s->query);
    }
    REQUIRE(count == script.count && bad == script.problem_count);
    check_problems(&script);
    lb_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const lb_str text = { (const char *)data, size };

    check_script(text, LB_SQL_IMPALA);
    check_script(text, LB_SQL_ANSI);
    return 0;
}
