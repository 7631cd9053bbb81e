#include "format/orc/orc_zone.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/datetime.h"
#include "io/store.h"

#define ZONE_FILE_MOST (1u << 20)
#define ZONE_DAY 86400
#define ZONE_OFFSET_MOST (26 * 3600) /* RFC 8536: -25 to 26 hours */

static const char *const zone_folders[] = { "/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo",
                                            "/etc/zoneinfo" };

/* Java's own short names, which name no zone of the database (or another one there). */
static const char *const zone_java[][2] = {
    { "ACT", "Australia/Darwin" },    { "AET", "Australia/Sydney" },     { "AGT", "America/Argentina/Buenos_Aires" },
    { "ART", "Africa/Cairo" },        { "AST", "America/Anchorage" },    { "BET", "America/Sao_Paulo" },
    { "BST", "Asia/Dhaka" },          { "CAT", "Africa/Harare" },        { "CNT", "America/St_Johns" },
    { "CST", "America/Chicago" },     { "CTT", "Asia/Shanghai" },        { "EAT", "Africa/Addis_Ababa" },
    { "ECT", "Europe/Paris" },        { "IET", "America/Indianapolis" }, { "IST", "Asia/Kolkata" },
    { "JST", "Asia/Tokyo" },          { "MIT", "Pacific/Apia" },         { "NET", "Asia/Yerevan" },
    { "NST", "Pacific/Auckland" },    { "PLT", "Asia/Karachi" },         { "PNT", "America/Phoenix" },
    { "PRT", "America/Puerto_Rico" }, { "PST", "America/Los_Angeles" },  { "SST", "Pacific/Guadalcanal" },
    { "VST", "Asia/Ho_Chi_Minh" },
};

