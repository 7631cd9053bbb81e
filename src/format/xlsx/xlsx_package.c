/* The archive of a workbook, and its small parts: relationships, sheets, styles. */
#include <libdeflate.h>
#include <stdlib.h>

#include "base/number.h"
#include "format/xlsx/xlsx.h"

#define PACKAGE_DIRECTORY_MOST ((uint64_t)256 << 20)
#define PACKAGE_STYLES_MOST ((size_t)1 << 20)
#define PACKAGE_SHEETS_MOST 65536
/* Deflate cannot make more of a byte than this (RFC 1951: 258 bytes of two bits each, about). */
#define PACKAGE_RATIO_MOST 1040

/* ---------------------------------------------------------------- parts */

static char package_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '\\' ? '/' : c;
}

/* Part names are compared without regard to case (ECMA-376 part 2, 6.2.2.3); some writers use backslashes. */
static bool package_same_name(lb_str a, lb_str b)
{
    if (a.size != 0 && (a.at[0] == '/' || a.at[0] == '\\'))
        a = (lb_str){ a.at + 1, a.size - 1 };
    if (a.size != b.size)
        return false;
    for (size_t i = 0; i < a.size; i++)
        if (package_lower(a.at[i]) != package_lower(b.at[i]))
            return false;
    return true;
}

static size_t package_find(const xl_package *p, lb_str path)
{
    for (size_t i = 0; i < p->n_entries; i++)
        if (package_same_name(p->entries[i].name, path))
            return i;
    return SIZE_MAX;
}

static lb_status part_check(const lb_zip_entry *e, lb_error *err)
{
    int n = (int)LB_MIN(e->name.size, (size_t)80);

    if ((e->flags & LB_ZIP_ENCRYPTED) != 0)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "the part %.*s is encrypted", n, e->name.at);
    if (e->method != LB_ZIP_STORED && e->method != LB_ZIP_DEFLATE)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "the part %.*s is compressed by method %u", n, e->name.at,
                       e->method);
    bool possible = e->method == LB_ZIP_STORED ? e->size == e->packed : e->size / PACKAGE_RATIO_MOST <= e->packed;
    if (!possible)
        return lb_fail(err, LB_CORRUPT, LB_AT(e->local_at), "the part %.*s cannot have %llu bytes in %llu", n,
                       e->name.at, (unsigned long long)e->size, (unsigned long long)e->packed);
    return LB_OK;
}

lb_status xl_part_open_entry(xl_package *p, size_t member, xl_part *out, lb_error *err)
{
    const lb_zip_entry *e = &p->entries[member];
    uint8_t local[LB_ZIP_LOCAL];
    size_t got;

    *out = (xl_part){ .entry = e, .member = (uint32_t)member };
    LB_TRY(part_check(e, err));
    LB_TRY(lb_store_read(p->store, e->local_at, local, sizeof local, &got, err));
    LB_TRY(lb_zip_content_at(e, local, got, p->store->size, &out->content_at, err));
    LB_TRY(lb_store_open_part(p->store, out->content_at, e->packed, &out->packed, err));
    out->view = out->packed;
    if (e->method == LB_ZIP_STORED)
        return LB_OK;
    lb_status status = lb_store_open_unpacked(p->cx, out->packed, &lb_container_deflate, &out->view, err);
    if (status != LB_OK)
        xl_part_close(out);
    return status;
}

lb_status xl_part_open(xl_package *p, lb_str path, xl_part *out, lb_error *err)
{
    size_t i = package_find(p, path);

    *out = (xl_part){ .entry = NULL };
    if (i == SIZE_MAX)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the workbook has no part %.*s, which it names",
                       (int)LB_MIN(path.size, (size_t)80), path.at == NULL ? "" : path.at);
    return xl_part_open_entry(p, i, out, err);
}

void xl_part_close(xl_part *part)
{
    if (part->view != part->packed)
        lb_store_close(part->view);
    lb_store_close(part->packed);
    *part = (xl_part){ .entry = NULL };
}

/* ---------------------------------------------------------------- reading a part */

