#include "bench/sink/sink.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PREFIX = 5, WINDOW = 1 << 26 };

struct stream {
    struct bytes message;
    bool traces;
    bool answered; /* the empty message was sent, the trailers follow */
};

struct grpc {
    struct connection base;
    struct sink *sink;
    nghttp2_session *session;
};

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    (void)user;
    struct stream *stream = calloc(1, sizeof *stream);
    return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t length, uint8_t flags,
                     void *user)
{
    (void)flags, (void)user;
    struct stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (stream && name_length == 5 && !memcmp(name, ":path", 5)) {
        stream->traces = memmem(value, length, "TraceService", 12);
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t length, void *user)
{
    (void)flags, (void)user;
    struct stream *stream = nghttp2_session_get_stream_user_data(session, id);
    if (stream) {
        bytes_reserve(&stream->message, length);
        memcpy(stream->message.at + stream->message.length, data, length);
        stream->message.length += length;
    }
    return 0;
}

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static ssize_t read_answer(nghttp2_session *session, int32_t id, uint8_t *buffer, size_t room,
                           uint32_t *flags, nghttp2_data_source *source, void *user)
{
    (void)room, (void)source, (void)user;
    memset(buffer, 0, PREFIX);
    nghttp2_nv trailer = header("grpc-status", "0");
    nghttp2_submit_trailer(session, id, &trailer, 1);
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    return PREFIX;
}

/* Counts the stream's message; there must be exactly one, complete. */
static void count_message(struct counts *counts, const struct bytes *message)
{
    const unsigned char *prefix = (const unsigned char *)message->at;
    size_t length = message->length - PREFIX;
    uint32_t said = (uint32_t)prefix[1] << 24 | (uint32_t)prefix[2] << 16 |
                    (uint32_t)prefix[3] << 8 | prefix[4];
    if (said != length) {
        counts->requests++;
        counts->bytes += length;
        counts->broken++;
        return;
    }
    count_body(counts, message->at + PREFIX, length, prefix[0]);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct grpc *grpc = user;
    int32_t id = frame->hd.stream_id;
    struct stream *stream = id ? nghttp2_session_get_stream_user_data(session, id) : NULL;
    if (!stream || stream->answered || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) {
        return 0;
    }
    stream->answered = true;
    const struct bytes *message = &stream->message;
    if (stream->traces && message->length >= PREFIX) {
        count_message(&grpc->sink->counts, message);
    } else {
        grpc->sink->counts.other++;
    }
    nghttp2_nv headers[] = {header(":status", "200"), header("content-type", "application/grpc")};
    nghttp2_data_provider body = {.read_callback = read_answer};
    return nghttp2_submit_response(session, id, headers, 2, &body) ? NGHTTP2_ERR_CALLBACK_FAILURE
                                                                   : 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *user)
{
    (void)error, (void)user;
    struct stream *stream = nghttp2_session_get_stream_user_data(session, id);
    if (stream) {
        free(stream->message.at);
        free(stream);
    }
    return 0;
}

static void grpc_close(struct grpc *grpc)
{
    nghttp2_session_del(grpc->session);
    close(grpc->base.fd);
    free(grpc);
}

static bool write_all(struct grpc *grpc)
{
    const uint8_t *bytes;
    for (ssize_t length; (length = nghttp2_session_mem_send(grpc->session, &bytes)) > 0;) {
        /* Responses are a few bytes per request; a socket that does not accept them has no reader.
         */
        if (send(grpc->base.fd, bytes, (size_t)length, MSG_NOSIGNAL) != length) {
            return false;
        }
    }
    return true;
}

static void grpc_ready(struct sink *sink, struct connection *connection, uint32_t events)
{
    (void)sink, (void)events;
    struct grpc *grpc = (struct grpc *)connection;
    static uint8_t bytes[1 << 18];
    ssize_t got = recv(connection->fd, bytes, sizeof bytes, 0);
    if (got < 0 && errno == EAGAIN) {
        return;
    }
    if (got <= 0 || nghttp2_session_mem_recv(grpc->session, bytes, (size_t)got) < 0 ||
        !write_all(grpc)) {
        grpc_close(grpc);
    }
}

static nghttp2_session *new_session(struct grpc *grpc)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    if (nghttp2_session_server_new(&session, callbacks, grpc)) {
        abort();
    }
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1000},
    };
    nghttp2_submit_settings(session, 0, settings, 2);
    nghttp2_session_set_local_window_size(session, 0, 0, WINDOW);
    return session;
}

struct connection *grpc_accept(struct sink *sink, int fd)
{
    struct grpc *grpc = calloc(1, sizeof *grpc);
    if (!grpc) {
        abort();
    }
    *grpc = (struct grpc){.base = {grpc_ready, fd}, .sink = sink};
    grpc->session = new_session(grpc);
    if (!write_all(grpc)) {
        abort();
    }
    return &grpc->base;
}
