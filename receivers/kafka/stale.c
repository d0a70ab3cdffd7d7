#include "receivers/kafka/stale.h"

#include "lib/base/log.h"
#include "receivers/kafka/group.h"

#include <stdio.h>
#include <string.h>

enum {
    WAIT_S = 1, /* doubles each time, up to WAIT_MOST_S */
    WAIT_MOST_S = 30,
    /* Another member that reads only some of the topics looks the same, and stays. More than once,
     * because the broker may not get that this one left. */
    LACKING_MOST = 3
};

rd_kafka_resp_err_t group_subscribe(struct kafka_group *group)
{
    rd_kafka_topic_partition_list_t *list =
        rdkafka.topic_partition_list_new((int)group->topic_count);
    for (size_t i = 0; i < group->topic_count; i++)
        rdkafka.topic_partition_list_add(list, group->topics[i].name, RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t code = rdkafka.subscribe(group->client, list);
    rdkafka.topic_partition_list_destroy(list);
    return code;
}

void stale_begin(struct kafka_group *group)
{
    group->stale.again_at = 0;
    group->stale.lacking = *group->self->group_instance_id ? LACKING_MOST : 0;
}

/* A topic of the assignment that is not configured; NULL: none. */
static const char *strange_topic(const struct kafka_group *group,
                                 const rd_kafka_topic_partition_list_t *list)
{
    for (int i = 0; i < list->cnt; i++) {
        bool known = false;
        for (size_t t = 0; t < group->topic_count; t++)
            known |= strcmp(group->topics[t].name, list->elems[i].topic) == 0;
        if (!known)
            return list->elems[i].topic;
    }
    return NULL;
}

/* A topic of which the assignment has no partition, though it has some of others; NULL: none. */
static const char *lacking_topic(const struct kafka_group *group,
                                 const rd_kafka_topic_partition_list_t *list)
{
    for (size_t t = 0; list->cnt && t < group->topic_count; t++) {
        bool assigned = false;
        for (int i = 0; i < list->cnt; i++)
            assigned |= strcmp(group->topics[t].name, list->elems[i].topic) == 0;
        if (!assigned)
            return group->topics[t].name;
    }
    return NULL;
}

static void set_stale(struct kafka_group *group, const char *why)
{
    struct stale *stale = &group->stale;
    if (strcmp(why, stale->why) != 0)
        env_warn(group->self->env, "%s", why);
    stale->wait_s = !*stale->why                      ? WAIT_S
                    : stale->wait_s * 2 < WAIT_MOST_S ? stale->wait_s * 2
                                                      : WAIT_MOST_S;
    snprintf(stale->why, sizeof stale->why, "%s", why);
    stale->again_at = clock_mono(&clock_system) + stale->wait_s * NS_PER_S;
    group_set_phase(group, GROUP_JOINING, why);
}

bool stale_is(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list)
{
    struct stale *stale = &group->stale;
    char why[sizeof stale->why];
    const char *strange = strange_topic(group, list);
    const char *lacking = strange ? NULL : lacking_topic(group, list);
    if (strange) {
        snprintf(why, sizeof why,
                 "the group's assignment still has topic %s, which is not configured; asking the "
                 "group to assign again",
                 strange);
        set_stale(group, why);
        return true;
    }
    if (lacking && stale->lacking) {
        stale->lacking--;
        snprintf(why, sizeof why,
                 "the group's assignment lacks topic %s; asking the group to assign again",
                 lacking);
        set_stale(group, why);
        return true;
    }
    if (*stale->why && !lacking)
        env_info(group->self->env, "the group has assigned the configured topics");
    stale->lacking = 0;
    *stale->why = '\0';
    return false;
}

/* Only a member that is new makes the group rebalance in any case: the broker answers another join
 * of one that it knows with the same assignment, unless it leads the group. librdkafka 2.0.2 leaves
 * when the subscription ends. */
void stale_join_anew(struct kafka_group *group)
{
    struct stale *stale = &group->stale;
    if (!stale->again_at || clock_mono(&clock_system) < stale->again_at)
        return;
    stale->again_at = 0;
    rdkafka.unsubscribe(group->client);
    rd_kafka_resp_err_t code = group_subscribe(group);
    if (!code)
        return;
    env_error(group->self->env, "the topics cannot be subscribed: %s", rdkafka.err2str(code));
    stale->again_at = clock_mono(&clock_system) + WAIT_MOST_S * NS_PER_S;
}
