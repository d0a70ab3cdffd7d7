#include "lib/settings/expand.h"

#include "tests/lib/settings/given.h"

static void setup_environment(void)
{
    setenv("WORD", "hello", 1);
    setenv("NUMBER", "0123", 1);
    setenv("COMMENTED", "5 # five", 1);
    setenv("QUOTED", "\"q\"", 1);
    setenv("TREE", "{a: 1, b: [x, '${WORD}']}", 1);
    setenv("PAIR", "Basic: abc", 1);
    setenv("BROKEN", "[1, 2", 1);
    setenv("NAME", "WORD", 1);
    setenv("EMPTY", "", 1);
    setenv("DOLLARS", "pa$$word", 1);
    setenv("LOOP", "${env:LOOP2}", 1);
    setenv("LOOP2", "${env:LOOP}", 1);
    setenv("BIGGER", "[${env:BIGGER}, ${env:BIGGER}]", 1);
    unsetenv("MISSING");
}

START_TEST(variables_take_the_type_that_their_text_has)
{
    given_resolves("yaml:a: ${env:WORD}", NULL, NULL, "{a: 'hello'}");
    given_resolves("yaml:a: ${WORD}", NULL, NULL, "{a: 'hello'}");
    given_resolves("yaml:a: ${env:NUMBER}", NULL, NULL, "{a: 0123}");
    given_resolves("yaml:a: \"${env:NUMBER}\"", NULL, NULL, "{a: 0123}");
    given_resolves("yaml:a: ${env:COMMENTED}", NULL, NULL, "{a: 5}");
    given_resolves("yaml:a: ${env:TREE}", NULL, NULL, "{a: {a: 1, b: [x, 'hello']}}");
    given_resolves("yaml:a: ${env:EMPTY}", NULL, NULL, "{a: null}");
}
END_TEST

START_TEST(string_fields_get_the_text_as_it_stood)
{
    struct problems problems = {0};
    struct settings *settings = given_load(
        &problems, "yaml:{a: '${NUMBER}', b: '${COMMENTED}', c: '${PAIR}', d: '${EMPTY}'}", NULL,
        NULL);
    const struct node *root = settings_root(settings);
    ck_assert_str_eq(node_string(node_get(root, "a")), "0123");
    ck_assert_str_eq(node_string(node_get(root, "b")), "5 # five");
    ck_assert_str_eq(node_string(node_get(root, "c")), "Basic: abc");
    ck_assert_str_eq(node_string(node_get(root, "d")), "");
    ck_assert(!node_get(root, "d")->unset);
    settings_free(settings);
}
END_TEST

START_TEST(text_that_is_no_yaml_is_a_string)
{
    given_resolves("yaml:a: ${env:BROKEN}", NULL, NULL, "{a: '[1, 2'}");
    given_resolves("yaml:a: ${env:QUOTED}", NULL, NULL, "{a: '\"q\"'}");
}
END_TEST

START_TEST(within_other_text_it_is_a_string)
{
    given_resolves("yaml:a: x-${env:WORD}-${env:NUMBER}", NULL, NULL, "{a: 'x-hello-0123'}");
    given_resolves("yaml:a: 1${env:NUMBER}", NULL, NULL, "{a: '10123'}");
    given_resolves("yaml:a: <${env:MISSING}>", NULL, NULL, "{a: '<>'}");
}
END_TEST

START_TEST(defaults_serve_where_a_variable_is_not_set)
{
    given_resolves("yaml:a: ${env:MISSING:-7}", NULL, NULL, "{a: 7}");
    given_resolves("yaml:a: ${env:WORD:-7}", NULL, NULL, "{a: 'hello'}");
    given_resolves("yaml:a: ${env:EMPTY:-7}", NULL, NULL, "{a: null}");
    given_resolves("yaml:a: ${env:MISSING:-}", NULL, NULL, "{a: null}");
    given_resolves("yaml:a: ${MISSING:-http://h:1/p}", NULL, NULL, "{a: 'http://h:1/p'}");
    given_resolves("yaml:a: ${env:MISSING:-${env:WORD}}", NULL, NULL, "{a: 'hello'}");
}
END_TEST

START_TEST(expansions_nest)
{
    given_resolves("yaml:a: ${env:${env:NAME}}", NULL, NULL, "{a: 'hello'}");
}
END_TEST

START_TEST(two_dollars_are_one)
{
    given_resolves("yaml:a: $$", NULL, NULL, "{a: $}");
    given_resolves("yaml:a: $${env:WORD}", NULL, NULL, "{a: ${env:WORD}}");
    given_resolves("yaml:a: $$${env:WORD}", NULL, NULL, "{a: '$hello'}");
    given_resolves("yaml:a: $$$${env:WORD}", NULL, NULL, "{a: $${env:WORD}}");
    given_resolves("yaml:a: ${env:DOLLARS}", NULL, NULL, "{a: 'pa$word'}");
}
END_TEST

