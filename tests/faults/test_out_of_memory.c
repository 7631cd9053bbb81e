/* Every allocation of the library fails in turn, until a call gets through without meeting its failure: each call says
 * LB_NOMEM or does its work all the same, and keeps neither memory nor descriptors. The linker leads the library's
 * allocations here (faults.cmake). All of them are tried with LAKEBED_FAULTS_ALL=1, else some. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>
#include <xxhash.h>

#include "lakebed.h"

#define LIVE_SLOTS ((size_t)1 << 17)
#define SAMPLE_STEP 11

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *p);
char *__real_realpath(const char *path, char *out);
XXH3_state_t *__real_XXH3_createState(void);
XXH_errorcode __real_XXH3_freeState(XXH3_state_t *state);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *p);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
int __wrap_vasprintf(char **out, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
int __wrap_asprintf(char **out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *__wrap_realpath(const char *path, char *out);
XXH3_state_t *__wrap_XXH3_createState(void);
XXH_errorcode __wrap_XXH3_freeState(XXH3_state_t *state);

/* ---------------------------------------------------------------- the allocator */

static struct {
    bool on;
    unsigned long count, fail_at;
    size_t live;
    void *slots[LIVE_SLOTS]; /* open addressing; a slot once used and free again holds its own address */
} memory;

static bool memory_refuses(void)
{
    return memory.on && ++memory.count == memory.fail_at;
}

static size_t memory_slot(const void *p)
{
    return (size_t)(((uintptr_t)p >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 47) & (LIVE_SLOTS - 1);
}

static void *memory_add(void *p)
{
    if (!memory.on || p == NULL)
        return p;
    size_t i = memory_slot(p);
    while (memory.slots[i] != NULL && memory.slots[i] != &memory.slots[i])
        i = (i + 1) & (LIVE_SLOTS - 1);
    memory.slots[i] = p;
    memory.live++;
    return p;
}

static void memory_remove(const void *p)
{
    if (p == NULL || memory.live == 0)
        return;
    for (size_t i = memory_slot(p); memory.slots[i] != NULL; i = (i + 1) & (LIVE_SLOTS - 1))
        if (memory.slots[i] == p) {
            memory.slots[i] = &memory.slots[i];
            memory.live--;
            return;
        }
}

static void memory_begin(unsigned long fail_at)
{
    memset(memory.slots, 0, sizeof memory.slots);
    memory.live = 0;
    memory.count = 0;
    memory.fail_at = fail_at;
    memory.on = true;
}

void *__wrap_malloc(size_t size)
{
    return memory_refuses() ? NULL : memory_add(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return memory_refuses() ? NULL : memory_add(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (memory_refuses())
        return NULL;
    memory_remove(old);
    return memory_add(__real_realloc(old, size));
}

void __wrap_free(void *p)
{
    memory_remove(p);
    __real_free(p);
}

char *__wrap_strndup(const char *text, size_t size)
{
    size_t n = strnlen(text, size);
    char *copy = __wrap_malloc(n + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, strlen(text));
}

int __wrap_vasprintf(char **out, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    *out = n < 0 ? NULL : __wrap_malloc((size_t)n + 1);
    return *out == NULL ? -1 : vsnprintf(*out, (size_t)n + 1, fmt, ap);
}

int __wrap_asprintf(char **out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = __wrap_vasprintf(out, fmt, ap);
    va_end(ap);
    return n;
}

char *__wrap_realpath(const char *path, char *out)
{
    if (out != NULL)
        return __real_realpath(path, out);
    if (memory_refuses()) {
        errno = ENOMEM;
        return NULL;
    }
    return memory_add(__real_realpath(path, NULL));
}

XXH3_state_t *__wrap_XXH3_createState(void)
{
    return memory_refuses() ? NULL : memory_add(__real_XXH3_createState());
}

XXH_errorcode __wrap_XXH3_freeState(XXH3_state_t *state)
{
    memory_remove(state);
    return __real_XXH3_freeState(state);
}

/* ---------------------------------------------------------------- a lake */

static char folder[] = P_tmpdir "/lakebed-memory-XXXXXX";

static void put(const char *name, const char *header, int first, int count)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fprintf(f, "%s\n", header);
    for (int i = first; i < first + count; i++)
        (void)fprintf(f, "%d,\"text %d\",%d.25,2024-01-%02d\n", i, i, i, i % 28 + 1);
    assert_int_equal(fclose(f), 0);
}

static void take_away(const char *name)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)unlink(path);
}

