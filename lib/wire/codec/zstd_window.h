/* What the zstd library keeps of its output beside ours, charged to a budget: up to the frame's
 * window (RFC 8878, 3.1.1.1.2), as the content grows. */
#ifndef LIB_WIRE_CODEC_ZSTD_WINDOW_H
#define LIB_WIRE_CODEC_ZSTD_WINDOW_H

#include "lib/base/budget.h"
#include "lib/base/view.h"

/* What RFC 9659 allows for zstd as a content coding: 8 MiB. */
enum { ZSTD_WINDOW_LOG = 23 };

struct zstd_window {
    struct budget *budget; /* borrowed; NULL: not charged */
    size_t size;           /* the largest of the frames so far */
    size_t charged;
};

/* A frame begins at the front of in, with a header or anything else. */
void zstd_window_frame(struct zstd_window *window, struct view in);

/* The content has come up to n bytes. False: no memory. */
bool zstd_window_reach(struct zstd_window *window, size_t n);

/* Gives the charge back. */
void zstd_window_end(struct zstd_window *window);

#endif
