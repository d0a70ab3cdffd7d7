#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

extern const struct component processor_memory_limiter;
const struct component *const component_table[] = {&scripted_source, &scripted_sink,
                                                   &processor_memory_limiter, NULL};

START_TEST(it_passes_data_on_until_the_budget_is_used_up)
{
    struct given_runtime given;
    struct answer answer;
    given_start(&given, "receivers: {source: }\nexporters: {sink: }\n"
                        "processors: {memory_limiter: {limit_mib: 1}}\n"
                        "service:\n  pipelines: {traces: {receivers: [source], processors: "
                        "[memory_limiter], exporters: [sink]}}\n");
    answer_init(&answer);
    source_offer("source", some_spans(0, 7, &given.runtime->budget), &answer);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK);
    sink_wait_delivered(sink_at(0), 7);
    budget_force(&given.runtime->budget, 2 << 20);
    answer_init(&answer);
    source_offer("source", some_spans(0, 7, &given.runtime->budget), &answer);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_RETRY);
    ck_assert_int_eq(answer.outcome.cause, CAUSE_MEMORY);
    budget_give(&given.runtime->budget, 2 << 20);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {it_passes_data_on_until_the_budget_is_used_up, NULL};
    return suite_run("memory_limiter processor", tests);
}
