/* Pulls profiles from a scripted server. */
#include "receivers/pprof/pprof.h"

#include "lib/net/endpoint.h"
#include "lib/wire/pprof/pprof.h"
#include "tests/support/backend.h"
#include "tests/support/captured.h"
#include "tests/support/forever.h"
#include "tests/support/keeper.h"
#include "tests/support/pprof_build.h"
#include "tests/support/pprof_text.h"
#include "tests/support/script_server.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

extern const struct component receiver_pprof;
const struct component *const component_table[] = {&receiver_pprof, &scripted_keeper, NULL};

#define OFF(name) #name ": {enabled: false}"
/* A receiver with only the standard profiles in `profiles`. */
#define PIPELINE                                                                                   \
    "exporters: {keeper: {sending_queue: {enabled: false}, retry_on_failure: {enabled: false}}}\n" \
    "service: {pipelines: {profiles: {receivers: [pprof_scrape], exporters: [keeper]}}}\n"
#define ONLY_MUTEX                                                                                 \
    "profiles: {" OFF(process_cpu) ", " OFF(memory) ", " OFF(goroutine) ", " OFF(block) "}"

static struct backend backend;
static struct given_runtime given;

/* Starts with the receiver's keys, in which one "%s" is the server's address. */
static void begin(const char *keys)
{
    char *yaml, *filled;
    const char *mark = strstr(keys, "%s");
    ck_assert_ptr_nonnull(mark);
    ck_assert_int_gt(
        asprintf(&filled, "%.*s%s%s", (int)(mark - keys), keys, backend.bound, mark + 2), 0);
    ck_assert_int_gt(asprintf(&yaml, "receivers: {pprof_scrape: {%s}}\n" PIPELINE, filled), 0);
    given_start(&given, yaml);
    free(yaml);
    free(filled);
}

static void end(void)
{
    ck_assert_uint_eq(given_stop(&given), 0);
    backend_stop(&backend);
}

static struct view mutex_profile(int64_t n)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "contentions", "count");
    pprof_build_type(build, "delay", "nanoseconds");
    pprof_build_time(build, 1700000000000000000, 0);
    pprof_build_sample(build, (const int64_t[]){n, n * 100},
                       (const char *const[]){"lock", "main", NULL});
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return forever(raw);
}

static void answer_with(size_t nth, struct view body)
{
    backend.answers[nth].body = body;
}

static void assert_label(const struct batch *batch, const char *name, const char *value)
{
    struct view got = series_get(batch->series, view_of(name));
    ck_assert_msg(view_eq(got, view_of(value)), "%s is %.*s", name, VIEW_ARG(got));
}

START_TEST(a_profile_of_a_target_has_its_labels)
{
    struct view raw = mutex_profile(3);
    backend_start(&backend);
    answer_with(0, receiver_gzip(raw));
    begin("interval: 1s, headers: {X-Scope-OrgID: me}, targets: [{endpoint: 'http://u:p@%s/app/',"
          " service_name: shop, labels: {env: dev}}], profiles: {" OFF(process_cpu) ", " OFF(
              memory) ", " OFF(block) ", " OFF(mutex) "}");
    const struct batch *batch = keeper_batch(0);
    ck_assert_int_eq(batch->encoding, BATCH_PPROF);
    ck_assert(view_eq(buffer_view(batch->payload), raw));
    assert_label(batch, "__name__", "goroutine");
    assert_label(batch, "service_name", "shop");
    assert_label(batch, "instance", backend.bound);
    assert_label(batch, "env", "dev");
    assert_label(batch, "job", "pprof_scrape");
    assert_label(batch, "otel.scope.name", "spanlink/pprof_scrape");
    ck_assert_ptr_nonnull(series_get(batch->series, VIEW("otel.scope.version")).data);
    ck_assert_uint_eq(batch->series->count, 7);
    ck_assert(!batch->profile->by_ingest);
    ck_assert_uint_gt(batch->profile->from_ns, 0);
    ck_assert_uint_ge(batch->profile->until_ns, batch->profile->from_ns);
    end();
    ck_assert_str_eq(backend.requests[0].path, "/app/debug/pprof/goroutine");
    ck_assert_str_eq(backend.requests[0].query, "");
    ck_assert_str_eq(backend.requests[0].tenant, "me");
    ck_assert_str_eq(backend.requests[0].authorization, "Basic dTpw");
}
END_TEST