static void forget_map(void)
{
    take_away(".br_map.bazan");
    take_away(".br_map.bazan.old");
}

/* Files of other formats, of four rows each, where no lake looks: fastavro and msgpack wrote them. */
static const char avro_file[] =
    "Obj\001\004\024avro.codec\016deflate\026avro.schema\202\006{\042type\042: \042record\042, \042name\042: \042R"
    "\042, \042fields\042: [{\042name\042: \042id\042, \042type\042: \042long\042}, {\042name\042: \042s\042, \042ty"
    "pe\042: [\042null\042, \042string\042]}, {\042name\042: \042l\042, \042type\042: {\042type\042: \042array\042, "
    "\042items\042: {\042type\042: \042record\042, \042name\042: \042P\042, \042fields\042: [{\042name\042: \042x"
    "\042, \042type\042: \042double\042}]}}}, {\042name\042: \042u\042, \042type\042: [\042int\042, \042string\042]}"
    ", {\042name\042: \042d\042, \042type\042: {\042type\042: \042bytes\042, \042logicalType\042: \042decimal\042, "
    "\042precision\042: 9, \042scale\042: 2}}]}\0000123456789abcdef\002 c`b)1``b*eb\000\000\006\250\0010123456789abc"
    "def\002\042cb`b\000\203\007\366\014\014LL)\000\010T\0010123456789abcdef\002.cab)1ba\000\203\007\366p\232\211"
    "\251\224\205\341\004\0001\245\0040123456789abcdef\002*ccb)1fc\000\203\007\366\2304\033\013\243\016\000M=\004012"
    "3456789abcdef";
static const char msgpack_file[] =
    "\207\242id\000\241s\242t0\241m\201\241x\222\000\300\241u\241u\241b\304\002ab\241t\327\377\000\000\000\024\000"
    "\000\000\000\241e\324\001x\207\242id\001\241s\300\241m\201\241x\222\001\300\241u\001\241b\304\002ab\241t\327"
    "\377\000\000\000\024\000\000\000\001\241e\324\001x\207\242id\002\241s\242t2\241m\201\241x\222\002\300\241u\241u"
    "\241b\304\002ab\241t\327\377\000\000\000\024\000\000\000\002\241e\324\001x\207\242id\003\241s\242t3\241m\201"
    "\241x\222\003\300\241u\003\241b\304\002ab\241t\327\377\000\000\000\024\000\000\000\003\241e\324\001x";

static void put_bytes(const char *name, const char *bytes, size_t size)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static int make_lake(void **state)
{
    char path[PATH_MAX];
    (void)state;
    json_set_alloc_funcs(__wrap_malloc, __wrap_free);
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(path, sizeof path, "%s/sub", folder);
    if (mkdir(path, 0700) != 0)
        return -1;
    put("a.csv", "id,name,weight,day", 0, 40);
    put("sub/b.csv", "id,name,size,day", 100, 20);
    (void)snprintf(path, sizeof path, "%s/.more", folder);
    if (mkdir(path, 0700) != 0)
        return -1;
    put_bytes(".more/x.avro", avro_file, sizeof avro_file - 1);
    put_bytes(".more/x.msgpack", msgpack_file, sizeof msgpack_file - 1);
    return 0;
}

static int remove_lake(void **state)
{
    char path[PATH_MAX];
    (void)state;
    forget_map();
    take_away(".br_map.lock");
    take_away("a.csv");
    take_away("c.csv");
    take_away("rows.csv");
    take_away("sub/b.csv");
    take_away(".more/x.avro");
    take_away(".more/x.msgpack");
    (void)snprintf(path, sizeof path, "%s/.more", folder);
    if (rmdir(path) != 0)
        return -1;
    (void)snprintf(path, sizeof path, "%s/sub", folder);
    return rmdir(path) + rmdir(folder);
}

/* ---------------------------------------------------------------- the calls */

typedef lb_status (*job_fn)(lb_context *cx, lb_error *err);

