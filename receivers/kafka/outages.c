#include "receivers/kafka/outages.h"

#include "lib/base/log.h"

#include <string.h>

enum { ASK_MS = 1000 };

#define SILENCE_NS          (10 * NS_PER_S)
#define STANDSTILL_LEAST_NS (2 * NS_PER_S)

/* A shorter one does not matter, because spans wait longer for their profiles. */
#define OUTAGE_LEAST_NS   (3 * NS_PER_S)
#define GRACE_MOST_NS     (60 * NS_PER_S)
#define RECONNECT_MOST_NS (5 * NS_PER_S) /* the exporter's reconnect.backoff.max.ms */

/* A producer that backs off waits at most about as long as the outage lasted. */
uint64_t outage_grace(uint64_t away_ns)
{
    if (away_ns < OUTAGE_LEAST_NS)
        return 0;
    return RECONNECT_MOST_NS + (away_ns < GRACE_MOST_NS ? away_ns : GRACE_MOST_NS);
}

uint64_t group_silence(const struct kafka_group *group)
{
    return clock_mono(&clock_system) - atomic_load(&group->answered);
}

uint64_t group_refuses_for(const struct kafka_group *group)
{
    return group->refusing ? clock_mono(&clock_system) - group->refusing : 0;
}

void group_note_running(struct kafka_group *group, unsigned most_ms)
{
    uint64_t now = clock_mono(&clock_system), gap = now - group->ran_at;
    group->ran_at = now;
    if (!group_lease_is_over(group))
        group_renew_lease(group, 0);
    if (gap < most_ms * NS_PER_MS + STANDSTILL_LEAST_NS)
        return;
    uint64_t silence = now - atomic_load(&group->answered);
    uint64_t excused = gap < silence ? gap : silence;
    atomic_fetch_add(&group->answered, excused);
    group->answered_wall += excused;
}

void group_note_lacking(struct kafka_group *group)
{
    if (group->lacking)
        return;
    group->lacking = clock_mono(&clock_system);
    group->lacking_wall = clock_wall(group->self->env->clock);
}

void group_note_assigned(struct kafka_group *group)
{
    if (group->lacking && group->lacking < atomic_load(&group->answered)) {
        atomic_store(&group->answered, group->lacking);
        group->answered_wall = group->lacking_wall;
    }
    group->lacking = 0;
    group_note_answer(group);
}

void group_note_heard(struct kafka_group *group, bool heard)
{
    uint64_t wall = clock_wall(group->self->env->clock);
    group->heard = heard ? wall : group->heard;
    group->outage |= wall > group->heard + OUTAGE_LEAST_NS;
    pthread_mutex_lock(&group->lock);
    group->silent = heard ? 0 : group->heard;
    pthread_mutex_unlock(&group->lock);
}

/* Why nothing is assigned. Brokers that refuse this client do answer. While one of several is down,
 * others do. */
static void put_unassigned(struct kafka_group *group, struct bytes *out)
{
    char why[KAFKA_TROUBLE_SIZE], down[KAFKA_TROUBLE_SIZE], since[CLOCK_TEXT];
    enum cause cause = kafka_peer_why(&group->peer, why, sizeof why);
    bool is_down = kafka_peer_is_down(&group->peer, down, sizeof down);
    if (!group->silent && is_down && strcmp(down, group->trouble) != 0)
        bytes_printf(out, "%s; %s", group->trouble, down);
    else if (!group->silent)
        bytes_printf(out, "%s", group->trouble);
    else if (*why && cause != CAUSE_UNAVAILABLE)
        bytes_printf(out, "%s", why);
    else
        bytes_printf(out, "no broker has answered since %s%s%s", clock_text(group->silent, since),
                     *why ? ": " : "", why);
}

bool group_put_trouble(struct kafka_group *group, struct bytes *out)
{
    bool assigned = group->phase == GROUP_ASSIGNED;
    if (group->absent && (assigned || group->phase == GROUP_DISAGREES))
        bytes_printf(out, "the topic %s does not exist any more", group->absent);
    else if (!assigned)
        put_unassigned(group, out);
    else if (group->forbidden)
        bytes_printf(out, KAFKA_MAY_NOT_READ, "topic", group->forbidden);
    else
        return group_has_unreadable(group, out);
    return true;
}

void group_ask_brokers(struct kafka_group *group)
{
    const struct rd_kafka_metadata *metadata;
    const char *absent = NULL;
    bool heard = !rdkafka.metadata(group->client, 0, NULL, &metadata, ASK_MS);
    group_note_heard(group, heard);
    if (!heard)
        return;
    kafka_peer_answers(&group->peer, metadata->orig_broker_id);
    /* nothing else is asked, or a partition that lacks replicas has a leader without its end */
    bool nothing = !group->reader_count &&
                   (group->phase == GROUP_DISAGREES || group->refused || *group->stale.why);
    if (nothing || group->refusing) {
        atomic_store(&group->answered, clock_mono(&clock_system));
        group->answered_wall = clock_wall(group->self->env->clock);
    }
    for (int t = 0; t < metadata->topic_cnt; t++)
        for (size_t i = 0; i < group->topic_count; i++)
            if (metadata->topics[t].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART &&
                strcmp(metadata->topics[t].topic, group->topics[i].name) == 0)
                absent = group->topics[i].name;
    rdkafka.metadata_destroy(metadata);
    if (absent && !group->absent)
        env_warn(group->self->env, "the topic %s does not exist any more", absent);
    pthread_mutex_lock(&group->lock);
    group->absent = absent;
    pthread_mutex_unlock(&group->lock);
}

void group_log_silence(struct kafka_group *group)
{
    uint64_t silence = group_silence(group);
    if (group->silence_logged || group->absent || silence < SILENCE_NS)
        return;
    group->silence_logged = true;
    env_warn(group->self->env, "the brokers have not answered for %.0f s; asking again",
             (double)silence / 1e9);
}

void group_stand_still(struct kafka_group *group, uint64_t from, uint64_t ns)
{
    struct kafka_receiver *self = group->self;
    uint64_t wall = clock_wall(self->env->clock), until = atomic_load(&self->outage_until);
    if (wall >= until) /* else the clocks are stopped already */
        atomic_store(&self->outage_from, from);
    atomic_store(&self->outage_until, wall + ns > until ? wall + ns : until);
}

void group_note_answer(struct kafka_group *group)
{
    struct kafka_receiver *self = group->self;
    uint64_t wall = clock_wall(self->env->clock);
    uint64_t away = group_silence(group), grace = outage_grace(away), from = group->answered_wall;
    atomic_store(&group->answered, clock_mono(&clock_system));
    group->answered_wall = wall;
    group->silence_logged = false;
    pthread_mutex_lock(&group->lock);
    group->absent = NULL;
    pthread_mutex_unlock(&group->lock);
    group_note_heard(group, true);
    bool outage = group->outage;
    group->outage = false;
    if (!grace)
        return;
    group_stand_still(group, from, grace);
    bool joined = group->phase == GROUP_JOINING && !outage; /* they may have answered meanwhile */
    env_info(self->env,
             "%s %.0f s; decisions wait %.0f s for records that "
             "producers kept meanwhile",
             joined ? "joining the group took" : "no answer from the brokers for",
             (double)away / 1e9, (double)grace / 1e9);
}
