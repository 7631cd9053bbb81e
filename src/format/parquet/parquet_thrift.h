/* What is read of a Parquet file's metadata, as C structs with their Thrift tables. Source: parquet.thrift of
 * apache/parquet-format; fields that nothing here needs are left out, and stepped over. Enumerations are int32_t with
 * the numbers of that file. */
#ifndef LB_FORMAT_PARQUET_THRIFT_H
#define LB_FORMAT_PARQUET_THRIFT_H

#include "wire/thrift.h"

/* ---------------------------------------------------------------- schema */

typedef struct lb_pqt_none {
    uint64_t has;
} lb_pqt_none;

/* A union: which of these is there. */
typedef struct lb_pqt_time_unit {
    uint64_t has; /* bit 0 MILLIS, 1 MICROS, 2 NANOS */
    lb_pqt_none millis, micros, nanos;
} lb_pqt_time_unit;

typedef struct lb_pqt_time {
    uint64_t has;
    bool utc; /* isAdjustedToUTC */
    lb_pqt_time_unit unit;
} lb_pqt_time;

typedef struct lb_pqt_decimal {
    uint64_t has;
    int32_t scale, precision;
} lb_pqt_decimal;

typedef struct lb_pqt_integer {
    uint64_t has;
    int8_t bits;
    bool is_signed;
} lb_pqt_integer;

typedef struct lb_pqt_variant {
    uint64_t has;
    int8_t version;
} lb_pqt_variant;

typedef struct lb_pqt_geo {
    uint64_t has;
    lb_str crs;
    int32_t algorithm; /* of edges; GEOGRAPHY */
} lb_pqt_geo;

/* Which member of the union LogicalType is there: bits of lb_pqt_logical.has. */
enum {
    LB_PQT_STRING = 1 << 0,
    LB_PQT_MAP = 1 << 1,
    LB_PQT_LIST = 1 << 2,
    LB_PQT_ENUM = 1 << 3,
    LB_PQT_DECIMAL = 1 << 4,
    LB_PQT_DATE = 1 << 5,
    LB_PQT_TIME = 1 << 6,
    LB_PQT_TIMESTAMP = 1 << 7,
    LB_PQT_INTEGER = 1 << 8,
    LB_PQT_UNKNOWN = 1 << 9,
    LB_PQT_JSON = 1 << 10,
    LB_PQT_BSON = 1 << 11,
    LB_PQT_UUID = 1 << 12,
    LB_PQT_FLOAT16 = 1 << 13,
    LB_PQT_VARIANT = 1 << 14,
    LB_PQT_GEOMETRY = 1 << 15,
    LB_PQT_GEOGRAPHY = 1 << 16
};

typedef struct lb_pqt_logical {
    uint64_t has;
    lb_pqt_none string, map, list, enumeration;
    lb_pqt_decimal decimal;
    lb_pqt_none date;
    lb_pqt_time time, timestamp;
    lb_pqt_integer integer;
    lb_pqt_none unknown, json, bson, uuid, float16;
    lb_pqt_variant variant;
    lb_pqt_geo geometry, geography;
} lb_pqt_logical;

/* Numbers of ConvertedType. */
enum {
    LB_PQT_C_UTF8,
    LB_PQT_C_MAP,
    LB_PQT_C_MAP_KEY_VALUE,
    LB_PQT_C_LIST,
    LB_PQT_C_ENUM,
    LB_PQT_C_DECIMAL,
    LB_PQT_C_DATE,
    LB_PQT_C_TIME_MILLIS,
    LB_PQT_C_TIME_MICROS,
    LB_PQT_C_TIMESTAMP_MILLIS,
    LB_PQT_C_TIMESTAMP_MICROS,
    LB_PQT_C_UINT_8,
    LB_PQT_C_UINT_16,
    LB_PQT_C_UINT_32,
    LB_PQT_C_UINT_64,
    LB_PQT_C_INT_8,
    LB_PQT_C_INT_16,
    LB_PQT_C_INT_32,
    LB_PQT_C_INT_64,
    LB_PQT_C_JSON,
    LB_PQT_C_BSON,
    LB_PQT_C_INTERVAL
};

enum { LB_PQT_REQUIRED, LB_PQT_OPTIONAL, LB_PQT_REPEATED };

enum {
    LB_PQT_E_TYPE = 1 << 0,
    LB_PQT_E_TYPE_LENGTH = 1 << 1,
    LB_PQT_E_REPETITION = 1 << 2,
    LB_PQT_E_CHILDREN = 1 << 4,
    LB_PQT_E_CONVERTED = 1 << 5,
    LB_PQT_E_SCALE = 1 << 6,
    LB_PQT_E_PRECISION = 1 << 7,
    LB_PQT_E_FIELD_ID = 1 << 8,
    LB_PQT_E_LOGICAL = 1 << 9
};

