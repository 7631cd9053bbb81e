/* Stripes: the footer says where each column's streams lie, the row index where in them every so many rows begin. */
#include "format/orc/orc.h"

/* Footers and indexes have at most so many bytes once decompressed. */
#define STRIPE_METADATA_MOST ((uint64_t)1 << 30)

typedef struct stripe_stream {
    uint64_t kind, offset, length;
    uint32_t next; /* of the same column: its place + 1; 0: none */
} stripe_stream;

/* A root above the one column of a file whose root is no struct. */
static const orc_type rows_above = { .kind = ORC_STRUCT, .id = UINT32_MAX };

typedef struct stripe_encoding {
    uint64_t kind, words;
} stripe_encoding;

/* A stripe's footer, taken apart. */
typedef struct stripe_footer {
    lb_buf streams;   /* stripe_stream */
    lb_buf encodings; /* stripe_encoding, one a type */
    lb_buf heads;     /* uint32 for each type: place + 1 of a stream of it */
    lb_str zone;
} stripe_footer;

/* ---------------------------------------------------------------- footer */

static lb_status stripe_read(const orc_rows *r, uint64_t at, uint64_t size, uint64_t most, lb_buf *out, lb_error *err)
{
    lb_buf raw;
    size_t got = 0;

    out->size = 0;
    lb_buf_init(&raw, &r->file->cx->budget);
    lb_status status = lb_buf_reserve(&raw, (size_t)size + 1, err);
    if (status == LB_OK)
        status = lb_store_read(r->file->store, at, raw.data, (size_t)size, &got, err);
    if (status == LB_OK && got != size)
        status = lb_fail(err, LB_STALE, LB_AT(at), "the file became shorter while it was read");
    if (status == LB_OK)
        status = orc_inflate(r->file, (lb_str){ (const char *)raw.data, got }, at, most, out, err);
    lb_buf_free(&raw);
    return status;
}

static lb_status footer_stream(const orc_rows *r, stripe_footer *f, lb_str bytes, uint64_t *at, lb_error *err)
{
    const orc_stripe *s = &r->file->stripes[r->stripe];
    lb_proto m = lb_proto_of(bytes);
    lb_proto_field field;
    stripe_stream stream = { .offset = *at };
    uint64_t column = 0;

    while (lb_proto_next(&m, &field)) {
        if (field.number == 1)
            stream.kind = field.value;
        else if (field.number == 2)
            column = field.value;
        else if (field.number == 3)
            stream.length = field.value;
    }
    if (m.bad || stream.length > s->offset + s->index + s->data - *at)
        return lb_fail(err, LB_CORRUPT, LB_AT(s->offset + s->index + s->data),
                       "the streams of stripe %llu do not lie in it", (unsigned long long)r->stripe);
    *at += stream.length;
    if (column >= r->file->n_types)
        return LB_OK;
    uint32_t *head = (uint32_t *)(void *)f->heads.data + column;
    stream.next = *head;
    *head = (uint32_t)(f->streams.size / sizeof stream) + 1;
    return lb_buf_append(&f->streams, &stream, sizeof stream, err);
}

static lb_status footer_encoding(stripe_footer *f, lb_str bytes, lb_proto *bad, lb_error *err)
{
    lb_proto m = lb_proto_of(bytes);
    lb_proto_field field;
    stripe_encoding e = { 0 };

    while (lb_proto_next(&m, &field)) {
        if (field.number == 1)
            e.kind = field.value;
        else if (field.number == 2)
            e.words = field.value;
    }
    bad->bad = bad->bad || m.bad;
    return lb_buf_append(&f->encodings, &e, sizeof e, err);
}

