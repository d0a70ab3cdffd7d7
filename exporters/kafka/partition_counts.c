#include "exporters/kafka/partition_counts.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"

#include <string.h>

enum { ASK_MS = 1000 };

static const enum signal paired[PAIRED_TOPICS] = {SIGNAL_TRACES, SIGNAL_PROFILES};

/* Whether both signals have records, in two topics, with the key of their process. */
static bool is_wanted(const struct partition_counts *counts, const struct kafka_exporter *self)
{
    for (int i = 0; i < PAIRED_TOPICS; i++)
        if (!(counts->written >> paired[i] & 1) ||
            kafka_key_of(self, paired[i]) != KAFKA_KEY_PROCESS)
            return false;
    return strcmp(kafka_topic(self, paired[0]), kafka_topic(self, paired[1])) != 0;
}

static void note_unequal(struct kafka_exporter *self, const struct topic_count *now)
{
    char text[sizeof self->unequal] = "";
    topics_agree(now, PAIRED_TOPICS, text, sizeof text);
    pthread_mutex_lock(&self->concern_lock);
    memcpy(self->unequal, text, sizeof text);
    pthread_mutex_unlock(&self->concern_lock);
}

void partition_counts_look(struct partition_counts *counts, struct kafka_exporter *self,
                           rd_kafka_t *client)
{
    struct topic_count now[PAIRED_TOPICS];
    char text[800];
    uint64_t mono = clock_mono(&clock_system), pause = self->kafka.metadata.refresh_interval;
    if (mono < counts->ask_at || !is_wanted(counts, self))
        return;
    for (int i = 0; i < PAIRED_TOPICS; i++) {
        counts->known[i].topic = kafka_topic(self, paired[i]);
        now[i] = counts->known[i];
    }
    bool answered = topics_ask(client, now, PAIRED_TOPICS, ASK_MS);
    counts->ask_at = mono + (pause > NS_PER_S ? pause : NS_PER_S);
    if (!answered)
        return;
    enum topics_news news = topics_compare(counts->known, now, PAIRED_TOPICS, text, sizeof text);
    memcpy(counts->known, now, sizeof now);
    note_unequal(self, now);
    if (news == TOPICS_DISAGREE)
        env_warn(self->env, "%s; raise the lower number", text);
    else if (news == TOPICS_CHANGED)
        env_info(self->env, "%s: keys move to other partitions", text);
}
