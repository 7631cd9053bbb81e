/* Read options. The one table OPTIONS drives names, help, parsing, merging and JSON. */
#include "format/options.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/path.h"
#include "base/utf8.h"
#include "column/types.h"
#include "io/text.h"
#include "wire/json_tree.h"

#define OPTIONS_MAX_LIST 10000 /* values of a repeatable option: a map's JSON may be hostile */
#define OPTIONS_MAX_VALUE ((size_t)65536)
#define OPTIONS_MAX_HEADER_ROW 1048576 /* rows of a sheet */

/* id, name, what stands for the value (NULL: a flag), help, structural, repeatable */
#define OPTIONS(X)                                                                                                   \
    X(delimiter, "delimiter", "D", "what separates fields: 1 to 4 bytes; \\t or tab is a tab", true, false)          \
    X(quote, "quote", "C|none", "the quote character (default \")", true, false)                                     \
    X(escape, "escape", "C|none", "the character that takes the next one literally (default none)", true, false)     \
    X(header, "header", "true|false|N|none", "is the first record a header; in a workbook the header's row", true,   \
      false)                                                                                                         \
    X(no_header, "no-header", NULL, "the first record is data", true, false)                                         \
    X(encoding, "encoding", "NAME", "the text's encoding, by iconv's names (default UTF-8)", true, false)            \
    X(ragged, "ragged", "error|null", "records of another length: refuse, or fill with nulls", true, false)          \
    X(sheet, "sheet", "NAME|N", "sheet of a workbook, by name or number", true, false)                               \
    X(header_row, "header-row", NULL, "the first row, an array, names the places of the others (MessagePack)", true, \
      false)                                                                                                         \
    X(types, "types", "auto|proven|sample|text", "how columns get their types (default auto)", false, false)         \
    X(all_text, "all-text", NULL, "every value as it stands, as --types text", false, false)                         \
    X(null, "null", "TEXT", "a value that means null", false, true)                                                  \
    X(decimal, "decimal", NULL, "numbers with a point are decimals, not floats", false, false)                       \
    X(names, "names", "A,B,…", "columns of rows that are arrays, one a place (MessagePack)", false, false)           \
    X(column, "column", "NAME=TYPE", "declare the type of a column", false, true)

#define OPTIONS_INFO(id, name, value, help, structural, repeatable) { name, value, help, structural, repeatable },
static const lb_option_info options_list[] = { OPTIONS(OPTIONS_INFO){ NULL, NULL, NULL, false, false } };

#define OPTIONS_ENUM(id, name, value, help, structural, repeatable) OPTION_##id,
enum { OPTIONS(OPTIONS_ENUM) OPTION_COUNT };

const lb_option_info *lb_read_option_list(void)
{
    return options_list;
}

/* ---------------------------------------------------------------- making and freeing */

lb_status lb_read_options_new(lb_read_options **out, lb_error *err)
{
    lb_error_clear(err);
    lb_read_options *o = calloc(1, sizeof *o);
    *out = o;
    if (o == NULL)
        return lb_fail_nomem(err);
    lb_arena_init(&o->arena, NULL);
    o->quote = '"';
    o->escape = -1;
    o->has_header = true;
    o->header_row = -1;
    return LB_OK;
}

void lb_read_options_free(lb_read_options *options)
{
    if (options == NULL)
        return;
    lb_arena_free(&options->arena);
    free(options);
}

/* ---------------------------------------------------------------- pieces of the setters */

/* "--ragged takes error or null, not "x"" */
static lb_status options_refuse(const char *name, const char *takes, const char *value, lb_error *err)
{
    char shown[64];
    lb_copy_text(shown, sizeof shown, value, strlen(value));
    return lb_fail(err, LB_USAGE, LB_NOWHERE, "--%s takes %s, not \"%s\"", name, takes, shown);
}

static lb_status options_keep(lb_read_options *o, const char *value, const char **out, lb_error *err)
{
    char *copy = lb_arena_copy(&o->arena, lb_str_of(value));
    if (copy == NULL)
        return lb_arena_fail(&o->arena, err);
    *out = copy;
    return LB_OK;
}

