#include "wire/zip.h"

#include "base/cursor.h"

#define ZIP_END_MARK 0x06054B50u
#define ZIP_END 22
#define ZIP64_LOCATOR_MARK 0x07064B50u
#define ZIP64_LOCATOR 20
#define ZIP64_END_MARK 0x06064B50u
#define ZIP64_ENDS (LB_ZIP64_END + ZIP64_LOCATOR)
#define ZIP_CENTRAL_MARK 0x02014B50u
#define ZIP_CENTRAL 46
#define ZIP_LOCAL_MARK 0x04034B50u

static uint32_t zip_u32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* ---------------------------------------------------------------- the end record */

/* The last end record whose comment ends where the file does; failing that, the last one whose comment fits. */
static size_t zip_end_record(const uint8_t *tail, size_t size)
{
    size_t found = SIZE_MAX;

    if (size < ZIP_END)
        return SIZE_MAX;
    for (size_t at = size - ZIP_END + 1; at-- > 0;) {
        if (tail[at] != 'P' || zip_u32(tail + at) != ZIP_END_MARK)
            continue;
        size_t comment = (size_t)tail[at + 20] | (size_t)tail[at + 21] << 8;
        if (at + ZIP_END + comment == size)
            return at;
        if (found == SIZE_MAX && at + ZIP_END + comment < size)
            found = at;
    }
    return found;
}

/* Does the directory lie before the end record? What stands between the two ends shifts everything. */
static lb_status zip_end_check(lb_zip_end *end, uint64_t record_at, lb_error *err)
{
    uint64_t stop;

    if (!lb_add_u64(end->at, end->size, &stop) || stop > record_at)
        return lb_fail(err, LB_CORRUPT, LB_AT(record_at), "zip: the directory lies outside the file");
    end->shift = record_at - stop;
    end->at += end->shift;
    end->before = record_at;
    return LB_OK;
}

lb_status lb_zip_find_end(const uint8_t *tail, size_t size, uint64_t file_size, lb_zip_end *out, lb_error *err)
{
    size_t at = zip_end_record(tail, size);
    uint64_t record_at = file_size - size + (at == SIZE_MAX ? 0 : at);
    lb_cursor c;

    *out = (lb_zip_end){ 0 };
    if (at == SIZE_MAX)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE,
                       "zip: there is no end record: the file is cut short, or no archive");
    lb_cursor_init(&c, tail + at + 4, ZIP_END - 4, 0);
    uint16_t disk = lb_cursor_u16(&c), first_disk = lb_cursor_u16(&c), here = lb_cursor_u16(&c);
    out->count = lb_cursor_u16(&c);
    out->size = lb_cursor_u32(&c);
    out->at = lb_cursor_u32(&c);
    bool wide = disk == UINT16_MAX || first_disk == UINT16_MAX || here == UINT16_MAX || out->count == UINT16_MAX ||
                out->size == UINT32_MAX || out->at == UINT32_MAX;
    const bool located = at >= ZIP64_LOCATOR && zip_u32(tail + at - ZIP64_LOCATOR) == ZIP64_LOCATOR_MARK;
    if (wide && located) {
        memcpy(&out->zip64_at, tail + at - ZIP64_LOCATOR + 8, sizeof out->zip64_at);
        if (out->zip64_at == 0 || out->zip64_at > file_size || file_size - out->zip64_at < LB_ZIP64_END)
            return lb_fail(err, LB_CORRUPT, LB_AT(record_at), "zip: the ZIP64 end record lies outside the file");
        return LB_OK;
    }
    if (disk != 0 || first_disk != 0 || here != out->count)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(record_at), "zip: an archive in several files");
    if (located && at >= ZIP64_ENDS && zip_u32(tail + at - ZIP64_ENDS) == ZIP64_END_MARK)
        record_at -= ZIP64_ENDS; /* there without need */
    return zip_end_check(out, record_at, err);
}

lb_status lb_zip_end64(const uint8_t *record, uint64_t file_size, lb_zip_end *end, lb_error *err)
{
    lb_cursor c;

    (void)file_size;
    lb_cursor_init(&c, record, LB_ZIP64_END, end->zip64_at);
    if (lb_cursor_u32(&c) != ZIP64_END_MARK)
        return lb_fail(err, LB_CORRUPT, LB_AT(end->zip64_at), "zip: there is no ZIP64 end record where one is named");
    (void)lb_cursor_take(&c, 12);
    uint32_t disk = lb_cursor_u32(&c), first_disk = lb_cursor_u32(&c);
    uint64_t here = lb_cursor_u64(&c);
    end->count = lb_cursor_u64(&c);
    end->size = lb_cursor_u64(&c);
    end->at = lb_cursor_u64(&c);
    if (disk != 0 || first_disk != 0 || here != end->count)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(end->zip64_at), "zip: an archive in several files");
    return zip_end_check(end, end->zip64_at, err);
}

