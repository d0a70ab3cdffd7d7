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
#define OTHER_QUIET_NS (10 * NS_PER_S) /* for a failure of another kind */
#define SLOW_QUIET_NS  (60 * NS_PER_S)
#define SILENCE_NS     (10 * NS_PER_S)

#define DIGITS "0123456789"

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

/* When those pending were lost, unless that is now. */
static const char *period_of(const struct loss_sums *sums, bool now, char out[48])
{
    char from[CLOCK_TEXT], to[CLOCK_TEXT];
    *out = '\0';
    if (!now)
        snprintf(out, 48, "; from %s to %s", clock_text(sums->first, from),
                 clock_text(sums->latest, to));
    return out;
}

/* Writes the line about a cause, if anything is pending; now: it is one loss, of this moment. */
static void loss_log_write(struct loss_log *log, struct loss_sums *sums, bool now)
{
    const struct log_source source = loss_log_source(log);
    const char *text = sums->last.text;
    char counts[160] = "", period[48];
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
        log_of(&source, LOG_WARN, "%s dropped: %s%s%s%s", counts, cause_name(sums->last.cause),
               !*text        ? ""
               : sums->mixed ? ", the last: "
                             : ": ",
               text, period_of(sums, now, period));
    sums->mixed = false;
}

static bool is_pending(const struct loss_sums *sums)
{
    uint64_t pending = 0;
    for (int i = 0; i < SIGNAL_COUNT; i++)
        pending |= sums->pending[i];
    return pending;
}

/* ---- incidents ---- */

static void tell_over(struct loss_log *log)
{
    const struct log_source source = loss_log_source(log);
    const struct incident *incident = &log->incident;
    char since[CLOCK_TEXT], again[CLOCK_TEXT];
    struct bytes lost;
    bytes_init(&lost, 256, NULL);
    incident_put_lost(incident, &lost);
    for (int i = 0; i < CAUSE_COUNT; i++)
        loss_log_write(log, &log->sums[i], false);
    clock_text(incident->untold.since, since);
    clock_text(incident->recovered, again);
    if (lost.size && !incident->failed_requests)
        log_of(&source, LOG_INFO, "no longer dropping, after %.*s dropped since %s",
               VIEW_ARG(bytes_view(&lost)), since);
    else if (lost.size)
        log_of(&source, LOG_INFO, "delivering again since %s, after %.*s dropped since %s", again,
               VIEW_ARG(bytes_view(&lost)), since);
    else
        log_of(&source, LOG_INFO, "delivering again since %s, after failures since %s", again,
               since);
    bytes_release(&lost);
}

/* Tells that the incident is over, if it is. */
static void end_incident(struct loss_log *log)
{
    if (!incident_close(&log->incident, clock_mono(log->clock)))
        return;
    tell_over(log);
    log->waits = false;
    log->unwell = false;
}

/* The same of a retry for which this process was the cause. */
static void end_wait(struct loss_log *log)
{
    const struct log_source source = loss_log_source(log);
    if (log->incident.open || !log->waits)
        return;
    log_of(&source, LOG_INFO, "delivering again");
    log->waits = false;
    log->unwell = false;
}

/* When an attempt that failed began, but not before another one succeeded. */
static uint64_t began(const struct loss_log *log, uint64_t took_ns)
{
    uint64_t now = clock_wall(log->clock), since = took_ns < now ? now - took_ns : now;
    uint64_t succeeded = atomic_load_explicit(&log->succeeded, memory_order_relaxed);
    return succeeded > since && succeeded <= now ? succeeded : since;
}

static void begin_incident(struct loss_log *log, const struct outcome *why)
{
    end_incident(log);
    uint64_t recovered = 0;
    if (log->incident.open && log->waits)
        recovered = incident_recovered(&log->incident, clock_mono(log->clock));
    if (incident_fail(&log->incident, log->clock, began(log, why->took_ns)))
        log->succeeded_before = log->succeeded_requests;
    if (recovered)
        log->retry.recovered = recovered;
    log->unwell = true;
}

/* Whether the backend, or the way to it, is the cause. */
static bool is_of_backend(enum cause cause)
{
    return cause != CAUSE_FULL && cause != CAUSE_MEMORY && cause != CAUSE_SHUTDOWN &&
           cause != CAUSE_REVOKED;
}

