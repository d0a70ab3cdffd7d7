#include "lib/net/grpc/grpc_server.h"

#include "lib/base/clock.h"
#include "lib/net/http/http_client.h"
#include "lib/wire/codec/compress.h"
#include "lib/wire/http/grpc_frame.h"
#include "tests/support/grpc_fixture.h"
#include "tests/support/h2_peer.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- calls with a real client ---- */

static struct http_client *make_client(void)
{
    char error[256];
    struct http_client_options options = {
        .http2 = true, .timeout_ns = 20 * NS_PER_S, .max_reply = 4096};
    struct http_client *client = http_client_new(&options, error, sizeof error);
    ck_assert_ptr_nonnull(client);
    return client;
}

static void call(struct http_client *client, const char *encoding, struct view message,
                 struct http_reply *reply)
{
    const struct http_header headers[] = {
        {"content-type", "application/grpc"}, {"te", "trailers"}, {"grpc-encoding", encoding}};
    struct bytes body;
    char url[128];
    uint8_t prefix[GRPC_PREFIX_SIZE];
    snprintf(url, sizeof url, "http://%s" GRPC_FIXTURE_PATH, grpc_fixture.address);
    bytes_init(&body, SIZE_MAX / 2, NULL);
    grpc_frame_prefix(prefix, strcmp(encoding, "identity") != 0, (uint32_t)message.size);
    ck_assert_int_eq(bytes_append(&body, prefix, sizeof prefix), BYTES_OK);
    ck_assert_int_eq(bytes_append_view(&body, message), BYTES_OK);
    bool ok = http_client_post(client, url, headers, 3, bytes_view(&body), reply);
    ck_assert_msg(ok, "%s", reply->error);
    bytes_release(&body);
}

static void check_reply(struct http_reply *reply, const char *text)
{
    bool compressed;
    struct view message;
    ck_assert_int_eq(reply->status, 200);
    ck_assert_int_eq(reply->grpc_status, GRPC_OK);
    ck_assert_int_eq(grpc_frame_read(bytes_view(&reply->body), &compressed, &message),
                     GRPC_FRAME_OK);
    ck_assert(view_eq(message, view_of(text)));
    http_reply_release(reply);
}

START_TEST(a_call_is_answered_with_a_message_and_trailers)
{
    struct http_reply reply;
    struct http_client *client = make_client();
    grpc_fixture_open(NULL);
    call(client, "identity", VIEW("hello"), &reply);
    check_reply(&reply, "hello");
    call(client, "identity", VIEW(""), &reply);
    check_reply(&reply, "");
    http_client_free(client);
}
END_TEST

START_TEST(a_message_of_64_mib_comes_whole)
{
    struct http_reply reply;
    struct http_client *client = make_client();
    size_t size = (size_t)64 << 20;
    uint8_t *data = malloc(size);
    memset(data, 'x', size);
    grpc_fixture_open(NULL);
    call(client, "identity", (struct view){data, size}, &reply);
    check_reply(&reply, "67108864");
    free(data);
    http_client_free(client);
}
END_TEST

START_TEST(compressed_messages_are_inflated)
{
    const enum encoding_name encodings[] = {ENCODING_GZIP, ENCODING_ZSTD};
    struct http_client *client = make_client();
    grpc_fixture_open(NULL);
    for (int i = 0; i < 2; i++) {
        struct http_reply reply;
        struct bytes packed;
        bytes_init(&packed, 1000, NULL);
        ck_assert(deflate_append(encodings[i], VIEW("squeeze me"), &packed));
        call(client, encoding_text(encodings[i]), bytes_view(&packed), &reply);
        check_reply(&reply, "squeeze me");
        bytes_release(&packed);
    }
    http_client_free(client);
}
END_TEST

START_TEST(a_message_that_inflates_past_the_maximum_is_refused_for_good)
{
    struct http_reply reply;
    struct http_client *client = make_client();
    struct grpc_server_options options = grpc_fixture_options();
    uint8_t zeros[20000] = {0};
    struct bytes packed;
    options.max_message = 10000;
    grpc_fixture_open(&options);
    bytes_init(&packed, 20000, NULL);
    ck_assert(deflate_append(ENCODING_GZIP, (struct view){zeros, sizeof zeros}, &packed));
    call(client, "gzip", bytes_view(&packed), &reply);
    ck_assert_int_eq(reply.grpc_status, GRPC_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(reply.grpc_message, "maximum"));
    ck_assert_uint_eq(reply.grpc_details.size, 0);
    http_reply_release(&reply);
    bytes_release(&packed);
    http_client_free(client);
}
END_TEST

