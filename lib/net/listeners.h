/*
 * The sockets that this process listens on. Where a reload closes one server and opens another on
 * the same address, the new one goes on with the socket of the old one, so that no client finds
 * no new connection taken. Any thread.
 */
#ifndef LIB_NET_LISTENERS_H
#define LIB_NET_LISTENERS_H

#include "lib/net/endpoint.h"

/* endpoint_listen; but where a listener that yields has this endpoint, the same socket under
 * another number, and where one has the same port, a socket beside it. yields: whether this one is
 * to be taken over; NULL: never. It outlives the listener. */
int listeners_open(const struct endpoint *endpoint, const _Atomic bool *yields, char *bound,
                   size_t bound_size, char *error, size_t error_size);

/* Whether another listener has the same socket: then it must not be shut down. */
bool listeners_share(int fd);

/* Closes it; a unix socket's file goes with the last one that listens behind it. */
void listeners_close(int fd);

#endif
