/*
 * How far what an entry holds was dealt with, kept beside it: of one entry as many as there are
 * keys. It lives in the journal's notes, for a day.
 */
#ifndef LIB_JOURNAL_PROGRESS_H
#define LIB_JOURNAL_PROGRESS_H

#include "lib/journal/journal.h"

enum { JOURNAL_PROGRESS_MAX = 64 };

/* Keeps content (at most JOURNAL_PROGRESS_MAX bytes) for an entry and a key; a later one takes its
 * place. Blocks until it is written, and synced where entries are synced before their answer. Any
 * thread but the journal's own. */
void journal_progress_keep(struct journal *journal, const struct journal_entry *entry, uint64_t key,
                           struct view content);

/* What an earlier process kept last for an entry that it left, appended to out. False: nothing, or
 * no memory. Any thread. */
bool journal_progress_find(struct journal *journal, const struct journal_entry *entry, uint64_t key,
                           struct bytes *out);

#endif
