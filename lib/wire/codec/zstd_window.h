/* Charges a budget for the zstd library's own copy of its output: it grows with the content, up to
 * the frame's window (RFC 8878, 3.1.1.1.2). */
#ifndef LIB_WIRE_CODEC_ZSTD_WINDOW_H
#define LIB_WIRE_CODEC_ZSTD_WINDOW_H

#include "lib/base/budget.h"
#include "lib/base/view.h"

/* The limit for zstd as a content coding, RFC 9659: 8 MiB. */
enum { ZSTD_WINDOW_LOG = 23 };

struct zstd_window {
    struct budget *budget; /* borrowed; NULL: not charged */
    size_t size;           /* the largest window so far */
    size_t charged;
};

/* Call when a frame begins at the start of in, whatever its bytes are. */
void zstd_window_frame(struct zstd_window *window, struct view in);

/* Call when the content has grown to n bytes. False: no memory. */
bool zstd_window_reach(struct zstd_window *window, size_t n);

/* Returns the charge. */
void zstd_window_end(struct zstd_window *window);

#endif
