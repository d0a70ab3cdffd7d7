#include "pipeline/life/plan.h"
#include "pipeline/life/runtime.h"

#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

#define RECEIVERS                                                                                  \
    "receivers:\n"                                                                                 \
    "  otlp: {protocols: {http: {endpoint: 'localhost:0'}}}\n"                                     \
    "  pyroscope: {endpoint: 'localhost:0'}\n"
enum { LINE = 5 }; /* of the first processor */

static struct settings *loaded(const char *yaml, struct problems *problems)
{
    char *text;
    ck_assert_int_gt(asprintf(&text, "yaml:%s", yaml), 0);
    struct settings_source source = {SETTINGS_FILE, text};
    struct settings *settings = settings_load(&source, 1, problems);
    free(text);
    return settings;
}

/* The warnings, one a line. */
static char *warnings_of(const char *yaml)
{
    struct problems problems = {0};
    struct settings *settings = loaded(yaml, &problems);
    ck_assert_ptr_nonnull(settings);
    struct runtime *runtime = runtime_plan(settings, &clock_system, &problems);
    ck_assert_msg(runtime && !problems.count && !problems.severe_count, "%s in\n%s",
                  problems.count ? problems.lines[0] : "", yaml);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < problems.warning_count; i++)
        fprintf(out, "%s\n", problems.warnings[i]);
    fclose(out);
    runtime_free(runtime);
    settings_free(settings);
    problems_release(&problems);
    return text;
}

static char *warned(const char *processors, const char *pipelines)
{
    char *yaml;
    ck_assert_int_gt(asprintf(&yaml,
                              RECEIVERS "processors:\n%s  correlation: {}\n  correlation/roots: "
                                        "{link: local_root}\n"
                                        "exporters: {debug: }\nservice:\n  pipelines:\n%s",
                              processors, pipelines),
                     0);
    char *text = warnings_of(yaml);
    free(yaml);
    return text;
}

#define TRACES(processors)                                                                         \
    "    traces: {receivers: [otlp], processors: [" processors "], exporters: [debug]}\n"
#define PROFILES(receivers, processors)                                                            \
    "    profiles: {receivers: [" receivers "], processors: [" processors "], exporters: "         \
    "[debug]}\n"

static void says(const char *processors, const char *pipelines, const char *want)
{
    char *text = warned(processors, pipelines);
    ck_assert_msg(strstr(text, want) != NULL, "no\n%s\nin\n%s\nof\n%s", want, text, processors);
    free(text);
}

static void says_nothing(const char *processors, const char *pipelines)
{
    char *text = warned(processors, pipelines);
    ck_assert_msg(!*text, "%s%s\nsay %s", processors, pipelines, text);
    free(text);
}

/* A processor: what is said of it behind correlation, and in front of it; NULL: nothing. */
struct single {
    const char *id, *text, *path, *want, *in_front;
};

static void check_place(const struct single *single, const char *processors, const char *pipelines,
                        const char *says_what)
{
    char want[400];
    snprintf(want, sizeof want, ":%d: processors.%s.%s: %s", LINE, single->id,
             single->path ? single->path : "", says_what ? says_what : "");
    if (says_what)
        says(processors, pipelines, want);
    else
        says_nothing(processors, pipelines);
}

static void check_single(const struct single *single)
{
    char processors[1000], pipelines[400];
    snprintf(processors, sizeof processors, "  %s: %s\n", single->id, single->text);
    snprintf(pipelines, sizeof pipelines, TRACES("correlation, %s") PROFILES("otlp", "correlation"),
             single->id);
    check_place(single, processors, pipelines, single->want);
    snprintf(pipelines, sizeof pipelines, TRACES("%s, correlation") PROFILES("otlp", "correlation"),
             single->id);
    check_place(single, processors, pipelines, single->in_front);
    snprintf(pipelines, sizeof pipelines, TRACES("%s"), single->id);
    char *text = warned(processors, pipelines);
    ck_assert_msg(!strstr(text, "behind") && !strstr(text, "in front"), "%s", text);
    free(text);
}

