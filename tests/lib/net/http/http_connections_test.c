/* When connections are closed: timeouts, and room for new clients when the table is full. */
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/net/http/http_connections.h"
#include "lib/net/listeners.h"
#include "tests/support/captured.h"
#include "tests/support/http_fixture.h"
#include "tests/support/suite.h"

#define REQUEST "GET /about HTTP/1.1\r\nHost: x\r\n\r\n"

static struct http_fixture fixture;
static struct http_answer answer;

static void set_up(void)
{
    http_fixture_init(&fixture);
}

static int connected(void)
{
    int fd = raw_connect(fixture.bound);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static int begun(void)
{
    http_fixture_start(&fixture);
    return connected();
}

static bool closed_by_now(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char byte;
    return poll(&wait, 1, 0) == 1 && recv(fd, &byte, 1, MSG_PEEK) <= 0;
}

static void drip_until_closed(int fd, const char *byte)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    while (poll(&wait, 1, 10) == 0)
        raw_send(fd, byte);
    raw_await_close(fd);
}

START_TEST(a_client_that_sends_nothing_is_closed)
{
    fixture.options.header_timeout_ns = 50 * NS_PER_MS;
    int fd = begun();
    raw_await_close(fd);
    close(fd);
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(a_header_that_drips_is_closed)
{
    fixture.options.header_timeout_ns = 50 * NS_PER_MS;
    int fd = begun();
    raw_send(fd, "GET /about HTTP/1.1\r\nX-Drip: ");
    drip_until_closed(fd, "x");
    ck_assert_uint_eq(http_fixture_handled(&fixture), 0);
    close(fd);
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(a_later_request_that_drips_is_closed)
{
    fixture.options.header_timeout_ns = 300 * NS_PER_MS;
    int fd = begun();
    raw_exchange(fd, REQUEST, 200, &answer);
    drip_until_closed(fd, "G");
    ck_assert_uint_eq(http_fixture_handled(&fixture), 1);
    close(fd);
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(an_idle_connection_is_closed)
{
    fixture.options.header_timeout_ns = 300 * NS_PER_MS;
    fixture.options.idle_timeout_ns = 400 * NS_PER_MS;
    int fd = begun();
    raw_exchange(fd, REQUEST, 200, &answer);
    raw_await_close(fd);
    close(fd);
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(a_body_without_a_byte_for_too_long_is_told_and_closed)
{
    fixture.options.body_timeout_ns = 50 * NS_PER_MS;
    int fd = begun();
    raw_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345");
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 408);
    ck_assert_ptr_nonnull(strstr(answer.head, "Connection: close"));
    raw_await_close(fd);
    ck_assert_uint_eq(http_fixture_handled(&fixture), 0);
    close(fd);
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(a_body_below_the_least_rate_is_closed)
{
    fixture.options.body_timeout_ns = 100 * NS_PER_MS;
    fixture.options.body_rate = 1 << 30;
    fixture.options.max_body = 1 << 30;
    int fd = begun();
    raw_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n");
    while (send(fd, "x", 1, MSG_NOSIGNAL) == 1)
        sched_yield();
    close(fd);
    http_fixture_stop(&fixture);
}
END_TEST

/* Another client times out meanwhile, which shows the test that time has passed. */
static void drip_for_a_while(int fd)
{
    int clock = connected();
    struct pollfd wait = {.fd = clock, .events = POLLIN};
    while (poll(&wait, 1, 10) == 0)
        raw_send(fd, "x");
    raw_await_close(clock);
    close(clock);
}

START_TEST(a_body_above_the_least_rate_may_take_its_time)
{
    static char block[60000];
    fixture.options.header_timeout_ns = 900 * NS_PER_MS;
    fixture.options.body_timeout_ns = 600 * NS_PER_MS;
    fixture.options.body_rate = 1000;
    int fd = begun();
    raw_send(fd, "POST /take HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "10000\r\n"); /* 65536 */
    raw_send_bytes(fd, block, sizeof block);
    drip_for_a_while(fd);
    drip_for_a_while(fd);
    struct pollfd told = {.fd = fd, .events = POLLIN}; /* a timeout is, before the end */
    ck_assert_int_eq(poll(&told, 1, 0), 0);
    close(fd);
    http_fixture_stop(&fixture);
}
END_TEST

/* The FIN comes with the last bytes, in one segment. */
static void leave(const char *text)
{
    int fd = connected();
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_MORE), (ssize_t)strlen(text));
    close(fd);
}

START_TEST(a_client_that_leaves_in_the_middle_is_noticed)
{
    fixture.options.header_timeout_ns = fixture.options.idle_timeout_ns = 600 * NS_PER_S;
    fixture.options.body_timeout_ns = 600 * NS_PER_S;
    http_fixture_start(&fixture);
    for (int i = 0; i < 10; i++) {
        leave("POST /ec");
        leave("POST /echo HTTP/1.1\r\nHost: x\r\nX-Half: ");
        leave("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf");
        leave("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf");
        leave(REQUEST "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf");
        leave(REQUEST "POST /ec");
    }
    while (http_fixture_handled(&fixture) < 20 || budget_used(&fixture.budget) > 0)
        sched_yield();
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(a_client_that_only_ends_its_side_gets_its_answer)
{
    http_fixture_start(&fixture);
    int fd = connected(), dead = connected();
    raw_send(fd, "POST /keep HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nwhole");
    shutdown(fd, SHUT_WR);
    http_fixture_await_kept(&fixture, 1);
    raw_send(dead, "POST /keep HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhal");
    shutdown(dead, SHUT_WR);
    raw_await_close(dead); /* by now the server has checked for clients that left */
    http_respond(fixture.kept[0], 200, NULL, VIEW("kept"), 0);
    raw_read(fd, &answer);
    ck_assert_str_eq(answer.body, "kept");
    close(fd);
    close(dead);
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(connections_are_charged_and_the_budget_limits_them)
{
    enum { CLIENTS = 40 };
    int fds[CLIENTS];
    http_fixture_start(&fixture);
    budget_force(&fixture.budget, fixture.budget.limit);
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = connected();
        raw_exchange(fds[i], REQUEST, 200, &answer);
    }
    raw_await_close(fds[0]);
    ck_assert_uint_gt(budget_used(&fixture.budget), fixture.budget.limit);
    ck_assert(!closed_by_now(fds[CLIENTS - 1]));
    budget_give(&fixture.budget, fixture.budget.limit);
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
    http_fixture_stop(&fixture); /* checks that nothing is charged any more */
}
END_TEST

/* Idle for longer than the header timeout between requests, many times; other clients time out
 * meanwhile, which shows the test that time has passed. */
START_TEST(idle_connections_outlive_the_header_timeout)
{
    fixture.options.header_timeout_ns = 300 * NS_PER_MS;
    int fd = begun();
    for (int i = 0; i < 3; i++) {
        raw_exchange(fd, REQUEST, 200, &answer);
        int clock = connected();
        raw_await_close(clock);
        close(clock);
        clock = connected();
        raw_await_close(clock);
        close(clock);
    }
    raw_exchange(fd, REQUEST, 200, &answer);
    close(fd);
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(a_request_that_waits_for_its_answer_has_no_timeout)
{
    fixture.options.header_timeout_ns = 300 * NS_PER_MS;
    fixture.options.idle_timeout_ns = 300 * NS_PER_MS;
    int fd = begun();
    raw_send(fd, "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
    http_fixture_await_kept(&fixture, 1);
    for (int i = 0; i < 2; i++) {
        int clock = connected();
        raw_await_close(clock);
        close(clock);
    }
    http_respond(fixture.kept[0], 200, NULL, VIEW("late"), 0);
    raw_read(fd, &answer);
    ck_assert_str_eq(answer.body, "late");
    close(fd);
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(when_full_the_longest_idle_connection_makes_room)
{
    int fds[5];
    fixture.options.max_connections = 4;
    http_fixture_start(&fixture);
    for (int i = 0; i < 4; i++) {
        fds[i] = connected();
        raw_exchange(fds[i], REQUEST, 200, &answer);
    }
    raw_exchange(fds[0], REQUEST, 200, &answer);
    fds[4] = connected();
    raw_exchange(fds[4], REQUEST, 200, &answer);
    raw_await_close(fds[1]);
    ck_assert(!closed_by_now(fds[2]));
    raw_exchange(fds[0], REQUEST, 200, &answer);
    raw_exchange(fds[2], REQUEST, 200, &answer);
    raw_exchange(fds[3], REQUEST, 200, &answer);
    for (int i = 0; i < 5; i++)
        close(fds[i]);
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(a_request_that_waits_for_its_answer_is_not_what_makes_room)
{
    fixture.options.max_connections = 2;
    int kept = begun(), idle = connected();
    raw_send(kept, "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
    http_fixture_await_kept(&fixture, 1);
    raw_exchange(idle, REQUEST, 200, &answer);
    int fresh = connected();
    raw_exchange(fresh, REQUEST, 200, &answer);
    raw_await_close(idle);
    http_respond(fixture.kept[0], 200, NULL, VIEW("kept"), 0);
    raw_read(kept, &answer);
    ck_assert_str_eq(answer.body, "kept");
    close(kept);
    close(idle);
    close(fresh);
    http_fixture_stop(&fixture);
}
END_TEST

static void await_closed(const int *fds, int count, int wanted)
{
    static struct pollfd waits[4096];
    ck_assert_int_le(count, 4096);
    for (int i = 0; i < count; i++)
        waits[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    for (int closed = 0; closed < wanted;) {
        ck_assert_int_gt(poll(waits, (nfds_t)count, 30000), 0);
        for (int i = 0; i < count; i++)
            if (waits[i].fd >= 0 && waits[i].revents) {
                waits[i].fd = -1;
                closed++;
            }
    }
}

START_TEST(thousands_of_idle_clients_keep_nobody_out)
{
    enum { CLIENTS = 3000, MAX = 100 };
    static int fds[CLIENTS];
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    fixture.options.max_connections = MAX;
    http_fixture_start(&fixture);
    for (int i = 0; i < CLIENTS; i++)
        fds[i] = connected();
    await_closed(fds, CLIENTS, CLIENTS - MAX);
    for (int i = 0; i < 20; i++) {
        int fd = connected();
        raw_exchange(fd, REQUEST, 200, &answer);
        close(fd);
    }
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(running_out_of_descriptors_is_survived)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    captured_begin();
    int fd = begun(), fds[64], n = 0;
    raw_exchange(fd, REQUEST, 200, &answer);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = (rlim_t)fd + 12; /* the server and its clients share them */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int spare; n < 64 && (spare = dup(fd)) >= 0;)
        fds[n++] = spare;
    ck_assert_int_gt(n, 1);
    close(fds[--n]);
    int waiting = connected(); /* takes the last descriptor: the server cannot accept */
    raw_send(waiting, REQUEST);
    captured_await("connections cannot be accepted: Too many open files");
    while (n)
        close(fds[--n]);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limit);
    raw_read(waiting, &answer);
    ck_assert_int_eq(answer.status, 200);
    close(waiting);
    close(fd);
    http_fixture_stop(&fixture);
    ck_assert_uint_eq(captured_with("closed to make room"), 0);
}
END_TEST

/* Hands accepted sockets to the test, which adds them as a server's thread does. */
static bool hand_over(void *ctx, int fd, const struct sockaddr *address, socklen_t size)
{
    (void)address, (void)size;
    return write(*(int *)ctx, &fd, sizeof fd) == sizeof fd;
}

static int handed_over(int from)
{
    int fd = -1;
    ck_assert_int_eq(read(from, &fd, sizeof fd), sizeof fd);
    return fd;
}

static void end(struct http_connections *all, struct http_connection *connection, int fd)
{
    http_connections_remove(all, connection);
    close(fd);
}

/* A table alone, whose sockets the test reads; its time limits are 50 ms. */
static struct http_connections *started_table(int hand[2])
{
    char error[256];
    struct endpoint endpoint;
    ck_assert_int_eq(pipe(hand), 0);
    ck_assert(endpoint_parse("127.0.0.1:0", false, &endpoint, error, sizeof error));
    struct http_connections_options options = {.max = 10,
                                               .cleartext = true,
                                               .source = {.id = "pages"},
                                               .header_timeout_ns = 50 * NS_PER_MS,
                                               .body_timeout_ns = 50 * NS_PER_MS,
                                               .body_rate = 1024,
                                               .admit = hand_over,
                                               .ctx = &hand[1]};
    options.listener =
        listeners_open(&endpoint, NULL, fixture.bound, sizeof fixture.bound, error, sizeof error);
    struct http_connections *all = http_connections_new(&options);
    ck_assert(all && http_connections_start(all));
    return all;
}

static void stop_table(struct http_connections *all)
{
    http_connections_stop_accepting(all);
    http_connections_stop(all);
    http_connections_free(all);
}

START_TEST(a_silent_client_is_closed_although_it_was_added_late)
{
    int hand[2];
    struct http_connections *all = started_table(hand);
    int late = connected(), other = connected();
    int late_fd = handed_over(hand[0]), other_fd = handed_over(hand[0]);
    struct http_connection *other_added = http_connections_add(all, other_fd);
    raw_await_close(other); /* by now the thread has looked for clients that are overdue */
    end(all, other_added, other_fd);
    struct http_connection *late_added = http_connections_add(all, late_fd);
    raw_await_close(late);
    end(all, late_added, late_fd);
    close(late);
    close(other);
    stop_table(all);
}
END_TEST

/* As when the thread that reads runs a long request. */
START_TEST(a_body_that_waits_for_a_busy_thread_is_not_late)
{
    int hand[2];
    char body[16];
    struct http_connections *all = started_table(hand);
    int prompt = connected(), other = connected();
    int prompt_fd = handed_over(hand[0]), other_fd = handed_over(hand[0]);
    struct http_connection *prompt_added = http_connections_add(all, prompt_fd);
    ck_assert(http_connection_mark(prompt_added, HTTP_BODY));
    ck_assert_int_eq(write(prompt, body, sizeof body), sizeof body);
    struct http_connection *other_added = http_connections_add(all, other_fd);
    ck_assert(http_connection_mark(other_added, HTTP_BODY));
    raw_await_close(other); /* by now the body would be late and slow */
    ck_assert_int_eq(http_connection_shut(prompt_added), HTTP_SHUT_NOT);
    ck_assert_int_eq(read(prompt_fd, body, sizeof body), sizeof body);
    ck_assert(http_connection_receive(prompt_added, sizeof body));
    raw_await_close(prompt); /* now it is */
    end(all, other_added, other_fd);
    end(all, prompt_added, prompt_fd);
    close(prompt);
    close(other);
    stop_table(all);
}
END_TEST

/* As when the threads that read are busy. */
START_TEST(when_all_have_asked_the_first_is_told_to_retry_and_the_log_says_so)
{
    enum { MAX = 10 };
    int hand[2], clients[MAX + 1], fds[MAX + 1];
    struct http_connection *added[MAX + 1];
    char logged[1024] = "";
    FILE *log = tmpfile();
    ck_assert_int_ge(dup2(fileno(log), STDERR_FILENO), 0);
    struct http_connections *all = started_table(hand);
    for (int i = 0; i <= MAX; i++) {
        clients[i] = connected();
        fds[i] = handed_over(hand[0]);
        raw_send(clients[i], REQUEST);
        added[i] = http_connections_add(all, fds[i]);
    }
    raw_read(clients[0], &answer);
    ck_assert_int_eq(answer.status, 503);
    ck_assert_ptr_nonnull(strstr(answer.head, "Retry-After: 1"));
    ck_assert_int_eq(http_connection_shut(added[0]), HTTP_SHUT_FOR_ROOM);
    for (int i = 0; i <= MAX; i++) {
        ck_assert_int_eq(http_connection_shut(added[i]) == HTTP_SHUT_FOR_ROOM, i == 0);
        end(all, added[i], fds[i]);
        close(clients[i]);
    }
    stop_table(all);
    ck_assert_int_ge(pread(fileno(log), logged, sizeof logged - 1, 0), 0);
    ck_assert_msg(strstr(logged, "pages: 1 connection closed to make room for new ones: more than "
                                 "10 at once"),
                  "%s", logged);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("net/http_connections");
    TCase *tests = suite_case("http_connections");
    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, a_client_that_sends_nothing_is_closed);
    tcase_add_test(tests, a_header_that_drips_is_closed);
    tcase_add_test(tests, a_later_request_that_drips_is_closed);
    tcase_add_test(tests, an_idle_connection_is_closed);
    tcase_add_test(tests, a_body_without_a_byte_for_too_long_is_told_and_closed);
    tcase_add_test(tests, a_body_below_the_least_rate_is_closed);
    tcase_add_test(tests, a_body_above_the_least_rate_may_take_its_time);
    tcase_add_test(tests, a_client_that_leaves_in_the_middle_is_noticed);
    tcase_add_test(tests, a_client_that_only_ends_its_side_gets_its_answer);
    tcase_add_test(tests, connections_are_charged_and_the_budget_limits_them);
    tcase_add_test(tests, idle_connections_outlive_the_header_timeout);
    tcase_add_test(tests, a_request_that_waits_for_its_answer_has_no_timeout);
    tcase_add_test(tests, when_full_the_longest_idle_connection_makes_room);
    tcase_add_test(tests, a_request_that_waits_for_its_answer_is_not_what_makes_room);
    tcase_add_test(tests, thousands_of_idle_clients_keep_nobody_out);
    tcase_add_test(tests, running_out_of_descriptors_is_survived);
    tcase_add_test(tests, a_body_that_waits_for_a_busy_thread_is_not_late);
    tcase_add_test(tests, a_silent_client_is_closed_although_it_was_added_late);
    tcase_add_test(tests, when_all_have_asked_the_first_is_told_to_retry_and_the_log_says_so);
    suite_add_tcase(suite, tests);
    return suite_finish(suite);
}
