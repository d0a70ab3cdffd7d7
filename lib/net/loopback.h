/* Connections that do not leave this host. */
#ifndef LIB_NET_LOOPBACK_H
#define LIB_NET_LOOPBACK_H

#include <stdbool.h>
#include <sys/socket.h>

/* 127.0.0.0/8, ::1, and the former mapped into IPv6. */
bool loopback_is(const struct sockaddr *address);

/* Takes a TCP socket with a peer on this host out of the system's congestion control, where that
 * paces what is sent (BBR): a timer for each segment, and no network to be gentle with. Measured
 * there: a quarter of the CPU per span at 100 spans a request. Others stay as they are. */
void loopback_unpace(int fd, const struct sockaddr *peer);

#endif
