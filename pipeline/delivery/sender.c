#include "pipeline/delivery/sender_internal.h"

#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "pipeline/addressees.h"

#include <stdlib.h>

static const struct delivery small_queue = {
    .queue = {.enabled = true, .num_consumers = 1, .queue_size = 1000},
};

static uint64_t wake_parked(void *ctx, uint64_t mono_ns);
static void wake_workers(struct sender *sender);
static void inherit(struct sender *sender, struct queue_element *list);

/* Whether something waits for a free consumer. */
static bool is_crowded(void *ctx)
{
    struct sender *sender = ctx;
    pthread_mutex_lock(&sender->lock);
    bool crowded = sender->queue.queued > 0 && sender->queue.active >= sender->queue.consumers;
    pthread_mutex_unlock(&sender->lock);
    return crowded;
}

static void init_dispatcher(struct sender *sender, const struct component *component, void *self,
                            const struct env *env)
{
    struct dispatcher *dispatcher = &sender->dispatcher;
    dispatcher->component = component;
    dispatcher->self = self;
    dispatcher->settings = component->delivery ? *component->delivery(self) : small_queue;
    dispatcher->meter = env->meter;
    dispatcher->clock = env->clock;
    dispatcher->waits =
        !dispatcher->settings.queue.enabled || dispatcher->settings.queue.wait_for_result;
    dispatcher->crowded = is_crowded;
    dispatcher->ctx = sender;
    atomic_init(&dispatcher->random, clock_mono(env->clock) ^ (uintptr_t)sender);
    loss_log_init(&dispatcher->losses, env->id, env->clock, env->ticker);
}

struct sender *sender_new(const struct component *component, void *self, const struct env *env)
{
    struct sender *sender = calloc(1, sizeof *sender);
    if (!sender)
        return NULL;
    init_dispatcher(sender, component, self, env);
    sender->key = exporter_key(env->id);
    const struct queue_settings *settings = &sender->dispatcher.settings.queue;
    sender->queue.size = (size_t)settings->queue_size;
    sender->queue.sizer = settings->enabled ? (enum queue_sizer)settings->sizer : QUEUE_REQUESTS;
    sender->queue.consumers = (size_t)settings->num_consumers;
    sender->queue.probe_every = sender->dispatcher.settings.retry.max_interval;
    sender->queue.drop_oldest = settings->on_full == QUEUE_DROP_OLDEST;
    pthread_mutex_init(&sender->lock, NULL);
    pthread_cond_init(&sender->work, NULL);
    thread_cond_init(&sender->empty);
    /* Clients that wait get an answer for their request alone. */
    if (settings->has_batch && !sender->dispatcher.waits)
        sender->batching.settings = &sender->dispatcher.settings.queue.batch;
    sender->batching.sizer = queue_batching_sizer(settings);
    sender->batching.queue_sizer = sender->queue.sizer;
    sender->batching.budget = env->budget;
    sender->entry.tick = wake_parked;
    sender->entry.ctx = sender;
    sender->ticker = env->ticker;
    sender->jobs.budget = env->budget;
    if (env->ticker)
        ticker_add(env->ticker, &sender->entry);
    sender->workers = calloc(sender->queue.consumers, sizeof *sender->workers);
    if (!sender->workers) {
        sender_free(sender);
        sender = NULL;
    }
    return sender;
}

uint64_t sender_key(const struct sender *sender)
{
    return sender->key;
}

bool sender_waits(const struct sender *sender)
{
    return sender->dispatcher.waits;
}

unsigned sender_takes(const struct sender *sender)
{
    return component_takes(sender->dispatcher.component);
}

void sender_pass(struct sender *sender, const struct batch *batch)
{
    char made[96], taken[96];
    meter_add(sender->dispatcher.meter, METER_PASSED, batch->signal, batch->items);
    if (atomic_exchange(&sender->passed, true))
        return;
    batch_encoding_words(BATCH_BIT(batch->encoding), "", made, sizeof made);
    batch_encoding_words(sender_takes(sender), " and ", taken, sizeof taken);
    const struct log_source source = loss_log_source(&sender->dispatcher.losses);
    log_of(&source, LOG_WARN, "accepts only %s; %s are sent only by other exporters", taken, made);
}

