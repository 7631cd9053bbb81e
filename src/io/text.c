/* The window: [lead | data … | padding] in one buffer. Bytes are dropped by moving `data`; the rest moves to the front
 * of the buffer only when at least as much lies before it, so that reading is linear however it is cut. */
#include "io/text.h"

#include <errno.h>
#include <stdio.h>

#include "base/utf8.h"

#define TEXT_CHUNK ((size_t)256 * 1024)

/* Where a place in memory lies a few bytes further on in its page than the bytes of the file in theirs, the kernel copies a third
 * as fast (measured on Zen 4: below 16 bytes 3 times the time, below 32 bytes 1.3 times; others take no notice). */
#define TEXT_PAGE 4096
#define TEXT_APART 32

/* Encoded bytes decoded at a time. lb_text_offset decodes as much again. */
#define TEXT_PIECE 1024
#define TEXT_LONG_PIECE (16 * TEXT_PIECE)

/* What one encoded piece became. Pieces follow each other without gaps, and no decoder state crosses from one to the
 * next. */
typedef struct text_piece {
    uint64_t position, offset; /* of its first byte: in the text, in the store */
    uint32_t unit;             /* each byte of text came from so many bytes; 0: they differ */
    size_t in_size, out_size;
    size_t try_end_at; /* size at which text_piece_may_end looks again */
} text_piece;

static const uint8_t text_replacement[] = { 0xEF, 0xBF, 0xBD }; /* U+FFFD stands where bytes are not valid */

static lb_budget *text_budget(const lb_text *t)
{
    return t->cx == NULL ? NULL : &t->cx->budget;
}

static text_piece *text_pieces(const lb_text *t)
{
    return (text_piece *)(void *)t->pieces.data;
}

static size_t text_piece_count(const lb_text *t)
{
    return t->pieces.size / sizeof(text_piece);
}

/* ---------------------------------------------------------------- opening and closing */

static bool text_is_utf8(const char *encoding)
{
    return encoding == NULL || encoding[0] == '\0';
}

/* Least bytes of a character. Wider ones also have no decoder that holds a character back. */
static uint32_t text_unit(const char *encoding)
{
    return strncmp(encoding, "UTF-16", 6) == 0 ? 2 : strncmp(encoding, "UTF-32", 6) == 0 ? 4 : 1;
}

/* Does every byte give one character at once, or is it refused? Then no byte waits for another one. */
static bool text_is_single_byte(iconv_t decoder)
{
    bool single = true;
    for (unsigned byte = 0; byte < 256 && single; byte++) {
        char in = (char)byte, out[16], *from = &in, *to = out;
        size_t left = 1, room = sizeof out;
        uint32_t character;
        (void)iconv(decoder, NULL, NULL, NULL, NULL);
        if (iconv(decoder, &from, &left, &to, &room) == (size_t)-1)
            single = errno == EILSEQ;
        else
            single = room < sizeof out &&
                     lb_utf8_decode((const uint8_t *)out, sizeof out - room, &character) == sizeof out - room;
    }
    (void)iconv(decoder, NULL, NULL, NULL, NULL);
    return single;
}

/* Where the bytes of a character follow from the character, offsets come from counting. */
static void text_settle_units(lb_text *t)
{
    if (strcmp(t->encoding, "UTF-16LE") == 0 || strcmp(t->encoding, "UTF-16BE") == 0)
        t->unit = 2;
    else if (strcmp(t->encoding, "UTF-32LE") == 0 || strcmp(t->encoding, "UTF-32BE") == 0)
        t->unit = 4;
    else
        t->unit = text_is_single_byte(t->seeker) ? 1 : 0;
    t->long_unit = t->unit == 2 ? 4 : t->unit;
}

static lb_status text_open_decoders(lb_text *t, const char *encoding, lb_error *err)
{
    t->decoder = iconv_open("UTF-8", encoding);
    if (t->decoder == (iconv_t)-1)
        return errno == ENOMEM ? lb_fail_nomem(err)
                               : lb_fail(err, LB_USAGE, LB_NOWHERE, "no encoding is called \"%s\"", encoding);
    t->seeker = iconv_open("UTF-8", encoding);
    if (t->seeker == (iconv_t)-1) {
        (void)iconv_close(t->decoder);
        return lb_fail_nomem(err);
    }
    t->encoding = encoding;
    text_settle_units(t);
    return LB_OK;
}

