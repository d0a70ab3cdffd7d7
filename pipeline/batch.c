#include "pipeline/batch.h"

#include "lib/base/clock.h"
#include "lib/wire/jfr/jfr_upload.h"
#include "lib/wire/otlp/otlp_split.h"
#include "lib/wire/proto/proto_plain.h"
#include "pipeline/addressees.h"
#include "pipeline/client_info.h"
#include "pipeline/lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void batch_encoding_words(unsigned encodings, const char *joint, char *out, size_t size)
{
    static const char *const words[] = {[BATCH_OTLP] = "OTLP",
                                        [BATCH_PPROF] = "pprof",
                                        [BATCH_OPAQUE] = "forwarded bodies (JFR, folded text)"};
    size_t n = 0;
    *out = '\0';
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if ((encodings & BATCH_BIT(i)) && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? joint : "", words[i]);
}

/* Counts the samples of one message; an OTLP Profile and a pprof have the same field number for
 * them. */
static uint32_t count_samples_in(struct view profile)
{
    enum { SAMPLES = 2 };
    struct proto_scan scan = proto_scan_begin(profile);
    struct proto_field field;
    uint32_t count = 0;
    for (;;) {
        /* Nearly all fields are messages whose length takes one or two bytes. */
        const uint8_t *behind, *at = scan.at;
        if (at < scan.end && (*at & 0x87) == WIRE_LEN && plain_content(at + 1, scan.end, &behind)) {
            count += *at == PLAIN_TAG(SAMPLES, WIRE_LEN);
            scan.at = behind;
            continue;
        }
        if (!proto_scan_next(&scan, &field))
            return count;
        count += field.number == SAMPLES && field.type == WIRE_LEN;
    }
}

static uint32_t count_samples(const struct batch *batch)
{
    struct otlp_walk walk;
    enum otlp_step step;
    uint32_t count = 0;
    if (batch->encoding == BATCH_OPAQUE || batch->payload->parts)
        return batch->items;
    if (batch->encoding == BATCH_PPROF)
        return count_samples_in(buffer_view(batch->payload));
    otlp_walk_begin(&walk, batch->signal, buffer_view(batch->payload));
    while ((step = otlp_walk_next(&walk)) != OTLP_END)
        if (step == OTLP_ITEM)
            count += count_samples_in(walk.item.bytes);
    return count;
}

static struct batch *make(enum signal signal, enum batch_encoding encoding, struct buffer *payload,
                          uint32_t items)
{
    struct batch *batch = calloc(1, sizeof *batch);
    if (!batch) {
        buffer_unref(payload);
        return NULL;
    }
    atomic_init(&batch->refs, 1);
    batch->signal = signal;
    batch->encoding = encoding;
    batch->payload = payload;
    batch->items = items;
    batch->receipts = batch->receipt_inline;
    return batch;
}

struct batch *batch_new(enum signal signal, enum batch_encoding encoding, struct buffer *payload,
                        uint32_t items, struct receipt *receipt)
{
    struct batch *batch = make(signal, encoding, payload, items);
    if (batch && signal == SIGNAL_PROFILES)
        batch->samples = count_samples(batch);
    if (batch && receipt)
        batch_add_receipt(batch, receipt);
    return batch;
}

static char *batch_copy_text(const char *text, bool *failed)
{
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy)
        *failed = true;
    return copy;
}

static bool copy_profile(struct batch *copy, const struct profile_origin *profile)
{
    bool failed = false;
    copy->profile = malloc(sizeof *profile);
    if (!copy->profile)
        return false;
    *copy->profile = *profile;
    copy->profile->sample_type_config = batch_copy_text(profile->sample_type_config, &failed);
    copy->profile->spy_name = batch_copy_text(profile->spy_name, &failed);
    return !failed;
}

static bool copy_opaque(struct batch *copy, const struct opaque_request *opaque)
{
    bool failed = false;
    struct opaque_request *made = calloc(1, sizeof *made);
    if (!made)
        return false;
    made->query = batch_copy_text(opaque->query, &failed);
    made->content_type = batch_copy_text(opaque->content_type, &failed);
    batch_set_opaque(copy, made);
    if (!opaque->plain_size)
        batch_forgo_plain(copy);
    return !failed;
}

static bool copy_rest(struct batch *copy, const struct batch *batch)
{
    copy->admitted = batch->admitted;
    copy->answered = batch->answered;
    copy->forced = batch->forced;
    copy->ids_only = batch->ids_only;
    copy->recorded = batch->recorded;
    copy->delivered_to = addressees_ref(batch->delivered_to);
    if (batch->lane)
        batch_set_lane(copy, batch->lane, batch->recorded);
    if (batch->metadata)
        copy->metadata = metadata_ref(batch->metadata);
    if (batch->client)
        copy->client = client_info_ref(batch->client);
    if (batch->series)
        copy->series = series_ref(batch->series);
    return (!batch->profile || copy_profile(copy, batch->profile)) &&
           (!batch->opaque || copy_opaque(copy, batch->opaque)) && batch_add_receipts(copy, batch);
}

