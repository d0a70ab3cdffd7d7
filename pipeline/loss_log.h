/* The log line about lost data: the first at once, then at most one in ten seconds with the sums
 * since. Any thread. */
#ifndef PIPELINE_LOSS_LOG_H
#define PIPELINE_LOSS_LOG_H

#include "base/clock.h"
#include "base/verdict.h"
#include "wire/signal.h"

#include <pthread.h>

struct loss_log {
    const char *id; /* whose data; borrowed */
    const struct clock *clock;
    pthread_mutex_t lock;
    uint64_t pending[SIGNAL_COUNT]; /* the rest is under lock */
    struct outcome last;
    uint64_t next_ns;
    bool written;
};

void loss_log_init(struct loss_log *log, const char *id, const struct clock *clock);
void loss_log_add(struct loss_log *log, enum signal signal, uint64_t items,
                  const struct outcome *why);
/* Writes what is pending and ends the log. */
void loss_log_release(struct loss_log *log);

#endif
