/* Drops telemetry by OTTL conditions. */
#include "processors/filter/filter.h"

#include "pipeline/answered.h"
#include "pipeline/batch_pass.h"
#include "pipeline/client_info.h"
#include "pipeline/component.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIXED_MAX = 3 };

struct filter {
    int error_mode;
    struct key_list fixed[SIGNAL_COUNT][FIXED_MAX]; /* traces.span and its like */
    struct key_groups lists[SIGNAL_COUNT];          /* struct ottl_settings */
    struct filter_old old;
    struct ottl_group **groups[SIGNAL_COUNT];
    struct key_sieve sieves[SIGNAL_COUNT][EDIT_LEVELS];
    struct match_settings match_settings[SIGNAL_COUNT][2];
    struct match *matches[SIGNAL_COUNT][2]; /* include, exclude; NULL: none */
    struct ottl_errors errors;
    const struct env *env;
    bool reads_client;
    _Atomic uint64_t filtered[SIGNAL_COUNT];
};

/* traces.span and its like, in the order of struct filter's. */
static const struct fixed {
    const char *path;
    enum ottl_context context;
} fixed_lists[SIGNAL_COUNT][FIXED_MAX] = {
    [SIGNAL_TRACES] = {{"traces.resource", OTTL_RESOURCE},
                       {"traces.span", OTTL_SPAN},
                       {"traces.spanevent", OTTL_SPANEVENT}},
    [SIGNAL_METRICS] = {{"metrics.resource", OTTL_RESOURCE},
                        {"metrics.metric", OTTL_METRIC},
                        {"metrics.datapoint", OTTL_DATAPOINT}},
    [SIGNAL_LOGS] = {{"logs.resource", OTTL_RESOURCE}, {"logs.log_record", OTTL_LOG}},
    [SIGNAL_PROFILES] = {{"profiles.resource", OTTL_RESOURCE}, {"profiles.profile", OTTL_PROFILE}},
};

static const char *const names[SIGNAL_COUNT] = {
    [SIGNAL_TRACES] = "trace_conditions",
    [SIGNAL_METRICS] = "metric_conditions",
    [SIGNAL_LOGS] = "log_conditions",
    [SIGNAL_PROFILES] = "profile_conditions",
};

static const struct key group_keys[] = {
    KEY_LIST(struct ottl_settings, conditions, "conditions", NULL,
             "records are dropped if one of these holds"),
    KEY_STRING(struct ottl_settings, context, "context", NULL, 0,
               "resource, scope, span, spanevent, metric, datapoint, log or profile; default: of "
               "each condition, the innermost context that a path names"),
    KEY_STRING(struct ottl_settings, error_mode, "error_mode", NULL, 0,
               "overrides the processor's error_mode"),
    KEY_END,
};

#define FIXED(signal, i, key, line)                                                                \
    {                                                                                              \
        .name = key, .type = KEY_TYPE_LIST, .offset = offsetof(struct filter, fixed[signal][i]),   \
        .text = line                                                                               \
    }
#define RESOURCES "OTTL conditions on resources, dropped with all that they contain"

