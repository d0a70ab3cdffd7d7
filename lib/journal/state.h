/*
 * State shared by the journal's files. `lock` guards everything except what only the writer's
 * thread touches: the last segment's `end` and `unsynced`, and everything on disk after `end`.
 */
#ifndef LIB_JOURNAL_STATE_H
#define LIB_JOURNAL_STATE_H

#include "lib/base/thread.h"
#include "lib/journal/journal.h"
#include "lib/journal/marks.h"
#include "lib/journal/progress.h"
#include "lib/journal/row.h"

#define ENTRY_PREFIX "entries"
#define NOTE_PREFIX  "notes"
#define STATE_PREFIX "states"

/* NOTE_HEAD: before a note's owner, when it expires and the size of the owner's name. */
enum { SPARE_SEGMENTS = 2, NOTE_HEAD = 9 };

struct journal_list {
    struct journal_write *first, *last;
};

/* A note not yet written. */
struct journal_pending_note {
    struct journal_pending_note *next;
    uint64_t expires;
    struct bytes body;
};

/* Progress that an earlier process stored for an entry. */
struct journal_progress {
    uint64_t sequence; /* the entry's */
    uint64_t key;
    size_t size;
    uint8_t content[JOURNAL_PROGRESS_MAX];
};

struct journal {
    struct journal_settings settings;
    int dir;     /* under lock, like the next */
    int old_dir; /* the previous directory, of lost segments; -1: none */

    pthread_mutex_t lock;
    pthread_cond_t to_write, to_answer, answered;
    struct journal_row entries, notes, states; /* states: the notes of processors */
    struct journal_segment *spares;
    size_t spare_count;
    struct journal_list waiting, written;
    struct journal_pending_note *new_notes, **notes_end;
    size_t notes_unwritten;
    uint64_t notes_given, notes_done; /* since opening: accepted, written */
    uint64_t unsaved_told; /* mono: when it was logged last that one could not be; 0: never */
    struct journal_entry *to_settle; /* entries to settle once the pending notes are written */
    struct {
        _Atomic uint64_t live, bytes, appended, syncs, damaged, refused, unmarked;
        _Atomic uint64_t damaged_requests; /* at least; of entries' segments */
    } figures;                             /* written under lock */
    size_t unanswered;                     /* appends */
    struct journal_progress *progress;     /* in order of their notes */
    size_t progress_count;
    bool progress_read;
    struct journal_marks marks; /* to be stored */
    struct bytes stored;        /* struct journal_stored, in order, once stored_read */
    bool stored_read;
    bool stopping, writer_ended;

    uint64_t next_number, next_sequence; /* owned by the writer once it runs */
    uint64_t unsynced_since;             /* mono; 0: everything is synced */
    bool sync_failed;                    /* since the last group completed */
    struct {
        bool logged;    /* that requests are refused, but not that they are accepted again */
        uint64_t since; /* wall, like the next of what was logged */
        uint64_t count; /* requests */
        uint64_t over;  /* mono: when to log the end, if none is refused until then; 0: never */
    } refusing;
    struct {
        uint64_t until; /* mono: no file is created until then */
        int error;      /* errno of the last attempt */
    } pause;
    uint64_t probe_wait;
    const char *astray;     /* why the path has no usable directory, static; the writer's, like: */
    bool left_behind;       /* entries remain in deleted files */
    char trouble[256];      /* what prevents writing; "": nothing. Under lock */
    uint64_t trouble_since; /* wall; under lock */
    uint64_t trouble_refused;     /* requests since then; under lock */
    uint64_t probe_at;            /* mono: when to check trouble again; under lock */
    struct journal_entry **found; /* left by an earlier process, by sequence */
    size_t found_count;
    uint64_t found_from, found_to; /* their sequence numbers */
    _Atomic size_t found_at;
    pthread_t writer, answerer;
    bool threads;
};

/* Retires the segments without live entries. Lock held. */
void journal_retire_dead(struct journal *journal);

/* journal_recall with the lock held. */
void journal_recall_locked(struct journal *journal, struct view owner, journal_recall_fn *recall,
                           void *ctx);

/* Reads what earlier processes left. False: *error. */
bool journal_find(struct journal *journal, const char **error);

/* Writes and syncs a list of appends and the new notes; sets each append's fault. The writer's
 * thread, without the lock. */
void journal_write_group(struct journal *journal, struct journal_write *first,
                         struct journal_pending_note *notes);

/* What prevents rewriting the content of removed files, if the disk does. The writer's thread. */
const char *journal_why_lost(const struct journal *journal, const char *otherwise);

/* Syncs what was written. False: a sync failed, now or since the last call. The writer's thread. */
bool journal_sync(struct journal *journal);
/* As journal_sync, for appends that have already completed: a failure can only be logged. */
void journal_sync_late(struct journal *journal);

/* Notes that requests can be accepted, and logs it once that has lasted. The writer's thread. */
void journal_accepts(struct journal *journal);
void journal_tell_over(struct journal *journal);

/* Moves the live entries of a mostly settled segment to the end of the journal, so that it can be
 * removed. False: there is no such segment, or no room. The writer's thread. */
bool journal_compact(struct journal *journal);

/* Moves some live entries of a segment to the end of the journal, so that it can be removed. The
 * writer's thread. */
bool journal_vacate(struct journal *journal, struct journal_segment *from);

/* Writes a copy of a note. The writer's thread. */
bool journal_copy_note(struct journal *journal, struct view body, uint64_t expires);

/* Whether to log that a note could not be saved: once a minute. Without the lock. */
bool journal_tells_unsaved(struct journal *journal);

/* When a note expires, wall time; 0: body is not a note. */
uint64_t journal_note_expiry(struct view body);

/* Opens and locks the directory, created if missing. -1: *error (static text). */
int journal_open_directory(const char *path, const char **error);

/* Removes the files that were kept for reuse. The writer's thread. */
void journal_drop_spares(struct journal *journal);

/* Whether the next append would have a file to go to. The writer's thread. */
bool journal_can_write(struct journal *journal);

#endif
