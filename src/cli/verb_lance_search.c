/* lakebed lance search: the rows whose vectors are nearest; and lance index, which makes that fast. */
#include "cli.h"
#include "json_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEARCH_DIMENSION_MAX 65536

/* Numbers with commas or blanks between, as an array owned by the caller; NULL: told. */
static float *search_query(cli *c, const char *text, size_t *n)
{
    size_t cap = 0;
    float *out = NULL;
    *n = 0;
    for (const char *p = text + strspn(text, ", "); *p != '\0'; p += strspn(p, ", ")) {
        char *end = NULL;
        float x = strtof(p, &end);
        if (end == p || (*end != '\0' && strchr(", ", *end) == NULL) || !isfinite(x) || *n == SEARCH_DIMENSION_MAX) {
            (void)report_usage(c, "--query takes numbers with commas between; this is none: \"%.40s\"", p);
            free(out);
            return NULL;
        }
        if (*n == cap) {
            cap = cap == 0 ? 64 : cap * 2;
            float *grown = realloc(out, cap * sizeof *out);
            if (grown == NULL)
                cli_no_memory();
            out = grown;
        }
        out[(*n)++] = x;
        p = end;
    }
    if (out == NULL)
        (void)report_usage(c, "--query takes the numbers of a vector, with commas between");
    return out;
}

static lb_metric search_metric(const char *word)
{
    static const char *const words[] = { "", "l2", "cosine", "dot" };
    for (size_t i = 1; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return (lb_metric)i;
    return LB_METRIC_DEFAULT;
}

static void search_print(cli *c, const lb_hit *hits, size_t n)
{
    json_out j = { .file = stdout };
    grid *g = args_has(c, OPT_JSON) ? NULL : grid_new(">row|>row id|>distance");
    if (g == NULL) {
        jout_open(&j, '{');
        jout_key(&j, "hits");
        jout_open(&j, '[');
    }
    for (size_t i = 0; i < n; i++) {
        char *distance = cli_format("%.9g", hits[i].distance),
             *id = cli_format("%llu", (unsigned long long)hits[i].row_id);
        if (g != NULL) {
            grid_add(g, number_text(hits[i].row).s);
            grid_add(g, id);
            grid_add(g, distance);
        } else {
            jout_open(&j, '{');
            jput_count(&j, "row", hits[i].row);
            jput_raw(&j, "row_id", id);
            jput_raw(&j, "distance", distance);
            jout_close(&j, '}');
        }
        free(distance);
        free(id);
    }
    if (g != NULL) {
        grid_print(g, "");
        grid_free(g);
        return;
    }
    jout_close(&j, ']');
    jout_close(&j, '}');
    jout_end(&j);
}

int lance_search(cli *c)
{
    const cli_list *words = &c->args.operands;
    lb_error err = LB_ERROR_INIT;
    lb_dataset *d = NULL;
    size_t n = 0;
    if (words->count < 3)
        return report_usage(
            c, "lance search takes a dataset and a column: lakebed lance search PATH COLUMN --query X,X,…");
    lb_search search = { .struct_size = sizeof search,
                         .column = words->items[2],
                         .k = (size_t)args_number(c, OPT_LIMIT, 10),
                         .probes = (unsigned)args_number(c, OPT_PROBES, 0),
                         .refine = (unsigned)args_number(c, OPT_REFINE, 0),
                         .metric = search_metric(args_text(c, OPT_METRIC, "")),
                         .exact = args_has(c, OPT_EXACT) };
    if (search.k == 0 || search.k > 1000000 || args_number(c, OPT_PROBES, 0) > 1000000 ||
        args_number(c, OPT_REFINE, 0) > 1000000)
        return report_usage(c, "a search gives 1 to 1000000 rows");
    float *query = search_query(c, args_text(c, OPT_QUERY, ""), &search.dimension);
    if (query == NULL)
        return EXIT_USAGE;
    search.query = query;
    lb_hit *hits = cli_alloc(search.k, sizeof *hits);
    lb_status status = lb_dataset_open(c->cx, words->items[1], &d, &err);
    if (status == LB_OK)
        status = lb_dataset_search(d, &search, hits, &n, &err);
    int result = status == LB_OK ? EXIT_DONE : report_error(c, &err);
    if (status == LB_OK)
        search_print(c, hits, n);
    lb_dataset_close(d);
    free(query);
    free(hits);
    return result;
}

int lance_index(cli *c)
{
    lb_lance_result r = { .struct_size = sizeof r };
    lb_error err = LB_ERROR_INIT;
    lance_call how = { .metadata = NULL };
    if (c->args.operands.count < 3)
        return report_usage(c, "lance index takes a dataset and a column of vectors: lakebed lance index PATH COLUMN");
    if (args_number(c, OPT_PARTITIONS, 0) > UINT32_MAX || args_number(c, OPT_SUB_VECTORS, 0) > UINT32_MAX)
        return report_usage(c, "an index has not that many partitions or parts");
    lb_lance_index_options index = { .struct_size = sizeof index,
                                     .name = args_text(c, OPT_INDEX_NAME, NULL),
                                     .metric = search_metric(args_text(c, OPT_METRIC, "")),
                                     .partitions = (uint32_t)args_number(c, OPT_PARTITIONS, 0),
                                     .sub_vectors = (uint32_t)args_number(c, OPT_SUB_VECTORS, 0),
                                     .seed = args_number(c, OPT_SEED, 0),
                                     .replace = args_has(c, OPT_FORCE),
                                     .keep_model = args_has(c, OPT_KEEP_MODEL) };
    int result = lance_options(c, &how);
    if (result != EXIT_DONE) {
        lance_options_free(&how);
        return result;
    }
    const char *path = c->args.operands.items[1];
    lb_status status = lb_lance_index(c->cx, path, c->args.operands.items[2], &index, &how.options, &r, &err);
    return lance_end_call(c, &how, status, &err, path, &r, "indexed");
}