START_TEST(a_message_past_the_maximum_is_refused_for_good)
{
    struct http_reply reply;
    struct http_client *client = make_client();
    struct grpc_server_options options = grpc_fixture_options();
    size_t size = 3 << 20;
    uint8_t *data = calloc(1, size);
    options.max_message = size - 1;
    grpc_fixture_open(&options);
    call(client, "identity", (struct view){data, size}, &reply);
    ck_assert_int_eq(reply.grpc_status, GRPC_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(reply.grpc_message, "maximum"));
    ck_assert_uint_eq(reply.grpc_details.size, 0);
    http_reply_release(&reply);
    call(client, "identity", (struct view){data, size - 1}, &reply);
    check_reply(&reply, "3145727");
    free(data);
    http_client_free(client);
}
END_TEST

START_TEST(without_room_in_the_budget_clients_are_told_to_retry)
{
    struct http_reply reply;
    struct http_client *client = make_client();
    size_t size = 3 << 20;
    uint8_t *data = calloc(1, size);
    char message[64];
    int code;
    bool has_retry_info;
    uint64_t wait;
    grpc_fixture_open(NULL);
    budget_force(&grpc_fixture.budget, grpc_fixture.budget.limit - (1 << 20));
    call(client, "identity", (struct view){data, size}, &reply);
    ck_assert_int_eq(reply.grpc_status, GRPC_UNAVAILABLE);
    ck_assert(rpc_status_decode(bytes_view(&reply.grpc_details), &code, message, sizeof message,
                                &has_retry_info, &wait));
    ck_assert(has_retry_info);
    ck_assert_uint_gt(wait, 0);
    http_reply_release(&reply);
    budget_give(&grpc_fixture.budget, grpc_fixture.budget.limit - (1 << 20));
    call(client, "identity", (struct view){data, size}, &reply);
    check_reply(&reply, "3145728");
    free(data);
    http_client_free(client);
}
END_TEST

START_TEST(a_message_above_the_maximum_is_refused_for_good_also_while_memory_is_short)
{
    struct http_reply reply;
    struct http_client *client = make_client();
    struct grpc_server_options options = grpc_fixture_options();
    size_t size = 3 << 20, held = grpc_fixture.budget.limit - (1 << 20);
    uint8_t *zeros = calloc(1, size);
    struct bytes packed;
    options.max_message = size - 1;
    grpc_fixture_open(&options);
    budget_force(&grpc_fixture.budget, held);
    call(client, "identity", (struct view){zeros, size}, &reply);
    ck_assert_int_eq(reply.grpc_status, GRPC_RESOURCE_EXHAUSTED);
    http_reply_release(&reply);
    for (int zstd = 0; zstd < 2; zstd++) {
        bytes_init(&packed, size, NULL);
        ck_assert(deflate_append(zstd ? ENCODING_ZSTD : ENCODING_GZIP, (struct view){zeros, size},
                                 &packed));
        call(client, zstd ? "zstd" : "gzip", bytes_view(&packed), &reply);
        ck_assert_int_eq(reply.grpc_status, GRPC_RESOURCE_EXHAUSTED);
        http_reply_release(&reply);
        bytes_release(&packed);
    }
    bytes_init(&packed, size, NULL);
    ck_assert(deflate_append(ENCODING_GZIP, (struct view){zeros, size - 1}, &packed));
    call(client, "gzip", bytes_view(&packed), &reply);
    ck_assert_int_eq(reply.grpc_status, GRPC_UNAVAILABLE);
    http_reply_release(&reply);
    bytes_release(&packed);
    budget_give(&grpc_fixture.budget, held);
    free(zeros);
    http_client_free(client);
}
END_TEST

static void send_part(struct h2_peer *peer, int32_t stream, size_t size)
{
    static const uint8_t zeros[16000];
    for (size_t n; size > 0; size -= n) {
        n = size < sizeof zeros ? size : sizeof zeros;
        h2_peer_frame(peer, NGHTTP2_DATA, 0, stream, (struct view){zeros, n});
    }
}

