/* Clients whose handshake fails: what they get, and what the servers report. */
#include "lib/base/clock.h"
#include "tests/support/grpc_fixture.h"
#include "tests/support/h2_peer.h"
#include "tests/support/http_fixture.h"
#include "tests/support/suite.h"
#include "tests/support/tls_world.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static struct tls_world world;
static struct tls_server_settings settings;
static struct http_fixture http;
static struct grpc_server *grpc;
static char grpc_bound[64];

/* What each server reported. */
static struct {
    pthread_mutex_t mutex;
    unsigned count[2];
    struct outcome why[2];
    char peer[PEER_TEXT];
} told = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void note(int server, const char *path, const struct peer *peer, const struct outcome *why)
{
    ck_assert_ptr_null(path);
    ck_assert_int_eq(why->cause, CAUSE_TLS);
    pthread_mutex_lock(&told.mutex);
    told.count[server]++;
    told.why[server] = *why;
    peer_text(peer, told.peer);
    pthread_mutex_unlock(&told.mutex);
}

static void note_http(void *ctx, const char *path, const struct peer *peer,
                      const struct outcome *why)
{
    (void)ctx;
    note(0, path, peer, why);
}

static void note_grpc(void *ctx, const char *path, const struct peer *peer,
                      const struct outcome *why)
{
    (void)ctx;
    note(1, path, peer, why);
}

/* Waits for the nth refusal that a server reports. */
static struct outcome await_told(int server, unsigned nth)
{
    uint64_t until = clock_mono(&clock_system) + 20 * NS_PER_S;
    for (;;) {
        pthread_mutex_lock(&told.mutex);
        unsigned count = told.count[server];
        struct outcome why = told.why[server];
        pthread_mutex_unlock(&told.mutex);
        if (count >= nth) {
            ck_assert_uint_eq(count, nth);
            return why;
        }
        ck_assert(clock_mono(&clock_system) < until);
        poll(NULL, 0, 5);
    }
}

static void echo(void *ctx, struct grpc_call *call)
{
    (void)ctx;
    grpc_respond(call, GRPC_OK, "", 0, grpc_fixture_message(call));
}

static bool serves(void *ctx, const char *path)
{
    (void)ctx, (void)path;
    return true;
}

static void begin(bool asks_for_certificates)
{
    char error[256];
    tls_world_make(&world);
    settings = tls_world_server_settings(&world);
    settings.client_ca_file = asks_for_certificates ? world.paths[WORLD_CA] : NULL;
    struct grpc_server_options options = {
        .tls = tls_world_server(&settings),
        .max_message = 1 << 20,
        .threads = 1,
        .max_connections = 64,
        .max_concurrent_streams = 10,
        .header_timeout_ns = 60 * NS_PER_S,
        .handler = echo,
        .serves = serves,
        .refused = note_grpc,
    };
    strcpy(options.endpoint.host, "127.0.0.1");
    strcpy(options.endpoint.service, "0");
    grpc = grpc_server_open(&options, grpc_bound, sizeof grpc_bound, error, sizeof error);
    ck_assert_msg(grpc, "%s", error);
    http_fixture_init(&http);
    http.options.tls = tls_world_server(&settings);
    http.options.refused = note_http;
    http_fixture_start(&http);
}

static void end(void)
{
    grpc_server_close(grpc, clock_mono(&clock_system) + 20 * NS_PER_S);
    http_fixture_stop(&http);
    tls_world_remove(&world);
}

static const char *bound_of(int server)
{
    return server ? grpc_bound : http.bound;
}

static bool served(int server, bool shows_certificate, char *error)
{
    struct http_client_options options = tls_world_client(&world, shows_certificate);
    options.http2 = server;
    return tls_world_call(&options, bound_of(server), error);
}

