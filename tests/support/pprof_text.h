/* A profile as text for people and for comparison, decoded by protobuf-c, not by our own code. */
#ifndef TESTS_SUPPORT_PPROF_TEXT_H
#define TESTS_SUPPORT_PPROF_TEXT_H

#include "lib/base/bytes.h"

/* One line of everything but samples (types, period, duration, comments, frames to drop and keep,
 * default type; the time only with with_time), an empty line, then a line for each sample in order:
 * values, the frames' names and lines, labels with all strings resolved. The caller releases it.
 * Aborts on bytes that protobuf-c rejects. */
struct bytes pprof_text(struct view raw, bool with_time);

/* Returns the samples' part of a text. */
struct view pprof_text_samples(const struct bytes *text);

#endif
