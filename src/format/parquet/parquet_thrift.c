#include "format/parquet/parquet_quick.h"

#define STRUCT_OF(T, text)                                                                                          \
    static const lb_thrift_struct T##_struct = { (text), sizeof(lb_pqt_##T), LB_COUNT_OF(T##_fields), T##_fields }; \
    static const lb_thrift_type T##_type = { .kind = LB_THRIFT_STRUCT,                                              \
                                             .size = sizeof(lb_pqt_##T),                                            \
                                             .record = &T##_struct }
#define LIST_OF(name, of) \
    static const lb_thrift_type name = { .kind = LB_THRIFT_LIST, .size = sizeof(lb_thrift_list), .item = &(of) }

/* ---------------------------------------------------------------- schema */

static const lb_thrift_struct none_struct = { "an empty struct", sizeof(lb_pqt_none), 0, NULL };
static const lb_thrift_type none_type = { .kind = LB_THRIFT_STRUCT,
                                          .size = sizeof(lb_pqt_none),
                                          .record = &none_struct };

static const lb_thrift_field time_unit_fields[] = {
    LB_THRIFT_FIELD(lb_pqt_time_unit, 1, millis, &none_type),
    LB_THRIFT_FIELD(lb_pqt_time_unit, 2, micros, &none_type),
    LB_THRIFT_FIELD(lb_pqt_time_unit, 3, nanos, &none_type),
};
STRUCT_OF(time_unit, "TimeUnit");

static const lb_thrift_field time_fields[] = {
    LB_THRIFT_FIELD(lb_pqt_time, 1, utc, &lb_thrift_bool),
    LB_THRIFT_FIELD(lb_pqt_time, 2, unit, &time_unit_type),
};
STRUCT_OF(time, "TimeType");

static const lb_thrift_field decimal_fields[] = {
    LB_THRIFT_FIELD(lb_pqt_decimal, 1, scale, &lb_thrift_i32),
    LB_THRIFT_FIELD(lb_pqt_decimal, 2, precision, &lb_thrift_i32),
};
STRUCT_OF(decimal, "DecimalType");

static const lb_thrift_field integer_fields[] = {
    LB_THRIFT_FIELD(lb_pqt_integer, 1, bits, &lb_thrift_i8),
    LB_THRIFT_FIELD(lb_pqt_integer, 2, is_signed, &lb_thrift_bool),
};
STRUCT_OF(integer, "IntType");

static const lb_thrift_field variant_fields[] = {
    LB_THRIFT_FIELD(lb_pqt_variant, 1, version, &lb_thrift_i8),
};
STRUCT_OF(variant, "VariantType");

static const lb_thrift_field geo_fields[] = {
    LB_THRIFT_FIELD(lb_pqt_geo, 1, crs, &lb_thrift_string),
    LB_THRIFT_FIELD(lb_pqt_geo, 2, algorithm, &lb_thrift_i32),
};
STRUCT_OF(geo, "GeometryType");

/* In the order of the bits LB_PQT_STRING … */
static const lb_thrift_field logical_fields[] = {
    LB_THRIFT_FIELD(lb_pqt_logical, 1, string, &none_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 2, map, &none_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 3, list, &none_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 4, enumeration, &none_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 5, decimal, &decimal_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 6, date, &none_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 7, time, &time_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 8, timestamp, &time_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 10, integer, &integer_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 11, unknown, &none_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 12, json, &none_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 13, bson, &none_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 14, uuid, &none_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 15, float16, &none_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 16, variant, &variant_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 17, geometry, &geo_type),
    LB_THRIFT_FIELD(lb_pqt_logical, 18, geography, &geo_type),
};
STRUCT_OF(logical, "LogicalType");

static const lb_thrift_field element_fields[] = {
    LB_THRIFT_FIELD(lb_pqt_element, 1, type, &lb_thrift_i32),
    LB_THRIFT_FIELD(lb_pqt_element, 2, type_length, &lb_thrift_i32),
    LB_THRIFT_FIELD(lb_pqt_element, 3, repetition, &lb_thrift_i32),
    LB_THRIFT_REQUIRED(lb_pqt_element, 4, name, &lb_thrift_string),
    LB_THRIFT_FIELD(lb_pqt_element, 5, n_children, &lb_thrift_i32),
    LB_THRIFT_FIELD(lb_pqt_element, 6, converted, &lb_thrift_i32),
    LB_THRIFT_FIELD(lb_pqt_element, 7, scale, &lb_thrift_i32),
    LB_THRIFT_FIELD(lb_pqt_element, 8, precision, &lb_thrift_i32),
    LB_THRIFT_FIELD(lb_pqt_element, 9, field_id, &lb_thrift_i32),
    LB_THRIFT_FIELD(lb_pqt_element, 10, logical, &logical_type),
};
STRUCT_OF(element, "SchemaElement");
LIST_OF(elements_type, element_type);

/* ---------------------------------------------------------------- statistics */

static const lb_thrift_field statistics_fields[] = {
    LB_THRIFT_FIELD(lb_pqt_statistics, 1, max_old, &lb_thrift_string),
    LB_THRIFT_FIELD(lb_pqt_statistics, 2, min_old, &lb_thrift_string),
    LB_THRIFT_FIELD(lb_pqt_statistics, 3, null_count, &lb_thrift_i64),
    LB_THRIFT_FIELD(lb_pqt_statistics, 5, max, &lb_thrift_string),
    LB_THRIFT_FIELD(lb_pqt_statistics, 6, min, &lb_thrift_string),
    LB_THRIFT_FIELD(lb_pqt_statistics, 7, max_exact, &lb_thrift_bool),
    LB_THRIFT_FIELD(lb_pqt_statistics, 8, min_exact, &lb_thrift_bool),
    LB_THRIFT_FIELD(lb_pqt_statistics, 9, nan_count, &lb_thrift_i64),
};
const lb_thrift_struct lb_pqt_statistics_struct = { "Statistics", sizeof(lb_pqt_statistics),
                                                    LB_COUNT_OF(statistics_fields), statistics_fields };

/* ---------------------------------------------------------------- row groups */

static const lb_thrift_field meta_fields[] = {
    LB_THRIFT_REQUIRED(lb_pqt_meta, 1, type, &lb_thrift_i32),
    LB_THRIFT_REQUIRED(lb_pqt_meta, 4, codec, &lb_thrift_i32),
    LB_THRIFT_REQUIRED(lb_pqt_meta, 5, num_values, &lb_thrift_i64),
    LB_THRIFT_FIELD(lb_pqt_meta, 6, uncompressed_size, &lb_thrift_i64),
    LB_THRIFT_REQUIRED(lb_pqt_meta, 7, compressed_size, &lb_thrift_i64),
    LB_THRIFT_REQUIRED(lb_pqt_meta, 9, data_page, &lb_thrift_i64),
    LB_THRIFT_FIELD(lb_pqt_meta, 10, index_page, &lb_thrift_i64),
    LB_THRIFT_FIELD(lb_pqt_meta, 11, dictionary_page, &lb_thrift_i64),
    LB_THRIFT_FIELD(lb_pqt_meta, 12, statistics, &lb_thrift_struct_bytes),
};
STRUCT_OF(meta, "ColumnMetaData");

static const lb_thrift_field chunk_fields[] = {
    LB_THRIFT_FIELD(lb_pqt_chunk, 1, file_path, &lb_thrift_string),
    LB_THRIFT_FIELD(lb_pqt_chunk, 3, meta, &meta_type),
    LB_THRIFT_FIELD(lb_pqt_chunk, 4, offset_index, &lb_thrift_i64),
    LB_THRIFT_FIELD(lb_pqt_chunk, 5, offset_index_length, &lb_thrift_i32),
    LB_THRIFT_FIELD(lb_pqt_chunk, 6, column_index, &lb_thrift_i64),
    LB_THRIFT_FIELD(lb_pqt_chunk, 7, column_index_length, &lb_thrift_i32),
    LB_THRIFT_FIELD(lb_pqt_chunk, 8, crypto, &lb_thrift_struct_bytes),
};
STRUCT_OF(chunk, "ColumnChunk");

const lb_thrift_type lb_pqt_chunks_type = {
    .kind = LB_THRIFT_LIST,
    .size = sizeof(lb_thrift_list),
    .item = &chunk_type,
    .visited = true,
    .quick = lb_pqt_chunk_quick,
};

static const lb_thrift_field group_fields[] = {
    LB_THRIFT_REQUIRED(lb_pqt_group, 1, columns, &lb_pqt_chunks_type),
    LB_THRIFT_FIELD(lb_pqt_group, 2, total_byte_size, &lb_thrift_i64),
    LB_THRIFT_REQUIRED(lb_pqt_group, 3, num_rows, &lb_thrift_i64),
    LB_THRIFT_FIELD(lb_pqt_group, 6, compressed_size, &lb_thrift_i64),
};
STRUCT_OF(group, "RowGroup");

const lb_thrift_type lb_pqt_groups_type = {
    .kind = LB_THRIFT_LIST, .size = sizeof(lb_thrift_list), .item = &group_type, .visited = true
};

static const lb_thrift_field pair_fields[] = {
    LB_THRIFT_FIELD(lb_pqt_pair, 1, key, &lb_thrift_string),
    LB_THRIFT_FIELD(lb_pqt_pair, 2, value, &lb_thrift_string),
};
STRUCT_OF(pair, "KeyValue");
LIST_OF(pairs_type, pair_type);

static const lb_thrift_field order_fields[] = {
    LB_THRIFT_FIELD(lb_pqt_order, 1, by_type, &none_type),
    LB_THRIFT_FIELD(lb_pqt_order, 2, by_ieee, &none_type),
};
STRUCT_OF(order, "ColumnOrder");
LIST_OF(orders_type, order_type);

static const lb_thrift_field file_fields[] = {
    LB_THRIFT_FIELD(lb_pqt_file, 1, version, &lb_thrift_i32),
    LB_THRIFT_REQUIRED(lb_pqt_file, 2, schema, &elements_type),
    LB_THRIFT_FIELD(lb_pqt_file, 3, num_rows, &lb_thrift_i64),
    LB_THRIFT_REQUIRED(lb_pqt_file, 4, groups, &lb_pqt_groups_type),
    LB_THRIFT_FIELD(lb_pqt_file, 5, pairs, &pairs_type),
    LB_THRIFT_FIELD(lb_pqt_file, 6, created_by, &lb_thrift_string),
    LB_THRIFT_FIELD(lb_pqt_file, 7, orders, &orders_type),
    LB_THRIFT_FIELD(lb_pqt_file, 8, encryption, &lb_thrift_struct_bytes),
};
const lb_thrift_struct lb_pqt_file_struct = { "FileMetaData", sizeof(lb_pqt_file), LB_COUNT_OF(file_fields),
                                              file_fields };

/* ---------------------------------------------------------------- indexes */

static const lb_thrift_field location_fields[] = {
    LB_THRIFT_REQUIRED(lb_pqt_location, 1, offset, &lb_thrift_i64),
    LB_THRIFT_REQUIRED(lb_pqt_location, 2, length, &lb_thrift_i32),
    LB_THRIFT_REQUIRED(lb_pqt_location, 3, first_row, &lb_thrift_i64),
};
STRUCT_OF(location, "PageLocation");
LIST_OF(locations_type, location_type);

static const lb_thrift_field offset_index_fields[] = {
    LB_THRIFT_REQUIRED(lb_pqt_offset_index, 1, pages, &locations_type),
};
const lb_thrift_struct lb_pqt_offset_index_struct = { "OffsetIndex", sizeof(lb_pqt_offset_index),
                                                      LB_COUNT_OF(offset_index_fields), offset_index_fields };

LIST_OF(bools_type, lb_thrift_bool);
LIST_OF(strings_type, lb_thrift_string);
LIST_OF(longs_type, lb_thrift_i64);

static const lb_thrift_field column_index_fields[] = {
    LB_THRIFT_REQUIRED(lb_pqt_column_index, 1, null_pages, &bools_type),
    LB_THRIFT_REQUIRED(lb_pqt_column_index, 2, mins, &strings_type),
    LB_THRIFT_REQUIRED(lb_pqt_column_index, 3, maxs, &strings_type),
    LB_THRIFT_FIELD(lb_pqt_column_index, 4, order, &lb_thrift_i32),
    LB_THRIFT_FIELD(lb_pqt_column_index, 5, null_counts, &longs_type),
    LB_THRIFT_FIELD(lb_pqt_column_index, 8, nan_counts, &longs_type),
};
const lb_thrift_struct lb_pqt_column_index_struct = { "ColumnIndex", sizeof(lb_pqt_column_index),
                                                      LB_COUNT_OF(column_index_fields), column_index_fields };
