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

#endif