static void measure_put(struct sender *sender, const struct batch *batch)
{
    if (!metric_wanted(METRIC_DETAILED))
        return;
    histogram_add(&sender->enqueued_items, &histogram_items, batch_counted(batch));
    histogram_add(&sender->enqueued_bytes, &histogram_bytes, batch->payload->size);
}

void sender_count_full(struct sender *sender, const struct batch *batch)
{
    measure_put(sender, batch);
    meter_add(sender->dispatcher.meter, METER_UNQUEUED, batch->signal, batch_counted(batch));
}

/* Tells elements that wait at the server's request that it accepts data again. */
static void note_success(struct sender *sender)
{
    uint64_t next = queue_wake_parked(&sender->queue);
    if (next != TIME_NEVER && sender->ticker)
        ticker_at(sender->ticker, &sender->entry, next);
}

/* Handles an element that dispatch returned: parked, passed to the successor, or done. */
static void settle(struct sender *sender, struct queue_element *element,
                   enum dispatch_result result, uint64_t due)
{
    if (result != DISPATCH_DONE && sender->successor) {
        queue_finish(&sender->queue, element);
        element->next = NULL;
        inherit(sender->successor, element);
    } else if (result == DISPATCH_YIELD) {
        queue_yield(&sender->queue, element);
        wake_workers(sender);
        return;
    } else if (result == DISPATCH_WAIT) {
        /* The stop may have begun after the due time was chosen. */
        uint64_t soon = clock_mono(sender->dispatcher.clock) + DISPATCH_STOPPING_WAIT_NS;
        if (sender->dispatcher.stopping && !sender->dispatcher.lingers && due > soon)
            due = soon;
        queue_park(&sender->queue, element, due);
        if (element->probe_due && element->probe_due < due)
            due = element->probe_due;
        if (sender->ticker)
            ticker_at(sender->ticker, &sender->entry, due);
        return;
    } else {
        if (element->delivered_any)
            note_success(sender);
        queue_finish(&sender->queue, element);
        queue_element_free(element);
    }
    if (queue_used(&sender->queue) == 0)
        pthread_cond_broadcast(&sender->empty);
}

static void count_taken(struct sender *sender, const struct batch *batch)
{
    histogram_add(&sender->taken_items, &histogram_items, batch_counted(batch));
    histogram_add(&sender->taken_bytes, &histogram_bytes, batch->payload->size);
}

/* Counts the parts of elements that are sent for the first time. */
static void measure_taken(struct sender *sender, const struct job *job)
{
    if (!sender->batching.settings || !metric_wanted(METRIC_DETAILED))
        return;
    for (size_t i = 0; i < job->count; i++) {
        const struct queue_element *element = job->elements[i];
        if (!element->batch || element->first_try)
            continue;
        count_taken(sender, element->batch);
        for (const struct batch_part *part = element->rest; part; part = part->next)
            count_taken(sender, part->batch);
    }
}

static void run_job(struct sender *sender, struct job *job)
{
    measure_taken(sender, job);
    pthread_mutex_unlock(&sender->lock);
    dispatch_run_together(&sender->dispatcher, job->elements, job->count, job->ends);
    pthread_mutex_lock(&sender->lock);
    job_end(job, &sender->jobs);
    for (size_t i = 0; i < job->count; i++)
        settle(sender, job->elements[i], job->ends[i].result, job->ends[i].due);
    if (sender->jobs.starved) {
        sender->jobs.starved = false;
        wake_workers(sender);
    }
}

/* Under the lock, which it releases meanwhile. */
static void serve_unlocked(struct sender *sender)
{
    pthread_mutex_unlock(&sender->lock);
    sender->serve(sender->serve_ctx, sender);
    pthread_mutex_lock(&sender->lock);
}

