/* Requests that can never be sent, and similar ones that can. */
#include "lib/net/http/http_client.h"

#include "lib/base/clock.h"
#include "tests/support/http_fixture.h"
#include "tests/support/script_server.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

static struct http_client *make_client(bool http2)
{
    char error[256];
    struct http_client_options options = {
        .http2 = http2, .timeout_ns = 20 * NS_PER_S, .max_reply = 100};
    struct http_client *client = http_client_new(&options, error, sizeof error);
    ck_assert_msg(client, "%s", error);
    return client;
}

START_TEST(a_url_that_cannot_be_parsed_is_no_matter_of_time_and_shows_no_secret)
{
    static const char *const urls[] = {
        "http://user:hush@localhost:1/ingest?name=a\x01&token=hush",
        "http://user:hush@localhost:port/ingest?name=a",
        "http://user:hu/sh@localhost:1/",
        "gopher://user:hush@localhost/",
    };
    for (int http2 = 0; http2 < 2; http2++) {
        struct http_client *client = make_client(http2);
        for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
            struct http_reply reply;
            ck_assert(!http_client_post(client, urls[i], NULL, 0, VIEW("x"), &reply));
            ck_assert_msg(reply.unsendable || i == 3, "%s", urls[i]);
            ck_assert_msg(!strstr(reply.error, "hu"), "%s", reply.error);
            http_reply_release(&reply);
        }
        http_client_free(client);
    }
}
END_TEST

START_TEST(a_header_with_control_characters_is_no_matter_of_time)
{
    struct http_client *client = make_client(false);
    struct http_reply reply;
    const struct http_header header = {"Content-Type", "text/plain\x01"};
    ck_assert(!http_client_post(client, "http://localhost:1/", &header, 1, VIEW("x"), &reply));
    ck_assert(reply.unsendable);
    http_reply_release(&reply);
    http_client_free(client);
}
END_TEST

START_TEST(nobody_at_the_address_is_a_matter_of_time)
{
    struct http_client *client = make_client(false);
    struct http_reply reply;
    ck_assert(!http_client_post(client, "http://127.0.0.1:1/", NULL, 0, VIEW("x"), &reply));
    ck_assert(!reply.unsendable);
    http_reply_release(&reply);
    http_client_free(client);
}
END_TEST

START_TEST(a_peer_that_does_not_speak_http_is_a_matter_of_time)
{
    static const char *const answers[] = {"\x01\x02 settings of another protocol", NULL};
    struct script_server server = {.answers = answers, .hang_up = true};
    struct http_client *client = make_client(false);
    struct http_reply reply;
    char url[300];
    script_server_start(&server);
    snprintf(url, sizeof url, "http://%s/", server.bound);
    ck_assert(!http_client_post(client, url, NULL, 0, VIEW("x"), &reply));
    ck_assert(!reply.unsendable);
    ck_assert_msg(strstr(reply.error, "does not answer in HTTP/1.1"), "%s", reply.error);
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&server);
}
END_TEST

START_TEST(a_long_header_is_sent)
{
    static struct http_fixture fixture;
    char url[300], *value = malloc(12001);
    memset(value, 'v', 12000);
    value[12000] = '\0';
    http_fixture_init(&fixture);
    http_fixture_start(&fixture);
    snprintf(url, sizeof url, "http://%s/echo", fixture.bound);
    struct http_client *client = make_client(false);
    struct http_reply reply;
    const struct http_header header = {"X-Long", value};
    ck_assert_msg(http_client_post(client, url, &header, 1, VIEW("x"), &reply), "%s", reply.error);
    ck_assert_int_eq(reply.status, 200);
    http_reply_release(&reply);
    http_client_free(client);
    http_fixture_stop(&fixture);
    free(value);
}
END_TEST

SUITE_MAIN("http_unsendable", a_url_that_cannot_be_parsed_is_no_matter_of_time_and_shows_no_secret,
           a_header_with_control_characters_is_no_matter_of_time,
           nobody_at_the_address_is_a_matter_of_time,
           a_peer_that_does_not_speak_http_is_a_matter_of_time, a_long_header_is_sent)
