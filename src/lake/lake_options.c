#include "lake/lake_options.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/path.h"
#include "wire/json_tree.h"

/* ---------------------------------------------------------------- making */

static lb_status options_copy_list(lb_arena *arena, const char *const *from, const char *const **out, lb_error *err)
{
    size_t n = 0;

    while (from != NULL && from[n] != NULL)
        n++;
    const char **list = lb_arena_alloc(arena, n + 1, sizeof *list);
    if (list == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        list[i] = lb_arena_copy(arena, lb_str_of(from[i]));
        if (list[i] == NULL)
            return lb_arena_fail(arena, err);
    }
    *out = list;
    return LB_OK;
}

static lb_status options_rule(lb_lake_options *o, const char *text, lb_set_rule *out, lb_error *err)
{
    const char *colon = strchr(text, ':');

    if (colon == NULL || colon == text) {
        lb_fail(err, LB_USAGE, LB_NOWHERE, "--set takes GLOB:OPTIONS, not \"%.100s\"", text);
        lb_fail_hint(err, "as in --set 'eu/*.csv:delimiter=;,encoding=WINDOWS-1252'");
        return LB_USAGE;
    }
    out->glob = lb_arena_copy(&o->arena, (lb_str){ text, (size_t)(colon - text) });
    if (out->glob == NULL)
        return lb_arena_fail(&o->arena, err);
    LB_TRY(lb_read_options_new(&out->options, err));
    o->n_rules++;
    return lb_read_options_parse(out->options, colon + 1, err);
}

static lb_status options_rules(lb_lake_options *o, lb_error *err)
{
    size_t n = 0;

    while (o->set[n] != NULL)
        n++;
    o->rules = lb_arena_alloc(&o->arena, n, sizeof *o->rules);
    if (o->rules == NULL)
        return lb_arena_fail(&o->arena, err);
    for (size_t i = 0; i < n; i++)
        LB_TRY(options_rule(o, o->set[i], &o->rules[i], err));
    return LB_OK;
}

static lb_status options_fill(lb_lake_options *o, const lb_map_options *from, lb_error *err)
{
    o->discover.hidden = from->hidden;
    o->discover.by_products = from->by_products;
    o->discover.no_compressed = from->no_compressed;
    o->detect = from->detect;
    o->record_errors = o->discover.record_clashes = from->record_errors;
    o->pages = from->pages;
    LB_TRY(options_copy_list(&o->arena, from->include, &o->discover.include, err));
    LB_TRY(options_copy_list(&o->arena, from->exclude, &o->discover.exclude, err));
    LB_TRY(options_copy_list(&o->arena, from->set, &o->set, err));
    LB_TRY(lb_read_options_merge(from->read, NULL, &o->read, err));
    return options_rules(o, err);
}

lb_status lb_lake_options_new(const lb_map_options *from, lb_lake_options **out, lb_error *err)
{
    const lb_map_options defaults = { .struct_size = sizeof defaults };
    lb_lake_options *o = calloc(1, sizeof *o);

    *out = NULL;
    if (o == NULL)
        return lb_fail_nomem(err);
    lb_arena_init(&o->arena, NULL);
    lb_status status = options_fill(o, from != NULL ? from : &defaults, err);
    if (status == LB_OK)
        *out = o;
    else
        lb_lake_options_free(o);
    return status;
}

void lb_lake_options_free(lb_lake_options *o)
{
    if (o == NULL)
        return;
    for (size_t i = 0; i < o->n_rules; i++)
        lb_read_options_free(o->rules[i].options);
    lb_read_options_free(o->read);
    lb_arena_free(&o->arena);
    free(o);
}

