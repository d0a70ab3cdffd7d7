#include "receivers/kafka/in_flight.h"

#include <stdlib.h>
#include <string.h>

struct in_flight {
    struct feed *feed; /* with a reference to its reader */
    struct batch *batch;
    struct receipt *receipt; /* the worker's reference */
    _Atomic bool offering;   /* between the call of intake_accept and its return */
    bool answered;           /* within it; then outcome is set */
    pthread_t offerer;
    struct outcome outcome;
    uint32_t items, samples;
    enum signal signal;
    size_t count; /* of numbers; 0: read only for span ids, or another function settles them */
    uint64_t numbers[];
};

/* Progress need not be stored, because the record can be read from Kafka again. */
static void keep_nothing(void *ctx, uint64_t key, const struct progress_mark *mark)
{
    (void)ctx, (void)key, (void)mark;
}

static bool recall_nothing(void *ctx, uint64_t key, struct progress_mark *mark)
{
    (void)ctx, (void)key, (void)mark;
    return false;
}

static bool is_elsewhere(void *ctx)
{
    const struct in_flight *in_flight = ctx;
    return clock_mono(&clock_system) > atomic_load(&in_flight->feed->reader->lease);
}

static const struct receipt_store log_store = {
    .keep = keep_nothing, .recall = recall_nothing, .is_elsewhere = is_elsewhere};

static bool is_settled(const struct reader *reader, const struct outcome *worst)
{
    if (worst->verdict == VERDICT_RETRY)
        return reader->on_error && worst->cause != CAUSE_SHUTDOWN && worst->cause != CAUSE_REVOKED;
    return worst->verdict == VERDICT_OK || reader->on_permanent_error;
}

static void in_flight_settled(void *ctx, const struct outcome *worst)
{
    struct in_flight *in_flight = ctx;
    struct reader *reader = in_flight->feed->reader;
    bool ends = worst->cause == CAUSE_SHUTDOWN || worst->cause == CAUSE_REVOKED;
    if (is_settled(reader, worst))
        for (size_t i = 0; i < in_flight->count; i++)
            feed_settle(in_flight->feed, in_flight->numbers[i]);
    else if (in_flight->count && !ends)
        atomic_store(&reader->rewind, true);
    free(in_flight);
    reader_end(reader);
}

struct in_flight *in_flight_new(struct feed *feed, struct batch *batch, const uint64_t *numbers,
                                size_t count)
{
    struct in_flight *in_flight = calloc(1, sizeof *in_flight + count * sizeof *numbers);
    struct receipt *receipt = in_flight ? receipt_new(in_flight_settled, in_flight) : NULL;
    if (!receipt) {
        free(in_flight);
        batch_unref(batch);
        return NULL;
    }
    *in_flight = (struct in_flight){.feed = feed,
                                    .batch = batch,
                                    .receipt = receipt,
                                    .items = batch->items,
                                    .samples = batch->samples,
                                    .signal = batch->signal,
                                    .count = count};
    memcpy(in_flight->numbers, numbers, count * sizeof *numbers);
    receipt_set_durable(receipt, &log_store);
    reader_begin(feed->reader);
    if (count == 0)
        batch_set_ids_only(batch);
    if (batch_add_receipt(batch, receipt))
        return in_flight;
    in_flight_drop(in_flight, CAUSE_MEMORY);
    return NULL;
}

/* intake_accept may answer before it returns; then the worker handles the outcome. A later answer
 * comes where a client would wait for the backend, and drops the last reference except those of the
 * data. */
static void in_flight_done(void *ctx, const struct outcome *outcome)
{
    struct in_flight *in_flight = ctx;
    if (atomic_load(&in_flight->offering) && pthread_equal(in_flight->offerer, pthread_self())) {
        in_flight->outcome = *outcome;
        in_flight->answered = true;
        return;
    }
    struct receipt *receipt = in_flight->receipt;
    if (outcome->verdict != VERDICT_OK)
        receipt_note(receipt, outcome);
    receipt_unref(receipt);
}

static void count_accepted(const struct in_flight *in_flight)
{
    struct meter *meter = in_flight->feed->reader->self->env->meter;
    if (in_flight->count == 0)
        return;
    meter_accepted(meter, ADMISSION_PULL, in_flight->signal, in_flight->items);
    if (in_flight->samples)
        meter_accepted_samples(meter, ADMISSION_PULL, in_flight->samples);
}

struct outcome in_flight_offer(struct in_flight *in_flight, uint64_t *number)
{
    struct intake *intake = in_flight->feed->reader->self->env->intakes[in_flight->signal];
    struct receipt *receipt = receipt_ref(in_flight->receipt);
    receipt_ref(receipt); /* for in_flight_done */
    in_flight->answered = false;
    in_flight->offerer = pthread_self();
    atomic_store(&in_flight->offering, true);
    intake_accept(intake, in_flight->batch, in_flight_done, in_flight);
    atomic_store(&in_flight->offering, false);
    struct outcome outcome = in_flight->answered ? in_flight->outcome : OUTCOME_OK;
    if (in_flight->answered)
        receipt_unref(receipt);
    if (outcome.verdict == VERDICT_OK)
        count_accepted(in_flight);
    if (outcome.verdict == VERDICT_REJECT && in_flight->count)
        *number = in_flight->numbers[--in_flight->count];
    if (outcome.verdict != VERDICT_RETRY) {
        struct batch *batch = in_flight->batch;
        in_flight->batch = NULL;
        batch_unref(batch);
        receipt_unref(receipt); /* the worker's */
    }
    receipt_unref(receipt);
    return outcome;
}

void in_flight_drop(struct in_flight *in_flight, enum cause cause)
{
    struct receipt *receipt = in_flight->receipt;
    struct outcome left = outcome_of(VERDICT_RETRY, cause, "to be read again");
    if (cause == CAUSE_MEMORY)
        in_flight->count = 0;
    receipt_note(receipt, &left);
    batch_unref(in_flight->batch);
    receipt_unref(receipt);
}
