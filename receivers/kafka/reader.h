/*
 * Reads one lane. A reader has a feed for each topic: the partition of the lane's number, with its
 * fetched records and the offsets of those in flight. A reader lives for one assignment; the next
 * assignment makes a new one. Records in flight hold references to it.
 */
#ifndef RECEIVERS_KAFKA_READER_H
#define RECEIVERS_KAFKA_READER_H

#include "pipeline/lane.h"
#include "receivers/kafka/commit_metadata.h"
#include "receivers/kafka/dead_letters.h"
#include "receivers/kafka/kafka.h"
#include "receivers/kafka/record_parts.h"

#include <pthread.h>

enum { FEED_HEADS = 32 };

struct in_flight;

/* Offsets that a partition had no records for when it was read. */
struct feed_gap {
    int64_t from, to; /* without `to` */
};

struct feed {
    struct reader *reader;
    char *topic;
    enum signal signal;
    bool native;
    bool joint; /* traces and profiles: read in the order of their times */

    /* the worker's, under reader->step */
    rd_kafka_queue_t *queue;
    rd_kafka_message_t *heads[FEED_HEADS]; /* popped; `head` is the next one */
    uint64_t times[FEED_HEADS];            /* their times, unix ns */
    uint64_t least[FEED_HEADS]; /* profiles: the lowest of these and of those popped behind it */
    size_t head, head_count;
    struct in_flight *waiting; /* the head, as a batch that was answered RETRY; NULL: none */
    struct record_parts parts; /* of records that came in parts */
    _Atomic uint64_t reached;  /* unix ns up to which the partition was read */
    uint64_t dated;       /* time of the head for the lane; never before what the lane has passed */
    uint64_t next;        /* time by which the head is chosen: that of the earliest one behind it */
    int64_t popped;       /* offset after the last record that was popped */
    int64_t behind;       /* offset after the last record that was read */
    int64_t deliver_from; /* records before it were delivered, so they are read only for span ids */
    struct commit_metadata commit_metadata; /* which of the later records were delivered */
    uint64_t paused_until, pause_ns;        /* mono; 0: not paused */

    /* written by the group thread */
    _Atomic int64_t end;         /* what can be read ends here; -1: not known yet */
    _Atomic uint64_t end_asked;  /* when that was, unix ns */
    _Atomic int64_t log_end;     /* with what open transactions hold back; -1: not known yet */
    _Atomic uint64_t held_since; /* they hold records back, since then, mono; 0: they do not */
    bool said_held;
    _Atomic int64_t at;   /* `behind` for others */
    int64_t acknowledged; /* the last commit that the brokers acknowledged; -1: none */

    /* The topic was made again, or its log cut: the offset to read from next; -1: neither. Until
     * the group's thread has moved the feed there (restart.c), nothing more is fetched. */
    _Atomic int64_t restart_at;
    /* Mono: since when that is only suspected, as records below `popped` came; 0: it is certain.
     * asked_before: the end_asked of then. */
    _Atomic uint64_t suspected;
    uint64_t asked_before;

    /* records read for the first time, and those that could not be; unreadable.c resets them */
    _Atomic uint64_t read, unreadable;

    /* under reader->lock */
    struct offsets offsets;
    char unreadable_why[192];   /* why the first of these could not be read */
    int64_t committed;          /* last; -1: nothing yet */
    uint64_t committed_settled; /* offsets.settled at that commit */
    int64_t committed_ms;       /* the log's time at that commit */
    struct feed_gap gap;        /* the largest one that is not explained yet (expired.c) */
};

struct reader {
    _Atomic unsigned refs;
    int32_t number;
    struct kafka_receiver *self;
    struct lane *lane;
    struct dead_letters *letters; /* NULL: none */
    bool on_error, on_permanent_error;

    pthread_mutex_t step;   /* held while a worker reads, and by reader_stop */
    _Atomic bool leaving;   /* asks the worker to stop reading */
    _Atomic uint64_t lease; /* mono; records in flight must not be sent after it, because another
                               member may have the partition */
    _Atomic bool rewind;    /* an exporter gave a record up: read again from the committed offset */
    _Atomic uint64_t paused; /* number of paused feeds */
    bool ever;               /* reads every profile of the topic, and has read no record yet */

    pthread_mutex_t lock; /* guards the feeds' offsets and under_way */
    pthread_cond_t idle;
    size_t under_way; /* records and dead letters in flight */

    size_t feed_count;
    struct feed feeds[];
};

/* The feed starts at the first record that its partition ever had. */
#define SINCE_EVER 1

/* Where reading of a feed starts. */
struct feed_start {
    const char *topic;
    enum signal signal;
    int64_t from;         /* the first offset read */
    int64_t end;          /* of the partition */
    uint64_t end_asked;   /* when, unix ns */
    int64_t deliver_from; /* the committed one */
    bool committed;       /* it is in fact committed, not where reading starts without a commit */
    int64_t expired;      /* records that the broker deleted before that was read */
    uint64_t since;       /* of profiles: start_since */
    struct commit_metadata commit_metadata; /* moved into the feed */
    rd_kafka_queue_t *queue;                /* taken over; NULL in tests */
};

/* Returns a reader with one reference. NULL: no memory. Takes over the starts' queues and commit
 * metadata in any case. */
struct reader *reader_new(struct kafka_receiver *self, struct dead_letters *letters, int32_t number,
                          struct feed_start *starts, size_t count);
struct reader *reader_ref(struct reader *reader);
void reader_unref(struct reader *reader);

/* Reads some records and pushes them into the pipelines. Returns the mono time of the next step; 0:
 * at once; TIME_NEVER: when a queue or the end of a partition changes. Calls for one reader exclude
 * each other. */
uint64_t reader_step(struct reader *reader, uint64_t mono_ns);

/* Frees the fetched records and ends the lane. Returns when no worker reads it. */
void reader_stop(struct reader *reader, enum cause cause);

/* Waits until no record is in flight. False: some still were at mono_ns (of clock_system). */
bool reader_drain(struct reader *reader, uint64_t mono_ns);

/* Settles a record. The caller holds no lock. */
void feed_settle(struct feed *feed, uint64_t number);
/* Counts a record or dead letter as in flight, and as no longer in flight. */
void reader_begin(struct reader *reader);
void reader_end(struct reader *reader);

/* Frees the records that were popped, from heads[from] on. Under reader->step. */
void feed_drop_heads(struct feed *feed, size_t from);

enum { UNREADABLE_TOLD = 10 }; /* how many unreadable records are logged one by one */

#endif
