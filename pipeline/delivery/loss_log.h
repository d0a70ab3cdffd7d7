/* Log lines about a backend that does not answer and about lost data. The first of each is written
 * at once; then at most one a minute for failed attempts, and one in ten seconds, with the sums
 * since, for losses. Any thread. */
#ifndef PIPELINE_DELIVERY_LOSS_LOG_H
#define PIPELINE_DELIVERY_LOSS_LOG_H

#include "lib/base/clock.h"
#include "lib/base/verdict.h"
#include "lib/wire/otlp/signal.h"

#include <pthread.h>

struct loss_log {
    const char *id; /* the exporter's; borrowed */
    const struct clock *clock;
    pthread_mutex_t lock;
    uint64_t pending[SIGNAL_COUNT]; /* the rest is under lock */
    struct outcome last;
    uint64_t next_ns;
    bool written;
    uint64_t next_retry_ns;
    _Atomic bool failing; /* an attempt failed, and none has succeeded since */
};

void loss_log_init(struct loss_log *log, const char *id, const struct clock *clock);
void loss_log_add(struct loss_log *log, enum signal signal, uint64_t items,
                  const struct outcome *why);
/* An attempt failed and will be repeated after wait_ns; or one succeeded. */
void loss_log_retry(struct loss_log *log, const struct outcome *why, uint64_t wait_ns);
void loss_log_success(struct loss_log *log);

/* Writes the pending line and ends the log. */
void loss_log_release(struct loss_log *log);

#endif
