#include "lib/kafka/kafka_peer.h"

#include "lib/base/clock.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/captured.h"
#include "tests/support/suite.h"

static char text[KAFKA_TROUBLE_SIZE];

static enum cause complain(rd_kafka_resp_err_t code, const char *reason)
{
    text[0] = '\0';
    return kafka_complaint(code, reason, text, sizeof text);
}

START_TEST(an_unreachable_broker_is_named_with_the_reason)
{
    ck_assert_int_eq(complain(RD_KAFKA_RESP_ERR__TRANSPORT,
                              "localhost:9092/bootstrap: Connect to ipv4#127.0.0.1:9092 failed: "
                              "Connection refused (after 0ms in state CONNECT)"),
                     CAUSE_UNAVAILABLE);
    ck_assert_str_eq(text, "broker localhost:9092 cannot be reached: Connection refused");
    ck_assert_int_eq(complain(RD_KAFKA_RESP_ERR__RESOLVE,
                              "nowhere:9092/bootstrap: Failed to resolve 'nowhere:9092': Name or "
                              "service not known (after 3ms in state CONNECT)"),
                     CAUSE_UNAVAILABLE);
    ck_assert_str_eq(text, "broker nowhere:9092 cannot be reached: Failed to resolve "
                           "'nowhere:9092': Name or service not known");
}
END_TEST

START_TEST(a_wrong_password_is_one_short_sentence)
{
    ck_assert_int_eq(complain(RD_KAFKA_RESP_ERR__AUTHENTICATION,
                              "sasl_plaintext://127.0.0.1:9092/1: SASL authentication error: "
                              "Authentication failed during authentication due to invalid "
                              "credentials with SASL mechanism SCRAM-SHA-256 (after 311ms in state "
                              "AUTH_REQ, 5 identical error(s) suppressed)"),
                     CAUSE_AUTH);
    ck_assert_str_eq(text,
                     "broker 127.0.0.1:9092 refuses the user name or the password of auth.sasl");
    ck_assert_int_eq(complain(RD_KAFKA_RESP_ERR__AUTHENTICATION,
                              "sasl_plaintext://b:1/bootstrap: SASL PLAIN mechanism handshake "
                              "failed: Broker: Unsupported SASL mechanism: broker's supported "
                              "mechanisms: SCRAM-SHA-256"),
                     CAUSE_AUTH);
    ck_assert_ptr_nonnull(strstr(text, "does not support auth.sasl.mechanism"));
    ck_assert_ptr_nonnull(strstr(text, "mechanisms: SCRAM-SHA-256"));
}
END_TEST

START_TEST(a_closed_connection_hints_at_the_protocol)
{
    complain(RD_KAFKA_RESP_ERR__TRANSPORT,
             "127.0.0.1:9/bootstrap: Disconnected: verify that security.protocol is correctly "
             "configured, broker might require SASL authentication (after 1ms in state UP)");
    ck_assert_str_eq(text, "broker 127.0.0.1:9 closed the connection: it may expect TLS or SASL");
    ck_assert_int_eq(complain(RD_KAFKA_RESP_ERR__SSL,
                              "ssl://b:9093/bootstrap: SSL handshake failed: certificate verify "
                              "failed (after 5ms in state SSL_HANDSHAKE)"),
                     CAUSE_TLS);
    ck_assert_str_eq(text, "TLS to broker b:9093 failed: certificate verify failed");
    ck_assert_int_eq(complain(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, "1/1 brokers are down"),
                     CAUSE_NONE);
}
END_TEST

