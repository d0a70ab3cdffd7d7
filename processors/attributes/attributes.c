/* Changes attributes of spans, log records and data points. */
#include "lib/attributes/actions.h"
#include "lib/attributes/match.h"
#include "pipeline/batch_pass.h"
#include "pipeline/client_info.h"
#include "pipeline/component.h"

#include <stdio.h>

struct attributes_processor {
    struct match_settings include;
    struct match_settings exclude;
    bool includes, excludes;
    struct key_groups list; /* struct action_settings */
    struct actions *actions;
    bool reads_context;
    struct match *include_match, *exclude_match; /* NULL: none */
    struct key_sieve sieves[EDIT_LEVELS];
};

static const struct key attributes_keys[] = {
    KEY_SWITCHED(struct attributes_processor, include, struct match_settings, includes, "include",
                 match_keys, "which records are changed"),
    KEY_SWITCHED(struct attributes_processor, exclude, struct match_settings, excludes, "exclude",
                 match_keys, "which of these are not"),
    KEY_GROUPS(struct attributes_processor, list, struct action_settings, "actions", action_keys,
               "what is done to the attributes, in order"),
    KEY_END,
};

static void attributes_check(const void *instance, struct key_report *report)
{
    const struct attributes_processor *self = instance;
    if (self->includes)
        match_check(&self->include, "include", report);
    if (self->excludes)
        match_check(&self->exclude, "exclude", report);
    actions_check(&self->list, "actions", report);
}

static const char *attributes_misplaced(const void *instance, unsigned signals, bool *severe)
{
    const struct attributes_processor *self = instance;
    const char *wrong = NULL;
    *severe = true;
    for (int signal = 0; signal < SIGNAL_COUNT && !wrong; signal++) {
        if (!(signals & SIGNAL_BIT(signal)))
            continue;
        wrong = self->includes ? match_misplaced(&self->include, (enum signal)signal) : NULL;
        if (!wrong && self->excludes)
            wrong = match_misplaced(&self->exclude, (enum signal)signal);
    }
    return wrong;
}

static const char *attributes_header(const void *instance, size_t i)
{
    const struct attributes_processor *self = instance;
    return actions_header(&self->list, i);
}

static void attributes_alters(const void *instance, const struct attribute_of *attribute,
                              alteration_visit_fn *visit, void *ctx)
{
    const struct attributes_processor *self = instance;
    bool all = (!self->includes || match_takes_all(&self->include)) && !self->excludes;
    if (!attribute->resource && all)
        actions_alter(&self->list, "actions", view_of(attribute->what.key), visit, ctx);
}

static bool attributes_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct attributes_processor *self = instance;
    (void)env;
    self->actions = actions_new(&self->list, error, error_size);
    for (int level = EDIT_ITEM; self->actions && level < EDIT_LEVELS; level++)
        actions_sieve(self->actions, &self->sieves[level]);
    if (self->actions && self->includes)
        self->include_match = match_new(&self->include, error, error_size);
    if (self->actions && self->excludes)
        self->exclude_match = match_new(&self->exclude, error, error_size);
    if (self->actions && actions_read_context(self->actions))
        client_info_want(self->reads_context = true);
    return self->actions && (!self->includes || self->include_match) &&
           (!self->excludes || self->exclude_match);
}

static bool is_excluded(const struct attributes_processor *self, struct request_edit *at)
{
    return (self->include_match && !match_item(self->include_match, at)) ||
           (self->exclude_match && match_excludes(self->exclude_match, at));
}

static enum edit_verdict attributes_run(const struct pass_step *step, struct request_edit *at,
                                        enum edit_level level)
{
    const struct attributes_processor *self = step->self;
    static const struct request_context nothing;
    if ((self->includes || self->excludes) && level == EDIT_ITEM && is_excluded(self, at))
        return EDIT_SKIP;
    if (level == EDIT_ITEM && at->signal == SIGNAL_METRICS)
        return EDIT_KEEP;
    struct attributes *list = record_sought(&at->records[level]);
    if (self->reads_context) {
        const struct request_context context = batch_context(step->batch);
        actions_run(self->actions, &context, list);
    } else {
        actions_run(self->actions, &nothing, list);
    }
    return EDIT_KEEP;
}

static bool attributes_step(void *instance, const struct batch *batch, struct pass_step *step)
{
    const struct attributes_processor *self = instance;
    step->levels =
        EDIT_BIT(EDIT_ITEM) | (batch->signal == SIGNAL_METRICS ? EDIT_BIT(EDIT_POINT) : 0);
    step->run = attributes_run;
    if (!self->includes && !self->excludes)
        step->sieves = self->sieves;
    return true;
}

static void attributes_close(void *instance)
{
    struct attributes_processor *self = instance;
    if (self->reads_context)
        client_info_want(self->reads_context = false);
    actions_free(self->actions);
    match_free(self->include_match);
    match_free(self->exclude_match);
    self->actions = NULL;
    self->include_match = self->exclude_match = NULL;
}

const struct component processor_attributes = {
    .type = "attributes",
    .text = "changes attributes of spans, log records and data points",
    .stability = "beta",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_METRICS) | SIGNAL_BIT(SIGNAL_LOGS),
    .size = sizeof(struct attributes_processor),
    .keys = attributes_keys,
    .check = attributes_check,
    .header = attributes_header,
    .alters = attributes_alters,
    .misplaced = attributes_misplaced,
    .misplaced_refused = true,
    .open = attributes_open,
    .step = attributes_step,
    .close = attributes_close,
};