/* Room for one more item of `size` bytes in an array of the arena; the smaller one before is left behind. */
static lb_status options_grow(lb_read_options *o, void *items, size_t n, size_t *cap, size_t size, void **out,
                              lb_error *err)
{
    *out = items;
    if (n >= OPTIONS_MAX_LIST)
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "more than %d values of one option", OPTIONS_MAX_LIST);
    if (n < *cap)
        return LB_OK;
    size_t more = *cap == 0 ? 8 : *cap * 2;
    void *grown = lb_arena_alloc(&o->arena, more, size);
    if (grown == NULL)
        return lb_arena_fail(&o->arena, err);
    if (n != 0)
        memcpy(grown, items, n * size);
    *out = grown;
    *cap = more;
    return LB_OK;
}

/* One printable ASCII character or tab, or `none` (-1). */
static bool options_one_byte(const char *value, int *out)
{
    unsigned char c = (unsigned char)value[0];
    if (strcmp(value, "none") == 0) {
        *out = -1;
        return true;
    }
    if (strcmp(value, "\\t") == 0 || strcmp(value, "tab") == 0)
        c = '\t';
    else if (c == '\0' || value[1] != '\0' || c >= 0x80 || c == '\r' || c == '\n')
        return false;
    *out = c;
    return true;
}

static lb_status options_flag(const char *name, const char *value, bool *out, lb_error *err)
{
    if (value == NULL || strcmp(value, "true") == 0)
        *out = true;
    else if (strcmp(value, "false") == 0)
        *out = false;
    else
        return options_refuse(name, "no value, true or false", value, err);
    return LB_OK;
}

/* ---------------------------------------------------------------- one setter an option
 * Each looks at its own value only: whether delimiter, quote and escape agree is seen when all are known. */

static lb_status options_set_delimiter(lb_read_options *o, const char *value, lb_error *err)
{
    if (strcmp(value, "\\t") == 0 || strcmp(value, "tab") == 0)
        value = "\t";
    size_t n = strlen(value);
    if (n < 1 || n > 4)
        return options_refuse("delimiter", "1 to 4 bytes", value, err);
    if (strpbrk(value, "\r\n") != NULL)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "--delimiter takes no line end");
    memcpy(o->delimiter, value, n + 1);
    o->set |= LB_OPT_DELIMITER;
    return LB_OK;
}

static lb_status options_set_quote(lb_read_options *o, const char *value, lb_error *err)
{
    if (!options_one_byte(value, &o->quote))
        return options_refuse("quote", "one ASCII character or none", value, err);
    o->set |= LB_OPT_QUOTE;
    return LB_OK;
}

static lb_status options_set_escape(lb_read_options *o, const char *value, lb_error *err)
{
    if (!options_one_byte(value, &o->escape))
        return options_refuse("escape", "one ASCII character or none", value, err);
    o->set |= LB_OPT_ESCAPE;
    return LB_OK;
}

/* true, false, none, or a row number from 1. */
static lb_status options_set_header(lb_read_options *o, const char *value, lb_error *err)
{
    bool no = strcmp(value, "false") == 0 || strcmp(value, "none") == 0;
    int32_t row = no ? 0 : -1;
    if (!no && strcmp(value, "true") != 0) {
        const char *p = value;
        for (row = 0; *p >= '0' && *p <= '9' && row <= OPTIONS_MAX_HEADER_ROW; p++)
            row = row * 10 + (*p - '0');
        if (*p != '\0' || row < 1 || row > OPTIONS_MAX_HEADER_ROW)
            return options_refuse("header", "true, false, none or a row number from 1", value, err);
    }
    o->has_header = !no;
    o->header_row = row;
    o->set |= LB_OPT_HEADER;
    return LB_OK;
}

static lb_status options_set_no_header(lb_read_options *o, const char *value, lb_error *err)
{
    bool no = true;
    LB_TRY(options_flag("no-header", value, &no, err));
    return options_set_header(o, no ? "false" : "true", err);
}

/* Kept as settled by spelling: "utf_16" and "UTF-16" are one encoding. */
static lb_status options_set_encoding(lb_read_options *o, const char *value, lb_error *err)
{
    char name[64];
    unsigned bom_bytes;
    if (value[0] == '\0')
        return options_refuse("encoding", "a name", value, err);
    LB_TRY(lb_text_encoding(NULL, value, name, &bom_bytes, err));
    LB_TRY(options_keep(o, name, &o->encoding, err));
    o->set |= LB_OPT_ENCODING;
    return LB_OK;
}

static lb_status options_set_ragged(lb_read_options *o, const char *value, lb_error *err)
{
    bool null = strcmp(value, "null") == 0;
    if (!null && strcmp(value, "error") != 0)
        return options_refuse("ragged", "error or null", value, err);
    o->ragged_null = null;
    o->set |= LB_OPT_RAGGED;
    return LB_OK;
}

