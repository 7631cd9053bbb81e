/* The doctor inside: what it knows of each file that is not plainly healthy (lake-map.md 2.6, 8 and 14). */
#ifndef LB_LAKE_DOCTOR_H
#define LB_LAKE_DOCTOR_H

#include "lake/content.h"
#include "lake/discover.h"
#include "lake/inspect.h"
#include "lake/lake_options.h"
#include "lake/lake_stats.h"
#include "lake/map.h"
#include "lake/spool.h"

#define LB_RACY_NS \
    ((int64_t)2000000000) /* a file changed later than so long before its inspection may have changed again unseen */

/* What has to be looked at of a file that is in map and directory, besides its times. */
typedef enum doctor_look { DOCTOR_LOOK_NONE, DOCTOR_LOOK_ENDS, DOCTOR_LOOK_ALL } doctor_look;

/* The longer part of a finding, which few have. */
typedef struct doctor_detail {
    lb_damage *damage;
    uint64_t n_damage;
    const char **schema;
    uint64_t n_schema;
    const char *note; /* of a dataset: what became of its versions; NULL */
} doctor_detail;

/* A file of the report. Healthy ones have none, unless a heal gives them new times. Small, since each of a million
 * files may have drifted; what is needed of an entry is viewed in the map when it is. */
typedef struct doctor_file {
    lb_str rel_path;          /* ends in NUL */
    const lb_data_file *disk; /* NULL: not there */
    uint64_t index;           /* of the entry, where in_map; RENAMED: of the one it had under its former name */
    int64_t old_bytes;        /* its size; -1: there is none */
    size_t slot;              /* of d->spool, + 1, where it was surveyed for a heal; 0: it was not */
    const char *why;          /* it could not be read, or surveyed; NULL */
    doctor_detail *detail;    /* NULL: none */
    lb_drift drift;           /* LB_DRIFT_COUNT: healthy */
    bool in_map;
    bool moved;     /* MISSING, and the former name of a RENAMED one: that one's finding tells of it */
    bool looked;    /* its content was compared, or is to be */
    bool ends_only; /* the parts that tell whether it only grew */
    bool restamp;   /* equal content: times and inspection are renewed by a heal */
    bool same_time; /* size and mtime are those of the entry */
} doctor_file;

typedef struct doctor {
    lb_context *cx;
    const char *dir;
    lb_doctor_options options;
    lb_arena arena;       /* of the report */
    pthread_mutex_t lock; /* of the arena and what is said of failures, while several threads survey */
    lb_map *map;          /* NULL: there is none */
    bool extended;        /* of our layout: typed columns and digests */
    bool interop_full;
    lb_lake_options *lake;
    lb_lake_stats stats;
    lb_inspect_options inspect;
    lb_file_list disk;
    lb_buf unseekable; /* of lb_unseekable */
    doctor_file *files;
    size_t n_files, cap_files;
    size_t looked_to, to_look; /* files judged so far, and those after them whose contents are to be compared */
    uint8_t *kept;             /* a byte an entry: healthy, kept as it stands */
    uint64_t healthy;
    lb_spool spool;      /* entries surveyed for a heal */
    size_t failed_at;    /* the first file that could not be surveyed; SIZE_MAX: all could */
    lb_error failed_why; /* and why */
    _Atomic uint64_t bytes_hashed, bytes_surveyed;
    uint64_t planned_bytes, planned_files; /* of the work known so far, for the progress */
    bool planned_all;                      /* the comparing of contents is in it */
    _Atomic uint64_t files_done;
    int64_t now_ns;
} doctor;

/* doctor.c: report progress. What is read later is not known before what is read first, so the plan may grow. */
void lb_doctor_progress(void *doctor);

/* doctor_compare.c: fill `files` from map and directory, in the order of paths, and say what became of each. */
lb_status lb_doctor_compare(doctor *d, lb_error *err);
lb_status lb_doctor_add(doctor *d, const doctor_file *file, lb_error *err);
/* The detail of a file, made when missing. NULL: see d->arena.why. */
doctor_detail *lb_doctor_detail(doctor *d, doctor_file *file);

/* doctor_survey.c: survey changed files (all of those not in the map too, and for the map, when `heal`), and compare
 * their schemas. */
lb_status lb_doctor_survey(doctor *d, bool heal, lb_error *err);

/* doctor_seeks.c: fill `unseekable` from a map. */
lb_status lb_doctor_find_unseekable(doctor *d, const lb_map *map, lb_error *err);

/* doctor_heal.c: write the mended map, and keep the former one where asked; nothing is written on error. */
lb_status lb_doctor_write(doctor *d, bool keep_old, lb_error *err);

static inline bool lb_doctor_is_drift(const doctor_file *f)
{
    return f->drift != LB_DRIFT_COUNT && f->drift != LB_DRIFT_RACY && f->drift != LB_DRIFT_TORN;
}

#endif
