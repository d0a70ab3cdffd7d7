/* Connections, methods, responses and shutdown of the server. */
#include "lib/net/http/http_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "tests/support/http_fixture.h"
#include "tests/support/suite.h"

#define POST(path, headers, body) "POST " path " HTTP/1.1\r\nHost: x\r\n" headers "\r\n" body

static struct http_fixture fixture;
static struct http_answer answer;

static void set_up(void)
{
    http_fixture_init(&fixture);
}

static int begun(void)
{
    http_fixture_start(&fixture);
    int fd = raw_connect(fixture.bound);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static void ended(int fd)
{
    close(fd);
    http_fixture_stop(&fixture);
}

static bool head_has(const char *text)
{
    return strcasestr(answer.head, text);
}

START_TEST(a_connection_serves_many_requests)
{
    int fd = begun();
    for (int i = 0; i < 100; i++) {
        raw_exchange(fd, POST("/echo", "Content-Length: 5\r\n", "hello"), 200, &answer);
        ck_assert_str_eq(answer.body, "hello");
    }
    ended(fd);
}
END_TEST

START_TEST(pipelined_requests_are_answered_in_order)
{
    int fd = begun();
    raw_send(fd, POST("/echo", "Content-Length: 3\r\n", "one")
                     POST("/late", "Content-Length: 3\r\n", "two") POST("/about", "", ""));
    raw_read(fd, &answer);
    ck_assert_str_eq(answer.body, "one");
    raw_read(fd, &answer);
    ck_assert_str_eq(answer.body, "two");
    raw_read(fd, &answer);
    ck_assert_str_eq(answer.body, "POST /about  -");
    ended(fd);
}
END_TEST

START_TEST(path_query_and_headers_reach_the_handler_as_they_were_sent)
{
    int fd = begun();
    raw_exchange(fd, "GET /a%2Fb/c?name=a%20b+c&x&x=%zz HTTP/1.1\r\nhost: y\r\nX-TEST: v w\r\n\r\n",
                 200, &answer);
    ck_assert_str_eq(answer.body, "GET /a%2Fb/c name=a%20b+c&x&x=%zz v w");
    ck_assert(head_has("X-Echo: v w\r\n"));
    ck_assert(head_has("Content-Type: text/plain\r\n"));
    raw_exchange(fd, "GET http://host:1/p?q=http://z HTTP/1.1\r\nHost: y\r\n\r\n", 200, &answer);
    ck_assert_str_eq(answer.body, "GET /p q=http://z -");
    raw_exchange(fd, "PUT http://host HTTP/1.1\r\nHost: y\r\n\r\n", 200, &answer);
    ck_assert_str_eq(answer.body, "PUT /  -");
    ended(fd);
}
END_TEST

static void assert_authority(int fd, const char *head, const char *authority)
{
    char text[256];
    unsigned n = fixture.kept_count;
    snprintf(text, sizeof text, "%s\r\nHost: y\r\n\r\n", head);
    raw_send(fd, text);
    http_fixture_await_kept(&fixture, n + 1);
    ck_assert_str_eq(http_request_authority(fixture.kept[n]), authority);
    http_respond(fixture.kept[n], 200, NULL, VIEW(""), 0);
    raw_read(fd, &answer);
}

START_TEST(the_host_asked_for_is_that_of_an_absolute_target)
{
    int fd = begun();
    assert_authority(fd, "GET /keep HTTP/1.1", "y");
    assert_authority(fd, "GET http://host:1/keep?http://z HTTP/1.1", "host:1");
    assert_authority(fd, "GET /keep?http://z/ HTTP/1.1", "y");
    ended(fd);
}
END_TEST

/* How many responses there are until the server closes. */
static unsigned responses(const char *request)
{
    char data[4096] = "";
    size_t size = 0;
    unsigned count = 0;
    int fd = raw_connect(fixture.bound);
    raw_send(fd, request);
    for (ssize_t n; (n = recv(fd, data + size, sizeof data - 1 - size, 0)) > 0;)
        size += (size_t)n;
    close(fd);
    for (const char *at = data; (at = strstr(at, "HTTP/1.1 ")); at++)
        count++;
    answer.status = atoi(data + strlen("HTTP/1.1 "));
    return count;
}

START_TEST(a_content_length_that_is_no_size_is_refused_once)
{
    static const char *const bad[] = {"-1", "+4", "abc", "4 4", "0x4", "4,4"};
    static const char *const huge[] = {"99999999999999999999", "18446744073709551615",
                                       "18446744073709551616", "9999999999999999"};
    char request[256];
    http_fixture_start(&fixture);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(request, sizeof request, POST("/echo", "Content-Length: %s\r\n", "four"), bad[i]);
        ck_assert_msg(responses(request) == 1 && answer.status == 400, "%s", bad[i]);
    }
    ck_assert_uint_eq(http_fixture_handled(&fixture), 0);
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        snprintf(request, sizeof request, POST("/echo", "Content-Length: %s\r\n", "four"), huge[i]);
        ck_assert_msg(responses(request) == 1 && answer.status == 413, "%s", huge[i]);
    }
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(head_gets_no_body)
{
    int fd = begun();
    raw_send(fd, "HEAD /about HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_send(fd, POST("/echo", "Content-Length: 2\r\nConnection: close\r\n", "hi"));
    raw_await_close(fd);
    ck_assert_uint_eq(http_fixture_handled(&fixture), 2);
    close(fd);
    fd = raw_connect(fixture.bound);
    raw_send(fd, "HEAD /about HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    char data[4096] = "";
    size_t size = 0;
    for (ssize_t n; (n = recv(fd, data + size, sizeof data - 1 - size, 0)) > 0;)
        size += (size_t)n;
    ck_assert_int_eq(strncmp(data, "HTTP/1.1 200 ", 13), 0);
    ck_assert_str_eq(data + size - 4, "\r\n\r\n");
    ended(fd);
}
END_TEST

START_TEST(http_1_0_is_served_and_closed)
{
    int fd = begun();
    raw_exchange(fd, "POST /echo HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi", 200, &answer);
    ck_assert_str_eq(answer.body, "hi");
    raw_await_close(fd);
    ended(fd);
}
END_TEST

START_TEST(garbage_is_refused_or_cut_off_without_reaching_the_handler)
{
    static const char *const garbage[] = {
        "\x16\x03\x01\x02\x01\xfc\x03\x03\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        POST("/echo", "Content-Length: abc\r\n", ""),
        POST("/echo", "Content-Length: -1\r\n", ""),
        POST("/echo", "Transfer-Encoding: chunked\r\n", "zz\r\nhello")};
    http_fixture_start(&fixture);
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        int fd = raw_connect(fixture.bound);
        raw_send(fd, garbage[i]);
        raw_read(fd, &answer);
        ck_assert_msg(answer.status == 0 || answer.status >= 400, "%zu: %d", i, answer.status);
        raw_await_close(fd);
        close(fd);
    }
    ck_assert_uint_eq(http_fixture_handled(&fixture), 0);
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(a_header_past_the_connections_memory_is_refused)
{
    int fd = begun();
    static char big[80 << 10];
    memset(big, 'a', sizeof big - 1);
    raw_send(fd, "GET / HTTP/1.1\r\nHost: x\r\nX-Big: ");
    raw_send(fd, big);
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 431);
    ck_assert_str_eq(answer.body,
                     "the request line and headers are too long, together at most 32 KiB\n");
    ck_assert(head_has("\r\nContent-Type: text/plain\r\n"));
    ended(fd);
}
END_TEST

START_TEST(a_target_past_the_connections_memory_is_refused)
{
    int fd = begun();
    static char big[80 << 10];
    memset(big, 'a', sizeof big - 1);
    raw_send(fd, "GET /?");
    raw_send(fd, big);
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 414);
    ck_assert_str_eq(answer.body,
                     "the request line and headers are too long, together at most 32 KiB\n");
    ended(fd);
}
END_TEST

