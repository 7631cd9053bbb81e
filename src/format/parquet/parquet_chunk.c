#include "format/parquet/parquet_chunk.h"

#include <stdlib.h>

#define CHUNK_AHEAD ((uint64_t)1 << 20)     /* bytes read at once where more than this is wanted */
#define CHUNK_LEAST ((uint64_t)4096)        /* bytes read at once at least */
#define CHUNK_HEAD_MAX ((uint64_t)16 << 20) /* longer page headers are refused; statistics may make them long */
#define CHUNK_HEAD ((uint64_t)512)          /* most page headers are shorter */
#define CHUNK_SLACK LB_PARQUET_BODY_SLACK
#define CHUNK_LIE ((uint32_t)64 << 10) /* pages from this size on that are not compressed are read in parts */

/* ---------------------------------------------------------------- open, close */

/* Where the page ends that holds the last wanted row; or that of everything. */
static uint64_t chunk_last_byte(const lb_parquet_plan *p)
{
    for (size_t i = p->n_places; i > 0 && p->want_end > 0; i--)
        if (p->places[i - 1].first_row < p->want_end)
            return p->places[i - 1].offset + p->places[i - 1].length;
    return p->offset + p->length;
}

static void chunk_set_plan(lb_parquet_chunk *c, const lb_parquet_plan *plan)
{
    c->plan = *plan;
    c->next = plan->offset;
    c->head.page.first_row = LB_PARQUET_UNKNOWN;
    c->last_wanted_byte = LB_MIN(chunk_last_byte(plan), plan->limit);
}

lb_status lb_parquet_chunk_open(lb_context *cx, lb_store *store, const lb_parquet_plan *plan, lb_parquet_chunk **out,
                                lb_error *err)
{
    lb_parquet_chunk *c = calloc(1, sizeof *c);

    *out = NULL;
    if (c == NULL)
        return lb_fail_nomem(err);
    c->cx = cx;
    c->store = store;
    chunk_set_plan(c, plan);
    lb_buf_init(&c->window, &cx->budget);
    lb_parquet_body_init(&c->body, &cx->budget);
    lb_buf_init(&c->turned[0], &cx->budget);
    lb_buf_init(&c->turned[1], &cx->budget);
    lb_parquet_dictionary_init(&c->dictionary, &cx->budget);
    lb_parquet_values_init(&c->values, &cx->budget);
    *out = c;
    return LB_OK;
}

static lb_buf chunk_emptied(lb_buf buf)
{
    buf.size = 0;
    return buf;
}

void lb_parquet_chunk_reopen(lb_parquet_chunk *c, const lb_parquet_plan *plan)
{
    lb_parquet_body_reset(&c->body);
    lb_parquet_dictionary_reset(&c->dictionary);
    const lb_parquet_chunk was = *c;

    memset(c, 0, offsetof(lb_parquet_chunk, reps));
    c->cx = was.cx;
    c->store = was.store;
    c->window = chunk_emptied(was.window);
    c->body = was.body;
    c->turned[0] = chunk_emptied(was.turned[0]);
    c->turned[1] = chunk_emptied(was.turned[1]);
    c->dictionary = was.dictionary;
    c->values.kind = LB_PARQUET_V_FIXED;
    c->values.last = chunk_emptied(was.values.last);
    c->values.turned = chunk_emptied(was.values.turned);
    chunk_set_plan(c, plan);
}

size_t lb_parquet_chunk_memory(const lb_parquet_chunk *c)
{
    return c->window.cap + lb_parquet_body_memory(&c->body) + c->turned[0].cap + c->turned[1].cap +
           lb_parquet_dictionary_memory(&c->dictionary) + c->values.last.cap + c->values.turned.cap;
}

void lb_parquet_chunk_close(lb_parquet_chunk *c)
{
    if (c == NULL)
        return;
    lb_buf_free(&c->window);
    lb_parquet_body_free(&c->body);
    lb_buf_free(&c->turned[0]);
    lb_buf_free(&c->turned[1]);
    lb_parquet_dictionary_free(&c->dictionary);
    lb_parquet_values_free(&c->values);
    free(c);
}

lb_status lb_parquet_chunk_failed(const lb_parquet_chunk *c, lb_status status, lb_error *err)
{
    if (status == LB_OK || err == NULL || lb_is_callers(status))
        return status;
    if (err->offset < 0)
        err->offset = (int64_t)c->head.page.offset;
    lb_fail_hint(err, "it is in column %.*s", (int)LB_MIN(c->plan.leaf->path.size, (size_t)200), c->plan.leaf->path.at);
    return status;
}

