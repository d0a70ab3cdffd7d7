#include "pipeline/life/retire.h"

#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "pipeline/life/rows.h"
#include "pipeline/life/runtime_state.h"
#include "pipeline/meter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define POLL_NS   (20 * NS_PER_MS)
#define LINGER_NS (250 * NS_PER_MS)

/* For how long the status page tells what was lost. */
#define TOLD_NS (600 * NS_PER_S)

void retired_init(struct retired *retired, struct runtime *runtime)
{
    *retired = (struct retired){.runtime = runtime};
    pthread_mutex_init(&retired->lock, NULL);
    thread_cond_init(&retired->changed);
}

void retired_release(struct retired *retired)
{
    while (retired->first) {
        struct retirement *retirement = retired->first;
        retired->first = retirement->next;
        graph_release(&retirement->graph);
        free(retirement);
    }
    for (size_t i = 0; i < retired->meter_count; i++)
        meter_unref(retired->meters[i].meter);
    free(retired->meters);
    pthread_mutex_destroy(&retired->lock);
    pthread_cond_destroy(&retired->changed);
}

static void visit(const struct retirement *retirement, enum component_kind kind,
                  void (*each)(struct instance *instance))
{
    const struct instance_list *list = &retirement->graph.instances;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->opened && list->items[i]->component->kind == kind)
            each(list->items[i]);
}

static void retire_server(struct instance *instance)
{
    if (instance->component->retire)
        instance->component->retire(instance->self);
    else
        instance_close(instance);
}

/* Extensions that are not servers may be needed to the end, such as authenticators. */
static void retire_extension(struct instance *instance)
{
    if (instance->component->retire)
        instance->component->retire(instance->self);
}

static bool serves(const struct retirement *retirement)
{
    const struct instance_list *list = &retirement->graph.instances;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->opened && list->items[i]->component->retire)
            return true;
    return false;
}

static void await_clients(struct retirement *retirement)
{
    struct retired *all = retirement->all;
    pthread_mutex_lock(&all->lock);
    while (!all->hurry && clock_mono(&clock_system) < retirement->deadline)
        thread_cond_wait_until(&all->changed, &all->lock, retirement->deadline);
    pthread_mutex_unlock(&all->lock);
}

static void remove_exporter(struct instance *exporter)
{
    if (exporter->sender && !sender_has_successor(exporter->sender))
        sender_remove(exporter->sender);
}

static bool empty(const struct retirement *retirement)
{
    const struct instance_list *list = &retirement->graph.instances;
    uint64_t until = clock_mono(&clock_system) + POLL_NS;
    for (size_t i = 0; i < list->count; i++) {
        struct sender *sender = list->items[i]->sender;
        if (sender && !sender_wait_empty(sender, until))
            return false;
    }
    return true;
}

/* Items of an exporter that no other has taken over. Sets what to call them. */
static uint64_t waiting_in(const struct instance *exporter, const char **items)
{
    struct sender *sender = exporter->sender;
    uint64_t left = sender && !sender_has_successor(sender) ? sender_pending(sender) : 0;
    *items = left == 1 ? "item" : "items";
    int signals = 0;
    for (int signal = 0; left && signal < SIGNAL_COUNT; signal++) {
        if (!sender_figures(sender, (enum signal)signal).held)
            continue;
        *items = ++signals == 1 ? signal_items((enum signal)signal, left) : "items";
    }
    return left;
}

/* What a removed exporter still has is in the journal, so that it need not be dropped. */
static void linger_exporter(struct instance *exporter)
{
    const struct log_source source = {.id = exporter->id, .kind = "exporter"};
    const char *items;
    uint64_t left = waiting_in(exporter, &items);
    if (left)
        log_of(&source, LOG_WARN,
               "was removed by a reload, and %" PRIu64
               " %s that it accepted still wait for its backend; they stay in the journal, and it "
               "keeps trying until the process stops",
               left, items);
    if (left)
        sender_linger(exporter->sender);
}

static void log_lingered(struct instance *exporter)
{
    const struct log_source source = {.id = exporter->id, .kind = "exporter"};
    if (exporter->sender && !sender_has_successor(exporter->sender))
        log_of(&source, LOG_INFO, "was removed by a reload, and nothing of it waits any more");
}

