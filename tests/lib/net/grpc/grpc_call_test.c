#include "lib/net/grpc/grpc_call.h"

#include "lib/base/clock.h"
#include "lib/wire/http/base64.h"
#include "lib/wire/http/grpc_frame.h"
#include "tests/support/grpc_fixture.h"
#include "tests/support/h2_peer.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

START_TEST(streams_of_one_connection_are_answered_in_the_order_of_the_answers)
{
    struct h2_peer peer;
    struct h2_answer answer;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("first"));
    grpc_fixture_await_held(1);
    h2_peer_call(&peer, 3, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_message(&peer, 3, false, VIEW("second"));
    h2_peer_answer(&peer, 3, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    ck_assert_uint_eq(answer.size, GRPC_PREFIX_SIZE + 6);
    grpc_fixture_answer_held(GRPC_OK);
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    ck_assert_mem_eq(answer.data + GRPC_PREFIX_SIZE, "late", 4);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(an_error_comes_as_trailers_only_with_its_details)
{
    struct h2_peer peer;
    struct h2_answer answer;
    struct bytes details;
    char message[64];
    int code;
    bool has_retry_info;
    uint64_t wait;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-fail", "14");
    h2_peer_message(&peer, 1, false, VIEW("x"));
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.http_status, 200);
    ck_assert_int_eq(answer.grpc_status, GRPC_UNAVAILABLE);
    ck_assert_str_eq(answer.message, "50% \xc3\xa4");
    ck_assert_uint_eq(answer.size, 0);
    bytes_init(&details, 1000, NULL);
    ck_assert_int_eq(base64_decode(view_of(answer.details), &details), BASE64_OK);
    ck_assert(rpc_status_decode(bytes_view(&details), &code, message, sizeof message,
                                &has_retry_info, &wait));
    ck_assert_int_eq(code, GRPC_UNAVAILABLE);
    ck_assert_uint_eq(wait, 2 * NS_PER_S);
    bytes_release(&details);
    h2_peer_close(&peer);
}
END_TEST

/* Makes one call with this header and message; returns the response. */
static struct h2_answer try_call(const char *path, const char *name, const char *value,
                                 struct view frames)
{
    struct h2_peer peer;
    struct h2_answer answer;
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, path, name, value);
    h2_peer_frame(&peer, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, frames);
    h2_peer_answer(&peer, 1, &answer);
    h2_peer_close(&peer);
    return answer;
}

START_TEST(a_path_that_is_not_served_is_unimplemented)
{
    grpc_fixture_open(NULL);
    struct h2_answer answer = try_call("/no.Such/Thing", NULL, NULL, VIEW("\0\0\0\0\0"));
    ck_assert_int_eq(answer.http_status, 200);
    ck_assert_int_eq(answer.grpc_status, GRPC_UNIMPLEMENTED);
    ck_assert_str_eq(answer.message, "unknown service or method");
}
END_TEST

START_TEST(an_unknown_encoding_is_unimplemented_and_the_known_ones_are_named)
{
    grpc_fixture_open(NULL);
    struct h2_answer answer =
        try_call(GRPC_FIXTURE_PATH, "grpc-encoding", "lz4", VIEW("\1\0\0\0\1x"));
    ck_assert_int_eq(answer.grpc_status, GRPC_UNIMPLEMENTED);
    ck_assert_ptr_nonnull(strstr(answer.message, "lz4"));
    ck_assert_ptr_nonnull(strstr(answer.accept_encoding, "gzip,zstd,snappy"));
}
END_TEST

START_TEST(bodies_that_are_not_one_message_are_refused)
{
    static const struct {
        const char *encoding;
        struct view frames;
        int code;
    } rows[] = {
        {"identity", VIEW(""), GRPC_INTERNAL},
        {"identity", VIEW("\0\0\0"), GRPC_INTERNAL},
        {"identity", VIEW("\0\0\0\0\5four"), GRPC_INTERNAL},
        {"identity", VIEW("\0\0\0\0\4four more"), GRPC_INTERNAL},
        {"identity", VIEW("\2\0\0\0\4four"), GRPC_INTERNAL},
        {"identity", VIEW("\1\0\0\0\4four"), GRPC_INTERNAL},
        {"gzip", VIEW("\1\0\0\0\4four"), GRPC_INVALID_ARGUMENT},
        {"zstd", VIEW("\1\0\0\0\4four"), GRPC_INVALID_ARGUMENT},
        {"identity", VIEW("\0\xff\xff\xff\xff"), GRPC_RESOURCE_EXHAUSTED},
        {"gzip", VIEW("\0\0\0\0\4four"), GRPC_OK},
    };
    grpc_fixture_open(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct h2_answer answer =
            try_call(GRPC_FIXTURE_PATH, "grpc-encoding", rows[i].encoding, rows[i].frames);
        ck_assert_msg(answer.grpc_status == rows[i].code, "row %zu: %d %s", i, answer.grpc_status,
                      answer.message);
    }
}
END_TEST

static int http_status_of(const char *method, const char *content_type)
{
    uint8_t block[512];
    struct h2_peer peer;
    struct h2_answer answer;
    size_t n = h2_field(block, ":method", method);
    n += h2_field(block + n, ":scheme", "http");
    n += h2_field(block + n, ":authority", "test");
    n += h2_field(block + n, ":path", GRPC_FIXTURE_PATH);
    n += h2_field(block + n, "content-type", content_type);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_frame(&peer, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, (struct view){block, n});
    h2_peer_message(&peer, 1, false, VIEW("x"));
    h2_peer_answer(&peer, 1, &answer);
    h2_peer_close(&peer);
    return answer.http_status;
}

