/* The library's callbacks for one request, from its URI to the end of its response. */
#include "lib/net/http/http_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/net/http/http_peer.h"

static struct MHD_Response *response_described(struct MHD_Response *response,
                                               const char *content_type, unsigned retry_after_s)
{
    if (response && content_type)
        MHD_add_response_header(response, "Content-Type", content_type);
    if (response && retry_after_s) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%u", retry_after_s);
        MHD_add_response_header(response, "Retry-After", seconds);
    }
    return response;
}

struct MHD_Response *http_response_new(const char *content_type, struct view body,
                                       unsigned retry_after_s)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        body.size, (void *)body.data, body.size ? MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT);
    return response_described(response, content_type, retry_after_s);
}

static void body_free(void *body)
{
    bytes_release(body);
    free(body);
}

/* Takes over the body, also on failure. NULL: no memory. */
static struct MHD_Response *response_of_bytes(const char *content_type, struct bytes *body,
                                              unsigned retry_after_s)
{
    struct bytes *own = malloc(sizeof *own);
    struct MHD_Response *response = NULL;
    if (own) {
        *own = *body;
        bytes_init(body, body->max, body->budget);
        response = MHD_create_response_from_buffer_with_free_callback_cls(own->size, own->data,
                                                                          body_free, own);
    }
    if (own && !response)
        body_free(own);
    bytes_release(body);
    return response_described(response, content_type, retry_after_s);
}

/* ---- streams ---- */

enum { STREAM_PIECE = 16 << 10 };

static ssize_t stream_read(void *cls, uint64_t at, char *out, size_t size)
{
    (void)at;
    const struct http_stream *stream = cls;
    ptrdiff_t got = stream->read(stream->ctx, (uint8_t *)out, size);
    if (got == 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    return got < 0 ? MHD_CONTENT_READER_END_WITH_ERROR : got;
}

static void stream_free(void *cls)
{
    struct http_stream *stream = cls;
    stream->end(stream->ctx);
    free(stream);
}

/* Ends the stream on failure. NULL: no memory. */
static struct MHD_Response *response_of_stream(const char *content_type,
                                               const struct http_stream *stream)
{
    struct http_stream *own = malloc(sizeof *own);
    struct MHD_Response *response = NULL;
    if (own) {
        *own = *stream;
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_PIECE, stream_read,
                                                     own, stream_free);
    }
    if (!response) {
        stream->end(stream->ctx);
        free(own);
    }
    return response_described(response, content_type, 0);
}

void http_response_add_common_headers(const struct http_server *server,
                                      struct MHD_Response *response)
{
    const struct key_map *headers = server->options.response_headers;
    for (size_t i = 0; headers && i < headers->count; i++)
        if (!MHD_get_response_header(response, headers->pairs[i].name))
            MHD_add_response_header(response, headers->pairs[i].name, headers->pairs[i].value);
}

void http_response_free(struct http_server *server, struct MHD_Response *response)
{
    if (response && response != server->accepted)
        MHD_destroy_response(response);
}

/* Whether the shared response can be used. */
static bool is_accepted(const char *content_type, struct view body, unsigned retry_after_s)
{
    return body.size == 0 && retry_after_s == 0 && content_type &&
           strcmp(content_type, HTTP_PROTOBUF) == 0;
}

static struct MHD_Response *add_close(const struct http_server *server,
                                      struct MHD_Response *response)
{
    if (response == server->accepted)
        response = http_response_new(HTTP_PROTOBUF, (struct view){0}, 0);
    if (response)
        MHD_add_response_header(response, "Connection", "close");
    return response;
}

