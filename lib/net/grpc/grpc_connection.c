#include "lib/net/grpc/grpc_connection.h"

#include "lib/base/clock.h"
#include "lib/net/h2/h2_gather.h"
#include "lib/net/opening.h"
#include "lib/net/room.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    STREAM_WINDOW = 4 << 20,
    CONNECTION_WINDOW = 16 << 20,
    FRAME_SIZE = 256 << 10, /* DATA frames are not buffered whole, so large ones cost nothing */
    READS_AT_ONCE = 8,      /* before other connections are served */
    LARGE_FRAME = 1024,     /* costs the sender more than this side */
    FRAMES_OF_CALL = 8      /* frames that go with a call: window updates, a ping */
};

/* While draining: how long a connection without streams may take to answer the ping, and how long
 * one with streams may go without progress. */
#define DRAIN_QUIET_NS (300 * NS_PER_MS)
#define DRAIN_STALL_NS NS_PER_S
#define LINGER_NS      (500 * NS_PER_MS)

/* Payload of the ping that follows the first GOAWAY of a drain. */
static const uint8_t drained[8] = "drained";

/* ---- session callbacks ---- */

static struct grpc_call *call_of(nghttp2_session *session, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(session, stream);
}

static void forgive(struct grpc_connection *connection, unsigned frames)
{
    connection->wasted = 0;
    connection->noise -= frames < connection->noise ? frames : connection->noise;
}

/* Counts every frame. Those that advance a call are subtracted again. */
static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *head, void *ctx)
{
    struct grpc_connection *connection = ctx;
    if (head->length >= LARGE_FRAME)
        return 0;
    if (connection->loop->now > connection->noise_since + NS_PER_S) {
        connection->noise_since = connection->loop->now;
        connection->noise = 0;
    }
    if (++connection->noise > GRPC_NOISE)
        nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM);
    return 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct grpc_connection *connection = ctx;
    connection->header_bytes = 0;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    if (connection->last_goaway) /* its last stream precedes this one: the client retries it */
        return 0;
    struct grpc_call *call = grpc_call_new(connection, frame->hd.stream_id);
    if (!call)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    forgive(connection, FRAMES_OF_CALL);
    grpc_connection_progress(connection);
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name,
                     nghttp2_rcbuf *value, uint8_t flags, void *ctx)
{
    struct grpc_connection *connection = ctx;
    struct grpc_call *call = call_of(session, frame->hd.stream_id);
    nghttp2_vec n = nghttp2_rcbuf_get_buf(name);
    nghttp2_vec v = nghttp2_rcbuf_get_buf(value);
    (void)flags;
    connection->header_bytes += n.len + v.len + 32;
    if (connection->header_bytes > GRPC_HEADER_MOST)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (!call || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    grpc_call_header(call, (struct view){n.base, n.len}, (struct view){v.base, v.len});
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
                   size_t size, void *ctx)
{
    struct grpc_call *call = call_of(session, stream);
    struct grpc_connection *connection = ctx;
    (void)flags;
    if (!call || call->state != GRPC_CALL_ARRIVING)
        return 0;
    forgive(connection, 1);
    connection->trickled += size;
    if (connection->trickled >= GRPC_PROGRESS)
        grpc_connection_progress(connection);
    grpc_call_data(call, (struct view){data, size});
    return 0;
}

static void stream_frame(struct grpc_connection *connection, const nghttp2_frame *frame)
{
    struct grpc_call *call = call_of(connection->session, frame->hd.stream_id);
    bool last = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (frame->hd.type == NGHTTP2_DATA && frame->hd.length == 0 && !last)
        grpc_connection_offence(connection);
    if (!call)
        return;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        grpc_call_begin(call);
    if (last)
        grpc_call_end(call);
}

static void last_goaway(struct grpc_connection *connection)
{
    nghttp2_session *session = connection->session;
    if (connection->last_goaway)
        return;
    connection->last_goaway = true;
    nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(session), NGHTTP2_NO_ERROR, NULL,
                          0);
    grpc_connection_mark(connection);
}

