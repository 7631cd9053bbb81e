/* A catalog as a JSON document. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lineage/lineage_catalog.h"
#include "wire/json_tree.h"

/* Where in the document something is wrong. */
typedef struct catalog_place {
    size_t table;
    const char *name; /* NULL: not known yet */
    lb_error *err;
} catalog_place;

__attribute__((format(printf, 2, 3))) static lb_status catalog_bad(const catalog_place *at, const char *fmt, ...)
{
    char what[256];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    if (at->name == NULL)
        return lb_fail(at->err, LB_CORRUPT, LB_NOWHERE, "table %zu of the catalog: %s", at->table, what);
    return lb_fail(at->err, LB_CORRUPT, LB_NOWHERE, "table %zu (%.120s) of the catalog: %s", at->table, at->name, what);
}

/* A member that may be missing or null; else it must be a string. */
static lb_status catalog_text(const catalog_place *at, const json_t *object, const char *key, const char **out)
{
    const json_t *value = json_object_get(object, key);

    *out = NULL;
    if (value == NULL || json_is_null(value))
        return LB_OK;
    if (!json_is_string(value))
        return catalog_bad(at, "\"%s\" must be a string", key);
    *out = json_string_value(value);
    return LB_OK;
}

static lb_status catalog_flag(const catalog_place *at, const json_t *object, const char *key, bool *out)
{
    const json_t *value = json_object_get(object, key);

    if (value != NULL && !json_is_boolean(value) && !json_is_null(value))
        return catalog_bad(at, "\"%s\" must be true or false", key);
    *out = json_is_true(value);
    return LB_OK;
}

static lb_status catalog_name(const catalog_place *at, const json_t *object, const char *key, const char **out)
{
    LB_TRY(catalog_text(at, object, key, out));
    if (*out == NULL || **out == '\0')
        return catalog_bad(at, "\"%s\" is missing", key);
    return LB_OK;
}

/* A column is an object, or only its name. */
static lb_status catalog_json_column(const catalog_place *at, const json_t *json, lb_catalog_column_spec *out)
{
    if (json_is_string(json)) {
        out->name = json_string_value(json);
        return *out->name != '\0' ? LB_OK : catalog_bad(at, "a column has no name");
    }
    if (!json_is_object(json))
        return catalog_bad(at, "a column must be an object or a name");
    LB_TRY(catalog_name(at, json, "name", &out->name));
    LB_TRY(catalog_text(at, json, "type", &out->type));
    LB_TRY(catalog_flag(at, json, "partition", &out->partition));
    return catalog_flag(at, json, "hidden", &out->hidden);
}

static lb_status catalog_json_columns(const catalog_place *at, const json_t *json, lb_catalog_spec *spec,
                                      lb_catalog_column_spec **out)
{
    const json_t *list = json_object_get(json, "columns");
    size_t n = json_array_size(list);

    *out = NULL;
    if (list == NULL || json_is_null(list))
        return LB_OK;
    if (!json_is_array(list))
        return catalog_bad(at, "\"columns\" must be a list");
    *out = calloc(n + 1, sizeof **out);
    if (*out == NULL)
        return lb_fail_nomem(at->err);
    for (size_t i = 0; i < n; i++)
        LB_TRY(catalog_json_column(at, json_array_get(list, i), &(*out)[i]));
    spec->columns = *out;
    spec->n_columns = n;
    return LB_OK;
}

static lb_status catalog_json_spec(catalog_place *at, const json_t *json, lb_catalog_spec *spec)
{
    if (!json_is_object(json))
        return catalog_bad(at, "it must be an object");
    LB_TRY(catalog_name(at, json, "name", &spec->name));
    at->name = spec->name;
    LB_TRY(catalog_name(at, json, "db", &spec->db));
    LB_TRY(catalog_text(at, json, "table_type", &spec->type));
    LB_TRY(catalog_text(at, json, "location", &spec->location));
    LB_TRY(catalog_text(at, json, "view_sql", &spec->view_sql));
    LB_TRY(catalog_text(at, json, "view_db", &spec->view_db));
    const json_t *time = json_object_get(json, "create_time");
    if (time != NULL && !json_is_null(time) && !json_is_integer(time))
        return catalog_bad(at, "\"create_time\" must be whole seconds since 1970");
    spec->create_time = json_is_integer(time) ? json_integer_value(time) : -1;
    return LB_OK;
}

static lb_status catalog_json_table(lb_catalog *catalog, size_t index, const json_t *json, lb_error *err)
{
    catalog_place at = { .table = index, .err = err };
    lb_catalog_spec spec = { 0 };
    lb_catalog_column_spec *columns = NULL;
    lb_error why = LB_ERROR_INIT;

    lb_status status = catalog_json_spec(&at, json, &spec);
    if (status == LB_OK)
        status = catalog_json_columns(&at, json, &spec, &columns);
    if (status == LB_OK) {
        status = lb_catalog_put(catalog, &spec, &why);
        if (status == LB_USAGE)
            status = catalog_bad(&at, "%s", why.message);
        else if (status != LB_OK && err != NULL && err->code == LB_OK)
            *err = why;
    }
    free(columns);
    return status;
}

static lb_status catalog_no_json(const json_error_t *why, lb_error *err)
{
    if (json_error_code(why) == json_error_out_of_memory)
        return lb_fail_nomem(err);
    lb_where where = { .offset = why->position, .row = -1, .line = why->line };
    return lb_fail(err, LB_CORRUPT, where, "the catalog is no JSON: line %d, column %d: %s", why->line, why->column,
                   why->text);
}

lb_status lb_catalog_read_json(lb_catalog *catalog, const char *text, size_t size, lb_error *err)
{
    json_error_t why = { 0 };
    json_t *json = lb_json_load(text, size, 0, &why);
    lb_status status = LB_OK;

    if (json == NULL)
        return catalog_no_json(&why, err);
    const json_t *tables = json_is_object(json) ? json_object_get(json, "tables") : json;
    if (!json_is_array(tables))
        status = lb_fail(err, LB_CORRUPT, LB_NOWHERE,
                         "the catalog must be a list of tables, or an object with such a list as \"tables\"");
    for (size_t i = 0; status == LB_OK && i < json_array_size(tables); i++)
        status = catalog_json_table(catalog, i, json_array_get(tables, i), err);
    json_decref(json);
    return status;
}