static struct batch *copy_of(const struct batch *batch, struct buffer *payload, uint32_t items,
                             uint64_t exporter)
{
    bool same = payload == batch->payload && items == batch->items;
    struct batch *copy = make(batch->signal, batch->encoding, payload, items);
    if (copy)
        copy->exporter = exporter;
    if (copy && batch->signal == SIGNAL_PROFILES)
        copy->samples = same ? batch->samples : count_samples(copy);
    if (copy && !copy_rest(copy, batch)) {
        batch_unref(copy);
        copy = NULL;
    }
    return copy;
}

struct batch *batch_with_payload(const struct batch *batch, struct buffer *payload, uint32_t items)
{
    return copy_of(batch, payload, items, batch->exporter);
}

struct batch *batch_for(struct batch *batch, uint64_t exporter)
{
    bool shared_out = false;
    for (size_t i = 0; i < batch->receipt_count && !shared_out; i++)
        shared_out = receipt_is_shared_out(batch->receipts[i]);
    struct batch *copy =
        shared_out ? copy_of(batch, buffer_ref(batch->payload), batch->items, exporter) : NULL;
    return copy ? copy : batch_ref(batch);
}

struct batch *batch_without_lane(const struct batch *batch)
{
    struct batch *copy = batch_with_payload(batch, buffer_ref(batch->payload), batch->items);
    if (!copy)
        return NULL;
    lane_unref(copy->lane);
    copy->lane = NULL;
    copy->notes = batch->notes ? buffer_ref(batch->notes) : NULL;
    return copy;
}

struct batch *batch_flat(struct batch *batch)
{
    if (!batch->payload->parts)
        return batch_ref(batch);
    struct buffer *payload = buffer_flat(batch->payload);
    return payload ? batch_with_payload(batch, payload, batch->items) : NULL;
}

/* Makes room for one more: the array doubles whenever its count is a power of two. */
static bool grow_receipts(struct batch *batch)
{
    size_t count = batch->receipt_count;
    if (count == 0 || (count & (count - 1)) != 0)
        return true;
    bool is_inline = batch->receipts == batch->receipt_inline;
    struct receipt **bigger =
        realloc(is_inline ? NULL : batch->receipts, 2 * count * sizeof(struct receipt *));
    if (!bigger)
        return false;
    if (is_inline)
        bigger[0] = batch->receipt_inline[0];
    batch->receipts = bigger;
    return true;
}

bool batch_add_receipt(struct batch *batch, struct receipt *receipt)
{
    if (!grow_receipts(batch))
        return false;
    batch->receipts[batch->receipt_count++] = receipt_ref_of(receipt, batch->exporter);
    return true;
}

bool batch_add_receipts(struct batch *to, const struct batch *batch)
{
    for (size_t i = 0; i < batch->receipt_count; i++)
        if (!batch_add_receipt(to, batch->receipts[i]))
            return false;
    return true;
}

static struct batch *batch_part_of(const struct batch *batch, struct buffer *payload)
{
    return batch_with_payload(batch, payload, otlp_count(batch->signal, buffer_view(payload)));
}

bool batch_split(const struct batch *batch, uint32_t max_items, size_t max_bytes,
                 struct batch **front, struct batch **rest)
{
    struct buffer *front_bytes, *rest_bytes;
    struct buffer *whole = batch->encoding == BATCH_OTLP ? buffer_flat(batch->payload) : NULL;
    bool cut = whole && otlp_split(batch->signal, buffer_view(whole), max_items, max_bytes,
                                   whole->budget, &front_bytes, &rest_bytes);
    buffer_unref(whole);
    if (!cut)
        return false;
    *front = batch_part_of(batch, front_bytes);
    *rest = batch_part_of(batch, rest_bytes);
    if (*front && *rest)
        return true;
    batch_unref(*front);
    batch_unref(*rest);
    return false;
}

static bool batch_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_metadata(const struct metadata *a, const struct metadata *b)
{
    return a == b || (a && b && batch_same_text(a->tenant, b->tenant) &&
                      batch_same_text(a->authorization, b->authorization));
}

/* Requests that waited in a journal may be from different hours. */
static bool same_time(const struct batch *a, const struct batch *b)
{
    uint64_t apart =
        a->recorded > b->recorded ? a->recorded - b->recorded : b->recorded - a->recorded;
    return !a->recorded || !b->recorded || apart <= 30 * NS_PER_S;
}

bool batch_mergeable(const struct batch *a, const struct batch *b)
{
    return a->signal == b->signal && a->encoding == BATCH_OTLP && b->encoding == BATCH_OTLP &&
           a->lane == b->lane && !a->ids_only && !b->ids_only && same_time(a, b) &&
           same_metadata(a->metadata, b->metadata) &&
           addressees_same(a->delivered_to, b->delivered_to);
}

static void free_profile(struct profile_origin *profile)
{
    if (profile) {
        free(profile->sample_type_config);
        free(profile->spy_name);
        free(profile);
    }
}

