// The same program as C++.
#include "header_alone_c.c"
