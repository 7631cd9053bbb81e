/* Columns of a read, over files that may each have others. */
#include "lake/project.h"

#include <stdlib.h>

#include "base/path.h"

#define PROJECT_ABSENT UINT64_MAX

/* ---------------------------------------------------------------- columns of the table */

static lb_status project_not_found(lb_table *t, const char *name, lb_error *err)
{
    size_t n = (size_t)t->schema.n_children;
    const char **names = calloc(n + 1, sizeof *names);
    const char *close = NULL;

    lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "Column '%s' not found", name);
    for (size_t i = 0; names != NULL && i < n; i++)
        names[i] = t->schema.children[i]->name;
    if (names != NULL)
        close = lb_closest_name(name, names, n);
    if (close != NULL)
        lb_fail_hint(err, "did you mean '%s'?", close);
    else
        lb_fail_hint(err, "`lakebed schema %.150s` lists the columns", t->path);
    free(names);
    return LB_NOTFOUND;
}

static lb_status project_pick(lb_project *p, const char *const *names, lb_error *err)
{
    size_t all = (size_t)p->t->schema.n_children, n = 0;

    while (names != NULL && names[n] != NULL)
        n++;
    bool every = n == 0;
    p->n_columns = every ? all : n;
    p->columns = calloc(p->n_columns + 1, sizeof *p->columns);
    if (p->columns == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < p->n_columns; i++) {
        const uint64_t *found = every ? NULL : lb_names_find(&p->t->columns, lb_str_of(names[i]));
        if (!every && found == NULL)
            return project_not_found(p->t, names[i], err);
        p->columns[i] = every ? i : *found;
    }
    return LB_OK;
}

static lb_status project_schema(lb_project *p, lb_error *err)
{
    LB_TRY(lb_schema_struct(&p->schema, (int64_t)p->n_columns, err));
    LB_TRY(lb_fail_arrow(err, ArrowSchemaSetMetadata(&p->schema, p->t->schema.metadata), NULL));
    for (size_t i = 0; i < p->n_columns; i++) {
        const struct ArrowSchema *field = p->t->schema.children[p->columns[i]];
        lb_str conflict;
        if (lb_schema_get_meta(field, LB_META_CONFLICT, &conflict)) {
            lb_fail(err, LB_CORRUPT, LB_NOWHERE, "%.*s", (int)LB_MIN(conflict.size, 400), conflict.at);
            lb_fail_hint(err, "leave the column out with --columns, or read it as text with --schema text");
            return LB_CORRUPT;
        }
        p->schema.children[i]->release(p->schema.children[i]);
        LB_TRY(lb_schema_copy(field, p->schema.children[i], err));
    }
    return LB_OK;
}

lb_status lb_project_init(lb_project *p, lb_table *t, const char *const *names, lb_error *err)
{
    *p = (lb_project){ .t = t };
    LB_TRY(project_pick(p, names, err));
    return project_schema(p, err);
}

void lb_project_free(lb_project *p)
{
    if (p->schema.release != NULL)
        p->schema.release(&p->schema);
    free(p->columns);
    *p = (lb_project){ .t = p->t };
}

/* ---------------------------------------------------------------- columns of a file */

/* Places of columns in an open file; a single file's are the table's own while it is the file that was opened. */
static lb_status project_names(const lb_project_file *f, bool fresh, lb_names *out, lb_error *err)
{
    const struct ArrowSchema *schema = &f->data->schema;

    *out = (lb_names){ 0 };
    for (int64_t i = 0; (f->project->t->lake || fresh) && i < schema->n_children; i++)
        LB_TRY(lb_names_add(out, lb_str_of(schema->children[i]->name), (uint64_t)i, NULL, err));
    return LB_OK;
}

/* Of several columns of a name in the table, the file's that stands as far behind its first. */
static uint64_t project_twin(const lb_project_file *f, uint64_t column, uint64_t place)
{
    const lb_table *t = f->project->t;
    const struct ArrowSchema *file = &f->data->schema;
    const char *name = t->schema.children[column]->name;
    const uint64_t *first = lb_names_find(&t->columns, lb_str_of(name));

    for (uint64_t i = first == NULL ? column : *first; i < column && place != PROJECT_ABSENT; i++) {
        if (strcmp(t->schema.children[i]->name, name) != 0)
            continue;
        for (place++; place < (uint64_t)file->n_children && strcmp(file->children[place]->name, name) != 0;)
            place++;
        place = place < (uint64_t)file->n_children ? place : PROJECT_ABSENT;
    }
    return place;
}

