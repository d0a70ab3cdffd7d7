/* Log lines about a backend that does not answer or is slow, and about dropped data. The first of
 * each is written at once; then at most one a minute for slow requests and for failed attempts, or
 * in ten seconds if they fail for another reason or after a while without a failure; and for drops
 * one in ten seconds for each cause, with the sums since. A line says when the incident
 * (incident.h) is over; and one that no attempt was answered for ten seconds. Also what the last
 * attempts came to. Any thread. */
#ifndef PIPELINE_DELIVERY_LOSS_LOG_H
#define PIPELINE_DELIVERY_LOSS_LOG_H

#include "lib/base/clock.h"
#include "lib/base/verdict.h"
#include "lib/wire/otlp/signal.h"
#include "pipeline/delivery/incident.h"
#include "pipeline/ticker.h"

#include <pthread.h>

/* Of the text of an attempt, and of that with the extent of an incident. */
enum { LOSS_LOG_TEXT = 224, LOSS_LOG_ERROR = LOSS_LOG_TEXT + 288 };

/* A request that takes so long is slow. */
#define LOSS_LOG_SLOW_NS (5 * NS_PER_S)

/* What was dropped for one cause since its last line. */
struct loss_sums {
    uint64_t pending[SIGNAL_COUNT];
    struct outcome last;
    uint64_t next_ns;       /* no line before this time; 0: none was written yet */
    uint64_t first, latest; /* wall, of those pending */
    bool mixed;             /* those pending have different texts */
};

/* The last attempt that is repeated, and the one that a line told of. */
struct loss_retry {
    uint32_t kind, told; /* of failures */
    uint64_t due_ns;     /* mono: when it is repeated */
    uint64_t told_ns;    /* mono */
    uint64_t recovered;  /* wall: since when it delivered before it failed anew, untold; 0: it is as
                            told */
    bool stands;         /* nothing has succeeded or been dropped since */
    char text[sizeof((struct outcome *)0)->text];
};

struct loss_log {
    const char *id; /* the exporter's; borrowed */
    const struct clock *clock;
    struct ticker *ticker;
    struct ticker_entry due;
    pthread_mutex_t lock;
    struct loss_sums sums[CAUSE_COUNT]; /* the rest is under lock */
    struct loss_retry retry;
    uint64_t next_slow_ns;
    struct incident incident;
    uint64_t succeeded_before; /* requests, before the incident */
    uint64_t failed, again;    /* as in struct loss_log_state */
    bool rejected;             /* what the last attempt that failed had is dropped */
    bool waits;                /* a line about a retry was written, and none that it is over */
    bool told_slow;            /* the same of a slow request */
    enum cause error_cause;    /* of the last attempt that failed, ... */
    char error[LOSS_LOG_TEXT]; /* ... and its text */
    _Atomic bool unwell;       /* there is an incident, or waits */
    _Atomic uint64_t succeeded_requests;
    _Atomic unsigned in_flight; /* attempts */
    _Atomic uint64_t heard_ns;  /* mono: when the last one ended, or the first of these began */
    _Atomic bool listens;       /* the ticker will look for silence */
    _Atomic uint64_t succeeded, slow_ns; /* as in struct loss_log_state */
};

/* What the last attempts came to. Times are wall, ns; 0: never. */
struct loss_log_state {
    /* When the incident began in which requests fail, or accepted data are lost; 0: there is none.
     */
    uint64_t failing_since;
    uint64_t recovered; /* since when it succeeds again, before the incident is over; else 0 */
    uint64_t failed, succeeded;
    uint64_t again;   /* the first success after the last failure */
    uint64_t slow_ns; /* what the last request took, if that is long and others waited; else 0 */
    bool drops;       /* items were lost since then, or the last attempt that failed drops its own;
                         false: they wait for a retry */
    /* During an incident how much is lost (for which causes, if they differ), how many requests
     * failed, and why; else of the last attempt that failed. "": none has. */
    char error[LOSS_LOG_ERROR];
};

/* `ticker` (NULL: none) flushes pending sums when nothing more is dropped. */
void loss_log_init(struct loss_log *log, const char *id, const struct clock *clock,
                   struct ticker *ticker);
/* For lines about the exporter. */
struct log_source loss_log_source(const struct loss_log *log);

void loss_log_add(struct loss_log *log, enum signal signal, uint64_t items,
                  const struct outcome *why);
/* Around an attempt, whatever it comes to. */
void loss_log_begin(struct loss_log *log);
void loss_log_end(struct loss_log *log);

/* An attempt failed and will be repeated after wait_ns; or one succeeded. */
void loss_log_retry(struct loss_log *log, const struct outcome *why, uint64_t wait_ns);
void loss_log_success(struct loss_log *log);
/* An attempt that was not completed delivered a part. */
void loss_log_progress(struct loss_log *log);
/* An attempt was accepted except for outcome->rejected of its items, which loss_log_add counted. */
void loss_log_partial(struct loss_log *log, const struct outcome *outcome, uint64_t items);
/* An attempt was refused, which is counted elsewhere. */
void loss_log_refused(struct loss_log *log, const struct outcome *why);
/* The backend accepted a request after took_ns, while others waited in the queue; took_ns 0: it is
 * not slow. */
void loss_log_took(struct loss_log *log, uint64_t took_ns);

struct loss_log_state loss_log_state(struct loss_log *log);

/* Continues what another log knows of the backend, at a reload that replaces its exporter. */
void loss_log_inherit(struct loss_log *log, struct loss_log *from);

/* Writes the pending lines and ends the log. Must not be called from a tick. */
void loss_log_release(struct loss_log *log);

#endif