static void *worker_loop(void *ctx)
{
    struct sender *sender = ctx;
    bool together = sender->dispatcher.component->send_together;
    size_t most = together ? DISPATCH_TOGETHER : 1;
    struct job job;
    pthread_mutex_lock(&sender->lock);
    wakeups_run(&sender->wakeups);
    while (!sender->closing) {
        if (job_begin(&job, &sender->jobs, &sender->queue, most)) {
            run_job(sender, &job);
            if (sender->waiting)
                serve_unlocked(sender);
            continue;
        }
        wakeups_sleep(&sender->wakeups);
        pthread_cond_wait(&sender->work, &sender->lock);
        wakeups_run(&sender->wakeups);
    }
    pthread_mutex_unlock(&sender->lock);
    return NULL;
}

static bool start_worker(struct sender *sender)
{
    pthread_t *worker = &sender->workers[sender->worker_count];
    if (!thread_start(worker, "sender", worker_loop, sender)) {
        const struct log_source source = loss_log_source(&sender->dispatcher.losses);
        if (sender->worker_count == 0)
            log_of(&source, LOG_ERROR, "cannot start a thread");
        return false;
    }
    sender->worker_count++;
    wakeups_start(&sender->wakeups);
    return true;
}

/* Returns how many workers must be signalled for the elements that can be taken, and starts some if
 * too few exist. */
static size_t wanted_workers(struct sender *sender)
{
    size_t takeable = queue_takeable(&sender->queue);
    size_t wanted = wakeups_signals(&sender->wakeups, takeable);
    while (takeable > sender->wakeups.idle && sender->worker_count < sender->queue.consumers)
        if (!start_worker(sender))
            break;
    return wanted;
}

static void signal_workers(struct sender *sender, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pthread_cond_signal(&sender->work);
}

static void wake_workers(struct sender *sender)
{
    signal_workers(sender, wanted_workers(sender));
}

/* Queues gathered requests. Returns what was displaced; *next: when to call again. */
static struct queue_element *queue_gathered(struct sender *sender, bool all, uint64_t *next)
{
    uint64_t now = clock_mono(sender->dispatcher.clock);
    struct queue_element *list = batching_flush(&sender->batching, now, all, next);
    struct queue_element *displaced = NULL;
    while (list) {
        struct queue_element *element = list;
        list = element->next;
        element->since = now;
        queue_ungather(&sender->queue, element->signal, element->gathered);
        displaced = queue_join(queue_put(&sender->queue, element), displaced);
    }
    return displaced;
}

static void sender_give_up(struct sender *sender, struct queue_element *list,
                           const struct outcome *why)
{
    while (list) {
        struct queue_element *element = list;
        list = element->next;
        dispatch_give_up(&sender->dispatcher, element, why);
        queue_element_free(element);
    }
}

static void give_up_displaced(struct sender *sender, struct queue_element *list)
{
    struct outcome why = outcome_of(VERDICT_RETRY, CAUSE_FULL, "the oldest in a full queue");
    sender_give_up(sender, list, &why);
}

static uint64_t wake_parked(void *ctx, uint64_t mono_ns)
{
    struct sender *sender = ctx;
    uint64_t due;
    pthread_mutex_lock(&sender->lock);
    struct queue_element *displaced = queue_gathered(sender, false, &due);
    uint64_t next = queue_wake(&sender->queue, mono_ns);
    wake_workers(sender);
    if (sender->waiting)
        serve_unlocked(sender);
    pthread_mutex_unlock(&sender->lock);
    give_up_displaced(sender, displaced);
    uint64_t ends = sender_wait_ends(sender, mono_ns);
    next = ends < next ? ends : next;
    return due < next ? due : next;
}

size_t sender_places(const struct sender *sender, const struct batch *batch)
{
    return queue_places(sender->queue.sizer, batch);
}

bool sender_may_hold(const struct sender *sender, size_t places)
{
    return sender->queue.drop_oldest || places <= sender->queue.size;
}

bool sender_reserve(struct sender *sender, size_t places)
{
    pthread_mutex_lock(&sender->lock);
    bool reserved = queue_reserve(&sender->queue, places);
    if (sender->waiting)
        sender_keep_places(sender, places, reserved);
    pthread_mutex_unlock(&sender->lock);
    return reserved;
}

bool sender_reserve_last(struct sender *sender, size_t places)
{
    pthread_mutex_lock(&sender->lock);
    bool reserved = !sender->waiting && queue_reserve(&sender->queue, places);
    pthread_mutex_unlock(&sender->lock);
    return reserved;
}

