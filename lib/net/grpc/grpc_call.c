#include "lib/net/grpc/grpc_connection.h"

#include "lib/base/clock.h"
#include "lib/wire/codec/inflate_final.h"

#include <stdlib.h>
#include <strings.h>

/* ---- time limits ---- */

/* When an arriving call will be too late or too slow if no more bytes arrive. */
static uint64_t due_at(const struct grpc_call *call)
{
    const struct grpc_server_options *options = &call->loop->server->options;
    uint64_t timeout = options->message_timeout_ns;
    uint64_t earned = call->received / options->message_rate * NS_PER_S;
    uint64_t silent = call->received_at + timeout;
    uint64_t slow = call->begun + (earned > timeout ? earned : timeout);
    return silent < slow ? silent : slow;
}

/* Later bytes do not reschedule the check; it recomputes the deadline when it runs. */
static void look_by(struct grpc_connection *connection, uint64_t due)
{
    if (due >= connection->calls_due)
        return;
    connection->calls_due = due;
    grpc_loop_due(connection->loop, due);
}

void grpc_calls_check_deadlines(struct grpc_connection *connection)
{
    struct grpc_call *call;
    connection->calls_due = TIME_NEVER;
    TAILQ_FOREACH(call, &connection->calls, of_connection)
    {
        if (call->state != GRPC_CALL_ARRIVING)
            continue;
        if (due_at(call) <= connection->loop->now)
            grpc_call_refuse(call, GRPC_DEADLINE_EXCEEDED, "the message did not arrive in time");
        else
            look_by(connection, due_at(call));
    }
}

void grpc_calls_postpone(struct grpc_connection *connection, uint64_t ns)
{
    struct grpc_call *call;
    TAILQ_FOREACH(call, &connection->calls, of_connection)
    {
        call->begun += ns;
        call->received_at += ns;
    }
}

/* ---- the header ---- */

struct grpc_call *grpc_call_new(struct grpc_connection *connection, int32_t stream)
{
    struct grpc_server *server = connection->loop->server;
    struct grpc_call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->loop = connection->loop;
    call->connection = connection;
    call->stream = stream;
    call->peer = connection->peer;
    call->http_status = 200;
    call->begun = call->received_at = connection->loop->now;
    bytes_init(&call->head, 2 * (size_t)GRPC_HEADER_LIMIT, server->options.budget);
    bytes_init(&call->message, 0, server->options.budget);
    bytes_init(&call->reply, SIZE_MAX / 2, NULL);
    TAILQ_INSERT_TAIL(&connection->calls, call, of_connection);
    grpc_server_ref(server);
    look_by(connection, due_at(call));
    return call;
}

static const char *head_text(const struct grpc_call *call, size_t offset)
{
    return offset ? (const char *)call->head.data + offset : NULL;
}

static size_t store(struct grpc_call *call, struct view name, struct view value)
{
    size_t need = name.size + value.size + 2;
    size_t ahead = call->head.size ? need : need + 512;
    if (bytes_reserve(&call->head, ahead) != BYTES_OK &&
        bytes_reserve(&call->head, need) != BYTES_OK) {
        call->header_starved = true;
        return 0;
    }
    bytes_append_view(&call->head, name);
    bytes_append(&call->head, "", 1);
    size_t offset = call->head.size;
    bytes_append_view(&call->head, value);
    bytes_append(&call->head, "", 1);
    return offset;
}

void grpc_call_header(struct grpc_call *call, struct view name, struct view value)
{
    call->header_size += name.size + value.size + 32;
    call->header_overflow |= call->header_size > GRPC_HEADER_LIMIT;
    if (call->header_overflow || call->header_starved)
        return;
    size_t offset = store(call, name, value);
    if (view_eq(name, VIEW(":path")))
        call->path = offset;
    else if (view_eq(name, VIEW(":method")))
        call->method = offset;
    else if (view_eq(name, VIEW("content-type")))
        call->content_type = offset;
    else if (view_eq(name, VIEW("grpc-encoding")))
        call->encoding = offset;
}

static bool content_type_fits(const char *type)
{
    static const char stem[] = "application/grpc";
    size_t size = sizeof stem - 1;
    if (!type || strncasecmp(type, stem, size) != 0)
        return false;
    type += strncasecmp(type + size, "+proto", 6) == 0 ? size + 6 : size;
    return *type == '\0' || *type == ';' || *type == ' ';
}

