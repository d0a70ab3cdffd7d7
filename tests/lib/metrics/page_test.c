#include "lib/metrics/page.h"

#include "tests/support/suite.h"

#include <stdlib.h>

struct thing {
    _Atomic uint64_t made, waiting;
    struct histogram sizes;
};

static const struct metric table[] = {
    METRIC_FIELD(struct thing, made, "made", METRIC_COUNTER, METRIC_BASIC, "{things}", "Made."),
    METRIC_FIELD(struct thing, waiting, "waiting", METRIC_GAUGE, METRIC_DETAILED, "1", "Waiting."),
    METRIC_HISTOGRAM_FIELD(struct thing, sizes, "sizes", &histogram_waits, METRIC_NORMAL, "s",
                           "Sizes."),
    METRIC_ROW("by_hand", METRIC_GAUGE, METRIC_BASIC, "1", "By hand."),
    METRIC_END,
};

static struct metrics metrics;
static struct thing thing;
static struct page_style style;

static void begin(enum metric_level level)
{
    thing = (struct thing){0};
    style = (struct page_style){0};
    metrics_init(&metrics, level);
}

/* The page as text; the caller frees. */
static char *page(enum page_format format)
{
    struct bytes out;
    bytes_init(&out, 1 << 20, NULL);
    ck_assert(page_write(&metrics, format, &style, &out));
    char *text = strndup((const char *)out.data, out.size);
    bytes_release(&out);
    metrics_release(&metrics);
    return text;
}

static void shows(enum page_format format, const char *expected)
{
    char *text = page(format);
    ck_assert_str_eq(text ? text : "", expected);
    free(text);
}

START_TEST(a_table_is_enough_for_a_field)
{
    begin(METRIC_BASIC);
    thing.made = 7;
    metrics_scope(&metrics, "processor", "batch/2");
    metrics_add_fields(&metrics, table, &thing);
    shows(PAGE_TEXT, "# HELP made Made.\n# TYPE made counter\nmade{processor=\"batch/2\"} 7\n");
}
END_TEST

START_TEST(labels_are_valid_utf8_and_no_series_comes_twice)
{
    static const struct metric rows[] = {
        METRIC_ROW("cpu", METRIC_COUNTER, METRIC_BASIC, "s", "Cpu."),
    };
    for (int format = PAGE_TEXT; format <= PAGE_OPENMETRICS; format++) {
        begin(METRIC_NORMAL);
        metrics_add(&metrics, &rows[0], 1, METRIC_LABELS({"service", VIEW("caf\xef\xbf\xbd")}));
        metrics_add(&metrics, &rows[0], 2, METRIC_LABELS({"service", VIEW("caf\xe9")}));
        metrics_add(&metrics, &rows[0], 4, METRIC_LABELS({"service", VIEW("caf\xe8")}));
        metrics_add(&metrics, &rows[0], 8, METRIC_LABELS({"service", VIEW("caf\xe8\"\n")}));
        metrics_add(&metrics, &rows[0], 16,
                    METRIC_LABELS({"service", VIEW("e\x1b[31m\x7f\xc2\x9b\xc2\xa0\r")}));
        thing.sizes.sum = 1000000;
        for (int i = 0; i < 2; i++)
            metrics_add_histogram(&metrics, &table[2], &thing.sizes,
                                  METRIC_LABELS({"service", VIEW("\xff")}));
        char *text = page((enum page_format)format);
        ck_assert_ptr_nonnull(strstr(text, "{service=\"caf\xef\xbf\xbd\"} 7\n"));
        ck_assert_ptr_nonnull(strstr(text, "{service=\"caf\xef\xbf\xbd\\\"\\n\"} 8\n"));
        ck_assert_ptr_nonnull(strstr(text,
                                     "{service=\"e\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd\xc2\xa0"
                                     "\xef\xbf\xbd\"} 16\n"));
        const char *sum = strstr(text, "sizes_sum{service=\"\xef\xbf\xbd\"}");
        ck_assert_ptr_nonnull(sum);
        ck_assert_ptr_null(strstr(sum + 1, "sizes_sum"));
        free(text);
    }
}
END_TEST

