/* Sends, and what is made of a broker's answers, with librdkafka's own broker for tests. */
#include "exporters/kafka/kafka.h"
#include "tests/support/backend.h"
#include "tests/support/proto_build.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <dlfcn.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>

extern const struct component exporter_kafka;
const struct component *const component_table[] = {&scripted_source, &scripted_pprof,
                                                   &exporter_kafka, NULL};

enum { PRODUCE = 0 }; /* the number of the request (Kafka protocol guide, "API Keys") */

static struct given_exporter exporter;
static rd_kafka_t *host; /* of the mock */
static rd_kafka_mock_cluster_t *cluster;
static void *library;

#define MOCK(name) ((__typeof__(rd_kafka_mock_##name) *)dlsym(library, "rd_kafka_mock_" #name))

/* timeout: of a send */
static void begin_within(const char *timeout, const char *keys)
{
    char error[256] = "", yaml[512];
    ck_assert(rdkafka_ready());
    library = dlopen("librdkafka.so.1", RTLD_NOW);
    host = rdkafka.new(RD_KAFKA_PRODUCER, NULL, error, sizeof error);
    ck_assert_msg(host != NULL, "%s", error);
    cluster = MOCK(cluster_new)(host, 1);
    ck_assert_int_eq(MOCK(topic_create)(cluster, "otlp_spans", 4, 1), 0);
    snprintf(yaml, sizeof yaml, "kafka: {brokers: ['%s'], timeout: %s, producer: {linger: 1ms}%s}",
             MOCK(cluster_bootstraps)(cluster), timeout, keys);
    exporter_start(&exporter, yaml, "traces", &(struct backend){0});
}

static void begin(const char *keys)
{
    begin_within("60s", keys);
}

static void end(void)
{
    exporter_stop(&exporter);
    MOCK(cluster_destroy)(cluster);
    rdkafka.destroy(host);
}

static struct batch *spans(void)
{
    return otlp_batch_of(SIGNAL_TRACES, PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "work")))),
                         1);
}

static struct outcome answered(rd_kafka_resp_err_t code)
{
    rd_kafka_resp_err_t codes[] = {code};
    MOCK(push_request_errors_array)(cluster, PRODUCE, 1, codes);
    return exporter_send(&exporter, spans());
}

START_TEST(a_send_returns_when_the_broker_has_the_record)
{
    begin("");
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(exporter_send(&exporter, spans()).verdict, VERDICT_OK);
    struct kafka_exporter *self = exporter.instance->self;
    ck_assert_uint_eq(atomic_load(&self->records), 5);
    end();
}
END_TEST

START_TEST(answers_that_may_change_are_retried)
{
    begin("");
    struct outcome outcome = answered(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_FORBIDDEN);
    ck_assert_ptr_nonnull(strstr(outcome.text, "topic otlp_spans: "));
    outcome = exporter_send(&exporter, spans());
    ck_assert_msg(outcome.verdict == VERDICT_OK, "%s", outcome.text);
    end();
}
END_TEST

START_TEST(what_the_client_repeats_itself_is_no_outcome)
{
    begin("");
    ck_assert_int_eq(answered(RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION).verdict, VERDICT_OK);
    end();
}
END_TEST

START_TEST(a_record_that_a_broker_never_takes_is_counted)
{
    begin("");
    struct progress progress = {0};
    rd_kafka_resp_err_t codes[] = {RD_KAFKA_RESP_ERR_INVALID_RECORD};
    MOCK(push_request_errors_array)(cluster, PRODUCE, 1, codes);
    struct batch *batch = spans();
    struct outcome outcome = exporter_send_on(&exporter, batch, &progress);
    ck_assert_int_eq(outcome.verdict, VERDICT_OK);
    ck_assert_uint_eq(outcome.rejected, 1);
    batch_unref(batch);
    end();
}
END_TEST

static struct batch *a_log_record(void)
{
    struct view record = PB_MESSAGE(2, PB_MESSAGE(5, PB_TEXT(1, "work")));
    return otlp_batch_of(SIGNAL_LOGS, PB_MESSAGE(1, PB_MESSAGE(2, record)), 1);
}