START_TEST(a_lone_opening_stays_as_it_is)
{
    given_resolves("yaml:a: 'x ${env:WORD'", NULL, NULL, "{a: 'x ${env:WORD'}");
    given_resolves("yaml:a: $WORD }", NULL, NULL, "{a: $WORD }}");
}
END_TEST

START_TEST(unset_variables_are_null_and_remembered)
{
    struct problems problems = {0};
    struct settings *settings =
        given_load(&problems, "yaml:{a: '${env:MISSING}', b: 'h:${MISSING}'}", NULL, NULL);
    const struct node *a = node_get(settings_root(settings), "a");
    const struct node *b = node_get(settings_root(settings), "b");
    ck_assert_int_eq(a->kind, NODE_NULL);
    ck_assert(a->unset);
    ck_assert_str_eq(a->variable, "MISSING");
    ck_assert(b->unset);
    ck_assert_str_eq(b->text, "h:");
    settings_free(settings);
}
END_TEST

START_TEST(files_are_read)
{
    char *path = given_file("secret\n"), source[100], inner[100];
    snprintf(source, sizeof source, "yaml:a: ${file:%s}", path);
    given_resolves(source, NULL, NULL, "{a: 'secret'}");
    snprintf(source, sizeof source, "yaml:a: Bearer ${file:%s}", path);
    given_resolves(source, NULL, NULL, "{a: 'Bearer secret'}");
    snprintf(inner, sizeof inner, "x: ${file:%s}\ny: 3\n", path);
    char *outer = given_file(inner);
    snprintf(source, sizeof source, "yaml:a: ${file:%s}", outer);
    given_resolves(source, NULL, NULL, "{a: {x: 'secret', y: 3}}");
    unlink(path);
    unlink(outer);
    free(path);
    free(outer);
}
END_TEST

START_TEST(what_cannot_be_expanded_is_said)
{
    given_refused("yaml:a: ${file:/nowhere/x}", NULL, NULL,
                  "yaml: source 1:1: a: the file of ${file:...} cannot be read: No such "
                  "file or directory: /nowhere/x\n");
    given_refused("yaml:{a: {b: '${http://x}'}}", NULL, NULL,
                  "yaml: source 1:1: a.b: ${...} reads env:, file: and yaml:, not "
                  "this: http://x\n");
    given_refused("yaml:a: ${1X}", NULL, NULL,
                  "yaml: source 1:1: a: ${...} takes the name of a variable (letters, digits, _), "
                  "this is not one: 1X\n");
}
END_TEST

START_TEST(bytes_that_are_no_text_are_refused)
{
    setenv("BYTES", "a\xff", 1);
    given_refused("yaml:a: ${env:BYTES}", NULL, NULL,
                  "yaml: source 1:1: a: the value of ${...} is not valid UTF-8: "
                  "env:BYTES\n");
}
END_TEST

START_TEST(all_that_is_wrong_is_said_at_once)
{
    given_refused("yaml:{a: '${1X}', b: '${2X}'}", NULL, NULL,
                  "yaml: source 1:1: a: ${...} takes the name of a variable "
                  "(letters, digits, _), this is not one: 1X\n"
                  "yaml: source 1:1: b: ${...} takes the name of a variable "
                  "(letters, digits, _), this is not one: 2X\n");
}
END_TEST

START_TEST(circles_end)
{
    given_refused("yaml:a: ${env:LOOP}", NULL, NULL,
                  "yaml: source 1:1: a: ${...} has no end: more than 1000 expansions\n");
    given_refused("yaml:a: x${env:LOOP}", NULL, NULL,
                  "yaml: source 1:1: a: ${...} has no end: more than 1000 expansions\n");
    struct problems problems = {0};
    ck_assert_ptr_null(given_load(&problems, "yaml:a: ${env:BIGGER}", NULL, NULL));
    ck_assert_uint_eq(problems.count, 1);
    problems_release(&problems);
}
END_TEST

int main(void)
{
    setup_environment();
    return suite_run("expand", (const TTest *const[]){
                                   variables_take_the_type_that_their_text_has,
                                   string_fields_get_the_text_as_it_stood,
                                   text_that_is_no_yaml_is_a_string,
                                   within_other_text_it_is_a_string,
                                   defaults_serve_where_a_variable_is_not_set,
                                   expansions_nest,
                                   two_dollars_are_one,
                                   a_lone_opening_stays_as_it_is,
                                   unset_variables_are_null_and_remembered,
                                   files_are_read,
                                   what_cannot_be_expanded_is_said,
                                   bytes_that_are_no_text_are_refused,
                                   all_that_is_wrong_is_said_at_once,
                                   circles_end,
                                   NULL,
                               });
}
