#include "tests/cli/ran.h"

START_TEST(what_is_printed_has_no_secret_and_validates)
{
    char path[64], again[64];
    ran_file(ran_config, path);
    struct ran *got = ran(WORDS("print-config", "--config", path));
    ck_assert_int_eq(got->code, EXIT_OK);
    ck_assert_ptr_null(strstr(got->out, "hush"));
    ck_assert_ptr_nonnull(strstr(got->out, "Authorization: \"[redacted]\"\n"));
    ck_assert_ptr_nonnull(strstr(got->out, "X-Scope-OrgID: \"[redacted]\"\n"));
    ck_assert_ptr_nonnull(
        strstr(got->out, "endpoint: \"http://redacted@localhost:1/base?token=redacted&a=b\"\n"));
    ran_file(got->out, again);
    struct ran *second = ran(WORDS("validate", "--config", again));
    ck_assert_str_eq(second->err, "");
    ck_assert_int_eq(second->code, EXIT_OK);
    free(second);
    second = ran(WORDS("print-initial-config", "--config", again));
    ck_assert_str_eq(second->out, got->out);
    free(second);
    free(got);
    unlink(path);
    unlink(again);
}
END_TEST

START_TEST(values_mean_the_same_when_read_again)
{
    char path[64], again[64];
    setenv("NUMBER", "0123", 1);
    setenv("PAIR", "a: b # c", 1);
    ran_file(ran_config, path);
    const char *const *words = WORDS(
        "print-config", "--config", path, "--set", "exporters.file.path=${env:NUMBER}", "--set",
        "exporters.file/2.path=${env:PAIR}", "--set", "exporters.file/3.path=/x/$$$${y}\\n",
        "--set", "exporters.debug.verbosity=normal", "--set",
        "service.pipelines.traces.exporters=[file, file/2, file/3, otlp_http, debug]");
    struct ran *got = ran(words);
    ck_assert_str_eq(got->err, "");
    ck_assert_ptr_nonnull(strstr(got->out, "path: \"0123\"\n"));
    ck_assert_ptr_nonnull(strstr(got->out, "path: \"a: b # c\"\n"));
    ck_assert_ptr_nonnull(strstr(got->out, "path: \"/x/$$$${y}\\\\n\"\n"));
    ran_file(got->out, again);
    struct ran *second = ran(WORDS("print-config", "--config", again));
    ck_assert_str_eq(second->out, got->out);
    free(second);
    free(got);
    unlink(path);
    unlink(again);
}
END_TEST

START_TEST(a_faulty_configuration_is_printed_with_its_faults)
{
    char path[64];
    ran_file(ran_config, path);
    struct ran *got = ran(WORDS("print-config", "--config", path, "--set", "exporters.debug.x=1"));
    ck_assert_int_eq(got->code, EXIT_CONFIG);
    ck_assert_ptr_nonnull(strstr(got->err, "--set exporters.debug.x: unknown key"));
    ck_assert_ptr_nonnull(strstr(got->out, "x: 1\n"));
    free(got);
    unlink(path);
}
END_TEST

START_TEST(secrets_of_unknown_sections_are_not_shown_either)
{
    struct ran *got = ran(WORDS("print-config", "--config",
                                "yaml:extensions: {mystery: {client_secret: hush, headers: [{name: "
                                "A, value: hush}], nested: {api_key: hush, keep: this}}}"));
    ck_assert_int_eq(got->code, EXIT_CONFIG);
    ck_assert_ptr_null(strstr(got->out, "hush"));
    ck_assert_ptr_nonnull(strstr(got->out, "keep: this\n"));
    free(got);
}
END_TEST

START_TEST(secrets_of_telemetry_without_effect_are_not_shown)
{
    struct ran *got = ran(WORDS("print-config", "--config",
                                "yaml:service: {telemetry: {traces: {processors: [{batch: "
                                "{exporter: {otlp: {headers_list: 'a=hush', certificate: c, "
                                "client_key: hush, tls: {key: hush}}}}}]}}}"));
    ck_assert_ptr_null(strstr(got->out, "hush"));
    ck_assert_ptr_nonnull(strstr(got->out, "headers_list: \"[redacted]\""));
    ck_assert_ptr_nonnull(strstr(got->out, "certificate: c\n"));
    free(got);
}
END_TEST

START_TEST(headers_of_telemetry_are_not_shown)
{
    struct ran *got = ran(WORDS("print-config", "--config",
                                "yaml:service: {telemetry: {metrics: {readers: [{periodic: "
                                "{exporter: {otlp: {endpoint: 'http://there', headers: [{name: "
                                "X-Mine, value: hush}]}}}}]}}}"));
    ck_assert_ptr_null(strstr(got->out, "hush"));
    ck_assert_ptr_nonnull(strstr(got->out, "http://there"));
    free(got);
}
END_TEST

START_TEST(what_is_no_secret_of_a_component_that_keeps_some_is_shown)
{
    struct ran *got = ran(WORDS("print-config", "--config",
                                "yaml:extensions: {bearertokenauth: {scheme: Own, filename: "
                                "/x/tokens, token: hush}}"));
    ck_assert_ptr_nonnull(strstr(got->out, "scheme: Own\n"));
    ck_assert_ptr_nonnull(strstr(got->out, "filename: /x/tokens\n"));
    ck_assert_ptr_null(strstr(got->out, "hush"));
    free(got);
}
END_TEST

int main(int argc, char **argv)
{
    return ran_main(argc, argv, "print_config",
                    (const TTest *const[]){
                        what_is_printed_has_no_secret_and_validates,
                        values_mean_the_same_when_read_again,
                        a_faulty_configuration_is_printed_with_its_faults,
                        secrets_of_unknown_sections_are_not_shown_either,
                        secrets_of_telemetry_without_effect_are_not_shown,
                        headers_of_telemetry_are_not_shown,
                        what_is_no_secret_of_a_component_that_keeps_some_is_shown,
                        NULL,
                    });
}
