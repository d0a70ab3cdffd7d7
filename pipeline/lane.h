/*
 * A lane: one partition number of a receiver that reads from a log (Kafka), across the topics of
 * all its signals. Decisions about a batch with a lane use the lane's clock, which is the log's
 * time rather than the wall's: a backlog of hours, read at full speed, leads to the decisions that
 * were due when it was written. Batches of other receivers have no lane; they use the wall clock.
 *
 *     receiver, assigned    lane = lane_new("kafka", 3, SIGNAL_BIT(SIGNAL_TRACES) | ...);
 *                           lane_set_since(lane, where the profiles begin)
 *     for each record       lane_reached(lane, signal, recorded)
 *                           batch_set_lane(batch, lane, recorded); intake_accept(...)
 *     nothing to read       lane_at_end(lane, signal, now), again at every poll (each 100 ms)
 *     revoked, or a stop    push nothing more; lane_end(lane, cause); wait, bounded, for what is
 *                           under way to the backend; commit; lane_unref(lane)
 *
 * Order. Push a signal's batches in the order of the log. Of several signals, read first what was
 * recorded first, as far as that is known. Batches ahead of the clock wait in correlation until the
 * clock reaches them, and then run in the order of their times. When too much waits, intake_accept
 * answers RETRY: pause that signal's partition and read the other's, which moves the clock.
 *
 * Delivery. Give each batch a receipt (batch_new). An offset may be committed once its receipt and
 * those of all earlier offsets of the partition have settled without RETRY. The receipt of data
 * that a lane's end dropped settles with VERDICT_RETRY and the cause given to lane_end: it was
 * neither delivered nor refused, so do not commit its offset and do not count a loss: the next
 * owner of the partition reads it again.
 *
 * After assignment, read the partition's profiles again from a point earlier by the longest window
 * and hold than the committed spans, each with batch_set_ids_only up to the committed profiles.
 * Correlation learns span ids and windows from them; they are not delivered a second time.
 *
 * Threads. Batches of one lane are pushed by one thread at a time, those of different lanes by any
 * number at once: lanes share no lock and no state. lane_reached, lane_at_end and lane_end are
 * called by that thread too; everything else from any thread. Receipts may settle within
 * intake_accept and lane_end, on the caller's thread: hold no lock across these that the receipt's
 * function takes, and of the lane functions call only lane_ref, lane_unref and getters from it.
 */
#ifndef PIPELINE_LANE_H
#define PIPELINE_LANE_H

#include "lib/base/verdict.h"
#include "lib/wire/otlp/signal.h"

#include <stdbool.h>
#include <stdint.h>

struct lane;

/* Makes a lane with one reference, whose clock is 0. name: the receiver's id, copied. signals:
 * SIGNAL_BITs of what it reads; at least one. NULL: no memory. */
struct lane *lane_new(const char *name, uint32_t partition, unsigned signals);

struct lane *lane_ref(struct lane *lane);
void lane_unref(struct lane *lane); /* may be NULL; a lane with users has been ended before */

const char *lane_name(const struct lane *lane);
uint32_t lane_partition(const struct lane *lane);

/* Says that every profile recorded from unix_ns on is pushed: the time that the partition was
 * sought to. Before the first batch; else it is the time of that batch. Spans that started before
 * it may have samples in profiles that are not read, so they are never said to have none. */
void lane_set_since(struct lane *lane, uint64_t unix_ns);
uint64_t lane_since(const struct lane *lane); /* 0: not set */

/* The clock, unix ns: everything recorded before it has been pushed, of all signals. It is the
 * earliest of the times that the signals have reached, and never goes back. 0: not yet known, since
 * a signal has neither been read nor reached its end. */
uint64_t lane_clock(const struct lane *lane);

/* Says that everything of a signal that was recorded before unix_ns has been pushed; called before
 * the batch recorded then is. A time before an earlier one changes nothing: records of a partition
 * need not be in the order of their times. Costs a few loads and stores, and calls nobody. */
void lane_reached(struct lane *lane, enum signal signal, uint64_t unix_ns);

/* Says that the signal was read to its end at unix_ns (now): until more of it is pushed, its time
 * is the present. Users for which something is due are woken. */
void lane_at_end(struct lane *lane, enum signal signal, uint64_t unix_ns);

/* Ends the lane: what processors hold of it is dropped unsent, its receipts are released with
 * VERDICT_RETRY and this cause (CAUSE_REVOKED or CAUSE_SHUTDOWN), and its state is freed, all
 * before it returns. What was handed on to exporters goes on. A batch that is pushed later is
 * answered RETRY. Once; later calls do nothing. */
void lane_end(struct lane *lane, enum cause cause);
bool lane_ended(const struct lane *lane);

/* ---- for processors that keep state for each lane ---- */

/* Embedded in the state. The user sets owner and the functions; the rest is the lane's. */
struct lane_user {
    struct lane_user *next;
    const void *owner; /* the instance; one user for each owner */
    /* Lane time at which the user wants to be woken; TIME_NEVER: not at all. Any thread. */
    _Atomic uint64_t due;
    /* The clock has reached due, and no batch is about to be pushed: asks for a tick. Under the
     * lane's lock; returns at once. */
    void (*wake)(struct lane_user *user);
    /* The lane ends: drops what is held and frees the state, the user included. Under the lane's
     * lock; never called after lane_leave. */
    void (*end)(struct lane_user *user, enum cause cause);
};

/* Returns the owner's user; NULL: it has none. */
struct lane_user *lane_find_user(struct lane *lane, const void *owner);

/* Adds a user. False: the lane has ended. */
bool lane_join(struct lane *lane, struct lane_user *user);

/* Removes a user; when it returns, none of its functions runs or will. False: the lane's end
 * removed it, or is about to, before the caller could: then it is gone and must not be touched. */
bool lane_leave(struct lane *lane, struct lane_user *user);

#endif
