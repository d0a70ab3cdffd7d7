/* Over unix sockets: no port is taken. */
#include "pipeline/telemetry/telemetry.h"

#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"
#include "tests/support/unix_get.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct component *const component_table[] = {&scripted_source, &scripted_holder,
                                                   &scripted_sink, NULL};

static struct given_runtime given;
static char folder[] = "/tmp/spanlink-test-XXXXXX", path[96], answer[65536];

#define PARTS                                                                                      \
    "receivers: {source: }\nprocessors: {holder: }\nexporters: {sink: }\nservice:\n"               \
    "  pipelines: {traces: {receivers: [source], processors: [holder], exporters: [sink]}}\n"      \
    "  telemetry: {metrics: {level: %s, address: 'unix:%s'}, resource: {%s}}\n"

static const char *configuration(const char *level, const char *resource)
{
    static char yaml[1024];
    snprintf(yaml, sizeof yaml, PARTS, level, path, resource);
    return yaml;
}

static void start(const char *level, const char *resource)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/page", folder);
    given_start(&given, configuration(level, resource));
}

static void stop(void)
{
    ck_assert_uint_eq(given_stop(&given), 0);
    unlink(path);
    rmdir(folder);
}

static void shows(const char *words)
{
    ck_assert_int_eq(unix_get(path, "/metrics", answer, sizeof answer), 200);
    ck_assert_msg(strstr(answer, words) != NULL, "no %s in\n%s", words, answer);
}

START_TEST(a_page_tells_of_every_instance)
{
    start("normal", "team: 'a \"b\"', service.instance.id: one");
    shows("Content-Type: text/plain; version=0.0.4; charset=utf-8");
    shows("otelcol_exporter_queue_capacity{exporter=\"sink\",data_type=\"traces\"} 1000\n");
    shows("otelcol_processor_incoming_items{processor=\"holder\",otel_signal=\"traces\"} 0\n");
    shows("spanlink_ready 1\n");
    shows("target_info{service_name=\"spanlink\",");
    shows("service_instance_id=\"one\",team=\"a \\\"b\\\"\"} 1\n");
    ck_assert_ptr_null(strstr(answer, "_bucket"));
    ck_assert_int_eq(unix_get(path, "/", answer, sizeof answer), 404);
    stop();
}
END_TEST

START_TEST(histograms_come_with_the_level_detailed)
{
    start("detailed", "");
    shows("otelcol_exporter_enqueue_size_bucket{exporter=\"sink\",le=\"10\"} 0\n");
    stop();
}
END_TEST

START_TEST(without_a_level_there_is_no_page)
{
    start("none", "");
    ck_assert_int_ne(access(path, F_OK), 0);
    stop();
}
END_TEST

START_TEST(a_place_that_cannot_be_had_is_named_by_its_key)
{
    struct problems problems = {0};
    struct telemetry_settings settings = {
        .metrics = {.level = METRIC_NORMAL, .address = (char[]){"unix:/nowhere/at/all"}}};
    const struct telemetry_options options = {.settings = &settings};
    ck_assert_ptr_null(telemetry_open(&options, &problems));
    ck_assert_uint_eq(problems.count, 1);
    ck_assert_msg(strstr(problems.lines[0], "service.telemetry.metrics.address: ") != NULL, "%s",
                  problems.lines[0]);
    problems_release(&problems);
}
END_TEST

START_TEST(a_reload_goes_on_with_the_same_page)
{
    struct problems problems = {0};
    start("normal", "a: b");
    shows("a=\"b\"");
    char *text;
    ck_assert_int_gt(asprintf(&text, "yaml:%s", configuration("normal", "a: c")), 0);
    struct settings_source source = {SETTINGS_FILE, text};
    struct settings *settings = settings_load(&source, 1, &problems);
    ck_assert_int_eq(runtime_reload(given.runtime, settings, &problems), RELOAD_DONE);
    shows("a=\"c\"");
    shows("spanlink_reloads{result=\"done\"} 1\n");
    settings_free(given.settings);
    given.settings = settings;
    free(text);
    stop();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_page_tells_of_every_instance,      histograms_come_with_the_level_detailed,
        without_a_level_there_is_no_page,    a_place_that_cannot_be_had_is_named_by_its_key,
        a_reload_goes_on_with_the_same_page, NULL,
    };
    return suite_run("telemetry", tests);
}
