/* Elements of a footer's schema: which of logical and converted type counts. */
#include "format/parquet/parquet_schema.h"

static void elements_note(lb_parquet_element *e, lb_parquet_note note, int32_t a, int32_t b)
{
    e->note = (uint8_t)note;
    e->a = a;
    e->b = b;
}

static int32_t elements_unit(const lb_pqt_time_unit *unit)
{
    return unit->has == 1   ? NANOARROW_TIME_UNIT_MILLI
           : unit->has == 2 ? NANOARROW_TIME_UNIT_MICRO
           : unit->has == 4 ? NANOARROW_TIME_UNIT_NANO
                            : -1;
}

static void elements_time(lb_parquet_element *e, lb_parquet_note note, const lb_pqt_time *time)
{
    int32_t unit = elements_unit(&time->unit);

    if (unit >= 0)
        elements_note(e, note, unit, time->utc);
}

/* The members of the union without parts of their own. */
static const struct {
    uint64_t bit;
    lb_parquet_note note;
} elements_plain[] = {
    { LB_PQT_STRING, LB_PARQUET_NOTE_STRING }, { LB_PQT_MAP, LB_PARQUET_NOTE_MAP },
    { LB_PQT_LIST, LB_PARQUET_NOTE_LIST },     { LB_PQT_ENUM, LB_PARQUET_NOTE_ENUM },
    { LB_PQT_DATE, LB_PARQUET_NOTE_DATE },     { LB_PQT_UNKNOWN, LB_PARQUET_NOTE_UNKNOWN },
    { LB_PQT_JSON, LB_PARQUET_NOTE_JSON },     { LB_PQT_BSON, LB_PARQUET_NOTE_BSON },
    { LB_PQT_UUID, LB_PARQUET_NOTE_UUID },     { LB_PQT_FLOAT16, LB_PARQUET_NOTE_FLOAT16 },
};

/* A member that this version does not know leaves the union empty, and more than one says nothing. */
static void elements_logical(lb_parquet_element *e, const lb_pqt_logical *l)
{
    for (size_t i = 0; i < LB_COUNT_OF(elements_plain); i++)
        if (l->has == elements_plain[i].bit)
            elements_note(e, elements_plain[i].note, 0, 0);
    if (l->has == LB_PQT_DECIMAL)
        elements_note(e, LB_PARQUET_NOTE_DECIMAL, l->decimal.precision, l->decimal.scale);
    else if (l->has == LB_PQT_TIME)
        elements_time(e, LB_PARQUET_NOTE_TIME, &l->time);
    else if (l->has == LB_PQT_TIMESTAMP)
        elements_time(e, LB_PARQUET_NOTE_TIMESTAMP, &l->timestamp);
    else if (l->has == LB_PQT_INTEGER)
        elements_note(e, LB_PARQUET_NOTE_INTEGER, l->integer.bits, l->integer.is_signed);
    else if (l->has == LB_PQT_VARIANT)
        elements_note(e, LB_PARQUET_NOTE_VARIANT, l->variant.version, 0);
    else if (l->has == LB_PQT_GEOMETRY)
        elements_note(e, LB_PARQUET_NOTE_GEOMETRY, 0, 0);
    else if (l->has == LB_PQT_GEOGRAPHY)
        elements_note(e, LB_PARQUET_NOTE_GEOGRAPHY, l->geography.algorithm, 0);
    if (l->has == LB_PQT_GEOMETRY || l->has == LB_PQT_GEOGRAPHY)
        e->text = l->has == LB_PQT_GEOMETRY ? l->geometry.crs : l->geography.crs;
}

