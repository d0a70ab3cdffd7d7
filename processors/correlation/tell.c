#include "processors/correlation/tell.h"

#include "lib/settings/key.h"
#include "lib/wire/proto/proto_scan.h"
#include "lib/wire/proto/text.h"
#include "pipeline/watch_texts.h"
#include "processors/correlation/known/uploads.h"
#include "processors/correlation/rule/labels.h"
#include "processors/correlation/rule/waiting.h"

#include <stdio.h>
#include <time.h>

enum { SAMPLES_AT_ONCE = 128 };

static const struct watch_reason reasons[REASON_COUNT] = {
    [REASON_NO_SAMPLE] = {"no_sample",
                          "The profiles of its time have arrived, and none of their samples names "
                          "it: the profiler did not catch it computing.",
                          NULL},
    [REASON_HOLD_RAN_OUT] = {"hold_ran_out",
                             "It waited as long as a profile of its time may take, and none that "
                             "names it came.",
                             NULL},
    [REASON_NO_PARENT] = {"no_parent",
                          "No sample names it, and its local root had no link when it was decided.",
                          NULL},
    [REASON_NO_IDS] = {NULL, NULL, NULL}, /* see labels.h */
    [REASON_UNMATCHED] = {"ids_unmatched",
                          "The samples of its service name spans, but none that has come here.",
                          "Let the profiler take the span ids from the tracer provider that "
                          "exports the spans, as 16 hex digits, and sample spans only after "
                          "this process."},
    [REASON_NOT_PROFILED] = {"not_profiled", "No profile of its service was accepted.",
                             "Start the profiler in the service and send its profiles here, under "
                             "the same service name as its spans. Where it runs, see in its log "
                             "and in that of spanlink whether they are refused."},
    [REASON_FORMAT] = {"format",
                       "Its service's profiles come in a format whose span ids cannot be read.",
                       "Send pprof, JFR with the OpenTelemetry extension, or OTLP profiles."},
    [REASON_BEFORE_START] = {"before_start",
                             "By its own time it started before spanlink did, so profiles of "
                             "its time may have been missed.",
                             NULL},
    [REASON_FORGOTTEN] = {"forgotten", "Samples that named it may have been forgotten since.",
                          "Raise index_max_mib or remember of the correlation processor."},
    [REASON_HOLD_FULL] =
        {"hold_full", "The hold was full, and it was the oldest span that waited.",
         "Raise hold_max_mib, or hold_max_spans if that is set, of the correlation "
         "processor, or the memory limit."},
    [REASON_CROWDED] = {"too_many_services",
                        "More services sent spans than are remembered (10,000, or what the memory "
                        "limit allows), and no profile of its own had come.",
                        "See whether service.name has values that never end, such as the name of a "
                        "pod or job, and give these one name."},
    [REASON_NAMES_DIFFER] = {"names_differ",
                             "Samples with the ids of its spans came under another service name.",
                             WATCH_NAMES_FIX},
    [REASON_TENANTS_DIFFER] = {"tenants_differ",
                               "Samples with the ids of its spans came from another tenant.",
                               "Give the profiler the same X-Scope-OrgID as the exporter of the "
                               "traces."},
    [REASON_SHUTDOWN] = {"shutdown",
                         "A reload replaced the correlation processor, or the process stopped, "
                         "before it could be judged.",
                         NULL},
};

#define UNSYMBOLIZED                                                                               \
    " Samples of its service without symbols do not count: a Pyroscope server shows none of "      \
    "them, "                                                                                       \
    "unless it symbolizes."
#define UNSYMBOLIZED_FIX                                                                           \
    "Set symbolizer: true of the correlation processor if the server runs with "                   \
    "-symbolizer.enabled, or if there is none. Otherwise have the profiler resolve symbols."

/* The same of a service of which samples without symbols name spans. */
static const struct watch_reason unsymbolized[REASON_COUNT] = {
    [REASON_NO_SAMPLE] = {"no_sample",
                          "The profiles of its time have arrived, and no sample that counts names "
                          "it." UNSYMBOLIZED,
                          UNSYMBOLIZED_FIX},
    [REASON_HOLD_RAN_OUT] = {"hold_ran_out",
                             "It waited as long as a profile of its time may take, and no sample "
                             "that counts and names it came." UNSYMBOLIZED,
                             UNSYMBOLIZED_FIX},
    [REASON_NO_IDS] = {"no_ids", "No sample of its service that counts names a span." UNSYMBOLIZED,
                       UNSYMBOLIZED_FIX},
};

