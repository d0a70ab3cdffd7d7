/*
 * TLS settings of a server for new connections, from files that may be replaced at any time. They
 * are checked when a client connects and the last check is a second old; there is no timer. While
 * new files are broken or do not match, the last good ones stay in use. Sessions cannot be resumed,
 * so that replacing a client CA takes effect immediately.
 */
#ifndef LIB_NET_TLS_TLS_SERVER_H
#define LIB_NET_TLS_TLS_SERVER_H

#include "lib/net/tls/tls_files.h"
#include "lib/net/tls/tls_suites.h"

struct tls_server_settings {
    bool given; /* the group is present */
    char *cert_file;
    char *cert_pem;
    char *key_file;
    char *key_pem;
    char *client_ca_file;
    bool include_system_ca_certs_pool;
    int min_version; /* as in lib/net/tls/tls_version.h */
    int max_version;
    struct tls_suite_settings suites;
};

extern const struct key tls_server_keys[];

/* The row for member `tls` (struct tls_server_settings) of a server's struct T. */
#define TLS_SERVER_KEY(T, tls)                                                                     \
    KEY_SWITCHED(T, tls, struct tls_server_settings, tls.given, "tls", tls_server_keys,            \
                 "TLS of the listener; off: cleartext")

struct tls_server;
struct tls_identity; /* a connection's credentials */

void tls_server_check(const struct tls_server_settings *settings, const char *key,
                      struct key_report *report);

/* Borrows settings, the component's id and key for the server's life; look_every_ns is usually
 * TLS_LOOK_NS. NULL: error is a sentence that begins with the path of the key at fault. */
struct tls_server *tls_server_new(const struct tls_server_settings *settings, const char *id,
                                  const char *key, uint64_t look_every_ns, char *error,
                                  size_t error_size);
void tls_server_free(struct tls_server *server); /* may be NULL; no session may be left */

/* Sets credentials and priorities of a session before its handshake. mark, with its shake set, must
 * outlive the session. The caller releases the result when the session has ended. NULL: no memory.
 * Any thread. */
struct tls_identity *tls_server_configure(struct tls_server *server, gnutls_session_t session,
                                          struct tls_mark *mark);
void tls_identity_unref(struct tls_identity *identity); /* may be NULL */

#endif