static void starve(struct grpc_call *call)
{
    grpc_call_refuse(call, GRPC_UNAVAILABLE, "the memory limit is reached");
}

static void refuse_http(struct grpc_call *call, unsigned status, const char *text)
{
    call->http_status = status;
    grpc_call_refuse(call, GRPC_INTERNAL, "%s", text);
}

static enum encoding_name encoding_of(const struct grpc_call *call)
{
    return encoding_parse_grpc(view_of(head_text(call, call->encoding)));
}

static struct outcome outcome_unknown_path(const struct grpc_server_options *options,
                                           const char *path)
{
    if (path && options->unserved)
        return options->unserved(options->ctx, path);
    return outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED, "unknown service or method");
}

static void check_service(struct grpc_call *call)
{
    const struct grpc_server_options *options = &call->loop->server->options;
    const char *path = head_text(call, call->path);
    if (!path || !options->serves(options->ctx, path)) {
        struct outcome why = outcome_unknown_path(options, path);
        grpc_call_refuse_by(call, &why);
    } else if (encoding_of(call) == ENCODING_UNKNOWN || !encoding_ready(encoding_of(call))) {
        call->list_encodings = true;
        grpc_call_refuse(call, GRPC_UNIMPLEMENTED, "grpc-encoding %.64s is not supported",
                         head_text(call, call->encoding));
    }
}

void grpc_call_begin(struct grpc_call *call)
{
    const char *method = head_text(call, call->method);
    if (call->header_overflow)
        grpc_call_refuse(call, GRPC_RESOURCE_EXHAUSTED,
                         "the header is larger than the maximum of %d bytes", GRPC_HEADER_LIMIT);
    else if (call->header_starved)
        starve(call);
    else if (!method || strcmp(method, "POST") != 0)
        refuse_http(call, 405, "gRPC calls use the method POST");
    else if (!content_type_fits(head_text(call, call->content_type)))
        refuse_http(call, 415, "the content type is not application/grpc");
    else if (grpc_auth_admits(call))
        check_service(call);
}

/* ---- the message ---- */

static void start_message(struct grpc_call *call)
{
    const struct grpc_server_options *options = &call->loop->server->options;
    const uint8_t *at = call->prefix;
    size_t size = (size_t)at[1] << 24 | (size_t)at[2] << 16 | (size_t)at[3] << 8 | at[4];
    if (at[0] > 1)
        grpc_call_refuse(call, GRPC_INTERNAL, "the message's flag is %u, not 0 or 1", at[0]);
    else if (size > options->max_message)
        grpc_call_refuse(call, GRPC_RESOURCE_EXHAUSTED,
                         "the message of %zu bytes is larger than the maximum of %zu", size,
                         options->max_message);
    else if (budget_never_fits(options->budget, size))
        grpc_call_refuse(call, GRPC_RESOURCE_EXHAUSTED,
                         "the message of %zu bytes is larger than the maximum of %zu that the "
                         "memory limit allows",
                         size, budget_largest(options->budget));
    else
        arrival_begin(&call->arrival, options->budget, size, size);
}

void grpc_call_data(struct grpc_call *call, struct view data)
{
    if (call->state != GRPC_CALL_ARRIVING || data.size == 0)
        return;
    call->received_at = call->loop->now;
    call->received += data.size;
    while (call->prefix_size < GRPC_PREFIX_SIZE && data.size) {
        call->prefix[call->prefix_size++] = *data.data++;
        data.size--;
        if (call->prefix_size == GRPC_PREFIX_SIZE)
            start_message(call);
    }
    if (call->state != GRPC_CALL_ARRIVING || data.size == 0)
        return;
    enum bytes_result result = arrival_append(&call->arrival, data.data, data.size);
    if (result == BYTES_FULL)
        grpc_call_refuse(call, GRPC_INTERNAL, "bytes follow the message of a unary call");
    else if (result == BYTES_NO_MEMORY)
        starve(call);
}

