/* Authentication as seen by clients of the HTTP server. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/asking.h"
#include "tests/support/http_fixture.h"
#include "tests/support/suite.h"

#define POST(headers, body) "POST /echo HTTP/1.1\r\nHost: x\r\n" headers "\r\n" body

static struct http_fixture fixture;
static struct http_answer answer;

static int begun(void)
{
    http_fixture_init(&fixture);
    fixture.options.auth = &asking;
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

START_TEST(who_is_known_is_let_in)
{
    int fd = begun();
    raw_exchange(fd, POST("x-who: yes\r\nContent-Length: 2\r\n", "hi"), 200, &answer);
    ck_assert_str_eq(answer.body, "hi");
    ended(fd);
}
END_TEST

START_TEST(others_get_401_and_their_body_is_not_kept)
{
    static char block[60 << 10];
    int fd = begun();
    raw_exchange(fd, POST("Content-Length: 2\r\n", "hi"), 401, &answer);
    ck_assert_ptr_nonnull(strstr(answer.head, "WWW-Authenticate: Test realm=\"t\""));
    size_t connected = budget_used(&fixture.budget);
    raw_send(fd, POST("X-Who: no\r\nContent-Length: 61440\r\n", ""));
    raw_send_bytes(fd, block, sizeof block - 1);
    ck_assert_uint_eq(budget_used(&fixture.budget), connected);
    raw_send_bytes(fd, block, 1);
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 401);
    /* The connection can be used for another try. */
    raw_exchange(fd, POST("X-Who: yes\r\nContent-Length: 2\r\n", "hi"), 200, &answer);
    ck_assert_uint_eq(http_fixture_handled(&fixture), 1);
    ended(fd);
}
END_TEST

START_TEST(a_browser_may_ask_without_credentials_whether_it_may_send)
{
    char *origins[] = {"http://a.b"};
    const struct cors_settings cors = {.allowed_origins = {origins, 1}};
    http_fixture_init(&fixture);
    fixture.options.auth = &asking;
    fixture.options.cors = &cors;
    http_fixture_start(&fixture);
    int fd = raw_connect(fixture.bound);
    raw_exchange(fd,
                 "OPTIONS /echo HTTP/1.1\r\nHost: x\r\nOrigin: http://a.b\r\n"
                 "Access-Control-Request-Method: POST\r\n\r\n",
                 204, &answer);
    ck_assert_ptr_nonnull(strstr(answer.head, "Access-Control-Allow-Origin: http://a.b"));
    raw_exchange(fd, POST("Origin: http://a.b\r\nContent-Length: 2\r\n", "hi"), 401, &answer);
    ck_assert_ptr_nonnull(strstr(answer.head, "Access-Control-Allow-Origin: http://a.b"));
    raw_exchange(fd, "OPTIONS /echo HTTP/1.1\r\nHost: x\r\nOrigin: http://a.b\r\n\r\n", 401,
                 &answer);
    ended(fd);
}
END_TEST

static _Atomic unsigned told;

static void count_told(void *ctx, const char *path, const struct peer *peer,
                       const struct outcome *why)
{
    char text[PEER_TEXT];
    ck_assert_ptr_eq(ctx, &fixture);
    ck_assert_str_eq(path, "/echo");
    ck_assert_int_eq(why->cause, CAUSE_AUTH);
    ck_assert_ptr_nonnull(strstr(peer_text(peer, text), "127.0.0.1:"));
    told++;
}

START_TEST(who_is_refused_is_told_of_with_path_and_address)
{
    http_fixture_init(&fixture);
    fixture.options.auth = &asking;
    fixture.options.refused = count_told;
    http_fixture_start(&fixture);
    int fd = raw_connect(fixture.bound);
    raw_exchange(fd, POST("Content-Length: 2\r\n", "hi"), 401, &answer);
    raw_exchange(fd, POST("X-Who: yes\r\nContent-Length: 2\r\n", "hi"), 200, &answer);
    raw_exchange(fd, POST("X-Who: no\r\nContent-Length: 2\r\n", "hi"), 401, &answer);
    ck_assert_uint_eq(told, 2);
    ended(fd);
}
END_TEST

