/* Whether a compressed body that failed for lack of memory could ever fit. */
#ifndef LIB_WIRE_CODEC_INFLATE_FINAL_H
#define LIB_WIRE_CODEC_INFLATE_FINAL_H

#include "lib/wire/codec/compress.h"

/* Turns the result of inflating a body into at most max bytes into the one to report. NO_MEMORY
 * becomes TOO_LARGE if the body declares, or turns out to have, more than max bytes: retrying would
 * be useless. To find out, the body is inflated again, up to max and without keeping the output;
 * the memory for that is charged to the budget (NULL: none) if it has room. */
enum inflate_result inflate_final(enum encoding_name encoding, struct view in, size_t max,
                                  struct budget *budget, enum inflate_result result);

#endif
