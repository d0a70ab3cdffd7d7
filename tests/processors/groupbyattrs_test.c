#include "lib/base/refusal.h"
#include "tests/support/processor_rig.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

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

/* Each record gets a copy of a large resource. A client must not send it again. */
START_TEST(a_request_that_grows_too_much_is_refused_for_good)
{
    enum { LARGE = 20000, RECORDS = 200 };
    char *json = malloc(LARGE + 200 * RECORDS), text[REFUSAL_MAX];
    enum cause cause;
    int size = sprintf(json,
                       "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"a\","
                       "\"value\":{\"stringValue\":\"%0*d\"}}]},\"scopeLogs\":[{"
                       "\"logRecords\":[",
                       LARGE, 0);
    for (int i = 0; i < RECORDS; i++)
        size += sprintf(json + size,
                        "%s{\"attributes\":[{\"key\":\"k\",\"value\":{\"intValue\":\"%d\"}}]}",
                        i ? "," : "", i);
    sprintf(json + size, "]}]}]}");
    ck_assert_str_eq(rig_run("groupbyattrs", "{keys: [k]}", SIGNAL_LOGS, json), "");
    ck_assert_int_eq(rig_verdict(), VERDICT_REJECT);
    ck_assert(refusal_take(text, &cause) && cause == CAUSE_INVALID);
    has(text, "the request becomes more than 64 times as large");
    free(json);
}
END_TEST

SUITE_MAIN("groupbyattrs", a_request_that_grows_too_much_is_refused_for_good,
           records_move_to_the_resource_that_their_attributes_make,
           without_keys_equal_resources_are_merged, the_number_of_keys_is_limited)
