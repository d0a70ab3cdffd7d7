#include "exporters/debug/kept.h"

#include "lib/base/log.h"
#include "lib/base/shown.h"
#include "pipeline/delivery/delivery.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { OUTPUT_CAP = 16 << 20, NAME_SHOWN = 100 };

enum verbosity { VERBOSITY_BASIC, VERBOSITY_NORMAL, VERBOSITY_DETAILED };
static const char *const verbosities[] = {"basic", "normal", "detailed", NULL};

struct debug_exporter {
    int verbosity;
    const struct env *env;
    pthread_mutex_t lock; /* guards the fields below */
    bool ready;
    struct span_profiles *profiles;
    struct kept_traces traces;
    struct output output;
};

static const struct key keys[] = {
    KEY_CHOICE(struct debug_exporter, verbosity, "verbosity", "basic", verbosities,
               "basic and normal: one line per batch; detailed: traces as trees, with the flame "
               "graphs of their spans"),
    KEY_IGNORED("sampling_initial", "accepted; everything is shown"),
    KEY_IGNORED("sampling_thereafter", "accepted; everything is shown"),
    KEY_IGNORED("use_internal_logger", "accepted; standard output is written"),
    KEY_IGNORED("output_paths", "accepted; standard output is written"),
    KEY_END,
};

static bool debug_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct debug_exporter *self = instance;
    self->env = env;
    self->profiles = span_profiles_new(env->budget);
    if (!self->profiles) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    self->output = (struct output)OUTPUT_OF(STDOUT_FILENO);
    pthread_mutex_init(&self->lock, NULL);
    self->ready = true;
    return true;
}

/* The service that a profile is of; empty: not known. */
static struct view service_of(const struct batch *batch)
{
    struct view service = {0};
    if (batch->series) {
        service = series_get(batch->series, VIEW("service_name"));
        if (!service.size)
            service = series_get(batch->series, VIEW("__name__"));
    }
    return service;
}

static void debug_write_line(const struct debug_exporter *self, const struct batch *batch,
                             struct bytes *out)
{
    bytes_printf(out, "%s: %u %s, %zu bytes", self->env->id, batch->items,
                 signal_items(batch->signal, batch->items), batch->payload->size);
    if (batch->series) {
        char name[NAME_SHOWN];
        shown_copy(service_of(batch), name, sizeof name);
        bytes_printf(out, " of %s", name);
    }
    bytes_append(out, "\n", 1);
}

/* Where the log has JSON lines, a text is one too, as the Collector's debug exporter writes it. */
static void debug_write(struct debug_exporter *self, enum signal signal, const struct bytes *text)
{
    struct bytes json;
    if (!text->size)
        return;
    const struct log_source source = {
        .id = self->env->id, .kind = self->env->kind, .signal = signal_name(signal)};
    bytes_init(&json, 2 * OUTPUT_CAP, NULL);
    struct view line = bytes_view(text);
    line.size -= line.data[line.size - 1] == '\n';
    bool is_json = log_format_json(line, &source, &json);
    output_write(&self->output, bytes_view(is_json ? &json : text), OUTPUT_PATIENCE_MS);
    bytes_release(&json);
}

static uint64_t debug_tick(void *instance, uint64_t now)
{
    struct debug_exporter *self = instance;
    struct bytes text;
    bytes_init(&text, OUTPUT_CAP, NULL);
    pthread_mutex_lock(&self->lock);
    uint64_t next = kept_traces_show(&self->traces, now, self->profiles, &text);
    debug_write(self, SIGNAL_TRACES, &text);
    pthread_mutex_unlock(&self->lock);
    bytes_release(&text);
    return next;
}

/* A hash of a profile, and of the labels and times it came with. */
static uint64_t profile_hash(const struct batch *batch)
{
    uint64_t hash = view_hash(buffer_view(batch->payload));
    if (batch->profile)
        hash = (hash ^ batch->profile->from_ns) * UINT64_C(0x9e3779b97f4a7c15) ^
               batch->profile->until_ns;
    for (size_t i = 0; batch->series && i < batch->series->count; i++) {
        hash = hash * UINT64_C(0x9e3779b97f4a7c15) ^ view_hash(batch->series->labels[i].name);
        hash = hash * UINT64_C(0x9e3779b97f4a7c15) ^ view_hash(batch->series->labels[i].value);
    }
    return hash;
}

static void debug_read_profile(struct debug_exporter *self, const struct batch *batch, uint64_t now)
{
    struct view payload = buffer_view(batch->payload);
    if (span_profiles_repeats(self->profiles, profile_hash(batch)))
        return;
    span_profiles_at(self->profiles, now);
    if (batch->profile)
        span_profiles_cover(self->profiles, service_of(batch), batch->profile->from_ns,
                            batch->profile->until_ns);
    switch (batch->encoding) {
    case BATCH_PPROF:
        span_profiles_add(self->profiles, service_of(batch), payload);
        break;
    case BATCH_OTLP:
        span_profiles_add_otlp(self->profiles, payload);
        break;
    case BATCH_OPAQUE:
        span_profiles_add_ingest(self->profiles, service_of(batch), batch->opaque->query,
                                 batch->opaque->content_type, payload);
        break;
    }
}

static struct outcome debug_send(void *instance, struct batch *batch)
{
    struct debug_exporter *self = instance;
    bool detailed = self->verbosity == VERBOSITY_DETAILED;
    uint64_t now = clock_mono(self->env->clock);
    struct bytes text;
    bytes_init(&text, OUTPUT_CAP, NULL);
    pthread_mutex_lock(&self->lock);
    if (detailed && batch->signal == SIGNAL_PROFILES)
        debug_read_profile(self, batch, now);
    if (detailed && batch->signal == SIGNAL_TRACES)
        kept_traces_add(&self->traces, buffer_view(batch->payload), now, self->profiles, &text);
    else
        debug_write_line(self, batch, &text);
    debug_write(self, batch->signal, &text);
    pthread_mutex_unlock(&self->lock);
    bytes_release(&text);
    if (detailed && (batch->signal == SIGNAL_TRACES || batch->signal == SIGNAL_PROFILES))
        env_tick_at(self->env, now + NS_PER_S);
    return OUTCOME_OK;
}

static void debug_close(void *instance)
{
    struct debug_exporter *self = instance;
    if (!self->ready)
        return;
    debug_tick(self, TIME_NEVER);
    output_release(&self->output);
    span_profiles_free(self->profiles);
    pthread_mutex_destroy(&self->lock);
    self->ready = false;
}

static const struct delivery *debug_delivery(const void *instance)
{
    static const struct delivery settings = {
        .queue = {.enabled = true, .num_consumers = 1, .queue_size = 1000}};
    (void)instance;
    return &settings;
}

const struct component exporter_debug = {
    .type = "debug",
    .text = "human-readable telemetry on standard output",
    .stability = "beta",
    .kind = COMPONENT_EXPORTER,
    .signals = SIGNALS_ALL,
    .encodings = BATCH_BIT(BATCH_OTLP) | BATCH_BIT(BATCH_PPROF) | BATCH_BIT(BATCH_OPAQUE),
    .size = sizeof(struct debug_exporter),
    .keys = keys,
    .open = debug_open,
    .send = debug_send,
    .tick = debug_tick,
    .delivery = debug_delivery,
    .close = debug_close,
};
