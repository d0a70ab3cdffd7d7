#include "lib/metrics/metrics_otlp.h"

#include "lib/wire/otlp/otlp.h"
#include "tests/support/suite.h"

START_TEST(what_is_written_is_a_request_with_every_point)
{
    struct thing {
        struct histogram waits;
    } thing = {0};
    static const struct metric rows[] = {
        METRIC_ROW("a_counter", METRIC_COUNTER, METRIC_BASIC, "1", "One."),
        METRIC_ROW("a_gauge", METRIC_GAUGE, METRIC_BASIC, "1", "Two."),
        METRIC_HISTOGRAM_ROW("waits", &histogram_waits, METRIC_BASIC, "s", "Three."),
        METRIC_ROW("target_info", METRIC_GAUGE, METRIC_BASIC, "1", "The resource."),
    };
    const struct metrics_origin origin = {
        METRIC_LABELS({"service.name", VIEW("s")}, {"empty", VIEW("")}), "spanlink", "1", 1, 2};
    struct metrics metrics;
    struct bytes out;
    struct proto_fault fault;
    uint32_t points, items;
    metrics_init(&metrics, METRIC_BASIC);
    bytes_init(&out, 1 << 20, NULL);
    metrics_add(&metrics, &rows[0], 1, METRIC_LABELS({"x", VIEW("1")}));
    metrics_add(&metrics, &rows[1], -2.5, NO_LABELS);
    metrics_add(&metrics, &rows[0], 3, METRIC_LABELS({"x", VIEW("2")}));
    histogram_add(&thing.waits, &histogram_waits, 5);
    metrics_add_histogram(&metrics, &rows[2], &thing.waits, NO_LABELS);
    metrics_add(&metrics, &rows[3], 1, NO_LABELS);
    ck_assert(metrics_write_otlp(&metrics, &origin, &out, &points));
    ck_assert_uint_eq(points, 4);
    ck_assert(otlp_check(SIGNAL_METRICS, bytes_view(&out), &items, &fault));
    ck_assert_uint_eq(items, 4);
    bytes_release(&out);
    metrics_release(&metrics);
}
END_TEST

SUITE_MAIN("metrics otlp", what_is_written_is_a_request_with_every_point)
