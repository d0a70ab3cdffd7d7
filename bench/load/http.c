#include "bench/load/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ANSWER_MAX = 8192 };

/* One connection, with at most one request in flight. */
struct http {
    int fd;
    struct slot *slot;
    char head[512];
    size_t head_length;
    size_t sent;
    bool waits_to_write;
    size_t got;
    char answer[ANSWER_MAX];
};

static void http_open(struct load *load, unsigned client, struct slot *slots)
{
    (void)client;
    struct http *http = calloc(1, sizeof *http);
    if (!http) {
        abort();
    }
    http->fd = load_connect(load);
    http->slot = slots;
    slots->owner = http;
    load_watch(load, http->fd, EPOLLIN, http, true);
}

static void http_write(struct load *load, struct http *http)
{
    const struct pool_body *body = http->slot->body;
    size_t whole = http->head_length + body->length;
    while (http->sent < whole) {
        struct iovec parts[2];
        int count = 0;
        if (http->sent < http->head_length) {
            parts[count++] =
                (struct iovec){http->head + http->sent, http->head_length - http->sent};
        }
        size_t from = http->sent > http->head_length ? http->sent - http->head_length : 0;
        parts[count++] = (struct iovec){(char *)(uintptr_t)body->bytes + from, body->length - from};
        ssize_t done = writev(http->fd, parts, count);
        if (done < 0 && errno != EAGAIN) {
            load_failed("the subject closed a connection while a request was sent");
        }
        if (done < 0) {
            break;
        }
        http->sent += (size_t)done;
    }
    bool wait = http->sent < whole;
    if (wait != http->waits_to_write) {
        http->waits_to_write = wait;
        load_watch(load, http->fd, wait ? EPOLLIN | EPOLLOUT : EPOLLIN, http, false);
    }
}

static void http_start(struct load *load, struct slot *slot)
{
    struct http *http = slot->owner;
    const struct load_options *o = &load->options;
    http->head_length =
        (size_t)snprintf(http->head, sizeof http->head,
                         "POST %s HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: %s\r\n%s"
                         "Content-Length: %zu\r\n\r\n",
                         o->path, o->host, o->port, o->type,
                         o->gzip ? "Content-Encoding: gzip\r\n" : "", slot->body->length);
    if (http->head_length >= sizeof http->head) {
        load_die("the path or the media type is too long");
    }
    http->sent = http->got = 0;
    http_write(load, http);
}

/* The length of the whole response; 0: its header is incomplete. */
static size_t answer_length(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    if (!end) {
        return 0;
    }
    const char *length = strcasestr(answer, "\r\nContent-Length:");
    if (strncmp(answer, "HTTP/1.1 ", 9) != 0) {
        load_die("a response is not HTTP/1.1");
    }
    if (!length || length > end) {
        load_die("a response has no Content-Length");
    }
    return (size_t)(end + 4 - answer) + strtoul(length + 17, NULL, 10);
}

static enum answer verdict(const char *answer)
{
    unsigned long status = strtoul(answer + strlen("HTTP/1.1 "), NULL, 10);
    if (status >= 200 && status < 300) {
        return ACCEPTED;
    }
    return status == 429 || (status >= 502 && status <= 504) ? RETRYABLE : REFUSED;
}

static void http_ready(struct load *load, void *connection, uint32_t events)
{
    struct http *http = connection;
    if (events & EPOLLOUT && http->slot->body && !http->slot->again) {
        http_write(load, http);
    }
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) {
        return;
    }
    ssize_t done = recv(http->fd, http->answer + http->got, ANSWER_MAX - 1 - http->got, 0);
    if (done < 0 && errno == EAGAIN) {
        return;
    }
    if (done < 0) {
        load_failed("the subject closed a connection");
    }
    if (!done) {
        load_die("the subject closed a connection");
    }
    http->got += (size_t)done;
    http->answer[http->got] = 0;
    size_t whole = answer_length(http->answer);
    if (whole && http->got >= whole) {
        load_answered(load, http->slot, verdict(http->answer));
    } else if (http->got == ANSWER_MAX - 1) {
        load_die("a response is larger than expected");
    }
}

const struct transport http_transport = {http_open, http_start, http_ready};
