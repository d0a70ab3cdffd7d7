/*
 * Which destinations have all of an entry while it waits for others, so that the next process need
 * not send it to them again. Stored in the journal's notes, for a day.
 */
#ifndef LIB_JOURNAL_DELIVERED_H
#define LIB_JOURNAL_DELIVERED_H

#include "lib/journal/journal.h"

/* Says that a destination, named by a key, has all of an entry. It is written if the entry is still
 * live about a second later, or when the journal is closed; without memory or room never. Not after
 * the entry was settled. Any thread; never blocks on the disk. */
void journal_delivered(struct journal *journal, struct journal_entry *entry, uint64_t key);

/* Writes to keys those that earlier processes stored for an entry that they left, at most `most`;
 * returns how many. What does not fit into the budget counts as not stored. Any thread. */
size_t journal_delivered_find(struct journal *journal, const struct journal_entry *entry,
                              uint64_t *keys, size_t most);

#endif