static lb_status project_want(lb_project_file *f, size_t i, bool fresh, const lb_names *names, lb_error *err)
{
    const struct ArrowSchema *file = &f->data->schema, *want = f->project->schema.children[i];
    uint64_t place = f->project->columns[i];

    if (f->project->t->lake || place >= (uint64_t)file->n_children ||
        strcmp(file->children[place]->name, want->name) != 0) {
        const uint64_t *found = lb_names_find(names, lb_str_of(want->name));
        place = found == NULL ? PROJECT_ABSENT : project_twin(f, place, *found);
    }
    f->places[i] = PROJECT_ABSENT;
    if (place == PROJECT_ABSENT && fresh)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the file changed, and has no column '%s' any more", want->name);
    if (place == PROJECT_ABSENT)
        return LB_OK;
    /* What a format does not read from its text, as the lists of other files, is cast: a column of nothing but nulls goes with all. */
    const lb_format *format = f->data->format;
    bool same = strcmp(file->children[place]->format, want->format) == 0 && want->n_children == 0,
         as = !same && format->reads_as != NULL && format->reads_as(want);
    f->places[i] = f->n_wanted;
    f->wanted[f->n_wanted++] = (lb_wanted){ .column = place, .as = as ? want : NULL };
    return LB_OK;
}

lb_status lb_project_open(lb_project_file *f, const lb_project *p, const lb_data *data, bool fresh, lb_error *err)
{
    lb_names names;

    f->project = p;
    f->data = data;
    f->n_wanted = 0;
    if (f->wanted == NULL)
        f->wanted = calloc(p->n_columns + 1, sizeof *f->wanted);
    if (f->places == NULL)
        f->places = calloc(p->n_columns + 1, sizeof *f->places);
    if (f->wanted == NULL || f->places == NULL)
        return lb_fail_nomem(err);
    lb_status status = project_names(f, fresh, &names, err);
    for (size_t i = 0; status == LB_OK && i < p->n_columns; i++)
        status = project_want(f, i, fresh, &names, err);
    lb_names_free(&names);
    return status;
}

void lb_project_close(lb_project_file *f)
{
    free(f->wanted);
    free(f->places);
    *f = (lb_project_file){ 0 };
}

/* ---------------------------------------------------------------- batches */

/* One column of the result from a file's batch, which gives it up. */
static lb_status project_column(const lb_project_file *f, size_t i, struct ArrowArray *batch, struct ArrowArray *out,
                                lb_error *err)
{
    const struct ArrowSchema *want = f->project->schema.children[i];

    if (f->places[i] == PROJECT_ABSENT)
        return lb_array_nulls(want, batch->length, out, err);
    const lb_wanted *w = &f->wanted[f->places[i]];
    struct ArrowArray *from = batch->children[f->places[i]];
    if (w->as != NULL)
        return ArrowArrayMove(from, out), LB_OK;
    return lb_array_cast(f->data->schema.children[w->column], from, want, out, err);
}

lb_status lb_project_bring(const lb_project_file *f, struct ArrowArray *batch, struct ArrowArray *out, lb_error *err)
{
    const lb_project *p = f->project;
    int code = ArrowArrayInitFromType(out, NANOARROW_TYPE_STRUCT);

    if (code == NANOARROW_OK)
        code = ArrowArrayAllocateChildren(out, (int64_t)p->n_columns);
    if (code != NANOARROW_OK) {
        if (out->release != NULL)
            out->release(out);
        out->release = NULL;
        return lb_fail_arrow(err, code, NULL);
    }
    lb_status status = LB_OK;
    for (size_t i = 0; status == LB_OK && i < p->n_columns; i++) {
        status = project_column(f, i, batch, out->children[i], err);
    }
    out->length = batch->length;
    out->null_count = 0;
    if (status != LB_OK)
        out->release(out);
    return status;
}