static void set_error(struct loss_log *log, const struct outcome *why, bool with_cause)
{
    char text[LOSS_LOG_TEXT];
    log->error_cause = why->cause;
    snprintf(text, sizeof text, "%s%s%s", with_cause ? cause_name(why->cause) : "",
             with_cause && *why->text ? ": " : "",
             *why->text || with_cause ? why->text : cause_name(why->cause));
    redact_copy(text, log->error, sizeof log->error);
}

static void failed_locked(struct loss_log *log, const struct outcome *why)
{
    if (!is_of_backend(why->cause))
        return;
    begin_incident(log, why);
    log->incident.failed_requests++;
    log->rejected = why->verdict != VERDICT_RETRY;
    log->retry.stands = !log->rejected;
    log->failed = clock_wall(log->clock);
    log->again = 0;
    set_error(log, why, log->rejected);
}

/* Items that were accepted are lost, after a failed request or instead of one. */
static void lost_locked(struct loss_log *log, enum signal signal, uint64_t items,
                        const struct outcome *why)
{
    if (why->cause == CAUSE_SHUTDOWN || why->cause == CAUSE_REVOKED)
        return;
    begin_incident(log, why);
    if (why->verdict != VERDICT_OK)
        failed_locked(log, why);
    if (!log->incident.failed_requests && !is_of_backend(why->cause))
        set_error(log, why, false);
    incident_lose(&log->incident, signal, items, why->cause);
}

/* ---- retries ---- */

/* A word with a digit, unless it begins with a status of three digits: it may differ each time. */
static bool is_value(const char *word, size_t size)
{
    size_t digits = strspn(word, DIGITS);
    bool has = strcspn(word, DIGITS) < size;
    return has && (digits != 3 || (size > 3 && (word[3] == '.' || word[3] == '-')));
}

/* Hashes a failure without the values in its text, such as times and the ids of requests. */
static uint32_t kind_of(const struct outcome *why)
{
    uint32_t kind = 2166136261u ^ (uint32_t)why->cause; /* FNV-1a */
    for (const char *word = why->text; *word;) {
        size_t size = strcspn(word, " ");
        for (size_t i = 0; i < size && !is_value(word, size); i++)
            kind = (kind ^ (uint8_t)word[i]) * 16777619u;
        word += size + strspn(word + size, " ");
    }
    return kind;
}

/* Whether the last retry has another reason than the one that was told, or a beginning of its own.
 */
static bool is_news(const struct loss_retry *retry)
{
    return retry->kind != retry->told || retry->recovered;
}

/* Formats " since 00:01:02Z, after delivering since 00:01:00Z", "" if that is as told. */
static const char *anew(const struct loss_log *log, char out[80])
{
    char since[CLOCK_TEXT], recovered[CLOCK_TEXT];
    *out = '\0';
    if (log->retry.recovered)
        snprintf(out, 80, " since %s, after delivering since %s",
                 clock_text(log->incident.since, since),
                 clock_text(log->retry.recovered, recovered));
    return out;
}

/* Writes the line about the last retry if one is due. Returns when one is that is left for later;
 * else TIME_NEVER. Lock held. */
static uint64_t tell_retry(struct loss_log *log, uint64_t now)
{
    const struct log_source source = loss_log_source(log);
    struct loss_retry *retry = &log->retry;
    bool other = is_news(retry);
    char when[32] = "", since[80];
    uint64_t due = retry->told_ns + (other ? OTHER_QUIET_NS : RETRY_QUIET_NS);
    if (log->waits && now < due)
        return other ? due : TIME_NEVER;
    if (retry->due_ns > now)
        snprintf(when, sizeof when, " in %.1f s", (double)(retry->due_ns - now) / (double)NS_PER_S);
    log_of(&source, LOG_WARN, "waiting%s, trying again%s: %s", anew(log, since), when,
           *retry->text ? retry->text : log->error); /* of an attempt that goes on */
    retry->told = retry->kind;
    retry->recovered = 0;
    retry->told_ns = now;
    return TIME_NEVER;
}

/* ---- silence ---- */

void loss_log_begin(struct loss_log *log)
{
    uint64_t now = clock_mono(log->clock);
    if (atomic_fetch_add_explicit(&log->in_flight, 1, memory_order_relaxed) == 0)
        atomic_store_explicit(&log->heard_ns, now, memory_order_relaxed);
    if (log->ticker && !atomic_load(&log->listens) && !atomic_exchange(&log->listens, true))
        ticker_at(log->ticker, &log->due, now + SILENCE_NS);
}

