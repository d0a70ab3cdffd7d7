#include "bench/stage.h"

#include "lib/settings/fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void stage_fail(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static uint64_t read_wall(const struct clock *clock)
{
    return ((const struct stage_clock *)clock)->wall;
}

static uint64_t read_mono(const struct clock *clock)
{
    return ((const struct stage_clock *)clock)->mono;
}

void stage_clock_init(struct stage_clock *clock)
{
    *clock = (struct stage_clock){
        .clock = {.wall = read_wall, .mono = read_mono},
        .wall = UINT64_C(1767225600) * NS_PER_S,
        .mono = 1000 * NS_PER_S,
    };
}

void stage_clock_advance(struct stage_clock *clock, uint64_t ns)
{
    clock->wall += ns;
    clock->mono += ns;
}

static struct watch *stage_watcher;

void stage_watch(struct watch *watch)
{
    stage_watcher = watch;
}

void stage_open(struct stage *stage, const struct component *component, const char *yaml,
                const struct stage_clock *clock, struct budget *budget, struct outlet *next)
{
    struct problems problems = {0};
    char text[512], error[256] = "";
    snprintf(text, sizeof text, "yaml:{%s: %s}", component->type, yaml);
    struct settings_source source = {SETTINGS_FILE, text};
    *stage = (struct stage){0};
    meter_init(&stage->meter, component->type);
    stage->settings = settings_load(&source, 1, &problems);
    const struct node *section =
        stage->settings ? node_get(settings_root(stage->settings), component->type) : NULL;
    struct instance *instance = &stage->instance;
    instance->component = component;
    instance->meter = &stage->meter;
    instance->self = calloc(1, component->size);
    instance->env = (struct env){.id = component->type,
                                 .clock = &clock->clock,
                                 .budget = budget,
                                 .meter = &stage->meter,
                                 .watch = stage_watcher};
    if (!section || !instance->self ||
        !keys_fill(component->keys, section, section, component->type, instance->self, &problems))
        problems_print(&problems, stderr);
    if (problems.count || !component->open(instance->self, &instance->env, error, sizeof error))
        stage_fail(error);
    stage->outlet = (struct outlet){.processor = instance, .next = next};
}

void stage_close(struct stage *stage)
{
    struct instance *instance = &stage->instance;
    instance->component->close(instance->self);
    keys_release(instance->component->keys, instance->self);
    free(instance->self);
    settings_free(stage->settings);
}

void stage_offer(struct stage *stage, struct batch *batch)
{
    if (outlet_push(&stage->outlet, batch) != VERDICT_OK)
        stage_fail("a batch was not accepted");
    batch_unref(batch);
}

void stage_tick(struct stage *stage)
{
    const struct instance *instance = &stage->instance;
    instance->component->tick(instance->self, clock_mono(instance->env.clock));
}

static enum verdict count(void *self, struct batch *batch, struct outlet *next)
{
    struct stage_sink *sink = self;
    (void)next;
    sink->batches++;
    sink->items += batch->items;
    sink->bytes += batch->payload->size;
    if (sink->keeps) {
        batch_unref(sink->last);
        sink->last = batch_ref(batch);
    }
    return VERDICT_OK;
}

void stage_sink_init(struct stage_sink *sink)
{
    static const struct component counter = {
        .type = "sink", .kind = COMPONENT_PROCESSOR, .consume = count};
    *sink = (struct stage_sink){.instance = {.component = &counter, .self = sink}};
    sink->instance.meter = &sink->meter;
    sink->outlet.processor = &sink->instance;
}

uint64_t stage_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct stage_spread stage_spread(double *figures, size_t count)
{
    qsort(figures, count, sizeof *figures, by_size);
    double middle =
        count % 2 ? figures[count / 2] : (figures[count / 2 - 1] + figures[count / 2]) / 2;
    return (struct stage_spread){figures[0], middle, figures[count - 1]};
}
