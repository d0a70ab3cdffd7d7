/* Log lines about a backend that does not answer or is slow, and about dropped data. The first of
 * each is written at once; then at most one a minute for failed attempts and for slow requests, and
 * for drops one in ten seconds for each cause, with the sums since. Also what the last attempts
 * came to. Any thread. */
#ifndef PIPELINE_DELIVERY_LOSS_LOG_H
#define PIPELINE_DELIVERY_LOSS_LOG_H

#include "lib/base/clock.h"
#include "lib/base/verdict.h"
#include "lib/wire/otlp/signal.h"
#include "pipeline/ticker.h"

#include <pthread.h>

enum { LOSS_LOG_ERROR = 224 };

/* A request that takes so long is slow. */
#define LOSS_LOG_SLOW_NS (5 * NS_PER_S)

/* What was dropped for one cause since its last line. */
struct loss_sums {
    uint64_t pending[SIGNAL_COUNT];
    struct outcome last;
    uint64_t next_ns; /* no line before this time; 0: none was written yet */
    bool mixed;       /* those pending have different texts */
};

struct loss_log {
    const char *id; /* the exporter's; borrowed */
    const struct clock *clock;
    struct ticker *ticker;
    struct ticker_entry due;
    pthread_mutex_t lock;
    struct loss_sums sums[CAUSE_COUNT]; /* the rest is under lock */
    uint64_t next_retry_ns;
    uint64_t next_slow_ns;
    uint64_t failed; /* as in struct loss_log_state; text as in it */
    bool drops;
    char error[LOSS_LOG_ERROR];
    _Atomic bool failing; /* an attempt failed, and none has succeeded since */
    _Atomic uint64_t failing_since, succeeded, slow_ns; /* as in struct loss_log_state */
};

/* What the last attempts came to. Times are wall, ns; 0: never. */
struct loss_log_state {
    /* Of the first attempt that failed, or was accepted only in part, since one succeeded. */
    uint64_t failing_since;
    uint64_t failed, succeeded;
    uint64_t slow_ns; /* what the last request took, if that is long and others waited; else 0 */
    bool drops; /* what the last attempt that failed had is dropped; false: it waits for a retry */
    char error[LOSS_LOG_ERROR]; /* of the last attempt that failed, as in the log; "": none has */
};

/* `ticker` (NULL: none) flushes pending sums when nothing more is dropped. */
void loss_log_init(struct loss_log *log, const char *id, const struct clock *clock,
                   struct ticker *ticker);
/* For lines about the exporter. */
struct log_source loss_log_source(const struct loss_log *log);

void loss_log_add(struct loss_log *log, enum signal signal, uint64_t items,
                  const struct outcome *why);
/* An attempt failed and will be repeated after wait_ns; or one succeeded. */
void loss_log_retry(struct loss_log *log, const struct outcome *why, uint64_t wait_ns);
void loss_log_success(struct loss_log *log);
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
