/*
 * The journal: a crash-safe log of opaque entries in a directory. An entry is durable once its
 * append has completed, and is kept until it is settled; the next process finds the entries that
 * were not settled. Concurrent appends share one sync (group commit).
 *
 * It also keeps notes: small pieces of data that must survive a restart for some time, independent
 * of the entries that they came from.
 *
 * Damage on disk loses only the entries that it touches: they are copied to DIRECTORY/damaged and
 * counted. No state of the files prevents the journal from opening.
 */
#ifndef LIB_JOURNAL_JOURNAL_H
#define LIB_JOURNAL_JOURNAL_H

#include "lib/base/bytes.h"
#include "lib/base/clock.h"

struct journal;

/* One unsettled entry. Its owner releases it with journal_settle or journal_keep. */
struct journal_entry;

struct journal_settings {
    const char *directory; /* created if missing, mode 0700 */
    uint64_t max_bytes;    /* total of all files; at least 1 MiB */
    uint64_t
        sync_interval; /* ns between syncs; 0: every group is synced before its appends complete */
    struct budget *budget; /* charged some 64 bytes per live entry */
    const struct clock *clock;
};

/* The result of an append. */
enum journal_fault {
    JOURNAL_OK,
    JOURNAL_FULL,      /* max_bytes is reached and nothing can be removed */
    JOURNAL_DISK,      /* a system error; `error` is the reason */
    JOURNAL_TOO_LARGE, /* would not fit even an empty journal */
    JOURNAL_NO_MEMORY  /* the budget has no room */
};

/* One append in progress; memory of the caller. */
struct journal_write;

/* Called once per append, on a thread of the journal. fault OK: entry is set and the callee owns
 * it. Any other fault: entry is NULL. */
typedef void journal_done_fn(struct journal_write *write, struct journal_entry *entry,
                             enum journal_fault fault);

struct journal_write {
    struct view parts[4]; /* the content, in order; borrowed until done */
    size_t part_count;
    journal_done_fn *done;
    const char *error; /* DISK: static text */
    /* private to the journal: */
    struct journal_write *next;
    struct journal_entry *entry;
    enum journal_fault fault;
};

struct journal_figures {
    uint64_t live;      /* entries not settled */
    uint64_t bytes;     /* of all files */
    uint64_t appended;  /* entries, by this process */
    uint64_t syncs;     /* by this process */
    uint64_t damaged;   /* damaged entries or ranges set aside by this process */
    uint64_t refused;   /* appends that failed */
    uint64_t to_replay; /* an earlier process's entries not yet returned by journal_next */
    uint64_t max_bytes; /* as configured */
};

/* Opens a directory with an exclusive lock and finds what earlier processes left. NULL: error is a
 * sentence. */
struct journal *journal_open(const struct journal_settings *settings, char *error,
                             size_t error_size);

/* Whether the directory could be opened, or made, by this process; makes and locks nothing, so that
 * another process may use it meanwhile. False: *error (static text). Any thread. */
bool journal_could_open(const char *path, const char **error);

/* Appends write's content; done is called later. Any thread; never blocks on the disk. */
void journal_append(struct journal *journal, struct journal_write *write);

/* Waits until every append so far has completed. */
void journal_flush(struct journal *journal);

/* Marks an entry as delivered or given up: it will not be found again. Any thread. */
void journal_settle(struct journal *journal, struct journal_entry *entry);

/* Leaves an entry for the next process. Any thread. */
void journal_keep(struct journal *journal, struct journal_entry *entry);

/* Returns the next entry that an earlier process left, in append order; its content is appended to
 * body. False: no more, or (*no_room) the next one does not fit into body now and a later call
 * returns it. One thread at a time. */
bool journal_next(struct journal *journal, struct bytes *body, struct journal_entry **entry,
                  bool *no_room);

/* Keeps content as a note under an owner's name for keep_ns from now. It is written with the next
 * group; if there is no room it is dropped and that is logged, once a minute. Notes take at most a
 * sixteenth of max_bytes (256 MiB, and not less than two files): for more, the oldest are dropped.
 * Any thread. */
void journal_note(struct journal *journal, struct view owner, struct view content,
                  uint64_t keep_ns);

/* Calls recall for each unexpired note of an owner from earlier processes, oldest first, until it
 * returns false; recall must not call the journal. */
typedef bool journal_recall_fn(void *ctx, struct view content);
void journal_recall(struct journal *journal, struct view owner, journal_recall_fn *recall,
                    void *ctx);

/* Takes no lock. Any thread. */
void journal_figures(struct journal *journal, struct journal_figures *figures);

/* Whether the directory in use is at its path, where the next process will look. Any thread. */
bool journal_at_path(struct journal *journal);

/* Appends to out what currently prevents writing: the disk rejected the last appends, or the
 * directory is gone, since when, and how many were refused. False: nothing does. The journal
 * recovers by itself, even without new appends. Any thread. */
bool journal_trouble(struct journal *journal, struct bytes *out);

/* Appends how many requests damaged files cost, at least, as found by this process. False: none.
 * Any thread. */
bool journal_damage(struct journal *journal, struct bytes *out);

/* Completes the appends in progress (their done is called), syncs, and closes the directory; if no
 * entry is live, all segments are removed. Every entry must have been kept or settled before. */
void journal_close(struct journal *journal);

#endif
