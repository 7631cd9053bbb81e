/* The end of a file: postscript, footer, and what they say of types and stripes. */
#include "base/hash.h"
#include "format/orc/orc.h"

/* The tail is read at once in the hope that the footer is in it. */
#define FILE_TAIL ((size_t)16 << 10)

/* A chunk's header has 23 bits for its size, so none has more; and the size that writers choose if a file names none. */
#define FILE_BLOCK_MOST ((size_t)1 << 23)
#define FILE_BLOCK_USUAL ((size_t)256 << 10)

/* A type takes at least so many bytes of the footer. */
#define FILE_TYPE_BYTES 2

typedef struct file_postscript {
    uint64_t footer, metadata, block, codec;
    uint64_t version[2];
    size_t n_version;
} file_postscript;

static lb_status file_damaged(const orc_file *f, const char *what, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_AT(f->tail_at), "the ORC file's %s is damaged", what);
}

/* ---------------------------------------------------------------- chunks */

lb_status orc_inflate(const orc_file *f, lb_str bytes, uint64_t at, uint64_t most, lb_buf *out, lb_error *err)
{
    lb_codec_work work = { 0 };
    lb_status status = LB_OK;
    const uint8_t *p = (const uint8_t *)bytes.at;
    size_t left = bytes.size;

    if (f->codec == LB_CODEC_NONE)
        return lb_buf_append(out, bytes.at, bytes.size, err);
    while (status == LB_OK && left != 0) {
        const uint32_t head = left < 3 ? 0 : (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
        const size_t size = head >> 1;
        if (left < 3 || size > left - 3)
            status = lb_fail(err, LB_CORRUPT, LB_AT(at + bytes.size - left), "a compressed chunk is cut off");
        else if (out->size + (head & 1 ? size : 0) > most)
            status = lb_fail(err, LB_CORRUPT, LB_AT(at), "compressed metadata has more bytes than it may");
        else if ((head & 1) != 0)
            status = lb_buf_append(out, p + 3, size, err);
        else
            status = lb_codec_decode_append(f->codec, &work, p + 3, size,
                                            (size_t)LB_MIN((uint64_t)f->block, most - out->size), out, err);
        if (status == LB_OK) {
            p += 3 + size;
            left -= 3 + size;
        }
    }
    lb_codec_work_free(&work);
    if (status == LB_CORRUPT && err != NULL && err->offset < 0)
        err->offset = (int64_t)(at + bytes.size - left);
    return status;
}

/* ---------------------------------------------------------------- postscript */

static lb_status file_codec(orc_file *f, uint64_t kind, lb_error *err)
{
    static const lb_codec codecs[] = { LB_CODEC_NONE, LB_CODEC_DEFLATE, LB_CODEC_SNAPPY, LB_CODEC_LZO,
                                       LB_CODEC_LZ4,  LB_CODEC_ZSTD,    LB_CODEC_BROTLI };

    if (kind >= LB_COUNT_OF(codecs))
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(f->tail_at),
                       "the ORC file is compressed in a way not known here (%llu)", (unsigned long long)kind);
    f->codec = codecs[kind];
    return LB_OK;
}

static lb_status file_postscript_read(orc_file *f, lb_str bytes, file_postscript *ps, lb_error *err)
{
    lb_proto m = lb_proto_of(bytes);
    lb_proto_field field;
    lb_str magic = { NULL, 0 };

    *ps = (file_postscript){ .block = FILE_BLOCK_USUAL };
    while (lb_proto_next(&m, &field)) {
        lb_proto_packed numbers = lb_proto_unpack(&field);
        uint64_t v;
        switch (field.number) {
        case 1:
            ps->footer = field.value;
            break;
        case 2:
            ps->codec = field.value;
            break;
        case 3:
            ps->block = field.value;
            break;
        case 4:
            while (lb_proto_packed_next(&numbers, &v)) {
                if (ps->n_version < LB_COUNT_OF(ps->version))
                    ps->version[ps->n_version] = v;
                ps->n_version++;
            }
            break;
        case 5:
            ps->metadata = field.value;
            break;
        case 6:
            f->writer_version = field.value;
            break;
        case 8000:
            magic = field.bytes;
            break;
        default:
            break;
        }
    }
    if (m.bad || ps->footer == 0 || (magic.at != NULL && !lb_str_is(magic, "ORC"))) {
        lb_fail(err, LB_CORRUPT, LB_AT(f->tail_at), "this is no ORC file, or its end is missing");
        return LB_CORRUPT;
    }
    /* 0.11 and 0.12 are all there is; 1.9999 and beyond are trials of a format to come. */
    if (ps->n_version > 0 && ps->version[0] != 0)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(f->tail_at), "the file is ORC version %llu.%llu, not 0.11 or 0.12",
                       (unsigned long long)ps->version[0], (unsigned long long)ps->version[1]);
    f->block = (size_t)LB_MIN(LB_MAX(ps->block, (uint64_t)1), (uint64_t)FILE_BLOCK_MOST);
    return file_codec(f, ps->codec, err);
}