START_TEST(a_cumulative_profile_is_sent_by_its_growth)
{
    backend_start(&backend);
    answer_with(0, mutex_profile(10));
    answer_with(1, mutex_profile(13));
    answer_with(2, mutex_profile(13));
    answer_with(3, mutex_profile(14));
    begin("interval: 1s, targets: [{endpoint: '%s', service_name: shop}], " ONLY_MUTEX);
    const int64_t grown[] = {3, 1};
    for (size_t i = 0; i < 2; i++) {
        const struct batch *batch = keeper_batch(i);
        struct bytes got = pprof_text(buffer_view(batch->payload), true);
        struct bytes want = pprof_text(mutex_profile(grown[i]), true);
        ck_assert(view_eq(bytes_view(&got), bytes_view(&want)));
        assert_label(batch, "__name__", "mutex");
        bytes_release(&got);
        bytes_release(&want);
    }
    end();
    ck_assert_str_eq(backend.requests[0].path, "/debug/pprof/mutex");
}
END_TEST

START_TEST(a_timed_profile_is_asked_for_with_its_seconds)
{
    struct view raw = mutex_profile(3);
    backend_start(&backend);
    answer_with(0, raw);
    begin("interval: 2s, targets: [{endpoint: '%s', service_name: shop}],"
          " profiles: {" OFF(memory) ", " OFF(goroutine) ", " OFF(block) ", " OFF(mutex) "}");
    assert_label(keeper_batch(0), "__name__", "process_cpu");
    end();
    ck_assert_str_eq(backend.requests[0].path, "/debug/pprof/profile");
    ck_assert_str_eq(backend.requests[0].query, "seconds=1");
}
END_TEST

START_TEST(custom_profiles_have_their_own_path_and_name)
{
    backend_start(&backend);
    answer_with(0, mutex_profile(3));
    begin("interval: 2s, duration: 1s, targets: [{endpoint: '%s', service_name: shop}],"
          " profiles: {" OFF(process_cpu) ", " OFF(memory) ", " OFF(goroutine) ", " OFF(
              block) ", " OFF(mutex) ", custom: [{name: wall, path: '/wall?hz=99', timed: true}]}");
    assert_label(keeper_batch(0), "__name__", "wall");
    end();
    ck_assert_str_eq(backend.requests[0].path, "/wall");
    ck_assert_str_eq(backend.requests[0].query, "hz=99&seconds=1");
}
END_TEST

START_TEST(what_is_no_profile_is_passed_over)
{
    struct view raw = mutex_profile(3);
    backend_start(&backend);
    backend.answers[0] =
        (struct backend_answer){.status = 404, .body = VIEW("404 page not found\n")};
    answer_with(1, VIEW("<html>"));
    answer_with(2, VIEW(""));
    answer_with(3, raw);
    begin("interval: 1s, targets: [{endpoint: '%s', service_name: shop}], profiles: {" OFF(
        process_cpu) ", " OFF(memory) ", " OFF(block) ", " OFF(mutex) "}");
    ck_assert(view_eq(buffer_view(keeper_batch(0)->payload), raw));
    end();
    ck_assert_uint_ge(backend.count, 4);
}
END_TEST

START_TEST(a_profile_that_finds_no_room_is_offered_again)
{
    const struct outcome busy = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "busy");
    backend_start(&backend);
    answer_with(0, mutex_profile(3));
    keeper_answers(&busy);
    keeper_gate(true);
    begin("interval: 1s, max_concurrent: 1, targets: [{endpoint: '%s', service_name: shop}],"
          " profiles: {" OFF(process_cpu) ", " OFF(memory) ", " OFF(block) ", " OFF(mutex) "}");
    keeper_gate(false);
    ck_assert(view_eq(buffer_view(keeper_batch(0)->payload), mutex_profile(3)));
    keeper_answers(&OUTCOME_OK);
    ck_assert(view_eq(buffer_view(keeper_batch(1)->payload), mutex_profile(3)));
    end();
}
END_TEST

START_TEST(targets_come_from_a_name)
{
    char keys[512], instance[300];
    backend_start(&backend);
    answer_with(0, mutex_profile(3));
    const char *port = strrchr(backend.bound, ':') + 1;
    snprintf(keys, sizeof keys,
             "interval: 1s, dns: [{name: localhost, port: %s, service_name: shop,"
             " labels: {at: '%%s'}}], profiles: {" OFF(process_cpu) ", " OFF(memory) ", " OFF(
                 block) ", " OFF(mutex) "}",
             port);
    begin(keys);
    const struct batch *batch = keeper_batch(0);
    snprintf(instance, sizeof instance, "127.0.0.1:%s", port);
    assert_label(batch, "instance", instance);
    assert_label(batch, "service_name", "shop");
    assert_label(batch, "at", backend.bound);
    end();
}
END_TEST

