#include "processors/correlation/rule/decide.h"

#include "processors/correlation/rule/advise.h"
#include "processors/correlation/tell.h"

/* More than the depth of any call tree without a loop. */
enum { MOST_ANCESTORS = 64, SILENT_WINDOWS = 3, MOST_LOOKED = 16, MOST_NAMESAKES = 16 };
#define SILENT_AT_LEAST (60 * NS_PER_S)

void context_open(struct context *context, struct correlation *self, struct service *service,
                  struct judge_now now)
{
    *context = (struct context){
        .self = self,
        .service = service,
        .kinds = service_kinds(service, &self->rules.confirm, now.mono, self->config.remember),
        .now = now,
        .second = correlation_second(self, now.mono),
    };
}

void context_enter(struct context *context, struct process *process)
{
    context->process = process;
    context->known =
        evidence_known(context->service, process, &context->self->rules, context->now.mono);
}

static bool decide_find(const struct context *context, uint64_t id, struct span_figures *figures)
{
    return id && span_index_find_either(&context->self->index, service_scope(context->service), id,
                                        context->kinds, context->second, figures);
}

void decide_prefetch(const struct context *context, const struct candidate *candidate)
{
    const struct span_index *index = &context->self->index;
    uint64_t scope = service_scope(context->service);
    if (candidate->named)
        span_index_prefetch(index, scope, candidate->named);
    if (candidate->own != candidate->named)
        span_index_prefetch(index, scope, candidate->own);
}

bool decide_lookup(const struct context *context, const struct candidate *candidate,
                   struct span_figures *figures)
{
    if (decide_find(context, candidate->named, figures))
        return true;
    return candidate->own != candidate->named && decide_find(context, candidate->own, figures);
}

struct edit decide_link(const struct span_figures *figures)
{
    return (struct edit){.action = ACTION_LINK, .figures = *figures};
}

/* Whether samples that arrived at a (local) time are still known. Recalled ones count as arrived at
 * the restart. */
static bool is_remembered(const struct correlation *self, uint64_t at, uint64_t mono)
{
    if (at >= self->recalled_from && at < self->started_mono)
        at = self->started_mono;
    return mono <= at || mono - at <= self->config.remember;
}

/* Samples are remembered only for so long, and less if there are too many. */
static bool may_be_forgotten(const struct context *context, const struct candidate *candidate)
{
    const struct correlation *self = context->self;
    uint64_t started = judge_local(context->now, candidate->started);
    if (!candidate->started)
        return false;
    if (!is_remembered(self, started, context->now.mono))
        return true;
    uint64_t id = candidate->named ? candidate->named : candidate->own;
    uint64_t since = started > self->started_mono ? started : self->started_mono;
    return span_index_lost(&self->index, service_scope(context->service), id,
                           correlation_second(self, since));
}

bool decide_by_index(const struct context *context, struct candidate *candidate,
                     struct decision *decision)
{
    struct span_figures figures;
    *decision = (struct decision){0};
    if (decide_lookup(context, candidate, &figures)) {
        decision->edit = decide_link(&figures);
        return true;
    }
    candidate->forgotten = may_be_forgotten(context, candidate);
    return false;
}

static void decide_leave(struct decision *decision, enum judge_reason reason)
{
    decision->edit.action = ACTION_AS_CAME;
    decision->reason = reason;
}

/* Decides a span whose samples never arrived, unless that proves nothing. */
static void decide_give_up(const struct context *context, const struct candidate *candidate,
                           enum judge_reason reason, struct decision *decision)
{
    if (candidate->early * EARLY_UNIT > context->known.skew) {
        decide_leave(decision, REASON_BEFORE_START);
    } else if (candidate->forgotten) {
        decide_leave(decision, REASON_FORGOTTEN);
    } else if (context->known.unread) {
        decide_leave(decision, REASON_FORMAT);
    } else {
        decision->edit.action = ACTION_UNLINK;
        decision->reason = reason;
    }
}

/* Decides a span as all of its process; false: they differ. */
static bool rule_all(const struct context *context, const struct candidate *candidate,
                     struct decision *decision)
{
    enum judge_reason reason;
    switch (judge_all(&context->known, context->now.mono, &reason)) {
    case JUDGE_EACH:
        return false;
    case JUDGE_UNLINK:
        decide_give_up(context, candidate, reason, decision);
        return true;
    case JUDGE_LEAVE:
        decide_leave(decision, reason);
        return true;
    }
    return false;
}

static void rule_each(const struct context *context, const struct candidate *candidate,
                      const struct judge_limits *limits, struct decision *decision)
{
    if (candidate->ended < limits->sampled)
        decide_give_up(context, candidate, REASON_NO_SAMPLE, decision);
    else if (candidate->ended < limits->ended || candidate->arrived < limits->arrived)
        decide_give_up(context, candidate, REASON_HOLD_RAN_OUT, decision);
    else
        decision->edit.action = ACTION_WAIT;
}