/* ---------------------------------------------------------------- types */

typedef struct file_counts {
    uint64_t stripes, types, stats;
} file_counts;

static lb_status file_count(orc_file *f, file_counts *n, lb_error *err)
{
    lb_proto m = lb_proto_of((lb_str){ (const char *)f->footer.data, f->footer.size });
    lb_proto_field field;

    *n = (file_counts){ 0 };
    while (lb_proto_next(&m, &field)) {
        n->stripes += field.number == 3;
        n->types += field.number == 4;
        n->stats += field.number == 7;
    }
    if (m.bad || n->types > UINT32_MAX / 2)
        return file_damaged(f, "footer", err);
    if (n->types == 0)
        return lb_fail(err, LB_CORRUPT, LB_AT(f->tail_at), "the ORC file has no types");
    return LB_OK;
}

static void type_count(lb_proto m, orc_type *t, lb_proto *bad)
{
    lb_proto_field field;
    uint64_t v;

    while (lb_proto_next(&m, &field)) {
        if (field.number == 2) {
            lb_proto_packed numbers = lb_proto_unpack(&field);
            while (lb_proto_packed_next(&numbers, &v))
                t->n_children++;
            m.bad = m.bad || numbers.inner.bad;
        }
        t->n_names += field.number == 3;
        t->n_attributes += field.number == 7;
    }
    bad->bad = bad->bad || m.bad;
}

static void type_attribute(lb_str bytes, lb_str pair[2], lb_proto *bad)
{
    lb_proto m = lb_proto_of(bytes);
    lb_proto_field field;

    while (lb_proto_next(&m, &field))
        if (field.number == 1 || field.number == 2)
            pair[field.number - 1] = field.bytes;
    bad->bad = bad->bad || m.bad;
}

static void type_fill(lb_proto m, orc_type *t, lb_proto *bad)
{
    lb_proto_field field;
    size_t children = 0, names = 0, attributes = 0;
    uint64_t v;

    while (lb_proto_next(&m, &field)) {
        lb_proto_packed numbers = lb_proto_unpack(&field);
        switch (field.number) {
        case 1:
            t->kind = field.value > ORC_GEOGRAPHY ? (orc_kind)(ORC_GEOGRAPHY + 1) : (orc_kind)field.value;
            break;
        case 2:
            while (lb_proto_packed_next(&numbers, &v))
                t->children[children++] = (uint32_t)LB_MIN(v, (uint64_t)UINT32_MAX);
            break;
        case 3:
            t->names[names++] = field.bytes;
            break;
        case 5:
            t->precision = (uint32_t)LB_MIN(field.value, (uint64_t)UINT32_MAX);
            break;
        case 6:
            t->scale = (uint32_t)LB_MIN(field.value, (uint64_t)UINT32_MAX);
            break;
        case 7:
            type_attribute(field.bytes, &t->attributes[2 * attributes++], bad);
            break;
        default:
            break;
        }
    }
}

static lb_status type_read(orc_file *f, lb_str bytes, orc_type *t, lb_error *err)
{
    lb_proto m = lb_proto_of(bytes), bad = { 0 };

    type_count(m, t, &bad);
    if (bad.bad)
        return file_damaged(f, "list of types", err);
    t->children = lb_arena_alloc(&f->arena, t->n_children + 1, sizeof *t->children);
    t->names = lb_arena_alloc(&f->arena, t->n_names + 1, sizeof *t->names);
    t->attributes = lb_arena_alloc(&f->arena, 2 * (size_t)t->n_attributes + 1, sizeof *t->attributes);
    if (t->children == NULL || t->names == NULL || t->attributes == NULL)
        return lb_arena_fail(&f->arena, err);
    type_fill(m, t, &bad);
    return bad.bad ? file_damaged(f, "list of types", err) : LB_OK;
}

static lb_status type_check(const orc_file *f, orc_type *t, lb_error *err)
{
    static const int8_t children[] = {
        [ORC_LIST] = 1, [ORC_MAP] = 2, [ORC_STRUCT] = -1, [ORC_UNION] = -1, [ORC_GEOGRAPHY] = 0
    };

    if (t->kind > ORC_GEOGRAPHY)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(f->tail_at), "type %u of the ORC file is of a kind not known here",
                       t->id);
    if (children[t->kind] >= 0 && t->n_children != (uint32_t)children[t->kind])
        return lb_fail(err, LB_CORRUPT, LB_AT(f->tail_at), "type %u of the ORC file has %u children", t->id,
                       t->n_children);
    if (t->kind == ORC_STRUCT && t->n_names != t->n_children)
        return lb_fail(err, LB_CORRUPT, LB_AT(f->tail_at), "type %u of the ORC file has %u fields, but %u names", t->id,
                       t->n_children, t->n_names);
    if (t->kind != ORC_DECIMAL)
        return LB_OK;
    t->undeclared = t->precision == 0;
    if (t->undeclared) {
        t->precision = 38;
        t->scale = 18;
    }
    if (t->precision > 38 || t->scale > t->precision)
        return lb_fail(err, LB_CORRUPT, LB_AT(f->tail_at), "type %u of the ORC file is decimal(%u,%u)", t->id,
                       t->precision, t->scale);
    return LB_OK;
}