static const struct key span_keys[] = {
    KEY_SWITCHED(struct filter, old.span[0], struct match_settings, old.has_span[0], "include",
                 match_keys, "the old form: which spans stay"),
    KEY_SWITCHED(struct filter, old.span[1], struct match_settings, old.has_span[1], "exclude",
                 match_keys, "the old form: which of these go"),
    KEY_END,
};
static const struct key trace_keys[] = {
    FIXED(SIGNAL_TRACES, 0, "resource", RESOURCES),
    FIXED(SIGNAL_TRACES, 1, "span", "OTTL conditions on spans"),
    FIXED(SIGNAL_TRACES, 2, "spanevent", "OTTL conditions on span events"),
    KEY_END,
};
static const struct key metric_keys[] = {
    FIXED(SIGNAL_METRICS, 0, "resource", RESOURCES),
    FIXED(SIGNAL_METRICS, 1, "metric", "OTTL conditions on metrics"),
    FIXED(SIGNAL_METRICS, 2, "datapoint", "OTTL conditions on data points"),
    KEY_SWITCHED(struct filter, old.metric[0], struct filter_metrics, old.has_metric[0], "include",
                 filter_metrics_keys, "the old form: which metrics stay"),
    KEY_SWITCHED(struct filter, old.metric[1], struct filter_metrics, old.has_metric[1], "exclude",
                 filter_metrics_keys, "the old form: which of these go"),
    KEY_END,
};
static const struct key log_keys[] = {
    FIXED(SIGNAL_LOGS, 0, "resource", RESOURCES),
    FIXED(SIGNAL_LOGS, 1, "log_record", "OTTL conditions on log records"),
    KEY_SWITCHED(struct filter, old.log[0], struct filter_logs, old.has_log[0], "include",
                 filter_logs_keys, "the old form: which log records stay"),
    KEY_SWITCHED(struct filter, old.log[1], struct filter_logs, old.has_log[1], "exclude",
                 filter_logs_keys, "the old form: which of these go"),
    KEY_END,
};
static const struct key profile_keys[] = {
    FIXED(SIGNAL_PROFILES, 0, "resource", RESOURCES),
    FIXED(SIGNAL_PROFILES, 1, "profile", "OTTL conditions on profiles"),
    KEY_END,
};

#define CONDITIONS(signal, key)                                                                    \
    KEY_SHORT_GROUPS(struct filter, lists[signal], struct ottl_settings, flat, key, 0, group_keys, \
                     "OTTL conditions, or groups of them; records are dropped if one holds")

static const struct key filter_keys[] = {
    KEY_CHOICE(struct filter, error_mode, "error_mode", "ignore", ottl_error_modes,
               "what follows where a condition cannot be evaluated: it is logged and does not "
               "hold, it is not logged, or the request is refused"),
    CONDITIONS(SIGNAL_TRACES, "trace_conditions"),
    CONDITIONS(SIGNAL_METRICS, "metric_conditions"),
    CONDITIONS(SIGNAL_LOGS, "log_conditions"),
    CONDITIONS(SIGNAL_PROFILES, "profile_conditions"),
    KEY_SECTION("traces", trace_keys, "conditions by context"),
    KEY_SECTION("metrics", metric_keys, "conditions by context"),
    KEY_SECTION("logs", log_keys, "conditions by context"),
    KEY_SECTION("profiles", profile_keys, "conditions by context"),
    KEY_SECTION("spans", span_keys, "the old form"),
    KEY_END,
};

/* ---- what may be wrong ---- */

static bool has_old(const struct filter *self, enum signal signal)
{
    const struct filter_old *old = &self->old;
    switch (signal) {
    case SIGNAL_TRACES:
        return old->has_span[0] || old->has_span[1];
    case SIGNAL_METRICS:
        return old->has_metric[0] || old->has_metric[1];
    case SIGNAL_LOGS:
        return old->has_log[0] || old->has_log[1];
    case SIGNAL_PROFILES:
    case SIGNAL_COUNT:
        break;
    }
    return false;
}

static void check_signal(const struct filter *self, enum signal signal, struct key_report *report)
{
    const struct ottl_settings *settings = self->lists[signal].items;
    size_t fixed = 0, groups = self->lists[signal].count;
    const char *other = names[signal];
    char path[OTTL_PATH_SIZE];
    for (size_t i = 0; i < FIXED_MAX && fixed_lists[signal][i].path; i++) {
        if (self->fixed[signal][i].count && !fixed && !groups)
            other = fixed_lists[signal][i].path;
        fixed += self->fixed[signal][i].count;
        if (self->fixed[signal][i].count)
            ottl_conditions_check(&self->fixed[signal][i], fixed_lists[signal][i].context,
                                  fixed_lists[signal][i].path, report);
    }
    for (size_t i = 0; i < groups; i++) {
        ottl_group_path(&settings[i], names[signal], i, path);
        ottl_group_check(&settings[i], signal, path, report);
    }
    if ((fixed > 0) + (groups > 0) + has_old(self, signal) > 1)
        key_report_add(
            report, other,
            "conditions of this signal are also given in another form, expected one form");
}

static void filter_check(const void *instance, struct key_report *report)
{
    const struct filter *self = instance;
    for (int signal = 0; signal < SIGNAL_COUNT; signal++)
        check_signal(self, (enum signal)signal, report);
    filter_old_check(&self->old, report);
}

