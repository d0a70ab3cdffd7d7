#include "processors/correlation/decide.h"

/* Deeper than any call tree that is not a loop. */
enum { LONGEST_LINEAGE = 64 };

void hearing_open(struct hearing *hearing, struct correlation *self, struct service *service,
                  struct judge_now now)
{
    uint64_t remember = self->config.remember;
    *hearing = (struct hearing){
        .self = self,
        .service = service,
        .kinds = service_kinds(service, &self->confirm, now.mono, remember),
        .now = now,
        .second = correlation_second(self, now.mono),
    };
    if (service)
        hearing->known =
            service_judged_as(service, &self->confirm, self->config.hold, now.mono, remember);
}

static bool find(const struct hearing *hearing, uint64_t id, struct span_figures *figures)
{
    return id && span_index_find_either(&hearing->self->index, service_scope(hearing->service), id,
                                        hearing->kinds, hearing->second, figures);
}

void decide_expect(const struct hearing *hearing, const struct asked *asked)
{
    const struct span_index *index = &hearing->self->index;
    uint64_t scope = service_scope(hearing->service);
    if (asked->named)
        span_index_expect(index, scope, asked->named);
    if (asked->own != asked->named)
        span_index_expect(index, scope, asked->own);
}

bool decide_lookup(const struct hearing *hearing, const struct asked *asked,
                   struct span_figures *figures)
{
    if (find(hearing, asked->named, figures))
        return true;
    return asked->own != asked->named && find(hearing, asked->own, figures);
}

static struct edit link_to(const struct span_figures *figures, bool inherited)
{
    return (struct edit){.fate = FATE_LINK, .inherited = inherited, .figures = *figures};
}

static void apply_rules(const struct hearing *hearing, const struct asked *asked,
                        struct ruling *ruling)
{
    struct judgement judgement = judge(&hearing->known, &asked->times, hearing->now);
    ruling->reason = judgement.reason;
    ruling->due = judgement.due;
    switch (judgement.answer) {
    case JUDGE_WAIT:
        ruling->edit.fate = FATE_WAIT;
        break;
    case JUDGE_UNLINK:
        ruling->edit.fate = FATE_UNLINK;
        break;
    case JUDGE_LEAVE:
        ruling->edit.fate = FATE_AS_CAME;
        break;
    }
}

void decide_candidate(const struct hearing *hearing, const struct asked *asked, bool look,
                      struct ruling *ruling)
{
    struct span_figures figures;
    *ruling = (struct ruling){0};
    if (!look)
        apply_rules(hearing, asked, ruling);
    if (!look && ruling->edit.fate == FATE_WAIT)
        return;
    if (decide_lookup(hearing, asked, &figures))
        ruling->edit = link_to(&figures, false);
    else if (look)
        apply_rules(hearing, asked, ruling);
}

/* A root that waits is decided when the hold is over; one of which nothing more was heard is gone.
 */
static bool forgotten(const struct hearing *hearing, const struct lineage_step *root)
{
    uint64_t age = (uint64_t)(hearing->second - root->noted) * NS_PER_S;
    return root->what == LINEAGE_WAITING && age > hearing->known.hold &&
           age - hearing->known.hold > 2 * NS_PER_S;
}

/* Follows the parents up to a span that the index has, or to the local root. */
static enum lineage trace_up(const struct hearing *hearing, uint64_t parent,
                             struct span_figures *figures)
{
    for (unsigned i = 0; i < LONGEST_LINEAGE; i++) {
        if (find(hearing, parent, figures))
            return LINEAGE_LINKED;
        struct lineage_step step = lineage_get(&hearing->self->lineage, parent, hearing->second);
        if (step.what != LINEAGE_CHILD) {
            *figures = (struct span_figures){.id = step.id};
            return forgotten(hearing, &step) ? LINEAGE_UNLINKED : step.what;
        }
        parent = step.id;
    }
    return LINEAGE_UNLINKED;
}

void decide_child(const struct hearing *hearing, const struct asked *asked, struct ruling *ruling)
{
    struct span_figures figures;
    *ruling = (struct ruling){0};
    if (decide_lookup(hearing, asked, &figures)) {
        ruling->edit = link_to(&figures, false);
        return;
    }
    enum lineage above = trace_up(hearing, asked->parent, &figures);
    if (above == LINEAGE_LINKED) {
        ruling->edit = link_to(&figures, true);
        return;
    }
    if (above == LINEAGE_UNLINKED) {
        ruling->edit.fate = FATE_UNLINK;
        ruling->reason = REASON_NO_PARENT;
        return;
    }
    /* Rule 2 is the root's: a child ends first, and the root's samples may come after its end. */
    struct asked open_ended = *asked;
    open_ended.times.end = UINT64_MAX;
    apply_rules(hearing, &open_ended, ruling);
    if (above == LINEAGE_WAITING && ruling->reason == REASON_HOLD_RAN_OUT)
        ruling->edit.fate = FATE_WAIT;
    if (ruling->edit.fate == FATE_WAIT && ruling->due > hearing->now.mono + NS_PER_S)
        ruling->due = hearing->now.mono + NS_PER_S;
}

void decide_note_root(const struct hearing *hearing, uint64_t own, const struct edit *edit)
{
    struct correlation *self = hearing->self;
    if (self->config.children != CHILDREN_INHERIT)
        return;
    enum lineage what = edit->fate == FATE_WAIT   ? LINEAGE_WAITING
                        : edit->fate == FATE_LINK ? LINEAGE_LINKED
                                                  : LINEAGE_UNLINKED;
    lineage_note(&self->lineage, own, what, edit->figures.id, hearing->second);
}

