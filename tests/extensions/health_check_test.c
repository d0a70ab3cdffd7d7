#include "tests/support/captured.h"
#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"
#include "tests/support/unix_get.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct component extension_health_check, extension_journal;
const struct component *const component_table[] = {
    &scripted_source, &scripted_sink, &extension_health_check, &extension_journal, NULL};

static struct given_runtime given;
static char folder[64], path[96], answer[4096];

static void begin(const char *keys)
{
    char yaml[1024];
    strcpy(folder, "/tmp/spanlink-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/health", folder);
    snprintf(yaml, sizeof yaml,
             "receivers: {source: }\nexporters: {sink: }\n"
             "extensions: {health_check: {endpoint: 'unix:%s'%s}}\n"
             "service:\n  extensions: [health_check]\n"
             "  pipelines: {traces: {receivers: [source], exporters: [sink]}}\n",
             path, keys);
    given_start(&given, yaml);
}

static void end(void)
{
    unlink(path);
    rmdir(folder);
}

START_TEST(it_answers_200_while_the_pipelines_run)
{
    begin("");
    ck_assert_int_eq(unix_get(path, "/", answer, sizeof answer), 200);
    ck_assert_ptr_nonnull(strstr(answer, "{\"status\":\"Server available\",\"upSince\":\""));
    ck_assert_msg(strstr(answer, "Z\",\"uptime\":\"0.000000000s\"}") != NULL, "%s", answer);
    given_advance(&given, (2 * 3600 + 3 * 60 + 4) * NS_PER_S + NS_PER_S / 2);
    ck_assert_int_eq(unix_get(path, "/", answer, sizeof answer), 200);
    ck_assert_msg(strstr(answer, "\"uptime\":\"2h3m4.500000000s\"}") != NULL, "%s", answer);
    ck_assert_int_eq(unix_get(path, "/other", answer, sizeof answer), 404);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_int_eq(unix_get(path, "/", answer, sizeof answer), -1);
    end();
}
END_TEST

START_TEST(the_path_may_be_another)
{
    begin(", path: /healthz");
    ck_assert_int_eq(unix_get(path, "/healthz", answer, sizeof answer), 200);
    ck_assert_int_eq(unix_get(path, "/", answer, sizeof answer), 404);
    given_stop(&given);
    end();
}
END_TEST

START_TEST(the_bodies_may_be_others)
{
    begin(", response_body: {healthy: 'I am \"fine\"', unhealthy: not now}");
    ck_assert_int_eq(unix_get(path, "/", answer, sizeof answer), 200);
    ck_assert_ptr_nonnull(strstr(answer, "Content-Type: text/plain"));
    ck_assert_ptr_nonnull(strstr(answer, "\r\n\r\nI am \"fine\""));
    runtime_leave(given.runtime);
    ck_assert_int_eq(unix_get(path, "/", answer, sizeof answer), 503);
    ck_assert_ptr_nonnull(strstr(answer, "\r\n\r\nnot now"));
    given_stop(&given);
    end();
}
END_TEST

START_TEST(failures_of_exporters_count_where_that_is_asked_for_and_only_for_a_while)
{
    begin(", check_collector_pipeline: {enabled: true, interval: 30s, "
          "exporter_failure_threshold: 3}");
    struct meter *meter = (struct meter *)(uintptr_t)given_meter(&given, "sink");
    given_advance(&given, 0);
    meter_add(meter, METER_RETRIES, SIGNAL_TRACES, 2);
    ck_assert_int_eq(unix_get(path, "/", answer, sizeof answer), 200);
    given_advance(&given, 10 * NS_PER_S);
    meter_add(meter, METER_LOST, SIGNAL_LOGS, 1);
    ck_assert_int_eq(unix_get(path, "/", answer, sizeof answer), 503);
    ck_assert_ptr_nonnull(strstr(answer, "\"error\":\"3 exporter failures\""));
    for (int i = 0; i < 40; i++)
        given_advance(&given, NS_PER_S);
    ck_assert_int_eq(unix_get(path, "/", answer, sizeof answer), 200);
    given_stop(&given);
    end();
}
END_TEST

static enum verdict offer(void)
{
    struct answer accepted;
    answer_init(&accepted);
    source_offer("source", some_spans(0, 1, NULL), &accepted);
    return answer_wait(&accepted).verdict;
}

