#include "lib/base/refusal.h"
#include "tests/support/processor_rig.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

#define IDS                                                                                        \
    "\"traceId\":\"5b8efff798038103d269b633813fc60c\","                                            \
    "\"spanId\":\"eee19b7ec3c1b174\""
#define KV(key, value) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define TWO                                                                                        \
    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[" KV(                                      \
        "service.name", "shop") "]},\"scopeSpans\":[{\"spans\":[{" IDS                             \
                                ",\"name\":\"one\",\"attributes\":[" KV(                           \
                                    "a", "x1") "]},{" IDS ",\"name\":\"two\"}]}]}]}"

static const char *run(const char *statements)
{
    char yaml[1000];
    snprintf(yaml, sizeof yaml, "{trace_statements: %s}", statements);
    return rig_run("transform", yaml, SIGNAL_TRACES, TWO);
}

static void makes(const char *statements, const char *want)
{
    const char *made = run(statements);
    if (!strstr(made, want))
        ck_abort_msg("%s not in %s", want, made);
}

START_TEST(statements_change_what_they_name)
{
    makes("['set(span.name, Concat([span.name, span.attributes[\"a\"]], \"-\")) where "
          "span.attributes[\"a\"] != nil']",
          "\"name\":\"one-x1\"");
    makes("[{context: span, statements: ['replace_pattern(attributes[\"a\"], \"(\\\\d)\", "
          "\"<$1>\")']}]",
          KV("a", "x<1>"));
    makes("['delete_key(resource.attributes, \"service.name\")']", "\"resource\":{}");
}
END_TEST

START_TEST(a_converter_makes_what_replaces_a_match)
{
    makes(
        "[{context: span, statements: ['replace_pattern(attributes[\"a\"], \"[0-9]\", \"$0\", MD5, "
        "\"<%s>\")']}]",
        KV("a", "x<c4ca4238a0b923820dcc509a6f75849b>"));
}
END_TEST

START_TEST(no_second_entry_of_an_edited_key_stays)
{
    static const char twice[] =
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" IDS ",\"attributes\":[" KV(
            "key", "secret1") "," KV("b", "x") "," KV("key", "secret2") "]}]}]}]}";
    static const char *const statements[] = {
        "{trace_statements: ['delete_key(span.attributes, \"key\")']}",
        "{trace_statements: ['set(span.attributes[\"key\"], \"***\")']}",
        "{trace_statements: ['replace_pattern(span.attributes[\"key\"], \"secret.\", \"***\")']}",
        "{trace_statements: ['set(span.attributes[\"key\"], ParseJSON(\"{}\"))']}",
    };
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        const char *made = rig_run("transform", statements[i], SIGNAL_TRACES, twice);
        ck_assert_msg(strstr(made, KV("b", "x")) && !strstr(made, "secret"), "%s", made);
    }
}
END_TEST

START_TEST(copied_attributes_keep_their_entries)
{
    static const char request[] = "{\"resourceSpans\":[{\"resource\":{\"attributes\":[" KV(
        "key", "1") "," KV("key", "2") "]},\"scopeSpans\":[{\"spans\":[{" IDS
                                       ",\"attributes\":[" KV("a", "b") "]}]}]}]}";
    const char *made =
        rig_run("transform", "{trace_statements: ['set(span.attributes, resource.attributes)']}",
                SIGNAL_TRACES, request);
    ck_assert_ptr_nonnull(
        strstr(made, IDS ",\"attributes\":[" KV("key", "1") "," KV("key", "2") "]"));
}
END_TEST

START_TEST(a_priority_key_counts_once_however_often_it_is_there)
{
    static const char request[] =
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" IDS ",\"attributes\":[" KV(
            "key", "1") "," KV("b", "2") "," KV("key", "3") "," KV("c", "4") "]}]}]}]}";
    const char *made =
        rig_run("transform", "{trace_statements: ['limit(span.attributes, 2, [\"key\"])']}",
                SIGNAL_TRACES, request);
    ck_assert_ptr_nonnull(
        strstr(made, "\"attributes\":[" KV("key", "1") "," KV("b", "2") "," KV("key", "3") "]"));
}
END_TEST

