/* Numbers as text, both ways, in the rules of types.md section 1. Nothing here depends on the locale. */
#ifndef LB_BASE_NUMBER_H
#define LB_BASE_NUMBER_H

#include "base/str.h"

/* What a run of text reads as. The whole text counts: no blanks, nothing after. */
typedef enum lb_number_kind {
    LB_NOT_A_NUMBER, /* no number by the rules (also leading zeros, `+5`) */
    LB_NUMBER_INT,   /* -?(0|[1-9][0-9]*), not `-0`, within int64: value in i */
    LB_NUMBER_UINT,  /* the same without sign, beyond int64, within uint64: value in u */
    LB_NUMBER_BIG,   /* an integer by the rule, beyond both */
    LB_NUMBER_FLOAT  /* value in f, correctly rounded; also NaN, Inf, Infinity with optional sign, any case, and `-0` */
} lb_number_kind;

typedef struct lb_number {
    int64_t i;
    uint64_t u;
    double f;
    /* Of a plain FLOAT with a point and no exponent (`-12.50`): digits before the point less leading zeros, and
     * after it; for others point is false. For `--decimal`. */
    bool point;
    uint32_t whole_digits, fraction_digits;
} lb_number;

/* FLOAT: an optional `-`, digits with a point and/or an exponent (`.5`, `5.`, `1e5`, `-0`), no needless leading zeros
 * (`00.5`, `01e5` are none; `0.5`, `0e1` are). Values too large for a double are infinite only when written so: `1e999`
 * is LB_NOT_A_NUMBER, since a double does not hold it; too small ones round to 0 or a subnormal as they must. */
lb_number_kind lb_number_parse(const char *p, size_t size, lb_number *out);

/* Declared types read more: a leading `+` and leading zeros. False: does not fit. */
bool lb_parse_int64(const char *p, size_t size, int64_t *out);
bool lb_parse_uint64(const char *p, size_t size, uint64_t *out);
bool lb_parse_double(const char *p, size_t size, double *out); /* integers too; correctly rounded */

/* Shortest text that reads back as the same double, always with a point or an exponent: `0.1`, `1.0`, `1e+16` is
 * written `1e16`, `-0.0`, `5e-324`; plain notation where the decimal exponent lies in [-5, 16), else `d.ddde±x` with no
 * `+` and no leading zeros. `NaN`, `Infinity`, `-Infinity`. Returns the length, at most 32; no NUL is written. */
#define LB_DOUBLE_TEXT 32
size_t lb_print_double(double v, char out[LB_DOUBLE_TEXT]);

/* The same for a float32 (shortest that reads back as the same float32). */
size_t lb_print_float(float v, char out[LB_DOUBLE_TEXT]);

/* C's %.17g, for the canonical form; `NaN`, `Infinity`, `-Infinity`. */
size_t lb_print_double_17g(double v, char out[LB_DOUBLE_TEXT]);

#define LB_INT_TEXT 20
size_t lb_print_int64(int64_t v, char out[LB_INT_TEXT]);
size_t lb_print_uint64(uint64_t v, char out[LB_INT_TEXT]);

/* IEEE half to float32. */
float lb_half_to_float(uint16_t half);

/* Decimals of up to 76 digits: 256-bit two's complement, little-endian words. */
typedef struct lb_i256 {
    uint64_t w[4];
} lb_i256;

/* `[-+]?digits[.digits]` with at most `scale` digits after the point (further ones must be 0) and at most
 * precision - scale before it, times 10^scale. False: does not read so or does not fit. */
bool lb_parse_decimal(const char *p, size_t size, int precision, int scale, lb_i256 *out);

/* With exactly `scale` digits after the point (scale 0: no point; scale below 0: zeros appended). Returns the length, at
 * most LB_DECIMAL_TEXT + max(0, -scale). */
#define LB_DECIMAL_TEXT 96
size_t lb_print_decimal(lb_i256 v, int scale, char *out);

int lb_i256_compare(lb_i256 a, lb_i256 b);
lb_i256 lb_i256_negate(lb_i256 v); /* wraps: the least value stays */
lb_i256 lb_i256_of(int64_t v);

#endif