/* Of a span that would have been known of without the reload that opened this instance, if it had
 * another before. */
static const struct watch_reason before_reload = {
    "before_start", WATCH_BEFORE_RELOAD ", so profiles of its time may have been missed.", NULL};

/* Of a service whose profiler seems to have stopped. */
static const struct watch_reason silent = {
    "hold_ran_out", WATCH_SILENT,
    "See whether its service's profiler still runs and can reach this process."};

/* Of spans that samples name, and that are no local roots. */
#define NO_ROOT                                                                                    \
    "Samples name it, and it was forwarded without a link, for it is no local root, and "
static const struct watch_reason roots_linked = {
    "came_late", NO_ROOT "`link` of the correlation processor is `local_root`.",
    "Set `link: confirmed` or `link: all`, if such spans are to have links."};
static const struct watch_reason roots_wait = {
    "came_late", NO_ROOT "`candidates` of the correlation processor is `local_root`.",
    "Set `candidates: auto` or `candidates: all`, if such spans are to have links."};

static const struct watch_reason *roots_only(const struct correlation *self)
{
    if (self->config.link != LINK_CONFIRMED)
        return self->config.link == LINK_LOCAL_ROOT ? &roots_linked : NULL;
    return self->config.candidates == CANDIDATES_LOCAL_ROOT ? &roots_wait : NULL;
}

/* Whether only a reload is why nothing was known yet when a span started. */
static bool is_before_reload(const struct context *context, const struct candidate *candidate)
{
    const struct correlation *self = context->self, *top = self->top ? self->top : self;
    uint64_t early = candidate->early * EARLY_UNIT;
    uint64_t started = candidate->started ? candidate->started : self->since - early;
    return top->reloaded && started >= *top->first_since && started < top->started;
}

static const struct watch_reason *reason_of(const struct context *context,
                                            const struct candidate *candidate,
                                            enum judge_reason reason)
{
    if (reason == REASON_BEFORE_START && is_before_reload(context, candidate))
        return &before_reload;
    if (reason == REASON_HOLD_RAN_OUT && context->service && context->service->silent_since)
        return &silent;
    bool is_unsymbolized =
        context->service && context->service->unsymbolized && unsymbolized[reason].word;
    if (is_unsymbolized)
        return &unsymbolized[reason];
    if (reason == REASON_NO_IDS)
        return &labels_of(context->service ? context->service->language : NULL)->no_ids;
    return &reasons[reason];
}

const char *tell_word(enum judge_reason reason)
{
    return reason == REASON_NO_IDS ? "no_ids" : reasons[reason].word;
}

/* A local time as wall time. */
static uint64_t wall_of(struct judge_now now, uint64_t local)
{
    uint64_t age = now.mono > local ? now.mono - local : 0;
    return local && now.wall > age ? now.wall - age : 0;
}

/* The end of a span by its own clock: the local time is between the machine's boot and now, so its
 * start stands for what is not. 0: not known. */
static uint64_t ended_wall(struct judge_now now, const struct candidate *candidate)
{
    uint64_t ended = wall_of(now, candidate->ended);
    if (candidate->ahead && !candidate->started)
        return 0;
    bool clipped = candidate->ended <= 1 || candidate->started > ended;
    return candidate->started && clipped ? candidate->started : ended;
}

static struct watch_service watch_service_of(const struct service *service)
{
    if (!service)
        return (struct watch_service){0};
    return (struct watch_service){service->scope, service_name(service), service->language,
                                  service_tenant(service)};
}

/* How long spans of a service wait at most; 0: not known, as no profile has come. */
static uint64_t hold_told(const struct judge_known *known)
{
    bool is_known = known->profiled || (known->first_hold && known->hold != DURATION_AUTO);
    return is_known ? judge_longest(known) : 0;
}