START_TEST(http_in_clear_is_told_in_http_that_the_port_speaks_tls)
{
    static struct http_answer answer;
    begin(false);
    for (int server = 0; server < 2; server++) {
        int fd = server ? h2_connect(grpc_bound) : raw_connect(http.bound);
        raw_exchange(fd, "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", 400,
                     &answer);
        ck_assert_str_eq(answer.body, "Client sent an HTTP request to an HTTPS server.\n");
        raw_await_close(fd);
        close(fd);
        struct outcome why = await_told(server, 1);
        ck_assert_str_eq(why.text, "the client speaks HTTP without TLS");
        ck_assert_ptr_nonnull(strstr(told.peer, "127.0.0.1:"));
    }
    end();
}
END_TEST

START_TEST(a_client_without_a_certificate_is_told_of_and_hears_why)
{
    char error[192];
    begin(true);
    for (int server = 0; server < 2; server++) {
        struct tls_look look;
        tls_look(bound_of(server), "NORMAL:-VERS-ALL:+VERS-TLS1.2", server ? "h2" : NULL, &look);
        ck_assert_int_eq(look.code, GNUTLS_E_FATAL_ALERT_RECEIVED);
        struct outcome why = await_told(server, 1);
        ck_assert_msg(strstr(why.text, "ertificate"), "%s", why.text);
        ck_assert_msg(served(server, true, error), "%s", error);
    }
    end();
}
END_TEST

/* A client that trusts nobody: it sends an alert, or just disconnects. */
static void distrust(const char *bound, bool says_so)
{
    gnutls_certificate_credentials_t nothing;
    gnutls_session_t session;
    int code, fd = raw_connect(bound);
    gnutls_certificate_allocate_credentials(&nothing);
    gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, nothing);
    gnutls_set_default_priority(session);
    gnutls_session_set_verify_cert(session, "localhost", 0);
    gnutls_alpn_set_protocols(session, &(gnutls_datum_t){(unsigned char *)"h2", 2}, 1, 0);
    gnutls_transport_set_int(session, fd);
    do
        code = gnutls_handshake(session);
    while (code < 0 && !gnutls_error_is_fatal(code));
    ck_assert_int_eq(code, GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR);
    if (says_so)
        gnutls_alert_send_appropriate(session, code);
    shutdown(fd, SHUT_WR);
    raw_await_close(fd);
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(nothing);
    close(fd);
}

START_TEST(a_client_that_does_not_trust_us_is_told_of)
{
    begin(false);
    for (int server = 0; server < 2; server++) {
        distrust(bound_of(server), true);
        struct outcome why = await_told(server, 1);
        ck_assert_msg(strstr(why.text, "the client refused our certificate: "), "%s", why.text);
        distrust(bound_of(server), false);
        why = await_told(server, 2);
        ck_assert_str_eq(why.text, "the peer went away in the middle of the handshake");
    }
    end();
}
END_TEST

/* Like OpenSSL clients in TLS 1.3: the alert is in cleartext when the server already expects
 * encrypted records. */
static int refuse_in_clear(gnutls_session_t session)
{
    static const char unknown_ca[] = "\x14\x03\x03\x00\x01\x01\x15\x03\x03\x00\x02\x02\x30";
    ck_assert_int_eq(gnutls_protocol_get_version(session), GNUTLS_TLS1_3);
    raw_send_bytes(gnutls_transport_get_int(session), unknown_ca, sizeof unknown_ca - 1);
    return GNUTLS_E_CERTIFICATE_ERROR;
}

START_TEST(a_client_that_says_so_in_clear_is_understood)
{
    begin(false);
    for (int server = 0; server < 2; server++) {
        gnutls_certificate_credentials_t nothing;
        gnutls_session_t session;
        int fd = raw_connect(bound_of(server));
        gnutls_certificate_allocate_credentials(&nothing);
        gnutls_certificate_set_verify_function(nothing, refuse_in_clear);
        gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL);
        gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, nothing);
        gnutls_set_default_priority(session);
        gnutls_alpn_set_protocols(session, &(gnutls_datum_t){(unsigned char *)"h2", 2}, 1, 0);
        gnutls_transport_set_int(session, fd);
        ck_assert_int_lt(gnutls_handshake(session), 0);
        struct outcome why = await_told(server, 1);
        ck_assert_str_eq(why.text, "the client refused our certificate: CA is unknown");
        gnutls_deinit(session);
        gnutls_certificate_free_credentials(nothing);
        close(fd);
    }
    end();
}
END_TEST

