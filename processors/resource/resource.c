/* Changes resource attributes. */
#include "lib/attributes/actions.h"
#include "pipeline/batch_pass.h"
#include "pipeline/component.h"

#include <stdio.h>

struct resource {
    struct key_groups attributes; /* struct action_settings */
    struct actions *actions;
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

static bool resource_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct resource *self = instance;
    (void)env;
    self->actions = actions_new(&self->attributes, error, error_size);
    return self->actions;
}

struct pass {
    const struct resource *self;
    struct action_context context;
};

static enum edit_verdict resource_step(void *ctx, struct request_edit *at, enum edit_level level)
{
    const struct pass *pass = ctx;
    actions_run(pass->self->actions, &pass->context, record_attributes(&at->records[level]));
    return EDIT_SKIP;
}

static enum verdict resource_consume(void *instance, struct batch *batch, struct outlet *next)
{
    struct pass pass = {.self = instance};
    if (batch->metadata) {
        pass.context.tenant = batch->metadata->tenant;
        pass.context.authorization = batch->metadata->authorization;
    }
    struct request_edit edit = {
        .levels = EDIT_BIT(EDIT_RESOURCE), .step = resource_step, .ctx = &pass};
    return batch_pass(batch, &edit, next);
}

static void resource_close(void *instance)
{
    struct resource *self = instance;
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
    .open = resource_open,
    .consume = resource_consume,
    .close = resource_close,
};
