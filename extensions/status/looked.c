#include "extensions/status/looked.h"

#include "extensions/status/copies.h"
#include "extensions/status/figures.h"
#include "extensions/status/inherited.h"
#include "extensions/status/known_find.h"

#include "lib/wire/proto/proto_scan.h"

#include <malloc.h>
#include <stdlib.h>

#define FORGET_AFTER (30 * NS_PER_S)
#define PLAIN_MAX    ((size_t)256 << 20) /* of a block, inflated */

/* The table is purged where one trace in PURGED_SHARE is gone. */
enum { CAPACITY_MIN = 1024, FIGURES_AT_ONCE = 512, PURGED_SHARE = 8 };

enum { SEEN_SIZE = COPIES * sizeof(uint64_t) };

/* ---- the table ---- */

static uint64_t low_of(const uint8_t id[16])
{
    return span_id_load(id + 8);
}

static uint32_t *looked_bucket(const struct looked *looked, uint64_t low)
{
    uint64_t hash = low * UINT64_C(0x9e3779b97f4a7c15);
    return &looked->buckets[hash >> 32 & (looked->capacity - 1)];
}

struct looked_trace *looked_find(const struct looked *looked, const uint8_t id[16])
{
    if (!looked->capacity)
        return NULL;
    for (uint32_t at = *looked_bucket(looked, low_of(id)); at; at = looked->traces[at - 1].next)
        if (memcmp(looked->traces[at - 1].id, id, 16) == 0)
            return &looked->traces[at - 1];
    return NULL;
}

static struct looked_trace *find_low(const struct looked *looked, uint64_t low)
{
    for (uint32_t at = *looked_bucket(looked, low); at; at = looked->traces[at - 1].next)
        if (low_of(looked->traces[at - 1].id) == low)
            return &looked->traces[at - 1];
    return NULL;
}

static void looked_link(struct looked *looked, uint32_t number)
{
    uint32_t *bucket = looked_bucket(looked, low_of(looked->traces[number].id));
    looked->traces[number].next = *bucket;
    *bucket = number + 1;
}

static void looked_unlink(struct looked *looked, uint32_t number)
{
    uint32_t *at = looked_bucket(looked, low_of(looked->traces[number].id));
    while (*at && *at != number + 1)
        at = &looked->traces[*at - 1].next;
    if (*at)
        *at = looked->traces[number].next;
}

static void looked_link_all(struct looked *looked)
{
    memset(looked->buckets, 0, looked->capacity * sizeof *looked->buckets);
    for (uint32_t i = 0; i < looked->count; i++)
        looked_link(looked, i);
}

/* Removes the traces that are not kept any more. False: there are too few to be worth it. */
static bool looked_purge(struct looked *looked)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < looked->count; i++)
        live += looked_live(looked, &looked->traces[i]);
    if (live + looked->count / PURGED_SHARE >= looked->count)
        return false;
    live = 0;
    for (uint32_t i = 0; i < looked->count; i++)
        if (looked_live(looked, &looked->traces[i]))
            looked->traces[live++] = looked->traces[i];
        else
            trace_services_drop(&looked->services, looked->traces[i].services);
    looked->count = looked->newest = live;
    looked_link_all(looked);
    return true;
}

static bool looked_grow(struct looked *looked)
{
    uint32_t capacity = looked->capacity ? looked->capacity * 2 : CAPACITY_MIN;
    size_t size = capacity * (sizeof *looked->traces + sizeof *looked->buckets);
    size_t more = size - looked->charged;
    if (!budget_take_spare(looked->budget, more))
        return false;
    looked->charged += more;
    struct looked_trace *traces = realloc(looked->traces, capacity * sizeof *traces);
    if (traces)
        looked->traces = traces;
    uint32_t *buckets = traces ? calloc(capacity, sizeof *buckets) : NULL;
    if (!buckets)
        return false;
    free(looked->buckets);
    looked->buckets = buckets;
    looked->capacity = capacity;
    looked_link_all(looked);
    return true;
}

static struct looked_trace *looked_put(struct looked *looked, const uint8_t id[16])
{
    struct looked_trace *trace = looked_find(looked, id);
    if (trace)
        return trace;
    if (looked->count == looked->capacity && !looked_purge(looked) &&
        looked->capacity < LOOKED_TRACES)
        looked_grow(looked);
    if (!looked->capacity)
        return NULL;
    uint32_t number = looked->newest % looked->capacity;
    if (looked->count < looked->capacity) {
        number = looked->count++;
    } else {
        looked_unlink(looked, number);
        trace_services_drop(&looked->services, looked->traces[number].services);
    }
    looked->newest = number + 1;
    trace = &looked->traces[number];
    *trace = (struct looked_trace){0};
    memcpy(trace->id, id, sizeof trace->id);
    looked_link(looked, number);
    return trace;
}

