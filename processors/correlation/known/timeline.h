/*
 * The windows of one kind of profile of one service: how far they reach, how long they are, how
 * late they come, and whether they are all of one process.
 *
 * Several processes may upload under one name and equal labels. What tells them apart is that the
 * windows of one process never overlap and nearly always begin where the last one ended: such a row
 * of windows is a sequence. Uploads may be late and overtake one another, and a process that was
 * idle skips windows.
 *
 * Times are local: the sender's wall clock, moved to our monotonic clock when they arrive
 * (judge_local), so that no later step of the wall clock touches what was compared. Pure but for
 * memory; not thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_TIMELINE_H
#define PROCESSORS_CORRELATION_KNOWN_TIMELINE_H

#include "lib/base/budget.h"

#include <stdbool.h>
#include <stdint.h>

enum { SEQUENCE_AHEAD = 8, SEQUENCE_GAPS = 4, TIMELINE_TOLD = 16, TIMELINE_SEQUENCES = 32 };

struct reach {
    uint64_t start, end;
};

/* One uploaded window. */
struct timeline_window {
    uint64_t start;   /* 0: not told, it begins where the last one ended */
    uint64_t end;     /* not past the arrival */
    uint64_t length;  /* 0: not told */
    uint64_t labels;  /* hash of what names its sender */
    uint64_t content; /* hash: a second upload of the same window has the same */
};

struct sequence {
    struct sequence *next; /* heard less recently */
    uint32_t serial;       /* never used twice in a timeline; not 0 */
    unsigned count;        /* windows */
    uint64_t labels;
    uint64_t begun;    /* start of the first window */
    uint64_t frontier; /* up to here no window is missing, or none is awaited any more */
    uint64_t settled;  /* where the frontier was before it moved last ... */
    uint64_t moved;    /* ... which was now */
    uint64_t length;   /* of the last window */
    uint64_t longest;  /* of all */
    uint64_t heard;
    struct reach ahead[SEQUENCE_AHEAD]; /* windows behind a gap, in order */
    unsigned ahead_count;
    uint64_t owner;     /* the process whose spans it has samples of; 0: not known ... */
    uint64_t contested; /* ... and when another's had, too; 0: never */
    struct reach gaps[SEQUENCE_GAPS]; /* given up; a late window may still fill one */
    unsigned gap_at;
};

struct timeline {
    struct sequence *sequences;
    unsigned sequence_count;
    uint32_t last_serial;
    unsigned count;     /* windows */
    uint64_t watermark; /* newest end */
    uint64_t longest;   /* window within this and ... */
    uint64_t before;    /* ... the previous stretch of `remember` */
    uint64_t turned;    /* when the one became the other */
    uint64_t heard;     /* when the last window came */
    struct lateness {
        uint64_t most;        /* (arrival - end) */
        uint64_t least_bad;   /* of those that were tried again, as it seems; 0: none was */
    } lateness[2];            /* lately and in the time before ... */
    uint64_t lateness_turned; /* ... which became the one when this one began */
    uint64_t concurrent;      /* when two sequences last overlapped; 0: never */
    uint64_t born;            /* when a further sequence began; 0: never */
    bool unmeasured;          /* a window came that did not tell its length */
    struct {
        uint64_t end, content;
    } told[TIMELINE_TOLD];
    unsigned told_at;
    struct budget *budget;
};

/* A zeroed timeline is empty. budget: for its sequences; NULL: none. */
void timeline_release(struct timeline *timeline);

/* Finds the sequence of a window, or begins one. The window counts only with timeline_take; in
 * between its samples can be read. NULL: it was uploaded before, or there is no memory; *again says
 * which. */
struct sequence *timeline_place(struct timeline *timeline, const struct timeline_window *window,
                                uint64_t now, uint64_t remember, bool *again);

/* Takes a placed window in: what it covers is covered. sequence NULL: there was no memory for one.
 */
void timeline_take(struct timeline *timeline, struct sequence *sequence,
                   const struct timeline_window *window, uint64_t now, uint64_t remember);

/* By serial; NULL: gone. */
struct sequence *timeline_find(const struct timeline *timeline, uint32_t serial);

/* The time before which every process has uploaded all its windows; *next: when to ask again though
 * nothing came (UINT64_MAX: never). margin: how late an upload may be. 0: it cannot be told, since
 * a process is new, or was heard before and is silent now. */
uint64_t timeline_passed(struct timeline *timeline, uint64_t now, uint64_t margin,
                         uint64_t remember, uint64_t *next);

/* A span of this process (its resource's hash) had a sample in the sequence. */
void sequence_note_owner(struct sequence *sequence, uint64_t process, uint64_t now);

/* Whether a sequence has so many windows, all of known length, and was heard lately. */
bool sequence_is_steady(const struct timeline *timeline, const struct sequence *sequence,
                        unsigned windows, uint64_t now);

/* The same for one process. Gaps older than the margin are given up. */
uint64_t sequence_passed(struct sequence *sequence, uint64_t now, uint64_t margin, uint64_t *next);

/* The longest window within `remember` and as long before. */
uint64_t timeline_longest(const struct timeline *timeline);

/* The most by which an upload may come after its window's end: what was seen in the last ten
 * minutes at least. Where uploads came very late, and not always equally so, they are tried again,
 * and profilers wait up to 30 s until they do. */
uint64_t timeline_lateness(const struct timeline *timeline);

/* A sample came for a span that had been given up: windows are trusted less for a while. */
static inline void timeline_doubt(struct timeline *timeline, uint64_t now)
{
    timeline->born = now;
}

#endif
