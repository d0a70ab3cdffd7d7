#include "tests/support/otlp_reference.h"

#include "opentelemetry/proto/collector/logs/v1/logs_service.pb-c.h"
#include "opentelemetry/proto/collector/metrics/v1/metrics_service.pb-c.h"
#include "opentelemetry/proto/collector/profiles/v1development/profiles_service.pb-c.h"
#include "opentelemetry/proto/collector/trace/v1/trace_service.pb-c.h"

#include <stdlib.h>

#define REQUEST(path, name)                                                                        \
    &opentelemetry__proto__collector__##path##__export_##name##_service_request__descriptor

static const ProtobufCMessageDescriptor *const descriptors[SIGNAL_COUNT] = {
    [SIGNAL_TRACES] = REQUEST(trace__v1, trace),
    [SIGNAL_METRICS] = REQUEST(metrics__v1, metrics),
    [SIGNAL_LOGS] = REQUEST(logs__v1, logs),
    [SIGNAL_PROFILES] = REQUEST(profiles__v1development, profiles),
};

ProtobufCMessage *otlp_reference_read(enum signal signal, struct view request)
{
    return protobuf_c_message_unpack(descriptors[signal], NULL, request.size, request.data);
}

/* Unknown fields differ by their position in the bytes, not by meaning, so they are left out. */
static void forget_unknown(ProtobufCMessage *message);

static void forget_field(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    char *member = (char *)message + field->offset;
    if (field->type != PROTOBUF_C_TYPE_MESSAGE)
        return;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t count = *(size_t *)(void *)((char *)message + field->quantifier_offset);
        for (size_t i = 0; i < count; i++)
            forget_unknown((*(ProtobufCMessage ***)(void *)member)[i]);
        return;
    }
    bool oneof = field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
    uint32_t set = *(uint32_t *)(void *)((char *)message + field->quantifier_offset);
    ProtobufCMessage *inner = *(ProtobufCMessage **)(void *)member;
    if (inner && (!oneof || set == field->id))
        forget_unknown(inner);
}

static void forget_unknown(ProtobufCMessage *message)
{
    for (unsigned i = 0; i < message->n_unknown_fields; i++)
        free(message->unknown_fields[i].data);
    if (message->n_unknown_fields)
        free(message->unknown_fields);
    message->n_unknown_fields = 0;
    message->unknown_fields = NULL;
    for (unsigned i = 0; i < message->descriptor->n_fields; i++)
        forget_field(message, &message->descriptor->fields[i]);
}

bool otlp_reference_normal(enum signal signal, struct view request, struct bytes *out)
{
    ProtobufCMessage *message = otlp_reference_read(signal, request);
    if (!message)
        return false;
    forget_unknown(message);
    size_t size = protobuf_c_message_get_packed_size(message);
    if (bytes_reserve(out, size + 1) != BYTES_OK)
        abort();
    out->size += protobuf_c_message_pack(message, out->data + out->size);
    protobuf_c_message_free_unpacked(message, NULL);
    return true;
}

bool otlp_reference_same(enum signal signal, struct view a, struct view b)
{
    struct bytes left, right;
    bytes_init(&left, SIZE_MAX / 2, NULL);
    bytes_init(&right, SIZE_MAX / 2, NULL);
    bool same = otlp_reference_normal(signal, a, &left) &&
                otlp_reference_normal(signal, b, &right) &&
                view_eq(bytes_view(&left), bytes_view(&right));
    bytes_release(&left);
    bytes_release(&right);
    return same;
}
