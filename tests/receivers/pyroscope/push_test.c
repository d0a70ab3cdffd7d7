/* Push (connect) and OTLP profiles on the Pyroscope address. */
#include "receivers/pyroscope/pyroscope.h"

#include "lib/wire/http/base64.h"
#include "lib/wire/http/status.h"
#include "lib/wire/pprof/push.h"
#include "tests/support/forever.h"
#include "tests/support/pprof_build.h"
#include "tests/support/proto_build.h"
#include "tests/support/receiver_rig.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct component receiver_pyroscope;
const struct component *const component_table[] = {&receiver_pyroscope, &scripted_keeper, NULL};

#define SERVED_BY(keys) RIG_PROFILES("pyroscope", "{endpoint: 'unix:%s/http'" keys "}")
/* Accepts profiles of any time. */
#define RECEIVER(keys) SERVED_BY(", reject_older_than: 0s, reject_newer_than: 0s" keys)
#define PUSH           "/push.v1.PusherService/Push"
#define PROTO          "Content-Type: application/proto\r\n"
#define JSON           "Content-Type: application/json\r\n"
#define OTLP           "/v1development/profiles"

static struct view profile(int64_t time)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_time(build, time, 1);
    pprof_build_sample(build, (int64_t[]){10}, (const char *const[]){"f", NULL});
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return forever(raw);
}

#define LABEL(key, value) PB_MESSAGE(1, PB_TEXT(1, key), PB_TEXT(2, value))
#define SAMPLE(raw)       PB_MESSAGE(2, PB_MESSAGE(1, raw))
#define CPU_LABELS        LABEL("__name__", "process_cpu"), LABEL("service_name", "shop")

static void assert_error(const char *code, const char *words)
{
    ck_assert(answer_has(&answer, "\r\nContent-Type: application/json"));
    ck_assert_msg(strstr(answer.body, code), "%s", answer.body);
    ck_assert_msg(strstr(answer.body, words), "%s", answer.body);
}

START_TEST(a_push_is_read_plain_and_gzipped_in_every_layer)
{
    struct view raw = profile(5);
    rig_begin(RECEIVER());
    receiver_post(fd, PUSH, PROTO, PB_MESSAGE(1, CPU_LABELS, SAMPLE(raw)), 200, &answer);
    ck_assert_uint_eq(answer.size, 0);
    ck_assert(answer_has(&answer, "\r\nContent-Type: application/proto"));
    receiver_post(fd, PUSH, PROTO "Content-Encoding: gzip\r\nConnect-Protocol-Version: 1\r\n",
                  receiver_gzip(PB_MESSAGE(1, CPU_LABELS, SAMPLE(receiver_gzip(raw)))), 200,
                  &answer);
    for (size_t i = 0; i < 2; i++) {
        const struct batch *batch = keeper_batch(i);
        ck_assert_int_eq(batch->encoding, BATCH_PPROF);
        ck_assert(view_eq(buffer_view(batch->payload), raw));
        ck_assert(!batch->profile || !batch->profile->by_ingest);
        ck_assert_uint_eq(batch->series->count, 2);
        ck_assert(view_eq(series_get(batch->series, VIEW("service_name")), VIEW("shop")));
    }
    rig_end();
}
END_TEST

START_TEST(a_push_in_json_is_answered_in_json)
{
    struct bytes text;
    struct view raw = profile(5);
    bytes_init(&text, 1 << 20, NULL);
    bytes_printf(&text, "{\"series\":[{\"labels\":[{\"name\":\"__name__\",\"value\":\"memory\"}],"
                        "\"samples\":[{\"rawProfile\":\"");
    ck_assert(base64_encode(raw, &text));
    bytes_printf(&text, "\",\"ID\":\"x\"}]}]}");
    rig_begin(RECEIVER());
    receiver_post(fd, PUSH, JSON, bytes_view(&text), 200, &answer);
    ck_assert_str_eq(answer.body, "{}");
    ck_assert(answer_has(&answer, "\r\nContent-Type: application/json"));
    ck_assert(view_eq(buffer_view(keeper_batch(0)->payload), raw));
    bytes_release(&text);
    rig_end();
}
END_TEST

