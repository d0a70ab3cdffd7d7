#include "processors/correlation/rule/decide.h"

/* Deeper than any call tree that is not a loop. */
enum { LONGEST_LINEAGE = 64 };

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

static bool find(const struct context *context, uint64_t id, struct span_figures *figures)
{
    return id && span_index_find_either(&context->self->index, service_scope(context->service), id,
                                        context->kinds, context->second, figures);
}

void decide_expect(const struct context *context, const struct asked *asked)
{
    const struct span_index *index = &context->self->index;
    uint64_t scope = service_scope(context->service);
    if (asked->named)
        span_index_expect(index, scope, asked->named);
    if (asked->own != asked->named)
        span_index_expect(index, scope, asked->own);
}

bool decide_lookup(const struct context *context, const struct asked *asked,
                   struct span_figures *figures)
{
    if (find(context, asked->named, figures))
        return true;
    return asked->own != asked->named && find(context, asked->own, figures);
}

struct edit decide_link(const struct span_figures *figures)
{
    return (struct edit){.fate = FATE_LINK, .figures = *figures};
}

/* Whether samples that came at a (local) time are known still. Those from before a restart count as
 * ones that came with it. */
static bool is_remembered(const struct correlation *self, uint64_t at, uint64_t mono)
{
    if (at >= self->recalled_from && at < self->started_mono)
        at = self->started_mono;
    return mono <= at || mono - at <= self->config.remember;
}

/* Samples are remembered for so long only, and where there are too many not even that. */
static bool may_be_forgotten(const struct context *context, const struct asked *asked)
{
    const struct correlation *self = context->self;
    uint64_t started = judge_local(context->now, asked->started);
    if (!asked->started)
        return false;
    if (!is_remembered(self, started, context->now.mono))
        return true;
    uint64_t id = asked->named ? asked->named : asked->own;
    uint64_t since = started > self->started_mono ? started : self->started_mono;
    return span_index_lost(&self->index, service_scope(context->service), id,
                           correlation_second(self, since));
}

bool decide_by_index(const struct context *context, struct asked *asked, struct ruling *ruling)
{
    struct span_figures figures;
    *ruling = (struct ruling){0};
    if (decide_lookup(context, asked, &figures)) {
        ruling->edit = decide_link(&figures);
        return true;
    }
    asked->forgotten = may_be_forgotten(context, asked);
    return false;
}

static void leave(struct ruling *ruling, enum judge_reason reason)
{
    ruling->edit.fate = FATE_AS_CAME;
    ruling->reason = reason;
}

/* A span for which nothing came, where that says something. */
static void give_up(const struct context *context, const struct asked *asked,
                    enum judge_reason reason, struct ruling *ruling)
{
    if (asked->early * EARLY_UNIT > context->known.skew) {
        leave(ruling, REASON_BEFORE_START);
    } else if (asked->forgotten) {
        leave(ruling, REASON_FORGOTTEN);
    } else if (context->known.unread) {
        leave(ruling, REASON_FORMAT);
    } else {
        ruling->edit.fate = FATE_UNLINK;
        ruling->reason = reason;
    }
}

/* What holds for all spans of the process; false: each is judged. */
static bool rule_all(const struct context *context, const struct asked *asked,
                     struct ruling *ruling)
{
    enum judge_reason reason;
    switch (judge_all(&context->known, context->now.mono, &reason)) {
    case JUDGE_EACH:
        return false;
    case JUDGE_UNLINK:
        give_up(context, asked, reason, ruling);
        return true;
    case JUDGE_LEAVE:
        leave(ruling, reason);
        return true;
    }
    return false;
}

static void rule_each(const struct context *context, const struct asked *asked,
                      const struct judge_limits *limits, struct ruling *ruling)
{
    if (asked->ended < limits->sampled)
        give_up(context, asked, REASON_NO_SAMPLE, ruling);
    else if (asked->ended < limits->ended || asked->arrived < limits->arrived)
        give_up(context, asked, REASON_HOLD_RAN_OUT, ruling);
    else
        ruling->edit.fate = FATE_WAIT;
}

