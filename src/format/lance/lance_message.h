/* Messages of Lance files, on protobuf-c (lance_file.proto): decoded into an arena, encoded into a buffer. Every message
 * stands in its file as a length (u32) and so many bytes; a position points at the length.
 *
 * A decoded message lives as long as its arena, and may be changed in place: pointers and arrays of a changed message may
 * lie in any memory that lives long enough. Unknown fields are kept and written again behind the known ones. */
#ifndef LB_FORMAT_LANCE_MESSAGE_H
#define LB_FORMAT_LANCE_MESSAGE_H

#include "base/buf.h"
#include "io/store.h"
#include "lance_file.pb-c.h"

typedef LbPb__Entry lb_lance_entry; /* key and value of a map */
typedef LbPb__Field lb_lance_field;
typedef LbPb__DataFile lb_lance_data_file;
typedef LbPb__DeletionFile lb_lance_deletion_file;
typedef LbPb__Fragment lb_lance_fragment;
typedef LbPb__Manifest lb_lance_manifest;
typedef LbPb__VersionAuxData lb_lance_aux_data;
typedef LbPb__IndexEntry lb_lance_index_entry;
typedef LbPb__IndexSection lb_lance_index_section;
typedef LbPb__FileMetadata lb_lance_file_metadata;

#define LB_LANCE_FOOTER 16 /* i64 position, u16 major, u16 minor, "LANC" */
#define LB_LANCE_MAGIC "LANC"
#define LB_LANCE_MESSAGE_MAX ((uint64_t)1 << 31) /* protobuf's own limit */

typedef struct lb_lance_footer {
    uint64_t position; /* of the message */
    uint16_t major, minor;
} lb_lance_footer;

static inline lb_str lb_lance_str(ProtobufCBinaryData bytes)
{
    return (lb_str){ (const char *)bytes.data, bytes.len };
}

/* Lends `text`. */
static inline ProtobufCBinaryData lb_lance_bytes(lb_str text)
{
    return (ProtobufCBinaryData){ .len = text.size, .data = (uint8_t *)(uintptr_t)text.at };
}

/* Read the last 16 bytes. Errors: CORRUPT (too short, other magic), IO. */
lb_status lb_lance_read_footer(lb_store *store, lb_lance_footer *out, lb_error *err);

/* The bytes of the message at `position`, which end at `end` of the file at the latest; `exact`: at `end` precisely. They
 * live in the arena. `what` names it in errors ("the manifest"). Errors: CORRUPT, BUDGET, NOMEM, IO. */
lb_status lb_lance_read_bytes(lb_store *store, uint64_t position, uint64_t end, bool exact, const char *what,
                              lb_arena *arena, lb_str *out, lb_error *err);

/* Decode bytes of a message of this type (`&lb_pb__manifest__descriptor` …) that lie at `position` of their file.
 * Errors: CORRUPT, BUDGET, NOMEM. */
lb_status lb_lance_decode(const ProtobufCMessageDescriptor *type, lb_str bytes, uint64_t position, const char *what,
                          lb_arena *arena, void *out, lb_error *err);

/* Read and decode in one. */
lb_status lb_lance_read_message(lb_store *store, const ProtobufCMessageDescriptor *type, uint64_t position,
                                uint64_t end, bool exact, const char *what, lb_arena *arena, void *out, lb_error *err);

/* Append length and message, fields by ascending number; its position is out->size before the call plus where out begins
 * in its file. Errors: BUDGET, NOMEM, USAGE (longer than LB_LANCE_MESSAGE_MAX). */
lb_status lb_lance_encode(const ProtobufCMessage *message, lb_buf *out, lb_error *err);

/* Append the 16 bytes that end a file. */
lb_status lb_lance_encode_footer(const lb_lance_footer *footer, lb_buf *out, lb_error *err);

/* Text of a file for a message: cut to `cap`, and valid UTF-8 whatever the file has. */
void lb_lance_shown(lb_str text, char *out, size_t cap);

/* Value of a map's key; false: not there. Of equal keys the last wins, as in protobuf. */
bool lb_lance_entry_get(lb_lance_entry *const *entries, size_t n, const char *key, lb_str *out);

#endif