void loss_log_end(struct loss_log *log)
{
    atomic_store_explicit(&log->heard_ns, clock_mono(log->clock), memory_order_relaxed);
    atomic_fetch_sub(&log->in_flight, 1);
}

/* Writes a line about a backend that does not answer, unless one tells that it fails. Returns when
 * to look again; TIME_NEVER: nothing is in flight. Lock held. */
static uint64_t look_for_silence(struct loss_log *log, uint64_t now)
{
    const struct log_source source = loss_log_source(log);
    if (!atomic_load(&log->listens))
        return TIME_NEVER;
    if (!atomic_load(&log->in_flight)) {
        atomic_store(&log->listens, false);
        if (!atomic_load(&log->in_flight) || atomic_exchange(&log->listens, true))
            return TIME_NEVER;
    }
    uint64_t due = log->heard_ns + SILENCE_NS;
    if (now < due)
        return due;
    if (!log->waits) {
        log_of(&source, LOG_WARN, "waiting, no answer for %.0f s",
               (double)(now - log->heard_ns) / (double)NS_PER_S);
        log->retry = (struct loss_retry){.told_ns = now};
        log->waits = true;
        log->unwell = true;
    }
    return now + SILENCE_NS;
}

static uint64_t flush_due(void *ctx, uint64_t mono_ns)
{
    struct loss_log *log = ctx;
    pthread_mutex_lock(&log->lock);
    end_incident(log);
    uint64_t next = incident_ends(&log->incident), look = look_for_silence(log, mono_ns);
    next = look < next ? look : next;
    if (log->waits && log->retry.stands && is_news(&log->retry)) {
        uint64_t due = tell_retry(log, mono_ns);
        next = due < next ? due : next;
    }
    for (int i = 0; i < CAUSE_COUNT; i++) {
        struct loss_sums *sums = &log->sums[i];
        if (is_pending(sums) && mono_ns >= sums->next_ns) {
            loss_log_write(log, sums, false);
            sums->next_ns = mono_ns + QUIET_NS;
        }
        if (is_pending(sums) && sums->next_ns < next)
            next = sums->next_ns;
    }
    pthread_mutex_unlock(&log->lock);
    return next;
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
    sums->latest = clock_wall(log->clock);
    if (first)
        sums->first = sums->latest;
    if (sums->next_ns && now < sums->next_ns)
        return first ? sums->next_ns : TIME_NEVER;
    loss_log_write(log, sums, first);
    sums->next_ns = now + QUIET_NS;
    return TIME_NEVER;
}

void loss_log_add(struct loss_log *log, enum signal signal, uint64_t items,
                  const struct outcome *why)
{
    pthread_mutex_lock(&log->lock);
    lost_locked(log, signal, items, why);
    uint64_t due = loss_log_count(log, signal, items, why);
    pthread_mutex_unlock(&log->lock);
    if (due != TIME_NEVER && log->ticker)
        ticker_at(log->ticker, &log->due, due);
}

void loss_log_retry(struct loss_log *log, const struct outcome *why, uint64_t wait_ns)
{
    struct loss_retry *retry = &log->retry;
    uint64_t now = clock_mono(log->clock);
    pthread_mutex_lock(&log->lock);
    failed_locked(log, why);
    retry->stands = true;
    retry->kind = kind_of(why);
    retry->due_ns = now + wait_ns;
    snprintf(retry->text, sizeof retry->text, "%s",
             *why->text ? why->text : cause_name(why->cause));
    uint64_t due = tell_retry(log, now);
    log->waits = true;
    log->unwell = true;
    pthread_mutex_unlock(&log->lock);
    if (due != TIME_NEVER && log->ticker)
        ticker_at(log->ticker, &log->due, due);
}

void loss_log_success(struct loss_log *log)
{
    atomic_fetch_add_explicit(&log->succeeded_requests, 1, memory_order_relaxed);
    loss_log_progress(log);
}

void loss_log_progress(struct loss_log *log)
{
    atomic_store_explicit(&log->succeeded, clock_wall(log->clock), memory_order_relaxed);
    atomic_store_explicit(&log->heard_ns, clock_mono(log->clock), memory_order_relaxed);
    if (!atomic_load_explicit(&log->unwell, memory_order_relaxed))
        return;
    pthread_mutex_lock(&log->lock);
    log->retry.stands = false;
    if (!log->again)
        log->again = clock_wall(log->clock);
    bool first = incident_succeed(&log->incident, log->clock);
    end_incident(log);
    end_wait(log);
    uint64_t due = first ? incident_ends(&log->incident) : TIME_NEVER;
    pthread_mutex_unlock(&log->lock);
    if (due != TIME_NEVER && log->ticker)
        ticker_at(log->ticker, &log->due, due);
}

