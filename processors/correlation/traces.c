/* The traces signal: what arrives is decided, held or handed on. */
#include "processors/correlation/gather.h"
#include "processors/correlation/release.h"
#include "processors/correlation/trace_plan.h"

/* With link local_root or all: the id that the SDK gave, else the span's own. */
static void attach(struct span_row *row, bool wanted, const struct hearing *hearing)
{
    uint64_t id = row->asked.named ? row->asked.named : row->asked.own;
    row->counted = wanted;
    row->ruling.edit.fate = wanted && id ? FATE_LINK : FATE_AS_CAME;
    row->ruling.edit.figures.id = id;
    struct span_figures figures;
    if (row->ruling.edit.fate == FATE_LINK &&
        span_index_find(&hearing->self->index, service_scope(hearing->service), id, hearing->kinds,
                        hearing->second, &figures))
        row->ruling.edit.figures = figures;
}

static bool is_candidate(const struct correlation *self, const struct service *service,
                         const struct span_row *row)
{
    if (row->is_root || row->marked || self->config.candidates == CANDIDATES_ALL)
        return true;
    return self->config.candidates == CANDIDATES_AUTO && service->wide;
}

/* A span that nobody expects to have samples: its own id is looked up, and that is all. */
static void decide_bystander(const struct hearing *hearing, struct span_row *row)
{
    struct span_figures figures;
    row->ruling.edit.fate = FATE_AS_CAME;
    if (!span_index_find(&hearing->self->index, service_scope(hearing->service), row->asked.own,
                         hearing->kinds, hearing->second, &figures))
        return;
    row->counted = true;
    row->ruling.edit = (struct edit){.fate = FATE_LINK, .figures = figures};
    /* Spans below the local root have samples of their own here: the next ones are waited for. */
    hearing->service->wide = true;
}

static void decide_confirmed(const struct hearing *hearing, struct span_row *row)
{
    struct correlation *self = hearing->self;
    bool inherit = self->config.children == CHILDREN_INHERIT;
    if (is_candidate(self, hearing->service, row)) {
        row->counted = true;
        decide_candidate(hearing, &row->asked, true, &row->ruling);
        if (row->is_root)
            decide_note_root(hearing, row->asked.own, &row->ruling.edit);
    } else if (inherit && row->asked.own) {
        row->is_child = true;
        lineage_note(&self->lineage, row->asked.own, LINEAGE_CHILD, row->asked.parent,
                     hearing->second);
    } else {
        decide_bystander(hearing, row);
    }
}

/* Children come before their parents in most requests, so they are decided last. */
static void decide_children(const struct hearing *hearing, struct span_row *row)
{
    if (!row->is_child)
        return;
    decide_child(hearing, &row->asked, &row->ruling);
    row->counted = row->ruling.edit.fate == FATE_LINK || row->ruling.reason != REASON_NO_PARENT;
}

static void expect_rows(const struct hearing *hearing, const struct span_row *rows, size_t left)
{
    for (size_t i = 0; i < left && i < DECIDE_AHEAD; i++)
        decide_expect(hearing, &rows[i].asked);
}

static void decide_resource(struct correlation *self, struct trace_plan *plan,
                            struct resource_plan *resource, struct judge_now now)
{
    struct service *service = services_see(&self->services, resource->name, now.mono);
    struct hearing hearing;
    if (service && resource->from_node)
        service->from_node = true;
    hearing_open(&hearing, self, service, now);
    resource->service = service;
    resource->version = service ? service->version : 0;
    for (size_t i = resource->first; i < resource->end; i++) {
        struct span_row *row = &plan->rows[i];
        if ((i - resource->first) % DECIDE_AHEAD == 0)
            expect_rows(&hearing, row, resource->end - i);
        row->asked.times.arrived = now.mono;
        if (self->config.link == LINK_ALL)
            attach(row, true, &hearing);
        else if (self->config.link == LINK_LOCAL_ROOT)
            attach(row, row->is_root, &hearing);
        else if (service)
            decide_confirmed(&hearing, row);
        else
            row->ruling.edit.fate = FATE_AS_CAME;
    }
    for (size_t i = resource->first; i < resource->end; i++)
        decide_children(&hearing, &plan->rows[i]);
}

