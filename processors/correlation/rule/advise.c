#include "processors/correlation/rule/advise.h"

#include "lib/base/log.h"
#include "processors/correlation/rule/labels.h"

#include <inttypes.h>
#include <stdio.h>

#define EVERY_HOUR   (3600 * NS_PER_S)
#define EVERY_MINUTE (60 * NS_PER_S)
#define INFORMS      " "      /* begins a line that is no warning */
#define GATHERED_FOR NS_PER_S /* so that the first line has a number that says something */

/* Ends a line, replacing line breaks in names. */
static void end_line(struct bytes *advice, size_t from)
{
    for (size_t i = from; i < advice->size; i++)
        if (advice->data[i] == '\n')
            advice->data[i] = '?';
    if (advice->size > from)
        bytes_append(advice, "\n", 1);
}

/* Appends `"shop"`, with its tenant if it has one. */
static void say_name(struct bytes *out, struct view tenant, struct view name)
{
    bytes_printf(out, "\"%.*s\"", VIEW_ARG(name));
    if (tenant.size)
        bytes_printf(out, " of tenant \"%.*s\"", VIEW_ARG(tenant));
}

static void say_service(struct bytes *out, const struct service *service)
{
    bytes_printf(out, "service ");
    say_name(out, service_tenant(service), service_name(service));
}

/* Begins a line with the name of the instance. */
static void say(struct correlation *self, const char *before, const struct service *service)
{
    bytes_printf(&self->advice, "%s: %s", self->env->id, before);
    say_service(&self->advice, service);
}

/* Whether it may be logged again. */
static bool is_time(uint64_t *told, uint64_t every, uint64_t mono)
{
    if (*told && mono - *told < every)
        return false;
    *told = mono;
    return true;
}

/* The same line from several lanes is logged once: the instance has the last word. */
static bool may_advise(struct correlation *self, struct service *service, enum advice what,
                       uint64_t mono)
{
    struct correlation *top = self->top;
    if (!is_time(&service->advised[what], EVERY_HOUR, mono))
        return false;
    if (!top)
        return true;
    pthread_mutex_lock(&top->lock);
    mono = clock_mono(top->env->clock);
    struct service *sum =
        services_see(&top->services, service_tenant(service), service_name(service), mono);
    bool may = sum && is_time(&sum->advised[what], EVERY_HOUR, mono);
    pthread_mutex_unlock(&top->lock);
    return may;
}

void advise_names(struct correlation *self, struct service *profiled, const struct service *traced,
                  uint64_t mono)
{
    if (!may_advise(self, profiled, ADVICE_NAMES, mono))
        return;
    size_t from = self->advice.size;
    say(self, "samples of ", profiled);
    bytes_printf(&self->advice,
                 " carry the ids of spans of service \"%.*s\". A link needs one name "
                 "for both: %sset OTEL_SERVICE_NAME to that of the profiler. If both send one "
                 "name, a processor in front of this one changes it",
                 VIEW_ARG(service_name(traced)),
                 view_starts(service_name(traced), UNKNOWN_SERVICE)
                     ? ""
                     : "give the profiler the service.name of the traces (its application name), "
                       "or ");
    end_line(&self->advice, from);
}

static const char *or_no_tenant(const struct service *service)
{
    return service->tenant_size ? "" : " without a tenant";
}

void advise_tenants(struct correlation *self, struct service *profiled,
                    const struct service *traced, uint64_t mono)
{
    if (!may_advise(self, profiled, ADVICE_NAMES, mono))
        return;
    size_t from = self->advice.size;
    bool same_name = view_eq(service_name(profiled), service_name(traced));
    say(self, "samples of ", profiled);
    bytes_printf(&self->advice, "%s carry the ids of spans of ", or_no_tenant(profiled));
    say_service(&self->advice, traced);
    bytes_printf(&self->advice,
                 "%s. A link needs one tenant for both: give the %s the same X-Scope-OrgID%s as "
                 "the %s",
                 or_no_tenant(traced), traced->tenant_size ? "profiler" : "exporter of the traces",
                 same_name ? "" : " and service name",
                 traced->tenant_size ? "exporter of the traces" : "profiler");
    end_line(&self->advice, from);
}

