#include "codec/unpack.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const lb_container *const containers[] = { &lb_container_gzip, &lb_container_zstd, &lb_container_bzip2,
                                                  &lb_container_xz, &lb_container_lz4 };

/* The part behind the last dot of the last name; empty: none. */
static lb_str unpack_ending(lb_str path)
{
    size_t at = path.size;

    while (at > 0 && path.at[at - 1] != '.' && path.at[at - 1] != '/')
        at--;
    if (at == 0 || path.at[at - 1] != '.')
        return (lb_str){ path.at, 0 };
    return (lb_str){ path.at + at, path.size - at };
}

const lb_container *lb_container_of_path(lb_str path)
{
    lb_str ending = unpack_ending(path);

    for (size_t i = 0; ending.size != 0 && i < LB_COUNT_OF(containers); i++)
        for (size_t k = 0; containers[i]->endings[k] != NULL; k++)
            if (lb_str_is_nocase(ending, containers[i]->endings[k]))
                return containers[i];
    return NULL;
}

const lb_container *lb_container_of_name(lb_str name)
{
    for (size_t i = 0; i < LB_COUNT_OF(containers); i++)
        if (lb_str_is(name, containers[i]->name))
            return containers[i];
    return NULL;
}

lb_str lb_container_strip(lb_str path)
{
    if (lb_container_of_path(path) == NULL)
        return path;
    return (lb_str){ path.at, path.size - unpack_ending(path).size - 1 };
}

lb_status lb_unpack_is_other(uint64_t at, const char *name, lb_error *err)
{
    lb_fail(err, LB_CORRUPT, LB_AT(at), "%s: the file does not begin as %s does", name, name);
    lb_fail_hint(err, "its name says that it is compressed; where it is not, or otherwise, rename it");
    return LB_CORRUPT;
}

/* ---------------------------------------------------------------- memory */

/* Its size stands before it. */
#define UNPACK_HEAD sizeof(max_align_t)

bool lb_unpack_take(lb_unpack_memory *m, uint64_t size)
{
    if (!lb_budget_take(m->budget, size)) {
        m->refused = size;
        return false;
    }
    m->taken += size;
    return true;
}

void *lb_unpack_alloc(lb_unpack_memory *m, size_t size)
{
    size_t all;

    if (__builtin_add_overflow(size, UNPACK_HEAD, &all) || !lb_unpack_take(m, all))
        return NULL;
    uint8_t *p = malloc(all);
    if (p == NULL) {
        lb_budget_give(m->budget, all);
        m->taken -= all;
        return NULL;
    }
    memcpy(p, &all, sizeof all);
    return p + UNPACK_HEAD;
}

void lb_unpack_free(lb_unpack_memory *m, void *p)
{
    size_t all;

    if (p == NULL)
        return;
    uint8_t *head = (uint8_t *)p - UNPACK_HEAD;
    memcpy(&all, head, sizeof all);
    lb_budget_give(m->budget, all);
    m->taken -= all;
    free(head);
}

lb_status lb_unpack_no_memory(const lb_unpack_memory *m, const char *name, lb_error *err)
{
    if (m->refused == 0)
        return lb_fail_nomem(err);
    return lb_fail(err, LB_BUDGET, LB_NOWHERE,
                   "%s: decompressing takes %llu MiB here, which passes the memory limit of %llu MiB", name,
                   (unsigned long long)((m->taken + m->refused + (1 << 20) - 1) >> 20),
                   (unsigned long long)(m->budget->limit >> 20));
}
