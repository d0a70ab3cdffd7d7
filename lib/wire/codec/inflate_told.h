/* Whether a compressed body that found no memory would ever fit. */
#ifndef LIB_WIRE_CODEC_INFLATE_TOLD_H
#define LIB_WIRE_CODEC_INFLATE_TOLD_H

#include "lib/wire/codec/compress.h"

/* The result to tell where inflating a body into at most max bytes ended in one. What found no
 * memory, and says or turns out to be larger than max, is too large, now and later; it is inflated
 * again for that, up to max, and kept nowhere; what that takes is charged to the budget (NULL: to
 * none) where it has room. */
enum inflate_result inflate_told(enum encoding_name encoding, struct view in, size_t max,
                                 struct budget *budget, enum inflate_result result);

#endif
