#include "pipeline/delivery/loss_log.h"

#include "lib/base/log.h"
#include "pipeline/meter.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define QUIET_NS       (10 * NS_PER_S)
#define RETRY_QUIET_NS (60 * NS_PER_S)

void loss_log_init(struct loss_log *log, const char *id, const struct clock *clock)
{
    memset(log, 0, sizeof *log);
    log->id = id;
    log->clock = clock;
    pthread_mutex_init(&log->lock, NULL);
}

static void write_locked(struct loss_log *log)
{
    char sums[160] = "";
    size_t size = 0;
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        uint64_t n = log->pending[i];
        if (n == 0)
            continue;
        size += (size_t)snprintf(sums + size, sizeof sums - size, "%s%" PRIu64 " %s",
                                 size ? ", " : "", n, signal_items((enum signal)i, n));
        log->pending[i] = 0;
    }
    if (size)
        log_warn("%s: %s not delivered: %s%s%s", log->id, sums, cause_name(log->last.cause),
                 *log->last.text ? ": " : "", log->last.text);
}

void loss_log_add(struct loss_log *log, enum signal signal, uint64_t items,
                  const struct outcome *why)
{
    uint64_t now = clock_mono(log->clock);
    pthread_mutex_lock(&log->lock);
    log->pending[signal] += items;
    log->last = *why;
    if (!log->written || now >= log->next_ns) {
        write_locked(log);
        log->written = true;
        log->next_ns = now + QUIET_NS;
    }
    pthread_mutex_unlock(&log->lock);
}

void loss_log_retry(struct loss_log *log, const struct outcome *why, uint64_t wait_ns)
{
    uint64_t now = clock_mono(log->clock);
    pthread_mutex_lock(&log->lock);
    if (!log->failing || now >= log->next_retry_ns) {
        log_warn("%s: not delivered yet, trying again in %.1f s: %s", log->id,
                 (double)wait_ns / (double)NS_PER_S,
                 *why->text ? why->text : cause_name(why->cause));
        log->next_retry_ns = now + RETRY_QUIET_NS;
    }
    log->failing = true;
    pthread_mutex_unlock(&log->lock);
}

void loss_log_success(struct loss_log *log)
{
    if (log->failing && atomic_exchange(&log->failing, false))
        log_info("%s: delivering again", log->id);
}

void loss_log_release(struct loss_log *log)
{
    write_locked(log);
    pthread_mutex_destroy(&log->lock);
}