static lb_status options_set_sheet(lb_read_options *o, const char *value, lb_error *err)
{
    if (value[0] == '\0')
        return options_refuse("sheet", "a name or a number from 0", value, err);
    LB_TRY(options_keep(o, value, &o->sheet, err));
    o->set |= LB_OPT_SHEET;
    return LB_OK;
}

static lb_status options_set_header_row(lb_read_options *o, const char *value, lb_error *err)
{
    bool first = true;
    LB_TRY(options_flag("header-row", value, &first, err));
    o->header_first = first;
    o->set |= LB_OPT_HEADER_ROW;
    return LB_OK;
}

static lb_status options_set_names(lb_read_options *o, const char *value, lb_error *err)
{
    if (value[0] == '\0')
        return options_refuse("names", "names with commas between", value, err);
    LB_TRY(options_keep(o, value, &o->names, err));
    o->value_set |= LB_VAL_NAMES;
    return LB_OK;
}

static const char *const options_type_modes[] = {
    [LB_TYPES_AUTO] = "auto", [LB_TYPES_PROVEN] = "proven", [LB_TYPES_SAMPLE] = "sample", [LB_TYPES_TEXT] = "text"
};

static lb_status options_set_types(lb_read_options *o, const char *value, lb_error *err)
{
    for (size_t i = 0; i < LB_COUNT_OF(options_type_modes); i++) {
        if (strcmp(value, options_type_modes[i]) == 0) {
            o->types = (lb_type_mode)i;
            o->value_set |= LB_VAL_TYPES;
            return LB_OK;
        }
    }
    return options_refuse("types", "auto, proven, sample or text", value, err);
}

static lb_status options_set_all_text(lb_read_options *o, const char *value, lb_error *err)
{
    bool text = true;
    LB_TRY(options_flag("all-text", value, &text, err));
    return options_set_types(o, text ? "text" : "auto", err);
}

static lb_status options_set_null(lb_read_options *o, const char *value, lb_error *err)
{
    void *grown;
    for (size_t i = 0; i < o->n_nulls; i++)
        if (strcmp(o->nulls[i], value) == 0)
            return LB_OK;
    LB_TRY(options_grow(o, o->nulls, o->n_nulls, &o->cap_nulls, sizeof *o->nulls, &grown, err));
    o->nulls = grown;
    LB_TRY(options_keep(o, value, &o->nulls[o->n_nulls], err));
    o->n_nulls++;
    o->value_set |= LB_VAL_NULL;
    return LB_OK;
}

static lb_status options_set_decimal(lb_read_options *o, const char *value, lb_error *err)
{
    LB_TRY(options_flag("decimal", value, &o->decimal, err));
    o->value_set |= LB_VAL_DECIMAL;
    return LB_OK;
}

/* Words of a type, or `map`: an object's keys are values (types.md section 2). */
static lb_status options_check_type(const char *words, lb_error *err)
{
    struct ArrowSchema schema = { .release = NULL };
    if (strcmp(words, "map") == 0)
        return LB_OK;
    LB_TRY(lb_type_of_words(words, &schema, err));
    if (schema.release != NULL)
        schema.release(&schema);
    return LB_OK;
}

/* The `=` between NAME and TYPE. A name may contain `=` and so may a type; the last one behind which a type stands
 * counts. */
static const char *options_column_split(const char *value)
{
    for (size_t i = strlen(value); i > 0; i--)
        if (value[i - 1] == '=' && options_check_type(value + i, NULL) == LB_OK)
            return value + i - 1;
    return NULL;
}

static lb_status options_add_column(lb_read_options *o, lb_str name, const char *type, lb_error *err)
{
    void *grown;
    const char *kept = NULL;
    LB_TRY(options_keep(o, type, &kept, err));
    o->value_set |= LB_VAL_COLUMN;
    for (size_t i = 0; i < o->n_columns; i++) {
        if (lb_str_is(name, o->columns[i].name)) {
            o->columns[i].type = kept;
            return LB_OK;
        }
    }
    LB_TRY(options_grow(o, o->columns, o->n_columns, &o->cap_columns, sizeof *o->columns, &grown, err));
    o->columns = grown;
    char *copy = lb_arena_copy(&o->arena, name);
    if (copy == NULL)
        return lb_arena_fail(&o->arena, err);
    o->columns[o->n_columns++] = (lb_column_decl){ copy, kept };
    return LB_OK;
}