/* No record may leave as it came because another one took the memory. */
START_TEST(a_request_whose_statements_lack_memory_is_refused_as_a_whole)
{
    enum { TIMES = 40 };
    static const char doubles[] = "'set(span.attributes[\"a\"], {\"b\": span.attributes[\"a\"], "
                                  "\"c\": span.attributes[\"a\"]})',";
    static char yaml[TIMES * sizeof doubles + 100];
    size_t size = (size_t)snprintf(yaml, sizeof yaml, "{error_mode: silent, trace_statements: [");
    for (int i = 0; i < TIMES; i++)
        size += (size_t)snprintf(yaml + size, sizeof yaml - size, "%s", doubles);
    snprintf(yaml + size, sizeof yaml - size, "'set(span.attributes[\"z\"], \"last\")']}");
    char text[REFUSAL_MAX];
    enum cause cause;
    ck_assert_str_eq(rig_run("transform", yaml, SIGNAL_TRACES, TWO), "");
    ck_assert_int_eq(rig_verdict(), VERDICT_REJECT);
    ck_assert(refusal_take(text, &cause) && cause == CAUSE_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(text, "32 MiB"));
}
END_TEST

START_TEST(a_result_that_never_fits_is_refused_for_good)
{
    enum { TIMES = 400, SIZE = 200000 };
    static const char copies[] = "'set(span.attributes[\"%d\"], span.name)',";
    static char yaml[TIMES * (sizeof copies + 4) + 100], json[SIZE + 1000];
    size_t size = (size_t)snprintf(yaml, sizeof yaml, "{trace_statements: [");
    for (int i = 0; i < TIMES; i++)
        size += (size_t)snprintf(yaml + size, sizeof yaml - size, copies, i);
    snprintf(yaml + size, sizeof yaml - size, "]}");
    snprintf(json, sizeof json,
             "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" IDS ",\"name\":\"%0*d\"}]}]}]}",
             SIZE, 1);
    char text[REFUSAL_MAX];
    enum cause cause;
    ck_assert_str_eq(rig_run("transform", yaml, SIGNAL_TRACES, json), "");
    ck_assert_int_eq(rig_verdict(), VERDICT_REJECT);
    ck_assert(refusal_take(text, &cause) && cause == CAUSE_TOO_LARGE);
}
END_TEST

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

/* Each takes kilobytes while its statements run. */
START_TEST(many_records_take_no_more_memory_than_one)
{
    enum { RECORDS = 8000, PADDING = 300, RECORD_ROOM = 600 };
    static const char *const also[] = {
        "", ", 'set(resource.attributes[\"level\"], log.cache[\"level\"])'"};
    char *json = malloc(RECORDS * RECORD_ROOM), *at = json;
    at += sprintf(at, "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[");
    for (int i = 0; i < RECORDS; i++)
        at += sprintf(at,
                      "%s{\"attributes\":[" KV("a", "%d") "],\"body\":{\"stringValue\":"
                                                          "\"{\\\"level\\\":\\\"info\\\","
                                                          "\\\"mail\\\":\\\"bob@%0*d\\\","
                                                          "\\\"http\\\":{\\\"method\\\":"
                                                          "\\\"GET\\\"}}\"}}",
                      i ? "," : "", i, PADDING, i);
    sprintf(at, "]}]}]}");
    for (size_t i = 0; i < sizeof also / sizeof *also; i++) {
        char yaml[1000];
        snprintf(yaml, sizeof yaml,
                 "{log_statements: ['set(log.cache, ParseJSON(log.body))', "
                 "'set(log.cache[\"u\"], log.cache[\"http\"])', "
                 "'set(log.attributes[\"m\"], log.cache[\"http\"][\"method\"])', "
                 "'set(log.body, log.cache[\"level\"])'%s]}",
                 also[i]);
        const char *made = rig_run("transform", yaml, SIGNAL_LOGS, json);
        ck_assert_int_eq(rig_verdict(), VERDICT_OK);
        ck_assert_uint_eq(count(made, KV("m", "GET")), RECORDS);
        ck_assert_uint_eq(count(made, "bob@"), 0);
    }
    free(json);
}
END_TEST

START_TEST(many_points_are_merged)
{
    enum { METRICS = 40, POINTS = 300, ROOM = METRICS * POINTS * 120 };
    char *json = malloc(ROOM), *at = json;
    at += sprintf(at, "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[");
    for (int i = 0; i < METRICS; i++) {
        at += sprintf(at, "%s{\"name\":\"m\",\"gauge\":{\"dataPoints\":[", i ? "," : "");
        for (int n = 0; n < POINTS; n++)
            at += sprintf(at,
                          "%s{\"attributes\":[" KV("p", "%d") "," KV("q", "x") "],\"asInt\":\"1\"}",
                          n ? "," : "", n);
        at += sprintf(at, "]}}");
    }
    sprintf(at, "]}]}]}");
    const char *made = rig_run("transform",
                               "{metric_statements: [{context: metric, statements: "
                               "['aggregate_on_attributes(\"sum\", [\"q\"])']}]}",
                               SIGNAL_METRICS, json);
    ck_assert_uint_eq(count(made, "\"asInt\":\"300\""), METRICS);
    ck_assert_uint_eq(count(made, "asInt"), METRICS);
    free(json);
}
END_TEST

