/* UTF-8 validation, RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. Pure. */
#ifndef LIB_WIRE_PROTO_UTF8_H
#define LIB_WIRE_PROTO_UTF8_H

#include "lib/base/view.h"

/* Optimised for mostly ASCII text. */
bool utf8_valid(struct view text);

#endif
