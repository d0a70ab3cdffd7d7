/* Makes records of batches: encodes, and splits what is too large. */
#include "exporters/kafka/topic_limits.h"

#include "lib/wire/json/otlp_json.h"
#include "pipeline/batch_parts.h"
#include "pipeline/native_record.h"
#include "pipeline/otlp_form.h"

#include <stdlib.h>
#include <string.h>

enum { JSON_CAP = 1 << 30, RECORD_FRAME = 96, HEADER_FRAME = 16, LEAST_VALUE = 512 };

/* What is being made. */
struct making {
    const struct kafka_exporter *self;
    const struct share *share;
    struct records *records;
    size_t limit; /* of a value, unless it is a single item */
    size_t most;  /* of any value */
    enum kafka_encoding encoding;
};

static struct record *records_add(struct making *making, struct batch *batch)
{
    struct records *records = making->records;
    if (records->count == records->capacity) {
        size_t capacity = records->capacity ? 2 * records->capacity : 4;
        struct record *all = reallocarray(records->all, capacity, sizeof *all);
        if (!all)
            return NULL;
        records->all = all;
        records->capacity = capacity;
    }
    struct record *record = &records->all[records->count++];
    *record = (struct record){.topic = making->share->topic,
                              .key = making->share->key,
                              .redirected = making->share->redirected,
                              .batch = batch_ref(batch),
                              .items = batch->items};
    return record;
}

void records_release(struct records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        batch_unref(records->all[i].batch);
        buffer_unref(records->all[i].made);
    }
    free(records->all);
    *records = (struct records){0};
}

/* ---- sizes ---- */

static bool add_size(void *ctx, const char *name, struct view value)
{
    *(size_t *)ctx += strlen(name) + value.size + HEADER_FRAME;
    return true;
}

size_t record_overhead(const struct kafka_exporter *self, const struct batch *batch,
                       struct view key, bool native)
{
    const struct metadata *sender = batch->metadata;
    size_t size = RECORD_FRAME + key.size;
    if (native)
        native_record_headers(batch, add_size, &size);
    if (native)
        size += sizeof NATIVE_PART + HEADER_FRAME + 48;
    for (size_t i = 0; sender && i < self->metadata_keys.count; i++)
        size += strlen(self->metadata_keys.items[i]) + HEADER_FRAME +
                (sender->tenant ? strlen(sender->tenant) : 0) +
                (sender->authorization ? strlen(sender->authorization) : 0);
    return size;
}

/* ---- native ---- */

static uint64_t fnv_1a(uint64_t hash, struct view value)
{
    for (size_t i = 0; i < value.size; i++)
        hash = (hash ^ value.data[i]) * UINT64_C(1099511628211);
    return hash;
}

static bool add_hash(void *ctx, const char *name, struct view value)
{
    *(uint64_t *)ctx = fnv_1a(fnv_1a(*(uint64_t *)ctx, view_of(name)), value);
    return true;
}

/* Tells the parts of one value from those of another. When they are sent again, it is the same. */
static uint64_t id_of(const struct share *share, struct view value)
{
    uint64_t hash = fnv_1a(UINT64_C(14695981039346656037), share->key);
    native_record_headers(share->batch, add_hash, &hash);
    return fnv_1a(hash, value);
}

/* A pprof, a recording or a text goes as it is, in several records if it is too large for one. The
 * parts are equal, so that a topic that refuses one for its size does not take the last one. */
static struct outcome make_native(struct making *making)
{
    struct batch *batch = making->share->batch;
    struct view value = native_record_value(batch);
    size_t count = value.size > making->limit ? (value.size - 1) / making->limit + 1 : 1;
    struct native_part part = {.count = (uint32_t)count,
                               .id = count > 1 ? id_of(making->share, value) : 0};
    size_t each = (value.size + count - 1) / count;
    if (count > NATIVE_PARTS_MAX)
        return outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE,
                          "%zu bytes would need more than %d records", value.size,
                          NATIVE_PARTS_MAX);
    for (size_t i = 0; i < count; i++) {
        struct record *record = records_add(making, batch);
        if (!record)
            return outcome_no_memory();
        size_t from = i * each, left = value.size - from;
        record->native = true;
        record->divisible = value.size > LEAST_VALUE;
        record->items = i == 0 ? batch->items : 0;
        record->value = (struct view){value.data + from, left < each ? left : each};
        part.number = (uint32_t)i + 1;
        if (count > 1)
            native_part_write(&part, record->part, sizeof record->part);
    }
    return OUTCOME_OK;
}

/* ---- OTLP ---- */