/* ---------------------------------------------------------------- bytes */

/* Are not all rows of the group wanted? */
static bool plan_is_part(const lb_parquet_plan *p)
{
    return p->sparse || p->want_first > 0 || p->want_end < p->rows;
}

/* Where what is known to begin at `offset`, or before, ends: the dictionary or a page. */
static uint64_t chunk_known_end(const lb_parquet_chunk *c, uint64_t offset)
{
    const lb_parquet_plan *p = &c->plan;

    if (offset < p->places[0].offset)
        return p->places[0].offset;
    if (c->place >= p->n_places || offset < p->places[c->place].offset)
        return offset;
    return p->places[c->place].offset + p->places[c->place].length;
}

static uint64_t chunk_worth_scattered(const lb_parquet_chunk *c, uint64_t offset, uint64_t size)
{
    if (c->plan.n_places == 0)
        return LB_MAX(CHUNK_LEAST, size);
    const uint64_t end = chunk_known_end(c, offset);
    return end > offset ? LB_MAX(LB_MIN(end - offset, CHUNK_AHEAD), size) : size;
}

/* Is what lies at `offset` going to be read in parts? */
static bool chunk_is_lying(const lb_parquet_chunk *c, uint64_t offset)
{
    const lb_parquet_plan *p = &c->plan;

    if (p->codec != LB_CODEC_NONE || p->n_places == 0 || chunk_known_end(c, offset) < offset + CHUNK_LIE)
        return false;
    if (p->sparse || offset < p->places[0].offset || c->place >= p->n_places)
        return plan_is_part(p);
    return p->places[c->place].first_row < p->want_first ||
           (c->place + 1 < p->n_places ? p->places[c->place + 1].first_row : p->rows) > p->want_end;
}

/* How many bytes are worth reading at `offset` where `size` are asked for. */
static uint64_t chunk_worth(const lb_parquet_chunk *c, uint64_t offset, uint64_t size)
{
    uint64_t worth = CHUNK_LEAST;

    if (chunk_is_lying(c, offset))
        return LB_MAX(CHUNK_HEAD, size);
    if (c->plan.scattered)
        return chunk_worth_scattered(c, offset, size);
    if (c->plan.n_places != 0) {
        if (offset < c->last_wanted_byte)
            worth = LB_MIN(c->last_wanted_byte - offset, CHUNK_AHEAD);
    } else if (c->row >= c->plan.want_first && c->row < c->plan.want_end && c->plan.rows != 0) {
        double share = (double)(c->plan.want_end - c->row) / (double)c->plan.rows;
        worth = LB_MIN((uint64_t)(share * (double)c->plan.length) + CHUNK_LEAST, CHUNK_AHEAD);
        if (offset < c->last_wanted_byte)
            worth = LB_MIN(worth, c->last_wanted_byte - offset);
    }
    return LB_MAX(worth, size);
}

/* What is in the window already is not read again. */
static lb_status chunk_load(lb_parquet_chunk *c, uint64_t offset, uint64_t size, lb_error *err)
{
    const uint64_t end = c->window_at + c->window.size;
    size_t kept = 0, got = 0;

    if (offset >= c->window_at && offset < end) {
        kept = (size_t)LB_MIN(end - offset, size);
        memmove(c->window.data, c->window.data + (offset - c->window_at), kept);
    }
    c->window.size = kept;
    c->window_at = offset;
    if (kept == 0)
        LB_TRY(lb_parquet_room(&c->window, (size_t)size + CHUNK_SLACK, err));
    else
        LB_TRY(lb_buf_reserve(&c->window, (size_t)size - kept + CHUNK_SLACK, err));
    LB_TRY(lb_store_read(c->store, offset + kept, c->window.data + kept, (size_t)size - kept, &got, err));
    c->window.size += got;
    return LB_OK;
}

/* Lend `size` bytes at `offset` until the next call; *have: so many lie there. Errors: CORRUPT: they reach beyond
 * the file. */
