#include "tests/support/processor_rig.h"
#include "tests/support/suite.h"

#define IDS                                                                                        \
    "\"traceId\":\"5b8efff798038103d269b633813fc60c\","                                            \
    "\"spanId\":\"eee19b7ec3c1b174\""
#define KV(key, value) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define SPANS(spans)                                                                               \
    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[" KV(                                      \
        "service.name", "shop") "]},\"scopeSpans\":[{\"spans\":[" spans "]}]}]}"
#define SPAN(name, attributes) "{" IDS ",\"name\":\"" name "\",\"attributes\":[" attributes "]}"

static void makes(const char *yaml, enum signal signal, const char *json, const char *want,
                  bool there)
{
    const char *made = rig_run("attributes", yaml, signal, json);
    if (!strstr(made, want) == there)
        ck_abort_msg("%s %s in %s", want, there ? "not" : "is", made);
}

START_TEST(actions_run_in_order)
{
    makes("{actions: [{key: b, from_attribute: a, action: insert}, {key: a, action: delete}, "
          "{key: b, pattern: '(?P<first>.)(?P<rest>.*)', action: extract}]}",
          SIGNAL_TRACES, SPANS(SPAN("x", KV("a", "text"))),
          "[" KV("b", "text") "," KV("first", "t") "," KV("rest", "ext") "]", true);
}
END_TEST

START_TEST(a_hash_is_sha_256)
{
    makes("{actions: [{key: a, action: hash}]}", SIGNAL_TRACES, SPANS(SPAN("x", KV("a", "abc"))),
          KV("a", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), true);
}
END_TEST

START_TEST(include_and_exclude_choose)
{
    const char *json = SPANS(SPAN("GET /", KV("a", "1")) "," SPAN("POST /", KV("a", "1")));
    makes("{include: {match_type: regexp, span_names: ['^GET']}, actions: [{key: a, value: 2, "
          "action: update}]}",
          SIGNAL_TRACES, json,
          "\"name\":\"GET /\",\"attributes\":[{\"key\":\"a\",\"value\":{\"intValue\":\"2\"}}]",
          true);
    makes("{exclude: {match_type: strict, services: [shop]}, actions: [{key: a, value: 2, "
          "action: update}]}",
          SIGNAL_TRACES, json, "intValue", false);
}
END_TEST

START_TEST(data_points_are_changed)
{
    makes("{actions: [{key: a, value: 2, action: insert}]}", SIGNAL_METRICS,
          "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"name\":\"m\",\"gauge\":{"
          "\"dataPoints\":[{\"asInt\":\"1\"},{\"asInt\":\"2\"}]}}]}]}]}",
          "\"intValue\":\"2\"", true);
}
END_TEST

START_TEST(what_does_not_fit_the_signal_is_said)
{
    const struct component *attributes = component_find(COMPONENT_PROCESSOR, "attributes");
    ck_assert_ptr_nonnull(attributes->misplaced);
    ck_assert_str_ne(rig_faults("attributes", "{include: {match_type: glob, services: [a]}, "
                                              "{actions: [{key: a, action: delete}]}"),
                     "");
}
END_TEST

SUITE_MAIN("attributes", actions_run_in_order, a_hash_is_sha_256, include_and_exclude_choose,
           data_points_are_changed, what_does_not_fit_the_signal_is_said)
