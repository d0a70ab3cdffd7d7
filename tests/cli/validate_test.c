#include "tests/cli/ran.h"

START_TEST(a_right_configuration_is_ok)
{
    char path[64], want[80];
    ran_file(ran_config, path);
    snprintf(want, sizeof want, "%s: ok\n", path);
    ran_says(WORDS("validate", "--config", path), EXIT_OK, want, "");
    unlink(path);
}
END_TEST

START_TEST(several_sources_are_one_configuration)
{
    char path[64], want[200];
    ran_file(ran_config, path);
    const char *more = "--config=yaml:exporters::debug::verbosity: normal";
    snprintf(want, sizeof want, "%s, %s: ok\n", path, more + 9);
    ran_says(WORDS("validate", "--config", path, more, "--set", "exporters.debug.verbosity=basic"),
             EXIT_OK, want, "");
    unlink(path);
}
END_TEST

START_TEST(all_faults_are_printed_and_nothing_is_ok)
{
    char path[64], want[400];
    ran_file("receivers:\n"
             "  otlp: {protocols: {http: {endpont: 'localhost:0'}}}\n"
             "exporters:\n"
             "  debug:\n"
             "service:\n"
             "  shutdown_timeout: 8\n"
             "  pipelines:\n"
             "    traces: {receivers: [otlp], exporters: [debug]}\n",
             path);
    struct ran *got = ran(WORDS("validate", "--config", path));
    ck_assert_int_eq(got->code, EXIT_CONFIG);
    ck_assert_str_eq(got->out, "");
    snprintf(want, sizeof want,
             "%s:2: receivers.otlp.protocols.http.endpont: unknown key, did you mean "
             "\"endpoint\"?\n",
             path);
    ck_assert_ptr_nonnull(strstr(got->err, want));
    snprintf(want, sizeof want,
             "%s:6: service.shutdown_timeout: found 8, expected a duration with its unit, such as "
             "300ms, 5s or 1m30s\n",
             path);
    ck_assert_ptr_nonnull(strstr(got->err, want));
    free(got);
    unlink(path);
}
END_TEST

START_TEST(a_fault_of_set_names_the_flag)
{
    char path[64];
    ran_file(ran_config, path);
    ran_says(WORDS("validate", "--config", path, "--set", "service.shutdown_timeout=8"),
             EXIT_CONFIG, "",
             "--set service.shutdown_timeout=8: found 8, expected a duration with its unit, such "
             "as 300ms, 5s or 1m30s\n");
    unlink(path);
}
END_TEST

START_TEST(an_unset_variable_is_warned_of)
{
    char path[64];
    ran_file(ran_config, path);
    unsetenv("NOT_SET_AT_ALL");
    const char *set = "service.shutdown_timeout=${env:NOT_SET_AT_ALL}";
    struct ran *got = ran(WORDS("validate", "--config", path, "--set", set));
    ck_assert_int_eq(got->code, EXIT_OK);
    ck_assert_ptr_nonnull(strstr(got->err, "warn"));
    ck_assert_ptr_nonnull(strstr(got->err, "the variable NOT_SET_AT_ALL is not set\n"));
    free(got);
    got = ran(WORDS("validate", "--config", path, "--set", set, "--set",
                    "service.telemetry.logs.level=error"));
    ck_assert_str_eq(got->err, "");
    free(got);
    unlink(path);
}
END_TEST

START_TEST(an_endpoint_from_an_unset_variable_is_refused)
{
    char path[64];
    ran_file(ran_config, path);
    unsetenv("NOT_SET_AT_ALL");
    struct ran *got =
        ran(WORDS("validate", "--config", path, "--set",
                  "receivers.otlp.protocols.http.endpoint=${env:NOT_SET_AT_ALL}:4318"));
    ck_assert_int_eq(got->code, EXIT_CONFIG);
    ck_assert_ptr_nonnull(strstr(got->err, "the variable NOT_SET_AT_ALL is not set, expected"));
    free(got);
    unlink(path);
}
END_TEST

START_TEST(a_missing_file_is_named)
{
    ran_says(WORDS("validate", "--config", "/nowhere/c.yaml"), EXIT_CONFIG, "",
             "/nowhere/c.yaml: cannot be read: No such file or directory\n");
}
END_TEST

START_TEST(what_of_tls_does_not_go_together_is_told)
{
    static const char *const want[] = {
        ":4: receivers.otlp.protocols.grpc.tls.key_file: is missing beside cert_file\n",
        ":5: receivers.otlp.protocols.http.tls: a server needs cert_file and key_file\n",
        ":6: receivers.pyroscope.tls.min_version: found 1.1, expected one of 1.2, 1.3",
        ":7: receivers.pyroscope/b.tls.max_version: 1.2 is below min_version, which is 1.3\n",
        ":8: receivers.pyroscope/b.tls.cipher_suites: a key of the Collector that spanlink does "
        "not "
        "have\n",
        ":10: exporters.otlp_http.tls.cert_file: is missing beside key_file\n",
        ":10: exporters.otlp_http.tls.ca_pem: is given twice, as a file and as text\n",
    };
    char path[64];
    ran_file(
        "receivers:\n"
        "  otlp:\n"
        "    protocols:\n"
        "      grpc: {tls: {cert_file: a}}\n"
        "      http: {tls: }\n"
        "  pyroscope: {tls: {cert_file: a, key_file: b, min_version: 1.1}}\n"
        "  pyroscope/b: {tls: {cert_file: a, key_file: b, min_version: 1.3, max_version: 1.2,\n"
        "    cipher_suites: [x]}}\n"
        "exporters:\n"
        "  otlp_http: {endpoint: 'https://x', tls: {key_file: b, ca_file: a, ca_pem: b}}\n"
        "  debug:\n"
        "service:\n"
        "  pipelines:\n"
        "    traces: {receivers: [otlp], exporters: [otlp_http]}\n"
        "    profiles: {receivers: [pyroscope, pyroscope/b], exporters: [debug]}\n",
        path);
    struct ran *got = ran(WORDS("validate", "--config", path));
    ck_assert_int_eq(got->code, EXIT_CONFIG);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        ck_assert_msg(strstr(got->err, want[i]), "%s in %s", want[i], got->err);
    free(got);
    unlink(path);
}
END_TEST

int main(int argc, char **argv)
{
    return ran_main(argc, argv, "validate",
                    (const TTest *const[]){
                        a_right_configuration_is_ok,
                        several_sources_are_one_configuration,
                        all_faults_are_printed_and_nothing_is_ok,
                        a_fault_of_set_names_the_flag,
                        an_unset_variable_is_warned_of,
                        an_endpoint_from_an_unset_variable_is_refused,
                        a_missing_file_is_named,
                        what_of_tls_does_not_go_together_is_told,
                        NULL,
                    });
}
