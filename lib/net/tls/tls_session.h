/* One end of TLS on a non-blocking socket, with the manners of recv and send. */
#ifndef LIB_NET_TLS_TLS_SESSION_H
#define LIB_NET_TLS_TLS_SESSION_H

#include "lib/net/tls/tls_client.h"
#include "lib/net/tls/tls_server.h"

#include <sys/types.h>

struct tls_session;

enum tls_step { TLS_READY, TLS_READS, TLS_WRITES, TLS_FAILED };

/* fd outlives the session, and so do server or settings; protocol is what ALPN agrees on. NULL: no
 * memory (a client's: or the system has no CAs). */
struct tls_session *tls_session_accept(struct tls_server *server, int fd, const char *protocol);
/* name is the one that the server's certificate is to bear; an address in brackets or not. */
struct tls_session *tls_session_connect(const struct tls_material *material,
                                        const struct tls_client_settings *settings, int fd,
                                        const char *protocol, const char *name);
void tls_session_free(struct tls_session *session); /* NULL is legal */

/* Goes on with the handshake. TLS_READS and TLS_WRITES: call again when the socket can. TLS_FAILED:
 * the peer was told, as far as the socket took it; why is words for people, "" where a client left
 * without a word. */
enum tls_step tls_session_handshake(struct tls_session *session, char *why, size_t why_size);

/* After the handshake. What is there now, as far as there is room for whole records (16 KiB at
 * least); 0: the peer has closed; -1: errno, EAGAIN as for a socket, EPROTO where the peer has
 * refused, as servers may a client's certificate after the handshake. */
ssize_t tls_session_recv(struct tls_session *session, uint8_t *out, size_t size);

/* How much was taken; -1: errno. After EAGAIN the next call begins with the same bytes, and has no
 * fewer. */
ssize_t tls_session_send(struct tls_session *session, const uint8_t *data, size_t size);

/* What the peer said where it ended the session with an alert. */
void tls_session_refusal(const struct tls_session *session, char *why, size_t why_size);

/* Tells the peer that no more follows, as far as the socket takes it. */
void tls_session_bye(struct tls_session *session);

#endif
