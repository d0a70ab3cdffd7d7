/* POST /v1/pprof, as sent by clients of the Collector's pprof receiver. */
#include "receivers/pprof/pprof.h"

#include "tests/support/forever.h"
#include "tests/support/pprof_build.h"
#include "tests/support/receiver_rig.h"
#include "tests/support/suite.h"

#include <unistd.h>

extern const struct component receiver_pprof;
const struct component *const component_table[] = {&receiver_pprof, &scripted_keeper, NULL};

#define RECEIVER(keys) RIG_PROFILES("pprof", "{server: {endpoint: 'unix:%s/http'" keys "}}")
#define OCTETS         "Content-Type: application/octet-stream\r\n"

static struct view cpu_profile(void)
{
    return forever(
        pprof_build_cpu(1700000000000000000, 10000000000, (const char *const[]){NULL}, 1));
}

static void assert_label(const struct batch *batch, const char *name, const char *value)
{
    struct view got = series_get(batch->series, view_of(name));
    ck_assert_msg(view_eq(got, view_of(value)), "%s is %.*s", name, VIEW_ARG(got));
}

START_TEST(a_profile_is_taken_gzipped_twice_over_or_plain)
{
    struct view gzip = cpu_profile();
    rig_begin(RECEIVER());
    receiver_post(fd, "/v1/pprof", OCTETS, gzip, 204, &answer);
    ck_assert_uint_eq(answer.size, 0);
    const struct batch *batch = keeper_batch(0);
    struct view raw = buffer_view(batch->payload);
    ck_assert_int_eq(batch->encoding, BATCH_PPROF);
    assert_label(batch, "__name__", "unknown_service");
    ck_assert(batch->profile->by_ingest);
    ck_assert_uint_gt(batch->profile->from_ns, 0);
    receiver_post(fd, "/v1/pprof", "", raw, 204, &answer);
    ck_assert(view_eq(buffer_view(keeper_batch(1)->payload), raw));
    receiver_post(fd, "/v1/pprof", OCTETS "Content-Encoding: gzip\r\n", receiver_gzip(gzip), 204,
                  &answer);
    ck_assert(view_eq(buffer_view(keeper_batch(2)->payload), raw));
    rig_end();
}
END_TEST

START_TEST(the_query_or_the_configuration_names_the_service)
{
    rig_begin(RECEIVER(", service_name: mine, include_metadata: true"));
    receiver_post(fd, "/v1/pprof?name=shop%7Benv%3Ddev%7D", "X-Scope-OrgID: me\r\n", cpu_profile(),
                  204, &answer);
    assert_label(keeper_batch(0), "__name__", "shop");
    assert_label(keeper_batch(0), "env", "dev");
    ck_assert_str_eq(keeper_batch(0)->metadata->tenant, "me");
    receiver_post(fd, "/v1/pprof", "", cpu_profile(), 204, &answer);
    assert_label(keeper_batch(1), "__name__", "mine");
    rig_end();
}
END_TEST

START_TEST(what_cannot_be_taken_is_refused_with_its_status)
{
    rig_begin(RECEIVER(", max_request_body_size: 5000"));
    receiver_post(fd, "/v1/pprof", OCTETS, VIEW("no profile"), 400, &answer);
    ck_assert_msg(strstr(answer.body, "not a valid pprof"), "%s", answer.body);
    receiver_post(fd, "/v1/pprof", OCTETS, VIEW("\x1f\x8b no gzip"), 400, &answer);
    receiver_post(fd, "/v1/pprof", OCTETS, VIEW(""), 400, &answer);
    receiver_post(fd, "/v1/pprof?name=%7Bno%7D", OCTETS, cpu_profile(), 400, &answer);
    receiver_post(fd, "/v1/other", OCTETS, cpu_profile(), 404, &answer);
    raw_exchange(fd, "GET /v1/pprof HTTP/1.1\r\nHost: x\r\n\r\n", 405, &answer);
    ck_assert(answer_has(&answer, "\r\nAllow: POST"));
    receiver_post(fd, "/v1/pprof", "Content-Type: text/plain\r\nOrigin: http://a.b\r\n",
                  cpu_profile(), 403, &answer);
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

START_TEST(a_backend_that_is_busy_is_503_and_one_that_refuses_is_not)
{
    const struct outcome busy = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "busy");
    const struct outcome broken = outcome_of(VERDICT_REJECT, CAUSE_INTERNAL, "broken");
    rig_begin(RECEIVER());
    keeper_answers(&busy);
    receiver_post(fd, "/v1/pprof", OCTETS, cpu_profile(), 503, &answer);
    ck_assert(answer_has(&answer, "\r\nRetry-After: "));
    keeper_answers(&broken);
    receiver_post(fd, "/v1/pprof", OCTETS, cpu_profile(), 500, &answer);
    rig_end();
}
END_TEST

SUITE_MAIN("receivers/pprof/push", a_profile_is_taken_gzipped_twice_over_or_plain,
           the_query_or_the_configuration_names_the_service,
           what_cannot_be_taken_is_refused_with_its_status,
           a_backend_that_is_busy_is_503_and_one_that_refuses_is_not)
