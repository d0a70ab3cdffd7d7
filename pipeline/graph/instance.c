#include "pipeline/graph/instance.h"

#include "lib/settings/fill.h"
#include "pipeline/answered.h"
#include "pipeline/graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *component_kind_name(enum component_kind kind)
{
    static const char *const kinds[COMPONENT_KINDS] = {
        [COMPONENT_RECEIVER] = "receiver",
        [COMPONENT_PROCESSOR] = "processor",
        [COMPONENT_EXPORTER] = "exporter",
        [COMPONENT_EXTENSION] = "extension",
    };
    return kinds[kind];
}

struct instance *instance_new(const struct component *component, const char *section_name,
                              const struct node *section)
{
    struct instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return NULL;
    instance->component = component;
    instance->section = section;
    instance->id = strdup(section->key);
    instance->self = calloc(1, component->size ? component->size : 1);
    if (asprintf(&instance->path, "%s.%s", section_name, section->key) < 0)
        instance->path = NULL;
    instance->meter = meter_new(section->key);
    if (!instance->id || !instance->self || !instance->path || !instance->meter) {
        instance_free(instance);
        return NULL;
    }
    instance->env.id = instance->id;
    instance->env.kind = component_kind_name(component->kind);
    instance->env.meter = instance->meter;
    instance->env.instance = instance;
    return instance;
}

void instance_free(struct instance *instance)
{
    if (!instance)
        return;
    if (instance->self && instance->component->keys)
        keys_release(instance->component->keys, instance->self);
    free(instance->self);
    meter_unref(instance->meter);
    free(instance->id);
    free(instance->path);
    free(instance);
}

bool instance_fill(struct instance *instance, const struct node *place, struct problems *problems)
{
    static const struct key no_keys[] = {KEY_END};
    const struct component *component = instance->component;
    const struct key *keys = component->keys ? component->keys : no_keys;
    bool filled =
        keys_fill(keys, instance->section, place, instance->path, instance->self, problems);
    /* A faulty key has its default, so the checks across keys can be reported along with the
     * rest. */
    bool checked =
        !component->check || keys_check(component->check, instance->self, instance->section, place,
                                        instance->path, problems);
    return filled && checked;
}

static void report(const struct instance *instance, char *error, struct problems *problems)
{
    size_t n = key_path_length(error);
    if (n == 0) {
        problems_add(problems, instance->section, instance->path, "%s", error);
        return;
    }
    char path[1024];
    error[n] = '\0';
    const struct node *node = node_nearest(instance->section, error);
    snprintf(path, sizeof path, "%s.%s", instance->path, error);
    problems_add(problems, node ? node : instance->section, path, "%s", error + n + 2);
}

static uint64_t run_tick(void *ctx, uint64_t mono_ns)
{
    struct instance *instance = ctx;
    return instance->component->tick(instance->self, mono_ns);
}

/* Of a backlog. */
static struct batch *push_again(void *ctx, struct outlet *downstream, struct batch *batch)
{
    struct instance *processor = ctx;
    struct outlet into = {.processor = processor, .next = downstream, .pace = downstream->pace};
    const struct answered to = {.env = &processor->env, .outlet = &into};
    return answered_push(&to, batch);
}

static void wake_backlog(void *ctx, uint64_t mono_ns)
{
    struct instance *processor = ctx;
    if (processor->env.ticker)
        ticker_at(processor->env.ticker, &processor->again, mono_ns);
}

static uint64_t offer_again(void *ctx, uint64_t mono_ns)
{
    struct instance *processor = ctx;
    (void)mono_ns;
    backlog_offer_again(&processor->backlog);
    return TIME_NEVER;
}

static void begin_backlog(struct instance *processor)
{
    processor->backlog = (struct backlog){
        .env = &processor->env, .push = push_again, .wake = wake_backlog, .ctx = processor};
    backlog_begin(&processor->backlog);
    processor->again = (struct ticker_entry){.tick = offer_again, .ctx = processor};
    if (processor->env.ticker)
        ticker_add(processor->env.ticker, &processor->again);
}

static void end_backlog(struct instance *processor)
{
    if (processor->env.ticker)
        ticker_remove(processor->env.ticker, &processor->again);
    backlog_end(&processor->backlog);
}

void instance_keep(struct instance *processor, struct outlet *downstream, struct batch *batch)
{
    struct batch *kept = batch_with_payload(batch, buffer_ref(batch->payload), batch->items);
    if (kept)
        kept->admitted = false; /* its places are those of the request that is done with now */
    backlog_keep(&processor->backlog, downstream, kept ? kept : batch_ref(batch));
    batch_unref(batch);
}

bool instance_open(struct instance *instance, struct problems *problems)
{
    char error[512] = "";
    instance->opened = true;
    if (instance->component->kind == COMPONENT_PROCESSOR)
        begin_backlog(instance);
    if (instance->component->open &&
        !instance->component->open(instance->self, &instance->env, error, sizeof error)) {
        report(instance, error, problems);
        return false;
    }
    /* Not earlier: at a reload the ticker's thread is already running. */
    if (instance->component->tick && instance->env.ticker) {
        instance->tick.tick = run_tick;
        instance->tick.ctx = instance;
        ticker_add(instance->env.ticker, &instance->tick);
        ticker_at(instance->env.ticker, &instance->tick, 0);
    }
    return true;
}

void instance_close(struct instance *instance)
{
    if (!instance->opened)
        return;
    if (instance->component->tick && instance->env.ticker)
        ticker_remove(instance->env.ticker, &instance->tick);
    if (instance->component->kind == COMPONENT_PROCESSOR)
        end_backlog(instance);
    if (instance->component->close)
        instance->component->close(instance->self);
    instance->opened = false;
    instance->closed = true;
}
