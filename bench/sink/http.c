#include "bench/sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct http {
    struct connection base;
    struct bytes in;
};

static const char *find_header(const char *head, const char *end, const char *name)
{
    const char *found = strcasestr(head, name);
    return found && found < end ? found + strlen(name) : NULL;
}

/* Decodes a chunked body in place. Sets the decoded length and the number of bytes consumed. False:
 * the body is incomplete. */
static bool read_chunks(char *body, size_t have, size_t *length, size_t *taken)
{
    size_t at = 0;
    *length = 0;
    for (;;) {
        char *line = memchr(body + at, '\n', have - at);
        if (!line) {
            return false;
        }
        size_t size = strtoul(body + at, NULL, 16);
        at = (size_t)(line + 1 - body);
        if (have - at < size + 2) {
            return false;
        }
        memmove(body + *length, body + at, size);
        *length += size;
        at += size + 2;
        if (!size) {
            *taken = at;
            return true;
        }
    }
}

static void answer(const struct http *http)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n"
                               "Content-Length: 0\r\n\r\n";
    if (send(http->base.fd, text, sizeof text - 1, MSG_NOSIGNAL) < 0) {
        return; /* the client has closed; the next read reports it */
    }
}

/* Consumes one complete request from the start of the buffer. False: there is none. */
static bool take_request(struct sink *sink, struct http *http)
{
    struct bytes *in = &http->in;
    bytes_reserve(in, 1);
    in->at[in->length] = 0;
    char *end = memmem(in->at, in->length, "\r\n\r\n", 4);
    if (!end) {
        return false;
    }
    char *body = end + 4;
    size_t have = in->length - (size_t)(body - in->at);
    const char *given = find_header(in->at, end, "\r\nContent-Length:");
    const char *encoding = find_header(in->at, end, "\r\nContent-Encoding:");
    size_t length = given ? strtoul(given, NULL, 10) : 0;
    size_t taken = length;
    if (find_header(in->at, end, "\r\nTransfer-Encoding: chunked")) {
        /* Chunks are decoded only once all have arrived, because decoding moves them. */
        if (have < 5 || memcmp(in->at + in->length - 5, "0\r\n\r\n", 5) != 0 ||
            !read_chunks(body, have, &length, &taken)) {
            return false;
        }
    } else if (have < length) {
        bytes_reserve(in, length - have + 1);
        return false;
    }
    if (memmem(in->at, (size_t)(end - in->at), "/v1/traces", 10)) {
        count_body(&sink->counts, body, length, encoding && strncmp(encoding, " gzip", 5) == 0);
    } else {
        sink->counts.other++;
    }
    answer(http);
    in->length = have - taken;
    memmove(in->at, body + taken, in->length);
    return true;
}

static void http_ready(struct sink *sink, struct connection *connection, uint32_t events)
{
    (void)events;
    struct http *http = (struct http *)connection;
    bytes_reserve(&http->in, 65536);
    ssize_t got =
        recv(connection->fd, http->in.at + http->in.length, http->in.room - http->in.length - 1, 0);
    if (got <= 0 && !(got < 0 && errno == EAGAIN)) {
        close(connection->fd);
        free(http->in.at);
        free(http);
        return;
    }
    http->in.length += got > 0 ? (size_t)got : 0;
    while (take_request(sink, http)) {
    }
}

struct connection *http_accept(int fd)
{
    struct http *http = calloc(1, sizeof *http);
    if (!http) {
        abort();
    }
    http->base = (struct connection){http_ready, fd};
    return &http->base;
}
