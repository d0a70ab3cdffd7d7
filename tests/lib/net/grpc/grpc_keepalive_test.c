/* Keepalive as seen by clients of the gRPC server. */
#include "lib/net/grpc/grpc_keepalive.h"

#include "lib/base/clock.h"
#include "tests/support/grpc_fixture.h"
#include "tests/support/h2_peer.h"
#include "tests/support/suite.h"

#include <sys/socket.h>

static struct h2_peer peer;
static struct h2_frame frame;
static struct h2_answer answer;

static void begin(const struct grpc_keepalive_settings *keepalive)
{
    struct grpc_server_options options = grpc_fixture_options();
    options.keepalive = *keepalive;
    grpc_fixture_open(&options);
    h2_peer_open(&peer, grpc_fixture.address);
}

static bool says(const char *words)
{
    return frame.size >= strlen(words) && memmem(frame.payload, frame.size, words, strlen(words));
}

static void await_ping(const char *words)
{
    do
        h2_peer_expect(&peer, NGHTTP2_PING, &frame);
    while (!says(words));
}

static void answer_ping(void)
{
    h2_peer_frame(&peer, NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, (struct view){frame.payload, 8});
}

static uint32_t number_at(size_t at)
{
    const uint8_t *from = frame.payload + at;
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

START_TEST(who_does_not_answer_a_ping_is_gone)
{
    const struct grpc_keepalive_settings keepalive = {
        .server = {.time = 30 * NS_PER_MS, .timeout = 30 * NS_PER_MS}};
    begin(&keepalive);
    await_ping("present");
    while (h2_peer_next(&peer, &frame)) {
    }
    h2_peer_close(&peer);
}
END_TEST

START_TEST(who_answers_stays)
{
    const struct grpc_keepalive_settings keepalive = {
        .server = {.time = 20 * NS_PER_MS, .timeout = 10 * NS_PER_S}};
    begin(&keepalive);
    for (int i = 0; i < 4; i++) {
        await_ping("present");
        answer_ping();
    }
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_message(&peer, 1, false, VIEW("hi"));
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(an_old_connection_is_told_to_connect_anew_and_loses_no_call)
{
    const struct grpc_keepalive_settings keepalive = {
        .server = {.max_connection_age = 100 * NS_PER_MS}};
    begin(&keepalive);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("held"));
    grpc_fixture_await_held(1);
    h2_peer_expect(&peer, NGHTTP2_GOAWAY, &frame);
    ck_assert_uint_eq(number_at(0), 0x7fffffff);
    ck_assert_uint_eq(number_at(4), NGHTTP2_NO_ERROR);
    /* A call that crosses the GOAWAY is served. */
    h2_peer_call(&peer, 3, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_message(&peer, 3, false, VIEW("hi"));
    await_ping("drained");
    answer_ping();
    h2_peer_answer(&peer, 3, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    grpc_fixture_answer_held(GRPC_OK);
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    while (h2_peer_next(&peer, &frame)) {
    }
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_call_under_way_has_the_grace_and_no_more)
{
    const struct grpc_keepalive_settings keepalive = {
        .server = {.max_connection_age = 30 * NS_PER_MS,
                   .max_connection_age_grace = 50 * NS_PER_MS}};
    begin(&keepalive);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("held"));
    grpc_fixture_await_held(1);
    while (h2_peer_next(&peer, &frame)) {
    }
    grpc_fixture_answer_held(GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

static void ping(unsigned times)
{
    static const uint8_t payload[8] = "client";
    for (unsigned i = 0; i < times; i++)
        h2_peer_frame(&peer, NGHTTP2_PING, 0, 0, (struct view){payload, 8});
}

START_TEST(who_pings_too_often_is_sent_away_and_told_why)
{
    const struct grpc_keepalive_settings keepalive = {.has_policy = true};
    begin(&keepalive);
    ping(3);
    h2_peer_expect(&peer, NGHTTP2_PING, &frame);
    ping(1);
    h2_peer_expect(&peer, NGHTTP2_GOAWAY, &frame);
    ck_assert_uint_eq(number_at(4), NGHTTP2_ENHANCE_YOUR_CALM);
    ck_assert(says("too_many_pings"));
    while (h2_peer_next(&peer, &frame)) {
    }
    h2_peer_close(&peer);
}
END_TEST

START_TEST(an_answered_call_forgives_the_pings_before_it)
{
    const struct grpc_keepalive_settings keepalive = {.has_policy = true};
    begin(&keepalive);
    for (int32_t stream = 1; stream <= 7; stream += 2) {
        ping(3);
        h2_peer_call(&peer, stream, GRPC_FIXTURE_PATH, NULL, NULL);
        h2_peer_message(&peer, stream, false, VIEW("hi"));
        h2_peer_answer(&peer, stream, &answer);
        ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    }
    h2_peer_settle(&peer);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(without_a_policy_or_with_a_call_pings_are_answered)
{
    struct grpc_keepalive_settings keepalive = {0};
    begin(&keepalive);
    ping(20);
    h2_peer_settle(&peer);
    h2_peer_close(&peer);
    grpc_fixture_close();
    keepalive.has_policy = true;
    keepalive.policy.min_time = 1;
    begin(&keepalive);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("held"));
    grpc_fixture_await_held(1);
    for (int i = 0; i < 6; i++)
        h2_peer_settle(&peer);
    grpc_fixture_answer_held(GRPC_OK);
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grpc_keepalive");
    TCase *tests = grpc_fixture_case("grpc_keepalive");
    tcase_add_test(tests, who_does_not_answer_a_ping_is_gone);
    tcase_add_test(tests, who_answers_stays);
    tcase_add_test(tests, an_old_connection_is_told_to_connect_anew_and_loses_no_call);
    tcase_add_test(tests, a_call_under_way_has_the_grace_and_no_more);
    tcase_add_test(tests, who_pings_too_often_is_sent_away_and_told_why);
    tcase_add_test(tests, an_answered_call_forgives_the_pings_before_it);
    tcase_add_test(tests, without_a_policy_or_with_a_call_pings_are_answered);
    suite_add_tcase(suite, tests);
    return suite_finish(suite);
}
