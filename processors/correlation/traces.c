/* The traces signal: spans are decided on arrival, and then held or handed on. */
#include "processors/correlation/correlation.h"

#include "processors/correlation/hold/gather.h"
#include "processors/correlation/release/pack.h"
#include "processors/correlation/release/release.h"
#include "processors/correlation/rule/advise.h"
#include "processors/correlation/rule/trace_plan.h"
#include "processors/correlation/tell.h"

/* A service without a profile for this long is taken to have none. */
#define PROFILED_WITHIN (120 * NS_PER_S)

/* With link local_root or all: the id that the SDK gave, else the span's own. */
static void traces_attach(struct span_row *row, bool wanted, const struct context *context)
{
    uint64_t id = row->candidate.named ? row->candidate.named : row->candidate.own;
    row->counted = wanted;
    row->decision.edit.action = wanted && id ? ACTION_LINK : ACTION_AS_CAME;
    row->decision.edit.figures.id = id;
    struct span_figures figures;
    if (row->decision.edit.action == ACTION_LINK &&
        span_index_find(&context->self->index, service_scope(context->service), id, context->kinds,
                        context->second, &figures))
        row->decision.edit.figures = figures;
}

static bool is_candidate(const struct context *context, const struct span_row *row)
{
    return row->is_root || row->marked || decide_awaits_own(context);
}

/* A span that is not expected to have samples: only its own id is looked up. If it is found, spans
 * below the local root have samples of their own, and the next ones are held. */
static void decide_non_candidate(const struct context *context, struct span_row *row)
{
    struct correlation *self = context->self;
    struct service *service = context->service;
    struct span_figures figures;
    row->decision.edit.action = ACTION_AS_CAME;
    if (span_index_find(&self->index, service_scope(service), row->candidate.own, context->kinds,
                        context->second, &figures)) {
        row->counted = true;
        row->decision.edit = decide_link(&figures);
        service_note_wide(service, context->now.mono);
    } else if (self->config.candidates == CANDIDATES_AUTO &&
               recent_wants_child(service, row->candidate.own, context->second) &&
               (service->named || context->now.mono - service->first_seen < PROFILED_WITHIN)) {
        span_row_time(row, self, context->now);
        recent_note(&self->recent, service, row->candidate.own, RECENT_CHILD, row->candidate.ended);
    }
}

/* Prepares the rules for spans of this resource, at the first one that may have to wait. */
static void enter_resource(struct context *context, struct resource_plan *resource,
                           struct judge_limits *limits)
{
    struct service *service = context->service;
    if (resource->process)
        return;
    if (!service->first_candidate)
        service->first_candidate = context->now.mono;
    resource->process = process_see(service, process_hash(resource->bare), resource->field.bytes,
                                    context->now.mono, context->self->env->budget);
    context_enter(context, resource->process);
    if (context->known.no_ids)
        advise_no_ids(context->self, service, context->now.mono);
    *limits = judge_limits(&context->known, context->now.mono);
}

static void decide_by_rules(struct context *context, struct resource_plan *resource,
                            struct judge_limits *limits, struct span_row *row)
{
    enter_resource(context, resource, limits);
    decide_within(context, &row->candidate, limits, &row->decision);
    if (row->decision.edit.action == ACTION_WAIT && !resource->process)
        row->decision =
            (struct decision){.edit.action = ACTION_AS_CAME, .reason = REASON_HOLD_FULL};
}

/* A span that is decided after those above it. */
static bool follows_root(const struct correlation *self, const struct span_row *row)
{
    return correlation_children(self) != CHILDREN_NONE && !row->is_root && !row->marked &&
           row->candidate.own;
}

static void decide_confirmed(struct context *context, struct resource_plan *resource,
                             struct judge_limits *limits, struct span_row *row)
{
    struct correlation *self = context->self;
    bool child = follows_root(self, row), found = false;
    bool inherits = correlation_children(self) == CHILDREN_INHERIT;
    if (child)
        ancestry_note(&self->ancestry, row->candidate.own, ANCESTRY_CHILD, row->candidate.parent,
                      context->second);
    if (!(child && inherits) && !is_candidate(context, row)) {
        decide_non_candidate(context, row);
        if (!child || row->decision.edit.action == ACTION_LINK)
            return;
    }
    span_row_time(row, self, context->now);
    if (!child || decide_awaits_own(context))
        found = decide_by_index(context, &row->candidate, &row->decision);
    if (found && !row->is_root && context->service->wide)
        service_note_wide(context->service, context->now.mono);
    row->is_child = child;
    row->counted = !child;
    if (!child && !found)
        decide_by_rules(context, resource, limits, row);
    if (row->is_root)
        decide_note_root(context, row->candidate.own, &row->decision.edit);
}

