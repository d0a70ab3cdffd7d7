/* Authentication as seen by callers of the gRPC server. */
#include "lib/net/grpc/grpc_server.h"

#include "lib/base/clock.h"
#include "tests/support/asking.h"
#include "tests/support/grpc_fixture.h"
#include "tests/support/h2_peer.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static struct h2_peer peer;
static struct h2_answer answer;

static void begin(void)
{
    struct grpc_server_options options = grpc_fixture_options();
    options.auth = &asking;
    grpc_fixture_open(&options);
    h2_peer_open(&peer, grpc_fixture.address);
}

START_TEST(who_is_known_is_let_in)
{
    begin();
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-who", "yes");
    h2_peer_message(&peer, 1, false, VIEW("hi"));
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(others_are_told_before_their_message_is_read)
{
    begin();
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_UNAUTHENTICATED);
    h2_peer_call(&peer, 3, "/no.Such/Method", "x-who", "no");
    h2_peer_answer(&peer, 3, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_UNAUTHENTICATED);
    h2_peer_call(&peer, 5, GRPC_FIXTURE_PATH, "x-who", "busy");
    h2_peer_answer(&peer, 5, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_UNAVAILABLE);
    ck_assert_str_ne(answer.details, "");
    h2_peer_close(&peer);
}
END_TEST

static _Atomic unsigned told;

static void count_told(void *ctx, const char *path, const struct peer *from,
                       const struct outcome *why)
{
    char text[PEER_TEXT];
    (void)ctx;
    ck_assert_str_eq(path, GRPC_FIXTURE_PATH);
    ck_assert_int_eq(why->cause, CAUSE_AUTH);
    ck_assert_ptr_nonnull(strstr(peer_text(from, text), "127.0.0.1:"));
    told++;
}

START_TEST(who_is_refused_is_told_of_with_path_and_address)
{
    struct grpc_server_options options = grpc_fixture_options();
    options.auth = &asking;
    options.refused = count_told;
    grpc_fixture_open(&options);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_uint_eq(told, 1);
    h2_peer_call(&peer, 3, GRPC_FIXTURE_PATH, "x-who", "ask");
    h2_peer_message(&peer, 3, false, VIEW("hi"));
    asking_say(AUTH_DENIED);
    h2_peer_answer(&peer, 3, &answer);
    ck_assert_uint_eq(told, 2);
    h2_peer_close(&peer);
}
END_TEST

static void ask_and_say(int32_t stream, enum auth_result result, enum grpc_code code)
{
    h2_peer_call(&peer, stream, GRPC_FIXTURE_PATH, "x-who", "ask");
    h2_peer_message(&peer, stream, false, VIEW("hi"));
    asking_say(result);
    h2_peer_answer(&peer, stream, &answer);
    ck_assert_int_eq(answer.grpc_status, (int)code);
}

START_TEST(a_check_may_take_its_time)
{
    begin();
    ask_and_say(1, AUTH_GRANTED, GRPC_OK);
    ask_and_say(3, AUTH_DENIED, GRPC_UNAUTHENTICATED);
    ask_and_say(5, AUTH_LATER, GRPC_UNAVAILABLE);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_check_that_ends_in_a_stop_lets_nobody_in)
{
    begin();
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-who", "ask");
    h2_peer_message(&peer, 1, false, VIEW("hi"));
    asking_await();
    grpc_server_drain(grpc_fixture.server);
    asking_say(AUTH_GRANTED);
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_UNAVAILABLE);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_check_may_outlast_its_caller)
{
    begin();
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-who", "ask");
    h2_peer_message(&peer, 1, false, VIEW("hi"));
    h2_peer_settle(&peer);
    h2_peer_close(&peer);
    asking_say(AUTH_GRANTED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grpc_auth");
    TCase *tests = grpc_fixture_case("grpc_auth");
    tcase_add_test(tests, who_is_known_is_let_in);
    tcase_add_test(tests, others_are_told_before_their_message_is_read);
    tcase_add_test(tests, who_is_refused_is_told_of_with_path_and_address);
    tcase_add_test(tests, a_check_may_take_its_time);
    tcase_add_test(tests, a_check_that_ends_in_a_stop_lets_nobody_in);
    tcase_add_test(tests, a_check_may_outlast_its_caller);
    suite_add_tcase(suite, tests);
    return suite_finish(suite);
}