static lb_status reading_end(const xl_reading *r, lb_error *err)
{
    const lb_zip_entry *e = r->part->entry;
    int n = (int)LB_MIN(e->name.size, (size_t)80);

    if (r->at != e->size)
        return lb_fail(err, LB_CORRUPT, LB_AT(r->part->content_at), "the part %.*s has %llu bytes, not %llu", n,
                       e->name.at, (unsigned long long)r->at, (unsigned long long)e->size);
    if (r->check && r->crc != e->crc)
        return lb_fail(err, LB_CORRUPT, LB_AT(r->part->content_at),
                       "the checksum of the part %.*s does not hold for what was compressed", n, e->name.at);
    return LB_OK;
}

lb_status xl_reading_fill(void *user, uint8_t *to, size_t room, size_t *got, lb_error *err)
{
    xl_reading *r = user;

    *got = 0;
    LB_TRY(lb_check_cancel(r->cx, err));
    if (r->chunk != 0)
        room = LB_MIN(room, r->chunk);
    LB_TRY(lb_store_read(r->part->view, r->at, to, room, got, err));
    if (r->check)
        r->crc = libdeflate_crc32(r->crc, to, *got);
    r->at += *got;
    if (r->at > r->part->entry->size || *got == 0)
        return reading_end(r, err);
    return LB_OK;
}

lb_status xl_reading_drain(xl_reading *r, lb_error *err)
{
    size_t room = (size_t)64 << 10, got = 1;
    uint8_t *bytes = malloc(room);

    if (bytes == NULL)
        return lb_fail_nomem(err);
    lb_status status = LB_OK;
    while (status == LB_OK && got != 0)
        status = xl_reading_fill(r, bytes, room, &got, err);
    free(bytes);
    return status;
}

typedef lb_status (*package_element_fn)(xl_package *p, lb_xml *x, void *user, lb_error *err);

/* Give each element of a part, in order; what `each` does not read is gone into. */
static lb_status package_read(xl_package *p, lb_str path, package_element_fn each, void *user, lb_error *err)
{
    xl_part part;
    lb_xml x = { .data = NULL };
    lb_xml_token token = LB_XML_TEXT;

    LB_TRY(xl_part_open(p, path, &part, err));
    xl_reading reading = { .part = &part, .cx = p->cx, .check = true };
    const char *name = lb_arena_copy(&p->arena, path);
    lb_status status =
        name == NULL ? lb_arena_fail(&p->arena, err) : lb_xml_open(&x, xl_reading_fill, &reading, name, 0, 0, err);
    while (status == LB_OK && token != LB_XML_DONE) {
        status = lb_xml_next(&x, &token, err);
        if (status == LB_OK && token == LB_XML_START)
            status = each(p, &x, user, err);
    }
    lb_xml_close(&x);
    xl_part_close(&part);
    return status;
}

/* ---------------------------------------------------------------- paths */

/* An attribute's text in the arena. */
static lb_status package_text(xl_package *p, const lb_xml *x, lb_str value, lb_str *out, lb_error *err)
{
    lb_buf text;

    lb_buf_init(&text, &p->cx->budget);
    lb_status status = lb_xml_decode(x, value, false, &text, err);
    if (status == LB_OK) {
        *out = (lb_str){ lb_arena_copy(&p->arena, (lb_str){ (const char *)text.data, text.size }), text.size };
        status = out->at == NULL ? lb_arena_fail(&p->arena, err) : LB_OK;
    }
    lb_buf_free(&text);
    return status;
}

/* The path that `target`, a reference in a part of the folder `base`, means. Climbing out of the package is refused. */
static lb_status package_resolve(xl_package *p, lb_str base, lb_str target, lb_str *out, lb_error *err)
{
    char *path = lb_arena_alloc(&p->arena, base.size + target.size + 2, 1);
    size_t n = 0;

    if (path == NULL)
        return lb_arena_fail(&p->arena, err);
    if (target.size != 0 && (target.at[0] == '/' || target.at[0] == '\\')) {
        target = (lb_str){ target.at + 1, target.size - 1 };
    } else if (base.size != 0) {
        memcpy(path, base.at, base.size);
        n = base.size;
    }
    for (size_t i = 0; i < target.size;) {
        size_t stop = i;
        while (stop < target.size && target.at[stop] != '/' && target.at[stop] != '\\')
            stop++;
        lb_str step = { target.at + i, stop - i };
        i = stop + 1;
        if (step.size == 0 || lb_str_is(step, "."))
            continue;
        if (!lb_str_is(step, "..")) {
            if (n != 0)
                path[n++] = '/';
            memcpy(path + n, step.at, step.size);
            n += step.size;
            continue;
        }
        if (n == 0)
            return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a relationship's target climbs out of the package: %.*s",
                           (int)LB_MIN(target.size, (size_t)80), target.at);
        while (n > 0 && path[n - 1] != '/')
            n--;
        n -= n > 0;
    }
    *out = (lb_str){ path, n };
    return LB_OK;
}

