#include "tests/support/http_fixture.h"

#include <check.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/net/http/http_internal.h"

struct view http_fixture_body(const struct http_request *request)
{
    return bytes_view(&request->body);
}

static void echo(struct http_request *request)
{
    http_respond(request, 200, http_request_header(request, "Content-Type"),
                 http_fixture_body(request), 0);
}

static void take(struct http_request *request)
{
    static const unsigned statuses[] = {[INFLATE_OK] = 200,
                                        [INFLATE_BAD] = 400,
                                        [INFLATE_TOO_LARGE] = 413,
                                        [INFLATE_NO_MEMORY] = 503};
    struct bytes body;
    enum inflate_result result = http_request_take_body(request, &body);
    http_respond(request, statuses[result], NULL, bytes_view(&body), 0);
    bytes_release(&body);
}

static void about(struct http_request *request)
{
    char text[4096];
    const char *test = http_request_header(request, "x-test");
    snprintf(text, sizeof text, "%s %s %s %s", http_request_method(request),
             http_request_path(request), http_request_query(request), test ? test : "-");
    if (test)
        http_response_header(request, "X-Echo", test);
    http_respond(request, 200, "text/plain", view_of(text), 0);
}

struct late {
    struct http_fixture *fixture;
    struct http_request *request;
};

static void *answer_late(void *arg)
{
    struct late *late = arg;
    echo(late->request);
    pthread_mutex_lock(&late->fixture->mutex);
    late->fixture->late--;
    pthread_cond_broadcast(&late->fixture->changed);
    pthread_mutex_unlock(&late->fixture->mutex);
    free(late);
    return NULL;
}

static void start_late(struct http_fixture *fixture, struct http_request *request)
{
    struct late *late = malloc(sizeof *late);
    ck_assert_ptr_nonnull(late);
    *late = (struct late){fixture, request};
    pthread_mutex_lock(&fixture->mutex);
    fixture->late++;
    pthread_mutex_unlock(&fixture->mutex);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, answer_late, late), 0);
    pthread_detach(thread);
}

static void keep(struct http_fixture *fixture, struct http_request *request)
{
    pthread_mutex_lock(&fixture->mutex);
    ck_assert_uint_lt(fixture->kept_count, KEPT_MAX);
    fixture->kept[fixture->kept_count++] = request;
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->mutex);
}

static void handle(void *ctx, struct http_request *request)
{
    struct http_fixture *fixture = ctx;
    const char *path = http_request_path(request);
    enum http_fault fault = http_request_fault(request);
    pthread_mutex_lock(&fixture->mutex);
    fixture->handled++;
    pthread_mutex_unlock(&fixture->mutex);
    if (fault)
        ck_assert_uint_eq(http_fixture_body(request).size, 0);
    if (fault == HTTP_FAULT_TOO_LARGE)
        http_respond(request, 413, "text/plain", VIEW("too large"), 0);
    else if (fault == HTTP_FAULT_MEMORY)
        http_respond(request, 503, "text/plain", VIEW("no memory"), 1);
    else if (strcmp(path, "/take") == 0)
        take(request);
    else if (strcmp(path, "/late") == 0)
        start_late(fixture, request);
    else if (strcmp(path, "/keep") == 0)
        keep(fixture, request);
    else if (strcmp(path, "/echo") == 0)
        echo(request);
    else
        about(request);
}

void http_fixture_init(struct http_fixture *fixture)
{
    *fixture = (struct http_fixture){0};
    pthread_mutex_init(&fixture->mutex, NULL);
    pthread_cond_init(&fixture->changed, NULL);
    budget_init(&fixture->budget, 16 << 20);
    fixture->options = (struct http_server_options){
        .endpoint = {.host = "127.0.0.1", .service = "0"},
        .max_body = 64 << 10,
        .threads = 2,
        .max_connections = 64,
        .header_timeout_ns = 60 * NS_PER_S,
        .idle_timeout_ns = 60 * NS_PER_S,
        .budget = &fixture->budget,
        .handler = handle,
        .ctx = fixture,
    };
}

