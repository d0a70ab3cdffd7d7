/* UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF. Pure. */
#ifndef LIB_WIRE_PROTO_UTF8_H
#define LIB_WIRE_PROTO_UTF8_H

#include "lib/base/view.h"

/* Made for text that is mostly ASCII. */
bool utf8_valid(struct view text);

#endif
