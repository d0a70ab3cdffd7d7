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
    snprintf(want, sizeof want, "%s, yaml: source 1: ok\n", path);
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
             "--set service.shutdown_timeout: found 8, expected a duration with its unit, such "
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
    const char *once = strstr(got->err, "the variable NOT_SET_AT_ALL is not set");
    ck_assert_ptr_nonnull(once);
    ck_assert_ptr_eq(once, strstr(got->err, "the variable NOT_SET_AT_ALL is not set, expected"));
    ck_assert_ptr_null(strstr(once + 1, "the variable NOT_SET_AT_ALL"));
    free(got);
    unlink(path);
}
END_TEST

/* The exporter needs one endpoint of several, so that no single one is required. */
START_TEST(a_variable_that_is_not_set_is_told_once_and_in_one_way)
{
    char path[64];
    ran_file(ran_config, path);
    unsetenv("NOT_SET_AT_ALL");
    struct ran *got = ran(WORDS("validate", "--config", path, "--set",
                                "exporters.otlp_http.endpoint=${env:NOT_SET_AT_ALL}", "--set",
                                "exporters.pyroscope.endpoint=${env:NOT_SET_AT_ALL}"));
    ck_assert_int_eq(got->code, EXIT_CONFIG);
    ck_assert_str_eq(got->err, "--set exporters.otlp_http.endpoint: the variable NOT_SET_AT_ALL is "
                               "not set, expected a value\n"
                               "--set exporters.pyroscope.endpoint: the variable NOT_SET_AT_ALL is "
                               "not set, expected a value\n");
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
        ":4: receivers.otlp.protocols.grpc.tls.key_file: is required with cert_file\n",
        ":5: receivers.otlp.protocols.http.tls: a server needs cert_file and key_file\n",
        ":6: receivers.pyroscope.tls.min_version: found 1.1, expected one of 1.2, 1.3",
        ":7: receivers.pyroscope/b.tls.max_version: 1.2 is below min_version, which is 1.3\n",
        ":8: receivers.pyroscope/b.tls.tpm: a key of the Collector that spanlink does not "
        "support\n",
        ":10: exporters.otlp_http.tls.cert_file: is required with key_file\n",
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
        "    tpm: {enabled: true}}}\n"
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

/* A configuration of receivers and exporters in flow style, each used. */
static struct ran *validated(const char *receivers, const char *exporters, const char *rest)
{
    char path[64], yaml[4096], names[2][256] = {"", ""};
    const char *sections[] = {receivers, exporters};
    for (int i = 0; i < 2; i++)
        for (const char *at = sections[i], *end; (end = strstr(at, ": {"));
             at = strchr(end, '\n')) {
            const char *from = end;
            while (from > sections[i] && from[-1] != '\n')
                from--;
            size_t n = strlen(names[i]);
            from += strspn(from, " ");
            snprintf(names[i] + n, sizeof names[i] - n, "%s%.*s", n ? ", " : "", (int)(end - from),
                     from);
        }
    snprintf(yaml, sizeof yaml,
             "receivers:\n%sexporters:\n%s%sservice:\n  pipelines:\n"
             "    profiles: {receivers: [%s], exporters: [%s]}\n",
             receivers, exporters, rest, names[0], names[1]);
    ran_file(yaml, path);
    struct ran *got = ran(WORDS("validate", "--config", path));
    unlink(path);
    return got;
}

static void fails(const char *receivers, const char *exporters, const char *rest, const char *want)
{
    struct ran *got = validated(receivers, exporters, rest);
    ck_assert_msg(got->code == EXIT_CONFIG && strstr(got->err, want), "%d %s", got->code, got->err);
    free(got);
}

static void passes(const char *receivers, const char *exporters, const char *warning)
{
    struct ran *got = validated(receivers, exporters, "");
    ck_assert_msg(got->code == EXIT_OK, "%s", got->err);
    if (warning)
        ck_assert_msg(strstr(got->err, warning), "%s", got->err);
    else
        ck_assert_str_eq(got->err, "");
    free(got);
}

#define DEBUG "  debug: {}\n"

START_TEST(two_listeners_on_one_address_are_told)
{
    fails(
        "  pyroscope: {endpoint: 'localhost:4040'}\n  pyroscope/b: {endpoint: '127.0.0.1:4040'}\n",
        DEBUG, "",
        ":3: receivers.pyroscope/b.endpoint: listens on 127.0.0.1:4040, as "
        "receivers.pyroscope.endpoint does\n");
    fails("  pyroscope: {endpoint: ':4040'}\n  pyroscope/b: {endpoint: '10.0.0.1:4040'}\n", DEBUG,
          "", "receivers.pyroscope/b.endpoint: listens on 10.0.0.1:4040, as");
    fails("  pyroscope: {endpoint: 'unix:/a'}\n  pyroscope/b: {endpoint: 'unix:/a'}\n", DEBUG, "",
          "receivers.pyroscope/b.endpoint: listens on unix:/a, as");
    fails("  otlp: {protocols: {grpc: {endpoint: 'h:1'}, http: {endpoint: 'h:1'}}}\n", DEBUG, "",
          "receivers.otlp.protocols.http.endpoint: listens on h:1, as "
          "receivers.otlp.protocols.grpc.endpoint does");
    passes("  pyroscope: {endpoint: 'localhost:0'}\n  pyroscope/b: {endpoint: 'localhost:0'}\n",
           DEBUG, NULL);
    passes("  pyroscope: {endpoint: '10.0.0.1:1'}\n  pyroscope/b: {endpoint: '10.0.0.2:1'}\n",
           DEBUG, NULL);
}
END_TEST

START_TEST(an_exporter_to_an_own_receiver_is_warned_of)
{
    passes("  otlp: {protocols: {http: {endpoint: '0.0.0.0:4318'}}}\n",
           "  otlp_http: {endpoint: 'http://localhost:4318'}\n",
           ": exporters.otlp_http.endpoint: sends to localhost:4318, which is "
           "receivers.otlp.protocols.http.endpoint of this process: it refuses looped data\n");
    passes("  pyroscope: {endpoint: 'localhost:4040'}\n",
           "  pyroscope: {endpoint: 'http://127.0.0.1:4040/'}\n", "sends to 127.0.0.1:4040");
    passes("  otlp: {protocols: {grpc: {endpoint: 'unix:/a'}}}\n",
           "  otlp_grpc: {endpoint: 'unix:/a', tls: {insecure: true}}\n", "sends to unix:/a");
    passes("  otlp: {protocols: {http: {endpoint: 'localhost:4318'}}}\n",
           "  otlp_http: {endpoint: 'http://localhost:4319'}\n", NULL);
    passes("  otlp: {protocols: {http: {endpoint: 'localhost:4318'}}}\n",
           "  otlp_http: {endpoint: 'http://backend:4318'}\n", NULL);
}
END_TEST

START_TEST(what_does_nothing_is_warned_of)
{
    char path[64];
    ran_file("receivers: {otlp: {protocols: {http: {endpoint: 'localhost:0'}}}, pyroscope: {}}\n"
             "extensions: {zpages: {}}\n"
             "exporters: {debug: }\n"
             "service: {pipelines: {traces: {receivers: [otlp], exporters: [debug]}}}\n",
             path);
    struct ran *got = ran(WORDS("validate", "--config", path));
    ck_assert_int_eq(got->code, EXIT_OK);
    ck_assert_msg(
        strstr(got->err, ":1: receivers.pyroscope: is in no pipeline, so it does nothing\n"), "%s",
        got->err);
    ck_assert_msg(strstr(got->err, ":2: extensions.zpages: is not in service.extensions, so "
                                   "it does nothing\n"),
                  "%s", got->err);
    free(got);
    unlink(path);
    passes("  otlp: {protocols: {http: {endpoint: 'localhost:0'}}}\n",
           "  otlp_http: {endpoint: 'http://x:4318', compression_params: {level: 3}, "
           "disable_keep_alives: true, http2_read_idle_timeout: 1s, http2_ping_timeout: 1s}\n",
           ": exporters.otlp_http.disable_keep_alives: has no effect: connections are kept\n");
    passes("  otlp: {protocols: {http: {endpoint: 'localhost:0'}}}\n",
           "  otlp_grpc: {endpoint: 'x:4317', keepalive: {time: 10s}, balancer_name: round_robin, "
           "authority: y, wait_for_ready: true}\n",
           ": exporters.otlp_grpc.keepalive: has no effect: a dead connection is "
           "replaced");
}
END_TEST

START_TEST(a_budget_without_room_for_data_is_refused_with_the_least)
{
    static const struct {
        const char *limit;
        int code;
    } cases[] = {{"1", EXIT_CONFIG}, {"6", EXIT_CONFIG}, {"7", EXIT_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[64], text[600];
        snprintf(text, sizeof text,
                 "receivers: {otlp: {protocols: {http: {endpoint: 'localhost:0'}}}}\n"
                 "processors: {memory_limiter: {limit_mib: %s}}\n"
                 "exporters: {debug: }\n"
                 "extensions: {status: {endpoint: 'localhost:0'}}\n"
                 "service:\n"
                 "  extensions: [status]\n"
                 "  pipelines: {traces: {receivers: [otlp], processors: [memory_limiter], "
                 "exporters: [debug]}}\n",
                 cases[i].limit);
        ran_file(text, path);
        struct ran *got = ran(WORDS("validate", "--config", path));
        ck_assert_msg(got->code == cases[i].code, "%s: %s", cases[i].limit, got->err);
        ck_assert_int_eq(strstr(got->err, "a limit_mib of 7 is the least that works") != NULL,
                         got->code != EXIT_OK);
        free(got);
        unlink(path);
    }
}
END_TEST

START_TEST(variables_of_go_are_warned_of_where_they_are_asked_for)
{
    char path[64], yaml[512];
    for (int on = false; on <= true; on++) {
        snprintf(yaml, sizeof yaml,
                 "receivers: {otlp: {protocols: {http: {endpoint: 'localhost:0'}}}}\n"
                 "extensions: {zpages: {endpoint: 'localhost:0', expvar: {enabled: %s}}}\n"
                 "exporters: {debug: }\n"
                 "service: {extensions: [zpages], "
                 "pipelines: {traces: {receivers: [otlp], exporters: [debug]}}}\n",
                 on ? "true" : "false");
        ran_file(yaml, path);
        struct ran *got = ran(WORDS("validate", "--config", path));
        ck_assert_int_eq(got->code, EXIT_OK);
        ck_assert_msg(on ? strstr(got->err, "zpages.expvar.enabled: has no effect: ") != NULL
                         : !*got->err,
                      "%s", got->err);
        free(got);
        unlink(path);
    }
}
END_TEST

START_TEST(endpoints_that_are_hardly_meant_are_warned_of)
{
    static const char otlp[] = "  otlp: {protocols: {http: {endpoint: 'localhost:0'}}}\n";
    passes(otlp, "  otlp_http: {endpoint: 'http://x:4318/v1/traces'}\n",
           ": exporters.otlp_http.endpoint: ends in /v1/traces, which is added again: remove it, "
           "or use traces_endpoint\n");
    passes(otlp, "  otlp_http: {endpoint: 'http://x:4317'}\n",
           ": exporters.otlp_http.endpoint: uses port 4317, which is for gRPC: use the "
           "exporter otlp_grpc, or port 4318\n");
    passes(otlp, "  otlp_http: {endpoint: 'http://x:4318/otlp'}\n", NULL);
    passes(otlp, "  otlp_http: {traces_endpoint: 'http://x:4318/v1/traces'}\n", NULL);
}
END_TEST

START_TEST(labels_that_links_need_are_not_replaced_unseen)
{
    static const char profiles[] = "  pyroscope: {endpoint: 'localhost:0'}\n";
    passes(profiles,
           "  pyroscope: {endpoint: 'http://x:4040', external_labels: {service_name: a}}\n",
           ": exporters.pyroscope.external_labels: service_name replaces that of every profile");
    passes(profiles, "  pyroscope: {endpoint: 'http://x:4040', external_labels: {pod: a}}\n", NULL);
}
END_TEST

START_TEST(keys_that_are_another_way_here_get_it)
{
    static const char otlp[] = "  otlp: {protocols: {http: {endpoint: 'localhost:0'}}}\n";
    fails(otlp, "  otlp_http: {endpoint: 'http://x', sending_queue: {storage: file_storage}}\n", "",
          "exporters.otlp_http.sending_queue.storage: a key of the Collector that spanlink does "
          "not support: the extension journal keeps acknowledged data on disk\n");
    fails(otlp,
          "  otlp_http: {endpoint: 'http://x', sending_queue: {batch: {min_size: 9, max_size: "
          "8}}}\n",
          "",
          "exporters.otlp_http.sending_queue.batch.max_size: must be greater than or equal to "
          "min_size\n");
    passes(otlp, "  otlp_http: {endpoint: 'http://x', sending_queue: {sizer: items}}\n", NULL);
    fails(otlp, "  otlp_grpc: {endpoint: 'x:4317', insecure: true}\n", "",
          "exporters.otlp_grpc.insecure: belongs in the section tls: write tls.insecure\n");
}
END_TEST

START_TEST(certificates_that_are_not_there_are_told)
{
    fails("  pyroscope: {tls: {cert_file: /nowhere/c, key_file: /nowhere/k}}\n", DEBUG, "",
          ":2: receivers.pyroscope.tls.cert_file: /nowhere/c cannot be read: No such file");
    fails("  pyroscope: {}\n",
          "  pyroscope: {endpoint: 'https://x', tls: {ca_file: /nowhere/ca}}\n", "",
          "exporters.pyroscope.tls.ca_file: /nowhere/ca cannot be read: No such file");
    fails(
        "  pprof: {server: {endpoint: 'localhost:0', tls: {cert_file: /nowhere/c, key_file: k}}}\n",
        DEBUG, "", "receivers.pprof.server.tls.cert_file: /nowhere/c cannot be read");
    fails("  otlp: {protocols: {grpc: {tls: {cert_pem: x, key_pem: y}}}}\n", DEBUG, "",
          "receivers.otlp.protocols.grpc.tls.cert_pem: it holds no certificate in PEM");
}
END_TEST

START_TEST(files_of_users_and_tokens_are_read)
{
    char users[64], yaml[512];
    ran_file("good:plain\nbad:rqXexS6ZhobKA\n", users);
    snprintf(yaml, sizeof yaml, "extensions: {basicauth: {htpasswd: {file: %s}}}\n", users);
    struct ran *got;
    char path[64], whole[2048];
    static const char rest[] = "receivers: {pyroscope: {auth: {authenticator: %s}}}\n"
                               "exporters: {debug: }\n"
                               "service: {extensions: [%s], pipelines: "
                               "{profiles: {receivers: [pyroscope], exporters: [debug]}}}\n";
    size_t n = (size_t)snprintf(whole, sizeof whole, "%s", yaml);
    snprintf(whole + n, sizeof whole - n, rest, "basicauth", "basicauth");
    ran_file(whole, path);
    got = ran(WORDS("validate", "--config", path));
    ck_assert_int_eq(got->code, EXIT_CONFIG);
    ck_assert_msg(strstr(got->err, "extensions.basicauth.htpasswd.file: ") &&
                      strstr(got->err, "line 2 has a DES-crypt hash, which is too weak"),
                  "%s", got->err);
    ck_assert_ptr_null(strstr(got->err, "rqXex"));
    free(got);
    unlink(users);
    unlink(path);
    n = (size_t)snprintf(whole, sizeof whole,
                         "extensions: {bearertokenauth: {filename: /nowhere/t}}\n");
    snprintf(whole + n, sizeof whole - n, rest, "bearertokenauth", "bearertokenauth");
    ran_file(whole, path);
    got = ran(WORDS("validate", "--config", path));
    ck_assert_int_eq(got->code, EXIT_CONFIG);
    ck_assert_msg(strstr(got->err, "extensions.bearertokenauth.filename: cannot read /nowhere/t"),
                  "%s", got->err);
    free(got);
    unlink(path);
}
END_TEST

START_TEST(service_keys_without_effect_are_warned_of)
{
    char path[64];
    ran_file(ran_config, path);
    struct ran *got =
        ran(WORDS("validate", "--config", path, "--set", "service.telemetry.metrics.views=[{a: b}]",
                  "--set", "service.telemetry.logs.processors=[{a: b}]"));
    ck_assert_int_eq(got->code, EXIT_OK);
    ck_assert_msg(strstr(got->err, "service.telemetry.metrics.views: has no effect: "), "%s",
                  got->err);
    ck_assert_msg(strstr(got->err, "service.telemetry.logs.processors: has no effect: the log "
                                   "goes only to output_paths\n"),
                  "%s", got->err);
    free(got);
    got = ran(WORDS("validate", "--config", path, "--set", "service.telemetry.metrics.level=none",
                    "--set", "service.telemetry.logs.encoding=console", "--set",
                    "service.telemetry.logs.output_paths=[stderr]"));
    ck_assert_str_eq(got->err, "");
    free(got);
    unlink(path);
}
END_TEST

#define ONE_TOPIC "topic of the old form, and a receiver reads one signal from a topic"

/* Checks what validate says of an exporter kafka with these keys, to which two signals go: nothing
 * if want is NULL. */
static void kafka_is(const char *keys, bool right, const char *want)
{
    char path[64], text[512];
    snprintf(text, sizeof text,
             "receivers: {otlp: {protocols: {http: {endpoint: 'localhost:0'}}}}\n"
             "exporters:\n  kafka:\n    %s\n"
             "service: {pipelines: {traces: {receivers: [otlp], exporters: [kafka]},\n"
             "  logs: {receivers: [otlp], exporters: [kafka]}}}\n",
             keys);
    ran_file(text, path);
    struct ran *got = ran(WORDS("validate", "--config", path));
    ck_assert_msg((got->code == EXIT_OK) == right, "%s", got->err);
    ck_assert_msg(want ? strstr(got->err, want) != NULL : !*got->err, "%s", got->err);
    free(got);
    unlink(path);
}

START_TEST(several_signals_in_one_topic_are_warned_of)
{
    kafka_is("topic: a", true, ": exporters.kafka: writes several signals into the one " ONE_TOPIC);
    kafka_is("{topic: a, traces: {topic: b}}", true, "topic: is the old form: use traces.topic");
    kafka_is("{traces: {topic: b}, logs: {topic: a}}", true, NULL);
    kafka_is("{traces: {topic: a}, logs: {topic: a}}", true,
             ": exporters.kafka: writes several signals into one topic, and a receiver");
    kafka_is("traces: {topic: otlp_logs}", true, "traces.topic, metrics.topic and so on different");
    kafka_is("traces: {topic: otlp_metrics}", true, NULL);
}
END_TEST

/* As kafka_is, with one pipeline of spans and one of profiles. */
static void kafka_pair_is(const char *keys, const char *want)
{
    char path[64], text[512];
    snprintf(text, sizeof text,
             "receivers:\n"
             "  otlp: {protocols: {http: {endpoint: 'localhost:0'}}}\n"
             "  pyroscope: {endpoint: 'localhost:0'}\n"
             "exporters:\n  kafka:\n    %s\n"
             "service: {pipelines: {traces: {receivers: [otlp], exporters: [kafka]},\n"
             "  profiles: {receivers: [pyroscope], exporters: [kafka]}}}\n",
             keys);
    ran_file(text, path);
    struct ran *got = ran(WORDS("validate", "--config", path));
    ck_assert_msg(got->code == EXIT_OK, "%s", got->err);
    ck_assert_msg(want ? strstr(got->err, want) != NULL : !*got->err, "%s", got->err);
    free(got);
    unlink(path);
}

START_TEST(spans_and_profiles_without_a_key_are_warned_of)
{
    kafka_pair_is("traces: {topic: a}",
                  ": exporters.kafka: writes spans and profiles without a key");
    kafka_pair_is("partition_by: [none]", NULL);
    kafka_pair_is("partition_by: [service, source]", NULL);
    kafka_pair_is("partition_traces_by_id: true", NULL);
    kafka_pair_is("profiles: {encoding: native}", NULL);
}
END_TEST

START_TEST(what_breaks_links_behind_correlation_is_warned_of)
{
    char path[64], want[400];
    ran_file("receivers: {otlp: {protocols: {http: {endpoint: 'localhost:0'}}}}\n"
             "processors:\n"
             "  correlation:\n"
             "  redaction:\n"
             "    allowed_keys: [service.name]\n"
             "exporters: {debug: }\n"
             "service:\n"
             "  pipelines:\n"
             "    traces: {receivers: [otlp], processors: [correlation, redaction], "
             "exporters: [debug]}\n"
             "    profiles: {receivers: [otlp], processors: [correlation], exporters: [debug]}\n",
             path);
    struct ran *got = ran(WORDS("validate", "--config", path));
    snprintf(want, sizeof want,
             "%s:5: processors.redaction.allowed_keys: removes pyroscope.profile.id behind "
             "correlation in pipeline traces, and with it the link to the flame graph: add "
             "pyroscope.profile.id to allowed_keys\n",
             path);
    ck_assert_int_eq(got->code, EXIT_OK);
    ck_assert_msg(strstr(got->err, want) != NULL, "%s", got->err);
    free(got);
    got = ran(WORDS("validate", "--config", path, "--set",
                    "processors.redaction.allowed_keys=[service.name, pyroscope.profile.id]"));
    ck_assert_int_eq(got->code, EXIT_OK);
    ck_assert_str_eq(got->err, "");
    free(got);
    unlink(path);
}
END_TEST

START_TEST(one_variable_may_hold_several_brokers)
{
    setenv("KAFKA_BROKERS", "a:9092,b:9092", 1);
    kafka_is("brokers: '${env:KAFKA_BROKERS}'", true, NULL);
    kafka_is("brokers: ${env:KAFKA_BROKERS}", true, NULL);
    setenv("KAFKA_BROKERS", "a:9092", 1);
    kafka_is("brokers: ${env:KAFKA_BROKERS}", true, NULL);
    setenv("KAFKA_BROKERS", "[a:9092, b:9092]", 1);
    kafka_is("brokers: ${env:KAFKA_BROKERS}", true, NULL);
    setenv("KAFKA_BROKERS", "a:9092,b:x", 1);
    kafka_is("brokers: ${env:KAFKA_BROKERS}", false, "has \"b:x\", expected host:port");
    unsetenv("KAFKA_BROKERS");
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
                        a_variable_that_is_not_set_is_told_once_and_in_one_way,
                        an_endpoint_from_an_unset_variable_is_refused,
                        a_missing_file_is_named,
                        what_of_tls_does_not_go_together_is_told,
                        two_listeners_on_one_address_are_told,
                        an_exporter_to_an_own_receiver_is_warned_of,
                        what_does_nothing_is_warned_of,
                        a_budget_without_room_for_data_is_refused_with_the_least,
                        variables_of_go_are_warned_of_where_they_are_asked_for,
                        endpoints_that_are_hardly_meant_are_warned_of,
                        labels_that_links_need_are_not_replaced_unseen,
                        keys_that_are_another_way_here_get_it,
                        certificates_that_are_not_there_are_told,
                        files_of_users_and_tokens_are_read,
                        service_keys_without_effect_are_warned_of,
                        several_signals_in_one_topic_are_warned_of,
                        spans_and_profiles_without_a_key_are_warned_of,
                        what_breaks_links_behind_correlation_is_warned_of,
                        one_variable_may_hold_several_brokers,
                        NULL,
                    });
}
