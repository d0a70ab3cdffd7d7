#include "lib/settings/fill.h"

#include "tests/lib/settings/box.h"
#include "tests/lib/settings/given.h"

/* Fills a box from the section "x" of a yaml: source; the caller releases it. */
static char *fill(struct box *box, const char *yaml, const char *set)
{
    struct problems problems = {0};
    *box = (struct box){0};
    struct settings *settings = given_load(&problems, yaml, NULL, set);
    if (settings) {
        const struct node *root = settings_root(settings);
        bool good = keys_fill(box_rows, node_get(root, "x"), root, "x", box, &problems);
        ck_assert_int_eq(good, problems.count == 0);
    }
    settings_free(settings);
    return given_sentences(&problems);
}

static void fills(struct box *box, const char *yaml)
{
    char *faults = fill(box, yaml, NULL);
    ck_assert_str_eq(faults, "");
    free(faults);
}

/* want follows "yaml: source 1:1: x." in the sentence. */
static void refuses(const char *inner, const char *want)
{
    char yaml[400], whole[2000];
    struct box box;
    snprintf(yaml, sizeof yaml, "yaml:x: {endpoint: e, %s}", inner);
    char *faults = fill(&box, yaml, NULL);
    snprintf(whole, sizeof whole, "yaml: source 1:1: %s\n", want);
    ck_assert_str_eq(faults, whole);
    free(faults);
    keys_release(box_rows, &box);
}

START_TEST(defaults_come_from_the_table)
{
    struct box box;
    fills(&box, "yaml:x: {endpoint: e}");
    ck_assert(box.flag);
    ck_assert_int_eq(box.count, 10);
    ck_assert_double_eq(box.ratio, 0.5);
    ck_assert_uint_eq(box.wait, 5000000000);
    ck_assert_uint_eq(box.hold, DURATION_AUTO);
    ck_assert_str_eq(box.endpoint, "e");
    ck_assert_str_eq(box.target, "here");
    ck_assert_str_eq(box.password, "");
    ck_assert_int_eq(box.mode, 1);
    ck_assert_pstr_eq(key_map_get(&box.remap, "service.name"), "service_name");
    ck_assert_pstr_eq(key_map_get(&box.labels, "a"), "b");
    ck_assert_uint_eq(box.headers.count, 0);
    ck_assert_uint_eq(box.kinds.count, 1);
    ck_assert_str_eq(box.tls.ca_file, "");
    ck_assert(!box.grpc_on);
    ck_assert_int_eq(box.grpc.limit, 64);
    keys_release(box_rows, &box);
    ck_assert_ptr_null(box.endpoint);
    keys_release(box_rows, &box);
}
END_TEST

START_TEST(a_list_of_sections_is_read_with_its_defaults)
{
    struct box box;
    fills(&box, "yaml:x: {endpoint: e, peers: [{host: a}, {host: b, labels: {x: z}}]}");
    ck_assert_uint_eq(box.peers.count, 2);
    const struct box_peer *peers = box.peers.items;
    ck_assert_str_eq(peers[0].host, "a");
    ck_assert_pstr_eq(key_map_get(&peers[0].labels, "x"), "y");
    ck_assert_str_eq(peers[1].host, "b");
    ck_assert_pstr_eq(key_map_get(&peers[1].labels, "x"), "z");
    keys_release(box_rows, &box);
    ck_assert_uint_eq(box.peers.count, 0);
    fills(&box, "yaml:x: {endpoint: e, peers: }");
    ck_assert_uint_eq(box.peers.count, 0);
    keys_release(box_rows, &box);
}
END_TEST

START_TEST(faults_in_a_list_of_sections_name_the_item)
{
    refuses("peers: {host: a}", "x.peers: found a map, expected a list");
    refuses("peers: [{host: a}, {}]", "x.peers[1].host: required but not given");
    refuses("peers: [{host: a, hots: b}]", "x.peers[0].hots: unknown key, did you mean \"host\"?");
    refuses("peers: [{host: [a]}]", "x.peers[0].host: found a list, expected a string");
}
END_TEST