/* The caller may hold locks, so that the ticker serves those that wait. */
void sender_release(struct sender *sender, size_t places)
{
    pthread_mutex_lock(&sender->lock);
    struct queue *queue = &sender->queue;
    queue_release(queue, places);
    if (sender->waiting && queue_used(queue) + queue->reserved < queue->size)
        ticker_at(sender->ticker, &sender->entry, 0);
    pthread_mutex_unlock(&sender->lock);
}

/* Gathers a batch, if sending_queue.batch is on. False: it has to be queued by itself. A full queue
 * has nothing to wait for. */
static bool sender_gather(struct sender *sender, struct batch *batch)
{
    uint64_t due;
    struct queue_element *displaced = NULL;
    if (!sender->batching.settings || !sender->ticker)
        return false;
    pthread_mutex_lock(&sender->lock);
    bool open = !sender->dispatcher.stopping && !sender->dispatcher.aborted && !sender->closing;
    enum batching_result result = BATCHING_ALONE;
    if (open)
        result = batching_add(&sender->batching, batch, clock_mono(sender->dispatcher.clock), &due);
    if (result != BATCHING_ALONE) {
        queue_gather(&sender->queue, batch);
        bool full = queue_used(&sender->queue) >= sender->queue.size;
        if (full || result == BATCHING_FULL) {
            displaced = queue_gathered(sender, full, &due);
            wake_workers(sender);
        }
        ticker_at(sender->ticker, &sender->entry, due);
    }
    pthread_mutex_unlock(&sender->lock);
    give_up_displaced(sender, displaced);
    return result != BATCHING_ALONE;
}

/* Queues an element. Returns the oldest ones if some were displaced, this one if the sender is
 * ending; NULL: neither. */
static struct queue_element *sender_enqueue(struct sender *sender, struct queue_element *element)
{
    size_t wanted = 0;
    pthread_mutex_lock(&sender->lock);
    if (!sender->dispatcher.aborted && !sender->closing) {
        element = queue_put(&sender->queue, element);
        wanted = wanted_workers(sender);
    }
    pthread_mutex_unlock(&sender->lock);
    signal_workers(sender, wanted); /* now a worker need not wait for the lock */
    return element;
}

void sender_put(struct sender *sender, struct batch *batch)
{
    measure_put(sender, batch);
    if (sender_gather(sender, batch))
        return;
    struct queue_element *element = queue_element_new(sender->queue.sizer, batch);
    if (!element) {
        struct queue_element lost = {.batch = batch_ref(batch)};
        struct outcome why = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
        dispatch_give_up(&sender->dispatcher, &lost, &why);
        return;
    }
    element->since = clock_mono(sender->dispatcher.clock);
    struct queue_element *displaced = sender_enqueue(sender, element);
    if (displaced) {
        struct outcome why = displaced == element ? dispatch_ended(&sender->dispatcher)
                                                  : outcome_of(VERDICT_RETRY, CAUSE_FULL,
                                                               "the oldest in a full queue");
        sender_give_up(sender, displaced, &why);
    }
}

void sender_hasten(struct sender *sender)
{
    uint64_t next;
    pthread_mutex_lock(&sender->lock);
    sender->dispatcher.stopping = true;
    struct queue_element *displaced = queue_gathered(sender, true, &next);
    queue_wake(&sender->queue, TIME_NEVER);
    wake_workers(sender);
    if (sender->waiting)
        serve_unlocked(sender);
    pthread_mutex_unlock(&sender->lock);
    give_up_displaced(sender, displaced);
}

void sender_remove(struct sender *sender)
{
    sender->dispatcher.removed = true;
    sender_hasten(sender);
}

void sender_linger(struct sender *sender)
{
    sender->dispatcher.lingers = true;
}

void sender_take_all(struct sender *sender, bool all)
{
    pthread_mutex_lock(&sender->lock);
    sender->queue.unbounded = all;
    pthread_mutex_unlock(&sender->lock);
}

