#include "lib/net/grpc/grpc_connection.h"

#include "lib/base/clock.h"
#include "tests/support/grpc_fixture.h"
#include "tests/support/h2_peer.h"
#include "tests/support/suite.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

START_TEST(an_http_1_client_gets_words_and_an_end)
{
    static const char request[] = "POST /v1/traces HTTP/1.1\r\nHost: x\r\n\r\n";
    char answer[256] = "";
    grpc_fixture_open(NULL);
    int fd = h2_connect(grpc_fixture.address);
    ck_assert_int_eq(send(fd, request, sizeof request - 1, 0), sizeof request - 1);
    ck_assert_int_gt(recv(fd, answer, sizeof answer - 1, MSG_WAITALL), 0);
    ck_assert_ptr_nonnull(strstr(answer, "HTTP/1.1 400 "));
    ck_assert_ptr_nonnull(strstr(answer, "gRPC over HTTP/2"));
    close(fd);
}
END_TEST

START_TEST(a_client_that_says_nothing_is_closed)
{
    char byte;
    struct grpc_server_options options = grpc_fixture_options();
    options.header_timeout_ns = 30 * NS_PER_MS;
    grpc_fixture_open(&options);
    int fd = h2_connect(grpc_fixture.address);
    ck_assert_int_eq(recv(fd, &byte, 1, 0), 0);
    close(fd);
}
END_TEST

START_TEST(a_connection_without_calls_gets_goaway_after_the_idle_timeout)
{
    struct h2_peer peer;
    struct grpc_server_options options = grpc_fixture_options();
    options.idle_timeout_ns = 30 * NS_PER_MS;
    grpc_fixture_open(&options);
    h2_peer_open(&peer, grpc_fixture.address);
    ck_assert_int_eq(h2_peer_last_words(&peer), NGHTTP2_NO_ERROR);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(past_the_connection_limit_the_longest_idle_one_goes)
{
    struct h2_peer first, second, third;
    struct grpc_server_options options = grpc_fixture_options();
    options.max_connections = 2;
    options.threads = 1;
    grpc_fixture_open(&options);
    h2_peer_open(&first, grpc_fixture.address);
    h2_peer_settle(&first);
    h2_peer_call(&first, 1, GRPC_FIXTURE_PATH, "x-hold", "1");
    h2_peer_message(&first, 1, false, VIEW("busy"));
    grpc_fixture_await_held(1);
    h2_peer_open(&second, grpc_fixture.address);
    h2_peer_settle(&second);
    h2_peer_open(&third, grpc_fixture.address);
    h2_peer_settle(&third);
    ck_assert_int_eq(h2_peer_last_words(&second), NGHTTP2_NO_ERROR);
    h2_peer_settle(&first);
    grpc_fixture_answer_held(GRPC_OK);
    h2_peer_close(&first);
    h2_peer_close(&second);
    h2_peer_close(&third);
}
END_TEST

START_TEST(a_client_that_resets_all_its_calls_is_sent_away)
{
    struct h2_peer peer;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    for (int32_t stream = 1; stream < 2 * 500; stream += 2) {
        h2_peer_call(&peer, stream, GRPC_FIXTURE_PATH, NULL, NULL);
        h2_peer_frame(&peer, NGHTTP2_RST_STREAM, 0, stream, VIEW("\0\0\0\x8"));
    }
    ck_assert_int_eq(h2_peer_last_words(&peer), NGHTTP2_ENHANCE_YOUR_CALM);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_client_that_sends_empty_frames_without_end_is_sent_away)
{
    struct h2_peer peer;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, NULL, NULL);
    for (int i = 0; i < 500; i++)
        h2_peer_frame(&peer, NGHTTP2_DATA, 0, 1, (struct view){0});
    ck_assert_int_eq(h2_peer_last_words(&peer), NGHTTP2_ENHANCE_YOUR_CALM);
    h2_peer_close(&peer);
}
END_TEST

static void floods(const void *data, size_t size)
{
    struct h2_peer peer;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_settle(&peer);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, NULL, NULL);
    while (send(peer.fd, data, size, MSG_NOSIGNAL) == (ssize_t)size) {
    }
    h2_peer_close(&peer);
}

START_TEST(answers_to_no_ping_without_end_are_cut_off)
{
    floods("\0\0\x8\6\1\0\0\0\0abcdefgh", 17);
}
END_TEST

