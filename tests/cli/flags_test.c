#include "cli/flags.h"

#include "tests/cli/ran.h"

static bool parse(struct flags *flags, char **argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    return flags_parse(flags, argc, argv);
}

#define ARGV(...) ((char *[]){(char[]){"spanlink"}, __VA_ARGS__, NULL})

START_TEST(sources_keep_their_order_in_both_spellings)
{
    struct flags flags;
    ck_assert(parse(&flags, ARGV((char[]){"--config"}, (char[]){"a"}, (char[]){"--set=b.c=d=e"},
                                 (char[]){"--config=f"}, (char[]){"validate"})));
    ck_assert_int_eq(flags.command, COMMAND_VALIDATE);
    ck_assert_uint_eq(flags.count, 3);
    ck_assert_str_eq(flags.sources[0].text, "a");
    ck_assert_int_eq(flags.sources[1].origin, SETTINGS_SET);
    ck_assert_str_eq(flags.sources[1].text, "b.c=d=e");
    ck_assert_str_eq(flags.sources[2].text, "f");
    flags_release(&flags);
}
END_TEST

START_TEST(without_a_command_it_runs)
{
    struct flags flags;
    ck_assert(parse(&flags, ARGV((char[]){"--config=a"})));
    ck_assert_int_eq(flags.command, COMMAND_RUN);
    ck_assert(flags_need_config(&flags));
    flags_release(&flags);
}
END_TEST

START_TEST(watching_is_off_until_asked_for)
{
    struct flags flags;
    ck_assert(parse(&flags, ARGV((char[]){"--config=a"})));
    ck_assert(!flags.watch);
    flags_release(&flags);
    ck_assert(parse(&flags, ARGV((char[]){"--watch"}, (char[]){"--config=a"})));
    ck_assert(flags.watch);
    ck_assert_int_eq(flags.command, COMMAND_RUN);
    flags_release(&flags);
}
END_TEST

START_TEST(feature_gates_of_the_collector_are_let_through)
{
    struct flags flags;
    ck_assert(
        parse(&flags, ARGV((char[]){"--feature-gates=service.profilesSupport"},
                           (char[]){"--feature-gates"}, (char[]){"-x"}, (char[]){"--config=a"})));
    ck_assert_uint_eq(flags.count, 1);
    flags_release(&flags);
}
END_TEST

START_TEST(both_names_of_print_config_are_one)
{
    struct flags flags;
    ck_assert(parse(&flags, ARGV((char[]){"print-initial-config"})));
    ck_assert_int_eq(flags.command, COMMAND_PRINT_CONFIG);
    flags_release(&flags);
}
END_TEST

START_TEST(top_takes_credentials_as_files_only)
{
    struct flags flags;
    ck_assert(parse(&flags, ARGV((char[]){"top"}, (char[]){"--username=ann"},
                                 (char[]){"--password-file"}, (char[]){"p"})));
    ck_assert_int_eq(flags.command, COMMAND_TOP);
    ck_assert_str_eq(flags.access.username, "ann");
    ck_assert_str_eq(flags.access.password_file, "p");
    ck_assert_ptr_null(flags.access.token_file);
    flags_release(&flags);
    ran_says(WORDS("top", "--token-file="), EXIT_USAGE, "",
             "spanlink: expected a value after \"--token-file=\"\nsee spanlink --help\n");
    ran_says(WORDS("run", "--ca-file", "c"), EXIT_USAGE, "",
             "spanlink: only top takes \"--ca-file\"\nsee spanlink --help\n");
    ran_says(WORDS("top", "--password-fil", "p"), EXIT_USAGE, "",
             "spanlink: unknown flag \"--password-fil\"; did you mean \"--password-file\"?\n"
             "see spanlink --help\n");
}
END_TEST

START_TEST(half_a_flag_is_usage)
{
    ran_says(WORDS("--config"), EXIT_USAGE, "",
             "spanlink: --config needs a value\nsee spanlink --help\n");
    ran_says(WORDS("--config="), EXIT_USAGE, "",
             "spanlink: expected a file after \"--config\"\nsee spanlink --help\n");
    ran_says(WORDS("--set", "a.b"), EXIT_USAGE, "",
             "spanlink: expected a.b.c=value after --set, not \"a.b\"\nsee spanlink --help\n");
    ran_says(
        WORDS("validate", "components"), EXIT_USAGE, "",
        "spanlink: only one command is allowed, unexpected \"components\"\nsee spanlink --help\n");
}
END_TEST

int main(int argc, char **argv)
{
    return ran_main(argc, argv, "flags",
                    (const TTest *const[]){
                        sources_keep_their_order_in_both_spellings,
                        without_a_command_it_runs,
                        watching_is_off_until_asked_for,
                        feature_gates_of_the_collector_are_let_through,
                        both_names_of_print_config_are_one,
                        top_takes_credentials_as_files_only,
                        half_a_flag_is_usage,
                        NULL,
                    });
}