static lb_status chunk_bytes(lb_parquet_chunk *c, uint64_t offset, uint64_t size, const uint8_t **out, uint64_t *have,
                             lb_error *err)
{
    const lb_parquet_plan *p = &c->plan;

    if (offset > p->limit || size > p->limit - offset)
        return lb_fail(err, LB_CORRUPT, LB_AT(offset), "a page of %llu bytes reaches beyond the data",
                       (unsigned long long)size);
    if (p->held != NULL && offset >= p->held_at && offset - p->held_at <= p->held_size &&
        size <= p->held_size - (offset - p->held_at)) {
        *out = p->held + (offset - p->held_at);
        *have = p->held_size - (offset - p->held_at);
        return LB_OK;
    }
    if (offset < c->window_at || offset - c->window_at > c->window.size ||
        size > c->window.size - (offset - c->window_at))
        LB_TRY(chunk_load(c, offset, LB_MIN(chunk_worth(c, offset, size), p->limit - offset), err));
    *have = c->window.size - (offset - c->window_at);
    *out = c->window.data + (offset - c->window_at);
    if (*have < size)
        return lb_fail(err, LB_CORRUPT, LB_AT(offset), "the file ends inside a page of %llu bytes",
                       (unsigned long long)size);
    return LB_OK;
}

/* ---------------------------------------------------------------- headers */

lb_status lb_parquet_chunk_head(lb_parquet_chunk *c, lb_parquet_page_head *out, lb_error *err)
{
    const uint64_t rest = c->next > c->plan.limit ? 0 : c->plan.limit - c->next;
    uint64_t size = LB_MIN(rest, 64), have;

    if (c->plan.n_places != 0 && c->next < c->last_wanted_byte)
        size = LB_MIN(size, c->last_wanted_byte - c->next);
    for (;;) {
        const uint8_t *bytes;
        lb_error failure = { .code = LB_OK };
        lb_cursor in;
        LB_TRY(chunk_bytes(c, c->next, size, &bytes, &have, err));
        have = LB_MIN(have, rest);
        lb_cursor_init(&in, bytes, (size_t)have, c->next);
        lb_status status = lb_parquet_page_head_read(&in, c->plan.leaf->max_rep, out, &failure);
        if (status == LB_OK)
            return LB_OK;
        if (!in.bad || have >= rest || have >= CHUNK_HEAD_MAX)
            return lb_fail(err, status, LB_AT(c->next), "no page header: %s", failure.message);
        size = LB_MIN(LB_MIN(have * 2, rest), CHUNK_HEAD_MAX);
    }
}

static uint64_t page_end(const lb_parquet_page *page)
{
    return page->offset + page->header_size + page->stored_size;
}

/* The body as it stands in the file, its checksum compared. */
static lb_status page_stored(lb_parquet_chunk *c, const lb_parquet_page_head *head, const uint8_t **out, lb_error *err)
{
    uint64_t have;

    LB_TRY(chunk_bytes(c, head->page.offset + head->page.header_size, head->page.stored_size, out, &have, err));
    return lb_parquet_page_check(head, *out, err);
}

/* ---------------------------------------------------------------- dictionary */

/* Bytes that page_stored lent, for longer. Where little else is in the window it changes hands. */
static lb_status dictionary_keep(lb_parquet_chunk *c, const uint8_t **bytes, size_t size, lb_error *err)
{
    const lb_parquet_plan *p = &c->plan;
    lb_buf *kept = &c->dictionary.stored;

    if (p->held != NULL && *bytes >= p->held && *bytes < p->held + p->held_size)
        return LB_OK;
    if (c->window.size / 2 > size) {
        LB_TRY(lb_parquet_room(kept, size + CHUNK_SLACK, err));
        lb_buf_put(kept, *bytes, size);
        *bytes = kept->data;
        return LB_OK;
    }
    const lb_buf window = c->window;
    c->window = *kept;
    c->window.size = 0;
    *kept = window;
    return LB_OK;
}

/* Pages may stay in the file, and be read as they are asked for. */
static bool page_may_lie(const lb_parquet_chunk *c, const lb_parquet_page *page)
{
    return c->plan.codec == LB_CODEC_NONE && !page->has_crc && c->plan.held == NULL && page->stored_size >= CHUNK_LIE &&
           page_end(page) <= c->plan.limit;
}

lb_status lb_parquet_chunk_dictionary_page(lb_parquet_chunk *c, const lb_parquet_page_head *head, lb_error *err)
{
    const lb_parquet_page *page = &head->page;
    const uint32_t count = (uint32_t)page->num_values;
    const bool part = plan_is_part(&c->plan);
    const uint8_t *bytes;

    if (c->dictionary.there)
        return lb_fail(err, LB_CORRUPT, LB_AT(page->offset), "a second dictionary page");
    if (page->encoding != LB_PARQUET_PLAIN && page->encoding != LB_PARQUET_PLAIN_DICTIONARY)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(page->offset), "a dictionary with encoding %d", (int)page->encoding);
    if (part && page_may_lie(c, page))
        return lb_parquet_dictionary_lie(&c->dictionary, c->store, page->offset + page->header_size, page->stored_size,
                                         count, err);
    LB_TRY(page_stored(c, head, &bytes, err));
    if (part && c->plan.codec != LB_CODEC_NONE)
        LB_TRY(dictionary_keep(c, &bytes, page->stored_size, err));
    return lb_parquet_dictionary_take(&c->dictionary, c->plan.codec, &c->body.work, bytes, page->stored_size,
                                      page->size, count, part, err);
}

