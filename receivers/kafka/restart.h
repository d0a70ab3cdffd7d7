/*
 * Topics that are deleted and made again while they are read.
 *
 * The new topic's offsets begin at 0. If it soon has more records than were read of the old one, a
 * fetch goes on as if nothing had happened, and what is before is never read. librdkafka has no ids
 * of topics; but the brokers forget what was committed for a topic when it is deleted. So before
 * each commit, which would hide that, they are asked for the last one. If the new topic is shorter,
 * librdkafka begins again by itself, which the feed notices. But it also does so (2.0.2) when a
 * broker that had been stopped answers as the leader that it no longer is: so this counts only if
 * the commit is forgotten, or the log has ended before what was read for 10 s.
 */
#ifndef RECEIVERS_KAFKA_RESTART_H
#define RECEIVERS_KAFKA_RESTART_H

#include "receivers/kafka/group.h"

/* Whether a partition has begun again below what was read, as librdkafka does where it ends before
 * the offset to read; the feed then has a restart_at. Under reader->step. */
bool feed_begins_again(struct feed *feed, const rd_kafka_message_t *message);

/* The group's thread calls the rest. Finds topics that were made again. In the list, which is about
 * to be committed, it puts the offsets from which such feeds are to be read. whole: asks about all
 * feeds, not only those in the list. Blocks for up to some seconds. */
void group_find_restarts(struct kafka_group *group, rd_kafka_topic_partition_list_t *list,
                         bool whole);

/* Where a feed is to be read from now: its restart_at; `popped`, if that is suspected and the log
 * still has what comes next; -1: nowhere else, or that is not known yet. Under reader->step. */
int64_t feed_moves_to(const struct feed *feed, uint64_t mono_ns);

/* Moves the feeds that have a restart_at there, and logs it. Blocks for up to some seconds. */
void group_restart_feeds(struct kafka_group *group);

/* Returns the feed of a partition; NULL: this member does not have it. */
struct feed *group_feed(const struct kafka_group *group, const rd_kafka_topic_partition_t *at);

#endif
