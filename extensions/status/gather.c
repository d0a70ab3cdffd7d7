/* Collects forwarded requests: data threads queue references, and a thread of the extension
 * processes them a moment later, within a small share of the process's CPU time. */
#include "extensions/status/inherited.h"
#include "extensions/status/known_find.h"
#include "extensions/status/known_routes.h"
#include "extensions/status/looked.h"
#include "lib/base/heap.h"
#include "lib/base/thread.h"
#include "lib/wire/otlp/otlp.h"

#include <stdlib.h>
#include <time.h>

#define LATER        NS_PER_S /* from the first queued request to its processing */
#define SETTLE_EVERY (10 * NS_PER_S)
#define JOIN_BACK    (120 * NS_PER_S)
#define GATHER_MAX   ((size_t)4 << 20) /* bytes queued at most, but for a larger profile alone */
#define GATHER_SOON  ((size_t)1 << 19) /* from so many on, they are processed at once */
#define TRIM_EACH    ((size_t)2 << 20) /* bytes freed from one malloc_trim to the next */

/* Processing may use SHARE of the process's CPU time. While EVER of the elapsed time besides is
 * enough to keep all that comes, it may use that, too: a low load is kept completely. Unused credit
 * accumulates up to CREDIT_MAX, so that a burst is. */
#define SHARE        1 / 100
#define EVER         1 / 5000
#define CREDIT_MAX   (int64_t)(10 * NS_PER_MS)
#define CREDIT_FIRST (8 * NS_PER_MS)
#define CREDIT_PACK  (int64_t)(3 * NS_PER_MS)
#define DEBT_MAX     (int64_t)(200 * NS_PER_MS)
#define MIB          ((size_t)1 << 20)
#define COST_A_BYTE  1 /* ns per byte, until measured */

