#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"
#include "tests/support/unix_get.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct component extension_zpages;
const struct component *const component_table[] = {&scripted_source, &scripted_sink,
                                                   &extension_zpages, NULL};

START_TEST(both_pages_explain_and_others_do_not_exist)
{
    struct given_runtime given;
    char folder[] = "/tmp/spanlink-test-XXXXXX", path[96], yaml[1024], answer[16384];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/zpages", folder);
    snprintf(yaml, sizeof yaml,
             "receivers: {source: }\nexporters: {sink: }\n"
             "extensions: {zpages: {endpoint: 'unix:%s'}}\n"
             "service:\n  extensions: [zpages]\n"
             "  pipelines: {traces: {receivers: [source], exporters: [sink]}}\n",
             path);
    given_start(&given, yaml);
    ck_assert_int_eq(unix_get(path, "/debug/explain", answer, sizeof answer), 200);
    ck_assert_ptr_nonnull(strstr(answer, "sink: queue holds 0 of 1000 requests"));
    ck_assert_ptr_nonnull(strstr(answer, "X-Content-Type-Options: nosniff"));
    ck_assert_int_eq(unix_get(path, "/debug/pipelinez", answer, sizeof answer), 200);
    ck_assert_ptr_nonnull(strstr(answer, "memory: "));
    ck_assert_ptr_nonnull(strstr(answer, "PIPELINE "));
    ck_assert_ptr_nonnull(strstr(answer, "\ntraces "));
    ck_assert_int_eq(unix_get(path, "/", answer, sizeof answer), 200);
    ck_assert_ptr_nonnull(strstr(answer, "\n/debug/servicez "));
    ck_assert_ptr_nonnull(strstr(answer, "Content-Type: text/plain"));
    ck_assert_int_eq(unix_get(path, "/debug/servicez", answer, sizeof answer), 200);
    ck_assert_ptr_nonnull(strstr(answer, "\nreceiver                     source\n"));
    ck_assert_ptr_nonnull(strstr(answer, " ready\n"));
    ck_assert_int_eq(unix_get(path, "/debug/extensionz", answer, sizeof answer), 200);
    ck_assert_ptr_nonnull(strstr(answer, "\nextension                    zpages\n"));
    ck_assert_ptr_null(strstr(answer, "\nreceiver"));
    /* As a browser requests it. */
    ck_assert_int_eq(unix_get(path, "/debug/pipelinez HTTP/1.1\r\nAccept: text/html,*/*\r\nX:",
                              answer, sizeof answer),
                     200);
    ck_assert_ptr_nonnull(strstr(answer, "Content-Type: text/html; charset=utf-8"));
    ck_assert_ptr_nonnull(strstr(answer, "<td>traces</td><td>source</td><td></td><td>sink</td>"));
    ck_assert_int_eq(unix_get(path, "/debug/tracez", answer, sizeof answer), 404);
    ck_assert_uint_eq(given_stop(&given), 0);
    unlink(path);
    rmdir(folder);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {both_pages_explain_and_others_do_not_exist, NULL};
    return suite_run("zpages", tests);
}