static lb_status make_map(lb_context *cx, lb_fingerprint fingerprint, lb_error *err)
{
    const lb_map_options options = { .struct_size = sizeof options, .stride = 8, .fingerprint = fingerprint };
    lb_map_info info = { .struct_size = sizeof info };
    lb_map *map = NULL;
    lb_status status = lb_map_create(cx, folder, &options, &map, err);
    if (status == LB_OK)
        status = lb_map_get_info(map, &info, err);
    if (status == LB_OK)
        assert_int_equal(info.rows, 60);
    lb_map_close(map);
    return status;
}

static lb_status job_map(lb_context *cx, lb_error *err)
{
    return make_map(cx, LB_FINGERPRINT_METADATA, err);
}

static lb_status job_map_blake3(lb_context *cx, lb_error *err)
{
    return make_map(cx, LB_FINGERPRINT_BLAKE3, err);
}

static lb_status read_map(lb_map *map, lb_error *err)
{
    lb_place place = { .struct_size = sizeof place };
    lb_column_info column = { .struct_size = sizeof column };
    lb_entry_info entry = { .struct_size = sizeof entry };
    lb_status status = lb_map_entry(map, 1, &entry, err);
    if (status == LB_OK)
        status = lb_map_column(map, 1, 0, &column, err);
    if (status == LB_OK) {
        assert_string_equal(entry.path, "sub/b.csv");
        assert_string_equal(column.min, "100");
        status = lb_map_locate(map, 59, &place, err);
    }
    if (status == LB_OK)
        assert_int_equal(place.file_row, 19);
    return status;
}

static lb_status job_read_map(lb_context *cx, lb_error *err)
{
    lb_map *map = NULL;
    lb_status status = lb_map_open(cx, folder, &map, err);
    if (status == LB_OK)
        status = read_map(map, err);
    lb_map_close(map);
    return status;
}

static bool count_bytes(void *user, const void *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)user += size;
    return true;
}

static lb_status print_rows(lb_context *cx, lb_table *table, const char *form, size_t *bytes, lb_error *err)
{
    const lb_slice slice = { .struct_size = sizeof slice, .offset = 5, .limit = 50 };
    const lb_print_options options = { .struct_size = sizeof options, .header = true, .width = 80 };
    struct ArrowArrayStream stream = { .release = NULL };
    uint64_t rows = 0;
    *bytes = 0;
    lb_status status = lb_table_slice(table, &slice, &stream, err);
    if (status == LB_OK)
        status = lb_print(cx, &stream, form, &options, count_bytes, bytes, &rows, err);
    if (status == LB_OK)
        assert_int_equal(rows, 50);
    return status;
}

static lb_status read_table(lb_context *cx, lb_table *table, const char *form, lb_error *err)
{
    static struct {
        const char *form;
        size_t bytes;
    } known[16]; /* the first one, read in peace, says how many bytes a form has */
    size_t bytes = 0, i = 0;
    lb_status status = print_rows(cx, table, form, &bytes, err);
    while (known[i].form != NULL && strcmp(known[i].form, form) != 0)
        i++;
    if (status == LB_OK && known[i].form == NULL) {
        known[i].form = form;
        known[i].bytes = bytes;
    }
    if (status == LB_OK)
        assert_int_equal(bytes, known[i].bytes);
    return status;
}

static lb_status read_as(lb_context *cx, const char *form, bool no_map, lb_error *err)
{
    const lb_open_options options = { .struct_size = sizeof options, .no_map = no_map };
    lb_column_info column = { .struct_size = sizeof column };
    lb_table *table = NULL;
    lb_status status = lb_open(cx, folder, &options, &table, err);
    if (status == LB_OK)
        assert_int_equal(lb_table_rows(table), 60);
    if (status == LB_OK)
        status = lb_table_column(table, 0, &column, err);
    if (status == LB_OK)
        status = read_table(cx, table, form, err);
    lb_close(table);
    return status;
}

static lb_status job_csv(lb_context *cx, lb_error *err)
{
    return read_as(cx, "csv", false, err);
}

static lb_status job_ndjson(lb_context *cx, lb_error *err)
{
    return read_as(cx, "ndjson", true, err);
}