START_TEST(every_series_and_sample_of_a_request_is_a_profile)
{
    rig_begin(RECEIVER());
    receiver_post(fd, PUSH, PROTO,
                  PB_JOIN(PB_MESSAGE(1, CPU_LABELS, SAMPLE(profile(1)), SAMPLE(profile(2))),
                          PB_MESSAGE(1, LABEL("__name__", "memory"), SAMPLE(profile(3))),
                          PB_MESSAGE(1, LABEL("__name__", "none"))),
                  200, &answer);
    ck_assert_uint_eq(keeper_count(), 3);
    unsigned memory = 0;
    for (size_t i = 0; i < 3; i++)
        memory += view_eq(series_get(keeper_batch(i)->series, VIEW("__name__")), VIEW("memory"));
    ck_assert_uint_eq(memory, 1);
    ck_assert_uint_eq(meter_get(given_meter(&given, "pyroscope"), METER_ACCEPTED, SIGNAL_PROFILES),
                      3);
    rig_end();
}
END_TEST

START_TEST(samples_without_a_profile_cost_no_more_than_their_bytes)
{
    struct bytes empty;
    bytes_init(&empty, 1 << 20, NULL);
    for (unsigned i = 0; i < 1 << 19; i++)
        CHECK_OFTEN(bytes_append(&empty, "\x12", 2) == BYTES_OK, "no memory");
    rig_begin(RECEIVER());
    receiver_post(fd, PUSH, PROTO,
                  PB_MESSAGE(1, CPU_LABELS, bytes_view(&empty), SAMPLE(profile(1))), 200, &answer);
    ck_assert_uint_eq(keeper_count(), 1);
    bytes_release(&empty);
    rig_end();
}
END_TEST

