/* Conversion of text for JSON, protobuf and C strings. Pure. */
#ifndef LIB_WIRE_PROTO_TEXT_H
#define LIB_WIRE_PROTO_TEXT_H

#include "lib/base/bytes.h"

/* Appends text as a quoted JSON string on one line; control characters are escaped, each byte of
 * invalid UTF-8 becomes U+FFFD. False: out is full. */
bool text_json(struct view text, struct bytes *out);

/* Copies text, truncated where a character of UTF-8 ends, and NUL-terminated; an embedded NUL
 * becomes a space. */
void text_cut(struct view text, char *out, size_t out_size);

/* As text_cut, without leading and trailing whitespace: for showing a body. */
void text_shown(struct view text, char *out, size_t out_size);

/* Converts a snake_case name to lowerCamelCase, truncated and NUL-terminated. */
void text_camel(const char *snake, char *out, size_t out_size);

/* The value of a hex digit of either case; -1: not a hex digit. */
int text_hex_digit(uint8_t c);

/* Reads size bytes from hex digits of either case. False: these are not 2 * size of them. */
bool text_hex_bytes(struct view hex, uint8_t *out, size_t size);

#endif