START_TEST(window_updates_without_end_are_cut_off)
{
    floods("\0\0\4\x8\0\0\0\0\0\0\0\0\1", 13);
}
END_TEST

/* Sends that many window updates at once, 13 bytes each, then a ping. */
static int last_words_after(unsigned frames)
{
    struct h2_peer peer;
    struct h2_frame frame;
    struct bytes noise;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_settle(&peer);
    bytes_init(&noise, 1 << 20, NULL);
    for (unsigned i = 0; i < frames; i++)
        bytes_append(&noise, "\0\0\4\x8\0\0\0\0\0\0\0\0\1", 13);
    h2_peer_send(&peer, noise.data, noise.size);
    h2_peer_frame(&peer, NGHTTP2_PING, 0, 0, VIEW("12345678"));
    bool more = true;
    do
        more = h2_peer_next(&peer, &frame);
    while (more && frame.type != NGHTTP2_GOAWAY && frame.type != NGHTTP2_PING);
    int words = more && frame.type == NGHTTP2_GOAWAY ? frame.payload[7] : -1;
    bytes_release(&noise);
    h2_peer_close(&peer);
    grpc_fixture_close();
    return words;
}

START_TEST(small_frames_are_limited_long_before_their_bytes_are)
{
    ck_assert_int_eq(last_words_after(GRPC_NOISE / 2), -1);
    ck_assert_int_eq(last_words_after(GRPC_NOISE + 100), NGHTTP2_ENHANCE_YOUR_CALM);
}
END_TEST

static void make_noise(struct h2_peer *peer, unsigned frames)
{
    for (unsigned i = 0; i < frames; i++)
        h2_peer_send(peer, "\0\0\4\x8\0\0\0\0\0\0\0\0\1", 13);
    h2_peer_settle(peer);
}

