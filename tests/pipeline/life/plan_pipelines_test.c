#include "pipeline/life/plan.h"

#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

const struct component *const component_table[] = {&scripted_source,
                                                   &scripted_pprof,
                                                   &scripted_opaque,
                                                   &scripted_holder,
                                                   &scripted_sink,
                                                   &scripted_taker,
                                                   NULL};

#define PARTS                                                                                      \
    "receivers: {source: , pprof_source: , opaque_source: }\n"                                     \
    "processors: {holder: }\n"                                                                     \
    "exporters: {sink: , taker: {slot: 1}}\n"

static void expect(const char *pipelines, const char *sentence)
{
    char *yaml, *faults;
    ck_assert_int_gt(asprintf(&yaml, "%sservice:\n  pipelines:\n%s", PARTS, pipelines), 0);
    faults = given_faults(yaml);
    if (*sentence)
        ck_assert_msg(strstr(faults, sentence) != NULL, "no \"%s\" in:\n%s", sentence, faults);
    else
        ck_assert_str_eq(faults, "");
    free(faults);
    free(yaml);
}

START_TEST(all_signals_and_names_are_legal)
{
    expect("    traces: {receivers: [source], processors: [holder], exporters: [sink]}\n"
           "    traces/2: {receivers: [source], exporters: [sink]}\n"
           "    metrics: {receivers: [source], processors: [], exporters: [sink]}\n"
           "    logs: {receivers: [source], processors: , exporters: [sink]}\n"
           "    profiles/x.y: {receivers: [source], exporters: [sink]}\n",
           "");
}
END_TEST

START_TEST(receivers_and_exporters_are_required)
{
    expect("    traces: {receivers: [], exporters: [sink]}\n",
           "6: service.pipelines.traces: must have at least one receiver");
    expect("    traces: {receivers: [source]}\n",
           "service.pipelines.traces: must have at least one exporter");
    expect("    traces:\n", "must have at least one receiver");
}
END_TEST

START_TEST(a_scalar_is_read_as_the_list_that_it_stands_for)
{
    expect("    traces: {receivers: source, processors: holder, exporters: sink}\n", "");
    expect("    traces:\n"
           "      receivers: source\n"
           "      processors: \"holder, batch\"\n"
           "      exporters: sink\n",
           "8: service.pipelines.traces: references processor \"batch\" which is not configured");
    expect("    traces: {receivers: source, processors: \"holder,holder\", exporters: sink}\n",
           "references processor \"holder\" multiple times");
}
END_TEST

START_TEST(what_is_not_configured_is_named_with_its_line)
{
    expect("    traces:\n"
           "      receivers: [source]\n"
           "      processors: [batch]\n"
           "      exporters: [sink, sink/2]\n",
           "8: service.pipelines.traces: references processor \"batch\" which is not configured");
    expect("    traces:\n"
           "      receivers: [source]\n"
           "      exporters: [sink, sink/2]\n",
           "references exporter \"sink/2\" which is not configured");
}
END_TEST

START_TEST(a_name_that_is_not_configured_proposes_the_nearest)
{
    expect("    traces: {receivers: [source], processors: [hodler], exporters: [sink]}\n",
           "references processor \"hodler\" which is not configured, did you mean \"holder\"?");
    expect("    traces: {receivers: [source], exporters: [snk]}\n",
           "references exporter \"snk\" which is not configured, did you mean \"sink\"?");
    expect("    traces: {receivers: [kafka], exporters: [sink]}\n",
           "references receiver \"kafka\" which is not configured\n");
}
END_TEST

/* The Collector has two names for some types. */
START_TEST(the_other_name_of_a_type_is_proposed)
{
    char *faults = given_faults("receivers: {source: }\nexporters: {sinkalias/a: , sinks: }\n"
                                "service: {pipelines: {traces: {receivers: [source],\n"
                                "  exporters: [sink/a]}}}\n");
    ck_assert_msg(strstr(faults, "references exporter \"sink/a\" which is not configured, did you "
                                 "mean \"sinkalias/a\"?"),
                  "%s", faults);
    free(faults);
}
END_TEST

START_TEST(duplicates_in_a_list_are_refused)
{
    expect("    traces: {receivers: [source], processors: [holder, holder], exporters: [sink]}\n",
           "references processor \"holder\" multiple times");
    expect("    traces: {receivers: [source, source], exporters: [sink]}\n",
           "references receiver \"source\" multiple times");
}
END_TEST

START_TEST(a_signal_that_a_component_does_not_have_is_refused)
{
    expect("    traces: {receivers: [pprof_source], exporters: [sink]}\n",
           "receiver \"pprof_source\" does not support traces, it supports profiles");
}
END_TEST

START_TEST(a_receiver_of_which_no_exporter_takes_anything_is_refused)
{
    expect(
        "    profiles: {receivers: [source, opaque_source], exporters: [sink]}\n",
        "receiver \"opaque_source\" makes forwarded bodies (JFR, folded text), which no exporter "
        "takes (they take OTLP and pprof)");
}
END_TEST

START_TEST(an_exporter_that_takes_nothing_of_what_comes_is_refused)
{
    expect("    profiles: {receivers: [opaque_source], exporters: [taker, sink]}\n",
           "exporter \"sink\" takes OTLP and pprof, which no receiver makes (they make forwarded "
           "bodies (JFR, folded text))");
}
END_TEST

START_TEST(an_exporter_of_otlp_takes_pprof_and_part_of_what_comes)
{
    expect("    profiles: {receivers: [pprof_source], exporters: [sink]}\n", "");
    expect("    profiles: {receivers: [pprof_source, opaque_source], exporters: [sink, taker]}\n",
           "");
}
END_TEST

START_TEST(unknown_keys_and_signals_are_refused)
{
    expect("    traces: {receivers: [source], exporter: [sink]}\n", "exporter");
    expect("    trace: {receivers: [source], exporters: [sink]}\n", "\"trace\" is not a pipeline");
    expect("    traces/: {receivers: [source], exporters: [sink]}\n",
           "\"traces/\" is not a pipeline");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        all_signals_and_names_are_legal,
        receivers_and_exporters_are_required,
        a_scalar_is_read_as_the_list_that_it_stands_for,
        what_is_not_configured_is_named_with_its_line,
        a_name_that_is_not_configured_proposes_the_nearest,
        the_other_name_of_a_type_is_proposed,
        duplicates_in_a_list_are_refused,
        a_signal_that_a_component_does_not_have_is_refused,
        a_receiver_of_which_no_exporter_takes_anything_is_refused,
        an_exporter_that_takes_nothing_of_what_comes_is_refused,
        an_exporter_of_otlp_takes_pprof_and_part_of_what_comes,
        unknown_keys_and_signals_are_refused,
        NULL,
    };
    return suite_run("plan_pipelines", tests);
}
