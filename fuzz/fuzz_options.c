/* Read options: what --set takes comes back the same from JSON and through a merge; JSON is also read as it stands. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The options as JSON text; also read back and merged, which must give the same text. */
static void check_round_trip(const lb_read_options *o)
{
    lb_buf one, two;
    lb_read_options *back = NULL, *merged = NULL;
    lb_buf_init(&one, NULL);
    lb_buf_init(&two, NULL);
    if (lb_read_options_json(o, &one, NULL) != LB_OK)
        abort();
    if (lb_read_options_of_json((const char *)one.data, one.size, &back, NULL) != LB_OK)
        abort();
    if (lb_read_options_merge(back, o, &merged, NULL) != LB_OK || lb_read_options_json(merged, &two, NULL) != LB_OK)
        abort();
    if (one.size != two.size || memcmp(one.data, two.data, one.size) != 0)
        abort();
    lb_entry entry = { .has_dialect = true, .dialect = { .delimiter = LB_STR(","), .encoding = LB_STR("") } };
    (void)lb_dialect_serves(&entry, o);
    lb_read_options_free(back);
    lb_read_options_free(merged);
    lb_buf_free(&one);
    lb_buf_free(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_read_options *o = NULL;
    lb_error err = LB_ERROR_INIT;
    char *text = malloc(size + 1);
    if (text == NULL || lb_read_options_new(&o, NULL) != LB_OK)
        abort();
    if (size != 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (lb_read_options_parse(o, text, &err) == LB_OK)
        check_round_trip(o);
    else if (err.message[0] == '\0')
        abort();
    lb_read_options_free(o);
    free(text);
    if (lb_read_options_of_json((const char *)data, size, &o, NULL) == LB_OK)
        check_round_trip(o);
    lb_read_options_free(o);
    return 0;
}
