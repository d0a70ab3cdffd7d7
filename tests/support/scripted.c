#include "tests/support/scripted.h"

#include "pipeline/delivery/delivery.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SOURCES = 4 };

struct source {
    char *label;
    const struct env *env;
};

static pthread_mutex_t sources_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const struct env *env;
    unsigned order;
} sources[MAX_SOURCES];
static unsigned sources_opened;

static const struct key source_keys[] = {
    KEY_STRING(struct source, label, "label", "none", 0, "a text; \"refuse\" fails at open"),
    KEY_END,
};

static bool source_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct source *self = instance;
    if (strcmp(self->label, "refuse") == 0) {
        snprintf(error, error_size, "label: told to refuse");
        return false;
    }
    size_t i = 0;
    pthread_mutex_lock(&sources_lock);
    while (i < MAX_SOURCES && sources[i].env)
        i++;
    assert(i < MAX_SOURCES);
    sources[i].env = self->env = env;
    sources[i].order = ++sources_opened;
    pthread_mutex_unlock(&sources_lock);
    return true;
}

static void source_close(void *instance)
{
    struct source *self = instance;
    pthread_mutex_lock(&sources_lock);
    for (size_t i = 0; i < MAX_SOURCES; i++)
        if (self->env && sources[i].env == self->env)
            sources[i].env = NULL;
    pthread_mutex_unlock(&sources_lock);
    self->env = NULL;
}

const struct component scripted_source = {
    .type = "source",
    .text = "offers what a test gives it",
    .kind = COMPONENT_RECEIVER,
    .signals = SIGNALS_ALL,
    .encodings = BATCH_BIT(BATCH_OTLP),
    .size = sizeof(struct source),
    .keys = source_keys,
    .open = source_open,
    .close = source_close,
};

static void source_retire(void *instance)
{
    (void)instance;
}

const struct component scripted_guest = {
    .type = "guest",
    .text = "serves until it is closed",
    .kind = COMPONENT_RECEIVER,
    .signals = SIGNALS_ALL,
    .encodings = BATCH_BIT(BATCH_OTLP),
    .size = sizeof(struct source),
    .keys = source_keys,
    .open = source_open,
    .retire = source_retire,
    .close = source_close,
};

const struct component scripted_pprof = {
    .type = "pprof_source",
    .text = "the same for profiles",
    .kind = COMPONENT_RECEIVER,
    .signals = SIGNAL_BIT(SIGNAL_PROFILES),
    .encodings = BATCH_BIT(BATCH_PPROF),
    .size = sizeof(struct source),
    .keys = source_keys,
    .open = source_open,
    .close = source_close,
};

const struct component scripted_opaque = {
    .type = "opaque_source",
    .text = "the same for bodies that are forwarded",
    .kind = COMPONENT_RECEIVER,
    .signals = SIGNAL_BIT(SIGNAL_PROFILES),
    .encodings = BATCH_BIT(BATCH_OPAQUE),
    .size = sizeof(struct source),
    .keys = source_keys,
    .open = source_open,
    .close = source_close,
};

const struct env *source_env(const char *id)
{
    const struct env *latest = NULL;
    unsigned order = 0;
    pthread_mutex_lock(&sources_lock);
    for (size_t i = 0; i < MAX_SOURCES; i++)
        if (sources[i].env && strcmp(sources[i].env->id, id) == 0 && sources[i].order > order) {
            latest = sources[i].env;
            order = sources[i].order;
        }
    pthread_mutex_unlock(&sources_lock);
    return latest;
}

void answer_init(struct answer *answer)
{
    memset(answer, 0, sizeof *answer);
    pthread_mutex_init(&answer->lock, NULL);
    pthread_cond_init(&answer->came, NULL);
}

static void answered(void *ctx, const struct outcome *outcome)
{
    struct answer *answer = ctx;
    meter_add(answer->env->meter, METER_RECEIVED, SIGNAL_TRACES, 1);
    pthread_mutex_lock(&answer->lock);
    answer->outcome = *outcome;
    answer->count++;
    pthread_cond_broadcast(&answer->came);
    pthread_mutex_unlock(&answer->lock);
}

void source_offer(const char *id, struct batch *batch, struct answer *answer)
{
    source_offer_by(source_env(id), batch, answer);
}

void source_offer_by(const struct env *env, struct batch *batch, struct answer *answer)
{
    assert(env && env->intakes[batch->signal]);
    answer->env = env;
    intake_accept(env->intakes[batch->signal], batch, answered, answer);
    batch_unref(batch);
}

struct outcome answer_wait(struct answer *answer)
{
    pthread_mutex_lock(&answer->lock);
    while (answer->count == 0)
        pthread_cond_wait(&answer->came, &answer->lock);
    struct outcome outcome = answer->outcome;
    pthread_mutex_unlock(&answer->lock);
    return outcome;
}

struct holder {
    struct {
        struct batch *batch;
        struct outlet *next;
    } held[SINK_LOG];
    size_t count;
};

static bool keeps_all;

void holder_keeps(bool keeps)
{
    keeps_all = keeps;
}

