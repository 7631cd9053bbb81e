#include "lance/manifest.h"

#include <stdio.h>

#include "base/cursor.h"
#include "base/path.h"

/* ---------------------------------------------------------------- numberings of before release 0.2.7 */

static uint64_t manifest_varint(lb_cursor *c)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = lb_cursor_u8(c);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
    c->bad = true;
    return 0;
}

/* Pass over a field's value by its wire type. */
static void manifest_skip(lb_cursor *c, unsigned wire)
{
    if (wire == 0)
        (void)manifest_varint(c);
    else if (wire == 1)
        (void)lb_cursor_take(c, 8);
    else if (wire == 2)
        (void)lb_cursor_take(c, manifest_varint(c));
    else if (wire == 5)
        (void)lb_cursor_take(c, 4);
    else
        c->bad = true;
}

/* They had a message as field 6 and the version as field 4, with nothing in field 3 that is a number. */
static bool manifest_is_ancient(lb_str bytes)
{
    bool version = false, aux = false;
    lb_cursor c;

    lb_cursor_init(&c, bytes.at, bytes.size, 0);
    while (!c.bad && lb_cursor_left(&c) != 0) {
        uint64_t tag = manifest_varint(&c);
        version |= tag >> 3 == 3 && (tag & 7) == 0;
        aux |= tag >> 3 == 4;
        if (tag >> 3 == 6 && (tag & 7) == 2)
            return true;
        manifest_skip(&c, (unsigned)(tag & 7));
    }
    return aux && !version;
}

/* ---------------------------------------------------------------- checks */

static lb_status manifest_check_file(const lb_lance_data_file *f, lb_error *err)
{
    lb_str path = lb_lance_str(f->path);
    char shown[200];

    if (lb_path_is_inside(path))
        return LB_OK;
    lb_lance_shown(path, shown, sizeof shown);
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the manifest names the data file '%s', which lies outside the dataset",
                   shown);
}

static lb_status manifest_check(const lb_manifest *m, lb_error *err)
{
    for (size_t i = 0; i < m->pb->n_fragments; i++) {
        const lb_lance_fragment *f = m->pb->fragments[i];
        for (size_t k = 0; k < f->n_files; k++)
            LB_TRY(manifest_check_file(f->files[k], err));
    }
    for (size_t i = 0; m->indices != NULL && i < m->indices->n_indices; i++) {
        const LbPb__Uuid *uuid = m->indices->indices[i]->uuid;
        if (uuid == NULL || uuid->uuid.len != 16)
            return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "index %zu of the manifest has no UUID of 16 bytes", i);
    }
    return LB_OK;
}

static lb_status manifest_footer(lb_store *store, lb_manifest *out, lb_error *err)
{
    lb_lance_footer footer;

    LB_TRY(lb_lance_read_footer(store, &footer, err));
    if (footer.major != 0 || footer.minor > 2)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(store->size - 8), "a manifest of version %u.%u, which is not known",
                       footer.major, footer.minor);
    out->position = footer.position;
    out->major = footer.major;
    out->minor = footer.minor;
    return LB_OK;
}

static lb_status manifest_message(lb_store *store, lb_arena *arena, lb_manifest *out, lb_error *err)
{
    lb_str bytes;

    LB_TRY(lb_lance_read_bytes(store, out->position, store->size - LB_LANCE_FOOTER, true, "the manifest", arena, &bytes,
                               err));
    if (manifest_is_ancient(bytes)) {
        lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "this dataset is too old: its manifest is of before release 0.2.7");
        lb_fail_hint(err, "release 0.3 of Lance can write it again");
        return LB_UNSUPPORTED;
    }
    return lb_lance_decode(&lb_pb__manifest__descriptor, bytes, out->position, "the manifest", arena, &out->pb, err);
}

/* ---------------------------------------------------------------- reading */

