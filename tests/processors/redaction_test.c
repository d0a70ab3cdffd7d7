#include "tests/support/processor_rig.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define KV(key, value) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define LOG(body, attributes)                                                                      \
    "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"body\":" body                          \
    ",\"attributes\":[" attributes "]}]}]}]}"

static void makes(const char *yaml, const char *json, const char *want, const char *unwanted)
{
    const char *made = rig_run("redaction", yaml, SIGNAL_LOGS, json);
    if (!strstr(made, want) || strstr(made, unwanted))
        ck_abort_msg("%s, but not %s, in %s", want, unwanted, made);
}

START_TEST(keys_that_are_not_allowed_go)
{
    makes("{allowed_keys: [a], summary: debug}",
          LOG("{\"stringValue\":\"x\"}", KV("a", "1") "," KV("b", "2")),
          KV("redaction.redacted.keys", "b"), KV("b", "2"));
}
END_TEST

START_TEST(values_are_masked)
{
    const char *json = LOG("{\"kvlistValue\":{\"values\":[" KV("m", "card 4111111111111111") "]}}",
                           KV("a", "4111111111111111!"));
    makes("{allow_all_keys: true, blocked_values: ['4[0-9]{15}']}", json, KV("m", "card ****"),
          "4111");
    makes("{allow_all_keys: true, blocked_values: ['4[0-9]{15}'], hash_function: sha1}", json,
          "68bfb396f35af3876fc509665b3dc23a0930aab1", "4111");
}
END_TEST

START_TEST(a_pattern_that_takes_too_long_masks_the_whole)
{
    makes("{allow_all_keys: true, blocked_values: ['^(a+)+$']}",
          LOG("{}", KV("k", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")),
          KV("k", "****"), "aaa");
}
END_TEST

START_TEST(values_in_statements_go)
{
    const char *yaml = "{allow_all_keys: true, db_sanitizer: {sql: {enabled: true, attributes: "
                       "[q]}, redis: {enabled: true, attributes: [q]}, mongo: {enabled: true, "
                       "attributes: [q]}}}";
    makes(yaml,
          LOG("{}", KV("db.system", "mysql") "," KV("q", "SELECT a1 FROM t WHERE b='secret' OR 7")),
          KV("q", "SELECT a? FROM t WHERE b=? OR ?"), "secret");
    static const char *const double_quotes[] = {"mysql", "MariaDB"};
    for (size_t i = 0; i < 2; i++) {
        char json[1024];
        snprintf(
            json, sizeof json,
            LOG("{\"stringValue\":\"x = \\\"secret\\\"\"}",
                KV("db.system.name", "%s") "," KV("q", "SELECT a FROM t WHERE b=\\\"secret\\\"")),
            double_quotes[i]);
        makes(yaml, json, KV("q", "SELECT a FROM t WHERE b=?"), "secret");
    }
    makes(yaml, LOG("{}", KV("db.system", "postgresql") "," KV("q", "SELECT \\\"a\\\" FROM t")),
          KV("q", "SELECT \\\"a\\\" FROM t"), "?");
    makes(yaml, LOG("{}", KV("db.system.name", "redis") "," KV("q", "SET k secret EX 5")),
          KV("q", "SET k ? EX 5"), "secret");
    makes(yaml,
          LOG("{\"stringValue\":\"x\"}",
              KV("db.system", "mongodb") "," KV("q", "{\\\"a\\\": [1, \\\"secret\\\"]}")),
          KV("q", "{\\\"a\\\":[\\\"?\\\",\\\"?\\\"]}"), "secret");
    makes(yaml, LOG("{\"stringValue\":\"5 o'clock\"}", KV("q", "SELECT 1")), KV("q", "SELECT ?"),
          "clock");
}
END_TEST

START_TEST(faults_are_named)
{
    ck_assert_ptr_nonnull(strstr(rig_faults("redaction", "{url_sanitizer: {enabled: true}}"),
                                 "url_sanitizer.enabled: not supported"));
    ck_assert_ptr_nonnull(strstr(rig_faults("redaction", "{hash_function: hmac-sha512}"),
                                 "hmac_key: expected at least 64 bytes"));
}
END_TEST

SUITE_MAIN("redaction", keys_that_are_not_allowed_go, values_are_masked, values_in_statements_go,
           a_pattern_that_takes_too_long_masks_the_whole, faults_are_named)
