#include "pipeline/graph/graph.h"

#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

extern const struct component processor_resource, processor_attributes;

const struct component *const component_table[] = {&scripted_source,      &scripted_holder,
                                                   &scripted_sink,        &processor_resource,
                                                   &processor_attributes, NULL};

static struct given_runtime given;

static void begin(void)
{
    given_start(&given, "receivers: {source: }\nprocessors: {holder: }\n"
                        "exporters: {sink: , sink/full: {slot: 1, sending_queue: {queue_size: "
                        "1}}}\n"
                        "service:\n"
                        "  pipelines:\n"
                        "    traces: {receivers: [source], processors: [holder], exporters: "
                        "[sink, sink/full]}\n");
}

static enum verdict push(bool admitted)
{
    struct batch *batch = some_spans(0, 1, NULL);
    batch->admitted = admitted;
    enum verdict verdict = outlet_push(given.runtime->graph.pipelines[0].outlets[0], batch);
    batch_unref(batch);
    return verdict;
}

START_TEST(all_branches_get_it)
{
    begin();
    ck_assert_int_eq(push(false), VERDICT_OK);
    sink_wait_delivered(sink_at(0), 1);
    sink_wait_delivered(sink_at(1), 1);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(without_a_place_in_one_branch_none_takes_it)
{
    begin();
    sink_gate(sink_at(1), true);
    ck_assert_int_eq(push(false), VERDICT_OK);
    sink_wait_delivered(sink_at(0), 1);
    ck_assert_int_eq(push(false), VERDICT_RETRY);
    ck_assert_int_eq(push(true), VERDICT_OK);
    sink_gate(sink_at(1), false);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 2);
    ck_assert_uint_eq(sink_at(1)->delivered, 2);
}
END_TEST

START_TEST(a_place_that_was_taken_is_free_again)
{
    begin();
    const struct instance *full =
        graph_find(&given.runtime->graph, COMPONENT_EXPORTER, "sink/full");
    for (unsigned i = 1; i <= 3; i++) {
        ck_assert_int_eq(push(false), VERDICT_OK);
        ck_assert(sender_wait_empty(full->sender, TIME_NEVER));
        sink_wait_delivered(sink_at(1), i);
    }
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(a_processor_that_is_closed_is_passed_by)
{
    begin();
    holder_keeps(true);
    instance_close(given.runtime->graph.pipelines[0].outlets[0]->processor);
    ck_assert_int_eq(push(false), VERDICT_OK);
    sink_wait_delivered(sink_at(0), 1);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

static uint64_t measured(const struct instance *processor)
{
    const struct histogram *durations = &processor->durations[SIGNAL_TRACES];
    uint64_t count = 0;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
        count += durations->buckets[i];
    return count;
}

START_TEST(each_processor_of_a_shared_pass_is_measured)
{
    given_start(&given, "receivers: {source: }\nexporters: {sink: }\n"
                        "processors:\n"
                        "  resource: {attributes: [{key: a, value: b, action: insert}]}\n"
                        "  attributes: {actions: [{key: a, value: b, action: insert}]}\n"
                        "service:\n"
                        "  telemetry: {metrics: {level: detailed}}\n"
                        "  pipelines:\n"
                        "    traces: {receivers: [source], processors: [resource, attributes], "
                        "exporters: [sink]}\n");
    metric_set_level(METRIC_DETAILED);
    ck_assert_int_eq(push(false), VERDICT_OK);
    ck_assert_int_eq(push(false), VERDICT_OK);
    for (struct outlet *at = given.runtime->graph.pipelines[0].outlets[0]; at->processor;
         at = at->next) {
        ck_assert_uint_eq(measured(at->processor), 2);
        ck_assert_uint_eq(meter_get(at->processor->meter, METER_INCOMING, SIGNAL_TRACES), 2);
    }
    metric_set_level(METRIC_NONE);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        all_branches_get_it,
        without_a_place_in_one_branch_none_takes_it,
        a_place_that_was_taken_is_free_again,
        a_processor_that_is_closed_is_passed_by,
        each_processor_of_a_shared_pass_is_measured,
        NULL,
    };
    return suite_run("outlet", tests);
}