void decide_within(const struct context *context, const struct candidate *candidate,
                   const struct judge_limits *limits, struct decision *decision)
{
    *decision = (struct decision){0};
    if (!rule_all(context, candidate, decision))
        rule_each(context, candidate, limits, decision);
}

/* A waiting root is decided when the hold ends; one without news since then is gone. */
static bool is_gone(const struct context *context, const struct ancestry_step *root)
{
    uint64_t age = (uint64_t)(context->second - root->noted) * NS_PER_S;
    uint64_t longest = judge_longest(&context->known);
    return root->what == ANCESTRY_WAITING && age > longest && age - longest > 2 * NS_PER_S;
}

/* Follows the parents up to a span that the index has, or to the local root; to that alone where
 * spans leave no earlier than it: it may have samples before it comes. */
static enum ancestry trace_up(const struct context *context, uint64_t parent,
                              struct span_figures *figures)
{
    const bool waits = correlation_children(context->self) == CHILDREN_WAIT;
    for (unsigned i = 0; i < MOST_ANCESTORS; i++) {
        if (!waits && decide_find(context, parent, figures))
            return ANCESTRY_LINKED;
        struct ancestry_step step = ancestry_get(&context->self->ancestry, parent, context->second);
        if (step.what != ANCESTRY_CHILD) {
            *figures = (struct span_figures){.id = step.id};
            return is_gone(context, &step) ? ANCESTRY_UNLINKED : step.what;
        }
        parent = step.id;
    }
    return ANCESTRY_UNLINKED;
}

bool decide_awaits_own(const struct context *context)
{
    const struct correlation_config *config = &context->self->config;
    return config->candidates == CANDIDATES_ALL ||
           (config->candidates == CANDIDATES_AUTO &&
            service_is_wide(context->service, context->now.mono, config->remember));
}

void decide_child(const struct context *context, const struct candidate *candidate,
                  const struct judge_limits *limits, struct decision *decision)
{
    const bool own_first = decide_awaits_own(context);
    struct span_figures figures;
    struct decision own = {0};
    *decision = (struct decision){0};
    if (decide_lookup(context, candidate, &figures)) {
        decision->edit = decide_link(&figures);
        return;
    }
    if (own_first) {
        decide_within(context, candidate, limits, decision);
        if (decision->edit.action == ACTION_WAIT)
            return;
        own = *decision;
    }
    enum ancestry above = trace_up(context, candidate->parent, &figures);
    if (above == ANCESTRY_LINKED) {
        const bool inherits = correlation_children(context->self) == CHILDREN_INHERIT;
        decision->edit = inherits ? decide_link(&figures) : (struct edit){.action = ACTION_AS_CAME};
        decision->edit.inherited = inherits;
        return;
    }
    /* One above it may still come. */
    const bool stays =
        above == ANCESTRY_WAITING ||
        (above == ANCESTRY_UNKNOWN && correlation_children(context->self) != CHILDREN_NONE);
    if (own_first && !stays)
        return;
    if (above == ANCESTRY_UNLINKED) {
        decision->edit.action = ACTION_UNLINK;
        decision->reason = REASON_NO_PARENT;
        return;
    }
    decision->edit.action = ACTION_WAIT;
    if (rule_all(context, candidate, decision))
        return;
    /* Rule 2 applies to the root: a child ends first, and the root's samples may arrive after its
     * end. */
    if (above == ANCESTRY_WAITING ||
        context->now.mono - candidate->arrived < judge_longest(&context->known))
        return;
    if (own_first)
        *decision = own;
    else
        decide_give_up(context, candidate, REASON_HOLD_RAN_OUT, decision);
}

void decide_learn_child(const struct context *context, const struct candidate *candidate,
                        const struct decision *decision)
{
    struct correlation *self = context->self;
    struct service *service = context->service;
    if (correlation_children(self) != CHILDREN_INHERIT || !service ||
        self->config.candidates != CANDIDATES_AUTO || decide_awaits_own(context))
        return;
    if (decision->edit.action == ACTION_LINK && !decision->edit.inherited)
        service_note_wide(service, context->now.mono);
    else if (recent_wants_child(service, candidate->own, context->second))
        recent_note(&self->recent, service, candidate->own, RECENT_CHILD, candidate->ended);
}

bool decide_counts_child(const struct context *context, const struct decision *decision)
{
    const bool inherits = correlation_children(context->self) == CHILDREN_INHERIT;
    return decision->edit.action == ACTION_LINK ||
           (inherits && decision->reason != REASON_NO_PARENT);
}

