/* The client behind a connection of the HTTP server, from its first byte on. Included by
 * net/http_*.c only. */
#ifndef LIB_NET_HTTP_HTTP_PEER_H
#define LIB_NET_HTTP_HTTP_PEER_H

#include "lib/net/http/http_internal.h"
#include "lib/net/opening.h"
#include "lib/net/tls/tls_handshake.h"

/* What stands behind an open connection of the library. */
struct http_peer {
    struct http_connection *place;
    struct peer address;
    struct http_server *server;
    enum opening opening; /* of one in clear */
    bool asked;           /* a request line came, or it was told why none will */
    struct tls_mark mark;
    struct tls_watch watch;
    bool shaking;                  /* the first byte of TLS came, the handshake has not ended */
    struct tls_identity *identity; /* NULL: cleartext */
};

/* http_tls.c: sees to what is said of the handshake, and tells where it fails. */
void http_tls_watch(struct http_peer *peer);
/* The connection ends. */
void http_tls_end(const struct http_peer *peer);

/* http_opening.c: sees to the first bytes of one in clear, and tells at its end of a client that
 * never sent a request line. The thread that serves the connection. */
void http_opening_await(struct http_peer *peer, int fd);
void http_opening_end(struct http_peer *peer, int fd);

#endif
