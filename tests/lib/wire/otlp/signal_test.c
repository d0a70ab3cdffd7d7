#include "lib/wire/otlp/signal.h"

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
    ck_assert_str_eq(signal_items(SIGNAL_TRACES, 2), "spans");
    ck_assert_str_eq(signal_items(SIGNAL_METRICS, 2), "data points");
    ck_assert_str_eq(signal_items(SIGNAL_LOGS, 2), "log records");
    ck_assert_str_eq(signal_items(SIGNAL_PROFILES, 2), "profiles");
    ck_assert_str_eq(signal_items(SIGNAL_LOGS, 1), "log record");
}
END_TEST

SUITE_MAIN("signal", every_name_parses_to_its_signal, items_have_the_names_of_the_protocol)