void decide_note_root(const struct context *context, uint64_t own, const struct edit *edit)
{
    struct correlation *self = context->self;
    if (correlation_children(self) == CHILDREN_NONE)
        return;
    enum ancestry what = edit->action == ACTION_WAIT   ? ANCESTRY_WAITING
                         : edit->action == ACTION_LINK ? ANCESTRY_LINKED
                                                       : ANCESTRY_UNLINKED;
    ancestry_note(&self->ancestry, own, what, edit->figures.id, context->second);
}

/* Whether another service, or one of another tenant, has samples with a span's id, which came
 * before it: if the span came first, waiting.c learns that. Looks at some spans a second, and at
 * some services. */
static void learn_from_samples_before(const struct context *context,
                                      const struct candidate *candidate)
{
    struct correlation *self = context->self;
    struct service *service = context->service, *each = self->services.orders[1].newest;
    uint64_t id = candidate->named ? candidate->named : candidate->own;
    uint64_t look = (uint64_t)context->second * MOST_LOOKED;
    if (service->misnamed || service->looks >= look + MOST_LOOKED - 1)
        return;
    service->looks = service->looks < look ? look : service->looks + 1;
    for (unsigned i = 0; each && i < MOST_NAMESAKES; each = each->older, i++) {
        if (each == service ||
            !span_index_is_unmet(&self->index, service_scope(each), id, context->second))
            continue;
        if (view_eq(service_tenant(each), service_tenant(service))) {
            service->misnamed = true;
            advise_names(self, each, service, context->now.mono);
            return;
        }
        service->other_tenant = true;
        advise_tenants(self, each, service, context->now.mono);
    }
}

/* The decision that is counted and told. */
static struct decision decision_counted(const struct context *context,
                                        const struct candidate *candidate,
                                        const struct decision *decision)
{
    struct decision counted = *decision;
    const struct service *service = context->service;
    if (!service)
        return counted;
    if (counted.edit.action == ACTION_UNLINK && counted.reason == REASON_NO_SAMPLE &&
        service->match.differ)
        counted.reason = REASON_UNMATCHED;
    if (counted.reason != REASON_NOT_PROFILED)
        return counted;
    learn_from_samples_before(context, candidate);
    if (service->misnamed)
        counted.reason = REASON_NAMES_DIFFER;
    else if (service->other_tenant)
        counted.reason = REASON_TENANTS_DIFFER;
    return counted;
}

/* Notes what a decision shows of the span ids in samples. */
static void note_match(const struct context *context, const struct decision *decision)
{
    struct correlation *self = context->self;
    struct service *service = context->service;
    uint64_t mono = context->now.mono;
    if (decision->edit.action == ACTION_LINK)
        advise_ids_match(self, service, mono);
    else if (decision->edit.action == ACTION_UNLINK && decision->reason == REASON_NO_SAMPLE &&
             self->config.candidates != CANDIDATES_LOCAL_ROOT &&
             match_note_span(&service->match, mono, self->config.remember))
        advise_unmatched(self, service, mono);
}

/* Whether the profiler of its service seems to have stopped: the last profile came long before the
 * span did, and none since. */
static bool is_silent(const struct context *context, const struct candidate *candidate)
{
    uint64_t at = context->service->profiled_at, mono = candidate->arrived;
    uint64_t windows = SILENT_WINDOWS * context->known.window;
    return at && mono > at && mono - at >= (windows > SILENT_AT_LEAST ? windows : SILENT_AT_LEAST);
}

void decide_count(const struct context *context, const struct candidate *candidate,
                  const struct decision *decision)
{
    struct service *service = context->service;
    struct correlation *self = context->self;
    if (service)
        note_match(context, decision);
    struct decision counted = decision_counted(context, candidate, decision);
    if (decision->reason == REASON_HOLD_RAN_OUT && service && is_silent(context, candidate))
        advise_silent(self, service, context->now.mono);
    if (watch_on(self->env->watch))
        tell_decision(context, candidate, &counted);
    if (decision->edit.action == ACTION_LINK) {
        bool first = span_index_meet(&self->index, service_scope(service),
                                     decision->edit.figures.id, context->second);
        if (!service) {
            self->services.gone.linked++;
            correlation_tally(self, NULL, TALLY_LINKED, 1, context->now.mono);
        } else {
            service->counts.linked++;
            correlation_tally(self, service, TALLY_LINKED, 1, context->now.mono);
            service->counts.ids_met += first;
        }
    } else if (!service) {
        self->services.gone.unlinked[decision->reason]++;
        correlation_tally(self, NULL, TALLY_UNLINKED + decision->reason, 1, context->now.mono);
    } else {
        service->counts.unlinked[counted.reason]++;
        correlation_tally(self, service, TALLY_UNLINKED + counted.reason, 1, context->now.mono);
        if (decision->edit.action == ACTION_UNLINK)
            recent_note(&self->recent, service,
                        candidate->named ? candidate->named : candidate->own, RECENT_UNLINKED,
                        candidate->ended);
    }
}
