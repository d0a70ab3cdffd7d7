#include "pipeline/meter.h"

#include "tests/support/suite.h"

#include <string.h>

static const char *explained(const struct meter *meter)
{
    static char text[1024];
    struct bytes out;
    bytes_init(&out, sizeof text - 1, NULL);
    meter_explain(meter, &out);
    memcpy(text, out.data ? (const char *)out.data : "", out.size);
    text[out.size] = '\0';
    bytes_release(&out);
    return text;
}

START_TEST(an_unused_meter_says_nothing)
{
    struct meter meter;
    meter_init(&meter, "otlp");
    ck_assert_str_eq(explained(&meter), "");
}
END_TEST

START_TEST(counts_and_causes_are_told_per_signal)
{
    struct meter meter;
    meter_init(&meter, "otlp_http");
    meter_add(&meter, METER_SENT, SIGNAL_TRACES, 9);
    meter_drop(&meter, CAUSE_INVALID, SIGNAL_TRACES, 1);
    meter_drop(&meter, CAUSE_FULL, SIGNAL_TRACES, 2);
    meter_add(&meter, METER_SENT, SIGNAL_PROFILES, 4);
    ck_assert_str_eq(explained(&meter),
                     "otlp_http: spans sent 9, dropped 3 (invalid 1, queue full 2)\n"
                     "otlp_http: profiles sent 4\n");
    ck_assert_uint_eq(meter_get(&meter, METER_DROPPED, SIGNAL_TRACES), 3);
    ck_assert_uint_eq(meter_get(&meter, METER_DROPPED, SIGNAL_PROFILES), 0);
}
END_TEST

START_TEST(every_cause_has_a_name)
{
    for (int i = 0; i < CAUSE_COUNT; i++)
        ck_assert_uint_gt(strlen(cause_name((enum cause)i)), 3);
}
END_TEST

static unsigned released;

static void release_area(void *area)
{
    released += *(unsigned *)area;
}

START_TEST(a_replacement_instance_has_the_area_of_the_one_before)
{
    struct meter *meter = meter_new("correlation");
    unsigned *area = meter_area(meter, sizeof *area, release_area);
    ck_assert_uint_eq(*area, 0);
    *area = 7;
    struct meter *replacement = meter_ref(meter);
    ck_assert_ptr_eq(meter_area(replacement, sizeof *area, release_area), area);
    meter_unref(meter);
    ck_assert_uint_eq(released, 0);
    meter_unref(replacement);
    ck_assert_uint_eq(released, 7);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        an_unused_meter_says_nothing,
        counts_and_causes_are_told_per_signal,
        every_cause_has_a_name,
        a_replacement_instance_has_the_area_of_the_one_before,
        NULL,
    };
    return suite_run("meter", tests);
}
