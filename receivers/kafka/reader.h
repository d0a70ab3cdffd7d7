/*
 * A lane as the receiver reads it: its feeds, one partition of each topic, with the records that
 * are next and the ledgers of those under way. Its life is one assignment: the next one makes a new
 * reader. Records that are still under way hold references to it.
 */
#ifndef RECEIVERS_KAFKA_READER_H
#define RECEIVERS_KAFKA_READER_H

#include "pipeline/lane.h"
#include "receivers/kafka/kafka.h"
#include "receivers/kafka/letters.h"
#include "receivers/kafka/marks.h"
#include "receivers/kafka/parts.h"

#include <pthread.h>

enum { FEED_HEADS = 32 };

struct handed;

struct feed {
    struct reader *reader;
    char *topic;
    enum signal signal;
    bool native;
    bool joint; /* traces and profiles: read in the order of their times */

    /* the worker's, under reader->step */
    rd_kafka_queue_t *queue;
    rd_kafka_message_t *heads[FEED_HEADS]; /* popped, the next one at `head` */
    size_t head, head_count;
    struct handed *waiting;          /* the head, as a batch that was answered RETRY; NULL: none */
    struct parts parts;              /* of records that came in parts */
    _Atomic uint64_t reached;        /* unix ns up to which the partition was read */
    int64_t behind;                  /* offset after the last record that was read */
    int64_t deliver_from;            /* records before it were delivered: read for their ids */
    struct marks marks;              /* likewise, of those from there on */
    uint64_t paused_until, pause_ns; /* mono; 0: not paused */

    /* written by the group thread */
    _Atomic int64_t end;        /* the partition's end; -1: not known yet */
    _Atomic uint64_t end_asked; /* when it was asked for, unix ns */
    _Atomic int64_t at;         /* `behind` for others */

    /* under reader->lock */
    struct ledger ledger;
    int64_t committed;          /* last; -1: nothing yet */
    uint64_t committed_settled; /* ledger.settled then */
    int64_t committed_ms;       /* the log's time then */
};

struct reader {
    _Atomic unsigned refs;
    int32_t number;
    struct kafka_receiver *self;
    struct lane *lane;
    struct letters *letters; /* NULL: none */
    bool on_error, on_permanent_error;

    pthread_mutex_t step;    /* held while a worker reads, and to take the reader away */
    _Atomic bool leaving;    /* asks a worker to let go */
    _Atomic bool rewind;     /* something was given up: read again from the committed offsets */
    _Atomic uint64_t paused; /* feeds that are */
    bool ever;               /* every profile is read, and nothing was handed over yet */

    pthread_mutex_t lock; /* guards ledgers and under_way */
    pthread_cond_t idle;
    size_t under_way; /* records handed over and not settled, and dead letters under way */

    size_t feed_count;
    struct feed feeds[];
};

/* A feed is read from the first record that its partition ever had. */
#define SINCE_EVER 1

/* Where a feed starts. */
struct feed_start {
    const char *topic;
    enum signal signal;
    int64_t from;            /* the first offset read */
    int64_t end;             /* of the partition */
    uint64_t end_asked;      /* when, unix ns */
    int64_t deliver_from;    /* the committed one */
    uint64_t since;          /* of profiles: start_since */
    struct marks marks;      /* moved into the feed */
    rd_kafka_queue_t *queue; /* taken over; NULL in tests */
};

/* One reference. NULL: no memory; the starts' queues and marks are released in any case. */
struct reader *reader_new(struct kafka_receiver *self, struct letters *letters, int32_t number,
                          struct feed_start *starts, size_t count);
struct reader *reader_ref(struct reader *reader);
void reader_unref(struct reader *reader);

/* Reads some records and hands them over. Returns the mono time of the next step: 0: at once,
 * TIME_NEVER: when a queue or an end changes. Calls of one reader exclude each other. */
uint64_t reader_step(struct reader *reader, uint64_t mono_ns);

/* Lets the worker go, releases what was popped, and ends the lane; returns when nobody reads it. */
void reader_stop(struct reader *reader, enum cause cause);

/* Waits until nothing is under way, or until mono_ns on clock_system. False: something still
 * is. */
bool reader_drain(struct reader *reader, uint64_t mono_ns);

/* Settles a record, called under no lock; by letters.c. */
void feed_settle(struct feed *feed, uint64_t number);
/* Counts something as under way, or no longer. */
void reader_begin(struct reader *reader);
void reader_end(struct reader *reader);

/* ---- pure, for reader.c and its tests ---- */

/* What is known of a joint feed before the next record is chosen. */
struct feed_head {
    bool known;    /* it has a next record */
    uint64_t time; /* of that record, or else the time that the feed has reached; unix ns */
};

/* How long a record's parts may take to arrive, in the log's time. */
#define PARTS_WAIT_NS (600 * NS_PER_S)

/* How far a feed may be read ahead of another whose next record is not known yet. */
#define FEED_AHEAD_NS (5 * NS_PER_S)

/* Returns the index of the feed to read next, or count: wait. The earliest record first; but none
 * that is later than FEED_AHEAD_NS past what a feed without a next record has reached. */
size_t heads_choose(const struct feed_head *heads, size_t count);

#endif