/* A request larger than the whole hold: its first spans do not go in. */
static void cut_to_hold(const struct correlation *self, struct trace_plan *plan)
{
    const struct hold *hold = &self->hold;
    size_t bytes = 0;
    for (const struct resource_plan *each = plan->resources; each; each = each->next)
        bytes += each->waiting ? sizeof(struct segment) : 0;
    uint64_t spans = 0;
    for (size_t i = plan->count; i-- > 0;) {
        struct ruling *ruling = &plan->rows[i].ruling;
        if (ruling->edit.fate != FATE_WAIT)
            continue;
        spans++;
        bytes += sizeof(struct held) + plan->rows[i].field.bytes.size;
        if (bytes > hold->max_bytes || (hold->max_spans && spans > hold->max_spans))
            *ruling = (struct ruling){.edit.fate = FATE_AS_CAME, .reason = REASON_HOLD_FULL};
    }
}

/* Under the lock; true: a segment may go past the budget, since older ones will give way. */
static bool decide_plan(struct correlation *self, struct trace_plan *plan)
{
    pthread_mutex_lock(&self->lock);
    struct judge_now now = correlation_now(self);
    for (struct resource_plan *each = plan->resources; each; each = each->next)
        decide_resource(self, plan, each, now);
    trace_plan_count(plan);
    if (plan->waiting > 0) {
        cut_to_hold(self, plan);
        trace_plan_count(plan);
    }
    for (struct resource_plan *each = plan->resources; each; each = each->next)
        if (each->service)
            each->service->building++;
    bool may_force = self->hold.oldest;
    pthread_mutex_unlock(&self->lock);
    return may_force;
}

static void count_rows(const struct trace_plan *plan, const struct hearing *hearing,
                       const struct resource_plan *resource)
{
    for (size_t i = resource->first; i < resource->end; i++)
        if (plan->rows[i].counted && plan->rows[i].ruling.edit.fate != FATE_WAIT)
            decide_count(hearing, &plan->rows[i].ruling);
}

static void put_segment(struct correlation *self, struct resource_plan *resource,
                        struct judge_now now, struct release *release)
{
    struct segment *segment = resource->segment;
    if (!segment)
        return;
    resource->segment = NULL;
    segment->arrived = now.mono;
    decide_make_room(self, segment, release);
    gather_put(&self->hold, segment);
    if (resource->service->version != resource->version)
        decide_waiting(self, resource->service, true, release);
    if (resource->service->due < self->tick_at) {
        self->tick_at = resource->service->due;
        env_tick_at(self->env, self->tick_at);
    }
}

/* What was decided takes effect, now that the rest of the request was taken. */
static void commit(struct correlation *self, struct trace_plan *plan)
{
    struct release release = {0};
    pthread_mutex_lock(&self->lock);
    struct judge_now now = correlation_now(self);
    for (struct resource_plan *each = plan->resources; each; each = each->next) {
        struct hearing hearing;
        hearing_open(&hearing, self, each->service, now);
        count_rows(plan, &hearing, each);
        put_segment(self, each, now, &release);
        if (each->service)
            each->service->building--;
    }
    pthread_mutex_unlock(&self->lock);
    release_send(self, &release);
}

static void drop(struct correlation *self, struct trace_plan *plan)
{
    pthread_mutex_lock(&self->lock);
    for (struct resource_plan *each = plan->resources; each; each = each->next) {
        segment_free(each->segment);
        if (each->service)
            each->service->building--;
    }
    pthread_mutex_unlock(&self->lock);
}

/* The part of the request that does not wait. */
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
        return outlet_push(next, batch);
    }
    struct batch *rest = batch_with_payload(batch, payload, batch->items - plan->waiting);
    if (!rest)
        return VERDICT_RETRY;
    enum verdict verdict = outlet_push(next, rest);
    batch_unref(rest);
    return verdict;
}

static enum verdict carry_out(struct correlation *self, struct trace_plan *plan,
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
        commit(self, plan);
    else
        drop(self, plan);
    return verdict;
}

enum verdict traces_consume(struct correlation *self, struct batch *batch, struct outlet *next)
{
    struct trace_plan plan;
    bool read = trace_plan_read(&plan, self, batch);
    enum verdict verdict = read ? carry_out(self, &plan, batch, next) : outlet_push(next, batch);
    trace_plan_release(&plan);
    return verdict;
}