lb_status lb_parquet_chunk_indices(lb_parquet_chunk *c, const lb_parquet_conversion *as, size_t n, uint32_t *out,
                                   lb_error *err)
{
    lb_parquet_dictionary *d = &c->dictionary;
    uint32_t most = 0;

    LB_TRY(lb_parquet_dictionary_ready(d, c->plan.leaf, as, 0, err));
    LB_TRY(lb_parquet_values_indices(&c->values, n, d->count, out, &most, err));
    return n == 0 ? LB_OK : lb_parquet_dictionary_pick(d, c->plan.leaf, as, out, n, most, err);
}

/* With places the dictionary lies before the first data page, and is read when a page asks for it. */
static lb_status chunk_find_dictionary(lb_parquet_chunk *c, lb_error *err)
{
    const uint64_t back = c->next, stop = c->plan.places[0].offset;
    lb_parquet_page_head head;

    for (c->next = c->plan.offset; c->next < stop && !c->dictionary.there; c->next = page_end(&head.page)) {
        LB_TRY(lb_parquet_chunk_head(c, &head, err));
        if (head.page.kind == LB_PARQUET_DICTIONARY_PAGE)
            LB_TRY(lb_parquet_chunk_dictionary_page(c, &head, err));
    }
    c->next = back;
    return LB_OK;
}

/* ---------------------------------------------------------------- a page's parts */

static bool is_dictionary(int32_t encoding)
{
    return encoding == LB_PARQUET_PLAIN_DICTIONARY || encoding == LB_PARQUET_RLE_DICTIONARY;
}

static unsigned bits_of(uint16_t max)
{
    return max == 0 ? 0 : 32 - (unsigned)__builtin_clz(max);
}

static lb_status levels_short(const lb_parquet_page_head *head, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_AT(head->page.offset), "the levels of a page end too early");
}

/* Have bytes of the page at hand, from `at` on; what does not stand in its body is there. */
static lb_status page_reach(lb_parquet_chunk *c, const uint8_t *at, uint64_t size, lb_error *err)
{
    return c->body.part ? lb_parquet_body_reach(&c->body, (size_t)(at - c->body.bytes.data), size, err) : LB_OK;
}

/* Levels in the old encoding. */
static lb_status levels_packed(lb_parquet_chunk *c, unsigned width, const uint8_t *at, uint64_t bytes, lb_buf *turned,
                               lb_parquet_hybrid *out, lb_error *err)
{
    const uint64_t n = c->head.page.num_values;

    LB_TRY(page_reach(c, at, bytes, err));
    turned->size = 0;
    LB_TRY(lb_buf_reserve(turned, (size_t)bytes + 1, err));
    lb_parquet_reorder(at, width, n, turned->data);
    lb_parquet_hybrid_init(out, turned->data, (size_t)bytes, width);
    out->packed = true;
    out->run = turned->data;
    out->run_size = (size_t)bytes;
    out->left = n;
    out->at = out->end;
    return LB_OK;
}

/* Levels of a v1 page at the front of [*at, end). */
static lb_status levels_v1(lb_parquet_chunk *c, int32_t encoding, uint16_t max, const uint8_t **at, const uint8_t *end,
                           lb_buf *turned, lb_parquet_hybrid *out, lb_error *err)
{
    const lb_parquet_page_head *head = &c->head;
    const size_t rest = (size_t)(end - *at);
    const unsigned width = bits_of(max);
    uint32_t size;

    if (encoding == LB_PARQUET_BIT_PACKED) {
        const uint64_t bytes = (head->page.num_values * width + 7) / 8;
        if (bytes > rest)
            return levels_short(head, err);
        *at += bytes;
        return levels_packed(c, width, *at - bytes, bytes, turned, out, err);
    }
    if (encoding != LB_PARQUET_RLE)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(head->page.offset), "levels in encoding %d", (int)encoding);
    if (rest < 4)
        return levels_short(head, err);
    LB_TRY(page_reach(c, *at, 4, err));
    memcpy(&size, *at, 4);
    if (size > rest - 4)
        return levels_short(head, err);
    LB_TRY(page_reach(c, *at, 4 + (uint64_t)size, err));
    lb_parquet_hybrid_init(out, *at + 4, size, width);
    *at += 4 + (size_t)size;
    return LB_OK;
}