bool orc_zone_is_utc(const char *name)
{
    static const char *const names[] = { "",     "UTC",      "GMT",       "Z",         "UCT",
                                         "Zulu", "Etc/UTC",  "Etc/GMT",   "Etc/UCT",   "Etc/Zulu",
                                         "GMT0", "Etc/GMT0", "Greenwich", "Universal", "Etc/Universal" };

    for (size_t i = 0; i < LB_COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

void orc_zone_free(orc_zone *zone)
{
    free(zone->times);
    free(zone->offsets);
    *zone = (orc_zone){ 0 };
}

/* ---------------------------------------------------------------- the rule at the end */

typedef struct zone_text {
    const char *at, *end;
    bool bad;
} zone_text;

static bool rule_take(zone_text *t, char c)
{
    if (t->at == t->end || *t->at != c)
        return false;
    t->at++;
    return true;
}

static void rule_name(zone_text *t)
{
    const bool quoted = rule_take(t, '<');
    size_t n = 0;

    for (; t->at < t->end; t->at++, n++) {
        const char c = *t->at, low = (char)(c | 0x20);
        if (!(low >= 'a' && low <= 'z') && !(quoted && ((c >= '0' && c <= '9') || c == '+' || c == '-')))
            break;
    }
    t->bad = t->bad || n == 0 || (quoted && !rule_take(t, '>'));
}

static int rule_number(zone_text *t, int most)
{
    int v = 0, digits = 0;

    for (; t->at < t->end && *t->at >= '0' && *t->at <= '9' && digits < 4; t->at++, digits++)
        v = v * 10 + (*t->at - '0');
    t->bad = t->bad || digits == 0 || v > most;
    return v;
}

/* [+-]hh[:mm[:ss]] in seconds. */
static int32_t rule_time(zone_text *t)
{
    const int sign = rule_take(t, '-') ? -1 : (rule_take(t, '+'), 1);
    int32_t v = rule_number(t, 167) * 3600;

    if (rule_take(t, ':'))
        v += rule_number(t, 59) * 60;
    if (rule_take(t, ':'))
        v += rule_number(t, 59);
    return sign * v;
}

static orc_zone_day rule_day(zone_text *t)
{
    orc_zone_day d = { .form = 'N', .second = 7200 };

    if (rule_take(t, 'M')) {
        d.form = 'M';
        d.month = rule_number(t, 12);
        t->bad = t->bad || d.month == 0 || !rule_take(t, '.');
        d.week = rule_number(t, 5);
        t->bad = t->bad || d.week == 0 || !rule_take(t, '.');
        d.day = rule_number(t, 6);
    } else {
        d.form = rule_take(t, 'J') ? 'J' : 'N';
        d.day = rule_number(t, 365);
        t->bad = t->bad || (d.form == 'J' && d.day == 0);
    }
    if (rule_take(t, '/'))
        d.second = rule_time(t);
    return d;
}

/* `PST8PDT,M3.2.0,M11.1.0`; offsets are west of UTC. Without days of change the rule is that of the United States, which
 * no file of the database relies on: it is refused. */
static bool zone_rule(orc_zone *z, const char *text, size_t size)
{
    zone_text t = { text, text + size, false };

    rule_name(&t);
    z->standard = -rule_time(&t);
    z->has_summer = !t.bad && t.at < t.end;
    if (z->has_summer) {
        rule_name(&t);
        z->summer = z->standard + 3600;
        if (t.at < t.end && *t.at != ',')
            z->summer = -rule_time(&t);
        t.bad = t.bad || !rule_take(&t, ',');
        z->begin = rule_day(&t);
        t.bad = t.bad || !rule_take(&t, ',');
        z->end = rule_day(&t);
    }
    z->has_rule = true;
    return !t.bad && t.at == t.end;
}

/* ---------------------------------------------------------------- files */

typedef struct zone_head {
    uint8_t version;
    uint32_t n_utc, n_std, n_leap, n_times, n_types, n_chars;
} zone_head;

static uint64_t zone_big(lb_cursor *c, size_t size)
{
    const uint8_t *p = lb_cursor_take(c, size);
    uint64_t v = 0;

    for (size_t i = 0; p != NULL && i < size; i++)
        v = v << 8 | p[i];
    return v;
}

static zone_head zone_read_head(lb_cursor *c)
{
    const uint8_t *magic = lb_cursor_take(c, 4);
    zone_head h = { 0 };

    if (magic == NULL || memcmp(magic, "TZif", 4) != 0)
        c->bad = true;
    h.version = lb_cursor_u8(c);
    (void)lb_cursor_take(c, 15);
    h.n_utc = (uint32_t)zone_big(c, 4);
    h.n_std = (uint32_t)zone_big(c, 4);
    h.n_leap = (uint32_t)zone_big(c, 4);
    h.n_times = (uint32_t)zone_big(c, 4);
    h.n_types = (uint32_t)zone_big(c, 4);
    h.n_chars = (uint32_t)zone_big(c, 4);
    return h;
}

static uint64_t zone_body_size(const zone_head *h, unsigned time_size)
{
    return (uint64_t)h->n_times * (time_size + 1) + (uint64_t)h->n_types * 6 + h->n_chars +
           (uint64_t)h->n_leap * (time_size + 4) + h->n_std + h->n_utc;
}

/* Times as they stand, big-endian; types as indices; types of 6 bytes: offset, is summer, name. */
static lb_status zone_body(lb_cursor *c, const zone_head *h, unsigned time_size, orc_zone *z, lb_error *err)
{
    if (zone_body_size(h, time_size) > lb_cursor_left(c) || h->n_types == 0) {
        c->bad = true;
        return LB_OK;
    }
    z->times = calloc((size_t)h->n_times + 1, sizeof *z->times);
    z->offsets = calloc((size_t)h->n_times + 1, sizeof *z->offsets);
    if (z->times == NULL || z->offsets == NULL)
        return lb_fail_nomem(err);
    z->n = h->n_times;
    for (size_t i = 0; i < z->n; i++) {
        const uint64_t v = zone_big(c, time_size);
        z->times[i] = time_size == 8 ? (int64_t)v : (int64_t)(int32_t)v;
        c->bad = c->bad || (i != 0 && z->times[i] <= z->times[i - 1]);
    }
    const uint8_t *which = lb_cursor_take(c, z->n), *types = lb_cursor_take(c, (uint64_t)h->n_types * 6);
    for (size_t i = 0; !c->bad && i <= z->n; i++) {
        const size_t type = i == 0 ? 0 : which[i - 1]; /* type 0 is that before the first transition */
        if (type >= h->n_types) {
            c->bad = true;
            break;
        }
        const uint8_t *p = types + 6 * type;
        const int32_t offset = (int32_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
        c->bad = offset > ZONE_OFFSET_MOST || offset < -ZONE_OFFSET_MOST;
        if (i == 0)
            z->first = offset;
        else
            z->offsets[i - 1] = offset;
    }
    (void)lb_cursor_take(c, h->n_chars + (uint64_t)h->n_leap * (time_size + 4) + h->n_std + h->n_utc);
    return LB_OK;
}

/* Of version 2 and later the second part counts, whose times have 64 bits; behind it stands the rule between newlines. */
static lb_status zone_read(lb_cursor *c, orc_zone *z, lb_error *err)
{
    zone_head h = zone_read_head(c);

    if (h.version < '2')
        return zone_body(c, &h, 4, z, err);
    (void)lb_cursor_take(c, zone_body_size(&h, 4));
    h = zone_read_head(c);
    LB_TRY(zone_body(c, &h, 8, z, err));
    const size_t left = lb_cursor_left(c);
    const char *text = (const char *)lb_cursor_take(c, left);
    if (text == NULL || left < 2 || text[0] != '\n' || text[left - 1] != '\n') {
        c->bad = true;
        return LB_OK;
    }
    c->bad = c->bad || (left > 2 && !zone_rule(z, text + 1, left - 2));
    return LB_OK;
}

lb_status orc_zone_parse(const char *name, const void *bytes, size_t size, orc_zone *out, lb_error *err)
{
    lb_cursor c;

    *out = (orc_zone){ 0 };
    lb_cursor_init(&c, bytes, size, 0);
    lb_status status = zone_read(&c, out, err);
    if (status == LB_OK && c.bad)
        status = lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the machine's file of time zone '%s' is damaged", name);
    if (status != LB_OK)
        orc_zone_free(out);
    return status;
}

/* A relative path of plain words: it leads nowhere but into the folder. */
static bool zone_is_name(const char *name)
{
    if (name[0] == '\0' || name[0] == '/' || strstr(name, "..") != NULL)
        return false;
    for (const char *p = name; *p != '\0'; p++) {
        const char low = (char)(*p | 0x20);
        if (!(low >= 'a' && low <= 'z') && !(*p >= '0' && *p <= '9') && strchr("/_+-", *p) == NULL)
            return false;
    }
    return true;
}

/* Java's names of fixed offsets: GMT+8, GMT-03:30, GMT+0530. */
static bool zone_fixed(const char *name, orc_zone *out)
{
    zone_text t = { name, name + strlen(name), false };

    if (strncmp(name, "GMT", 3) != 0 && strncmp(name, "UTC", 3) != 0)
        return false;
    t.at += 3;
    const bool west = rule_take(&t, '-');
    if (!west && !rule_take(&t, '+'))
        return false;
    int hours = rule_number(&t, 9999), minutes = 0;
    if (rule_take(&t, ':'))
        minutes = rule_number(&t, 59);
    else if (hours > 99) {
        minutes = hours % 100;
        hours /= 100;
    }
    if (t.bad || t.at != t.end || hours > 23 || minutes > 59)
        return false;
    *out = (orc_zone){ .first = (west ? -1 : 1) * (hours * 3600 + minutes * 60) };
    return true;
}

static lb_status zone_load_file(const char *name, lb_store *store, orc_zone *out, lb_error *err)
{
    size_t got = 0;

    if (store->size > ZONE_FILE_MOST)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the machine's file of time zone '%s' is too large", name);
    uint8_t *bytes = malloc((size_t)store->size + 1);
    if (bytes == NULL)
        return lb_fail_nomem(err);
    lb_status status = lb_store_read(store, 0, bytes, (size_t)store->size, &got, err);
    if (status == LB_OK)
        status = orc_zone_parse(name, bytes, got, out, err);
    free(bytes);
    return status;
}

static lb_status zone_missing(const char *name, lb_error *err)
{
    lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "timestamps are in time zone '%.64s', which this machine does not know",
            name);
    lb_fail_hint(err, "install its time zone database (package tzdata)");
    return LB_UNSUPPORTED;
}

lb_status orc_zone_load(const char *name, orc_zone *out, lb_error *err)
{
    const char *asked = name;

    *out = (orc_zone){ 0 };
    if (orc_zone_is_utc(name) || zone_fixed(name, out))
        return LB_OK;
    for (size_t i = 0; i < LB_COUNT_OF(zone_java); i++)
        if (strcmp(name, zone_java[i][0]) == 0)
            name = zone_java[i][1];
    if (!zone_is_name(name))
        return zone_missing(asked, err);
    for (size_t i = 0; i < LB_COUNT_OF(zone_folders); i++) {
        lb_buf path;
        lb_store *store = NULL;
        lb_buf_init(&path, NULL);
        lb_status status = lb_buf_printf(&path, err, "%s/%s", zone_folders[i], name);
        const char *text = status == LB_OK ? lb_buf_text(&path) : NULL;
        bool there = text != NULL && lb_store_open_file(text, &store, NULL) == LB_OK;
        lb_buf_free(&path);
        LB_TRY(status);
        if (!there)
            continue;
        status = zone_load_file(asked, store, out, err);
        lb_store_close(store);
        return status;
    }
    return zone_missing(asked, err);
}

/* ---------------------------------------------------------------- offsets */

/* Seconds since 1970 at which a day of change begins to count, as a clock with `offset` shows it, in UTC. */
static int64_t zone_change(const orc_zone_day *d, int64_t year, int32_t offset)
{
    const int64_t january = lb_days_of(year, 1, 1);
    const bool leap = lb_days_of(year + 1, 1, 1) - january == 366;
    int64_t day;

    if (d->form == 'M') {
        const int64_t first = lb_days_of(year, d->month, 1);
        const int64_t next = d->month == 12 ? lb_days_of(year + 1, 1, 1) : lb_days_of(year, d->month + 1, 1);
        const int64_t weekday = ((first % 7) + 11) % 7; /* 1970-01-01 was a Thursday: 4 */
        day = first + (d->day - weekday + 7) % 7 + 7 * (d->week - 1);
        if (day >= next)
            day -= 7;
    } else if (d->form == 'J') {
        day = january + d->day - 1 + (leap && d->day >= 60);
    } else {
        day = january + d->day;
    }
    return day * ZONE_DAY + d->second - offset;
}

/* By the rule, which has two changes in each year: the nearest one before and behind. */
static int32_t zone_by_rule(orc_zone *z, int64_t instant)
{
    int64_t year;
    int month, day;

    if (!z->has_summer)
        return z->offset = z->standard;
    lb_date_of(instant / ZONE_DAY - (instant % ZONE_DAY < 0), &year, &month, &day);
    for (int64_t y = year - 1; y <= year + 1; y++) {
        const struct {
            int64_t at;
            int32_t offset;
        } changes[] = { { zone_change(&z->begin, y, z->standard), z->summer },
                        { zone_change(&z->end, y, z->summer), z->standard } };
        for (size_t i = 0; i < LB_COUNT_OF(changes); i++) {
            if (changes[i].at > instant) {
                z->to = LB_MIN(z->to, changes[i].at);
            } else if (changes[i].at >= z->from) {
                z->from = changes[i].at;
                z->offset = changes[i].offset;
            }
        }
    }
    return z->offset;
}

int32_t orc_zone_offset(orc_zone *z, int64_t instant)
{
    size_t low = 0, high = z->n;

    if (instant >= z->from && instant < z->to)
        return z->offset;
    while (low < high) { /* the first change behind the instant */
        const size_t middle = low + (high - low) / 2;
        if (z->times[middle] > instant)
            high = middle;
        else
            low = middle + 1;
    }
    z->from = low == 0 ? INT64_MIN : z->times[low - 1];
    z->to = low == z->n ? INT64_MAX : z->times[low];
    z->offset = low == 0 ? z->first : z->offsets[low - 1];
    /* Years beyond what a calendar of 64 bits holds have no rule that matters. */
    const int64_t sane = INT64_C(1) << 55;
    if (low == z->n && z->has_rule && instant < sane && instant > -sane)
        return zone_by_rule(z, instant);
    return z->offset;
}

int64_t orc_zone_instant(orc_zone *z, int64_t wall)
{
    /* The offset in force is one of those a day before and a day behind. */
    const int32_t before = orc_zone_offset(z, wall - ZONE_DAY), behind = orc_zone_offset(z, wall + ZONE_DAY);
    const int64_t early = wall - LB_MAX(before, behind), late = wall - LB_MIN(before, behind);

    return orc_zone_offset(z, early) == LB_MAX(before, behind) ? early : late;
}
