#include "pipeline/life/plan.h"

#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

const struct component *const component_table[] = {&scripted_source, &scripted_pprof,
                                                   &scripted_holder, &scripted_sink, NULL};

#define REST                                                                                       \
    "service:\n"                                                                                   \
    "  pipelines:\n"                                                                               \
    "    traces:\n"                                                                                \
    "      receivers: [source]\n"                                                                  \
    "      exporters: [sink]\n"

/* The problems of a configuration must contain all these texts. */
static void expect(const char *yaml, const char *const *words)
{
    char *faults = given_faults(yaml);
    for (; *words; words++)
        ck_assert_msg(strstr(faults, *words) != NULL, "no \"%s\" in:\n%s", *words, faults);
    free(faults);
}

#define EXPECT(yaml, ...) expect(yaml, (const char *const[]){__VA_ARGS__, NULL})

static void expect_fine(const char *yaml)
{
    char *faults = given_faults(yaml);
    ck_assert_str_eq(faults, "");
    free(faults);
}

START_TEST(a_small_configuration_is_fine)
{
    expect_fine("receivers: {source: }\nexporters: {sink: {}}\n" REST);
}
END_TEST

START_TEST(names_and_aliases_of_types_are_legal)
{
    expect_fine("receivers: {source/a.b-c: {}, source: }\n"
                "exporters: {sinkalias/2: {}, sink: }\n" REST);
}
END_TEST

START_TEST(an_empty_configuration_is_told_so)
{
    EXPECT("", "empty configuration file");
}
END_TEST

START_TEST(missing_sections_are_named)
{
    EXPECT("receivers: {}\nservice: {}\n", "no receiver configuration specified",
           "no exporter configuration specified", "service must have at least one pipeline");
}
END_TEST

START_TEST(an_unknown_section_proposes_the_nearest)
{
    EXPECT("recievers: {}\nreceivers: {source: }\nexporters: {sink: }\n" REST,
           "1: recievers: unknown key, did you mean \"receivers\"?");
}
END_TEST

START_TEST(connectors_must_be_empty)
{
    EXPECT("connectors: {forward: }\nreceivers: {source: }\nexporters: {sink: }\n" REST,
           "connectors");
    expect_fine("connectors:\nreceivers: {source: }\nexporters: {sink: }\n" REST);
}
END_TEST

START_TEST(an_unknown_type_names_the_nearest_and_the_list)
{
    EXPECT("receivers:\n  sourc:\n  source:\nexporters: {sink: }\n" REST,
           "2: receivers.sourc: unknown type \"sourc\" for id \"sourc\", did you mean \"source\"?",
           "(valid values: source, pprof_source)");
}
END_TEST

START_TEST(a_type_of_the_collectors_is_told_what_stands_for_it_here)
{
    EXPECT("receivers: {source: , zipkin/b: }\nprocessors: {tail_sampling: }\n"
           "exporters: {sink: , loki: }\nextensions: {file_storage: }\n" REST,
           "receivers.zipkin/b: spanlink has no receiver \"zipkin\"; instead: ",
           "as OTLP to the receiver otlp", "a sidecar never sees a whole trace", "/otlp",
           "the extension journal keeps accepted requests on disk");
    EXPECT("receivers: {source: }\nprocessors: {sink: }\nexporters: {sink: }\n" REST,
           "processors.sink: \"sink\" belongs under exporters");
}
END_TEST

START_TEST(no_error_follows_from_an_unknown_type_or_connector)
{
    char *faults = given_faults("receivers: {source: , jaeger: }\nprocessors: {filter: }\n"
                                "exporters: {sink: , loki: }\nextensions: {oidc: }\n"
                                "connectors: {spanmetrics: }\n"
                                "service:\n"
                                "  extensions: [oidc]\n"
                                "  pipelines:\n"
                                "    traces: {receivers: [source, jaeger], processors: [filter],\n"
                                "             exporters: [sink, loki, spanmetrics]}\n"
                                "    traces/2: {receivers: [spanmetrics], exporters: [sink]}\n");
    size_t lines = 0;
    for (const char *at = faults; (at = strchr(at, '\n')); at++)
        lines++;
    ck_assert_msg(lines == 5, "%s", faults);
    ck_assert_ptr_nonnull(strstr(faults, "connectors.spanmetrics: spanlink has no connectors; "
                                         "instead: Tempo's metrics-generator"));
    free(faults);
}
END_TEST

START_TEST(a_bad_id_is_refused)
{
    EXPECT("receivers: {source: , 'so urce': , source/: , 2source: }\nexporters: {sink: }\n" REST,
           "\"so urce\" is not a component id", "\"source/\" is not a component id",
           "\"2source\" is not a component id");
}
END_TEST

START_TEST(an_unused_component_is_checked_too)
{
    EXPECT("receivers: {source: }\nexporters: {sink: , sink/b: {slott: 1}}\n" REST,
           "exporters.sink/b", "slott");
}
END_TEST

START_TEST(cross_checks_run)
{
    EXPECT("receivers: {source: }\n"
           "exporters: {sink: {retry_on_failure: {max_elapsed_time: 1s}}}\n" REST,
           "retry_on_failure.max_elapsed_time: must not be less than initial_interval");
}
END_TEST

START_TEST(unknown_and_repeated_extensions_are_refused)
{
    EXPECT("receivers: {source: }\nexporters: {sink: }\n" REST "  extensions: [health_check]\n",
           "service.extensions: references extension \"health_check\" which is not configured");
    EXPECT("receivers: {source: }\nexporters: {sink: }\n" REST "  extensions: health_check\n",
           "service.extensions: references extension \"health_check\" which is not configured");
}
END_TEST

START_TEST(all_faults_come_together)
{
    EXPECT("receivers: {nosuch: }\nexporters: {sink: {slot: many}}\nfoo: 1\n"
           "service: {pipelines: {spans: {}}}\n",
           "nosuch", "slot", "foo", "\"spans\" is not a pipeline");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_small_configuration_is_fine,
        names_and_aliases_of_types_are_legal,
        an_empty_configuration_is_told_so,
        missing_sections_are_named,
        an_unknown_section_proposes_the_nearest,
        connectors_must_be_empty,
        an_unknown_type_names_the_nearest_and_the_list,
        a_type_of_the_collectors_is_told_what_stands_for_it_here,
        no_error_follows_from_an_unknown_type_or_connector,
        a_bad_id_is_refused,
        an_unused_component_is_checked_too,
        cross_checks_run,
        unknown_and_repeated_extensions_are_refused,
        all_faults_come_together,
        NULL,
    };
    return suite_run("plan", tests);
}
