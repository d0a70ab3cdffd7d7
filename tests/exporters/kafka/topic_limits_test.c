#include "exporters/kafka/topic_limits.h"

#include "exporters/kafka/attempt.h"
#include "tests/support/suite.h"

START_TEST(a_limit_that_the_broker_tells_is_taken_at_once)
{
    ck_assert_uint_eq(topic_limit_next(1000000, 4000, 20000), 20000);
    ck_assert_uint_eq(topic_limit_next(1000000, 4000, 10), LEAST_RECORD);
}
END_TEST

START_TEST(else_it_is_half_of_what_was_refused_at_most)
{
    ck_assert_uint_eq(topic_limit_next(1000000, 40000, 0), 20000);
    ck_assert_uint_eq(topic_limit_next(1000000, 3000000, 0), 500000);
    ck_assert_uint_eq(topic_limit_next(1000000, 0, 0), 500000);
    ck_assert_uint_eq(topic_limit_next(1000000, 1200, 0), LEAST_RECORD);
}
END_TEST

START_TEST(a_limit_that_did_not_help_is_halved)
{
    ck_assert_uint_eq(topic_limit_next(20000, 30000, 20000), 10000);
}
END_TEST

SUITE_MAIN("topic_limits", a_limit_that_the_broker_tells_is_taken_at_once,
           else_it_is_half_of_what_was_refused_at_most, a_limit_that_did_not_help_is_halved)
