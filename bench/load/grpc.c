#include "bench/load/load.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PREFIX = 5, PARTS = 512 };

/* A piece of output. Frame heads are copied, bodies are sent from the pool. */
struct part {
    char head[9 + PREFIX];
    const char *body;
    size_t head_length;
    size_t body_length;
};

struct grpc {
    struct load *load;
    nghttp2_session *session;
    int fd;
    struct part parts[PARTS];
    int part_count;
    size_t sent; /* of the first part */
    bool waits_to_write;
    const uint8_t *pending; /* output of nghttp2 that the socket did not accept yet */
    size_t pending_length;
};

static size_t message_length(const struct slot *slot)
{
    return PREFIX + slot->body->length;
}

static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t room,
                         uint32_t *flags, nghttp2_data_source *source, void *user)
{
    (void)session, (void)stream, (void)buffer, (void)user;
    const struct slot *slot = source->ptr;
    size_t left = message_length(slot) - slot->sent;
    size_t take = left < room ? left : room;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY | (take == left ? NGHTTP2_DATA_FLAG_EOF : 0U);
    return (ssize_t)take;
}

static int send_body(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
                     size_t length, nghttp2_data_source *source, void *user)
{
    (void)session, (void)frame;
    struct grpc *grpc = user;
    struct slot *slot = source->ptr;
    if (grpc->part_count == PARTS) {
        return NGHTTP2_ERR_WOULDBLOCK;
    }
    struct part *part = &grpc->parts[grpc->part_count++];
    memcpy(part->head, head, 9);
    part->head_length = 9;
    part->body_length = length;
    if (slot->sent < PREFIX) { /* a small window may split the prefix too */
        uint32_t size = (uint32_t)slot->body->length;
        char prefix[PREFIX] = {(char)grpc->load->options.gzip, (char)(size >> 24),
                               (char)(size >> 16), (char)(size >> 8), (char)size};
        size_t left = PREFIX - slot->sent, take = left < length ? left : length;
        memcpy(part->head + 9, prefix + slot->sent, take);
        part->head_length += take;
        part->body_length -= take;
    }
    slot->sent += (uint32_t)length;
    part->body = slot->body->bytes + (slot->sent > PREFIX ? slot->sent - PREFIX : 0);
    part->body -= part->body_length;
    return 0;
}

/* Writes the parts. False: the socket accepts no more. */
static bool flush_parts(struct grpc *grpc)
{
    while (grpc->part_count) {
        struct iovec pieces[2 * PARTS];
        int count = 0;
        size_t skip = grpc->sent;
        for (int i = 0; i < grpc->part_count; i++) {
            struct part *part = &grpc->parts[i];
            size_t head = skip < part->head_length ? skip : part->head_length;
            size_t body = skip - head;
            pieces[count++] = (struct iovec){part->head + head, part->head_length - head};
            pieces[count++] =
                (struct iovec){(char *)(uintptr_t)part->body + body, part->body_length - body};
            skip = 0;
        }
        ssize_t done = writev(grpc->fd, pieces, count > 1024 ? 1024 : count);
        if (done < 0 && errno != EAGAIN) {
            load_failed("the subject closed a connection while a request was sent");
        }
        if (done < 0) {
            return false;
        }
        size_t left = (size_t)done + grpc->sent;
        int whole = 0;
        while (whole < grpc->part_count &&
               left >= grpc->parts[whole].head_length + grpc->parts[whole].body_length) {
            left -= grpc->parts[whole].head_length + grpc->parts[whole].body_length;
            whole++;
        }
        grpc->part_count -= whole;
        memmove(grpc->parts, grpc->parts + whole, (size_t)grpc->part_count * sizeof(struct part));
        grpc->sent = left;
    }
    return true;
}

/* Writes control frames from nghttp2's buffer. False: the socket accepts no more. */
static bool flush_pending(struct grpc *grpc)
{
    while (grpc->pending_length) {
        ssize_t done = send(grpc->fd, grpc->pending, grpc->pending_length, MSG_NOSIGNAL);
        if (done < 0 && errno != EAGAIN) {
            load_failed("the subject closed a connection");
        }
        if (done < 0) {
            return false;
        }
        grpc->pending += done;
        grpc->pending_length -= (size_t)done;
    }
    return true;
}

