/*
 * Recovery from files that were deleted while in use, alone or with their directory: their content
 * exists as long as they are open, and is rewritten to new files. The writer's thread.
 */
#ifndef LIB_JOURNAL_RESCUE_H
#define LIB_JOURNAL_RESCUE_H

#include "lib/journal/state.h"

/* Whether the configured path still refers to the directory in use. Also on any thread that holds
 * the lock. */
bool journal_is_in_place(const struct journal *journal);

/* Whether it does not, but that directory exists elsewhere. Also as above. */
bool journal_was_moved(const struct journal *journal);

/* Switches to the directory that the path refers to now, created if missing, unless it is the one
 * in use. True: it switched. False: `astray` says why it could not, if it should have. */
bool journal_follow_path(struct journal *journal);

/* Rewrites the content of deleted files; what cannot be rewritten stays in its segment, which is
 * `lost`. False: sync failed. */
bool journal_rescue(struct journal *journal);

/* Sets what journal_trouble reports, and counts the requests refused for it. NULL: nothing; logs
 * that it is over. */
void journal_set_trouble(struct journal *journal, const char *what, uint64_t refused);

/* With the lock held: trouble begins. */
void journal_begin_trouble(struct journal *journal);

/* Checks whether the trouble is over, and schedules the next check. */
void journal_probe(struct journal *journal);

#endif
