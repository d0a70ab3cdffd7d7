/*
 * What is to be stored of journal_delivered: a list, oldest first, so that entries that are settled
 * soon cost no write. Part of the journal's state.
 */
#ifndef LIB_JOURNAL_MARKS_H
#define LIB_JOURNAL_MARKS_H

#include "lib/base/bytes.h"

struct journal;
struct journal_entry;

/* A destination has all of an entry. */
struct journal_mark {
    struct journal_mark *older, *newer;
    struct journal_mark *also; /* the next one of its entry */
    struct journal_entry *entry;
    uint64_t sequence; /* the entry's */
    uint64_t key;
    uint64_t since; /* mono */
};

struct journal_marks {
    struct journal_mark *first, *last;
    uint64_t due; /* mono: when to write the first ones; 0: there was none when last asked */
};

/* What earlier processes stored: for a key, entries from one sequence number to another. */
struct journal_stored {
    uint64_t key, from, to;
};

/* Removes an entry's marks, as it is settled. Lock held. */
void journal_marks_drop(struct journal *journal, struct journal_entry *entry);

/* Takes the marks that are due, or all of them. NULL: none. Lock held. */
struct journal_mark *journal_marks_take(struct journal *journal, bool all);

/* Stores and frees what was taken. Without the lock. */
void journal_marks_store(struct journal *journal, struct journal_mark *first);

/* Frees what journal_delivered_find read. Lock held. */
void journal_stored_drop(struct journal *journal);

#endif
