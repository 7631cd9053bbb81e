/* Passing objects over: the same objects in one piece, cut anywhere, and token by token. */
#include <stdlib.h>

#include "wire/msgpack_wire.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One object by its tokens; NULL: it does not end, or is none. */
static const uint8_t *by_tokens(const uint8_t *p, const uint8_t *end)
{
    uint64_t pending = 1;

    while (pending != 0) {
        lb_msgpack_token t;
        if (!lb_msgpack_next(&p, end, &t))
            return NULL;
        REQUIRE(p <= end);
        if (t.kind == LB_MSGPACK_STR || t.kind == LB_MSGPACK_BIN || t.kind == LB_MSGPACK_EXT)
            REQUIRE(t.data + t.n == p);
        pending--;
        if (t.kind == LB_MSGPACK_ARRAY || t.kind == LB_MSGPACK_MAP)
            pending += t.kind == LB_MSGPACK_MAP ? 2 * t.n : t.n;
    }
    return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size, *p = data, *start = NULL;
    lb_msgpack_skip whole = { data, 0 }, cut = { data, 0 };
    uint64_t n, done = 0, more = 0;

    if (size == 0)
        return 0;
    const lb_msgpack_step step = lb_msgpack_pass(&whole, end, UINT64_MAX, &n, &start);
    REQUIRE(step != LB_MSGPACK_DONE && (step == LB_MSGPACK_BAD || whole.pending != 0 || whole.at == end));
    for (uint64_t i = 0; i < n; i++) {
        p = by_tokens(p, end);
        REQUIRE(p != NULL);
    }
    REQUIRE(p == end || by_tokens(p, end) == NULL);
    /* As a window that grows would have it. */
    (void)lb_msgpack_pass(&cut, data + data[0] % size, UINT64_MAX, &done, &start);
    REQUIRE(lb_msgpack_pass(&cut, end, UINT64_MAX, &more, &start) == step || step == LB_MSGPACK_BAD);
    REQUIRE(done + more == n && (cut.at == whole.at || step == LB_MSGPACK_BAD));
    return 0;
}
