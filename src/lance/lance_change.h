/* Changes of a manifest that several operations share. */
#ifndef LB_LANCE_LANCE_CHANGE_H
#define LB_LANCE_LANCE_CHANGE_H

#include "lance/lance_rows.h"

/* USAGE where `path` is a dataset already, or a file, or a folder with other things in it. */
lb_status lb_lance_check_vacant(const char *path, lb_error *err);

/* UNSUPPORTED where the rows are in files of format 2, or said to be. */
lb_status lb_lance_check_storage(lb_lance_work *work, const lb_lance_snapshot *s, lb_error *err);

/* CONFLICT where another writer changed the fields (or their dictionaries, or what tells of nulls) since `base`. */
lb_status lb_lance_check_same_fields(const lb_lance_snapshot *base, const lb_lance_snapshot *newest, lb_error *err);

/* First id that no field of the schema and of any data file has. */
int32_t lb_lance_next_field_id(const lb_lance_manifest *pb);

/* The id for the next new fragment. */
uint64_t lb_lance_next_fragment_id(const lb_lance_manifest *pb);

/* Does the manifest carry what releases since 0.8 write: row counts, the writer's name? */
bool lb_lance_is_modern(const lb_lance_manifest *pb);

/* Write these too from now on: our name, the largest fragment id, and the row counts of all fragments, looked up in
 * their data files where the manifest cannot be trusted. Errors: IO, CORRUPT, UNSUPPORTED. */
lb_status lb_lance_make_modern(lb_lance_work *work, lb_lance_snapshot *s, lb_error *err);

/* Append a fragment for each file. */
lb_status lb_lance_add_fragments(lb_lance_snapshot *s, const lb_lance_new_files *files, bool modern, lb_error *err);

/* Keep of the manifest only what is the dataset's, not its rows': settings stay; fields, fragments, indices go. */
lb_status lb_lance_forget_rows(lb_lance_snapshot *s, lb_error *err);

/* Say in the schema metadata which companions there are; none: say nothing. */
lb_status lb_lance_set_companions(lb_lance_snapshot *s, const lb_lance_companions *list, lb_error *err);

/* An index section without indices. NULL: no memory. */
lb_lance_index_section *lb_lance_no_indices(lb_arena *arena);

/* What the options of a call say to the commit. */
lb_lance_note lb_lance_note_of(const lb_lance_options *options);

/* Change metadata of the schema as options say. */
lb_status lb_lance_apply_metadata(lb_lance_snapshot *s, const lb_lance_options *options, lb_error *err);

#endif
