/* A profile as text for people and for comparing, read by protobuf-c, not by our own code. */
#ifndef TESTS_SUPPORT_PPROF_TEXT_H
#define TESTS_SUPPORT_PPROF_TEXT_H

#include "lib/base/bytes.h"

/* One line of what is not a sample (types, period, duration, comments, frames to drop and keep,
 * default type; the time only where with_time), one line of nothing else than '\n' and a line for
 * each sample in order: values, the frames' names and lines, labels with all strings
 * resolved. The caller
 * releases. Aborts on bytes that protobuf-c refuses. */
struct bytes pprof_text(struct view raw, bool with_time);

/* The part of a text that is samples. */
struct view pprof_text_samples(const struct bytes *text);

#endif
