/*
 * Speedscope files (github.com/jlfwong/speedscope, file-format-spec.ts), as far as Pyroscope's
 * /ingest refuses them: what the client is to learn before they are accepted. Pure.
 */
#ifndef LIB_WIRE_PPROF_SPEEDSCOPE_H
#define LIB_WIRE_PPROF_SPEEDSCOPE_H

#include "lib/base/bytes.h"

struct speedscope {
    size_t profiles;
    const char *fault; /* why the server refuses it, static text; NULL: it does not, or its own
                        * merging of profiles of one name is to say so */
    size_t profile;    /* where, from 1; 0: in none */
};

/* Reads a file; stack (empty) is room for the frames that are open at a time, 4 bytes each. False:
 * no memory for them. */
bool speedscope_read(struct speedscope *file, struct view text, struct bytes *stack);

#endif
