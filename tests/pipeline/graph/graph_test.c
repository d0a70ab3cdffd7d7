#include "pipeline/graph/graph.h"

#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

const struct component *const component_table[] = {&scripted_source, &scripted_holder,
                                                   &scripted_sink, NULL};

/* The order of closing, as ids separated by spaces. */
static void expect_order(const char *pipelines, const char *wanted)
{
    struct given_runtime given;
    struct instance_list order = {0};
    char *yaml, got[128] = "";
    ck_assert_int_gt(asprintf(&yaml,
                              "receivers: {source: }\nexporters: {sink: }\n"
                              "processors: {holder/a: , holder/b: , holder/c: , holder/d: }\n"
                              "service:\n  pipelines:\n%s",
                              pipelines),
                     0);
    given_start(&given, yaml);
    ck_assert(graph_processors_in_order(&given.runtime->graph, &order));
    for (size_t i = 0; i < order.count; i++) {
        strcat(got, i ? " " : "");
        strcat(got, strchr(order.items[i]->id, '/') + 1);
    }
    ck_assert_str_eq(got, wanted);
    free(order.items);
    free(yaml);
    given_stop(&given);
}

START_TEST(processors_close_from_front_to_back)
{
    expect_order("    traces: {receivers: [source], processors: [holder/c, holder/a], exporters: "
                 "[sink]}\n",
                 "c a");
}
END_TEST

START_TEST(the_order_holds_over_all_pipelines)
{
    expect_order("    traces: {receivers: [source], processors: [holder/a, holder/b], exporters: "
                 "[sink]}\n"
                 "    logs: {receivers: [source], processors: [holder/d, holder/c, holder/a], "
                 "exporters: [sink]}\n",
                 "d c a b");
}
END_TEST

START_TEST(contradicting_pipelines_still_close_each_once)
{
    expect_order("    traces: {receivers: [source], processors: [holder/a, holder/b], exporters: "
                 "[sink]}\n"
                 "    logs: {receivers: [source], processors: [holder/b, holder/a], exporters: "
                 "[sink]}\n",
                 "a b");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        processors_close_from_front_to_back,
        the_order_holds_over_all_pipelines,
        contradicting_pipelines_still_close_each_once,
        NULL,
    };
    return suite_run("graph", tests);
}
