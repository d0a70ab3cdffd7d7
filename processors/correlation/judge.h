/*
 * The rules that decide whether a span has a profile, as pure functions: what is known of its
 * service, the span's times and the clock go in, an answer comes out. That a span's id is among
 * the samples (rule 1) is found by the caller before it asks here.
 *
 * Times of spans and windows are wall time, as they are stamped; how long something waits is
 * measured on the monotonic clock.
 */
#ifndef CORRELATION_JUDGE_H
#define CORRELATION_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

enum judge_answer {
    JUDGE_WAIT,
    JUDGE_UNLINK, /* the span has no samples */
    JUDGE_LEAVE   /* nobody can tell: it goes on as it came */
};

/* Why a span left without a link. */
enum judge_reason {
    REASON_NO_SAMPLE,    /* rule 2: its window came and its id was not in it */
    REASON_HOLD_RAN_OUT, /* rule 3 */
    REASON_NO_PARENT,    /* children: its local root has no profile either */
    REASON_NOT_PROFILED, /* no profile of its service came */
    REASON_FORMAT,       /* the spans of its service's profiles cannot be read */
    REASON_BEFORE_START, /* it started before this process did */
    REASON_HOLD_FULL,    /* it was the oldest when the hold was full */
    REASON_SHUTDOWN,     /* the process stopped before it could be judged */
    REASON_COUNT
};

struct judge_now {
    uint64_t wall;
    uint64_t mono;
};

struct judge_service {
    bool profiled;       /* a profile that is read came within `remember` */
    bool unread;         /* one whose spans cannot be read did */
    uint64_t first_seen; /* mono */
    uint64_t watermark;  /* wall; newest end of a window of the confirming kind; 0: none yet */
    uint64_t window;     /* W, from judge_window */
    uint64_t hold;       /* from judge_hold */
};

struct judge_span {
    uint64_t end;      /* wall */
    uint64_t arrived;  /* mono */
    bool before_start; /* it started before this process did */
};

struct judgement {
    enum judge_answer answer;
    enum judge_reason reason; /* unless WAIT */
    uint64_t due;             /* WAIT: mono time at which to ask again, if nothing else happens */
};

/* W: the longest window seen, 15 s at least until two were seen, 30 s at least where the sender is
 * pyroscope-go (its CPU windows are 15 or 30 s, as its ticker falls). */
uint64_t judge_window(uint64_t longest, unsigned windows, bool from_go);

/* How long a span may wait from its arrival: what the user set, else (DURATION_AUTO) 45 s until
 * two windows were seen, then 1.5 W and 20 s at least. A single window that is longer than 30 s
 * counts at once. from_node: 75 s until the first one, since Pyroscope's SDK for Node.js uploads
 * every 60 s unless it is told otherwise. */
uint64_t judge_hold(uint64_t configured, uint64_t window, unsigned windows, bool from_node);

struct judgement judge(const struct judge_service *service, const struct judge_span *span,
                       struct judge_now now);

#endif
