#include "tests/support/processor_rig.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define IDS                                                                                        \
    "\"traceId\":\"5b8efff798038103d269b633813fc60c\","                                            \
    "\"spanId\":\"eee19b7ec3c1b174\""
#define TWO                                                                                        \
    "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" IDS ",\"name\":\"one\"},{" IDS            \
    ",\"name\":\"two\",\"events\":[{\"name\":\"e\"}]}]}]}]}"

static void makes(const char *yaml, const char *want, const char *unwanted)
{
    const char *made = rig_run("filter", yaml, SIGNAL_TRACES, TWO);
    if (!strstr(made, want) || strstr(made, unwanted))
        ck_abort_msg("%s, but not %s, in %s", want, unwanted, made);
    ck_assert_int_eq(rig_verdict(), VERDICT_OK);
}

START_TEST(what_a_condition_holds_for_goes)
{
    makes("{traces: {span: ['name == \"one\"']}}", "two", "one");
    makes("{trace_conditions: ['span.name == \"two\"']}", "one", "two");
    makes("{traces: {spanevent: ['name == \"e\"']}}", "two", "events");
    makes("{spans: {include: {match_type: strict, span_names: [one]}}}", "one", "two");
    makes("{traces: {span: ['false']}}", "two", "three");
}
END_TEST

START_TEST(each_condition_has_its_own_context)
{
    makes("{trace_conditions: ['span.name == \"one\"', 'spanevent.name == \"none\"']}", "two",
          "one");
    makes("{trace_conditions: ['span.name == \"two\"', 'spanevent.name == \"none\"']}", "one",
          "two");
    makes("{trace_conditions: [{conditions: ['spanevent.name == \"none\"', 'span.name == "
          "\"one\"']}]}",
          "\"e\"", "one");
    makes("{trace_conditions: ['resource.schema_url == \"\" and not IsRootSpan()']}", "one",
          "none");
}
END_TEST

START_TEST(a_function_of_an_outer_context_stands_beside_an_inner_condition)
{
    const char *made = rig_run(
        "filter",
        "{metric_conditions: ['metric.name == \"a\" and HasAttrKeyOnDatapoint(\"k\")', "
        "'datapoint.attributes[\"k\"] == \"2\"']}",
        SIGNAL_METRICS,
        "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"name\":\"a\",\"gauge\":{"
        "\"dataPoints\":[{\"asInt\":\"1\",\"attributes\":[{\"key\":\"k\"}]}]}},{\"name\":\"b\","
        "\"gauge\":{\"dataPoints\":[{\"asInt\":\"3\"}]}}]}]}]}");
    ck_assert_ptr_nonnull(strstr(made, "\"name\":\"b\""));
    ck_assert_ptr_null(strstr(made, "\"name\":\"a\""));
}
END_TEST

START_TEST(the_first_point_with_the_attribute_decides)
{
    static const char *const values[] = {"used", "free"};
#define STATE(value) "{\"key\":\"state\",\"value\":{\"stringValue\":\"" value "\"}}"
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char yaml[200];
        snprintf(yaml, sizeof yaml,
                 "{metrics: {metric: ['HasAttrOnDatapoint(\"state\", \"%s\")']}}", values[i]);
        const char *made =
            rig_run("filter", yaml, SIGNAL_METRICS,
                    "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"name\":\"a\","
                    "\"gauge\":{\"dataPoints\":[{\"asInt\":\"1\"},{\"asInt\":\"1\","
                    "\"attributes\":[" STATE("used") "]},{\"asInt\":\"2\",\"attributes\":[" STATE(
                        "free") "]}]}},{\"name\":\"b\"}]}]}]}");
        ck_assert_int_eq(strstr(made, "\"name\":\"a\"") != NULL, i == 1);
    }
}
END_TEST

START_TEST(a_request_that_loses_all_is_taken_and_goes_nowhere)
{
    ck_assert_str_eq(rig_run("filter", "{traces: {span: ['true']}}", SIGNAL_TRACES, TWO), "");
    ck_assert_int_eq(rig_verdict(), VERDICT_OK);
    ck_assert_str_eq(rig_run("filter", "{traces: {resource: ['true']}}", SIGNAL_TRACES, TWO), "");
    ck_assert_int_eq(rig_verdict(), VERDICT_OK);
}
END_TEST

START_TEST(a_metric_without_points_goes)
{
    const char *made =
        rig_run("filter", "{metrics: {datapoint: ['metric.name == \"a\"']}}", SIGNAL_METRICS,
                "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"name\":\"a\",\"gauge\":{"
                "\"dataPoints\":[{\"asInt\":\"1\"},{\"asInt\":\"2\"}]}},{\"name\":\"b\",\"gauge\":{"
                "\"dataPoints\":[{\"asInt\":\"3\"}]}}]}]}]}");
    ck_assert_ptr_nonnull(strstr(made, "\"name\":\"b\""));
    ck_assert_ptr_null(strstr(made, "\"name\":\"a\""));
}
END_TEST

START_TEST(an_error_does_not_hold_or_is_refused)
{
    makes("{traces: {span: ['name + 1 == 2', 'name == \"one\"']}}", "two", "one");
    ck_assert_str_eq(rig_run("filter", "{error_mode: propagate, traces: {span: ['name + 1 == 2']}}",
                             SIGNAL_TRACES, TWO),
                     "");
    ck_assert_int_eq(rig_verdict(), VERDICT_REJECT);
}
END_TEST

SUITE_MAIN("filter", what_a_condition_holds_for_goes, each_condition_has_its_own_context,
           a_function_of_an_outer_context_stands_beside_an_inner_condition,
           the_first_point_with_the_attribute_decides,
           a_request_that_loses_all_is_taken_and_goes_nowhere, a_metric_without_points_goes,
           an_error_does_not_hold_or_is_refused)
