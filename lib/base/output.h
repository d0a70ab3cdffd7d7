/*
 * A descriptor for text whose reader may stop reading, such as standard error: a pipe to a log
 * collector that hangs, a terminal that is stopped. output_write waits briefly for room and then
 * drops what is left, so that no thread waits for such a reader.
 *
 * O_NONBLOCK belongs to the open file description, which an inherited descriptor shares with other
 * processes, such as the shell. So a pipe or a terminal is opened anew with it, through
 * /proc/self/fd. Where the system forbids that, poll comes before each write of at most PIPE_BUF,
 * for which a pipe that is ready has room; only another process that fills it in between can then
 * still block. Regular files are written as they are.
 *
 * One thread at a time for each struct output.
 */
#ifndef LIB_BASE_OUTPUT_H
#define LIB_BASE_OUTPUT_H

#include "lib/base/view.h"

#include <stdbool.h>
#include <sys/types.h>

/* How long a write waits for its reader, unless the last one was dropped: then not at all. */
enum { OUTPUT_PATIENCE_MS = 200 };

struct output {
    int descriptor; /* borrowed */
    bool stalled;   /* the last text was dropped, or its end */
    bool torn;      /* a part of it was written; the next text begins a new line */
    /* private: */
    int own; /* the same file, opened anew; -1: none */
    int kind;
    dev_t device; /* the file that own and kind are of, like the next */
    ino_t inode;
};

#define OUTPUT_OF(fd)                                                                              \
    {                                                                                              \
        .descriptor = (fd), .own = -1                                                              \
    }

enum output_result {
    OUTPUT_WRITTEN,
    OUTPUT_STALLED, /* the reader did not read in time: the text, or its end, was dropped */
    OUTPUT_FAILED   /* errno is the reason; 0: a file has room for a part only */
};

/* patience_ms: for each PIPE_BUF of the text. */
enum output_result output_write(struct output *output, struct view text, int patience_ms);

/* Whether the last text was dropped, and the next one would be now. */
bool output_is_stalled(const struct output *output);

/* Leaves the descriptor open. */
void output_release(struct output *output);

#endif