START_TEST(values_are_nested_no_deeper_than_a_receiver_takes)
{
    enum { TIMES = 150 };
    static const char *const statements[] = {
        "'set(span.attributes[\"a\"], {\"b\": span.attributes[\"a\"]})',",
        "'set(span.attributes[\"a\"][\"b\"], {\"c\": span.attributes[\"a\"]})',",
        "'set(span.attributes[\"a\"], [span.attributes[\"a\"]])',",
        "'merge_maps(span.attributes, {\"a\": {\"b\": span.attributes[\"a\"]}}, \"upsert\")',",
        "'append(span.attributes[\"a\"], values = [span.attributes[\"a\"]])',",
    };
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        char yaml[20000], *made;
        size_t size =
            (size_t)snprintf(yaml, sizeof yaml, "{error_mode: silent, trace_statements: [");
        for (int n = 0; n < (i == 4 ? 10 : TIMES); n++)
            size += (size_t)snprintf(yaml + size, sizeof yaml - size, "%s", statements[i]);
        snprintf(yaml + size, sizeof yaml - size, "'set(span.name, \"last\")']}");
        made = strdup(rig_run("transform", yaml, SIGNAL_TRACES, TWO));
        ck_assert_msg(strstr(made, "\"name\":\"last\""), "%s", made);
        ck_assert_msg(i == 4 || count(made, "listValue") + count(made, "arrayValue") >= 99, "%s",
                      made);
        ck_assert_str_eq(rig_run("transform", "{error_mode: silent}", SIGNAL_TRACES, made), made);
        free(made);
    }
}
END_TEST

START_TEST(a_span_s_statement_may_set_its_resource)
{
    makes("['set(resource.attributes[\"last\"], span.name)']",
          "[" KV("service.name", "shop") "," KV("last", "two") "]");
}
END_TEST

START_TEST(schema_urls_are_set)
{
    makes("['set(resource.schema_url, \"r\")', 'set(scope.schema_url, span.name)']",
          "\"schemaUrl\":\"two\"}],\"schemaUrl\":\"r\"}");
    makes("['set(resource.schema_url, \"r\")', 'set(resource.attributes[\"u\"], "
          "resource.schema_url)']",
          KV("u", "r"));
}
END_TEST

START_TEST(lists_of_messages_stay)
{
    makes("['set(span.events, nil)', 'set(span.links, [])', 'set(span.name, \"after\")']",
          "\"name\":\"after\"");
    ck_assert_str_eq(run("[{error_mode: propagate, context: span, statements: ['set(events, "
                         "[])']}]"),
                     "");
    makes("[{error_mode: propagate, context: span, statements: ['set(events, span.events)', "
          "'set(name, \"after\")']}]",
          "\"name\":\"after\"");
}
END_TEST

START_TEST(what_is_not_known_of_the_client_is_nil)
{
    makes("['set(span.name, \"none\") where otelcol.client.addr == nil and "
          "otelcol.client.metadata[\"a\"][0] == nil and Len(otelcol.client.metadata) == 0']",
          "\"name\":\"none\"");
}
END_TEST

START_TEST(editors_take_an_empty_map)
{
    makes("[{context: scope, statements: ['flatten(attributes)', 'replace_all_patterns(attributes, "
          "\"key\", \"a\", \"b\")', 'limit(attributes, 0, [])', 'keep_keys(attributes, [])']}]",
          "\"name\":\"two\"");
}
END_TEST

START_TEST(groups_run_in_order)
{
    makes("[{context: span, statements: ['set(resource.attributes[\"last\"], name)']}, "
          "{context: resource, statements: ['set(attributes[\"copy\"], attributes[\"last\"])']}, "
          "{context: span, statements: ['set(name, resource.attributes[\"copy\"])']}]",
          IDS ",\"name\":\"two\",\"attributes\":[" KV("a", "x1") "]");
}
END_TEST

START_TEST(errors_are_passed_over_or_refused)
{
    makes("['set(span.name, 1)', 'set(span.attributes[\"after\"], \"yes\")']", KV("after", "yes"));
    ck_assert_str_eq(run("[{error_mode: propagate, context: span, statements: ['set(name, 1)']}]"),
                     "");
    ck_assert_int_eq(rig_verdict(), VERDICT_REJECT);
}
END_TEST