static lb_status job_table(lb_context *cx, lb_error *err)
{
    return read_as(cx, "table", false, err);
}

static lb_status job_arrow(lb_context *cx, lb_error *err)
{
    return read_as(cx, "arrow", false, err);
}

/* All rows of one of the other files, then some of them in another order. */
static lb_status read_other(lb_context *cx, const char *name, lb_error *err)
{
    static const uint64_t rows[] = { 3, 0, 3 };
    const lb_slice slice = { .struct_size = sizeof slice, .limit = UINT64_MAX };
    const lb_take take = { .struct_size = sizeof take, .rows = rows, .count = 3 };
    const lb_print_options options = { .struct_size = sizeof options };
    struct ArrowArrayStream stream = { .release = NULL };
    char path[PATH_MAX];
    size_t bytes = 0;
    uint64_t n = 0;
    lb_table *table = NULL;
    (void)snprintf(path, sizeof path, "%s/.more/%s", folder, name);
    lb_status status = lb_open(cx, path, NULL, &table, err);
    if (status == LB_OK)
        status = lb_table_slice(table, &slice, &stream, err);
    if (status == LB_OK)
        status = lb_print(cx, &stream, "tagged", &options, count_bytes, &bytes, &n, err);
    if (status == LB_OK)
        assert_int_equal(n, 4);
    if (status == LB_OK)
        status = lb_table_take(table, &take, &stream, err);
    if (status == LB_OK)
        status = lb_print(cx, &stream, "tagged", &options, count_bytes, &bytes, &n, err);
    lb_close(table);
    return status;
}

static lb_status job_avro(lb_context *cx, lb_error *err)
{
    return read_other(cx, "x.avro", err);
}

static lb_status job_msgpack(lb_context *cx, lb_error *err)
{
    return read_other(cx, "x.msgpack", err);
}

static bool count_part(void *user, const lb_part *part)
{
    *(size_t *)user += part->blocks;
    return true;
}

/* Scattered rows in each way: as batches, as bytes, explained. */
static lb_status take_rows(lb_context *cx, lb_table *table, lb_error *err)
{
    static const uint64_t rows[] = { 59, 3, 3, 41, 8 };
    const lb_take take = { .struct_size = sizeof take, .rows = rows, .count = 5 };
    const lb_take shuffle = {
        .struct_size = sizeof shuffle, .shuffled = true, .sorted = true, .seed = 1, .count = UINT64_MAX
    };
    struct ArrowArrayStream stream = { .release = NULL };
    uint64_t n = 0;
    size_t bytes = 0, blocks = 0;
    lb_status status = lb_table_take(table, &take, &stream, err);
    if (status == LB_OK)
        status = lb_print(cx, &stream, "csv", NULL, count_bytes, &bytes, &n, err);
    if (status == LB_OK)
        assert_int_equal(n, 5);
    if (status == LB_OK)
        status = lb_table_take_raw(table, &shuffle, count_bytes, &bytes, err);
    if (status == LB_OK)
        status = lb_table_take_explain(table, &shuffle, count_part, &blocks, err);
    if (status == LB_OK)
        assert_int_equal(blocks, 5 + 3);
    return status;
}

static lb_status split_files(lb_table *table, lb_error *err)
{
    lb_split split = { .struct_size = sizeof split };
    lb_splits *splits = NULL;
    lb_status status = lb_table_splits(table, 200, &splits, err);
    if (status == LB_OK)
        status = lb_splits_at(splits, 0, &split, err);
    if (status == LB_OK)
        status = lb_splits_check(splits, err);
    lb_splits_free(splits);
    return status;
}

static lb_status job_take(lb_context *cx, lb_error *err)
{
    lb_table *table = NULL;
    lb_status status = lb_open(cx, folder, NULL, &table, err);
    if (status == LB_OK)
        status = take_rows(cx, table, err);
    if (status == LB_OK)
        status = split_files(table, err);
    lb_close(table);
    return status;
}

static lb_status use_file(lb_table *table, lb_error *err)
{
    const lb_slice slice = { .struct_size = sizeof slice, .offset = 9, .limit = 3 };
    lb_part part = { .struct_size = sizeof part };
    size_t bytes = 0;
    bool done = false;
    lb_status status = lb_table_explain(table, &slice, 0, &part, &done, err);
    if (status == LB_OK)
        status = lb_table_raw(table, &slice, count_bytes, &bytes, err);
    return status;
}

