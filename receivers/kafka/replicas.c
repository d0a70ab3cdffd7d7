/* Times in which brokers answer but refuse records, as too few replicas of a topic are in sync
 * (receivers/kafka/outages.h). */
#include "lib/base/log.h"
#include "lib/kafka/kafka_topic.h"
#include "receivers/kafka/outages.h"

#include <stdio.h>

/* min.insync.replicas if this user may not ask for it: what most topics with replicas have. */
enum { LEAST_UNKNOWN = 2 };
/* How long a look may take: one request, or where replicas are missing, some. */
enum { LOOK_MS = 500, LOOK_CLOSELY_MS = 5000 };

#define LOOK_NS (2 * NS_PER_S)
/* How far lanes stand still ahead of the next look, which may take a while. */
#define AHEAD_NS (LOOK_NS + LOOK_CLOSELY_MS * NS_PER_MS)

/* For kafka_receiver_concern; "": they do not. */
static void set_refusal(struct kafka_group *group, const char *why)
{
    pthread_mutex_lock(&group->lock);
    snprintf(group->self->refusal, sizeof group->self->refusal, "%s", why);
    pthread_mutex_unlock(&group->lock);
}

static void refusal_begins(struct kafka_group *group, const char *why)
{
    const struct kafka_receiver *self = group->self;
    set_refusal(group, why);
    uint64_t wall = clock_wall(self->env->clock);
    uint64_t taking = group->taking_wall ? group->taking_wall : wall;
    bool stopped = wall < atomic_load(&self->outage_until);
    env_warn(self->env, "%s; decisions wait for records that producers keep meanwhile", why);
    group->refusing = clock_mono(&clock_system);
    /* a broker that fails does not answer first */
    group->refusing_wall = taking < group->answered_wall ? taking : group->answered_wall;
    if (stopped) /* what producers kept then is not all there */
        group->refusing_wall = atomic_load(&self->outage_from);
}

static void refusal_ends(struct kafka_group *group)
{
    uint64_t away = clock_mono(&clock_system) - group->refusing, grace = outage_grace(away);
    group->refusing = 0;
    set_refusal(group, "");
    if (!grace) {
        env_info(group->self->env, "enough replicas are in sync again");
        return;
    }
    group_stand_still(group, group->refusing_wall, grace);
    env_info(group->self->env,
             "enough replicas are in sync again, after %.0f s; decisions wait %.0f s for records "
             "that producers kept meanwhile",
             (double)away / 1e9, (double)grace / 1e9);
}

bool refusal_stops_lanes(uint64_t since, uint64_t written, uint64_t now)
{
    return now < since + OUTAGE_OTHERS_NS || written < since + REFUSAL_SETTLED_NS;
}

void group_add_missing_replicas(struct kafka_group *group, char *text, size_t size)
{
    char why[KAFKA_TROUBLE_SIZE];
    if (kafka_topic_replicas(group->client, NULL, LEAST_UNKNOWN, why, sizeof why) ==
        KAFKA_REPLICAS_LACK)
        kafka_add_warning(text, size, "%s", why);
}

void group_look_at_replicas(struct kafka_group *group)
{
    char why[KAFKA_TROUBLE_SIZE];
    if ((!group->reader_count && !group->refusing) ||
        clock_mono(&clock_system) < group->replicas_at)
        return;
    group_note_running(group, 0);
    enum kafka_replicas found =
        kafka_topic_replicas(group->client, NULL, LEAST_UNKNOWN, why, sizeof why);
    group_note_running(group, found == KAFKA_REPLICAS_LACK ? LOOK_CLOSELY_MS : LOOK_MS);
    uint64_t mono = clock_mono(&clock_system), wall = clock_wall(group->self->env->clock);
    group->replicas_at = mono + LOOK_NS;
    if (found == KAFKA_REPLICAS_LACK && !group->refusing)
        refusal_begins(group, why);
    else if (found == KAFKA_REPLICAS_ENOUGH && group->refusing)
        refusal_ends(group);
    if (found == KAFKA_REPLICAS_ENOUGH)
        group->taking_wall = wall;
    if (group->refusing && refusal_stops_lanes(group->refusing, group->written, mono))
        group_stand_still(group, group->refusing_wall, AHEAD_NS);
}