START_TEST(credentials_explain_what_follows_until_a_success)
{
    struct kafka_peer peer;
    kafka_peer_init(&peer, "kafka", NULL);
    peer.quiet = true;
    ck_assert_int_eq(kafka_peer_trouble(&peer, text, sizeof text), CAUSE_NONE);
    kafka_peer_error(NULL, RD_KAFKA_RESP_ERR__AUTHENTICATION, "b:1/1: wrong", &peer);
    kafka_peer_error(NULL, RD_KAFKA_RESP_ERR__TRANSPORT, "b:1/1: Disconnected", &peer);
    ck_assert_int_eq(kafka_peer_trouble(&peer, text, sizeof text), CAUSE_AUTH);
    ck_assert_str_eq(text, "broker b:1 refuses the user name or the password of auth.sasl");
    kafka_peer_works(&peer, 1);
    ck_assert_int_eq(kafka_peer_trouble(&peer, text, sizeof text), CAUSE_NONE);
    ck_assert_str_eq(text, "");
    kafka_peer_release(&peer);
}
END_TEST

static void refuse(struct kafka_peer *peer, const char *broker)
{
    char reason[200];
    snprintf(reason, sizeof reason, "%s: Connect to ipv4#127.0.0.1:9092 failed: Connection refused",
             broker);
    kafka_peer_error(NULL, RD_KAFKA_RESP_ERR__TRANSPORT, reason, peer);
}

START_TEST(a_broker_that_is_down_stays_so_while_others_work)
{
    struct kafka_peer peer;
    kafka_peer_init(&peer, "kafka", NULL);
    peer.quiet = true;
    refuse(&peer, "a:1/1");
    refuse(&peer, "GroupCoordinator: b:1");
    refuse(&peer, "b:1/2");
    ck_assert_uint_eq(peer.down_count, 2);
    kafka_peer_works(&peer, 3);
    kafka_peer_works(&peer, KAFKA_SOME_BROKER);
    ck_assert(kafka_peer_is_down(&peer, text, sizeof text));
    ck_assert_str_eq(text, "broker b:1 cannot be reached: Connection refused");
    kafka_peer_works(&peer, 2);
    ck_assert_int_eq(kafka_peer_why(&peer, text, sizeof text), CAUSE_UNAVAILABLE);
    ck_assert_str_eq(text, "broker a:1 cannot be reached: Connection refused");
    kafka_peer_works(&peer, 1);
    ck_assert_int_eq(kafka_peer_why(&peer, text, sizeof text), CAUSE_NONE);
    ck_assert(!kafka_peer_is_down(&peer, text, sizeof text));
    kafka_peer_release(&peer);
}
END_TEST

START_TEST(a_broker_that_tells_of_topics_can_be_reached)
{
    struct kafka_peer peer;
    kafka_peer_init(&peer, "kafka", NULL);
    peer.quiet = true;
    refuse(&peer, "a:1/1");
    kafka_peer_answers(&peer, 1);
    ck_assert(!kafka_peer_is_down(&peer, text, sizeof text));
    ck_assert_int_eq(kafka_peer_why(&peer, text, sizeof text), CAUSE_NONE);
    kafka_peer_error(NULL, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, "a:1/1: no", &peer);
    kafka_peer_answers(&peer, 1);
    ck_assert_int_eq(kafka_peer_why(&peer, text, sizeof text), CAUSE_FORBIDDEN);
    kafka_peer_release(&peer);
}
END_TEST

START_TEST(a_broker_that_librdkafka_does_not_try_again_is_not_needed)
{
    struct kafka_peer peer;
    kafka_peer_init(&peer, "kafka", NULL);
    peer.quiet = true;
    refuse(&peer, "a:1/1");
    peer.down[0].at -= 46 * NS_PER_S;
    kafka_peer_works(&peer, 3);
    ck_assert_int_eq(kafka_peer_why(&peer, text, sizeof text), CAUSE_NONE);
    kafka_peer_release(&peer);
}
END_TEST

