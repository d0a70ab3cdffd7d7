#include "pipeline/delivery/sender.h"

#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "pipeline/delivery/dispatch.h"

#include <stdlib.h>

static const struct delivery small_queue = {
    .queue = {.enabled = true, .num_consumers = 1, .queue_size = 1000},
};

struct sender {
    struct dispatcher dispatcher;
    struct ticker *ticker;
    struct ticker_entry entry;
    pthread_mutex_t lock;
    pthread_cond_t work;  /* something to take, or closing */
    pthread_cond_t empty; /* nothing queued or in flight */
    struct queue queue;   /* this and the rest: under lock */
    pthread_t *workers;
    size_t worker_count;
    size_t idle;        /* workers asleep or just started */
    uint64_t in_flight; /* items */
    size_t sending;     /* workers in dispatch */
    size_t working;     /* bytes that these may use beyond their payloads */
    bool starved;       /* something waits for memory */
    struct budget *budget;
    bool closing;
    struct sender *successor; /* set once; what needs a retry goes there */
    struct histogram enqueued_items, enqueued_bytes;
    _Atomic bool passed; /* a batch that the exporter does not accept was logged */
};

/* What a send may use beyond its payload, which it may split, frame and compress: as much again,
 * and a connection's buffers. */
enum { WORK_FIXED = 256 * 1024, WORK_SHARE = 4 };

static uint64_t wake_parked(void *ctx, uint64_t mono_ns);
static void wake_worker(struct sender *sender);
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
    loss_log_init(&dispatcher->losses, env->id, env->clock);
}

struct sender *sender_new(const struct component *component, void *self, const struct env *env)
{
    struct sender *sender = calloc(1, sizeof *sender);
    if (!sender)
        return NULL;
    init_dispatcher(sender, component, self, env);
    const struct queue_settings *settings = &sender->dispatcher.settings.queue;
    sender->queue.size = (size_t)settings->queue_size;
    sender->queue.consumers = (size_t)settings->num_consumers;
    sender->queue.probe_every = sender->dispatcher.settings.retry.max_interval;
    sender->queue.drop_oldest = settings->on_full == QUEUE_DROP_OLDEST;
    pthread_mutex_init(&sender->lock, NULL);
    pthread_cond_init(&sender->work, NULL);
    thread_cond_init(&sender->empty);
    sender->entry.tick = wake_parked;
    sender->entry.ctx = sender;
    sender->ticker = env->ticker;
    sender->budget = env->budget;
    if (env->ticker)
        ticker_add(env->ticker, &sender->entry);
    sender->workers = calloc(sender->queue.consumers, sizeof *sender->workers);
    if (!sender->workers) {
        sender_free(sender);
        sender = NULL;
    }
    return sender;
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
    log_warn("%s: accepts only %s; %s are sent only by other exporters",
             sender->dispatcher.losses.id, taken, made);
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

/* After a success: elements that wait because the server asked them to learn that it accepts data
 * again. */
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
    enum signal signal = element->signal;
    if (result != DISPATCH_DONE && sender->successor) {
        element->next = NULL;
        inherit(sender->successor, element);
        element = NULL;
    } else if (result == DISPATCH_YIELD) {
        queue_yield(&sender->queue, element);
        wake_worker(sender);
        return;
    } else if (result == DISPATCH_WAIT) {
        /* The stop may have begun after the due time was chosen. */
        uint64_t soon = clock_mono(sender->dispatcher.clock) + DISPATCH_STOPPING_WAIT_NS;
        if (sender->dispatcher.stopping && due > soon)
            due = soon;
        queue_park(&sender->queue, element, due);
        if (element->probe_due && element->probe_due < due)
            due = element->probe_due;
        if (sender->ticker)
            ticker_at(sender->ticker, &sender->entry, due);
        return;
    }
    if (element && element->delivered_any)
        note_success(sender);
    queue_element_free(element);
    queue_finish(&sender->queue, signal);
    if (queue_used(&sender->queue) == 0)
        pthread_cond_broadcast(&sender->empty);
}

static size_t work_of(const struct queue_element *element)
{
    return element->batch ? batch_work(element->batch) + WORK_FIXED : 0;
}

/* The work of all sends stays below a share of the budget. The rest stays free for data, even if
 * the backend never responds. */
