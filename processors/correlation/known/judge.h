/*
 * The rules that decide when a span has no samples, as pure functions: what is known of its service
 * and process goes in, limits come out. Rule 1, the lookup of a span's id among the samples, is the
 * caller's.
 *
 * Waiting spans differ only in two times: when they ended, as local time, and when they arrived. So
 * a limit decides about any number of them at once.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_JUDGE_H
#define PROCESSORS_CORRELATION_KNOWN_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

/* Why a span left unlinked. */
enum judge_reason {
    REASON_NO_SAMPLE,    /* rule 2: the windows of its time arrived without its id */
    REASON_HOLD_RAN_OUT, /* rule 3 */
    REASON_NO_PARENT,    /* children: its local root has no profile either */
    REASON_NO_IDS,       /* no sample of its service's profiles has a span id */
    REASON_UNMATCHED,    /* as NO_SAMPLE, but samples of its service name no span that came */
    REASON_NOT_PROFILED, /* no profile of its service arrived */
    REASON_FORMAT,       /* span ids in its service's profiles cannot be read */
    REASON_BEFORE_START, /* it started before this process did */
    REASON_FORGOTTEN,    /* its samples may have arrived and been forgotten since */
    REASON_HOLD_FULL,    /* it was the oldest when the hold was full */
    REASON_CROWDED,      /* more services than are remembered sent spans, and its had no profile */
    REASON_SHUTDOWN,     /* the process or instance stopped before it was decided */
    REASON_NAMES_DIFFER, /* as NOT_PROFILED, but samples of its spans came under another name ... */
    REASON_TENANTS_DIFFER, /* ... or from another tenant */
    REASON_COUNT
};

struct judge_now {
    uint64_t wall;
    uint64_t mono;
};

/* Converts a wall-clock time to local time: on our monotonic clock, at most now, at least 1. */
static inline uint64_t judge_local(struct judge_now now, uint64_t stamp)
{
    uint64_t age = now.wall > stamp ? now.wall - stamp : 0;
    return now.mono > age ? now.mono - age : 1;
}

/* What is known when spans of one process are decided. Times are monotonic. */
struct judge_known {
    bool profiled;       /* a profile of a kind that confirms arrived */
    bool others;         /* one of another kind did */
    bool unread;         /* one whose span ids cannot be read did */
    bool no_ids;         /* its profiles have shown that their samples have no span ids */
    uint64_t first_seen; /* of the service */
    uint64_t first_hold; /* from judge_first_hold */
    uint64_t hold;       /* as configured; DURATION_AUTO: rule 3 uses the windows */
    uint64_t window;     /* W, from judge_window */
    uint64_t margin;     /* from judge_margin */
    uint64_t skew;       /* how far the spans' clock is behind the windows' */
    uint64_t watermark;  /* local; latest end of a window of the confirming kind; 0: none yet */
    uint64_t passed; /* local; the only process that uploads has uploaded up to here; 0: there may
                        be several */
    uint64_t ask_at; /* when the above changes without further input; UINT64_MAX: never */
};

/* Returns how long the first spans of a service wait for its first profile: the configured time,
 * else (DURATION_AUTO) 45 s, or 75 s for Node.js, whose profiler uploads every 60 s. */
uint64_t judge_first_hold(uint64_t configured, bool from_node);

/* Returns W, the longest window seen. At least 15 s until two were seen; 30 s if the sender is
 * pyroscope-go, whose CPU windows are 15 or 30 s depending on its ticker; `slower` where profilers
 * with windows of up to that may not have uploaded yet. */
#define WINDOW_OF_SLOWER (60 * NS_PER_S)
uint64_t judge_window(uint64_t longest, unsigned windows, bool from_go, uint64_t slower);

/* Returns how long after its end a window may arrive: a quarter of it, at least 2 s, and more if
 * uploads have been later. */
uint64_t judge_margin(uint64_t window, uint64_t lateness);

enum judge_answer {
    JUDGE_EACH,   /* judge_limits decides each */
    JUDGE_UNLINK, /* none has samples */
    JUDGE_LEAVE   /* cannot be decided: they pass unedited */
};

/* The decision that holds for all spans that are not linked; *reason: unless EACH. */
enum judge_answer judge_all(const struct judge_known *known, uint64_t mono,
                            enum judge_reason *reason);

struct judge_limits {
    uint64_t sampled; /* local; spans that ended before this have no samples (rule 2) */
    uint64_t ended;   /* local; for spans that ended before this, the hold ran out (rule 3) */
    uint64_t arrived; /* monotonic; the same for spans that arrived before this */
};

struct judge_limits judge_limits(const struct judge_known *known, uint64_t mono);

/* Returns when the answer of judge_all or judge_limits changes, without further input, for spans of
 * which the first ended and arrived then; UINT64_MAX: never. */
uint64_t judge_due(const struct judge_known *known, uint64_t ended, uint64_t arrived,
                   uint64_t mono);

/* Returns until when a span that ended and arrived then waits at most, by what is known now;
 * UINT64_MAX: for ever. */
uint64_t judge_until(const struct judge_known *known, uint64_t ended, uint64_t arrived,
                     uint64_t mono);

/* Returns how long after its end a span of a profiled service is given up, if a window that ended
 * later has arrived ... */
uint64_t judge_wait_seen(const struct judge_known *known);
/* ... and if none has, as of an idle process; unless hold is configured. */
uint64_t judge_wait_idle(const struct judge_known *known);

/* Returns the longest time that any span waits after its arrival. */
uint64_t judge_longest(const struct judge_known *known);

#endif
