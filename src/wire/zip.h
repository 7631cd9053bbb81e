/* The directory of a ZIP archive (APPNOTE.TXT 6.3): what is in it, and where. Archives beyond 4 GiB (ZIP64) and those with
 * other bytes in front are read; those in several files are not. Everything here works on bytes that the caller read. */
#ifndef LB_WIRE_ZIP_H
#define LB_WIRE_ZIP_H

#include "base/arena.h"

/* The end record lies within so many bytes of the file's end, the ZIP64 locator before it included. */
#define LB_ZIP_TAIL ((size_t)65535 + 22 + 20)
#define LB_ZIP64_END 56
#define LB_ZIP_LOCAL 30

/* Where the directory lies. */
typedef struct lb_zip_end {
    uint64_t at, size, count;
    uint64_t shift;    /* bytes in front of the archive: all its offsets count from behind them */
    uint64_t zip64_at; /* where the ZIP64 end record is to be read; 0: none */
    uint64_t before;   /* the directory ends here or earlier */
} lb_zip_end;

typedef struct lb_zip_entry {
    lb_str name;           /* as it stands; in the arena */
    uint64_t local_at;     /* of its local header, in the file */
    uint64_t packed, size; /* bytes in the archive; bytes of content */
    uint32_t crc;
    uint16_t method, flags;
} lb_zip_entry;

enum { LB_ZIP_STORED = 0, LB_ZIP_DEFLATE = 8 }; /* method */
enum { LB_ZIP_ENCRYPTED = 1 };                  /* flags */

/* Find the end record in the file's last bytes (LB_ZIP_TAIL, or all of a smaller file). Where out->zip64_at is not 0, the
 * LB_ZIP64_END bytes there are for lb_zip_end64. Errors: CORRUPT, UNSUPPORTED. */
lb_status lb_zip_find_end(const uint8_t *tail, size_t size, uint64_t file_size, lb_zip_end *out, lb_error *err);
lb_status lb_zip_end64(const uint8_t *record, uint64_t file_size, lb_zip_end *end, lb_error *err);

/* The entries of the directory, whose bytes these are. Errors: CORRUPT, NOMEM, BUDGET. */
lb_status lb_zip_list(const uint8_t *directory, size_t size, const lb_zip_end *end, lb_arena *arena, lb_zip_entry **out,
                      size_t *n, lb_error *err);

/* Where an entry's content begins, of the LB_ZIP_LOCAL bytes of its local header; it has been checked to lie inside the file.
 * Errors: CORRUPT. */
lb_status lb_zip_content_at(const lb_zip_entry *entry, const uint8_t *local, size_t size, uint64_t file_size,
                            uint64_t *out, lb_error *err);

#endif
