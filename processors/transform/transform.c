/* Changes telemetry by OTTL statements. */
#include "lib/ottl/group.h"
#include "pipeline/answered.h"
#include "pipeline/batch_pass.h"
#include "pipeline/client_info.h"
#include "pipeline/component.h"

#include <stdio.h>
#include <stdlib.h>

struct transform {
    int error_mode;
    struct key_groups lists[SIGNAL_COUNT]; /* struct ottl_settings */
    struct ottl_group **groups[SIGNAL_COUNT];
    size_t counts[SIGNAL_COUNT];
    struct key_sieve sieves[SIGNAL_COUNT][EDIT_LEVELS];
    struct ottl_errors errors;
    const struct env *env;
    bool reads_client;
};

static const struct key group_keys[] = {
    KEY_LIST(struct ottl_settings, statements, "statements", NULL, "statements, run in order"),
    KEY_LIST(struct ottl_settings, conditions, "conditions", NULL,
             "the statements run if one of these holds, or if there are none"),
    KEY_STRING(struct ottl_settings, context, "context", NULL, 0,
               "resource, scope, span, spanevent, metric, datapoint, log or profile; default: the "
               "innermost context that a path names"),
    KEY_STRING(struct ottl_settings, error_mode, "error_mode", NULL, 0,
               "overrides the processor's error_mode"),
    KEY_END,
};

#define STATEMENTS(signal, key)                                                                    \
    KEY_SHORT_GROUPS(struct transform, lists[signal], struct ottl_settings, flat, key,             \
                     KEY_SHORT_LAST, group_keys, "OTTL statements, or groups of them")

static const struct key transform_keys[] = {
    KEY_CHOICE(
        struct transform, error_mode, "error_mode", "ignore", ottl_error_modes,
        "what to do if a statement fails: log it and go on, go on without logging, or refuse "
        "the request"),
    STATEMENTS(SIGNAL_TRACES, "trace_statements"),
    STATEMENTS(SIGNAL_METRICS, "metric_statements"),
    STATEMENTS(SIGNAL_LOGS, "log_statements"),
    STATEMENTS(SIGNAL_PROFILES, "profile_statements"),
    KEY_END,
};

static const char *const names[SIGNAL_COUNT] = {
    [SIGNAL_TRACES] = "trace_statements",
    [SIGNAL_METRICS] = "metric_statements",
    [SIGNAL_LOGS] = "log_statements",
    [SIGNAL_PROFILES] = "profile_statements",
};

/* The i-th group of a list. Where it is strings, groups came before them. */
static struct ottl_settings settings_of(const struct transform *self, int signal, size_t i)
{
    struct ottl_settings settings = ((const struct ottl_settings *)self->lists[signal].items)[i];
    settings.first = settings.flat ? i : 0;
    return settings;
}

static void transform_check(const void *instance, struct key_report *report)
{
    const struct transform *self = instance;
    for (int signal = 0; signal < SIGNAL_COUNT; signal++) {
        for (size_t i = 0; i < self->lists[signal].count; i++) {
            struct ottl_settings settings = settings_of(self, signal, i);
            char path[OTTL_PATH_SIZE];
            ottl_group_path(&settings, names[signal], i, path);
            ottl_group_check(&settings, (enum signal)signal, path, report);
        }
    }
}

/* Groups that are faulty are passed over: check has told what is wrong. */
static void transform_alters(const void *instance, const struct attribute_of *attribute,
                             alteration_visit_fn *visit, void *ctx)
{
    const struct transform *self = instance;
    enum edit_level level = attribute->resource ? EDIT_RESOURCE : EDIT_ITEM;
    for (size_t i = 0; i < self->lists[attribute->signal].count; i++) {
        struct ottl_settings settings = settings_of(self, (int)attribute->signal, i);
        char path[OTTL_PATH_SIZE], error[256];
        ottl_group_path(&settings, names[attribute->signal], i, path);
        struct ottl_group *group =
            ottl_group_new(&settings, attribute->signal, path, OTTL_SILENT, error, sizeof error);
        if (group)
            ottl_group_alter(group, level, &attribute->what, visit, ctx);
        ottl_group_free(group);
    }
}

