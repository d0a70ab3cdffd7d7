#include "tests/support/h2_peer.h"

#include "lib/wire/http/grpc_frame.h"

#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int h2_connect(const char *address)
{
    const char *colon = strrchr(address, ':');
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(colon + 1)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = 20};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

void h2_peer_open(struct h2_peer *peer, const char *address)
{
    peer->fd = h2_connect(address);
    ck_assert_int_ge(peer->fd, 0);
    ck_assert_int_eq(nghttp2_hd_inflate_new(&peer->inflater), 0);
    h2_peer_send(peer, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    h2_peer_frame(peer, NGHTTP2_SETTINGS, 0, 0, (struct view){0});
}

void h2_peer_close(struct h2_peer *peer)
{
    nghttp2_hd_inflate_del(peer->inflater);
    close(peer->fd);
}

void h2_peer_cork(struct h2_peer *peer, bool on)
{
    int value = on;
    ck_assert_int_eq(setsockopt(peer->fd, IPPROTO_TCP, TCP_CORK, &value, sizeof value), 0);
}

/* The peer may close at any time; what it sent before counts. */
void h2_peer_send(struct h2_peer *peer, const void *data, size_t size)
{
    const uint8_t *at = data;
    while (size) {
        ssize_t n = send(peer->fd, at, size, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        at += n;
        size -= (size_t)n;
    }
}

void h2_peer_frame(struct h2_peer *peer, uint8_t type, uint8_t flags, int32_t stream,
                   struct view payload)
{
    uint8_t head[9] = {(uint8_t)(payload.size >> 16),
                       (uint8_t)(payload.size >> 8),
                       (uint8_t)payload.size,
                       type,
                       flags,
                       (uint8_t)(stream >> 24),
                       (uint8_t)(stream >> 16),
                       (uint8_t)(stream >> 8),
                       (uint8_t)stream};
    h2_peer_send(peer, head, sizeof head);
    h2_peer_send(peer, payload.data, payload.size);
}

static size_t put_string(uint8_t *out, const char *text)
{
    size_t size = strlen(text), n = 1;
    out[0] = size < 127 ? (uint8_t)size : 127;
    if (size >= 127) {
        size_t rest = size - 127;
        for (; rest > 127; rest >>= 7)
            out[n++] = (uint8_t)(rest | 128);
        out[n++] = (uint8_t)rest;
    }
    memcpy(out + n, text, size);
    return n + size;
}

size_t h2_field(uint8_t *out, const char *name, const char *value)
{
    out[0] = 0; /* literal, not indexed, new name */
    size_t n = 1 + put_string(out + 1, name);
    return n + put_string(out + n, value);
}

void h2_peer_call(struct h2_peer *peer, int32_t stream, const char *path, const char *name,
                  const char *value)
{
    uint8_t block[16384];
    size_t n = h2_field(block, ":method", "POST");
    n += h2_field(block + n, ":scheme", "http");
    n += h2_field(block + n, ":authority", "test");
    n += h2_field(block + n, ":path", path);
    n += h2_field(block + n, "content-type", "application/grpc");
    n += h2_field(block + n, "te", "trailers");
    if (name)
        n += h2_field(block + n, name, value);
    h2_peer_frame(peer, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, (struct view){block, n});
}

void h2_peer_message(struct h2_peer *peer, int32_t stream, bool compressed, struct view message)
{
    uint8_t frame[16384];
    ck_assert_uint_le(message.size, sizeof frame - GRPC_PREFIX_SIZE);
    grpc_frame_prefix(frame, compressed, (uint32_t)message.size);
    if (message.size)
        memcpy(frame + GRPC_PREFIX_SIZE, message.data, message.size);
    h2_peer_frame(peer, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream,
                  (struct view){frame, GRPC_PREFIX_SIZE + message.size});
}

static bool read_all(int fd, uint8_t *out, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t n = recv(fd, out + got, size - got, 0);
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

bool h2_peer_next(struct h2_peer *peer, struct h2_frame *frame)
{
    uint8_t head[9];
    if (!read_all(peer->fd, head, sizeof head))
        return false;
    frame->size = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
    frame->type = head[3];
    frame->flags = head[4];
    frame->stream = (head[5] & 127) << 24 | head[6] << 16 | head[7] << 8 | head[8];
    ck_assert_uint_le(frame->size, sizeof frame->payload);
    return read_all(peer->fd, frame->payload, frame->size);
}

void h2_peer_expect(struct h2_peer *peer, uint8_t type, struct h2_frame *frame)
{
    do
        ck_assert_msg(h2_peer_next(peer, frame), "the connection ended before frame type %u", type);
    while (frame->type != type);
}

static void copy(struct view from, char *out, size_t size)
{
    size_t n = from.size < size - 1 ? from.size : size - 1;
    memcpy(out, from.data, n);
    out[n] = '\0';
}

static void take_field(const nghttp2_nv *field, struct h2_answer *answer)
{
    struct view name = {field->name, field->namelen}, value = {field->value, field->valuelen};
    char number[16];
    copy(value, number, sizeof number);
    if (view_eq(name, VIEW(":status")))
        answer->http_status = atoi(number);
    else if (view_eq(name, VIEW("grpc-status")))
        answer->grpc_status = atoi(number);
    else if (view_eq(name, VIEW("grpc-message")))
        grpc_message_decode(value, answer->message, sizeof answer->message);
    else if (view_eq(name, VIEW("grpc-accept-encoding")))
        copy(value, answer->accept_encoding, sizeof answer->accept_encoding);
    else if (view_eq(name, VIEW("grpc-status-details-bin")))
        copy(value, answer->details, sizeof answer->details);
}

static void take_headers(struct h2_peer *peer, const struct h2_frame *frame,
                         struct h2_answer *answer)
{
    const uint8_t *at = frame->payload;
    size_t rest = frame->size;
    int flags = 0;
    while (!(flags & NGHTTP2_HD_INFLATE_FINAL)) {
        nghttp2_nv field;
        ssize_t n = nghttp2_hd_inflate_hd2(peer->inflater, &field, &flags, at, rest, 1);
        ck_assert_int_ge(n, 0);
        at += n;
        rest -= (size_t)n;
        if (flags & NGHTTP2_HD_INFLATE_EMIT)
            take_field(&field, answer);
    }
    nghttp2_hd_inflate_end_headers(peer->inflater);
}

void h2_peer_answer(struct h2_peer *peer, int32_t stream, struct h2_answer *answer)
{
    struct h2_frame frame;
    *answer = (struct h2_answer){.grpc_status = -1};
    for (bool ended = false; !ended;) {
        ck_assert_msg(h2_peer_next(peer, &frame), "the connection ended before stream %d", stream);
        struct h2_answer other, *to = frame.stream == stream ? answer : &other;
        if (frame.type == NGHTTP2_HEADERS)
            take_headers(peer, &frame, to);
        if (frame.stream != stream)
            continue;
        if (frame.type == NGHTTP2_DATA) {
            ck_assert_uint_le(answer->size + frame.size, sizeof answer->data);
            memcpy(answer->data + answer->size, frame.payload, frame.size);
            answer->size += frame.size;
        }
        answer->reset = frame.type == NGHTTP2_RST_STREAM;
        ended = answer->reset || ((frame.type == NGHTTP2_HEADERS || frame.type == NGHTTP2_DATA) &&
                                  (frame.flags & NGHTTP2_FLAG_END_STREAM));
    }
}

void h2_peer_settle(struct h2_peer *peer)
{
    struct h2_frame frame;
    h2_peer_frame(peer, NGHTTP2_PING, 0, 0, VIEW("settled?"));
    h2_peer_expect(peer, NGHTTP2_PING, &frame);
}

int h2_peer_last_words(struct h2_peer *peer)
{
    struct h2_frame frame;
    int error = -1;
    while (h2_peer_next(peer, &frame))
        if (frame.type == NGHTTP2_GOAWAY)
            error = frame.payload[4] << 24 | frame.payload[5] << 16 | frame.payload[6] << 8 |
                    frame.payload[7];
    return error;
}
