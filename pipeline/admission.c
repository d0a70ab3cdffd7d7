#include "pipeline/admission.h"

#include "lib/base/log.h"
#include "pipeline/meter.h"
#include "pipeline/ticker.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUIET_NS (60 * NS_PER_S)

/* Pressure ends so long after the last refusal, with and without a request accepted since. */
#define PRESSURE_NS      (5 * NS_PER_S)
#define PRESSURE_IDLE_NS (60 * NS_PER_S)

/* Kinds of message for each cause; further kinds share the last. */
enum { NOTICES = 4, KIND_WORDS = 4 };

/* What is kept of a refusal for its log line. */
struct last {
    struct outcome why;
    struct peer peer;
    enum admission_transport transport;
    int signal;
    uint64_t wall; /* when */
};

/* The log line about one kind of message of one cause. */
struct notice {
    _Atomic uint32_t kind;    /* 0: none yet */
    _Atomic uint64_t pending; /* refusals since the last line */
    _Atomic uint64_t next_ns; /* no line before this time; 0: none was written yet */
    struct last last;         /* under the lock, as is the rest */
    uint64_t first;           /* wall, of those pending */
    bool mixed;               /* those pending have different texts */
};

struct counters {
    _Atomic uint64_t accepted[COUNTED_SIGNALS];
    _Atomic uint64_t items[COUNTED_SIGNALS][CAUSE_COUNT];
    _Atomic uint64_t requests[ADMISSION_SIGNALS][CAUSE_COUNT];
};

/* As struct admission_pressure, and when, mono, a request was last refused and accepted. */
struct pressure {
    _Atomic bool on;
    struct admission_pressure told; /* under the lock, as is the rest */
    uint64_t refused, accepted;
};

struct admission {
    const char *id;
    const struct clock *clock;
    struct ticker *ticker;
    struct ticker_entry due;
    pthread_mutex_t lock;
    struct pressure pressure;
    struct counters counters[ADMISSION_TRANSPORTS];
    _Atomic uint64_t last_refusal[CAUSE_COUNT]; /* as admission_last_refusal */
    struct notice notices[CAUSE_COUNT][NOTICES];
};

static const char *const transports[ADMISSION_TRANSPORTS] = {
    [ADMISSION_HTTP] = "over HTTP",
    [ADMISSION_GRPC] = "over gRPC",
    [ADMISSION_PULL] = "when pulled",
};

/* ---- lines ---- */

static const char *verdict_words(enum verdict verdict)
{
    if (verdict == VERDICT_OK)
        return "taken in part";
    return verdict == VERDICT_RETRY ? "told to retry" : "refused";
}

/* mixed: only the last has this text. */
static void admission_write_line(const struct admission *admission, const struct last *last,
                                 uint64_t count, bool mixed, uint64_t first)
{
    char peer[PEER_TEXT], from[CLOCK_TEXT], to[CLOCK_TEXT], period[48] = "";
    bool known = last->signal < SIGNAL_COUNT;
    const struct outcome *why = &last->why;
    const struct log_source source = {.id = admission->id,
                                      .kind = "receiver",
                                      .signal =
                                          known ? signal_name((enum signal)last->signal) : NULL};
    if (count > 1)
        snprintf(period, sizeof period, "; from %s to %s", clock_text(first, from),
                 clock_text(last->wall, to));
    log_of(&source, LOG_WARN, "%" PRIu64 " request%s %s: %s%s%s (%s%s%s%s from %s%s)", count,
           count == 1 ? "" : "s", verdict_words(why->verdict), cause_name(why->cause),
           !*why->text ? ""
           : mixed     ? ", the last: "
                       : ": ",
           why->text, count == 1 || mixed ? "" : "the last: ", known ? source.signal : "",
           known ? " " : "", transports[last->transport], peer_text(&last->peer, peer), period);
}