static void want_client(struct transform *self, bool wanted)
{
    if (self->reads_client != wanted)
        client_info_want(self->reads_client = wanted);
}

static bool open_groups(struct transform *self, enum signal signal, char *error, size_t error_size)
{
    size_t count = self->lists[signal].count;
    char path[OTTL_PATH_SIZE];
    self->counts[signal] = count;
    self->groups[signal] = calloc(count + 1, sizeof(struct ottl_group *));
    snprintf(error, error_size, "out of memory");
    for (size_t i = 0; self->groups[signal] && i < count; i++) {
        struct ottl_settings settings = settings_of(self, signal, i);
        ottl_group_path(&settings, names[signal], i, path);
        self->groups[signal][i] = ottl_group_new(
            &settings, signal, path, (enum ottl_error_mode)self->error_mode, error, error_size);
        if (!self->groups[signal][i])
            return false;
        ottl_group_sieve(self->groups[signal][i], self->sieves[signal]);
        want_client(self, self->reads_client || ottl_group_reads_client(self->groups[signal][i]));
    }
    return self->groups[signal];
}

static bool transform_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct transform *self = instance;
    self->env = env;
    self->errors.id = env->id;
    self->errors.clock = env->clock;
    for (int signal = 0; signal < SIGNAL_COUNT; signal++)
        if (!open_groups(self, (enum signal)signal, error, error_size))
            return false;
    return true;
}

/* Whether b may run in the same walk as a, which comes first: it gives the same as two walks. What
 * b adds is nothing that a runs for. */
static bool share(const struct ottl_group *a, const struct ottl_group *b)
{
    enum ottl_context first = ottl_group_context(a), second = ottl_group_context(b);
    return !ottl_group_reaches_out(a) && !ottl_group_reaches_out(b) && !ottl_group_adds_items(b) &&
           first <= second && !(first == OTTL_METRIC && second == OTTL_DATAPOINT);
}

/* The groups from the first on that share a walk. */
static size_t sharing(struct ottl_group *const *groups)
{
    size_t count = 1;
    for (; groups[count]; count++)
        for (size_t i = 0; i < count; i++)
            if (!share(groups[i], groups[count]))
                return count;
    return count;
}

/* Groups that share one walk over a request. */
struct walk {
    struct transform *self;
    struct ottl_group *const *groups;
    size_t count;
};

static inline enum edit_verdict run_groups(const struct pass_step *step, const struct walk *walk,
                                           struct request_edit *at, enum edit_level level)
{
    for (size_t i = 0; i < walk->count; i++)
        if (ottl_group_run(walk->groups[i], level, at, &walk->self->errors) == EDIT_ABORT)
            return pass_refuse(step, at);
    return EDIT_KEEP;
}

static enum edit_verdict run_walk(const struct pass_step *step, struct request_edit *at,
                                  enum edit_level level)
{
    return run_groups(step, step->self, at, level);
}

static enum edit_verdict run_all(const struct pass_step *step, struct request_edit *at,
                                 enum edit_level level)
{
    struct transform *self = step->self;
    const struct walk walk = {self, self->groups[at->signal], self->counts[at->signal]};
    return run_groups(step, &walk, at, level);
}

static unsigned levels_of(struct ottl_group *const *groups, size_t count)
{
    unsigned levels = 0;
    for (size_t i = 0; i < count; i++)
        levels |= EDIT_BIT(ottl_level(ottl_group_context(groups[i])));
    return levels;
}

/* Whether a record of the batch is dropped if a statement fails. */
static bool may_lose(const struct batch *batch, struct ottl_group *const *groups, size_t count)
{
    bool may = false;
    for (size_t i = 0; batch->answered && i < count; i++)
        may = may || ottl_group_propagates(groups[i]);
    return may;
}

static void transform_lost(void *instance, const struct batch *batch, uint32_t items,
                           const char *why)
{
    const struct transform *self = instance;
    struct outcome outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "%s", why);
    answered_lose(self->env, batch, items, &outcome);
}

