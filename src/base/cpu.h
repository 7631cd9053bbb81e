/* What the processor can do, for choosing a faster body of the same function at run time. */
#ifndef LB_BASE_CPU_H
#define LB_BASE_CPU_H

enum { LB_CPU_AVX2 = 1, LB_CPU_AVX512 = 2, LB_CPU_NEON = 4, LB_CPU_VBMI2 = 8 };

/* Features found, less those named in the environment variable LB_DISABLE_CPU ("avx2,avx512,neon,vbmi2", read once). */
unsigned lb_cpu(void);

#endif