START_TEST(a_message_that_stalls_gives_way_and_is_told_to_come_again)
{
    enum { SIZE = 3 << 20 };
    struct http_reply reply;
    struct http_client *client = make_client();
    struct h2_peer stalled;
    struct h2_answer answer;
    uint8_t prefix[GRPC_PREFIX_SIZE], *zeros = calloc(1, SIZE);
    size_t held = grpc_fixture.budget.limit - (4 << 20);
    grpc_fixture_open(NULL);
    budget_force(&grpc_fixture.budget, held);
    h2_peer_open(&stalled, grpc_fixture.address);
    h2_peer_settle(&stalled);
    h2_peer_frame(&stalled, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, (struct view){0});
    h2_peer_call(&stalled, 1, GRPC_FIXTURE_PATH, NULL, NULL);
    grpc_frame_prefix(prefix, false, SIZE);
    h2_peer_frame(&stalled, NGHTTP2_DATA, 0, 1, (struct view){prefix, sizeof prefix});
    send_part(&stalled, 1, SIZE - 1000);
    h2_peer_settle(&stalled);
    do { /* until that body has stalled for long enough */
        call(client, "identity", (struct view){zeros, SIZE}, &reply);
        http_reply_release(&reply);
    } while (reply.grpc_status == GRPC_UNAVAILABLE);
    ck_assert_int_eq(reply.grpc_status, GRPC_OK);
    ck_assert_uint_eq(grpc_fixture.budget.gave_way, 1);
    send_part(&stalled, 1, 1000);
    h2_peer_answer(&stalled, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_UNAVAILABLE);
    budget_give(&grpc_fixture.budget, held);
    free(zeros);
    h2_peer_close(&stalled);
    http_client_free(client);
}
END_TEST

START_TEST(a_message_larger_than_the_whole_budget_is_refused_for_good)
{
    struct http_reply reply;
    struct http_client *client = make_client();
    uint8_t data[20000] = {0};
    budget_init(&grpc_fixture.budget, 8 * sizeof data);
    grpc_fixture.budget.reserve = 6 * sizeof data + 2;
    grpc_fixture_open(NULL);
    call(client, "identity", (struct view){data, sizeof data}, &reply);
    ck_assert_int_eq(reply.grpc_status, GRPC_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(reply.grpc_message, "maximum"));
    http_reply_release(&reply);
    http_client_free(client);
}
END_TEST

static void *call_many(void *arg)
{
    struct http_client *client = arg;
    for (int i = 0; i < 100; i++) {
        struct http_reply reply;
        char text[32];
        snprintf(text, sizeof text, "message %d", i);
        call(client, "identity", view_of(text), &reply);
        check_reply(&reply, text);
    }
    return NULL;
}

START_TEST(calls_on_many_connections_get_their_own_answers)
{
    struct http_client *client = make_client();
    pthread_t threads[8];
    grpc_fixture_open(NULL);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call_many, client), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    http_client_free(client);
}
END_TEST

/* ---- drain ---- */

START_TEST(drain_serves_what_is_under_way_and_says_goaway_twice)
{
    struct h2_peer peer;
    struct h2_answer answer;
    struct h2_frame frame;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("kept"));
    grpc_fixture_await_held(1);
    grpc_server_drain(grpc_fixture.server);
    ck_assert_int_eq(h2_connect(grpc_fixture.address), -1);
    h2_peer_expect(&peer, NGHTTP2_GOAWAY, &frame);
    ck_assert_mem_eq(frame.payload, "\x7f\xff\xff\xff\0\0\0\0", 8);
    h2_peer_expect(&peer, NGHTTP2_PING, &frame);
    h2_peer_frame(&peer, NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0,
                  (struct view){frame.payload, frame.size});
    h2_peer_expect(&peer, NGHTTP2_GOAWAY, &frame);
    ck_assert_mem_eq(frame.payload, "\0\0\0\1\0\0\0\0", 8);
    grpc_fixture_answer_held(GRPC_OK);
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    ck_assert_int_eq(h2_peer_last_words(&peer), -1);
    h2_peer_close(&peer);
}
END_TEST

