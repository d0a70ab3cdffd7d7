/*
 * Standard output for telemetry. If its reader stops reading, output_write waits briefly and then
 * drops text, so that nothing waits for a terminal. One thread at a time for each struct output.
 */
#ifndef LIB_BASE_OUTPUT_H
#define LIB_BASE_OUTPUT_H

#include "lib/base/view.h"

#include <stdbool.h>

/* Zero is ready for use. */
struct output {
    bool stalled; /* the last write was dropped: the next one does not wait */
};

void output_write(struct output *output, struct view text);

#endif
