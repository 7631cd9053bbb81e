/* Rules for paths inside a lake (lake-map.md 4.6). */
#ifndef LB_BASE_PATH_H
#define LB_BASE_PATH_H

#include "base/arena.h"

/* `a/b` from two parts; one of them may be empty. NULL: see arena->why. */
char *lb_path_join(lb_arena *arena, const char *dir, const char *name);

/* Absolute, without `.`, `..` and doubled slashes, by text alone (links are not followed). NULL: arena->why. */
char *lb_path_normal(lb_arena *arena, const char *path);

/* A path as a map may hold it: relative, `/` between, no empty, `.` or `..` part, no NUL. */
bool lb_path_is_inside(lb_str rel_path);

/* Last component. */
lb_str lb_path_name(lb_str path);

/* Text after the last dot of the file name, as written; empty where there is none, or the name begins with it. */
lb_str lb_path_extension(lb_str path);

/* Shell-like match: `*` and `?` within a component, `**` across, `[a-z]`, `[!a-z]`, `{a,b}`. A pattern without `/` is
 * matched against the last component, one with `/` against the whole path (a leading `/` is the root's own). A
 * backslash takes the next character as it is; `*` also takes a leading dot. Cost: at most pattern times path; a
 * pattern of more than 4,096 bytes matches nothing. */
bool lb_glob_match(lb_str pattern, lb_str path);

/* The closest of `names` (`count` of them) to a mistyped `name`, or NULL where none is near. */
const char *lb_closest_name(const char *name, const char *const *names, size_t count);

#endif
