#include "exporters/kafka/absent_topics.h"

#include "lib/base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { SAID_MOST = 10 };

void absent_topics_init(struct absent_topics *absent)
{
    pthread_mutex_init(&absent->lock, NULL);
}

void absent_topics_release(struct absent_topics *absent)
{
    for (size_t i = 0; i < ABSENT_MOST; i++)
        free(absent->all[i].name);
    pthread_mutex_destroy(&absent->lock);
}

bool absent_is_why(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
           code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
           code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

/* Under the lock. NULL: it was not noted. */
static struct absent_topic *find(struct absent_topics *absent, const char *topic)
{
    for (size_t i = 0; i < ABSENT_MOST && i < absent->next; i++)
        if (absent->all[i].name && strcmp(absent->all[i].name, topic) == 0)
            return &absent->all[i];
    return NULL;
}

bool absent_topics_has(struct absent_topics *absent, const char *topic)
{
    if (atomic_load_explicit(&absent->noted, memory_order_acquire) == 0)
        return false;
    pthread_mutex_lock(&absent->lock);
    const struct absent_topic *found = find(absent, topic);
    bool has = found && clock_mono(&clock_system) < found->until;
    pthread_mutex_unlock(&absent->lock);
    return has;
}

/* Under the lock. */
static bool may_say(struct absent_topics *absent, uint64_t now)
{
    if (now >= absent->said_since + ABSENT_NS) {
        absent->said_since = now;
        absent->said = 0;
    }
    return absent->said < SAID_MOST && ++absent->said;
}

bool absent_topics_note(struct absent_topics *absent, const char *topic)
{
    uint64_t now = clock_mono(&clock_system);
    pthread_mutex_lock(&absent->lock);
    struct absent_topic *found = find(absent, topic);
    bool is_new = !found || now >= found->until;
    if (!found) {
        found = &absent->all[absent->next++ % ABSENT_MOST];
        free(found->name);
        found->name = strdup(topic);
    }
    if (found->name)
        found->until = now + ABSENT_NS;
    bool say = is_new && may_say(absent, now);
    pthread_mutex_unlock(&absent->lock);
    atomic_fetch_add(&absent->noted, 1);
    return say;
}
