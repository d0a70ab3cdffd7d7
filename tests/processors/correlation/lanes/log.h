/* A world's batches as two partitions of a log, and a reader that pushes them into an instance. */
#ifndef TESTS_PROCESSORS_CORRELATION_LANES_LOG_H
#define TESTS_PROCESSORS_CORRELATION_LANES_LOG_H

#include "pipeline/lane.h"
#include "tests/processors/correlation/world.h"

#define LANE_SIGNALS (SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_PROFILES))

enum pace { TRACES_FIRST, PROFILES_FIRST, AT_RANDOM, PACES };

struct record {
    struct batch *batch;
    uint64_t at;             /* unix ns */
    bool delivered, settled; /* of the last time that it was read */
    struct outcome worst;
};

struct partition {
    struct record *records;
    size_t count, next;
};

struct reader {
    struct world *world;
    void *self; /* the instance */
    struct lane *lane;
    struct partition traces, profiles;
    size_t refused;          /* pushes answered RETRY */
    uint64_t ids_only_until; /* profiles recorded before were delivered already */
};

static inline void log_append(struct partition *partition, struct batch *batch, uint64_t at)
{
    if ((partition->count & (partition->count - 1)) == 0)
        partition->records =
            realloc(partition->records,
                    (partition->count ? 2 * partition->count : 1) * sizeof *partition->records);
    partition->records[partition->count++] = (struct record){.batch = batch, .at = at};
}

static inline void log_write(struct reader *reader, struct world *world)
{
    *reader = (struct reader){.world = world};
    for (size_t i = 0; i < world->event_count; i++) {
        struct batch *batch = batch_of(world, &world->events[i]);
        if (batch)
            log_append(batch->signal == SIGNAL_TRACES ? &reader->traces : &reader->profiles, batch,
                       RIG_START + world->events[i].at);
    }
}

static inline void log_free(struct reader *reader)
{
    struct partition *both[] = {&reader->traces, &reader->profiles};
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < both[i]->count; k++)
            batch_unref(both[i]->records[k].batch);
        free(both[i]->records);
    }
}

static inline void reader_assign(struct reader *reader, void *self, uint32_t number, uint64_t since)
{
    reader->self = self;
    reader->lane = lane_new("kafka", number, LANE_SIGNALS);
    lane_set_since(reader->lane, since);
}

static inline void log_settled(void *ctx, const struct outcome *worst)
{
    struct record *record = ctx;
    record->settled = true;
    record->worst = *worst;
    record->delivered = worst->verdict == VERDICT_OK;
}

/* Pushes the next record of a partition as a new batch. False: too far ahead. */
static inline bool reader_push(struct reader *reader, enum signal signal)
{
    struct partition *from = signal == SIGNAL_TRACES ? &reader->traces : &reader->profiles;
    struct record *record = &from->records[from->next];
    struct batch *batch =
        batch_with_payload(record->batch, buffer_ref(record->batch->payload), record->batch->items);
    struct receipt *receipt = receipt_new(log_settled, record);
    record->settled = record->delivered = false;
    batch_add_receipt(batch, receipt);
    lane_reached(reader->lane, signal, record->at);
    batch_set_lane(batch, reader->lane, record->at);
    if (signal == SIGNAL_PROFILES && record->at < reader->ids_only_until)
        batch_set_ids_only(batch);
    enum verdict verdict =
        processor_correlation.consume(reader->self, batch, outlet_of(reader->world, batch));
    batch_unref(batch);
    if (verdict != VERDICT_OK)
        receipt_note(receipt, &(struct outcome){.verdict = verdict});
    receipt_unref(receipt);
    if (verdict == VERDICT_OK)
        from->next++;
    return verdict == VERDICT_OK;
}

static inline bool reader_has(const struct partition *partition, uint64_t until)
{
    return partition->next < partition->count && partition->records[partition->next].at < until;
}

/* A receiver reads the other signal when one is too far ahead. */
static inline void reader_step(struct reader *reader, enum signal wanted, uint64_t until)
{
    bool traces = reader_has(&reader->traces, until);
    bool profiles = reader_has(&reader->profiles, until);
    enum signal first = !traces ? SIGNAL_PROFILES : !profiles ? SIGNAL_TRACES : wanted;
    if (!traces)
        lane_at_end(reader->lane, SIGNAL_TRACES,
                    reader->profiles.records[reader->profiles.next].at);
    if (!profiles)
        lane_at_end(reader->lane, SIGNAL_PROFILES, reader->traces.records[reader->traces.next].at);
    if (reader_push(reader, first))
        return;
    reader->refused++;
    CHECK_OFTEN(traces && profiles, "the only signal with records is refused");
    CHECK_OFTEN(reader_push(reader, first == SIGNAL_TRACES ? SIGNAL_PROFILES : SIGNAL_TRACES),
                "both signals are refused");
}

static inline bool reader_more(const struct reader *reader, uint64_t until)
{
    return reader_has(&reader->traces, until) || reader_has(&reader->profiles, until);
}

static inline enum signal reader_choice(struct reader *reader, enum pace pace)
{
    if (pace == AT_RANDOM)
        return chance(reader->world, 50) ? SIGNAL_TRACES : SIGNAL_PROFILES;
    return pace == TRACES_FIRST ? SIGNAL_TRACES : SIGNAL_PROFILES;
}

/* Reads what was recorded before a time. */
static inline void reader_read(struct reader *reader, enum pace pace, uint64_t until)
{
    while (reader_more(reader, until))
        reader_step(reader, reader_choice(reader, pace), until);
}

/* Both partitions are read to their ends. */
static inline void reader_at_end(struct reader *reader, uint64_t now)
{
    lane_at_end(reader->lane, SIGNAL_TRACES, now);
    lane_at_end(reader->lane, SIGNAL_PROFILES, now);
}

static inline void reader_revoke(struct reader *reader)
{
    lane_end(reader->lane, CAUSE_REVOKED);
    lane_unref(reader->lane);
    reader->lane = NULL;
}

#endif