static uint64_t cpu_of(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* ---- on data threads, under the watch's lock ---- */

static char *text_or_null(const char *text)
{
    return text ? strdup(text) : NULL;
}

static void describe(struct gathered *one, const struct batch *batch)
{
    one->kind = KEPT_TRACES;
    one->tenant = batch->metadata ? metadata_ref(batch->metadata) : NULL;
    if (batch->signal == SIGNAL_TRACES)
        return;
    switch (batch->encoding) {
    case BATCH_PPROF:
        one->kind = KEPT_PPROF;
        one->starts = batch->starts;
        one->series = batch->series ? series_ref(batch->series) : NULL;
        one->by_ingest = batch->profile && batch->profile->by_ingest;
        one->query = batch->profile ? text_or_null(batch->profile->sample_type_config) : NULL;
        break;
    case BATCH_OTLP:
        one->kind = KEPT_PROFILES;
        break;
    case BATCH_OPAQUE:
        one->kind = KEPT_OPAQUE;
        one->query = text_or_null(batch->opaque->query);
        one->content = text_or_null(batch->opaque->content_type);
        break;
    }
}

/* Profiles have priority, since a trace is of most use with its flame graphs, and linked traces
 * before others: those leave an eighth of the allowance and of the queue, these half of it. */
static bool has_room(const struct status *self, const struct batch *batch, bool linked)
{
    size_t size = batch->payload->size;
    bool traces = batch->signal == SIGNAL_TRACES;
    size_t part = !traces ? 0 : linked ? 1 : 4; /* eighths */
    size_t reserved = self->gathered ? GATHER_MAX / 8 * part : 0;
    return self->gathered + size + reserved <= GATHER_MAX &&
           size + self->granted / 8 * part <= self->allowed;
}

/* A profile larger than the queue is taken by itself, while there is credit to spare for it; what
 * it costs beyond the credit is paid back before anything else is taken. */
static bool takes_large(const struct status *self, const struct batch *batch)
{
    return batch->signal == SIGNAL_PROFILES && batch->payload->size > GATHER_MAX && self->spare &&
           batch->payload->size <= self->keep.max;
}

static void note_left_out(struct status *self, const struct batch *batch)
{
    bool ingest = batch->encoding == BATCH_PPROF && batch->profile && batch->profile->by_ingest;
    const struct series *series = batch->encoding == BATCH_PPROF ? batch->series : NULL;
    left_outs_add(&self->left_outs, left_out_service_of(series, ingest),
                  clock_wall(self->env->clock),
                  batch->payload->size > self->keep.max ? LEFT_OUT_LARGE : LEFT_OUT_BUSY);
}

static void gather_passed(void *ctx, const struct batch *batch, bool linked)
{
    struct status *self = ctx;
    bool wanted = batch->signal == SIGNAL_TRACES || batch->signal == SIGNAL_PROFILES;
    bool large = wanted && takes_large(self, batch);
    self->offered += wanted ? batch->payload->size : 0;
    struct gathered *one =
        large || (wanted && has_room(self, batch, linked)) ? calloc(1, sizeof *one) : NULL;
    if (!one) {
        self->skipped += wanted;
        self->skipped_spans += batch->signal == SIGNAL_TRACES ? batch->items : 0;
        if (batch->signal == SIGNAL_PROFILES)
            note_left_out(self, batch);
        return;
    }
    self->spare &= !large;
    one->payload = buffer_ref(batch->payload);
    one->arrived = clock_wall(self->env->clock);
    one->spans = batch->items;
    one->class = linked ? KEPT_LINKED : KEPT_UNLINKED;
    describe(one, batch);
    *self->last = one;
    self->last = &one->next;
    self->gathered += batch->payload->size;
    self->allowed -= large ? self->allowed : batch->payload->size;
    if (self->asleep || self->gathered > GATHER_SOON) {
        self->asleep = false;
        pthread_cond_signal(&self->wake);
    }
}

static void gather_decided(void *ctx, const struct watch_decision *decision)
{
    struct status *self = ctx;
    known_decided(&self->known, decision);
}

static void gather_sampled(void *ctx, const struct watch_window *window,
                           const struct watch_sample *samples, size_t count)
{
    struct status *self = ctx;
    if (count == 0)
        known_window_came(&self->known, window);
    else
        known_sampled(&self->known, window, samples, count);
}

/* ---- on the extension's thread, or that of a request to the API ---- */

enum { SEEN_AT_ONCE = 64 };

struct seen_list {
    struct status *self;
    struct known_seen seen[SEEN_AT_ONCE];
    struct view tenant;
    size_t count;
    uint64_t now;
    uint64_t again; /* as in known_seen */
};

static void seen_flush(struct seen_list *list)
{
    if (!list->count)
        return;
    status_lock(list->self);
    for (size_t i = 0; i < list->count; i++)
        known_seen(&list->self->known, &list->seen[i], list->now);
    status_unlock(list->self);
    list->count = 0;
}

/* The span id, if the span begins with trace id and span id (fields 1 and 2 of trace.proto), as all
 * SDKs write it; otherwise 0. */
static uint64_t front_id(struct view body)
{
    static const uint8_t trace[] = {0x0a, 16}, span[] = {0x12, 8};
    bool plain = body.size >= 28 && memcmp(body.data, trace, sizeof trace) == 0 &&
                 memcmp(body.data + 18, span, sizeof span) == 0;
    return plain ? span_id_load(body.data + 20) : 0;
}

/* Whether anything may be known about a span. Most spans are skipped here without parsing them. */
static bool is_known(struct status *self, struct view body)
{
    uint64_t id = front_id(body);
    return !id || known_may_have(&self->known, id);
}

static void seen_add(struct seen_list *list, const struct otlp_span *span, struct view service)
{
    uint64_t link = 0;
    if (span->profile_id.data && !span_id_parse(span->profile_id, &link))
        link = 0;
    if (span->span_id.size != 8 || span->trace_id.size != 16 || link_is_inherited(span, link))
        return;
    list->seen[list->count++] = (struct known_seen){
        .id = span_id_load(span->span_id.data),
        .link = link,
        .trace = span_id_load(span->trace_id.data + 8),
        .ended = span->end_ns,
        .service = service,
        .name = span->name,
        .tenant = list->tenant,
        .child = !link && !otlp_span_is_local_root(span),
        .again = list->again,
    };
    if (list->count == SEEN_AT_ONCE)
        seen_flush(list);
}

/* Attributes samples to the routes of local roots and linked spans. */
static void gather_join(struct status *self, struct view request, struct view tenant)
{
    struct seen_list list; /* large: its rows are not initialised */
    struct otlp_walk walk;
    struct view service = {0};
    list.self = self;
    list.tenant = tenant;
    list.count = 0;
    list.now = clock_wall(self->env->clock);
    list.again = 0;
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        struct otlp_span span;
        if (step == OTLP_RESOURCE)
            service = otlp_resource_attribute(walk.resource_entry.bytes, VIEW("service.name"));
        if (step != OTLP_ITEM || !is_known(self, walk.item.bytes))
            continue;
        otlp_span_read(walk.item.bytes, &span);
        seen_add(&list, &span, service.size ? service : VIEW("unknown_service"));
    }
    seen_flush(&list);
}