static lb_status manifest_read(lb_store *store, lb_arena *arena, lb_manifest *out, lb_error *err)
{
    LB_TRY(manifest_footer(store, out, err));
    LB_TRY(manifest_message(store, arena, out, err));
    if (out->pb->index_section_is_case == LB_PB__MANIFEST__INDEX_SECTION_IS_INDEX_SECTION)
        LB_TRY(lb_lance_read_message(store, &lb_pb__index_section__descriptor, out->pb->index_section, out->position,
                                     false, "the index section", arena, &out->indices, err));
    if (out->pb->version_aux_data != 0)
        LB_TRY(lb_lance_read_message(store, &lb_pb__version_aux_data__descriptor, out->pb->version_aux_data,
                                     out->position, false, "the version's auxiliary data", arena, &out->aux, err));
    return manifest_check(out, err);
}

lb_status lb_manifest_read(lb_store *store, lb_arena *arena, lb_manifest *out, lb_error *err)
{
    *out = (lb_manifest){ 0 };
    lb_status status = manifest_read(store, arena, out, err);
    if (status != LB_OK)
        lb_fail_path(err, store->path);
    return status;
}

/* ---------------------------------------------------------------- a glance */

static void glance_time(lb_str bytes, lb_manifest_glance *out)
{
    lb_cursor c;

    lb_cursor_init(&c, bytes.at, bytes.size, 0);
    while (!c.bad && lb_cursor_left(&c) != 0) {
        uint64_t tag = manifest_varint(&c);
        if (tag == (1 << 3))
            out->seconds = (int64_t)manifest_varint(&c);
        else if (tag == (2 << 3))
            out->nanos = (int32_t)manifest_varint(&c);
        else
            manifest_skip(&c, (unsigned)(tag & 7));
    }
}

lb_status lb_manifest_look(lb_store *store, lb_arena *arena, lb_manifest_glance *out, lb_error *err)
{
    lb_manifest m = { 0 };
    lb_str bytes = { 0 };
    lb_cursor c;

    *out = (lb_manifest_glance){ 0 };
    LB_TRY(manifest_footer(store, &m, err));
    LB_TRY(lb_lance_read_bytes(store, m.position, store->size - LB_LANCE_FOOTER, true, "the manifest", arena, &bytes,
                               err));
    lb_cursor_init(&c, bytes.at, bytes.size, 0);
    while (!c.bad && lb_cursor_left(&c) != 0) {
        uint64_t tag = manifest_varint(&c);
        if (tag == (3 << 3)) {
            out->version = manifest_varint(&c);
        } else if (tag == (7 << 3 | 2) || tag == (8 << 3 | 2)) {
            uint64_t size = manifest_varint(&c);
            const uint8_t *at = lb_cursor_take(&c, size);
            lb_str value = { (const char *)at, at == NULL ? 0 : (size_t)size };
            if (tag >> 3 == 7)
                glance_time(value, out);
            else
                out->tag = value;
        } else {
            manifest_skip(&c, (unsigned)(tag & 7));
        }
    }
    return c.bad ? lb_fail(err, LB_CORRUPT, LB_AT(m.position), "the manifest is not a valid message") : LB_OK;
}

lb_status lb_manifest_check_readable(const lb_manifest *m, lb_error *err)
{
    static const struct {
        uint64_t bit;
        const char *name;
    } known[] = {
        { LB_LANCE_FLAG_ROW_IDS, "stable row ids" },
        { LB_LANCE_FLAG_V2_STORAGE, "v2 storage" },
        { LB_LANCE_FLAG_CONFIG, "table config" },
        { LB_LANCE_FLAG_BASE_PATHS, "base paths" },
        { LB_LANCE_FLAG_NO_TRANSACTIONS, "no transaction files" },
    };
    uint64_t left = m->pb->reader_feature_flags & ~(uint64_t)LB_LANCE_READER_FLAGS;
    char names[200] = "";
    size_t at = 0;

    for (size_t i = 0; i < LB_COUNT_OF(known); i++)
        if ((left & known[i].bit) != 0)
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%llu (%s)", at == 0 ? "" : ", ",
                                   (unsigned long long)known[i].bit, known[i].name);
    uint64_t unknown = left & ~(uint64_t)0x3f;
    if (unknown != 0)
        (void)snprintf(names + at, sizeof names - at, "%s%llu (unknown)", at == 0 ? "" : ", ",
                       (unsigned long long)unknown);
    if (left == 0)
        return LB_OK;
    return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "reading this version needs what is not supported: feature flag %s",
                   names);
}
