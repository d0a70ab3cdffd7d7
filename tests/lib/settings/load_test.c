#include "lib/settings/load.h"

#include "tests/lib/settings/given.h"

START_TEST(maps_merge_and_all_else_is_replaced)
{
    given_resolves("yaml:{a: {x: 1, y: [1, 2]}, b: 1}", "yaml:{a: {y: [3], z: 2}, c: {d: 1}}", NULL,
                   "{a: {x: 1, y: [3], z: 2}, b: 1, c: {d: 1}}");
    given_resolves("yaml:{a: {x: 1}}", "yaml:{a: }", NULL, "{a: null}");
    given_resolves("yaml:{a: }", "yaml:{a: {x: 1}}", NULL, "{a: {x: 1}}");
}
END_TEST

START_TEST(set_comes_last_and_is_read_as_yaml)
{
    struct problems problems = {0};
    const struct settings_source sources[] = {{SETTINGS_SET, "a.b=5"},
                                              {SETTINGS_FILE, "yaml:a: {b: 1, c: 2}"},
                                              {SETTINGS_SET, "d=[x, 1]"}};
    struct settings *settings = settings_load(sources, 3, &problems);
    char *flow = given_flow(settings_root(settings));
    ck_assert_str_eq(flow, "{a: {b: 5, c: 2}, d: [x, 1]}");
    free(flow);
    settings_free(settings);
    given_resolves("yaml:a: {b: {c: 1}}", NULL, "a.b={d: '2'}", "{a: {b: {c: 1, d: '2'}}}");
    given_resolves("yaml:a: {b: 1}", NULL, "a.b=", "{a: {b: null}}");
    given_resolves("yaml:a: {b: 1}", NULL, "a.b=x=y", "{a: {b: x=y}}");
}
END_TEST

START_TEST(set_makes_maps_where_there_was_nothing)
{
    given_resolves("yaml:receivers: {otlp: }", NULL, "receivers.otlp.protocols.grpc.endpoint=h:1",
                   "{receivers: {otlp: {protocols: {grpc: {endpoint: h:1}}}}}");
    given_resolves("yaml:a: 1", NULL, "a.b=2", "{a: {b: 2}}");
}
END_TEST

START_TEST(set_expands_variables)
{
    setenv("WORD", "hello", 1);
    given_resolves("yaml:a: 1", NULL, "a=${env:WORD}", "{a: 'hello'}");
}
END_TEST

START_TEST(sources_have_schemes)
{
    char *path = given_file("a: from a file\n"), source[100];
    given_resolves(path, NULL, NULL, "{a: from a file}");
    snprintf(source, sizeof source, "file:%s", path);
    given_resolves(source, NULL, NULL, "{a: from a file}");
    setenv("CONFIG", "a: from the environment", 1);
    given_resolves("env:CONFIG", NULL, NULL, "{a: from the environment}");
    given_resolves("yaml:a::b: 1", "yaml:a::c::d: [2]", NULL, "{a: {b: 1, c: {d: [2]}}}");
    unlink(path);
    free(path);
}
END_TEST

START_TEST(sources_that_cannot_be_read_are_named)
{
    given_refused("/nowhere/x.yaml", NULL, NULL,
                  "/nowhere/x.yaml: cannot be read: No such file or directory\n");
    given_refused("/", NULL, NULL, "/: cannot be read: Is a directory\n");
    given_refused("env:NOT_SET_AT_ALL", NULL, NULL,
                  "env:NOT_SET_AT_ALL: the variable is not set\n");
    given_refused("https://h/c.yaml", NULL, NULL,
                  "https: spanlink reads only file:, env: and yaml:\n");
    given_refused("/nowhere/x.yaml", "/nowhere/y.yaml", NULL,
                  "/nowhere/x.yaml: cannot be read: No such file or directory\n"
                  "/nowhere/y.yaml: cannot be read: No such file or directory\n");
}
END_TEST

START_TEST(an_empty_configuration_is_refused)
{
    char *path = given_file("# nothing\n"), want[100];
    snprintf(want, sizeof want, "%s: empty configuration file\n", path);
    given_refused(path, NULL, NULL, want);
    given_resolves(path, "yaml:a: 1", NULL, "{a: 1}");
    unlink(path);
    free(path);
}
END_TEST

START_TEST(a_configuration_is_a_map)
{
    given_refused(
        "yaml:[a]", NULL, NULL,
        "yaml: source 1:1: found a list, expected a map of receivers, exporters, service ...\n");
    given_refused(
        "yaml:word", NULL, NULL,
        "yaml: source 1:1: found a scalar, expected a map of receivers, exporters, service "
        "...\n");
}
END_TEST

START_TEST(a_set_without_path_or_value_is_refused)
{
    given_refused("yaml:a: 1", NULL, "a.b",
                  "--set a.b: expected a path and a value such as a.b.c=value\n");
    given_refused("yaml:a: 1", NULL, "a..b=1",
                  "--set a..b: expected a path and a value such as a.b.c=value\n");
    given_refused("yaml:a: 1", NULL, "a=[1",
                  "--set a: not valid YAML: did not find expected ',' or ']' while parsing a "
                  "flow sequence\n");
}
END_TEST

START_TEST(sources_on_the_command_line_are_named_without_their_text)
{
    given_refused("yaml:a: 1", "yaml:a:\n  hush: [", NULL,
                  "yaml: source 2:3: not valid YAML: did not find expected node content while "
                  "parsing a flow node\n");
    given_refused("receivers::a: hush", NULL, NULL,
                  "receivers: spanlink reads only file:, env: and yaml:\n");
    given_refused("yaml:a: 1", NULL, "a.token: hush",
                  "--set a.token: expected a path and a value such as a.b.c=value\n");
}
END_TEST

START_TEST(values_of_set_are_placed_at_the_flag)
{
    struct problems problems = {0};
    struct settings *settings = given_load(&problems, "yaml:a: 1", NULL, "b.c=2");
    const struct node *c = node_nearest(settings_root(settings), "b.c");
    ck_assert_str_eq(c->file, "--set b.c");
    settings_free(settings);
}
END_TEST

START_TEST(aliases_of_one_source_are_independent_when_another_changes_one)
{
    given_resolves("yaml:{a: &x {k: 1}, b: *x}", NULL, "a.k=2", "{a: {k: 2}, b: {k: 1}}");
}
END_TEST

START_TEST(paths_of_absurd_length_are_refused)
{
    size_t size = 60000;
    char *set = malloc(size + 1);
    for (size_t i = 0; i < size; i++)
        set[i] = i % 2 ? '.' : 'a';
    memcpy(set + size - 3, "a=1", 4);
    struct problems problems = {0};
    ck_assert_ptr_null(given_load(&problems, "yaml:a: 1", NULL, set));
    ck_assert_uint_eq(problems.count, 1);
    problems_release(&problems);
    free(set);
}
END_TEST

int main(void)
{
    return suite_run("load", (const TTest *const[]){
                                 maps_merge_and_all_else_is_replaced,
                                 set_comes_last_and_is_read_as_yaml,
                                 set_makes_maps_where_there_was_nothing,
                                 set_expands_variables,
                                 sources_have_schemes,
                                 sources_that_cannot_be_read_are_named,
                                 an_empty_configuration_is_refused,
                                 a_configuration_is_a_map,
                                 a_set_without_path_or_value_is_refused,
                                 sources_on_the_command_line_are_named_without_their_text,
                                 values_of_set_are_placed_at_the_flag,
                                 aliases_of_one_source_are_independent_when_another_changes_one,
                                 paths_of_absurd_length_are_refused,
                                 NULL,
                             });
}