static enum verdict holder_consume(void *instance, struct batch *batch, struct outlet *next)
{
    struct holder *self = instance;
    if (!keeps_all)
        return outlet_push(next, batch);
    assert(self->count < SINK_LOG);
    self->held[self->count].batch =
        batch_with_payload(batch, buffer_ref(batch->payload), batch->items);
    self->held[self->count].batch->admitted = false;
    self->held[self->count++].next = next;
    return VERDICT_OK;
}

static void holder_close(void *instance)
{
    struct holder *self = instance;
    for (size_t i = 0; i < self->count; i++) {
        outlet_push(self->held[i].next, self->held[i].batch);
        batch_unref(self->held[i].batch);
    }
    self->count = 0;
}

const struct component scripted_holder = {
    .type = "holder",
    .text = "passes, or holds until close",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNALS_ALL,
    .size = sizeof(struct holder),
    .consume = holder_consume,
    .close = holder_close,
};

struct sink_exporter {
    int64_t slot;
    struct delivery delivery;
};

static struct sink sinks[SINK_SLOTS] = {
    {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
    {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
    {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
    {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
};

static const struct key sink_keys[] = {
    KEY_INT(struct sink_exporter, slot, "slot", "0", 0, SINK_SLOTS - 1, "which script"),
    KEY_INT(struct sink_exporter, delivery.max_request_bytes, "max_request_bytes", "0", 0, 1e9,
            "larger requests are split"),
    KEY_GROUP(struct sink_exporter, delivery.queue, struct queue_settings, "sending_queue",
              queue_keys, "the queue"),
    KEY_GROUP(struct sink_exporter, delivery.retry, struct retry_settings, "retry_on_failure",
              retry_keys, "the retries"),
    KEY_END,
};

struct sink *sink_at(unsigned slot)
{
    return &sinks[slot];
}

static void sink_check(const void *config, struct key_report *report)
{
    delivery_check(&((const struct sink_exporter *)config)->delivery, report);
}

static struct outcome sink_send(void *instance, struct batch *batch)
{
    struct sink *sink = sink_at((unsigned)((struct sink_exporter *)instance)->slot);
    pthread_mutex_lock(&sink->lock);
    unsigned nth = (unsigned)sink->begun++;
    pthread_cond_broadcast(&sink->changed);
    while (sink->gated && !sink->aborted)
        pthread_cond_wait(&sink->changed, &sink->lock);
    struct outcome outcome = OUTCOME_OK;
    if (sink->gated)
        outcome = outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "aborted");
    else if (sink->script)
        outcome = sink->script(batch, nth);
    if (sink->count < SINK_LOG)
        sink->log[sink->count] = (struct sink_entry){batch->items, batch->payload->size, outcome};
    sink->count++;
    if (outcome.verdict == VERDICT_OK)
        sink->delivered += batch->items - outcome.rejected;
    pthread_cond_broadcast(&sink->changed);
    pthread_mutex_unlock(&sink->lock);
    return outcome;
}

static void sink_abort(void *instance)
{
    struct sink *sink = sink_at((unsigned)((struct sink_exporter *)instance)->slot);
    pthread_mutex_lock(&sink->lock);
    sink->aborted = true;
    pthread_cond_broadcast(&sink->changed);
    pthread_mutex_unlock(&sink->lock);
}

static const struct delivery *sink_delivery(const void *instance)
{
    return &((const struct sink_exporter *)instance)->delivery;
}

void sink_gate(struct sink *sink, bool gated)
{
    pthread_mutex_lock(&sink->lock);
    sink->gated = gated;
    pthread_cond_broadcast(&sink->changed);
    pthread_mutex_unlock(&sink->lock);
}

void sink_wait_begun(struct sink *sink, size_t begun)
{
    pthread_mutex_lock(&sink->lock);
    while (sink->begun < begun)
        pthread_cond_wait(&sink->changed, &sink->lock);
    pthread_mutex_unlock(&sink->lock);
}

void sink_wait_count(struct sink *sink, size_t count)
{
    pthread_mutex_lock(&sink->lock);
    while (sink->count < count)
        pthread_cond_wait(&sink->changed, &sink->lock);
    pthread_mutex_unlock(&sink->lock);
}

void sink_wait_delivered(struct sink *sink, uint64_t items)
{
    pthread_mutex_lock(&sink->lock);
    while (sink->delivered < items)
        pthread_cond_wait(&sink->changed, &sink->lock);
    pthread_mutex_unlock(&sink->lock);
}

const struct component scripted_sink = {
    .type = "sink",
    .alias = "sinkalias",
    .text = "answers by script",
    .kind = COMPONENT_EXPORTER,
    .signals = SIGNALS_ALL,
    .encodings = BATCH_BIT(BATCH_OTLP),
    .size = sizeof(struct sink_exporter),
    .keys = sink_keys,
    .check = sink_check,
    .send = sink_send,
    .abort = sink_abort,
    .delivery = sink_delivery,
};

const struct component scripted_taker = {
    .type = "taker",
    .text = "answers by script, whatever the encoding",
    .kind = COMPONENT_EXPORTER,
    .signals = SIGNALS_ALL,
    .encodings = BATCH_BIT(BATCH_OTLP) | BATCH_BIT(BATCH_PPROF) | BATCH_BIT(BATCH_OPAQUE),
    .size = sizeof(struct sink_exporter),
    .keys = sink_keys,
    .check = sink_check,
    .send = sink_send,
    .abort = sink_abort,
    .delivery = sink_delivery,
};
