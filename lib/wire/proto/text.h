/* Text on its way into JSON strings, protobuf strings and C strings. Pure. */
#ifndef LIB_WIRE_PROTO_TEXT_H
#define LIB_WIRE_PROTO_TEXT_H

#include "lib/base/bytes.h"

/* Appends text as a quoted JSON string on one line: control characters escaped, each byte that is
 * no part of UTF-8 replaced by U+FFFD. False: out is full. */
bool text_json(struct view text, struct bytes *out);

/* Appends text with the same replacement, neither quoted nor escaped. False: out is full. */
bool text_utf8(struct view text, struct bytes *out);

/* Copies text, cut to size, ending in NUL; a NUL inside becomes a space. */
void text_cut(struct view text, char *out, size_t out_size);

/* The same of a body for people: without the white space at its ends. */
void text_shown(struct view text, char *out, size_t out_size);

/* The lowerCamelCase form of a snake_case name, cut to size, ending in NUL. */
void text_camel(const char *snake, char *out, size_t out_size);

/* The value of a hex digit of either case; -1: it is none. */
int text_hex_digit(uint8_t c);

#endif
