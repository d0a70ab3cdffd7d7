/* What it did and why, as lines for people. */
#include "processors/correlation/correlation.h"

#include "lib/base/shown.h"

#include <inttypes.h>

static const char *const reasons[REASON_COUNT] = {
    [REASON_NO_SAMPLE] = "no sample",
    [REASON_HOLD_RAN_OUT] = "hold ran out",
    [REASON_NO_PARENT] = "local root not linked",
    [REASON_NO_IDS] = "no confirming sample has a span id",
    [REASON_UNMATCHED] = "span ids in samples are of no span",
    [REASON_NOT_PROFILED] = "not profiled",
    [REASON_FORMAT] = "span ids of profiles cannot be read",
    [REASON_BEFORE_START] = "started before spanlink or a reload",
    [REASON_FORGOTTEN] = "samples may be forgotten",
    [REASON_HOLD_FULL] = "hold full",
    [REASON_CROWDED] = "too many services",
    [REASON_NAMES_DIFFER] = "names differ",
    [REASON_TENANTS_DIFFER] = "tenants differ",
    [REASON_SHUTDOWN] = "shutdown",
};

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

/* Appends ", not linked 30 (no sample 28, hold ran out 2)" for reasons from first to before end. */
static void explain_reasons(const struct service_counts *counts, const char *word,
                            enum judge_reason first, enum judge_reason end, struct bytes *out)
{
    uint64_t sum = 0;
    for (enum judge_reason i = first; i < end; i++)
        sum += counts->unlinked[i];
    bytes_printf(out, ", %s %" PRIu64, word, sum);
    const char *before = " (";
    for (enum judge_reason i = first; i < end; i++) {
        if (counts->unlinked[i] == 0)
            continue;
        bytes_printf(out, "%s%s %" PRIu64, before, reasons[i], counts->unlinked[i]);
        before = ", ";
    }
    if (sum > 0)
        bytes_printf(out, ")");
}

static void explain_waiting(const struct service *service, struct bytes *out)
{
    const struct service_counts *counts = &service->counts;
    if (service->held > 0)
        bytes_printf(out, ", waiting %" PRIu64, service->held);
    if (counts->waited > 0)
        bytes_printf(out, "; delay added %.1f s on average over %" PRIu64 " spans, %.1f s at most",
                     seconds(counts->wait_sum) / (double)counts->waited, counts->waited,
                     seconds(counts->wait_max));
}

/* What decisions are based on, for the spans of the process seen last. */
static void explain_rules(const struct correlation *self, const struct service *service,
                          uint64_t mono, struct bytes *out)
{
    struct judge_known known = evidence_known(service, service->processes, &self->rules, mono);
    if (!known.profiled)
        return;
    if (known.no_ids)
        bytes_printf(out, "; spans pass at once, since no confirming sample has a span id");
    else if (known.passed)
        bytes_printf(out, "; decided once their process has uploaded up to their end");
    else
        bytes_printf(out, "; decided %.1f s after their end", seconds(judge_wait_seen(&known)));
    if (!known.no_ids && known.hold == DURATION_AUTO)
        bytes_printf(out, ", or %.1f s if no later profile comes",
                     seconds(judge_wait_idle(&known)));
    if (service->skew)
        bytes_printf(out, "; windows may be %.1f s ahead of its spans, or of this clock",
                     seconds(service->skew));
    if (service->silent_since)
        bytes_printf(out,
                     "; its last profile came %.0f s ago: see whether its profiler still runs and "
                     "can reach this process",
                     seconds(mono - service->silent_since));
    if (service_is_wide(service, mono, self->config.remember))
        bytes_printf(out, "; spans that are not local roots have samples");
}

static unsigned uploading(const struct timeline *timeline, uint64_t mono)
{
    unsigned count = 0;
    for (const struct sequence *each = timeline->sequences; each; each = each->next)
        count += sequence_is_steady(timeline, each, 1, mono);
    return count;
}

/* As measured: what decisions are based on has a limit. */
static uint64_t latest(const struct timeline *timeline)
{
    uint64_t now = timeline->lateness[0].most, before = timeline->lateness[1].most;
    return now > before ? now : before;
}

static void explain_windows(const struct service *service, uint64_t mono, struct bytes *out)
{
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        const struct timeline *timeline = service->timelines[kind];
        if (!timeline || timeline->count == 0)
            continue;
        bytes_printf(out, "; %s windows of up to %.1f s", kind_name(kind),
                     seconds(timeline_longest(timeline)));
        if (timeline->watermark && timeline->watermark <= mono)
            bytes_printf(out, ", the last one ended %.1f s ago",
                         seconds(mono - timeline->watermark));
        bytes_printf(out, ", uploads up to %.1f s late", seconds(latest(timeline)));
        if (timeline->aside)
            bytes_printf(out, ", %u put aside as too long", timeline->aside);
        unsigned processes = uploading(timeline, mono);
        if (processes > 1)
            bytes_printf(out, ", from %u processes", processes);
    }
    if (service->unread)
        bytes_printf(out, "; sends profiles whose span ids cannot be read: %s",
                     service->unread_why);
}

/* A name from telemetry, with what cannot be seen in it; a very long one is cut. */
static void put_name(struct view name, struct bytes *out)
{
    char shown[1024];
    shown_copy(name, shown, sizeof shown);
    bytes_printf(out, "%s", shown);
}