static void greeted(struct grpc_connection *connection)
{
    if (connection->state != GRPC_GREETING)
        return;
    connection->state = GRPC_SERVING;
    grpc_connection_progress(connection);
    if (connection->loop->draining)
        grpc_connection_drain(connection);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct grpc_connection *connection = ctx;
    const struct grpc_call *call;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
        stream_frame(connection, frame);
        break;
    case NGHTTP2_SETTINGS:
        greeted(connection);
        break;
    case NGHTTP2_PING:
        if (!(frame->hd.flags & NGHTTP2_FLAG_ACK))
            grpc_keepalive_pinged(connection);
        else if (memcmp(frame->ping.opaque_data, drained, sizeof drained) == 0 &&
                 (connection->loop->draining || connection->leaving))
            last_goaway(connection);
        break;
    case NGHTTP2_RST_STREAM:
        call = call_of(session, frame->hd.stream_id);
        if (call)
            grpc_call_left(call);
        if (call && call->state != GRPC_CALL_ANSWERED)
            grpc_connection_offence(connection);
        break;
    default:
        break;
    }
    return 0;
}

/* The ping follows the GOAWAY, so that its answer shows that the GOAWAY was read. */
static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    const struct grpc_connection *connection = ctx;
    if (frame->hd.type == NGHTTP2_GOAWAY && !connection->last_goaway)
        nghttp2_submit_ping(session, NGHTTP2_FLAG_NONE, drained);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t error, void *ctx)
{
    struct grpc_call *call = call_of(session, stream);
    struct grpc_connection *connection = ctx;
    (void)error;
    if (nghttp2_session_get_stream_remote_close(session, stream) == 1)
        h2_ends_note(&connection->ends, stream);
    if (call)
        grpc_call_detach(call);
    return 0;
}

