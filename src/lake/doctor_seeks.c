/* Compressed files in which reading cannot begin in the middle. */
#include "io/unpacked.h"
#include "lake/doctor.h"

/* Less text than this is decompressed for a few rows of any other file, too. */
#define SEEKS_TEXT_LEAST (2 * LB_UNPACKED_SPACING)

static uint64_t seeks_text_bytes(const lb_blocks *b)
{
    if (b->count == 0 || b->first_byte == NULL)
        return 0;
    return b->first_byte[b->count - 1] + lb_blocks_bytes(b, b->count - 1);
}

static lb_status seeks_look(doctor *d, const lb_map *map, uint64_t index, lb_arena *arena, lb_error *err)
{
    lb_entry entry;

    LB_TRY(lb_map_view(map, index, arena, &entry, err));
    const lb_unseekable found = { .struct_size = sizeof found,
                                  .path = lb_arena_copy(&d->arena, entry.rel_path),
                                  .container = lb_arena_copy(&d->arena, entry.container),
                                  .bytes = entry.size_bytes,
                                  .text_bytes = seeks_text_bytes(&entry.blocks) };
    if (found.path == NULL || found.container == NULL)
        return lb_arena_fail(&d->arena, err);
    return found.text_bytes < SEEKS_TEXT_LEAST ? LB_OK : lb_buf_append(&d->unseekable, &found, sizeof found, err);
}

lb_status lb_doctor_find_unseekable(doctor *d, const lb_map *map, lb_error *err)
{
    lb_status status = LB_OK;

    for (uint64_t k = 0; k < lb_map_count(map) && status == LB_OK; k++) {
        const uint64_t index = lb_map_by_path(map, k);
        uint64_t restarts;
        bool packed;
        lb_arena arena;
        LB_TRY(lb_map_view_restarts(map, index, &packed, &restarts, err));
        if (!packed || restarts != 0)
            continue;
        lb_arena_init(&arena, &d->cx->budget);
        status = seeks_look(d, map, index, &arena, err);
        lb_arena_free(&arena);
    }
    return status;
}