static lb_status options_set_column(lb_read_options *o, const char *value, lb_error *err)
{
    const char *equals = strrchr(value, '=');
    if (equals == NULL || equals == value)
        return options_refuse("column", "NAME=TYPE", value, err);
    const char *split = options_column_split(value);
    if (split == NULL)
        return options_check_type(equals + 1, err); /* says which types there are */
    if (split == value)
        return options_refuse("column", "NAME=TYPE", value, err);
    return options_add_column(o, (lb_str){ value, (size_t)(split - value) }, split + 1, err);
}

/* ---------------------------------------------------------------- setting by name */

typedef lb_status (*options_setter)(lb_read_options *o, const char *value, lb_error *err);

#define OPTIONS_SETTER(id, name, value, help, structural, repeatable) options_set_##id,
static const options_setter options_setters[OPTION_COUNT] = { OPTIONS(OPTIONS_SETTER) };

static lb_status options_unknown(const char *name, lb_error *err)
{
    const char *names[OPTION_COUNT];
    char shown[64];
    for (size_t i = 0; i < OPTION_COUNT; i++)
        names[i] = options_list[i].name;
    lb_copy_text(shown, sizeof shown, name, strlen(name));
    lb_fail(err, LB_USAGE, LB_NOWHERE, "there is no read option --%s", shown);
    const char *near = lb_closest_name(name, names, OPTION_COUNT);
    if (near != NULL)
        lb_fail_hint(err, "did you mean --%s?", near);
    else
        lb_fail_hint(err, "read options: delimiter, quote, escape, header, no-header, encoding, ragged, sheet, "
                          "header-row, types, all-text, null, decimal, names, column");
    return LB_USAGE;
}

static lb_status options_set(lb_read_options *o, const char *name, const char *value, lb_error *err)
{
    size_t i = 0;
    while (i < OPTION_COUNT && strcmp(name, options_list[i].name) != 0)
        i++;
    if (i == OPTION_COUNT)
        return options_unknown(name, err);
    if (value == NULL && options_list[i].value != NULL)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "--%s needs a value: %s", name, options_list[i].value);
    if (value != NULL) {
        size_t size = strlen(value);
        if (size > OPTIONS_MAX_VALUE)
            return lb_fail(err, LB_USAGE, LB_NOWHERE, "the value of --%s has more than %zu bytes", name,
                           OPTIONS_MAX_VALUE);
        if (lb_utf8_valid_prefix((const uint8_t *)value, size) != size)
            return lb_fail(err, LB_USAGE, LB_NOWHERE, "the value of --%s is not valid UTF-8", name);
    }
    return options_setters[i](o, value, err);
}

lb_status lb_read_options_set(lb_read_options *options, const char *name, const char *value, lb_error *err)
{
    lb_error_clear(err);
    if (options == NULL || name == NULL)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "an option and its name are expected, not NULL");
    return options_set(options, name, value, err);
}

/* ---------------------------------------------------------------- text of --set */

/* One `name=value` or `name`, its escaped commas undone already. */
static lb_status options_parse_one(lb_read_options *o, char *item, lb_error *err)
{
    while (*item == ' ')
        item++;
    char *equals = strchr(item, '=');
    if (*item == '\0')
        return lb_fail(err, LB_USAGE, LB_NOWHERE,
                       "name=value is expected between commas; a comma in a value is written \\,");
    if (equals != NULL)
        *equals = '\0';
    return options_set(o, item, equals == NULL ? NULL : equals + 1, err);
}

lb_status lb_read_options_parse(lb_read_options *options, const char *text, lb_error *err)
{
    lb_status status = LB_OK;
    char *item = malloc(strlen(text) + 1);
    if (item == NULL)
        return lb_fail_nomem(err);
    for (const char *p = text; *p != '\0' && status == LB_OK;) {
        size_t n = 0;
        for (; *p != '\0' && *p != ','; p++) {
            p += p[0] == '\\' && (p[1] == ',' || p[1] == '\\');
            item[n++] = *p;
        }
        item[n] = '\0';
        p += *p == ',';
        status = options_parse_one(options, item, err);
    }
    free(item);
    return status;
}

/* ---------------------------------------------------------------- JSON */

static json_t *options_json_byte(int byte)
{
    char text[2] = { (char)byte, '\0' };
    return json_string(byte < 0 ? "none" : text);
}

static json_t *options_json_header(const lb_read_options *o)
{
    if (o->header_row > 0)
        return json_integer(o->header_row);
    return json_boolean(o->has_header);
}

