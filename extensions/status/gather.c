/* Collects forwarded requests: data threads queue references, and a thread of the extension
 * processes them a moment later, within a small share of the process's CPU time. */
#include "extensions/status/known_routes.h"
#include "extensions/status/status.h"
#include "lib/base/heap.h"
#include "lib/base/thread.h"

#include <stdlib.h>
#include <time.h>

#define LATER        NS_PER_S /* from the first queued request to its processing */
#define SETTLE_EVERY (10 * NS_PER_S)
#define GATHER_MAX   ((size_t)4 << 20) /* bytes queued at most, but for a larger profile alone */
#define GATHER_SOON  ((size_t)1 << 19) /* from so many on, they are processed at once */
#define TRIM_EACH    ((size_t)2 << 20) /* bytes freed from one malloc_trim to the next */

/* Processing may use SHARE of the process's CPU time. While EVER of the elapsed time besides is
 * enough to keep all that comes, it may use that, too: a low load is kept completely. Unused credit
 * accumulates up to CREDIT_MAX, so that a burst is. */
#define SHARE        1 / 400
#define EVER         1 / 5000
#define CREDIT_MAX   (int64_t)(10 * NS_PER_MS)
#define CREDIT_FIRST (8 * NS_PER_MS)
#define CREDIT_LARGE (int64_t)(CREDIT_FIRST / 2) /* enough to take a large profile */
#define CREDIT_PACK  CREDIT_LARGE

/* When so little has come for IDLE_AFTER that it is kept completely, a debt is soon forgiven: IDLE
 * of the elapsed time is credited until there is enough for a large profile. */
#define IDLE       1 / 25
#define IDLE_AFTER (2 * NS_PER_S)

/* The spans of requests that are not kept are looked at, for their routes, for SHARE and EVER once
 * more, but at most for LOOK of the elapsed time; up to LOOK_MAX after a time without such. */
#define LOOK        1 / 500
#define LOOK_MAX    (int64_t)(10 * NS_PER_MS)
#define LOOK_A_SPAN 1000 /* ns, until measured */

#define DEBT_MAX    (int64_t)(200 * NS_PER_MS)
#define MIB         ((size_t)1 << 20)
#define COST_A_BYTE 1 /* ns per byte, until measured */

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

static bool is_replayed(const struct batch *batch)
{
    for (size_t i = 0; i < batch->receipt_count; i++)
        if (receipt_is_recalled(batch->receipts[i]))
            return true;
    return false;
}