static bool may_work(struct sender *sender, size_t work)
{
    const struct budget *budget = sender->budget;
    return (!budget || sender->working + work <= budget->limit / WORK_SHARE) &&
           budget_begin_accepted_work(sender->budget, work, false);
}

/* Takes the next element; while memory is short fewer sends run at once, but always one. NULL:
 * nothing to do now. */
static struct queue_element *sender_take(struct sender *sender, size_t *work)
{
    struct queue_element *element = queue_take(&sender->queue);
    *work = element ? work_of(element) : 0;
    if (!element || may_work(sender, *work))
        return element;
    if (sender->sending > 0) {
        queue_put_back(&sender->queue, element);
        sender->starved = true;
        return NULL;
    }
    budget_begin_accepted_work(sender->budget, *work, true);
    return element;
}

static void work_one(struct sender *sender, struct queue_element *element, size_t work)
{
    uint64_t due = 0, items = queue_element_items(element);
    sender->in_flight += items;
    sender->sending++;
    sender->working += work;
    pthread_mutex_unlock(&sender->lock);
    enum dispatch_result result = dispatch_run(&sender->dispatcher, element, &due);
    budget_end_accepted_work(sender->budget, work);
    pthread_mutex_lock(&sender->lock);
    sender->sending--;
    sender->working -= work;
    sender->in_flight -= items;
    settle(sender, element, result, due);
    if (sender->starved) {
        sender->starved = false;
        wake_worker(sender);
    }
}

static void *worker_loop(void *ctx)
{
    struct sender *sender = ctx;
    pthread_mutex_lock(&sender->lock);
    sender->idle--;
    while (!sender->closing) {
        size_t work;
        struct queue_element *element = sender_take(sender, &work);
        if (element) {
            work_one(sender, element, work);
            continue;
        }
        sender->idle++;
        pthread_cond_wait(&sender->work, &sender->lock);
        sender->idle--;
    }
    pthread_mutex_unlock(&sender->lock);
    return NULL;
}

static bool start_worker(struct sender *sender)
{
    pthread_t *worker = &sender->workers[sender->worker_count];
    if (!thread_start(worker, "sender", worker_loop, sender)) {
        if (sender->worker_count == 0)
            log_error("%s: cannot start a thread", sender->dispatcher.losses.id);
        return false;
    }
    sender->worker_count++;
    sender->idle++;
    return true;
}

/* Wakes or starts workers for the elements that can be taken. */
static void wake_worker(struct sender *sender)
{
    size_t takeable = queue_takeable(&sender->queue);
    for (size_t i = 0; i < takeable && i < sender->idle; i++)
        pthread_cond_signal(&sender->work);
    while (takeable > sender->idle && sender->worker_count < sender->queue.consumers)
        if (!start_worker(sender))
            break;
}

static uint64_t wake_parked(void *ctx, uint64_t mono_ns)
{
    struct sender *sender = ctx;
    pthread_mutex_lock(&sender->lock);
    uint64_t next = queue_wake(&sender->queue, mono_ns);
    wake_worker(sender);
    pthread_mutex_unlock(&sender->lock);
    return next;
}

bool sender_reserve(struct sender *sender, size_t places)
{
    pthread_mutex_lock(&sender->lock);
    bool reserved = queue_reserve(&sender->queue, places);
    pthread_mutex_unlock(&sender->lock);
    return reserved;
}

