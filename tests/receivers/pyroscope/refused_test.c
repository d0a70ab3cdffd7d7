/* Refused requests are counted by cause, and logged with the client's address. */
#include "receivers/pyroscope/pyroscope.h"

#include "lib/wire/pprof/push.h"
#include "tests/support/captured.h"
#include "tests/support/forever.h"
#include "tests/support/pprof_build.h"
#include "tests/support/receiver_rig.h"
#include "tests/support/suite.h"

#include <unistd.h>

extern const struct component receiver_pyroscope;
const struct component *const component_table[] = {&receiver_pyroscope, &scripted_keeper, NULL};

#define RECEIVER                                                                                   \
    RIG_PROFILES("pyroscope", "{endpoint: 'unix:%s/http', max_request_body_size: 4000, "           \
                              "reject_older_than: 0s}")
#define OCTETS "Content-Type: application/octet-stream\r\n"

static void begin(void)
{
    captured_begin();
    rig_begin(RECEIVER);
}

static void end(void)
{
    close(fd);
    given_stop(&given);
}

static uint64_t requests(int signal, enum cause cause)
{
    return admission_requests(given_meter(&given, "pyroscope")->admission, ADMISSION_HTTP, signal,
                              cause);
}

static struct view cpu_profile(void)
{
    return forever(
        pprof_build_cpu(1700000000000000000, 10000000000, (const char *const[]){NULL}, 1));
}

START_TEST(a_path_of_otlp_is_sent_to_its_receiver)
{
    begin();
    receiver_post(fd, "/v1/traces", OCTETS, VIEW("x"), 404, &answer);
    ck_assert_uint_eq(captured_with("unknown path /v1/traces: point OTLP clients at the receiver "
                                    "otlp, usually port 4318 for HTTP (over"),
                      1);
    end();
}
END_TEST

START_TEST(refusals_are_counted_by_cause)
{
    static uint8_t large[4001];
    begin();
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS, VIEW("garbage"), 422, &answer);
    receiver_post(fd, "/ingest?format=pprof", OCTETS, cpu_profile(), 400, &answer);
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS "Content-Encoding: br\r\n", VIEW("x"),
                  415, &answer);
    receiver_post(fd, "/push.v1.PusherService/Push", OCTETS, VIEW("x"), 415, &answer);
    receiver_post(fd, "/v1development/profiles", OCTETS, VIEW("x"), 415, &answer);
    raw_exchange(fd, "GET /ingest HTTP/1.1\r\nHost: a\r\n\r\n", 405, &answer);
    receiver_post(fd, "/injest", OCTETS, VIEW("x"), 404, &answer);
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS, (struct view){large, sizeof large},
                  413, &answer);
    ck_assert_uint_eq(requests(SIGNAL_PROFILES, CAUSE_INVALID), 2);
    ck_assert_uint_eq(requests(SIGNAL_PROFILES, CAUSE_ENCODING), 1);
    ck_assert_uint_eq(requests(SIGNAL_PROFILES, CAUSE_TOO_LARGE), 1);
    ck_assert_uint_eq(requests(SIGNAL_PROFILES, CAUSE_UNSUPPORTED), 3);
    ck_assert_uint_eq(requests(ADMISSION_NO_SIGNAL, CAUSE_UNSUPPORTED), 1);
    ck_assert_uint_eq(captured_with("pyroscope: 1 request refused: "), 8);
    ck_assert_uint_eq(captured_with("(profiles over HTTP from a unix socket)"), 7);
    end();
}
END_TEST

START_TEST(what_the_backend_does_not_take_is_counted_once_with_its_profiles)
{
    struct outcome later = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "come back");
    begin();
    keeper_answers(&later);
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS, cpu_profile(), 503, &answer);
    ck_assert_uint_eq(requests(SIGNAL_PROFILES, CAUSE_UNAVAILABLE), 1);
    const struct meter *meter = given_meter(&given, "pyroscope");
    ck_assert_uint_eq(meter_get(meter, METER_REFUSED, SIGNAL_PROFILES), 1);
    ck_assert_uint_eq(
        admission_items(meter->admission, ADMISSION_HTTP, SIGNAL_PROFILES, CAUSE_UNAVAILABLE), 1);
    end();
}
END_TEST

SUITE_MAIN("refused", a_path_of_otlp_is_sent_to_its_receiver, refusals_are_counted_by_cause,
           what_the_backend_does_not_take_is_counted_once_with_its_profiles)