START_TEST(a_pattern_that_takes_too_long_is_an_error)
{
    char statements[300];
    snprintf(statements, sizeof statements,
             "[{context: span, error_mode: propagate, statements: ['set(name, \"x\") where "
             "IsMatch(\"%0150d!\", \"^(0+)+$\")']}]",
             0);
    ck_assert_str_eq(run(statements), "");
    ck_assert_int_eq(rig_verdict(), VERDICT_REJECT);
}
END_TEST

START_TEST(xml_is_read_within_its_levels)
{
    char statement[2000];
    size_t size =
        (size_t)snprintf(statement, sizeof statement, "['set(span.attributes[\"x\"], ParseXML(\"");
    for (int i = 0; i < 51; i++)
        size += (size_t)snprintf(statement + size, sizeof statement - size, "<a>");
    for (int i = 0; i < 51; i++)
        size += (size_t)snprintf(statement + size, sizeof statement - size, "</a>");
    snprintf(statement + size, sizeof statement - size, "\"))']");
    makes(statement, "\"attributes\":[" KV("a", "x1") "]");
    makes("['set(span.attributes[\"x\"], ParseSimplifiedXML(\"<l><i>1</i><i>2</i></l>\"))']",
          "{\"arrayValue\":{\"values\":[{\"stringValue\":\"1\"},{\"stringValue\":\"2\"}]}}");
}
END_TEST

START_TEST(random_buckets_have_all_counts)
{
    const char *made = rig_run(
        "transform",
        "{metric_statements: [{context: metric, statements: "
        "['convert_exponential_histogram_to_histogram(\"random\", [0.5, 1.5, 3.0, 6.0, 20.0])']}]}",
        SIGNAL_METRICS,
        "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"name\":\"m\","
        "\"exponentialHistogram\":{\"aggregationTemporality\":1,\"dataPoints\":[{\"count\":"
        "\"1107\","
        "\"positive\":{\"bucketCounts\":[\"1000\",\"7\",\"100\"]}}]}}]}]}]}");
    const char *counts = strstr(made, "\"bucketCounts\":[");
    unsigned long sum = 0, buckets = 0;
    ck_assert_msg(counts, "%s", made);
    for (const char *at = counts + 16; *at == '"'; at += *at == ',') {
        char *end;
        sum += strtoul(at + 1, &end, 10);
        buckets++;
        at = end + 1;
    }
    ck_assert_uint_eq(sum, 1107);
    ck_assert_uint_eq(buckets, 5);
}
END_TEST

START_TEST(keys_stay_where_the_match_of_one_takes_too_long)
{
    char statements[600];
    snprintf(statements, sizeof statements,
             "[{context: span, statements: ['set(attributes[\"%0150d!\"], 1)', "
             "'replace_all_patterns(attributes, \"key\", \"^a$|^(0+)+$\", \"b\")']}]",
             0);
    makes(statements, "[" KV("a", "x1") ",{\"key\":\"0000");
}
END_TEST

START_TEST(faults_name_line_and_column)
{
    const char *faults = rig_faults("transform", "{trace_statements: ['set(span.nme, 1)']}");
    ck_assert_ptr_nonnull(strstr(faults, "trace_statements[0]: column 5: path span.nme is unknown "
                                         "or not supported in context span"));
    faults = rig_faults("transform", "{trace_statements: [{context: span, statements: ['set(', "
                                     "'set(nme, 1)'], conditions: ['Nope()']}]}");
    ck_assert_ptr_nonnull(strstr(faults, "statements[0]: column 5: unexpected end"));
    ck_assert_ptr_nonnull(strstr(faults, "statements[1]: column 5: path nme is unknown"));
    ck_assert_ptr_nonnull(strstr(faults, "conditions[0]: column 1: unknown function Nope"));
}
END_TEST

SUITE_MAIN("transform", no_second_entry_of_an_edited_key_stays,
           copied_attributes_keep_their_entries,
           a_priority_key_counts_once_however_often_it_is_there,
           a_request_whose_statements_lack_memory_is_refused_as_a_whole,
           many_records_take_no_more_memory_than_one, a_result_that_never_fits_is_refused_for_good,
           many_points_are_merged, values_are_nested_no_deeper_than_a_receiver_takes,
           statements_change_what_they_name, a_converter_makes_what_replaces_a_match,
           keys_stay_where_the_match_of_one_takes_too_long, xml_is_read_within_its_levels,
           random_buckets_have_all_counts, a_span_s_statement_may_set_its_resource,
           schema_urls_are_set, lists_of_messages_stay, what_is_not_known_of_the_client_is_nil,
           editors_take_an_empty_map, groups_run_in_order, errors_are_passed_over_or_refused,
           a_pattern_that_takes_too_long_is_an_error, faults_name_line_and_column)
