/* GET /api/spans/{span_id} of the extension in a runtime. */
#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"
#include "tests/support/unix_get.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct component extension_status;
const struct component *const component_table[] = {&scripted_source, &scripted_sink,
                                                   &extension_status, NULL};

/* A span that was linked by seven samples in a window of a second. */
static void link_one(struct watch *watch, struct view name, uint64_t now)
{
    const struct watch_service service = {.key = 1, .name = name};
    const struct watch_window window = {.service = service,
                                        .kind = "process_cpu",
                                        .start = now - NS_PER_S,
                                        .end = now,
                                        .arrived = now,
                                        .times_cpu = true};
    const struct watch_sample sample = {.id = 1, .samples = 7, .cpu_ns = 70};
    watch_decided(watch, &(struct watch_decision){.span_id = 1,
                                                  .link_id = 1,
                                                  .service = service,
                                                  .action = WATCH_LINKED,
                                                  .ended = now,
                                                  .arrived = now,
                                                  .decided = now});
    watch_sampled(watch, &window, NULL, 0);
    watch_sampled(watch, &window, &sample, 1);
}

/* The extension in a runtime, and what it says of the span 1. */
struct asking {
    struct given_runtime given;
    char folder[32], path[48], answer[16384];
};

static void asking_start(struct asking *asking)
{
    char yaml[1024];
    snprintf(asking->folder, sizeof asking->folder, "/tmp/spanlink-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(asking->folder));
    snprintf(asking->path, sizeof asking->path, "%s/status", asking->folder);
    snprintf(yaml, sizeof yaml,
             "receivers: {source: }\nexporters: {sink: }\n"
             "extensions: {status: {endpoint: 'unix:%s'}}\n"
             "service:\n  extensions: [status]\n"
             "  pipelines: {traces: {receivers: [source], exporters: [sink]}}\n",
             asking->path);
    given_start(&asking->given, yaml);
}

static const char *ask(struct asking *asking)
{
    /* A whole request, since the Host of the other one is refused. */
    const char *asked = "/api/spans/0000000000000001 HTTP/1.1\r\nHost: localhost\r\n"
                        "Connection: close\r\n\r\n";
    int code = unix_get(asking->path, asked, asking->answer, sizeof asking->answer);
    ck_assert_int_eq(code, 200);
    return asking->answer;
}

static void asking_stop(struct asking *asking)
{
    ck_assert_uint_eq(given_stop(&asking->given), 0);
    unlink(asking->path);
    rmdir(asking->folder);
}

START_TEST(the_name_of_a_service_may_have_a_byte_0)
{
    struct asking asking;
    asking_start(&asking);
    link_one(&asking.given.runtime->watch, VIEW("a\0b"), asking.given.fake.wall);
    const char *answer = ask(&asking);
    ck_assert_ptr_nonnull(strstr(answer, "\"service\":\"a\\u0000b\""));
    ck_assert_ptr_nonnull(strstr(answer, "\"samples\":7"));
    ck_assert_ptr_nonnull(strstr(answer, "\"holds_samples\":true"));
    asking_stop(&asking);
}
END_TEST

/* Of a span that has not passed, in a window of a second. */
static void sample_one(struct asking *asking)
{
    uint64_t now = asking->given.fake.wall;
    const struct watch_window window = {.service = {.key = 1, .name = VIEW("shop")},
                                        .kind = "process_cpu",
                                        .start = now - NS_PER_S,
                                        .end = now,
                                        .arrived = now,
                                        .times_cpu = true};
    const struct watch_sample sample = {.id = 1, .samples = 7, .cpu_ns = 70};
    watch_sampled(&asking->given.runtime->watch, &window, NULL, 0);
    watch_sampled(&asking->given.runtime->watch, &window, &sample, 1);
}

START_TEST(a_span_of_a_profile_from_before_the_start_may_have_passed_before_it)
{
    struct asking asking;
    asking_start(&asking);
    given_advance(&asking.given, NS_PER_S / 2);
    sample_one(&asking);
    const char *answer = ask(&asking);
    ck_assert_ptr_nonnull(strstr(answer, "It may have passed before this process started"));
    ck_assert_ptr_nonnull(strstr(answer, "\"fix\":null"));
    asking_stop(&asking);
    asking_start(&asking);
    given_advance(&asking.given, 2 * NS_PER_S);
    sample_one(&asking);
    answer = ask(&asking);
    ck_assert_ptr_nonnull(strstr(answer, "and it has not passed here"));
    ck_assert_ptr_nonnull(strstr(answer, "\"fix\":\"Send the spans"));
    asking_stop(&asking);
}
END_TEST

SUITE_MAIN("status: spans", the_name_of_a_service_may_have_a_byte_0,
           a_span_of_a_profile_from_before_the_start_may_have_passed_before_it)
