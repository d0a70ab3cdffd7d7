#include "tests/support/tls_world.h"

#include "lib/base/clock.h"
#include "lib/wire/http/grpc_frame.h"
#include "tests/support/grpc_fixture.h"
#include "tests/support/http_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- files ---- */

void tls_world_make(struct tls_world *world)
{
    static const char *const names[] = {"ca.pem", "server.pem", "server.key", "client.pem",
                                        "client.key"};
    pki_folder(world->folder);
    for (size_t i = 0; i < 5; i++)
        snprintf(world->paths[i], sizeof world->paths[i], "%s/%s", world->folder, names[i]);
    pki_ca(&world->ca, "the usual CA");
    pki_write_certificate(&world->ca, world->paths[WORLD_CA]);
    tls_world_renew_server(world, NULL);
    tls_world_renew_client(world, NULL);
}

void tls_world_remove(struct tls_world *world)
{
    pki_free(&world->ca);
    pki_remove(world->folder);
}

static void renew(const struct pki *ca, const char *cert, const char *key)
{
    struct pki leaf;
    pki_issue(&leaf, ca, "localhost");
    pki_write_certificate(&leaf, cert);
    pki_write_key(&leaf, key);
    pki_free(&leaf);
}

void tls_world_renew_server(struct tls_world *world, const struct pki *ca)
{
    renew(ca ? ca : &world->ca, world->paths[WORLD_CERT], world->paths[WORLD_KEY]);
}

void tls_world_renew_client(struct tls_world *world, const struct pki *ca)
{
    renew(ca ? ca : &world->ca, world->paths[WORLD_CLIENT_CERT], world->paths[WORLD_CLIENT_KEY]);
}

struct tls_server *tls_world_server(const struct tls_server_settings *settings)
{
    char error[512];
    struct tls_server *server = tls_server_new(settings, "test", "tls", 0, error, sizeof error);
    ck_assert_msg(server, "%s", error);
    return server;
}

struct tls_server_settings tls_world_server_settings(struct tls_world *world)
{
    return (struct tls_server_settings){
        .given = true, .cert_file = world->paths[WORLD_CERT], .key_file = world->paths[WORLD_KEY]};
}

struct http_client_options tls_world_client(struct tls_world *world, bool shows)
{
    struct http_client_options options = {
        .timeout_ns = 20 * NS_PER_S, .max_reply = 4096, .looks_always = true};
    options.tls.ca_file = world->paths[WORLD_CA];
    if (shows) {
        options.tls.cert_file = world->paths[WORLD_CLIENT_CERT];
        options.tls.key_file = world->paths[WORLD_CLIENT_KEY];
    }
    return options;
}

/* ---- calls ---- */

bool tls_world_post(struct http_client *client, bool grpc, const char *bound, struct view message,
                    struct http_reply *reply)
{
    const struct http_header headers[] = {{"content-type", "application/grpc"}, {"te", "trailers"}};
    char url[256];
    uint8_t prefix[GRPC_PREFIX_SIZE];
    struct bytes body;
    snprintf(url, sizeof url, "https://localhost:%s%s", strrchr(bound, ':') + 1,
             grpc ? GRPC_FIXTURE_PATH : "/echo");
    bytes_init(&body, SIZE_MAX / 2, NULL);
    grpc_frame_prefix(prefix, false, (uint32_t)message.size);
    if (grpc)
        bytes_append(&body, prefix, sizeof prefix);
    ck_assert_int_eq(bytes_append_view(&body, message), BYTES_OK);
    bool ok = http_client_post(client, url, headers, grpc ? 2 : 0, bytes_view(&body), reply);
    bytes_release(&body);
    return ok;
}

bool tls_world_call(const struct http_client_options *options, const char *bound, char *error)
{
    char why[512];
    struct http_reply reply;
    struct http_client *client = http_client_new(options, why, sizeof why);
    ck_assert_msg(client, "%s", why);
    bool ok = tls_world_post(client, options->http2, bound, VIEW("body"), &reply);
    if (ok)
        ck_assert_int_eq(reply.status, 200);
    if (ok && options->http2)
        ck_assert_int_eq(reply.grpc_status, GRPC_OK);
    if (error)
        snprintf(error, 192, "%s", reply.error);
    http_reply_release(&reply);
    http_client_free(client);
    return ok;
}

/* ---- a bare client ---- */

static void note(gnutls_session_t session, struct tls_look *look)
{
    gnutls_datum_t protocol;
    gnutls_x509_crt_t certificate;
    unsigned count;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
    look->version = gnutls_protocol_get_version(session);
    if (gnutls_alpn_get_selected_protocol(session, &protocol) == 0)
        snprintf(look->protocol, sizeof look->protocol, "%.*s", (int)protocol.size, protocol.data);
    ck_assert_ptr_nonnull(chain);
    gnutls_x509_crt_init(&certificate);
    gnutls_x509_crt_import(certificate, chain, GNUTLS_X509_FMT_DER);
    look->serial_size = sizeof look->serial;
    gnutls_x509_crt_get_serial(certificate, look->serial, &look->serial_size);
    gnutls_x509_crt_deinit(certificate);
}

void tls_look(const char *bound, const char *priorities, const char *alpn, struct tls_look *look)
{
    gnutls_certificate_credentials_t nothing;
    gnutls_session_t session;
    int fd = raw_connect(bound);
    ck_assert_int_ge(fd, 0);
    *look = (struct tls_look){0};
    gnutls_certificate_allocate_credentials(&nothing);
    gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, nothing);
    ck_assert_int_eq(gnutls_priority_set_direct(session, priorities ? priorities : "NORMAL", NULL),
                     0);
    gnutls_datum_t offer = {(unsigned char *)(uintptr_t)alpn, alpn ? (unsigned)strlen(alpn) : 0};
    if (alpn)
        gnutls_alpn_set_protocols(session, &offer, 1, 0);
    gnutls_transport_set_int(session, fd);
    do {
        look->code = gnutls_handshake(session);
    } while (look->code < 0 && !gnutls_error_is_fatal(look->code));
    if (look->code == 0)
        note(session, look);
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(nothing);
    close(fd);
}