/* The errors of HTTP and gRPC clients about a server, which are the same. */
static void assert_said(const char *words, bool shows_certificate, const char *name)
{
    for (int server = 0; server < 2; server++) {
        char error[192];
        struct http_client_options options = tls_world_client(&world, shows_certificate);
        options.http2 = server;
        if (name)
            options.tls.server_name_override = (char *)(uintptr_t)name;
        ck_assert(!tls_world_call(&options, bound_of(server), error));
        ck_assert_msg(strstr(error, "TLS with localhost:") && strstr(error, words), "%d: %s",
                      server, error);
    }
}

START_TEST(clients_of_both_kinds_say_what_is_wrong_with_the_certificate)
{
    struct pki other, leaf;
    begin(false);
    assert_said("The name in the certificate does not match the expected", false, "other.example");
    struct http_client_options options = tls_world_client(&world, false);
    char error[192];
    options.http2 = true;
    options.authority = "other.example:1";
    ck_assert(!tls_world_call(&options, bound_of(1), error));
    ck_assert_msg(strstr(error, "The name in the certificate does not match"), "%s", error);
    options.authority = "localhost:1";
    ck_assert_msg(tls_world_call(&options, bound_of(1), error), "%s", error);
    pki_ca(&other, "other");
    tls_world_renew_server(&world, &other);
    assert_said("The certificate issuer is unknown", false, NULL);
    assert_said("is unknown. The name in the certificate does not match the expected.", false,
                "other.example");
    pki_issue_expired(&leaf, &world.ca, "localhost");
    pki_write_key(&leaf, world.paths[WORLD_KEY]);
    pki_write_certificate(&leaf, world.paths[WORLD_CERT]);
    assert_said("expired", false, NULL);
    pki_free(&leaf);
    pki_free(&other);
    end();
}
END_TEST

START_TEST(clients_of_both_kinds_say_that_the_server_wants_a_certificate)
{
    struct pki leaf;
    begin(true);
    assert_said("the server requires a certificate", false, NULL);
    pki_issue_expired(&leaf, &world.ca, "localhost");
    pki_write_key(&leaf, world.paths[WORLD_CLIENT_KEY]);
    pki_write_certificate(&leaf, world.paths[WORLD_CLIENT_CERT]);
    assert_said("the server refused our certificate: ", true, NULL);
    pki_free(&leaf);
    end();
}
END_TEST

START_TEST(a_client_of_old_versions_is_told_of_and_hears_why)
{
    struct tls_look look;
    begin(false);
    for (int server = 0; server < 2; server++) {
        tls_look(bound_of(server), "NORMAL:-VERS-ALL:+VERS-TLS1.1:+VERS-TLS1.0", NULL, &look);
        ck_assert_int_eq(look.code, GNUTLS_E_FATAL_ALERT_RECEIVED);
        struct outcome why = await_told(server, 1);
        ck_assert_msg(strstr(why.text, "version") || strstr(why.text, "cipher"), "%s", why.text);
    }
    end();
}
END_TEST

START_TEST(a_probe_that_says_nothing_is_not_told_of)
{
    char error[192];
    begin(false);
    for (int server = 0; server < 2; server++) {
        int fd = server ? h2_connect(grpc_bound) : raw_connect(http.bound);
        close(fd);
        ck_assert_msg(served(server, false, error), "%s", error);
    }
    end();
    ck_assert_uint_eq(told.count[0], 0);
    ck_assert_uint_eq(told.count[1], 0);
}
END_TEST

SUITE_MAIN("tls_refused", http_in_clear_is_told_in_http_that_the_port_speaks_tls,
           a_client_without_a_certificate_is_told_of_and_hears_why,
           a_client_that_does_not_trust_us_is_told_of, a_client_that_says_so_in_clear_is_understood,
           clients_of_both_kinds_say_what_is_wrong_with_the_certificate,
           clients_of_both_kinds_say_that_the_server_wants_a_certificate,
           a_client_of_old_versions_is_told_of_and_hears_why,
           a_probe_that_says_nothing_is_not_told_of)
