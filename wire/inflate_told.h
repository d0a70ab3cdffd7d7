/* What a compressed body says of its own size. It may lie: good for the words of a refusal only. */
#ifndef WIRE_INFLATE_TOLD_H
#define WIRE_INFLATE_TOLD_H

#include "wire/compress.h"

/* The result to tell where inflating a body into at most max bytes ended in one: of what found no
 * memory, what says that it is larger than max is too large, now and later. */
enum inflate_result inflate_told(enum encoding_name encoding, struct view in, size_t max,
                                 enum inflate_result result);

#endif