void http_fixture_start(struct http_fixture *fixture)
{
    char error[256] = "";
    fixture->server = http_server_open(&fixture->options, fixture->bound, sizeof fixture->bound,
                                       error, sizeof error);
    ck_assert_msg(fixture->server, "%s", error);
}

void http_fixture_await_kept(struct http_fixture *fixture, unsigned n)
{
    pthread_mutex_lock(&fixture->mutex);
    while (fixture->kept_count < n)
        pthread_cond_wait(&fixture->changed, &fixture->mutex);
    pthread_mutex_unlock(&fixture->mutex);
}

unsigned http_fixture_handled(struct http_fixture *fixture)
{
    pthread_mutex_lock(&fixture->mutex);
    unsigned handled = fixture->handled;
    pthread_mutex_unlock(&fixture->mutex);
    return handled;
}

void http_fixture_stop(struct http_fixture *fixture)
{
    http_server_close(fixture->server, clock_mono(&clock_system) + 20 * NS_PER_S);
    pthread_mutex_lock(&fixture->mutex);
    while (fixture->late)
        pthread_cond_wait(&fixture->changed, &fixture->mutex);
    pthread_mutex_unlock(&fixture->mutex);
    ck_assert_uint_eq(budget_used(&fixture->budget), 0);
}

static int connect_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static int connect_tcp(const char *bound)
{
    char host[160];
    snprintf(host, sizeof host, "%s", bound);
    char *colon = strrchr(host, ':');
    ck_assert_ptr_nonnull(colon);
    *colon = '\0';
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    ck_assert_int_eq(getaddrinfo(host, colon + 1, &hints, &found), 0);
    int fd = socket(found->ai_family, SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    int failed = connect(fd, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    if (!failed)
        return fd;
    close(fd);
    return -1;
}

int raw_connect(const char *bound)
{
    int fd = strncmp(bound, "unix:", 5) == 0 ? connect_unix(bound + 5) : connect_tcp(bound);
    struct timeval patience = {.tv_sec = 30};
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    }
    return fd;
}

bool raw_send_bytes(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
        if (n < 0) {
            ck_assert_msg(errno != EAGAIN, "the server stopped reading");
            return false;
        }
        at += n;
        size -= (size_t)n;
    }
    return true;
}

void raw_send(int fd, const char *text)
{
    raw_send_bytes(fd, text, strlen(text));
}

/* 0: the peer closed the connection. */
static size_t receive(int fd, char *data, size_t size)
{
    ssize_t n = recv(fd, data, size, 0);
    ck_assert_msg(n >= 0 || errno != EAGAIN, "nothing came for 30 s");
    return n < 0 ? 0 : (size_t)n;
}

static bool read_head(int fd, struct http_answer *answer)
{
    size_t n = 0;
    while (n < 4 || memcmp(answer->head + n - 4, "\r\n\r\n", 4) != 0) {
        ck_assert_uint_lt(n, sizeof answer->head - 1);
        if (!receive(fd, answer->head + n, 1))
            return false;
        answer->head[++n] = '\0';
    }
    return true;
}

void raw_read(int fd, struct http_answer *answer)
{
    answer->status = 0;
    answer->size = 0;
    answer->head[0] = '\0';
    if (!read_head(fd, answer))
        return;
    int status = atoi(answer->head + strlen("HTTP/1.1 "));
    const char *length = strcasestr(answer->head, "\r\nContent-Length:");
    size_t size = length ? (size_t)atol(length + strlen("\r\nContent-Length:")) : 0;
    ck_assert_uint_lt(size, sizeof answer->body);
    while (answer->size < size) {
        size_t n = receive(fd, answer->body + answer->size, size - answer->size);
        if (!n)
            return;
        answer->size += n;
    }
    answer->body[answer->size] = '\0';
    answer->status = status;
}

void raw_await_close(int fd)
{
    char data[4096];
    while (receive(fd, data, sizeof data)) {
    }
}

void raw_exchange(int fd, const char *text, int status, struct http_answer *answer)
{
    raw_send(fd, text);
    raw_read(fd, answer);
    ck_assert_int_eq(answer->status, status);
}