START_TEST(who_waits_to_send_is_told_before)
{
    int fd = begun();
    raw_exchange(fd, POST("X-Who: no\r\nExpect: 100-continue\r\nContent-Length: 2\r\n", ""), 401,
                 &answer);
    raw_await_close(fd);
    ended(fd);
}
END_TEST

START_TEST(one_too_many_is_told_to_come_again)
{
    int fd = begun();
    raw_exchange(fd, POST("X-Who: busy\r\nContent-Length: 2\r\n", "hi"), 503, &answer);
    ck_assert_ptr_nonnull(strstr(answer.head, "Retry-After: 1"));
    ck_assert_ptr_null(strstr(answer.head, "WWW-Authenticate"));
    ended(fd);
}
END_TEST

static void ask_and_say(int fd, enum auth_result result, int status)
{
    raw_send(fd, POST("X-Who: ask\r\nContent-Length: 2\r\n", "hi"));
    asking_say(result);
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, status);
}

START_TEST(a_check_may_take_its_time)
{
    int fd = begun();
    ask_and_say(fd, AUTH_GRANTED, 200);
    ck_assert_str_eq(answer.body, "hi");
    ask_and_say(fd, AUTH_DENIED, 401);
    ask_and_say(fd, AUTH_LATER, 503);
    ck_assert_uint_eq(http_fixture_handled(&fixture), 1);
    ended(fd);
}
END_TEST

START_TEST(a_check_that_ends_in_a_stop_lets_nobody_in)
{
    int fd = begun();
    raw_send(fd, POST("X-Who: ask\r\nContent-Length: 2\r\n", "hi"));
    asking_await();
    http_server_drain(fixture.server);
    asking_say(AUTH_GRANTED);
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 503);
    ck_assert_uint_eq(http_fixture_handled(&fixture), 0);
    ended(fd);
}
END_TEST

START_TEST(a_check_may_outlast_its_server)
{
    int fd = begun();
    raw_send(fd, POST("X-Who: ask\r\nContent-Length: 2\r\n", "hi"));
    asking_await();
    http_server_close(fixture.server, 0);
    asking_say(AUTH_GRANTED);
    close(fd);
    ck_assert_uint_eq(fixture.handled, 0);
    ck_assert_uint_eq(budget_used(&fixture.budget), 0);
}
END_TEST

static void deny(void *ctx, struct http_request *request, const struct outcome *outcome)
{
    ck_assert_ptr_eq(ctx, &fixture);
    ck_assert_int_eq(outcome->cause, CAUSE_AUTH);
    http_respond(request, 401, "text/x-own", VIEW("own words"), 0);
}

START_TEST(a_protocol_words_its_own_refusal)
{
    http_fixture_init(&fixture);
    fixture.options.auth = &asking;
    fixture.options.deny = deny;
    http_fixture_start(&fixture);
    int fd = raw_connect(fixture.bound);
    raw_exchange(fd, POST("Content-Length: 2\r\n", "hi"), 401, &answer);
    ck_assert_str_eq(answer.body, "own words");
    ck_assert_ptr_nonnull(strstr(answer.head, "WWW-Authenticate: Test"));
    ended(fd);
}
END_TEST

SUITE_MAIN("http_auth", who_is_known_is_let_in, others_get_401_and_their_body_is_not_kept,
           a_browser_may_ask_without_credentials_whether_it_may_send,
           who_is_refused_is_told_of_with_path_and_address, who_waits_to_send_is_told_before,
           one_too_many_is_told_to_come_again, a_check_may_take_its_time,
           a_check_that_ends_in_a_stop_lets_nobody_in, a_check_may_outlast_its_server,
           a_protocol_words_its_own_refusal)
