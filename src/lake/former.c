#include "lake/former.h"

#include <jansson.h>
#include <stdio.h>

#include "base/context.h"
#include "base/path.h"
#include "wire/json_tree.h"

/* Words in the form in which they are typed again. */
typedef struct former_words {
    lb_buf text;
    lb_error *err;
    lb_status status;
} former_words;

static void former_say(former_words *w, const char *option)
{
    if (w->status == LB_OK)
        w->status = lb_buf_printf(&w->text, w->err, "%s--%s", w->text.size == 0 ? "" : " ", option);
}

/* A value that a shell would not take as it is stands in quotes. */
static void former_say_value(former_words *w, const char *option, const char *value)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.,/=:+";
    const char *quote = *value == '\0' || value[strspn(value, plain)] != '\0' ? "'" : "";

    former_say(w, option);
    if (w->status == LB_OK)
        w->status = lb_buf_printf(&w->text, w->err, " %s%s%s", quote, value, quote);
}

/* ---------------------------------------------------------------- read options */

static void former_read_value(former_words *w, const char *name, const json_t *value)
{
    char number[32];

    if (json_is_string(value)) {
        former_say_value(w, name, json_string_value(value));
    } else if (json_is_integer(value)) {
        (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        former_say_value(w, name, number);
    } else if (json_is_false(value) && strcmp(name, "header") == 0) {
        former_say(w, "no-header");
    } else if (json_is_boolean(value)) {
        former_say(w, name);
    }
    for (size_t i = 0; json_is_array(value) && i < json_array_size(value); i++)
        former_read_value(w, name, json_array_get(value, i));
}

static json_t *former_read_json(const lb_read_options *read, lb_error *err)
{
    lb_buf text;
    json_t *json = NULL;

    lb_buf_init(&text, NULL);
    if (lb_read_options_json(read, &text, err) == LB_OK)
        json = lb_json_load((const char *)text.data, text.size, 0, NULL);
    lb_buf_free(&text);
    return json;
}

/* Options for all files that were set and are not. */
static void former_read(former_words *w, const lb_read_options *was, const lb_read_options *is)
{
    json_t *before = former_read_json(was, w->err), *now = former_read_json(is, w->err), *value;
    const char *name;

    if (before == NULL || now == NULL)
        w->status = lb_fail_nomem(w->err);
    else
        json_object_foreach(before, name, value) if (json_object_get(now, name) == NULL)
            former_read_value(w, name, value);
    json_decref(before);
    json_decref(now);
}

/* ---------------------------------------------------------------- options of the build */

static void former_list(former_words *w, const char *option, const char *const *was, const char *const *is)
{
    for (; *was != NULL && *is == NULL; was++)
        former_say_value(w, option, *was);
}

static void former_flags(former_words *w, const lb_lake_options *was, const lb_lake_options *is)
{
    const struct {
        const char *option;
        bool was, is;
    } flags[] = {
        { "hidden", was->discover.hidden, is->discover.hidden },
        { "by-products", was->discover.by_products, is->discover.by_products },
        { "no-compressed", was->discover.no_compressed, is->discover.no_compressed },
        { "detect", was->detect, is->detect },
        { "pages", was->pages, is->pages },
    };

    for (size_t i = 0; i < LB_COUNT_OF(flags); i++)
        if (flags[i].was && !flags[i].is)
            former_say(w, flags[i].option);
}

static void former_stats(former_words *w, const lb_lake_stats *was, const lb_lake_stats *is)
{
    if (was->policy == LB_STATS_ALL || is->policy != LB_STATS_ALL)
        return;
    if (was->policy == LB_STATS_OFF)
        former_say_value(w, "stats", "none");
    else if (was->policy == LB_STATS_BLOCKS)
        former_say_value(w, "stats", "block");
    if (was->policy != LB_STATS_NAMED)
        return;
    lb_buf names;
    lb_buf_init(&names, NULL);
    for (size_t i = 0; was->columns[i] != NULL && w->status == LB_OK; i++)
        w->status = lb_buf_printf(&names, w->err, "%s%s", i == 0 ? "" : ",", was->columns[i]);
    const char *text = lb_buf_text(&names);
    if (text != NULL)
        former_say_value(w, "stats", text);
    lb_buf_free(&names);
}

static void former_scalars(former_words *w, const lb_map_header *was, const lb_lake_write *is)
{
    char stride[32];

    if (was->stride != LB_DEFAULT_STRIDE && is->stride == LB_DEFAULT_STRIDE) {
        (void)snprintf(stride, sizeof stride, "%llu", (unsigned long long)was->stride);
        former_say_value(w, "stride", stride);
    }
    if (was->fingerprint == LB_FINGERPRINT_BLAKE3 && is->fingerprint != LB_FINGERPRINT_BLAKE3)
        former_say_value(w, "fingerprint", "blake3");
    if (was->interop_full && !is->interop_full)
        former_say_value(w, "interop", "full");
}

/* ---------------------------------------------------------------- the whole */

static void former_compare(former_words *w, const lb_map *map, const lb_lake_options *was, const lb_lake_stats *stats,
                           const lb_lake_write *how)
{
    former_scalars(w, lb_map_header_of(map), how);
    former_stats(w, stats, &how->stats);
    former_flags(w, was, how->options);
    former_list(w, "include", was->discover.include, how->options->discover.include);
    former_list(w, "exclude", was->discover.exclude, how->options->discover.exclude);
    former_list(w, "set", was->set, how->options->set);
    former_read(w, was->read, how->options->read);
}

/* Name what is lost. A header that says nothing sensible has nothing to lose. */
static lb_status former_tell(lb_context *cx, const char *dir, const lb_map *map, const lb_lake_write *how,
                             lb_arena *arena, lb_error *err)
{
    lb_lake_options *was = NULL;
    lb_lake_stats stats;
    former_words w = { .err = err };

    if (lb_lake_options_of_json(lb_map_header_of(map)->options_json, &was, NULL) != LB_OK)
        return LB_OK;
    lb_buf_init(&w.text, NULL);
    if (lb_lake_stats_of_map(lb_map_header_of(map)->stats, arena, &stats, NULL) == LB_OK)
        former_compare(&w, map, was, &stats, how);
    const char *text = w.status == LB_OK && w.text.size != 0 ? lb_buf_text(&w.text) : NULL;
    if (text != NULL)
        lb_note(cx,
                "the former map was built with %s, which the new one is not; it is kept, and comes back with "
                "`lakebed doctor %s --undo`",
                text, dir);
    lb_buf_free(&w.text);
    lb_lake_options_free(was);
    return w.status;
}

/* NULL: there is none, or what is there is no map. */
static lb_status former_load(const char *path, lb_map **out, lb_error *err)
{
    lb_error why = LB_ERROR_INIT;
    lb_status status = lb_map_load_file(path, out, &why);

    if (status == LB_OK || status == LB_NOTFOUND || status == LB_CORRUPT || status == LB_UNSUPPORTED)
        return LB_OK;
    if (err != NULL)
        *err = why;
    return status;
}

lb_status lb_lake_former(lb_context *cx, const char *dir, const lb_lake_write *how, bool *keep, lb_error *err)
{
    lb_map *map = NULL;
    lb_arena arena;

    *keep = false;
    lb_arena_init(&arena, &cx->budget);
    const char *path = lb_path_join(&arena, dir, LB_MAP_NAME);
    lb_status status = path == NULL ? lb_arena_fail(&arena, err) : former_load(path, &map, err);
    *keep = map != NULL;
    if (status == LB_OK && map != NULL)
        status = former_tell(cx, dir, map, how, &arena, err);
    lb_map_close(map);
    lb_arena_free(&arena);
    return status;
}
