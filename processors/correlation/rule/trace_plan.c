#include "processors/correlation/rule/trace_plan.h"

enum { ENTRY_RESOURCE = 1, SCOPE_SPANS = 2 };

/* A clock may differ by so much without being wrong: the span ended as it arrived, about. */
#define AHEAD_BY_LITTLE NS_PER_S

/* Ordinary requests take a few times their size: rows, headers, edits and texts. */
static size_t arena_cap(const struct batch *batch)
{
    return ((size_t)4 << 20) + 24 * batch->payload->size;
}

static struct span_row *add_row(struct trace_plan *plan)
{
    if (plan->count == plan->capacity) {
        size_t capacity = 2 * plan->capacity + 16;
        struct span_row *rows = arena_array_raw(&plan->arena, capacity, sizeof *rows);
        if (!rows)
            return NULL;
        if (plan->count)
            memcpy(rows, plan->rows, plan->count * sizeof *rows);
        plan->rows = rows;
        plan->capacity = capacity;
    }
    return &plan->rows[plan->count++];
}

static uint64_t trace_plan_id_of(struct view bytes)
{
    return bytes.size == 8 ? span_id_load(bytes.data) : 0;
}

void span_row_time(struct span_row *row, const struct correlation *self, struct judge_now now)
{
    struct candidate *candidate = &row->candidate;
    candidate->started = row->start_ns ? row->start_ns : row->end_ns;
    candidate->ended = judge_local(now, row->end_ns ? row->end_ns : now.wall);
    candidate->ahead = row->end_ns > now.wall + AHEAD_BY_LITTLE;
    candidate->arrived = now.mono;
    if (candidate->started && candidate->started < self->since) {
        uint64_t early = (self->since - candidate->started) / EARLY_UNIT + 1;
        candidate->early = early > UINT16_MAX ? UINT16_MAX : (uint16_t)early;
    }
}

/* Fills a row from the note that the check made of the span. */
static void take_row(struct span_row *row, const struct otlp_span_note *note)
{
    row->candidate.own = note->id;
    row->candidate.parent = note->parent;
    row->start_ns = note->start_ns;
    row->end_ns = note->end_ns;
    row->is_root = otlp_note_is_local_root(note);
}

static void read_row(struct span_row *row, const struct proto_field *field)
{
    struct otlp_span span;
    otlp_span_read(field->bytes, &span);
    uint64_t named;
    bool names = span.profile_id.data && span_id_parse(span.profile_id, &named);
    row->candidate.own = trace_plan_id_of(span.span_id);
    row->candidate.named = names ? named : 0;
    row->candidate.parent = trace_plan_id_of(span.parent_span_id);
    row->start_ns = span.start_ns;
    row->end_ns = span.end_ns;
    row->is_root = otlp_span_is_local_root(&span);
    row->marked = span.profile_attributes > 0;
}

/* Merged requests repeat their resource: its header is made once. */
static bool read_header(struct trace_plan *plan, const struct correlation *self,
                        struct resource_plan *resource)
{
    const struct resource_plan *last = plan->last;
    resource->bare = remap_bare(resource->field.bytes, &plan->arena);
    if (!resource->bare.data)
        return false;
    if (last && view_eq(last->bare, resource->bare))
        resource->header = last->header;
    else
        resource->header = remap_header(&self->remap, resource->bare, &plan->arena);
    return resource->header.data;
}

static bool add_resource(struct trace_plan *plan, const struct correlation *self,
                         const struct proto_field *field)
{
    struct resource_plan *resource = arena_alloc(&plan->arena, sizeof *resource);
    if (!resource)
        return false;
    resource->field = *field;
    resource->name = otlp_resource_attribute(field->bytes, VIEW("service.name"));
    if (resource->name.size == 0)
        resource->name = UNKNOWN_SERVICE;
    resource->first = plan->count;
    if (!read_header(plan, self, resource))
        return false;
    *(plan->last ? &plan->last->next : &plan->resources) = resource;
    plan->last = resource;
    return true;
}

static bool add_scope(struct trace_plan *plan, const struct proto_field *field)
{
    struct resource_plan *resource = plan->last;
    struct scope_plan *scope = arena_alloc(&plan->arena, sizeof *scope);
    if (!scope)
        return false;
    scope->field = *field;
    scope->first = plan->count;
    *(resource->last ? &resource->last->next : &resource->scopes) = scope;
    resource->last = scope;
    return true;
}

/* Adds a span. Resources and scopes are made with their first span, so that empty entries, of which
 * a request can hold millions, take no memory. */