static json_t *options_json_nulls(const lb_read_options *o)
{
    json_t *list = json_array();
    for (size_t i = 0; i < o->n_nulls; i++) {
        if (json_array_append_new(list, json_string(o->nulls[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *options_json_columns(const lb_read_options *o)
{
    json_t *list = json_array();
    for (size_t i = 0; i < o->n_columns; i++) {
        json_t *text = json_sprintf("%s=%s", o->columns[i].name, o->columns[i].type);
        if (json_array_append_new(list, text) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* What is set under one name; NULL with `*set` true: no memory. */
static json_t *options_json_value(const lb_read_options *o, int option, bool *set)
{
    static const struct {
        unsigned structural, value;
    } bits[OPTION_COUNT] = {
        [OPTION_delimiter] = { LB_OPT_DELIMITER, 0 },
        [OPTION_quote] = { LB_OPT_QUOTE, 0 },
        [OPTION_escape] = { LB_OPT_ESCAPE, 0 },
        [OPTION_header] = { LB_OPT_HEADER, 0 },
        [OPTION_encoding] = { LB_OPT_ENCODING, 0 },
        [OPTION_ragged] = { LB_OPT_RAGGED, 0 },
        [OPTION_sheet] = { LB_OPT_SHEET, 0 },
        [OPTION_types] = { 0, LB_VAL_TYPES },
        [OPTION_null] = { 0, LB_VAL_NULL },
        [OPTION_decimal] = { 0, LB_VAL_DECIMAL },
        [OPTION_column] = { 0, LB_VAL_COLUMN },
        [OPTION_names] = { 0, LB_VAL_NAMES },
        [OPTION_header_row] = { LB_OPT_HEADER_ROW, 0 },
    };
    *set = (o->set & bits[option].structural) != 0 || (o->value_set & bits[option].value) != 0;
    if (!*set)
        return NULL;
    switch (option) {
    case OPTION_delimiter:
        return json_string(o->delimiter);
    case OPTION_quote:
        return options_json_byte(o->quote);
    case OPTION_escape:
        return options_json_byte(o->escape);
    case OPTION_header:
        return options_json_header(o);
    case OPTION_encoding:
        return json_string(o->encoding[0] == '\0' ? "UTF-8" : o->encoding);
    case OPTION_ragged:
        return json_string(o->ragged_null ? "null" : "error");
    case OPTION_sheet:
        return json_string(o->sheet);
    case OPTION_header_row:
        return json_boolean(o->header_first);
    case OPTION_names:
        return json_string(o->names);
    case OPTION_types:
        return json_string(options_type_modes[o->types]);
    case OPTION_null:
        return options_json_nulls(o);
    case OPTION_decimal:
        return json_boolean(o->decimal);
    default:
        return options_json_columns(o);
    }
}

static lb_status options_json_object(const lb_read_options *o, json_t *object, lb_error *err)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        bool set;
        json_t *value = options_json_value(o, i, &set);
        if (set && json_object_set_new(object, options_list[i].name, value) != 0)
            return lb_fail_nomem(err);
    }
    return LB_OK;
}

lb_status lb_read_options_json(const lb_read_options *options, lb_buf *out, lb_error *err)
{
    json_t *object = json_object();
    char *text = NULL;
    lb_status status = object == NULL ? lb_fail_nomem(err) : LB_OK;
    if (status == LB_OK && options != NULL)
        status = options_json_object(options, object, err);
    if (status == LB_OK) {
        text = lb_json_dump(object, JSON_COMPACT);
        status = text == NULL ? lb_fail_nomem(err) : lb_buf_append_str(out, text, err);
    }
    free(text);
    json_decref(object);
    return status;
}

/* A scalar as the text that lb_read_options_set takes. NULL: another kind of value. */
static const char *options_json_text(const json_t *value, char number[32])
{
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    if (!json_is_integer(value))
        return NULL;
    (void)snprintf(number, 32, "%lld", (long long)json_integer_value(value));
    return number;
}

static lb_status options_read_value(lb_read_options *o, const char *name, const json_t *value, lb_error *err)
{
    char number[32];
    const char *text = options_json_text(value, number);
    if (text == NULL)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "option %s in JSON has a value that is no text", name);
    return options_set(o, name, text, err);
}

static lb_status options_read_object(lb_read_options *o, json_t *object, lb_error *err)
{
    const char *name;
    json_t *value, *item;
    size_t i;
    json_object_foreach(object, name, value)
    {
        if (!json_is_array(value)) {
            LB_TRY(options_read_value(o, name, value, err));
            continue;
        }
        json_array_foreach(value, i, item) LB_TRY(options_read_value(o, name, item, err));
    }
    return LB_OK;
}

lb_status lb_read_options_of_json(const char *json, size_t size, lb_read_options **out, lb_error *err)
{
    json_error_t why;
    lb_read_options *o = NULL;
    lb_status status = LB_OK;
    *out = NULL;
    json_t *object = lb_json_load(json, size, JSON_REJECT_DUPLICATES, &why);
    if (object == NULL)
        status = lb_fail(err, LB_CORRUPT, LB_NOWHERE, "read options are no JSON: %s", why.text);
    else if (!json_is_object(object))
        status = lb_fail(err, LB_CORRUPT, LB_NOWHERE, "read options are a JSON object; another value was found");
    if (status == LB_OK)
        status = lb_read_options_new(&o, err);
    if (status == LB_OK)
        status = options_read_object(o, object, err);
    json_decref(object);
    if (status != LB_OK) {
        lb_read_options_free(o);
        return status;
    }
    *out = o;
    return LB_OK;
}

/* ---------------------------------------------------------------- merging */

static lb_status options_merge_structural(lb_read_options *o, const lb_read_options *over, lb_error *err)
{
    if ((over->set & LB_OPT_DELIMITER) != 0)
        memcpy(o->delimiter, over->delimiter, sizeof o->delimiter);
    if ((over->set & LB_OPT_QUOTE) != 0)
        o->quote = over->quote;
    if ((over->set & LB_OPT_ESCAPE) != 0)
        o->escape = over->escape;
    if ((over->set & LB_OPT_HEADER) != 0) {
        o->has_header = over->has_header;
        o->header_row = over->header_row;
    }
    if ((over->set & LB_OPT_ENCODING) != 0)
        LB_TRY(options_keep(o, over->encoding, &o->encoding, err));
    if ((over->set & LB_OPT_RAGGED) != 0)
        o->ragged_null = over->ragged_null;
    if ((over->set & LB_OPT_SHEET) != 0)
        LB_TRY(options_keep(o, over->sheet, &o->sheet, err));
    if ((over->set & LB_OPT_HEADER_ROW) != 0)
        o->header_first = over->header_first;
    o->set |= over->set;
    return LB_OK;
}

/* Null words replace those before; columns are declared one by one. All text is what it says: nothing declared before it
 * stands. */
static lb_status options_merge_values(lb_read_options *o, const lb_read_options *over, lb_error *err)
{
    if ((over->value_set & LB_VAL_TYPES) != 0)
        o->types = over->types;
    if ((over->value_set & LB_VAL_TYPES) != 0 && over->types == LB_TYPES_TEXT) {
        o->n_columns = o->n_nulls = 0;
        o->decimal = false;
        o->value_set &= (unsigned)LB_VAL_NAMES; /* which say what a column is, not what its values are */
    }
    if ((over->value_set & LB_VAL_DECIMAL) != 0)
        o->decimal = over->decimal;
    if ((over->value_set & LB_VAL_NAMES) != 0)
        LB_TRY(options_keep(o, over->names, &o->names, err));
    if ((over->value_set & LB_VAL_NULL) != 0)
        o->n_nulls = 0;
    for (size_t i = 0; i < over->n_nulls; i++)
        LB_TRY(options_set_null(o, over->nulls[i], err));
    for (size_t i = 0; i < over->n_columns; i++)
        LB_TRY(options_add_column(o, lb_str_of(over->columns[i].name), over->columns[i].type, err));
    o->value_set |= over->value_set;
    return LB_OK;
}

static lb_status options_merge(lb_read_options *o, const lb_read_options *over, lb_error *err)
{
    if (over == NULL)
        return LB_OK;
    LB_TRY(options_merge_structural(o, over, err));
    return options_merge_values(o, over, err);
}

lb_status lb_read_options_merge(const lb_read_options *from, const lb_read_options *over, lb_read_options **out,
                                lb_error *err)
{
    lb_read_options *o = NULL;
    *out = NULL;
    lb_status status = lb_read_options_new(&o, err);
    if (status == LB_OK)
        status = options_merge(o, from, err);
    if (status == LB_OK)
        status = options_merge(o, over, err);
    if (status != LB_OK) {
        lb_read_options_free(o);
        return status;
    }
    *out = o;
    return LB_OK;
}
