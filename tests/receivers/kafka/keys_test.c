/* Errors for configurations that cannot work. */
#include "tests/support/given_runtime.h"
#include "tests/support/keeper.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct component receiver_kafka;
const struct component *const component_table[] = {&receiver_kafka, &scripted_keeper, NULL};

/* Checks that the errors about the receiver's keys are `want`, each without its place and
 * "receivers.kafka". */
static void expect(const char *keys, const char *want)
{
    char *yaml, *got = calloc(1, 4096);
    ck_assert_int_gt(asprintf(&yaml,
                              "receivers: {kafka: {%s}}\nexporters: {keeper: }\n"
                              "service: {pipelines: {profiles: {receivers: [kafka],"
                              " exporters: [keeper]}}}\n",
                              keys),
                     0);
    char *faults = given_faults(yaml);
    for (char *line = strtok(faults, "\n"); line; line = strtok(NULL, "\n")) {
        const char *at = strstr(line, "receivers.kafka");
        strcat(strcat(got, at ? at + strlen("receivers.kafka") : line), "\n");
    }
    ck_assert_str_eq(got, want);
    free(got);
    free(faults);
    free(yaml);
}

START_TEST(what_works_is_taken)
{
    expect("", "");
    expect("group_rebalance_strategies: [range]", "");
    expect("traces: {topics: []}, profiles: {encoding: native}", "");
    expect("traces: {topics: [a, b], encoding: otlp_json}", "");
}
END_TEST

START_TEST(only_range_keeps_lanes_together)
{
    expect("group_rebalance_strategies: [cooperative-sticky]",
           ".group_rebalance_strategies: cooperative-sticky does not give a member the same "
           "partition numbers of all topics, so spans would not meet their profiles; expected "
           "range\n");
}
END_TEST

START_TEST(topics_are_named_once)
{
    expect("traces: {topics: ['^otlp.*']}",
           ".traces.topics: ^otlp.*: patterns are not supported, list the topics\n");
    expect(
        "traces: {topics: [b, 'a b']}",
        ".traces.topics: has \"a b\", expected at most 249 letters, digits, dots, underscores and "
        "hyphens\n");
    expect("traces: {topics: [a, a]}", ".traces.topics: a is given twice\n");
    expect("profiles: {topics: [otlp_spans]}",
           ".profiles.topics: otlp_spans is a topic of traces already\n");
}
END_TEST

START_TEST(times_fit_together)
{
    expect("heartbeat_interval: 10s",
           ".heartbeat_interval: must be shorter than session_timeout\n");
    expect("autocommit: {interval: 0}", ".autocommit.interval: must be positive\n");
    expect("error_backoff: {max_interval: 1ms}",
           ".error_backoff.max_interval: must be at least initial_interval, and that positive\n");
}
END_TEST

START_TEST(dead_letters_go_to_a_topic_of_their_own)
{
    expect("logs: {topics: [a]}, dead_letter: {topic: a}",
           ".dead_letter.topic: a is read, too, so each dead letter would become another\n");
    expect("logs: {topics: [a]}, dead_letter: {topic: b}", "");
    expect("dead_letter: {topic: 'a b'}",
           ".dead_letter.topic: expected at most 249 letters, digits, "
           "dots, underscores and hyphens\n");
}
END_TEST

START_TEST(keys_of_the_collector_are_answered_with_spanlinks)
{
    static const char *const topic = ": is the old form: use topics, a list\n";
    static const char *const listed =
        ": is not supported: topics are listed, not matched, so leave out those to exclude\n";
    char want[256];
    expect("topic: a, encoding: otlp_proto",
           ".topic: is the old form: use traces.topics, metrics.topics or logs.topics, which are "
           "lists\n"
           ".encoding: is the old form: use traces.encoding, metrics.encoding or logs.encoding\n");
    expect("traces: {topic: a}", strcat(strcpy(want, ".traces.topic"), topic));
    expect("logs: {topic: a}", strcat(strcpy(want, ".logs.topic"), topic));
    expect("metrics: {exclude_topic: a}", strcat(strcpy(want, ".metrics.exclude_topic"), listed));
    expect("logs: {exclude_topics: [a]}", strcat(strcpy(want, ".logs.exclude_topics"), listed));
    expect("group_rebalance_strategy: range",
           ".group_rebalance_strategy: is the old form: use group_rebalance_strategies: [range]\n");
    expect("default_fetch_size: 1",
           ".default_fetch_size: is the old form: use max_partition_fetch_size\n");
    expect("rack_id: a", ".rack_id: is not supported: records are read from partitions' leaders\n");
    expect("partition_processing: {}",
           ".partition_processing: is not supported: each partition number is always processed "
           "independently of the others\n");
    expect("record_headers: {a: b}, traces: {rack_id: a}",
           ".record_headers: unknown key\n"
           ".traces.rack_id: unknown key, expected one of topics, encoding\n");
}
END_TEST

SUITE_MAIN("keys", what_works_is_taken, dead_letters_go_to_a_topic_of_their_own,
           keys_of_the_collector_are_answered_with_spanlinks, only_range_keeps_lanes_together,
           topics_are_named_once, times_fit_together)
