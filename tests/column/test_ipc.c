/* Arrow IPC: schemas there and back, batches read again by nanoarrow's own reader, and messages that lie. */
#include "column_fixture.h"

#include "column/ipc.h"
#include "nanoarrow/nanoarrow_ipc.h"

/* ---------------------------------------------------------------- schemas */

static const char *const plain_types[] = {
    "null",
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "decimal(5,2)",
    "decimal(60,2)",
    "@d:9,2,32",
    "@d:18,2,64",
    "string",
    "@U",
    "binary",
    "@Z",
    "fixed_binary(7)",
    "uuid",
    "date",
    "date[ms]",
    "time[s]",
    "time[ms]",
    "time[us]",
    "time[ns]",
    "timestamp[s]",
    "timestamp[us,UTC]",
    "timestamp[ns,Europe/Paris]",
    "duration[s]",
    "duration[ns]",
    "interval[month]",
    "interval[day_ms]",
    "interval[month_day_ns]",
    "{\"list\":\"int8\"}",
    "{\"map\":[\"string\",{\"list\":\"date\"}]}",
    "{\"struct\":[{\"name\":\"a\",\"type\":\"int8\",\"nullable\":false},{\"name\":\"\xc5\xbc\",\"type\":\"string\"}]}",
    "{\"union\":[{\"id\":5,\"name\":\"x\",\"type\":\"int32\"},{\"id\":7,\"name\":\"y\",\"type\":\"string\"}]}",
};

static void wide_schema(struct ArrowSchema *out)
{
    lb_error err = LB_ERROR_INIT;
    assert_status(LB_OK, lb_schema_struct(out, COUNT_OF(plain_types), &err), &err);
    for (size_t i = 0; i < COUNT_OF(plain_types); i++) {
        fixture_type(plain_types[i], out->children[i]);
        assert_status(LB_OK, lb_schema_set_name(out->children[i], lb_str_of(plain_types[i]), &err), &err);
    }
}

static void schemas_there_and_back(void **state)
{
    (void)state;
    struct ArrowSchema schema, back;
    lb_error err = LB_ERROR_INIT;
    lb_buf bytes;
    lb_str value;
    lb_buf_init(&bytes, NULL);
    wide_schema(&schema);
    assert_status(LB_OK, lb_schema_set_meta(schema.children[1], "key", LB_STR("value"), &err), &err);
    assert_status(LB_OK, lb_schema_set_meta(&schema, "top", LB_STR(""), &err), &err);
    assert_status(LB_OK, lb_ipc_encode_schema(&schema, &bytes, &err), &err);
    assert_int_equal(0, bytes.size % 8);
    assert_memory_equal("\xff\xff\xff\xff", bytes.data, 4);
    assert_status(LB_OK, lb_ipc_decode_schema(bytes.data, bytes.size, &back, &err), &err);
    assert_true(lb_schema_equal(&schema, &back));
    assert_true(lb_schema_get_meta(back.children[1], "key", &value) && lb_str_is(value, "value"));
    assert_true(lb_schema_get_meta(&back, "top", &value) && value.size == 0);
    schema.release(&schema);
    back.release(&back);
    lb_buf_free(&bytes);
}

/* Whatever is cut off or changed is refused or read; never worse. */
static void damaged_schemas(void **state)
{
    (void)state;
    struct ArrowSchema schema, back;
    lb_error err = LB_ERROR_INIT;
    lb_buf bytes;
    lb_buf_init(&bytes, NULL);
    wide_schema(&schema);
    assert_status(LB_OK, lb_ipc_encode_schema(&schema, &bytes, &err), &err);
    for (size_t size = 0; size < bytes.size; size++)
        assert_int_equal(LB_CORRUPT, lb_ipc_decode_schema(bytes.data, size, &back, NULL));
    for (size_t i = 0; i < bytes.size; i++) {
        bytes.data[i] ^= 0x55;
        lb_status s = lb_ipc_decode_schema(bytes.data, bytes.size, &back, NULL);
        assert_int_equal(s == LB_OK, back.release != NULL);
        if (s == LB_OK)
            back.release(&back);
        bytes.data[i] ^= 0x55;
    }
    schema.release(&schema);
    lb_buf_free(&bytes);
}

static void put_u32(uint8_t *at, uint32_t v)
{
    memcpy(at, &v, 4);
}