static void free_opaque(struct opaque_request *opaque)
{
    if (opaque) {
        budget_drop_pledge(opaque->pledged);
        free(opaque->query);
        free(opaque->content_type);
        free(opaque);
    }
}

void batch_set_profile(struct batch *batch, struct profile_origin *profile)
{
    free_profile(batch->profile);
    batch->profile = profile;
}

void batch_set_opaque(struct batch *batch, struct opaque_request *opaque)
{
    free_opaque(batch->opaque);
    batch->opaque = opaque;
    if (opaque->query && !batch->payload->parts)
        opaque->plain_size =
            jfr_upload_plain_size(opaque->query, opaque->content_type, buffer_view(batch->payload));
    opaque->pledged = opaque->plain_size ? batch->payload->budget : NULL;
    budget_hold_pledge(opaque->pledged);
}

void batch_forgo_plain(struct batch *batch)
{
    budget_drop_pledge(batch->opaque->pledged);
    batch->opaque->pledged = NULL;
    batch->opaque->plain_size = 0;
}

size_t batch_work(const struct batch *batch)
{
    return batch->payload->size + (batch->opaque ? batch->opaque->plain_size : 0);
}

void batch_set_series(struct batch *batch, struct series *series)
{
    series_unref(batch->series);
    batch->series = series;
}

static size_t metadata_size(const struct metadata *metadata)
{
    return sizeof *metadata + (metadata->tenant ? strlen(metadata->tenant) : 0) +
           (metadata->authorization ? strlen(metadata->authorization) : 0);
}

/* They have a budget from their first batch on, and other threads after that. */
static void metadata_charge(struct metadata *metadata, struct budget *budget)
{
    if (metadata->budget || !budget)
        return;
    metadata->budget = budget;
    budget_force(budget, metadata_size(metadata));
}

void batch_set_metadata(struct batch *batch, struct metadata *metadata)
{
    metadata_unref(batch->metadata);
    batch->metadata = metadata;
    if (metadata)
        metadata_charge(metadata, batch->payload->budget);
}

void batch_set_client(struct batch *batch, struct client_info *client)
{
    client_info_unref(batch->client);
    batch->client = client;
    if (client)
        client_info_charge(client, batch->payload->budget);
}

struct request_context batch_context(const struct batch *batch)
{
    const struct client_info *client = batch->client;
    const struct metadata *metadata = batch->metadata;
    struct request_context context = {0};
    if (client) {
        context.address = *client->address ? client->address : NULL;
        context.headers = (struct view){client->headers, client->size};
    }
    if (metadata) {
        context.tenant = metadata->tenant;
        context.authorization = metadata->authorization;
    }
    return context;
}

void batch_set_lane(struct batch *batch, struct lane *lane, uint64_t recorded)
{
    lane_ref(lane);
    lane_unref(batch->lane);
    batch->lane = lane;
    batch->recorded = recorded;
}

void batch_set_ids_only(struct batch *batch)
{
    batch->ids_only = true;
}

struct batch *batch_ref(struct batch *batch)
{
    atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);
    return batch;
}

void batch_unref(struct batch *batch)
{
    if (!batch || atomic_fetch_sub_explicit(&batch->refs, 1, memory_order_acq_rel) != 1)
        return;
    buffer_unref(batch->payload);
    buffer_unref(batch->notes);
    metadata_unref(batch->metadata);
    addressees_unref(batch->delivered_to);
    client_info_unref(batch->client);
    series_unref(batch->series);
    free_profile(batch->profile);
    free_opaque(batch->opaque);
    /* Last: a receipt that settles may answer a client, which may then rely on the memory being
     * free. */
    for (size_t i = 0; i < batch->receipt_count; i++)
        receipt_unref_of(batch->receipts[i], batch->exporter);
    if (batch->receipts != batch->receipt_inline)
        free(batch->receipts);
    if (batch->lane)
        lane_unref(batch->lane);
    free(batch);
}

static char *copy_view(struct view text, bool *failed)
{
    char *copy = text.data ? strndup((const char *)text.data, text.size) : NULL;
    if (text.data && !copy)
        *failed = true;
    return copy;
}

struct metadata *metadata_new(struct view tenant, struct view authorization, bool *failed)
{
    *failed = false;
    if (!tenant.data && !authorization.data)
        return NULL;
    struct metadata *metadata = calloc(1, sizeof *metadata);
    *failed = !metadata;
    if (!metadata)
        return NULL;
    atomic_init(&metadata->refs, 1);
    metadata->tenant = copy_view(tenant, failed);
    metadata->authorization = copy_view(authorization, failed);
    if (*failed) {
        metadata_unref(metadata);
        metadata = NULL;
    }
    return metadata;
}

struct metadata *metadata_ref(struct metadata *metadata)
{
    atomic_fetch_add_explicit(&metadata->refs, 1, memory_order_relaxed);
    return metadata;
}

void metadata_unref(struct metadata *metadata)
{
    if (!metadata || atomic_fetch_sub_explicit(&metadata->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (metadata->budget)
        budget_give(metadata->budget, metadata_size(metadata));
    free(metadata->tenant);
    free(metadata->authorization);
    free(metadata);
}
