#include "pipeline/life/runtime.h"

#include "lib/base/log.h"
#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static size_t limiter_limit(const void *self, size_t total)
{
    (void)self;
    return total / 1000;
}

static const struct component limiter = {.type = "limiter",
                                         .text = "asks for a budget",
                                         .kind = COMPONENT_EXTENSION,
                                         .memory_limit = limiter_limit};

const struct component *const component_table[] = {&scripted_source, &scripted_holder,
                                                   &scripted_sink, &limiter, NULL};

#define PARTS                                                                                      \
    "receivers: {source: , source/unused: {label: refuse}}\n"                                      \
    "processors: {holder: }\n"                                                                     \
    "exporters: {sink: }\n"                                                                        \
    "extensions: {limiter: }\n"
#define TRACES "service:\n  pipelines:\n    traces: {receivers: [source], exporters: [sink]}\n"

static struct given_runtime given;

static char *explained(struct runtime *runtime)
{
    struct bytes out;
    bytes_init(&out, 4096, NULL);
    runtime_explain(runtime, &out);
    char *text = strndup((const char *)out.data, out.size);
    bytes_release(&out);
    return text;
}

START_TEST(an_unused_component_is_never_opened)
{
    given_start(&given, PARTS TRACES);
    ck_assert_ptr_nonnull(source_env("source"));
    ck_assert_ptr_null(source_env("source/unused"));
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(one_id_is_one_instance_in_all_its_pipelines)
{
    given_start(&given, PARTS "service:\n"
                              "  pipelines:\n"
                              "    traces: {receivers: [source], processors: [holder], "
                              "exporters: [sink]}\n"
                              "    logs: {receivers: [source], processors: [holder], exporters: "
                              "[sink]}\n");
    const struct env *env = source_env("source");
    ck_assert_ptr_nonnull(env->intakes[SIGNAL_TRACES]);
    ck_assert_ptr_nonnull(env->intakes[SIGNAL_LOGS]);
    ck_assert_ptr_null(env->intakes[SIGNAL_METRICS]);
    const struct pipeline *pipelines = given.runtime->graph.pipelines;
    ck_assert_ptr_eq(pipelines[0].outlets[0]->processor, pipelines[1].outlets[0]->processor);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(a_failed_open_says_why_with_the_keys_place)
{
    struct problems problems = {0};
    struct settings_source source = {SETTINGS_FILE,
                                     "yaml:receivers:\n  source:\n    label: refuse\n"
                                     "exporters: {sink: }\n" TRACES};
    struct settings *settings = settings_load(&source, 1, &problems);
    struct runtime *runtime = runtime_plan(settings, &clock_system, &problems);
    ck_assert_ptr_nonnull(runtime);
    ck_assert(!runtime_start(runtime, &problems));
    ck_assert(!runtime_ready(runtime));
    ck_assert_uint_eq(problems.count, 1);
    ck_assert_ptr_nonnull(strstr(problems.lines[0], "3: receivers.source.label: told to refuse"));
    runtime_free(runtime);
    settings_free(settings);
    problems_release(&problems);
}
END_TEST

START_TEST(a_component_in_use_sets_the_memory_budget)
{
    given_start(&given, PARTS TRACES);
    size_t without = given.runtime->budget.limit;
    ck_assert_uint_gt(without, 0);
    ck_assert_uint_le(without, (size_t)128 << 20);
    ck_assert_uint_eq(given_stop(&given), 0);
    given_start(&given, PARTS TRACES "  extensions: [limiter]\n");
    ck_assert_uint_gt(given.runtime->budget.limit, 0);
    ck_assert_uint_ne(given.runtime->budget.limit, without);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(it_explains_what_was_sent)
{
    struct answer answer;
    answer_init(&answer);
    given_start(&given, PARTS TRACES);
    source_offer("source", some_spans(0, 3, NULL), &answer);
    sink_wait_delivered(sink_at(0), 3);
    char *text = explained(given.runtime);
    ck_assert_ptr_nonnull(strstr(text, "of 1000 requests"));
    ck_assert_ptr_nonnull(strstr(text, "memory: "));
    free(text);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(the_log_level_is_the_services)
{
    given_start(&given,
                PARTS TRACES "  telemetry: {logs: {level: WARN}, metrics: {level: none}}\n");
    runtime_set_log(given.runtime);
    ck_assert(log_enabled(LOG_WARN) && !log_enabled(LOG_INFO));
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

static struct outcome down_twice(const struct batch *batch, unsigned nth)
{
    (void)batch;
    return nth < 2 ? outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "down") : OUTCOME_OK;
}

START_TEST(with_the_system_clock_retries_need_no_stepping)
{
    struct problems problems = {0};
    struct settings_source source = {
        SETTINGS_FILE, "yaml:receivers: {source: }\nexporters: {sink: {retry_on_failure: "
                       "{initial_interval: 1ms, max_interval: 1ms}}}\n" TRACES};
    struct settings *settings = settings_load(&source, 1, &problems);
    struct runtime *runtime = runtime_plan(settings, &clock_system, &problems);
    ck_assert(runtime_start(runtime, &problems));
    struct answer answer;
    struct bytes report;
    answer_init(&answer);
    bytes_init(&report, 4096, NULL);
    sink_at(0)->script = down_twice;
    source_offer("source", some_spans(0, 3, NULL), &answer);
    sink_wait_delivered(sink_at(0), 3);
    ck_assert_uint_eq(runtime_stop(runtime, NULL, &report), 0);
    bytes_release(&report);
    runtime_free(runtime);
    settings_free(settings);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        an_unused_component_is_never_opened,
        one_id_is_one_instance_in_all_its_pipelines,
        a_failed_open_says_why_with_the_keys_place,
        a_component_in_use_sets_the_memory_budget,
        it_explains_what_was_sent,
        the_log_level_is_the_services,
        with_the_system_clock_retries_need_no_stepping,
        NULL,
    };
    return suite_run("runtime", tests);
}
