#include "processors/correlation/rule/waiting.h"

#include "processors/correlation/release/pack.h"
#include "processors/correlation/release/release.h"
#include "processors/correlation/rule/advise.h"

/* More spans of other services with one id than occur unless ids are made up. */
enum { MOST_NAMESAKES = 64 };

static struct candidate waiting_ask(const struct held *held)
{
    bool child = held->flags & HELD_CHILD;
    return (struct candidate){
        .own = held->own,
        .named = child ? 0 : held->named,
        .parent = child ? held->named : 0,
        .ended = held->end,
        .arrived = segment_of(held)->arrived,
        .early = held->early,
        .forgotten = held->flags & HELD_FORGOTTEN,
        .ahead = held->flags & HELD_AHEAD,
    };
}

/* Applies a waiting span's decision. */
static void waiting_let_go(const struct context *context, struct held *held,
                           const struct candidate *candidate, const struct decision *decision,
                           struct release *release)
{
    struct service_counts *counts = &context->service->counts;
    /* It may have arrived while the lock was released. */
    uint64_t mono = context->now.mono;
    uint64_t waited = mono > candidate->arrived ? mono - candidate->arrived : 0;
    counts->waited++;
    counts->wait_sum += waited;
    if (waited > counts->wait_max)
        counts->wait_max = waited;
    if (metric_wanted(METRIC_NORMAL))
        histogram_add(&correlation_published(context->self)->delays, &histogram_waits, waited);
    if (!(held->flags & HELD_CHILD) || correlation_children(context->self) != CHILDREN_WAIT ||
        decision->edit.action == ACTION_LINK)
        decide_count(context, candidate, decision);
    if (held->flags & HELD_CHILD)
        decide_learn_child(context, candidate, decision);
    if (held->flags & HELD_ROOT)
        decide_note_root(context, held->own, &decision->edit);
    struct process *process = segment_of(held)->process;
    hold_take(&context->self->hold, held, &decision->edit, release);
    if (!process->oldest && heap_has(&context->self->due, &process->due))
        heap_remove(&context->self->due, &process->due);
}

/* Held spans are indexed by the id in their attribute; if that differs from their own, they may
 * also have samples under their own. */
static bool has_two_ids(const struct candidate *candidate)
{
    return candidate->named && candidate->own && candidate->named != candidate->own;
}

/* Decides a span that waits and is not the child of one that does. */
static void rule_held(const struct context *context, const struct candidate *candidate,
                      const struct judge_limits *limits, struct decision *decision)
{
    struct span_figures figures;
    decide_within(context, candidate, limits, decision);
    if (decision->edit.action != ACTION_WAIT && has_two_ids(candidate) &&
        decide_lookup(context, candidate, &figures))
        *decision = (struct decision){.edit = decide_link(&figures)};
}

/* Decides the spans of a segment that are not children. It exists until its last span is
 * written. */
static void judge_segment(const struct context *context, struct segment *segment,
                          const struct judge_limits *limits, struct release *release)
{
    uint32_t left = segment->live - segment->children;
    struct held *held = segment->spans;
    for (uint32_t i = 0; left > 0; i++, held++) {
        if (held->flags & (HELD_GONE | HELD_CHILD))
            continue;
        struct candidate candidate = waiting_ask(held);
        struct decision decision;
        left--;
        rule_held(context, &candidate, limits, &decision);
        if (decision.edit.action != ACTION_WAIT)
            waiting_let_go(context, held, &candidate, &decision, release);
    }
    hold_order(segment);
}

static void judge_children(const struct context *context, struct segment *segment,
                           const struct judge_limits *limits, struct release *release)
{
    uint32_t left = segment->children;
    struct held *held = segment->spans;
    for (uint32_t i = 0; left > 0; i++, held++) {
        if (held->flags & HELD_GONE || !(held->flags & HELD_CHILD))
            continue;
        struct candidate candidate = waiting_ask(held);
        struct decision decision;
        left--;
        decide_child(context, &candidate, limits, &decision);
        if (decision.edit.action != ACTION_WAIT)
            waiting_let_go(context, held, &candidate, &decision, release);
    }
}