static lb_status job_file(lb_context *cx, lb_error *err)
{
    lb_open_options options = { .struct_size = sizeof options };
    lb_read_options *read = NULL;
    lb_table *table = NULL;
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/a.csv", folder);
    lb_status status = lb_read_options_new(&read, err);
    if (status == LB_OK)
        status = lb_read_options_set(read, "column", "id=string", err);
    if (status == LB_OK)
        status = lb_read_options_set(read, "null", "none", err);
    options.read = read;
    if (status == LB_OK)
        status = lb_open(cx, path, &options, &table, err);
    if (status == LB_OK)
        status = use_file(table, err);
    lb_close(table);
    lb_read_options_free(read);
    return status;
}

static lb_status doctor(lb_context *cx, bool heal, bool verify, lb_error *err)
{
    const lb_doctor_options options = { .struct_size = sizeof options, .heal = heal, .verify = verify };
    lb_finding finding = { .struct_size = sizeof finding };
    lb_doctor_info info = { .struct_size = sizeof info };
    lb_doctor_report *report = NULL;
    lb_status status = lb_doctor(cx, folder, &options, &report, err);
    if (status == LB_OK)
        status = lb_doctor_get_info(report, &info, err);
    for (uint64_t i = 0; status == LB_OK && i < info.findings; i++)
        status = lb_doctor_finding(report, i, &finding, err);
    if (status == LB_OK && heal)
        assert_int_equal(info.status, LB_DOCTOR_HEALED);
    lb_doctor_report_free(report);
    return status;
}

static lb_status job_doctor(lb_context *cx, lb_error *err)
{
    return doctor(cx, false, true, err);
}

static lb_status job_heal(lb_context *cx, lb_error *err)
{
    return doctor(cx, true, false, err);
}

static lb_status job_undo(lb_context *cx, lb_error *err)
{
    return lb_doctor_undo(cx, folder, err);
}

static lb_status job_save(lb_context *cx, lb_error *err)
{
    lb_saver *saver = NULL;
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/rows.csv", folder);
    lb_status status = lb_saver_open(cx, path, &saver, err);
    if (status != LB_OK)
        return status;
    assert_true(lb_saver_write(saver, "id\n", 3));
    return lb_saver_commit(saver, err);
}

static lb_status job_register(lb_context *cx, lb_error *err)
{
    return lb_register_delimited(cx, "dat", ";", true, err);
}

/* ---------------------------------------------------------------- lineage */

static const char lineage_catalog[] =
    "{\"tables\":[{\"db\":\"shop\",\"name\":\"orders\",\"columns\":[{\"name\":\"id\",\"type\":\"bigint\"},"
    "{\"name\":\"lines\",\"type\":\"array<struct<price:double,tags:map<string,int>>>\"}]}]}";
static const char lineage_ddl[] = "create table shop.days (day string, n int) partitioned by (y int);"
                                  "create view shop.v as select day, max(n) over (partition by y) as w from shop.days";
static const char lineage_script[] =
    "with q as (select v.w, v.day from shop.v) select q.*, count(*) + 1, b.name from q join a b on q.day = b.day "
    "where q.w in (select n from shop.days) group by 1, 2, b.name having max(q.w) > 1 order by 1 limit 3;"
    "insert into shop.days partition (y = 1) select l.item.price, id from shop.orders o, o.lines l;"
    "create table made as select * from shop.v union all select day, n from shop.days;"
    "update made set w = w + 1 where day is null; select nope from made; select 1 from";

static lb_status fill_catalog(lb_context *cx, lb_catalog *catalog, lb_error *err)
{
    const lb_catalog_column_info column = { .name = "x", .type = "struct<y:int>" };
    const lb_catalog_table_info table = {
        .struct_size = sizeof table, .db = "shop", .name = "one", .create_time = -1, .columns = &column, .n_columns = 1
    };
    lb_status status = lb_catalog_add(catalog, lineage_catalog, sizeof lineage_catalog - 1, NULL, err);
    if (status == LB_OK)
        status = lb_catalog_add(catalog, lineage_ddl, sizeof lineage_ddl - 1, NULL, err);
    if (status == LB_OK)
        status = lb_catalog_add_table(catalog, &table, err);
    if (status == LB_OK)
        status = lb_catalog_add_lake(catalog, cx, folder, NULL, err);
    if (status == LB_OK)
        assert_true(lb_catalog_size(catalog) >= 6);
    return status;
}