START_TEST(one_bad_profile_refuses_the_whole_request)
{
    rig_begin(RECEIVER());
    receiver_post(fd, PUSH, PROTO,
                  PB_JOIN(PB_MESSAGE(1, CPU_LABELS, SAMPLE(profile(1))),
                          PB_MESSAGE(1, CPU_LABELS, SAMPLE(VIEW("garbage")))),
                  400, &answer);
    assert_error("{\"code\":\"invalid_argument\"", "not a valid pprof");
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

START_TEST(labels_and_times_that_the_server_refuses_are_refused)
{
    rig_begin(SERVED_BY());
    struct view now = profile(0), old = profile(1);
    receiver_post(fd, PUSH, PROTO,
                  PB_MESSAGE(1, CPU_LABELS, LABEL("a", "1"), LABEL("a", "1"), SAMPLE(now)), 400,
                  &answer);
    assert_error("\"invalid_argument\"", "duplicate");
    receiver_post(fd, PUSH, PROTO,
                  PB_MESSAGE(1, CPU_LABELS, LABEL("pod", "\xff\xfe"), SAMPLE(profile(5))), 400,
                  &answer);
    assert_error("\"invalid_argument\"", "not valid UTF-8");
    receiver_post(fd, PUSH, PROTO, PB_MESSAGE(1, CPU_LABELS, LABEL("", "1"), SAMPLE(now)), 400,
                  &answer);
    assert_error("\"invalid_argument\"", "empty name");
    receiver_post(fd, PUSH, PROTO, PB_MESSAGE(1, CPU_LABELS, SAMPLE(old)), 400, &answer);
    assert_error("\"invalid_argument\"", "reject_older_than");
    ck_assert_uint_eq(keeper_count(), 0);
    receiver_post(fd, PUSH, PROTO, PB_MESSAGE(1, CPU_LABELS, LABEL("a-b c", "1"), SAMPLE(now)), 200,
                  &answer);
    rig_end();
}
END_TEST

START_TEST(malformed_requests_are_invalid_argument)
{
    rig_begin(RECEIVER());
    receiver_post(fd, PUSH, PROTO, VIEW("\x0a\x7f\x01"), 400, &answer);
    assert_error("\"invalid_argument\"", "malformed protobuf");
    receiver_post(fd, PUSH, JSON, VIEW("{\"series\":1}"), 400, &answer);
    assert_error("\"invalid_argument\"", "malformed JSON");
    receiver_post(fd, PUSH, PROTO, PB_MESSAGE(1, LABEL("a", "b"), SAMPLE(profile(1))), 400,
                  &answer);
    assert_error("\"invalid_argument\"", "__name__");
    receiver_post(fd, PUSH, PROTO "Content-Encoding: gzip\r\n", VIEW("no gzip"), 400, &answer);
    assert_error("\"invalid_argument\"", "gzip");
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

START_TEST(empty_requests_and_empty_profiles_are_accepted_and_go_nowhere)
{
    rig_begin(RECEIVER());
    receiver_post(fd, PUSH, PROTO, VIEW(""), 200, &answer);
    receiver_post(fd, PUSH, PROTO, PB_MESSAGE(1, CPU_LABELS, SAMPLE(VIEW(""))), 200, &answer);
    receiver_post(fd, PUSH, JSON, VIEW("{}"), 200, &answer);
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

START_TEST(what_is_not_spoken_has_connects_own_statuses)
{
    rig_begin(RECEIVER(", max_request_body_size: 2000"));
    receiver_post(fd, PUSH, PROTO "Content-Encoding: br\r\n", VIEW("x"), 501, &answer);
    assert_error("\"unimplemented\"", "Content-Encoding");
    receiver_post(fd, PUSH, "Content-Type: application/grpc\r\n", VIEW("x"), 415, &answer);
    ck_assert(answer_has(&answer, "\r\nAccept-Post: application/json, application/proto"));
    raw_exchange(fd, "GET " PUSH " HTTP/1.1\r\nHost: x\r\n\r\n", 405, &answer);
    receiver_post(fd, PUSH, PROTO, PB_MESSAGE(1, pb_fill(2, 3000, 0)), 413, &answer);
    assert_error("\"resource_exhausted\"", "2000 bytes");
    rig_end();
}
END_TEST

START_TEST(backpressure_is_unavailable_with_a_wait)
{
    struct outcome later = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "come back");
    rig_begin(RECEIVER());
    keeper_answers(&later);
    receiver_post(fd, PUSH, PROTO, PB_MESSAGE(1, CPU_LABELS, SAMPLE(profile(1))), 503, &answer);
    assert_error("\"unavailable\"", "come back");
    ck_assert(answer_has(&answer, "\r\nRetry-After: 1"));
    rig_end();
}
END_TEST

START_TEST(what_is_refused_for_good_is_never_a_code_that_alloy_offers_again)
{
    struct outcome never = outcome_of(VERDICT_REJECT, CAUSE_INTERNAL, "no use");
    rig_begin(RECEIVER());
    keeper_answers(&never);
    receiver_post(fd, PUSH, PROTO, PB_MESSAGE(1, CPU_LABELS, SAMPLE(profile(1))), 400, &answer);
    assert_error("\"invalid_argument\"", "no use");
    rig_end();
}
END_TEST

START_TEST(metadata_are_sent_on_with_every_profile_of_their_request_only)
{
    rig_begin(RECEIVER(", include_metadata: true"));
    receiver_post(fd, PUSH, PROTO "X-Scope-OrgID: a\r\n",
                  PB_MESSAGE(1, CPU_LABELS, SAMPLE(profile(1)), SAMPLE(profile(2))), 200, &answer);
    receiver_post(fd, PUSH, PROTO, PB_MESSAGE(1, CPU_LABELS, SAMPLE(profile(3))), 200, &answer);
    unsigned of_a = 0;
    for (size_t i = 0; i < 2; i++)
        of_a += strcmp(keeper_batch(i)->metadata->tenant, "a") == 0;
    ck_assert_uint_eq(of_a, 2);
    ck_assert_ptr_null(keeper_batch(2)->metadata);
    rig_end();
}
END_TEST

START_TEST(recorded_pushes_of_the_python_sdk_are_read)
{
    rig_begin(RECEIVER());
    receiver_post(fd, PUSH, PROTO "Content-Encoding: gzip\r\n",
                  receiver_recorded(SOURCE_DIR "/tests/recorded/python/002-10.122-push.bin"), 200,
                  &answer);
    const struct batch *batch = keeper_batch(0);
    ck_assert(view_eq(series_get(batch->series, VIEW("__name__")), VIEW("process_cpu")));
    ck_assert_ptr_nonnull(memmem(batch->payload->data, batch->payload->size, "span_id", 7));
    rig_end();
}
END_TEST

START_TEST(otlp_profiles_are_read_as_the_java_agent_sends_them)
{
    struct view body = PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, pb_fixed64(3, 1))));
    rig_begin(RECEIVER());
    receiver_post_chunked(fd, OTLP,
                          "Content-Type: application/x-protobuf\r\n"
                          "Content-Encoding: gzip\r\n",
                          receiver_gzip(body), 200, &answer);
    ck_assert_uint_eq(answer.size, 0);
    ck_assert(answer_has(&answer, "\r\nContent-Type: application/x-protobuf"));
    receiver_post(fd, OTLP, "Content-Type: application/protobuf\r\n", body, 200, &answer);
    receiver_post(fd, OTLP, "Content-Type: application/x-protobuf\r\n", VIEW(""), 200, &answer);
    ck_assert_uint_eq(keeper_count(), 2);
    ck_assert_int_eq(keeper_batch(0)->encoding, BATCH_OTLP);
    ck_assert(view_eq(buffer_view(keeper_batch(1)->payload), body));
    rig_end();
}
END_TEST