/* Most requests list children before their parents, so children are decided last. */
static void decide_children(struct context *context, struct trace_plan *plan,
                            struct resource_plan *resource, struct judge_limits *limits)
{
    for (size_t i = resource->first; i < resource->end; i++) {
        struct span_row *row = &plan->rows[i];
        if (!row->is_child)
            continue;
        enter_resource(context, resource, limits);
        decide_child(context, &row->candidate, limits, &row->decision);
        if (row->decision.edit.action != ACTION_WAIT)
            decide_learn_child(context, &row->candidate, &row->decision);
        row->counted = decide_counts_child(context, &row->decision);
    }
}

/* There is no place for its service. */
static void pass_crowded(const struct context *context, struct span_row *row)
{
    row->decision = (struct decision){.edit.action = ACTION_AS_CAME, .reason = REASON_CROWDED};
    row->counted = row->is_root || row->marked;
    if (row->counted)
        span_row_time(row, context->self, context->now);
}

static void prefetch_rows(const struct context *context, const struct span_row *rows, size_t left)
{
    for (size_t i = 0; i < left && i < DECIDE_AHEAD; i++)
        decide_prefetch(context, &rows[i].candidate);
}

static void decide_resource(struct correlation *self, struct trace_plan *plan,
                            struct resource_plan *resource, struct judge_now now)
{
    struct judge_limits limits = {0};
    struct context context;
    resource->service = services_see(&self->services, plan->tenant, resource->name, now.mono);
    context_open(&context, self, resource->service, now);
    if (resource->service) {
        resource->service->building++;
        resource->version = resource->service->version;
    }
    for (size_t i = resource->first; i < resource->end; i++) {
        struct span_row *row = &plan->rows[i];
        if ((i - resource->first) % DECIDE_AHEAD == 0)
            prefetch_rows(&context, row, resource->end - i);
        if (self->config.link == LINK_ALL)
            traces_attach(row, true, &context);
        else if (self->config.link == LINK_LOCAL_ROOT)
            traces_attach(row, row->is_root, &context);
        else if (resource->service)
            decide_confirmed(&context, resource, &limits, row);
        else
            pass_crowded(&context, row);
    }
    if (correlation_children(self) != CHILDREN_NONE)
        decide_children(&context, plan, resource, &limits);
}

/* In a request larger than the whole hold, the first spans are not held. */
static void cut_to_hold(const struct correlation *self, struct trace_plan *plan)
{
    const struct hold *hold = &self->hold;
    size_t bytes = 0;
    for (const struct resource_plan *resource = plan->resources; resource;
         resource = resource->next)
        bytes += resource->waiting ? sizeof(struct segment) : 0;
    uint64_t spans = 0;
    for (size_t i = plan->count; i-- > 0;) {
        struct decision *decision = &plan->rows[i].decision;
        if (decision->edit.action != ACTION_WAIT)
            continue;
        spans++;
        bytes += sizeof(struct held) + plan->rows[i].field.bytes.size;
        if (bytes > hold->max_bytes || (hold->max_spans && spans > hold->max_spans)) {
            *decision =
                (struct decision){.edit.action = ACTION_AS_CAME, .reason = REASON_HOLD_FULL};
            plan->cut++;
        }
    }
}

/* Takes the lock. True: a segment may exceed the budget, since older ones will leave for it. */
static bool decide_plan(struct correlation *self, struct trace_plan *plan)
{
    pthread_mutex_lock(&self->lock);
    struct judge_now now = correlation_now(self);
    for (struct resource_plan *resource = plan->resources; resource; resource = resource->next)
        decide_resource(self, plan, resource, now);
    trace_plan_count(plan);
    if (plan->waiting > 0) {
        cut_to_hold(self, plan);
        trace_plan_count(plan);
    }
    bool may_force = self->hold.oldest;
    pthread_mutex_unlock(&self->lock);
    return may_force;
}

/* Returns how many spans found the hold full. */
static uint64_t count_rows(const struct trace_plan *plan, const struct context *context,
                           const struct resource_plan *resource)
{
    uint64_t full = 0, crowded = 0;
    for (size_t i = resource->first; i < resource->end; i++) {
        const struct span_row *row = &plan->rows[i];
        if (!row->counted || row->decision.edit.action == ACTION_WAIT)
            continue;
        decide_count(context, &row->candidate, &row->decision);
        full += row->decision.reason == REASON_HOLD_FULL;
        crowded += row->decision.reason == REASON_CROWDED;
    }
    if (crowded)
        advise_crowded(context->self, plan->tenant, resource->name, crowded);
    return full;
}