static void describe(struct gathered *one, const struct batch *batch)
{
    one->kind = KEPT_TRACES;
    one->again = is_replayed(batch);
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

/* A profile larger than the queue, or than all that the credit allows, is taken by itself, while
 * there is credit to spare for it; what it costs beyond the credit is paid back before anything
 * else is taken. */
static bool takes_large(const struct status *self, const struct batch *batch)
{
    size_t size = batch->payload->size;
    bool large = size > GATHER_MAX || size > self->granted;
    return batch->signal == SIGNAL_PROFILES && large && self->spare && size <= self->keep.max;
}

static void note_left_out(struct status *self, const struct batch *batch)
{
    bool ingest = batch->encoding == BATCH_PPROF && batch->profile && batch->profile->by_ingest;
    const struct series *series = batch->encoding == BATCH_PPROF ? batch->series : NULL;
    left_outs_add(&self->left_outs, left_out_service_of(series, ingest),
                  clock_wall(self->env->clock),
                  batch->payload->size > self->keep.max ? LEFT_OUT_LARGE : LEFT_OUT_BUSY);
}

/* Whether a request that is not kept may be looked at. It leaves half of the queue. */
static bool may_look(const struct status *self, const struct batch *batch)
{
    return batch->signal == SIGNAL_TRACES && batch->items <= self->lookable &&
           self->gathered + batch->payload->size + GATHER_MAX / 2 <= GATHER_MAX;
}

/* Counts a request that is not kept. Returns whether it is looked at nevertheless. */
static bool gather_skip(struct status *self, const struct batch *batch, bool linked)
{
    bool looks = may_look(self, batch);
    self->skipped++;
    if (batch->signal == SIGNAL_PROFILES) {
        note_left_out(self, batch);
        return false;
    }
    self->skipped_spans += batch->items;
    left_outs_add_traces(linked ? &self->skipped_linked : &self->skipped_when,
                         clock_wall(self->env->clock));
    self->unseen += !looks;
    self->unseen_spans += looks ? 0 : batch->items;
    self->lookable -= looks ? batch->items : 0;
    return looks;
}

static void gather_passed(void *ctx, const struct batch *batch, bool linked)
{
    struct status *self = ctx;
    bool wanted = batch->signal == SIGNAL_TRACES || batch->signal == SIGNAL_PROFILES;
    if (!wanted)
        return;
    bool large = takes_large(self, batch), keeps = large || has_room(self, batch, linked);
    self->offered += batch->payload->size;
    if (!keeps && !gather_skip(self, batch, linked))
        return;
    struct gathered *one = calloc(1, sizeof *one);
    if (!one) {
        self->skipped += keeps;
        return;
    }
    self->spare &= !large;
    one->passing = !keeps;
    one->payload = buffer_ref(batch->payload);
    one->arrived = clock_wall(self->env->clock);
    one->spans = batch->items;
    one->class = linked ? KEPT_LINKED : KEPT_UNLINKED;
    describe(one, batch);
    *self->last = one;
    self->last = &one->next;
    self->gathered += batch->payload->size;
    self->allowed -= large ? self->allowed : keeps ? batch->payload->size : 0;
    if (self->asleep || self->gathered > GATHER_SOON) {
        self->asleep = false;
        pthread_cond_signal(&self->wake);
    }
}

/* Wakes the thread when many numbers of forgotten spans wait to be kept. */
static bool has_gone(const struct status *self)
{
    return self->known.gone_count > KNOWN_GONE / 4;
}

static void wake_for_gone(struct status *self)
{
    if (has_gone(self))
        pthread_cond_signal(&self->wake);
}

static void gather_decided(void *ctx, const struct watch_decision *decision)
{
    struct status *self = ctx;
    known_decided(&self->known, decision);
    wake_for_gone(self);
}

static void gather_sampled(void *ctx, const struct watch_window *window,
                           const struct watch_sample *samples, size_t count)
{
    struct status *self = ctx;
    if (count == 0)
        known_window_came(&self->known, window);
    else
        known_sampled(&self->known, window, samples, count);
    wake_for_gone(self);
}

/* ---- on the extension's thread, or that of a request to the API ---- */

static struct view tenant_of(const struct gathered *one)
{
    return one->tenant ? view_of(one->tenant->tenant) : (struct view){0};
}

/* Looks at a request that is not kept. Returns the CPU time that it took, ns. */
static uint64_t gather_look(struct status *self, const struct gathered *one)
{
    uint64_t before = cpu_of(CLOCK_THREAD_CPUTIME_ID);
    struct buffer *flat = buffer_flat(one->payload);
    if (flat)
        gather_join(self, buffer_view(flat), tenant_of(one), one->again);
    buffer_unref(flat);
    uint64_t spent = cpu_of(CLOCK_THREAD_CPUTIME_ID) - before;
    self->look_spent += spent;
    self->looked_spans += one->spans;
    self->look_credit -= (int64_t)spent;
    return spent;
}

static void gather_work(struct status *self, struct gathered *one)
{
    struct buffer *flat = buffer_flat(one->payload);
    struct view content = flat ? buffer_view(flat) : (struct view){0};
    if (flat && one->kind == KEPT_TRACES) {
        gather_join(self, content, tenant_of(one), one->again);
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

/* Credits idleness until now. `low`: what came since the last reckoning is kept completely. */
static void earn_idle(struct status *self, uint64_t mono, bool low)
{
    if (!low)
        self->busy = mono;
    uint64_t from = self->busy + IDLE_AFTER;
    if (from < self->reckoned)
        from = self->reckoned;
    if (mono <= from || self->credit >= CREDIT_LARGE)
        return;
    self->credit += (int64_t)((mono - from) * IDLE);
    if (self->credit > CREDIT_LARGE)
        self->credit = CREDIT_LARGE;
}

static void earn_look(struct status *self, uint64_t earned, uint64_t most)
{
    self->look_credit += (int64_t)(earned < most ? earned : most);
    if (self->look_credit > LOOK_MAX)
        self->look_credit = LOOK_MAX;
}

/* Adds the credit earned since it last did, a second ago or more. */
static void earn(struct status *self)
{
    uint64_t process = cpu_of(CLOCK_PROCESS_CPUTIME_ID), mono = clock_mono(&clock_system);
    uint64_t share = (process - self->process_cpu) * SHARE, ever = (mono - self->reckoned) * EVER;
    if (mono - self->reckoned < NS_PER_S)
        return;
    earn_look(self, share + ever, (mono - self->reckoned) * LOOK);
    bool low = cost_of(self, self->offered) <= share + ever;
    self->credit += (int64_t)(share + (low ? ever : 0));
    earn_idle(self, mono, low);
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

/* The same in spans of requests that are not kept. */
static size_t reckon_look(const struct status *self)
{
    bool measured = self->looked_spans > LOOK_A_SPAN;
    uint64_t each = measured ? self->look_spent / self->looked_spans + 1 : LOOK_A_SPAN;
    return self->look_credit > 0 ? (size_t)((uint64_t)self->look_credit / each) : 0;
}

/* Evicts kept data while the memory budget is more than 7/8 used, by charges or beyond them. */
static void give_way(struct status *self)
{
    struct budget *budget = self->env->budget;
    size_t limit = budget->limit - budget->reserve, used = budget_used(budget) + budget->beyond;
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

_Static_assert(KEEP_FIGURES % sizeof(struct known_figures) == 0, "figures are not divided");

/* Numbers of spans that are remembered no more are kept with their traces. */
static void gather_gone(struct status *self)
{
    size_t count;
    uint64_t before = keep_reach(&self->keep).oldest;
    status_lock(self);
    struct known_figures *gone = known_take_gone(&self->known, before, &count);
    status_unlock(self);
    if (gone)
        keep_figures(&self->keep, (struct view){(const uint8_t *)gone, count * sizeof *gone},
                     clock_wall(self->env->clock));
    free(gone);
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
        if (each->passing)
            before += gather_look(self, each);
        else
            gather_work(self, each);
        gathered_free(each);
    }
    gather_gone(self);
    give_way(self);
    uint64_t spent = charge(self, before);
    self->spent += spent;
    pack(self, before + spent);
    trim(self);
    charge(self, before + spent);
    status_lock(self);
    self->allowed = self->granted = reckon(self);
    self->lookable = reckon_look(self);
    self->spare = self->credit >= CREDIT_LARGE;
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
    while (!self->stopping && self->gathered <= GATHER_SOON && !has_gone(self) &&
           clock_mono(&clock_system) < until)
        thread_cond_wait_until(&self->wake, &self->watch->lock, until);
    status_unlock(self);
}

static bool wait_for_more(struct status *self, uint64_t until)
{
    uint64_t recovers = clock_mono(&clock_system) + IDLE_AFTER;
    status_lock(self);
    if (!self->spare && recovers < until)
        until = recovers;
    while (!self->stopping && !self->first && !has_gone(self) &&
           clock_mono(&clock_system) < until) {
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
        gather_settle(self, false);
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
    self->look_credit = LOOK_MAX;
    self->lookable = LOOK_MAX / LOOK_A_SPAN;
    self->allowed = self->granted = CREDIT_FIRST / COST_A_BYTE;
    self->spare = true;
    self->process_cpu = cpu_of(CLOCK_PROCESS_CPUTIME_ID);
    self->reckoned = self->busy = clock_mono(&clock_system);
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