void advise_no_ids(struct correlation *self, struct service *service, uint64_t mono)
{
    if (!may_advise(self, service, ADVICE_NO_IDS, mono))
        return;
    size_t from = self->advice.size;
    bool cpu = false;
    say(self, "", service);
    for (enum kind kind = 0; kind < KIND_OTHER; kind++)
        cpu |= service->timelines[kind] != NULL;
    if (cpu)
        bytes_printf(&self->advice,
                     " is profiled, but no sample of it has a span id, so no span is linked: %s",
                     labels_of(service->language)->way);
    else
        bytes_printf(&self->advice, " sends no profiles of a kind that confirms spans (CPU or "
                                    "wall, see confirm_by), so none is linked");
    end_line(&self->advice, from);
}

void advise_unmatched(struct correlation *self, struct service *service, uint64_t mono)
{
    const struct match *match = &service->match;
    if (!may_advise(self, service, ADVICE_UNMATCHED, mono))
        return;
    size_t from = self->advice.size;
    service->match.said = true;
    say(self, "", service);
    bytes_printf(
        &self->advice,
        " is profiled, but none of the last %" PRIu64
        " span ids in its samples is that of a span that came, and none of its last "
        "%" PRIu64 " spans has a sample, so no span is linked: see whether the profiler "
        "takes the ids from the tracer provider that exports the spans, whether its labels "
        "are their 16 hex digits, and whether spans are sampled before they come here",
        match->ids, match->spans);
    end_line(&self->advice, from);
}

void advise_ids_match(struct correlation *self, struct service *service, uint64_t mono)
{
    bool said = service->match.differ && service->match.said;
    match_note_found(&service->match, mono);
    if (!said)
        return;
    size_t from = self->advice.size;
    bytes_printf(&self->advice, INFORMS);
    say(self, "samples of ", service);
    bytes_printf(&self->advice, " name its spans now");
    end_line(&self->advice, from);
}

/* Appends "90 s" or "2 min". */
static void say_time(struct bytes *out, uint64_t ns)
{
    uint64_t seconds = ns / NS_PER_S;
    bytes_printf(out, seconds < 120 ? "%" PRIu64 " s" : "%" PRIu64 " min",
                 seconds < 120 ? seconds : seconds / 60);
}

void advise_silent(struct correlation *self, struct service *service, uint64_t mono)
{
    if (service->silent_since)
        return;
    size_t from = self->advice.size;
    service->silent_since = service->profiled_at;
    service->silent_said = may_advise(self, service, ADVICE_SILENT, mono);
    if (!service->silent_said)
        return;
    say(self, "no profile of ", service);
    bytes_printf(&self->advice, " has come for ");
    say_time(&self->advice, mono - service->silent_since);
    bytes_printf(&self->advice, ", while its spans go on, so they have no links: see whether its "
                                "profiler still runs and can reach this process");
    end_line(&self->advice, from);
}

void advise_profile_came(struct correlation *self, struct service *service, uint64_t mono)
{
    uint64_t since = service->silent_since;
    size_t from = self->advice.size;
    service->silent_since = 0;
    if (!since || !service->silent_said)
        return;
    bytes_printf(&self->advice, INFORMS);
    say(self, "profiles of ", service);
    bytes_printf(&self->advice, " come again, after ");
    say_time(&self->advice, mono > since ? mono - since : 0);
    end_line(&self->advice, from);
}

/* Returns how many spans left a full hold since that was last logged; 0: not yet again. */
static uint64_t spans_to_log(struct correlation *self, uint64_t spans, uint64_t mono)
{
    struct correlation *top = self->top;
    if (top) {
        pthread_mutex_lock(&top->lock);
        spans = spans_to_log(top, spans, clock_mono(top->env->clock));
        pthread_mutex_unlock(&top->lock);
        return spans;
    }
    self->hold_full += spans;
    if (!is_time(&self->hold_full_logged, EVERY_MINUTE, mono))
        return 0;
    spans = self->hold_full;
    self->hold_full = 0;
    return spans;
}

void advise_hold_full(struct correlation *self, uint64_t spans, bool by_budget, uint64_t mono)
{
    spans = spans_to_log(self, spans, mono);
    if (!spans)
        return;
    bytes_printf(&self->advice,
                 "%s: the hold is full, %" PRIu64 " spans were forwarded before their profiles "
                 "arrived: raise %s\n",
                 self->env->id, spans,
                 by_budget              ? "the memory budget (limit_mib of memory_limiter)"
                 : self->hold.max_spans ? "hold_max_spans or hold_max_mib"
                                        : "hold_max_mib");
}

