/*
 * TLS settings of a client: trusted CAs and the client certificate, from files that may be replaced
 * at any time. With GnuTLS, libcurl reads files for each connection and cannot take PEM from
 * memory, so it gets memfds whose contents match each other. The last good contents are kept.
 */
#ifndef LIB_NET_TLS_TLS_CLIENT_H
#define LIB_NET_TLS_TLS_CLIENT_H

#include "lib/net/tls/tls_files.h"
#include "lib/net/tls/tls_suites.h"

struct tls_client_settings {
    bool insecure; /* gRPC: no TLS if the endpoint has no scheme */
    bool insecure_skip_verify;
    bool include_system_ca_certs_pool;
    char *ca_file;
    char *ca_pem;
    char *cert_file;
    char *cert_pem;
    char *key_file;
    char *key_pem;
    char *server_name_override;
    int min_version; /* as in lib/net/tls/tls_version.h */
    int max_version;
    struct tls_suite_settings suites;
};

/* Rows of the tls group. */
extern const struct key tls_client_keys[];

/* The file of the system's CAs; NULL: libcurl's default. */
const char *tls_system_ca(void);

/* Reports contradictory settings. key is the group's path. */
void tls_client_check(const struct tls_client_settings *settings, const char *key,
                      struct key_report *report);

struct tls_client;

/* What new connections use; connections made with other material are outdated. */
struct tls_material {
    _Atomic unsigned refs;
    char paths[TLS_PARTS][32]; /* "": not given */
    int fds[TLS_PARTS];        /* memfds that the paths refer to */
};

/* Borrows settings, id (the component's, for log and metrics; "": none) and key for the client's
 * life; look_every_ns is usually TLS_LOOK_NS. NULL: error is a sentence that begins with the path
 * of the key at fault. */
struct tls_client *tls_client_new(const struct tls_client_settings *settings, const char *id,
                                  const char *key, uint64_t look_every_ns, char *error,
                                  size_t error_size);
void tls_client_free(struct tls_client *client); /* may be NULL */

/* Returns the current material, after checking the files if the last check is too old. The caller
 * releases it. Any thread. */
struct tls_material *tls_client_material(struct tls_client *client);
void tls_material_unref(struct tls_material *material); /* may be NULL */

/* Credentials for sessions that libcurl does not make; the caller frees them. NULL: no memory, or
 * the system has no CAs. */
gnutls_certificate_credentials_t
tls_material_credentials(const struct tls_material *material,
                         const struct tls_client_settings *settings);

#endif
