/*
 * Files that somebody removed while they were in use, alone or with their directory: what lies in
 * them is there for as long as they are open, and is written anew. The writer's thread.
 */
#ifndef LIB_JOURNAL_RESCUE_H
#define LIB_JOURNAL_RESCUE_H

#include "lib/journal/state.h"

/* Whether the path still leads to the directory in use. Also any thread that holds the lock. */
bool journal_is_in_place(const struct journal *journal);

/* Where the path leads to another directory than the one in use, or to none, goes over to what it
 * leads to, or makes it. True: it did. */
bool journal_return(struct journal *journal);

/* Writes what lies in files that have no name any more anew; what cannot be stays in its segment,
 * which is `lost`. False: the disk refused to sync. */
bool journal_rescue(struct journal *journal);

/* What is wrong from now on; NULL: nothing. */
void journal_set_trouble(struct journal *journal, const char *what);

/* Looks whether what is wrong is over, and when to look again. */
void journal_probe(struct journal *journal);

#endif