static lb_status use_graph(lb_trail *trail, lb_lineage_log *log, const lb_lineage_graph *graph, lb_error *err)
{
    static const char *const forms[] = { "impala", "thrift", "thrift-compact", "dot" };
    size_t bytes = 0;
    lb_status status = lb_trail_add(trail, graph, err);
    if (status == LB_OK)
        status = lb_lineage_log_append(log, graph, err);
    for (size_t i = 0; i < sizeof forms / sizeof *forms && status == LB_OK; i++)
        status = lb_lineage_write(graph, forms[i], count_bytes, &bytes, err);
    return status;
}

/* The last statement cannot be read, and that only is allowed; four leave graphs, and the one before the last too. */
static lb_status trace_script(lb_context *cx, const lb_catalog *catalog, lb_trail *trail, lb_lineage_log *log,
                              lb_error *err)
{
    const lb_trace_options options = { .struct_size = sizeof options, .catalog = catalog, .query_id = "1:1" };
    lb_trace *trace = NULL;
    bool done = false;
    unsigned graphs = 0;
    lb_status status = lb_trace_open(cx, &options, lineage_script, sizeof lineage_script - 1, &trace, err);
    while (status == LB_OK) {
        lb_trace_info info = { .struct_size = sizeof info };
        status = lb_trace_next(trace, &info, &done, err);
        if (status != LB_OK || done)
            break;
        if (info.status == LB_NOMEM) {
            *err = *info.error;
            status = LB_NOMEM;
        } else if (info.graph != NULL) {
            graphs++;
            status = use_graph(trail, log, info.graph, err);
        }
    }
    if (status == LB_OK)
        assert_int_equal(graphs, 5);
    lb_trace_close(trace);
    return status;
}

static lb_status ask_trail(lb_trail *trail, lb_error *err)
{
    const lb_trail_options options = { .struct_size = sizeof options };
    lb_trail_reply *reply = NULL;
    size_t bytes = 0;
    lb_status status = lb_trail_ask(trail, "default.made.w", &options, &reply, err);
    if (status == LB_OK) {
        assert_int_equal(lb_trail_reply_size(reply), 8);
        status = lb_trail_reply_dot(reply, count_bytes, &bytes, err);
    }
    lb_trail_reply_free(reply);
    return status;
}

static lb_status read_log(lb_context *cx, const char *dir, lb_error *err)
{
    const lb_lineage_graph *graph = NULL;
    lb_lineage_records *records = NULL;
    unsigned n = 0;
    lb_status status = lb_lineage_records_open(cx, dir, &records, err);
    while (status == LB_OK && (status = lb_lineage_records_next(records, &graph, err)) == LB_OK && graph != NULL)
        n++;
    if (status == LB_OK)
        assert_int_equal(n, 5);
    lb_lineage_records_close(records);
    return status;
}

static void log_path(char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/log", folder);
}

static void without_log(void)
{
    char path[PATH_MAX];
    struct dirent *entry;
    log_path(path);
    DIR *dir = opendir(path);
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir != NULL)
        (void)closedir(dir);
    (void)rmdir(path);
}

static lb_status job_lineage(lb_context *cx, lb_error *err)
{
    lb_catalog *catalog = NULL;
    lb_trail *trail = NULL;
    lb_lineage_log *log = NULL;
    char path[PATH_MAX];
    log_path(path);
    lb_status status = lb_catalog_new(cx, &catalog, err);
    if (status == LB_OK)
        status = fill_catalog(cx, catalog, err);
    if (status == LB_OK)
        status = lb_trail_new(cx, &trail, err);
    if (status == LB_OK)
        status = lb_lineage_log_open(cx, path, NULL, &log, err);
    if (status == LB_OK)
        status = trace_script(cx, catalog, trail, log, err);
    lb_status closed = lb_lineage_log_close(log, status == LB_OK ? err : NULL);
    if (status == LB_OK)
        status = closed;
    if (status == LB_OK)
        status = ask_trail(trail, err);
    if (status == LB_OK)
        status = read_log(cx, path, err);
    lb_trail_free(trail);
    lb_catalog_free(catalog);
    return status;
}

