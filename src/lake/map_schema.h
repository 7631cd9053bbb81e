/* The columns of a lake map as one table (lake-map.md 4.4 as section 14 changes it): what writes a map and what
 * loads one go by it. */
#ifndef LB_LAKE_MAP_SCHEMA_H
#define LB_LAKE_MAP_SCHEMA_H

#include "base/arena.h"

typedef enum lb_map_type {
    LB_MAP_UTF8,
    LB_MAP_BINARY,
    LB_MAP_BOOL,
    LB_MAP_U8,
    LB_MAP_U32,
    LB_MAP_U64,
    LB_MAP_I32,
    LB_MAP_I64,
    LB_MAP_F64,
    LB_MAP_FIXED16,
    LB_MAP_FIXED32,
    LB_MAP_STRUCT,
    LB_MAP_LIST
} lb_map_type;

/* Statistics of a column, in `columns` and again in `block_columns`. */
#define LB_MAP_STAT_FIELDS(X, P)                  \
    X(P##_NAME, 2, "name", UTF8, false)           \
    X(P##_TYPE, 2, "type", UTF8, false)           \
    X(P##_SOURCE, 2, "source", U8, false)         \
    X(P##_NULL_COUNT, 2, "null_count", U64, true) \
    X(P##_NAN_COUNT, 2, "nan_count", U64, true)   \
    X(P##_MIN_I, 2, "min_i", I64, true)           \
    X(P##_MAX_I, 2, "max_i", I64, true)           \
    X(P##_MIN_U, 2, "min_u", U64, true)           \
    X(P##_MAX_U, 2, "max_u", U64, true)           \
    X(P##_MIN_F, 2, "min_f", F64, true)           \
    X(P##_MAX_F, 2, "max_f", F64, true)           \
    X(P##_MIN_B, 2, "min_b", BINARY, true)        \
    X(P##_MAX_B, 2, "max_b", BINARY, true)        \
    X(P##_MIN_EXACT, 2, "min_exact", BOOL, false) \
    X(P##_MAX_EXACT, 2, "max_exact", BOOL, false)

/* Every field in the order of a depth-first walk: X(id, depth, name, type, nullable). Depth 0 is a column of the
 * map; the one child of a list is called `item`. The first seven are found by position, the others by name. */
#define LB_MAP_FIELDS(X)                                            \
    X(REL_PATH, 0, "rel_path", UTF8, false)                         \
    X(SIZE_BYTES, 0, "size_bytes", U64, false)                      \
    X(MTIME_MS, 0, "mtime_ms", I64, false)                          \
    X(TOTAL_ROWS, 0, "total_rows", U64, false)                      \
    X(STATS_JSON, 0, "stats_json", UTF8, false)                     \
    X(FIRST_GLOBAL_ROW, 0, "first_global_row", U64, false)          \
    X(ROW_GROUPS_JSON, 0, "row_groups_json", UTF8, false)           \
    X(CONTENT_HASH, 0, "content_hash", UTF8, true)                  \
    X(FORMAT, 0, "format", UTF8, false)                             \
    X(LOCATOR, 0, "locator", UTF8, false)                           \
    X(CONTAINER, 0, "container", UTF8, true)                        \
    X(MTIME_NS, 0, "mtime_ns", I64, false)                          \
    X(CTIME_NS, 0, "ctime_ns", I64, true)                           \
    X(INSPECTED_NS, 0, "inspected_ns", I64, false)                  \
    X(VERIFIED_NS, 0, "verified_ns", I64, true)                     \
    X(ARROW_SCHEMA, 0, "arrow_schema", BINARY, true)                \
    X(SCHEMA_REF, 0, "schema_ref", U32, true)                       \
    X(DIALECT, 0, "dialect", STRUCT, true)                          \
    X(DIALECT_DELIMITER, 1, "delimiter", BINARY, false)             \
    X(DIALECT_QUOTE, 1, "quote", U8, true)                          \
    X(DIALECT_ESCAPE, 1, "escape", U8, true)                        \
    X(DIALECT_HAS_HEADER, 1, "has_header", BOOL, false)             \
    X(DIALECT_ENCODING, 1, "encoding", UTF8, true)                  \
    X(DIALECT_RAGGED, 1, "ragged", UTF8, false)                     \
    X(DIALECT_BOM_BYTES, 1, "bom_bytes", U8, false)                 \
    X(DIALECT_DATA_START, 1, "data_start", U64, false)              \
    X(DIALECT_SHEET, 1, "sheet", I32, true)                         \
    X(DIALECT_HEADER_ROW, 1, "header_row", I32, true)               \
    X(BLOCKS, 0, "blocks", LIST, false)                             \
    X(BLOCK, 1, "item", STRUCT, false)                              \
    X(BLOCK_FIRST_ROW, 2, "first_row", U64, false)                  \
    X(BLOCK_ROW_COUNT, 2, "row_count", U64, false)                  \
    X(BLOCK_FIRST_BYTE, 2, "first_byte", U64, true)                 \
    X(BLOCK_TOTAL_BYTE_SIZE, 2, "total_byte_size", U64, false)      \
    X(BLOCK_COMPRESSED_SIZE, 2, "compressed_size", U64, false)      \
    X(BLOCK_PAGE_INDEXED, 2, "page_indexed", BOOL, false)           \
    X(BLOCK_FIRST_LINE, 2, "first_line", U64, true)                 \
    X(BLOCK_START_HASH, 2, "start_hash", U64, true)                 \
    X(LEAF_PATHS, 0, "leaf_paths", LIST, false)                     \
    X(LEAF_PATH, 1, "item", UTF8, false)                            \
    X(CHUNKS, 0, "chunks", LIST, false)                             \
    X(CHUNK, 1, "item", STRUCT, false)                              \
    X(CHUNK_OFFSET, 2, "offset", U64, false)                        \
    X(CHUNK_LENGTH, 2, "length", U64, false)                        \
    X(CHUNK_NULL_COUNT, 2, "null_count", U64, true)                 \
    X(PAGES, 0, "pages", LIST, false)                               \
    X(PAGE, 1, "item", STRUCT, false)                               \
    X(PAGE_BLOCK, 2, "block", U32, false)                           \
    X(PAGE_COLUMN, 2, "column", U32, false)                         \
    X(PAGE_FIRST_ROW, 2, "first_row", U64, true)                    \
    X(PAGE_OFFSET, 2, "offset", U64, false)                         \
    X(PAGE_LENGTH, 2, "length", U64, false)                         \
    X(COLUMNS, 0, "columns", LIST, false)                           \
    X(COLUMN, 1, "item", STRUCT, false)                             \
    LB_MAP_STAT_FIELDS(X, COLUMN)                                   \
    X(BLOCK_COLUMNS, 0, "block_columns", LIST, false)               \
    X(BLOCK_COLUMN, 1, "item", STRUCT, false)                       \
    LB_MAP_STAT_FIELDS(X, BLOCK_COLUMN)                             \
    X(BLOCK_COLUMN_BLOCK, 2, "block", U32, false)                   \
    X(BLOCK_COLUMN_COLUMN, 2, "column", U32, false)                 \
    X(ACCESS_POINTS, 0, "access_points", LIST, false)               \
    X(ACCESS, 1, "item", STRUCT, false)                             \
    X(ACCESS_KIND, 2, "kind", UTF8, false)                          \
    X(ACCESS_MEMBER, 2, "member", U32, false)                       \
    X(ACCESS_COMPRESSED_BYTE, 2, "compressed_byte", U64, false)     \
    X(ACCESS_BIT, 2, "bit", U8, false)                              \
    X(ACCESS_UNCOMPRESSED_BYTE, 2, "uncompressed_byte", U64, false) \
    X(ACCESS_NEXT_ROW, 2, "next_row", U64, false)                   \
    X(ACCESS_NEXT_ROW_BYTE, 2, "next_row_byte", U64, false)         \
    X(ACCESS_WINDOW, 2, "window", BINARY, true)                     \
    X(ACCESS_PARAMS, 2, "params", BINARY, true)                     \
    X(DIGESTS, 0, "digests", LIST, false)                           \
    X(DIGEST, 1, "item", STRUCT, false)                             \
    X(DIGEST_FIRST_BYTE, 2, "first_byte", U64, false)               \
    X(DIGEST_LENGTH, 2, "length", U64, false)                       \
    X(DIGEST_XXH3, 2, "xxh3", FIXED16, true)                        \
    X(DIGEST_BLAKE3, 2, "blake3", FIXED32, true)                    \
    X(OPEN_STATE, 0, "open_state", BINARY, true)                    \
    X(ERROR, 0, "error", UTF8, true)                                \
    X(REL_PATH_RAW, 0, "rel_path_raw", BINARY, true)

#define LB_MAP_FIELD_ENUM(id, depth, name, type, nullable) LB_MAP_F_##id,
typedef enum lb_map_field_id { LB_MAP_FIELDS(LB_MAP_FIELD_ENUM) LB_MAP_N_FIELDS } lb_map_field_id;
#undef LB_MAP_FIELD_ENUM

#define LB_MAP_BY_POSITION 7 /* the columns addressed by position */

typedef struct lb_map_field {
    const char *name;
    uint8_t depth;
    uint8_t type; /* lb_map_type */
    bool nullable;
} lb_map_field;

extern const lb_map_field lb_map_fields[LB_MAP_N_FIELDS];

/* First field after `id` that is not inside it. */
unsigned lb_map_field_end(unsigned id);

/* Bytes of a value; 0 where there is no fixed number (text, bits, nested). */
unsigned lb_map_type_width(lb_map_type type);

const char *lb_map_type_name(lb_map_type type);

/* The schema of a map with these metadata pairs (key and value in turn). */
struct ArrowSchema;
lb_status lb_map_make_schema(const lb_str *pairs, size_t n_pairs, struct ArrowSchema *out, lb_error *err);

#endif