static lb_str package_folder(lb_str path)
{
    size_t n = path.size;

    while (n > 0 && path.at[n - 1] != '/')
        n--;
    return (lb_str){ path.at, n > 0 ? n - 1 : 0 };
}

static bool package_ends(lb_str text, const char *tail)
{
    size_t n = strlen(tail);

    return text.size >= n && lb_str_is_nocase((lb_str){ text.at + text.size - n, n }, tail);
}

/* ---------------------------------------------------------------- relationships */

typedef struct package_relations {
    lb_str base;
    lb_str workbook; /* of the package's own: where the workbook lies */
    bool sheets;     /* of the workbook: give sheets their paths */
} package_relations;

static lb_status package_relation(xl_package *p, lb_xml *x, void *user, lb_error *err)
{
    package_relations *r = user;
    lb_str id, type, target, mode, path;

    if (!lb_str_is(x->name, "Relationship") || !lb_xml_find(x, "Type", &type) || !lb_xml_find(x, "Target", &target))
        return LB_OK;
    if (lb_xml_find(x, "TargetMode", &mode) && lb_str_is(mode, "External"))
        return LB_OK;
    if (!lb_xml_find(x, "Id", &id))
        id = LB_STR("");
    LB_TRY(package_text(p, x, target, &target, err));
    LB_TRY(package_resolve(p, r->base, target, &path, err));
    if (!r->sheets) {
        if (package_ends(type, "/officeDocument"))
            r->workbook = path;
        return LB_OK;
    }
    if (package_ends(type, "/sharedStrings"))
        p->strings_path = path;
    if (package_ends(type, "/styles"))
        p->styles_path = path;
    for (size_t i = 0; i < p->n_sheets; i++) {
        if (!lb_str_equal(p->sheets[i].relation, id) || id.size == 0)
            continue;
        p->sheets[i].path = target.size == 0 ? (lb_str){ NULL, 0 } : path;
        p->sheets[i].kind = package_ends(type, "/worksheet")    ? XL_WORKSHEET
                            : package_ends(type, "/chartsheet") ? XL_CHART
                                                                : XL_OTHER;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- the workbook */

static bool package_is_true(lb_str v)
{
    return lb_str_is(v, "1") || lb_str_is(v, "true") || lb_str_is(v, "on");
}

static lb_status package_workbook(xl_package *p, lb_xml *x, void *user, lb_error *err)
{
    lb_buf *sheets = user;
    lb_str value;
    xl_sheet sheet = { .kind = XL_OTHER };

    if (lb_str_is(x->name, "workbookPr") && lb_xml_find(x, "date1904", &value))
        p->date1904 = package_is_true(value);
    if (!lb_str_is(x->name, "sheet") || x->depth < (x->empty ? 2u : 3u))
        return LB_OK;
    if (sheets->size / sizeof sheet >= PACKAGE_SHEETS_MOST)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a workbook of more than %d sheets", PACKAGE_SHEETS_MOST);
    if (lb_xml_find(x, "name", &value))
        LB_TRY(package_text(p, x, value, &sheet.name, err));
    if (lb_xml_find(x, "state", &value))
        LB_TRY(package_text(p, x, value, &sheet.state, err));
    if (lb_xml_find(x, "id", &value))
        LB_TRY(package_text(p, x, value, &sheet.relation, err));
    return lb_buf_append(sheets, &sheet, sizeof sheet, err);
}

static lb_status package_sheets(xl_package *p, lb_str workbook, lb_error *err)
{
    lb_buf sheets;

    lb_buf_init(&sheets, &p->cx->budget);
    lb_status status = package_read(p, workbook, package_workbook, &sheets, err);
    if (status == LB_OK) {
        p->n_sheets = sheets.size / sizeof *p->sheets;
        p->sheets = lb_arena_dup(&p->arena, sheets.data, sheets.size);
        status = p->sheets == NULL ? lb_arena_fail(&p->arena, err) : LB_OK;
    }
    lb_buf_free(&sheets);
    return status;
}

/* `xl/workbook.xml` has its relationships in `xl/_rels/workbook.xml.rels`. */
static lb_status package_relations_path(xl_package *p, lb_str path, lb_str *out, lb_error *err)
{
    lb_str folder = package_folder(path);
    size_t skip = folder.size + (folder.size != 0), n = path.size + sizeof "_rels/" - 1 + sizeof ".rels" - 1;
    char *text = lb_arena_alloc(&p->arena, n + 1, 1), *at = text;

    if (text == NULL)
        return lb_arena_fail(&p->arena, err);
    memcpy(at, path.at, skip);
    memcpy(at += skip, "_rels/", 6);
    memcpy(at += 6, path.at + skip, path.size - skip);
    memcpy(at + path.size - skip, ".rels", 5);
    *out = (lb_str){ text, n };
    return LB_OK;
}

/* ---------------------------------------------------------------- styles */

typedef struct package_formats {
    lb_buf *codes;                     /* package_format */
    unsigned cell_depth, format_depth; /* inside cellXfs, numFmts: their depth; 0: not */
} package_formats;

typedef struct package_format {
    uint32_t id;
    xl_shows shows;
} package_format;

static xl_shows package_shows(const lb_buf *codes, uint32_t id)
{
    const package_format *f = (const package_format *)(const void *)codes->data;

    for (size_t i = codes->size / sizeof *f; i-- > 0;)
        if (f[i].id == id)
            return f[i].shows;
    return xl_shows_of_builtin(id);
}

static bool package_number(const lb_xml *x, const char *name, uint32_t *out)
{
    lb_str value;
    uint64_t n;

    if (!lb_xml_find(x, name, &value) || !lb_parse_uint64(value.at, value.size, &n) || n > UINT32_MAX)
        return false;
    *out = (uint32_t)n;
    return true;
}

static lb_status package_format_code(xl_package *p, const lb_xml *x, lb_buf *codes, lb_error *err)
{
    package_format f;
    lb_str code;
    lb_buf text;

    if (!package_number(x, "numFmtId", &f.id) || !lb_xml_find(x, "formatCode", &code))
        return LB_OK;
    if (codes->size > PACKAGE_STYLES_MOST)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a workbook of too many number formats");
    lb_buf_init(&text, &p->cx->budget);
    lb_status status = lb_xml_decode(x, code, false, &text, err);
    f.shows = xl_shows_of_code((lb_str){ (const char *)text.data, text.size });
    lb_buf_free(&text);
    return status != LB_OK ? status : lb_buf_append(codes, &f, sizeof f, err);
}

static lb_status package_style(xl_package *p, lb_xml *x, void *user, lb_error *err)
{
    package_formats *f = user;
    unsigned inside = x->depth + (x->empty ? 1 : 0);
    uint32_t id = 0;

    if (lb_str_is(x->name, "cellXfs") && !x->empty)
        f->cell_depth = x->depth;
    else if (lb_str_is(x->name, "numFmts") && !x->empty)
        f->format_depth = x->depth;
    else if (inside <= f->cell_depth)
        f->cell_depth = 0;
    if (inside <= f->format_depth && !lb_str_is(x->name, "numFmts"))
        f->format_depth = 0;
    if (f->format_depth != 0 && inside == f->format_depth + 1 && lb_str_is(x->name, "numFmt"))
        return package_format_code(p, x, f->codes, err);
    if (f->cell_depth == 0 || inside != f->cell_depth + 1 || !lb_str_is(x->name, "xf"))
        return LB_OK;
    if (p->styles.size >= PACKAGE_STYLES_MOST)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a workbook of too many styles");
    (void)package_number(x, "numFmtId", &id);
    uint8_t shows = (uint8_t)package_shows(f->codes, id);
    return lb_buf_append(&p->styles, &shows, 1, err);
}

static lb_status package_styles(xl_package *p, lb_error *err)
{
    lb_buf codes;
    package_formats f = { .codes = &codes };

    if (p->styles_path.size == 0 || package_find(p, p->styles_path) == SIZE_MAX)
        return LB_OK;
    lb_buf_init(&codes, &p->cx->budget);
    lb_status status = package_read(p, p->styles_path, package_style, &f, err);
    lb_buf_free(&codes);
    return status;
}

/* ---------------------------------------------------------------- the archive */

/* Workbooks before 2007, and encrypted ones, are compound files (MS-CFB): the names of their streams tell. */
static lb_status package_compound(lb_store *store, const uint8_t head[512], lb_error *err)
{
    static const char encrypted[] = "E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e";
    uint8_t sector[4096];
    uint32_t number;
    size_t got = 0;

    memcpy(&number, head + 48, sizeof number);
    unsigned shift = head[30] == 12 ? 12 : 9;
    LB_TRY(lb_store_read(store, ((uint64_t)number + 1) << shift, sector, sizeof sector, &got, err));
    if (got != 0 && memmem(sector, got, encrypted, sizeof encrypted - 1) != NULL) {
        lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "the workbook is encrypted");
        lb_fail_hint(err, "save it without a password");
        return LB_UNSUPPORTED;
    }
    lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a compound file, as workbooks of Excel 97 to 2003 (.xls) are");
    lb_fail_hint(err, "save it as .xlsx");
    return LB_UNSUPPORTED;
}

static lb_status package_directory(xl_package *p, const lb_zip_end *end, lb_error *err)
{
    size_t got;

    if (end->size > PACKAGE_DIRECTORY_MOST)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(end->at), "zip: a directory of %llu bytes",
                       (unsigned long long)end->size);
    lb_buf bytes;
    lb_buf_init(&bytes, &p->cx->budget);
    lb_status status = lb_buf_reserve(&bytes, (size_t)end->size + 1, err);
    if (status == LB_OK)
        status = lb_store_read(p->store, end->at, bytes.data, (size_t)end->size, &got, err);
    if (status == LB_OK)
        status = lb_zip_list(bytes.data, got, end, &p->arena, &p->entries, &p->n_entries, err);
    lb_buf_free(&bytes);
    return status;
}

