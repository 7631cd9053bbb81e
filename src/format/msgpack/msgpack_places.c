/* Names for the places of rows that are arrays: those that an option gives, or the first row. */
#include <stdio.h>

#include "format/msgpack/msgpack.h"

lb_str mp_place_name(const mp_places *p, uint64_t place, char own[MP_PLACE_NAME])
{
    if (place < p->count)
        return p->names[place];
    return (lb_str){ own, (size_t)snprintf(own, MP_PLACE_NAME, "column_%llu", (unsigned long long)place + 1) };
}

/* Names as they are made: the i-th is key i of `keys`, and `numbers[i]` the last number that was tried behind it. */
typedef struct places_made {
    lb_keys keys;
    unsigned *numbers;
    size_t cap;
} places_made;

static lb_status places_room(mp_places *p, places_made *made, lb_arena *arena, lb_error *err)
{
    if (p->count < made->cap)
        return LB_OK;
    size_t cap = made->cap == 0 ? 8 : 2 * made->cap;
    lb_str *names = lb_arena_alloc(arena, cap, sizeof *names);
    unsigned *numbers = lb_arena_alloc(arena, cap, sizeof *numbers);
    if (names == NULL || numbers == NULL)
        return lb_arena_fail(arena, err);
    if (p->count != 0) {
        memcpy(names, p->names, p->count * sizeof *names);
        memcpy(numbers, made->numbers, p->count * sizeof *numbers);
    }
    p->names = names;
    made->numbers = numbers;
    made->cap = cap;
    return LB_OK;
}

/* Add a name; an empty one says the place, and one that is there already gets a number. */
static lb_status places_add(mp_places *p, places_made *made, lb_arena *arena, lb_str name, lb_error *err)
{
    char own[MP_PLACE_NAME];
    lb_buf text;

    LB_TRY(places_room(p, made, arena, err));
    if (name.size == 0)
        name = (lb_str){ own, (size_t)snprintf(own, sizeof own, "column_%zu", p->count + 1) };
    if (memchr(name.at, 0, name.size) != NULL)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a name of a place holds the character NUL");
    lb_buf_init(&text, arena->budget);
    lb_status status = lb_buf_append(&text, name.at, name.size, err);
    size_t same = status == LB_OK ? lb_keys_of(&made->keys, (lb_str){ (char *)text.data, text.size }) : LB_NO_KEY;
    for (size_t taken = same; status == LB_OK && taken != LB_NO_KEY;) {
        text.size = name.size;
        made->numbers[same] = LB_MAX(made->numbers[same], 1u) + 1;
        status = lb_buf_printf(&text, err, "_%u", made->numbers[same]);
        taken = lb_keys_of(&made->keys, (lb_str){ (char *)text.data, text.size });
    }
    if (status == LB_OK)
        status = lb_keys_add(&made->keys, arena, (lb_str){ (char *)text.data, text.size }, err);
    if (status == LB_OK) {
        made->numbers[p->count] = 0;
        p->names[p->count++] = made->keys.items[made->keys.count - 1].name;
    }
    lb_buf_free(&text);
    return status;
}

lb_status mp_places_of_text(mp_places *p, const char *text, lb_arena *arena, lb_error *err)
{
    places_made made = { .cap = 0 };
    lb_buf name;

    lb_buf_init(&name, arena->budget);
    p->count = 0;
    lb_status status = LB_OK;
    for (bool more = true; status == LB_OK && more; text++) {
        more = *text != '\0';
        if (more && *text != ',') {
            text += text[0] == '\\' && (text[1] == ',' || text[1] == '\\');
            status = lb_buf_append(&name, text, 1, err);
            continue;
        }
        status = places_add(p, &made, arena, (lb_str){ (char *)name.data, name.size }, err);
        name.size = 0;
    }
    lb_buf_free(&name);
    return status;
}

lb_status mp_places_of_row(mp_places *p, mp_cursor c, lb_arena *arena, lb_error *err)
{
    lb_msgpack_token row, item;
    places_made made = { .cap = 0 };
    lb_status status = LB_OK;
    lb_buf name;

    if (!mp_next(&c, &row) || row.kind != LB_MSGPACK_ARRAY)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the first row is no array of names, as --header-row says");
    lb_buf_init(&name, arena->budget);
    p->count = 0;
    for (uint64_t i = 0; status == LB_OK && i < row.n; i++) {
        mp_cursor again = c;
        name.size = 0;
        if (mp_next(&again, &item) && item.kind == LB_MSGPACK_NIL)
            c = again;
        else
            (void)mp_plain(&c, &name, &status, err);
        if (status == LB_OK)
            status = places_add(p, &made, arena, (lb_str){ (char *)name.data, name.size }, err);
    }
    lb_buf_free(&name);
    return status;
}

/* Pass over the row of names; those of an option win over it. */
static lb_status places_read_header(mp_records *records, lb_reader *r, mp_places *places, lb_error *err)
{
    bool got;

    LB_TRY(mp_records_next(records, &got, err));
    records->row = 0;
    if (!got || r->named || places == NULL)
        return LB_OK;
    return mp_places_of_row(places, mp_records_cursor(records), &r->arena, err);
}

/* Is the first element of the array that was begun an array, as a row of names is? Else the array is that row itself. */
static bool places_are_rows(const mp_records *records)
{
    const uint8_t *p = records->window.data + records->place, byte = records->place < records->window.size ? *p : 0;

    return (byte >= 0x90 && byte <= 0x9F) || byte == 0xDC || byte == 0xDD;
}

lb_status mp_begin_rows(mp_records *records, lb_reader *r, bool may_array, bool *array, mp_places *places,
                        lb_error *err)
{
    LB_TRY(mp_records_begin(records, may_array, array, err));
    if (*array && r->header && !places_are_rows(records)) {
        *array = false;
        records->place = 0;
        records->after = 0;
        records->left = UINT64_MAX;
    }
    return r->header ? places_read_header(records, r, places, err) : LB_OK;
}

lb_status mp_places_open(lb_reader *r, lb_error *err)
{
    const lb_read_options *o = r->options;
    const lb_entry *known = r->known;
    mp_records records;
    bool array;

    r->named = o != NULL && (o->value_set & LB_VAL_NAMES) != 0;
    r->header = known != NULL ? known->has_dialect && known->dialect.has_header
                              : o != NULL && (o->set & LB_OPT_HEADER_ROW) != 0 && o->header_first;
    if (r->named)
        return mp_places_of_text(&r->places, o->names, &r->arena, err);
    if (!r->header || known == NULL)
        return LB_OK;
    mp_records_open(&records, r->cx, r->store, 0, 0, UINT64_MAX, 0);
    lb_status status = mp_begin_rows(&records, r, lb_str_is(known->locator, "array_object"), &array, &r->places, err);
    mp_records_close(&records);
    return status;
}