START_TEST(every_type_is_read)
{
    struct box box;
    fills(&box, "yaml:x: {flag: false, count: 0x10, ratio: 1, wait: 1m30s, hold: 45s, endpoint: 12,"
                " target: true, password: p, mode: none, remap: {a.b: c, d: 1}, labels: {c: d},"
                " headers: {A: b, C: }, kinds: [a, 1], tls: {insecure: true}, grpc: {limit: 3},"
                " keepalive: {anything: [goes]}}");
    ck_assert(!box.flag);
    ck_assert_int_eq(box.count, 16);
    ck_assert_double_eq(box.ratio, 1);
    ck_assert_uint_eq(box.wait, 90000000000);
    ck_assert_uint_eq(box.hold, 45000000000);
    ck_assert_str_eq(box.endpoint, "12");
    ck_assert_str_eq(box.target, "true");
    ck_assert_str_eq(box.password, "p");
    ck_assert_int_eq(box.mode, 2);
    ck_assert_uint_eq(box.remap.count, 3);
    ck_assert_pstr_eq(key_map_get(&box.remap, "a.b"), "c");
    ck_assert_pstr_eq(key_map_get(&box.remap, "service.name"), "service_name");
    ck_assert_uint_eq(box.labels.count, 1);
    ck_assert_pstr_eq(key_map_get(&box.headers, "A"), "b");
    ck_assert_pstr_eq(key_map_get(&box.headers, "C"), "");
    ck_assert_uint_eq(box.kinds.count, 2);
    ck_assert_str_eq(box.kinds.items[1], "1");
    ck_assert(box.tls.insecure);
    ck_assert(box.grpc_on);
    ck_assert_int_eq(box.grpc.limit, 3);
    ck_assert_str_eq(box.grpc.endpoint, "localhost:4317");
    keys_release(box_rows, &box);
}
END_TEST

START_TEST(other_ways_to_write_lists_and_headers)
{
    struct box box;
    fills(&box, "yaml:x: {endpoint: e, kinds: 'a, b c ,d', headers: [{name: A, value: 1}]}");
    ck_assert_uint_eq(box.kinds.count, 3);
    ck_assert_str_eq(box.kinds.items[1], "b c");
    ck_assert_str_eq(box.kinds.items[2], "d");
    ck_assert_pstr_eq(key_map_get(&box.headers, "A"), "1");
    keys_release(box_rows, &box);
}
END_TEST

START_TEST(null_is_the_default)
{
    struct box box;
    fills(&box, "yaml:x: {endpoint: e, count: , target: ~, remap: null, tls: , kinds: }");
    ck_assert_int_eq(box.count, 10);
    ck_assert_str_eq(box.target, "here");
    ck_assert_uint_eq(box.remap.count, 1);
    ck_assert_uint_eq(box.kinds.count, 1);
    keys_release(box_rows, &box);
}
END_TEST

START_TEST(a_switched_section_is_on_when_it_is_there)
{
    struct box box;
    fills(&box, "yaml:x: {endpoint: e, grpc: }");
    ck_assert(box.grpc_on);
    keys_release(box_rows, &box);
    fills(&box, "yaml:x: {endpoint: e, grpc: {enabled: false, endpoint: ''}}");
    ck_assert(!box.grpc_on);
    keys_release(box_rows, &box);
    fills(&box, "yaml:x: {endpoint: e, grpc: {enabled: true}}");
    ck_assert(box.grpc_on);
    keys_release(box_rows, &box);
    refuses("grpc: {enabled: 3}", "x.grpc.enabled: found 3, expected true or false");
    refuses("tls: {enabled: true}",
            "x.tls.enabled: a key of the Collector that spanlink does not support");
}
END_TEST

