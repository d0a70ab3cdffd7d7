/* What is said of TLS's handshake, to people and to a client that speaks no TLS. */
#ifndef LIB_NET_TLS_TLS_HANDSHAKE_H
#define LIB_NET_TLS_TLS_HANDSHAKE_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* What the peer, "the client" or "the server", said with an alert (RFC 8446 section 6.2). */
void tls_tell_alert(int alert, const char *peer, char *why, size_t why_size);

/* Why a handshake with that peer failed with this code of GnuTLS. */
void tls_explain(gnutls_session_t session, const char *peer, int code, char *why, size_t why_size);

/*
 * What a server hears of its client in clear while they shake hands. In TLS 1.3 clients of OpenSSL
 * say in clear that they do not trust it, when it waits for what is encrypted: GnuTLS then knows of
 * a failed decryption alone. All zero to begin with.
 */
struct tls_watch {
    uint8_t head[7]; /* of a record: type, version, length, and an alert's two bytes */
    size_t have;     /* of those */
    size_t left;     /* of the record, to be passed over */
    bool alerted;
};

/* The session's bytes come past the watch of tls_watch_records from now on. */
void tls_watch_begin(gnutls_session_t session);

/* What the calling thread's sessions read is heard; NULL: no longer. */
void tls_watch_records(struct tls_watch *watch);

/* The same as tls_explain, of a client and with what was heard of it. */
void tls_explain_client(gnutls_session_t session, int code, const struct tls_watch *watch,
                        char *why, size_t why_size);

#endif
