#include "receivers/kafka/group.h"

#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "receivers/kafka/expired.h"
#include "receivers/kafka/outages.h"
#include "receivers/kafka/places.h"
#include "receivers/kafka/restart.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    CHECK_MS = 200,
    CHECKS_APART_MS = 1000,
    PLACE_MS = 20,
    OPEN_WAIT_S = 5,
    REJOIN_S = 1, /* doubles each time, up to REJOIN_MOST_S */
    REJOIN_MOST_S = 60
};

#define ASK_NS NS_PER_S
/* How long before the start a broker may have failed so that the start is due to it. */
#define OUTAGE_BEFORE_NS (3 * NS_PER_S)

void group_set_phase(struct kafka_group *group, enum group_phase phase, const char *trouble)
{
    pthread_mutex_lock(&group->lock);
    group->phase = phase;
    snprintf(group->trouble, sizeof group->trouble, "%s", trouble);
    pthread_cond_broadcast(&group->changed);
    pthread_mutex_unlock(&group->lock);
}

/* ---- the thread ---- */

void group_pause(struct kafka_group *group, int ms)
{
    uint64_t until = clock_mono(&clock_system) + (uint64_t)ms * NS_PER_MS;
    pthread_mutex_lock(&group->lock);
    while (!atomic_load(&group->stopping) && clock_mono(&clock_system) < until)
        thread_cond_wait_until(&group->changed, &group->lock, until);
    pthread_mutex_unlock(&group->lock);
}

/* Replaces the client that asks for the topics, to use new TLS files. */
static void renew_asking_client(struct kafka_group *group)
{
    char error[512];
    rd_kafka_t *client = group_asking_client(group, error, sizeof error);
    if (!client) {
        env_error(group->self->env, "%s", error);
        return;
    }
    rdkafka.destroy(group->client);
    group->client = client;
}

/* Asks for the topics until all exist and have equal partition counts. */
static void ask_topics(struct kafka_group *group)
{
    while (!atomic_load(&group->stopping) &&
           !group_check_partitions(group, group->client, CHECK_MS)) {
        if (kafka_peer_is_outdated(&group->peer))
            renew_asking_client(group);
        if (!group->silent) /* also if it answered that this user may not read */
            group_note_answer(group);
        group_pause(group, group->phase == GROUP_ASKING ? 0 : CHECKS_APART_MS);
    }
    rdkafka.destroy(group->client);
    group->client = NULL;
}

void group_may_join(struct kafka_group *group)
{
    pthread_mutex_lock(&group->lock);
    atomic_store(&group->may_join, true);
    pthread_cond_broadcast(&group->changed);
    pthread_mutex_unlock(&group->lock);
}

static void await_start(struct kafka_group *group)
{
    if (!atomic_load(&group->stopping))
        group_set_phase(group, GROUP_JOINING, "no partitions are assigned yet");
    pthread_mutex_lock(&group->lock);
    while (!atomic_load(&group->stopping) && !atomic_load(&group->may_join))
        pthread_cond_wait(&group->changed, &group->lock);
    pthread_mutex_unlock(&group->lock);
}

/* False: it was closed before. */
static bool await_place(struct kafka_group *group, struct kafka_place *place)
{
    char why[sizeof group->trouble];
    while (!atomic_load(&group->stopping)) {
        if (kafka_place_take(place, group->self))
            return true;
        snprintf(why, sizeof why, "another receiver of this process still has group_instance_id %s",
                 group->self->group_instance_id);
        group_set_phase(group, GROUP_JOINING, why);
        group_pause(group, PLACE_MS);
    }
    return false;
}

static bool join_group(struct kafka_group *group)
{
    char error[512];
    group->client = group_consumer(group, error, sizeof error);
    if (!group->client) {
        env_error(group->self->env, "%s", error);
        group_set_phase(group, GROUP_FAILED, error);
        return false;
    }
    stale_begin(group);
    rd_kafka_resp_err_t code = group_subscribe(group);
    if (code)
        env_error(group->self->env, "the topics cannot be subscribed: %s", rdkafka.err2str(code));
    group_set_phase(group, code ? GROUP_FAILED : GROUP_JOINING, "no partitions are assigned yet");
    return true;
}

