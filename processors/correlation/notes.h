/*
 * What profiles said, as the journal keeps it, so that after a crash spans are judged by it as they
 * would have been. Pure.
 */
#ifndef CORRELATION_NOTES_H
#define CORRELATION_NOTES_H

#include "base/bytes.h"
#include "processors/correlation/uploads.h"

/* Writes a list of uploads (NULL: none) to out, with the time since when nothing was missed (wall).
 * False: no memory. */
bool notes_write(const struct upload *uploads, uint64_t started, struct bytes *out);

/* Reads it back into the arena; names stay in the note. False: not a note of this version, or no
 * room. */
bool notes_read(struct view note, struct arena *arena, struct upload **uploads, uint64_t *started);

#endif
