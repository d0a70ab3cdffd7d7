#include "tests/support/processor_rig.h"
#include "tests/support/suite.h"

#define SPAN                                                                                       \
    "\"scopeSpans\":[{\"spans\":[{\"traceId\":\"5b8efff798038103d269b633813fc60c\","               \
    "\"spanId\":\"eee19b7ec3c1b174\",\"name\":\"x\"}]}]"
#define REQUEST(resource) "{\"resourceSpans\":[{" resource SPAN "}]}"
#define SHOP              "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"shop\"}}"

static bool makes(const char *actions, const char *json, const char *want)
{
    const char *made = rig_run("resource", actions, SIGNAL_TRACES, json);
    if (!strstr(made, want))
        ck_abort_msg("%s not in %s", want, made);
    return true;
}

START_TEST(it_adds_and_removes)
{
    const char *json = REQUEST("\"resource\":{\"attributes\":[" SHOP "]},");
    makes("{attributes: [{key: cluster, value: one, action: insert}]}", json,
          "[" SHOP ",{\"key\":\"cluster\",\"value\":{\"stringValue\":\"one\"}}]");
    makes("{attributes: [{key: service.name, value: 7, action: update}]}", json,
          "{\"key\":\"service.name\",\"value\":{\"intValue\":\"7\"}}");
    makes("{attributes: [{pattern: 'service.*', action: delete}]}", json, "\"resource\":{}");
}
END_TEST

START_TEST(a_resource_is_made_where_none_is)
{
    makes("{attributes: [{key: a, value: true, action: upsert}]}", REQUEST(""),
          "{\"resource\":{\"attributes\":[{\"key\":\"a\",\"value\":{\"boolValue\":true}}]}");
}
END_TEST

START_TEST(what_is_not_changed_is_the_same_batch)
{
    const char *json = REQUEST("\"resource\":{\"attributes\":[" SHOP "]},");
    makes("{attributes: [{key: absent, value: 1, action: update}]}", json, SHOP);
}
END_TEST

START_TEST(faults_name_their_place)
{
    const char *faults = rig_faults("resource", "{attributes: [{key: a, value: 1, action: insert}, "
                                                "{key: b, action: convert}]}");
    ck_assert_ptr_nonnull(
        strstr(faults, ":1: attributes[1].converted_type: expected int, double or string\n"));
}
END_TEST

SUITE_MAIN("resource", it_adds_and_removes, a_resource_is_made_where_none_is,
           what_is_not_changed_is_the_same_batch, faults_name_their_place)