/* Is it likely that some of the page's rows are not asked for? Where all rows of the group are, pages are decompressed whole
 * and their checksums compared, whether or not a page says how many rows it has. */
static bool page_is_part(const lb_parquet_chunk *c)
{
    const lb_parquet_plan *p = &c->plan;
    const lb_parquet_page *page = &c->head.page;

    return plan_is_part(p) && (p->sparse || c->row < p->want_first || page->n_rows == LB_PARQUET_UNKNOWN ||
                               c->row > p->want_end || page->n_rows > p->want_end - c->row);
}

/* Decompress what stands at *at, or be ready to. */
static lb_status page_unpack(lb_parquet_chunk *c, size_t size, const uint8_t **at, const uint8_t **end, lb_error *err)
{
    const size_t stored = (size_t)(*end - *at);

    if (page_is_part(c))
        LB_TRY(lb_parquet_body_begin(&c->body, c->plan.codec, *at, stored, size, err));
    else
        LB_TRY(lb_parquet_body_unpack(&c->body, c->plan.codec, &c->body.work, *at, stored, size, err));
    *at = c->body.bytes.data;
    *end = *at + c->body.bytes.size;
    return LB_OK;
}

/* Values of most encodings are only begun where all of their bytes are there. */
static lb_status page_values(lb_parquet_chunk *c, const uint8_t *at, const uint8_t *end, lb_error *err)
{
    const int32_t encoding = c->head.page.encoding;

    if (is_dictionary(encoding)) {
        LB_TRY(page_reach(c, at, 1, err));
    } else if (encoding != LB_PARQUET_PLAIN) {
        LB_TRY(page_reach(c, at, (uint64_t)(end - at), err));
        c->body.part = false;
    }
    return lb_parquet_values_open(&c->values, c->plan.leaf, encoding, at, (size_t)(end - at), c->head.page.num_values,
                                  err);
}

static lb_status page_begin_v1(lb_parquet_chunk *c, const uint8_t *at, const uint8_t *end, lb_error *err)
{
    const lb_parquet_page_head *head = &c->head;
    const lb_parquet_leaf *leaf = c->plan.leaf;

    if (c->plan.codec != LB_CODEC_NONE && at != end)
        LB_TRY(page_unpack(c, head->page.size, &at, &end, err));
    if (head->page.num_values == 0) /* whatever else is in it */
        return lb_parquet_values_open(&c->values, leaf, LB_PARQUET_PLAIN, NULL, 0, 0, err);
    if (leaf->max_rep != 0)
        LB_TRY(levels_v1(c, head->rep_encoding, leaf->max_rep, &at, end, &c->turned[0], &c->rep, err));
    if (leaf->max_def != 0)
        LB_TRY(levels_v1(c, head->def_encoding, leaf->max_def, &at, end, &c->turned[1], &c->def, err));
    return page_values(c, at, end, err);
}

/* Levels stand before the values, never compressed. */
static lb_status page_begin_v2(lb_parquet_chunk *c, const uint8_t *at, const uint8_t *end, lb_error *err)
{
    const lb_parquet_page_head *head = &c->head;
    const lb_parquet_leaf *leaf = c->plan.leaf;
    const size_t levels = (size_t)head->rep_size + head->def_size;

    LB_TRY(page_reach(c, at, levels, err));
    if (leaf->max_rep != 0)
        lb_parquet_hybrid_init(&c->rep, at, head->rep_size, bits_of(leaf->max_rep));
    if (leaf->max_def != 0)
        lb_parquet_hybrid_init(&c->def, at + head->rep_size, head->def_size, bits_of(leaf->max_def));
    at += levels;
    if (c->plan.codec != LB_CODEC_NONE && head->compressed && at != end) {
        if (head->page.size < levels)
            return lb_fail(err, LB_CORRUPT, LB_AT(head->page.offset), "levels are longer than the page");
        LB_TRY(page_unpack(c, head->page.size - levels, &at, &end, err));
    }
    return page_values(c, at, end, err);
}

/* Values that go on from the last one of a page that was passed over, as old writers left them (PARQUET-246): decode
 * what comes before from the beginning. */