/* Children are checked once a second, since they wait for their parent. */
static void judge_all_children(const struct context *context, struct release *release)
{
    struct process *process = context->process;
    const struct judge_limits limits = judge_limits(&context->known, context->now.mono);
    struct segment *next;
    process->children_due = TIME_NEVER;
    for (struct segment *segment = process->oldest; segment; segment = next) {
        next = segment->process_newer;
        if (segment->children == 0)
            continue;
        process->children_due = context->now.mono + NS_PER_S;
        judge_children(context, segment, &limits, release);
    }
}

static struct segment *first_ended(const struct process *process)
{
    struct heap_node *node = process->ends.first;
    return node ? (struct segment *)(void *)((char *)node - offsetof(struct segment, ends)) : NULL;
}

/* Returns the next segment with a span to decide. NULL: none. */
static struct segment *next_due(const struct context *context, const struct judge_limits *limits,
                                bool all)
{
    const struct process *process = context->process;
    struct segment *segment = first_ended(process);
    if (segment &&
        (all || segment->ends.key < limits->sampled || segment->ends.key < limits->ended))
        return segment;
    for (segment = process->oldest; segment && segment->arrived < limits->arrived;
         segment = segment->process_newer)
        if (segment->live > segment->children)
            return segment;
    return NULL;
}

/* Sets when the process is checked again. */
static void schedule(const struct context *context, bool more)
{
    struct process *process = context->process;
    struct heap *heap = &context->self->due;
    enum judge_reason reason;
    if (!process->oldest) {
        if (heap_has(heap, &process->due))
            heap_remove(heap, &process->due);
        return;
    }
    uint64_t mono = context->now.mono;
    uint64_t ended = process->ends.first ? process->ends.first->key : UINT64_MAX;
    uint64_t arrived = process->ends.first ? process->oldest->arrived : UINT64_MAX;
    uint64_t due = judge_due(&context->known, ended, arrived, mono);
    if (more || judge_all(&context->known, mono, &reason) != JUDGE_EACH)
        due = mono;
    heap_set(heap, &process->due, due < process->children_due ? due : process->children_due);
}

static void judge_process(struct context *context, struct process *process, struct release *release)
{
    enum judge_reason reason;
    struct segment *segment;
    context_enter(context, process);
    uint64_t mono = context->now.mono;
    bool all = judge_all(&context->known, mono, &reason) != JUDGE_EACH;
    if (context->known.no_ids)
        advise_no_ids(context->self, context->service, mono);
    struct judge_limits limits = judge_limits(&context->known, mono);
    while (release->count < WAITING_AT_ONCE && (segment = next_due(context, &limits, all)))
        judge_segment(context, segment, &limits, release);
    if (process->children_due <= mono)
        judge_all_children(context, release);
    schedule(context, release->count >= WAITING_AT_ONCE);
}

uint64_t waiting_judge_due(struct correlation *self, struct judge_now now, struct release *release)
{
    struct heap_node *node;
    while ((node = self->due.first) && node->key <= now.mono && release->count < WAITING_AT_ONCE) {
        struct process *process =
            (struct process *)(void *)((char *)node - offsetof(struct process, due));
        struct context context;
        context_open(&context, self, process->service, now);
        judge_process(&context, process, release);
        if (process->oldest && process->due.key <= now.mono && release->count < WAITING_AT_ONCE)
            heap_set(&self->due, &process->due, now.mono + 1);
    }
    return node ? node->key : TIME_NEVER;
}

void waiting_reconsider(struct context *context)
{
    struct process *each = context->service->processes;
    for (; each; each = each->next)
        if (each->oldest) {
            context_enter(context, each);
            schedule(context, false);
        }
}

