/*
 * Delivery progress of an entry's content, one record per entry and key. Stored in the journal's
 * notes, for a day.
 */
#ifndef LIB_JOURNAL_PROGRESS_H
#define LIB_JOURNAL_PROGRESS_H

#include "lib/journal/journal.h"

enum { JOURNAL_PROGRESS_MAX = 64 };

/* Stores content (at most JOURNAL_PROGRESS_MAX bytes) for an entry and a key; a later call replaces
 * it. Blocks until it is written, and synced if sync_interval is 0. Any thread except the journal's
 * own. */
void journal_progress_keep(struct journal *journal, const struct journal_entry *entry, uint64_t key,
                           struct view content);

/* Appends to out what an earlier process stored last for an entry that it left. False: nothing, or
 * no memory. Any thread. */
bool journal_progress_find(struct journal *journal, const struct journal_entry *entry, uint64_t key,
                           struct bytes *out);

#endif
