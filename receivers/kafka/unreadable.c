/* Counts and reports records that could not be read, by topic (receivers/kafka/group.h). */
#include "lib/base/log.h"
#include "receivers/kafka/group.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SUMMARY_NS (60 * NS_PER_S)

/* From this many in a row on, the topic is reported as unreadable. */
enum { ROW_OF_TROUBLE = 10 };

static const char *encoding_name(const struct kafka_group *group, const struct group_topic *topic)
{
    static const char *const names[] = {[KAFKA_OTLP_PROTO] = "otlp_proto",
                                        [KAFKA_OTLP_JSON] = "otlp_json",
                                        [KAFKA_NATIVE] = "native"};
    return names[group->self->signals[topic->signal].encoding];
}

/* Moves a feed's counts to its topic. */
static void collect(struct group_topic *topic, struct feed *feed)
{
    uint64_t read = atomic_exchange_explicit(&feed->read, 0, memory_order_relaxed);
    uint64_t unreadable = atomic_exchange_explicit(&feed->unreadable, 0, memory_order_relaxed);
    topic->records += read + unreadable;
    topic->unreadable += unreadable;
    topic->in_a_row = read ? 0 : topic->in_a_row + unreadable;
    if (!unreadable || topic->said.unreadable != topic->unreadable - unreadable)
        return;
    pthread_mutex_lock(&feed->reader->lock);
    snprintf(topic->why, sizeof topic->why, "%s", feed->unreadable_why);
    pthread_mutex_unlock(&feed->reader->lock);
}

/* Appends "84 of 84 records of topic ... could not be read as otlp_json; ..." */
static void describe(const struct kafka_group *group, const struct group_topic *topic,
                     struct unreadable_count since, struct bytes *out)
{
    bytes_printf(out,
                 "%" PRIu64 " of %" PRIu64
                 " records of topic %s could not be read as %s; the first "
                 "says: %s; is %s.encoding right?",
                 topic->unreadable - since.unreadable, topic->records - since.records, topic->name,
                 encoding_name(group, topic), topic->why, signal_name(topic->signal));
}

static void summarize(struct kafka_group *group, struct group_topic *topic, uint64_t mono)
{
    struct bytes text;
    bytes_init(&text, 1024, NULL);
    describe(group, topic, topic->said, &text);
    env_log(group->self->env, topic->in_a_row >= ROW_OF_TROUBLE ? LOG_ERROR : LOG_WARN, "%.*s",
            VIEW_ARG(bytes_view(&text)));
    bytes_release(&text);
    topic->said = (struct unreadable_count){topic->records, topic->unreadable};
    topic->say_at = mono + SUMMARY_NS;
}

void group_count_unreadable(struct kafka_group *group, uint64_t mono)
{
    pthread_mutex_lock(&group->lock);
    for (size_t t = 0; t < group->topic_count; t++) {
        struct group_topic *topic = &group->topics[t];
        for (size_t i = 0; i < group->reader_count; i++)
            for (size_t f = 0; f < group->readers[i]->feed_count; f++)
                if (strcmp(group->readers[i]->feeds[f].topic, topic->name) == 0)
                    collect(topic, &group->readers[i]->feeds[f]);
        if (topic->unreadable != topic->said.unreadable && mono >= topic->say_at)
            summarize(group, topic, mono);
    }
    pthread_mutex_unlock(&group->lock);
}

bool group_has_unreadable(const struct kafka_group *group, struct bytes *out)
{
    for (size_t t = 0; t < group->topic_count; t++)
        if (group->topics[t].in_a_row >= ROW_OF_TROUBLE) {
            bytes_printf(out,
                         "the last %" PRIu64 " records of topic %s could not be read as %s: %s",
                         group->topics[t].in_a_row, group->topics[t].name,
                         encoding_name(group, &group->topics[t]), group->topics[t].why);
            return true;
        }
    return false;
}

void group_explain_unreadable(const struct kafka_group *group, struct bytes *out)
{
    for (size_t t = 0; t < group->topic_count; t++) {
        if (!group->topics[t].unreadable)
            continue;
        bytes_printf(out, "%s: ", group->self->env->id);
        describe(group, &group->topics[t], (struct unreadable_count){0}, out);
        bytes_printf(out, "\n");
    }
}