/* ---------------------------------------------------------------- failing each allocation */

static size_t open_descriptors(void)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return 0;
    while (readdir(dir) != NULL)
        n++;
    (void)closedir(dir);
    return n;
}

static lb_status run_job(job_fn job, lb_error *err)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 1 };
    lb_context *cx = NULL;
    lb_status status = lb_context_new(&options, &cx, err);
    if (status == LB_OK)
        status = job(cx, err);
    lb_context_free(cx);
    return status;
}

/* Runs in peace: what the next trial needs. */
static void in_peace(job_fn job)
{
    lb_error err = LB_ERROR_INIT;
    if (run_job(job, &err) != LB_OK)
        fail_msg("without a failure: %s", err.message);
}

/* A sample, of which the first ones are all: jobs of a few allocations are not sampled. */
static unsigned long step(unsigned long n)
{
    const char *all = getenv("LAKEBED_FAULTS_ALL");
    return n < 2 * SAMPLE_STEP || (all != NULL && *all != '\0') ? 1 : SAMPLE_STEP;
}

/* `prepare` makes the disk the same before each trial. */
static void fail_each(job_fn job, void (*prepare)(void))
{
    size_t descriptors = open_descriptors();
    for (unsigned long n = 1;; n += step(n)) {
        lb_error err = LB_ERROR_INIT;
        prepare();
        memory_begin(n);
        lb_status status = run_job(job, &err);
        memory.on = false;
        bool met = memory.count >= n;
        if (status != LB_OK && (status != LB_NOMEM || err.code != status || err.message[0] == '\0'))
            fail_msg("allocation %lu: status %d, error %d \"%s\"", n, (int)status, (int)err.code, err.message);
        if (memory.live != 0)
            fail_msg("allocation %lu: %zu pieces of memory are kept", n, memory.live);
        if (open_descriptors() != descriptors)
            fail_msg("allocation %lu: descriptors stay open", n);
        if (!met) {
            assert_int_equal(status, LB_OK);
            return;
        }
    }
}

static void with_map(void)
{
    static bool kept;
    if (!kept)
        in_peace(job_map);
    kept = true;
}

static void with_drift(void)
{
    forget_map();
    put("a.csv", "id,name,weight,day", 0, 40);
    take_away("c.csv");
    in_peace(job_map);
    put("a.csv", "id,name,weight,day", 0, 50);
    put("c.csv", "id,name,other,day", 300, 7);
}

static void with_two_maps(void)
{
    static bool made;
    if (!made) {
        with_drift();
        in_peace(job_heal);
    }
    made = true;
}

static void test_map(void **state)
{
    (void)state;
    fail_each(job_map, forget_map);
    fail_each(job_map_blake3, forget_map);
}

static void test_read(void **state)
{
    static const job_fn jobs[] = { job_read_map, job_csv,  job_ndjson, job_table, job_arrow,
                                   job_file,     job_take, job_doctor, job_avro,  job_msgpack };
    (void)state;
    with_map();
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        in_peace(jobs[i]);
        fail_each(jobs[i], with_map);
    }
}

static void test_small(void **state)
{
    (void)state;
    fail_each(job_save, with_map);
    fail_each(job_register, with_map);
}

static void test_lineage(void **state)
{
    (void)state;
    forget_map();
    with_map();
    fail_each(job_lineage, without_log);
    without_log();
}

static void test_heal(void **state)
{
    (void)state;
    fail_each(job_heal, with_drift);
}

static void test_undo(void **state)
{
    (void)state;
    fail_each(job_undo, with_two_maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_map),   cmocka_unit_test(test_read),
                                        cmocka_unit_test(test_small), cmocka_unit_test(test_lineage),
                                        cmocka_unit_test(test_heal),  cmocka_unit_test(test_undo) };
    return cmocka_run_group_tests(tests, make_lake, remove_lake);
}
