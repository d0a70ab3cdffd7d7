/* Numbers that are all of a text, as Go's strconv.ParseInt and ParseFloat take them. Pure. */
#ifndef LIB_BASE_NUMERAL_H
#define LIB_BASE_NUMERAL_H

#include "lib/base/view.h"

/* Both return false if the text is none, or the number does not fit. */
bool numeral_int(struct view text, int64_t *number);
bool numeral_double(struct view text, double *number); /* 1e3, 1_000, 0x1p-2, inf, NaN */

#endif