START_TEST(a_remote_is_pulled_as_its_url_says)
{
    backend_start(&backend);
    answer_with(0, mutex_profile(3));
    begin("remote: {endpoint: 'http://%s/debug/pprof/block?seconds=1', initial_delay: 0s}");
    const struct batch *batch = keeper_batch(0);
    assert_label(batch, "__name__", "block");
    assert_label(batch, "service_name", "unknown_service");
    assert_label(batch, "instance", backend.bound);
    end();
    ck_assert_str_eq(backend.requests[0].path, "/debug/pprof/block");
    ck_assert_str_eq(backend.requests[0].query, "seconds=1");
}
END_TEST

#define ONLY_GOROUTINE                                                                             \
    "profiles: {" OFF(process_cpu) ", " OFF(memory) ", " OFF(block) ", " OFF(mutex) "}"

START_TEST(parameters_are_sent_with_every_pull)
{
    backend_start(&backend);
    answer_with(0, mutex_profile(3));
    begin("interval: 2s, job_name: night, params: {debug: '0', a b: ['1', 'x&y']},"
          " targets: [{endpoint: '%s', service_name: shop, labels: {otel.scope.name: mine}}],"
          " profiles: {" OFF(memory) ", " OFF(goroutine) ", " OFF(block) ", " OFF(mutex) "}");
    const struct batch *batch = keeper_batch(0);
    assert_label(batch, "job", "night");
    assert_label(batch, "otel.scope.name", "mine");
    ck_assert_ptr_null(series_get(batch->series, VIEW("otel.scope.version")).data);
    end();
    ck_assert_str_eq(backend.requests[0].query, "debug=0&a%20b=1&a%20b=x%26y&seconds=1");
}
END_TEST

/* Starts with a target that sends these responses. */
static void begin_script(struct script_server *script, const char *const *answers, const char *keys)
{
    *script = (struct script_server){.answers = answers};
    script_server_start(script);
    snprintf(backend.bound, sizeof backend.bound, "%.150s", script->bound);
    begin(keys);
}

#define MOVED(to) "HTTP/1.1 302 Found\r\nLocation: " to "\r\nContent-Length: 0\r\n\r\n"

START_TEST(redirects_to_the_same_host_are_followed)
{
    backend_start(&backend);
    backend.answers[0].status = 302;
    backend.locations[0] = "/elsewhere";
    backend.answers[1].status = 307;
    backend.locations[1] = "?x=1";
    answer_with(2, mutex_profile(3));
    begin("interval: 1s, targets: [{endpoint: '%s', service_name: shop}], " ONLY_GOROUTINE);
    assert_label(keeper_batch(0), "__name__", "goroutine");
    end();
    ck_assert_str_eq(backend.requests[1].path, "/elsewhere");
    ck_assert_str_eq(backend.requests[2].path, "/elsewhere");
    ck_assert_str_eq(backend.requests[2].query, "x=1");
}
END_TEST

static void explain(char *out, size_t size)
{
    const struct instance_list *instances = &given.runtime->graph.instances;
    struct bytes text;
    bytes_init(&text, 1 << 16, NULL);
    for (size_t i = 0; i < instances->count; i++)
        if (instances->items[i]->component == &receiver_pprof)
            receiver_pprof.explain(instances->items[i]->self, &text);
    snprintf(out, size, "%.*s", VIEW_ARG(bytes_view(&text)));
    bytes_release(&text);
}

static void expect_fault(const char *const *answers, const char *keys, const char *fault)
{
    char text[4096] = "";
    struct script_server script;
    begin_script(&script, answers, keys);
    while (!strstr(text, "failed 1")) {
        explain(text, sizeof text);
        sched_yield();
    }
    ck_assert_msg(strstr(text, fault), "%s", text);
    ck_assert_uint_eq(keeper_count(), 0);
    ck_assert_uint_eq(given_stop(&given), 0);
    script_server_stop(&script);
}