START_TEST(bad_otlp_profiles_are_refused_with_a_status)
{
    char text[256];
    int code;
    bool has_retry_info;
    uint64_t wait;
    rig_begin(RECEIVER());
    receiver_post(fd, OTLP, "Content-Type: text/plain\r\n", VIEW("{}"), 415, &answer);
    ck_assert(
        rpc_status_decode(answer_body(&answer), &code, text, sizeof text, &has_retry_info, &wait));
    ck_assert_msg(strstr(text, "application/x-protobuf"), "%s", text);
    receiver_post(fd, OTLP, "Content-Type: application/x-protobuf\r\n", VIEW("\x0a\x7f"), 400,
                  &answer);
    ck_assert(
        rpc_status_decode(answer_body(&answer), &code, text, sizeof text, &has_retry_info, &wait));
    ck_assert_int_eq(code, GRPC_INVALID_ARGUMENT);
    receiver_post(fd, OTLP, "Content-Type: application/x-protobuf\r\nContent-Encoding: br\r\n",
                  VIEW("x"), 400, &answer);
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

SUITE_MAIN("pyroscope_push", a_push_is_read_plain_and_gzipped_in_every_layer,
           a_push_in_json_is_answered_in_json, every_series_and_sample_of_a_request_is_a_profile,
           samples_without_a_profile_cost_no_more_than_their_bytes,
           one_bad_profile_refuses_the_whole_request,
           labels_and_times_that_the_server_refuses_are_refused,
           malformed_requests_are_invalid_argument,
           empty_requests_and_empty_profiles_are_accepted_and_go_nowhere,
           what_is_not_spoken_has_connects_own_statuses, backpressure_is_unavailable_with_a_wait,
           what_is_refused_for_good_is_never_a_code_that_alloy_offers_again,
           metadata_are_sent_on_with_every_profile_of_their_request_only,
           recorded_pushes_of_the_python_sdk_are_read,
           otlp_profiles_are_read_as_the_java_agent_sends_them,
           bad_otlp_profiles_are_refused_with_a_status)