typedef struct lb_pqt_element {
    uint64_t has; /* LB_PQT_E_… */
    int32_t type, type_length, repetition;
    lb_str name;
    int32_t n_children, converted, scale, precision, field_id;
    lb_pqt_logical logical;
} lb_pqt_element;

/* ---------------------------------------------------------------- statistics */

enum {
    LB_PQT_S_MAX_OLD = 1 << 0,
    LB_PQT_S_MIN_OLD = 1 << 1,
    LB_PQT_S_NULLS = 1 << 2,
    LB_PQT_S_MAX = 1 << 3,
    LB_PQT_S_MIN = 1 << 4,
    LB_PQT_S_MAX_EXACT = 1 << 5,
    LB_PQT_S_MIN_EXACT = 1 << 6,
    LB_PQT_S_NANS = 1 << 7
};

typedef struct lb_pqt_statistics {
    uint64_t has; /* LB_PQT_S_… */
    lb_str max_old, min_old;
    int64_t null_count;
    lb_str max, min;
    bool max_exact, min_exact;
    int64_t nan_count;
} lb_pqt_statistics;
extern const lb_thrift_struct lb_pqt_statistics_struct;

/* ---------------------------------------------------------------- row groups */

enum {
    LB_PQT_M_REQUIRED = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5, /* and the size before compression */
    LB_PQT_M_INDEX_PAGE = 1 << 6,
    LB_PQT_M_DICTIONARY = 1 << 7,
    LB_PQT_M_STATISTICS = 1 << 8,
};

typedef struct lb_pqt_meta {
    uint64_t has; /* LB_PQT_M_… */
    int32_t type, codec;
    int64_t num_values, uncompressed_size, compressed_size, data_page, index_page, dictionary_page;
    lb_str statistics; /* bytes of lb_pqt_statistics */
} lb_pqt_meta;

enum {
    LB_PQT_K_FILE_PATH = 1 << 0,
    LB_PQT_K_META = 1 << 1,
    LB_PQT_K_OFFSET_INDEX = 1 << 2,
    LB_PQT_K_COLUMN_INDEX = 1 << 4,
    LB_PQT_K_CRYPTO = 1 << 6
};

typedef struct lb_pqt_chunk {
    uint64_t has; /* LB_PQT_K_… */
    lb_str file_path;
    lb_pqt_meta meta;
    int64_t offset_index;
    int32_t offset_index_length;
    int64_t column_index;
    int32_t column_index_length;
    lb_str crypto;
} lb_pqt_chunk;

typedef struct lb_pqt_group {
    uint64_t has;
    lb_thrift_list columns; /* visited: lb_pqt_chunk */
    int64_t total_byte_size, num_rows, compressed_size;
} lb_pqt_group;
enum { LB_PQT_G_COMPRESSED = 1 << 3 };

typedef struct lb_pqt_pair {
    uint64_t has;
    lb_str key, value;
} lb_pqt_pair;

/* A union: bit 0 of `has`: the order that the type defines; 1: IEEE 754's total order. */
typedef struct lb_pqt_order {
    uint64_t has;
    lb_pqt_none by_type, by_ieee;
} lb_pqt_order;

enum { LB_PQT_F_CREATED_BY = 1 << 5, LB_PQT_F_ORDERS = 1 << 6, LB_PQT_F_ENCRYPTION = 1 << 7 };

typedef struct lb_pqt_file {
    uint64_t has;
    int32_t version;
    lb_thrift_list schema; /* of lb_pqt_element */
    int64_t num_rows;
    lb_thrift_list groups; /* visited: lb_pqt_group */
    lb_thrift_list pairs;  /* of lb_pqt_pair */
    lb_str created_by;
    lb_thrift_list orders; /* of lb_pqt_order */
    lb_str encryption;
} lb_pqt_file;
extern const lb_thrift_struct lb_pqt_file_struct;

/* Types of the two visited lists. */
extern const lb_thrift_type lb_pqt_groups_type, lb_pqt_chunks_type;

/* ---------------------------------------------------------------- indexes */

typedef struct lb_pqt_location {
    uint64_t has;
    int64_t offset;
    int32_t length;
    int64_t first_row;
} lb_pqt_location;

typedef struct lb_pqt_offset_index {
    uint64_t has;
    lb_thrift_list pages; /* of lb_pqt_location */
} lb_pqt_offset_index;
extern const lb_thrift_struct lb_pqt_offset_index_struct;

enum { LB_PQT_X_NULLS = 1 << 4, LB_PQT_X_NANS = 1 << 5 };

typedef struct lb_pqt_column_index {
    uint64_t has;
    lb_thrift_list null_pages; /* of bool */
    lb_thrift_list mins, maxs; /* of lb_str */
    int32_t order;
    lb_thrift_list null_counts; /* of int64_t */
    lb_thrift_list nan_counts;  /* of int64_t */
} lb_pqt_column_index;
extern const lb_thrift_struct lb_pqt_column_index_struct;

#endif
