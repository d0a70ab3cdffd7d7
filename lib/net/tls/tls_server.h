/*
 * TLS of a server: what each new connection is to use, from files that may be replaced at any time.
 * They are looked at when a client connects and the last look is a second old: nothing wakes up for
 * it. While new ones are broken or do not fit together, the last good ones serve on. There is no
 * resumption of sessions, so that a replaced client CA shuts its clients out at once.
 */
#ifndef LIB_NET_TLS_TLS_SERVER_H
#define LIB_NET_TLS_TLS_SERVER_H

#include "lib/net/tls/tls_files.h"
#include "lib/net/tls/tls_suites.h"

struct tls_server_settings {
    bool given; /* the group is there */
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
struct tls_identity; /* the credentials of a connection */

void tls_server_check(const struct tls_server_settings *settings, const char *key,
                      struct key_report *report);

/* Settings, the component's id and the key are borrowed for the server's life; look_every_ns is
 * usually TLS_LOOK_NS. NULL: error is a sentence that begins with the path of the key at fault. */
struct tls_server *tls_server_new(const struct tls_server_settings *settings, const char *id,
                                  const char *key, uint64_t look_every_ns, char *error,
                                  size_t error_size);
void tls_server_free(struct tls_server *server); /* NULL is legal; no session is left */

/* Gives a session that has not begun its handshake its credentials and rules. The mark, whose shake
 * is set, outlives the session. What is returned is to be let go of when the session has ended;
 * NULL: no memory. Any thread. */
struct tls_identity *tls_server_equip(struct tls_server *server, gnutls_session_t session,
                                      struct tls_mark *mark);
void tls_identity_unref(struct tls_identity *identity); /* NULL is legal */

#endif