static bool add_span(struct trace_plan *plan, const struct correlation *self,
                     const struct otlp_walk *walk)
{
    if (!plan->last || plan->last->field.start != walk->resource_entry.start)
        if (!add_resource(plan, self, &walk->resource_entry))
            return false;
    if (!plan->last->last || plan->last->last->field.start != walk->scope_entry.start)
        if (!add_scope(plan, &walk->scope_entry))
            return false;
    struct span_row *row = add_row(plan);
    if (!row)
        return false;
    const struct otlp_span_note *note =
        otlp_note_find(plan->notes, plan->count - 1, plan->request, walk->item.bytes);
    *row = (struct span_row){.field = walk->item};
    if (note)
        take_row(row, note);
    else
        read_row(row, &walk->item);
    plan->last->last->end = plan->last->end = plan->count;
    return true;
}

static bool trace_plan_read_request(struct trace_plan *plan, const struct correlation *self)
{
    struct otlp_walk walk;
    otlp_walk_begin(&walk, SIGNAL_TRACES, plan->request);
    enum otlp_step step = otlp_walk_next(&walk);
    for (; step != OTLP_END; step = otlp_walk_next(&walk))
        if (step == OTLP_ITEM && !add_span(plan, self, &walk))
            return false;
    return true;
}

bool trace_plan_read(struct trace_plan *plan, const struct correlation *self,
                     const struct batch *batch)
{
    *plan = (struct trace_plan){.request = buffer_view(batch->payload),
                                .notes = buffer_view(batch->notes),
                                .tenant = correlation_tenant(self, batch)};
    arena_init(&plan->arena, arena_cap(batch));
    arena_charge(&plan->arena, self->env->budget, budget_use, ARENA_SMALL + batch->payload->size);
    plan->capacity = batch->items;
    plan->rows = arena_array_raw(&plan->arena, plan->capacity, sizeof *plan->rows);
    return plan->rows && trace_plan_read_request(plan, self);
}

void trace_plan_release(struct trace_plan *plan)
{
    arena_release(&plan->arena);
}

void trace_plan_count(struct trace_plan *plan)
{
    plan->waiting = 0;
    for (struct resource_plan *resource = plan->resources; resource; resource = resource->next) {
        resource->waiting = 0;
        for (struct scope_plan *scope = resource->scopes; scope; scope = scope->next) {
            scope->waiting = 0;
            for (size_t i = scope->first; i < scope->end; i++)
                scope->waiting += plan->rows[i].decision.edit.action == ACTION_WAIT;
            resource->waiting += scope->waiting;
        }
        plan->waiting += resource->waiting;
    }
}

/* Returns a ScopeSpans without its spans, in the arena. */
static struct view scope_header(struct trace_plan *plan, const struct scope_plan *scope)
{
    struct view entry = scope->field.bytes;
    uint8_t *header = arena_array_raw(&plan->arena, entry.size + 1, 1), *out = header;
    struct proto_scan scan = proto_scan_begin(entry);
    struct proto_field field;
    while (header && proto_scan_next(&scan, &field))
        if (field.number != SCOPE_SPANS)
            out = proto_bytes_put(out, view_between(field.start, field.end));
    return view_between(header, out);
}

static struct segment_size size_of_waiting(const struct trace_plan *plan,
                                           const struct resource_plan *resource)
{
    struct segment_size size = {.spans = resource->waiting};
    for (struct scope_plan *scope = resource->scopes; scope; scope = scope->next)
        size.scopes += scope->waiting > 0;
    for (size_t i = resource->first; i < resource->end; i++)
        if (plan->rows[i].decision.edit.action == ACTION_WAIT)
            size.bytes += (uint32_t)plan->rows[i].field.bytes.size;
    return size;
}

static void fill_held(struct held *held, const struct span_row *row, struct segment *segment,
                      uint32_t at)
{
    *held = (struct held){
        .own = row->candidate.own,
        .named = row->is_child ? row->candidate.parent : row->candidate.named,
        .end = row->candidate.ended,
        .back = (uint32_t)((char *)held - (char *)segment),
        .at = at,
        .size = (uint32_t)row->field.bytes.size,
        .flags = (uint8_t)((row->is_root ? HELD_ROOT : 0) | (row->marked ? HELD_MARKED : 0) |
                           (row->is_child ? HELD_CHILD : 0) |
                           (row->candidate.forgotten ? HELD_FORGOTTEN : 0) |
                           (row->candidate.ahead ? HELD_AHEAD : 0)),
        .early = row->candidate.early,
    };
    proto_bytes_put(segment->bytes + at, row->field.bytes);
}

static bool fill_segment(struct trace_plan *plan, const struct resource_plan *resource,
                         struct segment *segment)
{
    struct held *held = segment->spans;
    uint32_t index = 0, at = 0;
    for (struct scope_plan *scope = resource->scopes; scope; scope = scope->next) {
        if (scope->waiting == 0)
            continue;
        struct view header = scope_header(plan, scope);
        segment->scopes[index] = header.data ? interner_get(segment->interner, header) : NULL;
        if (!segment->scopes[index])
            return false;
        for (size_t i = scope->first; i < scope->end; i++) {
            const struct span_row *row = &plan->rows[i];
            if (row->decision.edit.action != ACTION_WAIT)
                continue;
            fill_held(held, row, segment, at);
            held++->scope = index;
            at += (uint32_t)row->field.bytes.size;
            segment->children += row->is_child;
        }
        index++;
    }
    return true;
}

