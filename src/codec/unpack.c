#include "codec/unpack.h"

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
