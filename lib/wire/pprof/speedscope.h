/*
 * Checks Speedscope files (github.com/jlfwong/speedscope, file-format-spec.ts) for what Pyroscope's
 * /ingest refuses, so that the client gets the error before they are accepted. Pure.
 */
#ifndef LIB_WIRE_PPROF_SPEEDSCOPE_H
#define LIB_WIRE_PPROF_SPEEDSCOPE_H

#include "lib/base/bytes.h"

struct speedscope {
    size_t profiles;
    const char *fault; /* why the server refuses it, static text; NULL: it accepts it, unless
                          merging profiles of one name fails there */
    size_t profile;    /* the profile at fault, from 1; 0: none in particular */
};

/* Reads a file; stack, empty, holds the open frames, 4 bytes each. False: no memory for them. */
bool speedscope_read(struct speedscope *file, struct view text, struct bytes *stack);

/* Is called with what a file holds; false ends the reading as for lack of memory. */
struct speedscope_visit {
    void *ctx;
    bool (*frame)(void *ctx, struct view name); /* each of shared.frames, in order */
    /* Each sample, and of an evented profile each time between two events. frames: indices, the
     * root first. Of a profile with a fault, those before it. */
    bool (*stack)(void *ctx, struct view unit, const uint32_t *frames, size_t count, double weight);
};

/* Reads a file like speedscope_read, and visits what it holds. */
bool speedscope_visit(struct speedscope *file, struct view text, struct bytes *stack,
                      const struct speedscope_visit *visit);

#endif