lb_status lb_text_open(lb_text *t, lb_context *cx, lb_store *store, uint64_t offset, const char *encoding, size_t chunk,
                       lb_error *err)
{
    *t = (lb_text){ .cx = cx,
                    .store = store,
                    .bad_at = UINT64_MAX,
                    .opened_at = offset,
                    .next_offset = offset,
                    .known_offset = offset,
                    .start_offset = offset };
    t->chunk = chunk == 0 ? TEXT_CHUNK : chunk;
    lb_buf_init(&t->window, text_budget(t));
    lb_buf_init(&t->raw, text_budget(t));
    lb_buf_init(&t->pieces, text_budget(t));
    if (!text_is_utf8(encoding))
        LB_TRY(text_open_decoders(t, encoding, err));
    lb_status status = lb_buf_reserve(&t->window, LB_TEXT_PADDING, err);
    if (status != LB_OK) {
        lb_text_close(t);
        return status;
    }
    memset(t->window.data, 0, LB_TEXT_PADDING);
    t->data = t->window.data;
    return LB_OK;
}

void lb_text_lend(lb_text *t, lb_context *cx, lb_store *store, const uint8_t *data, size_t size, uint64_t offset)
{
    *t = (lb_text){ .cx = cx,
                    .store = store,
                    .data = data,
                    .size = size,
                    .end = true,
                    .bad_at = UINT64_MAX,
                    .opened_at = offset,
                    .next_offset = offset + size };
    lb_buf_init(&t->window, text_budget(t));
    lb_buf_init(&t->raw, text_budget(t));
    lb_buf_init(&t->pieces, text_budget(t));
}

void lb_text_tap(lb_text *t, bool before, lb_tap_fn tap, void *user)
{
    t->tapped = !before;
    t->tap = tap;
    t->tap_user = user;
}

void lb_text_close(lb_text *t)
{
    if (t->encoding != NULL) {
        (void)iconv_close(t->decoder);
        (void)iconv_close(t->seeker);
    }
    lb_buf_free(&t->window);
    lb_buf_free(&t->raw);
    lb_buf_free(&t->pieces);
    *t = (lb_text){ .bad_at = UINT64_MAX, .end = true };
}

/* ---------------------------------------------------------------- the window's buffer */

/* Room for `more` bytes, the padding and a move apart after the window, whose first `lead` bytes before data are kept as well. */
static lb_status text_make_room(lb_text *t, size_t more, size_t lead, lb_error *err)
{
    size_t start = (size_t)(t->data - t->window.data) - lead, kept = t->window.size - start;
    size_t need;
    if (__builtin_add_overflow(more, (size_t)LB_TEXT_PADDING + TEXT_APART, &need))
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "a piece of %zu bytes is too large to be read at once", more);
    if (need > t->window.cap - t->window.size && kept <= start) {
        memmove(t->window.data, t->window.data + start, kept);
        t->window.size = kept;
        t->data = t->window.data + lead;
    }
    if (need > t->window.cap - t->window.size) {
        size_t offset = (size_t)(t->data - t->window.data);
        /* Twice the size keeps the copying linear; the budget may allow only what is needed. */
        if (t->window.size < need || lb_buf_reserve(&t->window, t->window.size, NULL) != LB_OK)
            LB_TRY(lb_buf_reserve(&t->window, need, err));
        t->data = t->window.data + offset;
    }
    return LB_OK;
}

static void text_seal(lb_text *t)
{
    memset(t->window.data + t->window.size, 0, LB_TEXT_PADDING);
    t->size = t->window.size - (size_t)(t->data - t->window.data);
}

static void text_give_tap(lb_text *t, const uint8_t *bytes, size_t size)
{
    if (t->tap != NULL && size != 0)
        t->tap(t->tap_user, bytes, size);
}