START_TEST(names_may_end_in_unit_and_type)
{
    static const struct metric rows[] = {
        METRIC_ROW("up", METRIC_COUNTER, METRIC_BASIC, "s", "Up."),
        METRIC_ROW("used_bytes", METRIC_GAUGE, METRIC_BASIC, "By", "Used."),
    };
    for (int format = PAGE_TEXT; format <= PAGE_OPENMETRICS; format++) {
        begin(METRIC_BASIC);
        style = (struct page_style){.type_suffix = true, .unit_suffix = true};
        style.constant = METRIC_LABELS({"service_name", VIEW("a")});
        metrics_add(&metrics, &rows[0], 2, NO_LABELS);
        metrics_add(&metrics, &rows[1], 3, METRIC_LABELS({"b", VIEW("c")}));
        shows((enum page_format)format, format != PAGE_OPENMETRICS
                                            ? "# HELP up_seconds_total Up.\n"
                                              "# TYPE up_seconds_total counter\n"
                                              "up_seconds_total{service_name=\"a\"} 2\n"
                                              "# HELP used_bytes Used.\n# TYPE used_bytes gauge\n"
                                              "used_bytes{service_name=\"a\",b=\"c\"} 3\n"
                                            : "# HELP up_seconds Up.\n# TYPE up_seconds counter\n"
                                              "up_seconds_total{service_name=\"a\"} 2\n"
                                              "# HELP used_bytes Used.\n# TYPE used_bytes gauge\n"
                                              "used_bytes{service_name=\"a\",b=\"c\"} 3\n# EOF\n");
    }
}
END_TEST

START_TEST(what_is_above_the_level_is_left_out)
{
    begin(METRIC_DETAILED);
    metrics_add_fields(&metrics, &table[1], &thing);
    char *text = page(PAGE_TEXT);
    ck_assert_ptr_nonnull(strstr(text, "waiting 0\n"));
    free(text);
    begin(METRIC_NORMAL);
    metrics_add_fields(&metrics, &table[1], &thing);
    text = page(PAGE_TEXT);
    ck_assert_ptr_null(strstr(text, "waiting"));
    ck_assert_ptr_nonnull(strstr(text, "sizes_count 0\n"));
    free(text);
}
END_TEST

START_TEST(samples_of_one_name_stand_together)
{
    begin(METRIC_BASIC);
    metrics_add(&metrics, &table[3], 1.5, METRIC_LABELS({"b", VIEW("x")}));
    metrics_add(&metrics, &table[0], 2, NO_LABELS);
    metrics_add(&metrics, &table[3], -1e300, METRIC_LABELS({"b", VIEW("y")}));
    shows(PAGE_TEXT, "# HELP by_hand By hand.\n# TYPE by_hand gauge\n"
                     "by_hand{b=\"x\"} 1.5\nby_hand{b=\"y\"} -1e+300\n"
                     "# HELP made Made.\n# TYPE made counter\nmade 2\n");
}
END_TEST

START_TEST(label_values_are_escaped_and_empty_ones_left_out)
{
    begin(METRIC_BASIC);
    metrics_add(&metrics, &table[0], 1,
                METRIC_LABELS({"a", VIEW("say \"\\\n\"")}, {"none", VIEW("")}, {"z", VIEW("ö")}));
    shows(PAGE_TEXT, "# HELP made Made.\n# TYPE made counter\n"
                     "made{a=\"say \\\"\\\\\\n\\\"\",z=\"ö\"} 1\n");
}
END_TEST

