#include "lib/base/verdict.h"

#include "lib/base/clock.h"
#include "tests/support/suite.h"

#include <string.h>

START_TEST(an_outcome_carries_its_sentence)
{
    struct outcome outcome = outcome_of(VERDICT_RETRY, CAUSE_FULL, "%d of %d", 3, 3);
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_FULL);
    ck_assert_str_eq(outcome.text, "3 of 3");
    ck_assert_uint_eq(outcome.retry_after_ns, 0);
    ck_assert_uint_eq(outcome.max_tries, 0);
}
END_TEST

START_TEST(a_long_sentence_is_cut)
{
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct outcome outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "%s", text);
    ck_assert_uint_eq(strlen(outcome.text), sizeof outcome.text - 1);
}
END_TEST

START_TEST(waits_are_whole_seconds_and_only_for_what_may_be_tried_again)
{
    struct outcome outcome = outcome_of(VERDICT_RETRY, CAUSE_FULL, "full");
    ck_assert_uint_eq(outcome_retry_seconds(&outcome), 1);
    outcome.retry_after_ns = 1;
    ck_assert_uint_eq(outcome_retry_seconds(&outcome), 1);
    outcome.retry_after_ns = 2 * NS_PER_S;
    ck_assert_uint_eq(outcome_retry_seconds(&outcome), 2);
    outcome.retry_after_ns++;
    ck_assert_uint_eq(outcome_retry_seconds(&outcome), 3);
    outcome.verdict = VERDICT_REJECT;
    ck_assert_uint_eq(outcome_retry_seconds(&outcome), 0);
}
END_TEST

/* Clients that were refused together would otherwise keep each other out. */
START_TEST(where_memory_was_short_the_waits_are_spread)
{
    struct outcome outcome = outcome_no_memory();
    unsigned seen = 0;
    for (int i = 0; i < 10000; i++) {
        unsigned seconds = outcome_retry_seconds(&outcome);
        ck_assert_uint_ge(seconds, RETRY_AFTER_S);
        ck_assert_uint_le(seconds, RETRY_MEMORY_MOST_S);
        seen |= 1u << seconds;
    }
    ck_assert_uint_eq(seen, 1u << 1 | 1u << 2 | 1u << 3);
}
END_TEST

SUITE_MAIN("verdict", an_outcome_carries_its_sentence, a_long_sentence_is_cut,
           waits_are_whole_seconds_and_only_for_what_may_be_tried_again,
           where_memory_was_short_the_waits_are_spread)