void tell_decision(const struct context *context, const struct candidate *candidate,
                   const struct decision *decision)
{
    bool linked = decision->edit.action == ACTION_LINK;
    struct watch_decision told = {
        .span_id = candidate->own,
        .link_id = linked ? decision->edit.figures.id : 0,
        .service = watch_service_of(context->service),
        .action = linked                                   ? WATCH_LINKED
                  : decision->edit.action == ACTION_UNLINK ? WATCH_NOT_LINKED
                                                           : WATCH_AS_CAME,
        .unproven = linked && context->self->config.link != LINK_CONFIRMED,
        .reason = linked ? NULL : reason_of(context, candidate, decision->reason),
        .ended = ended_wall(context->now, candidate),
        .arrived = wall_of(context->now, candidate->arrived),
        .decided = context->now.wall,
        .hold = hold_told(&context->known),
        .lane = context->self->lane,
    };
    watch_decided(context->self->env->watch, &told);
}

/* Samples on their way to the watchers: those that name the same span are merged, most of them. */
struct samples {
    struct watch *watch;
    const struct watch_window *window;
    size_t count;
    struct watch_sample rows[SAMPLES_AT_ONCE];
    uint8_t last[256]; /* by hash of an id: the last such row + 1; 0: none */
};

static void samples_flush(struct samples *samples)
{
    if (samples->count)
        watch_sampled(samples->watch, samples->window, samples->rows, samples->count);
    samples->count = 0;
    memset(samples->last, 0, sizeof samples->last);
}

static bool samples_merge(struct watch_sample *row, const struct watch_sample *sample)
{
    if (row->id != sample->id || row->samples > UINT32_MAX - sample->samples)
        return false;
    row->samples += sample->samples;
    row->cpu_ns += sample->cpu_ns;
    row->wall_ns += sample->wall_ns;
    return true;
}

static void samples_add(struct samples *samples, const struct watch_sample *sample)
{
    uint8_t *last = &samples->last[sample->id * UINT64_C(0x9e3779b97f4a7c15) >> 56];
    if (*last && samples_merge(&samples->rows[*last - 1], sample))
        return;
    if (samples->count == SAMPLES_AT_ONCE)
        samples_flush(samples);
    samples->rows[samples->count++] = *sample;
    *last = (uint8_t)samples->count;
}

/* Samples of other kinds than CPU and wall time name their span, and count nowhere. */
static struct watch_sample sample_at(const struct upload *upload, size_t i)
{
    const struct span_figures *figures = &upload->ids[i];
    if (!kind_is_timed(upload->window.kind))
        return (struct watch_sample){.id = figures->id};
    return (struct watch_sample){figures->id, figures->samples, figures->cpu_ns,
                                 upload->wall_ns ? upload->wall_ns[i] : 0};
}

static void tell_rows(struct watch *watch, const struct watch_window *window,
                      const struct upload *upload, size_t from, size_t to)
{
    struct samples samples;
    samples.watch = watch;
    samples.window = window;
    samples.count = 0;
    samples_flush(&samples);
    for (size_t i = from; i < to; i++) {
        struct watch_sample sample = sample_at(upload, i);
        samples_add(&samples, &sample);
    }
    samples_flush(&samples);
}

/* What names no span, in one. */
static void tell_rest(struct watch *watch, const struct watch_window *window,
                      const struct upload *upload)
{
    struct watch_sample rest = {0, upload->rest.samples, upload->rest.cpu_ns, upload->rest_wall_ns};
    if (rest.samples || rest.wall_ns)
        watch_sampled(watch, window, &rest, 1);
}

void tell_upload(const struct context *context, const struct upload *upload, bool confirms)
{
    const struct correlation *self = context->self;
    struct judge_known known = evidence_known(context->service, context->service->processes,
                                              &self->rules, context->now.mono);
    struct watch *watch = self->env->watch;
    bool timed = kind_is_timed(upload->window.kind);
    struct watch_window window = {
        .service = watch_service_of(context->service),
        .kind = kind_name(upload->window.kind),
        .start = upload->window.start ? upload->window.start + upload->window.ahead : 0,
        .end = upload->window.end + upload->window.ahead,
        .arrived = context->now.wall,
        .lane = self->lane,
        .times_cpu = upload->times_cpu && timed,
        .beside = !confirms,
        .untimed = !confirms && !timed,
        .recalled = upload->recalled,
        .content = confirms ? 0 : upload->window.content ^ upload->window.labels,
        .upload = upload->unread ? 0 : upload->window.content ^ upload->window.labels,
        .source = self,
        .hold = hold_told(&known),
        .roots_only = roots_only(self),
    };
    watch_sampled(watch, &window, NULL, 0);
    tell_rows(watch, &window, upload, 0, upload->count);
    if (timed)
        tell_rest(watch, &window, upload);
    window.beside = true;
    window.content = 0;
    tell_rows(watch, &window, upload, upload->beside, upload->rows);
}

