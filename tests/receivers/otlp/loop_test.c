/* A request from an exporter to a receiver of the same process loops only once. */
#include "receivers/otlp/otlp.h"

#include "lib/base/clock.h"
#include "lib/net/loop.h"
#include "tests/support/keeper.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

extern const struct component receiver_otlp, exporter_otlp_grpc;
const struct component *const component_table[] = {&receiver_otlp, &exporter_otlp_grpc,
                                                   &scripted_keeper, NULL};

#define PROTO "Content-Type: application/x-protobuf\r\n"
#define LOOP                                                                                       \
    "receivers: {otlp: {protocols: {http: {endpoint: 'unix:%s/http'}"                              \
    ", grpc: {endpoint: 'unix:%s/grpc'}}}}\n"                                                      \
    "exporters: {keeper: , otlp_grpc: {endpoint: 'unix:%s/grpc', tls: {insecure: true}}}\n"        \
    "service: {pipelines: {traces: {receivers: [otlp], exporters: [keeper, otlp_grpc]}}}\n"

static struct given_runtime given;
static struct http_answer answer;

static uint64_t refused(enum admission_transport transport)
{
    return admission_requests(given_meter(&given, "otlp")->admission, transport, SIGNAL_TRACES,
                              CAUSE_LOOP);
}

static struct view span(void)
{
    return PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "work"))));
}

START_TEST(a_span_goes_round_once)
{
    receiver_start(&given, LOOP);
    int fd = receiver_connect("http");
    receiver_post(fd, "/v1/traces", PROTO, span(), 200, &answer);
    uint64_t until = clock_mono(&clock_system) + 20 * NS_PER_S;
    const struct meter *exporter = given_meter(&given, "otlp_grpc");
    while (meter_get(exporter, METER_DROPPED, SIGNAL_TRACES) == 0) {
        ck_assert(clock_mono(&clock_system) < until);
        poll(NULL, 0, 5);
    }
    ck_assert_uint_eq(refused(ADMISSION_GRPC), 1);
    ck_assert_uint_eq(meter_get(given_meter(&given, "otlp"), METER_ACCEPTED, SIGNAL_TRACES), 1);
    close(fd);
    ck_assert_uint_eq(given_stop(&given), 1);
    ck_assert_uint_eq(keeper_count(), 1);
}
END_TEST

START_TEST(requests_with_the_number_of_another_process_are_let_in)
{
    char own[128];
    receiver_start(&given, LOOP);
    int fd = receiver_connect("http");
    snprintf(own, sizeof own, PROTO LOOP_HEADER ": %s\r\n", loop_value());
    receiver_post(fd, "/v1/traces", own, span(), 508, &answer);
    ck_assert_uint_eq(refused(ADMISSION_HTTP), 1);
    receiver_post(fd, "/v1/logs", PROTO LOOP_HEADER ": 0123\r\n", span(), 404, &answer);
    ck_assert_uint_eq(refused(ADMISSION_HTTP), 1);
    close(fd);
    given_stop(&given);
}
END_TEST

SUITE_MAIN("otlp_loop", a_span_goes_round_once,
           requests_with_the_number_of_another_process_are_let_in)
