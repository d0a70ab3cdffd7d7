#include "receivers/kafka/group.h"

#include "lib/base/log.h"
#include "lib/base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    POLL_MS = 100,
    CHECK_MS = 200,
    CHECKS_APART_MS = 1000,
    OPEN_WAIT_S = 5,
    REJOIN_S = 1, /* doubles each time, up to REJOIN_MOST_S */
    REJOIN_MOST_S = 60
};

#define ASK_NS NS_PER_S

void group_set_phase(struct kafka_group *group, enum group_phase phase, const char *trouble)
{
    pthread_mutex_lock(&group->lock);
    group->phase = phase;
    snprintf(group->trouble, sizeof group->trouble, "%s", trouble);
    pthread_cond_broadcast(&group->changed);
    pthread_mutex_unlock(&group->lock);
}

/* ---- the thread ---- */

static void group_pause(struct kafka_group *group, int ms)
{
    uint64_t until = clock_mono(&clock_system) + (uint64_t)ms * NS_PER_MS;
    pthread_mutex_lock(&group->lock);
    while (!atomic_load(&group->stopping) && clock_mono(&clock_system) < until)
        thread_cond_wait_until(&group->changed, &group->lock, until);
    pthread_mutex_unlock(&group->lock);
}

/* Asks for the topics until all are there and agree. */
static void ask_topics(struct kafka_group *group)
{
    while (!atomic_load(&group->stopping) && !group_check(group, group->client, CHECK_MS))
        group_pause(group, group->phase == GROUP_ASKING ? 0 : CHECKS_APART_MS);
    rdkafka.destroy(group->client);
    group->client = NULL;
}