/* ---- reading ---- */

static void add_name(struct looked_trace *trace, uint16_t name)
{
    unsigned at = 0;
    while (at < TRACE_NAMES && trace->names[at] && trace->names[at] != name)
        at++;
    if (at < TRACE_NAMES)
        trace->names[at] = name;
}

/* Notes a span's service. */
static void add_service(struct looked *looked, struct looked_trace *trace, uint16_t name,
                        uint64_t id, bool local, bool linked)
{
    struct trace_service *service =
        name ? trace_services_put(&looked->services, &trace->services, name) : NULL;
    if (!service) {
        trace->services_cut = true;
        return;
    }
    service->linked |= linked;
    if (local && (!service->root || (!linked && !service->unlinked)))
        service->root = id;
    service->unlinked |= local && !linked;
}

static bool is_linked(struct status *self, const struct looked_span *each)
{
    const struct otlp_span *span = &each->span;
    uint64_t link;
    if (!span->profile_id.size || !span_id_parse(span->profile_id, &link))
        return false;
    status_lock(self);
    bool linked = known_is_linked(&self->known, span_id_load(span->span_id.data), each->service,
                                  looked_low(span), link);
    status_unlock(self);
    return linked;
}

/* A span that several pipelines hand on, or that was sent twice, counts once; copies that came long
 * apart count as two. */
static void count_span(struct looked *looked, struct looked_trace *trace,
                       const struct otlp_span *span, uint16_t service, bool linked)
{
    uint64_t link = 0;
    uint64_t hash = (low_of(trace->id) ^ service) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 32 ^ span_id_load(span->span_id.data)) * UINT64_C(0x9e3779b97f4a7c15);
    bool anew = trace->spans == 0;
    enum copy_is copy = looked->seen ? copies_put(looked->seen, hash, linked, anew) : COPY_NEW;
    trace->spans += copy == COPY_NEW;
    trace->linked += linked && copy != COPY_LINKED;
    if (linked && copy != COPY_LINKED && trace->owing < UINT8_MAX &&
        span_id_parse(span->profile_id, &link) && !link_is_inherited(span, link))
        trace->owing++;
}

/* Whether its status, by the field numbers of trace.proto, has the code of an error. */
static bool has_failed(struct view span)
{
    enum { SPAN_STATUS = 15, STATUS_CODE = 3, CODE_ERROR = 2 };
    struct view status = proto_find_bytes(span, SPAN_STATUS);
    struct proto_field code;
    return proto_find(status, STATUS_CODE, WIRE_VARINT, &code) && code.value == CODE_ERROR;
}

static void looked_add(struct status *self, const struct looked_span *each, const struct kept *kept)
{
    struct looked *looked = self->looked;
    const struct otlp_span *span = &each->span;
    struct looked_trace *trace = span->trace_id.size == 16 && span->span_id.size == 8
                                     ? looked_put(looked, span->trace_id.data)
                                     : NULL;
    if (!trace)
        return;
    bool local = otlp_span_is_local_root(span);
    uint8_t rank = span->parent_span_id.size == 0 ? 2 : local ? 1 : 0;
    bool linked = is_linked(self, each);
    bool is_root = trace->spans == 0 || rank > trace->rank ||
                   (rank == trace->rank && span->start_ns < trace->start);
    uint16_t service = (uint16_t)names_put(&looked->names, each->service);
    count_span(looked, trace, span, service, linked);
    trace->failed |= has_failed(span->body);
    trace->newest[kept->class] = kept->serial;
    if (!trace->first || kept->serial < trace->first)
        trace->first = kept->serial;
    add_service(looked, trace, service, span_id_load(span->span_id.data), local, linked);
    uint16_t name = (uint16_t)names_put(&looked->names, span->name);
    add_name(trace, name);
    if (!is_root)
        return;
    trace->root = span_id_load(span->span_id.data);
    trace->start = span->start_ns;
    trace->end = span->end_ns;
    trace->name = name;
    trace->service = service;
    trace->rank = rank;
    trace->root_linked = linked;
}

