#include "receivers/kafka/outages.h"

#include "tests/support/suite.h"

#define S NS_PER_S

START_TEST(lanes_stand_still_about_as_long_as_the_brokers_were_away)
{
    ck_assert_uint_eq(outage_grace(0), 0);
    ck_assert_uint_eq(outage_grace(2 * S), 0);
    ck_assert_uint_eq(outage_grace(20 * S), 25 * S);
    ck_assert_uint_eq(outage_grace(3600 * S), 65 * S);
}
END_TEST

START_TEST(lanes_stand_still_while_producers_can_write_nothing)
{
    ck_assert(refusal_stops_lanes(100 * S, 0, 129 * S));
    ck_assert(refusal_stops_lanes(100 * S, 104 * S, 3600 * S)); /* what was on its way */
    ck_assert(refusal_stops_lanes(100 * S, 128 * S, 129 * S));
    ck_assert(!refusal_stops_lanes(100 * S, 128 * S, 131 * S)); /* to other partitions */
}
END_TEST

SUITE_MAIN("outages", lanes_stand_still_about_as_long_as_the_brokers_were_away,
           lanes_stand_still_while_producers_can_write_nothing)