lb_status lb_lake_options_for(const lb_lake_options *o, lb_str rel_path, const lb_read_options *over,
                              lb_read_options **out, lb_error *err)
{
    LB_TRY(lb_read_options_merge(o->read, NULL, out, err));
    for (size_t i = 0; i <= o->n_rules; i++) {
        const lb_read_options *next = i < o->n_rules ? o->rules[i].options : over;
        lb_read_options *merged;
        if (i < o->n_rules && !lb_glob_match(lb_str_of(o->rules[i].glob), rel_path))
            continue;
        if (next == NULL)
            continue;
        lb_status status = lb_read_options_merge(*out, next, &merged, err);
        lb_read_options_free(*out);
        *out = NULL;
        LB_TRY(status);
        *out = merged;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- JSON */

static json_t *options_list_json(const char *const *list)
{
    json_t *array = json_array();

    for (; array != NULL && *list != NULL; list++)
        if (json_array_append_new(array, json_string(*list)) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *options_read_json(const lb_read_options *read, lb_error *err)
{
    json_t *json = NULL;
    lb_buf text;

    lb_buf_init(&text, NULL);
    if (lb_read_options_json(read, &text, err) == LB_OK)
        json = lb_json_load((const char *)text.data, text.size, 0, NULL);
    lb_buf_free(&text);
    return json;
}

lb_status lb_lake_options_json(const lb_lake_options *o, lb_buf *out, lb_error *err)
{
    json_t *read = options_read_json(o->read, err), *json;
    char *text = NULL;

    if (read == NULL)
        return lb_fail_nomem(err);
    json = json_pack("{s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:b, s:s, s:b}", "read", read, "set",
                     options_list_json(o->set), "include", options_list_json(o->discover.include), "exclude",
                     options_list_json(o->discover.exclude), "hidden", o->discover.hidden, "by_products",
                     o->discover.by_products, "compressed", !o->discover.no_compressed, "detect", o->detect, "on_error",
                     o->record_errors ? "record" : "abort", "pages", o->pages);
    if (json != NULL)
        text = lb_json_dump(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    if (text == NULL)
        return lb_fail_nomem(err);
    lb_status status = lb_buf_append_str(out, text, err);
    free(text);
    return status;
}

static bool options_flag(const json_t *json, const char *key, bool fallback)
{
    const json_t *value = json_object_get(json, key);

    return json_is_boolean(value) ? json_boolean_value(value) : fallback;
}

/* A list of strings as lent pointers into the JSON; other things in it are left out. */
static const char **options_list_of(lb_arena *arena, const json_t *json, const char *key)
{
    const json_t *array = json_object_get(json, key);
    size_t n = json_array_size(array), used = 0;
    const char **list = lb_arena_alloc(arena, n + 1, sizeof *list);

    for (size_t i = 0; list != NULL && i < n; i++)
        if (json_is_string(json_array_get(array, i)))
            list[used++] = json_string_value(json_array_get(array, i));
    return list;
}

static lb_status options_of(const json_t *json, lb_arena *scratch, lb_lake_options **out, lb_error *err)
{
    const json_t *read = json_object_get(json, "read");
    const char *on_error = json_string_value(json_object_get(json, "on_error"));
    lb_map_options from = { .struct_size = sizeof from,
                            .hidden = options_flag(json, "hidden", false),
                            .by_products = options_flag(json, "by_products", false),
                            .no_compressed = !options_flag(json, "compressed", true),
                            .detect = options_flag(json, "detect", false),
                            .record_errors = on_error != NULL && strcmp(on_error, "record") == 0,
                            .pages = options_flag(json, "pages", false),
                            .include = options_list_of(scratch, json, "include"),
                            .exclude = options_list_of(scratch, json, "exclude"),
                            .set = options_list_of(scratch, json, "set") };
    lb_read_options *options = NULL;
    lb_status status = LB_OK;

    if (from.include == NULL || from.exclude == NULL || from.set == NULL)
        return lb_arena_fail(scratch, err);
    if (read != NULL) {
        char *text = lb_json_dump(read, JSON_COMPACT);
        if (text == NULL)
            return lb_fail_nomem(err);
        status = lb_read_options_of_json(text, strlen(text), &options, err);
        free(text);
    }
    from.read = options;
    if (status == LB_OK)
        status = lb_lake_options_new(&from, out, err);
    lb_read_options_free(options);
    return status;
}

lb_status lb_lake_options_of_json(lb_str text, lb_lake_options **out, lb_error *err)
{
    lb_arena scratch;
    json_error_t why;

    *out = NULL;
    if (text.size == 0)
        return lb_lake_options_new(NULL, out, err);
    json_t *json = lb_json_load(text.at, text.size, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(json)) {
        json_decref(json);
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the map's bazan.options are no JSON object: %s",
                       json == NULL ? why.text : "");
    }
    lb_arena_init(&scratch, NULL);
    lb_status status = options_of(json, &scratch, out, err);
    lb_arena_free(&scratch);
    json_decref(json);
    return status == LB_USAGE ? LB_CORRUPT : status;
}
