#include "pipeline/graph/journal_record.h"

#include "lib/wire/proto/proto_write.h"
#include "pipeline/client_info.h"

#include <stdio.h>
#include <stdlib.h>

/* Field numbers: a later version may add some, but never changes a meaning. */
enum {
    RECORD_RECEIVER = 1,
    RECORD_SIGNAL = 2,
    RECORD_ENCODING = 3,
    RECORD_ITEMS = 4,
    RECORD_TENANT = 5,
    RECORD_AUTHORIZATION = 6,
    RECORD_LABEL = 7, /* a message: name = 1, value = 2 */
    RECORD_PROFILE = 8,
    RECORD_OPAQUE = 9,
    RECORD_ACCEPTED = 10, /* unix ns; 0 or missing: not known */
    RECORD_CLIENT_ADDRESS = 11,
    RECORD_CLIENT_HEADERS = 12, /* "name\0value\0" each */
    RECORD_PAYLOAD = 15,

    PROFILE_BY_INGEST = 1,
    PROFILE_FROM = 2,
    PROFILE_UNTIL = 3,
    PROFILE_CONFIG = 4,
    PROFILE_SPY = 5,

    OPAQUE_QUERY = 1,
    OPAQUE_CONTENT_TYPE = 2,

    LABEL_NAME = 1,
    LABEL_VALUE = 2,

    HEAD_CAP = 16 << 20
};

static void journal_record_write_text(struct proto_write *write, uint32_t number, const char *text)
{
    if (text)
        proto_write_bytes(write, number, view_of(text));
}

static void write_series(struct proto_write *write, const struct series *series)
{
    for (size_t i = 0; series && i < series->count; i++) {
        size_t label = proto_write_open(write, RECORD_LABEL);
        proto_write_bytes(write, LABEL_NAME, series->labels[i].name);
        proto_write_bytes(write, LABEL_VALUE, series->labels[i].value);
        proto_write_close(write, label);
    }
}

static void journal_record_write_profile(struct proto_write *write,
                                         const struct profile_origin *origin)
{
    if (!origin)
        return;
    size_t profile = proto_write_open(write, RECORD_PROFILE);
    proto_write_number(write, PROFILE_BY_INGEST, origin->by_ingest);
    proto_write_number(write, PROFILE_FROM, origin->from_ns);
    proto_write_number(write, PROFILE_UNTIL, origin->until_ns);
    journal_record_write_text(write, PROFILE_CONFIG, origin->sample_type_config);
    journal_record_write_text(write, PROFILE_SPY, origin->spy_name);
    proto_write_close(write, profile);
}

static void write_opaque(struct proto_write *write, const struct opaque_request *request)
{
    if (!request)
        return;
    size_t opaque = proto_write_open(write, RECORD_OPAQUE);
    journal_record_write_text(write, OPAQUE_QUERY, request->query);
    journal_record_write_text(write, OPAQUE_CONTENT_TYPE, request->content_type);
    proto_write_close(write, opaque);
}

/* Writes the tag and length of the payload's field; its content follows the head. */
static void write_payload_header(struct proto_write *write, size_t size)
{
    uint8_t header[20];
    uint8_t *end = proto_len_put(header, RECORD_PAYLOAD, size);
    proto_write_raw(write, view_between(header, end));
}

bool journal_record_begin(const struct batch *batch, const char *receiver, struct bytes *head)
{
    bytes_init(head, HEAD_CAP, NULL);
    struct proto_write write = proto_write_begin(head);
    journal_record_write_text(&write, RECORD_RECEIVER, receiver);
    proto_write_number(&write, RECORD_SIGNAL, batch->signal);
    proto_write_number(&write, RECORD_ENCODING, batch->encoding);
    proto_write_number(&write, RECORD_ITEMS, batch->items);
    proto_write_number(&write, RECORD_ACCEPTED, batch->recorded);
    if (batch->metadata) {
        journal_record_write_text(&write, RECORD_TENANT, batch->metadata->tenant);
        journal_record_write_text(&write, RECORD_AUTHORIZATION, batch->metadata->authorization);
    }
    if (batch->client) {
        const struct client_info *client = batch->client;
        journal_record_write_text(&write, RECORD_CLIENT_ADDRESS, client->address);
        proto_write_bytes(&write, RECORD_CLIENT_HEADERS,
                          (struct view){client->headers, client->size});
    }
    write_series(&write, batch->series);
    journal_record_write_profile(&write, batch->profile);
    write_opaque(&write, batch->opaque);
    write_payload_header(&write, batch->payload->size);
    return proto_write_fault(&write) == NULL;
}

/* The fields found in a record. */
struct record {
    struct view receiver, tenant, authorization, payload, profile, opaque;
    struct view client_address, client_headers;
    uint64_t signal, encoding, items, accepted;
    size_t labels;
};

/* Whether a field has the wire type that its number requires. */
static bool is_typed(const struct proto_field *field)
{
    bool number = field->number == RECORD_SIGNAL || field->number == RECORD_ENCODING ||
                  field->number == RECORD_ITEMS || field->number == RECORD_ACCEPTED;
    return field->type == (number ? WIRE_VARINT : WIRE_LEN);
}

