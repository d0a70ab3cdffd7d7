/* An HTTP server with a handler for tests, and a client of raw sockets. */
#ifndef TESTS_SUPPORT_HTTP_FIXTURE_H
#define TESTS_SUPPORT_HTTP_FIXTURE_H

#include <pthread.h>

#include "lib/net/http/http_server.h"

#define KEPT_MAX 64

/*
 * The handler answers a fault with 413 or 503; else by path:
 *
 *     /echo  the body as received
 *     /take  the decoded body, else 400 (bad), 413, 503
 *     /about "METHOD PATH QUERY X-TEST" and the answer's header X-Echo: X-TEST
 *     /late  as /echo, from another thread
 *     /keep  no answer; the request is kept for the test
 */
struct http_fixture {
    struct http_server *server;
    struct http_server_options options;
    struct budget budget;
    char bound[160];
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct http_request *kept[KEPT_MAX];
    unsigned kept_count;
    unsigned handled; /* requests received by the handler */
    unsigned late;    /* threads that have not answered yet */
};

/* Options that a test may change before it starts the server: 127.0.0.1:0, 64 KiB bodies, 2
 * threads, 64 connections, timeouts of 60 s, a budget of 16 MiB. */
void http_fixture_init(struct http_fixture *fixture);
void http_fixture_start(struct http_fixture *fixture);
/* Waits until n requests were kept. */
void http_fixture_await_kept(struct http_fixture *fixture, unsigned n);
/* The body of a kept request as it came. */
struct view http_fixture_body(const struct http_request *request);
unsigned http_fixture_handled(struct http_fixture *fixture);
/* Closes the server with a deadline of 20 s and checks that the budget is released. */
void http_fixture_stop(struct http_fixture *fixture);

struct http_answer {
    int status; /* 0: the connection ended before a complete answer */
    char head[2048];
    char body[70000];
    size_t size;
};

/* Reads fail after 30 s without a byte, and fail the test. */
int raw_connect(const char *bound); /* -1: refused */
void raw_send(int fd, const char *text);
/* False: the peer closed the connection. */
bool raw_send_bytes(int fd, const void *data, size_t size);
/* Reads one answer; leaves what follows in the socket. */
void raw_read(int fd, struct http_answer *answer);
/* Skips everything until the peer closes. */
void raw_await_close(int fd);
/* Sends, reads one answer, checks its status. */
void raw_exchange(int fd, const char *text, int status, struct http_answer *answer);

#endif
