/*
 * The rules that decide when a span has no samples, as pure functions: what is known of its service
 * and process goes in, limits come out. That a span's id is among the samples (rule 1) is found by
 * the caller.
 *
 * Spans that wait are told apart by two times only: when they ended, as local time, and when they
 * arrived. So a limit decides about any number of them at once.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_JUDGE_H
#define PROCESSORS_CORRELATION_KNOWN_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

/* Why a span left without a link. */
enum judge_reason {
    REASON_NO_SAMPLE,    /* rule 2: the windows of its time came and its id was not in them */
    REASON_HOLD_RAN_OUT, /* rule 3 */
    REASON_NO_PARENT,    /* children: its local root has no profile either */
    REASON_NO_IDS,       /* no sample of its service's profiles names a span */
    REASON_NOT_PROFILED, /* no profile of its service came */
    REASON_FORMAT,       /* the spans of its service's profiles cannot be read */
    REASON_BEFORE_START, /* it started before this process did */
    REASON_FORGOTTEN,    /* its samples may have come and been forgotten since */
    REASON_HOLD_FULL,    /* it was the oldest when the hold was full */
    REASON_SHUTDOWN,     /* the process stopped before it could be judged */
    REASON_COUNT
};

struct judge_now {
    uint64_t wall;
    uint64_t mono;
};

/* A wall-clock stamp as local time: on our monotonic clock, at most now, at least 1. */
static inline uint64_t judge_local(struct judge_now now, uint64_t stamp)
{
    uint64_t age = now.wall > stamp ? now.wall - stamp : 0;
    return now.mono > age ? now.mono - age : 1;
}

/* What is known when spans of one process are judged. Times are monotonic. */
struct judge_known {
    bool profiled;       /* a profile of a kind that confirms came */
    bool others;         /* one of another kind did */
    bool unread;         /* one whose spans cannot be read did */
    bool no_ids;         /* its profiles have shown that no sample of theirs names a span */
    uint64_t first_seen; /* the service */
    uint64_t first_hold; /* from judge_first_hold */
    uint64_t hold;       /* as configured; DURATION_AUTO: rule 3 goes by the windows */
    uint64_t window;     /* W, from judge_window */
    uint64_t margin;     /* from judge_margin */
    uint64_t skew;       /* by which the spans' clock is behind the windows' */
    uint64_t watermark;  /* local; newest end of a window of the confirming kind; 0: none yet */
    uint64_t passed;     /* local; the one process that uploads has done so up to here; 0: there may
                          * be several */
    uint64_t ask_at;     /* when the above change though nothing comes; UINT64_MAX: never */
};

/* How long the first spans of a service wait for its first profile: what the user set, else
 * (DURATION_AUTO) 45 s, with Node.js 75 s, since its profiler uploads every 60 s. */
uint64_t judge_first_hold(uint64_t configured, bool from_node);

/* W: the longest window seen. 15 s at least until two were seen; 30 s where the sender is
 * pyroscope-go, whose CPU windows are 15 or 30 s, as its ticker falls; 60 s in a service's first
 * minute (unless its one process is known), when slower profilers have not uploaded yet. */
uint64_t judge_window(uint64_t longest, unsigned windows, bool from_go, bool first_minute);

/* How long after its end a window may come: a quarter of it, 2 s at least, and more where uploads
 * were seen later. */
uint64_t judge_margin(uint64_t window, uint64_t lateness);

enum judge_answer {
    JUDGE_EACH,   /* judge_limits tells them apart */
    JUDGE_UNLINK, /* none has samples */
    JUDGE_LEAVE   /* nobody can tell: they go on as they came */
};

/* What holds for all spans that are not linked; *reason: unless EACH. */
enum judge_answer judge_all(const struct judge_known *known, uint64_t mono,
                            enum judge_reason *reason);

struct judge_limits {
    uint64_t sampled; /* local; spans that ended before have no samples (rule 2) */
    uint64_t ended;   /* local; for those that ended before, the hold ran out (rule 3) */
    uint64_t arrived; /* monotonic; the same for those that arrived before */
};

struct judge_limits judge_limits(const struct judge_known *known, uint64_t mono);

/* When judge_all or judge_limits says something new of spans of which the first ended and arrived
 * then, though nothing comes; UINT64_MAX: never. */
uint64_t judge_due(const struct judge_known *known, uint64_t ended, uint64_t arrived,
                   uint64_t mono);

/* The longest that any span waits from its arrival on. */
uint64_t judge_longest(const struct judge_known *known);

#endif