/* ---------------------------------------------------------------- entries */

/* ZIP64: the fields that are all ones stand in an extra field, in this order. False: it is too short for them. */
static bool zip_wide(lb_cursor extra, lb_zip_entry *e)
{
    while (!extra.bad && lb_cursor_left(&extra) >= 4) {
        uint16_t id = lb_cursor_u16(&extra), size = lb_cursor_u16(&extra);
        const uint8_t *p = lb_cursor_take(&extra, size);
        if (p == NULL || id != 1)
            continue;
        lb_cursor c;
        lb_cursor_init(&c, p, size, 0);
        if (e->size == UINT32_MAX)
            e->size = lb_cursor_u64(&c);
        if (e->packed == UINT32_MAX)
            e->packed = lb_cursor_u64(&c);
        if (e->local_at == UINT32_MAX)
            e->local_at = lb_cursor_u64(&c);
        return !c.bad;
    }
    return true;
}

static lb_status zip_entry(lb_cursor *c, const lb_zip_end *end, lb_arena *arena, lb_zip_entry *e, lb_error *err)
{
    uint64_t at = lb_cursor_offset(c), stop;

    if (lb_cursor_u32(c) != ZIP_CENTRAL_MARK || c->bad)
        return lb_fail(err, LB_CORRUPT, LB_AT(at), "zip: the directory ends before its last entry");
    (void)lb_cursor_u32(c); /* versions */
    e->flags = lb_cursor_u16(c);
    e->method = lb_cursor_u16(c);
    (void)lb_cursor_u32(c); /* time */
    e->crc = lb_cursor_u32(c);
    e->packed = lb_cursor_u32(c);
    e->size = lb_cursor_u32(c);
    uint16_t name = lb_cursor_u16(c), extra = lb_cursor_u16(c), comment = lb_cursor_u16(c);
    (void)lb_cursor_u64(c); /* disk and attributes */
    e->local_at = lb_cursor_u32(c);
    const uint8_t *text = lb_cursor_take(c, name), *more = lb_cursor_take(c, extra);
    (void)lb_cursor_take(c, comment);
    if (c->bad)
        return lb_fail(err, LB_CORRUPT, LB_AT(at), "zip: an entry reaches past the directory");
    lb_cursor wide;
    lb_cursor_init(&wide, more, extra, 0);
    if (!zip_wide(wide, e))
        return lb_fail(err, LB_CORRUPT, LB_AT(at), "zip: the ZIP64 field of an entry is too short for its sizes");
    if (!lb_add_u64(e->local_at, end->shift, &e->local_at) || !lb_add_u64(e->local_at, e->packed, &stop) ||
        stop > end->at)
        return lb_fail(err, LB_CORRUPT, LB_AT(at), "zip: an entry lies outside the file");
    e->name = (lb_str){ lb_arena_copy(arena, (lb_str){ (const char *)text, name }), name };
    return e->name.at == NULL ? lb_arena_fail(arena, err) : LB_OK;
}

lb_status lb_zip_list(const uint8_t *directory, size_t size, const lb_zip_end *end, lb_arena *arena, lb_zip_entry **out,
                      size_t *n, lb_error *err)
{
    lb_cursor c;

    lb_cursor_init(&c, directory, size, end->at);
    *n = 0;
    if (lb_cursor_count(&c, end->count, ZIP_CENTRAL) != end->count || c.bad)
        return lb_fail(err, LB_CORRUPT, LB_AT(end->at), "zip: a directory of %llu bytes cannot have %llu entries",
                       (unsigned long long)size, (unsigned long long)end->count);
    *out = lb_arena_alloc(arena, (size_t)end->count, sizeof **out);
    if (*out == NULL)
        return lb_arena_fail(arena, err);
    for (; *n < end->count; (*n)++)
        LB_TRY(zip_entry(&c, end, arena, &(*out)[*n], err));
    return LB_OK;
}

lb_status lb_zip_content_at(const lb_zip_entry *entry, const uint8_t *local, size_t size, uint64_t file_size,
                            uint64_t *out, lb_error *err)
{
    if (size < LB_ZIP_LOCAL || zip_u32(local) != ZIP_LOCAL_MARK)
        return lb_fail(err, LB_CORRUPT, LB_AT(entry->local_at), "zip: no entry begins where the directory says");
    *out = entry->local_at + LB_ZIP_LOCAL + ((uint64_t)local[26] | (uint64_t)local[27] << 8) +
           ((uint64_t)local[28] | (uint64_t)local[29] << 8);
    if (*out > file_size || entry->packed > file_size - *out)
        return lb_fail(err, LB_CORRUPT, LB_AT(entry->local_at), "zip: an entry reaches past the end of the file");
    return LB_OK;
}
