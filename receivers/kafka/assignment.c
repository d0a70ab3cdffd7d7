/* Starts and ends lanes when the group assigns and revokes partitions (receivers/kafka/group.h). */
#include "lib/base/log.h"
#include "receivers/kafka/expired.h"
#include "receivers/kafka/outages.h"
#include "receivers/kafka/start_offsets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long to wait for records in flight when lanes end. */
#define DRAIN_NS (5 * NS_PER_S)
/* And then, for requests that are being sent at that moment. */
#define LAST_NS NS_PER_S

/* Where the numbers of partitions are equal, or until they were asked for. */
static const char lacks_topics[] = "the topics' partitions do not match, or another consumer of "
                                   "the group reads only some of the topics";

enum { SHORT_MS = 200 }; /* between questions about a partition that is shorter than expected */

/* ---- assigned ---- */

static bool signal_of(const struct kafka_group *group, const char *topic, enum signal *signal)
{
    for (size_t i = 0; i < group->topic_count; i++)
        if (strcmp(group->topics[i].name, topic) == 0) {
            *signal = group->topics[i].signal;
            return true;
        }
    return false;
}

static size_t count_of(const rd_kafka_topic_partition_list_t *list, int32_t number)
{
    size_t count = 0;
    for (int i = 0; i < list->cnt; i++)
        count += list->elems[i].partition == number;
    return count;
}

static struct worker *worker_of(const struct kafka_group *group, int32_t number)
{
    return group->workers[(size_t)number % group->worker_count];
}

/* Takes a partition's records out of the consumer's queue, into one of its own that wakes the
 * lane's worker. */
static rd_kafka_queue_t *queue_of(const struct kafka_group *group,
                                  const rd_kafka_topic_partition_t *at)
{
    static const uint64_t one = 1;
    rd_kafka_queue_t *queue = rdkafka.queue_get_partition(group->client, at->topic, at->partition);
    if (!queue)
        return NULL;
    rdkafka.queue_forward(queue, NULL);
    rdkafka.queue_io_event_enable(queue, worker_event(worker_of(group, at->partition)), &one,
                                  sizeof one);
    return queue;
}

static bool keep_reader(struct kafka_group *group, struct reader *reader)
{
    pthread_mutex_lock(&group->lock);
    struct reader **readers = realloc(group->readers, (group->reader_count + 1) * sizeof *readers);
    if (readers) {
        group->readers = readers;
        readers[group->reader_count++] = reader;
    }
    pthread_mutex_unlock(&group->lock);
    return readers;
}

/* Makes the reader of a lane, which takes over the starts of its partitions. */
static void open_reader(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list,
                        struct feed_start *starts, int32_t number)
{
    struct feed_start *own = calloc((size_t)list->cnt, sizeof *own);
    size_t count = 0;
    for (int i = 0; own && i < list->cnt; i++)
        if (list->elems[i].partition == number)
            own[count++] = starts[i];
    struct reader *reader =
        own ? reader_new(group->self, group->letters, number, own, count) : NULL;
    free(own);
    if (reader && keep_reader(group, reader)) {
        if (worker_add(worker_of(group, number), reader))
            return;
    } else if (reader) {
        reader_stop(reader, CAUSE_MEMORY);
        reader_unref(reader);
    }
    env_error(group->self->env, "out of memory, partition %d is not read", number);
}

static void open_readers(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list,
                         struct feed_start *starts)
{
    for (int i = 0; i < list->cnt; i++) {
        bool first = true;
        for (int before = 0; before < i; before++)
            first &= list->elems[before].partition != list->elems[i].partition;
        if (first)
            open_reader(group, list, starts, list->elems[i].partition);
    }
}

/* The partitions whose number is assigned for every topic. */
static rd_kafka_topic_partition_list_t *whole_lanes(struct kafka_group *group,
                                                    const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_topic_partition_list_t *whole = rdkafka.topic_partition_list_new(list->cnt);
    for (int i = 0; i < list->cnt; i++)
        if (count_of(list, list->elems[i].partition) == group->topic_count)
            rdkafka.topic_partition_list_add(whole, list->elems[i].topic, list->elems[i].partition);
    if (whole->cnt < list->cnt)
        env_error(group->self->env,
                  "%d partitions are not read, because their numbers are not assigned to this "
                  "member for all topics: give all topics equally many partitions, and all members "
                  "of the group "
                  "%s the same topics",
                  list->cnt - whole->cnt, group->self->group_id);
    return whole;
}

static bool may_go_on(const struct kafka_group *group)
{
    return !atomic_load(&group->stopping) && !rdkafka.assignment_lost(group->client);
}

static struct start_request request_of(struct kafka_group *group)
{
    return (struct start_request){.client = group->client,
                                  .earliest = group->self->initial_offset != 0,
                                  .replay_ns = group->self->replay,
                                  .now = clock_wall(group->self->env->clock),
                                  .mono = clock_mono(&clock_system),
                                  .short_since = &group->short_since};
}

