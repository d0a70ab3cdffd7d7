#include "tests/support/processor_rig.h"
#include "tests/support/suite.h"

#define KV(key, value) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define LOG(text, attributes)                                                                      \
    "{\"body\":{\"stringValue\":\"" text "\"},\"attributes\":[" attributes "]}"
#define ENTRY(resource, logs)                                                                      \
    "{\"resource\":{\"attributes\":[" resource "]},\"scopeLogs\":[{\"logRecords\":[" logs "]}]}"
#define REQUEST(entries) "{\"resourceLogs\":[" entries "]}"

static void has(const char *made, const char *want)
{
    if (!strstr(made, want))
        ck_abort_msg("no %s in %s", want, made);
}

START_TEST(records_move_to_the_resource_that_their_attributes_make)
{
    const char *made =
        rig_run("groupbyattrs", "{keys: [host]}", SIGNAL_LOGS,
                REQUEST(ENTRY(KV("a", "1"), LOG("x", KV("host", "h1")) "," LOG("y", "") "," LOG(
                                                "z", KV("k", "v") "," KV("host", "h1")))));
    has(made, "\"attributes\":[" KV("a", "1") "," KV("host", "h1") "]");
    has(made, "{\"body\":{\"stringValue\":\"x\"}},{\"body\":{\"stringValue\":\"z\"},"
              "\"attributes\":[" KV("k", "v") "]}]");
    has(made,
        "{\"resource\":{\"attributes\":[" KV(
            "a", "1") "]},\"scopeLogs\":[{\"logRecords\":[{\"body\":{\"stringValue\":\"y\"}}");
}
END_TEST

START_TEST(without_keys_equal_resources_are_merged)
{
    const char *made = rig_run("groupbyattrs", "{keys: []}", SIGNAL_LOGS,
                               REQUEST(ENTRY(KV("a", "1") "," KV("b", "2"), LOG("x", "")) "," ENTRY(
                                   KV("b", "2") "," KV("a", "1"), LOG("y", ""))));
    has(made,
        "\"logRecords\":[{\"body\":{\"stringValue\":\"x\"}},{\"body\":{\"stringValue\":\"y\"}}]");
}
END_TEST

START_TEST(the_number_of_keys_is_limited)
{
    char yaml[512] = "{keys: [a";
    for (int i = 0; i < 64; i++)
        strcat(yaml, ", b");
    strcat(yaml, "]}");
    has(rig_faults("groupbyattrs", yaml), "found 65, expected at most 64");
}
END_TEST

SUITE_MAIN("groupbyattrs", records_move_to_the_resource_that_their_attributes_make,
           without_keys_equal_resources_are_merged, the_number_of_keys_is_limited)
