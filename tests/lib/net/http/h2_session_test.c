#include "lib/net/http/h2_session.h"
#include "tests/support/suite.h"

/* Frames of a server, with stream and sizes spelled out. */
#define SETTINGS   "\0\0\0\4\0\0\0\0\0"
#define STATUS_200 "\x88"
#define GRPC_STATUS_8                                                                              \
    "\0\x0bgrpc-status\x01"                                                                        \
    "8"

static struct h2_session *session;
static struct h2_output output;
static struct http_reply reply;

static void setup(void)
{
    ck_assert(h2_output_begin(&output, false));
    session = h2_session_new();
    ck_assert_ptr_nonnull(session);
    http_reply_init(&reply, 100);
}

static void teardown(void)
{
    http_reply_release(&reply);
    h2_session_free(session);
    h2_output_end(&output);
}

/* Appends all output to sent. */
static void collect(struct bytes *sent)
{
    while (h2_session_output(session, &output) && output.count) {
        struct pieces unsent = h2_output_unsent(&output);
        for (size_t i = 0; i < unsent.count; i++)
            bytes_append_view(sent, unsent.views[i]);
        h2_output_sent(&output, pieces_size(unsent));
    }
}

/* Collects all output; returns whether it contains the needle. */
static bool sends(struct view needle)
{
    struct bytes sent;
    bytes_init(&sent, SIZE_MAX, NULL);
    collect(&sent);
    bool found = memmem(sent.data, sent.size, needle.data, needle.size);
    bytes_release(&sent);
    return found;
}

static void begin(size_t body_size)
{
    static const uint8_t body[200000];
    static const struct http_header headers[] = {{"X-Scope-OrgID", "tenant"},
                                                 {"Connection", "close"}};
    static struct view view;
    view = (struct view){body, body_size};
    const struct h2_request request = {.scheme = "http",
                                       .authority = "a:1",
                                       .path = "/t.T/Export",
                                       .headers = headers,
                                       .header_count = 2,
                                       .body = {&view, 1}};
    ck_assert(h2_session_begin(session, &request, &reply));
}

START_TEST(a_refusal_that_comes_with_a_reset_in_the_middle_of_a_body_is_read)
{
    begin(200000); /* more than the peer's window */
    sends(VIEW("x"));
    ck_assert(
        h2_session_receive(session, VIEW(SETTINGS "\0\0\x10\1\5\0\0\0\1" STATUS_200 GRPC_STATUS_8
                                                  "\0\0\4\3\0\0\0\0\1\0\0\0\0")));
    ck_assert_int_eq(h2_session_state(session), H2_ANSWERED);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_int_eq(reply.grpc_status, 8);
    ck_assert(h2_session_usable(session));
}
END_TEST

START_TEST(after_an_early_answer_the_body_is_given_up_and_the_next_call_goes)
{
    begin(200000);
    sends(VIEW("x"));
    ck_assert(h2_session_receive(session,
                                 VIEW(SETTINGS "\0\0\x10\1\5\0\0\0\1" STATUS_200 GRPC_STATUS_8)));
    ck_assert_int_eq(h2_session_state(session), H2_ANSWERED);
    h2_session_cancel(session);
    ck_assert(sends(VIEW("\0\0\4\3\0\0\0\0\1\0\0\0\x8")));
    begin(0);
    ck_assert_int_eq(h2_session_state(session), H2_WAITING);
    ck_assert(sends(VIEW("\0\0\0\3"))); /* frames of stream 3 */
}
END_TEST

START_TEST(a_stream_that_was_not_looked_at_may_be_sent_again)
{
    begin(10);
    sends(VIEW("x"));
    ck_assert(h2_session_receive(session, VIEW(SETTINGS "\0\0\4\3\0\0\0\0\1\0\0\0\7")));
    ck_assert_int_eq(h2_session_state(session), H2_REFUSED);
}
END_TEST

START_TEST(a_reset_without_an_answer_has_its_reason)
{
    begin(10);
    sends(VIEW("x"));
    ck_assert(h2_session_receive(session, VIEW(SETTINGS "\0\0\4\3\0\0\0\0\1\0\0\0\2")));
    ck_assert_int_eq(h2_session_state(session), H2_RESET);
    ck_assert_str_eq(h2_session_reason(session), "INTERNAL_ERROR");
}
END_TEST

START_TEST(after_goaway_no_call_is_made_and_one_past_its_number_may_be_sent_again)
{
    begin(10);
    sends(VIEW("x"));
    ck_assert(h2_session_receive(session, VIEW(SETTINGS "\0\0\x8\7\0\0\0\0\0\0\0\0\0\0\0\0\0")));
    ck_assert_int_eq(h2_session_state(session), H2_REFUSED);
    ck_assert(!h2_session_usable(session));
}
END_TEST

START_TEST(bytes_of_another_protocol_end_the_session)
{
    begin(10);
    sends(VIEW("x"));
    bool going = h2_session_receive(session, VIEW("HTTP/1.1 400 Bad Request\r\n\r\n"));
    ck_assert(!going || !h2_session_usable(session));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("net/h2_session");
    TCase *tcase = suite_case("calls");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_refusal_that_comes_with_a_reset_in_the_middle_of_a_body_is_read);
    tcase_add_test(tcase, after_an_early_answer_the_body_is_given_up_and_the_next_call_goes);
    tcase_add_test(tcase, a_stream_that_was_not_looked_at_may_be_sent_again);
    tcase_add_test(tcase, a_reset_without_an_answer_has_its_reason);
    tcase_add_test(tcase, after_goaway_no_call_is_made_and_one_past_its_number_may_be_sent_again);
    tcase_add_test(tcase, bytes_of_another_protocol_end_the_session);
    suite_add_tcase(suite, tcase);
    return suite_finish(suite);
}
