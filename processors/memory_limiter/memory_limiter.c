/* Sets the process's memory budget; data pass through. Requests are refused at the intake. */
#include "pipeline/component.h"
#include "pipeline/memory_limit.h"

struct limiter {
    struct memory_limit_settings settings;
    const struct env *env;
};

#define ROWS(name, text)                                                                           \
    {                                                                                              \
        METRIC_ROW(name "_spans", METRIC_COUNTER, METRIC_BASIC, "{spans}", "Spans " text),         \
            METRIC_ROW(name "_metric_points", METRIC_COUNTER, METRIC_BASIC, "{datapoints}",        \
                       "Metric points " text),                                                     \
            METRIC_ROW(name "_log_records", METRIC_COUNTER, METRIC_BASIC, "{records}",             \
                       "Log records " text),                                                       \
            METRIC_ROW(name "_profile_samples", METRIC_COUNTER, METRIC_BASIC, "{samples}",         \
                       "Profile samples " text)                                                    \
    }

static const struct metric accepted[SIGNAL_COUNT] =
    ROWS("otelcol_processor_memory_limiter_accepted", "that were passed on.");
static const struct metric refused[SIGNAL_COUNT] =
    ROWS("otelcol_processor_memory_limiter_refused", "that exceeded the memory budget.");

static bool limiter_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct limiter *self = instance;
    (void)error;
    (void)error_size;
    self->env = env;
    return true;
}

static enum verdict limiter_consume(void *self, struct batch *batch, struct outlet *next)
{
    (void)self;
    return outlet_push(next, batch);
}

static void limiter_measure(void *instance, struct metrics *metrics)
{
    const struct meter *meter = ((const struct limiter *)instance)->env->meter;
    for (int signal = 0; signal < SIGNAL_COUNT; signal++) {
        uint64_t passed = meter_get(meter, METER_OUTGOING, signal);
        uint64_t not_passed = meter_get(meter, METER_REFUSED, signal);
        if (passed + not_passed)
            metrics_add(metrics, &accepted[signal], (double)passed, NO_LABELS);
        if (not_passed)
            metrics_add(metrics, &refused[signal], (double)not_passed, NO_LABELS);
    }
}

static size_t limiter_limit(const void *self, size_t total)
{
    return memory_limit_of(self, total);
}

const struct component processor_memory_limiter = {
    .type = "memory_limiter",
    .text = "sets the memory budget of the process",
    .stability = "beta",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNALS_ALL,
    .size = sizeof(struct limiter),
    .keys = memory_limit_keys,
    .check = memory_limit_check,
    .open = limiter_open,
    .consume = limiter_consume,
    .measure = limiter_measure,
    .memory_limit = limiter_limit,
};
