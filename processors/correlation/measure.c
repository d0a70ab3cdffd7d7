/* Metrics; reading them never takes the lock. */
#include "processors/correlation/correlation.h"

static const char *const reasons[REASON_COUNT] = {
    [REASON_NO_SAMPLE] = "no_sample",
    [REASON_HOLD_RAN_OUT] = "hold_ran_out",
    [REASON_NO_PARENT] = "local_root_not_linked",
    [REASON_NO_IDS] = "no_sample_names_a_span",
    [REASON_NOT_PROFILED] = "not_profiled",
    [REASON_FORMAT] = "profiles_unreadable",
    [REASON_BEFORE_START] = "started_before",
    [REASON_FORGOTTEN] = "samples_forgotten",
    [REASON_HOLD_FULL] = "hold_full",
    [REASON_SHUTDOWN] = "shutdown",
};

enum { OLDEST, SPANS };

const struct metric correlation_metrics[] = {
    [OLDEST] = METRIC_ROW("spanlink_hold_oldest_age_seconds", METRIC_GAUGE, METRIC_BASIC, "s",
                          "How long the oldest span in the hold has waited; 0 if it is empty."),
    [SPANS] = METRIC_ROW("spanlink_spans", METRIC_COUNTER, METRIC_BASIC, "{spans}",
                         "Spans by decision: linked, not_linked, or undecided (passed "
                         "unedited), with the reason."),
    METRIC_FIELD(struct correlation, published.hold_bytes, "spanlink_hold_bytes", METRIC_GAUGE,
                 METRIC_BASIC, "By", "Bytes of spans that wait for their samples."),
    METRIC_FIELD(struct correlation, published.hold_limit, "spanlink_hold_limit_bytes",
                 METRIC_GAUGE, METRIC_BASIC, "By", "Limit of these bytes (hold_max_mib)."),
    METRIC_FIELD(struct correlation, published.hold_spans, "spanlink_hold_spans", METRIC_GAUGE,
                 METRIC_BASIC, "{spans}", "Spans that wait for their samples."),
    METRIC_FIELD(struct correlation, published.ids, "spanlink_index_ids", METRIC_GAUGE,
                 METRIC_BASIC, "{ids}", "Span ids known from samples."),
    METRIC_FIELD(struct correlation, published.evicted, "spanlink_index_evictions", METRIC_COUNTER,
                 METRIC_BASIC, "{ids}", "Span ids evicted before they expired."),
    METRIC_FIELD(struct correlation, published.services, "spanlink_services", METRIC_GAUGE,
                 METRIC_NORMAL, "{services}", "Known services."),
    METRIC_HISTOGRAM_FIELD(struct correlation, published.delays, "spanlink_delay_seconds",
                           &histogram_waits, METRIC_NORMAL, "s",
                           "How long spans waited for their samples, seconds."),
    METRIC_END,
};

static void measure_set(_Atomic uint64_t *figure, uint64_t value)
{
    atomic_store_explicit(figure, value, memory_order_relaxed);
}

void correlation_publish_hold(struct correlation *self)
{
    const struct segment *oldest = self->hold.oldest;
    measure_set(&self->published.hold_bytes, self->hold.bytes);
    measure_set(&self->published.hold_spans, self->hold.spans);
    measure_set(&self->published.oldest, oldest ? oldest->arrived : 0);
}

void correlation_publish_known(struct correlation *self)
{
    measure_set(&self->published.ids, id_table_count(&self->index.table));
    measure_set(&self->published.evicted, self->index.table.evicted);
    measure_set(&self->published.services, self->services.count);
}

static void measure_counts(const uint64_t counts[TALLY_COUNTS], struct view service,
                           struct view tenant, struct metrics *metrics)
{
    const struct metric_label of = {"service", service}, by = {"tenant", tenant};
    if (counts[TALLY_LINKED])
        metrics_add(metrics, &correlation_metrics[SPANS], (double)counts[TALLY_LINKED],
                    METRIC_LABELS(of, by, {"class", VIEW("linked")}));
    for (int reason = 0; reason < REASON_COUNT; reason++) {
        uint64_t n = counts[TALLY_UNLINKED + reason];
        if (n)
            metrics_add(metrics, &correlation_metrics[SPANS], (double)n,
                        METRIC_LABELS(of, by,
                                      {"class", reason < REASON_NOT_PROFILED ? VIEW("not_linked")
                                                                             : VIEW("undecided")},
                                      {"reason", view_of(reasons[reason])}));
    }
}

void correlation_measure(void *instance, struct metrics *metrics)
{
    struct correlation *self = instance;
    const struct tallies *tallies = &self->services.tallies;
    struct tally_copy copy;
    uint64_t counts[TALLY_COUNTS];
    uint64_t oldest = atomic_load_explicit(&self->published.oldest, memory_order_relaxed);
    uint64_t mono = clock_mono(self->env->clock);
    metrics_add(metrics, &correlation_metrics[OLDEST],
                oldest && mono > oldest ? (double)(mono - oldest) / 1e9 : 0, NO_LABELS);
    for (unsigned i = 0; i < TALLY_SLOTS; i++)
        if (tally_read(tallies, i, &copy))
            measure_counts(copy.counts, copy.name, copy.tenant, metrics);
    for (unsigned i = 0; i < TALLY_COUNTS; i++)
        counts[i] = atomic_load_explicit(&tallies->others[i], memory_order_relaxed);
    measure_counts(counts, VIEW(TALLY_OTHERS), VIEW(""), metrics);
}
