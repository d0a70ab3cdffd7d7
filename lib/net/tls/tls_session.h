/* A TLS session on a non-blocking socket, with functions that behave like recv and send. */
#ifndef LIB_NET_TLS_TLS_SESSION_H
#define LIB_NET_TLS_TLS_SESSION_H

#include "lib/net/tls/tls_client.h"
#include "lib/net/tls/tls_server.h"

#include <sys/types.h>

struct tls_session;

enum tls_step { TLS_READY, TLS_READS, TLS_WRITES, TLS_FAILED };

/* fd and server (or settings) must outlive the session; protocol is the ALPN protocol. NULL: no
 * memory (for a client, also: the system has no CAs). */
struct tls_session *tls_session_accept(struct tls_server *server, int fd, const char *protocol);
/* name must match the server's certificate; an address may be in brackets. */
struct tls_session *tls_session_connect(const struct tls_material *material,
                                        const struct tls_client_settings *settings, int fd,
                                        const char *protocol, const char *name);
void tls_session_free(struct tls_session *session); /* may be NULL */

/* Continues the handshake. TLS_READS, TLS_WRITES: call again when the socket is readable or
 * writable. TLS_FAILED: an alert was sent if the socket accepted it; why explains the failure, ""
 * if a client left without sending anything. */
enum tls_step tls_session_handshake(struct tls_session *session, char *why, size_t why_size);

/* Receives what is available after the handshake, as long as there is room for whole records (at
 * least 16 KiB). 0: the peer has closed. -1: errno; EAGAIN as for a socket, EPROTO if the peer
 * refused, as servers may refuse a client's certificate after the handshake. */
ssize_t tls_session_recv(struct tls_session *session, uint8_t *out, size_t size);

/* Sends data and returns how much was sent; -1: errno. After EAGAIN the next call must begin with
 * the same bytes, and at least as many. */
ssize_t tls_session_send(struct tls_session *session, const uint8_t *data, size_t size);

/* Explains the alert with which the peer ended the session. */
void tls_session_refusal(const struct tls_session *session, char *why, size_t why_size);

/* Sends close_notify, if the socket accepts it. */
void tls_session_close_notify(struct tls_session *session);

#endif
