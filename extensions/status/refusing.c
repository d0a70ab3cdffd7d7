#include "extensions/status/refusing.h"

#include "pipeline/life/rows.h"
#include "pipeline/meter.h"

#include <inttypes.h>

/* From when on a request in a queue waits for its backend, and for a slow one. */
#define WAIT_NS      (2 * NS_PER_S)
#define LONG_WAIT_NS (10 * NS_PER_S)

/* From when on after the last refusal memory that is free was not only so for a moment. */
#define OVER_NS (2 * NS_PER_S)

/* Attempts are at least so frequent, so that one that failed earlier is no reason. */
#define FAILED_NS (30 * NS_PER_S)

struct sentences {
    const struct budget *budget;
    const struct refusing_reason *reason;
    struct bytes *out;
};

static double mib(size_t bytes)
{
    return (double)bytes / (1 << 20);
}

/* Whether memory was short, and is no longer. */
static bool is_over(const struct admission_pressure *pressure, const struct budget *budget)
{
    return budget_used(budget) + budget->beyond < budget_threshold(budget) &&
           clock_wall(&clock_system) - pressure->last > OVER_NS;
}

static const char *advice_of(const struct refusing_reason *reason, bool over)
{
    if (reason->longest_ns)
        return "; if its backend is not slow, raise limit_mib of memory_limiter";
    if (reason->text.size)
        return "";
    return over ? "; none is refused any more: if that happens again, raise limit_mib of "
                  "memory_limiter"
                : "; raise limit_mib of memory_limiter";
}

/* Connections, which may be idle, if they take much of it. */
static void put_connections(const struct budget *budget, struct bytes *out)
{
    size_t connections = atomic_load_explicit(&budget->connections, memory_order_relaxed);
    if (connections > budget->limit / 8)
        bytes_printf(out, ", of that %.1f MiB by open connections,", mib(connections));
}

void refusing_put_cause(const struct admission_pressure *pressure, const struct budget *budget,
                        const struct refusing_reason *reason, struct bytes *out)
{
    if (pressure->cause != CAUSE_MEMORY) {
        bytes_printf(out, "%s: %s", cause_name(pressure->cause), pressure->text);
        return;
    }
    bool over = is_over(pressure, budget);
    if (reason->text.size)
        bytes_printf(out, "%.*s, and what %s for it %s ", VIEW_ARG(bytes_view(&reason->text)),
                     reason->past ? "waited" : "waits", reason->past ? "took" : "takes");
    bytes_printf(out, "memory (limit %.1f MiB: %.1f MiB in use%s", mib(budget->limit),
                 mib(budget_used(budget)), over ? " now" : "");
    put_connections(budget, out);
    bytes_printf(out, " and %.1f MiB beyond it, new requests are refused above %.1f MiB)%s",
                 mib(budget->beyond), mib(budget_threshold(budget)), advice_of(reason, over));
}

static void add_failing(void *ctx, const struct runtime_row *row)
{
    struct bytes *out = ctx;
    struct runtime_delivery state;
    if (!row->kind || !runtime_row_delivery(row, &state))
        return;
    if (state.failing_since || state.slow_ns || state.oldest_ns > LONG_WAIT_NS)
        bytes_printf(out, "%s%s", out->size ? " and " : "", row->name);
}

static void find_longest(void *ctx, const struct runtime_row *row)
{
    struct refusing_reason *reason = ctx;
    struct runtime_delivery state;
    if (!row->kind || !runtime_row_delivery(row, &state) || state.oldest_ns < WAIT_NS ||
        state.oldest_ns <= reason->longest_ns)
        return;
    reason->longest_ns = state.oldest_ns;
    bytes_clear(&reason->text);
    bytes_printf(&reason->text, "%s has waited %.0f s for its backend", row->name,
                 (double)state.oldest_ns / (double)NS_PER_S);
}

/* When requests began to be refused for memory. */
static void find_since(void *ctx, const struct runtime_row *row)
{
    struct refusing_reason *reason = ctx;
    struct admission_pressure pressure;
    if (row->kind && runtime_row_pressure(row, &pressure) && pressure.cause == CAUSE_MEMORY &&
        (!reason->since || pressure.since < reason->since))
        reason->since = pressure.since;
}

static void add_failed(void *ctx, const struct runtime_row *row)
{
    struct refusing_reason *reason = ctx;
    struct runtime_delivery state;
    char at[CLOCK_TEXT];
    if (!row->kind || !runtime_row_delivery(row, &state) || !state.failed ||
        state.failed + FAILED_NS < reason->since)
        return;
    uint64_t until = state.again ? state.again : state.failed;
    bytes_printf(&reason->text, "%s%s could not deliver until %s", reason->text.size ? " and " : "",
                 row->name, clock_text(until, at));
    reason->past = true;
}

void refusing_find_reason(struct runtime *runtime, struct refusing_reason *reason)
{
    *reason = (struct refusing_reason){0};
    bytes_init(&reason->text, 1024, NULL);
    runtime_rows(runtime, add_failing, &reason->text);
    if (reason->text.size) {
        bytes_printf(&reason->text, " cannot deliver in time");
        return;
    }
    runtime_rows(runtime, find_since, reason);
    if (reason->since)
        runtime_rows(runtime, add_failed, reason);
    if (!reason->text.size)
        runtime_rows(runtime, find_longest, reason);
}

static void tell_row(void *ctx, const struct runtime_row *row)
{
    struct sentences *sentences = ctx;
    struct bytes *out = sentences->out;
    struct admission_pressure pressure;
    char at[CLOCK_TEXT];
    if (!row->kind || !runtime_row_pressure(row, &pressure))
        return;
    bytes_printf(out, "%s%s: refusing requests since %s (%" PRIu64 "): ", out->size ? "; " : "",
                 row->name, clock_text(pressure.since, at), pressure.requests);
    refusing_put_cause(&pressure, sentences->budget, sentences->reason, out);
}

void refusing_tell(struct runtime *runtime, const struct budget *budget,
                   const struct refusing_reason *reason, struct bytes *out)
{
    struct sentences sentences = {budget, reason, out};
    runtime_rows(runtime, tell_row, &sentences);
}

void refusing_put(const struct runtime_row *row, const struct budget *budget,
                  const struct refusing_reason *reason, struct json *json)
{
    struct admission_pressure pressure;
    struct bytes text;
    if (!runtime_row_pressure(row, &pressure)) {
        json_null(json, "refusing");
        return;
    }
    bytes_init(&text, 1024, NULL);
    refusing_put_cause(&pressure, budget, reason, &text);
    json_open(json, "refusing", '{');
    json_time(json, "failing_since_unix_nano", pressure.since);
    json_number(json, "requests", pressure.requests);
    json_text(json, "error", bytes_view(&text));
    json_close(json, '}');
    bytes_release(&text);
}
