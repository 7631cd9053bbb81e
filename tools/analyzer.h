/* Included by tools/lint.sh before each file that clang-tidy reads. The analyzer sees one file at a time and would
 * have lb_fail and its sisters return LB_OK as well as not: here it learns that they return the failure. */
#ifndef LB_TOOLS_ANALYZER_H
#define LB_TOOLS_ANALYZER_H

#include "base/fail.h"

#define lb_fail(err, code, ...) ((void)lb_fail(err, code, __VA_ARGS__), (lb_status)(code))
#define lb_fail_errno(...) ((void)lb_fail_errno(__VA_ARGS__), LB_IO)
#define lb_fail_nomem(err) ((void)lb_fail_nomem(err), LB_NOMEM)

#endif
