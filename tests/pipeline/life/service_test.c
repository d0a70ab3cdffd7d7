#include "pipeline/life/service.h"

#include "lib/base/clock.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct service_settings service;

/* Returns the first problem of a service section, or NULL; the caller frees it. */
static char *read_service(const char *yaml)
{
    struct problems problems = {0};
    char *text, *sentence = NULL;
    ck_assert_int_gt(asprintf(&text, "yaml:service: %s", yaml), 0);
    struct settings_source source = {SETTINGS_FILE, text};
    struct settings *settings = settings_load(&source, 1, &problems);
    ck_assert_ptr_nonnull(settings);
    const struct node *section = node_get(settings_root(settings), "service");
    memset(&service, 0, sizeof service);
    ck_assert(service_fill(&service, section, section, &problems) == (problems.count == 0));
    if (problems.count)
        sentence = strdup(problems.lines[0]);
    settings_free(settings);
    problems_release(&problems);
    free(text);
    return sentence;
}

static void refused(const char *yaml, const char *words)
{
    char *sentence = read_service(yaml);
    ck_assert_msg(sentence && strstr(sentence, words), "%s: %s", yaml,
                  sentence ? sentence : "accepted");
    free(sentence);
    service_release(&service);
}

START_TEST(the_drain_takes_eight_seconds_by_default)
{
    ck_assert_ptr_null(read_service("{}"));
    ck_assert_uint_eq(service.shutdown_timeout, 8 * NS_PER_S);
    ck_assert_uint_eq(service.shutdown_delay, 0);
    ck_assert_str_eq(service.telemetry.logs.level, "info");
    service_release(&service);
    ck_assert_ptr_null(read_service("{shutdown_timeout: 1m30s}"));
    ck_assert_uint_eq(service.shutdown_timeout, 90 * NS_PER_S);
    service_release(&service);
}
END_TEST

START_TEST(the_collectors_telemetry_keys_are_accepted)
{
    ck_assert_ptr_null(read_service("{telemetry: {logs: {level: DEBUG, encoding: json, "
                                    "sampling: {initial: 1}}, metrics: {level: detailed, "
                                    "readers: [{pull: {exporter: {prometheus: {host: 0.0.0.0, "
                                    "port: 9464, without_units: true}}}}]}, traces: , "
                                    "resource: {a: b}}}"));
    ck_assert_str_eq(service.telemetry.logs.level, "DEBUG");
    ck_assert_int_eq(service.telemetry.metrics.level, METRIC_DETAILED);
    const struct telemetry_reader *reader = service.telemetry.metrics.readers.items;
    ck_assert_uint_eq(service.telemetry.metrics.readers.count, 1);
    ck_assert_str_eq(reader->pull.host, "0.0.0.0");
    ck_assert_int_eq(reader->pull.port, 9464);
    ck_assert_str_eq(key_map_get(&service.telemetry.resource, "a"), "b");
    service_release(&service);
}
END_TEST

START_TEST(metrics_are_normal_by_default)
{
    ck_assert_ptr_null(read_service("{}"));
    ck_assert_int_eq(service.telemetry.metrics.level, METRIC_NORMAL);
    ck_assert(!service.telemetry.metrics.readers_given);
    service_release(&service);
    ck_assert_ptr_null(read_service("{telemetry: {metrics: {readers: []}}}"));
    ck_assert(service.telemetry.metrics.readers_given);
    service_release(&service);
}
END_TEST

START_TEST(a_wrong_level_or_key_is_refused)
{
    refused("{telemetry: {logs: {level: loud}}}",
            "service.telemetry.logs.level: \"loud\" is not a level");
    refused("{telemetry: {log: {level: info}}}", "service.telemetry.log");
    refused("{pipeline: {}}", "service.pipeline");
    refused("{telemetry: {metrics: {level: loud}}}", "service.telemetry.metrics.level");
    refused("{telemetry: {metrics: {readers: [{}]}}}",
            "service.telemetry.metrics.readers[0]: expected either pull or periodic");
    refused("{telemetry: {metrics: {readers: [{periodic: {exporter: {}}}]}}}",
            "periodic.exporter has no exporter, expected otlp or console");
    refused("{telemetry: {metrics: {readers: [{periodic: {exporter: {console: , "
            "otlp: {endpoint: 'http://a:1'}}}}]}}}",
            "periodic.exporter has two exporters, expected otlp or console");
    refused("{telemetry: {metrics: {address: nowhere}}}", "service.telemetry.metrics.address");
    refused("{telemetry: {metrics: {address: 'localhost:1', readers: []}}}",
            "has the same meaning as readers");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_drain_takes_eight_seconds_by_default,
        the_collectors_telemetry_keys_are_accepted,
        metrics_are_normal_by_default,
        a_wrong_level_or_key_is_refused,
        NULL,
    };
    return suite_run("service", tests);
}