/* ---- making ---- */

static void want_client(struct filter *self, bool wanted)
{
    if (self->reads_client != wanted)
        client_info_want(self->reads_client = wanted);
}

static bool add_group(struct filter *self, enum signal signal, size_t *count,
                      const struct ottl_settings *settings, const char *path, char *error,
                      size_t error_size)
{
    struct ottl_group *group = ottl_group_new(
        settings, signal, path, (enum ottl_error_mode)self->error_mode, error, error_size);
    if (!group)
        return false;
    self->groups[signal][(*count)++] = group;
    ottl_group_sieve(group, self->sieves[signal]);
    want_client(self, self->reads_client || ottl_group_reads_client(group));
    return true;
}

static bool open_groups(struct filter *self, enum signal signal, char *error, size_t error_size)
{
    const struct ottl_settings *settings = self->lists[signal].items;
    size_t count = 0, most = self->lists[signal].count + FIXED_MAX + 1;
    self->groups[signal] = calloc(most, sizeof(struct ottl_group *));
    snprintf(error, error_size, "out of memory");
    if (!self->groups[signal])
        return false;
    for (size_t i = 0; i < FIXED_MAX; i++) {
        char context[16];
        snprintf(context, sizeof context, "%s", ottl_context_name(fixed_lists[signal][i].context));
        struct ottl_settings fixed = {.conditions = self->fixed[signal][i],
                                      .context = context,
                                      .error_mode = "",
                                      .flat = true};
        if (fixed.conditions.count && !add_group(self, signal, &count, &fixed,
                                                 fixed_lists[signal][i].path, error, error_size))
            return false;
    }
    for (size_t i = 0; i < self->lists[signal].count; i++) {
        char path[OTTL_PATH_SIZE];
        ottl_group_path(&settings[i], names[signal], i, path);
        if (!add_group(self, signal, &count, &settings[i], path, error, error_size))
            return false;
    }
    return true;
}

static bool open_old(struct filter *self, char *error, size_t error_size)
{
    const struct filter_old *old = &self->old;
    for (int i = 0; i < 2; i++) {
        bool has[SIGNAL_COUNT] = {[SIGNAL_TRACES] = old->has_span[i],
                                  [SIGNAL_METRICS] = old->has_metric[i],
                                  [SIGNAL_LOGS] = old->has_log[i]};
        self->match_settings[SIGNAL_TRACES][i] = old->span[i];
        self->match_settings[SIGNAL_METRICS][i] = filter_of_metrics(&old->metric[i]);
        self->match_settings[SIGNAL_LOGS][i] = filter_of_logs(&old->log[i]);
        for (int signal = 0; signal < SIGNAL_COUNT; signal++) {
            if (!has[signal])
                continue;
            self->matches[signal][i] =
                match_new(&self->match_settings[signal][i], error, error_size);
            if (!self->matches[signal][i])
                return false;
        }
    }
    return true;
}

static bool filter_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct filter *self = instance;
    self->env = env;
    self->errors.id = env->id;
    self->errors.clock = env->clock;
    for (int signal = 0; signal < SIGNAL_COUNT; signal++)
        if (!open_groups(self, (enum signal)signal, error, error_size))
            return false;
    return open_old(self, error, error_size);
}

/* ---- dropping ---- */

/* What include and exclude, of the old form, do with what the edit stands at. */
static enum edit_verdict filter_run_old(const struct pass_step *step, struct request_edit *at,
                                        enum edit_level level)
{
    const struct filter *self = step->self;
    struct match *const *matches = self->matches[at->signal];
    const struct match_settings *settings = self->match_settings[at->signal];
    bool metrics = at->signal == SIGNAL_METRICS;
    for (int i = 0; i < 2; i++) {
        if (!matches[i])
            continue;
        bool applies = !metrics || (level == EDIT_RESOURCE ? settings[i].resources.count
                                                           : settings[i].metric_names.count);
        bool found =
            level == EDIT_RESOURCE ? match_resource(matches[i], at) : match_item(matches[i], at);
        if (applies && found == (i == 1))
            return EDIT_DROP;
    }
    return EDIT_KEEP;
}