static void group_serve(struct kafka_group *group)
{
    uint64_t now = clock_mono(&clock_system);
    if (group->letters)
        dead_letters_poll(group->letters, 0);
    if (now >= group->ask_at) {
        group->ask_at = now + ASK_NS;
        group_look_at_replicas(group); /* before the ends are set */
        group_ask_ends(group);
        group_count_unreadable(group, now);
        group_look_for_expired(group, now);
        group_look_at_counts(group);
        group_rewind(group);
        group_restart_feeds(group);
    }
    stale_join_anew(group);
    if (now >= group->commit_at) {
        group->commit_at = now + group->self->autocommit.interval;
        group_commit(group, false, false);
    }
}

/* Why the group cannot be joined; false: for another reason. */
static bool refusal_of(const struct kafka_receiver *self, rd_kafka_resp_err_t code, char *text,
                       size_t size)
{
    if (code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
        snprintf(text, size, KAFKA_MAY_NOT_READ, "group", self->group_id);
    else if (code == RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL)
        snprintf(text, size,
                 "the group %s has members whose group_rebalance_strategies lack range, such as "
                 "Collectors: set another group_id, or stop them",
                 self->group_id);
    else
        return false;
    return true;
}

/* Logged once, and shown by health checks until partitions are assigned. */
static void group_is_refused(struct kafka_group *group, const char *text)
{
    if (strcmp(text, group->trouble) == 0)
        return;
    env_warn(group->self->env, "%s", text);
    group_set_phase(group, GROUP_JOINING, text);
}

/* Records come through the partitions' own queues; only errors arrive here. */
static void group_poll(struct kafka_group *group)
{
    rd_kafka_message_t *message = rdkafka.consumer_poll(group->client, POLL_MS);
    if (!message)
        return;
    char text[sizeof group->trouble];
    if (!group->reader_count && refusal_of(group->self, message->err, text, sizeof text)) {
        group->refused = true;
        if (message->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
            group_note_lacking(group);
        group_is_refused(group, text);
    } else if (message->err && message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)
        env_warn(group->self->env, "%s", rdkafka.message_errstr(message));
    rdkafka.message_destroy(message);
}

void group_set_lease(struct kafka_group *group, uint64_t mono_ns)
{
    group->lease = mono_ns;
    for (size_t i = 0; i < group->reader_count; i++)
        atomic_store(&group->readers[i]->lease, mono_ns);
}

void group_renew_lease(struct kafka_group *group, uint64_t longer_ns)
{
    group->ran_at = clock_mono(&clock_system);
    group_set_lease(group, group->ran_at + group->self->session_timeout + longer_ns);
}

bool group_lease_is_over(const struct kafka_group *group)
{
    return clock_mono(&clock_system) > group->lease;
}

/* False: this process stood still for longer than its session. */
static bool group_turn(struct kafka_group *group)
{
    group_note_running(group, 0);
    group_poll(group);
    group_note_running(group, POLL_MS);
    if (group_lease_is_over(group))
        return false;
    group_serve(group);
    return !group_lease_is_over(group);
}

/* After a fatal error, a client of librdkafka is unusable. */
static bool has_failed(struct kafka_group *group, char *text, size_t size)
{
    const struct kafka_receiver *self = group->self;
    char reason[160];
    rd_kafka_resp_err_t code = rdkafka.fatal_error(group->client, reason, sizeof reason);
    /* A join whose answer was lost is repeated, and the broker takes that for another member. */
    bool repeated = atomic_load(&group->peer.errors) != group->errors_before;
    if (code == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID && repeated)
        snprintf(text, size,
                 "the broker has ended this member for a later join with group_instance_id %s: its "
                 "own, repeated since a broker failed, or another member's",
                 self->group_instance_id);
    else if (code == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID)
        snprintf(text, size,
                 "the broker gave this member's place to another with group_instance_id %s",
                 self->group_instance_id);
    else
        snprintf(text, size, "%s", reason);
    return code != RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Gives up the lanes, which other members may already read, and waits before the next attempt.
 * Only group_rebalance may call assign: a second call for the same revocation would let the client
 * rejoin, and librdkafka may drop a call without an answer while consumer_close ends the group. */
static void leave_group(struct kafka_group *group, const char *why, unsigned wait_s)
{
    env_error(group->self->env, "%s; joining the group again in %u s", why, wait_s);
    group_end_lanes(group, true);
    rdkafka.consumer_close(group->client); /* calls group_rebalance */
    rdkafka.destroy(group->client);
    group->client = NULL;
    group_set_phase(group, GROUP_JOINING, why);
    group_pause(group, (int)wait_s * 1000);
}

/* Leaves the group as at a stop: drains, commits and closes. The next client uses the new TLS
 * files. */
static void leave_to_renew(struct kafka_group *group)
{
    char error[512];
    env_info(group->self->env, "the TLS files have changed; joining the group again with them");
    rdkafka.consumer_close(group->client); /* calls group_rebalance */
    rdkafka.destroy(group->client);
    group->client = NULL;
    struct dead_letters *letters =
        group->letters ? dead_letters_open(group->self, error, sizeof error) : NULL;
    if (letters) {
        dead_letters_close(group->letters);
        group->letters = letters;
    } else if (group->letters) {
        env_error(group->self->env, "the dead-letter topic is written with the old TLS files: %s",
                  error);
    }
    group_set_phase(group, GROUP_JOINING, "no partitions are assigned yet");
}

/* Why the group is left. */
enum leave { LEAVE_STOPPED, LEAVE_OUTDATED, LEAVE_STOOD_STILL, LEAVE_FAILED };

/* Serves the group until it must be left. After the last two, why is a sentence. */
static enum leave group_stay(struct kafka_group *group, char *why, size_t size)
{
    group_renew_lease(group, 0);
    while (!atomic_load(&group->stopping)) {
        if (has_failed(group, why, size))
            return LEAVE_FAILED;
        if (kafka_peer_is_outdated(&group->peer))
            return LEAVE_OUTDATED;
        if (group_turn(group))
            continue;
        snprintf(why, size, "this process stood still for longer than session_timeout");
        return LEAVE_STOOD_STILL;
    }
    return LEAVE_STOPPED;
}

static void group_be_member(struct kafka_group *group)
{
    char why[256];
    unsigned wait_s = REJOIN_S;
    while (!atomic_load(&group->stopping) && join_group(group)) {
        uint64_t joined = clock_mono(&clock_system);
        enum leave leave = group_stay(group, why, sizeof why);
        if (leave == LEAVE_STOPPED) {
            rdkafka.consumer_close(group->client); /* calls group_rebalance */
            break;
        }
        if (leave == LEAVE_OUTDATED) {
            leave_to_renew(group);
            continue;
        }
        if (leave == LEAVE_STOOD_STILL) {
            leave_group(group, why, REJOIN_S);
            continue;
        }
        if (clock_mono(&clock_system) - joined > 2 * REJOIN_MOST_S * NS_PER_S)
            wait_s = REJOIN_S;
        /* members with the same group_instance_id keep taking the place from each other */
        leave_group(group, why, wait_s);
        wait_s = wait_s * 2 < REJOIN_MOST_S ? wait_s * 2 : REJOIN_MOST_S;
    }
}

static void *group_run(void *ctx)
{
    struct kafka_group *group = ctx;
    struct kafka_place place;
    ask_topics(group);
    await_start(group);
    if (await_place(group, &place)) {
        group_be_member(group);
        kafka_place_give(&place);
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
                (struct group_topic){.name = topics->items[i], .signal = (enum signal)s};
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
    if (*self->dead_letter.topic && !(group->letters = dead_letters_open(self, error, error_size)))
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
    group->answered = clock_mono(&clock_system);
    group->heard = clock_wall(self->env->clock);
    group->answered_wall = group->heard - OUTAGE_BEFORE_NS;
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
    dead_letters_close(group->letters);
    for (size_t i = 0; i < group->worker_count; i++)
        worker_stop(group->workers[i]);
    if (group->client)
        rdkafka.destroy(group->client);
    kafka_peer_release(&group->peer);
    pthread_mutex_destroy(&group->lock);
    pthread_cond_destroy(&group->changed);
    free(group->workers);
    free(group->readers);
    for (size_t i = 0; i < group->topic_count; i++)
        free(group->topics[i].expired);
    free(group->topics);
    free(group->counts);
    free(group);
}
