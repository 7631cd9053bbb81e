/* How fast SQL is parsed: a long INSERT … VALUES, a long AND, and a query as people write it. After `make`:
 *
 *   cc -D_GNU_SOURCE -O2 -Iinclude -Isrc bench/bench_sql.c build/liblakebed.a -ljansson -lxxhash -lm -o build/bench_sql
 *   build/bench_sql     one line a text: its name, bytes, MB/s of the median run (user time), and MB/s of the lexer alone */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "sql/sql_lex.h"
#include "sql/sql_parse.h"

#define RUNS 11

static double user_seconds(void)
{
    struct rusage use;
    (void)getrusage(RUSAGE_SELF, &use);
    return (double)use.ru_utime.tv_sec + (double)use.ru_utime.tv_usec / 1e6;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* `part` over and over, up to about `size` bytes. */
static lb_str make_text(const char *head, const char *part, size_t size)
{
    size_t a = strlen(head), b = strlen(part), count = size / b;
    char *out = malloc(a + b * count + 1);

    if (out == NULL)
        exit(1);
    memcpy(out, head, a);
    for (size_t i = 0; i < count; i++)
        memcpy(out + a + i * b, part, b);
    return (lb_str){ out, a + b * count };
}

static double run_lexer(lb_str text)
{
    lb_sql_lexer lexer;
    double begin = user_seconds();

    lb_sql_lexer_init(&lexer, text, LB_SQL_IMPALA);
    while (lb_sql_lex(&lexer).kind != LB_TOK_END)
        ;
    return user_seconds() - begin;
}

static double run_parser(lb_str text)
{
    lb_sql_script script;
    lb_arena arena;
    double begin = user_seconds();

    lb_arena_init(&arena, NULL);
    if (lb_sql_parse(NULL, text, LB_SQL_IMPALA, &arena, &script, NULL) != LB_OK || script.problem_count != 0)
        exit(1);
    lb_arena_free(&arena);
    return user_seconds() - begin;
}

static double median_speed(double (*run)(lb_str text), lb_str text)
{
    double seconds[RUNS];

    for (int i = 0; i < RUNS; i++)
        seconds[i] = run(text);
    qsort(seconds, RUNS, sizeof seconds[0], compare_doubles);
    return (double)text.size / 1e6 / (seconds[RUNS / 2] > 0 ? seconds[RUNS / 2] : 1e-9);
}

int main(void)
{
    static const struct {
        const char *name, *head, *part;
    } texts[] = {
        { "values", "insert into t values (0)", ",\n(1, 'some text', 2.5, null, cast('2020-01-01' as timestamp))" },
        { "conjuncts", "select * from t where a", " and column_one = 5" },
        { "queries", "",
          "with v as (select a.id, sum(b.amount) over (partition by a.region order by a.day desc) as running\n"
          "  from sales.orders a left join sales.items b on (a.id = b.order_id and b.kind in ('x', 'y', 'z'))\n"
          "  where a.year = 2010 and b.price * (1 - b.discount) > 10.5 and a.name like '%abc%')\n"
          "select upper(v.name), case when running > 5 then 'many' else 'few' end from v\n"
          "group by 1, 2 having count(*) > 10 order by 2 limit 10;\n" },
    };
    for (size_t i = 0; i < LB_COUNT_OF(texts); i++) {
        lb_str text = make_text(texts[i].head, texts[i].part, (size_t)5 << 20);
        printf("%-10s %8zu bytes  parse %6.1f MB/s  lex %6.1f MB/s\n", texts[i].name, text.size,
               median_speed(run_parser, text), median_speed(run_lexer, text));
        free((char *)text.at);
    }
    return 0;
}