static bool read_fields(struct view bytes, struct record *record)
{
    struct proto_scan scan = proto_scan_begin(bytes);
    struct proto_field field;
    *record = (struct record){0};
    while (proto_scan_next(&scan, &field)) {
        if (!is_typed(&field))
            continue;
        switch (field.number) {
        case RECORD_RECEIVER:
            record->receiver = field.bytes;
            break;
        case RECORD_SIGNAL:
            record->signal = field.value;
            break;
        case RECORD_ENCODING:
            record->encoding = field.value;
            break;
        case RECORD_ITEMS:
            record->items = field.value;
            break;
        case RECORD_TENANT:
            record->tenant = field.bytes;
            break;
        case RECORD_AUTHORIZATION:
            record->authorization = field.bytes;
            break;
        case RECORD_CLIENT_ADDRESS:
            record->client_address = field.bytes;
            break;
        case RECORD_CLIENT_HEADERS:
            record->client_headers = field.bytes;
            break;
        case RECORD_LABEL:
            record->labels++;
            break;
        case RECORD_PROFILE:
            record->profile = field.bytes;
            break;
        case RECORD_OPAQUE:
            record->opaque = field.bytes;
            break;
        case RECORD_ACCEPTED:
            record->accepted = field.value;
            break;
        case RECORD_PAYLOAD:
            record->payload = field.bytes;
            break;
        default:
            break;
        }
    }
    return !scan.bad && record->signal < SIGNAL_COUNT && record->encoding <= BATCH_OPAQUE &&
           record->items <= UINT32_MAX && record->payload.data;
}

/* Copies a text; NULL if it is empty. False: no memory. */
static bool journal_record_copy_text(struct view view, char **text)
{
    *text = view.data ? strndup((const char *)view.data, view.size) : NULL;
    return !view.data || *text;
}

static bool journal_record_read_series(struct view bytes, size_t count, struct batch *batch)
{
    struct series_label *labels = calloc(count + 1, sizeof *labels);
    struct proto_scan scan = proto_scan_begin(bytes);
    struct proto_field field;
    size_t n = 0;
    while (labels && proto_scan_next(&scan, &field))
        if (field.number == RECORD_LABEL && field.type == WIRE_LEN)
            labels[n++] = (struct series_label){proto_find_bytes(field.bytes, LABEL_NAME),
                                                proto_find_bytes(field.bytes, LABEL_VALUE)};
    struct series *series = labels ? series_new(labels, n) : NULL;
    free(labels);
    if (series)
        batch_set_series(batch, series);
    return series != NULL;
}

static bool journal_record_read_profile(struct view bytes, struct batch *batch)
{
    struct profile_origin *origin = calloc(1, sizeof *origin);
    if (!origin)
        return false;
    batch_set_profile(batch, origin);
    origin->by_ingest = proto_find_number(bytes, PROFILE_BY_INGEST);
    origin->from_ns = proto_find_number(bytes, PROFILE_FROM);
    origin->until_ns = proto_find_number(bytes, PROFILE_UNTIL);
    return journal_record_copy_text(proto_find_bytes(bytes, PROFILE_CONFIG),
                                    &origin->sample_type_config) &&
           journal_record_copy_text(proto_find_bytes(bytes, PROFILE_SPY), &origin->spy_name);
}

static bool read_opaque(struct view bytes, struct batch *batch)
{
    struct opaque_request *request = calloc(1, sizeof *request);
    if (!request)
        return false;
    bool copied =
        journal_record_copy_text(proto_find_bytes(bytes, OPAQUE_QUERY), &request->query) &&
        journal_record_copy_text(proto_find_bytes(bytes, OPAQUE_CONTENT_TYPE),
                                 &request->content_type);
    batch_set_opaque(batch, request);
    /* The limit may have been higher when the request was accepted. */
    if (budget_never_fits(batch->payload->budget, batch_work(batch)))
        batch_forgo_plain(batch);
    return copied;
}

static bool read_client(const struct record *record, struct batch *batch)
{
    char address[PEER_TEXT];
    if (!record->client_address.data && !record->client_headers.data)
        return true;
    snprintf(address, sizeof address, "%.*s", VIEW_ARG(record->client_address));
    batch_set_client(batch, client_info_new(address, record->client_headers));
    return batch->client;
}

static bool journal_record_fill(struct view bytes, const struct record *record, struct batch *batch)
{
    bool failed = false;
    batch->recorded = record->accepted;
    if (record->tenant.data || record->authorization.data)
        batch_set_metadata(batch, metadata_new(record->tenant, record->authorization, &failed));
    return !failed && read_client(record, batch) &&
           ((record->labels == 0 && record->encoding != BATCH_PPROF) ||
            journal_record_read_series(bytes, record->labels, batch)) &&
           (!record->profile.data || journal_record_read_profile(record->profile, batch)) &&
           (!record->opaque.data || read_opaque(record->opaque, batch));
}

struct batch *journal_record_read(struct view bytes, struct budget *budget, struct view *receiver,
                                  const char **reason)
{
    struct record record;
    *reason = "this version does not know its format";
    if (!read_fields(bytes, &record))
        return NULL;
    *receiver = record.receiver;
    *reason = "out of memory";
    struct buffer *payload = buffer_new(record.payload.size, budget, true);
    if (!payload)
        return NULL;
    if (record.payload.size)
        memcpy(payload->data, record.payload.data, record.payload.size);
    struct batch *batch =
        batch_new((enum signal)record.signal, (enum batch_encoding)record.encoding, payload,
                  (uint32_t)record.items, NULL);
    if (batch && journal_record_fill(bytes, &record, batch))
        return batch;
    batch_unref(batch);
    return NULL;
}