/* Claims the right to write the line. False: nothing is pending, or it is not due. */
static bool claim(struct notice *notice, uint64_t now)
{
    uint64_t next = atomic_load(&notice->next_ns);
    return now >= next && atomic_load(&notice->pending) > 0 &&
           atomic_compare_exchange_strong(&notice->next_ns, &next, now + QUIET_NS);
}

static void keep_last(struct notice *notice, const struct last *newest, bool first)
{
    notice->mixed =
        !first && (notice->mixed || strcmp(notice->last.why.text, newest->why.text) != 0);
    notice->last = *newest;
    if (first || !notice->first)
        notice->first = newest->wall;
}

static void admission_log_notice(struct admission *admission, struct notice *notice,
                                 const struct last *newest, bool first)
{
    pthread_mutex_lock(&admission->lock);
    if (newest)
        keep_last(notice, newest, first);
    struct last last = notice->last;
    bool mixed = notice->mixed;
    uint64_t since = notice->first;
    notice->first = 0;
    pthread_mutex_unlock(&admission->lock);
    uint64_t count = atomic_exchange(&notice->pending, 0);
    if (count)
        admission_write_line(admission, &last, count, mixed && count > 1, since);
}

/* Hashes a message's first words, up to one that looks like a value, so that messages that differ
 * only in what a client sent are of one kind. Never 0. */
static uint32_t admission_kind_of(const char *text)
{
    uint32_t kind = 2166136261u; /* FNV-1a */
    for (int words = 0; *text && words < KIND_WORDS; words++) {
        size_t size = strcspn(text, " ");
        if (words && strcspn(text, "/0123456789\"'[<%=\\") < size)
            break;
        for (size_t i = 0; i < size; i++)
            kind = (kind ^ (uint8_t)text[i]) * 16777619u;
        text += size + (text[size] == ' ');
    }
    return kind ? kind : 1;
}

/* Whether a slot is of that kind, or could be reused for it because its own line is over. */
static bool is_of(struct notice *notice, uint32_t kind, uint64_t now)
{
    uint32_t had = atomic_load(&notice->kind);
    if (had == kind)
        return true;
    bool over = atomic_load(&notice->pending) == 0 && atomic_load(&notice->next_ns) <= now;
    return (had == 0 || over) && atomic_compare_exchange_strong(&notice->kind, &had, kind);
}

static struct notice *notice_of(struct admission *admission, const struct outcome *why,
                                uint64_t now)
{
    struct notice *notices = admission->notices[why->cause];
    uint32_t kind = admission_kind_of(why->text);
    for (int i = 0; i < NOTICES; i++)
        if (atomic_load(&notices[i].kind) == kind)
            return &notices[i];
    for (int i = 0; i < NOTICES; i++)
        if (is_of(&notices[i], kind, now))
            return &notices[i];
    return &notices[NOTICES - 1];
}

/* The refusal that is kept need not be the very last: nobody waits for the lock. */
static void store(struct admission *admission, struct notice *notice, const struct last *newest,
                  bool first)
{
    if (pthread_mutex_trylock(&admission->lock) != 0)
        return;
    keep_last(notice, newest, first);
    pthread_mutex_unlock(&admission->lock);
}

static void log_or_store(struct admission *admission, const struct refusal *refusal)
{
    uint64_t now = clock_mono(admission->clock);
    struct notice *notice = notice_of(admission, refusal->why, now);
    const struct last newest = {.why = *refusal->why,
                                .peer = refusal->peer ? *refusal->peer : (struct peer){0},
                                .transport = refusal->transport,
                                .signal = refusal->signal,
                                .wall = clock_wall(admission->clock)};
    bool first = atomic_fetch_add(&notice->pending, 1) == 0;
    if (claim(notice, now)) {
        admission_log_notice(admission, notice, &newest, first);
        return;
    }
    store(admission, notice, &newest, first);
    if (first && admission->ticker)
        ticker_at(admission->ticker, &admission->due, atomic_load(&notice->next_ns));
}