/* If there is no memory to index its spans, they pass unedited. */
static void refuse_segment(const struct context *context, struct segment *segment,
                           struct release *release)
{
    for (uint32_t i = 0; i < segment->count; i++) {
        struct held *held = &segment->spans[i];
        held->flags |= HELD_GONE;
        held->action = ACTION_AS_CAME;
        held->next = NULL;
        struct release one = {held, &held->next, 1};
        release_join(release, &one);
    }
    context->service->counts.unlinked[REASON_HOLD_FULL] += segment->count;
    correlation_tally(context->self, context->service, TALLY_UNLINKED + REASON_HOLD_FULL,
                      segment->count, context->now.mono);
    advise_hold_full(context->self, segment->count, true, context->now.mono);
}

static void put_segment(struct context *context, struct resource_plan *resource,
                        struct release *release)
{
    struct correlation *self = context->self;
    struct segment *segment = resource->segment;
    if (!segment)
        return;
    resource->segment = NULL;
    segment->arrived = context->now.mono;
    waiting_make_room(self, segment, context->now, release);
    gather_before(&self->hold, segment->process, segment->arrived);
    if (!hold_put(&self->hold, segment)) {
        refuse_segment(context, segment, release);
        return;
    }
    waiting_add(context, segment, resource->service->version != resource->version, release);
    gather_after(&self->hold, segment);
}

/* Applies the decisions, now that the next stage took the rest of the request. */
static void hold_and_count(struct correlation *self, struct trace_plan *plan)
{
    struct release release = {0};
    uint64_t full = 0;
    pthread_mutex_lock(&self->lock);
    struct judge_now now = correlation_now(self);
    for (struct resource_plan *resource = plan->resources; resource; resource = resource->next) {
        struct context context;
        context_open(&context, self, resource->service, now);
        full += count_rows(plan, &context, resource);
        put_segment(&context, resource, &release);
        if (resource->service)
            resource->service->building--;
    }
    if (plan->cut)
        advise_hold_full(self, plan->cut, false, now.mono);
    if (full > plan->cut)
        advise_hold_full(self, full - plan->cut, true, now.mono);
    correlation_ask_tick(self);
    correlation_publish_hold(self);
    bool pack = plan->waiting > 0 && self->hold.bytes > self->hold.max_bytes / 2;
    bool advice = self->advice.size > 0;
    pthread_mutex_unlock(&self->lock);
    release_send(self, &release);
    if (advice)
        advise_log(self);
    if (pack)
        pack_some(self);
}

static void discard_segments(struct correlation *self, struct trace_plan *plan)
{
    pthread_mutex_lock(&self->lock);
    for (struct resource_plan *resource = plan->resources; resource; resource = resource->next) {
        segment_free(resource->segment);
        if (resource->service)
            resource->service->building--;
    }
    pthread_mutex_unlock(&self->lock);
}

/* For who watches: whether spans are linked, or others of their trace wait and may be. */
static bool has_links(const struct correlation *self, const struct trace_plan *plan)
{
    bool linked = plan->waiting > 0;
    if (!watch_on(self->env->watch))
        return false;
    for (size_t i = 0; i < plan->count && !linked; i++)
        linked = plan->rows[i].decision.edit.action == ACTION_LINK;
    return linked;
}

/* Hands on the part of the request that does not wait. */
static enum verdict push_rest(struct correlation *self, struct trace_plan *plan,
                              struct batch *batch, struct outlet *next)
{
    if (plan->waiting > 0 && plan->waiting == plan->count)
        return VERDICT_OK;
    struct buffer *payload = trace_plan_rewrite(plan, self, batch->payload);
    if (!payload)
        return VERDICT_RETRY;
    if (payload == batch->payload) {
        buffer_unref(payload);
        return tell_push(self, batch, next, has_links(self, plan));
    }
    struct batch *edited = batch_with_payload(batch, payload, batch->items - plan->waiting);
    if (!edited)
        return VERDICT_RETRY;
    enum verdict verdict = tell_push(self, edited, next, has_links(self, plan));
    batch_unref(edited);
    return verdict;
}

static enum verdict decide_and_push(struct correlation *self, struct trace_plan *plan,
                                    struct batch *batch, struct outlet *next)
{
    bool may_force = decide_plan(self, plan);
    if (plan->waiting > 0) {
        struct origin *origin = origin_new(batch, next);
        trace_plan_hold(plan, self, origin, may_force);
        origin_unref(origin);
    }
    enum verdict verdict = push_rest(self, plan, batch, next);
    if (verdict == VERDICT_OK)
        hold_and_count(self, plan);
    else
        discard_segments(self, plan);
    return verdict;
}

enum verdict traces_consume(struct correlation *self, struct batch *batch, struct outlet *next)
{
    struct trace_plan plan;
    bool read = trace_plan_read(&plan, self, batch);
    enum verdict verdict =
        read ? decide_and_push(self, &plan, batch, next) : tell_push(self, batch, next, false);
    trace_plan_release(&plan);
    return verdict;
}
