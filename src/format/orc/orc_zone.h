/* Time zones as files of the machine's database have them (RFC 8536, "TZif"), with the rule for the years behind the last
 * transition (POSIX TZ). */
#ifndef LB_FORMAT_ORC_ORC_ZONE_H
#define LB_FORMAT_ORC_ORC_ZONE_H

#include "base/arena.h"

/* A day of the year on which the clock changes. */
typedef struct orc_zone_day {
    char form; /* 'M': weekday `day` of week `week` of `month`; 'J': day 1-365 without 29 February; 'N': day 0-365 */
    int month, week, day;
    int32_t second; /* of that day, local time; may be negative or beyond it */
} orc_zone_day;

typedef struct orc_zone {
    int64_t *times;   /* instants at which the offset changes, ascending */
    int32_t *offsets; /* seconds east of UTC from then on */
    size_t n;
    int32_t first; /* the offset before all of them */
    bool has_rule, has_summer;
    int32_t standard, summer; /* offsets of the rule */
    orc_zone_day begin, end;  /* of summer */
    /* The answer given last holds for instants in [from, to). */
    int64_t from, to;
    int32_t offset;
} orc_zone;

/* Is it UTC under one of its names? Such need no file. */
bool orc_zone_is_utc(const char *name);

/* Load a zone by its name, or by Java's `GMT+hh:mm`. Errors: UNSUPPORTED: the machine has no such zone; CORRUPT: its
 * file is damaged; NOMEM … */
lb_status orc_zone_load(const char *name, orc_zone *out, lb_error *err);
/* From the bytes of a file. `name` for messages. */
lb_status orc_zone_parse(const char *name, const void *bytes, size_t size, orc_zone *out, lb_error *err);
void orc_zone_free(orc_zone *zone);

/* Seconds east of UTC at an instant (seconds since 1970). Remembers: for one thread at a time. */
int32_t orc_zone_offset(orc_zone *zone, int64_t instant);

/* The instant at which the zone's clocks show a time (seconds since 1970 of that clock); the earlier one of two. */
int64_t orc_zone_instant(orc_zone *zone, int64_t wall);

#endif
