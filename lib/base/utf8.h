/* UTF-8 of RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. Pure. */
#ifndef LIB_BASE_UTF8_H
#define LIB_BASE_UTF8_H

#include "lib/base/bytes.h"

/* Optimised for mostly ASCII text. */
bool utf8_valid(struct view text);

/* Bytes of the character at the start of a text that is not empty, 1 to 4; 0: its first byte is
 * invalid. */
size_t utf8_character(struct view text);

/* A text without the white space of Unicode around it. */
struct view utf8_trim(struct view text);

/* Appends text with U+FFFD for each invalid byte. False: out is full. */
bool utf8_repair(struct view text, struct bytes *out);

#endif