void sender_release(struct sender *sender, size_t places)
{
    pthread_mutex_lock(&sender->lock);
    queue_release(&sender->queue, places);
    pthread_mutex_unlock(&sender->lock);
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

/* Queues an element. Returns the oldest one if it was displaced, this one if the sender is ending;
 * NULL: neither. */
static struct queue_element *sender_enqueue(struct sender *sender, struct queue_element *element)
{
    pthread_mutex_lock(&sender->lock);
    if (!sender->dispatcher.aborted && !sender->closing) {
        element = queue_put(&sender->queue, element);
        wake_worker(sender);
    }
    pthread_mutex_unlock(&sender->lock);
    return element;
}

void sender_put(struct sender *sender, struct batch *batch)
{
    measure_put(sender, batch);
    struct queue_element *element = queue_element_new(batch);
    if (!element) {
        struct queue_element lost = {.batch = batch_ref(batch)};
        struct outcome why = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
        dispatch_give_up(&sender->dispatcher, &lost, &why);
        return;
    }
    struct queue_element *displaced = sender_enqueue(sender, element);
    if (displaced) {
        struct outcome why =
            outcome_of(VERDICT_RETRY, displaced == element ? CAUSE_SHUTDOWN : CAUSE_FULL, "%s",
                       displaced == element ? "shutting down" : "the oldest in a full queue");
        sender_give_up(sender, displaced, &why);
    }
}

void sender_hasten(struct sender *sender)
{
    pthread_mutex_lock(&sender->lock);
    sender->dispatcher.stopping = true;
    queue_wake(&sender->queue, TIME_NEVER);
    wake_worker(sender);
    pthread_mutex_unlock(&sender->lock);
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
    struct outcome why = outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "shutting down");
    pthread_mutex_lock(&sender->lock);
    if (sender->successor) {
        inherit(sender->successor, list);
        list = NULL;
    } else if (!sender->dispatcher.aborted && !sender->closing) {
        queue_take_over(&sender->queue, list);
        wake_worker(sender);
        list = NULL;
    }
    pthread_mutex_unlock(&sender->lock);
    sender_give_up(sender, list, &why);
}

void sender_hand_over(struct sender *sender, struct sender *successor)
{
    pthread_mutex_lock(&sender->lock);
    sender->successor = successor;
    inherit(successor, queue_clear(&sender->queue));
    if (queue_used(&sender->queue) == 0)
        pthread_cond_broadcast(&sender->empty);
    pthread_mutex_unlock(&sender->lock);
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

void sender_abort(struct sender *sender)
{
    struct dispatcher *dispatcher = &sender->dispatcher;
    struct outcome why = outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "shutting down");
    pthread_mutex_lock(&sender->lock);
    dispatcher->stopping = !sender->successor;
    dispatcher->aborted = !sender->successor;
    struct queue_element *left = queue_clear(&sender->queue);
    bool busy = queue_used(&sender->queue) > 0;
    pthread_mutex_unlock(&sender->lock);
    sender_give_up(sender, left, &why);
    if (busy && dispatcher->component->abort)
        dispatcher->component->abort(dispatcher->self);
}

uint64_t sender_pending(struct sender *sender)
{
    uint64_t items = 0;
    const struct queue *queue = &sender->queue;
    const struct queue_list *lists[] = {&queue->fresh, &queue->ready, &queue->parked};
    pthread_mutex_lock(&sender->lock);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct queue_element *at = lists[i]->head; at; at = at->next)
            items += queue_element_items(at);
    items += sender->in_flight;
    pthread_mutex_unlock(&sender->lock);
    return items;
}

struct sender_figures sender_figures(const struct sender *sender, enum signal signal)
{
    const struct queue *queue = &sender->queue;
    uint64_t held = atomic_load_explicit(&queue->used_by[signal], memory_order_relaxed);
    uint64_t queued = atomic_load_explicit(&queue->queued_by[signal], memory_order_relaxed);
    return (struct sender_figures){held, held > queued ? held - queued : 0};
}

uint64_t sender_capacity(const struct sender *sender)
{
    return sender->dispatcher.settings.queue.enabled ? sender->queue.size : 0;
}

const struct histogram *sender_enqueued_items(const struct sender *sender)
{
    return &sender->enqueued_items;
}

const struct histogram *sender_enqueued_bytes(const struct sender *sender)
{
    return &sender->enqueued_bytes;
}

void sender_explain(struct sender *sender, struct bytes *out)
{
    pthread_mutex_lock(&sender->lock);
    bytes_printf(out, "%s: queue holds %zu of %zu requests, %zu in flight\n",
                 sender->dispatcher.losses.id, queue_used(&sender->queue), sender->queue.size,
                 sender->queue.active);
    pthread_mutex_unlock(&sender->lock);
}

/* Gives up what was queued between abort and join: nothing, unless the caller never aborted. */
static void give_up_rest(struct sender *sender)
{
    struct outcome why = outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "shutting down");
    sender_give_up(sender, queue_clear(&sender->queue), &why);
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
    give_up_rest(sender);
    loss_log_release(&sender->dispatcher.losses);
    pthread_mutex_destroy(&sender->lock);
    pthread_cond_destroy(&sender->work);
    pthread_cond_destroy(&sender->empty);
    free(sender->workers);
    free(sender);
}