START_TEST(other_redirects_are_not_followed)
{
#define KEYS "interval: 1s, targets: [{endpoint: '%s', service_name: shop}], " ONLY_GOROUTINE
    const char *const away[] = {MOVED("http://example.invalid/"), NULL};
    const char *const once[] = {MOVED("/x"), NULL};
    const char *const round[] = {MOVED("/1"), MOVED("/2"),  MOVED("/3"),  MOVED("/4"),
                                 MOVED("/5"), MOVED("/6"),  MOVED("/7"),  MOVED("/8"),
                                 MOVED("/9"), MOVED("/10"), MOVED("/11"), NULL};
    expect_fault(away, KEYS, "answered 302: redirect to another host");
    expect_fault(round, KEYS, "answered 302: too many redirects");
    expect_fault(once, "follow_redirects: false, " KEYS, "answered 302");
}
END_TEST

/* Answers requests for "/good" and hangs up on all others, until its listener is shut down. */
static _Atomic unsigned hung_up;

static void *hang_up_on_bad(void *listener)
{
    static const char head[] = "HTTP/1.0 200 OK\r\n\r\n";
    const struct view profile = mutex_profile(3);
    int fd;
    while (script_server_wait(*(int *)listener) &&
           (fd = accept(*(int *)listener, NULL, NULL)) >= 0) {
        char request[2048] = "";
        (void)!recv(fd, request, sizeof request - 1, 0);
        if (strncmp(request, "GET /good", 9) != 0)
            hung_up++;
        else if (send(fd, head, sizeof head - 1, MSG_NOSIGNAL | MSG_MORE) > 0)
            send(fd, profile.data, profile.size, MSG_NOSIGNAL);
        close(fd);
    }
    return NULL;
}

START_TEST(a_profile_without_answer_is_logged_once_beside_one_that_answers)
{
    const struct endpoint at = {.host = "127.0.0.1", .service = "0"};
    char error[256];
    pthread_t thread;
    int listener = endpoint_listen(&at, backend.bound, sizeof backend.bound, error, sizeof error);
    ck_assert_msg(listener >= 0, "%s", error);
    pthread_create(&thread, NULL, hang_up_on_bad, &listener);
    captured_begin();
    begin("interval: 50ms, targets: [{endpoint: '%s', service_name: shop}],"
          " profiles: {" OFF(process_cpu) ", " OFF(memory) ", " OFF(goroutine) ", " OFF(
              block) ", " OFF(mutex) ", custom: [{name: good, path: /good}, {name: bad, path: "
                                     "/bad}]}");
    while (hung_up < 4 || keeper_count() < 4)
        sched_yield();
    ck_assert_uint_eq(given_stop(&given), 0);
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
    ck_assert_uint_eq(captured_with("/bad: "), 1);
    ck_assert_uint_eq(captured_with("/good: "), 0);
    ck_assert_uint_eq(captured_with("works again"), 0);
}
END_TEST

START_TEST(pulls_go_through_a_proxy)
{
    backend_start(&backend);
    answer_with(0, mutex_profile(3));
    begin("interval: 1s, proxy_url: 'http://u:p@%s', targets: [{endpoint: 'shop.invalid:6060',"
          " service_name: shop}], " ONLY_GOROUTINE);
    assert_label(keeper_batch(0), "instance", "shop.invalid:6060");
    end();
    /* The host does not exist: the request came to the proxy. */
    ck_assert_str_eq(backend.requests[0].path, "/debug/pprof/goroutine");
}
END_TEST

static void write_file(const char *path, const char *format, const char *address)
{
    char aside[300];
    snprintf(aside, sizeof aside, "%s.new", path);
    FILE *out = fopen(aside, "w");
    ck_assert_ptr_nonnull(out);
    for (const char *at = format; *at; at++)
        if (*at == '@')
            fputs(address, out);
        else
            putc(*at, out);
    fclose(out);
    ck_assert_int_eq(rename(aside, path), 0);
}

/* Waits until the receiver's report contains these words, or no longer does. */
static void await(const char *words, bool there)
{
    char text[4096];
    do {
        explain(text, sizeof text);
        sched_yield();
    } while (!strstr(text, words) == there);
}