static void check_both(const char *text, const char *want, const char *in_front)
{
    char group[800];
    snprintf(group, sizeof group, "{trace_statements: ['%s']}", text);
    check_single(&(struct single){"transform", group, "trace_statements[0]", want, in_front});
}

static void check_statement(const char *text, const char *want)
{
    check_both(text, want, NULL);
}

#define NAME_CHANGES                                                                               \
    "changes service.name behind correlation in pipeline traces, so spans leave under another "    \
    "name than their profiles, and Grafana finds no flame graph: make the same change behind "     \
    "correlation in pipeline profiles\n"
#define NAME_GOES                                                                                  \
    "removes service.name behind correlation in pipeline traces, so spans leave under another "    \
    "name than their profiles, and Grafana finds no flame graph: "
#define LINK_GOES                                                                                  \
    "removes pyroscope.profile.id behind correlation in pipeline traces, and with it the link to " \
    "the flame graph: "
#define TO_THE_FRONT "put it in front of correlation\n"
#define LOST                                                                                       \
    " service.name in front of correlation in pipeline traces, so spans have another name than "   \
    "their profiles, and no flame graph"
#define LEAVE ": leave service.name as it is\n"

START_TEST(actions_on_the_name_or_the_link_are_warned_of)
{
    static const struct single cases[] = {
        {"resource", "{attributes: [{key: service.name, value: b, action: upsert}]}",
         "attributes[0]", NAME_CHANGES, NULL},
        {"resource",
         "{attributes: [{key: a, value: b, action: insert}, {key: service.name, from_attribute: a, "
         "action: Update}]}",
         "attributes[1]", NAME_CHANGES, NULL},
        {"resource", "{attributes: [{pattern: '^service[.]', action: hash}]}", "attributes[0]",
         NAME_CHANGES, "changes" LOST LEAVE},
        {"resource", "{attributes: [{key: service.name, action: delete}]}", "attributes[0]",
         NAME_GOES "make the same change behind correlation in pipeline profiles\n",
         "removes" LOST LEAVE},
        {"resource", "{attributes: [{key: service.name, value: b, action: insert}]}", NULL, NULL,
         NULL},
        {"resource",
         "{attributes: [{key: service.name, from_attribute: service.name, action: upsert}]}", NULL,
         NULL, NULL},
        {"resource", "{attributes: [{key: a, from_attribute: service.name, action: upsert}]}", NULL,
         NULL, NULL},
        {"resource", "{attributes: [{key: service.name, pattern: '(?P<a>.*)', action: extract}]}",
         NULL, NULL, NULL},
        {"resource", "{attributes: [{key: pyroscope.profile.id, action: delete}]}", NULL, NULL,
         NULL},
        {"attributes", "{actions: [{key: pyroscope.profile.id, action: delete}]}", "actions[0]",
         LINK_GOES TO_THE_FRONT, NULL},
        {"attributes", "{actions: [{pattern: '^pyroscope', action: delete}]}", "actions[0]",
         LINK_GOES TO_THE_FRONT, NULL},
        {"attributes", "{actions: [{pattern: '^http[.]', action: delete}]}", NULL, NULL, NULL},
        {"attributes", "{actions: [{key: service.name, action: delete}]}", NULL, NULL, NULL},
        {"attributes",
         "{include: {match_type: regexp, services: [shop, '.*']}, actions: [{pattern: "
         "'^pyroscope', action: delete}]}",
         "actions[0]", LINK_GOES TO_THE_FRONT, NULL},
        {"attributes",
         "{include: {match_type: regexp, services: ['.*'], span_names: ['^[a-z]']}, actions: "
         "[{pattern: '^pyroscope', action: delete}]}",
         NULL, NULL, NULL},
        {"attributes",
         "{include: {match_type: strict, services: ['.*']}, actions: [{pattern: '^pyroscope', "
         "action: delete}]}",
         NULL, NULL, NULL},
        {"attributes",
         "{exclude: {match_type: strict, span_names: [a]}, actions: [{pattern: '^pyroscope', "
         "action: delete}]}",
         NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_single(&cases[i]);
}
END_TEST

START_TEST(redaction_of_the_name_or_the_link_is_warned_of)
{
    static const struct single cases[] = {
        {"redaction", "{allowed_keys: [service.name]}", "allowed_keys",
         LINK_GOES "add pyroscope.profile.id to allowed_keys\n", NULL},
        {"redaction", "{}", "allowed_keys",
         LINK_GOES "set allow_all_keys: true, or add pyroscope.profile.id to allowed_keys\n",
         "removes" LOST ": set allow_all_keys: true, or add service.name to allowed_keys\n"},
        {"redaction", "{allowed_keys: [pyroscope.profile.id]}", "allowed_keys",
         NAME_GOES "add service.name to allowed_keys\n",
         "removes" LOST ": add service.name to allowed_keys\n"},
        {"redaction", "{allow_all_keys: true, blocked_key_patterns: [token, profile]}",
         "blocked_key_patterns[1]",
         "masks pyroscope.profile.id behind correlation in pipeline traces, and with it the link "
         "to the flame graph: add pyroscope.profile.id to ignored_keys\n",
         NULL},
        {"redaction", "{allow_all_keys: true, blocked_key_patterns: ['^service']}",
         "blocked_key_patterns[0]", "masks service.name behind correlation",
         "masks" LOST ": add service.name to ignored_keys\n"},
        {"redaction", "{allow_all_keys: true, blocked_values: ['^sk-', '[0-9a-f]{16}']}",
         "blocked_values[1]",
         "masks pyroscope.profile.id behind correlation in pipeline traces, and with it the link "
         "to the flame graph: add pyroscope.profile.id to ignored_keys\n",
         NULL},
        {"redaction", "{allow_all_keys: true, blocked_values: ['[0-9a-f]{16,}']}",
         "blocked_values[0]", "masks pyroscope.profile.id behind correlation", NULL},
        {"redaction", "{allow_all_keys: true, blocked_values: ['.*']}", "blocked_values[0]",
         "masks pyroscope.profile.id behind correlation",
         "masks" LOST ": add service.name to ignored_keys\n"},
        {"redaction",
         "{allow_all_keys: true, blocked_values: ['.*'], ignored_keys: [service.name], "
         "allowed_values: ['^shop$']}",
         "blocked_values[0]", "masks pyroscope.profile.id behind correlation", NULL},
        {"redaction", "{allow_all_keys: true, blocked_values: ['[0-9a-f]{32}', '[0-9]{16}']}", NULL,
         NULL, NULL},
        {"redaction",
         "{allow_all_keys: true, blocked_values: ['.*'], allowed_values: ['^[0-9a-f]{16}$']}", NULL,
         NULL, NULL},
        {"redaction",
         "{allow_all_keys: true, blocked_values: ['.*'], ignored_key_patterns: ['profile', "
         "'^service']}",
         NULL, NULL, NULL},
        {"redaction",
         "{allow_all_keys: true, blocked_key_patterns: [token], blocked_values: ['4']}", NULL, NULL,
         NULL},
        {"redaction", "{allowed_keys: [service.name, pyroscope.profile.id]}", NULL, NULL, NULL},
        {"redaction", "{ignored_keys: [service.name], ignored_key_patterns: [profile.id]}", NULL,
         NULL, NULL},
        {"redaction",
         "{allow_all_keys: true, blocked_key_patterns: ['^service'], allowed_values: [shop]}", NULL,
         NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_single(&cases[i]);
}
END_TEST

START_TEST(statements_on_the_name_are_warned_of)
{
    check_statement("set(resource.attributes[\"service.name\"], \"b\")", NAME_CHANGES);
    check_statement("set(resource.attributes[\"service.name\"], resource.attributes[\"a\"])",
                    NAME_CHANGES);
    check_statement("replace_pattern(resource.attributes[\"service.name\"], \"^a\", \"b\")",
                    NAME_CHANGES);
    check_statement("replace_match(resource.attributes[\"service.name\"], \"a*\", \"b\")",
                    NAME_CHANGES);
    check_both("append(resource.attributes[\"service.name\"], \"b\")", NAME_CHANGES,
               "changes" LOST LEAVE);
    check_statement("merge_maps(resource.attributes, {\"service.name\": \"b\"}, \"upsert\")",
                    NAME_CHANGES);
    check_statement("set(resource.attributes, {\"service.name\": span.name})", NAME_CHANGES);
    check_statement("replace_all_patterns(resource.attributes, \"value\", \"^\", \"prod-\")",
                    NAME_CHANGES);
    check_both("delete_key(resource.attributes, \"service.name\")", NAME_GOES,
               "removes" LOST LEAVE);
    check_both("set(resource.attributes, {\"a\": \"b\"})", NAME_GOES, "removes" LOST LEAVE);
    check_both("delete_matching_keys(resource.attributes, \"^service\")", NAME_GOES,
               "removes" LOST LEAVE);
    check_both("keep_matching_keys(resource.attributes, \"^host\")",
               NAME_GOES "add service.name to its pattern\n",
               "removes" LOST ": add service.name to its pattern\n");
    check_both("keep_keys(resource.attributes, [\"a\"])",
               NAME_GOES "add service.name to its keys\n",
               "removes" LOST ": add service.name to its keys\n");
    check_both("replace_all_patterns(resource.attributes, \"key\", \"^service\", \"x\")",
               "renames service.name behind correlation", "renames" LOST LEAVE);
    check_both("replace_all_matches(resource.attributes, \"*\", \"x\")",
               "replaces service.name behind correlation", "replaces" LOST LEAVE);
    check_both("flatten(resource.attributes, \"x\")", "renames service.name behind",
               "renames" LOST LEAVE);
    says("  transform: {trace_statements: [{context: resource, statements: "
         "['delete_key(attributes, \"a\")', 'delete_key(attributes, \"service.name\")']}]}\n",
         TRACES("correlation, transform") PROFILES("otlp", "correlation"),
         "processors.transform.trace_statements[0].statements[1]: " NAME_GOES);
}
END_TEST

START_TEST(statements_on_the_link_are_warned_of)
{
    check_statement("keep_keys(span.attributes, [\"a\"])",
                    LINK_GOES "add pyroscope.profile.id to its keys\n");
    check_statement("delete_key(span.attributes, \"pyroscope.profile.id\")",
                    LINK_GOES TO_THE_FRONT);
    check_statement("delete_matching_keys(span.attributes, \"^pyro\")", LINK_GOES TO_THE_FRONT);
    check_statement("set(span.attributes[\"pyroscope.profile.id\"], \"0\")",
                    "changes pyroscope.profile.id behind correlation");
    check_statement("set(span.attributes, resource.attributes)", LINK_GOES TO_THE_FRONT);
    check_statement("replace_all_matches(span.attributes, \"*\", \"x\")",
                    "replaces pyroscope.profile.id behind correlation in pipeline traces, and with "
                    "it the link to the flame graph: " TO_THE_FRONT);
    check_statement("replace_all_patterns(span.attributes, \"value\", \"[0-9a-f]{16}\", \"x\")",
                    "changes pyroscope.profile.id behind correlation");
    check_statement("truncate_all(span.attributes, 15)",
                    "cuts pyroscope.profile.id behind correlation in pipeline traces, and with it "
                    "the link to the flame graph: set its limit to at least 16\n");
}
END_TEST

START_TEST(conditions_that_always_hold_are_none)
{
#define KEEP "keep_keys(span.attributes, [\"a\"])"
#define GROUP(conditions)                                                                          \
    "  transform/p: {trace_statements: [{context: span, conditions: [" conditions                  \
    "], statements: ['keep_keys(attributes, [\"a\"])']}]}\n"
    static const char pipelines[] =
        TRACES("correlation, transform/p") PROFILES("otlp", "correlation");
    static const char *const always[] = {
        "true", "not false", "true and 1 == 1", "span.kind == 1 or true", "\"a\" != \"b\"",
    };
    static const char *const sometimes[] = {
        "false", "not true", "span.kind == 1 and true", "1 == 2", "span.kind == 1 or false",
    };
    char statement[200];
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        snprintf(statement, sizeof statement, KEEP " where %s", always[i]);
        check_statement(statement, LINK_GOES);
        snprintf(statement, sizeof statement, KEEP " where %s", sometimes[i]);
        check_statement(statement, NULL);
    }
    says(GROUP("'kind == 1', 'true'"), pipelines, LINK_GOES);
    says_nothing(GROUP("'kind == 1', 'false'"), pipelines);
}
END_TEST

START_TEST(statements_that_depend_on_the_record_or_hit_others_are_not)
{
    static const char *const statements[] = {
        "set(resource.attributes[\"service.name\"], \"b\") where span.kind == 1",
        "set(resource.attributes[\"service.name\"], nil)",
        "set(resource.attributes[\"service.name\"], resource.attributes[\"service.name\"])",
        "set(resource.attributes[\"service.namespace\"], \"b\")",
        "set(span.attributes[\"service.name\"], resource.attributes[\"service.name\"])",
        "set(span.attributes, span.attributes)",
        "set(span.attributes, span.cache)",
        "set(resource.attributes, span.attributes)",
        "set(span.attributes, ParseKeyValue(span.name))",
        "merge_maps(resource.attributes, {\"service.name\": \"b\"}, \"insert\")",
        "merge_maps(resource.attributes, span.attributes, \"upsert\")",
        "delete_key(resource.attributes, span.name)",
        "delete_key(span.attributes, \"pyroscope.profile.id\") where span.kind == 1",
        "delete_matching_keys(span.attributes, \"^http\")",
        "keep_keys(span.attributes, [\"pyroscope.profile.id\"])",
        "keep_keys(span.attributes, [\"a\", span.name])",
        "keep_keys(resource.attributes, [\"service.name\"])",
        "keep_keys(spanevent.attributes, [\"a\"])",
        "keep_keys(scope.attributes, [\"a\"])",
        "limit(span.attributes, 128, [])",
        "limit(resource.attributes, 5, [\"a\"])",
        "replace_all_patterns(resource.attributes, \"value\", \"a\", \"b\")",
        "replace_all_patterns(span.attributes, \"key\", \"^http\", \"b\")",
        "replace_all_patterns(span.attributes, \"value\", \"[0-9]{16}\", \"x\")",
        "replace_all_patterns(span.attributes, \"value\", \"^([0-9a-f]+)$\", \"$$1\")",
        "replace_all_matches(span.attributes, \"*-*\", \"x\")",
        "truncate_all(span.attributes, 16)",
        "truncate_all(resource.attributes, 15)",
        "flatten(span.attributes)",
    };
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        check_statement(statements[i], NULL);
    says_nothing("  transform/p: {trace_statements: [{conditions: ['span.kind == 1'], "
                 "statements: ['keep_keys(span.attributes, [\"a\"])']}]}\n",
                 TRACES("correlation, transform/p") PROFILES("otlp", "correlation"));
    says_nothing("  transform/p: {log_statements: ['keep_keys(log.attributes, [\"a\"])', "
                 "'keep_keys(resource.attributes, [\"a\"])']}\n",
                 TRACES("correlation, transform/p") PROFILES("otlp", "correlation"));
}
END_TEST

START_TEST(the_same_change_of_profiles_is_right)
{
#define SET(list)  "{" list ": ['set(resource.attributes[\"service.name\"], \"b\")']}\n"
#define HASH(list) list ": ['replace_all_matches(resource.attributes, \"*\", \"x\")']"
    static const char processors[] =
        "  resource: {attributes: [{key: service.name, value: b, action: upsert}]}\n"
        "  resource/c: {attributes: [{key: service.name, value: c, action: upsert}]}\n"
        "  resource/gone: {attributes: [{key: service.name, action: delete}]}\n"
        "  transform/t: " SET("trace_statements") "  transform/p: " SET(
            "profile_statements") "  transform/gone: {profile_statements: "
                                  "['delete_key(resource.attributes, \"service.name\")']}\n"
                                  "  transform/l: {" HASH("trace_statements") ", " HASH(
                                      "profile_statements") "}\n";
    static const char *const right[] = {
        TRACES("correlation, resource") PROFILES("otlp", "correlation, resource"),
        TRACES("correlation, resource") PROFILES("otlp", "correlation, transform/p"),
        TRACES("correlation, transform/t") PROFILES("otlp", "correlation, resource"),
        TRACES("correlation, resource/gone") PROFILES("otlp", "correlation, transform/gone"),
        TRACES("correlation, transform/l") PROFILES("otlp", "correlation, transform/l"),
        TRACES("correlation/roots, resource") PROFILES("otlp", "resource"),
    };
    static const struct {
        const char *pipelines, *want;
    } wrong[] = {
        {TRACES("correlation, resource") PROFILES("otlp", "correlation, resource/c"), "profiles\n"},
        {TRACES("correlation, resource") PROFILES("otlp", "resource, correlation"), "profiles\n"},
        {TRACES("correlation, transform/t") PROFILES("otlp", "correlation, transform/t"),
         "profiles\n"},
        {TRACES("correlation, resource") PROFILES(
             "otlp", "correlation, resource") "    profiles/2: {receivers: [otlp], processors: "
                                              "[correlation], exporters: [debug]}\n",
         "make the same change behind correlation in pipeline profiles/2\n"},
        {TRACES("correlation/roots, resource"),
         "give spans and profiles that name where they are made (OTEL_SERVICE_NAME and the "
         "profiler's application name)\n"},
        {TRACES("correlation, resource") PROFILES("otlp, pyroscope", "correlation, resource"),
         "application name), since processors change no profiles but OTLP and receiver pyroscope "
         "takes others too\n"},
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        says_nothing(processors, right[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        says(processors, wrong[i].pipelines, wrong[i].want);
}
END_TEST

START_TEST(a_change_of_profiles_alone_is_warned_of)
{
#define OWN_CHANGE                                                                                 \
    "processors.resource.attributes[0]: changes service.name behind correlation in pipeline "      \
    "profiles, so profiles leave under another name than their spans, and Grafana finds no flame " \
    "graph: "
    static const char processors[] =
        "  resource: {attributes: [{key: service.name, value: b, action: upsert}]}\n"
        "  resource/gone: {attributes: [{key: service.name, action: delete}]}\n"
        "  transform: {profile_statements: ['keep_keys(resource.attributes, [\"a\"])']}\n";
    static const struct {
        const char *pipelines, *want;
    } wrong[] = {
        {TRACES("correlation") PROFILES("otlp", "correlation, resource"),
         OWN_CHANGE "make the same change behind correlation in pipeline traces\n"},
        {TRACES("resource, correlation") PROFILES("otlp", "correlation, resource"), OWN_CHANGE},
        {TRACES("correlation") PROFILES("pyroscope, otlp", "correlation, resource"),
         OWN_CHANGE "give spans and profiles that name where they are made (OTEL_SERVICE_NAME and "
                    "the profiler's application name), since processors change no profiles but "
                    "OTLP and receiver pyroscope takes others too\n"},
        {TRACES("correlation") PROFILES("otlp", "correlation, resource/gone"),
         "removes service.name behind correlation in pipeline profiles, so profiles leave under "
         "another name than their spans"},
        {TRACES("correlation") PROFILES("otlp", "resource/gone, correlation"),
         "removes service.name in front of correlation in pipeline profiles, so profiles have "
         "another name than their spans, which have no flame graph: leave service.name as it is\n"},
        {TRACES("correlation") PROFILES("otlp", "transform, correlation"),
         "in front of correlation in pipeline profiles, so profiles have another name than their "
         "spans, which have no flame graph: add service.name to its keys\n"},
    };
    static const char *const right[] = {
        TRACES("correlation") PROFILES("otlp", "resource, correlation"),
        TRACES("correlation, resource") PROFILES("otlp", "correlation, resource"),
        TRACES("correlation") PROFILES("pyroscope", "correlation, resource"),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        says(processors, wrong[i].pipelines, wrong[i].want);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        says_nothing(processors, right[i]);
}
END_TEST

/* In front of correlation, what is renamed may be meant to have the name of the profiles. */
START_TEST(a_name_that_is_lost_in_front_may_be_given_again)
{
    static const char processors[] =
        "  redaction: {allowed_keys: [host.name]}\n"
        "  resource: {attributes: [{key: service.name, action: delete}, {key: service.name, "
        "from_attribute: app, action: insert}]}\n"
        "  resource/gone: {attributes: [{key: service.name, action: delete}]}\n"
        "  resource/given: {attributes: [{key: service.name, value: b, action: upsert}]}\n"
        "  groupbyattrs: {keys: [service.name]}\n"
        "  transform: {trace_statements: ['keep_keys(resource.attributes, [\"a\"])', "
        "'set(resource.attributes[\"service.name\"], \"b\") where resource.attributes[\"a\"] == "
        "\"b\"']}\n"
        "  transform/map: {trace_statements: ['merge_maps(resource.attributes, "
        "ParseKeyValue(resource.attributes[\"a\"]), \"upsert\")']}\n";
    static const char *const right[] = {
        TRACES("resource, correlation") PROFILES("otlp", "correlation"),
        TRACES("redaction, resource/given, correlation") PROFILES("otlp", "correlation"),
        TRACES("resource/gone, groupbyattrs, correlation") PROFILES("otlp", "correlation"),
        TRACES("transform, correlation") PROFILES("otlp", "correlation"),
        TRACES("redaction, transform/map, correlation") PROFILES("otlp", "correlation"),
        TRACES("redaction, correlation") PROFILES("otlp", "resource/gone, correlation"),
    };
    static const char *const wrong[] = {
        TRACES("resource/given, redaction, correlation") PROFILES("otlp", "correlation"),
        TRACES("redaction, correlation, resource/given") PROFILES("otlp", "correlation"),
        TRACES("redaction, correlation") PROFILES("otlp", "correlation, resource/gone"),
        TRACES("redaction, correlation/roots") PROFILES("pyroscope", ""),
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        says_nothing(processors, right[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        says(processors, wrong[i],
             "processors.redaction.allowed_keys: removes service.name in front");
}
END_TEST

START_TEST(what_the_environment_names_counts_for_resourcedetection)
{
    static const char processors[] = "  resourcedetection: {detectors: [env]}\n"
                                     "  resourcedetection/2: {detectors: [env], override: false}\n"
                                     "  resourcedetection/3: {detectors: [k8s]}\n";
    static const char first[] =
        TRACES("correlation, resourcedetection") PROFILES("otlp", "correlation");
    setenv("OTEL_RESOURCE_ATTRIBUTES", "host.name=a,service.name=b", 1);
    says(processors, first,
         "processors.resourcedetection.override: replaces service.name behind correlation in "
         "pipeline traces, so spans leave under another name than their profiles, and Grafana "
         "finds no flame graph: set override: false\n");
    says(processors, TRACES("resourcedetection, correlation") PROFILES("otlp", "correlation"),
         "processors.resourcedetection.override: replaces" LOST
         ", unless both are named b: set override: false\n");
    says_nothing(processors, TRACES("resourcedetection, correlation")
                                 PROFILES("otlp, pyroscope", "resourcedetection, correlation"));
    says_nothing(processors,
                 TRACES("resourcedetection/2, correlation") PROFILES("otlp", "correlation"));
    says_nothing(processors, TRACES("correlation, resourcedetection/2, resourcedetection/3")
                                 PROFILES("otlp", "correlation"));
    says_nothing(processors, TRACES("correlation, resourcedetection")
                                 PROFILES("otlp", "correlation, resourcedetection"));
    setenv("OTEL_RESOURCE_ATTRIBUTES", "host.name=a", 1);
    says_nothing(processors, first);
}
END_TEST

START_TEST(groups_by_the_link_are_warned_of)
{
    static const struct single cases[] = {
        {"groupbyattrs", "{keys: [host.name, service.name]}", NULL, NULL, NULL},
        {"groupbyattrs", "{keys: [pyroscope.profile.id]}", "keys[0]",
         "moves pyroscope.profile.id behind correlation in pipeline traces, and with it the link "
         "to the flame graph: " TO_THE_FRONT,
         NULL},
        {"groupbyattrs", "{keys: [host.name]}", NULL, NULL, NULL},
        {"groupbyattrs", "{}", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_single(&cases[i]);
}
END_TEST

START_TEST(each_place_is_warned_of_once)
{
    char *text = warned(
        "  attributes: {actions: [{pattern: '^pyroscope', action: delete}]}\n",
        TRACES("correlation, attributes") PROFILES(
            "otlp", "correlation") "    traces/2: {receivers: [otlp], processors: [correlation, "
                                   "attributes], exporters: [debug]}\n"
                                   "    traces/3: {receivers: [otlp], processors: [attributes, "
                                   "correlation], exporters: [debug]}\n");
    ck_assert_ptr_nonnull(strchr(text, '\n'));
    ck_assert_msg(!strchr(text, '\n')[1], "%s", text);
    free(text);
}
END_TEST

START_TEST(who_keeps_linked_traces_must_know_which_they_are)
{
    static const char sampler[] = "  probabilistic_sampler: {sampling_percentage: 1%s}\n";
    char keeps[100], does_not[100];
    snprintf(keeps, sizeof keeps, sampler, ", keep_linked: true");
    snprintf(does_not, sizeof does_not, sampler, "");
    says(keeps, TRACES("probabilistic_sampler, correlation") PROFILES("otlp", "correlation"),
         ":5: processors.probabilistic_sampler: is in front of correlation in pipeline traces, "
         "which decides what is linked: put it behind");
    says_nothing(keeps,
                 TRACES("correlation, probabilistic_sampler") PROFILES("otlp", "correlation"));
    says_nothing(does_not,
                 TRACES("probabilistic_sampler, correlation") PROFILES("otlp", "correlation"));
}
END_TEST

START_TEST(a_reload_warns_too)
{
    static const char form[] =
        RECEIVERS "processors:\n"
                  "  correlation: {}\n"
                  "  redaction: {allowed_keys: [service.name%s]}\n"
                  "exporters: {debug: }\n"
                  "service:\n"
                  "  telemetry: {metrics: {level: none}}\n"
                  "  pipelines:\n" TRACES("correlation, redaction") PROFILES("otlp", "correlation");
    char yaml[2][1000];
    struct problems problems = {0};
    snprintf(yaml[0], sizeof yaml[0], form, ", pyroscope.profile.id");
    snprintf(yaml[1], sizeof yaml[1], form, "");
    struct settings *first = loaded(yaml[0], &problems), *second = loaded(yaml[1], &problems);
    struct runtime *runtime = runtime_plan(first, &clock_system, &problems);
    ck_assert(runtime && runtime_start(runtime, &problems));
    ck_assert_uint_eq(problems.warning_count, 0);
    ck_assert_int_eq(runtime_reload(runtime, second, &problems), RELOAD_DONE);
    ck_assert_uint_eq(problems.warning_count, 1);
    ck_assert_ptr_nonnull(strstr(problems.warnings[0], LINK_GOES));
    runtime_stop(runtime, NULL, NULL);
    runtime_free(runtime);
    settings_free(first);
    settings_free(second);
    problems_release(&problems);
}
END_TEST

SUITE_MAIN("plan_order", actions_on_the_name_or_the_link_are_warned_of,
           redaction_of_the_name_or_the_link_is_warned_of, statements_on_the_name_are_warned_of,
           statements_on_the_link_are_warned_of,
           statements_that_depend_on_the_record_or_hit_others_are_not,
           conditions_that_always_hold_are_none, the_same_change_of_profiles_is_right,
           a_change_of_profiles_alone_is_warned_of, a_name_that_is_lost_in_front_may_be_given_again,
           what_the_environment_names_counts_for_resourcedetection,
           groups_by_the_link_are_warned_of, each_place_is_warned_of_once,
           who_keeps_linked_traces_must_know_which_they_are, a_reload_warns_too)
