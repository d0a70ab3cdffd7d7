/* Segments of one kind in a row, each with its live entries. Under the journal's lock. */
#ifndef LIB_JOURNAL_ROW_H
#define LIB_JOURNAL_ROW_H

#include "lib/journal/segment.h"

struct journal_entry {
    struct journal_entry *older, *newer; /* of its segment */
    struct journal_segment *segment;
    uint64_t at;
    uint64_t sequence;
    uint32_t size; /* of the body */
    uint32_t slot;
    struct journal_entry *later; /* to be settled too */
};

struct journal_segment {
    struct journal_segment *next; /* by number */
    struct segment_file file;
    uint64_t end;       /* where the next entry goes */
    uint32_t slots;     /* those taken; the next entry's */
    uint64_t found_end; /* what lies before was found at the opening; 0: it is this process's */
    struct journal_entry *oldest, *newest;
    uint64_t live_bytes;
    uint64_t expires; /* notes: wall time at which the last one is forgotten */
    bool unsynced;
    bool unreadable; /* in part: it is left as it is */
    bool moving;     /* its last entries were copied, but the copies are not safe yet */
    bool lost;       /* its file has no name in the directory any more; it counts no more bytes */
};

/* Segments by number; the last one is written to while it is open. */
struct journal_row {
    const char *prefix;
    uint64_t segment_bytes;
    struct journal_segment *first, *last;
    bool open;
};

/* Appends to a row, removes from it. */
void journal_row_add(struct journal_row *row, struct journal_segment *segment);
void journal_row_drop(struct journal_row *row, struct journal_segment *segment);

/* An entry's place among those of its segment. */
void journal_entry_link(struct journal_entry *entry, struct journal_segment *segment);
void journal_entry_unlink(struct journal_entry *entry);

#endif
