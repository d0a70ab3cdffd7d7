/* The server's end of TLS on one non-blocking socket, with the manners of recv and send. */
#ifndef NET_TLS_SESSION_H
#define NET_TLS_SESSION_H

#include "net/tls_server.h"

#include <sys/types.h>

struct tls_session;

enum tls_step { TLS_READY, TLS_READS, TLS_WRITES, TLS_FAILED };

/* fd and server outlive the session; protocol is what ALPN answers. NULL: no memory. */
struct tls_session *tls_session_new(struct tls_server *server, int fd, const char *protocol);
void tls_session_free(struct tls_session *session); /* NULL is legal */

/* Goes on with the handshake. TLS_READS and TLS_WRITES: call again when the socket can. TLS_FAILED:
 * the peer was told, as far as the socket took it; why is a sentence. */
enum tls_step tls_session_handshake(struct tls_session *session, char *why, size_t why_size);

/* After the handshake. What is there now, as far as there is room for whole records (16 KiB at
 * least); 0: the peer has closed; -1: errno, EAGAIN as for a socket. */
ssize_t tls_session_recv(struct tls_session *session, uint8_t *out, size_t size);

/* How much was taken; -1: errno. After EAGAIN the next call begins with the same bytes, and has no
 * fewer. */
ssize_t tls_session_send(struct tls_session *session, const uint8_t *data, size_t size);

/* Tells the peer that no more follows, as far as the socket takes it. */
void tls_session_bye(struct tls_session *session);

#endif