static uint64_t log_due(void *ctx, uint64_t mono_ns)
{
    struct admission *admission = ctx;
    uint64_t earliest = TIME_NEVER;
    for (int i = 0; i < CAUSE_COUNT * NOTICES; i++) {
        struct notice *notice = &admission->notices[i / NOTICES][i % NOTICES];
        if (claim(notice, mono_ns))
            admission_log_notice(admission, notice, NULL, false);
        uint64_t next = atomic_load(&notice->next_ns);
        if (atomic_load(&notice->pending) && next < earliest)
            earliest = next;
    }
    return earliest;
}

/* ---- life ---- */

struct admission *admission_new(const char *id, const struct clock *clock, struct ticker *ticker)
{
    struct admission *admission = calloc(1, sizeof *admission);
    if (!admission)
        return NULL;
    admission->id = id;
    admission->clock = clock;
    admission->ticker = ticker;
    admission->due = (struct ticker_entry){.tick = log_due, .ctx = admission};
    pthread_mutex_init(&admission->lock, NULL);
    if (ticker)
        ticker_add(ticker, &admission->due);
    return admission;
}

void admission_flush(struct admission *admission)
{
    for (int i = 0; i < CAUSE_COUNT * NOTICES; i++)
        admission_log_notice(admission, &admission->notices[i / NOTICES][i % NOTICES], NULL, false);
}

void admission_free(struct admission *admission)
{
    if (!admission)
        return;
    if (admission->ticker)
        ticker_remove(admission->ticker, &admission->due);
    admission_flush(admission);
    pthread_mutex_destroy(&admission->lock);
    free(admission);
}

/* ---- pressure ---- */

static bool is_pressing(const struct pressure *pressure, uint64_t now)
{
    uint64_t most = pressure->accepted > pressure->refused ? PRESSURE_NS : PRESSURE_IDLE_NS;
    return pressure->on && now < pressure->refused + most;
}

static void note_refused(struct admission *admission, const struct outcome *why)
{
    struct pressure *pressure = &admission->pressure;
    if (why->verdict != VERDICT_RETRY || (why->cause != CAUSE_MEMORY && why->cause != CAUSE_FULL))
        return;
    uint64_t now = clock_mono(admission->clock);
    pthread_mutex_lock(&admission->lock);
    if (!is_pressing(pressure, now))
        pressure->told = (struct admission_pressure){.since = clock_wall(admission->clock)};
    pressure->on = true;
    pressure->refused = now;
    pressure->told.last = clock_wall(admission->clock);
    pressure->told.requests++;
    pressure->told.cause = why->cause;
    memcpy(pressure->told.text, why->text, sizeof why->text);
    pthread_mutex_unlock(&admission->lock);
}

static void note_accepted(struct admission *admission)
{
    struct pressure *pressure = &admission->pressure;
    if (!atomic_load_explicit(&pressure->on, memory_order_relaxed))
        return;
    uint64_t requests = 0, now = clock_mono(admission->clock);
    pthread_mutex_lock(&admission->lock);
    pressure->accepted = now;
    if (pressure->on && !is_pressing(pressure, now)) {
        requests = pressure->told.requests;
        pressure->on = false;
    }
    pthread_mutex_unlock(&admission->lock);
    const struct log_source source = {.id = admission->id, .kind = "receiver"};
    if (requests)
        log_of(&source, LOG_INFO, "accepting requests again, after %" PRIu64 " refused", requests);
}

struct admission_pressure admission_pressure(struct admission *admission)
{
    struct admission_pressure told = {0};
    pthread_mutex_lock(&admission->lock);
    if (is_pressing(&admission->pressure, clock_mono(admission->clock)))
        told = admission->pressure.told;
    pthread_mutex_unlock(&admission->lock);
    return told;
}

/* ---- counting ---- */

