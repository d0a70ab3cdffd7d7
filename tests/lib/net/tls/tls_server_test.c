/* TLS of both servers, seen by clients. */
#include "lib/net/tls/tls_server.h"

#include "lib/base/clock.h"
#include "tests/support/grpc_fixture.h"
#include "tests/support/http_fixture.h"
#include "tests/support/suite.h"
#include "tests/support/tls_world.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Both servers with TLS on. */
struct servers {
    struct tls_world world;
    struct tls_server_settings settings;
    struct http_fixture http;
    struct grpc_server *grpc;
    char grpc_bound[64];
};

static struct servers servers;

static void echo(void *ctx, struct grpc_call *call)
{
    (void)ctx;
    struct view message = grpc_fixture_message(call);
    grpc_respond(call, GRPC_OK, "", 0, message);
}

static bool serves(void *ctx, const char *path)
{
    (void)ctx, (void)path;
    return true;
}

static void prepare(void)
{
    tls_world_make(&servers.world);
    servers.settings = tls_world_server_settings(&servers.world);
    http_fixture_init(&servers.http);
}

static void start(void)
{
    char error[256];
    struct grpc_server_options options = {
        .tls = tls_world_server(&servers.settings),
        .max_message = 64 << 20,
        .threads = 1,
        .max_connections = 64,
        .max_concurrent_streams = 10,
        .header_timeout_ns = servers.http.options.header_timeout_ns,
        .handler = echo,
        .serves = serves,
    };
    strcpy(options.endpoint.host, "127.0.0.1");
    strcpy(options.endpoint.service, "0");
    servers.grpc = grpc_server_open(&options, servers.grpc_bound, sizeof servers.grpc_bound, error,
                                    sizeof error);
    ck_assert_msg(servers.grpc, "%s", error);
    servers.http.options.tls = tls_world_server(&servers.settings);
    http_fixture_start(&servers.http);
}

static void stop(void)
{
    grpc_server_close(servers.grpc, clock_mono(&clock_system) + 20 * NS_PER_S);
    http_fixture_stop(&servers.http);
    tls_world_remove(&servers.world);
}

static const char *bound_of(bool grpc)
{
    return grpc ? servers.grpc_bound : servers.http.bound;
}

/* A call of each kind on a new connection: both are answered, or neither. */
static bool served(struct http_client_options options, char *error)
{
    bool answered[2];
    for (int grpc = 0; grpc < 2; grpc++) {
        options.http2 = grpc;
        answered[grpc] = tls_world_call(&options, bound_of(grpc), error);
    }
    ck_assert_int_eq(answered[0], answered[1]);
    return answered[0];
}

static void serial_of(bool grpc, struct tls_look *look)
{
    tls_look(bound_of(grpc), NULL, NULL, look);
    ck_assert_int_eq(look->code, 0);
}

static bool same_serial(const struct tls_look *a, const struct tls_look *b)
{
    return a->serial_size == b->serial_size && memcmp(a->serial, b->serial, a->serial_size) == 0;
}

/* ---- trust ---- */

START_TEST(a_client_that_trusts_the_ca_is_served)
{
    char error[192] = "";
    prepare();
    start();
    bool ok = served(tls_world_client(&servers.world, false), error);
    ck_assert_msg(ok, "%s", error);
    stop();
}
END_TEST

START_TEST(a_client_of_another_ca_goes_away)
{
    char error[192];
    struct pki other;
    prepare();
    start();
    pki_ca(&other, "another CA");
    pki_write_certificate(&other, servers.world.paths[WORLD_CA]);
    ck_assert(!served(tls_world_client(&servers.world, false), error));
    ck_assert_ptr_eq(strstr(error, "TLS with localhost:"), error);
    pki_free(&other);
    stop();
}
END_TEST

START_TEST(a_client_ca_demands_a_certificate_of_it)
{
    char error[192];
    struct pki other;
    prepare();
    servers.settings.client_ca_file = servers.world.paths[WORLD_CA];
    start();
    ck_assert(!served(tls_world_client(&servers.world, false), error));
    bool ok = served(tls_world_client(&servers.world, true), error);
    ck_assert_msg(ok, "%s", error);
    pki_ca(&other, "another CA");
    tls_world_renew_client(&servers.world, &other);
    ck_assert(!served(tls_world_client(&servers.world, true), error));
    pki_free(&other);
    stop();
}
END_TEST