bool grpc_connection_setup(struct grpc_server *server)
{
    if (nghttp2_session_callbacks_new(&server->callbacks) != 0 ||
        nghttp2_option_new(&server->settings) != 0)
        return false;
    nghttp2_session_callbacks *to = server->callbacks;
    nghttp2_session_callbacks_set_on_begin_frame_callback(to, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(to, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(to, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(to, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(to, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(to, on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(to, on_stream_close);
    nghttp2_option_set_no_closed_streams(server->settings, 1);
    return true;
}

/* ---- lifecycle ---- */

struct grpc_connection *grpc_connection_new(struct grpc_loop *loop, int fd,
                                            const struct sockaddr *peer)
{
    struct grpc_connection *connection = calloc(1, sizeof *connection);
    if (!connection) {
        close(fd);
        return NULL;
    }
    connection->loop = loop;
    connection->fd = fd;
    connection->calls_due = TIME_NEVER;
    connection->peer = peer_of(peer);
    bytes_init(&connection->unsent, 2 * (size_t)GRPC_SCRATCH, NULL);
    TAILQ_INIT(&connection->calls);
    grpc_server_ref(loop->server);
    atomic_fetch_add(&loop->connection_count, 1);
    return connection;
}

static bool start_session(struct grpc_connection *connection)
{
    const struct grpc_server *server = connection->loop->server;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, server->options.max_concurrent_streams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, FRAME_SIZE},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, GRPC_HEADER_LIMIT},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    nghttp2_session **session = &connection->session;
    return nghttp2_session_server_new2(session, server->callbacks, connection, server->settings) ==
               0 &&
           nghttp2_submit_settings(*session, NGHTTP2_FLAG_NONE, settings,
                                   sizeof settings / sizeof settings[0]) == 0 &&
           nghttp2_session_set_local_window_size(*session, NGHTTP2_FLAG_NONE, 0,
                                                 CONNECTION_WINDOW) == 0;
}

static bool start_tls(struct grpc_connection *connection)
{
    struct tls_server *tls = connection->loop->server->options.tls;
    connection->state = tls ? GRPC_SHAKING : GRPC_GREETING;
    connection->tls = tls ? tls_session_accept(tls, connection->fd, "h2") : NULL;
    return connection->tls || !tls;
}

static void due_in(struct grpc_connection *connection, uint64_t wait)
{
    connection->deadline = wait ? connection->loop->now + wait : TIME_NEVER;
    grpc_loop_due(connection->loop, connection->deadline);
}

bool grpc_connection_start(struct grpc_connection *connection)
{
    struct grpc_loop *loop = connection->loop;
    TAILQ_INSERT_TAIL(&loop->connections, connection, of_loop);
    connection->progress = loop->now;
    due_in(connection, loop->server->options.header_timeout_ns);
    grpc_keepalive_begin(connection);
    if (start_tls(connection) && start_session(connection))
        return true;
    grpc_connection_kill(connection);
    return false;
}

static void end_session(struct grpc_connection *connection)
{
    struct grpc_call *call;
    while ((call = TAILQ_FIRST(&connection->calls)))
        grpc_call_detach(call);
    nghttp2_session_del(connection->session);
    connection->session = NULL;
}

void grpc_connection_kill(struct grpc_connection *connection)
{
    struct grpc_loop *loop = connection->loop;
    if (connection->state == GRPC_DEAD)
        return;
    connection->state = GRPC_DEAD;
    end_session(connection);
    tls_session_free(connection->tls);
    connection->tls = NULL;
    close(connection->fd); /* also removes it from the epoll set */
    bytes_release(&connection->unsent);
    TAILQ_REMOVE(&loop->connections, connection, of_loop);
    TAILQ_INSERT_TAIL(&loop->dead, connection, of_loop);
    atomic_fetch_sub(&loop->connection_count, 1);
    room_return(loop->server->options.budget, connection->charged);
}

/* Closing with unread bytes resets the connection, and the peer would lose what was sent last. */
static void linger(struct grpc_connection *connection)
{
    end_session(connection);
    connection->state = GRPC_LINGERING;
    if (connection->tls)
        tls_session_close_notify(connection->tls);
    shutdown(connection->fd, SHUT_WR);
    due_in(connection, LINGER_NS);
}

static void due_when_quiet(struct grpc_connection *connection)
{
    const struct grpc_server_options *options = &connection->loop->server->options;
    uint64_t idle = options->idle_timeout_ns, stall = options->stall_timeout_ns;
    bool calls = !TAILQ_EMPTY(&connection->calls);
    if (!connection->loop->draining && (calls || !connection->leaving))
        due_in(connection, calls && stall && (!idle || stall < idle) ? stall : idle);
    else
        due_in(connection, calls ? DRAIN_STALL_NS : DRAIN_QUIET_NS);
}

void grpc_connection_progress(struct grpc_connection *connection)
{
    if (connection->state != GRPC_SERVING)
        return;
    connection->progress = connection->loop->now;
    connection->trickled = 0;
    due_when_quiet(connection);
}

void grpc_connection_offence(struct grpc_connection *connection)
{
    if (++connection->offences > GRPC_OFFENCES)
        nghttp2_session_terminate_session(connection->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* Streams that the client opens before it has seen the first GOAWAY are served: the last GOAWAY
 * follows the answer to the ping. */
void grpc_connection_drain(struct grpc_connection *connection)
{
    if (connection->state == GRPC_SHAKING || connection->state == GRPC_GREETING) {
        if (!atomic_load(&connection->loop->server->retiring))
            grpc_connection_kill(connection);
    } else if (connection->state == GRPC_SERVING) {
        nghttp2_submit_shutdown_notice(connection->session);
        due_when_quiet(connection);
        grpc_connection_mark(connection);
    }
}

void grpc_connection_expire(struct grpc_connection *connection)
{
    bool draining = connection->loop->draining || connection->leaving;
    bool may_idle = connection->loop->server->options.idle_timeout_ns == 0;
    if (connection->state != GRPC_SERVING || connection->blocked) {
        grpc_connection_kill(connection);
        return;
    }
    due_when_quiet(connection);
    if (draining && !connection->last_goaway)
        last_goaway(connection);
    else if (!draining && may_idle && TAILQ_EMPTY(&connection->calls))
        return;
    else if (connection->handled == 0) {
        nghttp2_session_terminate_session(connection->session, NGHTTP2_NO_ERROR);
        grpc_connection_mark(connection);
    }
}

void grpc_connection_evict(struct grpc_connection *connection)
{
    if (connection->state == GRPC_SERVING) {
        nghttp2_session_terminate_session(connection->session, NGHTTP2_NO_ERROR);
        grpc_connection_flush(connection);
    }
    grpc_connection_kill(connection);
}

/* ---- the socket ---- */

/* While the socket is full nothing is read, so that a peer that does not read cannot make this side
 * accumulate responses. */
static void await(struct grpc_connection *connection, bool writable)
{
    struct epoll_event event = {.events = writable ? EPOLLOUT : EPOLLIN, .data.ptr = connection};
    epoll_ctl(connection->loop->epoll, EPOLL_CTL_MOD, connection->fd, &event);
}

/* While lingering, input is discarded. */
static ssize_t receive_some(struct grpc_connection *connection, uint8_t *out, size_t size)
{
    return connection->tls && connection->state != GRPC_LINGERING
               ? tls_session_recv(connection->tls, out, size)
               : recv(connection->fd, out, size, 0);
}

/* Returns how much was sent; -1: the connection failed. */
static ssize_t send_some(struct grpc_connection *connection, const uint8_t *data, size_t size)
{
    size_t sent = 0;
    while (sent < size) {
        ssize_t n = connection->tls ? tls_session_send(connection->tls, data + sent, size - sent)
                                    : send(connection->fd, data + sent, size - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0 && errno != EINTR)
            return -1;
        sent += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)sent;
}

/* ---- input ---- */

static void report_refused(const struct grpc_connection *connection, const struct outcome *why)
{
    const struct grpc_server_options *options = &connection->loop->server->options;
    if (options->refused)
        options->refused(options->ctx, NULL, &connection->peer, why);
}

/* A client of another protocol gets an HTTP/1.1 error, as that is the usual mistake. */
static void refuse_protocol(struct grpc_connection *connection, const uint8_t *data, size_t size)
{
    const struct grpc_server_options *options = &connection->loop->server->options;
    const struct opening_port port = {
        .speaks = "gRPC", .endpoint = &options->endpoint, .other = options->http_is_at};
    enum opening came = opening_of(data, size);
    enum opening opening = came == OPENING_HTTP2 ? OPENING_OTHER : came;
    struct outcome why = opening_refusal(opening, &port);
    char answer[OPENING_STATUS];
    report_refused(connection, &why);
    if (opening != OPENING_OTHER)
        send_some(connection, (const uint8_t *)answer, opening_status(&why, answer, sizeof answer));
    linger(connection);
}

void grpc_connection_receive(struct grpc_connection *connection, const uint8_t *data, size_t size)
{
    if (connection->state == GRPC_LINGERING || connection->state == GRPC_DEAD || size == 0)
        return;
    connection->keepalive.received_at = connection->loop->now;
    connection->wasted += size;
    if (connection->wasted > GRPC_WASTE) /* the session does not report frames that it skips */
        nghttp2_session_terminate_session(connection->session, NGHTTP2_ENHANCE_YOUR_CALM);
    bool good = h2_ends_check(&connection->ends, data, size);
    ssize_t got = nghttp2_session_mem_recv(connection->session, data, size);
    if (!good && got > 0)
        nghttp2_session_terminate_session(connection->session, NGHTTP2_STREAM_CLOSED);
    if (got == NGHTTP2_ERR_BAD_CLIENT_MAGIC)
        refuse_protocol(connection, data, size);
    else if (got < 0)
        grpc_connection_kill(connection);
    else
        grpc_connection_mark(connection);
}

static void report_tls(const struct grpc_connection *connection, const char *words)
{
    struct outcome why = outcome_of(VERDICT_REJECT, CAUSE_TLS, "%s", words);
    if (*words)
        report_refused(connection, &why);
}

/* Continues the TLS handshake. True: it is complete. */
static bool shake(struct grpc_connection *connection)
{
    char why[256];
    switch (tls_session_handshake(connection->tls, why, sizeof why)) {
    case TLS_READY:
        connection->state = GRPC_GREETING;
        await(connection, false);
        return true;
    case TLS_READS:
        await(connection, false);
        break;
    case TLS_WRITES:
        await(connection, true);
        break;
    case TLS_FAILED:
        report_tls(connection, why);
        grpc_connection_kill(connection);
        break;
    }
    return false;
}

static void read_socket(struct grpc_connection *connection)
{
    uint8_t *scratch = connection->loop->scratch;
    for (int i = 0; i < READS_AT_ONCE && connection->state != GRPC_DEAD; i++) {
        ssize_t got = receive_some(connection, scratch, GRPC_SCRATCH);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            grpc_calls_left(connection);
            grpc_connection_kill(connection);
            return;
        }
        grpc_connection_receive(connection, scratch, (size_t)got);
        /* GnuTLS may have read close_notify together with the data: only another call reports
         * it. */
        if (got < GRPC_SCRATCH && !connection->tls)
            return;
    }
}

void grpc_connection_event(struct grpc_connection *connection, uint32_t events)
{
    if (connection->state == GRPC_DEAD || (connection->state == GRPC_SHAKING && !shake(connection)))
        return;
    if (connection->blocked) {
        connection->blocked = false;
        grpc_connection_mark(connection);
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        read_socket(connection);
}

/* ---- output ---- */

void grpc_connection_mark(struct grpc_connection *connection)
{
    if (connection->dirty)
        return;
    connection->dirty = true;
    STAILQ_INSERT_TAIL(&connection->loop->dirty, connection, of_dirty);
}

static bool send_unsent(struct grpc_connection *connection)
{
    struct bytes *unsent = &connection->unsent;
    size_t rest = unsent->size - connection->unsent_from;
    ssize_t sent = rest ? send_some(connection, unsent->data + connection->unsent_from, rest) : 0;
    if (sent < 0)
        return false;
    connection->unsent_from += (size_t)sent;
    connection->blocked = connection->unsent_from < unsent->size;
    if (!connection->blocked) {
        bytes_release(unsent);
        connection->unsent_from = 0;
    }
    return true;
}

static bool send_or_keep(struct grpc_connection *connection, const uint8_t *data, size_t size)
{
    ssize_t sent = send_some(connection, data, size);
    if (sent < 0 || (size_t)sent == size)
        return sent >= 0;
    connection->blocked = true;
    return bytes_append(&connection->unsent, data + sent, size - (size_t)sent) == BYTES_OK;
}

ssize_t grpc_connection_gather(struct grpc_connection *connection, uint8_t *out, size_t size)
{
    return h2_gather(connection->session, out, size);
}

static bool send_session(struct grpc_connection *connection)
{
    uint8_t *scratch = connection->loop->scratch;
    while (!connection->blocked) {
        ssize_t n = grpc_connection_gather(connection, scratch, GRPC_SCRATCH);
        if (n < 0 || !send_or_keep(connection, scratch, (size_t)n))
            return false;
        if (n == 0)
            return true;
    }
    return true;
}

void grpc_connection_flush(struct grpc_connection *connection)
{
    /* Nothing is sent before the preface is recognised. */
    if (connection->state == GRPC_DEAD || connection->state == GRPC_LINGERING ||
        connection->state == GRPC_SHAKING ||
        (connection->state == GRPC_GREETING && nghttp2_session_want_read(connection->session)))
        return;
    bool was_blocked = connection->unsent.size > 0;
    if (!send_unsent(connection) || !send_session(connection)) {
        grpc_connection_kill(connection);
        return;
    }
    if (connection->blocked != was_blocked)
        await(connection, connection->blocked);
    if (!connection->blocked && !nghttp2_session_want_read(connection->session) &&
        !nghttp2_session_want_write(connection->session))
        linger(connection);
}