/* Waits until nothing is left, or the process stops. */
static void linger(struct retirement *retirement)
{
    struct retired *all = retirement->all;
    bool left = !empty(retirement);
    if (!left || !all->runtime->journal || all->runtime->hurried)
        return;
    visit(retirement, COMPONENT_EXPORTER, linger_exporter);
    pthread_mutex_lock(&all->lock);
    while (!all->hurry && left) {
        thread_cond_wait_until(&all->changed, &all->lock, clock_mono(&clock_system) + LINGER_NS);
        pthread_mutex_unlock(&all->lock);
        left = !empty(retirement);
        pthread_mutex_lock(&all->lock);
    }
    pthread_mutex_unlock(&all->lock);
    if (!left)
        visit(retirement, COMPONENT_EXPORTER, log_lingered);
}

static void abort_exporter(struct instance *exporter)
{
    if (exporter->sender)
        sender_abort(exporter->sender);
}

static void close_exporter(struct instance *exporter)
{
    sender_free(exporter->sender);
    exporter->sender = NULL;
    instance_close(exporter);
}

static void await_turn(struct retirement *retirement)
{
    struct retired *all = retirement->all;
    pthread_mutex_lock(&all->lock);
    while (all->held || all->ended < retirement->number)
        pthread_cond_wait(&all->changed, &all->lock);
    retirement->done = true;
    pthread_mutex_unlock(&all->lock);
}

struct meter *retired_meter(const struct retired *retired, enum component_kind kind, const char *id)
{
    for (size_t i = 0; i < retired->meter_count; i++)
        if (retired->meters[i].kind == kind && strcmp(retired->meters[i].meter->id, id) == 0)
            return retired->meters[i].meter;
    return NULL;
}

/* What counts under a kind and id: an instance in use, or else one that is gone. NULL: none. */
static struct meter *counting(const struct runtime *runtime, enum component_kind kind,
                              const char *id)
{
    const struct instance *instance = graph_find(&runtime->graph, kind, id);
    return instance && instance->used ? instance->meter
                                      : retired_meter(&runtime->retired, kind, id);
}

bool retired_counts(const struct runtime *runtime, const struct retired_meter *gone)
{
    const struct instance *instance = graph_find(&runtime->graph, gone->kind, gone->meter->id);
    return !instance || !instance->used;
}

/* From now on its losses stay in the metrics and are reported at the end of the run, and one that
 * comes back under the id counts on. */
static void account(struct runtime *runtime, struct instance *instance)
{
    struct retired *all = &runtime->retired;
    enum component_kind kind = instance->component->kind;
    if (kind != COMPONENT_PROCESSOR && kind != COMPONENT_EXPORTER)
        return;
    pthread_mutex_lock(&runtime->lock);
    struct meter *present = counting(runtime, kind, instance->id);
    struct retired_meter *meters = NULL;
    if (!present)
        meters = realloc(all->meters, (all->meter_count + 1) * sizeof *meters);
    if (meters) {
        all->meters = meters;
        meters[all->meter_count++] = (struct retired_meter){kind, meter_ref(instance->meter)};
    }
    pthread_mutex_unlock(&runtime->lock);
}

static bool answers_due(const struct retirement *retirement)
{
    const struct instance_list *list = &retirement->graph.instances;
    for (size_t i = 0; i < list->count; i++)
        for (int s = 0; s < SIGNAL_COUNT; s++)
            if (list->items[i]->env.intakes[s] && list->items[i]->env.intakes[s]->pending)
                return true;
    return false;
}

/* Clients may still wait for a backend's answer, which their receiver must pass on. False: a stop
 * came first. */
static bool await_answers(struct retirement *retirement)
{
    struct retired *all = retirement->all;
    pthread_mutex_lock(&all->lock);
    while (!all->hurry && answers_due(retirement))
        thread_cond_wait_until(&all->changed, &all->lock, clock_mono(&clock_system) + POLL_NS);
    pthread_mutex_unlock(&all->lock);
    return !answers_due(retirement);
}

