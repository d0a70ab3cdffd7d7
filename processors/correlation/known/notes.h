/*
 * What profiles contained, in the form kept in the journal, so that decisions after a crash are the
 * same as without it. Pure.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_NOTES_H
#define PROCESSORS_CORRELATION_KNOWN_NOTES_H

#include "lib/base/bytes.h"
#include "processors/correlation/known/uploads.h"

struct notes {
    struct upload *uploads; /* NULL: none */
    uint64_t since;         /* wall; from then on no profile was missed */
    uint64_t arrived;       /* wall; when the uploads arrived */
};

/* Writes notes to out. False: no memory. */
bool notes_write(const struct notes *notes, struct bytes *out);

/* Reads notes into the arena; names point into the note. False: not a note of this version, or no
 * memory. */
bool notes_read(struct view note, struct arena *arena, struct notes *notes);

#endif
