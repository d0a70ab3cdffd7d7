#include "tests/support/processor_rig.h"
#include "tests/support/suite.h"

#define KV(key, value) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define SPAN                                                                                       \
    "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":"                               \
    "\"5b8efff798038103d269b633813fc60c\",\"spanId\":\"eee19b7ec3c1b174\",\"name\":\"GET /42\","   \
    "\"attributes\":[" KV("a", "x") "," KV("b", "y") "]}]}]}]}"

static void makes(const char *yaml, const char *want)
{
    const char *made = rig_run("span", yaml, SIGNAL_TRACES, SPAN);
    if (!strstr(made, want))
        ck_abort_msg("%s not in %s", want, made);
}

START_TEST(names_come_from_attributes)
{
    makes("{name: {from_attributes: [b, a], separator: '-'}}", "\"name\":\"y-x\"");
    makes("{name: {from_attributes: [b, absent]}}", "\"name\":\"GET /42\"");
}
END_TEST

START_TEST(attributes_come_from_names)
{
    makes("{name: {to_attributes: {rules: ['^GET /(?P<id>\\d+)$']}}}", "\"name\":\"GET /{id}\"");
    makes("{name: {to_attributes: {rules: ['^GET /(?P<id>\\d+)$']}}}", KV("id", "42"));
    makes("{name: {to_attributes: {rules: ['(?P<id>\\d+)'], keep_original_name: true}}}",
          "\"name\":\"GET /42\"");
}
END_TEST

START_TEST(the_status_is_set)
{
    makes("{status: {code: Error, description: no}}", "\"status\":{\"message\":\"no\",\"code\":2}");
}
END_TEST

START_TEST(faults_are_named)
{
    ck_assert_ptr_nonnull(strstr(rig_faults("span", "{status: {code: ok}}"),
                                 "status.code: expected Ok, Error or Unset"));
}
END_TEST

SUITE_MAIN("span", names_come_from_attributes, attributes_come_from_names, the_status_is_set,
           faults_are_named)