START_TEST(wrong_types_are_refused)
{
    refuses("flag: yes", "x.flag: found yes, expected true or false");
    refuses("flag: 'true'",
            "x.flag: found the string \"true\", expected true or false without quotes");
    refuses("count: '10'",
            "x.count: found the string \"10\", expected a whole number from 1 to 100 "
            "without quotes");
    refuses("count: ten", "x.count: found ten, expected a whole number from 1 to 100");
    refuses("count: 1.5", "x.count: found 1.5, expected a whole number from 1 to 100");
    refuses("count: [1]", "x.count: found a list, expected a whole number from 1 to 100");
    refuses("ratio: '1'", "x.ratio: found the string \"1\", expected a number from 0 to 1 without "
                          "quotes");
    refuses("wait: 5", "x.wait: found 5, expected a duration with its unit, such as 300ms, 5s or "
                       "1m30s");
    refuses("wait: -5s", "x.wait: found -5s, expected a duration with its unit, such as 300ms, 5s "
                         "or 1m30s");
    refuses("hold: never",
            "x.hold: found never, expected auto or a duration with its unit, such as "
            "300ms, 5s or 1m30s");
    refuses("target: [a]", "x.target: found a list, expected a string");
    refuses("mode: gzpi", "x.mode: found gzpi, expected one of gzip, zstd, none; did you mean "
                          "\"gzip\"?");
    refuses("remap: [a]", "x.remap: found a list, expected a map of names and strings");
    refuses("remap: {a: {b: c}}", "x.remap.a: found a map, expected a string");
    refuses("kinds: {a: b}", "x.kinds: found a map, expected a list of strings");
    refuses("kinds: [{a: b}]", "x.kinds: found a map, expected a string");
    refuses("tls: on", "x.tls: found a scalar, expected a map of keys");
}
END_TEST

START_TEST(values_out_of_range_are_refused)
{
    refuses("count: 5\xc2\xa0", "x.count: found 5\xc2\xa0 with a no-break space (U+00A0), "
                                "expected a whole number from 1 to 100");
    refuses("tls: insecure:\xc2\xa0true", "x.tls: found a no-break space (U+00A0) in column 32, "
                                          "expected a plain space");
    refuses("count: 0", "x.count: found 0, expected a whole number from 1 to 100");
    refuses("count: 101", "x.count: found 101, expected a whole number from 1 to 100");
    refuses("ratio: 1.1", "x.ratio: found 1.1, expected a number from 0 to 1");
    refuses("ratio: 1e999", "x.ratio: found 1e999, expected a number from 0 to 1");
}
END_TEST

START_TEST(secrets_are_not_shown_in_sentences)
{
    refuses("password: {a: hush}", "x.password: found a map, expected a string");
    refuses("headers: hush", "x.headers: found a scalar, expected a map of names and strings");
}
END_TEST

START_TEST(unknown_keys_get_the_nearest_one)
{
    refuses("targte: a", "x.targte: unknown key, did you mean \"target\"?");
    refuses("tls: {insecrue: true}", "x.tls.insecrue: unknown key, did you mean \"insecure\"?");
    refuses("tls: {zzz: true}", "x.tls.zzz: unknown key, expected one of insecure, ca_file");
    refuses("cors: {}", "x.cors: a key of the Collector that spanlink does not support");
    refuses("proxy_url: a", "x.proxy_url: a key of the Collector that spanlink does not support");
}
END_TEST

START_TEST(required_keys_are_required)
{
    struct box box;
    char *faults = fill(&box, "yaml:x: {count: 1}", NULL);
    ck_assert_str_eq(faults, "yaml: source 1:1: x.endpoint: required but not given\n");
    free(faults);
    keys_release(box_rows, &box);
    faults = fill(&box, "yaml:x: {endpoint: ''}", NULL);
    ck_assert_str_eq(faults, "yaml: source 1:1: x.endpoint: must not be empty\n");
    free(faults);
    keys_release(box_rows, &box);
}
END_TEST