/* Queues a response and releases it. */
static enum MHD_Result queue(struct http_request *request, struct MHD_Connection *connection,
                             unsigned status, struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    bool too_large = request->fault == HTTP_FAULT_TOO_LARGE;
    struct http_server *server = request->server;
    if (request->last || too_large || server->options.closes || atomic_load(&server->draining) ||
        atomic_load(&server->retiring))
        response = add_close(server, response);
    if (response && response != server->accepted)
        http_response_add_common_headers(server, response);
    enum MHD_Result result = MHD_NO;
    if (response && http_connection_mark(request->place, HTTP_REPLY))
        result = MHD_queue_response(connection, status, response);
    http_response_free(server, response);
    return result;
}

static struct outcome why_refused(const struct http_request *request, unsigned status)
{
    if (status == MHD_HTTP_NOT_IMPLEMENTED)
        return outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED,
                          "the only transfer encoding understood is chunked");
    if (status != MHD_HTTP_SERVICE_UNAVAILABLE)
        return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "%s",
                          request->wrong ? request->wrong : "the request is malformed");
    if (request->refused)
        return outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "shutting down");
    return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
}

/* Answers without the handler and ends the connection. */
static enum MHD_Result http_exchange_refuse(struct http_request *request,
                                            struct MHD_Connection *connection, unsigned status)
{
    struct outcome why = why_refused(request, status);
    http_request_refused(request, &why);
    char line[sizeof why.text + 1];
    snprintf(line, sizeof line, "%s\n", why.text);
    request->last = true;
    return queue(request, connection, status,
                 http_response_new("text/plain", view_of(line), outcome_retry_seconds(&why)));
}

/* Under the server's mutex. */
static void unlink_waiting(struct http_request *request)
{
    if (request->next)
        request->next->prev = request->prev;
    if (request->prev)
        request->prev->next = request->next;
    else
        request->server->waiting = request->next;
}

/* Suspends the connection, unless the answer is already there or can never be sent. Returns the
 * resulting state, which may change immediately. */
static enum http_answer_state suspend(struct http_request *request,
                                      struct MHD_Connection *connection)
{
    struct http_server *server = request->server;
    enum http_answer_state state = HTTP_HANDLING;
    pthread_mutex_lock(&server->mutex);
    enum http_answer_state next = server->closing ? HTTP_ABANDONED : HTTP_SUSPENDED;
    if (atomic_compare_exchange_strong(&request->state, &state, next))
        state = next;
    if (state == HTTP_SUSPENDED) {
        MHD_suspend_connection(connection);
        request->connection = connection;
        request->prev = NULL;
        request->next = server->waiting;
        if (request->next)
            request->next->prev = request;
        server->waiting = request;
    }
    pthread_mutex_unlock(&server->mutex);
    return state;
}

/* After the handler returned: sends the answer or waits for it. */
static enum MHD_Result settle(struct http_request *request, struct MHD_Connection *connection)
{
    enum http_answer_state state = atomic_load(&request->state);
    if (state == HTTP_HANDLING)
        state = suspend(request, connection);
    if (state == HTTP_ABANDONED)
        return MHD_NO;
    if (state == HTTP_SUSPENDED)
        return MHD_YES;
    struct MHD_Response *response = request->response;
    request->response = NULL;
    return queue(request, connection, request->status, response);
}

static enum MHD_Result hand_over(struct http_request *request, struct MHD_Connection *connection)
{
    if (request->refused)
        return http_exchange_refuse(request, connection, MHD_HTTP_SERVICE_UNAVAILABLE);
    if (!request->handed) {
        if (!http_connection_mark(request->place, HTTP_BUSY))
            return MHD_NO;
        http_request_finish(request);
        request->handed = true;
        atomic_fetch_add(&request->refs, 1);
        if (!http_cors_handle(request->server->options.cors, request))
            http_auth_handle(request);
    }
    return settle(request, connection);
}

