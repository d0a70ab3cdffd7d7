/*
 * The journal: a crash-safe log of opaque entries in a directory. An entry is durable once its
 * writer was told so, and is kept until it is settled; what was not settled is found again by the
 * next process. Writers that come at the same time share one sync (group commit).
 *
 * Beside entries it keeps notes: small things that are to be known again for some time after a
 * restart, whatever became of the entries that they were drawn from.
 *
 * Damage on disk costs the entries that it lies in: they are copied to DIRECTORY/damaged and
 * counted. No state of the files keeps a journal from opening.
 */
#ifndef LIB_JOURNAL_JOURNAL_H
#define LIB_JOURNAL_JOURNAL_H

#include "lib/base/bytes.h"
#include "lib/base/clock.h"

struct journal;

/* One entry that is not settled. Its holder gives it back by journal_settle or journal_keep. */
struct journal_entry;

struct journal_settings {
    const char *directory;  /* made where it is missing, mode 0700 */
    uint64_t max_bytes;     /* of all files together; at least 1 MiB */
    uint64_t sync_interval; /* ns between syncs; 0: every group is synced before it is answered */
    struct budget *budget;  /* for what is known of live entries, some 64 bytes each */
    const struct clock *clock;
};

/* How an append failed. */
enum journal_fault {
    JOURNAL_OK,
    JOURNAL_FULL,      /* max_bytes is reached, and nothing of it can go */
    JOURNAL_DISK,      /* the system refused: error says how */
    JOURNAL_TOO_LARGE, /* it could not fit the empty journal */
    JOURNAL_NO_MEMORY  /* the budget has no room */
};

/* One append under way; its owner's memory. */
struct journal_write;

/* Called once per append, from a thread of the journal: fault OK with the entry, now the callee's,
 * or another one without. */
typedef void journal_done_fn(struct journal_write *write, struct journal_entry *entry,
                             enum journal_fault fault);

struct journal_write {
    struct view parts[4]; /* the content, in order; borrowed until done */
    size_t part_count;
    journal_done_fn *done;
    const char *error; /* DISK: static text */
    /* the journal's own: */
    struct journal_write *next;
    struct journal_entry *entry;
    enum journal_fault fault;
};

struct journal_figures {
    uint64_t live;      /* entries not settled */
    uint64_t bytes;     /* of all files */
    uint64_t appended;  /* entries, by this process */
    uint64_t syncs;     /* by this process */
    uint64_t damaged;   /* entries or ranges set aside, by this process */
    uint64_t refused;   /* appends that failed */
    uint64_t to_replay; /* entries of an earlier process that journal_next has not given yet */
    uint64_t max_bytes; /* as configured */
};

/* Opens a directory, alone, and finds what an earlier process left. NULL: error holds a sentence.
 */
struct journal *journal_open(const struct journal_settings *settings, char *error,
                             size_t error_size);

/* Appends write's content; done is called later. Any thread, never blocks on the disk. */
void journal_append(struct journal *journal, struct journal_write *write);

/* Waits until every append so far was answered. */
void journal_flush(struct journal *journal);

/* The data of an entry were delivered or given up: it is not found again. Any thread. */
void journal_settle(struct journal *journal, struct journal_entry *entry);

/* Leaves an entry for the next process. Any thread. */
void journal_keep(struct journal *journal, struct journal_entry *entry);

/* The next entry that an earlier process left, in the order in which they were appended; its
 * content is appended to body. False: no more, or (*no_room) the next does not fit into body now
 * and is given by a later call. One thread at a time. */
bool journal_next(struct journal *journal, struct bytes *body, struct journal_entry **entry,
                  bool *no_room);

/* Notes content under an owner's name for keep_ns from now. Written with the next group; where
 * there is no room it is left out, and a line is logged. Any thread. */
void journal_note(struct journal *journal, struct view owner, struct view content,
                  uint64_t keep_ns);

/* Calls recall for each of an owner's notes of earlier processes that is still to be kept, oldest
 * first; recall must not call the journal. */
typedef void journal_recall_fn(void *ctx, struct view content);
void journal_recall(struct journal *journal, struct view owner, journal_recall_fn *recall,
                    void *ctx);

/* Takes no lock. Any thread. */
void journal_figures(struct journal *journal, struct journal_figures *figures);

/* What keeps it from writing now, appended to out: the disk refused the last appends, or its
 * directory is gone. False: nothing. It goes on by itself when that is over, also without appends.
 * Any thread. */
bool journal_trouble(struct journal *journal, struct bytes *out);

/* Ends the appends under way (their done is called), syncs, and leaves the directory; without a
 * live entry no segment stays. Entries still held must have been kept or settled. */
void journal_close(struct journal *journal);

#endif
