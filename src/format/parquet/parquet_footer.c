#include "format/parquet/parquet_footer.h"

#include "base/hash.h"

#define FOOTER_END 8                              /* length and magic */
#define FOOTER_GUESS ((size_t)32 << 10)           /* read at once, in the hope that it is all */
#define FOOTER_EMPTY_ROWS_MAX ((uint64_t)1 << 32) /* rows of a file without columns, which take no bytes */

/* ---------------------------------------------------------------- bytes */

static lb_status footer_short(const lb_store *store, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_AT(store->size), "the file is cut off: %llu bytes are too few for Parquet",
                   (unsigned long long)store->size);
}

lb_status lb_parquet_read_at(lb_store *store, uint64_t at, void *out, size_t size, lb_error *err)
{
    size_t got = 0;

    LB_TRY(lb_store_read(store, at, out, size, &got, err));
    return got == size ? LB_OK : lb_fail(err, LB_STALE, LB_AT(at + got), "the file became shorter while it was read");
}

/* The last bytes of the file into f->bytes, at least the length and magic. */
static lb_status footer_read_tail(lb_store *store, lb_parquet_footer *f, lb_error *err)
{
    size_t size = (size_t)LB_MIN(store->size, FOOTER_GUESS);

    if (store->size < FOOTER_END + 4)
        return footer_short(store, err);
    LB_TRY(lb_buf_reserve(&f->bytes, size, err));
    LB_TRY(lb_parquet_read_at(store, store->size - size, f->bytes.data, size, err));
    f->bytes.size = size;
    const size_t hashed = LB_MIN(size, LB_PARQUET_TAIL);
    f->tail_hash = lb_xxh3_64(f->bytes.data + size - hashed, hashed);
    return LB_OK;
}

/* The last `size` bytes of the file, of which the last ones are there. */
static lb_status footer_read_front(lb_store *store, lb_parquet_footer *f, size_t size, lb_error *err)
{
    const size_t there = f->bytes.size, more = size - there;
    lb_buf all;

    lb_buf_init(&all, f->bytes.budget);
    LB_TRY(lb_buf_reserve(&all, size, err));
    lb_status status = lb_parquet_read_at(store, store->size - size, all.data, more, err);
    if (status != LB_OK) {
        lb_buf_free(&all);
        return status;
    }
    memcpy(all.data + more, f->bytes.data, there);
    all.size = size;
    lb_buf_free(&f->bytes);
    f->bytes = all;
    return LB_OK;
}

static lb_status footer_check_magic(const lb_store *store, const uint8_t *end, lb_error *err)
{
    if (memcmp(end - 4, LB_PARQUET_MAGIC, 4) == 0)
        return LB_OK;
    if (memcmp(end - 4, LB_PARQUET_MAGIC_ENCRYPTED, 4) == 0)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(store->size - 4),
                       "the file is an encrypted Parquet file (its footer too), which Lakebed does not read");
    return lb_fail(err, LB_CORRUPT, LB_AT(store->size - 4),
                   "the file does not end in PAR1: it is cut off or no Parquet file");
}

/* All of it into f->bytes; *from: where in them it begins. */
static lb_status footer_load(lb_store *store, lb_parquet_footer *f, size_t *from, size_t *size, lb_error *err)
{
    uint32_t length;

    LB_TRY(footer_read_tail(store, f, err));
    const uint8_t *end = f->bytes.data + f->bytes.size;
    LB_TRY(footer_check_magic(store, end, err));
    memcpy(&length, end - FOOTER_END, sizeof length);
    if (length > store->size - FOOTER_END - 4 || length == 0)
        return lb_fail(err, LB_CORRUPT, LB_AT(store->size - FOOTER_END),
                       "the footer claims %u bytes, but the file has %llu", length, (unsigned long long)store->size);
    f->at = store->size - FOOTER_END - length;
    *size = length;
    if (length + (size_t)FOOTER_END > f->bytes.size)
        LB_TRY(footer_read_front(store, f, length + (size_t)FOOTER_END, err));
    *from = f->bytes.size - FOOTER_END - length;
    return LB_OK;
}

/* ---------------------------------------------------------------- row groups */

typedef struct footer_parse {
    lb_parquet_footer *f;
    uint64_t file_size;
    size_t chunks;   /* before the group that is read */
    size_t n_leaves; /* of the first group: all have as many */
} footer_parse;

static lb_status footer_bad_chunk(const footer_parse *p, const char *what, lb_error *err)
{
    const size_t n = p->f->meta_list.size / sizeof(lb_parquet_meta);

    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "row group %zu, column chunk %zu: %s",
                   p->f->group_list.size / sizeof(lb_parquet_group), n - p->chunks, what);
}