/* The header is complete. */
static enum MHD_Result http_exchange_begin(struct http_request *request,
                                           struct MHD_Connection *connection, const char *method,
                                           const char *version)
{
    request->begun = true;
    atomic_fetch_add(&request->server->active, 1);
    if (!http_connection_mark(request->place, HTTP_BODY))
        return MHD_NO;
    unsigned refusal = http_request_headers(request, connection, method, version);
    if (refusal)
        return http_exchange_refuse(request, connection, refusal);
    request->refused = atomic_load(&request->server->draining);
    if (!http_request_hopeless(request))
        return MHD_YES;
    /* A response queued here makes the library close the connection without reading the body. */
    request->last = true;
    return hand_over(request, connection);
}

/* The library accepts no response in the middle of a body. */
static void answer_too_large(struct http_request *request, struct MHD_Connection *connection)
{
    char text[512];
    const struct http_server_options *options = &request->server->options;
    struct outcome why = outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE,
                                    "request body too large, the maximum is %zu bytes",
                                    budget_cap(options->budget, options->max_body));
    http_request_refused(request, &why);
    const union MHD_ConnectionInfo *tls =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    int size = snprintf(text, sizeof text,
                        "HTTP/1.1 413 Content Too Large\r\nContent-Type: text/plain\r\n"
                        "Content-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
                        strlen(why.text) + 1, why.text);
    if (tls && tls->tls_session)
        gnutls_record_send(tls->tls_session, text, (size_t)size);
    else
        send(fd, text, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(fd, SHUT_WR);
}

static enum MHD_Result receive(struct http_request *request, struct MHD_Connection *connection,
                               const char *data, size_t size)
{
    if (!http_connection_receive(request->place, request->received + size))
        return MHD_NO;
    if (request->cut)
        return http_request_may_discard(request) ? MHD_YES : MHD_NO;
    if (http_request_receive(request, data, size))
        return MHD_YES;
    if (request->fault != HTTP_FAULT_TOO_LARGE)
        return MHD_NO;
    answer_too_large(request, connection);
    /* Closing now, with unread bytes, would reset the connection, possibly before the client has
     * the response. */
    request->cut = true;
    request->hopeless_at = clock_mono(&clock_system);
    return MHD_YES;
}

enum MHD_Result http_exchange_request(void *cls, struct MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *data,
                                      size_t *size, void **context)
{
    (void)cls;
    (void)url;
    struct http_request *request = *context;
    if (!request)
        return MHD_NO;
    if (!request->begun)
        return http_exchange_begin(request, connection, method, version);
    if (*size == 0)
        return request->cut ? MHD_NO : hand_over(request, connection);
    size_t n = *size;
    *size = 0;
    return receive(request, connection, data, n);
}

/* Hides the query from the library, by ending the target at the '?'. The library would parse the
 * parameters, which nobody here asks it for, into the connection's memory; where that is too small,
 * 0.9 loses its error page and waits until the timeout, and no option turns the parsing off. The
 * request has a copy of the whole target.
 * uri is const in the callback's type, but the bytes are the library's own read buffer (what TLS
 * decrypted, too), in which it then ends the path and decodes both parts in place. Only a byte of
 * this request's line changes, so one pipelined behind it does not. */
static void hide_query(const char *uri)
{
    const char *mark = strchr(uri, '?');
    if (mark)
        ((char *)(uintptr_t)mark)[1] = '\0';
}

void *http_exchange_uri(void *cls, const char *uri, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct http_peer *peer = info ? info->socket_context : NULL;
    if (!peer || !http_connection_mark(peer->place, HTTP_HEADER))
        return NULL;
    peer->asked = true;
    struct http_request *request = http_request_new(cls, uri);
    hide_query(uri);
    if (!request)
        return NULL;
    request->place = peer->place;
    request->peer = peer->address;
    return request;
}

static void one_less(struct http_server *server)
{
    if (atomic_fetch_sub(&server->active, 1) != 1 || !atomic_load(&server->draining))
        return;
    pthread_mutex_lock(&server->mutex);
    pthread_cond_broadcast(&server->quiet);
    pthread_mutex_unlock(&server->mutex);
}

/* The library reports a client that left as it reports a malformed body. */
static bool client_left(struct MHD_Connection *connection)
{
    char byte;
    int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN);
}

