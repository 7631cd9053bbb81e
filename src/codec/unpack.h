/* Files compressed as a whole (gzip, zstd, bzip2, xz, lz4), decompressed in pieces, from their beginning or from a restart point. */
#ifndef LB_CODEC_UNPACK_H
#define LB_CODEC_UNPACK_H

#include "base/arena.h"
#include "codec/inflate.h"

/* Unless no more input follows, fewer bytes than this may be left untouched: they are given again with more behind them. */
#define LB_UNPACK_AHEAD LB_INFLATE_AHEAD

/* So many bytes of earlier output have to stand before `out`, or all there are. */
#define LB_UNPACK_HISTORY 65536

typedef enum lb_unpack_stop {
    LB_UNPACK_INPUT,  /* more input is wanted */
    LB_UNPACK_ROOM,   /* the output is full */
    LB_UNPACK_BORDER, /* decompressing could begin here, as asked */
    LB_UNPACK_END,    /* of the file */
} lb_unpack_stop;

/* What one call works on; the pointers move along. */
typedef struct lb_unpack_io {
    const uint8_t *in, *in_end;
    uint8_t *out, *out_end;
    const uint8_t *history; /* the first byte of earlier output before `out` */
    uint64_t in_at;         /* where `in` lies in the file */
    bool in_last;           /* nothing follows in_end */
    bool stop_at_borders;
    bool
        out_stays; /* from the border before: `out` is one piece of memory up to out_end, where nothing else is written */
} lb_unpack_io;

/* Where decompressing can begin. */
typedef struct lb_unpack_point {
    uint64_t byte;   /* in the file */
    unsigned bit;    /* bits of that byte that are past */
    unsigned window; /* bytes of output before it that are needed, at most LB_UNPACK_HISTORY: they stand before `out` */
    uint8_t param;   /* the container's own: xz: the kind of check; lz4: how its frame keeps blocks */
} lb_unpack_point;

typedef struct lb_unpacker lb_unpacker;

/* What an unpacker takes besides some kilobytes, counted against a budget. For one thread at a time. */
typedef struct lb_unpack_memory {
    lb_budget *budget; /* NULL: no limit */
    uint64_t taken;
    uint64_t refused; /* the budget's last refusal: so much more was wanted; 0: none */
} lb_unpack_memory;

/* Memory that counts; NULL: refused, or there is none. */
void *lb_unpack_alloc(lb_unpack_memory *m, size_t size);
void lb_unpack_free(lb_unpack_memory *m, void *p); /* NULL is fine */

/* Count memory that somebody else allocates. */
bool lb_unpack_take(lb_unpack_memory *m, uint64_t size);

/* Memory could not be had: BUDGET with what was wanted, or NOMEM. */
lb_status lb_unpack_no_memory(const lb_unpack_memory *m, const char *name, lb_error *err);

/* A way of compression. */
typedef struct lb_container {
    const char *name;           /* as column `container` of the map */
    const char *const *endings; /* of file names, without dot, lower case, ended by NULL */
    const char *point_kind;     /* as `kind` of access points */
    bool straight;              /* decompresses to where output stays without copying it once more */

    /* `memory` must outlive it. NULL: no memory, or refused. */
    lb_unpacker *(*open)(lb_unpack_memory *memory);
    void (*close)(lb_unpacker *u);

    /* Begin at a point; NULL: at the file's beginning. Errors: NOMEM, BUDGET. */
    lb_status (*begin)(lb_unpacker *u, const lb_unpack_point *point, lb_error *err);

    /* Decompress until something is missing or reached, as *stop says. At LB_UNPACK_BORDER *point says what going on from here
     * would need. Errors: CORRUPT with the place in the file; UNSUPPORTED; NOMEM; BUDGET. After an error it can begin again. */
    lb_status (*run)(lb_unpacker *u, lb_unpack_io *io, lb_unpack_stop *stop, lb_unpack_point *point, lb_error *err);

    /* As lb_inflate_note, right after a border that needs a window; NULL: all of a window is needed. */
    void (*note)(lb_unpacker *u, uint8_t *marks);
    bool (*notes)(const lb_unpacker *u);
} lb_container;

/* The container that a file name ends in ("orders.csv.gz"), or that a name in the map means; NULL: none. */
const lb_container *lb_container_of_path(lb_str path);
const lb_container *lb_container_of_name(lb_str name);

/* A path without the container's ending. */
lb_str lb_container_strip(lb_str path);

/* CORRUPT: the file, of which this is byte `at`, does not begin as its name says; with a hint. */
lb_status lb_unpack_is_other(uint64_t at, const char *name, lb_error *err);

/* Deflate without anything around it, as parts of an archive are: no file is named so, and no name finds it. */
extern const lb_container lb_container_deflate;

extern const lb_container lb_container_gzip, lb_container_zstd, lb_container_bzip2, lb_container_xz, lb_container_lz4;

#endif