/* Looks up the spans of a segment again. */
static void look_again(const struct context *context, struct segment *segment,
                       struct release *release)
{
    uint32_t count = segment->count;
    struct held *held = segment->spans;
    for (uint32_t i = 0; i < count; i++, held++) {
        struct candidate candidate = waiting_ask(held);
        struct span_figures figures;
        if (held->flags & HELD_GONE || !decide_lookup(context, &candidate, &figures))
            continue;
        struct decision decision = {.edit = decide_link(&figures)};
        waiting_let_go(context, held, &candidate, &decision, release);
    }
    hold_order(segment);
}

void waiting_add(struct context *context, struct segment *segment, bool again,
                 struct release *release)
{
    struct process *process = segment->process;
    if (segment->children && (process->children_due == 0 || process->children_due == TIME_NEVER))
        process->children_due = context->now.mono + NS_PER_S;
    if (!process->children_due)
        process->children_due = TIME_NEVER;
    if (again)
        look_again(context, segment, release);
    context_enter(context, process);
    schedule(context, false);
}

/* Another service's profiles have a sample with the span's id. A span may be sent to several
 * tenants, and its profiles to one: that one's came, then. */
static void learn_from_namesake(const struct context *context, const struct held *held, uint64_t id)
{
    struct service *other = segment_of(held)->process->service;
    if (!view_eq(service_tenant(other), service_tenant(context->service))) {
        if (span_index_is_unmet(&context->self->index, service_scope(context->service), id,
                                context->second)) {
            other->other_tenant = true;
            advise_tenants(context->self, context->service, other, context->now.mono);
        }
        return;
    }
    other->misnamed = true;
    advise_ids_match(context->self, context->service, context->now.mono);
    advise_names(context->self, context->service, other, context->now.mono);
}

static struct edit link_to(const struct context *context, uint64_t id)
{
    struct span_figures figures;
    if (!span_index_find_either(&context->self->index, service_scope(context->service), id,
                                context->kinds, context->second, &figures))
        figures = (struct span_figures){.id = id}; /* the index had no memory for it */
    return decide_link(&figures);
}

static void link_held(const struct context *context, const struct sighting *sighting,
                      struct held *held, struct release *release)
{
    struct process *process = segment_of(held)->process;
    struct candidate candidate = waiting_ask(held);
    struct decision decision = {.edit = link_to(context, sighting->id)};
    if (sighting->window_start)
        evidence_note_skew(context->service, held->end, sighting->window_start);
    if (sighting->serial)
        process_note_match(process, sighting->timeline, sighting->serial, context->now.mono);
    /* The order by end is only a lower bound now; judge_segment corrects it. */
    waiting_let_go(context, held, &candidate, &decision, release);
}

/* Learns from a sample that arrived too late, or whose span was not held. */
static void learn_from_missed(const struct context *context, const struct sighting *sighting)
{
    struct service *service = context->service;
    uint64_t ended;
    enum recent_what what = recent_take(&context->self->recent, service, sighting->id, &ended);
    if (what == RECENT_NONE)
        return;
    service->counts.missed++;
    advise_ids_match(context->self, service, context->now.mono);
    if (what == RECENT_CHILD) {
        service_note_wide(service, context->now.mono);
        return;
    }
    if (sighting->window_start)
        evidence_note_skew(service, ended, sighting->window_start);
    if (sighting->timeline)
        timeline_doubt(sighting->timeline, context->now.mono);
}

void waiting_link(const struct context *context, const struct sighting *sighting,
                  struct release *release)
{
    struct held *held = held_ids_first(&context->self->hold.ids, sighting->id), *next;
    struct held *namesake = NULL;
    bool found = false;
    for (unsigned others = 0; held && others < MOST_NAMESAKES; held = next) {
        next = held_ids_next(held);
        if (segment_of(held)->process->service != context->service) {
            namesake = held;
            others++;
            continue;
        }
        if (context->service->wide && !(held->flags & HELD_ROOT))
            service_note_wide(context->service, context->now.mono);
        link_held(context, sighting, held, release);
        found = true;
    }
    if (found)
        return;
    learn_from_missed(context, sighting);
    if (namesake)
        learn_from_namesake(context, namesake, sighting->id);
}