/* Where an index lies; one that cannot be is none. */
static uint32_t footer_index(const footer_parse *p, int64_t offset, int32_t length)
{
    if (offset <= 0 || length <= 0 || (uint64_t)offset > p->file_size ||
        (uint64_t)length > p->file_size - (uint64_t)offset)
        return 0;
    return (uint32_t)length;
}

static lb_status footer_chunk(footer_parse *p, const lb_pqt_chunk *c, lb_error *err)
{
    const lb_pqt_meta *m = &c->meta;
    int64_t offset = m->data_page;

    if ((c->has & LB_PQT_K_CRYPTO) != 0)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                       "the file has encrypted columns (the %zu. of row group %zu), which Lakebed does not read",
                       p->f->meta_list.size / sizeof(lb_parquet_meta) - p->chunks + 1,
                       p->f->group_list.size / sizeof(lb_parquet_group));
    if ((c->has & LB_PQT_K_META) == 0)
        return footer_bad_chunk(p, "it has no metadata", err);
    if ((c->has & LB_PQT_K_FILE_PATH) != 0 && c->file_path.size != 0)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                       "the file only describes columns that lie in other files ('%.*s'); read those",
                       (int)LB_MIN(c->file_path.size, 128), c->file_path.at);
    /* Some writers say 0 where there is no dictionary. */
    if ((m->has & LB_PQT_M_DICTIONARY) != 0 && m->dictionary_page > 0 && m->dictionary_page < offset)
        offset = m->dictionary_page;
    if (offset < 0 || m->compressed_size < 0 || m->num_values < 0)
        return footer_bad_chunk(p, "its place or size is below 0", err);
    if ((uint64_t)offset > p->file_size || (uint64_t)m->compressed_size > p->file_size - (uint64_t)offset)
        return footer_bad_chunk(p, "it reaches past the end of the file", err);
    if (m->type < 0 || m->type >= LB_PARQUET_PHYSICAL_COUNT)
        return footer_bad_chunk(p, "its physical type does not exist", err);
    const lb_parquet_meta meta = { .offset = (uint64_t)offset,
                                   .length = (uint64_t)m->compressed_size,
                                   .num_values = (uint64_t)m->num_values,
                                   .offset_index = (uint64_t)LB_MAX(c->offset_index, 0),
                                   .offset_index_length = footer_index(p, c->offset_index, c->offset_index_length),
                                   .column_index = (uint64_t)LB_MAX(c->column_index, 0),
                                   .column_index_length = footer_index(p, c->column_index, c->column_index_length),
                                   .codec = m->codec < 0 || m->codec > 254 ? 255 : (uint8_t)m->codec,
                                   .physical = (uint8_t)m->type,
                                   .statistics = m->statistics.at,
                                   .statistics_size = (uint32_t)m->statistics.size };
    lb_buf *list = &p->f->meta_list;
    if (list->cap - list->size < sizeof meta)
        LB_TRY(lb_buf_reserve(list, sizeof meta, err));
    lb_buf_put(list, &meta, sizeof meta);
    return LB_OK;
}

/* Bytes of its chunks, and where the first lies. */
static void footer_sum(const footer_parse *p, size_t n, lb_parquet_group *group)
{
    const lb_parquet_meta *m = (const lb_parquet_meta *)(const void *)p->f->meta_list.data;

    group->first_byte = n == 0 ? 0 : UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        group->first_byte = LB_MIN(group->first_byte, m[p->chunks + i].offset);
        (void)__builtin_add_overflow(group->compressed_size, m[p->chunks + i].length, &group->compressed_size);
    }
}

static lb_status footer_group(footer_parse *p, const lb_pqt_group *g, lb_error *err)
{
    const size_t n = p->f->meta_list.size / sizeof(lb_parquet_meta) - p->chunks,
                 index = p->f->group_list.size / sizeof(lb_parquet_group);
    lb_parquet_group group = { .first_row = p->f->rows, .rows = (uint64_t)g->num_rows };

    if (g->num_rows < 0)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "row group %zu has %lld rows", index, (long long)g->num_rows);
    if (!lb_add_u64(p->f->rows, group.rows, &p->f->rows) || p->f->rows > INT64_MAX)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the row groups have more rows than can be counted");
    if (index == 0)
        p->n_leaves = n;
    if (n != p->n_leaves)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "row group %zu has %zu column chunks, the first one %zu", index, n,
                       p->n_leaves);
    footer_sum(p, n, &group);
    if ((g->has & LB_PQT_G_COMPRESSED) != 0 && g->compressed_size > 0)
        group.compressed_size = (uint64_t)g->compressed_size;
    group.compressed_size = LB_MIN(group.compressed_size, p->file_size - group.first_byte);
    group.total_byte_size = g->total_byte_size > 0 ? (uint64_t)g->total_byte_size : group.compressed_size;
    p->chunks += n;
    return lb_buf_append(&p->f->group_list, &group, sizeof group, err);
}