/* The tap gets every byte of the store, so also those before the text (a byte order mark). */
static lb_status text_tap_before(lb_text *t, lb_error *err)
{
    uint8_t bytes[4096];
    if (t->tap == NULL || t->tapped)
        return LB_OK;
    t->tapped = true;
    for (uint64_t at = 0; at < t->opened_at;) {
        size_t got;
        LB_TRY(lb_store_read(t->store, at, bytes, (size_t)LB_MIN(t->opened_at - at, sizeof bytes), &got, err));
        if (got == 0)
            break;
        text_give_tap(t, bytes, got);
        at += got;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- UTF-8 */

static void text_mark_bad(lb_text *t, uint64_t position, bool cut)
{
    t->bad_at = position;
    t->cut_at_end = cut;
}

static void text_check_utf8(lb_text *t)
{
    if (t->bad_at != UINT64_MAX)
        return;
    uint64_t base = t->at - (uint64_t)(t->data - t->window.data);
    const uint8_t *p = t->window.data + (t->checked_to - base);
    size_t left = t->window.size - (size_t)(t->checked_to - base);
    size_t valid = lb_utf8_valid_prefix(p, left);
    t->checked_to += valid;
    if (valid == left)
        return;
    bool cut = lb_utf8_cut_tail(p + valid, left - valid) == left - valid;
    if (!cut || t->store_end)
        text_mark_bad(t, t->checked_to, cut);
}

/* Move the window on where it ends at such a place; there is room. */
static void text_move_apart(lb_text *t, size_t lead)
{
    uint8_t *start = (uint8_t *)(uintptr_t)t->data - lead;
    const uintptr_t end = (uintptr_t)t->window.data + t->window.size, apart = (end - t->next_offset) % TEXT_PAGE;

    if (apart == 0 || apart >= TEXT_APART)
        return;
    memmove(start + TEXT_APART, start, (size_t)(end - (uintptr_t)start));
    t->window.size += TEXT_APART;
    t->data += TEXT_APART;
}

static lb_status text_more_utf8(lb_text *t, lb_error *err)
{
    /* A character cut by the last reading is checked as a whole, even if the caller dropped its first bytes. */
    size_t lead = t->bad_at == UINT64_MAX && t->at > t->checked_to ? (size_t)(t->at - t->checked_to) : 0, got;
    LB_TRY(text_make_room(t, t->chunk, lead, err));
    text_move_apart(t, lead);
    LB_TRY(lb_store_read(t->store, t->next_offset, t->window.data + t->window.size, t->chunk, &got, err));
    text_give_tap(t, t->window.data + t->window.size, got);
    t->window.size += got;
    t->next_offset += got;
    t->store_end = t->end = got < t->chunk;
    text_check_utf8(t);
    return LB_OK;
}

/* ---------------------------------------------------------------- other encodings */

/* Store offset of the first byte in `raw`, and of the first one not yet decoded. */
static uint64_t text_raw_offset(const lb_text *t)
{
    return t->next_offset - t->raw.size;
}

static uint64_t text_decoded_to(const lb_text *t)
{
    size_t n = text_piece_count(t);
    if (n == 0)
        return t->opened_at;
    const text_piece *last = text_pieces(t) + n - 1;
    return last->offset + last->in_size;
}

/* Forget pieces that lie wholly before the window, but never the last one, and then their bytes. */
static void text_drop_pieces(lb_text *t)
{
    size_t n = text_piece_count(t), drop = 0;
    text_piece *pieces = text_pieces(t);
    while (drop + 1 < n && pieces[drop + 1].position <= t->at)
        drop++;
    if (drop > 0 && drop >= n - drop) {
        memmove(pieces, pieces + drop, (n - drop) * sizeof *pieces);
        t->pieces.size = (n - drop) * sizeof *pieces;
    }
    if (n == 0)
        return;
    size_t start = (size_t)(pieces[0].offset - text_raw_offset(t));
    if (start > 0 && start >= t->raw.size - start) {
        memmove(t->raw.data, t->raw.data + start, t->raw.size - start);
        t->raw.size -= start;
    }
}

static lb_status text_read_raw(lb_text *t, lb_error *err)
{
    size_t got;
    LB_TRY(lb_buf_reserve(&t->raw, t->chunk, err));
    LB_TRY(lb_store_read(t->store, t->next_offset, t->raw.data + t->raw.size, t->chunk, &got, err));
    text_give_tap(t, t->raw.data + t->raw.size, got);
    t->raw.size += got;
    t->next_offset += got;
    t->store_end = got < t->chunk;
    return LB_OK;
}

static bool text_is_ascii(const uint8_t *p, size_t size)
{
    uint8_t all = 0;
    for (size_t i = 0; i < size; i++)
        all |= p[i];
    return all < 0x80;
}

/* Bytes of text that the first `size` bytes of a piece become. */
static uint64_t text_decoded_size(const lb_text *t, const uint8_t *bytes, size_t size)
{
    char out[TEXT_PIECE], *from = (char *)(uintptr_t)bytes;
    uint64_t total = 0;
    bool more = true;
    (void)iconv(t->seeker, NULL, NULL, NULL, NULL);
    while (more) {
        char *to = out;
        size_t room = sizeof out;
        more = iconv(t->seeker, &from, &size, &to, &room) == (size_t)-1 && errno == E2BIG;
        total += sizeof out - room;
    }
    char *to = out;
    size_t room = sizeof out;
    (void)iconv(t->seeker, NULL, NULL, &to, &room);
    return total + (sizeof out - room);
}

/* May the piece end here? Some decoders (WINDOWS-1255, BIG5-HKSCS …) hold a letter back until they have seen whether a
 * mark follows; after a line feed they hold nothing. In text without line feeds a second decoder tells, asked ever less
 * often. */
static bool text_piece_may_end(lb_text *t, text_piece *piece)
{
    const uint8_t *begin = t->raw.data + (piece->offset - text_raw_offset(t));
    if (piece->in_size == 0)
        return false;
    if (t->unit != 0 || text_unit(t->encoding) > 1 || begin[piece->in_size - 1] == '\n')
        return true;
    if (piece->in_size < piece->try_end_at)
        return false;
    piece->try_end_at = piece->in_size * 2;
    return text_decoded_size(t, begin, piece->in_size) == piece->out_size;
}

static lb_status text_piece_begin(lb_text *t, text_piece **out, lb_error *err)
{
    size_t n = text_piece_count(t);
    if (n == 0 || text_piece_may_end(t, text_pieces(t) + n - 1)) {
        text_piece piece = { .position = t->at + t->size, .offset = text_decoded_to(t), .try_end_at = TEXT_LONG_PIECE };
        piece.unit = text_unit(t->encoding);
        LB_TRY(lb_buf_append(&t->pieces, &piece, sizeof piece, err));
        n++;
    }
    *out = text_pieces(t) + n - 1;
    return LB_OK;
}

/* How much of `left` bytes to decode next: up to a piece, to its last line feed where it has one. */
static size_t text_slice(const lb_text *t, const uint8_t *p, size_t left)
{
    size_t n = LB_MIN(left, (size_t)TEXT_PIECE);
    const uint8_t *feed = text_unit(t->encoding) > 1 ? NULL : memrchr(p, '\n', n);
    return feed == NULL ? n : (size_t)(feed - p) + 1;
}

/* Run the decoder over [*in, *in + *left) into the window; `in` NULL: what it holds back. 0, or errno of iconv. */
static lb_status text_convert(lb_text *t, const uint8_t **in, size_t *left, int *failed, lb_error *err)
{
    do {
        LB_TRY(text_make_room(t, 4 * TEXT_PIECE, 0, err));
        char *from = in == NULL ? NULL : (char *)(uintptr_t)*in, *to = (char *)t->window.data + t->window.size;
        size_t room = t->window.cap - t->window.size - LB_TEXT_PADDING;
        size_t bad = iconv(t->decoder, in == NULL ? NULL : &from, in == NULL ? NULL : left, &to, &room);
        *failed = bad == (size_t)-1 ? errno : 0;
        t->window.size = (size_t)((uint8_t *)to - t->window.data);
        if (in != NULL)
            *in = (const uint8_t *)from;
    } while (*failed == E2BIG);
    return LB_OK;
}

/* The decoder took `consumed` more bytes for the piece; what they became lies behind the sealed window. */
static void text_piece_grow(lb_text *t, text_piece *piece, size_t consumed)
{
    const uint8_t *made = t->data + t->size;
    size_t size = (size_t)(t->window.data + t->window.size - made);
    piece->in_size += consumed;
    piece->out_size += size;
    bool even = piece->unit != 0 && consumed / piece->unit == size && consumed % piece->unit == 0;
    if (!even || !text_is_ascii(made, size))
        piece->unit = 0;
    text_seal(t);
}

/* The bytes from here on are no text: the window gets a replacement character, and ends. */
static lb_status text_decode_bad(lb_text *t, bool cut, lb_error *err)
{
    text_piece piece = { .position = t->at + t->size, .offset = text_decoded_to(t) };
    LB_TRY(lb_buf_append(&t->pieces, &piece, sizeof piece, err));
    LB_TRY(text_make_room(t, sizeof text_replacement, 0, err));
    text_mark_bad(t, t->at + t->size, cut);
    lb_buf_put(&t->window, text_replacement, sizeof text_replacement);
    text_seal(t);
    t->end = true;
    return LB_OK;
}

/* Let the decoder give what it holds back. */
static lb_status text_flush(lb_text *t, lb_error *err)
{
    int failed;
    if (text_piece_count(t) == 0)
        return LB_OK;
    LB_TRY(text_convert(t, NULL, NULL, &failed, err));
    text_piece_grow(t, text_pieces(t) + text_piece_count(t) - 1, 0);
    return LB_OK;
}

/* Decode what lies in `raw`; stops before a character that is cut. `*cut`: one is left over. */
static lb_status text_decode(lb_text *t, bool *cut, lb_error *err)
{
    *cut = false;
    for (;;) {
        size_t left = (size_t)(t->next_offset - text_decoded_to(t)), consumed;
        const uint8_t *from = t->raw.data + (t->raw.size - left), *in = from;
        text_piece *piece;
        int failed;
        if (left == 0)
            return LB_OK;
        size_t slice = text_slice(t, from, left), rest = slice;
        LB_TRY(text_piece_begin(t, &piece, err));
        LB_TRY(text_convert(t, &in, &rest, &failed, err));
        consumed = slice - rest;
        text_piece_grow(t, piece, consumed);
        if (failed == EINVAL && slice == left) {
            *cut = true;
            return LB_OK;
        }
        if (failed == EILSEQ || (failed != 0 && consumed == 0)) {
            LB_TRY(text_flush(t, err));
            return text_decode_bad(t, false, err);
        }
    }
}

static lb_status text_more_decoded(lb_text *t, lb_error *err)
{
    size_t before = t->size;
    text_drop_pieces(t);
    while (t->size == before && !t->end) {
        bool cut;
        LB_TRY(text_read_raw(t, err));
        LB_TRY(text_decode(t, &cut, err));
        if (!t->store_end || t->end)
            continue;
        LB_TRY(text_flush(t, err));
        t->end = true;
        if (cut)
            LB_TRY(text_decode_bad(t, true, err));
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- positions and offsets */

/* Encoded bytes of the characters that begin between two positions of the window. */
static uint64_t text_count(const lb_text *t, uint64_t from, uint64_t to)
{
    const uint8_t *p = t->data + (from - t->at), *end = t->data + (to - t->at);
    uint64_t characters = 0, longs = 0;
    for (; p < end; p++) {
        characters += (*p & 0xC0) != 0x80;
        longs += *p >= 0xF0;
    }
    return (characters - longs) * t->unit + longs * t->long_unit;
}

/* Offset by counting: on from the known position, or else from the window's beginning. */
static uint64_t text_count_to(lb_text *t, uint64_t position)
{
    uint64_t offset = t->start_offset;
    if (position >= t->known_at) {
        t->known_offset += text_count(t, t->known_at, position);
        t->known_at = position;
        offset = t->known_offset;
    } else {
        offset += text_count(t, t->at, position);
    }
    /* The character that stands for bytes that are no text was made of none. */
    return LB_MIN(offset, text_decoded_to(t));
}

/* The fewest bytes of the piece that become `wanted` bytes of text, looked for from `low` on, which become `made` of
 * them and leave nothing held back. */
static size_t text_seek_from(const lb_text *t, const text_piece *piece, size_t low, uint64_t made, uint64_t wanted)
{
    const uint8_t *bytes = t->raw.data + (piece->offset - text_raw_offset(t)) + low;
    size_t begin = low, high = low, step = 32;
    while (high < piece->in_size && made + text_decoded_size(t, bytes, high - begin) < wanted) {
        low = high + 1;
        high += LB_MIN(step, piece->in_size - high);
        step *= 2;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (made + text_decoded_size(t, bytes, middle - begin) >= wanted)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* As text_seek_from, from the known position where it lies before the wanted one in this piece. A decoder holds nothing
 * back behind a line feed, so that such a position becomes the known one. */
static uint64_t text_seek(lb_text *t, const text_piece *piece, uint64_t wanted)
{
    size_t low = 0;
    uint64_t made = 0;
    if (t->known_at >= piece->position && t->known_at - piece->position <= wanted && t->known_offset >= piece->offset) {
        made = t->known_at - piece->position;
        low = (size_t)(t->known_offset - piece->offset);
    }
    low = text_seek_from(t, piece, low, made, wanted);
    if (low != 0 && t->raw.data[piece->offset - text_raw_offset(t) + low - 1] == '\n') {
        t->known_at = piece->position + wanted;
        t->known_offset = piece->offset + low;
    }
    return low;
}

void lb_text_keep(const lb_text *t, uint64_t position)
{
    if (t->store->keep == NULL || t->store->size != LB_SIZE_UNKNOWN || t->encoding != NULL || position < t->at ||
        position - t->at >= t->size)
        return;
    const size_t from = (size_t)(position - t->at);
    t->store->keep(t->store, t->opened_at + position, t->data + from, t->size - from, false);
}

uint64_t lb_text_offset(lb_text *t, uint64_t position)
{
    const text_piece *pieces = text_pieces(t);
    size_t low = 0, high = text_piece_count(t);
    if (t->encoding == NULL)
        return t->opened_at + position;
    if (t->unit != 0)
        return text_count_to(t, position);
    while (low < high) { /* the first piece that begins after the position */
        size_t middle = low + (high - low) / 2;
        if (pieces[middle].position > position)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == 0)
        return t->opened_at;
    const text_piece *piece = pieces + low - 1;
    uint64_t wanted = position - piece->position;
    if (wanted > piece->out_size)
        return piece->offset + piece->in_size;
    return piece->offset + (piece->unit != 0 ? wanted * piece->unit : text_seek(t, piece, wanted));
}

/* ---------------------------------------------------------------- reading on */

lb_status lb_text_more(lb_text *t, size_t used, lb_error *err)
{
    if (used > t->size)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "%zu bytes of a window of %zu were dropped", used, t->size);
    if (t->unit != 0)
        t->start_offset = text_count_to(t, t->at + used);
    t->data += used;
    t->at += used;
    t->size -= used;
    if (t->end)
        return LB_OK;
    if (t->cx != NULL)
        LB_TRY(lb_check_cancel(t->cx, err));
    LB_TRY(text_tap_before(t, err));
    lb_status status = t->encoding == NULL ? text_more_utf8(t, err) : text_more_decoded(t, err);
    text_seal(t);
    return status;
}

/* ---------------------------------------------------------------- what is wrong */

static void text_hint(const lb_text *t, lb_error *err)
{
    uint8_t head[512];
    size_t got = 0, low = 0, high = 0;
    if (t->encoding != NULL && text_unit(t->encoding) > 1) {
        lb_fail_hint(err, "the file may have another encoding than %s, or be damaged here", t->encoding);
        return;
    }
    if (lb_store_read(t->store, 0, head, sizeof head, &got, NULL) != LB_OK)
        got = 0;
    for (size_t i = 0; i + 1 < got; i += 2) {
        low += head[i] == 0;
        high += head[i + 1] == 0;
    }
    if (got >= 2 && ((head[0] == 0xFF && head[1] == 0xFE) || (head[0] == 0xFE && head[1] == 0xFF)))
        lb_fail_hint(err, "the file begins as UTF-16 does: --encoding UTF-16");
    else if (got >= 4 && high > got / 4 && high > low)
        lb_fail_hint(err, "the file looks like UTF-16: --encoding UTF-16LE");
    else if (got >= 4 && low > got / 4)
        lb_fail_hint(err, "the file looks like UTF-16: --encoding UTF-16BE");
    else if (t->encoding == NULL)
        lb_fail_hint(err, "if the file has another encoding, name it: --encoding WINDOWS-1252");
    else
        lb_fail_hint(err, "the file may have another encoding than %s, or be damaged here", t->encoding);
}

lb_status lb_text_fail(lb_text *t, int64_t row, int64_t line, lb_error *err)
{
    uint64_t offset = lb_text_offset(t, t->bad_at);
    lb_where where = { offset <= INT64_MAX ? (int64_t)offset : -1, row, line };
    const char *name = t->encoding == NULL ? "UTF-8" : t->encoding;
    uint8_t byte;
    size_t got = 0;
    if (lb_store_read(t->store, offset, &byte, 1, &got, NULL) != LB_OK)
        got = 0;
    if (t->cut_at_end)
        lb_fail(err, LB_CORRUPT, where, "the text ends inside a character of %s that begins here", name);
    else if (got == 1)
        lb_fail(err, LB_CORRUPT, where, "0x%02X is not valid %s here", byte, name);
    else
        lb_fail(err, LB_CORRUPT, where, "the text is not valid %s here", name);
    lb_fail_path(err, t->store->path);
    text_hint(t, err);
    return LB_CORRUPT;
}
