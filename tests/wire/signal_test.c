#include "wire/signal.h"

#include "tests/support/suite.h"

START_TEST(every_name_parses_to_its_signal)
{
    for (unsigned i = 0; i < SIGNAL_COUNT; i++) {
        enum signal signal = SIGNAL_COUNT;
        ck_assert(signal_parse(signal_name((enum signal)i), &signal));
        ck_assert_uint_eq(signal, i);
    }
    enum signal signal;
    ck_assert(!signal_parse("trace", &signal));
    ck_assert(!signal_parse("", &signal));
}
END_TEST

START_TEST(items_have_the_names_of_the_protocol)
{
    ck_assert_str_eq(signal_items(SIGNAL_TRACES), "spans");
    ck_assert_str_eq(signal_items(SIGNAL_METRICS), "data points");
    ck_assert_str_eq(signal_items(SIGNAL_LOGS), "log records");
    ck_assert_str_eq(signal_items(SIGNAL_PROFILES), "profiles");
}
END_TEST

SUITE_MAIN("signal", every_name_parses_to_its_signal, items_have_the_names_of_the_protocol)