/* The value of a batch as one record. NULL without memory, unless it is the payload itself. */
static bool encode(struct making *making, const struct batch *batch, struct buffer **made)
{
    struct bytes json;
    *made = NULL;
    if (making->encoding != KAFKA_OTLP_JSON)
        return true;
    bytes_init(&json, JSON_CAP, NULL);
    bool good = otlp_json_write(batch->signal, buffer_view(batch->payload), &json);
    if (good && json.size && json.data[json.size - 1] == '\n')
        json.size--;
    *made = good ? buffer_from_bytes(&json) : NULL;
    bytes_release(&json);
    return *made != NULL;
}

/* Cuts a batch: by the size where the value is the payload, else in halves. NULL: one piece, or no
 * memory. */
static struct batch_part *cut(const struct making *making, struct batch *batch)
{
    if (batch->items < 2)
        return NULL;
    if (making->encoding == KAFKA_OTLP_PROTO && batch->signal != SIGNAL_PROFILES)
        return batch_cut(batch, 0, making->limit, batch->payload->size);
    return batch_cut(batch, (batch->items + 1) / 2, 0, 1);
}

static struct outcome make_otlp(struct making *making, struct batch *batch);

/* Frees the list. */
static struct outcome make_parts(struct making *making, struct batch_part *list)
{
    struct outcome outcome = OUTCOME_OK;
    while (list) {
        struct batch_part *part = list;
        if (outcome.verdict == VERDICT_OK)
            outcome = make_otlp(making, part->batch);
        list = part->next;
        batch_unref(part->batch);
        free(part);
    }
    return outcome;
}

static struct outcome make_otlp(struct making *making, struct batch *whole)
{
    struct batch *pruned = NULL, *batch = whole;
    struct batch_part *parts;
    struct buffer *made;
    if (batch->signal == SIGNAL_PROFILES && batch->payload->size > making->limit &&
        (pruned = otlp_pruned(batch)))
        batch = pruned;
    struct outcome outcome = outcome_no_memory();
    if (encode(making, batch, &made)) {
        struct view value = buffer_view(made ? made : batch->payload);
        bool fits = value.size <= making->limit;
        struct record *record;
        if (!fits && (parts = cut(making, batch))) {
            buffer_unref(made);
            outcome = make_parts(making, parts);
        } else if ((record = records_add(making, batch))) {
            record->made = made;
            record->value = value;
            record->divisible = fits && batch->items > 1;
            record->native = making->encoding == KAFKA_NATIVE;
            record->result = value.size <= making->most ? RD_KAFKA_RESP_ERR_NO_ERROR
                                                        : RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
            outcome = OUTCOME_OK;
        } else {
            buffer_unref(made);
        }
    }
    batch_unref(pruned);
    return outcome;
}

/* ---- all ---- */

static size_t room_in(size_t limit, size_t beside)
{
    return limit > beside + LEAST_VALUE ? limit - beside : LEAST_VALUE;
}

static struct outcome make_share(const struct kafka_exporter *self, const struct share *share,
                                 size_t limit, struct records *records)
{
    struct making making = {.self = self,
                            .share = share,
                            .records = records,
                            .encoding = kafka_encoding(self, share->batch->signal)};
    size_t beside =
        record_overhead(self, share->batch, share->key, making.encoding == KAFKA_NATIVE);
    making.limit = room_in(limit, beside);
    making.most = room_in((size_t)self->produce.max_message_bytes, beside);
    return share->batch->encoding == BATCH_OTLP ? make_otlp(&making, share->batch)
                                                : make_native(&making);
}

/* pprof becomes OTLP where records are OTLP. One reference; NULL: why. */
static struct batch *in_form(const struct kafka_exporter *self, struct batch *batch,
                             struct outcome *why)
{
    *why = OUTCOME_OK;
    if (batch->encoding == BATCH_OTLP || kafka_encoding(self, batch->signal) == KAFKA_NATIVE)
        return batch_ref(batch);
    if (batch->encoding == BATCH_PPROF)
        return otlp_form(batch, why);
    *why = outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED,
                      "JFR and folded profiles have no OTLP form: set profiles.encoding to native");
    return NULL;
}

struct outcome records_of(const struct kafka_exporter *self, struct batch *batch, size_t *limit,
                          struct records *records, struct arena *arena)
{
    struct shares shares = {0};
    struct outcome outcome;
    *records = (struct records){0};
    struct batch *formed = in_form(self, batch, &outcome);
    if (!formed)
        return outcome;
    if (!shares_of(self, formed, &shares, arena))
        outcome = outcome_no_memory();
    for (size_t i = 0; i < shares.count; i++) {
        size_t own = topic_limit(self, shares.all[i].topic);
        *limit = own < *limit ? own : *limit;
    }
    for (size_t i = 0; outcome.verdict == VERDICT_OK && i < shares.count; i++)
        outcome = make_share(self, &shares.all[i], *limit, records);
    shares_release(&shares);
    batch_unref(formed);
    return outcome;
}