START_TEST(buckets_add_up)
{
    begin(METRIC_NORMAL);
    histogram_add(&thing.sizes, &histogram_waits, 100000000);  /* limits are inclusive */
    histogram_add(&thing.sizes, &histogram_waits, 2000000000); /* 2 s */
    histogram_add(&thing.sizes, &histogram_waits, UINT64_C(400) * 1000000000);
    metrics_add_fields(&metrics, &table[2], &thing);
    char *text = page(PAGE_TEXT);
    ck_assert_ptr_nonnull(strstr(text, "sizes_bucket{le=\"0.1\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(text, "sizes_bucket{le=\"1\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(text, "sizes_bucket{le=\"2.5\"} 2\n"));
    ck_assert_ptr_nonnull(strstr(text, "sizes_bucket{le=\"300\"} 2\n"));
    ck_assert_ptr_nonnull(strstr(text, "sizes_bucket{le=\"+Inf\"} 3\nsizes_sum 402.1\n"
                                       "sizes_count 3\n"));
    free(text);
}
END_TEST

START_TEST(limits_are_written_as_the_collector_does)
{
    static const struct metric bytes[] = {
        METRIC_HISTOGRAM_FIELD(struct thing, sizes, "sizes", &histogram_bytes, METRIC_BASIC, "By",
                               "Sizes."),
        METRIC_END,
    };
    begin(METRIC_BASIC);
    metrics_add_fields(&metrics, bytes, &thing);
    char *text = page(PAGE_TEXT);
    ck_assert_ptr_nonnull(strstr(text, "{le=\"524288\"} 0\n"));
    ck_assert_ptr_nonnull(strstr(text, "{le=\"1.048576e+06\"} 0\n"));
    free(text);
}
END_TEST

START_TEST(openmetrics_keeps_the_names)
{
    begin(METRIC_BASIC);
    metrics_add_fields(&metrics, table, &thing);
    shows(PAGE_OPENMETRICS, "# HELP made Made.\n# TYPE made unknown\nmade 0\n# EOF\n");
    begin(METRIC_NORMAL);
    metrics_add_fields(&metrics, &table[2], &thing);
    char *text = page(PAGE_OPENMETRICS);
    ck_assert_ptr_nonnull(strstr(text, "sizes_bucket{le=\"1.0\"} 0\n"));
    free(text);
}
END_TEST

START_TEST(openmetrics_is_for_who_asks)
{
    static const struct {
        const char *accept;
        enum page_format format;
    } rows[] = {
        {NULL, PAGE_TEXT},
        {"*/*", PAGE_TEXT},
        {"text/plain;version=0.0.4", PAGE_TEXT},
        {"application/openmetrics-text", PAGE_OPENMETRICS},
        {"application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=1",
         PAGE_OPENMETRICS},
        {"text/plain;q=0.9, application/openmetrics-text; version=1.0.0; q=0.1", PAGE_TEXT},
        {"application/openmetrics-text;q=0", PAGE_TEXT},
        /* Prometheus 3 */
        {"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
         "application/openmetrics-text;version=0.0.1;q=0.5,"
         "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,"
         "*/*;q=0.2",
         PAGE_UTF8},
        {"text/plain;escaping=allow-utf-8", PAGE_UTF8},
        {"text/plain;version=0.0.4;q=0.9,application/openmetrics-text;escaping=allow-utf-8;q=0.5",
         PAGE_TEXT},
        {"application/openmetrics-text;escaping=underscores;q=0.6,text/plain;q=0.3",
         PAGE_OPENMETRICS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(page_format_of(rows[i].accept) == rows[i].format, "%s", rows[i].accept);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_table_is_enough_for_a_field,
        labels_are_valid_utf8_and_no_series_comes_twice,
        names_may_end_in_unit_and_type,
        what_is_above_the_level_is_left_out,
        samples_of_one_name_stand_together,
        label_values_are_escaped_and_empty_ones_left_out,
        buckets_add_up,
        limits_are_written_as_the_collector_does,
        openmetrics_keeps_the_names,
        openmetrics_is_for_who_asks,
        NULL,
    };
    return suite_run("page", tests);
}