START_TEST(targets_come_from_files_and_follow_them)
{
    char folder[] = "/tmp/pull_test.XXXXXX", keys[600], yml[64], json[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(yml, sizeof yml, "%s/a.yml", folder);
    snprintf(json, sizeof json, "%s/b.json", folder);
    backend_start(&backend);
    answer_with(0, mutex_profile(3));
    write_file(yml,
               "- targets: ['@']\n  labels: {service_name: shop, env: dev, job: own,"
               " __meta_x: y, __param_debug: '0'}\n",
               backend.bound);
    snprintf(keys, sizeof keys,
             "interval: 1s, headers: {x: '%%s'}, file_sd_configs: [{files: ['%s/*.yml', %s],"
             " service_name: other}], " ONLY_GOROUTINE,
             folder, json);
    begin(keys);
    const struct batch *batch = keeper_batch(0);
    assert_label(batch, "instance", backend.bound);
    assert_label(batch, "service_name", "shop");
    assert_label(batch, "env", "dev");
    assert_label(batch, "job", "own");
    ck_assert_ptr_null(series_get(batch->series, VIEW("__meta_x")).data);
    ck_assert_str_eq(backend.requests[0].query, "debug=0");
    /* A second file, in JSON. */
    write_file(json, "[{\"targets\": [\"127.0.0.1:1\", \"[::1]\"]}]", "");
    await("http://127.0.0.1:1/debug", true);
    await("http://[::1]:80/debug", true);
    /* An invalid file changes nothing; a valid one does. */
    write_file(yml, "- targets: 7\n", "");
    write_file(json, "[{\"targets\": [\"127.0.0.1:2\"]}]", "");
    await("http://127.0.0.1:2/debug", true);
    await("http://127.0.0.1:1/debug", false);
    await(backend.bound, true);
    ck_assert_int_eq(unlink(yml), 0);
    await(backend.bound, false);
    ck_assert_int_eq(unlink(json), 0);
    ck_assert_int_eq(rmdir(folder), 0);
    end();
}
END_TEST

START_TEST(a_target_that_goes_during_its_pull_goes_behind_it)
{
    const char *const answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx", NULL};
    struct script_server script = {.answers = answers};
    char folder[] = "/tmp/pull_test.XXXXXX", keys[600], yml[64], json[64], text[4096];
    script_server_start(&script);
    snprintf(backend.bound, sizeof backend.bound, "%.150s", script.bound);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(yml, sizeof yml, "%s/a.yml", folder);
    snprintf(json, sizeof json, "%s/b.json", folder);
    write_file(yml, "- targets: ['@']\n", script.bound);
    snprintf(keys, sizeof keys,
             "timeout: 0s, interval: 1s, headers: {x: '%%s'},"
             " file_sd_configs: [{files: ['%s/*.yml', %s], service_name: shop}], " ONLY_GOROUTINE,
             folder, json);
    begin(keys);
    while (script.requests == 0)
        sched_yield();
    ck_assert_int_eq(unlink(yml), 0);
    /* When the second one is known, a poll that started without the file is over. */
    write_file(json, "[{\"targets\": [\"127.0.0.1:1\"]}]", "");
    await("http://127.0.0.1:1/debug", true);
    write_file(json, "[{\"targets\": [\"127.0.0.1:2\"]}]", "");
    await("http://127.0.0.1:2/debug", true);
    explain(text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, script.bound));
    script_server_stop(&script);
    await(script.bound, false);
    ck_assert_int_eq(unlink(json), 0);
    ck_assert_int_eq(rmdir(folder), 0);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(a_stop_ends_a_pull_under_way)
{
    const char *const answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx", NULL};
    struct script_server script = {.answers = answers};
    script_server_start(&script);
    snprintf(backend.bound, sizeof backend.bound, "%.150s", script.bound);
    begin("timeout: 0s, remote: {endpoint: 'http://%s/x', initial_delay: 0s, service_name: shop}");
    while (script.requests == 0)
        sched_yield();
    ck_assert_uint_eq(given_stop(&given), 0);
    script_server_stop(&script);
}
END_TEST

SUITE_MAIN("receivers/pprof/pull", a_profile_of_a_target_has_its_labels,
           a_cumulative_profile_is_sent_by_its_growth,
           a_timed_profile_is_asked_for_with_its_seconds,
           custom_profiles_have_their_own_path_and_name, what_is_no_profile_is_passed_over,
           a_profile_that_finds_no_room_is_offered_again, targets_come_from_a_name,
           a_remote_is_pulled_as_its_url_says, parameters_are_sent_with_every_pull,
           redirects_to_the_same_host_are_followed, other_redirects_are_not_followed,
           a_profile_without_answer_is_logged_once_beside_one_that_answers,
           pulls_go_through_a_proxy, targets_come_from_files_and_follow_them,
           a_target_that_goes_during_its_pull_goes_behind_it, a_stop_ends_a_pull_under_way)
