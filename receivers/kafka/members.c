/* What happens to lanes when the group assigns and revokes partitions (receivers/kafka/group.h). */
#include "lib/base/log.h"
#include "receivers/kafka/group.h"
#include "receivers/kafka/start.h"

#include <stdio.h>
#include <stdlib.h>

/* How long what is under way to the backend is waited for when lanes end. */
#define DRAIN_NS (5 * NS_PER_S)

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

/* Makes the reader of a number; the starts of its partitions are used up. */
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
    log_error("%s: out of memory, partition %d is not read", group->self->env->id, number);
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

/* The lanes that are whole: the same number of every topic. */
static rd_kafka_topic_partition_list_t *whole_lanes(struct kafka_group *group,
                                                    const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_topic_partition_list_t *whole = rdkafka.topic_partition_list_new(list->cnt);
    for (int i = 0; i < list->cnt; i++)
        if (count_of(list, list->elems[i].partition) == group->topic_count)
            rdkafka.topic_partition_list_add(whole, list->elems[i].topic, list->elems[i].partition);
    if (whole->cnt < list->cnt)
        log_error("%s: %d partitions are not read, since this member has their number not of all "
                  "topics: give all topics equally many partitions, and all members of the group "
                  "%s the same topics",
                  group->self->env->id, list->cnt - whole->cnt, group->self->group_id);
    return whole;
}

static bool may_go_on(const struct kafka_group *group)
{
    return !atomic_load(&group->stopping) && !rdkafka.assignment_lost(group->client);
}

static struct start_request request_of(const struct kafka_group *group)
{
    return (struct start_request){.client = group->client,
                                  .earliest = group->self->initial_offset != 0,
                                  .replay_ns = group->self->replay,
                                  .now = clock_wall(group->self->env->clock)};
}

static void set_signals(const struct kafka_group *group,
                        const rd_kafka_topic_partition_list_t *list, struct feed_start *starts)
{
    for (int i = 0; i < list->cnt; i++) {
        starts[i] = (struct feed_start){.topic = list->elems[i].topic};
        signal_of(group, list->elems[i].topic, &starts[i].signal);
    }
}

/* Asks until the brokers answer, as without it nothing can be read. */
static bool find_starts(struct kafka_group *group, rd_kafka_topic_partition_list_t *list,
                        struct feed_start *starts)
{
    char error[256], last[256] = "";
    while (may_go_on(group)) {
        struct start_request request = request_of(group);
        set_signals(group, list, starts);
        if (list->cnt == 0 || start_find(&request, list, starts, error, sizeof error))
            return true;
        if (strcmp(error, last) != 0)
            log_warn("%s: %s; asking again", group->self->env->id, error);
        snprintf(last, sizeof last, "%s", error);
        group_set_phase(group, GROUP_JOINING, error);
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

static void assigned(struct kafka_group *group, rd_kafka_topic_partition_list_t *all)
{
    rd_kafka_topic_partition_list_t *list = whole_lanes(group, all);
    struct feed_start *starts = calloc((size_t)list->cnt + 1, sizeof *starts);
    bool found = starts && find_starts(group, list, starts);
    for (int i = 0; found && i < list->cnt; i++)
        starts[i].queue = queue_of(group, &list->elems[i]);
    rdkafka.assign(group->client, found ? list : NULL);
    if (found) {
        charge(group, (size_t)list->cnt);
        open_readers(group, list, starts);
        bool whole = list->cnt == all->cnt;
        group_set_phase(group, whole ? GROUP_ASSIGNED : GROUP_DISAGREES,
                        whole ? "" : "the topics' partitions do not match");
        log_info("%s: assigned %zu lanes of the group %s", group->self->env->id,
                 group->reader_count, group->self->group_id);
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

void group_end_lanes(struct kafka_group *group, bool lost)
{
    enum cause cause = atomic_load(&group->stopping) ? CAUSE_SHUTDOWN : CAUSE_REVOKED;
    size_t late = 0;
    for (size_t i = 0; i < group->reader_count; i++)
        atomic_store(&group->readers[i]->leaving, true);
    for (size_t i = 0; i < group->reader_count; i++)
        stop_reader(group, group->readers[i], cause);
    uint64_t until = clock_mono(&clock_system) + DRAIN_NS;
    for (size_t i = 0; i < group->reader_count && !lost; i++)
        while (!reader_drain(group->readers[i], clock_mono(&clock_system) + NS_PER_S / 20)) {
            if (group->letters)
                letters_poll(group->letters, 0);
            if (clock_mono(&clock_system) >= until) {
                late++;
                break;
            }
        }
    if (late)
        log_warn("%s: %zu lanes were given up while records were under way; these will be "
                 "delivered twice",
                 group->self->env->id, late);
    if (!lost)
        group_commit(group, false, true);
    pthread_mutex_lock(&group->lock);
    size_t count = group->reader_count;
    group->reader_count = 0;
    pthread_mutex_unlock(&group->lock);
    for (size_t i = 0; i < count; i++)
        reader_unref(group->readers[i]);
    charge(group, 0);
}

void group_rebalance(rd_kafka_t *client, rd_kafka_resp_err_t code,
                     rd_kafka_topic_partition_list_t *list, void *opaque)
{
    struct kafka_group *group = ((struct kafka_peer *)opaque)->owner;
    group->client = client;
    if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        atomic_fetch_add(&group->self->rebalances, 1);
        kafka_peer_works(&group->peer);
        assigned(group, list);
        return;
    }
    bool lost = rdkafka.assignment_lost(client);
    if (lost)
        log_warn("%s: the group gave this member's partitions to others", group->self->env->id);
    group_end_lanes(group, lost);
    if (!atomic_load(&group->stopping))
        group_set_phase(group, GROUP_JOINING, "the group is being rebalanced");
    rdkafka.assign(client, NULL);
}

/* ---- read again ---- */

/* Ends one reader and starts another at what is committed. */
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
        log_warn("%s: partition %d cannot be read again now: %s", group->self->env->id,
                 reader->number, error);
    } else {
        for (int p = 0; p < list->cnt; p++)
            starts[p].queue = queue_of(group, &list->elems[p]);
        pthread_mutex_lock(&group->lock);
        group->readers[i] = group->readers[--group->reader_count];
        pthread_mutex_unlock(&group->lock);
        open_readers(group, list, starts);
        atomic_fetch_add(&group->self->rewinds, 1);
        log_warn("%s: partition %d is read again from what was delivered, since an exporter gave "
                 "records up",
                 group->self->env->id, reader->number);
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
        if (atomic_load(&group->readers[i]->rewind))
            rewind_reader(group, i);
}