START_TEST(the_only_configured_broker_answered_if_any_does)
{
    struct kafka_peer peer;
    kafka_peer_init(&peer, "kafka", NULL);
    peer.quiet = true;
    refuse(&peer, "a:1/bootstrap");
    kafka_peer_works(&peer, 1);
    ck_assert(kafka_peer_is_down(&peer, text, sizeof text)); /* several are configured */
    peer.single = true;
    kafka_peer_works(&peer, 1);
    ck_assert(!kafka_peer_is_down(&peer, text, sizeof text));
    for (int i = 0; i < 2 * KAFKA_DOWN_MOST; i++) {
        snprintf(text, sizeof text, "b%d:1/%d", i, i);
        refuse(&peer, text);
    }
    ck_assert_uint_eq(peer.down_count, KAFKA_DOWN_MOST);
    kafka_peer_release(&peer);
}
END_TEST

START_TEST(a_coordinator_at_an_address_that_is_wrong_stays_down_while_the_bootstrap_answers)
{
    struct kafka_peer peer;
    kafka_peer_init(&peer, "kafka", NULL);
    peer.quiet = peer.single = true;
    refuse(&peer, "GroupCoordinator: advertised:1");
    kafka_peer_answers(&peer, 1);
    ck_assert(kafka_peer_is_down(&peer, text, sizeof text));
    ck_assert_ptr_nonnull(strstr(text, "advertised:1"));
    kafka_peer_works(&peer, KAFKA_SOME_BROKER); /* the group answers */
    ck_assert(!kafka_peer_is_down(&peer, text, sizeof text));
    kafka_peer_release(&peer);
}
END_TEST

START_TEST(a_broker_that_answers_nothing_is_told_from_one_that_closes_connections)
{
    struct kafka_peer peer;
    kafka_peer_init(&peer, "kafka", NULL);
    ck_assert_str_eq(kafka_peer_wordless(&peer, peer.closed), KAFKA_MUTE);
    ck_assert_int_eq(kafka_peer_close_socket(-1, &peer), -1);
    ck_assert_str_eq(kafka_peer_wordless(&peer, 0), KAFKA_CLOSES);
    ck_assert_int_eq(complain(RD_KAFKA_RESP_ERR__TRANSPORT,
                              "a:1/bootstrap: ApiVersionRequest failed: Local: Timed out: probably "
                              "due to broker version < 0.10 (see api.version.request "
                              "configuration) (after 10003ms in state APIVERSION_QUERY)"),
                     CAUSE_UNAVAILABLE);
    ck_assert_str_eq(text, "broker a:1 accepts connections and does not answer");
    kafka_peer_release(&peer);
}
END_TEST