/* More than the library has memory for; the request behind it is as it was sent. */
START_TEST(many_parameters_reach_the_handler)
{
    int fd = begun();
    static char query[12 << 10];
    for (size_t i = 0; i + 6 < sizeof query; i += 6)
        memcpy(query + i, "a%20=&", 6);
    raw_send(fd, "GET /echo?");
    raw_send(fd, query);
    raw_send(fd, " HTTP/1.1\r\nHost: x\r\n\r\nGET /about?b=%3F&c=? HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 200);
    raw_read(fd, &answer);
    ck_assert_str_eq(answer.body, "GET /about b=%3F&c=? -");
    ended(fd);
}
END_TEST

START_TEST(late_answers_come_from_another_thread)
{
    int fd = begun();
    for (int i = 0; i < 200; i++) {
        raw_exchange(fd, POST("/late", "Content-Length: 5\r\n", "hello"), 200, &answer);
        ck_assert_str_eq(answer.body, "hello");
    }
    ended(fd);
}
END_TEST

static void *many(void *arg)
{
    const char *path = arg;
    struct http_answer *own = malloc(sizeof *own);
    char text[256];
    int fd = raw_connect(fixture.bound);
    for (int i = 0; i < 50; i++) {
        int n = snprintf(text, sizeof text, "%p %d", (void *)own, i);
        char request[512];
        snprintf(request, sizeof request,
                 "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, n, text);
        raw_exchange(fd, request, 200, own);
        ck_assert_str_eq(own->body, text);
    }
    close(fd);
    free(own);
    return NULL;
}

START_TEST(many_clients_at_once_get_their_own_answers)
{
    pthread_t threads[32];
    http_fixture_start(&fixture);
    for (size_t i = 0; i < 32; i++)
        pthread_create(&threads[i], NULL, many, i % 2 ? "/late" : "/echo");
    for (size_t i = 0; i < 32; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(http_fixture_handled(&fixture), 1600);
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(a_client_that_leaves_before_its_answer_harms_nobody)
{
    int fd = begun();
    raw_send(fd, POST("/keep", "Content-Length: 4\r\n", "gone"));
    http_fixture_await_kept(&fixture, 1);
    close(fd);
    http_respond(fixture.kept[0], 200, NULL, VIEW("nobody"), 0);
    fd = raw_connect(fixture.bound);
    raw_exchange(fd, POST("/about", "", ""), 200, &answer);
    ended(fd);
}
END_TEST

START_TEST(drain_refuses_new_connections_and_requests_and_answers_old_ones)
{
    int idle = begun(), kept = raw_connect(fixture.bound);
    raw_exchange(idle, POST("/about", "", ""), 200, &answer);
    raw_send(kept, POST("/keep", "Content-Length: 4\r\n", "body"));
    http_fixture_await_kept(&fixture, 1);
    http_server_drain(fixture.server);
    ck_assert_int_eq(raw_connect(fixture.bound), -1);
    raw_exchange(idle, POST("/echo", "Content-Length: 5\r\n", "hello"), 503, &answer);
    ck_assert(head_has("Retry-After: 1\r\n"));
    ck_assert(head_has("Connection: close\r\n"));
    raw_await_close(idle);
    struct view body = http_fixture_body(fixture.kept[0]);
    http_respond(fixture.kept[0], 200, NULL, body, 0);
    raw_read(kept, &answer);
    ck_assert_str_eq(answer.body, "body");
    ck_assert(head_has("Connection: close\r\n"));
    raw_await_close(kept);
    close(idle);
    ended(kept);
    ck_assert_uint_eq(http_fixture_handled(&fixture), 2);
}
END_TEST

START_TEST(a_server_that_retires_serves_open_connections_once_more)
{
    int fd = begun();
    raw_exchange(fd, POST("/about", "", ""), 200, &answer);
    ck_assert(!head_has("Connection: close\r\n"));
    http_server_retire(fixture.server);
    ck_assert_int_eq(raw_connect(fixture.bound), -1);
    raw_exchange(fd, POST("/echo", "Content-Length: 5\r\n", "hello"), 200, &answer);
    ck_assert_str_eq(answer.body, "hello");
    ck_assert(head_has("Connection: close\r\n"));
    raw_await_close(fd);
    ended(fd);
}
END_TEST

START_TEST(a_server_takes_the_socket_of_one_that_retires)
{
    _Atomic bool yields = false;
    char error[256], bound[160];
    http_fixture_init(&fixture);
    fixture.options.yields = &yields;
    http_fixture_start(&fixture);
    struct http_server_options options = fixture.options;
    ck_assert(endpoint_parse(fixture.bound, false, &options.endpoint, error, sizeof error));
    ck_assert_ptr_null(http_server_open(&options, bound, sizeof bound, error, sizeof error));
    yields = true;
    struct http_server *next = http_server_open(&options, bound, sizeof bound, error, sizeof error);
    ck_assert_ptr_nonnull(next);
    ck_assert_str_eq(bound, fixture.bound);
    http_server_retire(fixture.server);
    http_server_close(fixture.server, TIME_NEVER);
    fixture.server = next;
    int fd = raw_connect(fixture.bound);
    raw_exchange(fd, POST("/echo", "Content-Length: 5\r\n", "hello"), 200, &answer);
    ended(fd);
}
END_TEST

static void *close_server(void *arg)
{
    http_server_close(fixture.server, *(uint64_t *)arg);
    return NULL;
}

START_TEST(close_waits_for_the_answers_that_are_due)
{
    uint64_t deadline = TIME_NEVER;
    int fd = begun();
    raw_send(fd, POST("/keep", "Content-Length: 4\r\n", "body"));
    http_fixture_await_kept(&fixture, 1);
    pthread_t thread;
    pthread_create(&thread, NULL, close_server, &deadline);
    http_respond(fixture.kept[0], 200, NULL, VIEW("done"), 0);
    raw_read(fd, &answer);
    ck_assert_str_eq(answer.body, "done");
    raw_await_close(fd);
    pthread_join(thread, NULL);
    close(fd);
}
END_TEST

START_TEST(a_request_outlives_the_server_until_it_is_answered)
{
    int fd = begun();
    raw_send(fd, POST("/keep?a=b", "X-Test: still\r\nContent-Length: 4\r\n", "body"));
    http_fixture_await_kept(&fixture, 1);
    http_server_close(fixture.server, clock_mono(&clock_system));
    raw_await_close(fd);
    struct http_request *request = fixture.kept[0];
    ck_assert_str_eq(http_request_header(request, "x-test"), "still");
    ck_assert_str_eq(http_request_query(request), "a=b");
    ck_assert(view_eq(http_fixture_body(request), VIEW("body")));
    http_response_header(request, "X-Late", "yes");
    http_respond(request, 200, NULL, VIEW("too late"), 0);
    ck_assert_uint_eq(budget_used(&fixture.budget), 0);
    close(fd);
}
END_TEST

START_TEST(close_ends_idle_and_half_sent_connections)
{
    int idle = begun(), half = raw_connect(fixture.bound), body = raw_connect(fixture.bound);
    raw_exchange(idle, POST("/about", "", ""), 200, &answer);
    raw_send(half, "POST /echo HT");
    raw_send(body, POST("/echo", "Content-Length: 10\r\nExpect: 100-continue\r\n", ""));
    raw_read(body, &answer);
    ck_assert_int_eq(answer.status, 100);
    raw_send(body, "12345");
    http_server_close(fixture.server, clock_mono(&clock_system));
    raw_await_close(idle);
    raw_await_close(half);
    raw_await_close(body);
    ck_assert_uint_eq(budget_used(&fixture.budget), 0);
    close(half);
    close(body);
    close(idle);
}
END_TEST

START_TEST(unix_sockets_are_served_and_removed)
{
    char folder[] = "/tmp/http_serverXXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    fixture.options.endpoint = (struct endpoint){0};
    snprintf(fixture.options.endpoint.unix_path, sizeof fixture.options.endpoint.unix_path, "%s/s",
             folder);
    int fd = begun();
    raw_exchange(fd, POST("/late", "Content-Length: 5\r\n", "hello"), 200, &answer);
    ck_assert_str_eq(answer.body, "hello");
    ended(fd);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(a_port_in_use_is_a_sentence)
{
    char error[256], sentence[256];
    int fd = begun();
    struct http_server_options options = fixture.options;
    ck_assert(endpoint_parse(fixture.bound, false, &options.endpoint, error, sizeof error));
    ck_assert_ptr_null(http_server_open(&options, NULL, 0, error, sizeof error));
    snprintf(sentence, sizeof sentence, "%s is in use", fixture.bound);
    ck_assert_str_eq(error, sentence);
    ended(fd);
}
END_TEST

/* A body of `left` letters, which breaks off where fails is set. */
struct letters {
    size_t left;
    bool fails;
    _Atomic unsigned reads, ends;
};

static ptrdiff_t letters_read(void *ctx, uint8_t *out, size_t size)
{
    struct letters *letters = ctx;
    size_t n = letters->left < size ? letters->left : size;
    letters->reads++;
    if (n == 0 && letters->fails)
        return -1;
    memset(out, 'x', n);
    letters->left -= n;
    return (ptrdiff_t)n;
}

static void letters_end(void *ctx)
{
    ((struct letters *)ctx)->ends++;
}

static void send_letters(void *ctx, struct http_request *request)
{
    http_respond_stream(request, 200, "text/plain",
                        &(struct http_stream){letters_read, letters_end, ctx});
}

/* Returns the letters of the response; *whole: its last chunk came. */
static size_t streamed(struct letters *letters, const char *request, bool *whole, char *head)
{
    fixture.options.handler = send_letters;
    fixture.options.ctx = letters;
    int fd = begun();
    raw_send(fd, request);
    shutdown(fd, SHUT_WR);
    static char text[200000];
    size_t size = 0, count = 0;
    for (ssize_t n; (n = recv(fd, text + size, sizeof text - 1 - size, 0)) > 0;)
        size += (size_t)n;
    text[size] = '\0';
    const char *body = strstr(text, "\r\n\r\n");
    ck_assert_ptr_nonnull(body);
    snprintf(head, 1024, "%.*s\r\n", (int)(body - text), text);
    *whole = size > 5 && strcmp(text + size - 5, "0\r\n\r\n") == 0;
    for (; *body; body++)
        count += *body == 'x';
    ended(fd);
    return count;
}

START_TEST(a_stream_is_read_as_it_is_sent_and_ended_once)
{
    static const struct {
        const char *request;
        bool fails, chunked, whole;
        size_t letters;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: y\r\n\r\n", false, true, true, 100000},
        {"GET / HTTP/1.0\r\n\r\n", false, false, false, 100000},
        {"HEAD / HTTP/1.1\r\nHost: y\r\n\r\n", false, true, false, 0},
        {"GET / HTTP/1.1\r\nHost: y\r\n\r\n", true, true, false, 100000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct letters letters = {.left = 100000, .fails = cases[i].fails};
        char head[1100];
        bool whole;
        http_fixture_init(&fixture);
        ck_assert_uint_eq(streamed(&letters, cases[i].request, &whole, head), cases[i].letters);
        if (strncmp(cases[i].request, "HEAD", 4) == 0)
            ck_assert_ptr_nonnull(strcasestr(head, "Connection: close\r\n"));
        else
            ck_assert_int_eq(whole, cases[i].whole);
        ck_assert_int_eq(strcasestr(head, "Transfer-Encoding: chunked\r\n") != NULL,
                         cases[i].chunked);
        ck_assert_uint_eq(letters.ends, 1);
        ck_assert_int_eq(letters.reads > 1, cases[i].letters > 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("net/http_server");
    TCase *tests = suite_case("http_server");
    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, many_parameters_reach_the_handler);
    tcase_add_test(tests, a_connection_serves_many_requests);
    tcase_add_test(tests, pipelined_requests_are_answered_in_order);
    tcase_add_test(tests, path_query_and_headers_reach_the_handler_as_they_were_sent);
    tcase_add_test(tests, head_gets_no_body);
    tcase_add_test(tests, http_1_0_is_served_and_closed);
    tcase_add_test(tests, a_stream_is_read_as_it_is_sent_and_ended_once);
    tcase_add_test(tests, garbage_is_refused_or_cut_off_without_reaching_the_handler);
    tcase_add_test(tests, a_header_past_the_connections_memory_is_refused);
    tcase_add_test(tests, a_target_past_the_connections_memory_is_refused);
    tcase_add_test(tests, the_host_asked_for_is_that_of_an_absolute_target);
    tcase_add_test(tests, a_content_length_that_is_no_size_is_refused_once);
    tcase_add_test(tests, late_answers_come_from_another_thread);
    tcase_add_test(tests, many_clients_at_once_get_their_own_answers);
    tcase_add_test(tests, a_client_that_leaves_before_its_answer_harms_nobody);
    tcase_add_test(tests, drain_refuses_new_connections_and_requests_and_answers_old_ones);
    tcase_add_test(tests, a_server_that_retires_serves_open_connections_once_more);
    tcase_add_test(tests, a_server_takes_the_socket_of_one_that_retires);
    tcase_add_test(tests, close_waits_for_the_answers_that_are_due);
    tcase_add_test(tests, a_request_outlives_the_server_until_it_is_answered);
    tcase_add_test(tests, close_ends_idle_and_half_sent_connections);
    tcase_add_test(tests, unix_sockets_are_served_and_removed);
    tcase_add_test(tests, a_port_in_use_is_a_sentence);
    suite_add_tcase(suite, tests);
    return suite_finish(suite);
}