static lb_status chunk_replay(lb_parquet_chunk *c, lb_error *err)
{
    lb_parquet_plan plan = c->plan;
    lb_parquet_chunk *before;
    bool end = false;

    plan.n_places = 0;
    plan.want_first = 0;
    LB_TRY(lb_parquet_chunk_open(c->cx, c->store, &plan, &before, err));
    lb_status status = LB_OK;
    while (status == LB_OK) {
        uint64_t there = 0;
        status = lb_parquet_chunk_levels(before, 0, &end, err);
        if (status != LB_OK || end || before->head.page.offset >= c->head.page.offset)
            break;
        for (; before->block_at < before->block_size; before->block_at++) {
            there += before->defs[before->block_at] == plan.leaf->max_def;
            before->row += before->reps[before->block_at] == 0;
        }
        status = lb_parquet_chunk_skip(before, there, err);
    }
    c->values.last.size = 0;
    if (status == LB_OK)
        status = lb_buf_append(&c->values.last, before->values.last.data, before->values.last.size, err);
    lb_parquet_chunk_close(before);
    return status;
}

/* The page's bytes as they stand in the file; where only a part of them is going to be asked for, and nothing has to be done
 * with them before, they stay there. */
static lb_status page_bytes(lb_parquet_chunk *c, const uint8_t **at, const uint8_t **end, lb_error *err)
{
    const lb_parquet_page *page = &c->head.page;

    if (page_is_part(c) && page_may_lie(c, page)) {
        LB_TRY(lb_parquet_body_lie(&c->body, c->store, page->offset + page->header_size, page->stored_size, err));
        *at = c->body.bytes.data;
    } else {
        LB_TRY(page_stored(c, &c->head, at, err));
    }
    *end = *at + page->stored_size;
    return LB_OK;
}

lb_status lb_parquet_chunk_begin(lb_parquet_chunk *c, const lb_parquet_page_head *head, lb_error *err)
{
    const uint8_t *at, *end;

    LB_TRY(lb_check_cancel(c->cx, err));
    lb_parquet_body_reset(&c->body);
    c->head = *head;
    c->levels_left = 0;
    if (is_dictionary(head->page.encoding) && !c->dictionary.there && c->plan.n_places != 0)
        LB_TRY(chunk_find_dictionary(c, err));
    LB_TRY(page_bytes(c, &at, &end, err));
    lb_parquet_hybrid_init(&c->rep, at, 0, 0);
    lb_parquet_hybrid_init(&c->def, at, 0, 0);
    lb_status status =
        head->page.kind == LB_PARQUET_DATA_PAGE ? page_begin_v1(c, at, end, err) : page_begin_v2(c, at, end, err);
    if (status != LB_OK)
        return status;
    c->levels_left = head->page.num_values;
    const lb_parquet_values *v = &c->values;
    const bool goes_on = v->kind == LB_PARQUET_V_DELTA_BYTES && v->prefixes.total != 0 && v->prefixes.last != 0;
    return goes_on && c->passed && v->last.size == 0 ? chunk_replay(c, err) : LB_OK;
}

/* ---------------------------------------------------------------- values of the page at hand */

/* Walk over `n` strings; *end: behind them, or NULL where they end before. */
static lb_status chunk_walk(lb_parquet_chunk *c, uint64_t n, const uint8_t **end, lb_error *err)
{
    lb_parquet_body *b = &c->body;
    const size_t all = b->bytes.size;
    size_t at = (size_t)(c->values.at - b->bytes.data), there = lb_parquet_body_there(b, at);

    *end = NULL;
    for (; n != 0; n--) {
        uint32_t size;
        if (at + sizeof size > there) {
            if (at + sizeof size > all)
                return LB_OK;
            LB_TRY(lb_parquet_body_reach(b, at, lb_parquet_body_step(b), err));
            there = lb_parquet_body_there(b, at);
        }
        memcpy(&size, b->bytes.data + at, sizeof size);
        if (size > all - at - sizeof size)
            return LB_OK;
        at += sizeof size + (size_t)size;
    }
    *end = b->bytes.data + at;
    return LB_OK;
}

/* Strings that are going to be copied. */
static lb_status chunk_want_strings(lb_parquet_chunk *c, uint64_t n, lb_error *err)
{
    const uint8_t *end;

    LB_TRY(chunk_walk(c, n, &end, err));
    return end == NULL ? LB_OK : page_reach(c, c->values.at, (uint64_t)(end - c->values.at), err);
}

/* How long runs are is only known when they are there. */
static lb_status chunk_want_runs(lb_parquet_chunk *c, uint64_t n, lb_error *err)
{
    lb_parquet_body *b = &c->body;
    const lb_parquet_hybrid *h = &c->values.runs;
    const size_t from = (size_t)((h->left != 0 && h->packed ? h->run : h->at) - b->bytes.data);
    size_t there = lb_parquet_body_there(b, from);

    for (;;) {
        const uint8_t *end = lb_parquet_hybrid_reach(h, n, b->bytes.data + there);
        if (end != NULL)
            return lb_parquet_body_reach(b, from, (uint64_t)(end - b->bytes.data) - from, err);
        LB_TRY(lb_parquet_body_reach(b, from, there - from + lb_parquet_body_step(b), err));
        there = lb_parquet_body_there(b, from);
    }
}