START_TEST(only_posts_of_grpc_are_taken)
{
    grpc_fixture_open(NULL);
    ck_assert_int_eq(http_status_of("POST", "application/grpc"), 200);
    ck_assert_int_eq(http_status_of("POST", "application/grpc+proto"), 200);
    ck_assert_int_eq(http_status_of("POST", "application/grpc; charset=utf-8"), 200);
    ck_assert_int_eq(http_status_of("POST", "application/grpc+json"), 415);
    ck_assert_int_eq(http_status_of("POST", "application/grpc-web"), 415);
    ck_assert_int_eq(http_status_of("POST", "application/x-protobuf"), 415);
    ck_assert_int_eq(http_status_of("GET", "application/grpc"), 405);
}
END_TEST

START_TEST(after_an_early_refusal_the_rest_is_read_past_and_other_calls_go_on)
{
    struct h2_peer peer;
    struct h2_answer answer;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_frame(&peer, NGHTTP2_DATA, 0, 1, VIEW("\0\xff\xff\xff\xff data"));
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_RESOURCE_EXHAUSTED);
    h2_peer_frame(&peer, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, VIEW("that was under way"));
    h2_peer_call(&peer, 3, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_message(&peer, 3, false, VIEW("next"));
    h2_peer_answer(&peer, 3, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_header_past_its_limit_is_refused)
{
    static uint8_t block[80000];
    struct h2_peer peer;
    struct h2_answer answer;
    char name[16];
    size_t n = h2_field(block, ":method", "POST");
    n += h2_field(block + n, ":scheme", "http");
    n += h2_field(block + n, ":authority", "test");
    n += h2_field(block + n, ":path", GRPC_FIXTURE_PATH);
    n += h2_field(block + n, "content-type", "application/grpc");
    for (int i = 0; n < 70000; i++) {
        snprintf(name, sizeof name, "x-%d", i);
        n += h2_field(block + n, name, "a value that is forty bytes long, no more");
    }
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_frame(&peer, NGHTTP2_HEADERS, 0, 1, (struct view){block, 16384});
    for (size_t at = 16384; at < n; at += 16384) {
        size_t size = n - at < 16384 ? n - at : 16384;
        h2_peer_frame(&peer, NGHTTP2_CONTINUATION, size < 16384 ? NGHTTP2_FLAG_END_HEADERS : 0, 1,
                      (struct view){block + at, size});
    }
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(answer.message, "header"));
    h2_peer_close(&peer);
}
END_TEST

/* ---- calls that outlive their stream or connection ---- */

START_TEST(a_call_may_be_answered_after_its_stream_was_reset)
{
    struct h2_peer peer;
    struct h2_answer answer;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("gone"));
    grpc_fixture_await_held(1);
    h2_peer_frame(&peer, NGHTTP2_RST_STREAM, 0, 1, VIEW("\0\0\0\x8"));
    h2_peer_settle(&peer);
    ck_assert(view_eq(grpc_fixture_message(grpc_fixture.held[0]), VIEW("gone")));
    grpc_fixture_answer_held(GRPC_OK);
    h2_peer_call(&peer, 3, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_message(&peer, 3, false, VIEW("here"));
    h2_peer_answer(&peer, 3, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_call_may_be_answered_after_its_connection_died)
{
    struct h2_peer peer;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("gone"));
    grpc_fixture_await_held(1);
    h2_peer_close(&peer);
    ck_assert(view_eq(grpc_fixture_message(grpc_fixture.held[0]), VIEW("gone")));
    grpc_fixture_answer_held(GRPC_UNAVAILABLE);
}
END_TEST

START_TEST(a_call_may_be_answered_after_the_server_was_closed)
{
    struct h2_peer peer;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("gone"));
    grpc_fixture_await_held(1);
    grpc_server_close(grpc_fixture.server, 0);
    grpc_fixture.server = NULL;
    ck_assert(view_eq(grpc_fixture_message(grpc_fixture.held[0]), VIEW("gone")));
    grpc_fixture_answer_held(GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

static TCase *frames(void)
{
    TCase *tcase = grpc_fixture_case("frames");
    tcase_add_test(tcase, streams_of_one_connection_are_answered_in_the_order_of_the_answers);
    tcase_add_test(tcase, an_error_comes_as_trailers_only_with_its_details);
    tcase_add_test(tcase, a_path_that_is_not_served_is_unimplemented);
    tcase_add_test(tcase, an_unknown_encoding_is_unimplemented_and_the_known_ones_are_named);
    tcase_add_test(tcase, bodies_that_are_not_one_message_are_refused);
    tcase_add_test(tcase, only_posts_of_grpc_are_taken);
    tcase_add_test(tcase, after_an_early_refusal_the_rest_is_read_past_and_other_calls_go_on);
    tcase_add_test(tcase, a_header_past_its_limit_is_refused);
    return tcase;
}

static TCase *outliving(void)
{
    TCase *tcase = grpc_fixture_case("outliving");
    tcase_add_test(tcase, a_call_may_be_answered_after_its_stream_was_reset);
    tcase_add_test(tcase, a_call_may_be_answered_after_its_connection_died);
    tcase_add_test(tcase, a_call_may_be_answered_after_the_server_was_closed);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("net/grpc_call");
    suite_add_tcase(suite, frames());
    suite_add_tcase(suite, outliving());
    return suite_finish(suite);
}
