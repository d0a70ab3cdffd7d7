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

START_TEST(the_name_of_a_service_may_have_a_byte_0)
{
    struct given_runtime given;
    char folder[] = "/tmp/spanlink-test-XXXXXX", path[96], yaml[1024], answer[16384];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/status", folder);
    snprintf(yaml, sizeof yaml,
             "receivers: {source: }\nexporters: {sink: }\n"
             "extensions: {status: {endpoint: 'unix:%s'}}\n"
             "service:\n  extensions: [status]\n"
             "  pipelines: {traces: {receivers: [source], exporters: [sink]}}\n",
             path);
    given_start(&given, yaml);
    link_one(&given.runtime->watch, VIEW("a\0b"), given.fake.wall);
    /* A whole request, since the Host of the other one is refused. */
    const char *asked = "/api/spans/0000000000000001 HTTP/1.1\r\nHost: localhost\r\n"
                        "Connection: close\r\n\r\n";
    ck_assert_int_eq(unix_get(path, asked, answer, sizeof answer), 200);
    ck_assert_ptr_nonnull(strstr(answer, "\"service\":\"a\\u0000b\""));
    ck_assert_ptr_nonnull(strstr(answer, "\"samples\":7"));
    ck_assert_ptr_nonnull(strstr(answer, "\"holds_samples\":true"));
    ck_assert_uint_eq(given_stop(&given), 0);
    unlink(path);
    rmdir(folder);
}
END_TEST

SUITE_MAIN("status: spans", the_name_of_a_service_may_have_a_byte_0)