/* Two fields of one struct that are both the table they stand in, or its sibling, would be 2^60 fields in 200 bytes.
 * Such a message is made by pointing the second field of each level at the first. */
static void shared_tables_do_not_explode(void **state)
{
    (void)state;
    struct ArrowSchema schema, back, *at;
    lb_error err = LB_ERROR_INIT;
    lb_buf bytes;
    lb_buf_init(&bytes, NULL);
    assert_status(LB_OK, lb_schema_struct(&schema, 1, &err), &err);
    at = schema.children[0];
    for (int i = 0; i < 40; i++) { /* a chain of structs of two fields, the first deeper */
        ArrowSchemaInit(at);
        assert_arrow(ArrowSchemaSetTypeStruct(at, 2));
        assert_arrow(ArrowSchemaSetName(at, "s"));
        fixture_type("int8", at->children[1]);
        assert_arrow(ArrowSchemaSetName(at->children[1], "b"));
        at = at->children[0];
    }
    ArrowSchemaInit(at);
    assert_arrow(ArrowSchemaSetType(at, NANOARROW_TYPE_INT8));
    assert_status(LB_OK, lb_ipc_encode_schema(&schema, &bytes, &err), &err);
    assert_status(LB_OK, lb_ipc_decode_schema(bytes.data, bytes.size, &back, &err), &err);
    back.release(&back);
    /* Vectors of two offsets: a length of 2, then two offsets; make the second lead where the first does. */
    int changed = 0;
    for (size_t i = 8; i + 12 <= bytes.size; i += 4) {
        uint32_t n, first, second;
        memcpy(&n, bytes.data + i, 4);
        memcpy(&first, bytes.data + i + 4, 4);
        memcpy(&second, bytes.data + i + 8, 4);
        if (n == 2 && first != 0 && second != 0 && first < bytes.size - i && second < bytes.size - i && first > 4) {
            put_u32(bytes.data + i + 8, first - 4);
            changed++;
        }
    }
    assert_true(changed >= 40);
    assert_int_equal(LB_CORRUPT, lb_ipc_decode_schema(bytes.data, bytes.size, &back, NULL));
    schema.release(&schema);
    lb_buf_free(&bytes);
}

static void space_savers_are_written_plain(void **state)
{
    (void)state;
    struct ArrowSchema schema, back;
    lb_error err = LB_ERROR_INIT;
    lb_buf bytes;
    lb_buf_init(&bytes, NULL);
    assert_status(LB_OK, lb_schema_struct(&schema, 2, &err), &err);
    fixture_type("int8", schema.children[0]);
    assert_arrow(ArrowSchemaAllocateDictionary(schema.children[0]));
    fixture_type("@vu", schema.children[0]->dictionary);
    fixture_type("@vz", schema.children[1]);
    for (int i = 0; i < 2; i++)
        assert_status(LB_OK, lb_schema_set_name(schema.children[i], LB_STR("c"), &err), &err);
    assert_status(LB_OK, lb_ipc_encode_schema(&schema, &bytes, &err), &err);
    assert_status(LB_OK, lb_ipc_decode_schema(bytes.data, bytes.size, &back, &err), &err);
    assert_string_equal("u", back.children[0]->format);
    assert_string_equal("z", back.children[1]->format);
    lb_ipc_writer *w;
    assert_status(LB_UNSUPPORTED, lb_ipc_writer_open(&schema, false, fixture_write, &bytes, &w, &err), &err);
    assert_null(w);
    schema.release(&schema);
    back.release(&back);
    lb_buf_free(&bytes);
}

/* ---------------------------------------------------------------- batches */

#define ROWS_TYPE                                                                                                               \
    "{\"struct\":[{\"name\":\"i\",\"type\":\"int32\"},{\"name\":\"b\",\"type\":\"bool\"},{\"name\":\"s\",\"type\":\"string\"}," \
    "{\"name\":\"l\",\"type\":{\"list\":\"string\"}},{\"name\":\"m\",\"type\":{\"map\":[\"string\",\"int8\"]}},"                \
    "{\"name\":\"t\",\"type\":{\"struct\":[{\"name\":\"x\",\"type\":\"decimal(5,2)\"}]}},"                                      \
    "{\"name\":\"u\",\"type\":{\"union\":[\"int8\",\"string\"]}},{\"name\":\"n\",\"type\":\"null\"}]}"