static enum edit_verdict filter_run(const struct pass_step *step, struct request_edit *at,
                                    enum edit_level level)
{
    struct filter *self = step->self;
    for (struct ottl_group *const *group = self->groups[at->signal]; *group; group++) {
        enum edit_verdict verdict = ottl_group_drops(*group, level, at, &self->errors);
        if (verdict != EDIT_KEEP)
            return verdict == EDIT_ABORT ? pass_refuse(step, at) : verdict;
    }
    return EDIT_KEEP;
}

static unsigned levels_of(const struct filter *self, enum signal signal)
{
    unsigned levels = 0;
    for (struct ottl_group *const *group = self->groups[signal]; *group; group++)
        levels |= ottl_group_drop_levels(*group);
    return levels;
}

static void filter_dropped(void *instance, enum signal signal, uint32_t items)
{
    struct filter *self = instance;
    atomic_fetch_add(&self->filtered[signal], items);
}

static void filter_lost(void *instance, const struct batch *batch, uint32_t items, const char *why)
{
    const struct filter *self = instance;
    struct outcome outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "%s", why);
    answered_lose(self->env, batch, items, &outcome);
}

static bool filter_step(void *instance, const struct batch *batch, struct pass_step *step)
{
    const struct filter *self = instance;
    enum signal signal = batch->signal;
    if (has_old(self, signal)) {
        step->levels =
            EDIT_BIT(EDIT_ITEM) | (signal == SIGNAL_METRICS ? EDIT_BIT(EDIT_RESOURCE) : 0);
        step->run = filter_run_old;
    } else {
        step->levels = levels_of(self, signal);
        step->sieves = self->sieves[signal];
        step->run = filter_run;
    }
    step->drops = true;
    step->dropped = filter_dropped;
    step->lost = filter_lost;
    return true;
}

static void filter_close(void *instance)
{
    struct filter *self = instance;
    want_client(self, false);
    for (int signal = 0; signal < SIGNAL_COUNT; signal++) {
        for (size_t i = 0; self->groups[signal] && self->groups[signal][i]; i++)
            ottl_group_free(self->groups[signal][i]);
        free(self->groups[signal]);
        self->groups[signal] = NULL;
        for (int i = 0; i < 2; i++) {
            match_free(self->matches[signal][i]);
            self->matches[signal][i] = NULL;
        }
    }
}

#define FILTERED(signal, name, unit, what)                                                         \
    METRIC_FIELD(struct filter, filtered[signal], "otelcol_processor_filter_" name "_filtered",    \
                 METRIC_COUNTER, METRIC_BASIC, unit, what " that were dropped.")

static const struct metric filtered_metrics[] = {
    FILTERED(SIGNAL_TRACES, "spans", "{spans}", "Spans"),
    FILTERED(SIGNAL_METRICS, "datapoints", "{datapoints}", "Data points"),
    FILTERED(SIGNAL_LOGS, "logs", "{records}", "Log records"),
    FILTERED(SIGNAL_PROFILES, "profiles", "{profiles}", "Profiles"),
    METRIC_END,
};

static const struct metric filter_metrics[] = {
    METRIC_FIELD(struct filter, errors.count, "otelcol_processor_filter_errors", METRIC_COUNTER,
                 METRIC_BASIC, "{errors}", "Conditions that could not be evaluated."),
    METRIC_END,
};

/* These have the label `filter` in place of `processor`, as the Collector's. */
static void filter_measure(void *instance, struct metrics *metrics)
{
    const struct filter *self = instance;
    metrics_scope(metrics, "filter", self->errors.id);
    metrics_add_fields(metrics, filtered_metrics, self);
}

static void filter_inherit(void *instance, const void *old)
{
    metrics_carry_fields(filtered_metrics, old, instance);
}

const struct component processor_filter = {
    .type = "filter",
    .text = "drops telemetry by OTTL conditions",
    .stability = "beta",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNALS_ALL,
    .size = sizeof(struct filter),
    .keys = filter_keys,
    .check = filter_check,
    .open = filter_open,
    .step = filter_step,
    .metrics = filter_metrics,
    .inherit = filter_inherit,
    .measure = filter_measure,
    .close = filter_close,
};