START_TEST(a_replaced_client_ca_shuts_the_old_ones_clients_out)
{
    char error[192], path[96];
    struct pki other;
    prepare();
    snprintf(path, sizeof path, "%s/clients.pem", servers.world.folder);
    pki_write_certificate(&servers.world.ca, path);
    servers.settings.client_ca_file = path;
    start();
    ck_assert(served(tls_world_client(&servers.world, true), error));
    pki_ca(&other, "the next CA");
    pki_write_certificate(&other, path);
    ck_assert(!served(tls_world_client(&servers.world, true), error));
    tls_world_renew_client(&servers.world, &other);
    bool ok = served(tls_world_client(&servers.world, true), error);
    ck_assert_msg(ok, "%s", error);
    pki_free(&other);
    stop();
}
END_TEST

START_TEST(a_session_cannot_be_resumed_past_a_replaced_client_ca)
{
    char error[192], path[96];
    struct pki other;
    struct http_reply reply;
    prepare();
    snprintf(path, sizeof path, "%s/clients.pem", servers.world.folder);
    pki_write_certificate(&servers.world.ca, path);
    servers.settings.client_ca_file = path;
    start();
    struct http_client_options options = tls_world_client(&servers.world, true);
    /* One client keeps its session for resumption; the server closes its connection in between. */
    struct http_client *client = http_client_new(&options, error, sizeof error);
    ck_assert(tls_world_post(client, false, servers.http.bound, VIEW("x"), &reply));
    http_reply_release(&reply);
    http_server_close(servers.http.server, clock_mono(&clock_system) + 20 * NS_PER_S);
    pki_ca(&other, "the next CA");
    pki_write_certificate(&other, path);
    servers.http.options.tls = tls_world_server(&servers.settings);
    http_fixture_start(&servers.http);
    ck_assert(!tls_world_post(client, false, servers.http.bound, VIEW("x"), &reply));
    http_reply_release(&reply);
    http_client_free(client);
    pki_free(&other);
    stop();
}
END_TEST

/* ---- versions and protocols ---- */

START_TEST(old_versions_are_refused)
{
    struct tls_look look;
    prepare();
    start();
    for (int grpc = 0; grpc < 2; grpc++) {
        tls_look(bound_of(grpc), "NORMAL:-VERS-ALL:+VERS-TLS1.1:+VERS-TLS1.0", NULL, &look);
        ck_assert_int_ne(look.code, 0);
        tls_look(bound_of(grpc), "NORMAL:-VERS-ALL:+VERS-TLS1.2", NULL, &look);
        ck_assert_int_eq(look.code, 0);
        ck_assert_int_eq(look.version, GNUTLS_TLS1_2);
        serial_of(grpc, &look);
        ck_assert_int_eq(look.version, GNUTLS_TLS1_3);
    }
    stop();
}
END_TEST

START_TEST(versions_are_limited_on_both_sides)
{
    static const struct {
        int min, max;
        bool old, new;
    } cases[] = {{1, 0, false, true}, {0, 1, true, false}, {0, 2, true, true}, {1, 2, false, true}};
    struct tls_look look;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        prepare();
        servers.settings.min_version = cases[i].min;
        servers.settings.max_version = cases[i].max;
        start();
        for (int grpc = 0; grpc < 2; grpc++) {
            tls_look(bound_of(grpc), "NORMAL:-VERS-ALL:+VERS-TLS1.2", NULL, &look);
            ck_assert_int_eq(look.code == 0, cases[i].old);
            tls_look(bound_of(grpc), "NORMAL:-VERS-ALL:+VERS-TLS1.3", NULL, &look);
            ck_assert_int_eq(look.code == 0, cases[i].new);
        }
        stop();
    }
}
END_TEST

START_TEST(each_server_names_its_protocol)
{
    struct tls_look look;
    prepare();
    start();
    tls_look(servers.grpc_bound, NULL, "h2", &look);
    ck_assert_str_eq(look.protocol, "h2");
    tls_look(servers.http.bound, NULL, "http/1.1", &look);
    ck_assert_str_eq(look.protocol, "http/1.1");
    tls_look(servers.grpc_bound, NULL, "http/1.1", &look);
    ck_assert_int_ne(look.code, 0);
    stop();
}
END_TEST

/* ---- replaced files ---- */

START_TEST(a_replaced_certificate_is_shown_to_the_next_client)
{
    char error[192];
    prepare();
    start();
    for (int grpc = 0; grpc < 2; grpc++) {
        struct tls_look before, after;
        serial_of(grpc, &before);
        tls_world_renew_server(&servers.world, NULL);
        serial_of(grpc, &after);
        ck_assert(!same_serial(&before, &after));
    }
    ck_assert(served(tls_world_client(&servers.world, false), error));
    stop();
}
END_TEST

/* Captures what the process writes to stderr between the two calls. */
static int saved_stderr;
static char log_path[96];

