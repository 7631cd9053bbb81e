#include "format/lance/lance_message.h"

#include "base/cursor.h"
#include "base/utf8.h"

/* ---------------------------------------------------------------- protobuf-c in an arena */

static void *message_alloc(void *arena, size_t size)
{
    return lb_arena_alloc(arena, 1, size);
}

static void message_free(void *arena, void *p)
{
    (void)arena;
    (void)p;
}

lb_status lb_lance_decode(const ProtobufCMessageDescriptor *type, lb_str bytes, uint64_t position, const char *what,
                          lb_arena *arena, void *out, lb_error *err)
{
    ProtobufCAllocator allocator = { message_alloc, message_free, arena };
    static const uint8_t nothing[1];
    void *message;

    arena->why = LB_OK;
    message =
        protobuf_c_message_unpack(type, &allocator, bytes.size, bytes.size == 0 ? nothing : (const uint8_t *)bytes.at);
    *(void **)out = message;
    if (message != NULL)
        return LB_OK;
    if (arena->why != LB_OK)
        return lb_arena_fail(arena, err);
    return lb_fail(err, LB_CORRUPT, LB_AT(position), "%s is not a valid message", what);
}

lb_status lb_lance_encode(const ProtobufCMessage *message, lb_buf *out, lb_error *err)
{
    uint64_t size = protobuf_c_message_get_packed_size(message);
    uint32_t length = (uint32_t)size;

    if (size >= LB_LANCE_MESSAGE_MAX)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "a message of %llu bytes is more than a Lance file holds",
                       (unsigned long long)size);
    LB_TRY(lb_buf_reserve(out, sizeof length + (size_t)size, err));
    lb_buf_put(out, &length, sizeof length);
    protobuf_c_message_pack(message, out->data + out->size);
    out->size += (size_t)size;
    return LB_OK;
}

/* ---------------------------------------------------------------- places in files */

lb_status lb_lance_read_footer(lb_store *store, lb_lance_footer *out, lb_error *err)
{
    uint8_t bytes[LB_LANCE_FOOTER];
    lb_cursor c;
    size_t got;

    if (store->size < sizeof bytes)
        return lb_fail(err, LB_CORRUPT, LB_AT(0), "%llu bytes are too few for a Lance file",
                       (unsigned long long)store->size);
    LB_TRY(lb_store_read(store, store->size - sizeof bytes, bytes, sizeof bytes, &got, err));
    if (got != sizeof bytes)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the file became shorter while it was read");
    if (memcmp(bytes + 12, LB_LANCE_MAGIC, 4) != 0)
        return lb_fail(err, LB_CORRUPT, LB_AT(store->size - 4), "this does not end as a Lance file does (LANC)");
    lb_cursor_init(&c, bytes, sizeof bytes, 0);
    out->position = lb_cursor_u64(&c);
    out->major = lb_cursor_u16(&c);
    out->minor = lb_cursor_u16(&c);
    return LB_OK;
}

lb_status lb_lance_encode_footer(const lb_lance_footer *footer, lb_buf *out, lb_error *err)
{
    LB_TRY(lb_buf_reserve(out, LB_LANCE_FOOTER, err));
    lb_buf_put(out, &footer->position, sizeof footer->position);
    lb_buf_put(out, &footer->major, sizeof footer->major);
    lb_buf_put(out, &footer->minor, sizeof footer->minor);
    lb_buf_put(out, LB_LANCE_MAGIC, 4);
    return LB_OK;
}

static lb_status message_fail_place(uint64_t position, const char *what, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "%s is said to lie at byte %llu, where it does not fit", what,
                   (unsigned long long)position);
}

lb_status lb_lance_read_bytes(lb_store *store, uint64_t position, uint64_t end, bool exact, const char *what,
                              lb_arena *arena, lb_str *out, lb_error *err)
{
    uint32_t length;
    size_t got;

    if (end > store->size || end < sizeof length || position > end - sizeof length)
        return message_fail_place(position, what, err);
    LB_TRY(lb_store_read(store, position, &length, sizeof length, &got, err));
    uint64_t left = end - position - sizeof length;
    if (got != sizeof length || length > left || length >= LB_LANCE_MESSAGE_MAX)
        return message_fail_place(position, what, err);
    if (exact && length != left)
        return lb_fail(err, LB_CORRUPT, LB_AT(position), "%s has %u bytes, but %llu lie before the footer", what,
                       length, (unsigned long long)left);
    char *bytes = lb_arena_alloc(arena, 1, length);
    if (bytes == NULL)
        return lb_arena_fail(arena, err);
    LB_TRY(lb_store_read(store, position + sizeof length, bytes, length, &got, err));
    if (got != length)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the file became shorter while it was read");
    *out = (lb_str){ bytes, length };
    return LB_OK;
}

lb_status lb_lance_read_message(lb_store *store, const ProtobufCMessageDescriptor *type, uint64_t position,
                                uint64_t end, bool exact, const char *what, lb_arena *arena, void *out, lb_error *err)
{
    lb_str bytes = { NULL, 0 };

    LB_TRY(lb_lance_read_bytes(store, position, end, exact, what, arena, &bytes, err));
    return lb_lance_decode(type, bytes, position, what, arena, out, err);
}

void lb_lance_shown(lb_str text, char *out, size_t cap)
{
    size_t valid = text.size == 0 ? 0 : lb_utf8_valid_prefix((const uint8_t *)text.at, text.size);

    lb_copy_text(out, cap, text.at, text.size);
    for (char *p = out; valid != text.size && *p != '\0'; p++)
        *p = (*p & 0x80) != 0 ? '?' : *p;
}

bool lb_lance_entry_get(lb_lance_entry *const *entries, size_t n, const char *key, lb_str *out)
{
    for (size_t i = n; i-- > 0;) {
        if (!lb_str_is(lb_lance_str(entries[i]->key), key))
            continue;
        *out = lb_lance_str(entries[i]->value);
        return true;
    }
    return false;
}