void decide_count(const struct hearing *hearing, const struct ruling *ruling)
{
    struct service *service = hearing->service;
    if (ruling->edit.fate == FATE_LINK) {
        bool first = span_index_meet(&hearing->self->index, service_scope(service),
                                     ruling->edit.figures.id, hearing->second);
        if (service) {
            service->counts.linked++;
            service->counts.ids_met += first;
        }
    } else if (service) {
        service->counts.unlinked[ruling->reason]++;
    }
}

/* A waiting span's ruling put into effect. */
static void let_go(const struct hearing *hearing, struct held *held, const struct ruling *ruling,
                   struct release *release)
{
    struct service_counts *counts = &hearing->service->counts;
    uint64_t waited = hearing->now.mono - segment_of(held)->arrived;
    counts->waited++;
    counts->wait_sum += waited;
    if (waited > counts->wait_max)
        counts->wait_max = waited;
    decide_count(hearing, ruling);
    if (held->flags & HELD_ROOT)
        decide_note_root(hearing, held->own, &ruling->edit);
    hold_take(&hearing->self->hold, held, &ruling->edit, release);
}

static struct asked ask(const struct held *held, uint64_t arrived)
{
    bool child = held->flags & HELD_CHILD;
    return (struct asked){
        .own = held->own,
        .named = child ? 0 : held->named,
        .parent = child ? held->named : 0,
        .times = {held->end, arrived, held->flags & HELD_BEFORE_START},
    };
}

/* Spans to come that are told to the index at once. */
static void expect_held(const struct hearing *hearing, const struct held *held, uint32_t left)
{
    for (uint32_t i = 0; i < left && i < DECIDE_AHEAD; i++)
        if (!(held[i].flags & HELD_GONE)) {
            struct asked asked = ask(&held[i], 0);
            decide_expect(hearing, &asked);
        }
}

/* Judges a segment's spans; returns when the next of them is due. The segment may be gone then. */
static uint64_t decide_segment(const struct hearing *hearing, struct segment *segment, bool look,
                               struct release *release)
{
    uint64_t due = TIME_NEVER, arrived = segment->arrived;
    uint32_t count = segment->count;
    struct held *held = segment->spans;
    for (uint32_t i = 0; i < count; i++, held++) {
        if (look && i % DECIDE_AHEAD == 0)
            expect_held(hearing, held, count - i);
        if (held->flags & HELD_GONE)
            continue;
        struct asked asked = ask(held, arrived);
        struct ruling ruling;
        if (held->flags & HELD_CHILD)
            decide_child(hearing, &asked, &ruling);
        else
            decide_candidate(hearing, &asked, look, &ruling);
        if (ruling.edit.fate != FATE_WAIT)
            let_go(hearing, held, &ruling, release);
        else if (ruling.due < due)
            due = ruling.due;
    }
    return due;
}

void decide_waiting(struct correlation *self, struct service *service, bool look,
                    struct release *release)
{
    struct hearing hearing;
    hearing_open(&hearing, self, service, correlation_now(self));
    service->due = TIME_NEVER;
    struct segment *next;
    for (struct segment *segment = service->oldest; segment; segment = next) {
        next = segment->service_newer;
        if (look || segment->due <= hearing.now.mono)
            segment->due = decide_segment(&hearing, segment, look, release);
        if (segment->due < service->due)
            service->due = segment->due;
    }
}

static void let_oldest_go(struct correlation *self, struct release *release)
{
    struct held *held = hold_oldest(&self->hold);
    struct hearing hearing;
    hearing_open(&hearing, self, segment_of(held)->service, correlation_now(self));
    struct ruling ruling = {.edit.fate = FATE_AS_CAME, .reason = REASON_HOLD_FULL};
    let_go(&hearing, held, &ruling, release);
}

void decide_make_room(struct correlation *self, const struct segment *coming,
                      struct release *release)
{
    struct hold *hold = &self->hold;
    size_t wanted = coming->forced ? coming->charged : 0, before = hold->bytes;
    while (hold->oldest &&
           (hold_over(hold, coming->count, coming->charged) || before - hold->bytes < wanted))
        let_oldest_go(self, release);
}

/* At the end, what waits for anything but rule 2 leaves as it came. */
static void decide_finally(struct correlation *self, struct segment *segment, bool children,
                           struct release *release)
{
    struct hearing hearing;
    hearing_open(&hearing, self, segment->service, correlation_now(self));
    uint64_t arrived = segment->arrived;
    uint32_t count = segment->count;
    struct held *held = segment->spans;
    for (uint32_t i = 0; i < count; i++, held++) {
        if (held->flags & HELD_GONE || !children != !(held->flags & HELD_CHILD))
            continue;
        struct asked asked = ask(held, arrived);
        struct ruling ruling;
        if (children)
            decide_child(&hearing, &asked, &ruling);
        else
            decide_candidate(&hearing, &asked, true, &ruling);
        if (ruling.edit.fate == FATE_WAIT)
            ruling = (struct ruling){.edit.fate = FATE_AS_CAME, .reason = REASON_SHUTDOWN};
        let_go(&hearing, held, &ruling, release);
    }
}

void decide_all(struct correlation *self, struct release *release)
{
    struct segment *next;
    for (int children = 0; children <= 1; children++)
        for (struct segment *segment = self->hold.oldest; segment; segment = next) {
            next = segment->newer;
            decide_finally(self, segment, children, release);
        }
}