static bool join_group(struct kafka_group *group)
{
    char error[512];
    group->client = group_consumer(group, error, sizeof error);
    if (!group->client) {
        log_error("%s: %s", group->self->env->id, error);
        group_set_phase(group, GROUP_FAILED, error);
        return false;
    }
    rd_kafka_topic_partition_list_t *list =
        rdkafka.topic_partition_list_new((int)group->topic_count);
    for (size_t i = 0; i < group->topic_count; i++)
        rdkafka.topic_partition_list_add(list, group->topics[i].name, RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t code = rdkafka.subscribe(group->client, list);
    rdkafka.topic_partition_list_destroy(list);
    if (code)
        log_error("%s: the topics cannot be subscribed: %s", group->self->env->id,
                  rdkafka.err2str(code));
    group_set_phase(group, code ? GROUP_FAILED : GROUP_JOINING, "no partitions are assigned yet");
    return true;
}

static void group_serve(struct kafka_group *group)
{
    uint64_t now = clock_mono(&clock_system);
    if (group->letters)
        letters_poll(group->letters, 0);
    if (now >= group->ask_at) {
        group->ask_at = now + ASK_NS;
        group_ask_ends(group);
        group_rewind(group);
    }
    if (now >= group->commit_at) {
        group->commit_at = now + group->self->autocommit.interval;
        group_commit(group, false, false);
    }
}

/* Records come through the partitions' own queues; what arrives here are errors. */
static void group_poll(struct kafka_group *group)
{
    rd_kafka_message_t *message = rdkafka.consumer_poll(group->client, POLL_MS);
    if (!message)
        return;
    if (message->err && message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)
        log_warn("%s: %s", group->self->env->id, rdkafka.message_errstr(message));
    rdkafka.message_destroy(message);
}

/* After a fatal error, librdkafka's client does nothing any more. */
static bool has_failed(struct kafka_group *group, char *text, size_t size)
{
    const struct kafka_receiver *self = group->self;
    char reason[160];
    rd_kafka_resp_err_t code = rdkafka.fatal_error(group->client, reason, sizeof reason);
    if (code == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID)
        snprintf(text, size,
                 "the broker gave this member's place to another with group_instance_id %s",
                 self->group_instance_id);
    else
        snprintf(text, size, "%s", reason);
    return code != RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Gives up the lanes, whose records others may read by now, and waits a little: members with the
 * same group_instance_id take the place from each other for ever. */
static void leave_group(struct kafka_group *group, const char *why, unsigned wait_s)
{
    log_error("%s: %s; joining the group again in %u s", group->self->env->id, why, wait_s);
    group_end_lanes(group, true);
    rdkafka.assign(group->client, NULL);
    rdkafka.consumer_close(group->client);
    rdkafka.destroy(group->client);
    group->client = NULL;
    group_set_phase(group, GROUP_JOINING, why);
    group_pause(group, (int)wait_s * 1000);
}

static void *group_run(void *ctx)
{
    struct kafka_group *group = ctx;
    char why[192];
    unsigned wait_s = REJOIN_S;
    ask_topics(group);
    while (!atomic_load(&group->stopping) && join_group(group)) {
        uint64_t joined = clock_mono(&clock_system);
        while (!atomic_load(&group->stopping) && !has_failed(group, why, sizeof why)) {
            group_poll(group);
            group_serve(group);
        }
        if (atomic_load(&group->stopping)) {
            rdkafka.consumer_close(group->client); /* calls group_rebalance */
            break;
        }
        if (clock_mono(&clock_system) - joined > 2 * REJOIN_MOST_S * NS_PER_S)
            wait_s = REJOIN_S;
        leave_group(group, why, wait_s);
        wait_s = wait_s * 2 < REJOIN_MOST_S ? wait_s * 2 : REJOIN_MOST_S;
    }
    return NULL;
}

/* ---- open and close ---- */

static bool list_topics(struct kafka_group *group)
{
    const struct kafka_receiver *self = group->self;
    size_t count = 0;
    for (int s = 0; s < SIGNAL_COUNT; s++)
        count += self->env->intakes[s] ? kafka_receiver_topics(self, (enum signal)s)->count : 0;
    group->topics = calloc(count + 1, sizeof *group->topics);
    group->counts = calloc(count + 1, sizeof *group->counts);
    if (!group->topics || !group->counts)
        return false;
    for (int s = 0; s < SIGNAL_COUNT; s++) {
        const struct key_list *topics = kafka_receiver_topics(self, (enum signal)s);
        for (size_t i = 0; self->env->intakes[s] && i < topics->count; i++)
            group->topics[group->topic_count++] =
                (struct group_topic){topics->items[i], (enum signal)s};
    }
    return true;
}

static bool start_workers(struct kafka_group *group)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = cores > 0 ? (size_t)cores : 1;
    group->workers = calloc(count, sizeof(struct worker *));
    while (group->workers && group->worker_count < count) {
        struct worker *worker = worker_start((unsigned)group->worker_count);
        if (!worker)
            break;
        group->workers[group->worker_count++] = worker;
    }
    return group->worker_count > 0;
}

/* Waits for the first answer about the topics. False: they disagree. */
static bool await_topics(struct kafka_group *group, char *error, size_t error_size)
{
    uint64_t until = clock_mono(&clock_system) + OPEN_WAIT_S * NS_PER_S;
    pthread_mutex_lock(&group->lock);
    while (group->phase == GROUP_ASKING && clock_mono(&clock_system) < until)
        thread_cond_wait_until(&group->changed, &group->lock, until);
    bool disagree = group->phase == GROUP_DISAGREES;
    if (disagree)
        snprintf(error, error_size, "%s", group->trouble);
    pthread_mutex_unlock(&group->lock);
    return !disagree;
}

static bool group_start(struct kafka_group *group, char *error, size_t error_size)
{
    struct kafka_receiver *self = group->self;
    snprintf(error, error_size, "out of memory");
    if (!list_topics(group))
        return false;
    group->client = group_asking_client(group, error, error_size);
    if (!group->client)
        return false;
    if (*self->dead_letter.topic && !(group->letters = letters_open(self, error, error_size)))
        return false;
    snprintf(error, error_size, "the system cannot create a thread");
    if (!start_workers(group))
        return false;
    group->started = thread_start(&group->thread, "kafka", group_run, group);
    return group->started && await_topics(group, error, error_size);
}

struct kafka_group *group_open(struct kafka_receiver *self, char *error, size_t error_size)
{
    struct kafka_group *group = calloc(1, sizeof *group);
    if (!group) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    group->self = self;
    kafka_peer_init(&group->peer, self->env->id, group);
    pthread_mutex_init(&group->lock, NULL);
    thread_cond_init(&group->changed);
    snprintf(group->trouble, sizeof group->trouble, "no broker has answered yet");
    if (group_start(group, error, error_size))
        return group;
    group_close(group);
    return NULL;
}

void group_close(struct kafka_group *group)
{
    if (!group)
        return;
    pthread_mutex_lock(&group->lock);
    atomic_store(&group->stopping, true);
    pthread_cond_broadcast(&group->changed);
    pthread_mutex_unlock(&group->lock);
    if (group->started)
        pthread_join(group->thread, NULL);
    letters_close(group->letters);
    for (size_t i = 0; i < group->worker_count; i++)
        worker_stop(group->workers[i]);
    if (group->client)
        rdkafka.destroy(group->client);
    kafka_peer_release(&group->peer);
    pthread_mutex_destroy(&group->lock);
    pthread_cond_destroy(&group->changed);
    free(group->workers);
    free(group->readers);
    free(group->topics);
    free(group->counts);
    free(group);
}
