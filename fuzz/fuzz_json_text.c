/* JSON text: the first three bytes choose layout and pieces, the rest is the text, cut where it stops being UTF-8. */
#include <stdint.h>
#include <stdlib.h>

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#include "../tests/wire/json_laws.h"

#define CHOICES 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < CHOICES)
        return 0;
    json_laws in = { .text = data + CHOICES,
                     .layout = (lb_json_layout)(data[0] % 3),
                     .chunk = 1 + (size_t)data[1] % 70,
                     .skip = data[2] };
    in.size = lb_utf8_valid_prefix(in.text, LB_MIN(size - CHOICES, (size_t)JSON_LAWS_MOST));
    json_laws_hold(&in);
    return 0;
}