static lb_status footer_parse(orc_rows *r, stripe_footer *f, lb_error *err)
{
    const orc_stripe *s = &r->file->stripes[r->stripe];
    const size_t heads = r->file->n_types * sizeof(uint32_t);
    lb_proto m = lb_proto_of((lb_str){ (const char *)r->footer.data, r->footer.size });
    lb_proto_field field;
    uint64_t at = s->offset;

    LB_TRY(lb_buf_reserve(&f->heads, heads, err));
    memset(f->heads.data, 0, heads);
    while (lb_proto_next(&m, &field)) {
        if (field.number == 1)
            LB_TRY(footer_stream(r, f, field.bytes, &at, err));
        else if (field.number == 2)
            LB_TRY(footer_encoding(f, field.bytes, &m, err));
        else if (field.number == 3)
            f->zone = field.bytes;
    }
    if (m.bad)
        return lb_fail(err, LB_CORRUPT, LB_AT(s->offset + s->index + s->data), "the footer of stripe %llu is damaged",
                       (unsigned long long)r->stripe);
    return LB_OK;
}

/* ---------------------------------------------------------------- columns */

static bool stripe_is_text(orc_kind kind)
{
    return kind == ORC_STRING || kind == ORC_VARCHAR || kind == ORC_CHAR || kind == ORC_BINARY;
}

/* Types whose streams are all of one form: some writers give them encodings that there are none of. */
static bool stripe_is_plain(orc_kind kind)
{
    return kind == ORC_STRUCT || kind == ORC_UNION || kind == ORC_BOOLEAN || kind == ORC_BYTE || kind == ORC_FLOAT ||
           kind == ORC_DOUBLE;
}

static lb_status stripe_encode(const orc_rows *r, orc_node *n, const stripe_footer *f, lb_error *err)
{
    const size_t count = f->encodings.size / sizeof(stripe_encoding);
    const orc_kind kind = n->type->kind;

    n->has_encoding = n->type == &rows_above || n->type->id < count; /* without one, an error once it is read */
    if (stripe_is_plain(kind) || !n->has_encoding)
        return LB_OK;
    const stripe_encoding *e = (const stripe_encoding *)(const void *)f->encodings.data + n->type->id;
    n->v2 = e->kind >= 2;
    n->dictionary = (e->kind & 1) != 0;
    n->n_dictionary = e->words;
    if (e->kind <= 3 && (!n->dictionary || stripe_is_text(kind)))
        return LB_OK;
    return lb_fail(err, LB_UNSUPPORTED, LB_AT(r->file->stripes[r->stripe].offset),
                   "column '%.80s': encoding %llu is not one of its type", n->column, (unsigned long long)e->kind);
}

static void stripe_stream_of(orc_rows *r, orc_node *n, const stripe_stream *s)
{
    static const int8_t places[] = { ORC_IN_PRESENT, ORC_IN_DATA, ORC_IN_LENGTH, ORC_IN_DICTIONARY, -1, ORC_IN_SECOND };

    if (s->kind == 6) {
        n->index_at = s->offset;
        n->index_size = s->length;
    }
    if (s->kind >= LB_COUNT_OF(places) || places[s->kind] < 0 || s->length == 0)
        return;
    const unsigned place = (unsigned)places[s->kind];
    orc_in_init(&n->in[place], &r->work, n->column, s->offset, s->length);
    n->in_there[place] = true;
}

static lb_status stripe_open_node(orc_rows *r, orc_node *n, const stripe_footer *f, lb_error *err)
{
    const orc_stripe *s = &r->file->stripes[r->stripe];
    const stripe_stream *streams = (const stripe_stream *)(const void *)f->streams.data;

    /* What is not there says so when it is read. */
    for (unsigned i = 0; i < ORC_INS; i++)
        orc_in_init(&n->in[i], &r->work, n->column, s->offset, 0);
    const uint32_t *heads = (const uint32_t *)(const void *)f->heads.data;
    for (uint32_t at = n->type == &rows_above ? 0 : heads[n->type->id]; at != 0; at = streams[at - 1].next)
        stripe_stream_of(r, n, &streams[at - 1]);
    LB_TRY(stripe_encode(r, n, f, err));
    for (size_t i = 0; i < n->n_children; i++)
        LB_TRY(stripe_open_node(r, &n->children[i], f, err));
    return LB_OK;
}