/* Why a request ended before its handler had it. */
static struct outcome why_unfinished(const struct http_request *request,
                                     struct MHD_Connection *connection)
{
    unsigned long long received = request->received;
    enum http_shut shut = http_connection_shut(request->place);
    if (request->fault == HTTP_FAULT_MEMORY)
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    if (shut == HTTP_SHUT_LATE)
        return outcome_of(VERDICT_REJECT, CAUSE_SLOW,
                          "the request did not arrive in time, only %llu bytes of its body",
                          received);
    if (shut == HTTP_SHUT_FOR_ROOM)
        return outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE,
                          "closed for a new connection, as there are too many");
    /* The library answered or dropped it by itself. */
    if (!request->begun || (!shut && !client_left(connection)))
        return outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                          "the request is malformed or its header is too large");
    return outcome_of(VERDICT_REJECT, CAUSE_INCOMPLETE,
                      "the client left after %llu bytes of its body", received);
}

void http_exchange_completed(void *cls, struct MHD_Connection *connection, void **context,
                             enum MHD_RequestTerminationCode how)
{
    struct http_request *request = *context;
    if (!request)
        return;
    *context = NULL;
    http_connection_mark(request->place, HTTP_IDLE);
    if (!request->handed && how != MHD_REQUEST_TERMINATED_COMPLETED_OK &&
        how != MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN &&
        (request->begun || how == MHD_REQUEST_TERMINATED_WITH_ERROR)) {
        struct outcome why = why_unfinished(request, connection);
        http_request_refused(request, &why);
    }
    if (request->begun)
        one_less(cls);
    http_request_unref(request);
}

void http_exchange_abandon(struct http_server *server)
{
    pthread_mutex_lock(&server->mutex);
    server->closing = true;
    for (struct http_request *request; (request = server->waiting);) {
        unlink_waiting(request);
        atomic_store(&request->state, HTTP_ABANDONED);
        MHD_resume_connection(request->connection);
    }
    pthread_mutex_unlock(&server->mutex);
}

/* For an answer after the handler returned, or after the server closed. */
static void answer_late(struct http_request *request)
{
    struct http_server *server = request->server;
    pthread_mutex_lock(&server->mutex);
    if (atomic_load(&request->state) == HTTP_SUSPENDED) {
        unlink_waiting(request);
        atomic_store(&request->state, HTTP_ANSWERED);
        MHD_resume_connection(request->connection);
    }
    pthread_mutex_unlock(&server->mutex);
}

static void respond(struct http_request *request, unsigned status, struct MHD_Response *response)
{
    for (unsigned i = 0; response && i < request->extra_count; i++)
        MHD_add_response_header(response, request->extra[i].name, request->extra[i].value);
    request->status = status;
    request->response = response;
    enum http_answer_state expected = HTTP_HANDLING;
    if (!atomic_compare_exchange_strong(&request->state, &expected, HTTP_ANSWERED))
        answer_late(request);
    http_request_unref(request);
}

void http_respond(struct http_request *request, unsigned status, const char *content_type,
                  struct view body, unsigned retry_after_s)
{
    struct MHD_Response *response = request->server->accepted;
    if (request->extra_count || !is_accepted(content_type, body, retry_after_s))
        response = http_response_new(content_type, body, retry_after_s);
    respond(request, status, response);
}

void http_respond_bytes(struct http_request *request, unsigned status, const char *content_type,
                        struct bytes *body, unsigned retry_after_s)
{
    respond(request, status, response_of_bytes(content_type, body, retry_after_s));
}

void http_respond_stream(struct http_request *request, unsigned status, const char *content_type,
                         const struct http_stream *stream)
{
    /* libmicrohttpd 0.9.75 sends the last chunk even to HEAD; what follows a last response is
     * ignored. */
    request->last |= strcmp(request->method, "HEAD") == 0;
    respond(request, status, response_of_stream(content_type, stream));
}