START_TEST(a_misspelt_key_is_reported_once)
{
    struct box box;
    char *faults = fill(&box, "yaml:x: {endpont: e}", NULL);
    ck_assert_str_eq(faults,
                     "yaml: source 1:1: x.endpont: unknown key, did you mean \"endpoint\"?\n");
    free(faults);
    keys_release(box_rows, &box);
}
END_TEST

START_TEST(unset_variables_are_refused_where_something_is_needed)
{
    struct box box;
    unsetenv("MISSING");
    setenv("EMPTY", "", 1);
    char *faults = fill(&box, "yaml:x: {endpoint: '${env:MISSING}'}", NULL);
    ck_assert_str_eq(faults, "yaml: source 1:1: x.endpoint: the variable "
                             "MISSING is not set, expected a value\n");
    free(faults);
    keys_release(box_rows, &box);
    refuses("grpc: {endpoint: '${MISSING}:4317'}",
            "x.grpc.endpoint: the variable MISSING is not set, expected a value (write "
            "${env:MISSING:-} if it may be empty)");
    refuses("grpc: {endpoint: '${EMPTY}'}", "x.grpc.endpoint: must not be empty");
    fills(&box, "yaml:x: {endpoint: e, count: '${MISSING}', password: '${MISSING}'}");
    ck_assert_int_eq(box.count, 10);
    ck_assert_str_eq(box.password, "");
    keys_release(box_rows, &box);
}
END_TEST

START_TEST(strings_from_variables_are_kept_as_written)
{
    struct box box;
    setenv("NUMBER", "0123", 1);
    setenv("PAIR", "Basic: abc", 1);
    fills(&box, "yaml:x: {endpoint: '${NUMBER}', target: '${PAIR}', headers: {A: '${PAIR}'}}");
    ck_assert_str_eq(box.endpoint, "0123");
    ck_assert_str_eq(box.target, "Basic: abc");
    ck_assert_pstr_eq(key_map_get(&box.headers, "A"), "Basic: abc");
    keys_release(box_rows, &box);
}
END_TEST

START_TEST(all_faults_are_said_with_their_lines)
{
    struct box box;
    char *path = given_file("x:\n  count: ten\n  mode: lz4\n  grpc:\n    limit: 0\n"), want[600];
    char *faults = fill(&box, path, "x.wait=5");
    snprintf(want, sizeof want,
             "%s:2: x.count: found ten, expected a whole number from 1 to 100\n"
             "--set x.wait: found 5, expected a duration with its unit, such as 300ms, 5s or "
             "1m30s\n"
             "%s:1: x.endpoint: required but not given\n"
             "%s:3: x.mode: found lz4, expected one of gzip, zstd, none\n"
             "%s:5: x.grpc.limit: found 0, expected a whole number from 1 to 128\n",
             path, path, path, path);
    ck_assert_str_eq(faults, want);
    unlink(path);
    free(path);
    free(faults);
    keys_release(box_rows, &box);
}
END_TEST

static void complain(const void *config, struct key_report *report)
{
    const struct box *box = config;
    if (box->count > 50)
        key_report_add(report, "count", "must not exceed %d", 50);
    if (!box->tls.insecure)
        key_report_add(report, "tls.insecure", "must be true");
}

static void complain_of_defaults(const void *config, struct key_report *report)
{
    const struct box *box = config;
    if (box->count == 10)
        key_report_add(report, "count", "must not be 10");
    if (*box->password == '\0' && !key_report_refused(report, "ratio"))
        key_report_add(report, "password", "password or ratio is needed");
}

static void complains(const char *inner, const char *want)
{
    struct problems problems = {0};
    struct box box = {0};
    char yaml[200];
    snprintf(yaml, sizeof yaml, "yaml:x: %s", inner);
    struct settings *settings = given_load(&problems, yaml, NULL, NULL);
    const struct node *x = node_get(settings_root(settings), "x");
    keys_fill(box_rows, x, x, "x", &box, &problems);
    keys_check(complain_of_defaults, &box, x, x, "x", &problems);
    char *faults = given_sentences(&problems);
    ck_assert_str_eq(faults, want);
    free(faults);
    settings_free(settings);
    keys_release(box_rows, &box);
}

