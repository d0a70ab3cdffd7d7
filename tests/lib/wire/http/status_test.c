#include "lib/wire/http/status.h"

#include "tests/support/suite.h"

static void check_answer(enum verdict verdict, enum cause cause, unsigned http, int grpc)
{
    struct outcome outcome = {.verdict = verdict, .cause = cause};
    ck_assert_uint_eq(status_http(&outcome), http);
    ck_assert_int_eq((int)status_grpc(&outcome), grpc);
}

START_TEST(outcomes_are_answered_by_the_table)
{
    check_answer(VERDICT_OK, CAUSE_NONE, 200, 0);
    check_answer(VERDICT_RETRY, CAUSE_FULL, 503, 14);
    check_answer(VERDICT_RETRY, CAUSE_MEMORY, 503, 14);
    check_answer(VERDICT_RETRY, CAUSE_UNAVAILABLE, 503, 14);
    check_answer(VERDICT_RETRY, CAUSE_SHUTDOWN, 503, 14);
    check_answer(VERDICT_REJECT, CAUSE_INVALID, 400, 3);
    check_answer(VERDICT_REJECT, CAUSE_TOO_LARGE, 413, 8);
    check_answer(VERDICT_REJECT, CAUSE_UNSUPPORTED, 415, 12);
    check_answer(VERDICT_REJECT, CAUSE_AUTH, 401, 16);
    check_answer(VERDICT_REJECT, CAUSE_FORBIDDEN, 403, 7);
    check_answer(VERDICT_REJECT, CAUSE_INTERNAL, 500, 13);
}
END_TEST

START_TEST(every_refusal_for_good_is_an_error_that_no_client_retries)
{
    for (unsigned cause = 0; cause < CAUSE_COUNT; cause++) {
        struct outcome outcome = {.verdict = VERDICT_REJECT, .cause = (enum cause)cause};
        unsigned http = status_http(&outcome);
        ck_assert(status_from_http(http).verdict == VERDICT_REJECT);
        ck_assert(status_from_grpc((int)status_grpc(&outcome), false, "").verdict ==
                  VERDICT_REJECT);
    }
}
END_TEST

START_TEST(only_four_http_statuses_are_retried)
{
    for (long http = 100; http < 600; http++) {
        enum verdict want = http / 100 == 2 ? VERDICT_OK
                            : http == 429 || http == 502 || http == 503 || http == 504
                                ? VERDICT_RETRY
                                : VERDICT_REJECT;
        ck_assert_msg(status_from_http(http).verdict == want, "%ld", http);
    }
    ck_assert(status_from_http(413).cause == CAUSE_TOO_LARGE);
    ck_assert(status_from_http(400).cause == CAUSE_INVALID);
    ck_assert(status_from_http(401).cause == CAUSE_AUTH);
    ck_assert_str_eq(status_from_http(500).text, "HTTP status 500");
}
END_TEST

START_TEST(grpc_codes_are_retried_as_the_protocol_says)
{
    static const bool retried[17] = {
        [1] = true, [4] = true, [10] = true, [11] = true, [14] = true, [15] = true};
    ck_assert(status_from_grpc(0, false, NULL).verdict == VERDICT_OK);
    for (int code = 1; code <= 16; code++)
        ck_assert_msg(status_from_grpc(code, false, "x").verdict ==
                          (retried[code] ? VERDICT_RETRY : VERDICT_REJECT),
                      "%d", code);
    ck_assert(status_from_grpc(99, false, "").verdict == VERDICT_REJECT);
    ck_assert(status_from_grpc(-1, true, NULL).verdict == VERDICT_REJECT);
}
END_TEST

START_TEST(resource_exhausted_is_retried_only_with_retry_info)
{
    ck_assert(status_from_grpc(8, true, "slow down").verdict == VERDICT_RETRY);
    struct outcome large =
        status_from_grpc(8, false, "grpc: received message larger than max (5000000 vs. 4194304)");
    ck_assert(large.verdict == VERDICT_REJECT && large.cause == CAUSE_TOO_LARGE);
    struct outcome other = status_from_grpc(8, false, "RATE_LIMITED: quota");
    ck_assert(other.verdict == VERDICT_REJECT && other.cause != CAUSE_TOO_LARGE);
}
END_TEST

START_TEST(codes_have_the_names_of_grpc_and_of_connect)
{
    ck_assert_str_eq(grpc_code_name(GRPC_INVALID_ARGUMENT), "INVALID_ARGUMENT");
    ck_assert_str_eq(connect_code_name(GRPC_INVALID_ARGUMENT), "invalid_argument");
    ck_assert_str_eq(grpc_code_name(GRPC_CANCELLED), "CANCELLED");
    ck_assert_str_eq(connect_code_name(GRPC_CANCELLED), "canceled");
    ck_assert_str_eq(connect_code_name(GRPC_RESOURCE_EXHAUSTED), "resource_exhausted");
}
END_TEST

SUITE_MAIN("status", outcomes_are_answered_by_the_table,
           every_refusal_for_good_is_an_error_that_no_client_retries,
           only_four_http_statuses_are_retried, grpc_codes_are_retried_as_the_protocol_says,
           resource_exhausted_is_retried_only_with_retry_info,
           codes_have_the_names_of_grpc_and_of_connect)