lb_status lb_parquet_chunk_want(lb_parquet_chunk *c, uint64_t n, lb_error *err)
{
    const lb_parquet_values *v = &c->values;

    if (!c->body.part || n == 0)
        return LB_OK;
    switch (v->kind) {
    case LB_PARQUET_V_FIXED:
        return page_reach(c, v->at, v->width == 0 || n > SIZE_MAX / v->width ? SIZE_MAX : n * v->width, err);
    case LB_PARQUET_V_BITS:
        return page_reach(c, v->at + LB_MIN(v->given, v->count) / 8, LB_MIN(n, v->count) / 8 + 2, err);
    case LB_PARQUET_V_STRINGS:
        return chunk_want_strings(c, n, err);
    case LB_PARQUET_V_DICTIONARY:
        return chunk_want_runs(c, n, err);
    default:
        return LB_OK;
    }
}

lb_status lb_parquet_chunk_skip(lb_parquet_chunk *c, uint64_t n, lb_error *err)
{
    const uint8_t *end = NULL;

    if (c->body.part && c->values.kind == LB_PARQUET_V_STRINGS)
        LB_TRY(chunk_walk(c, n, &end, err));
    else if (c->values.kind == LB_PARQUET_V_DICTIONARY)
        LB_TRY(lb_parquet_chunk_want(c, n, err));
    if (end == NULL)
        return lb_parquet_values_skip(&c->values, n, err);
    c->values.at = end;
    return LB_OK;
}

/* ---------------------------------------------------------------- the next page */

bool lb_parquet_chunk_ended(const lb_parquet_chunk *c)
{
    if (c->plan.n_places != 0)
        return c->place >= c->plan.n_places;
    return c->values_seen >= c->plan.num_values || c->next >= c->plan.limit;
}

/* Values are passed over without being decoded. */
static void chunk_pass(lb_parquet_chunk *c)
{
    c->values.last.size = 0;
    c->passed = true;
}

/* Give up the page at hand where the wanted row is in a later one. */
static void chunk_drop(lb_parquet_chunk *c, uint64_t wanted)
{
    const lb_parquet_plan *p = &c->plan;

    if (wanted <= c->row)
        return;
    if (c->place < p->n_places && p->places[c->place].first_row <= wanted) {
        c->row = p->places[c->place].first_row;
    } else if (p->leaf->max_rep == 0 && c->block_at == c->block_size && c->levels_left <= wanted - c->row) {
        c->row += c->levels_left;
    } else {
        return;
    }
    c->levels_left = 0;
    c->block_at = c->block_size;
    c->head.page.n_rows = LB_PARQUET_UNKNOWN;
    chunk_pass(c);
}

/* Places: the last page whose first row is not behind `wanted`, if it is further on. */
static void chunk_jump(lb_parquet_chunk *c, uint64_t wanted)
{
    const lb_parquet_plan *p = &c->plan;
    size_t low = c->place, high = p->n_places;

    while (wanted > c->row && high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (p->places[middle].first_row <= wanted)
            low = middle;
        else
            high = middle;
    }
    if (low != c->place) {
        c->place = low;
        c->row = p->places[low].first_row;
        c->head.page.n_rows = LB_PARQUET_UNKNOWN;
        chunk_pass(c);
    }
    c->next = p->places[c->place].offset;
}

/* An index and the pages themselves must agree on the rows. */
static lb_status chunk_check_place(const lb_parquet_chunk *c, const lb_parquet_page_head *head, lb_error *err)
{
    const lb_parquet_plan *p = &c->plan;
    const uint64_t first = p->places[c->place].first_row;
    const uint64_t end = c->place + 1 < p->n_places ? p->places[c->place + 1].first_row : p->rows;

    if (first != c->row || end < first || (p->leaf->max_rep == 0 && head->page.num_values != end - first))
        return lb_fail(err, LB_CORRUPT, LB_AT(head->page.offset),
                       "the page index says rows %llu to %llu of a page with %llu values from row %llu on",
                       (unsigned long long)first, (unsigned long long)end, (unsigned long long)head->page.num_values,
                       (unsigned long long)c->row);
    return LB_OK;
}