START_TEST(batches_sent_together_have_their_own_outcomes)
{
    begin_within("3s", ", logs: {topic: closed}");
    rd_kafka_resp_err_t refused = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    MOCK(topic_set_error)(cluster, "closed", refused);
    struct progress progress[3] = {0};
    struct joint_send sends[] = {{.batch = spans(), .progress = &progress[0]},
                                 {.batch = a_log_record(), .progress = &progress[1]},
                                 {.batch = spans(), .progress = &progress[2]}};
    struct kafka_exporter *self = exporter.instance->self;
    exporter.instance->component->send_together(self, sends, 3);
    for (int i = 0; i < 3; i++) {
        ck_assert(sends[i].finished);
        ck_assert_int_eq(sends[i].outcome.verdict, i == 1 ? VERDICT_RETRY : VERDICT_OK);
        batch_unref(sends[i].batch);
    }
    ck_assert_ptr_nonnull(strstr(sends[1].outcome.text, "topic closed: "));
    ck_assert_uint_eq(atomic_load(&self->records), 2);
    ck_assert_uint_eq(atomic_load(&self->under_way), 0);
    end();
}
END_TEST

/* A resource that names the topic "closed", with one span. */
static struct view for_closed(void)
{
    struct view attribute = PB_MESSAGE(1, PB_TEXT(1, "topic"), PB_MESSAGE(2, PB_TEXT(1, "closed")));
    return PB_MESSAGE(1, PB_MESSAGE(1, attribute), PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "work"))));
}

START_TEST(a_topic_from_data_that_cannot_be_written_is_replaced_by_the_configured_one)
{
    begin(", topic_from_attribute: topic");
    MOCK(topic_set_error)(cluster, "closed", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    struct kafka_exporter *self = exporter.instance->self;
    for (unsigned sent = 1; sent <= 2; sent++) {
        struct progress progress = {0};
        struct view other = PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "work"))));
        struct batch *batch = otlp_batch_of(SIGNAL_TRACES, PB_JOIN(other, for_closed()), 2);
        struct outcome outcome = exporter.instance->component->send_on(self, batch, &progress);
        ck_assert_int_eq(outcome.verdict, VERDICT_OK);
        ck_assert_uint_eq(outcome.rejected, 0);
        ck_assert_uint_eq(atomic_load(&self->records), 2 * sent); /* none of them twice */
        ck_assert_uint_eq(atomic_load(&self->records_redirected), sent);
        batch_unref(batch);
    }
    end();
}
END_TEST

START_TEST(without_a_broker_a_send_ends_in_time)
{
    begin_within("3s", ", traces: {topic: otlp_spans}");
    MOCK(broker_set_down)(cluster, 1);
    struct outcome outcome = exporter_send(&exporter, spans());
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_UNAVAILABLE);
    MOCK(broker_set_up)(cluster, 1);
    do /* the client may wait longer before it connects again */
        outcome = exporter_send(&exporter, spans());
    while (outcome.verdict == VERDICT_RETRY);
    ck_assert_int_eq(outcome.verdict, VERDICT_OK);
    end();
}
END_TEST

START_TEST(an_abort_ends_sends)
{
    begin("");
    MOCK(broker_set_down)(cluster, 1);
    exporter.instance->component->abort(exporter.instance->self);
    struct outcome outcome = exporter_send(&exporter, spans());
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_SHUTDOWN);
    end();
}
END_TEST

static void fault_is(const char *keys, const char *sentence)
{
    bool at_start = strstr(keys, "_file");
    char *yaml, *faults;
    ck_assert_int_gt(asprintf(&yaml,
                              "{receivers: {source: }, exporters: {kafka: {%s}}, service: "
                              "{pipelines: {traces: {receivers: [source], exporters: [kafka]}}}}",
                              keys),
                     0);
    faults = at_start ? start_faults(yaml) : given_faults(yaml);
    ck_assert_msg(strstr(faults, sentence) != NULL, "%s\n%s", keys, faults);
    free(faults);
    free(yaml);
}

START_TEST(faults_of_the_configuration_are_sentences)
{
    fault_is("brokers: []", "brokers: is empty");
    fault_is("brokers: ['a b:1']", "has \"a b:1\", expected host:port");
    fault_is("brokers: ['[::1]:x']", "expected host:port");
    fault_is("traces: {topic: 'a b'}", "traces.topic: expected at most 249 letters");
    fault_is("partition_by: [host]", "expected [service, source] or [none]");
    fault_is("partition_by: [service, source], partition_traces_by_id: true",
             "contradicts partition_traces_by_id");
    fault_is("include_metadata_keys: [x-team]", "receivers keep only X-Scope-OrgID");
    fault_is("auth: {sasl: {username: a, mechanism: PLAIN}}",
             "auth.sasl.password: required but not given");
    fault_is("auth: {sasl: {username: a, password: b, mechanism: KERBEROS}}", "SCRAM-SHA-256");
    fault_is("tls: {server_name_override: x}", "tls.server_name_override: is not supported");
    fault_is("tls: {ca_file: /nowhere}", "tls.ca_file");
}
END_TEST