static void begin_log(void)
{
    snprintf(log_path, sizeof log_path, "%s/log", servers.world.folder);
    fflush(stderr);
    saved_stderr = dup(STDERR_FILENO);
    ck_assert_ptr_nonnull(freopen(log_path, "w", stderr));
}

static unsigned lines_with(const char *words)
{
    char line[1024];
    unsigned count = 0;
    fflush(stderr);
    FILE *log = fopen(log_path, "r");
    while (fgets(line, sizeof line, log))
        count += strstr(line, words) != NULL;
    fclose(log);
    return count;
}

static void end_log(void)
{
    fflush(stderr);
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
}

START_TEST(a_pair_that_does_not_match_yet_leaves_the_last_good_one)
{
    struct pki next;
    struct tls_look before, now;
    prepare();
    /* One server only, as each has its own files and log lines. */
    start();
    serial_of(true, &before);
    begin_log();
    pki_issue(&next, &servers.world.ca, "localhost");
    pki_write_certificate(&next, servers.world.paths[WORLD_CERT]);
    for (int i = 0; i < 3; i++) {
        serial_of(true, &now);
        ck_assert(same_serial(&before, &now));
    }
    ck_assert_uint_eq(lines_with("is not the key of the certificate in"), 1);
    ck_assert_uint_eq(lines_with(servers.world.paths[WORLD_KEY]), 1);
    ck_assert_uint_eq(lines_with("last valid"), 1);
    pki_write_key(&next, servers.world.paths[WORLD_KEY]);
    for (int i = 0; i < 3; i++) {
        serial_of(true, &now);
        ck_assert(!same_serial(&before, &now));
    }
    ck_assert_uint_eq(lines_with("were reloaded"), 1);
    ck_assert_uint_eq(lines_with(""), 2);
    end_log();
    pki_free(&next);
    stop();
}
END_TEST

START_TEST(broken_and_missing_files_leave_the_last_good_ones)
{
    static const char *const broken[] = {"", "garbage",
                                         "-----BEGIN CERTIFICATE-----\nMIIB\n"
                                         "-----END CERTIFICATE-----\n"};
    char error[192], ca[96];
    prepare();
    snprintf(ca, sizeof ca, "%s/clients.pem", servers.world.folder);
    pki_write_certificate(&servers.world.ca, ca);
    servers.settings.client_ca_file = ca;
    start();
    const char *paths[] = {ca, servers.world.paths[WORLD_CERT], servers.world.paths[WORLD_KEY]};
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            pki_write_text(broken[j], paths[i]);
            bool ok = served(tls_world_client(&servers.world, true), error);
            ck_assert_msg(ok, "%s", error);
        }
        unlink(paths[i]);
        ck_assert(served(tls_world_client(&servers.world, true), error));
        ck_assert(!served(tls_world_client(&servers.world, false), error));
    }
    stop();
}
END_TEST

enum { CALLERS = 4, CALLS = 30 };

static _Atomic unsigned failures, callers_left;

static void *call_often(void *arg)
{
    bool grpc = arg;
    struct http_client_options options = tls_world_client(&servers.world, false);
    options.http2 = grpc;
    for (int i = 0; i < CALLS; i++)
        failures += !tls_world_call(&options, bound_of(grpc), NULL);
    callers_left--;
    return NULL;
}

START_TEST(rotation_under_load_fails_no_request)
{
    pthread_t threads[CALLERS];
    struct tls_look before, after;
    prepare();
    start();
    serial_of(true, &before);
    failures = 0;
    callers_left = CALLERS;
    for (intptr_t i = 0; i < CALLERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call_often, i % 2 ? &servers : NULL), 0);
    while (callers_left)
        tls_world_renew_server(&servers.world, NULL);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(failures, 0);
    serial_of(true, &after);
    ck_assert(!same_serial(&before, &after));
    stop();
}
END_TEST

/* ---- peers that are slow or speak another protocol ---- */

START_TEST(a_handshake_that_does_not_go_on_holds_nobody_up)
{
    int silent[2][3];
    char error[192];
    prepare();
    start();
    for (int grpc = 0; grpc < 2; grpc++)
        for (int i = 0; i < 3; i++) {
            silent[grpc][i] = raw_connect(bound_of(grpc));
            raw_send_bytes(silent[grpc][i], "\x16\x03\x01\x02\x00\x01", (size_t)(2 * i));
        }
    bool ok = served(tls_world_client(&servers.world, false), error);
    ck_assert_msg(ok, "%s", error);
    for (int i = 0; i < 3; i++) {
        close(silent[0][i]);
        close(silent[1][i]);
    }
    stop();
}
END_TEST

