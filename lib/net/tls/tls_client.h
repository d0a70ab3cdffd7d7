/*
 * TLS of a client: whom it trusts and what it shows, from files that may be replaced at any time.
 * libcurl reads files at each connection and takes no texts from memory with GnuTLS: it is given
 * memory files, which hold texts that fit together. The last good ones are kept.
 */
#ifndef LIB_NET_TLS_TLS_CLIENT_H
#define LIB_NET_TLS_TLS_CLIENT_H

#include "lib/net/tls/tls_files.h"
#include "lib/net/tls/tls_suites.h"

struct tls_client_settings {
    bool insecure; /* gRPC: no TLS where the endpoint names no scheme */
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

/* The system's CAs; NULL: where libcurl looks for them. */
const char *tls_system_ca(void);

/* key is the group's path. */
void tls_client_check(const struct tls_client_settings *settings, const char *key,
                      struct key_report *report);

struct tls_client;

/* What new connections are made with; connections made with another one are out of date. */
struct tls_material {
    _Atomic unsigned refs;
    char paths[TLS_PARTS][32]; /* "": not given */
    int fds[TLS_PARTS];        /* behind the paths */
};

/* Settings and key are borrowed for the client's life; look_every_ns is usually TLS_LOOK_NS. NULL:
 * error is a sentence that begins with the path of the key at fault. */
struct tls_client *tls_client_new(const struct tls_client_settings *settings, const char *key,
                                  uint64_t look_every_ns, char *error, size_t error_size);
void tls_client_free(struct tls_client *client); /* NULL is legal */

/* What holds now, after a look at the files where the last one is too old. The caller's to let go
 * of. Any thread. */
struct tls_material *tls_client_material(struct tls_client *client);
void tls_material_unref(struct tls_material *material); /* NULL is legal */

/* For sessions that libcurl does not make; the caller's to free. NULL: no memory, or the system has
 * no CAs. */
gnutls_certificate_credentials_t
tls_material_credentials(const struct tls_material *material,
                         const struct tls_client_settings *settings);

#endif