/* ---------------------------------------------------------------- time zones */

static bool stripe_has_timestamps(const orc_node *n)
{
    bool has = n->type->kind == ORC_TIMESTAMP;

    for (size_t i = 0; i < n->n_children && !has; i++)
        has = stripe_has_timestamps(&n->children[i]);
    return has;
}

static void stripe_set_zone(orc_rows *r, orc_node *n, int64_t base, bool utc)
{
    n->zone = n->type->kind == ORC_TIMESTAMP && !utc ? &r->zone : NULL;
    n->zone_base = n->type->kind == ORC_TIMESTAMP ? base : INT64_C(1420070400);
    for (size_t i = 0; i < n->n_children; i++)
        stripe_set_zone(r, &n->children[i], base, utc);
}

/* Timestamps count from the beginning of 2015 by the clock of whoever wrote the stripe. */
static lb_status stripe_zone(orc_rows *r, lb_str name, lb_error *err)
{
    char text[sizeof r->zone_name];

    if (!stripe_has_timestamps(&r->root))
        name = LB_STR("");
    if (name.size >= sizeof text)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(r->file->stripes[r->stripe].offset),
                       "timestamps are in a time zone with a name of %zu bytes", name.size);
    lb_copy_text(text, sizeof text, name.size == 0 ? "" : name.at, name.size);
    if (strcmp(text, r->zone_name) != 0) {
        orc_zone_free(&r->zone);
        r->zone_name[0] = '\0';
        LB_TRY(orc_zone_load(text, &r->zone, err));
        lb_copy_text(r->zone_name, sizeof r->zone_name, text, strlen(text));
    }
    const bool utc = orc_zone_is_utc(text);
    const int64_t base = utc ? INT64_C(1420070400) : orc_zone_instant(&r->zone, INT64_C(1420070400));
    stripe_set_zone(r, &r->root, base, utc);
    return LB_OK;
}

/* ---------------------------------------------------------------- opening a stripe */

static lb_status stripe_set_up(orc_rows *r, stripe_footer *f, lb_error *err)
{
    const orc_stripe *s = &r->file->stripes[r->stripe];

    LB_TRY(stripe_read(r, s->offset + s->index + s->data, s->footer, STRIPE_METADATA_MOST, &r->footer, err));
    LB_TRY(footer_parse(r, f, err));
    LB_TRY(stripe_open_node(r, &r->root, f, err));
    LB_TRY(stripe_zone(r, f->zone, err));
    orc_node_start(&r->root);
    return LB_OK;
}

static void rows_close_stripe(orc_rows *r)
{
    orc_node_close_stripe(&r->root);
    r->stripe = UINT64_MAX;
}

static lb_status rows_open_stripe(orc_rows *r, uint64_t stripe, lb_error *err)
{
    lb_budget *budget = &r->file->cx->budget;
    stripe_footer f = { 0 };

    rows_close_stripe(r);
    r->stripe = stripe;
    r->at = 0;
    lb_buf_init(&f.streams, budget);
    lb_buf_init(&f.encodings, budget);
    lb_buf_init(&f.heads, budget);
    lb_status status = stripe_set_up(r, &f, err);
    lb_buf_free(&f.streams);
    lb_buf_free(&f.encodings);
    lb_buf_free(&f.heads);
    if (status != LB_OK)
        rows_close_stripe(r);
    return status;
}

/* ---------------------------------------------------------------- row index */

