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

static uint64_t flush_due(void *ctx, uint64_t mono_ns);

void loss_log_init(struct loss_log *log, const char *id, const struct clock *clock,
                   struct ticker *ticker)
{
    memset(log, 0, sizeof *log);
    log->id = id;
    log->clock = clock;
    log->ticker = ticker;
    log->due = (struct ticker_entry){.tick = flush_due, .ctx = log};
    pthread_mutex_init(&log->lock, NULL);
    if (ticker)
        ticker_add(ticker, &log->due);
}

struct log_source loss_log_source(const struct loss_log *log)
{
    return (struct log_source){.id = log->id, .kind = "exporter"};
}

/* Writes the line about a cause, if anything is pending. */
static void loss_log_write(struct loss_log *log, struct loss_sums *sums)
{
    const struct log_source source = loss_log_source(log);
    const char *text = sums->last.text;
    char counts[160] = "";
    size_t size = 0;
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        uint64_t n = sums->pending[i];
        if (n == 0)
            continue;
        size += (size_t)snprintf(counts + size, sizeof counts - size, "%s%" PRIu64 " %s",
                                 size ? ", " : "", n, signal_items((enum signal)i, n));
        sums->pending[i] = 0;
    }
    if (size)
        log_of(&source, LOG_WARN, "%s dropped: %s%s%s", counts, cause_name(sums->last.cause),
               !*text        ? ""
               : sums->mixed ? ", the last: "
                             : ": ",
               text);
    sums->mixed = false;
}

static bool is_pending(const struct loss_sums *sums)
{
    uint64_t pending = 0;
    for (int i = 0; i < SIGNAL_COUNT; i++)
        pending |= sums->pending[i];
    return pending;
}

static uint64_t flush_due(void *ctx, uint64_t mono_ns)
{
    struct loss_log *log = ctx;
    uint64_t next = TIME_NEVER;
    pthread_mutex_lock(&log->lock);
    for (int i = 0; i < CAUSE_COUNT; i++) {
        struct loss_sums *sums = &log->sums[i];
        if (is_pending(sums) && mono_ns >= sums->next_ns) {
            loss_log_write(log, sums);
            sums->next_ns = mono_ns + QUIET_NS;
        }
        if (is_pending(sums) && sums->next_ns < next)
            next = sums->next_ns;
    }
    pthread_mutex_unlock(&log->lock);
    return next;
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
    log->drops = why->verdict != VERDICT_RETRY;
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

/* Counts under the cause, and writes its line if one is due. Returns when the next is, if this one
 * is left for later; else TIME_NEVER. */
static uint64_t loss_log_count(struct loss_log *log, enum signal signal, uint64_t items,
                               const struct outcome *why)
{
    uint64_t now = clock_mono(log->clock);
    struct loss_sums *sums = &log->sums[why->cause];
    bool first = !is_pending(sums);
    sums->mixed = !first && (sums->mixed || strcmp(sums->last.text, why->text) != 0);
    sums->pending[signal] += items;
    sums->last = *why;
    if (sums->next_ns && now < sums->next_ns)
        return first ? sums->next_ns : TIME_NEVER;
    loss_log_write(log, sums);
    sums->next_ns = now + QUIET_NS;
    return TIME_NEVER;
}

void loss_log_add(struct loss_log *log, enum signal signal, uint64_t items,
                  const struct outcome *why)
{
    pthread_mutex_lock(&log->lock);
    uint64_t due = loss_log_count(log, signal, items, why);
    if (why->verdict != VERDICT_OK)
        failed_locked(log, why);
    log->drops |= is_of_backend(why->cause);
    pthread_mutex_unlock(&log->lock);
    if (due != TIME_NEVER && log->ticker)
        ticker_at(log->ticker, &log->due, due);
}

void loss_log_retry(struct loss_log *log, const struct outcome *why, uint64_t wait_ns)
{
    const struct log_source source = loss_log_source(log);
    uint64_t now = clock_mono(log->clock);
    pthread_mutex_lock(&log->lock);
    if (!log->failing || now >= log->next_retry_ns) {
        log_of(&source, LOG_WARN, "waiting, trying again in %.1f s: %s",
               (double)wait_ns / (double)NS_PER_S, *why->text ? why->text : cause_name(why->cause));
        log->next_retry_ns = now + RETRY_QUIET_NS;
    }
    log->failing = true;
    failed_locked(log, why);
    pthread_mutex_unlock(&log->lock);
}

static void loss_log_reached(struct loss_log *log)
{
    const struct log_source source = loss_log_source(log);
    atomic_store_explicit(&log->succeeded, clock_wall(log->clock), memory_order_relaxed);
    if (log->failing && atomic_exchange(&log->failing, false))
        log_of(&source, LOG_INFO, "delivering again");
}

void loss_log_success(struct loss_log *log)
{
    if (log->failing_since)
        log->failing_since = 0;
    loss_log_reached(log);
}

void loss_log_partial(struct loss_log *log, const struct outcome *outcome, uint64_t items)
{
    struct outcome why = outcome_of(
        VERDICT_REJECT, CAUSE_INVALID, "%" PRIu32 " of %" PRIu64 " items rejected%s%.150s",
        outcome->rejected, items, *outcome->text ? ": " : "", outcome->text);
    loss_log_reached(log);
    loss_log_refused(log, &why);
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
    state.drops = log->drops;
    memcpy(state.error, log->error, sizeof state.error);
    pthread_mutex_unlock(&log->lock);
    return state;
}

void loss_log_inherit(struct loss_log *log, struct loss_log *from)
{
    const struct loss_log_state state = loss_log_state(from);
    pthread_mutex_lock(&from->lock);
    uint64_t next_retry_ns = from->next_retry_ns;
    pthread_mutex_unlock(&from->lock);
    pthread_mutex_lock(&log->lock);
    log->failing_since = state.failing_since;
    log->succeeded = state.succeeded;
    log->failed = state.failed;
    log->drops = state.drops;
    memcpy(log->error, state.error, sizeof log->error);
    log->failing = from->failing;
    log->next_retry_ns = next_retry_ns;
    pthread_mutex_unlock(&log->lock);
}

void loss_log_release(struct loss_log *log)
{
    if (log->ticker)
        ticker_remove(log->ticker, &log->due);
    for (int i = 0; i < CAUSE_COUNT; i++)
        loss_log_write(log, &log->sums[i]);
    pthread_mutex_destroy(&log->lock);
}
