#include "lib/wire/json/reply_json.h"

#include "tests/support/suite.h"

static uint64_t rejected;
static char message[32];

static bool read(const char *text)
{
    return export_response_decode_json(view_of(text), &rejected, message, sizeof message);
}

START_TEST(partial_success_of_every_signal_is_read)
{
    static const char *const texts[] = {
        "{\"partialSuccess\":{\"rejectedSpans\":\"7\",\"errorMessage\":\"why\"}}",
        "{\"partialSuccess\":{\"rejectedDataPoints\":7,\"errorMessage\":\"why\"}}",
        "{\"partialSuccess\":{\"rejectedLogRecords\":\"7\",\"errorMessage\":\"why\"},\"x\":[]}",
        "{\"partial_success\":{\"rejected_profiles\":\"7\",\"error_message\":\"why\"}}"};
    for (size_t i = 0; i < 4; i++) {
        ck_assert(read(texts[i]));
        ck_assert_uint_eq(rejected, 7);
        ck_assert_str_eq(message, "why");
    }
}
END_TEST

START_TEST(complete_success_rejects_nothing)
{
    static const char *const texts[] = {"{}", "{\"partialSuccess\":{}}",
                                        "{\"partialSuccess\":null}",
                                        "{\"partialSuccess\":{\"rejectedSpans\":\"-3\"}}"};
    for (size_t i = 0; i < 4; i++) {
        ck_assert(read(texts[i]));
        ck_assert_uint_eq(rejected, 0);
        ck_assert_str_eq(message, "");
    }
}
END_TEST

START_TEST(a_warning_has_a_message_alone_and_long_ones_are_cut)
{
    ck_assert(read("{\"partialSuccess\":{\"errorMessage\":"
                   "\"0123456789012345678901234567890123456789\"}}"));
    ck_assert_uint_eq(rejected, 0);
    ck_assert_str_eq(message, "0123456789012345678901234567890");
}
END_TEST

START_TEST(what_is_no_response_is_refused)
{
    static const char *const texts[] = {"",
                                        "[]",
                                        "{",
                                        "7",
                                        "{\"partialSuccess\":3}",
                                        "{\"partialSuccess\":{\"rejectedSpans\":\"x\"}}",
                                        "{\"partialSuccess\":{\"rejectedSpans\":\"\"}}",
                                        "{\"partialSuccess\":{\"rejectedSpans\":{}}}",
                                        "{\"partialSuccess\":{\"errorMessage\":5}}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(!read(texts[i]), "%s", texts[i]);
}
END_TEST

START_TEST(the_message_of_a_status_is_read)
{
    ck_assert(rpc_status_message_json(VIEW("{\"code\":3,\"message\":\"why\",\"details\":[]}"),
                                      message, sizeof message));
    ck_assert_str_eq(message, "why");
    ck_assert(!rpc_status_message_json(VIEW("{\"code\":3}"), message, sizeof message));
    ck_assert(!rpc_status_message_json(VIEW("{\"message\":3}"), message, sizeof message));
    ck_assert(!rpc_status_message_json(VIEW("[]"), message, sizeof message));
    ck_assert(!rpc_status_message_json(VIEW(""), message, sizeof message));
}
END_TEST

SUITE_MAIN("reply_json", partial_success_of_every_signal_is_read, complete_success_rejects_nothing,
           a_warning_has_a_message_alone_and_long_ones_are_cut, what_is_no_response_is_refused,
           the_message_of_a_status_is_read)
