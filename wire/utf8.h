/* UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF. Pure. */
#ifndef WIRE_UTF8_H
#define WIRE_UTF8_H

#include "base/view.h"

/* Made for text that is mostly ASCII. */
bool utf8_valid(struct view text);

#endif
