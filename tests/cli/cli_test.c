#include "tests/cli/ran.h"

static const char no_config[] = "spanlink: no configuration; name one with --config FILE\n"
                                "see spanlink --help\n";

START_TEST(version_and_help_are_told_on_stdout)
{
    struct ran *version = ran(WORDS("--version"));
    ck_assert_int_eq(version->code, EXIT_OK);
    ck_assert_int_eq(strncmp(version->out, "spanlink ", 9), 0);
    ck_assert_ptr_nonnull(strstr(version->out, "\ncommit: "));
    ck_assert_ptr_nonnull(strstr(version->out, "\ncompiler: "));
    ck_assert_ptr_nonnull(strstr(version->out, "\n  libcurl "));
    ck_assert_ptr_nonnull(strstr(version->out, "\n  GnuTLS "));
    ck_assert_ptr_nonnull(strstr(version->out, "glibc "));
    ck_assert_str_eq(version->err, "");
    struct ran *help = ran(WORDS("validate", "-h", "--nonsense"));
    ck_assert_int_eq(help->code, EXIT_OK);
    ck_assert_ptr_nonnull(strstr(help->out, "\nUsage: spanlink "));
    ck_assert_ptr_nonnull(strstr(help->out, "\n  validate --config FILE "));
    ck_assert_ptr_nonnull(strstr(help->out, "\n  --help, -h "));
    ck_assert_ptr_null(strstr(help->out, "--feature-gates"));
    free(version);
    free(help);
}
END_TEST

START_TEST(a_command_without_its_configuration_is_usage)
{
    ran_says((const char *const[]){NULL}, EXIT_USAGE, "", no_config);
    ran_says(WORDS("validate"), EXIT_USAGE, "", no_config);
    ran_says(WORDS("print-config", "--set", "a=b"), EXIT_USAGE, "", no_config);
}
END_TEST

START_TEST(unknown_words_get_a_hint)
{
    ran_says(WORDS("valdate"), EXIT_USAGE, "",
             "spanlink: unknown command \"valdate\"; did you mean \"validate\"?\n"
             "see spanlink --help\n");
    ran_says(WORDS("--confg=x"), EXIT_USAGE, "",
             "spanlink: unknown flag \"--confg\"; did you mean \"--config\"?\n"
             "see spanlink --help\n");
    ran_says(WORDS("frobnicate"), EXIT_USAGE, "",
             "spanlink: unknown command \"frobnicate\"\nsee spanlink --help\n");
}
END_TEST

START_TEST(every_component_is_listed_with_its_keys)
{
    struct ran *got = ran(WORDS("components"));
    ck_assert_int_eq(got->code, EXIT_OK);
    ck_assert_ptr_nonnull(strstr(got->out, "receivers:\n  kafka: traces"));
    ck_assert_ptr_nonnull(strstr(got->out, "\nexporters:\n"));
    ck_assert_ptr_nonnull(strstr(got->out, "otlphttp"));
    ck_assert_ptr_nonnull(strstr(got->out, "    protocols.grpc.endpoint "));
    ck_assert_ptr_nonnull(strstr(got->out, "\nextensions:\n"));
    free(got);
}
END_TEST

int main(int argc, char **argv)
{
    return ran_main(argc, argv, "cli",
                    (const TTest *const[]){
                        version_and_help_are_told_on_stdout,
                        a_command_without_its_configuration_is_usage,
                        unknown_words_get_a_hint,
                        every_component_is_listed_with_its_keys,
                        NULL,
                    });
}