static void admission_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t admission_get(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void admission_accept(struct admission *admission, enum admission_transport transport, int signal,
                      uint64_t items)
{
    admission_add(&admission->counters[transport].accepted[signal], items);
    note_accepted(admission);
}

void admission_refuse(struct admission *admission, const struct refusal *refusal)
{
    struct counters *counters = &admission->counters[refusal->transport];
    enum cause cause = refusal->why->cause;
    if (refusal->items && refusal->signal < SIGNAL_COUNT)
        admission_add(&counters->items[refusal->signal][cause], refusal->items);
    if (refusal->samples)
        admission_add(&counters->items[COUNTED_SAMPLES][cause], refusal->samples);
    if (refusal->why->verdict != VERDICT_OK)
        admission_add(&counters->requests[refusal->signal][cause], 1);
    atomic_store_explicit(&admission->last_refusal[cause], clock_wall(admission->clock),
                          memory_order_relaxed);
    note_refused(admission, refusal->why);
    if (cause != CAUSE_SHUTDOWN && refusal->transport != ADMISSION_PULL)
        log_or_store(admission, refusal);
}

uint64_t admission_accepted(const struct admission *admission, enum admission_transport transport,
                            int signal)
{
    return admission_get(&admission->counters[transport].accepted[signal]);
}

uint64_t admission_items(const struct admission *admission, enum admission_transport transport,
                         int signal, enum cause cause)
{
    return admission_get(&admission->counters[transport].items[signal][cause]);
}

uint64_t admission_requests(const struct admission *admission, enum admission_transport transport,
                            int signal, enum cause cause)
{
    return admission_get(&admission->counters[transport].requests[signal][cause]);
}

uint64_t admission_last_refusal(const struct admission *admission, enum cause cause)
{
    return admission_get(&admission->last_refusal[cause]);
}

struct outcome admission_last_outcome(struct admission *admission, enum cause cause)
{
    struct outcome found = {.cause = cause};
    uint64_t wall = 0;
    pthread_mutex_lock(&admission->lock);
    for (int i = 0; i < NOTICES; i++) {
        const struct last *last = &admission->notices[cause][i].last;
        if (last->wall > wall) {
            wall = last->wall;
            found = last->why;
        }
    }
    pthread_mutex_unlock(&admission->lock);
    return found;
}

/* ---- human-readable output ---- */

/* Returns whether the parenthesis is open. */
static bool explain_cause(bool open, enum cause cause, uint64_t n, struct bytes *out)
{
    if (n)
        bytes_printf(out, "%s%s %" PRIu64, open ? ", " : " (", cause_name(cause), n);
    return open || n;
}

void admission_explain_items(const struct admission *admission, enum signal signal,
                             struct bytes *out)
{
    bool open = false;
    for (int cause = 0; cause < CAUSE_COUNT; cause++) {
        uint64_t n = 0;
        for (int t = 0; t < ADMISSION_TRANSPORTS; t++)
            n += admission_get(&admission->counters[t].items[signal][cause]);
        open = explain_cause(open, (enum cause)cause, n, out);
    }
    if (open)
        bytes_printf(out, ")");
}

static void explain_requests(const struct admission *admission, int transport, int signal,
                             struct bytes *out)
{
    const _Atomic uint64_t *requests = admission->counters[transport].requests[signal];
    bool known = signal < SIGNAL_COUNT, open = false;
    uint64_t sum = 0;
    for (int cause = 0; cause < CAUSE_COUNT; cause++)
        sum += admission_get(&requests[cause]);
    if (sum == 0)
        return;
    bytes_printf(out, "%s: %" PRIu64 " request%s%s%s refused %s", admission->id, sum,
                 sum == 1 ? "" : "s", known ? " of " : "",
                 known ? signal_name((enum signal)signal) : "", transports[transport]);
    for (int cause = 0; cause < CAUSE_COUNT; cause++)
        open = explain_cause(open, (enum cause)cause, admission_get(&requests[cause]), out);
    bytes_printf(out, open ? ")\n" : "\n");
}

void admission_explain(const struct admission *admission, struct bytes *out)
{
    for (int transport = 0; transport < ADMISSION_TRANSPORTS; transport++)
        for (int signal = 0; signal < ADMISSION_SIGNALS; signal++)
            explain_requests(admission, transport, signal, out);
}
