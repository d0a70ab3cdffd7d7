/* What the HTTP server's table does with a socket that the library serves. */
#ifndef LIB_NET_HTTP_HTTP_SOCKET_H
#define LIB_NET_HTTP_HTTP_SOCKET_H

#include "lib/net/http/http_connections.h"

#include <stdbool.h>

/* Whether bytes have arrived that nobody has read. */
bool http_socket_unread(int fd);

/* Whether the peer has closed or reset the connection and everything it sent was read. */
bool http_socket_left(int fd);

/* Before a connection is shut down: answers the request that it has sent a part of, with 408 or, if
 * it has to make room, 503 and Retry-After. */
void http_socket_say(int fd, enum http_phase phase, enum http_shut why);

#endif
