/* What is said of TLS's handshake, to people and to a client that speaks no TLS. */
#ifndef LIB_NET_TLS_TLS_HANDSHAKE_H
#define LIB_NET_TLS_TLS_HANDSHAKE_H

#include <gnutls/gnutls.h>
#include <stdbool.h>

/* What the first byte of a client tells. */
enum tls_opening {
    TLS_OPENING_NONE, /* there is none yet */
    TLS_OPENING_TLS,
    TLS_OPENING_HTTP, /* HTTP in clear */
    TLS_OPENING_END   /* it closed without a word, as probes do */
};

/* Looks at a non-blocking socket from which nothing was read yet; takes nothing. */
enum tls_opening tls_opening_of(int fd);

/* Tells a client that speaks HTTP in clear, in its own protocol, as far as the socket takes it, and
 * that nothing follows. */
void tls_answer_clear(int fd);

/* Takes what has come, as far as it is little: bytes left unread would take the last words from the
 * client as the connection is closed. */
void tls_read_past(int fd);

#define TLS_SPOKE_CLEAR "the client speaks HTTP without TLS"
#define TLS_LEFT        "the peer went away in the middle of the handshake"

/* Why a handshake failed with this code of GnuTLS. */
void tls_explain(gnutls_session_t session, int code, char *why, size_t why_size);

#endif