/* Where all groups share a walk, others may share it too. */
static bool transform_step(void *instance, const struct batch *batch, struct pass_step *step)
{
    struct transform *self = instance;
    struct ottl_group *const *groups = self->groups[batch->signal];
    size_t count = self->counts[batch->signal];
    for (size_t i = 0; i < count; i++)
        if (ottl_group_reaches_out(groups[i]) || ottl_group_adds_items(groups[i]))
            return false;
    step->levels = levels_of(groups, count);
    step->sieves = self->sieves[batch->signal];
    step->run = run_all;
    step->drops = may_lose(batch, groups, count);
    step->lost = transform_lost;
    return !count || sharing(groups) == count;
}

static enum pass_result run_one_walk(struct walk *walk, struct batch *batch, struct batch **result,
                                     struct pass_drops *lost)
{
    struct pass_step step = {
        .levels = levels_of(walk->groups, walk->count),
        .sieves = walk->self->sieves[batch->signal],
        .run = run_walk,
        .self = walk,
        .drops = may_lose(batch, walk->groups, walk->count),
    };
    struct pass_drops drops;
    for (size_t i = 0; i < walk->count; i++)
        step.reaches_out = step.reaches_out || ottl_group_reaches_out(walk->groups[i]);
    enum pass_result done = batch_pass_run(batch, &step, 1, result, &drops);
    if (drops.lost) {
        drops.lost += lost->lost;
        *lost = drops;
    }
    return done;
}

/* All walks, one after the other. */
static enum pass_result run_walks(struct transform *self, struct batch *given,
                                  struct batch **result, struct pass_drops *lost)
{
    struct ottl_group *const *groups = self->groups[given->signal];
    struct batch *batch = batch_ref(given), *made;
    enum pass_result done = PASS_DONE;
    while (*groups && done == PASS_DONE) {
        struct walk walk = {self, groups, sharing(groups)};
        done = run_one_walk(&walk, batch, &made, lost);
        batch_unref(batch);
        /* What was spliced may lie in several runs. */
        batch = done == PASS_DONE ? batch_flat(made) : NULL;
        batch_unref(made);
        if (done == PASS_DONE && !batch)
            done = PASS_NO_ROOM;
        groups += walk.count;
    }
    *result = batch;
    return done;
}

static enum verdict transform_consume(void *instance, struct batch *given, struct outlet *next)
{
    struct batch *batch;
    struct pass_drops lost = {0};
    if (given->encoding != BATCH_OTLP)
        return outlet_push(next, given);
    enum pass_result done = run_walks(instance, given, &batch, &lost);
    enum verdict verdict = done == PASS_DONE      ? outlet_push(next, batch)
                           : done == PASS_EMPTY   ? VERDICT_OK
                           : done == PASS_ABORTED ? VERDICT_REJECT
                                                  : VERDICT_RETRY;
    batch_unref(batch);
    if (verdict == VERDICT_OK && lost.lost)
        transform_lost(instance, given, lost.lost, lost.why);
    return verdict;
}

static void transform_close(void *instance)
{
    struct transform *self = instance;
    want_client(self, false);
    for (int signal = 0; signal < SIGNAL_COUNT; signal++) {
        for (size_t i = 0; self->groups[signal] && self->groups[signal][i]; i++)
            ottl_group_free(self->groups[signal][i]);
        free(self->groups[signal]);
        self->groups[signal] = NULL;
    }
}

static const struct metric transform_metrics[] = {
    METRIC_FIELD(struct transform, errors.count, "otelcol_processor_transform_errors",
                 METRIC_COUNTER, METRIC_BASIC, "{errors}",
                 "Statements and conditions that could not be evaluated."),
    METRIC_END,
};

const struct component processor_transform = {
    .type = "transform",
    .text = "changes telemetry by OTTL statements",
    .stability = "beta",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNALS_ALL,
    .size = sizeof(struct transform),
    .keys = transform_keys,
    .check = transform_check,
    .alters = transform_alters,
    .open = transform_open,
    .consume = transform_consume,
    .step = transform_step,
    .metrics = transform_metrics,
    .close = transform_close,
};
