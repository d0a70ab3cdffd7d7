/* google.rpc.Status with google.rpc.RetryInfo: small enough to be encoded and decoded by hand. */
#include "lib/base/utf8.h"
#include "lib/wire/http/status.h"
#include "lib/wire/proto/proto_scan.h"
#include "lib/wire/proto/text.h"

#define NS              UINT64_C(1000000000)
#define RETRY_INFO_TYPE "type.googleapis.com/google.rpc.RetryInfo"

/* Longer waits are practically infinite; keeps sums within 64 bits. */
#define MAX_SECONDS (UINT64_C(365) * 24 * 3600)

enum {
    STATUS_CODE = 1,
    STATUS_MESSAGE = 2,
    STATUS_DETAILS = 3,
    ANY_TYPE_URL = 1,
    ANY_VALUE = 2,
    RETRY_DELAY = 1,
    DURATION_SECONDS = 1,
    DURATION_NANOS = 2
};

static uint8_t *rpc_status_put_number(uint8_t *out, uint32_t number, uint64_t value)
{
    if (value == 0)
        return out;
    return proto_varint_put(proto_varint_put(out, proto_tag(number, WIRE_VARINT)), value);
}

/* Writes a details field with RetryInfo; out has room for 128 bytes. */
static uint8_t *put_retry_info(uint8_t *out, uint64_t ns)
{
    uint8_t duration[32];
    uint8_t *end = rpc_status_put_number(duration, DURATION_SECONDS, ns / NS);
    end = rpc_status_put_number(end, DURATION_NANOS, ns % NS);
    struct view delay = view_between(duration, end);
    struct view type = VIEW(RETRY_INFO_TYPE);
    size_t info = proto_len_size(RETRY_DELAY, delay.size);
    size_t any = proto_len_size(ANY_TYPE_URL, type.size) + proto_len_size(ANY_VALUE, info);
    out = proto_len_put(out, STATUS_DETAILS, any);
    out = proto_bytes_put(proto_len_put(out, ANY_TYPE_URL, type.size), type);
    out = proto_len_put(out, ANY_VALUE, info);
    return proto_bytes_put(proto_len_put(out, RETRY_DELAY, delay.size), delay);
}

/* Writes a string field with text converted to valid UTF-8, as protobuf requires. */
static bool rpc_status_put_text(uint32_t number, const char *text, struct bytes *out)
{
    struct bytes clean;
    bytes_init(&clean, SIZE_MAX / 2, NULL);
    uint8_t head[20];
    bool ok = utf8_repair(view_of(text), &clean);
    struct view before = view_between(head, proto_len_put(head, number, clean.size));
    ok = ok && (clean.size == 0 || (bytes_append_view(out, before) == BYTES_OK &&
                                    bytes_append_view(out, bytes_view(&clean)) == BYTES_OK));
    bytes_release(&clean);
    return ok;
}

bool rpc_status_encode(enum grpc_code code, const char *message, uint64_t retry_after_ns,
                       struct bytes *out)
{
    uint8_t head[16], tail[128];
    struct view number = view_between(head, rpc_status_put_number(head, STATUS_CODE, code));
    struct view info = {0};
    if (retry_after_ns)
        info = view_between(tail, put_retry_info(tail, retry_after_ns));
    return bytes_append_view(out, number) == BYTES_OK &&
           (!message || rpc_status_put_text(STATUS_MESSAGE, message, out)) &&
           bytes_append_view(out, info) == BYTES_OK;
}

/* Writes a Duration in protobuf's JSON form: "1s", "1.500s", "0.000000001s". */
static bool put_duration(uint64_t ns, struct bytes *out)
{
    unsigned long long seconds = ns / NS, rest = ns % NS;
    if (rest == 0)
        return bytes_printf(out, "\"%llus\"", seconds) == BYTES_OK;
    if (rest % 1000000 == 0)
        return bytes_printf(out, "\"%llu.%03llus\"", seconds, rest / 1000000) == BYTES_OK;
    return bytes_printf(out, "\"%llu.%09llus\"", seconds, rest) == BYTES_OK;
}

bool rpc_status_encode_json(enum grpc_code code, const char *message, uint64_t retry_after_ns,
                            struct bytes *out)
{
    if (bytes_printf(out, "{\"code\":%d,\"message\":", (int)code) != BYTES_OK ||
        !text_json(view_of(message ? message : ""), out))
        return false;
    if (retry_after_ns &&
        (bytes_printf(out, ",\"details\":[{\"@type\":\"%s\",\"retryDelay\":", RETRY_INFO_TYPE) !=
             BYTES_OK ||
         !put_duration(retry_after_ns, out) || bytes_append(out, "}]", 2) != BYTES_OK))
        return false;
    return bytes_append(out, "}", 1) == BYTES_OK;
}

static bool read_duration(struct view body, uint64_t *ns)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    uint64_t seconds = 0, nanos = 0;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == DURATION_SECONDS && field.type == WIRE_VARINT)
            seconds = field.value;
        else if (field.number == DURATION_NANOS && field.type == WIRE_VARINT)
            nanos = field.value;
    }
    /* A negative duration means no wait. */
    bool negative = (int64_t)seconds < 0 || (int64_t)nanos < 0;
    seconds = seconds > MAX_SECONDS ? MAX_SECONDS : seconds;
    *ns = negative ? 0 : seconds * NS + nanos % NS;
    return !scan.bad;
}

static bool read_retry_info(struct view body, uint64_t *ns)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    while (proto_scan_next(&scan, &field))
        if (field.number == RETRY_DELAY && field.type == WIRE_LEN &&
            !read_duration(field.bytes, ns))
            return false;
    return !scan.bad;
}

/* Reads one entry of details; ignores types other than RetryInfo. False: malformed. */
static bool read_detail(struct view any, bool *has_retry_info, uint64_t *ns)
{
    struct proto_scan scan = proto_scan_begin(any);
    struct proto_field field;
    struct view type = {0}, value = {0};
    while (proto_scan_next(&scan, &field)) {
        if (field.number == ANY_TYPE_URL && field.type == WIRE_LEN)
            type = field.bytes;
        else if (field.number == ANY_VALUE && field.type == WIRE_LEN)
            value = field.bytes;
    }
    if (scan.bad || !view_eq(type, VIEW(RETRY_INFO_TYPE)))
        return !scan.bad;
    *has_retry_info = true;
    return read_retry_info(value, ns);
}

bool rpc_status_decode(struct view in, int *code, char *message, size_t message_size,
                       bool *has_retry_info, uint64_t *retry_after_ns)
{
    struct proto_scan scan = proto_scan_begin(in);
    struct proto_field field;
    bool ok = true;
    *code = 0;
    *has_retry_info = false;
    *retry_after_ns = 0;
    text_cut((struct view){0}, message, message_size);
    while (ok && proto_scan_next(&scan, &field)) {
        if (field.number == STATUS_CODE && field.type == WIRE_VARINT)
            *code = (int)(uint32_t)field.value;
        else if (field.number == STATUS_MESSAGE && field.type == WIRE_LEN)
            text_cut(field.bytes, message, message_size);
        else if (field.number == STATUS_DETAILS && field.type == WIRE_LEN)
            ok = read_detail(field.bytes, has_retry_info, retry_after_ns);
        else if (field.number <= STATUS_DETAILS)
            ok = false;
    }
    return ok && !scan.bad;
}
