/* Text that may come from outside on its way to people: logs, terminals, pages. Pure. */
#ifndef LIB_BASE_SHOWN_H
#define LIB_BASE_SHOWN_H

#include "lib/base/view.h"

/* Copies a text, cut to size and ended by NUL, with all escaped that would not be seen as itself:
 * control characters (C1 among them) and bytes that are no UTF-8 as \n, \r, \t or \xNN, line and
 * paragraph separators and what turns the direction of writing as \u2028 and so on. Returns the
 * length of the copy. */
size_t shown_copy(struct view text, char *out, size_t size);

#endif
