#include "pipeline/otlp_request.h"

#include "wire/otlp.h"
#include "wire/otlp_json.h"

/* Room for the edits that take invalid spans out of one request. */
enum { EDIT_CAP = 64 << 20 };

static struct outcome no_memory(void)
{
    struct outcome outcome = outcome_of(VERDICT_RETRY, CAUSE_MEMORY,
                                        "data refused due to high memory usage");
    outcome.retry_after_ns = UINT64_C(1000000000);
    return outcome;
}

static struct outcome from_json(enum signal signal, struct bytes *body)
{
    struct bytes binary;
    char reason[128];
    bytes_init(&binary, body->max, body->budget);
    bool read = otlp_json_read(signal, bytes_view(body), &binary, reason, sizeof reason);
    bytes_release(body);
    *body = binary;
    if (read)
        return OUTCOME_OK;
    bytes_release(body);
    return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "malformed JSON: %s", reason);
}

static struct outcome check(enum signal signal, const struct bytes *body, uint32_t *items)
{
    struct proto_fault fault;
    if (otlp_check(signal, bytes_view(body), items, &fault))
        return OUTCOME_OK;
    return outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                      "malformed protobuf: %s in %s, field %u, at byte %zu", fault.reason,
                      fault.message, fault.field, fault.offset);
}

static struct buffer *spliced(const struct splice *splice, struct budget *budget)
{
    struct buffer *buffer = buffer_new(splice_size(splice), budget, false);
    if (buffer)
        splice_write(splice, buffer->data);
    return buffer;
}

static struct buffer *without_invalid(struct bytes *body, struct otlp_request *request)
{
    struct arena arena;
    struct splice splice;
    struct buffer *buffer = NULL;
    arena_init(&arena, EDIT_CAP);
    splice_begin(&splice, bytes_view(body), &arena);
    request->rejected = otlp_traces_drop_invalid(bytes_view(body), &splice, &request->reason);
    if (request->rejected == 0)
        buffer = buffer_from_bytes(body);
    else if (!splice.failed)
        buffer = spliced(&splice, body->budget);
    arena_release(&arena);
    return buffer;
}

struct outcome otlp_request_read(enum signal signal, bool json, struct bytes *body,
                                 struct otlp_request *request)
{
    *request = (struct otlp_request){0};
    struct outcome outcome = json ? from_json(signal, body) : OUTCOME_OK;
    if (outcome.verdict == VERDICT_OK)
        outcome = check(signal, body, &request->received);
    if (outcome.verdict == VERDICT_OK && request->received > 0) {
        struct buffer *buffer = signal == SIGNAL_TRACES ? without_invalid(body, request)
                                                        : buffer_from_bytes(body);
        uint32_t items = request->received - request->rejected;
        if (!buffer)
            outcome = no_memory();
        else if (items == 0)
            buffer_unref(buffer);
        else if (!(request->batch = batch_new(signal, BATCH_OTLP, buffer, items, NULL)))
            outcome = no_memory();
    }
    bytes_release(body);
    return outcome;
}
