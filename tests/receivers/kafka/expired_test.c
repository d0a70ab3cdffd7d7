#include "receivers/kafka/expired.h"

#include "tests/support/suite.h"

START_TEST(offsets_below_the_first_one_that_the_broker_has_expired)
{
    const struct feed_gap gap = {.from = 100, .to = 160};
    ck_assert_int_eq(gap_expired(gap, 160), 60);
    ck_assert_int_eq(gap_expired(gap, 500), 60); /* more was deleted since */
    ck_assert_int_eq(gap_expired(gap, 130), 30);
}
END_TEST

START_TEST(offsets_without_records_did_not_expire)
{
    ck_assert_int_eq(gap_expired((struct feed_gap){.from = 100, .to = 101}, 0), 0);
    ck_assert_int_eq(gap_expired((struct feed_gap){.from = 100, .to = 101}, 100), 0);
    ck_assert_int_eq(gap_expired((struct feed_gap){0}, 100), 0);
}
END_TEST

SUITE_MAIN("expired", offsets_below_the_first_one_that_the_broker_has_expired,
           offsets_without_records_did_not_expire)
