#include "pipeline/meter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const count_words[METER_SHOWN] = {
    [METER_RECEIVED] = "received", [METER_ACCEPTED] = "accepted", [METER_REFUSED] = "refused",
    [METER_SENT] = "sent",         [METER_DROPPED] = "dropped",   [METER_RETRIES] = "retries",
    [METER_PASSED] = "passed by",
};

static const char *const cause_words[CAUSE_COUNT] = {
    [CAUSE_NONE] = "no reason given",    [CAUSE_INVALID] = "invalid",
    [CAUSE_TOO_LARGE] = "too large",     [CAUSE_UNSUPPORTED] = "unsupported",
    [CAUSE_AUTH] = "not authenticated",  [CAUSE_FORBIDDEN] = "forbidden",
    [CAUSE_FULL] = "queue full",         [CAUSE_MEMORY] = "out of memory",
    [CAUSE_UNAVAILABLE] = "unavailable", [CAUSE_SHUTDOWN] = "shutdown",
    [CAUSE_INTERNAL] = "internal error", [CAUSE_NO_PIPELINE] = "no pipeline",
    [CAUSE_SLOW] = "too slow",           [CAUSE_ENCODING] = "encoding",
    [CAUSE_TLS] = "TLS failed",          [CAUSE_LOOP] = "came back",
    [CAUSE_REVOKED] = "revoked",         [CAUSE_INCOMPLETE] = "incomplete",
};

const char *cause_name(enum cause cause)
{
    return cause_words[cause];
}

void meter_init(struct meter *meter, const char *id)
{
    memset(meter, 0, sizeof *meter);
    meter->id = id;
}

struct meter *meter_new(const char *id)
{
    size_t size = strlen(id) + 1;
    struct meter *meter = malloc(sizeof *meter + size);
    if (!meter)
        return NULL;
    meter_init(meter, memcpy(meter + 1, id, size));
    atomic_init(&meter->refs, 1);
    return meter;
}

struct meter *meter_ref(struct meter *meter)
{
    atomic_fetch_add(&meter->refs, 1);
    return meter;
}

void meter_release(struct meter *meter)
{
    admission_free(meter->admission);
    if (meter->area)
        meter->release_area(meter->area);
    free(meter->area);
    meter->admission = NULL;
    meter->area = NULL;
}

void meter_unref(struct meter *meter)
{
    if (!meter || atomic_fetch_sub(&meter->refs, 1) != 1)
        return;
    meter_release(meter);
    free(meter);
}

void *meter_area(struct meter *meter, size_t size, void (*release)(void *area))
{
    if (!meter->area)
        meter->area = calloc(1, size);
    meter->release_area = release;
    return meter->area;
}

bool meter_admits(struct meter *meter, const struct clock *clock, struct ticker *ticker)
{
    if (!meter->admission)
        meter->admission = admission_new(meter->id, clock, ticker);
    return meter->admission;
}

void meter_accepted(struct meter *meter, enum admission_transport transport, enum signal signal,
                    uint64_t items)
{
    meter_add(meter, METER_RECEIVED, signal, items);
    meter_add(meter, METER_ACCEPTED, signal, items);
    if (meter->admission)
        admission_accept(meter->admission, transport, signal, items);
}

void meter_accepted_samples(struct meter *meter, enum admission_transport transport,
                            uint64_t samples)
{
    if (meter->admission)
        admission_accept(meter->admission, transport, COUNTED_SAMPLES, samples);
}

void meter_refused(struct meter *meter, const struct refusal *refusal)
{
    if (refusal->items && refusal->signal < SIGNAL_COUNT) {
        meter_add(meter, METER_RECEIVED, refusal->signal, refusal->items);
        meter_add(meter, METER_REFUSED, refusal->signal, refusal->items);
    }
    if (meter->admission)
        admission_refuse(meter->admission, refusal);
}

