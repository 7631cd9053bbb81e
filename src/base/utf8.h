#ifndef LB_BASE_UTF8_H
#define LB_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length of the longest prefix that is valid UTF-8 (RFC 3629: no surrogates, nothing overlong, nothing past
 * U+10FFFF). Equal to size when all is valid. A character cut off by the end is not part of the prefix. */
size_t lb_utf8_valid_prefix(const uint8_t *p, size_t size);

/* How many of the last bytes (0 to 3) are the beginning of a character that the end cuts off and that could still
 * become valid. */
size_t lb_utf8_cut_tail(const uint8_t *p, size_t size);

/* Decode one character of valid UTF-8; returns its length in bytes (1 where the bytes are not valid, with
 * U+FFFD). size > 0. */
size_t lb_utf8_decode(const uint8_t *p, size_t size, uint32_t *code_point);

/* Write one character; returns its length (1 to 4). */
size_t lb_utf8_encode(uint32_t code_point, uint8_t out[4]);

/* Columns a terminal gives a character: 0 combining, 2 wide, else 1. */
int lb_utf8_width(uint32_t code_point);

#endif
