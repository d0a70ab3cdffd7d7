#include "exporters/debug/debug.h"

#include "pipeline/delivery.h"
#include "wire/otlp.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_TRACES = 2000, MAX_SPANS = 20000, OUTPUT_CAP = 16 << 20 };

/* A trace is shown when nothing more of it came for this long. Local roots that are held for
 * their profile come after their children, so a trace without its root waits longer. */
static const uint64_t quiet_ns = NS_PER_S, rootless_ns = 60 * NS_PER_S;

enum verbosity { VERBOSITY_BASIC, VERBOSITY_NORMAL, VERBOSITY_DETAILED };
static const char *const verbosities[] = {"basic", "normal", "detailed", NULL};

struct debug_exporter {
    int verbosity;
    const struct env *env;
    pthread_mutex_t lock; /* over all below */
    bool ready;
    struct span_profiles *profiles;
    struct kept_trace *traces; /* the one seen last first */
    size_t trace_count;
    size_t span_count; /* of all traces, at most MAX_SPANS */
};

static const struct key keys[] = {
    KEY_CHOICE(struct debug_exporter, verbosity, "verbosity", "basic", verbosities,
               "basic and normal: a line a batch; detailed: traces as trees"),
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
    self->profiles = span_profiles_new();
    if (!self->profiles) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    pthread_mutex_init(&self->lock, NULL);
    self->ready = true;
    return true;
}

static void print(const struct bytes *text)
{
    size_t done = 0;
    while (done < text->size) {
        ssize_t n = write(STDOUT_FILENO, text->data + done, text->size - done);
        if (n <= 0)
            return;
        done += (size_t)n;
    }
}

static void print_line(const struct debug_exporter *self, const struct batch *batch)
{
    struct bytes line;
    bytes_init(&line, 4096, NULL);
    bytes_printf(&line, "%s: %u %s, %zu bytes", self->env->id, batch->items,
                 signal_items(batch->signal), batch->payload->size);
    if (batch->series) {
        struct view service = series_get(batch->series, VIEW("service_name"));
        if (!service.size)
            service = series_get(batch->series, VIEW("__name__"));
        bytes_printf(&line, " of %.*s", VIEW_ARG(service));
    }
    bytes_append(&line, "\n", 1);
    print(&line);
    bytes_release(&line);
}

/* Traces in detailed verbosity. */

static struct kept_trace *find_trace(struct debug_exporter *self, const uint8_t id[16])
{
    struct kept_trace **link = &self->traces;
    while (*link && memcmp((*link)->id, id, 16) != 0)
        link = &(*link)->next;
    struct kept_trace *trace = *link;
    if (trace) {
        *link = trace->next;
    } else if (self->trace_count < MAX_TRACES && (trace = calloc(1, sizeof *trace))) {
        memcpy(trace->id, id, 16);
        self->trace_count++;
    }
    if (trace) {
        trace->next = self->traces;
        self->traces = trace;
    }
    return trace;
}

static uint64_t id_of(struct view bytes)
{
    return bytes.size == 8 ? span_id_load(bytes.data) : 0;
}

static void keep_span(struct debug_exporter *self, const struct otlp_span *span,
                      struct view service)
{
    if (span->trace_id.size != 16)
        return;
    struct kept_trace *trace = find_trace(self, span->trace_id.data);
    if (!trace || self->span_count >= MAX_SPANS)
        return;
    if (trace->count == trace->capacity) {
        size_t capacity = trace->capacity ? trace->capacity * 2 : 8;
        struct kept_span *spans = realloc(trace->spans, capacity * sizeof *spans);
        if (!spans)
            return;
        trace->spans = spans;
        trace->capacity = capacity;
    }
    struct kept_span *kept = &trace->spans[trace->count++];
    self->span_count++;
    *kept = (struct kept_span){.id = id_of(span->span_id), .parent = id_of(span->parent_span_id),
                               .start_ns = span->start_ns, .end_ns = span->end_ns,
                               .local_root = otlp_span_is_local_root(span)};
    if (span->profile_id.data)
        span_id_parse(span->profile_id, &kept->profile);
    snprintf(kept->name, sizeof kept->name, "%.*s", VIEW_ARG(span->name));
    snprintf(kept->service, sizeof kept->service, "%.*s", VIEW_ARG(service));
    trace->last_seen = clock_mono(self->env->clock);
}

static void keep_spans(struct debug_exporter *self, struct view request)
{
    struct otlp_walk walk;
    struct otlp_span span;
    struct view service = {0};
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step == OTLP_RESOURCE) {
            service = otlp_resource_attribute(walk.resource_entry.bytes, VIEW("service.name"));
        } else if (step == OTLP_ITEM) {
            otlp_span_read(walk.item.bytes, &span);
            keep_span(self, &span, service);
        }
    }
    env_tick_at(self->env, clock_mono(self->env->clock) + quiet_ns);
}

static bool has_root(const struct kept_trace *trace)
{
    for (size_t i = 0; i < trace->count; i++)
        if (trace->spans[i].local_root)
            return true;
    return false;
}

static void show(struct debug_exporter *self, struct kept_trace *trace)
{
    struct bytes text;
    bytes_init(&text, OUTPUT_CAP, NULL);
    if (trace->count)
        tree_write(trace, self->profiles, &text);
    print(&text);
    bytes_release(&text);
    self->span_count -= trace->count;
    self->trace_count--;
    free(trace->spans);
    free(trace);
}

/* Shows all traces that are due at a time; returns when the next one will be. */
static uint64_t show_due(struct debug_exporter *self, uint64_t now)
{
    uint64_t next = TIME_NEVER;
    struct kept_trace **link = &self->traces;
    while (*link) {
        struct kept_trace *trace = *link;
        uint64_t due = trace->last_seen + (has_root(trace) ? quiet_ns : rootless_ns);
        if (due <= now) {
            *link = trace->next;
            show(self, trace);
        } else {
            next = due < next ? due : next;
            link = &trace->next;
        }
    }
    return next;
}

static uint64_t debug_tick(void *instance, uint64_t now)
{
    struct debug_exporter *self = instance;
    pthread_mutex_lock(&self->lock);
    uint64_t next = show_due(self, now);
    pthread_mutex_unlock(&self->lock);
    return next;
}

static struct outcome debug_send(void *instance, struct batch *batch)
{
    struct debug_exporter *self = instance;
    bool detailed = self->verbosity == VERBOSITY_DETAILED;
    if (detailed && batch->signal == SIGNAL_TRACES) {
        pthread_mutex_lock(&self->lock);
        keep_spans(self, buffer_view(batch->payload));
        pthread_mutex_unlock(&self->lock);
        return OUTCOME_OK;
    }
    if (detailed && batch->encoding == BATCH_PPROF) {
        pthread_mutex_lock(&self->lock);
        span_profiles_add(self->profiles, buffer_view(batch->payload));
        pthread_mutex_unlock(&self->lock);
    }
    print_line(self, batch);
    return OUTCOME_OK;
}

static void debug_close(void *instance)
{
    struct debug_exporter *self = instance;
    if (!self->ready)
        return;
    show_due(self, TIME_NEVER);
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
    .text = "telemetry for people, on standard output",
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
