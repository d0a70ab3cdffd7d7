#include "pipeline/graph/journaling.h"

#include "lib/journal/delivered.h"
#include "lib/journal/progress.h"
#include "pipeline/addressees.h"
#include "pipeline/graph/intake_run.h"
#include "pipeline/graph/journal_record.h"

#include <stdlib.h>

/* A request that is being written to the journal. */
struct journaled {
    struct journal_write write; /* first: done is given its address */
    struct intake *intake;
    struct batch *batch;
    struct bytes head;
    intake_done_fn *done;
    void *ctx;
};

/* The context of a receipt that settles an entry. */
struct kept {
    struct journal *journal;
    struct journal_entry *entry;
};

static void settled(void *ctx, const struct outcome *worst)
{
    struct kept *kept = ctx;
    bool may_come = worst->cause == CAUSE_SHUTDOWN || worst->cause == CAUSE_MEMORY;
    if (worst->verdict == VERDICT_RETRY && may_come)
        journal_keep(kept->journal, kept->entry);
    else
        journal_settle(kept->journal, kept->entry);
    free(kept);
}

static void keep_progress(void *ctx, uint64_t key, const struct progress_mark *mark)
{
    const struct kept *kept = ctx;
    const struct view content = {(const uint8_t *)mark, sizeof *mark};
    journal_progress_keep(kept->journal, kept->entry, key, content);
}

static bool recall_progress(void *ctx, uint64_t key, struct progress_mark *mark)
{
    const struct kept *kept = ctx;
    struct bytes content;
    bytes_init(&content, JOURNAL_PROGRESS_MAX, NULL);
    bool found = journal_progress_find(kept->journal, kept->entry, key, &content) &&
                 content.size == sizeof *mark;
    if (found)
        memcpy(mark, content.data, sizeof *mark);
    bytes_release(&content);
    return found;
}

static void keep_delivered(void *ctx, uint64_t exporter)
{
    const struct kept *kept = ctx;
    journal_delivered(kept->journal, kept->entry, exporter);
}

static const struct receipt_store new_store = {
    .keep = keep_progress, .recall = recall_progress, .delivered = keep_delivered};
static const struct receipt_store found_store = {
    .keep = keep_progress, .recall = recall_progress, .delivered = keep_delivered, .found = true};

/* Drops a receipt so that the entry stays in the journal. */
static void drop_and_keep(struct receipt *receipt)
{
    struct outcome kept = outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "to be offered again");
    receipt_note(receipt, &kept);
    receipt_unref(receipt);
}

/* Gives the batch (NULL: none) a receipt that settles the entry; the caller gets one reference.
 * NULL: no memory, and the entry is still the caller's. */
static struct receipt *receipt_of(struct intake *intake, struct journal_entry *entry,
                                  struct batch *batch, const struct receipt_store *store)
{
    struct kept *kept = malloc(sizeof *kept);
    struct receipt *receipt = kept ? receipt_new(settled, kept) : NULL;
    if (!receipt) {
        free(kept);
        return NULL;
    }
    *kept = (struct kept){intake->journal, entry};
    receipt_set_durable(receipt, store);
    if (intake->queue_count > 1)
        receipt_share_out(receipt, intake->queue_count);
    if (!batch || batch_add_receipt(batch, receipt))
        return receipt;
    drop_and_keep(receipt);
    return NULL;
}

static struct outcome disk_outcome(const struct journal_write *write, enum journal_fault fault)
{
    struct outcome outcome = OUTCOME_OK;
    if (fault == JOURNAL_FULL)
        outcome = outcome_of(VERDICT_RETRY, CAUSE_FULL, "the journal is full");
    else if (fault == JOURNAL_DISK)
        outcome = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "the journal cannot be written: %s",
                             write->error);
    else if (fault == JOURNAL_TOO_LARGE)
        outcome =
            outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE, "the request is larger than the journal");
    else if (fault == JOURNAL_NO_MEMORY)
        outcome = outcome_no_memory();
    return outcome;
}

