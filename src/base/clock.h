#ifndef LB_BASE_CLOCK_H
#define LB_BASE_CLOCK_H

#include <stdint.h>

int64_t lb_now_ns(void); /* wall clock, Unix time */
int64_t lb_monotonic_ns(void);

#endif
