/* Responses to calls: header, message and trailer (lib/net/grpc/grpc_call.h, grpc_server.h). */
#include "lib/net/grpc/grpc_call.h"

#include "lib/net/grpc/grpc_connection.h"

#include "lib/base/clock.h"
#include "lib/wire/http/base64.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT_LIMIT = 1024 };

/* ---- the response, from any thread ---- */

static void set_message(struct grpc_call *call, struct view message)
{
    uint8_t prefix[GRPC_PREFIX_SIZE];
    /* Out of memory, send an empty response, which protobuf reads as all defaults: data that the
     * handler accepted must not look refused. */
    if (bytes_reserve(&call->reply, sizeof prefix + message.size) != BYTES_OK)
        return;
    grpc_frame_prefix(prefix, false, (uint32_t)message.size);
    bytes_append(&call->reply, prefix, sizeof prefix);
    bytes_append_view(&call->reply, message);
}

static void set_text(struct grpc_call *call, const char *text)
{
    size_t size = text ? strnlen(text, TEXT_LIMIT) : 0;
    if (bytes_reserve(&call->reply, size + 1) != BYTES_OK)
        return;
    bytes_append(&call->reply, text, size);
    bytes_append(&call->reply, "", 1);
}

void grpc_respond(struct grpc_call *call, enum grpc_code code, const char *text,
                  uint64_t retry_after_ns, struct view message)
{
    struct grpc_loop *loop = call->loop;
    call->code = code;
    call->retry_after_ns = retry_after_ns;
    if (code == GRPC_OK)
        set_message(call, message);
    else
        set_text(call, text);
    bytes_release(&call->head);
    bytes_release(&call->message);

    pthread_mutex_lock(&loop->mutex);
    bool closed = loop->closed;
    bool first = STAILQ_EMPTY(&loop->answered);
    if (!closed) {
        STAILQ_INSERT_TAIL(&loop->answered, call, of_answered);
        /* The loop's own thread checks the list before it sleeps again. Under the mutex, because
         * the loop may be freed as soon as this call is. */
        if (first && !pthread_equal(pthread_self(), loop->thread))
            grpc_loop_wake(loop);
    }
    pthread_mutex_unlock(&loop->mutex);
    if (closed)
        grpc_call_free(call);
}

/* ---- submitting the response to the session ---- */

static nghttp2_nv field(const char *name, const char *value, size_t size)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = size,
                        .flags = NGHTTP2_NV_FLAG_NONE};
}

static nghttp2_nv text_field(const char *name, const char *value)
{
    return field(name, value, strlen(value));
}

static int submit_trailer(nghttp2_session *session, int32_t stream)
{
    nghttp2_nv trailer = text_field("grpc-status", "0");
    return nghttp2_submit_trailer(session, stream, &trailer, 1);
}

