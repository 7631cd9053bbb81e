/* ORC as a format of the lake. */
#ifndef LB_FORMAT_ORC_ORC_HANDLERS_H
#define LB_FORMAT_ORC_ORC_HANDLERS_H

#include "format/format.h"

extern const lb_format lb_format_orc;

#endif