static bool inflate_message(struct grpc_call *call)
{
    const struct grpc_server_options *options = &call->loop->server->options;
    struct bytes plain;
    /* Content that could never be accepted is too large rather than retryable. */
    bytes_init(&plain, budget_cap(options->budget, options->max_message), options->budget);
    struct view packed = bytes_view(&call->message);
    enum inflate_result result = inflate_append(encoding_of(call), packed, &plain);
    if (result != INFLATE_OK)
        bytes_release(&plain);
    switch (inflate_final(encoding_of(call), packed, plain.max, options->budget, result)) {
    case INFLATE_OK:
        bytes_release(&call->message);
        call->message = plain;
        return true;
    case INFLATE_BAD:
        grpc_call_refuse(call, GRPC_INVALID_ARGUMENT, "the message is not valid %s",
                         encoding_text(encoding_of(call)));
        break;
    case INFLATE_TOO_LARGE:
        grpc_call_refuse(call, GRPC_RESOURCE_EXHAUSTED,
                         "the decompressed message is larger than the maximum of %zu bytes",
                         plain.max);
        break;
    case INFLATE_NO_MEMORY:
        starve(call);
        break;
    }
    bytes_release(&plain);
    return false;
}

static bool finish_message(struct grpc_call *call)
{
    if (call->prefix_size == 0) {
        grpc_call_refuse(call, GRPC_INTERNAL, "the call has no message");
        return false;
    }
    if (call->prefix_size < GRPC_PREFIX_SIZE || call->arrival.received < call->arrival.declared) {
        grpc_call_refuse(call, GRPC_INTERNAL, "the message is truncated");
        return false;
    }
    if (!arrival_end(&call->arrival, &call->message)) {
        starve(call);
        return false;
    }
    if (!call->prefix[0])
        return true;
    if (encoding_of(call) == ENCODING_IDENTITY) {
        grpc_call_refuse(call, GRPC_INTERNAL, "a compressed message without grpc-encoding");
        return false;
    }
    return inflate_message(call);
}

void grpc_call_end(struct grpc_call *call)
{
    if (call->state != GRPC_CALL_ARRIVING || !finish_message(call))
        return;
    call->state = GRPC_CALL_HANDLED;
    call->connection->handled++;
    grpc_auth_handle(call);
}

/* ---- the end ---- */

void grpc_call_detach(struct grpc_call *call)
{
    TAILQ_REMOVE(&call->connection->calls, call, of_connection);
    if (call->state == GRPC_CALL_HANDLED)
        call->connection->handled--;
    call->connection = NULL;
    if (call->state != GRPC_CALL_HANDLED)
        grpc_call_free(call);
}

void grpc_call_free(struct grpc_call *call)
{
    struct grpc_server *server = call->loop->server;
    bytes_release(&call->head);
    arrival_drop(&call->arrival);
    bytes_release(&call->message);
    bytes_release(&call->reply);
    free(call);
    grpc_server_unref(server);
}

/* ---- for handlers ---- */

const char *grpc_call_path(const struct grpc_call *call)
{
    return head_text(call, call->path);
}

const char *grpc_call_metadata(const struct grpc_call *call, const char *name)
{
    const char *at = (const char *)call->head.data;
    const char *end = at + call->head.size;
    while (at < end) {
        const char *value = at + strlen(at) + 1;
        if (strcasecmp(at, name) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

struct view grpc_call_metadata_all(const struct grpc_call *call)
{
    return bytes_view(&call->head);
}

const struct peer *grpc_call_peer(const struct grpc_call *call)
{
    return &call->peer;
}

void grpc_call_refused(const struct grpc_call *call, const struct outcome *why)
{
    const struct grpc_server_options *options = &call->loop->server->options;
    if (options->refused)
        options->refused(options->ctx, grpc_call_path(call), &call->peer, why);
}

void grpc_call_left(const struct grpc_call *call)
{
    struct outcome why = outcome_of(VERDICT_REJECT, CAUSE_INCOMPLETE,
                                    "the client left after %llu bytes of its message",
                                    (unsigned long long)call->received);
    if (call->state == GRPC_CALL_ARRIVING)
        grpc_call_refused(call, &why);
}

void grpc_calls_left(const struct grpc_connection *connection)
{
    const struct grpc_call *call;
    TAILQ_FOREACH(call, &connection->calls, of_connection)
    {
        grpc_call_left(call);
    }
}

void grpc_call_take_message(struct grpc_call *call, struct bytes *out)
{
    *out = call->message;
    bytes_init(&call->message, 0, out->budget);
}