static struct segment *make_segment(struct trace_plan *plan, const struct resource_plan *resource,
                                    struct interner *interner, bool may_force)
{
    struct segment_size size = size_of_waiting(plan, resource);
    struct interned *header = interner_get(interner, resource->header);
    struct segment *segment = header ? segment_new(&size, interner, header, may_force) : NULL;
    if (!segment) {
        interner_put(interner, header);
        return NULL;
    }
    if (!fill_segment(plan, resource, segment)) {
        segment_free(segment);
        return NULL;
    }
    return segment;
}

static void let_pass(struct trace_plan *plan, const struct resource_plan *resource)
{
    for (size_t i = resource->first; i < resource->end; i++)
        if (plan->rows[i].decision.edit.action == ACTION_WAIT)
            plan->rows[i].decision = (struct decision){
                .edit.action = ACTION_AS_CAME,
                .reason = REASON_HOLD_FULL,
            };
}

void trace_plan_hold(struct trace_plan *plan, struct correlation *self, struct origin *origin,
                     bool may_force)
{
    for (struct resource_plan *resource = plan->resources; resource; resource = resource->next) {
        if (resource->waiting == 0)
            continue;
        if (origin)
            resource->segment = make_segment(plan, resource, &self->interner, may_force);
        if (resource->segment) {
            resource->segment->process = resource->process;
            resource->segment->origin = origin;
            atomic_fetch_add_explicit(&origin->refs, 1, memory_order_relaxed);
        } else {
            let_pass(plan, resource);
        }
    }
    trace_plan_count(plan);
}

/* Spans that stay unchanged are not read a second time. */
static bool needs_edit(const struct span_row *row)
{
    enum action action = row->decision.edit.action;
    return action == ACTION_LINK || (action == ACTION_UNLINK && row->marked);
}

static void rewrite_scope(const struct trace_plan *plan, const struct scope_plan *scope,
                          const struct edit_policy *policy, struct splice *splice)
{
    splice_enter(splice, &scope->field);
    for (size_t i = scope->first; i < scope->end; i++) {
        const struct span_row *row = &plan->rows[i];
        if (row->decision.edit.action == ACTION_WAIT) {
            splice_delete(splice, row->field.start, row->field.end);
        } else if (needs_edit(row)) {
            struct otlp_span span = {.body = row->field.bytes};
            if (row->marked) /* else only an attribute is added */
                otlp_span_read(row->field.bytes, &span);
            splice_enter(splice, &row->field);
            edit_span(splice, &span, &row->decision.edit, policy);
            splice_leave(splice);
        }
    }
    splice_leave(splice);
}

/* Replaces every Resource field by the one at the same position in the remapped header. */
static void rewrite_resource_field(const struct proto_field *field, struct proto_scan *header,
                                   struct splice *splice)
{
    struct proto_field remapped = {0};
    while (proto_scan_next(header, &remapped))
        if (remapped.number == ENTRY_RESOURCE)
            break;
    if (!view_eq(field->bytes, remapped.bytes))
        splice_replace(splice, field->start, field->end,
                       view_between(remapped.start, remapped.end));
}

static void rewrite_resource(const struct trace_plan *plan, const struct resource_plan *resource,
                             const struct edit_policy *policy, struct splice *splice)
{
    struct proto_scan scan = proto_scan_begin(resource->field.bytes);
    struct proto_scan header = proto_scan_begin(resource->header);
    const struct scope_plan *scope = resource->scopes;
    struct proto_field field;
    splice_enter(splice, &resource->field);
    while (proto_scan_next(&scan, &field)) {
        if (field.number == ENTRY_RESOURCE) {
            rewrite_resource_field(&field, &header, splice);
        } else if (scope && field.start == scope->field.start) {
            if (scope->waiting == scope->end - scope->first)
                splice_delete(splice, field.start, field.end);
            else
                rewrite_scope(plan, scope, policy, splice);
            scope = scope->next;
        }
    }
    splice_leave(splice);
}

struct buffer *trace_plan_rewrite(struct trace_plan *plan, const struct correlation *self,
                                  struct buffer *payload)
{
    struct splice splice;
    splice_begin(&splice, plan->request, &plan->arena);
    for (struct resource_plan *resource = plan->resources; resource; resource = resource->next) {
        const struct proto_field *field = &resource->field;
        if (resource->waiting == resource->end - resource->first)
            splice_delete(&splice, field->start, field->end);
        else
            rewrite_resource(plan, resource, &self->policy, &splice);
    }
    if (splice.failed)
        return NULL;
    return splice_any(&splice) ? splice_buffer(&splice, payload) : buffer_ref(payload);
}