/* Where the client waits for the backend, the journal keeps only what processors hold. */
static struct outcome go_on(struct journaled *journaled, struct journal_entry *entry,
                            bool *answered)
{
    struct intake *intake = journaled->intake;
    struct receipt *receipt =
        receipt_of(intake, entry, intake->waits ? NULL : journaled->batch, &new_store);
    if (!receipt) {
        journal_settle(intake->journal, entry);
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    }
    if (intake->waits) {
        *answered =
            intake_run_waiting(intake, journaled->batch, receipt, journaled->done, journaled->ctx);
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    }
    struct outcome outcome = intake_run(intake, journaled->batch);
    receipt_unref(receipt);
    return intake_answer_of(&outcome);
}

static void written(struct journal_write *write, struct journal_entry *entry,
                    enum journal_fault fault)
{
    struct journaled *journaled = (struct journaled *)write;
    struct outcome outcome = disk_outcome(write, fault);
    bytes_release(&journaled->head);
    bool answered = false;
    if (fault == JOURNAL_OK)
        outcome = go_on(journaled, entry, &answered);
    struct intake *intake = journaled->intake;
    intake_release(intake, journaled->batch);
    gate_leave(intake->gate);
    batch_unref(journaled->batch);
    if (!answered)
        journaled->done(journaled->ctx, &outcome);
    free(journaled);
    atomic_fetch_sub(&intake->pending, 1);
}

void journaling_accept(struct intake *intake, struct batch *batch, intake_done_fn *done, void *ctx)
{
    struct journaled *journaled = calloc(1, sizeof *journaled);
    if (!journaled || !journal_record_begin(batch, intake->receiver, &journaled->head)) {
        struct outcome outcome = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
        if (journaled)
            bytes_release(&journaled->head);
        free(journaled);
        intake_release(intake, batch);
        gate_leave(intake->gate);
        done(ctx, &outcome);
        return;
    }
    journaled->intake = intake;
    journaled->batch = batch_ref(batch);
    journaled->done = done;
    journaled->ctx = ctx;
    journaled->write = (struct journal_write){
        .parts = {bytes_view(&journaled->head), buffer_view(batch->payload)},
        .part_count = 2,
        .done = written,
    };
    atomic_fetch_add(&intake->pending, 1);
    journal_append(intake->journal, &journaled->write);
}

static void recall_delivered(const struct intake *intake, const struct journal_entry *entry,
                             struct batch *batch)
{
    uint64_t keys[ADDRESSEES_MAX];
    size_t count = journal_delivered_find(intake->journal, entry, keys, ADDRESSEES_MAX);
    addressees_unref(batch->delivered_to);
    batch->delivered_to = addressees_new(keys, count);
}

/* Whether all exporters that take the batch had it. Which of them have an entry is noted only while
 * another lacks it. */
static bool all_had(const struct intake *intake, const struct batch *batch)
{
    for (size_t i = 0; i < intake->queue_count; i++) {
        const struct sender *sender = intake->queues[i].sender;
        if (sender_takes(sender) & BATCH_BIT(batch->encoding) &&
            !addressees_has(batch->delivered_to, sender_key(sender)))
            return false;
    }
    return batch->delivered_to;
}

struct outcome journaling_replay(struct intake *intake, struct batch *batch,
                                 struct journal_entry *entry, bool *kept_for_another)
{
    *kept_for_another = false;
    struct outcome outcome = intake_reserve(intake, batch);
    if (outcome.verdict != VERDICT_OK)
        return outcome;
    struct receipt *receipt = receipt_of(intake, entry, batch, &found_store);
    outcome = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    if (receipt) {
        batch->admitted = batch->answered = true;
        recall_delivered(intake, entry, batch);
        *kept_for_another = all_had(intake, batch);
        outcome = intake_run(intake, batch);
        if (outcome.verdict == VERDICT_RETRY)
            drop_and_keep(receipt);
        else
            receipt_unref(receipt);
    }
    intake_release(intake, batch);
    return outcome;
}