static ssize_t grpc_answer_read_reply(nghttp2_session *session, int32_t stream, uint8_t *out,
                                      size_t room, uint32_t *flags, nghttp2_data_source *source,
                                      void *ctx)
{
    static const uint8_t empty_message[GRPC_PREFIX_SIZE];
    struct grpc_call *call = source->ptr;
    struct view reply = call->reply.size ? bytes_view(&call->reply)
                                         : (struct view){empty_message, sizeof empty_message};
    size_t rest = reply.size - call->replied;
    size_t n = rest < room ? rest : room;
    (void)ctx;
    memcpy(out, reply.data + call->replied, n);
    call->replied += n;
    if (call->replied < reply.size)
        return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    return submit_trailer(session, stream) == 0 ? (ssize_t)n : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int submit_message(struct grpc_call *call)
{
    const nghttp2_nv fields[] = {text_field(":status", "200"),
                                 text_field("content-type", "application/grpc")};
    nghttp2_data_provider provider = {.source.ptr = call, .read_callback = grpc_answer_read_reply};
    return nghttp2_submit_response(call->connection->session, call->stream, fields, 2, &provider);
}

static bool encode_details(const struct grpc_call *call, const char *text, struct bytes *out)
{
    struct bytes status;
    bytes_init(&status, 2 * TEXT_LIMIT, NULL);
    bool ok = rpc_status_encode(call->code, text, call->retry_after_ns, &status) &&
              base64_encode(bytes_view(&status), out);
    while (ok && out->size && out->data[out->size - 1] == '=')
        out->size--; /* gRPC prefers no padding */
    bytes_release(&status);
    return ok;
}

static int submit_error(struct grpc_call *call)
{
    char http[16], code[16], message[3 * TEXT_LIMIT + 1];
    const char *text = call->reply.size ? (const char *)call->reply.data : "";
    struct bytes details;
    snprintf(http, sizeof http, "%u", call->http_status);
    snprintf(code, sizeof code, "%u", (unsigned)call->code);
    grpc_message_encode(text, message, sizeof message);
    bytes_init(&details, 4 * TEXT_LIMIT, NULL);
    nghttp2_nv fields[6] = {text_field(":status", http),
                            text_field("content-type", "application/grpc"),
                            text_field("grpc-status", code), text_field("grpc-message", message)};
    size_t count = 4;
    if (call->list_encodings)
        fields[count++] = text_field("grpc-accept-encoding", "identity,gzip,zstd,snappy,deflate");
    if (call->retry_after_ns && encode_details(call, text, &details))
        fields[count++] =
            field("grpc-status-details-bin", (const char *)details.data, details.size);
    int result =
        nghttp2_submit_response(call->connection->session, call->stream, fields, count, NULL);
    bytes_release(&details);
    return result;
}

void grpc_call_submit(struct grpc_call *call)
{
    struct grpc_connection *connection = call->connection;
    bool handled = call->state == GRPC_CALL_HANDLED;
    if (!connection) {
        grpc_call_free(call);
        return;
    }
    call->state = GRPC_CALL_ANSWERED;
    connection->handled -= handled;
    if (handled && connection->offences)
        connection->offences--;
    if (handled)
        connection->noise = 0;
    grpc_keepalive_answered(connection);
    nghttp2_session *session = connection->session;
    int failed = call->code == GRPC_OK ? submit_message(call) : submit_error(call);
    if (failed)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, call->stream, NGHTTP2_INTERNAL_ERROR);
    grpc_connection_progress(connection);
    grpc_connection_mark(connection);
}

static void submit_refusal(struct grpc_call *call, enum grpc_code code, const struct outcome *why)
{
    call->code = code;
    call->retry_after_ns = outcome_retry_seconds(why) * NS_PER_S;
    set_text(call, why->text);
    bytes_release(&call->head);
    arrival_drop(&call->arrival);
    bytes_release(&call->message);
    grpc_call_submit(call);
}

/* The causes of the codes with which the server itself refuses calls. */
static enum cause cause_of(const struct grpc_call *call, enum grpc_code code)
{
    if (code == GRPC_UNAVAILABLE)
        return CAUSE_MEMORY;
    if (code == GRPC_RESOURCE_EXHAUSTED)
        return CAUSE_TOO_LARGE;
    if (call->list_encodings)
        return CAUSE_ENCODING;
    if (code == GRPC_DEADLINE_EXCEEDED)
        return CAUSE_SLOW;
    return code == GRPC_UNIMPLEMENTED || call->http_status != 200 ? CAUSE_UNSUPPORTED
                                                                  : CAUSE_INVALID;
}

void grpc_call_refuse(struct grpc_call *call, enum grpc_code code, const char *format, ...)
{
    struct outcome why = {.verdict = VERDICT_REJECT, .cause = cause_of(call, code)};
    va_list args;
    va_start(args, format);
    vsnprintf(why.text, sizeof why.text, format, args);
    va_end(args);
    if (why.cause == CAUSE_MEMORY)
        why.verdict = VERDICT_RETRY;
    grpc_call_refused(call, &why);
    submit_refusal(call, code, &why);
}

void grpc_call_refuse_by(struct grpc_call *call, const struct outcome *why)
{
    grpc_call_refused(call, why);
    submit_refusal(call, status_grpc(why), why);
}