START_TEST(no_cross_check_follows_from_a_key_that_is_refused)
{
    unsetenv("MISSING");
    complains("{endpoint: e}", "yaml: source 1:1: x.count: must not be 10\n"
                               "yaml: source 1:1: x.password: password or ratio is needed\n");
    complains("{endpoint: e, count: 64MiB, ratio: 80%}",
              "yaml: source 1:1: x.count: found 64MiB, expected a whole number from 1 to 100\n"
              "yaml: source 1:1: x.ratio: found 80%, expected a number from 0 to 1\n");
    complains("{endpoint: e, cuont: 6, rato: 1}",
              "yaml: source 1:1: x.cuont: unknown key, did you mean \"count\"?\n"
              "yaml: source 1:1: x.rato: unknown key, did you mean \"ratio\"?\n");
    complains("{endpoint: e, count: '${MISSING}', password: '${env:MISSING}'}",
              "yaml: source 1:1: x.count: the variable MISSING is not set, expected a value\n"
              "yaml: source 1:1: x.password: the variable MISSING is not set, expected a value\n");
    complains("e", "yaml: source 1:1: x: found a scalar, expected a map of keys\n"
                   "yaml: source 1:1: x.endpoint: required but not given\n");
}
END_TEST

START_TEST(cross_checks_name_the_nearest_place)
{
    struct problems problems = {0};
    struct box box = {0};
    char *path = given_file("x:\n  count: 60\n  tls:\n    ca_file: a\n"), want[200];
    struct settings *settings = given_load(&problems, path, NULL, NULL);
    const struct node *x = node_get(settings_root(settings), "x");
    box.count = 60;
    ck_assert(!keys_check(complain, &box, x, x, "x", &problems));
    ck_assert(keys_check(NULL, &box, x, x, "x", &problems));
    char *faults = given_sentences(&problems);
    snprintf(want, sizeof want,
             "%s:2: x.count: must not exceed 50\n%s:3: x.tls.insecure: must be "
             "true\n",
             path, path);
    ck_assert_str_eq(faults, want);
    unlink(path);
    free(path);
    free(faults);
    settings_free(settings);
}
END_TEST

START_TEST(no_section_at_all_is_all_defaults)
{
    struct box box = {0};
    struct problems problems = {0};
    ck_assert(!keys_fill(box_rows, NULL, NULL, "x", &box, &problems));
    char *faults = given_sentences(&problems);
    ck_assert_str_eq(faults, "x.endpoint: required but not given\n");
    ck_assert_int_eq(box.count, 10);
    free(faults);
    keys_release(box_rows, &box);
}
END_TEST

int main(void)
{
    return suite_run("fill", (const TTest *const[]){
                                 defaults_come_from_the_table,
                                 a_list_of_sections_is_read_with_its_defaults,
                                 faults_in_a_list_of_sections_name_the_item,
                                 every_type_is_read,
                                 other_ways_to_write_lists_and_headers,
                                 null_is_the_default,
                                 a_switched_section_is_on_when_it_is_there,
                                 wrong_types_are_refused,
                                 values_out_of_range_are_refused,
                                 secrets_are_not_shown_in_sentences,
                                 unknown_keys_get_the_nearest_one,
                                 required_keys_are_required,
                                 a_misspelt_key_is_reported_once,
                                 unset_variables_are_refused_where_something_is_needed,
                                 strings_from_variables_are_kept_as_written,
                                 all_faults_are_said_with_their_lines,
                                 no_cross_check_follows_from_a_key_that_is_refused,
                                 cross_checks_name_the_nearest_place,
                                 no_section_at_all_is_all_defaults,
                                 NULL,
                             });
}