static void *end_loop(void *ctx)
{
    struct retirement *retirement = ctx;
    struct retired *all = retirement->all;
    visit(retirement, COMPONENT_RECEIVER, retire_server);
    visit(retirement, COMPONENT_EXTENSION, retire_extension);
    visit(retirement, COMPONENT_EXPORTER, remove_exporter);
    if (serves(retirement))
        await_clients(retirement);
    visit(retirement, COMPONENT_RECEIVER, instance_close);
    pthread_mutex_lock(&all->lock);
    retirement->left = true;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
    visit(retirement, COMPONENT_PROCESSOR, instance_close);
    while (!empty(retirement) && !all->runtime->hurried &&
           clock_mono(&clock_system) < retirement->deadline)
        continue;
    linger(retirement);
    visit(retirement, COMPONENT_EXPORTER, abort_exporter);
    bool answered = await_answers(retirement);
    await_turn(retirement);
    pthread_mutex_lock(&all->lock);
    retirement->told = false;
    pthread_mutex_unlock(&all->lock);
    visit(retirement, COMPONENT_EXPORTER, close_exporter);
    visit(retirement, COMPONENT_EXTENSION, instance_close);
    if (answered)
        graph_release(&retirement->graph);
    pthread_mutex_lock(&all->lock);
    all->ended++;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

static void free_done(struct retired *retired, bool wait)
{
    struct retirement **at = &retired->first;
    while (*at) {
        struct retirement *retirement = *at;
        pthread_mutex_lock(&retired->lock);
        bool done = wait || retirement->done;
        pthread_mutex_unlock(&retired->lock);
        if (!done) {
            at = &retirement->next;
            continue;
        }
        if (retirement->threaded)
            pthread_join(retirement->thread, NULL);
        retirement->threaded = false;
        if (retirement->graph.instances.items) {
            at = &retirement->next;
            continue;
        }
        pthread_mutex_lock(&retired->lock);
        *at = retirement->next;
        pthread_mutex_unlock(&retired->lock);
        free(retirement);
    }
}

void retired_hold(struct retired *retired)
{
    pthread_mutex_lock(&retired->lock);
    retired->held = true;
    pthread_mutex_unlock(&retired->lock);
    free_done(retired, false);
}

void retired_let_go(struct retired *retired)
{
    pthread_mutex_lock(&retired->lock);
    retired->held = false;
    pthread_cond_broadcast(&retired->changed);
    pthread_mutex_unlock(&retired->lock);
}

void retired_begin(struct runtime *runtime, struct retirement *retirement, uint64_t timeout_ns)
{
    struct retired *all = &runtime->retired;
    retirement->all = all;
    retirement->number = all->begun++;
    retirement->deadline = clock_mono(&clock_system) + timeout_ns;
    retirement->told = true;
    for (size_t i = 0; i < retirement->graph.instances.count; i++)
        account(runtime, retirement->graph.instances.items[i]);
    pthread_mutex_lock(&all->lock);
    retirement->next = all->first;
    all->first = retirement;
    pthread_mutex_unlock(&all->lock);
    retirement->threaded = thread_start(&retirement->thread, "retire", end_loop, retirement);
    if (!retirement->threaded)
        end_loop(retirement);
}

void retired_hurry(struct retired *retired)
{
    pthread_mutex_lock(&retired->lock);
    retired->hurry = true;
    pthread_cond_broadcast(&retired->changed);
    for (const struct retirement *at = retired->first; at; at = at->next)
        while (!at->left)
            pthread_cond_wait(&retired->changed, &retired->lock);
    pthread_mutex_unlock(&retired->lock);
}

void retired_finish(struct retired *retired)
{
    free_done(retired, true);
}

/* ---- the status page ---- */

/* Appends " http://tempo:4317, which fails since 00:01:02Z: connection refused; ". */
static void tell_backend(const struct instance *exporter, struct bytes *out)
{
    const struct sender_state state = sender_state(exporter->sender);
    const struct runtime_row row = {.instance = exporter};
    char since[CLOCK_TEXT], url[512], last[512] = "";
    for (int signal = 0; signal < SIGNAL_COUNT; signal++) {
        bool held = sender_figures(exporter->sender, (enum signal)signal).held;
        if (!held || !runtime_row_url(&row, signal, url, sizeof url) || strcmp(url, last) == 0)
            continue;
        bytes_printf(out, "%s %s", *last ? " and" : "", url);
        memcpy(last, url, sizeof last);
    }
    if (state.delivery.failing_since)
        bytes_printf(out, ", which fails since %s: %s",
                     clock_text(state.delivery.failing_since, since), state.delivery.error);
    bytes_printf(out, "; ");
}

static void tell_waiting(const struct retirement *retirement, const struct instance *exporter,
                         struct bytes *out)
{
    uint64_t now = clock_mono(&clock_system), deadline = retirement->deadline;
    const char *items;
    uint64_t left = waiting_in(exporter, &items);
    char at[CLOCK_TEXT];
    if (!left)
        return;
    bytes_printf(out,
                 "%s%s was removed by a reload, and %" PRIu64 " %s that it accepted wait for "
                 "its backend",
                 out->size ? "; " : "", exporter->id, left, items);
    tell_backend(exporter, out);
    clock_text(clock_wall(&clock_system) + (deadline > now ? deadline - now : 0), at);
    if (retirement->all->runtime->journal)
        bytes_printf(out, "they stay in the journal, and it keeps trying; those left at a stop are "
                          "sent by the exporters of the next start");
    else
        bytes_printf(out, "they are dropped if not delivered until %s", at);
}

/* When something was last dropped while it ran, wall; 0: never. */
static uint64_t last_drop(const struct meter *meter)
{
    uint64_t last = 0;
    for (int cause = 0; cause < CAUSE_COUNT; cause++) {
        uint64_t at = cause == CAUSE_SHUTDOWN ? 0 : meter_last_drop(meter, (enum cause)cause);
        last = at > last ? at : last;
    }
    return last;
}

/* Appends "tempo was removed by a reload, and 3 spans <what> 00:01:02Z", if that was lately. */
static void tell_drops(const struct meter *meter, const uint64_t items[SIGNAL_COUNT], uint64_t last,
                       const char *what, struct bytes *out)
{
    uint64_t any = 0;
    char at[CLOCK_TEXT];
    for (int signal = 0; signal < SIGNAL_COUNT; signal++)
        any |= items[signal];
    if (!any || clock_wall(&clock_system) - last >= TOLD_NS)
        return;
    bytes_printf(out, "%s%s was removed by a reload, and ", out->size ? "; " : "", meter->id);
    meter_put_items(items, out);
    bytes_printf(out, " %s %s", what, clock_text(last, at));
}

static void tell_lost(const struct retired_meter *gone, struct bytes *out)
{
    const struct meter *meter = gone->meter;
    uint64_t at_end[SIGNAL_COUNT], before[SIGNAL_COUNT];
    for (int signal = 0; signal < SIGNAL_COUNT; signal++) {
        at_end[signal] = meter_dropped(meter, CAUSE_SHUTDOWN, signal);
        before[signal] = meter_get(meter, METER_DROPPED, signal) - at_end[signal];
    }
    tell_drops(meter, before, last_drop(meter), "had been dropped before, the last at", out);
    tell_drops(meter, at_end, meter_last_drop(meter, CAUSE_SHUTDOWN),
               "that waited in it were dropped at", out);
}

void runtime_removed(struct runtime *runtime, struct bytes *out)
{
    struct retired *all = &runtime->retired;
    pthread_mutex_lock(&all->lock);
    for (const struct retirement *at = all->first; at; at = at->next)
        for (size_t i = 0; at->told && i < at->graph.instances.count; i++)
            tell_waiting(at, at->graph.instances.items[i], out);
    pthread_mutex_unlock(&all->lock);
    pthread_mutex_lock(&runtime->lock);
    for (size_t i = 0; i < all->meter_count; i++)
        if (retired_counts(runtime, &all->meters[i]))
            tell_lost(&all->meters[i], out);
    pthread_mutex_unlock(&runtime->lock);
}