/* name of a Span, trace.proto. */
static struct view name_of(const struct held *held, const struct segment *segment)
{
    enum { SPAN_NAME = 5 };
    struct view span = {segment->bytes + held->at, held->size};
    return segment->packed ? VIEW("") : proto_find_bytes(span, SPAN_NAME);
}

bool correlation_waits(void *instance, uint64_t span_id, struct watch_waiting *waiting)
{
    struct correlation *self = instance;
    pthread_mutex_lock(&self->lock);
    struct judge_now now = correlation_now(self);
    const struct held *held = held_ids_first(&self->hold.ids, span_id);
    while (held && held->flags & HELD_GONE)
        held = held_ids_next(held);
    if (held) {
        const struct segment *segment = segment_of(held);
        struct service *service = segment->process->service;
        struct judge_known known =
            evidence_known(service, segment->process, &self->rules, now.mono);
        uint64_t due = judge_until(&known, held->end, segment->arrived, now.mono);
        snprintf(waiting->service, sizeof waiting->service, "%.*s",
                 VIEW_ARG(service_name(service)));
        snprintf(waiting->tenant, sizeof waiting->tenant, "%.*s",
                 VIEW_ARG(service_tenant(service)));
        text_cut(name_of(held, segment), waiting->name, sizeof waiting->name);
        waiting->ended = wall_of(now, held->end);
        waiting->arrived = wall_of(now, segment->arrived);
        waiting->due = due == UINT64_MAX ? 0 : now.wall + (due - now.mono);
    }
    pthread_mutex_unlock(&self->lock);
    return held || (!self->top && lanes_wait(self, span_id, waiting));
}

/* So many spans take about 100 us; a request may bring more at once. */
enum { VISITED_AT_ONCE = 2000, VISIT_PAUSE = 50000 }; /* ns */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Visits the live spans of a segment. */
static void visit_segment(const struct segment *segment, const struct judge_known *known,
                          struct judge_now now, size_t *left, watch_held_fn *visit, void *visitor)
{
    for (uint32_t i = segment->count; i-- > 0 && *left;) {
        const struct held *held = &segment->spans[i];
        if (held->flags & HELD_GONE)
            continue;
        uint64_t due = judge_until(known, held->end, segment->arrived, now.mono);
        struct watch_held told = {
            .span_id = held->own,
            .span = {segment->bytes + held->at, held->size},
            .service = service_name(segment->process->service),
            .due = due == UINT64_MAX ? 0 : now.wall + (due - now.mono),
        };
        visit(visitor, &told);
        --*left;
    }
}

/* Lets the data threads in, which find the mutex taken again unless they have time to wake up. */
static void visit_pause(struct correlation *self)
{
    const struct timespec pause = {.tv_nsec = VISIT_PAUSE};
    pthread_mutex_unlock(&self->lock);
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&self->lock);
}

bool correlation_visit(void *instance, size_t *left, watch_held_fn *visit, void *visitor)
{
    struct correlation *self = instance;
    const struct process *process = NULL;
    struct judge_known known = {0};
    bool all = true;
    pthread_mutex_lock(&self->lock);
    struct judge_now now = correlation_now(self);
    struct hold *hold = &self->hold;
    hold->unvisited = hold->newest;
    for (size_t pause = *left - least(*left, VISITED_AT_ONCE); hold->unvisited && *left;) {
        const struct segment *segment = hold->unvisited;
        hold->unvisited = segment->older;
        if (segment->process != process)
            known =
                evidence_known(segment->process->service, segment->process, &self->rules, now.mono);
        process = segment->process;
        if (segment->packed)
            all = false;
        else
            visit_segment(segment, &known, now, left, visit, visitor);
        if (*left <= pause && *left) {
            visit_pause(self);
            now = correlation_now(self);
            process = NULL;
            pause = *left - least(*left, VISITED_AT_ONCE);
        }
    }
    all = all && !hold->unvisited && *left;
    hold->unvisited = NULL;
    pthread_mutex_unlock(&self->lock);
    return (self->top || lanes_visit(self, left, visit, visitor)) && all;
}
