/* Topics that resources name (topic_from_attribute) and that a broker does not have, or does not
 * let this user write. Their data go to the configured topic, so that they do not stop the rest.
 * Any thread. */
#ifndef EXPORTERS_KAFKA_ABSENT_TOPICS_H
#define EXPORTERS_KAFKA_ABSENT_TOPICS_H

#include "lib/kafka/kafka_peer.h"

#include <pthread.h>

/* At least as many as the records of one window; the oldest is forgotten first. */
enum { ABSENT_MOST = 1024 };

/* After that, a topic is tried again. */
#define ABSENT_NS (60 * NS_PER_S)

struct absent_topic {
    char *name;
    uint64_t until; /* mono */
};

struct absent_topics {
    pthread_mutex_t lock;
    struct absent_topic all[ABSENT_MOST];
    size_t next;          /* the one to replace */
    unsigned said;        /* lines in the log */
    uint64_t said_since;  /* mono; in the minute from then on */
    _Atomic size_t noted; /* so far */
};

void absent_topics_init(struct absent_topics *absent);
void absent_topics_release(struct absent_topics *absent);

/* Whether records of a topic get this error because it cannot be written as things are. */
bool absent_is_why(rd_kafka_resp_err_t code);

bool absent_topics_has(struct absent_topics *absent, const char *topic);

/* Notes a topic for ABSENT_NS. True: the log should say so; some lines a minute are enough. */
bool absent_topics_note(struct absent_topics *absent, const char *topic);

#endif