/* The GOAWAY tells the client that it is not served; it retries elsewhere. */
START_TEST(a_call_behind_the_last_goaway_is_not_served)
{
    struct h2_peer peer;
    struct h2_frame frame;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_settle(&peer);
    grpc_server_drain(grpc_fixture.server);
    h2_peer_expect(&peer, NGHTTP2_PING, &frame);
    h2_peer_cork(&peer, true);
    h2_peer_frame(&peer, NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0,
                  (struct view){frame.payload, frame.size});
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("late"));
    h2_peer_cork(&peer, false);
    h2_peer_expect(&peer, NGHTTP2_GOAWAY, &frame);
    ck_assert_mem_eq(frame.payload, "\0\0\0\0\0\0\0\0", 8);
    while (h2_peer_next(&peer, &frame))
        ck_assert_int_ne(frame.type, NGHTTP2_HEADERS);
    ck_assert_uint_eq(grpc_fixture_held(), 0); /* otherwise it would be processed twice */
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_server_that_retires_serves_calls_that_cross_its_goaway)
{
    struct h2_peer peer;
    struct h2_answer answer;
    struct h2_frame frame;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    grpc_server_retire(grpc_fixture.server);
    h2_peer_expect(&peer, NGHTTP2_GOAWAY, &frame);
    ck_assert_int_eq(h2_connect(grpc_fixture.address), -1);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_message(&peer, 1, false, VIEW("late"));
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_server_takes_the_socket_of_one_that_retires)
{
    struct h2_peer peer;
    struct h2_answer answer;
    _Atomic bool yields = true;
    char error[256], bound[64];
    struct grpc_server_options options = grpc_fixture_options();
    options.yields = &yields;
    grpc_fixture_open(&options);
    ck_assert(endpoint_parse(grpc_fixture.address, false, &options.endpoint, error, sizeof error));
    struct grpc_server *next = grpc_server_open(&options, bound, sizeof bound, error, sizeof error);
    ck_assert_ptr_nonnull(next);
    ck_assert_str_eq(bound, grpc_fixture.address);
    grpc_server_retire(grpc_fixture.server);
    grpc_server_close(grpc_fixture.server, TIME_NEVER);
    grpc_fixture.server = next;
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_message(&peer, 1, false, VIEW("new"));
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(close_waits_for_the_answer_that_is_outstanding)
{
    struct h2_peer peer;
    struct h2_answer answer;
    pthread_t closer;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("kept"));
    grpc_fixture_await_held(1);
    grpc_server_drain(grpc_fixture.server);
    ck_assert_int_eq(
        pthread_create(&closer, NULL, (void *(*)(void *))(void (*)(void))grpc_fixture_close, NULL),
        0);
    grpc_fixture_answer_held(GRPC_OK);
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    h2_peer_close(&peer);
    pthread_join(closer, NULL);
}
END_TEST

START_TEST(an_address_in_use_is_said_in_a_sentence)
{
    char error[256] = "", *colon;
    struct grpc_server_options options = grpc_fixture_options();
    grpc_fixture_open(NULL);
    colon = strrchr(grpc_fixture.address, ':');
    strcpy(options.endpoint.service, colon + 1);
    ck_assert_ptr_null(grpc_server_open(&options, NULL, 0, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, grpc_fixture.address));
    ck_assert_ptr_nonnull(strstr(error, "in use"));
}
END_TEST

static TCase *calls(void)
{
    TCase *tcase = grpc_fixture_case("calls");
    tcase_add_test(tcase, a_call_is_answered_with_a_message_and_trailers);
    tcase_add_test(tcase, a_message_of_64_mib_comes_whole);
    tcase_add_test(tcase, compressed_messages_are_inflated);
    tcase_add_test(tcase, a_message_that_inflates_past_the_maximum_is_refused_for_good);
    tcase_add_test(tcase, a_message_past_the_maximum_is_refused_for_good);
    tcase_add_test(tcase, without_room_in_the_budget_clients_are_told_to_retry);
    tcase_add_test(tcase,
                   a_message_above_the_maximum_is_refused_for_good_also_while_memory_is_short);
    tcase_add_test(tcase, a_message_that_stalls_gives_way_and_is_told_to_come_again);
    tcase_add_test(tcase, a_message_larger_than_the_whole_budget_is_refused_for_good);
    tcase_add_test(tcase, calls_on_many_connections_get_their_own_answers);
    return tcase;
}

static TCase *ends(void)
{
    TCase *tcase = grpc_fixture_case("ends");
    tcase_add_test(tcase, drain_serves_what_is_under_way_and_says_goaway_twice);
    tcase_add_test(tcase, a_call_behind_the_last_goaway_is_not_served);
    tcase_add_test(tcase, a_server_that_retires_serves_calls_that_cross_its_goaway);
    tcase_add_test(tcase, a_server_takes_the_socket_of_one_that_retires);
    tcase_add_test(tcase, close_waits_for_the_answer_that_is_outstanding);
    tcase_add_test(tcase, an_address_in_use_is_said_in_a_sentence);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("net/grpc_server");
    suite_add_tcase(suite, calls());
    suite_add_tcase(suite, ends());
    return suite_finish(suite);
}
