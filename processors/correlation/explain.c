/* What it did and why, in lines for people. */
#include "processors/correlation/correlation.h"

#include <inttypes.h>

static const char *const reasons[REASON_COUNT] = {
    [REASON_NO_SAMPLE] = "no sample",
    [REASON_HOLD_RAN_OUT] = "hold ran out",
    [REASON_NO_PARENT] = "local root not linked",
    [REASON_NOT_PROFILED] = "not profiled",
    [REASON_FORMAT] = "profiles whose spans cannot be read",
    [REASON_BEFORE_START] = "started before spanlink",
    [REASON_HOLD_FULL] = "hold full",
    [REASON_SHUTDOWN] = "shutdown",
};

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

/* ", not linked 30 (no sample 28, hold ran out 2)" for reasons from first to before end. */
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
    uint64_t waiting = 0;
    for (const struct segment *each = service->oldest; each; each = each->service_newer)
        waiting += each->live;
    if (waiting > 0)
        bytes_printf(out, ", waiting %" PRIu64, waiting);
    if (counts->waited > 0)
        bytes_printf(out, "; delay added %.1f s on average over %" PRIu64 " spans, %.1f s at most",
                     seconds(counts->wait_sum) / (double)counts->waited, counts->waited,
                     seconds(counts->wait_max));
}

static void explain_windows(const struct service *service, struct judge_now now, struct bytes *out)
{
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        const struct windows *windows = &service->windows[kind];
        if (windows->count == 0)
            continue;
        uint64_t longest = windows->longest > windows->before ? windows->longest : windows->before;
        bytes_printf(out, "; %s windows of up to %.1f s", kind_name(kind), seconds(longest));
        if (windows->watermark && windows->watermark <= now.wall)
            bytes_printf(out, ", the last one ended %.1f s ago",
                         seconds(now.wall - windows->watermark));
    }
    if (service->unread)
        bytes_printf(out, "; sends profiles whose spans cannot be read: %s", service->unread_why);
}

static void explain_service(const struct correlation *self, const struct service *service,
                            struct bytes *out)
{
    const struct service_counts *counts = &service->counts;
    bytes_printf(out, "%s: service %.*s: spans linked %" PRIu64, self->env->id,
                 VIEW_ARG(service_name(service)), counts->linked);
    explain_reasons(counts, "not linked", 0, REASON_NOT_PROFILED, out);
    explain_reasons(counts, "left as they came", REASON_NOT_PROFILED, REASON_COUNT, out);
    explain_waiting(service, out);
    bytes_printf(out, "; %" PRIu64 " span ids in samples", counts->ids);
    if (counts->ids > counts->ids_met)
        bytes_printf(out, ", %" PRIu64 " of them without their span so far",
                     counts->ids - counts->ids_met);
    explain_windows(service, correlation_now(self), out);
    bytes_printf(out, "\n");
}

void correlation_explain(void *instance, struct bytes *out)
{
    struct correlation *self = instance;
    if (!self->open)
        return;
    pthread_mutex_lock(&self->lock);
    bytes_printf(out,
                 "%s: %zu span ids known, %" PRIu64 " given up early; %" PRIu64
                 " spans in the hold, %.1f MiB\n",
                 self->env->id, id_table_count(&self->index.table), self->index.table.evicted,
                 self->hold.spans, (double)self->hold.bytes / (1 << 20));
    for (const struct service *each = self->services.oldest; each; each = each->newer)
        explain_service(self, each, out);
    pthread_mutex_unlock(&self->lock);
}
