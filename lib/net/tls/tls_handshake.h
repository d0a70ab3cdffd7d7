/* Explains failed TLS handshakes, and answers clients that do not speak TLS. */
#ifndef LIB_NET_TLS_TLS_HANDSHAKE_H
#define LIB_NET_TLS_TLS_HANDSHAKE_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a client's first byte reveals. */
enum tls_opening {
    TLS_OPENING_NONE, /* no byte yet */
    TLS_OPENING_TLS,
    TLS_OPENING_HTTP, /* cleartext HTTP */
    TLS_OPENING_END   /* closed without sending anything, as health probes do */
};

/* Peeks at a non-blocking socket from which nothing was read yet. */
enum tls_opening tls_opening_of(int fd);

/* Answers a cleartext HTTP client in its own protocol, if the socket accepts it, and shuts down the
 * sending side. */
void tls_answer_cleartext(int fd);

/* Discards a limited amount of pending input: closing a connection with unread bytes resets it, and
 * the client would lose the answer. */
void tls_discard_input(int fd);

#define TLS_SPOKE_CLEAR "the client speaks HTTP without TLS"
#define TLS_LEFT        "the peer went away in the middle of the handshake"

/* Explains an alert (RFC 8446 section 6.2) sent by peer, "the client" or "the server". */
void tls_explain_alert(int alert, const char *peer, char *why, size_t why_size);

/* Explains why a handshake with peer failed with this GnuTLS code. */
void tls_explain(gnutls_session_t session, const char *peer, int code, char *why, size_t why_size);

/*
 * Watches a client's cleartext records during the handshake. In TLS 1.3, OpenSSL clients send the
 * alert that they do not trust the server in cleartext, when the server already expects encrypted
 * records: GnuTLS then only reports a decryption failure. Zero-initialised.
 */
struct tls_watch {
    uint8_t head[7]; /* start of a record: type, version, length, and an alert's two bytes */
    size_t have;     /* bytes of it received */
    size_t left;     /* bytes of the record to skip */
    bool alerted;
};

/* Passes the bytes that the session receives from now on through the thread's watch
 * (tls_watch_records). */
void tls_watch_begin(gnutls_session_t session);

/* Sets the watch for sessions that read on the calling thread; NULL: none. */
void tls_watch_records(struct tls_watch *watch);

/* As tls_explain for a client, but also uses the alert that the watch saw. */
void tls_explain_client(gnutls_session_t session, int code, const struct tls_watch *watch,
                        char *why, size_t why_size);

#endif
