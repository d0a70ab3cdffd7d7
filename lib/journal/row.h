/* An ordered list of segments of one kind, each with its live entries. Under the journal's lock. */
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
    struct journal_entry *later; /* next in the list to settle */
    struct journal_mark *marks;  /* those to be stored */
};

struct journal_segment {
    struct journal_segment *next; /* by number */
    struct segment_file file;
    uint64_t end;   /* where the next entry goes */
    uint32_t slots; /* slots taken; the next entry's slot */
    uint64_t
        found_end; /* data before this offset was found on opening; 0: written by this process */
    struct journal_entry *oldest, *newest;
    uint64_t live_bytes;
    uint64_t expires; /* notes: wall time at which the last one expires */
    bool unsynced;
    bool unreadable; /* partly; left as it is */
    bool moving;     /* its last entries were copied, but the copies are not synced yet */
    bool lost;       /* its file was deleted from the directory; its bytes no longer count */
};

/* Segments by number; the last one is being written while `open`. */
struct journal_row {
    const char *prefix;
    uint64_t segment_bytes;
    uint64_t most; /* bytes; for more, the oldest segments are dropped. 0: as many as there are */
    bool closes;   /* of its files, only the last one keeps a descriptor, while it is written */
    struct journal_segment *first, *last;
    bool open;
};

/* Appends a segment to a row. */
void journal_row_add(struct journal_row *row, struct journal_segment *segment);

struct journal;

/* Drops the oldest segments of a row until one of so many bytes may be added. Lock held. */
void journal_row_trim(struct journal *journal, struct journal_row *row, uint64_t more);

/* Adds an entry to its segment's list; removes it. */
void journal_entry_link(struct journal_entry *entry, struct journal_segment *segment);
void journal_entry_unlink(struct journal_entry *entry);

#endif
