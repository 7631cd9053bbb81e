#include "lineage/lineage_json.h"

#include <stdlib.h>

#include "base/number.h"
#include "lineage/lineage_record.h"
#include "wire/json_pull.h"

/* ---------------------------------------------------------------- query ids */

static void put_hex(uint64_t v, char *out)
{
    for (int i = 0; i < 16; i++)
        out[i] = "0123456789abcdef"[v >> (60 - 4 * i) & 15];
}

void lb_query_id_print(uint64_t hi, uint64_t lo, char out[LB_QUERY_ID_TEXT])
{
    put_hex(hi, out);
    out[16] = ':';
    put_hex(lo, out + 17);
    out[33] = '\0';
}

/* The digits up to `end`; false where there are none, too many, or others. */
static bool parse_hex(const char *at, const char *end, uint64_t *out)
{
    if (at == end || end - at > 16)
        return false;
    for (*out = 0; at < end; at++) {
        char c = *at >= 'A' && *at <= 'F' ? (char)(*at | 0x20) : *at;
        bool digit = c >= '0' && c <= '9';
        if (!digit && !(c >= 'a' && c <= 'f'))
            return false;
        *out = *out << 4 | (uint64_t)(digit ? c - '0' : c - 'a' + 10);
    }
    return true;
}

bool lb_query_id_parse(lb_str text, uint64_t *hi, uint64_t *lo)
{
    const char *colon = text.size == 0 ? NULL : memchr(text.at, ':', text.size);
    return colon != NULL && parse_hex(text.at, colon, hi) && parse_hex(colon + 1, text.at + text.size, lo);
}

/* ---------------------------------------------------------------- writing
 * Room is made first, for a string by what it can grow to, so that what follows cannot fail. */