/* A time that has a converted type only is one of UTC (LogicalTypes.md, "Timestamp", on compatibility). */
static void elements_converted(lb_parquet_element *e, const lb_pqt_element *from)
{
    static const struct {
        lb_parquet_note note;
        int32_t a, b;
    } notes[] = {
        [LB_PQT_C_UTF8] = { LB_PARQUET_NOTE_STRING, 0, 0 },
        [LB_PQT_C_MAP] = { LB_PARQUET_NOTE_MAP, 0, 0 },
        [LB_PQT_C_MAP_KEY_VALUE] = { LB_PARQUET_NOTE_MAP, 0, 0 },
        [LB_PQT_C_LIST] = { LB_PARQUET_NOTE_LIST, 0, 0 },
        [LB_PQT_C_ENUM] = { LB_PARQUET_NOTE_ENUM, 0, 0 },
        [LB_PQT_C_DECIMAL] = { LB_PARQUET_NOTE_DECIMAL, 0, 0 },
        [LB_PQT_C_DATE] = { LB_PARQUET_NOTE_DATE, 0, 0 },
        [LB_PQT_C_TIME_MILLIS] = { LB_PARQUET_NOTE_TIME, NANOARROW_TIME_UNIT_MILLI, 0 },
        [LB_PQT_C_TIME_MICROS] = { LB_PARQUET_NOTE_TIME, NANOARROW_TIME_UNIT_MICRO, 0 },
        [LB_PQT_C_TIMESTAMP_MILLIS] = { LB_PARQUET_NOTE_TIMESTAMP, NANOARROW_TIME_UNIT_MILLI, 1 },
        [LB_PQT_C_TIMESTAMP_MICROS] = { LB_PARQUET_NOTE_TIMESTAMP, NANOARROW_TIME_UNIT_MICRO, 1 },
        [LB_PQT_C_UINT_8] = { LB_PARQUET_NOTE_INTEGER, 8, 0 },
        [LB_PQT_C_UINT_16] = { LB_PARQUET_NOTE_INTEGER, 16, 0 },
        [LB_PQT_C_UINT_32] = { LB_PARQUET_NOTE_INTEGER, 32, 0 },
        [LB_PQT_C_UINT_64] = { LB_PARQUET_NOTE_INTEGER, 64, 0 },
        [LB_PQT_C_INT_8] = { LB_PARQUET_NOTE_INTEGER, 8, 1 },
        [LB_PQT_C_INT_16] = { LB_PARQUET_NOTE_INTEGER, 16, 1 },
        [LB_PQT_C_INT_32] = { LB_PARQUET_NOTE_INTEGER, 32, 1 },
        [LB_PQT_C_INT_64] = { LB_PARQUET_NOTE_INTEGER, 64, 1 },
        [LB_PQT_C_JSON] = { LB_PARQUET_NOTE_JSON, 0, 0 },
        [LB_PQT_C_BSON] = { LB_PARQUET_NOTE_BSON, 0, 0 },
        [LB_PQT_C_INTERVAL] = { LB_PARQUET_NOTE_INTERVAL, 0, 0 },
    };

    if (from->converted < 0 || (size_t)from->converted >= LB_COUNT_OF(notes))
        return;
    elements_note(e, notes[from->converted].note, notes[from->converted].a, notes[from->converted].b);
    if (from->converted == LB_PQT_C_DECIMAL)
        elements_note(e, LB_PARQUET_NOTE_DECIMAL, from->precision, from->scale);
}

static lb_status elements_one(const lb_pqt_element *from, lb_parquet_element *e, lb_error *err)
{
    const bool group = (from->has & LB_PQT_E_TYPE) == 0 || from->n_children > 0;

    *e = (lb_parquet_element){ .name = from->name,
                               .physical = group ? LB_PARQUET_GROUP : (uint8_t)(from->type & 0x7F),
                               .has_field_id = (from->has & LB_PQT_E_FIELD_ID) != 0,
                               .field_id = from->field_id,
                               .type_length = (uint32_t)LB_MAX(from->type_length, 0),
                               .n_children = (uint32_t)LB_MAX(from->n_children, 0) };
    if (!group && (from->type < 0 || from->type >= LB_PARQUET_PHYSICAL_COUNT))
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                       "column '%.*s' has physical type %d, which Parquet does not have",
                       (int)LB_MIN(from->name.size, 64), from->name.at, from->type);
    if (from->n_children < 0)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a group of the schema has %d fields", from->n_children);
    if (from->repetition < LB_PQT_REQUIRED || from->repetition > LB_PQT_REPEATED)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a field of the schema has repetition %d", from->repetition);
    e->repetition = (uint8_t)from->repetition;
    elements_logical(e, &from->logical);
    if (e->note == LB_PARQUET_NOTE_NONE && (from->has & LB_PQT_E_CONVERTED) != 0)
        elements_converted(e, from);
    return LB_OK;
}

lb_status lb_parquet_elements_of(const lb_thrift_list *from, lb_arena *arena, lb_parquet_element **out, lb_error *err)
{
    const lb_pqt_element *items = from->items;

    *out = lb_arena_alloc(arena, from->count + 1, sizeof **out);
    if (*out == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < from->count; i++)
        LB_TRY(elements_one(&items[i], &(*out)[i], err));
    return LB_OK;
}
