#include "tests/cli/ran.h"

#define CONFIG(exporters, names)                                                                   \
    "receivers: {otlp: {protocols: {http: {endpoint: 'localhost:0'}}}}\n"                          \
    "exporters:\n" exporters "service:\n"                                                          \
    "  pipelines: {traces: {receivers: [otlp], exporters: [" names "]}}\n"

static void expect(const char *text, int code, const char *out, const char *err)
{
    char path[64];
    struct ran *got = ran(WORDS("check", "--config", ran_file(text, path)));
    ck_assert_msg(got->code == code, "%d: %s", got->code, got->err);
    ck_assert_str_eq(got->out, out);
    ck_assert_msg(strstr(got->err, err) != NULL, "%s", got->err);
    ck_assert_ptr_null(strstr(got->err, "hush"));
    free(got);
    unlink(path);
}

START_TEST(a_backend_that_is_not_there_is_told_with_its_place)
{
    expect(
        CONFIG("  otlp_http: {endpoint: 'http://u:hush@127.0.0.1:1/x?token=hush'}\n", "otlp_http"),
        EXIT_CONFIG, "", ":3: exporters.otlp_http.endpoint: traces to http://");
    expect(CONFIG("  otlp_grpc: {endpoint: 'http://127.0.0.1:1'}\n", "otlp_grpc"), EXIT_CONFIG, "",
           "traces to 127.0.0.1:1: connect to 127.0.0.1:1: connection refused; nothing listens "
           "there, and localhost is this host, or in a pod this pod\n");
    expect(CONFIG("  otlp_grpc: {endpoint: 'unix:/nowhere/at/all', tls: {insecure: true}}\n",
                  "otlp_grpc"),
           EXIT_CONFIG, "", "traces to unix:/nowhere/at/all: ");
}
END_TEST

START_TEST(what_sends_nowhere_needs_no_backend)
{
    expect(CONFIG("  debug:\n", "debug"), EXIT_OK, "exporters.debug: has no backend\n", "");
}
END_TEST

START_TEST(what_validate_finds_comes_first)
{
    expect(CONFIG("  otlp_http: {endpoint: 'https://127.0.0.1:1', tls: {ca_file: /nowhere/ca}}\n",
                  "otlp_http"),
           EXIT_CONFIG, "", "tls.ca_file: /nowhere/ca cannot be read");
    expect(CONFIG("  otlp_http: {endpont: 'x'}\n", "otlp_http"), EXIT_CONFIG, "",
           "did you mean \"endpoint\"?");
}
END_TEST

int main(int argc, char **argv)
{
    return ran_main(argc, argv, "check",
                    (const TTest *const[]){
                        a_backend_that_is_not_there_is_told_with_its_place,
                        what_sends_nowhere_needs_no_backend,
                        what_validate_finds_comes_first,
                        NULL,
                    });
}