/* A tree: every type but the root is the child of one before it. */
static lb_status file_check_tree(orc_file *f, lb_error *err)
{
    uint8_t *depth = lb_arena_alloc(&f->arena, f->n_types, 1);

    if (depth == NULL)
        return lb_arena_fail(&f->arena, err);
    depth[0] = 1;
    for (uint32_t i = 0; i < f->n_types; i++) {
        orc_type *t = &f->types[i];
        LB_TRY(type_check(f, t, err));
        if (depth[i] == 0) { /* part of nothing: never read, and its children are not looked at */
            t->n_children = t->n_names = 0;
            continue;
        }
        if (depth[i] > LB_TYPE_DEPTH - 4)
            return lb_fail(err, LB_UNSUPPORTED, LB_AT(f->tail_at), "the ORC file's types are nested too deep");
        for (uint32_t k = 0; k < t->n_children; k++) {
            const uint32_t child = t->children[k];
            if (child <= i || child >= f->n_types || depth[child] != 0)
                return lb_fail(err, LB_CORRUPT, LB_AT(f->tail_at), "the ORC file's types are no tree (type %u)", i);
            depth[child] = (uint8_t)(depth[i] + 1 + (t->kind == ORC_MAP));
        }
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- stripes, encryption */

static lb_status file_stripe(orc_file *f, lb_str bytes, uint64_t end, orc_stripe *s, lb_error *err)
{
    lb_proto m = lb_proto_of(bytes);
    lb_proto_field field;
    uint64_t sum;

    while (lb_proto_next(&m, &field)) {
        uint64_t *const members[] = { &s->offset, &s->index, &s->data, &s->footer, &s->rows };
        if (field.number >= 1 && field.number <= LB_COUNT_OF(members))
            *members[field.number - 1] = field.value;
    }
    if (m.bad || !lb_add_u64(s->offset, s->index, &sum) || !lb_add_u64(sum, s->data, &sum) ||
        !lb_add_u64(sum, s->footer, &sum) || sum > end)
        return lb_fail(err, LB_CORRUPT, LB_AT(f->tail_at), "a stripe of the ORC file does not lie in it");
    s->first_row = f->rows;
    if (!lb_add_u64(f->rows, s->rows, &f->rows) || f->rows > INT64_MAX)
        return lb_fail(err, LB_CORRUPT, LB_AT(f->tail_at), "the ORC file's stripes claim too many rows");
    return LB_OK;
}

static void encrypted_mark(orc_file *f, uint32_t id)
{
    orc_type *t = &f->types[id];

    if (t->encrypted)
        return; /* and all below it: many variants may name the same root */
    t->encrypted = true;
    for (uint32_t i = 0; i < t->n_children; i++)
        encrypted_mark(f, t->children[i]);
}

/* Variants (3) name the roots of what is encrypted. */
static lb_status file_encryption(orc_file *f, lb_str bytes, lb_error *err)
{
    lb_proto m = lb_proto_of(bytes);
    lb_proto_field variant, field;

    while (lb_proto_next(&m, &variant)) {
        if (variant.number != 3)
            continue;
        lb_proto inner = lb_proto_of(variant.bytes);
        uint64_t root = 0;
        while (lb_proto_next(&inner, &field))
            if (field.number == 1)
                root = field.value;
        if (inner.bad || root >= f->n_types)
            return file_damaged(f, "list of encrypted columns", err);
        encrypted_mark(f, (uint32_t)root);
    }
    return m.bad ? file_damaged(f, "list of encrypted columns", err) : LB_OK;
}

/* ---------------------------------------------------------------- footer */

static lb_status file_alloc(orc_file *f, const file_counts *n, lb_error *err)
{
    f->n_types = (uint32_t)n->types;
    f->types = lb_arena_alloc(&f->arena, n->types, sizeof *f->types);
    f->stripes = lb_arena_alloc(&f->arena, (size_t)n->stripes + 1, sizeof *f->stripes);
    f->stats = lb_arena_alloc(&f->arena, n->types, sizeof *f->stats);
    return f->types == NULL || f->stripes == NULL || f->stats == NULL ? lb_arena_fail(&f->arena, err) : LB_OK;
}

static lb_status file_footer(orc_file *f, uint64_t end, lb_error *err)
{
    lb_proto m = lb_proto_of((lb_str){ (const char *)f->footer.data, f->footer.size });
    lb_proto_field field;
    lb_str encryption = { NULL, 0 };
    uint64_t claimed = 0, stats = 0;
    uint32_t types = 0;
    file_counts n;

    LB_TRY(file_count(f, &n, err));
    LB_TRY(file_alloc(f, &n, err));
    while (lb_proto_next(&m, &field)) {
        switch (field.number) {
        case 3:
            LB_TRY(file_stripe(f, field.bytes, end, &f->stripes[f->n_stripes++], err));
            break;
        case 4:
            f->types[types].id = types;
            LB_TRY(type_read(f, field.bytes, &f->types[types++], err));
            break;
        case 6:
            claimed = field.value;
            break;
        case 7:
            if (stats < n.types)
                f->stats[stats++] = field.bytes;
            break;
        case 8:
            f->stride = field.value;
            break;
        case 9:
            f->writer = field.value;
            break;
        case 10:
            encryption = field.bytes;
            break;
        default:
            break;
        }
    }
    LB_TRY(file_check_tree(f, err));
    LB_TRY(file_encryption(f, encryption, err));
    /* Some writers leave the sum out. */
    if (claimed != 0 && claimed != f->rows)
        return lb_fail(err, LB_CORRUPT, LB_AT(f->tail_at), "the ORC file claims %llu rows, its stripes %llu",
                       (unsigned long long)claimed, (unsigned long long)f->rows);
    return LB_OK;
}

/* ---------------------------------------------------------------- opening */

static lb_status file_read(orc_file *f, uint64_t at, uint64_t size, lb_buf *out, lb_error *err)
{
    size_t got = 0;

    out->size = 0;
    LB_TRY(lb_buf_reserve(out, (size_t)size, err));
    LB_TRY(lb_store_read(f->store, at, out->data, (size_t)size, &got, err));
    if (got != size)
        return lb_fail(err, LB_STALE, LB_AT(at), "the file became shorter while it was read");
    out->size = got;
    return LB_OK;
}

static lb_status file_tail(orc_file *f, lb_buf *tail, lb_error *err)
{
    const uint64_t size = f->store->size;
    uint64_t at = size > FILE_TAIL ? size - FILE_TAIL : 0;
    file_postscript ps;

    f->tail_at = size;
    if (size < 4)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "%llu bytes are no ORC file", (unsigned long long)size);
    LB_TRY(file_read(f, at, size - at, tail, err));
    const uint64_t ps_size = tail->data[tail->size - 1];
    if (ps_size + 1 > tail->size || ps_size == 0)
        return lb_fail(err, LB_CORRUPT, LB_AT(size - 1), "this is no ORC file, or its end is missing");
    const uint64_t ps_at = size - 1 - ps_size;
    f->tail_at = ps_at;
    LB_TRY(file_postscript_read(f, (lb_str){ (const char *)tail->data + tail->size - 1 - ps_size, (size_t)ps_size },
                                &ps, err));
    if (ps.footer > ps_at || ps.metadata > ps_at - ps.footer)
        return lb_fail(err, LB_CORRUPT, LB_AT(ps_at), "the ORC file's footer does not lie in it");
    f->tail_at = ps_at - ps.footer;
    f->metadata_at = f->tail_at - ps.metadata;
    f->metadata_size = ps.metadata;
    if (f->tail_at < at) {
        at = f->tail_at;
        LB_TRY(file_read(f, at, size - at, tail, err));
    }
    const uint8_t *footer = tail->data + (f->tail_at - at);
    f->tail_hash = lb_xxh3_64(footer, (size_t)(size - f->tail_at));
    LB_TRY(orc_inflate(f, (lb_str){ (const char *)footer, (size_t)ps.footer }, f->tail_at, UINT64_MAX >> 1, &f->footer,
                       err));
    return file_footer(f, f->metadata_at, err);
}

void orc_file_close(orc_file *f)
{
    if (f->schema.release != NULL)
        f->schema.release(&f->schema);
    lb_buf_free(&f->footer);
    lb_arena_free(&f->arena);
    *f = (orc_file){ 0 };
}

lb_status orc_file_open(lb_context *cx, lb_store *store, orc_file *out, lb_error *err)
{
    lb_buf tail;

    *out = (orc_file){ .cx = cx, .store = store };
    lb_arena_init(&out->arena, &cx->budget);
    lb_buf_init(&out->footer, &cx->budget);
    lb_buf_init(&tail, &cx->budget);
    lb_status status = file_tail(out, &tail, err);
    if (status == LB_OK)
        status = orc_file_schema(out, err);
    lb_buf_free(&tail);
    if (status != LB_OK)
        orc_file_close(out);
    return status;
}
