/*
 * What profiles said, as the journal keeps it, so that after a crash spans are judged by it as they
 * would have been. Pure.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_NOTES_H
#define PROCESSORS_CORRELATION_KNOWN_NOTES_H

#include "lib/base/bytes.h"
#include "processors/correlation/known/uploads.h"

struct notes {
    const struct upload *uploads; /* NULL: none */
    uint64_t since;               /* wall; from then on nothing was missed */
    uint64_t arrived;             /* wall; when the uploads came */
};

/* Writes notes to out. False: no memory. */
bool notes_write(const struct notes *notes, struct bytes *out);

/* Reads them back into the arena; names stay in the note. False: not a note of this version, or no
 * room. */
bool notes_read(struct view note, struct arena *arena, struct notes *notes);

#endif
