#include "lake/lake_stats.h"

#include <stdlib.h>

#include "wire/json_tree.h"

static const char *const stats_words[] = { "all", "none", "block" };

static int stats_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sort a list of `n` names in place and drop repeated ones; it has room for the closing NULL. */
static void stats_settle(const char **list, size_t n)
{
    size_t unique = 0;

    qsort(list, n, sizeof *list, stats_order);
    for (size_t i = 0; i < n; i++)
        if (unique == 0 || strcmp(list[unique - 1], list[i]) != 0)
            list[unique++] = list[i];
    list[unique] = NULL;
}

static bool stats_word(lb_str text, lb_lake_stats *out)
{
    for (unsigned i = 0; i < LB_COUNT_OF(stats_words); i++)
        if (lb_str_is(text, stats_words[i])) {
            *out = (lb_lake_stats){ .policy = (lb_stats_policy)i };
            return true;
        }
    return false;
}

lb_status lb_lake_stats_of_text(const char *text, lb_arena *arena, lb_lake_stats *out, lb_error *err)
{
    size_t cap = 2, n = 0;

    if (text == NULL)
        text = stats_words[LB_STATS_ALL];
    if (stats_word(lb_str_of(text), out))
        return LB_OK;
    if (text[0] == '\0')
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "--stats takes all, none, block or column names, not nothing");
    for (const char *p = text; *p != '\0'; p++)
        cap += *p == ',';
    const char **list = lb_arena_alloc(arena, cap, sizeof *list);
    if (list == NULL)
        return lb_arena_fail(arena, err);
    while (*text != '\0') {
        const char *comma = strchr(text, ',');
        size_t size = comma == NULL ? strlen(text) : (size_t)(comma - text);
        list[n] = lb_arena_copy(arena, (lb_str){ text, size });
        if (list[n] == NULL)
            return lb_arena_fail(arena, err);
        n += size != 0;
        text += size + (comma != NULL);
    }
    stats_settle(list, n);
    *out = (lb_lake_stats){ LB_STATS_NAMED, list };
    return LB_OK;
}

lb_status lb_lake_stats_of_map(lb_str text, lb_arena *arena, lb_lake_stats *out, lb_error *err)
{
    if (text.size == 0 || stats_word(text, out)) {
        if (text.size == 0)
            *out = (lb_lake_stats){ .policy = LB_STATS_ALL };
        return LB_OK;
    }
    json_t *array = lb_json_load(text.at, text.size, 0, NULL);
    size_t n = json_array_size(array), used = 0;
    const char **list = json_is_array(array) ? lb_arena_alloc(arena, n + 1, sizeof *list) : NULL;
    lb_status status =
        list != NULL ? LB_OK
                     : lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the map's statistics policy is neither a word nor names");
    for (size_t i = 0; status == LB_OK && i < n; i++) {
        const char *name = json_string_value(json_array_get(array, i));
        if (name == NULL)
            continue;
        list[used] = lb_arena_copy(arena, lb_str_of(name));
        if (list[used++] == NULL)
            status = lb_arena_fail(arena, err);
    }
    json_decref(array);
    LB_TRY(status);
    stats_settle(list, used);
    *out = (lb_lake_stats){ used == 0 ? LB_STATS_OFF : LB_STATS_NAMED, list };
    return LB_OK;
}

lb_status lb_lake_stats_text(const lb_lake_stats *stats, lb_buf *out, lb_error *err)
{
    if (stats->policy != LB_STATS_NAMED)
        return lb_buf_append_str(out, stats_words[stats->policy], err);
    json_t *array = json_array();
    bool whole = array != NULL;
    for (size_t i = 0; whole && stats->columns[i] != NULL; i++)
        whole = json_array_append_new(array, json_string(stats->columns[i])) == 0;
    char *text = whole ? lb_json_dump(array, JSON_COMPACT) : NULL;
    json_decref(array);
    lb_status status = text == NULL ? lb_fail_nomem(err) : lb_buf_append_str(out, text, err);
    free(text);
    return status;
}