/* A walk's spans are valid during its call only, and a list outlives that. */
struct join {
    struct seen_list list;
    uint8_t texts[SEEN_AT_ONCE][2][NAME_CUT + 1]; /* one more byte shows that a name is cut */
};

static struct view join_copy(uint8_t *to, struct view text)
{
    size_t size = text.size < NAME_CUT + 1 ? text.size : NAME_CUT + 1;
    if (size)
        memcpy(to, text.data, size);
    return (struct view){to, size};
}

static bool join_visited(void *ctx, const struct looked_span *each)
{
    struct join *join = ctx;
    uint8_t(*texts)[NAME_CUT + 1] = join->texts[join->list.count];
    struct otlp_span span = each->span;
    if (span.span_id.size != 8 ||
        !known_may_have(&join->list.self->known, span_id_load(span.span_id.data)))
        return true;
    span.name = join_copy(texts[0], span.name);
    join->list.again = each->arrived;
    seen_add(&join->list, &span, join_copy(texts[1], each->service));
    return true;
}

/* The serial of the first block with requests that arrived later. */
static uint64_t serial_since(struct status *self, uint64_t arrived)
{
    size_t count;
    uint64_t serial = UINT64_MAX;
    struct kept **list = keep_list(&self->keep, 0, &count);
    for (size_t i = 0; i < count && serial == UINT64_MAX; i++)
        if (list[i]->kind == KEPT_TRACES && list[i]->arrived >= arrived)
            serial = list[i]->serial;
    keep_list_free(list, count);
    return serial;
}

void gather_settle(struct status *self)
{
    uint64_t now = clock_wall(self->env->clock);
    status_lock(self);
    known_settle(&self->known, now);
    bool joins = known_may_have_passed(&self->known, now);
    status_unlock(self);
    uint64_t first = joins ? serial_since(self, now - JOIN_BACK) : UINT64_MAX;
    if (first == UINT64_MAX)
        return;
    struct join join;
    join.list.self = self;
    join.list.tenant = (struct view){0};
    join.list.count = 0;
    join.list.now = now;
    looked_walk(self, first, UINT64_MAX, join_visited, &join);
    seen_flush(&join.list);
}