static lb_status index_entry(orc_index *x, lb_str bytes, lb_proto *bad, lb_error *err)
{
    lb_proto m = lb_proto_of(bytes);
    lb_proto_field field;
    uint64_t v;

    while (lb_proto_next(&m, &field)) {
        lb_proto_packed numbers = lb_proto_unpack(&field);
        while (field.number == 1 && lb_proto_packed_next(&numbers, &v))
            LB_TRY(lb_buf_append(&x->positions, &v, sizeof v, err));
        m.bad = m.bad || (field.number == 1 && numbers.inner.bad);
    }
    bad->bad = bad->bad || m.bad;
    const uint32_t end = (uint32_t)(x->positions.size / sizeof v);
    return lb_buf_append(&x->starts, &end, sizeof end, err);
}

static lb_status index_parse(const orc_node *n, orc_index *x, lb_str bytes, lb_error *err)
{
    lb_proto m = lb_proto_of(bytes);
    lb_proto_field field;
    const uint32_t zero = 0;
    size_t entries = 0;

    LB_TRY(lb_buf_append(&x->starts, &zero, sizeof zero, err));
    while (lb_proto_next(&m, &field))
        if (field.number == 1) {
            LB_TRY(index_entry(x, field.bytes, &m, err));
            entries++;
        }
    if (m.bad || x->positions.size / sizeof(uint64_t) > UINT32_MAX)
        return lb_fail(err, LB_CORRUPT, LB_AT(n->index_at), "column '%.80s': its row index is damaged", n->column);
    x->n = entries;
    return LB_OK;
}

static lb_status index_load(const orc_rows *r, orc_node *n, lb_error *err)
{
    orc_index *x = &n->index;
    lb_buf bytes;

    for (size_t i = 0; i < n->n_children; i++)
        LB_TRY(index_load(r, &n->children[i], err));
    if (x->read || n->index_size == 0)
        return LB_OK;
    x->read = true;
    lb_buf_init(&bytes, &r->file->cx->budget);
    lb_status status = stripe_read(r, n->index_at, n->index_size, STRIPE_METADATA_MOST, &bytes, err);
    if (status == LB_OK)
        status = index_parse(n, x, (lb_str){ (const char *)bytes.data, bytes.size }, err);
    lb_buf_free(&bytes);
    return status;
}

/* ---------------------------------------------------------------- going to a row */

uint64_t orc_find_stripe(const orc_file *f, uint64_t row)
{
    uint64_t low = 0, high = f->n_stripes;

    while (low < high) { /* the first that begins behind the row */
        const uint64_t middle = low + (high - low) / 2;
        if (f->stripes[middle].first_row > row)
            high = middle;
        else
            low = middle + 1;
    }
    return low - 1;
}

/* A column from row `from` to row `to`, by the index where that is nearer. */
static lb_status column_goto(orc_rows *r, orc_node *n, uint64_t from, uint64_t to, lb_error *err)
{
    const uint64_t stride = r->file->stride, rows = r->file->stripes[r->stripe].rows;
    const bool indexed = stride != 0 && !r->no_index;
    bool done = false;

    if (indexed && to >= stride &&
        (to / stride != from / stride || to < from || (r->always_index && to % stride == 0))) {
        LB_TRY(index_load(r, n, err));
        LB_TRY(orc_node_seek(n, to / stride, (rows + stride - 1) / stride, &done, err));
        if (done)
            from = to / stride * stride;
    }
    if (!done && to < from) {
        LB_TRY(orc_node_rewind(n, err));
        from = 0;
    }
    return orc_node_skip(n, r->build, to - from, err);
}

/* Rows that are null as a whole bind the columns together; without such each column goes its own way. */
static lb_status rows_goto(orc_rows *r, uint64_t row, lb_error *err)
{
    if (r->root.in_there[ORC_IN_PRESENT])
        return column_goto(r, &r->root, r->at, row, err);
    for (size_t i = 0; i < r->root.n_children; i++)
        LB_TRY(column_goto(r, &r->root.children[i], r->at, row, err));
    return LB_OK;
}

