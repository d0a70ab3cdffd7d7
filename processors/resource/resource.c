/* Changes resource attributes. */
#include "lib/attributes/actions.h"
#include "pipeline/batch_pass.h"
#include "pipeline/client_info.h"
#include "pipeline/component.h"

#include <stdio.h>

struct resource {
    struct key_groups attributes; /* struct action_settings */
    struct actions *actions;
    bool reads_context;
    struct key_sieve sieves[EDIT_LEVELS];
};

static const struct key resource_keys[] = {
    KEY_GROUPS(struct resource, attributes, struct action_settings, "attributes", action_keys,
               "what is done to the attributes of every resource, in order"),
    KEY_END,
};

static void resource_check(const void *instance, struct key_report *report)
{
    const struct resource *self = instance;
    actions_check(&self->attributes, "attributes", report);
}

static const char *resource_header(const void *instance, size_t i)
{
    const struct resource *self = instance;
    return actions_header(&self->attributes, i);
}

static void resource_alters(const void *instance, const struct attribute_of *attribute,
                            alteration_visit_fn *visit, void *ctx)
{
    const struct resource *self = instance;
    if (attribute->resource)
        actions_alter(&self->attributes, "attributes", view_of(attribute->what.key), visit, ctx);
}

static bool resource_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct resource *self = instance;
    (void)env;
    self->actions = actions_new(&self->attributes, error, error_size);
    if (self->actions)
        actions_sieve(self->actions, &self->sieves[EDIT_RESOURCE]);
    if (self->actions && actions_read_context(self->actions))
        client_info_want(self->reads_context = true);
    return self->actions;
}

static enum edit_verdict resource_run(const struct pass_step *step, struct request_edit *at,
                                      enum edit_level level)
{
    const struct resource *self = step->self;
    const struct request_context context = batch_context(step->batch);
    actions_run(self->actions, &context, record_sought(&at->records[level]));
    return EDIT_SKIP;
}

static bool resource_step(void *instance, const struct batch *batch, struct pass_step *step)
{
    const struct resource *self = instance;
    (void)batch;
    step->levels = EDIT_BIT(EDIT_RESOURCE);
    step->sieves = self->sieves;
    step->run = resource_run;
    return true;
}

static void resource_close(void *instance)
{
    struct resource *self = instance;
    if (self->reads_context)
        client_info_want(self->reads_context = false);
    actions_free(self->actions);
    self->actions = NULL;
}

const struct component processor_resource = {
    .type = "resource",
    .text = "changes resource attributes",
    .stability = "beta",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNALS_ALL,
    .size = sizeof(struct resource),
    .keys = resource_keys,
    .check = resource_check,
    .header = resource_header,
    .alters = resource_alters,
    .open = resource_open,
    .step = resource_step,
    .close = resource_close,
};
