/*
 * The listening sockets of this process. When a reload replaces a server by another one on the same
 * address, the new server continues with the old one's socket, so that no connection is refused.
 * Any thread.
 */
#ifndef LIB_NET_LISTENERS_H
#define LIB_NET_LISTENERS_H

#include "lib/net/endpoint.h"

/* As endpoint_listen; but if a listener that yields has this endpoint, returns a duplicate of its
 * descriptor, and if one has the same port, a socket that shares the port. *yields tells whether
 * this listener may be taken over; NULL: never. It must outlive the listener. */
int listeners_open(const struct endpoint *endpoint, const _Atomic bool *yields, char *bound,
                   size_t bound_size, char *error, size_t error_size);

/* Whether another listener uses the same socket, which must then not be shut down. */
bool listeners_share(int fd);

/* Closes the listener; a unix socket's file is removed with the last listener that uses it. */
void listeners_close(int fd);

#endif
