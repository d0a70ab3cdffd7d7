/* Export*ServiceResponse: the four signals differ only in the JSON name of the count. */
#include "lib/base/utf8.h"
#include "lib/wire/http/status.h"
#include "lib/wire/otlp/signal.h"
#include "lib/wire/proto/proto_scan.h"
#include "lib/wire/proto/text.h"

enum { PARTIAL_SUCCESS = 1, PARTIAL_REJECTED = 1, PARTIAL_MESSAGE = 2 };

static const char *const rejected_names[SIGNAL_COUNT] = {
    [SIGNAL_TRACES] = "rejectedSpans",
    [SIGNAL_METRICS] = "rejectedDataPoints",
    [SIGNAL_LOGS] = "rejectedLogRecords",
    [SIGNAL_PROFILES] = "rejectedProfiles",
};

static bool export_response_put(struct bytes *out, struct view text)
{
    return bytes_append_view(out, text) == BYTES_OK;
}

static bool encode_json(int signal, uint32_t rejected, const char *message, struct bytes *out)
{
    if (!export_response_put(out, VIEW("{\"partialSuccess\":{")))
        return false;
    if (rejected &&
        bytes_printf(out, "\"%s\":\"%u\"", rejected_names[signal], rejected) != BYTES_OK)
        return false;
    if (message &&
        ((rejected && !export_response_put(out, VIEW(","))) ||
         !export_response_put(out, VIEW("\"errorMessage\":")) || !text_json(view_of(message), out)))
        return false;
    return export_response_put(out, VIEW("}}"));
}

static bool encode_proto(uint32_t rejected, struct view message, struct bytes *out)
{
    uint8_t count[12], head[48];
    uint8_t *end = count;
    if (rejected)
        end = proto_varint_put(proto_varint_put(end, proto_tag(PARTIAL_REJECTED, WIRE_VARINT)),
                               rejected);
    struct view number = view_between(count, end);
    size_t text = message.size ? proto_len_size(PARTIAL_MESSAGE, message.size) : 0;
    end = proto_bytes_put(proto_len_put(head, PARTIAL_SUCCESS, number.size + text), number);
    if (message.size)
        end = proto_len_put(end, PARTIAL_MESSAGE, message.size);
    return export_response_put(out, view_between(head, end)) && export_response_put(out, message);
}

bool export_response_encode(int signal, bool json, uint32_t rejected, const char *message,
                            struct bytes *out)
{
    if (json)
        return encode_json(signal, rejected, message, out);
    if (rejected == 0 && !message)
        return true;
    struct bytes clean;
    bytes_init(&clean, SIZE_MAX / 2, NULL);
    bool ok =
        utf8_repair(view_of(message), &clean) && encode_proto(rejected, bytes_view(&clean), out);
    bytes_release(&clean);
    return ok;
}

static bool read_partial(struct view body, uint64_t *rejected, char *message, size_t message_size)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == PARTIAL_REJECTED && field.type == WIRE_VARINT)
            *rejected = (int64_t)field.value < 0 ? 0 : field.value;
        else if (field.number == PARTIAL_MESSAGE && field.type == WIRE_LEN)
            text_cut(field.bytes, message, message_size);
        else if (field.number <= PARTIAL_MESSAGE)
            return false;
    }
    return !scan.bad;
}

bool export_response_decode(struct view in, uint64_t *rejected, char *message, size_t message_size)
{
    struct proto_scan scan = proto_scan_begin(in);
    struct proto_field field;
    *rejected = 0;
    text_cut((struct view){0}, message, message_size);
    while (proto_scan_next(&scan, &field))
        if (field.number == PARTIAL_SUCCESS &&
            (field.type != WIRE_LEN || !read_partial(field.bytes, rejected, message, message_size)))
            return false;
    return !scan.bad;
}
