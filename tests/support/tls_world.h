/* A CA, a server's pair and a client's pair in a folder, and servers and clients that use them. */
#ifndef TESTS_SUPPORT_TLS_WORLD_H
#define TESTS_SUPPORT_TLS_WORLD_H

#include "lib/net/http/http_client.h"
#include "lib/net/tls/tls_server.h"
#include "tests/support/pki.h"

/* The files: ca.pem, server.pem, server.key, client.pem, client.key; all of one CA. */
struct tls_world {
    char folder[64];
    struct pki ca;
    char paths[5][96]; /* in the order above */
};

enum { WORLD_CA, WORLD_CERT, WORLD_KEY, WORLD_CLIENT_CERT, WORLD_CLIENT_KEY };

void tls_world_make(struct tls_world *world);
void tls_world_remove(struct tls_world *world);

/* Replaces the server's files by a new pair of that CA (NULL: the world's own) for "localhost". */
void tls_world_renew_server(struct tls_world *world, const struct pki *ca);
void tls_world_renew_client(struct tls_world *world, const struct pki *ca);

/* Checks its files at each connection. */
struct tls_server *tls_world_server(const struct tls_server_settings *settings);
struct tls_server_settings tls_world_server_settings(struct tls_world *world);
/* Trusts the CA; presents the client's certificate if `shows` is set. */
struct http_client_options tls_world_client(struct tls_world *world, bool shows);

/* Makes one gRPC call or one HTTP request with a new client and connection; true: it was answered.
 * error (NULL: not wanted) has room for 192. */
bool tls_world_call(const struct http_client_options *options, const char *bound, char *error);
/* The same with an existing client. */
bool tls_world_post(struct http_client *client, bool grpc, const char *bound, struct view message,
                    struct http_reply *reply);

/* A bare TLS client. */
struct tls_look {
    int code;                 /* of the handshake or the first byte after it; 0: success */
    char protocol[16];        /* of ALPN; "": none */
    unsigned char serial[32]; /* of the server's certificate */
    size_t serial_size;
    gnutls_protocol_t version;
};
/* priorities NULL: the default. alpn NULL: none offered. */
void tls_look(const char *bound, const char *priorities, const char *alpn, struct tls_look *look);

#endif