static lb_status footer_visit(void *user, const lb_thrift_type *type, void *item, lb_error *err)
{
    return type == &lb_pqt_chunks_type ? footer_chunk(user, item, err) : footer_group(user, item, err);
}

/* ---------------------------------------------------------------- all of it */

/* The chunks are those of the schema's leaves. */
static lb_status footer_check(const lb_parquet_footer *f, const footer_parse *p, lb_error *err)
{
    const lb_parquet_schema *s = &f->schema;

    if (f->n_groups != 0 && p->n_leaves != s->n_leaves)
        return lb_fail(err, LB_CORRUPT, LB_AT(f->at),
                       "row groups have %zu column chunks, but the schema has %zu columns", p->n_leaves, s->n_leaves);
    if (s->n_leaves == 0 && f->rows > FOOTER_EMPTY_ROWS_MAX)
        return lb_fail(err, LB_CORRUPT, LB_AT(f->at), "the file claims %llu rows without columns",
                       (unsigned long long)f->rows);
    for (size_t g = 0; g < f->n_groups; g++)
        for (size_t i = 0; i < s->n_leaves; i++) {
            const lb_parquet_meta *m = &f->metas[g * s->n_leaves + i];
            if (m->physical != (uint8_t)s->leaves[i].physical)
                return lb_fail(err, LB_CORRUPT, LB_AT(f->at),
                               "row group %zu has column '%.200s' as physical type %u, the schema as %u", g,
                               s->leaves[i].path.at, m->physical, s->leaves[i].physical);
        }
    return LB_OK;
}

static lb_status footer_parse_all(footer_parse *p, lb_cursor *in, lb_error *err)
{
    lb_parquet_footer *f = p->f;
    lb_pqt_file file = { 0 };
    lb_parquet_element *elements;

    LB_TRY(lb_thrift_decode_visit(LB_THRIFT_COMPACT, &lb_pqt_file_struct, in, &f->arena, &file, footer_visit, p, err));
    LB_TRY(lb_parquet_elements_of(&file.schema, &f->arena, &elements, err));
    f->elements = elements;
    f->n_elements = file.schema.count;
    LB_TRY(lb_parquet_schema_new(elements, f->n_elements, &f->arena, &f->schema, err));
    f->n_groups = p->f->group_list.size / sizeof(lb_parquet_group);
    f->groups = (const lb_parquet_group *)(const void *)p->f->group_list.data;
    f->metas = (const lb_parquet_meta *)(const void *)p->f->meta_list.data;
    f->orders = file.orders.items;
    f->n_orders = file.orders.count == f->schema.n_leaves ? file.orders.count : 0;
    return footer_check(f, p, err);
}

void lb_parquet_footer_init(lb_context *cx, lb_parquet_footer *f)
{
    *f = (lb_parquet_footer){ .at = 0 };
    lb_arena_init(&f->arena, &cx->budget);
    lb_buf_init(&f->bytes, &cx->budget);
    lb_buf_init(&f->group_list, &cx->budget);
    lb_buf_init(&f->meta_list, &cx->budget);
}

lb_status lb_parquet_footer_read(lb_context *cx, lb_store *store, lb_parquet_footer *out, lb_error *err)
{
    footer_parse p = { .f = out, .file_size = store->size };
    size_t from = 0, size = 0;
    lb_cursor in;

    lb_parquet_footer_init(cx, out);
    lb_status status = footer_load(store, out, &from, &size, err);
    if (status == LB_OK) {
        lb_cursor_init(&in, out->bytes.data + from, size, out->at);
        status = footer_parse_all(&p, &in, err);
    }
    if (status != LB_OK)
        lb_parquet_footer_free(out);
    return status;
}

void lb_parquet_footer_free(lb_parquet_footer *f)
{
    lb_parquet_schema_free(&f->schema);
    lb_buf_free(&f->bytes);
    lb_buf_free(&f->group_list);
    lb_buf_free(&f->meta_list);
    lb_arena_free(&f->arena);
}

/* ---------------------------------------------------------------- chunks */

lb_status lb_parquet_codec(const lb_parquet_meta *meta, lb_str path, lb_codec *out, lb_error *err)
{
    static const lb_codec codecs[] = { LB_CODEC_NONE,   LB_CODEC_SNAPPY,     LB_CODEC_GZIP, LB_CODEC_LZO_HADOOP,
                                       LB_CODEC_BROTLI, LB_CODEC_LZ4_HADOOP, LB_CODEC_ZSTD, LB_CODEC_LZ4 };

    if (meta->codec >= LB_COUNT_OF(codecs))
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(meta->offset),
                       "column '%.*s' is compressed by codec %u, which is unknown", (int)LB_MIN(path.size, 200),
                       path.at, meta->codec);
    *out = codecs[meta->codec];
    return LB_OK;
}