/* Takes over a list, or passes it on if there is a successor. */
static void inherit(struct sender *sender, struct queue_element *list)
{
    struct outcome why = dispatch_ended(&sender->dispatcher);
    pthread_mutex_lock(&sender->lock);
    if (sender->successor) {
        inherit(sender->successor, list);
        list = NULL;
    } else if (!sender->dispatcher.aborted && !sender->closing) {
        queue_take_over(&sender->queue, list);
        wake_workers(sender);
        list = NULL;
    }
    pthread_mutex_unlock(&sender->lock);
    sender_give_up(sender, list, &why);
}

void sender_hand_over(struct sender *sender, struct sender *successor)
{
    uint64_t next;
    pthread_mutex_lock(&sender->lock);
    struct queue_element *displaced = queue_gathered(sender, true, &next);
    sender->successor = successor;
    loss_log_inherit(&successor->dispatcher.losses, &sender->dispatcher.losses);
    inherit(successor, queue_clear(&sender->queue));
    if (queue_used(&sender->queue) == 0)
        pthread_cond_broadcast(&sender->empty);
    pthread_mutex_unlock(&sender->lock);
    give_up_displaced(sender, displaced);
}

bool sender_has_successor(const struct sender *sender)
{
    return sender->successor;
}

bool sender_wait_empty(struct sender *sender, uint64_t until_mono_ns)
{
    pthread_mutex_lock(&sender->lock);
    while (queue_used(&sender->queue) > 0 && clock_mono(&clock_system) < until_mono_ns)
        thread_cond_wait_until(&sender->empty, &sender->lock, until_mono_ns);
    bool empty = queue_used(&sender->queue) == 0;
    pthread_mutex_unlock(&sender->lock);
    return empty;
}

/* Gives up what could not be queued for lack of memory. */
static void give_up_gathered(struct sender *sender, const struct outcome *why)
{
    for (;;) {
        pthread_mutex_lock(&sender->lock);
        struct queue_share share = {.requests = 1};
        struct batch *batch = batching_take(&sender->batching, &share.places);
        if (batch)
            queue_ungather(&sender->queue, batch->signal, share);
        pthread_mutex_unlock(&sender->lock);
        if (!batch)
            return;
        struct queue_element lost = {.signal = batch->signal, .batch = batch};
        dispatch_give_up(&sender->dispatcher, &lost, why);
    }
}

void sender_abort(struct sender *sender)
{
    struct dispatcher *dispatcher = &sender->dispatcher;
    struct outcome why = dispatch_ended(&sender->dispatcher);
    pthread_mutex_lock(&sender->lock);
    dispatcher->stopping = !sender->successor;
    dispatcher->aborted = !sender->successor;
    uint64_t next;
    struct queue_element *displaced = queue_gathered(sender, true, &next);
    struct queue_element *left = queue_clear(&sender->queue);
    bool busy = queue_used(&sender->queue) > 0;
    pthread_mutex_unlock(&sender->lock);
    sender_give_up(sender, displaced, &why);
    sender_give_up(sender, left, &why);
    give_up_gathered(sender, &why);
    if (busy && dispatcher->component->abort)
        dispatcher->component->abort(dispatcher->self);
}

void sender_join(struct sender *sender)
{
    if (sender->ticker)
        ticker_remove(sender->ticker, &sender->entry);
    pthread_mutex_lock(&sender->lock);
    sender->closing = true;
    pthread_cond_broadcast(&sender->work);
    size_t count = sender->worker_count;
    pthread_mutex_unlock(&sender->lock);
    for (size_t i = 0; i < count; i++)
        pthread_join(sender->workers[i], NULL);
    sender->worker_count = 0;
}

void sender_free(struct sender *sender)
{
    if (!sender)
        return;
    sender_join(sender);
    /* What was queued between abort and join: nothing, unless the caller never aborted. */
    struct outcome why = dispatch_ended(&sender->dispatcher);
    give_up_gathered(sender, &why);
    sender_give_up(sender, queue_clear(&sender->queue), &why);
    loss_log_release(&sender->dispatcher.losses);
    pthread_mutex_destroy(&sender->lock);
    pthread_cond_destroy(&sender->work);
    pthread_cond_destroy(&sender->empty);
    free(sender->workers);
    free(sender);
}
