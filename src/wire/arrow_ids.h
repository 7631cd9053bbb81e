/* Numbers in the metadata of Arrow IPC (the format's Message.fbs, Schema.fbs and File.fbs). */
#ifndef LB_WIRE_ARROW_IDS_H
#define LB_WIRE_ARROW_IDS_H

#define LB_IPC_MAGIC "ARROW1" /* at both ends of a file; at its beginning two zero bytes follow */
#define LB_IPC_MAGIC_SIZE 6
#define LB_IPC_BLOCK 24 /* struct Block of a footer: offset i64, metadata length i32, 4 bytes, body length i64 */

enum { /* type_type of a Field */
       LB_IPC_NULL = 1,
       LB_IPC_INT,
       LB_IPC_FLOAT,
       LB_IPC_BINARY,
       LB_IPC_UTF8,
       LB_IPC_BOOL,
       LB_IPC_DECIMAL,
       LB_IPC_DATE,
       LB_IPC_TIME,
       LB_IPC_TIMESTAMP,
       LB_IPC_INTERVAL,
       LB_IPC_LIST,
       LB_IPC_STRUCT,
       LB_IPC_UNION,
       LB_IPC_FIXED_BINARY,
       LB_IPC_FIXED_LIST,
       LB_IPC_MAP,
       LB_IPC_DURATION,
       LB_IPC_LARGE_BINARY,
       LB_IPC_LARGE_UTF8,
       LB_IPC_LARGE_LIST,
       LB_IPC_RUN_END,
       LB_IPC_BINARY_VIEW,
       LB_IPC_UTF8_VIEW,
       LB_IPC_LIST_VIEW,
       LB_IPC_LARGE_LIST_VIEW,
       LB_IPC_TYPES
};

enum { /* header_type of a Message */
       LB_IPC_SCHEMA = 1,
       LB_IPC_DICTIONARY_BATCH,
       LB_IPC_RECORD_BATCH
};

enum { /* version of a Message or a Footer */
       LB_IPC_V4 = 3,
       LB_IPC_V5 = 4
};

#endif
