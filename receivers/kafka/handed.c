#include "receivers/kafka/handed.h"

#include <stdlib.h>
#include <string.h>

struct handed {
    struct feed *feed; /* with a reference to its reader */
    struct batch *batch;
    struct receipt *receipt; /* the worker's reference */
    _Atomic bool offering;   /* between the call of intake_accept and its return */
    bool answered;           /* within it; then outcome is set */
    pthread_t offerer;
    struct outcome outcome;
    uint32_t items, samples;
    enum signal signal;
    size_t count; /* of numbers; 0: ids only, or somebody else settles them */
    uint64_t numbers[];
};

/* What the log reads again needs no place to keep how far a delivery got. */
static void keep_nothing(void *ctx, uint64_t key, const struct progress_mark *mark)
{
    (void)ctx, (void)key, (void)mark;
}

static bool recall_nothing(void *ctx, uint64_t key, struct progress_mark *mark)
{
    (void)ctx, (void)key, (void)mark;
    return false;
}

static const struct receipt_store log_store = {.keep = keep_nothing, .recall = recall_nothing};

static bool is_settled(const struct reader *reader, const struct outcome *worst)
{
    if (worst->verdict == VERDICT_RETRY)
        return reader->on_error && worst->cause != CAUSE_SHUTDOWN && worst->cause != CAUSE_REVOKED;
    return worst->verdict == VERDICT_OK || reader->on_permanent_error;
}

static void handed_settled(void *ctx, const struct outcome *worst)
{
    struct handed *handed = ctx;
    struct reader *reader = handed->feed->reader;
    bool ends = worst->cause == CAUSE_SHUTDOWN || worst->cause == CAUSE_REVOKED;
    if (is_settled(reader, worst))
        for (size_t i = 0; i < handed->count; i++)
            feed_settle(handed->feed, handed->numbers[i]);
    else if (handed->count && !ends)
        atomic_store(&reader->rewind, true);
    free(handed);
    reader_end(reader);
}

struct handed *handed_new(struct feed *feed, struct batch *batch, const uint64_t *numbers,
                          size_t count)
{
    struct handed *handed = calloc(1, sizeof *handed + count * sizeof *numbers);
    struct receipt *receipt = handed ? receipt_new(handed_settled, handed) : NULL;
    if (!receipt) {
        free(handed);
        batch_unref(batch);
        return NULL;
    }
    *handed = (struct handed){.feed = feed,
                              .batch = batch,
                              .receipt = receipt,
                              .items = batch->items,
                              .samples = batch->samples,
                              .signal = batch->signal,
                              .count = count};
    memcpy(handed->numbers, numbers, count * sizeof *numbers);
    receipt_set_durable(receipt, &log_store);
    reader_begin(feed->reader);
    if (count == 0)
        batch_set_ids_only(batch);
    if (batch_add_receipt(batch, receipt))
        return handed;
    handed_drop(handed, CAUSE_MEMORY);
    return NULL;
}

/* An answer within intake_accept is for the worker. A later one has the last reference but those of
 * the data: where a client would wait for the backend. */
static void handed_done(void *ctx, const struct outcome *outcome)
{
    struct handed *handed = ctx;
    if (atomic_load(&handed->offering) && pthread_equal(handed->offerer, pthread_self())) {
        handed->outcome = *outcome;
        handed->answered = true;
        return;
    }
    struct receipt *receipt = handed->receipt;
    if (outcome->verdict != VERDICT_OK)
        receipt_note(receipt, outcome);
    receipt_unref(receipt);
}

static void count_accepted(const struct handed *handed)
{
    struct meter *meter = handed->feed->reader->self->env->meter;
    if (handed->count == 0)
        return;
    meter_accepted(meter, ADMISSION_PULL, handed->signal, handed->items);
    if (handed->samples)
        meter_accepted_samples(meter, ADMISSION_PULL, handed->samples);
}

struct outcome handed_offer(struct handed *handed, uint64_t *number)
{
    struct intake *intake = handed->feed->reader->self->env->intakes[handed->signal];
    struct receipt *receipt = receipt_ref(handed->receipt);
    receipt_ref(receipt); /* for handed_done */
    handed->answered = false;
    handed->offerer = pthread_self();
    atomic_store(&handed->offering, true);
    intake_accept(intake, handed->batch, handed_done, handed);
    atomic_store(&handed->offering, false);
    struct outcome outcome = handed->answered ? handed->outcome : OUTCOME_OK;
    if (handed->answered)
        receipt_unref(receipt);
    if (outcome.verdict == VERDICT_OK)
        count_accepted(handed);
    if (outcome.verdict == VERDICT_REJECT && handed->count)
        *number = handed->numbers[--handed->count];
    if (outcome.verdict != VERDICT_RETRY) {
        struct batch *batch = handed->batch;
        handed->batch = NULL;
        batch_unref(batch);
        receipt_unref(receipt); /* the worker's */
    }
    receipt_unref(receipt);
    return outcome;
}

void handed_drop(struct handed *handed, enum cause cause)
{
    struct receipt *receipt = handed->receipt;
    struct outcome left = outcome_of(VERDICT_RETRY, cause, "to be read again");
    if (cause == CAUSE_MEMORY)
        handed->count = 0;
    receipt_note(receipt, &left);
    batch_unref(handed->batch);
    receipt_unref(receipt);
}