/* Lets a span pass unedited. */
static void let_pass(struct correlation *self, struct held *held, enum judge_reason reason,
                     struct judge_now now, struct release *release)
{
    struct context context;
    struct candidate candidate = waiting_ask(held);
    struct decision decision = {.edit.action = ACTION_AS_CAME, .reason = reason};
    context_open(&context, self, segment_of(held)->process->service, now);
    waiting_let_go(&context, held, &candidate, &decision, release);
}

void waiting_make_room(struct correlation *self, const struct segment *coming, struct judge_now now,
                       struct release *release)
{
    struct hold *hold = &self->hold;
    /* While what left waits for memory itself, nothing is gained if more leave for the budget. */
    bool frees = !self->unwritten.first;
    size_t wanted = coming->forced && frees ? coming->charged : 0, before = hold->bytes;
    uint64_t spans = hold->spans;
    bool by_budget = !hold_over(hold, coming->count, coming->charged);
    while (hold->oldest &&
           (hold_over(hold, coming->count, coming->charged) || before - hold->bytes < wanted))
        let_pass(self, hold_oldest(hold), REASON_HOLD_FULL, now, release);
    if (spans > hold->spans)
        advise_hold_full(self, spans - hold->spans, by_budget, now.mono);
}

/* Returns the first of its spans that wait; NULL: none does. */
static struct held *first_held(const struct process *process)
{
    struct segment *segment = process->oldest;
    if (!segment)
        return NULL;
    while (segment->spans[segment->oldest_live].flags & HELD_GONE)
        segment->oldest_live++;
    return &segment->spans[segment->oldest_live];
}

void waiting_give_up(void *instance, struct service *service)
{
    struct correlation *self = instance;
    struct judge_now now = correlation_now(self);
    struct release release = {0};
    struct held *held;
    for (struct process *each = service->processes; each; each = each->next)
        while ((held = first_held(each)))
            let_pass(self, held, REASON_CROWDED, now, &release);
    advise_crowded(self, service_tenant(service), service_name(service), release.count);
    release_at_tick(self, &release);
}

/* At the end, spans that wait for anything but rule 2 pass unedited. Returns how many. */
static uint64_t judge_finally(struct correlation *self, struct segment *segment, bool children,
                              struct judge_now now, struct release *release)
{
    uint64_t undecided = 0;
    struct context context;
    context_open(&context, self, segment->process->service, now);
    context_enter(&context, segment->process);
    struct judge_limits limits = judge_limits(&context.known, now.mono);
    uint32_t left = children ? segment->children : segment->live - segment->children;
    struct held *held = segment->spans;
    for (; left > 0; held++) {
        if (held->flags & HELD_GONE || !children != !(held->flags & HELD_CHILD))
            continue;
        struct candidate candidate = waiting_ask(held);
        struct decision decision;
        left--;
        if (children)
            decide_child(&context, &candidate, &limits, &decision);
        else
            rule_held(&context, &candidate, &limits, &decision);
        if (decision.edit.action == ACTION_WAIT) {
            decision = (struct decision){.edit.action = ACTION_AS_CAME, .reason = REASON_SHUTDOWN};
            undecided++;
        }
        waiting_let_go(&context, held, &candidate, &decision, release);
    }
    return undecided;
}

uint64_t waiting_judge_all(struct correlation *self, struct judge_now now, struct release *release)
{
    uint64_t undecided = 0;
    struct segment *next;
    for (int children = 0; children <= 1; children++)
        for (struct segment *segment = self->hold.oldest; segment; segment = next) {
            next = segment->newer;
            undecided += judge_finally(self, segment, children, now, release);
        }
    return undecided;
}
