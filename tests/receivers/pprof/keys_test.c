/* Errors for configurations that cannot work. */
#include "tests/support/given_runtime.h"
#include "tests/support/keeper.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct component receiver_pprof;
const struct component *const component_table[] = {&receiver_pprof, &scripted_keeper, NULL};

/* Checks that the errors about the receiver's keys are `want`, each without its place and
 * "receivers.pprof". */
static void expect(const char *keys, const char *want)
{
    char *yaml, *got = calloc(1, 4096);
    ck_assert_int_gt(asprintf(&yaml,
                              "receivers: {pprof: {%s}}\nexporters: {keeper: }\n"
                              "service: {pipelines: {profiles: {receivers: [pprof],"
                              " exporters: [keeper]}}}\n",
                              keys),
                     0);
    char *faults = given_faults(yaml);
    for (char *line = strtok(faults, "\n"); line; line = strtok(NULL, "\n")) {
        const char *at = strstr(line, "receivers.pprof");
        strcat(strcat(got, at ? at + strlen("receivers.pprof") : line), "\n");
    }
    ck_assert_str_eq(got, want);
    free(got);
    free(faults);
    free(yaml);
}

#define TARGET "targets: [{endpoint: 'localhost:6060', service_name: shop}]"

START_TEST(what_works_is_taken)
{
    expect(TARGET, "");
    expect("targets: [{endpoint: 'https://a/b', service_name: a, labels: {x: y}}]", "");
    expect("dns: [{name: _pprof._tcp.shop, type: SRV, service_name: shop}]", "");
    expect("server: {endpoint: '0.0.0.0:8080'}", "");
    expect("remote: {endpoint: 'http://localhost:6060/debug/pprof/heap', collection_interval: 10s,"
           " initial_delay: 1s, timeout: 5s}",
           "");
    expect("interval: 1s, profiles: {process_cpu: {enabled: false}}, " TARGET, "");
    expect("file_sd_configs: [{files: [/etc/a.json, 'b/*.yml'], refresh_interval: 5m}]", "");
    expect("params: {a: [b, c], d: e}, job_name: j, follow_redirects: false,"
           " proxy_url: 'http://u:p@localhost:3128', " TARGET,
           "");
}
END_TEST

START_TEST(what_cannot_work_is_named)
{
    expect(
        "",
        ": nothing to pull or serve, expected targets, dns, file_sd_configs, remote or server\n");
    expect("interval: 1s, " TARGET,
           ".interval: must be at least 2s if a timed profile (process_cpu, fgprof) is"
           " enabled\n");
    expect("interval: 0s, server: {}", ".interval: must be longer than 0s\n");
    expect("duration: 16s, " TARGET, ".duration: must be between 1s and the interval\n");
    expect("targets: [{endpoint: 'localhost:6060'}]",
           ".targets[0].service_name: required but not given\n");
    expect("targets: [{endpoint: '/x', service_name: a, labels: {__name__: b}}]",
           ".targets[0].labels: \"__name__\" is not a valid label name\n"
           ".targets[0].endpoint: expected host:port or a URL such as http://host:port\n");
    expect("dns: [{name: a, service_name: a, refresh: 0s}]",
           ".dns[0].port: required for records without a port\n"
           ".dns[0].refresh: must be at least 1s\n");
    expect("profiles: {godeltaprof_mutex: {enabled: true}}, " TARGET,
           ".profiles.mutex: is also provided by godeltaprof: set enabled: false\n");
    expect("file_sd_configs: [{files: [/etc/targets, '/e*/a.json']}, {}]",
           ".file_sd_configs[0].files: \"/etc/targets\" does not end in .json, .yml or .yaml, or"
           " has a * or ? before its last part\n"
           ".file_sd_configs[0].files: \"/e*/a.json\" does not end in .json, .yml or .yaml, or"
           " has a * or ? before its last part\n"
           ".file_sd_configs[1].files: required: paths of JSON or YAML files\n");
    expect("proxy_url: localhost, params: {a: {b: c}}, " TARGET,
           ".params: found a map, expected a string\n"
           ".proxy_url: expected a URL such as http://host:port or https://host\n");
    expect("proxy_url: localhost, " TARGET,
           ".proxy_url: expected a URL such as http://host:port or https://host\n");
    expect("remote: {endpoint: 'localhost:6060'}",
           ".remote.endpoint: expected a URL such as http://host:port or https://host\n");
}
END_TEST

START_TEST(keys_of_the_collector_that_mean_nothing_here_are_named)
{
    expect("server: {}, self: {}, file: {include: '*.pb'}",
           ".self: a key of the Collector that spanlink does not support\n"
           ".file: a key of the Collector that spanlink does not support\n");
}
END_TEST

SUITE_MAIN("receivers/pprof/keys", what_works_is_taken, what_cannot_work_is_named,
           keys_of_the_collector_that_mean_nothing_here_are_named)