#define ROWS_VALUES                                                          \
    "{1,true,\"one\",[\"a\",\"b\"],[{\"k\",1}],{1.25},0:5,null},"            \
    "{null,null,null,null,null,null,1:\"z\",null},"                          \
    "{3,false,\"\",[],[],{null},1:null,null},"                               \
    "{4,true,\"four\",[null],[{\"l\",null},{\"m\",3}],{-0.05},0:null,null}," \
    "{5,null,\"five\",[\"c\"],null,null,1:\"y\",null}"

/* What nanoarrow's reader makes of a stream, as canonical rows. */
static void read_stream(const lb_buf *bytes, lb_buf *out)
{
    struct ArrowBuffer copy;
    struct ArrowIpcInputStream input;
    struct ArrowArrayStream stream;
    lb_error err = LB_ERROR_INIT;
    ArrowBufferInit(&copy);
    assert_arrow(ArrowBufferAppend(&copy, bytes->data, (int64_t)bytes->size));
    assert_arrow(ArrowIpcInputStreamInitBuffer(&input, &copy));
    assert_arrow(ArrowIpcArrayStreamReaderInit(&stream, &input, NULL));
    assert_status(LB_OK, lb_print(NULL, &stream, "canonical", NULL, fixture_write, out, NULL, &err), &err);
}

static void batches_there_and_back(void **state)
{
    (void)state;
    static const struct {
        int64_t offset, length;
    } slices[] = { { 0, 5 }, { 1, 4 }, { 3, 2 }, { 2, 1 }, { 5, 0 } };
    struct ArrowSchema type;
    struct ArrowArray array;
    fixture_type(ROWS_TYPE, &type);
    fixture_array(&type, ROWS_VALUES, &array);
    for (size_t i = 0; i < COUNT_OF(slices); i++) {
        lb_buf want, bytes, got;
        lb_error err = LB_ERROR_INIT;
        uint64_t rows;
        lb_buf_init(&want, NULL);
        lb_buf_init(&bytes, NULL);
        lb_buf_init(&got, NULL);
        array.offset = slices[i].offset;
        array.length = slices[i].length;
        assert_status(LB_OK, fixture_print_rows(&type, &array, 3, "canonical", NULL, &want, NULL, &err), &err);
        assert_status(LB_OK, fixture_print_rows(&type, &array, 3, "arrows", NULL, &bytes, &rows, &err), &err);
        assert_int_equal(3 * slices[i].length, rows);
        read_stream(&bytes, &got);
        assert_int_equal(want.size, got.size);
        if (want.size != 0)
            assert_memory_equal(want.data, got.data, want.size);
        lb_buf_free(&want);
        lb_buf_free(&bytes);
        lb_buf_free(&got);
    }
    array.offset = 0;
    array.release(&array);
    type.release(&type);
}

/* `ARROW1`, padding, the stream, the footer, its length, `ARROW1`. */
static void a_file_wraps_the_stream(void **state)
{
    (void)state;
    struct ArrowSchema type;
    struct ArrowArray array;
    lb_error err = LB_ERROR_INIT;
    lb_buf file, stream;
    uint32_t footer;
    lb_buf_init(&file, NULL);
    lb_buf_init(&stream, NULL);
    fixture_type(ROWS_TYPE, &type);
    fixture_array(&type, ROWS_VALUES, &array);
    assert_status(LB_OK, fixture_print_rows(&type, &array, 2, "arrow", NULL, &file, NULL, &err), &err);
    assert_status(LB_OK, fixture_print_rows(&type, &array, 2, "arrows", NULL, &stream, NULL, &err), &err);
    assert_true(file.size > stream.size + 18);
    assert_memory_equal("ARROW1\0\0", file.data, 8);
    assert_memory_equal(stream.data, file.data + 8, stream.size);
    assert_memory_equal("ARROW1", file.data + file.size - 6, 6);
    memcpy(&footer, file.data + file.size - 10, 4);
    assert_int_equal(file.size, 8 + stream.size + footer + 10);
    array.release(&array);
    type.release(&type);
    lb_buf_free(&file);
    lb_buf_free(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemas_there_and_back),       cmocka_unit_test(damaged_schemas),
        cmocka_unit_test(shared_tables_do_not_explode), cmocka_unit_test(space_savers_are_written_plain),
        cmocka_unit_test(batches_there_and_back),       cmocka_unit_test(a_file_wraps_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