/* Frames of another second do not count. */
START_TEST(small_frames_are_limited_by_the_second)
{
    struct h2_peer peer;
    struct grpc_server_options options = grpc_fixture_options();
    options.header_timeout_ns = 1100 * NS_PER_MS;
    grpc_fixture_open(&options);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_settle(&peer);
    make_noise(&peer, GRPC_NOISE * 3 / 4);
    char byte;
    int clock = h2_connect(grpc_fixture.address); /* ends once the second has passed */
    ck_assert_int_eq(recv(clock, &byte, 1, 0), 0);
    close(clock);
    make_noise(&peer, GRPC_NOISE * 3 / 4);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(frames_that_bring_a_call_on_are_no_noise)
{
    enum { FRAMES = GRPC_NOISE + 100 }; /* of 10 bytes, at once */
    struct h2_peer peer;
    struct h2_answer answer;
    struct bytes frames;
    uint8_t prefix[GRPC_PREFIX_SIZE];
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, NULL, NULL);
    grpc_frame_prefix(prefix, false, 10 * FRAMES);
    h2_peer_frame(&peer, NGHTTP2_DATA, 0, 1, (struct view){prefix, sizeof prefix});
    bytes_init(&frames, 1 << 20, NULL);
    for (int i = 1; i <= FRAMES; i++)
        bytes_append(&frames,
                     i < FRAMES ? "\0\0\12\0\0\0\0\0\1ten bytes." : "\0\0\12\0\1\0\0\0\1ten bytes.",
                     19);
    h2_peer_send(&peer, frames.data, frames.size);
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    bytes_release(&frames);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(frames_that_nobody_reads_without_end_are_cut_off)
{
    static uint8_t unknown[16000] = {0, 0x3e, 0x77, 0x55}; /* 15991 bytes of type 0x55 */
    floods(unknown, sizeof unknown);
}
END_TEST

START_TEST(a_call_that_trickles_gets_goaway)
{
    struct h2_peer peer;
    struct grpc_server_options options = grpc_fixture_options();
    options.stall_timeout_ns = 30 * NS_PER_MS;
    grpc_fixture_open(&options);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_settle(&peer);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_frame(&peer, NGHTTP2_DATA, 0, 1, VIEW("\0\0\0\1"));
    ck_assert_int_eq(h2_peer_last_words(&peer), NGHTTP2_NO_ERROR);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_call_that_goes_on_trickling_gets_goaway_too)
{
    struct h2_peer peer;
    struct h2_frame frame;
    struct grpc_server_options options = grpc_fixture_options();
    options.stall_timeout_ns = 300 * NS_PER_MS; /* longer than the test may be delayed */
    grpc_fixture_open(&options);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_settle(&peer);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_frame(&peer, NGHTTP2_DATA, 0, 1, VIEW("\0\0\1\0\0")); /* 64 KiB, byte by byte */
    struct pollfd heard = {.fd = peer.fd, .events = POLLIN};
    do {
        while (poll(&heard, 1, 1) == 0)
            h2_peer_frame(&peer, NGHTTP2_DATA, 0, 1, VIEW("x"));
        ck_assert(h2_peer_next(&peer, &frame));
        ck_assert_int_ne(frame.type, NGHTTP2_HEADERS);
    } while (frame.type != NGHTTP2_GOAWAY);
    ck_assert_uint_eq(frame.payload[7], NGHTTP2_NO_ERROR);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_call_that_its_client_gave_up_does_not_keep_the_connection)
{
    struct h2_peer peer;
    struct grpc_server_options options = grpc_fixture_options();
    options.idle_timeout_ns = 300 * NS_PER_MS;
    grpc_fixture_open(&options);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("in its handler"));
    grpc_fixture_await_held(1);
    h2_peer_frame(&peer, NGHTTP2_RST_STREAM, 0, 1, VIEW("\0\0\0\x8"));
    ck_assert_int_eq(h2_peer_last_words(&peer), NGHTTP2_NO_ERROR);
    grpc_fixture_answer_held(GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

static void expect_late(struct h2_peer *peer, int32_t stream)
{
    struct h2_answer late;
    h2_peer_answer(peer, stream, &late);
    ck_assert_int_eq(late.grpc_status, GRPC_DEADLINE_EXCEEDED);
    ck_assert_str_eq(late.message, "the message did not arrive in time");
}

START_TEST(a_call_without_a_byte_for_too_long_is_refused_and_others_go_on)
{
    struct h2_peer peer;
    struct h2_answer answer;
    struct grpc_server_options options = grpc_fixture_options();
    options.message_timeout_ns = 50 * NS_PER_MS;
    grpc_fixture_open(&options);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("in its handler"));
    grpc_fixture_await_held(1);
    h2_peer_call(&peer, 3, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_frame(&peer, NGHTTP2_DATA, 0, 3, VIEW("\0\0\0\0\5hal"));
    h2_peer_call(&peer, 5, GRPC_FIXTURE_PATH, NULL, NULL);
    expect_late(&peer, 3);
    expect_late(&peer, 5);
    grpc_fixture_answer_held(GRPC_OK);
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_call_below_the_least_rate_is_refused)
{
    struct h2_peer peer;
    struct h2_frame frame;
    struct grpc_server_options options = grpc_fixture_options();
    options.message_timeout_ns = 100 * NS_PER_MS;
    options.message_rate = 1 << 30;
    grpc_fixture_open(&options);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_frame(&peer, NGHTTP2_DATA, 0, 1, VIEW("\0\0\xf0\0\0"));
    do { /* a byte each time the previous one was read */
        h2_peer_frame(&peer, NGHTTP2_DATA, 0, 1, VIEW("x"));
        h2_peer_frame(&peer, NGHTTP2_PING, 0, 0, VIEW("12345678"));
        do
            ck_assert(h2_peer_next(&peer, &frame));
        while (frame.type != NGHTTP2_PING && frame.type != NGHTTP2_HEADERS);
    } while (frame.type != NGHTTP2_HEADERS);
    h2_peer_close(&peer);
}
END_TEST

static void await_pong(struct h2_peer *peer)
{
    struct h2_frame frame;
    h2_peer_frame(peer, NGHTTP2_PING, 0, 0, VIEW("12345678"));
    do
        ck_assert(h2_peer_next(peer, &frame) && frame.type != NGHTTP2_HEADERS);
    while (frame.type != NGHTTP2_PING);
}

START_TEST(a_call_is_not_late_while_another_one_occupies_the_thread)
{
    struct h2_peer peer;
    struct h2_answer answer;
    struct grpc_server_options options = grpc_fixture_options();
    options.message_timeout_ns = NS_PER_S;
    grpc_fixture_open(&options);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, NULL, NULL);
    h2_peer_frame(&peer, NGHTTP2_DATA, 0, 1, VIEW("\0\0\0\0\5h"));
    await_pong(&peer);
    h2_peer_call(&peer, 3, GRPC_FIXTURE_PATH, "x-busy", "1100");
    h2_peer_message(&peer, 3, false, VIEW("takes long"));
    h2_peer_frame(&peer, NGHTTP2_DATA, 0, 1, VIEW("al"));
    h2_peer_answer(&peer, 3, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    await_pong(&peer);
    h2_peer_frame(&peer, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, VIEW("lo"));
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_connection_without_calls_does_not_stall)
{
    struct h2_peer peer, clock;
    struct grpc_server_options options = grpc_fixture_options();
    options.stall_timeout_ns = 30 * NS_PER_MS;
    grpc_fixture_open(&options);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_settle(&peer);
    for (int i = 0; i < 3; i++) { /* others stall meanwhile */
        h2_peer_open(&clock, grpc_fixture.address);
        h2_peer_call(&clock, 1, GRPC_FIXTURE_PATH, NULL, NULL);
        h2_peer_last_words(&clock);
        h2_peer_close(&clock);
    }
    h2_peer_settle(&peer);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(connections_are_charged)
{
    struct h2_peer peer;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_settle(&peer);
    ck_assert_uint_eq(budget_used(&grpc_fixture.budget), GRPC_CONNECTION_COST);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_flood_of_pings_does_not_keep_others_from_being_served)
{
    struct h2_peer peer, other;
    struct bytes pings;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_settle(&peer);
    bytes_init(&pings, 1 << 20, NULL);
    for (int i = 0; i < 50000; i++)
        bytes_append(&pings, "\0\0\x8\6\0\0\0\0\0abcdefgh", 17);
    h2_peer_send(&peer, pings.data, pings.size);
    shutdown(peer.fd, SHUT_WR);
    h2_peer_last_words(&peer);
    h2_peer_open(&other, grpc_fixture.address);
    h2_peer_settle(&other);
    bytes_release(&pings);
    h2_peer_close(&peer);
    h2_peer_close(&other);
}
END_TEST

START_TEST(a_header_without_end_closes_the_connection)
{
    uint8_t block[256];
    struct h2_peer peer;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    size_t n = h2_field(block, ":method", "POST");
    h2_peer_frame(&peer, NGHTTP2_HEADERS, 0, 1, (struct view){block, n});
    for (int i = 0; i < 1000; i++) {
        n = h2_field(block, "x-more", "and more");
        h2_peer_frame(&peer, NGHTTP2_CONTINUATION, 0, 1, (struct view){block, n});
    }
    h2_peer_last_words(&peer); /* it ends; the library chooses the error */
    h2_peer_close(&peer);
}
END_TEST

static void expect_stream_closed(struct h2_peer *peer)
{
    ck_assert_int_eq(h2_peer_last_words(peer), NGHTTP2_STREAM_CLOSED);
    h2_peer_close(peer);
}

START_TEST(what_follows_on_a_stream_that_was_ended_is_an_error)
{
    struct h2_peer peer;
    struct h2_answer answer;
    grpc_fixture_open(NULL);
    for (int data = 0; data < 2; data++) {
        h2_peer_open(&peer, grpc_fixture.address);
        for (int32_t stream = 1; stream < 20; stream += 2) {
            h2_peer_call(&peer, stream, GRPC_FIXTURE_PATH, NULL, NULL);
            h2_peer_message(&peer, stream, false, VIEW("call"));
            h2_peer_answer(&peer, stream, &answer);
            ck_assert_int_eq(answer.grpc_status, GRPC_OK);
        }
        h2_peer_frame(&peer, NGHTTP2_WINDOW_UPDATE, 0, 17, VIEW("\0\0\0\1")); /* these may */
        h2_peer_frame(&peer, NGHTTP2_PRIORITY, 0, 17, VIEW("\0\0\0\0\1"));
        h2_peer_frame(&peer, NGHTTP2_RST_STREAM, 0, 17, VIEW("\0\0\0\x8"));
        h2_peer_settle(&peer);
        if (data)
            h2_peer_message(&peer, 5, false, VIEW("again"));
        else
            h2_peer_call(&peer, 5, GRPC_FIXTURE_PATH, NULL, NULL);
        expect_stream_closed(&peer);
    }
}
END_TEST

START_TEST(what_follows_on_a_stream_that_was_reset_is_an_error)
{
    struct h2_peer peer;
    grpc_fixture_open(NULL);
    for (int apart = 0; apart < 2; apart++) {
        h2_peer_open(&peer, grpc_fixture.address);
        h2_peer_cork(&peer, true);
        h2_peer_call(&peer, 1, GRPC_FIXTURE_PATH, NULL, NULL);
        h2_peer_frame(&peer, NGHTTP2_RST_STREAM, 0, 1, VIEW("\0\0\0\x8"));
        h2_peer_cork(&peer, false);
        if (apart)
            h2_peer_settle(&peer);
        h2_peer_message(&peer, 1, false, VIEW("late"));
        expect_stream_closed(&peer);
    }
}
END_TEST

/* They were in transit when it was answered. */
START_TEST(frames_on_a_stream_that_the_server_ended_are_read_past)
{
    struct h2_peer peer;
    struct h2_answer answer;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_call(&peer, 1, "/no.Service/Export", NULL, NULL);
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_UNIMPLEMENTED);
    h2_peer_frame(&peer, NGHTTP2_DATA, 0, 1, VIEW("more"));
    h2_peer_message(&peer, 1, false, VIEW("and the end"));
    h2_peer_settle(&peer);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(pings_are_answered)
{
    struct h2_peer peer;
    struct h2_frame frame;
    grpc_fixture_open(NULL);
    h2_peer_open(&peer, grpc_fixture.address);
    h2_peer_frame(&peer, NGHTTP2_PING, 0, 0, VIEW("12345678"));
    h2_peer_expect(&peer, NGHTTP2_PING, &frame);
    ck_assert_int_eq(frame.flags, NGHTTP2_FLAG_ACK);
    ck_assert_mem_eq(frame.payload, "12345678", 8);
    h2_peer_close(&peer);
}
END_TEST

static TCase *clients(void)
{
    TCase *tcase = grpc_fixture_case("clients");
    tcase_add_test(tcase, an_http_1_client_gets_words_and_an_end);
    tcase_add_test(tcase, a_client_that_says_nothing_is_closed);
    tcase_add_test(tcase, answers_to_no_ping_without_end_are_cut_off);
    tcase_add_test(tcase, window_updates_without_end_are_cut_off);
    tcase_add_test(tcase, small_frames_are_limited_long_before_their_bytes_are);
    tcase_add_test(tcase, small_frames_are_limited_by_the_second);
    tcase_add_test(tcase, frames_that_bring_a_call_on_are_no_noise);
    tcase_add_test(tcase, frames_that_nobody_reads_without_end_are_cut_off);
    tcase_add_test(tcase, a_call_that_trickles_gets_goaway);
    tcase_add_test(tcase, a_call_that_goes_on_trickling_gets_goaway_too);
    tcase_add_test(tcase, a_call_that_its_client_gave_up_does_not_keep_the_connection);
    tcase_add_test(tcase, a_call_without_a_byte_for_too_long_is_refused_and_others_go_on);
    tcase_add_test(tcase, a_call_below_the_least_rate_is_refused);
    tcase_add_test(tcase, a_call_is_not_late_while_another_one_occupies_the_thread);
    tcase_add_test(tcase, a_connection_without_calls_does_not_stall);
    tcase_add_test(tcase, connections_are_charged);
    tcase_add_test(tcase, a_connection_without_calls_gets_goaway_after_the_idle_timeout);
    tcase_add_test(tcase, past_the_connection_limit_the_longest_idle_one_goes);
    tcase_add_test(tcase, a_client_that_resets_all_its_calls_is_sent_away);
    tcase_add_test(tcase, a_client_that_sends_empty_frames_without_end_is_sent_away);
    tcase_add_test(tcase, a_flood_of_pings_does_not_keep_others_from_being_served);
    tcase_add_test(tcase, a_header_without_end_closes_the_connection);
    tcase_add_test(tcase, what_follows_on_a_stream_that_was_ended_is_an_error);
    tcase_add_test(tcase, what_follows_on_a_stream_that_was_reset_is_an_error);
    tcase_add_test(tcase, frames_on_a_stream_that_the_server_ended_are_read_past);
    tcase_add_test(tcase, pings_are_answered);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("net/grpc_connection");
    suite_add_tcase(suite, clients());
    return suite_finish(suite);
}
