/* Metrics; reading them takes no lock that batches need. */
#include "processors/correlation/tell.h"

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

/* Changes a sum by what its part has changed. */
static void measure_set(_Atomic uint64_t *sum, uint64_t *part, uint64_t value)
{
    if (value == *part)
        return;
    atomic_fetch_add_explicit(sum, value - *part, memory_order_relaxed);
    *part = value;
}

void correlation_publish_hold(struct correlation *self)
{
    const struct segment *oldest = self->hold.oldest;
    struct correlation_published *sums = correlation_published(self);
    measure_set(&sums->hold_bytes, &self->part.hold_bytes, self->hold.bytes);
    measure_set(&sums->hold_spans, &self->part.hold_spans, self->hold.spans);
    atomic_store_explicit(&self->published.oldest, oldest ? oldest->arrived : 0,
                          memory_order_relaxed);
}

/* The services of lanes are among the instance's own, for their sums. */
void correlation_publish_known(struct correlation *self)
{
    struct correlation_published *sums = correlation_published(self);
    measure_set(&sums->ids, &self->part.ids, id_table_count(&self->index.table));
    measure_set(&sums->evicted, &self->part.evicted, self->index.table.evicted);
    if (!self->top)
        measure_set(&sums->services, &self->part.services, self->services.count);
}

void correlation_publish_none(struct correlation *self)
{
    struct correlation_published *sums = correlation_published(self);
    measure_set(&sums->hold_bytes, &self->part.hold_bytes, 0);
    measure_set(&sums->hold_spans, &self->part.hold_spans, 0);
    measure_set(&sums->ids, &self->part.ids, 0);
    atomic_store_explicit(&self->published.oldest, 0, memory_order_relaxed);
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
                                      {"reason", view_of(tell_word((enum judge_reason)reason))}));
    }
}

void correlation_measure(void *instance, struct metrics *metrics)
{
    struct correlation *self = instance;
    const struct tallies *tallies = self->services.tallies;
    struct tally_copy copy;
    uint64_t counts[TALLY_COUNTS];
    uint64_t oldest = atomic_load_explicit(&self->published.oldest, memory_order_relaxed);
    uint64_t mono = clock_mono(self->env->clock), lanes = lanes_oldest_age(self);
    uint64_t age = oldest && mono > oldest ? mono - oldest : 0;
    metrics_add(metrics, &correlation_metrics[OLDEST], (double)(age > lanes ? age : lanes) / 1e9,
                NO_LABELS);
    for (unsigned i = 0; i < TALLY_SLOTS; i++)
        if (tally_read(tallies, i, &copy))
            measure_counts(copy.counts, copy.name, copy.tenant, metrics);
    for (unsigned i = 0; i < TALLY_COUNTS; i++)
        counts[i] = atomic_load_explicit(&tallies->others[i], memory_order_relaxed);
    measure_counts(counts, VIEW(TALLY_OTHERS), VIEW(""), metrics);
}
