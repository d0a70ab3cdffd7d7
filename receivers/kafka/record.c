#include "receivers/kafka/record.h"

#include "lib/wire/otlp/otlp.h"
#include "pipeline/batch_edit.h"
#include "pipeline/native_record.h"
#include "pipeline/otlp_request.h"

#include <stdio.h>

/* Field numbers of opentelemetry-proto, the same in all signals whose entries have a resource. */
enum { ENTRY_RESOURCE = 1, RESOURCE_ATTRIBUTES = 1, HEADER_KEY_SIZE = 256, NATIVE_HEADERS = 512 };

struct view record_header(const rd_kafka_message_t *message, const char *name)
{
    rd_kafka_headers_t *headers;
    const void *value;
    size_t size;
    const char *found;
    if (rdkafka.message_headers(message, &headers))
        return (struct view){0};
    for (size_t i = 0; !rdkafka.header_get_all(headers, i, &found, &value, &size); i++)
        if (strcasecmp(found, name) == 0)
            return (struct view){value ? value : "", size};
    return (struct view){0};
}

/* ---- header_extraction ---- */

static void extract_into(struct batch_edit *edit, const struct proto_field *entry,
                         struct view attribute)
{
    struct proto_field resource;
    if (!proto_find(entry->bytes, ENTRY_RESOURCE, WIRE_LEN, &resource))
        return;
    splice_enter(&edit->splice, entry);
    splice_enter(&edit->splice, &resource);
    splice_insert(&edit->splice, resource.end, attribute);
    splice_leave(&edit->splice);
    splice_leave(&edit->splice);
}

/* The attributes kafka.header.NAME of the headers that the record has, one behind the other. */
static struct view extracted(const struct kafka_receiver *self, const rd_kafka_message_t *message,
                             struct batch_edit *edit)
{
    const struct key_list *names = &self->extraction.headers;
    char key[HEADER_KEY_SIZE];
    size_t size = 0;
    for (size_t i = 0; i < names->count; i++) {
        struct view value = record_header(message, names->items[i]);
        snprintf(key, sizeof key, "kafka.header.%s", names->items[i]);
        if (value.data)
            size += otlp_string_attribute_size(view_of(key), value);
    }
    uint8_t *start = size ? batch_edit_alloc(edit, size) : NULL, *at = start;
    for (size_t i = 0; start && i < names->count; i++) {
        struct view value = record_header(message, names->items[i]);
        snprintf(key, sizeof key, "kafka.header.%s", names->items[i]);
        if (value.data)
            at = otlp_string_attribute_put(at, RESOURCE_ATTRIBUTES, view_of(key), value);
    }
    return view_between(start, at);
}

/* Replaces the batch. False: no memory. */
static bool extract_headers(const struct kafka_receiver *self, const rd_kafka_message_t *message,
                            struct batch **batch)
{
    struct batch_edit edit;
    struct otlp_walk walk;
    batch_edit_begin(&edit, *batch);
    struct view attributes = extracted(self, message, &edit);
    otlp_walk_begin(&walk, (*batch)->signal, edit.request);
    for (enum otlp_step step; attributes.size && (step = otlp_walk_next(&walk)) != OTLP_END;)
        if (step == OTLP_RESOURCE)
            extract_into(&edit, &walk.resource_entry, attributes);
    struct batch *edited = batch_edit_end(&edit);
    batch_unref(*batch);
    *batch = edited;
    return edited;
}

/* ---- reading ---- */

static struct outcome read_otlp(const struct kafka_receiver *self, enum signal signal,
                                const rd_kafka_message_t *message, struct view value,
                                struct batch **batch)
{
    struct budget *budget = self->env->budget;
    struct otlp_request request;
    struct bytes body;
    bytes_init(&body, budget_cap(budget, SIZE_MAX), budget);
    enum bytes_result copied = bytes_append_view(&body, value);
    if (copied != BYTES_OK) {
        bytes_release(&body);
        return copied == BYTES_FULL ? outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE,
                                                 "the record is too large for the memory limit")
                                    : outcome_no_memory();
    }
    struct outcome outcome = otlp_request_read(
        signal, self->signals[signal].encoding == KAFKA_OTLP_JSON, &body, &request);
    *batch = request.batch;
    if (request.rejected && outcome.verdict == VERDICT_OK) {
        struct outcome why = outcome_of(VERDICT_OK, CAUSE_INVALID, "%s", request.reason);
        const struct refusal refusal = {.transport = ADMISSION_PULL,
                                        .signal = (int)signal,
                                        .why = &why,
                                        .items = request.rejected};
        meter_refused(self->env->meter, &refusal);
    }
    if (*batch && self->extraction.extract_headers && signal != SIGNAL_PROFILES &&
        !extract_headers(self, message, batch))
        return outcome_no_memory();
    return outcome;
}

static struct outcome read_native(const struct kafka_receiver *self,
                                  const rd_kafka_message_t *message, struct view value,
                                  struct batch **batch)
{
    struct native_header headers[NATIVE_HEADERS];
    rd_kafka_headers_t *list;
    struct outcome why = OUTCOME_OK;
    const void *content;
    size_t count = 0, size;
    if (rdkafka.message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR)
        while (count < NATIVE_HEADERS &&
               !rdkafka.header_get_all(list, count, &headers[count].name, &content, &size))
            headers[count++].value = (struct view){content ? content : "", size};
    *batch = native_record_read(value, headers, count, budget_cap(self->env->budget, SIZE_MAX),
                                self->env->budget, &why);
    return why;
}

/* Sets the tenant, which native records have in a header too. */
static bool set_metadata(const struct kafka_receiver *self, const rd_kafka_message_t *message,
                         struct batch *batch)
{
    bool failed = false;
    struct view tenant = record_header(message, NATIVE_TENANT);
    batch_set_metadata(
        batch, self->include_metadata ? metadata_new(tenant, (struct view){0}, &failed) : NULL);
    return !failed;
}

struct outcome record_read(const struct kafka_receiver *self, enum signal signal,
                           const rd_kafka_message_t *message, struct view value,
                           struct batch **batch)
{
    *batch = NULL;
    struct outcome outcome = self->signals[signal].encoding == KAFKA_NATIVE
                                 ? read_native(self, message, value, batch)
                                 : read_otlp(self, signal, message, value, batch);
    if (outcome.verdict == VERDICT_OK && *batch && !set_metadata(self, message, *batch))
        outcome = outcome_no_memory();
    if (outcome.verdict != VERDICT_OK) {
        batch_unref(*batch);
        *batch = NULL;
    }
    return outcome;
}