static lb_status package_archive(xl_package *p, lb_error *err)
{
    static const uint8_t compound[8] = { 0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1 };
    uint8_t head[512], record[LB_ZIP64_END];
    size_t got, size = (size_t)LB_MIN(p->store->size, (uint64_t)LB_ZIP_TAIL);
    lb_zip_end end;

    LB_TRY(lb_store_read(p->store, 0, head, sizeof head, &got, err));
    if (got == sizeof head && memcmp(head, compound, sizeof compound) == 0)
        return package_compound(p->store, head, err);
    uint8_t *tail = malloc(size + 1);
    if (tail == NULL)
        return lb_fail_nomem(err);
    lb_status status = lb_store_read(p->store, p->store->size - size, tail, size, &got, err);
    if (status == LB_OK)
        status = lb_zip_find_end(tail, got, p->store->size, &end, err);
    free(tail);
    LB_TRY(status);
    if (end.zip64_at != 0) {
        LB_TRY(lb_store_read(p->store, end.zip64_at, record, sizeof record, &got, err));
        if (got != sizeof record)
            return lb_fail(err, LB_CORRUPT, LB_AT(end.zip64_at), "zip: the file became shorter while it was read");
        LB_TRY(lb_zip_end64(record, p->store->size, &end, err));
    }
    return package_directory(p, &end, err);
}