static void gather_work(struct status *self, struct gathered *one)
{
    struct buffer *flat = buffer_flat(one->payload);
    struct view content = flat ? buffer_view(flat) : (struct view){0};
    if (flat && one->kind == KEPT_TRACES) {
        struct view tenant = one->tenant ? view_of(one->tenant->tenant) : (struct view){0};
        gather_join(self, content, tenant);
        keep_traces(&self->keep, one->class, content, one->spans, one->arrived);
    } else if (flat) {
        struct kept head = {
            .kind = one->kind,
            .arrived = one->arrived,
            .series = one->series,
            .query = one->query,
            .content = one->content,
            .by_ingest = one->by_ingest,
            .starts = one->starts,
        };
        uint64_t service = left_out_service_of(one->series, one->by_ingest);
        if (!keep_profile(&self->keep, &head, content)) {
            status_lock(self);
            left_outs_add(&self->left_outs, service, one->arrived, LEFT_OUT_LARGE);
            status_unlock(self);
        }
        one->series = NULL;
        one->query = one->content = NULL;
    }
    self->worked += content.size;
    buffer_unref(flat);
}

static void gathered_free(struct gathered *one)
{
    buffer_unref(one->payload);
    series_unref(one->series);
    free(one->query);
    free(one->content);
    metadata_unref(one->tenant);
    free(one);
}

/* The CPU time that so many bytes take, from what was measured. */
static uint64_t cost_of(const struct status *self, size_t bytes)
{
    bool measured = self->worked > MIB;
    return measured ? (bytes >> 10) * (self->spent / (self->worked >> 10)) : bytes * COST_A_BYTE;
}

/* Adds the credit earned since it last did, a second ago or more. */
static void earn(struct status *self)
{
    uint64_t process = cpu_of(CLOCK_PROCESS_CPUTIME_ID), mono = clock_mono(&clock_system);
    uint64_t share = (process - self->process_cpu) * SHARE, ever = (mono - self->reckoned) * EVER;
    if (mono - self->reckoned < NS_PER_S)
        return;
    self->credit += (int64_t)share;
    if (cost_of(self, self->offered) <= share + ever)
        self->credit += (int64_t)ever;
    if (self->credit > CREDIT_MAX)
        self->credit = CREDIT_MAX;
    self->offered = 0;
    self->process_cpu = process;
    self->reckoned = mono;
}

/* The bytes that may be processed for the credit. Under the lock. */
static size_t reckon(struct status *self)
{
    earn(self);
    uint64_t a_mib = cost_of(self, MIB);
    return self->credit > 0 && a_mib ? (size_t)((uint64_t)self->credit * MIB / a_mib) : 0;
}

/* Evicts kept data while the memory budget is more than 7/8 used. */
static void give_way(struct status *self)
{
    struct budget *budget = self->env->budget;
    size_t limit = budget->limit - budget->reserve, used = budget_used(budget);
    if (used > limit - limit / 8) {
        size_t over = used - (limit - limit / 8), size = self->keep.size;
        keep_shrink(&self->keep, size > over ? size - over : 0);
    }
}

/* Takes the CPU time since `since` off the credit. Returns it. */
static uint64_t charge(struct status *self, uint64_t since)
{
    uint64_t spent = cpu_of(CLOCK_THREAD_CPUTIME_ID) - since;
    self->credit -= (int64_t)spent;
    if (self->credit < -DEBT_MAX)
        self->credit = -DEBT_MAX;
    return spent;
}

/* Compresses the oldest requests, so that they need not be evicted, for credit that what came did
 * not need. */
static void pack(struct status *self, uint64_t since)
{
    int64_t spare = self->credit - CREDIT_PACK;
    while ((int64_t)(cpu_of(CLOCK_THREAD_CPUTIME_ID) - since) < spare &&
           keep_is_tight(&self->keep) && keep_pack(&self->keep))
        continue;
}

/* What was compressed has left holes. Nothing else is worth a trim: what is evicted makes room for
 * the next, and the data threads fault in again what they use. */
static void trim(struct status *self)
{
    if (self->keep.freed < self->trimmed + TRIM_EACH)
        return;
    self->trimmed = self->keep.freed;
    heap_trim();
}

