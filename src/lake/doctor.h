/* The doctor inside: what it knows of each file that is not plainly healthy (lake-map.md 2.6, 8 and 14). */
#ifndef LB_LAKE_DOCTOR_H
#define LB_LAKE_DOCTOR_H

#include "lake/content.h"
#include "lake/discover.h"
#include "lake/inspect.h"
#include "lake/lake_options.h"
#include "lake/lake_stats.h"
#include "lake/map.h"

#define LB_RACY_NS \
    ((int64_t)2000000000) /* a file changed later than so long before its inspection may have changed again unseen */

/* What has to be looked at of a file that is in map and directory, besides its times. */
typedef enum doctor_look { DOCTOR_LOOK_NONE, DOCTOR_LOOK_ENDS, DOCTOR_LOOK_ALL } doctor_look;

/* A file of the report. Healthy ones have none of these unless their content is looked at. */
typedef struct doctor_file {
    lb_drift drift; /* LB_DRIFT_COUNT: healthy */
    lb_str rel_path;
    const lb_data_file *disk; /* NULL: not there */
    bool in_map;
    uint64_t index;  /* of the entry; RENAMED: of the one it had under its former name */
    lb_str was;      /* RENAMED: the entry's path */
    lb_entry *old;   /* the entry, where in_map and needed */
    lb_entry *fresh; /* surveyed now; NULL: not, or it failed */
    lb_content_check *check;
    bool restamp;        /* equal content: times and inspection are renewed by a heal */
    bool same_time;      /* size and mtime are those of the entry */
    bool failed;         /* could not be surveyed */
    const lb_error *why; /* it could not be read, or surveyed; NULL */
    lb_damage *damage;
    uint64_t n_damage;
    const char **schema;
    uint64_t n_schema;
} doctor_file;

typedef struct doctor {
    lb_context *cx;
    const char *dir;
    lb_doctor_options options;
    lb_arena arena; /* of the report */
    lb_map *map;    /* NULL: there is none */
    bool extended;  /* of our layout: typed columns and digests */
    bool interop_full;
    lb_lake_options *lake;
    lb_lake_stats stats;
    lb_inspect_options inspect;
    lb_data_file *disk;
    size_t n_disk;
    doctor_file *files;
    size_t n_files, cap_files;
    uint8_t *kept; /* a byte an entry: healthy, kept as it stands */
    uint64_t healthy;
    lb_arena heal_arena;     /* entries that a heal keeps */
    lb_arena *survey_arenas; /* one a surveyed file */
    size_t n_surveyed;
    _Atomic uint64_t bytes_hashed, bytes_surveyed;
    uint64_t planned_bytes, planned_files; /* of the work known so far, for the progress */
    _Atomic uint64_t files_done;
    int64_t now_ns;
} doctor;

/* doctor.c: report progress. What is read later is not known before what is read first, so the plan may grow. */
void lb_doctor_progress(void *doctor);

/* doctor_compare.c: fill `files` from map and directory, and say what became of each. */
lb_status lb_doctor_compare(doctor *d, lb_error *err);

/* doctor_survey.c: survey changed files (all of those not in the map too when `all`), and compare their schemas. */
lb_status lb_doctor_survey(doctor *d, bool all, lb_error *err);

/* doctor_heal.c: write the mended map, and keep the former one where asked; nothing is written on error. */
lb_status lb_doctor_write(doctor *d, bool keep_old, lb_error *err);

static inline bool lb_doctor_is_drift(const doctor_file *f)
{
    return f->drift != LB_DRIFT_COUNT && f->drift != LB_DRIFT_RACY;
}

#endif
