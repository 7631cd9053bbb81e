#include "base/clock.h"

#include <time.h>

static int64_t clock_read(clockid_t which)
{
    struct timespec t = { 0 };

    clock_gettime(which, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t lb_now_ns(void)
{
    return clock_read(CLOCK_REALTIME);
}

int64_t lb_monotonic_ns(void)
{
    return clock_read(CLOCK_MONOTONIC);
}