/* Everything queued so far, taken out of the queue. What was decided of it is known then. */
static struct gathered *gathered_list(struct status *self)
{
    status_lock(self);
    known_fold(&self->known);
    struct gathered *list = self->first;
    self->first = NULL;
    self->last = &self->first;
    self->gathered = 0;
    status_unlock(self);
    return list;
}

void gather_take(struct status *self)
{
    pthread_mutex_lock(&self->taking);
    uint64_t before = cpu_of(CLOCK_THREAD_CPUTIME_ID);
    struct gathered *next;
    for (struct gathered *each = gathered_list(self); each; each = next) {
        next = each->next;
        gather_work(self, each);
        gathered_free(each);
    }
    give_way(self);
    uint64_t spent = charge(self, before);
    self->spent += spent;
    pack(self, before + spent);
    trim(self);
    charge(self, before + spent);
    status_lock(self);
    self->allowed = self->granted = reckon(self);
    self->spare = self->credit >= (int64_t)CREDIT_FIRST / 2;
    self->kept_skipped = self->skipped;
    self->kept_skipped_spans = self->skipped_spans;
    status_unlock(self);
    self->kept_bytes = self->keep.size;
    self->kept_evicted = self->keep.reach.requests;
    pthread_mutex_unlock(&self->taking);
}

static void rest(struct status *self, uint64_t until)
{
    status_lock(self);
    while (!self->stopping && self->gathered <= GATHER_SOON && clock_mono(&clock_system) < until)
        thread_cond_wait_until(&self->wake, &self->watch->lock, until);
    status_unlock(self);
}

static bool wait_for_more(struct status *self, uint64_t until)
{
    status_lock(self);
    while (!self->stopping && !self->first && clock_mono(&clock_system) < until) {
        self->asleep = true;
        thread_cond_wait_until(&self->wake, &self->watch->lock, until);
    }
    self->asleep = false;
    bool goes_on = !self->stopping;
    status_unlock(self);
    return goes_on;
}

static void *gather_run(void *ctx)
{
    struct status *self = ctx;
    uint64_t settle = clock_mono(&clock_system) + SETTLE_EVERY;
    while (wait_for_more(self, settle)) {
        rest(self, clock_mono(&clock_system) + LATER);
        gather_take(self);
        looked_forget(self, false);
        if (clock_mono(&clock_system) < settle)
            continue;
        settle = clock_mono(&clock_system) + SETTLE_EVERY;
        gather_settle(self);
    }
    return NULL;
}

static void gather_refused(void *ctx, struct view service, int64_t ahead_ns)
{
    struct status *self = ctx;
    uint32_t name = known_name(&self->known, service);
    clocks_refused(&self->known.clocks, name, ahead_ns, clock_wall(self->env->clock));
}

bool gather_open(struct status *self)
{
    self->last = &self->first;
    self->credit = CREDIT_FIRST;
    self->allowed = self->granted = CREDIT_FIRST / COST_A_BYTE;
    self->spare = true;
    self->process_cpu = cpu_of(CLOCK_PROCESS_CPUTIME_ID);
    self->reckoned = clock_mono(&clock_system);
    self->watcher = (struct watcher){
        .ctx = self,
        .passed = gather_passed,
        .decided = gather_decided,
        .sampled = gather_sampled,
        .refused = gather_refused,
    };
    self->threaded = thread_start(&self->thread, "status", gather_run, self);
    if (self->threaded)
        watch_attach(self->watch, &self->watcher);
    return self->threaded;
}

void gather_close(struct status *self)
{
    struct gathered *next;
    if (!self->threaded)
        return;
    watch_detach(self->watch, &self->watcher);
    status_lock(self);
    self->stopping = true;
    pthread_cond_signal(&self->wake);
    status_unlock(self);
    pthread_join(self->thread, NULL);
    self->threaded = false;
    for (struct gathered *each = gathered_list(self); each; each = next) {
        next = each->next;
        gathered_free(each);
    }
}