/* The header of the next data page; a dictionary before it is read, other kinds are passed over. *end: there is
 * none. */
static lb_status chunk_data_head(lb_parquet_chunk *c, lb_parquet_page_head *head, bool *end, lb_error *err)
{
    *end = false;
    for (;;) {
        if (c->next >= c->plan.limit) {
            *end = true;
            return LB_OK;
        }
        LB_TRY(lb_parquet_chunk_head(c, head, err));
        c->next = page_end(&head->page);
        if (head->page.kind == LB_PARQUET_DATA_PAGE || head->page.kind == LB_PARQUET_DATA_PAGE_V2)
            return LB_OK;
        if (head->page.kind == LB_PARQUET_DICTIONARY_PAGE && (c->plan.n_places == 0 || !c->dictionary.there))
            LB_TRY(lb_parquet_chunk_dictionary_page(c, head, err));
    }
}

lb_status lb_parquet_chunk_done(const lb_parquet_chunk *c, lb_error *err)
{
    const lb_parquet_page *page = &c->head.page;

    if (c->plan.leaf->max_rep == 0 || page->first_row == LB_PARQUET_UNKNOWN || page->n_rows == LB_PARQUET_UNKNOWN ||
        c->row - page->first_row == page->n_rows)
        return LB_OK;
    return lb_fail(err, LB_CORRUPT, LB_AT(page->offset),
                   "%llu rows begin in the page, not the %llu that its header says",
                   (unsigned long long)(c->row - page->first_row), (unsigned long long)page->n_rows);
}

/* One page on: passed over, or begun. */
static lb_status chunk_step(lb_parquet_chunk *c, uint64_t wanted, bool *end, lb_error *err)
{
    lb_parquet_page_head head;

    LB_TRY(chunk_data_head(c, &head, end, err));
    if (*end)
        return LB_OK;
    if (c->plan.n_places != 0) {
        LB_TRY(chunk_check_place(c, &head, err));
        c->place++;
    }
    c->values_seen += head.page.num_values;
    head.page.first_row = c->row;
    const bool rows_known = head.page.n_rows != LB_PARQUET_UNKNOWN;
    if (head.page.num_values == 0 || (rows_known && wanted >= c->row && head.page.n_rows <= wanted - c->row)) {
        c->row += rows_known ? head.page.n_rows : 0;
        if (head.page.num_values != 0)
            chunk_pass(c);
        return LB_OK;
    }
    return lb_parquet_chunk_begin(c, &head, err);
}

lb_status lb_parquet_chunk_page(lb_parquet_chunk *c, uint64_t wanted, bool *end, lb_error *err)
{
    *end = false;
    chunk_drop(c, wanted);
    if (c->levels_left == 0) {
        LB_TRY(lb_parquet_chunk_failed(c, lb_parquet_chunk_done(c, err), err));
        c->head.page.n_rows = LB_PARQUET_UNKNOWN; /* pages that are passed over count rows too */
    }
    while (c->levels_left == 0 && !*end) {
        *end = lb_parquet_chunk_ended(c);
        if (*end)
            return LB_OK;
        if (c->plan.n_places != 0)
            chunk_jump(c, wanted);
        LB_TRY(lb_parquet_chunk_failed(c, chunk_step(c, wanted, end, err), err));
    }
    return LB_OK;
}

lb_status lb_parquet_chunk_levels(lb_parquet_chunk *c, uint64_t wanted, bool *end, lb_error *err)
{
    bool begins;

    *end = false;
    chunk_drop(c, wanted);
    if (c->block_at < c->block_size)
        return LB_OK;
    LB_TRY(lb_parquet_chunk_page(c, wanted, end, err));
    if (*end)
        return LB_OK;
    begins = c->levels_left == c->head.page.num_values;
    c->block_at = 0;
    c->block_size = (size_t)LB_MIN(c->levels_left, (uint64_t)LB_PARQUET_LEVELS);
    c->levels_left -= c->block_size;
    if (!lb_parquet_hybrid_levels(&c->rep, c->block_size, c->plan.leaf->max_rep, c->reps) ||
        !lb_parquet_hybrid_levels(&c->def, c->block_size, c->plan.leaf->max_def, c->defs))
        return lb_parquet_chunk_failed(c, levels_short(&c->head, err), err);
    if (begins && c->reps[0] != 0 && (c->row == 0 || (c->plan.n_places != 0 && c->plan.aligned)))
        return lb_parquet_chunk_failed(
            c, lb_fail(err, LB_CORRUPT, LB_AT(c->head.page.offset), "the page begins inside a row"), err);
    return LB_OK;
}
