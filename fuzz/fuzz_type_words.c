/* Type words: what reads as a type must be written as words that read as the same type. */
#include <stdlib.h>

#include "column/types.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round(const struct ArrowSchema *type)
{
    lb_buf first, second;
    struct ArrowSchema again = { .release = NULL };
    lb_buf_init(&first, NULL);
    lb_buf_init(&second, NULL);
    REQUIRE(lb_type_words(type, false, &first, NULL) == LB_OK);
    const char *text = lb_buf_text(&first);
    REQUIRE(text != NULL);
    if (strlen(text) == first.size) {
        REQUIRE(lb_type_of_words(text, &again, NULL) == LB_OK);
        REQUIRE(lb_type_words(&again, false, &second, NULL) == LB_OK);
        REQUIRE(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
        again.release(&again);
    }
    lb_buf_free(&first);
    lb_buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_error err = LB_ERROR_INIT;
    struct ArrowSchema type;
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size != 0)
        memcpy(text, data, size);
    text[size] = '\0';
    lb_status s = lb_type_of_words(text, &type, &err);
    REQUIRE((s == LB_OK) == (type.release != NULL) && s == err.code);
    if (s == LB_OK) {
        check_round(&type);
        type.release(&type);
    }
    free(text);
    return 0;
}
