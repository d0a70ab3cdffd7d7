#include "lib/net/http/otlp_http.h"

#include "lib/base/clock.h"
#include "lib/wire/http/status.h"
#include "tests/support/http_fixture.h"
#include "tests/support/keeper.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <unistd.h>

static struct http_fixture fixture;
static struct http_answer answer;
static struct outcome last;
static size_t ceiling = 64 << 10;

const struct component *const component_table[] = {NULL};

/* /take: echoes the body, or refuses; else a partial success. */
static void handle(void *ctx, struct http_request *request)
{
    struct bytes body;
    (void)ctx;
    bytes_init(&body, ceiling, &fixture.budget);
    last = request_take_body(request, &body);
    if (last.verdict == VERDICT_OK)
        http_respond(request, 200, NULL, bytes_view(&body), 0);
    else
        otlp_http_refuse(request, http_request_header(request, "X-Json") != NULL, &last);
    bytes_release(&body);
}

static int begin(void)
{
    http_fixture_init(&fixture);
    fixture.options.handler = handle;
    http_fixture_start(&fixture);
    return raw_connect(fixture.bound);
}

static void end(int fd)
{
    close(fd);
    http_fixture_stop(&fixture);
}

START_TEST(media_types_are_told_without_case_and_parameters)
{
    static const char *const good[] = {"application/json", "Application/JSON",
                                       "application/json; charset=utf-8", "application/json ;a=b"};
    static const char *const bad[] = {"application/jsonp", "application/", "",
                                      "text/application/json"};
    for (size_t i = 0; i < 4; i++) {
        ck_assert(media_type_is(good[i], "application/json"));
        ck_assert(!media_type_is(bad[i], "application/json"));
    }
    ck_assert(!media_type_is(NULL, "application/json"));
}
END_TEST

START_TEST(bodies_come_out_of_their_encoding)
{
    int fd = begin();
    receiver_post(fd, "/take", "", VIEW("plain"), 200, &answer);
    ck_assert_str_eq(answer.body, "plain");
    receiver_post(fd, "/take", "Content-Encoding: GZIP\r\n", receiver_gzip(VIEW("packed")), 200,
                  &answer);
    ck_assert_str_eq(answer.body, "packed");
    end(fd);
}
END_TEST

START_TEST(an_unknown_encoding_is_400_where_otlp_is_spoken)
{
    int fd = begin();
    receiver_post(fd, "/take", "Content-Encoding: br\r\nX-Json: 1\r\n", VIEW("x"), 400, &answer);
    ck_assert_str_eq(last.text, "unknown Content-Encoding \"br\", expected gzip, zstd, "
                                "zlib, deflate, snappy, x-snappy-framed, lz4 or identity");
    ck_assert_int_eq(last.cause, CAUSE_ENCODING);
    ck_assert_msg(strstr(answer.body, "\"code\":3"), "%s", answer.body);
    end(fd);
}
END_TEST

START_TEST(what_could_never_fit_the_budget_is_413_that_names_it)
{
    http_fixture_init(&fixture);
    fixture.options.handler = handle;
    fixture.options.max_body = 32 << 20;
    ceiling = 32 << 20;
    budget_init(&fixture.budget, 40000);
    http_fixture_start(&fixture);
    int fd = raw_connect(fixture.bound);
    static uint8_t body[50000];
    receiver_post(fd, "/take", "X-Json: 1\r\n", (struct view){body, sizeof body}, 413, &answer);
    ck_assert_msg(strstr(answer.body, "the maximum is 40000 bytes"), "%s", answer.body);
    end(fd);
}
END_TEST

SUITE_MAIN("otlp_http", media_types_are_told_without_case_and_parameters,
           bodies_come_out_of_their_encoding, an_unknown_encoding_is_400_where_otlp_is_spoken,
           what_could_never_fit_the_budget_is_413_that_names_it)
