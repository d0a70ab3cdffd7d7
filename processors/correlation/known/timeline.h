/*
 * The windows of one kind of profile of one service: how far they reach, how long they are, how
 * late they arrive, and whether they are all of one process.
 *
 * Several processes may upload under one name with equal labels. They can be told apart because the
 * windows of one process never overlap and nearly always begin where the previous one ended: such a
 * series of windows is a sequence. Uploads may be late and overtake one another, and an idle
 * process skips windows.
 *
 * Times are local: the sender's wall clock, converted to our monotonic clock on arrival
 * (judge_local), so that a later step of the wall clock does not change earlier results. Pure
 * except for memory; not thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_TIMELINE_H
#define PROCESSORS_CORRELATION_KNOWN_TIMELINE_H

#include "lib/base/budget.h"

#include <stdbool.h>
#include <stdint.h>

enum { SEQUENCE_AHEAD = 8, SEQUENCE_GAPS = 4, TIMELINE_SEEN = 16, TIMELINE_SEQUENCES = 32 };

struct reach {
    uint64_t start, end;
};

/* One uploaded window. */
struct timeline_window {
    uint64_t start;   /* 0: not given, it begins where the previous one ended */
    uint64_t end;     /* not later than its arrival */
    uint64_t length;  /* 0: not given */
    uint64_t labels;  /* hash of the labels that identify its sender */
    uint64_t content; /* hash: a repeated upload of the same window has the same */
    bool aside;       /* its times are not believed; nothing counts but that it came */
};

struct sequence {
    struct sequence *next; /* window received less recently */
    uint32_t serial;       /* never reused in a timeline; not 0 */
    unsigned count;        /* windows */
    uint64_t labels;
    uint64_t begun;    /* start of the first window */
    uint64_t frontier; /* up to here no window is missing, or none is expected any more */
    uint64_t settled;  /* where the frontier was before it moved last ... */
    uint64_t moved;    /* ... which was now */
    uint64_t length;   /* of the last window */
    uint64_t longest;  /* of all */
    uint64_t uploaded;
    struct reach ahead[SEQUENCE_AHEAD]; /* windows after a gap, in order */
    unsigned ahead_count;
    uint64_t owner;     /* the process whose spans have samples in it; 0: unknown ... */
    uint64_t contested; /* ... and when another's had some, too; 0: never */
    struct reach gaps[SEQUENCE_GAPS]; /* given up; a late window may still fill one */
    unsigned gap_at;
};

struct timeline {
    struct sequence *sequences;
    unsigned sequence_count;
    uint32_t last_serial;
    unsigned count;     /* windows */
    uint64_t watermark; /* latest end */
    uint64_t longest;   /* longest window in this period of `remember` and ... */
    uint64_t before;    /* ... in the previous one */
    uint64_t turned;    /* when this period began */
    uint64_t uploaded;  /* when the last window arrived */
    struct lateness {
        uint64_t most;        /* (arrival - end), as measured */
        uint64_t least_bad;   /* of uploads that seem to be retries; 0: none */
    } lateness[2];            /* in the current period, and in the previous one ... */
    uint64_t lateness_turned; /* ... which ended then */
    uint64_t concurrent;      /* when two sequences last overlapped; 0: never */
    uint64_t born;            /* when another sequence last began; 0: never */
    bool unmeasured;          /* a window arrived without its length */
    unsigned aside;           /* windows that were put aside */
    struct reach unproven;    /* the first far longer than the others; end 0: none */
    bool provisional;         /* there were no others, so it counts until they come */
    struct {
        uint64_t end, content;
    } seen[TIMELINE_SEEN];
    unsigned seen_at;
    struct budget *budget;
};

/* A zeroed timeline is empty. budget: for its sequences; NULL: none. */
void timeline_release(struct timeline *timeline);

/* Whether the times of a window may be believed. One of more than two minutes that is more than
 * twice as long as the others is not, until a second one has followed it. */
bool timeline_believes(struct timeline *timeline, const struct timeline_window *window,
                       uint64_t now, uint64_t remember);

/* Finds the sequence of a window, or begins one. The window counts only after timeline_take; its
 * samples can be read in between. NULL: a repeat (*again is true), put aside, or no memory. */
struct sequence *timeline_place(struct timeline *timeline, const struct timeline_window *window,
                                uint64_t now, uint64_t remember, bool *again);

/* Adds a placed window: its time is covered from now on, unless it is aside. sequence NULL: none.
 */
void timeline_take(struct timeline *timeline, struct sequence *sequence,
                   const struct timeline_window *window, uint64_t now, uint64_t remember);

/* Finds a sequence by serial; NULL: gone. */
struct sequence *timeline_find(const struct timeline *timeline, uint32_t serial);

/* Returns the time before which every process has uploaded all its windows; *next: when that
 * changes without further uploads (UINT64_MAX: never). margin: how late an upload may be. 0:
 * unknown, since a process is new, or uploaded before and is silent now. */
uint64_t timeline_passed(struct timeline *timeline, uint64_t now, uint64_t margin,
                         uint64_t remember, uint64_t *next);

/* Considers sequences with a single window, which may be only a part of one. Returns until when
 * such a sequence may turn out to have longer windows than any known; 0: there is none. Only those
 * count that began before `early`, or whose first window is already longer than the others'. */
uint64_t timeline_unsure_until(const struct timeline *timeline, uint64_t early);

/* Whether the set of its processes has been the same for a while. */
bool timeline_is_settled(const struct timeline *timeline, uint64_t now);

/* Whether no other sequence can have samples of this process's spans, since those at the same time
 * are known to belong to other processes. */
bool sequence_is_alone(const struct timeline *timeline, const struct sequence *sequence,
                       uint64_t process, uint64_t now);

/* Notes that a span of this process (its resource's hash) had a sample in the sequence. */
void sequence_note_owner(struct sequence *sequence, uint64_t process, uint64_t now);

/* Returns the latest end of its windows. */
uint64_t sequence_reach(const struct sequence *sequence);

/* Whether a sequence has at least so many windows, all of known length, and a recent one. */
bool sequence_is_steady(const struct timeline *timeline, const struct sequence *sequence,
                        unsigned windows, uint64_t now);

/* timeline_passed for one sequence. Gaps older than the margin are given up. */
uint64_t sequence_passed(struct sequence *sequence, uint64_t now, uint64_t margin, uint64_t *next);

/* Returns the longest window in the current and the previous period of `remember`. */
uint64_t timeline_longest(const struct timeline *timeline);

/* Returns how late an upload may arrive after its window's end: at least the latest of the last ten
 * minutes. If uploads were very late, and by differing amounts, they are retries, for which
 * profilers wait up to 30 s. */
uint64_t timeline_lateness(const struct timeline *timeline);

/* Notes a sample for a span that had been given up: windows are trusted less for a while. */
void timeline_doubt(struct timeline *timeline, uint64_t now);

#endif
