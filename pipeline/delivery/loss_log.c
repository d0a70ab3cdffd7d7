#include "pipeline/delivery/loss_log.h"

#include "lib/base/log.h"
#include "lib/base/redact.h"
#include "pipeline/meter.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define QUIET_NS       (10 * NS_PER_S)
#define RETRY_QUIET_NS (60 * NS_PER_S)
#define SLOW_QUIET_NS  (60 * NS_PER_S)

void loss_log_init(struct loss_log *log, const char *id, const struct clock *clock)
{
    memset(log, 0, sizeof *log);
    log->id = id;
    log->clock = clock;
    pthread_mutex_init(&log->lock, NULL);
}

struct log_source loss_log_source(const struct loss_log *log)
{
    return (struct log_source){.id = log->id, .kind = "exporter"};
}

static void write_locked(struct loss_log *log)
{
    const struct log_source source = loss_log_source(log);
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
        log_of(&source, LOG_WARN, "%s not delivered: %s%s%s", sums, cause_name(log->last.cause),
               *log->last.text ? ": " : "", log->last.text);
}

/* Whether the backend, or the way to it, is the cause. */
static bool is_of_backend(enum cause cause)
{
    return cause != CAUSE_FULL && cause != CAUSE_MEMORY && cause != CAUSE_SHUTDOWN &&
           cause != CAUSE_REVOKED;
}

static void failed_locked(struct loss_log *log, const struct outcome *why)
{
    char text[LOSS_LOG_ERROR];
    if (!is_of_backend(why->cause))
        return;
    snprintf(text, sizeof text, "%s%s%s",
             why->verdict == VERDICT_RETRY ? "" : cause_name(why->cause),
             why->verdict == VERDICT_RETRY || !*why->text ? "" : ": ",
             *why->text || why->verdict != VERDICT_RETRY ? why->text : cause_name(why->cause));
    redact_copy(text, log->error, sizeof log->error);
    log->failed = clock_wall(log->clock);
    if (!log->failing_since)
        log->failing_since = log->failed;
}

void loss_log_refused(struct loss_log *log, const struct outcome *why)
{
    pthread_mutex_lock(&log->lock);
    failed_locked(log, why);
    pthread_mutex_unlock(&log->lock);
}

void loss_log_add(struct loss_log *log, enum signal signal, uint64_t items,
                  const struct outcome *why)
{
    uint64_t now = clock_mono(log->clock);
    pthread_mutex_lock(&log->lock);
    log->pending[signal] += items;
    log->last = *why;
    failed_locked(log, why);
    if (!log->written || now >= log->next_ns) {
        write_locked(log);
        log->written = true;
        log->next_ns = now + QUIET_NS;
    }
    pthread_mutex_unlock(&log->lock);
}

void loss_log_retry(struct loss_log *log, const struct outcome *why, uint64_t wait_ns)
{
    const struct log_source source = loss_log_source(log);
    uint64_t now = clock_mono(log->clock);
    pthread_mutex_lock(&log->lock);
    if (!log->failing || now >= log->next_retry_ns) {
        log_of(&source, LOG_WARN, "not delivered yet, trying again in %.1f s: %s",
               (double)wait_ns / (double)NS_PER_S, *why->text ? why->text : cause_name(why->cause));
        log->next_retry_ns = now + RETRY_QUIET_NS;
    }
    log->failing = true;
    failed_locked(log, why);
    pthread_mutex_unlock(&log->lock);
}

void loss_log_success(struct loss_log *log)
{
    const struct log_source source = loss_log_source(log);
    atomic_store_explicit(&log->succeeded, clock_wall(log->clock), memory_order_relaxed);
    if (log->failing_since)
        log->failing_since = 0;
    if (log->failing && atomic_exchange(&log->failing, false))
        log_of(&source, LOG_INFO, "delivering again");
}

void loss_log_took(struct loss_log *log, uint64_t took_ns)
{
    const struct log_source source = loss_log_source(log);
    if (took_ns == 0 && atomic_load_explicit(&log->slow_ns, memory_order_relaxed) == 0)
        return;
    log->slow_ns = took_ns;
    if (took_ns == 0)
        return;
    uint64_t now = clock_mono(log->clock);
    pthread_mutex_lock(&log->lock);
    if (now >= log->next_slow_ns) {
        log_of(&source, LOG_WARN, "slow: a request took %.1f s while others waited in the queue",
               (double)took_ns / (double)NS_PER_S);
        log->next_slow_ns = now + SLOW_QUIET_NS;
    }
    pthread_mutex_unlock(&log->lock);
}

struct loss_log_state loss_log_state(struct loss_log *log)
{
    struct loss_log_state state = {.slow_ns = log->slow_ns};
    pthread_mutex_lock(&log->lock);
    state.failing_since = log->failing_since;
    state.failed = log->failed;
    state.succeeded = log->succeeded;
    memcpy(state.error, log->error, sizeof state.error);
    pthread_mutex_unlock(&log->lock);
    return state;
}

void loss_log_release(struct loss_log *log)
{
    write_locked(log);
    pthread_mutex_destroy(&log->lock);
}