static lb_status package_parts(xl_package *p, lb_error *err)
{
    package_relations root = { .base = { "", 0 } };
    lb_str workbook, path = { NULL, 0 };

    if (package_find(p, LB_STR("_rels/.rels")) != SIZE_MAX)
        LB_TRY(package_read(p, LB_STR("_rels/.rels"), package_relation, &root, err));
    workbook = root.workbook.size != 0 ? root.workbook : LB_STR("xl/workbook.xml");
    if (package_find(p, workbook) == SIZE_MAX)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a ZIP archive without a workbook in it");
    if (package_ends(workbook, ".bin"))
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a binary workbook (.xlsb)");
    LB_TRY(package_sheets(p, workbook, err));
    LB_TRY(package_relations_path(p, workbook, &path, err));
    package_relations inner = { .base = package_folder(workbook), .sheets = true };
    LB_TRY(package_read(p, path, package_relation, &inner, err));
    return package_styles(p, err);
}

lb_status xl_package_open(lb_context *cx, lb_store *store, xl_package *p, lb_error *err)
{
    *p = (xl_package){ .cx = cx, .store = store };
    lb_arena_init(&p->arena, &cx->budget);
    lb_buf_init(&p->styles, &cx->budget);
    LB_TRY(package_archive(p, err));
    return package_parts(p, err);
}

void xl_package_close(xl_package *p)
{
    lb_buf_free(&p->styles);
    lb_arena_free(&p->arena);
}
