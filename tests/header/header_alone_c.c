/* The public header must stand alone: no header before it, pedantic C11 (and C++11: header_alone_cpp.cpp), twice in
 * one file, and what it declares must link. */
#include "lakebed.h"
#include "lakebed.h" /* NOLINT(readability-duplicate-include) */

#include <stdio.h>
#include <string.h>

static int check_version(void)
{
    char expected[32];
    (void)snprintf(expected, sizeof expected, "%d.%d.%d", LB_VERSION_MAJOR, LB_VERSION_MINOR, LB_VERSION_PATCH);
    if (strcmp(expected, lb_version()) == 0)
        return 0;
    (void)fprintf(stderr, "the header says version %s, the library %s\n", expected, lb_version());
    return 1;
}

/* Each status has a text of its own, in the order of the header's list. */
static int check_status_texts(void)
{
#define STATUS_TEXT(name, text) text,
    static const char *const texts[] = { LB_STATUS_MAP(STATUS_TEXT) };
#undef STATUS_TEXT
    int bad = 0;
    for (int i = 0; i < (int)LB_STATUS_COUNT; i++) {
        const char *got = lb_status_text((lb_status)i);
        if (strcmp(texts[i], got) != 0) {
            (void)fprintf(stderr, "status %d: \"%s\" in the header, \"%s\" from the library\n", i, texts[i], got);
            bad = 1;
        }
    }
    return bad;
}

int main(void)
{
    lb_error err = LB_ERROR_INIT;
    lb_context *cx = NULL;
    int bad = check_version() | check_status_texts();
    if (lb_context_new(NULL, &cx, &err) != LB_OK) {
        (void)fprintf(stderr, "no context: %s\n", err.message);
        bad = 1;
    }
    lb_context_free(cx);
    lb_context_free(NULL);
    return bad;
}