static void grpc_write(struct grpc *grpc)
{
    bool open = true;
    while (open && (open = flush_parts(grpc) && flush_pending(grpc))) {
        ssize_t length = nghttp2_session_mem_send(grpc->session, &grpc->pending);
        if (length < 0) {
            load_die(nghttp2_strerror((int)length));
        }
        /* The parts were filled before this piece, so they are sent first. */
        grpc->pending_length = (size_t)length;
        if (!length && !grpc->part_count) {
            break;
        }
    }
    if (open == grpc->waits_to_write) {
        grpc->waits_to_write = !open;
        load_watch(grpc->load, grpc->fd, open ? EPOLLIN : EPOLLIN | EPOLLOUT, grpc, false);
    }
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t length, uint8_t flags,
                     void *user)
{
    (void)flags, (void)user;
    struct slot *slot = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (slot && name_length == 11 && !memcmp(name, "grpc-status", 11)) {
        bool retry = (length == 2 && !memcmp(value, "14", 2)) || (length == 1 && *value == '8');
        bool accepted = length == 1 && *value == '0';
        slot->answer = accepted ? ACCEPTED : retry ? RETRYABLE : REFUSED;
    }
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *user)
{
    struct grpc *grpc = user;
    struct slot *slot = nghttp2_session_get_stream_user_data(session, stream);
    if (slot) {
        /* A stream that was reset before its response may be retried. */
        load_answered(grpc->load, slot, error ? RETRYABLE : slot->answer);
    }
    return 0;
}

static nghttp2_session *new_session(struct grpc *grpc)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_body);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    if (nghttp2_session_client_new(&session, callbacks, grpc)) {
        abort();
    }
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session, 0, NULL, 0);
    return session;
}

static void grpc_open(struct load *load, unsigned client, struct slot *slots)
{
    (void)client;
    struct grpc *grpc = calloc(1, sizeof *grpc);
    if (!grpc) {
        abort();
    }
    grpc->load = load;
    grpc->fd = load_connect(load);
    grpc->session = new_session(grpc);
    for (unsigned i = 0; i < load->options.streams; i++) {
        slots[i].owner = grpc;
    }
    load_watch(load, grpc->fd, EPOLLIN, grpc, true);
}

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

static void grpc_start(struct load *load, struct slot *slot)
{
    struct grpc *grpc = slot->owner;
    char authority[256];
    snprintf(authority, sizeof authority, "%s:%s", load->options.host, load->options.port);
    nghttp2_nv headers[] = {
        header(":method", "POST"),
        header(":scheme", "http"),
        header(":path", load->options.path),
        header(":authority", authority),
        header("content-type", "application/grpc"),
        header("te", "trailers"),
        header("grpc-encoding", "gzip"),
    };
    size_t count = sizeof headers / sizeof *headers - (load->options.gzip ? 0 : 1);
    slot->sent = 0;
    slot->answer = REFUSED;
    nghttp2_data_provider body = {.source.ptr = slot, .read_callback = read_body};
    if (nghttp2_submit_request(grpc->session, NULL, headers, count, &body, slot) < 0) {
        load_die("a request could not be started");
    }
    grpc_write(grpc);
}

static void grpc_ready(struct load *load, void *connection, uint32_t events)
{
    (void)load;
    struct grpc *grpc = connection;
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        uint8_t bytes[16384];
        ssize_t done = recv(grpc->fd, bytes, sizeof bytes, 0);
        if (!done) {
            load_die("the subject closed a connection");
        }
        if (done < 0 && errno != EAGAIN) {
            load_failed("the subject closed a connection");
        }
        if (done > 0 && nghttp2_session_mem_recv(grpc->session, bytes, (size_t)done) < 0) {
            load_die("the subject broke the framing of HTTP/2");
        }
    }
    grpc_write(grpc);
    /* This happens after a GOAWAY, or if the peer uses another protocol. */
    if (!nghttp2_session_want_read(grpc->session) && !nghttp2_session_want_write(grpc->session)) {
        load_die("the subject does not speak HTTP/2, or ended the connection");
    }
}

const struct transport grpc_transport = {grpc_open, grpc_start, grpc_ready};
