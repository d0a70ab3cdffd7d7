#include "pipeline/graph/replay.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "pipeline/graph/journal_record.h"
#include "pipeline/graph/journaling.h"

#include <inttypes.h>
#include <stdlib.h>

enum { RECORD_CAP = 1 << 30 };

/* How long to wait when memory or a place in a queue is missing. */
static const uint64_t WAIT_NS = 50 * NS_PER_MS;

struct replay {
    struct graph *graph;
    struct gate *gate;
    struct journal *journal;
    struct budget *budget;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool stop;        /* under lock */
    uint64_t orphans; /* requests whose exporters are gone */
};

/* False: the replay must stop. */
static bool wait_a_little(struct replay *replay)
{
    uint64_t until = clock_mono(&clock_system) + WAIT_NS;
    pthread_mutex_lock(&replay->lock);
    while (!replay->stop && clock_mono(&clock_system) < until)
        thread_cond_wait_until(&replay->stopped, &replay->lock, until);
    bool go_on = !replay->stop;
    pthread_mutex_unlock(&replay->lock);
    return go_on;
}

/* Returns the intake through which the request came, else any one of its signal: the configuration
 * may have changed. */
static struct intake *find_intake(const struct replay *replay, enum signal signal,
                                  struct view receiver)
{
    struct intake *found = NULL;
    for (size_t i = 0; i < replay->graph->instances.count; i++) {
        const struct instance *instance = replay->graph->instances.items[i];
        struct intake *intake = instance->env.intakes[signal];
        if (intake && view_eq(receiver, view_of(instance->id)))
            return intake;
        if (intake && !found)
            found = intake;
    }
    return found;
}

/* Counts a request that was kept for an exporter which the configuration no longer has. */
static void count_orphan(struct replay *replay, const struct batch *batch)
{
    const struct instance_list *instances = &replay->graph->instances;
    replay->orphans++;
    for (size_t i = 0; i < instances->count; i++)
        if (instances->items[i]->component->journal)
            meter_drop(instances->items[i]->meter, CAUSE_NO_PIPELINE, batch->signal, batch->items);
}

/* Offers it once. False: no pipeline has its signal. */
static bool offer_once(struct replay *replay, struct batch *batch, struct view receiver,
                       struct journal_entry *entry, struct outcome *outcome)
{
    static const enum gate_mode open = GATE_OPEN;
    gate_enter(replay->gate, &open);
    struct intake *intake = find_intake(replay, batch->signal, receiver);
    bool orphan = false;
    if (intake)
        *outcome = journaling_replay(intake, batch, entry, &orphan);
    if (orphan && outcome->verdict != VERDICT_RETRY)
        count_orphan(replay, batch);
    gate_leave(replay->gate);
    return intake;
}

/* Offers it until it is taken. False: the replay must stop, and the entry stays. */
static bool replay_offer(struct replay *replay, struct batch *batch, struct view receiver,
                         struct journal_entry *entry)
{
    struct outcome outcome;
    while (offer_once(replay, batch, receiver, entry, &outcome)) {
        if (outcome.verdict != VERDICT_RETRY)
            return true;
        if (!wait_a_little(replay))
            return false;
    }
    log_error("journal: a request is kept but not replayed: no pipeline for its signal");
    return true;
}

static bool replay_one(struct replay *replay, struct view record, struct journal_entry *entry)
{
    struct view receiver;
    const char *reason;
    struct batch *batch = journal_record_read(record, replay->budget, &receiver, &reason);
    if (!batch)
        log_error("journal: a request is kept but not replayed: %s", reason);
    bool go_on = !batch || replay_offer(replay, batch, receiver, entry);
    batch_unref(batch);
    return go_on;
}

static void *replay_loop(void *ctx)
{
    struct replay *replay = ctx;
    struct bytes record;
    struct journal_entry *entry;
    bool no_room = false, go_on = true;
    uint64_t count = 0;
    bytes_init(&record, RECORD_CAP, NULL); /* one at a time; its payload is charged */
    while (go_on) {
        bytes_clear(&record);
        if (journal_next(replay->journal, &record, &entry, &no_room)) {
            go_on = replay_one(replay, bytes_view(&record), entry);
            count++;
        } else {
            go_on = no_room && wait_a_little(replay);
        }
        bytes_release(&record);
    }
    if (count)
        log_info("journal: %" PRIu64 " requests of an earlier process were replayed", count);
    if (replay->orphans)
        log_warn("journal: %" PRIu64 " of them are dropped: they were kept for an exporter that is "
                 "no longer in the pipelines, and the others had delivered them",
                 replay->orphans);
    return NULL;
}

struct replay *replay_start(struct graph *graph, struct gate *gate, struct journal *journal,
                            struct budget *budget)
{
    struct replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return NULL;
    *replay = (struct replay){.graph = graph, .gate = gate, .journal = journal, .budget = budget};
    pthread_mutex_init(&replay->lock, NULL);
    thread_cond_init(&replay->stopped);
    if (thread_start(&replay->thread, "replay", replay_loop, replay))
        return replay;
    free(replay);
    return NULL;
}

void replay_stop(struct replay *replay)
{
    if (!replay)
        return;
    pthread_mutex_lock(&replay->lock);
    replay->stop = true;
    pthread_cond_signal(&replay->stopped);
    pthread_mutex_unlock(&replay->lock);
    pthread_join(replay->thread, NULL);
    pthread_mutex_destroy(&replay->lock);
    pthread_cond_destroy(&replay->stopped);
    free(replay);
}