/* Visits the spans of requests from an offset on, until visit returns false. */
static bool walk_requests(const struct kept *kept, struct view requests, looked_visit_fn *visit,
                          void *ctx)
{
    struct otlp_walk walk;
    struct looked_span each = {.arrived = kept->first};
    otlp_walk_begin(&walk, SIGNAL_TRACES, requests);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step == OTLP_RESOURCE) {
            each.resource = walk.resource_entry.bytes;
            each.service = otlp_resource_attribute(each.resource, VIEW("service.name"));
            if (!each.service.size)
                each.service = VIEW("unknown_service");
        }
        if (step != OTLP_ITEM)
            continue;
        otlp_span_read(walk.item.bytes, &each.span);
        if (!visit(ctx, &each))
            return false;
    }
    return true;
}

struct adding {
    struct status *self;
    const struct kept *kept;
};

static bool add_visited(void *ctx, const struct looked_span *span)
{
    struct adding *adding = ctx;
    looked_add(adding->self, span, adding->kept);
    return true;
}

static void look_at(struct status *self, const struct kept *kept, struct bytes *plain)
{
    struct looked *looked = self->looked;
    struct adding adding = {self, kept};
    uint64_t *serial = &looked->of[kept->class].serial;
    size_t *offset = &looked->of[kept->class].offset;
    size_t from = kept->serial == *serial ? *offset : 0;
    bytes_clear(plain);
    if (kept->serial < *serial || !kept_open(kept, plain) || plain->size < from)
        return;
    walk_requests(kept, (struct view){plain->data + from, plain->size - from}, add_visited,
                  &adding);
    *serial = kept->serial;
    *offset = plain->size;
}

/* The caller prevents blocks from moving meanwhile. */
static struct kept **list_from(struct status *self, uint64_t serial, size_t *count)
{
    pthread_mutex_lock(&self->taking);
    struct kept **list = keep_list(&self->keep, serial, count);
    pthread_mutex_unlock(&self->taking);
    return list;
}

static struct looked *looked_new(struct budget *budget)
{
    struct looked *looked = calloc(1, sizeof *looked);
    if (looked) {
        looked->budget = budget;
        names_init(&looked->names, LOOKED_TRACES, budget);
        trace_services_init(&looked->services, budget);
        if (budget_take_spare(budget, SEEN_SIZE) &&
            !(looked->seen = calloc(COPIES, sizeof *looked->seen)))
            budget_give(budget, SEEN_SIZE);
    }
    return looked;
}

struct looked *looked_update(struct status *self)
{
    size_t count;
    struct bytes plain;
    if (!self->looked)
        self->looked = looked_new(self->env->budget);
    if (!self->looked)
        return NULL;
    bytes_init(&plain, PLAIN_MAX, self->env->budget);
    struct looked *looked = self->looked;
    uint64_t from = looked->of[0].serial;
    for (int class = 1; class < KEPT_CLASSES; class ++)
        from = looked->of[class].serial < from ? looked->of[class].serial : from;
    struct kept **list = list_from(self, from, &count);
    for (size_t i = 0; i < count; i++)
        if (list[i]->kind == KEPT_TRACES)
            look_at(self, list[i], &plain);
    keep_list_free(list, count);
    bytes_release(&plain);
    for (int class = 0; class < KEPT_CLASSES; class ++)
        looked->of[class].oldest = keep_oldest_block(&self->keep, (enum kept_class) class);
    return looked;
}

/* Samples of wall time do not count beside those of CPU time. */
static void add_figures(struct looked_trace *trace, const struct span_figures_told *of)
{
    if (of->times_cpu && !trace->times_cpu) {
        trace->times_cpu = true;
        trace->samples = 0;
    }
    trace->cpu_ns += of->cpu_ns;
    trace->wall_ns += of->wall_ns;
    trace->samples += of->times_cpu == trace->times_cpu ? (uint32_t)of->samples : 0;
    if (trace->counted < UINT8_MAX)
        trace->counted++;
}

/* Under the watch's lock. False: it has no samples. */
static bool told_of(const struct known *known, const struct known_span *span,
                    struct span_figures_told *told)
{
    *told = (struct span_figures_told){
        .samples = known_samples(known, span),
        .cpu_ns = span->cpu_ns,
        .wall_ns = span->wall_ns,
        .times_cpu = known_times_cpu(known, span),
    };
    return known_has_samples(span);
}

static void add_gone(void *ctx, const struct known_figures *each)
{
    struct looked *looked = ctx;
    struct looked_trace *trace = looked->count ? find_low(looked, each->trace) : NULL;
    const struct span_figures_told told = {
        .samples = each->samples,
        .cpu_ns = each->cpu_ns,
        .wall_ns = each->wall_ns,
        .times_cpu = each->service & FIGURES_TIME_CPU,
    };
    if (trace)
        add_figures(trace, &told);
}