static void sum_up(struct correlation *self, struct advice_sum *sum, struct view tenant,
                   struct view name, uint64_t count)
{
    sum->count += count;
    snprintf(sum->name, sizeof sum->name, "%.*s", VIEW_ARG(name));
    snprintf(sum->tenant, sizeof sum->tenant, "%.*s", VIEW_ARG(tenant));
    if (sum->due)
        return;
    sum->due = clock_mono(self->env->clock) + GATHERED_FOR;
    if (sum->logged && sum->due < sum->logged + EVERY_MINUTE)
        sum->due = sum->logged + EVERY_MINUTE;
    env_tick_at(self->env, sum->due);
}

/* Locks the instance that logs: its own lock is held. */
static struct correlation *lock_top(struct correlation *self)
{
    if (!self->top)
        return self;
    pthread_mutex_lock(&self->top->lock);
    return self->top;
}

static void unlock_top(struct correlation *self, struct correlation *top)
{
    if (top != self)
        pthread_mutex_unlock(&top->lock);
}

void advise_crowded(struct correlation *self, struct view tenant, struct view name, uint64_t spans)
{
    struct correlation *top = lock_top(self);
    sum_up(top, &top->crowded, tenant, name, spans);
    unlock_top(self, top);
}

void advise_window(struct correlation *self, const struct service *service)
{
    struct correlation *top = lock_top(self);
    sum_up(top, &top->wrong, service_tenant(service), service_name(service), 1);
    unlock_top(self, top);
}

/* Whether the sum is to be logged now. */
static bool is_due(struct advice_sum *sum, uint64_t mono)
{
    if (!sum->due || mono < sum->due)
        return false;
    sum->logged = mono;
    sum->due = 0;
    return true;
}

static uint64_t next_due(const struct advice_sum *sum)
{
    return sum->due ? sum->due : TIME_NEVER;
}

static void say_crowded(struct correlation *self)
{
    size_t from = self->advice.size;
    bytes_printf(&self->advice,
                 "%s: %" PRIu64
                 " spans were forwarded before their profiles could come, since more "
                 "than %zu services sent spans; the last of ",
                 self->env->id, self->crowded.count, self->services.count);
    say_name(&self->advice, view_of(self->crowded.tenant), view_of(self->crowded.name));
    bytes_printf(&self->advice, ". See whether service.name has values that never end, such as the "
                                "name of a pod or job");
    end_line(&self->advice, from);
    self->crowded.count = 0;
}

static void say_wrong(struct correlation *self)
{
    size_t from = self->advice.size;
    bytes_printf(&self->advice, "%s: %" PRIu64 " profiles, the last of service ", self->env->id,
                 self->wrong.count);
    say_name(&self->advice, view_of(self->wrong.tenant), view_of(self->wrong.name));
    bytes_printf(&self->advice,
                 ", last more than an hour or end in the future by their time and duration. Their "
                 "samples count, but nothing is learned from their times: see what sets time_nanos "
                 "and duration_nanos");
    end_line(&self->advice, from);
    self->wrong.count = 0;
}

uint64_t advise_minutely(struct correlation *self, uint64_t mono)
{
    pthread_mutex_lock(&self->lock);
    if (is_due(&self->crowded, mono))
        say_crowded(self);
    if (is_due(&self->wrong, mono))
        say_wrong(self);
    uint64_t next = next_due(&self->crowded);
    if (next_due(&self->wrong) < next)
        next = next_due(&self->wrong);
    pthread_mutex_unlock(&self->lock);
    return next;
}

void advise_log(struct correlation *self)
{
    pthread_mutex_lock(&self->lock);
    struct bytes said = self->advice;
    bytes_init(&self->advice, ADVICE_MAX, NULL);
    pthread_mutex_unlock(&self->lock);
    struct view rest = bytes_view(&said);
    while (rest.size > 0) {
        const uint8_t *end = memchr(rest.data, '\n', rest.size);
        if (!end)
            break;
        if (*rest.data == *INFORMS)
            log_info("%.*s", (int)(end - rest.data) - 1, (const char *)rest.data + 1);
        else
            log_warn("%.*s", (int)(end - rest.data), (const char *)rest.data);
        rest = view_between(end + 1, rest.data + rest.size);
    }
    bytes_release(&said);
}
