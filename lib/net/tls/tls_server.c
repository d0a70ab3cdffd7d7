#include "lib/net/tls/tls_server.h"

#include "lib/net/tls/tls_version.h"

#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

const struct key tls_server_keys[] = {
    KEY_STRING(struct tls_server_settings, cert_file, "cert_file", NULL, 0,
               "PEM file of the certificate and its intermediates"),
    KEY_STRING(struct tls_server_settings, cert_pem, "cert_pem", NULL, 0,
               "the same as PEM text, instead of the file"),
    KEY_STRING(struct tls_server_settings, key_file, "key_file", NULL, 0,
               "PEM file of the certificate's private key"),
    KEY_SECRET(struct tls_server_settings, key_pem, "key_pem",
               "the same as PEM text, instead of the file"),
    KEY_STRING(struct tls_server_settings, client_ca_file, "client_ca_file", NULL, 0,
               "PEM file of CAs: clients need a certificate from one of them"),
    KEY_BOOL(struct tls_server_settings, include_system_ca_certs_pool,
             "include_system_ca_certs_pool", "false",
             "trust the system's CAs in addition to client_ca_file"),
    TLS_VERSION_KEYS(struct tls_server_settings),
    TLS_SUITE_KEYS(struct tls_server_settings, suites),
    KEY_IGNORED("ca_file", "accepted; clients are verified by client_ca_file"),
    KEY_IGNORED("ca_pem", "accepted; clients are verified by client_ca_file"),
    KEY_IGNORED("client_ca_file_reload", "accepted; changed files are always reloaded"),
    KEY_IGNORED("reload_interval", "accepted; changed files are always reloaded"),
    KEY_END,
};

struct tls_identity {
    _Atomic unsigned refs;
    gnutls_certificate_credentials_t credentials;
};

struct tls_server {
    const struct tls_server_settings *settings;
    pthread_mutex_t mutex; /* guards the rest */
    struct tls_files files;
    struct tls_identity *identity;
};

/* ---- checking ---- */

static struct tls_files files_of(const struct tls_server_settings *settings, const char *key)
{
    bool cert_text = settings->cert_pem && *settings->cert_pem;
    bool key_text = settings->key_pem && *settings->key_pem;
    return (struct tls_files){
        .id = "",
        .key = key,
        .adds_system = settings->include_system_ca_certs_pool,
        .sources = {
            [TLS_CERT] = {cert_text ? "cert_pem" : "cert_file", settings->cert_file,
                          settings->cert_pem},
            [TLS_KEY] = {key_text ? "key_pem" : "key_file", settings->key_file, settings->key_pem},
            [TLS_CA] = {"client_ca_file", settings->client_ca_file, NULL}}};
}

static bool has_certificate(const struct tls_server_settings *settings)
{
    return (settings->cert_file && *settings->cert_file) ||
           (settings->cert_pem && *settings->cert_pem);
}

static bool has_key(const struct tls_server_settings *settings)
{
    return (settings->key_file && *settings->key_file) || (settings->key_pem && *settings->key_pem);
}

void tls_server_check(const struct tls_server_settings *settings, const char *key,
                      struct key_report *report)
{
    if (!settings->given)
        return;
    const struct tls_files files = files_of(settings, key);
    tls_files_check(&files, report);
    tls_version_check(settings->min_version, settings->max_version, key, report);
    tls_suites_check(&settings->suites, key, report);
    if (!has_certificate(settings) && !has_key(settings))
        key_report_add(report, key, "a server needs cert_file and key_file");
}

/* ---- lifecycle ---- */

static struct tls_identity *identity_new(gnutls_certificate_credentials_t credentials)
{
    struct tls_identity *identity = malloc(sizeof *identity);
    if (!identity) {
        gnutls_certificate_free_credentials(credentials);
        return NULL;
    }
    atomic_init(&identity->refs, 1);
    identity->credentials = credentials;
    return identity;
}

void tls_identity_unref(struct tls_identity *identity)
{
    if (!identity || atomic_fetch_sub(&identity->refs, 1) != 1)
        return;
    gnutls_certificate_free_credentials(identity->credentials);
    free(identity);
}

struct tls_server *tls_server_new(const struct tls_server_settings *settings, const char *id,
                                  const char *key, uint64_t look_every_ns, char *error,
                                  size_t error_size)
{
    struct tls_server *server = calloc(1, sizeof *server);
    snprintf(error, error_size, "%s: out of memory", key);
    if (!server)
        return NULL;
    pthread_mutex_init(&server->mutex, NULL);
    server->settings = settings;
    server->files = files_of(settings, key);
    server->files.id = id;
    server->files.look_every_ns = look_every_ns;
    gnutls_certificate_credentials_t first = tls_files_open(&server->files, error, error_size);
    server->identity = first ? identity_new(first) : NULL;
    if (server->identity && tls_suites_usable(&settings->suites, settings->min_version,
                                              settings->max_version, key, error, error_size))
        return server;
    tls_server_free(server);
    return NULL;
}

void tls_server_free(struct tls_server *server)
{
    if (!server)
        return;
    tls_identity_unref(server->identity);
    tls_files_release(&server->files);
    pthread_mutex_destroy(&server->mutex);
    free(server);
}

/* ---- connections ---- */

static struct tls_identity *identity_now(struct tls_server *server)
{
    pthread_mutex_lock(&server->mutex);
    gnutls_certificate_credentials_t newer = tls_files_look(&server->files);
    struct tls_identity *next = newer ? identity_new(newer) : NULL;
    if (next) {
        tls_identity_unref(server->identity);
        server->identity = next;
    }
    struct tls_identity *now = server->identity;
    atomic_fetch_add(&now->refs, 1);
    pthread_mutex_unlock(&server->mutex);
    return now;
}

/* The client's certificate is verified in the handshake, by the CAs of these credentials. */
static void demand_certificate(gnutls_session_t session)
{
    static gnutls_typed_vdata_st purpose[] = {
        {GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT, 0}};
    gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
    gnutls_session_set_verify_cert2(session, purpose, 1, 0);
}

struct tls_identity *tls_server_configure(struct tls_server *server, gnutls_session_t session,
                                          struct tls_mark *mark)
{
    const struct tls_server_settings *settings = server->settings;
    struct tls_identity *identity = identity_now(server);
    mark->suites = &settings->suites;
    mark->min = settings->min_version;
    mark->max = settings->max_version;
    gnutls_credentials_clear(session);
    if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, identity->credentials) != 0 ||
        !tls_mark_set(mark, session)) {
        tls_identity_unref(identity);
        return NULL;
    }
    if (settings->client_ca_file && *settings->client_ca_file)
        demand_certificate(session);
    return identity;
}