static void report_expired(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list,
                           const struct feed_start *starts)
{
    for (int i = 0; i < list->cnt; i++)
        group_add_expired(group, list->elems[i].topic, list->elems[i].partition, starts[i].expired,
                          starts[i].deliver_from);
}

static void set_signals(const struct kafka_group *group,
                        const rd_kafka_topic_partition_list_t *list, struct feed_start *starts)
{
    for (int i = 0; i < list->cnt; i++) {
        starts[i] = (struct feed_start){.topic = list->elems[i].topic};
        signal_of(group, list->elems[i].topic, &starts[i].signal);
    }
}

/* Asks until the brokers answer. */
static bool find_starts(struct kafka_group *group, rd_kafka_topic_partition_list_t *list,
                        struct feed_start *starts)
{
    char error[512], last[512] = "";
    group->short_since = 0;
    while (may_go_on(group)) {
        struct start_request request = request_of(group);
        set_signals(group, list, starts);
        bool found = list->cnt == 0 || start_find(&request, list, starts, error, sizeof error);
        if (found && list->cnt)
            group_note_assigned(group);
        if (found)
            return true;
        group_add_missing_replicas(group, error, sizeof error);
        if (strcmp(error, last) != 0)
            env_warn(group->self->env, "%s; asking again", error);
        snprintf(last, sizeof last, "%s", error);
        group_set_phase(group, GROUP_JOINING, error);
        group_ask_brokers(group);
        if (group->short_since) /* they answer at once */
            group_pause(group, SHORT_MS);
    }
    return false;
}

static void charge(struct kafka_group *group, size_t partitions)
{
    size_t bytes = partitions * group->prefetch * 2; /* queued, and the last answer */
    if (bytes > group->charged)
        budget_force(group->self->env->budget, bytes - group->charged);
    else
        budget_give(group->self->env->budget, group->charged - bytes);
    group->charged = bytes;
}

/* Stays in the group, without a partition. */
static void assign_none(struct kafka_group *group)
{
    rd_kafka_topic_partition_list_t *none = rdkafka.topic_partition_list_new(0);
    rdkafka.assign(group->client, none);
    rdkafka.topic_partition_list_destroy(none);
}

static void assigned(struct kafka_group *group, rd_kafka_topic_partition_list_t *all)
{
    if (stale_is(group, all)) {
        assign_none(group);
        return;
    }
    rd_kafka_topic_partition_list_t *list = whole_lanes(group, all);
    struct feed_start *starts = calloc((size_t)list->cnt + 1, sizeof *starts);
    bool found = starts && find_starts(group, list, starts);
    for (int i = 0; found && i < list->cnt; i++)
        starts[i].queue = queue_of(group, &list->elems[i]);
    rdkafka.assign(group->client, found ? list : NULL);
    if (found) {
        charge(group, (size_t)list->cnt);
        report_expired(group, list, starts);
        open_readers(group, list, starts);
        bool whole = list->cnt == all->cnt;
        group_set_phase(group, whole ? GROUP_ASSIGNED : GROUP_DISAGREES, whole ? "" : lacks_topics);
        env_info(group->self->env, "assigned %zu lanes of the group %s", group->reader_count,
                 group->self->group_id);
        group->look_at_counts = true;
        group->errors_before = atomic_load(&group->peer.errors);
        group->commit_at = 0; /* from then on a topic that is made again is noticed */
    }
    free(starts);
    rdkafka.topic_partition_list_destroy(list);
}

/* ---- revoked ---- */

static void stop_reader(struct kafka_group *group, struct reader *reader, enum cause cause)
{
    atomic_store(&reader->leaving, true);
    worker_remove(worker_of(group, reader->number), reader);
    reader_stop(reader, cause);
}

/* Returns how many lanes still have records under way. */
static size_t await_lanes(struct kafka_group *group, uint64_t wait_ns)
{
    uint64_t until = clock_mono(&clock_system) + wait_ns;
    size_t late = 0;
    for (size_t i = 0; i < group->reader_count; i++)
        while (!reader_drain(group->readers[i], clock_mono(&clock_system) + NS_PER_S / 20)) {
            if (group->letters)
                dead_letters_poll(group->letters, 0);
            if (clock_mono(&clock_system) >= until) {
                late++;
                break;
            }
        }
    return late;
}

/* Waits until queued records are delivered; if that takes too long, they are no longer sent. */
static void drain_lanes(struct kafka_group *group)
{
    size_t late = await_lanes(group, DRAIN_NS);
    if (!late)
        return;
    group_set_lease(group, 0);
    size_t sending = await_lanes(group, LAST_NS);
    env_warn(group->self->env,
             "%zu revoked lanes have records that are not delivered; their next owners read them "
             "again, and what %zu of them are sending now may be delivered twice",
             late, sending);
}