/* Checks that the sentence about the exporter's keys is the only one, behind its place. */
static void only_fault_is(const char *keys, const char *sentence)
{
    char *yaml, *faults;
    ck_assert_int_gt(asprintf(&yaml,
                              "{receivers: {source: }, exporters: {kafka/a.b: {%s}}, service: "
                              "{pipelines: {traces: {receivers: [source],"
                              " exporters: [kafka/a.b]}}}}",
                              keys),
                     0);
    faults = given_faults(yaml);
    const char *at = strstr(faults, "exporters.kafka/a.b.");
    ck_assert_msg(at && strcspn(faults, "\n") == strlen(faults) - 1, "%s\n%s", keys, faults);
    ck_assert_msg(strncmp(at + strlen("exporters.kafka/a.b."), sentence, strlen(sentence)) == 0,
                  "%s\n%s", keys, faults);
    free(faults);
    free(yaml);
}

START_TEST(keys_of_the_collector_are_answered_with_spanlinks)
{
    only_fault_is("auth: {plain_text: {username: a, password: b}}",
                  "auth.plain_text: is the old form: use auth.sasl with mechanism: PLAIN");
    only_fault_is("auth: {tls: {ca_file: a}}",
                  "auth.tls: is the old form: move its keys to the section tls beside auth");
    only_fault_is("auth: {kerberos: {realm: a}}",
                  "auth.kerberos: is not supported: use auth.sasl with PLAIN, SCRAM-SHA-256");
    only_fault_is("auth: {sasl: {aws_msk: {region: a}}}",
                  "auth.sasl.aws_msk: is not supported: instead of IAM, use SCRAM-SHA-512");
    only_fault_is("auth: {sasl: {oauthbearer_token_source: a}}",
                  "auth.sasl.oauthbearer_token_source: is not supported: instead of OAUTHBEARER");
    only_fault_is("record_headers: {a: b}", "record_headers: is not supported: only headers of");
    only_fault_is("record_partitioner: {sticky_key: {hasher: murmur2}}",
                  "record_partitioner: is not supported: it is always murmur2");
    only_fault_is("partition_logs_by_trace_id: true",
                  "partition_logs_by_trace_id: is not supported: use partition_logs_by_resource");
    only_fault_is("logs: {topic_from_metadata_key: a}",
                  "logs.topic_from_metadata_key: is not supported: use topic_from_attribute");
    only_fault_is("traces: {message_key_from_metadata_key: a}",
                  "traces.message_key_from_metadata_key: is not supported: keys come from");
    only_fault_is("producer: {max_broker_write_bytes: 1}",
                  "producer.max_broker_write_bytes: is not supported: producer.max_message_bytes");
    fault_is("auth: {sasl: {username: a, password: b, mechanism: AWS_MSK_IAM}}",
             "OAUTHBEARER and IAM of AWS MSK are not supported");
    fault_is("auth: {sasl: {username: a, password: b, mechanism: SCRAM-SHA-265}}",
             "did you mean \"SCRAM-SHA-256\"?");
    only_fault_is("auth: {sasl: {aws_msk: {region: a}, username: a}}", "auth.sasl.aws_msk: is not");
    only_fault_is("auth: {sasl: {password: b}}", "auth.sasl.username: required but not given");
}
END_TEST

SUITE_MAIN("kafka", a_send_returns_when_the_broker_has_the_record,
           answers_that_may_change_are_retried, what_the_client_repeats_itself_is_no_outcome,
           a_record_that_a_broker_never_takes_is_counted,
           batches_sent_together_have_their_own_outcomes,
           a_topic_from_data_that_cannot_be_written_is_replaced_by_the_configured_one,
           without_a_broker_a_send_ends_in_time, an_abort_ends_sends,
           faults_of_the_configuration_are_sentences,
           keys_of_the_collector_are_answered_with_spanlinks)
