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

/* Notes that this user lacks a right to read. From then on until partitions are assigned counts as
 * a silence: whoever gives it may give producers theirs only then. */
void group_note_lacking(struct kafka_group *group);

/* Partitions are assigned: the silence is over. */
void group_note_assigned(struct kafka_group *group);

/* Notes whether any broker answered when all were asked. */
void group_note_heard(struct kafka_group *group, bool heard);

/* Asks any broker who leads the partitions. Notes whether one answers, and a topic that does not
 * exist any more. Blocks for up to a second. */
void group_ask_brokers(struct kafka_group *group);

/* Appends why records of some topic cannot be read. False: all can. Any thread, under the lock. */
bool group_put_trouble(struct kafka_group *group, struct bytes *out);

/* Returns how long ago the brokers last answered, ns. Any thread. */
uint64_t group_silence(const struct kafka_group *group);

/* Returns for how long brokers have refused records, ns; 0: they do not. */
uint64_t group_refuses_for(const struct kafka_group *group);

/* Logs a longer silence, once. */
void group_log_silence(struct kafka_group *group);

/* Notes that the group's thread runs, after calls that should have taken at most most_ms since it
 * last noted that, and extends the lease unless it is over. If the calls took seconds longer, this
 * process stood still: that time does not count as the brokers' silence. */
void group_note_running(struct kafka_group *group, unsigned most_ms);

/* Stops the lanes' clocks at a time (unix ns), or where they stand already, for so long from now.
 */
void group_stand_still(struct kafka_group *group, uint64_t from, uint64_t ns);

/* replicas.c: asks every few seconds whether brokers refuse records of the topics, as too few
 * replicas are in sync. Logs when that begins and when it is over; from then on, lanes stand still
 * as after an outage. Blocks for up to some seconds. */
void group_look_at_replicas(struct kafka_group *group);

/* replicas.c: appends that too few replicas are in sync, if they are. Brokers do not tell the ends
 * of partitions that just got another leader until enough are, and their answer names no cause.
 * Blocks for up to some seconds. */
void group_add_missing_replicas(struct kafka_group *group, char *text, size_t size);

/* While only some of the brokers do not answer, or some partitions take no records, producers keep
 * records for them, and for a moment for those that take over: so long no lane is counted as read
 * to its end. */
#define OUTAGE_OTHERS_NS (30 * NS_PER_S)
/* What is written up to then was on its way when brokers began to refuse records. */
#define REFUSAL_SETTLED_NS (5 * NS_PER_S)

/* Pure. Whether lanes stand still while brokers refuse records since then: without end if nothing
 * is written, as producers then keep all of it. written: when records were seen last. Mono. */
bool refusal_stops_lanes(uint64_t since, uint64_t written, uint64_t now);

/* Pure. Returns how long lanes stand still after an outage of the brokers. */
uint64_t outage_grace(uint64_t away_ns);

#endif
