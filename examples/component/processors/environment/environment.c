/* Adds the resource attribute deployment.environment.name to every resource that has none. */
#include "lib/wire/otlp/otlp.h"
#include "pipeline/batch_edit.h"
#include "pipeline/component.h"

#define ATTRIBUTE VIEW("deployment.environment.name")

/* Field numbers of opentelemetry-proto, the same in all three signals. */
enum { ENTRY_RESOURCE = 1, RESOURCE_ATTRIBUTES = 1 };

struct environment {
    char *name;
};

static const struct key environment_keys[] = {
    KEY_STRING(struct environment, name, "name", NULL, KEY_REQUIRED,
               "value of deployment.environment.name"),
    KEY_END,
};

/* The attribute as a field of a Resource; data NULL: no room, and the edit has failed. */
static struct view environment_attribute(const struct environment *self, struct batch_edit *edit)
{
    struct view value = view_of(self->name);
    uint8_t *start = batch_edit_alloc(edit, otlp_string_attribute_size(ATTRIBUTE, value));
    if (!start)
        return (struct view){0};
    return view_between(start,
                        otlp_string_attribute_put(start, RESOURCE_ATTRIBUTES, ATTRIBUTE, value));
}

/* entry: a ResourceSpans, ResourceMetrics or ResourceLogs. */
static void environment_add(struct splice *splice, const struct proto_field *entry,
                            struct view attribute)
{
    struct proto_field resource, found;
    if (!proto_find(entry->bytes, ENTRY_RESOURCE, WIRE_LEN, &resource) ||
        otlp_attribute_find(resource.bytes, RESOURCE_ATTRIBUTES, ATTRIBUTE, &found))
        return;
    splice_enter(splice, entry);
    splice_enter(splice, &resource);
    splice_insert(splice, resource.end, attribute);
    splice_leave(splice);
    splice_leave(splice);
}

static enum verdict environment_consume(void *instance, struct batch *batch, struct outlet *next)
{
    struct batch_edit edit;
    struct otlp_walk walk;
    batch_edit_begin(&edit, batch);
    struct view attribute = environment_attribute(instance, &edit);
    otlp_walk_begin(&walk, batch->signal, edit.request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;)
        if (step == OTLP_RESOURCE && attribute.data)
            environment_add(&edit.splice, &walk.resource_entry, attribute);
    return batch_edit_push(&edit, next);
}

const struct component processor_environment = {
    .type = "environment",
    .text = "adds deployment.environment.name to resources that have none",
    .stability = "beta",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_METRICS) | SIGNAL_BIT(SIGNAL_LOGS),
    .size = sizeof(struct environment),
    .keys = environment_keys,
    .consume = environment_consume,
};