lb_status orc_rows_goto(orc_rows *r, uint64_t stripe, uint64_t row, lb_error *err)
{
    lb_status status = LB_OK;

    if (stripe != r->stripe)
        LB_TRY(rows_open_stripe(r, stripe, err));
    if (row == r->at && !(r->always_index && r->file->stride != 0 && row % r->file->stride == 0))
        return LB_OK;
    status = rows_goto(r, row, err);
    r->at = row;
    if (status != LB_OK)
        rows_close_stripe(r); /* columns stand apart */
    return status;
}

static lb_status rows_read(orc_rows *r, size_t n, lb_error *err)
{
    if (r->root.in_there[ORC_IN_PRESENT])
        return orc_node_read(&r->root, r->build, n, NULL, err);
    for (size_t i = 0; i < r->root.n_children; i++)
        LB_TRY(orc_node_read(&r->root.children[i], r->build, n, NULL, err));
    return LB_OK;
}

lb_status orc_rows_read(orc_rows *r, size_t n, lb_error *err)
{
    r->build->stop = n > 1 ? r->build->bytes + ORC_STEP_BYTES : UINT64_MAX;
    lb_status status = rows_read(r, n, err);

    r->at += n;
    if (status != LB_OK)
        rows_close_stripe(r);
    return status;
}

/* ---------------------------------------------------------------- all of it */

void orc_rows_reset(orc_rows *r)
{
    orc_node_reset(&r->root);
    if (r->build != NULL) {
        lb_budget_give(r->build->budget, r->build->taken);
        r->build->taken = r->build->bytes = 0;
        r->build->too_long = false;
    }
}

void orc_rows_close(orc_rows *r)
{
    orc_rows_reset(r);
    rows_close_stripe(r);
    lb_buf_free(&r->footer);
    lb_buf_free(&r->work.scratch);
    lb_codec_work_free(&r->work.codec);
    orc_zone_free(&r->zone);
}

bool orc_is_encrypted(const orc_file *f, uint32_t type)
{
    const orc_type *t = &f->types[type];
    bool found = t->encrypted;

    for (uint32_t i = 0; i < t->n_children && !found; i++)
        found = orc_is_encrypted(f, t->children[i]);
    return found;
}

static lb_status rows_check_column(const orc_file *f, uint64_t column, lb_error *err)
{
    if (column >= f->n_columns)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the file has %u columns, not column %llu", f->n_columns,
                       (unsigned long long)column);
    if (!orc_is_encrypted(f, f->columns[column]))
        return LB_OK;
    lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "column '%.80s' is encrypted, which Lakebed does not read",
            orc_column_name(f, column));
    lb_fail_hint(err, "the other columns can be read: name them with --columns");
    return LB_UNSUPPORTED;
}

/* The root with the columns asked for in the place of its own. */
static lb_status rows_nodes(orc_rows *r, const uint64_t *columns, size_t n, lb_arena *arena, lb_error *err)
{
    const orc_file *f = r->file;

    r->root.children = lb_arena_alloc(arena, n + 1, sizeof *r->root.children);
    if (r->root.children == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        LB_TRY(
            orc_node_make(f, f->columns[columns[i]], orc_column_name(f, columns[i]), arena, &r->root.children[i], err));
        r->root.n_children++;
    }
    return LB_OK;
}

lb_status orc_rows_open(orc_rows *r, const orc_file *file, const uint64_t *columns, size_t n, lb_arena *arena,
                        lb_error *err)
{
    *r = (orc_rows){ .file = file, .work = { .file = file }, .stripe = UINT64_MAX };
    lb_buf_init(&r->work.scratch, &file->cx->budget);
    lb_buf_init(&r->footer, &file->cx->budget);
    orc_node_init(file, file->bare ? &rows_above : &file->types[0], "", &r->root);
    r->build = lb_arena_alloc(arena, 1, sizeof *r->build);
    if (r->build == NULL)
        return lb_arena_fail(arena, err);
    r->build->budget = &file->cx->budget;
    for (size_t i = 0; i < n; i++)
        LB_TRY(rows_check_column(file, columns[i], err));
    return rows_nodes(r, columns, n, arena, err);
}