void loss_log_partial(struct loss_log *log, const struct outcome *outcome, uint64_t items)
{
    struct outcome why = outcome_of(
        VERDICT_REJECT, CAUSE_INVALID, "%" PRIu32 " of %" PRIu64 " items rejected%s%.150s",
        outcome->rejected, items, *outcome->text ? ": " : "", outcome->text);
    atomic_store_explicit(&log->succeeded, clock_wall(log->clock), memory_order_relaxed);
    loss_log_refused(log, &why);
}

void loss_log_took(struct loss_log *log, uint64_t took_ns)
{
    const struct log_source source = loss_log_source(log);
    if (took_ns == 0 && atomic_load_explicit(&log->slow_ns, memory_order_relaxed) == 0)
        return;
    log->slow_ns = took_ns;
    uint64_t now = clock_mono(log->clock);
    pthread_mutex_lock(&log->lock);
    if (took_ns && now >= log->next_slow_ns) {
        log_of(&source, LOG_WARN, "slow: a request took %.1f s while others waited in the queue",
               (double)took_ns / (double)NS_PER_S);
        log->next_slow_ns = now + SLOW_QUIET_NS;
        log->told_slow = true;
    } else if (!took_ns && log->told_slow) {
        log_of(&source, LOG_INFO, "no longer slow");
        log->told_slow = false;
    }
    pthread_mutex_unlock(&log->lock);
}

/* Puts before an error how much is lost and how many requests failed. */
static void put_error(const struct loss_log *log, bool lasts, char out[LOSS_LOG_ERROR])
{
    struct bytes text;
    bool others = lasts && incident_lost_for_others(&log->incident, log->error_cause);
    bytes_init(&text, LOSS_LOG_ERROR - 1, NULL);
    if (lasts)
        incident_put_extent(&log->incident, log->succeeded_requests - log->succeeded_before, others,
                            &text);
    bytes_printf(&text, "%s%s",
                 others      ? "; the last failure: "
                 : text.size ? ": "
                             : "",
                 log->error);
    if (text.size)
        memcpy(out, text.data, text.size);
    out[text.size] = '\0';
    bytes_release(&text);
}

struct loss_log_state loss_log_state(struct loss_log *log)
{
    struct loss_log_state state = {.slow_ns = log->slow_ns, .succeeded = log->succeeded};
    pthread_mutex_lock(&log->lock);
    uint64_t now = clock_mono(log->clock);
    bool lasts = incident_lasts(&log->incident, now);
    state.failing_since = lasts ? log->incident.since : 0;
    state.recovered = lasts ? incident_recovered(&log->incident, now) : 0;
    state.failed = log->failed;
    state.again = log->again;
    state.drops = log->rejected || (lasts && incident_lost_any(&log->incident));
    put_error(log, lasts, state.error);
    pthread_mutex_unlock(&log->lock);
    return state;
}

void loss_log_inherit(struct loss_log *log, struct loss_log *from)
{
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&log->lock);
    log->incident = from->incident;
    log->incident.again = false; /* it may be mended: then that is told soon */
    log->succeeded_before = from->succeeded_before;
    log->succeeded_requests = from->succeeded_requests;
    log->succeeded = from->succeeded;
    log->failed = from->failed;
    log->again = from->again;
    log->rejected = from->rejected;
    log->error_cause = from->error_cause;
    log->waits = from->waits;
    log->retry = from->retry;
    log->unwell = from->unwell;
    memcpy(log->error, from->error, sizeof log->error);
    from->incident.open = false; /* this one tells how it ends */
    from->unwell = false;
    uint64_t ends = incident_ends(&log->incident);
    pthread_mutex_unlock(&log->lock);
    pthread_mutex_unlock(&from->lock);
    if (ends != TIME_NEVER && log->ticker)
        ticker_at(log->ticker, &log->due, ends);
}

void loss_log_release(struct loss_log *log)
{
    if (log->ticker)
        ticker_remove(log->ticker, &log->due);
    for (int i = 0; i < CAUSE_COUNT; i++)
        loss_log_write(log, &log->sums[i], false);
    pthread_mutex_destroy(&log->lock);
}
