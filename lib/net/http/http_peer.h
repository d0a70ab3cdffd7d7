/* The client of an HTTP server's connection, from its first byte. Included by lib/net/http/http_*.c
 * only. */
#ifndef LIB_NET_HTTP_HTTP_PEER_H
#define LIB_NET_HTTP_HTTP_PEER_H

#include "lib/net/http/http_internal.h"
#include "lib/net/opening.h"
#include "lib/net/tls/tls_handshake.h"

/* State of an open connection of the library. */
struct http_peer {
    struct http_connection *place;
    struct peer address;
    struct http_server *server;
    enum opening opening; /* of a cleartext client */
    bool asked;           /* a request line arrived, or the client was told what is wrong */
    struct tls_mark mark;
    struct tls_watch watch;
    bool shaking;                  /* the first byte of TLS arrived, the handshake has not ended */
    struct tls_identity *identity; /* NULL: cleartext */
};

/* http_tls.c: watches the handshake, and reports its failure. */
void http_tls_watch(struct http_peer *peer);
/* The connection ends. */
void http_tls_end(const struct http_peer *peer);

/* http_opening.c: checks the first bytes of a cleartext connection, and at its end reports a client
 * that never sent a request line. On the thread that serves the connection. */
void http_opening_await(struct http_peer *peer, int fd);
void http_opening_end(struct http_peer *peer, int fd);

#endif