/* Spans of one service in two traces may have the same id: the samples are of both. */
static void add_shared(struct status *self, struct looked *looked, struct looked_trace *trace)
{
    struct span_figures_told told;
    uint64_t low = low_of(trace->id);
    const struct trace_service *each = trace_services_first(&looked->services, trace->services);
    for (; each; each = trace_services_next(&looked->services, each)) {
        struct view service = names_get(&looked->names, each->name);
        const struct known_span *span =
            each->root ? known_find_as(&self->known, each->root, service, low, !each->unlinked)
                       : NULL;
        if (span && span->trace != low && told_of(&self->known, span, &told))
            add_figures(trace, &told);
    }
}

static void let_in(struct status *self, uint32_t n)
{
    if (n % FIGURES_AT_ONCE != FIGURES_AT_ONCE - 1)
        return;
    status_unlock(self);
    status_lock(self);
}

void looked_figures(struct status *self, struct looked *looked)
{
    status_lock(self);
    const struct left_outs skipped = self->skipped_linked;
    status_unlock(self);
    for (uint32_t i = 0; i < looked->count; i++) {
        looked->traces[i].skipped = left_outs_find(&skipped, VIEW(""), looked->traces[i].start,
                                                   looked->traces[i].end + PASSES_WITHIN);
        looked->traces[i].cpu_ns = looked->traces[i].wall_ns = 0;
        looked->traces[i].samples = 0;
        looked->traces[i].counted = 0;
        looked->traces[i].times_cpu = false;
    }
    status_lock(self);
    for (uint32_t i = 0; looked->count && i < self->known.span_count; i++) {
        let_in(self, i);
        struct span_figures_told told;
        const struct known_span *span = known_at(&self->known, i);
        struct looked_trace *trace = span->trace ? find_low(looked, span->trace) : NULL;
        if (trace && told_of(&self->known, span, &told))
            add_figures(trace, &told);
    }
    status_unlock(self);
    figures_walk(self, add_gone, looked);
    status_lock(self);
    for (uint32_t i = 0; i < looked->count; i++) {
        let_in(self, i);
        if (looked->traces[i].linked && !looked->traces[i].counted)
            add_shared(self, looked, &looked->traces[i]);
    }
    status_unlock(self);
}

static void looked_free(struct looked *looked)
{
    if (!looked)
        return;
    names_release(&looked->names);
    trace_services_release(&looked->services);
    free(looked->traces);
    free(looked->buckets);
    budget_give(looked->budget, looked->charged + (looked->seen ? SEEN_SIZE : 0));
    free(looked->seen);
    free(looked);
}

void looked_forget(struct status *self, bool always)
{
    uint64_t now = clock_mono(self->env->clock), at = self->looked_at;
    if (!self->looked || (!always && now < at + FORGET_AFTER))
        return;
    pthread_mutex_lock(&self->looking);
    looked_free(self->looked);
    self->looked = NULL;
    pthread_mutex_unlock(&self->looking);
    malloc_trim(0);
}

/* ---- walks ---- */

void looked_walk(struct status *self, uint64_t first, uint64_t last, looked_visit_fn *visit,
                 void *ctx)
{
    size_t count;
    struct bytes plain;
    bytes_init(&plain, PLAIN_MAX, self->env->budget);
    struct kept **list = list_from(self, first, &count);
    bool goes_on = true;
    for (size_t i = 0; goes_on && i < count; i++) {
        if (list[i]->kind != KEPT_TRACES || list[i]->serial > last)
            continue;
        bytes_clear(&plain);
        if (kept_open(list[i], &plain))
            goes_on = walk_requests(list[i], bytes_view(&plain), visit, ctx);
    }
    keep_list_free(list, count);
    bytes_release(&plain);
}

struct finding {
    uint64_t span_id;
    uint8_t *trace_id;
    bool found;
};

static bool find_visited(void *ctx, const struct looked_span *each)
{
    struct finding *finding = ctx;
    const struct otlp_span *span = &each->span;
    if (span->span_id.size != 8 || span->trace_id.size != 16 ||
        span_id_load(span->span_id.data) != finding->span_id)
        return true;
    memcpy(finding->trace_id, span->trace_id.data, 16);
    finding->found = true;
    return false;
}

bool looked_trace_of(struct status *self, uint64_t span_id, uint8_t trace_id[16])
{
    struct finding finding = {.span_id = span_id, .trace_id = trace_id};
    looked_walk(self, 0, UINT64_MAX, find_visited, &finding);
    return finding.found;
}