static void explain_service(const struct correlation *self, const struct service *service,
                            struct bytes *out)
{
    const struct service_counts *counts = &service->counts;
    bytes_printf(out, "%s: service ", self->env->id);
    put_name(service_name(service), out);
    if (service->tenant_size) {
        bytes_printf(out, " of tenant ");
        put_name(service_tenant(service), out);
    }
    bytes_printf(out, ": spans linked %" PRIu64, counts->linked);
    explain_reasons(counts, "not linked", 0, REASON_NOT_PROFILED, out);
    explain_reasons(counts, "forwarded unchanged", REASON_NOT_PROFILED, REASON_COUNT, out);
    explain_waiting(service, out);
    bytes_printf(out, "; %" PRIu64 " span ids in samples", counts->ids);
    if (counts->ids > counts->ids_met)
        bytes_printf(out, ", %" PRIu64 " of them not linked to a span",
                     counts->ids - counts->ids_met);
    if (counts->missed > 0)
        bytes_printf(out, ", %" PRIu64 " arrived after their span had left", counts->missed);
    explain_windows(service, clock_mono(self->env->clock), out);
    explain_rules(self, service, clock_mono(self->env->clock), out);
    bytes_printf(out, "\n");
}

void correlation_explain_known(struct correlation *self, struct bytes *out)
{
    pthread_mutex_lock(&self->lock);
    uint64_t now = clock_mono(self->env->clock);
    for (const struct service *each = NULL; (each = services_next(&self->services, each));) {
        bytes_printf(out, "%s:   service ", self->env->id);
        put_name(service_name(each), out);
        bytes_printf(out, ": waiting %" PRIu64, each->held);
        explain_windows(each, now, out);
        explain_rules(self, each, now, out);
        bytes_printf(out, "\n");
    }
    pthread_mutex_unlock(&self->lock);
}

enum { EXPLAINED = 100 };

static uint64_t spans_of(const struct service *service)
{
    uint64_t sum = service->counts.linked + service->held;
    for (int i = 0; i < REASON_COUNT; i++)
        sum += service->counts.unlinked[i];
    return sum;
}

/* Collects the services with the most spans, in descending order; returns their number. */
static size_t busiest(const struct correlation *self, const struct service *top[EXPLAINED])
{
    size_t count = 0;
    for (const struct service *each = NULL; (each = services_next(&self->services, each));) {
        uint64_t spans = spans_of(each);
        size_t at = count < EXPLAINED ? count++ : EXPLAINED;
        for (; at > 0 && spans_of(top[at - 1]) < spans; at--)
            if (at < EXPLAINED)
                top[at] = top[at - 1];
        if (at < EXPLAINED)
            top[at] = each;
    }
    return count;
}

static void explain_others(const struct correlation *self, const struct service *const *top,
                           size_t count, struct bytes *out)
{
    struct service_counts sums = {0};
    for (const struct service *each = NULL; (each = services_next(&self->services, each));) {
        sums.linked += each->counts.linked;
        for (int i = 0; i < REASON_COUNT; i++)
            sums.unlinked[i] += each->counts.unlinked[i];
    }
    for (size_t i = 0; i < count; i++) {
        sums.linked -= top[i]->counts.linked;
        for (int k = 0; k < REASON_COUNT; k++)
            sums.unlinked[k] -= top[i]->counts.unlinked[k];
    }
    bytes_printf(out, "%s: %zu other services: spans linked %" PRIu64, self->env->id,
                 self->services.count - count, sums.linked);
    explain_reasons(&sums, "not linked", 0, REASON_NOT_PROFILED, out);
    explain_reasons(&sums, "forwarded unchanged", REASON_NOT_PROFILED, REASON_COUNT, out);
    bytes_printf(out, "\n");
}

/* Services that are no longer known, and spans for whose service there was no place. */
static void explain_gone(const struct correlation *self, struct bytes *out)
{
    const struct services *services = &self->services;
    const struct service_counts *gone = &services->gone;
    if (!services->forgotten && !gone->unlinked[REASON_CROWDED])
        return;
    bytes_printf(out,
                 "%s: %" PRIu64 " services given up, since at most %zu are remembered: "
                 "spans linked %" PRIu64,
                 self->env->id, services->forgotten, services->max, gone->linked);
    explain_reasons(gone, "not linked", 0, REASON_NOT_PROFILED, out);
    explain_reasons(gone, "forwarded unchanged", REASON_NOT_PROFILED, REASON_COUNT, out);
    bytes_printf(out, "\n");
}

void correlation_explain(void *instance, struct bytes *out)
{
    struct correlation *self = instance;
    if (!self->open)
        return;
    pthread_mutex_lock(&self->lock);
    correlation_publish_known(self);
    correlation_publish_hold(self);
    bytes_printf(out,
                 "%s: %zu span ids known, %" PRIu64 " evicted early; %" PRIu64
                 " spans in the hold, %.1f MiB\n",
                 self->env->id, (size_t)self->published.ids, (uint64_t)self->published.evicted,
                 (uint64_t)self->published.hold_spans,
                 (double)self->published.hold_bytes / (1 << 20));
    if (self->services.count <= EXPLAINED) {
        for (const struct service *each = NULL; (each = services_next(&self->services, each));)
            explain_service(self, each, out);
    } else {
        const struct service *top[EXPLAINED];
        size_t count = busiest(self, top);
        for (size_t i = 0; i < count; i++)
            explain_service(self, top[i], out);
        explain_others(self, top, count, out);
    }
    explain_gone(self, out);
    pthread_mutex_unlock(&self->lock);
    lanes_explain(self, out);
}
