#include "tests/cli/ran.h"

#include <signal.h>

#define CONFIG                                                                                     \
    "receivers: {otlp: {protocols: {http: {endpoint: 'localhost:0'}}}}\n"                          \
    "exporters: {debug: }\n"                                                                       \
    "extensions: {health_check/own: {endpoint: 'unix:%s', path: /ready}}\n"                        \
    "service:\n  extensions: [%s]\n"                                                               \
    "  shutdown_delay: 1h\n"                                                                       \
    "  pipelines: {traces: {receivers: [otlp], exporters: [debug]}}\n"

static char config[64], address[80];

static const char *write_config(const char *extensions)
{
    char whole[1024];
    snprintf(address, sizeof address, "/tmp/spanlink-health-%d", getpid());
    ck_assert_int_lt(snprintf(whole, sizeof whole, CONFIG, address, extensions), (int)sizeof whole);
    return ran_file(whole, config);
}

static void expect(const char *const *words, int code, const char *out, const char *err)
{
    struct ran *got = ran(words);
    ck_assert_msg(got->code == code, "%d: %s", got->code, got->err);
    ck_assert_msg(strstr(got->out, out) != NULL, "%s", got->out);
    ck_assert_msg(strstr(got->err, err) != NULL, "%s", got->err);
    free(got);
}

START_TEST(the_exit_code_tells_whether_a_process_is_ready)
{
    struct child child = child_start(WORDS("--config", write_config("health_check/own")));
    ck_assert(child_says(&child, " is ready"));
    expect(WORDS("health", "--config", config), EXIT_OK, "healthy: HTTP 200 {\"status\":", "");
    kill(child.pid, SIGTERM);
    ck_assert(child_says(&child, "still accepted"));
    expect(WORDS("health", "--config", config), EXIT_CONFIG, "",
           "not healthy: HTTP 503 {\"status\":\"Server not available\"}");
    kill(child.pid, SIGTERM);
    ck_assert_int_eq(child_end(&child), EXIT_OK);
    expect(WORDS("health", "--config", config), EXIT_CONFIG, "", "not healthy: connect to unix:");
    unlink(config);
    unlink(address);
}
END_TEST

START_TEST(an_address_may_be_named_instead)
{
    char url[100];
    struct child child = child_start(WORDS("--config", write_config("health_check/own"), "--set",
                                           "extensions.health_check/own.path=/", "--set",
                                           "service.shutdown_delay=0s"));
    ck_assert(child_says(&child, " is ready"));
    snprintf(url, sizeof url, "--endpoint=unix:%s", address);
    expect(WORDS("health", url), EXIT_OK, "healthy", "");
    kill(child.pid, SIGTERM);
    ck_assert_int_eq(child_end(&child), EXIT_OK);
    expect(WORDS("health", "--endpoint", "http://127.0.0.1:1/x"), EXIT_CONFIG, "",
           "127.0.0.1:1: connection refused");
    expect(WORDS("health", "--endpoint", "[::1]:1"), EXIT_CONFIG, "", "[::1]:1: ");
    expect(WORDS("health", "--endpoint", "0.0.0.0:1"), EXIT_CONFIG, "", "127.0.0.1:1: ");
    expect(WORDS("health", "--endpoint", "::1:1"), EXIT_CONFIG, "",
           "\"::1:1\" has an IPv6 address without brackets");
    expect(WORDS("health", "--endpoint", "http:///x"), EXIT_CONFIG, "",
           "\"http:///x\" has no host");
    unlink(config);
    unlink(address);
}
END_TEST

START_TEST(a_configuration_without_health_check_is_told)
{
    expect(WORDS("health", "--config", write_config("")), EXIT_CONFIG, "",
           "service.extensions has no health_check");
    expect(WORDS("health", "--config", "/nowhere/at/all"), EXIT_CONFIG, "", "/nowhere/at/all");
    expect(WORDS("validate", "--endpoint", "a:1"), EXIT_USAGE, "", "only health and top take");
    unlink(config);
}
END_TEST

int main(int argc, char **argv)
{
    return ran_main(argc, argv, "health",
                    (const TTest *const[]){
                        the_exit_code_tells_whether_a_process_is_ready,
                        an_address_may_be_named_instead,
                        a_configuration_without_health_check_is_told,
                        NULL,
                    });
}