START_TEST(a_handshake_has_the_time_of_a_header)
{
    prepare();
    servers.http.options.header_timeout_ns = 50 * NS_PER_MS;
    start();
    for (int grpc = 0; grpc < 2; grpc++) {
        int fd = raw_connect(bound_of(grpc));
        raw_send_bytes(fd, "\x16\x03\x01\x02\x00\x01", 6);
        raw_await_close(fd);
        close(fd);
    }
    stop();
}
END_TEST

START_TEST(cleartext_is_hung_up_on)
{
    prepare();
    start();
    for (int grpc = 0; grpc < 2; grpc++) {
        int fd = raw_connect(bound_of(grpc));
        raw_send(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        raw_await_close(fd);
        close(fd);
    }
    stop();
}
END_TEST

START_TEST(large_messages_pass_both_ways)
{
    enum { SIZE = 20 << 20 };
    char error[256];
    struct http_reply reply;
    uint8_t *body = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        body[i] = (uint8_t)(i * 2654435761u >> 13);
    prepare();
    start();
    struct http_client_options options = tls_world_client(&servers.world, false);
    options.http2 = true;
    options.max_reply = SIZE + 5;
    struct http_client *client = http_client_new(&options, error, sizeof error);
    for (int i = 0; i < 2; i++) {
        bool ok =
            tls_world_post(client, true, servers.grpc_bound, (struct view){body, SIZE}, &reply);
        ck_assert_msg(ok, "%s", reply.error);
        ck_assert_uint_eq(reply.body.size, SIZE + 5);
        ck_assert_int_eq(memcmp(reply.body.data + 5, body, SIZE), 0);
        http_reply_release(&reply);
    }
    http_client_free(client);
    free(body);
    stop();
}
END_TEST

START_TEST(what_is_wrong_at_start_is_a_sentence_with_its_key)
{
    char error[512], other[96];
    struct tls_world world;
    struct pki stranger;
    tls_world_make(&world);
    snprintf(other, sizeof other, "%s/other.key", world.folder);
    pki_ca(&stranger, "a stranger");
    pki_write_key(&stranger, other);
    pki_free(&stranger);
    const struct {
        const char *cert, *key, *ca, *want;
    } cases[] = {
        {"/nowhere/c", world.paths[WORLD_KEY], NULL,
         "a.tls.cert_file: /nowhere/c cannot be read: No such file or directory"},
        {world.paths[WORLD_CERT], "/nowhere/k", NULL,
         "a.tls.key_file: /nowhere/k cannot be read: No such file or directory"},
        {world.paths[WORLD_CERT], "/tmp", NULL, "a.tls.key_file: /tmp is not a file"},
        {world.paths[WORLD_CERT], other, NULL, "a.tls.key_file: "},
        {world.paths[WORLD_KEY], world.paths[WORLD_KEY], NULL, "a.tls.cert_file: "},
        {world.paths[WORLD_CERT], world.paths[WORLD_CERT], NULL, "a.tls.key_file: "},
        {world.paths[WORLD_CERT], world.paths[WORLD_KEY], other, "a.tls.client_ca_file: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct tls_server_settings settings = {.given = true,
                                                     .cert_file = (char *)cases[i].cert,
                                                     .key_file = (char *)cases[i].key,
                                                     .client_ca_file = (char *)cases[i].ca};
        ck_assert_ptr_null(tls_server_new(&settings, "x", "a.tls", 0, error, sizeof error));
        ck_assert_msg(strncmp(error, cases[i].want, strlen(cases[i].want)) == 0, "%s", error);
    }
    tls_world_remove(&world);
}
END_TEST

SUITE_MAIN("net/tls_server", a_client_that_trusts_the_ca_is_served,
           a_client_of_another_ca_goes_away, a_client_ca_demands_a_certificate_of_it,
           a_replaced_client_ca_shuts_the_old_ones_clients_out,
           a_session_cannot_be_resumed_past_a_replaced_client_ca, old_versions_are_refused,
           versions_are_limited_on_both_sides, each_server_names_its_protocol,
           a_replaced_certificate_is_shown_to_the_next_client,
           a_pair_that_does_not_match_yet_leaves_the_last_good_one,
           broken_and_missing_files_leave_the_last_good_ones, rotation_under_load_fails_no_request,
           a_handshake_that_does_not_go_on_holds_nobody_up, a_handshake_has_the_time_of_a_header,
           cleartext_is_hung_up_on, large_messages_pass_both_ways,
           what_is_wrong_at_start_is_a_sentence_with_its_key)