void meter_refused_profiles(struct meter *meter, const struct peer *peer, const struct outcome *why,
                            uint32_t items)
{
    const struct refusal refusal = {.transport = ADMISSION_HTTP,
                                    .signal = SIGNAL_PROFILES,
                                    .why = why,
                                    .items = items,
                                    .peer = peer};
    meter_refused(meter, &refusal);
}

void meter_add(struct meter *meter, enum meter_count what, int signal, uint64_t n)
{
    atomic_fetch_add_explicit(&meter->counts[what][signal], n, memory_order_relaxed);
}

void meter_drop(struct meter *meter, enum cause cause, int signal, uint64_t n)
{
    meter_add(meter, METER_DROPPED, signal, n);
    atomic_fetch_add_explicit(&meter->dropped_by_cause[cause][signal], n, memory_order_relaxed);
    if (n)
        atomic_store_explicit(&meter->last_drop[cause], clock_wall(&clock_system),
                              memory_order_relaxed);
}

bool meter_tells_loss(struct meter *meter, uint64_t now, uint64_t every_ns)
{
    uint64_t at = atomic_load(&meter->tells_loss_at);
    return now >= at && atomic_compare_exchange_strong(&meter->tells_loss_at, &at, now + every_ns);
}

uint64_t meter_last_drop(const struct meter *meter, enum cause cause)
{
    return atomic_load_explicit(&meter->last_drop[cause], memory_order_relaxed);
}

void meter_pass_refusal(struct meter *meter, enum cause cause, int signal, uint64_t n)
{
    meter_add(meter, METER_REFUSED, signal, n);
    atomic_fetch_add_explicit(&meter->refusals_passed[cause][signal], n, memory_order_relaxed);
}

uint64_t meter_passed_refusals(const struct meter *meter, enum cause cause, int signal)
{
    return atomic_load_explicit(&meter->refusals_passed[cause][signal], memory_order_relaxed);
}

uint64_t meter_get(const struct meter *meter, enum meter_count what, int signal)
{
    return atomic_load_explicit(&meter->counts[what][signal], memory_order_relaxed);
}

uint64_t meter_dropped(const struct meter *meter, enum cause cause, int signal)
{
    return atomic_load_explicit(&meter->dropped_by_cause[cause][signal], memory_order_relaxed);
}

static void explain_causes(const struct meter *meter, enum signal signal, struct bytes *out)
{
    const char *before = " (";
    for (int i = 0; i < CAUSE_COUNT; i++) {
        uint64_t n = meter_dropped(meter, (enum cause)i, signal);
        if (n == 0)
            continue;
        bytes_printf(out, "%s%s %" PRIu64, before, cause_words[i], n);
        before = ", ";
    }
    if (*before == ',')
        bytes_printf(out, ")");
}

static void explain_signal(const struct meter *meter, enum signal signal, struct bytes *out)
{
    bool any = false;
    for (int i = 0; i < METER_SHOWN; i++) {
        uint64_t n = meter_get(meter, (enum meter_count)i, signal);
        if (n == 0)
            continue;
        if (any)
            bytes_printf(out, ", ");
        else
            bytes_printf(out, "%s: %s ", meter->id, signal_items(signal, 0));
        bytes_printf(out, "%s %" PRIu64, count_words[i], n);
        if (i == METER_DROPPED)
            explain_causes(meter, signal, out);
        if (i == METER_REFUSED && meter->admission)
            admission_explain_items(meter->admission, signal, out);
        any = true;
    }
    if (any)
        bytes_printf(out, "\n");
}

void meter_explain(const struct meter *meter, struct bytes *out)
{
    for (int i = 0; i < SIGNAL_COUNT; i++)
        explain_signal(meter, (enum signal)i, out);
    if (meter->admission)
        admission_explain(meter->admission, out);
}

void meter_put_items(const uint64_t items[SIGNAL_COUNT], struct bytes *out)
{
    const char *between = "";
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        uint64_t n = items[i];
        if (!n)
            continue;
        bytes_printf(out, "%s%" PRIu64 " %s", between, n, signal_items((enum signal)i, n));
        between = ", ";
    }
}
