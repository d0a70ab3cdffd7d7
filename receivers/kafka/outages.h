/*
 * Times in which brokers do not answer, and what is said of them. The group's thread calls all of
 * this unless noted otherwise.
 */
#ifndef RECEIVERS_KAFKA_OUTAGES_H
#define RECEIVERS_KAFKA_OUTAGES_H

#include "receivers/kafka/group.h"

/* Notes that the brokers answered for all partitions that they were asked about. After a longer
 * silence, lanes stand still. A rebalance is silence too: a broker may be away meanwhile. */
void group_note_answer(struct kafka_group *group);

/* Notes whether any broker answered when all were asked. */
void group_note_heard(struct kafka_group *group, bool heard);

/* Asks any broker who leads the partitions. Notes whether one answers, and a topic that does not
 * exist any more. Blocks for up to a second. */
void group_ask_brokers(struct kafka_group *group);

/* Appends why nothing is assigned. Any thread, under the lock. */
void group_put_trouble(struct kafka_group *group, struct bytes *out);

/* Returns how long ago the brokers last answered, ns. Any thread. */
uint64_t group_silence(const struct kafka_group *group);

/* Logs a longer silence, once. */
void group_log_silence(struct kafka_group *group);

/* Notes that the group's thread runs, after calls that should have taken at most most_ms since it
 * last noted that, and extends the lease unless it is over. If the calls took seconds longer, this
 * process stood still: that time does not count as the brokers' silence. */
void group_note_running(struct kafka_group *group, unsigned most_ms);

/* Pure. Returns how long lanes stand still after an outage of the brokers. */
uint64_t outage_grace(uint64_t away_ns);

#endif
