/* Streams of ours keep the whole error, those of others are read as the C interface says. */
#include "column_fixture.h"

#include <errno.h>

static struct ArrowSchema row_type;
static struct ArrowArray row_batch;

static int set_up(void **state)
{
    (void)state;
    fixture_type("{\"struct\":[{\"name\":\"a\",\"type\":\"int8\"}]}", &row_type);
    fixture_array(&row_type, "{1}, {2}", &row_batch);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    row_type.release(&row_type);
    row_batch.release(&row_batch);
    return 0;
}

static void batches_then_the_end(void **state)
{
    (void)state;
    fixture_source source = { .schema = &row_type, .batch = &row_batch, .times = 2 };
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    lb_error err = LB_ERROR_INIT, ours = LB_ERROR_INIT;
    fixture_stream(&source, &stream);
    assert_status(LB_OK, lb_stream_schema(&stream, &schema, &err), &err);
    assert_true(lb_schema_equal(&schema, &row_type));
    schema.release(&schema);
    for (int i = 0; i < 2; i++) {
        assert_status(LB_OK, lb_stream_next(&stream, &array, &err), &err);
        assert_int_equal(2, array.length);
        array.release(&array);
    }
    for (int i = 0; i < 3; i++) { /* the end stays the end */
        assert_status(LB_OK, lb_stream_next(&stream, &array, &err), &err);
        assert_null(array.release);
    }
    assert_int_equal(-1, source.times);
    assert_null(stream.get_last_error(&stream));
    assert_false(lb_stream_error(&stream, &ours));
    stream.release(&stream);
    assert_null(stream.release);
    assert_int_equal(1, source.closed);
    assert_status(LB_USAGE, lb_stream_next(&stream, &array, &err), &err);
}

static void errors_come_whole_and_stay(void **state)
{
    (void)state;
    static const struct {
        lb_status status;
        int code;
    } cases[] = {
        { LB_IO, EIO },          { LB_CORRUPT, EINVAL }, { LB_UNSUPPORTED, ENOTSUP }, { LB_NOMEM, ENOMEM },
        { LB_NOTFOUND, ENOENT }, { LB_STALE, ESTALE },   { LB_CANCELLED, ECANCELED },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        fixture_source source = { .schema = &row_type, .batch = &row_batch, .times = 0, .then = cases[i].status };
        struct ArrowArrayStream stream;
        struct ArrowArray array;
        fixture_stream(&source, &stream);
        for (int k = 0; k < 2; k++) {
            lb_error err = LB_ERROR_INIT, ours = LB_ERROR_INIT;
            assert_int_equal(cases[i].code, stream.get_next(&stream, &array));
            assert_non_null(strstr(stream.get_last_error(&stream), "the fixture breaks off"));
            assert_true(lb_stream_error(&stream, &ours));
            assert_int_equal(cases[i].status, ours.code);
            assert_int_equal(17, ours.offset);
            assert_int_equal(cases[i].status, lb_stream_next(&stream, &array, &err));
            assert_int_equal(3, err.row);
        }
        assert_int_equal(-1, source.times); /* asked once */
        stream.release(&stream);
    }
}

/* ---------------------------------------------------------------- a stream of somebody else */

static int foreign_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    (void)stream;
    (void)out;
    return ENOMEM;
}

static int foreign_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    (void)stream;
    (void)out;
    return EIO;
}

static const char *foreign_error(struct ArrowArrayStream *stream)
{
    return stream->private_data;
}

static void foreign_release(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
}

static void foreign_errors_are_told(void **state)
{
    (void)state;
    static char text[] = "disk on fire";
    struct ArrowArrayStream stream = { foreign_schema, foreign_next, foreign_error, foreign_release, text };
    struct ArrowSchema schema;
    struct ArrowArray array;
    lb_error err = LB_ERROR_INIT, other = LB_ERROR_INIT, ours;
    assert_int_equal(LB_IO, lb_stream_next(&stream, &array, &err));
    assert_string_equal("disk on fire", err.message);
    stream.private_data = NULL;
    assert_int_equal(LB_NOMEM, lb_stream_schema(&stream, &schema, &other));
    assert_true(other.message[0] != '\0');
    assert_false(lb_stream_error(&stream, &ours));
}

/* A scan that failed to begin is closed, and gives no stream; another gives a stream with a schema of its own. */
static void beginnings(void **state)
{
    (void)state;
    static const lb_status statuses[] = { LB_OK, LB_CORRUPT, LB_NOMEM };
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        fixture_source source = { .schema = &row_type, .batch = &row_batch, .times = 1 };
        struct ArrowArrayStream stream = { .release = foreign_release };
        struct ArrowSchema schema;
        lb_error err = LB_ERROR_INIT;
        assert_int_equal(statuses[i], lb_stream_begin(statuses[i], (lb_source){ fixture_next, fixture_close, &source },
                                                      &row_type, &stream, &err));
        assert_int_equal(statuses[i] != LB_OK, source.closed);
        if (statuses[i] != LB_OK) {
            assert_null(stream.release);
            continue;
        }
        assert_status(LB_OK, lb_stream_schema(&stream, &schema, &err), &err);
        assert_true(lb_schema_equal(&schema, &row_type));
        schema.release(&schema);
        stream.release(&stream);
        assert_int_equal(1, source.closed);
        assert_non_null(row_type.release);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_then_the_end),
        cmocka_unit_test(errors_come_whole_and_stay),
        cmocka_unit_test(foreign_errors_are_told),
        cmocka_unit_test(beginnings),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