void decide_within(const struct context *context, const struct asked *asked,
                   const struct judge_limits *limits, struct ruling *ruling)
{
    *ruling = (struct ruling){0};
    if (!rule_all(context, asked, ruling))
        rule_each(context, asked, limits, ruling);
}

/* A root that waits is decided when the hold is over; one of which nothing more came is gone. */
static bool is_gone(const struct context *context, const struct lineage_step *root)
{
    uint64_t age = (uint64_t)(context->second - root->noted) * NS_PER_S;
    uint64_t longest = judge_longest(&context->known);
    return root->what == LINEAGE_WAITING && age > longest && age - longest > 2 * NS_PER_S;
}

/* Follows the parents up to a span that the index has, or to the local root. */
static enum lineage trace_up(const struct context *context, uint64_t parent,
                             struct span_figures *figures)
{
    for (unsigned i = 0; i < LONGEST_LINEAGE; i++) {
        if (find(context, parent, figures))
            return LINEAGE_LINKED;
        struct lineage_step step = lineage_get(&context->self->lineage, parent, context->second);
        if (step.what != LINEAGE_CHILD) {
            *figures = (struct span_figures){.id = step.id};
            return is_gone(context, &step) ? LINEAGE_UNLINKED : step.what;
        }
        parent = step.id;
    }
    return LINEAGE_UNLINKED;
}

void decide_child(const struct context *context, const struct asked *asked, struct ruling *ruling)
{
    struct span_figures figures;
    *ruling = (struct ruling){0};
    if (decide_lookup(context, asked, &figures)) {
        ruling->edit = decide_link(&figures);
        return;
    }
    enum lineage above = trace_up(context, asked->parent, &figures);
    if (above == LINEAGE_LINKED) {
        ruling->edit = decide_link(&figures);
        ruling->edit.inherited = true;
        return;
    }
    if (above == LINEAGE_UNLINKED) {
        ruling->edit.fate = FATE_UNLINK;
        ruling->reason = REASON_NO_PARENT;
        return;
    }
    ruling->edit.fate = FATE_WAIT;
    if (rule_all(context, asked, ruling))
        return;
    /* Rule 2 is the root's: a child ends first, and the root's samples may come after its end. */
    if (above != LINEAGE_WAITING &&
        context->now.mono - asked->arrived >= judge_longest(&context->known))
        give_up(context, asked, REASON_HOLD_RAN_OUT, ruling);
}

void decide_note_root(const struct context *context, uint64_t own, const struct edit *edit)
{
    struct correlation *self = context->self;
    if (self->config.children != CHILDREN_INHERIT)
        return;
    enum lineage what = edit->fate == FATE_WAIT   ? LINEAGE_WAITING
                        : edit->fate == FATE_LINK ? LINEAGE_LINKED
                                                  : LINEAGE_UNLINKED;
    lineage_note(&self->lineage, own, what, edit->figures.id, context->second);
}

void decide_count(const struct context *context, const struct asked *asked,
                  const struct ruling *ruling)
{
    struct service *service = context->service;
    struct correlation *self = context->self;
    if (ruling->edit.fate == FATE_LINK) {
        bool first = span_index_meet(&self->index, service_scope(service), ruling->edit.figures.id,
                                     context->second);
        if (service) {
            service->counts.linked++;
            tally_add(&self->services.tallies, service, TALLY_LINKED, 1, context->now.mono);
            service->counts.ids_met += first;
        }
    } else if (service) {
        service->counts.unlinked[ruling->reason]++;
        tally_add(&self->services.tallies, service, TALLY_UNLINKED + ruling->reason, 1,
                  context->now.mono);
        if (ruling->edit.fate == FATE_UNLINK)
            recent_note(&self->recent, service, asked->named ? asked->named : asked->own,
                        RECENT_UNLINKED, asked->ended);
    }
}
