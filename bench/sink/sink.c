/* sink: see sink.h. Prints its port, then its counts as JSON for each line on standard input. Exits
 * at the end of its input. */

#include "bench/sink/sink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

void bytes_reserve(struct bytes *bytes, size_t more)
{
    if (bytes->room - bytes->length >= more) {
        return;
    }
    size_t room = bytes->room ? bytes->room : 65536;
    while (room - bytes->length < more) {
        room *= 2;
    }
    bytes->at = realloc(bytes->at, room);
    if (!bytes->at) {
        abort();
    }
    bytes->room = room;
}

static int listen_anywhere(const char *port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(port)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(fd, (struct sockaddr *)&address, length) || listen(fd, 128) ||
        getsockname(fd, (struct sockaddr *)&address, &length)) {
        perror("sink: cannot listen");
        exit(1);
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static void watch(const struct sink *sink, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    epoll_ctl(sink->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void accept_all(struct sink *sink, int listener)
{
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        if (!sink->stall) {
            watch(sink, fd, sink->grpc ? grpc_accept(sink, fd) : http_accept(fd));
        }
    }
}

static bool answer_question(const struct counts *c)
{
    char line[64];
    ssize_t got = read(STDIN_FILENO, line, sizeof line);
    if (got <= 0) {
        return false;
    }
    printf("{\"requests\": %lu, \"items\": %lu, \"id_sum\": %lu, \"bytes\": %lu, \"broken\": %lu, "
           "\"other\": %lu}\n",
           c->requests, c->items, c->id_sum, c->bytes, c->broken, c->other);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    struct sink sink = {.epoll = epoll_create1(EPOLL_CLOEXEC)};
    const char *port = "0";
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--grpc")) {
            sink.grpc = true;
        } else if (!strcmp(argv[i], "--stall")) {
            sink.stall = true;
        } else if (!strcmp(argv[i], "--port") && i + 1 < argc) {
            port = argv[++i];
        } else {
            fputs("usage: sink [--grpc] [--stall] [--port N]\n", stderr);
            return 2;
        }
    }
    int listener = listen_anywhere(port);
    static char input_mark;
    watch(&sink, listener, &sink);
    watch(&sink, STDIN_FILENO, &input_mark);
    for (;;) {
        struct epoll_event events[64];
        int count = epoll_wait(sink.epoll, events, 64, -1);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (events[i].data.ptr == &sink) {
                accept_all(&sink, listener);
            } else if (events[i].data.ptr != &input_mark) {
                connection->ready(&sink, connection, events[i].events);
            } else if (!answer_question(&sink.counts)) {
                return 0;
            }
        }
    }
}
