/* Who is at the other end of a connection, small enough to be kept with every request. Pure. */
#ifndef LIB_BASE_PEER_H
#define LIB_BASE_PEER_H

#include <stdint.h>

struct sockaddr;

/* Enough for "[ipv6]:port" and what stands for an address. */
#define PEER_TEXT 64

struct peer {
    uint16_t family; /* AF_INET, AF_INET6, AF_UNIX; 0: not known */
    uint16_t port;
    uint8_t address[16]; /* as on the wire; 4 bytes of AF_INET */
};

/* The peer with an address as accept and getpeername give it; NULL: not known. */
struct peer peer_of(const struct sockaddr *address);

/* "127.0.0.1:4317", "[::1]:4317", "a unix socket", or "an unknown address"; an IPv4 address within
 * IPv6 as such. peer NULL: not known. Returns text. */
const char *peer_text(const struct peer *peer, char text[PEER_TEXT]);

#endif