START_TEST(it_says_what_is_wrong_with_the_journal_until_that_is_over)
{
    char yaml[1024], directory[128], error[512];
    strcpy(folder, "/tmp/spanlink-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/health", folder);
    snprintf(directory, sizeof directory, "%s/journal", folder);
    snprintf(yaml, sizeof yaml,
             "receivers: {source: }\nexporters: {sink: }\n"
             "extensions: {health_check: {endpoint: 'unix:%s'}, journal: {directory: '%s'}}\n"
             "service:\n  extensions: [health_check, journal]\n"
             "  pipelines: {traces: {receivers: [source], exporters: [sink]}}\n",
             path, directory);
    given_start(&given, yaml);
    ck_assert_int_eq(unix_get(path, "/", answer, sizeof answer), 200);
    ck_assert_int_eq(rmdir(directory), 0);
    fclose(fopen(directory, "we")); /* so it cannot be made */
    ck_assert_int_eq(offer(), VERDICT_RETRY);
    ck_assert_int_eq(unix_get(path, "/", answer, sizeof answer), 503);
    snprintf(error, sizeof error,
             "{\"status\":\"Server not available\",\"error\":\"journal: \\\"%s\\\" was removed: ",
             directory);
    ck_assert_msg(strstr(answer, error) != NULL, "%s", answer);
    unlink(directory);
    while (unix_get(path, "/", answer, sizeof answer) != 200)
        sched_yield();
    ck_assert_int_eq(offer(), VERDICT_OK);
    given_stop(&given);
    rmdir(directory);
    end();
}
END_TEST

static void *stop_in_thread(void *ctx)
{
    (void)ctx;
    given_stop(&given);
    return NULL;
}

START_TEST(it_answers_503_while_a_stop_drains)
{
    pthread_t thread;
    struct answer accepted;
    begin("");
    answer_init(&accepted);
    sink_gate(sink_at(0), true);
    source_offer("source", some_spans(0, 1, NULL), &accepted);
    sink_wait_begun(sink_at(0), 1);
    given.runtime->service.shutdown_timeout = 3600 * NS_PER_S;
    pthread_create(&thread, NULL, stop_in_thread, NULL);
    while (unix_get(path, "/", answer, sizeof answer) == 200)
        continue;
    ck_assert_int_eq(unix_get(path, "/", answer, sizeof answer), 503);
    ck_assert_ptr_nonnull(strstr(answer, "not available"));
    sink_gate(sink_at(0), false);
    pthread_join(thread, NULL);
    end();
}
END_TEST

static unsigned lines_of_a_start(const char *endpoint)
{
    char yaml[512];
    snprintf(yaml, sizeof yaml,
             "receivers: {source: }\nexporters: {sink: }\n"
             "extensions: {health_check: {endpoint: '%s'}}\n"
             "service:\n  extensions: [health_check]\n"
             "  pipelines: {traces: {receivers: [source], exporters: [sink]}}\n",
             endpoint);
    captured_begin();
    given_start(&given, yaml);
    given_stop(&given);
    return captured_with("cannot be reached by httpGet probes");
}

START_TEST(in_a_pod_localhost_is_told_to_be_out_of_reach)
{
    ck_assert_uint_eq(lines_of_a_start("localhost:0"), 0);
    setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1", 1);
    ck_assert_uint_eq(lines_of_a_start("localhost:0"), 1);
    ck_assert_uint_eq(captured_with("listen on ${env:POD_IP}:0, or probe with exec"), 1);
    ck_assert_uint_eq(lines_of_a_start("127.0.0.1:0"), 1);
    ck_assert_uint_eq(lines_of_a_start("0.0.0.0:0"), 0);
    unsetenv("KUBERNETES_SERVICE_HOST");
}
END_TEST

START_TEST(a_bad_endpoint_or_path_is_refused)
{
    char *faults = given_faults("receivers: {source: }\nexporters: {sink: }\n"
                                "extensions: {health_check: {endpoint: nowhere, path: x}}\n"
                                "service:\n"
                                "  pipelines: {traces: {receivers: [source], exporters: "
                                "[sink]}}\n");
    ck_assert_ptr_nonnull(strstr(faults, "extensions.health_check.endpoint"));
    ck_assert_ptr_nonnull(strstr(faults, "extensions.health_check.path"));
    free(faults);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        it_answers_200_while_the_pipelines_run,
        the_path_may_be_another,
        the_bodies_may_be_others,
        failures_of_exporters_count_where_that_is_asked_for_and_only_for_a_while,
        it_says_what_is_wrong_with_the_journal_until_that_is_over,
        it_answers_503_while_a_stop_drains,
        in_a_pod_localhost_is_told_to_be_out_of_reach,
        a_bad_endpoint_or_path_is_refused,
        NULL,
    };
    return suite_run("health_check", tests);
}