START_TEST(only_what_can_never_pass_is_rejected)
{
    ck_assert(rdkafka_ready());
    static const rd_kafka_resp_err_t never[] = {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
                                                RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION,
                                                RD_KAFKA_RESP_ERR_INVALID_RECORD};
    static const rd_kafka_resp_err_t later[] = {
        RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
        RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        ck_assert_int_eq(kafka_outcome(never[i], "t").verdict, VERDICT_REJECT);
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        ck_assert_int_eq(kafka_outcome(later[i], "t").verdict, VERDICT_RETRY);
    ck_assert_uint_gt(kafka_outcome(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, "t").retry_within_ns, 0);
    ck_assert_uint_eq(kafka_outcome(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, "t").retry_within_ns, 0);
    ck_assert_str_eq(kafka_outcome(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, "otlp_spans").text,
                     "topic otlp_spans: the topic does not exist, and the broker does not create "
                     "it");
    ck_assert_str_eq(kafka_outcome(RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, "spans").text,
                     "topic spans: this user may not write to it: it needs the operation Write");
    ck_assert_ptr_nonnull(
        strstr(kafka_outcome(RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, "spans").text,
               "topic spans: fewer replicas are in sync than its min.insync.replicas"));
    ck_assert_int_eq(kafka_outcome(RD_KAFKA_RESP_ERR_NO_ERROR, "t").verdict, VERDICT_OK);
}
END_TEST

START_TEST(a_producer_without_a_right_to_write_says_which_it_needs)
{
    ck_assert_int_eq(complain(RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
                              "Failed to acquire idempotence PID from broker "
                              "sasl_plaintext://127.0.0.1:9092/1: Broker: Cluster authorization "
                              "failed"),
                     CAUSE_FORBIDDEN);
    ck_assert_str_eq(text, "this user may write to no topic: it needs the operation Write on those "
                           "of the exporter");
}
END_TEST

START_TEST(a_topic_that_is_gone_is_told)
{
    ck_assert(rdkafka_ready());
    struct outcome gone = kafka_outcome(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, "spans");
    ck_assert_str_eq(gone.text, "topic spans: the topic does not exist any more, or has fewer "
                                "partitions than before");
    gone = kafka_outcome(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, "spans");
    ck_assert_str_eq(gone.text,
                     "topic spans: the topic does not exist, and the broker does not create it");
}
END_TEST

START_TEST(a_port_with_another_protocol_is_told)
{
    char out[KAFKA_TROUBLE_SIZE];
    ck_assert_int_eq(
        kafka_complaint(RD_KAFKA_RESP_ERR__AUTHENTICATION,
                        "sasl_plaintext://b:1/bootstrap: SASL PLAIN mechanism handshake failed: "
                        "Broker: Request not valid in current SASL state: broker's supported "
                        "mechanisms:  (after 2ms in state AUTH_HANDSHAKE)",
                        out, sizeof out),
        CAUSE_AUTH);
    ck_assert_str_eq(out, "broker b:1 does not use SASL on this port, but auth.sasl is set");
    ck_assert_int_eq(
        kafka_complaint(RD_KAFKA_RESP_ERR__SSL,
                        "ssl://b:1/bootstrap: SSL handshake failed: error:0A000126:SSL "
                        "routines::unexpected eof while reading (after 3ms in state SSL_HANDSHAKE)",
                        out, sizeof out),
        CAUSE_TLS);
    ck_assert_str_eq(
        out, "TLS to broker b:1 failed: it ended the handshake, so this port may not use TLS");
    ck_assert_int_eq(kafka_complaint(RD_KAFKA_RESP_ERR__TRANSPORT,
                                     "b:1/bootstrap: Send failed: Broken pipe (after 0ms in state "
                                     "UP)",
                                     out, sizeof out),
                     CAUSE_UNAVAILABLE);
    ck_assert_str_eq(out, "broker b:1 closed the connection: it may expect TLS or SASL");
}
END_TEST

START_TEST(brokers_that_refused_this_user_were_not_away)
{
    struct kafka_peer peer;
    kafka_peer_init(&peer, "kafka", NULL);
    captured_begin();
    kafka_peer_error(NULL, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, "b:1/1: refused", &peer);
    kafka_peer_works(&peer, 1);
    ck_assert_uint_eq(captured_with("the brokers no longer refuse this user"), 1);
    refuse(&peer, "b:1/1");
    kafka_peer_works(&peer, 1);
    ck_assert_uint_eq(captured_with("can be reached again"), 1);
    kafka_peer_release(&peer);
}
END_TEST

SUITE_MAIN("kafka_peer", a_port_with_another_protocol_is_told,
           an_unreachable_broker_is_named_with_the_reason, a_wrong_password_is_one_short_sentence,
           a_closed_connection_hints_at_the_protocol,
           a_broker_that_is_down_stays_so_while_others_work,
           a_broker_that_tells_of_topics_can_be_reached,
           a_broker_that_librdkafka_does_not_try_again_is_not_needed,
           a_coordinator_at_an_address_that_is_wrong_stays_down_while_the_bootstrap_answers,
           the_only_configured_broker_answered_if_any_does,
           a_broker_that_answers_nothing_is_told_from_one_that_closes_connections,
           credentials_explain_what_follows_until_a_success, only_what_can_never_pass_is_rejected,
           a_producer_without_a_right_to_write_says_which_it_needs, a_topic_that_is_gone_is_told,
           brokers_that_refused_this_user_were_not_away)