/* The letter of a short escape; 1: six bytes, \u00XX; 0: as it is. */
static const char json_escapes[256] = {
    ['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't',
    [0] = 1,     [1] = 1,       [2] = 1,      [3] = 1,      [4] = 1,      [5] = 1,      [6] = 1,
    [7] = 1,     [11] = 1,      [14] = 1,     [15] = 1,     [16] = 1,     [17] = 1,     [18] = 1,
    [19] = 1,    [20] = 1,      [21] = 1,     [22] = 1,     [23] = 1,     [24] = 1,     [25] = 1,
    [26] = 1,    [27] = 1,      [28] = 1,     [29] = 1,     [30] = 1,     [31] = 1,
};

static void put_escape(lb_buf *out, uint8_t c)
{
    static const char digits[] = "0123456789ABCDEF";
    lb_buf_putc(out, '\\');
    if (json_escapes[c] != 1) {
        lb_buf_putc(out, json_escapes[c]);
        return;
    }
    lb_buf_put(out, "u00", 3);
    lb_buf_putc(out, digits[c >> 4]);
    lb_buf_putc(out, digits[c & 15]);
}

static lb_status write_text(lb_buf *out, lb_str text, lb_error *err)
{
    const uint8_t *at = (const uint8_t *)text.at, *end = text.size == 0 ? at : at + text.size, *from = at;
    LB_TRY(lb_buf_append(out, "\"", 1, err));
    for (; at < end; at++) {
        if (json_escapes[*at] == 0)
            continue;
        LB_TRY(lb_buf_reserve(out, (size_t)(at - from) + 6, err));
        lb_buf_put(out, from, (size_t)(at - from));
        put_escape(out, *at);
        from = at + 1;
    }
    LB_TRY(lb_buf_reserve(out, (size_t)(end - from) + 1, err));
    lb_buf_put(out, from, (size_t)(end - from));
    lb_buf_putc(out, '"');
    return LB_OK;
}

/* `key` comes with its comma, quotes and colon. */
static lb_status write_key_text(lb_buf *out, lb_str key, lb_str text, lb_error *err)
{
    LB_TRY(lb_buf_append(out, key.at, key.size, err));
    return write_text(out, text, err);
}

static lb_status write_key_int(lb_buf *out, lb_str key, int64_t v, lb_error *err)
{
    char digits[LB_INT_TEXT];
    size_t n = lb_print_int64(v, digits);
    LB_TRY(lb_buf_reserve(out, key.size + n, err));
    lb_buf_put(out, key.at, key.size);
    lb_buf_put(out, digits, n);
    return LB_OK;
}

static void put_id(lb_buf *out, uint32_t id, bool first)
{
    char digits[LB_INT_TEXT];
    if (!first)
        lb_buf_putc(out, ',');
    lb_buf_put(out, digits, lb_print_uint64(id, digits));
}

#define EDGE_FRAME 64 /* bytes of an edge's keys and brackets, and more */
#define ID_TEXT 11    /* a vertex's id and a comma */

static lb_status write_edge(lb_buf *out, const lb_lineage_edge *edge, bool first, lb_error *err)
{
    LB_TRY(lb_buf_reserve(out, ((size_t)edge->n_sources + edge->n_targets) * ID_TEXT + EDGE_FRAME, err));
    if (!first)
        lb_buf_putc(out, ',');
    lb_buf_put(out, "{\"sources\":[", 12);
    for (uint32_t i = 0; i < edge->n_sources; i++)
        put_id(out, edge->sources[i].vertex, i == 0);
    lb_buf_put(out, "],\"targets\":[", 13);
    for (uint32_t i = 0; i < edge->n_targets; i++)
        put_id(out, edge->targets[i], i == 0);
    if (edge->type == LB_LINEAGE_PREDICATE)
        lb_buf_put(out, "],\"edgeType\":\"PREDICATE\"}", 25);
    else
        lb_buf_put(out, "],\"edgeType\":\"PROJECTION\"}", 26);
    return LB_OK;
}

static lb_status write_metadata(lb_buf *out, const lb_lineage_vertex *v, lb_error *err)
{
    LB_TRY(write_key_text(out, LB_STR(",\"metadata\":{\"tableName\":"), v->table_name, err));
    if (v->table_type.size != 0)
        LB_TRY(write_key_text(out, LB_STR(",\"tableType\":"), v->table_type, err));
    LB_TRY(write_key_int(out, LB_STR(",\"tableCreateTime\":"), v->create_time, err));
    return lb_buf_append(out, "}", 1, err);
}

static lb_status write_vertex(lb_buf *out, const lb_lineage_vertex *v, uint32_t id, lb_error *err)
{
    LB_TRY(write_key_int(out, id == 0 ? LB_STR("{\"id\":") : LB_STR(",{\"id\":"), id, err));
    LB_TRY(write_key_text(out, LB_STR(",\"vertexType\":\"COLUMN\",\"vertexId\":"), v->label, err));
    if (v->has_metadata)
        LB_TRY(write_metadata(out, v, err));
    return lb_buf_append(out, "}", 1, err);
}

static lb_status write_facts(lb_buf *out, const lb_lineage_graph *g, lb_error *err)
{
    char id[LB_QUERY_ID_TEXT];
    lb_query_id_print(g->query_id_hi, g->query_id_lo, id);
    LB_TRY(write_key_text(out, LB_STR("{\"queryText\":"), g->query_text, err));
    if (g->operation_type.size != 0)
        LB_TRY(write_key_text(out, LB_STR(",\"operationType\":"), g->operation_type, err));
    LB_TRY(write_key_text(out, LB_STR(",\"queryId\":"), (lb_str){ id, LB_QUERY_ID_TEXT - 1 }, err));
    LB_TRY(write_key_text(out, LB_STR(",\"hash\":"), g->hash, err));
    LB_TRY(write_key_text(out, LB_STR(",\"user\":"), g->user, err));
    LB_TRY(write_key_int(out, LB_STR(",\"timestamp\":"), g->started, err));
    return g->has_ended ? write_key_int(out, LB_STR(",\"endTime\":"), g->ended, err) : LB_OK;
}

lb_status lb_lineage_json_write(const lb_lineage_graph *g, lb_buf *out, lb_error *err)
{
    LB_TRY(write_facts(out, g, err));
    LB_TRY(lb_buf_append_str(out, ",\"edges\":[", err));
    for (uint32_t i = 0; i < g->n_edges; i++)
        LB_TRY(write_edge(out, &g->edges[i], i == 0, err));
    LB_TRY(lb_buf_append_str(out, "],\"vertices\":[", err));
    for (uint32_t i = 0; i < g->n_vertices; i++)
        LB_TRY(write_vertex(out, &g->vertices[i], i, err));
    LB_TRY(lb_buf_append(out, "]", 1, err));
    if (g->has_table_location)
        LB_TRY(write_key_text(out, LB_STR(",\"tableLocation\":"), g->table_location, err));
    return lb_buf_append(out, "}\n", 2, err);
}

/* ---------------------------------------------------------------- reading */

typedef struct json_record {
    lb_json_pull p;
    lb_arena *arena;
    lb_lineage_graph *graph;
    lb_buf ids;      /* int64_t: of the list being read */
    lb_buf vertices; /* lb_record_vertex */
    lb_buf edges;    /* lb_record_edge */
    bool has_text, has_vertices, has_edges;
} json_record;

static void record_append(json_record *r, lb_buf *to, const void *item, size_t size)
{
    if (r->p.status == LB_OK) {
        lb_status status = lb_buf_append(to, item, size, r->p.err);
        if (status != LB_OK) {
            r->p.status = status;
            r->p.in.at = r->p.in.end;
        }
    }
}

static const int64_t *read_ids(json_record *r, size_t *count)
{
    r->ids.size = 0;
    *count = 0;
    if (lb_json_pull_enter(&r->p, '['))
        while (lb_json_pull_next_item(&r->p)) {
            int64_t id = lb_json_pull_int(&r->p);
            record_append(r, &r->ids, &id, sizeof id);
        }
    if (r->p.status != LB_OK)
        return NULL;
    const int64_t *copy = lb_arena_dup(r->arena, r->ids.data, r->ids.size);
    if (copy == NULL)
        r->p.status = lb_arena_fail(r->arena, r->p.err);
    *count = copy == NULL ? 0 : r->ids.size / sizeof *copy;
    return copy;
}

static lb_lineage_edge_type read_edge_type(json_record *r)
{
    lb_str name = lb_json_pull_string(&r->p);
    if (lb_str_is(name, "PREDICATE"))
        return LB_LINEAGE_PREDICATE;
    if (!lb_str_is(name, "PROJECTION"))
        lb_json_pull_fail(&r->p, "edgeType is PROJECTION or PREDICATE");
    return LB_LINEAGE_PROJECTION;
}

static void read_edge(json_record *r)
{
    lb_record_edge edge = { .type = LB_LINEAGE_PROJECTION };
    lb_str key;
    if (!lb_json_pull_enter(&r->p, '{'))
        return;
    while (lb_json_pull_next_key(&r->p, &key)) {
        if (lb_str_is(key, "sources"))
            edge.sources = read_ids(r, &edge.n_sources);
        else if (lb_str_is(key, "targets"))
            edge.targets = read_ids(r, &edge.n_targets);
        else if (lb_str_is(key, "edgeType"))
            edge.type = read_edge_type(r);
        else
            lb_json_pull_skip(&r->p);
    }
    record_append(r, &r->edges, &edge, sizeof edge);
}

static void read_metadata(json_record *r, lb_lineage_vertex *v)
{
    lb_str key;
    if (!lb_json_pull_enter(&r->p, '{'))
        return;
    v->has_metadata = true;
    while (lb_json_pull_next_key(&r->p, &key)) {
        if (lb_str_is(key, "tableName"))
            v->table_name = lb_json_pull_string(&r->p);
        else if (lb_str_is(key, "tableType"))
            v->table_type = lb_json_pull_string(&r->p);
        else if (lb_str_is(key, "tableCreateTime"))
            v->create_time = lb_json_pull_int(&r->p);
        else
            lb_json_pull_skip(&r->p);
    }
}

static void read_vertex(json_record *r)
{
    lb_record_vertex vertex = { .id = -1, .vertex.create_time = -1 };
    bool has_id = false, has_label = false;
    lb_str key;
    if (!lb_json_pull_enter(&r->p, '{'))
        return;
    while (lb_json_pull_next_key(&r->p, &key)) {
        if (lb_str_is(key, "id")) {
            vertex.id = lb_json_pull_int(&r->p);
            has_id = true;
        } else if (lb_str_is(key, "vertexType")) {
            vertex.is_table = lb_str_is(lb_json_pull_string(&r->p), "TABLE");
        } else if (lb_str_is(key, "vertexId")) {
            vertex.vertex.label = lb_json_pull_string(&r->p);
            has_label = true;
        } else if (lb_str_is(key, "createTime")) {
            vertex.vertex.create_time = lb_json_pull_int(&r->p);
        } else if (lb_str_is(key, "metadata") && lb_json_pull_peek(&r->p) == LB_JSON_PULL_OBJECT) {
            read_metadata(r, &vertex.vertex);
        } else {
            lb_json_pull_skip(&r->p);
        }
    }
    if (!has_id || !has_label)
        lb_json_pull_fail(&r->p, "a vertex has an id and a vertexId");
    record_append(r, &r->vertices, &vertex, sizeof vertex);
}

static void read_list(json_record *r, lb_buf *items, void (*read_item)(json_record *r))
{
    items->size = 0;
    if (lb_json_pull_enter(&r->p, '['))
        while (lb_json_pull_next_item(&r->p))
            read_item(r);
}

static void read_query_id(json_record *r)
{
    lb_str text = lb_json_pull_string(&r->p);
    if (!lb_query_id_parse(text, &r->graph->query_id_hi, &r->graph->query_id_lo))
        lb_json_pull_fail(&r->p, "queryId is two hexadecimal numbers with a colon between");
}

static void read_lists(json_record *r, lb_str key)
{
    if (lb_str_is(key, "edges")) {
        read_list(r, &r->edges, read_edge);
        r->has_edges = true;
    } else if (lb_str_is(key, "vertices")) {
        read_list(r, &r->vertices, read_vertex);
        r->has_vertices = true;
    } else {
        lb_json_pull_skip(&r->p);
    }
}

static void read_member(json_record *r, lb_str key)
{
    lb_lineage_graph *g = r->graph;
    if (lb_str_is(key, "queryText")) {
        g->query_text = lb_json_pull_string(&r->p);
        r->has_text = true;
    } else if (lb_str_is(key, "operationType")) {
        g->operation_type = lb_json_pull_string(&r->p);
    } else if (lb_str_is(key, "queryId")) {
        read_query_id(r);
    } else if (lb_str_is(key, "hash")) {
        g->hash = lb_json_pull_string(&r->p);
    } else if (lb_str_is(key, "user")) {
        g->user = lb_json_pull_string(&r->p);
    } else if (lb_str_is(key, "timestamp")) {
        g->started = lb_json_pull_int(&r->p);
    } else if (lb_str_is(key, "endTime")) {
        g->ended = lb_json_pull_int(&r->p);
        g->has_ended = true;
    } else if (lb_str_is(key, "tableLocation")) {
        g->table_location = lb_json_pull_string(&r->p);
        g->has_table_location = true;
    } else {
        read_lists(r, key);
    }
}

static lb_status read_record(json_record *r, lb_str line, lb_error *err)
{
    lb_str key;
    lb_json_pull_begin(&r->p, line, r->arena, err);
    if (lb_json_pull_enter(&r->p, '{'))
        while (lb_json_pull_next_key(&r->p, &key))
            read_member(r, key);
    if (!r->has_text || !r->has_edges || !r->has_vertices)
        lb_json_pull_fail(&r->p, "a lineage record has queryText, edges and vertices");
    LB_TRY(lb_json_pull_end(&r->p));
    return lb_record_build((lb_record_vertex *)(void *)r->vertices.data, r->vertices.size / sizeof(lb_record_vertex),
                           (const lb_record_edge *)(const void *)r->edges.data, r->edges.size / sizeof(lb_record_edge),
                           r->arena, r->graph, err);
}

lb_status lb_lineage_json_read(lb_str line, lb_arena *arena, lb_lineage_graph *out, lb_error *err)
{
    json_record r = { .arena = arena, .graph = out };
    *out = (lb_lineage_graph){ .started = 0 };
    lb_buf_init(&r.ids, arena->budget);
    lb_buf_init(&r.vertices, arena->budget);
    lb_buf_init(&r.edges, arena->budget);
    lb_status status = read_record(&r, line, err);
    lb_buf_free(&r.ids);
    lb_buf_free(&r.vertices);
    lb_buf_free(&r.edges);
    return status;
}
