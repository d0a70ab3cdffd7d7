/*
 * What the parts of the journal share. `lock` guards all but what only the thread of the writer
 * touches: the last segment's `end` and `unsynced`, and everything on the disk behind `end`.
 */
#ifndef LIB_JOURNAL_STATE_H
#define LIB_JOURNAL_STATE_H

#include "lib/base/thread.h"
#include "lib/journal/journal.h"
#include "lib/journal/progress.h"
#include "lib/journal/row.h"

#define ENTRY_PREFIX "entries"
#define NOTE_PREFIX  "notes"

enum { SPARE_SEGMENTS = 2 };

struct journal_list {
    struct journal_write *first, *last;
};

/* A note on its way to the disk. */
struct journal_pending_note {
    struct journal_pending_note *next;
    uint64_t expires;
    struct bytes body;
};

/* What an earlier process kept beside an entry. */
struct journal_progress {
    uint64_t sequence; /* the entry's */
    uint64_t key;
    size_t size;
    uint8_t content[JOURNAL_PROGRESS_MAX];
};

struct journal {
    struct journal_settings settings;
    int dir;     /* under lock, as the next */
    int old_dir; /* of lost segments, where it is another; -1: none */

    pthread_mutex_t lock;
    pthread_cond_t to_write, to_answer, answered;
    struct journal_row entries, notes;
    struct journal_segment *spares;
    size_t spare_count;
    struct journal_list waiting, written;
    struct journal_pending_note *new_notes, **notes_end;
    size_t notes_unwritten;
    uint64_t notes_given, notes_done; /* since the opening: taken, written */
    struct journal_entry *to_settle;  /* once those notes are written */
    struct {
        _Atomic uint64_t live, bytes, appended, syncs, damaged, refused;
    } figures;                         /* written under lock */
    size_t unanswered;                 /* appends */
    struct journal_progress *progress; /* in the order of their notes */
    size_t progress_count;
    bool progress_read;
    bool stopping, writer_ended;

    uint64_t next_number, next_sequence; /* the writer's, once it runs */
    uint64_t unsynced_since;             /* mono; 0: nothing is */
    bool sync_failed;                    /* since the last group was answered */
    bool refusing;                       /* the last group, and that was logged */
    uint64_t probe_wait;
    bool left_behind;             /* entries in files that were removed */
    char trouble[256];            /* what keeps it from writing; "": nothing. Under lock */
    uint64_t probe_at;            /* mono: when that is looked at; under lock */
    struct journal_entry **found; /* left by an earlier process, by sequence */
    size_t found_count;
    _Atomic size_t found_at;
    pthread_t writer, answerer;
    bool threads;
};

/* Keeps a segment's file for later use, or removes it. It is in no row any more. Lock held. */
void journal_segment_retire(struct journal *journal, struct journal_segment *segment);

/* Retires what holds nothing any more. Lock held. */
void journal_retire_dead(struct journal *journal);

/* journal_recall with the lock held. */
void journal_recall_locked(struct journal *journal, struct view owner, journal_recall_fn *recall,
                           void *ctx);

/* Reads what an earlier process left. False: *error. */
bool journal_find(struct journal *journal, const char **error);

/* Writes a list of appends and the new notes and syncs them; fills each one's fault. The writer's
 * thread, without the lock. */
void journal_write_group(struct journal *journal, struct journal_write *first,
                         struct journal_pending_note *notes);

/* Syncs what was written. False: the disk refused, now or since the last call. The writer's thread.
 */
bool journal_sync(struct journal *journal);
/* The same for what was answered already: a refusal can only be logged. */
void journal_sync_late(struct journal *journal);

/* Moves the live entries of a segment that is mostly settled to the end, so that it can go. False:
 * there is none, or no room. The writer's thread. */
bool journal_compact(struct journal *journal);

/* Moves an entry's worth of a segment to the end, so that it can go. The writer's thread. */
bool journal_vacate(struct journal *journal, struct journal_segment *from);

/* Writes a note's content again. The writer's thread. */
bool journal_copy_note(struct journal *journal, struct view body, uint64_t expires);

/* When a note is to be forgotten, wall time; 0: it is none. */
uint64_t journal_note_expiry(struct view body);

/* Opens the directory, which is made where it is missing, and locks it. -1: *error, static. */
int journal_open_directory(const char *path, const char **error);

/* Drops the files that are kept for later use. The writer's thread. */
void journal_drop_spares(struct journal *journal);

/* Whether the next append would find a file to go to. The writer's thread. */
bool journal_can_write(struct journal *journal);

/* Copies a damaged range to DIRECTORY/damaged, counts it and says so in the log. */
void journal_set_aside(struct journal *journal, const struct journal_segment *segment, uint64_t at,
                       uint64_t size);

#endif