void group_end_lanes(struct kafka_group *group, bool lost)
{
    enum cause cause = atomic_load(&group->stopping) ? CAUSE_SHUTDOWN : CAUSE_REVOKED;
    if (lost)
        group_set_lease(group, 0);
    for (size_t i = 0; i < group->reader_count; i++)
        atomic_store(&group->readers[i]->leaving, true);
    for (size_t i = 0; i < group->reader_count; i++)
        stop_reader(group, group->readers[i], cause);
    if (!lost) {
        drain_lanes(group);
        group_commit(group, false, true);
        group_set_lease(group, 0);
    }
    pthread_mutex_lock(&group->lock);
    size_t count = group->reader_count;
    group->reader_count = 0;
    pthread_mutex_unlock(&group->lock);
    for (size_t i = 0; i < count; i++)
        reader_unref(group->readers[i]);
    charge(group, 0);
}

static void revoked(struct kafka_group *group, bool lost)
{
    char since[CLOCK_TEXT], down[KAFKA_TROUBLE_SIZE];
    if (lost && group->reader_count && group->silent)
        env_warn(group->self->env,
                 "no broker has answered since %s: this member gives up its partitions, which "
                 "others may have",
                 clock_text(group->silent, since));
    else if (lost && group->reader_count && kafka_peer_is_down(&group->peer, down, sizeof down))
        env_warn(group->self->env, "%s: this member gives up its partitions, which others may have",
                 down);
    else if (lost && group->reader_count)
        env_warn(group->self->env, "the group gave this member's partitions to others");
    group_end_lanes(group, lost);
    if (!atomic_load(&group->stopping))
        group_set_phase(group, GROUP_JOINING,
                        *group->stale.why ? group->stale.why
                        : lost ? "this member lost its partitions, and joins the group again"
                               : "the group is being rebalanced");
    rdkafka.assign(group->client, NULL);
}

void group_rebalance(rd_kafka_t *client, rd_kafka_resp_err_t code,
                     rd_kafka_topic_partition_list_t *list, void *opaque)
{
    struct kafka_group *group = ((struct kafka_peer *)opaque)->owner;
    group->client = client;
    group_note_running(group, POLL_MS);
    group->stale.again_at = 0;
    bool lost = rdkafka.assignment_lost(client) || group_lease_is_over(group);
    group_set_lease(group, lost ? 0 : TIME_NEVER); /* what follows may take long */
    if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        atomic_fetch_add(&group->self->rebalances, 1);
        group->refused = false;
        kafka_peer_works(&group->peer, KAFKA_SOME_BROKER);
        assigned(group, list);
    } else {
        revoked(group, lost);
    }
    group_renew_lease(group, 0);
}

/* ---- read again ---- */

/* The longest wait for the brokers' answers. */
#define REWIND_NS (10 * NS_PER_S)

/* Replaces a reader by one that starts at the committed offsets. */
static void rewind_reader(struct kafka_group *group, size_t i)
{
    struct reader *reader = group->readers[i];
    struct start_request request = request_of(group);
    rd_kafka_topic_partition_list_t *list = rdkafka.topic_partition_list_new(4);
    struct feed_start *starts = calloc(reader->feed_count, sizeof *starts);
    char error[256] = "out of memory";
    stop_reader(group, reader, CAUSE_REVOKED);
    reader_drain(reader, clock_mono(&clock_system) + DRAIN_NS);
    reader_collect(reader, true, list);
    if (starts)
        set_signals(group, list, starts);
    bool found = starts && start_again(&request, list, starts, error, sizeof error);
    rd_kafka_error_t *failed =
        found ? rdkafka.seek_partitions(group->client, list, (int)(DRAIN_NS / NS_PER_MS)) : NULL;
    if (failed)
        snprintf(error, sizeof error, "%s", rdkafka.error_string(failed));
    if (!found || failed) { /* the next round tries again */
        env_warn(group->self->env, "partition %d cannot be read again now: %s", reader->number,
                 error);
    } else {
        for (int p = 0; p < list->cnt; p++)
            starts[p].queue = queue_of(group, &list->elems[p]);
        pthread_mutex_lock(&group->lock);
        group->readers[i] = group->readers[--group->reader_count];
        pthread_mutex_unlock(&group->lock);
        atomic_store(&reader->lease, 0);
        report_expired(group, list, starts);
        open_readers(group, list, starts);
        atomic_fetch_add(&group->self->rewinds, 1);
        env_warn(group->self->env,
                 "partition %d is read again from the committed offset, because an exporter gave "
                 "records up",
                 reader->number);
        reader_unref(reader);
    }
    if (failed)
        rdkafka.error_destroy(failed);
    free(starts);
    rdkafka.topic_partition_list_destroy(list);
}

void group_rewind(struct kafka_group *group)
{
    for (size_t i = group->reader_count; i-- > 0;)
        if (atomic_load(&group->readers[i]->rewind) && !group_lease_is_over(group)) {
            group_renew_lease(group, REWIND_NS);
            rewind_reader(group, i);
            if (!group_lease_is_over(group))
                group_renew_lease(group, 0);
        }
}
